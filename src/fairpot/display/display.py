"""What all Displays share: the ways to make one, and the table behind the picture."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fairpot._optional import make_frame
from fairpot.metrics import score_table
from fairpot.table import ScoreTable

Maps = Mapping[Hashable, Callable[[NDArray[np.float64]], NDArray[np.float64]]]
Columns = dict[str, NDArray[Any]]
BEFORE, AFTER = "before", "after"


@dataclass(frozen=True, eq=False)
class Display:
    """A picture as the tidy table it is drawn from.

    Attributes
    ----------
    columns : dict of name to array
        The table, one array a column, all of the same length.
    """

    columns: Columns

    def frame(self) -> Any:
        """Return the table behind the picture (pandas, Polars or PyArrow, whichever is in use)."""
        return make_frame(self.columns)

    def plot(self, ax: Any = None) -> Any:
        """Draw."""
        raise NotImplementedError

    def where(self, **values: Any) -> Columns:
        """Return the rows in which columns have these values.

        Examples
        --------
        >>> Display({"group": np.array(["F", "M"]), "share": np.array([0.4, 0.6])}).where(group="M")["share"]
        array([0.6])
        """
        keep = np.ones(len(next(iter(self.columns.values()))), dtype=bool)
        for name, value in values.items():
            keep &= self.columns[name] == value
        return {name: column[keep] for name, column in self.columns.items()}

    def values(self, name: str) -> list[Any]:
        """List the different values of a column in the order in which they come."""
        return list(dict.fromkeys(self.columns[name].tolist()))


class TableDisplay(Display):
    """A Display of a score table, and with maps of what they make of it."""

    @classmethod
    def from_table(cls, table: ScoreTable, maps: Maps | None = None) -> Self:
        """Make the display of counted rows, before and, with maps, after a repair."""
        raise NotImplementedError

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_score: Any,
        *,
        sensitive_features: Any,
        sample_weight: Any = None,
        pos_label: Any = None,
        maps: Maps | None = None,
        **options: Any,
    ) -> Self:
        """Make the display of rows.

        Parameters
        ----------
        y_true, y_score, sensitive_features, sample_weight, pos_label
            As in :func:`fairpot.metrics.xauc_gap`.
        maps : dict of group to ScoreMap, default None
            Also show what these make of the scores, such as ``fp.maps_``.
        **options
            Those of ``from_table``.
        """
        weights = {"sample_weight": sample_weight, "pos_label": pos_label}
        table = score_table(y_true, y_score, sensitive_features=sensitive_features, **weights)
        make: Any = cls.from_table  # each display has options of its own
        return make(table, maps, **options)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        scores: Any = None,
        y: Any = None,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        **options: Any,
    ) -> Self:
        """Make the display of what a fitted post-processor does, before and after.

        Parameters
        ----------
        estimator : fitted post-processor, such as FairPOT
        scores, y, sensitive_features, sample_weight
            The rows to show it on, as in its ``fit``. Without any of them: the fitted rows.
        **options
            Those of ``from_table``.
        """
        table = table_of(estimator, scores, y, sensitive_features, sample_weight)
        make: Any = cls.from_table
        return make(table, estimator.maps_for(table), **options)


def table_of(estimator: Any, scores: Any, y: Any, sensitive_features: Any, sample_weight: Any) -> ScoreTable:
    """Count the rows to show an estimator on; without any, take those it was fitted on."""
    if all(given is None for given in (scores, y, sensitive_features, sample_weight)):
        table = getattr(estimator, "table_", None)
        if table is None:
            raise ValueError(
                f"this {type(estimator).__name__} does not keep the rows it was fitted on.\n"
                "Hint: pass scores, y and sensitive_features."
            )
        return table
    if isinstance(scores, ScoreTable):
        return scores
    pos_label = getattr(estimator, "pos_label", None)
    weights = {"sample_weight": sample_weight, "pos_label": pos_label}
    return score_table(y, scores, sensitive_features=sensitive_features, **weights)


def states(table: ScoreTable, maps: Maps | None) -> dict[str, ScoreTable]:
    """Return the table before and, with maps, after they are applied."""
    if not table.labelled:
        raise ValueError("this picture shows outcomes, and the table has no labels.\nHint: count rows with y_true.")
    if maps is None:
        return {BEFORE: table}
    return {BEFORE: table, AFTER: table.rescored(maps)}


def stack(parts: Sequence[Mapping[str, Any]]) -> Columns:
    """Put parts with the same columns under one another; a single value stands in every row of its part."""
    whole = []
    for part in parts:
        size = max((len(v) for v in part.values() if isinstance(v, np.ndarray)), default=1)
        whole.append({name: _filled(value, size) for name, value in part.items()})
    return {name: np.concatenate([part[name] for part in whole]) for name in whole[0]}


def _filled(value: Any, size: int) -> NDArray[Any]:
    if isinstance(value, np.ndarray):
        return value
    return np.full(size, value, dtype=object if isinstance(value, str) else None)
