"""JSON Schema (draft 2020-12), as much of it as fairpot's own schemas use, with messages for people.

Three types are narrower than the standard's, since what passes goes into a model: numbers are finite and of at most
64 bits, whole numbers are written without a point, and texts hold no half of a surrogate pair. ``title`` is what
messages say a value must be, ``x-hint`` the way out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from fairpot.exceptions import ModelFileError
from fairpot.modelfile.checks import CHANGED, shown

# How far a value got in a branch of oneOf that refused it; the fault of the branch where it got furthest is told.
_OTHER_TYPE, _OTHER_KIND, _INSIDE = range(3)
_NEWER = "Hint: load it with the fairpot that wrote it, or fit and save the model again."
_LONGEST_NAME = 80


class Fault(NamedTuple):
    """What is wrong with a value: made for every branch that is tried, put into words only if it is told."""

    got: Any
    rule: str = ""
    words: str = "must be {rule}, got {got}"
    hint: str = CHANGED
    path: tuple[str | int, ...] = ()
    reached: int = _INSIDE

    def below(self, step: str | int) -> Fault:
        """Return the fault as seen from the object or list that holds the value."""
        return self._replace(path=(step, *self.path), reached=_INSIDE)


Check = Callable[[Any], Fault | None]
ToCheck = Callable[[dict[str, Any]], Check]


class Schema:
    """A schema that is turned into checks once.

    Parameters
    ----------
    document : dict
        The schema. A keyword that has no check here is an error: a schema cannot silently stop checking.
    name : str
        What messages call the whole value.

    Examples
    --------
    >>> Schema({"type": "object", "required": ["t"], "properties": {"t": {"type": "number"}}}, "it").check({"t": "1"})
    Traceback (most recent call last):
    ...
    fairpot.exceptions.ModelFileError: t must be a number, got '1'.
    Hint: the file was changed or cut after it was written; fit and save the model again.
    """

    def __init__(self, document: dict[str, Any], name: str) -> None:
        self.document = document
        self._name = name
        self._definitions: dict[str, Check] = {}
        for each in document.get("$defs", ()):
            self._definition(f"#/$defs/{each}")
        self._root = self._compile(document)

    def check(self, value: Any, definition: str | None = None, at: tuple[str | int, ...] = ()) -> None:
        """Refuse a value that is not as the schema, or one of its definitions, says; ``at`` is where it stands."""
        fault = (self._root if definition is None else self._definitions[definition])(value)
        if fault is not None:
            where = _place((*at, *fault.path)) or self._name
            problem = fault.words.format(rule=fault.rule, got=shown(fault.got))
            raise ModelFileError(f"{where} {problem}.\n{fault.hint}")

    def _compile(self, schema: dict[str, Any]) -> Check:
        unknown = set(schema) - _ANNOTATIONS - {keyword for keyword, _ in _KEYWORDS}
        if unknown:
            raise NotImplementedError(f"no check for the JSON Schema keywords {sorted(unknown)}.\nHint: add one here.")
        checks = [make(schema[keyword], schema, self._compile) for keyword, make in _KEYWORDS if keyword in schema]
        if "$ref" in schema:
            checks.append(self._definition(schema["$ref"]))
        return checks[0] if len(checks) == 1 else _all_of(checks)

    def _definition(self, reference: str) -> Check:
        name = reference.removeprefix("#/$defs/")
        if name not in self._definitions:
            if name not in self.document.get("$defs", {}):
                raise NotImplementedError(f"no definition at {reference!r}.\nHint: write '#/$defs/...'.")
            self._definitions[name] = self._compile(self.document["$defs"][name])
        return self._definitions[name]


def _all_of(checks: list[Check]) -> Check:
    def check(value: Any) -> Fault | None:
        for each in checks:
            fault = each(value)
            if fault is not None:
                return fault
        return None

    return check


def _place(path: tuple[str | int, ...]) -> str:
    """Write a path as maps[0].map; names that are a stranger's are shortened and escaped."""
    plain = (isinstance(step, str) and step.isidentifier() and len(step) <= _LONGEST_NAME for step in path)
    return "".join(f".{step}" if ok else f"[{shown(step)}]" for ok, step in zip(plain, path)).removeprefix(".")


