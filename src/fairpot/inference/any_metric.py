"""Any other metric of the registry: what has no closed form here is drawn again."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from fairpot.exceptions import UndefinedMetricWarning
from fairpot.inference.bootstrap import bootstrap_shares
from fairpot.inference.placements import Floats
from fairpot.inference.result import Interval
from fairpot.inference.sample import Sample
from fairpot.metrics import METRICS
from fairpot.splitting import weighted_rows
from fairpot.table import ScoreTable


def drawn_interval(
    metric: str, sample: Sample, given: dict[str, Any], level: float, replicates: int, seed: int
) -> Interval:
    """Compute a metric of the registry on the table and on tables drawn again; limits are percentiles."""
    read = _reader(metric, given)
    [value] = read(sample.table)
    drawn, _ = bootstrap_shares(sample, read, replicates, seed)
    low, high = np.quantile(drawn[:, 0], [(1 - level) / 2, (1 + level) / 2])
    se = float(drawn.std(ddof=1))
    return Interval(metric, float(value), se, float(low), float(high), level, "bootstrap")


def _reader(metric: str, given: dict[str, Any]) -> Callable[[ScoreTable], Floats]:
    """Return the function that calls the metric with the rows that a table stands for."""
    needs = METRICS[metric].needs

    def read(table: ScoreTable) -> Floats:
        rows = weighted_rows(table)
        named = {name: given[name] for name in needs if name != "sensitive_features"}
        if "sensitive_features" in needs:
            named["sensitive_features"] = rows.groups
        if METRICS[metric].has_ties:
            named["ties"] = given["ties"]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            return np.array([METRICS[metric].function(rows.y, rows.scores, sample_weight=rows.weight, **named)])

    return read
