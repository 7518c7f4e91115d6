"""``fairpot compare``: all methods on the same rows, judged on rows that they were not fitted on."""

from __future__ import annotations

import warnings
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any

import click

from fairpot._defaults import Ties
from fairpot.cli._methods import MethodName
from fairpot.cli._options import (
    SEED,
    SHARE,
    TOP,
    Sectioned,
    group_options,
    needs,
    option,
    output_options,
    ties_option,
    written_top,
)
from fairpot.cli._printing import Inline, Output, Quantised, shown
from fairpot.cli._rows import RowOptions, RowsSaid, listed_groups, named_group, row_options, with_groups_of
from fairpot.comparison import Comparison
from fairpot.comparison import compare as compare_methods
from fairpot.exceptions import FairpotWarning, InfeasibleRuleError
from fairpot.repair.registry import method, method_name, takes_reference
from fairpot.results import Statement, audit
from fairpot.words import name_of
from fairpot.words.comparison import COMPARED


@dataclass(frozen=True)
class CompareDocument:
    """Repair methods at the same target gaps."""

    said: Annotated[RowsSaid, Inline]
    weights: str | None
    comparison: Annotated[Comparison, Inline]
    quantisation: Quantised | None


@click.command(cls=Sectioned, short_help="Compare all methods on one file.")
@row_options()
@option("--method", "Only this one; repeatable.", "methods", type=MethodName(), multiple=True)
@option(
    "--max-gap GAP",
    "Target gap, kept on the rows that are fitted; repeatable.",
    "max_gaps",
    type=SHARE,
    default=(0.02, 0.05, 0.1),
    multiple=True,
)
@option("--top ROWS|SHARE", "Compare gaps in this top of the list: 200 of the fitted rows, or 10%.", type=TOP)
@option("--validate FILE", "Judge on these rows instead of in folds.", "held_out", multiple=True)
@option("--folds N", "Number of folds.", type=click.IntRange(2), default=5)
@option("--seed N", "Seed of the folds.", type=SEED, default=0, rare=True)
@ties_option
@option("--reference GROUP", "Reference group; default: as in `fit`.")
@group_options
@output_options
def compare(rows: RowOptions, out: Output, held_out: tuple[str, ...], reference: str | None, **options: Any) -> None:
    """Compare repair methods at the same target gaps, on rows they were not fitted on.

    \b
    Examples:
      fairpot compare scores.csv --score risk --label outcome --group sex
      fairpot compare train.csv --validate held_out.csv --max-gap 0.03
      fairpot compare scores.csv --method fairpot --method wasserstein --json

    Each method is fitted as `fit --max-gap GAP` fits it, on all folds but one, and measured on the fold that is left.
    The table shows AUC and gap there, and in how many folds the target was kept: one to three of five is usual.
    `fit --confidence` certifies a target.

    The line `best possible` is what no repair that keeps the order inside each group could exceed on these rows: it
    knows their outcomes. With more than two groups it is `at most` that.
    """
    if held_out:
        needs("folds", "splits rows into folds, and --validate judges on rows of their own.")
        needs("seed", "draws the folds, and --validate judges on rows of their own.")
    if options["methods"] and not any(takes_reference(method(name)) for name in options["methods"]):
        needs("reference", "is for methods that keep a group's scores, and none of these does.")
    counted = rows.counted(out)
    table = counted.table
    other = None
    if held_out:
        found = rows.elsewhere(held_out).counted(out, "counting held-out rows", counted.table)
        other = with_groups_of(found.table, table.groups, "the held-out file")
    with out.progress("comparing methods") as bar:
        result = compare_methods(
            table,
            held_out=other,
            methods=list(options["methods"]) or None,
            cv=options["folds"],
            random_state=options["seed"],
            reference=named_group(reference, table.groups),
            min_group=options["min_group"],
            groups=listed_groups(options["only"], table.groups),
            ties=options["ties"],
            max_gaps=options["max_gaps"],
            top=options["top"],
            progress=None if bar is None else lambda done, total: bar(done / total, f"{done} of {total} steps"),
        )
    weights = None if result.table is None else result.table.weights
    bins = Quantised.of(counted.quantisation)
    out.document(CompareDocument(rows.said(), weights, result, bins))
    _print(out, result, _statements(result, options["ties"]), rows)
    if bins is not None:
        out.note(bins.text)


def _statements(result: Comparison, ties: Ties) -> tuple[Statement, ...]:
    """Say what the original scores do, in the top where that is what gaps are of."""
    assert result.table is not None  # it was made from rows
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairpotWarning)
        return audit(result.table, ties=ties, top=result.top).statements


def _print(out: Output, result: Comparison, statements: tuple[Statement, ...], rows: RowOptions) -> None:
    """Say first what follows for the original scores, which method to take and what is next; then the table."""
    first, clear = statements[0], statements[0].clear
    command = _next(result, rows) if clear else None
    told = statements[: 2 if first.about_score else 1]
    out.lines([*(each.text for each in told), *([] if clear else [first.next]), *result.verdicts])
    if command is not None:
        out.command(command)
    elif clear:
        out.line("Next: allow a larger gap (--max-gap), or keep the original scores.")
    out.line()
    reference = shown(name_of(result.reference, rows.groups))
    out.line(f"{result.rows}; reference group: {reference}{result.gaps_where}")
    if result.weighed:
        out.line(result.weighed)
    title = f"{COMPARED}, on rows that were not fitted"
    out.table(title, ["method", *(f"gap <= {bound:g}" for bound in result.max_gaps)], result.lines)
    for text in result.limit_notes:
        out.line(text)
    out.notes([f"{each.method} is left out: {each.reason}" for each in result.skipped])


def _next(result: Comparison, rows: RowOptions) -> list[str] | None:
    """Give the command that fits the recommended method, at the smallest target that takes a repair."""
    if "-" in rows.inputs:
        return None
    for bound in sorted(result.max_gaps):
        with suppress(InfeasibleRuleError):
            taken = result.recommended(bound).method
            if taken in result.methods:
                top = result.top  # so many rows, or a share of them
                among = [] if top is None else ["--top", written_top(top)]
                option = method_name(type(result.estimators[taken]))
                again = ["--method", option, "--max-gap", f"{bound:g}", *among, "-o", "map.json"]
                return ["fairpot", "fit", *rows.inputs, *rows.as_options(), *again]
    return None
