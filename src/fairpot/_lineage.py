"""Where a file comes from: one line of text in it that names the map file, fairpot's version, the run and the input."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from fairpot._version import __version__

_PART = rb", (?:map sha256:[0-9a-f]{64}|run [0-9a-f]{16}|input sha256:[0-9a-f]{64})"
_LINE = rb"fairpot ([0-9A-Za-z.+-]{1,40})"
_EXPORT = re.compile(_LINE + rb"((?:" + _PART + rb")+)")
# Where a report, or what a command prints as JSON, says it: no text of a user's is written so there.
_REPORT = re.compile(rb'(?:^|[{,]\s*)(?:"made_by": "|<!-- )' + _LINE + rb"((?:" + _PART + rb")*)(?:\"| -->)")
_PAGE = re.compile(rb'<meta name="generator" content="' + _LINE + rb"((?:" + _PART + rb')*)">')
KEY = "fairpot"  # under which Parquet and Arrow hold the line


@dataclass(frozen=True)
class Lineage:
    """What a file says of itself: which fairpot wrote it, from which map file, in which run, from which input."""

    fairpot: str
    map_sha256: str | None
    run: str | None = None
    input_sha256: tuple[str, ...] = ()


def lineage_line(map_sha256: str | None, run: str | None = None, inputs: Sequence[str] = ()) -> str:
    """Write what a file is to say of itself; the version alone where nothing else is known."""
    known = [f"map sha256:{map_sha256}"] if map_sha256 is not None else []
    known += [f"run {run}"] if run is not None else []
    return ", ".join([f"fairpot {__version__}", *known, *(f"input sha256:{each}" for each in inputs)])


def lineage_of(data: bytes) -> Lineage | None:
    """Read what a file says of itself, whatever it is written in; None of what says nothing, such as a map file."""
    start = data.lstrip()[:9]
    if start[:1] == b"{" or start[:4] == b"<!--":
        found = _REPORT.search(data)
    else:
        found = _PAGE.search(data) if start.lower() == b"<!doctype" else _EXPORT.search(data)
    if found is None:
        return None
    parts = [part.decode().rpartition(":" if b"sha256" in part else " ") for part in found[2].split(b", ")[1:]]
    known = {kind: value for kind, _, value in parts}
    inputs = tuple(value for kind, _, value in parts if kind.startswith("input"))
    return Lineage(found[1].decode(), known.get("map sha256"), known.get("run"), inputs)
