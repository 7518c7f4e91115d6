"""The methods by name, the dial of each, and its points on held-out rows."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from fairpot._validation import Rows
from fairpot.metrics._wins import Ties, WinMatrix
from fairpot.postprocessing import FairPOT, OptimalMerge, PostLogit, WassersteinRepair, XOrder
from fairpot.table import ScoreTable

Array = NDArray[np.float64]

METHODS: dict[str, Callable[[], Any]] = {
    "FairPOT": FairPOT,
    "WassersteinRepair": WassersteinRepair,
    "PostLogit": PostLogit,
    "XOrder": XOrder,
    "OptimalMerge": OptimalMerge,
}
# Where xOrder has more cells to walk than this, it takes minutes, and runs only if it is asked for by name.
MOST_CELLS = 10**8

_HUNDREDTHS = np.arange(101) / 100
# Nearly all that xOrder's dial does happens near 0.
SMALL_LAMS = np.array([0, 5e-4, 1e-3, 2e-3, 3e-3, 5e-3, 0.01, 0.015, 0.02, 0.03, 0.05, 0.1, 1])
# Thetas, on either side of 1 and in logarithms.
_FINE_STEPS, _FINE_BEYOND = 100, 0.3
_COARSE = np.arange(1, 31) / 10
_WAY = np.linspace(0.0, 1.25, 51)


class Part(NamedTuple):
    """Rows to fit on and rows to evaluate on."""

    fitted: Rows
    held_out: Rows


class Points(NamedTuple):
    """A method's points, one for each value of its dial.

    ``signed_gap`` is positive where the reference is ahead; of more than two groups it is the largest gap.
    """

    dial: str
    value: Array
    auc: Array
    signed_gap: Array


class Setting(NamedTuple):
    """What is the same for all methods: the group that stays, and how pairs are counted."""

    reference: Hashable
    ties: Ties
    thetas: Array


class _Dial(NamedTuple):
    """How a class is swept: its dial, the argument of ``tradeoff`` for it, and parameters that fit it quickly."""

    name: str
    keyword: str
    neutral: Mapping[str, Any]


_NO_RULE = {"max_gap": None, "max_auc_loss": None}
_DIALS: dict[type, _Dial] = {
    FairPOT: _Dial("lam", "lams", {"lam": 0.0, **_NO_RULE}),
    WassersteinRepair: _Dial("t", "ts", {"t": 1.0}),
    PostLogit: _Dial("alpha", "alphas", {"alpha": 1.0}),
    XOrder: _Dial("lam", "lams", {"lam": 0.0}),
    OptimalMerge: _Dial("theta", "thetas", {"theta": 1.0, **_NO_RULE}),
}


def find_methods(methods: Any) -> dict[str, Any]:
    """Return the estimators to compare by name; None takes all."""
    if methods is None:
        return {name: make() for name, make in METHODS.items()}
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
        raise ValueError("methods is empty: give at least one, or None for all.")
    if "unrepaired" in chosen:
        raise ValueError("'unrepaired' is the name of the scores as they came.\nHint: call the method something else.")
    return chosen


def _name(value: Any) -> str:
    return _known_name(value) if isinstance(value, str) else type(value).__name__


def _known_name(name: str) -> str:
    """Find a method by its name, whatever the case; suggest the nearest."""
    plain = {known.lower(): known for known in METHODS}
    asked = name.lower().replace("_", "").replace("-", "")
    if asked in plain:
        return plain[asked]
    near = difflib.get_close_matches(asked, plain, n=1, cutoff=0.4)
    hint = f"did you mean {plain[near[0]]!r}?" if near else "pass an estimator for any other method."
    raise ValueError(f"unknown method {name!r}; known are {', '.join(map(repr, METHODS))}.\nHint: {hint}")


def _estimator(value: Any) -> Any:
    if isinstance(value, str):
        return METHODS[_known_name(value)]()
    if isinstance(value, type) or not (hasattr(value, "fit") and hasattr(value, "transform")):
        raise TypeError(
            f"methods must hold names or post-processors such as FairPOT(), got {value!r}.\n"
            f"Hint: the names are {', '.join(map(repr, METHODS))}."
        )
    return value


def obstacle(estimator: Any, table: ScoreTable, reference: Hashable) -> str | None:
    """Say why a method is left out of a comparison of all; None if it is not."""
    if not isinstance(estimator, XOrder):
        return None
    cells = sum(len(table[reference].score) * len(table[g].score) for g in table.groups if g != reference)
    if cells <= MOST_CELLS:
        return None
    return f"a grid of {cells:.2g} cells takes minutes a fold (the limit is {MOST_CELLS:.0g}); ask for it by name."


def theta_grid(table: ScoreTable) -> Array:
    """Spread thetas around 1, finely up to the factors that make the groups' odds equal, coarsely beyond."""
    log_odds = np.log(table.positives / table.negatives)
    reach = float(np.ptp(log_odds)) + _FINE_BEYOND
    fine = np.arange(1, _FINE_STEPS + 1) * (reach / _FINE_STEPS)
    one_side = np.concatenate((fine, reach + _COARSE))
    return np.asarray(np.exp(np.concatenate((-one_side[::-1], [0.0], one_side))))


