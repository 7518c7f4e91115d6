"""How values of group columns become groups: numbers cut into bands, missing ones kept, values that mean unknown."""

from __future__ import annotations

import decimal
import math
import re
from bisect import bisect_right
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from fairpot._arguments import argument
from fairpot._defaults import MOST_GROUPS, UNMAPPED
from fairpot._validation.values import check_choice

MISSING = "(missing)"  # what rows without a value are called, where they are a group
MISSING_GROUPS = ("error", "own")


@dataclass(frozen=True)
class Bands:
    """The bands that one column is cut into; they have names as soon as its values are known.

    The first of ``names`` is below the first of ``edges``; a value equal to an edge belongs to the band that begins
    there. Before that, ``edges`` are those that were asked for, or ``count`` says how many bands are wanted.
    """

    column: str
    edges: tuple[float, ...] = ()
    names: tuple[str, ...] = ()
    count: int = 0

    @classmethod
    def asked(cls, column: Any, wanted: Any) -> Bands:
        """Check what was asked for: edges that ascend, or a number of bands."""
        if isinstance(wanted, int | np.integer) and not isinstance(wanted, bool):
            if not 2 <= wanted <= MOST_GROUPS:
                _refuse(column, f"cannot be {wanted}: a column is cut into 2 to {MOST_GROUPS}")
            return cls(str(column), count=int(wanted))
        listed = [] if isinstance(wanted, str | Mapping) or not np.iterable(wanted) else [*map(_number, wanted)]
        edges = tuple(each for each in listed if each is not None)
        if not edges or len(edges) < len(listed):
            _refuse(column, "need the numbers at which they begin, or how many they are")
        if any(one >= other for one, other in pairwise(edges)):
            _refuse(column, "have edges that do not ascend")
        return cls(str(column), edges)

    def named(self, values: NDArray[np.float64], rows: NDArray[Any]) -> Bands:
        """Find the edges of so many bands and name all of them; a band that no row is in is an error.

        Of ``count`` bands, band k has the values with k in ``count`` of all rows, or more, below them. It begins at the
        shortest number that parts them from the others.
        """
        edges = self.edges
        if self.count:
            distinct, place = np.unique(values, return_inverse=True)
            own = np.bincount(place, rows).astype(np.int64)
            first = np.searchsorted((np.cumsum(own) - own) * self.count, np.arange(1, self.count) * own.sum())
            first = np.unique(first[first < len(distinct)])
            edges = tuple(map(_shortest, distinct[first - 1].tolist(), distinct[first].tolist()))
        place = np.searchsorted(edges, values, side="right")
        empty = sorted({*range(len(edges) + 1)} - {*place.tolist()})
        names = _names(edges, whole=bool((values == np.floor(values)).all()))
        if self.count > len(names):
            _refuse(self.column, f"cannot be {self.count}: equal values leave {len(names)}")
        if empty:
            seen = f"values run from {_text(values.min())} to {_text(values.max())}"
            _refuse(self.column, f"leave {names[empty[0]]!r} without rows: {seen}")
        return replace(self, edges=edges, names=names, count=0)

    def name_of(self, value: float) -> str:
        """Return the band of a number."""
        return self.names[bisect_right(self.edges, value)]


