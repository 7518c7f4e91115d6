"""All intervals of a ranking at once."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairpot._defaults import LEVEL, Region, Ties
from fairpot._shown import Bar, ShownBars, bar, ends_of
from fairpot._validation import check_level
from fairpot.inference.limits import Estimate, gap_limits
from fairpot.inference.merged import count_ranking, shares
from fairpot.inference.region import estimate_region
from fairpot.inference.shares import (
    GapEstimates,
    Pairs,
    Question,
    ShareEstimates,
    all_pairs,
    cross_pairs,
    inside,
    others_over,
    over_others,
    why_not,
)
from fairpot.table import ScoreTable

Pair = tuple[Hashable, Hashable]
_OWN = ("group_auc", "bpsn_auc", "bnsp_auc")


@dataclass(frozen=True, eq=False, repr=False)
class Overview(ShownBars):
    """Hold AUC, gap, every xAUC, every signed gap and the groups' own AUCs, each with its interval.

    Examples
    --------
    >>> import numpy as np
    >>> from fairpot import score_table
    >>> from fairpot.inference import overview
    >>> rng = np.random.default_rng(0)
    >>> y, sex = rng.integers(0, 2, 400), rng.choice(["F", "M"], 400)
    >>> score = rng.normal(y + 0.5 * (sex == "M"))
    >>> found = overview(score_table(y, score, sensitive_features=sex))
    >>> print(found.gap)
    0.240 (95% interval 0.144 to 0.333)
    >>> print(found.xauc["M", "F"])
    0.858 (95% interval 0.798 to 0.902)
    """

    level: float
    auc: Estimate
    gap: Estimate
    xauc: dict[Pair, Estimate]
    signed_gaps: dict[Pair, Estimate]
    group_auc: dict[Hashable, Estimate]
    bpsn_auc: dict[Hashable, Estimate]
    bnsp_auc: dict[Hashable, Estimate]
    headline: Estimate  # the gap of those groups alone that can carry one

    def __repr__(self) -> str:
        return f"<Overview: AUC {self.auc!s}, gap {self.gap!s}>"

    def _listed(self) -> list[dict[str, Any]]:
        """Give every number with its limits: AUC, gap, xAUCs, signed gaps, the groups' own AUCs."""
        named: list[tuple[str, Any, Any, Estimate]] = [("auc", "", "", self.auc), ("gap", "", "", self.gap)]
        named += [(name, *pair, each) for name in ("xauc", "signed_gaps") for pair, each in getattr(self, name).items()]
        named += [(name, group, "", each) for name in _OWN for group, each in getattr(self, name).items()]
        return [
            {"metric": name.removesuffix("s"), "first": str(g), "second": str(h), **ends_of("value", each)}
            for name, g, h, each in named
        ]

    def _bars(self) -> list[Bar]:
        pairs = sorted(self.signed_gaps.items(), key=lambda each: -abs(each[1]))
        return [bar("AUC", self.auc), *(bar(f"gap, {g} over {h}", each) for (g, h), each in pairs[:10])]

    def _says(self) -> list[str]:
        return [f"AUC {self.auc!s}, gap {self.gap!s}"]

    def to_dict(self) -> dict[str, Any]:
        """Give plain values for JSON."""
        return {
            "level": self.level,
            "auc": self.auc.to_dict(),
            "gap": self.gap.to_dict(),
            "xauc": [{"positive": g, "negative": h, **i.to_dict()} for (g, h), i in self.xauc.items()],
            "signed_gaps": [{"first": g, "second": h, **i.to_dict()} for (g, h), i in self.signed_gaps.items()],
            "groups": [
                {"group": g, **{name: getattr(self, name)[g].to_dict() for name in _OWN}} for g in self.group_auc
            ],
        }


