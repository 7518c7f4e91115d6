"""``fairpot report``: one page that a committee can read."""

from __future__ import annotations

import datetime
import shlex
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from fairpot._defaults import TopOf
from fairpot._validation import wording
from fairpot.cli import _options as opt
from fairpot.cli._methods import WISHES, asked, how_far, keep_option, method_option, one_wish
from fairpot.cli._printing import Inline, Output, Quantised, shown
from fairpot.cli._rows import RowOptions, RowsSaid, listed_groups, named_group, row_options, with_groups_of
from fairpot.exceptions import FairpotWarning
from fairpot.repair.fair_maps import load
from fairpot.report.content import FORMATS, read_card
from fairpot.results import Audit, Effect, audit
from fairpot.rows.applying import read_whole
from fairpot.rows.output import complete_file
from fairpot.rows.readers import CountedRows
from fairpot.rows.streams import hashing
from fairpot.words import Note

if TYPE_CHECKING:
    from fairpot.report import FairnessReport


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
@opt.option("--map FILE", "Report on this saved map.", "model_file")
@opt.only_this_map
@opt.option("--fit-on FILE", "Fit the repair on these rows; default: the same rows.", multiple=True)
@method_option
@how_far
@keep_option(rare=True)
@opt.repair_options(
    "Top of the list: an audit is about the first, a repair bounds its gap; all show who enters. Repeatable.",
    several=True,
)
@opt.group_options
@opt.option("--threshold SCORE", "Show who crosses this; repeatable.", type=opt.SCORE, multiple=True)
@opt.option("--title TEXT", "What the report is called.", default="", rare=True)
@opt.option("--outcome TEXT", 'The outcome in words, such as "a stroke within a year".', default="")
@opt.option("--card FILE", "Show this model card (TOML): purpose, owner, not_for, and what else it says.", rare=True)
@opt.option("--no-label", "Report rows without outcomes: selection rates and scores.", rare=True)
@opt.output_option("-o --output FILE", "Write the report to FILE: .html, .json or .md.", required=True)
@opt.force_option
@opt.output_options
def report(
    rows: RowOptions,
    out: Output,
    model_file: str | None,
    expect_sha256: str | None,
    fit_on: tuple[str, ...],
    method: str,
    top: tuple[float | int, ...],
    top_of: TopOf,
    min_group: int,
    only: str | None,
    no_label: bool,
    output: str,
    force: bool,
    **options: Any,
) -> None:
    """Write a report: who is ranked higher, what a repair changes, and at what price.

    It is one file that opens in any browser, offline, with a slider for how far the repair goes. Without --map and
    without a way to say how far to go (--max-gap, --lam, ...) it is an audit of the original scores.

    \b
    Examples:
      fairpot report scores.csv -o audit.html
      fairpot report new.csv --fit-on past.csv --max-gap 0.02 -o report.html
      fairpot report new.csv --map map.json --outcome "a stroke" -o report.html

    The file holds counts, no rows. A repair looks better on the rows it was fitted on: report on others.
    """
    if Path(output).suffix.lower() not in FORMATS:
        raise click.UsageError(f"a report is written as {', '.join(FORMATS)}, and {output!r} ends in none of them.")
    if no_label:
        options |= {"top": top, "min_group": min_group, "only": only}
        _report_selection(rows.unlabelled(), out, output, force, options)
        return
    about = {name: options.pop(name) for name in ("title", "outcome", "threshold")}
    card = read_card(options.pop("card"))  # before the work begins
    wishes = {name: options.pop(name) for name in WISHES}
    _check_choices(model_file, bool(fit_on), asked(wishes))
    if not top:
        opt.needs("top_of", "says something of the top: it needs --top.")
    wish = one_wish(method, wishes) if asked(wishes) else None
    fitted: Any = None if model_file is None else load(model_file, expect_sha256=expect_sha256)
    rows = rows if fitted is None else rows.of_map(fitted)
    past = rows.elsewhere(fit_on) if fit_on else None
    files = [*rows.source.inputs, *(past.source.inputs if past else ()), *([Path(model_file)] if model_file else ())]
    with complete_file(output, overwrite=force, inputs=files) as place:
        fit_table = past.counted(out, "counting the rows to fit on").table if past else None
        with hashing() as read_here:
            counted = rows.counted(out, like=fit_table)
        table = counted.table
        kept: opt.Options = {"min_group": min_group, "groups": listed_groups(only, (fit_table or table).groups)}
        if wish is not None:
            fit_table = fit_table or table
            options |= {"top": top[0] if top else None, "top_of": top_of}
            options["repair"] = "top" if options.pop("repair_top") else "all"
            options["reference"] = named_group(options["reference"], fit_table.groups)
            with wish.fitting(out, rows):
                fitted = wish.make(options).fit(fit_table, **kept)
        if fitted is not None:
            table = with_groups_of(table, fitted.groups_, "the file")
        from fairpot.report import FairnessReport  # loads what a mistyped option does not need

        made = FairnessReport(
            table,
            fitted,
            **about,
            **(kept if fitted is None else {}),
            ties=options["ties"],
            top=top,
            top_of=top_of,
            card=card,
            inputs=read_whole(rows.source, read_here),
            **_origin(rows, counted),
        )
        with out.progress("writing the report", known=False):
            place.write_text(made._written(Path(output).suffix), encoding="utf-8", newline="\n")
    out.document(ReportDocument(rows.said(), output, made.audit, made.effect, made.notes))
    _print(out, made, output)


