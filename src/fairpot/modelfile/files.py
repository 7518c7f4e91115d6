"""Model files on disk: bounded reading, and writing that is complete or not there."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

from fairpot._arguments import argument
from fairpot.exceptions import ModelFileError
from fairpot.files.output import atomic_file
from fairpot.modelfile.content import ModelFile
from fairpot.modelfile.text import dumps, loads

MAX_BYTES = 100 * 2**20


def read(path: str | PathLike[str]) -> ModelFile:
    """Read a model file.

    Raises
    ------
    ModelFileError
        Whatever is wrong with the file; the message names it and the reason.
    """
    with naming(path):
        return loads(_bytes_of(os.fspath(path)))


def write(model: ModelFile, path: str | PathLike[str], *, overwrite: bool = False) -> None:
    """Write a model file: at any moment ``path`` is what it was before, or complete.

    Raises
    ------
    FileExistsError
        If there is something at ``path`` and ``overwrite`` is False.
    FileNotFoundError
        If the folder of ``path`` is not there.
    ModelFileError
        If the model cannot be put into a file.
    """
    data = dumps(model)
    if len(data) > MAX_BYTES:
        raise ModelFileError(
            f"the model would take {len(data)} bytes, more than the {MAX_BYTES} that are loaded again.\n"
            "Hint: fit on a quantised score table."
        )
    target = _target(path, overwrite)
    try:
        with atomic_file(target, force=overwrite) as temporary:
            temporary.write_bytes(data)
    except FileExistsError:
        raise _exists(path) from None


@contextmanager
def naming(path: str | PathLike[str]) -> Iterator[None]:
    """Put the file's name before the reason it is refused for."""
    try:
        yield
    except ModelFileError as error:
        raise ModelFileError(f"the model file {os.fspath(path)!r} cannot be used: {error}") from error


def _bytes_of(path: str) -> bytes:
    """Read a regular file of bearable size."""
    try:
        kind = os.stat(path)
        if not stat.S_ISREG(kind.st_mode):
            what = "a directory" if stat.S_ISDIR(kind.st_mode) else "not a regular file"
            raise ModelFileError(f"it is {what}.\nHint: name the file that save() wrote.")
        if kind.st_size > MAX_BYTES:
            raise ModelFileError(
                f"it has {kind.st_size} bytes, more than any model ({MAX_BYTES}).\n"
                "Hint: name the file that save() wrote."
            )
        with open(path, "rb") as file:
            return file.read(MAX_BYTES)
    except FileNotFoundError:
        raise ModelFileError("there is no such file.\nHint: look at the name and the folder.") from None
    except OSError as error:
        raise ModelFileError(
            f"it cannot be read: {error.strerror or error}.\nHint: look at the name and the rights."
        ) from error
    except ValueError as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(f"that is no name of a file: {error}.\nHint: look at the name.") from error


def _target(path: str | PathLike[str], overwrite: bool) -> Path:
    """Return where the file goes, links followed; refuse a place where it cannot or must not go."""
    if not os.fspath(path):
        raise ValueError("the path is empty.\nHint: name the file to write, such as 'model.json'.")
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(f"{os.fspath(path)!r} is a directory.\nHint: name a file in it.")
    if target.exists() and not target.is_file():
        raise ValueError(f"{os.fspath(path)!r} is a device, a pipe or the like.\nHint: name a file.")
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"the folder {str(target.parent)!r} does not exist.\nHint: make it first, or name a file in another one."
        )
    if target.exists() and not overwrite:
        raise _exists(path)
    return target


def _exists(path: str | PathLike[str]) -> FileExistsError:
    return FileExistsError(
        f"{os.fspath(path)!r} exists and is not overwritten.\nHint: another name, or {argument('overwrite', True)}."
    )
