"""Concordance across groups up to a time: how often the one who had the outcome earlier was ranked higher."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import nan
from typing import Any, ClassVar, Unpack

import numpy as np

from fairpot import words
from fairpot._arguments import argument, by_name
from fairpot._defaults import FEWEST, LEVEL, MOST_COMPARED, Leaving
from fairpot._said import Said, without
from fairpot._shown import Bar, ShownBars, bar
from fairpot._validation import Rows, check_alignment, check_level, check_rows, without_missing, wording
from fairpot._validation.columns import has_names
from fairpot._validation.followed import AfterTime, check_followed, check_horizon
from fairpot._warn import warn_user
from fairpot.counting import (
    BESIDE_TABLES,
    check_unnamed,
    columns_of,
    compared,
    count,
    followed_rows,
    grouping_of,
    meant,
    refuse_beside_table,
    units_of,
)
from fairpot.counts import Indices
from fairpot.follow_up import COMPETING, EVENT, FollowedRows, Staying, rows_by
from fairpot.inference.limits import Estimate
from fairpot.inference.shares import GapEstimates, ShareEstimates, small_sample_factor
from fairpot.results.kinds import Derived, Group, Plain, Share, Told, rows_of
from fairpot.table import ScoreTable
from fairpot.transport import Floats

# Rows that are compared: the order of their times, their scores and their weights.
Side = tuple[Indices, Floats, Floats]


def meetings(earlier: Side, later: Side) -> tuple[Floats, Floats]:
    """Weigh the pairs of rows of two sides of which the first is earlier: what each row wins, and what it meets.

    A win is a pair whose earlier row has the higher score; a tie is half of one. Instead of all pairs, for each bit of
    the time, rows of the first side with bit 0 meet those of the second with bit 1 whose higher bits are the same.
    """
    when, score, weight = (np.concatenate(each) for each in zip(earlier, later))
    by_score, cut = np.argsort(score, kind="stable"), len(earlier[0])
    when, score, weight, early = when[by_score], score[by_score], weight[by_score], by_score < cut
    rank = np.cumsum(np.append(False, score[1:] != score[:-1])) if len(score) else by_score
    (won, met), found = np.zeros((2, len(score))), np.empty((2, len(score)))
    for bit in range(int(when.max(initial=0)).bit_length()):
        there = np.flatnonzero(early != (when >> bit & 1).astype(bool))
        there = there[np.argsort(when[there] >> bit + 1, kind="stable")]
        (first, last), whole = _runs(when[there] >> bit + 1, rank[there]), _runs(when[there] >> bit + 1)
        own = early[there]
        for side in (own, ~own):
            total = np.append(0.0, np.cumsum(np.where(side, 0.0, weight[there])))
            below = (total[first] + total[last]) / 2 - total[whole[0]]
            every = total[whole[1]] - total[whole[0]]
            won[there] += np.where(side, below if side is own else every - below, 0.0)
            met[there] += np.where(side, every, 0.0)
    found[:, by_score] = won, met
    return found[:, :cut], found[:, cut:]


def _runs(*keys: Indices) -> tuple[Indices, Indices]:
    """Give, for each entry, where its run of equal keys begins and ends."""
    step = np.logical_or.reduce([key[1:] != key[:-1] for key in keys])
    begins = np.append(0, np.flatnonzero(step) + 1)
    length = np.diff(begins, append=len(keys[0]))
    return np.repeat(begins, length), np.repeat(begins + length, length)


Added = tuple[Indices, Floats, Floats]  # rows of one side of a direction, what their pairs win and what they weigh


def _added(
    rows: FollowedRows, directions: Sequence[tuple[int, int]], tau: float, leaving: Leaving
) -> Iterator[tuple[Added, Added]]:
    """Compare the rows of a group that had the outcome up to a time with those of another that had it later.

    A competing event is no outcome ever after: its row meets later ones with the weight it has at its own time.
    """
    when = 2 * np.unique(rows.time, return_inverse=True)[1] + (rows.event != EVENT)
    of_group, own, end = rows_by(rows.code), np.ones(len(when)), int(when.max())
    curves = [(some, Staying.of(rows, some)) for some in rows_by(rows.strata(leaving))]
    for some, curve in curves:
        own[some] = curve.before(rows.time[some])
    had = (rows.event == EVENT) & (rows.time <= tau) & (rows.weight > 0)
    for a, b in directions:
        events = of_group[a][had[of_group[a]]]
        base = rows.weight[events] / own[events]
        early, late = np.zeros((2, len(events))), np.zeros((2, len(when)))
        for some, curve in (each for each in curves if rows.code[each[0][0]] == b):
            stayed = curve.before(rows.time[events])
            weight = np.divide(base, stayed, out=np.zeros(len(events)), where=stayed > 0)
            over = some[rows.event[some] == COMPETING]
            ways = (when, weight, some, rows.weight[some]), (end - when, base, over, rows.weight[over] / own[over])
            for order, mine, others, theirs in ways if len(over) else ways[:1]:
                met = meetings((order[events], rows.score[events], mine), (order[others], rows.score[others], theirs))
                early += mine * met[0]
                late[:, others] += theirs * met[1]
        yield (events, *early), (of_group[b], *late[:, of_group[b]])


def estimate_concordances(
    rows: FollowedRows, directions: Sequence[tuple[int, int]], tau: float, leaving: Leaving = "score"
) -> ShareEstimates:
    """Estimate the concordance of each direction, a pair of groups, and the covariance of their errors.

    A row adds to an error the sum over its pairs of weight times (win - concordance), divided by that of the weights;
    it may do so on both sides of a direction, and to several.
    """
    unit = np.arange(len(rows.time)) if rows.unit is None else rows.unit
    # What clusters add is that of their rows; else a row adds the square that its weight has.
    square = rows.square if rows.unit is None else rows.weight**2
    scale = np.divide(np.sqrt(square), rows.weight, out=np.zeros(len(unit)), where=rows.weight > 0)
    value, units, added = [], [], []
    for sides in _added(rows, directions, tau, leaving):
        won, total = (float(each.sum()) for each in sides[0][1:])
        value.append(won / total if total else np.nan)
        for some, wins, pairs in sides:
            mass = np.bincount(unit[some], pairs * scale[some])
            units.append(total**2 / max(float((mass**2).sum()), 1e-300))
            added.append((unit[some], (wins - value[-1] * pairs) * scale[some] / (total or 1.0)))
    size = np.array(units).reshape(-1, 2)
    spread = [_by_unit(added[k::2], small_sample_factor(size[:, k]), int(unit.max()) + 1) for k in range(2)]
    variance = [np.asarray((each * each).sum(axis=1)) for each in spread]
    both = spread[0] + spread[1]
    covariance = (both @ both.T).toarray()
    return ShareEstimates(np.array(value), covariance, (variance[0], variance[1]), (size[:, 0], size[:, 1]))


def _by_unit(added: Sequence[tuple[Indices, Floats]], factor: Floats, many: int) -> Any:
    """Sum what rows add by direction and unit: rows have few directions each, so the sums are sparse."""
    from scipy.sparse import csr_array

    direction = np.repeat(np.arange(len(added)), [len(unit) for unit, _ in added])
    unit, value = (np.concatenate(each) for each in zip(*added))
    return csr_array((value * np.sqrt(factor)[direction], (direction, unit)), shape=(len(added), many))


@dataclass(frozen=True)
class PairConcordance:
    """Two groups: how often the earlier of a pair was ranked higher, for either group, and the gap of the two."""

    first: Group
    second: Group
    xci_first: Estimate
    xci_second: Estimate
    signed_gap: Estimate

    def seen_from(self, group: Hashable) -> PairConcordance:
        """Give the pair with a group first, if it is one of the two."""
        if group != self.second:
            return self
        return PairConcordance(self.second, self.first, self.xci_second, self.xci_first, self.signed_gap.reversed())


@dataclass(frozen=True, eq=False, repr=False)
class Concordance(Told, ShownBars):
    """Hold what :func:`concordance` found.

    Attributes
    ----------
    tau, level : float
        Pairs count whose earlier row had the outcome up to this time (None: all); and the level of every interval.
    overall : Estimate or None
        Where there are no groups: the concordance of all rows (Uno's C).
    pairs : tuple of PairConcordance
        Every two groups: ``xci_first`` is that of the first, as those with the outcome earlier, over the second;
        ``signed_gap`` is ``xci_first - xci_second``. Each has its own interval.

    Examples
    --------
    >>> from fairpot.results import concordance
    >>> cost, score, sex = [900, 20, 300, 50] * 9, [0.9, 0.2, 0.3, 0.4] * 9, ["F", "F", "M", "M"] * 9
    >>> found = concordance([-each for each in cost], score, sensitive_features=sex)
    >>> found.pair("F", "M").xci_first, found.pair("F", "M").xci_second
    (1.0, 1.0)
    """

    derived: ClassVar[Derived] = {}

    tau: float | None
    level: Share
    overall: Estimate | None
    pairs: tuple[PairConcordance, ...]

    def pair(self, first: Hashable, second: Hashable) -> PairConcordance:
        """Give a pair of groups, seen from the first."""
        return next(each for each in self.pairs if {each.first, each.second} == {first, second}).seen_from(first)

    def __repr__(self) -> str:
        return f"<Concordance: {self._says()[0]}>"

    def __str__(self) -> str:
        return "\n".join(self._says())

    def _listed(self) -> list[Plain]:
        return rows_of(self.pairs)

    def _bars(self) -> list[Bar]:
        return [bar(f"{pair.first} over {pair.second}", pair.signed_gap) for pair in self.pairs]

    def _says(self) -> list[str]:
        if self.overall is not None:
            return [words.concordant_overall(self.overall, self.tau)]
        return [words.concordant(pair, self.tau) for pair in self.pairs]


def concordances_of(table: ScoreTable, level: float | None) -> Concordance | None:
    """Measure concordances up to the horizon of a table; None where it has none, or other scores by now.

    Like other intervals, there are none of many groups, and none where none are asked for.
    """
    known = table.follow_up
    if known is None or known.rows is None or level is None or len(table.groups) > MOST_COMPARED:
        return None
    return _of_table(table, None, level)


def concordances(
    rows: FollowedRows, groups: Sequence[Hashable], places: Sequence[int], tau: float, level: float, leaving: Leaving
) -> Concordance:
    """Measure every two groups in both directions, at the places that rows have them; of one group, all its rows."""
    every = list(itertools.combinations(places, 2))
    directions = [each for pair in every for each in (pair, pair[::-1])] or [(places[0], places[0])]
    found = estimate_concordances(rows, directions, tau, leaving)
    of_groups = rows_by(rows.code)
    ended = [g for g in places if not Staying.of(rows, of_groups[g]).before(np.array([tau]))[0] > 0]
    why = [_why_not(found, k, [groups[g] for g in pair], tau) for k, pair in enumerate(directions)]
    for k, pair in enumerate(directions):
        if gone := [groups[g] for g in pair if g in ended]:
            found.value[k], why[k] = nan, f"nobody in group {gone[0]!r} is followed to {tau:g}"
    pairs: list[Any] = []
    with np.errstate(invalid="ignore", divide="ignore"):  # what has no interval is told apart by its reason
        shares = _estimates("xci", found, why, level)
        if every:
            both = [one or other for one, other in zip(why[::2], why[1::2])]
            gaps = _estimates("gap", GapEstimates.side_by_side(found), both, level)
            pairs = [(groups[a], groups[b], *shares[2 * k : 2 * k + 2], gaps[k]) for k, (a, b) in enumerate(every)]
    return Concordance(tau, level, None if every else shares[0], tuple(PairConcordance(*each) for each in pairs))


def _estimates(metric: str, found: Any, why: Sequence[str | None], level: float) -> list[Estimate]:
    numbers = np.array([found.value, found.se, *found.limits((1 - level) / 2)])
    numbers[2:, [reason is not None for reason in why]] = nan
    rows = zip(*numbers.tolist(), why)
    return [Estimate(metric, value, se, low, high, level, reason=no) for value, se, low, high, no in rows]


def _why_not(found: ShareEstimates, k: int, pair: Sequence[Hashable], tau: float) -> str | None:
    """Say which side of a direction rests on too few rows for an interval, if one does."""
    for group, units, what in zip(pair, found.units, (f"with the outcome by {tau:g}", "that had it later or not")):
        if units[k] < FEWEST - 1e-9:
            worth = f"group {group!r} has rows worth {units[k]:.3g} independent ones {what}"
            return f"{worth}, and with fewer than {FEWEST} there is no interval"
    return None


_NOT_OF_TIMES = {
    "horizon": "pairs are compared up to a time.\nHint: tau=... says which.",
    "pos_label": "event says who had the outcome.\nHint: code it 1 where the outcome happened, 0 elsewhere.",
    "label": "event says who had the outcome.\nHint: event=... names the column.",
    "high_score_means": "it changes no number.\nHint: fairpot.audit words by it what was found.",
}


@by_name(but=_NOT_OF_TIMES)
def concordance(
    rows: Any = None,
    y_score: Any = None,
    *,
    tau: float | None = None,
    level: float = LEVEL,
    **said: Unpack[Said],
) -> Concordance:
    """Measure how often the one of two groups who had the outcome earlier was ranked higher, in both directions.

    Pairs that leaving early hides are made up for by weights: the inverse of the share that stayed, in both groups.

    Parameters
    ----------
    rows : column of shape (n,), ScoreTable with a follow-up, or frame
        Until when each row was followed. For a numeric outcome, such as cost, minus that outcome, without ``event``.
        Of a frame, ``time`` names that column.
    {y_score, said}
    tau : float or None, default None
        Pairs count whose earlier row had the outcome by then; needed with ``event``. None takes all.
    {level}

    Examples
    --------
    >>> import numpy as np
    >>> from fairpot.results import concordance
    >>> rng = np.random.default_rng(0)
    >>> risk, sex = rng.normal(size=400), rng.choice(["F", "M"], 400)
    >>> had, left = rng.exponential(np.exp(-risk)), rng.exponential(3, 400)
    >>> score = risk + 0.5 * (sex == "M") + rng.normal(size=400)
    >>> days, died = np.minimum(had, left), had <= left
    >>> found = concordance(days, score, event=died, sensitive_features=sex, tau=1.0)
    >>> print(found.pair("M", "F").signed_gap)
    0.249 (95% interval 0.137 to 0.354)
    """
    if isinstance(rows, ScoreTable):
        refuse_beside_table(rows, {"y_score": y_score, **without(said, BESIDE_TABLES)})
        return _of_table(compared(meant(rows, said)), tau, check_level(level))
    if y_score is None and has_names(rows):
        _, scores, said = columns_of(rows, None, said)
        rows, y_score = None, scores["score"]
    check_unnamed(said)
    time, event, competing = (said.get("time") if rows is None else rows), said.get("event"), said.get("competing")
    for missing, given, what in (("event", competing, "competing"), ("tau", event, "event")):
        if given is not None and {"event": event, "tau": tau}[missing] is None:
            raise TypeError(f"{what} is given without {missing}.\nHint: pass {missing}=... as well.")
    columns = {"y_score": y_score, "time": time, "event": event}
    columns |= {name: said.get(name) for name in ("sensitive_features", "sample_weight", "clusters")}
    checked, columns = _checked(columns, said)
    after = AfterTime(columns["time"], columns["event"], tau, competing, said.get("leaving"))
    after = check_followed(after, len(checked.scores), by="tau")
    clusters, weights = columns["clusters"], said.get("weights")
    kept = compared(meant(count(checked, weights=weights), said)).groups
    _check_compared(kept)
    unit = None if clusters is None else units_of(clusters, len(checked.scores), "clusters")[0]
    places = [checked.groups.index(group) for group in kept]
    followed = followed_rows(checked, after, unit, weights)
    found = concordances(followed, checked.groups, places, after.horizon, check_level(level), after.leaving)
    return replace(found, tau=None) if tau is None else found


def _checked(columns: Plain, said: Said) -> tuple[Rows, Plain]:
    """Check columns of followed rows, turned to where a high score means high risk; leave out those with gaps."""
    if said.get("drop_missing"):
        check_alignment(**columns)
        columns, dropped = without_missing(columns)
        if dropped["rows"]:
            warn_user(wording.dropped_rows(dropped, len(columns["y_score"])), UserWarning)
    groups = columns["sensitive_features"]
    beside = {name: columns[name] for name in ("time", "event", "clusters")}
    known: dict[str, Any] = {"grouped": groups is not None, "grouping": grouping_of(said), "beside": beside}
    given = columns["y_score"], None, groups, columns["sample_weight"]
    checked = check_rows(*given, names=("y_true", "y_score"), **known)
    return checked._replace(scores=0.0 - checked.scores) if said.get("lower_is_riskier") else checked, columns


def _check_compared(groups: Sequence[Hashable]) -> None:
    if len(groups) > MOST_COMPARED:
        told = f"there are {len(groups)} groups, and at most {MOST_COMPARED} are compared"
        raise ValueError(f"{told}.\nHint: join small groups, or pass the rows of fewer.")


def _of_table(table: ScoreTable, tau: float | None, level: float) -> Concordance:
    """Measure concordances of rows that are counted, up to their horizon or a time before it."""
    known = table.follow_up
    if known is None or known.rows is None:
        raise ValueError(
            "this table has no times: it was counted without them, or has other scores by now.\n"
            "Hint: score_table(..., time=..., event=..., horizon=...)."
        )
    if tau is not None and check_horizon(tau, "tau") > known.horizon:
        told = f"{argument('tau', tau)} is after the horizon of the table, {known.horizon:g}"
        raise ValueError(f"{told}.\nHint: count the rows again with a later horizon.")
    _check_compared(table.groups)
    named = [each.group for each in known.groups]
    places = [named.index(group) for group in table.groups]
    return concordances(known.rows, named, places, known.horizon if tau is None else float(tau), level, known.leaving)
