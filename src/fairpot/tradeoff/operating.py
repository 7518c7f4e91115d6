"""Rules in the words of an operation: the gap in the part of the list that is acted on, net benefit at a threshold."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairpot._arguments import argument
from fairpot._validation import as_double, check_share, is_number
from fairpot.exceptions import InfeasibleRuleError, UndefinedMetricWarning
from fairpot.inference.dial import Part, SameMaps
from fairpot.inference.shares import FEWEST, Kernel
from fairpot.metrics.wins import WinMatrix
from fairpot.table import Maps, ScoreTable
from fairpot.transport import Floats


@dataclass(frozen=True)
class Rule:
    """What a value of the dial is chosen by.

    Parameters
    ----------
    max_gap, max_auc_loss : float or None
        The largest gap, and the largest loss of AUC.
    capacity : int, float or None
        How many can be acted on, in rows or as a share: the gap is that among them.
    net_benefit_at : float or None
        The threshold at which is acted: net benefit there takes the place of AUC.

    Examples
    --------
    >>> Rule(max_gap=0.05, capacity=200).in_words()
    'the highest AUC with a gap of at most 0.05 among the 200 highest'
    >>> Rule(max_gap=0.05, net_benefit_at=0.3).in_words()
    'the highest net benefit at 0.3 with a gap of at most 0.05'
    >>> Rule(capacity=0.1).in_words()
    'the smallest gap in the top 10%'
    """

    max_gap: float | None = None
    max_auc_loss: float | None = None
    capacity: int | float | None = None
    net_benefit_at: float | None = None

    @property
    def operating(self) -> bool:
        """Whether rows have to be looked at again: at their top, or at a threshold."""
        return self.capacity is not None or self.net_benefit_at is not None

    def checked(self) -> Rule:
        """Insist on numbers that mean something, and on rules that go together."""
        for name in ("max_gap", "max_auc_loss"):
            if getattr(self, name) is not None:
                check_share(getattr(self, name), name, zero=True)
        if self.capacity is not None:
            _check_capacity(self.capacity)
        if self.net_benefit_at is not None:
            _check_threshold(self.net_benefit_at)
            if self.max_gap is None:
                raise ValueError(
                    f"{argument('net_benefit_at', self.net_benefit_at)} takes the highest net benefit within a gap, "
                    f"and no gap is given.\nHint: add {argument('max_gap', 0.05)}."
                )
        return self

    def in_words(self, confidence: float | None = None) -> str:
        """Say what the rule asks for."""
        where = "" if self.capacity is None else f" {among(self.capacity)}"
        if self.max_gap is None:
            cost = "" if self.max_auc_loss is None else f" for at most {self.max_auc_loss:g} of AUC"
            return f"the smallest gap{where}{cost}"
        best = "AUC" if self.net_benefit_at is None else f"net benefit at {self.net_benefit_at:g}"
        bound = f"a gap of at most {self.max_gap:g}{where}"
        if confidence is not None:
            bound = f"a gap{where} that is at most {self.max_gap:g} with {100 * confidence:.4g}% confidence"
        loss = "" if self.max_auc_loss is None else f" and a loss of at most {self.max_auc_loss:g}"
        return f"the highest {best} with {bound}{loss}"


def among(capacity: int | float) -> str:
    """Say which part of the list a capacity is."""
    if isinstance(capacity, int | np.integer):
        return f"among the {capacity:,} highest"
    return f"in the top {100 * capacity:.4g}%"


def capacity_share(capacity: int | float, tables: Sequence[ScoreTable]) -> float:
    """Give a capacity as a share of all rows of some tables.

    Examples
    --------
    >>> from fairpot import score_table
    >>> capacity_share(3, [score_table([0, 1, 1, 0], [0.1, 0.2, 0.3, 0.4], sensitive_features=["F", "F", "M", "M"])])
    0.75
    """
    _check_capacity(capacity)
    if not isinstance(capacity, int | np.integer):
        return as_double(capacity)
    if any(table.importance for table in tables):
        raise ValueError(
            f"{argument('capacity', capacity)} is a number of rows, but the weights say how much a row counts, not how "
            f"many rows it is.\nHint: give a share, such as {argument('capacity', 0.1)}."
        )
    rows = sum(table.rows for table in tables)
    if capacity > rows:
        raise ValueError(
            f"{argument('capacity', capacity)} is more than the {rows:,g} rows there are.\n"
            f"Hint: a number of rows up to {rows:,g}, or a share, such as {argument('capacity', 0.1)}."
        )
    return float(capacity / rows)


def net_benefit(table: ScoreTable, threshold: float) -> float:
    """Compute the net benefit of acting from a threshold on: (TP - FP * p / (1 - p)) / n, p the threshold.

    Examples
    --------
    >>> from fairpot import score_table
    >>> table = score_table([0, 1, 1, 0], [0.1, 0.4, 0.8, 0.5], sensitive_features=["F", "F", "M", "M"])
    >>> round(net_benefit(table, 0.4), 3)  # two with the outcome are found, one without it is acted on as well
    0.333
    """
    found = [np.searchsorted(c.score, threshold) for c in table.counts]
    right = sum(float(c.positive[at:].sum()) for c, at in zip(table.counts, found))
    wrong = sum(float(c.negative[at:].sum()) for c, at in zip(table.counts, found))
    return (right - wrong * threshold / (1 - threshold)) / float(table.rows)


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


@dataclass(frozen=True, eq=False)
class Seen:
    """What rows show at values of a dial: overall AUC, the gap in a top share, net benefit at a threshold.

    NaN where a number was not asked for, or where a group has nobody with or without the outcome in the top. ``fewest``
    is how many independent rows of either outcome a group has there at least, in any part.
    """

    auc: Floats
    gap: Floats
    net_benefit: Floats
    fewest: Floats


@dataclass(frozen=True, eq=False)
class OperatingRows:
    """Rows, with the maps at values of a dial, as a rule of an operation looks at them."""

    parts: tuple[Part, ...]
    ties: Kernel
    rule: Rule
    share: float | None

    @classmethod
    def of(cls, parts: tuple[Part, ...], ties: Kernel, rule: Rule) -> OperatingRows:
        """Check that the rule means something on these rows."""
        tables = [part.table for part in parts]
        if rule.net_benefit_at is not None:
            require_probabilities(tables, rule.net_benefit_at)
        return cls(parts, ties, rule, None if rule.capacity is None else capacity_share(rule.capacity, tables))

    def look(self, values: Any, *, auc: bool = False) -> Seen:
        """Look at the rows moved to every value; of several parts, the means are given."""
        found = [self._look_at(part.table, part.steps(values), auc) for part in self.parts]
        aucs, xaucs, benefits = (np.mean(each, axis=0) for each in list(zip(*found))[:3])
        fewest = np.min([each[3] for each in found], axis=0)
        return Seen(aucs, np.abs(xaucs - xaucs.swapaxes(1, 2)).max(axis=(1, 2)), benefits, fewest)

    def countable(self, seen: Seen, dial: str) -> NDArray[np.bool_]:
        """Mark the values at which every group has rows enough in the top for an interval; insist on one."""
        enough = seen.fewest >= FEWEST
        if not enough.any():
            assert self.rule.capacity is not None
            raise InfeasibleRuleError(
                f"no {dial} can be certified: {among(self.rule.capacity)} some group has fewer than {FEWEST} rows "
                "with, or without, the outcome in the rows that it is tried on, whatever the repair.\n"
                f"Hint: allow a larger {argument('capacity')}, collect more rows, or leave {argument('confidence')} "
                "out to choose by the measured gap alone."
            )
        return enough

    def before(self, *, auc: bool = False) -> Seen:
        """Look at the original scores."""
        unmoved = tuple(Part(part.table, SameMaps({})) for part in self.parts)
        return replace(self, parts=unmoved).look([0.0], auc=auc)

    @property
    def benefit_before(self) -> float | None:
        """The net benefit of the original scores, if the rule asks for net benefit."""
        return None if self.rule.net_benefit_at is None else float(self.before().net_benefit[0])

    def _look_at(self, table: ScoreTable, steps: Iterable[Maps], auc: bool) -> tuple[Floats, ...]:
        assert self.ties != "equal"
        at, size = self.rule.net_benefit_at, len(table.groups)
        aucs, xaucs, benefits, fewest = [], [], [], []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            for maps in steps:
                after = table.rescored(maps)
                aucs.append(WinMatrix.of(after, self.ties).auc() if auc else np.nan)
                top = None if self.share is None else after.top(self.share)
                xaucs.append(np.full((size, size), np.nan) if top is None else WinMatrix.of(top, self.ties).xauc())
                fewest.append(np.inf if top is None else np.min(top.independent))
                benefits.append(np.nan if at is None else net_benefit(after, at))
        return np.array(aucs), np.array(xaucs), np.array(benefits), np.array(fewest)


def two_tops(capacity: int | float, alpha: float) -> str:
    """Say that a capacity and a repair of the top alpha are two different tops."""
    return (
        f"{argument('capacity', capacity)} judges the top of the list and lets the method repair everywhere, "
        f"{argument('alpha', alpha)} repairs and judges its own top alone.\n"
        f"Hint: leave one of them out; {argument('alpha', alpha)} with max_gap bounds the gap in the top "
        f"{100 * alpha:.4g}%."
    )


def _check_capacity(capacity: Any) -> None:
    whole = isinstance(capacity, int | np.integer) and not isinstance(capacity, bool)
    if not whole and not is_number(capacity):
        raise TypeError(
            f"capacity must be a whole number of rows or a share in (0, 1], got {capacity!r}.\n{_capacities()}"
        )
    if whole and capacity >= 1:
        return
    if whole or not 0 < capacity <= 1:
        raise ValueError(
            f"capacity must be a whole number of rows, at least 1, or a share in (0, 1], got {capacity!r}.\n"
            f"{_capacities()}"
        )


def _capacities() -> str:
    return f"Hint: {argument('capacity', 200)} for 200 rows, {argument('capacity', 0.1)} for the top 10%."


def _check_threshold(value: Any) -> None:
    if not is_number(value):
        raise TypeError(f"net_benefit_at must be a number between 0 and 1, got {value!r}.\n{_BENEFITS}")
    if not 0 < as_double(value) < 1:
        raise ValueError(f"net_benefit_at must lie between 0 and 1, both left out, got {value!r}.\n{_BENEFITS}")


_BENEFITS = "Hint: name the probability from which on you act, such as 0.2."
