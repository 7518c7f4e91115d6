"""How scores are distributed in each group: mean, spread and quantiles, and how far groups are apart."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from fairpot._defaults import FEWEST_OF_RATES, LEVEL
from fairpot.counts import GroupCounts
from fairpot.inference.limits import Estimate, wilson
from fairpot.inference.rates import Measuring
from fairpot.results.kinds import Count, Group
from fairpot.results.ranking import own_scale
from fairpot.table import ScoreTable
from fairpot.transport import Floats


@dataclass(frozen=True)
class GroupScores:
    """The scores of one group, as the rows have them.

    ``standardised_difference`` is the mean minus that of ``against``, over the root of the mean of the two variances.
    """

    group: Group
    rows: Count
    mean: Estimate
    deviation: float | None
    q10: Estimate
    q25: Estimate
    median: Estimate
    q75: Estimate
    q90: Estimate
    against: Group | None
    standardised_difference: Estimate | None


def scores_by_group(
    table: ScoreTable, *, level: float | None = LEVEL, reference: Hashable | None = None
) -> tuple[GroupScores, ...]:
    """Describe the scores of every group; those are compared with the reference, else with the highest mean."""
    measuring = Measuring(table, level=level)
    means = [measuring.estimate("value", "mean_score", (g,)) for g in measuring.everyone]
    best = int(np.argmax(means)) if reference is None else table.groups.index(reference)
    moments = [_Moments.of(measuring, g) for g in measuring.everyone]
    found = []
    for g, (own, mean) in enumerate(zip(moments, means)):
        q10, q25, median, q75, q90 = (measuring.told(own.quantile(p)) for p in (0.1, 0.25, 0.5, 0.75, 0.9))
        deviation = None if own.variance != own.variance else float(np.sqrt(own.variance))
        apart = None if g == best else measuring.told(own.apart(moments[best]))
        sized = table.groups[g], table.counts[g].size, mean, deviation
        found.append(GroupScores(*sized, q10, q25, median, q75, q90, None if g == best else table.groups[best], apart))
    return tuple(found)


@dataclass(frozen=True, eq=False)
class _Moments:
    """What the scores of one group add up to."""

    measuring: Measuring
    counts: GroupCounts
    own: Floats  # which cells are the group's
    total: float
    mean: float
    variance: float
    units: float

    @classmethod
    def of(cls, measuring: Measuring, g: int) -> _Moments:
        cells = measuring.every
        own = 1.0 * (cells.group == g)
        weight, units = cells.weight * own, cells.units(np.arange(len(own)), own)
        total = float(weight.sum())
        mean = float(weight @ cells.score) / total
        with np.errstate(over="ignore", invalid="ignore"):  # of enormous scores, which then have no deviation
            spread = float(weight @ (own * (cells.score - mean)) ** 2) / total
        spread = spread if np.isfinite(spread) else np.nan
        variance = spread * units / (units - 1) if units > 1 else np.nan
        return cls(measuring, measuring.table.counts[g], own, total, mean, variance, units)

    @property
    def few(self) -> str | None:
        """Why there is no interval, if there is none."""
        enough = self.units >= FEWEST_OF_RATES - 1e-9
        return None if enough else f"with fewer than {FEWEST_OF_RATES} rows there is no interval"

    def quantile(self, p: float) -> Estimate:
        """Give the lowest score with at least a share p of the weight at or below it, as the rows have it.

        Its limits are the scores at Wilson's limits of the share p of the rows (Woodruff 1952).
        """
        table, score = self.measuring.table, self.counts.score
        running = np.cumsum(self.counts.weight) / self.total
        p = 1 - p if table.lower_is_riskier else p

        def at(share: float) -> float:
            return float(score[min(int(np.searchsorted(running, share - 1e-12)), len(score) - 1)])

        value, name = at(p), f"q{100 * p:.0f}"
        if self.few is not None:
            return Estimate(name, own_scale(table, value), level=self.measuring.level, reason=self.few)
        cells = self.measuring.every
        variance = cells.spread(self.own * ((cells.score <= value) - p) / self.total)
        size = min(p * (1 - p) / variance, 1e300) if variance > 0 else self.units
        low, high = (at(end) for end in wilson(p, size, -float(ndtri((1 - self.measuring.level) / 2))))
        found = Estimate(name, value, np.nan, low, high, self.measuring.level)
        return found.reversed() if table.lower_is_riskier else found

    def apart(self, other: _Moments) -> Estimate:
        """Give the standardised difference of two means, d, with the error that rows add to means and variances.

        With pooled variance v = (v1 + v2) / 2, a row x of the first group adds ((x - m1) / sqrt(v) - d ((x - m1)^2 -
        v1) / (4 v)) / n1, one of the second likewise with minus the first part (the delta method).
        """
        cells, level = self.measuring.every, self.measuring.level
        pooled = (self.variance + other.variance) / 2
        sign = -1.0 if self.measuring.table.lower_is_riskier else 1.0
        metric = "standardised_difference"
        if not pooled > 0:
            why = "the scores of these groups do not vary, or are too large to be squared"
            return Estimate(metric, np.nan, level=level, reason=why)
        d = sign * (self.mean - other.mean) / float(np.sqrt(pooled))
        error = np.zeros(len(cells.score))
        for each, way in ((self, sign), (other, -sign)):
            off = cells.score - each.mean
            bend = d * (off**2 - each.variance) / (4 * pooled)
            error += each.own * (way * off / np.sqrt(pooled) - bend) / each.total
        se, reason = float(np.sqrt(cells.spread(error))), self.few or other.few
        if reason is not None:
            return Estimate(metric, d, se, level=level, reason=reason)
        half = -float(ndtri((1 - level) / 2)) * se
        return Estimate(metric, d, se, d - half, d + half, level)
