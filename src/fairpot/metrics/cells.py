"""How far a table's numbers can be trusted: small cells, ties, scores that rank the wrong way round."""

from __future__ import annotations

import itertools
from collections.abc import Hashable

import numpy as np

from fairpot._arguments import argument
from fairpot._validation import wording
from fairpot.metrics.wins import FEW_GROUPS, WinMatrix
from fairpot.table import ScoreTable
from fairpot.transport import ranks

# Fewer positives or negatives than this, and an xAUC that rests on them says little.
SMALL = 30


def small_cells(table: ScoreTable, where: str = "") -> list[str]:
    """Name the groups with few or no positives or negatives; weights count for the rows they are worth.

    Examples
    --------
    >>> import numpy as np
    >>> table = ScoreTable.from_rows(np.array([0.4, 0.1]), np.array([1, 0], dtype=np.int8))
    >>> small_cells(table)[0]
    "group 'all' has only 1 row with the outcome (under 30): what depends on them is uncertain."
    """
    found = []
    counted = table.independent if table.units is None else (table.positives, table.negatives)
    named = zip(wording.BOTH_OUTCOMES, counted)
    for place, (what, counts) in itertools.product(range(len(table.groups)), named):
        group, count = table.groups[place], counts[place]
        if count == 0:
            found.append(f"group {group!r} has no {what}{where}: what depends on them cannot be measured.")
        elif count < SMALL:
            few = wording.counted(count, what.replace("rows", "row"), ".3g")
            found.append(f"group {group!r} has only {few}{where} (under {SMALL}): what depends on them is uncertain.")
    return found


def carrying_groups(table: ScoreTable) -> tuple[Hashable, ...]:
    """Name the groups that can be a reference or carry a headline; all of them where none can.

    They have at least 30 positives and 30 negatives: as many clusters where rows belong together, and as many rows as
    they are worth where weights say how much a row counts.

    Examples
    --------
    >>> import numpy as np
    >>> score, y = np.arange(100) % 7 / 7, (np.arange(100) % 2).astype(np.int8)
    >>> table = ScoreTable.from_rows(score, y, (np.arange(100) >= 80) * 1, ("many", "few"))
    >>> carrying_groups(table)
    ('many',)
    """
    positives, negatives = table.independent
    enough = tuple(g for g, p, n in zip(table.groups, positives, negatives) if min(p, n) >= SMALL)
    return enough or table.groups


def tied_pairs(table: ScoreTable) -> float:
    """Return the share of positive-negative pairs with equal scores; 0 without pairs."""
    pairs = float(table.positives.sum()) * float(table.negatives.sum())
    if not pairs:
        return 0.0
    counts = table.counts if len(table.counts) <= FEW_GROUPS else (table.pooled(),)
    tied = sum(float(np.dot(c.positive.astype(np.float64), c.negative)) for c in counts)
    for g, h in itertools.combinations(counts, 2):
        below, upto = ranks(h.score, g.score)
        same = np.flatnonzero(below != upto)
        there = below[same]
        tied += float(np.dot(g.positive[same].astype(np.float64), h.negative[there]))
        tied += float(np.dot(g.negative[same].astype(np.float64), h.positive[there]))
    return tied / pairs


def reversed_score(table: ScoreTable) -> str | None:
    """Say that scores rank the outcome worse than chance, if they do."""
    if not table.positives.sum() or not table.negatives.sum():
        return None
    auc = WinMatrix.of(table, "half").auc()
    if auc >= 0.5:
        return None
    said = argument("lower_is_riskier", True)
    swapped = f"if 0 and 1 are swapped, name the outcome that is 1 ({argument('pos_label', ...)})."
    if table.lower_is_riskier:
        return (
            f"AUC is {auc:.4f}, below 0.5: with {said}, rows with the outcome have higher scores than "
            "rows without it.\n"
            f"Hint: if a high score means high risk, leave {said} out; {swapped}"
        )
    return (
        f"AUC is {auc:.4f}, below 0.5: rows with the outcome have lower scores than rows without it.\n"
        f"Hint: if a low score means high risk, say so ({said} where rows are counted); {swapped}"
    )


def hard_predictions(table: ScoreTable) -> str | None:
    """Say that scores look like yes-or-no predictions, if they do."""
    if any(len(c.score) > 2 for c in table.counts):
        return None
    scores = table.pooled().score
    if len(scores) > 2:
        return None
    if len(scores) < 2:
        return f"all scores are {scores[0]:g}: they rank nobody."
    return (
        f"the scores have two values only, {scores[0]:g} and {scores[1]:g}: these look like predictions, not scores.\n"
        "Hint: pass the model's probabilities or decision values, such as predict_proba(X)[:, 1]."
    )
