"""Writing is complete or not there; what cannot be written, or must not be, is refused with a reason."""

import datetime
import os
import subprocess
import sys

import numpy as np
import pytest

import fairpot
import modelfile_cases as cases
from fairpot import FairPOT, ModelFileError
from fairpot.exceptions import OutputFileError
from fairpot.modelfile.files import MAX_BYTES


@pytest.fixture(scope="module")
def model():
    return cases.make_data().fit(FairPOT(0.4))


def test_never_overwrites_unasked(tmp_path, model):
    path = tmp_path / "map.json"
    path.write_text("precious")
    with pytest.raises(FileExistsError, match="overwrite=True"):
        model.save(path)
    assert path.read_text() == "precious"
    model.save(path, overwrite=True)
    assert fairpot.load(path).maps_ == model.maps_
    assert os.listdir(tmp_path) == ["map.json"]


def test_a_link_keeps_pointing(tmp_path, model):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "map.json").write_text("old")
    link = tmp_path / "link.json"
    link.symlink_to(tmp_path / "real" / "map.json")
    model.save(link, overwrite=True)
    assert link.is_symlink()
    assert fairpot.load(tmp_path / "real" / "map.json").maps_ == model.maps_


def test_plain_text_paths_and_permissions(tmp_path, model):
    name = str(tmp_path / "Übersicht 1.json")
    model.save(name)
    (tmp_path / "other").touch()
    assert os.stat(name).st_mode == os.stat(tmp_path / "other").st_mode
    assert fairpot.load(name).maps_ == model.maps_


def test_bad_targets(tmp_path, model):
    with pytest.raises(OutputFileError, match="name a file"):
        model.save(tmp_path)
    with pytest.raises(OutputFileError, match=r"^the folder of .*no.such.* was not found\.\nHint: make it"):
        model.save(tmp_path / "no" / "such" / "map.json")
    with pytest.raises(OutputFileError, match="the name of the output is empty"):
        model.save("")
    with pytest.raises(TypeError):
        model.save(3)
    assert os.listdir(tmp_path) == []


FULL_DISK = """
import resource, sys, signal
from fairpot import FairPOT
model = FairPOT(1.0, reference="M").fit([i / 1000 for i in range(1000)], sensitive_features=["F", "M"] * 500)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
try:
    model.save(sys.argv[1], overwrite=True)
except OSError as error:
    print("failed", error.errno)
"""


def test_a_write_that_fails_leaves_the_old_file_alone(tmp_path):
    path = tmp_path / "map.json"
    path.write_text("precious")
    run = subprocess.run([sys.executable, "-c", FULL_DISK, path], capture_output=True, text=True, check=True)
    assert run.stdout.startswith("failed")
    assert path.read_text() == "precious"
    assert os.listdir(tmp_path) == ["map.json"]


SAVE_FOR_EVER = """
import sys
from fairpot import FairPOT
scores, sex = [i / 4000 for i in range(4000)], ["F", "M"] * 2000
first, second = (FairPOT(lam, reference="M").fit(scores, sensitive_features=sex) for lam in (0.5, 1.0))
while True:
    first.save(sys.argv[1], overwrite=True)
    second.save(sys.argv[1], overwrite=True)
    print(flush=True)
"""


def test_killed_while_writing(tmp_path):
    path = tmp_path / "map.json"
    for rounds in (1, 4):
        with subprocess.Popen([sys.executable, "-c", SAVE_FOR_EVER, path], stdout=subprocess.PIPE) as process:
            for _ in range(rounds):
                process.stdout.readline()
            process.kill()
        assert fairpot.load(path).dial_[1] in (0.5, 1.0)
        left = [name for name in os.listdir(tmp_path) if name != "map.json"]
        assert all(name.startswith(".map.json.fairpot-") and name.endswith(".tmp") for name in left)


def test_what_cannot_be_saved(tmp_path):
    day = cases.make_data(names=(datetime.date(2024, 1, 1), datetime.date(2024, 1, 2)))
    assert day.fit(FairPOT(0.4)).groups_ == ("2024-01-01", "2024-01-02")  # dates go by their text
    data = cases.make_data()
    with pytest.raises(ModelFileError, match="reference cannot be put"):
        data.fit(FairPOT(0.4)).set_params(reference=datetime.date(2024, 1, 1)).save(tmp_path / "a")
    with pytest.raises(ModelFileError, match="finite"):
        data.fit(FairPOT(0.4)).set_params(max_gap=np.inf).save(tmp_path / "a")
    with pytest.raises(ModelFileError, match="64 bits"):
        data.fit(FairPOT(0.4)).set_params(reference=10**6000).save(tmp_path / "a")
    with pytest.raises(ModelFileError, match="valid Unicode"):
        cases.make_data(names=("F", "\ud800")).fit(FairPOT(0.4)).save(tmp_path / "a")
    assert os.listdir(tmp_path) == []


def test_a_subclass_is_not_taken_for_its_parent(tmp_path):
    class Noisy(FairPOT):
        pass

    model = cases.make_data().fit(Noisy(0.4))
    model.save(tmp_path / "a")
    loaded = fairpot.load(tmp_path / "a")  # nobody here knows the method; its maps are data all the same
    assert loaded.method_ == "Noisy"
    assert loaded.maps_ == model.maps_


def test_unreadable_files(tmp_path):
    with pytest.raises(ModelFileError, match=r"no such file.*\nHint"):
        fairpot.load(tmp_path / "none.json")
    with pytest.raises(ModelFileError, match="a directory"):
        fairpot.load(tmp_path)
    with pytest.raises(ModelFileError, match="null"):
        fairpot.load("a\0b")
    with pytest.raises(ModelFileError, match="not a regular file"):
        fairpot.load(os.devnull)
    (tmp_path / "file").touch()
    with pytest.raises(ModelFileError, match="cannot be read"):
        fairpot.load(tmp_path / "file" / "below")
    with pytest.raises(ModelFileError, match="empty"):
        fairpot.load(tmp_path / "file")
    with pytest.raises(TypeError):
        fairpot.load(0)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="this user may read everything")
def test_no_rights(tmp_path, model):
    model.save(tmp_path / "map.json")
    os.chmod(tmp_path / "map.json", 0)
    with pytest.raises(ModelFileError, match="cannot be read"):
        fairpot.load(tmp_path / "map.json")


def test_absurd_file_size(tmp_path):
    with open(tmp_path / "huge", "wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(ModelFileError, match=r"more than 100000000\.\nHint.*max_bytes"):
        fairpot.load(tmp_path / "huge")
