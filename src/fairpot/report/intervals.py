"""How far the key numbers can be trusted: intervals before and at the reported setting, and a band along the dial."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairpot.inference import estimate_dial, interval_of_table
from fairpot.metrics.wins import Ties
from fairpot.report.measure import Measured
from fairpot.table import ScoreTable

LEVEL = 0.95
_MOST_GROUPS = 12
Limits = list[float] | None


def key_intervals(table: ScoreTable, pair: tuple[int, int], ties: Ties) -> dict[str, Limits]:
    """Give the limits of AUC, of both xAUC of a pair, of its gap and of the widest; None where none are honest.

    The widest of very many gaps is left out: it would need the covariance of all of them.
    """
    ahead, behind = (table.groups[g] for g in pair)
    options: dict[str, Any] = {"ties": ties, "level": LEVEL}
    widest = interval_of_table("xauc_gap", table, **options) if len(table.groups) <= _MOST_GROUPS else None
    return ({} if widest is None else {"gap": _limits(widest)}) | {
        "auc": _limits(interval_of_table("auc", table, **options)),
        "xauc_ahead": _limits(interval_of_table("xauc", table, positive=ahead, negative=behind, **options)),
        "xauc_behind": _limits(interval_of_table("xauc", table, positive=behind, negative=ahead, **options)),
        "pair_gap": _limits(interval_of_table("xauc_gap", _only(table, pair), **options)),
    }


def gap_band(found: Measured, ties: Ties) -> dict[str, list[float]] | None:
    """Give limits of the signed gap at each setting, where two groups are compared on a dial."""
    if len(found.groups) != 2 or len(found.dial) < 3 or found.settings[0].top is not None:
        return None
    exact = (
        np.array([setting.auc for setting in found.settings]),
        np.array([[setting.xauc[0, 1], setting.xauc[1, 0]] for setting in found.settings]),
    )
    estimates = estimate_dial(found.people, found.dial.maps, range(len(found.dial)), ties=ties, exact=exact)
    if estimates.reason is not None:
        return None
    low, high = estimates.gaps.limits((1 - LEVEL) / 2)
    if estimates.cell_names(0)[0] != found.groups[found.pair[0]]:
        low, high = -high, -low
    return {"low": low.tolist(), "high": high.tolist()}


def _only(table: ScoreTable, pair: tuple[int, int]) -> ScoreTable:
    return ScoreTable(tuple(table.groups[g] for g in pair), tuple(table.counts[g] for g in pair), table.labelled)


def _limits(interval: Any) -> Limits:
    found = [float(interval.low), float(interval.high)]
    return found if np.isfinite(found).all() else None
