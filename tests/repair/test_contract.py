"""What every method of the registry does alike; a new method is covered the day it joins."""

import pickle
import re
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import fairpot
from fairpot import methods as own
from fairpot.exceptions import (
    InfeasibleRuleError,
    ReversedScoreWarning,
    ScaleWarning,
    SmallGroupWarning,
    UnseenGroupError,
)
from fairpot.methods import FairPOT, LogitShift, OptimalMerge, WassersteinRepair
from fairpot.metrics import auc, xauc_gap
from fairpot.modelfile.files import dumps
from fairpot.repair.registry import find_method, method_name
from fairpot.repair.registry import methods as all_methods
from fairpot.table import ScoreTable

METHODS = all_methods()
TIES = ("strict", "half")


def given_value(method):
    """A value of the dial that is neither an end nor the identity."""
    dial = method.dial
    if dial.low == -np.inf:
        return 0.7
    return dial.low + (0.4 * (dial.high - dial.low) if np.isfinite(dial.high) else 1.5)


def given(method, **options):
    return method(**{method.dial.name: given_value(method)}, **options)


# Every method with its dial given, some by rule, and those whose parameters change what a map is.
MODELS = [
    *(given(method) for method in METHODS.values()),
    FairPOT(),
    LogitShift(max_gap=0.1),
    FairPOT(0.6, top=0.5, repair="top", monotone=True, reference="b"),
    FairPOT(0.6, top=0.5, keep="grid"),
    WassersteinRepair(0.6, keep="probabilities"),
    OptimalMerge(1.3, top=0.6, top_of="group", repair="top"),
]
# Bounds are wide in places: what a method without a value that changes nothing says of that is tested elsewhere.
pytestmark = pytest.mark.filterwarnings("ignore:no repair needed")
methods = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
models = pytest.mark.parametrize("model", MODELS, ids=str)


def draw(seed=0, n=160, groups=("a", "b"), digits=2):
    """Draw probabilities with ties, every group behind the one before it, and each outcome in each."""
    rng = np.random.default_rng(seed)
    place = np.r_[np.tile(np.arange(len(groups)), 4), rng.integers(0, len(groups), n)]
    score = 1 / (1 + np.exp(1 - rng.normal(size=len(place)) + 0.6 * place))
    y = np.r_[np.repeat([0, 1, 0, 1], len(groups)), rng.random(n) < score[4 * len(groups) :] ** 0.7].astype(int)
    return score.round(digits), y, np.array(groups)[place]


def takes_points(method):
    """Whether a method takes scores that are no probabilities, as all of fairpot's own do."""
    try:
        given(method).fit([10, 20, 30, 40], [0, 1, 0, 1], sensitive_features=["a", "a", "b", "b"])
    except ValueError as error:
        return "needs scores in [0, 1]" not in str(error) or method.__name__ in own.__all__
    return True


def fitted(model, rows, weight=None, **said):
    scores, y, group = rows
    return clone(model).fit(scores, y, sensitive_features=group, sample_weight=weight, **said)


def table_of(rows, weight=None):
    scores, y, group = rows
    return fairpot.score_table(y, scores, sensitive_features=group, sample_weight=weight)


def transformed(model, rows):
    return model.transform(rows[0], sensitive_features=rows[2])


def bytes_of(model):
    return dumps(model.fair_maps_.file_content())


def measured(rows, after, ties="half"):
    _, y, group = rows
    return auc(y, after, ties=ties), xauc_gap(y, after, sensitive_features=group, ties=ties)


def weights_of(kind, n, seed=1):
    rng = np.random.default_rng(seed)
    whole = rng.integers(0, 4, n)
    whole[:20] += 1  # every cell keeps a row
    return {None: None, "whole": whole, "broken": rng.random(n) + 0.1}[kind]


# Rows and tables


