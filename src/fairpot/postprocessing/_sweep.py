"""What the methods' trade-off curves share: the rows to evaluate on, and checks of their dials."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from fairpot._validation import check_choice, check_rows, check_seen, is_number
from fairpot.metrics._wins import TIES, Ties
from fairpot.postprocessing._direction import find_reference, require_outcomes
from fairpot.table import ScoreTable
from fairpot.tradeoff.build import trace

__all__ = [
    "check_dial",
    "check_grid",
    "check_ties",
    "find_reference",
    "require_outcomes",
    "require_reference",
    "table_to_trace",
    "trace",
]


def table_to_trace(
    fitted: ScoreTable, scores: Any, y: Any, sensitive_features: Any, sample_weight: Any, *, pos_label: Any
) -> ScoreTable:
    """Check and count the rows a curve is to be evaluated on; without any, take the fitted ones."""
    if all(given is None for given in (scores, y, sensitive_features, sample_weight)):
        if not fitted.labelled:
            raise ValueError("the map was fitted without y: pass scores, y and sensitive_features to trace a curve.")
        return fitted
    if y is None:
        raise TypeError("y is missing: a trade-off curve counts outcomes.")
    rows = check_rows(scores, y, sensitive_features, sample_weight, pos_label=pos_label)
    check_seen(cast(NDArray[np.intp], rows.codes), rows.groups, fitted.groups)
    return ScoreTable.from_rows(*rows)


def require_reference(table: ScoreTable, reference: Hashable) -> None:
    """Insist that the reference group is among the rows to evaluate."""
    if reference not in table.groups:
        raise ValueError(
            f"sensitive_features has no rows of the reference group {reference!r}: "
            f"nothing to compare {list(table.groups)} with."
        )


def check_grid(values: Any, name: str, *, upper: float = np.inf) -> NDArray[np.float64]:
    """Check the values of a dial, numbers from 0 to ``upper``; return them ascending, each once."""
    listed = np.atleast_1d(np.asarray(values, dtype=object)).tolist()
    if not listed:
        raise ValueError(f"{name} is empty: give at least one number, or None for the default.")
    return np.unique([check_dial(value, name, upper=upper) for value in listed])


def check_dial(value: Any, name: str, *, upper: float = np.inf) -> float:
    """Check a finite number from 0 to ``upper``."""
    rule = "at least 0" if upper == np.inf else f"in [0, {upper:g}]"
    if not is_number(value):
        raise TypeError(f"{name} must be a number {rule}, got {value!r}.")
    if not (0 <= value <= upper and np.isfinite(value)):
        raise ValueError(f"{name} must be finite and {rule}, got {value!r}.")
    return float(value)


def check_ties(ties: Any) -> Ties:
    """Check the name of a convention for ties."""
    return cast(Ties, check_choice(ties, "ties", TIES))
