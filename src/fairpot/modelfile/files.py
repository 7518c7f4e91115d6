"""Model files on disk: bounded reading, and writing that is complete or not there."""

from __future__ import annotations

import hashlib
import os
from os import PathLike
from pathlib import Path

from fairpot._arguments import argument
from fairpot._log import tell
from fairpot._warn import warn_user
from fairpot.exceptions import FairpotWarning, ModelFileError
from fairpot.modelfile.content import ModelFile
from fairpot.modelfile.text import MAX_BYTES, bytes_of, check_digest, dumps, loads, naming
from fairpot.rows.output import atomic_file

# What a signature of an earlier version has at most.
_MAX_SIGNATURE = 10_000


def read(path: str | PathLike[str], *, expect_sha256: str | None = None, max_bytes: int = MAX_BYTES) -> ModelFile:
    """Read a map file; it is read once, and what is checked is what is used.

    Parameters
    ----------
    path : str or path
        The map file.
    expect_sha256 : str or None, default None
        The SHA-256 of the file, as ``sha256sum`` prints it; another file is refused.
    max_bytes : int, default 100,000,000
        A larger file is refused unread.

    Raises
    ------
    ModelFileError
        Whatever is wrong with the file; the message names it and the reason.

    Warns
    -----
    FairpotWarning
        If a signature of an earlier version stands beside the file: it was not checked.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> from fairpot import FairPOT, modelfile
    >>> repair = FairPOT(lam=0.5, reference="M").fit(range(40), sensitive_features=["F", "M"] * 20)
    >>> path = f"{mkdtemp()}/map.json"
    >>> repair.save(path)
    >>> modelfile.read(path).groups
    ('F', 'M')
    """
    return read_known(path, expect_sha256=expect_sha256, max_bytes=max_bytes)[0]


def read_known(
    path: str | PathLike[str], *, expect_sha256: str | None = None, max_bytes: int = MAX_BYTES
) -> tuple[ModelFile, str]:
    """Read a map file and its SHA-256."""
    with naming(path):
        data = bytes_of(os.fspath(path), max_bytes)
        digest = hashlib.sha256(data).hexdigest()
        if expect_sha256 is not None:
            check_digest(digest, expect_sha256)
        model = loads(data)
    tell("loaded", map=os.fspath(path), bytes=len(data), sha256=digest)
    _warn_of_signature(path)
    return model, digest


def _warn_of_signature(path: str | PathLike[str]) -> None:
    """Say so if a signature of an earlier version stands beside the file: nobody has checked it."""
    signature = os.fspath(path) + ".sig"
    try:
        ours = b'"fairpot-signature"' in bytes_of(signature, _MAX_SIGNATURE)
    except ModelFileError:  # there is none, or it is another program's
        return
    if ours:
        warn_user(
            f"the signature {signature!r} was not checked: fairpot itself signs and verifies no files any more.\n"
            f"Hint: insist on the file that you know with {argument('expect_sha256', 'HEX')}, or verify it with a "
            "program for that, https://fairpot.github.io/fairpot/how-to/share.html",
            FairpotWarning,
        )


def write(model: ModelFile, path: str | PathLike[str], *, overwrite: bool = False, max_bytes: int = MAX_BYTES) -> str:
    """Write a map file: at any moment ``path`` is what it was before, or complete.

    A model that would take more than ``max_bytes`` is refused: it would not be loaded again unless you ask.

    Parameters
    ----------
    model : ModelFile
        What the file is to hold.
    path : str or path
        Where it goes.
    overwrite : bool, default False
        Whether an existing file is replaced.
    max_bytes : int, default 100,000,000
        A model that takes more is refused.

    Returns
    -------
    str
        The SHA-256 of the file.

    Raises
    ------
    FileExistsError
        If there is something at ``path`` and ``overwrite`` is False.
    FileNotFoundError
        If the folder of ``path`` does not exist.
    ModelFileError
        If the model cannot be put into a file.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> from fairpot import FairPOT, modelfile
    >>> repair = FairPOT(lam=0.5, reference="M").fit(range(40), sensitive_features=["F", "M"] * 20)
    >>> path = f"{mkdtemp()}/map.json"
    >>> digest = modelfile.write(repair.fair_maps_.file_content(), path)
    >>> modelfile.read(path, expect_sha256=digest).dial
    ('lam', 0.5)
    """
    data = dumps(model)
    if len(data) > max_bytes:
        raise ModelFileError(
            f"the map file would have {len(data)} bytes, more than the {max_bytes} that are loaded unless you "
            "ask for more.\n"
            "Hint: private=True has far fewer breakpoints; or raise max_bytes here and in load."
        )
    target = _target(path, overwrite)
    try:
        with atomic_file(target, overwrite=overwrite) as temporary:
            temporary.write_bytes(data)
    except FileExistsError:
        raise _exists(path) from None
    return hashlib.sha256(data).hexdigest()


def _target(path: str | PathLike[str], overwrite: bool) -> Path:
    """Return where the file goes, links followed; refuse a place where it cannot or must not go."""
    if not os.fspath(path):
        raise ValueError("the path is empty.\nHint: name the file to write, such as 'model.json'.")
    if "\0" in os.fspath(path):
        raise ValueError(f"{os.fspath(path)!r} is not the name of a file.\nHint: remove the NUL character.")
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
