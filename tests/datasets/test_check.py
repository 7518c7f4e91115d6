from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from fairpot import FairPOT
from fairpot.datasets import check, make_synthetic

N = 400
NAMES = {"score": "risk", "label": "case", "group": "sex"}
BUILDERS = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "polars lazy": pl.LazyFrame,
    "pyarrow": pa.table,
    "dict": dict,
}


@pytest.fixture
def columns():
    rng = np.random.default_rng(0)
    case = rng.integers(0, 2, N)
    return {
        "risk": rng.random(N) + 0.3 * case,
        "case": case,
        "sex": np.where(rng.random(N) < 0.5, "F", "M"),
        "w": rng.random(N) + 0.5,
    }


def objects(values):
    return [v.item() if isinstance(v, np.generic) else v for v in values]


def only(report, part):
    found = [entry for entry in report.problems + report.warnings if part in entry]
    assert len(found) == 1, (part, report.problems, report.warnings)
    return found[0]


@pytest.mark.parametrize("kind", BUILDERS)
def test_clean_table_in_every_kind_of_frame(columns, kind):
    report = check(BUILDERS[kind](columns), **NAMES, weight="w")
    assert report.ok
    assert report.warnings == []
    assert (report.n_rows, report.n_complete, report.distinct_scores, report.tied_share) == (N, N, N, 0.0)
    assert report.missing == {"risk": 0, "case": 0, "sex": 0, "w": 0}
    frame = pd.DataFrame(columns)
    expected = frame.groupby(["sex", "case"])["w"].agg(["size", "sum"])
    assert report.sizes["n"] == expected["size"].tolist()
    np.testing.assert_allclose(report.sizes["weight"], expected["sum"])
    assert sum(report.sizes["share"]) == pytest.approx(1.0)
    assert report.frame()["n"].sum() == N


@pytest.mark.parametrize("kind", BUILDERS)
def test_missing_values_are_counted_in_every_kind_of_frame(columns, kind):
    dirty = {name: objects(values) for name, values in columns.items()}
    dirty["risk"][0] = None
    dirty["case"][1] = None
    dirty["sex"][2] = dirty["sex"][3] = None
    dirty["w"][4] = None
    report = check(BUILDERS[kind](dirty), **NAMES, weight="w")
    assert report.missing == {"risk": 1, "case": 1, "sex": 2, "w": 1}
    assert report.n_complete == N - 5
    assert not report.ok
    assert "1 of 400 rows has no score in 'risk'" in only(report, "no score")
    assert "1 of 400 rows has no label in 'case'" in only(report, "no label")
    assert "2 of 400 rows have no group in 'sex'" in only(report, "no group")
    assert "1 of 400 rows has a weight" in only(report, "a weight")


def test_pandas_missing_markers(columns):
    frame = pd.DataFrame(columns)
    frame["risk"] = frame["risk"].astype("Float64")
    frame["sex"] = frame["sex"].astype("category")
    frame.loc[0, "risk"] = pd.NA
    frame.loc[1, "sex"] = np.nan
    assert check(frame, **NAMES).missing == {"risk": 1, "case": 0, "sex": 1}


def test_nan_and_infinite_scores(columns):
    columns["risk"][:3] = np.nan, np.inf, -np.inf
    report = check(pl.DataFrame(columns), **NAMES)
    assert "1 of 400 rows has no score" in only(report, "no score")
    assert "2 of 400 rows have an infinite score" in only(report, "infinite")
    assert report.n_complete == N - 3


def test_scores_that_are_text(columns):
    columns["risk"] = [f"{value:.3f}" for value in columns["risk"]]
    report = check(pd.DataFrame(columns), **NAMES)
    assert "is not a number" in only(report, "not a number")
    assert "no row is complete" in only(report, "complete")
    assert "0 complete" in str(report)


@pytest.mark.parametrize(
    ("convert", "shown"),
    [
        (lambda y: np.where(y == 1, "yes", "no"), "'no', 'yes'"),
        (lambda y: y + 1, "2"),
        (lambda y: y + 0.5, "0.5, 1.5"),
    ],
)
def test_labels_that_are_not_binary(columns, convert, shown):
    columns["case"] = convert(columns["case"])
    report = check(columns, **NAMES)
    assert shown in only(report, "other than 0 and 1")


