"""The settings of the dial, and what a report shows at each that no audit has measured: crossings, moves, pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fairpot.counts import GroupCounts
from fairpot.display.axes import few
from fairpot.display.scores import LABELS, histogram, score_edges
from fairpot.repair.fair_maps import FairMaps
from fairpot.report import people
from fairpot.report.content import Crossing, Curve, GroupAt, Line, Ranks, Setting, Strength, Within
from fairpot.report.people import FEWEST, Above, Mapped, Marks, from_above, top_scores
from fairpot.results import Audit, Effect
from fairpot.results.calibration import as_risks, calibrations
from fairpot.results.judge import Statement, judge
from fairpot.results.ranking import Ranking, own_scale, rank
from fairpot.results.rates import SHARE, Moved, moves
from fairpot.table import Maps, ScoreTable, Top
from fairpot.tradeoff import Limit, TradeoffCurve
from fairpot.transport import Floats, parted

# Above this many entries rows are counted and ranked in bins away from the reported setting.
MOST_ENTRIES = 400_000
# Up to this many entries it is still counted exactly whose score changes.
MOST_MOVED = 4_000_000
COARSE_BINS = 1 << 17
# So many groups can be told apart in a picture; tables list so many.
DRAWN, LISTED = 8, 24
BINS, MAP_POINTS, ROC_POINTS, CALIBRATION_BINS = 48, 97, 80, 10
# About so many marks show a group in the queue.
MARKS = 30
TOPS = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)


@dataclass(frozen=True, eq=False)
class Dial:
    """What can be turned, and what each turn does."""

    # The first is None, the original scores; the others are strengths.
    values: list[Any] = field(default_factory=lambda: [None])
    chosen: int = 0  # the place of the setting that the report is about
    maps: Callable[[int], Maps] = lambda place: {}  # function of the place, which returns the maps to use there
    curve: TradeoffCurve | None = None  # the whole trade-off on the table
    method: Any = None  # what can be turned; None where there is nothing

    def __len__(self) -> int:
        return len(self.values)

    @property
    def name(self) -> str:
        """What the method calls its dial; empty where there is nothing to turn."""
        return "" if self.curve is None else self.curve.dial

    def strengths(self, place: int) -> tuple[Strength, ...] | None:
        """Give each moved group's own strength at one setting; None where they share it."""
        if self.curve is None or self.curve.strengths is None or not place:
            return None
        found = self.method.at(self.values[place]).strengths_
        return tuple(Strength(group, float(value)) for group, value in found.items())


def dial_of(method: Any, maps: FairMaps, table: ScoreTable, ties: str, most: int) -> Dial:
    """Find the settings of a fitted method on a table, at most about ``most``, its own among them."""
    own: Any = getattr(method, "strength_", None)
    counted = bool((table.positives > 0).all() and (table.negatives > 0).all())
    counted &= {*maps.groups_} - {*maps.left_out_} <= {*table.groups}
    if not counted or isinstance(method, FairMaps):  # maps from a file know one strength
        fixed = own if isinstance(own, float) else None
        return Dial([None, fixed], 1, lambda place: maps.maps_on(table) if place else {})
    curve = method.tradeoff(table, ties=ties)
    values = [None, *_distinct(curve, own, most)]

    def at(place: int) -> Maps:
        value = values[place]
        if value is None:
            return {}
        return maps.maps_on(table) if value == own else method.at(value).fair_maps_.maps_on(table)

    return Dial(values, 0 if own == curve.identity else values.index(own), at, curve, method)


def _distinct(curve: TradeoffCurve, own: float, most: int) -> list[float]:
    """Choose values along the dial that the curve can tell apart, its best and the fitted one among them."""
    known = np.isfinite(curve.lam)  # where no strength changes nothing, the original scores have none
    best = float(curve.lam[int(np.argmin(np.where(known & np.isfinite(curve.gap), curve.gap, np.inf)))])
    anywhere = bool(curve.exact and curve.lam[0] == 0 and curve.lam[-1] == 1)  # it knows what is between its points
    spread = curve.lam[known][few(int(known.sum()), most + 1)]
    spread = np.arange(most + 1) / most if anywhere and len(curve) > most else spread

    def seen(value: float) -> Any:
        if not anywhere and value not in curve.lam:
            return value
        point = curve.at(value)
        return point.lam if anywhere else (point.auc, point.gap, point.signed_gap)

    off = curve.identity
    found: dict[Any, float | None] = {} if off is None else {seen(off): None}
    if own != off:  # where it changes nothing, it is the fitted one all the same
        found["own" if seen(own) in found else seen(own)] = own
    for value in (best, *spread.tolist()):
        found.setdefault(seen(value), value)
    return sorted(value for value in found.values() if value is not None)


