"""Claims about seconds."""

from __future__ import annotations

import numpy as np

from fairpot_paper.claims.evidence import Evidence, Judge
from fairpot_paper.claims.verdicts import FAILS, HOLDS, OPEN, Judged, all_of
from fairpot_paper.results.collect import Array, mean_of


def _seconds(evidence: Evidence, data: str) -> dict[str, Array]:
    """Return the CPU seconds of every timed run, by method; nothing of a method that was not run."""
    for record in evidence.records:
        run = record["run"]
        if record["status"] == "ok" and run["kind"] == "runtime" and run["data"] == data:
            times = record["results"]["times"]
            found = {name: np.array([each["cpu"] for each in times[name]], dtype=np.float64) for name in times}
            return {name: values[np.isfinite(values)] for name, values in found.items() if np.isfinite(values).any()}
    return {}


def below(one: Array, other: Array) -> str:
    """Judge that one takes less time: every run of it, and more than one run of each against one.

    Examples
    --------
    >>> below(np.array([1.0, 1.2]), np.array([3.0])), below(np.array([1.0]), np.array([3.0]))
    ('holds', 'cannot tell')
    """
    if len(one) + len(other) < 3:
        return OPEN
    return HOLDS if one.max() < other.min() else FAILS if other.max() < one.min() else OPEN


def _shown(method: str, values: Array) -> str:
    once = " (one run)" if len(values) == 1 else ""
    return f"{_NAMES[method]} {float(mean_of(values)):.3g} s{once}"


_NAMES = {
    "fairpot": "FairPOT",
    "emd_converged": "cost matrix",
    "emd_default": "cost matrix",
    "post_logit": "Post-logit",
    "wasserstein": "Wasserstein",
    "xorder": "xOrder",
}


def faster(method: str) -> Judge:
    """Compare a way to FairPOT with xOrder."""

    def judge(evidence: Evidence, data: str, ties: str, source: str) -> Judged | None:
        seconds = _seconds(evidence, data)
        if not {"xorder", method} <= set(seconds):
            return None
        ours, theirs = seconds[method], seconds["xorder"]
        text = f"{_shown('xorder', theirs)}, {_shown(method, ours)}"
        if ours.any():
            text += f": ratio {float(mean_of(theirs)) / float(mean_of(ours)):.3g}"
        return Judged(below(ours, theirs), text)

    return judge


def slower(method: str, *others: str) -> Judge:
    """Compare a way to FairPOT with the two methods without a dial, or with one of them."""
    rivals = others or ("post_logit", "wasserstein")

    def judge(evidence: Evidence, data: str, ties: str, source: str) -> Judged | None:
        seconds = _seconds(evidence, data)
        if not {*rivals, method} <= set(seconds):
            return None
        verdicts = [below(seconds[each], seconds[method]) for each in rivals]
        return Judged(all_of(verdicts), ", ".join(_shown(each, seconds[each]) for each in (*rivals, method)))

    return judge