def test_boolean_labels_are_fine(columns):
    columns["case"] = columns["case"] == 1
    assert check(pd.DataFrame(columns), **NAMES).ok
    assert check(pl.DataFrame(columns), **NAMES).ok


def test_one_class_and_one_group(columns):
    report = check({**columns, "case": np.ones(N, dtype=int), "sex": ["F"] * N}, **NAMES)
    assert "every outcome in 'case' is 1" in only(report, "every outcome")
    assert "1 group(s): ['F']" in only(report, "group(s)")
    assert "has no rows without the outcome" in only(report, "no rows without")


def test_continuous_group(columns):
    report = check(columns, score="risk", label="case", group="w")
    assert "form bands" in only(report, "400 groups")


def test_small_and_empty_cells(columns):
    columns["sex"] = columns["sex"].astype("<U5")
    columns["sex"][:3], columns["case"][:3] = "X", 0
    columns["sex"][3:5], columns["case"][3:5] = "Y", [0, 1]
    report = check(columns, **NAMES)
    assert "group 'X' has no rows with the outcome" in only(report, "no rows with the")
    assert "group 'X' has only 3 rows without the outcome" in only(report, "only 3")
    assert sum("group 'Y' has only 1" in entry for entry in report.warnings) == 2


def test_ties(columns):
    columns["risk"] = columns["risk"].round(1)
    report = check(columns, **NAMES)
    _, counts = np.unique(columns["risk"], return_counts=True)
    assert report.distinct_scores == len(counts)
    assert report.tied_share == pytest.approx(counts[counts > 1].sum() / N)
    assert "ties='strict'" in only(report, "share their score")
    assert report.ok


def test_constant_score(columns):
    report = check({**columns, "risk": np.full(N, 0.5)}, **NAMES)
    assert "every score is 0.5" in only(report, "every score")


def test_score_upside_down_and_too_good(columns):
    assert "change its sign" in only(check({**columns, "risk": -columns["risk"]}, **NAMES), "change its sign")
    perfect = check({**columns, "risk": columns["case"] + columns["risk"] / 10}, **NAMES)
    assert "perfectly" in only(perfect, "perfectly")


def test_weights(columns):
    assert "negative" in only(check({**columns, "w": -columns["w"]}, **NAMES, weight="w"), "negative")
    assert "is 0" in only(check({**columns, "w": np.zeros(N)}, **NAMES, weight="w"), "every weight")


def test_intersections(columns):
    columns["site"] = np.where(np.arange(N) % 2, "north", "south")
    report = check(pd.DataFrame(columns), score="risk", label="case", group=["sex", "site"])
    assert sorted(set(report.sizes["group"])) == [f"sex={s}, site={p}" for s in "FM" for p in ("north", "south")]
    assert report.ok


@pytest.mark.parametrize("group", ["sex", "age", ["age"], ["sex", "age"]])
@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_groups_have_the_names_that_a_fit_gives_them(columns, kind, group):
    columns["age"] = np.arange(N) % 3
    frame = BUILDERS[kind](columns)
    report = check(frame, score="risk", label="case", group=group)
    named = columns[group] if isinstance(group, str) else pd.DataFrame(columns)[group]
    fitted = FairPOT(reference=report.sizes["group"][0]).fit(columns["risk"], columns["case"], sensitive_features=named)
    assert tuple(report.sizes["group"][::2]) == fitted.groups_
    assert str(report).splitlines()[2].startswith(str(fitted.groups_[0]))
    assert report.frame()["group"].tolist() == report.sizes["group"]


