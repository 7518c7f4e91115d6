"""Who rises and who falls in the ranking of everybody."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fairpot._optional import import_optional
from fairpot.counting import as_table
from fairpot.display.display import Display, add_legend, look, make_axes, maps_of, named, stack, table_of
from fairpot.display.distributions import LABELS
from fairpot.table import Maps, ScoreTable

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


class RankChangeDisplay(Display):
    """Draw how far people move in the ranking, in hundredths of its length: above 0 is up.

    The columns are ``group``, ``label``, ``weight`` (rows), ``mean``, ``q05``, ``q25``, ``q50``, ``q75``, ``q95``, and
    ``up`` and ``down``, the shares that rise and fall. People with equal scores share their middle rank. Also those
    whose score stays move, where others pass them.

    Examples
    --------
    >>> from fairpot.display import RankChangeDisplay
    >>> y, sex = [0, 1, 0, 1], ["F", "F", "M", "M"]
    >>> up = {"F": lambda s: s + 1.0, "M": lambda s: s}
    >>> shown = RankChangeDisplay.from_predictions(y, [0.1, 0.3, 0.5, 0.9], sensitive_features=sex, maps=up)
    >>> shown.where(group="F", label="positive")["mean"]
    array([50.])
    """

    @classmethod
    def from_table(cls, table: ScoreTable, maps: Maps, *, ax: Any = None, **style: Any) -> Self:
        """Draw counted rows and the maps that change them.

        Parameters
        ----------
        table : ScoreTable
            Counted rows, with outcomes.
        maps : dict of group to ScoreMap
            The maps that change the scores, such as ``repair.maps_``.
        ax : matplotlib axes, default None
            None makes a new figure.
        **style
            Passed to matplotlib for the boxes.

        Returns
        -------
        The display, drawn: its axes are ``ax_``.

        Examples
        --------
        >>> from fairpot import FairPOT
        >>> from fairpot.display import RankChangeDisplay
        >>> from fairpot.datasets import make_synthetic
        >>> data = make_synthetic(600, random_state=0, as_frame=False)
        >>> score, y, group = data.probability, data.target, data.group
        >>> repair = FairPOT(lam=0.5).fit(score, y, sensitive_features=group)
        >>> shown = RankChangeDisplay.from_table(repair.table_, repair.maps_)
        """
        before, after = rank_places(table, None), rank_places(table, maps)
        parts = []
        for group, counts, old, new in zip(table.groups, table.counts, before, after):
            for label in LABELS if table.labelled else ("negative",):
                weight = getattr(counts, label)
                parts.append({"group": str(group), "label": label} | _summed(100 * (new - old), weight))
        return cls(stack(parts))._drawn(ax, **style)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_score: Any,
        *,
        sensitive_features: Any,
        maps: Maps,
        sample_weight: Any = None,
        clusters: Any = None,
        weights: str | None = None,
        pos_label: Any = None,
        ax: Any = None,
        **style: Any,
    ) -> Self:
        """Draw rows and the maps that change them.

        Parameters
        ----------
        y_true : column of shape (n,)
            Outcomes, 0/1 or booleans; other two-valued outcomes with ``pos_label``.
        y_score : column of shape (n,)
            Scores of any model, on any scale.
        sensitive_features : column of shape (n,), or frame with several columns
            Group of each row; several columns form intersections.
        maps : dict of group to ScoreMap
            The maps that change the scores, such as ``repair.maps_``.
        sample_weight : column of shape (n,), default None
            Weights; ``weights`` says what they mean.
        clusters : column of shape (n,), default None
            What rows have in common that are not independent of each other, such as the patient of each visit.
        weights : {"frequency", "importance"} or None, default None
            What ``sample_weight`` means: a number of rows, or how much a row counts. None takes whole numbers for
            the first and others for the second.
        pos_label : default None
            The positive value where ``y_true`` is not 0/1.
        ax : matplotlib axes, default None
            None makes a new figure.
        **style
            Passed to matplotlib for the boxes.

        Returns
        -------
        The display, drawn: its axes are ``ax_``.

        Examples
        --------
        >>> from fairpot import FairPOT
        >>> from fairpot.display import RankChangeDisplay
        >>> from fairpot.datasets import make_synthetic
        >>> data = make_synthetic(600, random_state=0, as_frame=False)
        >>> score, y, group = data.probability, data.target, data.group
        >>> repair = FairPOT(lam=0.5).fit(score, y, sensitive_features=group)
        >>> shown = RankChangeDisplay.from_predictions(y, score, sensitive_features=group, maps=repair.maps_)
        """
        known = {"sample_weight": sample_weight, "clusters": clusters, "weights": weights, "pos_label": pos_label}
        table = as_table(y_true, y_score, sensitive_features=sensitive_features, **known)
        return cls.from_table(table, maps, ax=ax, **style)

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
        ax: Any = None,
        **style: Any,
    ) -> Self:
        """Draw what a fitted repair method does to these rows, or to the fitted ones.

        Parameters
        ----------
        estimator : fitted repair method, such as FairPOT
            The repair to show.
        scores : column of shape (n,) or (n, 1), ScoreTable, or None, default None
            The rows to show it on; None takes the fitted rows.
        y : column of shape (n,), default None
            Outcomes, 0/1.
        sensitive_features : column of shape (n,), or frame with several columns, default None
            Group of each row; several columns form intersections.
        sample_weight : column of shape (n,), default None
            Weights; ``weights`` says what they mean.
        clusters : column of shape (n,), default None
            What rows have in common that are not independent of each other, such as the patient of each visit.
        weights : {"frequency", "importance"} or None, default None
            What ``sample_weight`` means: a number of rows, or how much a row counts. None takes whole numbers for
            the first and others for the second.
        ax : matplotlib axes, default None
            None makes a new figure.
        **style
            Passed to matplotlib for the boxes.

        Returns
        -------
        The display, drawn: its axes are ``ax_``.

        Examples
        --------
        >>> from fairpot import FairPOT
        >>> from fairpot.display import RankChangeDisplay
        >>> from fairpot.datasets import make_synthetic
        >>> data = make_synthetic(600, random_state=0, as_frame=False)
        >>> score, y, group = data.probability, data.target, data.group
        >>> repair = FairPOT(lam=0.5).fit(score, y, sensitive_features=group)
        >>> shown = RankChangeDisplay.from_estimator(repair)
        """
        table = table_of(estimator, scores, y, sensitive_features, sample_weight, clusters, weights)
        return cls.from_table(table, maps_of(estimator, table), ax=ax, **style)

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Draw a box for each group and outcome: its middle half, the median, and whiskers around the middle 90%."""
        lines = len(self.columns["group"])
        [axes] = make_axes(ax, height=max(4.2, 1.0 + 0.26 * lines))
        groups = self.values("group")
        names = []
        axes.axvline(0, color="0.5", lw=0.8, zorder=0.5)
        for line in range(lines):
            rows = {name: column[line] for name, column in self.columns.items()}
            _draw_box(axes, rows, -line, {"color": look(groups.index(rows["group"]))["color"]} | style)
            names.append(f"{named(rows['group'])}, {'with' if rows['label'] == 'positive' else 'without'} outcome")
        axes.set_yticks([-line for line in range(lines)], names)
        axes.set(xlabel="change in rank, hundredths of the ranking (right: up)", ylim=(0.7 - lines, 0.7))
        add_legend(axes, outside=True, grow=ax is None, handles=_box_parts())
        return axes


