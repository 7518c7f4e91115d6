"""Record files: bytes, torn ends, damage, and where records come from."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from fairpot.exceptions import InputFileError, OutputFileError
from fairpot_paper.records import RecordFile, check_same_origin, provenance

RECORD = {"b": 1, "a": [0.1, None], "c": {"z": "ü", "y": True}}
LINE = b'{"b":1,"a":[0.1,null],"c":{"z":"\\u00fc","y":true}}\n'


@pytest.fixture
def file(tmp_path):
    return RecordFile(tmp_path / "new" / "runs.jsonl")


def test_bytes_of_a_record(file):
    assert file.read() == []
    file.append(RECORD)
    file.append(RECORD)
    assert file.path.read_bytes() == LINE * 2
    assert file.read() == [RECORD] * 2


def test_numpy_and_what_is_not_finite(file):
    third = 1 / 3
    file.append(
        {
            "scalars": (
                np.float64(third),
                np.float32(0.5),
                np.int64(3),
                np.bool_(True),
                np.str_("x"),
                np.longdouble(2),
            ),
            "arrays": [np.array([[1.0, np.nan], [-np.inf, third]]), np.arange(2), np.array(["u"]), np.array(np.nan)],
            "nested": {"nan": float("nan"), "inf": (np.inf,), "half": np.float16(np.inf), "zero": -0.0},
        }
    )
    expected = {
        "scalars": [third, 0.5, 3, True, "x", 2.0],
        "arrays": [[[1.0, None], [None, third]], [0, 1], ["u"], None],
        "nested": {"nan": None, "inf": [None], "half": None, "zero": -0.0},
    }
    assert file.path.read_text() == json.dumps(expected, separators=(",", ":")) + "\n"


@pytest.mark.parametrize("value", [{1: 2}, {"x": {1, 2}}, {"x": b"y"}, {"x": 1j}, {"x": np.datetime64("2020-01-01")}])
def test_what_json_does_not_know_is_refused_and_leaves_nothing(file, value):
    file.append(RECORD)
    with pytest.raises(TypeError):
        file.append(value)
    file.append(RECORD)
    assert file.path.read_bytes() == LINE * 2


@pytest.mark.parametrize("length", [*range(1, len(LINE))])
def test_every_torn_end_is_passed_over_and_cut_off(tmp_path, length):
    path = tmp_path / "runs.jsonl"
    path.write_bytes(LINE + LINE[:length])
    file = RecordFile(path)
    assert file.read() == [RECORD]
    assert path.stat().st_size == len(LINE) + length  # reading changes nothing
    file.append(RECORD)
    assert path.read_bytes() == LINE * 2


@pytest.mark.parametrize(
    "torn", [LINE[:7] + b"\n", b"\0" * 40, b"\0" * 40 + b"\n", b"\n", b"[1]\n", b"\xff", b'{"x":NaN}\n']
)
def test_repair(tmp_path, torn):
    path = tmp_path / "runs.jsonl"
    path.write_bytes(LINE + torn)
    assert RecordFile(path).repair() == len(torn)
    assert path.read_bytes() == LINE
    assert RecordFile(path).repair() == 0
    assert RecordFile(tmp_path / "none.jsonl").repair() == 0
    assert not (tmp_path / "none.jsonl").exists()


@pytest.mark.parametrize("damage", [b"\n", LINE[:7] + b"\n", b"\0\0\n", b"7\n", b"\xff\n"])
@pytest.mark.parametrize("end", [LINE, LINE[:-1], LINE + LINE[:7] + b"\n"])
def test_damage_in_the_middle_is_an_error(tmp_path, damage, end):
    path = tmp_path / "runs.jsonl"
    path.write_bytes(LINE + damage + end)
    for use in (RecordFile(path).read, RecordFile(path).repair, lambda: RecordFile(path).append(RECORD)):
        with pytest.raises(InputFileError, match=r"(?s)runs\.jsonl is damaged: line 2 .*\nHint: "):
            use()
    assert path.read_bytes() == LINE + damage + end


def test_two_runs_into_one_file_are_told(file):
    file.append(RECORD)
    other = RecordFile(file.path)
    other.read()
    file.append(RECORD)
    with pytest.raises(OutputFileError, match="changed by another process"):
        other.append(RECORD)
    assert file.path.read_bytes() == LINE * 2


NO_ROOM = """
import resource, signal, sys
from fairpot_paper.records import RecordFile
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
file = RecordFile(sys.argv[1])
file.append({"x": "a" * 60})
for length in (60, 2):
    try:
        file.append({"x": "b" * length})
    except Exception as error:
        print(type(error).__name__, error)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs POSIX limits")
def test_no_room_leaves_no_part_of_a_line(tmp_path):
    path = tmp_path / "runs.jsonl"
    run = subprocess.run([sys.executable, "-c", NO_ROOM, path], capture_output=True, text=True, check=True)
    assert run.stdout.startswith("OutputFileError")
    assert run.stdout.count("could not be written") == 1
    assert "Hint: make room" in run.stdout
    assert RecordFile(path).read() == [{"x": "a" * 60}, {"x": "bb"}]
    assert RecordFile(path).repair() == 0


def test_provenance_is_of_the_versions_in_use():
    import ot
    import scipy
    import sklearn
    import xgboost

    import fairpot

    versions = provenance()
    assert versions["fairpot"] == fairpot.__version__
    assert versions["python"] == ".".join(map(str, sys.version_info[:3]))
    for name, module in {"numpy": np, "scipy": scipy, "scikit-learn": sklearn, "xgboost": xgboost, "POT": ot}.items():
        assert versions[name] == module.__version__
    assert set(versions) <= {"fairpot", "python", "numpy", "scipy", "scikit-learn", "xgboost", "torch", "POT"}


def test_provenance_imports_none_of_them():
    code = (
        "import sys; from fairpot_paper.records import provenance; provenance(); "
        "print(*{'matplotlib', 'xgboost', 'torch', 'ot'} & set(sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "\n"


def test_records_of_other_versions_are_not_gone_on_with():
    now = provenance()
    same = {"seed": 0, "versions": dict(now)}
    check_same_origin([], now)
    check_same_origin([same, same], now)
    older = {"seed": 1, "versions": {**now, "numpy": "1.0.0"}}
    oldest = {"seed": 2, "versions": {**now, "numpy": "0.9.0", "scipy": "1.2.3"}}
    with pytest.raises(ValueError, match=r"\nHint: .*another folder") as caught:
        check_same_origin([same, older, oldest], now)
    assert str(caught.value).startswith(
        f"2 records were made with other versions: numpy 0.9.0, 1.0.0 (now {now['numpy']}); "
        f"scipy 1.2.3 (now {now['scipy']})."
    )
    bare = {name: version for name, version in now.items() if name != "POT"}
    with pytest.raises(ValueError, match=rf"1 record was made .*: POT none \(now {now['POT']}\)"):
        check_same_origin([{"versions": bare}], now)
    with pytest.raises(ValueError, match=rf"POT {now['POT']} \(now none\)"):
        check_same_origin([{"versions": now}], bare)
    with pytest.raises(ValueError, match="numpy none"):
        check_same_origin([{"seed": 0}], now)
