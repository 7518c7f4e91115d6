"""compare(): what a user gets, recomputed by hand; the joint Pareto set, the limit, an answer to every wrong call."""

from __future__ import annotations

import itertools
import json
import pickle
import re
from types import SimpleNamespace

import jsonschema
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import fairpot
from fairpot import (
    FairPOT,
    LogitShift,
    OptimalMerge,
    ScoreTable,
    WassersteinRepair,
    compare,
    score_table,
)
from fairpot.comparison import Chosen, Comparison
from fairpot.exceptions import InfeasibleRuleError, SmallGroupWarning, UnseenGroupError
from fairpot.inference import Estimate, confidence_interval
from fairpot.methods import optimal_merge
from fairpot.metrics import auc, xauc, xauc_gap
from fairpot.metrics.wins import WinMatrix
from fairpot.repair.registry import find_method, takes_reference
from fairpot.repair.registry import methods as all_methods
from fairpot.splitting import all_but, split_table
from fairpot.tradeoff import auc_limit
from fairpot.tradeoff.limit import Limit, Line
from schemas import schema_of

NAMES = tuple(method.__name__ for method in all_methods().values())
BOUNDS = (0.02, 0.05, 0.10)


def draw(n, seed, groups=("a", "b"), probability=True):
    """Draw rows whose first group is ahead."""
    rng = np.random.default_rng(seed)
    group = rng.choice(list(groups), n)
    risk = rng.normal(size=n) + 0.9 * (group == groups[0])
    y = (rng.random(n) < 1 / (1 + np.exp(1 - risk))).astype(int)
    score = risk + 0.7 * rng.normal(size=n) + 0.5 * (group == groups[0]) - 1
    return y, (np.round(1 / (1 + np.exp(-score)), 3) if probability else score), group


FITTED, NEW = draw(500, 0), draw(400, 1)


def compared(rows, held_out=None, **options):
    y, scores, group = rows
    if held_out is not None:
        new_y, new_scores, new_group = held_out
        options["held_out"] = score_table(new_y, new_scores, sensitive_features=new_group)
    return compare(y, scores, sensitive_features=group, **options)


@pytest.fixture(scope="module")
def held_out():
    return compared(FITTED, held_out=NEW)


@pytest.fixture(scope="module")
def crossfitted():
    return compared(FITTED, cv=4, random_state=0)


def signed_gap(y, scores, group, first="a", second="b", **options):
    options["sensitive_features"] = group
    ahead = xauc(y, scores, positive=first, negative=second, **options)
    return ahead - xauc(y, scores, positive=second, negative=first, **options)


def row_of(result, method, value):
    points = result.points
    same = np.isclose(points.value, value, rtol=1e-9, atol=1e-12) | (np.isnan(points.value) & np.isnan(value))
    [place] = np.flatnonzero((points.method == method) & same)
    names = ("dial", "auc", "gap", "signed_gap")
    return SimpleNamespace(**{name: getattr(points, name)[place].item() for name in names})


TABLE = ScoreTable.from_rows(FITTED[1], FITTED[0].astype(np.int8), (FITTED[2] == "b") * 1, "ab")


def kept(estimator, reference):
    """Name the group that does not change, where a method has one."""
    return {"reference": reference} if takes_reference(type(estimator)) else {}


THETA = float(optimal_merge.learn(TABLE, reference="a").tried[150])
SINGLE = [
    FairPOT(lam=0.4),
    FairPOT(lam=1.0),
    WassersteinRepair(t=0.5),
    LogitShift(shift=0.3),
    OptimalMerge(theta=THETA),
]


def dial_of(estimator):
    name = {"WassersteinRepair": "t", "LogitShift": "shift", "OptimalMerge": "theta"}.get(
        type(estimator).__name__, "lam"
    )
    return name, getattr(estimator, name)


@pytest.mark.parametrize("estimator", SINGLE, ids=str)
def test_held_out_numbers_are_those_by_hand(held_out, estimator):
    y, scores, group = NEW
    estimator.fit(FITTED[1], FITTED[0], sensitive_features=FITTED[2])
    after = estimator.transform(scores, sensitive_features=group)
    row = row_of(held_out, type(estimator).__name__, dial_of(estimator)[1])
    assert row.dial == dial_of(estimator)[0]
    assert_allclose(row.auc, auc(y, after), rtol=1e-12)
    assert_allclose(row.gap, xauc_gap(y, after, sensitive_features=group), atol=1e-12)
    assert_allclose(row.signed_gap, signed_gap(y, after, group), atol=1e-12)


@pytest.mark.parametrize("estimator", SINGLE, ids=str)
def test_crossfitted_numbers_are_means_over_folds(crossfitted, estimator):
    y, scores, group = FITTED
    folds = split_table(score_table(y, scores, sensitive_features=group), 4, 0)
    aucs, gaps = [], []
    for k, fold in enumerate(folds):
        estimator.set_params(**kept(estimator, "a"))
        estimator.fit(all_but(folds, k))
        labels, before, names = rows_behind(fold)
        after = estimator.transform(before, sensitive_features=names)
        aucs.append(auc(labels, after))
        gaps.append(signed_gap(labels, after, names))
    row = row_of(crossfitted, type(estimator).__name__, dial_of(estimator)[1])
    assert_allclose([row.auc, row.signed_gap], [np.mean(aucs), np.mean(gaps)], atol=1e-12)
    assert row.gap == abs(row.signed_gap)


