"""ModelFile: the content of a map file as plain values, its way to JSON and back, and what a fit can give."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from fairpot._validation.groups import sort_key
from fairpot.exceptions import ModelFileError
from fairpot.modelfile.forms import CHANGED, MOST_KNOTS, SCHEMA_VERSION, FittedOn1, Sigmoid1, check, refuse, shown
from fairpot.modelfile.origin import FEWER_THAN, plain_group
from fairpot.rows.decoding import readings

# Absent from a file where they are None.
_OPTIONAL = ("certificate", "private", "simplified", "then")
# Falls smaller than this share of the fitted range are round-off.
_ROUND_OFF = 1e-9


@dataclass(frozen=True)
class ModelFile:
    """Hold what a map file holds, as plain values; where groups have their own, as a dict of group to value."""

    method: str
    parameters: dict[str, Any]  # what the method was given
    dial: tuple[str, Any]  # the name of the repair strength and its value, given or chosen in fit
    maps: dict[Hashable, dict[str, Any]]  # of each group: a "kind" (piecewise, sigmoid, shift) and its fields
    reference: Hashable | None  # the group whose scores do not change
    thresholds: dict[Hashable, float] | None  # the lowest score of the fitted top
    apply: dict[str, Any]  # {"kind": "maps"}; files of 0.2 may need all rows that are transformed
    fitted_on: dict[str, Any]  # see describe_table
    columns: dict[str, Any] | None = None  # "score", "group" and what was said of the rows
    certificate: dict[str, Any] | None = None
    private: dict[str, Any] | None = None  # "largest_error" and "step" of maps that are simplified and rounded
    then: dict[str, Any] | None = None  # the map that follows all others and makes probabilities of their scores
    simplified: dict[str, Any] | None = None  # what it changes that maps of very many knots were simplified

    @property
    def groups(self) -> tuple[Hashable, ...]:
        """Names of the groups."""
        return tuple(self.maps)

    @property
    def on_grid(self) -> bool:
        """Whether the maps are tables that stay on a grid of scores; earlier versions called that ``keep_grid``."""
        return self.parameters.get("keep") == "grid" or bool(self.parameters.get("keep_grid"))

    def to_json(self) -> dict[str, Any]:
        """Return lists, objects, texts and numbers, ready for JSON."""
        _check_told_apart(self.maps)
        name, value = self.dial
        return {
            "method": self.method,
            "parameters": {key: _encode(given, f"parameters.{key}") for key, given in self.parameters.items()},
            "dial": {"name": name, "value": _encode(value, "dial.value")},
            "maps": _listed(self.maps, "map"),
            "reference": plain_group(self.reference),
            "thresholds": None if self.thresholds is None else _listed(self.thresholds, "value"),
            "apply": self.apply,
            "fitted_on": self.fitted_on,
            "columns": self.columns,
            **{key: getattr(self, key) for key in _OPTIONAL if getattr(self, key) is not None},
        }

    @classmethod
    def from_json(cls, content: Any) -> ModelFile:
        """Check a parsed file; but for the checksum, anything that is not as :meth:`to_json` makes it is refused."""
        check(content)
        maps = _by_group(content["maps"], "maps", "map")
        _check_told_apart(maps)
        _check_origin(content["fitted_on"], maps)
        reference, thresholds = content["reference"], content["thresholds"]
        if reference is not None and _typed(reference) not in map(_typed, maps):
            refuse("reference", "one of the groups, or null", reference)
        if thresholds is not None:
            found = _by_group(thresholds, "thresholds", "value", maps)
            thresholds = {group: float(value) for group, value in found.items()}
        model = cls(
            method=content["method"],
            parameters={
                name: _decode(value, f"parameters[{name!r:.80}]") for name, value in content["parameters"].items()
            },
            dial=(content["dial"]["name"], _decode(content["dial"]["value"], "dial.value")),
            maps={group: _map(each, f"maps[{i}].map") for i, (group, each) in enumerate(maps.items())},
            reference=reference,
            thresholds=thresholds,
            apply=content["apply"],
            fitted_on=content["fitted_on"],
            columns=content["columns"],
            **{key: content.get(key) for key in _OPTIONAL},
        )
        knots = sum(len(each.get("knots", ())) for each in model.maps.values())
        if knots > MOST_KNOTS:
            hint = "Hint: fit and save again; maps of so many are simplified."
            refuse("maps", f"of at most {MOST_KNOTS} breakpoints together", knots, hint)
        _check_plausible(model)
        if model.then is not None:
            model = replace(model, then=_map(model.then, "then"))
            _check_then(model.then, private=model.private is not None)
        return model


def _encode(value: Any, where: str) -> Any:
    """Turn a parameter into JSON; a dict of groups becomes a list, so that groups keep their types."""
    value = plain_group(value)
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, Mapping):
        plain = {plain_group(group): _encode(each, where) for group, each in value.items()}
        return {"by_group": _listed({group: plain[group] for group in sorted(plain, key=sort_key)}, "value")}
    column = np.asarray(value)
    if column.ndim != 1 or isinstance(value, bytes):
        raise ModelFileError(
            f"{where} cannot be put into a map file: {shown(value)} is {type(value).__name__}.\n"
            "Hint: use text, numbers, booleans, lists of them, or a dict of groups."
        )
    return [plain_group(each) for each in column.tolist()]


def _decode(value: Any, where: str) -> Any:
    return _by_group(value["by_group"], where, "value") if isinstance(value, dict) else value


def _listed(values: Mapping[Hashable, Any], key: str) -> list[dict[str, Any]]:
    return [{"group": plain_group(group), key: value} for group, value in values.items()]


def _by_group(
    entries: list[dict[str, Any]], where: str, key: str, groups: Collection[Hashable] | None = None
) -> dict[Hashable, Any]:
    """Undo :func:`_listed`; no group may come twice. Exactly ``groups`` must be there, if given, in this order."""
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


def from_version_1(content: dict[str, Any]) -> dict[str, Any]:
    """Drop what version 1 put down and this one does not: the hash of the data, and the knots of sigmoids.

    Only what is dropped is checked here.
    """
    changed: dict[str, Any] = {"schema_version": SCHEMA_VERSION}
    if "fitted_on" in content:
        check(content["fitted_on"], FittedOn1, "fitted_on")
        kept = {key: value for key, value in content["fitted_on"].items() if key != "table_sha256"}
        changed["fitted_on"] = kept | {"fewer_than": FEWER_THAN, "fingerprint": None}
    if isinstance(content.get("maps"), list):
        changed["maps"] = [_without_knots(entry, place) for place, entry in enumerate(content["maps"])]
    return content | changed


def _without_knots(entry: Any, place: int) -> Any:
    found = entry.get("map") if isinstance(entry, dict) else None
    if not isinstance(found, dict) or found.get("kind") != "sigmoid":
        return entry
    check(found, Sigmoid1, f"maps[{place}].map")
    _check_ascending(np.array(found["knots"], dtype=np.float64), f"maps[{place}].map.knots")
    return entry | {"map": {key: value for key, value in found.items() if key != "knots"}}


def _map(content: dict[str, Any], where: str) -> dict[str, Any]:
    """Turn whole numbers into floats; check that knots ascend and that each has a value."""
    if content["kind"] == "sigmoid":
        return content | {name: float(content[name]) for name in ("alpha", "beta")}
    if content["kind"] == "shift":
        factor = content["factor"]
        if factor is not None and content["added"] != 0:
            refuse(f"{where}.added", "0 where there is a factor", content["added"])
        return content | {"factor": None if factor is None else float(factor), "added": float(content["added"])}
    knots, values = (np.array(content[name], dtype=np.float64) for name in ("knots", "values"))
    _check_ascending(knots, f"{where}.knots")
    if len(knots) != len(values):
        refuse(where, "of one value for each breakpoint", (len(knots), len(values)))
    bounds = {name: None if content[name] is None else float(content[name]) for name in ("floor", "start")}
    return content | bounds | {"knots": knots.tolist(), "values": values.tolist()}


def _check_ascending(knots: NDArray[np.float64], where: str) -> None:
    wrong = np.flatnonzero(knots[1:] <= knots[:-1])
    if len(wrong):
        refuse(where, "strictly increasing", knots[wrong[0] : wrong[0] + 2].tolist())


def _check_told_apart(groups: Collection[Hashable]) -> None:
    """Refuse a text and another group that reads the same in a file of text, where it would get the other's map."""
    others = {group for group in groups if not isinstance(group, str)}
    for text in groups:
        alike = others.intersection(readings(text, "text")) if isinstance(text, str) else ()
        for other in alike:
            raise ModelFileError(
                f"maps has the groups {shown(text)} and {shown(other)}, which a CSV file cannot tell apart.\n"
                "Hint: fit and save the model again, with group names of one type."
            )


