"""Plain functions, run by Python in a process without fairpot and by Node."""

import json
import math
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from export_cases import NAMES, followed_maps, hostile_maps, hostile_scores, mapped, same_numbers, shift_maps
from fairpot.exceptions import UnseenGroupError
from fairpot.export import RowScorer, to_javascript, to_python
from fairpot.transport import ScoreMap

MAPS = dict(zip(NAMES, hostile_maps().values()))


def run_python(maps, rows, folder):
    """Answer rows by the text alone: -I keeps everything else away."""
    text = (
        to_python(maps)
        + "\nimport json, sys\nprint(json.dumps([adjusted_score(s, g) for s, g in json.load(sys.stdin)]))\n"
    )
    (folder / "made.py").write_text(text, encoding="utf-8")
    return _answer([sys.executable, "-I", "-S", str(folder / "made.py")], rows)


def run_node(maps, rows, folder):
    """Answer rows with what ``require`` gives."""
    text = 'const { adjustedScore } = require("./made.cjs"), { readFileSync } = require("fs");\n' + _ALL_ROWS
    (folder / "made.cjs").write_text(to_javascript(maps), encoding="utf-8")
    (folder / "use.cjs").write_text(text, encoding="utf-8")
    return _answer([_node(), str(folder / "use.cjs")], rows)


def run_esm(maps, rows, folder):
    """Answer rows with what ``import`` gives."""
    text = 'import { adjustedScore } from "./made.mjs";\nimport { readFileSync } from "fs";\n' + _ALL_ROWS
    (folder / "made.mjs").write_text(to_javascript(maps, module="esm"), encoding="utf-8")
    (folder / "use.mjs").write_text(text, encoding="utf-8")
    return _answer([_node(), str(folder / "use.mjs")], rows)


_ALL_ROWS = (
    'const rows = JSON.parse(readFileSync(0, "utf8"));\n'
    "console.log(JSON.stringify(rows.map(([s, g]) => adjustedScore(s, g))));\n"
)


def _node():
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed: apt-get install nodejs")
    return node


