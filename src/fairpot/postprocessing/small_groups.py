"""Whether a model file would show the scores of a few people."""

from __future__ import annotations

from collections.abc import Hashable

from fairpot.modelfile import FEWER_THAN, ModelFile
from fairpot.table import ScoreTable


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
    return bool(counts.weight.sum() < FEWER_THAN)
