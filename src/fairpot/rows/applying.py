"""A fitted repair on rows of any kind: files to files, frames to frames."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace as replace_fields
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from fairpot._arguments import argument, by_name
from fairpot._defaults import UNMAPPED, Unmapped
from fairpot._lineage import lineage_line
from fairpot._log import telling
from fairpot._validation import check_choice
from fairpot._warn import warn_user
from fairpot.exceptions import InputFileError, ScaleWarning
from fairpot.rows.door import opened
from fairpot.rows.readers import AppliedRows, Applying, reader
from fairpot.rows.roles import Roles
from fairpot.rows.source import READING
from fairpot.rows.streams import hashing
from fairpot.transport import ScoreMap


@by_name
def apply(
    model: Any,
    rows: Any,
    output: str | os.PathLike[str] | None = None,
    *,
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
    memory_limit: str = "2GB",
    threads: int | None = None,
    progress: Callable[[int, int], object] | None = None,
    **options: Any,
) -> Any:
    """Write rows with their adjusted score as one column more, or give a frame back so; files may exceed memory.

    Every other column, the order of the rows and their types do not change.

    Parameters
    ----------
    model : fitted repair method, loaded model, path of a map file, or dict of group to ScoreMap
        If it was fitted on scores of which a low one means high risk, so are these.
    rows : path, list of paths, RowSource, or frame
        Parquet, CSV, Arrow or JSON lines; folders and patterns. A frame of pandas, Polars or PyArrow comes back as one
        of the same kind; one of Spark (also as SparkRows) too, or is written by its cluster if ``output`` is named.
    output : path or None, default None
        Written whole or not at all; an existing file is not replaced without ``overwrite=True``. ``"-"`` is standard
        output, to which the rows go when they are complete. Of rows on a cluster, a folder that all workers can write
        to.
    score, group : str
        Names of the columns; None takes those the map file knows, else "score" and "group".
    column : str or None, default None
        Name of the new column; None adds "_adjusted" to that of the score.
    replace : bool, default False
        Whether a column of that name is replaced.
    {unknown_group, missing_group}
    drop_missing : bool, default False
        Whether rows with a missing score or group are left out; ``dropped`` of the result counts them.
    other_scale : {"warn", "error"} or None, default None
        What to do if scores seem to be on another scale than in ``fit``. None is an error if more than 1% of them lie
        far outside the fitted range, and a warning if fewer do or all fill a small part of it.
    changes : path or None, default None
        A second file with the record of each row: original and adjusted score, old and new rank, why, and the threshold
        crossed.
    threshold : float or None, default None
        The decision threshold for that record.
    keep : sequence of str, default ()
        Columns that are copied to that record, such as an identifier.
    output_format : str or None, default None
        One of "parquet", "csv", "tsv", "arrow", "jsonl", "xlsx"; None takes the name of the output, and for standard
        output the format of the input.
    neutralise_formulas : bool, default False
        Whether text that a spreadsheet would run as a formula (``=1+1``) is written to CSV and Excel with an
        apostrophe before it. In Excel it is text, and does not run, in any case.
    expect_sha256 : str or None, default None
        Refuse any map file but the one with this SHA-256.
    overwrite : bool, default False
        Whether existing outputs are replaced.
    memory_limit : str, default "2GB"
        What the process may use.
    threads : int or None, default None
        For DuckDB, where it is needed: ranks and queries. None takes all cores.
    progress : callable or None, default None
        Called with the rows done and the rows in all.
    **options
        How files are read, see :func:`fairpot.score_table` (``format``, ``sql``, ``decimal``, ...).

    Returns
    -------
    AppliedRows or frame
        How many rows were written and how many changed; of a frame without ``output``, the new frame.

    Raises
    ------
    InputFileError, OutputFileError, UnseenGroupError, ValueError, TypeError
        In all cases no output is left, and an existing one is not changed.

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
    >>> _ = (folder / "new.csv").write_text("id,score,group\\n007,0.2,F\\n008,0.30,F\\n009,0.8,M\\n")
    >>> score, sex = [0.2, 0.4, 0.6, 0.8], ["F", "F", "M", "M"]
    >>> repair = fairpot.FairPOT(lam=1.0, reference="M").fit(score, sensitive_features=sex)
    >>> fairpot.apply(repair, folder / "new.csv", folder / "adjusted.csv").moved
    2
    >>> print((folder / "adjusted.csv").read_text())
    id,score,group,score_adjusted
    007,0.2,F,0.6
    008,0.30,F,0.7
    009,0.8,M,0.8
    """
    _check_ways(unknown_group, missing_group, drop_missing, other_scale)
    if changes is None and (threshold is not None or keep):
        raise ValueError(
            "threshold and keep say what goes into changes, which is not given.\nHint: changes=... names a file."
        )
    unknown = [name for name in options if name not in READING]
    if unknown:
        raise TypeError(f"apply has no argument {unknown[0]!r}.")
    fitted = _fitted(model, expect_sha256)
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
        words=None if fitted is None else lambda: _stored().group_words(fitted),
        judge=None if fitted is None else _ScaleJudge(fitted, other_scale),
        inputs=(Path(model),) if isinstance(model, str | os.PathLike) else (),
    )
    source = _source(rows, {"score": score, "group": group}, fitted, options)
    with hashing() as read, telling("adjusted", output=how.output) as told:
        made_by = _line(fitted, source, read, None if changes is None else secrets.token_hex(8))
        how = how if output is None or fitted is None else replace_fields(how, made_by=made_by)
        done = reader(source.reader).apply(source, model if fitted is None else maps_of_rows(fitted), how)
        told |= {name: getattr(done, name, None) for name in ("rows", "moved", "unknown", "missing", "dropped")}
        return replace_fields(done, made_by=made_by()) if isinstance(done, AppliedRows) else done


def _line(fitted: Any, source: Roles, read: Mapping[Path, str], run: str | None) -> Callable[[], str]:
    """Say what outputs are made by: with the input's hash, once all of it has been read."""
    map_sha256 = None if fitted is None else fitted.sha256_

    def line() -> str:
        return lineage_line(map_sha256, run, read_whole(source, read))

    return line


