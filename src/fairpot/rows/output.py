"""Outputs that are either complete or not there: written beside the target, then renamed; readable by nobody new.

Temporary folders are locked while they are in use, so that what a killed run left behind can be told. A lock
(``flock``) goes with its process, however that ends, and is seen across containers; Windows has none.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import signal
import stat
import sys
import tempfile
import threading
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

from fairpot._arguments import argument
from fairpot._log import tell
from fairpot.exceptions import OutputFileError

_GROUP, _OTHERS = 0o070, 0o007


@contextmanager
def ending_cleanly() -> Iterator[None]:
    """Let SIGTERM and SIGHUP unwind the stack, so that temporary files go; the exit code is 128 and the signal's.

    Elsewhere than in the main thread, and for signals that somebody else handles or ignores, nothing changes.
    """

    def end(number: int, frame: Any) -> NoReturn:
        raise SystemExit(128 + number)

    here = threading.current_thread() is threading.main_thread()
    known = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if here and hasattr(signal, name)]
    ours = [number for number in known if signal.getsignal(number) == signal.SIG_DFL]
    for number in ours:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


def hand_over(path: Path, replaced: Path | None, inputs: Iterable[Path]) -> None:
    """Give a finished file the rights of the file it replaces, or else of a new file, within those of the inputs."""
    if not hasattr(os, "fchmod"):  # Windows has other rights, which a file inherits from its folder
        return
    sources = [path.stat() for path in inputs if os.path.exists(path)]
    old = replaced.stat() if replaced is not None and os.path.exists(replaced) else None
    if old is not None:
        mode = stat.S_IMODE(old.st_mode) & 0o777
        _own(path, old.st_uid, old.st_gid)
        if path.stat().st_gid != old.st_gid:
            mode &= ~_GROUP
    else:
        mask = os.umask(0o077)  # for the moment that it takes to read it, other threads' new files are private
        os.umask(mask)
        mode = 0o666 & ~mask
        if len({found.st_gid for found in sources}) == 1 and not all(found.st_mode & 0o004 for found in sources):
            _own(path, -1, sources[0].st_gid)
    for found in sources:  # the rights that no input speaks against: the group's count only if it is the same group
        if not found.st_mode & 0o004:
            mode &= ~_OTHERS
        if not found.st_mode & (0o040 if found.st_gid == path.stat().st_gid else 0o004):
            mode &= ~_GROUP
    os.chmod(path, mode)


def _own(path: Path, user: int, group: int) -> None:
    """Give a file away as far as we may."""
    if sys.platform == "win32":
        return
    with suppress(OSError):
        os.chown(path, -1, group)
    if user not in (-1, os.geteuid()):
        with suppress(OSError):
            os.chown(path, user, -1)


@contextmanager
def complete_file(target: str | Path, *, overwrite: bool = False, inputs: Iterable[Path] = ()) -> Iterator[Path]:
    """Give a temporary path beside ``target`` that becomes the target when the block ends without an error.

    What a link points to is replaced; a target that is there is an error without ``overwrite``, and so is one of
    ``inputs``, under any name or link. Whatever goes wrong, nothing is left of it.
    """
    inputs = list(inputs)
    place = check_output(target, overwrite=overwrite, inputs=inputs)
    try:
        with atomic_file(place, overwrite=overwrite, inputs=inputs) as temporary:
            yield temporary
    except FileExistsError as error:
        raise OutputFileError(
            f"{place} was made by somebody else meanwhile.\nHint: {argument('overwrite', True)} replaces it."
        ) from error
    except OSError as error:
        raise _explained(error, target) from error


@contextmanager
def atomic_file(place: Path, *, overwrite: bool = False, inputs: Iterable[Path] = ()) -> Iterator[Path]:
    """Do the writing of :func:`complete_file` and of model files: no checks before, and the system's own errors.

    At any moment ``place`` is what it was before, or complete. A file that is there, or comes up meanwhile, is a
    FileExistsError unless ``overwrite``. It is written in a folder that only its owner can look into; then it has the
    rights of the file it replaces, or else those of any new file, but is never readable for more people than each of
    ``inputs``.
    """
    with folder_beside(place) as folder:
        temporary = folder / place.name
        yield temporary
        hand_over(temporary, place if overwrite else None, [*inputs])
        _sync(temporary)
        if overwrite:
            os.replace(temporary, place)
        else:
            _rename_to_new(temporary, place)
        if hasattr(os, "O_DIRECTORY"):
            with suppress(OSError):  # not all folders can be synced
                _sync(place.parent, os.O_RDONLY | os.O_DIRECTORY)
        if not _MARK.match(place.parent.name):  # a part of what is written
            tell("written", file=place, bytes=place.stat().st_size)


@contextmanager
def to_standard_output(name: str) -> Iterator[Path]:
    """Give a temporary path whose content goes to standard output when the block ends without an error."""
    with folder_beside(Path(tempfile.gettempdir(), "scratch")) as folder:
        yield folder / name
        if sys.stdout is None:
            raise OutputFileError("there is no standard output to write to.\nHint: name a file.")
        with (folder / name).open("rb") as made:
            shutil.copyfileobj(made, sys.stdout.buffer, 1 << 20)
        sys.stdout.flush()


def check_name(target: str | os.PathLike[str]) -> None:
    """Refuse a name that no file can have."""
    if not os.fspath(target):
        raise OutputFileError("the name of the output is empty.\nHint: name a file.")
    if "\0" in os.fspath(target):
        raise OutputFileError(f"{os.fspath(target)!r} is not the name of a file.\nHint: remove the NUL character.")


def check_output(target: str | os.PathLike[str], *, overwrite: bool = False, inputs: Iterable[Path] = ()) -> Path:
    """Check before any work, as :func:`complete_file`, that a target may and can be written; return its real path."""
    check_name(target)
    place = Path(os.path.realpath(target))
    if place.is_symlink():  # a link that was not followed leads to itself
        raise OutputFileError(f"{target} is a link that leads nowhere.\nHint: name a file.")
    if place.is_dir():
        raise OutputFileError(f"{target} is a folder.\nHint: name a file in it.")
    if place.exists() and not place.is_file():
        raise OutputFileError(
            f"{target} is a device, a pipe or the like, no file.\nHint: name a file; '-' is standard output."
        )
    if not place.parent.is_dir():
        raise OutputFileError(f"the folder of {target} was not found.\nHint: make it first: {place.parent}")
    for path in inputs:
        both = place.exists() and os.path.exists(path)
        if Path(os.path.realpath(path)) == place or (both and place.samefile(path)):
            raise OutputFileError(f"{target} is also the input, or a link to it.\nHint: write to another name.")
    if place.exists() and not overwrite:
        raise there_already(target)
    if not os.access(place.parent, os.W_OK | os.X_OK):
        raise OutputFileError(
            f"{target} cannot be written: no permission in {place.parent}.\nHint: write to another folder."
        )
    return place


def there_already(target: str | os.PathLike[str]) -> OutputFileError:
    """Say that an output exists."""
    return OutputFileError(
        f"{target} already exists.\nHint: choose another name, or {argument('overwrite', True)} to replace it."
    )


def _sync(path: Path, flags: int = os.O_RDWR) -> None:
    """Have the system put a file on disk, not only in its memory; or make a name in a folder last."""
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _rename_to_new(temporary: Path, place: Path) -> None:
    """Rename without replacing a file that has come up meanwhile; a hard link fails where there is one."""
    try:
        os.link(temporary, place)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        if place.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(place)) from None
        os.replace(temporary, place)


def _explained(error: OSError, target: str | Path) -> Exception:
    if error.errno in (errno.ENOSPC, errno.EDQUOT) or "No space left" in str(error):
        return OutputFileError(f"{target} was not written: the disk is full.\nHint: free some space, or another disk.")
    if error.errno == errno.EFBIG:
        return OutputFileError(f"{target} was not written: larger than a file may be here.\nHint: ulimit -f, or split.")
    return OutputFileError(f"{target} was not written: {error.strerror or error}.\nHint: nothing is left of it; retry.")


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
    folder, handle = _locked_folder(Path(tempfile.gettempdir()), "scratch")
    weakref.finalize(owner, _remove, folder, handle, os.getpid())
    return folder


def remove_leftovers(folder: Path) -> list[Path]:
    """Remove the folders of ours that nobody holds a lock on any more; return what was removed."""
    removed = []
    number = getattr(os, "geteuid", None)
    own = None if number is None else number()
    with suppress(OSError):
        for path in [Path(entry.path) for entry in os.scandir(folder) if _MARK.match(entry.name)]:
            handle = _lock(path, wait=False)
            if handle is None:
                continue  # in use, a link, or somebody else's
            with suppress(OSError):  # somebody else's, or just removed by another run: not in our way
                if _is_still(path, handle) and own in (None, os.fstat(handle).st_uid):
                    shutil.rmtree(path)
                    removed.append(path)
            os.close(handle)
    return removed


def _locked_folder(home: Path, stem: str) -> tuple[Path, int | None]:
    """Make a folder and lock it; should another run have taken it for a leftover in between, make another.

    What killed runs left in the same place goes first.
    """
    remove_leftovers(home)
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