def test_a_group_whose_rows_are_all_incomplete_is_left_out(columns):
    columns["risk"][columns["sex"] == "F"] = np.nan
    report = check(columns, **NAMES, weight="w")
    assert report.sizes["group"] == ["M", "M"]
    assert report.sizes["label"] == [0, 1]
    assert sum(report.sizes["n"]) == report.n_complete == (columns["sex"] == "M").sum()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"risk": np.arange(N) % 2 == 0}, "risk must be numbers, got booleans"),
        ({"risk": np.linspace(0, 1e301, N)}, "overflow"),
        ({"case": [Decimal(i % 2) for i in range(N)]}, "case must be 0/1 or booleans"),
        (
            {"w": np.where(np.arange(N) % 2, 0.0, 1.0), "sex": ["F", "M"] * (N // 2)},
            "is 0 in all rows of the group 'sex=M",
        ),
        ({"sex": [1, "1"] * (N // 2)}, "read"),
        ({"sex": [("F",), ["M"]] * (N // 2)}, "plain values"),
    ],
)
def test_whatever_a_fit_refuses_is_a_problem(columns, change, message):
    """Nothing that fairpot refuses passes for fine."""
    frame = pd.DataFrame({**columns, "site": "north", **change})
    report = check(frame, score="risk", label="case", group=["sex", "site"], weight="w")
    assert message in only(report, message)
    assert "\n" not in only(report, message)
    with pytest.raises((TypeError, ValueError)):
        FairPOT().fit(frame.risk, frame.case, sensitive_features=frame[["sex", "site"]], sample_weight=frame.w)


@pytest.mark.parametrize(("argument", "value"), [("score", 0), ("label", None), ("group", None), ("group", ["sex", 0])])
def test_what_is_no_column_name(columns, argument, value):
    with pytest.raises(TypeError, match=rf"^{argument} must be a column name, got (int|NoneType)(.|\n)*Hint:"):
        check(pd.DataFrame(columns), **{**NAMES, argument: value})
    with pytest.raises(TypeError, match="weight must be a column name"):
        check(columns, **NAMES, weight=0)


def test_no_group_column(columns):
    with pytest.raises(ValueError, match="at least one column"):
        check(columns, score="risk", label="case", group=[])


@pytest.mark.parametrize("build", [pd.DataFrame, lambda rows, columns: pa.table(list(rows.T), names=columns)])
def test_two_columns_of_one_name(build):
    frame = build(np.zeros((3, 5)), columns=["risk", "case", "risk", "sex", "risk"])
    with pytest.raises(ValueError, match=r"columns of the same name: 'risk' 3 times\.\nHint: rename"):
        check(frame, **NAMES)


def test_names_that_are_numbers_do_not_hinder_the_search(columns):
    with pytest.raises(ValueError, match="did you mean 'risk'"):
        check(pd.DataFrame(columns).rename(columns={"w": 0}), score="rsk", label="case", group="sex")


def test_unknown_column_suggests_the_nearest(columns):
    with pytest.raises(ValueError, match=r"no column 'rsk'(.|\n)*Hint: did you mean 'risk'\?"):
        check(pd.DataFrame(columns), score="rsk", label="case", group="sex")
    with pytest.raises(ValueError, match=r"the columns are \['risk'"):
        check(columns, score="qqqqq", label="case", group="sex")


def test_not_a_frame():
    with pytest.raises(TypeError, match=r"frame must be a table(.|\n)*got ndarray(.|\n)*Hint:"):
        check(np.zeros((3, 3)), **NAMES)


def test_columns_of_different_length(columns):
    with pytest.raises(ValueError, match="same length"):
        check({**columns, "risk": columns["risk"][:-1]}, **NAMES)


def test_empty_table():
    report = check({"risk": [], "case": [], "sex": []}, **NAMES)
    assert not report.ok
    assert report.n_rows == 0
    assert "0 rows" in str(report)


def test_text(columns):
    lines = str(check(columns, **NAMES)).splitlines()
    assert lines[0] == "400 rows, 400 complete; 400 distinct scores, 0.0% of rows share theirs"
    assert lines[1].split() == ["group", "negatives", "positives", "rate"]
    assert lines[-2:] == ["problems: none", "warnings: none"]


def test_report_on_drawn_data():
    drawn = make_synthetic(random_state=0)
    report = check({"s": drawn.probability, "y": drawn.target, "g": drawn.group}, score="s", label="y", group="g")
    assert report.ok
