"""Which groups take part in a comparison."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from fairpot._arguments import argument
from fairpot._validation import check_group_name
from fairpot.table import ScoreTable


def kept_groups(table: ScoreTable, min_group: Any = 0, groups: Any = None) -> ScoreTable:
    """Keep the groups that are named, if any are, and have at least ``min_group`` rows.

    Parameters
    ----------
    table : ScoreTable
    min_group : int, default 0
        Groups with fewer rows (less weight) are left out.
    groups : list of group names or None, default None
        Only these; None keeps all.

    Returns
    -------
    ScoreTable
    """
    if isinstance(min_group, bool) or not isinstance(min_group, int | np.integer) or min_group < 0:
        raise ValueError(f"min_group must be a whole number of rows, at least 0, got {min_group!r}.")
    named = table.groups if groups is None else _named(groups, table.groups)
    kept = [g for g, c in zip(table.groups, table.counts) if g in named and c.weight.sum() >= min_group]
    if len(kept) < 2:
        sizes = ", ".join(f"{g!r} ({c.weight.sum():g})" for g, c in zip(table.groups, table.counts) if g in named)
        raise ValueError(
            f"fewer than two groups have enough rows ({argument('min_group', min_group)}): {sizes}.\n"
            "Hint: ask for fewer rows, or join small groups."
        )
    return table if len(kept) == len(table.groups) else table.only(kept)


def _named(groups: Any, known: Sequence[Hashable]) -> list[Hashable]:
    listed = list(groups) if isinstance(groups, list | tuple | set | frozenset | np.ndarray) else [groups]
    found = [check_group_name(group, known, "groups") for group in listed]
    if len(set(found)) < 2:
        raise ValueError(f"groups must name at least two of {list(known)}, got {found}.")
    return found
