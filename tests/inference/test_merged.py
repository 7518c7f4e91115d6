"""One pass over a ranking against pairs counted one by one, and against influences row by row."""

import itertools

import numpy as np
import pytest

import oracles
from fairpot import score_table
from fairpot.counts import GroupCounts
from fairpot.inference import merged
from fairpot.inference.merged import count_ranking, shares
from fairpot.inference.shares import all_pairs, cross_pairs, estimate_shares, inside
from fairpot.metrics import auc
from fairpot.metrics.wins import WinMatrix
from fairpot.table import ScoreTable
from inference_oracles import kernel, weighted

BLOCKS = (1, 3, 7, 50, 1 << 16)
TIES = ("half", "strict")


def tied_share(y, s, weight):
    """Compute the share of pairs with equal scores from the two AUCs, which differ by half of it."""
    half, strict = (auc(y, s, sample_weight=weight, ties=ties) for ties in ("half", "strict"))
    return 2 * (half - strict)


def every_pair(table):
    return [all_pairs(table), *cross_pairs(table), *(inside(g) for g in range(len(table.groups)))]


def draw(seed):
    """Draw rows of 2 to 8 groups: heavy ties or none, no, whole or other weights; some cells may be empty."""
    rng = np.random.default_rng(seed)
    groups, n = int(rng.integers(2, 9)), int(rng.integers(40, 250))
    g = np.concatenate((np.arange(groups), rng.integers(0, groups, n - groups)))
    y = (rng.random(n) < rng.choice([0.06, 0.3, 0.5])).astype(int)
    y[:2] = 0, 1
    s = np.round(rng.normal(y + 0.3 * g), int(rng.choice([0, 1, 2, 9])))
    known = [
        {},
        {"sample_weight": rng.integers(1, 5, n), "weights": "frequency"},
        {"sample_weight": rng.exponential(size=n) + 0.1, "weights": "importance"},
    ][seed % 3]
    return y, s, g, known


def slow_covariance(y, s, g, w, importance, pairs, ties):
    """Give shares and the covariance of their errors from every row's influence, pair by pair."""
    wins = kernel(s, s, ties)
    values, sides = [], [np.zeros((len(pairs), len(y))) for _ in range(2)]
    for k, (winners, losers) in enumerate(pairs):
        p, n = w * (y == 1) * np.isin(g, winners), w * (y == 0) * np.isin(g, losers)
        x = p @ wins @ n / (p.sum() * n.sum())
        values.append(x)
        for side, own, placed in ((0, p, wins @ n / n.sum()), (1, n, p @ wins / p.sum())):
            units = own.sum() ** 2 / (own**2 if importance else own).sum()
            influence = np.where(own > 0, placed - x, 0) / own.sum()
            sides[side][k] = np.sqrt(units / (units - 1)) * influence * (w if importance else np.sqrt(w))
    return np.array(values), sum(side @ side.T for side in sides)


@pytest.mark.parametrize("seed", range(60))
def test_pairs_and_shares_are_those_counted_otherwise(seed, monkeypatch):
    y, s, g, known = draw(seed)
    table, ties = score_table(y, s, sensitive_features=g, **known), TIES[seed % 2]
    monkeypatch.setattr(merged, "_BLOCK", BLOCKS[seed % len(BLOCKS)])
    found = count_ranking(table, ties)
    assert found.distinct == len(np.unique(s))
    assert found.tied_share == pytest.approx(tied_share(y, s, known.get("sample_weight")), abs=1e-14)
    for how in TIES:
        one, other = found.matrix(how).half_wins, WinMatrix._counted(table, how).half_wins
        np.testing.assert_allclose(one, other, rtol=0 if one.dtype.kind == "i" else 1e-13, atol=0)
    pairs = every_pair(table)
    one, other = shares(found, pairs), estimate_shares(table, pairs, ties)
    np.testing.assert_allclose(one.value, other.value, rtol=0 if seed % 3 < 2 else 1e-14)
    for a, b in zip(one.units, other.units):
        np.testing.assert_allclose(a, b, rtol=1e-13)
    # Where nothing varies, sums of weights may leave round-off to the one, and have none in the other.
    for a, b in zip(one.variance, other.variance):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-28)
        assert (a[b == 0] == 0).all()
    scale = np.sqrt(np.outer(np.diag(other.covariance), np.diag(other.covariance)))
    np.testing.assert_allclose(one.covariance, other.covariance, rtol=1e-11, atol=1e-13 * np.nanmax(scale))


