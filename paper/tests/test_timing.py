"""What is timed is what it says it is: the same numbers as the public classes and the exact plan."""

import math
import os
import platform
import sys

import numpy as np
import pytest

from fairpot import FairPOT
from fairpot.metrics import auc, xauc_gap
from fairpot_paper import PostLogit, XOrder
from fairpot_paper.timing import COST_MATRIX, METHODS, ScoreRows, cost_matrix, machine, time_method
from oracles import ceil_share, project
from rows_cases import drawn

LAMBDAS = [k / 10 for k in range(11)]


def draw(seed, n=160, digits=None):
    y, scores, group = drawn(n, seed, lift=0.7, digits=digits, probability=True)
    return ScoreRows(scores, y, group)


@pytest.fixture(params=[None, 1, 2], ids=["distinct", "one digit", "two digits"])
def samples(request):
    return draw(1, digits=request.param), draw(2, n=90, digits=request.param)


def fitted(model, rows):
    return model.fit(rows.scores, rows.y, sensitive_features=rows.group)


def applied(model, rows):
    return model.transform(rows.scores, sensitive_features=rows.group)


@pytest.mark.parametrize(("name", "method"), [("fairpot", FairPOT), ("xorder", XOrder)])
def test_eleven_lambdas_equal_eleven_fits(samples, name, method):
    train, test = samples
    adjusted = METHODS[name](train, test, "a").adjusted
    assert len(adjusted) == 11
    for lam, scores in zip(LAMBDAS, adjusted):
        np.testing.assert_array_equal(scores, applied(fitted(method(lam, reference="a"), train), test))


def test_post_logit_adjusts_once(samples):
    train, test = samples
    [scores] = METHODS["post_logit"](train, test, "a").adjusted
    np.testing.assert_array_equal(scores, applied(fitted(PostLogit(reference="a"), train), test))
    assert not np.array_equal(scores, test.scores)


def test_wasserstein_matches_the_quantiles_of_the_test_rows(samples):
    """Which scores are seen depends on the test rows alone: both groups get the mean of both groups' quantiles."""
    train, test = samples
    [scores] = METHODS["wasserstein"](train, test, "a").adjusted
    b = test.group == "b"
    onto = {own: project(test.scores[rows], test.scores[~rows]) for own, rows in (("a", ~b), ("b", b))}
    other = np.array([onto[own][score] for own, score in zip(test.group, test.scores)])
    expected = np.where(b, b.mean() * test.scores + (~b).mean() * other, (~b).mean() * test.scores + b.mean() * other)
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-12)
    assert not np.array_equal(scores, test.scores)


@pytest.mark.parametrize(("curve", "scores"), [("fairpot_exact", "fairpot"), ("xorder_curve", "xorder")])
def test_curves_hold_what_the_adjusted_scores_give(samples, curve, scores):
    train, test = samples
    traced = METHODS[curve](train, test, "a").curve
    for lam, adjusted in zip(LAMBDAS, METHODS[scores](train, test, "a").adjusted):
        point = traced.at(lam)
        assert point.auc == pytest.approx(auc(test.y, adjusted), abs=1e-12)
        assert point.gap == pytest.approx(xauc_gap(test.y, adjusted, sensitive_features=test.group), abs=1e-12)


def test_converged_plan_equals_the_exact_projection(samples):
    train, _ = samples
    plan = METHODS["emd_converged"](train, train, "a").plan
    assert plan.converged
    exact = project(train.scores[train.group == "b"], train.scores[train.group == "a"])
    np.testing.assert_array_equal(plan.scores, sorted(exact))
    np.testing.assert_allclose(plan.projected, [exact[s] for s in plan.scores], rtol=0, atol=1e-9)
    assert cost_matrix.largest_error(plan, train, "a") < 1e-9


def test_cost_matrix_moves_the_top_share_and_interpolates(samples):
    """Against the paper's words, row by row: I_top with ties, then a straight line between training scores."""
    train, test = samples
    moved = np.sort(train.scores[train.group == "b"])
    exact = project(moved, train.scores[train.group == "a"])
    for lam, adjusted in zip(LAMBDAS, METHODS["emd_converged"](train, test, "a").adjusted):
        count = ceil_share(lam, len(moved))
        cut = moved[-count] if count else math.inf
        values = [exact[s] if s >= cut else s for s in sorted(exact)]
        b = test.group == "b"
        np.testing.assert_array_equal(adjusted[~b], test.scores[~b])
        np.testing.assert_allclose(adjusted[b], np.interp(test.scores[b], sorted(exact), values), rtol=0, atol=1e-9)


