"""Everything a report shows, measured at each setting of the dial: one pass over the settings."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairpot._defaults import Region, Ties
from fairpot.auditing import measures as auditing
from fairpot.auditing.calibration import calibration_errors
from fairpot.auditing.finding import Finding, main_finding
from fairpot.auditing.gains import SHARE
from fairpot.auditing.queue import LABELS, SMALLEST_BAND, Mapped, Marks, marks, queue_places
from fairpot.counts import GroupCounts
from fairpot.display.calibration import reliability
from fairpot.display.distributions import histogram, score_edges
from fairpot.inference import Changes, change_by_maps
from fairpot.inference.dial import Top
from fairpot.metrics.wins import WinMatrix, inner_half_wins
from fairpot.report.people import above, band_shifts, bands, crossings, mean_places, top_scores
from fairpot.report.settings import Dial
from fairpot.table import Maps, ScoreTable
from fairpot.transport import Floats

# Above this many entries people are counted on a coarser table; AUC and gaps are not.
MOST_ENTRIES = 400_000
# Up to this many entries it is still counted exactly whose score changes.
MOST_MOVED = 4_000_000
COARSE_BINS = 1 << 17
# So many groups can be told apart in a picture; tables list so many.
DRAWN, LISTED = 8, 24
BINS, MAP_POINTS, ROC_POINTS, CALIBRATION_BINS = 48, 97, 80, 10
# About so many marks show a group in the queue.
MARKS = 30
ALPHAS = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)


@dataclass(frozen=True, eq=False)
class Setting:
    """What was measured at one value of the dial; arrays are over the groups of the table, or those drawn."""

    value: float | None
    auc: float
    xauc: Floats  # groups x groups, NaN without pairs
    top: dict[str, float] | None  # AUC, xAUC and gap inside the region of a partial repair; NaN where not known
    moves: list[dict[str, float]]
    calibration: list[tuple[float, float] | None]  # of each group, then of all
    places: Floats  # groups x outcomes
    up: Floats  # choices x groups x outcomes
    down: Floats
    histogram: Floats  # drawn x outcomes x bins, shares
    mapped: Floats  # drawn x points
    roc: list[tuple[Floats, Floats]]  # both directions: false and true positive rates at corners of the curve
    reliability: list[dict[str, Floats]] | None  # of the drawn
    bands: list[list[tuple[float, float]]]  # of the drawn
    queue: list[Floats]  # of the drawn: the place of each mark in the list of all rows
    acted: Floats  # choices: the share of all rows at or above the line


@dataclass(frozen=True, eq=False)
class Measured:
    """All settings, and what they share."""

    table: ScoreTable
    people: ScoreTable
    dial: Dial
    pair: tuple[int, int]  # the groups the report speaks of: the one ranked higher, and the one ranked lower
    large: list[int]  # the groups that can carry a headline: all where fewer than two can
    drawn: list[int]
    listed: list[int]
    edges: Floats
    grid: Floats
    thresholds: Floats
    alphas: tuple[float, ...]
    tops: Floats  # thresholds of the top shares before, the largest share first
    above: Floats  # choices x groups x outcomes, before
    bands: list[list[slice]]
    marks: list[Marks]  # of the drawn
    start: dict[str, int]  # the threshold and the top share that are shown first
    first: str  # which of the two is shown first
    settings: list[Setting]
    audits: dict[int, auditing.Measured]  # of the scores as they came, and at the reported setting
    changes: Changes | None  # from the one to the other
    finding: Finding  # what the audit of the original scores found, groups by their names as text
    top: Top | None  # the top of the ranking, if the repair works on it alone

    @property
    def groups(self) -> tuple[Hashable, ...]:
        """The names of the groups."""
        return self.table.groups

    @property
    def coarse(self) -> bool:
        """Whether people were counted on a coarser table."""
        return self.people is not self.table


@dataclass(frozen=True, eq=False)
class Lines:
    """Where people are acted on: thresholds and top shares, both ascending, and those that were asked for."""

    thresholds: Floats
    alphas: tuple[float, ...]
    threshold: float | None = None
    alpha: float | None = None


def measure(
    table: ScoreTable, dial: Dial, ties: Ties, lines: Lines, *, top: tuple[float, Region] | None = None
) -> Measured:
    """Measure a labelled table of at least two groups at every setting of a dial; ``top`` is what a repair works on."""
    people = table if entries(table) <= MOST_ENTRIES else table.quantise(COARSE_BINS)[0]
    inside: dict[str, Any] = {} if top is None else {"alpha": top[0], "region": top[1]}
    audits = {
        place: auditing.measure(people.rescored(dial.maps(place)) if place else people, ties=ties, **inside)
        for place in sorted({0, dial.chosen})
    }
    small = audits[0].numbers["headline"]["small_groups"]
    large = [place for place, group in enumerate(table.groups) if group not in small]
    large = large if len(large) > 1 else list(range(len(table.groups)))
    xauc = audited_xauc(audits[0]) if people is table else _counted_xauc(table, ties)
    told = xauc if top is None else audited_xauc(audits[0], auditing.tops(audits[0].numbers)[0])
    finding = main_finding(audits[0].numbers).named(str)
    pair, order = _pair_and_order(told if np.isfinite(told - told.T).any() else xauc, large, _places(table, finding))
    drawn = sorted(order[:DRAWN])
    tops = _tops(people.pooled(), lines.alphas)
    counted = np.concatenate((above(people, lines.thresholds), above(people, tops)))
    whole = Measured(
        table,
        people,
        dial,
        pair,
        large,
        drawn,
        sorted(order[:LISTED]),
        *_grids(people, dial),
        lines.thresholds,
        lines.alphas,
        tops,
        counted,
        [bands(people.counts[g]) for g in drawn],
        [marks(people.counts[g], MARKS if len(drawn) <= 4 else MARKS * 2 // 3) for g in drawn],
        _start(lines, counted),
        "threshold" if lines.threshold is not None else "top",
        [],
        audits,
        _changes(people, dial, ties),
        finding,
        None if top is None else Top(*top),
    )
    whole.settings.extend(_setting(whole, place, ties) for place in range(len(dial)))
    return whole


def _changes(people: ScoreTable, dial: Dial, ties: Ties) -> Changes | None:
    """Compare the scores as they came with those of the reported setting, on the same rows."""
    if not dial.chosen or len(people.groups) > auditing.MOST_GROUPS:
        return None
    return change_by_maps(people, dial.maps(dial.chosen), ties=ties)


def _start(lines: Lines, counted: Floats) -> dict[str, int]:
    """Begin with what was asked for, else with the share that `fit` and `effect` look at."""
    people = counted.sum(axis=(1, 2))[: len(lines.thresholds)]
    nearest = int(np.argmin(np.abs(people - SHARE * people.max(initial=1.0))))
    threshold = nearest if lines.threshold is None else int(np.searchsorted(lines.thresholds, lines.threshold))
    alpha = SHARE if lines.alpha is None else lines.alpha
    return {"threshold": threshold, "top": lines.alphas[::-1].index(alpha)}


def entries(table: ScoreTable) -> int:
    """Count the entries of a table: its distinct scores, group by group."""
    return sum(len(c.score) for c in table.counts)


def _tops(ranking: GroupCounts, alphas: tuple[float, ...]) -> Floats:
    """Return the thresholds of the top shares, ascending: the largest share first."""
    return top_scores(ranking, alphas[::-1])


def _setting(whole: Measured, place: int, ties: Ties) -> Setting:
    people = whole.people
    maps = whole.dial.maps(place)
    mapped = Mapped.of(people, maps)
    after = mapped.after
    auc, xauc = _ranks(whole, place, after, ties)
    drawn = [after.counts[g] for g in whole.drawn]
    probabilities = all(len(c.score) == 0 or (c.score[0] >= 0 and c.score[-1] <= 1) for c in after.counts)
    up, down = _choices(whole, mapped)
    return Setting(
        whole.dial.values[place],
        auc,
        xauc,
        _inside(whole, place, after, ties) if whole.top is not None else None,
        auditing.moves(whole.table if entries(whole.table) <= MOST_MOVED else people, maps),
        _calibration(whole, place, [*after.counts, mapped.ranking]),
        mean_places(mapped),
        up,
        down,
        np.array([[_shares(c, label, whole.edges) for label in LABELS] for c in drawn]),
        np.array([_mapped_grid(whole, maps, g) for g in whole.drawn]),
        _roc(after, whole.pair),
        [_reliability(c) for c in drawn] if probabilities else None,
        [band_shifts(mapped, g, parts) for g, parts in zip(whole.drawn, whole.bands)],
        [queue_places(mapped, g, shown) for g, shown in zip(whole.drawn, whole.marks)],
        (whole.above + up - down).sum(axis=(1, 2)) / float(mapped.ranking.weight.sum()),
    )


def _choices(whole: Measured, mapped: Mapped) -> tuple[Floats, Floats]:
    """Count crossings of every threshold, then of every top share."""
    fixed = crossings(mapped, whole.thresholds, whole.thresholds)
    moving = crossings(mapped, whole.tops, _tops(mapped.ranking, whole.alphas))
    up, down = (np.concatenate(parts) for parts in zip(fixed, moving))
    return up, down


def _ranks(whole: Measured, place: int, after: ScoreTable, ties: Ties) -> tuple[float, Floats]:
    """Read AUC and xAUC off the exact curve where it has them, else count them."""
    point = whole.dial.point(place)
    known = whole.audits.get(place)
    if known is not None and not whole.coarse:  # what an audit has measured is not counted again
        auc = known.numbers["auc"]
        return float("nan") if auc is None else float(auc), audited_xauc(known)
    if point is None or whole.top is not None or whole.dial.curve is None or len(whole.groups) != 2:
        matrix = WinMatrix.of(after, ties)
        total = float(matrix.pairs.sum())
        auc = float(matrix.half_wins.sum()) / 2 / total if total else float("nan")
        return auc, shares_won(matrix)
    a = whole.groups.index(whole.dial.curve.reference)
    counts = after.for_pairs()
    inside = np.diag([float(inner_half_wins(c, ties)) for c in counts.counts])
    xauc = shares_won(WinMatrix(whole.groups, inside, counts.positives, counts.negatives))
    xauc[a, 1 - a], xauc[1 - a, a] = point.xauc_ab, point.xauc_ba
    return point.auc, xauc


def _inside(whole: Measured, place: int, after: ScoreTable, ties: Ties) -> dict[str, float]:
    """Give the numbers of the top that a repair is about: as the audit has them, else counted."""
    assert whole.top is not None
    names, known = ("auc", "gap", "xauc_higher", "xauc_lower"), whole.audits.get(place)
    if known is not None:
        [inside] = auditing.tops(known.numbers)
        xauc, both = audited_xauc(known, inside), (inside["auc"], inside["gap"])
    else:
        wins = WinMatrix.of(after.top(*whole.top), ties)
        xauc, total = shares_won(wins), float(wins.pairs.sum())
        gaps = np.abs(xauc - xauc.T)[np.triu_indices(len(xauc), 1)]
        gap = float(np.nanmax(gaps)) if np.isfinite(gaps).any() else None
        both = (float(wins.half_wins.sum()) / 2 / total if total else None), gap
    numbers = (*both, xauc[whole.pair], xauc[whole.pair[::-1]])
    found = {name: float("nan") if each is None else float(each) for name, each in zip(names, numbers)}
    return {**found, "signed_gap": found["xauc_higher"] - found["xauc_lower"]}


def shares_won(matrix: WinMatrix) -> Floats:
    """Give every xAUC; NaN where there are no pairs."""
    pairs = matrix.pairs
    return np.asarray(np.divide(matrix.half_wins / 2, pairs, out=np.full(pairs.shape, np.nan), where=pairs > 0))


def audited_xauc(found: auditing.Measured, part: dict[str, Any] | None = None) -> Floats:
    """Give every xAUC of an audit, or of one of its tops; groups' own AUCs on the diagonal, NaN without pairs."""
    numbers = found.numbers
    groups = [each["group"] for each in numbers["groups"]]
    own = [each["auc"] if part is None else None for each in numbers["groups"]]
    xauc = np.diag(np.array([np.nan if value is None else value for value in own], dtype=np.float64))
    for cell in (part or numbers)["xauc"]:
        value = cell["xauc"]
        xauc[groups.index(cell["positive"]), groups.index(cell["negative"])] = np.nan if value is None else value
    return xauc