@pytest.mark.parametrize("seed", range(12))
def test_pairs_and_covariances_are_those_of_every_two_rows(seed, monkeypatch):
    y, s, g, known = draw(seed)
    table, ties = score_table(y, s, sensitive_features=g, **known), TIES[seed % 2]
    monkeypatch.setattr(merged, "_BLOCK", 7)
    found, pairs = count_ranking(table, ties), every_pair(table)
    w = known.get("sample_weight", np.ones(len(y)))
    for i, j in itertools.product(range(len(table.groups)), repeat=2):
        p, n = (y == 1) & (g == i), (y == 0) & (g == j)
        np.testing.assert_allclose(found.won[i, j], w[p] @ (s[p][:, None] > s[n]) @ w[n], rtol=1e-13)
        np.testing.assert_allclose(found.tied[i, j], w[p] @ (s[p][:, None] == s[n]) @ w[n], rtol=1e-13)
        if seed % 3 == 0:
            assert found.matrix("half").half_wins[i, j] == oracles.wins(s[p], s[n], half=True)
    kept = [k for k, units in enumerate(np.minimum(*shares(found, pairs).units)) if units > 1.5]
    one = shares(found, [pairs[k] for k in kept])
    value, covariance = slow_covariance(y, s, g, w, seed % 3 == 2, [pairs[k] for k in kept], ties)
    np.testing.assert_allclose(one.value, value, rtol=1e-12)
    np.testing.assert_allclose(one.covariance, covariance, rtol=1e-9, atol=1e-15)


def test_importance_weights_are_those_of_the_pairwise_formula():
    y, s, g, known = draw(5)
    w = known["sample_weight"]
    table = score_table(y, s, sensitive_features=g, **known)
    found = shares(count_ranking(table), [all_pairs(table)])
    expected = weighted(s[y == 1], s[y == 0], w[y == 1], w[y == 0])
    np.testing.assert_allclose(found.covariance[0, 0], expected, rtol=1e-12)


@pytest.mark.parametrize("weights", [None, "frequency", "importance"])
@pytest.mark.parametrize("block", [3, 1 << 16])
def test_what_does_not_vary_has_no_variance_at_all(weights, block, monkeypatch):
    """Limits look at whether a variance is above 0: round-off must not pass for one."""
    monkeypatch.setattr(merged, "_BLOCK", block)
    rng = np.random.default_rng(2)
    y, g = rng.integers(0, 2, 200), rng.integers(0, 3, 200)
    known = {} if weights is None else {"weights": weights}
    if weights is not None:
        known["sample_weight"] = rng.integers(1, 9, 200) if weights == "frequency" else rng.exponential(size=200)
    for apart in (2, -2, 0):
        s = rng.random(200) + apart * y if apart else np.full(200, 0.3)
        table = score_table(y, s, sensitive_features=g, **known)
        found = shares(count_ranking(table), every_pair(table))
        assert (found.covariance == 0).all()
        low, high = found.limits(0.025)
        assert apart == 0 or (high - low > 0.005).all()
    tied = np.where(y == 1, 0.5, rng.random(200))  # the positives alone do not vary
    table = score_table(y, tied, sensitive_features=g, **known)
    found = shares(count_ranking(table), cross_pairs(table))
    assert (found.variance[0] == 0).all()
    assert (found.variance[1] > 0).all()


