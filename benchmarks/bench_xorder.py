"""XOrder: Bank-sized groups for 11 lambdas, the published way at a size it can bear, and what greed costs.

The published way keeps full matrices of values and counts, and adds up the remaining negatives of the other
group afresh in every cell. Run with ``python benchmarks/bench_xorder.py``.
"""

import itertools
import time
import tracemalloc

import numpy as np

from fairpot.counts import GroupCounts
from fairpot_paper.xorder import xorder_orders

LAMS = np.arange(11) / 10
BANK = (35_500, 650)
SMALL = (1_200, 150)


def groups(n_a, n_b):
    """Draw two groups with Bank's rates of positives."""
    rng = np.random.default_rng(0)

    def one(n, rate, shift):
        y = (rng.random(n) < rate).astype(np.int8)
        return GroupCounts.from_rows(rng.normal(size=n) + 1.5 * y + shift, y)

    return one(n_a, 0.114, 0.0), one(n_b, 0.256, -0.3)


def published_way(a, b, lam):
    """Fill the whole grid cell by cell; return the pairs won by both groups."""
    a_pos, a_neg, b_pos, b_neg = (c[::-1] for c in (a.positive, a.negative, b.positive, b.negative))
    n, m = len(a_pos), len(b_pos)
    pairs_ab, pairs_ba = a_pos.sum() * b_neg.sum(), b_pos.sum() * a_neg.sum()
    pairs = (a_pos.sum() + b_pos.sum()) * (a_neg.sum() + b_neg.sum())
    ab, ba, value = (np.zeros((n + 1, m + 1)) for _ in range(3))
    last = np.zeros((n + 1, m + 1), dtype=np.int64)

    def worth(won, lost):
        return (won + lost) / pairs - lam * abs(won / pairs_ab - lost / pairs_ba)

    for i in range(n + 1):
        for j in range(m + 1):
            options = []
            if i:
                won, lost = ab[i - 1, j] + a_pos[i - 1] * b_neg[j:].sum(), ba[i - 1, j]
                options.append((worth(won, lost), won, lost, 0))
            if j:
                won, lost = ab[i, j - 1], ba[i, j - 1] + b_pos[j - 1] * a_neg[i:].sum()
                options.append((worth(won, lost), won, lost, 1))
            if options:
                value[i, j], ab[i, j], ba[i, j], last[i, j] = max(options, key=lambda option: option[0])
    return ab[n, m], ba[n, m]


def shortfalls(draws=400):
    """Compare with the best of all interleavings of small groups: how far below, for each case and lambda."""
    rng = np.random.default_rng(1)
    lams = np.array([0, 0.1, 0.25, 0.5, 1])
    short = []
    for _ in range(draws):
        n, m = rng.integers(2, 7), rng.integers(2, 7)
        y_a, y_b = rng.integers(0, 2, n), rng.integers(0, 2, m)
        if 0 < y_a.sum() < n and 0 < y_b.sum() < m:
            short.append(_shortfall(y_a[::-1], y_b[::-1], lams))
    return lams, np.array(short)


def _shortfall(y_a, y_b, lams):
    a, b = GroupCounts(np.arange(len(y_a)) * 1.0, y_a, 1 - y_a), GroupCounts(np.arange(len(y_b)) + 0.5, y_b, 1 - y_b)
    below = np.array(list(itertools.combinations_with_replacement(range(len(y_a) + 1), len(y_b))))
    negatives = np.concatenate(([0], np.cumsum(a.negative)))
    positives = y_a.sum() - np.concatenate(([0], np.cumsum(y_a)))
    ab, ba = positives[below] @ b.negative, negatives[below] @ b.positive

    def worth(ab, ba):
        share = (ab + ba) / ((y_a.sum() + y_b.sum()) * (a.negative.sum() + b.negative.sum()))
        return share - lams * abs(ab / (y_a.sum() * b.negative.sum()) - ba / (y_b.sum() * a.negative.sum()))

    found = len(y_a) - xorder_orders(a, b, lams)  # how many are below
    ours = worth(positives[found] @ b.negative, negatives[found] @ b.positive)
    return worth(ab[:, None], ba[:, None]).max(axis=0) - ours


def seconds(function, *args, repeat=1):
    taken = []
    for _ in range(repeat):
        start = time.perf_counter()
        function(*args)
        taken.append(time.perf_counter() - start)
    return min(taken)


def peak_bytes(function, *args):
    tracemalloc.start()
    function(*args)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def row(what, *cells):
    print(f"{what:<46}" + "".join(f"{cell:>14}" for cell in cells))


def main():
    a, b = groups(*SMALL)
    ours, theirs = seconds(xorder_orders, a, b, LAMS[5:6], repeat=5), seconds(published_way, a, b, LAMS[5])
    sweep = seconds(xorder_orders, a, b, LAMS, repeat=3)
    row(f"{SMALL[0]:,} x {SMALL[1]} scores", "this", "published", "ratio")
    row("one lambda, seconds", f"{ours:.3f}", f"{theirs:.2f}", f"{theirs / ours:.0f} x")
    row(
        "11 lambdas, seconds (published: 11 x one)",
        f"{sweep:.3f}",
        f"{11 * theirs:.2f}",
        f"{11 * theirs / sweep:.0f} x",
    )
    print()
    a, b = groups(*BANK)
    full = len(a.score) * len(b.score) * 4 * 8
    row(f"{BANK[0]:,} x {BANK[1]} scores (Bank)", "this", "4 matrices", "ratio")
    for lams in (LAMS[5:6], LAMS):
        peak = peak_bytes(xorder_orders, a, b, lams)
        row(f"{len(lams)} lambda(s), peak MB", f"{peak / 1e6:.1f}", f"{full / 1e6:.0f}", f"1/{full / peak:.0f}")
    row("11 lambdas, seconds", f"{seconds(xorder_orders, a, b, LAMS):.2f}")
    print()
    lams, short = shortfalls()
    row(f"{len(short)} pairs of small groups: lambda", *(f"{lam:g}" for lam in lams))
    row("below the best of all orders, cases", *(short > 1e-12).sum(axis=0))
    row("by at most", *(f"{worst:.2f}" for worst in short.max(axis=0)))


if __name__ == "__main__":
    main()
