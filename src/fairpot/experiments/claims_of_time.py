"""Claims about seconds."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairpot.experiments.frontier import Judged
from fairpot.experiments.verdicts import FAILS, HOLDS


def _seconds(evidence: Any, data: str) -> dict[str, float] | None:
    for record in evidence.records:
        run = record["run"]
        if record["status"] == "ok" and run["kind"] == "runtime" and run["data"] == data:
            times = record["results"]["times"]
            return {method: float(np.mean([each["cpu"] or np.nan for each in times[method]])) for method in times}
    return None


def faster_than_baseline(evidence: Any, data: str, ties: str, source: str) -> Judged | None:
    """Compare FairPOT with xOrder, and the cost matrix with it as well."""
    seconds = _seconds(evidence, data)
    if seconds is None:
        return None
    ratio = seconds["xorder"] / seconds["fairpot"]
    matrix = seconds["emd_converged"] / seconds["xorder"]
    text = (
        f"xOrder {seconds['xorder']:.3g} s, FairPOT {seconds['fairpot']:.3g} s: {ratio:,.0f} times; "
        f"FairPOT by a cost matrix {seconds['emd_converged']:.3g} s, {matrix:.2g} times xOrder's"
    )
    return Judged(HOLDS if ratio > 1 else FAILS, text)


def slower_than_baseline(evidence: Any, data: str, ties: str, source: str) -> Judged | None:
    """Compare FairPOT with the two methods without a dial."""
    seconds = _seconds(evidence, data)
    if seconds is None:
        return None
    parts = [
        f"{name} {seconds[key]:.3g} s" for key, name in (("post_logit", "Post-logit"), ("wasserstein", "Wasserstein"))
    ]
    slower = all(seconds["fairpot"] > seconds[key] for key in ("post_logit", "wasserstein"))
    return Judged(HOLDS if slower else FAILS, f"{', '.join(parts)}, FairPOT {seconds['fairpot']:.3g} s")
