"""``fairpot audit``: who is ranked above whom."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from fairpot._defaults import ADJUSTED
from fairpot._validation import wording
from fairpot.auditing import Audit, words
from fairpot.auditing import audit as audit_table
from fairpot.auditing.audit import GUARDS, Guards
from fairpot.auditing.finding import Finding
from fairpot.auditing.measures import tops
from fairpot.auditing.words import widest_pair
from fairpot.cli._errors import ABOVE_LIMIT, Failure
from fairpot.cli._lines import (
    by_column,
    name_of,
    own_scale,
    print_calibration,
    print_intervals,
    print_matrix,
    print_pairs,
    print_quantisation,
    print_rates,
    print_verdicts,
    quantisation_document,
    verdict_document,
)
from fairpot.cli._options import (
    SCORE,
    SHARE,
    Sectioned,
    all_option,
    group_options,
    interval_options,
    one_or_several,
    output_options,
    ranking_options,
    said_again,
)
from fairpot.cli._printing import Output, count, number, percent, shown
from fairpot.cli._rows import RowOptions, listed_groups, named_group, row_options
from fairpot.exceptions import FairpotWarning
from fairpot.inference import Estimate
from fairpot.metrics.cells import small_cells
from fairpot.rows.output import complete_file
from fairpot.rows.readers.protocol import CountedRows


@click.command(cls=Sectioned, short_help="Measure who is ranked above whom.")
@row_options()
@ranking_options(
    "Look at the top SHARE of the list, such as 0.1; repeatable.",
    "Reference group for the sign of gaps; default: the one whose scores a repair would not change.",
)
@group_options
@click.option(
    "--threshold",
    type=SCORE,
    multiple=True,
    metavar="SCORE",
    help="Also show who is flagged at this score or above; repeatable.",
)
@click.option("--fail-above", type=SHARE, metavar="GAP", help="Exit with 3 if the measured gap is above GAP.")
@click.option(
    "--fail-metric",
    type=click.Choice(GUARDS),
    help="Which gap --fail-above and --bound look at; default: both, if --alpha is given.",
)
@interval_options
@click.option("--html", metavar="FILE", help="Also write a page that a committee can read.")
@click.option("--force", is_flag=True, help="Replace that page if it already exists.")
@all_option
@output_options
def audit(
    rows: RowOptions,
    out: Output,
    alpha: tuple[float, ...],
    region: str,
    ties: str,
    reference: str | None,
    fail_above: float | None,
    fail_metric: Guards | None,
    threshold: tuple[float, ...],
    min_group: int,
    only: str | None,
    level: float,
    bound: float | None,
    require: str | None,
    html: str | None,
    force: bool,
    everything: bool,
) -> None:
    """Say whether one group is ranked higher than another: the gap with its interval, then pairs and groups.

    xAUC of A over B is how often someone in A with the outcome is ranked above someone in B without it. The gap is the
    difference of the two xAUCs of a pair of groups: 0 is equal.

    \b
    Examples:
      fairpot audit scores.parquet --score risk --label outcome --group sex --high-score-means harm
      fairpot audit 'scores/*.csv' --group sex --group age_band --alpha 0.1 --threshold 0.3
      fairpot audit visits.csv --cluster patient --bound 0.05 --require within     # a gate for pipelines

    FILE is a file, a folder, a pattern or - for standard input: Parquet, CSV or TSV (also .gz), Arrow, JSON lines.
    With --alpha, --fail-above and --bound look at the overall gap and at the gap in the top; the stricter decides.
    --fail-metric names one of them. Intervals take rows as independent, unless --cluster says which belong together.
    With --lower-is-riskier, --threshold 3 flags who has 3 or less.
    """
    if require is not None and bound is None:
        raise click.UsageError("--require needs the bound to compare with: --bound 0.05, say.")
    if fail_metric is not None and fail_above is None and bound is None:
        raise click.UsageError("--fail-metric says which gap --fail-above or --bound looks at, and neither is given.")
    if fail_metric == "top" and not alpha:
        raise click.UsageError("--fail-metric top needs the top to look at: --alpha 0.1, say.")
    with _page(html, force, rows) as place:
        counted = rows.counted(out)
        if place is not None:
            acted_on = {"threshold": [rows.at(each) for each in threshold], "alpha": alpha}
            _write_page(place, rows, counted, {**acted_on, "region": region, "ties": ties})
    seen_from = named_group(reference, counted.table.groups)
    ranking: dict[str, Any] = {"region": region, "ties": ties, "reference": seen_from}
    looked_at: dict[str, Any] = {"alpha": one_or_several(alpha), "threshold": one_or_several(threshold)}
    chosen: dict[str, Any] = {"min_group": min_group, "groups": listed_groups(only, counted.table.groups)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairpotWarning)  # the answer itself says it
        found = audit_table(counted.table, **ranking, **chosen, **looked_at, level=level)
    summary = own_scale(found.to_dict(), rows.lower_is_riskier)
    limit = _verdict(summary, fail_above, fail_metric)
    judged = [] if bound is None else found.verdicts(bound, level=level, guards=fail_metric)
    out.document(
        {
            **rows.document(),
            **summary,
            "quantisation": quantisation_document(counted.quantisation),
            "fail_above": limit,
            "verdict": verdict_document(judged),
        }
    )
    failed = not print_verdicts(out, judged, require)
    if limit is not None:
        _print_verdict(out, limit, rows.groups)
    gated = bound is not None or limit is not None
    print_audit(out, found, rows, next_step=None if gated else _next(found, rows), everything=everything)
    print_quantisation(out, counted.quantisation)
    if html is not None:
        out.line(f"Written: {shown(html)}")
    if failed or (limit is not None and limit["exceeded"]):
        raise click.exceptions.Exit(ABOVE_LIMIT)


@contextmanager
def _page(html: str | None, force: bool, rows: RowOptions) -> Iterator[Path | None]:
    """Check where the page goes before the work begins, and put it into place when it is whole."""
    if html is None:
        yield None
        return
    with complete_file(html, overwrite=force, inputs=rows.files()) as place:
        yield place


def _write_page(place: Path, rows: RowOptions, counted: CountedRows, options: dict[str, Any]) -> None:
    """Write the audit as a page."""
    from fairpot.cli.report import origin
    from fairpot.report import FairnessReport

    made = FairnessReport(counted.table, **options, **origin(rows, counted))
    place.write_text(made.to_html(), encoding="utf-8", newline="\n")


def print_audit(out: Output, found: Audit, rows: RowOptions, *, next_step: str | None, everything: bool) -> None:
    """Show an audit: the finding first, then pairs, then groups; the rest where everything is asked for."""
    told, *others = (each.named(lambda group: name_of(group, rows.groups)) for each in _findings(found))
    out.line(shown(told.headline), "bold")
    out.line(shown(told.meaning))
    for text in () if next_step is None else next_step.splitlines():
        out.line(shown(text))
    summary = by_column(own_scale(found.summary, rows.lower_is_riskier), rows.groups)
    lower = rows.lower_is_riskier
    _print_rows(out, summary, rows)
    ranking = summary if told.alpha is None else tops(summary)[0]
    complete = print_pairs(out, ranking, lower_is_riskier=lower, everything=everything)
    for each in others:
        out.line(shown(each.headline))
    _print_groups(out, summary)
    for top in tops(summary):
        _print_partial(out, top, "to score" if lower else "from score")
    rates = [each for each in summary["rates"] if everything or each["at"] == "score"]  # the top's are above
    print_rates(out, rates, lower_is_riskier=lower)
    if everything:
        _print_everything(out, found, summary, rows)
    out.warnings(found.warnings if everything else _folded(found), everything=everything)
    if complete and not everything:
        out.line("--all shows every xAUC, calibration, tied pairs and xAUC against all other groups", "dim")


def _folded(found: Audit) -> list[str]:
    """Leave out the warnings of small groups where the finding has said which groups are too small."""
    small = small_cells(found.table) if found.finding.small_groups else []
    return [text for text in found.warnings if text not in small]


def _findings(found: Audit) -> list[Finding]:
    """Put the main finding first, then the others."""
    return [found.finding, *(each for each in found.findings if each.alpha != found.finding.alpha)]


def _print_rows(out: Output, summary: dict[str, Any], rows: RowOptions) -> None:
    """Say what was read."""
    low, high = summary["score_range"]
    sized = wording.rows_by(summary["rows"], summary["weights"])
    auc = "-" if summary["auc"] is None else words.with_interval(summary["auc"])
    out.line()
    out.line(f"{sized}, {summary['rate']:.1%} with the outcome; AUC {auc}")
    if summary["weights"] is not None:
        out.line(wording.weights_taken(summary["weights"], summary["rows"]))
    direction = "; low score = high risk" if rows.lower_is_riskier else ""
    distinct = wording.counted(summary["distinct_scores"], "distinct score", ",")
    out.line(f"{rows.describe()}; {distinct} from {low:g} to {high:g}{direction}")


def _print_everything(out: Output, found: Audit, summary: dict[str, Any], rows: RowOptions) -> None:
    """Show what --all adds: every xAUC, each group against all others, intervals, calibration, ties."""
    print_matrix(out, summary)
    out.heading("xAUC against all other groups together")
    named = [("others over the group (BPSN)", "bpsn_auc"), ("the group over others (BNSP)", "bnsp_auc")]
    cells = [[shown(each["group"]), *(number(each[name]) for _, name in named)] for each in summary["groups"]]
    out.table(["group", *(text for text, _ in named)], cells)
    intervals = own_scale(found.to_dict(), rows.lower_is_riskier)["intervals"]
    if intervals is not None:
        print_intervals(out, by_column(intervals, rows.groups))
    print_calibration(out, summary)
    out.line()
    out.line(f"tied pairs: {summary['tied']['share'] or 0.0:.2%} (counted as {_WINS[summary['ties']]})")


_WINS = {"strict": "no win", "half": "half a win, --ties strict counts them as none"}


def _print_groups(out: Output, summary: dict[str, Any]) -> None:
    out.heading("Groups")
    calibrated = summary["calibration"] is not None
    columns = ["group", "rows", "with outcome", "share", "AUC", "from", "to", *_CALIBRATION[: int(calibrated)]]
    everyone = {"group": "all", **summary}
    rows = []
    for each in (*summary["groups"], everyone):
        counts = [count(each[name]) for name in ("rows", "positives")]
        error = (each["calibration"] or {}).get("expected_calibration_error")
        cells = [shown(each["group"]), *counts, percent(each["positives"], each["rows"]), *_limited(each["auc"])]
        rows.append([*cells, *[words.figure(error)][: int(calibrated)]])
    out.table(columns, rows)


_CALIBRATION = ["calibration error"]


def _limited(found: Estimate | None) -> list[str]:
    """Show a number and the ends of its interval."""
    if found is None:
        return ["-"] * 3
    return [words.figure(each) for each in (found, found.low, found.high)]


# What `fit` is told again.
_AGAIN = ("ties", "reference", "min_group", "only", "threshold")


def _next(found: Audit, rows: RowOptions) -> str:
    """Say what comes next: the command that fits a repair, where the rows show a difference and there is a file."""
    finding = found.finding
    proposed = finding.clear and (found.auc or 0.0) >= 0.5 and "-" not in rows.inputs
    if not proposed or rows.score.endswith(ADJUSTED):
        return finding.next
    again = said_again(*_AGAIN)
    if len(looked_at := tops(found.summary)) == 1:  # a repair has one top
        [top] = looked_at
        again += ["--top", str(top["alpha"]), *(["--top-of", "group"] if top["region"] == "group" else [])]
    command = ["fairpot", "fit", *rows.inputs, *rows.as_options(), *again, "--max-gap", "GAP", "-o", "map.json"]
    asked = "" if finding.high_score_means is not None else f"\n{words.say_meaning('--high-score-means')}"
    return f"Next: {shlex.join(command)}{asked}"


def _print_partial(out: Output, partial: dict[str, Any], edge: str) -> None:
    whose = "all rows" if partial["region"] == "pooled" else "each group"
    out.heading(f"In the top {words.share(partial['alpha'])} of {whose}: {count(partial['rows'])} rows")
    columns = ["group", "rows", "with outcome", "recall", "precision", edge]
    out.table(
        columns,
        [
            [
                shown(each["group"]),
                *(count(each[name]) for name in ("rows", "positives")),
                *(words.figure(each[name]) for name in ("recall", "precision")),
                f"{each['threshold']:.6g}",
            ]
            for each in partial["groups"]
        ],
    )
    out.line(
        f"all: AUC {words.figure(partial['auc'])}, recall {words.figure(partial['recall'])} "
        f"({count(partial['found'])} rows with the outcome found), precision {words.figure(partial['precision'])}"
    )


def _verdict(summary: dict[str, Any], limit: float | None, which: str | None) -> dict[str, Any] | None:
    """Compare the gaps with the limit; a gap that cannot be measured is an error, not a pass."""
    if limit is None:
        return None
    overall = [summary] if which != "top" else []
    inside = tops(summary) if which != "overall" else []
    looked_at = [*overall, *inside]
    if any(None in (each["gap"], *(pair["signed_gap"] for pair in each["gaps"])) for each in looked_at):
        raise Failure(
            "--fail-above cannot be decided: a gap cannot be measured, as a group lacks rows of one outcome.\n"
            "Hint: run without --fail-above to see which; join small groups, or collect more rows."
        )
    worst = max(looked_at, key=lambda each: each["gap"])
    pair, top = widest_pair(worst), worst.get("alpha")
    alphas, gaps = ([each[name] for each in inside] for name in ("alpha", "gap"))
    several = isinstance(summary["partial"], list)
    return {
        "limit": limit,
        "alpha": alphas if several else alphas[0] if alphas else None,
        **({"gap": summary["gap"]} if overall else {}),
        **({"partial_gap": gaps if several else gaps[0]} if inside else {}),
        "exceeded": worst["gap"] > limit,
        "worst": {
            "metric": "gap" if top is None else "partial_gap",
            "alpha": top,
            "value": worst["gap"],
            "pair": [pair["first"], pair["second"]] if pair else None,
        },
    }


def _print_verdict(out: Output, verdict: dict[str, Any], columns: Sequence[str]) -> None:
    worst = verdict["worst"]
    top = worst["alpha"]
    name = "overall gap" if top is None else f"gap in the top {100 * top:.4g}%"
    pair = [shown(name_of(each, columns)) for each in worst["pair"] or ()]
    between = f" between {' and '.join(pair)}" if pair else ""
    said = f"the {name}{between} is {words.beside(worst['value'], verdict['limit'])}, "
    if verdict["exceeded"]:
        out.line(f"FAILED: {said}above {verdict['limit']:g}", "bold red")
    else:
        out.line(f"passed: {said}at most {verdict['limit']:g}", "green")
