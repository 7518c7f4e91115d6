"""Maps applied to Arrow batches: the score of every row goes through the map of its group."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from fairpot._optional import Lazy
from fairpot._validation import GroupFinder, wording
from fairpot._validation.values import bad_scores
from fairpot.exceptions import MissingGroupError, UnseenGroupError
from fairpot.rows.decoding import check_plain, check_score_type, count_words, doubles, numbers, readings
from fairpot.rows.formats.layout import Batches
from fairpot.rows.readers.grouped import KeyCoder
from fairpot.rows.readers.protocol import Applying, Namer
from fairpot.rows.roles import Kind, Roles, find_column
from fairpot.transport import Floats, ScoreMap
from fairpot.transport.lookup import blocks

pa = Lazy("pyarrow", "cli")
Codes = NDArray[np.int64]


UNKNOWN = object()  # the name of all groups without a map


class GroupPlaces:
    """Find the map of each row's group by its place: -1 for a group without one, -2 for a missing one."""

    def __init__(self, columns: Sequence[str], known: Sequence[Hashable], how: Applying, kind: Kind) -> None:
        self.columns, self.known, self.kind = tuple(columns), list(known), kind
        self.drop_missing = how.drop_missing
        self.ways = {-1: how.unknown_group, -2: "drop" if how.drop_missing else how.missing_group}
        self.find = GroupFinder(self.known)
        self.coder = KeyCoder(columns)
        self.places = np.empty(0, dtype=np.int64)
        self.met = np.empty(0, dtype=np.int64)  # rows of each combination

    def __call__(self, columns: Sequence[Any], rows: int, times: NDArray[np.int64] | None = None) -> Codes:
        """Return the place of each row's group; there are ``times`` of each row."""
        key = self.coder.encode(columns, rows)
        fresh = [self._place(each) for each in self.coder.keys[len(self.places) :]]
        if fresh:
            self.places = np.append(self.places, np.array(fresh, dtype=np.int64))
            self.met = np.append(self.met, np.zeros(len(fresh), dtype=np.int64))
        self.met += np.bincount(key, times, len(self.met)).astype(np.int64)
        return self.places[key]

    def rows_at(self, place: int) -> int:
        """Count the rows of a place."""
        return int(self.met[self.places == place].sum())

    @property
    def refused(self) -> bool:
        """Whether any row so far has no map, and that is an error."""
        return any(way == "error" and (self.places == place).any() for place, way in self.ways.items())

    @property
    def reached(self) -> set[Hashable]:
        """The groups of which there were rows."""
        return {self.known[place] for place in self.places[(self.places >= 0) & (self.met > 0)].tolist()}

    def problems(self) -> Iterator[Exception]:
        """Say which groups are missing and which have no map, with the rows of each."""
        gone, unseen = ([self.coder.keys[i] for i in np.flatnonzero(self.places == place)] for place in (-2, -1))
        if gone and self.ways[-2] == "error":
            first = next(j for key in gone for j, v in enumerate(key) if _is_missing(readings(v, self.kind)))
            yield MissingGroupError(wording.ungrouped(f"column {self.columns[first]!r}", self.rows_at(-2)))
        if unseen and self.ways[-1] == "error":
            names = [_name_of(self.columns, [readings(v, self.kind)[0] for v in key]) for key in unseen]
            told = wording.unseen_groups("the input", self.rows_at(-1), names, self.known, optional=True)
            yield UnseenGroupError(told)

    def _place(self, key: Sequence[Any]) -> int:
        """Find a combination, of which each value may be read in some ways."""
        ways = [readings(value, self.kind) for value in key]
        if any(map(_is_missing, ways)):
            return -2
        for choice in product(*ways):
            name = self.find(_name_of(self.columns, choice))
            if name is not None:
                return self.known.index(name)
        return -1


def _is_missing(ways: list[Any]) -> bool:
    return ways[0] is None or ways[0] != ways[0]


def _name_of(columns: Sequence[str], values: Sequence[Any]) -> Hashable:
    if len(values) == 1:
        return cast(Hashable, values[0])
    return ", ".join(f"{column}={value}" for column, value in zip(columns, values))


def group_namer(known: Sequence[Hashable], columns: Sequence[str], kind: Kind) -> Namer:
    """Make what says how a combination of values of the group columns is called among ``known``, or ``UNKNOWN``."""
    places = GroupPlaces(columns, known, Applying(), kind)

    def called(key: tuple[Any, ...]) -> Hashable:
        place = places._place(key)
        return UNKNOWN if place < 0 else places.known[place]

    return called


def map_scores(scores: Floats, codes: Codes, maps: Sequence[ScoreMap]) -> Floats:
    """Return the adjusted scores, given the place of each row's map; others stay as they are."""
    adjusted = scores.copy()
    for place, score_map in enumerate(maps):
        if not score_map.is_identity:
            rows = np.flatnonzero(codes == place)
            for block in blocks(len(rows)):
                adjusted[rows[block]] = score_map(scores.take(rows[block]))
    return adjusted


