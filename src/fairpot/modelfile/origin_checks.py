"""Checks of what a model file says it was fitted on."""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable
from datetime import datetime, timedelta
from typing import Any

from fairpot.exceptions import ModelFileError
from fairpot.modelfile.checks import (
    check_by_group,
    check_flag,
    check_list,
    check_number,
    check_numbers,
    check_object,
    check_text,
    refuse,
    shown,
)
from fairpot.modelfile.origin import COUNTS, ORIGIN


def check_origin(content: Any, groups: Collection[Hashable]) -> dict[str, Any]:
    """Check ``fitted_on``: counts and ranges for each group, null where they rest on few people."""
    content = check_object(content, "fitted_on", ORIGIN)
    labelled = check_flag(content["labelled"], "fitted_on.labelled")
    found = check_by_group(content["groups"], "fitted_on.groups", "counts", groups)
    for group, counts in found.items():
        _counts(counts, f"fitted_on: the counts of group {shown(group)}", labelled)
    _count(content["rows"], "fitted_on.rows")
    check_number(content["fewer_than"], "fitted_on.fewer_than", 0.0)
    _range(content["score_range"], "fitted_on.score_range")
    if not check_text(content["library_version"], "fitted_on.library_version").isprintable():
        refuse("fitted_on.library_version", "printable", content["library_version"])
    digest = content["fingerprint"]
    if digest is not None and not (isinstance(digest, str) and re.fullmatch("[0-9a-f]{64}", digest)):
        refuse("fitted_on.fingerprint", "64 hexadecimal digits, or null", digest)
    if content["time"] is not None:
        _time(content["time"])
    return dict(content)


def _counts(content: Any, where: str, labelled: bool) -> None:
    check_object(content, where, COUNTS)
    _count(content["rows"], f"{where}: rows")
    if content["rows"] is None:
        if any(value is not None for value in content.values()):
            refuse(where, "all null where the rows are", content)
        return
    if not isinstance(content["scores"], int):
        refuse(f"{where}: scores", "a whole number", content["scores"])
    check_number(content["scores"], f"{where}: scores", 0.0)
    _range(content["score_range"], f"{where}: score_range")
    for name in ("positives", "negatives"):
        if labelled:
            _count(content[name], f"{where}: {name}")
        elif content[name] is not None:
            refuse(f"{where}: {name}", "null, as there were no labels", content[name])


def _count(value: Any, where: str) -> None:
    """Check a number of rows, or null where there are few."""
    if value is not None:
        check_number(value, where, 0.0)


def _range(content: Any, where: str) -> None:
    low, high = check_numbers(check_list(content, where, limit=2, least=2), where)
    if low > high:
        refuse(where, "the lowest and the highest score", content)


def _time(value: Any) -> None:
    try:
        moment = datetime.fromisoformat(check_text(value, "fitted_on.time"))
    except ModelFileError:
        raise
    except ValueError:
        refuse("fitted_on.time", "a time such as 2025-01-31T12:00:00+00:00, or null", value)
    if moment.utcoffset() != timedelta(0) or moment.isoformat(timespec="seconds") != value:
        refuse("fitted_on.time", "a time such as 2025-01-31T12:00:00+00:00, or null", value)
