"""A worker that dies in the middle of a count: the answer is the same."""

import threading

import numpy as np

from fairpot import score_table
from fairpot.rows import SparkRows, count_rows
from fairpot.rows.readers.session import without_advice


def held_back(folder):
    """Make a step that says that it has begun, and goes on when a file says so."""

    def step(batches):
        import os
        import time
        import uuid

        open(os.path.join(folder, f"begun-{uuid.uuid4().hex}"), "w").close()
        while not os.path.exists(os.path.join(folder, "go")):
            time.sleep(0.02)
        yield from batches

    return step


def test_lost_worker(spark, cluster, tmp_path):
    made = "pmod(hash(id), 500) / 500.0D AS s", "CAST(pmod(hash(id, 1), 2) AS INT) AS y"
    frame = spark.range(0, 40_000, 1, 8).selectExpr(*made, "IF(id % 3 = 0, 'a', 'b') AS g")
    local = frame.toArrow().to_pandas()
    expected = score_table(local["y"], local["s"], sensitive_features=local["g"])
    with without_advice():
        slow = frame.mapInArrow(held_back(str(tmp_path)), frame.schema)
    answers = []
    rows = SparkRows(slow, score="s", label="y", groups="g")
    work = threading.Thread(target=lambda: answers.append(count_rows(rows)))
    work.start()
    waiting = threading.Event()
    while len(list(tmp_path.glob("begun-*"))) < 2:  # one task on each worker
        assert work.is_alive()
        waiting.wait(0.05)
    cluster.kill_worker()
    (tmp_path / "go").touch()
    work.join()
    cluster.add_worker()
    [counted] = answers
    assert counted.rows == len(local)
    for one, other in zip(counted.table.counts, expected.counts):
        np.testing.assert_array_equal(one.score, other.score)
        np.testing.assert_array_equal(one.positive, other.positive)
        np.testing.assert_array_equal(one.negative, other.negative)
