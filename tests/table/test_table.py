import math
from collections import Counter

import numpy as np
import pytest

import oracles
from fairpot.counts import GroupCounts
from fairpot.metrics.wins import WinMatrix
from fairpot.results.calibration import calibrations
from fairpot.table import ScoreTable


def random_rows(rng, n=60, groups=3, values=9):
    scores = rng.integers(0, values, n) / 8 - 0.5
    return scores, rng.integers(0, 2, n).astype(np.int8), rng.integers(0, groups, n)


def as_counter(counts):
    rows = zip(counts.score.tolist(), counts.positive.tolist(), counts.negative.tolist())
    return {s: (p, n) for s, p, n in rows}


SHAPES = {
    "ties": lambda rng, n: rng.integers(0, 9, n) / 8,
    "probabilities": lambda rng, n: rng.random(n),
    "log-odds": lambda rng, n: rng.normal(size=n) * 10,
    "all negative": lambda rng, n: -rng.random(n),
    "signed zeros": lambda rng, n: rng.choice([-0.0, 0.0, 1.0, -1.0], n),
    "denormal": lambda rng, n: rng.integers(-3, 4, n) * 5e-324,
    "huge": lambda rng, n: rng.integers(-3, 4, n) * 1e299,
}


@pytest.mark.parametrize("shape", SHAPES)
def test_counts_equal_a_plain_count(shape):
    rng = np.random.default_rng(0)
    for n in (1, 2, 7, 300):
        scores, labels = SHAPES[shape](rng, n), rng.integers(0, 2, n).astype(np.int8)
        counts = GroupCounts.from_rows(scores, labels)
        plain = Counter(zip((scores + 0.0).tolist(), labels.tolist()))
        assert counts.score.tolist() == sorted({s for s, _ in plain})
        assert as_counter(counts) == {s: (plain[s, 1], plain[s, 0]) for s in counts.score.tolist()}
        assert counts.positive.dtype == counts.negative.dtype == np.int64


def test_groups_and_row_order():
    rng = np.random.default_rng(1)
    scores, labels, codes = random_rows(rng)
    table = ScoreTable.from_rows(scores, labels, codes, ("x", "y", "z"))
    order = rng.permutation(len(scores))
    again = ScoreTable.from_rows(scores[order], labels[order], codes[order], ("x", "y", "z"))
    for g, group in enumerate(table.groups):
        own = GroupCounts.from_rows(scores[codes == g], labels[codes == g])
        assert as_counter(table[group]) == as_counter(own) == as_counter(again[group])


@pytest.mark.parametrize("fractional", [False, True])
def test_weights(fractional):
    rng = np.random.default_rng(2)
    scores, labels, _ = random_rows(rng)
    weight = rng.choice(rng.random(7), 60) if fractional else rng.integers(0, 4, 60)
    counts = GroupCounts.from_rows(scores, labels, weight)
    order = rng.permutation(60)
    shuffled = GroupCounts.from_rows(scores[order], labels[order], weight[order])
    assert as_counter(counts) == as_counter(shuffled)  # to the bit, whatever the row order
    if not fractional:
        repeated = GroupCounts.from_rows(np.repeat(scores, weight), np.repeat(labels, weight))
        assert as_counter(counts) == as_counter(repeated)
    else:
        assert counts.weight.sum() == pytest.approx(weight.sum(), abs=1e-12)


def test_all_groups_as_one_keep_the_squares_of_weights():
    """What rows of several groups have by chance depends on them: a quarter of it is lost without."""
    rng = np.random.default_rng(8)
    scores, _, codes = random_rows(rng, n=900)
    scores, weight = (scores + 0.6) / 1.2, rng.exponential(size=900)
    drawn = []
    for _ in range(300):
        labels = (rng.random(900) < scores).astype(np.int8)
        table = ScoreTable.from_rows(scores, labels, codes, "xyz", weight, square=weight**2)
        drawn.append(calibrations(table)[1])
    mean = np.mean([each.expected_calibration_error for each in drawn])
    assert drawn[0].error_by_chance == pytest.approx(mean, rel=0.06)
    alone = ScoreTable.from_rows(scores, labels, weight=weight, square=weight**2).counts[0]
    np.testing.assert_allclose(table.pooled().squares, alone.squares)
    assert ScoreTable.from_rows(scores, labels, codes, "xyz").pooled().squares is None


def test_without_labels():
    table = ScoreTable.from_rows(np.array([0.2, 0.2, 0.1]), None)
    assert not table.labelled
    assert table.counts[0].weight.tolist() == [1, 2]


@pytest.mark.parametrize("top_of", ["all", "group"])
def test_top_region_equals_rows(top_of):
    rng = np.random.default_rng(3)
    for _ in range(50):
        scores, labels, codes = random_rows(rng, n=31, groups=2)
        table = ScoreTable.from_rows(scores, labels, codes, (0, 1))
        for top in (0.01, 0.1, 0.3, 0.5, 1.0):
            keep = oracles.top_rows(scores, top, codes if top_of == "group" else None)
            cut = table.top(top, top_of)
            for g in (0, 1):
                rows = keep & (codes == g)
                assert cut[g].weight.sum() == rows.sum()
                assert set(cut[g].score) == set(scores[rows])


