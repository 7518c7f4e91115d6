"""The intervals of an audit: every number it shows, with how far it can be trusted."""

from __future__ import annotations

from typing import Any

from fairpot.inference import Overview, Sample, overview, rates_at
from fairpot.metrics.wins import Ties
from fairpot.table import Region


def intervals(
    sample: Sample,
    level: float,
    ties: Ties,
    alpha: float | None,
    region: Region,
    rates: list[dict[str, Any]],
) -> tuple[Overview, dict[str, Any]]:
    """Compute all intervals of an audit; as objects over all rows, and all of them as plain values."""
    whole = overview(sample, level=level, ties=ties)
    partial = None if alpha is None else overview(sample, level=level, ties=ties, alpha=alpha, region=region)
    found = [_rates(sample, each, level) for each in rates]
    return whole, {**whole.to_dict(), "partial": None if partial is None else partial.to_dict(), "rates": found}


def _rates(sample: Sample, found: dict[str, Any], level: float) -> dict[str, Any]:
    groups = [
        {"group": each.group, **{name: getattr(each, name).as_dict() for name in ("flagged", "tpr", "fpr", "ppv")}}
        for each in rates_at(sample, found["threshold"], level=level)
    ]
    return {"at": found["at"], "threshold": found["threshold"], "groups": groups}
