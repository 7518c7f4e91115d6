"""What is said of values of group columns: bands, missing ones, values that mean unknown."""

import numpy as np
import pandas as pd
import pytest

from fairpot import FairPOT, LogitShift, audit, score_table
from fairpot._validation.grouping import Grouping

RNG = np.random.default_rng(0)
N = 600
AGE, SEX = RNG.integers(18, 90, N), RNG.choice(["F", "M", "Declined"], N, p=[0.5, 0.4, 0.1])
Y = RNG.integers(0, 2, N)
SCORE = RNG.normal(Y + 0.02 * AGE)


def groups_of(column, **said):
    """Return the group of each row, through its own score."""
    place = np.arange(float(len(column)))
    table = score_table(np.arange(len(column)) % 2, place, sensitive_features=column, **said)
    found = np.empty(len(column), dtype=object)
    for group, counts in zip(table.groups, table.counts):
        found[counts.score.astype(int)] = group
    return found, table


@pytest.mark.parametrize("values", [AGE, RNG.normal(size=N), np.round(RNG.normal(size=N), 1)])
def test_bands_are_those_of_pandas(values):
    edges = [*np.quantile(values, [0.1, 0.5, 0.8], method="inverted_cdf")]
    found, table = groups_of(pd.Series(values, name="x"), bands={"x": edges})
    wanted = pd.cut(values, [-np.inf, *edges, np.inf], right=False, labels=table.groups)
    np.testing.assert_array_equal(found, np.asarray(wanted))


@pytest.mark.parametrize("count", [2, 3, 4, 10])
@pytest.mark.parametrize("values", [AGE, RNG.normal(size=N), np.round(RNG.normal(size=N), 1)])
def test_bands_of_equal_size_are_those_of_quantiles(values, count):
    found, table = groups_of(pd.Series(values, name="x"), bands={"x": count})
    ends = np.quantile(values, np.arange(1, count) / count, method="inverted_cdf")
    wanted = pd.cut(values, [-np.inf, *ends, np.inf], labels=table.groups)
    np.testing.assert_array_equal(found, np.asarray(wanted))
    assert table.grouping.bands[0].names == table.groups


@pytest.mark.parametrize(
    ("edges", "values", "names"),
    [
        ([25, 45], AGE, ("under 25", "25 to 44", "45+")),
        ([25, 26, 1_000_000], [1, 25, 26, 2e6], ("under 25", "25", "26 to 999999", "1000000+")),
        ([0.5, 1], [0, 0.7, 3], ("under 0.5", "0.5 to under 1", "1+")),
        ([1, 2], [0.5, 1.5, 2.5], ("under 1", "1 to under 2", "2+")),
        ([-1.5, 0], ["-2", "-1", "7"], ("under -1.5", "-1.5 to under 0", "0+")),
    ],
)
def test_bands_are_named_in_plain_words(edges, values, names):
    assert groups_of(pd.Series(values, name="x"), bands={"x": edges})[1].groups == names


def test_bands_of_equal_size_begin_at_short_numbers():
    table = groups_of(pd.Series([0.1234, 1.2719283, 1.4719283, 9.87654321, 31, 48], name="x"), bands={"x": 3})[1]
    assert table.groups == ("under 1.47", "1.47 to under 30", "30+")
    assert [counts.size for counts in table.counts] == [2, 2, 2]


def test_missing_values_are_a_band_of_their_own_and_unknown_ones_stay():
    ages = [*AGE.tolist(), None, np.nan, 999, "asked"]
    found, table = groups_of(pd.Series(ages, name="age", dtype=object), bands={"age": [40]}, unknown=["999", "asked"])
    assert table.groups == ("under 40", "40+", "999", "asked", "(missing)")
    assert [*found[-4:]] == ["(missing)", "(missing)", "999", "asked"]
    assert table.unknown == ("999", "asked")


def test_missing_groups_are_a_group_where_that_is_said():
    column = pd.Series(SEX).where(SEX != "Declined")
    with pytest.raises(ValueError, match="missing_group='own'"):
        score_table(Y, SCORE, sensitive_features=column)
    table = score_table(Y, SCORE, sensitive_features=column, missing_group="own")
    assert table.groups == ("F", "M", "(missing)")
    assert table["(missing)"].size == (SEX == "Declined").sum()


@pytest.mark.parametrize("said", ["help", "harm"])
def test_rows_without_a_group_are_no_reference(said):
    column = pd.Series(SEX).where(SEX != "Declined")
    score = SCORE + (9 if said == "help" else -9) * column.isna()
    given = {"sensitive_features": column, "missing_group": "own", "high_score_means": said}
    assert audit(Y, score, **given).reference != "(missing)"
    assert LogitShift(shift=0.1).fit(score, Y, **given).reference_ != "(missing)"
    assert audit(Y, score, **given, reference="(missing)").reference == "(missing)"


