"""WassersteinRepair: move every group to the barycentre of the groups' score distributions."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from fairpot._validation import check_choice, check_rows, check_share
from fairpot.postprocessing._direction import advantaged_group
from fairpot.postprocessing._mapper import ScoreMapper
from fairpot.postprocessing._sweep import check_grid, check_ties, table_to_trace, trace
from fairpot.table import ScoreTable
from fairpot.tradeoff.curve import TradeoffCurve
from fairpot.transport import ScoreMap, project

_GRID = np.arange(101) / 100


class WassersteinRepair(ScoreMapper):
    """Repair scores by matching every group's quantiles to those of the barycentre.

    The barycentre's quantile function is the mean of the groups' quantile functions, weighted by the groups'
    sizes. At ``t=1`` all groups have its distribution, the paper's baseline "Wasserstein fair"; at smaller
    ``t`` each score has gone that share of the way. All groups move, outcomes play no part.

    A score stands for the mass that its group has at it, and goes to the mean of the barycentre's quantiles
    over that mass: equal scores of a group stay equal, and neither the order of the rows nor chance matters.
    New scores are interpolated; outside the fitted range the edge's value holds.

    Parameters
    ----------
    t : float in [0, 1], default 1.0
        How far to go along the straight line (in the Wasserstein distance) to the barycentre; 0 is the identity.
    distributions : {"fitted", "batch"}, default "fitted"
        Whether ``transform`` uses the distributions of the fitted data, or those of the rows it is given, as
        the paper's protocol does. A batch must have rows of every fitted group.
    pos_label : default None
        The positive label where ``y`` is not 0/1.

    Attributes
    ----------
    maps_ : dict of group to ScoreMap
        The fitted map of each group.
    full_maps_ : dict of group to ScoreMap
        The maps at ``t=1``, from which any ``t`` can be read.
    groups_ : tuple of the groups' names
    table_ : ScoreTable
        The fitted rows, counted.
    t_ : float

    Examples
    --------
    >>> import numpy as np
    >>> from fairpot.postprocessing import WassersteinRepair
    >>> scores, sex = np.array([0.9, 0.7, 0.5, 0.3]), ["M", "M", "F", "F"]
    >>> WassersteinRepair().fit_transform(scores, sensitive_features=sex)
    array([0.7, 0.5, 0.7, 0.5])
    >>> WassersteinRepair(t=0.5).fit_transform(scores, sensitive_features=sex)
    array([0.8, 0.6, 0.6, 0.4])
    """

    full_maps_: dict[Hashable, ScoreMap]
    t_: float
    table_: ScoreTable

    def __init__(self, t: float = 1.0, *, distributions: str = "fitted", pos_label: Any = None) -> None:
        self.t = t
        self.distributions = distributions
        self.pos_label = pos_label

    def fit(self, scores: Any, y: Any = None, *, sensitive_features: Any, sample_weight: Any = None) -> Self:
        """Learn the map of every group.

        Parameters
        ----------
        scores : column of shape (n,) or (n, 1)
            Scores of any model, on any scale.
        y : column of shape (n,), default None
            Checked if given, not used.
        sensitive_features : column of shape (n,), or frame with several columns
            Group of each row; several columns form intersections.
        sample_weight : column of shape (n,), default None
            Weights; a whole weight counts exactly like that many rows.

        Returns
        -------
        self
        """
        t = check_share(self.t, "t", zero=True)
        check_choice(self.distributions, "distributions", ("fitted", "batch"))
        rows = check_rows(scores, y, sensitive_features, sample_weight, pos_label=self.pos_label)
        table = ScoreTable.from_rows(*rows)
        self.table_ = table
        self.full_maps_ = barycentre_maps(table)
        self.t_ = t
        self.groups_ = table.groups
        self.maps_ = {g: part_of_the_way(full, t) for g, full in self.full_maps_.items()}
        self.n_features_in_ = 1
        return self

    def tradeoff(
        self,
        scores: Any = None,
        y: Any = None,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        ts: Any = None,
        ties: str = "strict",
    ) -> TradeoffCurve:
        """Trace AUC and xAUC gap over ``t``, on the fitted data or on any other.

        Parameters
        ----------
        scores, y, sensitive_features, sample_weight
            The rows to evaluate on, as in ``fit``. Without any of them: the fitted rows, which are still counted.
        ts : list of floats in [0, 1], default None
            The values of ``t``; None takes 0, 0.01, ..., 1.
        ties : {"strict", "half"}, default "strict"

        Returns
        -------
        TradeoffCurve
            With ``t`` as ``lam``. All groups move; as ``reference`` stands the group that is ahead in these
            rows before the repair, so that ``signed_gap`` starts positive.
        """
        check_is_fitted(self, "maps_")
        checked = check_ties(ties)
        values = _GRID.copy() if ts is None else check_grid(ts, "ts", upper=1.0)
        table = table_to_trace(self.table_, scores, y, sensitive_features, sample_weight, pos_label=self.pos_label)
        full = self.full_maps_ if self.distributions == "fitted" else self._batch_maps(table)
        compared = (table.positives > 0).all() and (table.negatives > 0).all()
        ahead = advantaged_group(table, checked) if compared else table.groups[0]
        steps = ({g: part_of_the_way(full[g], t) for g in table.groups} for t in values.tolist())
        return trace(table, values, steps, dial="t", reference=ahead, ties=checked)

    def _maps_for(self, scores: NDArray[np.float64], codes: NDArray[np.intp]) -> Mapping[Hashable, ScoreMap]:
        """Take the distributions of the batch, if asked for."""
        if self.distributions == "fitted" or self.t_ == 0:
            return self.maps_
        present, places = np.unique(codes, return_inverse=True)
        table = ScoreTable.from_rows(scores, None, places, [self.groups_[i] for i in present])
        return {g: part_of_the_way(full, self.t_) for g, full in self._batch_maps(table).items()}

    def _batch_maps(self, table: ScoreTable) -> dict[Hashable, ScoreMap]:
        absent = [g for g in self.groups_ if g not in table.groups]
        if absent:
            raise ValueError(
                f"distributions='batch' needs rows of every fitted group, and there are none of {absent}.\n"
                "Hint: transform a batch with all groups, or use distributions='fitted'."
            )
        return barycentre_maps(table)


def barycentre_maps(table: ScoreTable) -> dict[Hashable, ScoreMap]:
    """Map the scores of every group to the size-weighted barycentre of the groups' distributions.

    The mean of the barycentre's quantile function over a score's mass is the mean, over the groups, of the
    score's projections onto them: so the exact projection does all the work. The sum is taken in one order
    for all groups and in extended precision, so that scores of two groups with the same mass interval
    become equal bit for bit.
    """
    sizes = [c.weight.sum() for c in table.counts]
    total = np.longdouble(sum(sizes))
    maps = {}
    for group, own in zip(table.groups, table.counts):
        mean = np.zeros(len(own.score), dtype=np.longdouble)
        for size, other in zip(sizes, table.counts):
            onto = own.score if other is own else project(own.score, own.weight, other.score, other.weight)
            mean += np.longdouble(size) * onto
        maps[group] = ScoreMap(own.score, (mean / total).astype(np.float64))
    return maps


def part_of_the_way(full: ScoreMap, t: float) -> ScoreMap:
    """Return the map that goes the share ``t`` of the way that ``full`` goes."""
    if t == 0:
        return ScoreMap.identity()
    start, end = full.knots, full.values
    mixed = (1 - t) * start + t * end
    # Round-off must not lead past either end: a score that is where it should be stays so bit for bit.
    return ScoreMap(start, np.clip(mixed, np.minimum(start, end), np.maximum(start, end)))
