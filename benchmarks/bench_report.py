"""The report on many rows: time and size of the page.

python benchmarks/bench_report.py [--rows 100000 1000000] [--scores N]

Generated people, two groups, scores all distinct (or --scores different ones). Counted are the seconds of CPU to
fit, to measure and to write the page, and its size: it must not grow with the rows.
"""

from __future__ import annotations

import argparse
import itertools
import resource
import time

import numpy as np

from fairpot import FairPOT, ScoreTable
from fairpot.report import FairnessReport


def make_table(rows: int, scores: int | None) -> ScoreTable:
    rng = np.random.default_rng(0)
    group = (rng.random(rows) < 0.3).astype(np.int8)
    y = (rng.random(rows) < 0.3).astype(np.int8)
    score = 1 / (1 + np.exp(-(rng.normal(size=rows) + y - 0.7 * group - 1)))
    if scores is not None:
        score = np.round(score * scores) / scores
    return ScoreTable.from_rows(score, y, group, ("M", "F"))


def main() -> None:
    parser = argparse.ArgumentParser(description="Time and size of the report.")
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--scores", type=int, help="different scores; default: all rows differ")
    options = parser.parse_args()
    print("rows, entries, CPU seconds to fit, to measure, to write, KB, peak MB")
    for rows in options.rows:
        table = make_table(rows, options.scores)
        entries = sum(len(c.score) for c in table.counts)
        times = [time.process_time()]
        fp = FairPOT(max_gap=0.02).fit(table)
        times.append(time.process_time())
        report = FairnessReport(table, fp)
        _ = report.content
        times.append(time.process_time())
        size = len(report.to_html().encode())
        times.append(time.process_time())
        spent = ", ".join(f"{b - a:.1f}" for a, b in itertools.pairwise(times))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(f"{rows}, {entries}, {spent}, {size // 1024}, {peak}", flush=True)


if __name__ == "__main__":
    main()
