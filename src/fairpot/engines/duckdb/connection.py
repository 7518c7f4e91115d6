"""A DuckDB connection that reads what it is told to and nothing else."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from fairpot._optional import import_optional
from fairpot.exceptions import InputFileError

# Texts in a query: 'one' or "two", a quote inside doubled.
_QUOTED = re.compile(r"""'((?:[^']|'')*)'|"((?:[^"]|"")*)\"""")


_SETTINGS = ("enable_progress_bar = true", "enable_progress_bar_print = false", "allow_persistent_secrets = false")


def connect(
    database: str | os.PathLike[str] | None, config: dict[str, Any], reads: Iterable[Path], sql: str | None
) -> Any:
    """Open a database for reading, or an empty one in memory, and close everything else.

    A database of somebody else's may hold views that read and write other files. So files other than the database,
    those in ``reads`` and those that the caller's own query names are out of reach, extensions are neither installed
    nor loaded, and no setting can be changed any more.
    """
    duckdb = import_optional("duckdb", "cli")
    closed = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
    if database is None:
        connection = duckdb.connect(":memory:", config=config | closed)
    else:
        path = Path(database)
        if not path.is_file():
            raise InputFileError(f"{path} is not there.\nHint: the database must be a DuckDB file.")
        connection = duckdb.connect(str(path.absolute()), read_only=True, config=config | closed)
    try:
        _close(connection, [*reads], [] if sql is None else _named_in(sql))
    except BaseException:
        connection.close()
        raise
    return connection


def _close(connection: Any, reads: list[Path], named: list[str]) -> None:
    duckdb = import_optional("duckdb", "cli")
    for setting in (
        "enable_progress_bar = true",
        "enable_progress_bar_print = false",
        "allow_persistent_secrets = false",
    ):
        with suppress(duckdb.Error):
            connection.execute(f"SET {setting}")
    paths = [str(path) for path in reads]
    folders = [_folder(name) for name in named if glob.has_magic(name)]
    paths += [
        way for name in named if not glob.has_magic(name) for way in {name, os.path.abspath(os.path.expanduser(name))}
    ]
    open_to_files = bool(paths or folders)
    if open_to_files:
        try:
            connection.execute(f"SET allowed_paths = {_listed(paths)}")
            connection.execute(f"SET allowed_directories = {_listed(folders)}")
        except duckdb.Error:  # before DuckDB 1.2 there is only all or nothing
            connection.execute("SET lock_configuration = true")
            return
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def _named_in(sql: str) -> list[str]:
    """List the files that a query names: texts in it that are paths or patterns of some."""
    texts = [(one or two).replace("''", "'").replace('""', '"') for one, two in _QUOTED.findall(sql)]
    return [text for text in dict.fromkeys(texts) if text and _is_path(text)]


def _is_path(text: str) -> bool:
    try:
        return os.path.exists(os.path.expanduser(text)) or (
            glob.has_magic(text) and next(glob.iglob(os.path.expanduser(text), recursive=True), None) is not None
        )
    except (OSError, ValueError):
        return False


def _folder(pattern: str) -> str:
    """Return the folder that a pattern begins in."""
    fixed = re.split(r"[*?\[]", os.path.abspath(os.path.expanduser(pattern)))[0]
    return os.path.dirname(fixed) + os.sep


def _listed(texts: Iterable[str]) -> str:
    quoted = ", ".join("'" + text.replace("'", "''") + "'" for text in texts)
    return f"[{quoted}]"
