"""What a comparison says: which method to take at each target gap, the table, and what was possible."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fairpot.words.style import EVEN, FRACTIONS

if TYPE_CHECKING:
    from fairpot.comparison.result import Answer, Possible
    from fairpot.comparison.trial import Chosen

UNREPAIRED = "unrepaired"
# What tables and sentences call the lines that are not methods.
NAMES = {UNREPAIRED: "original"}
COMPARED = "AUC, gap and folds that kept it"
TEXT = {
    "best": "at gap <= {bounds} the best is {label}: {does}",
    "take": "at gap <= {bounds} take {label}: {does}; chance cannot tell its AUC from that of {rivals}, and it changes "
    "the fewest scores",
    "original": "at gap <= {bounds} keep the original scores: {does}; no repair has a higher AUC",
    "original, tied": "at gap <= {bounds} keep the original scores: {does}; chance could explain the higher AUC of "
    "{rivals}",
    "nobody": "no method keeps gap <= {bounds} on the rows it is fitted on; {method}: {reason}",
    "does": "AUC {auc}{price}, gap {gap} on rows it was not fitted on, {kept}",
    "same price": " like the original scores",
    "price": " ({difference} {side} the original {original})",
    "best possible": "best possible: the highest AUC that a repair which keeps the order inside each group could have "
    "on these rows, knowing their outcomes. It can be above that of the original scores: the same score can mean "
    "different risks in different groups.",
    "several groups": "With more than two groups it is not above this number, and may be below.",
    "reach not known": "within reach of a repair fixed beforehand: not known; {reason}.",
    "within reach": "within reach: what a repair fixed beforehand can be expected to have: the best possible without "
    "what chance adds to it ({chance} here).",
    "above": "above what is within reach: {methods}. That is chance, a gap above the target or an order that is not "
    "kept; no more can be gained here.",
}


def answer(found: Answer, bounds: str) -> str:
    """Say in one sentence which method to take at a target, what it does and why it and no other."""
    taken, best = found.taken, found.best
    if taken is None or best is None:
        return nobody(found.first, bounds)
    close = [named(each) for each in found.close if each != taken.method]
    known = {"bounds": bounds, "label": taken.label, "does": does(taken, found.original), "rivals": some(close)}
    if taken.method == UNREPAIRED:
        return TEXT["original" if best.method == UNREPAIRED else "original, tied"].format(**known)
    return TEXT["take" if close else "best"].format(**known)


def nobody(first: Chosen, bounds: str) -> str:
    """Say that no method keeps a target, and what the first has."""
    return TEXT["nobody"].format(bounds=bounds, method=first.method, reason=first.reason)


def does(found: Chosen, original: float) -> str:
    """Say what a choice does to the rows that it was not fitted on, at what price, and how often it kept the target."""
    price, kept = "", f"within the target in {found.times_kept} folds"
    if found.method != UNREPAIRED and found.auc is not None:
        change = float(found.auc) - original
        side = "above" if change > 0 else "below"
        known = {"difference": FRACTIONS.auc(abs(change)), "side": side, "original": FRACTIONS.auc(original)}
        price = TEXT["same price" if abs(change) < EVEN else "price"].format(**known)
    if found.folds == 1:
        kept = "within the target" if found.kept else "above the target"
    auc, gap = FRACTIONS.auc(found.auc), FRACTIONS.gap(found.gap)
    return TEXT["does"].format(auc=auc, price=price, gap=gap, kept=kept)


def cell(found: Chosen) -> str:
    """Write AUC, gap and how often the target was kept, for a table."""
    if found.auc is None:
        return "out of reach"
    return f"{FRACTIONS.auc(found.auc)}  {FRACTIONS.gap(found.gap)}  {found.times_kept}"


def cell_with_interval(found: Chosen) -> str:
    """Write the same with the interval of the AUC."""
    if found.auc is None:
        return cell(found)
    low, high = (FRACTIONS.auc(end) for end in (found.auc.low, found.auc.high))
    return cell(found) + (", no interval" if found.auc.reason is not None else f", {low} to {high}")


def possible_lines(found: Sequence[Possible], several: bool) -> dict[str, list[str]]:
    """Write the lines of a table that say what is within reach, where that is known, and what is possible."""
    best = "best possible, at most" if several else "best possible"
    ends: dict[str, list[float | None]]
    ends = {"within reach": [each.reachable for each in found], best: [each.auc for each in found]}
    return {name: [FRACTIONS.auc(v) for v in aucs] for name, aucs in ends.items() if aucs and None not in aucs}


def possible_notes(found: Sequence[Possible], chosen: Sequence[Chosen], several: bool) -> list[str]:
    """Say what the best possible is, and which methods are measured above what is within reach."""
    if not found:
        return []
    said = [TEXT["best possible"]] + [TEXT["several groups"]] * several
    reach = {each.max_gap: each.reachable for each in found if each.reachable is not None}
    if not reach:
        return [*said, TEXT["reach not known"].format(reason=found[0].reason or "not estimated")]
    chance = max(each.auc - reach[each.max_gap] for each in found if each.max_gap in reach)
    said.append(TEXT["within reach"].format(chance=FRACTIONS.auc(chance)))
    above = [each.method for each in chosen if each.reached and each.auc and each.auc > reach.get(each.max_gap, 2.0)]
    names = [named(each) for each in dict.fromkeys(above)]
    return said + ([TEXT["above"].format(methods=some(names, len(names)))] if names else [])


def named(method: str) -> str:
    """Name a method, or what is none."""
    return NAMES.get(method, method)


def some(names: Sequence[str], most: int = 3) -> str:
    """List a few names with an "and"; of more say how many."""
    if len(names) > most:
        return f"{len(names)} others"
    return "".join(names) if len(names) < 2 else f"{', '.join(names[:-1])} and {names[-1]}"


def aligned(lines: Sequence[Sequence[str]]) -> list[str]:
    """Write lines of cells one below the other."""
    widths = [max(map(len, column)) for column in zip(*lines)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines]
