"""The lines that show a ranking and what a repair does, and the options that ask for them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Hashable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from fairpot._optional import import_optional
from fairpot.auditing import Effect
from fairpot.cli._printing import Output, count, number, percent, shown, signed
from fairpot.cli._rows import LEVEL, LIMIT, TOP_SHARE, RowOptions
from fairpot.files import apply
from fairpot.inference import Verdict
from fairpot.table import QuantisationBound
from fairpot.transport import ScoreMap

Command = TypeVar("Command", bound=Callable[..., Any])


def interval_options(command: Command) -> Callable[..., Any]:
    """Add --level, --bound, --require and --cluster."""
    chosen: Callable[..., Any] = command
    for option in reversed(
        [
            click.option(
                "--level", type=LEVEL, default=0.95, show_default=True, metavar="LEVEL", help="Level of the intervals."
            ),
            click.option("--bound", type=LIMIT, metavar="GAP", help="Say whether the gap is within GAP."),
            click.option(
                "--require",
                type=click.Choice(["within"]),
                help="With --bound: exit with 3 unless the gap is surely within it.",
            ),
            click.option(
                "--cluster", metavar="COLUMN", help="Column with what rows have in common: the patient of a visit."
            ),
        ]
    ):
        chosen = option(chosen)
    return chosen


def print_intervals(out: Output, found: dict[str, Any]) -> None:
    """Show AUC, gap and every xAUC with its interval."""
    out.heading(f"How far the numbers can be trusted: {found['level']:.4g} intervals")
    rows = [_row("AUC", found["auc"]), _row("xAUC gap", found["gap"])]
    if found["partial"] is not None:
        rows += [_row("partial AUC", found["partial"]["auc"]), _row("partial xAUC gap", found["partial"]["gap"])]
    if len(found["xauc"]) <= _MOST:
        rows += [_row(f"{shown(x['positive'])} over {shown(x['negative'])}", x) for x in found["xauc"]]
    out.table(["", "estimate", "se", "from", "to"], rows)
    said = {each["reason"] for each in (found["auc"], found["gap"], *found["xauc"]) if each["reason"]}
    notes = [] if found["partial"] is None else [found["partial"]["gap"]["reason"], found["partial"]["gap"]["note"]]
    for text in sorted({*said, *(note for note in notes if note)}):
        out.line(f"  {shown(text)}")


_MOST = 30


def _row(name: str, found: dict[str, Any]) -> list[str]:
    return [name, *(number(found[key]) for key in ("estimate", "se", "low", "high"))]


def verdict_document(found: Verdict | None) -> dict[str, Any] | None:
    """Return a verdict for JSON."""
    if found is None:
        return None
    return {"answer": found.answer, "bound": found.bound, "level": found.level, "gap": found.interval.to_dict()}


def print_verdict(out: Output, found: Verdict, required: str | None) -> bool:
    """Say the verdict in words; return whether what is required holds."""
    style = {"within": "green", "exceeds": "bold red", "cannot tell": "bold"}[found.answer]
    out.line(f"{found.answer}: {shown(str(found))}", style)
    if required is None or found.answer == required:
        return True
    out.line(f"FAILED: the gap is not surely within {found.bound:g}", "bold red")
    return False


_MOST_PAIRS = 15
_WIDEST = 12


def ranking_options(alpha: str, reference: str) -> Callable[[Command], Callable[..., Any]]:
    """Add --alpha, --region, --ties and --reference, with what the first and the last do in this command."""

    def decorate(command: Command) -> Callable[..., Any]:
        chosen: Callable[..., Any] = command
        for option in reversed(_options(alpha, reference)):
            chosen = option(chosen)
        return chosen

    return decorate


def _options(alpha: str, reference: str) -> list[Callable[..., Any]]:
    return [
        click.option("--alpha", type=TOP_SHARE, metavar="SHARE", help=alpha),
        click.option(
            "--region",
            type=click.Choice(["pooled", "group"]),
            default="pooled",
            show_default=True,
            help="Whether --alpha means the top of all rows or of each group.",
        ),
        click.option(
            "--ties",
            type=click.Choice(["half", "strict"]),
            default="half",
            show_default=True,
            help="Whether a tie is half a win (as in scikit-learn) or none (as in the paper).",
        ),
        click.option("--reference", metavar="GROUP", help=reference),
    ]


def print_gap(out: Output, ranking: dict[str, Any], name: str = "xAUC gap") -> None:
    """Say how large the gap is, and who is ahead of whom."""
    out.line(f"{name}: {number(ranking['gap'])}")
    pairs = sorted(ranking["gaps"], key=lambda pair: -abs(pair["signed_gap"] or 0.0))
    if len(pairs) > 1:
        _print_pairs(out, pairs)
        return
    [pair] = pairs
    for winner, loser, share in (("first", "second", pair["xauc_first"]), ("second", "first", pair["xauc_second"])):
        out.line(f"  a positive of {shown(pair[winner])} is above a negative of {shown(pair[loser])}: {number(share)}")
    if pair["signed_gap"]:
        ahead, behind = _order(pair)
        out.line(f"  {shown(pair[ahead])} is ahead of {shown(pair[behind])} by {number(abs(pair['signed_gap']))}")


def _print_pairs(out: Output, pairs: list[dict[str, Any]]) -> None:
    """Show many pairs of groups as a table, the widest gap first."""
    rows = []
    for pair in pairs[:_MOST_PAIRS]:
        ahead, behind = _order(pair)
        gap = None if pair["signed_gap"] is None else abs(pair["signed_gap"])
        names = [shown(pair[ahead]), shown(pair[behind])]
        rows.append([*names, number(gap), number(pair[f"xauc_{ahead}"]), number(pair[f"xauc_{behind}"])])
    out.table(["ahead", "behind", "gap", "xAUC", "the other way"], rows, texts=2)
    if len(pairs) > _MOST_PAIRS:
        out.line(f"... and {len(pairs) - _MOST_PAIRS} more pairs with smaller gaps (--json has them all)")


def _order(pair: dict[str, Any]) -> tuple[str, str]:
    return ("first", "second") if (pair["signed_gap"] or 0.0) >= 0 else ("second", "first")


def print_matrix(out: Output, summary: dict[str, Any]) -> None:
    """Show every xAUC: rows win, columns lose; on the diagonal the AUC inside the group."""
    groups = [each["group"] for each in summary["groups"]]
    if len(groups) > _WIDEST:
        out.line(f"between {len(groups)} groups; --json has every xAUC")
        return
    inside = {each["group"]: each["auc"] for each in summary["groups"]}
    cells = {(c["positive"], c["negative"]): c["xauc"] for c in summary["xauc"]}
    rows = [[shown(g), *(number(inside[g] if g == h else cells[g, h]) for h in groups)] for g in groups]
    out.table(["positives of \\ negatives of", *map(shown, groups)], rows)


def print_calibration(out: Output, summary: dict[str, Any]) -> None:
    """Show how well scores are calibrated, in each group and in all."""
    if summary["calibration"] is None:
        return
    found = [(shown(each["group"]), each["calibration"]) for each in summary["groups"]]
    out.heading(f"Calibration ({summary['calibration_bins']} bins of equal width)")
    rows = [[name, *calibration_cells(each)] for name, each in [*found, ("all", summary["calibration"])]]
    out.table(["group", "mean score - rate", "expected error", "slope"], rows)


def calibration_cells(found: dict[str, float | None] | None) -> list[str]:
    """Show the three numbers of a calibration."""
    if found is None:
        return ["-"] * 3
    return [
        signed(found["error_in_the_large"]),
        number(found["expected_calibration_error"]),
        number(found["slope"], 3),
    ]


def print_quantisation(out: Output, bound: QuantisationBound | None) -> None:
    """Say how far numbers can be off where scores were put into bins."""
    if bound is not None:
        out.warning(
            f"too many distinct scores: they were put into bins. AUC can be off by {bound.auc:.2g}, "
            f"an xAUC by {float(bound.xauc.max()):.2g}, a score by {bound.score:.2g}."
        )


def quantisation_document(bound: QuantisationBound | None) -> dict[str, Any] | None:
    """Return the same for JSON."""
    return None if bound is None else {"auc": bound.auc, "xauc": float(bound.xauc.max()), "score": bound.score}


def print_effect(out: Output, found: Effect, title: str) -> None:
    """Show a repair: what it gains, what it costs, and who moves."""
    before, after = found.before, found.after
    out.heading(title)
    out.table(["", "before", "after", "change"], [*_ranks(before, after), *_calibrations(before, after)])
    for text in found.sentences:
        out.line(shown(text))
    if found.changes is not None:
        for name, change in (("AUC", found.changes.auc), ("xAUC gap", found.changes.gap)):
            out.line(f"{name}: {shown(str(change))}")
    out.line()
    columns = ["group", "rows", "moved", "share", "up", "down", "mean shift", "largest shift"]
    out.table(columns, [_moves(each) for each in found.moves])
    print_rates(out, before["rates"], after["rates"])


def print_rates(out: Output, found: list[dict[str, Any]], later: list[dict[str, Any]] | None = None) -> None:
    """Show who is flagged at a score and in the top alpha, and how rightly; before and after, if there is both."""
    for place, each in enumerate(found):
        after = None if later is None else later[place]
        what = f"at {each['threshold']:.6g} or above" if each["at"] == "score" else f"in the top {each['alpha']:g}"
        out.heading(f"Flagged {what}" + ("" if after is None else ", before and after"))
        columns = ["group", "flagged", "share", "TPR", "FPR", "PPV"]
        groups = [*each["groups"], {"group": "all", **each["all"]}]
        rows = [_rates(group) for group in groups]
        if after is not None:
            changed = [*after["groups"], {"group": "all", **after["all"]}]
            rows = [line for pair in zip(rows, map(_rates, changed)) for line in (pair[0], ["  after", *pair[1][1:]])]
        out.table(columns, rows)
        if each["at"] == "top" and after is not None:
            out.line("A repair of the top alpha of all rows moves people inside it: who is flagged stays as it was.")


def _rates(each: dict[str, Any]) -> list[str]:
    shares = [number(each[name]) for name in ("share", "tpr", "fpr", "ppv")]
    return [shown(each["group"]), count(each["flagged"]), *shares]


def _ranks(before: dict[str, Any], after: dict[str, Any]) -> list[list[str]]:
    rows = [__repair_row("AUC", before["auc"], after["auc"]), __repair_row("xAUC gap", before["gap"], after["gap"])]
    rows += _signed_gap("signed gap", before, after)
    if before["partial"] is not None:
        top, later = before["partial"], after["partial"]
        rows += [
            __repair_row("partial AUC", top["auc"], later["auc"]),
            __repair_row("partial xAUC gap", top["gap"], later["gap"]),
        ]
        rows += _signed_gap("partial signed gap", top, later)
    return rows


def _signed_gap(name: str, before: dict[str, Any], after: dict[str, Any]) -> list[list[str]]:
    """Show the gap with its sign where there is one pair of groups."""
    if len(before["gaps"]) != 1:
        return []
    return [__repair_row(name, before["gaps"][0]["signed_gap"], after["gaps"][0]["signed_gap"], show=signed)]


def _calibrations(before: dict[str, Any], after: dict[str, Any]) -> list[list[str]]:
    pairs = [("all", before["calibration"], after["calibration"])]
    pairs += [
        (shown(b["group"]), b["calibration"], a["calibration"]) for b, a in zip(before["groups"], after["groups"])
    ]
    found = [(g, b, a) for g, b, a in pairs if b is not None and a is not None]
    large = [
        __repair_row(f"mean score - rate, {g}", b["error_in_the_large"], a["error_in_the_large"], show=signed)
        for g, b, a in found
    ]
    error = [
        __repair_row(f"calibration error, {g}", b["expected_calibration_error"], a["expected_calibration_error"])
        for g, b, a in found
    ]
    return large + error


def __repair_row(
    name: str, before: float | None, after: float | None, show: Callable[[float | None], str] = number
) -> list[str]:
    return [name, show(before), show(after), signed(_difference(before, after))]


def _difference(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else after - before


def _moves(each: dict[str, Any]) -> list[str]:
    counts = [count(each[name]) for name in ("rows", "moved")]
    ways = [count(each[name]) for name in ("up", "down")]
    shift = [signed(each["mean_shift"]), number(each["largest_shift"])]
    return [shown(each["group"]), *counts, percent(each["moved"], each["rows"]), *ways, *shift]


__named_MOST = 20


def check_id(rows: RowOptions, column: str | None, repaired: bool) -> None:
    """Insist that an id column can be used."""
    if column is None:
        return
    if not repaired:
        raise click.UsageError("--id names the people whose scores change most: say how far a repair goes, or --map.")
    if "-" in rows.inputs:
        raise click.UsageError("--id reads the rows a second time, which standard input (-) cannot give.")


def largest_changes(rows: RowOptions, maps: Mapping[Hashable, ScoreMap], column: str) -> list[dict[str, Any]]:
    """Name the people whose scores change most, the largest change first."""
    duckdb = import_optional("duckdb", "cli")
    with tempfile.TemporaryDirectory(prefix="fairpot-") as folder:
        changes = Path(folder) / "changes.parquet"
        apply(rows.source.bare(), maps, output=Path(folder) / "rows.parquet", changes=changes, keep=[column])
        name = '"' + column.replace('"', '""') + '"'
        query = (
            f'SELECT {name}, "group", old_score, new_score FROM read_parquet(?) WHERE new_score <> old_score '
            f'ORDER BY abs(new_score - old_score) DESC, "row" LIMIT {_MOST}'
        )
        with duckdb.connect() as connection:
            found = connection.execute(query, [str(changes)]).fetchall()
    return [{"id": who, "group": group, "before": before, "after": after} for who, group, before, after in found]