class Mapper:
    """Apply maps batch by batch; what is wrong with rows is counted to the end, then told at once."""

    def __init__(self, source: Roles, batches: Batches, maps: Mapping[Hashable, ScoreMap], how: Applying) -> None:
        self.name, self.maps, self.how, self.kind = source.score, maps, how, batches.kind
        self.decimal = "." if batches.layout is None else batches.layout.decimal
        schema, named = batches.schema, source.group_columns
        self.places = GroupPlaces(named, list(maps), how, batches.kind)
        self.dropped = self.outside = self.words = 0
        self.unmapped = {-1: 0, -2: 0}  # rows without a map that were let through
        self.whole_scores, self.whole_results = True, True
        self.lowest, self.highest = np.inf, -np.inf
        self.bad: list[Floats] = []
        self.whole = False
        self.score = find_column(source.score, schema.names, "the input", "score")
        self.groups = [find_column(g, schema.names, "the input", "group") for g in named]
        if self.kind == "typed":
            self._check_type(schema.field(self.score).type)
            for place in self.groups:
                check_plain(schema.field(place).type, schema.names[place])

    @property
    def problems(self) -> bool:
        """Whether any row so far cannot be mapped."""
        return bool(self.bad or self.words or self.places.refused)

    def __call__(self, batch: Any) -> tuple[Any, Floats, Codes, Floats]:
        """Return a batch, its scores, the place of each row's group, and the adjusted scores.

        Where rows with missing values are to be dropped, they are not in it. Where rows cannot be mapped, adjusted
        scores mean nothing.
        """
        scores = self._scores(batch.column(self.score))
        codes = self.places([batch.column(i) for i in self.groups], batch.num_rows)
        if self.how.drop_missing:
            gone = np.isnan(scores) | (codes == -2)
            if gone.any():
                rows = np.flatnonzero(~gone)
                self.dropped += int(gone.sum())
                batch, scores, codes = batch.take(rows), scores[rows], codes[rows]
        if self.problems:
            return batch, scores, codes, scores
        adjusted = map_scores(scores, codes, list(self.maps.values()))
        if len(codes) and codes.min() < 0:
            for place, way in self.places.ways.items():
                rows = np.flatnonzero(codes == place)
                self.unmapped[place] += len(rows)
                if way == "null":
                    adjusted[rows] = np.nan
        if self.whole_scores:
            self.whole_scores = bool((np.floor(scores) == scores).all())
            self.whole_results &= bool(((np.floor(adjusted) == adjusted) | np.isnan(adjusted)).all())
        return batch, scores, codes, adjusted

    def _check_type(self, type_: Any) -> None:
        types = pa.types
        kind = "text" if types.is_dictionary(type_) and not types.is_floating(type_.value_type) else str(type_)
        check_score_type("VARCHAR" if kind == "text" else kind, self.name)
        self.whole = types.is_integer(type_)

    def _scores(self, column: Any) -> Floats:
        """Return scores as doubles, keeping those that are no finite numbers for the complaint."""
        column = numbers(column, self.kind, f"column {self.name!r}", self.decimal)
        self.words += count_words(column, self.kind)
        scores = doubles(column)
        low, high = (float(scores.min()), float(scores.max())) if len(scores) else (np.inf, -np.inf)
        usable = scores
        if not (low > -wording.LARGEST and high < wording.LARGEST):  # or some are NaN
            good = np.abs(scores) < wording.LARGEST
            usable = scores[good]
            low, high = float(usable.min(initial=np.inf)), float(usable.max(initial=-np.inf))
            bad = scores[~(good | np.isnan(scores)) if self.how.drop_missing else ~good]
            if len(bad) and not self.words:
                self.bad.append(bad)
        self.lowest, self.highest = min(self.lowest, low), max(self.highest, high)
        far = self.how.far
        if low < far[0] or high > far[1]:
            self.outside += int(((usable < far[0]) | (usable > far[1])).sum())
        return scores

    def complain(self, rows: int) -> None:
        """Raise if any row could not be mapped, or if there were none."""
        name = f"column {self.name!r}"
        if rows == 0:
            raise ValueError(wording.empty(name))
        if self.dropped == rows:
            raise ValueError(f"{name} or the group is missing in all {rows} rows: nothing is left.")
        problems: list[Exception] = []
        if self.words:
            problems.append(TypeError(wording.no_numbers(name, self.words, in_text=self.kind == "text")))
        elif self.bad:
            problems.append(ValueError(bad_scores(np.concatenate(self.bad), None, name, whole=self.whole)))
        problems += self.places.problems()
        if problems:
            raise wording.together(problems)

    def notes(self, rows: int, moved: int) -> Iterator[str]:
        """Say what scores and groups alone show to be odd about a result."""
        if rows > 1 and self.lowest == self.highest:
            yield f"all {rows} scores are {self.lowest:g}: is this the column of the score?"
        if moved == 0:
            yield f"nobody's score changed: {self._why_nobody()}."
        elif self.whole_scores and not self.whole_results:
            told = "the scores are whole numbers, and adjusted ones are not"
            yield f"{told}: round them only if equal scores may be tied."

    def _why_nobody(self) -> str:
        moving = [group for group, score_map in self.maps.items() if not score_map.is_identity]
        if not moving:
            return "the map leaves every group as it is"
        if not self.places.reached & set(moving):
            return f"the rows are of other groups than those that the map moves ({wording.listed(moving)})"
        return "no score lies where the map moves scores"
