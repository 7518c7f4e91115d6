"""Speed and memory of the core, as ratios against NumPy, scikit-learn and POT in the same run.

    make bench                      # n = 1e5, 1e6, 1e7
    python benchmarks/bench.py --sizes 100000 1000000

Every figure is the best of several runs; competitors and fairpot take turns, so that a busy machine slows both.
"""

from __future__ import annotations

import argparse
import sys
import time
import tracemalloc
import warnings

import numpy as np
import ot
from sklearn.metrics import roc_auc_score

from fairpot import FairPOT
from fairpot.metrics import auc
from fairpot.transport import project

BANK = (647, 35_521)  # young and older clients in four fifths of the Bank data
LAMBDAS = np.linspace(0, 1, 11)


def rows(n, share=0.3, seed=0):
    """Two groups with different rates and scores: about 30 % are moved."""
    rng = np.random.default_rng(seed)
    group = (rng.random(n) < share).astype(np.int64)
    y = (rng.random(n) < 0.2 - 0.1 * group).astype(np.int64)
    score = 1 / (1 + np.exp(-(rng.normal(size=n) + y - 0.5 * group - 1)))
    return score, y, group


def best(calls, repeat):
    """Time several calls in turns; return the best of each in seconds."""
    times = {name: [] for name in calls}
    for _ in range(repeat):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - start)
    return {name: min(values) for name, values in times.items()}


def fit_and_curve(score, y, group):
    """What a user types: fit, then the exact curve on the same rows, both from arrays."""
    fp = FairPOT(0.4).fit(score, y, sensitive_features=group)
    return fp.tradeoff(score, y, sensitive_features=group)


def fit_and_own_curve(score, y, group):
    """The same without passing the rows a second time."""
    return FairPOT(0.4).fit(score, y, sensitive_features=group).tradeoff()


def peak(call):
    """Peak of what Python and NumPy allocate during a call, in bytes."""
    tracemalloc.start()
    call()
    result = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return result


class Table:
    """Rows of a Markdown table, printed as they come."""

    def __init__(self):
        self.missed = 0
        print("| work | n | seconds | compared with | ratio | target | |\n|---|---|---|---|---|---|---|", flush=True)

    def row(self, work, n, seconds, other, ratio, target=None, most=True):
        met = target is None or (ratio <= target if most else ratio >= target)
        self.missed += not met
        rule = "" if target is None else f"{'at most' if most else 'at least'} {target:,g} x"
        took = "" if seconds is None else f"{seconds:.4g}"
        print(
            f"| {work} | {n} | {took} | {other} | {ratio:,.2f} x | {rule} | {'' if met else 'MISSED'} |",
            flush=True,
        )


def size(table, n, repeat):
    """All comparisons at one size; return seconds of fit and curve."""
    score, y, group = rows(n)
    text = np.where(group == 1, "women", "men")
    objects = text.astype(object)
    times = best(
        {
            "argsort": lambda: np.argsort(score),
            "roc": lambda: roc_auc_score(y, score),
            "both": lambda: fit_and_curve(score, y, group),
            "own": lambda: fit_and_own_curve(score, y, group),
            "text": lambda: fit_and_curve(score, y, text),
            "objects": lambda: fit_and_curve(score, y, objects),
            "auc": lambda: auc(y, score),
        },
        repeat,
    )
    name = f"{n:.0e}".replace("e+0", "e")
    sorts, target = times["argsort"], (4, 3) if n >= 1e6 else (None, None)
    table.row("fit + curve at every lambda", name, times["both"], "np.argsort", times["both"] / sorts, target[0])
    table.row(
        "the same", name, times["both"], "roc_auc_score, faster by", times["roc"] / times["both"], target[1], False
    )
    table.row("fit + tradeoff()", name, times["own"], "np.argsort", times["own"] / sorts)
    table.row("fit + tradeoff()", name, times["own"], "roc_auc_score, faster by", times["roc"] / times["own"])
    table.row("groups as NumPy text", name, times["text"], "integer groups", times["text"] / times["both"])
    table.row("groups as Python text", name, times["objects"], "integer groups", times["objects"] / times["both"])
    ratio = times["roc"] / times["auc"]
    table.row("auc", name, times["auc"], "roc_auc_score, faster by", ratio, 8 if n >= 1e6 else None, False)
    if n >= 1e6:
        inputs = score.nbytes + y.nbytes + group.nbytes
        memory = peak(lambda: fit_and_curve(score, y, group)) / inputs
        table.row("peak memory of fit + curve", name, None, "the input arrays", memory, 12)
    return times["both"]


def transport(table, repeat):
    """The paper's sweep on Bank-sized scores, and the projection alone against POT's one-dimensional solver."""
    rng = np.random.default_rng(0)
    a, b = np.sort(rng.beta(1, 5, BANK[0])), np.sort(rng.beta(1, 8, BANK[1]))
    score, group = np.r_[a, b], np.repeat([0, 1], BANK)
    y = (rng.random(len(score)) < score).astype(np.int64)

    def sweep():
        fp = FairPOT(0.4, reference=0).fit(score, sensitive_features=group)
        return fp.tradeoff(score, y, sensitive_features=group, lams=LAMBDAS)

    def by_cost_matrix(limit):
        """One plan from the full cost matrix, then the metrics at each lambda, as the paper's protocol has it."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # at its default limit the solver stops early and says so
            plan = ot.emd([], [], ot.dist(b[:, None], a[:, None]), numItermax=limit)
        projected = len(b) * plan @ a
        for lam in LAMBDAS:
            moved = np.where(np.arange(len(b)) >= len(b) - np.ceil(lam * len(b)), projected, b)
            new = np.r_[a, moved]
            roc_auc_score(y, new)
            for winners, losers in ((0, 1), (1, 0)):
                pair = ((group == winners) & (y == 1)) | ((group == losers) & (y == 0))
                roc_auc_score(y[pair], new[pair])

    name, ours = "647 x 35,521", best({"sweep": sweep}, 9)["sweep"]
    for limit, what in ((100_000, "default limit, not converged"), (10**8, "run to convergence")):
        theirs = best({"matrix": lambda limit=limit: by_cost_matrix(limit)}, 1)["matrix"]
        other = f"cost matrix + ot.emd ({what}), faster by"
        table.row("11 lambdas, Bank-sized", name, ours, other, theirs / ours, 1000, False)
    one_a, one_b = np.ones(len(a), dtype=np.int64), np.ones(len(b), dtype=np.int64)
    times = best({"project": lambda: project(b, one_b, a, one_a), "pot": lambda: ot.emd_1d(b, a)}, repeat)
    table.row(
        "projection alone", "647 x 35,521", times["project"], "ot.emd_1d, faster by", times["pot"] / times["project"]
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10**5, 10**6, 10**7])
    options = parser.parse_args()
    table = Table()
    seconds = {n: size(table, n, 9 if n <= 10**6 else 4) for n in options.sizes}
    for n in options.sizes:
        if 10 * n in seconds:
            target = 13 if n >= 10**6 else None
            table.row(
                "growth of fit + curve",
                f"{10 * n:.0e}",
                seconds[10 * n],
                f"n = {n:.0e}",
                seconds[10 * n] / seconds[n],
                target,
            )
    transport(table, 5)
    print(f"\n{table.missed} targets missed." if table.missed else "\nAll targets met.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
