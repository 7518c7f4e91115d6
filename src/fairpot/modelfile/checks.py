"""Checks of parsed JSON: each takes a value and where it stands, and returns it clean or refuses it."""

from __future__ import annotations

import math
import re
import reprlib
from collections.abc import Collection, Hashable
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from fairpot.exceptions import ModelFileError

# Far above what a real model needs, far below what would harm the machine that loads it.
MAX_GROUPS = 10_000
MAX_KNOTS = 20_000_000
MAX_LIST = 100_000
MAX_TEXT = 10_000

CHANGED = "Hint: the file was changed or cut after it was written; fit and save the model again."
_SHOWN = 80


def refuse(where: str, rule: str, got: Any, hint: str = CHANGED) -> NoReturn:
    """Raise, naming the place, the rule and what stands there."""
    raise ModelFileError(f"{where} must be {rule}, got {shown(got)}.\n{hint}")


def shown(value: Any) -> str:
    """Show a value of any size in one short line."""
    try:
        text = reprlib.repr(value)
    except ValueError:  # whole numbers of thousands of digits have no text
        text = f"{type(value).__name__} too long to show"
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."


def check_object(value: Any, where: str, names: Collection[str]) -> dict[str, Any]:
    """Check an object with exactly these keys."""
    if not isinstance(value, dict):
        refuse(where, "an object", value)
    unknown, absent = sorted(set(value) - set(names)), sorted(set(names) - set(value))
    if unknown:
        raise ModelFileError(
            f"{where} has keys this version does not know: {shown(unknown)}.\n"
            "Hint: load it with the fairpot that wrote it, or fit and save the model again."
        )
    if absent:
        raise ModelFileError(f"{where} lacks the keys {shown(absent)}.\n{CHANGED}")
    return value


def check_list(value: Any, where: str, limit: int = MAX_LIST, least: int = 0) -> list[Any]:
    """Check a list whose length is within bounds."""
    if not isinstance(value, list):
        refuse(where, "a list", value)
    if not least <= len(value) <= limit:
        raise ModelFileError(f"{where} must have from {least} to {limit} entries, got {len(value)}.\n{CHANGED}")
    return value


def check_text(value: Any, where: str) -> str:
    """Check a text of valid Unicode, not absurdly long."""
    if not isinstance(value, str):
        refuse(where, "text", value)
    if len(value) > MAX_TEXT:
        refuse(where, f"text of at most {MAX_TEXT} characters", value)
    if re.search("[\ud800-\udfff]", value):
        refuse(where, "valid Unicode", value, "Hint: the text holds half of a surrogate pair; repair it at its source.")
    return value


def check_name(value: Any, where: str, names: Collection[str]) -> str:
    """Check one of some names."""
    if not isinstance(value, str) or value not in names:
        refuse(where, f"one of {', '.join(map(repr, names))}", value)
    return value


def check_flag(value: Any, where: str) -> bool:
    """Check a boolean."""
    if not isinstance(value, bool):
        refuse(where, "true or false", value)
    return value


def check_number(value: Any, where: str, low: float = -math.inf, high: float = math.inf) -> float | int:
    """Check a finite number between two bounds; it stays int or float."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        refuse(where, "a number", value)
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        refuse(where, "a number of at most 64 bits", value)
    if not math.isfinite(value):
        refuse(where, "a finite number", value, "Hint: NaN and infinity have no place in a model; look at the fit.")
    if not low <= value <= high:
        refuse(where, f"a number from {low:g} to {high:g}", value)
    return value


def check_numbers(value: Any, where: str) -> NDArray[np.float64]:
    """Check a list of finite numbers; quick for millions of them."""
    numbers = check_list(value, where, MAX_KNOTS)
    if set(map(type, numbers)) - {float}:
        numbers = [check_number(number, f"{where}[{i}]") for i, number in enumerate(numbers)]
    array = np.array(numbers, dtype=np.float64)
    broken = np.flatnonzero(~np.isfinite(array))
    if len(broken):
        check_number(numbers[broken[0]], f"{where}[{broken[0]}]")
    return array


def check_ascending(value: Any, where: str) -> NDArray[np.float64]:
    """Check knots: finite numbers, strictly increasing."""
    knots = check_numbers(value, where)
    wrong = np.flatnonzero(knots[1:] <= knots[:-1])
    if len(wrong):
        place = int(wrong[0])
        refuse(where, "strictly increasing", [float(knots[place]), float(knots[place + 1])])
    return knots


def check_group(value: Any, where: str) -> Hashable:
    """Check the name of a group: text, number or boolean."""
    if type(value) not in (str, int, float, bool):
        refuse(
            where,
            "the name of a group: text, a number or a boolean",
            value,
            "Hint: turn other group columns (dates, tuples, ...) into text before fit.",
        )
    if isinstance(value, str):
        return check_text(value, where)
    return value if isinstance(value, bool) else check_number(value, where)


def check_by_group(value: Any, where: str, key: str, groups: Collection[Hashable] | None = None) -> dict[Hashable, Any]:
    """Check a list of {"group": ..., key: ...} without repeats; return it as a dict, its values unchecked.

    If ``groups`` are given, exactly these must be there, in this order.
    """
    found: dict[Hashable, Any] = {}
    for place, entry in enumerate(check_list(value, where, MAX_GROUPS)):
        entry = check_object(entry, f"{where}[{place}]", ("group", key))
        group = check_group(entry["group"], f"{where}[{place}].group")
        if group in found:
            raise ModelFileError(f"{where} has the group {shown(group)} twice.\n{CHANGED}")
        found[group] = entry[key]
    if groups is not None and [*map(_typed, found)] != [*map(_typed, groups)]:
        refuse(where, f"one entry for each group {shown(list(groups))}", list(found))
    return found


def _typed(group: Hashable) -> tuple[type, Hashable]:
    """Tell 1, 1.0 and true apart."""
    return type(group), group
