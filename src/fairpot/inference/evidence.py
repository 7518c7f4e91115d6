"""What a curve was traced on, kept so that bands and certificates can be had from it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairpot.inference.dial import Count, DialEstimates, Top, average_dials, estimate_steps
from fairpot.inference.pairs import Kernel
from fairpot.inference.placements import Floats
from fairpot.inference.sample import Sample
from fairpot.table import ScoreTable

Maps = Mapping[Hashable, Callable[[NDArray[np.float64]], NDArray[np.float64]]]
# Values of a dial that a band is computed at, where a curve has more.
MOST_VALUES = 256


class Part(NamedTuple):
    """Rows, and the maps that other rows taught, for a list of values of the dial; perhaps a quick way to count."""

    table: ScoreTable | Sample
    steps: Callable[[Any], Iterable[Maps]]
    counted: Count | None = None


@dataclass(frozen=True, eq=False)
class SameMaps:
    """The same maps at every value."""

    maps: Maps

    def __call__(self, values: Any) -> list[Maps]:
        """Give them once for each value."""
        return [self.maps for _ in values]


@dataclass(frozen=True, eq=False)
class Evidence:
    """The rows behind a curve.

    Parameters
    ----------
    parts : tuple of Part
        One for rows that were held out; one a fold for a cross-fitted curve, whose numbers are averaged.
    ties : {"half", "strict"}
    fitted : bool
        Whether the maps were fitted on these very rows: then nothing can be certified.
    top : Top or None
        The region that the numbers are those of, if not all rows.
    """

    parts: tuple[Part, ...]
    ties: Kernel = "half"
    fitted: bool = False
    top: Top | None = None

    @property
    def rows(self) -> str:
        """Say which rows they are."""
        if self.fitted:
            return "the fitted rows"
        return "held-out rows" if len(self.parts) == 1 else f"{len(self.parts)} cross-fitted folds"

    @property
    def first_group(self) -> Hashable:
        """The group that gaps are seen from: the first of the table."""
        return Sample.of(self.parts[0].table).table.groups[0]

    def unrepaired(self) -> DialEstimates:
        """Estimate AUC and gaps of the scores as they came."""
        unmoved = [Part(part.table, SameMaps({})) for part in self.parts]
        dials = [self._estimate(part, [0.0]) for part in unmoved]
        return dials[0] if len(dials) == 1 else average_dials(dials)

    def estimate(self, values: Any, exact: tuple[Floats, Floats] | None = None) -> DialEstimates:
        """Estimate AUC and gaps at values of the dial; ``exact`` numbers replace those that were counted."""
        if len(self.parts) == 1:
            [part] = self.parts
            return self._estimate(part, values, exact)
        return average_dials([self._estimate(part, values) for part in self.parts])

    def _estimate(self, part: Part, values: Any, exact: tuple[Floats, Floats] | None = None) -> DialEstimates:
        table, steps, count = part
        return estimate_steps(table, steps, values, ties=self.ties, exact=exact, top=self.top, count=count)


def thin(places: int, most: int = MOST_VALUES) -> NDArray[np.intp]:
    """Choose places of a curve, its ends among them, where it has too many."""
    return np.unique(np.linspace(0, places - 1, min(places, most)).round().astype(np.intp))


def same_rows(one: ScoreTable, other: ScoreTable) -> bool:
    """Whether two tables count the same rows in the groups that they share."""
    shared = [g for g in one.groups if g in other.groups]
    pairs = [(one[g], other[g]) for g in shared]
    return bool(shared) and all(
        a is b
        or (
            np.array_equal(a.score, b.score)
            and np.array_equal(a.positive, b.positive)
            and np.array_equal(a.negative, b.negative)
        )
        for a, b in pairs
    )
