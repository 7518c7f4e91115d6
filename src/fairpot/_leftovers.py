"""Temporary names that say who made them, so that what a killed run left behind can be told and removed."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any

_MARK = re.compile(r"^\..*\.fairpot-([0-9a-f]{8})-(\d+)-[0-9a-f]{8}\.tmp$", re.DOTALL)
_LONGEST = 255  # bytes in a file name on common file systems
_mine: set[str] = set()


def temporary_name(stem: str) -> str:
    """Return a hidden name that carries this machine and this process."""
    tail = f".fairpot-{_host()}-{os.getpid()}-{secrets.token_hex(4)}.tmp"
    room = _LONGEST - len(tail) - 1
    name = "." + os.fsdecode(os.fsencode(stem)[:room]) + tail
    _mine.add(name)
    return name


def forget(name: str) -> None:
    """Say that a temporary name is no longer in use."""
    _mine.discard(name)


def remove_leftovers(folder: Path) -> list[Path]:
    """Remove what processes of this machine that are gone left in a folder; return what was removed."""
    removed = []
    for entry in _entries(folder):
        match = _MARK.match(entry.name)
        if match is None or match[1] != _host() or not _abandoned(entry.name, int(match[2])):
            continue
        path = Path(entry.path)
        try:
            shutil.rmtree(path) if entry.is_dir(follow_symlinks=False) else path.unlink()
        except OSError:
            continue  # somebody else's, or just removed by another run: not in our way
        removed.append(path)
    return removed


def scratch_folder(owner: Any) -> Path:
    """Make a folder in the temporary directory that goes when ``owner`` does."""
    home = Path(tempfile.gettempdir())
    remove_leftovers(home)
    folder = home / temporary_name("scratch")
    folder.mkdir(mode=0o700)
    weakref.finalize(owner, _remove, folder)
    return folder


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    forget(folder.name)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def _abandoned(name: str, pid: int) -> bool:
    """Whether nobody can still be writing this: its process is gone, or it is this one and has not made it."""
    if pid == os.getpid():
        return name not in _mine
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False


def _host() -> str:
    """Tell machines that share a folder apart: their process numbers mean nothing to each other."""
    name = os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", "")
    return hashlib.sha256(name.encode()).hexdigest()[:8]
