"""Temporary files that are locked while they are in use, so that what a killed run left behind can be told.

A lock (``flock``) goes with the process that holds it, however it ends, and is seen across containers and by every
user; a process number is none of that. Where there are no such locks (Windows), nothing is ever removed unasked.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import sys
import tempfile
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_MARK = re.compile(r"^\..*\.fairpot-[0-9a-f]{16}\.tmp$", re.DOTALL)
_PATIENCE = 10.0  # seconds
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


def scratch_folder(owner: Any) -> Path:
    """Make such a folder in the temporary directory; it goes when ``owner`` does."""
    home = Path(tempfile.gettempdir())
    remove_leftovers(home)
    folder, handle = _locked_folder(home, "scratch")
    weakref.finalize(owner, _remove, folder, handle, os.getpid())
    return folder


def remove_leftovers(folder: Path) -> list[Path]:
    """Remove what nobody holds a lock on any more; return what was removed."""
    if fcntl is None or sys.platform == "win32":
        return []
    removed = []
    for entry in _entries(folder):
        if _MARK.match(entry.name) is None or entry.is_symlink():
            continue
        path = Path(entry.path)
        handle = _lock(path)
        if handle is None:
            continue  # in use, or somebody else's
        try:
            if _is_still(path, handle) and os.fstat(handle).st_uid == os.geteuid():
                shutil.rmtree(path) if entry.is_dir(follow_symlinks=False) else path.unlink()
                removed.append(path)
        except OSError:
            continue  # somebody else's, or just removed by another run: not in our way
        finally:
            os.close(handle)
    return removed


def _temporary_name(stem: str) -> str:
    tail = f".fairpot-{secrets.token_hex(8)}.tmp"
    return "." + os.fsdecode(os.fsencode(stem)[: _LONGEST - len(tail) - 1]) + tail


def _locked_folder(home: Path, stem: str) -> tuple[Path, int | None]:
    """Make a folder and lock it; should another run have taken it for a leftover in between, make another."""
    while True:
        folder = home / _temporary_name(stem)
        folder.mkdir(mode=0o700)
        handle = _lock(folder)
        if fcntl is None or (handle is not None and _is_still(folder, handle)):
            return folder, handle
        if handle is None and not _locks_work(home):
            return folder, None
        if handle is not None:
            os.close(handle)


def _locks_work(home: Path) -> bool:
    """Whether the file system has locks."""
    if fcntl is None or sys.platform == "win32":
        return False
    handle = os.open(home, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno in (errno.EWOULDBLOCK, errno.EAGAIN)
    finally:
        os.close(handle)
    return True


def _lock(path: Path) -> int | None:
    """Lock a file or folder; None if another holds it, or it cannot be."""
    if fcntl is None or sys.platform == "win32":
        return None
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle


@contextmanager
def turn_in(folder: Path) -> Iterator[Callable[[], None]]:
    """Give a function that waits until no other run puts files into their places in ``folder``, until the block ends.

    Whoever holds the folder for longer than some seconds is not one of ours, and is not waited for.
    """
    held: list[int] = []

    def take() -> None:
        end = time.monotonic() + _PATIENCE
        while fcntl is not None and not held and time.monotonic() < end:
            handle = _lock(folder)
            if handle is not None:
                held.append(handle)
            elif not _locks_work(folder):
                return
            else:
                time.sleep(0.005)

    try:
        yield take
    finally:
        for handle in held:
            os.close(handle)


def _is_still(path: Path, handle: int) -> bool:
    """Whether a path leads to what was opened under it."""
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


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []
