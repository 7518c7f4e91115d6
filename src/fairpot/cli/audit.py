"""``fairpot audit``: who is ranked above whom."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

import click

from fairpot import words
from fairpot._defaults import ADJUSTED, TopOf
from fairpot._validation import wording
from fairpot.cli import _lines as lines
from fairpot.cli import _options as opt
from fairpot.cli._errors import ABOVE_LIMIT
from fairpot.cli._gates import GATES, FailAbove, Gates, RatioVerdicts, Verdicts, gate_options
from fairpot.cli._printing import Inline, Output, Quantised, shown
from fairpot.cli._rows import RowOptions, RowsSaid, listed_groups, named_group, row_options
from fairpot.cli._settings import OF_OUTCOMES
from fairpot.exceptions import FairpotWarning, InputFileError
from fairpot.inference.change import compare_columns
from fairpot.results import Audit
from fairpot.results import audit as audit_table
from fairpot.results.audit import Audits
from fairpot.results.ruled import Rule, Ruled, read_rule
from fairpot.rows.readers import CountedRows

_MOST = 6  # findings that are told before the next step
_WINS = {"strict": "no win", "half": "half a win, --ties strict counts them as none"}


@dataclass(frozen=True)
class AuditDocument:
    """What was found, and every number behind it."""

    said: Annotated[RowsSaid, Inline]
    audit: Annotated[Audit, Inline]
    quantisation: Quantised | None
    fail_above: FailAbove | None
    verdict: Verdicts | None
    ratio_verdict: RatioVerdicts | None


@dataclass(frozen=True)
class AuditsDocument:
    """Audits of several scores of the same rows, and how each differs from the first."""

    said: Annotated[RowsSaid, Inline]
    models: Mapping[str, Any]


@click.command(cls=opt.Sectioned, short_help="Measure who is ranked above whom.")
@row_options(several_scores=True)
@opt.option(
    "--top ROWS|SHARE", "Look at this top of the list, such as 10% or 200; repeatable.", type=opt.TOP, multiple=True
)
@opt.top_of_option
@opt.ties_option
@opt.option(
    "--reference GROUP", "Reference group for the sign of gaps; default: the one that a repair would not change."
)
@opt.group_options
@opt.threshold_option
@gate_options
@opt.option("--no-label", "Audit without outcomes: selection rates and scores.")
@opt.output_option("--rates", "Print every rate by group, with differences and ratios.", "all_rates", rare=True)
@opt.output_option("--table csv|markdown", "With --for: print its tables in this form.", rare=True)
@opt.all_option
@opt.output_options
def audit(
    rows: RowOptions,
    out: Output,
    top: tuple[float | int, ...],
    top_of: TopOf,
    reference: str | None,
    only: str | None,
    no_label: bool,
    table: str | None,
    all_rates: bool,
    everything: bool,
    **options: Any,
) -> None:
    """Say whether one group is ranked higher than another: the gap with its interval, then pairs and groups.

    xAUC of A over B is how often someone in A with the outcome is ranked above someone in B without it. The gap is the
    difference of the two xAUCs of a pair of groups: 0 is equal.

    \b
    Examples:
      fairpot audit scores.csv --score risk --label outcome --group sex
      fairpot audit 'scores/*.csv' --group sex --group race --top 10%
      fairpot audit visits.csv --cluster patient --bound 0.05 --require within

    FILE is a file, a folder, a pattern or - for standard input: Parquet, CSV or TSV (also .gz), Arrow, JSON lines.
    With --top, --fail-above and --bound look at the overall gap and at the gap in the top; the stricter decides.
    --fail-metric names one of them. Intervals take rows as independent, unless --cluster says which belong together.
    With --lower-is-riskier, --threshold 3 flags who has 3 or less. With --time, --event and --horizon, outcomes are
    those by a time; rows that stayed count for those that left before.

    A score that is not better than chance has no gap: --fail-above and --require also fail where the AUC, overall or
    of a group, is not shown to be above 0.5, unless you pass --allow-chance. --min-group leaves small groups out.

    With --no-label, the audit needs no outcomes. It shows who is flagged at --threshold or in --top (the top 10%, if
    you name neither), and the scores of each group. --min-ratio compares selection rates, with or without outcomes:
    "within" if none is below that share of another, "below" if one is, or "cannot tell".

    Exit codes: 0 fine, 2 an error, 3 the gap is above --fail-above, a ratio is shown to be below --min-ratio, or the
    answer is not what --require asks for.
    """
    if not top:
        opt.needs("top_of", "says whose top it is: it needs the top to look at, --top 10%.")
    gates = Gates(**{each.name: options.pop(each.name) for each in GATES})
    gates.check(bool(top))
    rule = gates.rule
    if rule is None:
        opt.needs("table", "is the form of a rule's tables: it needs --for ll144, say.")
    else:
        asked = read_rule(rule)
        if asked.needs_outcomes and no_label:
            raise click.UsageError(f"--for {rule} needs outcomes, and --no-label says that there are none.")
        _check_with_rule(asked, gated=gates.of_gaps)
        rows = replace(rows, missing="own") if asked.unknown else rows  # with those without a group
    if no_label:
        rows = rows.unlabelled()
        opt.without_outcomes(*OF_OUTCOMES)
    if rows.other_scores:
        _check_several(rows)
    counted = _counted(rows, out)
    groups = counted.table.groups
    options |= {"reference": named_group(reference, groups), "groups": listed_groups(only, groups)}
    options |= {"top": list(top), "top_of": top_of, "rule": rule}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairpotWarning)  # the answer itself says it
        found = audit_table(counted.table, None, **options)
        several = _several(rows, out, found, options) if rows.other_scores else None
    if several is not None:
        out.document(AuditsDocument(rows.said(), several.to_dict()["models"]))
        lines.print_audits(out, several)
        return
    bins, decided = Quantised.of(counted.quantisation), gates.decide(found, options["level"])
    verdicts, ratios = Verdicts.of(decided.verdicts), RatioVerdicts.of(decided.ratios)
    out.document(AuditDocument(rows.said(), found, bins, decided.limit, verdicts, ratios))
    passed = decided.print(out, rows.groups)
    ruled = found.spoken.rule
    if ruled is not None:
        _print_rule(out, ruled, table)
        out.notes(found.spoken.beside_rule if table is None else [])
    else:
        _print_answer(out, found, rows, gated=gates.of_gaps or bool(decided.ratios))
        _print_tables(out, found, rows, everything=everything, rates=not all_rates)
        if all_rates:
            compared = {"to_reference": reference is not None, "lower_is_riskier": rows.lower_is_riskier}
            lines.print_every_rate(out, found.spoken.rates, **compared)
        if bins is not None:
            out.note(bins.text)
    if not passed:
        raise click.exceptions.Exit(ABOVE_LIMIT)


def _check_with_rule(rule: Rule, *, gated: bool) -> None:
    """Refuse what would change nothing beside a rule; its own cut is not that of --min-ratio."""
    own_cut = {"median": ["threshold", "top", "min_ratio"], "threshold": ["top"]}.get(rule.cut, [])
    for name in ("all_rates", "everything", "reference", *own_cut):
        if opt.was_given(name) and not (name == "top" and gated):
            where = f", which looks at its own cut ({rule.cut})" if name in own_cut else ""
            raise click.UsageError(f"{opt.flag_of(name)} does not go with this rule of --for{where}.")
    if opt.was_given("table") and opt.was_given("as_json"):
        raise click.UsageError("--table and --json are two forms of the answer: give one.")


# What is of one score, and does not go with several.
_OF_ONE = ("fail_above", "fail_metric", "bound", "min_ratio", "require", "allow_chance", "rule", "all_rates")


def _check_several(rows: RowOptions) -> None:
    """Refuse what cannot be done with several scores: gates are of one, and rows have to be read more than once."""
    if len({rows.score, *rows.other_scores}) <= len(rows.other_scores):
        raise click.UsageError("--score names the same column twice.")
    for name in (*_OF_ONE, "everything", "drop_missing"):
        opt.needs(name, f"goes with one --score, and there are {1 + len(rows.other_scores)}.")
    if rows.time is not None and rows.leaving != "group":
        said = "several --score are compared with the same weights, and after a time weights depend on the score"
        raise click.UsageError(f"{said}: add --leaving group.")
    if rows.engine != "duckdb" or "-" in rows.inputs:
        what = "standard input" if "-" in rows.inputs else f"--engine {rows.engine}"
        raise click.UsageError(f"several --score are read row by row, which {what} does not allow: name files.")


def _several(rows: RowOptions, out: Output, first: Audit, options: opt.Options) -> Audits:
    """Audit the other scores too, and compare each with the first on the same rows."""
    audits = {rows.score: first}
    for name in rows.other_scores:
        table = replace(rows, score=name).counted(out).table
        audits[name] = audit_table(table, None, **options | {"reference": first.reference})
    if not first.ranking.labelled:
        return Audits(audits, {})
    from fairpot.rows.paired import side_by_side  # brings DuckDB

    together, columns = side_by_side(rows.source, list(audits), rows.memory, rows.threads)
    compared = together.only(first.table.groups), dict(zip(audits, columns))
    return Audits(audits, compare_columns(*compared, ties=options["ties"], level=options["level"]))


def _print_rule(out: Output, ruled: Ruled, form: str | None) -> None:
    """Show the tables of a rule, what it leaves to judgement, and where it comes from."""
    if form is not None:
        for line in (ruled.to_csv() if form == "csv" else ruled.to_markdown()).splitlines():
            out.line(line)
        return
    out.line(shown(ruled.title), "bold")
    for table in ruled.tables:
        heads, rows = table.cells()
        out.table(shown(ruled.caption(table)), heads, [list(map(shown, row)) for row in rows])
        for text in table.notes():
            out.line(shown(text))
    out.line()
    if ruled.judgement:
        out.line(words.JUDGEMENT)
    for text in ruled.judgement:
        out.line(f"  {shown(text)}")
    for text in ruled.origin:
        out.line(shown(text), "dim")


def _counted(rows: RowOptions, out: Output) -> CountedRows:
    """Count the rows; where the column of outcomes is not found, name the way without them."""
    try:
        return rows.counted(out)
    except InputFileError as error:
        if rows.label is None or f"column {rows.label!r}" not in str(error).partition("Hint:")[0]:
            raise
        said = f"{str(error).rstrip('.')}. If outcomes are not known: --no-label."
        raise InputFileError(said) from error


def _print_answer(out: Output, found: Audit, rows: RowOptions, *, gated: bool) -> None:
    """Say what was found; where no gate was asked for, also what comes next."""
    *said, next_step = found.answer
    out.lines(said[:_MOST])
    command = _next(found, rows)
    if gated:
        return
    if command is None:
        out.line(shown(next_step))
        return
    out.command(command)
    if found.high_score_means is None:
        out.line(words.say_meaning("--high-score-means"))


def _print_tables(out: Output, found: Audit, rows: RowOptions, *, everything: bool, rates: bool) -> None:
    """Show pairs, groups, tops and, unless all are asked for, the usual rates; the rest where everything is."""
    told, lower = found.spoken, rows.lower_is_riskier
    _print_rows(out, found, rows)
    complete = True
    if everything or len(found.ranking.gaps) > 1:
        for ranking in (told.ranking, *told.tops) if everything else (told.told,):
            complete = lines.print_pairs(out, ranking, lower_is_riskier=lower, everything=everything)
    lines.print_groups(out, told)
    for top in told.tops:
        lines.print_top(out, top, lower_is_riskier=lower)
    shown_here = everything or not found.ranking.labelled  # else those of a top are above
    if rates:
        usual = [each for each in told.rates_asked if shown_here or each.at == "score"]
        lines.print_rates(out, usual, lower_is_riskier=lower)
    if not found.ranking.labelled:
        lines.print_scores(out, told.scores)
    if everything:
        for ranking in (told.ranking, *told.tops):
            lines.print_intervals(out, ranking)
        lines.print_calibration(out, told)
        if told.ranking.tied is not None:
            out.line()
            out.line(f"tied pairs: {told.ranking.tied.share or 0.0:.2%} (counted as {_WINS[told.ranking.ties]})")
    notes = told.notes if everything else _folded(told)
    out.notes([note.text for note in notes], everything=everything)
    if complete and not everything and found.ranking.labelled:
        out.line("--all shows every xAUC, calibration and tied pairs", "dim")


def _folded(found: Audit) -> list[words.Note]:
    """Leave out the notes of groups of which the statements have said that they are too small."""
    caveats = [caveat for statement in found.statements for caveat in statement.caveats]
    said = {group for caveat in caveats if caveat.kind in ("untold", "one outcome") for group in caveat.groups}
    return [n for n in found.notes if n.kind != "small" or n.group not in said or n.top is not None]


def _print_rows(out: Output, found: Audit, rows: RowOptions) -> None:
    ranking = found.ranking
    sized = wording.rows_by(ranking.rows, ranking.weighted_rows)
    rate = f"{ranking.rate or 0.0:.1%}"
    cases = f"{rate} with the outcome"
    if ranking.positives is not None and ranking.weighted_rows is not None:
        cases = f"{wording.shown_rows(ranking.positives)} with the outcome ({rate} by weight)"
    auc = "-" if found.auc is None else words.FRACTIONS.with_interval(found.auc, auc=True)
    out.line()
    out.line(f"{sized}, {cases}; AUC {auc}" if ranking.labelled else sized)
    if found.weights is not None:
        out.line(wording.weights_taken(found.weights, ranking.weighted_rows))
    low, high = ranking.score_range or (0.0, 0.0)
    direction = "; low score = high risk" if rows.lower_is_riskier else ""
    distinct = wording.counted(ranking.distinct_scores, "distinct score", ",")
    out.line(f"{rows.describe()}; {distinct} from {low:g} to {high:g}{direction}")


def _next(found: Audit, rows: RowOptions) -> list[str] | None:
    """Give the command that fits a repair, where the rows show a difference and there is a file."""
    clear = [each for each in found.statements if each.clear]
    if not clear or found.statements[0].about_score or "-" in rows.inputs or rows.score.endswith(ADJUSTED):
        return None
    again = opt.said_again("ties", "reference", "min_group", "only", "threshold")
    first = clear[0]
    if first.top is not None and len(found.tops) == 1:  # a repair has one top
        again += ["--top", opt.written_top(first.top), *(["--top-of", "group"] if first.top_of == "group" else [])]
    return ["fairpot", "fit", *rows.inputs, *rows.as_options(), *again, "--max-gap", "GAP", "-o", "map.json"]
