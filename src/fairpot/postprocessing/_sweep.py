"""What the methods' trade-off curves share: the rows to evaluate on, and checks of their dials."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from fairpot._validation import Rows, as_double, check_choice, check_rows, check_seen, is_number
from fairpot.metrics._wins import TIES, Ties
from fairpot.postprocessing._direction import find_reference, require_outcomes
from fairpot.table import ScoreTable
from fairpot.tradeoff.build import trace

__all__ = [
    "check_dial",
    "check_grid",
    "check_ties",
    "check_values",
    "find_reference",
    "require_outcomes",
    "require_reference",
    "same_groups",
    "table_to_trace",
    "trace",
]


def table_to_trace(
    fitted: ScoreTable,
    scores: Any,
    y: Any,
    sensitive_features: Any,
    sample_weight: Any,
    *,
    pos_label: Any,
    fitted_rows: Rows | None = None,
) -> ScoreTable:
    """Check and count the rows to evaluate a curve on; without any, or with the fitted ones, take their table."""
    if all(given is None for given in (scores, y, sensitive_features, sample_weight)):
        if not fitted.labelled:
            raise ValueError("the map was fitted without y: pass scores, y and sensitive_features to trace a curve.")
        return fitted
    if y is None:
        raise TypeError("y is missing: a trade-off curve counts outcomes.")
    rows = check_rows(scores, y, sensitive_features, sample_weight, pos_label=pos_label)
    if fitted_rows is not None and rows.equals(fitted_rows):
        return fitted
    check_seen(cast(NDArray[np.intp], rows.codes), rows.groups, fitted.groups)
    return ScoreTable.from_rows(*rows)


def require_reference(table: ScoreTable, reference: Hashable) -> None:
    """Insist that the reference group is among the rows to evaluate."""
    if reference not in table.groups:
        raise ValueError(
            f"sensitive_features has no rows of the reference group {reference!r}: "
            f"nothing to compare {list(table.groups)} with."
        )


def check_values(
    values: Any, moved: Sequence[Hashable], name: str, check: Callable[[Any, str], float]
) -> NDArray[np.float64]:
    """Check the values of a dial to evaluate: ascending, each once, or a column for each moved group from a dict."""
    if isinstance(values, Mapping):
        same_groups(values, moved, name)
        columns = [[check(value, f"{name}[{g!r}]") for value in _listed(values[g])] for g in moved]
        if len({len(c) for c in columns}) != 1 or not columns[0]:
            raise ValueError(f"the lists of {name} must have the same length, at least 1, for every group.")
        return np.array(columns).T
    listed = _listed(values)
    if not listed:
        raise ValueError(f"{name} is empty: give at least one number, or None for the default.")
    return np.unique([check(value, name) for value in listed])


def _listed(values: Any) -> list[Any]:
    """Return the values of a list, array, column or single number, each in the type it came in."""
    given = np.asarray(values) if hasattr(values, "dtype") else np.asarray(values, dtype=object)
    return list(np.atleast_1d(given))


def same_groups(given: Mapping[Hashable, Any], moved: Sequence[Hashable], name: str) -> None:
    """Insist that a dict has an entry for each moved group and no other."""
    if set(given) != set(moved):
        raise ValueError(f"{name} must have one entry for each moved group {list(moved)}, got {list(given)}.")


def check_grid(values: Any, name: str, *, upper: float = np.inf) -> NDArray[np.float64]:
    """Check the values of a dial, numbers from 0 to ``upper``; return them ascending, each once."""
    if isinstance(values, Mapping):
        raise TypeError(f"{name} must be a list of numbers, got {type(values).__name__}.")
    return check_values(values, (), name, lambda value, label: check_dial(value, label, upper=upper))


def check_dial(value: Any, name: str, *, upper: float = np.inf) -> float:
    """Check a finite number from 0 to ``upper``."""
    rule = "at least 0" if upper == np.inf else f"in [0, {upper:g}]"
    if not is_number(value):
        raise TypeError(f"{name} must be a number {rule}, got {value!r}.")
    if not (0 <= value <= upper and np.isfinite(value)):
        raise ValueError(f"{name} must be finite and {rule}, got {value!r}.")
    return as_double(value)


def check_ties(ties: Any) -> Ties:
    """Check the name of a convention for ties."""
    return cast(Ties, check_choice(ties, "ties", TIES))
