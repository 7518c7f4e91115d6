"""One guard for all formats: so much memory for the process while rows are read, and one error where it takes more.

On Linux the kernel refuses to set more memory aside than ``RLIMIT_DATA`` says, which comes up as an ordinary exception
wherever it happens: nothing aborts, and no partial file stays. Elsewhere nothing is guarded.
"""

from __future__ import annotations

import mmap
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fairpot._arguments import argument
from fairpot._optional import Lazy
from fairpot.exceptions import InputFileError

pa = Lazy("pyarrow", "cli")

# The limit counts what is set aside, used or not: so much more than is used, by libraries and for each thread.
_ROOM, _STACK = 1536 << 20, 32 << 20
_THREADS = 512 << 20  # bytes of addresses that the threads of DuckDB and PyArrow take
# What libraries say where they get no memory: Thrift in an OSError, threads in a RuntimeError, DuckDB in its own.
NO_MEMORY = re.compile(
    "bad.alloc|alloc of size|[Cc]annot allocate|failed to allocate|[Oo]ut of memory|start new thread|failed to map segm"
)

_held: list[int] = []  # the limits that are set now


@contextmanager
def guarded(memory_limit: str, size: int, threads: int | None = None) -> Iterator[None]:
    """Let the process take so many bytes more in a block; what asks for more is an error that names the limit.

    The limit holds for all threads of the process, and is put back afterwards; one that is lower already stays.
    """
    resource = _resource()
    if resource is None:
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_DATA)
    most = _set_aside() + size + _ROOM + _STACK * (threads or os.cpu_count() or 1)
    is_ours = all(limit < 0 or limit > most for limit in (*before, resource.getrlimit(resource.RLIMIT_AS)[0]))
    pool = pa.default_memory_pool()
    pa.set_memory_pool(pa.system_memory_pool())  # others set a gigabyte aside at once
    if is_ours:
        resource.setrlimit(resource.RLIMIT_DATA, (most, before[1]))
        _held.append(most)
    try:
        yield
    except Exception as error:
        if not is_ours or not is_about_memory(error):
            raise
    else:
        return
    finally:
        if is_ours:
            resource.setrlimit(resource.RLIMIT_DATA, before)
            _held.remove(most)
        pa.set_memory_pool(pool)
    # By now the frames are gone that held the memory.
    raise InputFileError(
        f"this needs more than {argument('memory_limit', memory_limit)} (a part of a file may unfold to very much).\n"
        f"Hint: give it more with {argument('memory_limit')}."
    )


def _resource() -> Any:
    """Give the module that sets limits of a process; None where there is none, or no limit of data."""
    if sys.platform != "linux":
        return None
    try:
        import resource
    except ImportError:
        return None
    return resource


def is_about_memory(error: BaseException) -> bool:
    """Whether an error, or one behind it, says that there is no memory."""
    seen: list[BaseException] = []
    behind: BaseException | None = error
    while behind is not None and behind not in seen:  # an error may be its own cause
        if isinstance(behind, MemoryError) or NO_MEMORY.search(str(behind)):
            return True
        seen.append(behind)
        behind = behind.__cause__ or behind.__context__
    return False


def check_room() -> None:
    """Raise where a limit on addresses leaves threads no room: PyArrow would wait for them, DuckDB end the process."""
    if sys.platform != "win32":
        # Nothing is touched. A limit of ours has room for threads: what cannot be written does not count there.
        access = mmap.PROT_READ if _held else mmap.PROT_READ | mmap.PROT_WRITE
        try:
            mmap.mmap(-1, _THREADS, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=access).close()
        except OSError as error:
            raise MemoryError("too little room for threads") from error


def _set_aside() -> int:
    """Return the bytes of data that the process has set aside, as the kernel counts them."""
    with open("/proc/self/status") as file:
        found = re.search(r"VmData:\s+(\d+) kB", file.read())
    return int(found[1]) << 10 if found else 0
