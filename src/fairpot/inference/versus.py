"""Two repairs on the same rows: the difference of their AUCs, and whether chance could explain it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import stdtrit

from fairpot.inference.contrasts import estimate_views
from fairpot.inference.dial import Maps
from fairpot.inference.evidence import Evidence, Part
from fairpot.inference.merged import merge_entries
from fairpot.inference.paired import Change
from fairpot.inference.pairs import Kernel, all_pairs
from fairpot.inference.refusal import FEWEST
from fairpot.inference.sample import Sample

Chosen = tuple[Evidence, Any]


def auc_difference(first: Chosen, second: Chosen, values: tuple[float, float], *, level: float = 0.95) -> Change:
    """Compare the AUCs of two repairs on the same rows, or the same folds of them.

    Parameters
    ----------
    first, second : pairs of Evidence and a value of its dial
    values : pair of floats
        Their AUCs, as they were counted.
    level : float, default 0.95

    Returns
    -------
    Change
        From the first to the second; the standard error is that of the difference, in which what both have in common
        cancels.
    """
    ones, others = first[0].parts, second[0].parts
    found = [_fold(one, other, (first[1], second[1]), first[0].ties) for one, other in zip(ones, others, strict=True)]
    variance, free, units = (np.array(column) for column in zip(*found))
    folds = len(found)
    se = float(np.sqrt(variance.sum())) / folds
    change = values[1] - values[0]
    if units.sum() < FEWEST:
        reason = f"there are {units.sum():g} positives or negatives, and with fewer than {FEWEST} nothing can be said"
        return Change(*values, change, se, np.nan, np.nan, level, reason)
    bottom = float(np.sum(variance**2 / np.maximum(free, 1e-9)))
    degrees = float(variance.sum() ** 2 / bottom) if bottom > 0 else float(free.sum())
    half = -float(stdtrit(degrees, (1 - level) / 2)) * se
    return Change(*values, change, se, change - half, change + half, level)


def _fold(one: Part, other: Part, values: Sequence[Any], ties: Kernel) -> tuple[float, float, float]:
    """Give variance, degrees of freedom and units of the difference on one fold."""
    sample = merge_entries(Sample.of(one.table))
    views = [
        [maps[g](c.score) if g in maps else c.score for g, c in zip(sample.table.groups, sample.table.counts)]
        for maps in (_maps(one, values[0]), _maps(other, values[1]))
    ]
    shares, found = estimate_views(sample, [all_pairs(sample.table)], ties, views, np.array([[-1.0, 1.0]]))
    return float(found.covariance[0, 0]), float(found.free[0]), float(min(u.min() for u in shares.units))


def _maps(part: Part, value: Any) -> Maps:
    return next(iter(part.steps(np.asarray([value]))))
