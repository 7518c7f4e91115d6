"""Calibration of probabilities, from the counts at each score alone."""

from __future__ import annotations

import functools
from bisect import bisect_left
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from fairpot._defaults import FEWEST, LEVEL
from fairpot.counts import Counts, GroupCounts, Indices, count_units
from fairpot.inference import Estimate
from fairpot.table import ScoreTable
from fairpot.transport import Floats

BINS = 10


@dataclass(frozen=True)
class Calibration:
    """How well probabilities agree with outcomes."""

    error_in_the_large: Estimate  # mean score minus share of rows with the outcome
    # The same by bins of equal width on [0, 1], absolute, averaged over the rows. It is never 0 with finitely many
    # rows. Its limits allow for that, and are wider than they need to be.
    expected_calibration_error: Estimate
    error_by_chance: float  # what it would be expected to be if the scores were right


class Calibrations(NamedTuple):
    """The calibration of each group, and of all rows."""

    groups: tuple[Calibration | None, ...]
    all: Calibration | None


def calibrations(table: ScoreTable, bins: int = BINS, level: float | None = LEVEL) -> Calibrations:
    """Compare probabilities with outcomes in every group and among all rows; None where scores are no probabilities."""
    counts = [as_risks(c, table.lower_is_riskier) for c in table.counts]
    cells = [_Cells.of(c, bins) if are_probabilities(c) else None for c in counts]
    groups = tuple(None if own is None else _calibration(own, level) for own in cells)
    known = [own for own in cells if own is not None]
    if not known or len(known) < sum(len(c.score) > 0 for c in counts):
        return Calibrations(groups, None)
    return Calibrations(groups, _calibration(functools.reduce(_Cells.joined, known), level))


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


def _calibration(cells: _Cells, level: float | None) -> Calibration:
    """Read the numbers off sums.

    With errors e of the bins and z of what was measured of them, the sum of abs(e + z) is at most that of abs(e) plus
    that of abs(z). And the sum of abs(e) is at most that of abs(e + z) minus that of sign(e) z, which is normal. The
    two limits of the expected error hold whatever the errors are.
    """
    total, quantile = float(cells.weight.sum()), float(ndtri((1 + (level or LEVEL)) / 2))
    sums = cells.score.sum(axis=0) - cells.weight[0]
    off, mean = sums / total, float(sums.sum()) / total
    se = cells.scale * float(np.sqrt(cells.spread(np.ones(len(off)), mean)))
    large = _estimate("error_in_the_large", cells, mean, se, (mean - quantile * se, mean + quantile * se), level)
    expected, (right, shown) = float(np.abs(off).sum()), cells.noise()
    se = cells.scale * float(np.sqrt(cells.spread(np.where(off < 0, -1.0, 1.0), expected)))
    largest = _largest_sum(cells.scale * np.sqrt(np.maximum(right, shown)), quantile)
    limits = max(expected - largest, 0.0), min(expected + quantile * se, 1.0)
    chance = float(np.sqrt(2 / np.pi) * np.sqrt(right).sum() / cells.weight.sum())
    return Calibration(large, _estimate("expected_calibration_error", cells, expected, se, limits, level), chance)


def _largest_sum(sd: Floats, quantile: float) -> float:
    """Give a quantile of a sum of absolute normal values, by its first three moments (Cornish and Fisher 1938)."""
    mean, variance = np.sqrt(2 / np.pi) * sd.sum(), (1 - 2 / np.pi) * float((sd**2).sum())
    if not variance:
        return 0.0
    skew = np.sqrt(2 / np.pi) * (4 / np.pi - 1) * (sd**3).sum() / variance**1.5
    return float(mean + np.sqrt(variance) * (quantile + skew * (quantile**2 - 1) / 6))


def _estimate(
    metric: str, cells: _Cells, value: float, se: float, limits: tuple[float, float], level: float | None
) -> Estimate:
    """Leave limits out where nobody asked for them, or there are too few rows for any."""
    if level is None:
        return Estimate(metric, value, reason="none were asked for")
    sides = zip(cells.weight.sum(axis=1), cells.square.sum(axis=1))
    if min(w**2 / q if q > 0 else 0.0 for w, q in sides) < FEWEST - 1e-9 or cells.units < FEWEST:
        reason = f"with fewer than {FEWEST} rows with or without the outcome there is no interval"
        return Estimate(metric, value, se, level=level, reason=reason)
    return Estimate(metric, value, se, *limits, level)


def as_risks(counts: GroupCounts, lower_is_riskier: bool) -> GroupCounts:
    """Turn scores with a minus, of which a low one meant high risk, into the risk they say: one minus the score."""
    return replace(counts, score=1 + counts.score) if lower_is_riskier else counts
