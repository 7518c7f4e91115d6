"""Results as JSON lines, one record a line, appended; and what a folder of them was made with, never mixed.

A run that was killed is gone on with where it stopped.
"""

from __future__ import annotations

import importlib.metadata
import json
import math
import os
import platform
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from fairpot._version import __version__
from fairpot.exceptions import InputFileError, OutputFileError
from fairpot.rows.output import atomic_file

# The name in a record, and the distributions that bring the package.
_PACKAGES = {
    "numpy": ("numpy",),
    "scipy": ("scipy",),
    "scikit-learn": ("scikit-learn",),
    "xgboost": ("xgboost", "xgboost-cpu"),
    "torch": ("torch",),
    "POT": ("POT",),
}


class RecordFile:
    """A file of records that survives being killed at any moment.

    Parameters
    ----------
    path : path
        The file; it and its folder are made by the first :meth:`append`.

    Notes
    -----
    A record is complete once its line ends. What a killed run left of its last line is passed over by :meth:`read` and
    cut off before the next record is appended. A file that another process changed since it was read is not written
    to: two runs into one file would repeat each other's records.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = RecordFile(Path(folder) / "runs.jsonl")
    ...     file.append({"seed": 0, "gap": np.float64(0.25), "auc": np.nan})
    ...     file.read()
    [{'seed': 0, 'gap': 0.25, 'auc': None}]
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._size: int | None = None  # of the file when it was last read or written; None: not looked at yet
        self._complete = 0  # bytes of it that are complete lines

    def read(self) -> list[dict[str, Any]]:
        """Return the complete records in the order they were appended; none if there is no file.

        Raises
        ------
        InputFileError
            If a line other than the last is no record; what follows it cannot be trusted either.
        """
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            content = b""
        lines = content.split(b"\n")
        torn = lines.pop()  # empty after a complete line
        records = [_parsed(line) for line in lines]
        if records and records[-1] is None and not torn:
            torn = lines.pop() + b"\n"
            records.pop()
        for number, record in enumerate(records, start=1):
            if record is None:
                raise InputFileError(
                    f"{self.path} is damaged: line {number} of {len(records)} is no record.\n"
                    "Hint: put back a copy of the file, or cut it off before that line: the rest is run again."
                )
        self._size, self._complete = len(content), len(content) - len(torn)
        return [record for record in records if record is not None]

    def repair(self) -> int:
        """Cut off the torn end that a killed run left, if there is one; return how many bytes that were."""
        self.read()
        torn = (self._size or 0) - self._complete
        if torn:
            os.truncate(self.path, self._complete)
            self._size = self._complete
        return torn

    def append(self, record: Mapping[str, Any]) -> None:
        """Append a record and have it put on disk.

        Parameters
        ----------
        record : mapping
            What JSON can hold, and NumPy scalars and arrays; keys are strings and keep their order. NaN and infinities
            become null. Equal records give equal bytes.

        Raises
        ------
        OutputFileError
            If the line could not be written (nothing of it is left), or the file changed since it was read.
        """
        line = json.dumps(_plain(record), allow_nan=False, separators=(",", ":")).encode() + b"\n"
        if self._size is None:
            self.read()
        before, self._size = self._size, None  # should anything interrupt this, look again
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.path, "ab", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            if size != before:
                raise OutputFileError(
                    f"{self.path} was changed by another process: {before} bytes when read, {size} now.\n"
                    "Hint: let one run at a time write into a folder, then start again."
                )
            if size > self._complete:
                file.truncate(self._complete)
            self._write(file, line)
        self._complete += len(line)
        self._size = self._complete

    def _write(self, file: Any, line: bytes) -> None:
        """Write a line in one call, or nothing of it."""
        try:
            written = file.write(line)
            if written != len(line):
                raise OSError(f"{written} of {len(line)} bytes were written")
            os.fsync(file.fileno())
        except OSError as error:
            with suppress(OSError):
                file.truncate(self._complete)
            raise OutputFileError(
                f"{self.path} could not be written: {error.strerror or error}.\n"
                "Hint: make room or name another folder, then start again; what was recorded is kept."
            ) from error


def provenance() -> dict[str, str]:
    """Return the versions that results depend on: of fairpot, Python, and the packages that are installed.

    Nothing about the machine, the user, folders or the time: the same environment gives the same records.

    Examples
    --------
    >>> list(provenance())[:5]
    ['fairpot', 'python', 'numpy', 'scipy', 'scikit-learn']
    """
    versions = {"fairpot": __version__, "python": platform.python_version()}
    for name, distributions in _PACKAGES.items():
        for distribution in distributions:
            with suppress(importlib.metadata.PackageNotFoundError):
                versions[name] = importlib.metadata.version(distribution)
                break
    return versions


def check_same_origin(records: Iterable[Mapping[str, Any]], now: Mapping[str, str], *, key: str = "versions") -> None:
    """Refuse to go on with records that other versions made: the whole could never be made again.

    Parameters
    ----------
    records : iterable of mappings
        Records of earlier runs; each holds what :func:`provenance` said then under ``key``.
    now : mapping
        What :func:`provenance` says now.
    key : str, default="versions"
        Where a record holds its versions.

    Raises
    ------
    ValueError
        If a package has another version now, came or went; the message names each with both versions.

    Examples
    --------
    >>> check_same_origin([{"seed": 0, "versions": {"numpy": "2.0.0"}}], {"numpy": "2.0.0"})
    """
    then: dict[str, set[str]] = {}
    others = 0
    for record in records:
        made = record.get(key) or {}
        differing = [name for name in {**made, **now} if made.get(name) != now.get(name)]
        others += bool(differing)
        for name in differing:
            then.setdefault(name, set()).add(str(made.get(name, "none")))
    if others:
        said = "; ".join(f"{name} {', '.join(sorted(was))} (now {now.get(name, 'none')})" for name, was in then.items())
        raise ValueError(
            f"{others} {'record was' if others == 1 else 'records were'} made with other versions: {said}.\n"
            "Hint: start in another folder, or install the same versions again; mixed results cannot be reproduced."
        )


def _parsed(line: bytes) -> dict[str, Any] | None:
    """Return the record on a line, None if it is none."""
    try:
        record = json.loads(line, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _plain(value: Any) -> Any:
    """Return a value as JSON knows it: NumPy's types to Python's, numbers that are not finite to None."""
    if isinstance(value, Mapping):
        return {_checked_key(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, np.floating):
        value = float(value)  # also a long double, which item() would keep
    elif isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return value


def _checked_key(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError(
            f"a record has a key of type {type(key).__name__}.\nHint: keys of JSON are strings; use str(key)."
        )
    return str(key)


_NAME = "origin.json"


def is_quick(folder: Path) -> bool:
    """Tell whether a folder holds the quick version; a folder without a note does not."""
    return bool(_read(folder).get("quick", False))


def claim_folder(folder: Path, versions: dict[str, str], quick: bool) -> None:
    """Note down what a folder's results are made with, and refuse to add others to them."""
    then = _read(folder)
    if not then:
        folder.mkdir(parents=True, exist_ok=True)
        with atomic_file(folder / _NAME) as temporary:
            note = {"versions": versions, "quick": quick}
            temporary.write_text(json.dumps(note, indent=1) + "\n", encoding="utf-8")
        return
    check_same_origin([then], versions)
    if then["quick"] != quick:
        kinds = ("a quick run", "a full run") if then["quick"] else ("a full run", "a quick run")
        raise ValueError(f"the folder {folder} holds {kinds[0]}, and this is {kinds[1]}.\nHint: name another folder.")


def _read(folder: Path) -> dict[str, Any]:
    """Read the note; empty if there is none."""
    place = folder / _NAME
    if not place.exists():
        return {}
    try:
        found = json.loads(place.read_text(encoding="utf-8"))
        return {"versions": dict(found["versions"]), "quick": bool(found["quick"])}
    except (ValueError, KeyError, TypeError) as error:
        raise InputFileError(
            f"{place} is damaged: it does not say what made the results beside it.\nHint: start in another folder."
        ) from error
