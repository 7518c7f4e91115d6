"""``fairpot apply``: adjust the scores of files with a fitted map."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from typing import Annotated, Any

import click

from fairpot._validation import wording
from fairpot.cli import _options as opt
from fairpot.cli._errors import Failure
from fairpot.cli._printing import Inline, Output, count, percent, shown
from fairpot.cli._rows import RowOptions, RowsSaid, row_options
from fairpot.repair.stored import stored_maps
from fairpot.rows.applying import apply as apply_map
from fairpot.rows.formats import OUTPUTS
from fairpot.rows.readers import AppliedRows
from fairpot.rows.rewriting import check_outputs


@dataclass(frozen=True)
class ApplyDocument:
    """What was written."""

    said: Annotated[RowsSaid, Inline]
    map: str
    output: str
    changes: str | None
    done: Annotated[AppliedRows, Inline]


@click.command(cls=opt.Sectioned, short_help="Adjust the scores of files with a map.")
@opt.map_options
@row_options("scores")
@opt.output_option("-o --output FILE", "Where the rows go, with a column more.", required=True)
@opt.output_option("--column NAME", "Name of the new column; default: that of the score and _adjusted.")
@opt.output_option("--replace", "Replace a column of that name.")
@opt.output_option("--changes FILE", "Also write each row's original and adjusted score and rank.")
@opt.option("--threshold SCORE", "In --changes: who crosses this score.", type=opt.SCORE)
@opt.output_option("--keep COLUMN", "In --changes: also this column, such as an identifier.", multiple=True)
@opt.unmapped_options
@opt.output_option("--output-format", "Format of the output; default: what its name ends in.", type=tuple(OUTPUTS))
@opt.output_option("--neutralise-formulas", "In CSV and Excel: an apostrophe before text such as =1+1.", rare=True)
@opt.option(
    "--other-scale warn|error",
    "Scores seem to be on another scale than in `fit`; default: an error if more than 1% are far outside.",
    rare=True,
)
@opt.force_option
@opt.output_options
def apply(
    model_file: str, rows: RowOptions, out: Output, output: str, changes: str | None, force: bool, **options: Any
) -> None:
    """Write the rows of files with their adjusted score as one column more.

    Rows stream through, so files may be larger than memory. Every other column, the order and the types stay. The
    output appears when it is complete; an existing file is not replaced without --force.

    \b
    Examples:
      fairpot apply map.json new.parquet -o adjusted.parquet
      fairpot apply map.json new.csv -o adjusted.xlsx --column risk_adjusted
      fairpot apply map.json new.csv -o adjusted.csv --changes moves.csv --keep id

    With -o - the rows go to standard output, once they are complete, and the summary is left out.

    Columns are looked for under the names they had in `fit`; --score and --group name others, several groups in the
    same order. A group that the map does not know, or a missing one, is an error that counts the rows:
    --unknown-group and --missing-group let them through.
    """
    if output == "-":
        if out.as_json:
            raise click.UsageError("standard output takes the rows or the JSON document, not both.")
        out = Output(quiet=True)
    for target in filter(None, (output, changes)):  # an output never replaces what it is made from
        if os.path.exists(target) and os.path.exists(model_file) and os.path.samefile(target, model_file):
            raise Failure(f"{shown(target)} is also an input.\nHint: name another file for the output.")
    check_outputs(rows.inputs, (output, changes), overwrite=force, folder=rows.reader.writes_folders)
    options["missing_group"] = options["missing_group"] or "error"
    model = stored_maps(model_file, expect_sha256=options.pop("expect_sha256"))
    rows = rows.of_map(model)
    options |= {"drop_missing": rows.drop_missing, "memory_limit": rows.memory, "threads": rows.threads}
    source = rows.source
    with out.progress("adjusting") as bar:
        told = None if bar is None else lambda rows, of: bar(rows / of if of else 0.0, f"{count(rows)} rows")
        done = apply_map(model, source, output, changes=changes, overwrite=force, progress=told, **options)
    out.document(ApplyDocument(rows.said("scores"), model_file, output, changes, done))
    out.line(f"Written: {shown(output)}, {count(done.rows)} rows with the column {done.column!r}")
    if model.lower_is_riskier_:
        out.line("The map takes a low score for high risk, as in `fit`")
    if model.grouping_ is not None and model.grouping_.bands:
        out.line(shown(f"Cut as in `fit` into {model.grouping_.told}"))
    became = {"null": "no adjusted score", "keep": "score kept as it is"}
    unknown, missing = (became.get(options[name], "") for name in ("unknown_group", "missing_group"))
    _warn_of(done.unknown, f"with a group that the map does not know: {unknown}.")
    _warn_of(done.missing, f"without a group: {missing}.")
    if done.moved is None:  # a cluster does not compare scores
        return
    out.line(f"{count(done.moved)} scores changed ({percent(done.moved, done.rows)})")
    out.notes(done.notes)
    _warn_of(done.dropped, "without a score or a group: left out.")
    if changes is not None:
        out.line(f"Written: {shown(changes)}, what changed for whom")
        if not done.ranks_exact:
            out.note("too many distinct scores: ranks are close, not exact.")


def _warn_of(rows: int, what: str) -> None:
    if rows:
        warnings.warn(f"{wording.counted(rows, 'row')} {what}", UserWarning, stacklevel=1)