_TYPES: dict[str, tuple[str, tuple[type, ...]]] = {
    "string": ("text", (str,)),
    "number": ("a number", (int, float)),
    "integer": ("a whole number", (int,)),
    "boolean": ("true or false", (bool,)),
    "null": ("null", (type(None),)),
    "array": ("a list", (list,)),
    "object": ("an object", (dict,)),
}


def _type(names: str | list[str], schema: dict[str, Any], *_: Any) -> Check:
    wanted = [_TYPES[name] for name in ([names] if isinstance(names, str) else names)]
    kinds = tuple(kind for _, some in wanted for kind in some)
    rule = schema.get("title") or _either([words for words, _ in wanted])
    hint = f"Hint: {schema['x-hint']}" if "x-hint" in schema else CHANGED

    def check(value: Any) -> Fault | None:
        kind = type(value)
        if kind in kinds or (isinstance(value, kinds) and kind is not bool):
            return None if kind in (dict, list, bool) else _not_carried(value)
        return Fault(value, rule, hint=hint, reached=_OTHER_TYPE)

    return check


def _not_carried(value: Any) -> Fault | None:
    """Refuse numbers and texts that Python reads from JSON and others do not."""
    if isinstance(value, str):
        if value.isascii() or not re.search("[\ud800-\udfff]", value):
            return None
        hint = "Hint: the text holds half of a surrogate pair; repair it at its source."
        return Fault(value, "valid Unicode", hint=hint)
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return Fault(value, "a number of at most 64 bits")
    if isinstance(value, float) and not math.isfinite(value):
        hint = "Hint: NaN and infinity have no place in a model; look at the fit."
        return Fault(value, "a finite number", hint=hint)
    return None


def _either(rules: list[str]) -> str:
    return " or ".join(filter(None, (", ".join(rules[:-1]), rules[-1])))


def _same(value: Any, constant: Any) -> bool:
    """Compare as JSON does: 1 is 1.0, but not true."""
    return (type(value) is bool) == (type(constant) is bool) and bool(value == constant)


def _const(constant: Any, *_: Any) -> Check:
    return _enum([constant])


def _enum(constants: list[Any], *_: Any) -> Check:
    if any(isinstance(constant, dict | list) for constant in constants):
        raise NotImplementedError("no check for constants that are objects or lists.")
    rule = "one of " * (len(constants) > 1) + ", ".join(map(repr, constants))

    def check(value: Any) -> Fault | None:
        for constant in constants:
            if _same(value, constant):
                return None
        return Fault(value, rule)

    return check


def _pattern(pattern: str, schema: dict[str, Any], *_: Any) -> Check:
    # The standard's $ is the end of the text; Python's would let a line feed follow.
    search, rule = re.compile(re.sub(r"\$$", r"\\Z", pattern)).search, schema.get("title") or f"text like {pattern}"
    return lambda value: Fault(value, rule) if isinstance(value, str) and not search(value) else None


def _bound(rule: str, within: Callable[[Any, float], bool]) -> Callable[..., Check]:
    """Make the check of a bound; it is no concern of what is no number."""

    def make(limit: float, *_: Any) -> Check:
        words = rule.format(limit=limit)

        def check(value: Any) -> Fault | None:
            number = isinstance(value, int | float) and type(value) is not bool
            return Fault(value, words) if number and not within(value, limit) else None

        return check

    return make


def _max_length(limit: int, *_: Any) -> Check:
    rule = f"text of at most {limit} characters"
    return lambda value: Fault(value, rule) if isinstance(value, str) and len(value) > limit else None


def _entries(rule: str, within: Callable[[int, int], bool]) -> Callable[..., Check]:
    """Make the check of how long a list is."""

    def make(limit: int, *_: Any) -> Check:
        words = f"must have {rule} {limit} {'entry' if limit == 1 else 'entries'}, got {{got}}"

        def check(value: Any) -> Fault | None:
            short_or_long = isinstance(value, list) and not within(len(value), limit)
            return Fault(len(value), words=words) if short_or_long else None

        return check

    return make


def _items(item: dict[str, Any], _: Any, to_check: ToCheck) -> Check:
    check_item, numbers = to_check(item), item == {"type": "number"}

    def check(value: Any) -> Fault | None:
        if not isinstance(value, list) or (numbers and _all_finite(value)):
            return None
        for place, each in enumerate(value):
            fault = check_item(each)
            if fault is not None:
                return fault.below(place)
        return None

    return check


