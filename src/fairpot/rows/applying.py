"""A fitted repair on rows of any kind: files to files, frames to frames."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace as replace_fields
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from fairpot._arguments import argument, by_name
from fairpot._defaults import Unmapped
from fairpot._lineage import lineage_line
from fairpot._log import telling
from fairpot._validation import check_choice
from fairpot._validation.columns import check_names
from fairpot._validation.followed import AfterTime
from fairpot._validation.grouping import check_unmapped
from fairpot._warn import warn_user
from fairpot.exceptions import InputFileError, ScaleWarning
from fairpot.rows.door import opened
from fairpot.rows.readers import AppliedRows, Applying, RowsDone, reader
from fairpot.rows.roles import Roles
from fairpot.rows.streams import hashing
from fairpot.transport import ScoreMap

_OF_COUNTS = "an adjusted score does not depend on it.\nHint: leave it out; fit and fairpot.effect take it."
_OF_THE_MAP = "the map knows it from its fit.\nHint: leave it out, or fit again with it."
_NOT_OF_SCORES = {
    **dict.fromkeys(("sample_weight", "weights", "clusters", "pos_label", "label", "weight", "cluster"), _OF_COUNTS),
    **dict.fromkeys(AfterTime._fields, _OF_COUNTS),
    **dict.fromkeys(("lower_is_riskier", "high_score_means", "bands", "unknown", "groups", "min_group"), _OF_THE_MAP),
}


@by_name(but=_NOT_OF_SCORES)
def apply(
    model: Any,
    rows: Any,
    output: str | os.PathLike[str] | None = None,
    *,
    sensitive_features: Any = None,
    score: str | None = None,
    group: str | Sequence[str] | None = None,
    column: str | None = None,
    replace: bool = False,
    unknown_group: Unmapped = "error",
    missing_group: Unmapped = "error",
    drop_missing: bool = False,
    other_scale: Literal["warn", "error"] | None = None,
    changes: str | os.PathLike[str] | None = None,
    threshold: float | None = None,
    keep: Sequence[str] = (),
    output_format: str | None = None,
    neutralise_formulas: bool = False,
    expect_sha256: str | None = None,
    overwrite: bool = False,
    memory_limit: str | None = None,
    threads: int | None = None,
    progress: RowsDone | None = None,
    format: str | None = None,  # noqa: A002 -- as the option of files is called
    sql: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
) -> Any:
    """Write rows with their adjusted score as one column more, or give a frame back so; files may exceed memory.

    Every other column, the order of the rows and their types do not change. Whatever goes wrong, no output is left, and
    an existing one is not changed.

    Parameters
    ----------
    model : fitted repair method, loaded model, path of a map file, or dict of group to ScoreMap
        If it was fitted on scores of which a low one means high risk, so are these.
    rows : path, list of paths, RowSource, frame, or column of scores
        Files (Parquet, CSV, Arrow, JSON lines; folders and patterns), or a frame, which comes back as one of its kind.
        One of Spark (also as SparkRows) is written by its cluster if ``output`` is named. Of a column of scores, with
        ``sensitive_features``, the adjusted ones come back.
    output : path or None, default None
        Written whole or not at all; ``"-"`` is standard output. Of rows on a cluster, a folder that all workers see.
    sensitive_features : column of shape (n,), or frame with several columns, default None
        The group of each row, where ``rows`` are a column of scores.
    score, group : str
        Names of the columns; None takes those the map knows, else "score" and "group".
    column, replace : str or None, default None; and bool, default False
        Name of the new column, None adds "_adjusted" to that of the score; whether one of that name is replaced.
    {unknown_group, missing_group}
    drop_missing : bool, default False
        Whether rows with a missing score or group are left out; ``dropped`` of the result counts them.
    other_scale : {"warn", "error"} or None, default None
        What to do if scores seem to be on another scale than in ``fit``. None is an error if more than 1% of them lie
        far outside the fitted range, and a warning if fewer do or all fill a small part of it.
    changes : path or None, default None
        A second file with the record of each row: both scores, both ranks, why, and the threshold crossed.
    threshold, keep : float or None, default None; and sequence of str, default ()
        For that record: the decision threshold, and columns that are copied to it, such as an identifier.
    output_format : str or None, default None
        One of "parquet", "csv", "tsv", "arrow", "jsonl", "xlsx"; None takes the name of the output, and for standard
        output the format of the input.
    neutralise_formulas : bool, default False
        Whether text that a spreadsheet would run as a formula (``=1+1``) is written with an apostrophe before it.
    expect_sha256 : str or None, default None
        Refuse any map file but the one with this SHA-256.
    {overwrite}
    memory_limit, threads : str or None, default None; and int or None, default None
        What the process may use, None is "2GB"; where it is named, a file that needs much more is an error (on Linux,
        for all threads of the process meanwhile). And the threads of DuckDB, None for all cores.
    progress : callable or None, default None
        Called with the rows done and the rows in all, None unless the input is Parquet.
    format, sql, delimiter, decimal, encoding, sheet : str or None
        How files are read, as :class:`fairpot.rows.RowSource` takes it; ``sql`` is a DuckDB query in place of ``rows``.

    Returns
    -------
    AppliedRows or frame
        How many rows were written and how many changed; of a frame without ``output``, the new frame.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> import fairpot
    >>> new = Path(mkdtemp()) / "new.csv"
    >>> _ = new.write_text("id,score,group\\n007,0.2,F\\n008,0.30,F\\n009,0.8,M\\n")
    >>> repair = fairpot.FairPOT(lam=1.0, reference="M")
    >>> repair = repair.fit([0.2, 0.4, 0.6, 0.8], sensitive_features=["F", "F", "M", "M"])
    >>> fairpot.apply(repair, new, new.with_name("adjusted.csv")).moved
    2
    >>> print(new.with_name("adjusted.csv").read_text())
    id,score,group,score_adjusted
    007,0.2,F,0.6
    008,0.30,F,0.7
    009,0.8,M,0.8
    """
    if drop_missing and missing_group != "error":
        raise ValueError(
            f"{argument('drop_missing')} leaves rows without a group out, and "
            f"{argument('missing_group', missing_group)} lets them through.\nHint: give one of the two."
        )
    if other_scale is not None:
        check_choice(other_scale, "other_scale", ("warn", "error"))
    if changes is None and (threshold is not None or keep):
        said = f"{argument('threshold')} and {argument('keep')} say what goes into {argument('changes')}"
        raise ValueError(f"{said}, which is not given.\nHint: {argument('changes', ...)} names a file.")
    told = {"format": format, "sql": sql, "delimiter": delimiter, "decimal": decimal, "encoding": encoding}
    options = {name: value for name, value in {**told, "sheet": sheet}.items() if value is not None}
    fitted = _fitted(model, expect_sha256)
    if sensitive_features is not None:
        ways = {"unknown_group": unknown_group, "missing_group": missing_group, "other_scale": other_scale}
        return _adjusted(model, rows, sensitive_features, output, ways)
    maps = model if fitted is None else fitted.maps_
    check_unmapped(unknown_group, missing_group, maps)
    if fitted is not None and fitted.lower_is_riskier_:  # they are of scores with a minus
        maps = {group: each.reflected() for group, each in maps.items()}
    judged: dict[str, Any] = {} if fitted is None else _judged(fitted, other_scale)
    how = Applying(
        None if output is None else os.fspath(output),
        column,
        replace,
        unknown_group,
        missing_group,
        drop_missing,
        overwrite,
        output_format,
        neutralise_formulas,
        None if changes is None else os.fspath(changes),
        threshold,
        tuple(keep),
        memory_limit,
        threads,
        progress,
        **judged,
        inputs=(Path(model),) if isinstance(model, str | os.PathLike) else (),
    )
    check_names({"score": score, "group": group})
    source = _source(rows, {"score": score, "group": group}, fitted, options)
    with hashing() as read, telling("adjusted", output=how.output) as told:
        run = None if changes is None else secrets.token_hex(8)

        def made_by() -> str:
            """Say what outputs are made by: with the input's hash, once all of it has been read."""
            return lineage_line(None if fitted is None else fitted.sha256_, run, read_whole(source, read))

        how = how if output is None or fitted is None else replace_fields(how, made_by=made_by)
        done = reader(source.reader).apply(source, maps, how)
        told |= {name: getattr(done, name, None) for name in ("rows", "moved", "unknown", "missing", "dropped")}
        return replace_fields(done, made_by=made_by()) if isinstance(done, AppliedRows) else done


