"""People with risk scores, in files of every format, and the command line as a function."""

import inspect
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from click.testing import CliRunner

from fairpot.cli._app import app

COLUMNS = ["--score", "risk", "--label", "outcome", "--group", "sex"]


def draw_people(n=600, seed=0):
    rng = np.random.default_rng(seed)
    sex = rng.choice(["F", "M"], n)
    risk = np.round(rng.beta(2, 3, n) * np.where(sex == "M", 1.0, 0.75), 3)
    outcome = (rng.random(n) < risk + 0.1 * (sex == "F")).astype(int)
    return pd.DataFrame(
        {
            "id": np.arange(n),
            "risk": risk,
            "outcome": outcome,
            "sex": sex,
            "age": rng.choice([9, 10, 30], n),
            "smoker": rng.random(n) < 0.4,
            "answer": np.where(outcome == 1, "yes", "no"),
            "times": rng.integers(1, 4, n),
            "share": rng.random(n),
        }
    )


@pytest.fixture(scope="session")
def people():
    return draw_people()


@pytest.fixture(scope="session")
def held_out():
    return draw_people(400, seed=1)


def write_arrow(table, path):
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)


WRITERS = {
    "people.parquet": lambda f, p: f.to_parquet(p, index=False),
    "people.csv": lambda f, p: f.to_csv(p, index=False),
    "people.csv.gz": lambda f, p: f.to_csv(p, index=False),
    "people.tsv": lambda f, p: f.to_csv(p, index=False, sep="\t"),
    "people.tsv.gz": lambda f, p: f.to_csv(p, index=False, sep="\t"),
    "people.feather": lambda f, p: pa.feather.write_feather(pa.Table.from_pandas(f, preserve_index=False), str(p)),
    "people.arrow": lambda f, p: write_arrow(pa.Table.from_pandas(f, preserve_index=False), p),
    "people.jsonl": lambda f, p: f.to_json(p, orient="records", lines=True, double_precision=15),
    "people.jsonl.gz": lambda f, p: f.to_json(p, orient="records", lines=True, double_precision=15),
}


@pytest.fixture(scope="session")
def folder(tmp_path_factory, people, held_out):
    """A folder with the people in every format; tests only read it."""
    made = tmp_path_factory.mktemp("people")
    for name, write in WRITERS.items():
        write(people, made / name)
    held_out.to_csv(made / "held_out.csv", index=False)
    return made


@pytest.fixture(scope="session")
def csv(folder):
    return str(folder / "people.csv")


class Answer:
    """What a command answered."""

    def __init__(self, result):
        self.code = result.exit_code
        self.out = result.stdout
        self.err = result.stderr

    @property
    def json(self):
        return json.loads(self.out)


def make_runner():
    """Return a runner that keeps the two streams apart; before click 8.2 it has to be told."""
    mixed = "mix_stderr" in inspect.signature(CliRunner).parameters
    return CliRunner(mix_stderr=False) if mixed else CliRunner()


@pytest.fixture(scope="session")
def run():
    def call(*arguments, expect=0, stdin=None):
        answer = Answer(make_runner().invoke(app, [str(a) for a in arguments], input=stdin))
        assert answer.code == expect, answer.err + answer.out
        return answer

    return call


@pytest.fixture(scope="session")
def fitted(run, csv, tmp_path_factory):
    """A map of the people; tests only read it."""
    path = tmp_path_factory.mktemp("fitted") / "map.json"
    run("fit", csv, *COLUMNS, "--lam", 0.4, "-o", path)
    return path


@pytest.fixture
def many(tmp_path):
    """Three groups, one of them tiny."""
    rng = np.random.default_rng(3)
    sex = np.array(["F"] * 300 + ["M"] * 300 + ["X"] * 6)
    risk = np.round(rng.beta(2, 3, len(sex)), 3)
    frame = pd.DataFrame({"risk": risk, "outcome": (rng.random(len(sex)) < risk).astype(int), "sex": sex})
    frame.loc[600:605, "outcome"] = [0, 1, 0, 1, 0, 1]
    frame.to_csv(tmp_path / "many.csv", index=False)
    return tmp_path / "many.csv"