@models
@pytest.mark.parametrize("weighted", [None, "broken"])
def test_a_fit_on_a_table_is_the_fit_on_its_rows(model, weighted):
    rows, new = draw(), draw(7)
    weight = weights_of(weighted, len(rows[0]))
    by_rows = fitted(model, rows, weight)
    by_table = clone(model).fit(table_of(rows, weight))
    assert bytes_of(by_table) == bytes_of(by_rows)
    assert by_table.maps_ == by_rows.maps_
    np.testing.assert_array_equal(transformed(by_table, new), transformed(by_rows, new))
    assert by_table.groups_ == by_rows.groups_
    assert set(vars(by_table)) == set(vars(by_rows))


@methods
def test_intersections_come_in_the_same_order(method):
    """Sorted as text, 10 comes before 9; the columns themselves say otherwise."""
    scores, y, group = draw(n=600)
    columns = {"age": np.random.default_rng(2).choice([9, 10], len(y)), "sex": group}
    table = table_of((scores, y, columns))
    assert table.groups[0] == "age=9, sex=a"
    by_rows = given(method).fit(scores, y, sensitive_features=columns)
    assert bytes_of(given(method).fit(table)) == bytes_of(by_rows)


@methods
def test_names_of_groups_keep_their_type(method):
    model = given(method).fit(table_of(draw(groups=(1, 2))))
    assert model.groups_ == (1, 2)
    assert all(isinstance(g, (int, np.integer)) for g in model.maps_)


@methods
def test_a_table_needs_two_groups_with_rows(method):
    scores, y, group = draw()
    with pytest.raises(ValueError, match="single group"):
        method().fit(ScoreTable.from_rows(scores, y.astype(np.int8)))
    empty = ScoreTable.from_rows(scores, y.astype(np.int8), (group == "b") * 1, ("a", "b", "c"))
    with pytest.raises(ValueError, match="no rows of the group 'c'"):
        method().fit(empty)


@models
def test_a_curve_of_a_table_is_that_of_its_rows(model):
    rows, new = draw(), draw(7)
    repair = fitted(model, rows)
    for where in (rows, new):
        by_rows = repair.tradeoff(where[0], where[1], sensitive_features=where[2])
        by_table = repair.tradeoff(table_of(where))
        for name in ("lam", "auc", "xauc_ab", "xauc_ba"):
            np.testing.assert_array_equal(getattr(by_table, name), getattr(by_rows, name))
    np.testing.assert_array_equal(repair.tradeoff().auc, repair.tradeoff(table_of(rows)).auc)
    with pytest.raises(ValueError, match="no labels"):
        repair.tradeoff(table_of((new[0], None, new[2])))


@models
@pytest.mark.parametrize("ties", TIES)
def test_a_curve_says_what_the_metrics_say(model, ties):
    """At each of three values: transform the rows there, and measure (the top has its own tests)."""
    rows, new = draw(), draw(7)
    plain = {"top": None, "top_of": "all", "repair": "all", "keep": None}
    repair = fitted(clone(model).set_params(ties=ties, **plain), rows)
    values = [given_value(type(model)) * share for share in (0.3, 1.0, 1.9)]
    curve = repair.tradeoff(new[0], new[1], sensitive_features=new[2], lams=values)
    for place, value in enumerate(curve.lam):
        area, gap = measured(new, transformed(repair.at(float(value)), new), ties)
        assert curve.auc[place] == pytest.approx(area, abs=1e-12)
        assert curve.gap[place] == pytest.approx(gap, abs=1e-12)
    assert curve.unmoved_auc == pytest.approx(measured(new, new[0], ties)[0], abs=1e-12)
    assert curve.dial == repair.dial.name


# What must not matter


@models
def test_order_of_rows_does_not_matter(model):
    rows, new = draw(), draw(7)
    order = np.random.default_rng(0).permutation(len(rows[0]))
    shuffled = fitted(model, [column[order] for column in rows])
    repair = fitted(model, rows)
    assert bytes_of(shuffled) == bytes_of(repair)
    order = np.random.default_rng(1).permutation(len(new[0]))
    after = transformed(repair, new)
    np.testing.assert_array_equal(transformed(repair, [column[order] for column in new]), after[order])