@dataclass(frozen=True, eq=False)
class Drawn:
    """What pictures show at one setting; arrays are over the groups of the table, or over those that are drawn.

    Scores are on the scale of the rows' own.
    """

    up: Above  # of lines
    down: Above
    histogram: Floats  # drawn x outcomes x bins, shares
    mapped: Floats  # drawn x points
    roc: list[tuple[Floats, Floats]]  # both directions: false and true positive rates at corners of the curve
    reliability: list[dict[str, Floats]] | None  # of the drawn
    queue: list[Floats]  # of the drawn: the place of each mark in the list of all rows
    acted: Floats  # lines: the share of all rows above


@dataclass(frozen=True, eq=False)
class Lines:
    """Where rows are acted on: thresholds as counted, ascending, and top shares, descending; what was asked for."""

    thresholds: Floats
    tops: tuple[Top, ...]
    threshold: float | None = None
    top: Top | None = None

    def start(self, counted: Floats) -> dict[str, int]:
        """Begin with what was asked for, else with the share that `fit` and `effect` look at."""
        rows = counted.sum(axis=(1, 2))[: len(self.thresholds)]
        nearest = int(np.argmin(np.abs(rows - SHARE * rows.max(initial=1.0)))) if len(rows) else 0
        place = nearest if self.threshold is None else int(np.searchsorted(self.thresholds, self.threshold))
        return {"threshold": place, "top": self.tops.index(self.top or Top(SHARE))}

    def top_scores(self, ranking: GroupCounts) -> Floats:
        """Give the lowest score of each top."""
        return top_scores(ranking, [each.share for each in self.tops])

    def crossings(self, mapped: Mapped) -> tuple[Above, Above]:
        """Count crossings of every threshold, then of every top share."""
        fixed = people.crossings(mapped, self.thresholds, self.thresholds)
        before, after = (self.top_scores(each) for each in (mapped.table.pooled(), mapped.ranking))
        up, down = (first.then(last) for first, last in zip(fixed, people.crossings(mapped, before, after)))
        return up, down


@dataclass(frozen=True, eq=False)
class Measured:
    """All settings, and what they share; places stand for groups."""

    table: ScoreTable
    people: ScoreTable
    dial: Dial
    pair: tuple[int, int]  # the groups the report speaks of: the one ranked higher, and the one ranked lower
    drawn: list[int]
    listed: list[int]
    edges: Floats
    grid: Floats
    lines: Lines
    above: Above  # of lines, before
    marks: list[Marks]
    start: dict[str, int]  # the threshold and the top share that are shown first
    pictures: list[Drawn]
    settings: list[Setting]
    statements: list[tuple[Statement, ...]]  # of every setting, the most important first

    @property
    def coarse(self) -> bool:
        """Whether rows are counted in bins away from the reported setting."""
        return self.people is not self.table

    @property
    def shown(self) -> int:
        """The line that is shown first."""
        first = "top" if self.lines.threshold is None else "threshold"
        return self.start[first] + (len(self.lines.thresholds) if first == "top" else 0)

    @property
    def turned(self) -> bool:
        """Whether scores are counted with a minus."""
        return self.table.lower_is_riskier

    def crossed(self) -> tuple[Line, ...]:
        """List every line: who is above before, and comes and goes at the reported setting."""
        now, table = self.pictures[self.dial.chosen], self.table
        cells = [
            (group, k == 0, g, k, counts.counted[k].sum().item(), getattr(counts, label).sum().item())
            for g, (group, counts) in enumerate(zip(table.groups, table.counts))
            for k, label in enumerate(LABELS)
        ]

        def crossings_of(i: int) -> tuple[Crossing, ...]:
            listed = []
            for group, positive, g, k, rows, weight in cells:
                sums = self.above, now.up, now.down
                first, enter, leave = (float(each.weight[i, g, k]) for each in sums)
                ends = first, first + enter - leave
                was, later = (end / weight if weight else None for end in ends)
                many, come, go = (_whole(each.rows[i, g, k]) for each in sums)
                listed.append(Crossing(group, positive, rows, many, come, go, was, later, (*ends, weight)))
            return tuple(listed)

        found = [Line(own_scale(table, t), None, crossings_of(i)) for i, t in enumerate(self.lines.thresholds)]
        tops = enumerate(self.lines.tops, len(found))
        return (*found, *(Line(None, each.size, crossings_of(i)) for i, each in tops))


