"""The expressions for score and weight in Spark's SQL, and what can be asked about them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairpot._validation import wording
from fairpot._validation.counted import check_counted_scores, check_weights
from fairpot.engines.keys import MOST_KEYS, KeyCoder
from fairpot.engines.naming import check_plain, check_score_type
from fairpot.engines.spark.expression import spark_text
from fairpot.engines.spark.rows import SparkRows
from fairpot.engines.spark.session import spark_errors
from fairpot.engines.values import MISSING_WORDS, doubles

_NUMBER = r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|(?i:inf|infinity))"


class Parts:
    """The rows as one column for each part, and what can be asked about them."""

    def __init__(self, rows: SparkRows) -> None:
        self.rows, types = rows, rows.types
        self.keys = [f"group{i}" for i in range(len(rows.group_columns))] + ["label"] * (rows.label is not None)
        self.numbers = ["score"] + ["weight"] * (rows.weight is not None)
        if rows.kind == "typed":
            for role in self.numbers:
                check_score_type(types[role], rows.roles[role])
        for key in self.keys:
            check_plain(types[key], rows.roles[key])
        self.whole = rows.kind == "typed" and "int" in types["score"]

    def raw(self, role: str) -> str:
        """Write what a part is grouped by."""
        column = self.rows.place(role)
        if self.rows.kind == "text":
            return (
                f"CAST(CASE WHEN trim({column}) RLIKE {spark_text(f'^{_NUMBER}$')} THEN trim({column}) END AS DOUBLE)"
            )
        return column

    def plain(self) -> Any:
        """Return a frame of all parts, row by row, score and weight as they are grouped."""
        keys = [f"{self.rows.place(key)} AS {key}" for key in self.keys]
        return self.rows.by_place().selectExpr(*keys, *(f"{self.raw(role)} AS {role}" for role in self.numbers))

    def doubles(self) -> Any:
        """Return a frame of all parts, row by row, score and weight as doubles."""
        return self.plain().selectExpr(*self.keys, *(f"CAST({role} AS DOUBLE) AS {role}" for role in self.numbers))

    def grouped(self) -> Any:
        """Return a frame of the distinct combinations of all parts, with their number of rows."""
        counted = self.plain().groupBy(*self.keys, *self.numbers).count()
        return counted.selectExpr(
            *self.keys, *(f"CAST({role} AS DOUBLE) AS {role}" for role in self.numbers), "`count` AS n"
        )

    def fetch(self, frame: Any) -> Any:
        """Bring a frame to the driver as an Arrow table."""
        with spark_errors("the rows"):
            return frame.toArrow()

    def count(self) -> int:
        """Count the rows."""
        with spark_errors("the rows"):
            return int(self.rows.frame.count())

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

    def sample(self, rows: int, limit: int) -> NDArray[np.float64]:
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
                f"count_if({role} IS NULL OR isnan({role})) AS missing",
                f"count_if(abs({role}) = double('inf')) AS infinite",
                f"count_if({usable} AND {role} < 0) AS negative",
                f"min({role}) FILTER (WHERE {usable}) AS low",
                f"max({role}) FILTER (WHERE {usable}) AS high",
                f"min({role}) FILTER (WHERE {usable} AND {role} > 0) AS least",
            ]
            found = self.fetch(self.doubles().selectExpr(*asked)).to_pylist()[0]
            values = [(np.nan, found["missing"]), (np.inf, found["infinite"]), (found["low"], found["negative"])]
            values += [(found["high"], 1), (found["least"], 1)]
            there = [(value, n) for value, n in values if n and value is not None]
            explain(np.array([v for v, _ in there], dtype=np.float64), np.array([n for _, n in there], dtype=np.int64))

    def explain(self, scores: NDArray[np.float64], rows: NDArray[np.int64] | None) -> None:
        """Check the scores; where text could not be read as a number, look which it was."""
        if self.rows.kind == "text" and np.isnan(scores).any():
            self._find_text("score")
        check_counted_scores(scores, rows, f"column {self.rows.score!r}", whole=self.whole)

    def explain_weights(self, weight: NDArray[np.float64], rows: NDArray[np.int64]) -> None:
        """Check the weights likewise."""
        if self.rows.kind == "text" and np.isnan(weight).any():
            self._find_text("weight")
        check_weights(weight, rows, f"column {self.rows.weight!r}")

    def _find_text(self, role: str) -> None:
        column = self.rows.place(role)
        words = ", ".join(map(spark_text, MISSING_WORDS))
        odd = self.rows.by_place().filter(
            f"{self.raw(role)} IS NULL AND {column} IS NOT NULL AND trim({column}) NOT IN ({words})"
        )
        found = self.fetch(odd.selectExpr(f"min({column}) AS word", "count(*) AS n")).to_pylist()[0]
        if found["n"]:
            raise TypeError(wording.no_numbers(f"column {self.rows.roles[role]!r}", found["n"], found["word"]))
