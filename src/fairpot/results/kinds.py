"""What the fields of results are, and one walker that renames, writes and lists them by that.

A result is a frozen dataclass. The type of a field says what it is: a group, a score, a share, a count, an estimate, a
record, a tuple of those, or one of them or None. Nothing is known by its name.
"""

from __future__ import annotations

import dataclasses
import itertools
import types
import typing
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cache, cached_property
from typing import Annotated, Any, Literal, NamedTuple, Self, TypeVar, get_args, get_origin

from fairpot.inference.limits import Estimate
from fairpot.words import name_of

Group = Annotated[Hashable, "group"]
Score = Annotated[float, "score"]  # on the scale of the rows' own scores
Range = Annotated[tuple[float, float], "range"]
Share = Annotated[float, "share"]
Count = Annotated[float, "count"]  # weights may make it a fraction

# Plain values, ready for JSON or for a row of a frame; and a JSON Schema.
Plain = dict[str, Any]
Schema = dict[str, Any]
# Fields that are written as those of the record they stand in, and fields that are not written.
INLINE, HIDDEN = "inline", "hidden"
_Tree = TypeVar("_Tree")
# There wherever two groups have rows of either outcome; None else. To a type checker it is there: scripts need no cast.
if typing.TYPE_CHECKING:
    Known: typing.TypeAlias = _Tree | Any
else:
    Known = typing.Optional
_LEAVES = ("group", "score", "range", "share", "count")


class Kind(NamedTuple):
    """What a field is, and what it is made of: a type, or a type for each place."""

    name: str
    inner: Any = None


@cache
def kind_of(hint: Any) -> Kind:
    """Read a type."""
    origin = get_origin(hint)
    if origin is Annotated:
        mark = hint.__metadata__[0]
        return Kind(mark) if mark in _LEAVES else Kind(mark, get_args(hint)[0])
    if origin in (types.UnionType, typing.Union):
        return Kind("maybe", next(each for each in get_args(hint) if each is not type(None)))
    if origin is tuple:
        parts = get_args(hint)
        return Kind("many", parts[0]) if parts[-1] is Ellipsis else Kind("each", parts)
    if hint is Estimate:
        return Kind("estimate")
    if hasattr(hint, "to_dict") and not hasattr(hint, "derived"):
        return Kind("own", hint)  # it writes itself
    return Kind("record", hint) if dataclasses.is_dataclass(hint) else Kind("plain", hint)


@cache
def fields_of(cls: Any) -> dict[str, Any]:
    """Give the fields of a record with their types: what is derived from others first, as ``derived`` lists it."""
    hints = typing.get_type_hints(cls, include_extras=True)
    own = {each.name: hints[each.name] for each in dataclasses.fields(cls)}
    return {**getattr(cls, "derived", {}), **own}


def _fields(record: Any) -> Iterable[tuple[str, Any]]:
    cls: Any = type(record)
    return fields_of(cls).items()


def renamed(tree: _Tree, name: Callable[[Any], Any]) -> _Tree:
    """Call the groups of a record by other names, wherever they stand."""

    def again(value: Any, hint: Any) -> Any:
        kind = kind_of(hint)
        if value is None:
            return None
        if kind.name == "group":
            return name(value)
        if kind.name in ("maybe", INLINE):
            return again(value, kind.inner)
        if kind.name in ("many", "each"):
            return tuple(again(each, part) for each, part in _parts(value, kind))
        if kind.name in ("own", "estimate") and hasattr(value, "renamed"):
            return value.renamed(name)
        if kind.name == "record":
            hints = typing.get_type_hints(type(value), include_extras=True)
            own = [each.name for each in dataclasses.fields(value) if each.init]
            return dataclasses.replace(value, **{each: again(getattr(value, each), hints[each]) for each in own})
        return value

    found: _Tree = again(tree, type(tree))
    return found


def _parts(value: Any, kind: Kind) -> Iterable[tuple[Any, Any]]:
    """Give the values of a tuple with the type of each."""
    return zip(value, kind.inner if kind.name == "each" else itertools.repeat(kind.inner))


def to_dict(tree: Any) -> Plain:
    """Write a record as plain values, ready for JSON; what is not a number is None."""
    found: Plain = {}
    for name, hint in _fields(tree):
        found |= _written(name, getattr(tree, name), hint)
    return found


def _written(name: str, value: Any, hint: Any) -> Plain:
    """Write one field: an estimate as a number with its limits beside it."""
    kind = kind_of(hint)
    if kind.name == "maybe":
        if value is None and kind_of(kind.inner).name == "estimate":
            return dict.fromkeys((name, *(f"{name}_{end}" for end in ENDS)))
        return {name: None} if value is None else _written(name, value, kind.inner)
    if kind.name == HIDDEN:
        return {}
    if kind.name == INLINE:
        return to_dict(value)
    if kind.name == "estimate":
        known = {name: number(value), **{f"{name}_{end}": number(getattr(value, end)) for end in ENDS}}
        return known if value.reason is None else known | {f"{name}_reason": value.reason}
    return {name: plain(value, hint)}


# What is written beside an estimate: its limits and its standard error.
ENDS = ("low", "high", "se")


def plain(value: Any, hint: Any) -> Any:
    """Write a value that stands by itself or in a list."""
    kind = kind_of(hint)
    if value is None:
        return None
    if kind.name in ("maybe", INLINE):
        return plain(value, kind.inner)
    if kind.name in ("many", "each"):
        return [plain(each, part) for each, part in _parts(value, kind)]
    if kind.name == "record":
        return to_dict(value)
    if kind.name in ("own", "estimate"):
        return value.to_dict()
    return [number(each) for each in value] if kind.name == "range" else number(value)


