"""What every engine must do, tried on those there are: what columns in memory give."""

import numpy as np
import pandas as pd
import pytest
from fairpot.engines import CountedRows, DuckDBEngine, Engine

from fairpot import FairPOT, score_table
from fairpot.exceptions import UnseenGroupError
from fairpot.rows import RowSource
from fairpot.transport import ScoreMap

pytest.importorskip("duckdb")


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(3)
    n = 500
    return pd.DataFrame(
        {
            "id": np.arange(n),
            "s": rng.random(n).round(2),
            "y": rng.integers(0, 2, n),
            "g": rng.choice(["a", "b", "c"], n),
            "w": rng.integers(1, 4, n),
        }
    )


@pytest.fixture(scope="module")
def duckdb_rows(frame, tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "x.parquet"
    frame.to_parquet(path)
    return RowSource(sql=f"select * from '{path}' order by id", score="s", label="y", groups="g", weight="w")


def test_duckdb_keeps_the_protocol(frame, duckdb_rows):
    engine: Engine = DuckDBEngine("1GB", threads=1)
    counted = engine.count(duckdb_rows)
    assert isinstance(counted, CountedRows)
    expected = score_table(frame["y"], frame["s"], sensitive_features=frame["g"], sample_weight=frame["w"])
    assert counted.table.groups == expected.groups
    for one, other in zip(counted.table.counts, expected.counts):
        for part in ("score", "positive", "negative"):
            np.testing.assert_array_equal(getattr(one, part), getattr(other, part))
    bare = score_table(frame["y"], frame["s"], sensitive_features=frame["g"])
    for region in ("pooled", "group"):
        assert engine.thresholds(duckdb_rows, 0.2, region=region) == bare.thresholds(0.2, region)


def test_duckdb_adjusts_a_query(frame, duckdb_rows):
    model = FairPOT(0.5, reference="a").fit(frame["s"], frame["y"], sensitive_features=frame["g"])
    after = DuckDBEngine().apply(duckdb_rows, model.maps_, column="new").read_all()
    assert after.column_names == [*frame.columns, "new"]
    expected = model.transform(frame["s"], sensitive_features=frame["g"])
    np.testing.assert_array_equal(after["new"].to_numpy(), expected)
    with pytest.raises(UnseenGroupError, match="rows with a group not seen in fit"):
        DuckDBEngine().apply(duckdb_rows, {"a": ScoreMap.identity()}).read_all()
