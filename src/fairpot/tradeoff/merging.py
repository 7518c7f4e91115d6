"""Merging two groups at their best: the highest AUC at each signed gap, and how much of it is chance.

A repair that keeps the order inside each group only decides how the two orders are merged. Of a block of a (pa, na) and
one of b (pb, nb), a above b wins ``pa * nb`` pairs and b above a wins ``pb * na``. The sum
``c_ba * wins_ba + c_ab * wins_ab`` is largest if the groups are pooled to blocks of ascending odds (PAV) and b is put
above a where ``theta * odds_b > odds_a``, ``theta = c_ba / c_ab``. Each two blocks change their order at one theta,
``pa * nb / (pb * na)``, so running sums over the sorted thetas give every vertex. At the ends of the line, at signed
gaps of -1 and 1, one group is entirely above the other.

Chance lifts the line above what a rule fixed beforehand can reach. How far, is found by drawing labels anew: from a
logistic line of each group along its ranks, for which the best rule is known. What the limit of the drawn labels has
over that rule, at the rule's own gap, is taken off.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtri

from fairpot._defaults import Ties
from fairpot._validation import wording
from fairpot.counts import NOBODY, Counts, GroupCounts, Members, rows_worth
from fairpot.inference.shares import FEWEST
from fairpot.metrics.wins import inner_half_wins
from fairpot.table import ScoreTable
from fairpot.transport import Floats
from fairpot.transport.lookup import running

_DRAWS = 10
_SEED = 20250101  # the optimism is the same in every run
# Labels are drawn at so many scores of a group at most, and judged by so many merges.
_MOST_SCORES = 5_000
_MERGES = 25
_NEWTON_STEPS = 25
_LEAST_SLOPE = 0.01


def pool(counts: GroupCounts) -> GroupCounts:
    """Pool a group to blocks of ascending share of positives (PAV), each at its lowest score."""
    from scipy.optimize import isotonic_regression  # takes a while to load

    weight = counts.weight.astype(np.float64)
    fitted = isotonic_regression(counts.positive / weight, weights=weight)
    first = np.asarray(fitted.blocks[:-1], dtype=np.intp)
    positive, negative = (np.add.reduceat(c, first) for c in (counts.positive, counts.negative))
    return GroupCounts(counts.score[first], positive, negative)


class Line(NamedTuple):
    """The vertices of the best merges of two groups: signed gap, AUC, and the factor on b's odds."""

    gap: Floats
    auc: Floats
    theta: Floats

    @classmethod
    def of(cls, a: GroupCounts, b: GroupCounts, ties: Ties) -> Line:
        """Merge two groups."""
        blocks = [pool(a), pool(b)]
        gap, wins, theta = line_of_two(*blocks)
        fixed = won_inside(blocks if ties == "half" else [a, b], ties)
        return cls(gap, np.minimum((fixed + wins) / _Pairs.of(a, b).total, 1.0), theta)


def line_of_two(a: GroupCounts, b: GroupCounts) -> tuple[Floats, Floats, Floats]:
    """Give signed gap, cross wins and theta of the best merges of two pooled groups.

    It starts with all of b above a, and puts a block of a above a block of b at a time, by falling theta.
    """
    ab = np.outer(a.positive, b.negative).ravel()
    ba = np.outer(a.negative, b.positive).ravel()
    worth = np.flatnonzero((ab > 0) | (ba > 0))
    ab, ba = ab[worth], ba[worth]
    theta = np.divide(ab, ba, out=np.full(len(ab), np.inf), where=ba > 0)
    order = np.argsort(-theta)
    theta = theta[order]
    # Thetas that differ by round-off are one: those vertices would lie inside an edge.
    last = np.append(np.flatnonzero(theta[:-1] > theta[1:] * (1 + 1e-14)), len(theta) - 1)
    gained, lost = (np.concatenate(([0], np.cumsum(c[order])[last])) for c in (ab, ba))
    kept = lost[-1] - lost
    gap, _ = _Pairs.of(a, b).measure(gained, kept, 0.0)
    return gap, np.asarray(gained + kept, dtype=np.float64), np.append(theta[last], 0.0)


def won_inside(groups: Iterable[GroupCounts], ties: Ties) -> float:
    """Count the pairs that are won inside the groups, which no merge changes.

    A tie inside a group is worth a half, so with ties="half" pooling helps there; with "strict" it costs.
    """
    return sum(float(inner_half_wins(g, ties)) for g in groups) / 2


