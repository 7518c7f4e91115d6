"""``fairpot plan``: how many rows it takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import click

from fairpot._defaults import LEVEL
from fairpot._validation import wording
from fairpot.cli import _options as opt
from fairpot.cli._printing import Output, count, shown
from fairpot.cli._rows import RowOptions, row_options, typed_option
from fairpot.inference import SamplePlan, plan_sample_size
from fairpot.results.kinds import Group
from fairpot.results.notes import notes_of_follow_up

_INNER = opt.number(0, 0.999999, above=True)
_EXPECTED = ("share", "rate", "auc")


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
    measured_gap: float | None
    normal_scores: bool


@click.command(cls=opt.Sectioned, short_help="How many rows it takes to detect or certify a gap.")
@row_options()
@opt.option("--max-gap --gap GAP", "Gap to detect, or bound to certify.", "gap", type=opt.TOP_SHARE, required=True)
@opt.option("--goal detect|certify", "Find a gap of that size, or show that there is none beyond it.", default="detect")
@opt.option("--power NUMBER", "How often that should succeed.", type=_INNER, default=0.8)
@opt.option("--level LEVEL", "Confidence level.", type=opt.LEVEL, default=LEVEL)
@opt.option("--auc NUMBER", "AUC to expect, where no file is named.", type=_INNER, default=0.8)
@opt.option("--share NUMBER", "Share of the first of two groups.", type=_INNER, default=0.5)
@opt.option("--rate NUMBER", "Share of rows with the outcome.", type=_INNER, default=0.5)
@opt.option(
    "--true-gap GAP",
    "Gap to assume; default: GAP to detect; to certify the file's gap if it is below GAP, else 0.",
    type=opt.SHARE,
)
@opt.ties_option
@opt.output_options
def plan(rows: RowOptions, out: Output, **options: Any) -> None:
    """Say how many rows, and how many with the outcome in each group, it takes to detect a gap or to certify a bound.

    \b
    Examples:
      fairpot plan pilot.csv --max-gap 0.05 --goal certify --true-gap 0.01
      fairpot plan --max-gap 0.05 --auc 0.75 --share 0.2 --rate 0.1

    To detect is to get an interval without 0, to certify the verdict "within". Name a file if you have one: the plan
    is then for rows like its own. Without a file, scores are assumed to be normal with and without the outcome, which
    can plan too few rows where they are not, and the first group is ranked higher.
    """
    given = _arguments(rows, out, options)
    found = plan_sample_size(options["gap"], **given)
    table = given.get("table")
    groups = tuple(PlannedGroup(g, n, found.positives[g], found.negatives[g]) for g, n in found.group_rows.items())
    names = ("goal", "gap", "true_gap", "power", "level", "rows", "clusters", "se", "pair", "measured_gap")
    said: opt.Options = {"columns": None, "inputs": (), "files": None, "weights": None}
    if table is not None:
        said = {**vars(rows.said()), "weights": table.weights}
    out.document(
        PlanDocument(
            **said, **{name: getattr(found, name) for name in names}, groups=groups, normal_scores=table is None
        )
    )
    _print_plan(out, found, groups)
    if table is not None and table.weights is not None:
        out.line(wording.weights_taken(table.weights, table.weight))
    if table is not None:
        out.notes([note.text for note in notes_of_follow_up(table)])


def _arguments(rows: RowOptions, out: Output, options: opt.Options) -> opt.Options:
    """Take shares, rates, spread and clusters from the file if one is named, else from the options."""
    options = {name: value for name, value in options.items() if name != "gap"}
    expected = {name: options.pop(name) for name in _EXPECTED}
    if rows.inputs or rows.sql is not None:
        for name in _EXPECTED:
            opt.needs(name, "is for a plan without rows; the file has its own.")
        return {**options, "table": rows.counted(out).table}
    if (typed := typed_option()) is not None:
        raise click.UsageError(f"{typed} is about rows, and no file is named.")
    share, rate = expected.pop("share"), expected.pop("rate")
    return {**options, **expected, "rates": rate, "shares": {"a": share, "b": 1 - share}}


def _print_plan(out: Output, found: SamplePlan, groups: tuple[PlannedGroup, ...]) -> None:
    aim = "to detect a gap of" if found.goal == "detect" else "to certify a gap within"
    of = "" if found.clusters is None else f" of {count(found.clusters)} clusters"
    out.line(f"{count(found.rows)} rows{of} {aim} {found.gap:g}", "bold")
    sure = f"power {found.power:g}, confidence {100 * found.level:g}%"
    out.line(f"{sure}; the standard error of the gap is then {found.se:.2g}")
    out.line(found.assumes)
    if len(groups) > 2:
        first, second = map(shown, found.pair)
        out.line(f"The gap between {first} and {second} takes the most rows; the other groups stand between them.")
    rows = [[shown(each.group), count(each.rows), count(each.positives), count(each.negatives)] for each in groups]
    out.table("Rows of each group", ["group", "rows", "with the outcome", "without it"], rows)
