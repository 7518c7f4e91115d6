"""Which shares a metric of the registry is made of, and when no interval of them is honest."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple, cast

from fairpot._validation import check_choice, check_group_name, check_share, is_number
from fairpot.inference.shares import (
    Kernel,
    Pairs,
    ShareEstimates,
    all_pairs,
    cross_pairs,
    inside,
    others_over,
    over_others,
)
from fairpot.metrics import METRICS
from fairpot.metrics.wins import TIES
from fairpot.table import REGIONS, Region, ScoreTable


def check_level(level: Any, name: str = "level") -> float:
    """Check a level of confidence, strictly between 1/2 and 1."""
    if not is_number(level):
        raise TypeError(f"{name} must be a number such as 0.95, got {level!r}.")
    if not 0.5 < level < 1:
        raise ValueError(f"{name} must lie between 0.5 and 1, got {level!r}.\nHint: 95 % is {name}=0.95.")
    return float(level)


def check_replicates(replicates: Any) -> int:
    """Check a number of bootstrap draws."""
    if not is_number(replicates) or replicates != int(replicates) or replicates < 100:
        raise ValueError(f"replicates must be a whole number, at least 100, got {replicates!r}.")
    return int(replicates)


# Rates of the top alpha: shares of rows, not of pairs.
TOP_RATES = ("top_recall", "top_precision")


_PARTIAL = {"auc": "partial_auc", "xauc": "partial_xauc", "xauc_gap": "partial_xauc_gap"}


# What is known in closed form; anything else in the registry is drawn.
KNOWN = (*_PARTIAL, *_PARTIAL.values(), *TOP_RATES, "group_auc", "bpsn_auc", "bnsp_auc", "tied_share")


class Question(NamedTuple):
    """A metric as shares of pairs; a gap is the largest difference of shares side by side."""

    metric: str
    pairs: tuple[Pairs, ...]
    gap: bool
    kernel: Kernel
    alpha: float | None
    region: Region
    group: int | None = None  # of a rate that has one


def metric_name(metric: str, alpha: float | None) -> str:
    """Check the name; ``alpha`` turns a metric into its partial form."""
    check_choice(metric, "metric", tuple(METRICS))
    if alpha is None:
        if "alpha" in METRICS[metric].needs:
            raise TypeError(f"{metric} needs alpha, the share of rows in its region: alpha=0.1, say.")
        return metric
    if "alpha" in METRICS[metric].needs:
        return metric
    if metric not in _PARTIAL:
        raise TypeError(f"alpha cuts to the top-alpha region, in which {metric} is not defined; leave it out.")
    return _PARTIAL[metric]


def ask(
    metric: str,
    table: ScoreTable,
    *,
    positive: Hashable | None = None,
    negative: Hashable | None = None,
    group: Hashable | None = None,
    alpha: float | None = None,
    region: str = "pooled",
    ties: str = "half",
) -> Question:
    """Turn the name of a metric into the shares that it is made of."""
    name = metric_name(metric, alpha)
    kernel = cast(Kernel, "equal" if name == "tied_share" else check_choice(ties, "ties", TIES))
    where = cast(Region, check_choice(region, "region", REGIONS))
    share = None if alpha is None else check_share(alpha, "alpha", zero=False)
    if name not in KNOWN:
        raise ValueError(
            f"{name} has no closed form for its standard error.\nHint: method='bootstrap' draws the table again."
        )
    if name in TOP_RATES:
        _check_labelled(table)
        place = None if group is None else table.groups.index(check_group_name(group, table.groups, "group"))
        return Question(name, (all_pairs(table),), False, kernel, share, where, place)
    given = {"positive": positive, "negative": negative, "group": group}
    pairs, gap = _pairs(name, table, given)
    return Question(name, pairs, gap, kernel, share, where)


def _check_labelled(table: ScoreTable) -> None:
    if not table.labelled:
        raise ValueError("an interval counts outcomes, and this table has no labels.")


def _pairs(name: str, table: ScoreTable, given: dict[str, Any]) -> tuple[tuple[Pairs, ...], bool]:
    _check_labelled(table)
    needed = [key for key in given if key in METRICS[name].needs]
    for key, value in given.items():
        if key in needed and value is None:
            raise TypeError(f"{name} needs {key}, the name of a group.")
        if key not in needed and value is not None:
            raise TypeError(f"{name} takes no {key}.")
    places = {key: table.groups.index(check_group_name(given[key], table.groups, key)) for key in needed}
    if name.endswith("gap"):
        if len(table.groups) < 2:
            raise ValueError(f"a gap compares groups, and there is one, {table.groups[0]!r}.")
        return tuple(cross_pairs(table)), True
    if "positive" in places:
        return (Pairs((places["positive"],), (places["negative"],)),), False
    if "group" in places:
        of_group = {
            "group_auc": inside(places["group"]),
            "bpsn_auc": others_over(table, places["group"]),
            "bnsp_auc": over_others(table, places["group"]),
        }
        return (of_group[name],), False
    return (all_pairs(table),), False


# Fewer independent rows than this on one side of a share, and its spread cannot be seen.
FEWEST = 5


def why_not(table: ScoreTable, question: Question, found: ShareEstimates) -> str | None:
    """Say which cell has too few independent rows for an interval; None if all have enough."""
    for k, pair in enumerate(question.pairs):
        for side, what in enumerate(("positives", "negatives")):
            units = float(found.units[side][k])
            # A hair of round-off: five weights of 0.1 are worth five rows.
            if units < FEWEST - 1e-9:
                return _said(units, what, _names(table, pair[side]), question, table.clusters is not None)
    return None


def _names(table: ScoreTable, places: tuple[int, ...]) -> tuple[Hashable, ...]:
    return tuple(table.groups[place] for place in places) if len(table.groups) > 1 else ()


def _said(units: float, what: str, groups: tuple[Hashable, ...], question: Question, clustered: bool) -> str:
    counted = f"{'clusters with ' if clustered else ''}{what}"
    if units == 1:
        counted = f"cluster with {what}" if clustered else what.removesuffix("s")
    where = "" if question.alpha is None else f" in the top {question.alpha:g}"
    number = "no" if units == 0 else f"{units:.3g}"
    who = f"group {groups[0]!r} has" if len(groups) == 1 else f"there {'is' if units == 1 else 'are'}"
    return f"{who} {number} {counted}{where}, and with fewer than {FEWEST} no interval is honest"
