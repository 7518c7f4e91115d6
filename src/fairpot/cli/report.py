"""``fairpot report``: one page that a committee can read."""

from __future__ import annotations

import datetime
import shlex
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from fairpot import words
from fairpot._optional import import_optional
from fairpot._validation import wording
from fairpot.cli._documents import Inline
from fairpot.cli._errors import Failure
from fairpot.cli._methods import (
    CERTIFYING,
    WISHES,
    MethodName,
    Wish,
    afterwards,
    certifying,
    how_far,
    make_method,
    one_wish,
    settings_for,
)
from fairpot.cli._options import (
    SCORE,
    MapFile,
    Options,
    Sectioned,
    map_options,
    needs,
    output_options,
    repair_options,
    typed,
)
from fairpot.cli._printing import Output, shown
from fairpot.cli._rows import RowOptions, RowsSaid, named_group, row_options, with_groups_of
from fairpot.exceptions import ReversedScoreWarning, SmallGroupWarning
from fairpot.repair.certify import watching
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


@dataclass(frozen=True)
class ReportDocument:
    """What the page says: the audit of the original scores, and the effect of the repair if there is one."""

    said: Annotated[RowsSaid, Inline]
    output: str
    audit: Annotated[Audit, Inline]
    effect: Effect | None
    notes: tuple[Note, ...]


@click.command(cls=Sectioned, short_help="Write a page that a committee can read.")
@row_options()
@map_options("--map", text="Report on this saved map.")
@click.option("--fit-on", multiple=True, metavar="FILE", help="Fit the repair on these rows; default: the same rows.")
@click.option("--method", type=MethodName(), default="fairpot", show_default=True, help="How scores are repaired.")
@how_far
@afterwards
@repair_options(
    "Top of the list: an audit is about the first, a repair bounds its gap; all show who enters. Repeatable.",
    several=True,
)
@click.option("--threshold", type=SCORE, multiple=True, metavar="SCORE", help="Show who crosses this; repeatable.")
@click.option("--id", "identity", metavar="COLUMN", help="Name the people whose scores change most by this column.")
@click.option("--title", default="", help="What the report is called.")
@click.option("--outcome", default="", help='The outcome in words, such as "a stroke within a year".')
@click.option(
    "--card", metavar="FILE", help="Show this model card (TOML): purpose, owner, not_for, and what else it says."
)
@click.option("-o", "--output", required=True, metavar="FILE", help="Write the report to FILE: .html, .json or .md.")
@click.option("--force", is_flag=True, help="Replace the output if it already exists.")
@output_options
def report(
    rows: RowOptions,
    out: Output,
    map_file: MapFile | None,
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
    _check_name(output)
    about = _card(card)
    wishes = {name: options.pop(name) for name in WISHES}
    after = typed({"method": method, "keep": options["keep"], "repair_top": repair_top})
    after |= typed({"reference": options["reference"]})
    _check_choices(map_file, fit_on, wishes | after)
    if _asked(after) and not _asked(wishes):
        named = next(name for name, value in after.items() if value)
        raise click.UsageError(
            f"--{named.replace('_', '-')} goes with a repair: say how far it goes, with --max-gap, --lam, ..."
        )
    if map_file is not None:
        needs("top_of", "does not go with --map, a repair that is fitted already.")
    if not top or map_file is not None:
        needs("top_of", "says something of the top: it needs --top.")
    _check_id(rows, identity, repaired=map_file is not None or _asked(wishes))
    fitted = None if map_file is None else map_file.load()
    rows = rows if fitted is None else rows.of_map(fitted)
    read = [rows, *([rows.elsewhere(fit_on)] if fit_on else [])]
    files = [file for each in read for file in each.files()] + ([Path(map_file.path)] if map_file else [])
    with complete_file(output, overwrite=force, inputs=files) as place:
        with hashing() as read_here:
            counted = rows.counted(out)
        fitted_on = read[1].counted(out, "counting the rows to fit on") if fit_on else counted
        if fitted is None and _asked(wishes):
            wish = one_wish(method, wishes)
            options |= {"top": top[0] if top else None, "top_of": top_of, "repair": "top" if repair_top else "all"}
            with certifying(out, wish, method, rows):
                what = "fitting" if wish.confidence is None else CERTIFYING
                with out.progress(what, known=wish.confidence is not None) as told, watching(told):
                    fitted = _fitted(method, wish, options, fitted_on)
        table = counted.table
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
            **origin(rows, counted),
        )
        with out.progress("writing the report", known=False):
            _write(made, place, output)
    out.document(ReportDocument(rows.said(), output, made.audit, made.effect, made.notes))
    _print(out, made, output)


