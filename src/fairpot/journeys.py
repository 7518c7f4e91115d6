"""From Python what the command line does: rows of any kind -> table; a fitted model -> adjusted files.

Where rows are counted is chosen once, here: columns and frames in memory, files and queries by DuckDB, a frame of Spark
on its cluster.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import narwhals as nw

from fairpot._arguments import argument, by_name
from fairpot._defaults import ADJUSTED, Meaning, Unmapped
from fairpot._validation import check_choice, wording
from fairpot._validation.columns import check_column_names, complete_rows
from fairpot._warn import warn_user
from fairpot.counting import as_table, check_meaning, refuse_beside_table
from fairpot.exceptions import ScaleWarning
from fairpot.table import ScoreTable
from fairpot.transport import ScoreMap

if TYPE_CHECKING:
    from fairpot.engines.protocol import CountedRows
    from fairpot.engines.spark import SparkRows
    from fairpot.files import AppliedRows, RowSource
    from fairpot.repair.fair_maps import FairMaps

Source: TypeAlias = "RowSource | SparkRows"
# How files are read, and how rows outside memory are counted.
_READING = ("format", "sql", "database", "delimiter", "decimal", "encoding", "partitions", "follow_links")
_COUNTING = ("memory_limit", "threads", "max_distinct", "progress")
_ON_A_CLUSTER = ("max_distinct", "progress")


@by_name
def score_table(
    rows: Any,
    y_score: Any = None,
    *,
    sensitive_features: Any = None,
    sample_weight: Any = None,
    clusters: Any = None,
    weights: str | None = None,
    pos_label: Any = None,
    lower_is_riskier: bool = False,
    high_score_means: Meaning | None = None,
    score: str | None = None,
    label: str | None = None,
    group: str | Sequence[str] | None = None,
    weight: str | None = None,
    cluster: str | None = None,
    drop_missing: bool = False,
    **options: Any,
) -> ScoreTable:
    """Count rows into the table that everything else is computed from, whatever they come in.

    Equal rows give equal tables, to the last bit.

    Parameters
    ----------
    rows : column of outcomes, frame, lazy frame, path or list of paths, RowSource, ScoreTable
        Columns: the outcomes, with ``y_score`` and ``sensitive_features`` beside them; None if they
        are not known. A frame (pandas, Polars, PyArrow), a lazy one (Polars, DuckDB, PySpark; of which only the columns
        that are named are asked for) or files (Parquet, CSV, Arrow, JSON lines; folders and patterns): ``score``,
        ``label`` and ``group`` name the columns. A table is returned unchanged.
    y_score : column of shape (n,), default None
        Scores on any scale, where ``rows`` are outcomes.
    sensitive_features : column of shape (n,), or frame with several columns, default None
        Group of each row; several columns form intersections. None makes all rows one group, "all".
    sample_weight : column of shape (n,), default None
        Weights; ``weights`` says what they mean.
    clusters : column or None, default None
        What rows have in common that are not independent: the patient of each visit.
    weights : {"frequency", "importance"} or None, default None
        What a weight means: a number of rows, or how much a row counts. None takes whole numbers for the first and
        others for the second; ``weights`` of the table says which.
    pos_label : default None
        The positive value of outcomes that are not 0/1 or booleans.
    lower_is_riskier : bool, default False
        Whether a low score means high risk; scores are then counted with a minus.
    high_score_means : {"help", "harm"} or None, default None
        What a high score does to the person who has it: "help" (offered screening, a place, a loan) or "harm" (denied,
        detained, flagged for fraud). Sentences are then worded by it, and where it harms, a repair lowers scores
        unless ``reference`` says otherwise. Say it of the original scores: with
        ``lower_is_riskier``, a high credit score means "help".
    score, label, group, weight, cluster : str
        Names of columns of a frame or of files; several groups form intersections. Without ``label`` outcomes are not
        known, without ``group`` all rows are one group, "all".
    drop_missing : bool, default False
        Whether rows with a missing value are left out, with a warning that counts them, instead of an error.
    **options
        For files: ``format``, ``sql``, ``database``, ``delimiter``, ``decimal``, ``encoding``, ``partitions`` and
        ``follow_links``, which :class:`fairpot.files.RowSource` takes; ``memory_limit``, ``threads``, ``max_distinct``
        and ``progress``, which :func:`fairpot.files.count_rows` takes, the last two also for frames of Spark.

    Returns
    -------
    ScoreTable
        For :func:`fairpot.audit`, ``fit``, ``tradeoff``, :func:`fairpot.effect`, :func:`fairpot.compare`.

    Warns
    -----
    UserWarning
        If rows were left out, or there were too many distinct scores, so that they were put into bins: with how far
        any number can be off.

    Examples
    --------
    >>> import fairpot
    >>> y, score, sex = [1, 0, 1, 0], [0.9, 0.2, 0.7, 0.4], ["F", "F", "M", "M"]
    >>> table = fairpot.score_table(y, score, sensitive_features=sex)
    >>> table.groups
    ('F', 'M')
    """
    columns = {
        "y_score": y_score,
        "sensitive_features": sensitive_features,
        "sample_weight": sample_weight,
        "clusters": clusters,
    }
    meaning = {"weights": weights, "pos_label": pos_label, "lower_is_riskier": lower_is_riskier or None}
    names = {"score": score, "label": label, "group": group, "weight": weight, "cluster": cluster}
    _check_options(options)
    check_meaning(high_score_means)
    if isinstance(rows, ScoreTable):
        given = {**columns, **names, **meaning, "drop_missing": drop_missing or None, **options}
        return refuse_beside_table(rows, given).meaning(high_score_means)
    if _is_source(rows):
        reading = {name: options.get(name) for name in _READING}
        said = {**columns, **names, **meaning, **reading}
        _refuse(said, "a source, which says itself what they are", "leave it out, or put it into the source")
        return _counted_elsewhere(rows, drop_missing, options).meaning(high_score_means)
    if (_is_path(rows) and y_score is None) or options.get("sql") is not None:
        _refuse(columns, "files", _NAME_THEM)
        source = _source_of_files(rows, names, {**meaning, "high_score_means": high_score_means}, options)
        return _counted_elsewhere(source, drop_missing, options)
    frame = _as_frame(rows) if y_score is None else None
    if frame is not None:
        _refuse(columns, "a frame", _NAME_THEM)
        wanted = _named_columns(frame, names)
        if _is_spark(frame):
            return _counted_elsewhere(_spark_rows(rows, names, meaning), drop_missing, options).meaning(
                high_score_means
            )
        _refuse_options(options)
        chosen = frame.select(*wanted)
        return _count_frame(
            chosen.collect() if isinstance(chosen, nw.LazyFrame) else chosen,
            names,
            weights=weights,
            pos_label=pos_label,
            lower_is_riskier=lower_is_riskier,
            high_score_means=high_score_means,
            drop_missing=drop_missing,
        )
    _refuse_options(options)
    extra = [name for name, value in names.items() if value is not None]
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
        lower_is_riskier=lower_is_riskier,
        high_score_means=high_score_means,
        grouped=sensitive_features is not None,
        labelled=rows is not None or y_score is None,
        drop_missing=drop_missing,
    )


@by_name
def apply(
    model: Any,
    rows: Any,
    output: str | os.PathLike[str] | None = None,
    *,
    score: str | None = None,
    group: str | Sequence[str] | None = None,
    unknown_group: Unmapped = "error",
    missing_group: Unmapped = "error",
    drop_missing: bool = False,
    other_scale: Literal["warn", "error"] | None = None,
    key: str | os.PathLike[str] | None = None,
    expect_sha256: str | None = None,
    overwrite: bool = False,
    memory_limit: str = "2GB",
    threads: int | None = None,
    **options: Any,
) -> AppliedRows:
    """Write rows with their adjusted score as one column more; they may be larger than memory.

    Parameters
    ----------
    model : fitted repair method, loaded model, or path of a map file
        If it was fitted on scores of which a low one means high risk, so are these.
    rows : path, list of paths, RowSource, or a frame of Spark (SparkRows)
        Parquet, CSV, Arrow or JSON lines; folders and patterns.
    output : path
        Written whole or not at all; an existing file is not replaced without ``overwrite=True``. Of rows on a cluster,
        a folder that all workers can write to.
    score, group : str
        Names of the columns; None takes those the map file knows, else "score" and "group".
    unknown_group : {"error", "keep", "null"}, default "error"
        What becomes of rows whose group the model does not know: an error that counts them, the original score, or no
        adjusted score. ``unknown`` of the result counts them.
    missing_group : {"error", "keep", "null"}, default "error"
        What becomes of rows without a group, likewise; ``missing`` of the result counts them.
    drop_missing : bool, default False
        Whether rows with a missing score or group are left out; ``dropped`` of the result counts them.
    other_scale : {"warn", "error"} or None, default None
        What to do if scores seem to be on another scale than in ``fit``. None is an error if more than 1% of them lie
        far outside the fitted range, and a warning if fewer do or all fill a small part of it.
    key : path or None, default None
        The file of a key, for the path of a map file: one whose signature is not good under it is refused.
    expect_sha256 : str or None, default None
        Refuse any map file but the one with this SHA-256.
    overwrite : bool, default False
        Whether existing outputs are replaced.
    memory_limit : str, default "2GB"
        What the process may use.
    threads : int or None, default None
        For DuckDB; None takes all cores.
    **options
        How files are read, see :func:`fairpot.score_table` (``format``, ``sql``, ``decimal``, ...), and what is
        written, see :func:`fairpot.files.apply` (``column``, ``replace``, ``changes``, ``threshold``, ``keep``,
        ``output_format``, ``types``, ``neutralise_formulas``, ``progress``); of rows on a cluster only ``column``.

    Returns
    -------
    AppliedRows
        How many rows were written and how many changed.

    Warns
    -----
    ScaleWarning
        If the scores seem to be on another scale than those of ``fit`` and that is not an error.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> import fairpot
    >>> folder = Path(mkdtemp())
    >>> _ = (folder / "new.csv").write_text("score,group\\n0.2,F\\n0.3,F\\n0.8,M\\n")
    >>> score, sex = [0.2, 0.4, 0.6, 0.8], ["F", "F", "M", "M"]
    >>> repair = fairpot.FairPOT(lam=1.0, reference="M").fit(score, sensitive_features=sex)
    >>> fairpot.apply(repair, folder / "new.csv", folder / "adjusted.csv").moved
    2
    """
    from fairpot.files import apply as apply_maps
    from fairpot.files.adjusting import check_outputs, check_unmapped

    check_unmapped(unknown_group, missing_group, drop_missing)
    if other_scale is not None:
        check_choice(other_scale, "other_scale", ("warn", "error"))
    from fairpot.repair.fair_maps import fair_maps, group_words, load

    if not _is_path(model) and (key is not None or expect_sha256 is not None):
        named = "key" if key is not None else "expect_sha256"
        raise TypeError(f"{named} says which map file alone will do, and model is {type(model).__name__}, not a path.")
    fitted = load(model, key=key, expect_sha256=expect_sha256) if _is_path(model) else fair_maps(model)
    if fitted is None:
        raise TypeError(
            f"apply takes a fitted repair method, a loaded model or a map file, got {type(model).__name__}."
        )
    reading = {name: options.pop(name) for name in _READING if name in options}
    source = _source_to_adjust(rows, fitted, score, group, reading)
    if output is None:
        raise TypeError(
            "output is missing.\nHint: name the file that the adjusted rows go to, apply(model, rows, output)."
        )
    how: dict[str, Any] = {
        "unknown_group": unknown_group,
        "missing_group": missing_group,
        "drop_missing": drop_missing,
    }
    limits: dict[str, Any] = {"memory_limit": memory_limit, "threads": threads}
    if _is_spark_source(source):
        return _apply_on_spark(fitted, source, str(output), overwrite, other_scale, how, options)
    check_outputs(source, os.fspath(output), options.get("changes"), overwrite=overwrite)
    maps = maps_for_files(fitted)
    return apply_maps(
        source,
        maps,
        output=os.fspath(output),
        overwrite=overwrite,
        inputs=[model] if _is_path(model) else [],
        judge=_ScaleJudge(fitted, other_scale),
        words=group_words(fitted),
        **how,
        **limits,
        **options,
    )


def maps_for_files(model: FairMaps) -> dict[Hashable, ScoreMap]:
    """Return the maps of scores as files hold them: reflected, where they are of scores with a minus."""
    if model.lower_is_riskier_:
        return {group: each.reflected() for group, each in model.maps_.items()}
    return dict(model.maps_)


def _apply_on_spark(
    model: FairMaps,
    source: Any,
    output: str,
    overwrite: bool,
    other_scale: str | None,
    how: Mapping[str, Any],
    options: dict[str, Any],
) -> AppliedRows:
    from fairpot.engines.spark import SparkEngine
    from fairpot.engines.spark.engine import check_folder
    from fairpot.files import AppliedRows

    ways = {name: how[name] for name in ("unknown_group", "missing_group")}
    asked = [name for name in options if name != "column"]
    asked += ["drop_missing"] if how["drop_missing"] else []
    if asked:
        raise TypeError(
            f"rows on a cluster are written with their adjusted score alone, without {argument(asked[0])}.\n"
            "Hint: leave it out, or write files and adjust those."
        )
    column = options.get("column") or f"{source.score}{ADJUSTED}"
    check_folder(output, source.frame.inputFiles(), overwrite)
    maps = maps_for_files(model)
    judge = _ScaleJudge(model, other_scale)
    written = SparkEngine().write(source, maps, output, column=column, overwrite=overwrite, judge=judge, **ways)
    return AppliedRows(written.rows, None, column, unknown=written.unknown, missing=written.missing)


class _ScaleJudge:
    """Looks at the range of scores: it warns of another scale than that of fit, or refuses it."""

    def __init__(self, model: FairMaps, other_scale: str | None) -> None:
        self.scale, self.other_scale = model.scale, other_scale
        self.turned = bool(getattr(model, "lower_is_riskier_", False))
        low, high = self.scale.far
        self.far = (-high, -low) if self.turned else (low, high)

    def __call__(self, low: float, high: float, outside: int, rows: int) -> None:
        """Judge the lowest and the highest score, and how many of all rows are far outside."""
        if self.turned:
            low, high = -high, -low
        told = self.scale.mismatch_of_range(low, high)
        if told is None:
            return
        if outside:
            told = f"{outside} of {rows} {told}"
        if self.scale.mismatch_of_range(-high, -low) is None:
            told += " With a minus they have that scale: are they reversed?"
        if self.other_scale == "error" or (self.other_scale is None and self.scale.is_left(outside, rows)):
            way = argument("other_scale", "warn")
            raise ValueError(f"{told}\nHint: bring the scores to the scale of fit, or {way} lets them through.")
        warn_user(told, ScaleWarning)


def _source_to_adjust(
    rows: Any, model: FairMaps, score: str | None, group: str | Sequence[str] | None, reading: dict[str, Any]
) -> Any:
    if _is_source(rows):
        _refuse(
            {"score": score, "group": group, **reading}, "a source, which says itself what they are", "leave it out"
        )
        return rows
    known = getattr(model, "columns_", None) or {"score": "score", "group": ["group"]}
    names = {"score": score or known["score"], "group": group or known["group"]}
    if _is_path(rows) or reading.get("sql") is not None:
        return _source_of_files(rows, names, {}, reading)
    frame = _as_frame(rows)
    if frame is not None and _is_spark(frame):
        _refuse(reading, "a frame of Spark", "leave it out")
        return _spark_rows(rows, names, {})
    called = ("scores", "...")
    if frame is not None:
        groups = names["group"][0] if len(names["group"]) == 1 else names["group"]
        called = (f"frame[{names['score']!r}]", f"frame[{groups!r}]")
    raise TypeError(
        f"apply takes files, a RowSource or a frame of Spark, got {type(rows).__name__}.\n"
        f"Hint: rows in memory go through the model itself, model.transform({called[0]}, "
        f"sensitive_features={called[1]})."
    )


def _is_path(value: Any) -> bool:
    if isinstance(value, str | os.PathLike):
        return True
    return isinstance(value, list | tuple) and bool(value) and all(isinstance(v, str | os.PathLike) for v in value)


def _is_source(rows: Any) -> bool:
    """Whether rows say themselves which columns play which part."""
    return hasattr(rows, "group_columns") and hasattr(rows, "bare")


def _is_spark_source(source: Any) -> bool:
    return hasattr(source, "frame")


def _is_spark(frame: nw.DataFrame[Any] | nw.LazyFrame[Any]) -> bool:
    return frame.implementation.is_pyspark() or frame.implementation.is_pyspark_connect()


def _as_frame(rows: Any) -> nw.DataFrame[Any] | nw.LazyFrame[Any] | None:
    """Wrap a frame, lazy or not, of any library Narwhals knows; None for anything else."""
    try:
        wrapped = nw.from_native(rows, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise ValueError("the frame has two columns of one name.\nHint: rename one.") from error
    return wrapped if isinstance(wrapped, nw.DataFrame | nw.LazyFrame) else None


def _named_columns(frame: nw.DataFrame[Any] | nw.LazyFrame[Any], names: Mapping[str, Any]) -> list[str]:
    """List the columns that are named, once each; one that is not there is an error."""
    _require_score(names)
    groups = [] if names["group"] is None else check_column_names(names["group"], "group")
    wanted = [names[part] for part in ("score", "label", "weight", "cluster") if names[part] is not None] + groups
    there = frame.collect_schema().names()
    unknown = [name for name in wanted if name not in there]
    if unknown:
        raise ValueError(f"the frame has no column {unknown[0]!r} {wording.all_columns(there)}.")
    return list(dict.fromkeys(wanted))


def _count_frame(
    frame: nw.DataFrame[Any], names: Mapping[str, Any], *, drop_missing: bool, **meaning: Any
) -> ScoreTable:
    """Count the rows of a frame in memory."""
    if drop_missing:
        frame, dropped = complete_rows(frame)
        if dropped["rows"]:
            warn_user(wording.dropped_rows(dropped, len(frame)), UserWarning)
    groups = [] if names["group"] is None else check_column_names(names["group"], "group")

    def column(part: str) -> Any:
        return None if names[part] is None else frame[names[part]].to_native()

    return as_table(
        column("label"),
        column("score"),
        sensitive_features=frame.select(*groups).to_native() if groups else None,
        sample_weight=column("weight"),
        clusters=column("cluster"),
        grouped=bool(groups),
        labelled=names["label"] is not None,
        names=tuple(_called(part, names[part]) for part in ("label", "score", "group", "weight", "cluster")),
        order=f"name the columns the other way round, score={names['label']!r} and label={names['score']!r}.",
        **meaning,
    )


def _called(part: str, name: Any) -> str:
    """Say what messages call a column: by its name, and several by the part they play."""
    return f"column {name!r}" if isinstance(name, str) else part


def _counted_elsewhere(source: Any, drop_missing: bool, options: Mapping[str, Any]) -> ScoreTable:
    """Count the rows of files or of a cluster; tell what was left out, and what was put into bins."""
    how = {name: value for name, value in options.items() if name in _COUNTING}
    if _is_spark_source(source):
        _refuse_options({name: value for name, value in options.items() if name not in _ON_A_CLUSTER}, "on a cluster")
        from fairpot.engines.spark import SparkEngine

        counted = SparkEngine().count(source, drop_missing=drop_missing, **how)
    else:
        from fairpot.files import count_rows

        counted = count_rows(source, drop_missing=drop_missing, **how)
    if counted.dropped is not None and counted.dropped["rows"]:
        warn_user(wording.dropped_rows(counted.dropped, counted.rows), UserWarning)
    _tell_bins(counted)
    return counted.table


def _tell_bins(counted: CountedRows) -> None:
    bound = counted.quantisation
    if bound is not None:
        warn_user(
            f"too many distinct scores: they were put into bins. AUC can be off by {bound.auc:.2g}, an xAUC by "
            f"{float(bound.xauc.max()):.2g}, a score by {bound.score:.2g}.",
            UserWarning,
        )


def _source_of_files(
    rows: Any, names: Mapping[str, Any], meaning: Mapping[str, Any], options: Mapping[str, Any]
) -> RowSource:
    from fairpot.files import RowSource

    _require_score(names)
    reading = {name: options[name] for name in _READING if name in options}
    return RowSource(rows, **_parts(names), **_meant(meaning), **reading)


def _spark_rows(rows: Any, names: Mapping[str, Any], meaning: Mapping[str, Any]) -> SparkRows:
    from fairpot.engines.spark import SparkRows

    return SparkRows(rows, **_parts(names), **_meant(meaning))


def _parts(names: Mapping[str, Any]) -> dict[str, Any]:
    return {"groups" if part == "group" else part: name for part, name in names.items() if name is not None}


def _meant(meaning: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in meaning.items() if value is not None}


def _require_score(names: Mapping[str, Any]) -> None:
    if names["score"] is None:
        raise TypeError(
            "score is missing: name the columns, score=..., label=..., group=... (weight=..., cluster=...)."
        )


_NAME_THEM = "name the columns, score=..., label=..., group=..., weight=..., cluster=..."


def _refuse(given: Mapping[str, Any], what: str, way_out: str) -> None:
    """Refuse what cannot be said beside rows of a kind."""
    extra = [name for name, value in given.items() if value is not None]
    if extra:
        said = (
            "is a column of its own"
            if extra[0] in ("y_score", "sensitive_features", "sample_weight", "clusters")
            else ""
        )
        raise TypeError(f"{extra[0]} {said or 'is given'}, but the rows are {what}.\nHint: {way_out}.")


def _check_options(options: Mapping[str, Any]) -> None:
    unknown = [name for name in options if name not in (*_READING, *_COUNTING)]
    if unknown:
        raise TypeError(f"score_table has no argument {unknown[0]!r}.")


def _refuse_options(options: Mapping[str, Any], where: str = "in memory") -> None:
    if options:
        raise TypeError(f"{next(iter(options))!r} is an option for files; these rows are {where}.")