def sweep(estimator: Any, part: Part, setting: Setting) -> Points:
    """Fit a method on one part of the rows and evaluate it on the other, at every value of its dial.

    An estimator without a dial that is known gives one point, and so does a repair of the top alpha only, whose
    own curve is one of partial AUC.
    """
    dial = _DIALS.get(type(estimator))
    if dial is None or (isinstance(estimator, FairPOT) and estimator.alpha is not None):
        return _single_point(estimator, part, setting)
    fitted = _prepare(estimator, setting, dial.neutral)
    if isinstance(fitted, OptimalMerge) and len(part.fitted.groups) > 2:
        return _sweep_the_way(fitted, part, setting)
    fitted.fit(**columns(part.fitted))
    curve = fitted.tradeoff(**columns(part.held_out), ties=setting.ties, **{dial.keyword: _values(fitted, setting)})
    return _points(dial.name, curve.lam, curve, setting)


def measure(table: ScoreTable, setting: Setting) -> tuple[float, float]:
    """Return AUC and signed gap of a table."""
    wins = WinMatrix.of(table, setting.ties)
    if len(table.groups) > 2:
        g, h = wins.widest()
        return wins.auc(), abs(g - h)
    a = table.groups.index(setting.reference)
    return wins.auc(), wins.cell(a, 1 - a) - wins.cell(1 - a, a)


def columns(rows: Rows) -> dict[str, Any]:
    """Give rows as the arguments of ``fit`` and ``tradeoff``."""
    groups = np.array([*rows.groups, None], dtype=object)[rows.codes]
    return {"scores": rows.scores, "y": rows.labels, "sensitive_features": groups, "sample_weight": rows.weight}


def _prepare(estimator: Any, setting: Setting, changes: Mapping[str, Any]) -> Any:
    """Copy an estimator, with the common setting where it has none of its own."""
    known = estimator.get_params(deep=False)
    common: dict[str, Any] = {"ties": setting.ties, "pos_label": None}
    if known.get("reference") is None:
        common["reference"] = setting.reference
    wanted = {**common, **changes}
    return clone(estimator).set_params(**{name: value for name, value in wanted.items() if name in known})


def _values(fitted: Any, setting: Setting) -> Array | None:
    if isinstance(fitted, OptimalMerge):
        return setting.thetas
    if isinstance(fitted, PostLogit):
        return None  # its own grid
    return SMALL_LAMS if isinstance(fitted, XOrder) else _HUNDREDTHS


def _sweep_the_way(merge: OptimalMerge, part: Part, setting: Setting) -> Points:
    """Let the thetas of several groups go from 1 to where the fitted gap is smallest, and a quarter beyond."""
    merge.set_params(theta=None).fit(**columns(part.fitted))
    assert isinstance(merge.theta_, dict)
    thetas = {g: theta**_WAY for g, theta in merge.theta_.items()}
    curve = merge.tradeoff(**columns(part.held_out), ties=setting.ties, thetas=thetas)
    return _points("share", _WAY, curve, setting)


def _points(dial: str, values: Array, curve: Any, setting: Setting) -> Points:
    if len(curve.moved) > 1:
        return Points(dial, values, curve.auc, curve.gap)
    sign = 1.0 if curve.reference == setting.reference else -1.0
    return Points(dial, values, curve.auc, sign * curve.signed_gap)


def _single_point(estimator: Any, part: Part, setting: Setting) -> Points:
    fitted = _prepare(estimator, setting, {}).fit(**columns(part.fitted))
    given = columns(part.held_out)
    scores = fitted.transform(given["scores"], sensitive_features=given["sensitive_features"])
    after = part.held_out._replace(scores=np.asarray(scores, dtype=np.float64).reshape(-1))
    auc, signed_gap = measure(ScoreTable.from_rows(*after), setting)
    return Points("", np.array([np.nan]), np.array([auc]), np.array([signed_gap]))
