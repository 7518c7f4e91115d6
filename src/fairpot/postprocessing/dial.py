"""Dial: the one number that says how far a method goes; which groups take part and which stays as it is."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairpot._arguments import argument
from fairpot._defaults import Ties
from fairpot._validation import as_double, check_group_name, is_number, wording
from fairpot.metrics.cells import carrying_groups
from fairpot.metrics.wins import WinMatrix
from fairpot.table import ScoreTable


def ranked_first(table: ScoreTable, ties: Ties, rows: ScoreTable | None = None, *, lowest: bool = False) -> Hashable:
    """Name the group whose positives are ranked above the others' negatives most often, net of the reverse.

    Of two groups that is the one with the higher xAUC; of equals the first in the table's order. Groups with few
    positives or negatives, whose lead may be chance, are neither chosen nor compared unless all groups are small. Of a
    table that is the top of others, ``rows`` are all of them: a group may be large and have few negatives at the top.
    With ``lowest`` it is the group of which that is true least often.
    """
    table = table.only(list(carrying_groups(table if rows is None else rows)))
    for what, totals in zip(wording.BOTH_OUTCOMES, (table.positives, table.negatives)):
        empty = [group for group, count in zip(table.groups, totals) if count == 0]
        if empty:
            raise ValueError(
                f"the group ranked lower cannot be told: group {empty[0]!r} has no {what} to compare.\n"
                f"Hint: name the reference group, whose scores do not change: {argument('reference', ...)}"
            )
    won = WinMatrix.of(table, ties).xauc()
    lead = np.zeros(len(table.groups))
    for other in (won - won.T).T:  # in this order whatever the number of groups, so that equals stay equal
        lead += other
    return table.groups[int(np.argmin(lead) if lowest else np.argmax(lead))]


def find_reference(
    table: ScoreTable, reference: Hashable | None, ties: Ties, rows: ScoreTable | None = None
) -> Hashable:
    """Return the group whose scores do not change: the one named; else the one ranked highest.

    Where a high place in the ranking harms, it is the one ranked lowest: a repair then lowers the others.
    """
    if reference is None:
        return ranked_first(table, ties, rows, lowest=table.ranked_high_means == "harm")
    return check_group_name(reference, table.groups, "reference")


def require_outcomes(table: ScoreTable) -> None:
    """Insist on positives and negatives in the whole and in every group."""
    for what, counts in zip(wording.BOTH_OUTCOMES, (table.positives, table.negatives)):
        if counts.sum() == 0:
            raise ValueError(
                f"{argument('y')} has no {what}: both outcomes are needed to compare.\n"
                f"Hint: add such rows, or look at what is taken for the outcome, {argument('pos_label', ...)}"
            )
        empty = [group for group, count in zip(table.groups, counts) if count == 0]
        if empty:
            raise ValueError(
                f"group {empty[0]!r} has no {what}: its xAUC cannot be measured, so there is nothing to fit.\n"
                "Hint: join it with another group, or collect more rows of it."
            )


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
        raise ValueError(
            f"groups must name at least two of {list(known)}, got {found}.\n"
            "Hint: a repair compares groups; name two or more."
        )
    return found


Value = float | dict[Hashable, float]


@dataclass(frozen=True)
class Dial:
    """What a method declares of its dial.

    Parameters
    ----------
    name : str
        Of the constructor's argument; the fitted value is the attribute with an underscore.
    low, high : float
        The values it may take, ends included.
    above : bool
        Whether ``low`` itself is left out.
    identity : float or None
        The value that changes nothing; None if there is none.
    ratio : bool
        Whether values are compared by their ratio, as a factor is, not by their difference.
    by_group : bool
        Whether a dict may give each moved group its own value.
    meaning : str
        What the number is, for people.
    """

    name: str
    low: float = 0.0
    high: float = 1.0
    above: bool = False
    identity: float | None = None
    ratio: bool = False
    by_group: bool = False
    meaning: str = ""

    @property
    def rule(self) -> str:
        """Say which values it may take."""
        if self.low == -np.inf:
            return "of any size"
        if self.high == np.inf:
            return f"{'above' if self.above else 'at least'} {self.low:g}"
        return f"in {'(' if self.above else '['}{self.low:g}, {self.high:g}]"

    def check(self, value: Any, name: str | None = None) -> float:
        """Check one number."""
        name = self.name if name is None else name
        if not is_number(value):
            raise TypeError(f"{name} must be a number {self.rule}, got {value!r}.")
        if not self.low <= value <= self.high or not np.isfinite(value) or (self.above and value == self.low):
            hint = "" if self.identity is None or not self.above else f"\nHint: {self.identity:g} changes the least."
            rule = "finite" if self.low == -np.inf else f"finite and {self.rule}"
            raise ValueError(f"{name} must be {rule}, got {value!r}.{hint}")
        return as_double(value)

    def check_given(self, value: Any, moved: Sequence[Hashable]) -> Value:
        """Check what the constructor was given: a number for all moved groups, or one for each."""
        if not isinstance(value, Mapping):
            return self.check(value)
        if not self.by_group:
            raise TypeError(f"{self.name} must be a number {self.rule}, the same for all groups, got a dict.")
        same_groups(value, moved, self.name)
        return {g: self.check(value[g], f"{self.name}[{g!r}]") for g in moved}

    def check_values(self, values: Any, moved: Sequence[Hashable], name: str = "lams") -> NDArray[np.float64]:
        """Check values to trace: ascending, each once; or a column for each moved group from a dict of lists."""
        if not isinstance(values, Mapping):
            return check_list(values, name, self.check)
        if not self.by_group:
            raise TypeError(f"{name} must be a list of numbers, got {type(values).__name__}.")
        same_groups(values, moved, name)
        columns = [[self.check(value, f"{name}[{g!r}]") for value in listed_values(values[g])] for g in moved]
        if len({len(c) for c in columns}) != 1 or not columns[0]:
            raise ValueError(f"the lists of {name} must have the same length, at least 1, for every group.")
        return np.array(columns).T

    def far_apart(self, one: Value, other: Value) -> bool:
        """Whether two values differ by more than a hundredth, of the range or of themselves."""
        pairs = [(one[g], other[g]) for g in one] if isinstance(one, dict) and isinstance(other, dict) else []
        if isinstance(one, float) and isinstance(other, float):
            pairs = [(one, other)]
        scale = 1.0 if self.high == np.inf else self.high - self.low
        if self.ratio:
            return any(abs(np.log(a / b)) > 0.01 for a, b in pairs)
        return any(abs(a - b) > 0.01 * scale for a, b in pairs)


def check_list(values: Any, name: str, check: Callable[[Any, str], float]) -> NDArray[np.float64]:
    """Check a list of numbers; return them ascending, each once."""
    if isinstance(values, Mapping):
        raise TypeError(f"{name} must be a list of numbers, got {type(values).__name__}.")
    listed = listed_values(values)
    if not listed:
        raise ValueError(f"{name} is empty: give at least one number, or None for the default.")
    return np.unique([check(value, name) for value in listed])


def listed_values(values: Any) -> list[Any]:
    """List values with their own types: a float32 must be seen to be one."""
    array = values if isinstance(values, np.ndarray) else np.asarray(values, dtype=object)
    return list(np.atleast_1d(array))


def same_groups(given: Mapping[Hashable, Any], moved: Sequence[Hashable], name: str) -> None:
    """Insist that a dict has an entry for each moved group and no other."""
    if set(given) != set(moved):
        raise ValueError(f"{name} must have one entry for each moved group {list(moved)}, got {list(given)}.")
