"""The expressions for score and weight in Spark's SQL, and what can be asked about them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairpot._optional import import_optional
from fairpot._validation import wording
from fairpot._validation.counted import check_counted_scores, check_weights
from fairpot.engines.keys import MOST_KEYS, KeyCoder
from fairpot.engines.naming import check_plain, check_score_type
from fairpot.engines.spark.expression import spark_text
from fairpot.engines.spark.rows import SparkRows
from fairpot.engines.spark.session import spark_errors
from fairpot.engines.values import EXACT, MISSING_WORDS, doubles

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
_NUMBER = r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|(?i:inf|infinity))"


class Parts:
    """The rows as one column for each part, and what can be asked about them."""

    def __init__(self, rows: SparkRows, drop_missing: bool = False) -> None:
        self.rows, self.drop_missing, types = rows, drop_missing, rows.types
        self.keys = [f"group{i}" for i in range(len(rows.group_columns))] + ["label"] * (rows.label is not None)
        self.numbers = ["score"] + ["weight"] * (rows.weight is not None)
        if rows.kind == "typed":
            for role in self.numbers:
                check_score_type(types[role], rows.roles[role])
        for key in self.keys:
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
        """Write a part, already grouped, as a double; whole numbers that doubles cannot tell apart become infinite."""
        if self.rows.kind == "typed" and self.rows.types[role] == "bigint":
            inside = f"{role} BETWEEN -{EXACT} AND {EXACT}"
            return f"CASE WHEN {inside} THEN CAST({role} AS DOUBLE) WHEN {role} IS NOT NULL THEN double('inf') END"
        return f"CAST({role} AS DOUBLE)"

    def plain(self) -> Any:
        """Return a frame of all parts, row by row, score and weight as they are grouped."""
        if not self.drop_missing:
            return self._parts()
        return self._parts().filter(f"NOT ({' OR '.join(map(self._lacks, [*self.keys, *self.numbers]))})")

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
        keys = [f"{self.rows.place(key)} AS {key}" for key in self.keys]
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
        counted = self.plain().groupBy(*self.keys, *self.numbers).count()
        numbers = (f"{self.number(role)} AS {role}" for role in self.numbers)
        return counted.selectExpr(*self.keys, *numbers, "`count` AS n")

    def fetch(self, frame: Any) -> Any:
        """Bring a frame to the driver as an Arrow table."""
        with spark_errors("the rows"):
            return frame.toArrow()

    def count(self) -> int:
        """Count the rows."""
        with spark_errors("the rows"):
            return int(self.plain().count() if self.drop_missing else self.rows.frame.count())

    def estimate(self) -> tuple[int, int]:
        """Estimate the numbers of distinct scores and of distinct combinations of all parts."""
        keys = ", ".join(self.keys) or "1"
        asked = [
            "approx_count_distinct(score) AS scores",
            f"approx_count_distinct(xxhash64({', '.join([*self.keys, *self.numbers])})) AS rows",
            f"approx_count_distinct(xxhash64({keys})) AS keys",
        ]
        found = self.fetch(self.plain().selectExpr(*asked)).to_pylist()[0]
        if found["keys"] > 1.3 * MOST_KEYS:  # an estimate, off by 5 % at times
            KeyCoder([self.rows.roles[key] for key in self.keys]).limit(MOST_KEYS + 1)
        return int(found["scores"]), int(found["rows"])

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
