"""When no interval is honest, and what to say then."""

from __future__ import annotations

from collections.abc import Hashable

from fairpot.inference.estimates import ShareEstimates
from fairpot.inference.question import Question
from fairpot.inference.sample import Sample

# Fewer independent rows than this on one side of a share, and its spread cannot be seen.
FEWEST = 5


def why_not(sample: Sample, question: Question, found: ShareEstimates) -> str | None:
    """Say which cell has too few independent rows for an interval; None if all have enough."""
    for k, pair in enumerate(question.pairs):
        for side, what in enumerate(("positives", "negatives")):
            units = float(found.units[side][k])
            # A hair of round-off: five weights of 0.1 are worth five rows.
            if units < FEWEST - 1e-9:
                return _said(units, what, _names(sample, pair[side]), question, sample.clusters is not None)
    return None


def _names(sample: Sample, places: tuple[int, ...]) -> tuple[Hashable, ...]:
    return tuple(sample.table.groups[place] for place in places) if len(sample.table.groups) > 1 else ()


def _said(units: float, what: str, groups: tuple[Hashable, ...], question: Question, clustered: bool) -> str:
    counted = f"{'clusters with ' if clustered else ''}{what}"
    if units == 1:
        counted = f"cluster with {what}" if clustered else what.removesuffix("s")
    where = "" if question.alpha is None else f" in the top {question.alpha:g}"
    number = "no" if units == 0 else f"{units:.3g}"
    who = f"group {groups[0]!r} has" if len(groups) == 1 else f"there {'is' if units == 1 else 'are'}"
    return f"{who} {number} {counted}{where}, and with fewer than {FEWEST} no interval is honest"
