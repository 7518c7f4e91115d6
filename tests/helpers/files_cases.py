import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pytest

pytest.importorskip("duckdb")

SCORE = 'ri.sk "é'  # dots, spaces, quotes and letters beyond ASCII


@pytest.fixture(scope="session")
def frame():
    rng = np.random.default_rng(7)
    n = 3000
    return pd.DataFrame(
        {
            "id": np.arange(n),
            SCORE: rng.normal(size=n).round(2),
            "y": rng.integers(0, 2, n),
            "sex": rng.choice(["F", "M"], n),
            "age": rng.choice([1, 2, 3], n),
            "old": rng.random(n) < 0.4,
            "w": rng.integers(0, 4, n),
            "wf": rng.integers(0, 9, n) / 4,
            "note": rng.choice(["a,b", 'say "x"', "two\nlines", "007", "é"], n),
        }
    )


def write(frame, path):
    name = path.name
    if name.endswith(".parquet"):
        frame.to_parquet(path, row_group_size=700)
    elif name.endswith((".feather", ".arrow")):
        feather.write_feather(pa.Table.from_pandas(frame, preserve_index=False), path, chunksize=700)
    elif ".jsonl" in name:
        frame.to_json(path, orient="records", lines=True, double_precision=15)
    else:
        frame.to_csv(path, index=False, sep="\t" if ".tsv" in name else ",")
    return path


def read_csv(path, **options):
    """Read a CSV file, each number as the nearest float; older versions of pandas have to be told, newer may not be."""
    exact = {} if PARSES_EXACTLY else {"float_precision": "round_trip"}
    return pd.read_csv(path, **options, **exact)


def _parses_exactly():
    numbers = np.random.default_rng(0).random(2000).tolist()
    return pd.read_csv(io.StringIO("\n".join(["x", *map(repr, numbers)])))["x"].tolist() == numbers


PARSES_EXACTLY = _parses_exactly()


def read(path):
    name = path.name
    if name.endswith(".parquet"):
        return pd.read_parquet(path)
    if name.endswith((".feather", ".arrow")):
        return feather.read_feather(path)
    if ".jsonl" in name:
        return pd.read_json(path, lines=True, precise_float=True)
    return read_csv(path, sep="\t" if ".tsv" in name else ",")


FORMATS = ["parquet", "csv", "csv.gz", "tsv", "tsv.gz", "feather", "arrow", "jsonl", "jsonl.gz"]


@pytest.fixture(params=FORMATS)
def file(request, frame, tmp_path):
    return write(frame, tmp_path / f"rows.{request.param}")


@pytest.fixture
def save(tmp_path):
    return lambda frame, name="rows.parquet": write(frame, tmp_path / name)
