"""FairPOT: move the top lambda share of a group's scores by optimal transport towards a reference group."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, cast

import numpy as np
from numpy.typing import NDArray

from fairpot._arguments import argument
from fairpot._defaults import Meaning, Region, Ties
from fairpot._validation import check_choice, check_share, wording
from fairpot.inference.dial import Evidence, Top
from fairpot.postprocessing.dial import Dial, find_reference, require_outcomes
from fairpot.postprocessing.mapper import ROW_BY_ROW
from fairpot.postprocessing.own_dials import has_own_dials
from fairpot.postprocessing.postprocessor import Postprocessor
from fairpot.table import ScoreTable
from fairpot.tradeoff.building import exact_curve, keeps_region, on_grid, trace_top
from fairpot.tradeoff.curve import TradeoffCurve
from fairpot.tradeoff.operating import two_tops
from fairpot.tradeoff.together import Mover
from fairpot.transport import ScoreMap, TransportPlan

_GRID = np.linspace(0.0, 1.0, 101)
# Plans of more scores than this are not written out as maps for every value of a band.
_LONG = 20_000
# Up to this many distinct lambdas are traced one by one where they cannot be traced together.
_FEW = 400
# Up to this many distinct lambdas of each of several groups are all tried.
_FEW_OWN = 200


class FairPOT(Postprocessor):
    """Repair scores by Fair Proportional Optimal Transport.

    The scores of one group, the reference group, do not change. Of every other group the top ``lam`` share of the
    scores is moved to where the reference group's scores of the same rank are; the rest stays. ``lam=0`` changes
    nothing, ``lam=1`` aligns the whole distribution. Outcomes are needed only to find the reference group or to choose
    ``lam``; applying the repair needs scores and groups alone.

    Scores may be on any scale (probabilities, log-odds, points): moved scores are on the same one.

    Parameters
    ----------
    lam : float in [0, 1], dict or None, default None
        Share of each other group that is moved, ties at the cut included; a dict gives each group its own.
        None chooses it in ``fit`` by rule, which needs ``y``.
    alpha : float in (0, 1] or None, default None
        Repair only this share of the rows, those with the highest scores; None repairs everywhere. Several groups
        have their own ``lam`` there too.
    region : {"pooled", "group"}, default "pooled"
        Whether the top alpha is that of all rows together or of each group. With "pooled" nobody
        joins the top, and nobody leaves it unless scores tie at its edge: what changes is the order.
    region_from : {"fitted", "batch"}, default "fitted"
        Whether ``transform`` uses the threshold of the fitted data, so that nobody's score depends on who else is in
        the batch, or finds the top alpha in the rows it is given, as the paper does. Weights play no part in
        ``transform``: if the map was fitted with them, "fitted" is the region they gave.
    reference : name of a group or None, default None
        The group whose scores do not change. None takes the group ranked highest: the one whose positives are ranked
        above the others' negatives more often than the reverse; or, where a high score harms, the one ranked lowest.
        Groups with fewer than 30 positives or 30 negatives are passed over, unless all groups are so small.
    max_gap, max_auc_loss : float or None, default None
        The rule for ``lam=None``. ``max_gap``: the highest AUC with at most that xAUC gap; if the original scores keep
        it, ``lam_`` is 0 and nobody is moved. ``max_auc_loss`` alone: the smallest gap that costs at most that much
        AUC. Neither: the smallest gap. With more than two groups the gap is the largest between any two.
    monotone : bool, default False
        Keep moved scores from falling below the highest score that stays, so that nobody is overtaken
        inside a group. It matters where the group is moved downwards.
    common_dial : bool, default False
        With more than two groups: choose one value of ``lam`` for all moved groups. By default each has its own, and
        all are chosen together: the highest AUC whose largest gap between any two groups keeps the rule. That reaches
        target gaps which one value for all misses.
    exact : bool, default False
        Keep every breakpoint of the maps, and look at every distinct score where a rule chooses the repair strength.
        Otherwise maps with more than 100,000 breakpoints are simplified to so many, and ``simplified_`` says what that
        changes; a rule then holds on the fitted rows with the simplified maps.
    confidence, capacity, net_benefit_at, calibrate, keep_grid, high_score_means, min_group, groups, ties, pos_label
        What every method takes.

    Attributes
    ----------
    maps_ : dict of group to ScoreMap
        The fitted map of each group; the reference group's is the identity.
    reference_ : name of the reference group
    groups_ : tuple of the groups' names
    left_out_ : tuple of the groups left out of the comparison
    lam_ : float or dict
        The share that is moved, given or chosen; with more than two groups the rule chooses one for each, or 0 where
        no group has to be moved.
    plans_ : dict of group to TransportPlan
        The full transport of each moved group, from which any ``lam`` can be read.
    thresholds_ : dict of group to float, or None
        The lowest score of the fitted top-alpha region.
    simplified_ : dict or None
        What it changes that maps of very many breakpoints were simplified; None where all are kept.
    table_ : ScoreTable
        The fitted rows, counted.
    certificate_ : Certificate or None
        How the gap is known to be within its bound, where ``confidence`` asked for that.

    Examples
    --------
    >>> import numpy as np
    >>> from fairpot import FairPOT
    >>> score = np.array([0.9, 0.7, 0.4, 0.2, 0.5, 0.3, 0.2, 0.1])
    >>> y, sex = [1, 1, 0, 0, 1, 1, 0, 0], ["M"] * 4 + ["F"] * 4
    >>> repair = FairPOT(lam=0.5).fit(score, y, sensitive_features=sex)
    >>> repair.transform(score, sensitive_features=sex)
    array([0.9, 0.7, 0.4, 0.2, 0.9, 0.7, 0.2, 0.1])
    >>> repair.tradeoff(score, y, sensitive_features=sex).select().lam  # where the gap is smallest
    0.5
    """

    moves_by: ClassVar[str] = "moved by transport towards {reference}"
    dial: ClassVar[Dial] = Dial("lam", identity=0.0, by_group=True, meaning="share of the group that is moved")
    plans_: dict[Hashable, TransportPlan]
    reference_: Hashable
    lam_: float | dict[Hashable, float]
    thresholds_: dict[Hashable, float] | None

    def __init__(
        self,
        lam: float | Mapping[Hashable, float] | None = None,
        *,
        alpha: float | None = None,
        region: Region = "pooled",
        region_from: Literal["fitted", "batch"] = "fitted",
        reference: Hashable | None = None,
        max_gap: float | None = None,
        max_auc_loss: float | None = None,
        confidence: float | None = None,
        monotone: bool = False,
        capacity: float | int | None = None,
        net_benefit_at: float | None = None,
        calibrate: bool = False,
        keep_grid: bool = False,
        high_score_means: Meaning | None = None,
        common_dial: bool = False,
        exact: bool = False,
        min_group: int = 0,
        groups: Any = None,
        ties: Ties = "half",
        pos_label: Any = None,
    ) -> None:
        self.lam = lam
        self.alpha = alpha
        self.region = region
        self.region_from = region_from
        self.reference = reference
        self.max_gap = max_gap
        self.max_auc_loss = max_auc_loss
        self.confidence = confidence
        self.monotone = monotone
        self.capacity = capacity
        self.net_benefit_at = net_benefit_at
        self.calibrate = calibrate
        self.keep_grid = keep_grid
        self.high_score_means = high_score_means
        self.common_dial = common_dial
        self.exact = exact
        self.min_group = min_group
        self.groups = groups
        self.ties = ties
        self.pos_label = pos_label

    def _check_parameters(self, labelled: bool) -> None:
        check_choice(self.region, "region", ("pooled", "group"))
        check_choice(self.region_from, "region_from", ("fitted", "batch"))
        if not isinstance(self.monotone, bool | np.bool_):
            raise TypeError(f"monotone must be True or False, got {self.monotone!r}.")
        if self.alpha is not None:
            check_share(self.alpha, "alpha", zero=False)
            if self.capacity is not None:
                raise ValueError(two_tops(self.capacity, float(self.alpha)))

    def _learn(self, table: ScoreTable) -> None:
        self.thresholds_ = None
        if self.alpha is not None:
            # Groups that are left out have a place in the region of all rows, but no part in finding it.
            self.thresholds_ = self.table_.thresholds(self.alpha, self._region) | table.thresholds(
                self.alpha, self._region
            )
        region = self._cut(table, self.thresholds_)
        if self.lam is None:
            require_outcomes(region)
        elif self.reference is None:
            _require_both_classes(region)
        self.reference_ = find_reference(region, self.reference, self._ties, table)
        target = region[self.reference_]
        self.plans_ = {
            g: TransportPlan.between(c.score, c.weight, target.score, target.weight)
            for g, c in zip(region.groups, region.counts)
            if g != self.reference_
        }

    def _map(self, group: Hashable, value: float) -> ScoreMap:
        plan = self.plans_[group]
        start = None if self.thresholds_ is None else self.thresholds_[group]
        return plan.map(plan.cut(value), monotone=bool(self.monotone), start=start)

    def _applied_by(self) -> Mapping[str, Any]:
        if self.alpha is None or self.region_from == "fitted":
            return ROW_BY_ROW
        return {"kind": "top_of_batch", "alpha": float(self.alpha), "region": self.region}

    _enough_is_as_before: ClassVar[bool] = True

    def _searched(self, table: ScoreTable) -> ScoreTable:
        return table if self.alpha is None else self._cut(table, table.thresholds(self.alpha, self._region))

    def _reach(self, table: ScoreTable, group: Hashable, ties: Ties) -> NDArray[np.float64]:
        plan = self.plans_[group]
        few = np.asarray(plan.top_weight[::-1] / plan.top_weight[0], dtype=np.float64)
        reach = few if len(few) <= _FEW_OWN else np.linspace(0.0, 1.0, _FEW_OWN + 1)
        flat = [len(plan.scores) > 1 and np.ptp(self._mover(group, plan.scores)(float(v))) == 0 for v in reach[-1:]]
        return reach[:-1] if flat[0] else reach

    def _mover(self, group: Hashable, scores: NDArray[np.float64]) -> Mover:
        if self.alpha is not None:
            return super()._mover(group, scores)
        plan, monotone = self.plans_[group], bool(self.monotone)
        full = plan.map(0)
        return lambda value: _QuickMap(plan, full, plan.cut(value), monotone)(scores)

    def _default_values(self, table: ScoreTable, ties: Ties) -> NDArray[np.float64]:
        few = self._distinct(table)
        return few if len(few) else _GRID.copy()

    def _distinct(self, table: ScoreTable) -> NDArray[np.float64]:
        """Return every distinct lambda of the one moved group, if there are few; else none."""
        plans = [p for g, p in self.plans_.items() if g in table.groups]
        if len(plans) != 1 or len(plans[0].scores) > _FEW:
            return np.empty(0)
        return np.asarray(plans[0].top_weight[::-1] / plans[0].top_weight[0], dtype=np.float64)

    def _traces_at_once(self) -> bool:
        return len(self.plans_) == 1 and self.alpha is None

    def sweep_values(self, table: ScoreTable) -> NDArray[np.float64] | None:
        """Return the hundredths; several groups have each their own way."""
        return None if has_own_dials(self, table) else _GRID.copy()

    def _curve(self, table: ScoreTable, values: NDArray[np.float64] | None, ties: Ties) -> TradeoffCurve:
        reference = self._seen_from(table, ties)
        plans = {g: p for g, p in self.plans_.items() if g in table.groups}
        together = len(plans) == 1 and (values is None or values.ndim == 1)
        if self.alpha is not None:
            starts = table.thresholds(self.alpha, self._region)
            fitted = {g: cast(dict[Hashable, float], self.thresholds_)[g] for g in table.groups}
            mapped_from = starts if self.region_from == "batch" else fitted
            region = self._cut(table, starts)
            together = together and mapped_from == starts
            if not (together and keeps_region(table, starts, self.alpha, self._region, plans)):
                return self._trace_top(table, values, ties, reference)
            table = region
        if not together:
            return super()._curve(table, _GRID.copy() if values is None else values, ties)
        [(moved, plan)] = plans.items()
        monotone, partial = bool(self.monotone), self.alpha is not None
        start = starts[moved] if partial else None
        curve = exact_curve(plan, table, moved, reference, ties=ties, monotone=monotone, start=start, partial=partial)
        curve = replace(curve, alpha=self.alpha)
        return curve if values is None else on_grid(curve, plan, values)

    def _trace_top(
        self, table: ScoreTable, values: NDArray[np.float64] | None, ties: Ties, reference: Hashable
    ) -> TradeoffCurve:
        """Trace value by value, with the region found again each time, as the metrics find it."""
        every = values is None and len(self._distinct(table)) > 0
        values = self._default_values(table, ties) if values is None else values
        steps = self._steps(table, values)
        alpha = float(cast(float, self.alpha))
        curve = trace_top(table, values, steps, alpha=alpha, region=self._region, reference=reference, ties=ties)
        return replace(curve, exact=True) if every else curve

    def _evidence(self, table: ScoreTable, ties: Ties) -> Evidence:
        """Keep the rows of a curve; of a long plan, in a form that is quick to move few scores by."""
        found = super()._evidence(table, ties)
        plans = [(g, p) for g, p in self.plans_.items() if g in table.groups]
        if self.alpha is not None or len(plans) != 1 or len(plans[0][1].scores) <= _LONG:
            return found
        [(moved, plan)], [part] = plans, found.parts
        quick = _QuickSteps(moved, plan, bool(self.monotone))
        return replace(found, parts=(part._replace(views=quick.views),))

    def _top(self) -> Top | None:
        return None if self.alpha is None else Top(float(self.alpha), self._region)

    @property
    def _region(self) -> Region:
        return self.region

    def _cut(self, table: ScoreTable, thresholds: Mapping[Hashable, float] | None) -> ScoreTable:
        """Cut a table to the region that is repaired, insisting that every group has rows in it."""
        if thresholds is None:
            return table
        cut = table.above(thresholds)
        empty = [g for g, c in zip(cut.groups, cut.counts) if len(c.score) == 0]
        if empty:
            raise ValueError(
                f"group {empty[0]!r} has no rows in the top-alpha region ({argument('alpha', self.alpha)}): "
                "nothing to align.\n"
                f"Hint: a larger alpha, or {argument('region', 'group')} for the top alpha of each group."
            )
        return cut


@dataclass(frozen=True, eq=False)
class _QuickSteps:
    """Maps for covariances alone: exact but for scores between the last that stays and the first that moves."""

    moved: Hashable
    plan: TransportPlan
    monotone: bool

    def views(self, entries: ScoreTable, values: NDArray[np.float64]) -> list[list[NDArray[np.float64]]]:
        """Score the entries of a table at all values."""
        full = self.plan.map(0)
        maps = (_QuickMap(self.plan, full, self.plan.cut(float(value)), self.monotone) for value in values)
        return [entries.view({self.moved: move}) for move in maps]


@dataclass(frozen=True, eq=False)
class _QuickMap:
    plan: TransportPlan
    full: ScoreMap
    cut: int
    monotone: bool

    def __call__(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.cut >= len(self.plan.scores):
            return scores
        arrived = self.full(scores)
        if self.monotone and self.cut > 0:
            arrived = np.maximum(arrived, self.plan.scores[self.cut - 1])
        return np.where(scores >= self.plan.scores[self.cut], arrived, scores)


def _require_both_classes(table: ScoreTable) -> None:
    for what, counts in zip(wording.BOTH_OUTCOMES, (table.positives, table.negatives)):
        if counts.sum() == 0:
            raise ValueError(
                f"{argument('y')} has no {what} (in the region, if alpha is set): both outcomes are needed to compare."
            )
