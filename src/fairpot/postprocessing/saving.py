"""From a fitted post-processor to the content of a model file: as it is, or with knots that are nobody's scores."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from os import PathLike
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from fairpot.exceptions import ModelFileError
from fairpot.export import simplify
from fairpot.modelfile import FEWER_THAN, ModelFile, read_key, table_fingerprint
from fairpot.modelfile.origin import rounded_outwards
from fairpot.table import ScoreTable
from fairpot.transport import Floats, ScoreMap, ShiftMap


def small_groups(content: ModelFile, table: ScoreTable | None) -> list[Hashable]:
    """Name the groups of which fewer than ten people stand behind the knots and values of the maps.

    Parameters
    ----------
    content : ModelFile
    table : ScoreTable or None
        The fitted rows, where they are at hand: of a group with many people, a few may be moved.
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
    return f"fewer than {FEWER_THAN} people of {names} stand behind the maps: who reads the file sees their scores"


def _begin(content: dict[str, object]) -> float | None:
    """Return the score from which a map moves people."""
    knots: list[float] = content["knots"]  # type: ignore[assignment]
    start = content["start"]
    return knots[0] if not isinstance(start, float) else max(start, knots[0])


def _few(group: Hashable, begin: float | None, table: ScoreTable | None) -> bool:
    if table is None or group not in table.groups:
        return False
    counts = table[group] if begin is None else table[group].above(begin)
    if counts.members is not None:  # a person with several rows is one
        return len(np.union1d(counts.members[0].unit, counts.members[1].unit)) < FEWER_THAN
    return bool(counts.weight.sum() < FEWER_THAN)


# About so many steps make the fitted range; and a map may be simplified by so many of them.
_STEPS, _REACH = 1000, 5


class Grid(NamedTuple):
    """Numbers with few digits: the multiples of a power of ten."""

    exponent: int

    @classmethod
    def for_range(cls, low: float, high: float) -> Grid:
        """Choose the power of ten that comes nearest to a thousandth of a range."""
        size = high - low or abs(high) or 1.0
        if not math.isfinite(size):
            raise ModelFileError(
                f"scores from {low:g} to {high:g} are too far apart to be rounded.\nHint: rescale them."
            )
        return cls(max(round(math.log10(size / _STEPS)), -300))

    @property
    def step(self) -> float:
        """The distance of two of them."""
        return float(self.multiples(np.array([1.0]))[0])

    def multiples(self, whole: Floats) -> Floats:
        """Return whole multiples of the step, as the nearest numbers to those decimals."""
        return whole * 10.0**self.exponent if self.exponent >= 0 else whole / 10.0**-self.exponent

    def nearest(self, values: Floats) -> Floats:
        """Round to the nearest."""
        return self.multiples(np.rint(values / self.step))

    def covering(self, low: float, high: float) -> Floats:
        """Return all of them from one not above ``low`` to one not below ``high``."""
        first, last = math.floor(low / self.step), math.ceil(high / self.step)
        return self.multiples(np.arange(first, last + 1, dtype=np.float64))


def made_private(content: ModelFile, table: ScoreTable | None = None) -> ModelFile:
    """Return what a private file holds in place of all knots and counts.

    Maps are read off at multiples of a step, about a thousandth of the fitted range, rounded to it, and simplified
    within five steps; the largest error of any score stands in ``private``. Counts are rounded to tens, score
    ranges outwards, thresholds to the step, the dial to three digits. Maps that are made anew from each batch are left
    out, and so is a certificate: it is signed for the full maps, not for these.

    Parameters
    ----------
    content : ModelFile
    table : ScoreTable or None, default None
        The fitted rows, where they are at hand, to see how many people are moved.

    Raises
    ------
    ModelFileError
        If fewer than ten people of a group stand behind the maps: rounding does not hide them.
    """
    if content.private is not None:
        return content
    if content.apply["kind"] == "barycentre_of_batch":
        still = {"kind": "piecewise", **ScoreMap.identity().to_dict()}
        content = replace(content, maps=dict.fromkeys(content.groups, still))
    few = small_groups(content, table)
    if few:
        raise ModelFileError(
            f"{told(few)}, also if they are rounded.\nHint: min_group={FEWER_THAN} leaves small groups as they are; "
            "or put groups together, or move more people."
        )
    grid = Grid.for_range(*content.fitted_on["score_range"])
    made = {group: _rounded_map(each, grid) for group, each in content.maps.items()}
    return replace(
        content,
        maps={group: each for group, (each, _) in made.items()},
        thresholds=_rounded_thresholds(content.thresholds, grid),
        dial=(content.dial[0], _three_digits(content.dial[1])),
        fitted_on=_rounded_origin(content.fitted_on),
        certificate=None,
        private={"largest_error": max(error for _, error in made.values()), "step": grid.step},
    )


