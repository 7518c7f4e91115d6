"""The JSON documents of all commands as records, and their JSON Schema, which is made from them."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from fairpot.cli._rows import Reads, RowsSaid, types_of
from fairpot.inference import Estimate, Verdict
from fairpot.repair.ground import Achieved
from fairpot.results import Audit, Effect
from fairpot.results.audit import strictest
from fairpot.results.kinds import Count, Group, Score, Share, schema_of, schema_of_value
from fairpot.table import QuantisationBound
from fairpot.words import Note, gap_name

Inline = "inline"
Schema = dict[str, Any]  # what JSON Schema is written in


@dataclass(frozen=True)
class Value:
    """A number of one group."""

    group: Group
    value: float

    @classmethod
    def each(cls, values: Mapping[Hashable, float]) -> tuple[Self, ...]:
        """List values by group."""
        return tuple(cls(group, float(value)) for group, value in values.items())


@dataclass(frozen=True)
class Quantised:
    """How far AUC, an xAUC and a score can be off where scores were put into bins."""

    auc: float
    xauc: float
    score: float

    @classmethod
    def of(cls, bound: QuantisationBound | None) -> Self | None:
        """Read it off a bound; None where every number is exact."""
        return None if bound is None else cls(bound.auc, float(bound.xauc.max()), bound.score)


@dataclass(frozen=True)
class GapSeen:
    """A gap that a gate looks at: overall, or in a top."""

    metric: str
    alpha: Share | None
    gap: float
    pair: tuple[Group, Group]


@dataclass(frozen=True)
class FailAbove:
    """The gate --fail-above: the largest of the gaps that it looks at decides."""

    limit: float
    exceeded: bool
    worst: GapSeen
    gaps: tuple[GapSeen, ...]


@dataclass(frozen=True)
class Judged:
    """What the rows say of a target gap."""

    answer: Literal["within", "exceeds", "cannot tell"]
    metric: str
    alpha: Share | None
    bound: float
    level: float
    gap: Estimate
    text: str

    @classmethod
    def of(cls, found: Verdict) -> Self:
        """Read it off a verdict."""
        name = gap_name(found.alpha)
        return cls(found.answer, name, found.alpha, found.bound, found.level, found.interval, str(found))


@dataclass(frozen=True)
class Verdicts:
    """The gate --bound: the strictest of the verdicts, then all of them."""

    strictest: Annotated[Judged, Inline]
    all: tuple[Judged, ...]

    @classmethod
    def of(cls, found: list[Verdict]) -> Self | None:
        """Read them off verdicts, if there are any."""
        return cls(Judged.of(strictest(found)), tuple(map(Judged.of, found))) if found else None


@dataclass(frozen=True)
class AuditDocument:
    """What was found, and every number behind it."""

    said: Annotated[RowsSaid, Inline]
    audit: Annotated[Audit, Inline]
    quantisation: Quantised | None
    fail_above: FailAbove | None
    verdict: Verdicts | None


@dataclass(frozen=True)
class Dial:
    """The repair strength: one, or one for each group."""

    name: str
    value: float | None
    groups: tuple[Value, ...] = ()

    @classmethod
    def of(cls, name: str, value: Any) -> Self:
        """Take one number, or one for each group."""
        return cls(name, None, Value.each(value)) if isinstance(value, Mapping) else cls(name, value)


@dataclass(frozen=True)
class RuleSaid:
    """What chose the repair strength."""

    max_gap: float | None = None
    max_auc_loss: float | None = None
    net_benefit_at: float | None = None
    confidence: float | None = None
    smallest_gap: bool = False


@dataclass(frozen=True)
class Delivered:
    """AUC and gap of the fitted rows before and after, of all of them and of the top that is repaired."""

    auc: float
    gap: float
    auc_before: float
    gap_before: float
    auc_top: float | None
    gap_top: float | None
    auc_top_before: float | None
    gap_top_before: float | None
    starts: tuple[Value, ...] | None
    enter: Count | None
    leave: Count | None

    @classmethod
    def of(cls, found: Achieved, sign: float) -> Self:
        """Take what was achieved; ``sign`` brings scores to the scale of the user's file."""
        starts = None if found.starts is None else {g: sign * each + 0.0 for g, each in found.starts.items()}
        return cls(**{**vars(found), "starts": None if starts is None else Value.each(starts)})


@dataclass(frozen=True)
class BeforeAfter:
    """A number before and after a repair."""

    before: float
    after: float


@dataclass(frozen=True)
class NetBenefit:
    """Net benefit of acting from a threshold on, before and after."""

    threshold: Score
    fitted: BeforeAfter
    held_out: BeforeAfter | None


@dataclass(frozen=True)
class FitDocument:
    """What the repair does."""

    said: Annotated[RowsSaid, Inline]
    method: str
    dial: Dial
    rule: RuleSaid | None
    reference: Group | None
    achieved: Delivered
    fitted: Effect
    held_out: Effect | None
    repair_needed: bool | None
    net_benefit: NetBenefit | None
    certificate: Mapping[str, Any] | None
    private: Mapping[str, Any] | None
    simplified: Mapping[str, Any] | None
    quantisation: Quantised | None
    output: str | None