def _all_finite(values: list[Any]) -> bool:
    """Whether all are floats and finite; quick for millions of them."""
    return set(map(type, values)) <= {float} and all(map(math.isfinite, values))


def _kinds(properties: dict[str, Any], schema: dict[str, Any], *_: Any) -> Check:
    """Check the constants that an object must have before its other keys: they say which kind of object it is."""
    required = schema.get("required", ())
    constants = {name: each["const"] for name, each in properties.items() if "const" in each and name in required}

    def check(value: Any) -> Fault | None:
        if isinstance(value, dict):
            for name, constant in constants.items():
                if not _same(value.get(name), constant):
                    return Fault(value.get(name), repr(constant), path=(name,), reached=_OTHER_KIND)
        return None

    return check


def _additional(rest: Any, schema: dict[str, Any], to_check: ToCheck) -> Check:
    known = set(schema.get("properties", ()))
    check_rest = None if rest is False else to_check(rest)

    def check(value: Any) -> Fault | None:
        if not isinstance(value, dict) or value.keys() <= known:
            return None
        if check_rest is not None:
            return _below(value, {name: check_rest for name in value if name not in known})
        return Fault(sorted(value.keys() - known), words="has keys this version does not know: {got}", hint=_NEWER)

    return check


def _required(names: list[str], *_: Any) -> Check:
    wanted = set(names)

    def check(value: Any) -> Fault | None:
        if not isinstance(value, dict) or value.keys() >= wanted:
            return None
        return Fault(sorted(wanted - value.keys()), words="lacks the keys {got}")

    return check


def _names(name: dict[str, Any], _: Any, to_check: ToCheck) -> Check:
    check_name = to_check(name)
    return lambda value: next(filter(None, map(check_name, value)), None) if isinstance(value, dict) else None


def _properties(properties: dict[str, Any], _: Any, to_check: ToCheck) -> Check:
    checks = {name: to_check(each) for name, each in properties.items()}
    return lambda value: _below(value, checks)


def _below(value: Any, checks: dict[str, Check]) -> Fault | None:
    """Check what an object holds, as far as it is there."""
    if isinstance(value, dict):
        for name, check in checks.items():
            if name in value:
                fault = check(value[name])
                if fault is not None:
                    return fault.below(name)
    return None


def _one_of(branches: list[dict[str, Any]], _: Any, to_check: ToCheck) -> Check:
    checks = [to_check(branch) for branch in branches]

    def check(value: Any) -> Fault | None:
        faults = [fault for each in checks if (fault := each(value)) is not None]
        if len(faults) == len(checks):
            return _closest(faults)
        return None if len(faults) == len(checks) - 1 else Fault(value, "of one kind only")

    return check


def _closest(faults: list[Fault]) -> Fault:
    """Return the fault of the branch where the value got furthest; where only type or kind differ, name them all."""
    reached = max(fault.reached for fault in faults)
    best = [fault for fault in faults if fault.reached == reached]
    if len(best) == 1 or reached == _INSIDE:
        return best[0]
    rules = [fault.rule for fault in best]
    return best[0]._replace(rule=_either(rules) if reached == _OTHER_TYPE else f"one of {', '.join(rules)}")


_ANNOTATIONS = {"$schema", "$id", "$defs", "$ref", "title", "description", "x-hint"}
# In the order in which a value is checked, so that the most telling fault comes first.
_KEYWORDS: list[tuple[str, Callable[..., Check]]] = [
    ("type", _type),
    ("const", _const),
    ("enum", _enum),
    ("pattern", _pattern),
    ("maxLength", _max_length),
    ("minimum", _bound("at least {limit:g}", lambda value, limit: value >= limit)),
    ("exclusiveMinimum", _bound("above {limit:g}", lambda value, limit: value > limit)),
    ("maximum", _bound("at most {limit:g}", lambda value, limit: value <= limit)),
    ("minItems", _entries("at least", lambda found, limit: found >= limit)),
    ("maxItems", _entries("at most", lambda found, limit: found <= limit)),
    ("items", _items),
    ("properties", _kinds),
    ("propertyNames", _names),
    ("additionalProperties", _additional),
    ("required", _required),
    ("properties", _properties),
    ("oneOf", _one_of),
]
