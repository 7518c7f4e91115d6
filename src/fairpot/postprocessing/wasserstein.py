"""WassersteinRepair: move every group to the barycentre of the groups' score distributions."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from fairpot._defaults import Meaning, Ties
from fairpot._validation import check_choice
from fairpot.postprocessing.dial import Dial, find_reference
from fairpot.postprocessing.mapper import ROW_BY_ROW, all_of, barycentre_maps, part_of_the_way
from fairpot.postprocessing.postprocessor import Postprocessor
from fairpot.table import ScoreTable
from fairpot.transport import ScoreMap, moving

_GRID = np.arange(101) / 100


class WassersteinRepair(Postprocessor):
    """Repair scores by matching every group's quantiles to those of the barycentre.

    The barycentre's quantile function is the mean of the groups' quantile functions, weighted by the groups'
    sizes. At ``t=1`` all groups have its distribution, the paper's baseline "Wasserstein fair"; at smaller
    ``t`` each score has gone that share of the way. All groups move, outcomes play no part.

    A score stands for the mass that its group has at it, and goes to the mean of the barycentre's quantiles
    over that mass: equal scores of a group stay equal, and neither the order of the rows nor chance matters.
    New scores are interpolated; outside the fitted range the edge's value holds.

    Parameters
    ----------
    t : float in [0, 1] or None, default None
        How far to go along the straight line (in the Wasserstein distance) to the barycentre; 0 is the identity.
        None goes all the way, ``t=1``, unless a rule is given.
    distributions : {"fitted", "batch"}, default "fitted"
        Whether ``transform`` uses the distributions of the fitted data, or those of the rows it is given, as
        the paper's protocol does. A batch must have rows of every fitted group.
    max_gap, max_auc_loss : float or None, default None
        The rule that chooses ``t`` where it is None, which needs ``y``. ``max_gap``: the highest AUC with at most
        that xAUC gap; if the original scores keep it, ``t_`` is 0 and nobody is moved. ``max_auc_loss`` alone:
        the smallest gap that costs at most that much AUC. Neither: ``t=1``, which needs no ``y``.
    exact : bool, default False
        Keep every breakpoint of the maps, and look at every distinct score where a rule chooses the repair strength.
        Otherwise maps with more than 100,000 breakpoints are simplified to so many, and ``simplified_`` says what that
        changes; a rule then holds on the fitted rows with the simplified maps.
    confidence, capacity, net_benefit_at, calibrate, keep_grid, high_score_means, min_group, groups, ties, pos_label
        What every method takes.

    Attributes
    ----------
    maps_ : dict of group to ScoreMap
        The fitted map of each group.
    full_maps_ : dict of group to ScoreMap
        The maps at ``t=1``, from which any ``t`` can be read.
    groups_ : tuple of the groups' names
    left_out_ : tuple of the groups left out of the comparison
    simplified_ : dict or None
        What it changes that maps of very many breakpoints were simplified; None where all are kept.
    table_ : ScoreTable
        The fitted rows, counted.
    certificate_ : Certificate or None
        How the gap is known to be within its bound, where ``confidence`` asked for that.
    t_ : float
        Repair strength, as you gave it or as the rule chose it.

    Examples
    --------
    >>> import numpy as np
    >>> from fairpot import WassersteinRepair
    >>> score, sex = np.array([0.9, 0.7, 0.5, 0.3]), ["M", "M", "F", "F"]
    >>> WassersteinRepair().fit_transform(score, sensitive_features=sex)
    array([0.7, 0.5, 0.7, 0.5])
    >>> WassersteinRepair(t=0.5).fit_transform(score, sensitive_features=sex)
    array([0.8, 0.6, 0.6, 0.4])
    """

    moves_by: ClassVar[str] = "moved towards what the groups have in common (their barycentre)"
    dial: ClassVar[Dial] = Dial("t", identity=0.0, meaning="share of the way to the barycentre")
    full_maps_: dict[Hashable, ScoreMap]
    t_: float

    def __init__(
        self,
        t: float | None = None,
        *,
        distributions: Literal["fitted", "batch"] = "fitted",
        max_gap: float | None = None,
        max_auc_loss: float | None = None,
        confidence: float | None = None,
        capacity: float | int | None = None,
        net_benefit_at: float | None = None,
        calibrate: bool = False,
        keep_grid: bool = False,
        high_score_means: Meaning | None = None,
        exact: bool = False,
        min_group: int = 0,
        groups: Any = None,
        ties: Ties = "half",
        pos_label: Any = None,
    ) -> None:
        self.t = t
        self.distributions = distributions
        self.max_gap = max_gap
        self.max_auc_loss = max_auc_loss
        self.confidence = confidence
        self.capacity = capacity
        self.net_benefit_at = net_benefit_at
        self.calibrate = calibrate
        self.keep_grid = keep_grid
        self.high_score_means = high_score_means
        self.exact = exact
        self.min_group = min_group
        self.groups = groups
        self.ties = ties
        self.pos_label = pos_label

    def _check_parameters(self, labelled: bool) -> None:
        check_choice(self.distributions, "distributions", ("fitted", "batch"))

    def _default(self) -> float:
        return 1.0

    def _learn(self, table: ScoreTable) -> None:
        self.full_maps_ = barycentre_maps(table)

    def _map(self, group: Hashable, value: float) -> ScoreMap:
        return part_of_the_way(self.full_maps_[group], value)

    def _applied_by(self) -> Mapping[str, Any]:
        if self.distributions == "fitted" or self.t_ == 0:
            return ROW_BY_ROW
        rule = {"kind": "barycentre_of_batch", "t": float(self.t_)}
        return rule | ({"left_out": list(self.left_out_)} if self.left_out_ else {})

    def _default_values(self, table: ScoreTable, ties: Ties) -> NDArray[np.float64]:
        return _GRID.copy()

    def _steps(self, table: ScoreTable, values: NDArray[np.float64]) -> Iterable[Mapping[Hashable, ScoreMap]]:
        full = self.full_maps_
        if self.distributions == "batch":
            full = barycentre_maps(all_of(table, list(self.moved_groups)))
        for t in values.tolist():
            yield moving({g: part_of_the_way(full[g], t) for g in table.groups})

    def _seen_from(self, table: ScoreTable, ties: Ties) -> Hashable:
        """Name the group that is ahead in these rows: all groups move, and the signed gap starts positive."""
        compared = (table.positives > 0).all() and (table.negatives > 0).all()
        return find_reference(table, None, ties) if compared else table.groups[0]
