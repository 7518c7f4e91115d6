"""Write the JSON Schema of the documents of all commands, made from their records: documents.schema.json."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from importlib import import_module
from typing import Any, Literal, get_args, get_origin, get_type_hints

from fairpot.cli._printing import Value
from fairpot.cli._rows import Reads, RowOptions, meant_for
from fairpot.repair.choose import Achieved
from fairpot.results.kinds import ENDS, HIDDEN, INLINE, fields_of, kind_of

Schema = dict[str, Any]  # what JSON Schema is written in


@dataclass(frozen=True)
class Settings:
    """A settings file, and what of it holds in the command."""

    file: str
    in_force: Mapping[str, Any]


@dataclass(frozen=True)
class Head:
    """What every document begins with."""

    version: str
    document: int
    command: str
    settings: Settings | None


# Where each document is: the module of a command, and the record in it.
_DOCUMENTS = {
    "audit": ("audit", "AuditDocument"),
    "audit of several scores": ("audit", "AuditsDocument"),
    "fit": ("fit", "FitDocument"),
    "uncertified": ("_methods", "UncertifiedDocument"),
    "apply": ("apply", "ApplyDocument"),
    "plan": ("plan", "PlanDocument"),
    "show": ("show", "ShowDocument"),
    "show an export": ("show", "ShownExport"),
    "report": ("report", "ReportDocument"),
    "export": ("export", "ExportDocument"),
    "datasets write": ("datasets", "WrittenDocument"),
    "compare": ("compare", "CompareDocument"),
}
_NUMBER = {"type": ["number", "null"]}
_LEVEL = {"level": {"type": "number"}, "reason": {"type": ["string", "null"]}}
_CHANGE: Schema = dict.fromkeys(("before", "after", "change", "se", "low", "high"), _NUMBER) | _LEVEL
_GROUP = {"type": ["string", "number", "boolean", "null"]}
_JSON: dict[Any, Schema] = {
    "group": _GROUP,
    "score": _NUMBER,
    "share": _NUMBER,
    "count": _NUMBER,
    "range": {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2},
    str: {"type": "string"},
    int: {"type": "integer"},
    float: _NUMBER,
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
        known |= dict.fromkeys((name, *(f"{name}_{end}" for end in ENDS)), _NUMBER)
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


def _object(properties: Schema, optional: tuple[str, ...] = ()) -> Schema:
    needed = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": needed}


def _changes() -> Schema:
    """Describe a change and the changes of a repair, which write themselves."""
    signed = _object({"groups": {"type": "array", "items": _GROUP}, **_CHANGE})
    pairs = {
        name: {"type": "array", "items": _object({**dict.fromkeys(ends, _GROUP), **_CHANGE})}
        for name, ends in (("signed_gaps", ("first", "second")), ("xauc", ("positive", "negative")))
    }
    change = {"$ref": "#/$defs/Change"}
    properties = {"auc": change, "gap": change, "headline": {"anyOf": [change, {"type": "null"}]}, **pairs}
    return {
        "Change": {"description": "A number before and after.", **_object({**_CHANGE, "signed": signed}, ("signed",))},
        "Changes": {"description": "What a repair changes.", **_object(properties)},
    }


def _achieved(defs: Schema) -> Schema:
    """Describe what a fit achieved, which writes itself."""
    known = {each.name: _NUMBER for each in fields(Achieved)}
    known["starts"] = schema_of_value(tuple[Value, ...] | None, defs)
    return {"description": "AUC and gap of the fitted rows before and after, of all and of the top.", **_object(known)}


def _rows_of(document: str) -> Schema:
    """Describe what a document says of its rows, as the options of rows declare it."""
    reads: dict[str, Reads] = dict.fromkeys(
        ("audit", "audit of several scores", "fit", "uncertified", "compare", "report"), "outcomes"
    )
    reads |= {"apply": "scores", "export": "names"}
    if document not in reads:
        return {}
    types = get_type_hints(RowOptions)
    parts: Schema = {"columns": {}, "files": {}, "scan": {}}
    for each in meant_for(reads[document]):
        parts[each.section][each.key] = schema_of_value(types[each.name], {})
    names = ("columns",) if document == "export" else ("columns", "files")
    return {name: _object(parts[name]) for name in names}


def documents_schema() -> Schema:
    """Describe every document, as JSON Schema (draft 2020-12)."""
    defs: Schema = _changes()
    defs["Achieved"] = _achieved(defs)
    head = schema_of(Head, defs)
    documents = {}
    for name, (module, record) in _DOCUMENTS.items():
        document = getattr(import_module(f"fairpot.cli.{module}"), record)
        schema_of(document, defs)
        made = defs.pop(document.__name__)
        documents[name] = made | {
            "properties": {"fairpot": head, **made["properties"], **_rows_of(name)},
            "required": ["fairpot", *made["required"]],
        }
    found = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://fairpot.github.io/fairpot/documents.schema.json",
        "title": "JSON documents of the fairpot command line",
        "description": "Validate the output of a command with --json against #/$defs/COMMAND. Fields may be added.",
        "$defs": {**documents, **defs},
    }
    return dict(_open(found))


def _open(schema: Any) -> Any:
    """Leave room for fields that later versions add."""
    if isinstance(schema, list):
        return [_open(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: _open(value) for key, value in schema.items() if key != "additionalProperties"}


def schema_text() -> str:
    """Write the schema as text, one definition a line."""
    schema = documents_schema()
    defs = ",\n".join(f"  {json.dumps(name)}: {json.dumps(each)}" for name, each in schema.pop("$defs").items())
    head = "".join(f" {json.dumps(key)}: {json.dumps(value)},\n" for key, value in schema.items())
    return f'{{\n{head} "$defs": {{\n{defs}\n }}\n}}\n'


if __name__ == "__main__":
    print(schema_text(), end="")
