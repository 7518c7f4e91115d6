"""Checks of parsed JSON: each takes a value and where it stands, and returns it clean or refuses it."""

from __future__ import annotations

import math
import re
import reprlib
from collections.abc import Collection, Hashable, Mapping
from datetime import datetime, timedelta
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from fairpot.exceptions import ModelFileError
from fairpot.modelfile.origin import COUNTS, ORIGIN

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


def check_origin(content: Any, groups: Collection[Hashable]) -> dict[str, Any]:
    """Check ``fitted_on``: counts and ranges for each group, null where they rest on few people."""
    content = check_object(content, "fitted_on", ORIGIN)
    labelled = check_flag(content["labelled"], "fitted_on.labelled")
    found = check_by_group(content["groups"], "fitted_on.groups", "counts", groups)
    for group, counts in found.items():
        _counts(counts, f"fitted_on: the counts of group {shown(group)}", labelled)
    _count(content["rows"], "fitted_on.rows")
    check_number(content["fewer_than"], "fitted_on.fewer_than", 0.0)
    _range(content["score_range"], "fitted_on.score_range")
    if not check_text(content["library_version"], "fitted_on.library_version").isprintable():
        refuse("fitted_on.library_version", "printable", content["library_version"])
    digest = content["fingerprint"]
    if digest is not None and not (isinstance(digest, str) and re.fullmatch("[0-9a-f]{64}", digest)):
        refuse("fitted_on.fingerprint", "64 hexadecimal digits, or null", digest)
    if content["time"] is not None:
        _time(content["time"])
    return dict(content)


def _counts(content: Any, where: str, labelled: bool) -> None:
    check_object(content, where, COUNTS)
    _count(content["rows"], f"{where}: rows")
    if content["rows"] is None:
        if any(value is not None for value in content.values()):
            refuse(where, "all null where the rows are", content)
        return
    if not isinstance(content["scores"], int):
        refuse(f"{where}: scores", "a whole number", content["scores"])
    check_number(content["scores"], f"{where}: scores", 0.0)
    _range(content["score_range"], f"{where}: score_range")
    for name in ("positives", "negatives"):
        if labelled:
            _count(content[name], f"{where}: {name}")
        elif content[name] is not None:
            refuse(f"{where}: {name}", "null, as there were no labels", content[name])


def _count(value: Any, where: str) -> None:
    """Check a number of rows, or null where there are few."""
    if value is not None:
        check_number(value, where, 0.0)


def _range(content: Any, where: str) -> None:
    low, high = check_numbers(check_list(content, where, limit=2, least=2), where)
    if low > high:
        refuse(where, "the lowest and the highest score", content)


def _time(value: Any) -> None:
    try:
        moment = datetime.fromisoformat(check_text(value, "fitted_on.time"))
    except ModelFileError:
        raise
    except ValueError:
        refuse("fitted_on.time", "a time such as 2025-01-31T12:00:00+00:00, or null", value)
    if moment.utcoffset() != timedelta(0) or moment.isoformat(timespec="seconds") != value:
        refuse("fitted_on.time", "a time such as 2025-01-31T12:00:00+00:00, or null", value)


_HINT = "Hint: no fit gives such a map; the file was made or changed by other means. Fit and save the model again."
# Falls smaller than this share of the fitted range are round-off.
_ROUND_OFF = 1e-9


def check_plausible(method: str, maps: Mapping[Hashable, dict[str, Any]], score_range: list[float]) -> None:
    """Refuse maps that turn the order of a group round, or lead far away from the fitted scores.

    Every method keeps the order of a group's scores, but for one place: FairPOT may step down where the moved part
    begins. And but for OptimalMerge, whose odds may lead beyond scores that are no probabilities, new scores lie
    within the fitted range or not further outside than it is wide.
    """
    low, high = score_range
    with np.errstate(over="ignore"):
        width = (np.float64(high) - low) or 1.0
    for group, content in maps.items():
        where = f"the map of group {shown(group)}"
        if content["kind"] == "sigmoid":
            if content["alpha"] < 0:
                raise ModelFileError(
                    f"{where} turns the order of the scores round (alpha = {content['alpha']:g}).\n{_HINT}"
                )
            continue
        values = np.array(content["values"])
        _check_order(values, content["below"], width, where)
        if method != "OptimalMerge" or (low >= 0 and high <= 1):
            _check_reach(values, float(low), float(high), float(width), where)


def _check_order(values: NDArray[np.float64], below: str, width: float, where: str) -> None:
    with np.errstate(over="ignore"):
        falls = np.flatnonzero(np.diff(values) < -_ROUND_OFF * width)
    if below == "identity":
        falls = falls[falls > 0]
    if len(falls):
        raise ModelFileError(
            f"{where} turns the order of the scores round: its values fall {len(falls)} times.\n{_HINT}"
        )


def _check_reach(values: NDArray[np.float64], low: float, high: float, width: float, where: str) -> None:
    if len(values) == 0:
        return
    least, most = float(values.min()), float(values.max())
    if least < low - width or most > high + width:
        raise ModelFileError(
            f"{where} leads to scores from {least:g} to {most:g}, far outside the fitted range, {low:g} to {high:g}.\n"
            f"{_HINT}"
        )
