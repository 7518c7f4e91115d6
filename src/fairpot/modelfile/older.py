"""Model files of earlier schema versions, brought to the form of this one."""

from __future__ import annotations

import re
from typing import Any

from fairpot.modelfile.checks import check_ascending, check_object, refuse
from fairpot.modelfile.origin import FEWER_THAN

_ORIGIN_1 = ("groups", "labelled", "library_version", "rows", "score_range", "table_sha256", "time")


def from_version_1(content: dict[str, Any]) -> dict[str, Any]:
    """Drop what version 1 put down and this one does not: the hash of the data, and the knots of sigmoids.

    Only what is dropped is checked here.
    """
    origin = dict(check_object(content["fitted_on"], "fitted_on", _ORIGIN_1))
    digest = origin.pop("table_sha256")
    if not isinstance(digest, str) or not re.fullmatch("[0-9a-f]{64}", digest):
        refuse("fitted_on.table_sha256", "64 hexadecimal digits", digest)
    maps = content["maps"]
    if isinstance(maps, list):
        maps = [_without_knots(entry) for entry in maps]
    return content | {"fitted_on": origin | {"fewer_than": FEWER_THAN, "fingerprint": None}, "maps": maps}


def _without_knots(entry: Any) -> Any:
    found = entry.get("map") if isinstance(entry, dict) else None
    if not isinstance(found, dict) or found.get("kind") != "sigmoid":
        return entry
    check_object(found, "a sigmoid", ("kind", "knots", "alpha", "beta"))
    check_ascending(found["knots"], "a sigmoid: knots")
    return entry | {"map": {key: value for key, value in found.items() if key != "knots"}}
