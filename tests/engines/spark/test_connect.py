"""Spark Connect: the same engine, in a process of its own."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from fairpot import FairPOT
from spark_cluster import java_or_skip, own_process

SCRIPT = """
import json, sys, warnings
warnings.simplefilter("ignore")
import numpy as np
from pyspark.sql import SparkSession
from fairpot.engines.spark import SparkEngine, SparkRows
from fairpot.transport import ScoreMap

path, maps = sys.argv[1], {g: ScoreMap.from_dict(m) for g, m in json.loads(sys.argv[2]).items()}
spark = SparkSession.builder.remote("local[1]").config("spark.sql.shuffle.partitions", "1").getOrCreate()
engine, rows = SparkEngine(), SparkRows.read(spark, path, score="s", label="y", groups="g")
counted = engine.count(rows)
x = np.linspace(0, 1, 5000)
large = {g: ScoreMap(x, x**2) for g in maps}
fair = [engine.apply(rows, m, column="new").toArrow().sort_by("id").column("new").to_pylist() for m in (maps, large)]
binned = engine.count(rows, max_distinct=10)
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


def test_connect(people):
    java_or_skip()
    pytest.importorskip("grpc")
    frame, path = people
    model = FairPOT(0.5).fit(frame["s"], frame["y"], sensitive_features=frame["g"])
    maps = json.dumps({group: each.to_dict() for group, each in model.maps_.items()})
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, path, maps], env=own_process(), capture_output=True, text=True, check=False
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
