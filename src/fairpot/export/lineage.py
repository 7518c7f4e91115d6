"""Where an export comes from: one line of text in it that names the map file's hash and fairpot's version."""

from __future__ import annotations

import re
from typing import NamedTuple

from fairpot._version import __version__

_LINE = re.compile(rb"fairpot ([0-9A-Za-z.+-]{1,40}), map sha256:([0-9a-f]{64})")


class Lineage(NamedTuple):
    """What an export says of itself: which fairpot wrote it, from the map file with which SHA-256."""

    fairpot: str
    map_sha256: str


def lineage_line(map_sha256: str | None) -> str:
    """Write what an export is to say of itself; the version alone where no map file is known."""
    return f"fairpot {__version__}" + ("" if map_sha256 is None else f", map sha256:{map_sha256}")


def lineage_of(data: bytes) -> Lineage | None:
    """Read what an export says of itself, whatever it is written in; None of what is no export of a map file.

    Examples
    --------
    >>> line = lineage_line("ab" * 32)
    >>> lineage_of(f"/* {line}: 2 groups */ CASE ... END".encode()).map_sha256 == "ab" * 32
    True
    """
    found = None if data.lstrip()[:1] == b"{" else _LINE.search(data)  # a map file begins so, and no export does
    return None if found is None else Lineage(found[1].decode(), found[2].decode())
