"""Who is flagged at a score or in a top share, by group and outcome; whose scores and places a repair changes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from fairpot import words
from fairpot._defaults import LEVEL, Meaning
from fairpot._shown import Bar, ShownBars, bar, ends_of
from fairpot._validation import Rows, is_number
from fairpot.counts import GroupCounts
from fairpot.inference import Estimate
from fairpot.inference.rates import rate_estimates
from fairpot.results.kinds import Count, Derived, Group, Plain, Score, Share, Told, rows_of
from fairpot.results.ranking import own_scale
from fairpot.table import Maps, ScoreTable
from fairpot.transport import Floats

# The share of the ranking that is looked at where nobody says where is acted.
SHARE = 0.1
# What each rate is called in the estimates, and how it is read off counts: with and without the outcome, of all rows
# and of the flagged. A rate that is added here needs a field of the same name below.
_Counted = tuple[float, float, float, float]
_SHARES: dict[str, tuple[str, Callable[[_Counted], tuple[float, float]]]] = {
    "share": ("flagged", lambda n: (n[2] + n[3], n[0] + n[1])),
    "tpr": ("tpr", lambda n: (n[2], n[0])),
    "fpr": ("fpr", lambda n: (n[3], n[1])),
    "ppv": ("ppv", lambda n: (n[2], n[2] + n[3])),
}


@dataclass(frozen=True)
class Rates:
    """Who is flagged in one group, or in all (group None), and how rightly.

    ``tpr`` is the share of those with the outcome who are flagged, ``fpr`` of those without it, ``ppv`` the share of
    the flagged who have the outcome. Weights that say how much a row counts weigh these, and do not multiply rows.
    """

    group: Group | None
    rows: Count
    positives: Count
    negatives: Count
    flagged: Count
    flagged_positives: Count
    flagged_negatives: Count
    share: Estimate | None
    tpr: Estimate | None
    fpr: Estimate | None
    ppv: Estimate | None


@dataclass(frozen=True)
class Flagged:
    """Who is flagged from a score on, or in the top share of all rows."""

    at: Literal["score", "top"]
    alpha: Share | None
    threshold: Score
    groups: tuple[Rates, ...]
    all: Rates

    def listed(self) -> list[Plain]:
        """List the groups, then all of them, as rows of a frame."""
        head = {"at": self.at, "alpha": self.alpha, "threshold": self.threshold}
        rows = rows_of((*self.groups, self.all))
        return [{**head, **row, "group": "all" if row["group"] is None else row["group"]} for row in rows]


def flagged(
    table: ScoreTable, *, threshold: float | None = None, alpha: float | None = None, level: float | None = LEVEL
) -> Flagged:
    """Count who is flagged at a score, given as the rows have it, or in a top share; each rate with its interval."""
    if alpha is not None:
        at = float(next(iter(table.thresholds(alpha).values())))
        shown = own_scale(table, at)
    else:
        if not is_number(threshold) or not -1.7e308 < float(threshold) < 1.7e308:  # type: ignore[arg-type]
            raise ValueError(
                f"threshold must be a finite number, a score from which rows are flagged, got {threshold!r}."
            )
        shown = float(threshold)  # type: ignore[arg-type]
        at = own_scale(table, shown)
    groups = [_rates(table, group, counts, at, level) for group, counts in zip(table.groups, table.counts)]
    everyone = _rates(table, None, table.pooled(), at, level)
    return Flagged("score" if alpha is None else "top", alpha, shown, tuple(groups), everyone)


def _rates(
    table: ScoreTable, group: Hashable | None, counts: GroupCounts, threshold: float, level: float | None
) -> Rates:
    """Count one group, or all rows, and put the interval of each rate around it."""
    estimated, above = rate_estimates(table, group, threshold, level=level or LEVEL), counts.above(threshold)
    sums: Any = tuple(side.sum().item() for each in (counts, above) for side in (each.positive, each.negative))
    yes, no, found_yes, found_no = (side.sum().item() for each in (counts, above) for side in each.counted)
    rates: dict[str, Estimate | None] = {}
    for name, (metric, read) in _SHARES.items():
        part, whole = read(sums)
        known = getattr(estimated, metric).of(part / whole) if whole else None
        if known is not None and level is None:
            known = Estimate(known.metric, float(known), reason="none were asked for")
        rates[name] = known
    return Rates(group, yes + no, yes, no, found_yes + found_no, found_yes, found_no, **rates)


@dataclass(frozen=True)
class Acted:
    """How many of one group are acted on, before and after a repair, with and without the outcome.

    ``valence`` is "gains", "loses" or None: by what a high score does to a person, if that was said.
    """

    group: Group
    positives: Count
    negatives: Count
    yes_before: Count
    yes_after: Count
    no_before: Count
    no_after: Count
    tpr_before: Estimate | None
    tpr_after: Estimate | None
    fpr_before: Estimate | None
    fpr_after: Estimate | None
    valence: Literal["gains", "loses"] | None

    @property
    def before(self) -> float:
        """How many are acted on before."""
        return self.yes_before + self.no_before

    @property
    def after(self) -> float:
        """How many are acted on after."""
        return self.yes_after + self.no_after


@dataclass(frozen=True, repr=False)
class Action(ShownBars, Told):
    """Who is acted on at a threshold or in a top share, before and after a repair, by group and outcome."""

    derived: ClassVar[Derived] = {}

    threshold: Score | None  # those with this score or a riskier one are acted on; on the rows' own scale
    alpha: Share | None  # or so large a share of the ranking
    groups: tuple[Acted, ...]
    lower_is_riskier: bool = False

    def __repr__(self) -> str:
        return f"<Action {words.where(self)}: {len(self.groups)} groups, before and after>"

    @property
    def sentences(self) -> list[str]:
        """One for each group."""
        return words.acted_on(self)

    def _rates(self) -> list[tuple[Acted, str, float, list[tuple[str, float, Estimate | None]]]]:
        """Give, for each group and outcome, its rows, and how many of them are acted on before and after."""
        found = []
        for each in self.groups:
            yes = [("before", each.yes_before, each.tpr_before), ("after", each.yes_after, each.tpr_after)]
            no = [("before", each.no_before, each.fpr_before), ("after", each.no_after, each.fpr_after)]
            found += [(each, "with", each.positives, yes), (each, "without", each.negatives, no)]
        return found

    def _listed(self) -> list[Plain]:
        """One row per group and outcome, with rates before and after."""
        rows = []
        for each, outcome, total, both in self._rates():
            row: Plain = {"acted on": words.where(self), "group": each.group, "outcome": outcome, "rows": total}
            row |= {when: count for when, count, _ in both}
            for when, _, rate in both:
                row |= ends_of(f"share_{when}", rate)
            rows.append(row)
        return rows

    def _bars(self) -> list[Bar]:
        return [
            bar(f"{each.group}, {outcome}, {when}", rate)
            for each, outcome, _, both in self._rates()
            for when, _, rate in both
        ]

    def _says(self) -> list[str]:
        said = f"Who is acted on {words.where(self)}: share of each group and outcome, with 95% intervals"
        return [said, *self.sentences]


def actions(
    before: ScoreTable, after: ScoreTable, thresholds: Iterable[float], alpha: float | None, level: float | None = LEVEL
) -> tuple[Action, ...]:
    """Count who is acted on before and after: at each threshold, in the top share, else in the top tenth."""
    found = [_action(before, after, level, threshold=float(each)) for each in thresholds]
    shares = [alpha] if alpha is not None else [] if found else [SHARE]
    return (*found, *(_action(before, after, level, alpha=each) for each in shares))


def _action(before: ScoreTable, after: ScoreTable, level: float | None, **where: float) -> Action:
    first, second = (flagged(table, **where, level=level) for table in (before, after))
    means = before.ranked_high_means
    groups = tuple(_acted(was, now, means) for was, now in zip(first.groups, second.groups))
    return Action(where.get("threshold"), where.get("alpha"), groups, before.lower_is_riskier)


def _acted(before: Rates, after: Rates, means: Meaning | None) -> Acted:
    more = after.flagged - before.flagged
    valence: Literal["gains", "loses"] | None = None
    if means is not None and more:
        valence = "gains" if (more > 0) == (means == "help") else "loses"
    names = {"yes": "flagged_positives", "no": "flagged_negatives", "tpr": "tpr", "fpr": "fpr"}
    known: Plain = {f"{name}_before": getattr(before, of) for name, of in names.items()}
    known |= {f"{name}_after": getattr(after, of) for name, of in names.items()}
    return Acted(before.group, before.positives, before.negatives, valence=valence, **known)


@dataclass(frozen=True)
class Moved:
    """How many scores of one group a repair changes, which way and how far, on the scale of the rows' own scores.

    ``mean_shift`` is over the changed rows, ``mean_shift_of_all`` over all rows of the group.
    """

    group: Group
    rows: Count
    moved: Count
    up: Count
    down: Count
    mean_shift: float
    mean_shift_of_all: float
    largest_shift: float


def moves(table: ScoreTable, maps: Maps) -> tuple[Moved, ...]:
    """Count, for each group, whose score a map changes, which way and how far."""
    sign = -1.0 if table.lower_is_riskier else 1.0
    return tuple(
        _moved(g, c.weight, np.add(*c.counted), sign * ((maps[g](c.score) if g in maps else c.score) - c.score))
        for g, c in zip(table.groups, table.counts)
    )


def moves_of_rows(rows: Rows, after: Floats, importance: bool) -> tuple[Moved, ...]:
    """Count the same of rows with a second score beside the first; a weight may be how much a row counts."""
    codes = np.zeros(len(after), dtype=np.intp) if rows.codes is None else rows.codes
    weight = np.ones(len(after), dtype=np.int64) if rows.weight is None else rows.weight
    columns = weight, (weight > 0).astype(np.int64) if importance else weight, after - rows.scores
    return tuple(_moved(g, *(each[codes == place] for each in columns)) for place, g in enumerate(rows.groups))


def _moved(group: Hashable, weight: NDArray[Any], counted: NDArray[Any], shift: Floats) -> Moved:
    total, sizes = float(np.dot(weight, shift)), (weight[shift != 0].sum().item(), weight.sum().item())
    mean, of_all = (total / size + 0.0 if size else 0.0 for size in sizes)
    moved, up, down = (counted[at].sum().item() for at in (shift != 0, shift > 0, shift < 0))
    largest = float(np.abs(shift).max(initial=0.0))
    return Moved(group, counted.sum().item(), moved, up, down, mean, of_all, largest)
