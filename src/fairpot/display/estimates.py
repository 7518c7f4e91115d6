"""Numbers with their intervals one below the other, a band along the repair strength, and the best possible AUC."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from fairpot._docs import documented
from fairpot._shown import Bar, bar
from fairpot._svg import short
from fairpot.display.display import (
    COLOURS,
    STATES,
    Display,
    add_legend,
    look,
    make_axes,
    plain,
    set_title,
    stack,
    wrapped,
)
from fairpot.results import Audit, Effect
from fairpot.results.ranking import Pair
from fairpot.tradeoff import Limit
from fairpot.words import gap_name

_MOST = 20  # lines that fit into a picture
_WIDE, _LONGEST = 30, 76  # letters of a line of a label, and of all its names
_GAP = "gap: xAUC of the first over the second, minus the reverse"


@documented
@dataclass(frozen=True, eq=False, repr=False)
class EstimatesDisplay(Display):
    """Draw numbers with their intervals, before and after where there are both.

    The columns are ``label``, ``state`` ("before", "after", or empty), ``value``, ``low`` and ``high``; NaN where there
    is no interval, and the picture says so. It shows 20 labels and says how many there are; the frame has all.

    Attributes
    ----------
    title, axis : str
        What stands above the picture and below it.
    of : str
        What a line is of, such as "pairs".

    Examples
    --------
    >>> from fairpot.display import EstimatesDisplay
    >>> EstimatesDisplay.from_bars([("old", 0.13, 0.09, 0.18), ("new", 0.02, 0.0, 0.06)]).values("label")
    ['old', 'new']
    """

    title: str = ""
    axis: str = ""
    of: str = "numbers"

    @classmethod
    def from_bars(cls, bars: Iterable[tuple[str, float, float, float]], *, title: str = "", ax: Any = None) -> Self:
        """Draw numbers.

        Parameters
        ----------
        bars : list of (label, value, low, high)
            The numbers with their limits.
        title : str, default ""
            What stands above the picture.
        {ax}
        """
        return cls(_columns([("", Bar(*each)) for each in bars]), title)._drawn(ax)

    @classmethod
    def from_audit(cls, audit: Audit, *, ax: Any = None) -> Self:
        """Draw the gap of every two groups that :func:`fairpot.audit` found; of the top, where one was asked for.

        Parameters
        ----------
        audit : Audit
            What :func:`fairpot.audit` returned.
        {ax}
        """
        told = audit.spoken.told
        rows = [("", _gap(pair)) for pair in _known(told.gaps)]
        return cls(_columns(rows), _title(told.alpha), _GAP, "pairs")._drawn(ax)

    @classmethod
    def from_effect(cls, effect: Effect, *, ax: Any = None) -> Self:
        """Draw the gap of every two groups before and after, as :func:`fairpot.effect` found them.

        Parameters
        ----------
        effect : Effect
            What :func:`fairpot.effect` returned.
        {ax}
        """
        before, after = effect.before.spoken.told, effect.after.spoken.told
        both = [(pair, after.pair(pair.first, pair.second)) for pair in _known(before.gaps)]
        rows = [(state, _gap(each)) for pair in both for state, each in zip(STATES, pair)]
        return cls(_columns(rows), f"{_title(before.alpha)}, before and after", _GAP, "pairs")._drawn(ax)

    def plot(self, ax: Any = None) -> Any:
        """Draw one line for each label; ``ax`` is one of matplotlib's axes, None makes new ones."""
        found = self.values("state")
        labels = self.where(state=found[0])["label"].tolist() if found else []
        shown = labels[:_MOST]
        names = [_cut(label) for label in shown]
        high = len(names) * max(0.3, 0.16 * max((name.count("\n") + 1 for name in names), default=1))
        [axes] = make_axes(ax, height=max(2.6, 1.4 + high), width=7.2)
        for place, state in enumerate(found):
            rows = self.where(state=state)
            value, low, high_end = (rows[name][: len(shown)] for name in ("value", "low", "high"))
            heights = np.arange(len(shown)) + 0.15 * (2 * place - 1) * (len(found) > 1)
            style = STATES[state or "after"] | {"linestyle": "none", "label": state or None}
            _draw_intervals(axes, value, heights, low, high_end, **style)
        axes.axvline(0.0, color="0.6", linewidth=0.8, zorder=0)
        axes.set_yticks(range(len(shown)), names, fontsize="small")
        axes.set_ylim(len(shown) - 0.4, -0.6)
        axes.set_xlabel(self.axis)
        left_out = f"{len(shown)} of {len(labels)} {self.of}" if len(shown) < len(labels) else ""
        set_title(axes, wrapped(self.title, 60), left_out)
        if len(found) > 1:
            add_legend(axes, grow=ax is None)
        return axes


