"""The methods by name, and each one's points on held-out rows."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from fairpot._defaults import Ties
from fairpot.exceptions import FairpotWarning, UndefinedMetricWarning
from fairpot.inference.dial import Evidence, SameMaps
from fairpot.inference.dial import Part as Rows
from fairpot.metrics.wins import WinMatrix
from fairpot.postprocessing.own_dials import SHARES
from fairpot.postprocessing.postprocessor import RULES, Postprocessor
from fairpot.postprocessing.registry import METHODS, find_method
from fairpot.splitting import weighted_rows
from fairpot.table import ScoreTable
from fairpot.transport import Floats


class Part(NamedTuple):
    """Counted rows to fit on and to evaluate on."""

    fitted: ScoreTable
    held_out: ScoreTable


class Points(NamedTuple):
    """A method's points, one for each value of its dial.

    ``signed_gap`` is positive where the reference is ahead; of more than two groups it has a column for every two,
    positive where the first of them is ahead.
    """

    dial: str
    value: Floats
    auc: Floats
    signed_gap: Floats
    evidence: Evidence | None = None  # the rows and the maps at each value
    settings: Floats | None = None  # what the maps are asked for at each value, where it is not the value itself
    orders: Any = True  # whether something of the order inside every group is left, at each value


class Setting(NamedTuple):
    """What is the same for all methods: all rows, the group that stays, how pairs are counted, and which gap is meant.

    ``top`` is the share of the list whose gap is compared; None for all of it.
    """

    table: ScoreTable
    reference: Hashable
    ties: Ties
    top: float | None = None


def find_methods(methods: Any) -> dict[str, Any]:
    """Return the estimators to compare by name; None takes all."""
    if methods is None:
        return {method.__name__: method() for method in METHODS.values()}
    if isinstance(methods, Mapping):
        chosen = {str(name): _estimator(value) for name, value in methods.items()}
    else:
        single = isinstance(methods, str) or not isinstance(methods, Iterable)
        listed = [methods] if single else list(methods)
        pairs = [(_name(value), _estimator(value)) for value in listed]
        twice = [name for name, _ in pairs if [n for n, _ in pairs].count(name) > 1]
        if twice:
            raise ValueError(
                f"methods has {twice[0]!r} more than once: their rows could not be told apart.\n"
                f"Hint: name them, methods={{'{twice[0]} 1': ..., '{twice[0]} 2': ...}}."
            )
        chosen = dict(pairs)
    if not chosen:
        raise ValueError("methods is empty.\nHint: give at least one, such as methods=['FairPOT'], or None for all.")
    if "unrepaired" in chosen:
        raise ValueError("'unrepaired' is the name of the original scores.\nHint: call the method something else.")
    return chosen


def _name(value: Any) -> str:
    return find_method(value).__name__ if isinstance(value, str) else type(value).__name__


def _estimator(value: Any) -> Any:
    if isinstance(value, str):
        return find_method(value)()
    if isinstance(value, type) or not (hasattr(value, "fit") and hasattr(value, "transform")):
        raise TypeError(
            f"methods must hold names or repair methods such as FairPOT(), got {value!r}.\n"
            f"Hint: the names are {', '.join(repr(method.__name__) for method in METHODS.values())}."
        )
    return value


def obstacle(estimator: Any, setting: Setting) -> str | None:
    """Say why a method is left out of a comparison of all; None if it is not."""
    prepared = prepare(estimator, setting)
    return prepared.obstacle(setting.table) if isinstance(prepared, Postprocessor) else None


def sweep(estimator: Any, part: Part, setting: Setting) -> Points:
    """Fit a method on one part of the rows and evaluate it on the other, at every value of its dial.

    An estimator without a dial gives one point, and so does a repair of the top alpha only, whose own curve is one
    of partial AUC.
    """
    prepared = prepare(estimator, setting)
    if not isinstance(prepared, Postprocessor) or getattr(prepared, "alpha", None) is not None:
        return _single_point(prepared, part, setting)
    fitted = prepared.set_params(**{prepared.dial.name: None}, **dict.fromkeys(RULES))
    values = fitted.sweep_values(setting.table)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairpotWarning)  # told once, of all rows together
        neutral = fitted.dial.identity
        start = neutral if neutral is not None else 1.0 if values is None else float(values[len(values) // 2])
        fitted.set_params(**{fitted.dial.name: start}).fit_table(part.fitted)
        if values is None:
            return _sweep_the_way(fitted, part, setting)
        return _points(fitted, part.held_out, setting, values)


def measure(table: ScoreTable, setting: Setting) -> tuple[float, Floats]:
    """Return AUC and signed gap of a table; with more than two groups, the signed gaps of every two."""
    wins = WinMatrix.of(table, setting.ties)
    won = wins.xauc() if setting.top is None else _quiet_xauc(table.top(setting.top), setting.ties)
    if len(table.groups) > 2:
        return wins.auc(), (won - won.T)[np.triu_indices(len(won), 1)]
    a = table.groups.index(setting.reference)
    return wins.auc(), won[a, 1 - a] - won[1 - a, a]


def _quiet_xauc(top: ScoreTable, ties: Ties) -> Floats:
    """Measure the top; what a group has too few rows there for is NaN, and such a point is left out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        return WinMatrix.of(top, ties).xauc()