def overview(
    table: ScoreTable,
    *,
    level: float = LEVEL,
    ties: Ties = "half",
    alpha: float | None = None,
    region: Region = "pooled",
    carrying: Sequence[Hashable] | None = None,
) -> Overview:
    """Compute all numbers of an audit with their intervals.

    Parameters
    ----------
    table : ScoreTable
        With outcomes and at least two groups.
    level : float in (0, 1), default 0.95
        Confidence level of the intervals.
    ties : {"half", "strict"}, default "half"
        Whether equal scores count as half a win or as none.
    alpha : float in (0, 1] or None, default None
        Look at this share of the rows with the highest scores; None looks at all rows.
    region : {"pooled", "group"}, default "pooled"
        With ``alpha``: the top of all rows, or the top of each group.
    carrying : list of groups or None, default None
        ``headline`` is the largest gap between these; None takes all.

    Returns
    -------
    Overview

    Examples
    --------
    >>> from fairpot import score_table
    >>> from fairpot.inference import overview
    >>> y, score, sex = [0, 1] * 10, range(20), ["F"] * 10 + ["M"] * 10
    >>> table = score_table(y, score, sensitive_features=sex)
    >>> print(overview(table).xauc["M", "F"])
    1.000 (95% interval 0.531 to 1.000)
    """
    tail = (1 - check_level(level)) / 2
    pairs, names = _pairs(table)
    distinct = list(dict.fromkeys(pairs))  # of two groups, BPSN and BNSP are the xAUCs
    found, note = _estimate(table, distinct, ties, alpha, region)
    found = found.take([distinct.index(pair) for pair in pairs])
    asked = [Question("", (pair,), False, ties, alpha, region) for pair in pairs]
    reasons = [why_not(table, question, found.take([k])) for k, question in enumerate(asked)]
    low, high = found.limits(tail)

    def interval(metric: str, k: int) -> Estimate:
        limits = (np.nan, np.nan) if reasons[k] else (float(low[k]), float(high[k]))
        value, se = float(found.value[k]), float(found.se[k])
        return Estimate(metric, value, se, *limits, level, reason=reasons[k], note=note)

    cross = [k for k, (kind, _) in enumerate(names) if kind == "xauc"]
    own = {kind: {g: interval(kind, k) for k, (other, g) in enumerate(names) if other == kind} for kind in _OWN}
    gaps = GapEstimates.side_by_side(found.take(cross))
    gap_reasons = [reasons[a] or reasons[b] for a, b in zip(cross[::2], cross[1::2])]
    gap_names = [names[k][1] for k in cross[::2]]
    told = [k for k, pair in enumerate(gap_names) if carrying is None or set(pair) <= set(carrying)]

    def largest(places: list[int]) -> Estimate:
        known = [gap_names[k] for k in places], [gap_reasons[k] for k in places]
        return _largest(gaps.take(places), *known, tail, level, note)

    gap = largest(list(range(len(gap_names))))
    return Overview(
        level,
        interval("auc", 0),
        gap,
        {names[k][1]: interval("xauc", k) for k in cross},
        _signed(gaps, gap_names, gap_reasons, tail, level, note),
        own["group_auc"],
        own["bpsn_auc"],
        own["bnsp_auc"],
        gap if len(told) == len(gap_names) else largest(told),
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
    table: ScoreTable, pairs: Sequence[Pairs], ties: Ties, alpha: float | None, region: Region
) -> tuple[ShareEstimates, str | None]:
    if alpha is not None:
        found_there = estimate_region(table, pairs, ties, alpha, region)
        return found_there, found_there.note
    return shares(count_ranking(table, ties), pairs), None


def _signed(
    gaps: GapEstimates, names: list[Pair], reasons: list[str | None], tail: float, level: float, note: str | None
) -> dict[Pair, Estimate]:
    low, high = gaps.limits(tail)
    return {
        name: Estimate(
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
) -> Estimate:
    sizes = np.abs(gaps.value)
    widest = 0 if np.isnan(sizes).all() else int(np.nanargmax(sizes))
    reason = next((text for text in reasons if text), None)
    low, high = (np.nan, np.nan) if reason else gap_limits(gaps, tail)
    value = float(gaps.value[widest])
    se = float(gaps.se[widest])
    return Estimate("xauc_gap", abs(value), se, low, high, level, "analytic", value, names[widest], reason, note)
