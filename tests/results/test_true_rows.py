"""Rows are counted as rows wherever a number of them stands, whatever they weigh."""

import json

import numpy as np
import pandas as pd
import pytest

import fairpot
from fairpot import audit, score_table
from fairpot.report.people import marks
from fairpot.rows import RowSource, count_rows
from fairpot.words import Note, written

pytestmark = pytest.mark.filterwarnings("ignore::fairpot.exceptions.SmallGroupWarning")


def rows_of(seed=3, n=600):
    """Rows of three groups, one with few, in clusters of about three; a sixth of the weights is 0."""
    rng = np.random.default_rng(seed)
    group = rng.choice(["p", "q", "z"], n, p=[0.5, 0.46, 0.04])
    y = (rng.random(n) < 0.35).astype(int)
    score = np.round(rng.normal(y + 0.4 * (group == "p")), 2)
    weight = rng.choice([0.0, 0.5, 1.0, 2.5, 4.0, 7.0], n)
    return {"y": y, "s": score, "g": group, "w": weight, "c": rng.integers(0, 220, n)}


def table(rows, **more):
    return score_table(rows["y"], rows["s"], sensitive_features=rows["g"], **more)


def small(found):
    return {note.group: note for note in found.notes if note.kind == "small" and note.top is None}


@pytest.mark.parametrize("times", [0.01, 1.0, 7.0])
@pytest.mark.parametrize("clustered", [False, True])
def test_a_group_of_few_rows_is_small_however_much_they_weigh(times, clustered):
    rows = rows_of()
    more = {"clusters": rows["c"]} if clustered else {}
    found = audit(table(rows, sample_weight=times * rows["w"], **more))
    there = (rows["g"] == "z") & (rows["w"] > 0)
    numbers = found.ranking.group("z")
    assert (numbers.rows, numbers.positives) == (there.sum(), (there & (rows["y"] == 1)).sum())
    others = (rows["g"] == "p") & (rows["w"] > 0) & (rows["y"] == 0)
    assert found.ranking.cell("z", "p").pairs == numbers.positives * others.sum()
    note = small(found)["z"]
    assert max(note.value, note.other) <= there.sum()
    if clustered:
        units = [len(np.unique(rows["c"][there & (rows["y"] == outcome)])) for outcome in (1, 0)]
        assert [note.value, note.other] == units
        assert (numbers.positive_clusters, numbers.negative_clusters) == tuple(units)
        assert numbers.clusters == len(np.unique(rows["c"][there]))
    else:
        assert note.said == "weighted"
        weight = rows["w"][there & (rows["y"] == 1)]
        assert note.value == pytest.approx(weight.sum() ** 2 / (weight**2).sum())


def test_frequency_weights_are_rows():
    rows = rows_of()
    weight = np.ceil(rows["w"]).astype(int)
    found = audit(table(rows, sample_weight=weight, weights="frequency"))
    repeated = {name: np.repeat(column, weight) for name, column in rows.items()}
    alone = audit(table(repeated))
    assert [each.rows for each in found.ranking.groups] == [each.rows for each in alone.ranking.groups]
    assert [written(note) for note in small(found).values()] == [written(note) for note in small(alone).values()]


def test_clusters_that_are_few_are_said_where_rows_are_many():
    rows = rows_of()
    rows["c"] = np.where(rows["g"] == "q", rows["c"] % 9, rows["c"])
    found = audit(table(rows, clusters=rows["c"]))
    assert "q has only 9 clusters of rows with the outcome and 9 without it (under 30)" in small(found)["q"].text
    assert {"clusters", "positive_clusters"} <= set(found.rows("groups")[0])
    assert Note("small", "q", value=1.0, other=50.0, said="clusters").text.startswith(
        "q has only 1 cluster of rows with the outcome (under 30)."
    )


def test_rows_of_weight_0_are_said_in_memory_and_from_files(tmp_path):
    rows = rows_of()
    frame = pd.DataFrame(rows)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame.to_parquet(tmp_path / "rows.parquet")
    gone = int((rows["w"] == 0).sum())
    source = {"score": "s", "label": "y", "groups": "g", "weight": "w"}
    tables = [table(rows, sample_weight=rows["w"]), table(rows, sample_weight=rows["w"], clusters=rows["c"])]
    tables += [count_rows(RowSource(tmp_path / f"rows.{end}", **source)).table for end in ("csv", "parquet")]
    tables += [count_rows(RowSource(tmp_path / "rows.csv", **source), max_distinct=30).table]
    for each in tables:
        assert (each.weightless, each.rows) == (gone, len(frame) - gone)
        notes = [note.text for note in audit(each).notes if note.kind == "weightless"]
        assert notes == [f"{gone} of the rows have a weight of 0: they are in no count and no number."]
    halves = [
        table({name: column[part] for name, column in rows.items()}, sample_weight=rows["w"][part])
        for part in (slice(0, 300), slice(300, None))
    ]
    assert halves[0].merge(halves[1]).weightless == gone
    assert table(rows).weightless == 0
    unlabelled = audit(None, rows["s"], sensitive_features=rows["g"], sample_weight=rows["w"])
    assert next(note.kind for note in unlabelled.notes) == "weightless"


