"""How many rows it takes to detect a gap, or to certify a bound."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri, owens_t

from fairpot._defaults import LEVEL
from fairpot._validation import check_choice, check_level, check_share, is_number
from fairpot.inference.shares import Pairs, estimate_shares
from fairpot.metrics.rank import check_ties
from fairpot.table import ScoreTable

GOALS = ("detect", "certify")


@dataclass(frozen=True)
class SamplePlan:
    """How many rows a goal takes.

    Attributes
    ----------
    goal : {"detect", "certify"}
    gap : float
        The gap to detect, or the bound to certify.
    rows : int
        Rows in all.
    group_rows, positives, negatives : dict of group to int
        How they divide.
    se : float
        Standard error of the signed gap at that size.
    level, power, true_gap : float
    """

    goal: str
    gap: float
    rows: int
    group_rows: dict[Hashable, int]
    positives: dict[Hashable, int]
    negatives: dict[Hashable, int]
    se: float
    level: float
    power: float
    true_gap: float

    def __str__(self) -> str:
        aim = f"detect a gap of {self.gap:g}" if self.goal == "detect" else f"certify a gap within {self.gap:g}"
        parts = ", ".join(
            f"{g}: {self.group_rows[g]:,} rows with {self.positives[g]:,} positives" for g in self.group_rows
        )
        return f"{self.rows:,} rows to {aim} with power {self.power:g} at level {self.level:g} ({parts})"


def plan_sample_size(
    gap: float,
    *,
    goal: str = "detect",
    power: float = 0.8,
    level: float = LEVEL,
    auc: float | tuple[float, float] = 0.8,
    shares: Mapping[Hashable, float] | None = None,
    rates: float | Mapping[Hashable, float] | None = None,
    true_gap: float | None = None,
    table: ScoreTable | None = None,
    ties: str = "half",
) -> SamplePlan:
    """Compute how many rows it takes to detect a gap or to certify a bound, for two groups.

    Parameters
    ----------
    gap : float in (0, 1]
        The gap to detect, or the bound to certify.
    goal : {"detect", "certify"}, default "detect"
        Find a gap of this size, or sign that there is none beyond it.
    power : float, default 0.8
        How often that should succeed.
    level : float, default 0.95
    auc : float or pair, default 0.8
        The two xAUCs to expect, or one number for their middle: scores are taken as normal in each class.
    shares : mapping of group to share, default None
        How rows divide between the two groups; None is half and half.
    rates : float or mapping of group to rate, default None
        Shares of positives; None is 0.5.
    true_gap : float, default None
        The gap there truly is: None is ``gap`` for "detect" and 0 for "certify".
    table : ScoreTable, default None
        Take spread, shares and rates from one's own rows of two groups instead.
    ties : {"half", "strict"}, default "half"
        For ``table``.

    Returns
    -------
    SamplePlan

    Examples
    --------
    >>> print(plan_sample_size(0.05, shares={"F": 0.3, "M": 0.7}, rates=0.1))
    7,504 rows to detect a gap of 0.05 with power 0.8 at level 0.95
    (F: 2,252 rows with 226 positives, M: 5,253 rows with 526 positives)
    """
    wanted = check_share(gap, "gap", zero=False)
    check_choice(goal, "goal", GOALS)
    check_level(level)
    if not is_number(power) or not 0 < power < 1:
        raise ValueError(f"power must lie between 0 and 1, got {power!r}.")
    truth = (wanted if goal == "detect" else 0.0) if true_gap is None else check_share(true_gap, "true_gap", zero=True)
    spread = _assumed(auc, truth, shares, rates) if table is None else _measured(table, ties)
    rows = spread.constant / _variance_wanted(goal, wanted, truth, 1 - level, power)
    return _plan(goal, wanted, spread, math.ceil(rows), level, power, truth)


def placement_variance(share: float) -> float:
    """Compute the variance of placements in a binormal model of equal spread with a given AUC.

    The chance that a positive beats two negatives is a bivariate normal probability with correlation 1/2, which
    Owen's T function gives.

    Examples
    --------
    >>> round(placement_variance(0.5), 4)  # placements are even on [0, 1]
    0.0833
    """
    share = min(max(share, 1e-9), 1 - 1e-9)
    both = share - 2 * float(owens_t(ndtri(share), 1 / math.sqrt(3)))
    return both - share**2


@dataclass(frozen=True)
class _Spread:
    """``constant / rows`` is the variance of the signed gap."""

    groups: tuple[Hashable, Hashable]
    shares: tuple[float, float]
    rates: tuple[float, float]
    constant: float


def _assumed(auc: Any, truth: float, shares: Any, rates: Any) -> _Spread:
    x1, x2 = _xaucs(auc, truth)
    groups, parts = _two(shares)
    r1, r2 = _both_rates(rates, groups)
    v1, v2 = placement_variance(x1), placement_variance(x2)
    constant = v1 / (parts[0] * r1) + v1 / (parts[1] * (1 - r2)) + v2 / (parts[1] * r2) + v2 / (parts[0] * (1 - r1))
    return _Spread(groups, parts, (r1, r2), constant)


def _xaucs(auc: Any, truth: float) -> tuple[float, float]:
    if isinstance(auc, tuple | list):
        if len(auc) != 2:
            raise ValueError(f"auc must be one number or two, got {len(auc)}.")
        x1, x2 = (check_share(value, "auc", zero=True) for value in auc)
        return x1, x2
    middle = check_share(auc, "auc", zero=True)
    return min(middle + truth / 2, 1.0), max(middle - truth / 2, 0.0)


def _two(shares: Mapping[Hashable, float] | None) -> tuple[tuple[Hashable, Hashable], tuple[float, float]]:
    given = {"a": 0.5, "b": 0.5} if shares is None else dict(shares)
    if len(given) != 2:
        raise ValueError(f"shares must name two groups, got {list(given)}.\nHint: plan for the two that matter most.")
    first, second = (check_share(value, f"shares[{g!r}]", zero=False) for g, value in given.items())
    total = first + second
    one, other = given
    return (one, other), (first / total, second / total)


def _both_rates(rates: Any, groups: tuple[Hashable, Hashable]) -> tuple[float, float]:
    given = dict.fromkeys(groups, 0.5) if rates is None else rates
    if not isinstance(given, Mapping):
        given = dict.fromkeys(groups, given)
    if set(given) != set(groups):
        raise ValueError(f"rates must have one entry for each group {list(groups)}, got {list(given)}.")
    first, second = (check_share(given[g], f"rates[{g!r}]", zero=False) for g in groups)
    if first == 1 or second == 1:
        raise ValueError("rates must be below 1: without negatives there is nothing to rank above.")
    return first, second


def _measured(table: ScoreTable, ties: str) -> _Spread:
    """Take everything from a table: the variance that its own rows have, scaled to one row."""
    if len(table.groups) != 2:
        raise ValueError(f"a plan is made for two groups, got {len(table.groups)}: {list(table.groups)}.")
    found = estimate_shares(table, [Pairs((0,), (1,)), Pairs((1,), (0,))], check_ties(ties))
    weight = np.array([float(c.weight.sum()) for c in table.counts])
    if not (np.minimum(*found.units) > 1).all():
        raise ValueError("the table has a group with fewer than two positives or negatives: its spread is unknown.")
    cells = [
        found.variance[side][k] * found.units[side][k] for side in range(2) for k in range(2)
    ]  # placement variances: positives of 0 and 1, negatives of 1 and 0
    share = weight / weight.sum()
    rate = table.positives / weight
    constant = (
        cells[0] / (share[0] * rate[0])
        + cells[1] / (share[1] * rate[1])
        + cells[2] / (share[1] * (1 - rate[1]))
        + cells[3] / (share[0] * (1 - rate[0]))
    )
    if not constant > 0:
        raise ValueError("the table ranks every pair alike: a spread of 0 cannot be planned with.")
    first, second = table.groups
    return _Spread(
        (first, second), (float(share[0]), float(share[1])), (float(rate[0]), float(rate[1])), float(constant)
    )


def _variance_wanted(goal: str, gap: float, truth: float, delta: float, power: float) -> float:
    """Give the variance of the signed gap at which the goal is reached as often as ``power``."""
    if goal == "detect":
        if truth == 0:
            raise ValueError("true_gap is 0: there is nothing to detect.")
        return float((truth / (ndtri(1 - delta / 2) + ndtri(power))) ** 2)
    if truth >= gap:
        raise ValueError(
            f"a gap of {truth:g} cannot be certified to be within {gap:g}, however many rows there are.\n"
            "Hint: a larger bound, or a smaller true_gap (what is left after a repair)."
        )
    # At a true gap of 0 either limit may fail, else only the nearer one.
    quantile = ndtri((1 + power) / 2) if truth == 0 else ndtri(power)
    return float(((gap - truth) / (ndtri(1 - delta) + quantile)) ** 2)


def _plan(goal: str, gap: float, spread: _Spread, rows: int, level: float, power: float, truth: float) -> SamplePlan:
    group_rows = {g: math.ceil(rows * share) for g, share in zip(spread.groups, spread.shares)}
    positives = {g: math.ceil(group_rows[g] * rate) for g, rate in zip(spread.groups, spread.rates)}
    negatives = {g: group_rows[g] - positives[g] for g in spread.groups}
    se = math.sqrt(spread.constant / rows)
    return SamplePlan(goal, gap, rows, group_rows, positives, negatives, se, level, power, truth)
