"""FrameReader: frames in memory, of pandas, Polars, PyArrow, and lazy ones once they are collected."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from fairpot._defaults import Weights
from fairpot._optional import Lazy
from fairpot._validation import check_scores, place_groups
from fairpot._validation.columns import complete_rows, lacking, lacking_only
from fairpot.counting import as_table, beside_unlabelled
from fairpot.rows.readers import Applying, CountedRows, Counting
from fairpot.rows.roles import Roles, find_column
from fairpot.transport import Floats, ScoreMap
from fairpot.transport.lookup import blocks

if TYPE_CHECKING:
    import narwhals as nw

    Frame = nw.DataFrame[Any] | nw.LazyFrame[Any]
else:
    nw = Lazy("narwhals")


_MEANING = ("weights", "pos_label", "lower_is_riskier", "high_score_means", "grouping")


@dataclass(frozen=True, eq=False)
class FrameRows(Roles):
    """Name the columns of a frame and the part each plays."""

    frame: Frame
    _: KW_ONLY

    reader: ClassVar[str] = "memory"

    def __post_init__(self) -> None:
        super().__post_init__()
        for role, name in self.roles.items():
            find_column(name, self.frame.collect_schema().names(), "the frame", role)

    def of(self, role: str) -> str:
        """Say what messages call a column: by its name, and several by the part they play."""
        name = self.group_columns[0] if role == "group" and len(self.group_columns) == 1 else self.roles.get(role)
        return role if name is None else f"column {name!r}"


class FrameReader:
    """Count and adjust frames."""

    where: ClassVar[str] = "in memory"
    options: ClassVar[tuple[str, ...]] = ()
    writes_folders: ClassVar[bool] = False

    def open(self, rows: Any, parts: Mapping[str, Any], options: Mapping[str, Any]) -> FrameRows:
        """Wrap a frame."""
        frame = as_frame(rows)
        if frame is None:
            raise TypeError(f"this needs a frame, got {type(rows).__name__}.")
        return FrameRows(frame, **parts)

    def count(self, rows: FrameRows, how: Counting) -> CountedRows:
        """Count rows into a score table; of a lazy frame, the columns that are named are collected."""
        chosen = rows.frame.select(*dict.fromkeys(rows.roles.values()))
        frame, dropped = chosen.collect() if isinstance(chosen, nw.LazyFrame) else chosen, None
        outcomeless = None
        if how.drop_missing:
            if rows.label is not None and rows.group_columns:
                columns = {name: frame[name].to_native() for name in frame.columns}
                outcomeless = lacking_only(rows.label, columns)
            frame, dropped = complete_rows(frame)

        column = {role: frame[name].to_native() for role, name in rows.roles.items()}
        groups = rows.group_columns
        table = as_table(
            column.get("label"),
            column["score"],
            sensitive_features=frame.select(*groups).to_native() if groups else None,
            sample_weight=column.get("weight"),
            clusters=column.get("cluster"),
            **{name: getattr(rows, name) for name in _MEANING},
            **rows.after._replace(time=column.get("time"), event=column.get("event"))._asdict(),
            grouped=bool(groups),
            labelled=rows.label is not None,
            names=tuple(rows.of(role) for role in ("label", "score", "group", "weight", "cluster", "time", "event")),
            order=f"name the columns the other way round, score={rows.label!r} and label={rows.score!r}.",
        )
        if outcomeless is not None:
            of_groups = nw.from_dict({name: nw.from_native(outcomeless[name], series_only=True) for name in groups})
            weight = None if rows.weight is None else outcomeless[rows.weight]
            given = outcomeless[rows.score], of_groups.to_native(), weight
            table = beside_unlabelled(table, *given, cast(Weights | None, rows.weights))
        return CountedRows(table, len(frame), dropped=dropped)

    def apply(self, rows: FrameRows, maps: Mapping[Hashable, ScoreMap], how: Applying) -> Any:
        """Return a frame of the same kind, with the adjusted score as one column more."""
        frame = rows.frame
        if isinstance(frame, nw.LazyFrame):
            raise TypeError("a lazy frame has no rows yet.\nHint: call .collect() on it first.")
        if how.output is not None:
            raise TypeError(
                f"rows in memory come back as a frame, and are not written to {how.output}.\n"
                "Hint: leave output out, and write the frame; or write the rows to a file and adjust that."
            )
        known = ("column", "replace", "unknown_group", "missing_group", "drop_missing")
        how.refuse_others(known, "rows in memory come back")
        column = how.new_column(rows, frame.columns, "the frame")
        if how.drop_missing:
            frame = frame.filter((~lacking(frame.select(*rows.roles.values()).to_native())).tolist())
        scores = check_scores(frame[rows.score].to_native(), rows.of("score"))
        ways = {"unknown_group": how.unknown_group, "missing_group": how.missing_group}
        groups = frame.select(*rows.group_columns).to_native()
        codes = place_groups(groups, len(scores), list(maps), **ways, name=rows.of("group"), grouping=rows.grouping)
        if how.judge is not None:
            low, high = how.far
            outside = int(((scores < low) | (scores > high)).sum())
            how.judge(float(scores.min()), float(scores.max()), outside, len(scores))
        values = map_scores(scores, codes, list(maps.values()))
        for place, way in ((-1, how.unknown_group), (-2, how.missing_group)):
            if way == "null":
                values[codes == place] = np.nan
        given = [None if value != value else value for value in values.tolist()] if np.isnan(values).any() else values
        return frame.with_columns(nw.new_series(column, given, nw.Float64, backend=frame.implementation)).to_native()


def map_scores(scores: Floats, codes: NDArray[np.int64], maps: Sequence[ScoreMap]) -> Floats:
    """Return the adjusted scores, given the place of each row's map; others stay as they are."""
    adjusted = scores.copy()
    for place, score_map in enumerate(maps):
        if not score_map.is_identity:
            rows = np.flatnonzero(codes == place)
            for block in blocks(len(rows)):
                adjusted[rows[block]] = score_map(scores.take(rows[block]))
    return adjusted


def as_frame(rows: Any) -> Frame | None:
    """Wrap a frame, lazy or not, of any library Narwhals knows; None for anything else."""
    if rows is None or isinstance(rows, str | Path | list | tuple):
        return None
    try:
        wrapped = nw.from_native(rows, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise ValueError("the frame has two columns of one name.\nHint: rename one.") from error
    return wrapped if isinstance(wrapped, nw.DataFrame | nw.LazyFrame) else None
