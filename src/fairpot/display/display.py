"""What all Displays share: the ways to make one, the table behind the picture, and how groups look."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fairpot._optional import import_optional, make_frame
from fairpot.counting import as_table
from fairpot.table import Maps, ScoreTable

# Okabe and Ito's palette without its yellow, which nobody sees on white.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
LINES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (6, 1.5, 1, 1.5, 1, 1.5)), (0, (1, 1)), (0, (8, 2)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_LONGEST_NAME = 40


def look(place: int, *, marked: bool = False) -> dict[str, Any]:
    """Return colour and line (and marker, if ``marked``) of the group at one place; later ones begin again.

    Examples
    --------
    >>> look(1)
    {'color': '#d55e00', 'linestyle': '--'}
    """
    style = {"color": COLOURS[place % len(COLOURS)], "linestyle": LINES[place % len(LINES)]}
    return style | ({"marker": MARKERS[place % len(MARKERS)]} if marked else {})


def named(group: Hashable) -> str:
    """Show a group's name as plain text of bounded length: no part of it is read as a formula.

    Examples
    --------
    >>> named("under $25")
    'under \\\\$25'
    """
    text = " ".join(str(group).split())
    text = text if len(text) <= _LONGEST_NAME else text[: _LONGEST_NAME - 1] + "…"
    # A label that begins with an underscore would be left out of a legend, and $...$ would be set as mathematics.
    return ("\u200b" if text.startswith("_") else "") + text.replace("$", r"\$")


def make_axes(ax: Any, count: int = 1, **options: Any) -> list[Any]:
    """Return the axes to draw in: those given, or new ones side by side."""
    plt = import_optional("matplotlib.pyplot", "plot")
    if ax is None:
        width = 6.4 if count == 1 else 4.8 * count
        _, made = plt.subplots(1, count, figsize=(width, 4.2), layout="constrained", squeeze=False, **options)
        return list(made[0])
    given = list(ax.ravel()) if hasattr(ax, "ravel") else list(ax) if isinstance(ax, Sequence) else [ax]
    if len(given) != count:
        raise ValueError(
            f"this picture has {count} panels, and ax has {len(given)}.\n"
            f"Hint: figure, axes = plt.subplots(1, {count}), then plot(ax=axes); or leave ax out."
        )
    return given


def add_legend(ax: Any, **options: Any) -> None:
    """Put a legend where it covers least."""
    ax.legend(frameon=False, fontsize="small", **options)


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
        clusters: Any = None,
        weights: str | None = None,
        pos_label: Any = None,
        maps: Maps | None = None,
        **options: Any,
    ) -> Self:
        """Make the display of rows.

        Parameters
        ----------
        y_true, y_score, sensitive_features, sample_weight, clusters, weights, pos_label
            As in :func:`fairpot.audit`.
        maps : dict of group to ScoreMap, default None
            Also show what these make of the scores, such as ``fp.maps_``.
        **options
            Those of ``from_table``.
        """
        known = {"sample_weight": sample_weight, "clusters": clusters, "weights": weights, "pos_label": pos_label}
        table = as_table(y_true, y_score, sensitive_features=sensitive_features, **known)
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
        clusters: Any = None,
        weights: str | None = None,
        **options: Any,
    ) -> Self:
        """Make the display of what a fitted post-processor does, before and after.

        Parameters
        ----------
        estimator : fitted post-processor, such as FairPOT
        scores, y, sensitive_features, sample_weight, clusters, weights
            The rows to show it on, as in its ``fit``. Without any of them: the fitted rows.
        **options
            Those of ``from_table``.
        """
        table = table_of(estimator, scores, y, sensitive_features, sample_weight, clusters, weights)
        make: Any = cls.from_table
        return make(table, estimator.maps_for(table), **options)


def table_of(
    estimator: Any,
    scores: Any,
    y: Any,
    sensitive_features: Any,
    sample_weight: Any,
    clusters: Any = None,
    weights: str | None = None,
) -> ScoreTable:
    """Count the rows to show an estimator on; without any, take those it was fitted on."""
    if all(given is None for given in (scores, y, sensitive_features, sample_weight, clusters, weights)):
        table = getattr(estimator, "table_", None)
        if table is None:
            raise ValueError(
                f"this {type(estimator).__name__} does not keep the rows it was fitted on.\n"
                "Hint: pass scores, y and sensitive_features."
            )
        return table
    return as_table(
        y,
        scores,
        sensitive_features=sensitive_features,
        sample_weight=sample_weight,
        clusters=clusters,
        weights=weights,
        grouped=sensitive_features is not None,
        pos_label=None if isinstance(scores, ScoreTable) else getattr(estimator, "pos_label", None),
        names=("y", "scores"),
    )


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