def test_whole_numbers_stay_exact_beyond_those_of_floats():
    """Pairs beyond 2^53, of which a float would lose the last."""
    counts = [
        GroupCounts(np.array([0.1, 0.2, 0.3]), np.array([0, 100_000_007, 1]), np.array([200_000_033, 3, 0])),
        GroupCounts(np.array([0.15, 0.2]), np.array([1, 300_000_011]), np.array([100_000_037, 9])),
    ]
    found = count_ranking(ScoreTable(("a", "b"), tuple(counts)))
    assert found.won[0, 0] == 100_000_007 * 200_000_033 + 200_000_036
    assert found.won[1, 0] == 300_000_012 * 200_000_033
    assert found.won[0, 1] == 100_000_008 * 100_000_037 + 9
    inside = 100_000_037 + 9 * 300_000_011
    assert found.tied.tolist() == [[3 * 100_000_007, 9 * 100_000_007], [3 * 300_000_011, inside]]


def test_clusters_are_left_to_the_sums_of_clusters(monkeypatch):
    y, s, g, _ = draw(3)
    table = score_table(y, s, sensitive_features=g, clusters=np.arange(len(y)) // 3)
    found, pairs = count_ranking(table), cross_pairs(table)
    one, other = shares(found, pairs), estimate_shares(table, pairs)
    np.testing.assert_array_equal(one.covariance, other.covariance)
    np.testing.assert_array_equal(one.value, other.value)
    np.testing.assert_array_equal(found.matrix().half_wins, WinMatrix._counted(table, "half").half_wins)
    clusters = [len(set(np.flatnonzero((y == 1) & (g == k)) // 3)) for k in table.groups]
    assert table.independent[0].tolist() == clusters
    monkeypatch.setattr(merged, "_MANY", 10)  # of very many rows, values are exact and errors those of merged entries
    rough = shares(found, pairs)
    np.testing.assert_array_equal(rough.value, other.value)
    np.testing.assert_allclose(rough.se, other.se, rtol=1e-3)


def test_very_many_groups_are_counted_without_moments():
    rng = np.random.default_rng(4)
    y, g, s = rng.integers(0, 2, 3000), rng.integers(0, 120, 3000), rng.integers(0, 40, 3000)
    table = score_table(y, s, sensitive_features=g)
    few = count_ranking(table.only(range(5)))
    many = count_ranking(table)
    assert many.cells is None
    np.testing.assert_array_equal(many.won[:5, :5], few.won)
    np.testing.assert_array_equal(many.tied[:5, :5], few.tied)
    assert many.distinct == 40


def test_signed_zeros_are_one_score_and_negative_scores_are_in_order(monkeypatch):
    monkeypatch.setattr(merged, "_BLOCK", 2)
    score = (np.array([-2.0, -0.0, 3.0]), np.array([-5e-324, 0.0, 1e300]))
    counts = tuple(GroupCounts(s, np.array([0, 1, 1]), np.array([1, 1, 0])) for s in score)
    found = count_ranking(ScoreTable(("a", "b"), counts))
    assert found.won.tolist() == [[3, 3], [3, 3]]
    assert found.tied.tolist() == [[1, 1], [1, 1]]
    assert found.distinct == 5


def test_tables_without_entries_or_outcomes():
    nobody = GroupCounts(np.empty(0), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
    table = ScoreTable(("a", "b"), (nobody, nobody))
    found = count_ranking(table)
    assert found.distinct == found.tied_share == 0
    assert np.isnan(shares(found, cross_pairs(table)).value).all()
    rows = GroupCounts(np.array([0.1, 0.2]), np.array([0, 0]), np.array([1, 2]))
    table = ScoreTable(("a", "b"), (rows, nobody))
    assert np.isnan(shares(count_ranking(table), every_pair(table)).covariance).all()


def test_what_was_counted_is_not_counted_again():
    y, s, g, _ = draw(0)
    table, other = (score_table(y, scores, sensitive_features=g) for scores in (s, -s))
    found = count_ranking(table)
    assert WinMatrix.of(table, "strict").half_wins is WinMatrix.of(table, "strict").half_wins
    np.testing.assert_array_equal(WinMatrix.of(table, "strict").half_wins, found.matrix("strict").half_wins)
    np.testing.assert_array_equal(
        WinMatrix.of(other, "strict").half_wins, WinMatrix._counted(other, "strict").half_wins
    )
