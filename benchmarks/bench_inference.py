"""What uncertainty costs: intervals beside the audit they belong to, a band of 256 values beside one argsort.

python benchmarks/bench_inference.py [--rows 1000000] [--repeat 5]

Ratios of CPU time in one run; the smallest of the repeats counts.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from fairpot import FairPOT, audit, score_table


def cpu(work: Callable[[], object], repeat: int) -> float:
    best = np.inf
    for _ in range(repeat):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return float(best)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=5)
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    a = rng.random(args.rows) < 0.3
    y = (rng.random(args.rows) < 0.3).astype(np.int8)
    score, group = rng.random(args.rows) + 0.2 * y + 0.1 * a, np.where(a, "a", "b")
    table = score_table(y, score, sensitive_features=group)
    model = FairPOT(0.0).fit(table)
    curve = model.tradeoff()
    sort = cpu(lambda: np.argsort(score), args.repeat)
    rows = {"sensitive_features": group}
    plain = cpu(lambda: audit(y, score, level=None, **rows), args.repeat)
    with_intervals = cpu(lambda: audit(y, score, **rows), args.repeat)
    from_table = cpu(lambda: audit(table, level=None), args.repeat)
    from_table_with = cpu(lambda: audit(table), args.repeat)
    band = cpu(curve.band, args.repeat)
    tracing = cpu(model.tradeoff, args.repeat)
    print(f"{args.rows:,} rows, {len(curve):,} lambdas on the curve, np.argsort {sort:.3f} s of CPU")
    for name, cost, beside, what in (
        ("audit of rows with intervals", with_intervals, plain, "without"),
        ("audit of a table with intervals", from_table_with, from_table, "without"),
        ("exact curve at every lambda", tracing, sort, "argsort"),
        ("band at 256 values of it", band, sort, "argsort"),
    ):
        print(f"{name}: {cost:.3f} s, {cost / beside:.2f} x {what} ({beside:.3f} s)")


if __name__ == "__main__":
    main()
