"""Spark Connect: the same engine and commands against a server; and what is said where nothing answers."""

import json
import os
import signal
import socket
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from fairpot import FairPOT
from fairpot.cli._app import app
from spark_cluster import ConnectServer, java_or_skip, own_process

SCRIPT = """
import json, sys, warnings
warnings.simplefilter("ignore")
import numpy as np
from fairpot.rows import SparkRows, apply, count_rows, spark_session
from fairpot.transport import ScoreMap

path, maps = sys.argv[1], {g: ScoreMap(**m) for g, m in json.loads(sys.argv[2]).items()}
spark = spark_session(sys.argv[3])
rows = SparkRows.read(spark, path, score="s", label="y", groups="g")
counted = count_rows(rows)
x = np.linspace(0, 1, 5000)
large = {g: ScoreMap(x, x**2) for g in maps}
fair = [apply(m, rows, column="new").toArrow().sort_by("id").column("new").to_pylist() for m in (maps, large)]
binned = count_rows(rows, max_distinct=10)
answer = {"kind": type(spark).__module__, "rows": counted.rows, "fair": fair, "bound": binned.quantisation.score}
answer["table"] = [[c.score.tolist(), c.positive.tolist(), c.negative.tolist()] for c in counted.table.counts]
print("ANSWER" + json.dumps(answer))
spark.stop()
"""


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    rng = np.random.default_rng(4)
    n = 400
    frame = pd.DataFrame(
        {"id": np.arange(n), "s": rng.random(n), "y": rng.integers(0, 2, n), "g": rng.choice(["F", "it's"], n)}
    )
    path = tmp_path_factory.mktemp("people") / "people.parquet"
    frame.to_parquet(path)
    return frame, str(path)


@pytest.fixture(scope="module")
def server():
    java_or_skip()
    pytest.importorskip("grpc")
    made = ConnectServer()
    yield made
    made.close()


def command(*arguments, **more):
    line = [sys.executable, "-m", "fairpot.cli", *map(str, arguments)]
    return subprocess.run(line, env=own_process(), capture_output=True, text=True, check=False, timeout=300, **more)


@pytest.mark.slow
def test_connect(people, server):
    frame, path = people
    model = FairPOT(0.5).fit(frame["s"], frame["y"], sensitive_features=frame["g"])
    maps = json.dumps({group: each.to_dict() for group, each in model.maps_.items()})
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, path, maps, server.url],
        env=own_process(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    answer = json.loads(done.stdout.split("ANSWER")[1])
    assert "connect" in answer["kind"]
    assert answer["rows"] == len(frame)
    for found, counts in zip(answer["table"], model.table_.counts):
        assert found == [counts.score.tolist(), counts.positive.tolist(), counts.negative.tolist()]
    expected = model.transform(frame["s"].to_numpy(), sensitive_features=frame["g"].to_numpy())
    np.testing.assert_array_equal(answer["fair"][0], expected)
    assert answer["bound"] > 0


COLUMNS = ["--score", "s", "--label", "y", "--group", "g", "--json"]


@pytest.mark.slow
def test_commands_against_a_server_and_after_it_is_gone(people, server):
    """What DuckDB counts, and nothing on standard error; once the server is killed, that nobody answers."""
    _, path = people
    there = ["--engine", "spark", "--master", server.url]
    done = command("audit", path, *COLUMNS, *there)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == json.loads(command("audit", path, *COLUMNS).stdout)
    os.killpg(server.process.pid, signal.SIGKILL)
    server.process.wait()
    done = command("audit", path, *COLUMNS, *there)
    assert_unreachable(done.returncode, done.stdout, done.stderr, "Connection refused")


def assert_unreachable(code, printed, told, why):
    assert code == 5, told
    assert printed == ""
    first, hint = told.splitlines()
    assert first.startswith("error: cannot reach Spark at s")
    assert first.endswith(f": {why}.")
    assert hint.startswith("Hint: check that the cluster runs")


@pytest.mark.slow
def test_no_cluster_answers(people):
    """A closed port, which Java is started for."""
    java_or_skip()
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # nobody else gets it, and it takes no connection
        nobody = f"127.0.0.1:{closed.getsockname()[1]}"
        master = f"spark://{nobody},{nobody}"
        done = command("audit", people[1], *COLUMNS, "--engine", "spark", "--master", master)
        assert_unreachable(done.returncode, done.stdout, done.stderr, "Connection refused")


def test_no_server_answers(people, monkeypatch):
    """A port where something listens that never says a word; for a closed one the server is killed above."""
    pytest.importorskip("grpc")
    monkeypatch.setattr("fairpot.rows.readers.session._PATIENCE", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        master = f"sc://127.0.0.1:{silent.getsockname()[1]}"
        done = CliRunner().invoke(app, ["audit", people[1], *COLUMNS, "--engine", "spark", "--master", master])
        assert_unreachable(done.exit_code, done.stdout, done.stderr, "what answers there is not Spark Connect")
