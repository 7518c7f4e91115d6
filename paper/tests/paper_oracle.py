"""The paper's protocols once more: rows, sorted lists and pairs, written from its text alone.

Nothing of the library is used here. Every function takes plain arrays; ``a`` is the group that stays, ``b`` the one
that is moved. What cannot be compared is 0, or 1 for an AUC without negatives: the paper's values.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np

LAMBDAS = [k / 10 for k in range(11)]
SLOPES = [k / 10 for k in range(100)]
BETA = -2.0
_CHUNK = 400


class Rows(NamedTuple):
    """Scores, outcomes and groups of some people."""

    scores: np.ndarray
    y: np.ndarray
    group: np.ndarray

    def of(self, group):
        return self.scores[self.group == group]

    def take(self, rows):
        return Rows(*(column[rows] for column in self))

    def moved(self, group, values):
        """Give the rows of a group new scores."""
        scores = self.scores.copy()
        scores[self.group == group] = values
        return self._replace(scores=scores)


# --- AUC and xAUC: every pair is looked at ---------------------------------------------------------------------------


def share_won(positives, negatives, half):
    """The share of pairs in which the positive is higher; an equal pair counts nothing, or a half."""
    won = 0
    for start in range(0, len(positives), _CHUNK):
        pairs = positives[start : start + _CHUNK, None], negatives[None, :]
        won += 2 * int((pairs[0] > pairs[1]).sum()) + int(half) * int((pairs[0] == pairs[1]).sum())
    return won / 2 / (len(positives) * len(negatives))


def auc(rows, half):
    positives, negatives = rows.scores[rows.y == 1], rows.scores[rows.y == 0]
    if len(positives) == 0:
        return 0.0
    return share_won(positives, negatives, half) if len(negatives) else 1.0


def xauc(rows, winner, loser, half):
    positives = rows.scores[(rows.y == 1) & (rows.group == winner)]
    negatives = rows.scores[(rows.y == 0) & (rows.group == loser)]
    return share_won(positives, negatives, half) if len(positives) and len(negatives) else 0.0


def signed_gap(rows, a, b, half):
    return xauc(rows, a, b, half) - xauc(rows, b, a, half)


def measured(family, a, b, half):
    """AUC and signed gap of each of a family of rescored rows."""
    return {"auc": [auc(rows, half) for rows in family], "gap": [signed_gap(rows, a, b, half) for rows in family]}


# --- top shares ------------------------------------------------------------------------------------------------------


def nth(share, n):
    """ceil(share * n), with 0.1 * 30 taken for 3 and not for 3.0000000000000004."""
    return math.ceil(Fraction(str(share)) * n)


def top_of(scores, share):
    """Mark the scores that are not below the nth highest one."""
    count = nth(share, len(scores))
    if count == 0:
        return np.zeros(len(scores), dtype=bool)
    return scores >= np.sort(scores)[::-1][count - 1]


def top_region(rows, alpha, region):
    """The rows in the top alpha: of all of them together, or of each group."""
    keep = np.zeros(len(rows.scores), dtype=bool)
    parts = [np.ones(len(keep), dtype=bool)] if region == "pooled" else [rows.group == g for g in np.unique(rows.group)]
    for part in parts:
        keep[part] = top_of(rows.scores[part], alpha)
    return rows.take(keep)


# --- FairPOT ---------------------------------------------------------------------------------------------------------


def transported(b, a):
    """Where each distinct score of b goes: the optimal plan on a line couples equal ranks; equal scores share the mean.

    Row i of b, in ascending order, owns the mass from i * n_a to (i + 1) * n_a; row j of a that from j * n_b onwards.
    """
    b, a = np.sort(b).tolist(), [Fraction(score) for score in np.sort(a).tolist()]
    n_b, n_a = len(b), len(a)
    sums, counts, j = {}, {}, 0
    for i, score in enumerate(b):
        begin, end, total = i * n_a, (i + 1) * n_a, Fraction(0)
        while begin < end:
            until = min(end, (j + 1) * n_b)
            total += (until - begin) * a[j]
            begin = until
            j += until == (j + 1) * n_b
        sums[score] = sums.get(score, 0) + total / n_a
        counts[score] = counts.get(score, 0) + 1
    return np.array(list(sums)), np.array([float(sums[score] / counts[score]) for score in sums])


def interpolated_everywhere(train_b, knots, full, lam, new):
    """The paper's Psi: a line between neighbouring training scores, moved or not; outside of them the nearest one's."""
    moved = np.isin(knots, train_b[top_of(train_b, lam)])
    return np.interp(new, knots, np.where(moved, full, knots))


def interpolated_where_moved(train_b, knots, full, lam, new):
    """The library's: a score not above the highest unmoved training score stays as it is.

    From there to the lowest moved one a line; above, the paper's interpolation. If all are moved, both edges hold.
    """
    top = top_of(train_b, lam)
    if not top.any():
        return new.copy()
    result = interpolated_everywhere(train_b, knots, full, lam, new)
    return result if top.all() else np.where(new <= train_b[~top].max(), new, result)


EDGES = {"boundary": interpolated_everywhere, "kept": interpolated_where_moved}


def fairpot(train, test, a, b, edge):
    """The test rows at each of the eleven lambdas."""
    knots, full = transported(train.of(b), train.of(a))
    return [test.moved(b, EDGES[edge](train.of(b), knots, full, lam, test.of(b))) for lam in LAMBDAS]


# --- the baselines ---------------------------------------------------------------------------------------------------


def post_logit(train, test, a, b, half):
    """The test rows with the sigmoid whose training gap is smallest."""

    def sigmoid(scores, slope):
        return 1 / (1 + np.exp(-(slope * scores + BETA)))

    gaps = [abs(signed_gap(train.moved(b, sigmoid(train.of(b), slope)), a, b, half)) for slope in SLOPES]
    slope = SLOPES[gaps.index(min(gaps))]
    return [test.moved(b, sigmoid(test.of(b), slope))]


def barycentre(test):
    """Where each distinct score of each group goes: the mean of the barycentre's quantiles over the score's mass.

    Quantiles are taken in the cells between all the places at which a group's quantile function steps.
    """
    names = np.unique(test.group)
    ranked = {g: np.sort(test.of(g)).tolist() for g in names}
    steps = sorted({Fraction(i, len(ranked[g])) for g in names for i in range(len(ranked[g]) + 1)})
    cells = list(itertools.pairwise(steps))
    quantile = []
    for low, _ in cells:
        at = {g: Fraction(ranked[g][math.floor(low * len(ranked[g]))]) for g in names}
        quantile.append(sum(len(ranked[g]) * at[g] for g in names) / len(test.scores))
    goes = {}
    for g in names:
        total, mass = {}, {}
        for (low, high), value in zip(cells, quantile):
            own = ranked[g][math.floor(low * len(ranked[g]))]
            total[own] = total.get(own, 0) + (high - low) * value
            mass[own] = mass.get(own, 0) + (high - low)
        goes[g] = {score: float(total[score] / mass[score]) for score in total}
    return goes


def wasserstein(test):
    """The test rows at each tenth of the way to the barycentre of their own groups."""
    goes = barycentre(test)
    full = np.array([goes[g][s] for g, s in zip(test.group, test.scores.tolist())])
    return [test._replace(scores=(1 - t) * test.scores + t * full) for t in LAMBDAS]


# --- everything that a record holds of these -------------------------------------------------------------------------


def everything(train, test, a, b):
    """By method and way of counting ties: AUC and signed gap at each value of the dial."""
    families = {
        "unadjusted": [test],
        "fairpot": fairpot(train, test, a, b, "kept"),
        "fairpot_boundary": fairpot(train, test, a, b, "boundary"),
        "fairpot_switched": fairpot(train, test, b, a, "kept"),
        "wasserstein": wasserstein(test),
    }
    found = {}
    for ties, half in (("strict", False), ("half", True)):
        each = {**families, "post_logit": post_logit(train, test, a, b, half)}
        for method, family in each.items():
            found.setdefault(method, {})[ties] = measured(family, a, b, half)
    return found


def partial(train, test, a, b, alpha, region):
    """The same in the top alpha of the training rows, and in that of the test rows."""
    return everything(top_region(train, alpha, region), top_region(test, alpha, region), a, b)
