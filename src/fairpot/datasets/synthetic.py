"""The paper's synthetic data: two Gaussian groups, each with its own logistic model."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import bisect
from scipy.special import expit, logit
from sklearn.utils import Bunch

from fairpot._optional import make_frame
from fairpot._validation import is_number
from fairpot.datasets.fetch import check_flag, check_whole, make_rng

_DESCR = """\
Synthetic two-group data
------------------------
{n} rows, {d} independent Gaussian features, groups "a" and "b" of equal size. Group a has mean {means[0]}
and standard deviation {stds[0]} in every feature, group b mean {means[1]} and standard deviation {stds[1]}.
Each group has its own logistic model: coefficients drawn from N(0, 1), an intercept found by bisection so
that the mean probability is {rates[0]} in group a and {rates[1]} in group b. Labels are drawn from those
probabilities.

The coefficients are part of the draw. How well the groups can be ranked, and which of them is at a
disadvantage, therefore changes a lot from one random_state to the next: report several draws, never a
single one.
"""


def make_synthetic(
    n: int = 3000,
    d: int = 5,
    *,
    means: tuple[float, float] = (0.8, 0.1),
    stds: tuple[float, float] = (1.0, 1.0),
    rates: tuple[float, float] = (0.3, 0.1),
    random_state: int | np.random.Generator | None = None,
    as_frame: bool = True,
) -> Bunch:
    """Draw the paper's synthetic data: two groups with their own features, coefficients and positive rates.

    The coefficients are drawn anew for each `random_state`, and results vary a lot between draws: over ten of them
    the held-out AUC of XGBoost went from 0.68 to 0.83. Repeat over many seeds before drawing conclusions.

    Parameters
    ----------
    n : int, default=3000
        Number of rows, half of them in each group (group a has the odd one).
    d : int, default=5
        Number of features.
    means, stds : pair of float, default=(0.8, 0.1) and (1.0, 1.0)
        Mean and standard deviation of the features in groups a and b.
    rates : pair of float, default=(0.3, 0.1)
        Mean probability of the outcome in groups a and b.
    random_state : int, Generator or None, default=None
        Seed of the draw.
    as_frame : bool, default=True
        False gives ``data`` as a NumPy array, for machines without a frame library.

    Returns
    -------
    Bunch
        ``data`` (columns x1, ..., xd), ``target`` (0/1), ``group`` ("a" / "b"), ``probability`` (the true one),
        ``coefficients`` (2, d), ``intercepts`` (2,), ``feature_names``, ``DESCR``, ``source``, ``licence``.

    Examples
    --------
    >>> from fairpot.datasets import make_synthetic
    >>> drawn = make_synthetic(random_state=0)
    >>> drawn.data.shape, drawn.feature_names
    ((3000, 5), ['x1', 'x2', 'x3', 'x4', 'x5'])
    >>> [round(float(drawn.probability[drawn.group == g].mean()), 6) for g in "ab"]
    [0.3, 0.1]
    """
    n = check_whole(n, "n", 4, "a group needs two rows.")
    d = check_whole(d, "d", 1)
    _check_pairs(means, stds, rates)
    as_frame = check_flag(as_frame, "as_frame")
    rng = make_rng(random_state)
    in_b = rng.permutation(n) >= (n + 1) // 2
    index = in_b.astype(np.int64)
    features = rng.normal(np.take(means, index)[:, None], np.take(stds, index)[:, None], size=(n, d))
    coefficients = rng.normal(size=(2, d))
    intercepts, probability = np.empty(2), np.empty(n)
    for g, rate in enumerate(rates):
        linear = features[index == g] @ coefficients[g]
        intercepts[g] = calibrate_intercept(linear, rate)
        probability[index == g] = expit(linear + intercepts[g])
    names = [f"x{j + 1}" for j in range(d)]
    return Bunch(
        data=make_frame(dict(zip(names, features.T.copy()))) if as_frame else features,
        target=(rng.random(n) < probability).astype(np.int64),
        group=np.where(in_b, "b", "a"),
        probability=probability,
        coefficients=coefficients,
        intercepts=intercepts,
        feature_names=names,
        DESCR=_DESCR.format(n=n, d=d, means=means, stds=stds, rates=rates),
        source="drawn by fairpot.datasets.make_synthetic, after the FairPOT paper's recipe",
        licence="same as fairpot (generated data)",
    )


def calibrate_intercept(linear: NDArray[np.float64], rate: float) -> float:
    """Return, by bisection, the intercept that makes the mean of ``sigmoid(linear + intercept)`` the rate."""

    def excess(intercept: float) -> Any:
        return expit(linear + intercept).mean() - rate

    # Below the first end every probability is under the rate, above the second every one is over it.
    ends = logit(rate) - linear.max() - 1.0, logit(rate) - linear.min() + 1.0
    return float(bisect(excess, *ends, xtol=1e-12))


def _check_pairs(means: tuple[float, float], stds: tuple[float, float], rates: tuple[float, float]) -> None:
    """Raise for spreads and rates that no data set can have."""
    for name, pair in {"means": means, "stds": stds, "rates": rates}.items():
        if np.shape(pair) != (2,) or not all(is_number(value) and np.isfinite(value) for value in pair):
            raise ValueError(f"{name} must be two finite numbers, for groups a and b; got {pair!r}.")
    if min(stds) <= 0:
        raise ValueError(f"stds must be positive; got {stds!r}.\nHint: use a small number such as 1e-3.")
    if not 0 < min(rates) <= max(rates) < 1:
        raise ValueError(
            f"rates must lie strictly between 0 and 1; got {rates!r}.\n"
            "Hint: give shares such as 0.3, not percentages; a rate of 0 or 1 leaves a group with one class."
        )
