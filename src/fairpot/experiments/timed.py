"""The timed runs: every method on the scores of one split, several times."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from fairpot.experiments.rows import ScoreRows
from fairpot.experiments.runtime import METHODS, machine, time_method
from fairpot.experiments.scores import Scored

# What takes minutes is timed this often at most; a first run beyond so many seconds is not repeated.
_LONG_REPEATS = 3
_LONG_SECONDS = 10.0
_ONCE_SECONDS = 60.0


def timed_results(scored: Scored, reference: Hashable, repeats: int) -> dict[str, Any]:
    """Time every method ``repeats`` times; one that takes over 10 seconds three times, one over a minute once.

    Seconds differ from run to run: these records alone are not the same when they are made again.
    """
    train = ScoreRows(scored.train, scored.y_train, scored.group_train)
    test = ScoreRows(scored.test, scored.y_test, scored.group_test)
    found: dict[str, list[dict[str, Any]]] = {}
    for method in METHODS:
        times: list[dict[str, Any]] = []
        while len(times) < _repeats(times, repeats):
            times.append(time_method(method, train, test, reference)._asdict())
        found[method] = times
    rows = {"train": len(scored.train), "test": len(scored.test), "moved": int((train.group != reference).sum())}
    return {"data_sha256": scored.sha256, "machine": machine(), "rows": rows, "times": found, "failed": []}


def _repeats(times: list[dict[str, Any]], wanted: int) -> int:
    if not times:
        return wanted
    first = times[0]["wall"]
    if not first < _ONCE_SECONDS:  # NaN: it was not run, and would not be the next time
        return 1
    return min(wanted, _LONG_REPEATS) if first > _LONG_SECONDS else wanted
