"""MapFile: the one record of a map file. msgspec checks files against its types, and its JSON Schema is made from them.

What types cannot say is in ``content.py``: lists that agree, maps that a fit can give.
"""

from __future__ import annotations

import re
import reprlib
import sys
from collections.abc import Sequence
from typing import Annotated, Any, Literal, NoReturn

import msgspec
import numpy as np
from msgspec import UNSET, Meta, Struct, UnsetType

from fairpot.exceptions import ModelFileError
from fairpot.transport import ScoreMap, ShiftMap

FORMAT, SCHEMA_VERSION = "fairpot-model", 2
MOST_KNOTS, _MOST_GROUPS, _MOST_ENTRIES = 20_000_000, 10_000, 100_000
_LARGEST = sys.float_info.max
Object = dict[str, Any]  # an object of a map file, whose form one of the types below describes
# Falls smaller than this share of the fitted range are round-off.
_ROUND_OFF = 1e-9

Real = Annotated[float, Meta(ge=-_LARGEST, le=_LARGEST)]  # an infinite one is above the largest
# Whole numbers stay what they are, so that a file that is read is written again as the same bytes.
Number = int | Real
Count = Annotated[int, Meta(ge=0)] | Annotated[float, Meta(ge=0, le=_LARGEST)]
Whole = Annotated[int, Meta(ge=0)]
Share = Annotated[int, Meta(ge=0, le=1)] | Annotated[float, Meta(ge=0, le=1)]
Top = Annotated[int, Meta(ge=1)] | Annotated[float, Meta(gt=0, le=1)]  # so many rows, or a share
Text = Annotated[str, Meta(max_length=10_000)]
_HEX, _TIME = "^[0-9a-f]{64}$", r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\+00:00$"
Sha256 = Annotated[str, Meta(pattern=_HEX, max_length=64)]
Time = Annotated[str, Meta(pattern=_TIME, max_length=25)]
Range = Annotated[list[Number], Meta(min_length=2, max_length=2)]
Numbers = Annotated[list[Real], Meta(max_length=MOST_KNOTS)]
Group = Text | Number | bool
Scalar = Text | Number | bool | None
Edge = Literal["identity", "hold"]


class Form(Struct, forbid_unknown_fields=True):
    """An object of a map file: it has these keys and no others."""


class NumberOfGroup(Form):
    """A group's number."""

    group: Group
    value: Number


class ScalarOfGroup(Form):
    """A group's value of a parameter."""

    group: Group
    value: Scalar


NumbersByGroup = Annotated[list[NumberOfGroup], Meta(max_length=_MOST_GROUPS)]


class Strengths(Form):
    """A repair strength of each group."""

    by_group: NumbersByGroup


class Values(Form):
    """A parameter of each group."""

    by_group: Annotated[list[ScalarOfGroup], Meta(max_length=_MOST_GROUPS)]


class Dial(Form):
    """The name of the repair strength and its value, given or chosen in ``fit``."""

    name: Text
    value: Number | Strengths


class Lines(Form):
    """Straight between the knots; outside, scores stay (identity) or take the edge's value (hold).

    Nothing above the first knot is mapped below ``floor``; scores below ``start`` stay.
    """

    knots: Numbers
    values: Numbers
    below: Edge
    above: Edge
    floor: Real | None
    start: Real | None

    def check(self, where: str) -> None:
        """Refuse knots that do not ascend, or have no value each."""
        check_ascending(self.knots, f"{where}.knots")
        if len(self.knots) != len(self.values):
            refuse(where, "of one value for each breakpoint", (len(self.knots), len(self.values)))

    def fault(self, low: float, high: float, *, on_grid: bool) -> str | None:
        """Say why no fit to scores from ``low`` to ``high`` gives such a map, if so.

        A fit keeps the order of a group's scores, but for one place: FairPOT may step down where the moved part begins;
        on a grid, over as many scores as lie on the step. Of scores that are all probabilities it makes probabilities,
        or scores no further outside the fitted range than that is wide. Other scores may be led anywhere, by
        OptimalMerge's odds and by shifts of any size.
        """
        if not self.values:
            return None
        values = np.array(self.values)
        with np.errstate(over="ignore"):
            steps, width = np.diff(values), float(np.float64(high) - low) or 1.0
        falls = np.flatnonzero(steps < -_ROUND_OFF * width)
        if on_grid:
            falls = falls[1:] if len(falls) and (steps[falls[0] : falls[-1]] > 0).any() else falls[:0]
        elif self.below == "identity":
            falls = falls[falls > 0]
        if len(falls):
            return f"turns the order of the scores round: its values fall {len(falls)} times"
        least, most = float(values.min()), float(values.max())
        probabilities = low >= 0 and high <= 1
        if probabilities and (least < min(low - width, 0.0) or most > max(high + width, 1.0)):
            return f"leads to scores from {least:g} to {most:g}, far outside the fitted range, {low:g} to {high:g}"
        return None


