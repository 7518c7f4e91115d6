"""XOrder: place one group's scores between another's by dynamic programming (Cui et al., 2023)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fairpot.metrics.wins import Ties
from fairpot.postprocessing.dial import Dial
from fairpot.postprocessing.direction import find_reference, require_outcomes
from fairpot.postprocessing.postprocessor import Postprocessor, TiesName
from fairpot.postprocessing.row_units import in_rows
from fairpot.postprocessing.xorder_dp import xorder_paths
from fairpot.table import GroupCounts, ScoreTable
from fairpot.transport import ScoreMap

# Nearly all that xOrder's dial does happens near 0, more so the smaller a group is.
SMALL_LAMS = np.array([0, 5e-4, 1e-3, 2e-3, 3e-3, 5e-3, 0.01, 0.015, 0.02, 0.03, 0.05, 0.1, 1])
_GRID = np.union1d(SMALL_LAMS, np.arange(11) / 10)
# Where there are more cells to walk than this, it takes minutes, and runs only if it is asked for by name.
MOST_CELLS = 10**8


class XOrder(Postprocessor):
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
    lam : float in [0, 1] or None, default None
        Weight of the gap. Most of what it does happens near 0, more so the smaller a group is: look at
        ``tradeoff`` with small ``lams``. None chooses it by rule.
    reference : name of a group or None, default None
        The group that stays as it is. None takes the advantaged group: the one whose positives are
        ranked above the others' negatives more often than the other way round.
    max_gap, max_auc_loss : float or None, default None
        The rule that chooses ``lam`` where it is None, which needs ``y``. ``max_gap``: the highest AUC with at most
        that xAUC gap. ``max_auc_loss`` alone: the smallest gap that costs at most that much AUC. Neither:
        the smallest gap.
    confidence : float or None, default None
        With ``max_gap``: choose among values whose true gap is within it with this confidence, tried on rows that
        their maps were not fitted on (cross-fitting inside ``fit``). ``certificate_`` says how that is known; if none
        can be certified, ``fit`` says what is missing.
    min_group : int, default 0
        Groups with fewer rows are left out of the comparison: their scores stay as they are, and a warning names
        them.
    groups : list of group names or None, default None
        Compare these only; the scores of all others stay as they are.
    ties : {"half", "strict"}, default "half"
        How ties count in what is chosen; "strict" is the paper's way.
    pos_label : default None
        The positive label where ``y`` is not 0/1.

    Attributes
    ----------
    maps_ : dict of group to ScoreMap
        The fitted map of each group; the reference group's is the identity.
    reference_ : name of the reference group
    groups_ : tuple of the groups' names
    left_out_ : tuple of the groups left out of the comparison
    lam_ : float
    table_ : ScoreTable
        The fitted rows, counted, from which ``tradeoff`` finds the orders for other values of ``lam``.
    certificate_ : Certificate or None
        How the gap is known to be within its bound, where ``confidence`` asked for that.

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

    dial: ClassVar[Dial] = Dial("lam", meaning="weight of the gap beside the AUC")
    needs_outcomes: ClassVar[bool] = True
    reference_: Hashable
    lam_: float

    def __init__(
        self,
        lam: float | None = None,
        *,
        reference: Hashable | None = None,
        max_gap: float | None = None,
        max_auc_loss: float | None = None,
        confidence: float | None = None,
        min_group: int = 0,
        groups: Any = None,
        ties: TiesName = "half",
        pos_label: Any = None,
    ) -> None:
        self.lam = lam
        self.reference = reference
        self.max_gap = max_gap
        self.max_auc_loss = max_auc_loss
        self.confidence = confidence
        self.min_group = min_group
        self.groups = groups
        self.ties = ties
        self.pos_label = pos_label

    def _learn(self, table: ScoreTable) -> None:
        require_outcomes(table)
        self.reference_ = find_reference(table, self.reference, self._ties)

    def _map(self, group: Hashable, value: float) -> ScoreMap:
        table = in_rows(self.table_)
        [found] = xorder_maps(table[self.reference_], table[group], np.array([value]))
        return found

    def _default_values(self, table: ScoreTable, ties: Ties) -> NDArray[np.float64]:
        return _GRID.copy()

    def sweep_values(self, table: ScoreTable) -> NDArray[np.float64]:
        """Return a few values, most of them small."""
        return SMALL_LAMS.copy()

    def obstacle(self, table: ScoreTable) -> str | None:
        """Say that the grid of cells is too large to walk unasked."""
        sizes = sorted(len(c.score) for c in table.counts)
        reference = self.reference if self.reference in table.groups else None
        fixed = len(table[reference].score) if reference is not None else sizes[-1]
        cells = fixed * (sum(sizes) - fixed)
        if cells <= MOST_CELLS:
            return None
        return f"a grid of {cells:.2g} cells takes minutes a fold (the limit is {MOST_CELLS:.0g}); ask for it by name."

    def _steps(self, table: ScoreTable, values: NDArray[np.float64]) -> Iterable[Mapping[Hashable, ScoreMap]]:
        fitted = in_rows(self.table_)
        fixed = fitted[self.reference_]
        moved = [g for g in table.groups if g in self.moved_groups]
        maps = {g: xorder_maps(fixed, fitted[g], values) for g in moved}
        return ({g: each[step] for g, each in maps.items()} for step in range(len(values)))


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
