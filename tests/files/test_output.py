"""An output is complete or not there, whatever happens while it is written."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fairpot._leftovers import remove_leftovers, scratch_folder, temporary_name
from fairpot.exceptions import OutputFileError
from fairpot.files import RowSource, apply
from fairpot.files.output import complete_file
from fairpot.transport import ScoreMap

MAPS = {0: ScoreMap.identity(), 1: ScoreMap([0, 1], [0.5, 1])}


def put(target, content, **options):
    with complete_file(target, **options) as place:
        place.write_text(content)


def test_write_and_replace(tmp_path):
    target = tmp_path / "x.csv"
    put(target, "one")
    with pytest.raises(OutputFileError, match=r"(?s)is there already.*force"):
        put(target, "two")
    put(target, "two", force=True)
    assert target.read_text() == "two"
    assert [*tmp_path.iterdir()] == [target]


def stop(target, kind):
    with complete_file(target) as place:
        place.write_text("half")
        raise kind


def test_nothing_is_left_of_an_error(tmp_path):
    target = tmp_path / "x.csv"
    for kind in (KeyError, KeyboardInterrupt, SystemExit):
        with pytest.raises(kind):
            stop(target, kind)
    assert not [*tmp_path.iterdir()]


def put_late(target):
    with complete_file(target) as place:
        place.write_text("ours")
        target.write_text("theirs")


def test_a_target_that_comes_up_meanwhile_stays(tmp_path):
    target = tmp_path / "x.csv"
    with pytest.raises(OutputFileError, match="meanwhile"):
        put_late(target)
    assert target.read_text() == "theirs"
    assert [*tmp_path.iterdir()] == [target]


def test_the_input_is_never_the_output(tmp_path):
    source = tmp_path / "in.csv"
    source.write_text("in")
    (tmp_path / "soft.csv").symlink_to(source)
    (tmp_path / "hard.csv").hardlink_to(source)
    (tmp_path / "sub").mkdir()
    for name in ("in.csv", "soft.csv", "hard.csv", "sub/../in.csv"):
        with pytest.raises(OutputFileError, match="also the input"):
            put(tmp_path / name, "out", force=True, inputs=[source])
    with pytest.raises(OutputFileError, match="also the input"):
        put(source, "out", force=True, inputs=[tmp_path / "soft.csv"])
    assert source.read_text() == "in"


def test_a_link_is_followed(tmp_path):
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    put(tmp_path / "link.csv", "new", force=True)
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text() == "new"


def test_long_names_and_folders(tmp_path):
    put(tmp_path / ("é" * 120 + ".csv"), "x")
    with pytest.raises(OutputFileError, match="is a folder"):
        put(tmp_path, "x")


def gone_process():
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    return done.pid


def test_leftovers(tmp_path):
    mine = temporary_name("x.csv")
    names = {
        "mine": mine,
        "gone": mine.replace(f"-{os.getpid()}-", f"-{gone_process()}-"),
        "alive": mine.replace(f"-{os.getpid()}-", f"-{os.getppid()}-"),
        "earlier with my number": mine[:-12] + "00000000.tmp",
        "elsewhere": ".x.fairpot-00000000-1-00000000.tmp",
        "other": ".x.csv.tmp",
    }
    for name in names.values():
        (tmp_path / name).touch()
    folder = tmp_path / names["gone"].replace("x.csv", "scratch")
    folder.mkdir()
    (folder / "spilled").touch()
    removed = remove_leftovers(tmp_path)
    assert {p.name for p in removed} == {names["gone"], names["earlier with my number"], folder.name}
    assert len([*tmp_path.iterdir()]) == 4


def test_scratch_folder_goes_with_its_owner():
    class Owner:
        pass

    owner = Owner()
    folder = scratch_folder(owner)
    assert folder.is_dir()
    del owner
    assert not folder.exists()


def rows_file(path, rows):
    rng = np.random.default_rng(0)
    table = pa.table({"s": rng.random(rows), "g": rng.integers(0, 2, rows), "x": rng.random(rows)})
    pq.write_table(table, path)
    return path


CHILD = """
import resource, sys
from fairpot.files import RowSource, apply
from fairpot.exceptions import OutputFileError
from fairpot.transport import ScoreMap
source, target, limit = sys.argv[1:]
if limit != "0":
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))
maps = {0: ScoreMap.identity(), 1: ScoreMap([0, 1], [0.5, 1])}
print("ready", flush=True)
try:
    apply(RowSource(source, score="s", groups="g"), maps, output=target, force=True)
except OutputFileError as error:
    print(error)
"""


def child(source, target, limit=0):
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, source, target, str(limit)], stdout=subprocess.PIPE, text=True
    )


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="needs POSIX limits")
@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_no_room_on_disk(tmp_path, suffix):
    source, target = rows_file(tmp_path / "x.parquet", 100_000), tmp_path / f"y.{suffix}"
    target.write_text("old")
    said, _ = child(source, target, 300_000).communicate()
    assert "was not written" in said
    assert target.read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x.parquet", target.name]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs POSIX signals")
def test_killed_at_any_moment(tmp_path):
    """What is there is the old file or the complete new one; the next run removes what was left and succeeds."""
    rows = 2_000_000
    source, target = rows_file(tmp_path / "x.parquet", rows), tmp_path / "y.parquet"
    target.write_text("old")
    left = 0
    for seen in (0, 8_000_000, 25_000_000, None):  # bytes written when it is killed; None: once it is renamed
        run = child(source, target)
        run.stdout.readline()
        while run.poll() is None and not _far_enough(tmp_path, target, seen):
            time.sleep(0.001)
        run.kill()
        run.communicate()
        left += len(_temporary(tmp_path))
        if target.stat().st_size == 3:
            assert target.read_text() == "old"
        else:
            assert pq.read_table(target).num_rows == rows
            target.write_text("old")
    assert left >= 2
    apply(RowSource(source, score="s", groups="g"), MAPS, output=target, force=True)
    assert not _temporary(tmp_path)
    after = pq.read_table(target)
    np.testing.assert_array_equal(after["s"], pq.read_table(source)["s"])
    assert after.num_rows == rows


def _temporary(folder):
    return [p for p in folder.iterdir() if ".fairpot-" in p.name]


def _far_enough(folder, target, seen):
    if seen is None:
        return target.stat().st_size > 3
    sizes = [_size(p) for p in _temporary(folder)]
    return any(size >= seen for size in sizes)


def _size(path):
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return -1
