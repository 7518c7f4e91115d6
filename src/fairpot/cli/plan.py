"""``fairpot plan``: how many rows it takes."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from fairpot._validation import wording
from fairpot.cli._options import LEVEL, TOP_SHARE, Number, output_options, was_given
from fairpot.cli._printing import Output, count, shown
from fairpot.cli._rows import RowOptions, row_options
from fairpot.inference import SamplePlan, plan_sample_size

_INNER = Number(0, 0.999999, above=True)


@click.command(short_help="How many rows it takes to detect or certify a gap.")
@row_options()
@click.option("--gap", type=TOP_SHARE, required=True, metavar="GAP", help="Gap to detect, or bound to certify.")
@click.option(
    "--goal",
    type=click.Choice(["detect", "certify"]),
    default="detect",
    show_default=True,
    help="Find a gap of that size, or sign that there is none beyond it.",
)
@click.option("--power", type=_INNER, default=0.8, show_default=True, help="How often that should succeed.")
@click.option("--level", type=LEVEL, default=0.95, show_default=True, help="Level of the interval or certificate.")
@click.option("--auc", type=_INNER, default=0.8, show_default=True, help="AUC to expect, where no file is named.")
@click.option("--share", type=_INNER, default=0.5, show_default=True, help="Share of the smaller group.")
@click.option("--rate", type=_INNER, default=0.5, show_default=True, help="Share of positives in both groups.")
@click.option("--true-gap", type=Number(0, 1), help="Gap there is: default GAP to detect, 0 to certify.")
@click.option("--ties", type=click.Choice(["half", "strict"]), default="half", show_default=True)
@output_options
def plan(rows: RowOptions, out: Output, **options: Any) -> None:
    """Say how many rows, and positives of each group, it takes to detect a gap or to certify a bound.

    \b
    Examples:
      fairpot plan --gap 0.05 --auc 0.75 --share 0.2 --rate 0.1        # from what is expected
      fairpot plan pilot.csv --gap 0.05 --goal certify --true-gap 0.01 # from rows that are there

    Without a file, scores are taken as normal in each class; with one, spread, shares and rates are the file's.
    """
    given = _arguments(rows, out, options)
    found = plan_sample_size(options["gap"], **given)
    table = given.get("table")
    known = {} if table is None else {**rows.document(), "weights": table.weights}
    out.document({**known, **_document(found)})
    _print_plan(out, found)
    if table is not None and table.weights is not None:
        out.line(wording.weights_taken(table.weights, table.rows))


def _arguments(rows: RowOptions, out: Output, options: dict[str, Any]) -> dict[str, Any]:
    """Take shares, rates and spread from the file if one is named, else from the options."""
    options = {name: value for name, value in options.items() if name != "gap"}
    share, rate, auc = (options.pop(name) for name in ("share", "rate", "auc"))
    if rows.inputs or rows.sql is not None:
        for name in ("share", "rate", "auc"):
            if was_given(name):
                raise click.UsageError(f"--{name} is for a plan without rows; the file has its own.")
        return {**options, "table": rows.counted(out).table}
    return {**options, "auc": auc, "rates": rate, "shares": {"a": share, "b": 1 - share}}


def _document(found: SamplePlan) -> dict[str, Any]:
    plain = asdict(found)
    by_group = [
        {"group": g, "rows": n, "positives": found.positives[g], "negatives": found.negatives[g]}
        for g, n in found.group_rows.items()
    ]
    return {name: plain[name] for name in ("goal", "gap", "true_gap", "power", "level", "rows", "se")} | {
        "groups": by_group
    }


def _print_plan(out: Output, found: SamplePlan) -> None:
    aim = "to detect a gap of" if found.goal == "detect" else "to certify a gap within"
    out.line(f"{count(found.rows)} rows {aim} {found.gap:g}", "bold")
    out.line(f"power {found.power:g}, level {found.level:g}, true gap {found.true_gap:g}, se {found.se:.4f}")
    out.line()
    rows = [
        [shown(g), count(n), count(found.positives[g]), count(found.negatives[g])] for g, n in found.group_rows.items()
    ]
    out.table(["group", "rows", "positives", "negatives"], rows)
