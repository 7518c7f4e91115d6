"""Very many distinct scores: fewer breakpoints within a stated error, rules that hold all the same, small files."""

import numpy as np
import pytest

import fairpot
from fairpot import FairPOT, OptimalMerge, WassersteinRepair
from fairpot.metrics import auc, xauc_gap
from fairpot.repair import finish, fitting
from fairpot.repair.finish import whole_maps

# As many distinct scores as are simplified, with so few that a test takes no time.
ROWS, MOST = 6000, 1500


@pytest.fixture(autouse=True)
def few_breakpoints(monkeypatch):
    """Simplify maps of a few thousand breakpoints as those of millions are."""
    for module in (finish, fitting):
        monkeypatch.setattr(module, "MOST_KNOTS", MOST)


@pytest.fixture(scope="module")
def rows():
    """Three groups, every score a different one."""
    rng = np.random.default_rng(0)
    group = rng.choice(3, ROWS, p=[0.2, 0.4, 0.4])
    y = (rng.random(ROWS) < 0.2 - 0.03 * group).astype(np.int8)
    return 1 / (1 + np.exp(1 + 0.35 * group - y - rng.normal(size=ROWS))), y, np.array(list("abc"))[group]


def whole(model):
    """The maps of every breakpoint."""
    return whole_maps(model._fit.final, model.strength_, model.table_, model.keep)


def fitted(method, rows, **options):
    score, y, group = rows
    return method(**options).fit(score, y, sensitive_features=group)


@pytest.mark.parametrize(
    ("method", "options"),
    [(FairPOT, {"max_gap": 0.05}), (WassersteinRepair, {"max_gap": 0.05}), (OptimalMerge, {"theta": 1.4})],
)
def test_the_error_is_the_true_one_and_the_rule_holds(method, options, rows, tmp_path):
    """At every fitted score, between any two and outside them; in the file, and in what is measured."""
    small = fitted(method, rows, **options)
    full, found = whole(small), small.fair_maps_.simplified_
    assert sum(len(each.knots) for each in small.maps_.values()) == found["knots"] <= 2 * MOST
    ordered = np.sort(rows[0])
    everywhere = np.r_[ordered, (ordered[1:] + ordered[:-1]) / 2, np.linspace(-0.5, 1.5, 9999)]
    differ = [np.abs(small.maps_[g](everywhere) - full[g](everywhere)).max() for g in small.groups_]
    assert max(differ) == pytest.approx(found["largest_error"], rel=1e-6, abs=1e-15)
    assert 0 < found["largest_error"] < 0.05
    for group, each in full.items():
        assert small.maps_[group].is_monotone == each.is_monotone
    score, y, group = rows
    new = small.transform(score, sensitive_features=group)
    other = np.select([group == g for g in "abc"], [full[g](score) for g in "abc"])
    gap = [xauc_gap(y, each, sensitive_features=group) for each in (new, other)]
    assert gap[0] <= options.get("max_gap", 1)
    assert found["gap_change"] == pytest.approx(gap[0] - gap[1], abs=1e-12)
    assert found["auc_change"] == pytest.approx(auc(y, new) - auc(y, other), abs=1e-12)
    small.save(tmp_path / "map.json")
    loaded = fairpot.load(tmp_path / "map.json")
    assert loaded.simplified_ == found
    assert loaded.maps_ == small.maps_ == small.at(small.strength_).maps_
    assert small.fair_maps_.private_content().private.largest_error > found["largest_error"]


def test_ordinary_maps_stay_bit_for_bit(rows):
    small = fitted(FairPOT, [each[:1200] for each in rows], lam=0.4)
    assert small.maps_ == whole(small)
    assert small.fair_maps_.simplified_ is None


@pytest.mark.parametrize("top", [{}, {"top": 0.8, "repair": "top"}])
def test_two_groups_and_the_top(rows, top):
    """Of two groups every lambda is tried; in the top the gap is the one there, also with a bound that is reached."""
    score, y, group = rows
    rows = score, y, np.where(group == "a", "a", "other")
    before = fitted(FairPOT, rows, lam=0.0, **top).achieved_
    most = (before.gap_top if top else before.gap) / 5
    model = fitted(FairPOT, rows, max_gap=most, **top)
    assert model.fair_maps_.simplified_ is not None
    assert 0 <= (model.achieved_.gap_top if top else model.achieved_.gap) <= most


def test_without_outcomes_the_error_alone_is_known(rows):
    score, _, group = rows
    found = WassersteinRepair(t=1).fit(score, sensitive_features=group).fair_maps_.simplified_
    assert found["largest_error"] > 0
    assert found["gap_change"] is None


def test_what_is_certified_is_what_is_delivered(rows):
    """The bound of a certificate is kept by the simplified maps, or nothing is dropped."""
    score, y, group = (each[rows[2] != "c"] for each in rows)
    model = fitted(WassersteinRepair, (score, y, group), max_gap=0.15, confidence=0.8)
    assert model.certificate_.bound == 0.15
    assert xauc_gap(y, model.transform(score, sensitive_features=group), sensitive_features=group) <= 0.15
