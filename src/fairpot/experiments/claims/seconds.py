"""Claims about seconds."""

from __future__ import annotations

import numpy as np

from fairpot.experiments.claims.evidence import Evidence
from fairpot.experiments.claims.verdicts import FAILS, HOLDS, OPEN, Judged, all_of
from fairpot.experiments.results.collect import Array, mean_of


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


def _shown(name: str, values: Array) -> str:
    return f"{name} {float(mean_of(values)):.3g} s"


def faster_than_xorder(evidence: Evidence, data: str, ties: str, source: str) -> Judged | None:
    """Compare FairPOT with xOrder."""
    return _faster(evidence, data, "fairpot", "FairPOT")


def cost_matrix_faster(evidence: Evidence, data: str, ties: str, source: str) -> Judged | None:
    """Compare the way to FairPOT that the paper describes with xOrder."""
    return _faster(evidence, data, "emd_converged", "cost matrix")


def _faster(evidence: Evidence, data: str, method: str, name: str) -> Judged | None:
    seconds = _seconds(evidence, data)
    if not {"xorder", method} <= set(seconds):
        return None
    ours, theirs = seconds[method], seconds["xorder"]
    text = f"{_shown('xOrder', theirs)}, {_shown(name, ours)}"
    if ours.any():
        text += f": ratio {float(mean_of(theirs)) / float(mean_of(ours)):.3g}"
    return Judged(below(ours, theirs), text)


def slower_than_baselines(evidence: Evidence, data: str, ties: str, source: str) -> Judged | None:
    """Compare FairPOT with the two methods without a dial."""
    seconds = _seconds(evidence, data)
    names = {"post_logit": "Post-logit", "wasserstein": "Wasserstein", "fairpot": "FairPOT"}
    if not set(names) <= set(seconds):
        return None
    verdicts = [below(seconds[each], seconds["fairpot"]) for each in ("post_logit", "wasserstein")]
    return Judged(all_of(verdicts), ", ".join(_shown(name, seconds[each]) for each, name in names.items()))
