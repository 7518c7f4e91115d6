"""One score at a time: microseconds a call, as a ratio to np.interp of one number on the same knots.

    python benchmarks/serving.py [--calls 20000]

Calls alternate in one run, so that a busy machine slows all alike. p50 and p99 are over single calls, the clock's own
time taken off.
"""

import argparse
import time

import numpy as np

from fairpot.export import RowScorer, to_python
from fairpot.transport import ScoreMap


def timed(functions, scores):
    """Return the nanoseconds of each call of each function, called in turn."""
    clock = time.perf_counter_ns
    spent = np.empty((len(functions), len(scores)))
    for place, score in enumerate(scores):
        for row, function in enumerate(functions):
            begin = clock()
            function(score)
            spent[row, place] = clock() - begin
    return spent


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=20_000)
    calls = parser.parse_args().calls
    rng = np.random.default_rng(0)
    print("knots    what                 p50 us   p99 us   p50 to np.interp   p99 to np.interp")
    for size in (10, 1_000, 100_000):
        knots = np.sort(rng.random(size))
        values = np.sort(rng.random(size))
        maps = {"F": ScoreMap(knots, values), "M": ScoreMap.identity()}
        scorer, names = RowScorer(maps), {}
        exec(to_python(maps), names)
        plain, full = names["adjusted_score"], maps["F"]
        functions = {
            "np.interp": lambda s, k=knots, v=values: np.interp(s, k, v),
            "RowScorer": lambda s, f=scorer: f(s, "F"),
            "to_python": lambda s, f=plain: f(s, "F"),
            "ScoreMap of one": lambda s, f=full: f([s]),
            "nothing": lambda s: s,
        }
        spent = timed(list(functions.values()), rng.random(calls).tolist())
        idle = np.median(spent[-1])
        base = np.percentile(spent[0] - idle, [50, 99])
        for name, row in zip(list(functions)[:-1], spent):
            p50, p99 = np.percentile(row - idle, [50, 99])
            shown = f"{p50 / 1e3:8.2f} {p99 / 1e3:8.2f} {p50 / base[0]:18.2f} {p99 / base[1]:18.2f}"
            print(f"{size:<8} {name:<18} {shown}")


if __name__ == "__main__":
    main()
