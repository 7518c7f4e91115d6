"""XOrder against slow programmes and all interleavings; what its maps do to rows; wrong input."""

import itertools
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.isotonic import IsotonicRegression

import oracles
from fairpot.counts import GroupCounts
from fairpot.exceptions import UnseenGroupError
from fairpot.metrics.wins import WinMatrix
from fairpot.table import ScoreTable
from fairpot_paper import XOrder
from fairpot_paper.xorder import xorder_maps, xorder_orders

LAMS = [0.0, 0.0137, 0.1171, 0.4142, 1.0]


def xorder_paths(a, b, lams):
    """The orders found, and the pairs that a's and b's rows with the outcome win in them."""
    above = xorder_orders(a, b, lams)
    won, left = np.append(0, np.cumsum(a.positive[::-1])), np.append(np.cumsum(a.negative)[::-1], 0)
    ab, ba = won[above[:, ::-1]] @ b.negative[::-1], left[above[:, ::-1]] @ b.positive[::-1]
    return SimpleNamespace(above=above, ab=ab, ba=ba)


def value(ab, ba, a, b, lam):
    """The objective, from the definition, in exact fractions."""
    p_a, n_a, p_b, n_b = (int(c.sum()) for c in (a.positive, a.negative, b.positive, b.negative))
    gap = Fraction(int(ab), p_a * n_b) - Fraction(int(ba), p_b * n_a)
    return Fraction(int(ab + ba), (p_a + p_b) * (n_a + n_b)) - Fraction(lam) * abs(gap)


def slow_programme(a, b, lam):
    """The dynamic programme on the full grid, every suffix summed afresh; returns counts and the b above which a."""
    a_pos, a_neg, a_score = a.positive[::-1].tolist(), a.negative[::-1].tolist(), a.score[::-1].tolist()
    b_pos, b_neg, b_score = b.positive[::-1].tolist(), b.negative[::-1].tolist(), b.score[::-1].tolist()
    cell = {(0, 0): (0, 0, ())}
    for i, j in itertools.product(range(len(a_pos) + 1), range(len(b_pos) + 1)):
        options = []
        if i:
            ab, ba, path = cell[i - 1, j]
            options.append((ab + a_pos[i - 1] * sum(b_neg[j:]), ba, path))
        if j:
            ab, ba, path = cell[i, j - 1]
            options.append((ab, ba + b_pos[j - 1] * sum(a_neg[i:]), (*path, i)))
        if len(options) == 2:
            a_last, b_last = (value(*option[:2], a, b, lam) for option in options)
            keep_a = a_score[i - 1] < b_score[j - 1] if a_last == b_last else a_last > b_last
            options = options[:1] if keep_a else options[1:]
        if options:
            [cell[i, j]] = options
    return cell[len(a_pos), len(b_pos)]


def exhaustive(a, b, lam):
    """The best value over all interleavings."""
    n, m = len(a.score), len(b.score)
    values = []
    for above in itertools.combinations_with_replacement(range(n + 1), m):
        ab = ba = 0
        for i, p, q in zip(above, b.positive[::-1], b.negative[::-1]):
            ba += p * a.negative[::-1][i:].sum()
            ab += q * a.positive[::-1][:i].sum()
        values.append(value(ab, ba, a, b, lam))
    return max(values)


def counts(rng, atoms, largest=1):
    """Draw a group with both outcomes; with largest > 1 scores are tied."""
    while True:
        positive = rng.integers(0, largest + 1, atoms)
        negative = 1 - positive if largest == 1 else rng.integers(0, largest + 1, atoms)
        if positive.any() and negative.any() and (positive + negative > 0).all():
            return GroupCounts(np.sort(rng.choice(20 * atoms, atoms, replace=False)) / 16, positive, negative)


