"""The door for columns: rows in memory, checked and counted into a table, whatever is known of them."""

from __future__ import annotations

import decimal
import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from fairpot._defaults import MEANINGS, WEIGHTS, Meaning, Weights
from fairpot._validation import (
    Rows,
    check_alignment,
    check_choice,
    check_clusters,
    check_rows,
    without_missing,
    wording,
)
from fairpot._validation.columns import is_frame
from fairpot._validation.groups import group_columns
from fairpot._warn import warn_user
from fairpot.counts import Indices, Units
from fairpot.table import ScoreTable


def as_table(
    y_true: Any,
    y_score: Any = None,
    *,
    sensitive_features: Any = None,
    sample_weight: Any = None,
    clusters: Any = None,
    weights: str | None = None,
    pos_label: Any = None,
    lower_is_riskier: bool = False,
    high_score_means: Meaning | None = None,
    grouped: bool = True,
    labelled: bool = True,
    names: tuple[str, ...] = ("y_true", "y_score"),
    order: str | None = None,
    drop_missing: bool = False,
) -> ScoreTable:
    """Count rows; a table stays as it is.

    Rows are told as to :func:`fairpot.score_table`. Without ``grouped`` all rows are one group, "all", and without
    ``labelled`` outcomes may be missing. ``names`` are what messages call outcomes, scores and, where that is not the
    usual, groups, weights and clusters; ``order`` is what they say where outcomes and scores look swapped.
    """
    names = (*names, *("sensitive_features", "sample_weight", "clusters")[len(names) - 2 :])
    columns = dict(zip(names, (y_true, y_score, sensitive_features, sample_weight, clusters)))
    meaning = {"weights": weights, "pos_label": pos_label, "lower_is_riskier": lower_is_riskier or None}
    for own in names[:2]:
        table = columns[own]
        if isinstance(table, ScoreTable):
            given = {**columns, own: None, **meaning, "drop_missing": drop_missing or None}
            return refuse_beside_table(table, given).meaning(high_score_means)
    if labelled and y_true is None:
        raise TypeError(f"{names[0]} is missing.\nHint: pass the outcome of each row, 0 or 1.")
    if y_score is None and is_frame(y_true):
        raise TypeError(
            f"{names[1]} is missing, and {names[0]} is a frame with several columns.\n"
            "Hint: say which column is which, score_table(frame, score=..., label=..., group=...), and pass that."
        )
    check_weights_word(weights)
    check_meaning(high_score_means)
    if drop_missing:
        check_alignment(**columns)
        columns, dropped = without_missing(columns)
    y_true, y_score, sensitive_features, sample_weight, clusters = columns.values()
    rows = check_rows(
        y_score,
        y_true,
        sensitive_features,
        sample_weight,
        grouped=grouped,
        pos_label=pos_label,
        names=names[:4],
        order=order,
        beside={} if clusters is None else {names[4]: clusters},
    )
    if drop_missing and dropped["rows"]:
        warn_user(wording.dropped_rows(dropped, len(rows.scores)), UserWarning)
    table = count(rows, clusters=clusters, weights=weights, lower_is_riskier=lower_is_riskier, name=names[4])
    named = group_columns(sensitive_features) if grouped else ()
    return replace(table, group_columns=named).meaning(high_score_means)


def check_weights_word(weights: str | None) -> Weights:
    """Check what weights are said to mean; unless something is said, how much a row counts."""
    if weights is not None and not isinstance(weights, str):
        raise TypeError(
            f"weights must be one of {', '.join(map(repr, WEIGHTS))}, got {wording.got(weights)}.\n"
            "Hint: weights says what the weights mean; the weight of each row goes to sample_weight=..."
        )
    return "importance" if weights is None else cast(Weights, check_choice(weights, "weights", WEIGHTS))


def check_meaning(high_score_means: str | None) -> Meaning | None:
    """Check what a high score is said to do to a person; None where nothing is said."""
    if high_score_means is None:
        return None
    return cast(Meaning, check_choice(high_score_means, "high_score_means", MEANINGS))


