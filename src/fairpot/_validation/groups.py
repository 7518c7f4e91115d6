"""Groups: one column, or several that form intersections; coded as integers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairpot._arguments import argument
from fairpot._optional import Lazy
from fairpot._validation import wording
from fairpot._validation.columns import as_column, as_native_columns, kept_rows, lacking, missing, reject_masked
from fairpot._validation.grouping import MISSING, Grouping, intersected, lacks_part
from fairpot.exceptions import MissingGroupError, UnseenGroupError

if TYPE_CHECKING:
    import narwhals as nw

    Column = NDArray[Any] | nw.Series[Any]
else:
    nw = Lazy("narwhals")

Codes = NDArray[Any]  # any integers
_FEW = 32  # up to this many groups, comparing the column with each name beats sorting it
LONGEST_NAME = 500  # characters of a group's name, which stands in every table, message and page


def check_groups(
    sensitive_features: Any,
    rows: int,
    name: str = "sensitive_features",
    *,
    several: bool = True,
    grouping: Grouping | None = None,
    times: NDArray[np.int64] | None = None,
    most: int | None = None,
) -> tuple[Codes, tuple[Hashable, ...], Grouping | None]:
    """Check group columns; return a code a row, the names the codes index, in sorted order, and named ``grouping``.

    Several columns form intersections, named like "sex=F, age=<25" (or "F, <25" without column names). Bands are in
    their order. There are ``times`` of each row, and more than ``most`` groups are an error.
    """
    if sensitive_features is None:
        raise TypeError(
            f"{name} is missing: pass the group of each row, {name}=...\n"
            "Hint: pass a column (sex, age band, ...), or a frame with several columns for their intersections."
        )
    columns = _columns(sensitive_features, name)
    form = "{}[{!r}]" if len(columns) > 1 or isinstance(sensitive_features, dict) else "{}"
    where = [f"column {label!r}" if times is not None else form.format(name, label) for label, _ in columns]
    for label, (_, column) in zip(where, columns):
        if len(column) != rows:
            raise ValueError(wording.other_length(label, len(column), rows))
    known = group_columns(sensitive_features)
    if grouping is None and times is None:
        coded = [_encode(column, label) for label, (_, column) in zip(where, columns)]
    else:
        called: Sequence[str | None] = known or ([None] if len(columns) == 1 else [label for label, _ in columns])
        coded, found = _regrouped(columns, where, called, grouping or Grouping(), times)
        grouping = grouping and found
    for place, (_, names) in enumerate(coded):
        _check_few(names, known[place : place + 1], most)
    codes, names = coded[0] if len(columns) == 1 else _intersect(coded, list(known) or None, name)
    _check_few(names, known, most)
    long = sum(len(each) > LONGEST_NAME for each in names if isinstance(each, str))
    if long:
        raise ValueError(
            f"{name} has {wording.counted(long, 'group')} whose name is longer than {LONGEST_NAME} characters.\n"
            "Hint: was a column of texts named? Give groups short names first."
        )
    if several and len(names) < 2:
        raise ValueError(wording.single_group(f"{name} has", names[0], rows))
    return codes, names, grouping


def _check_few(groups: Sequence[Hashable], columns: Sequence[str], most: int | None) -> None:
    if most is not None and len(groups) > most:
        raise ValueError(wording.too_many_groups(groups, columns))


def _regrouped(
    columns: Sequence[tuple[str, Column]],
    where: Sequence[str],
    called: Sequence[str | None],
    grouping: Grouping,
    times: NDArray[np.int64] | None,
) -> tuple[list[tuple[Codes, tuple[Hashable, ...]]], Grouping]:
    """Code columns by what is said of their values: each distinct value has a name, and equal names are one group."""
    coded, named = [], {each.column: each for each in grouping.bands}
    if called[0] is not None or len(grouping.bands) > 1:
        grouping.check_columns([each for each in called if each is not None])
    for label, (_, column), own in zip(where, columns, called):
        bands = grouping.of_column(own, alone=len(columns) == 1)
        if bands is not None and not isinstance(column, np.ndarray) and column.dtype.is_numeric():
            column = column.to_numpy()
        codes, values = _distinct(column, label)
        gone, rows = _without_name(values), np.bincount(codes, times, len(values)).astype(np.int64)
        if gone.any() and bands is None and not grouping.missing:
            raise MissingGroupError(wording.missing_groups(label, int(rows[gone].sum())))
        names, found = grouping.called(bands, values, rows, gone)
        if found is not None:
            named[found.column] = found
        first = {} if found is None else {name: i - len(found.names) for i, name in enumerate(found.names)}
        names = [_plain_name(each) for each in names]  # bands as they are, then other names, then missing ones
        distinct = sorted(set(names), key=lambda each: (each == MISSING, first.get(each, 0), sort_key(each)))
        place = {each: i for i, each in enumerate(distinct)}
        coded.append((np.array([place[each] for each in names], dtype=np.intp)[codes], tuple(distinct)))
    return coded, replace(grouping, bands=tuple(named.values()))


def group_columns(sensitive_features: Any) -> tuple[str, ...]:
    """Name the columns with the group, where they have names."""
    if isinstance(sensitive_features, dict):
        return tuple(map(str, sensitive_features))
    wrapped = as_native_columns(sensitive_features)
    if isinstance(wrapped, nw.DataFrame):
        return tuple(map(_label, wrapped.columns))
    name = None if wrapped is None else wrapped.name
    return (name,) if isinstance(name, str) and name else ()


def check_clusters(clusters: Any, rows: int, name: str = "clusters") -> tuple[Codes, Sequence[Hashable]]:
    """Check what rows belong together by; return a code a row and the names the codes index, in any order."""
    columns = _columns(clusters, name)
    if len(columns) > 1:
        return check_groups(clusters, rows, name, several=False)[:2]
    [(_, column)] = columns
    if len(column) != rows:
        raise ValueError(wording.other_length(name, len(column), rows))
    if not isinstance(column, np.ndarray) and column.dtype.is_integer() and not column.null_count():
        column = np.asarray(column.to_numpy())
    if isinstance(column, np.ndarray) and column.dtype == "datetime64[ns]":
        column = column.astype("datetime64[us]")  # nanoseconds would be called by their number, not by their date
    return _named(column, name, "cluster")


def place_groups(
    sensitive_features: Any,
    rows: int,
    known: Sequence[Hashable],
    *,
    unknown_group: str,
    missing_group: str,
    name: str = "sensitive_features",
    grouping: Grouping | None = None,
) -> Codes:
    """Return the place of each row's group in ``known``: -1 for one that is not there, -2 for a missing one.

    Both are errors, told in one report, unless the two words say otherwise.
    """
    gone, column = np.zeros(rows, dtype=bool), name
    coded = partial(check_groups, name=name, several=False, grouping=grouping)
    try:
        codes, names, _ = coded(sensitive_features, rows)
    except MissingGroupError as error:
        column = str(error).partition(" has ")[0]  # the first that has a gap
        gone = lacking(sensitive_features)
        codes, names = np.empty(0, dtype=np.intp), ()
        if not gone.all():
            codes, names, _ = coded(kept_rows(sensitive_features, ~gone), int((~gone).sum()))
    found, unseen = _found(names, known)
    if tuple(found) == tuple(known) and not gone.any():
        return codes
    lost = [-2 if grouping is not None and lacks_part(each) else -1 for each in names]
    place = [other if g is None else known.index(g) for g, other in zip(found, lost)]
    places = np.full(rows, -2, dtype=np.intp)
    places[~gone] = np.array(place, dtype=np.intp)[codes]
    problems: list[Exception] = []
    if missing_group == "error" and (places == -2).any():
        problems.append(MissingGroupError(wording.ungrouped(column, int((places == -2).sum()))))
    unseen = [i for i in unseen if place[i] == -1]
    if unseen and unknown_group == "error":
        told = int((places == -1).sum()), [names[i] for i in unseen], known
        problems.append(UnseenGroupError(wording.unseen_groups(name, *told, optional=True)))
    if problems:
        raise wording.together(problems)
    return places


def check_seen(
    names: Sequence[Hashable], known: Sequence[Hashable], rows_at: Callable[[Sequence[int]], float]
) -> tuple[Hashable, ...]:
    """Insist that every group was there in fit; return what it was called there. ``rows_at`` counts rows at places."""
    found, unseen = _found(names, known)
    if unseen:
        rows, groups = int(rows_at(unseen)), [names[place] for place in unseen]
        raise UnseenGroupError(wording.unseen_groups("sensitive_features", rows, groups, known))
    return tuple(found)


def _found(names: Sequence[Hashable], known: Sequence[Hashable]) -> tuple[list[Any], list[int]]:
    """Find what groups were called in fit, None where they were not there, and the places of those."""
    found = list(map(GroupFinder(known), names))
    return found, [place for place, group in enumerate(found) if group is None]


class GroupFinder:
    """Find groups by what they may be called: an intersection by its columns in any order, or by its values alone."""

    __slots__ = ("_known", "_named", "_valued")

    def __init__(self, known: Sequence[Hashable]) -> None:
        self._known = {group: group for group in known}
        self._named: dict[Any, Any] = {}
        self._valued: dict[Any, Any] = {}
        for group in known:
            parts = _parts(group)
            for names, name in ((self._named, tuple(sorted(parts))), (self._valued, _values(parts))):
                names[name] = None if not parts or name in names else group  # None: several read so

    def __call__(self, group: Any) -> Any:
        """Return a group as it was called in fit; None if it was not there."""
        if isinstance(group, dict):
            group = ", ".join(f"{column}={value}" for column, value in group.items())
        elif isinstance(group, tuple):
            group = ", ".join(map(str, group))
        try:
            found = self._known.get(group)
        except TypeError:  # what is not hashable is no name
            return None
        if found is not None or not isinstance(group, str):
            return found
        parts = _parts(group)
        if parts:  # columns by name; where fit had none, by position
            return self._named.get(tuple(sorted(parts))) or self._known.get(_values(parts))
        return self._valued.get(group)


def _parts(group: Hashable) -> list[str]:
    """Split the name of an intersection of named columns; empty if it is none."""
    parts = intersected(group) if isinstance(group, str) else []
    return parts if len(parts) > 1 and all("=" in part for part in parts) else []


def _values(parts: Sequence[str]) -> str:
    return ", ".join(part.partition("=")[2] for part in parts)


def _columns(values: Any, name: str) -> list[tuple[str, Column]]:
    """Split the input into named columns."""
    if isinstance(values, dict):
        if not values:
            raise ValueError(f"{name} is an empty dict.\nHint: {name}={{'sex': column}} names one column or several.")
        return [(str(key), as_column(column, f"{name}[{key!r}]")) for key, column in values.items()]
    wrapped = as_native_columns(values)
    if wrapped is not None and isinstance(wrapped, nw.DataFrame):
        if wrapped.shape[1] == 0:
            raise ValueError(f"{name} is a frame without columns.\nHint: pass the column with the group of each row.")
        return [(_label(c), wrapped[:, j]) for j, c in enumerate(wrapped.columns)]
    if wrapped is not None:
        return [(name, wrapped)]
    if not isinstance(values, str | bytes):
        reject_masked(values, name)
        array = np.asarray(values, dtype=object) if isinstance(values, list | tuple) else np.asarray(values)
        if array.ndim == 2 and array.shape[1] > 1:
            return [(str(j), array[:, j]) for j in range(array.shape[1])]
        if array.ndim == 1:
            return [(name, array)]
    return [(name, as_column(values, name))]


def _label(column: Any) -> str:
    return ".".join(map(str, column)) if isinstance(column, tuple) else str(column)


def check_group_name(group: Any, names: Sequence[Hashable], name: str) -> Hashable:
    """Check the name of one group that the caller gives."""
    try:
        known = group in names
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"{argument(name)} must be the name of one group, got {type(group).__name__}.\nHint: one of {list(names)}."
        ) from error
    if not known:
        raise ValueError(
            f"{argument(name, group)} is not among the groups {list(names)}.\n"
            "Hint: write it as it is there; 1 and '1' are two names."
        )
    return next(known for known in names if known == group)


def _encode(column: Column, label: str) -> tuple[Codes, tuple[Hashable, ...]]:
    """Code one column without sorting it, by names in sorted order; missing values are an error."""
    codes, names = _named(column, label)
    order = sorted(range(len(names)), key=lambda i: sort_key(names[i]))
    if order != list(range(len(names))):
        codes = np.argsort(order).astype(codes.dtype)[codes]
    return codes, tuple(names[i] for i in order)


def _distinct(column: Column, label: str, noun: str = "group") -> tuple[Codes, list[Any]]:
    """Code one column by its values, in any order; missing ones are values too."""
    try:
        if not isinstance(column, np.ndarray):
            codes, names = _by_series(column)
        elif column.dtype.kind == "O":
            codes, names = _by_hash(column)
        else:
            codes, names = _by_comparison(column) if noun == "group" else _by_sort(column)
    except Exception as error:  # every library has its own way to say that it cannot compare or hash
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise TypeError(wording.not_plain(label, reason)) from error
    return codes, names


def _without_name(values: Sequence[Any]) -> NDArray[np.bool_]:
    return missing(np.array([*values, None], dtype=object))[:-1]  # the None keeps lists from unfolding


def _named(column: Column, label: str, noun: str = "group") -> tuple[Codes, list[Hashable]]:
    """Code one column by plain names, in any order; missing values are an error."""
    codes, names = _distinct(column, label, noun)
    gone = _without_name(names)
    if gone.any():
        raise MissingGroupError(wording.missing_groups(label, int(gone[codes].sum()), noun))
    names = [_plain_name(name) for name in names]
    if len(set(names)) < len(names):
        raise ValueError(f"{label} has two {noun}s that read alike as text.\nHint: give them names of your own.")
    return codes, names


def _plain_name(value: Any) -> Hashable:
    """Keep text, numbers and booleans as Python has them; intervals of ``pd.cut``, dates and the like go by text."""
    if isinstance(value, np.str_ | np.number | np.bool_):  # frames hand them out from columns of objects
        value = value.item()
    return value if isinstance(value, str | bool | int | float) else str(value)


def sort_key(value: Any) -> tuple[str, Any]:
    """Order names: numbers by value, everything else by type and text."""
    if isinstance(value, bool | int | float):
        return "", value
    return type(value).__name__, str(value)


def _by_series(series: nw.Series[Any]) -> tuple[Codes, list[Any]]:
    """Let the library that holds a column compare it with each of its names."""
    if isinstance(series.dtype, nw.Categorical | nw.Enum) and series.implementation.is_polars():
        series = series.cast(nw.String)
    names = series.unique().to_list()
    if len(names) > _FEW or _without_name(names).any():
        return _by_hash(np.array([*series.to_list(), None], dtype=object)[:-1])
    codes = np.zeros(len(series), dtype=np.uint8)
    for i, value in enumerate(names[1:], start=1):
        codes[np.flatnonzero((series == value).to_numpy())] = i
    return codes, names


def _by_comparison(column: NDArray[Any]) -> tuple[Codes, list[Any]]:
    """Compare the column with each name as it is met; many names: sort after all."""
    codes = np.zeros(len(column), dtype=np.uint8)
    names = [column[0].item()]
    other = np.asarray(column != column[0])
    while other.any():
        if len(names) == _FEW:
            return _by_sort(column)
        codes += other
        value = column[other.argmax()]
        names.append(value.item())
        other &= column != value
    return codes, names


def _by_sort(column: NDArray[Any]) -> tuple[Codes, list[Any]]:
    distinct, inverse = np.unique(column, return_inverse=True)
    return inverse, distinct.tolist()


def _by_hash(column: NDArray[Any]) -> tuple[Codes, list[Any]]:
    """Code a column of Python objects with a dictionary."""
    seen: defaultdict[Hashable, int] = defaultdict(count().__next__)
    codes = np.fromiter(map(seen.__getitem__, column.tolist()), dtype=np.intp, count=len(column))
    return codes, [v.item() if isinstance(v, np.generic) else v for v in seen]


def _intersect(
    coded: list[tuple[Codes, tuple[Hashable, ...]]], labels: list[str] | None, name: str
) -> tuple[Codes, tuple[Hashable, ...]]:
    """Form the intersections that occur, named by their values and, where known, their columns."""
    sizes = [len(names) for _, names in coded]
    combined = np.ravel_multi_index([codes for codes, _ in coded], sizes)
    present, codes = np.unique(combined, return_inverse=True)
    made = []
    for places in zip(*np.unravel_index(present, sizes)):
        parts = [str(names[i]) for i, (_, names) in zip(places, coded)]
        made.append(", ".join(parts if labels is None else map("{}={}".format, labels, parts)))
    twice = [group for group, times in Counter(made).items() if times > 1]
    if twice:
        raise ValueError(
            f"{name} has two intersections that both read {twice[0]!r}: 1 and '1' read alike, and a comma inside a "
            "value looks like the one between values.\nHint: make one column of them, with names of your own."
        )
    return codes, tuple(made)