@models
def test_whole_weights_are_repeated_rows(model):
    rows, new = draw(), draw(7)
    weight = weights_of("whole", len(rows[0]))
    weighted = fitted(model, rows, weight, weights="frequency")
    repeated = fitted(model, [np.repeat(column, weight) for column in rows])
    assert bytes_of(weighted) == bytes_of(repeated)
    np.testing.assert_array_equal(transformed(weighted, new), transformed(repeated, new))
    as_floats = fitted(model, rows, weight.astype(float), weights="frequency")
    assert bytes_of(as_floats) == bytes_of(weighted)


@methods
@pytest.mark.parametrize("factor", [0.125, 300.0])
def test_fractional_weights_may_be_scaled(method, factor):
    rows, new = draw(), draw(7)
    weight = weights_of("broken", len(rows[0]))
    one, other = (fitted(given(method), rows, each) for each in (weight, weight * factor))
    for group in one.groups_:
        np.testing.assert_allclose(other.maps_[group].knots, one.maps_[group].knots, rtol=0, atol=1e-12)
        np.testing.assert_allclose(other.maps_[group].values, one.maps_[group].values, rtol=0, atol=1e-12)
    np.testing.assert_allclose(transformed(other, new), transformed(one, new), rtol=0, atol=1e-12)


@models
def test_input_is_not_changed(model):
    rows = draw()
    before = [column.copy() for column in rows]
    transformed(fitted(model, rows), rows)
    for column, copied in zip(rows, before):
        np.testing.assert_array_equal(column, copied)


# Maps


@models
def test_the_order_inside_a_group_is_kept_where_a_map_says_so(model):
    rows = draw()
    repair, dense = fitted(model, rows), np.linspace(0, 1, 401)
    kept = []
    for group, score_map in repair.maps_.items():
        if score_map.is_monotone:
            after = repair.transform(dense, sensitive_features=np.full(len(dense), group))
            assert (np.diff(after) >= 0).all()
            kept.append(group)
    # A share that is moved downwards may be overtaken by those who stay; nothing else loses the order.
    assert kept


@methods
@pytest.mark.parametrize("groups", ["ab", "abcd"])
def test_many_groups(method, groups):
    """As it comes it narrows the gap, with a strength for each moved group."""
    rows = draw(n=110 * len(groups), groups=tuple(groups))
    repair = fitted(method(), rows)
    assert repair.groups_ == tuple(groups)
    assert set(repair.maps_) == set(groups)
    assert tuple(repair.strengths_) == tuple(g for g in groups if g != repair.reference_)
    after = transformed(repair, rows)
    assert np.isfinite(after).all()
    assert measured(rows, after)[1] < measured(rows, rows[0])[1]
    if repair.reference_ is not None:
        assert repair.maps_[repair.reference_].is_identity
        stays = rows[2] == repair.reference_
        np.testing.assert_array_equal(after[stays], rows[0][stays])
    for group in repair.strengths_:
        assert (after[rows[2] == group] != rows[0][rows[2] == group]).any()


@methods
def test_the_dial_at_its_identity_changes_nothing(method):
    if method.dial.identity is None:
        return
    rows = draw()
    repair = fitted(method(**{method.dial.name: method.dial.identity}), rows)
    new = np.array([0.1 + 0.2, 0.0, 1.0, 1 / 3])
    np.testing.assert_array_equal(repair.transform(new, sensitive_features=list("abab")), new)
    assert all(each.is_identity for each in repair.maps_.values())
    assert repair.tradeoff(lams=[method.dial.identity]).auc[0] == repair.tradeoff().unmoved_auc


@methods
def test_another_value_of_the_dial_is_a_fresh_fit_there(method):
    rows, new = draw(groups=tuple("abc"), n=240), draw(7, groups=tuple("abc"))
    repair = fitted(given(method), rows)
    before = bytes_of(repair)
    for value in (0.7 * given_value(method), 0.5 * given_value(method)):
        fresh = fitted(method(**{method.dial.name: value}), rows)
        turned = repair.at(value)
        assert bytes_of(turned) == bytes_of(fresh)
        assert turned.maps_ == fresh.maps_
        np.testing.assert_array_equal(transformed(turned, new), transformed(fresh, new))
        assert getattr(turned, f"{method.dial.name}_") == value
    assert bytes_of(repair) == before
    with pytest.raises(ValueError, match=f"{method.dial.name} must be finite"):
        repair.at(-1.0 if method is not LogitShift else np.inf)
    with pytest.raises(TypeError, match=f"{method.dial.name} must be a number"):
        repair.at("much")


