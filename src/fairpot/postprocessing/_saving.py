"""From a fitted post-processor to the content of a model file."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, NamedTuple, Protocol, cast, runtime_checkable

from fairpot.exceptions import ModelFileError
from fairpot.modelfile import ModelFile, describe_table
from fairpot.transport import ScoreMap

Rule = Callable[[Any], dict[str, Any]]


def maps_alone(model: Any) -> dict[str, Any]:
    """Need nothing but the maps."""
    return {"kind": "maps"}


def top_of_batch(model: Any) -> dict[str, Any]:
    """Need the top alpha of the rows at hand, unless the fitted threshold is used: that is in the maps."""
    if model.alpha is None or model.threshold == "fitted":
        return maps_alone(model)
    return {"kind": "top_of_batch", "alpha": float(model.alpha), "region": model.region}


def barycentre_of_batch(model: Any) -> dict[str, Any]:
    """Need the distributions of the rows at hand, if those were asked for."""
    if model.distributions == "fitted" or model.t_ == 0:
        return maps_alone(model)
    return {"kind": "barycentre_of_batch", "t": float(model.t_)}


class Method(NamedTuple):
    """A method that can be saved: the name of its dial, and what applying it needs beyond the maps."""

    dial: str
    apply: Rule


METHODS: Mapping[str, Method] = {
    "FairPOT": Method("lam", top_of_batch),
    "OptimalMerge": Method("theta", maps_alone),
    "PostLogit": Method("alpha", maps_alone),
    "WassersteinRepair": Method("t", barycentre_of_batch),
    "XOrder": Method("lam", maps_alone),
}


@runtime_checkable
class Sigmoid(Protocol):
    """A map s -> sigma(alpha s + beta)."""

    alpha: float
    beta: float


def describe(model: Any) -> ModelFile:
    """Return what a model file holds of a fitted method of this library."""
    name = type(model).__name__
    if name not in METHODS:
        raise ModelFileError(
            f"{name} is not one of the methods that can be saved: {', '.join(METHODS)}.\n"
            "Hint: a subclass may change what transform does, which a file of maps cannot hold."
        )
    method = METHODS[name]
    return ModelFile(
        method=name,
        parameters=model.get_params(deep=False),
        dial=(method.dial, getattr(model, f"{method.dial}_")),
        maps={group: map_content(model.maps_[group]) for group in model.groups_},
        reference=_reference(model),
        thresholds=getattr(model, "thresholds_", None),
        apply=method.apply(model),
        fitted_on=describe_table(model.table_),
    )


def _reference(model: Any) -> Hashable | None:
    """Return the reference as the groups spell it: 1 given for a group 1.0 is 1.0."""
    if not hasattr(model, "reference_"):
        return None
    return cast(Hashable, next(group for group in model.groups_ if group == model.reference_))


def map_content(score_map: ScoreMap) -> dict[str, Any]:
    """Return a map as plain values; a sigmoid by its two numbers, so that it stays exact between the knots."""
    if isinstance(score_map, Sigmoid):
        numbers = {"alpha": float(score_map.alpha), "beta": float(score_map.beta)}
        return {"kind": "sigmoid", "knots": score_map.knots.tolist(), **numbers}
    if type(score_map) is not ScoreMap:
        raise ModelFileError(f"a map of type {type(score_map).__name__} has no form in a model file.")
    return {"kind": "piecewise", **score_map.to_dict()}


def stamped(content: ModelFile) -> ModelFile:
    """Put down the time."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return replace(content, fitted_on=content.fitted_on | {"time": now})


def with_columns(content: ModelFile, columns: Mapping[str, Any]) -> ModelFile:
    """Put down what the columns were called."""
    if set(columns) != {"score", "group"} or isinstance(columns["group"], str):
        raise ModelFileError("columns must be {'score': name, 'group': [names]}.")
    named = {"score": str(columns["score"]), "group": [str(name) for name in columns["group"]]}
    return replace(content, columns=named)