def _counted_xauc(table: ScoreTable, ties: Ties) -> Floats:
    return shares_won(WinMatrix.of(table, ties))


def _calibration(whole: Measured, place: int, counts: list[GroupCounts]) -> list[tuple[float, float] | None]:
    """Give the calibration errors of each group, and of all; an audit's where there is one."""
    known = whole.audits.get(place)
    if known is None:
        return [calibration_errors(c) for c in counts]
    found = [each["calibration"] for each in (*known.numbers["groups"], known.numbers)]
    return [c and (float(c["error_in_the_large"]), float(c["expected_calibration_error"])) for c in found]


def _places(table: ScoreTable, finding: Finding) -> tuple[int, int] | None:
    """Give the places of the two groups that the finding is of."""
    names = [str(group) for group in table.groups]
    return None if finding.pair is None else (names.index(str(finding.pair[0])), names.index(str(finding.pair[1])))


def _pair_and_order(xauc: Floats, large: list[int], pair: tuple[int, int] | None) -> tuple[tuple[int, int], list[int]]:
    """Take the pair of the finding, else the widest of large groups; order all: it first, then by their widest gap."""
    gap = np.nan_to_num(xauc - xauc.T)
    told = np.zeros(gap.shape)
    told[np.ix_(large, large)] = gap[np.ix_(large, large)]
    first, second = divmod(int(np.argmax(told)), len(gap))
    if first == second:
        first, second = large[:2]
    first, second = pair or (first, second)
    widest = np.abs(gap).max(axis=1)
    widest[[first, second]] = np.inf
    return (first, second), np.argsort(-widest, kind="stable").tolist()


