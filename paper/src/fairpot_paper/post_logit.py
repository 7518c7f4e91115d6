"""PostLogit: a scaled sigmoid on the scores of the disadvantaged group (Kallus and Zhou, 2019)."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit

from fairpot._defaults import Ties
from fairpot._docs import documented
from fairpot._validation import is_number
from fairpot.repair.estimator import OwnStrength, Repair
from fairpot.repair.family import Dial, Family
from fairpot.repair.groups import find_reference
from fairpot.table import ScoreTable
from fairpot.transport import Floats, ScoreMap

DIAL = Dial(
    "slope", high=np.inf, meaning="slope of the sigmoid", setting="{dial} = {value}: of the sigmoid for {moved}"
)
_GRID = np.arange(100) / 10
# Beside the scores it has to be exact at, the sigmoid is drawn through these: so it is within 4e-5 of the curve between
# them at the steepest slope of the grid (the second derivative is at most 0.1 times the slope squared).
_PROBES = np.arange(201) / 200


def sigmoid_map(slope: float, beta: float, scores: Floats) -> ScoreMap:
    """Draw the map s -> sigma(slope s + beta) on [0, 1]: exact at the scores that are given, straight between."""
    knots = np.union1d(_PROBES, scores)
    return ScoreMap(knots, expit(slope * knots + beta))


def learn(
    table: ScoreTable, *, reference: Hashable | None = None, ties: Ties = "half", beta: float = -2.0, grid: Any = None
) -> Family:
    """Learn nothing but the reference: every slope of the grid is a sigmoid, the same for all groups."""
    low, high = min(float(c.score[0]) for c in table.counts), max(float(c.score[-1]) for c in table.counts)
    if low < 0 or high > 1:
        outside = sum(c.weight[(c.score < 0) | (c.score > 1)].sum() for c in table.counts)
        raise ValueError(
            f"PostLogit needs scores in [0, 1], got {outside:g} rows outside, from {low:g} to {high:g}: the sigmoid "
            "would put one group on another scale than the reference.\n"
            "Hint: pass probabilities, or rescale all scores to [0, 1] first."
        )
    if not is_number(beta) or not np.isfinite(beta):
        raise ValueError(f"beta must be a finite number, got {beta!r}.")
    slopes = _GRID if grid is None else DIAL.check_values(grid, "grid")
    stays = find_reference(table, reference, ties)

    def at(group: Hashable, slope: float) -> ScoreMap:
        return sigmoid_map(slope, beta, table[group].score)

    return Family(DIAL, table.groups, stays, at, slopes, reach=lambda group: slopes, listed=True)


@documented
@dataclass(eq=False, repr=False)
class PostLogit(Repair):
    """Repair scores by a scaled sigmoid: s -> sigma(slope s + beta) for every group but the reference.

    The scores of the reference group do not change. Scores must be probabilities. No ``slope`` changes nothing;
    ``slope=0`` makes all scores of a group equal, and no rule chooses it. The map is exact at the fitted scores, and
    within 4e-5 of the sigmoid elsewhere (slopes up to 10).

    Parameters
    ----------
    slope : float >= 0 or None, default None
        None searches the grid; of several groups each gets its own.
    beta, grid : float, default -2.0; and list of floats >= 0, default None
        The constant of the sigmoid; and the values of ``slope`` to search, None for 0, 0.1, ..., 9.9.
    {repairing}

    Attributes
    ----------
    slope_ : the slope, given or chosen; of equally good values the smallest
    {fitted}

    Examples
    --------
    >>> from fairpot_paper import PostLogit
    >>> score, sex = [0.9, 0.7, 0.4, 0.2, 0.5, 0.3, 0.2, 0.1], ["M"] * 4 + ["F"] * 4
    >>> repair = PostLogit().fit(score, [1, 1, 0, 0, 1, 1, 0, 0], sensitive_features=sex)
    >>> repair.slope_
    5.4
    """

    dial: ClassVar[Dial] = DIAL
    slope_ = OwnStrength()
    learn = staticmethod(learn)
    _moves_by: ClassVar[str] = "moved by the sigmoid of the group"

    slope: float | None = None
    beta: float = field(default=-2.0, kw_only=True)
    grid: Any = field(default=None, kw_only=True)
