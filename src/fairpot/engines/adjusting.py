"""Maps applied to Arrow batches: the score of every row goes through the map of its group."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from fairpot._optional import import_optional
from fairpot._validation import GroupFinder, wording
from fairpot._validation.checked_rows import bad_scores
from fairpot.engines.naming import (
    Key,
    KeyCoder,
    Kind,
    check_plain,
    check_score_type,
    doubles,
    find_column,
    number_from_json,
    numbers_from_column,
    numbers_from_text,
    readings,
)
from fairpot.exceptions import MissingGroupError, UnseenGroupError
from fairpot.transport import Floats, ScoreMap
from fairpot.transport.lookup import blocks


class _Unknown:
    """The name of all groups without a map."""

    def __repr__(self) -> str:
        return "groups without a map"


UNKNOWN = _Unknown()


class Mapper:
    """Apply maps batch by batch; what is wrong with rows is counted to the end, then told at once.

    Parameters
    ----------
    score : str
        The column with the score.
    groups : sequence of str
        The columns with the group.
    schema : pyarrow.Schema
        Of the batches.
    maps : mapping of group to ScoreMap
    kind : {"typed", "text", "json"}, default "typed"
        How values come in the batches.
    exact_types : bool, default True
        False where types were found by looking, so that groups may read otherwise than in fit.
    decimal : {".", ","}, default "."
        The decimal mark of scores in text.
    unknown_group : {"error", "keep", "null"}, default "error"
        What becomes of rows whose group has no map: an error, the score as it is, or NaN.
    missing_group : {"error", "keep", "null"}, default "error"
        What becomes of rows without a group, likewise.
    drop_missing : bool, default False
        Whether rows with a missing score or group are left out, and counted, instead of an error.
    far : (float, float), default (-inf, inf)
        Scores below the first or above the second are counted as ``outside``.
    """

    def __init__(
        self,
        score: str,
        groups: Sequence[str],
        schema: Any,
        maps: Mapping[Hashable, ScoreMap],
        *,
        kind: Kind = "typed",
        exact_types: bool = True,
        decimal: str = ".",
        unknown_group: str = "error",
        missing_group: str = "error",
        drop_missing: bool = False,
        far: tuple[float, float] = (-np.inf, np.inf),
    ) -> None:
        self.name, self.group_columns, self.maps = score, tuple(groups), maps
        self.kind, self.exact_types, self.decimal = kind, exact_types, decimal
        self.unknown_group, self.missing_group, self.drop_missing = unknown_group, missing_group, drop_missing
        self.far = far
        self.dropped = self.unknown = self.missing = self.outside = 0
        self.whole_scores, self.whole_results = True, True
        self.lowest, self.highest = np.inf, -np.inf
        self.known, self.find = list(maps), GroupFinder(list(maps))
        self.moving = [i for i, group in enumerate(self.known) if not maps[group].is_identity]
        self.score = find_column(score, schema.names, "the input", "score")
        self.groups = [find_column(g, schema.names, "the input", "group") for g in groups]
        self.coder = KeyCoder(groups)
        self.places = np.empty(0, dtype=np.int64)
        self.met = np.empty(0, dtype=np.int64)
        self.bad: list[Floats] = []
        self.words = 0
        self.whole = False
        if kind == "typed":
            self._check_type(schema.field(self.score).type)
            for place in self.groups:
                check_plain(schema.field(place).type, schema.names[place])

    @property
    def problems(self) -> bool:
        """Whether any row so far cannot be mapped."""
        return bool(self.bad or self.words or self._refused(-1).any() or self._refused(-2).any())

    def _refused(self, place: int) -> NDArray[np.bool_]:
        """Mark the combinations that are an error: of groups without a map (-1), or of missing ones (-2)."""
        way, allowed = (self.unknown_group, False) if place == -1 else (self.missing_group, self.drop_missing)
        return (self.places == place) & (way == "error" and not allowed)

    @property
    def reached(self) -> set[Hashable]:
        """The groups of which there were rows."""
        return {self.known[place] for place in self.places[(self.places >= 0) & (self.met > 0)].tolist()}

    def naming(self, kind: Kind) -> Callable[[Key], Hashable]:
        """Return what says how a combination of values, that come as ``kind`` says, is called among the maps.

        Those without a map are ``UNKNOWN``.
        """

        return group_namer(self.known, self.group_columns, kind)

    def kept(self, batch: Any) -> tuple[Any, Floats, NDArray[np.int64], Floats]:
        """Map a batch as when called; where rows with missing values are to be dropped, return it without them."""
        scores, codes, adjusted = self(batch)
        if self.drop_missing:
            gone = np.isnan(scores) | (codes == -2)
            if gone.any():
                rows = np.flatnonzero(~gone)
                self.dropped += int(gone.sum())
                batch, scores, codes, adjusted = batch.take(rows), scores[rows], codes[rows], adjusted[rows]
        if len(codes) and codes.min() < 0:
            unknown, missing = codes == -1, codes == -2
            self.unknown += int(unknown.sum())
            self.missing += int(missing.sum())
            for rows, way in ((unknown, self.unknown_group), (missing, self.missing_group)):
                if way == "null":
                    adjusted[rows] = np.nan
        self._look_for_fractions(scores, adjusted)
        return batch, scores, codes, adjusted

    def _look_for_fractions(self, scores: Floats, adjusted: Floats) -> None:
        """See whether all scores are whole numbers, and whether all results are."""
        if self.whole_scores:
            self.whole_scores = bool((np.floor(scores) == scores).all())
            self.whole_results &= bool(((np.floor(adjusted) == adjusted) | np.isnan(adjusted)).all())

    def __call__(self, batch: Any) -> tuple[Floats, NDArray[np.int64], Floats]:
        """Return the scores of a batch, the place of each row's group, and the adjusted scores."""
        scores = self._scores(batch.column(self.score))
        key = self.coder.encode([batch.column(i) for i in self.groups], batch.num_rows)
        self._learn()
        self.met += np.bincount(key, minlength=len(self.met))
        codes = self.places[key]
        adjusted = scores.copy()
        for place in self.moving:
            rows = np.flatnonzero((codes == place) & ~np.isnan(scores) if self.drop_missing else codes == place)
            if len(rows) and not self.problems:
                for block in blocks(len(rows)):
                    adjusted[rows[block]] = self.maps[self.known[place]](scores.take(rows[block]))
        return scores, codes, adjusted

    def places_of(self, columns: Sequence[Any], rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the place of each combination of group values, ``rows`` of each, for engines that map elsewhere."""
        key = self.coder.encode(columns, len(rows))
        self._learn()
        self.met += np.bincount(key, rows, len(self.met)).astype(np.int64)
        return self.places[key]

    def extended(self, batch: Any, schema: Any, column: str) -> Any:
        """Return a batch with the adjusted scores as a column more, see :func:`with_column`."""
        _, _, adjusted = self(batch)
        return joined(batch, adjusted, schema, column)

    def _check_type(self, type_: Any) -> None:
        pa = import_optional("pyarrow", "cli")
        types = pa.types
        kind = "text" if types.is_dictionary(type_) and not types.is_floating(type_.value_type) else str(type_)
        check_score_type("VARCHAR" if kind == "text" else kind, self.name)
        self.whole = types.is_integer(type_)

    def _scores(self, column: Any) -> Floats:
        """Return scores as doubles, keeping those that are no finite numbers for the complaint."""
        if self.kind == "typed":
            column = numbers_from_column(column)
        elif self.kind == "text":
            column = numbers_from_text(column, f"column {self.name!r}", self.decimal)
        else:
            column = self._from_json(column)
        if self.kind != "typed":
            bad = import_optional("pyarrow.compute", "cli").is_nan(column).fill_null(False)
            self.words += int(bad.to_numpy(zero_copy_only=False).sum())
        scores = doubles(column)
        good = np.abs(scores) < wording.LARGEST
        if good.any():
            usable = scores if good.all() else scores[good]
            self.lowest = min(self.lowest, float(usable.min()))
            self.highest = max(self.highest, float(usable.max()))
            if self.lowest < self.far[0] or self.highest > self.far[1]:
                self.outside += int(((usable < self.far[0]) | (usable > self.far[1])).sum())
        if self.drop_missing:
            good |= np.isnan(scores)
        if not good.all() and not self.words:
            self.bad.append(scores[~good])
        return scores

    def _from_json(self, column: Any) -> Any:
        texts = [None if text is None else json.loads(text) for text in column.to_pylist()]
        numbers = [number_from_json(value, f"column {self.name!r}") for value in texts]
        return import_optional("pyarrow", "cli").array(numbers, "double")

    def _learn(self) -> None:
        """Find the map of combinations that have not been met before: -1 for none, -2 for a missing group."""
        fresh = self.coder.keys[len(self.places) :]
        new = [self._place([self._readings(value) for value in key]) for key in fresh]
        if new:
            self.places = np.append(self.places, np.array(new, dtype=np.int64))
            self.met = np.append(self.met, np.zeros(len(new), dtype=np.int64))

    def _place(self, ways: Sequence[list[Any]]) -> int:
        """Find the map of a combination, of which each value may be read in some ways."""
        return _place_among(self.known, self.find, self.group_columns, ways)

    def _readings(self, value: Any) -> list[Any]:
        if self.exact_types or value is None:
            return readings(value, self.kind)
        return readings(value, "text") if isinstance(value, str) else [value, str(value)]  # a word may be missing

    def _name(self, values: Sequence[Any]) -> Hashable:
        return _name_of(self.group_columns, values)

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
        problems += self._problems_of_groups()
        if problems:
            raise wording.together(problems)

    def _problems_of_groups(self) -> Iterator[Exception]:
        """Say which groups are missing and which have no map, with the rows of each."""
        gone, unseen = self._refused(-2), self._refused(-1)
        if gone.any():
            lost = [self.coder.keys[i] for i in np.flatnonzero(gone)]
            first = next(j for key in lost for j, v in enumerate(key) if (r := self._readings(v)[0]) is None or r != r)
            name = f"column {self.group_columns[first]!r}"
            yield MissingGroupError(wording.ungrouped(name, int(self.met[gone].sum())))
        if unseen.any():
            keys = [self.coder.keys[i] for i in np.flatnonzero(unseen)]
            names = [self._name([self._readings(v)[0] for v in key]) for key in keys]
            rows = int(self.met[unseen].sum())
            yield UnseenGroupError(wording.unseen_groups("the input", rows, names, self.known, optional=True))


def group_namer(known: Sequence[Hashable], columns: Sequence[str], kind: Kind) -> Callable[[Key], Hashable]:
    """Make what says how a combination of values of the group columns is called among ``known``, or ``UNKNOWN``."""
    find = GroupFinder(known)

    def called(key: Key) -> Hashable:
        place = _place_among(known, find, columns, [readings(value, kind) for value in key])
        return UNKNOWN if place < 0 else known[place]

    return called


def _place_among(
    known: Sequence[Hashable], find: GroupFinder, columns: Sequence[str], ways: Sequence[list[Any]]
) -> int:
    """Find a combination, of which each value may be read in some ways: -1 if it is not there, -2 if one is missing."""
    if any(way[0] is None or way[0] != way[0] for way in ways):
        return -2
    for choice in product(*ways):
        name = find(_name_of(columns, choice))
        if name is not None:
            return known.index(name)
    return -1


def _name_of(columns: Sequence[str], values: Sequence[Any]) -> Hashable:
    if len(values) == 1:
        return cast(Hashable, values[0])
    return ", ".join(f"{column}={value}" for column, value in zip(columns, values))


def with_column(schema: Any, column: str | None) -> Any:
    """Add a column of doubles to a schema, in place of one of that name if there is one."""
    if column is None:
        return schema
    field = import_optional("pyarrow", "cli").field(column, import_optional("pyarrow", "cli").float64())
    return schema.set(schema.names.index(column), field) if column in schema.names else schema.append(field)


def joined(batch: Any, values: Floats | None, schema: Any, column: str | None) -> Any:
    """Put the values of a column into a batch, where the schema has it."""
    pa = import_optional("pyarrow", "cli")
    arrays = list(batch.columns)
    if column is not None:
        place = schema.names.index(column)
        arrays[place : place + 1] = [pa.array(values, from_pandas=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