@pytest.mark.parametrize("kind", ["importance", "frequency"])
def test_the_report_counts_rows_and_weighs_shares(kind):
    rows = rows_of()
    weight = 50 * np.ceil(rows["w"]).astype(int)
    made = {"sample_weight": weight, "weights": kind}
    fitted = fairpot.LogitShift(max_gap=0.2).fit(
        1 / (1 + np.exp(-rows["s"])), rows["y"], sensitive_features=rows["g"], **made
    )
    report = fairpot.FairnessReport(fitted.table_, fitted)
    rates = {each.group: each for each in report.effect.actions[0].groups}
    for each in report.content.line.crossings:
        own = (rows["g"] == each.group) & (rows["y"] == each.positive)
        assert each.rows == (weight[own].sum() if kind == "frequency" else (weight[own] > 0).sum())
        rate = rates[each.group]
        wanted = (rate.tpr_before, rate.tpr_after) if each.positive else (rate.fpr_before, rate.fpr_after)
        assert (each.share_before, each.share_now) == pytest.approx(wanted, abs=1e-12)
        counts = (rate.yes_before, rate.yes_after) if each.positive else (rate.no_before, rate.no_after)
        assert (each.above, each.now) == counts
    sizes = [each.size for each in fitted.table_.counts]
    for size, counts in zip(sizes, fitted.table_.counts):
        shown = marks(counts, 30)
        assert shown.rows == (size / 30 if size > 60 else 1.0)
    document = json.loads(report.to_json())
    assert document["lines"][0]["crossings"][0].keys() == {
        "group",
        "positive",
        "rows",
        "above",
        "enter",
        "leave",
        "share_before",
        "share_now",
    }
    assert "by weight" not in report.to_html().partition("<script")[0] or kind == "importance"


def followed(weight=None, kind=None):
    rng = np.random.default_rng(11)
    n = 700
    group, time = rng.choice(["p", "q"], n), rng.exponential(9, n).round(2)
    ended = (rng.random(n) < 0.7).astype(int)
    given = {} if weight is None else {"sample_weight": rng.integers(*weight, n), "weights": kind}
    return score_table(
        None,
        rng.normal(-time / 9 + 0.3 * (group == "p")),
        sensitive_features=group,
        time=time,
        event=ended,
        horizon=8,
        **given,
    )


def test_nobody_is_said_to_have_given_weights_at_a_horizon():
    plain, weighed, many = followed(), followed((1, 5), "importance"), followed((1, 5), "frequency")
    assert (plain.weights, weighed.weights, many.weights) == (None, "importance", "frequency")
    found = audit(plain)
    assert found.weights is None
    assert (found.ranking.weighted_rows, found.ranking.groups[0].weighted_rows) == (None, None)
    page = fairpot.FairnessReport(plain)
    for text in (str(found), repr(found), found._repr_html_(), page.to_markdown(), page.to_html(), plain._repr_html_()):
        assert "by weight" not in text
        assert "A weight is" not in text
    assert "by weight" in str(audit(weighed))
    for each in page.content.line.crossings:
        assert [each.rows, each.above] == [round(each.rows), round(each.above)]
    assert "horizon" in {note.kind for note in found.notes}
    with pytest.raises(fairpot.InfeasibleRuleError) as refused:
        fairpot.WassersteinRepair(max_gap=0.001, confidence=0.9).fit(plain)
    assert "weights" not in str(refused.value)


def test_uneven_rows_at_a_horizon_are_not_called_weights():
    note = Note("small", "q", value=12.3, other=80.0, said="followed")
    assert note.text.startswith(
        "Few rows of q stand for many: its rows with the outcome are worth only 12.3 equal ones"
    )


@pytest.mark.parametrize(
    ("there", "back", "said"),
    [
        (99.8, 12.0, ("99.8", "12.0")),
        (100.0, 40.2, ("100", "40")),
        (0.3, 55.0, ("0.3", "55.0")),
        (0.0, 55.4, ("0", "55")),
        (99.97, 0.02, ("99.97", "0.02")),
        (99.99996, 30.0, ("over 99.999", "30.000")),
        (71.0, 71.4, ("71.0", "71.4")),
    ],
)
def test_only_all_pairs_are_100_of_100(there, back, said):
    from fairpot.words import both_of_hundred

    assert both_of_hundred(there, back) == said
