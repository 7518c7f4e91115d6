"""PostLogit: a scaled sigmoid on the scores of the disadvantaged group (Kallus and Zhou, 2019)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from fairpot._defaults import Meaning, Ties
from fairpot._validation import is_number
from fairpot.counts import GroupCounts
from fairpot.exceptions import InfeasibleRuleError
from fairpot.metrics.wins import cross_half_wins
from fairpot.postprocessing.dial import Dial, Value, check_list, find_reference, require_outcomes
from fairpot.postprocessing.postprocessor import Postprocessor
from fairpot.table import ScoreTable
from fairpot.transport import ScoreMap

_GRID = np.arange(100) / 10
# Where the sigmoid is shown as a line; no scores of people, which it does not need.
PROBES = np.arange(101) / 100


class LogitMap(ScoreMap):
    """The map s -> sigma(alpha s + beta), exact everywhere.

    Its knots are where it can be looked at, the hundredths in [0, 1] after a fit: it needs none itself.
    """

    __slots__ = ("alpha", "beta")

    def __init__(self, knots: ArrayLike, alpha: float, beta: float) -> None:
        self.alpha = alpha
        self.beta = beta
        super().__init__(knots, self(knots))

    def __call__(self, scores: ArrayLike) -> NDArray[np.float64]:
        """Map scores; the result has the shape of the input."""
        return sigmoid(np.asarray(scores, dtype=np.float64), self.alpha, self.beta)

    def parts(self, scores: ArrayLike) -> NDArray[np.int8]:
        """Say that every score is moved."""
        return np.zeros(np.shape(scores), dtype=np.int8)


def sigmoid(scores: NDArray[np.float64], alpha: float, beta: float) -> NDArray[np.float64]:
    """Return sigma(alpha s + beta)."""
    return np.asarray(expit(alpha * scores + beta))


class PostLogit(Postprocessor):
    """Repair scores by a scaled sigmoid: s -> sigma(slope s + beta) for every group but the reference.

    The scores of one group, the reference group, do not change. For every other group ``beta`` is fixed and ``slope``
    is the value of a grid with the smallest xAUC gap to the reference on the fitted data. Scores must be probabilities:
    the sigmoid answers with numbers between 0 and 1, whatever the reference's scale. New scores go through the same
    function, no interpolation.

    No ``slope`` is the identity. ``slope=0`` makes all scores of a group equal, and no rule chooses it.

    Parameters
    ----------
    slope : float >= 0, dict or None, default None
        None searches the grid, which needs ``y``: for each moved group the smallest gap to the reference, or, with a
        rule, one slope for all; a number is used for all moved groups, a dict gives each
        its own.
    beta : float, default -2.0
        The constant of the sigmoid.
    grid : list of floats >= 0, default None
        The values of ``slope`` to search; None takes 0, 0.1, ..., 9.9.
    reference : name of a group or None, default None
        The group whose scores do not change. None takes the group ranked highest, or, where a high score harms, the one
        ranked lowest; that needs ``y``.
    max_gap, max_auc_loss : float or None, default None
        The rule that chooses ``slope`` where it is None, which needs ``y``. ``max_gap``: the highest AUC with at most
        that xAUC gap. ``max_auc_loss`` alone: the smallest gap that costs at most that much AUC. Neither:
        the smallest gap.
    confidence, capacity, net_benefit_at, calibrate, keep_grid, high_score_means, min_group, groups, ties, pos_label
        What every method takes.

    Attributes
    ----------
    maps_ : dict of group to ScoreMap
        The fitted map of each group; the reference group's is the identity.
    slope_ : float, or dict of moved group to float
        The slope of each moved group; of equally good values the smallest.
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
    >>> from fairpot import PostLogit
    >>> score = np.array([0.9, 0.7, 0.4, 0.2, 0.5, 0.3, 0.2, 0.1])
    >>> y, sex = [1, 1, 0, 0, 1, 1, 0, 0], ["M"] * 4 + ["F"] * 4
    >>> repair = PostLogit().fit(score, y, sensitive_features=sex)
    >>> repair.slope_
    {'F': 5.4}
    >>> repair.transform(score, sensitive_features=sex).round(3)
    array([0.9  , 0.7  , 0.4  , 0.2  , 0.668, 0.406, 0.285, 0.188])
    """

    moves_by: ClassVar[str] = "moved by the sigmoid of the group"
    dial: ClassVar[Dial] = Dial("slope", high=np.inf, by_group=True, meaning="slope of the sigmoid")
    slope_: float | dict[Hashable, float]
    reference_: Hashable

    def __init__(
        self,
        slope: float | Mapping[Hashable, float] | None = None,
        *,
        beta: float = -2.0,
        grid: Any = None,
        reference: Hashable | None = None,
        max_gap: float | None = None,
        max_auc_loss: float | None = None,
        confidence: float | None = None,
        capacity: float | int | None = None,
        net_benefit_at: float | None = None,
        calibrate: bool = False,
        keep_grid: bool = False,
        high_score_means: Meaning | None = None,
        min_group: int = 0,
        groups: Any = None,
        ties: Ties = "half",
        pos_label: Any = None,
    ) -> None:
        self.slope = slope
        self.beta = beta
        self.grid = grid
        self.reference = reference
        self.max_gap = max_gap
        self.max_auc_loss = max_auc_loss
        self.confidence = confidence
        self.capacity = capacity
        self.net_benefit_at = net_benefit_at
        self.calibrate = calibrate
        self.keep_grid = keep_grid
        self.high_score_means = high_score_means
        self.min_group = min_group
        self.groups = groups
        self.ties = ties
        self.pos_label = pos_label

    def _check_parameters(self, labelled: bool) -> None:
        if not is_number(self.beta) or not np.isfinite(self.beta):
            raise ValueError(f"beta must be a finite number, got {self.beta!r}.")
        self._grid()

    def _learn(self, table: ScoreTable) -> None:
        _require_probabilities(table)
        if self.slope is None:
            require_outcomes(table)
        self.reference_ = find_reference(table, self.reference, self._ties)

    def _map(self, group: Hashable, value: float) -> ScoreMap:
        return LogitMap(PROBES, value, self.beta)

    def _choose(self, table: ScoreTable, ties: Ties) -> Value:
        if self._has_rule:
            return super()._choose(table, ties)
        exact, grid = table.for_pairs(), self._grid()
        fixed = exact[self.reference_]
        return {g: search_slope(exact[g], fixed, grid, self.beta, ties) for g in self.moved_groups}

    def _default_values(self, table: ScoreTable, ties: Ties) -> NDArray[np.float64]:
        return self._grid()

    def _grid(self) -> NDArray[np.float64]:
        return _GRID.copy() if self.grid is None else check_list(self.grid, "grid", self.dial.check)


def search_slope(
    moved: GroupCounts, reference: GroupCounts, grid: NDArray[np.float64], beta: float, ties: Ties
) -> float:
    """Return the first slope of the grid with the smallest xAUC gap to the reference.

    The sigmoid keeps the order of the scores, so each slope costs one merge of sorted scores. A slope that makes all of
    them equal is not a choice.
    """
    ab = float(reference.positive.sum()) * float(moved.negative.sum())
    ba = float(moved.positive.sum()) * float(reference.negative.sum())
    gaps = []
    for slope in grid.tolist():
        after = moved.rescored(sigmoid(moved.score, slope, beta))
        if len(after.score) == 1 < len(moved.score):
            gaps.append(np.inf)
            continue
        won, lost = cross_half_wins(reference, after, ties)
        gaps.append(abs(won / ab - lost / ba))
    if np.isinf(gaps).all():
        raise InfeasibleRuleError(
            "no slope can be chosen: each makes all scores of a group equal.\nHint: a grid with slopes above 0."
        )
    return float(grid[int(np.argmin(gaps))])


def _require_probabilities(table: ScoreTable) -> None:
    """Insist on scores between 0 and 1."""
    low = min(float(c.score[0]) for c in table.counts)
    high = max(float(c.score[-1]) for c in table.counts)
    if low >= 0 and high <= 1:
        return
    outside = sum(c.weight[(c.score < 0) | (c.score > 1)].sum() for c in table.counts)
    raise ValueError(
        f"PostLogit needs scores in [0, 1], got {outside:g} rows outside, from {low:g} to "
        f"{high:g}: the sigmoid would put one group on another scale than the reference.\n"
        "Hint: pass probabilities, or rescale all scores to [0, 1] first."
    )