def test_equals_a_slow_programme_exactly():
    rng = np.random.default_rng(0)
    for trial in range(40):
        n, m = rng.integers(2, 14, 2)
        largest = 1 + 2 * (trial % 2)
        a, b = counts(rng, n, largest), counts(rng, m, largest)
        paths = xorder_paths(a, b, np.array(LAMS))
        for row, lam in enumerate(LAMS):
            ab, ba, above = slow_programme(a, b, lam)
            assert (paths.ab[row], paths.ba[row]) == (ab, ba)
            assert tuple(paths.above[row][::-1]) == above


def test_one_score_on_a_side():
    rng = np.random.default_rng(1)
    one = GroupCounts(np.array([0.5]), np.array([2]), np.array([3]))
    for other in (one, counts(rng, 9)):
        for a, b in ((one, other), (other, one)):
            paths = xorder_paths(a, b, np.array([0.3]))
            assert (paths.ab[0], paths.ba[0], tuple(paths.above[0][::-1])) == slow_programme(a, b, 0.3)


def test_many_lambdas_at_once_equal_one_by_one():
    rng = np.random.default_rng(2)
    a, b = counts(rng, 300), counts(rng, 90)
    lams = np.linspace(0, 1, 201)
    together = xorder_orders(a, b, lams)
    for row in range(0, 201, 40):
        np.testing.assert_array_equal(together[row], xorder_orders(a, b, lams[row : row + 1])[0])


def test_against_all_interleavings():
    """Best at lam = 0; never better than the best; and not always the best."""
    rng = np.random.default_rng(3)
    short_of_best = dict.fromkeys(LAMS, 0)
    for _ in range(40):
        a, b = counts(rng, rng.integers(2, 6)), counts(rng, rng.integers(2, 6))
        paths = xorder_paths(a, b, np.array(LAMS))
        for row, lam in enumerate(LAMS):
            found, best = value(paths.ab[row], paths.ba[row], a, b, lam), exhaustive(a, b, lam)
            assert found <= best
            short_of_best[lam] += found < best
    assert short_of_best[0.0] == 0
    assert short_of_best[1.0] > 10


def test_the_documented_example_is_not_the_best():
    a = GroupCounts(np.array([0.2, 0.4, 0.6]), np.array([0, 1, 0]), np.array([1, 0, 1]))
    b = GroupCounts(np.array([0.3, 0.5]), np.array([0, 1]), np.array([1, 0]))
    paths = xorder_paths(a, b, np.array([1.0]))
    assert value(paths.ab[0], paths.ba[0], a, b, 1) == Fraction(-1, 6)
    assert exhaustive(a, b, 1) == Fraction(1, 2)


def tables(data):
    table = ScoreTable.from_rows(
        data.scores, data.y.astype(np.int8), np.unique(data.group, return_inverse=True)[1], sorted(set(data.group))
    )
    return table.counts


@pytest.mark.parametrize("data", ["bank_scores", "compas_scores"])
def test_lambda_zero_is_the_merge_by_calibrated_risk_on_real_scores(data, request):
    """Without a penalty the best order compares the two groups' isotonic rates."""
    rows = request.getfixturevalue(data)
    a, b = tables(rows.take(slice(None, None, 9)))
    paths = xorder_paths(a, b, np.zeros(1))
    rates = [IsotonicRegression().fit_transform(c.score, c.positive / c.weight, sample_weight=c.weight) for c in (a, b)]
    above = rates[0][:, None] > rates[1][None, :]
    ab = a.positive @ above @ b.negative
    ba = b.positive @ (~above).T @ a.negative
    assert paths.ab[0] + paths.ba[0] == ab + ba


