"""The paper's synthetic data: two Gaussian groups, each with its own logistic model."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import bisect
from scipy.special import expit, logit
from sklearn.utils import Bunch

from fairpot._optional import make_frame
from fairpot._validation import check_whole

_MEANS, _RATES = (0.8, 0.1), (0.3, 0.1)  # of features and outcomes, in groups a and b
_DESCR = """\
Synthetic two-group data
------------------------
{n} rows, 5 independent Gaussian features, groups "a" and "b" of equal size with means {means} and standard
deviations (1.0, 1.0). Each group has its own logistic model: coefficients drawn from N(0, 1), an intercept that makes
the mean probabilities {rates}. The coefficients are part of the draw, and which group is at a disadvantage changes
from one random_state to the next: report several draws, never a single one.
"""


def make_synthetic(
    n: int = 3000, *, random_state: int | np.random.Generator | None = None, as_frame: bool = True
) -> Bunch:
    """Draw the paper's synthetic data: two groups with their own features, coefficients and positive rates.

    Results vary a lot between draws (held-out AUC 0.68 to 0.83): repeat over many seeds before drawing conclusions.

    Parameters
    ----------
    n : int, default=3000
        Number of rows, half of them in each group (group a has the odd one).
    random_state : int, Generator or None, default=None
        Seed of the draw.
    as_frame : bool, default=True
        False gives ``data`` as a NumPy array, for machines without a frame library.

    Returns
    -------
    Bunch
        ``data`` (columns x1, ..., x5), ``target`` (0/1), ``group`` ("a" / "b"), ``probability`` (the true one),
        ``coefficients`` (2, 5), ``intercepts`` (2,), ``feature_names``, ``DESCR``, ``source``, ``licence``.

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
    rng = make_rng(random_state)
    in_b = rng.permutation(n) >= (n + 1) // 2
    index = in_b.astype(np.int64)
    features = rng.normal(np.take(_MEANS, index)[:, None], 1.0, size=(n, 5))
    coefficients = rng.normal(size=(2, 5))
    intercepts, probability = np.empty(2), np.empty(n)
    for g, rate in enumerate(_RATES):
        linear = features[index == g] @ coefficients[g]
        intercepts[g] = calibrate_intercept(linear, rate)
        probability[index == g] = expit(linear + intercepts[g])
    names = [f"x{j + 1}" for j in range(5)]
    return Bunch(
        data=make_frame(dict(zip(names, features.T.copy()))) if as_frame else features,
        target=(rng.random(n) < probability).astype(np.int64),
        group=np.where(in_b, "b", "a"),
        probability=probability,
        coefficients=coefficients,
        intercepts=intercepts,
        feature_names=names,
        DESCR=_DESCR.format(n=n, means=_MEANS, rates=_RATES),
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


def make_rng(random_state: Any) -> np.random.Generator:
    """Turn a seed into a generator."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(
            f"random_state must be a whole number, at least 0, a NumPy Generator or None, got {random_state!r}."
        ) from error