def _check_origin(origin: Mapping[str, Any], groups: Collection[Hashable]) -> None:
    """Check that the parts of ``fitted_on`` go together: null is what rests on few people, and only that."""
    for i, counts in enumerate(_by_group(origin["groups"], "fitted_on.groups", "counts", groups).values()):
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


def _check_plausible(model: ModelFile) -> None:
    """Refuse maps that turn the order of a group round, or lead far away from the fitted scores.

    Every method keeps the order of a group's scores, but for one place: FairPOT may step down where the moved part
    begins; on a grid, anywhere. And but for OptimalMerge, whose odds may lead beyond scores that are no probabilities,
    and shifts of any size, new scores lie within the fitted range or not further outside than it is wide.
    """
    low, high = map(float, model.fitted_on["score_range"])
    with np.errstate(over="ignore"):
        width = float(np.float64(high) - low) or 1.0
    for group, content in model.maps.items():
        if content["kind"] == "sigmoid":
            if content["alpha"] < 0:
                _implausible(group, f"turns the order of the scores round (alpha = {content['alpha']:g})")
        elif content["kind"] == "shift":
            first, last = (-1.0, 0.0) if content["negative"] else (0.0, 1.0)
            if content["factor"] is not None and (low < first or high > last):
                told = f"multiplies odds of scores from {low:g} to {high:g}, which are not probabilities"
                _implausible(group, told)
        elif content["values"]:
            values = np.array(content["values"])
            with np.errstate(over="ignore"):
                falls = np.flatnonzero(np.diff(values) < -_ROUND_OFF * width)
            if model.on_grid and model.method == "FairPOT":
                falls = falls[1:]
            elif content["below"] == "identity":
                falls = falls[falls > 0]
            if len(falls):
                _implausible(group, f"turns the order of the scores round: its values fall {len(falls)} times")
            least, most = float(values.min()), float(values.max())
            near = least >= low - width and most <= high + width
            if not near and (model.method != "OptimalMerge" or (low >= 0 and high <= 1)):
                told = f"leads to scores from {least:g} to {most:g}, far outside the fitted range, {low:g} to {high:g}"
                _implausible(group, told)


def _implausible(group: Hashable, what: str) -> NoReturn:
    raise ModelFileError(
        f"the map of group {shown(group)} {what}.\n"
        "Hint: no fit gives such a map; the file was made or changed by other means. Fit and save the model again."
    )


def _check_then(content: Any, *, private: bool) -> None:
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