@methods
def test_unseen_groups_are_refused(method):
    repair = fitted(given(method), draw())
    with pytest.raises(UnseenGroupError, match=r"2 rows with a group not seen in fit: \['z'\]"):
        repair.transform([0.1, 0.2, 0.3], sensitive_features=list("zaz"))
    with pytest.raises(UnseenGroupError, match="'z'"):
        repair.tradeoff([0.1, 0.2], [0, 1], sensitive_features=list("za"))
    with pytest.raises(UnseenGroupError, match="'z'"):
        repair.tradeoff(table_of(draw(groups=("a", "z"))))


# Rules


def bounds_of(curve, rule):
    """Bounds that some points keep and others do not."""
    middle = curve.point(int(np.argsort(curve.gap)[len(curve) // 2]))
    loss = max(curve.unmoved_auc - middle.auc, 0.0)
    found = {"max_gap": middle.gap + 1e-9, "max_auc_loss": loss + 1e-9}
    return {name: found[name] for name in rule}


@methods
@pytest.mark.parametrize(
    ("rule", "ties", "groups"),
    [
        (("max_gap",), "half", "ab"),
        (("max_auc_loss",), "strict", "ab"),
        (("max_gap", "max_auc_loss"), "strict", "abc"),
    ],
)
def test_rules_hold_on_the_fitted_rows(method, rule, ties, groups):
    rows = draw(n=110 * len(groups), groups=tuple(groups))
    before, _ = measured(rows, rows[0], ties)
    curve = fitted(given(method, ties=ties), rows).tradeoff()
    rule = bounds_of(curve, rule)
    repair = fitted(method(ties=ties, **rule), rows)
    area, gap = measured(rows, transformed(repair, rows), ties)
    assert gap <= rule.get("max_gap", 1.0) + 1e-12
    assert before - area <= rule.get("max_auc_loss", 1.0) + 1e-12
    # And no point of the default curve would have been a better choice.
    kept = (curve.gap <= rule.get("max_gap", 1.0)) & (curve.unmoved_auc - curve.auc <= rule.get("max_auc_loss", 1.0))
    assert kept.any()
    if "max_gap" in rule:  # an AUC above that of the scores as they came counts as equal to it
        most = np.inf if method.dial.identity is None else before
        assert min(area, most) >= min(curve.auc[kept].max(), most) - 2e-4
    else:
        assert gap <= curve.gap[kept].min() + 1e-3


@methods
def test_each_convention_for_ties_keeps_the_rule_its_own_way(method):
    """With scores in tenths the two choose differently: each is right by its own measure."""
    rows, name, chosen = draw(3, n=300, digits=1), method.dial.name, {}
    for ties in TIES:
        repair = fitted(method(ties=ties, max_auc_loss=0.005), rows)
        before, after = (measured(rows, scores, ties)[0] for scores in (rows[0], transformed(repair, rows)))
        assert before - after <= 0.005 + 1e-12
        chosen[ties] = getattr(repair, f"{name}_")
    assert chosen["strict"] != chosen["half"]
    by_default = fitted(method(max_auc_loss=0.005), rows)
    assert getattr(by_default, f"{name}_") == chosen["half"]


@methods
def test_a_rule_and_a_value_exclude_each_other(method):
    name = method.dial.name
    for rule in ("max_gap", "max_auc_loss"):
        with pytest.raises(ValueError, match=rf"{rule} is a rule for choosing {name}(.|\n)*Hint: leave one"):
            fitted(given(method, **{rule: 0.1}), draw())
        for wrong, error in ((-0.1, ValueError), (2, ValueError), ("x", TypeError)):
            with pytest.raises(error, match=rule):
                fitted(method(**{rule: wrong}), draw())


def infeasible(method):
    """Rows and bounds that no value of the dial keeps: no two sums of such weights agree to the last bit."""
    rows = draw(2)
    weight = np.random.default_rng(0).random(len(rows[0])) + 0.5
    return rows, weight, {"max_gap": 0.0, "max_auc_loss": 0.0}


@methods
def test_a_rule_out_of_reach_says_what_can_be_had(method):
    rows, weight, rule = infeasible(method)
    name = method.dial.name
    message = rf"no repair strength keeps max_gap=0.0 and max_auc_loss=0.0 together: the smallest gap is .* at {name}="
    with pytest.raises(InfeasibleRuleError, match=message):
        fitted(method(**rule), rows, weight)
    with pytest.raises(InfeasibleRuleError, match=r"strength keeps max_gap=0.0: the smallest gap is(.|\n)*Hint"):
        fitted(method(max_gap=0.0), rows, weight)


@methods
def test_a_fit_that_fails_leaves_the_model_as_it_was(method):
    rows, weight, rule = infeasible(method)
    repair = fitted(given(method), rows, weight)
    after, before = transformed(repair, rows), bytes_of(repair)
    names = set(vars(repair))
    for bad in ({"sensitive_features": ["a"] * len(rows[0])}, {"sample_weight": -weight}):
        with pytest.raises(ValueError, match=r"single group|negative"):
            repair.fit(rows[0], rows[1], **{"sensitive_features": rows[2]} | bad)
        assert bytes_of(repair) == before
    # A failure in the middle of a fit: the rule cannot be kept.
    repair.set_params(**rule, **{method.dial.name: None})
    before = bytes_of(repair)
    other = draw(5, groups=("a", "c"))
    with pytest.raises(InfeasibleRuleError):
        repair.fit(other[0], other[1], sensitive_features=other[2], sample_weight=weight)
    assert bytes_of(repair) == before
    assert set(vars(repair)) == names
    np.testing.assert_array_equal(transformed(repair, rows), after)
    unfitted = method(**rule)
    with pytest.raises(InfeasibleRuleError):
        fitted_in_place(unfitted, rows, weight)
    with pytest.raises(NotFittedError):
        transformed(unfitted, rows)


def fitted_in_place(model, rows, weight):
    return model.fit(rows[0], rows[1], sensitive_features=rows[2], sample_weight=weight)


# Files, copies


@models
def test_saved_and_loaded_bit_for_bit(model, tmp_path):
    rows, new = draw(), draw(7, digits=9)
    repair = fitted(model, rows, weights_of("broken", len(rows[0])))
    repair.save(tmp_path / "model.json")
    loaded = fairpot.load(tmp_path / "model.json")
    np.testing.assert_array_equal(transformed(loaded, new), transformed(repair, new))
    loaded.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "model.json").read_bytes()
    assert loaded.groups_ == repair.groups_


@models
def test_pickles_and_clones(model):
    rows, new = draw(), draw(7)
    repair = fitted(model, rows)
    again = pickle.loads(pickle.dumps(repair))
    assert bytes_of(again) == bytes_of(repair)
    np.testing.assert_array_equal(transformed(again, new), transformed(repair, new))
    np.testing.assert_array_equal(again.tradeoff().auc, repair.tradeoff().auc)
    fresh = clone(repair)
    assert fresh.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        transformed(fresh, new)
    with pytest.raises(NotFittedError):
        fresh.at(given_value(type(model)))


def test_names_find_methods():
    for name, method in METHODS.items():
        assert find_method(name) is find_method(method.__name__) is find_method(method.__name__.upper()) is method
        assert method_name(method) == name


# Groups left out, outcomes left out


def with_a_small_group(seed=0):
    rows = draw(seed, n=240)
    tiny = draw(seed + 1, n=4, groups=("tiny",))
    return tuple(np.concatenate(pair) for pair in zip(rows, tiny))


@methods
@pytest.mark.parametrize("option", [{"min_group": 30}, {"groups": ["a", "b"]}], ids=str)
def test_groups_left_out_stay_as_they_are(method, option, tmp_path):
    rows, new = with_a_small_group(), with_a_small_group(7)
    others = rows[2] != "tiny"
    with pytest.warns(SmallGroupWarning, match=r"left out of the comparison: 'tiny' \(8 rows\)"):
        repair = method().fit(*rows[:2], sensitive_features=rows[2], **option)
    assert repair.left_out_ == ("tiny",)
    assert repair.groups_ == ("a", "b", "tiny")
    assert "tiny" not in repair.strengths_
    after = transformed(repair, new)
    np.testing.assert_array_equal(after[new[2] == "tiny"], new[0][new[2] == "tiny"])
    alone = fitted(method(), [column[others] for column in rows])
    assert {g: repair.maps_[g] for g in "ab"} == alone.maps_
    np.testing.assert_array_equal(repair.tradeoff().auc, alone.tradeoff().auc)
    held_out = repair.tradeoff(new[0], new[1], sensitive_features=new[2])
    np.testing.assert_array_equal(held_out.auc, alone.tradeoff(table_of(new).only(["a", "b"])).auc)
    repair.save(tmp_path / "model.json")
    np.testing.assert_array_equal(transformed(fairpot.load(tmp_path / "model.json"), new), after)


@methods
def test_too_few_groups_are_left(method):
    rows = with_a_small_group()
    with pytest.raises(ValueError, match=r"fewer than two groups have enough rows \(min_group=1000\)"):
        method().fit(*rows[:2], sensitive_features=rows[2], min_group=1000)
    with pytest.raises(ValueError, match="at least two of"):
        method().fit(*rows[:2], sensitive_features=rows[2], groups=["a"])
    with pytest.raises(ValueError, match="groups='z' is not among the groups"):
        method().fit(*rows[:2], sensitive_features=rows[2], groups=["a", "z"])
    for wrong in (-1, 2.5, True, "many"):
        with pytest.raises(ValueError, match="min_group must be a whole number"):
            method().fit(*rows[:2], sensitive_features=rows[2], min_group=wrong)


@methods
def test_missing_outcomes(method):
    scores, _, group = draw()
    for rule in ({"max_gap": 0.1}, {"max_auc_loss": 0.1}):
        with pytest.raises(ValueError, match=r"needs y|y is missing: \w+ is chosen by its effect on outcomes"):
            method(**rule).fit(scores, sensitive_features=group)
        with pytest.raises(ValueError, match=r"needs y|y is missing"):
            method(**rule).fit(table_of((scores, None, group)))
    if method._needs_outcomes:
        with pytest.raises(ValueError, match=f"{method.__name__} looks at outcomes and needs y"):
            given(method).fit(scores, sensitive_features=group)
        return
    options = {} if method is WassersteinRepair else {"reference": "a"}
    repair = given(method, **options).fit(scores, sensitive_features=group)
    assert bytes_of(given(method, **options).fit(table_of((scores, None, group)))) == bytes_of(repair)
    if options:
        with pytest.raises(ValueError, match="who is ranked higher is seen from outcomes"):
            given(method).fit(scores, sensitive_features=group)
    with pytest.raises(ValueError, match="fitted without y"):
        repair.tradeoff()
    with pytest.raises(TypeError, match="y is missing"):
        repair.tradeoff(scores, sensitive_features=group)


# What a caller should know


@methods
def test_columns_in_another_order_are_refused(method):
    scores, y, group = (pd.Series(column, index=np.arange(len(column)) + 5) for column in draw())
    order = np.random.default_rng(0).permutation(len(scores))
    with pytest.raises(ValueError, match=r"y has the index labels of scores in another order"):
        given(method).fit(scores, y.iloc[order], sensitive_features=group)
    with pytest.raises(ValueError, match="sensitive_features has the index labels of scores in another order"):
        given(method).fit(scores, y, sensitive_features=group.iloc[order])
    repair = given(method).fit(scores, y, sensitive_features=group)
    with pytest.raises(ValueError, match=r"in another order(.|\n)*Hint: pass the same rows in one order"):
        repair.transform(scores, sensitive_features=group.iloc[order])
    with pytest.raises(ValueError, match="in another order"):
        repair.tradeoff(scores.iloc[order], y, sensitive_features=group)
    after = repair.transform(scores, sensitive_features=group)
    moved = repair.transform(scores.iloc[order], sensitive_features=group.iloc[order])
    pd.testing.assert_series_equal(moved, after.iloc[order])
    with pytest.raises(ValueError, match="sensitive_features has other index labels than scores"):
        repair.transform(scores, sensitive_features=group.set_axis(np.arange(len(group)) * 2))
    numbered = repair.transform(scores, sensitive_features=group.reset_index(drop=True))
    pd.testing.assert_series_equal(numbered, after)


@methods
def test_scores_on_another_scale(method):
    rows, new = draw(), draw(7)
    repair = fitted(given(method), rows)
    points = (100 * new[0], *new[1:])
    far = "scores lie far outside the fitted range: the map was fitted on scores from"
    with pytest.raises(ValueError, match=f"(?s){far}.*other_scale='warn' lets them through"):
        transformed(repair, points)
    with pytest.warns(ScaleWarning, match=far):
        repair.transform(points[0], sensitive_features=points[2], other_scale="warn")
    transformed(repair, new)  # no warning here, nor of a handful of scores
    repair.transform(new[0][:5], sensitive_features=new[2][:5])
    if not takes_points(method):
        return
    on_points = fitted(given(method), (100 * rows[0], *rows[1:]))
    transformed(on_points, points)
    with pytest.warns(ScaleWarning, match="fill less than a twentieth of the fitted range"):
        transformed(on_points, new)


@methods
def test_small_cells_and_reversed_scores_are_told(method):
    rows = draw(n=20)
    with pytest.warns(SmallGroupWarning, match=r"a has only \d+ rows with the outcome"):
        fitted(given(method), rows)
    scores, y, group = draw(n=400)
    with pytest.warns(ReversedScoreWarning, match=r"below 0.5(.|\n)*Hint: if a low score means high risk"):
        given(method).fit(1 - scores, y, sensitive_features=group)


@methods
def test_a_curve_over_the_dial_ascends_and_names_it(method):
    repair = fitted(given(method), draw())
    curve = repair.tradeoff()
    assert curve.dial == method.dial.name
    assert all(a < b for a, b in pairwise(curve.lam))
    few = repair.tradeoff(lams=curve.lam[:3])
    assert next(iter(few.frame().columns)) == method.dial.name
    for wrong, error, message in (([], ValueError, "lams is empty"), (["x"], TypeError, "lams must be a number")):
        with pytest.raises(error, match=message):
            repair.tradeoff(lams=wrong)
    with pytest.raises(ValueError, match="ties must be one of"):
        repair.tradeoff(ties="loose")


def visits(seed=0, patients=240, each=4):
    """Rows of patients that are all but copies of each other, in two groups."""
    rng = np.random.default_rng(seed)
    patient = np.repeat(np.arange(patients), each)
    group = np.where(patient % 3 == 0, "a", "b")
    y = np.repeat(rng.integers(0, 2, patients), each)
    scores = np.repeat(rng.normal(size=patients), each) + y + 0.6 * (group == "a") + 0.01 * rng.normal(size=len(y))
    return scores, y, group, np.array([f"patient-{p}" for p in patient])


# Certificates are one step for all methods: one that keeps a group as it is, and one that moves all.
certified = pytest.mark.parametrize("method", [FairPOT, WassersteinRepair])


@certified
def test_a_fit_knows_which_rows_belong_together(method):
    """Certificates, curves and held-out choices count a cluster as one, from rows and from a table alike."""
    scores, y, group, patient = visits()
    rows = {"sensitive_features": group, "clusters": patient}
    given = method(max_gap=0.4, confidence=0.9)
    by_rows = clone(given).fit(scores, y, **rows)
    by_table = clone(given).fit(fairpot.score_table(y, scores, **rows))
    assert by_rows.certificate_.to_dict() == by_table.certificate_.to_dict()
    alone = clone(given).fit(scores, y, sensitive_features=group)
    assert by_rows.certificate_.gap_before.se > 1.6 * alone.certificate_.gap_before.se
    assert b"patient-" not in pickle.dumps(by_rows)
    assert by_rows.table_.units.hashes is None
    new = visits(seed=1)
    told = by_rows.tradeoff(*new[:2], sensitive_features=new[2], clusters=new[3]).band()
    untold = by_rows.tradeoff(*new[:2], sensitive_features=new[2]).band()
    np.testing.assert_array_equal(told.gap.value, untold.gap.value)
    assert (told.gap.high - told.gap.value).mean() > 1.6 * (untold.gap.high - untold.gap.value).mean()


@certified
def test_importance_weights_reach_the_certificate(method):
    scores, y, group, _ = visits()
    weight = np.random.default_rng(2).exponential(size=len(y))
    given = method(max_gap=0.4, confidence=0.9)
    found = {
        meaning: clone(given).fit(scores, y, sensitive_features=group, sample_weight=weight, weights=meaning)
        for meaning in ("frequency", "importance")
    }
    before = {meaning: model.certificate_.gap_before for meaning, model in found.items()}
    assert before["importance"].se > 1.2 * before["frequency"].se


@methods
def test_low_scores_that_mean_high_risk(method, tmp_path):
    """A model fitted on such scores takes and gives them as they are: in transform, files and exports."""
    scores, y, group, _ = visits(patients=120)
    scores = np.round(1 / (1 + np.exp(-scores)), 3)
    table = fairpot.score_table(y, 1 - scores, sensitive_features=group, lower_is_riskier=True)
    np.testing.assert_array_equal(table.counts[0].score, -np.unique((1 - scores)[group == "a"])[::-1])
    if not takes_points(method):
        return
    model = given(method).fit(table)
    plain = given(method).fit(-(1 - scores), y, sensitive_features=group)
    new = np.linspace(-0.1, 1.1, 200)
    who = np.array(["a", "b"])[np.arange(200) % 2]
    expected = -plain.transform(-new, sensitive_features=who)
    if method is LogitShift:  # a probability is one with a minus as well, whose log-odds go the other way
        other = method(-model.shift_, reference=model.reference_).fit(1 - scores, y, sensitive_features=group)
        expected = other.transform(new, sensitive_features=who)
    np.testing.assert_array_equal(model.transform(new, sensitive_features=who), expected)
    model.save(tmp_path / "map.json")
    loaded = fairpot.load(tmp_path / "map.json")
    np.testing.assert_array_equal(loaded.transform(new, sensitive_features=who), expected)
    score = model.fair_maps_.row_scorer()
    np.testing.assert_allclose([score(s, g) for s, g in zip(new.tolist(), who)], expected, rtol=0, atol=1e-15)
    (tmp_path / "new.csv").write_text("score,group\n" + "".join(f"{s!r},{g}\n" for s, g in zip(new.tolist(), who)))
    fairpot.apply(tmp_path / "map.json", tmp_path / "new.csv", tmp_path / "fair.csv", other_scale="warn")
    written = [float(line.rsplit(",", 1)[1]) for line in (tmp_path / "fair.csv").read_text().splitlines()[1:]]
    np.testing.assert_allclose(written, expected, rtol=0, atol=1e-15)
    with pytest.raises(ValueError, match="same direction"):
        fairpot.effect(model, fairpot.score_table(y, 1 - scores, sensitive_features=group))
    found = fairpot.effect(model, table)
    assert found.before.gap == fairpot.effect(plain, plain.table_).before.gap


@methods
def test_every_parameter_is_described(method):
    described = method.__doc__.split("Attributes\n")[0]
    for name in method().get_params():
        assert re.search(rf"^    (\w+, )*{name}(, \w+)* : ", described, re.MULTILINE), name
