"""``fairpot apply``: adjust the scores of files with a fitted map."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from typing import Annotated, Any

import click

from fairpot._defaults import UNMAPPED
from fairpot._validation import wording
from fairpot.cli._documents import Inline
from fairpot.cli._errors import Failure
from fairpot.cli._options import SCORE, MapFile, Sectioned, map_options, output_options, was_given
from fairpot.cli._printing import Output, count, percent, shown
from fairpot.cli._rows import RowOptions, RowsSaid, row_options
from fairpot.rows.formats.layout import OUTPUTS
from fairpot.rows.rewriting import check_outputs


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
    made_by: str
    sha256: str | None
    changes_sha256: str | None


@click.command(cls=Sectioned, short_help="Adjust the scores of files with a map.")
@map_options()
@row_options("scores")
@click.option("-o", "--output", required=True, metavar="FILE", help="Where the rows go, with a column more.")
@click.option("--column", metavar="NAME", help="Name of the new column; default: that of the score and _adjusted.")
@click.option("--replace", is_flag=True, help="Replace a column of that name.")
@click.option("--changes", metavar="FILE", help="Also write each row's original and adjusted score and rank.")
@click.option("--threshold", type=SCORE, metavar="SCORE", help="In --changes: who crosses this score.")
@click.option("--keep", multiple=True, metavar="COLUMN", help="In --changes: also this column, such as an identifier.")
@click.option(
    "--unknown-group",
    type=click.Choice(UNMAPPED),
    default="error",
    show_default=True,
    help="Rows whose group the map does not know: an error, the score as it is, or no adjusted score.",
)
@click.option(
    "--missing-group",
    type=click.Choice(UNMAPPED),
    default="error",
    show_default=True,
    help="Rows without a group: likewise.",
)
@click.option(
    "--output-format", type=click.Choice(OUTPUTS), help="Format of the output; default: what its name ends in."
)
@click.option("--neutralise-formulas", is_flag=True, help="In CSV and Excel: an apostrophe before text such as =1+1.")
@click.option(
    "--other-scale",
    type=click.Choice(["warn", "error"]),
    help="Scores seem to be on another scale than in `fit`; default: an error if more than 1% are far outside.",
)
@click.option("--force", is_flag=True, help="Replace outputs that already exist.")
@output_options
def apply(
    map_file: MapFile, rows: RowOptions, out: Output, output: str, changes: str | None, force: bool, **options: Any
) -> None:
    """Write the rows of files with their adjusted score as one column more.

    Rows stream through, so files may be larger than memory. Every other column, the order and the types stay. The
    output appears when it is complete; an existing file is not replaced without --force.

    \b
    Examples:
      fairpot apply map.json new.parquet -o adjusted.parquet
      fairpot apply map.json new.csv --score risk --group sex -o adjusted.xlsx --column risk_adjusted
      fairpot apply map.json new.csv -o adjusted.csv --changes changes.csv --threshold 0.5 --keep id

    With -o - the rows go to standard output, once they are complete, and the summary is left out.

    Columns are looked for under the names they had in `fit`; --score and --group name others, several groups in the
    same order. A group that the map does not know, or a missing one, is an error that counts the rows:
    --unknown-group and --missing-group let them through.
    """
    if changes is None and (was_given("threshold") or was_given("keep")):
        raise click.UsageError("--threshold and --keep say what goes into --changes, which is not given.")
    if output == "-":
        if out.as_json:
            raise click.UsageError("standard output takes the rows or the JSON document, not both.")
        out = Output(quiet=True)
    for target in filter(None, (output, changes)):
        _refuse_map(target, map_file.path)
    check_outputs(rows.inputs, (output, changes), overwrite=force, folder=rows.reader.writes_folders)
    model = map_file.stored()
    rows = rows.of_map(model)
    done = rows.apply(model, output, out, changes=changes, overwrite=force, **options)
    written = ApplyDocument(rows.said("scores"), map_file.path, output, changes, **done)
    out.document(written)
    out.line(f"Written: {shown(output)}, {count(written.rows)} rows with the column {written.column!r}")
    if model.lower_is_riskier_:
        out.line("The map takes a low score for high risk, as in `fit`")
    _print_unmapped(written, options["unknown_group"], options["missing_group"])
    if written.moved is not None:  # a cluster does not compare scores
        _print_done(out, written, written.moved)


def _print_unmapped(done: ApplyDocument, unknown: str, missing: str) -> None:
    """Say what became of rows that no map belongs to."""
    became = {"null": "no adjusted score", "keep": "score kept as it is"}
    kinds = (
        (done.unknown, "with a group that the map does not know", unknown),
        (done.missing, "without a group", missing),
    )
    for number, which, way in kinds:
        if number:
            warnings.warn(f"{wording.counted(number, 'row')} {which}: {became[way]}.", UserWarning, stacklevel=1)


def _print_done(out: Output, done: ApplyDocument, moved: int) -> None:
    out.line(f"{count(moved)} scores changed ({percent(moved, done.rows)})")
    for note in done.notes:
        out.note(note)
    if done.dropped:
        left = f"{wording.counted(done.dropped, 'row')} without a score or a group: left out."
        warnings.warn(left, UserWarning, stacklevel=1)
    if done.changes is not None:
        out.line(f"Written: {shown(done.changes)}, what changed for whom")
        if not done.ranks_exact:
            out.note("too many distinct scores: ranks are close, not exact.")


def _refuse_map(target: str, path: str) -> None:
    """Refuse a target that is the map: an output never replaces what it is made from."""
    if os.path.exists(target) and os.path.exists(path) and os.path.samefile(target, path):
        raise Failure(f"{shown(target)} is also an input.\nHint: name another file for the output.")
