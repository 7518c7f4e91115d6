"""Databases that run what is exported: each loads rows of a score and a group, and runs a query over them."""

import os
import pwd
import shutil
import sqlite3
import subprocess
import tempfile
import time
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


class MariaDB:
    dialect = "mysql"

    def __init__(self, folder):
        pymysql = pytest.importorskip("pymysql")
        self.Error = pymysql.Error

        class Connection(pymysql.connections.Connection):
            def execute(self, text):
                with self.cursor() as cursor:
                    cursor.execute(text)
                    return cursor.fetchall()

        self.connection = Connection(
            unix_socket=str(folder / "socket"), user="root", database="tests", autocommit=True, charset="utf8mb4"
        )
        self.connection.execute("SET sql_mode = CONCAT(@@sql_mode, ',ANSI_QUOTES')")  # as the tests quote names

    def load(self, rows, group_type="text"):
        self.drop("people")
        self.connection.execute(f'CREATE TABLE people (id int, score float8, "group" {group_type})')
        with self.connection.cursor() as cursor:
            cursor.executemany("INSERT INTO people VALUES (%s, %s, %s)", [(i, *row) for i, row in enumerate(rows)])

    def run(self, text):
        *before, last = text.strip().removesuffix(";").split(";\n")
        for each in before:
            self.connection.execute(each)
        return list(self.connection.execute(last))

    def drop(self, table):
        self.connection.execute(f"DROP TABLE IF EXISTS {table}")


@contextmanager
def mariadb_server():
    """Run a server on a socket in a folder of its own; give the folder, and leave nothing behind."""
    pytest.importorskip("pymysql")
    server, install = (
        shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin") for name in ("mariadbd", "mariadb-install-db")
    )
    if server is None or install is None:
        pytest.skip("MariaDB is not installed: apt-get install mariadb-server")
    folder, owner = _folder("mysql", "fairpot-my-")
    own = [f"--datadir={folder / 'data'}", "--no-defaults"][::-1]
    log = (folder / "log").open("w")
    known = {"cwd": folder, "stdin": subprocess.DEVNULL, "stdout": log, "stderr": log, **owner}
    try:
        made = subprocess.run([install, *own, "--skip-test-db", "--auth-root-authentication-method=normal"], **known)
        assert made.returncode == 0, (folder / "log").read_text()
        first = folder / "first.sql"
        quick = [f"--init-file={first}", "--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=32M"]
        first.write_text("CREATE DATABASE tests CHARACTER SET utf8mb4;\n")
        running = subprocess.Popen(
            [
                server,
                *own,
                f"--socket={folder / 'socket'}",
                f"--pid-file={folder / 'pid'}",
                "--skip-networking",
                *quick,
            ],
            **known,
        )
        try:
            while "ready for connections" not in (folder / "log").read_text():
                assert running.poll() is None, (folder / "log").read_text()
                time.sleep(0.05)
            yield folder
        finally:
            running.terminate()
            running.wait(300)
    finally:
        log.close()
        shutil.rmtree(folder, ignore_errors=True)


def _folder(user, prefix):
    """Make a folder for a server that refuses to be run by root, and say as whom it is run."""
    folder, owner = Path(tempfile.mkdtemp(prefix=prefix, dir="/tmp")), {}  # a socket's path must be short
    if os.geteuid() == 0:
        try:
            found = pwd.getpwnam(user)
        except KeyError:
            folder.rmdir()
            pytest.skip(f"the server does not run as root, and there is no user {user}")
        os.chown(folder, found.pw_uid, found.pw_gid)
        owner = {"user": found.pw_uid, "group": found.pw_gid, "extra_groups": []}
    return folder, owner


@contextmanager
def postgres_server():
    """Run a server on a socket in a folder of its own; give the folder, and leave nothing behind."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    initdb = str(found[-1]) if found else shutil.which("initdb")
    if initdb is None:
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    folder, owner = _folder("postgres", "fairpot-pg-")
    data, control = str(folder / "data"), str(Path(initdb).parent / "pg_ctl")

    def call(*command):
        done = subprocess.run(
            command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, **owner
        )
        assert done.returncode == 0, done.stdout + done.stderr

    try:
        call(initdb, "-A", "trust", "-U", "tester", "-E", "UTF8", "--locale=C", "-N", "-D", data)
        options = f"-c listen_addresses= -c fsync=off -k {folder}"
        call(control, "-D", data, "-w", "-t", "300", "-l", str(folder / "log"), "-o", options, "start")
        yield folder
        call(control, "-D", data, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
