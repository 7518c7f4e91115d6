"""Bad input of every kind: each is an error that says what is wrong, where, and the way out."""

import datetime
import decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

from fairpot import FairPOT, UnseenGroupError
from fairpot.metrics import auc, xauc, xauc_gap

S = [0.1, 0.4, 0.35, 0.8]
Y = [0, 0, 1, 1]
G = ["F", "M", "F", "M"]
NAN = float("nan")


def audit(s=S, y=Y, g=G, **options):
    return xauc_gap(y, s, sensitive_features=g, **options)


def fit(s=S, y=Y, g=G, w=None, **parameters):
    return FairPOT(**parameters).fit(s, y, sensitive_features=g, sample_weight=w)


def apply(s=S, g=G):
    return fit().transform(s, sensitive_features=g)


def curve(s=S, y=Y, g=G, **options):
    return fit().tradeoff(s, y, sensitive_features=g, **options)


SCORES = {
    "NaN": ([0.1, NAN, NAN, 0.2], ValueError, "2 missing"),
    "infinite": ([0.1, np.inf, 0.3, 0.2], ValueError, "1 infinite"),
    "minus infinite": ([0.1, -np.inf, -np.inf, 0.2], ValueError, "2 infinite"),
    "overflowing": ([0.1, 1e305, 0.3, 0.2], ValueError, "overflow"),
    "None": ([0.1, None, 0.3, 0.2], ValueError, "1 missing"),
    "text": (["a", "b", "c", "d"], TypeError, "must be numbers, got text"),
    "numbers as text": (["0.1", "0.2", "0.3", "0.4"], TypeError, "text"),
    "mixed text": ([0.1, "0.2", 0.3, 0.4], TypeError, "1 row that is not \\(the first is row 2\\)"),
    "booleans": ([True, False, True, False], TypeError, "booleans"),
    "complex": ([1j, 2j, 3j, 4j], ValueError, "Complex data not supported"),
    "dates": (np.array(["2020-01-01"] * 4, dtype="datetime64[D]"), TypeError, "must be numbers"),
    "date objects": ([datetime.date(2020, 1, 1)] * 4, TypeError, "4 rows that are not"),
    "two columns": (np.zeros((4, 2)), ValueError, r"got 2 columns.\nHint: .*proba\[:, 1\]"),
    "five columns": (np.zeros((4, 5)), ValueError, "got 5 columns"),
    "three dimensions": (np.zeros((4, 1, 1)), ValueError, "shape"),
    "a number": (0.5, ValueError, "one value a row, got float"),
    "a string": ("0.5", TypeError, "got str"),
    "a dict": ({"score": S}, TypeError, "got dict"),
    "nothing": (None, TypeError, "is missing"),
    "ragged": ([[0.1], [0.2, 0.3]], ValueError, "different lengths"),
    "sparse": (scipy.sparse.csr_matrix(np.zeros((4, 1))), TypeError, "sparse"),
    "masked": (np.ma.masked_array(S, [0, 1, 0, 0]), ValueError, "1 masked"),
    "huge integers": ([2**53 + 1, 1, 2, 3], ValueError, r"beyond 2\*\*53"),
    "a frame with two columns": (pd.DataFrame({"a": S, "b": S}), ValueError, "got 2 columns"),
    "a lazy frame": (pl.LazyFrame({"a": S}), TypeError, r"collect\(\)"),
    "a generator": ((x for x in S), ValueError, "got generator"),
    "pandas with NA": (pd.array([0.1, None, 0.3, 0.4], dtype="Float64"), (ValueError, TypeError), "missing"),
    "polars with null": (pl.Series([0.1, None, 0.3, 0.4]), ValueError, "1 missing"),
    "polars integers with null": (pl.Series([1, None, 3, 4]), ValueError, "1 missing"),
    "pyarrow with null": (pa.array([0.1, None, 0.3, 0.4]), ValueError, "1 missing"),
    "polars text": (pl.Series(["a", "b", "c", "d"]), TypeError, "must be numbers"),
    "huge integers as objects": ([2**70, 1, 2, 3], ValueError, r"beyond 2\*\*53"),
    "signalling NaN": ([decimal.Decimal("sNaN"), 0.1, 0.2, 0.3], ValueError, "1 missing"),
    "two columns of one name": (pd.DataFrame([[0.1, 0.2]] * 4, columns=["a", "a"]), ValueError, "of one name"),
    "pandas categories": (pd.Series(S).astype(str).astype("category"), TypeError, "must be numbers"),
}


