"""``fairpot report``: one page that a committee can read."""

from __future__ import annotations

import datetime
import shlex
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from fairpot import words
from fairpot._optional import import_optional
from fairpot._validation import wording
from fairpot.cli import _options as opt
from fairpot.cli._errors import Failure
from fairpot.cli._methods import WISHES, asked, how_far, keep_option, method_option, one_wish
from fairpot.cli._printing import Inline, Output, Quantised, shown
from fairpot.cli._rows import RowOptions, RowsSaid, named_group, row_options, with_groups_of
from fairpot.results import Audit, Effect
from fairpot.rows.applying import apply, read_whole
from fairpot.rows.output import complete_file
from fairpot.rows.readers.protocol import CountedRows
from fairpot.rows.streams import hashing
from fairpot.tradeoff.rules import top_share
from fairpot.words import Note

if TYPE_CHECKING:
    from fairpot.report import FairnessReport


_FORMATS = (".html", ".json", ".md")
_MOST_PEOPLE = 20


@dataclass(frozen=True)
class ReportDocument:
    """What the page says: the audit of the original scores, and the effect of the repair if there is one."""

    said: Annotated[RowsSaid, Inline]
    output: str
    audit: Annotated[Audit, Inline]
    effect: Effect | None
    notes: tuple[Note, ...]


@click.command(cls=opt.Sectioned, short_help="Write a page that a committee can read.")
@row_options()
@opt.map_options(opt.option("--map FILE", "Report on this saved map.", "model_file"))
@opt.option("--fit-on FILE", "Fit the repair on these rows; default: the same rows.", multiple=True)
@method_option
@how_far
@keep_option
@opt.repair_options(
    "Top of the list: an audit is about the first, a repair bounds its gap; all show who enters. Repeatable.",
    several=True,
)
@opt.option("--threshold SCORE", "Show who crosses this; repeatable.", type=opt.SCORE, multiple=True)
@opt.option("--id COLUMN", "Name the people whose scores change most by this column.", "identity", rare=True)
@opt.option("--title TEXT", "What the report is called.", default="", rare=True)
@opt.option("--outcome TEXT", 'The outcome in words, such as "a stroke within a year".', default="")
@opt.option("--card FILE", "Show this model card (TOML): purpose, owner, not_for, and what else it says.", rare=True)
@opt.output_option("-o --output FILE", "Write the report to FILE: .html, .json or .md.", required=True)
@opt.force_option
@opt.output_options
def report(
    rows: RowOptions,
    out: Output,
    map_file: opt.MapFile | None,
    fit_on: tuple[str, ...],
    method: str,
    threshold: tuple[float, ...],
    top: tuple[float | int, ...],
    top_of: str,
    repair_top: bool,
    identity: str | None,
    title: str,
    outcome: str,
    card: str | None,
    output: str,
    force: bool,
    **options: Any,
) -> None:
    """Write a report: who is ranked higher, what a repair changes, and at what price.

    It is one file that opens in any browser, offline, with a slider for how far the repair goes. Without --map and
    without a way to say how far to go (--max-gap, --lam, ...) it is an audit of the original scores.

    \b
    Examples:
      fairpot report scores.csv -o report.html                              # an audit
      fairpot report scores.csv --max-gap 0.02 -o report.html               # with a repair
      fairpot report new.parquet --fit-on past.parquet --max-gap 0.02 -o report.html
      fairpot report new.csv --map map.json --threshold 0.5 --outcome "a stroke within a year" -o report.html

    The file holds counts, no rows, unless --id asks for names. A repair looks better on the rows it was fitted on:
    report on others.
    """
    if Path(output).suffix.lower() not in _FORMATS:
        raise click.UsageError(f"a report is written as {', '.join(_FORMATS)}, and {output!r} ends in none of them.")
    about = _card(card)
    wishes = {name: options.pop(name) for name in WISHES}
    _check_choices(map_file, bool(fit_on), asked(wishes))
    if not top:
        opt.needs("top_of", "says something of the top: it needs --top.")
    wish = one_wish(method, wishes) if asked(wishes) else None
    if identity is not None and map_file is None and wish is None:
        raise click.UsageError("--id names the people whose scores change most: say how far a repair goes, or --map.")
    if identity is not None and "-" in rows.inputs:
        raise click.UsageError("--id reads the rows a second time, which standard input (-) cannot give.")
    fitted = None if map_file is None else map_file.load()
    rows = rows if fitted is None else rows.of_map(fitted)
    read = [rows, *([rows.elsewhere(fit_on)] if fit_on else [])]
    files = [file for each in read for file in each.source.inputs] + ([Path(map_file.path)] if map_file else [])
    with complete_file(output, overwrite=force, inputs=files) as place:
        with hashing() as read_here:
            counted = rows.counted(out)
        table = counted.table
        if wish is not None:
            fit_table = read[1].counted(out, "counting the rows to fit on").table if fit_on else table
            options |= {"top": top[0] if top else None, "top_of": top_of, "repair": "top" if repair_top else "all"}
            options["reference"] = named_group(options["reference"], fit_table.groups)
            with wish.fitting(out, rows):
                fitted = wish.make(options).fit(fit_table)
        if fitted is not None:
            table = with_groups_of(table, fitted.groups_, "the file")
        from fairpot.report import FairnessReport  # loads what a mistyped option does not need

        made = FairnessReport(
            table,
            fitted,
            title=title,
            outcome=outcome,
            threshold=list(threshold) or None,
            alpha=[top_share(each, table) for each in top],
            region="group" if top_of == "group" else "pooled",
            ties=options["ties"],
            largest_changes=None if identity is None else _largest_changes(rows, fitted, identity),
            card=about,
            inputs=read_whole(rows.source, read_here),
            **_origin(rows, counted),
        )
        with out.progress("writing the report", known=False):
            writers = dict(zip(_FORMATS, (made.to_html, made.to_json, made.to_markdown)))
            place.write_text(writers[Path(output).suffix.lower()](), encoding="utf-8", newline="\n")
    out.document(ReportDocument(rows.said(), output, made.audit, made.effect, made.notes))
    _print(out, made, output)


