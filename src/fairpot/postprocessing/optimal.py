"""OptimalMerge: put every group on the reference's scale by comparing calibrated odds."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from fairpot._validation import as_double, check_choice, check_rows, check_share, is_number
from fairpot.metrics._wins import Ties, cross_half_wins
from fairpot.postprocessing._mapper import ScoreMapper
from fairpot.postprocessing._odds import SMOOTHINGS, Plan, make_plans
from fairpot.postprocessing._row_units import in_rows
from fairpot.postprocessing._sweep import (
    check_ties,
    check_values,
    find_reference,
    require_outcomes,
    require_reference,
    same_groups,
    table_to_trace,
    trace,
)
from fairpot.table import GroupCounts, ScoreTable
from fairpot.tradeoff.curve import TradeoffCurve
from fairpot.transport import ScoreMap

Array = NDArray[np.float64]

_GRID_SIZE = 201
_GRID_SPAN = np.log(32.0)
_PATH = np.linspace(0.0, 1.25, 51)
_BISECTIONS = 14
_FINER = 41


class OptimalMerge(ScoreMapper):
    """Repair scores by merging the groups in the order of their calibrated odds.

    The reference group stays as it is. A score of another group becomes the reference's score with the same
    odds of the outcome, after the group's own odds are multiplied by ``theta``. ``theta=1`` is the merge
    with the highest AUC; a larger ``theta`` lifts the group, a smaller one lowers it. Of all repairs that
    keep the order inside each group none has a higher AUC at its gap, as far as the odds are known: see
    :func:`fairpot.tradeoff.auc_limit`.

    Parameters
    ----------
    theta : float > 0, dict or None, default None
        The factor on the odds of each other group; a dict gives each group its own. None chooses it in ``fit``
        by rule.
    max_gap, max_auc_loss : float or None, default None
        The rule for ``theta=None``. ``max_gap``: the highest AUC with at most that xAUC gap. ``max_auc_loss``
        alone: the smallest gap that costs at most that much AUC. Neither: the smallest gap.
    reference : name of a group or None, default None
        The group that stays as it is. None takes the advantaged group.
    smoothing : {"logistic", "isotonic", "none"}, default "logistic"
        How the odds are learnt. "logistic": a straight line in the log-odds of the score (in the score, if
        scores are no probabilities) for each group. "isotonic": pooled blocks, with straight lines between their
        centres. "none": pooled blocks as they are, which reaches the limit (of strict ties) on the fitted rows and
        is fitted to their chance as well. On new data the line did best in our comparisons.
    ties : {"strict", "half"}, default "strict"
        How ties count where the reference group or ``theta`` is chosen.
    pos_label : default None
        The positive label where ``y`` is not 0/1.

    Attributes
    ----------
    maps_ : dict of group to ScoreMap
        The fitted map of each group, never decreasing; the reference group's is the identity.
    plans_ : dict of moved group to its plan
        From which ``plan.map(theta)`` gives the map of any ``theta``.
    theta_ : float or dict
        The factor, given or chosen; with more than two groups the rule chooses one for each.
    reference_ : name of the reference group
    groups_ : tuple of the groups' names
    table_ : ScoreTable
        The fitted rows, counted.

    Examples
    --------
    >>> import numpy as np
    >>> from fairpot.postprocessing import OptimalMerge
    >>> scores = np.array([0.8, 0.6, 0.4, 0.2] * 5 + [0.5, 0.4, 0.3, 0.2] * 5)
    >>> y, sex = np.array([1, 1, 0, 0, 1, 0, 1, 0] * 5), ["M"] * 20 + ["F"] * 20
    >>> om = OptimalMerge(theta=1.0).fit(scores, y, sensitive_features=sex)
    >>> om.transform([0.3, 0.4, 0.5], sensitive_features=["F"] * 3).round(2)
    array([0.45, 0.56, 0.66])
    """

    plans_: dict[Hashable, Plan]
    theta_: float | dict[Hashable, float]
    reference_: Hashable
    table_: ScoreTable

    def __init__(
        self,
        theta: float | Mapping[Hashable, float] | None = None,
        *,
        max_gap: float | None = None,
        max_auc_loss: float | None = None,
        reference: Hashable | None = None,
        smoothing: str = "logistic",
        ties: str = "strict",
        pos_label: Any = None,
    ) -> None:
        self.theta = theta
        self.max_gap = max_gap
        self.max_auc_loss = max_auc_loss
        self.reference = reference
        self.smoothing = smoothing
        self.ties = ties
        self.pos_label = pos_label

    def fit(self, scores: Any, y: Any = None, *, sensitive_features: Any, sample_weight: Any = None) -> Self:
        """Learn the map of every group.

        Parameters
        ----------
        scores : column of shape (n,) or (n, 1)
            Scores of any model, on any scale. Best not those of the rows the model was trained on, which look
            better than they are.
        y : column of shape (n,)
            Outcomes, 0/1; needed, with both outcomes in every group.
        sensitive_features : column of shape (n,), or frame with several columns
            Group of each row; several columns form intersections.
        sample_weight : column of shape (n,), default None
            Weights; a whole weight counts exactly like that many rows. Only their proportions matter: what all
            have in common is divided out before the odds are smoothed.

        Returns
        -------
        self
        """
        ties = self._check_parameters(labelled=y is not None)
        rows = check_rows(scores, y, sensitive_features, sample_weight, pos_label=self.pos_label)
        table = ScoreTable.from_rows(*rows)
        require_outcomes(table)
        self.table_ = table
        self.groups_ = table.groups
        self.reference_ = find_reference(table, self.reference, ties)
        counted = in_rows(table)
        self.plans_ = make_plans(counted, self.reference_, self.smoothing)
        self.theta_ = self._choose(counted, ties) if self.theta is None else self._given_theta()
        self.maps_ = {g: self._map(g) for g in self.groups_}
        self.n_features_in_ = 1
        return self

    def tradeoff(
        self,
        scores: Any = None,
        y: Any = None,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        thetas: Any = None,
        ties: str | None = None,
    ) -> TradeoffCurve:
        """Trace AUC and xAUC gap over theta, on the fitted data or on any other.

        Parameters
        ----------
        scores, y, sensitive_features, sample_weight
            The rows to evaluate on, as in ``fit``. Without any of them: the fitted rows, which are still counted.
        thetas : list of floats > 0, dict of group to list, or None, default None
            A list: these, the same for all groups. A dict: lists of equal length, one for each moved group.
            None: for two groups some 200 values around 1 and the ratio of the groups' odds; for more groups
            the way from 1 to each group's own smallest gap on these rows, and a quarter beyond.
        ties : {"strict", "half"} or None, default None
            None takes the estimator's own.

        Returns
        -------
        TradeoffCurve
            With ``theta`` as ``lam``. The AUC loss of its rules is measured from the scores as they came.
        """
        check_is_fitted(self, "maps_")
        checked = check_ties(self.ties if ties is None else ties)
        table = table_to_trace(self.table_, scores, y, sensitive_features, sample_weight, pos_label=self.pos_label)
        require_reference(table, self.reference_)
        moved = [g for g in table.groups if g != self.reference_]
        values = (
            self._default_thetas(table, checked)
            if thetas is None
            else check_values(thetas, moved, "thetas", check_theta)
        )
        return self._curve(table, values, checked)

    def _check_parameters(self, labelled: bool) -> Ties:
        check_choice(self.smoothing, "smoothing", SMOOTHINGS)
        for name in ("max_gap", "max_auc_loss"):
            if getattr(self, name) is not None:
                check_share(getattr(self, name), name, zero=True)
                if self.theta is not None:
                    raise ValueError(
                        f"{name} is a rule for choosing theta, but theta={self.theta!r} is given.\nHint: theta=None."
                    )
        if self.theta is not None and not isinstance(self.theta, Mapping):
            check_theta(self.theta, "theta")
        if not labelled:
            raise ValueError(
                "OptimalMerge compares the odds of the outcome and needs y.\n"
                "Hint: pass y; WassersteinRepair, or FairPOT with lam and reference, do without."
            )
        return check_ties(self.ties)

    def _given_theta(self) -> float | dict[Hashable, float]:
        if not isinstance(self.theta, Mapping):
            return check_theta(self.theta, "theta")
        same_groups(self.theta, tuple(self.plans_), "theta")
        return {g: check_theta(self.theta[g], f"theta[{g!r}]") for g in self.plans_}

    def _choose(self, table: ScoreTable, ties: Ties) -> float | dict[Hashable, float]:
        """Choose by rule on the fitted rows, with the thetas at which the rule begins to hold among the choices."""
        values = self._default_thetas(table, ties)
        if values.ndim == 1:
            [(moved, plan)] = self.plans_.items()
            bound, counts = self.max_gap or 0.0, table.for_pairs()
            pair = (plan, counts[moved], counts[self.reference_], ties)
            near = [crossing(*pair, wanted, values) for wanted in (-bound, 0.0, bound)]
            values = np.unique(np.concatenate((values, *near)))
        rule = {"max_gap": self.max_gap, "max_auc_loss": self.max_auc_loss}
        chosen = self._curve(table, values, ties).select(**rule).lam
        if self.max_auc_loss is None or not isinstance(chosen, float):
            return chosen
        # Where the allowed loss ends is not known beforehand: look once more around the choice.
        near_by = values[np.abs(np.arange(len(values)) - np.searchsorted(values, chosen)) <= 1]
        finer = np.append(np.geomspace(near_by[0], near_by[-1], _FINER), chosen)
        return self._curve(table, np.unique(finer), ties).select(**rule).lam

    def _map(self, group: Hashable) -> ScoreMap:
        if group == self.reference_:
            return ScoreMap.identity()
        theta = self.theta_[group] if isinstance(self.theta_, dict) else self.theta_
        return self.plans_[group].map(theta)

    def _default_thetas(self, table: ScoreTable, ties: Ties) -> Array:
        """Give a grid for one moved group; for more, the way to each one's smallest gap."""
        table = table.for_pairs()
        target, moved = table[self.reference_], [g for g in table.groups if g != self.reference_]
        grids = {g: _grid(table[g], target) for g in moved}
        if len(moved) == 1:
            return grids[moved[0]]
        ends = [crossing(self.plans_[g], table[g], target, ties, 0.0, grids[g])[0] for g in moved]
        return np.asarray(np.exp(np.outer(_PATH, np.log(ends))))

    def _curve(self, table: ScoreTable, values: Array, ties: Ties) -> TradeoffCurve:
        moved = [g for g in table.groups if g != self.reference_]
        steps = (
            {g: self.plans_[g].map(float(theta)) for g, theta in zip(moved, np.broadcast_to(row, len(moved)))}
            for row in values
        )
        return trace(table, values, steps, dial="theta", reference=self.reference_, ties=ties)