def rows_behind(table):
    """Write the rows of a table out again: labels, scores, groups."""
    columns = [
        (np.repeat(label, int(n)), np.repeat(score, int(n)), np.repeat(g, int(n)))
        for g, c in zip(table.groups, table.counts)
        for label, side in ((1, c.positive), (0, c.negative))
        for score, n in zip(c.score, side)
    ]
    return tuple(np.concatenate(column) for column in zip(*columns))


def test_the_unrepaired_scores_come_first(held_out):
    y, scores, group = NEW
    assert (held_out.points.method[0], held_out.points.dial[0]) == ("unrepaired", "")
    assert np.isnan(held_out.points.value[0])
    expected = [auc(y, scores), xauc_gap(y, scores, sensitive_features=group)]
    assert_allclose([held_out.points.auc[0], held_out.points.gap[0]], expected, rtol=1e-12)
    for name in ("FairPOT", "WassersteinRepair"):
        found = row_of(held_out, name, 0.0)
        assert_allclose([found.auc, found.gap], expected, rtol=1e-12)


def fitted_by_hand(name, bound, table, rows, reference="a", **options):
    """What somebody gets who fits a method by rule and applies it: AUC, signed gap and strength; None if refused."""
    made = find_method(name)(max_gap=bound, **options)
    made.set_params(**kept(made, reference))
    try:
        made.fit(table)
    except InfeasibleRuleError:
        return None
    y, scores, group = rows
    after = made.transform(scores, sensitive_features=group)
    changed = np.mean(after != scores)
    return auc(y, after), signed_gap(y, after, group), made.strength_, changed


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("bound", [*BOUNDS, 0.07])
def test_what_is_shown_on_held_out_rows_is_what_a_fit_gets(held_out, name, bound):
    found = held_out.at(bound, name)
    expected = fitted_by_hand(name, bound, TABLE, NEW)
    if expected is None:
        assert not found.reached
        assert found.auc is None
        return
    assert (found.auc, found.signed_gap) == expected[:2]
    assert found.gap == abs(expected[1])
    assert found.strengths == (expected[2],)
    assert found.kept == (abs(expected[1]) <= bound + 1e-12)
    assert found.changed == pytest.approx(expected[3])


@pytest.mark.parametrize("name", NAMES)
def test_what_is_shown_of_folds_is_the_mean_of_what_fits_get(crossfitted, name):
    """The share of folds that kept the target is counted by hand as well."""
    folds = split_table(score_table(FITTED[0], FITTED[1], sensitive_features=FITTED[2]), 4, 0)
    for bound in BOUNDS:
        each = [fitted_by_hand(name, bound, all_but(folds, k), rows_behind(fold)) for k, fold in enumerate(folds)]
        found = crossfitted.at(bound, name)
        missed = sum(one is None for one in each)
        if missed:
            assert found.reason.startswith(f"out of reach on the fitted rows of {missed} of 4 folds: ")
            continue
        areas, gaps, strengths, _ = zip(*each)
        assert_allclose([found.auc, found.signed_gap], [np.mean(areas), np.mean(gaps)], rtol=0, atol=1e-14)
        assert found.kept == np.mean(np.abs(gaps) <= bound + 1e-12)
        assert found.strengths == strengths
        assert found.times_kept == f"{sum(abs(gap) <= bound for gap in gaps)} of 4"


def test_on_half_splits_the_gap_of_the_best_is_the_one_that_a_user_has():
    """Twelve half splits: the gap shown and the one that a fit on the other half has here differ by exactly nothing."""
    above = 0
    for seed in range(12):
        y, scores, group = draw(400, 50 + seed)
        table = score_table(y, scores, sensitive_features=group)
        halves = split_table(table, 2, seed)
        methods = ["FairPOT", "LogitShift", "WassersteinRepair"]
        result = compare(halves[0], held_out=halves[1], methods=methods, max_gaps=0.05, reference="a")
        best = result.best(0.05)
        if best.method == "unrepaired":
            continue
        expected = fitted_by_hand(best.method, 0.05, halves[0], rows_behind(halves[1]))
        assert best.gap - abs(expected[1]) == 0
        assert best.auc - expected[0] == 0
        above += best.gap > 0.05
    assert above > 2  # a plain target is kept on new rows about every second time


@pytest.mark.parametrize("options", [{"cv": 2}, {"cv": 2, "random_state": 3}, {"held_out": NEW}])
def test_the_same_twice(options):
    first, second = (compared(FITTED, methods=["FairPOT", "OptimalMerge"], **options).frame() for _ in range(2))
    pd.testing.assert_frame_equal(first, second)


def test_random_state_matters():
    first, second = (compared(FITTED, methods=["FairPOT"], random_state=s) for s in (0, 1))
    assert not np.array_equal(first.points.auc, second.points.auc)


