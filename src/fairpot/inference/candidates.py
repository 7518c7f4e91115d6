"""Where the top alpha may begin: one threshold for smooth scores, a few where many rows share a score."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import comb
from typing import NamedTuple

import numpy as np
from scipy.special import betainc, chdtrc, gammaln, log_ndtr, ndtr, ndtri, xlogy

from fairpot._defaults import Region
from fairpot._validation import check_share
from fairpot.counts import Indices, count_units
from fairpot.table import ScoreTable
from fairpot.transport import Floats

_MISSED = 0.05  # part of a tail that is spent on thresholds outside the set that is looked at
_HEAVY = 1.0  # atoms of more rows than this many deviations of the rows above the cut make a region coarse
_NEAR = 3.3  # deviations within which an atom is near the cut, for a region to be called coarse
_FAR = 12.0  # deviations beyond this are not computed: no tail that anybody asks for reaches as far
_UNLIKELY = 0.001  # regions with a smaller chance than this are not spoken of
_RARE = 0.0005  # nor is a top that holds none of the rows with a chance above this
_MOST_ATOMS, MOST_REGIONS = 24, 400  # atoms of one population, and regions of several, that are looked at


@dataclass(frozen=True, eq=False)
class Population:
    """Rows that have one threshold: all of them, or those of a group."""

    groups: tuple[int, ...]  # places of its groups in the table
    score: Floats  # its distinct scores, ascending, and the weight of the rows at each
    rows: Floats
    # How many standard errors each score is from being the lowest of the top alpha; infinite beyond 12.
    deviation: Floats
    own: int  # place of the sample's own threshold
    size: float  # independent rows
    alpha: float

    @cached_property
    def weight(self) -> Floats:
        """Rows at each score, as independent units."""
        return self.rows * (self.size / float(self.rows.sum()))

    @property
    def spread(self) -> float:
        """Standard deviation of the number of rows above the threshold."""
        return float(np.sqrt(self.size * self.alpha * (1 - self.alpha)))

    @cached_property
    def coarse(self) -> bool:
        """Whether rows that share a score near the cut make the region jump."""
        if self.alpha == 1 or len(self.score) == 1:
            return False  # everybody is in the region, whatever rows were drawn
        near = self.weight[self.deviation <= _NEAR]
        return bool(near.max() > _HEAVY * self.spread)

    def sure(self, miss: float) -> Indices:
        """Give the places of thresholds that hold the true one but ``miss`` of the time."""
        level = -float(ndtri(miss / 2))
        places = np.flatnonzero(self.deviation <= level)
        if len(places) <= _MOST_ATOMS:
            return places
        heavy = places[self.weight[places] > _HEAVY * self.spread]
        running = np.cumsum(self.weight[places]) / max(self.spread / 4, 1e-12)
        steps = places[np.flatnonzero(np.diff(np.floor(running), prepend=-1.0))]
        after = heavy[heavy < places[-1]] + 1
        return np.unique(np.concatenate((heavy, after, steps, places[[0, -1]], [self.own])))

    def decided(self) -> tuple[float, float] | None:
        """Give the alphas nearest to this one at which the rows leave one threshold only; None if there are none."""
        share = np.append(np.cumsum(self.weight[::-1])[::-1], 0.0) / self.size
        error = _NEAR * np.sqrt(np.maximum(share * (1 - share), 0.0) / self.size)
        low, high = (share + error)[1:], (share - error)[:-1]
        low[-1], high[0] = 0.0, 1.0  # nothing is above the highest score, everybody is at or above the lowest
        low = np.maximum(low, 1 - _RARE ** (1 / self.size))  # below, the top may begin above all rows
        wide = np.flatnonzero(high > low)
        if len(wide) == 0:
            return None
        apart = np.maximum(low[wide] - self.alpha, self.alpha - high[wide])
        nearest = wide[int(np.argmin(apart))]
        return float(low[nearest]), float(high[nearest])


def populations(table: ScoreTable, alpha: float, region: Region) -> tuple[Population, ...]:
    """Find the populations that have a threshold of their own, and how far every score is from being it."""
    everyone = tuple(range(len(table.groups)))
    parts = [everyone] if region == "pooled" else [(g,) for g in everyone]
    return tuple(_population(table, groups, check_share(alpha, "alpha", zero=False)) for groups in parts)


def _population(table: ScoreTable, groups: tuple[int, ...], alpha: float) -> Population:
    counts = table.counts[groups[0]] if len(groups) == 1 else table.only([table.groups[g] for g in groups]).pooled()
    threshold = counts.top_score(alpha)
    rows = counts.weight.astype(np.float64)
    total = float(rows.sum())
    size = _units(table, groups, threshold, alpha, total)
    own = int(np.searchsorted(counts.score, threshold))
    above = np.append(np.cumsum(rows[::-1])[::-1], 0.0) * (size / total)
    return Population(groups, counts.score, rows, _deviation(above, size, alpha, own), own, size, alpha)


def _units(table: ScoreTable, groups: tuple[int, ...], threshold: float, alpha: float, total: float) -> float:
    """Count how many independent rows the number above a threshold is worth."""
    clusters = table.clusters
    if clusters is None:
        return total**2 / sum(float(table.squared(g, side).sum()) for g in groups for side in (True, False))
    rows = np.flatnonzero(np.isin(clusters.group, groups))
    first = np.array([np.searchsorted(c.score, threshold) for c in table.counts])
    inside = clusters.entry[rows] >= first[clusters.group[rows]]
    share = float((clusters.weight[rows] * inside).sum()) / total
    share = alpha if share >= 1 else share
    sums = np.bincount(clusters.unit[rows], weights=clusters.weight[rows] * (inside - share))
    there = count_units(clusters.unit[rows])
    variance = float((sums**2).sum()) / total**2 * there / max(there - 1, 1)
    most = sum(table.counts[g].size for g in groups)
    return min(share * (1 - share) / variance, most) if variance > 0 else float(there)


def _deviation(above: Floats, size: float, alpha: float, own: int) -> Floats:
    """Compute, for every score, how unlikely the counts at and above it are if it is the threshold."""
    result = np.full(len(above) - 1, np.inf)
    if alpha < 1:
        # By Bernstein's inequality counts farther off than this deviate by more than _FAR standard errors.
        reach = -2 * log_ndtr(-_FAR)
        reach = reach / 6 + np.sqrt((reach / 6) ** 2 + reach * size * alpha * (1 - alpha))
        up = above[::-1]
        first = len(result) - int(np.searchsorted(up[:-1], size * alpha + reach, side="right"))
        last = len(result) - int(np.searchsorted(up[1:], size * alpha - reach))
        near = slice(max(first, 0), last)
        at, over = np.minimum(above[:-1][near], size), np.minimum(above[1:][near], size)
        few = betainc(np.maximum(size - at, 1e-12), at + 1, 1 - alpha)  # as few rows at or above it
        few = np.where(at >= size, 1.0, few)
        many = np.where(over > 0, betainc(np.maximum(over, 1e-12), size - over + 1, alpha), 1.0)  # as many above it
        result[near] = np.maximum(0.0, np.maximum(-ndtri(few), -ndtri(many)))
    result[own] = 0.0
    return result


class Candidates(NamedTuple):
    """Places of thresholds, one column for each population (its own where it is smooth), and the tail of each."""

    places: Indices
    tails: Floats


class TooMany(Exception):
    """The rows leave too many regions open, or one that is empty."""


def candidates(found: Sequence[Population], tail: float) -> Candidates:
    """List the regions that rows cannot rule out, and the tail at which limits in each of them are computed.

    A limit that holds in all of them is wrong with probability ``tail`` at most. Populations that are smooth have
    their own threshold only.

    Raises :class:`TooMany`: with the reason, where there are too many regions or the region may be above all rows.
    """
    own = np.array([[p.own for p in found]], dtype=np.intp)
    rough = [p.coarse for p in found]
    if not any(rough):
        return Candidates(own, np.array([tail]))
    miss = _MISSED * tail / len(found)
    left = tail - miss * sum(rough)
    sets = regions(found, miss)
    at_risk = sum(len(each) > 1 for each in sets)
    if at_risk == 0:
        return Candidates(own, np.array([left]))
    farthest, critical = critical_values(at_risk, left)
    chosen = np.array(list(itertools.product(*sets)), dtype=np.intp)
    each = [p.deviation[chosen[:, k]] ** 2 for k, p in enumerate(found) if rough[k]]
    squares = np.sum(each, axis=0)
    kept = squares <= farthest**2
    quantile = np.minimum(critical, np.sqrt(np.maximum(farthest**2 - squares[kept], 0.0)))
    return Candidates(chosen[kept], ndtr(-quantile))


def regions(found: Sequence[Population], miss: float) -> list[Indices]:
    """Give, for each population, the thresholds that hold the true one but ``miss`` of the time."""
    for p in found:
        if p.coarse and (1 - p.alpha) ** p.size >= miss / 2:  # the true threshold may lie above all rows
            raise TooMany(f"there are too few rows to say where the top {100 * p.alpha:.4g}% begins")
    sets = [p.sure(miss) if p.coarse else np.array([p.own]) for p in found]
    many = int(np.prod([len(each) for each in sets], dtype=np.float64))
    if many > MOST_REGIONS:
        raise TooMany(f"the rows leave {many:,} regions open: {said(found)}")
    return sets


@lru_cache(maxsize=256)
def critical_values(at_risk: int, tail: float) -> tuple[float, float]:
    """Find how far a region may deviate, and the quantile of limits at no deviation.

    The answer in the true region is wrong only if that region is left out or its limit fails. At worst its threshold
    lies on the border of an atom; the deviations then follow a chi-bar-square law.
    """
    from scipy.optimize import brentq  # takes a while to load, and few need it

    many = at_risk + 1

    def beyond(c: float) -> float:
        return sum(comb(many, i) * chdtrc(i, c**2) for i in range(1, many + 1)) / 2**many - tail / 2

    farthest = brentq(beyond, 0.1, 20.0)
    nodes, weights = np.polynomial.legendre.leggauss(200)
    z = farthest * (nodes + 1) / 2
    free = np.arange(1, at_risk + 1)[:, None]
    chi = np.exp(np.log(2) - 0.5 * np.log(2) * free - gammaln(0.5 * free) + xlogy(free - 1.0, z) - 0.5 * z**2)
    density = chi * weights * farthest / 2

    def wrong(b: float) -> float:
        quantile = np.minimum(b, np.sqrt(np.maximum(farthest**2 - z**2, 0.0)))
        inner = [float(np.sum(ndtr(-quantile) * d)) + chdtrc(i + 1, farthest**2) for i, d in enumerate(density)]
        total = ndtr(-b) + sum(comb(at_risk, i + 1) * part for i, part in enumerate(inner))
        return float(total) / 2**at_risk - tail

    return float(farthest), float(brentq(wrong, 0.0, farthest))


def open_note(found: Sequence[Population]) -> str | None:
    """Say why regions are open and which alpha would not leave them so; None where the rows leave one only."""
    coarse = [p for p in found if p.coarse]
    return said(coarse) if any(len(p.sure(_UNLIKELY)) > 1 for p in coarse) else None


def said(found: Sequence[Population]) -> str:
    """Say why a coarse region leaves a question open, and which alpha would not."""
    alpha = found[0].alpha
    why = f"alpha {alpha:g} lies within sampling error of a tie: many rows share the score at which the top begins"
    spans = [span for p in found if p.coarse and (span := p.decided()) is not None]
    if len(spans) < sum(p.coarse for p in found):
        return why
    low, high = np.ceil(1000 * max(span[0] for span in spans)), np.floor(1000 * min(span[1] for span in spans))
    return why if low >= high else f"{why}; an alpha between {low / 1000:g} and {high / 1000:g} would be decided"
