"""Rows without an outcome: Mann and Whitney's share beside SciPy, and bounds beside all outcomes there could be."""

import itertools

import numpy as np
import pytest
from scipy import stats

from fairpot import score_table
from fairpot.inference import missing_outcomes
from fairpot.inference.missing_outcomes import bounds_with_all, scores_without


def tables(y, s, g, known, **weights):
    told = {name: value[known] for name, value in weights.items()}
    untold = {name: value[~known] for name, value in weights.items()}
    table = score_table(y[known], s[known], sensitive_features=g[known], **told)
    return table, score_table(None, s[~known], sensitive_features=g[~known], **untold)


def test_the_share_of_higher_scores_is_that_of_mann_and_whitney():
    rng = np.random.default_rng(0)
    s, g, y = rng.normal(size=900).round(1), rng.choice([*"ab"], 900), rng.integers(0, 2, 900)
    known = rng.random(900) < np.where((s > 0.5) & (g == "a"), 0.4, 0.8)
    found = {each.group: each for each in scores_without(*tables(y, s, g, known))}
    for group in "ab":
        own = g == group
        one, other = s[own & ~known], s[own & known]
        assert found[group].rows == len(one)
        assert found[group].higher == pytest.approx(stats.mannwhitneyu(one, other).statistic / (len(one) * len(other)))
    assert found["a"].higher.low > 0.5
    assert found["b"].higher.low < 0.5 < found["b"].higher.high


def test_the_interval_holds_for_all_groups_where_missing_is_by_chance():
    rng, wrong = np.random.default_rng(1), 0
    for _ in range(200):
        s, g, y = rng.normal(size=300), rng.choice([*"abc"], 300), rng.integers(0, 2, 300)
        found = scores_without(*tables(y, s, g, rng.random(300) < 0.7))
        wrong += any(each.higher.low > 0.5 or each.higher.high < 0.5 for each in found)
    assert wrong <= 0.05 * 200 + 3 * np.sqrt(200 * 0.05 * 0.95)


def test_weights_weigh_the_share_and_a_constant_changes_nothing():
    rng = np.random.default_rng(2)
    s, g, y, w = rng.normal(size=400), rng.choice([*"ab"], 400), rng.integers(0, 2, 400), rng.random(400)
    known = rng.random(400) < 0.6
    one, other = (scores_without(*tables(y, s, g, known, sample_weight=w * factor))[0].higher for factor in (1, 1000))
    np.testing.assert_allclose([one, one.low, one.high], [other, other.low, other.high], rtol=1e-9)


def gap(y, s, g, ties):
    sides = [(s[(g == x) & (y == 1)], s[(g == x) & (y == 0)]) for x in "ab"]
    equal = 0.5 if ties == "half" else 0.0

    def share(up, down):
        return np.mean((up[:, None] > down) + equal * (up[:, None] == down)) if len(up) and len(down) else np.nan

    return share(sides[0][0], sides[1][1]), share(sides[1][0], sides[0][1])


@pytest.mark.parametrize("ties", ["half", "strict"])
@pytest.mark.parametrize("seed", range(8))
def test_bounds_hold_for_every_outcome_that_there_could_be_and_each_share_reaches_its_own(ties, seed):
    rng = np.random.default_rng(seed)
    n, gone = 16, 7
    s, g, y = rng.integers(0, 6, n).astype(float), rng.choice([*"ab"], n), rng.integers(0, 2, n)
    g[:8], y[:8] = [*"aabbaabb"], [0, 1] * 4
    known = np.arange(n) < n - gone
    table, unlabelled = tables(y, s, g, known)
    every = []
    for told in itertools.product((0, 1), repeat=gone):
        every.append(gap(np.append(y[known], told), s, g, ties))
    ab, ba = np.array(every).T
    without = tuple(unlabelled[x] if x in unlabelled.groups else None for x in "ab")
    low, high = bounds_with_all(table["a"], table["b"], without, ties)
    assert low <= np.nanmin(ab - ba) + 1e-12
    assert high >= np.nanmax(ab - ba) - 1e-12
    assert high == pytest.approx(min(np.nanmax(ab) - np.nanmin(ba), 1))
    assert low == pytest.approx(max(np.nanmin(ab) - np.nanmax(ba), -1))


def test_bins_make_bounds_wider_and_nothing_missing_leaves_the_gap(monkeypatch):
    rng = np.random.default_rng(3)
    s, g, y = rng.normal(size=600), rng.choice([*"ab"], 600), rng.integers(0, 2, 600)
    table, unlabelled = tables(y, s, g, rng.random(600) < 0.7)
    counts = table["a"], table["b"]
    low, high = bounds_with_all(*counts, (unlabelled["a"], unlabelled["b"]))
    monkeypatch.setattr(missing_outcomes, "_MOST_BINS", 12)
    wide_low, wide_high = bounds_with_all(*counts, (unlabelled["a"], unlabelled["b"]))
    assert -1 <= wide_low <= low < high <= wide_high <= 1
    assert high - low > 0.2
    measured = np.subtract(*gap(*_rows(table), "half"))
    np.testing.assert_allclose(bounds_with_all(*counts, (None, None)), measured, atol=1e-12)


def _rows(table):
    parts = [
        (side, score, group)
        for group in table.groups
        for side, column in ((1, table[group].positive), (0, table[group].negative))
        for score, n in zip(table[group].score, column)
        for _ in range(int(n))
    ]
    y, s, g = zip(*parts)
    return np.array(y), np.array(s), np.array(g)