def test_never_above_what_any_order_can_reach(compas_scores):
    """For |mu| <= lam the objective is at most AUC - mu * signed gap, whose best order compares scaled odds."""
    a, b = tables(compas_scores)
    p_a, n_a, p_b, n_b = (c.sum() for c in (a.positive, a.negative, b.positive, b.negative))
    share = 1 / ((p_a + p_b) * (n_a + n_b))
    rate_a, rate_b = (
        IsotonicRegression().fit_transform(c.score, c.positive / c.weight, sample_weight=c.weight) for c in (a, b)
    )

    def bound(mu):
        per_ab, per_ba = share - mu / (p_a * n_b), share + mu / (p_b * n_a)
        a_above = per_ab * np.outer(rate_a, 1 - rate_b) > per_ba * np.outer(1 - rate_a, rate_b)
        return per_ab * (a.positive @ a_above @ b.negative) + per_ba * (b.positive @ (~a_above).T @ a.negative)

    lams = np.array([0.003, 0.02])
    paths = xorder_paths(a, b, lams)
    for row, lam in enumerate(lams):
        limit = min(bound(mu) for mu in np.linspace(-lam, lam, 41) if abs(mu) < share * min(p_a * n_b, p_b * n_a))
        assert float(value(paths.ab[row], paths.ba[row], a, b, lam)) <= limit + 1e-12


@pytest.mark.parametrize("data", ["bank_scores", "compas_scores"])
def test_equals_the_slow_programme_on_real_scores(data, request):
    rows = request.getfixturevalue(data)
    picked = np.random.default_rng(0).permutation(len(rows.y))[: 1500 if data == "bank_scores" else 150]
    a, b = tables(rows.take(picked))
    for lam in (0.0137, 0.4142):
        paths = xorder_paths(a, b, np.array([lam]))
        ab, ba, above = slow_programme_in_floats(a, b, lam)
        assert (paths.ab[0], paths.ba[0]) == (ab, ba)
        assert paths.above[0][::-1].tolist() == above


def slow_programme_in_floats(a, b, lam):
    """The same programme for larger grids: full matrices, plain floats."""
    a_pos, b_pos = a.positive[::-1].tolist(), b.positive[::-1].tolist()
    a_rest = [int(a.negative[::-1][i:].sum()) for i in range(len(a_pos) + 1)]
    b_rest = [int(b.negative[::-1][j:].sum()) for j in range(len(b_pos) + 1)]
    a_score, b_score = a.score[::-1].tolist(), b.score[::-1].tolist()
    pairs = (sum(a_pos) + sum(b_pos)) * (a_rest[0] + b_rest[0])
    per_a, per_b = lam * (pairs / (sum(a_pos) * b_rest[0])), lam * (pairs / (sum(b_pos) * a_rest[0]))
    cell, a_last = {(0, 0): (0, 0)}, {}
    for i, j in itertools.product(range(len(a_pos) + 1), range(len(b_pos) + 1)):
        worth = {}
        for last, before in ((True, (i - 1, j)), (False, (i, j - 1))):
            if before in cell:
                ab, ba = cell[before]
                ab, ba = (ab + a_pos[i - 1] * b_rest[j], ba) if last else (ab, ba + b_pos[j - 1] * a_rest[i])
                worth[last] = (ab + ba - abs(ab * per_a - ba * per_b), ab, ba)
        if len(worth) == 2 and worth[True][0] == worth[False][0]:
            a_last[i, j] = a_score[i - 1] < b_score[j - 1]
        elif worth:
            a_last[i, j] = max(worth, key=lambda last: worth[last][0])
        if worth:
            cell[i, j] = worth[a_last[i, j]][1:]
    i, j = len(a_pos), len(b_pos)
    total, above = cell[i, j], []
    while i or j:
        if a_last[i, j]:
            i -= 1
        else:
            j -= 1
            above.append(i)
    return *total, above[::-1]


@pytest.mark.parametrize("lam", [0.0, 0.05, 1.0])
def test_transformed_rows_have_the_pairs_that_were_counted(compas_scores, lam):
    scores, y, group = compas_scores
    fitted = XOrder(lam).fit(scores, y, sensitive_features=group)
    reference, [other] = fitted.reference_, set(group) - {fitted.reference_}
    a, b = fitted.table_[reference], fitted.table_[other]
    paths = xorder_paths(a, b, np.array([lam]))
    moved = fitted.transform(scores, sensitive_features=group)
    np.testing.assert_array_equal(moved[group == reference], scores[group == reference])
    wins = WinMatrix.of(fitted.table_.rescored(fitted.maps_), "strict")
    g, h = fitted.groups_.index(reference), fitted.groups_.index(other)
    assert wins.half_wins[g, h] == 2 * paths.ab[0]
    assert wins.half_wins[h, g] == 2 * paths.ba[0]
    assert fitted.maps_[other].is_monotone
    assert (moved >= 0).all()
    assert (moved <= 1).all()


