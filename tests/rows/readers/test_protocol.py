"""What every reader must do, tried on those there are: what columns in memory give."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from click.testing import CliRunner

import fairpot
from fairpot import FairPOT, score_table
from fairpot.cli._app import app
from fairpot.exceptions import InputFileError, UnseenGroupError
from fairpot.rows import CountedRows, RowSource, readers
from fairpot.rows.readers import Counting, Reader, names, reader
from fairpot.transport import ScoreMap
from rows_cases import assert_same_tables

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
def path(frame, tmp_path_factory):
    made = tmp_path_factory.mktemp("rows") / "x.parquet"
    frame.to_parquet(made)
    return made


@pytest.fixture(scope="module")
def query(path):
    return RowSource(sql=f"select * from '{path}' order by id", score="s", label="y", groups="g", weight="w")


PARTS = {"score": "s", "label": "y", "groups": "g", "weight": "w"}


@pytest.mark.parametrize("name", ["duckdb", "memory"])
def test_every_reader_keeps_the_protocol(frame, path, name):
    chosen: Reader = reader(name)
    rows = chosen.open(path if name == "duckdb" else frame, PARTS, {})
    assert rows.reader == name
    counted = chosen.count(rows, Counting(memory_limit="1GB"))
    assert isinstance(counted, CountedRows)
    assert counted.rows == len(frame)
    columns = {"sensitive_features": frame["g"], "sample_weight": frame["w"]}
    assert_same_tables(counted.table, score_table(frame["y"], frame["s"], **columns))


def test_readers_are_found_by_name():
    assert {"duckdb", "memory", "spark"} <= set(names())
    with pytest.raises(InputFileError, match=r"(?s)engine='duckbd' is not a reader of rows.*did you mean 'duckdb'"):
        reader("duckbd")


OUTSIDE = '''
import pandas as pd
from dataclasses import dataclass
from typing import ClassVar
from fairpot.rows.readers import Counting, reader
from fairpot.rows.roles import Roles


@dataclass(frozen=True)
class Doubled(Roles):
    """Rows of which there are two each."""

    frame: object
    reader: ClassVar[str] = "twice"


class Twice:
    where, options, writes_folders = "in memory", (), False

    def open(self, rows, parts, options):
        frame = pd.read_csv(rows)
        return Doubled(frame, **parts)

    def count(self, rows, how):
        inside = reader("memory")
        both = pd.concat([rows.frame, rows.frame], ignore_index=True)
        parts = {"score": rows.score, "label": rows.label, "groups": rows.groups}
        return inside.count(inside.open(both, parts, {}), how)
'''


@pytest.fixture
def another_package(tmp_path, monkeypatch):
    """A package that provides a reader, as if it were installed."""
    (tmp_path / "twice_rows.py").write_text(OUTSIDE)
    info = tmp_path / "twice_rows-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: twice-rows\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[fairpot.readers]\ntwice = twice_rows:Twice\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    readers._others.cache_clear()
    yield
    sys.modules.pop("twice_rows", None)
    readers._others.cache_clear()


@pytest.mark.usefixtures("another_package")
def test_a_reader_of_another_package(frame, tmp_path):
    """An entry point is all it takes, for Python and the command line."""
    frame.to_csv(tmp_path / "x.csv", index=False)
    assert "twice" in names()
    source = reader("twice").open(tmp_path / "x.csv", {"score": "s", "label": "y", "groups": "g"}, {})
    assert score_table(source).rows == 2 * len(frame)
    words = ["audit", str(tmp_path / "x.csv"), "--score", "s", "--label", "y", "--group", "g", "--engine", "twice"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert "1,000 rows" in done.stdout
    done = CliRunner().invoke(app, [*words, "--delimiter", ";"])
    assert done.exit_code == 2
    assert "--delimiter is not an option of --engine twice" in done.output


def test_a_query_is_adjusted(frame, query, tmp_path):
    model = FairPOT(0.5, reference="a").fit(frame["s"], frame["y"], sensitive_features=frame["g"])
    fairpot.apply(model.maps_, query, tmp_path / "y.parquet", column="new")
    after = pd.read_parquet(tmp_path / "y.parquet")
    assert list(after.columns) == [*frame.columns, "new"]
    np.testing.assert_array_equal(after["new"], model.transform(frame["s"], sensitive_features=frame["g"]))
    with pytest.raises(UnseenGroupError, match="rows with a group not seen in fit"):
        fairpot.apply({"a": ScoreMap.identity()}, query, tmp_path / "z.parquet")
    assert not Path(tmp_path / "z.parquet").exists()


FRAMES = {"pandas": lambda frame: frame, "polars": pl.from_pandas, "pyarrow": pa.Table.from_pandas}


@pytest.mark.parametrize("kind", FRAMES)
def test_a_frame_comes_back_as_one_of_its_kind(frame, kind, tmp_path):
    """What is written to files, for every way of rows without a map; in pandas the index stays."""
    model = FairPOT(0.5, reference="a").fit(frame["s"], frame["y"], sensitive_features=frame["g"])
    mixed = frame.sample(frac=1, random_state=1)
    mixed["g"] = mixed["g"].astype(object)
    mixed.loc[mixed.index[:3], "g"] = "new"
    mixed.loc[mixed.index[5:7], "g"] = None
    given = FRAMES[kind](mixed)
    with pytest.raises(UnseenGroupError, match=r"(?s)column 'g' has 2 rows without a group.*column 'g' has 3 rows"):
        fairpot.apply(model, given, score="s", group="g")
    for unknown, missing in (("keep", "null"), ("null", "keep")):
        ways = {"unknown_group": unknown, "missing_group": missing}
        made = fairpot.apply(model, given, score="s", group="g", **ways)
        assert type(made) is type(given)
        fairpot.apply(
            model, _written(mixed, tmp_path), tmp_path / "y.parquet", score="s", group="g", overwrite=True, **ways
        )
        expected = pd.read_parquet(tmp_path / "y.parquet")["s_adjusted"].to_numpy()
        values = made["s_adjusted"].to_numpy()
        np.testing.assert_array_equal(np.asarray(values, dtype=float), expected)
        nulls = {
            "pandas": lambda f: f.isna().sum(),
            "polars": lambda f: f.null_count(),
            "pyarrow": lambda f: f.null_count,
        }
        assert nulls[kind](made["s_adjusted"]) == np.isnan(expected).sum() > 0
    if kind == "pandas":
        assert made.index.equals(mixed.index)
        assert "s_adjusted" not in mixed


def _written(frame, folder):
    frame.reset_index(drop=True).to_parquet(folder / "x.parquet")
    return folder / "x.parquet"


def test_what_is_wrong_with_a_frame(frame):
    model = FairPOT(0.5, reference="a").fit(frame["s"], frame["y"], sensitive_features=frame["g"])
    named = {"score": "s", "group": "g"}
    with pytest.raises(InputFileError, match="the frame has no column 'score'"):
        fairpot.apply(model, frame)
    with pytest.raises(ValueError, match="already"):
        fairpot.apply(model, frame, **named, column="w")
    assert list(fairpot.apply(model, frame, **named, column="w", replace=True)) == list(frame)
    with pytest.raises(ValueError, match="'g' is the group"):
        fairpot.apply(model, frame, **named, column="g", replace=True)
    with pytest.raises(TypeError, match="without changes"):
        fairpot.apply(model, frame, **named, changes="x.csv")
    with pytest.raises(TypeError, match="lazy frame has no rows yet"):
        fairpot.apply(model, pl.from_pandas(frame).lazy(), **named)
    with pytest.raises(ValueError, match="of 500 scores lie far outside"):
        fairpot.apply(model, frame.assign(s=frame["s"] * 100), **named)
    holes = frame.assign(s=frame["s"].where(frame["id"] > 3))
    with pytest.raises(ValueError, match="column 's' has 4 missing"):
        fairpot.apply(model, holes, **named)
    made = fairpot.apply(model, holes, **named, drop_missing=True)
    assert made["id"].tolist() == list(range(4, 500))


def test_columns_have_their_usual_names(frame, path, tmp_path):
    """A frame or a path alone: score, label and group, as on the command line."""
    usual = frame.rename(columns={"s": "score", "y": "label", "g": "group"})
    expected = score_table(frame["y"], frame["s"], sensitive_features=frame["g"])
    usual.to_csv(tmp_path / "x.csv", index=False)
    for rows in (usual, pl.from_pandas(usual), pa.Table.from_pandas(usual), tmp_path / "x.csv"):
        assert_same_tables(score_table(rows), expected)
    for rows in (frame, path):
        with pytest.raises(InputFileError, match="no column 'score'"):
            score_table(rows)
    with pytest.raises(InputFileError, match="no column 'group'"):
        score_table(usual.drop(columns="group"))
    with pytest.raises(TypeError, match="score is missing"):
        score_table(usual, label="label")
    model = FairPOT(0.5, reference="a").fit(expected)
    np.testing.assert_array_equal(
        fairpot.apply(model, usual)["score_adjusted"], model.transform(frame["s"], sensitive_features=frame["g"])
    )
