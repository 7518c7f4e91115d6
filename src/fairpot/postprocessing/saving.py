"""From a fitted post-processor to the content of a model file."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from os import PathLike
from typing import Any, Protocol, runtime_checkable

from fairpot.exceptions import ModelFileError
from fairpot.modelfile import ModelFile, read_key, table_fingerprint
from fairpot.table import ScoreTable
from fairpot.transport import ScoreMap


@runtime_checkable
class Sigmoid(Protocol):
    """A map s -> sigma(alpha s + beta)."""

    alpha: float
    beta: float


def map_content(score_map: ScoreMap) -> dict[str, Any]:
    """Return a map as plain values, with the knots it needs; a sigmoid is its two numbers and needs none."""
    if isinstance(score_map, Sigmoid):
        return {"kind": "sigmoid", "alpha": float(score_map.alpha), "beta": float(score_map.beta)}
    if type(score_map) is not ScoreMap:
        raise ModelFileError(f"a map of type {type(score_map).__name__} has no form in a model file.")
    return {"kind": "piecewise", **score_map.compact().to_dict()}


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


def with_fingerprint(content: ModelFile, table: ScoreTable | None, key: str | PathLike[str]) -> ModelFile:
    """Put down the fingerprint of the fitted rows under a secret of the owner."""
    if table is None:
        raise ModelFileError(
            "a model that comes from a file has no rows to take a fingerprint of.\nHint: save the fitted model."
        )
    found = read_key(key)
    if not isinstance(found.secret, bytes):
        raise ModelFileError("a fingerprint takes a shared secret, not an Ed25519 key.\nHint: openssl rand -hex 32")
    return replace(content, fitted_on=content.fitted_on | {"fingerprint": table_fingerprint(table, found.secret)})
