"""Spark on a standalone cluster of this machine: counting with one worker, two, and DuckDB; applying and a rewrite.

    python benchmarks/spark.py [--rows 10_000_000] [--parts count,apply,partitions] [--workers 1,2]

Each worker has one core. Seconds are of the clock, and of CPU over all processes (driver, workers, their Python): on
a machine with other work only the CPU seconds compare. Every step runs once before it is measured, on few rows.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from bench_files import generate

from fairpot.rows import RowSource, SparkRows, apply, count_rows, spark_session
from fairpot.transport import ScoreMap

ROLES = {"score": "risk", "label": "outcome", "groups": "sex"}
CONFIG = {"spark.executor.memory": "1500m", "spark.driver.memory": "3g", "spark.driver.maxResultSize": "2g"}
TICK = os.sysconf("SC_CLK_TCK")


def cpu_seconds():
    """Add up the CPU seconds of this process and all that came from it, also those that have ended."""
    parents, spent = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            parents[int(entry.name)] = int(fields[1])
            spent[int(entry.name)] = sum(map(int, fields[11:15])) / TICK
    ours = {os.getpid()}
    while True:
        more = {pid for pid, parent in parents.items() if parent in ours} - ours
        if not more:
            return sum(spent[pid] for pid in ours)
        ours |= more


def measured(work):
    """Return the clock's and the CPU's seconds of some work, and its answer."""
    begin, cpu = time.perf_counter(), cpu_seconds()
    answer = work()
    return time.perf_counter() - begin, cpu_seconds() - cpu, answer


def maps(knots):
    rng = np.random.default_rng(0)
    x = np.sort(rng.random(knots))
    return {"F": ScoreMap(x, np.sort(rng.random(knots)), below="identity"), "M": ScoreMap.identity()}


def counts(folder, path, warm, workers):
    """Count the same file with DuckDB and with workers of Spark; the tables must be equal."""
    clock, cpu, first = measured(lambda: count_rows(RowSource(path, **ROLES), memory_limit="2GB"))
    show("count, DuckDB, two threads", clock, cpu, cpu)
    base = cpu
    for number in workers:
        with_cluster(number, lambda spark, w=number: one_count(spark, path, warm, first, base, w))


def one_count(spark, path, warm, first, base, workers):
    count_rows(SparkRows.read(spark, warm, **ROLES))
    clock, cpu, found = measured(lambda: count_rows(SparkRows.read(spark, path, **ROLES)))
    for one, other in zip(found.table.counts, first.table.counts):
        assert np.array_equal(one.score, other.score)
        assert np.array_equal(one.positive, other.positive)
    show(f"count, Spark, {workers} worker{'s' * (workers > 1)}", clock, cpu, base)


def applies(folder, path, warm, workers):
    """Rewrite a file with Spark as it is, and with maps of several sizes."""

    def work(spark):
        def rewrite(source, target):
            spark.read.parquet(source).write.mode("overwrite").parquet(target)

        def adjust(source, target, knots):
            rows = SparkRows.read(spark, source, score="risk", groups="sex")
            apply(maps(knots), rows, target, overwrite=True)

        target = str(folder / "out.parquet")
        rewrite(warm, target)
        clock, base, _ = measured(lambda: rewrite(path, target))
        show("plain rewrite, Spark", clock, base, base)
        for knots in (10, 900, 100_000):
            adjust(warm, target, knots)
            clock, cpu, _ = measured(lambda k=knots: adjust(path, target, k))
            show(f"apply, {knots} knots", clock, cpu, base)

    with_cluster(workers[-1], work)


def partitions(folder, path, warm, workers):
    """Count the same rows in 4 and in 10,000 partitions; the tables must be equal."""

    def counted(spark, number):
        made = "pmod(hash(id), 100) / 100.0D AS risk", "CAST(pmod(hash(id, 1), 2) AS INT) AS outcome"
        frame = spark.range(0, 50_000, 1, number).selectExpr(*made, "IF(id % 997 = 0, 'F', 'M') AS sex")
        return count_rows(SparkRows(frame, **ROLES)).table

    def work(spark):
        clock, base, few = measured(lambda: counted(spark, 4))
        show("count, 4 partitions", clock, base, base)
        clock, cpu, many = measured(lambda: counted(spark, 10_000))
        assert all(np.array_equal(a.positive, b.positive) for a, b in zip(few.counts, many.counts))
        assert all(np.array_equal(a.weight, b.weight) for a, b in zip(few.counts, many.counts))
        show("count, 10,000 partitions", clock, cpu, base)

    with_cluster(workers[-1], work)


def with_cluster(workers, work):
    sys.path.append(str(Path(__file__).parents[1] / "tests" / "helpers"))
    from spark_cluster import Cluster

    cluster = Cluster(workers, memory="2g")
    spark = spark_session(cluster.url, config=CONFIG)
    try:
        work(spark)
    finally:
        spark.stop()
        cluster.close()


def show(name, clock, cpu, base):
    print(f"{name:<28} {clock:8.1f} s {cpu:8.1f} CPU s {cpu / base:8.2f} x", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--scores", choices=["rounded", "double"], default="rounded")
    parser.add_argument("--parts", default="count,apply")
    parser.add_argument("--workers", default="1,2")
    given = parser.parse_args()
    workers = [int(number) for number in given.workers.split(",")]
    folder = Path(tempfile.mkdtemp(prefix="fairpot-bench-"))
    try:
        path, warm = folder / "rows.parquet", folder / "few.parquet"
        generate(path, given.rows, given.scores)
        generate(warm, 200_000, given.scores)
        print(f"{given.rows:,} rows, {path.stat().st_size / 2**20:.0f} MiB, load {os.getloadavg()[0]:.1f}", flush=True)
        for part in given.parts.split(","):
            {"count": counts, "apply": applies, "partitions": partitions}[part](folder, str(path), str(warm), workers)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
