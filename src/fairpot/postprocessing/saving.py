"""From a fitted post-processor to the content of a model file."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Protocol, runtime_checkable

from fairpot.exceptions import ModelFileError
from fairpot.modelfile import ModelFile
from fairpot.transport import ScoreMap


@runtime_checkable
class Sigmoid(Protocol):
    """A map s -> sigma(alpha s + beta)."""

    alpha: float
    beta: float


def map_content(score_map: ScoreMap) -> dict[str, Any]:
    """Return a map as plain values; a sigmoid by its two numbers, so that it stays exact between the knots."""
    if isinstance(score_map, Sigmoid):
        numbers = {"alpha": float(score_map.alpha), "beta": float(score_map.beta)}
        return {"kind": "sigmoid", "knots": score_map.knots.tolist(), **numbers}
    if type(score_map) is not ScoreMap:
        raise ModelFileError(f"a map of type {type(score_map).__name__} has no form in a model file.")
    return {"kind": "piecewise", **score_map.to_dict()}


def maps_content(maps: Mapping[Hashable, ScoreMap], groups: tuple[Hashable, ...]) -> dict[Hashable, dict[str, Any]]:
    """Return the maps of all groups as plain values."""
    return {group: map_content(maps[group]) for group in groups}


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
