"""What weights mean: how much a row counts, also where they are whole numbers, unless they are said to be rows."""

import duckdb
import numpy as np
import pandas as pd
import pytest

import fairpot
from fairpot import FairPOT, ScoreTable, audit, compare, effect, score_table
from fairpot._validation import check_rows
from fairpot.exceptions import SmallGroupWarning
from fairpot.inference import confidence_interval, plan_sample_size
from fairpot.rows import RowSource, count_rows
from files_cases import write
from inference_oracles import change_of_scores, share, weighted
from rows_cases import assert_same_tables

NAMES = {"score": "s", "label": "y", "group": "g", "weight": "w"}
SAID = "A weight is how much a row counts: counts are of rows; shares, AUC and gaps are weighted."


def survey(n=900, seed=4):
    """Rows of a survey: weights between 0.2 and 4 that have nothing to do with the score."""
    rng = np.random.default_rng(seed)
    g, y = rng.choice(["a", "b"], n), rng.integers(0, 2, n)
    s = np.round(rng.normal(0.8 * y + 0.4 * (g == "a") * y, 1), 2)
    return pd.DataFrame({"s": s, "y": y, "g": g, "w": (rng.gamma(1.2, 1.0, n) + 0.2).round(3)})


@pytest.fixture(scope="module")
def rows():
    return survey()


def columns(frame, **more):
    return {"sensitive_features": frame["g"], "sample_weight": frame["w"], **more}


def table_of(frame, **more):
    return score_table(frame["y"], frame["s"], **columns(frame, **more))


@pytest.mark.parametrize("ties", ["half", "strict"])
def test_fractional_weights_have_the_error_of_a_sandwich_written_out(rows, ties):
    found = audit(rows["y"], rows["s"], ties=ties, **columns(rows)).ranking
    y, s, g, w = (rows[name].to_numpy() for name in "ysgw")
    variance = 0.0
    for first, second in ("ab", "ba"):
        p, q = (y == 1) & (g == first), (y == 0) & (g == second)
        own = weighted(s[p], s[q], w[p], w[q], ties)
        xauc = found.cell(first, second).xauc
        assert xauc.se**2 == pytest.approx(own, rel=1e-9)
        assert xauc.value == pytest.approx(share(s[p], s[q], w[p], w[q], ties))
        variance += own
    assert found.gap.se**2 == pytest.approx(variance, rel=1e-9)


def test_over_many_surveys_the_error_is_the_spread_and_that_of_rows_is_not():
    gaps, own, as_rows = [], [], []
    for seed in range(400):
        frame = survey(400, seed)
        found = confidence_interval("xauc_gap", frame["y"], frame["s"], **columns(frame))
        gaps.append(found.signed if found.groups == ("a", "b") else -found.signed)
        own.append(found.se)
        said = confidence_interval("xauc_gap", frame["y"], frame["s"], **columns(frame, weights="frequency"))
        as_rows.append(said.se)
    spread = np.std(gaps)
    assert np.mean(own) == pytest.approx(spread, rel=0.08)  # the spread of 400 is known to 3.5 %
    assert np.mean(as_rows) < 0.8 * spread


def test_frequency_is_what_it_was(rows):
    """Said, a weight of 0.4 is two fifths of a row: the counts are the sums of squares."""
    plain = check_rows(rows["s"], rows["y"], rows["g"], rows["w"])
    ones = np.ones(len(rows), dtype=np.int64)
    found, before = table_of(rows, weights="frequency"), ScoreTable.from_rows(*plain, rows=ones)
    assert_same_tables(found, before)
    assert audit(found).to_dict() == audit(before).to_dict()
    one, two = (FairPOT(max_gap=0.2, confidence=0.9).fit(t) for t in (found, before))
    assert (one.lam_, one.certificate_.to_dict()) == (two.lam_, two.certificate_.to_dict())


def test_weights_are_rows_where_it_is_said(rows):
    times = rows.assign(w=np.arange(len(rows)) % 3)
    again = times.loc[times.index.repeat(times["w"])]
    for weight in (times["w"], times["w"].astype(float)):
        found = score_table(
            times["y"], times["s"], sensitive_features=times["g"], sample_weight=weight, weights="frequency"
        )
        assert (found.weights, found.importance) == ("frequency", False)
        expected = audit(again["y"], again["s"], sensitive_features=again["g"])
        assert audit(found).gap.to_dict() == expected.gap.to_dict()
    assert table_of(times).importance
    assert score_table(again["y"], again["s"], sensitive_features=again["g"]).weights is None


