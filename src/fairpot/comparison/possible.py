"""What was possible: the best AUC that any repair could have had on the rows that methods are judged on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairpot.results.kinds import Share
from fairpot.tradeoff.limit import Limit, mean_line
from fairpot.tradeoff.upper import UpperLimit


@dataclass(frozen=True)
class Possible:
    """The best possible AUC within a target gap.

    Attributes
    ----------
    auc : float
        The highest AUC that a repair which keeps the order inside each group could have on these rows, knowing their
        outcomes; of more than two groups what nothing is above.
    reachable : float or None
        What a repair fixed beforehand can be expected to have: without what chance adds to it.
    reason : str or None
        Why that is not known.
    """

    max_gap: Share
    auc: float
    reachable: float | None
    reason: str | None

    @classmethod
    def of(cls, limit: Limit | UpperLimit, max_gap: float) -> Possible:
        """Look a target up on a limit."""
        point = limit.best(max_gap)
        return cls(max_gap, point.auc, point.reachable if np.isfinite(point.reachable) else None, limit.reason)


def mean_limit(limits: Sequence[Limit]) -> Limit:
    """Return the highest mean AUC for each mean signed gap, over all choices of a point on each limit."""
    if len(limits) == 1:
        return limits[0]
    gap, auc, order = mean_line([(line.signed_gap, line.auc) for line in limits])
    theta = np.concatenate([line.theta[:-1] for line in limits])
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
    return Limit(gap, auc, falling, *two, error, optimism, reason)
