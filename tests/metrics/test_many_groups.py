"""Many groups are counted in one pass: the same numbers as two groups at a time."""

import itertools

import numpy as np
import pytest

from fairpot.metrics import xauc_gap
from fairpot.metrics.wins import FEW_GROUPS, WinMatrix, cross_half_wins, inner_half_wins, many_half_wins
from fairpot.repair.groups import ranked_first
from fairpot.table import ScoreTable


def table_of(seed, groups, rows, values, weight=None):
    rng = np.random.default_rng(seed)
    codes = np.r_[np.arange(groups).repeat(2), rng.integers(0, groups, rows)]
    y = np.r_[np.tile([0, 1], groups), rng.integers(0, 2, rows)].astype(np.int8)
    scores = rng.integers(0, values, len(y)) / values
    drawn = {None: None, "whole": rng.integers(1, 5, len(y)), "broken": rng.random(len(y))}[weight]
    return ScoreTable.from_rows(scores, y, codes, range(groups), drawn)


@pytest.mark.parametrize("ties", ["strict", "half"])
@pytest.mark.parametrize("weight", [None, "whole", "broken"])
@pytest.mark.parametrize(("groups", "rows", "values"), [(2, 30, 5), (40, 900, 12), (60, 400, 10**6), (700, 3000, 90)])
def test_one_pass_equals_two_groups_at_a_time(ties, weight, groups, rows, values):
    table = table_of(groups, groups, rows, values, weight)
    got = many_half_wins(table.counts, half=ties == "half")
    some = np.random.default_rng(0).permutation(groups)[:40]
    for g, h in itertools.product(some, some):
        one, other = table.counts[g], table.counts[h]
        expected = inner_half_wins(one, ties) if g == h else cross_half_wins(one, other, ties)[0]
        if weight == "broken":
            assert got[g, h] == pytest.approx(expected, rel=1e-12)
        else:
            assert got[g, h] == expected


def test_blocks_of_scores_join(monkeypatch):
    table = table_of(3, 20, 500, 10**6)
    whole = many_half_wins(table.counts, half=True)
    monkeypatch.setattr("fairpot.metrics.wins._CELLS", 140)
    np.testing.assert_array_equal(many_half_wins(table.counts, half=True), whole)


def test_the_matrix_takes_either_way():
    table = table_of(5, FEW_GROUPS + 1, 2000, 50)
    fewer = ScoreTable(table.groups[:-1], table.counts[:-1])
    for ties in ("strict", "half"):
        many, few = WinMatrix.of(table, ties), WinMatrix.of(fewer, ties)
        np.testing.assert_array_equal(many.half_wins[:-1, :-1], few.half_wins)
    assert ranked_first(table, "half") in table.groups


def test_as_many_groups_as_rows_may_have():
    rng = np.random.default_rng(0)
    n, most = 20_000, 250
    g = np.r_[np.arange(most).repeat(2), rng.integers(0, most, n)]
    y, s = np.r_[np.tile([0, 1], most), rng.integers(0, 2, n)], rng.random(len(g)).round(3)
    assert 0 < xauc_gap(y, s, sensitive_features=g, ties="half") <= 1
    weight = rng.integers(1, 3, len(g)).astype(float) / 4
    assert 0 < xauc_gap(y, s, sensitive_features=g, sample_weight=weight, ties="half") <= 1


def test_groups_without_scores():
    table = table_of(1, 20, 100, 9).top(0.05)
    got = many_half_wins(table.counts, half=False)
    assert got[[len(c.score) == 0 for c in table.counts]].sum() == 0
    empty = ScoreTable(table.groups, tuple(c.above(2.0) for c in table.counts))
    assert many_half_wins(empty.counts, half=True).sum() == 0
