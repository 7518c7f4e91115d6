"""Temporary folders that are locked while they are in use, so that what a killed run left behind can be told.

A lock (``flock``) goes with its process, however that ends, and is seen across containers; Windows has none.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import sys
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

_MARK = re.compile(r"^\..*\.fairpot-[0-9a-f]{16}\.tmp$", re.DOTALL)
_LONGEST = 255  # bytes in a file name on common file systems


@contextmanager
def folder_beside(place: Path) -> Iterator[Path]:
    """Make a folder beside ``place`` that nobody else can look into, locked until the block ends, and then gone."""
    folder, handle = _locked_folder(place.parent, place.name)
    owner = os.getpid()
    try:
        yield folder
    finally:
        _remove(folder, handle, owner)


@contextmanager
def taking_turns(folder: Path) -> Iterator[None]:
    """Let one run at a time put its files into a folder, where the system has locks for that."""
    handle = _lock(folder, wait=True)
    try:
        yield
    finally:
        if handle is not None:
            os.close(handle)


def scratch_folder(owner: Any) -> Path:
    """Make such a folder in the temporary directory; it goes when ``owner`` does."""
    home = Path(tempfile.gettempdir())
    remove_leftovers(home)
    folder, handle = _locked_folder(home, "scratch")
    weakref.finalize(owner, _remove, folder, handle, os.getpid())
    return folder


def remove_leftovers(folder: Path) -> list[Path]:
    """Remove the folders of ours that nobody holds a lock on any more; return what was removed."""
    removed = []
    with suppress(OSError):
        for path in [Path(entry.path) for entry in os.scandir(folder) if _MARK.match(entry.name)]:
            handle = _lock(path, wait=False)
            if handle is None:
                continue  # in use, a link, or somebody else's
            with suppress(OSError):  # somebody else's, or just removed by another run: not in our way
                if _is_still(path, handle) and os.fstat(handle).st_uid == os.geteuid():
                    shutil.rmtree(path)
                    removed.append(path)
            os.close(handle)
    return removed


def is_ours(folder: Path) -> bool:
    return _MARK.match(folder.name) is not None


def _locked_folder(home: Path, stem: str) -> tuple[Path, int | None]:
    """Make a folder and lock it; should another run have taken it for a leftover in between, make another."""
    while True:
        tail = f".fairpot-{secrets.token_hex(8)}.tmp"
        folder = home / ("." + os.fsdecode(os.fsencode(stem)[: _LONGEST - len(tail) - 1]) + tail)
        folder.mkdir(mode=0o700)
        handle = _lock(folder, wait=True)
        if folder.is_dir() and (handle is None or _is_still(folder, handle)):
            return folder, handle
        if handle is not None:
            os.close(handle)


def _lock(path: Path, *, wait: bool) -> int | None:
    """Lock a folder; None if another holds it, or it cannot be."""
    if sys.platform == "win32":
        return None
    try:
        import fcntl

        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC)
    except (ImportError, OSError):
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle


def _is_still(path: Path, handle: int) -> bool:
    try:
        return os.path.samestat(os.stat(path, follow_symlinks=False), os.fstat(handle))
    except OSError:
        return False


def _remove(folder: Path, handle: int | None, owner: int) -> None:
    if os.getpid() != owner:  # a forked child leaves its parent's folder alone
        return
    shutil.rmtree(folder, ignore_errors=True)
    if handle is not None:
        with suppress(OSError):
            os.close(handle)
