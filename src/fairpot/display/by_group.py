"""Groups before and after a repair: their scores, calibration, ROC curves inside and between them, and their maps."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fairpot._docs import documented
from fairpot._shown import bar
from fairpot.counts import Counts, GroupCounts
from fairpot.display.display import (
    BEFORE,
    TableDisplay,
    add_legend,
    few,
    look,
    make_axes,
    named,
    one_or_all,
    plain,
    set_title,
    stack,
    states,
    wrapped,
)
from fairpot.results import rank
from fairpot.table import Maps, ScoreTable
from fairpot.transport import Floats

LABELS = ("positive", "negative")
_MOST_FILLED = 4  # hills of more groups than these hide each other
# Two-sided 95 %: the interval of a share by Wilson's method.
_Z = 1.959963984540054
# Points of a map that are drawn: breakpoints, and a grid.
_KNOTS, _GRID = 400, 201


@documented
class ScoreDistributionDisplay(TableDisplay):
    """Draw histograms of the scores of each group, positives upwards and negatives downwards.

    The columns are ``state`` ("before", "after"), ``group``, ``label`` ("positive", "negative"), ``low`` and ``high``
    (the bin), ``weight`` (the rows in it) and ``share`` (of all rows of that group and label).

    Examples
    --------
    >>> from fairpot.display import ScoreDistributionDisplay
    >>> y, sex = [0, 1, 0, 1], ["F", "F", "M", "M"]
    >>> shown = ScoreDistributionDisplay.from_predictions(y, [0.1, 0.3, 0.2, 0.9], sensitive_features=sex, bins=2)
    >>> shown.where(group="M", label="positive")["share"]
    array([0., 1.])
    """

    @classmethod
    def from_table(cls, table: ScoreTable, maps: Maps | None = None, *, bins: int = 40, ax: Any = None) -> Self:
        """Draw counted rows, before and, with maps, after a repair.

        Parameters
        ----------
        {table, maps}
        bins : int, default 40
            Bins of equal width, the same for all.
        {ax}
        """
        shown = states(table, maps)
        edges = score_edges(list(shown.values()), bins)
        parts = []
        for state, each in shown.items():
            for group, counts in zip(each.groups, each.counts):
                for label in LABELS:
                    weight = histogram(counts.score, getattr(counts, label), edges)
                    share = weight / max(float(weight.sum()), 1e-300)
                    bins_of = {"low": edges[:-1], "high": edges[1:], "weight": weight, "share": share}
                    parts.append({"state": state, "group": str(group), "label": label, **bins_of})
        return cls(stack(parts))._drawn(ax)

    def plot(self, ax: Any = None) -> Any:
        """Draw one panel for each state; ``ax`` has as many axes."""
        panels = self._panels(ax, "Scores by group and outcome", sharey=True)
        for state, panel in panels.items():
            for place, group in enumerate(self.values("group")):
                self._draw(panel, state, group, look(place))
            panel.axhline(0, color="0.3", lw=0.8)
            panel.set(xlabel="score")
            panel.yaxis.set_major_formatter(lambda value, _: f"{abs(value):.3g}")
        top = float(self.columns["share"][self.columns["label"] == LABELS[0]].max())
        panels[BEFORE].set_ylim(top=1.3 * top)  # room for a legend inside
        panels[BEFORE].set_ylabel("without outcome ← share of rows → with outcome", fontsize="small")
        add_legend(panel, grow=ax is None, loc="upper right", ncols=2)
        return one_or_all(panels)

    def _draw(self, panel: Any, state: str, group: str, style: dict[str, Any]) -> None:
        for label, sign in zip(LABELS, (1, -1)):
            rows = self.where(state=state, group=group, label=label)
            edges = np.append(rows["low"], rows["high"][-1])
            name = {"label": named(group)} if label == LABELS[0] else {}
            panel.stairs(sign * rows["share"], edges, lw=1.6, **name | style)
            if len(self.values("group")) <= _MOST_FILLED:
                panel.stairs(sign * rows["share"], edges, fill=True, alpha=0.13, color=style["color"])


def _check_bins(bins: int) -> None:
    if not isinstance(bins, int | np.integer) or bins < 1:
        raise ValueError(f"bins must be a whole number, at least 1, got {bins!r}.")


def score_edges(tables: list[ScoreTable], bins: int) -> Floats:
    """Return the edges of bins of equal width over all scores; over [0, 1] where these nearly fill it."""
    _check_bins(bins)
    scores = [c.score for table in tables for c in table.counts if len(c.score)]
    low, high = min(float(s[0]) for s in scores), max(float(s[-1]) for s in scores)
    if low >= 0 and high <= 1 and high - low >= 0.5:
        low, high = 0.0, 1.0
    if low == high:  # one score alone gets a bin around it
        reach = max(abs(low), 1.0) / 2
        low, high = low - reach, high + reach
    # Halved before they are subtracted: the width of the widest range of floats is no float.
    return 2 * np.linspace(low / 2, high / 2, int(bins) + 1)


def histogram(scores: Floats, weight: Counts, edges: Floats) -> NDArray[Any]:
    """Add up weights by bin, of ascending scores; what lies outside goes to the nearest bin."""
    total = np.concatenate((np.zeros(1, dtype=weight.dtype), np.cumsum(weight)))
    places = np.searchsorted(scores, edges[1:-1], side="left")
    return np.diff(total[np.concatenate(([0], places, [len(scores)]))])


@documented
class GroupCalibrationDisplay(TableDisplay):
    """Draw the share of positives against the mean score, in bins, for each group.

    The columns are ``state``, ``group``, ``mean_score``, ``rate``, ``rate_low`` and ``rate_high`` (Wilson's 95%
    interval) and ``weight``. Bins hold about as many rows each; equal scores stay together.

    Examples
    --------
    >>> from fairpot.display import GroupCalibrationDisplay
    >>> y, sex = [0, 1, 1, 1], ["F", "F", "M", "M"]
    >>> shown = GroupCalibrationDisplay.from_predictions(y, [0.2, 0.2, 0.7, 0.9], sensitive_features=sex, bins=1)
    >>> shown.where(group="M")["mean_score"]
    array([0.8])
    """

    @classmethod
    def from_table(cls, table: ScoreTable, maps: Maps | None = None, *, bins: int = 10, ax: Any = None) -> Self:
        """Draw counted rows, before and, with maps, after a repair.

        Parameters
        ----------
        table : ScoreTable
            Counted rows, with outcomes; the scores must be probabilities.
        {maps}
        bins : int, default 10
            Bins of about equally many rows.
        {ax}
        """
        shown = states(table, maps)
        outside = sum(int(c.weight[(c.score < 0) | (c.score > 1)].sum()) for c in table.counts)
        if outside:
            raise ValueError(
                f"{outside} rows have a score outside [0, 1]: calibration compares probabilities with outcomes.\n"
                "Hint: turn the scores into probabilities first, or look at the other displays."
            )
        parts = [
            {"state": state, "group": str(group)} | reliability(counts, bins)
            for state, each in shown.items()
            for group, counts in zip(each.groups, each.counts)
        ]
        return cls(stack(parts))._drawn(ax)

    def plot(self, ax: Any = None) -> Any:
        """Draw one panel for each state; ``ax`` has as many axes."""
        panels = self._panels(ax, "Calibration by group", sharey=True)
        high = max(float(self.columns["mean_score"].max()), float(self.columns["rate"].max())) * 1.05
        for state, panel in panels.items():
            panel.plot([0, high], [0, high], color="0.6", lw=0.8, label="score = rate")
            for place, group in enumerate(self.values("group")):
                rows = self.where(state=state, group=group)
                own = look(place, marked=True)
                panel.plot(rows["mean_score"], rows["rate"], ms=5, lw=1.4, label=named(group), **own)
                panel.vlines(rows["mean_score"], rows["rate_low"], rows["rate_high"], color=own["color"], lw=0.8)
            panel.set(xlabel="mean score")
        panels[BEFORE].set_ylabel("share with the outcome")
        add_legend(panel, grow=ax is None, loc="upper left")
        return one_or_all(panels)


def reliability(counts: GroupCounts, bins: int) -> dict[str, Floats]:
    """Give mean score, rate and its interval in bins of about as many rows, which count for what they are worth."""
    _check_bins(bins)
    weight = counts.weight.astype(np.float64)
    rows = np.add(*counts.counted)
    place = np.minimum(((np.cumsum(rows) - rows / 2) * (bins / rows.sum())).astype(np.intp), bins - 1)
    first = np.flatnonzero(np.diff(place, prepend=-1))
    size, positive = np.add.reduceat(weight, first), np.add.reduceat(counts.positive.astype(np.float64), first)
    worth = size**2 / np.add.reduceat(counts.squared(True) + counts.squared(False), first)
    mean, (low, high) = np.add.reduceat(weight * counts.score, first) / size, _wilson(positive / size * worth, worth)
    return {"mean_score": mean, "rate": positive / size, "rate_low": low, "rate_high": high, "weight": size}


def _wilson(positive: Floats, size: Floats) -> tuple[Floats, Floats]:
    share, scale = positive / size, 1 + _Z**2 / size
    centre = (share + _Z**2 / (2 * size)) / scale
    reach = _Z * np.sqrt(share * (1 - share) / size + _Z**2 / (4 * size**2)) / scale
    return np.clip(centre - reach, 0.0, 1.0), np.clip(centre + reach, 0.0, 1.0)


@documented
class CrossRocDisplay(TableDisplay):
    """Draw ROC curves inside groups and between them: positives of one group against negatives of the other.

    The area under a cross-group curve is the xAUC, ties counted half; two groups are ranked alike where the
    curves of the two directions lie on each other. The columns are ``state``, ``positive`` and ``negative`` (the two
    groups), ``false_positive_rate``, ``true_positive_rate``, and ``area`` with ``area_low`` and ``area_high``.

    Examples
    --------
    >>> from fairpot.display import CrossRocDisplay
    >>> y, sex = [0, 1, 0, 1], ["F", "F", "M", "M"]
    >>> shown = CrossRocDisplay.from_predictions(y, [0.1, 0.3, 0.5, 0.9], sensitive_features=sex)
    >>> shown.where(positive="F", negative="M")["area"][0]
    np.float64(0.0)
    """

    @classmethod
    def from_table(
        cls,
        table: ScoreTable,
        maps: Maps | None = None,
        *,
        pair: tuple[Hashable, Hashable] | None = None,
        points: int = 1000,
        ax: Any = None,
    ) -> Self:
        """Draw counted rows, before and, with maps, after a repair.

        Parameters
        ----------
        {table, maps}
        pair : two names of groups, default None
            None takes the two that an audit speaks of: those with the largest gap.
        points : int, default 1000
            No curve keeps more points than this; areas are exact all the same.
        {ax}
        """
        rankings = {
            state: (each, rank(each)) for state, each in states(table.require("this picture", groups=2), maps).items()
        }
        told = rankings[BEFORE][1].told
        first, second = pair or (table.groups[:2] if told is None else (told.first, told.second))
        parts = []
        for state, (each, ranking) in rankings.items():
            for g, h in ((first, second), (second, first), (first, first), (second, second)):
                area = bar("", ranking.group(g).auc if g == h else ranking.cell(g, h).xauc)
                curve = roc_curve(each[g], each[h], points)
                ends = {"area": area.value, "area_low": area.low, "area_high": area.high}
                parts.append({"state": state, "positive": str(g), "negative": str(h), **curve, **ends})
        return cls(stack(parts))._drawn(ax)

    def plot(self, ax: Any = None) -> Any:
        """Draw one panel for each state; ``ax`` has as many axes."""
        wide = 5.2 if len(self.values("state")) == 1 else 4.8
        panels = self._panels(ax, "ROC inside groups and between them", height=wide, width=wide)
        for state, panel in panels.items():
            for place, group in enumerate(self.values("positive")):
                for other in self.values("negative"):
                    self._draw(panel, state, group, other, look(place))
            panel.plot([0, 1], [0, 1], color="0.6", lw=0.8)
            panel.set(xlabel="share without the outcome above the threshold", aspect="equal", anchor="N")
            panel.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01))
            grow = ax is None and state == BEFORE
            add_legend(panel, grow=grow, of_all=False, loc="lower right", handlelength=2.0)
        panels[BEFORE].set_ylabel("share with the outcome above the threshold")
        return one_or_all(panels)

    def _draw(self, panel: Any, state: str, group: str, other: str, own: dict[str, Any]) -> None:
        rows = self.where(state=state, positive=group, negative=other)
        if len(rows["area"]) == 0:
            return
        inside = group == other
        name = f"inside {plain(group)}" if inside else f"{plain(group)} over {plain(other)}"
        own |= {"lw": 0.9, "alpha": 0.6} if inside else {"lw": 2.0}
        area, low, high = (rows[column][0] for column in ("area", "area_low", "area_high"))
        own["label"] = wrapped(f"{name}: {area:.3f}" + (f" ({low:.3f} to {high:.3f})" if low == low else ""), 44)
        panel.plot(rows["false_positive_rate"], rows["true_positive_rate"], **own)


def roc_curve(winners: GroupCounts, losers: GroupCounts, points: int = 1000) -> dict[str, Any]:
    """Trace the share of one group's positives against that of another's negatives from every threshold up."""
    positives, negatives = float(winners.positive.sum()), float(losers.negative.sum())
    if not positives or not negatives:
        return dict.fromkeys(("false_positive_rate", "true_positive_rate"), np.full(1, np.nan))
    thresholds = winners.score if winners is losers else np.union1d(winners.score, losers.score)
    thresholds = thresholds[few(len(thresholds), points - 1)][::-1]
    return {
        "false_positive_rate": from_above(losers.score, losers.negative, thresholds) / negatives,
        "true_positive_rate": from_above(winners.score, winners.positive, thresholds) / positives,
    }


def from_above(scores: Floats, weight: Counts, thresholds: Floats) -> Floats:
    """Add up the weight at and above each threshold, beginning with none at all."""
    above = np.concatenate((np.cumsum(weight[::-1])[::-1], np.zeros(1)))
    return np.concatenate(([0.0], above[np.searchsorted(scores, thresholds, side="left")]))


@documented
class ScoreMapDisplay(TableDisplay):
    """Draw what each group's scores become. The columns are ``group``, ``score`` and ``mapped``.

    Examples
    --------
    >>> from fairpot import FairPOT
    >>> from fairpot.display import ScoreMapDisplay
    >>> fp = FairPOT(lam=1.0).fit([0.9, 0.6, 0.5, 0.1], [1, 0, 1, 0], sensitive_features=["M", "M", "F", "F"])
    >>> rows = ScoreMapDisplay.from_estimator(fp).where(group="F")
    >>> rows["mapped"][rows["score"] == 0.5]
    array([0.9])
    """

    @classmethod
    def from_maps(cls, maps: Maps, table: ScoreTable | None = None, *, ax: Any = None) -> Self:
        """Draw maps.

        Parameters
        ----------
        maps : dict of group to ScoreMap
            The maps to draw.
        table : ScoreTable, default None
            Rows whose scores are to be seen too, with or without outcomes.
        {ax}
        """
        low, high = _range(maps, table)
        corners = {group: _corners(each, low, high) for group, each in maps.items()}
        parts = [{"group": str(group), "score": x, "mapped": maps[group](x)} for group, x in corners.items()]
        return cls(stack(parts))._drawn(ax)

    @classmethod
    def from_table(cls, table: ScoreTable, maps: Maps | None = None, *, ax: Any = None) -> Self:
        """Draw maps over the scores of counted rows, with or without outcomes.

        Parameters
        ----------
        {table, maps, ax}
        """
        drawn = dict.fromkeys(table.groups, np.asarray) if maps is None else maps  # without maps scores stay
        return cls.from_maps(drawn, table, ax=ax)

    def plot(self, ax: Any = None) -> Any:
        """Draw; a group that nothing happens to lies on the diagonal and is named only."""
        [axes] = make_axes(ax)
        low, high = float(self.columns["score"].min()), float(self.columns["score"].max())
        axes.plot([low, high], [low, high], color="0.6", lw=0.8, label="score stays")
        for place, group in enumerate(self.values("group")):
            rows = self.where(group=group)
            moved = bool((rows["score"] != rows["mapped"]).any())
            line = (rows["score"], rows["mapped"]) if moved else ([], [])
            axes.plot(*line, lw=2, label=named(group) if moved else f"{named(group)} (unchanged)", **look(place))
        axes.set(xlabel="score before", ylabel="score after")
        set_title(axes, "What becomes of scores, by group")
        add_legend(axes, grow=ax is None, loc="upper left")
        return axes


def _range(maps: Maps, table: ScoreTable | None) -> tuple[float, float]:
    knots = [np.asarray(getattr(m, "knots", ())) for m in maps.values()]
    ends = [k[[0, -1]] for k in knots if len(k)]
    if table is not None:
        ends += [c.score[[0, -1]] for c in table.counts if len(c.score)]
    if not ends:
        return 0.0, 1.0
    return float(np.min(ends)), float(np.max(ends))


def _corners(one: Any, low: float, high: float) -> Floats:
    """Choose scores that show a map as it is: its knots, or enough of them, a grid, and both sides of a jump."""
    knots = np.asarray(getattr(one, "knots", ()), dtype=np.float64)
    knots = knots[few(len(knots), _KNOTS)]
    start = getattr(one, "start", None)
    jump = [] if start is None else [np.nextafter(start, -np.inf), start]
    grid = 2 * np.linspace(low / 2, high / 2, _GRID)
    score = np.unique(np.concatenate((knots, grid, jump)))
    return score[(score >= low) & (score <= high)]
