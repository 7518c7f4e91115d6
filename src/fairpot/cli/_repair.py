"""The lines that show what a repair does: numbers before and after, and who moves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fairpot.auditing import Effect
from fairpot.cli._printing import Output, count, number, percent, shown, signed


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
    rows = [_row("AUC", before["auc"], after["auc"]), _row("xAUC gap", before["gap"], after["gap"])]
    rows += _signed_gap("signed gap", before, after)
    if before["partial"] is not None:
        top, later = before["partial"], after["partial"]
        rows += [_row("partial AUC", top["auc"], later["auc"]), _row("partial xAUC gap", top["gap"], later["gap"])]
        rows += _signed_gap("partial signed gap", top, later)
    return rows


def _signed_gap(name: str, before: dict[str, Any], after: dict[str, Any]) -> list[list[str]]:
    """Show the gap with its sign where there is one pair of groups."""
    if len(before["gaps"]) != 1:
        return []
    return [_row(name, before["gaps"][0]["signed_gap"], after["gaps"][0]["signed_gap"], show=signed)]


def _calibrations(before: dict[str, Any], after: dict[str, Any]) -> list[list[str]]:
    pairs = [("all", before["calibration"], after["calibration"])]
    pairs += [
        (shown(b["group"]), b["calibration"], a["calibration"]) for b, a in zip(before["groups"], after["groups"])
    ]
    found = [(g, b, a) for g, b, a in pairs if b is not None and a is not None]
    large = [
        _row(f"mean score - rate, {g}", b["error_in_the_large"], a["error_in_the_large"], show=signed)
        for g, b, a in found
    ]
    error = [
        _row(f"calibration error, {g}", b["expected_calibration_error"], a["expected_calibration_error"])
        for g, b, a in found
    ]
    return large + error


def _row(
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
