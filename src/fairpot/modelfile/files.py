"""Model files on disk: bounded reading, and writing that is complete or not there."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path

from fairpot.exceptions import ModelFileError
from fairpot.modelfile.content import ModelFile
from fairpot.modelfile.text import dumps, loads

MAX_BYTES = 2**30
# A file with this ending is the leftover of a write that was killed; it can be deleted.
TEMPORARY_SUFFIX = ".fairpot-tmp"


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
    temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(4)}{TEMPORARY_SUFFIX}")
    try:
        _write_through(temporary, data)
        if overwrite:
            os.replace(temporary, target)
        else:
            _place_new(temporary, target, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


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
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"the folder {str(target.parent)!r} does not exist.\nHint: make it first, or name a file in another one."
        )
    if target.exists() and not overwrite:
        raise _exists(path)
    return target


def _write_through(path: Path, data: bytes) -> None:
    """Write a new file and wait until it is on disk."""
    with open(path, "xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _place_new(temporary: Path, target: Path, named: str | PathLike[str]) -> None:
    """Give a complete file its name, unless another has taken it in the meantime."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise _exists(named) from None
    except OSError:  # a file system without hard links
        os.replace(temporary, target)
    else:
        temporary.unlink()


def _exists(path: str | PathLike[str]) -> FileExistsError:
    return FileExistsError(
        f"{os.fspath(path)!r} exists and is not overwritten.\nHint: another name, or overwrite=True."
    )


def _sync_folder(folder: Path) -> None:
    """Make the new name last, where folders can be synced."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