def test_cost_matrix_equals_fairpot_inside_the_training_range(samples):
    train, test = samples
    both = (METHODS[name](train, test, "a").adjusted for name in ("fairpot", "emd_converged"))
    low, high = np.quantile(train.scores[train.group == "b"], [0, 1])
    inside = (test.group == "a") | ((test.scores >= low) & (test.scores <= high))
    for ours, theirs in zip(*both):
        np.testing.assert_allclose(ours[inside], theirs[inside], rtol=0, atol=1e-9)


def test_plan_that_was_stopped_early_says_so_and_how_far_it_is_off():
    train = draw(3, n=400)
    moved, target = (train.scores[train.group == g] for g in "ba")
    plan = cost_matrix.solve(moved, target, 20)
    assert not plan.converged
    assert "numItermax" in plan.message
    exact = project(moved, target)
    assert cost_matrix.largest_error(plan, train, "a") == pytest.approx(
        max(abs(p - exact[s]) for s, p in zip(plan.scores, plan.projected))
    )
    assert cost_matrix.largest_error(plan, train, "a") > 1e-3


def test_time_of_a_plan_that_was_stopped_early_carries_a_note(monkeypatch):
    monkeypatch.setattr(cost_matrix, "DEFAULT_ITERATIONS", 20)
    train = draw(3, n=400)
    timing, _ = time_method("emd_default", train, train, "a")
    assert timing.converged is False
    assert timing.note == f"not converged: projected scores are off by up to {timing.error:.2g}"
    assert timing.cpu >= 0


@pytest.mark.parametrize("method", METHODS)
def test_every_method_can_be_timed(method, samples):
    timing, _ = time_method(method, *samples, "a")
    assert timing.wall > 0
    assert timing.cpu >= 0
    assert timing.note == ""
    if method in COST_MATRIX:
        assert timing.converged is True
        assert timing.error < 1e-9
    else:
        assert timing.converged is timing.error is None


@pytest.mark.parametrize("method", COST_MATRIX)
def test_matrix_that_is_too_large_is_never_made(method):
    """A cost matrix of 80 GB, which would end the tests."""
    n = 200_000
    rows = ScoreRows(np.linspace(0, 1, n), np.tile([0, 1], n // 2), np.repeat(["a", "b"], n // 2))
    timing, _ = time_method(method, rows, rows, "a")
    assert math.isnan(timing.wall)
    assert math.isnan(timing.cpu)
    assert timing.note.startswith("not run: 100,000 x 100,000 cells need about 400.0 GB")
    assert timing.converged is None


def test_bound_of_the_matrix_can_be_set(samples):
    train, test = samples
    cells = int((train.group == "a").sum()) * int((train.group == "b").sum())
    assert "not run" in time_method("emd_default", train, test, "a", most_bytes=40 * cells - 1).timing.note
    assert time_method("emd_default", train, test, "a", most_bytes=40 * cells).timing.note == ""


def test_missing_pot_is_a_note(samples, monkeypatch):
    from fairpot_paper import timing as runtime

    runtime._warm_up.cache_clear()
    monkeypatch.setitem(sys.modules, "ot", None)
    timing, _ = time_method("emd_default", *samples, "a")
    assert math.isnan(timing.cpu)
    assert timing.note.endswith("Hint: pip install POT")


def test_cost_matrix_is_between_two_groups():
    rows = draw(1)
    three = rows._replace(group=np.where(rows.scores > 0.8, "c", rows.group))
    for train, reference in ((three, "a"), (rows, "z")):
        with pytest.raises(ValueError, match="between two groups"):
            METHODS["emd_default"](train, train, reference)


def test_unknown_method():
    with pytest.raises(ValueError, match="one of post_logit, wasserstein, xorder, fairpot"):
        time_method("quickest", draw(1), draw(2), "a")


def test_machine_is_described_without_its_name():
    described = machine()
    assert sorted(described) == ["cores", "cpu"]
    assert 1 <= described["cores"] <= os.cpu_count()
    assert described["cpu"]
    assert platform.node() not in str(described)
