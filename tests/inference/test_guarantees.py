"""What a certificate rests on: which way the dial runs, whether its curve falls, how folds are taught, enough rows."""

import re

import numpy as np
import pytest

import oracles
from fairpot import FairPOT, InfeasibleRuleError, score_table
from fairpot.inference import confidence_interval
from fairpot.methods import LogitShift, OptimalMerge
from fairpot.splitting import all_but, split_table
from inference_oracles import signed


def signed_gap(y, scores, group):
    """How much more often "a" wins against "b" than the other way round, pair by pair."""
    ranked = [oracles.xauc(y, scores, group, *pair, half=True) for pair in (("a", "b"), ("b", "a"))]
    return ranked[0] - ranked[1]


def ahead(seed, n=2000):
    """Draw probabilities that rank group "a" above group "b"."""
    rng = np.random.default_rng(seed)
    a = rng.random(n) < 0.4
    y = (rng.random(n) < 0.3).astype(int)
    return 1 / (1 + np.exp(-rng.normal(1.2 * y + 0.5 * a - 1))), y, np.where(a, "a", "b")


@pytest.mark.parametrize("method", [LogitShift, OptimalMerge])
@pytest.mark.parametrize("reference", ["a", "b"])
def test_a_certified_value_leaves_ahead_who_was_ahead(method, reference):
    """Moving the group behind, the dial begins overshot and ends unrepaired; moving the other, it is the other way."""
    scores, y, group = ahead(0)
    new, new_y, new_group = ahead(1)
    model = method(reference=reference).fit(scores, y, sensitive_features=group)
    curve = model.tradeoff(new, new_y, sensitive_features=new_group)
    turned = curve.signed_gap * (1 if reference == "a" else -1)
    assert turned.min() < -0.2 < 0.2 < turned.max()  # values that turn the gap round are there to be chosen
    sure = model.choose_certified(new, new_y, sensitive_features=new_group, max_gap=0.15, confidence=0.9)
    assert sure.certificate_.how == "walk"
    after = sure.transform(new, sensitive_features=new_group)
    before = signed_gap(new_y, new, new_group)
    assert 0 <= signed_gap(new_y, after, new_group) < 0.15 < before


def spread_out(seed, spread, n=2000):
    """Draw a group "b" that is behind; where it is spread out more widely, its best are ahead of the best of "a"."""
    rng = np.random.default_rng(seed)
    b = np.arange(n) % 2 == 1
    y = (rng.random(n) < 0.4).astype(int)
    return y + rng.normal(size=n) * np.where(b, spread, 1.0) - 0.3 * b, y, np.where(b, "b", "a")


@pytest.mark.parametrize(("spread", "how"), [(1.0, "walk"), (2.2, "step-down")])
def test_only_a_falling_curve_is_walked(spread, how):
    """Repairing the best of "b" first takes them down: the gap widens by two standard errors before it closes."""
    lams = [0.0, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0]
    scores, y, group = spread_out(0, spread)
    new, new_y, new_group = spread_out(1, spread)
    model = FairPOT(0.0, reference="a").fit(scores, y, sensitive_features=group)
    gaps, errors = [], []
    for lam in lams:
        after = model.at(lam).transform(new, sensitive_features=new_group)
        gaps.append(signed_gap(new_y, after, new_group))
        errors.append(confidence_interval("xauc_gap", new_y, after, sensitive_features=new_group).se)
    rise = ((gaps - np.minimum.accumulate(gaps)) / errors).max()
    assert rise == 0 if how == "walk" else 1 < rise < 5
    curve = model.tradeoff(new, new_y, sensitive_features=new_group, lams=lams)
    assert curve.select(max_gap=0.2, confidence=0.9).certificate.how == how


@pytest.mark.filterwarnings("ignore:no repair needed")
@pytest.mark.parametrize("method", [FairPOT, LogitShift, OptimalMerge])
def test_folds_are_repaired_towards_the_reference_of_all_rows(method):
    """Two groups about equally ranked: left to themselves, some folds would move the other one."""
    rng = np.random.default_rng(9)
    group = np.where(np.arange(1500) % 3 == 1, "b", "a")
    y = (rng.random(1500) < 0.4).astype(int)
    scores = 1 / (1 + np.exp(-(y + rng.normal(size=1500) * np.where(group == "b", 1.6, 1.0))))
    table = score_table(y, scores, sensitive_features=group)
    folds = split_table(table, 5, 0)
    taught = [all_but(folds, k) for k in range(5)]
    assert {method().fit(other).reference_ for other in taught} == {"a", "b"}
    model = method(max_gap=0.2, confidence=0.9).fit(table)
    found = model.certificate_
    gaps, areas = [], []
    for fold, other in zip(folds, taught):
        pinned = method(found.value, reference=model.reference_).fit(other)
        after = fold.rescored(pinned.maps_)
        gaps.append(signed(confidence_interval("xauc_gap", after), "a"))
        areas.append(confidence_interval("auc", after).value)
    assert found.gap.value == pytest.approx(abs(np.mean(gaps)), abs=1e-12)
    assert found.auc.value == pytest.approx(np.mean(areas), abs=1e-12)


def test_a_value_that_empties_a_cell_of_the_top_has_no_certificate():
    """Enough rows in the top of the scores as they came, too few once the repair takes a group out of it."""

    def draw(seed, n, lift):
        rng = np.random.default_rng(seed)
        b = np.arange(n) % 5 == 0
        y = (rng.random(n) < 0.3).astype(int)
        return y + rng.normal(size=n) + b + lift, y, np.where(b, "b", "a")

    scores, y, group = draw(0, 600, 0.0)
    new, new_y, new_group = draw(3, 160, 1.5)  # above the scores of fit: what is moved leaves the top of these rows
    model = FairPOT(0.0, reference="a", top=0.2).fit(scores, y, sensitive_features=group)
    fewest = []
    for lam in (0.0, 1.0):
        after = model.at(lam).transform(new, sensitive_features=new_group)
        top = oracles.top_rows(after, 0.2)
        fewest.append(min(int((top & (new_group == g) & (new_y == k)).sum()) for g in "ab" for k in (0, 1)))
    assert fewest[0] >= 5 > fewest[1] > 0
    curve = model.tradeoff(new, new_y, sensitive_features=new_group, lams=[0.0, 1.0])
    assert re.match(rf"group 'b' has {fewest[1]} rows with(out)? the outcome in the top 20%", curve.band().reason)
    assert np.isnan(curve.band().gap.high).all()
    chosen = curve.select(max_gap=0.9, confidence=0.9)
    assert (chosen.lam, chosen.certificate.bound) == (0.0, 0.9)  # the other is left out
    alone = model.tradeoff(new, new_y, sensitive_features=new_group, lams=[1.0])
    with pytest.raises(
        InfeasibleRuleError, match=r"no lam can be certified: in the top 20% some group has fewer than 5"
    ):
        alone.select(max_gap=0.9, confidence=0.9)
