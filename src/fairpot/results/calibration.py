"""Calibration of probabilities, from the counts at each score alone."""

from __future__ import annotations

import functools
from bisect import bisect_left
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit, ndtri

from fairpot._defaults import LEVEL
from fairpot.counts import Counts, GroupCounts, Indices, count_units
from fairpot.inference import Estimate
from fairpot.inference.shares import FEWEST
from fairpot.repair.calibrating import own_risks
from fairpot.results.kinds import Count, Group
from fairpot.table import ScoreTable
from fairpot.transport import Floats, ScoreMap, moving, parted

BINS = 10
# Scores of exactly 0 and 1 have no finite log-odds; they are taken as this near to them.
_EDGE = 1e-6
_STEPS, _HALVINGS, _NEAR = 100, 30, 1e-5
# More distinct scores than this are put into bins of log-odds, each at its mean: the slope keeps 6 digits.
_MANY, _BINS_OF_LOG_ODDS = 1 << 16, 1 << 14


@dataclass(frozen=True)
class Calibration:
    """How well probabilities agree with outcomes."""

    error_in_the_large: Estimate  # mean score minus share of rows with the outcome
    # The same by bins of equal width on [0, 1], absolute, averaged over the rows. It is never 0 with finitely many
    # rows. Its limits allow for that, and are wider than they need to be.
    expected_calibration_error: Estimate
    error_by_chance: float  # what it would be expected to be if the scores were right
    # Of the logistic regression of the outcome on the score's log-odds: 1 is right, below 1 the scores are too extreme.
    # None if it has no finite value.
    slope: float | None


class Calibrations(NamedTuple):
    """The calibration of each group, and of all rows."""

    groups: tuple[Calibration | None, ...]
    all: Calibration | None


def calibrations(table: ScoreTable, bins: int = BINS, level: float | None = LEVEL) -> Calibrations:
    """Compare probabilities with outcomes in every group and among all rows; None where scores are no probabilities."""
    counts = [as_risks(c, table.lower_is_riskier) for c in table.counts]
    cells = [_Cells.of(c, bins) if are_probabilities(c) else None for c in counts]
    groups = tuple(None if own is None else _calibration([c], [own], level) for c, own in zip(counts, cells))
    known = [(c, own) for c, own in zip(counts, cells) if own is not None]
    if not known or len(known) < sum(len(c.score) > 0 for c in counts):
        return Calibrations(groups, None)
    return Calibrations(groups, _calibration([c for c, _ in known], [own for _, own in known], level))


def are_probabilities(counts: GroupCounts) -> bool:
    """Whether there are scores, and all lie in [0, 1]."""
    return bool(len(counts.score) and counts.score[0] >= 0 and counts.score[-1] <= 1)


class _Rows(NamedTuple):
    """Rows that belong together: unit, weight, score minus outcome and bin of each."""

    unit: Indices
    weight: Counts
    off: Floats
    bin: Indices


