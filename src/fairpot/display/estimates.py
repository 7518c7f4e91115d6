"""Numbers with their intervals one below the other, a band along the repair strength, and the best possible AUC."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np

from fairpot.display.display import COLOURS, Display, add_legend, look, make_axes, named, stack
from fairpot.tradeoff import Limit

_MOST = 24  # numbers that fit into a picture


class EstimatesDisplay(Display):
    """Draw numbers with their intervals.

    The columns are ``label``, ``value``, ``low`` and ``high``; NaN where there is no interval, and the picture says so.

    Examples
    --------
    >>> from fairpot.display import EstimatesDisplay
    >>> EstimatesDisplay.from_bars([("old", 0.13, 0.09, 0.18), ("new", 0.02, 0.0, 0.06)]).values("label")
    ['old', 'new']
    """

    @classmethod
    def from_bars(cls, bars: Iterable[tuple[str, float, float, float]], *, ax: Any = None) -> Self:
        """Draw numbers.

        Parameters
        ----------
        bars : list of (label, value, low, high)
            The numbers with their limits.
        ax : matplotlib axes, default None
            None makes a new figure.

        Returns
        -------
        The display, drawn: its axes are ``ax_``.

        Examples
        --------
        >>> from fairpot.display import EstimatesDisplay
        >>> shown = EstimatesDisplay.from_bars([("AUC", 0.75, 0.70, 0.80), ("gap", 0.12, 0.05, 0.19)])
        """
        rows = list(bars)
        numbers = np.array([row[1:] for row in rows], dtype=np.float64).reshape(-1, 3)
        names = np.array([row[0] for row in rows], dtype=object)
        return cls({"label": names, **dict(zip(("value", "low", "high"), numbers.T))})._drawn(ax)

    def plot(self, ax: Any = None) -> Any:
        """Draw one line for each number; ``ax`` is one of matplotlib's axes, None makes new ones."""
        label, value, low, high = (self.columns[name][:_MOST] for name in ("label", "value", "low", "high"))
        [axes] = make_axes(ax, height=max(2.4, 1.2 + 0.28 * len(label)))
        style = look(0, marked=True) | {"linestyle": "none"}
        draw_intervals(axes, value, np.arange(len(label)), low, high, **style)
        axes.axvline(0.0, color="0.6", linewidth=0.8, zorder=0)
        axes.set_yticks(range(len(label)), [named(each) for each in label.tolist()])
        axes.invert_yaxis()
        return axes


def draw_intervals(axes: Any, value: Any, heights: Any, low: Any, high: Any, **style: Any) -> None:
    """Draw points with their intervals; write "no interval" beside those that have none."""
    ends = np.nan_to_num(np.array([value - low, high - value]))
    axes.errorbar(value, heights, xerr=np.maximum(ends, 0.0), capsize=2, **style)
    beside = {"xytext": (6, 0), "textcoords": "offset points", "va": "center", "fontsize": "x-small"}
    for place in np.flatnonzero(np.isfinite(value) & ~(np.isfinite(low) & np.isfinite(high))):
        axes.annotate("no interval", (value[place], heights[place]), **beside)


