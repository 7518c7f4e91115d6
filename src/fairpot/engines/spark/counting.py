"""Rows to score table on a cluster: one groupBy, or bins counted on the workers."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairpot._defaults import Region
from fairpot._optional import import_optional
from fairpot._validation import wording
from fairpot._validation.checked_rows import check_counted_scores, check_weights
from fairpot.engines.binned import BinnedRows, choose_edges
from fairpot.engines.naming import (
    EXACT,
    MISSING_WORDS,
    MOST_KEYS,
    GroupedRows,
    KeyCoder,
    check_plain,
    check_score_type,
    doubles,
    name_groups,
)
from fairpot.engines.protocol import CountedRows, Progress
from fairpot.engines.spark.session import SparkRows, spark_errors, without_advice
from fairpot.table import ScoreTable
from fairpot.transport import Floats, weight_to_reach

Counts = NDArray[np.int64]
_NUMBER = r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|(?i:inf|infinity))"


class Parts:
    """The rows as one column for each part, and what can be asked about them."""

    def __init__(self, rows: SparkRows, drop_missing: bool = False) -> None:
        self.rows, self.drop_missing, types = rows, drop_missing, rows.types
        self.keys = [f"group{i}" for i in range(len(rows.group_columns))] + ["label"] * (rows.label is not None)
        self.numbers = ["score"] + ["weight"] * (rows.weight is not None)
        self.others = ["cluster"] * (rows.cluster is not None)
        if rows.kind == "typed":
            for role in self.numbers:
                check_score_type(types[role], rows.roles[role])
        for key in [*self.keys, *self.others]:
            check_plain(types[key], rows.roles[key])
        self.whole = rows.kind == "typed" and "int" in types["score"]

    def raw(self, role: str) -> str:
        """Write what a part is grouped by; text becomes a double: NULL where missing, NaN where it is no number."""
        column = self.rows.place(role)
        if self.rows.kind == "typed":
            return column
        words = ", ".join(map(spark_text, MISSING_WORDS))
        known = f"WHEN trim({column}) RLIKE {spark_text(f'^{_NUMBER}$')} THEN CAST(trim({column}) AS DOUBLE)"
        missing = f"WHEN {column} IS NULL OR trim({column}) IN ({words}) THEN CAST(NULL AS DOUBLE)"
        return f"CASE {missing} {known} ELSE double('NaN') END"

    def number(self, role: str) -> str:
        """Write a part, already grouped, as a double; a score of which a low one means high risk, with a minus.

        Whole numbers that doubles cannot tell apart become infinite.
        """
        found = self._double(role)
        return f"(0D - {found})" if role == "score" and self.rows.lower_is_riskier else found

    def _double(self, role: str) -> str:
        if self.rows.kind == "typed" and self.rows.types[role] == "bigint":
            inside = f"{role} BETWEEN -{EXACT} AND {EXACT}"
            return f"(CASE WHEN {inside} THEN CAST({role} AS DOUBLE) WHEN {role} IS NOT NULL THEN double('inf') END)"
        return f"CAST({role} AS DOUBLE)"

    def plain(self) -> Any:
        """Return a frame of all parts, row by row, score and weight as they are grouped."""
        if not self.drop_missing:
            return self._parts()
        return self._parts().filter(f"NOT ({' OR '.join(map(self._lacks, self.rows.roles))})")

    def missing(self) -> dict[str, int] | None:
        """Count the rows that are dropped, in all and for each column; None where none are to be."""
        if not self.drop_missing:
            return None
        roles = list(self.rows.roles)
        each = [self._lacks(role) for role in roles]
        asked = (f"count_if({lacks}) AS n{i}" for i, lacks in enumerate([" OR ".join(each), *each]))
        found = self.fetch(self._parts().selectExpr(*asked)).to_pylist()[0]
        return dict(zip(["rows", *(self.rows.roles[role] for role in roles)], found.values()))

    def _parts(self) -> Any:
        keys = [f"{self.rows.place(key)} AS {key}" for key in [*self.keys, *self.others]]
        return self.rows.by_place().selectExpr(*keys, *(f"{self.raw(role)} AS {role}" for role in self.numbers))

    def _lacks(self, role: str) -> str:
        """Write the condition that a part has no value; NaN in a score of text is a word that is no number."""
        if self.rows.kind == "text" and role not in self.numbers:
            return f"({role} IS NULL OR {role} IN ({', '.join(map(spark_text, MISSING_WORDS))}))"
        if self.rows.kind == "typed" and self.rows.types[role] in ("double", "float"):
            return f"({role} IS NULL OR isnan({role}))"
        return f"{role} IS NULL"

    def doubles(self) -> Any:
        """Return a frame of all parts, row by row, score and weight as doubles."""
        return self.plain().selectExpr(*self.keys, *(f"{self.number(role)} AS {role}" for role in self.numbers))

    def grouped(self) -> Any:
        """Return a frame of the distinct combinations of all parts, with their number of rows."""
        counted = self.plain().groupBy(*self.keys, *self.numbers, *self.others).count()
        numbers = (f"{self.number(role)} AS {role}" for role in self.numbers)
        return counted.selectExpr(*self.keys, *numbers, *self.others, "`count` AS n")

    def fetch(self, frame: Any) -> Any:
        """Bring a frame to the driver as an Arrow table."""
        with spark_errors("the rows"):
            return frame.toArrow()

    def count(self) -> int:
        """Count the rows."""
        with spark_errors("the rows"):
            return int(self.plain().count() if self.drop_missing else self.rows.frame.count())

    def estimate(self) -> tuple[int, int, int]:
        """Estimate the numbers of distinct scores, of distinct combinations of all parts, and of groups."""
        keys = ", ".join(self.keys) or "1"
        asked = [
            "approx_count_distinct(score) AS scores",
            f"approx_count_distinct(xxhash64({', '.join([*self.keys, *self.numbers])})) AS rows",
            f"approx_count_distinct(xxhash64({keys})) AS keys",
            f"approx_count_distinct(xxhash64({', '.join(k for k in self.keys if k != 'label') or '1'})) AS groups",
        ]
        found = self.fetch(self.plain().selectExpr(*asked)).to_pylist()[0]
        if found["keys"] > 1.3 * MOST_KEYS:  # an estimate, off by 5 % at times
            KeyCoder([self.rows.roles[key] for key in self.keys]).limit(MOST_KEYS + 1)
        return int(found["scores"]), int(found["rows"]), int(found["groups"])

    def sample(self, rows: int, limit: int) -> Floats:
        """Draw scores at random, the same each time from the same partitions; all of them where they are few."""
        share = min(1.0, 4 * min(limit, 500_000) / max(rows, 1))
        scores = self.doubles().selectExpr("score")
        drawn = self.fetch(scores if share >= 1 else scores.sample(fraction=share, seed=1))
        found = doubles(drawn.column("score"))
        return found[np.isfinite(found)]

    def check_numbers(self) -> None:
        """Look for scores and weights that cannot be used, without bringing rows to the driver."""
        for role, explain in (("score", self.explain), ("weight", self.explain_weights)):
            if role not in self.numbers:
                continue
            usable = f"NOT isnan({role}) AND abs({role}) < double('inf')"
            asked = [
                f"count_if({role} IS NULL) AS missing",
                f"count_if(isnan({role})) AS nan",
                f"count_if(abs({role}) = double('inf')) AS infinite",
                f"count_if({usable} AND {role} < 0) AS negative",
                f"min({role}) FILTER (WHERE {usable}) AS low",
                f"max({role}) FILTER (WHERE {usable}) AS high",
                f"min({role}) FILTER (WHERE {usable} AND {role} > 0) AS least",
            ]
            found = self.fetch(self.doubles().selectExpr(*asked)).to_pylist()[0]
            values = [(np.nan, found["missing"] + found["nan"]), (np.inf, found["infinite"])]
            values += [(found["low"], max(found["negative"], 1)), (found["high"], 1), (found["least"], 1)]
            there = [(value, n) for value, n in values if n and value is not None]
            numbers, rows = np.array([v for v, _ in there], dtype=np.float64), np.array([n for _, n in there])
            explain(numbers, rows.astype(np.int64), found["nan"] if self.rows.kind == "text" else 0)

    def explain(self, scores: Floats, rows: Counts | None, words: int = 0) -> None:
        """Check the scores, ``words`` rows of which were no numbers."""
        name = f"column {self.rows.score!r}"
        if words:
            raise TypeError(wording.no_numbers(name, words))
        check_counted_scores(scores, rows, name, whole=self.whole)

    def explain_weights(self, weight: Floats, rows: Counts, words: int = 0) -> None:
        """Check the weights likewise."""
        name = f"column {self.rows.weight!r}"
        if words:
            raise TypeError(wording.no_numbers(name, words))
        check_weights(weight, rows, name)

    def words(self, column: Any, rows: Counts | None = None) -> int:
        """Count the rows whose text was no number: they come as NaN, missing ones as null."""
        if self.rows.kind == "typed":
            return 0
        bad = import_optional("pyarrow.compute", "spark").is_nan(column).fill_null(False).to_numpy(zero_copy_only=False)
        return int(bad.sum() if rows is None else rows[bad].sum())


_BINS = "bin INT, mass DOUBLE, squares DOUBLE, low DOUBLE, high DOUBLE, n BIGINT, whole BOOLEAN"


def count_in_bins(parts: Parts, edges: Floats) -> BinnedRows:
    """Count the rows of each combination of group and label in the bins that begin at ``edges``."""
    frame = parts.doubles()
    keys = ", ".join(f"{key} {parts.rows.types[key]}" for key in parts.keys)
    counter = bin_counter(edges, len(parts.keys), "weight" in parts.numbers, MOST_KEYS)
    with without_advice():
        partial = frame.mapInArrow(counter, f"{keys}, {_BINS}" if keys else _BINS)
    ways = {"mass": "sum", "squares": "sum", "low": "min", "high": "max", "n": "sum", "whole": "min"}
    found = parts.fetch(partial.groupBy(*parts.keys, "bin").agg(ways))
    binned = BinnedRows(parts.rows, parts.rows.kind, edges)
    binned.least = binned.most = 1.0  # weights have been checked on the cluster
    for batch in found.to_batches():
        _take(binned, batch, len(parts.keys))
    return binned


def _take(binned: BinnedRows, batch: Any, width: int) -> None:
    """Add the counts of a batch, one row for each combination and bin."""
    key = binned.coder.encode(batch.columns[:width], batch.num_rows)
    bins = batch.column("bin").to_numpy(zero_copy_only=False)
    names = ("sum(mass)", "sum(squares)", "min(low)", "max(high)")
    mass, squares, low, high = (doubles(batch.column(name)) for name in names)
    n = batch.column("sum(n)").to_numpy(zero_copy_only=False)
    for code in np.unique(key).tolist():
        mine = np.flatnonzero(key == code)
        binned.rows[code] = binned.rows.get(code, 0) + int(n[mine].sum())
        binned.take(code, bins[mine], mass[mine], squares[mine], low[mine], high[mine])
    binned.whole = binned.whole and all(batch.column("min(whole)").to_pylist())


def bin_counter(edges: Floats, width: int, weighted: bool, limit: int) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Make the function that counts a partition; it goes to workers that need NumPy and PyArrow, not fairpot."""

    def count(batches: Iterator[Any]) -> Iterator[Any]:
        import numpy as np
        import pyarrow as pa

        held: dict[Any, Any] = {}
        types: list[Any] = []
        for batch in batches:
            types = [column.type for column in batch.columns[:width]]
            coded = [column.dictionary_encode(null_encoding="encode") for column in batch.columns[:width]]
            combined = np.zeros(batch.num_rows, dtype=np.int64)
            for column in coded:
                combined = combined * len(column.dictionary) + column.indices.to_numpy()
            score = batch.column("score").to_numpy(zero_copy_only=False) + 0.0
            weight = batch.column("weight").to_numpy(zero_copy_only=False) if weighted else np.ones(len(score))
            places = np.searchsorted(edges, score, side="right") - 1
            for code in np.unique(combined).tolist():
                rows = np.flatnonzero(combined == code)
                key = tuple(column[int(rows[0])].as_py() for column in coded)
                if key not in held:
                    if len(held) >= limit:
                        raise ValueError(f"more than {limit} groups")
                    empty = np.zeros(len(edges))
                    none = np.zeros(len(edges), dtype=np.int64)
                    held[key] = [empty, empty.copy(), empty + np.inf, empty - np.inf, none, True]
                mass, squares, low, high, n, whole = held[key]
                n += np.bincount(places[rows], minlength=len(edges))
                rows = rows[weight[rows] > 0]
                mass += np.bincount(places[rows], weight[rows], len(edges))
                squares += np.bincount(places[rows], weight[rows] ** 2, len(edges))
                np.minimum.at(low, places[rows], score[rows])
                np.maximum.at(high, places[rows], score[rows])
                held[key][5] = whole and bool((weight[rows] == np.floor(weight[rows])).all())
        for key, (mass, squares, low, high, n, whole) in held.items():
            used = np.flatnonzero(n)
            columns = [pa.array([value] * len(used), kind) for value, kind in zip(key, types)]
            columns += [
                pa.array(used.astype(np.int32)),
                pa.array(mass[used]),
                pa.array(squares[used]),
                pa.array(low[used]),
                pa.array(high[used]),
            ]
            columns += [pa.array(n[used]), pa.array([whole] * len(used))]
            names = [*(f"k{i}" for i in range(width)), "bin", "mass", "squares", "low", "high", "n", "whole"]
            yield pa.RecordBatch.from_arrays(columns, names=names)

    return count


