"""ModelFile: the content of a map file, to JSON and back; what a fit can give, and what it was fitted on."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from fairpot._validation.grouping import Grouping
from fairpot._validation.groups import sort_key
from fairpot._version import __version__
from fairpot.counts import GroupCounts
from fairpot.exceptions import ModelFileError
from fairpot.modelfile.forms import CHANGED, MOST_KNOTS, Object, check, refuse, shown
from fairpot.rows.decoding import readings
from fairpot.table import ScoreTable

# What depends on fewer rows than this is not stored.
FEWER_THAN = 10
# Absent from a file where they are None.
_OPTIONAL = ("certificate", "private", "simplified", "then", "grouping")
# Falls smaller than this share of the fitted range are round-off.
_ROUND_OFF = 1e-9


@dataclass(frozen=True)
class ModelFile:
    """Hold what a map file holds, as plain values; where groups have their own, as a dict of group to value."""

    method: str
    parameters: Object  # what the method was given
    dial: tuple[str, Any]  # the name of the repair strength and its value, given or chosen in fit
    maps: dict[Hashable, Object]  # of each group: a "kind" (piecewise, shift) and its fields
    reference: Hashable | None  # the group whose scores do not change
    thresholds: dict[Hashable, float] | None  # the lowest score of the fitted top
    fitted_on: Object  # see describe_table
    columns: Object | None = None  # "score", "group" and what was said of the rows
    certificate: Object | None = None
    private: Object | None = None  # "largest_error" and "step" of maps that are simplified and rounded
    then: Object | None = None  # the map that follows all others and makes probabilities of their scores
    simplified: Object | None = None  # what it changes that maps of very many knots were simplified
    grouping: Object | None = None  # how values of the group columns become groups

    @property
    def groups(self) -> tuple[Hashable, ...]:
        """Names of the groups."""
        return tuple(self.maps)

    @property
    def grouping_of(self) -> Grouping | None:
        """How values of the group columns become groups."""
        return None if self.grouping is None else Grouping.stored(self.grouping)

    @property
    def on_grid(self) -> bool:
        """Whether the maps are tables that stay on a grid of scores; earlier versions called that ``keep_grid``."""
        return self.parameters.get("keep") == "grid" or bool(self.parameters.get("keep_grid"))

    def to_json(self) -> Object:
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
            "apply": {"kind": "maps"},
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
            fitted_on=content["fitted_on"],
            columns=content["columns"],
            **{key: content.get(key) for key in _OPTIONAL},
        )
        knots = sum(len(each.get("knots", ())) for each in model.maps.values())
        if knots > MOST_KNOTS:
            hint = "Hint: fit and save again; maps of so many are simplified."
            refuse("maps", f"of at most {MOST_KNOTS} breakpoints together", knots, hint)
        for i, each in enumerate((model.grouping or {}).get("bands", ())):
            _check_ascending(np.array(each["edges"], dtype=np.float64), f"grouping.bands[{i}].edges")
            if len(set(each["names"])) != len(each["edges"]) + 1:
                refuse(f"grouping.bands[{i}].names", "one more than there are edges, no two alike", each["names"])
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


def _listed(values: Mapping[Hashable, Any], key: str) -> list[Object]:
    return [{"group": plain_group(group), key: value} for group, value in values.items()]


def _by_group(
    entries: list[Object], where: str, key: str, groups: Collection[Hashable] | None = None
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


def _map(content: Object, where: str) -> Object:
    """Turn whole numbers into floats; check that knots ascend and that each has a value."""
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


def _check_origin(origin: Object, groups: Collection[Hashable]) -> None:
    """Check that the parts of ``fitted_on`` go together: null is what rests on few people, and only that."""
    for i, counts in enumerate(_by_group(origin["groups"], "fitted_on.groups", "counts", groups).values()):
        _check_counts(counts, f"fitted_on.groups[{i}].counts", origin["labelled"])
    _check_range(origin["score_range"], "fitted_on.score_range")
    if not origin["library_version"].isprintable():
        refuse("fitted_on.library_version", "printable", origin["library_version"])
    if origin["time"] is not None and not _is_time(origin["time"]):
        refuse("fitted_on.time", "a time such as 2025-01-31T12:00:00+00:00 or null", origin["time"])


def _check_counts(counts: Object, where: str, labelled: bool) -> None:
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

    A fit keeps the order of a group's scores, but for one place: FairPOT may step down where the moved part begins; on
    a grid, over as many scores as lie on the step. Of scores that are all probabilities it makes probabilities, or
    scores no further outside the fitted range than that is wide. Other scores may be led anywhere, by OptimalMerge's
    odds and by shifts of any size.
    """
    low, high = map(float, model.fitted_on["score_range"])
    with np.errstate(over="ignore"):
        width = float(np.float64(high) - low) or 1.0
    for group, content in model.maps.items():
        if content["kind"] == "shift":
            first, last = (-1.0, 0.0) if content["negative"] else (0.0, 1.0)
            if content["factor"] is not None and (low < first or high > last):
                told = f"multiplies odds of scores from {low:g} to {high:g}, which are not probabilities"
                _implausible(group, told)
        elif content["values"]:
            values = np.array(content["values"])
            with np.errstate(over="ignore"):
                steps = np.diff(values)
            falls = np.flatnonzero(steps < -_ROUND_OFF * width)
            if model.on_grid:
                falls = falls[1:] if len(falls) and (steps[falls[0] : falls[-1]] > 0).any() else falls[:0]
            elif content["below"] == "identity":
                falls = falls[falls > 0]
            if len(falls):
                _implausible(group, f"turns the order of the scores round: its values fall {len(falls)} times")
            least, most = float(values.min()), float(values.max())
            probabilities = low >= 0 and high <= 1
            if probabilities and (least < min(low - width, 0.0) or most > max(high + width, 1.0)):
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