def _whole(number: float) -> float:
    return int(number) if number == int(number) else float(number)


def measure(table: ScoreTable, dial: Dial, audit: Audit, effect: Effect | None, lines: Lines) -> Measured:
    """Measure a labelled table of at least two groups at every setting of a dial."""
    counted = table if entries(table) <= MOST_ENTRIES else table.quantise(COARSE_BINS)
    pair, order = _pair_and_order(audit, effect)
    drawn = sorted(order[:DRAWN])
    tops = lines.top_scores(table.pooled())
    above = people.above(table, lines.thresholds).then(people.above(table, tops))
    size = MARKS if len(drawn) <= 4 else MARKS * 2 // 3
    grids, shown = _grids(counted, dial), [people.marks(counted.counts[g], size) for g in drawn]
    groups = pair, drawn, sorted(order[:LISTED])
    found = Measured(table, counted, dial, *groups, *grids, lines, above, shown, lines.start(above.weight), [], [], [])
    _measure_settings(found, audit, effect)
    return found


def _measure_settings(found: Measured, audit: Audit, effect: Effect | None) -> None:
    """Go through the settings and rank each, but those that an audit has ranked: the first and the reported one."""
    dial, told, ranking = found.dial, audit.told, audit.ranking
    audits = {0: audit} if effect is None else {0: audit, dial.chosen: effect.after}
    said = {0: audit.statements} if effect is None else {0: audit.statements, dial.chosen: effect.statements}
    asked: dict[str, Any] = {"ties": ranking.ties, "reference": ranking.reference}
    for place in range(len(dial)):
        maps = dial.maps(place)
        mapped = Mapped.of(found.people, maps)
        found.pictures.append(_drawn(found, place, maps, mapped))
        here, after = audits.get(place), mapped.after
        whole = rank(after, **asked) if here is None else here.ranking
        top, inside = None, whole
        if told.top is not None and told.top_of is not None:
            where = after.find_top(told.top, told.top_of)
            inside = rank(after, top=where, small=whole.small_groups, **asked) if here is None else here.told
            top = Ranks.of(inside)
        shifts = effect.moves if effect is not None and place == dial.chosen else _moves(found, maps)
        groups = _groups(whole, after, shifts)
        moved, rows = (sum(getattr(g.moved, name) for g in groups) for name in ("moved", "rows"))
        if place not in said and effect is not None:
            part = None if told.top is None else whole
            at = replace(effect.facts, ranking=inside, whole=part, auc=None, moved=moved, change=None, certificate=None)
            said[place] = judge(at)
        found.statements.append(said[place])
        found.settings.append(
            Setting(dial.values[place], dial.strengths(place), Ranks.of(whole), top, moved, rows, groups)
        )


def _moves(found: Measured, maps: Maps) -> tuple[Moved, ...]:
    """Count whose scores change; a map that makes probabilities of all scores afterwards is no part of that."""
    exact = entries(found.table) <= MOST_MOVED
    return moves(found.table if exact else found.people, parted(maps)[0])  # type: ignore[arg-type]


def _groups(ranking: Ranking, after: ScoreTable, shifts: Sequence[Moved]) -> tuple[GroupAt, ...]:
    """Give the numbers of every group at one setting; where no audit has measured calibration, measure it."""
    by_group = {each.group: each for each in shifts}
    known = [each.calibration for each in ranking.groups]
    listed = []
    for own, found in zip(ranking.groups, calibrations(after).groups if not any(known) else known):
        bias = None if found is None else found.error_in_the_large
        error = None if found is None else found.expected_calibration_error
        listed.append(GroupAt(own.group, own.auc, bias, error, by_group[own.group]))
    return tuple(listed)


