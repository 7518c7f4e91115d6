"""Maps as SQL: milliseconds of the CASE and of the table of pieces, in each database that is installed.

    python benchmarks/sql.py [--rows 50000]

The databases are those of the tests, and each query adds up the adjusted scores, so that no rows are fetched. The two
forms are timed in turn, three times each, and the quickest counts. A query is not started if the last one of its form
took more than 1.5 seconds (`inf`).
"""

import argparse
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from fairpot.export import to_sql
from fairpot.transport import ScoreMap

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "helpers"))

from export_databases import DuckDB, Postgres, SQLite, postgres_server

SIZES = (50, 100, 200, 400, 900)


@contextmanager
def databases():
    """Give every database, PostgreSQL also without compiling queries."""
    with postgres_server() as folder:
        plain = Postgres(folder)
        plain.connection.execute("SET jit = off")
        yield {"DuckDB": DuckDB(), "SQLite": SQLite(), "PostgreSQL": Postgres(folder), "PostgreSQL, jit off": plain}


def seconds(database, text):
    """Make the table of pieces if there is one, then time the query."""
    *before, query = text.strip().removesuffix(";").split(";\n")
    if before:
        database.run(";\n".join([*before, "SELECT 1"]))
    begin = time.perf_counter()
    database.run(f"SELECT sum(score_adjusted) FROM ({query}) AS adjusted")
    return time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=50_000)
    rows = parser.parse_args().rows
    rng = np.random.default_rng(0)
    people = list(zip(rng.random(rows).tolist(), rng.choice(["F", "M"], rows).tolist()))
    with databases() as found:
        print(f"{rows:,} rows; milliseconds of the CASE, of the table")
        for name, database in found.items():
            database.load(people)
            last = {"case": 0.0, "table": 0.0}
            for size in SIZES:
                knots, values = np.sort(rng.random((2, size)), axis=1)
                maps = {"F": ScoreMap(knots, values), "M": ScoreMap.identity()}
                made = {form: to_sql(maps, dialect=database.dialect, table="people", form=form) for form in last}
                for form, text in made.items():
                    last[form] = min(seconds(database, text) for _ in range(3)) if last[form] < 1.5 else np.inf
                print(
                    f"{name:20} {size:>5} breakpoints {last['case'] * 1e3:8.0f} {last['table'] * 1e3:8.0f}", flush=True
                )


if __name__ == "__main__":
    main()