def read_whole(source: Any, read: Mapping[Path, str]) -> list[str]:
    """Return the SHA-256 of each file of a source; nothing if any was not read whole, as it was."""
    files = list(getattr(source, "files", None) or ())
    return [read[file] for file in files] if all(file in read for file in files) else []


def _check_ways(unknown_group: str, missing_group: str, drop_missing: bool, other_scale: str | None) -> None:
    """Check what is to become of rows that no map belongs to, and of another scale."""
    check_choice(unknown_group, "unknown_group", UNMAPPED)
    check_choice(missing_group, "missing_group", UNMAPPED)
    if drop_missing and missing_group != "error":
        raise ValueError(
            f"{argument('drop_missing')} leaves rows without a group out, and "
            f"{argument('missing_group', missing_group)} lets them through.\nHint: give one of the two."
        )
    if other_scale is not None:
        check_choice(other_scale, "other_scale", ("warn", "error"))


def _stored() -> ModuleType:
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


def maps_of_rows(fitted: Any) -> dict[Hashable, ScoreMap]:
    """Return the maps of scores as rows hold them: reflected, where they are of scores with a minus."""
    if fitted.lower_is_riskier_:
        return {group: each.reflected() for group, each in fitted.maps_.items()}
    return dict(fitted.maps_)


def _source(rows: Any, names: dict[str, Any], fitted: Any, options: Mapping[str, Any]) -> Roles:
    """Say what rows are; columns that are not named are called as in fit."""
    known = getattr(fitted, "columns_", None) or {"score": "score", "group": ["group"]}
    filled = names if isinstance(rows, Roles) else {part: name or known[part] for part, name in names.items()}
    source = opened(rows, filled, {}, options)
    if source is None:
        raise TypeError(
            f"apply takes files, a RowSource or a frame, got {type(rows).__name__}.\n"
            "Hint: columns go through the model itself, model.transform(scores, sensitive_features=...)."
        )
    if not source.group_columns:
        raise InputFileError("no group column is named.\nHint: maps belong to groups; name the columns with groups=...")
    return source


class _ScaleJudge:
    """Looks at the range of scores: it warns of another scale than that of fit, or refuses it."""

    def __init__(self, fitted: Any, other_scale: str | None) -> None:
        self.scale, self.other_scale, self.turned = fitted.scale, other_scale, fitted.lower_is_riskier_
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
