"""Speed and memory of the core, as ratios within one run.

    make bench                      # n = 1e5, 1e6, 1e7
    python benchmarks/bench.py --sizes 100000 1000000
    python benchmarks/bench.py --parts fits files    # fits by target, and commands on files of 1e7 rows alone

R is one `roc_auc_score` of the same rows. Everything is CPU time of one thread, the best of several runs in turns,
unless a row says otherwise; each command on a file is a process of its own.
"""

from __future__ import annotations

import argparse
import itertools
import os
import subprocess
import sys
import tempfile
import time
import tracemalloc
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import ot
from sklearn.metrics import roc_auc_score

from fairpot import FairPOT, LogitShift, OptimalMerge, ScoreMap, WassersteinRepair, audit, compare
from fairpot.exceptions import InfeasibleRuleError
from fairpot.export import RowScorer
from fairpot.metrics import auc
from fairpot.transport import project

BANK = (647, 35_521)  # young and older clients in four fifths of the Bank data
LAMBDAS = np.linspace(0, 1, 11)
PARTS = ("start", "core", "many", "transport", "fits", "serve", "files", "memory")
METHODS = (FairPOT, LogitShift, WassersteinRepair, OptimalMerge)
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
    """Run several calls in turns; return the least CPU time of each, in seconds."""
    times = {name: [] for name in calls}
    for _ in range(repeat):
        for name, call in calls.items():
            start = time.process_time()
            call()
            times[name].append(time.process_time() - start)
    return {name: min(values) for name, values in times.items()}


def fit_and_curve(score, y, group):
    """Count rows, fit, and trace the exact curve at every lambda."""
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
    """All comparisons at one size; return the seconds of each."""
    score, y, group = rows(n)
    five = np.random.default_rng(1).choice(5, n, p=FIVE)
    text = np.where(group == 1, "women", "men").astype(object)
    fitted = FairPOT(0.4).fit(score, y, sensitive_features=group)
    times = best(
        {
            "roc": lambda: roc_auc_score(y, score),
            "auc": lambda: auc(y, score),
            "fit": lambda: fit_and_curve(score, y, group),
            "text": lambda: fit_and_curve(score, y, text),
            "audit": lambda: audit(y, score, sensitive_features=group),
            "five": lambda: audit(y, score, sensitive_features=five),
            "transform": lambda: fitted.transform(score, sensitive_features=group),
        },
        repeat,
    )
    large = n >= 10**7
    aims = {
        "auc": ("auc", 0.1),
        "fit": ("count, fit, curve at every lambda", 0.4 if large else 0.45),
        "text": ("the same with groups as text", None),
        "audit": ("audit with all intervals, two groups", 0.2 if large else 0.25),
        "five": ("audit with all intervals, five groups", 0.25 if large else 0.4),
        "transform": ("transform", 0.2),
    }
    for key, (work, aim) in aims.items():
        table.row(work, f"{n:.0e}".replace("e+0", "e"), times[key], "R", times[key] / times["roc"], aim)
    return times


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


def by_target(table, n=10**6, repeat=2):
    """Every method by a target gap: two groups and five, all scores different and of two digits."""
    name = f"{n:.0e}".replace("e+0", "e")
    for groups, digits in itertools.product((2, 5), (None, 2)):
        score, y, group = rows(n) if groups == 2 else five_rows(n)
        score = score if digits is None else score.round(digits)
        models = {each.__name__: each(max_gap=0.02 if groups == 2 else 0.03) for each in METHODS}
        calls = {each: partial(fitted, model, score, y, group) for each, model in models.items()}
        times = best({"R": partial(roc_auc_score, y, score), **calls}, repeat)
        rest = f"{groups} groups, {'all scores differ' if digits is None else 'two digits'}"
        for each in models:
            aim = 3 if groups == 2 else None
            table.row(f"{each} by target, {rest}", name, times[each], "R", times[each] / times["R"], aim)
            if groups == 5 and digits is None and each != "FairPOT":
                table.row("the same", name, times[each], "FairPOT's", times[each] / times["FairPOT"], 3)


def certified(table, n=10**6):
    """Every method by a target gap that is certified; once each, as it takes a while."""
    score, y, group = rows(n)
    for each in METHODS:
        model = each(max_gap=0.05, confidence=0.95)
        calls = {"R": partial(roc_auc_score, y, score), "fit": partial(fitted, model, score, y, group)}
        times = best(calls, 1)
        table.row(f"{each.__name__} certified", "1e6", times["fit"], "R", times["fit"] / times["R"], 10)


