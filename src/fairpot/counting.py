"""The door for columns: rows in memory, checked and counted into a table, whatever is known of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairpot._defaults import WEIGHTS
from fairpot._validation import Rows, check_choice, check_groups, check_rows
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
    codes, names = check_groups(clusters, rows, "clusters", several=False)
    return number_units(codes, hash_names(names))


def number_units(codes: NDArray[Any], hashes: NDArray[np.uint64]) -> tuple[Indices, Units]:
    """Number units in the order of their hashes, given the hash of each code."""
    distinct, place = np.unique(hashes, return_inverse=True)
    return place.astype(np.intp)[codes], Units(len(distinct), distinct)


def hash_names(names: Iterable[Any]) -> NDArray[np.uint64]:
    """Hash names of clusters by their text, the same wherever they come from: 12, 12.0 and "12" are one patient."""
    return np.fromiter((_hash(name) for name in names), dtype=np.uint64)


def _hash(name: Any) -> int:
    if isinstance(name, float | np.floating) and float(name).is_integer():
        name = int(name)
    return int.from_bytes(hashlib.blake2b(str(name).encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