def count(
    rows: Rows,
    *,
    clusters: Any = None,
    weights: str | None = None,
    lower_is_riskier: bool = False,
    name: str = "clusters",
) -> ScoreTable:
    """Count checked rows, with what their weights mean, which of them belong together and where high risk is."""
    if lower_is_riskier:
        rows = rows._replace(scores=0.0 - rows.scores)
    unit, units = (None, None) if clusters is None else _units(clusters, len(rows.scores), name)
    square = ones = None
    if rows.weight is not None:
        ones = np.ones(len(rows.weight), dtype=np.int64)
        square = rows.weight.astype(np.float64) ** 2 if check_weights_word(weights) == "importance" else None
    known: dict[str, Any] = {"unit": unit, "units": units, "rows": ones, "lower_is_riskier": lower_is_riskier}
    return ScoreTable.from_rows(*rows, square=square, **known)


def refuse_beside_table(table: ScoreTable, given: Mapping[str, Any]) -> ScoreTable:
    """Return a table, and refuse columns, or what is said of them, beside it."""
    extra = [name for name, value in given.items() if value is not None]
    if extra:
        raise TypeError(
            f"a ScoreTable holds scores, outcomes, groups, weights and clusters: {extra[0]} cannot be given besides.\n"
            f"Hint: count the rows with it, score_table(..., {extra[0]}=...)."
        )
    return table


def _units(clusters: Any, rows: int, name: str) -> tuple[Indices, Units]:
    codes, names = check_clusters(clusters, rows, name)
    return number_units(codes, hash_names(names))


def number_units(codes: NDArray[Any], hashes: NDArray[np.uint64]) -> tuple[Indices, Units]:
    """Number units in the order of their hashes, given the hash of each code."""
    distinct, place = np.unique(hashes, return_inverse=True)
    return place.astype(np.intp)[codes], Units(len(distinct), distinct)


def hash_names(names: Iterable[Any]) -> NDArray[np.uint64]:
    """Hash names of clusters by their text, the same wherever they come from: 12, 12.0 and "12" are one patient."""
    listed = list(names)
    whole = set(map(type, listed)) <= {int}
    texts = map(str, listed) if whole else [n if type(n) is str and _is_plain(n) else plain_text(n) for n in listed]
    digest = hashlib.blake2b
    hashed = [digest(text.encode("utf-8", "surrogatepass"), digest_size=8).digest() for text in texts]
    return np.frombuffer(b"".join(hashed), dtype="<u8").astype(np.uint64)


def _is_plain(text: str) -> bool:
    """Whether a text is a whole number as it is usually written, as most names are."""
    return text.isdigit() and text.isascii() and text[0] != "0"


_NUMBER = re.compile(r"\s*([+-]?)([0-9]+)(?:\.([0-9]*))?\s*", re.ASCII)
_FLAGS = {"true": "true", "True": "true", "TRUE": "true", "false": "false", "False": "false", "FALSE": "false"}


def plain_text(name: Any) -> str:
    """Write a name so that a number is the same text whether a file ("012", "12.0") or memory (12) holds it."""
    if isinstance(name, str):
        text = name
    elif isinstance(name, bool | np.bool_):
        return "true" if name else "false"
    elif isinstance(name, float | np.floating):
        value = float(name)
        text = str(int(value)) if value.is_integer() else format(decimal.Decimal(repr(value)), "f")
    else:
        text = format(name, "f") if isinstance(name, decimal.Decimal) else str(name)
    if _is_plain(text):
        return text
    number = _NUMBER.fullmatch(text)
    if number is None:
        return _FLAGS.get(text, text)
    sign, whole, rest = number[1], number[2].lstrip("0") or "0", (number[3] or "").rstrip("0")
    value_text = f"{whole}.{rest}" if rest else whole
    return f"-{value_text}" if sign == "-" and value_text != "0" else value_text
