import math

import numpy as np
import pytest

import oracles
from fairpot.table import GroupCounts
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