@pytest.mark.parametrize("whole", [False, True])
def test_every_way_to_count_decides_alike(rows, tmp_path, whole):
    """Nobody guesses: whole weights are how much a row counts too, and real rows are counted beside them."""
    rows = rows.assign(w=np.ceil(rows["w"] * 1000).astype(int)) if whole else rows
    expected = table_of(rows)
    assert expected.weights == "importance"
    assert (expected.rows, expected.weight) == (900, pytest.approx(rows["w"].sum()))
    connection = duckdb.connect()
    connection.register("survey", rows)
    for kind in ("csv", "parquet", "jsonl", "arrow"):
        assert_same_tables(score_table(write(rows, tmp_path / f"rows.{kind}"), **NAMES), expected)
    assert_same_tables(score_table(rows, **NAMES), expected)
    assert_same_tables(score_table(connection.sql("select * from survey"), **NAMES), expected)
    query = f"select s, y, g, w from '{tmp_path / 'rows.parquet'}'"
    assert_same_tables(score_table(None, sql=query, **NAMES), expected)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("max_distinct", [10_000, 40])
def test_parts_of_which_some_are_whole_are_decided_once(rows, tmp_path, kind, max_distinct):
    """Also where scores are put into bins."""
    mixed = rows.assign(w=np.where(rows.index < 600, 1 + rows.index % 3, rows["w"]))
    parts = [
        write(mixed[:600], tmp_path / f"whole.{kind}"),
        write(mixed[600:], tmp_path / f"fractions.{kind}"),
    ]
    roles = {"score": "s", "label": "y", "groups": "g", "weight": "w"}
    found = count_rows(RowSource(parts, **roles), max_distinct=max_distinct)
    assert (found.quantisation is None) == (max_distinct == 10_000)
    assert count_rows(RowSource(parts[0], **roles), max_distinct=max_distinct).table.weights == "importance"
    expected = table_of(mixed)
    assert found.table.weights == expected.weights == "importance"
    for one, other in zip(found.table.counts, expected.counts):
        for side in (True, False):
            assert one.squared(side).sum() == pytest.approx(other.squared(side).sum())
            assert one.rows_at[side].sum() == other.rows_at[side].sum()


def test_merged_parts(rows):
    first, second = table_of(rows[:300]), table_of(rows[300:])
    for one, other in zip(first.merge(second).counts, table_of(rows).counts):
        np.testing.assert_allclose(one.positive, other.positive)
        np.testing.assert_allclose(one.squares[0], other.squares[0])
        np.testing.assert_allclose(one.squares[1], other.squares[1])
    unweighted = score_table(rows["y"], rows["s"], sensitive_features=rows["g"])
    ones = table_of(pd.concat([rows, rows.assign(w=1.0)]))
    both = first.merge(second).merge(unweighted)
    assert both.weights == "importance"
    assert audit(both).gap.se == pytest.approx(audit(ones).gap.se, rel=1e-9)
    with pytest.raises(ValueError, match="so many rows and one whose weights are how much a row counts"):
        first.merge(table_of(rows.assign(w=2), weights="frequency"))
    assert unweighted.merge(table_of(rows.assign(w=2), weights="frequency")).weights == "frequency"
    assert unweighted.merge(unweighted).weights is None


@pytest.mark.usefixtures("few_draws")
def test_all_that_measures_obeys(rows):
    y, s, default = rows["y"], rows["s"], columns(rows)
    said, other = (columns(rows, weights=word) for word in ("importance", "frequency"))
    after, moving = np.round(s, 1), ["OptimalMerge"]

    def errors(kwargs):
        table = score_table(y, s, **kwargs)
        fitted = FairPOT(max_gap=0.25, confidence=0.9).fit(s, y, **kwargs)
        return [
            audit(y, s, **kwargs).gap.se,
            confidence_interval("auc", y, s, **kwargs).se,
            change_of_scores(y, s, after, **kwargs).auc.se,
            effect(FairPOT(0.5).fit(table), s, y, **kwargs).changes.gap.se,
            compare(y, s, methods=moving, cv=2, **kwargs).answer(0.9).rivals[0].lead.se,
            compare(table, methods=moving, cv=2).answer(0.9).rivals[0].lead.se,
            compare(y, s, methods=moving, held_out=table, **kwargs).answer(0.9).rivals[0].lead.se,
            plan_sample_size(0.05, table=table).rows,
            fitted.certificate_.gap.high,
            fitted.tradeoff(s, y, **kwargs).band().gap.high[0],
        ]

    found = errors(default)
    assert found == pytest.approx(errors(said), rel=1e-12)
    assert all(a != pytest.approx(b, rel=0.01) for a, b in zip(found[:7], errors(other)))


