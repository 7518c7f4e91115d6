"""``fairpot compare``: all methods on the same rows, judged on rows that they were not fitted on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from fairpot.cli._lines import print_quantisation, quantisation_document
from fairpot.cli._methods import METHODS, MethodName
from fairpot.cli._options import CAPACITY, SHARE, group_options, output_options
from fairpot.cli._printing import Output, number, shown
from fairpot.cli._rows import RowOptions, listed_groups, named_group, row_options, with_groups_of
from fairpot.comparison import Comparison, ComparisonRow
from fairpot.comparison import compare as compare_methods
from fairpot.exceptions import InfeasibleRuleError
from fairpot.tradeoff import Limit, LimitBracket


@click.command(short_help="Compare all methods on one file.")
@row_options()
@click.option("--method", "methods", multiple=True, type=MethodName(), help="Only this one; repeatable.")
@click.option("--keep-grid", is_flag=True, help="Judge every method by scores that are cut to the grid that came in.")
@click.option(
    "--max-gap",
    "max_gaps",
    multiple=True,
    type=SHARE,
    default=(0.02, 0.05, 0.1),
    show_default="0.02, 0.05, 0.1",
    metavar="GAP",
    help="Show the highest AUC with at most this gap; repeatable.",
)
@click.option(
    "--capacity",
    type=CAPACITY,
    metavar="ROWS|SHARE",
    help="Compare gaps among so many ranked highest: 200 of the rows to fit on, or 10%.",
)
@click.option("--validate", "held_out", multiple=True, metavar="FILE", help="Judge on these rows instead of in folds.")
@click.option("--folds", type=click.IntRange(2), default=5, show_default=True, metavar="N", help="Number of folds.")
@click.option(
    "--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, metavar="N", help="Seed of the folds."
)
@click.option("--ties", type=click.Choice(["half", "strict"]), default="half", show_default=True)
@click.option("--reference", metavar="GROUP", help="Group that stays as it is; default: the one ahead.")
@group_options
@output_options
def compare(rows: RowOptions, out: Output, held_out: tuple[str, ...], reference: str | None, **options: Any) -> None:
    """Compare methods: the highest AUC that each reaches at a bounded gap, on rows it was not fitted on.

    \b
    Examples:
      fairpot compare scores.csv --score risk --label outcome --group sex
      fairpot compare train.csv --validate held_out.csv --max-gap 0.03
      fairpot compare scores.csv --method fairpot --method wasserstein --json

    Maps are fitted on other rows, but each method's dial is the best one for the rows it is judged on: that
    compares the methods. What a dial chosen beforehand does on new rows, `fit --validate` shows.

    The line `limit` is what no repair that keeps the order inside each group could exceed on these rows. It knows
    their outcomes; `within reach` is what a repair fixed beforehand can be expected to have, without what chance adds.
    With more than two groups the limit lies between `at least` and `at most`.
    """
    counted = rows.counted(out)
    table = counted.table
    other = None
    if held_out:
        found = rows.elsewhere(held_out).counted(out, "counting held-out rows")
        other = with_groups_of(found.table, table.groups, "the held-out file")
    with out.progress("comparing methods") as bar:
        result = compare_methods(
            table,
            held_out=other,
            methods=_methods(options["methods"], options["keep_grid"]),
            cv=options["folds"],
            random_state=options["seed"],
            reference=named_group(reference, table.groups),
            min_group=options["min_group"],
            groups=listed_groups(options["only"], table.groups),
            ties=options["ties"],
            max_gaps=options["max_gaps"],
            capacity=options["capacity"],
            progress=False if bar is None else lambda done, total: bar(done / total),
        )
    document = {"evaluated_on": result.rows, **_document(result)}
    out.document({**rows.document(), **document, "quantisation": quantisation_document(counted.quantisation)})
    _print(out, result, document)
    print_quantisation(out, counted.quantisation)


def _methods(names: Sequence[str], keep_grid: bool) -> list[Any] | None:
    """Make the methods that are compared; None leaves the choice to the library."""
    if keep_grid:
        return [METHODS[name](keep_grid=True) for name in names or METHODS]
    return [METHODS[name]() for name in names] or None


def _document(result: Comparison) -> dict[str, Any]:
    limit = result.limit
    return {
        "weights": result.table.weights,
        "reference": result.reference,
        "capacity": result.capacity,
        "methods": [_method(result, name) for name in ("unrepaired", *result.methods)],
        "limit": None if limit is None else [_possible(limit, bound) for bound in result.max_gaps],
        "limit_notes": result.limit_notes,
        "verdicts": [result.verdict(bound) for bound in result.max_gaps],
        "versus": [{"max_gap": bound, "rivals": _rivals(result, bound)} for bound in result.max_gaps],
        "left_out": [{"method": name, "reason": reason} for name, reason in result.skipped.items()],
    }


def _possible(limit: Limit | LimitBracket, bound: float) -> dict[str, Any]:
    """Give what could be had at most, what of it is within reach, or why that is not known."""
    if isinstance(limit, LimitBracket):
        ends = limit.best(bound)
        return {"max_gap": bound, "auc": ends.high, "low": ends.low, "reachable": None, "reason": limit.reason}
    point = limit.best(bound)
    reachable = None if limit.optimism is None else point.reachable
    return {"max_gap": bound, "auc": point.auc, "reachable": reachable, "reason": limit.reason}


def _rivals(result: Comparison, bound: float) -> list[dict[str, Any]]:
    """How far the method of highest AUC is ahead of each of the others."""
    try:
        return [rival._asdict() for rival in result.versus(bound)]
    except InfeasibleRuleError:
        return []


def _method(result: Comparison, name: str) -> dict[str, Any]:
    smallest = result.smallest_gap(name)
    best = [{"max_gap": bound, **_best(result, name, bound)} for bound in result.max_gaps]
    return {"method": name, "best": best, "smallest_gap": _point(smallest)}


def _best(result: Comparison, name: str, bound: float) -> dict[str, Any]:
    try:
        return _point(result.best(bound, method=name))
    except InfeasibleRuleError:
        return dict.fromkeys(("dial", "value", "auc", "gap", "signed_gap"))


def _point(row: ComparisonRow) -> dict[str, Any]:
    dial = row.dial or None
    value = None if dial is None else row.value
    return {"dial": dial, "value": value, "auc": row.auc, "gap": row.gap, "signed_gap": row.signed_gap}


def _print(out: Output, result: Comparison, document: dict[str, Any]) -> None:
    out.line(f"{document['evaluated_on']}; group {shown(result.reference)} is the reference{result.gaps_where}", "bold")
    if result.weighed:
        out.line(result.weighed)
    out.heading("Highest AUC at a gap of at most")
    rows = [
        [each["method"], *map(_cell, each["best"]), number(each["smallest_gap"]["gap"])] for each in document["methods"]
    ]
    rows += [[name, *map(number, aucs), ""] for name, aucs in result.limit_lines.items()]
    out.table(["method", *(f"{bound:g}" for bound in result.max_gaps), "smallest gap"], rows)
    out.line()
    for text in (*document["verdicts"], *document["limit_notes"]):
        out.line(text)
    for each in document["left_out"]:
        out.warning(f"{each['method']} is left out: {each['reason']}")


def _cell(best: dict[str, Any]) -> str:
    if best["auc"] is None:
        return "-"
    return number(best["auc"]) + (f" ({best['dial']} = {best['value']:.3g})" if best["dial"] else "")