def mean_line(lines: Sequence[tuple[Floats, Floats]]) -> tuple[Floats, Floats, NDArray[np.intp]]:
    """Give the highest mean for each mean signed gap, over all choices of a point on each of some concave lines.

    The best choice has the same slope on each: their edges, a share of each, are laid one after another from the
    steepest down. The last is their order, among all edges, line by line.
    """
    width, rise = (np.concatenate([np.diff(line[k]) for line in lines]) for k in (0, 1))
    kept = np.flatnonzero(width > 0)
    order = kept[np.argsort(-rise[kept] / width[kept], kind="stable")]
    gap, value = (
        np.mean([line[k][0] for line in lines]) + np.append(0.0, np.cumsum(steps[order]) / len(lines))
        for k, steps in enumerate((width, rise))
    )
    return np.clip(gap, -1.0, 1.0), value, order


class _Pairs(NamedTuple):
    """How many pairs there are to win: a over b, b over a, all."""

    ab: float
    ba: float
    total: float

    @classmethod
    def of(cls, a: GroupCounts, b: GroupCounts) -> _Pairs:
        p_a, n_a, p_b, n_b = (float(c.sum()) for c in (a.positive, a.negative, b.positive, b.negative))
        return cls(p_a * n_b, p_b * n_a, (p_a + p_b) * (n_a + n_b))

    def measure(self, ab: Counts, ba: Counts, fixed: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Give signed gap and AUC of merges that win so many pairs."""
        # Sums of broken weights may exceed their product by a last bit.
        gap = np.clip(np.asarray(ab / self.ab - ba / self.ba, dtype=np.float64), -1.0, 1.0)
        return gap, np.minimum(np.asarray((fixed + (ab + ba)) / self.total, dtype=np.float64), 1.0)


def too_few(table: ScoreTable) -> str | None:
    """Say which group has too few independent rows of an outcome to draw labels for; None if all have enough."""
    for what, units in zip(wording.BOTH_OUTCOMES, table.independent):
        for group, found in zip(table.groups, units):
            if found < FEWEST - 1e-9:
                counted = what if table.units is None else what.replace("rows", "clusters")
                needs = f"what chance adds to the limit needs {FEWEST} {counted} in every group"
                return f"{needs}, and group {group!r} has {found:.3g}"
    return None


def optimism(table: ScoreTable, ties: Ties) -> tuple[Floats, Floats] | None:
    """Give signed gaps, ascending, and how far the limit of labels like these lies above the best fixed rule there.

    Signs are those of the table's first group as the reference, whichever is: the same rows have the same optimism.
    """
    table = table._with(_thinned(c) for c in table.counts)
    lots = [_Lot.of(c) for c in table.counts]
    merges = _merges(*(lot.log_odds for lot in lots))
    found = []
    for a, b in _drawings(table, lots):
        gap, auc = _measured(merges, a, b, ties)
        line = Line.of(a, b, ties)
        found.append((gap, np.interp(gap, line.gap, line.auc) - auc))
    if not found:
        return None
    gap, above = np.mean(found, axis=0)
    return gap, above


def _thinned(counts: GroupCounts) -> GroupCounts:
    """Join neighbours where there are too many scores."""
    if len(counts.score) <= _MOST_SCORES:
        return counts
    part = np.minimum((_ranks(counts) * _MOST_SCORES).astype(np.intp), _MOST_SCORES - 1)
    first = np.append(0, np.flatnonzero(np.diff(part)) + 1)
    return counts.merged(first, counts.score[first])


def _ranks(counts: GroupCounts) -> Floats:
    """Give the share of the group below each score, half of its own included."""
    weight = counts.weight.astype(np.float64)
    return np.asarray((np.cumsum(weight) - weight / 2) / weight.sum())


def _log_odds(counts: GroupCounts, rows: int) -> Floats:
    """Fit log-odds that rise in a straight line with the normal quantile of the rank, whatever the scale of scores."""
    z, scale = ndtri(_ranks(counts)), rows / counts.weight.sum()
    weight, positive = counts.weight * scale, counts.positive * scale
    sides = np.stack((np.ones(len(z)), z))
    # A tenth of a row holds the slope to 0, so that outcomes which the scores part have an end.
    hold = np.array([0.0, 0.1])
    found = np.array([logit(positive.sum() / weight.sum()), 0.0])
    for _ in range(_NEWTON_STEPS):
        chance = expit(found @ sides)
        bend = (sides * (weight * chance * (1 - chance))) @ sides.T + np.diag(hold + 1e-9)
        step = np.linalg.solve(bend, sides @ (positive - weight * chance) - hold * found)
        size = float(np.abs(step).max())
        found = found + step * min(1.0, 2.0 / max(size, 1e-300))
        if size < 1e-6:
            break
    # A line that falls is no order to keep: the best rule ties the group, as a line that hardly rises all but does.
    return np.asarray(found[0] + max(found[1], _LEAST_SLOPE) * z)


def _merges(log_odds_a: Floats, log_odds_b: Floats) -> NDArray[np.intp]:
    """Fix rules beforehand: how many scores of a each score of b is put above, one row a merge.

    The thetas are spread evenly over those at which the order changes, from all of b above a to all below.
    """
    few = [o[np.linspace(0, len(o) - 1, min(len(o), 60)).astype(np.intp)] for o in (log_odds_a, log_odds_b)]
    ratios = np.quantile(np.subtract.outer(*few), np.linspace(1, 0, _MERGES))
    log_theta = np.concatenate(([np.inf], ratios, [-np.inf]))
    return np.stack([np.searchsorted(log_odds_a, log_odds_b + t) for t in log_theta])


def _measured(merges: NDArray[np.intp], a: GroupCounts, b: GroupCounts, ties: Ties) -> tuple[Floats, Floats]:
    """Give signed gap and AUC of each merge."""
    positive, negative = running(a.positive, a.negative)
    ab = np.array([np.dot(b.negative, positive[-1] - positive[under]) for under in merges])
    ba = np.array([np.dot(b.positive, negative[under]) for under in merges])
    return _Pairs.of(a, b).measure(ab, ba, won_inside([a, b], ties))


class _Lot(NamedTuple):
    """What outcomes of one group are drawn from: its rows at each score, and what a row counts with either outcome."""

    score: Floats
    log_odds: Floats
    rows: NDArray[np.int64]
    weights: tuple[Floats, Floats]  # of a row at each score if it is a positive, or a negative
    typical: tuple[float, float]

    @classmethod
    def of(cls, counts: GroupCounts) -> _Lot:
        """Take as many rows as the weights are worth; weights may depend on the outcome, as in case-control studies."""
        sides = counts.positive, counts.negative
        rows = [rows_worth(w, counts.squared(k == 0)) for k, w in enumerate(sides)]
        one, other = (float(w.sum() / m.sum()) for w, m in zip(sides, rows))
        heavy = counts.weight / (rows[0] * one + rows[1] * other)
        log_odds = _log_odds(counts, int(rows[0].sum() + rows[1].sum()))
        return cls(counts.score, log_odds, rows[0] + rows[1], (heavy * one, heavy * other), (one, other))

    @property
    def chance(self) -> Floats:
        """The chance that a row is a positive; the odds of weights are not those of rows."""
        return np.asarray(expit(self.log_odds - np.log(self.typical[0] / self.typical[1])))

    def draw(self, generator: np.random.Generator) -> GroupCounts:
        """Draw the outcomes of rows that are independent."""
        positive = generator.binomial(self.rows, self.chance)
        return GroupCounts(self.score, positive * self.weights[0], (self.rows - positive) * self.weights[1])

    def draw_alike(
        self, members: tuple[Members, Members], common: Floats, alike: float, generator: np.random.Generator
    ) -> GroupCounts:
        """Draw the outcomes of rows that belong together: a share of them by what their cluster has in common."""
        unit, entry = (np.concatenate((getattr(members[0], k), getattr(members[1], k))) for k in ("unit", "entry"))
        size = np.concatenate([m.weight / typical for m, typical in zip(members, self.typical)])
        decided = np.where(generator.random(len(unit)) < alike, common[unit], generator.random(len(unit)))
        positive = decided < self.chance[entry]
        drawn = [
            np.bincount(entry, weights=typical * size * kept, minlength=len(self.score))
            for typical, kept in zip(self.typical, (positive, ~positive))
        ]
        return GroupCounts(self.score, drawn[0], drawn[1])


def _drawings(table: ScoreTable, lots: list[_Lot]) -> Iterator[list[GroupCounts]]:
    """Draw outcomes of the same rows, some times over; draws without both outcomes in a group are left out."""
    generator, alike = np.random.default_rng(_SEED), _alike(table, [lot.chance for lot in lots])
    for _ in range(_DRAWS):
        if table.units is None:
            drawn = [lot.draw(generator) for lot in lots]
        else:
            common = generator.random(table.units.size)
            members = [c.members or (NOBODY, NOBODY) for c in table.counts]
            drawn = [lot.draw_alike(m, common, alike, generator) for lot, m in zip(lots, members)]
        if all(c.positive.sum() > 0 and c.negative.sum() > 0 for c in drawn):
            yield drawn


def _alike(table: ScoreTable, chances: list[Floats]) -> float:
    """Find the share of rows that take what their cluster has in common: the root of the correlation inside them."""
    rows = table.clusters
    if rows is None:
        return 0.0
    chance = np.concatenate(chances)[np.append(0, np.cumsum([len(p) for p in chances]))[rows.group] + rows.entry]
    parts = rows.weight * (rows.positive - chance), rows.weight * np.sqrt(chance * (1 - chance))
    together, apart = (
        np.sum(np.bincount(rows.unit, weights=part, minlength=rows.size) ** 2) - np.sum(part**2) for part in parts
    )
    return float(np.sqrt(np.clip(together / apart, 0.0, 1.0))) if apart > 0 else 0.0
