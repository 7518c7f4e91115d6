"""The straight lines behind OptimalMerge, against a plain minimiser that knows the objective alone."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit

from fairpot.methods import OptimalMerge

# How strongly a group's slope is held to the usual one: as ten rows of information on its logarithm.
HELD = 10.0


def line(scores, y, usual):
    """Return level and slope that minimise the logistic loss plus the hold, by a search without derivatives."""
    z = logit(scores)

    def loss(parameters):
        level, steep = parameters
        linear = level + usual * np.exp(steep) * z
        return np.sum(np.logaddexp(0, linear) - y * linear) + HELD * steep**2 / 2

    found = minimize(loss, [logit(y.mean()), 0.0], method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-12})
    level, steep = found.x
    return level, usual * np.exp(steep)


def draw(n_a, n_b, seed):
    rng = np.random.default_rng(seed)
    group = np.repeat(["a", "b"], [n_a, n_b])
    risk = rng.normal(size=len(group)) + 0.5 * (group == "a")
    y = (rng.random(len(group)) < expit(risk - 0.3)).astype(int)
    for start in (0, n_a):  # both outcomes in both
        y[start : start + 2] = [0, 1]
    return expit(np.where(group == "a", 1.4 * risk, 0.5 * risk) - 0.5), y, group


@pytest.mark.parametrize(("n_a", "n_b"), [(400, 12), (60, 60), (400, 150)])
def test_a_score_becomes_the_reference_score_of_the_same_held_odds(n_a, n_b):
    scores, y, group = draw(n_a, n_b, seed=n_b)
    repair = OptimalMerge(2.0, reference="a").fit(scores, y, sensitive_features=group)
    own = np.sort(scores[group == "b"])
    after = repair.transform(own, sensitive_features=["b"] * len(own))
    usual = line(scores, y, 1.0)[1]
    (level_a, slope_a), (level_b, slope_b) = (line(scores[group == g], y[group == g], usual) for g in "ab")
    expected = expit((level_b + slope_b * logit(own) + np.log(2.0) - level_a) / slope_a)
    np.testing.assert_allclose(after, expected, rtol=0, atol=2e-5)


def test_a_small_separated_group_keeps_a_sensible_slope():
    """Left to itself its line would rise without end; held, it stays near that of all."""
    scores, y, group = draw(500, 10, seed=3)
    order = np.argsort(scores[500:])
    y[500 + order] = np.repeat([0, 1], 5)
    repair = OptimalMerge(1.0, reference="a").fit(scores, y, sensitive_features=group)
    usual = line(scores, y, 1.0)[1]
    own = scores[500:]
    after = logit(repair.transform(own, sensitive_features=["b"] * 10))
    rise = np.ptp(after) / np.ptp(logit(own))
    slope_a, slope_b = (line(scores[group == g], y[group == g], usual)[1] for g in "ab")
    assert rise == pytest.approx(slope_b / slope_a, rel=1e-3)
    assert usual < slope_b < 2 * usual
