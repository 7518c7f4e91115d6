"""Rows: scores, labels, groups and weights that fit together."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairpot._validation.columns import as_column
from fairpot._validation.groups import check_groups
from fairpot._validation.labels import check_labels
from fairpot._validation.scores import check_scores, to_floats

# Products of four weights must neither vanish nor overflow.
_LEAST = 1e-70


class Rows(NamedTuple):
    """Clean columns: what :meth:`fairpot.table.ScoreTable.from_rows` takes."""

    scores: NDArray[np.float64]
    labels: NDArray[np.int8] | None
    codes: NDArray[Any] | None
    groups: tuple[Hashable, ...]
    weight: NDArray[Any] | None

    def copy(self) -> Rows:
        """Return rows that do not change when the caller's arrays do."""
        weight = None if self.weight is None else self.weight.copy()
        return self._replace(scores=self.scores.copy(), weight=weight)  # the others are never the caller's

    def equals(self, other: Rows) -> bool:
        """Whether these are the same rows in the same order."""
        pairs = ((self.scores, other.scores), (self.labels, other.labels), (self.codes, other.codes))
        return self.groups == other.groups and all(
            np.array_equal(a, b) if a is not None and b is not None else a is b
            for a, b in (*pairs, (self.weight, other.weight))
        )


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
    clean = check_scores(scores, names[1])
    labels = None if y is None else check_labels(y, len(clean), names[0], pos_label)
    codes, groups = check_groups(sensitive_features, len(clean)) if grouped else (None, ("all",))
    weight = None if sample_weight is None else _check_weight(sample_weight, len(clean))
    if weight is not None and codes is not None:
        weighs = np.bincount(codes, weights=weight > 0, minlength=len(groups))
        empty = [g for g, rows in zip(groups, weighs) if not rows]
        if empty:
            raise ValueError(f"sample_weight is 0 in all rows of the group {empty[0]!r}.\nHint: drop those rows.")
    return Rows(clean, labels, codes, groups, weight)


def _check_weight(sample_weight: Any, rows: int) -> NDArray[Any]:
    """Check weights; whole numbers become int64, so that they count exactly like repeated rows."""
    array = as_column(sample_weight, "sample_weight")
    if len(array) != rows:
        raise ValueError(f"sample_weight has {len(array)} rows, but there are {rows} scores.")
    weight = to_floats(array, "sample_weight", "weight")
    bad = ~np.isfinite(weight)
    if bad.any():
        raise ValueError(f"sample_weight has {int(bad.sum())} missing or infinite rows.")
    if (weight < 0).any():
        raise ValueError(
            f"sample_weight has {int((weight < 0).sum())} negative rows, the least is {weight.min():g}; "
            "weights count rows and cannot be below 0."
        )
    if not weight.any():
        raise ValueError("sample_weight is 0 in every row.")
    least, most = weight[weight > 0].min(), weight.max()
    if least < _LEAST or most > 1 / _LEAST:
        raise ValueError(
            f"sample_weight goes from {least:.3g} to {most:.3g}, beyond what products of weights can hold.\n"
            "Hint: divide all weights by their mean; only their proportions matter."
        )
    if weight.sum() < 2**53 and (weight == np.floor(weight)).all():
        return weight.astype(np.int64)
    return weight