def _title(alpha: float | None) -> str:
    return "Gap of every two groups" if alpha is None else f"{gap_name(alpha).capitalize()} of every two groups"


def _known(pairs: Sequence[Pair]) -> list[Pair]:
    """Give the pairs that can be measured, the largest gap first, the group ranked higher before the other."""
    return sorted((pair.ranked for pair in pairs if pair.known), key=lambda pair: -pair.size)


def _gap(pair: Pair) -> Bar:
    return bar(f"{pair.first} over {pair.second}", pair.signed_gap)


def _cut(label: str) -> str:
    """Show a label in lines, its names cut to what fits into three of them."""
    names = label.split(" over ")
    return wrapped(" over ".join(short(name, _LONGEST // len(names)) for name in names), _WIDE)


def _columns(rows: Sequence[tuple[str, Bar]]) -> dict[str, Any]:
    columns = {"label": [each.label for _, each in rows], "state": [state for state, _ in rows]}
    numbers = np.array([each[1:] for _, each in rows], dtype=np.float64).reshape(-1, 3)
    texts = {name: np.array(values, dtype=object) for name, values in columns.items()}
    return texts | dict(zip(("value", "low", "high"), numbers.T))


def _draw_intervals(axes: Any, value: Any, heights: Any, low: Any, high: Any, **style: Any) -> None:
    ends = np.nan_to_num(np.array([value - low, high - value]))
    axes.errorbar(value, heights, xerr=np.maximum(ends, 0.0), capsize=2, **style)
    beside = {"xytext": (6, 0), "textcoords": "offset points", "va": "center", "fontsize": "x-small"}
    for place in np.flatnonzero(np.isfinite(value) & ~(np.isfinite(low) & np.isfinite(high))):
        axes.annotate("no interval", (value[place], heights[place]), **beside)


@documented
class BandDisplay(Display):
    """Draw AUC and gap along the repair strength, with limits at each value and at all values together.

    The columns are ``number`` ("auc", "gap"), ``place`` (the repair strength; of groups with their own the place on
    the way), ``value``, ``low``, ``high``, ``low_all`` and ``high_all``.

    Examples
    --------
    >>> import fairpot
    >>> from fairpot.display import BandDisplay
    >>> data = fairpot.datasets.make_synthetic(random_state=0)
    >>> fp = fairpot.FairPOT().fit(data.data["x1"], data.target, sensitive_features=data.group)
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
        {ax}
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
            for end, alpha, label in (("_all", 0.1, "all values together"), ("", 0.2, words["note"])):
                shade = {"color": COLOURS[0], "alpha": alpha, "lw": 0, "label": label}
                panel.fill_between(rows["place"], rows[f"low{end}"], rows[f"high{end}"], **shade)
            panel.plot(rows["place"], rows["value"], color=COLOURS[0], label=words[name])
            panel.set(xlabel=words["place"], ylabel=words[name])
            set_title(panel, f"{words[name]} along {words['place']}")
        add_legend(panels[-1], grow=ax is None)
        return panels


@documented
class LimitDisplay(Display):
    """Draw the best possible AUC over the gap, and what is within reach of a repair fixed beforehand.

    The columns are ``line`` ("best possible", "within reach"; of more than two groups "at most"), ``gap``
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
        limit : Limit or UpperLimit
            What :func:`fairpot.tradeoff.auc_limit` returned.
        {ax}
        """
        if isinstance(limit, Limit):
            parts = [{"line": "best possible", "gap": limit.signed_gap, "auc": limit.auc}]
            if limit.optimism is not None:
                reach = limit.reachable_at(limit.signed_gap)
                parts.append({"line": "within reach", "gap": limit.signed_gap, "auc": reach})
            label = wrapped(f"signed gap, {plain(limit.reference)} over {plain(limit.moved)}", 60)
        else:
            bounds = np.array([0.0, 0.02, 0.05, 0.1, 0.2])
            parts = [{"line": "at most", "gap": bounds, "auc": limit.auc_at(bounds)}]
            label = "target gap"
        return cls(stack(parts))._drawn(ax, label=label)

    def plot(self, ax: Any = None, *, label: str = "gap") -> Any:
        """Draw one line each; ``ax`` is one of matplotlib's axes, None makes new ones."""
        [axes] = make_axes(ax)
        for place, line in enumerate(self.values("line")):
            rows = self.where(line=line)
            axes.plot(rows["gap"], rows["auc"], label=line, **look(place))
        axes.set(xlabel=label, ylabel="AUC")
        set_title(axes, "Best possible AUC on these rows")
        add_legend(axes, grow=ax is None)
        return axes