class BandDisplay(Display):
    """Draw AUC and gap along the repair strength, with limits at each value and at all values together.

    The columns are ``number`` ("auc", "gap"), ``place`` (the repair strength; of groups with their own the place on
    the way), ``value``, ``low``, ``high``, ``low_all`` and ``high_all``.

    Examples
    --------
    >>> from fairpot import FairPOT
    >>> from fairpot.datasets import make_synthetic
    >>> from fairpot.display import BandDisplay
    >>> data = make_synthetic(random_state=0)
    >>> fp = FairPOT().fit(data.data["x1"], data.target, sensitive_features=data.group)
    >>> BandDisplay.from_band(fp.tradeoff(lams=[0, 0.5, 1]).band()).values("number")
    ['auc', 'gap']
    """

    @classmethod
    def from_band(cls, band: Any, *, ax: Any = None) -> Self:
        """Draw what ``curve.band()`` returns into two axes, of AUC and of the gap.

        Parameters
        ----------
        band : Band
            What ``curve.band()`` returned.
        ax : two matplotlib axes, default None
            None makes a new figure.

        Returns
        -------
        The display, drawn: its axes are ``ax_``.

        Examples
        --------
        >>> from fairpot import FairPOT
        >>> from fairpot.display import BandDisplay
        >>> from fairpot.datasets import make_synthetic
        >>> data = make_synthetic(600, random_state=0, as_frame=False)
        >>> score, y, group = data.probability, data.target, data.group
        >>> repair = FairPOT(lam=0.5).fit(score, y, sensitive_features=group)
        >>> shown = BandDisplay.from_band(repair.tradeoff(lams=[0, 0.5, 1]).band())
        """
        own = band.values.ndim == 1
        place = band.values if own else np.arange(len(band), dtype=np.float64)
        parts = [{"number": name, "place": place, **getattr(band, name)._asdict()} for name in ("auc", "gap")]
        said = {"auc": "AUC", "gap": "gap", "place": band.dial if own else f"place on the way of {band.dial}"}
        made = cls(stack(parts))
        said["note"] = f"no interval: {band.reason}" if band.reason else f"{band.level:.0%} interval"
        return made._drawn(ax, said=said)

    def plot(self, ax: Any = None, *, said: dict[str, str] | None = None) -> Any:
        """Draw AUC and gap in two panels; ``ax`` has two axes."""
        panels = make_axes(ax, 2)
        words = said or {"auc": "AUC", "gap": "gap", "place": "repair strength", "note": "interval"}
        for panel, name in zip(panels, ("auc", "gap")):
            rows = self.where(number=name)
            for ends, alpha, label in (
                (("low_all", "high_all"), 0.1, "all values together"),
                (("low", "high"), 0.2, words["note"]),
            ):
                panel.fill_between(
                    rows["place"], *(rows[end] for end in ends), color=COLOURS[0], alpha=alpha, lw=0, label=label
                )
            panel.plot(rows["place"], rows["value"], color=COLOURS[0], label=words[name])
            panel.set(xlabel=words["place"], ylabel=words[name])
        add_legend(panels[-1])
        return panels


class LimitDisplay(Display):
    """Draw the best possible AUC over the gap, and what is within reach of a repair fixed beforehand.

    The columns are ``line`` ("best possible", "within reach"; of more than two groups "at most", "at least"), ``gap``
    (signed with two groups) and ``auc``. It knows the outcomes of the rows: no interval belongs to it.

    Examples
    --------
    >>> from fairpot.display import LimitDisplay
    >>> from fairpot.tradeoff import auc_limit
    >>> y, score, sex = [0, 1, 0, 1], [0.1, 0.3, 0.2, 0.4], ["F", "F", "M", "M"]
    >>> LimitDisplay.from_limit(auc_limit(y, score, sensitive_features=sex)).values("line")
    ['best possible']
    """

    @classmethod
    def from_limit(cls, limit: Any, *, ax: Any = None) -> Self:
        """Draw what :func:`fairpot.tradeoff.auc_limit` returned.

        Parameters
        ----------
        limit : Limit or LimitBracket
            What :func:`fairpot.tradeoff.auc_limit` returned.
        ax : matplotlib axes, default None
            None makes a new figure.

        Returns
        -------
        The display, drawn: its axes are ``ax_``.

        Examples
        --------
        >>> from fairpot.display import LimitDisplay
        >>> from fairpot.tradeoff import auc_limit
        >>> from fairpot.datasets import make_synthetic
        >>> data = make_synthetic(600, random_state=0, as_frame=False)
        >>> score, y, group = data.probability, data.target, data.group
        >>> shown = LimitDisplay.from_limit(auc_limit(y, score, sensitive_features=group))
        """
        if isinstance(limit, Limit):
            parts = [{"line": "best possible", "gap": limit.signed_gap, "auc": limit.auc}]
            reach = limit.reachable_at(limit.signed_gap)
            parts += (
                [{"line": "within reach", "gap": limit.signed_gap, "auc": reach}] if limit.optimism is not None else []
            )
            label = f"signed gap, {named(limit.reference)} over {named(limit.moved)}"
        else:
            points = [limit.best(bound) for bound in (0.0, 0.02, 0.05, 0.1, 0.2)]
            bounds = np.array([point.max_gap for point in points])
            ends = {"at most": [p.high for p in points], "at least": [p.low for p in points]}
            parts = [{"line": line, "gap": bounds, "auc": np.array(aucs)} for line, aucs in ends.items()]
            label = "target gap"
        return cls(stack(parts))._drawn(ax, label=label)

    def plot(self, ax: Any = None, *, label: str = "gap") -> Any:
        """Draw one line each; ``ax`` is one of matplotlib's axes, None makes new ones."""
        [axes] = make_axes(ax)
        for place, line in enumerate(self.values("line")):
            rows = self.where(line=line)
            axes.plot(rows["gap"], rows["auc"], label=line, **look(place))
        axes.set(xlabel=label, ylabel="best possible AUC on these rows")
        add_legend(axes)
        return axes