def entries(table: ScoreTable) -> int:
    """Count the entries of a table: its distinct scores, group by group."""
    return sum(len(c.score) for c in table.counts)


def _drawn(found: Measured, place: int, maps: Maps, mapped: Mapped) -> Drawn:
    counts = [mapped.after.counts[g] for g in found.drawn]
    risks = [as_risks(c, found.turned) for c in counts]
    probabilities = all(len(c.score) == 0 or (c.score[0] >= 0 and c.score[-1] <= 1) for c in risks)
    exact = Mapped.of(found.table, maps) if found.coarse and place in (0, found.dial.chosen) else mapped
    up, down = found.lines.crossings(exact)
    sign, turn, edges = (-1.0, -1, 0.0 - found.edges[::-1]) if found.turned else (1.0, 1, found.edges)
    shares = np.array([[_shares(c, label, edges) for label in LABELS] for c in counts])
    own = (maps.get(found.table.groups[g], np.asarray) for g in found.drawn)
    return Drawn(
        up,
        down,
        shares[..., ::turn],
        np.array([sign * np.asarray(each(sign * found.grid)) + 0.0 for each in own]),
        [_steps(mapped.after.counts[g], mapped.after.counts[h]) for g, h in (found.pair, found.pair[::-1])],
        [_reliability(c) for c in risks] if probabilities else None,
        [people.queue_places(mapped, g, shown) for g, shown in zip(found.drawn, found.marks)],
        (found.above.weight + up.weight - down.weight).sum(axis=(1, 2)) / float(mapped.ranking.weight.sum()),
    )


def _pair_and_order(audit: Audit, effect: Effect | None) -> tuple[tuple[int, int], list[int]]:
    """Take the pair of the statement, else the first two groups; order all: it first, then by their largest gap.

    The pair is seen from the group that was ranked higher before a repair.
    """
    groups = list(audit.table.groups)
    said = (audit if effect is None else effect).statement.pair
    before = next((p.ranked for p in audit.told.gaps if {p.first, p.second} == set(said)), audit.told.leading)
    told = audit.told if any(pair.known for pair in audit.told.gaps) else audit.ranking
    pair = (0, 1) if before is None else (groups.index(before.first), groups.index(before.second))
    widest = np.zeros(len(groups))
    for each in told.gaps:
        for group in (each.first, each.second):
            widest[groups.index(group)] = max(widest[groups.index(group)], each.size)
    widest[list(pair)] = np.inf
    return pair, np.argsort(-widest, kind="stable").tolist()


