"""Who may read an output: those who could read what it replaces, never more than could read its inputs."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

_GROUP, _OTHERS = 0o070, 0o007


def hand_over(path: Path, replaced: Path | None, inputs: Iterable[Path]) -> None:
    """Give a finished file the rights of the file it replaces, or else of a new file, within those of the inputs."""
    if not hasattr(os, "fchmod"):  # Windows has other rights, which a file inherits from its folder
        return
    sources = [found for found in map(_status, inputs) if found is not None]
    old = None if replaced is None else _status(replaced)
    if old is not None:
        mode = stat.S_IMODE(old.st_mode) & 0o777
        _own(path, old.st_uid, old.st_gid)
        if path.stat().st_gid != old.st_gid:
            mode &= ~_GROUP
    else:
        mode = 0o666 & ~_umask()
        if len({found.st_gid for found in sources}) == 1 and not all(found.st_mode & 0o004 for found in sources):
            _own(path, -1, sources[0].st_gid)
    os.chmod(path, mode & _at_most(sources, path.stat().st_gid))


def _at_most(sources: list[os.stat_result], group: int) -> int:
    """Return the rights that no input speaks against: the group's count only if it is the same group."""
    mode = 0o777
    for found in sources:
        if not found.st_mode & 0o004:
            mode &= ~_OTHERS
        if not found.st_mode & (0o040 if found.st_gid == group else 0o004):
            mode &= ~_GROUP
    return mode


def _own(path: Path, user: int, group: int) -> None:
    """Give a file away as far as we may."""
    with suppress(OSError):
        os.chown(path, -1, group)
    if user not in (-1, os.geteuid()):
        with suppress(OSError):
            os.chown(path, user, -1)


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


def _umask() -> int:
    """Read the mask for new files; for the moment that takes, other threads' new files are private."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
