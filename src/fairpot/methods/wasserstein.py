"""WassersteinRepair: move every group to the barycentre of the groups' score distributions."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fairpot._docs import documented
from fairpot.repair.estimator import OwnStrength, Repair
from fairpot.repair.family import Dial, Family, spread
from fairpot.table import ScoreTable
from fairpot.tradeoff.solve import Mover
from fairpot.transport import Floats, ScoreMap, project

DIAL = Dial(
    "t",
    identity=0.0,
    meaning="share of the way to the barycentre",
    setting="{dial} = {value}: each group {share} of the way to a common distribution",
)


def barycentre_maps(table: ScoreTable) -> dict[Hashable, ScoreMap]:
    """Map the scores of every group to the size-weighted barycentre: the mean of their projections onto all groups.

    The sum is taken in one order for all groups and in extended precision, so that scores of two groups with the same
    mass interval become equal bit for bit.
    """
    sizes = [c.weight.sum() for c in table.counts]
    total = np.longdouble(sum(sizes))
    maps = {}
    for group, own in zip(table.groups, table.counts):
        mean = np.zeros(len(own.score), dtype=np.longdouble)
        for size, other in zip(sizes, table.counts):
            onto = own.score if other is own else project(own.score, own.weight, other.score, other.weight)
            mean += np.longdouble(size) * onto
        maps[group] = ScoreMap(own.score, (mean / total).astype(np.float64))
    return maps


def part_of_the_way(full: ScoreMap, t: float) -> ScoreMap:
    """Return the map that goes the share ``t`` of the way that ``full`` goes."""
    if t == 0:
        return ScoreMap.identity()
    return ScoreMap(full.knots, _mixed(full.knots, full.values, t))


def _mixed(start: Floats, end: Floats, t: float) -> Floats:
    """Go a share of the way; round-off leads past neither end: a score that is where it should be stays so."""
    mixed = (1 - t) * start + t * end
    return np.asarray(np.clip(mixed, np.minimum(start, end), np.maximum(start, end)))


def learn(table: ScoreTable) -> Family:
    """Learn every group's map to the barycentre; at strength t a share t of the way is gone. Outcomes play no part."""
    full = barycentre_maps(table)
    hundredths = np.arange(101) / 100

    def move(group: Hashable, scores: Floats) -> Mover:
        whole = full[group]
        start, end = np.clip(scores, whole.knots[0], whole.knots[-1]), whole(scores)
        return lambda t: scores if t == 0 else _mixed(start, end, t)

    def at(group: Hashable, t: float) -> ScoreMap:
        return part_of_the_way(full[group], t)

    return Family(DIAL, table.groups, None, at, hundredths, spread, move=move, moves_exactly=True)


@documented
@dataclass(eq=False, repr=False)
class WassersteinRepair(Repair):
    """Repair scores by matching every group's quantiles to those of the barycentre.

    The barycentre's quantiles are the mean of the groups', weighted by their sizes. At ``t=1`` all groups have its
    distribution (the paper's baseline); at smaller ``t`` each score has gone that share of the way. All groups move,
    and outcomes play no part.

    Parameters
    ----------
    t : float in [0, 1] or None, default None
        How far to go to the barycentre; 0 changes nothing. None: chosen in ``fit`` by rule.
    {repairing}

    Attributes
    ----------
    t_ : how far the scores go, given or chosen
    {fitted}

    Examples
    --------
    >>> from fairpot import WassersteinRepair
    >>> score, sex = [0.9, 0.7, 0.5, 0.3], ["M", "M", "F", "F"]
    >>> WassersteinRepair(t=0.5).fit_transform(score, sensitive_features=sex)
    array([0.8, 0.6, 0.6, 0.4])
    """

    dial: ClassVar[Dial] = DIAL
    t_ = OwnStrength()
    learn = staticmethod(learn)
    _moves_by: ClassVar[str] = "moved towards what the groups have in common (their barycentre)"

    t: float | None = None
