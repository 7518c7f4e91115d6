"""A claim of the paper, and what it is judged by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from fairpot_paper.claims.frontier import Found
from fairpot_paper.claims.verdicts import Judged, allowing_for_shared_rows
from fairpot_paper.results.collect import Key, Points, Record

# Ways to judge a claim: how ties count, and what the maps were fitted on.
WAYS = {"strict": ("strict", "in_sample"), "half": ("half", "in_sample"), "crossfit": ("half", "crossfit")}


class Evidence(NamedTuple):
    """What claims are judged by."""

    found: Found
    records: list[Record]


Judge = Callable[[Evidence, str, str, str], Judged | None]


@dataclass(frozen=True)
class Claim:
    """A claim of the paper about one data set, and the function that judges it.

    ``where`` is the part of the paper that makes it. ``judge(evidence, data, ties, source)`` returns None where nothing
    was run. A claim that does not depend on ties or on what the maps were fitted on is judged once. A number with a
    letter is another reading of the claim with that number.
    """

    number: str
    where: str
    says: str
    how: str
    data: str
    judge: Judge
    once: bool = False

    def verdicts(self, evidence: Evidence) -> dict[str, Judged]:
        """Judge by strict and half ties with the paper's protocol, and by half ties with cross-fitted maps."""
        ways = {"once": ("half", "in_sample")} if self.once else WAYS
        made = {name: self._judged(evidence, *way) for name, way in ways.items()}
        return {name: judged for name, judged in made.items() if judged is not None}

    def _judged(self, evidence: Evidence, ties: str, source: str) -> Judged | None:
        judged = self.judge(evidence, self.data, ties, source)
        with allowing_for_shared_rows():
            wider = self.judge(evidence, self.data, ties, source)
        if judged is None or wider is None:
            return judged
        return judged._replace(stands=judged.verdict == wider.verdict)


def key_of(data: str, model: str, ties: str, source: str, region: str = "") -> Key:
    """Return the key of FairPOT's points."""
    return Key(data, model, region, source, ties, "fairpot")


def start_of(evidence: Evidence, key: Key, method: str = "unadjusted") -> Points | None:
    """Return the scores as they came."""
    return evidence.found.get(key._replace(source="test", method=method))
