"""AUC, xAUC and the xAUC gap, of all rows or of a top, who is found in the top, and net benefit."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Unpack, cast

import numpy as np
from numpy.typing import NDArray

from fairpot._arguments import argument, by_name
from fairpot._defaults import TIES, TOPS_OF, Ties, TopOf
from fairpot._optional import make_frame
from fairpot._said import Said
from fairpot._validation import check_choice, check_group_name, check_top, wording
from fairpot.counting import as_table, compared
from fairpot.metrics.wins import UNDEFINED, Undefined, WinMatrix, value_without_pairs, warn_undefined
from fairpot.table import ScoreTable


def check_ties(ties: str) -> Ties:
    """Check the name of a convention for ties."""
    return cast(Ties, check_choice(ties, "ties", TIES))


def place_of(table: ScoreTable, group: Hashable, name: str) -> int:
    """Find a group named by the caller."""
    return table.groups.index(check_group_name(group, table.groups, name))


def _check_undefined(undefined: str) -> Undefined:
    return cast(Undefined, check_choice(undefined, "undefined", UNDEFINED))


def _top(table: ScoreTable, top: Any, top_of: str) -> ScoreTable:
    """Keep the top of the list; without top, all of it."""
    where = cast(TopOf, check_choice(top_of, "top_of", TOPS_OF))
    if top is not None:
        return table.top(top, where)
    if where != "all":
        raise TypeError(f"top_of={where!r} is of the top of the list.\nHint: pass top as well.")
    return table


def _is_grouped(y_score: Any, rows: Said, top_of: str, among: Hashable | None = None) -> bool:
    """Whether columns have groups; insist on them where the top_of or a named group needs them."""
    grouped = rows.get("sensitive_features") is not None
    if not grouped and y_score is not None and (top_of == "group" or among is not None):
        asked = "top_of='group' cuts each group on its own" if top_of == "group" else f"among={among!r} names a group"
        raise TypeError(f"{asked}.\nHint: pass sensitive_features as well.")
    return grouped


# What means nothing to a value without an interval.
_OF_INTERVALS = (
    "it changes intervals alone, and this is a value.\nHint: fairpot.inference.confidence_interval takes it."
)
_NOT_OF_VALUES = {
    "weights": _OF_INTERVALS,
    "clusters": _OF_INTERVALS,
    "high_score_means": "it changes no number.\nHint: fairpot.audit words by it what was found.",
}


def _count(
    y_true: Any, y_score: Any, top: tuple[Any, str], ties: str, rows: Said, grouped: bool = True
) -> tuple[ScoreTable, WinMatrix]:
    """Check and count what a metric is given, in the top that is asked for."""
    checked = check_ties(ties)
    table = compared(as_table(y_true, y_score, grouped=grouped, **rows))
    return table, WinMatrix.of(_top(table, *top), checked)


@by_name(but=_NOT_OF_VALUES)
def auc(
    y_true: Any,
    y_score: Any = None,
    *,
    top: float | None = None,
    top_of: TopOf = "all",
    ties: Ties = "half",
    undefined: Undefined = "nan",
    **rows: Unpack[Said],
) -> float:
    """Compute the share of (positive, negative) pairs in which the positive has the higher score.

    With ``top`` among the rows with the highest scores only; groups are needed for ``top_of="group"`` alone. The
    paper's value is then 1 without negatives, and 0 without positives.

    {y_true, y_score, said, top, top_of, ties, undefined}

    Examples
    --------
    >>> from fairpot.metrics import auc
    >>> y, score = [0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]
    >>> auc(y, score), auc(y, score, top=0.75)
    (0.75, 0.5)
    """
    missing = _check_undefined(undefined)
    grouped = _is_grouped(y_score, rows, top_of)
    _, wins = _count(y_true, y_score, (top, top_of), ties, rows, grouped)
    return wins.auc(partial=top is not None, undefined=missing)


@by_name(but=_NOT_OF_VALUES)
def xauc(
    y_true: Any,
    y_score: Any = None,
    *,
    positive: Hashable,
    negative: Hashable,
    top: float | None = None,
    top_of: TopOf = "all",
    ties: Ties = "half",
    undefined: Undefined = "nan",
    **rows: Unpack[Said],
) -> float:
    """Compute how often a positive of one group has a higher score than a negative of another.

    Of one group, named twice, it is the AUC inside it. With ``top`` among the rows with the highest scores only.

    {y_true, y_score, said, positive, negative, top, top_of, ties, undefined}

    Examples
    --------
    >>> from fairpot.metrics import xauc
    >>> y, score, sex = [1, 0, 1, 0], [0.4, 0.1, 0.9, 0.6], ["F", "F", "M", "M"]
    >>> xauc(y, score, sensitive_features=sex, positive="M", negative="F")
    1.0
    """
    missing = _check_undefined(undefined)
    table, wins = _count(y_true, y_score, (top, top_of), ties, rows)
    return wins.cell(place_of(table, positive, "positive"), place_of(table, negative, "negative"), missing)


@by_name(but=_NOT_OF_VALUES)
def xauc_gap(
    y_true: Any,
    y_score: Any = None,
    *,
    top: float | None = None,
    top_of: TopOf = "all",
    ties: Ties = "half",
    undefined: Undefined = "nan",
    **rows: Unpack[Said],
) -> float:
    """Compute the xAUC gap, \\|xAUC(a->b) - xAUC(b->a)\\|; with more groups, the largest over pairs.

    Pairs of groups without positives or negatives on a side are left out, with a warning that names them; NaN if there
    is no other. With ``undefined="paper"`` an xAUC without pairs is 0 and every pair of groups counts. With ``top``
    among the rows with the highest scores only.

    {y_true, y_score, said, top, top_of, ties, undefined}

    Examples
    --------
    >>> from fairpot.metrics import xauc_gap
    >>> y, score, sex = [1, 0, 1, 0], [0.4, 0.1, 0.9, 0.6], ["F", "F", "M", "M"]
    >>> xauc_gap(y, score, sensitive_features=sex)
    1.0
    """
    missing = _check_undefined(undefined)
    _, wins = _count(y_true, y_score, (top, top_of), ties, rows)
    return wins.gap(missing)


@by_name(but=_NOT_OF_VALUES)
def by_group(
    y_true: Any,
    y_score: Any = None,
    *,
    ties: Ties = "half",
    undefined: Undefined = "nan",
    **rows: Unpack[Said],
) -> Any:
    """Return counts and AUC of each group as a frame (pandas, Polars or PyArrow, whichever the columns are).

    {y_true, y_score, said, ties, undefined}

    Examples
    --------
    >>> from fairpot.metrics import by_group
    >>> y, score, sex = [1, 0, 1, 0], [0.4, 0.1, 0.9, 0.6], ["F", "F", "M", "M"]
    >>> print(by_group(y, score, sensitive_features=sex).to_string(index=False))
    group  positives  negatives  auc
        F          1          1  1.0
        M          1          1  1.0
    """
    missing = _check_undefined(undefined)
    table, wins = _count(y_true, y_score, (None, "all"), ties, rows)
    aucs = [wins.cell(k, k, missing) for k in range(len(table.groups))]
    found = {"group": list(table.groups), "positives": table.positives, "negatives": table.negatives, "auc": aucs}
    return make_frame(found, y_score, y_true, rows.get("sensitive_features"))


OF_GROUPS = (xauc, xauc_gap, by_group)  # what compares groups, and means nothing without them


@by_name(but=_NOT_OF_VALUES)
def top_recall(
    y_true: Any,
    y_score: Any = None,
    *,
    top: float,
    among: Hashable | None = None,
    top_of: TopOf = "all",
    undefined: Undefined = "nan",
    **rows: Unpack[Said],
) -> float:
    """Compute the share of positives, of one group if it is named, that are among the rows with the highest scores.

    The AUC of a top compares the rows inside a model's own top, so a model can raise it by leaving positives out.
    Report this beside it. Rows tied with the lowest score of the top are all in it: a model with few distinct scores
    has a larger top and finds more for it.

    {y_true, y_score, said, top, among, top_of, undefined}

    Examples
    --------
    >>> from fairpot.metrics import top_recall
    >>> y, score = [1, 0, 0, 1, 0, 1], [0.1, 0.2, 0.3, 0.6, 0.7, 0.9]
    >>> round(top_recall(y, score, top=0.5), 3)
    0.667
    """
    inside, table, places = _found_in_top(y_true, y_score, rows, among, top, top_of)
    found, whole = inside.positives[places].sum(), table.positives[places].sum()
    return _rate("top recall", found, whole, (among, wording.BOTH_OUTCOMES[0]), undefined)


@by_name(but=_NOT_OF_VALUES)
def top_precision(
    y_true: Any,
    y_score: Any = None,
    *,
    top: float,
    among: Hashable | None = None,
    top_of: TopOf = "all",
    undefined: Undefined = "nan",
    **rows: Unpack[Said],
) -> float:
    """Compute the share of positives among the rows with the highest scores, or among those of one group.

    {y_true, y_score, said, top, among, top_of, undefined}

    Examples
    --------
    >>> from fairpot.metrics import top_precision
    >>> y, score = [1, 0, 0, 1, 0, 1], [0.1, 0.2, 0.3, 0.6, 0.7, 0.9]
    >>> round(top_precision(y, score, top=0.5), 3)
    0.667
    """
    inside, _, places = _found_in_top(y_true, y_score, rows, among, top, top_of)
    found = inside.positives[places].sum()
    whole = found + inside.negatives[places].sum()
    return _rate("top precision", found, whole, (among, "rows in the top"), undefined)


def _found_in_top(
    y_true: Any, y_score: Any, rows: Said, among: Hashable | None, top: Any, top_of: str
) -> tuple[ScoreTable, ScoreTable, Any]:
    """Count the rows of the top and all rows; of one group, at its place."""
    grouped = _is_grouped(y_score, rows, top_of, among)
    table = compared(as_table(y_true, y_score, grouped=grouped, **rows))
    return _top(table, check_top(top), top_of), table, slice(None) if among is None else place_of(table, among, "among")


def _rate(name: str, found: Any, whole: Any, empty: tuple[Hashable | None, str], undefined: str) -> float:
    value = value_without_pairs(_check_undefined(undefined))
    if whole == 0:
        warn_undefined(name, [empty], value)
        return value
    return float(found / whole)


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