def _draw_box(axes: Any, rows: dict[str, Any], y: int, style: dict[str, Any]) -> None:
    axes.hlines(y, rows["q05"], rows["q95"], color=style["color"], lw=1.4)
    axes.vlines([rows["q05"], rows["q95"]], y - 0.12, y + 0.12, color=style["color"], lw=1.4)
    box = {"height": 0.5, "alpha": 0.55, "edgecolor": style["color"]} | style
    axes.barh(y, rows["q75"] - rows["q25"], left=rows["q25"], **box)
    axes.vlines(rows["q50"], y - 0.25, y + 0.25, color="black", lw=2.2)


def _box_parts() -> list[Any]:
    """Say in a legend what the parts of a box are."""
    line = import_optional("matplotlib.lines", "plot").Line2D
    patch = import_optional("matplotlib.patches", "plot").Patch
    return [
        patch(color="0.6", label="box: middle half of the rows\n(25% to 75%)"),
        line([], [], color="black", ls="", marker="|", ms=11, mew=2.2, label="line: median"),
        line([], [], color="0.4", lw=1.4, label="whiskers: middle 90%\n(5% to 95%)"),
    ]


def rank_places(table: ScoreTable, maps: Maps | None) -> list[NDArray[np.float64]]:
    """Give, for each group, the place of each of its scores in the ranking of everybody: 0 bottom, 1 top.

    Examples
    --------
    >>> table = as_table([0, 1, 1], [0.1, 0.3, 0.3], sensitive_features=["F", "F", "M"])
    >>> rank_places(table, None)[0].round(4)
    array([0.1667, 0.6667])
    """
    scores = [
        c.score if maps is None or g not in maps else maps[g](c.score) for g, c in zip(table.groups, table.counts)
    ]
    everyone, weight = np.concatenate(scores), np.concatenate([c.weight for c in table.counts])
    order = np.argsort(everyone, kind="stable")
    everyone = everyone[order]
    total = np.concatenate(([0.0], np.cumsum(weight[order])))
    middle = (
        [np.searchsorted(everyone, s, "left") for s in scores],
        [np.searchsorted(everyone, s, "right") for s in scores],
    )
    return [(total[low] + total[high]) / (2 * total[-1]) for low, high in zip(*middle)]


def _summed(change: NDArray[np.float64], weight: NDArray[Any]) -> dict[str, float]:
    """Sum up weighted changes; without rows there is nothing to say."""
    rows = float(weight.sum())
    names = [f"q{round(100 * q):02d}" for q in QUANTILES]
    if rows == 0:
        return {"weight": 0.0, "mean": np.nan, **dict.fromkeys(names, np.nan), "up": np.nan, "down": np.nan}
    change = np.where(np.abs(change) < 1e-9, 0.0, change)
    order = np.argsort(change, kind="stable")
    reached = np.cumsum(weight[order]) / rows
    places = np.minimum(np.searchsorted(reached, np.array(QUANTILES) - 1e-12), len(order) - 1)
    return {
        "weight": rows,
        "mean": float(np.dot(weight, change)) / rows,
        **dict(zip(names, change[order][places].tolist())),
        "up": float(weight[change > 0].sum()) / rows,
        "down": float(weight[change < 0].sum()) / rows,
    }
