"""Speed and memory of the core, as ratios against NumPy, scikit-learn and POT in the same run.

    make bench                      # n = 1e5, 1e6, 1e7
    python benchmarks/bench.py --sizes 100000 1000000
    python benchmarks/bench.py --parts shift files    # LogitShift, and commands on files of 1e7 rows alone

Every figure of the parts `core` and `transport` is the best of several runs; competitors and fairpot take turns, so
that a busy machine slows both. `start`, `shift` and `files` are in CPU seconds; each command on a file is a process of
its own.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import ot
from sklearn.metrics import roc_auc_score

from fairpot import FairPOT, LogitShift
from fairpot.metrics import auc
from fairpot.transport import project

BANK = (647, 35_521)  # young and older clients in four fifths of the Bank data
LAMBDAS = np.linspace(0, 1, 11)
PARTS = ("start", "core", "transport", "shift", "files")
FIVE = (0.4, 0.25, 0.15, 0.12, 0.08)  # sizes of five groups
SCAN = """import duckdb
with duckdb.connect(config={"memory_limit": "2GB", "preserve_insertion_order": False}) as con:
    con.execute("SET enable_progress_bar = false")
    found = con.sql("SELECT sex, risk, count(*), sum(died) FROM read_parquet('PATH') GROUP BY ALL")
    sum(batch.num_rows for batch in found.to_arrow_reader(1 << 19))
"""


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


def shift(table, repeat=5):
    """LogitShift by rule on a million different scores, in CPU time."""
    score, y, group = rows(10**6)

    def cpu(call):
        start = time.process_time()
        call()
        return time.process_time() - start

    sort = min(cpu(lambda: np.sort(score)) for _ in range(repeat))
    fit = min(cpu(lambda: LogitShift(max_gap=0.02).fit(score, y, sensitive_features=group)) for _ in range(repeat))
    table.row("LogitShift by rule, CPU", "1e6", fit, "np.sort", fit / sort, 60)


def process(*command):
    """Run a program; return its CPU seconds and the most memory it held, in bytes."""
    started = subprocess.Popen([sys.executable, *map(str, command)], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(started.pid, 0)
    started.returncode = os.waitstatus_to_exitcode(status)
    if started.returncode:
        raise SystemExit(f"{command} ended with {started.returncode}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss * 1024


def start(table, repeat=9):
    """An audit of a small file by command, against importing what it stands on."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "small.csv"
        score, y, group = rows(299)
        lines = (f"{s},{label},{'ab'[g]}\n" for s, label, g in zip(score, y, group))
        path.write_text("score,label,group\n" + "".join(lines))
        commands = {"audit": ("-m", "fairpot.cli", "audit", path), "imports": ("-c", "import numpy, duckdb, click")}
        times = {name: [] for name in commands}
        for _ in range(repeat):
            for name, command in commands.items():
                times[name].append(process(*command)[0])
    took, beside = (float(np.median(times[name])) for name in ("audit", "imports"))
    table.row("fairpot audit, CPU", "299", took, "importing numpy, duckdb and click", took / beside, 3)


def write_rows(path, n, sizes, digits=None):
    """Write groups with different rates and scores; all scores differ, unless they have few digits."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    group = rng.choice(len(sizes), n, p=np.array(sizes) / sum(sizes))
    y = (rng.random(n) < 0.2 - 0.03 * group).astype(np.int8)
    score = 1 / (1 + np.exp(1 + 0.35 * group - y - rng.normal(size=n)))
    score = score if digits is None else np.round(score, digits)
    names = np.array(list("abcde"))[group]
    pq.write_table(pa.table({"risk": score, "died": y, "sex": names}), path, row_group_size=10**6)


def files(table, n=10**7):
    """Fits by command of 1e7 rows, against the bare GROUP BY of the same file; the start of the program is counted."""
    name, columns = f"{n:.0e}".replace("e+0", "e"), ["--score", "risk", "--label", "died", "--group", "sex", "--quiet"]
    start = process("-c", "import fairpot.cli.fit, duckdb, pyarrow")[0]
    with tempfile.TemporaryDirectory() as folder:
        path, output = Path(folder) / "rows.parquet", Path(folder) / "map.json"
        write_rows(path, n, FIVE)
        scan = process("-c", SCAN.replace("PATH", str(path)))[0]
        rule = ["--max-gap", "0.05", "-o", output]
        fit, peak = process("-m", "fairpot.cli", "fit", path, *columns, *rule, "--memory", "2GB")
        table.row("fit by rule, five groups, all scores differ, CPU", name, fit, "the scan", fit / scan, 8)
        table.row("its peak memory", name, None, "--memory 2GB", peak / 2e9, 1.1)
        table.row("its map file", name, None, "5 MB", output.stat().st_size / 5e6, 1)
        write_rows(path, n, FIVE[:2], digits=4)
        scan = process("-c", SCAN.replace("PATH", str(path)))[0]
        sure = ["--max-gap", "0.05", "--confidence", "0.95"]
        fit, _ = process("-m", "fairpot.cli", "fit", path, *columns, *sure)
        table.row("certified fit, few distinct scores, CPU", name, fit, "the scan", fit / scan, 6)
        table.row("the same without the start", name, fit - start, "the scan", (fit - start) / scan)


def core(table, sizes):
    """All comparisons at every size, and how they grow."""
    seconds = {n: size(table, n, 9 if n <= 10**6 else 4) for n in sizes}
    for n in sizes:
        if 10 * n in seconds:
            target = 13 if n >= 10**6 else None
            grown = seconds[10 * n] / seconds[n]
            table.row("growth of fit + curve", f"{10 * n:.0e}", seconds[10 * n], f"n = {n:.0e}", grown, target)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10**5, 10**6, 10**7])
    parser.add_argument("--parts", choices=PARTS, nargs="+", default=PARTS)
    options = parser.parse_args()
    table = Table()
    if "start" in options.parts:
        start(table)
    if "core" in options.parts:
        core(table, options.sizes)
    if "transport" in options.parts:
        transport(table, 5)
    if "shift" in options.parts:
        shift(table)
    if "files" in options.parts:
        files(table)
    print(f"\n{table.missed} targets missed." if table.missed else "\nAll targets met.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
