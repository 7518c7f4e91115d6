"""What makes numbers doubtful: where the line is drawn, and against plain counts."""

import warnings

import numpy as np
import pytest

import oracles
from fairpot import FairPOT, score_table
from fairpot._validation import check_rows
from fairpot.counts import GroupCounts
from fairpot.exceptions import SmallGroupWarning
from fairpot.metrics.cells import carrying_groups, hard_predictions, reversed_score, small_cells
from fairpot.repair.registry import methods
from fairpot.results.audit import audit_table
from fairpot.table import ScoreTable


def cells(positives, negatives):
    """A group with 100 of each outcome, and one with as many as are asked for."""
    sizes = [(100, 100), (positives, negatives)]
    y = np.concatenate([np.repeat([1, 0], size) for size in sizes])
    group = np.repeat(["large", "small"], [sum(size) for size in sizes])
    scores = np.random.default_rng(0).random(len(y)) + y
    return scores, y, group


@pytest.mark.parametrize(("count", "small"), [(1, True), (29, True), (30, False), (31, False)])
@pytest.mark.parametrize("what", ["positives", "negatives"])
def test_thirty_rows_of_an_outcome_are_enough(what, count, small):
    rows = cells(*((count, 100) if what == "positives" else (100, count)))
    few = f"{'row' if count == 1 else 'rows'} {'with' if what == 'positives' else 'without'} the outcome"
    message = f"small has only {count} {few} (under 30). Do not act on numbers that depend on them."
    table = ScoreTable.from_rows(*check_rows(*rows))
    assert [note.text for note in small_cells(table)] == ([message] if small else [])
    assert (message in audit_table(table).warnings) == small
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        FairPOT(0.4).fit(rows[0], rows[1], sensitive_features=rows[2])
    told = [str(w.message) for w in caught if issubclass(w.category, SmallGroupWarning)]
    assert told == ([message] if small else [])


def test_weights_are_counted_not_rows():
    scores, y, group = cells(10, 50)
    table = ScoreTable.from_rows(*check_rows(scores, y, group, np.where(group == "small", 3, 1)))
    assert small_cells(table) == []
    lighter = ScoreTable.from_rows(*check_rows(scores, y, group, np.where(group == "small", 2.95, 1)))
    assert "only 29.5 rows with the outcome" in small_cells(lighter)[0].text


def test_empty_cells_cannot_be_measured():
    scores, y, group = cells(0, 40)
    table = ScoreTable.from_rows(*check_rows(scores, y, group))
    [note] = small_cells(table, 0.2)
    assert (note.group, note.value, note.other) == ("small", 0, 40)
    assert note.text == "small has no rows with the outcome in the top 20%: what depends on them cannot be measured."


def test_scores_that_rank_the_wrong_way_round():
    def told(positive, negative):
        scores = np.arange(len(positive)) / 10
        return reversed_score(ScoreTable(("all",), (GroupCounts(scores, np.array(positive), np.array(negative)),)))

    assert told([0, 1], [1, 0]) is None
    assert told([1, 1], [1, 1]) is None  # 0.5 is no worse than chance
    assert told([2, 1], [1, 2]).text.startswith("AUC is 0.3333, below 0.5")
    assert told([1, 1], [0, 0]) is None


def test_scores_that_look_like_predictions():
    def told(*scores):
        return hard_predictions(ScoreTable.from_rows(np.array(scores), np.ones(len(scores), dtype=np.int8)))

    assert "two values only, 0 and 1" in told(0.0, 1.0, 1.0).text
    assert "All scores are 0.5" in told(0.5, 0.5).text
    assert told(0.0, 0.5, 1.0) is None


def six_districts(tiny: int = 22):
    """Rows of six districts; the smallest is far ahead of all, and 'c' of those that are large."""
    rng = np.random.default_rng(31)
    sizes = {"a": 700, "b": 400, "c": 300, "d": 260, "e": 45, "f": tiny}
    lead = {"a": 0.0, "b": 0.2, "c": 0.7, "d": 0.1, "e": 1.0, "f": 3.0}
    group = np.repeat(list(sizes), list(sizes.values()))
    y = (rng.random(len(group)) < 0.4).astype(int)
    score = rng.normal(y + np.array([lead[g] for g in group]))
    return score, y, group


def test_small_groups_carry_nothing_beside_large_ones():
    score, y, group = six_districts()
    assert carrying_groups(score_table(y, score, sensitive_features=group)) == ("a", "b", "c", "d")
    few = group >= "e"
    all_small = score_table(y[few], score[few], sensitive_features=group[few])
    assert carrying_groups(all_small) == ("e", "f")


def test_rows_of_few_patients_and_of_uneven_weight_are_few():
    score, y, group = six_districts(300)
    assert "f" in carrying_groups(score_table(y, score, sensitive_features=group))
    patient = np.where(group == "f", np.arange(len(y)) % 20, np.arange(len(y)))
    assert "f" not in carrying_groups(score_table(y, score, sensitive_features=group, clusters=patient))
    weight = np.where(group == "f", 10.0 ** (np.arange(len(y)) % 60 / 10), 1.0)
    weighed = score_table(y, score, sensitive_features=group, sample_weight=weight, weights="importance")
    assert "f" not in carrying_groups(weighed)


@pytest.mark.parametrize("method", methods().values(), ids=list(methods()))
def test_nobody_is_moved_towards_a_handful(method):
    score, y, group = six_districts()
    score = 1 / (1 + np.exp(-score))  # which every method takes
    with pytest.warns(
        SmallGroupWarning, match=r"f has only \d+ rows with the outcome(.|\n)*Hint: min_group=... leaves small groups"
    ):
        repair = method().fit(score, y, sensitive_features=group)
    large = [g for g in "abcd" if (group == g).any()]
    won = {(g, h): oracles.xauc(y, score, group, g, h, half=True) for g in large for h in large if g != h}
    lead = {g: sum(won[g, h] - won[h, g] for h in large if h != g) for g in large}
    ahead = max(lead, key=lead.__getitem__)
    assert ahead == "c"
    assert repair.reference_ in (ahead, None)


def test_a_small_reference_may_be_named_and_is_taken_where_all_are_small():
    score, y, group = six_districts()
    with pytest.warns(SmallGroupWarning):
        assert FairPOT(1.0, reference="f").fit(score, y, sensitive_features=group).reference_ == "f"
    few = group >= "e"
    with pytest.warns(SmallGroupWarning) as told:
        assert FairPOT(1.0).fit(score[few], y[few], sensitive_features=group[few]).reference_ == "f"
    assert not any("min_group" in str(each.message) for each in told)


def test_few_negatives_at_the_top_make_no_group_small():
    """The group that is ahead has many positives and few negatives at the top: it is the reference all the same."""
    rng = np.random.default_rng(4)
    group = rng.choice(["a", "b"], 1500, p=[0.2, 0.8])
    y = (rng.random(1500) < np.where(group == "a", 0.8, 0.4)).astype(int)
    score = rng.normal(y + 0.7 * (group == "a"))
    fitted = FairPOT(0.5, top=0.3, repair="top").fit(score, y, sensitive_features=group)
    top = score_table(y, score, sensitive_features=group).top(0.3, "all")
    assert carrying_groups(top) == ("b",)
    assert fitted.reference_ == "a"
