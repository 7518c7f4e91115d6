"""Standard errors from the definitions, pair by pair: slow twins of fairpot.inference."""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from fairpot import score_table
from fairpot.inference.change import change_of_columns
from fairpot.inference.dial import estimate_steps
from fairpot.inference.rates import Cut, Measuring
from fairpot.inference.rates import top_rate as rate_of
from oracles import METRICS


def change_of_scores(y, before, after, **options):
    """Compare two score columns of the same rows."""
    return change_of_columns(y, {"before": before, "after": after}, **options)["after"]


def top_rate(metric, y, s, *, top, top_of="all", among=None, level=0.95, **rows):
    """Measure recall or precision of a top with its interval."""
    table = score_table(y, s, **rows)
    place = None if among is None else table.groups.index(among)
    return rate_of(Measuring(table, Cut("top", None, top, top_of), level), metric, place)


def kernel(p, q, ties="half"):
    """1 where the positive wins, and what a tie is worth."""
    return (p[:, None] > q[None, :]) + (0.5 * (p[:, None] == q[None, :]) if ties == "half" else 0.0)


def share(p, q, wp=None, wq=None, ties="half"):
    wp = np.ones(len(p)) if wp is None else wp
    wq = np.ones(len(q)) if wq is None else wq
    return wp @ kernel(p, q, ties) @ wq / (wp.sum() * wq.sum())


def delong(p, q, ties="half"):
    """DeLong's variance: sample variances of the rows' and the columns' means."""
    k = kernel(p, q, ties)
    return k.mean(axis=1).var(ddof=1) / len(p) + k.mean(axis=0).var(ddof=1) / len(q)


def jackknife(p, q, ties="half"):
    """Leave each positive out, and each negative; two samples, each with its own (n - 1) / n."""
    total = 0.0
    for first, second in ((p, q), (q, p)):
        left = []
        for i in range(len(first)):
            rest = np.delete(first, i)
            left.append(share(rest, second, ties=ties) if first is p else share(second, rest, ties=ties))
        left, n = np.array(left), len(first)
        total += (n - 1) / n * np.sum((left - left.mean()) ** 2)
    return total


def weighted(p, q, wp, wq, ties="half"):
    """The variance with importance weights: squares of w * influence, m / (m - 1) with m = W^2 / sum w^2."""
    k, x = kernel(p, q, ties), share(p, q, wp, wq, ties)
    total = 0.0
    for w, placed in ((wp, k @ wq / wq.sum()), (wq, wp @ k / wp.sum())):
        m = w.sum() ** 2 / (w**2).sum()
        total += m / (m - 1) * np.sum((w * (placed - x) / w.sum()) ** 2)
    return total


def obuchowski(p, q, cp, cq, ties="half"):
    """Obuchowski's (1997) variance of an AUC of clustered rows, written out cluster by cluster."""
    k = kernel(p, q, ties)
    x, m, n = k.mean(), len(p), len(q)
    v, u = k.mean(axis=1), k.mean(axis=0)
    clusters = sorted({*cp, *cq})
    a = np.array([np.sum(v[cp == c] - x) for c in clusters])
    b = np.array([np.sum(u[cq == c] - x) for c in clusters])
    i10, i01, i = len(set(cp)), len(set(cq)), len(clusters)
    s10 = i10 / ((i10 - 1) * m) * np.sum(a**2)
    s01 = i01 / ((i01 - 1) * n) * np.sum(b**2)
    s11 = i / (i - 1) * np.sum(a * b)
    return s10 / m + s01 / n + 2 * s11 / (m * n)


def paired(p1, p2, q1, q2, ties="half"):
    """DeLong's variance of the difference of two AUCs of the same rows."""
    d = kernel(p1, q1, ties) - kernel(p2, q2, ties)
    return d.mean(axis=1).var(ddof=1) / len(p1) + d.mean(axis=0).var(ddof=1) / len(q1)


def size_limits(gap):
    """Turn the limits of a gap that has a sign into limits of its size, as bands have them."""
    ends = sorted((abs(gap.low), abs(gap.high)))
    return [0.0 if gap.low <= 0 <= gap.high else ends[0], ends[1]]


def signed(gap, first):
    """Give a gap of two groups as seen from one of them."""
    return gap.signed if gap.groups[0] == first else -gap.signed


class Drawn(NamedTuple):
    se: float
    low: float
    high: float


def bootstrap(metric, y, s, *, replicates, clusters=None, sample_weight=None, weights=None, level=0.95, **given):
    """Draw rows, or whole clusters, again and compute the metric each time; limits are percentiles.

    The gap of two groups is drawn with its sign, seen from the side ahead: its absolute value would pile up at 0.
    """
    rng = np.random.default_rng(0)
    groups = given.pop("sensitive_features", None)
    columns = [y, s, groups, sample_weight]
    units = np.arange(len(y)) if clusters is None else np.unique(clusters, return_inverse=True)[1]
    members = np.argsort(units, kind="stable")
    first = np.searchsorted(units[members], np.arange(units.max() + 2))
    found = []
    for _ in range(replicates):
        drawn = rng.integers(units.max() + 1, size=units.max() + 1)
        rows = drawn if clusters is None else np.concatenate([members[first[u] : first[u + 1]] for u in drawn])
        found.append(_measured(metric, *(None if c is None else np.asarray(c)[rows] for c in columns), given))
    values = np.array(found) * np.sign(_measured(metric, *columns, given))
    return Drawn(values.std(ddof=1), *np.quantile(values, [(1 - level) / 2, (1 + level) / 2]))


def _measured(metric, y, s, groups, weight, given):
    given = given | {"sample_weight": weight} | ({"ties": "half"} if METRICS[metric].has_ties else {})
    given |= {} if groups is None else {"sensitive_features": groups}
    if not metric.endswith("_gap"):
        return METRICS[metric].function(y, s, **given)
    one, other = np.unique(groups)
    xauc = METRICS[metric.removesuffix("_gap")].function
    there, back = (xauc(y, s, positive=p, negative=n, **given) for p, n in ((one, other), (other, one)))
    return there - back


def estimate_dial(table, maps_at, values):
    """Estimate AUC and gaps along a dial whose maps come one value at a time."""
    return estimate_steps(table, lambda given: (maps_at(value) for value in given), values)


class PlainGaps(NamedTuple):
    """Signed gaps with symmetric limits, from estimates and their covariance alone."""

    value: np.ndarray
    covariance: np.ndarray

    @property
    def se(self):
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))

    def limits(self, tail):
        return self.value + ndtri(tail) * self.se, self.value - ndtri(tail) * self.se