class Piecewise(Lines, tag="piecewise", tag_field="kind"):
    """A piecewise linear map."""


class Then(Lines):
    """The map that follows those of all groups, in a second step, and makes probabilities of their scores."""

    kind: Literal["piecewise"]


class Shift(Form, tag="shift", tag_field="kind"):
    """Probabilities have their odds multiplied by ``factor``; other scores (factor is null) have ``added`` added.

    With ``negative`` it is the map of scores with a minus, score -> -m(-score).
    """

    factor: Annotated[float, Meta(gt=0, le=_LARGEST)] | None
    added: Real
    negative: bool

    def check(self, where: str) -> None:
        """Refuse a factor and a number that is added, both in one."""
        if self.factor is not None and self.added != 0:
            refuse(f"{where}.added", "0 where there is a factor", self.added)

    def fault(self, low: float, high: float, *, on_grid: bool) -> str | None:
        """Say why no fit to scores from ``low`` to ``high`` gives such a map, if so."""
        first, last = (-1.0, 0.0) if self.negative else (0.0, 1.0)
        if self.factor is None or (low >= first and high <= last):
            return None
        return f"multiplies odds of scores from {low:g} to {high:g}, which are not probabilities"


MapForm = Piecewise | Shift
# The forms of maps, and the classes of the maps themselves, whose ``to_dict`` gives their fields.
KINDS: dict[type[Any], type[ScoreMap]] = {Piecewise: ScoreMap, Then: ScoreMap, Shift: ShiftMap}


def map_of(form: MapForm | Then) -> ScoreMap:
    """Make the map that a form describes."""
    try:
        with np.errstate(all="ignore"):  # numbers near the end of the range overflow where they are compared
            return KINDS[type(form)](**{name: getattr(form, name) for name in form.__struct_fields__ if name != "kind"})
    except ValueError as error:
        raise ModelFileError(f"a map is not one: {error}\nHint: fit and save the model again.") from error


def form_of(score_map: ScoreMap) -> MapForm:
    """Return the form of a map, with the knots it needs."""
    for form, kind in KINDS.items():
        if type(score_map) is kind:
            made: MapForm = form(**score_map.compact().to_dict())
            return made
    raise ModelFileError(f"a map of type {type(score_map).__name__} has no form in a map file.")


class MapOfGroup(Form):
    """A group's map."""

    group: Group
    map: MapForm


class RowByRow(Form):
    """Nothing is needed beyond the maps."""

    kind: Literal["maps"]


class Counts(Form):
    """What is known of a group's rows; null where it depends on fewer than ``fewer_than`` of them."""

    rows: Count | None
    positives: Count | None
    negatives: Count | None
    scores: Whole | None
    score_range: Range | None


class CountsOfGroup(Form):
    """A group's counts."""

    group: Group
    counts: Counts


class FittedOn(Form):
    """What is known of the fitted rows."""

    groups: Annotated[list[CountsOfGroup], Meta(max_length=_MOST_GROUPS)]
    fewer_than: Count
    fingerprint: Sha256 | None
    labelled: bool
    library_version: Text
    rows: Count | None
    score_range: Range
    time: Time | None


class Columns(Form):
    """What the columns were called; whether a low score means high risk, what a high one does to a person."""

    score: Text
    group: Annotated[list[Text], Meta(min_length=1, max_length=_MOST_ENTRIES)]
    lower_is_riskier: bool | UnsetType = UNSET
    high_score_means: Literal["help", "harm"] | UnsetType = UNSET