def test_the_answer_says_what_was_used(rows):
    found = audit(rows["y"], rows["s"], **columns(rows))
    cases = rows.loc[rows["y"] == 1, "w"]
    sized = f"900 rows ({rows['w'].sum():,.0f} by weight), {len(cases)} with the outcome ({cases.sum():,.0f} by weight)"
    assert sized in str(found)
    assert SAID in str(found)
    assert SAID in found._repr_html_()
    assert found.to_dict()["weights"] == "importance"
    assert "weights as importance" in table_of(rows)._repr_html_()
    whole, fractional = rows.assign(w=2), rows
    assert f"{SAID} If it is so many rows: weights='frequency'." in str(audit(table_of(whole)))
    assert "A weight is so many rows, as said." in str(audit(table_of(fractional, weights="frequency")))
    assert "weight" not in str(audit(rows["y"], rows["s"], sensitive_features=rows["g"]))
    fitted = FairPOT(max_gap=0.25, confidence=0.9).fit(rows["s"], rows["y"], **columns(rows))
    assert fitted.certificate_.rows.endswith("cross-fitted folds, weights as importance")
    assert SAID in str(effect(fitted, rows["s"], rows["y"], **columns(rows)))
    compared = compare(rows["y"], rows["s"], methods=["fairpot"], cv=3, **columns(rows))
    assert compared.rows == f"3 folds of 900 rows ({rows['w'].sum():,.0f} by weight)"
    assert SAID in str(compared)
    page = fairpot.FairnessReport.from_predictions(rows["y"], rows["s"], **columns(rows))
    assert SAID in plain_text(page.to_markdown())
    assert f"900 rows ({rows['w'].sum():,.0f} by weight)" in plain_text(page.to_markdown())
    assert page.audit.weights == "importance"


def plain_text(markdown):
    return markdown.replace("\\", "")


def test_words_that_are_no_meaning(rows, tmp_path):
    with pytest.raises(ValueError, match="weights must be one of 'frequency', 'importance', got 'sampling'"):
        table_of(rows, weights="sampling")
    with pytest.raises(ValueError, match="weights must be one of"):
        RowSource(tmp_path / "x.csv", score="s", weights="sampling")
    with pytest.raises(ValueError, match="weights must be one of"):
        compare(rows["y"], rows["s"], **columns(rows, weights="sampling"))


def test_few_rows_are_few_however_much_they_weigh(rows):
    """Twenty positives that stand for 30,000 people are twenty; nine hundred rows that weigh 1 in all are not few."""
    few = pd.concat([rows[(rows["g"] == "a") | (rows["y"] == 0)], rows[(rows["g"] == "b") & (rows["y"] == 1)][:20]])
    few = few.assign(w=1500.5)
    with pytest.warns(SmallGroupWarning, match="b has only 20 rows with the outcome"):
        found = audit(few["y"], few["s"], **columns(few))
    assert any("b has only 20 rows with the outcome (under 30)" in text for text in found.warnings)
    notes = fairpot.FairnessReport.from_predictions(few["y"], few["s"], **columns(few)).notes
    assert [note.value for note in notes if note.kind == "small"] == [pytest.approx(20)]
    light = audit(rows["y"], rows["s"], **columns(rows.assign(w=rows["w"] / rows["w"].sum())))
    assert not any("has only" in text for text in light.warnings)
    np.testing.assert_allclose(light.gap.se, audit(table_of(rows)).gap.se)


@pytest.mark.parametrize("column", [np.ones, lambda n: pd.Series(np.ones(n)), lambda n: [1.0] * n])
def test_a_column_in_the_place_of_what_weights_mean_is_not_quoted(column):
    with pytest.raises(TypeError, match=r"of 40 values\.\nHint: .*sample_weight=") as caught:
        fairpot.audit([0, 1] * 20, range(40), sensitive_features=["a", "b", "b", "a"] * 10, weights=column(40))
    assert len(str(caught.value)) < 250


def test_real_rows_and_cases_stand_beside_weighted_ones(rows):
    """Loan amounts: whole numbers that are nobody's number of rows."""
    loans = rows.assign(w=np.ceil(rows["w"] * 10_000).astype(int))
    found = audit(loans["y"], loans["s"], top=0.2, threshold=1.0, **columns(loans))
    own = loans[loans["g"] == "a"]
    row = found.frame("groups").iloc[0]
    assert [row["rows"], row["positives"]] == [len(own), own["y"].sum()]
    assert [row["weighted_rows"], row["weighted_positives"]] == [own["w"].sum(), own["w"][own["y"] == 1].sum()]
    assert row["rate"] == pytest.approx(np.average(own["y"], weights=own["w"]))
    flagged = found.rates[0]["selection_rate"].groups[0]
    assert (flagged.hits, flagged.rows) == ((own["s"] >= 1.0).sum(), len(own))
    assert float(flagged.value) == pytest.approx(np.average(own["s"] >= 1.0, weights=own["w"]))
    top = found.tops[0]
    assert top.rows == (loans["s"] >= top.starts[0]).sum()
    assert "weighted_rows" not in audit(table_of(loans, weights="frequency")).frame("groups")


def test_a_gate_does_not_rest_on_a_guess():
    """Sixty rows of noise with loan amounts for weights show nothing, however large the amounts."""
    rng = np.random.default_rng(1)
    y, s, g = rng.integers(0, 2, 60), rng.normal(size=60).round(1), np.repeat(["a", "b"], 30)
    with pytest.warns(SmallGroupWarning):
        found = audit(y, s, sensitive_features=g, sample_weight=rng.integers(2, 60, 60) * 1000)
    assert found.verdict(0.25).answer == "cannot tell"