class _Cells(NamedTuple):
    """Sums of the rows of one group, or of several, in arrays by outcome (with it first) and bin.

    ``weight`` and ``score``, weight times score, say how large the errors are; ``square``, and by squared weights
    ``mean`` and ``scatter`` of the scores, how surely. ``rows`` has those of clusters.
    """

    weight: Floats
    score: Floats
    square: Floats
    mean: Floats
    scatter: Floats
    rows: _Rows | None = None

    @classmethod
    def of(cls, counts: GroupCounts, bins: int) -> _Cells:
        """Add up a group's entries; a bin is a stretch of them."""
        score, found = counts.score, np.zeros((5, 2, bins))
        edges = [bisect_left(score, k, key=lambda s: s * bins) for k in range(1, bins)]
        for k, place in enumerate(map(slice, [0, *edges], [*edges, len(score)])):
            for side, weight in enumerate((counts.positive, counts.negative)):
                square = None if counts.squares is None else counts.squares[side][place]
                found[:, side, k] = _moments(score[place], weight[place], square)
        if counts.members is None:
            return cls(*found)
        sides = [
            _Rows(m.unit, m.weight, score[m.entry] - (1 - side), np.searchsorted(edges, m.entry, side="right"))
            for side, m in enumerate(counts.members)
        ]
        return cls(*found)._replace(rows=_joined_rows(*sides))

    def joined(self, other: _Cells) -> _Cells:
        """Add the rows of another group, as Chan, Golub and LeVeque (1979) add up scatter."""
        square, apart = self.square + other.square, other.mean - self.mean
        part = np.divide(other.square, square, out=np.zeros(square.shape), where=square > 0)
        scatter = self.scatter + other.scatter + self.square * part * apart**2
        both = self.weight + other.weight, self.score + other.score, square, self.mean + apart * part, scatter
        rows = None if self.rows is None or other.rows is None else _joined_rows(self.rows, other.rows)
        return _Cells(*both, rows)

    @property
    def off(self) -> Floats:
        """Score minus outcome on average, by squared weights."""
        return self.mean - np.array([[1.0], [0.0]])

    @property
    def units(self) -> float:
        """How many independent rows there are."""
        return float(self.weight.sum() ** 2 / self.square.sum()) if self.rows is None else count_units(self.rows.unit)

    @property
    def scale(self) -> float:
        """From the root of a sum of squares to a standard error."""
        return float(np.sqrt(self.units / max(self.units - 1, 1)) / self.weight.sum())

    def spread(self, signs: Floats, centre: float) -> float:
        """Add up the squares of what rows, or clusters, are off from a centre, with a sign for each bin."""
        if self.rows is None:
            return float((self.scatter + self.square * (signs * self.off - centre) ** 2).sum())
        unit, weight, off, place = self.rows
        sums = np.bincount(unit, weight * (signs[place] * off - centre))
        return float(sums @ sums)

    def noise(self) -> tuple[Floats, Floats]:
        """Give the variance of each bin's sum of errors: if the scores were right, and as it shows."""
        right = np.maximum((self.square * self.mean * (1 - self.mean) - self.scatter).sum(axis=0), 0.0)
        if self.rows is None:
            return right, (self.scatter + self.square * self.off**2).sum(axis=0)
        unit, weight, off, place = self.rows
        sums = [np.bincount(unit[own], (weight * off)[own]) for own in (place == k for k in range(len(right)))]
        return right, np.array([each @ each for each in sums])


def _joined_rows(*parts: _Rows) -> _Rows:
    return _Rows(*(np.concatenate(column) for column in zip(*parts)))


def _moments(score: Floats, weight: Counts, square: Counts | None) -> tuple[float, ...]:
    """Add up weights and scores; of squared weights, give the sum, and mean and scatter of the scores."""
    weight = weight.astype(np.float64)
    square = weight if square is None else square
    total = float(square.sum())
    if not total:
        return float(weight.sum()), float(weight @ score), 0.0, 0.0, 0.0
    mean = float(square @ score) / total
    return float(weight.sum()), float(weight @ score), total, mean, float(square @ (score - mean) ** 2)


class _Line(NamedTuple):
    """What a logistic line is fitted to: log-odds, weight of those with the outcome, and weight of all."""

    x: Floats
    positive: Floats
    weight: Floats

    @classmethod
    def of(cls, counts: GroupCounts) -> _Line:
        """Take every score; of very many, stretches that are even in log-odds."""
        score, positive, weight = counts.score, counts.positive.astype(np.float64), counts.weight.astype(np.float64)
        if len(score) > _MANY:
            low, high = logit(np.clip(score[[0, -1]], _EDGE, 1 - _EDGE))
            edges = expit(np.linspace(low, high, _BINS_OF_LOG_ODDS + 1)[1:-1])
            first = np.append(0, np.searchsorted(score, edges))
            first = first[np.diff(first, append=len(score)) > 0]  # those with scores
            moment = np.add.reduceat(weight * score, first)
            positive, weight = np.add.reduceat(positive, first), np.add.reduceat(weight, first)
            score = moment / weight
        return cls(logit(np.clip(score, _EDGE, 1 - _EDGE)), positive, weight)

    @classmethod
    def joined(cls, lines: Sequence[_Line]) -> _Line:
        """Put groups together; very many log-odds go into bins."""
        x, positive, weight = (np.concatenate(column) for column in zip(*lines))
        if len(x) <= _MANY or x.min() == x.max():
            return cls(x, positive, weight)
        place = ((x - x.min()) * (_BINS_OF_LOG_ODDS / (x.max() - x.min()))).astype(np.intp)
        positive, total, moment = (
            np.bincount(place, each).astype(np.float64) for each in (positive, weight, weight * x)
        )
        kept = total > 0
        return cls(moment[kept] / total[kept], positive[kept], total[kept])


