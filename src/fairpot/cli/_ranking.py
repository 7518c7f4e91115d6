"""Options that say how rankings are compared, and the lines that show a ranking."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from fairpot.cli._numbers import TOP_SHARE
from fairpot.cli._printing import Output, number, shown, signed
from fairpot.table import QuantisationBound

Command = TypeVar("Command", bound=Callable[..., Any])
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
