"""Options and lines for what can be trusted: intervals, and a verdict against a bound."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from fairpot.cli._numbers import LEVEL, LIMIT
from fairpot.cli._printing import Output, number, shown
from fairpot.inference import Verdict

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
    return {"answer": found.answer, "bound": found.bound, "level": found.level, "gap": found.interval.as_dict()}


def print_verdict(out: Output, found: Verdict, required: str | None) -> bool:
    """Say the verdict in words; return whether what is required holds."""
    style = {"within": "green", "exceeds": "bold red", "cannot tell": "bold"}[found.answer]
    out.line(f"{found.answer}: {shown(str(found))}", style)
    if required is None or found.answer == required:
        return True
    out.line(f"FAILED: the gap is not surely within {found.bound:g}", "bold red")
    return False