def test_scores_between_two_reference_scores_are_evenly_spaced():
    a = GroupCounts(np.array([0.2, 0.8]), np.array([0, 1]), np.array([1, 0]))
    b = GroupCounts(np.array([0.1, 0.15, 0.3]), np.array([0, 0, 1]), np.array([1, 1, 0]))
    [found] = xorder_maps(a, b, np.zeros(1))
    np.testing.assert_array_equal(found.knots, b.score)
    # The negatives keep their place below the reference's negative, down to the group's own lowest score.
    np.testing.assert_allclose(found.values, [0.1 + 0.1 / 3, 0.1 + 0.2 / 3, 0.5], rtol=0, atol=1e-15)
    assert found(0.225) == pytest.approx((found.values[1] + found.values[2]) / 2)
    assert found(0.9) == 0.5


def test_beyond_the_reference_scores_stay_on_the_scale():
    a = GroupCounts(np.array([0.4, 0.6]), np.array([1, 1]), np.array([2, 1]))
    b = GroupCounts(np.array([0.45, 0.55]), np.array([0, 5]), np.array([5, 0]))
    [inside] = xorder_maps(a, b, np.zeros(1))
    # One mean distance of the reference's scores is the room beyond its ends.
    np.testing.assert_allclose(inside.values, [0.35, 0.65], rtol=0, atol=1e-15)
    shifted = [GroupCounts(c.score + s, c.positive, c.negative) for c, s in ((a, 0.38), (b, 0.38))]
    [capped] = xorder_maps(*shifted, np.zeros(1))
    assert capped.values[1] == pytest.approx((0.98 + 1) / 2)
    points = [GroupCounts(c.score * 100, c.positive, c.negative) for c in (a, b)]
    [wide] = xorder_maps(*points, np.zeros(1))
    np.testing.assert_allclose(wide.values, [35, 65])


def test_equal_values_keep_the_order_the_scores_had():
    """Nothing is won or lost among negatives: they stay where they were."""
    a = GroupCounts(np.array([0.1, 0.3, 0.5, 0.9]), np.array([0, 0, 0, 1]), np.array([1, 1, 1, 0]))
    b = GroupCounts(np.array([0.2, 0.4, 0.6, 0.8]), np.array([0, 0, 0, 1]), np.array([1, 1, 1, 0]))
    np.testing.assert_array_equal(xorder_orders(a, b, np.zeros(1)), [[3, 2, 1, 1]])


@pytest.mark.parametrize("ties", ["strict", "half"])
def test_tradeoff_equals_metrics_of_transformed_rows(compas_scores, ties):
    train, test = (compas_scores.take(slice(k, None, 8)) for k in (0, 1))
    fitted = XOrder(ties=ties).fit(train.scores, train.y, sensitive_features=train.group)
    curve = fitted.tradeoff(*test[:2], sensitive_features=test.group, lams=[1, 0, 0.02])
    np.testing.assert_array_equal(curve.lam, [0, 0.02, 1])
    for point, lam in enumerate(curve.lam):
        one = clone(fitted).set_params(lam=lam).fit(train.scores, train.y, sensitive_features=train.group)
        s = one.transform(test.scores, sensitive_features=test.group)
        half = ties == "half"
        ab = oracles.xauc(test.y, s, test.group, curve.reference, curve.moved[0], half=half)
        ba = oracles.xauc(test.y, s, test.group, curve.moved[0], curve.reference, half=half)
        found = (curve.auc[point], curve.xauc_ab[point], curve.xauc_ba[point])
        assert found == pytest.approx((oracles.auc(test.y, s, half=half), ab, ba), abs=1e-12)


