"""What a repair does to a table: the maps it uses there, and the numbers before and after."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

from fairpot.audit import audit, moves
from fairpot.cli._printing import Output, count, number, percent, shown, signed
from fairpot.postprocessing.wasserstein import barycentre_maps, part_of_the_way
from fairpot.table import ScoreTable
from fairpot.transport import ScoreMap

_VISIBLE = 0.00005  # what rounds to 0 in four digits is even
_MOST_PAIRS = 10
Maps = Mapping[Hashable, ScoreMap]


def maps_on(table: ScoreTable, maps: Maps, rule: Mapping[str, Any]) -> dict[Hashable, ScoreMap]:
    """Return the maps that apply to the rows of a table; ``rule`` is the model file's ``apply``."""
    if rule["kind"] == "top_of_batch":
        starts = table.thresholds(rule["alpha"], rule["region"])
        return {g: maps[g].starting_at(starts[g]) for g in table.groups}
    if rule["kind"] == "barycentre_of_batch":
        absent = [g for g in maps if g not in table.groups]
        if absent:
            raise ValueError(f"this map needs rows of every group at once, and there are none of {absent}.")
        return {g: part_of_the_way(full, rule["t"]) for g, full in barycentre_maps(table).items()}
    return {g: maps[g] for g in table.groups}


def effect(table: ScoreTable, maps: Maps, **options: Any) -> dict[str, Any]:
    """Audit a table before and after a repair, and count who moves."""
    moving = {g: m for g, m in maps.items() if not m.is_identity}
    return {
        "before": audit(table, **options),
        "after": audit(table.rescored(moving), **options),
        "moves": moves(table, maps),
    }


def print_effect(out: Output, found: dict[str, Any], title: str) -> None:
    """Show a repair: what it gains, what it costs, and who moves."""
    before, after = found["before"], found["after"]
    out.heading(title)
    out.table(["", "before", "after", "change"], [*_ranks(before, after), *_calibrations(before, after)])
    _print_sign(out, before, after)
    out.line()
    columns = ["group", "rows", "moved", "share", "up", "down", "mean shift", "largest shift"]
    out.table(columns, [_moves(each) for each in found["moves"]])


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


def _print_sign(out: Output, before: dict[str, Any], after: dict[str, Any]) -> None:
    """Say who is ahead; where the sign has changed, that the repair overshoots."""
    key = "partial" if before["partial"] is not None else None
    first, second = (before[key], after[key]) if key else (before, after)
    pairs = sorted(zip(first["gaps"], second["gaps"]), key=lambda p: -abs(p[0]["signed_gap"] or 0.0))
    for pair, later in pairs[:_MOST_PAIRS]:
        was, now = pair["signed_gap"], later["signed_gap"]
        if was is None or now is None:
            continue
        said = ("In the top: " if key else "") + f"{_ahead(pair, was)} before, {_ahead(pair, now)} after"
        past = was * now < 0 and abs(now) >= _VISIBLE
        out.line(said + (": the sign has changed, the repair goes past even." if past else "."))


def _ahead(pair: dict[str, Any], gap: float) -> str:
    names = shown(pair["first"]), shown(pair["second"])
    if abs(gap) < _VISIBLE:
        return f"{names[0]} and {names[1]} are even"
    leads, trails = names if gap > 0 else names[::-1]
    return f"{leads} is ahead of {trails} by {abs(gap):.4f}"
