"""All numbers of an audit with their intervals, from one covariance."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairpot.inference.checks import check_level
from fairpot.inference.covariance import estimate_shares
from fairpot.inference.estimates import GapEstimates, ShareEstimates
from fairpot.inference.gaps import gap_limits
from fairpot.inference.interval import covariance_in_region
from fairpot.inference.merged import merge_entries
from fairpot.inference.pairs import Kernel, Pairs, all_pairs, cross_pairs, inside, others_over, over_others
from fairpot.inference.question import Question
from fairpot.inference.refusal import why_not
from fairpot.inference.result import Interval
from fairpot.inference.sample import Sample
from fairpot.metrics.wins import WinMatrix
from fairpot.table import Region, ScoreTable

# With more entries times groups than this, covariances come from a merged table.
_MANY = 20_000_000
Pair = tuple[Hashable, Hashable]
_OWN = ("group_auc", "bpsn_auc", "bnsp_auc")


@dataclass(frozen=True, eq=False)
class Overview:
    """AUC, gap, every xAUC, every signed gap and the groups' own AUCs, each with its interval."""

    level: float
    auc: Interval
    gap: Interval
    xauc: dict[Pair, Interval]
    signed_gaps: dict[Pair, Interval]
    group_auc: dict[Hashable, Interval]
    bpsn_auc: dict[Hashable, Interval]
    bnsp_auc: dict[Hashable, Interval]

    def to_dict(self) -> dict[str, Any]:
        """Give plain values for JSON."""
        return {
            "level": self.level,
            "auc": self.auc.as_dict(),
            "gap": self.gap.as_dict(),
            "xauc": [{"positive": g, "negative": h, **i.as_dict()} for (g, h), i in self.xauc.items()],
            "signed_gaps": [{"first": g, "second": h, **i.as_dict()} for (g, h), i in self.signed_gaps.items()],
            "groups": [
                {"group": g, **{name: getattr(self, name)[g].as_dict() for name in _OWN}} for g in self.group_auc
            ],
        }


def overview(
    table: ScoreTable | Sample,
    *,
    level: float = 0.95,
    ties: Kernel = "half",
    alpha: float | None = None,
    region: Region = "pooled",
) -> Overview:
    """Compute all numbers of an audit with their intervals.

    Parameters
    ----------
    table : ScoreTable or Sample
        With labels and at least two groups.
    level : float, default 0.95
    ties : {"half", "strict"}, default "half"
    alpha, region
        Inside the top-alpha region instead of over all rows.

    Returns
    -------
    Overview

    Examples
    --------
    >>> from fairpot.metrics import score_table
    >>> table = score_table([0, 1] * 10, range(20), sensitive_features=["F"] * 10 + ["M"] * 10)
    >>> print(overview(table).xauc["M", "F"])
    1.0000 (95% interval 0.5314 to 1.0000)
    """
    tail = (1 - check_level(level)) / 2
    sample = Sample.of(table)
    pairs, names = _pairs(sample.table)
    distinct = list(dict.fromkeys(pairs))  # of two groups, BPSN and BNSP are the xAUCs
    found, note = _estimate(sample, distinct, ties, alpha, region)
    found = found.take([distinct.index(pair) for pair in pairs])
    asked = [Question("", (pair,), False, ties, alpha, region) for pair in pairs]
    reasons = [why_not(sample, question, found.take([k])) for k, question in enumerate(asked)]
    low, high = found.limits(tail)

    def interval(metric: str, k: int) -> Interval:
        limits = (np.nan, np.nan) if reasons[k] else (float(low[k]), float(high[k]))
        value, se = float(found.value[k]), float(found.se[k])
        return Interval(metric, value, se, *limits, level, reason=reasons[k], note=note)

    cross = [k for k, (kind, _) in enumerate(names) if kind == "xauc"]
    own = {kind: {g: interval(kind, k) for k, (other, g) in enumerate(names) if other == kind} for kind in _OWN}
    gaps = GapEstimates.side_by_side(found.take(cross))
    gap_reasons = [reasons[a] or reasons[b] for a, b in zip(cross[::2], cross[1::2])]
    gap_names = [names[k][1] for k in cross[::2]]
    return Overview(
        level,
        interval("auc", 0),
        _largest(gaps, gap_names, gap_reasons, tail, level, note),
        {names[k][1]: interval("xauc", k) for k in cross},
        _signed(gaps, gap_names, gap_reasons, tail, level, note),
        own["group_auc"],
        own["bpsn_auc"],
        own["bnsp_auc"],
    )


def _pairs(table: ScoreTable) -> tuple[list[Pairs], list[tuple[str, Any]]]:
    groups = table.groups
    pairs: list[Pairs] = [all_pairs(table)]
    names: list[tuple[str, Any]] = [("auc", None)]
    for pair in cross_pairs(table):
        pairs.append(pair)
        names.append(("xauc", (groups[pair.winners[0]], groups[pair.losers[0]])))
    for k, group in enumerate(groups):
        pairs += [inside(k), others_over(table, k), over_others(table, k)]
        names += [(kind, group) for kind in _OWN]
    return pairs, names


def _estimate(
    sample: Sample, pairs: Sequence[Pairs], ties: Kernel, alpha: float | None, region: Region
) -> tuple[ShareEstimates, str | None]:
    if alpha is not None:
        return covariance_in_region(sample, Question("", tuple(pairs), False, ties, alpha, region))
    entries = sum(len(c.score) for c in sample.table.counts)
    if entries * len(sample.table.groups) <= _MANY:
        return estimate_shares(sample, pairs, ties), None
    found = estimate_shares(merge_entries(sample), pairs, ties)
    assert ties != "equal"
    matrix = WinMatrix.of(sample.table, ties)
    wins, count = matrix.half_wins / 2, np.outer(matrix.positives.astype(np.float64), matrix.negatives)
    won = np.array([wins[np.ix_(*pair)].sum() for pair in pairs])
    total = np.array([count[np.ix_(*pair)].sum() for pair in pairs])
    return found.with_values(np.divide(won, total, out=np.full(len(won), np.nan), where=total > 0)), None


def _signed(
    gaps: GapEstimates, names: list[Pair], reasons: list[str | None], tail: float, level: float, note: str | None
) -> dict[Pair, Interval]:
    low, high = gaps.limits(tail)
    return {
        name: Interval(
            "signed_gap",
            float(gaps.value[k]),
            float(gaps.se[k]),
            *((np.nan, np.nan) if reasons[k] else (float(low[k]), float(high[k]))),
            level,
            signed=float(gaps.value[k]),
            groups=name,
            reason=reasons[k],
            note=note,
        )
        for k, name in enumerate(names)
    }


def _largest(
    gaps: GapEstimates, names: list[Pair], reasons: list[str | None], tail: float, level: float, note: str | None
) -> Interval:
    sizes = np.abs(gaps.value)
    widest = 0 if np.isnan(sizes).all() else int(np.nanargmax(sizes))
    reason = next((text for text in reasons if text), None)
    low, high = (np.nan, np.nan) if reason else gap_limits(gaps, tail)
    value = float(gaps.value[widest])
    se = float(gaps.se[widest])
    return Interval("xauc_gap", abs(value), se, low, high, level, "analytic", value, names[widest], reason, note)