def test_merge_equals_counting_together():
    rng = np.random.default_rng(4)
    scores, labels, codes = random_rows(rng)
    names = ("x", "y", "z")
    whole = ScoreTable.from_rows(scores, labels, codes, names)
    first = ScoreTable.from_rows(scores[:25], labels[:25], codes[:25], names)
    second = ScoreTable.from_rows(scores[25:], labels[25:], codes[25:], names)
    merged = first.merge(second)
    for group in names:
        assert as_counter(merged[group]) == as_counter(whole[group])
    only = ScoreTable.from_rows(scores, labels, None, ("other",))
    assert whole.merge(only).groups == ("x", "y", "z", "other")
    with pytest.raises(ValueError, match="without cannot be merged"):
        whole.merge(ScoreTable.from_rows(scores, None))


def test_rescored_adds_up_equals():
    counts = GroupCounts.from_rows(np.array([0.1, 0.2, 0.3]), np.array([1, 0, 1], dtype=np.int8))
    same = counts.rescored(np.array([0.9, 0.9, 0.1]))
    assert as_counter(same) == {0.1: (1, 0), 0.9: (1, 1)}


@pytest.mark.parametrize("bins", [1, 2, 7, 50, 200, 10_000])
def test_quantise(bins):
    """Only pairs inside a bin change, and few of them; with as many bins as scores nothing does."""
    rng = np.random.default_rng(5)
    n = 2000
    labels, codes = rng.integers(0, 2, n).astype(np.int8), rng.integers(0, 2, n)
    scores = np.round(rng.random(n) + 0.2 * labels - 0.1 * codes, 3)
    table = ScoreTable.from_rows(scores, labels, codes, ("a", "b"))
    small = table.quantise(bins)
    assert len(small.pooled().score) <= bins
    assert small.pooled().weight.sum() == n
    for ties in ("strict", "half"):
        before, after = WinMatrix.of(table, ties), WinMatrix.of(small, ties)
        assert abs(before.auc() - after.auc()) <= 1 / bins
        assert (np.abs(before.xauc() - after.xauc()) <= 2 / bins).all()
    if bins == 10_000:
        assert small is table
    with pytest.raises(ValueError, match="bins"):
        table.quantise(0)


def test_counts_of_pairs_beyond_int64():
    """Four billion rows on both sides: pairs no longer fit int64, and the metrics still stand."""
    counts = GroupCounts(np.array([0.1, 0.2]), np.array([1, 3]) * 10**9, np.array([3, 1]) * 10**9)
    small = GroupCounts(np.array([0.1, 0.2]), np.array([1, 3]), np.array([3, 1]))
    big = WinMatrix.of(ScoreTable(("all",), (counts,)))
    assert big.auc() == WinMatrix.of(ScoreTable(("all",), (small,))).auc()


def test_tables_refuse_what_they_cannot_count():
    table = ScoreTable.from_rows([0.1, 0.2], [0, 1])  # lists are fine
    assert as_counter(table["all"]) == {0.1: (0, 1), 0.2: (1, 0)}
    for top in (0, 1.5, np.nan, -1):
        with pytest.raises(ValueError, match="top"):
            table.top(top)
    with pytest.raises(ValueError, match="top_of"):
        table.top(0.5, "x")
    with pytest.raises(ValueError, match="bins"):
        table.quantise(1.5)
    with pytest.raises(KeyError, match="no group 'X'"):
        table["X"]


@pytest.mark.parametrize("top_of", ["all", "group"])
def test_the_top_of_everybody_is_everybody(top_of):
    scores, weight = np.array([0.1, 0.2, 0.3, 0.05]), np.array([1e-20, 1.0, 1.0, 1e-30])
    table = ScoreTable.from_rows(scores, np.array([0, 1, 0, 1], dtype=np.int8), np.array([0, 0, 1, 1]), "ab", weight)
    whole = table.top(1.0, top_of)
    assert [c.score.tolist() for c in whole.counts] == [c.score.tolist() for c in table.counts]


def test_many_groups_are_split_like_few():
    rng = np.random.default_rng(7)
    n, groups = 2000, 50
    labels, codes, scores = rng.integers(0, 2, n).astype(np.int8), rng.integers(0, groups, n), rng.integers(0, 9, n)
    for weight in (None, rng.random(n)):
        table = ScoreTable.from_rows(scores, labels, codes, range(groups), weight)
        for g in range(groups):
            own = codes == g
            alone = ScoreTable.from_rows(scores[own], labels[own], weight=None if weight is None else weight[own])
            assert as_counter(table[g]) == as_counter(alone["all"])


@pytest.mark.parametrize("n", [1, 3, 10, 25, 100, 300, 700, 1000])
def test_the_top_alpha_has_exactly_the_ceiling_of_rows(n):
    """0.07 of 100 rows are 7, though 0.07 * 100 is a hair above: pooled, by group, counted and weighted."""
    scores = np.arange(n) / 8
    table = ScoreTable.from_rows(np.tile(scores, 2), None, np.repeat([0, 1], n), ("a", "b"))
    weighted = ScoreTable.from_rows(scores, None, weight=np.full(n, 0.25))
    for hundredths in range(1, 101):
        top, share = hundredths / 100, f"{hundredths}e-2"
        wanted = oracles.ceil_share(share, n)
        assert table.thresholds(top, "group") == dict.fromkeys("ab", scores[-wanted])
        pooled = scores[-math.ceil(oracles.ceil_share(share, 2 * n) / 2)]
        assert table.thresholds(top) == dict.fromkeys("ab", pooled)
        assert weighted.thresholds(top) == {"all": scores[-wanted]}
        assert table.top(top, "group").counts[0].weight.sum() == wanted
