import math

import numpy as np
import pytest

import oracles
from fairpot.counts import GroupCounts
from fairpot.repair.shaped import _started as started
from fairpot.transport import TransportPlan, weight_to_reach


def plan_of(b, a):
    b, a = (GroupCounts.from_rows(np.asarray(rows, dtype=float), None) for rows in (b, a))
    return TransportPlan.between(b.score, b.weight, a.score, a.weight)


@pytest.mark.parametrize("n", [1, 3, 7, 10, 100, 1000, 4567])
def test_share_is_the_exact_ceiling(n):
    for hundredths in range(101):
        assert math.ceil(weight_to_reach(hundredths / 100, n)) == oracles.ceil_share(f"{hundredths}e-2", n)
    assert math.ceil(weight_to_reach(0.1 * 3, 10)) == 3  # 0.1 * 3 is a hair above 0.3
    assert math.ceil(weight_to_reach(1e-15, n)) == 1


def test_cut_includes_ties():
    plan = plan_of([0.1, 0.2, 0.2, 0.2, 0.9], [0.5])
    assert [plan.cut(lam) for lam in (0, 0.1, 0.2, 0.21, 0.8, 0.81, 1)] == [3, 2, 2, 1, 1, 0, 0]


def test_zero_is_the_identity():
    plan = plan_of([0.1, 0.4], [0.6, 0.9])
    x = np.array([-5.0, 0.1, 0.3, 0.4, 99.0])
    np.testing.assert_array_equal(plan.map(plan.cut(0.0))(x), x)


def test_maps_equal_the_paper_row_by_row():
    rng = np.random.default_rng(0)
    for _ in range(300):
        b, a = (rng.integers(0, 11, rng.integers(1, 10)) / 10 for _ in range(2))
        new = np.r_[b, rng.random(5) * 1.4 - 0.2, rng.integers(0, 11, 3) / 10]
        plan = plan_of(b, a)
        for lam in ("0", "0.1", "0.3", "0.5", "0.75", "1"):
            for monotone in (False, True):
                got = plan.map(plan.cut(float(lam)), monotone=monotone)(new)
                expected = oracles.moved_scores(b.tolist(), a.tolist(), new.tolist(), lam, monotone=monotone)
                np.testing.assert_allclose(got, expected, atol=1e-12)


def test_monotone_maps_never_reverse():
    rng = np.random.default_rng(1)
    stepped = 0
    for _ in range(200):
        plan = plan_of(rng.random(8) + 0.3, rng.random(8))
        for cut in range(9):
            stepped += not plan.map(cut).is_monotone
            assert plan.map(cut, monotone=True).is_monotone
    assert stepped > 100


def test_the_whole_is_everybody_whatever_they_weigh():
    scores, weight = np.array([0.1, 0.2, 0.3]), np.array([1e-20, 1.0, 1.0])
    plan = TransportPlan.between(scores, weight, np.array([0.5]), np.array([1.0]))
    assert [plan.cut(lam) for lam in (0, 1e-13, 0.5, 0.6, 1)] == [3, 2, 2, 1, 0]


@pytest.mark.parametrize("seed", range(40))
def test_nobody_is_overtaken_at_the_edge_of_a_region(seed):
    """With a floor nobody falls below those who stay, in the region or under it, wherever it begins."""
    rng = np.random.default_rng(seed)
    grid = rng.integers(5, 40)
    b, a = (rng.integers(0, grid, 12) / grid + shift for shift in (rng.choice([0, 0.4]), 0))
    fitted = float(np.sort(b)[rng.integers(0, 8)])
    plan = plan_of(b[b >= fitted], a)
    x = np.unique(np.r_[b, rng.integers(0, 2 * grid, 40) / grid, fitted, -5, 9])
    for cut in range(len(plan.scores)):
        for begin in (fitted, *rng.choice(x, 3)):
            made = started(plan.map(cut, monotone=True), plan.scores, float(begin))
            assert (np.diff(made(x)) >= 0).all()
            assert made.is_monotone
            np.testing.assert_array_equal(made(x[x < begin]), x[x < begin])
            free = plan.map(cut).starting_at(float(begin))(x)
            np.testing.assert_array_equal(made(x)[made(x) != free], _floors(plan, cut, begin, x, free))


def _floors(plan, cut, begin, x, free):
    """What stands in the place of the values that the floor lifts: the floor."""
    kept = plan.scores[cut - 1] if cut else -np.inf
    floor = max(kept, begin)
    return np.full(((free < floor) & (x >= floor)).sum(), floor)