def test_a_top_of_its_own_is_that_of_the_comparison():
    top = FairPOT(top=0.3, top_of="group", repair="top")
    found = compared(FITTED, methods={"top": top}, held_out=NEW, top=0.3, max_gaps=0.2).at(0.2, "top")
    model = FairPOT(max_gap=0.2, top=0.3, top_of="group", repair="top", reference="a")
    after = model.fit(FITTED[1], FITTED[0], sensitive_features=FITTED[2])
    y, scores, group = NEW
    assert found.auc == auc(y, after.transform(scores, sensitive_features=group))
    with pytest.raises(ValueError, match=r"top bounds the gap in the top 0.3, and(.*)\nHint: compare\(\.\.\., top=0.3"):
        compared(FITTED, methods={"top": top}, held_out=NEW)


def test_pareto_is_joint(held_out):
    gap, area = held_out.points.gap, held_out.points.auc
    for k in range(len(gap)):
        beaten = (gap <= gap[k]) & (area >= area[k]) & ((gap < gap[k]) | (area > area[k]))
        assert held_out.points.pareto[k] == (not beaten.any())
    assert len(set(held_out.points.method[held_out.points.pareto])) > 1


@pytest.mark.parametrize(
    ("ties", "where"),
    [("strict", {"held_out": NEW}), ("half", {"cv": 2}), ("strict", {"cv": 2}), ("half", {"held_out": FITTED})],
)
def test_nothing_is_above_the_limit(ties, where):
    methods = {**dict.fromkeys(NAMES, None), "FairPOT": FairPOT(monotone=True)}
    result = compared(FITTED, methods={k: v or k for k, v in methods.items()}, ties=ties, **where)
    assert (result.limit.auc_at(result.points.signed_gap) - result.points.auc).min() > -1e-12


def test_limit_of_held_out_rows_is_that_of_the_rows(held_out):
    limit = auc_limit(NEW[0], NEW[1], sensitive_features=NEW[2])
    assert_array_equal(held_out.limit.frame()["auc"], limit.frame()["auc"])
    points = held_out.points
    assert_allclose(points.distance_to_limit, limit.auc_at(points.signed_gap) - points.auc, rtol=0, atol=0)


def test_mean_limit_is_the_best_choice_on_each():
    limits = []
    for seed in range(3):
        y, scores, group = draw(12 + seed, seed)
        y[:4], group[:4] = [0, 1, 0, 1], ["a", "a", "b", "b"]
        limits.append(auc_limit(y, np.round(scores, 1), sensitive_features=group, reference="a"))
    mean = Limit.mean(limits)
    [line] = mean.lines.values()
    assert_allclose(line.signed_gap[[0, -1]], [-1, 1])
    corners = [list(zip(*one.lines["a", "b"][:2])) for one in limits]
    points = np.array([np.mean(choice, axis=0) for choice in itertools.product(*corners)])
    assert (points[:, 1] <= mean.auc_at(points[:, 0]) + 1e-12).all()
    # Every corner is reached by a choice, so the line is the lowest such bound.
    for gap, area in zip(line.signed_gap, line.auc):
        assert np.min(np.abs(points - [gap, area]).max(axis=1)) < 1e-12
    assert (np.diff(np.diff(line.auc) / np.diff(line.signed_gap)) <= 1e-9).all()
    assert Limit.mean(limits[:1]) is limits[0]


def test_frame_is_tidy(held_out):
    frame = held_out.frame()
    assert list(frame.columns) == [
        "method",
        "dial",
        "value",
        "auc",
        "gap",
        "signed_gap",
        "distance_to_limit",
        "pareto",
    ]
    assert len(frame) == len(held_out.points)
    assert list(frame["method"].unique()) == ["unrepaired", *NAMES]
    assert held_out.methods == NAMES


def test_the_frame_of_what_was_chosen(crossfitted):
    frame = crossfitted.frame("chosen")
    ends = [f"{name}{end}" for name in ("auc", "gap", "signed_gap") for end in ("", "_low", "_high")]
    assert list(frame.columns[:12]) == ["method", "max_gap", *ends, "kept"]
    assert len(frame) == 3 * (1 + len(NAMES))
    found = crossfitted.at(0.05, "LogitShift")
    [row] = frame[(frame["method"] == "LogitShift") & (frame["max_gap"] == 0.05)].to_dict("records")
    assert (row["auc"], row["gap"], row["kept"]) == (found.auc, found.gap, found.kept)
    with pytest.raises(ValueError, match="part must be"):
        crossfitted.frame("best")


@pytest.mark.parametrize("bound", [0.02, 0.05, 0.1, 1.0])
def test_best_is_the_highest_auc_at_the_target(held_out, bound):
    reached = [held_out.at(bound, name) for name in ("unrepaired", *NAMES)]
    best = held_out.best(bound)
    assert best.auc == max(each.auc for each in reached if each.reached)
    names = [rival.method for rival in held_out.answer(bound).rivals]
    assert names == [each.method for each in reached if each.reached and each.method != best.method]


def chosen(method, max_gap, auc, gap, *, kept=1.0, reason=None, changed=0.5, dial="lam", strengths=(0.25,)):
    """Make what was chosen by hand."""
    numbers = (Estimate(*each, reason="by hand") for each in (("auc", auc), ("gap", abs(gap)), ("gap", gap)))
    return Chosen(method, max_gap, *numbers, kept, 1, changed, dial, strengths, reason)