def largest_difference(full: ScoreMap, other: ScoreMap) -> float:
    """Return the most by which two maps with the same edges differ at any score.

    Between the points that are tried both are straight: knots, starts, where a floor is reached, and the next number
    on either side of each, as maps may jump there.
    """
    points = np.concatenate([_bends(each) for each in (full, other)])
    if len(points) == 0:
        return 0.0
    points = np.concatenate((points, np.nextafter(points, np.inf), np.nextafter(points, -np.inf)))
    whole = (full.starting_at(None), other.starting_at(None))
    return max(float(np.abs(a(points) - b(points)).max()) for a, b in ((full, other), whole))


def _bends(score_map: ScoreMap) -> Floats:
    x, v, floor = score_map.knots, score_map.values, score_map.floor
    starts = [] if score_map.start is None else [score_map.start]
    if floor is None or len(x) < 2:
        return np.concatenate((x, starts))
    crossing = np.flatnonzero((v[:-1] < floor) != (v[1:] < floor))
    rise = v[crossing + 1] - v[crossing]
    at = x[crossing] + (floor - v[crossing]) / rise * (x[crossing + 1] - x[crossing])
    return np.concatenate((x, starts, at))


def _rounded_map(content: dict[str, Any], grid: Grid) -> tuple[dict[str, Any], float]:
    """Return a map on the grid, and its largest error."""
    if content["kind"] == "shift":
        return _rounded_shift(content)
    if content["kind"] != "piecewise" or not content["knots"]:
        return content, 0.0
    full = ScoreMap.from_dict({key: value for key, value in content.items() if key != "kind"})
    x = grid.covering(float(full.knots[0]), float(full.knots[-1]))
    v = grid.nearest(full.starting_at(None)(x))
    if full.below == "identity":  # where the moved part begins a map may fall, once
        falls = np.flatnonzero(v[1:] < v[:-1])
        kept = np.append(0, np.arange(falls[-1] + 1, len(x))) if len(falls) else np.arange(len(x))
        x, v = x[kept], v[kept]
    bounds = {name: None if b is None else float(grid.nearest(np.array([b]))[0]) for name, b in _bounds(full).items()}
    sampled = ScoreMap(x, v, below=full.below, above=full.above, **bounds)
    made = simplify({"": sampled}, max_error=_REACH * grid.step).maps[""]
    return {"kind": "piecewise", **made.to_dict()}, largest_difference(full, made)


def _rounded_shift(content: dict[str, Any]) -> tuple[dict[str, Any], float]:
    """Return a shift with three digits, as the dial has them, and the most by which any score differs."""
    if content["factor"] is None:
        added = _three_digits(content["added"])
        return content | {"added": added}, abs(added - content["added"])
    exact = math.log(content["factor"])
    rounded = _three_digits(exact)
    return content | {"factor": math.exp(rounded)}, math.tanh(abs(rounded - exact) / 4)


def _bounds(score_map: ScoreMap) -> dict[str, float | None]:
    return {"floor": score_map.floor, "start": score_map.start}


def _rounded_thresholds(thresholds: dict[Hashable, float] | None, grid: Grid) -> dict[Hashable, float] | None:
    if thresholds is None:
        return None
    return {group: float(grid.nearest(np.array([value]))[0]) for group, value in thresholds.items()}


def _three_digits(value: Any) -> Any:
    if isinstance(value, dict):
        return {group: _three_digits(each) for group, each in value.items()}
    return float(f"{value:.3g}")


def _rounded_origin(origin: dict[str, Any]) -> dict[str, Any]:
    groups = [
        {"group": each["group"], "counts": {name: _rounded(value) for name, value in each["counts"].items()}}
        for each in origin["groups"]
    ]
    return origin | {
        "groups": groups,
        "rows": _rounded(origin["rows"]),
        "score_range": rounded_outwards(*origin["score_range"]),
    }


def _rounded(value: Any) -> Any:
    """Round a count to tens, a range outwards."""
    if isinstance(value, list):
        return rounded_outwards(*value)
    return None if value is None else int(round(value / FEWER_THAN) * FEWER_THAN)


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
        raise ModelFileError(f"a map of type {type(score_map).__name__} has no form in a model file.")
    return {"kind": "piecewise", **score_map.compact().to_dict()}


def maps_content(maps: Mapping[Hashable, ScoreMap], groups: tuple[Hashable, ...]) -> dict[Hashable, dict[str, Any]]:
    """Return the maps of all groups as plain values."""
    return {group: map_content(maps[group]) for group in groups}


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


def with_fingerprint(content: ModelFile, table: ScoreTable | None, key: str | PathLike[str]) -> ModelFile:
    """Put down the fingerprint of the fitted rows under a secret of the owner."""
    if table is None:
        raise ModelFileError(
            "a model that comes from a file has no rows to take a fingerprint of.\nHint: save the fitted model."
        )
    found = read_key(key)
    if not isinstance(found.secret, bytes):
        raise ModelFileError(
            "a fingerprint takes a shared secret, not an Ed25519 key.\nHint: fairpot sign --new-key FILE"
        )
    return replace(content, fitted_on=content.fitted_on | {"fingerprint": table_fingerprint(table, found.secret)})
