"""Exports: what fitted maps can be written as, for places without fairpot."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from sklearn.utils.validation import check_is_fitted

from fairpot.export import RowScorer, SimplifiedMaps, simplify, to_javascript, to_onnx, to_python, to_sql
from fairpot.table import ScoreTable
from fairpot.transport import ScoreMap


class Exports:
    """The exports of :mod:`fairpot.export` as methods of whatever has fitted maps.

    All of them see one row at a time, and refuse maps that look at all rows of a batch.
    """

    maps_: dict[Hashable, ScoreMap]
    row_by_row: Any

    def to_sql(self, dialect: str, **options: Any) -> str:
        """Write the maps as SQL; ``options`` as for :func:`fairpot.export.to_sql`."""
        return to_sql(self._maps_of_a_row(), dialect=dialect, **options)

    def to_onnx(self, model: Any = None, **options: Any) -> Any:
        """Write the maps as an ONNX model, behind ``model`` if there is one; see :func:`fairpot.export.to_onnx`."""
        return to_onnx(self._maps_of_a_row(), model=model, **options)

    def to_python(self, **options: Any) -> str:
        """Write the maps as a Python module; see :func:`fairpot.export.to_python`."""
        return to_python(self._maps_of_a_row(), **options)

    def to_javascript(self, **options: Any) -> str:
        """Write the maps as a JavaScript file; see :func:`fairpot.export.to_javascript`."""
        return to_javascript(self._maps_of_a_row(), **options)

    def row_scorer(self, **options: Any) -> RowScorer:
        """Return a function of one score and its group; see :class:`fairpot.export.RowScorer`."""
        return RowScorer(self._maps_of_a_row(), **options)

    def simplify(
        self, *, max_error: float | None = None, max_knots: int | None = None, keep_ranks: bool = False
    ) -> SimplifiedMaps:
        """Return maps with fewer knots, which every export takes; see :func:`fairpot.export.simplify`.

        Parameters
        ----------
        max_error : float >= 0 or None, default None
        max_knots : int >= 2 or None, default None
        keep_ranks : bool, default False
            Whether all fitted rows stay in their order, ties included. That needs the fitted table, which a model
            that comes from a file does not have.
        """
        maps = self._maps_of_a_row()
        table: ScoreTable | None = getattr(self, "table_", None)
        if keep_ranks and table is None:
            raise ValueError(
                "a model file keeps the maps, not the rows whose ranks are to be kept.\n"
                "Hint: simplify the fitted model, or call fairpot.export.simplify with keep_ranks_of=a score table."
            )
        return simplify(maps, max_error=max_error, max_knots=max_knots, keep_ranks_of=table if keep_ranks else None)

    def _maps_of_a_row(self) -> Mapping[Hashable, ScoreMap]:
        check_is_fitted(self, "maps_")
        if not self.row_by_row:
            raise ValueError(
                "these maps look at all rows that are transformed together, and an export sees one row at a time.\n"
                "Hint: fit again with region_from='fitted' or distributions='fitted', or use transform on the batch."
            )
        if getattr(self, "lower_is_riskier_", False):
            return {group: each.reflected() for group, each in self.maps_.items()}
        return self.maps_