def _grids(people: ScoreTable, dial: Dial) -> tuple[Floats, Floats]:
    """Return bins that hold the scores of every setting, and the scores at which maps are shown."""
    ends = [people]
    for place in {0, dial.chosen, len(dial) - 1, len(dial) // 2}:
        ends.append(Mapped.of(people, dial.maps(place)).after)
    edges = score_edges(ends, BINS)
    scores = [c.score for c in people.counts if len(c.score)]
    low, high = min(float(s[0]) for s in scores), max(float(s[-1]) for s in scores)
    return edges, 2 * np.linspace(low / 2, high / 2, MAP_POINTS)


def _shares(counts: GroupCounts, label: str, edges: Floats) -> Floats:
    weight = getattr(counts, label)
    total = float(weight.sum())
    if total < SMALLEST_BAND:  # a bar would be a person
        return np.full(len(edges) - 1, np.nan)
    return histogram(counts.score, weight, edges) / total


def _reliability(counts: GroupCounts) -> dict[str, Floats]:
    """Give the points of a calibration curve, none of which stands for fewer people than a band."""
    bins = min(CALIBRATION_BINS, int(counts.weight.sum() / SMALLEST_BAND))
    found = reliability(counts, max(bins, 1))
    return found if bins else {name: column[:0] for name, column in found.items()}


def _mapped_grid(whole: Measured, maps: Maps, g: int) -> Floats:
    group = whole.groups[g]
    return maps[group](whole.grid) if group in maps else whole.grid


def _roc(table: ScoreTable, pair: tuple[int, int]) -> list[tuple[Floats, Floats]]:
    """Trace both directions of one pair of groups, step by step."""
    return [_steps(table.counts[g], table.counts[h]) for g, h in (pair, pair[::-1])]


def _steps(winners: GroupCounts, losers: GroupCounts) -> tuple[Floats, Floats]:
    """Give the corners of a curve, from (0, 0) to (1, 1); of very many those that a picture can tell apart."""
    positives, negatives = float(winners.positive.sum()), float(losers.negative.sum())
    if not positives or not negatives:
        return np.empty(0), np.empty(0)
    thresholds = np.union1d(_some(winners.score), _some(losers.score))[::-1]
    x = _reached(losers.score, losers.negative, thresholds) / negatives
    y = _reached(winners.score, winners.positive, thresholds) / positives
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


def _some(scores: Floats) -> Floats:
    """Keep up to a thousand scores, the ends among them."""
    return scores[np.unique(np.linspace(0, len(scores) - 1, min(len(scores), 1000)).round().astype(np.intp))]


def _reached(scores: Floats, weight: Any, thresholds: Floats) -> Floats:
    """Add up the weight at and above each threshold, beginning with none at all."""
    above = np.append(np.cumsum(weight[::-1])[::-1], 0)
    return np.concatenate(([0.0], above[np.searchsorted(scores, thresholds, side="left")]))