def test_the_dial_lowers_the_gap_and_zero_raises_auc(compas_scores):
    scores, y, group = compas_scores.take(slice(None, None, 2))
    curve = XOrder().fit(scores, y, sensitive_features=group).tradeoff()
    small = [0.0005, 0.001, 0.002, 0.003, 0.005, 0.01, 0.015, 0.02, 0.03, 0.05]
    np.testing.assert_array_equal(curve.lam, [0, *small, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1])
    assert curve.auc[0] >= curve.unrepaired_auc
    assert curve.gap[-1] < 0.01 < curve.gap[0]
    assert curve.select(max_gap=0.01).auc <= curve.auc[0]


def test_more_groups_are_each_merged_into_the_reference():
    rng = np.random.default_rng(7)
    group, y = rng.choice(["a", "b", "c"], 150), rng.integers(0, 2, 150)
    scores = rng.random(150) + 0.3 * y + 0.3 * (group == "a")
    fitted = XOrder(0.3, reference="a").fit(scores, y, sensitive_features=group)
    for other in "bc":
        rows = (group == "a") | (group == other)
        alone = XOrder(0.3, reference="a").fit(scores[rows], y[rows], sensitive_features=group[rows])
        assert alone.maps_[other] == fitted.maps_[other]
    assert len(fitted.tradeoff(lams=[0, 0.5])) == 2


def test_errors():
    scores, y, group = [0.1, 0.2, 0.3, 0.4], [0, 1, 0, 1], ["a", "a", "b", "b"]
    with pytest.raises(ValueError, match=r"lam must be finite and in \[0, 1\]"):
        XOrder(lam=2).fit(scores, y, sensitive_features=group)
    with pytest.raises(TypeError, match="lam must be a number"):
        XOrder(lam="x").fit(scores, y, sensitive_features=group)
    with pytest.raises(ValueError, match="needs y"):
        XOrder().fit(scores, sensitive_features=group)
    with pytest.raises(ValueError, match="y has no rows with the outcome"):
        XOrder().fit(scores, [0] * 4, sensitive_features=group)
    with pytest.raises(ValueError, match="group 'b' has no rows with the outcome"):
        XOrder().fit([0.1, 0.9, 0.3, 0.4], [0, 1, 0, 0], sensitive_features=group)
    with pytest.raises(ValueError, match="not among the groups"):
        XOrder(reference="c").fit(scores, y, sensitive_features=group)
    fitted = XOrder().fit(scores, y, sensitive_features=group)
    with pytest.raises(UnseenGroupError, match="'c'"):
        fitted.transform([0.1], sensitive_features=["c"])
    with pytest.raises(ValueError, match="lams is empty"):
        fitted.tradeoff(lams=[])
    long = GroupCounts(np.arange(300_000.0), np.ones(300_000), np.ones(300_000))
    with pytest.raises(ValueError, match="round the scores"):
        xorder_orders(long, long, np.zeros(1))


@pytest.mark.parametrize("lam", [0.0, 0.3])
def test_nobody_is_tied_beyond_a_reference_score_of_exactly_0_or_1(lam):
    """The best order puts b's positives above a's top score of 1 and its negatives below 0: it is kept, strictly."""
    scores = np.array([0.0, 0.0, 0.3, 0.6, 1.0, 1.0, 0.1, 0.2, 0.3, 0.7, 0.8, 0.9])
    y = np.array([0, 1, 0, 1, 1, 0, 0, 0, 0, 1, 1, 1])
    group = np.repeat(["a", "b"], 6)
    fitted = XOrder(lam, reference="a").fit(scores, y, sensitive_features=group)
    moved = fitted.transform(scores, sensitive_features=group)[group == "b"]
    assert (np.diff(moved) > 0).all()
    paths = xorder_paths(fitted.table_["a"], fitted.table_["b"], np.array([lam]))
    wins = WinMatrix.of(fitted.table_.rescored(fitted.maps_), "half")
    assert [wins.half_wins[0, 1], wins.half_wins[1, 0]] == [2 * paths.ab[0], 2 * paths.ba[0]]
    assert moved[0] < 0 or lam
    assert moved[-1] > 1 or lam
