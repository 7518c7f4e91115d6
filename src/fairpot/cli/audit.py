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
    print_gap,
    print_intervals,
    print_matrix,
    print_quantisation,
    print_rates,
    print_verdicts,
    quantisation_document,
    verdict_document,
)
from fairpot.cli._options import (
    SCORE,
    SHARE,
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
from fairpot.files import CountedRows
from fairpot.files.output import complete_file


@click.command(short_help="Measure who is ranked above whom.")
@row_options()
@ranking_options(
    "Also look at the top SHARE of the ranking; repeatable.",
    "Group to compare with; default: the one ahead.",
    several=True,
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
@click.option("--force", is_flag=True, help="Replace that page if it is there.")
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
) -> None:
    """Measure how fairly scores rank: AUC in each group, xAUC between groups, their gap, and calibration.

    xAUC is how often a positive of one group is ranked above a negative of another. The gap is how much that
    differs from the other way round: 0 is fair.

    \b
    Examples:
      fairpot audit scores.parquet --score risk --label outcome --group sex
      fairpot audit 'scores/*.csv' --group sex --group age_band --alpha 0.1 --threshold 0.2 --threshold 0.3
      fairpot audit scores.csv --label churned --positive yes --fail-above 0.05   # for pipelines
      fairpot audit visits.csv --cluster patient --bound 0.05 --require within    # and shown to be so
      fairpot audit scores.csv --html audit.html                                  # for people
      cat scores.csv | fairpot audit - --json
      fairpot audit --sql "select * from visits" --database clinic.duckdb --score risk

    FILE is a file, a folder, a pattern or - for standard input: Parquet, CSV or TSV (also .gz), Arrow, JSON lines.
    With --alpha, --fail-above and --bound look at the gap over all rows and at the gap in the top of the ranking; the
    stricter decides. --fail-metric names one of them.
    Intervals take rows as independent, unless --cluster says which belong together. With --lower-is-riskier,
    --threshold 3 flags who has 3 or less.
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
    named = found.finding.named(lambda group: name_of(group, rows.groups))
    print_audit(out, by_column(summary, rows.groups), named, rows)
    print_quantisation(out, counted.quantisation)
    if html is not None:
        out.line(f"Written: {shown(html)}")
    failed = not print_verdicts(out, judged, require)
    if limit is not None:
        _print_verdict(out, limit, rows.groups)
    if bound is None and limit is None and (summary["auc"] or 0) >= 0.5:
        _print_next(out, summary, rows)
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


def print_audit(out: Output, summary: dict[str, Any], finding: Finding, rows: RowOptions) -> None:
    """Show an audit."""
    low, high = summary["score_range"]
    sized = wording.rows_by(summary["rows"], summary["weights"])
    out.line(f"{sized}, {summary['rate']:.1%} positive: {rows.describe()}")
    if summary["weights"] is not None:
        out.line(wording.weights_taken(summary["weights"], summary["rows"]))
    direction = "; low score = high risk" if rows.lower_is_riskier else ""
    distinct = wording.counted(summary["distinct_scores"], "distinct score")
    out.line(f"{distinct} from {low:g} to {high:g}{direction}")
    out.heading("Groups")
    _print_groups(out, summary)
    out.heading("xAUC")
    print_matrix(out, summary)
    out.line()
    print_gap(out, summary)
    out.line(shown(finding.headline))
    out.line(shown(finding.meaning))
    for top in tops(summary):
        _print_partial(out, top, "to score" if rows.lower_is_riskier else "from score")
    if summary["intervals"] is not None:
        print_intervals(out, summary["intervals"])
    print_rates(out, summary["rates"], lower_is_riskier=rows.lower_is_riskier)
    print_calibration(out, summary)
    tied = summary["tied"]
    out.line()
    out.line(f"tied pairs: {tied['share'] or 0.0:.2%} (counted as {_WINS[summary['ties']]})")
    for text in summary["warnings"]:
        out.warning(text)


_WINS = {"strict": "no win", "half": "half a win, --ties strict counts them as none"}


def _print_groups(out: Output, summary: dict[str, Any]) -> None:
    columns = ["group", "rows", "positives", "negatives", "rate", "AUC", "BPSN AUC", "BNSP AUC"]
    cells = [
        [
            shown(each["group"]),
            *(count(each[name]) for name in ("rows", "positives", "negatives")),
            percent(each["positives"], each["rows"]),
            *(number(each[name]) for name in ("auc", "bpsn_auc", "bnsp_auc")),
        ]
        for each in summary["groups"]
    ]
    total = ["all", *(count(summary[name]) for name in ("rows", "positives", "negatives"))]
    out.table(
        columns, [*cells, [*total, percent(summary["positives"], summary["rows"]), number(summary["auc"]), "", ""]]
    )
    out.line("BPSN: positives of all other groups against this group's negatives;")
    out.line("BNSP: this group's positives against the negatives of all others.")


# What `fit` is told again. A repair has one top.
_AGAIN = ("ties", "reference", "min_group", "only", "threshold")
_TOP_AGAIN = ("alpha", "region")


def _print_next(out: Output, summary: dict[str, Any], rows: RowOptions) -> None:
    """Name the command that comes next, for people with a file."""
    if "-" in rows.inputs or not summary["gap"] or rows.score.endswith(ADJUSTED):
        return
    again = said_again(*_AGAIN, *(_TOP_AGAIN if len(tops(summary)) == 1 else ()))
    command = ["fairpot", "fit", *rows.inputs, *rows.as_options(), *again, "--max-gap", "GAP", "-o", "map.json"]
    out.line()
    out.line(shown(f"Next: {shlex.join(command)}"))


def _print_partial(out: Output, partial: dict[str, Any], edge: str) -> None:
    whose = "all rows" if partial["region"] == "pooled" else "each group"
    out.heading(f"In the top {partial['alpha']:.4g} of {whose}: {count(partial['rows'])} rows")
    columns = ["group", "rows", "positives", "negatives", "recall", "precision", edge]
    out.table(
        columns,
        [
            [
                shown(each["group"]),
                *(count(each[name]) for name in ("rows", "positives", "negatives")),
                *(number(each[name]) for name in ("recall", "precision")),
                f"{each['threshold']:.6g}",
            ]
            for each in partial["groups"]
        ],
    )
    out.line(f"partial AUC: {number(partial['auc'])}")
    out.line(
        f"recall: {number(partial['recall'])} ({count(partial['found'])} positives found)   "
        f"precision: {number(partial['precision'])}"
    )
    print_gap(out, partial, "partial xAUC gap")


def _verdict(summary: dict[str, Any], limit: float | None, which: str | None) -> dict[str, Any] | None:
    """Compare the gaps with the limit; a gap that cannot be measured is an error, not a pass."""
    if limit is None:
        return None
    overall = [summary] if which != "top" else []
    inside = tops(summary) if which != "overall" else []
    looked_at = [*overall, *inside]
    if any(None in (each["gap"], *(pair["signed_gap"] for pair in each["gaps"])) for each in looked_at):
        raise Failure(
            "--fail-above cannot be decided: a gap cannot be measured for lack of positives or negatives.\n"
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
    said = f"the {name}{between} is {worst['value']:.4f}, "
    if verdict["exceeded"]:
        out.line(f"FAILED: {said}above {verdict['limit']:g}", "bold red")
    else:
        out.line(f"passed: {said}at most {verdict['limit']:g}", "green")
