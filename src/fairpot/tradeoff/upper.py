"""The limit of more than two groups: what no repair can exceed.

A repair that keeps the order inside each group merges the orders of all groups into one. Each two groups taken for
themselves have the limit of two groups, so the best cross wins of every two within the bound, added up, are at least
those of any merge. (A merge need not have them all: the pairs may want a above b, b above c, c above a.)
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fairpot._defaults import Ties
from fairpot._docs import documented
from fairpot._html import html_table, lines_svg, paragraph
from fairpot._optional import make_frame
from fairpot._shown import display
from fairpot._validation import check_share
from fairpot.metrics.wins import inner_half_wins
from fairpot.table import ScoreTable
from fairpot.tradeoff.curve import TradeoffCurve
from fairpot.tradeoff.limit import KNOWS, SHOWN, LimitPoint, line_of_two, mean_line, pool, require_both_outcomes
from fairpot.transport import Floats

# Bounds that a frame lists.
_LISTED = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


class PairLine(NamedTuple):
    """What the pairs of two groups add to the AUC at most, at each of their signed gaps: a concave line."""

    signed_gap: Floats
    added: Floats

    def most(self, bound: float) -> float:
        """Give the most within a bound on the gap."""
        best = float(np.clip(self.signed_gap[np.argmax(self.added)], -bound, bound))
        return float(np.interp(best, self.signed_gap, self.added))


@documented
@dataclass(frozen=True, eq=False)
class UpperLimit:
    """What the AUC of more than two groups whose largest gap is within a bound cannot exceed on these rows.

    Like the limit of two groups it knows the outcomes of the rows, see ``docs/understand/best-auc.md``; and no repair
    that keeps the order inside each group need have so much.

    Attributes
    ----------
    groups : names of the groups
    inside : float
        What the pairs inside groups add to the AUC; no merge changes it.
    lines : dict of pair of groups to PairLine
        What the pairs of every two groups add at most.
    error : float
        By how much it may lie too low at most: 0 unless there were too many vertices to keep.

    Examples
    --------
    >>> from fairpot.tradeoff import auc_limit
    >>> y, score = [0, 1, 0, 1, 0, 1], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    >>> auc_limit(y, score, sensitive_features=["a", "a", "b", "b", "c", "c"]).best(max_gap=0.0).auc
    1.0
    """

    groups: tuple[Hashable, ...]
    inside: float
    lines: dict[tuple[Hashable, Hashable], PairLine]
    error: float = 0.0
    optimism: None = None
    reason: str = "what chance adds to the limit is estimated for two groups only"

    @classmethod
    def of(cls, table: ScoreTable, *, ties: Ties = "half") -> UpperLimit:
        """Compute the limit of a labelled table; see :func:`auc_limit`."""
        require_both_outcomes(table)
        table = table.for_pairs()
        pooled = [pool(c) for c in table.counts]
        total = float(table.positives.sum()) * float(table.negatives.sum())
        # A tie inside a group is worth a half, so with ties="half" pooling helps there; with "strict" it costs.
        blocks = pooled if ties == "half" else table.counts
        inside = sum(float(inner_half_wins(c, ties)) for c in blocks) / 2 / total
        lines, error = {}, 0.0
        for g, h in itertools.combinations(range(len(pooled)), 2):
            gap, wins, _, missing = line_of_two(pooled[g], pooled[h])
            lines[table.groups[g], table.groups[h]] = PairLine(gap, wins / total)
            error += missing / total
        return cls(table.groups, inside, lines, error)

    @classmethod
    def mean(cls, limits: Sequence[UpperLimit]) -> UpperLimit:
        """Return the limit of means over folds: of AUC, and of every two groups' signed gap."""
        lines = {pair: PairLine(*mean_line([each.lines[pair] for each in limits])[:2]) for pair in limits[0].lines}
        inside, error = (float(np.mean([getattr(each, name) for each in limits])) for name in ("inside", "error"))
        return cls(limits[0].groups, inside, lines, error)

    def __repr__(self) -> str:
        names, most, even = ", ".join(map(str, self.groups)), self.best().auc, self.best(0.02).auc
        return f"<UpperLimit of merging {names}: AUC at most {most:.4f}, {even:.4f} at a gap of at most 0.02>"

    def best(self, max_gap: float = 1.0) -> LimitPoint:
        """Return what no repair that keeps the order inside each group exceeds within a gap.

        {max_gap}
        """
        bound = check_share(max_gap, "max_gap", zero=True)
        auc = min(self.inside + sum(line.most(bound) for line in self.lines.values()), 1.0)
        return LimitPoint(np.nan, auc, bound, np.nan)

    def auc_at(self, gap: ArrayLike) -> Floats:
        """Return the limit at each gap, in the shape of the input; it does not matter which group is higher.

        Parameters
        ----------
        gap : array
            Gaps between any two groups.
        """
        wanted = np.asarray(gap, dtype=np.float64)
        return np.reshape([self.best(abs(float(each))).auc for each in wanted.ravel()], wanted.shape)

    def along(self, curve: TradeoffCurve, *, signed: bool = True) -> dict[str, Floats]:
        """Give the limit at the gap of each point of a curve; what of it is within reach is not known.

        Parameters
        ----------
        curve : TradeoffCurve
            Of the same rows.
        signed : bool, default True
            Not used: the gap of several groups has no sign.
        """
        if {*curve.moved, curve.reference} != set(self.groups):
            raise ValueError(
                f"the curve is one of {[*curve.moved, curve.reference]}, the limit of {list(self.groups)}.\n"
                "Hint: both must come from the same rows."
            )
        gaps = np.nan_to_num(curve.gap, nan=1.0)
        return {"limit_auc": self.auc_at(gaps), "reachable_auc": np.full(len(gaps), np.nan)}

    def _repr_html_(self) -> str:
        """Show the limit over the target gap."""
        aucs = self.auc_at(SHOWN).tolist()
        line = [("at most", SHOWN, aucs)]
        picture = lines_svg(line, "Best possible AUC over the target gap", ("gap at most", "AUC"), note=KNOWS)
        rows = [{"gap at most": bound, "best possible AUC, at most": auc} for bound, auc in zip(SHOWN, aucs)]
        return f"<div>{paragraph(repr(self)[1:-1])}{picture}{html_table(rows)}</div>"

    def plot(self, ax: Any = None) -> Any:
        """Draw the limit over the target gap.

        {ax}
        """
        return display("LimitDisplay").from_limit(self, ax=ax).ax_

    def frame(self) -> Any:
        """Return the limit at some bounds as a tidy frame (pandas, Polars or PyArrow, whichever is in use)."""
        return make_frame({"max_gap": np.array(_LISTED), "auc": self.auc_at(_LISTED)})
