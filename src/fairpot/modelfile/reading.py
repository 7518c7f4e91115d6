"""Reading small files that anyone may have made: regular ones of bearable size, each in one go."""

from __future__ import annotations

import os
import stat

from fairpot.exceptions import ModelFileError

_NAME_IT = "Hint: name the file that save() wrote."


def bytes_of(path: str, most: int, hint: str = _NAME_IT) -> bytes:
    """Read a regular file of at most so many bytes."""
    try:
        return _read(path, most, hint)
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


def _read(path: str, most: int, hint: str) -> bytes:
    kind = os.stat(path)
    if not stat.S_ISREG(kind.st_mode):
        what = "a directory" if stat.S_ISDIR(kind.st_mode) else "not a regular file"
        raise ModelFileError(f"it is {what}.\n{hint}")
    with open(path, "rb") as file:
        data = b"" if kind.st_size > most else file.read(most + 1)
    if max(kind.st_size, len(data)) > most:
        raise ModelFileError(
            f"it has {max(kind.st_size, len(data))} bytes, more than {most}.\n"
            f"{hint} If it is that large, and you know where it comes from, raise max_bytes."
        )
    return data
