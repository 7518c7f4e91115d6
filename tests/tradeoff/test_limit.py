"""The limit against exhaustive search over all repairs of small tables, and as a bound for every method."""

from __future__ import annotations

from itertools import combinations, combinations_with_replacement

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_breast_cancer

from fairpot import FairPOT, score_table
from fairpot.counts import GroupCounts
from fairpot.metrics import auc, xauc, xauc_gap
from fairpot.metrics.wins import WinMatrix
from fairpot.table import ScoreTable
from fairpot.tradeoff.curve import TradeoffCurve
from fairpot.tradeoff.limit import Limit, auc_limit, pool
from oracles import distance_to_limit

TIES = ("strict", "half")


def random_group(rng, size, whole):
    """Draw atoms, some of them with one outcome only; the group as a whole has both."""
    while True:
        counts = rng.integers(0, 5, (2, size)) if whole else rng.random((2, size)) * rng.integers(0, 2, (2, size))
        counts[:, counts.sum(axis=0) == 0] = 1
        if (counts.sum(axis=1) > 0).all():
            return GroupCounts(np.arange(size) * 1.0, counts[0], counts[1])


def random_table(rng, largest, whole=True):
    sizes = rng.integers(1, largest + 1, 2)
    return ScoreTable(("a", "b"), tuple(random_group(rng, size, whole) for size in sizes))


def measured(table, score_a, score_b, ties):
    """Measure a repair by the library's own matrix of wins."""
    moved = tuple(c.rescored(np.asarray(s) * 1.0) for c, s in zip(table.counts, (score_a, score_b)))
    matrix = WinMatrix.of(ScoreTable(table.groups, moved), ties)
    cross = matrix.xauc()
    return cross[0, 1] - cross[1, 0], matrix.auc()


def interleavings(m_a, m_b):
    """Give the scores of a and b in every strict merge of the two orders."""
    every = np.arange(m_a + m_b)
    for chosen in combinations(range(m_a + m_b), m_a):
        yield np.array(chosen), np.delete(every, chosen)


def weak_merges(m_a, m_b):
    """Give every merge with any ties, between the groups and inside them."""
    levels = range(m_a + m_b)
    for score_a in combinations_with_replacement(levels, m_a):
        for score_b in combinations_with_replacement(levels, m_b):
            yield score_a, score_b


def upper_hull(points):
    """Give the upper concave envelope of points, by a scan from left to right."""
    hull: list[tuple[float, float]] = []
    points = [(round(float(x), 13), float(y)) for x, y in points]  # round-off must not split a signed gap
    for point in sorted(points, key=lambda p: (p[0], -p[1])):
        if hull and point[0] == hull[-1][0]:
            continue
        while len(hull) > 1 and cross_product(hull[-2], hull[-1], point) >= 0:
            hull.pop()
        hull.append(point)
    return np.array(hull).T


def cross_product(o, p, q):
    return (p[0] - o[0]) * (q[1] - o[1]) - (p[1] - o[1]) * (q[0] - o[0])


def assert_is_hull(limit, points):
    """Compare two concave lines at the corners of both."""
    x, y = upper_hull(points)
    [line] = limit.lines.values()
    assert_allclose(limit.auc_at(x), y, rtol=0, atol=1e-12)
    assert_allclose(np.interp(line.signed_gap, x, y), line.auc, rtol=0, atol=1e-12)
    assert line.signed_gap[[0, -1]] == pytest.approx([-1, 1], abs=1e-12)


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("seed", range(60))
def test_equals_the_hull_of_all_interleavings(seed, whole):
    rng = np.random.default_rng(seed)
    table = random_table(rng, 4 if seed % 6 else 6, whole)
    sizes = [len(c.score) for c in table.counts]
    points = [measured(table, *scores, "strict") for scores in interleavings(*sizes)]
    assert_is_hull(Limit.of(table, reference="a", ties="strict"), points)


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("seed", range(12))
def test_equals_the_hull_of_all_repairs_that_may_tie(seed, ties):
    rng = np.random.default_rng(seed)
    table = random_table(rng, 3, whole=seed % 2 == 0)
    sizes = [len(c.score) for c in table.counts]
    points = [measured(table, *scores, ties) for scores in weak_merges(*sizes)]
    assert_is_hull(Limit.of(table, reference="a", ties=ties), points)