@dataclass(frozen=True)
class Grouping:
    """Say how values of group columns become groups, where rows are named by a source.

    Parameters
    ----------
    bands : tuple of Bands
        The bands that columns are cut into; :meth:`of` makes them from a dict.
    missing : bool
        Whether missing values are a group.
    unknown : tuple of str
        The values that mean that the group is not known.
    looked_for : bool
        Whether it was said which of these values no row has.

    Examples
    --------
    >>> from fairpot.rows import Grouping
    >>> Grouping.of(unknown=["Declined"]).unknown
    ('Declined',)
    """

    bands: tuple[Bands, ...] = ()
    missing: bool = False
    unknown: tuple[str, ...] = ()
    looked_for: bool = field(default=False, compare=False)

    @classmethod
    def of(cls, bands: Any = None, unknown: Any = None, missing_group: str = "error") -> Grouping | None:
        """Check what is said; None where nothing is."""
        check_choice(missing_group, "missing_group", MISSING_GROUPS)
        if bands is not None and not isinstance(bands, Mapping):
            raise TypeError(
                f"bands must be a dict of column to edges, or to a number of bands, got {type(bands).__name__}.\n"
                f"Hint: {argument('bands', {'age': [25, 45, 65]})}"
            )
        one = isinstance(unknown, str) or not np.iterable(unknown)
        listed = [] if unknown is None else [unknown] if one else [*unknown]
        found = cls(
            tuple(Bands.asked(column, wanted) for column, wanted in (bands or {}).items()),
            missing_group == "own",
            tuple(map(_plain, listed)),
        )
        return None if found == cls() else found

    @classmethod
    def stored(cls, content: Mapping[str, Any]) -> Grouping:
        """Read what a map file holds."""
        bands = (Bands(each["column"], tuple(each["edges"]), tuple(each["names"])) for each in content["bands"])
        return cls(tuple(bands), content["missing"], tuple(content["unknown"]))

    @property
    def written(self) -> dict[str, Any]:
        """What a map file holds of it."""
        bands = [{"column": b.column, "edges": list(b.edges), "names": list(b.names)} for b in self.bands]
        return {"bands": bands, "missing": self.missing, "unknown": list(self.unknown)}

    @property
    def told(self) -> str:
        """The bands in words."""
        return "; ".join(f"bands of {each.column}: {', '.join(each.names)}" for each in self.bands)

    @property
    def said(self) -> str:
        """The name of something that was said, for who refuses it."""
        return "bands" if self.bands else "unknown" if self.unknown else "missing_group"

    def check_columns(self, columns: Sequence[str]) -> None:
        """Refuse bands of a column that is not one with a group; those of a fit have names, and may be called so."""
        known = ", ".join(columns) or "none is named"
        for each in self.bands:
            if not each.names and each.column not in columns:
                raise ValueError(
                    f"bands cut the column {each.column!r}, which is not a group column: {known}.\n"
                    "Hint: cut one of these columns into bands, or leave the bands out."
                )

    def check_weights(self, weights: Any) -> None:
        """Refuse a number of bands where a weight is so many rows: bands of equal size are of rows as they come."""
        for each in self.bands:
            if each.count and weights == "frequency":
                _refuse(each.column, f"cannot be {each.count} of equal size where a weight is so many rows")

    def of_column(self, column: str | None, *, alone: bool) -> Bands | None:
        """Give the bands of a column; one that stands alone may be called otherwise than in the fit, or have no name.

        A column has none where none are said of it.
        """
        if alone and len(self.bands) == 1 and (column is None or self.bands[0].names):
            return self.bands[0]
        return next((each for each in self.bands if each.column == column), None)

    def called(
        self, bands: Bands | None, values: Sequence[Any], rows: NDArray[Any], gone: NDArray[np.bool_]
    ) -> tuple[list[Any], Bands | None]:
        """Say what the distinct values of a column are called, ``rows`` of each; give its bands with their names.

        Fitted bands leave what is not a number as it is: it may be the name of a band.
        """
        names = [MISSING if lost else value for value, lost in zip(values, gone)]
        if bands is None:
            return names, None
        unknown = np.array([_plain(value) in self.unknown for value in values], dtype=bool)
        numbers = [None if other else _number(value) for value, other in zip(values, gone | unknown)]
        known = np.array([number is not None for number in numbers], dtype=bool)
        if not bands.names:
            other = ~known & ~gone & ~unknown
            if other.any() or not known.any():
                has = f"{int(rows[other].sum())} rows with something else" if other.any() else "none"
                raise TypeError(
                    f"bands cut numbers, and column {bands.column!r} has {has}.\n"
                    f"Hint: leave its bands out, or name the values that mean unknown, {argument('unknown', ...)}"
                )
            bands = bands.named(np.array([n for n in numbers if n is not None]), rows[known])
        plain = [name if lost else _plain(name) for name, lost in zip(names, gone)]
        return [name if n is None else bands.name_of(n) for name, n in zip(plain, numbers)], bands

    def readings(self, bands: Bands | None, ways: list[Any]) -> list[Any]:
        """Return what one value of a column with fitted bands may be called, given what it may have been read as."""
        if ways[0] is None or ways[0] != ways[0]:
            return [MISSING] if bands is not None or self.missing else ways
        if bands is None:
            return ways
        plain = [_plain(way) for way in ways]
        number = None if {*plain} & {*self.unknown} else _number(ways[0])
        return plain if number is None else [bands.name_of(number)]

    def of_row(self, group: Any, known: Iterable[Hashable]) -> Any:
        """Name the group of one row: of its value, a dict of columns, or a tuple in the order of ``known`` groups."""
        if isinstance(group, dict):
            return {c: self.readings(self.of_column(c, alone=len(group) == 1), [v])[0] for c, v in group.items()}
        if isinstance(group, tuple):
            columns = [part.partition("=")[0] for part in intersected(str(next(iter(known))))]
            return tuple(self.readings(self.of_column(c, alone=False), [v])[0] for c, v in zip(columns, group))
        return self.readings(self.of_column(None, alone=True), [group])[0]

    def means_unknown(self, group: Hashable) -> bool:
        """Whether a group, or a part of an intersection, is a value that means unknown."""
        return not _parts(group).isdisjoint(self.unknown)

    def unmet(self, groups: Iterable[Hashable]) -> list[str]:
        """List the values that mean unknown and that none of the groups has."""
        met = set[str]().union(*map(_parts, groups))
        return [value for value in self.unknown if value not in met]


