"""What the schema cannot say of a model file: knots that ascend, lists that agree, maps that a fit can give."""

from __future__ import annotations

import reprlib
from collections.abc import Collection, Hashable, Mapping
from datetime import datetime
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from fairpot.exceptions import ModelFileError
from fairpot.rows.decoding import readings

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


def check_ascending(knots: NDArray[np.float64], where: str) -> None:
    """Check that knots strictly increase."""
    wrong = np.flatnonzero(knots[1:] <= knots[:-1])
    if len(wrong):
        place = int(wrong[0])
        refuse(where, "strictly increasing", [float(knots[place]), float(knots[place + 1])])


def by_group(
    entries: list[dict[str, Any]], where: str, key: str, groups: Collection[Hashable] | None = None
) -> dict[Hashable, Any]:
    """Turn a list of {"group": ..., key: ...} into a dict; no group may come twice.

    If ``groups`` are given, exactly these must be there, in this order.
    """
    found: dict[Hashable, Any] = {}
    for entry in entries:
        if entry["group"] in found:
            raise ModelFileError(f"{where} has the group {shown(entry['group'])} twice.\n{CHANGED}")
        found[entry["group"]] = entry[key]
    if groups is not None and [*map(_typed, found)] != [*map(_typed, groups)]:
        refuse(where, f"one entry for each group {shown(list(groups))}", list(found))
    return found


def _typed(group: Hashable) -> tuple[type, Hashable]:
    """Tell 1, 1.0 and true apart."""
    return type(group), group


def check_told_apart(groups: Collection[Hashable]) -> None:
    """Refuse a text and another group that reads the same in a file of text, where it would get the other's map."""
    others = {group for group in groups if not isinstance(group, str)}
    for text in groups:
        alike = others.intersection(readings(text, "text")) if isinstance(text, str) else ()
        for other in alike:
            raise ModelFileError(
                f"maps has the groups {shown(text)} and {shown(other)}, which a CSV file cannot tell apart.\n"
                "Hint: fit and save the model again, with group names of one type."
            )


def check_origin(origin: Mapping[str, Any], groups: Collection[Hashable]) -> None:
    """Check that the parts of ``fitted_on`` go together: null is what rests on few people, and only that."""
    for i, counts in enumerate(by_group(origin["groups"], "fitted_on.groups", "counts", groups).values()):
        _check_counts(counts, f"fitted_on.groups[{i}].counts", origin["labelled"])
    _check_range(origin["score_range"], "fitted_on.score_range")
    if not origin["library_version"].isprintable():
        refuse("fitted_on.library_version", "printable", origin["library_version"])
    if origin["time"] is not None and not _is_time(origin["time"]):
        refuse("fitted_on.time", "a time such as 2025-01-31T12:00:00+00:00 or null", origin["time"])


def _check_counts(counts: Mapping[str, Any], where: str, labelled: bool) -> None:
    if counts["rows"] is None:
        if any(value is not None for value in counts.values()):
            refuse(where, "all null where the rows are", counts)
        return
    for name in ("scores", "score_range"):
        if counts[name] is None:
            refuse(f"{where}.{name}", "there where the rows are", None)
    _check_range(counts["score_range"], f"{where}.score_range")
    for name in ("positives", "negatives"):
        if counts[name] is not None and not labelled:
            refuse(f"{where}.{name}", "null, as there were no labels", counts[name])


def _is_time(text: str) -> bool:
    """Whether a text that looks like a time is one: there is no 30th of February."""
    try:
        return datetime.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _check_range(limits: list[float], where: str) -> None:
    low, high = map(float, limits)
    if low > high:
        refuse(where, "the lowest and the highest score", limits)


# Falls smaller than this share of the fitted range are round-off.
_ROUND_OFF = 1e-9


def check_plausible(
    method: str, maps: Mapping[Hashable, dict[str, Any]], score_range: list[float], *, cut: bool = False
) -> None:
    """Refuse maps that turn the order of a group round, or lead far away from the fitted scores.

    Every method keeps the order of a group's scores, but for one place: FairPOT may step down where the moved part
    begins. And but for OptimalMerge, whose odds may lead beyond scores that are no probabilities, and shifts of any
    size that was asked for, new scores lie within the fitted range or not further outside than it is wide. Of scores
    that are ``cut`` to a grid, the one step down may be anywhere.
    """
    low, high = score_range
    with np.errstate(over="ignore"):
        width = (np.float64(high) - low) or 1.0
    for group, content in maps.items():
        if content["kind"] == "sigmoid":
            if content["alpha"] < 0:
                _implausible(group, f"turns the order of the scores round (alpha = {content['alpha']:g})")
            continue
        if content["kind"] == "shift":
            _check_shift(content, float(low), float(high), group)
            continue
        values = np.array(content["values"])
        _check_order(values, content["below"], width, group, anywhere=cut and method == "FairPOT")
        if method != "OptimalMerge" or (low >= 0 and high <= 1):
            _check_reach(values, float(low), float(high), float(width), group)


def check_then(content: Any, *, private: bool) -> None:
    """Refuse a map after all others that does not ascend, or leads to what are no probabilities."""
    values = np.array(content["values"], dtype=np.float64)
    rises = np.diff(values) >= 0 if private else np.diff(values) > 0
    if len(values) < 2 or not rises.all():
        refuse("then", "ascending, from breakpoint to breakpoint", content["values"])
    edges = (content["below"], content["above"], content["floor"], content["start"])
    if edges != ("hold", "hold", None, None):
        refuse("then", "held at both edges, without floor and start", edges)
    inside = (values[0] >= 0 and values[-1] <= 1) or (values[0] >= -1 and values[-1] <= 0)
    if not inside:
        refuse("then", "a map to probabilities", [float(values[0]), float(values[-1])])


def _check_shift(content: Mapping[str, Any], low: float, high: float, group: Hashable) -> None:
    """Refuse a factor on the odds of what are no probabilities."""
    if content["factor"] is None:
        return
    first, last = (-1.0, 0.0) if content["negative"] else (0.0, 1.0)
    if low < first or high > last:
        _implausible(group, f"multiplies odds of scores from {low:g} to {high:g}, which are not probabilities")


def _check_order(
    values: NDArray[np.float64], below: str, width: float, group: Hashable, *, anywhere: bool = False
) -> None:
    with np.errstate(over="ignore"):
        falls = np.flatnonzero(np.diff(values) < -_ROUND_OFF * width)
    if anywhere:
        falls = falls[1:]
    elif below == "identity":
        falls = falls[falls > 0]
    if len(falls):
        _implausible(group, f"turns the order of the scores round: its values fall {len(falls)} times")


def _check_reach(values: NDArray[np.float64], low: float, high: float, width: float, group: Hashable) -> None:
    if len(values) == 0:
        return
    least, most = float(values.min()), float(values.max())
    if least < low - width or most > high + width:
        reach = f"leads to scores from {least:g} to {most:g}"
        _implausible(group, f"{reach}, far outside the fitted range, {low:g} to {high:g}")


def _implausible(group: Hashable, what: str) -> NoReturn:
    raise ModelFileError(
        f"the map of group {shown(group)} {what}.\n"
        "Hint: no fit gives such a map; the file was made or changed by other means. Fit and save the model again."
    )
