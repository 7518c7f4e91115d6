"""The choice that can be signed for: the dial's values tried on rows that their maps were not fitted on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fairpot._arguments import argument
from fairpot._validation import wording
from fairpot.exceptions import InfeasibleRuleError
from fairpot.inference.certify import Certificate, Worth, choose_certified
from fairpot.inference.dial import Evidence, Part
from fairpot.inference.shares import FEWEST
from fairpot.postprocessing.adopting import unfitted
from fairpot.postprocessing.own_dials import OwnDials, has_own_dials
from fairpot.splitting import all_but, split_table
from fairpot.table import ScoreTable
from fairpot.tradeoff.operating import OperatingRows
from fairpot.transport import Floats

if TYPE_CHECKING:
    from fairpot.postprocessing.dial import Value
    from fairpot.postprocessing.postprocessor import Postprocessor

MOST_FOLDS = 5
_SEED = 0  # the same rows are dealt to the same folds in every run


Report = Callable[[float, str], object]
# Who is told how far a certified choice has come; nobody unless somebody asks.
_WATCHER: ContextVar[Report | None] = ContextVar("_WATCHER", default=None)


@contextmanager
def watching(report: Report | None) -> Iterator[None]:
    """Let a function be told how far certified choices come: the share done, from 0 to 1, and what is being done.

    Examples
    --------
    >>> told = []
    >>> with watching(lambda done, doing: told.append(doing)):
    ...     _tell(0.5, "measuring")
    >>> told
    ['measuring']
    """
    before = _WATCHER.set(report)
    try:
        yield
    finally:
        _WATCHER.reset(before)


def _tell(done: float, doing: str) -> None:
    report = _WATCHER.get()
    if report is not None:
        report(done, doing)


def certified_choice(model: Postprocessor, table: ScoreTable) -> tuple[Value, Certificate]:
    """Choose a value whose gap is within ``max_gap`` with ``confidence``, by cross-fitting the table.

    Every fold is mapped by what the other folds teach; curve and standard errors are those of the folds' mean. The
    maps that are delivered are others, taught by all rows: on these the value must pass by itself as well. In a
    top-alpha region whose threshold many rows share the two may be different repairs altogether: there the delivered
    one is tested, on all rows, and what the folds say is asked for besides. Where several groups have their own dials,
    every fold follows the way that the other folds lead: what is tested is how far to go on it.
    """
    values = dial_values(model, table)
    evidence = cross_fitted(model, table, values)
    places = np.flatnonzero(model._orders(table, values))
    if len(places) == 0:
        raise InfeasibleRuleError(
            f"no {model.dial.name} can be certified: each makes all scores of a group equal.\n"
            "Hint: try another method, or scores with more distinct values."
        )
    confidence, rule = float(model.confidence or 0.0), model._rule
    delivered = Evidence((_part(model, table, values),), model._ties, fitted=True, top=model._top())
    worth = None
    if rule.operating:
        looked = OperatingRows.of(evidence.parts, model._ties, rule)
        seen, before = looked.look(places, auc=True), looked.before(auc=True)
        kept = looked.countable(seen, model.dial.name)
        places, worth = places[kept], Worth(seen.auc[kept], float(before.auc[0]))
        if rule.net_benefit_at is not None:
            worth = worth._replace(benefit=seen.net_benefit[kept], benefit_before=float(before.net_benefit[0]))
        if looked.share is not None:
            evidence, delivered = evidence.in_top(looked.share), delivered.in_top(looked.share)
    folds = len(evidence.parts)
    _tell(folds / (folds + 2), "the maps of all rows")
    own, values = delivered.estimate(places), values[places]
    _tell((folds + 1) / (folds + 2), f"the gap at {len(places):,} repair strengths")
    if own.regions is None:
        dial = replace(evidence.estimate(places), least=own.largest(1 - confidence))
        rows, unrepaired = evidence.rows, evidence.unrepaired()
    else:
        dial = replace(own, least=_least_bounds(evidence, table, places, 1 - confidence))
        rows, unrepaired = f"the fitted rows and {evidence.rows}", delivered.unrepaired()
    place, certificate = choose_certified(
        replace(dial, values=values),
        float(model.max_gap or 0.0),
        confidence,
        unrepaired=unrepaired,
        rows=rows,
        name=model.dial.name,
        max_auc_loss=model.max_auc_loss,
        worth=worth,
        top=evidence.top,
        unmoved=next((k for k, value in enumerate(values) if np.all(value == model.dial.identity)), None),
    )
    return value_at(model, values[place]), certificate


def cross_fitted(model: Postprocessor, table: ScoreTable, values: NDArray[np.float64]) -> Evidence:
    """Deal the rows to folds; keep with each fold the maps that the others teach, by the places of the values."""
    folds = split_table(table, fold_count(table, model.dial.name), _SEED)
    parts = []
    for k, fold in enumerate(folds):
        _tell(k / (len(folds) + 2), f"fold {k + 1} of {len(folds)}")
        try:
            others = all_but(folds, k)
            taught = learnt_again(model, others)
            own = dial_values(taught, others) if has_own_dials(model, table) else values
            parts.append(_part(taught, fold, own))
        except ValueError as error:  # all rows were enough to learn from
            what, _, _ = str(error).partition("\nHint: ")
            raise InfeasibleRuleError(
                f"no {model.dial.name} can be certified: cross-fitting learns from parts of the rows, and in one of "
                f"them {what}\nHint: collect more rows, allow a larger {argument('alpha')} if there is one, or leave "
                f"{argument('confidence')} out to choose by the measured gap alone."
            ) from error
    return Evidence(tuple(parts), model._ties, top=model._top())


def _least_bounds(evidence: Evidence, table: ScoreTable, places: NDArray[np.intp], delta: float) -> Floats:
    """Give the smallest bound that the folds allow each value: each pair's mean gap in the worst open region.

    The regions that a fold's map leaves open are those of all rows, the gaps those of the rows it was not fitted on.
    """
    ends = [evidence.ends(part, table, places, delta) for part in evidence.parts]
    low, high = np.mean(ends, axis=0)  # of every pair, at every value
    least = np.maximum(high, -low).max(axis=0)
    return np.where(np.isnan(least), np.inf, least)


def _part(model: Postprocessor, fold: ScoreTable, values: NDArray[np.float64]) -> Part:
    """Keep a fold with the maps of a model at the places of values; of two groups, its own curve counts it quickly."""

    def count(places: NDArray[np.intp]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        curve = model._traced(fold, values[places], model._ties)
        pairs = np.stack([curve.xauc_ab, curve.xauc_ba], axis=1)
        return curve.auc, pairs if fold.groups[0] == curve.reference else pairs[:, ::-1]

    def views(small: ScoreTable, places: NDArray[np.intp]) -> list[list[Floats]]:
        return [small.view(maps) for maps in model._stepped(fold, values[places])]

    quick = count if len(fold.groups) == 2 else None
    return Part(fold, lambda places: model._stepped(fold, values[places]), quick, views)


def fold_count(table: ScoreTable, dial: str = "the repair strength") -> int:
    """Say how many folds leave enough positives and negatives of every group in each."""
    counted = "rows" if table.units is None else "clusters"
    cells = [
        (float(count), group, what.replace("rows", counted))
        for what, counts in zip(wording.BOTH_OUTCOMES, table.independent)
        for group, count in zip(table.groups, counts)
    ]
    fewest, group, what = min(cells, key=lambda cell: cell[0])
    folds = min(MOST_FOLDS, int((fewest + 1e-9) // FEWEST))
    if folds < 2:
        raise InfeasibleRuleError(
            f"no {dial} can be certified: group {group!r} has {fewest:.3g} {what}, and cross-fitting needs at least "
            f"{2 * FEWEST}.\nHint: collect more rows of that group, or leave {argument('confidence')} out to choose by "
            "the measured gap alone."
        )
    return folds


def dial_values(model: Postprocessor, table: ScoreTable) -> NDArray[np.float64]:
    """Give the values that are tried: the same in all folds, or the way of several groups' own dials on these rows."""
    if has_own_dials(model, table):
        return OwnDials(model, table, model._ties).path()
    if model.grid_ is not None:
        return model._grid_values(table, model._ties)
    values = model.sweep_values(table)
    return model._default_values(table, model._ties) if values is None else values


def value_at(model: Postprocessor, row: NDArray[np.float64]) -> Value:
    """Turn a row of values into what the dial takes."""
    if np.ndim(row) == 0 or np.all(row == model.dial.identity):
        return float(np.ravel(row)[0])
    return {g: float(v) for g, v in zip(model.moved_groups, row)}


def learnt_again(model: Postprocessor, table: ScoreTable) -> Postprocessor:
    """Teach a copy other rows, with the reference that all rows have."""
    other = unfitted(model)
    other.table_, other.groups_, other.left_out_ = table, table.groups, ()
    if hasattr(model, "reference_"):
        other.set_params(reference=model.reference_)
    other.grid_ = model.grid_
    other._learn(table)
    return other
