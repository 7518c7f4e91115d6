"""The methods to compare, by name, and each with what is the same for all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sklearn.base import clone

from fairpot.comparison.trial import Setting
from fairpot.repair.estimator import Repair
from fairpot.repair.fitting import RULES
from fairpot.repair.registry import find_method, methods, takes_reference
from fairpot.words.comparison import UNREPAIRED


def find_methods(asked: Any) -> dict[str, Any]:
    """Return the estimators to compare by name; None takes all."""
    if asked is None:
        return {method.__name__: method() for method in methods().values()}
    if isinstance(asked, Mapping):
        chosen = {str(name): _estimator(value) for name, value in asked.items()}
    else:
        single = isinstance(asked, str) or not isinstance(asked, Iterable)
        pairs = [(_name(value), _estimator(value)) for value in ([asked] if single else list(asked))]
        twice = [name for name, _ in pairs if [n for n, _ in pairs].count(name) > 1]
        if twice:
            raise ValueError(
                f"methods has {twice[0]!r} more than once: their rows could not be told apart.\n"
                f"Hint: name them, methods={{'{twice[0]} 1': ..., '{twice[0]} 2': ...}}."
            )
        chosen = dict(pairs)
    if not chosen:
        raise ValueError("methods is empty.\nHint: give at least one, such as methods=['FairPOT'], or None for all.")
    if UNREPAIRED in chosen:
        raise ValueError(f"{UNREPAIRED!r} is the name of the original scores.\nHint: call the method something else.")
    return chosen


def _name(value: Any) -> str:
    return find_method(value).__name__ if isinstance(value, str) else type(value).__name__


def _estimator(value: Any) -> Any:
    if isinstance(value, str):
        return find_method(value)()
    if isinstance(value, type) or not (hasattr(value, "fit") and hasattr(value, "transform")):
        raise TypeError(
            f"methods must hold names or repair methods such as FairPOT(), got {value!r}.\n"
            f"Hint: the names are {', '.join(repr(method.__name__) for method in methods().values())}."
        )
    return value


def has_rule(estimator: Any) -> bool:
    """Whether the target gaps of a comparison are a rule to a method: it is fairpot's, with no top of its own."""
    return isinstance(estimator, Repair) and estimator.top is None


def prepare(estimator: Any, setting: Setting) -> Any:
    """Copy an estimator, with the common setting where it has none of its own and without what a rule replaces."""
    known = estimator.get_params(deep=False)
    wanted: dict[str, Any] = {"ties": setting.ties} if "ties" in known else {}
    if known.get("reference", "") is None and takes_reference(type(estimator)):
        wanted["reference"] = setting.reference
    if has_rule(estimator):
        wanted |= {estimator.dial.name: None, **dict.fromkeys(RULES), "confidence": None, "top": setting.top}
    return clone(estimator).set_params(**wanted)


def obstacle(estimator: Any, setting: Setting) -> str | None:
    """Say why a method is left out of a comparison of all; None if it is not."""
    return estimator._obstacle(setting.table) if isinstance(estimator, Repair) else None
