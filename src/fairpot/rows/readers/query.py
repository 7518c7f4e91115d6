"""Rows to score table in one SQL that DuckDB and Spark both read: one GROUP BY, or bins where scores are too many."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from fairpot._validation import wording
from fairpot._validation.checked_rows import check_weight_of_groups
from fairpot._warn import warn_user
from fairpot.rows.decoding import EXACT, MISSING_WORDS, alike, check_plain, check_score_type, doubles
from fairpot.rows.readers import CountedRows, Counting, Memory, Progress, grouped
from fairpot.rows.roles import NUMBERS, Roles
from fairpot.table import ScoreTable
from fairpot.transport import Floats

TOO_LONG = "fairpot: a long text in "
_INFINITE = "CAST('inf' AS DOUBLE)"


class Scan(Protocol):
    """Rows that answer queries: a table with one column for each part, by the name of the part."""

    source: Any  # Roles: which columns play which part, and what the rows mean

    @property
    def types(self) -> Mapping[str, str]:
        """The type of each part, in capitals."""

    def batches(self, select: str, progress: Progress | None = None) -> Iterator[Any]:
        """Run ``select``, whose ``{rows}`` is the table, and yield Arrow record batches."""

    def drawn(self, select: str, share: float) -> Iterator[Any]:
        """Yield about a share of what ``select`` gives, the same each time."""

    def binned(self, select: str, counter: grouped.BinCounter, progress: Progress | None) -> Iterator[Any]:
        """Yield what a counter of bins makes of a query."""
        return counter(self.batches(select, progress))

    def most_rows(self) -> int | None:
        """Return a number that there are surely no more rows than; None if nothing is known."""

    def fits(self, select: str, most: int) -> bool:
        """Whether a query may be run: one that cannot be stopped on its way must not give more rows than this."""
        return True

    def too_long(self, role: str) -> str:
        """Write the expression for a text whose column stays as it is, but is refused where it is too long."""
        return role


class Query:
    """What is asked about the rows of a scan, in SQL."""

    def __init__(self, scan: Scan, drop_missing: bool = False, unlabelled: Roles | None = None) -> None:
        self.scan, self.types, self.drop_missing = scan, scan.types, drop_missing
        # The rows that have all but an outcome are asked about instead, where a source of such rows is given.
        self.of_unlabelled = unlabelled is not None
        self.source: Roles = unlabelled or scan.source
        roles = self.source.roles
        ends = [role for role in ("label", "event") if role in roles]
        self.keys = [*(role for role in roles if role.startswith("group")), *ends]
        self.numbers = [role for role in NUMBERS if role in roles]
        self.others = ["cluster"] * ("cluster" in roles)
        for role in self.numbers:
            check_score_type(self.types[role], roles[role])
        for role in [*self.keys, *self.others]:
            check_plain(self.types[role], roles[role])
        self.whole = "INT" in self.types["score"]

    @property
    def rows(self) -> str:
        """The rows that are counted."""
        if not self.drop_missing:
            return "{rows}"
        lacks = {role: self._lacks(role) for role in self.types}
        if self.of_unlabelled:
            gone, weighs = lacks.pop("label"), " AND weight <> 0" * ("weight" in lacks)
            return f"(SELECT * FROM {{rows}} WHERE {gone} AND NOT ({' OR '.join(lacks.values())}){weighs})"
        return f"(SELECT * FROM {{rows}} WHERE NOT ({' OR '.join(lacks.values())}))"

    def missing(self) -> dict[str, int] | None:
        """Count the rows that are dropped, in all and for each column; None where none are to be."""
        if not self.drop_missing:
            return None
        each = [self._lacks(role) for role in self.types]
        wanted = (f"count(*) FILTER (WHERE {lacks}) AS n{i}" for i, lacks in enumerate([" OR ".join(each), *each]))
        [found] = self._answer(f"SELECT {', '.join(wanted)} FROM {{rows}}")
        return dict(zip(["rows", *(self.source.roles[role] for role in self.types)], found.values()))

    def plain(self) -> str:
        """Select all parts, row by row."""
        return f"SELECT {self._columns()} FROM (SELECT {self._raw()} FROM {self.rows})"

    def grouped(self) -> str:
        """Select the distinct combinations of all parts, with their number of rows."""
        inner = f"SELECT {self._raw()}, count(*) AS n FROM {self.rows} GROUP BY ALL"
        return f"SELECT {self._columns()}, n FROM ({inner})"

    def size(self) -> int:
        """Count the rows."""
        [found] = self._answer(f"SELECT count(*) AS n FROM {self.rows}")
        return int(found["n"])

    def distinct(self) -> int:
        """Estimate how many distinct scores there are."""
        [found] = self._answer(f"SELECT approx_count_distinct(score) AS n FROM {self.rows}")
        return int(found["n"])

    def survey(self) -> list[dict[str, Any]]:
        """Look at all rows of each combination of group and label: how many, and what of the numbers cannot be used."""
        asked = ["count(*) AS n"]
        for role in self.numbers:
            usable = f"NOT isnan({role}) AND abs({role}) < {_INFINITE}"
            asked += [
                f"count(*) FILTER (WHERE {role} IS NULL) AS {role}_missing",
                f"count(*) FILTER (WHERE isnan({role})) AS {role}_nan",
                f"count(*) FILTER (WHERE abs({role}) = {_INFINITE}) AS {role}_infinite",
                f"min({role}) FILTER (WHERE {usable}) AS {role}_low",
                f"max({role}) FILTER (WHERE {usable}) AS {role}_high",
            ]
        if "weight" in self.numbers:
            asked += [
                f"count(*) FILTER (WHERE {usable} AND weight < 0) AS weight_negative",
                f"count(*) FILTER (WHERE {usable} AND weight % 1 <> 0) AS weight_broken",
                f"min(weight) FILTER (WHERE {usable} AND weight > 0) AS weight_least",
            ]
        chosen = ", ".join([*self.keys, *asked])
        return self._answer(f"SELECT {chosen} FROM ({self.plain()}) GROUP BY ALL LIMIT {grouped.MOST_KEYS + 1}")

    def sample(self, rows: int, limit: int) -> Floats:
        """Draw scores at random, the same each time; all of them where they are few."""
        share = min(1.0, 4 * min(limit, grouped.MOST_BINS) / max(rows, 1))
        drawn = self.scan.drawn(f"SELECT {self.number('score')} AS score FROM {self.rows}", share)
        scores = np.concatenate([*(doubles(batch.column(0)) for batch in drawn), np.empty(0)])
        return scores[np.isfinite(scores)]

    def _answer(self, select: str) -> list[dict[str, Any]]:
        """Run a query that has few rows."""
        return [row for batch in self.scan.batches(select) for row in batch.to_pylist()]

    def number(self, role: str) -> str:
        """Write a part, already grouped, as a double; a score of which a low one means high risk, with a minus."""
        found, type_ = role, self.types[role]
        if type_.startswith("DECIMAL"):  # their text rounds correctly
            found = f"CAST(CAST({role} AS STRING) AS DOUBLE)"
        elif "INT" in type_:  # what doubles cannot tell apart becomes infinite
            inside = f"{role} BETWEEN -{EXACT} AND {EXACT}"
            found = f"(CASE WHEN {inside} THEN CAST({role} AS DOUBLE) WHEN {role} IS NOT NULL THEN {_INFINITE} END)"
        elif type_ != "DOUBLE":
            found = f"CAST({role} AS DOUBLE)"
        return f"(CAST(0 AS DOUBLE) - {found})" if role == "score" and self.source.lower_is_riskier else found

    def _lacks(self, role: str) -> str:
        """Write the condition that a part has no value; NaN in a score of text is a word that is no number."""
        kind = self.source.kind
        if kind != "typed" and role not in NUMBERS:
            words = ", ".join(f"'{word}'" for word in (MISSING_WORDS if kind == "text" else ("NaN",)))
            value = f"trim({role})" if kind == "text" else role
            return f"({role} IS NULL OR {value} IN ({words}))"
        if kind == "typed" and self.types[role] in ("DOUBLE", "FLOAT"):
            return f"({role} IS NULL OR isnan({role}))"
        return f"{role} IS NULL"

    def _raw(self) -> str:
        texts = [self.scan.too_long(role) for role in [*self.keys, *self.others]]
        return ", ".join([*texts[: len(self.keys)], *self.numbers, *texts[len(self.keys) :]])

    def _columns(self) -> str:
        return ", ".join([*self.keys, *(f"{self.number(role)} AS {role}" for role in self.numbers), *self.others])


def count(scan: Scan, how: Counting) -> CountedRows:
    """Count the rows of a scan; where there are too many distinct scores, in bins."""
    query = Query(scan, how.drop_missing)
    dropped = query.missing()
    by_row = query.others or query.source.time is not None
    found = _one_by_one(query, how) if by_row else _by_value(query, how) or _in_bins(query, how)
    if how.progress is not None:
        how.progress(1.0)
    for one, other in alike(found.table.groups):
        write = ascii if unicodedata.normalize("NFC", one) == unicodedata.normalize("NFC", other) else repr
        warn_user(
            f"the groups {write(one)} and {write(other)} differ only by spaces, case or how letters are coded, and are "
            "counted apart: clean the column if they are one.",
            UserWarning,
        )
    label = query.source.label
    if dropped is not None and label is not None and dropped.get(label) and query.source.group_columns:
        found = replace(found, table=replace(found.table, unlabelled=_unlabelled(scan, found.table, how)))
    return replace(found, dropped=dropped)


def _unlabelled(scan: Scan, table: ScoreTable, how: Counting) -> ScoreTable | None:
    """Count the scores of rows without an outcome, with groups as those of the others were counted."""
    query = Query(scan, drop_missing=True, unlabelled=scan.source.unlabelled(table.grouping))
    if not query.size():
        return None
    more = replace(how, several=False, progress=None)
    return (_by_value(query, more) or _in_bins(query, more)).table


def _by_value(query: Query, how: Counting) -> CountedRows | None:
    """Count the rows of each score; None if there are too many."""
    most = query.scan.most_rows()
    if (most is None or most > how.distinct) and query.distinct() > how.distinct:
        return None
    return _gathered(query, query.grouped(), how.combinations, how)


def _one_by_one(query: Query, how: Counting) -> CountedRows:
    """Count rows that belong together, or outcomes after a time: every row is needed, so all of them are fetched."""
    most, held = 2 * how.max_distinct, how.memory.clustered_rows
    found = _gathered(query, query.plain(), min(most, held), how)
    if found is None:
        rows = sum(each["n"] for each in query.survey())
        needed = None if most <= held else Memory.for_clustered(rows)
        raise ValueError(wording.too_many_by_row(min(most, held), needed, clusters=bool(query.others)))
    return found


def _gathered(query: Query, select: str, limit: int, how: Counting) -> CountedRows | None:
    """Fetch all combinations, or all rows; None if there are more than ``limit``."""
    if not query.scan.fits(select, limit):
        return None
    counted = grouped.GroupedRows(query.source, query.whole)
    for batch in query.scan.batches(select, how.progress):
        if counted.fetched + batch.num_rows > limit:
            return None
        counted.add(batch)
    return counted.finish(how.several, how.called)


def _in_bins(query: Query, how: Counting) -> CountedRows:
    """Look at all rows before they are counted in bins: what can be wrong is told from there."""
    source, surveyed = query.source, check_numbers(query)
    coder = grouped.KeyCoder(source.key_columns, source.grouping, grouped.MOST_KEYS)
    coder.limit(len(surveyed))
    for found in surveyed:
        coder.place(tuple(found[key] for key in query.keys))
    rows = np.array([found["n"] for found in surveyed], dtype=np.int64)
    codes, named, labels = grouped.name_keys(coder.keys, rows, source, how.several, how.called)
    whole = not any(found.get("weight_broken") for found in surveyed)
    total = int(rows.sum())
    cells = max(len(named.groups), len(coder.keys) // 2)  # more than groups where numbers are cut into bands
    edges = grouped.choose_edges(query.sample(total, how.distinct), how.distinct, cells)
    binned, weighted = grouped.BinnedRows(source, coder, edges), source.weight is not None
    asked = f"SELECT * FROM ({query.plain()}){' WHERE weight > 0' if weighted else ''}"
    for batch in query.scan.binned(asked, grouped.bin_counter(edges, len(query.keys), weighted), how.progress):
        binned.take(batch)
    table, bound = binned.finish(codes, named, labels, whole)
    if weighted:
        mass = np.array([counts.weight.sum() for counts in table.counts])
        check_weight_of_groups(mass, named.groups, f"column {source.weight!r}")
        seen = sum(int(np.add(*counts.rows_at).sum()) for counts in table.counts)
        table = replace(table, weightless=total - seen)
    return CountedRows(table, total, bound)


def check_numbers(query: Query) -> list[dict[str, Any]]:
    """Complain of scores and weights that cannot be used, by what is known of all of them; return that."""
    surveyed = query.survey()
    for role in query.numbers:

        def all_of(what: str, role: str = role) -> list[Any]:
            return [found[f"{role}_{what}"] for found in surveyed if found.get(f"{role}_{what}") is not None]

        values: list[tuple[float | None, int]] = [
            (np.nan, sum(all_of("missing") + all_of("nan"))),
            (np.inf, sum(all_of("infinite"))),
            (min(all_of("low"), default=None), max(sum(all_of("negative")), 1)),
            (max(all_of("high"), default=None), 1),
            (min(all_of("least"), default=None), 1),
        ]
        there = [(value, n) for value, n in values if n and value is not None]
        numbers = np.array([value for value, _ in there], dtype=np.float64)
        words = sum(all_of("nan")) if query.source.kind != "typed" else 0
        rows = np.array([n for _, n in there], dtype=np.int64)
        grouped.explain(query.source, role, numbers, rows, words, whole=query.whole)
    return surveyed
