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


def answer(found: Answer, bounds: str) -> str:
    """Say which method to take at a target and what it does, and why it and no other."""
    taken, best = found.taken, found.best
    if taken is None or best is None:
        return nobody(found.first, bounds)
    at, told = f"At gap <= {bounds}", _does(taken, found.original)
    close = [named(each) for each in found.close if each != taken.method]
    if taken.method == UNREPAIRED:
        tied = f"Chance could explain the higher AUC of {some(close)}"
        why = "No repair has a higher AUC" if best.method == UNREPAIRED else tied
        return f"{at} keep the original scores: {told}. {why}."
    if not close:
        return f"{at} the best is {taken.label}: {told}."
    why = f"Chance could explain how its AUC differs from that of {some(close)}"
    return f"{at} take {taken.label}: {told}. {why}; {taken.method} changes the fewest scores."


def nobody(first: Chosen, bounds: str) -> str:
    """Say that no method keeps a target, and what the first has."""
    return f"No method keeps gap <= {bounds} on the rows it is fitted on; {first.method}: {first.reason}"


def _does(found: Chosen, original: float) -> str:
    """Say what a choice does to the rows that it was not fitted on, at what price, and how often it kept the target."""
    price, kept = "", f"within the target in {found.times_kept} folds"
    if found.method != UNREPAIRED and found.auc is not None:
        change = float(found.auc) - original
        side = f"{FRACTIONS.auc(abs(change))} {'above' if change > 0 else 'below'}"
        price = " like the original scores"
        price = price if abs(change) < EVEN else f" ({side} the original {FRACTIONS.auc(original)})"
    if found.folds == 1:
        kept = "within the target" if found.kept else "above the target"
    return f"AUC {FRACTIONS.auc(found.auc)}{price}, gap {FRACTIONS.gap(found.gap)} on rows it was not fitted on, {kept}"


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
    """Write the line of a table that says what is possible; none where that is not known."""
    best = "best possible, at most" if several else "best possible"
    return {best: [FRACTIONS.auc(each.auc) for each in found]} if found else {}


def possible_notes(found: Sequence[Possible], several: bool) -> list[str]:
    """Say what the best possible is."""
    if not found:
        return []
    said = [
        "best possible: the highest AUC that a repair which keeps the order inside each group could have on these "
        "rows, knowing their outcomes. It can be above that of the original scores: the same score can mean different "
        "risks in different groups."
    ]
    return said + ["With more than two groups it is not above this number, and may be below."] * several


def named(method: str) -> str:
    """Name a method, or what is none."""
    return NAMES.get(method, method)


def some(names: Sequence[str], most: int = 3) -> str:
    """List a few names with an "and"; of more say how many."""
    if len(names) > most:
        return f"{len(names)} others"
    return "".join(names) if len(names) < 2 else f"{', '.join(names[:-1])} and {names[-1]}"