def _answer(command, rows):
    done = subprocess.run(command, input=json.dumps(rows), capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def run_row(maps, rows, folder):
    scorer = RowScorer(maps)
    return [scorer(score, group) for score, group in rows]


WAYS = pytest.mark.parametrize("way", [run_python, run_node, run_esm, run_row])


@WAYS
def test_same_numbers(way, tmp_path):
    rows, expected = [], []
    for group, each in MAPS.items():
        scores = hostile_scores(each, 800)
        rows += [(s, group) for s in scores.tolist()]
        expected.append(mapped(each, scores))
    same_numbers(way(MAPS, rows, tmp_path), np.concatenate(expected))


@WAYS
def test_shifts(way, tmp_path):
    maps = shift_maps() | {"F": MAPS["F"]}
    rows = [(s, group) for group, each in shift_maps().items() for s in hostile_scores(each, 400).tolist()]
    expected = [mapped(each, hostile_scores(each, 400)) for each in shift_maps().values()]
    same_numbers(way(maps, rows, tmp_path), np.concatenate(expected))
    assert "import" not in to_python(shift_maps())


@WAYS
def test_one_map_follows_all(way, tmp_path):
    maps = followed_maps()
    rows = [(s, group) for group, each in maps.items() for s in hostile_scores(each, 400).tolist()]
    expected = [mapped(each, hostile_scores(each, 400)) for each in maps.values()]
    same_numbers(way(maps, rows, tmp_path), np.concatenate(expected))
    with pytest.raises(ValueError, match="followed by different maps"):
        way(maps | {"M": ScoreMap.identity()}, rows, tmp_path)


@pytest.mark.parametrize("names", [(1, 2), (0.5, 2.5), (True, False), ("1", 1)])
@WAYS
def test_groups_that_are_no_text(way, names, tmp_path):
    maps = dict(zip(names, (ScoreMap([0.0], [3.0]), ScoreMap([0.0], [4.0]))))
    assert way(maps, [(0.5, names[0]), (0.5, names[1])], tmp_path) == [3.0, 4.0]


def test_python_needs_nothing():
    assert "import" not in to_python(MAPS)
    assert "import" not in to_python(shift_maps() | MAPS)


@pytest.mark.parametrize(("score", "group"), [(math.nan, "F"), (math.inf, "F"), (0.5, "X"), (0.5, None), (None, "F")])
def test_rows_without_a_map(score, group, tmp_path):
    maps = {"F": ScoreMap([0.0], [3.0])}
    names = {}
    exec(to_python(maps), names)
    for function in (names["adjusted_score"], RowScorer(maps)):
        with pytest.raises((ValueError, TypeError)):
            function(score, group)
    text = f"{to_javascript(maps)}\nadjustedScore({json.dumps(score)}, {json.dumps(group)});"
    if shutil.which("node"):
        (tmp_path / "made.js").write_text(text)
        done = subprocess.run(["node", str(tmp_path / "made.js")], capture_output=True, text=True, check=False)
        assert done.returncode != 0
        assert "RangeError" in done.stderr


@pytest.mark.parametrize("unknown", ["error", "keep", "null"])
@pytest.mark.parametrize("missing", ["error", "keep", "null"])
def test_unknown_and_missing_groups_each_have_their_way(unknown, missing, tmp_path):
    """The same in Python, in a function of one row and in JavaScript; null there is what NaN becomes in JSON."""
    maps, ways = {"F": ScoreMap([0.0], [3.0])}, {"unknown_group": unknown, "missing_group": missing}
    names = {}
    exec(to_python(maps, **ways), names)
    strangers = [("X", unknown), (7, unknown), (None, missing), (math.nan, missing)]
    for function in (names["adjusted_score"], RowScorer(maps, **ways)):
        assert function(0.5, "F") == 3.0
        for group, way in strangers:
            if way == "error":
                with pytest.raises(ValueError, match="group"):
                    function(0.625, group)
            else:
                np.testing.assert_equal(function(0.625, group), 0.625 if way == "keep" else math.nan)
            with pytest.raises(ValueError, match=r"group|finite"):
                function(math.inf, group)
    tries = "".join(
        f"try {{ got.push(adjustedScore(0.625, {g})) }} catch (error) {{ got.push(error.name) }}\n"
        for g in ('"X"', "7", "null", "undefined", "NaN")
    )
    (tmp_path / "made.js").write_text(
        f"{to_javascript(maps, **ways)}\nconst got = [];\n{tries}console.log(JSON.stringify(got));"
    )
    said = {"error": "RangeError", "keep": 0.625, "null": None}
    assert _answer([_node(), str(tmp_path / "made.js")], []) == [said[unknown]] * 2 + [said[missing]] * 3


def test_row_scorer_says_which_group():
    with pytest.raises(UnseenGroupError, match=r"'X' was not seen in fit \(seen: \['F'\]\)"):
        RowScorer({"F": ScoreMap.identity()})(0.5, "X")
    with pytest.raises(UnseenGroupError, match=r"\['F'\] was not seen"):
        RowScorer({"F": ScoreMap.identity()})(0.5, ["F"])


def test_threads_share_a_scorer():
    score_map = MAPS[NAMES[3]]
    scorer = RowScorer({"F": score_map})
    scores = hostile_scores(score_map, 2000).tolist()
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: [scorer(s, "F") for s in scores], range(16)))
    for answer in answers:
        same_numbers(answer, mapped(score_map, np.array(scores)))


def test_refusals():
    with pytest.raises(ValueError, match="module must be one of 'commonjs', 'esm'"):
        to_javascript(MAPS, module="amd")
    with pytest.raises(ValueError, match=r"beyond 2\*\*53"):
        to_javascript({2**60: ScoreMap.identity()})


@pytest.mark.parametrize("score", ["0.5", b"0.5", True, np.True_, bytearray(b"1")], ids=repr)
def test_what_is_no_number_is_no_score(score):
    """As in ``transform``, in every way that takes one row."""
    maps = {"F": ScoreMap([0.2, 0.6], [0.2, 0.9])}
    place = {}
    exec(to_python(maps, unknown_group="keep"), place)
    for act in (RowScorer(maps), RowScorer(maps, unknown_group="keep"), place["adjusted_score"]):
        for group in ("F", "X"):
            with pytest.raises((TypeError, ValueError), match=r"must be a number|not seen in fit"):
                act(score, group)
    assert RowScorer(maps)(np.float64(0.4), "F") == RowScorer(maps)(0.4, "F") == place["adjusted_score"](0.4, "F")
