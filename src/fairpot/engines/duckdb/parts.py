"""The SQL of a scan: expressions for score and weight, and what can be asked about them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairpot._validation import wording
from fairpot._validation.counted import check_counted_scores, check_weights
from fairpot.engines.duckdb.scan import Scan
from fairpot.engines.naming import check_plain, check_score_type
from fairpot.engines.values import MISSING_WORDS, doubles


class Parts:
    """The expressions for score and weight, and what can be asked about them."""

    def __init__(self, scan: Scan) -> None:
        self.scan, self.source = scan, scan.source
        self.types = scan.types()
        self.keys = [f"group{i}" for i in range(len(self.source.group_columns))]
        self.keys += ["label"] if self.source.label is not None else []
        self.whole = False
        if scan.kind == "typed":
            for role in ("score", "weight"):
                if role in self.types:
                    check_score_type(self.types[role], self.source.roles[role])
            self.whole = "INT" in self.types["score"]
            self._check_plain()

    def raw(self, role: str) -> str:
        """Return what a part is grouped by."""
        if self.scan.kind == "text":
            return f"TRY_CAST(CASE WHEN contains({role}, '_') THEN NULL ELSE trim({role}) END AS DOUBLE)"
        if self.scan.kind == "json":
            numbers = "('DOUBLE', 'BIGINT', 'UBIGINT', 'HUGEINT')"
            return f"CASE WHEN json_type({role}) IN {numbers} THEN CAST({role} AS DOUBLE) END"
        return role

    def number(self, role: str) -> str:
        """Return a part, already grouped, as a double; decimals through their text, which rounds correctly."""
        if self.types[role].startswith("DECIMAL"):
            return f"CAST(CAST({role} AS VARCHAR) AS DOUBLE)"
        return role if self.types[role] == "DOUBLE" else f"CAST({role} AS DOUBLE)"

    def plain(self) -> str:
        """Select all parts, row by row."""
        return f"SELECT {self._columns()} FROM (SELECT {self._raw()} FROM {{rows}})"

    def grouped(self) -> str:
        """Select the distinct combinations of all parts, with their number of rows."""
        inner = f"SELECT {self._raw()}, count(*) AS n FROM {{rows}} GROUP BY ALL"
        return f"SELECT {self._columns()}, n FROM ({inner})"

    def _raw(self) -> str:
        numbers = [f"{self.raw(role)} AS {role}" for role in ("score", "weight") if role in self.types]
        return ", ".join([*self.keys, *numbers])

    def _columns(self) -> str:
        numbers = [f"{self.number(role)} AS {role}" for role in ("score", "weight") if role in self.types]
        return ", ".join([*self.keys, *numbers])

    def estimate(self, limit: int) -> tuple[int, int | None]:
        """Estimate the number of distinct scores, only looking where there may be too many."""
        most = self.source.most_rows()
        if most is not None and most <= limit:
            return 0, None
        what = f"approx_count_distinct({self.raw('score')}), count(*)"
        [(distinct, rows)] = self.scan.all_rows(f"SELECT {what} FROM {{rows}}")
        return int(distinct), int(rows)

    def count(self) -> int:
        """Count the rows."""
        return int(self.scan.all_rows("SELECT count(*) FROM {rows}")[0][0])

    def sample(self, rows: int, limit: int) -> NDArray[np.float64]:
        """Draw scores at random, the same each time."""
        share = min(100.0, 100.0 * 4 * min(limit, 500_000) / max(rows, 1))
        inner = f"SELECT {self.raw('score')} AS score FROM {{rows}}"
        drawn = f"SELECT {self.number('score')} AS score FROM ({inner}) USING SAMPLE {share:.9f}% (bernoulli, 1)"
        with self.scan.one_thread():
            parts = [doubles(batch.column(0)) for batch in self.scan.batches(drawn)]
        scores = np.concatenate([*parts, np.empty(0)])
        return scores[np.isfinite(scores)]

    def explain(self, scores: NDArray[np.float64], rows: NDArray[np.int64] | None) -> None:
        """Check the scores; where text could not be read as a number, look which it was."""
        if self.scan.kind != "typed" and np.isnan(scores).any():
            self._find_text("score")
        check_counted_scores(scores, rows, f"column {self.source.score!r}", whole=self.whole)

    def explain_weights(self, weight: NDArray[np.float64], rows: NDArray[np.int64]) -> None:
        """Check the weights likewise."""
        if self.scan.kind != "typed" and np.isnan(weight).any():
            self._find_text("weight")
        check_weights(weight, rows, f"column {self.source.weight!r}")

    def _find_text(self, role: str) -> None:
        value = f"CAST({role} AS VARCHAR)"
        words = ", ".join("'" + word + "'" for word in (*MISSING_WORDS, "null"))
        odd = f"{self.raw(role)} IS NULL AND trim({value}) NOT IN ({words})"
        found = self.scan.all_rows(f"SELECT min({value}), count(*) FROM {{rows}} WHERE {odd}")
        if found[0][1]:
            raise TypeError(wording.no_numbers(f"column {self.source.roles[role]!r}", found[0][1], found[0][0]))

    def _check_plain(self) -> None:
        for key in self.keys:
            check_plain(self.types[key], self.source.roles[key])
