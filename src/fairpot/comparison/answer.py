"""What a comparison says at a target gap: which method to take, how sure its lead is, and what was possible."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from fairpot.comparison.trial import Chosen
from fairpot.inference import Estimate
from fairpot.inference.change import auc_difference
from fairpot.results.kinds import Derived, Share
from fairpot.tradeoff import Limit, UpperLimit
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


@dataclass(frozen=True)
class Possible:
    """The best possible AUC within a target gap.

    Attributes
    ----------
    auc : float
        The highest AUC that a repair which keeps the order inside each group could have on these rows, knowing their
        outcomes; of more than two groups what nothing is above.
    reachable : float or None
        What a repair fixed beforehand can be expected to have: without what chance adds to it.
    reason : str or None
        Why that is not known.
    """

    max_gap: Share
    auc: float
    reachable: float | None
    reason: str | None

    @classmethod
    def of(cls, limit: Limit | UpperLimit, max_gap: float) -> Possible:
        """Look a target up on a limit."""
        point = limit.best(max_gap)
        return cls(max_gap, point.auc, point.reachable if np.isfinite(point.reachable) else None, limit.reason)


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