def _grids(table: ScoreTable, dial: Dial) -> tuple[Floats, Floats]:
    """Return bins that hold the scores of every setting, and the scores at which maps are shown."""
    places = {0, dial.chosen, len(dial) - 1, len(dial) // 2}
    edges = score_edges([table, *(Mapped.of(table, dial.maps(place)).after for place in places)], BINS)
    scores = [c.score for c in table.counts if len(c.score)]
    low, high = min(float(s[0]) for s in scores), max(float(s[-1]) for s in scores)
    grid = 2 * np.linspace(low / 2, high / 2, MAP_POINTS)
    return (0.0 - edges[::-1], 0.0 - grid[::-1]) if table.lower_is_riskier else (edges, grid)


def _shares(counts: GroupCounts, label: str, edges: Floats) -> Floats:
    weight = getattr(counts, label)
    total = float(weight.sum())
    if counts.counted[LABELS.index(label)].sum() < FEWEST:  # a bar would be a person
        return np.full(len(edges) - 1, np.nan)
    return histogram(counts.score, weight, edges) / total


def _reliability(counts: GroupCounts) -> dict[str, Floats]:
    """Give the points of a calibration curve, none of which stands for very few people."""
    bins = min(CALIBRATION_BINS, int(counts.size / FEWEST))
    found = people.reliability(counts, max(bins, 1))
    return found if bins else {name: column[:0] for name, column in found.items()}


def _steps(winners: GroupCounts, losers: GroupCounts) -> tuple[Floats, Floats]:
    """Give the corners of a curve, from (0, 0) to (1, 1); of very many those that a picture can tell apart."""
    positives, negatives = float(winners.positive.sum()), float(losers.negative.sum())
    if not positives or not negatives:
        return np.empty(0), np.empty(0)
    thresholds = np.union1d(*(c.score[few(len(c.score), 1000)] for c in (winners, losers)))[::-1]
    x = from_above(losers.score, losers.negative, thresholds) / negatives
    y = from_above(winners.score, winners.positive, thresholds) / positives
    fresh = np.append(True, (np.diff(x) > 0) | (np.diff(y) > 0))
    x, y = x[fresh], y[fresh]
    bends = np.ones(len(x), dtype=bool)
    bends[1:-1] = np.diff(x)[:-1] * np.diff(y)[1:] != np.diff(x)[1:] * np.diff(y)[:-1]
    x, y = x[bends], y[bends]
    if len(x) > ROC_POINTS:  # equally far apart, counted in steps to the right and upwards
        far = np.searchsorted(x + y, np.linspace(0, 2, ROC_POINTS))
        kept = np.union1d(np.minimum(far, len(x) - 1), [0, len(x) - 1])
        x, y = x[kept], y[kept]
    return x, y


def thresholds(table: ScoreTable, given: Sequence[float], most: int) -> Floats:
    """Choose thresholds, as they are counted: round ones on [0, 1], else quantiles; those named are among them."""
    scores = [c.score for c in table.counts if len(c.score)]
    ends = [own_scale(table, each) for s in scores for each in (s[0], s[-1])]
    low, high = min(ends), max(ends)
    if low >= 0 and high <= 1 and high - low >= 0.25:
        step = 0.02 if most >= 48 else 0.05
        grid = np.arange(1, round(1 / step)) * step
        grid = grid[(grid > low) & (grid <= high)].round(6)
    else:
        pooled = table.pooled()
        reached = np.cumsum(pooled.weight) / float(pooled.weight.sum())
        places = np.searchsorted(reached, np.arange(1, most // 2) / (most // 2))
        found = pooled.score[np.minimum(places, len(reached) - 1)]
        grid = np.array([float(f"{own_scale(table, each):.4g}") for each in found])
    return np.unique([own_scale(table, each) for each in (*grid.tolist(), *given)])


def curve_of(curve: TradeoffCurve | None) -> Curve | None:
    """Keep what a picture of the curve needs: a bounded number of its points, the ends and the best among them."""
    if curve is None:
        return None
    best = int(np.argmax(-np.nan_to_num(curve.gap, nan=2.0))), int(np.argmax(np.nan_to_num(curve.auc)))
    shown = np.union1d(few(len(curve), 500), best)
    columns = (curve.lam, curve.auc, curve.gap, curve.signed_gap, curve.pareto)
    return Curve(curve.exact, len(curve), curve.reference, *(tuple(each[shown].tolist()) for each in columns))


def limit_of(found: Measured, audit: Audit) -> Within | None:
    """Give the line that no repair which keeps the order inside each group can cross."""
    table, curve, ties = found.table, found.dial.curve, audit.ranking.ties
    if curve is None or audit.told.top is not None or entries(table) > MOST_ENTRIES:
        return None
    if len(table.groups) != 2:
        if {*curve.moved, curve.reference} != set(table.groups):
            return None
        most, shown = Limit.of(table, ties=ties), np.linspace(np.nanmin(curve.gap), np.nanmax(curve.gap), 30)
        return Within(tuple(shown.tolist()), tuple(most.auc_at(shown).tolist()))
    pair = audit.told.leading
    assert pair is not None  # a curve was traced, so that a gap was measured
    first, second = pair.first, pair.second
    limit = Limit.of(table, reference=first, ties=ties)
    gaps = [float(each.all.pair(first, second).signed_gap or 0.0) for each in found.settings]
    shown = np.clip(np.linspace(min(*gaps, 0.0), max(*gaps, 0.0), 60), -1, 1)
    return Within(tuple(shown.tolist()), tuple(limit.auc_at(shown).tolist()))