def test_unknown_groups_are_measured_apart():
    found = audit(Y, SCORE, sensitive_features={"sex": SEX, "age": AGE}, bands={"age": [50]}, unknown=["Declined"])
    apart = audit(Y, SCORE, sensitive_features={"sex": SEX, "age": AGE}, bands={"age": [50]})
    assert [each.group for each in found.unknown.groups] == [
        "sex=Declined, age=under 50",
        "sex=Declined, age=50+",
    ]
    assert len(found.ranking.groups) == 4
    assert found.left_out == ()
    for each in found.unknown.groups:
        assert each.auc == apart.ranking.group(each.group).auc
    assert found.unknown.lowest is None


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"bands": {"age": 1}}, "cannot be 1: a column is cut into 2 to 250"),
        ({"bands": {"age": 10**12}}, "cannot be 1000000000000: a column is cut into 2 to 250"),
        ({"bands": {"age": True}}, "need the numbers at which they begin"),
        ({"bands": {"age": "25,45"}}, "need the numbers at which they begin"),
        ({"bands": {"age": []}}, "need the numbers at which they begin"),
        ({"bands": {"age": [25, np.inf]}}, "need the numbers at which they begin"),
        ({"bands": {"age": [45, 25]}}, "have edges that do not ascend"),
        ({"bands": {"age": [25, 25]}}, "have edges that do not ascend"),
        ({"bands": {"age": [10, 45]}}, "leave 'under 10' without rows: values run from 18 to 89"),
        ({"bands": {"age": 80}}, r"cannot be 80: equal values leave \d+"),
        ({"bands": {"sex": [1]}}, "column 'sex' has 600 rows with something else"),
        ({"bands": {"lost": 2}}, "column 'lost' has none"),
        ({"bands": {"income": 4}}, "'income', which is not a group column: sex, age, lost"),
        ({"bands": [25, 45]}, "bands must be a dict of column to edges"),
        ({"missing_group": "keep"}, "must be one of 'error', 'own'"),
        ({"bands": {"age": 2}, "weights": "frequency", "sample_weight": np.ones(N)}, "where a weight is so many rows"),
    ],
)
def test_what_cannot_be_meant_is_one_clear_error(said, message):
    frame = pd.DataFrame({"sex": SEX, "age": AGE, "lost": np.nan})
    with pytest.raises((ValueError, TypeError), match=message):
        score_table(Y, SCORE, sensitive_features=frame, **said)


def test_a_comma_in_a_value_parts_no_intersection():
    race = ["Black, not Hispanic", "White, not Hispanic", "Other", "Black, Other"]
    columns = {"race": np.tile(race, 30), "sex": np.repeat(["F", "M"], 60)}
    given = {"y_true": np.tile([0, 1, 1], 40), "y_score": np.linspace(0, 1, 120), "sensitive_features": columns}
    found = audit(**given, unknown=["Black, not Hispanic"]).unknown
    assert [each.group for each in found.groups] == [f"race=Black, not Hispanic, sex={sex}" for sex in "FM"]
    alone = audit(**given | {"sensitive_features": columns["race"]}, unknown=["Other"])
    assert [each.group for each in alone.unknown.groups] == ["Other"]
    maps = FairPOT(0.5).fit(given["y_score"], given["y_true"], sensitive_features=columns).fair_maps_
    scorer, group = maps.row_scorer(missing_group="keep"), ("Black, not Hispanic", "F")
    own = maps.transform([0.3], sensitive_features={name: [value] for name, value in zip(columns, group)})
    assert scorer(0.3, group) == own[0]
    assert scorer(0.3, (None, "F")) == 0.3
    assert scorer(0.3, {"race": None, "sex": "F"}) == 0.3


@pytest.mark.parametrize(("unknown", "left"), [(["F", "M", "Declined"], 0), (["F", "Declined"], 1)])
def test_unknown_values_that_are_all_values_are_refused(unknown, left):
    with pytest.raises(ValueError, match=f"leaves {left} of 3 groups"):
        audit(Y, SCORE, sensitive_features=SEX, unknown=unknown)


def test_one_unknown_value_needs_no_list():
    coded = np.unique(SEX, return_inverse=True)[1]
    for one in (0, [0], "0"):
        assert score_table(Y, SCORE, sensitive_features=coded, unknown=one).unknown == (0,)


def test_unknown_values_that_were_taken_out_are_not_missed_again():
    table = audit(Y, SCORE, sensitive_features=SEX, unknown=["Declined"]).table
    assert audit(table).table.groups == LogitShift(shift=0.1).fit(table).groups_ == ("F", "M")


def test_without_outcomes_no_bounds_are_missed():
    three = np.where(AGE > 60, "X", SEX)
    kinds = [note.kind for note in audit(None, SCORE, sensitive_features=three, unknown=["Declined"]).notes]
    assert "unknown" in kinds
    assert "no bounds" not in kinds


def test_an_unknown_value_that_nobody_has_is_told():
    with pytest.warns(UserWarning, match="unknown='declined': no row has such a group"):
        audit(Y, SCORE, sensitive_features=SEX, unknown=["declined"])


@pytest.mark.parametrize("column", [AGE, AGE.astype(float), pd.Series(AGE, name="age"), {"age": AGE, "sex": SEX}])
def test_many_numbers_without_bands_lead_to_them(column):
    with pytest.raises(ValueError, match=r"at most 20 are compared.\nHint: bands=\{'age': \[25, 45, 65\]\}"):
        audit(Y, SCORE, sensitive_features=column)


def test_nothing_is_said_beside_a_table():
    table = score_table(Y, SCORE, sensitive_features=SEX)
    for said in ({"bands": {"age": 2}}, {"unknown": ["F"]}, {"missing_group": "own"}):
        with pytest.raises(TypeError, match=f"{next(iter(said))} cannot be given besides"):
            audit(table, **said)
    assert Grouping.of() is None