@dataclass(frozen=True)
class UncertifiedDocument:
    """With exit code 4: why no repair can be certified, and what is missing."""

    said: Annotated[RowsSaid, Inline]
    method: str
    rule: RuleSaid | None
    certificate: None
    shortfall: Mapping[str, Any] | None
    message: str


@dataclass(frozen=True)
class ApplyDocument:
    """What was written."""

    said: Annotated[RowsSaid, Inline]
    map: str
    output: str
    changes: str | None
    rows: int
    moved: int | None
    column: str
    ranks_exact: bool
    score_range: tuple[float, float] | None
    unknown: int
    missing: int
    dropped: int
    notes: tuple[str, ...]


@dataclass(frozen=True)
class PlannedGroup:
    """How many rows of a group a study needs."""

    group: Group
    rows: int
    positives: int
    negatives: int


@dataclass(frozen=True)
class PlanDocument:
    """How many rows a study needs; ``columns``, ``inputs``, ``files`` and ``weights`` are those of a pilot's rows."""

    columns: Mapping[str, Any] | None
    inputs: tuple[str, ...]
    files: Mapping[str, Any] | None
    weights: str | None
    goal: str
    gap: float
    true_gap: float
    power: float
    level: float
    rows: int
    clusters: int | None
    se: float
    pair: tuple[Group, Group]
    groups: tuple[PlannedGroup, ...]


@dataclass(frozen=True)
class Breakpoints:
    """A map by its breakpoints."""

    knots: tuple[float, ...]
    values: tuple[float, ...]


@dataclass(frozen=True)
class MapSaid:
    """The map of one group."""

    group: Group
    knots: int
    identity: bool
    monotone: bool
    range: tuple[float, float] | None
    values: tuple[float, float] | None


@dataclass(frozen=True)
class ShowDocument:
    """What a map file holds."""

    method: str
    parameters: Mapping[str, Any]
    dial: Dial
    reference: Group | None
    thresholds: tuple[Value, ...] | None
    columns: Mapping[str, Any] | None
    fitted_on: Mapping[str, Any]
    certificate: Mapping[str, Any] | None
    private: Mapping[str, Any] | None
    simplified: Mapping[str, Any] | None
    then: Breakpoints | None
    maps: tuple[MapSaid, ...]
    sha256: str
    belongs: bool | None


@dataclass(frozen=True)
class ExportSaid:
    """What an export says of itself: which fairpot wrote it, from the map file with which SHA-256."""

    fairpot: str
    map_sha256: str


@dataclass(frozen=True)
class ShownExport:
    """What an export says of itself, and whether it was made from a map."""

    file: str
    export: ExportSaid
    belongs: bool | None


@dataclass(frozen=True)
class ReportDocument:
    """What the page says: the audit of the original scores, and the effect of the repair if there is one."""

    said: Annotated[RowsSaid, Inline]
    output: str
    audit: Annotated[Audit, Inline]
    effect: Effect | None
    notes: tuple[Note, ...]


@dataclass(frozen=True)
class ExportDocument:
    """What was written."""

    columns: Mapping[str, Any]
    to: str
    output: str | None
    groups: tuple[Group, ...]
    pieces: int
    largest_error: float
    text: str | None


@dataclass(frozen=True)
class DatasetSaid:
    """A dataset to try commands on."""

    name: str
    what: str
    fetched: bool


@dataclass(frozen=True)
class DatasetsDocument:
    """The datasets to try commands on."""

    datasets: tuple[DatasetSaid, ...]


@dataclass(frozen=True)
class FetchedDocument:
    """A dataset that was fetched."""

    name: str
    rows: int
    features: int
    source: str
    licence: str


@dataclass(frozen=True)
class WrittenDocument:
    """A dataset that was written to a file."""

    name: str
    model: str
    output: str
    rows: int
    columns: tuple[str, ...]


@dataclass(frozen=True)
class DemoDocument:
    """The files of the demo, and the commands that made them."""

    folder: str
    files: tuple[str, ...]
    commands: tuple[str, ...]


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


DOCUMENTS: dict[str, type] = {
    "audit": AuditDocument,
    "fit": FitDocument,
    "uncertified": UncertifiedDocument,
    "apply": ApplyDocument,
    "plan": PlanDocument,
    "show": ShowDocument,
    "show an export": ShownExport,
    "report": ReportDocument,
    "export": ExportDocument,
    "datasets list": DatasetsDocument,
    "datasets fetch": FetchedDocument,
    "datasets write": WrittenDocument,
    "demo": DemoDocument,
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
    parts = {
        section: _object({key: schema_of_value(hint, {}) for key, hint in types_of(reads[document], section).items()})
        for section in ("columns", "files")
    }
    return parts if document != "export" else {"columns": parts["columns"]}


def documents_schema() -> Schema:
    """Describe every document, as JSON Schema (draft 2020-12).

    Examples
    --------
    >>> list(documents_schema()["$defs"]["demo"]["properties"])
    ['fairpot', 'folder', 'files', 'commands']
    """
    defs: Schema = _changes()
    head = schema_of(Head, defs)
    documents = {}
    from fairpot.cli.compare import CompareDocument  # brings what other commands do without

    for name, document in {**DOCUMENTS, "compare": CompareDocument}.items():
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
