"""Rows: scores, labels, groups and weights that fit together; and rows that are already counted."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairpot._defaults import MOST_GROUPS
from fairpot._validation import wording
from fairpot._validation.columns import as_column, check_alignment
from fairpot._validation.grouping import Grouping
from fairpot._validation.groups import check_groups
from fairpot._validation.values import bad_scores, check_labels, check_scores, swapped_values, to_floats

Counts = NDArray[np.int64]
# Products of four weights must neither vanish nor overflow.
_LEAST = 1e-70


def check_counted_scores(
    scores: NDArray[np.float64], rows: Counts | None, name: str, *, whole: bool = False, noun: str = "score"
) -> None:
    """Check distinct scores, ``rows`` of each (None: one); missing ones are NaN. See :func:`bad_scores`."""
    if len(scores) == 0:
        raise ValueError(wording.empty(name))
    if not np.abs(scores).max() < wording.LARGEST:
        raise ValueError(bad_scores(scores, rows, name, whole=whole, noun=noun))


def check_weights(weight: NDArray[np.float64], rows: Counts, name: str) -> None:
    """Check distinct weights, ``rows`` of each; missing ones are NaN."""
    bad = ~np.isfinite(weight)
    if bad.any():
        raise ValueError(f"{name} has {wording.counted(int(rows[bad].sum()), 'missing or infinite row')}.")
    below = weight < 0
    if below.any():
        raise ValueError(
            f"{name} has {wording.counted(int(rows[below].sum()), 'negative row')}, the least is {weight.min():g}; "
            "weights count rows and cannot be below 0."
        )
    if not weight.any():
        raise ValueError(f"{name} is 0 in every row.")
    least, most = weight[weight > 0].min(), weight.max()
    if least < _LEAST or most > 1 / _LEAST:
        raise ValueError(
            f"{name} goes from {least:.3g} to {most:.3g}, beyond what products of weights can hold.\n"
            "Hint: divide all weights by their mean; only their proportions matter."
        )


def check_weight_of_groups(total: NDArray[Any], groups: Sequence[Hashable], name: str) -> None:
    empty = [group for group, weight in zip(groups, total) if not weight > 0]
    if empty:
        raise ValueError(f"{name} is 0 in all rows of the group {empty[0]!r}.\nHint: drop those rows.")


class Rows(NamedTuple):
    """Clean columns: what :meth:`fairpot.table.ScoreTable.from_rows` takes."""

    scores: NDArray[np.float64]
    labels: NDArray[np.int8] | None
    codes: NDArray[Any] | None
    groups: tuple[Hashable, ...]
    weight: NDArray[Any] | None
    grouping: Grouping | None = None


def check_rows(
    scores: Any,
    y: Any = None,
    sensitive_features: Any = None,
    sample_weight: Any = None,
    *,
    grouped: bool = True,
    pos_label: Any = None,
    names: tuple[str, ...] = ("y", "scores"),
    beside: Mapping[str, Any] | None = None,
    order: str | None = None,
    grouping: Grouping | None = None,
    several: bool = True,
) -> Rows:
    """Check what describes the rows; ``y`` None means that labels are not known.

    Unless ``several`` groups are needed, there may be a single one.

    ``names`` are what the caller knows the labels and the scores by, and tell in which order they came, and, where that
    is not the usual, groups and weights; ``order`` says in other words, for the hint where they look swapped, which
    order is right. ``beside`` are further columns of the same rows, by their names: they must be in the same order.
    ``grouping`` is what is said of the values of group columns; it comes back with the names of bands.
    """
    of_y, of_scores, of_groups, of_weight = (*names, *("sensitive_features", "sample_weight")[len(names) - 2 :])
    given = {of_scores: scores, of_y: y, of_groups: sensitive_features, of_weight: sample_weight}
    check_alignment(**given, **(beside or {}))
    try:
        clean = check_scores(scores, of_scores)
        labels = None if y is None else check_labels(y, len(clean), of_y, pos_label)
    except (TypeError, ValueError):
        _refuse_swapped(y, scores, (of_y, of_scores), order)
        raise
    codes: NDArray[Any] | None = None
    groups: tuple[Hashable, ...] = ("all",)
    if grouped:
        read = partial(check_groups, grouping=grouping, most=MOST_GROUPS, several=several)
        codes, groups, grouping = read(sensitive_features, len(clean), of_groups)
    weight = None if sample_weight is None else _check_weight(sample_weight, len(clean), of_weight)
    if weight is not None and codes is not None:
        check_weight_of_groups(np.bincount(codes, weights=weight > 0, minlength=len(groups)), groups, of_weight)
    return Rows(clean, labels, codes, groups, weight, grouping if grouped else None)


def _refuse_swapped(y: Any, scores: Any, names: tuple[str, str], order: str | None) -> None:
    """Say of columns that were refused that they look swapped, where they do."""
    try:
        labels, column = as_column(y, names[0]), as_column(scores, names[1])
    except (TypeError, ValueError):
        return
    values = swapped_values(labels, column) if len(labels) == len(column) else None
    if values is not None:
        raise ValueError(wording.swapped(*names, values, order or _right_order(*names))) from None


def _right_order(label: str, score: str) -> str:
    """Say in which order columns go; one whose outcomes are ``y_true`` takes them first, as metrics do."""
    if label.startswith("y_true"):
        first = f"({label}, {score}), the outcomes first"
        return f"the order is {first}; after a fitted model, and in methods of estimators, it is (scores, y)."
    return f"the order is ({score}, {label}), the scores first; without a model it is (y_true, y_score)."


def _check_weight(sample_weight: Any, rows: int, name: str) -> NDArray[Any]:
    """Check weights; whole numbers become int64, so that they count exactly like repeated rows."""
    array = as_column(sample_weight, name)
    if len(array) != rows:
        raise ValueError(wording.other_length(name, len(array), rows))
    weight = to_floats(array, name, "weight")
    check_weights(weight, np.ones(len(weight), dtype=np.int64), name)
    if weight.sum() < 2**53 and (weight == np.floor(weight)).all():
        return weight.astype(np.int64)
    return weight