def number(value: Any) -> Any:
    """Give a plain number, text or name; None for NaN, and a text for a group that JSON does not know."""
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float):
        return None if value != value else float(value)
    return value if value is None or isinstance(value, str | int | bool | Mapping) else str(value)


def rows_of(records: Iterable[Any], columns: Sequence[str] | None = None) -> list[Plain]:
    """List records as the rows of a frame: an estimate as three columns, without records and lists inside."""
    found = []
    for record in records:
        row: Plain = {}
        for name, hint in _fields(record):
            row |= _cells(name, getattr(record, name), hint)
        found.append(row)
    if columns is None:
        return found
    wanted = [name for name in columns if found and name in found[0]]
    ends = ("", "_low", "_high")
    return [{f"{n}{end}": row[f"{n}{end}"] for n in wanted for end in ends if f"{n}{end}" in row} for row in found]


def _cells(name: str, value: Any, hint: Any) -> Plain:
    kind = kind_of(hint)
    if kind.name == "maybe":
        kind = kind_of(kind.inner)
    if kind.name == "estimate":
        return {name: value, **{f"{name}_{end}": number(getattr(value, end, None)) for end in ENDS[:2]}}
    if kind.name == "range":
        low, high = (None, None) if value is None else value
        return {f"{name}_low": low, f"{name}_high": high}
    return {name: value} if kind.name in ("group", "score", "share", "count", "plain") else {}


_NULLABLE = {"type": ["number", "null"]}
_JSON: dict[Any, Schema] = {
    "group": {"type": ["string", "number", "boolean", "null"]},
    "score": _NULLABLE,
    "share": _NULLABLE,
    "count": _NULLABLE,
    "range": {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2},
    str: {"type": "string"},
    int: {"type": "integer"},
    float: _NULLABLE,
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    Mapping[str, Any]: {"type": "object"},
}


def schema_of(cls: type, defs: Schema) -> Schema:
    """Describe how a record is written, as JSON Schema (draft 2020-12); records inside it go into ``defs``."""
    if cls.__name__ not in defs:
        defs[cls.__name__] = {}  # before its fields: a record may hold itself
        known: Schema = {}
        optional: set[str] = set()
        for name, hint in fields_of(cls).items():
            _describe(name, hint, known, optional, defs)
        needed = [name for name in known if name not in optional]
        record = {"type": "object", "description": (cls.__doc__ or "").split("\n")[0], "properties": known}
        defs[cls.__name__] = record | {"required": needed, "additionalProperties": False}
    return {"$ref": f"#/$defs/{cls.__name__}"}


def _describe(name: str, hint: Any, known: Schema, optional: set[str], defs: Schema) -> None:
    """Describe one field, in as many keys as it is written."""
    kind = kind_of(hint)
    inner = kind_of(kind.inner) if kind.name == "maybe" else kind
    if inner.name == HIDDEN:
        return
    if inner.name == INLINE:
        for each, part in fields_of(inner.inner).items():
            _describe(each, part, known, optional, defs)
    elif inner.name == "estimate":
        known |= dict.fromkeys((name, *(f"{name}_{end}" for end in ENDS)), _NULLABLE)
        known[f"{name}_reason"] = {"type": "string"}
        optional.add(f"{name}_reason")
    else:
        known[name] = schema_of_value(hint, defs)


def schema_of_value(hint: Any, defs: Schema) -> Schema:
    """Describe how a value of a type is written; records inside it go into ``defs``."""
    kind = kind_of(hint)
    if kind.name == "maybe":
        inner = schema_of_value(kind.inner, defs)
        if isinstance(inner.get("type"), str):
            return inner | {"type": [inner["type"], "null"]}
        return inner if "null" in inner.get("type", ()) else {"anyOf": [inner, {"type": "null"}]}
    if kind.name == "many":
        return {"type": "array", "items": schema_of_value(kind.inner, defs)}
    if kind.name == "each":
        return {"type": "array", "prefixItems": [schema_of_value(each, defs) for each in kind.inner], "items": False}
    if kind.name == "record":
        return schema_of(kind.inner, defs)
    if kind.name == "estimate":
        return {"$ref": "#/$defs/estimate"}
    if kind.name == "own":
        return {"$ref": f"#/$defs/{kind.inner.__name__}"}
    if get_origin(kind.inner) is Literal:
        return {"enum": list(get_args(kind.inner))}
    return _JSON.get(kind.inner if kind.name == "plain" else kind.name, {})


Derived = Mapping[str, Any]


class Told:
    """A result that people read: it writes itself as plain values, and its groups can have other names."""

    def to_dict(self) -> Plain:
        """Return all numbers as plain values, ready for JSON: each with its limits beside it."""
        return to_dict(self)

    def named(self, name: Callable[[Any], Any]) -> Self:
        """Call the groups by other names, for people.

        Parameters
        ----------
        name : function of a group
            Gives its other name.
        """
        return renamed(self, name)

    def _columns(self) -> Sequence[str]:
        return ()

    @cached_property
    def spoken(self) -> Self:
        """The same, with the groups called as sentences call them."""
        columns = self._columns()
        return self.named(lambda group: name_of(group, columns)) if columns else self
