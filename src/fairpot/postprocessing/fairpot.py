"""FairPOT: move the top lambda share of a group's scores by optimal transport towards a reference group."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from fairpot._validation import Rows, check_choice, check_rows, check_share
from fairpot.metrics._wins import TIES, Ties
from fairpot.postprocessing._direction import find_reference, require_outcomes
from fairpot.postprocessing._mapper import ScoreMapper
from fairpot.postprocessing._sweep import check_values, require_reference, same_groups, table_to_trace
from fairpot.table import Region, ScoreTable
from fairpot.tradeoff.build import exact_curve, on_grid, trace
from fairpot.tradeoff.curve import TradeoffCurve
from fairpot.transport import ScoreMap, TransportPlan

_GRID = np.linspace(0.0, 1.0, 101)


class FairPOT(ScoreMapper):
    """Repair scores by Fair Proportional Optimal Transport.

    One group, the reference, stays as it is. Of every other group the top ``lam`` share of the scores is
    moved to where the reference group's scores of the same rank are; the rest stays. ``lam=0`` changes
    nothing, ``lam=1`` aligns the whole distribution. Labels are needed only to find the reference
    group or to choose ``lam``; applying the repair needs scores and groups alone.

    Scores may be on any scale (probabilities, log-odds, points): moved scores are on the same one.

    Parameters
    ----------
    lam : float in [0, 1], dict or None, default 0.4
        Share of each other group that is moved, ties at the cut included; a dict gives each group its own.
        None chooses it in ``fit`` by rule, which needs ``y``.
    alpha : float in (0, 1] or None, default None
        Repair only the top alpha of the ranking, for use with partial AUC; None repairs everywhere.
    region : {"pooled", "group"}, default "pooled"
        Whether the top alpha is that of all rows together or of each group.
    threshold : {"batch", "fitted"}, default "batch"
        Whether ``transform`` finds the top alpha in the rows it is given, as the paper does, or uses the
        threshold of the fitted data, as scoring row by row needs. Weights play no part in ``transform``: if the
        map was fitted with them, "fitted" is the region they gave.
    reference : name of a group or None, default None
        The group that stays as it is. None takes the advantaged group: the one whose positives are
        ranked above the others' negatives more often than the other way round.
    max_gap, max_auc_loss : float or None, default None
        The rule for ``lam=None``. ``max_gap``: the highest AUC with at most that xAUC gap. ``max_auc_loss``
        alone: the smallest gap that costs at most that much AUC. Neither: the smallest gap.
    monotone : bool, default False
        Keep moved scores from falling below the highest score that stays, so that nobody is overtaken
        inside a group. It matters where the group is moved downwards.
    ties : {"strict", "half"}, default "strict"
        How ties count where the reference group or ``lam`` is chosen.
    pos_label : default None
        The positive label where ``y`` is not 0/1.

    Attributes
    ----------
    maps_ : dict of group to ScoreMap
        The fitted map of each group; the reference group's is the identity.
    reference_ : name of the reference group
    groups_ : tuple of the groups' names
    lam_ : float or dict
        The share that is moved, given or chosen.
    plans_ : dict of group to TransportPlan
        The full transport of each moved group, from which any ``lam`` can be read.
    thresholds_ : dict of group to float, or None
        The lowest score of the fitted top-alpha region.
    table_ : ScoreTable
        The fitted rows, counted.

    Examples
    --------
    >>> import numpy as np
    >>> from fairpot import FairPOT
    >>> scores = np.array([0.9, 0.7, 0.4, 0.2, 0.5, 0.3, 0.2, 0.1])
    >>> y, sex = [1, 1, 0, 0, 1, 1, 0, 0], ["M"] * 4 + ["F"] * 4
    >>> fp = FairPOT(lam=0.5).fit(scores, y, sensitive_features=sex)
    >>> fp.transform(scores, sensitive_features=sex)
    array([0.9, 0.7, 0.4, 0.2, 0.9, 0.7, 0.2, 0.1])
    >>> fp.tradeoff(scores, y, sensitive_features=sex).select().lam  # where the gap is smallest
    0.5
    """

    plans_: dict[Hashable, TransportPlan]
    reference_: Hashable
    lam_: float | dict[Hashable, float]
    thresholds_: dict[Hashable, float] | None
    table_: ScoreTable

    def __init__(
        self,
        lam: float | Mapping[Hashable, float] | None = 0.4,
        *,
        alpha: float | None = None,
        region: str = "pooled",
        threshold: str = "batch",
        reference: Hashable | None = None,
        max_gap: float | None = None,
        max_auc_loss: float | None = None,
        monotone: bool = False,
        ties: str = "strict",
        pos_label: Any = None,
    ) -> None:
        self.lam = lam
        self.alpha = alpha
        self.region = region
        self.threshold = threshold
        self.reference = reference
        self.max_gap = max_gap
        self.max_auc_loss = max_auc_loss
        self.monotone = monotone
        self.ties = ties
        self.pos_label = pos_label

    def fit(self, scores: Any, y: Any = None, *, sensitive_features: Any, sample_weight: Any = None) -> Self:
        """Learn the map of every group.

        Parameters
        ----------
        scores : column of shape (n,) or (n, 1)
            Scores of any model: list, NumPy array, pandas, Polars or PyArrow column.
        y : column of shape (n,), default None
            Outcomes, 0/1; needed unless ``reference`` and ``lam`` are given.
        sensitive_features : column of shape (n,), or frame with several columns
            Group of each row; several columns form intersections. Rows are matched by position, not by index.
        sample_weight : column of shape (n,), default None
            Weights; a whole weight counts exactly like that many rows.

        Returns
        -------
        self
        """
        self._check_parameters(labelled=y is not None)
        rows = check_rows(scores, y, sensitive_features, sample_weight, pos_label=self.pos_label)
        self.table_ = ScoreTable.from_rows(*rows)
        self._fitted_rows: Rows | None = rows.copy()
        self.thresholds_ = None if self.alpha is None else self.table_.thresholds(self.alpha, self._region)
        table = self._cut(self.table_, self.thresholds_)
        if self.lam is None:
            require_outcomes(table)
        elif self.reference is None:
            _require_both_classes(table)
        self.groups_ = table.groups
        self.reference_ = find_reference(table, self.reference, self._ties)
        target = table[self.reference_]
        self.plans_ = {
            g: TransportPlan.between(c.score, c.weight, target.score, target.weight)
            for g, c in zip(table.groups, table.counts)
            if g != self.reference_
        }
        if self.lam is None:
            curve = self._curve(table, self.thresholds_, None, self._ties)
            self.lam_ = curve.select(max_gap=self.max_gap, max_auc_loss=self.max_auc_loss).lam
        else:
            self.lam_ = self._given_lam()
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
        lams: Any = None,
        ties: str | None = None,
    ) -> TradeoffCurve:
        """Trace AUC and xAUC gap over lambda, on the fitted data or on any other.

        Parameters
        ----------
        scores, y, sensitive_features, sample_weight
            The rows to evaluate on, as in ``fit``. Without any of them: the fitted rows, which are still counted.
        lams : list of floats, dict of group to list, or None, default None
            None: every distinct lambda, exactly, if there are two groups; with more groups 0, 0.01, ..., 1.
            A list: these in ascending order, each once, the same for all groups. A dict: lists of equal length, one
            for each moved group, row by row as given.
        ties : {"strict", "half"} or None, default None
            None takes the estimator's own.

        Returns
        -------
        TradeoffCurve
            With ``alpha`` set its AUC and gap are the partial ones, in the region of the rows given.
        """
        check_is_fitted(self, "maps_")
        checked = self._ties if ties is None else cast(Ties, check_choice(ties, "ties", TIES))
        table = table_to_trace(
            self.table_,
            scores,
            y,
            sensitive_features,
            sample_weight,
            pos_label=self.pos_label,
            fitted_rows=self._fitted_rows,
        )
        require_reference(table, self.reference_)
        thresholds = self.thresholds_
        if self.alpha is not None and self.threshold == "batch" and table is not self.table_:
            thresholds = table.thresholds(self.alpha, self._region)
        return self._curve(self._cut(table, thresholds), thresholds, lams, checked)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the fitted rows, kept only to know them again; their table goes along."""
        return super().__getstate__() | {"_fitted_rows": None}

    def _check_parameters(self, labelled: bool) -> None:
        check_choice(self.region, "region", ("pooled", "group"))
        check_choice(self.threshold, "threshold", ("batch", "fitted"))
        check_choice(self.ties, "ties", TIES)
        if not isinstance(self.monotone, bool | np.bool_):
            raise TypeError(f"monotone must be True or False, got {self.monotone!r}.")
        if self.alpha is not None:
            check_share(self.alpha, "alpha", zero=False)
        for name in ("max_gap", "max_auc_loss"):
            if getattr(self, name) is not None:
                check_share(getattr(self, name), name, zero=True)
                if self.lam is not None:
                    raise ValueError(
                        f"{name} is a rule for choosing lam, but lam={self.lam!r} is given.\nHint: lam=None."
                    )
        if self.lam is not None and not isinstance(self.lam, Mapping):
            _check_lam(self.lam, "lam")
        if not labelled and self.lam is None:
            raise ValueError("lam=None chooses lam by its effect on outcomes and needs y.\nHint: pass y, or a lam.")
        if not labelled and self.reference is None:
            raise ValueError(
                "without y the disadvantaged group cannot be told.\n"
                "Hint: pass y, or name the group that stays as it is, reference=..."
            )

    @property
    def _ties(self) -> Ties:
        return cast(Ties, self.ties)

    @property
    def _region(self) -> Region:
        return cast(Region, self.region)

    def _cut(self, table: ScoreTable, thresholds: Mapping[Hashable, float] | None) -> ScoreTable:
        """Cut a table to the region that is repaired, insisting that every group has rows in it."""
        if thresholds is None:
            return table
        cut = table.above(thresholds)
        empty = [g for g, c in zip(cut.groups, cut.counts) if len(c.score) == 0]
        if empty:
            raise ValueError(
                f"group {empty[0]!r} has no rows in the top-alpha region (alpha={self.alpha}): nothing to align.\n"
                "Hint: a larger alpha, or region='group' for the top alpha of each group."
            )
        return cut

    def _given_lam(self) -> float | dict[Hashable, float]:
        if not isinstance(self.lam, Mapping):
            return _check_lam(self.lam, "lam")
        same_groups(self.lam, tuple(self.plans_), "lam")
        return {g: _check_lam(self.lam[g], f"lam[{g!r}]") for g in self.plans_}

    def _map(self, group: Hashable) -> ScoreMap:
        if group == self.reference_:
            return ScoreMap.identity()
        plan = self.plans_[group]
        lam = self.lam_[group] if isinstance(self.lam_, dict) else self.lam_
        start = None if self.thresholds_ is None else self.thresholds_[group]
        return plan.map(plan.cut(lam), monotone=bool(self.monotone), start=start)

    def _maps_for(self, scores: NDArray[np.float64], codes: NDArray[np.intp]) -> Mapping[Hashable, ScoreMap]:
        """Let the maps begin at the top-alpha region of the batch, unless the fitted one is asked for."""
        if self.alpha is None or self.threshold == "fitted":
            return self.maps_
        present = np.unique(codes)
        names = [self.groups_[i] for i in present]
        table = ScoreTable.from_rows(scores, None, np.searchsorted(present, codes), names)
        starts = table.thresholds(self.alpha, self._region)
        return {g: self.maps_[g].starting_at(starts[g]) for g in names}

    def _curve(
        self, table: ScoreTable, thresholds: Mapping[Hashable, float] | None, lams: Any, ties: Ties
    ) -> TradeoffCurve:
        plans = {g: p for g, p in self.plans_.items() if g in table.groups}
        starts = dict.fromkeys(plans) if thresholds is None else thresholds
        grid = None if lams is None else check_values(lams, tuple(plans), "lams", _check_lam)
        monotone = bool(self.monotone)
        if len(plans) > 1 or (grid is not None and grid.ndim == 2):
            grid = _GRID.copy() if grid is None else grid
            steps = (
                {
                    g: plan.map(plan.cut(lam), monotone=monotone, start=starts[g])
                    for (g, plan), lam in zip(plans.items(), lams)
                }
                for lams in np.broadcast_to(grid if grid.ndim == 2 else grid[:, None], (len(grid), len(plans)))
            )
            return trace(table, grid, steps, reference=self.reference_, ties=ties, partial=self.alpha is not None)
        [(moved, plan)] = plans.items()
        partial = self.alpha is not None
        curve = exact_curve(
            plan, table, moved, self.reference_, ties=ties, monotone=monotone, start=starts[moved], partial=partial
        )
        return curve if grid is None else on_grid(curve, plan, grid)


def _require_both_classes(table: ScoreTable) -> None:
    for what, counts in (("positives", table.positives), ("negatives", table.negatives)):
        if counts.sum() == 0:
            raise ValueError(f"y has no {what} (in the region, if alpha is set): both outcomes are needed to compare.")


def _check_lam(value: Any, name: str) -> float:
    return check_share(value, name, zero=True)