class BandsOfColumn(Form):
    """The bands of a group column: names of those below the first edge, between two, and from the last on."""

    column: Text
    edges: Annotated[list[Number], Meta(min_length=1, max_length=_MOST_ENTRIES)]
    names: Annotated[list[Text], Meta(min_length=2, max_length=_MOST_ENTRIES)]


class GroupingSaid(Form):
    """How values of the group columns become groups: bands, missing ones as a group, values that mean unknown."""

    bands: Annotated[list[BandsOfColumn], Meta(max_length=_MOST_ENTRIES)]
    missing: bool
    unknown: Annotated[list[Text], Meta(max_length=_MOST_ENTRIES)]


class Interval(Form):
    """A number with its standard error and its limits at a level."""

    estimate: Number
    se: Number
    low: Number
    high: Number
    level: Number
    method: Text
    signed: Number | None
    groups: Annotated[list[Group], Meta(max_length=_MOST_ENTRIES)] | None
    reason: Text | None
    note: Text | None


class Certificate(Form):
    """What the gap was certified to be within, with which confidence, how and on which rows."""

    bound: Share
    confidence: Share
    how: Literal["walk", "step-down", "map"]
    rows: Text
    gap: Interval
    auc: Interval
    gap_before: Interval
    auc_before: Interval
    limit: Share | UnsetType = UNSET
    top: Top | UnsetType | None = UNSET
    top_of: Literal["all", "group"] | UnsetType | None = UNSET
    starts: NumbersByGroup | UnsetType = UNSET
    adjusted: bool | UnsetType = UNSET


class Private(Form):
    """By how much adjusted scores may differ from those of the full maps; what numbers are multiples of."""

    largest_error: Count
    step: Count


class Simplified(Form):
    """What it changes that maps of very many knots were simplified."""

    largest_error: Count
    knots_before: Whole
    knots: Whole
    auc_change: Number | None
    gap_change: Number | None


class MapFile(Form):
    """A map file: one map from scores to scores for each group."""

    format: Literal["fairpot-model"]
    schema_version: Literal[2]
    checksum: Sha256
    method: Text
    parameters: dict[Text, Scalar | Annotated[list[Scalar], Meta(max_length=_MOST_ENTRIES)] | Values]
    dial: Dial
    maps: Annotated[list[MapOfGroup], Meta(min_length=1, max_length=_MOST_GROUPS)]
    reference: Group | None
    thresholds: NumbersByGroup | None
    apply: RowByRow
    fitted_on: FittedOn
    columns: Columns | None
    certificate: Certificate | UnsetType = UNSET
    private: Private | UnsetType = UNSET
    simplified: Simplified | UnsetType = UNSET
    then: Then | UnsetType = UNSET
    grouping: GroupingSaid | UnsetType = UNSET

    @property
    def groups(self) -> tuple[Any, ...]:
        """Names of the groups."""
        return tuple(each.group for each in self.maps)

    @property
    def strength(self) -> tuple[str, Any]:
        """The name of the repair strength and its value, a dict where groups have their own."""
        return self.dial.name, by_group(self.dial.value)

    @property
    def given(self) -> dict[str, Any]:
        """What the method was given."""
        return {name: by_group(value) for name, value in self.parameters.items()}

    @property
    def starts(self) -> dict[Any, float] | None:
        """The lowest score of the fitted top, by group."""
        return None if self.thresholds is None else {each.group: float(each.value) for each in self.thresholds}

    @property
    def on_grid(self) -> bool:
        """Whether the maps are tables that stay on a grid of scores; earlier versions called that ``keep_grid``."""
        return self.parameters.get("keep") == "grid" or bool(self.parameters.get("keep_grid"))

    def to_json(self) -> Object:
        """Give the record as lists, objects, texts and numbers, ready for JSON."""
        made: Object = msgspec.to_builtins(self)
        return made

    def plain(self, name: str) -> Any:
        """Give a part in the same way; None where there is none."""
        part = getattr(self, name)
        return None if part is UNSET else msgspec.to_builtins(part)


# The parts that a file may lack.
OPTIONAL = tuple(field.name for field in msgspec.structs.fields(MapFile) if not field.required)


def by_group(value: Any) -> Any:
    """Give values of groups as a dict, where groups have their own."""
    return {each.group: each.value for each in value.by_group} if isinstance(value, Strengths | Values) else value


