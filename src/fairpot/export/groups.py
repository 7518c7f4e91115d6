"""What every export checks first: maps with groups that another language can name."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np

from fairpot.transport import ScoreMap
from fairpot.transport.pieces import Pieces, Sigmoid, formula_of

Name = str | int | float | bool
Maps = Mapping[Any, ScoreMap]


@runtime_checkable
class Noted(Protocol):
    """Maps with something to be said about them, such as simplified ones."""

    maps: dict[Hashable, ScoreMap]


Exportable = Maps | Noted
Formulas = dict[Name, Pieces | Sigmoid]


def note_of(maps: Exportable) -> str:
    """Return what is to be said about maps, for a comment in what is written."""
    return "" if isinstance(maps, Mapping) else f"; {maps}"


def formulas_of(maps: Exportable) -> Formulas:
    """Return the numbers of each group's map.

    Raises
    ------
    TypeError, ValueError
        If these are no maps by group, or a group is no text, number or boolean.
    """
    if isinstance(maps, Noted):
        maps = maps.maps
    if not isinstance(maps, Mapping):
        raise TypeError(
            f"maps must be a dict of group to ScoreMap, got {type(maps).__name__}.\n"
            "Hint: pass the maps_ of a fitted method, or of what fairpot.load gives."
        )
    if not maps:
        raise ValueError("maps is empty: there is no group to export.")
    return {plain_name(group): formula_of(each) for group, each in maps.items()}


def plain_name(group: Hashable) -> Name:
    """Return a group's name as text, number or boolean of Python."""
    name = group.item() if isinstance(group, np.generic) else group
    if not isinstance(name, str | int | float) or name != name or name in (float("inf"), float("-inf")):
        raise TypeError(
            f"the group {group!r} is a {type(group).__name__}; exports know texts, numbers and booleans as groups.\n"
            "Hint: turn the column into text before fit."
        )
    return name


def count_pieces(formulas: Formulas) -> int:
    """Count the straight pieces of all groups."""
    return sum(each.size for each in formulas.values() if isinstance(each, Pieces))


def check_choice(value: Any, name: str, choices: tuple[str, ...]) -> str:
    """Check one of a few words."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}.")
    return str(value)
