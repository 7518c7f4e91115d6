"""Counts from the table against counts over rows."""

import numpy as np
import pytest
from sklearn.calibration import calibration_curve

from display_cases import make_rows
from fairpot import FairnessReport, FairPOT, score_table
from fairpot.report.people import Mapped, above, crossings, marks, reliability, top_scores
from fairpot.results.rates import moves
from rows_cases import draw

MAPS = {"F": lambda s: np.where(s > 0.4, s + 0.1, s * 0.9), "M": lambda s: s}


@pytest.fixture(scope="module")
def cases():
    scores, y, group = make_rows(700, seed=3)
    table = score_table(y, scores, sensitive_features=group)
    after = np.where(group == "F", MAPS["F"](scores), scores)
    return scores, y, group, after, table


def cells(y, group):
    for g, name in enumerate(("F", "M")):
        for k, outcome in enumerate((1, 0)):
            yield g, k, (group == name) & (y == outcome)


def test_moves(cases):
    scores, _, group, after, table = cases
    for name, found in zip(("F", "M"), moves(table, MAPS)):
        shift = (after - scores)[group == name]
        assert found.rows == (group == name).sum()
        assert found.moved == (shift != 0).sum()
        assert (found.up, found.down) == ((shift > 0).sum(), (shift < 0).sum())
        assert found.mean_shift == pytest.approx(shift[shift != 0].mean() if (shift != 0).any() else 0.0)
        assert found.largest_shift == pytest.approx(np.abs(shift).max())


def test_thresholds(cases):
    scores, y, group, after, table = cases
    at = np.array([0.1, 0.36, 0.44, 0.5, 0.9])
    up, down = crossings(Mapped.of(table, MAPS), at, at)
    before = above(table, at)
    for g, k, own in cells(y, group):
        for i, t in enumerate(at):
            assert before.rows[i, g, k] == (scores[own] >= t).sum()
            assert up.rows[i, g, k] == ((scores[own] < t) & (after[own] >= t)).sum()
            assert down.rows[i, g, k] == ((scores[own] >= t) & (after[own] < t)).sum()
    assert up.rows.sum() > 0
    assert down.rows.sum() > 0


def test_top_shares(cases):
    scores, y, group, after, table = cases
    alphas = (0.5, 0.2, 0.05)
    mapped = Mapped.of(table, MAPS)
    was, now = top_scores(table.pooled(), alphas), top_scores(mapped.ranking, alphas)
    assert was.tolist() == [table.thresholds(a)["F"] for a in alphas]
    assert now.tolist() == [table.rescored(MAPS).thresholds(a)["F"] for a in alphas]
    up, down = crossings(mapped, was, now)
    for g, k, own in cells(y, group):
        for i in range(3):
            assert up.rows[i, g, k] == ((scores[own] < was[i]) & (after[own] >= now[i])).sum()
            assert down.rows[i, g, k] == ((scores[own] >= was[i]) & (after[own] < now[i])).sum()
    assert down.rows[:, 1].sum() > 0  # those who stay are passed


def test_weights_are_added_up_and_rows_are_counted():
    scores, y, group = make_rows(60, seed=1)
    weight = np.arange(60) % 3 + 0.5
    table = score_table(y, scores, sensitive_features=group, sample_weight=weight)
    at = np.array([0.4, 0.6])
    up, _ = crossings(Mapped.of(table, MAPS), at, at)
    own = (group == "F") & (y == 1)
    expected = [weight[own & (scores < t) & (MAPS["F"](scores) >= t)].sum() for t in at]
    assert up.weight[:, 0, 0] == pytest.approx(expected)
    assert up.rows[:, 0, 0].tolist() == [(own & (scores < t) & (MAPS["F"](scores) >= t)).sum() for t in at]


@pytest.mark.parametrize("few", [0, 1, 9, 40])
def test_every_row_of_a_small_group_has_its_mark(few):
    y = np.r_[np.ones(few, dtype=int), np.zeros(40 - few, dtype=int)]
    found = marks(score_table(y, np.arange(40.0)).counts[0], 30)
    assert found.rows == 1
    assert sorted(found.entry[found.positive]) == list(range(few))
    assert sorted(found.entry[~found.positive]) == list(range(few, 40))


@pytest.mark.parametrize("few", [0, 1, 9, 900])
def test_few_cases_of_a_large_group_have_one_mark_and_nobody_has_none(few):
    y = np.r_[np.ones(few, dtype=int), np.zeros(900 - few, dtype=int)]
    found = marks(score_table(y, np.arange(900.0)).counts[0], 30)
    assert int(found.positive.sum()) == (30 if few == 900 else min(few, 1))
    assert int((~found.positive).sum()) == round((900 - few) / 30)
    assert set(found.entry[found.positive]) <= set(range(few))  # those drawn are among them


def test_the_queue_has_the_places_that_rows_have():
    """Every mark stands where a row of its rank stands in the sorted list, before and after."""
    score, y, sex = draw(400, digits=6)
    fp = FairPOT(1.0).fit(score, y, sensitive_features=sex)
    after = fp.transform(score, sensitive_features=sex)
    found = FairnessReport(fp.table_, fp)._measured
    first, last = (found.pictures[place].queue for place in (0, found.dial.chosen))
    for group, positive, before, later in zip(found.table.groups, (m.positive for m in found.marks), first, last):
        own = np.flatnonzero(sex == group)
        for has, outcome in ((True, 1), (False, 0)):
            rows = own[y[own] == outcome]
            rows = rows[np.argsort(-score[rows], kind="stable")]
            size = int((positive == has).sum())
            shown = rows[((np.arange(size) + 0.5) * len(rows) / size).astype(int)]
            for values, places in ((score, before), (after, later)):
                higher = np.array([(values > values[row]).mean() for row in shown])
                tied = np.array([(values == values[row]).mean() for row in shown])
                drawn = places[positive == has]
                assert (drawn >= higher - 1e-12).all()
                assert (drawn <= higher + tied + 1e-12).all()


def test_calibration_equals_scikit_learn():
    scores, y, _ = make_rows(600, seed=2)
    scores = np.clip(scores + np.random.default_rng(0).random(600) * 1e-6, 0, 1)  # no ties: the bins are the same then
    rate, mean = calibration_curve(y, scores, n_bins=10, strategy="quantile")
    found = reliability(score_table(y, scores).counts[0], 10)
    np.testing.assert_allclose(found["rate"], rate)
    np.testing.assert_allclose(found["mean_score"], mean)
    assert (found["rate_low"] < rate).all()
    assert (found["rate_high"] > rate).all()
