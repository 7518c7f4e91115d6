"""Curves that are counted for all values together against those counted value by value."""

import warnings

import numpy as np
import pytest

from fairpot.counts import GroupCounts
from fairpot.exceptions import UndefinedMetricWarning
from fairpot.metrics.wins import WinMatrix
from fairpot.table import ScoreTable, Top
from fairpot.tradeoff.building import PairCounts, keeps_order, trace
from fairpot.transport import ScoreMap


def drawn(rng, sizes=(9, 7), grain=1, weight=1):
    """Two groups with ties inside and between them."""
    counts = []
    for size in sizes:
        score = np.unique(rng.normal(size=size).round(grain))
        positive, negative = rng.integers(0, 4, len(score)), rng.integers(0, 4, len(score))
        positive[0] += 1
        negative[-1] += 1
        counts.append(GroupCounts(score, positive * weight, negative * weight))
    return ScoreTable(("a", "b"), tuple(counts))


def moved_states(rng, table, values):
    """Moved scores at each value: some keep the order, some turn it, some tie all, some meet the other group."""
    score = table["b"].score
    states = [score + 0.1 * rng.integers(-9, 9) for _ in range(values - 4)]
    states += [score, np.full(len(score), 0.3), score[::-1].copy(), rng.choice(table["a"].score, len(score))]
    return np.stack(states).round(9)


def views(table, steps):
    return (table.view(maps) for maps in steps)


def together(table, values, blocks, ties):
    fixed = table["a"].score
    return PairCounts(table, ties, moved="b", reference="a").curve(values, ((fixed, block) for block in blocks))


@pytest.mark.parametrize("weight", [1, 0.3])
@pytest.mark.parametrize("ties", ["half", "strict"])
@pytest.mark.parametrize("seed", range(4))
def test_all_values_together_are_each_by_itself(seed, ties, weight):
    rng = np.random.default_rng(seed)
    table = drawn(rng, weight=weight)
    states = moved_states(rng, table, 12)
    values = np.arange(len(states)) / 10
    steps = [{"b": ScoreMap(table["b"].score, row)} for row in states]
    slow = trace(table, values, views(table, steps), reference="a", ties=ties)
    for parts in (1, 5):
        quick = together(table, values, np.array_split(states, parts), ties)
        for name in ("lam", "auc", "xauc_ab", "xauc_ba", "orders"):
            np.testing.assert_allclose(getattr(quick, name), getattr(slow, name), atol=1e-12, err_msg=name)
        assert quick.unrepaired_auc == pytest.approx(slow.unrepaired_auc, abs=1e-12)
        assert (quick.moved, quick.reference, quick.pairs) == (slow.moved, slow.reference, slow.pairs)
    assert not slow.orders.all()
    first = WinMatrix.of(table.rescored(steps[0]), ties)
    assert slow.auc[0] == pytest.approx(first.auc(), abs=1e-12)


@pytest.mark.parametrize("weight", [1, 0.3])
@pytest.mark.parametrize("ties", ["half", "strict"])
@pytest.mark.parametrize("sizes", [(9, 7), (7, 30), (30, 1)])
def test_both_groups_may_move(sizes, ties, weight):
    """Whatever becomes of either, and whichever has more scores."""
    rng = np.random.default_rng(sum(sizes))
    table = drawn(rng, sizes, grain=2, weight=weight)
    swapped = ScoreTable(("a", "b"), table.counts[::-1])
    fixed, rows = moved_states(rng, swapped, 9), moved_states(rng, table, 9)
    fixed = np.stack([rng.permutation(each) if k == 3 else each for k, each in enumerate(fixed)])
    slow = trace(table, np.arange(9.0), zip(fixed, rows), reference="a", ties=ties)
    pairs = PairCounts(table, ties, moved="b", reference="a")
    quick = pairs.curve(np.arange(9.0), ((one, row[None]) for one, row in zip(fixed, rows)))
    for name in ("auc", "xauc_ab", "xauc_ba", "orders"):
        np.testing.assert_allclose(getattr(quick, name), getattr(slow, name), atol=1e-12, err_msg=name)
    assert slow.orders.any()


def test_whole_counts_are_counted_exactly():
    """Numbers of pairs are whole: their share is the nearest double, whatever the order of the sums."""
    rng = np.random.default_rng(9)
    table = drawn(rng, (400, 300), grain=2)
    states = moved_states(rng, table, 8)
    steps = [{"b": ScoreMap(table["b"].score, row)} for row in states]
    slow = trace(table, np.arange(8.0), views(table, steps), reference="a", ties="half")
    quick = together(table, np.arange(8.0), [states], "half")
    np.testing.assert_array_equal(quick.xauc_ab, slow.xauc_ab)
    np.testing.assert_array_equal(quick.xauc_ba, slow.xauc_ba)
    np.testing.assert_array_equal(quick.auc, slow.auc)


def test_what_has_no_pairs_is_undefined_in_both():
    score = np.array([0.1, 0.2])
    some, none = np.array([1, 1]), np.array([0, 0])
    table = ScoreTable(("a", "b"), (GroupCounts(score, some, none), GroupCounts(score, some, some)))
    states = np.stack([score, score + 1])
    steps = [{"b": ScoreMap(score, row)} for row in states]
    with pytest.warns(UndefinedMetricWarning, match="'a'"):
        quick = together(table, np.arange(2.0), [states], "half")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        slow = trace(table, np.arange(2.0), views(table, steps), reference="a", ties="half")
    for name in ("auc", "xauc_ab", "xauc_ba"):
        np.testing.assert_array_equal(getattr(quick, name), getattr(slow, name))
    assert np.isnan(quick.xauc_ba).all()


@pytest.mark.parametrize("top_of", ["all", "group"])
def test_the_top_is_found_again_at_every_value(top_of):
    rng = np.random.default_rng(3)
    table = drawn(rng, (60, 50), grain=2)
    states = moved_states(rng, table, 7)
    steps = [{"b": ScoreMap(table["b"].score, row)} for row in states]
    curve = trace(table, np.arange(7.0), views(table, steps), reference="a", ties="half", top=Top(0.4, top_of))
    assert curve.top == 0.4
    for k, maps in enumerate(steps):
        first, second = WinMatrix.of(table.rescored(maps).top(0.4, top_of), "half").widest()
        assert curve.gap[k] == pytest.approx(abs(first - second), abs=1e-12)


def test_a_map_that_ties_all_leaves_no_order():
    table = drawn(np.random.default_rng(5))
    score = table["b"].score
    assert keeps_order(table, {})
    assert keeps_order(table, {"b": ScoreMap(score, score[::-1].copy())})
    assert keeps_order(table, {"b": ScoreMap(score, np.where(np.arange(len(score)) == 2, 1.0, 0.0))})
    assert not keeps_order(table, {"b": ScoreMap(score, np.zeros(len(score)))})
    alone = ScoreTable(("b",), (GroupCounts(score[:1], [1], [1]),))
    assert keeps_order(alone, {"b": ScoreMap(score[:1], [0.0])})  # one score has no order to lose
