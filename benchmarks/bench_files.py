"""Files larger than memory: the score table against DuckDB's bare GROUP BY, apply against a plain rewrite.

Each measurement runs in a process of its own, so that its peak memory is its own; the file's pages are warmed
first. Run with ``python benchmarks/bench_files.py [--rows 100_000_000] [--scores rounded|double]``; see ``--help``.
"""

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SCORE = {"rounded": "round(x, 6)", "float32": "x::FLOAT::DOUBLE", "double": "x"}
TARGETS = {"table": (2.0, 4.0), "audit": (2.0, 4.0), "fit": (2.0, 4.0), "apply": (1.3, 1.0)}
BASELINES = {"table": "bare", "audit": "bare", "fit": "bare", "apply": "rewrite"}
MEMORY = "2GB"


def generate(path, rows, scores):
    """Write rows with an identifier, a group, an outcome that follows the score, and the score."""
    import duckdb

    with duckdb.connect(config={"memory_limit": MEMORY, "temp_directory": str(path.parent / "spill")}) as con:
        con.execute("SELECT setseed(0.5)")
        con.execute("SET threads = 1")
        con.execute(
            f"""COPY (SELECT id, CASE WHEN g < 0.3 THEN 'F' ELSE 'M' END AS sex,
                             (u < x * x)::TINYINT AS outcome, {SCORE[scores]} AS risk
                      FROM (SELECT range AS id, random() AS g, random() AS u, random() * random() AS x
                            FROM range({rows})))
                TO '{path}' (FORMAT parquet, ROW_GROUP_SIZE 1000000)"""
        )


def bare(path):
    import duckdb

    config = {"memory_limit": MEMORY, "temp_directory": str(path.parent / "bare"), "preserve_insertion_order": False}
    with duckdb.connect(config=config) as con:
        text = f"SELECT sex, risk, count(*), sum(outcome) FROM read_parquet('{path}') GROUP BY ALL"
        return sum(batch.num_rows for batch in con.sql(text).to_arrow_reader(1 << 19))


def table(path):
    from fairpot.rows import RowSource, count_rows

    counted = count_rows(RowSource(path, score="risk", label="outcome", groups="sex"), memory_limit=MEMORY)
    bound = "exact" if counted.quantisation is None else f"AUC within {counted.quantisation.auc:.1e}"
    return f"{sum(len(c.score) for c in counted.table.counts)} ({bound})"


def audit(path):
    return command("audit", path)


def fit(path):
    return command("fit", path, "--max-gap", "0.02", "-o", str(path.with_name("map.json")), "--force")


def command(name, path, *options):
    """Run a command of the command line, in this process."""
    from fairpot.cli import main as fairpot

    columns = ["--score", "risk", "--label", "outcome", "--group", "sex", "--quiet"]
    sys.argv = ["fairpot", name, str(path), *columns, *options]
    try:
        fairpot()
    except SystemExit as done:
        if done.code:
            raise
    return f"fairpot {name}"


def rewrite(path):
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file, pq.ParquetWriter(path.with_name("copy.parquet"), file.schema_arrow) as out:
        for batch in file.iter_batches(batch_size=1 << 18):
            out.write_batch(batch)
        return file.metadata.num_rows


def apply(path):
    import numpy as np

    from fairpot.rows import RowSource
    from fairpot.rows import apply as apply_maps
    from fairpot.transport import ScoreMap

    rng = np.random.default_rng(0)
    maps = {"M": ScoreMap.identity(), "F": ScoreMap(*np.sort(rng.random((2, 100_000))))}
    target = path.with_name("adjusted.parquet")
    return apply_maps(maps, RowSource(path, score="risk", groups="sex"), target, overwrite=True).rows


def measure(name, path):
    """Run one piece of work in a new process: seconds, peak GiB and what it found."""
    code = [sys.executable, __file__, "--one", name, "--dir", str(path)]
    done = subprocess.run(code, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def run_one(name, path):
    import duckdb  # noqa: F401, not part of the work
    import pyarrow.parquet  # noqa: F401

    import fairpot.rows.readers.duckdb  # noqa: F401

    start, cpu = time.perf_counter(), time.process_time()
    found = globals()[name](path)
    taken, worked = time.perf_counter() - start, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(json.dumps([taken, worked, peak, found]))


def warm(path):
    with path.open("rb") as stream:
        while stream.read(1 << 24):
            pass


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--scores", choices=[*SCORE], default="rounded")
    parser.add_argument("--work", choices=[*TARGETS], nargs="*", default=[*TARGETS])
    parser.add_argument("--dir", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        return run_one(options.one, options.dir)
    folder = Path(tempfile.mkdtemp(prefix="fairpot-bench-", dir=options.dir))
    try:
        path = folder / "rows.parquet"
        generate(path, options.rows, options.scores)
        print(f"{options.rows:,} rows, {options.scores} scores, {path.stat().st_size / 2**30:.2f} GiB of Parquet")
        print(f"{'work':<10}{'seconds':>9}{'CPU s':>9}{'peak GiB':>10}   found")
        for ours in options.work:
            theirs = BASELINES[ours]
            warm(path)
            results = {name: measure(name, path) for name in (theirs, ours)}
            for name, (taken, cpu, peak, found) in results.items():
                print(f"{name:<10}{taken:>9.1f}{cpu:>9.1f}{peak:>10.2f}   {found}")
            ratio, most = results[ours][0] / results[theirs][0], TARGETS[ours]
            of_cpu = results[ours][1] / results[theirs][1]
            print(f"  {ours} / {theirs}: {ratio:.2f} by the clock, {of_cpu:.2f} in CPU", end="")
            print(f" (target {most[0]}, {most[1]} GiB)")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