class Told(SimpleNamespace):
    """A method that has been tried: its AUC and gap, whatever the target, as long as the gap on other rows keeps it."""

    def at(self, max_gap):
        why = None if self.fitted <= max_gap else f"out of reach on the fitted rows: its gap there is {self.fitted:.3g}"
        dial, strengths = ("", ()) if self.method == "unrepaired" else ("lam", (0.25,))
        kept = float(abs(self.gap) <= max_gap)
        return chosen(self.method, max_gap, self.auc, self.gap, kept=kept, reason=why, dial=dial, strengths=strengths)

    @property
    def points(self):
        return np.array([np.nan]), SimpleNamespace(auc=np.array([self.auc]), gaps=np.array([[self.gap]]))


def made(aucs, gaps, limit=None, fitted=None):
    """Make a result by hand."""
    names = ["unrepaired", "FairPOT", "OptimalMerge"]
    inside = np.abs(gaps) if fitted is None else fitted
    trials = [Told(method=m, auc=a, gap=g, fitted=f, dial="") for m, a, g, f in zip(names, aucs, gaps, inside)]
    return Comparison(tuple(trials), "M", limit)


def test_verdict():
    line = Line(np.array([-1.0, 0.0, 1.0]), np.array([0.5, 0.736, 0.5]))
    result = made([0.7333, 0.72, 0.7312], [0.2, 0.01, -0.04], Limit({("M", "F"): line}))
    assert result.answer(0.05).text == (
        "At gap <= 0.05 the best is OptimalMerge (lam = 0.25): AUC 0.731 (0.002 below the original 0.733), gap 0.040 "
        "on rows it was not fitted on, within the target."
    )
    above = made([0.73, 0.72, 0.74], [0.2, 0.01, 0.07], fitted=[0.2, 0.01, 0.04]).answer(0.05).text
    assert (
        "AUC 0.740 (0.010 above the original 0.730), gap 0.070 on rows it was not fitted on, above the target" in above
    )
    assert "AUC 0.730 like the original scores, gap" in made([0.73, 0.72, 0.73001], [0.2, 0.01, 0.04]).answer(0.05).text
    assert made([0.75, 0.72, 0.74], [0.02, 0.01, 0.04]).answer(0.05).text == (
        "At gap <= 0.05 keep the original scores: AUC 0.750, gap 0.020 on rows it was not fitted on, within the "
        "target. No repair has a higher AUC."
    )
    assert made([0.75, 0.72, 0.74], [0.2, 0.1, 0.3]).answer(0.05).text == (
        "No method keeps gap <= 0.05 on the rows it is fitted on; FairPOT: out of reach on the fitted rows: its gap "
        "there is 0.1"
    )


def test_best_says_what_can_be_had():
    result = made([0.75, 0.72, 0.74], [0.2, 0.1, 0.3])
    with pytest.raises(InfeasibleRuleError, match=re.escape("No method keeps gap <= 0.05 on the rows it is fitted on")):
        result.best(0.05)
    with pytest.raises(ValueError, match="'Other' was not compared"):
        result.at(0.05, "Other")
    with pytest.raises(ValueError, match="max_gap"):
        result.best(5)


def test_of_equals_the_unrepaired_is_best():
    assert made([0.75, 0.75, 0.75], [0.02, 0.01, 0.0]).best(0.05).method == "unrepaired"


def test_where_chance_explains_the_lead_the_fewest_changed_scores_are_recommended(held_out, crossfitted):
    for result, bound in itertools.product((held_out, crossfitted), BOUNDS):
        best, taken = result.best(bound), result.recommended(bound)
        tied = [best, *(result.at(bound, rival.method) for rival in result.answer(bound).rivals if not rival.clear)]
        plain = [each for each in tied if not getattr(result.estimators.get(each.method), "_costly", False)] or tied
        assert taken.method in [each.method for each in plain]
        assert taken.changed <= min(each.changed for each in plain) + 0.01
        said = result.answer(bound).text
        if len(tied) > 1:
            assert said.startswith(f"At gap <= {bound:g} take {taken.label}")
            assert said.endswith(f"; {taken.method} changes the fewest scores.")
        else:
            assert said.startswith(f"At gap <= {bound:g} the best is {taken.label}")
        assert result.answer(bound).text == said
    answers = [each for result in (held_out, crossfitted) for each in result.answers]
    assert any(each.recommended != each.highest for each in answers)


class Costly(OptimalMerge):
    """A method that is hard to write down, and whose AUC is often the highest."""

    _costly = True


def test_nobody_is_sent_to_a_costly_method_where_others_tie():
    """Where it has the highest AUC by chance alone, another is named; alone, or clearly ahead, it is."""
    met = 0
    for seed in range(6):
        methods = {"FairPOT": FairPOT(), "costly": Costly()}
        found = compared(draw(300, 70 + seed), methods=methods, cv=2, max_gaps=0.1).answer(0.1)
        if "costly" in found.close and len(found.close) > 1:
            assert found.recommended != "costly"
            met += found.highest == "costly"
    assert met
    alone = compared(draw(300, 70), methods={"costly": Costly()}, cv=2, max_gaps=0.1).answer(0.1)
    assert alone.recommended in ("costly", "unrepaired")