def _card(path: str | None) -> dict[str, list[str]] | None:
    """Read the card before the work begins."""
    from fairpot.report.content import read_card

    try:
        return read_card(path)
    except (OSError, ValueError) as fault:
        raise Failure(str(fault)) from None


def _check_choices(map_file: opt.MapFile | None, fit_on: bool, wishes: opt.Options) -> None:
    """Insist that what is said of a repair goes together; what settings say is a default, which gives way."""
    typed = [name for name in ("method", "keep", "repair_top", "reference") if opt.was_given(name)]
    if map_file is not None:
        opt.needs("top_of", "does not go with --map, a repair that is fitted already.")
        other = [*wishes, *typed, *(["fit_on"] if fit_on else [])]
        if other:
            named = opt.flag_of(other[0])
            raise click.UsageError(f"--map is a repair that is fitted already: {named} does not go with it.")
    elif not wishes and (typed or fit_on):
        what = "--fit-on fits a repair" if fit_on else f"{opt.flag_of(typed[0])} goes with a repair"
        raise click.UsageError(f"{what}: say how far it goes, with --max-gap, --lam, ...")


def _origin(rows: RowOptions, counted: CountedRows) -> opt.Options:
    """Say where a report comes from, and what a reader should know of the rows."""
    bins = Quantised.of(counted.quantisation)
    said = [] if bins is None else [bins.text]
    said += [words.Note("lower is riskier").text] if rows.lower_is_riskier else []
    return {
        "source": ", ".join(rows.inputs) if rows.inputs else str(rows.sql),
        "columns": {part: _named(name) for part, name in rows.said().columns.items()},
        "command": shlex.join(["fairpot", "report", *opt.said_again()]),
        "created": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "warnings": said,
    }


def _named(name: Any) -> str:
    if isinstance(name, bool):
        return "yes" if name else ""
    return " x ".join(name) if isinstance(name, list) else name or ""


def _largest_changes(rows: RowOptions, model: Any, column: str) -> list[opt.Options]:
    """Name the people whose scores change most, the largest change first."""
    duckdb = import_optional("duckdb", "cli")
    with tempfile.TemporaryDirectory(prefix="fairpot-") as folder:
        changes = Path(folder) / "changes.parquet"
        apply(
            model,
            rows.source,
            Path(folder) / "rows.parquet",
            changes=changes,
            keep=[column],
            drop_missing=rows.drop_missing,
        )
        name = '"' + column.replace('"', '""') + '"'
        query = (
            f'SELECT {name}, "group", old_score, new_score FROM read_parquet(?) WHERE new_score <> old_score '
            f'ORDER BY abs(new_score - old_score) DESC, "row" LIMIT {_MOST_PEOPLE}'
        )
        with duckdb.connect() as connection:
            found = connection.execute(query, [str(changes)]).fetchall()
    return [{"id": who, "group": group, "before": before, "after": after} for who, group, before, after in found]


def _print(out: Output, made: FairnessReport, output: str) -> None:
    """Say what the page says in the words and the unit of the other commands, the finding first."""
    audit, effect = made.audit, made.effect
    finding = audit.finding
    out.lines(audit.answer if effect is None else [finding.headline, finding.meaning, *effect.sentences])
    out.line()
    out.line(wording.rows_by(audit.ranking.rows, audit.ranking.weighted_rows))
    if audit.weights is not None:
        out.line(wording.weights_taken(audit.weights, audit.ranking.weighted_rows))
    out.notes([note.text for note in made.notes])
    out.line(f"Written: {shown(output)}")
