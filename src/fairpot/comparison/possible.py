"""What was possible: the best AUC that any repair could have had on the rows that methods are judged on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairpot.results.kinds import Share
from fairpot.tradeoff.bracket import LimitBracket
from fairpot.tradeoff.limit import Limit


@dataclass(frozen=True)
class Possible:
    """The best possible AUC within a target gap.

    Attributes
    ----------
    max_gap : float
        The target gap.
    auc : float
        The highest AUC that a repair which keeps the order inside each group could have on these rows, knowing their
        outcomes; of more than two groups what nothing is above.
    low : float or None
        Of more than two groups: what a merge that knows the outcomes has.
    reachable : float or None
        What a repair fixed beforehand can be expected to have: without what chance adds to it.
    reason : str or None
        Why that is not known.
    """

    max_gap: Share
    auc: float
    low: float | None
    reachable: float | None
    reason: str | None

    @classmethod
    def of(cls, limit: Limit | LimitBracket, max_gap: float) -> Possible:
        """Look a target up on a limit."""
        if isinstance(limit, LimitBracket):
            ends = limit.best(max_gap)
            return cls(max_gap, ends.high, ends.low, None, limit.reason)
        point = limit.best(max_gap)
        known = limit.optimism is not None and bool(np.isfinite(point.reachable))
        return cls(max_gap, point.auc, None, point.reachable if known else None, limit.reason)


def mean_limit(limits: Sequence[Limit]) -> Limit:
    """Return the highest mean AUC for each mean signed gap, over all choices of a point on each limit.

    The limits are concave, so the best choice has the same slope on each: their edges, a share of each, are laid
    one after another from the steepest down.
    """
    if len(limits) == 1:
        return limits[0]
    width, rise, theta = (
        np.concatenate(parts)
        for parts in zip(*((np.diff(line.signed_gap), np.diff(line.auc), line.theta[:-1]) for line in limits))
    )
    kept = np.flatnonzero(width > 0)
    order = kept[np.argsort(-rise[kept] / width[kept], kind="stable")]
    start = [np.mean([getattr(line, name)[0] for line in limits]) for name in ("signed_gap", "auc")]
    gap, auc = (
        np.concatenate(([first], first + np.cumsum(steps[order]) / len(limits)))
        for first, steps in zip(start, (width, rise))
    )
    # The same slope is another theta in a fold with other rates; what is told stays in order.
    falling = np.append(np.minimum.accumulate(theta[order]), 0.0)
    error = float(np.mean([line.error for line in limits]))
    reason = next((f"in a fold, {line.reason}" for line in limits if line.reason is not None), None)
    known = [line.optimism for line in limits if line.optimism is not None]
    optimism = None
    if len(known) == len(limits):  # at the same slope on each
        steps = np.concatenate([np.diff(each) for each in known])[order]
        optimism = np.mean([each[0] for each in known]) + np.append(0.0, np.cumsum(steps)) / len(limits)
    two = limits[0].moved, limits[0].reference
    return Limit(np.clip(gap, -1.0, 1.0), auc, falling, *two, error, optimism, reason)
