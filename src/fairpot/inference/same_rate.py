"""Tests of whether two groups have the same rate, as courts and auditors ask for them beside a ratio."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import gammaln, ndtr

from fairpot.counts import Indices
from fairpot.inference.rates import Measuring, Places
from fairpot.metrics.rates import RATES
from fairpot.transport import Floats

_FEW_EXPECTED = 5  # Cochran's (1954) rule: with fewer expected in a cell of the two by two table, an exact test

TestMethod = Literal["pooled", "fisher", "weights", "clusters"]


@dataclass(frozen=True)
class RateTest:
    """A test of whether two groups have the same rate, against both sides.

    ``deviations`` are standard deviations: of the pooled share of both groups ("pooled"), or, as a row with a weight or
    in a cluster is no trial of its own, robust standard errors of the difference ("weights", "clusters"). Fisher's
    exact test ("fisher") takes the place of the first where few are expected in some cell, and has none.
    """

    method: TestMethod | None
    deviations: float | None
    p_value: float | None
    reason: str | None = None


def same_rate(measuring: Measuring, name: str, first: Places, second: Places) -> RateTest:
    """Test whether two groups have the same share, at the cut of the sample."""
    if RATES[name].scale != "share":
        return RateTest(None, None, None, "only shares of rows are tested")
    if measuring.is_made(name, first) or measuring.is_made(name, second):
        return RateTest(None, None, None, "the cut is made so that it is this share")
    clustered = measuring.table.units is not None
    # Rows at a cut that is found in them are dealt to the groups as to a hypergeometric law, if groups do not matter;
    # of other rates than the selection rate that holds at a given cut only.
    if not measuring.table.importance and not clustered and (name == "selection_rate" or not measuring.found):
        (hits, rows), (other_hits, other_rows) = measuring.counted(name, first), measuring.counted(name, second)
        return same_share(int(hits or 0), int(rows), int(other_hits or 0), int(other_rows))
    method: TestMethod = "clusters" if clustered else "weights" if measuring.table.importance else "pooled"
    one, other = (measuring.piece(name, places) for places in (first, second))
    spread = measuring.variance_of_difference(name, first, second)
    reason = one.reason or other.reason
    if reason is not None or not spread > 0:
        return RateTest(None, None, None, reason or "the rows show no spread")
    return _normal(method, (one.value - other.value) / float(np.sqrt(spread)))


def same_share(hits: int, rows: int, other_hits: int, other_rows: int) -> RateTest:
    """Test whether two shares of rows are the same: in pooled standard deviations, or exactly where few are expected.

    Examples
    --------
    >>> same_share(48, 80, 12, 40).method, round(same_share(48, 80, 12, 40).deviations, 2)
    ('pooled', 3.1)
    >>> same_share(3, 10, 0, 10).method, round(same_share(3, 10, 0, 10).p_value, 4)
    ('fisher', 0.2105)
    """
    total, selected = rows + other_rows, hits + other_hits
    if not min(rows, other_rows):
        return RateTest(None, None, None, "a group has no such rows")
    if min(rows, other_rows) * min(selected, total - selected) < _FEW_EXPECTED * total:
        return RateTest("fisher", None, _fisher(hits, rows, selected, total))
    share = selected / total
    deviation = float(np.sqrt(share * (1 - share) * (1 / rows + 1 / other_rows)))
    return _normal("pooled", (hits / rows - other_hits / other_rows) / deviation)


def _normal(method: TestMethod, deviations: float) -> RateTest:
    return RateTest(method, deviations, float(2 * ndtr(-abs(deviations))))


def _fisher(hits: int, rows: int, selected: int, total: int) -> float:
    """Add up the chances of all tables with these margins that are no likelier than this one (Fisher 1935)."""
    possible = np.arange(max(0, rows + selected - total), min(rows, selected) + 1)
    logs = _log_choose(rows, possible) + _log_choose(total - rows, selected - possible)
    chances = np.exp(logs - logs.max())
    # Equal chances differ by round-off.
    kept = chances[chances <= chances[hits - possible[0]] * (1 + 1e-7)]
    return float(min(kept.sum() / chances.sum(), 1.0))


def _log_choose(n: int, k: Indices) -> Floats:
    chosen: Floats = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return chosen
