"""Net benefit: what acting from a threshold on brings, less what it costs at the threshold's odds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from fairpot._arguments import argument
from fairpot.table import ScoreTable


def net_benefit(table: ScoreTable, threshold: float, scores: Sequence[NDArray[np.float64]] | None = None) -> float:
    """Compute the net benefit of acting from a threshold p on, (TP - FP * p / (1 - p)) / n; entries may have others."""
    scores = [c.score for c in table.counts] if scores is None else scores
    acted = [each >= threshold for each in scores]
    right = sum(float(c.positive[at].sum()) for c, at in zip(table.counts, acted))
    wrong = sum(float(c.negative[at].sum()) for c, at in zip(table.counts, acted))
    return (right - wrong * threshold / (1 - threshold)) / float(table.weight)


def require_probabilities(tables: Iterable[ScoreTable], threshold: float) -> None:
    """Insist on scores that a threshold between 0 and 1 is one of."""
    for table in tables:
        asked = argument("net_benefit_at", threshold)
        if table.lower_is_riskier:
            raise ValueError(
                f"{asked} is a probability of the outcome, but here a low score means high risk.\n"
                "Hint: pass 1 - score, if that is the probability of the outcome."
            )
        outside = sum(float(c.weight[(c.score < 0) | (c.score > 1)].sum()) for c in table.counts)
        if outside:
            raise ValueError(
                f"{asked} is a probability, but {outside:,g} rows have scores outside 0 to 1: net benefit weighs "
                "errors by the odds of the threshold.\nHint: pass probabilities, or calibrate the scores first."
            )
