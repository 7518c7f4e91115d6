"""``fairpot apply``: adjust the scores of files with a fitted map."""

from __future__ import annotations

import os
import warnings
from typing import Any

import click

from fairpot._validation import wording
from fairpot.cli._errors import Failure
from fairpot.cli._options import SCORE, MapFile, map_options, output_options, was_given
from fairpot.cli._printing import Output, count, percent, shown
from fairpot.cli._rows import RowOptions, row_options
from fairpot.files.adjusting import TYPES, UNKNOWN_GROUPS
from fairpot.files.layout import FORMATS


@click.command(short_help="Adjust the scores of files with a map.")
@map_options()
@row_options("scores")
@click.option("-o", "--output", required=True, metavar="FILE", help="Where the rows go, with a column more.")
@click.option("--column", metavar="NAME", help="Name of the new column; default: that of the score and _adjusted.")
@click.option("--replace", is_flag=True, help="Replace a column of that name.")
@click.option("--changes", metavar="FILE", help="Also write each row's old and new score and rank.")
@click.option("--threshold", type=SCORE, metavar="SCORE", help="In --changes: who crosses this score.")
@click.option("--keep", multiple=True, metavar="COLUMN", help="In --changes: also this column, such as an identifier.")
@click.option(
    "--unknown-group",
    type=click.Choice(UNKNOWN_GROUPS),
    default="error",
    show_default=True,
    help="Rows whose group the map does not know: an error, no adjusted score, or the score as it is.",
)
@click.option("--output-format", type=click.Choice(FORMATS), help="Format of the output; default: by its name.")
@click.option(
    "--types",
    type=click.Choice(TYPES),
    default="text",
    show_default=True,
    help="What fields of CSV become in Parquet, Arrow and JSON: text, or numbers where all are.",
)
@click.option("--neutralise-formulas", is_flag=True, help="In CSV: an apostrophe before text such as =1+1.")
@click.option(
    "--other-scale",
    type=click.Choice(["warn", "error"]),
    default="warn",
    show_default=True,
    help="What to do if scores seem to be on another scale than in `fit`.",
)
@click.option("--force", is_flag=True, help="Replace outputs that are there.")
@output_options
def apply(
    map_file: MapFile, rows: RowOptions, out: Output, output: str, changes: str | None, force: bool, **options: Any
) -> None:
    """Write the rows of files with their adjusted score as one column more.

    Rows stream through, so files may be larger than memory. Every other column, the order and the types stay. The
    output appears when it is complete; what is there already is not replaced without --force.

    \b
    Examples:
      fairpot apply map.json new.parquet -o adjusted.parquet
      fairpot apply map.json new.csv --score risk --group sex -o adjusted.csv --column risk_adjusted
      fairpot apply map.json new.csv -o adjusted.csv --changes changes.csv --threshold 0.5 --keep id

    With -o - the rows go to standard output, once they are complete, and the summary is left out.

    Columns are looked for under the names they had in `fit`; --score and --group name others, several groups in the
    same order. A group that the map does not know is an error.
    """
    if changes is None:
        if was_given("threshold") or was_given("keep"):
            raise click.UsageError("--threshold and --keep say what goes into --changes, which is not given.")
        options["threshold"] = None  # that of the settings file is for other commands
    if output == "-":
        if out.as_json:
            raise click.UsageError("standard output takes the rows or the JSON document, not both.")
        out = Output(quiet=True)
    model = map_file.load()
    rows = rows.of_map(model)
    for target in filter(None, (output, changes)):
        _refuse_map(target, map_file.path)
    done = rows.reader.apply(model, output, out, changes=changes, overwrite=force, **options)
    out.document({**rows.document("scores"), "map": map_file.path, "output": output, "changes": changes, **done})
    out.line(f"Written: {shown(output)}, {count(done['rows'])} rows with the column {done['column']!r}")
    if not model.row_by_row:
        out.warning("this map looks at all rows it is given together: other files give the same person other scores.")
    if done["moved"] is not None:  # a cluster does not compare scores
        _print_done(out, done, changes, options["unknown_group"])


def _print_done(out: Output, done: dict[str, Any], changes: str | None, unknown_group: str) -> None:
    out.line(f"{count(done['moved'])} scores changed ({percent(done['moved'], done['rows'])})")
    if done["unknown"]:
        became = {"null": "no adjusted score", "keep": "score kept as it is"}[unknown_group]
        told = f"{wording.counted(done['unknown'], 'row')} with a group that the map does not know: {became}."
        warnings.warn(told, UserWarning, stacklevel=1)
    if done["dropped"]:
        left = f"{wording.counted(done['dropped'], 'row')} without a score or a group: left out."
        warnings.warn(left, UserWarning, stacklevel=1)
    if changes is not None:
        out.line(f"Written: {shown(changes)}, what changed for whom")
        if not done["ranks_exact"]:
            out.warning("too many distinct scores: ranks are close, not exact.")


def _refuse_map(target: str, path: str) -> None:
    """Refuse a target that is the map: an output never replaces what it is made from."""
    if os.path.exists(target) and os.path.exists(path) and os.path.samefile(target, path):
        raise Failure(f"{shown(target)} is also an input.\nHint: name another file for the output.")
