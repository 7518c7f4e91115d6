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
        """Write the maps as SQL, see :func:`fairpot.export.to_sql`.

        Parameters
        ----------
        dialect : {"postgres", "duckdb", "sqlite", "spark", "bigquery", "snowflake"}
            The database.
        **options
            Passed on to :func:`fairpot.export.to_sql`: ``score``, ``group``, ``table``, ``column``, ``unknown_group``,
            ``missing_group``, ``form``, ``pieces_table``.

        Returns
        -------
        str

        Examples
        --------
        >>> from fairpot import FairPOT
        >>> score, sex = [0.2, 0.4, 0.6, 0.8], ["F", "F", "M", "M"]
        >>> repair = FairPOT(lam=1.0, reference="M").fit(score, sensitive_features=sex)
        >>> "CASE" in repair.to_sql("duckdb", group="sex")
        True
        """
        return to_sql(self._maps_of_a_row(), dialect=dialect, **options)

    def to_onnx(self, model: Any = None, **options: Any) -> Any:
        """Write the maps as an ONNX model, after ``model`` if there is one; see :func:`fairpot.export.to_onnx`.

        Parameters
        ----------
        model : onnx.ModelProto or None, default None
            A model whose output is the score.
        **options
            Passed on to :func:`fairpot.export.to_onnx`: ``model_output``, ``score``, ``group``, ``output``,
            ``unknown_group``, ``missing_group``.

        Returns
        -------
        onnx.ModelProto

        Examples
        --------
        >>> from fairpot import FairPOT
        >>> score, sex = [0.2, 0.4, 0.6, 0.8], ["F", "F", "M", "M"]
        >>> repair = FairPOT(lam=1.0, reference="M").fit(score, sensitive_features=sex)
        >>> [each.name for each in repair.to_onnx().graph.output]
        ['score_adjusted']
        """
        return to_onnx(self._maps_of_a_row(), model=model, **options)

    def to_python(self, **options: Any) -> str:
        """Write the maps as a Python module, see :func:`fairpot.export.to_python`.

        Parameters
        ----------
        **options
            Passed on to :func:`fairpot.export.to_python`: ``name``, ``unknown_group``, ``missing_group``.

        Returns
        -------
        str

        Examples
        --------
        >>> from fairpot import FairPOT
        >>> score, sex = [0.2, 0.4, 0.6, 0.8], ["F", "F", "M", "M"]
        >>> repair = FairPOT(lam=1.0, reference="M").fit(score, sensitive_features=sex)
        >>> names = {}
        >>> exec(repair.to_python(), names)
        >>> names["adjusted_score"](0.4, "F")
        0.8
        """
        return to_python(self._maps_of_a_row(), **options)

    def to_javascript(self, **options: Any) -> str:
        """Write the maps as a JavaScript file, see :func:`fairpot.export.to_javascript`.

        Parameters
        ----------
        **options
            Passed on to :func:`fairpot.export.to_javascript`: ``name``, ``module``, ``unknown_group``,
            ``missing_group``.

        Returns
        -------
        str

        Examples
        --------
        >>> from fairpot import FairPOT
        >>> score, sex = [0.2, 0.4, 0.6, 0.8], ["F", "F", "M", "M"]
        >>> repair = FairPOT(lam=1.0, reference="M").fit(score, sensitive_features=sex)
        >>> "function adjustedScore(score, group)" in repair.to_javascript()
        True
        """
        return to_javascript(self._maps_of_a_row(), **options)

    def row_scorer(self, **options: Any) -> RowScorer:
        """Return a function of one score and its group, see :class:`fairpot.export.RowScorer`.

        Parameters
        ----------
        **options
            Passed on to :class:`fairpot.export.RowScorer`: ``unknown_group``, ``missing_group``.

        Returns
        -------
        RowScorer

        Examples
        --------
        >>> from fairpot import FairPOT
        >>> score, sex = [0.2, 0.4, 0.6, 0.8], ["F", "F", "M", "M"]
        >>> repair = FairPOT(lam=1.0, reference="M").fit(score, sensitive_features=sex)
        >>> repair.row_scorer()(0.4, "F")
        0.8
        """
        return RowScorer(self._maps_of_a_row(), **options)

    def simplify(
        self, *, max_error: float | None = None, max_knots: int | None = None, keep_ranks: bool = False
    ) -> SimplifiedMaps:
        """Return maps with fewer breakpoints, which every export takes; see :func:`fairpot.export.simplify`.

        Parameters
        ----------
        max_error : float >= 0 or None, default None
            No adjusted score may differ by more than this.
        max_knots : int >= 2 or None, default None
            No map may have more breakpoints.
        keep_ranks : bool, default False
            Whether all fitted rows stay in their order, ties included. That needs the fitted table, which a model
            that comes from a file does not have.

        Returns
        -------
        SimplifiedMaps

        Examples
        --------
        >>> from fairpot import FairPOT
        >>> from fairpot.datasets import make_synthetic
        >>> data = make_synthetic(1000, random_state=0, as_frame=False)
        >>> score, y, group = data.probability, data.target, data.group
        >>> repair = FairPOT(max_gap=0.05).fit(score, y, sensitive_features=group)
        >>> print(repair.simplify(max_error=0.01))
        simplified from 151 to 22 breakpoints, scores within 0.00956
        """
        maps = self._maps_of_a_row()
        table: ScoreTable | None = getattr(self, "table_", None)
        if keep_ranks and table is None:
            raise ValueError(
                "a map file keeps the maps, not the rows whose ranks are to be kept.\n"
                "Hint: simplify the fitted model, or call fairpot.export.simplify with keep_ranks_of=a counts table."
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
