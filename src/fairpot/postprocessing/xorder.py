"""XOrder: place one group's scores between another's by dynamic programming (Cui et al., 2023)."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from fairpot._validation import check_rows, check_share
from fairpot.postprocessing._mapper import ScoreMapper
from fairpot.postprocessing._sweep import (
    check_grid,
    check_ties,
    find_reference,
    require_outcomes,
    require_reference,
    table_to_trace,
    trace,
)
from fairpot.postprocessing._xorder_dp import xorder_paths
from fairpot.table import GroupCounts, ScoreTable
from fairpot.tradeoff.curve import TradeoffCurve
from fairpot.transport import ScoreMap

_GRID = np.arange(11) / 10


class XOrder(ScoreMapper):
    """Repair scores by xOrder: merge a group into the reference group's order.

    One group, the reference, stays as it is. The scores of every other group keep their order and are placed,
    from the top down, between those of the reference. A dynamic programme chooses where, by the pairs ordered
    rightly across the two groups as a share of all positive-negative pairs, minus ``lam`` times the absolute
    xAUC gap. A score that comes to stand between two reference scores is set evenly between them. Probabilities
    stay in [0, 1], unless the reference has a score of exactly 0 or 1: who is placed beyond it needs room outside.

    ``lam=0`` looks for the highest AUC, whatever the gap: it is not the identity, and no ``lam`` is.
    The programme keeps one path for each cell of its grid, so for ``lam > 0`` it need not find the best order;
    ``docs/xorder.md`` has an example. Time grows with the product of the numbers of distinct scores.

    Parameters
    ----------
    lam : float in [0, 1], default 0.5
        Weight of the gap. Most of what it does happens near 0, more so the smaller a group is: look at
        ``tradeoff`` with small ``lams``.
    reference : name of a group or None, default None
        The group that stays as it is. None takes the advantaged group: the one whose positives are
        ranked above the others' negatives more often than the other way round.
    ties : {"strict", "half"}, default "strict"
        How ties count where the reference group is chosen, and in ``tradeoff``.
    pos_label : default None
        The positive label where ``y`` is not 0/1.

    Attributes
    ----------
    maps_ : dict of group to ScoreMap
        The fitted map of each group; the reference group's is the identity.
    reference_ : name of the reference group
    groups_ : tuple of the groups' names
    lam_ : float
    table_ : ScoreTable
        The fitted rows, counted, from which ``tradeoff`` finds the orders for other values of ``lam``.

    Examples
    --------
    >>> import numpy as np
    >>> from fairpot.postprocessing import XOrder
    >>> scores = np.array([0.9, 0.7, 0.4, 0.2, 0.5, 0.3, 0.2, 0.1])
    >>> y, sex = [1, 1, 0, 0, 1, 1, 0, 0], ["M"] * 4 + ["F"] * 4
    >>> xo = XOrder(lam=0.5).fit(scores, y, sensitive_features=sex)
    >>> xo.transform(scores, sensitive_features=sex).round(3)
    array([0.9  , 0.7  , 0.4  , 0.2  , 0.6  , 0.5  , 0.167, 0.133])
    """

    reference_: Hashable
    lam_: float
    table_: ScoreTable

    def __init__(
        self,
        lam: float = 0.5,
        *,
        reference: Hashable | None = None,
        ties: str = "strict",
        pos_label: Any = None,
    ) -> None:
        self.lam = lam
        self.reference = reference
        self.ties = ties
        self.pos_label = pos_label

    def fit(self, scores: Any, y: Any = None, *, sensitive_features: Any, sample_weight: Any = None) -> Self:
        """Find where the scores of every moved group go.

        Parameters
        ----------
        scores : column of shape (n,) or (n, 1)
            Scores of any model, on any scale.
        y : column of shape (n,)
            Outcomes, 0/1.
        sensitive_features : column of shape (n,), or frame with several columns
            Group of each row; several columns form intersections.
        sample_weight : column of shape (n,), default None
            Weights; a whole weight counts exactly like that many rows.

        Returns
        -------
        self
        """
        lam = check_share(self.lam, "lam", zero=True)
        ties = check_ties(self.ties)
        if y is None:
            raise ValueError(
                "xOrder orders scores by their outcomes and needs y.\n"
                "Hint: pass y, or use WassersteinRepair, which needs none."
            )
        rows = check_rows(scores, y, sensitive_features, sample_weight, pos_label=self.pos_label)
        table = ScoreTable.from_rows(*rows)
        require_outcomes(table)
        self.reference_ = find_reference(table, self.reference, ties)
        self.groups_ = table.groups
        self.table_ = table
        self.lam_ = lam
        self.maps_ = dict.fromkeys(table.groups, ScoreMap.identity())
        for group in self._moved(table):
            [self.maps_[group]] = xorder_maps(table[self.reference_], table[group], np.array([lam]))
        self.n_features_in_ = 1
        return self

    def tradeoff(
        self,
        scores: Any = None,
        y: Any = None,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        lams: Any = None,
        ties: str | None = None,
    ) -> TradeoffCurve:
        """Trace AUC and xAUC gap over ``lam``: orders found on the fitted data, evaluated on any.

        Parameters
        ----------
        scores, y, sensitive_features, sample_weight
            The rows to evaluate on, as in ``fit``. Without any of them: the fitted rows, which are still counted.
        lams : list of floats in [0, 1], default None
            None takes 0, 0.1, ..., 1.
        ties : {"strict", "half"} or None, default None
            None takes the estimator's own.

        Returns
        -------
        TradeoffCurve
        """
        check_is_fitted(self, "maps_")
        checked = check_ties(self.ties if ties is None else ties)
        values = _GRID.copy() if lams is None else check_grid(lams, "lams", upper=1.0)
        table = table_to_trace(self.table_, scores, y, sensitive_features, sample_weight, pos_label=self.pos_label)
        require_reference(table, self.reference_)
        fixed = self.table_[self.reference_]
        maps = {g: xorder_maps(fixed, self.table_[g], values) for g in self._moved(table)}
        steps = ({g: each[step] for g, each in maps.items()} for step in range(len(values)))
        return trace(table, values, steps, dial="lam", reference=self.reference_, ties=checked)

    def _moved(self, table: ScoreTable) -> list[Hashable]:
        return [g for g in table.groups if g != self.reference_]


def xorder_maps(reference: GroupCounts, moved: GroupCounts, lams: NDArray[np.float64]) -> list[ScoreMap]:
    """Return the map of the moved group for each lambda."""
    paths = xorder_paths(reference, moved, lams)
    steps = _with_outer_steps(reference.score, moved.score)
    return [ScoreMap(moved.score, evenly_between(steps, above)) for above in paths.above]


def evenly_between(steps: NDArray[np.float64], above: NDArray[np.intp]) -> NDArray[np.float64]:
    """Space the moved scores evenly inside the gaps of ``steps`` (ascending) they were placed in.

    ``above`` descends: how many reference scores stand above each moved score.
    """
    gap = len(steps) - 2 - above  # gap g lies between steps[g] and steps[g + 1]
    size = np.bincount(gap, minlength=len(steps) - 1)
    rank = np.arange(1, len(above) + 1) - (np.cumsum(size) - size)[gap]
    low, high = steps[gap], steps[gap + 1]
    return np.clip(low + (high - low) * (rank / (size[gap] + 1)), low, high)


def _with_outer_steps(reference: NDArray[np.float64], moved: NDArray[np.float64]) -> NDArray[np.float64]:
    """Add a step below and one above the reference scores, to place scores beyond its ends.

    It is the moved group's own extreme where that lies further out, otherwise one mean distance of the
    reference's scores. Where all scores lie in [0, 1] so does the step, unless the reference reaches that end itself:
    nothing inside is beyond a score of exactly 1, and who is placed there comes to stand above it, in order.
    """
    low, high = min(reference[0], moved[0]), max(reference[-1], moved[-1])
    mean = ((high - low) or 1.0) / len(reference)
    bottom = moved[0] if moved[0] < reference[0] else reference[0] - mean
    top = moved[-1] if moved[-1] > reference[-1] else reference[-1] + mean
    if low >= 0 and high <= 1:
        bottom = max(bottom, 0.0) if reference[0] > 0 else bottom
        top = min(top, 1.0) if reference[-1] < 1 else top
    return np.concatenate(([bottom], reference, [top]))
