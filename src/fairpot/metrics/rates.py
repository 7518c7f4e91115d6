"""Rates: ratios of two sums over rows, such as the share of rows that are selected; one registry of all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.special import expit, logit

from fairpot.counts import Counts
from fairpot.transport import Floats


class Terms(NamedTuple):
    """What is known of some rows: outcome, whether they are selected, score, risk, and odds of the threshold."""

    y: Floats
    on: Floats
    score: Floats
    risk: Floats  # the score as a probability of the outcome
    odds: float

    @property
    def n(self) -> Floats:
        """Rows without the outcome."""
        return 1 - self.y

    @property
    def off(self) -> Floats:
        """Rows that are not selected."""
        return 1 - self.on

    @property
    def one(self) -> Floats:
        """Every row."""
        return np.ones(len(self.y))


Sums = Callable[[Terms], tuple[Floats, Floats]]
# Gives a value and what each row of weight one adds to its error, or says why there is no value.
Fit = Callable[[Terms, Counts], tuple[float, Floats] | str]
Scale = Literal["share", "mean", "positive", "free"]


@dataclass(frozen=True)
class Rate:
    """A rate: what each row adds to the sum above the line, and to the one below it.

    ``scale`` says how limits are found and whether there is a ratio: a "share" has Wilson's; a "mean" those of a t
    distribution; a "positive" number those of its logarithm; and of a "free" one, which may be below 0, no ratio.
    ``rests_on`` gives the rows of which an interval needs enough, where those are not the ones below the line.
    ``side`` says whether it counts people who are "flagged" or those who are "spared"; of any other rate it is None.

    Examples
    --------
    >>> from fairpot.metrics import RATES
    >>> RATES["tpr"].title, RATES["tpr"].among, RATES["tpr"].needs_outcomes
    ('true positive rate', 'rows with the outcome', True)
    """

    title: str
    among: str
    sums: Sums | None = None
    fit: Fit | None = None
    scale: Scale = "share"
    needs_outcomes: bool = True
    needs_cut: bool = True
    needs_risk: bool = False
    rests_on: Callable[[Terms], tuple[Floats, ...]] | None = None
    side: Literal["flagged", "spared"] | None = None

    def needed(self, rows: Terms) -> tuple[Floats, ...]:
        """Give the rows of which an interval needs enough: one kind, or those of either outcome."""
        if self.rests_on is not None:
            return self.rests_on(rows)
        return () if self.sums is None else self.sums(rows)[1:]


def _intercept(rows: Terms, weight: Counts) -> tuple[float, Floats] | str:
    """Fit outcome = expit(a + logit(risk)): the error of a is sum w (y - p) over sum w p (1 - p)."""
    return _logistic(rows, weight, np.ones((1, len(rows.y))), logit(rows.risk), np.zeros(1))


def _slope(rows: Terms, weight: Counts) -> tuple[float, Floats] | str:
    """Fit outcome = expit(a + b logit(risk)), and give b."""
    x = logit(rows.risk)
    return _logistic(rows, weight, np.stack((np.ones(len(x)), x)), np.zeros(1), np.array([0.0, 1.0]))


def _logistic(rows: Terms, weight: Counts, x: Floats, offset: Floats, beta: Floats) -> tuple[float, Floats] | str:
    """Fit by Newton's steps, halved where the likelihood falls; what rows add to the last coefficient is its error."""
    if not np.isfinite(x).all() or not np.isfinite(offset).all():
        return "scores of 0 and 1 have no log-odds"
    best, step = -np.inf, (start := np.zeros(len(x)))
    for _ in range(100):
        z = (beta + step) @ x + offset
        likelihood = -float(weight @ np.logaddexp(0.0, np.where(rows.y > 0, -z, z)))
        if likelihood < best - 1e-9 * abs(best):
            step = step / 2
            continue
        beta, best = beta + step, likelihood
        p = expit(z)
        information = (x * (weight * p * (1 - p))) @ x.T
        if not np.linalg.cond(information) < 1e12:
            break
        if step is not start and np.abs(step).max() < 1e-8:  # the next one would be its square
            return float(beta[-1]), (np.linalg.inv(information)[-1] @ x) * (rows.y - p)
        step = np.linalg.solve(information, x @ (weight * (rows.y - p)))
    return "no logistic regression on the log-odds of the score can be fitted"


def _sides(rows: Terms) -> tuple[Floats, Floats]:
    """Give the rows with the outcome, and those without it."""
    return rows.y, rows.n


_CASES, _OTHERS = "rows with the outcome", "rows without the outcome"
_OF_RISKS: dict[str, Any] = {"needs_cut": False, "needs_risk": True, "rests_on": _sides}

RATES: dict[str, Rate] = {
    "selection_rate": Rate("selection rate", "rows", lambda r: (r.on, r.one), needs_outcomes=False),
    "tpr": Rate("true positive rate", _CASES, lambda r: (r.on * r.y, r.y), side="flagged"),
    "fpr": Rate("false positive rate", _OTHERS, lambda r: (r.on * r.n, r.n), side="flagged"),
    "fnr": Rate("false negative rate", _CASES, lambda r: (r.off * r.y, r.y), side="spared"),
    "tnr": Rate("true negative rate", _OTHERS, lambda r: (r.off * r.n, r.n), side="spared"),
    "ppv": Rate("positive predictive value", "flagged rows", lambda r: (r.on * r.y, r.on)),
    "npv": Rate("negative predictive value", "rows not flagged", lambda r: (r.off * r.n, r.off)),
    "accuracy": Rate("accuracy", "rows", lambda r: (r.on * r.y + r.off * r.n, r.one)),
    "net_benefit": Rate(
        "net benefit",
        "flagged rows",
        lambda r: (r.on * (r.y - r.n * r.odds), r.one),
        scale="free",
        needs_risk=True,
        rests_on=lambda r: (r.on,),
    ),
    "mean_score": Rate(
        "mean score", "rows", lambda r: (r.score, r.one), scale="free", needs_outcomes=False, needs_cut=False
    ),
    "brier": Rate("Brier score", "rows", lambda r: ((r.risk - r.y) ** 2, r.one), scale="mean", **_OF_RISKS),
    "observed_expected": Rate("observed to expected", _CASES, lambda r: (r.y, r.risk), scale="positive", **_OF_RISKS),
    "calibration_intercept": Rate("calibration intercept", _CASES, fit=_intercept, scale="free", **_OF_RISKS),
    "calibration_slope": Rate("calibration slope", _CASES, fit=_slope, scale="free", **_OF_RISKS),
}