@pytest.mark.parametrize("kind", SCORES)
@pytest.mark.parametrize("entry", [audit, fit, apply, curve])
def test_scores(entry, kind):
    value, error, message = SCORES[kind]
    if kind == "a generator":
        value = (x for x in S)
    if entry is curve and value is None:
        message = "missing"
    with pytest.raises(error, match=message):
        entry(s=value)


LABELS = {
    "three values": ([0, 1, 2, 1], ValueError, "3 values"),
    "minus one": ([-1, 1, -1, 1], ValueError, r"Hint: say which one means"),
    "probabilities": ([0.1, 0.9, 0.3, 0.4], ValueError, "4 values in all, 4 rows other than 0/1"),
    "words": (["no", "yes", "no", "yes"], ValueError, r"'no' \(2 rows\) and 'yes' \(2 rows\)"),
    "NaN": ([0, 1, NAN, NAN], ValueError, "2 missing"),
    "None": ([0, 1, None, 1], ValueError, "1 missing"),
    "too short": ([0, 1], ValueError, "has 2 rows, but there are 4 scores"),
    "two columns": (np.zeros((4, 2)), ValueError, "one column"),
    "a number": (1, ValueError, "one value a row"),
    "pandas NA": (pd.array([0, 1, None, 1], dtype="Int64"), ValueError, "1 missing"),
    "mixed": ([0, 1, "yes", 1], ValueError, "0/1"),
    "lists": (np.array([[0], [1], [0, 1], [1]], dtype=object), TypeError, "plain values"),
}


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("entry", [audit, fit, curve])
def test_labels(entry, kind):
    value, error, message = LABELS[kind]
    with pytest.raises(error, match=message):
        entry(y=value)


GROUPS = {
    "None among them": (["F", None, "M", "M"], ValueError, "1 row without a group"),
    "NaN among them": (["F", NAN, "M", "M"], ValueError, "1 row without a group"),
    "NaN floats": ([0.0, NAN, 1.0, NAN], ValueError, "2 rows without a group"),
    "pandas NA": (pd.Series(["F", None, "M", "M"]), ValueError, "1 row without a group"),
    "polars null": (pl.Series(["F", None, None, "M"]), ValueError, "2 rows without a group"),
    "pandas category with NaN": (pd.Series(["F", None, "M", "M"], dtype="category"), ValueError, "1 row without"),
    "pyarrow null": (pa.array(["F", None, "M", "M"]), ValueError, "1 row without a group"),
    "not a time": (np.array(["2020", "NaT", "2020", "2021"], dtype="datetime64[Y]"), ValueError, "1 row without"),
    "too short": (["F", "M"], ValueError, "has 2 rows, but there are 4 scores"),
    "missing": (None, TypeError, "sensitive_features is missing"),
    "a string": ("sex", TypeError, "got str"),
    "lists": ([["F"], ["M"], [[1]], ["M"]], (TypeError, ValueError), "sensitive_features"),
    "one column has a gap": (
        pd.DataFrame({"sex": ["F", None, "M", "M"], "age": [1, 2, 1, 2]}),
        ValueError,
        r"\['sex'\] has 1",
    ),
    "a dict with a short column": ({"sex": ["F", "M"]}, ValueError, r"\['sex'\] has 2 rows"),
    "masked": (np.ma.masked_array([1, 2, 1, 2], [0, 1, 0, 0]), ValueError, "1 masked"),
    "structs": (pl.Series([{"a": 1}, {"a": 2}, {"a": 1}, {"a": 2}]), TypeError, "plain values"),
    "commas": (np.array([["a, b", "c"], ["a", "b, c"]] * 2), ValueError, "both read 'a, b, c'"),
    "an empty dict": ({}, ValueError, "empty dict"),
    "values that read alike": (np.array([[1, "x"], ["1", "x"], [1, "y"], ["1", "y"]], dtype=object), ValueError, "al"),
}


