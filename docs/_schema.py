"""Write the JSON Schema of the documents of all commands, made from their records: documents.schema.json."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, get_type_hints

from fairpot.cli._rows import Reads, RowOptions, meant_for
from fairpot.results.kinds import schema_of, schema_of_value

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
    "fit": ("fit", "FitDocument"),
    "uncertified": ("_methods", "UncertifiedDocument"),
    "apply": ("apply", "ApplyDocument"),
    "plan": ("plan", "PlanDocument"),
    "show": ("show", "ShowDocument"),
    "show an export": ("show", "ShownExport"),
    "report": ("report", "ReportDocument"),
    "export": ("export", "ExportDocument"),
    "datasets list": ("datasets", "DatasetsDocument"),
    "datasets write": ("datasets", "WrittenDocument"),
    "compare": ("compare", "CompareDocument"),
}
_NUMBER = {"type": ["number", "null"]}
_LEVEL = {"level": {"type": "number"}, "reason": {"type": ["string", "null"]}}
_CHANGE: Schema = dict.fromkeys(("before", "after", "change", "se", "low", "high"), _NUMBER) | _LEVEL
_GROUP = {"type": ["string", "number", "boolean", "null"]}


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
    return {
        "Change": {"description": "A number before and after.", **_object({**_CHANGE, "signed": signed}, ("signed",))},
        "Changes": {"description": "What a repair changes.", **_object({"auc": change, "gap": change, **pairs})},
    }


def _rows_of(document: str) -> Schema:
    """Describe what a document says of its rows, as the options of rows declare it."""
    reads: dict[str, Reads] = dict.fromkeys(("audit", "fit", "uncertified", "compare", "report"), "outcomes")
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
