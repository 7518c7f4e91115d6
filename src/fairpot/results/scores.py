"""How scores are distributed in each group: mean, spread and quantiles, and how far groups are apart."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from scipy.special import bdtrik, stdtrit

from fairpot._defaults import FEWEST_OF_RATES, LEVEL
from fairpot.counts import GroupCounts
from fairpot.inference.limits import Estimate
from fairpot.inference.rates import Measuring
from fairpot.results.kinds import Count, Group
from fairpot.table import ScoreTable
from fairpot.transport import Floats


@dataclass(frozen=True)
class GroupScores:
    """The scores of one group, as the rows have them.

    A quantile is the lowest score that has at least this share of the rows at or below it, as NumPy's "inverted_cdf".
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
    """Describe the scores of every group, beside the reference, else the highest mean of those with an interval."""
    measuring = Measuring(table, level=level)
    means = [measuring.estimate("value", "mean_score", (g,)) for g in measuring.everyone]
    sure = [g for g in measuring.everyone if means[g].reason is None] or measuring.everyone
    best = max(sure, key=means.__getitem__) if reference is None else table.groups.index(reference)
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

    def few(self, fewest: int = FEWEST_OF_RATES) -> str | None:
        """Say why there is no interval, if there is none."""
        return None if self.units >= fewest - 1e-9 else f"with fewer than {fewest} rows there is no interval"

    def quantile(self, p: float) -> Estimate:
        """Give the lowest score with at least a share p of the weight at or below it, as the rows have it.

        Its limits are scores at fractional ranks (Hutson 1999): the l-th lowest of n is above the quantile with the
        probability that fewer than l of n are below it. With weights or clusters, n is what their rows are worth.
        """
        cells, level, way = self.measuring.every, self.measuring.level, -1 if self.turned else 1
        tail = (1 - level) / 2
        score, weight = (0.0 + way * self.counts.score)[::way], self.counts.weight[::way]
        rows, ends = np.add(*self.counts.counted)[::way], np.cumsum(weight) / self.total
        at = int(np.searchsorted(ends, p - 1e-12))
        value, share, name = float(score[at]), float(ends[at]), f"q{100 * p:.0f}"
        few = self.few(max(FEWEST_OF_RATES, int(np.ceil(np.log(tail) / np.log(max(p, 1 - p))))))
        if few is not None:  # all rows may be on one side of it
            return Estimate(name, value, level=level, reason=few)
        variance = cells.spread(self.own * ((way * cells.score <= value) - share) / self.total)
        size = share * (1 - share) / variance if variance > 0 and 1 - share > 1e-12 else self.units
        tails = stdtrit([self.counts.size - 1, self.units - 1], tail)
        size *= float(tails[0] / tails[1]) ** 2  # of few clusters the variance is uncertain (Korn and Graubard 1998)
        ranks = 1 + bdtrik([tail, 1 - tail], size, p)
        half = weight / self.total / np.maximum(rows, 1) / 2  # rows of the same score begin and end at it
        places = np.stack((ends - weight / self.total + half, ends - half), axis=1).ravel()
        low, high = map(float, np.interp((ranks - 0.5) / size, places, np.repeat(score, 2)))
        return Estimate(name, value, np.nan, min(low, value), max(high, value), level)

    @property
    def turned(self) -> bool:
        """Whether the scores are counted with a minus."""
        return self.measuring.table.lower_is_riskier

    def apart(self, other: _Moments) -> Estimate:
        """Give the standardised difference of two means, d, with the error that rows add to means and variances.

        With pooled variance v = (v1 + v2) / 2, a row x of the first group adds ((x - m1) / sqrt(v) - d ((x - m1)^2 -
        v1) / (4 v)) / n1, one of the second likewise with minus the first part (the delta method).
        """
        cells, level = self.measuring.every, self.measuring.level
        pooled = (self.variance + other.variance) / 2
        sign = -1.0 if self.turned else 1.0
        metric = "standardised_difference"
        if not pooled > 0:
            why = "the scores of these groups do not vary, or are too large to be squared"
            return Estimate(metric, np.nan, level=level, reason=why)
        d = sign * (self.mean - other.mean) / float(np.sqrt(pooled))
        error, spreads = np.zeros(len(cells.score)), []
        for each, way in ((self, sign), (other, -sign)):
            off = cells.score - each.mean
            bend = d * (off**2 - each.variance) / (4 * pooled)
            own = each.own * (way * off / np.sqrt(pooled) - bend) / each.total / np.sqrt(1 - 1 / each.units)
            error += own
            spreads.append(cells.spread(own))
        se, reason = float(np.sqrt(cells.spread(error))), self.few() or other.few()
        if reason is not None:
            return Estimate(metric, d, se, level=level, reason=reason)
        freedom = sum(spreads) ** 2 / sum(v**2 / (each.units - 1) for v, each in zip(spreads, (self, other)))
        half = -float(stdtrit(freedom, (1 - level) / 2)) * se
        return Estimate(metric, d, se, d - half, d + half, level)
