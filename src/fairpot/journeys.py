"""From Python what the command line does: rows, frames or files -> table; a fitted model -> adjusted files."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals as nw

from fairpot._validation.columns import as_native_columns, check_column_names, select_columns
from fairpot.counting import as_table
from fairpot.postprocessing.fitted import load
from fairpot.postprocessing.mapper import ScoreMapper
from fairpot.table import ScoreTable
from fairpot.transport import ScoreMap

if TYPE_CHECKING:
    from fairpot.files import AppliedRows, RowSource


def score_table(
    rows: Any,
    y_score: Any = None,
    *,
    sensitive_features: Any = None,
    sample_weight: Any = None,
    clusters: Any = None,
    weights: str | None = None,
    pos_label: Any = None,
    score: str | None = None,
    label: str | None = None,
    group: str | Sequence[str] | None = None,
    weight: str | None = None,
    **options: Any,
) -> ScoreTable:
    """Count rows into the table that everything else is computed from: columns, a frame, or files.

    Parameters
    ----------
    rows : column of outcomes, frame, path or list of paths
        Columns: the outcomes, with ``y_score`` and ``sensitive_features`` beside them, as in the metrics. A frame or
        files (Parquet, CSV, Arrow, JSON lines; folders and patterns): ``score``, ``label`` and ``group`` name the
        columns.
    y_score, sensitive_features, sample_weight, pos_label
        As in :func:`fairpot.metrics.auc`; ``pos_label`` also for frames and files.
    score, label, group, weight : str
        Names of columns of a frame or of files; several groups form intersections.
    **options
        For files: as in :func:`fairpot.files.score_table` (``format``, ``sql``, ``memory_limit``, ...).

    Returns
    -------
    ScoreTable
        For :func:`fairpot.audit`, ``fit_table``, ``tradeoff``, :func:`fairpot.effect`, :func:`fairpot.compare`.

    Examples
    --------
    >>> import fairpot
    >>> table = fairpot.score_table([1, 0, 1, 0], [0.9, 0.2, 0.7, 0.4], sensitive_features=["F", "F", "M", "M"])
    >>> table.groups
    ('F', 'M')
    """
    columns_given = {"y_score": y_score, "sensitive_features": sensitive_features, "sample_weight": sample_weight}
    if (_is_path(rows) and y_score is None) or "sql" in options:
        from fairpot.files import score_table as count_files

        _refuse_columns(columns_given, "files")
        parts = _named(score, label, group)
        return count_files(rows, **parts, weight=weight, positive=pos_label, **options)
    if options:
        raise TypeError(f"{next(iter(options))!r} is an option for files; these rows are in memory.")
    frame = as_native_columns(rows)
    if isinstance(frame, nw.DataFrame) and y_score is None:
        _refuse_columns(columns_given, "a frame")
        named = _named(score, label, group)
        if label is None:
            raise TypeError("label is missing: name the column with the outcome, label=...")
        wanted = [named["score"], named["label"], *([weight] if weight is not None else [])]
        unknown = [name for name in wanted if name not in frame.columns]
        if unknown:
            raise ValueError(
                f"the frame has no column {unknown[0]!r} (columns: {', '.join(map(repr, frame.columns[:12]))})."
            )
        return as_table(
            frame[named["label"]].to_native(),
            frame[named["score"]].to_native(),
            sensitive_features=select_columns(rows, check_column_names(named["group"], "group")),
            sample_weight=None if weight is None else frame[weight].to_native(),
            weights=weights,
            pos_label=pos_label,
            names=(f"column {label!r}", f"column {score!r}"),
            order=f"name the columns the other way round, score={label!r} and label={score!r}.",
        )
    given = {"score": score, "label": label, "group": group, "weight": weight}
    extra = [name for name, value in given.items() if value is not None]
    if extra:
        raise TypeError(
            f"{extra[0]} names a column of a frame or file, but the rows are columns themselves.\n"
            "Hint: score_table(y_true, y_score, sensitive_features=...), or score_table(frame, score=..., label=...)."
        )
    return as_table(
        rows,
        y_score,
        sensitive_features=sensitive_features,
        sample_weight=sample_weight,
        clusters=clusters,
        weights=weights,
        pos_label=pos_label,
        grouped=sensitive_features is not None,
    )


def apply(
    model: Any,
    rows: Any,
    output: str | os.PathLike[str],
    *,
    score: str | None = None,
    group: str | Sequence[str] | None = None,
    **options: Any,
) -> AppliedRows:
    """Write files with their adjusted score as one column more; they may be larger than memory.

    Parameters
    ----------
    model : fitted post-processor, loaded model, or path of a model file
    rows : path, list of paths or RowSource
        Parquet, CSV, Arrow or JSON lines; folders and patterns.
    output : path
        Written whole or not at all; what is there is not replaced without ``force=True``.
    score, group : str
        Names of the columns; None takes those the model file knows, else "score" and "group".
    **options
        As in :func:`fairpot.files.adjusting`: ``column``, ``changes``, ``threshold``, ``force``, ...

    Returns
    -------
    AppliedRows
        How many rows were written and how many changed.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import fairpot
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "new.csv").write_text("score,group\\n0.2,F\\n0.3,F\\n0.8,M\\n")
    >>> fp = fairpot.FairPOT(1.0, reference="M").fit([0.2, 0.4, 0.6, 0.8], sensitive_features=["F", "F", "M", "M"])
    >>> fairpot.apply(fp, folder / "new.csv", folder / "fair.csv").moved
    2
    """
    from fairpot.files import RowSource
    from fairpot.files import apply as apply_maps

    fitted = load(model) if _is_path(model) else model
    if not isinstance(fitted, ScoreMapper):
        raise TypeError(
            f"apply takes a fitted post-processor, a loaded model or a model file, got {type(model).__name__}."
        )
    known = getattr(fitted, "columns_", None) or {"score": "score", "group": ["group"]}
    source = rows
    if not isinstance(rows, RowSource):
        source = RowSource(rows, score=score or known["score"], groups=group or known["group"])
    return apply_maps(source, maps_for_files(fitted, source), output=Path(output), **options)


def maps_for_files(model: ScoreMapper, source: RowSource, *, memory_limit: str = "2GB") -> dict[Hashable, ScoreMap]:
    """Return the maps that hold for files; where they depend on all rows at hand, count those first."""
    from fairpot.files import count_rows, score_thresholds

    if model.row_by_row:
        return dict(model.maps_)
    counted = count_rows(source.bare(), memory_limit=memory_limit, several=False)
    names = same_names(counted.table.groups, model.groups_)
    rule = model._applied_by()
    if rule["kind"] == "top_of_batch":
        found = score_thresholds(
            source, rule["alpha"], region=rule["region"], memory_limit=memory_limit, counted=counted
        )
        return {names[group]: model.maps_[names[group]].starting_at(found[group]) for group in counted.table.groups}
    table = counted.table.renamed([names[g] for g in counted.table.groups])
    return model.maps_for(table)


def same_names(groups: Sequence[Hashable], known: Sequence[Hashable]) -> Mapping[Hashable, Hashable]:
    """Match groups of a file with those of a model; one may say 1 where the other says "1"."""
    found = {g: next((k for k in known if k == g or str(k) == str(g)), g) for g in groups}
    unseen = [g for g in groups if found[g] not in known]
    if unseen:
        from fairpot.exceptions import UnseenGroupError

        raise UnseenGroupError(
            f"the rows have a group that is not in the map: {unseen[0]!r} (known: {list(known)}).\n"
            "Hint: fit with those rows, or drop them."
        )
    return found


def _is_path(value: Any) -> bool:
    if isinstance(value, str | os.PathLike):
        return True
    return isinstance(value, list | tuple) and bool(value) and all(isinstance(v, str | os.PathLike) for v in value)


def _refuse_columns(given: dict[str, Any], what: str) -> None:
    """Refuse columns beside a frame or files, whose columns go by their names."""
    extra = [name for name, value in given.items() if value is not None]
    if extra:
        raise TypeError(
            f"{extra[0]} is a column of its own, but the rows are {what}.\n"
            "Hint: name the columns, score=..., label=..., group=..., weight=..."
        )


def _named(score: str | None, label: str | None, group: Any) -> dict[str, Any]:
    missing = [name for name, value in (("score", score), ("group", group)) if value is None]
    if missing:
        raise TypeError(f"{missing[0]} is missing: name the columns, score=..., label=..., group=... (and weight=...).")
    return {"score": score, "label": label, "group": group}