def describe_table(table: ScoreTable) -> Object:
    """Describe the rows a model was fitted on, as ``fitted_on`` of a map file.

    What depends on fewer than ten rows is left out, and what it could be worked out from. A group of fewer has no
    counts and no score range; then the rows in all are left out too, as they are the sum of the groups', and the
    score range in all is rounded outwards. Where a group has fewer positives or fewer negatives, neither is put down.
    """
    counts = [_describe(c, table.labelled) for c in table.counts]
    hidden = any(each["rows"] is None for each in counts)
    ends = min(float(c.score[0]) for c in table.counts), max(float(c.score[-1]) for c in table.counts)
    return {
        "fewer_than": FEWER_THAN,
        "fingerprint": None,
        "groups": [{"group": plain_group(g), "counts": each} for g, each in zip(table.groups, counts)],
        "labelled": table.labelled,
        "library_version": __version__,
        "rows": None if hidden else sum(each["rows"] for each in counts),
        "score_range": rounded_outwards(*ends) if hidden else list(ends),
        "time": None,
    }


def describes(origin: Object, table: ScoreTable) -> bool:
    """Say whether a model's description of its rows is that of a table: as far as it goes, the same rows."""
    found = describe_table(table)
    return all(origin.get(name) == found[name] for name in ("groups", "labelled", "rows", "score_range"))


def rounded(origin: Object, coarse: ScoreTable | None) -> Object:
    """Round counts to tens, and score ranges outwards from the means of the runs at either end."""
    groups, ranges = [], []
    for group, counts in ((each["group"], each["counts"]) for each in origin["groups"]):
        made: Object = {name: _tens(value) for name, value in counts.items() if name != "score_range"}
        found = counts["score_range"] if coarse is None else coarse[group].score[[0, -1]].tolist()
        made["score_range"] = None if counts["score_range"] is None else rounded_outwards(*found)
        ranges += [] if made["score_range"] is None else [made["score_range"]]
        groups.append({"group": group, "counts": made})
    whole = [min(low for low, _ in ranges), max(high for _, high in ranges)] if ranges else origin["score_range"]
    return origin | {"groups": groups, "rows": _tens(origin["rows"]), "score_range": whole}


def _tens(value: float | None) -> int | None:
    return None if value is None else int(round(value / 10) * 10)


def rounded_outwards(low: float, high: float) -> list[float]:
    """Round a range outwards to the first digit of its width."""
    size = high - low or abs(high) or 1.0
    if not math.isfinite(size):
        return [low, high]
    step = 10.0 ** math.floor(math.log10(size))
    return [float(f"{edge * step:.12g}") for edge in (math.floor(low / step), math.ceil(high / step))]


def _describe(counts: GroupCounts, labelled: bool) -> Object:
    behind = rows_behind(counts)
    known = dict.fromkeys(("rows", "positives", "negatives", "scores", "score_range"))
    if sum(behind) < FEWER_THAN:
        return known
    positives, negatives = (side.sum().item() for side in counts.counted)
    sides = {"positives": positives, "negatives": negatives} if labelled and min(behind) >= FEWER_THAN else {}
    ends = [float(counts.score[0]), float(counts.score[-1])]
    return known | {"rows": positives + negatives, **sides, "scores": len(counts.score), "score_range": ends}


def rows_behind(counts: GroupCounts) -> tuple[int, int]:
    """Count the rows, with and without the outcome, behind counts; where rows belong together, their clusters."""
    if counts.members is not None:
        units = [np.unique(rows.unit) for rows in counts.members]
        return len(units[0]), len(np.union1d(*units)) - len(units[0])
    positives, negatives = counts.rows_at
    return int(positives.sum()), int(negatives.sum())


def plain_group(group: Any) -> Any:
    """Turn a NumPy scalar into the Python value it stands for."""
    return group.item() if isinstance(group, np.generic) else group
