"""Very many distinct scores: fewer knots within a stated error, rules that hold all the same, files under 5 MB."""

import warnings

import numpy as np
import pytest

import fairpot
from fairpot import FairPOT, OptimalMerge, WassersteinRepair
from fairpot.inference import Certificate
from fairpot.metrics import auc, partial_xauc_gap, xauc_gap

ROWS = 400_000


@pytest.fixture(scope="module")
def rows():
    """Three groups, every score a different one."""
    rng = np.random.default_rng(0)
    group = rng.choice(3, ROWS, p=[0.2, 0.4, 0.4])
    y = (rng.random(ROWS) < 0.2 - 0.03 * group).astype(np.int8)
    return 1 / (1 + np.exp(1 + 0.35 * group - y - rng.normal(size=ROWS))), y, np.array(list("abc"))[group]


@pytest.fixture(scope="module", params=[FairPOT, WassersteinRepair, OptimalMerge])
def fits(request, rows):
    """A fit by rule, and what it would be with every knot."""
    score, y, group = rows
    small = request.param(max_gap=0.05).fit(score, y, sensitive_features=group)
    whole = request.param(small._value, exact=True).fit(score, y, sensitive_features=group)
    return small, whole


def test_the_error_is_the_true_one(fits, rows):
    """At every fitted score, between any two and outside them."""
    small, whole = fits
    assert whole.simplified_ is None
    found = small.simplified_
    assert sum(len(each.knots) for each in small.maps_.values()) == found["knots"] <= 100_000
    ordered = np.sort(rows[0])
    everywhere = np.r_[ordered, (ordered[1:] + ordered[:-1]) / 2, np.linspace(-0.5, 1.5, 9999)]
    differ = [np.abs(small.maps_[g](everywhere) - whole.maps_[g](everywhere)).max() for g in small.groups_]
    assert max(differ) == pytest.approx(found["largest_error"], rel=1e-6, abs=1e-15)
    assert 0 < found["largest_error"] < 1e-3
    for group, each in whole.maps_.items():
        assert small.maps_[group].is_monotone == each.is_monotone


def test_the_rule_holds_and_the_effect_is_the_measured_one(fits, rows):
    score, y, group = rows
    new = [each.transform(score, sensitive_features=group) for each in fits]
    gap = [xauc_gap(y, each, sensitive_features=group) for each in new]
    assert gap[0] <= 0.05
    found = fits[0].simplified_
    assert found["gap_change"] == pytest.approx(gap[0] - gap[1], abs=1e-12)
    assert found["auc_change"] == pytest.approx(auc(y, new[0]) - auc(y, new[1]), abs=1e-12)
    assert abs(found["gap_change"]) < 1e-5


def test_files_are_small_and_say_so(fits, rows, tmp_path):
    small, _ = fits
    small.save(tmp_path / "map.json")
    assert (tmp_path / "map.json").stat().st_size < 5_000_000
    loaded = fairpot.load(tmp_path / "map.json")
    assert loaded.simplified_ == small.simplified_
    assert loaded.maps_ == small.maps_
    assert small.at(small._value).maps_ == small.maps_at(small._value) == small.maps_
    assert small.private_content().private["largest_error"] > small.simplified_["largest_error"]


def test_ordinary_maps_stay_bit_for_bit(rows):
    score, y, group = (each[:90_000] for each in rows)
    fits = [FairPOT(max_gap=0.05, exact=exact).fit(score, y, sensitive_features=group) for exact in (False, True)]
    assert fits[0].lam_ == fits[1].lam_
    assert fits[0].maps_ == fits[1].maps_
    assert fits[0].simplified_ is None
    with pytest.raises(TypeError, match="exact must be True or False, got 'yes'"):
        FairPOT(0.5, exact="yes").fit(score, y, sensitive_features=group)


def test_two_groups_and_the_top(rows):
    """Of two groups every lambda is tried; in the top the gap is the one there, also with a bound that is reached."""
    score, y, group = rows
    group = np.where(group == "a", "a", "other")
    for alpha, measure in ((None, xauc_gap), (0.8, lambda *r, **g: partial_xauc_gap(*r, alpha=0.8, **g))):
        most = measure(y, score, sensitive_features=group) / 10
        model = FairPOT(max_gap=most, alpha=alpha).fit(score, y, sensitive_features=group)
        assert model.simplified_ is not None
        assert 0 <= measure(y, model.transform(score, sensitive_features=group), sensitive_features=group) <= most


def test_without_outcomes_the_error_alone_is_known(rows):
    score, _, group = rows
    found = WassersteinRepair().fit(score, sensitive_features=group).simplified_
    assert found["largest_error"] > 0
    assert found["gap_change"] is None


@pytest.mark.parametrize("tight", [False, True])
def test_a_certificate_is_kept_or_every_knot(rows, tight):
    """What simplifying changes is added to the limit; where the bound does not leave that much, nothing is dropped."""
    score, y, group = (each[rows[2] != "c"] for each in rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = WassersteinRepair(0.8).fit(score, y, sensitive_features=group)
    change = abs(model.simplified_["gap_change"])
    limit = 0.05 - (change / 2 if tight else 2 * change)
    given = dict.fromkeys(Certificate.__dataclass_fields__) | {"bound": 0.05, "limit": limit}
    model.certificate_ = Certificate(**given)
    model._keep_certified()
    assert (model.simplified_ is None) == tight
    assert model.certificate_.limit == (limit if tight else limit + change)