def _adjusted(model: Any, scores: Any, groups: Any, output: Any, ways: dict[str, Any]) -> Any:
    """Adjust a column of scores, beside which are the groups."""
    if isinstance(model, Mapping) or output is not None:
        told = f"are not written to {output}" if output is not None else "go through a fitted model, not bare maps"
        raise TypeError(f"columns {told}.\nHint: pass a frame, or files, and name the columns, score=..., group=...")
    repair = import_module("fairpot.repair")
    fitted = repair.load(model) if isinstance(model, str | os.PathLike) else model
    return fitted.transform(scores, sensitive_features=groups, **ways)


def read_whole(source: Any, read: Mapping[Path, str]) -> list[str]:
    """Return the SHA-256 of each file of a source; nothing if any was not read whole, as it was."""
    files = list(getattr(source, "files", None) or ())
    return [read[file] for file in files] if all(file in read for file in files) else []


def _stored() -> Any:
    """Lead from a path, or a fitted method, to its maps; what is stored in a file needs no estimator."""
    return import_module("fairpot.repair.stored")


def _fitted(model: Any, expect_sha256: str | None) -> Any:
    """Return the fitted maps of a model, with what they know of their rows; None of bare maps."""
    if isinstance(model, str | os.PathLike):
        return _stored().stored_maps(model, expect_sha256=expect_sha256)
    if expect_sha256 is not None:
        kind = type(model).__name__
        raise TypeError(f"expect_sha256 says which map file alone will do, and model is {kind}, not a path.")
    if isinstance(model, Mapping) and all(isinstance(each, ScoreMap) for each in model.values()):
        return None
    fitted = _stored().maps_of(model)
    if fitted is None:
        raise TypeError(
            f"apply takes a fitted repair method, a loaded model or a map file, got {type(model).__name__}."
        )
    return fitted


