"""What a ranking does at its top, and early stopping by it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairpot.table import ScoreTable
from fairpot.training.preparing import TrainingRows
from fairpot.transport import Floats


class TopFigures(NamedTuple):
    """What a ranking does at its top: see :func:`top_figures`."""

    roc_area: float
    partial_auc: float
    top_recall: float


def top_figures(scores: Floats, y: NDArray[np.int8], weight: Floats, alpha: float) -> TopFigures:
    """Measure a ranking in the top, three ways; a tie in a pair is half a win.

    ``roc_area`` is the area under the ROC curve up to the false-positive rate alpha, divided by alpha: all positives
    against the highest negatives. ``partial_auc`` compares the positives and the negatives among the top alpha of all
    rows (ties at the cut included), so a positive outside is not missed. ``top_recall`` is the share of positives in
    the top alpha, where rows tied at the cut count by the share of them that has room: in the first rounds of
    boosting half the rows may be tied there.

    No negatives in the top is a partial AUC of 1, no positives one of 0, as in the paper: a training loop has
    to go on.
    """
    table = ScoreTable.from_rows(scores, y, None, ("all",), weight)
    counts, top = table.counts[0], table.top(alpha).counts[0]
    positive, negative = (column[::-1].astype(np.float64) for column in (counts.positive, counts.negative))
    recall = float(_room(positive + negative, alpha) @ positive / positive.sum())
    return TopFigures(_roc_area(positive, negative, alpha), _own_auc(top.positive, top.negative), recall)


def _roc_area(positive: Floats, negative: Floats, alpha: float) -> float:
    """Return the area from the highest score down: straight lines through tied cells, as scikit-learn draws them."""
    inside = _room(negative, alpha)
    won = np.cumsum(positive) - positive + positive * inside / 2
    return float((negative * inside) @ won / (alpha * negative.sum() * positive.sum()))


def _own_auc(positive: Any, negative: Any) -> float:
    """Return the AUC of a table's rows, lowest score first; the paper's values where a class is missing."""
    if not positive.any() or not negative.any():
        return float(positive.any())
    beaten = np.cumsum(negative) - negative / 2
    return float(positive @ beaten) / float(positive.sum()) / float(negative.sum())


def _room(weight: Floats, alpha: float) -> Floats:
    """Return the share of each cell, from the first on, that lies within a share alpha of the total."""
    left = np.clip(alpha * weight.sum() - (np.cumsum(weight) - weight), 0.0, weight)
    return np.divide(left, weight, out=np.zeros(len(weight)), where=weight > 0)


class Monitor:
    """Remembers the best round, and says when there has been none better for too long."""

    def __init__(self, rows: TrainingRows, alpha: float, name: str, patience: int) -> None:
        self.rows, self.alpha, self.name, self.patience = rows, alpha, name, patience
        self.history: list[TopFigures] = []
        self.best: int = -1
        self.kept: Any = None

    def see(self, scores: Floats, state: Any) -> bool:
        """Take a round's validation scores; return whether to stop. ``state`` is kept if the round is the best."""
        figures = top_figures(scores, self.rows.y, self.rows.weight, self.alpha)
        self.history.append(figures)
        if self.best < 0 or getattr(figures, self.name) > getattr(self.history[self.best], self.name):
            self.best, self.kept = len(self.history) - 1, state
        return len(self.history) - 1 - self.best >= self.patience

    def columns(self) -> dict[str, list[float]]:
        """Return the figures of all rounds by name."""
        return {name: [getattr(each, name) for each in self.history] for name in TopFigures._fields}

    def note(self) -> str:
        """Describe the last round in a few words."""
        last = self.history[-1]._asdict()
        return ", ".join(f"{name} {value:.4f}" for name, value in last.items())
