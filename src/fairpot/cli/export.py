"""``fairpot export``: a map for places where there is no fairpot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from fairpot._defaults import ADJUSTED
from fairpot.cli import _options as opt
from fairpot.cli._printing import Output, count, shown
from fairpot.cli._rows import RowOptions, row_options
from fairpot.export import SimplifiedMaps, to_javascript, to_onnx, to_python, to_sql
from fairpot.export.functions import MODULES, OUTSIDE, count_pieces, formulas_of
from fairpot.export.sql_dialects import DIALECTS
from fairpot.repair.fair_maps import load
from fairpot.results.kinds import Group
from fairpot.rows.output import check_output, complete_file


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


@click.command(cls=opt.Sectioned, short_help="Write a map as SQL, ONNX, Python or JavaScript.")
@opt.map_options
@opt.option("--to sql|onnx|python|javascript", "What to write.", "form", required=True)
@opt.option("--dialect NAME", f"Database, for --to sql: {', '.join(DIALECTS)}.", type=tuple(DIALECTS))
@opt.output_option("-o --output FILE", "Write to FILE; without it, text goes to standard output.")
@row_options("names")
@opt.option("--table NAME", "For SQL: the table to read; without it only the expression is written.")
@opt.output_option("--column NAME", "Name of the new column or output; default: the score's and _adjusted.")
@opt.unmapped_options
@opt.option(
    "--outside",
    "Scores far outside the fitted range: refuse them, or take the limit of that range for them.",
    type=OUTSIDE,
    default="refuse",
)
@opt.option("--module", "For JavaScript: load it with require or with import; default: commonjs.", type=MODULES)
@opt.option("--max-error X", "Simplify: no score differs by more than this.", type=opt.number(0, 1e300))
@opt.force_option
@opt.output_options
def export(
    model_file: str, form: str, rows: RowOptions, out: Output, output: str | None, force: bool, **options: Any
) -> None:
    """Write a map so that a database, another language or an ONNX runtime gives the scores that `apply` gives.

    \b
    Examples:
      fairpot export map.json --to sql --dialect postgres --table scores
      fairpot export map.json --to onnx -o map.onnx
      fairpot export map.json --to javascript --module esm -o map.mjs

    Breakpoints are scores of rows the map was fitted on; --max-error leaves most of them out, and the error is
    printed and written down. SQL for BigQuery, Snowflake, SQL Server and Oracle has been parsed but not run;
    the output says so. MariaDB is --dialect mysql.
    """
    if form == "sql" and options["dialect"] is None:
        raise click.UsageError("--to sql needs a --dialect, such as --dialect duckdb.")
    if form == "onnx" and output is None:
        raise click.UsageError("ONNX is not text: name a file with -o.")
    for name, only in (("dialect", "sql"), ("table", "sql"), ("module", "javascript")):
        if options[name] is not None and form != only:
            raise click.UsageError(f"--{name} goes with --to {only}, and only with it.")
    if output is not None:
        check_output(output, overwrite=force, inputs=[Path(model_file)])
    model = load(model_file, expect_sha256=options["expect_sha256"])
    rows = rows.of_map(model)
    maps = model.exported if options["max_error"] is None else model.simplify(max_error=options["max_error"])
    made = _written(form, maps, rows, options)
    if output is not None:
        with complete_file(output, overwrite=force, inputs=[Path(model_file)]) as place:
            place.write_bytes(made if isinstance(made, bytes) else made.encode())
    simple = maps if isinstance(maps, SimplifiedMaps) else None
    pieces, groups = count_pieces(formulas_of(maps)), tuple(model.groups_)
    text = made if output is None and isinstance(made, str) else None
    largest = 0.0 if simple is None else simple.error
    out.document(ExportDocument(rows.said("names").columns, form, output, groups, pieces, largest, text))
    if output is None:
        if not out.as_json:
            click.echo(made)
        return
    out.line(f"Written: {shown(output)}, {len(groups)} groups, {count(pieces)} straight pieces")
    if simple is not None:
        out.line(str(simple).capitalize())


def _written(form: str, maps: Any, rows: RowOptions, options: opt.Options) -> str | bytes:
    told = {name: options[name] for name in ("outside", "unknown_group", "missing_group")}
    column = options["column"] or f"{rows.score}{ADJUSTED}"
    if form == "onnx":
        group = rows.groups[0] if len(rows.groups) == 1 else "group"
        return bytes(to_onnx(maps, score=rows.score, group=group, output=column, **told).SerializeToString())
    told["missing_group"] = told["missing_group"] or "error"
    if form == "sql":
        table = {"dialect": options["dialect"], "table": options["table"], "column": column}
        return to_sql(maps, score=rows.score, group=rows.groups, **table, **told)
    if form == "python":
        return to_python(maps, **told)
    return to_javascript(maps, module=options["module"] or "commonjs", **told)