def test_numbers_have_the_limits_of_an_interval_of_the_same_rows(held_out):
    y, scores, group = NEW
    model = LogitShift(max_gap=0.1, reference="a").fit(FITTED[1], FITTED[0], sensitive_features=FITTED[2])
    after = model.transform(scores, sensitive_features=group)
    found = held_out.at(0.1, "LogitShift")
    for name, metric in (("auc", "auc"), ("gap", "xauc_gap")):
        number = getattr(found, name)
        known = confidence_interval(metric, y, after, sensitive_features=group)
        assert (number.se, number.high) == pytest.approx((known.se, known.high), abs=1e-9)
        assert number.low <= known.low + 1e-9  # of a gap it is not cut off at 0
    signed = found.signed_gap
    assert {abs(signed.low), abs(signed.high)} == {abs(found.gap.low), abs(found.gap.high)}
    assert signed.groups[0] == "a"


def test_it_is_written_by_its_schema(held_out, crossfitted):
    defs = {}
    schema = {**schema_of(Comparison, defs), "$defs": defs}
    for result in (held_out, crossfitted, compared(draw(300, 2, probability=False), cv=2, max_gaps=0.0001)):
        document = json.loads(json.dumps(result.to_dict(), allow_nan=False))
        jsonschema.validate(document, schema)
        assert [each["method"] for each in document["chosen"]][:: len(result.max_gaps)] == [
            "unrepaired",
            *result.methods,
        ]
        assert [each["text"] for each in document["answers"]] == [
            result.answer(bound).text for bound in result.max_gaps
        ]
    assert sum(callable(value) or isinstance(value, property) for value in vars(Comparison).values()) <= 30


def test_text(crossfitted):
    text = str(crossfitted)
    assert text.startswith(crossfitted.verdicts[0])
    assert "\n4 folds of 500 rows, reference a\n" in text
    assert all(f"\n{name} " in text for name in ("original", *NAMES, "best possible"))
    assert text.splitlines()[: len(crossfitted.verdicts)] == crossfitted.verdicts
    found = crossfitted.at(0.1, "LogitShift")
    assert f"{found.auc:.3f}  {found.gap:.3f}  {found.times_kept}" in text
    same = made([0.75, 0.72, 0.74], [0.2, 0.01, 0.04])
    assert same.verdicts[0].startswith("At gap <= 0.02 the best is FairPOT")
    assert [each.partition(" the best")[0] for each in same.verdicts] == ["At gap <= 0.02", "At gap <= 0.05 and 0.1"]
    assert str(compared(FITTED, methods="FairPOT", max_gaps=0.3, held_out=NEW)).count("gap <= 0.3") == 2
    assert "FairPOT, WassersteinRepair" in repr(crossfitted)


def test_methods_by_name_instance_and_dict():
    assert compared(FITTED, methods="fair_pot", held_out=NEW).methods == ("FairPOT",)
    assert compared(FITTED, methods="wasserstein", held_out=NEW).methods == ("WassersteinRepair",)
    listed = compared(FITTED, methods=["optimal-merge", FairPOT(keep="grid")], held_out=NEW)
    assert listed.methods == ("OptimalMerge", "FairPOT")
    named = compared(FITTED, methods={"plain": "FairPOT", "own": listed_estimator()}, held_out=NEW)
    assert named.methods == ("plain", "own")
    points = named.points
    assert_array_equal(points.auc[points.method == "own"], listed.points.auc[listed.points.method == "FairPOT"])
    assert not np.array_equal(points.auc[points.method == "own"], points.auc[points.method == "plain"])


def listed_estimator():
    """An estimator with a rule that no fit keeps: only its other parameters count."""
    return FairPOT(keep="grid", max_gap=0.0, max_auc_loss=0.0)


def test_tables_in_place_of_rows(held_out):
    y, scores, group = NEW
    new = ScoreTable.from_rows(scores, y.astype(np.int8), (group == "b") * 1, "ab")
    pd.testing.assert_frame_equal(compare(TABLE, held_out=new).frame(), held_out.frame())
    by_folds = compare(TABLE, methods=["FairPOT"], cv=3, random_state=0)
    assert len(by_folds.points) == 102
    assert_array_equal(by_folds.points.auc, compare(TABLE, methods=["FairPOT"], cv=3, random_state=0).points.auc)
    with pytest.raises(ValueError, match="no labels"):
        compare(ScoreTable.from_rows(scores, None, (group == "b") * 1, "ab"))


def test_small_groups_are_left_out_by_name():
    fitted, new = (
        [np.concatenate(pair) for pair in zip(rows, (rows[0][:9], rows[1][:9], ["tiny"] * 9))] for rows in (FITTED, NEW)
    )
    with pytest.warns(SmallGroupWarning, match=r"left out of the comparison: 'tiny' \(9 rows\)"):
        without = compared(fitted, methods=["FairPOT"], held_out=new, min_group=20)
    alone = compared(FITTED, methods=["FairPOT"], held_out=NEW)
    assert_array_equal(without.points.auc, alone.points.auc)
    with pytest.warns(SmallGroupWarning, match="'tiny'"):
        named = compared(fitted, methods=["FairPOT"], held_out=new, groups=["a", "b"])
    assert_array_equal(named.points.signed_gap, alone.points.signed_gap)