# What needs outcomes, and so does not go with --no-label.
_OF_OUTCOMES = ("outcome", "card", "ties", "top_of", "model_file", "fit_on", "method", "keep", "repair_top")


def _report_selection(rows: RowOptions, out: Output, output: str, force: bool, options: opt.Options) -> None:
    """Report rows whose outcomes are not known: who is selected, and which scores each group has."""
    opt.without_outcomes(*_OF_OUTCOMES, *WISHES)
    from fairpot.report import SelectionReport

    with complete_file(output, overwrite=force, inputs=rows.source.inputs) as place:
        table = rows.counted(out).table
        looked_at = {"top": options["top"], "threshold": options["threshold"]}
        looked_at |= {"min_group": options["min_group"], "groups": listed_groups(options["only"], table.groups)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FairpotWarning)  # the notes say it
            found = audit(table, None, **looked_at, reference=named_group(options["reference"], table.groups))
        titled = {"title": options["title"]} if options["title"] else {}
        made = SelectionReport(found, **titled, source=", ".join(rows.inputs) or str(rows.sql))
        place.write_text(made._written(Path(output).suffix), encoding="utf-8", newline="\n")
    out.document(ReportDocument(rows.said(), output, found, None, found.notes))
    out.lines(found.answer)
    out.notes([note.text for note in found.notes])
    out.line(f"Written: {shown(output)}")


def _check_choices(model_file: str | None, fit_on: bool, wishes: opt.Options) -> None:
    """Insist that what is said of a repair goes together; what settings say is a default, which gives way."""
    typed = [name for name in ("method", "keep", "repair_top", "reference") if opt.was_given(name)]
    if model_file is None:
        opt.needs("expect_sha256", "says which map alone will do: it needs --map.")
    if model_file is not None:
        for name in filter(opt.was_given, (*wishes, *typed, "fit_on", "top_of", "min_group", "only")):
            raise click.UsageError(
                f"--map is a repair that is fitted already: {opt.flag_of(name)} does not go with it."
            )
    elif not wishes and (typed or fit_on):
        what = "--fit-on fits a repair" if fit_on else f"{opt.flag_of(typed[0])} goes with a repair"
        raise click.UsageError(f"{what}: say how far it goes, with --max-gap, --lam, ...")


def _origin(rows: RowOptions, counted: CountedRows) -> opt.Options:
    """Say where a report comes from, and what a reader should know of the rows."""
    bins = Quantised.of(counted.quantisation)
    said = [] if bins is None else [bins.text]
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


def _print(out: Output, made: FairnessReport, output: str) -> None:
    """Say what the page says in the words of the other commands, the most important first."""
    audit, effect = made.audit, made.effect
    out.lines(audit.answer if effect is None else effect.sentences)
    out.line()
    out.line(wording.rows_by(audit.ranking.rows, audit.ranking.weighted_rows))
    if audit.weights is not None:
        out.line(wording.weights_taken(audit.weights, audit.ranking.weighted_rows))
    out.notes([note.text for note in made._spoken.notes])
    out.line(f"Written: {shown(output)}")
