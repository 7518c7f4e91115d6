"""What a strength is chosen by: bounds on gap and cost, net benefit at a threshold; and where the top of a list is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairpot._arguments import argument
from fairpot._validation import as_double, check_share, is_number, wording
from fairpot.table import ScoreTable


@dataclass(frozen=True)
class Rule:
    """What a strength is chosen by.

    Examples
    --------
    >>> Rule(max_gap=0.05).in_words("among the 200 highest")
    'the highest AUC with a gap of at most 0.05 among the 200 highest'
    >>> Rule(max_gap=0.05, net_benefit_at=0.3).in_words()
    'the highest net benefit at 0.3 with a gap of at most 0.05'
    >>> Rule().in_words("in the top 10%")
    'the smallest gap in the top 10%'
    """

    max_gap: float | None = None  # the largest gap, and the largest loss of AUC
    max_auc_loss: float | None = None
    net_benefit_at: float | None = None  # the threshold at which is acted: net benefit there takes the place of AUC

    def checked(self) -> Rule:
        """Insist on numbers that mean something, and on rules that go together."""
        for name in ("max_gap", "max_auc_loss"):
            if getattr(self, name) is not None:
                check_share(getattr(self, name), name, zero=True)
        if self.net_benefit_at is not None:
            _check_threshold(self.net_benefit_at)
            if self.max_gap is None:
                raise ValueError(
                    f"{argument('net_benefit_at', self.net_benefit_at)} takes the highest net benefit within a gap, "
                    f"and no gap is given.\nHint: add {argument('max_gap', 0.05)}."
                )
        return self

    @property
    def given(self) -> dict[str, float]:
        """The bounds that were set, by name."""
        return {name: value for name, value in vars(self).items() if value is not None}

    def in_words(self, where: str = "", confidence: float | None = None) -> str:
        """Say what the rule asks for, and in which part of the list."""
        where = f" {where}" if where else ""
        if self.max_gap is None:
            cost = "" if self.max_auc_loss is None else f" for at most {self.max_auc_loss:g} of AUC"
            return f"the smallest gap{where}{cost}"
        best = "AUC" if self.net_benefit_at is None else f"net benefit at {self.net_benefit_at:g}"
        bound = f"a gap of at most {self.max_gap:g}{where}"
        if confidence is not None:
            bound = f"a gap{where} that is at most {self.max_gap:g} with {100 * confidence:.4g}% confidence"
        loss = "" if self.max_auc_loss is None else f" and a loss of at most {self.max_auc_loss:g}"
        return f"the highest {best} with {bound}{loss}"


def among(top: int | float) -> str:
    """Say which part of the list a top is.

    >>> among(200), among(0.1)
    ('among the 200 highest', 'in the top 10%')
    """
    if isinstance(top, int | np.integer):
        return f"among the {top:,} highest"
    return f"in the top {100 * top:.4g}%"


def top_share(top: int | float, table: ScoreTable) -> float:
    """Give a top as a share of the rows of a table."""
    check_top(top)
    if not isinstance(top, int | np.integer):
        return as_double(top)
    squares = sum(float(c.squared(side).sum()) for c in table.counts for side in (True, False))
    if table.importance and not table.rows == table.weight == squares:  # then all are 1
        said = "the weights say how much a row counts, not how many rows it is"
        way = f"; or, if a weight is a number of rows, {argument('weights', 'frequency')}"
        if table.follow_up is not None:
            said, way = "at a horizon rows stand for others that left before", ""
        told = f"{argument('top', top)} is a number of rows, but {said}."
        raise ValueError(f"{told}\nHint: give a share, such as {argument('top', 0.1)}{way}.")
    if top > table.rows:
        raise ValueError(
            f"{argument('top', top)} is more than the {table.rows:,g} rows there are.\n"
            f"Hint: give a number of rows up to {table.rows:,g}, or a share, such as {argument('top', 0.1)}."
        )
    return float(top / table.rows)


def check_top(top: Any) -> None:
    """Insist on a number of rows, or a share."""
    hint = f"Hint: {argument('top', 200)} for 200 rows, {argument('top', 0.1)} for the top 10%."
    whole = isinstance(top, int | np.integer) and not isinstance(top, bool)
    if not whole and not is_number(top):
        raise TypeError(f"top must be a whole number of rows or a share in (0, 1], got {wording.got(top)}.\n{hint}")
    if not (top >= 1 if whole else 0 < top <= 1):
        raise ValueError(
            f"top must be a whole number of rows, at least 1, or a share in (0, 1], got {wording.got(top)}.\n{hint}"
        )


def _check_threshold(value: Any) -> None:
    hint = "Hint: name the probability from which on you act, such as 0.2."
    if not is_number(value):
        raise TypeError(f"net_benefit_at must be a number between 0 and 1, got {value!r}.\n{hint}")
    if not 0 < as_double(value) < 1:
        raise ValueError(f"net_benefit_at must lie between 0 and 1, both left out, got {value!r}.\n{hint}")
