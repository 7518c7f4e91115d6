"""Slow, obvious implementations that the fast code must equal. Written from the definitions alone."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from scipy.optimize import linprog

from fairpot.metrics import auc as auc_metric
from fairpot.metrics import top_precision, top_recall, xauc_gap
from fairpot.metrics import xauc as xauc_metric


def wins(winner_scores, loser_scores, *, half=False):
    """Count pairs won, one by one, in halves."""
    total = 0
    for s, t in itertools.product(winner_scores, loser_scores):
        total += 2 if s > t else (1 if half and s == t else 0)
    return total


def auc(y, s, *, half=False):
    y, s = np.asarray(y), np.asarray(s)
    pairs = int((y == 1).sum()) * int((y == 0).sum())
    return wins(s[y == 1], s[y == 0], half=half) / 2 / pairs if pairs else 0.0


def xauc(y, s, g, positive, negative, *, half=False):
    y, s, g = np.asarray(y), np.asarray(s), np.asarray(g)
    p, n = s[(y == 1) & (g == positive)], s[(y == 0) & (g == negative)]
    return wins(p, n, half=half) / 2 / (len(p) * len(n)) if len(p) * len(n) else 0.0


def ceil_share(share: str | float, n: int) -> int:
    """ceil(share * n) in exact decimals."""
    return math.ceil(Fraction(str(share)) * n)


def top_rows(s, top, g=None):
    """Mark the rows in the top-top top_of, pooled or of each group in g."""
    s = np.asarray(s)
    keep = np.zeros(len(s), dtype=bool)
    for group in [None] if g is None else sorted(set(g)):
        rows = np.arange(len(s)) if group is None else np.flatnonzero(np.asarray(g) == group)
        threshold = sorted(s[rows], reverse=True)[ceil_share(top, len(rows)) - 1]
        keep[rows] = s[rows] >= threshold
    return keep


def has_ties_at_its_edge(s, top, g=None):
    """Say whether the top has more rows than were asked for, in any group of g: a repair makes another top of it."""
    keep, parts = top_rows(s, top, g), [np.ones(len(s), dtype=bool)] if g is None else [g == name for name in set(g)]
    return any(keep[part].sum() > ceil_share(top, part.sum().item()) for part in parts)


def project(b, a):
    """Project each row of b by the monotone coupling with a, in exact fractions, ties averaged."""
    b, a = sorted(b), sorted(a)
    projected = []
    for i in range(len(b)):
        total = Fraction(0)
        for j in range(len(a)):
            low, high = max(i * len(a), j * len(b)), min((i + 1) * len(a), (j + 1) * len(b))
            if high > low:
                total += Fraction(high - low) * Fraction(float(a[j]))
        projected.append(total / len(a))
    result = {}
    for s in dict.fromkeys(b):
        tied = [p for t, p in zip(b, projected) if t == s]
        result[s] = float(sum(tied) / len(tied))
    return result


def project_lp(b, a):
    """Project by solving the transport problem as a linear programme."""
    b, a = np.sort(b), np.sort(a)
    n, m = len(b), len(a)
    cost = (b[:, None] - a[None, :]) ** 2
    rows = np.kron(np.eye(n), np.ones(m))
    columns = np.kron(np.ones(n), np.eye(m))
    result = linprog(
        cost.ravel(), A_eq=np.vstack((rows, columns)), b_eq=np.r_[np.full(n, 1 / n), np.full(m, 1 / m)], method="highs"
    )
    plan = result.x.reshape(n, m)
    values = n * plan @ a
    return {s: values[b == s].mean() for s in np.unique(b)}


def moved_scores(train_b, train_a, new_b, lam, *, monotone=False, threshold=None):
    """Apply FairPOT to rows of group b as the paper states it, one row at a time."""
    projected = project(train_b, train_a)
    knots = sorted(projected)
    k = ceil_share(lam, len(train_b))
    cut = sorted(train_b, reverse=True)[k - 1] if k else math.inf
    values = {s: projected[s] if s >= cut else s for s in knots}
    kept = max((s for s in knots if s < cut), default=None)
    return [_interpolate(x, knots, values, cut, kept if monotone else None, threshold) for x in new_b]


def _interpolate(x, knots, values, cut, floor, threshold):
    if threshold is not None and x < threshold:
        return x
    if x in values:
        result = values[x]
    elif x < knots[0]:
        result = values[knots[0]] if knots[0] >= cut else x
    elif x > knots[-1]:
        result = values[knots[-1]] if knots[-1] >= cut else x
    else:
        low, high = max(k for k in knots if k < x), min(k for k in knots if k > x)
        if high < cut:
            return x
        result = values[low] + (x - low) / (high - low) * (values[high] - values[low])
    return max(result, floor) if floor is not None and x > floor and math.isfinite(cut) else result


@dataclass(frozen=True)
class Metric:
    """A metric, and the keyword arguments that it needs beside ``y_true, y_score``."""

    function: Callable
    needs: tuple[str, ...] = ()
    has_ties: bool = True


METRICS = {
    "auc": Metric(auc_metric),
    "xauc": Metric(xauc_metric, ("sensitive_features", "positive", "negative")),
    "xauc_gap": Metric(xauc_gap, ("sensitive_features",)),
    "top_recall": Metric(top_recall, ("top",), has_ties=False),
    "top_precision": Metric(top_precision, ("top",), has_ties=False),
}
# Once more, in the top, those that compare pairs.
EVERY_METRIC = METRICS | {
    f"{name} in the top": replace(metric, needs=(*metric.needs, "top"))
    for name, metric in METRICS.items()
    if metric.has_ties
}


def arguments(metric, available):
    """Pick the keyword arguments that a metric needs."""
    return {name: available[name] for name in metric.needs}


def distance_to_limit(curve, limit):
    """The AUC left on the table at the gap of each point of a curve."""
    return limit.along(curve) - curve.auc