def _source(rows: Any, names: dict[str, Any], fitted: Any, options: Mapping[str, Any]) -> Roles:
    """Say what rows are; columns that are not named are called as in fit."""
    known = getattr(fitted, "columns_", None) or {"score": "score", "group": ["group"]}
    filled = (
        names
        if isinstance(rows, Roles)
        else {part: known[part] if name is None else name for part, name in names.items()}
    )
    grouping = getattr(fitted, "grouping_", None)
    source = opened(rows, filled, {} if isinstance(rows, Roles) else {"grouping": grouping}, options)
    if source is None:
        raise TypeError(
            f"apply takes files, a RowSource or a frame, got {type(rows).__name__}.\n"
            "Hint: beside a column of scores goes that of the groups, apply(model, scores, sensitive_features=...)."
        )
    if not source.group_columns:
        raise InputFileError("no group column is named.\nHint: maps belong to groups; name the columns with groups=...")
    return source if source.grouping == grouping else source.but(grouping=grouping)


def _judged(fitted: Any, other_scale: str | None) -> dict[str, Any]:
    """Say what those who are moved are told, and what warns of another scale than that of fit, or refuses it."""
    scale, turned = fitted.scale, fitted.lower_is_riskier_
    low, high = scale.far

    def judge(low: float, high: float, outside: int, rows: int) -> None:
        if turned:
            low, high = -high, -low
        told = scale.mismatch_of_range(low, high)
        if told is None:
            return
        if outside:
            told = f"{outside} of {rows} {told}"
        if scale.mismatch_of_range(-high, -low) is None:
            told += " With a minus they have that scale: are they reversed?"
        if other_scale == "error" or (other_scale is None and scale.is_left(outside, rows)):
            way = argument("other_scale", "warn")
            raise ValueError(f"{told}\nHint: bring the scores to the scale of fit, or {way} lets them through.")
        warn_user(told, ScaleWarning)

    far = (-high, -low) if turned else (low, high)
    return {"words": lambda: _stored().group_words(fitted), "judge": judge, "far": far}
