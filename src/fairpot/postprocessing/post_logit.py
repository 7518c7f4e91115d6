"""PostLogit: a scaled sigmoid on the scores of the disadvantaged group (Kallus and Zhou, 2019)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from fairpot._validation import check_rows, is_number
from fairpot.metrics._wins import Ties, cross_half_wins
from fairpot.postprocessing._mapper import ScoreMapper
from fairpot.postprocessing._sweep import (
    check_dial,
    check_grid,
    check_ties,
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

_GRID = np.arange(100) / 10


class LogitMap(ScoreMap):
    """The map s -> sigma(alpha s + beta), exact everywhere.

    Its knots are the fitted scores: what is exported as a piecewise linear map agrees exactly there, and
    lies on the chords in between.
    """

    __slots__ = ("alpha", "beta")

    def __init__(self, knots: ArrayLike, alpha: float, beta: float) -> None:
        self.alpha = alpha
        self.beta = beta
        super().__init__(knots, self(knots))

    def __call__(self, scores: ArrayLike) -> NDArray[np.float64]:
        """Map scores; the result has the shape of the input."""
        return sigmoid(np.asarray(scores, dtype=np.float64), self.alpha, self.beta)


def sigmoid(scores: NDArray[np.float64], alpha: float, beta: float) -> NDArray[np.float64]:
    """Return sigma(alpha s + beta)."""
    return np.asarray(expit(alpha * scores + beta))


class PostLogit(ScoreMapper):
    """Repair scores by a scaled sigmoid: s -> sigma(alpha s + beta) for the disadvantaged group.

    One group, the reference, stays as it is. For every other group ``beta`` is fixed and ``alpha`` is the
    value of a grid with the smallest xAUC gap to the reference on the fitted data. Scores must be
    probabilities: the sigmoid answers with numbers between 0 and 1, whatever the reference's scale.
    New scores go through the same function, no interpolation.

    No ``alpha`` is the identity, and ``alpha=0`` makes all scores of a group equal.

    Parameters
    ----------
    alpha : float >= 0, dict or None, default None
        None searches the grid, which needs ``y``; a number is used for all moved groups, a dict gives each
        its own.
    beta : float, default -2.0
    grid : list of floats >= 0, default None
        The values of ``alpha`` to search; None takes 0, 0.1, ..., 9.9.
    reference : name of a group or None, default None
        The group that stays as it is. None takes the advantaged group, which needs ``y``.
    ties : {"strict", "half"}, default "strict"
        How ties count in the search.
    pos_label : default None
        The positive label where ``y`` is not 0/1.

    Attributes
    ----------
    maps_ : dict of group to ScoreMap
        The fitted map of each group; the reference group's is the identity.
    alpha_ : dict of moved group to float
        The slope of each moved group; of equally good values the smallest.
    reference_ : name of the reference group
    groups_ : tuple of the groups' names
    table_ : ScoreTable
        The fitted rows, counted.

    Examples
    --------
    >>> import numpy as np
    >>> from fairpot.postprocessing import PostLogit
    >>> scores = np.array([0.9, 0.7, 0.4, 0.2, 0.5, 0.3, 0.2, 0.1])
    >>> y, sex = [1, 1, 0, 0, 1, 1, 0, 0], ["M"] * 4 + ["F"] * 4
    >>> pl = PostLogit().fit(scores, y, sensitive_features=sex)
    >>> pl.alpha_
    {'F': 5.4}
    >>> pl.transform(scores, sensitive_features=sex).round(3)
    array([0.9  , 0.7  , 0.4  , 0.2  , 0.668, 0.406, 0.285, 0.188])
    """

    alpha_: dict[Hashable, float]
    reference_: Hashable
    table_: ScoreTable

    def __init__(
        self,
        alpha: float | Mapping[Hashable, float] | None = None,
        *,
        beta: float = -2.0,
        grid: Any = None,
        reference: Hashable | None = None,
        ties: str = "strict",
        pos_label: Any = None,
    ) -> None:
        self.alpha = alpha
        self.beta = beta
        self.grid = grid
        self.reference = reference
        self.ties = ties
        self.pos_label = pos_label

    def fit(self, scores: Any, y: Any = None, *, sensitive_features: Any, sample_weight: Any = None) -> Self:
        """Find the slope of every moved group.

        Parameters
        ----------
        scores : column of shape (n,) or (n, 1)
            Probabilities of any model.
        y : column of shape (n,), default None
            Outcomes, 0/1; needed unless ``alpha`` and ``reference`` are given.
        sensitive_features : column of shape (n,), or frame with several columns
            Group of each row; several columns form intersections.
        sample_weight : column of shape (n,), default None
            Weights; a whole weight counts exactly like that many rows.

        Returns
        -------
        self
        """
        ties = check_ties(self.ties)
        grid = self._checked_grid()
        self._check_labelled(y)
        rows = check_rows(scores, y, sensitive_features, sample_weight, pos_label=self.pos_label)
        _require_probabilities(rows.scores)
        table = ScoreTable.from_rows(*rows)
        if self.alpha is None:
            require_outcomes(table)
        self.reference_ = find_reference(table, self.reference, ties)
        self.groups_ = table.groups
        self.table_ = table
        moved = [g for g in table.groups if g != self.reference_]
        if self.alpha is None:
            exact = table.for_pairs()
            fixed = exact[self.reference_]
            self.alpha_ = {g: search_alpha(exact[g], fixed, grid, self.beta, ties) for g in moved}
        else:
            self.alpha_ = self._given_alpha(moved)
        self.maps_ = {
            g: LogitMap(c.score, self.alpha_[g], self.beta) if g in self.alpha_ else ScoreMap.identity()
            for g, c in zip(table.groups, table.counts)
        }
        self.n_features_in_ = 1
        return self

    def tradeoff(
        self,
        scores: Any = None,
        y: Any = None,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        alphas: Any = None,
        ties: str | None = None,
    ) -> TradeoffCurve:
        """Trace AUC and xAUC gap over ``alpha``, the same for all moved groups.

        Parameters
        ----------
        scores, y, sensitive_features, sample_weight
            The rows to evaluate on, as in ``fit``. Without any of them: the fitted rows, which are still counted.
        alphas : list of floats >= 0, default None
            None takes the estimator's grid.
        ties : {"strict", "half"} or None, default None
            None takes the estimator's own.

        Returns
        -------
        TradeoffCurve
            With ``alpha`` itself as ``lam``: from 0 to 9.9 by default, none of them the identity.
        """
        check_is_fitted(self, "maps_")
        checked = check_ties(self.ties if ties is None else ties)
        values = self._checked_grid() if alphas is None else check_grid(alphas, "alphas")
        table = table_to_trace(self.table_, scores, y, sensitive_features, sample_weight, pos_label=self.pos_label)
        require_reference(table, self.reference_)
        moved = [g for g in table.groups if g != self.reference_]
        steps = (dict.fromkeys(moved, partial(sigmoid, alpha=a, beta=self.beta)) for a in values.tolist())
        return trace(table, values, steps, dial="alpha", reference=self.reference_, ties=checked)

    def _checked_grid(self) -> NDArray[np.float64]:
        if not is_number(self.beta) or not np.isfinite(self.beta):
            raise ValueError(f"beta must be a finite number, got {self.beta!r}.")
        return _GRID.copy() if self.grid is None else check_grid(self.grid, "grid")

    def _check_labelled(self, y: Any) -> None:
        if y is None and self.alpha is None:
            raise ValueError(
                "alpha=None searches the alpha with the smallest gap and needs y.\nHint: pass y, or an alpha."
            )
        if y is None and self.reference is None:
            raise ValueError(
                "without y the disadvantaged group cannot be told.\n"
                "Hint: pass y, or name the group that stays as it is, reference=..."
            )

    def _given_alpha(self, moved: list[Hashable]) -> dict[Hashable, float]:
        if not isinstance(self.alpha, Mapping):
            return dict.fromkeys(moved, check_dial(self.alpha, "alpha"))
        same_groups(self.alpha, moved, "alpha")
        return {g: check_dial(self.alpha[g], f"alpha[{g!r}]") for g in moved}


def search_alpha(
    moved: GroupCounts, reference: GroupCounts, grid: NDArray[np.float64], beta: float, ties: Ties
) -> float:
    """Return the first alpha of the grid with the smallest xAUC gap to the reference.

    The sigmoid keeps the order of the scores, so each alpha costs one merge of sorted scores.
    """
    ab = float(reference.positive.sum()) * float(moved.negative.sum())
    ba = float(moved.positive.sum()) * float(reference.negative.sum())
    gaps = []
    for alpha in grid.tolist():
        after = moved.rescored(sigmoid(moved.score, alpha, beta))
        won, lost = cross_half_wins(reference, after, ties)
        gaps.append(abs(won / ab - lost / ba))
    return float(grid[int(np.argmin(gaps))])


def _require_probabilities(scores: NDArray[np.float64]) -> None:
    outside = (scores < 0) | (scores > 1)
    if outside.any():
        raise ValueError(
            f"PostLogit needs scores in [0, 1], got {int(outside.sum())} rows outside, from {scores.min():g} to "
            f"{scores.max():g}: the sigmoid would put one group on another scale than the reference.\n"
            "Hint: pass probabilities, or rescale all scores to [0, 1] first."
        )
