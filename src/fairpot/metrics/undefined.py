"""What stands for a metric that has no pairs to count, and the warning that says so."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Literal

from fairpot._warn import warn_user
from fairpot.exceptions import UndefinedMetricWarning

Undefined = Literal["nan", "paper"]
UNDEFINED = ("nan", "paper")
# More empty cells or pairs than this are counted, not listed.
_LISTED = 6


def value_without_pairs(undefined: Undefined, papers: float = 0.0) -> float:
    """Return NaN, or the paper's value where that is asked for."""
    return papers if undefined == "paper" else float("nan")


def undefined_auc(has_positives: bool, partial: bool, undefined: Undefined = "nan") -> float:
    """Return what stands for an AUC without pairs (the paper: 0, but 1 for a region without negatives); warn."""
    name, where = ("partial AUC", " in the region") if partial else ("AUC", "")
    value = value_without_pairs(undefined, 1.0 if partial and has_positives else 0.0)
    warn_undefined(name, [(None, ("negatives" if has_positives else "positives") + where)], value)
    return value


def warn_undefined(metric: str, empty: Iterable[tuple[Hashable | None, str]], value: float) -> None:
    """Warn that a metric has nothing to count, which cells are empty, and what is returned for it.

    ``empty`` names each cell by its group (None: all rows) and what it has none of.
    """
    named = [f"{'the data' if group is None else f'group {group!r}'} has no {what}" for group, what in empty]
    _warn(f"{metric} is undefined because {_listed(named)} to compare; {_returned(value)}")


def warn_left_out(pairs: Sequence[tuple[Hashable, Hashable]], empty: Iterable[tuple[Hashable, str]], of: int) -> None:
    """Warn that the largest gap leaves out the pairs of groups for which it is undefined."""
    named = [f"group {group!r} has no {what}" for group, what in empty]
    between = [f"{g!r} and {h!r}" for g, h in pairs]
    _warn(
        f"the xAUC gap is undefined for {len(pairs)} of {of} pairs of groups ({_listed(between, '; ')}) because "
        f"{_listed(named)} to compare; the largest gap is that of the other pairs."
    )


def empty_cells(groups: Sequence[Hashable], positives: Any, negatives: Any) -> list[tuple[Hashable, str]]:
    """Name the cells without weight: positives first, then negatives."""
    both = (("positives", positives), ("negatives", negatives))
    return [(groups[place], what) for what, counts in both for place in range(len(groups)) if counts[place] == 0]


def undefined_pairs(groups: Sequence[Hashable], defined: Any) -> list[tuple[Hashable, Hashable]]:
    """Name the pairs of groups that are not both ways ``defined``."""
    places = itertools.combinations(range(len(groups)), 2)
    return [(groups[g], groups[h]) for g, h in places if not (defined[g, h] and defined[h, g])]


def _returned(value: float) -> str:
    if value != value:
        return "NaN is returned (undefined='paper' returns the paper's value)."
    return f"{value:g} is returned (the paper's value)."


def _listed(names: Sequence[str], separator: str = ", ") -> str:
    more = len(names) - _LISTED
    shown = separator.join(names[:_LISTED])
    return shown if more <= 0 else f"{shown}{separator}and {more} more"


def _warn(message: str) -> None:
    warn_user(message, UndefinedMetricWarning)
