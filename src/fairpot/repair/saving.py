"""From a fitted post-processor to the content of a model file as it is; ``private.py`` leaves people out of it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Protocol, runtime_checkable

from fairpot.exceptions import ModelFileError
from fairpot.modelfile import ModelFile
from fairpot.modelfile.origin import FEWER_THAN, rows_behind
from fairpot.table import ScoreTable
from fairpot.transport import ScoreMap, ShiftMap, parted


def small_groups(content: ModelFile, table: ScoreTable | None) -> list[Hashable]:
    """Name the groups of which fewer than ten rows stand behind the knots and values of the maps.

    ``table``: the fitted rows, where they are at hand: of a group with many rows, a few may be moved.
    """
    moving = {g: each for g, each in content.maps.items() if each.get("knots")}
    behind = {g: _begin(each) for g, each in moving.items()}
    if moving and content.reference is not None:
        behind[content.reference] = None if content.thresholds is None else content.thresholds[content.reference]
    hidden = [each["group"] for each in content.fitted_on["groups"] if each["counts"]["rows"] is None]
    return [g for g in content.groups if g in behind and (g in hidden or _few(g, behind[g], table))]


def told(groups: list[Hashable]) -> str:
    """Say what the file shows of whom."""
    names = ", ".join(map(repr, groups[:5])) + (", ..." if len(groups) > 5 else "")
    few = f"fewer than {FEWER_THAN} rows (or clusters) of {names}"
    return f"{few} make up the maps: who reads the file sees their scores"


def _begin(content: dict[str, object]) -> float | None:
    """Return the score from which a map moves rows."""
    knots: list[float] = content["knots"]  # type: ignore[assignment]
    start = content["start"]
    return knots[0] if not isinstance(start, float) else max(start, knots[0])


def _few(group: Hashable, begin: float | None, table: ScoreTable | None) -> bool:
    if table is None or group not in table.groups:
        return False
    counts = table[group] if begin is None else table[group].above(begin)
    return rows_behind(counts, table.weighted).rows < FEWER_THAN


@runtime_checkable
class Sigmoid(Protocol):
    """A map s -> sigma(alpha s + beta)."""

    alpha: float
    beta: float


def map_content(score_map: ScoreMap) -> dict[str, Any]:
    """Return a map as plain values, with the knots it needs; a sigmoid and a shift are their numbers and need none."""
    if isinstance(score_map, Sigmoid):
        return {"kind": "sigmoid", "alpha": float(score_map.alpha), "beta": float(score_map.beta)}
    if isinstance(score_map, ShiftMap):
        return {"kind": "shift", **score_map.to_dict()}
    if type(score_map) is not ScoreMap:
        raise ModelFileError(f"a map of type {type(score_map).__name__} has no form in a map file.")
    return {"kind": "piecewise", **score_map.compact().to_dict()}


def maps_content(maps: Mapping[Hashable, ScoreMap], groups: tuple[Hashable, ...]) -> dict[Hashable, dict[str, Any]]:
    """Return each group's own map as plain values."""
    own, _ = parted(maps)
    return {group: map_content(own[group]) for group in groups}


def then_content(maps: Mapping[Hashable, ScoreMap]) -> dict[str, Any] | None:
    """Return the map that follows those of all groups as plain values; None where nothing does."""
    _, then = parted(maps)
    return None if then is None else map_content(then)


def stamped(content: ModelFile) -> ModelFile:
    """Put down the time."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return replace(content, fitted_on=content.fitted_on | {"time": now})


# What columns are called where nothing else is said.
USUAL_COLUMNS = {"score": "score", "group": ["group"]}


def with_columns(content: ModelFile, columns: Mapping[str, Any], **known: Any) -> ModelFile:
    """Store what the columns were called, and what is known of the score: its direction, what a high one does."""
    if set(columns) != {"score", "group"} or isinstance(columns["group"], str):
        raise ModelFileError("columns must be {'score': name, 'group': [names]}.")
    named = {"score": str(columns["score"]), "group": [str(name) for name in columns["group"]]}
    return replace(content, columns=named | {name: value for name, value in known.items() if value})