def refused(score, y, group):
    """Ask for what no strength keeps."""
    try:
        FairPOT(max_gap=1e-9, max_auc_loss=0.0).fit(score, y, sensitive_features=group)
    except InfeasibleRuleError:
        return
    raise SystemExit("the target is kept")


def dead_end(table, repeat=3):
    """What it costs more to be told that no strength keeps a target, and what else could."""
    for n in (10**5, 10**6):
        drawn = rows(n)
        kept = FairPOT(max_gap=0.02, max_auc_loss=0.05)
        calls = {"audit": partial(audit, drawn[1], drawn[0], sensitive_features=drawn[2])}
        times = best({**calls, "kept": partial(fitted, kept, *drawn), "refused": partial(refused, *drawn)}, repeat)
        more, name = times["refused"] - times["kept"], f"{n:.0e}".replace("e+0", "e")
        table.row("a dead end more than a fit", name, more, "an audit", more / times["audit"], 1)


def fitted(model, score, y, group):
    """Fit, without warnings of the rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(score, y, sensitive_features=group)


def five_rows(n):
    """Five groups with different rates and scores."""
    rng = np.random.default_rng(0)
    group = rng.choice(len(FIVE), n, p=FIVE)
    y = (rng.random(n) < 0.2 - 0.03 * group).astype(np.int64)
    return 1 / (1 + np.exp(1 + 0.35 * group - y - rng.normal(size=n))), y, group


def serve(table, calls=20_000):
    """One score at a time, by a map of a thousand breakpoints."""
    rng = np.random.default_rng(0)
    one = RowScorer({"F": ScoreMap(np.sort(rng.random(1000)), np.sort(rng.random(1000)))})
    scores = rng.random(calls).tolist()
    took = best({"one": lambda: [one(score, "F") for score in scores]}, 9)["one"] / calls
    table.row("one row served", "1", took, "a microsecond", took / 1e-6, 1)


# In between, because a program's peak memory counts that of the program that started it.
BETWEEN = """import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)
sys.exit(done.returncode)
"""


def process(*command):
    """Run a program; return its CPU seconds and the most memory it held, in bytes."""
    known = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    every = [sys.executable, "-c", BETWEEN, sys.executable, *map(str, command)]
    done = subprocess.run(every, stdout=subprocess.PIPE, env=known, text=True)
    if done.returncode:
        raise SystemExit(f"{command} ended with {done.returncode}")
    seconds, most = map(float, done.stdout.split())
    return seconds, most


def least(*command, repeat=3):
    """Run a program several times; return the least CPU seconds."""
    return min(process(*command)[0] for _ in range(repeat))


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
    """Commands on 1e7 rows against a bare GROUP BY, and against rewriting; the start of the program is counted too."""
    import pyarrow.parquet as pq

    name, columns = f"{n:.0e}".replace("e+0", "e"), ["--score", "risk", "--label", "died", "--group", "sex", "--quiet"]
    with tempfile.TemporaryDirectory() as folder:
        path, output, adjusted = (Path(folder) / each for each in ("rows.parquet", "map.json", "adjusted.parquet"))
        write_rows(path, n, FIVE)
        scan = process("-c", SCAN.replace("PATH", str(path)))[0]
        rule = ["--max-gap", "0.05", "-o", output]
        fit, peak = process("-m", "fairpot.cli", "fit", path, *columns, *rule, "--memory", "2GB")
        table.row("fit by rule, five groups, all scores differ", name, fit, "the scan", fit / scan, 8)
        table.row("its peak memory", name, None, "--memory 2GB", peak / 2e9, 1.1)
        table.row("its map file", name, None, "5 MB", output.stat().st_size / 5e6, 1)
        write_rows(path, n, FIVE[:2], digits=4)
        scan = least("-c", SCAN.replace("PATH", str(path)))
        for command, more, aim in (
            ("audit", (), 1.5),
            ("fit", ("--max-gap", "0.05", "-o", output, "--force"), 1.5),
            ("fit", ("--max-gap", "0.05", "--confidence", "0.95"), 6),
        ):
            start = least("-c", f"import fairpot.cli.{command}, duckdb, pyarrow.compute")
            took = least("-m", "fairpot.cli", command, path, *columns, *more)
            work = f"{command} {' '.join(each for each in more if each not in ('-o', output, '--force'))}".strip()
            table.row(f"{work}, few distinct scores", name, took, "the scan", took / scan, 6 if aim == 6 else None)
            table.row("the same without the start", name, took - start, "the scan", (took - start) / scan, aim)
        content = "import pyarrow.parquet as pq, sys; new = pq.ParquetFile(sys.argv[1])"
        copy = f"""{content}
