"""Folds of a table are disjoint draws that add up to it."""

import numpy as np
import pytest

from fairpot._validation import check_rows
from fairpot.splitting import all_but, split_table
from fairpot.table import ScoreTable


def draw(seed=0, n=300, groups=("a", "b"), weighted=None):
    rng = np.random.default_rng(seed)
    group = rng.choice(groups, n)
    scores = np.round(rng.beta(2, 3, n) * np.where(group == groups[0], 1.0, 0.8), 2)
    y = (rng.random(n) < scores).astype(int)
    weight = {None: None, "whole": rng.integers(0, 4, n), "broken": rng.random(n) + 0.1}[weighted]
    return ScoreTable.from_rows(*check_rows(scores, y, group, weight))


def same(one, other, tolerance=0.0):
    assert one.groups == other.groups
    assert one.labelled == other.labelled
    for mine, theirs in zip(one.counts, other.counts):
        np.testing.assert_array_equal(mine.score, theirs.score)
        np.testing.assert_allclose(mine.positive, theirs.positive, rtol=tolerance, atol=0)
        np.testing.assert_allclose(mine.negative, theirs.negative, rtol=tolerance, atol=0)


@pytest.mark.parametrize("random_state", [None, 0, np.random.RandomState(3), np.random.default_rng(3)])
@pytest.mark.parametrize("weighted", [None, "whole", "broken"])
@pytest.mark.parametrize("n_splits", [2, 5])
def test_folds_add_up_to_the_table(n_splits, weighted, random_state):
    table = draw(weighted=weighted, groups=("a", "b", "c"))
    folds = split_table(table, n_splits, random_state)
    assert len(folds) == n_splits
    for k, fold in enumerate(folds):
        assert fold.groups == table.groups
        same(fold.merge(all_but(folds, k)), table, tolerance=1e-15)


@pytest.mark.parametrize("random_state", [None, 0])
@pytest.mark.parametrize("weighted", [None, "whole"])
def test_every_group_and_outcome_is_dealt_evenly(weighted, random_state):
    table = draw(weighted=weighted)
    folds = split_table(table, 4, random_state)
    for outcome in ("positives", "negatives"):
        sizes = np.array([getattr(fold, outcome) for fold in folds])
        assert (np.ptp(sizes, axis=0) <= 1).all()
        np.testing.assert_array_equal(sizes.sum(axis=0), getattr(table, outcome))


def test_entries_of_fractional_weight_go_to_one_fold_each():
    table = draw(weighted="broken")
    folds = split_table(table, 3, 0)
    for place, whole in enumerate(table.counts):
        for name in ("positive", "negative"):
            found = {s: [] for s in whole.score}
            for fold in folds:
                part = fold.counts[place]
                for score, weight in zip(part.score, getattr(part, name)):
                    found[score] += [weight] if weight else []
            for score, weight in zip(whole.score, getattr(whole, name)):
                assert found[score] == ([weight] if weight else [])


def test_without_chance_every_fold_has_low_and_high_scores():
    scores = np.arange(60.0)
    table = ScoreTable.from_rows(scores, np.ones(60, dtype=np.int8))
    folds = split_table(table, 3)
    for k, fold in enumerate(folds):
        np.testing.assert_array_equal(fold.counts[0].score, scores[k::3])


def test_a_seed_gives_the_same_folds_and_another_one_others():
    table = draw()
    for first, second in zip(split_table(table, 3, 7), split_table(table, 3, 7)):
        same(first, second)
    one, other = split_table(table, 3, 7)[0], split_table(table, 3, 8)[0]
    assert any(a.positive.tolist() != b.positive.tolist() for a, b in zip(one.counts, other.counts))


def test_shuffled_folds_are_draws_without_replacement():
    """The number of a fold's rows at a score is hypergeometric: its mean and variance over many draws."""
    n, here, n_splits = 40, 10, 4
    table = ScoreTable.from_rows(np.r_[np.zeros(here), np.ones(n - here)], np.ones(n, dtype=np.int8))
    generator = np.random.default_rng(0)
    drawn = np.array(
        [
            [int(f.counts[0].weight[f.counts[0].score == 0].sum()) for f in split_table(table, n_splits, generator)]
            for _ in range(2000)
        ]
    )
    size, share = n // n_splits, here / n
    variance = size * share * (1 - share) * (n - size) / (n - 1)
    for fold in range(n_splits):
        assert abs(drawn[:, fold].mean() - size * share) < 4 * np.sqrt(variance / 2000)
        assert drawn[:, fold].var() == pytest.approx(variance, rel=0.15)
    assert (drawn.sum(axis=1) == here).all()