def typed(value: Any) -> MapFile:
    """Make the record of what has the form of a map file, and refuse all else."""
    try:
        return msgspec.convert(value, MapFile)
    except msgspec.ValidationError as error:
        _refuse(str(error))
    except RecursionError:
        raise ModelFileError(f"the file is nested too deeply.\n{CHANGED}") from None


CHANGED = "Hint: the file was changed or cut after it was written; fit and save the model again."


def refuse(where: str, rule: str, got: Any, hint: str = CHANGED) -> NoReturn:
    """Raise, naming the place, the rule and what stands there."""
    raise ModelFileError(f"{where} must be {rule}, got {shown(got)}.\n{hint}")


def check_ascending(knots: Sequence[float], where: str) -> None:
    """Refuse numbers that do not ascend strictly."""
    numbers = np.array(knots, dtype=np.float64)
    wrong = np.flatnonzero(numbers[1:] <= numbers[:-1])
    if len(wrong):
        refuse(where, "strictly increasing", numbers[wrong[0] : wrong[0] + 2].tolist())


def shown(value: Any, most: int = 80) -> str:
    """Show a value of any size in one short line."""
    try:
        text = reprlib.repr(value)
    except ValueError:  # whole numbers of thousands of digits have no text
        text = f"{type(value).__name__} too long to show"
    return text if len(text) <= most else text[:most] + "..."


_FAULT = re.compile(r"(?P<what>.*?)(?: - at `(?:key` in `)?\$?(?P<path>.*)`)?", re.DOTALL)
_WORDS = {
    "bool | float | str | null": "text, a number, true or false, or null",
    "bool | float | str": "text, a number, true or false",
    "str": "text",
    "float": "a number",
    "int": "a whole number",
    "bool": "true or false",
    "null": "null",
    "array": "a list",
    "object": "an object",
}
_SAID = {
    "Expected": "must be",
    "Object missing": "lacks the",
    "Object contains": "has an",
    "Invalid enum value": "has an invalid value",
    "Invalid value": "has an invalid value",
}
_PATTERNS = {_HEX: "must be 64 hexadecimal digits", _TIME: "must be a time such as 2025-01-31T12:00:00+00:00"}
_FINITE = "must be a finite number", "Hint: NaN and infinity have no place in a model; look at the fit."
_NEWER = "Hint: load it with the fairpot that wrote it, or fit and save the model again."
_GROUPS = "Hint: turn other group columns (dates, tuples, ...) into text before fit."
_LONGEST = 200


def _refuse(message: str) -> NoReturn:
    """Say what msgspec found in our words: the place, the rule, and what is there instead."""
    found = _FAULT.fullmatch(message)
    assert found is not None
    where = (found["path"] or "").removeprefix(".") or "the file"
    what = re.sub("`([^`]*)`", lambda each: _in_words(each[1]), found["what"])
    what = re.sub(f"^({'|'.join(_SAID)})", lambda each: _SAID[each[1]], what)
    hint = _NEWER if "unknown field" in what else _GROUPS if where.endswith(("group", "reference")) else CHANGED
    what = next((rule for pattern, rule in _PATTERNS.items() if repr(pattern) in what), what)
    what = what.replace("a whole number >=", "a number >=")  # a bound of both kinds of numbers
    if str(_LARGEST) in what or what == "Number out of range":
        what, hint = _FINITE
    raise ModelFileError(f"{where} {ascii(what)[1:-1][:_LONGEST]}.\n{hint}")


def _in_words(kinds: str) -> str:
    """Call types what people call them."""
    every = kinds.split(" | ")
    plain = [kind for kind in every if kind != "int" or "float" not in every]
    return _WORDS.get(" | ".join(plain)) or " or ".join(_WORDS.get(kind, kind) for kind in plain)


def schema() -> Object:
    """Return the JSON Schema (draft 2020-12) of map files.

    Examples
    --------
    >>> from fairpot import modelfile
    >>> modelfile.schema()["properties"]["schema_version"]
    {'enum': [2]}
    """
    made = msgspec.json.schema(MapFile)
    root = made["$defs"].pop("MapFile")
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "urn:fairpot:model-file:2"}
    return head | root | {"$defs": made["$defs"]}
