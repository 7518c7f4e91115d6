"""The curve at every lambda against counting each map's pairs one by one."""

import numpy as np
import pytest

import oracles
from fairpot.counts import GroupCounts
from fairpot.tradeoff.exact import exact_wins
from fairpot.transport import TransportPlan
from fairpot.transport import lookup as lookup_module


def random_counts(rng, grid, size):
    """A group with ties, weights and one-sided scores."""
    score = np.sort(rng.choice(grid, size=min(int(rng.integers(1, size + 1)), len(grid)), replace=False))
    positive, negative = rng.integers(0, 3, len(score)), rng.integers(0, 3, len(score))
    negative[(positive + negative) == 0] = 1
    return GroupCounts(score, positive, negative)


def weighted_wins(winners, winner_weight, losers, loser_weight, half):
    total = 0
    for s, p in zip(winners, winner_weight):
        for t, q in zip(losers, loser_weight):
            total += p * q * (2 if s > t else (1 if half and s == t else 0))
    return total


def check(plan, b, a, half, monotone, exactly=True):
    got = exact_wins(plan, b, a, half=half, monotone=monotone)
    for cut in range(len(plan.scores) + 1):
        moved = plan.map(cut, monotone=monotone)(b.score)
        expected = (
            weighted_wins(moved, b.positive, a.score, a.negative, half),
            weighted_wins(a.score, a.positive, moved, b.negative, half),
            weighted_wins(moved, b.positive, moved, b.negative, half),
        )
        if exactly:
            assert tuple(int(count[cut]) for count in got) == expected
        else:
            assert [count[cut] for count in got] == pytest.approx(expected, rel=1e-12, abs=1e-12)


GRIDS = {
    "tenths": lambda rng: np.arange(12) / 10,
    "integers": lambda rng: np.arange(9.0),
    "continuous": lambda rng: rng.random(15),
    "log-odds": lambda rng: rng.normal(size=12),
}


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("half", [False, True])
def test_fitted_and_held_out_counts_are_exact(grid, half, monotone):
    rng = np.random.default_rng(0)
    for _ in range(60):
        values = GRIDS[grid](rng)
        a, b = random_counts(rng, values, 8), random_counts(rng, values, 8)
        plan = TransportPlan.between(b.score, b.weight, a.score, a.weight)
        check(plan, b, a, half, monotone)
        others = np.concatenate((values, values + 0.03, values - 0.04))
        check(plan, random_counts(rng, others, 10), random_counts(rng, others, 8), half, monotone)


@pytest.mark.parametrize("monotone", [False, True])
def test_many_points_between_few_knots(monotone):
    """Segments full of straddling points, rising, falling and flat."""
    rng = np.random.default_rng(1)
    for _ in range(60):
        a, b = random_counts(rng, np.arange(5) / 4, 3), random_counts(rng, np.arange(5) / 4, 4)
        plan = TransportPlan.between(b.score, b.weight, a.score, a.weight)
        for half in (False, True):
            check(plan, random_counts(rng, np.arange(-3, 25) / 20, 20), a, half, monotone)


def test_blocks_change_nothing(monkeypatch):
    rng = np.random.default_rng(2)
    a, b = random_counts(rng, rng.random(300), 300), random_counts(rng, rng.random(300), 300)
    other = random_counts(rng, rng.random(300), 300)
    plan = TransportPlan.between(b.score, b.weight, a.score, a.weight)
    whole = [exact_wins(plan, points, a) for points in (b, other)]
    monkeypatch.setattr(lookup_module.blocks, "__defaults__", (7,))
    for points, expected in zip((b, other), whole):
        for got, want in zip(exact_wins(plan, points, a), expected):
            np.testing.assert_array_equal(got, want)


def test_fractional_weights():
    rng = np.random.default_rng(3)
    for _ in range(60):
        a, b, other = (random_counts(rng, np.arange(12) / 10, 8) for _ in range(3))
        a, b, other = (GroupCounts(c.score, c.positive * 0.3, c.negative * 1.7) for c in (a, b, other))
        plan = TransportPlan.between(b.score, b.weight, a.score, a.weight)
        for half in (False, True):
            check(plan, b, a, half, False, exactly=False)
            check(plan, other, a, half, True, exactly=False)


def test_whole_and_fractional_weights_together():
    """Merged tables can have whole weights in one group and others in the other."""
    rng = np.random.default_rng(4)
    a, b = (random_counts(rng, np.arange(12) / 10, 8) for _ in range(2))
    plan = TransportPlan.between(b.score, b.weight, a.score, a.weight)
    check(plan, b, GroupCounts(a.score, a.positive * 0.5, a.negative * 0.25), True, True, exactly=False)
    check(plan, GroupCounts(b.score, b.positive * 0.5, b.negative * 0.25), a, False, False, exactly=False)


def test_oracle_counts_rows_like_weights():
    """The weighted loop above against the row-by-row oracle."""
    assert weighted_wins([1, 2], [2, 1], [1, 0], [1, 3], True) == oracles.wins([1, 1, 2], [1, 0, 0, 0], half=True)