@pytest.mark.parametrize("kind", GROUPS)
@pytest.mark.parametrize("entry", [audit, fit, apply, curve])
def test_groups(entry, kind):
    value, error, message = GROUPS[kind]
    with pytest.raises(error, match=message):
        entry(g=value)


WEIGHTS = {
    "negative": ([1, -1, -2, 1], ValueError, "2 negative rows, the least is -2"),
    "NaN": ([1, NAN, 1, 1], ValueError, "1 missing or infinite"),
    "infinite": ([1, np.inf, 1, 1], ValueError, "1 missing or infinite"),
    "all zero": ([0, 0, 0, 0], ValueError, "0 in every row"),
    "zero in a group": ([0, 1, 0, 1], ValueError, "0 in all rows of the group 'F'"),
    "too short": ([1, 1], ValueError, "2 rows, but there are 4"),
    "text": (["a", "b", "c", "d"], TypeError, "must be numbers"),
    "booleans": ([True, True, True, True], TypeError, "pass the weight itself"),
    "None": ([1, None, 1, 1], ValueError, "every row needs a weight"),
    "vanishing": ([1e-200] * 4, ValueError, "divide all weights by their mean"),
    "overflowing": ([1e200] * 4, ValueError, "divide all weights by their mean"),
}


@pytest.mark.parametrize("kind", WEIGHTS)
def test_weights(kind):
    value, error, message = WEIGHTS[kind]
    with pytest.raises(error, match=message):
        fit(w=value)
    with pytest.raises(error, match=message):
        audit(sample_weight=value)


def test_empty_input():
    for call in (
        lambda: auc([], []),
        lambda: xauc_gap([], [], sensitive_features=[]),
        lambda: FairPOT().fit([], [], sensitive_features=[]),
        lambda: fit().transform([], sensitive_features=[]),
        lambda: fit().transform(pd.Series([], dtype=float), sensitive_features=pd.Series([], dtype=str)),
    ):
        with pytest.raises(ValueError, match="empty"):
            call()


def test_a_single_group():
    for entry in (audit, fit):
        with pytest.raises(ValueError, match="a single group, 'F', in all 4 rows"):
            entry(g=["F"] * 4)


@pytest.mark.parametrize("top", [0, -1, 1.01, NAN])
def test_top_out_of_range(top):
    with pytest.raises(
        ValueError, match=r"top must be a whole number of rows, at least 1, or a share in \(0, 1\], got"
    ):
        auc(Y, S, top=top)
    with pytest.raises(ValueError, match="top"):
        xauc_gap(Y, S, top=top, sensitive_features=G)


@pytest.mark.parametrize("top", ["0.1", True, [0.1]])
def test_top_of_the_wrong_type(top):
    with pytest.raises(TypeError, match=r"top must be a whole number of rows or a share in \(0, 1\], got"):
        auc(Y, S, top=top)


def test_options_by_name():
    with pytest.raises(ValueError, match="ties must be one of 'strict', 'half', got 'max'"):
        auc(Y, S, ties="max")
    with pytest.raises(ValueError, match="top_of must be one of"):
        auc(Y, S, top=0.5, top_of="top", sensitive_features=G)
    with pytest.raises(ValueError, match="pos_label='maybe' is not in y_true, which holds 'no', 'yes'"):
        auc(["no", "yes", "no", "yes"], S, pos_label="maybe")
    with pytest.raises(ValueError, match="two values, got 3"):
        auc(["no", "yes", "no", "perhaps"], S, pos_label="yes")
    with pytest.raises(ValueError, match=r"negative='X' is not among the groups"):
        xauc(Y, S, sensitive_features=G, positive="F", negative="X")


@pytest.mark.parametrize("lams", [[0.5, 2], [], ["a"], [NAN], {"F": [0.1]}, {"X": [0.1]}])
def test_bad_grids(lams):
    with pytest.raises((ValueError, TypeError), match="lams"):
        fit(reference="F").tradeoff(S, Y, sensitive_features=G, lams=lams)


def test_unseen_groups_of_another_type():
    fp = fit(g=[0, 1, 0, 1])
    with pytest.raises(UnseenGroupError, match=r"\['0', '1'\] \(seen: \[0, 1\]\)"):
        fp.transform(S, sensitive_features=["0", "1", "0", "1"])