def test_given_estimators_are_left_alone():
    given = FairPOT(lam=0.7)
    compared(FITTED, methods=[given], held_out=NEW)
    assert given.lam == 0.7
    assert not hasattr(given, "strength_")


def test_an_own_reference_keeps_the_sign():
    result = compared(FITTED, methods={"down": FairPOT(reference="b", monotone=True), "up": FairPOT()}, held_out=NEW)
    assert result.reference == "a"
    for name in ("down", "up"):
        assert_allclose(row_of(result, name, 0.0).signed_gap, result.points.signed_gap[0], atol=1e-12)
    other = compared(FITTED, methods=["FairPOT"], held_out=NEW, reference="b")
    assert_allclose(other.points.signed_gap[0], -result.points.signed_gap[0], atol=1e-12)
    assert other.limit.groups == ("b", "a")
    assert_allclose(other.points.distance_to_limit[0], result.points.distance_to_limit[0], atol=1e-12)


def test_whole_weights_are_repeated_rows():
    rng = np.random.default_rng(4)
    w, w_new = rng.integers(0, 3, 500), rng.integers(0, 3, 400)
    y, scores, group = NEW
    new = score_table(y, scores, sensitive_features=group, sample_weight=w_new, weights="frequency")
    columns = {"sensitive_features": FITTED[2], "sample_weight": w, "weights": "frequency"}
    weighted = compare(FITTED[0], FITTED[1], **columns, held_out=new)
    repeated = compared([np.repeat(c, w) for c in FITTED], held_out=[np.repeat(c, w_new) for c in NEW])
    pd.testing.assert_frame_equal(weighted.frame(), repeated.frame(), rtol=1e-9, atol=1e-12)


def test_weights_in_folds():
    y, scores, group = FITTED
    w = np.random.default_rng(4).random(500) + 0.1
    result = compared(FITTED, sample_weight=w, methods=["WassersteinRepair"], cv=2)
    folds = split_table(score_table(y, scores, sensitive_features=group, sample_weight=w), 2, 0)
    by_hand = [WinMatrix.of(fold).auc() for fold in folds]
    assert_allclose(result.points.auc[0], np.mean(by_hand), rtol=1e-12)
    zeros = np.append(w, [0.0] * 10)
    longer = [np.append(c, c[:10]) for c in FITTED]
    again = compared(longer, sample_weight=zeros, methods=["WassersteinRepair"], cv=2)
    assert_array_equal(again.points.auc, result.points.auc)


def test_three_groups():
    fitted, new = draw(700, 0, "abc"), draw(600, 1, "abc")
    y, scores, group = new
    result = compared(fitted, held_out=new)
    assert not result.skipped
    assert result.limit.best(0.1).auc > result.best(0.1).auc
    assert np.isnan(result.points.signed_gap).all()
    assert np.isnan(result.points.distance_to_limit).all()
    most, found = result.limit.best(0.1).auc, result.possible[-1]
    assert (found.max_gap, found.auc) == (0.1, most)
    assert re.search(rf"best possible, at most .* {most:.3f}\n", str(result))
    row = row_of(result, "WassersteinRepair", 0.5)
    after = WassersteinRepair(t=0.5).fit(fitted[1], fitted[0], sensitive_features=fitted[2])
    after = after.transform(scores, sensitive_features=group)
    assert_allclose([row.auc, row.gap], [auc(y, after), xauc_gap(y, after, sensitive_features=group)], atol=1e-12)
    assert set(result.points.dial[result.points.method == "OptimalMerge"]) == {"share"}
    for name in ("FairPOT", "OptimalMerge", "LogitShift"):
        model = find_method(name)(max_gap=0.1)
        model.set_params(**kept(model, result.reference))
        after = model.fit(fitted[1], fitted[0], sensitive_features=fitted[2]).transform(
            scores, sensitive_features=group
        )
        found = result.at(0.1, name)
        assert_allclose(
            [found.auc, found.gap], [auc(y, after), xauc_gap(y, after, sensitive_features=group)], atol=1e-12
        )
        assert found.strengths == (model.strength_,)


def test_five_groups():
    """Every method runs, the means are those of fits by hand, and what cannot be kept is marked."""
    y, scores, group = draw(800, 7, "abcde")
    table = score_table(y, scores, sensitive_features=group)
    result = compare(table, cv=2, max_gaps=0.15, reference="a")
    assert result.methods == NAMES
    folds = split_table(table, 2, 0)
    for name in ("FairPOT", "WassersteinRepair"):
        found, each = result.at(0.15, name), []
        for k, fold in enumerate(folds):
            model = find_method(name)(max_gap=0.15)
            model = model.set_params(**kept(model, "a")).fit(all_but(folds, k))
            labels, before, names = rows_behind(fold)
            after = model.transform(before, sensitive_features=names)
            each.append((auc(labels, after), pair_gaps(labels, after, names)))
        areas, gaps = zip(*each)
        assert_allclose(found.auc, np.mean(areas), rtol=0, atol=1e-14)
        assert_allclose(found.gap, np.abs(np.mean(gaps, axis=0)).max(), rtol=0, atol=1e-14)
        assert found.kept == np.mean([np.abs(one).max() <= 0.15 for one in gaps])
    out = compare(table, cv=2, methods=["WassersteinRepair"], max_gaps=0.0001)
    assert out.at(0.0001, "WassersteinRepair").reason.startswith(
        "out of reach on the fitted rows of 2 of 2 folds: no repair strength keeps"
    )
    assert "out of reach" in str(out)


