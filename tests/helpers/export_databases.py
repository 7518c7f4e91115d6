"""Databases that run what is exported: each loads rows of a score and a group, and runs a query over them."""

import os
import pwd
import shutil
import sqlite3
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest


class DuckDB:
    dialect = "duckdb"

    def __init__(self):
        self.module = pytest.importorskip("duckdb")
        self.Error = self.module.Error
        self.connection = self.module.connect(":memory:")

    def load(self, rows, group_type="text"):
        pa = pytest.importorskip("pyarrow")
        columns = {"score": pa.array([s for s, _ in rows], pa.float64()), "group": pa.array([g for _, g in rows])}
        self.connection.register("given", pa.table({"id": list(range(len(rows))), **columns}))
        self.connection.execute("CREATE OR REPLACE TABLE people AS SELECT * FROM given")
        self.connection.unregister("given")

    def run(self, text):
        return self.connection.execute(text).fetchall()

    def drop(self, table):
        self.run(f"DROP TABLE IF EXISTS {table}")


class SQLite:
    dialect = "sqlite"
    Error = sqlite3.Error

    def __init__(self):
        self.connection = sqlite3.connect(":memory:")

    def load(self, rows, group_type="text"):
        self.drop("people")
        self.connection.execute('CREATE TABLE people (id INTEGER, score REAL, "group")')
        self.connection.executemany("INSERT INTO people VALUES (?, ?, ?)", [(i, *row) for i, row in enumerate(rows)])

    def run(self, text):
        *before, last = text.strip().removesuffix(";").split(";\n")
        self.connection.executescript(";\n".join(before))
        return self.connection.execute(last).fetchall()

    def drop(self, table):
        self.connection.execute(f"DROP TABLE IF EXISTS {table}")


class Postgres:
    dialect = "postgres"

    def __init__(self, folder):
        psycopg = pytest.importorskip("psycopg")
        self.Error = psycopg.Error
        self.connection = psycopg.connect(f"host={folder} user=tester dbname=postgres", autocommit=True)

    def load(self, rows, group_type="text"):
        self.drop("people")
        self.connection.execute(f'CREATE TABLE people (id int, score float8, "group" {group_type})')
        with self.connection.cursor().copy("COPY people FROM STDIN") as copy:
            for i, row in enumerate(rows):
                copy.write_row((i, *row))

    def run(self, text):
        *before, last = text.strip().removesuffix(";").split(";\n")
        for each in before:
            self.connection.execute(each)
        return self.connection.execute(last).fetchall()

    def drop(self, table):
        self.connection.execute(f"DROP TABLE IF EXISTS {table}")


@contextmanager
def postgres_server():
    """Run a server on a socket in a folder of its own; give the folder, and leave nothing behind."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    initdb = str(found[-1]) if found else shutil.which("initdb")
    if initdb is None:
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    owner = {}
    if os.geteuid() == 0:  # PostgreSQL refuses to be run by root
        try:
            user = pwd.getpwnam("postgres")
        except KeyError:
            pytest.skip("PostgreSQL does not run as root, and there is no user postgres")
        owner = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    folder = Path(tempfile.mkdtemp(prefix="fairpot-pg-", dir="/tmp"))  # a socket's path must be short
    if owner:
        os.chown(folder, owner["user"], owner["group"])
    data, control = str(folder / "data"), str(Path(initdb).parent / "pg_ctl")

    def call(*command):
        done = subprocess.run(
            command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, **owner
        )
        assert done.returncode == 0, done.stdout + done.stderr

    try:
        call(initdb, "-A", "trust", "-U", "tester", "-E", "UTF8", "--locale=C", "-N", "-D", data)
        options = f"-c listen_addresses= -c fsync=off -k {folder}"
        call(control, "-D", data, "-w", "-l", str(folder / "log"), "-o", options, "start")
        yield folder
        call(control, "-D", data, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
