"""LogitShift: add one constant to the log-odds of a group."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fairpot._arguments import argument
from fairpot._defaults import Meaning, Ties
from fairpot.exceptions import InfeasibleRuleError
from fairpot.inference.shares import merge_entries
from fairpot.postprocessing.dial import Dial, Value, find_reference, require_outcomes
from fairpot.postprocessing.own_dials import has_own_dials
from fairpot.postprocessing.postprocessor import Finer, Postprocessor
from fairpot.postprocessing.shifting import ShiftedPair, ShiftScale, off_breakpoints
from fairpot.table import ScoreTable
from fairpot.transport import Floats, ScoreMap

# Where a curve is traced, as shares of the way to the smallest gap.
_PATH = np.linspace(0.0, 1.25, 101)
# Shifts over which those of several groups are looked for at first.
_REACH = 401
# Shifts that are tried between two.
_CLOSE = 41
# Entries of the tables on which a bound on the cost is looked for first.
_ENTRIES = 1000
# Shifts to compare methods at, on either side of 0.
_SWEEP = np.concatenate((np.arange(1, 81) / 40, 2 + np.arange(1, 21) / 10))


class LogitShift(Postprocessor):
    """Repair scores by one number for each group: a constant that is added to the log-odds.

    The scores of one group, the reference group, do not change. A probability p of another group becomes the
    probability whose odds are ``exp(shift)`` times as high. People keep their order inside a group, 0 and 1 stay, and
    ``shift=0`` changes nothing. Scores that are not probabilities (log-odds, points, deciles) are shifted on their own
    scale, in their own units: that is a shift of the log-odds after a logistic calibration common to all groups.

    Where a rule chooses the shift, it lies half way between two values at which scores of two groups would be equal, so
    that no rounding decides who is ranked higher.

    Parameters
    ----------
    shift : float, dict or None, default None
        What is added to the log-odds of each other group, from -500 to 500; a dict gives each group its own. None
        chooses it in ``fit`` by rule, which needs ``y``.
    reference : name of a group or None, default None
        The group whose scores do not change. None takes the group ranked highest, or, where a high score harms, the one
        ranked lowest; that needs ``y``.
    max_gap, max_auc_loss : float or None, default None
        The rule for ``shift=None``. ``max_gap``: the smallest shift with at most that xAUC gap; of several groups,
        the shifts with the highest AUC whose largest gap is at most that. ``max_auc_loss``
        alone: the smallest gap that costs at most that much AUC. Neither: the smallest gap.
    common_dial : bool, default False
        With more than two groups: choose one value of ``shift`` for all moved groups. By default each has its own, and
        all are chosen together: the highest AUC whose largest gap between any two groups keeps the rule. That reaches
        target gaps which one value for all misses.
    confidence, capacity, net_benefit_at, calibrate, keep_grid, high_score_means, min_group, groups, ties, pos_label
        What every method takes.

    Attributes
    ----------
    maps_ : dict of group to ScoreMap
        The fitted map of each group; the reference group's is the identity.
    shift_ : float, or dict of moved group to float
        What is added, given or chosen; with more than two groups the rule chooses one for each, or 0 where no group
        has to be moved.
    reference_ : name of the reference group
    groups_ : tuple of the groups' names
    left_out_ : tuple of the groups left out of the comparison
    table_ : ScoreTable
        The fitted rows, counted.
    certificate_ : Certificate or None
        How the gap is known to be within its bound, where ``confidence`` asked for that.

    Examples
    --------
    >>> import numpy as np
    >>> from fairpot import LogitShift
    >>> score = np.array([0.9, 0.7, 0.4, 0.2, 0.5, 0.3, 0.2, 0.1])
    >>> y, sex = [1, 1, 0, 0, 1, 1, 0, 0], ["M"] * 4 + ["F"] * 4
    >>> repair = LogitShift(max_gap=0.1).fit(score, y, sensitive_features=sex)
    >>> round(repair.shift_, 3)
    0.626
    >>> repair.transform(score, sensitive_features=sex).round(2)
    array([0.9 , 0.7 , 0.4 , 0.2 , 0.65, 0.44, 0.32, 0.17])
    """

    dial: ClassVar[Dial] = Dial(
        "shift", low=-np.inf, high=np.inf, identity=0.0, by_group=True, meaning="what is added to the log-odds"
    )
    moves_by: ClassVar[str] = "moved by the constant of the group"
    shift_: float | dict[Hashable, float]
    reference_: Hashable
    scale_: ShiftScale

    def __init__(
        self,
        shift: float | Mapping[Hashable, float] | None = None,
        *,
        reference: Hashable | None = None,
        max_gap: float | None = None,
        max_auc_loss: float | None = None,
        confidence: float | None = None,
        capacity: float | int | None = None,
        net_benefit_at: float | None = None,
        calibrate: bool = False,
        keep_grid: bool = False,
        high_score_means: Meaning | None = None,
        common_dial: bool = False,
        min_group: int = 0,
        groups: Any = None,
        ties: Ties = "half",
        pos_label: Any = None,
    ) -> None:
        self.shift = shift
        self.reference = reference
        self.max_gap = max_gap
        self.max_auc_loss = max_auc_loss
        self.confidence = confidence
        self.capacity = capacity
        self.net_benefit_at = net_benefit_at
        self.calibrate = calibrate
        self.keep_grid = keep_grid
        self.high_score_means = high_score_means
        self.common_dial = common_dial
        self.min_group = min_group
        self.groups = groups
        self.ties = ties
        self.pos_label = pos_label

    def _learn(self, table: ScoreTable) -> None:
        if self.shift is None:
            require_outcomes(table)
        self.reference_ = find_reference(table, self.reference, self._ties)
        self.scale_ = ShiftScale.of(table)

    def _map(self, group: Hashable, value: float) -> ScoreMap:
        return self.scale_.map(value)

    def _reach(self, table: ScoreTable, group: Hashable, ties: Ties) -> Floats:
        counts = table.for_pairs()
        low, high = ShiftedPair(counts[self.reference_], counts[group], self.scale_, ties).reach
        return np.union1d(np.linspace(low, high, _REACH), 0.0)

    def _settled(self, table: ScoreTable, values: Floats) -> Floats:
        return off_breakpoints(table, self.reference_, self.scale_, dict(zip(self._moved_in(table), values)))

    def _choose(self, table: ScoreTable, ties: Ties) -> Value:
        try:
            return super()._choose(table, ties)
        except InfeasibleRuleError as error:
            what, hint, way_out = str(error).partition(".\nHint: ")
            raise InfeasibleRuleError(f"{what}{self._stuck(table)}{hint}{way_out}") from error

    def _choose_one(self, table: ScoreTable, ties: Ties) -> Value:
        pair = self._pair(table, ties)
        if self.max_gap is not None:
            chosen = pair.smallest(self.max_gap)
            if chosen is None:
                raise InfeasibleRuleError(self._out_of_reach(table, pair.closest(), ties))
            return self._affordable(table, chosen, ties)
        if self.max_auc_loss is None:
            return pair.closest()
        # The gap falls all the way to its smallest: look closer and closer around the last shift that is allowed, on
        # fewer entries first.
        best, small = pair.closest(), merge_entries(table.for_pairs(), _ENTRIES)
        tried, step = best * _PATH[_PATH <= 1], abs(best) / 80
        for points in (41, 9):
            chosen = float(self._curve(small, np.unique(np.append(tried, 0.0)), ties).select(**self._rules).lam)  # type: ignore[arg-type]
            tried, step = np.append(np.linspace(chosen - step, chosen + step, points), [chosen, best]), step / 20
        return self._curve(table, np.unique(np.append(tried, 0.0)), ties).select(**self._rules).lam

    def _choose_operating(self, table: ScoreTable, ties: Ties) -> Value:
        chosen = super()._choose_operating(table, ties)
        if self.net_benefit_at is not None or not isinstance(chosen, float) or len(self._moved_in(table)) > 1:
            return chosen
        return self._pair(table, ties).settled(chosen)

    def _operating_values(self, table: ScoreTable, ties: Ties) -> tuple[Floats | None, Finer | None]:
        """Try shifts either way: the top of the list may have its gap the other way round."""
        if has_own_dials(self, table):
            return super()._operating_values(table, ties)
        spread, closer = _spread_shifts(table), partial(np.linspace, num=_CLOSE)
        if len(self._moved_in(table)) > 1:
            return spread, closer
        few = self._pair(table, ties).few(self.net_benefit_at)
        if few is not None:
            return few, None
        return np.union1d(spread, self._default_values(table, ties)), closer

    def _affordable(self, table: ScoreTable, chosen: float, ties: Ties) -> Value:
        """Insist that the chosen shift costs no more than is allowed, where a bound on the cost is given."""
        if self.max_auc_loss is None:
            return chosen
        return self._curve(table, np.array([0.0, chosen]), ties).select(**self._rules).lam

    def _out_of_reach(self, table: ScoreTable, best: float, ties: Ties) -> str:
        point = self._curve(table, np.array([best]), ties).point(0)
        asked = [argument(rule, bound) for rule, bound in self._rules.items() if bound is not None]
        together = " together" if len(asked) > 1 else ""
        return (
            f"no shift keeps {' and '.join(asked)}{together}: the smallest gap is {point.gap:.3g} at shift={best:.6g} "
            f"(AUC {point.auc:.3g}).\nHint: allow a larger gap, or try another method."
        )

    def _stuck(self, table: ScoreTable) -> str:
        """Say how many rows sit at 0 or 1, where no shift moves them."""
        if not self.scale_.probability:
            return ""
        there = sum(
            float(table[g].weight[~np.isfinite(self.scale_.forward(table[g].score))].sum()) for g in table.groups
        )
        return f"; {there:,.10g} rows have a score of exactly 0 or 1, which no shift moves" if there else ""

    def _default_values(self, table: ScoreTable, ties: Ties) -> NDArray[np.float64]:
        """Give every distinct shift where there are few; else the way from none to beyond the smallest gap."""
        moved = self._moved_in(table)
        if len(moved) == 1:
            pair = self._pair(table, ties)
            few = pair.few()
            return few if few is not None else np.unique(pair.closest() * _PATH)
        return _spread_shifts(table)

    def sweep_values(self, table: ScoreTable) -> Floats | None:
        """Spread shifts around 0, in log-odds or in spreads of the scores; several groups have each their own way."""
        return None if has_own_dials(self, table) else _spread_shifts(table)

    def _pair(self, table: ScoreTable, ties: Ties) -> ShiftedPair:
        counts = table.for_pairs()
        [moved] = self._moved_in(table)
        return ShiftedPair(counts[self.reference_], counts[moved], self.scale_, ties)

    def _moved_in(self, table: ScoreTable) -> list[Hashable]:
        return [g for g in table.groups if g in self.moved_groups]


def _spread(table: ScoreTable) -> float:
    """Give the spread of all scores; 1 where they have none."""
    pooled = table.pooled()
    weight = pooled.weight / pooled.weight.sum()
    mean = float(np.dot(weight, pooled.score))
    return float(np.sqrt(np.dot(weight, (pooled.score - mean) ** 2))) or 1.0


def _spread_shifts(table: ScoreTable) -> Floats:
    """Spread shifts around 0, in log-odds or in spreads of the scores."""
    unit = 1.0 if ShiftScale.of(table).probability else _spread(table)
    return np.concatenate((-unit * _SWEEP[::-1], [0.0], unit * _SWEEP))