def origin(rows: RowOptions, counted: CountedRows) -> Options:
    """Say where a report comes from."""
    return {
        "source": _source(rows),
        "columns": {part: _named(name) for part, name in rows.said().columns.items()},
        "command": command_line(click.get_current_context()),
        "created": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "warnings": _said_of(rows, counted),
    }


def _said_of(rows: RowOptions, counted: CountedRows) -> list[str]:
    """Say what a reader should know of the rows: that scores were put into bins, or run the other way."""
    bound = counted.quantisation
    bins = [] if bound is None else [words.quantised(bound.auc, float(bound.xauc.max()), bound.score)]
    return [*bins, *([words.Note("lower is riskier").text] if rows.lower_is_riskier else [])]


def _write(made: FairnessReport, place: Path, output: str) -> None:
    """Write to a place that may be called anything, in the format that the output's name asks for."""
    writers = dict(zip(_FORMATS, (made.to_html, made.to_json, made.to_markdown)))
    place.write_text(writers[Path(output).suffix.lower()](), encoding="utf-8", newline="\n")


def _check_name(output: str) -> None:
    if Path(output).suffix.lower() not in _FORMATS:
        raise click.UsageError(f"a report is written as {', '.join(_FORMATS)}, and {output!r} ends in none of them.")


def _card(path: str | None) -> dict[str, list[str]] | None:
    """Read the card before the work begins."""
    if path is None:
        return None
    from fairpot.report.content import read_card

    try:
        return read_card(path)
    except (OSError, ValueError) as fault:
        raise Failure(str(fault)) from None


def _check_choices(map_file: MapFile | None, fit_on: tuple[str, ...], wishes: Options) -> None:
    asked = [name for name, value in wishes.items() if value is not None and value is not False]
    if map_file is not None and (asked or fit_on):
        named = f"--{asked[0].replace('_', '-')}" if asked else "--fit-on"
        raise click.UsageError(f"--map is a repair that is fitted already: {named} does not go with it.")
    if fit_on and not asked:
        raise click.UsageError("--fit-on fits a repair: say how far it goes, with --max-gap, --lam, ...")


def _asked(wishes: Options) -> bool:
    """Whether it was said how far to go."""
    return any(value is not None and value is not False for value in wishes.values())


def _fitted(method: str, wish: Wish, options: Options, counted: CountedRows) -> Any:
    """Fit the repair."""
    options = options | {"reference": named_group(options["reference"], counted.table.groups)}
    estimator = make_method(method, wish, settings_for(method, options))
    with warnings.catch_warnings():  # what they say stands on the page
        warnings.simplefilter("ignore", SmallGroupWarning)
        warnings.simplefilter("ignore", ReversedScoreWarning)
        return estimator.fit(counted.table)


def _source(rows: RowOptions) -> str:
    return ", ".join(rows.inputs) if rows.inputs else str(rows.sql)


def _named(name: Any) -> str:
    if isinstance(name, bool):
        return "yes" if name else ""
    return " x ".join(name) if isinstance(name, list) else name or ""


_MOST_PEOPLE = 20


def _check_id(rows: RowOptions, column: str | None, repaired: bool) -> None:
    """Insist that an id column can be used."""
    if column is None:
        return
    if not repaired:
        raise click.UsageError("--id names the people whose scores change most: say how far a repair goes, or --map.")
    if "-" in rows.inputs:
        raise click.UsageError("--id reads the rows a second time, which standard input (-) cannot give.")


def _largest_changes(rows: RowOptions, model: Any, column: str) -> list[Options]:
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


_GIVEN = (click.core.ParameterSource.COMMANDLINE, click.core.ParameterSource.DEFAULT_MAP)


def command_line(context: click.Context) -> str:
    """Write down the command again, with what was given, here or in settings, and nothing else."""
    said = ["fairpot", str(context.info_name)]
    for parameter in context.command.params:
        name = str(parameter.name)
        if context.get_parameter_source(name) not in _GIVEN:
            continue
        value = context.params[name]
        flag = max(parameter.opts, key=len) if isinstance(parameter, click.Option) else None
        for each in value if isinstance(value, tuple) else (value,):
            said += ([] if flag is None else [flag]) + ([] if each is True else [str(each)])
    return shlex.join(said)


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
