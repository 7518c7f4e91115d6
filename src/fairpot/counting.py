"""The door for columns: rows in memory, checked and counted into a table, whatever is known of them."""

from __future__ import annotations

import decimal
import hashlib
import re
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairpot._defaults import WEIGHTS
from fairpot._validation import Rows, check_choice, check_clusters, check_rows
from fairpot.table import Indices, ScoreTable, Units


def as_table(
    y_true: Any,
    y_score: Any = None,
    *,
    sensitive_features: Any = None,
    sample_weight: Any = None,
    clusters: Any = None,
    weights: str | None = None,
    pos_label: Any = None,
    grouped: bool = True,
    labelled: bool = True,
    names: tuple[str, str] = ("y_true", "y_score"),
    order: str | None = None,
) -> ScoreTable:
    """Count rows; a table stays as it is.

    Parameters
    ----------
    y_true, y_score, sensitive_features, sample_weight, clusters, weights, pos_label
        As in :func:`fairpot.score_table`; ``y_true`` may be a :class:`ScoreTable`, which is everything.
    grouped : bool, default True
        Whether groups are needed; if not, all rows are one group, "all".
    labelled : bool, default True
        Whether outcomes are needed.
    names : pair of str
        What outcomes and scores are called in messages.
    order : str or None, default None
        What to say where they look swapped; None tells the order that ``names`` have.

    Examples
    --------
    >>> table = as_table([0, 1, 1], [0.3, 0.9, 0.3], sample_weight=[1.5, 1, 2], weights="importance", grouped=False)
    >>> table.counts[0].positive, table.counts[0].squared(True)
    (array([2., 1.]), array([4., 1.]))
    """
    given = {
        "sensitive_features": sensitive_features,
        "sample_weight": sample_weight,
        "clusters": clusters,
        "weights": weights,
        "pos_label": pos_label,
    }
    for table, name, other in ((y_true, names[1], y_score), (y_score, names[0], y_true)):
        if isinstance(table, ScoreTable):
            return _alone(table, {name: other, **given})
    if labelled and y_true is None:
        raise TypeError(f"{names[0]} is missing: pass the outcome of each row, 0 or 1.")
    check_weights_word(weights)
    rows = check_rows(
        y_score,
        y_true,
        sensitive_features,
        sample_weight,
        grouped=grouped,
        pos_label=pos_label,
        names=names,
        order=order,
        beside={} if clusters is None else {"clusters": clusters},
    )
    return count(rows, clusters=clusters, weights=weights)


def check_weights_word(weights: str | None) -> str:
    """Check what weights are said to mean; nothing said is "frequency"."""
    return check_choice("frequency" if weights is None else weights, "weights", WEIGHTS)


def count(rows: Rows, *, clusters: Any = None, weights: str | None = None) -> ScoreTable:
    """Count checked rows, with what their weights mean and which of them belong together."""
    unit, units = (None, None) if clusters is None else _units(clusters, len(rows.scores))
    square = None
    if check_weights_word(weights) == "importance" and rows.weight is not None:
        square = rows.weight.astype(np.float64) ** 2
    return ScoreTable.from_rows(*rows, square=square, unit=unit, units=units)


def _alone(table: ScoreTable, given: dict[str, Any]) -> ScoreTable:
    """Refuse columns beside a table."""
    extra = [name for name, value in given.items() if value is not None]
    if extra:
        raise TypeError(
            f"a ScoreTable holds scores, outcomes, groups, weights and clusters: {extra[0]} cannot be given besides.\n"
            f"Hint: count the rows with it, score_table(..., {extra[0]}=...)."
        )
    return table


def _units(clusters: Any, rows: int) -> tuple[Indices, Units]:
    codes, names = check_clusters(clusters, rows)
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
    """Write a name so that a number is the same text whether a file, a frame or a list holds it.

    A text file says "012", "12.0" or "12" where memory has 12: what is written as a number is that number.

    Examples
    --------
    >>> [plain_text(name) for name in (12, 12.0, "12", "012", "12.50", True, "A-012")]
    ['12', '12', '12', '12', '12.5', 'true', 'A-012']
    """
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
