"""Answer: which method to take at a target gap, and how sure the lead of the best over the others is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from fairpot.comparison.trial import Chosen
from fairpot.inference import Estimate
from fairpot.inference.change import auc_difference
from fairpot.results.kinds import Derived, Share
from fairpot.words import comparison as words


@dataclass(frozen=True)
class Rival:
    """Hold the lead of the method of highest AUC over another, and whether it is more than chance explains."""

    method: str
    lead: Estimate
    clear: bool

    @classmethod
    def of(cls, best: Chosen, other: Chosen, level: float) -> Rival:
        """Compare two choices on the same held-out rows."""
        assert best.evidence is not None
        assert other.evidence is not None
        aucs = float(other.auc or 0.0), float(best.auc or 0.0)
        found = auc_difference((other.evidence, 0.0), (best.evidence, 0.0), aucs, level=level)
        lead = Estimate("lead", found.change, found.se, found.low, found.high, level, reason=found.reason)
        return cls(other.method, lead, bool(found.low > 0))


@dataclass(frozen=True)
class Skipped:
    """A method that cannot run on these rows, and why."""

    method: str
    reason: str


@dataclass(frozen=True, eq=False)
class Answer:
    """Which method to take at a target gap.

    Attributes
    ----------
    recommended, highest : str or None
        The method to take, and the one of highest AUC; None where no method keeps the target on its fitted rows.
    rivals : tuple of Rival
        The lead of the highest over each of the others.
    """

    derived: ClassVar[Derived] = {"text": str}

    max_gap: Share
    recommended: str | None
    highest: str | None
    rivals: tuple[Rival, ...]
    taken: Annotated[Chosen | None, "hidden"]
    best: Annotated[Chosen | None, "hidden"]
    first: Annotated[Chosen, "hidden"]
    original: Annotated[float, "hidden"]

    @property
    def text(self) -> str:
        """The answer in one sentence."""
        return words.answer(self, f"{self.max_gap:g}")

    @property
    def close(self) -> list[str]:
        """The methods whose AUC chance cannot tell from the highest, which comes first."""
        if self.highest is None:
            return []
        return [self.highest, *(each.method for each in self.rivals if not each.clear)]
