import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from fairpot._validation import check_groups, place_groups

TEXT = ["M", "F", "X", "F", "M"]

COLUMNS = {
    "list": TEXT,
    "tuple": tuple(TEXT),
    "NumPy text": np.array(TEXT),
    "NumPy objects": np.array(TEXT, dtype=object),
    "NumPy column": np.array(TEXT)[:, None],
    "pandas": pd.Series(TEXT, index=[9, 8, 7, 6, 5]),
    "pandas objects": pd.Series(TEXT, dtype=object),
    "pandas categories": pd.Series(TEXT, dtype=pd.CategoricalDtype(["X", "never", "M", "F"])),
    "pandas frame": pd.DataFrame({"sex": TEXT}),
    "Polars": pl.Series(TEXT),
    "Polars categories": pl.Series(TEXT, dtype=pl.Categorical),
    "Polars enum": pl.Series(TEXT, dtype=pl.Enum(["X", "F", "M"])),
    "Polars frame": pl.DataFrame({"sex": TEXT}),
    "PyArrow": pa.array(TEXT),
    "PyArrow chunks": pa.chunked_array([TEXT[:2], TEXT[2:]]),
    "PyArrow dictionary": pa.array(TEXT).dictionary_encode(),
    "PyArrow table": pa.table({"sex": TEXT}),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_text_from_anywhere(kind):
    codes, names, _ = check_groups(COLUMNS[kind], 5)
    assert names == ("F", "M", "X")
    assert codes.tolist() == [1, 0, 2, 0, 1]


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ([True, False, True], (False, True)),
        (np.array([True, False, True]), (False, True)),
        ([3, -1, 3], (-1, 3)),
        (np.array([3, -1, 3], dtype=np.int8), (-1, 3)),
        ([1.5, 0.5, 1.5], (0.5, 1.5)),
        (pd.Series([3, -1, 3], dtype="category"), (-1, 3)),
        (pa.array([3, -1, 3]).dictionary_encode(), (-1, 3)),
        ([2, "2", 2], (2, "2")),
        (pd.Series([np.str_("b"), "a", np.str_("b")], dtype=object), ("a", "b")),
        (pd.Series([np.int8(3), -1, np.int8(3)], dtype=object), (-1, 3)),
        ([datetime.date(2021, 1, 1), datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)], None),
    ],
)
def test_other_values(values, names):
    codes, got, _ = check_groups(values, 3)
    if names is not None:
        assert got == names
        assert all(type(a) is type(b) for a, b in zip(got, names))
    assert codes[0] == codes[2] != codes[1]


def test_many_groups_equal_numpy():
    rng = np.random.default_rng(0)
    for values in (rng.integers(0, 200, 3000), rng.integers(0, 200, 3000).astype(str)):
        for column in (values, values.astype(object), pd.Series(values), pl.Series(values)):
            codes, names, _ = check_groups(column, 3000)
            distinct, inverse = np.unique(values, return_inverse=True)
            assert list(names) == distinct.tolist()
            np.testing.assert_array_equal(codes, inverse)


def test_intersections_are_named_readably():
    columns = {"sex": ["F", "M", "F"], "age": ["<25", "25+", "25+"]}
    expected = ("sex=F, age=25+", "sex=F, age=<25", "sex=M, age=25+")
    for frame in (columns, pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns)):
        codes, names, _ = check_groups(frame, 3)
        assert names == expected
        assert codes.tolist() == [1, 2, 0]
    matrix = np.array(list(zip(*columns.values())))
    codes, names, _ = check_groups(matrix, 3)
    assert names == ("F, 25+", "F, <25", "M, 25+")
    assert check_groups(matrix.tolist(), 3)[1] == names
    assert check_groups(pd.DataFrame({"sex": ["F", "M"], "n": [1, 2]}), 2)[1] == ("sex=F, n=1", "sex=M, n=2")


@pytest.mark.parametrize(
    ("groups", "places"), [(["b", None, "a", "x"], [1, -2, 0, -1]), ([None, None], [-2, -2])], ids=["some", "all"]
)
def test_rows_without_a_group_leave_the_others_where_they_are(groups, places):
    ways = {"unknown_group": "keep", "missing_group": "keep"}
    assert place_groups(groups, len(groups), ["a", "b"], **ways).tolist() == places