def prepare(estimator: Any, setting: Setting) -> Any:
    """Copy an estimator, with the common setting where it has none of its own."""
    known = estimator.get_params(deep=False)
    wanted: dict[str, Any] = {"ties": setting.ties, "pos_label": None}
    if known.get("reference") is None:
        wanted["reference"] = setting.reference
    return clone(estimator).set_params(**{name: value for name, value in wanted.items() if name in known})


def _sweep_the_way(fitted: Postprocessor, part: Part, setting: Setting) -> Points:
    """Let the dials of several groups go from where nothing is asked to the smallest gap of the fitted rows."""
    values = fitted._own_path(setting.ties, list(fitted.moved_groups))
    assert values is not None
    points = _points(fitted, part.held_out, setting, dict(zip(fitted.moved_groups, values.T)))
    return points._replace(dial="share", value=SHARES)


def _points(fitted: Postprocessor, table: ScoreTable, setting: Setting, lams: Any) -> Points:
    """Measure a fitted method at every value; of two groups its own curve does so at once."""
    name = fitted.dial.name
    if len(table.groups) == 2 and setting.top is None:
        curve = fitted.tradeoff(table, ties=setting.ties, lams=lams)
        sign = 1.0 if curve.reference == setting.reference else -1.0
        return Points(name, curve.lam, curve.auc, sign * curve.signed_gap, curve.evidence, curve.lam, curve.orders)
    values = fitted.dial.check_values(lams, fitted.moved_groups)
    evidence = Evidence((Rows(table, partial(fitted._stepped, table)),), setting.ties)
    auc, gaps = zip(*(measure(table.rescored(maps), setting) for maps in fitted._stepped(table, values)))
    orders = fitted._orders(table, values)
    return Points(name, values, np.array(auc), np.array(gaps), evidence, values, orders)


def _single_point(prepared: Any, part: Part, setting: Setting) -> Points:
    evidence = None
    if isinstance(prepared, Postprocessor):
        maps = prepared.fit_table(part.fitted).maps_for(part.held_out)
        after = part.held_out.rescored(maps)
        evidence = Evidence((Rows(part.held_out, SameMaps(maps)),), setting.ties)
    else:
        after = _transformed_by_rows(prepared, part)
    auc, signed_gap = measure(after, setting)
    nothing = np.array([np.nan])
    return Points("", nothing, np.array([auc]), np.array([signed_gap]), evidence, nothing)


def _transformed_by_rows(estimator: Any, part: Part) -> ScoreTable:
    """Fit and transform through rows, for an estimator that does not know tables."""
    given, other = weighted_rows(part.fitted), weighted_rows(part.held_out)
    estimator.fit(given.scores, given.y, sensitive_features=given.groups, sample_weight=given.weight)
    scores = np.asarray(estimator.transform(other.scores, sensitive_features=other.groups), dtype=np.float64)
    groups = part.held_out.groups
    codes = np.array([groups.index(g) for g in other.groups.tolist()], dtype=np.intp)
    return ScoreTable.from_rows(scores.reshape(-1), other.y, codes, groups, other.weight)