def test_gaps_in_the_top_are_those_of_fits_that_bound_them():
    y, scores, group = NEW
    result = compared(FITTED, held_out=NEW, methods=["FairPOT", "LogitShift"], max_gaps=0.1, top=200)
    assert result.limit is None
    assert "gaps among the 200 highest" in str(result)
    for name in ("FairPOT", "LogitShift"):
        model = find_method(name)(max_gap=0.1, top=200)
        model.set_params(**kept(model, result.reference))
        after = model.fit(FITTED[1], FITTED[0], sensitive_features=FITTED[2]).transform(
            scores, sensitive_features=group
        )
        found = result.at(0.1, name)
        assert_allclose(found.auc, auc(y, after), rtol=1e-12)
        assert_allclose(found.gap, xauc_gap(y, after, sensitive_features=group, top=0.4), atol=1e-12)


def test_on_a_grid_scores_are_judged_as_they_are_cut():
    fitted, new = ((y, np.round(s * 10), g) for y, s, g in (FITTED, NEW))
    y, scores, group = new
    result = compared(fitted, held_out=new, methods=[LogitShift(keep="grid")], max_gaps=0.1, reference="a")
    model = LogitShift(max_gap=0.1, keep="grid", reference="a").fit(fitted[1], fitted[0], sensitive_features=fitted[2])
    after = model.transform(scores, sensitive_features=group)
    found = result.at(0.1, "LogitShift")
    assert_allclose([found.auc, found.gap], [auc(y, after), xauc_gap(y, after, sensitive_features=group)], atol=1e-12)


def test_labels_ties_and_frames():
    y, scores, group = FITTED
    plain = compare(y, scores, sensitive_features=group, methods=["FairPOT"], ties="half", cv=2)
    named = compare(
        np.where(y == 1, "bad", "good"),
        pd.Series(scores),
        sensitive_features=pd.Series(group),
        methods=[FairPOT()],
        ties="half",
        cv=2,
        pos_label="bad",
    )
    assert_array_equal(plain.points.auc, named.points.auc)
    folds = split_table(score_table(y, scores, sensitive_features=group), 2, 0)
    by_hand = [auc(*rows_behind(fold)[:2], ties="half") for fold in folds]
    assert_allclose(plain.points.auc[0], np.mean(by_hand))


def test_rows_and_tables_have_the_same_folds():
    y, scores, group = FITTED
    rows = compare(y, scores, sensitive_features=group, methods=["FairPOT"])
    table = compare(score_table(y, scores, sensitive_features=group), methods=["FairPOT"])
    turned = compare(y[::-1], scores[::-1], sensitive_features=group[::-1], methods=["FairPOT"])
    for other in (table, turned):
        assert_array_equal(rows.points.auc, other.points.auc)


def test_progress_is_told():
    steps = []
    rows = draw(200, 2, probability=False)
    compared(rows, cv=2, progress=lambda done, total: steps.append((done, total)))
    done, totals = zip(*steps)
    assert set(totals) == {12}
    assert list(done) == sorted(set(done))
    assert done[-1] == 12


# Group b has three positives.
FEW = [c.copy() for c in FITTED]
FEW[0][FEW[2] == "b"] = 0
FEW[0][np.flatnonzero(FEW[2] == "b")[:3]] = 1


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"methods": ["wassertein"]}, ValueError, "did you mean 'WassersteinRepair'"),
        ({"methods": ["FairPot", "optimal"]}, ValueError, "did you mean 'OptimalMerge'"),
        ({"methods": ["#"]}, ValueError, "pass an estimator for any other method"),
        ({"methods": [FairPOT]}, TypeError, "names or repair methods"),
        ({"methods": [3]}, TypeError, "names or repair methods"),
        ({"methods": []}, ValueError, "methods is empty"),
        ({"methods": ["FairPOT", FairPOT(monotone=True)]}, ValueError, "Hint: name them"),
        ({"methods": {"unrepaired": "FairPOT"}}, ValueError, "something else"),
        ({"cv": 1}, ValueError, "at least 2"),
        ({"cv": 2.5}, ValueError, "whole number"),
        ({"cv": 400}, ValueError, "cv=400 needs at least 400 rows with and 400 without"),
        ({"held_out": (NEW[0], NEW[1], np.where(NEW[2] == "b", "c", "a"))}, UnseenGroupError, "'c'"),
        (
            {"held_out": (np.where(NEW[2] == "b", 0, NEW[0]), NEW[1], NEW[2])},
            ValueError,
            "'b' has 0 rows with the outcome",
        ),
        ({"reference": "z"}, ValueError, "'z' is not among"),
        ({"ties": "loose"}, ValueError, "ties"),
        ({"max_gaps": ()}, ValueError, "max_gaps is empty"),
        ({"max_gaps": (0.1, 3)}, ValueError, "max_gaps"),
    ],
)
def test_errors(options, error, message):
    with pytest.raises(error, match=message):
        compared(FITTED, **options)


