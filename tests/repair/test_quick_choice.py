"""A choice that looks at few entries first, and at all rows a few times: as good as looking at all rows everywhere."""

import warnings

import numpy as np
import pytest

from fairpot import FairPOT, InfeasibleRuleError, LogitShift, OptimalMerge, WassersteinRepair, score_table
from fairpot.exceptions import FairpotWarning
from fairpot.repair.choose import Ground, Look
from fairpot.repair.registry import methods

ROWS = 9000
RULES = [{"max_gap": 0.09}, {"max_auc_loss": 0.002}, {"max_gap": 0.1, "max_auc_loss": 0.01}, {}]
METHODS = [LogitShift, WassersteinRepair, OptimalMerge]


def draw(seed, groups=2, digits=17, weighed=False, n=ROWS):
    """More distinct scores than a search looks at first."""
    rng = np.random.default_rng(seed)
    g, more = rng.integers(0, groups, n), rng.normal(0, 0.05, groups)
    y = rng.random(n) < 0.3 + more[g]
    s = 1 / (1 + np.exp(-(rng.normal(size=n) + y - 0.4 * g)))
    rows = {"sensitive_features": np.array(list("abcd"))[g]}
    if weighed:
        rows["sample_weight"] = rng.gamma(2, 0.5, n)
    return s.round(digits), y, rows


def quietly(work):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairpotWarning)
        return work()


def fit(model, rows):
    return quietly(lambda: model.fit(*rows[:2], **rows[2]))


def is_as_good_as_all(model, rule, curve):
    """No strength of a curve that keeps the rule is better; and the choice keeps it as it is delivered."""
    done, capped = model.achieved_, model.dial.identity is not None
    loss = done.auc_before - done.auc
    assert done.gap <= rule.get("max_gap", 1) + 1e-12
    assert loss <= rule.get("max_auc_loss", 1) + 1e-12
    kept = (curve.gap <= rule.get("max_gap", 1)) & (done.auc_before - curve.auc <= rule.get("max_auc_loss", 1))
    assert kept.any()
    if "max_gap" not in rule:
        assert done.gap <= curve.gap[kept].min() + 1e-6
        return
    most = done.auc_before if capped else 1.0
    assert min(done.auc, most) >= min(curve.auc[kept].max(), most) - 1e-6


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("method", METHODS)
def test_no_strength_on_all_rows_is_better(method, rule):
    for seed, how in ((0, {}), (1, {"digits": 4}), (2, {"weighed": True})):
        rows = draw(seed, **how)
        model = fit(method(**rule, ties="strict" if seed == 1 else "half"), rows)
        near = model.strength_ * np.linspace(0.98, 1.02, 41) if method is not WassersteinRepair else []
        values = np.union1d(model.tradeoff().lam, near)
        is_as_good_as_all(model, rule, quietly(lambda model=model, values=values: model.tradeoff(lams=values)))
        assert model.tradeoff().select(**rule).lam == model.strength_


@pytest.mark.parametrize("groups", [3, 4])
def test_several_groups_that_move_together(groups):
    rows = draw(groups, groups)
    for rule in RULES[1:]:
        model = fit(WassersteinRepair(**rule), rows)
        is_as_good_as_all(model, rule, model.tradeoff())


@pytest.mark.parametrize("method", [FairPOT, *METHODS])
@pytest.mark.parametrize("top", [{"top": 0.3}, {"top": 0.5, "top_of": "group"}, {"top": 0.5, "repair": "top"}], ids=str)
def test_the_gap_of_a_top_keeps_its_target(method, top):
    rows = draw(5, n=4500)
    free = fit(method(**top), rows)
    target = (free.achieved_.gap_top + free.achieved_.gap_top_before) / 2
    model = fit(method(max_gap=target, **top), rows)
    assert model.achieved_.gap_top <= target + 1e-12
    curve = model.tradeoff()
    kept = curve.gap <= target
    most = model.achieved_.auc_before if model.dial.identity is not None else 1.0
    assert min(model.achieved_.auc, most) >= min(curve.auc[kept].max(initial=0), most) - 1e-5
    assert curve.select(max_gap=target).lam == model.strength_


@pytest.mark.parametrize("method", METHODS)
def test_neither_the_order_of_rows_nor_names_matter(method):
    s, y, rows = draw(7, weighed=True)
    order = np.random.default_rng(0).permutation(len(s))
    others = {"sensitive_features": np.where(rows["sensitive_features"] == "a", "z", "m")[order]}
    others["sample_weight"] = rows["sample_weight"][order]
    one, other = fit(method(max_gap=0.02), (s, y, rows)), fit(method(max_gap=0.02), (s[order], y[order], others))
    assert other.strength_ == pytest.approx(one.strength_, rel=1e-12)