def _calibration(counts: Sequence[GroupCounts], parts: Sequence[_Cells], level: float | None) -> Calibration:
    """Read the numbers of some groups together off their sums."""
    cells = functools.reduce(_Cells.joined, parts)
    right, _ = cells.noise()
    chance = float(np.sqrt(2 / np.pi) * np.sqrt(right).sum() / cells.weight.sum())
    errors = {name: estimate(name, cells, LEVEL if level is None else level) for name, estimate in _ERRORS.items()}
    if level is None:
        errors = {name: Estimate(name, float(each), reason="none were asked for") for name, each in errors.items()}
    return Calibration(**errors, error_by_chance=chance, slope=logistic_slope(*counts))


def _large_error(name: str, cells: _Cells, level: float) -> Estimate:
    """Estimate mean score minus rate."""
    total = float(cells.weight.sum())
    mean = float((cells.score.sum(axis=0) - cells.weight[0]).sum()) / total
    se = cells.scale * float(np.sqrt(cells.spread(np.ones(cells.weight.shape[1]), mean)))
    half = float(ndtri((1 + level) / 2)) * se
    return _estimate(name, cells, mean, se, (mean - half, mean + half), level)


def _expected_error(name: str, cells: _Cells, level: float) -> Estimate:
    """Estimate the expected calibration error.

    With errors e of the bins and z of what was measured of them, the sum of abs(e + z) is at most that of abs(e) plus
    that of abs(z). And the sum of abs(e) is at most that of abs(e + z) minus that of sign(e) z, which is normal. The
    two limits hold whatever the errors are.
    """
    total = float(cells.weight.sum())
    off = (cells.score.sum(axis=0) - cells.weight[0]) / total
    expected, quantile = float(np.abs(off).sum()), float(ndtri((1 + level) / 2))
    se = cells.scale * float(np.sqrt(cells.spread(np.where(off < 0, -1.0, 1.0), expected)))
    sd = cells.scale * np.sqrt(np.maximum(*cells.noise()))
    limits = max(expected - _largest_sum(sd, quantile), 0.0), min(expected + quantile * se, 1.0)
    return _estimate(name, cells, expected, se, limits, level)


# The errors with an interval, by the field of Calibration that they are; another is one more entry and one more field.
_ERRORS = {"error_in_the_large": _large_error, "expected_calibration_error": _expected_error}


def _largest_sum(sd: Floats, quantile: float) -> float:
    """Give a quantile of a sum of absolute normal values, by its first three moments (Cornish and Fisher 1938)."""
    mean, variance = np.sqrt(2 / np.pi) * sd.sum(), (1 - 2 / np.pi) * float((sd**2).sum())
    if not variance:
        return 0.0
    skew = np.sqrt(2 / np.pi) * (4 / np.pi - 1) * (sd**3).sum() / variance**1.5
    return float(mean + np.sqrt(variance) * (quantile + skew * (quantile**2 - 1) / 6))


def _estimate(
    metric: str, cells: _Cells, value: float, se: float, limits: tuple[float, float], level: float
) -> Estimate:
    """Leave limits out where there are too few rows for any."""
    sides = zip(cells.weight.sum(axis=1), cells.square.sum(axis=1))
    if min(w**2 / q if q > 0 else 0.0 for w, q in sides) < FEWEST - 1e-9 or cells.units < FEWEST:
        reason = f"with fewer than {FEWEST} rows with or without the outcome there is no interval"
        return Estimate(metric, value, se, level=level, reason=reason)
    return Estimate(metric, value, se, *limits, level)


def calibration_errors(counts: GroupCounts, bins: int = BINS) -> tuple[float, float] | None:
    """Give mean score minus rate, and the expected calibration error; None if scores are no probabilities."""
    if not are_probabilities(counts):
        return None
    score, weight = counts.score, counts.weight
    total = float(weight.sum())
    excess = weight * score - counts.positive
    place = np.minimum((score * bins).astype(np.intp), bins - 1)
    return float(excess.sum()) / total, float(np.abs(np.bincount(place, excess, bins)).sum()) / total


def as_risks(counts: GroupCounts, lower_is_riskier: bool) -> GroupCounts:
    """Turn scores with a minus, of which a low one meant high risk, into the risk they say: one minus the score."""
    return replace(counts, score=1 + counts.score) if lower_is_riskier else counts