def test_errors_of_rows():
    for held_out in (NEW, "rows"):
        with pytest.raises(TypeError, match=r"held_out must be a ScoreTable(.|\n)*Hint: held_out=fairpot.score_table"):
            compare(TABLE, held_out=held_out)
    with pytest.raises(TypeError, match="y_true is missing"):
        compare(None, FITTED[1], sensitive_features=FITTED[2])
    with pytest.raises(TypeError, match="y_score is missing"):
        compare(FITTED[0], sensitive_features=FITTED[2])
    with pytest.raises(ValueError, match=r"at least 5 rows .* 'b' has 3 rows with the outcome.\nHint: fewer folds"):
        compared(FEW)
    assert len(compared(FEW, cv=3, methods=["FairPOT"]).points) == 102
    three = draw(300, 3, "abc")
    with pytest.raises(ValueError, match="no rows of the group 'c'"):
        compared(three, held_out=NEW)


def test_it_is_public():
    assert fairpot.compare is compare
    assert "compare" in fairpot.__all__


def test_whole_clusters_are_dealt_to_folds():
    """Copies of a row in fit and test would flatter every method; told of them, a comparison keeps them together."""
    rng = np.random.default_rng(0)
    patient = np.repeat(np.arange(150), 4)
    y, group = np.repeat(rng.integers(0, 2, 150), 4), np.where(patient % 2 == 0, "a", "b")
    scores = np.repeat(rng.normal(size=150), 4) + y + 0.5 * (group == "a")
    rows = {"sensitive_features": group, "clusters": patient}
    by_rows = compare(y, scores, **rows, methods=["fairpot"], random_state=0)
    by_table = compare(fairpot.score_table(y, scores, **rows), methods=["fairpot"], random_state=0)
    np.testing.assert_array_equal(by_rows.points.auc, by_table.points.auc)
    for fold in by_rows.trials[0].folds:
        counts = fold.part.held_out.counts
        units = np.unique(np.concatenate([m.unit for c in counts for m in c.members]))
        assert len(units) * 4 == sum(c.weight.sum() for c in counts)


def even_groups(n, seed, names="abcde"):
    """Draw rows of groups that the score treats alike: every true gap is small."""
    rng = np.random.default_rng(seed)
    place = np.arange(n) % len(names)
    risk = rng.normal(size=n) + 0.05 * place
    y = (rng.random(n) < 1 / (1 + np.exp(-risk))).astype(int)
    return y, risk + 0.8 * rng.normal(size=n), np.array(list(names))[place]


def pair_gaps(y, scores, group):
    """Count the signed gap of every two groups pair by pair."""
    found = [signed_gap(y, scores, group, g, h) for g, h in itertools.combinations(sorted(set(group)), 2)]
    return np.array(found)


def test_chance_of_small_folds_cancels_in_each_pair_of_groups():
    truth = np.abs(pair_gaps(*even_groups(40_000, 99))).max()
    assert truth < 0.09
    measured, widest = [], []
    for seed in range(4):
        y, scores, group = even_groups(400, seed)
        result = compare(y, scores, sensitive_features=group, methods=["FairPOT"], cv=5, random_state=seed)
        folds = split_table(score_table(y, scores, sensitive_features=group), 5, seed)
        each = np.array([pair_gaps(*rows_behind(fold)) for fold in folds])
        unmoved = np.abs(each.mean(axis=0)).max()
        assert_allclose([result.points.gap[0], row_of(result, "FairPOT", 0.0).gap], unmoved, atol=1e-12)
        measured.append(unmoved)
        widest.append(np.abs(each).max(axis=1).mean())
    assert np.mean(widest) > 0.3  # what the mean of each fold's largest gap would say
    assert np.mean(measured) < 0.17


def test_low_scores_that_mean_high_risk():
    y, scores, group = draw(600, 1)
    options = {"methods": ["FairPOT"], "cv": 2, "max_gaps": [0.05]}
    high = compare(y, scores, sensitive_features=group, **options)
    low = compare(y, -scores, sensitive_features=group, lower_is_riskier=True, **options)
    assert low.answer(0.05).text == high.answer(0.05).text
    other = score_table(y, scores, sensitive_features=group)
    with pytest.raises(ValueError, match="a low score means high risk in the rows to fit on"):
        compare(y, -scores, sensitive_features=group, lower_is_riskier=True, held_out=other, **options)


@pytest.mark.parametrize("groups", ["FM", "FMX"])
def test_a_pickle_answers_as_before(groups):
    y, scores, group = draw(600, 2, groups)
    found = compare(y, scores, sensitive_features=group, methods=["FairPOT", "LogitShift"], cv=2, max_gaps=[0.05])
    again = pickle.loads(pickle.dumps(found))
    assert again.answer(0.05).text == found.answer(0.05).text
    assert again.answer(0.08).text == found.answer(0.08).text
    assert again.frame().equals(found.frame())
