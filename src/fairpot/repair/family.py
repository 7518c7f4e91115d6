"""Family: what a method learns. For every moved group and every strength of the dial a map, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairpot._defaults import Ties
from fairpot._validation import as_double, is_number, wording
from fairpot.table import ScoreTable
from fairpot.tradeoff.curve import TradeoffCurve
from fairpot.tradeoff.solve import Mover
from fairpot.transport import Floats, ScoreMap


@dataclass(frozen=True)
class Dial:
    """The one number that says how far a method goes.

    Parameters
    ----------
    name, meaning : str
        What the constructor's argument is called (the fitted value has an underscore), and what it is, for people.
    low, high, above : float, float, and bool
        The values it may take, ends included, unless ``above`` leaves ``low`` itself out.
    identity : float or None
        The value that changes nothing; None if there is none.
    ratio : bool
        Whether values are compared by their ratio, as a factor is, not by their difference.
    symbol, setting : str
        How a report writes the name, where a letter is known better; and what it says of a value, with {dial}, {value},
        {share} (the value in hundredths) and {moved} (the groups) where they belong.

    Examples
    --------
    >>> from fairpot.repair import Dial
    >>> Dial("factor", low=0.0, high=2.0, above=True, identity=1.0).rule
    'in (0, 2]'
    """

    name: str = "strength"
    low: float = 0.0
    high: float = 1.0
    above: bool = False
    identity: float | None = None
    ratio: bool = False
    meaning: str = ""
    symbol: str = ""
    setting: str = "{dial} = {value}"

    @property
    def whole(self) -> bool:
        """Whether it goes from nothing, its lowest value, to the whole repair, its highest."""
        return self.identity == self.low and bool(np.isfinite(self.high))

    @property
    def rule(self) -> str:
        """Say which values it may take."""
        if self.low == -np.inf:
            return "of any size"
        if self.high == np.inf:
            return f"{'above' if self.above else 'at least'} {self.low:g}"
        return f"in {'(' if self.above else '['}{self.low:g}, {self.high:g}]"

    def check(self, value: Any, name: str | None = None) -> float:
        """Check one number."""
        name = self.name if name is None else name
        if not is_number(value):
            raise TypeError(f"{name} must be a number {self.rule}, got {wording.got(value)}.")
        if not self.low <= value <= self.high or not np.isfinite(value) or (self.above and value == self.low):
            hint = "" if self.identity is None or not self.above else f"\nHint: {self.identity:g} changes the least."
            rule = "finite" if self.low == -np.inf else f"finite and {self.rule}"
            raise ValueError(f"{name} must be {rule}, got {value!r}.{hint}")
        return as_double(value)

    def check_values(self, values: Any, name: str = "lams") -> Floats:
        """Check values to trace: ascending, each once."""
        if isinstance(values, Mapping):
            raise TypeError(f"{name} must be a list of numbers, got {type(values).__name__}.")
        # A float32 must be seen to be one: values keep their own types.
        array = values if isinstance(values, np.ndarray) else np.asarray(values, dtype=object)
        listed = list(np.atleast_1d(array))
        if not listed:
            raise ValueError(f"{name} is empty: give at least one number, or None for the default.")
        return np.unique([self.check(value, name) for value in listed])


@dataclass(frozen=True, eq=False)
class Family:
    """What a method learnt from a table: a map for each moved group at each strength, and where to look for one.

    A method is one pure function, ``learn(table, **own) -> Family``. Everything that is done with a method is a step
    around a family, the same for all methods.

    Parameters
    ----------
    dial, groups, reference : Dial, names of all groups, and the group that stays or None
        The strength with its name and the values it may take; and who is moved.
    map : function of a group and a strength
        Gives the ScoreMap of the group there.
    values, finer, few : array, function of two strengths or None, and array or None
        Strengths that a curve has, ascending; more between two; and those to try folds and compare methods at.
    reach, listed : function of a group or None, and bool
        The strengths of its own that are worth a look, ascending; and whether these are all that differ.
    quick : function of a table and ties, or None
        Traces every strength exactly, or gives None where it cannot.
    move, moves_exactly : function of a group and scores or None, and bool
        Gives a function from a strength to what the scores become, in the order of ``map``, on any scale; and whether
        these are the very numbers of ``map`` where the scores are those of the fitted rows.
    scale : function of scores, or None
        Brings those of a group that stays to the scale of ``move``; None: it is theirs.
    shy, settle : float, and function of a table, a group and a strength or None
        Nearer scores of two groups, on the scale of ``move``, tie by rounding alone, and no such strength is chosen;
        and what moves a strength off such ties, changing no order.
    own : function of a strength, or None
        Gives that of every moved group, where each has its own.

    Examples
    --------
    >>> from fairpot.repair import Dial, Family
    >>> from fairpot.transport import ScoreMap
    >>> def lift(group, strength):
    ...     return ScoreMap([0.0, 1.0], [strength, 1.0])
    >>> family = Family(Dial(identity=0.0), ("F", "M"), "M", lift, values=[0.0, 0.5, 1.0])
    >>> family.moved, family.maps(0.5)["F"]([0.2]).tolist()
    (('F',), [0.6])
    """

    dial: Dial
    groups: tuple[Hashable, ...]
    reference: Hashable | None
    map: Callable[[Hashable, float], ScoreMap]
    values: Floats
    finer: Callable[[float, float], Floats] | None = None
    few: Floats | None = None
    reach: Callable[[Hashable], Floats] | None = None
    quick: Callable[[ScoreTable, Ties], TradeoffCurve | None] | None = None
    move: Callable[[Hashable, Floats], Mover] | None = None
    scale: Callable[[Floats], Floats] | None = None
    moves_exactly: bool = False
    listed: bool = False
    shy: float = 0.0
    settle: Callable[[ScoreTable, Hashable, float], float] | None = None
    own: Callable[[float], dict[Hashable, float]] | None = None

    @property
    def moved(self) -> tuple[Hashable, ...]:
        """The groups whose scores the method moves."""
        return tuple(g for g in self.groups if g != self.reference)

    @property
    def tried(self) -> Floats:
        """The strengths to try folds and to compare methods at."""
        return self.values if self.few is None else self.few

    def maps(self, value: float) -> dict[Hashable, ScoreMap]:
        """Give the maps of the moved groups at a strength; those that change nothing are left out."""
        found = {g: self.map(g, value) for g in self.moved}
        return {g: each for g, each in found.items() if not each.is_identity}

    def strengths(self, value: float) -> dict[Hashable, float]:
        """Give the strength of every moved group."""
        return dict.fromkeys(self.moved, value) if self.own is None else self.own(value)

    def steps(self, values: Floats) -> Iterator[dict[Hashable, ScoreMap]]:
        """Give the maps at each of some strengths."""
        return (self.maps(float(value)) for value in values)

    def views(self, table: ScoreTable, values: Floats) -> Iterator[list[Floats]]:
        """Give the scores of all entries of a table at each of some strengths, on whatever scale is quickest."""
        movers = [self.mover(g, table[g].score) for g in table.groups]
        return ([move(float(value)) for move in movers] for value in values)

    def mover(self, group: Hashable, scores: Floats) -> Mover:
        """Return what gives some scores of a group at any strength."""
        if group not in self.moved:
            shown = scores if self.scale is None else self.scale(scores)
            return lambda value: shown
        if self.move is not None:
            return self.move(group, scores)
        return lambda value: self.map(group, value)(scores)


def spread(low: float, high: float) -> Floats:
    """Give 21 strengths from one to another: the usual ``finer``."""
    return np.linspace(low, high, 21)