def crossing(plan: Plan, moved: GroupCounts, reference: GroupCounts, ties: Ties, wanted: float, grid: Array) -> Array:
    """Find, between two thetas of a grid, the two on either side of where the signed gap falls to ``wanted``.

    The better one comes first. The gap never rises with theta: a larger one lifts every score of the group.
    """
    sums = [float(c.sum()) for c in (reference.positive, moved.negative, moved.positive, reference.negative)]
    pairs = sums[0] * sums[1] or 1.0, sums[2] * sums[3] or 1.0

    def excess(theta: float) -> float:
        lifted = moved.rescored(plan.map(theta)(moved.score))
        ab, ba = cross_half_wins(reference, lifted, ties)
        return float(ab / pairs[0] - ba / pairs[1]) / 2 - wanted

    first, last = 0, len(grid) - 1
    while last - first > 1:
        middle = (first + last) // 2
        first, last = (middle, last) if excess(grid[middle]) > 0 else (first, middle)
    low, high = float(grid[first]), float(grid[last])
    for _ in range(_BISECTIONS):
        middle_theta = float(np.sqrt(low * high))
        low, high = (middle_theta, high) if excess(middle_theta) > 0 else (low, middle_theta)
    return np.array(sorted((low, high), key=lambda theta: abs(excess(theta))))


def check_theta(value: Any, name: str) -> float:
    """Check a finite factor above 0."""
    if not is_number(value):
        raise TypeError(f"{name} must be a number above 0, got {value!r}.")
    if not 0 < value < np.inf:
        raise ValueError(f"{name} must be finite and above 0, got {value!r}.\nHint: 1 leaves the odds as they are.")
    return as_double(value)


def _grid(moved: GroupCounts, reference: GroupCounts) -> Array:
    """Spread thetas around 1 and around the factor that makes the groups' odds equal, 1 among them."""
    sums = [float(c.sum()) for c in (reference.positive, reference.negative, moved.positive, moved.negative)]
    # Where an outcome is missing there are no odds to make equal.
    equal = np.log(sums[0] / sums[1]) - np.log(sums[2] / sums[3]) if min(sums) > 0 else 0.0
    grid = np.linspace(min(equal, 0.0) - _GRID_SPAN, max(equal, 0.0) + _GRID_SPAN, _GRID_SIZE)
    return np.unique(np.append(np.exp(grid), 1.0))