def count(parts: Parts, several: bool, max_distinct: int, progress: Progress | None) -> CountedRows:
    """Count rows; where there are too many distinct scores, in bins."""
    if max_distinct < 2:
        raise ValueError(f"max_distinct must be at least 2, got {max_distinct!r}.")
    dropped = parts.missing()
    rows = parts.count()
    if parts.others and rows > 2 * max_distinct:
        raise ValueError(wording.too_many_clustered(2 * max_distinct))
    few = rows <= max_distinct or parts.others
    scores, combinations, groups = (rows, rows, 2) if few else parts.estimate()
    if parts.others or (scores <= max_distinct and combinations <= 2 * max_distinct):
        counted = GroupedRows(parts.rows, parts.rows.kind, parts)
        for batch in parts.fetch(parts.grouped()).to_batches():
            counted.add(batch)
        found = counted.finish(several)
    else:
        parts.check_numbers()
        binned = count_in_bins(parts, choose_edges(parts.sample(rows, max_distinct), max_distinct, groups))
        found = CountedRows(*binned.finish(several, parts))
    found = replace(found, dropped=dropped)
    if progress is not None:
        progress(1.0)
    return found


def refined_thresholds(
    parts: Parts, table: ScoreTable, thresholds: dict[Hashable, float], alpha: float, region: Region
) -> dict[Hashable, float]:
    """Turn the thresholds of a quantised table into exact ones: only rows in the bins around them are looked at.

    ``parts`` are those of rows without label and weight.
    """
    pooled = table.pooled().score
    windows = {g: _around(pooled, t) for g, t in thresholds.items()}
    near = " OR ".join(f"(score >= {_number(a)} AND score <= {_number(b)})" for a, b in set(windows.values()))
    # Outside the windows it is enough to know how many rows lie between them: which window's upper end they are above.
    ends = sorted({b for _, b in windows.values()})
    above = " + ".join(f"CAST(score > {_number(b)} AS INT)" for b in ends)
    marked = parts.doubles().selectExpr(*parts.keys, f"CASE WHEN {near} THEN score END AS score", f"{above} AS above")
    counted = marked.groupBy(*parts.keys, "score", "above").count()
    found = parts.fetch(counted)
    coder = KeyCoder(parts.rows.group_columns)
    key = np.concatenate([coder.encode(b.columns[: len(parts.keys)], b.num_rows) for b in found.to_batches()])
    n = found.column("count").to_numpy()
    rows = np.bincount(key, n, len(coder.keys)).astype(np.int64)
    codes, groups = name_groups(coder.keys, rows, parts.rows.group_columns, parts.rows.kind, several=False)
    place, score, over = codes[key], doubles(found.column("score")), found.column("above").to_numpy()
    result: dict[Hashable, float] = {}
    for group in table.groups:
        mine = np.ones(len(n), dtype=bool) if region == "pooled" else place == groups.index(group)
        a, b = windows[group]
        higher = int(n[mine & (over > ends.index(b))].sum())
        inside = mine & (score >= a) & (score <= b)
        wanted = math.ceil(weight_to_reach(alpha, int(n[mine].sum()))) - higher
        result[group] = _largest(score[inside], n[inside], wanted)
    return result


def _around(scores: Any, threshold: float) -> tuple[float, float]:
    """Return the neighbours of a score among the bins' scores."""
    place = int(np.searchsorted(scores, threshold))
    low = scores[place - 1] if place > 0 else -np.inf
    high = scores[place + 1] if place + 1 < len(scores) else np.inf
    return float(low), float(high)


def _largest(scores: Any, rows: Any, place: int) -> float:
    """Return the ``place``-th largest of scores, each of which several rows have."""
    order = np.argsort(scores)[::-1]
    return float(scores[order][np.searchsorted(np.cumsum(rows[order]), place)])


def _number(value: float) -> str:
    return f"double('{value!r}')"


_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t", "$": "\\u0024"}


def spark_text(text: str) -> str:
    """Write a text as a literal; a dollar sign could otherwise begin a variable, and some marks steer who reads it."""
    return "'" + "".join(_ESCAPES.get(c) or _escape(c) for c in text) + "'"


def _escape(character: str) -> str:
    """Write what is no printable character by its number, where four digits hold it."""
    return character if character.isprintable() or character > "\uffff" else f"\\u{ord(character):04x}"