def test_pooling_inside_a_group_helps_only_if_ties_count_half():
    # In both groups the negative is above the positive: ties repair half of that.
    table = ScoreTable(("a", "b"), (GroupCounts(np.array([0.0, 1.0]), np.array([1, 0]), np.array([0, 1])),) * 2)
    assert Limit.of(table, ties="strict").best().auc == 0.25
    assert Limit.of(table, ties="half").best().auc == 0.5


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(5)
    n = 3000
    group = rng.choice(["a", "b"], n, p=[0.7, 0.3])
    risk = rng.normal(size=n) + 0.6 * (group == "a")
    y = (risk + rng.normal(size=n) > 0.8).astype(int)
    score = np.round(1 / (1 + np.exp(-risk - 0.4 * (group == "a") - 0.5 * rng.normal(size=n))), 3)
    return y, score, group


@pytest.mark.parametrize("ties", TIES)
def test_vertices_are_merges_by_odds(sample, ties):
    y, score, group = sample
    limit = auc_limit(y, score, sensitive_features=group, ties=ties)
    [line] = limit.lines.values()
    assert (np.diff(line.signed_gap) > 0).all()
    slopes = np.diff(line.auc) / np.diff(line.signed_gap)
    assert (np.diff(slopes) < 1e-9).all()
    assert limit.best().auc == line.auc.max()


def test_measured_points_lie_under_it(sample):
    y, score, group = sample
    limit = auc_limit(y, score, sensitive_features=group)
    signed = xauc(y, score, sensitive_features=group, positive="a", negative="b")
    signed -= xauc(y, score, sensitive_features=group, positive="b", negative="a")
    assert limit.groups == ("a", "b")
    assert limit.auc_at(signed) > auc(y, score)


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("seed", range(30))
def test_fairpot_never_crosses_it(seed, ties):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 400))
    group = np.where(np.arange(n) % 3 > 0, "a", "b")
    y = rng.integers(0, 2, n)
    y[:6] = [0, 0, 0, 1, 1, 1]
    score = np.round(rng.normal(size=n) + 0.5 * y * (group == "a"), 1 + seed % 3)
    weight = None if seed % 2 else rng.random(n) + 0.1
    rows = {"sensitive_features": group, "sample_weight": weight}
    limit = auc_limit(y, score, reference="a", ties=ties, **rows)
    for reference in "ab":
        method = FairPOT(0.5, reference=reference, monotone=True, ties=ties)
        curve = method.fit(score, y, **rows).tradeoff(score, y, **rows)
        assert distance_to_limit(curve, limit).min() > -1e-12


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("feature", [0, 1, 4, 8, 26])
def test_fairpot_never_crosses_it_on_real_measurements(feature, ties):
    data = load_breast_cancer()
    y, score, group = 1 - data.target, data.data[:, feature], np.where(data.data[:, 9] > 0.0615, "high", "low")
    method = FairPOT(monotone=True, ties=ties).fit(score, y, sensitive_features=group)
    limit = auc_limit(y, score, sensitive_features=group, ties=ties)
    curve = method.tradeoff(score, y, sensitive_features=group)
    assert distance_to_limit(curve, limit).min() > -1e-12


def test_fairpot_touches_it_nowhere_but_comes_near(sample):
    y, score, group = sample
    limit = auc_limit(y, score, sensitive_features=group)
    curve = FairPOT().fit(score, y, sensitive_features=group).tradeoff(score, y, sensitive_features=group)
    left = distance_to_limit(curve, limit)
    assert 0 < left.min() < 0.02


def test_rows_table_weights_and_labels_agree(sample):
    y, score, group = (column[:400] for column in sample)
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    said = {"sample_weight": weight, "weights": "frequency"}
    by_weight = auc_limit(score_table(y, score, sensitive_features=group, **said))
    repeated = [np.repeat(column, weight) for column in (y, score, group)]
    named = np.where(repeated[0] == 1, "yes", "no")
    by_rows = auc_limit(named, repeated[1], sensitive_features=repeated[2], pos_label="yes")
    [one], [other] = by_weight.lines.values(), by_rows.lines.values()
    assert np.array_equal(one.auc, other.auc)
    assert np.array_equal(one.signed_gap, other.signed_gap)


def test_swapping_the_groups_mirrors_the_line(sample):
    y, score, group = sample
    one, other = (auc_limit(y, score, sensitive_features=group, reference=g) for g in "ab")
    grid = np.linspace(-1, 1, 101)
    assert_allclose(one.auc_at(grid), other.auc_at(-grid), atol=1e-12)
    curve = FairPOT().fit(score, y, sensitive_features=group).tradeoff(score, y, sensitive_features=group)
    assert_allclose(distance_to_limit(curve, one), distance_to_limit(curve, other), atol=1e-12)


def test_best_keeps_the_gap(sample):
    y, score, group = sample
    limit = auc_limit(y, score, sensitive_features=group)
    grid = np.linspace(-1, 1, 20001)
    for max_gap in (0.0, 0.02, 0.1, 1.0):
        point = limit.best(max_gap)
        inside = np.abs(grid) <= max_gap + 1e-12
        assert point.gap <= max_gap
        assert point.auc == pytest.approx(limit.auc_at(grid[inside]).max(), abs=1e-6)
        assert point.gap == abs(point.signed_gap)


