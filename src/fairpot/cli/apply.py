"""``fairpot apply``: adjust the scores of files with a fitted map."""

from __future__ import annotations

import os
import warnings
from collections.abc import Hashable
from typing import Any

import click

from fairpot.cli._errors import Failure
from fairpot.cli._lines import print_quantisation
from fairpot.cli._printing import Output, count, percent, shown
from fairpot.cli._rows import (
    Number,
    RowOptions,
    apply_on_spark,
    known_as,
    output_options,
    row_options,
    thresholds_on_spark,
    with_groups_of,
)
from fairpot.exceptions import ScaleWarning
from fairpot.files import apply as apply_maps
from fairpot.files import score_thresholds
from fairpot.files.adjusting import TYPES, UNKNOWN_GROUPS
from fairpot.files.layout import FORMATS
from fairpot.postprocessing.fitted import FittedMaps, load
from fairpot.transport import ScoreMap


@click.command(short_help="Adjust the scores of files with a map.")
@click.argument("model_file", metavar="MAP")
@row_options(labelled=False)
@click.option("-o", "--output", required=True, metavar="FILE", help="Where the rows go, with a column more.")
@click.option("--column", metavar="NAME", help="Name of the new column; default: that of the score and _fair.")
@click.option("--replace", is_flag=True, help="Replace a column of that name.")
@click.option("--changes", metavar="FILE", help="Also write each row's old and new score and rank.")
@click.option("--threshold", type=Number(-1e300, 1e300), metavar="SCORE", help="In --changes: who crosses this score.")
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
@click.option("--expect-sha256", metavar="HEX", help="Refuse any map but the one with this SHA-256.")
@click.option("--key", metavar="FILE", help="Refuse a map whose signature MAP.sig is not good under this key.")
@click.option("--force", is_flag=True, help="Replace outputs that are there.")
@output_options
def apply(model_file: str, rows: RowOptions, out: Output, output: str, changes: str | None, **options: Any) -> None:
    """Write the rows of files with their adjusted score as one column more.

    Rows stream through, so files may be larger than memory. Every other column, the order and the types stay. The
    output appears when it is complete; what is there already is not replaced without --force.

    \b
    Examples:
      fairpot apply map.json new.parquet -o adjusted.parquet
      fairpot apply map.json new.csv --score risk --group sex -o adjusted.csv --column risk_fair
      fairpot apply map.json new.csv -o adjusted.csv --changes changes.csv --threshold 0.5 --keep id

    With -o - the rows go to standard output, once they are complete, and the summary is left out.

    Columns are looked for under the names they had in `fit`; --score and --group name others, several groups in the
    same order. A group that the map does not know is an error.
    """
    if changes is None and (options["threshold"] is not None or options["keep"]):
        raise click.UsageError("--threshold and --keep say what goes into --changes, which is not given.")
    if output == "-":
        if out.as_json:
            raise click.UsageError("standard output takes the rows or the JSON document, not both.")
        out = Output(quiet=True)
    model = load(model_file, expect_sha256=options.pop("expect_sha256"), key=options.pop("key"))
    other_scale = options.pop("other_scale")
    rows = rows.named_by(model.columns_)
    for target in filter(None, (output, changes)):
        _refuse_inputs(target, [model_file, *filter(None, [rows.database])])
    maps = _maps(model, rows, out, options["unknown_group"])
    if rows.engine == "spark":
        written = apply_on_spark(rows, maps, output, changes=changes, **options)
        out.document({"output": output, "map": model_file, **written})
        out.line(f"Written: {shown(output)}, {count(written['rows'])} rows with the column {written['column']!r}")
        return
    with out.progress("adjusting") as bar:
        done = apply_maps(
            rows.source,
            maps,
            output=output,
            changes=changes,
            drop_missing=rows.drop_missing,
            judge=lambda low, high: _judge(model, low, high, other_scale),
            memory_limit=rows.memory,
            progress=None if bar is None else lambda done, total: bar(done / max(total, 1)),
            **options,
        )
    out.document({"output": output, "changes": changes, "map": model_file, **vars(done)})
    moved = percent(done.moved, done.rows)
    out.line(f"Written: {shown(output)}, {count(done.rows)} rows with the column {done.column!r}")
    out.line(f"{count(done.moved)} scores changed ({moved})")
    if not model.row_by_row:
        out.warning("this map looks at all rows it is given together: other files give the same person other scores.")
    if done.unknown:
        became = {"null": "have no adjusted score", "keep": "keep their score"}[options["unknown_group"]]
        warnings.warn(f"{done.unknown} rows of groups that the map does not know {became}.", UserWarning, stacklevel=1)
    if done.dropped:
        warnings.warn(f"{done.dropped} rows without a score or a group were left out.", UserWarning, stacklevel=1)
    if changes is not None:
        out.line(f"Written: {shown(changes)}, what changed for whom")
        if not done.ranks_exact:
            out.warning("too many distinct scores: ranks are close, not exact.")


def _judge(model: FittedMaps, low: float, high: float, other_scale: str) -> None:
    """Say that scores seem to be on another scale than those of fit, or refuse them."""
    told = model._fitted_scale().mismatch_of_range(low, high)
    if told is None:
        return
    if other_scale == "error":
        raise Failure(f"{told}\nHint: bring the scores to the scale of fit, or leave --other-scale error out.")
    warnings.warn(told, ScaleWarning, stacklevel=2)


def _refuse_inputs(target: str, inputs: list[str]) -> None:
    """Refuse a target that is the map or the database: an output never replaces what it is made from."""
    for each in inputs:
        if os.path.exists(target) and os.path.exists(each) and os.path.samefile(target, each):
            raise Failure(f"{shown(target)} is also an input.\nHint: name another file for the output.")


def _maps(model: FittedMaps, rows: RowOptions, out: Output, unknown: str) -> dict[Hashable, ScoreMap]:
    """Return the maps; where they depend on all rows at hand, count those first."""
    if model.row_by_row:
        return model.maps_
    counted = rows.counted(out, labelled=False)
    table = with_groups_of(counted.table, model.groups_, "the input", all_known=unknown == "error")
    if model.apply_["kind"] != "top_of_batch":
        print_quantisation(out, counted.quantisation)
        return model.maps_for(table)
    alpha, region = model.apply_["alpha"], model.apply_["region"]
    if rows.engine == "spark":
        found = thresholds_on_spark(rows, alpha, region, counted)
    else:
        found = score_thresholds(
            rows.source,
            alpha,
            region=region,
            memory_limit=rows.memory,
            counted=counted,
            drop_missing=rows.drop_missing,
        )
    named = {known_as(group, model.groups_): start for group, start in found.items()}
    return {name: model.maps_[name].starting_at(named[name]) for name in table.groups}
