"""How far a table's numbers can be trusted: small cells, ties, scores that rank the wrong way round."""

from __future__ import annotations

from collections.abc import Collection, Hashable

import numpy as np

from fairpot._defaults import FEWEST, SMALL
from fairpot._validation.grouping import lacks_part
from fairpot.metrics.wins import WinMatrix
from fairpot.table import ScoreTable
from fairpot.transport import Floats
from fairpot.words import Note


def small_cells(table: ScoreTable, top: float | None = None) -> list[Note]:
    """Name the groups with few or no rows with or without the outcome.

    Weights count for the rows they are worth, rows that belong together as one cluster. ``top`` says that the table
    is the top of a list.
    """
    few = []
    for group, *sides in zip(table.groups, *table.independent, *table.rows_by_outcome):
        positives, negatives, with_it, without = map(float, sides)
        if min(positives, negatives) < SMALL - 1e-9:
            fewer = positives < with_it - 1e-6 or negatives < without - 1e-6
            worth = "followed" if table.follow_up is not None and table.weights is None else "weighted"
            said = "" if not fewer else worth if table.units is None else "clusters"
            numbers = (positives, negatives) if fewer else (with_it, without)
            few.append(Note("small", group, top, *numbers, said=said))
    return few


def carrying_groups(table: ScoreTable) -> tuple[Hashable, ...]:
    """Name the groups that can be a reference; all of them where none can.

    They have at least 30 positives and 30 negatives: as many clusters where rows belong together, and as many rows as
    they are worth where weights say how much a row counts. Rows without a group are no standard for others.
    """
    named = [not lacks_part(group) for group in table.groups]
    enough = tuple(
        g for g, known, n in zip(table.groups, named, np.minimum(*table.independent)) if known and n >= SMALL - 1e-9
    )
    return enough or table.groups


def compared_groups(table: ScoreTable, small: Collection[Hashable] = ()) -> tuple[Hashable, ...]:
    """Name the groups that are not too small to be compared: those with 30 rows with and without the outcome.

    Where fewer than two have, those whose gaps have intervals. In a top where there are none, those that have as many
    over all rows, so are not ``small``; else all groups.
    """
    fewest = np.minimum(*table.independent)
    known = [(group, n) for group, n in zip(table.groups, fewest) if group not in small]
    for enough in (SMALL, FEWEST):
        large = tuple(group for group, n in known if n >= enough - 1e-9)
        if len(large) > 1:
            return large
    return tuple(group for group, _ in known) if small and len(known) > 1 else table.groups


def leading_place(xauc: Floats, *, lowest: bool = False) -> int:
    """Say which of some groups is ranked above the others most often (``lowest``: least often), by every xAUC.

    Of equals it is the first: a hair of round-off, as weights times a constant leave, makes no difference.
    """
    lead = np.zeros(len(xauc))
    for other in (xauc - xauc.T).T:  # in this order whatever the number of groups, so that equals stay equal
        lead += -other if lowest else other
    return int(np.argmax(lead >= lead.max() - 1e-12))


def reversed_score(table: ScoreTable) -> Note | None:
    """Say that scores rank the outcome worse than chance, if they do; whether by chance is for others to judge."""
    if not table.positives.sum() or not table.negatives.sum():
        return None
    auc = WinMatrix.of(table, "half").auc()
    return Note("reversed", value=float(auc), other=float(table.lower_is_riskier)) if auc < 0.5 else None


def hard_predictions(table: ScoreTable) -> Note | None:
    """Say that scores look like yes-or-no predictions, if they do."""
    if any(len(c.score) > 2 for c in table.counts):
        return None
    scores = np.unique(np.concatenate([c.score for c in table.counts]))
    if len(scores) > 2:
        return None
    own = sorted(0.0 - scores) if table.lower_is_riskier else scores
    if len(scores) < 2:
        return Note("constant", value=float(own[0]))
    return Note("two values", value=float(own[0]), other=float(own[1]))