def test_frame_and_repr(sample):
    y, score, group = sample
    limit = auc_limit(y, score, sensitive_features=group)
    frame = limit.frame()
    assert list(frame.columns) == ["signed_gap", "auc"]
    assert len(frame) == len(limit.lines["a", "b"].auc)
    assert "merging b into a" in repr(limit)


def test_pool_gives_ascending_shares(sample):
    y, score, _ = sample
    counts = GroupCounts.from_rows(score, y.astype(np.int8))
    blocks = pool(counts)
    assert blocks.positive.sum() == y.sum()
    assert (np.diff(blocks.positive / blocks.weight) > 0).all()


def test_the_gap_of_the_vertex_can_be_reached(sample):
    """Rebuild one vertex as scores, by hand, and measure it."""
    y, score, group = (column[:300] for column in sample)
    limit = auc_limit(y, score, sensitive_features=group, reference="a", ties="strict")
    [line] = limit.lines.values()
    place = len(line.auc) // 3
    # Where the line has a slope, blocks change places at one factor on b's odds; the vertex is the merge between two.
    slope = np.diff(line.auc)[place - 1 : place + 1] / np.diff(line.signed_gap)[place - 1 : place + 1]
    p_a, n_a, p_b, n_b = (((group == g) & (y == label)).sum() for g in "ab" for label in (1, 0))
    pairs = (p_a + p_b) * (n_a + n_b)
    theta = np.sqrt(np.prod((1 / pairs + slope / (p_b * n_a)) / (1 / pairs - slope / (p_a * n_b))))
    key = np.empty(len(y))
    for g, factor in (("a", 1.0), ("b", theta)):
        rows = np.flatnonzero(group == g)
        counts = GroupCounts.from_rows(score[rows], y[rows].astype(np.int8))
        blocks = pool(counts)
        at = np.searchsorted(blocks.score, score[rows], side="right") - 1
        with np.errstate(divide="ignore"):
            key[rows] = (np.log(blocks.positive / blocks.negative) + np.log(factor))[at]
    # Inside a block the old order is kept.
    merged = np.empty(len(y))
    merged[np.lexsort((score, group, key))] = np.arange(len(y))
    for g in "ab":
        rows = np.flatnonzero(group == g)
        merged[rows] = [merged[rows][score[rows] == s].min() for s in score[rows]]
    assert auc(y, merged, ties="strict") == pytest.approx(line.auc[place], abs=1e-12)
    gap = xauc_gap(y, merged, sensitive_features=group, ties="strict")
    assert gap == pytest.approx(abs(line.signed_gap[place]), abs=1e-12)


def test_errors():
    y, score = [0, 1, 0, 1, 0, 1], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    with pytest.raises(ValueError, match="a single group"):
        Limit.of(score_table(y, score, sensitive_features=list("aaaaaa")))
    with pytest.raises(ValueError, match="group 'b' has no rows without the outcome"):
        auc_limit([0, 1, 0, 0, 1, 1], score, sensitive_features=list("aaaabb"))
    with pytest.raises(ValueError, match="reference='z'"):
        auc_limit(y, score, sensitive_features=list("aaaabb"), reference="z")
    with pytest.raises(TypeError, match="y_true is missing"):
        auc_limit(None, score, sensitive_features=list("aaaabb"))
    with pytest.raises(ValueError, match="ties"):
        auc_limit(y, score, sensitive_features=list("aaaabb"), ties="maybe")
    limit = auc_limit(y, score, sensitive_features=list("aaaabb"))
    with pytest.raises(ValueError, match=r"\[-1, 1\]"):
        limit.auc_at([0.0, 1.5])
    with pytest.raises(ValueError, match="max_gap"):
        limit.best(2.0)
    other = TradeoffCurve(*(np.zeros(1) for _ in range(4)), ("x",), "y")
    with pytest.raises(ValueError, match="the curve is one of"):
        distance_to_limit(other, limit)


def test_the_limit_along_a_curve_is_that_at_its_signed_gaps(sample):
    y, score, group = sample
    limit = auc_limit(y, score, sensitive_features=group)
    gap = np.array([-0.1, 0.1, -0.05, 0.05, 0.0])
    xauc_moved = np.full(5, 0.7)
    curve = TradeoffCurve(np.linspace(0, 1, 5), np.full(5, 0.7), 0.7 + gap, xauc_moved, ("b",), "a")
    assert_allclose(curve.signed_gap, gap)
    assert_allclose(limit.along(curve), limit.auc_at(gap))
