"""Standard errors from the definitions, pair by pair: slow twins of fairpot.inference."""

import numpy as np


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