def test_names_that_are_not_names():
    with pytest.raises(TypeError, match="pos_label must be one label, got ndarray"):
        auc(["a", "b", "a", "b"], S, pos_label=np.array(["a"]))
    with pytest.raises(TypeError, match="positive must be the name of one group, got ndarray"):
        xauc(Y, S, sensitive_features=G, positive=np.array(["F", "M"]), negative="M")
    with pytest.raises(TypeError, match="reference must be the name of one group"):
        fit(reference=np.array(["F", "M"]))


def test_frames_with_numbered_columns():
    expected = audit()
    assert audit(s=pd.DataFrame(S)) == audit(g=pd.DataFrame(G)) == expected
    moved = fit().transform(pd.DataFrame(S, index=list("abcd")), sensitive_features=pd.DataFrame(G))
    assert moved.columns.tolist() == [0]
    assert moved.index.tolist() == list("abcd")


def test_other_columns_in_transform():
    frame = pd.DataFrame({"sex": G, "old": [0, 1, 1, 0]})
    fp = fit(lam=0.4, reference="sex=F, old=0", g=frame)
    with pytest.raises(UnseenGroupError, match="pass all columns of fit, by name or in the same order"):
        fp.transform(S, sensitive_features=frame.assign(town="x"))
    with pytest.raises(UnseenGroupError, match="pass all columns of fit"):
        fp.transform(S, sensitive_features=frame[["old", "sex"]].to_numpy())


def test_numbers_that_are_fine():
    expected = audit()
    assert audit(s=[decimal.Decimal(str(v)) for v in S]) == expected
    assert audit(s=np.array(S, dtype=np.float16)) == expected
    assert audit(s=[1, 3, 2, 4]) == expected
    assert audit(s=np.array(S)[:, None]) == expected
    assert audit(s=np.array(S, dtype=object)) == expected
    assert audit(y=[False, False, True, True]) == audit(y=[0.0, 0.0, 1.0, 1.0]) == expected
    assert audit(y=np.array([0, 0, 1, 1], dtype=np.uint8)) == expected
    assert audit(y=pd.array([0, 0, 1, 1], dtype="Int64")) == expected


LONG = [decimal.Decimal("0.1000000000000000000001"), decimal.Decimal("0.1"), decimal.Decimal("0.3")]


@pytest.mark.parametrize(
    "scores",
    [
        LONG,
        np.array(LONG, dtype=object),
        pa.array(LONG, type=pa.decimal256(60, 30)),
        pd.Series(LONG),
        [Fraction(1, 3), Fraction(1, 3) + Fraction(1, 10**20), Fraction(1, 2)],
        np.array([1, 1, 2], dtype=np.longdouble) + np.array([0, 2.0**-60, 0], dtype=np.longdouble),
        [decimal.Decimal(2**53), decimal.Decimal(2**53 + 1), decimal.Decimal(1)],
    ],
)
def test_scores_that_doubles_would_tie(scores):
    with pytest.raises(ValueError, match="1 values that differ from others only beyond the 16 digits"):
        auc([0, 1, 1], scores)


@pytest.mark.parametrize("kind", [pa.decimal128(38, 10), pa.decimal256(60, 30)])
def test_decimals_are_numbers(kind):
    scores = pa.array([decimal.Decimal(v) for v in ("0.1", "0.2", "0.2", "0.4")], type=kind)
    assert auc([0, 1, 0, 1], scores, ties="half") == auc([0, 1, 0, 1], [0.1, 0.2, 0.2, 0.4], ties="half")
    weighted = auc([0, 1, 0, 1], [4, 2, 3, 1], sample_weight=scores, ties="half")
    assert weighted == auc([0, 1, 0, 1], [4, 2, 3, 1], sample_weight=[0.1, 0.2, 0.2, 0.4], ties="half")


def test_integers_that_only_look_small():
    huge = np.array([np.int64(2**53 + 1), np.int64(2**53), 1], dtype=object)
    with pytest.raises(ValueError, match=r"integers beyond 2\*\*53"):
        auc([0, 1, 1], huge)
