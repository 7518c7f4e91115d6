"""Rows: scores, labels, groups and weights that fit together."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairpot._validation import wording
from fairpot._validation.alignment import check_alignment
from fairpot._validation.columns import as_column
from fairpot._validation.counted import check_weights
from fairpot._validation.groups import check_groups
from fairpot._validation.labels import check_labels
from fairpot._validation.scores import check_scores, to_floats


class Rows(NamedTuple):
    """Clean columns: what :meth:`fairpot.table.ScoreTable.from_rows` takes."""

    scores: NDArray[np.float64]
    labels: NDArray[np.int8] | None
    codes: NDArray[Any] | None
    groups: tuple[Hashable, ...]
    weight: NDArray[Any] | None


def check_rows(
    scores: Any,
    y: Any = None,
    sensitive_features: Any = None,
    sample_weight: Any = None,
    *,
    grouped: bool = True,
    pos_label: Any = None,
    names: tuple[str, str] = ("y", "scores"),
) -> Rows:
    """Check what describes the rows; ``y`` None means that labels are not known."""
    given = {names[1]: scores, names[0]: y, "sensitive_features": sensitive_features, "sample_weight": sample_weight}
    check_alignment(**given)
    clean = check_scores(scores, names[1])
    labels = None if y is None else check_labels(y, len(clean), names[0], pos_label)
    codes, groups = check_groups(sensitive_features, len(clean)) if grouped else (None, ("all",))
    weight = None if sample_weight is None else _check_weight(sample_weight, len(clean))
    if weight is not None and codes is not None:
        weighs = np.bincount(codes, weights=weight > 0, minlength=len(groups))
        empty = [g for g, rows in zip(groups, weighs) if not rows]
        if empty:
            raise ValueError(wording.no_weight_in_group("sample_weight", empty[0]))
    return Rows(clean, labels, codes, groups, weight)


def _check_weight(sample_weight: Any, rows: int) -> NDArray[Any]:
    """Check weights; whole numbers become int64, so that they count exactly like repeated rows."""
    array = as_column(sample_weight, "sample_weight")
    if len(array) != rows:
        raise ValueError(f"sample_weight has {len(array)} rows, but there are {rows} scores.")
    weight = to_floats(array, "sample_weight", "weight")
    check_weights(weight, np.ones(len(weight), dtype=np.int64), "sample_weight")
    if weight.sum() < 2**53 and (weight == np.floor(weight)).all():
        return weight.astype(np.int64)
    return weight
