"""A threshold that was estimated, and what each row adds through it."""

from typing import NamedTuple

from fairpot.inference.placements import Floats


class Cut(NamedTuple):
    """One estimated threshold: the groups it cuts, the first entry of each group above it, weights above and in all."""

    groups: tuple[int, ...]
    first: tuple[int, ...]
    above: float
    total: float
    kappa: Floats

    @property
    def inside(self) -> float:
        """What a row above the threshold adds for each unit of kappa."""
        return (1 - self.above / self.total) / self.total

    @property
    def outside(self) -> float:
        """What a row below adds."""
        return -self.above / self.total / self.total
