"""``fairpot export``: a map for places where there is no fairpot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from fairpot._defaults import ADJUSTED, UNMAPPED
from fairpot.cli._options import MapFile, Number, Options, Sectioned, map_options, output_options
from fairpot.cli._printing import Output, count, shown
from fairpot.cli._rows import RowOptions, row_options
from fairpot.export import SimplifiedMaps, simplify, to_javascript, to_onnx, to_python, to_sql
from fairpot.export.functions import MODULES, OUTSIDE, count_pieces, formulas_of
from fairpot.export.sql_dialects import DIALECTS
from fairpot.repair.fair_maps import FairMaps
from fairpot.results.kinds import Group
from fairpot.rows.output import check_output, complete_file

_EXPORTED = ("limits", "outside", "map_sha256")
_FORMS = ("sql", "onnx", "python", "javascript")


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


@click.command(cls=Sectioned, short_help="Write a map as SQL, ONNX, Python or JavaScript.")
@map_options()
@click.option("--to", "form", type=click.Choice(_FORMS), required=True, help="What to write.")
@click.option("--dialect", type=click.Choice(tuple(DIALECTS)), help="The database, for --to sql.")
@click.option("-o", "--output", metavar="FILE", help="Where to; without it text goes to standard output.")
@row_options("names")
@click.option("--table", metavar="NAME", help="For SQL: the table to read; without it only the expression is written.")
@click.option("--column", metavar="NAME", help="Name of the new column or output; default: the score's and _adjusted.")
@click.option(
    "--unknown-group",
    type=click.Choice(UNMAPPED),
    default="error",
    show_default=True,
    help="Rows whose group the map does not know: stop, the score as it is, or no score.",
)
@click.option("--missing-group", type=click.Choice(UNMAPPED), help="Rows without a group: likewise.  [default: error]")
@click.option(
    "--outside",
    type=click.Choice(OUTSIDE),
    default="refuse",
    show_default=True,
    help="Scores far outside the fitted range: no adjusted score, or they count as the limit.",
)
@click.option(
    "--module", type=click.Choice(MODULES), help="For JavaScript: how it is had, require or import; default: commonjs."
)
@click.option("--max-error", type=Number(0, 1e300), metavar="X", help="Simplify: no score differs by more than this.")
@click.option("--max-knots", type=click.IntRange(2), metavar="N", help="Simplify: no group's map has more breakpoints.")
@click.option("--force", is_flag=True, help="Replace an output that already exists.")
@output_options
def export(
    map_file: MapFile, form: str, rows: RowOptions, out: Output, output: str | None, force: bool, **options: Any
) -> None:
    """Write a map so that a database, another language or an ONNX runtime gives the scores that `apply` gives.

    \b
    Examples:
      fairpot export map.json --to sql --dialect postgres --table scores
      fairpot export map.json --to onnx -o map.onnx
      fairpot export map.json --to javascript --module esm --max-error 0.001 -o map.mjs

    Breakpoints are scores of rows the map was fitted on; --max-error and --max-knots leave most of them out, and the
    error is printed and written down. SQL for BigQuery, Snowflake, SQL Server and Oracle has been parsed but not run;
    the output says so. MariaDB is --dialect mysql.
    """
    if (form == "sql") != (options["dialect"] is not None):
        missing = "--to sql needs a --dialect, such as --dialect duckdb." if form == "sql" else None
        raise click.UsageError(missing or "--dialect goes with --to sql, and only with it.")
    if form == "onnx" and output is None:
        raise click.UsageError("ONNX is not text: name a file with -o.")
    if options["table"] is not None and form != "sql":
        raise click.UsageError("--table goes with --to sql.")
    if options["module"] is not None and form != "javascript":
        raise click.UsageError("--module goes with --to javascript.")
    if output is not None:
        check_output(output, overwrite=force, inputs=[Path(map_file.path)])
    model = map_file.load()
    rows = rows.of_map(model)
    maps = _maps(model, options)
    own = {"column": options["column"] or f"{rows.score}{ADJUSTED}", **model.exported}
    made = _WRITERS[form](maps, rows, options | own)
    if output is not None:
        with complete_file(output, overwrite=force, inputs=[Path(map_file.path)]) as place:
            place.write_bytes(made if isinstance(made, bytes) else made.encode())
    _print(out, model, maps, made, rows, form, output)


def _maps(model: Any, options: Options) -> Any:
    """Return the maps, simplified if that is asked for."""
    maps = model.maps_
    if model.lower_is_riskier_:  # they are of scores with a minus, and an export is of scores as they are
        maps = {group: each.reflected() for group, each in maps.items()}
    error, knots = options["max_error"], options["max_knots"]
    if error is None and knots is None:
        return maps
    return simplify(maps, max_error=error, max_knots=knots)


def _sql(maps: Any, rows: RowOptions, options: Options) -> str:
    wanted = {name: options[name] for name in ("dialect", "table", "column", *_EXPORTED)}
    return to_sql(maps, score=rows.score, group=rows.groups, **wanted, **_unmapped(options))


def _onnx(maps: Any, rows: RowOptions, options: Options) -> bytes:
    group = rows.groups[0] if len(rows.groups) == 1 else "group"
    ways = {name: options[name] for name in ("unknown_group", "missing_group", *_EXPORTED)}
    model = to_onnx(maps, score=rows.score, group=group, output=options["column"], **ways)
    return bytes(model.SerializeToString())


def _unmapped(options: Options) -> Options:
    """Return what is to become of rows that no map belongs to."""
    return {"unknown_group": options["unknown_group"], "missing_group": options["missing_group"] or "error"}


def _told(options: Options) -> Options:
    return {name: options[name] for name in _EXPORTED} | _unmapped(options)


_WRITERS: dict[str, Callable[[Any, RowOptions, Options], str | bytes]] = {
    "sql": _sql,
    "onnx": _onnx,
    "python": lambda maps, rows, options: to_python(maps, **_told(options)),
    "javascript": lambda maps, rows, options: to_javascript(
        maps, module=options["module"] or "commonjs", **_told(options)
    ),
}


def _print(
    out: Output, model: FairMaps, maps: Any, made: str | bytes, rows: RowOptions, form: str, output: str | None
) -> None:
    simple = maps if isinstance(maps, SimplifiedMaps) else None
    pieces = count_pieces(formulas_of(maps))
    text = made if output is None and isinstance(made, str) else None
    error = 0.0 if simple is None else simple.error
    columns = rows.said("names").columns
    out.document(ExportDocument(columns, form, output, tuple(model.groups_), pieces, error, text))
    if output is None:
        if not out.as_json:
            click.echo(made)
        return
    out.line(f"Written: {shown(output)}, {len(model.groups_)} groups, {count(pieces)} straight pieces")
    if simple is not None:
        out.line(str(simple).capitalize())
