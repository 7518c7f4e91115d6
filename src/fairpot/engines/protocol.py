"""What every counting engine does: rows to a score table, thresholds of the top alpha, maps applied to rows."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from fairpot._defaults import Meaning, Region
from fairpot.table import QuantisationBound, ScoreTable
from fairpot.transport import Floats, ScoreMap

# With more distinct scores than this a table is quantised, unless the caller says otherwise.
MOST_DISTINCT = 20_000_000


@dataclass(frozen=True, eq=False)
class CountedRows:
    """Hold what a scan found.

    Attributes
    ----------
    table : ScoreTable
        The counts of every group.
    rows : int
        How many rows were counted. A row that cannot be used is an error, unless it was asked to drop those with
        missing values.
    quantisation : QuantisationBound or None
        How far any number made from the table can be off, if there were too many distinct scores to keep
        them all; None where the table is exact.
    dropped : dict of str to int or None
        Where rows with missing values were dropped: how many in all ("rows") and how many lack a value of each
        column, by the name of the column.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from fairpot.files import RowSource, count_rows
    >>> path = Path(mkdtemp()) / "scores.csv"
    >>> _ = path.write_text("risk,died,sex\\n0.9,1,F\\n0.2,0,F\\n0.7,1,M\\n0.4,0,M\\n")
    >>> counted = count_rows(RowSource(path, score="risk", label="died", groups="sex"))
    >>> counted.rows, counted.quantisation is None
    (4, True)
    """

    table: ScoreTable
    rows: int
    quantisation: QuantisationBound | None = None
    dropped: dict[str, int] | None = None


class Progress(Protocol):
    """Told how far a scan is, from 0 to 1."""

    def __call__(self, done: float, /) -> object:
        """Take the share of the work that is done."""


class Roles(Protocol):
    """Which columns play which part: what every engine asks of the rows it is given."""

    @property
    def score(self) -> str:
        """The column with the score."""

    @property
    def label(self) -> str | None:
        """The column with the outcome."""

    @property
    def weight(self) -> str | None:
        """The column with the weight."""

    @property
    def weights(self) -> str | None:
        """What a weight means: "frequency" or "importance"; None leaves it to whether all are whole numbers."""

    @property
    def cluster(self) -> str | None:
        """The column that says which rows belong together."""

    @property
    def lower_is_riskier(self) -> bool:
        """Whether a low score means high risk: scores are then counted with a minus."""

    @property
    def high_score_means(self) -> Meaning | None:
        """What a high score does to the person who has it: "help" or "harm"; None where nothing is said."""

    @property
    def pos_label(self) -> Any:
        """The positive value of a label that is not 0/1 or boolean."""

    @property
    def group_columns(self) -> tuple[str, ...]:
        """The columns with the group."""


RowsT = TypeVar("RowsT", bound=Roles, contravariant=True)
AdjustedT = TypeVar("AdjustedT", covariant=True)


class Engine(Protocol[RowsT, AdjustedT]):
    """Count and adjust rows where they are; ``RowsT`` holds them (files, a frame of a cluster) with their roles.

    Whatever the engine, equal rows give equal tables, to the last bit, and a bad row is an error in the words of
    ``fairpot._validation.wording``, with the number of rows.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from fairpot.engines import DuckDBEngine, Engine
    >>> from fairpot.files import RowSource
    >>> path = Path(mkdtemp()) / "scores.csv"
    >>> _ = path.write_text("risk,died,sex\\n0.9,1,F\\n0.2,0,F\\n0.7,1,M\\n0.4,0,M\\n")
    >>> engine: Engine = DuckDBEngine()
    >>> engine.count(RowSource(path, score="risk", label="died", groups="sex")).table.groups
    ('F', 'M')
    """

    def count(
        self,
        rows: RowsT,
        *,
        several: bool = True,
        max_distinct: int = MOST_DISTINCT,
        progress: Progress | None = None,
        drop_missing: bool = False,
    ) -> CountedRows:
        """Count rows into a score table.

        Parameters
        ----------
        rows
        several : bool, default True
            Whether a single group is an error.
        max_distinct : int
            With more distinct scores than about this the table is quantised.
        progress : callable or None
        drop_missing : bool, default False
            Whether rows with a missing value are left out, and counted, instead of an error.
        """

    def thresholds(
        self, rows: RowsT, alpha: float, *, region: Region = "pooled", counted: CountedRows | None = None
    ) -> dict[Hashable, float]:
        """Find the lowest score of each group's top-alpha region, exactly; ``counted`` saves a pass."""

    def apply(self, rows: RowsT, maps: Mapping[Hashable, ScoreMap], *, column: str | None = None) -> AdjustedT:
        """Return the rows with one column more, the adjusted score."""


class Rules(Protocol):
    """Says what is wrong with scores and weights."""

    def explain(self, scores: Floats, rows: NDArray[np.int64] | None, words: int = 0) -> None:
        """Check scores, ``words`` rows of which were no numbers."""

    def explain_weights(self, weight: Floats, rows: NDArray[np.int64], words: int = 0) -> None:
        """Check weights likewise."""
