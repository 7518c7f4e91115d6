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
from fairpot.cli._app import app
from fairpot.export import to_python
from fairpot.export.lineage import Lineage, lineage_of
from fairpot.export.sql_dialects import DIALECTS

WAYS = {
    **{f"{name}.sql": ["--to", "sql", "--dialect", name] for name in DIALECTS},
    "table.sql": ["--to", "sql", "--dialect", "sqlite", "--table", "people"],
    "map.py": ["--to", "python"],
    "map.js": ["--to", "javascript"],
    "map.mjs": ["--to", "javascript", "--module", "esm"],
    "simple.py": ["--to", "python", "--max-knots", "4"],
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
    assert found["export"] == {"fairpot": fairpot.__version__, "map_sha256": digest("map.json")}
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


def test_onnx_keeps_what_the_model_before_says(here):
    onnx = pytest.importorskip("onnx")
    helper, double = onnx.helper, onnx.TensorProto.DOUBLE
    x, s = (helper.make_tensor_value_info(name, double, ["n"]) for name in ("x", "s"))
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["s"])], "model", [x], [s])
    before = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    helper.set_model_props(before, {"owner": "risk team"})
    made = fairpot.load("other.json").to_onnx(model=before, group="sex")
    said = {each.key: each.value for each in made.metadata_props}
    assert said["owner"] == "risk team"
    assert lineage_of(made.SerializeToString()).map_sha256 == digest("other.json")


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