def lacks_part(group: Hashable) -> bool:
    """Whether a group is that of missing values, or an intersection with one."""
    return MISSING in _parts(group)


def check_unmapped(unknown_group: Any, missing_group: Any, groups: Iterable[Hashable]) -> None:
    """Check what is to become of rows whose group has no map; those without a group may have one."""
    check_choice(unknown_group, "unknown_group", UNMAPPED)
    check_choice(missing_group, "missing_group", UNMAPPED)
    if missing_group != "error" and any(map(lacks_part, groups)):
        said = (
            f"{argument('missing_group', missing_group)} has nothing to decide: rows without a group are a group here"
        )
        raise ValueError(f"{said}.\nHint: leave it out.")


def intersected(name: str) -> list[str]:
    """Take the name of an intersection apart; a value may hold a comma."""
    return re.split(r", (?=[^,=]*=)", name)


def _parts(group: Hashable) -> set[str]:
    """Return the values that make a group, and its name, as text."""
    text = _plain(group)
    return {text, *(part.partition("=")[2] or part for part in intersected(text))}


def _number(value: Any) -> float | None:
    """Read a number, also one in text; None of anything else, and of what is not finite."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number | decimal.Decimal | str):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _shortest(below: float, value: float) -> float:
    """Give a number above the one and at most the other, with as few digits as rounding the latter finds."""
    every = (float(f"{value:.{digits}g}") for digits in range(1, 17))
    return next((short for short in every if below < short <= value), value)


def _names(edges: Sequence[float], *, whole: bool) -> tuple[str, ...]:
    """Name the bands between edges; where values and edges are whole, by the last value that is inside."""
    first, last = f"under {_text(edges[0])}", f"{_text(edges[-1])}+"
    if whole and all(edge.is_integer() for edge in edges):
        ends = [(_text(low), _text(high - 1)) for low, high in pairwise(edges)]
        return first, *(low if low == high else f"{low} to {high}" for low, high in ends), last
    return first, *(f"{_text(low)} to under {_text(high)}" for low, high in pairwise(edges)), last


def _plain(value: Any) -> str:
    """Write a value as text; a whole number alike, whether it is a float or not."""
    return _text(value) if isinstance(value, float) and math.isfinite(value) else str(value)


def _text(number: float) -> str:
    return str(int(number)) if float(number).is_integer() else repr(float(number))


def _refuse(column: Any, what: str) -> NoReturn:
    edges, count = argument("bands", {str(column): [25, 45, 65]}), argument("bands", {str(column): 4})
    raise ValueError(
        f"bands of {str(column)!r} {what}.\nHint: {edges} says where bands begin, {count} makes four of about "
        "equal size."
    )