with pq.ParquetWriter(sys.argv[2], new.schema_arrow.append(new.schema_arrow.field("risk").with_name("new"))) as out:
    for batch in new.iter_batches(1 << 19):
        out.write_batch(batch.append_column("new", batch.column("risk")))
"""
        commands = (
            ("-c", copy, path, adjusted),
            ("-m", "fairpot.cli", "apply", output, path, "-o", adjusted, "--force", "--quiet"),
        )
        walls, times = [9e9, 9e9], [9e9, 9e9]
        for k in (0, 1) * 3:
            began = time.perf_counter()
            times[k] = min(times[k], process(*commands[k])[0])
            walls[k] = min(walls[k], time.perf_counter() - began)
        assert pq.read_metadata(adjusted).num_rows == n
        table.row("apply to Parquet", name, times[1], "rewriting with PyArrow", times[1] / times[0], 1.3)
        table.row("the same, wall clock", name, walls[1], "rewriting with PyArrow", walls[1] / walls[0], 1.3)


def memory(table, n=10**7):
    """The most that commands hold, of 1e7 rows with as many scores in five groups, under three limits."""
    columns = ["--score", "risk", "--label", "died", "--group", "sex", "--quiet"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        write_rows(path, n, FIVE)
        for limit, size in (("500MB", 5e8), ("1GB", 1e9), ("2GB", 2e9)):
            for command, more in (("audit", ()), ("fit", ("--lam", "0.3"))):
                most = process("-m", "fairpot.cli", command, path, *columns, *more, "--memory", limit)[1]
                work = f"peak memory of {' '.join((command, *more))}"
                table.row(work, f"{n:.0e}".replace("e+0", "e"), None, f"--memory {limit}", most / size, 1.1)


def core(table, sizes):
    """All comparisons at every size, and how they grow."""
    seconds = {n: size(table, n, 9 if n <= 10**6 else 4) for n in sizes}
    for n in sizes:
        for key, work in (("audit", "growth of an audit"), ("fit", "growth of count, fit, curve")):
            if 10 * n in seconds:
                grown = seconds[10 * n][key] / seconds[n][key]
                table.row(
                    work, f"{10 * n:.0e}".replace("e+0", "e"), None, f"n = {n:.0e}".replace("e+0", "e"), grown, 12
                )
    score, y, group = rows(10**6)
    memory = peak(lambda: fit_and_curve(score, y, group)) / (score.nbytes + y.nbytes + group.nbytes)
    table.row("peak memory of fit and curve", "1e6", None, "the input arrays", memory, 12)


def many(table):
    """Scores kept on their grid, and every method on eight groups."""
    score, y, group = rows(8000)
    score = np.round(score, 2)
    rule = {"max_gap": 0.05}
    times = best(
        {
            "plain": lambda: FairPOT(**rule).fit(score, y, sensitive_features=group),
            "grid": lambda: FairPOT(**rule, keep="grid").fit(score, y, sensitive_features=group),
        },
        5,
    )
    table.row(
        'FairPOT(max_gap=0.05, keep="grid")', "8,000", times["grid"], "without", times["grid"] / times["plain"], 10
    )
    rng = np.random.default_rng(2)
    eight = rng.choice(8, len(score))
    y = (rng.random(len(score)) < 0.3 - 0.02 * eight).astype(int)
    score = 1 / (1 + np.exp(1 + 0.1 * eight - y - rng.normal(size=len(score))))
    own = [each.__name__ for each in METHODS]
    for what, asked, aims in (("", own, (6, 1.5)), (" with plug-ins", None, (None, None))):
        few = rows(2000)
        calls = {
            "eight": partial(compare, y, score, sensitive_features=eight, methods=asked),
            "two": partial(compare, few[1], few[0], sensitive_features=few[2], methods=asked),
        }
        times = best(calls, 1)
        table.row(f"compare{what}, eight groups", "8,000", times["eight"], "a second", times["eight"], aims[0])
        table.row(f"compare{what}, two groups", "2,000", times["two"], "a second", times["two"], aims[1])


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
    if "many" in options.parts:
        many(table)
    if "transport" in options.parts:
        transport(table, 5)
    if "fits" in options.parts:
        by_target(table)
        certified(table)
        dead_end(table)
    if "serve" in options.parts:
        serve(table)
    if "files" in options.parts:
        files(table)
    if "memory" in options.parts:
        memory(table)
    print(f"\n{table.missed} targets missed." if table.missed else "\nAll targets met.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
