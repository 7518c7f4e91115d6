"""The SQL of a scan: expressions for score and weight, and what can be asked about them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairpot._optional import import_optional
from fairpot._validation import wording
from fairpot._validation.counted import check_counted_scores, check_weights
from fairpot.engines.duckdb.scan import Scan
from fairpot.engines.naming import check_plain, check_score_type
from fairpot.engines.values import EXACT, MISSING_WORDS, doubles


class Parts:
    """The expressions for score and weight, and what can be asked about them."""

    def __init__(self, scan: Scan, drop_missing: bool = False) -> None:
        self.scan, self.source, self.drop_missing = scan, scan.source, drop_missing
        self.types = scan.types()
        self.keys = [f"group{i}" for i in range(len(self.source.group_columns))]
        self.keys += ["label"] if self.source.label is not None else []
        self.whole = False
        for role in ("score", "weight"):
            if role in self.types:
                check_score_type(self.types[role], self.source.roles[role])
        self.whole = "INT" in self.types["score"]
        self._check_plain()

    def number(self, role: str) -> str:
        """Return a part, already grouped, as a double.

        Decimals go through their text, which rounds correctly; whole numbers that doubles cannot tell apart become
        infinite.
        """
        type_ = self.types[role]
        if type_.startswith("DECIMAL"):
            return f"CAST(CAST({role} AS VARCHAR) AS DOUBLE)"
        if "INT" in type_:
            inside = f"{role} BETWEEN -{EXACT} AND {EXACT}"
            return f"CASE WHEN {inside} THEN CAST({role} AS DOUBLE) WHEN {role} IS NOT NULL THEN 'inf'::DOUBLE END"
        return role if type_ == "DOUBLE" else f"CAST({role} AS DOUBLE)"

    def _lacks(self, role: str) -> str:
        """Return the condition that a part has no value; NaN in a score of text is a word that is no number."""
        text = self.scan.kind != "typed"
        if text and role not in ("score", "weight"):
            words = ", ".join(f"'{word}'" for word in (MISSING_WORDS if self.scan.kind == "text" else ("NaN",)))
            return f"({role} IS NULL OR {role} IN ({words}))"
        if not text and self.types[role] in ("DOUBLE", "FLOAT"):
            return f"({role} IS NULL OR isnan({role}))"
        return f"{role} IS NULL"

    @property
    def rows(self) -> str:
        """The rows that are counted."""
        if not self.drop_missing:
            return "{rows}"
        return f"(SELECT * FROM {{rows}} WHERE NOT ({' OR '.join(map(self._lacks, self.types))}))"

    def missing(self) -> dict[str, int] | None:
        """Count the rows that are dropped, in all and for each column; None where none are to be."""
        if not self.drop_missing:
            return None
        each = [self._lacks(role) for role in self.types]
        wanted = ", ".join(f"count(*) FILTER (WHERE {condition})" for condition in [" OR ".join(each), *each])
        [found] = self.scan.all_rows(f"SELECT {wanted} FROM {{rows}}")
        return dict(zip(["rows", *(self.source.roles[role] for role in self.types)], found))

    def plain(self) -> str:
        """Select all parts, row by row."""
        return f"SELECT {self._columns()} FROM (SELECT {self._raw()} FROM {self.rows})"

    def grouped(self) -> str:
        """Select the distinct combinations of all parts, with their number of rows."""
        inner = f"SELECT {self._raw()}, count(*) AS n FROM {self.rows} GROUP BY ALL"
        return f"SELECT {self._columns()}, n FROM ({inner})"

    def _raw(self) -> str:
        numbers = [role for role in ("score", "weight") if role in self.types]
        return ", ".join([*self.keys, *numbers])

    def _columns(self) -> str:
        numbers = [f"{self.number(role)} AS {role}" for role in ("score", "weight") if role in self.types]
        return ", ".join([*self.keys, *numbers])

    def combinations(self) -> str:
        """Select the distinct combinations of groups and labels, with their number of rows."""
        return f"SELECT {', '.join([*self.keys, 'count(*) AS n'])} FROM {self.rows} GROUP BY ALL"

    def estimate(self, limit: int) -> tuple[int, int | None]:
        """Estimate the number of distinct scores, only looking where there may be too many."""
        most = self.source.most_rows()
        if most is not None and most <= limit:
            return 0, None
        what = "approx_count_distinct(score), count(*)"
        [(distinct, rows)] = self.scan.all_rows(f"SELECT {what} FROM {{rows}}")
        return int(distinct), int(rows)

    def count(self) -> int:
        """Count the rows."""
        return int(self.scan.all_rows("SELECT count(*) FROM {rows}")[0][0])

    def sample(self, rows: int, limit: int) -> NDArray[np.float64]:
        """Draw scores at random, the same each time."""
        share = min(100.0, 100.0 * 4 * min(limit, 500_000) / max(rows, 1))
        drawn = f"SELECT {self.number('score')} AS score FROM {self.rows} USING SAMPLE {share:.9f}% (bernoulli, 1)"
        with self.scan.alone() as scan:
            parts = [doubles(batch.column(0)) for batch in scan.batches(drawn)]
        scores = np.concatenate([*parts, np.empty(0)])
        return scores[np.isfinite(scores)]

    def explain(self, scores: NDArray[np.float64], rows: NDArray[np.int64] | None, words: int = 0) -> None:
        """Check the scores, ``words`` rows of which were no numbers."""
        name = f"column {self.source.score!r}"
        if words:
            raise TypeError(wording.no_numbers(name, words))
        check_counted_scores(scores, rows, name, whole=self.whole)

    def explain_weights(self, weight: NDArray[np.float64], rows: NDArray[np.int64], words: int = 0) -> None:
        """Check the weights likewise."""
        name = f"column {self.source.weight!r}"
        if words:
            raise TypeError(wording.no_numbers(name, words))
        check_weights(weight, rows, name)

    def words(self, column: Any, rows: NDArray[np.int64] | None = None) -> int:
        """Count the rows whose text was no number: they come as NaN, missing ones as null."""
        if self.scan.kind == "typed":
            return 0
        bad = import_optional("pyarrow.compute", "cli").is_nan(column).fill_null(False).to_numpy(zero_copy_only=False)
        return int(bad.sum() if rows is None else rows[bad].sum())

    def _check_plain(self) -> None:
        for key in self.keys:
            check_plain(self.types[key], self.source.roles[key])
