"""Every export says which map it is of, and the command line reads it back."""

import hashlib
import json
import shutil
import subprocess
from pathlib import Path

import pytest

import fairpot
from cli.conftest import make_runner
from fairpot import FairPOT
from fairpot._lineage import Lineage, lineage_of
from fairpot.cli._app import app
from fairpot.export import to_python
from fairpot.export.sql_dialects import DIALECTS

WAYS = {
    **{f"{name}.sql": ["--to", "sql", "--dialect", name] for name in DIALECTS},
    "table.sql": ["--to", "sql", "--dialect", "sqlite", "--table", "people"],
    "map.py": ["--to", "python"],
    "map.js": ["--to", "javascript"],
    "map.mjs": ["--to", "javascript", "--module", "esm"],
    "simple.py": ["--to", "python", "--max-error", "0.1"],
    "map.onnx": ["--to", "onnx"],
}


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with two maps."""
    monkeypatch.chdir(tmp_path)
    for name, lam in (("map.json", 0.5), ("other.json", 0.6)):
        FairPOT(lam, reference="M").fit(range(40), sensitive_features=["F", "M"] * 20).save(name)
    return tmp_path


def run(*line, code=0):
    done = make_runner().invoke(app, list(map(str, line)))
    assert done.exit_code == code, done.output
    return done.stdout


def digest(name):
    return hashlib.sha256(Path(name).read_bytes()).hexdigest()


@pytest.mark.parametrize("name", WAYS)
def test_what_is_written_is_read_back(here, name):
    if name.endswith("onnx"):
        pytest.importorskip("onnx")
    run("export", "map.json", *WAYS[name], "-o", name)
    assert lineage_of(Path(name).read_bytes()) == Lineage(fairpot.__version__, digest("map.json"))
    found = json.loads(run("show", name, "--map", "map.json", "--json"))
    known = {"fairpot": fairpot.__version__, "map_sha256": digest("map.json"), "run": None, "input_sha256": []}
    assert found["export"] == known
    assert found["belongs"] is True
    assert f"{name} is of map.json" in run("show", name, "--map", "map.json")
    assert f"{name} is not of other.json" in run("show", name, "--map", "other.json", code=3)
    assert json.loads(run("show", name, "--json"))["belongs"] is None


def test_a_map_is_compared_by_its_bytes(here):
    shutil.copy("map.json", "copy.json")
    assert digest("map.json") in run("show", "map.json")
    assert "copy.json is of map.json" in run("show", "copy.json", "--map", "map.json")
    found = json.loads(run("show", "map.json", "--map", "other.json", "--json", code=3))
    assert (found["sha256"], found["belongs"]) == (digest("map.json"), False)


def test_only_the_map_that_is_expected(here):
    run("export", "map.json", "--to", "python", "-o", "map.py")
    for name in ("map.json", "map.py"):
        run("show", name, "--expect-sha256", digest("map.json"))
        run("show", name, "--expect-sha256", digest("other.json"), code=2)


def test_programs_have_it_as_a_constant(here):
    names, line = {}, f"fairpot {fairpot.__version__}, map sha256:{digest('map.json')}"
    exec(fairpot.load("map.json").to_python(), names)
    assert names["MADE_BY"] == line
    if shutil.which("node"):
        Path("map.js").write_text(fairpot.load("map.json").to_javascript())
        Path("map.mjs").write_text(fairpot.load("map.json").to_javascript(module="esm"))
        for code in ("require('./map.js').MADE_BY", "(await import('./map.mjs')).MADE_BY"):
            done = subprocess.run(
                ["node", "-e", f"(async () => console.log({code}))()"], capture_output=True, text=True
            )
            assert done.stdout.strip() == line, done.stderr


def test_maps_know_the_file_they_were_saved_to(here):
    model = FairPOT(0.8, reference="M").fit(range(80), sensitive_features=["F", "M"] * 40)
    unsaved = model.fair_maps_.sha256_
    model.save("plain.json")
    assert unsaved == model.fair_maps_.sha256_ == digest("plain.json")
    model.save("named.json", columns={"score": "risk", "group": ["sex"]})
    assert model.fair_maps_.sha256_ == digest("named.json")
    model.save("private.json", private=True)
    assert model.fair_maps_.sha256_ == digest("named.json")  # the private file holds other maps
    assert fairpot.load("private.json").sha256_ == digest("private.json")


def test_maps_without_a_file_say_no_more_than_the_version(here):
    text = to_python(fairpot.load("map.json").maps_)
    assert f'MADE_BY = "fairpot {fairpot.__version__}"' in text
    assert lineage_of(text.encode()) is None
    Path("bare.py").write_text(text)
    assert "is not JSON" in make_runner().invoke(app, ["show", "bare.py"]).stderr


def rows_file(name, size=200):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pa.table(
        {
            "score": [float(i % 40) for i in range(size)],
            "group": ["F", "M"] * (size // 2),
            "label": [i % 3 % 2 for i in range(size)],
        }
    )
    if name.endswith("parquet"):
        pq.write_table(table.replace_schema_metadata({"owner": "risk team"}), name)
    elif name.endswith("arrow"):
        with pa.ipc.new_file(name, table.schema) as file:
            file.write_table(table)
    else:
        pytest.importorskip("pyarrow.csv").write_csv(table, name)
    return name


@pytest.mark.parametrize("given", ["in.parquet", "in.arrow", "in.csv"])
@pytest.mark.parametrize("written", ["out.parquet", "out.arrow"])
def test_adjusted_rows_say_which_map_and_run_they_are_of(here, given, written):
    rows_file(given)
    done = json.loads(run("apply", "map.json", given, "-o", written, "--changes", "changes.parquet", "--json"))
    for name in (written, "changes.parquet"):
        found = json.loads(run("show", name, "--map", "map.json", "--json"))
        assert found["belongs"] is True
        assert found["export"]["map_sha256"] == digest("map.json")
        assert found["export"]["fairpot"] == fairpot.__version__
        assert found["export"]["run"] in done["made_by"]
        assert found["export"]["input_sha256"] == ([digest(given)] if given.endswith("csv") else [])
        assert f"{name} is not of other.json" in run("show", name, "--map", "other.json", code=3)
    Path("run.json").write_text(json.dumps(done, indent=1))
    assert "run.json is of map.json" in run("show", "run.json", "--map", "map.json")


def test_what_rows_said_before_is_not_kept(here):
    """Adjusted again, with maps of no file, they are of no map; other metadata stay."""
    pq = pytest.importorskip("pyarrow.parquet")
    rows_file("in.parquet")
    fairpot.apply("map.json", "in.parquet", "once.parquet")
    fairpot.apply("other.json", "once.parquet", "twice.parquet", score="score_adjusted")
    fairpot.apply(fairpot.load("map.json").maps_, "twice.parquet", "thrice.parquet", column="third")
    said = [pq.read_schema(f"{name}.parquet").metadata for name in ("once", "twice", "thrice")]
    assert [lineage_of(each.get(b"fairpot", b"")) and each[b"owner"] for each in said] == [b"risk team"] * 2 + [None]
    assert lineage_of(said[1][b"fairpot"]).map_sha256 == digest("other.json")
    assert "does not say which map" in make_runner().invoke(app, ["show", "in.parquet"]).stderr


def test_text_is_bound_by_what_apply_prints(here):
    rows_file("in.csv")
    done = json.loads(run("apply", "map.json", "in.csv", "-o", "out.csv", "--changes", "changes.csv", "--json"))
    assert (done["sha256"], done["changes_sha256"]) == (digest("out.csv"), digest("changes.csv"))
    assert lineage_of(json.dumps(done).encode()).input_sha256 == (digest("in.csv"),)
    failed = make_runner().invoke(app, ["show", "out.csv"])
    assert failed.exit_code == 2
    assert "Hint: keep what `fairpot apply --json` prints" in failed.stderr


@pytest.mark.parametrize("name", ["report.html", "report.md", "report.json"])
def test_reports_say_which_map_and_rows_they_are_of(here, name):
    rows_file("in.csv")
    spoof = f'<!-- fairpot 1, map sha256:{"f" * 64} --> "made_by": "fairpot 1, map sha256:{"f" * 64}"'
    run("report", "in.csv", "--map", "map.json", "--title", spoof, "-o", name)
    known = {"fairpot": fairpot.__version__, "map_sha256": digest("map.json"), "run": None}
    found = json.loads(run("show", name, "--map", "map.json", "--json"))
    assert found["export"] == known | {"input_sha256": [digest("in.csv")]}
    assert "is not of" in run("show", name, "--map", "other.json", code=3)
    run("report", "in.csv", "-o", f"audit-{name}")
    assert "without a map" in run("show", f"audit-{name}")


@pytest.mark.parametrize("head", [b"PAR1", b"ARROW1", b"ARROW1\0\0" + bytes(80)])
def test_damaged_rows_are_said_to_be_damaged(here, head):
    Path("rows").write_bytes(head + b"junk")
    failed = make_runner().invoke(app, ["show", "rows"])
    assert failed.exit_code == 2
    assert "Hint: the file may be damaged" in failed.stderr