@pytest.mark.parametrize("lattice", [None, 0.05])
def test_a_shift_is_counted_where_it_is_delivered(lattice):
    """On a lattice of log-odds many shifts lie on ties, which rounding alone would decide."""
    for seed in range(2):
        s, y, rows = draw(seed, n=6000)
        if lattice is not None:
            s = 1 / (1 + np.exp(-(np.log(s / (1 - s)) / lattice).round() * lattice))
            s += np.random.default_rng(seed).integers(-2, 3, len(s)) * 1e-12
        for target in (0.01, 0.04):
            model = fit(LogitShift(max_gap=target), (s, y, rows))
            assert model.achieved_.gap <= target + 1e-12
            point = model.tradeoff().select(max_gap=target)
            assert point.gap == pytest.approx(model.achieved_.gap, abs=1e-12)


@pytest.mark.parametrize("name", methods())
def test_what_moves_exactly_gives_the_numbers_of_the_map(name):
    """At fitted scores, of two groups and of three, and with 0 and 1 among them."""
    for groups, digits in ((2, 17), (3, 2)):
        s, y, rows = draw(3, groups, digits, n=900)
        table = score_table(y, np.r_[0.0, 1.0, s[2:]], **rows)
        family = fit(methods()[name](**{methods()[name].dial.name: 0.7}), (table, None, {}))._fit.family
        if not family.moves_exactly:
            continue
        for group in family.moved:
            move = family.mover(group, table[group].score)
            for value in (0.0, 0.3, 1.0) if family.dial.low == 0 and not family.dial.above else (0.3, 1.0, 2.5):
                np.testing.assert_array_equal(move(value), family.map(group, value)(table[group].score))


@pytest.mark.parametrize("method", [FairPOT, *METHODS])
def test_other_rows_are_counted_by_the_maps(method):
    """Also scores outside those of the fit, where maps have their own rules."""
    model, (s, y, rows) = fit(method(**{method.dial.name: 0.6}), draw(8, n=800)), draw(9, n=700)
    s = np.r_[0.0, 1.0, 1e-9, s[3:]]
    curve = quietly(lambda: model.tradeoff(s, y, lams=[0.6], **rows))
    table = score_table(y, s, **rows)
    after = Look(model._fit.family, Ground(table)).trace(np.array([0.6]))
    assert curve.gap[0] == after.gap[0]
    moved = quietly(lambda: model.transform(s, sensitive_features=rows["sensitive_features"]))
    shown = score_table(y, moved, **rows)
    still = quietly(lambda: FairPOT(0.0).fit(shown).achieved_)
    assert (curve.auc[0], curve.gap[0]) == pytest.approx((still.auc, still.gap), abs=1e-12)


def with_real_differences():
    """Draw groups whose scores differ as their risks do: a repair costs AUC."""
    rng = np.random.default_rng(1)
    g = rng.integers(0, 2, 4000)
    s = 1 / (1 + np.exp(-(rng.normal(size=4000) - 1.2 * g)))
    return s, rng.random(4000) < s, {"sensitive_features": np.array(list("ab"))[g]}


def test_a_dead_end_names_what_could_reach_the_target():
    rng = np.random.default_rng(0)
    g, n = rng.integers(0, 2, 4000), 4000
    y = rng.random(n) < 0.3
    s = 1 / (1 + np.exp(-(rng.normal(size=n) * (1 + 0.8 * g) + y * (1 - 0.7 * g) - 0.8 * g)))
    rows = s, y, {"sensitive_features": np.array(list("ab"))[g]}
    reached = fit(FairPOT(), rows).achieved_.gap
    with pytest.raises(InfeasibleRuleError, match=r"LogitShift.* could reach it, on a look at few rows\.$") as refused:
        fit(FairPOT(max_gap=reached / 2), rows)
    assert "AUC" not in str(refused.value).split("Hint")[1]
    fit(LogitShift(max_gap=reached / 2), rows)
    with pytest.raises(InfeasibleRuleError, match=r"On a look at few rows none of .*LogitShift.* seems to reach it"):
        fit(FairPOT(max_gap=0.001, max_auc_loss=1e-5), with_real_differences())


@pytest.mark.parametrize("groups", [3, 5])
def test_a_dead_end_of_several_groups(groups):
    rng = np.random.default_rng(groups)
    g, n = rng.integers(0, groups, 5000), 5000
    y = rng.random(n) < 0.3
    s = 1 / (1 + np.exp(-(rng.normal(size=n) * (1 + 0.4 * g) + y * (1 - 0.2 * g) - 0.3 * g)))
    rows = s, y, {"sensitive_features": np.array(list("abcde"))[g]}
    reached = fit(WassersteinRepair(), rows).achieved_.gap
    with pytest.raises(InfeasibleRuleError, match=r"LogitShift.* could reach it, on a look at few rows"):
        fit(WassersteinRepair(max_gap=0.8 * reached), rows)
    fit(LogitShift(max_gap=0.8 * reached), rows)