def _remaining_price(counts: GroupCounts) -> float | None:
    """Give what the Brier score of rows would gain if they had a map of their own; None where they have no line."""
    if _separated(counts) or counts.score[0] == counts.score[-1]:
        return None
    return float(np.dot(counts.weight, (own_risks(counts) - counts.score) ** 2) / counts.weight.sum())


def logistic_slope(*counts: GroupCounts) -> float | None:
    """Fit the outcome on the score's log-odds by Newton's method; None where the likelihood has no maximum."""
    x, positive, weight = _Line.joined([_Line.of(c) for c in counts])
    if _separated(*counts) or x.min() == x.max():
        return None
    # Centred and scaled: the two directions are then about equally steep.
    centre = float(np.average(x, weights=weight))
    spread = float(np.sqrt(np.average((x - centre) ** 2, weights=weight)))
    slope = _newton((x - centre) / spread, positive, weight)
    return None if slope is None else slope / spread


def _separated(*counts: GroupCounts) -> bool:
    """Whether one score parts the classes, or one of them is missing: slopes then grow without end."""
    sides = [[(c.score, c.positive != 0) for c in counts], [(c.score, c.negative != 0) for c in counts]]
    ends = [[(s[np.argmax(at)], s[len(s) - 1 - np.argmax(at[::-1])]) for s, at in side if at.any()] for side in sides]
    if not all(ends):
        return True
    (low, high), (lower, higher) = ((min(a for a, _ in side), max(b for _, b in side)) for side in ends)
    return bool(low >= higher or lower >= high)


def _newton(z: Floats, positive: Floats, weight: Floats) -> float | None:
    """Give the slope of the most likely line; None where no step leads on."""
    total = weight.sum()

    def loss(beta: Floats) -> float:
        linear = beta[0] + beta[1] * z
        return float(np.dot(weight, np.logaddexp(0, linear)) - np.dot(positive, linear))

    beta = np.array([logit(positive.sum() / total), 0.0])
    best = loss(beta)
    for _ in range(_STEPS):
        p = expit(beta[0] + beta[1] * z)
        pull, curvature = positive - weight * p, weight * p * (1 - p)
        gradient = np.array([pull.sum(), np.dot(pull, z)])
        if np.abs(gradient).max() <= 1e-10 * total:
            return float(beta[1])
        bend = np.dot(curvature, z)
        hessian = np.array([[curvature.sum(), bend], [bend, np.dot(curvature, z * z)]])
        try:
            step = np.linalg.solve(hessian, gradient)
        except np.linalg.LinAlgError:
            return None
        if np.abs(step).max() < _NEAR:  # so near the maximum that the last step is as good as any
            return float(beta[1] + step[1])
        shorter = [step / 2**k for k in range(_HALVINGS)]
        better = next((each for each in shorter if loss(beta + each) < best), None)
        if better is None:  # round-off at the maximum
            return float(beta[1])
        beta = beta + better
        best = loss(beta)
    return None


@dataclass(frozen=True)
class CalibrationStages:
    """Calibration of one group, or of all rows (group None), step by step through a repair.

    ``price`` is what the group's Brier score would gain from a map of its own, which would undo the repair.
    """

    group: Group | None
    rows: Count
    before: Calibration | None
    repaired: Calibration | None
    recalibrated: Calibration | None
    price: float | None


def calibration_stages(
    table: ScoreTable, maps: Mapping[Hashable, ScoreMap], before: Calibrations, after: Calibrations, bins: int
) -> tuple[CalibrationStages, ...] | None:
    """Show calibration of each group and of all step by step; None where scores are not probabilities at the end."""
    own, then = parted(maps)
    repaired = after if then is None else calibrations(table.rescored(moving(own)), bins)
    if not any((*after.groups, after.all)):
        return None
    last = Calibrations((None,) * len(table.groups), None) if then is None else after
    found = []
    for place, group in enumerate(table.groups):
        stages = (before.groups[place], repaired.groups[place], last.groups[place])
        counts, change, price = table.counts[place], maps.get(group), None
        if after.groups[place] is not None:
            moved = counts if change is None else counts.rescored(change(counts.score))
            price = _remaining_price(as_risks(moved, table.lower_is_riskier))
        found.append(CalibrationStages(group, counts.size, *stages, price))
    return (*found, CalibrationStages(None, table.rows, before.all, repaired.all, last.all, None))
