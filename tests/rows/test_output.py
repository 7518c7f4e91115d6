"""An output is complete or not there, whatever happens while it is written."""

import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fairpot.exceptions import OutputFileError
from fairpot.rows import RowSource, apply
from fairpot.rows.output import complete_file, remove_leftovers, scratch_folder, to_standard_output
from fairpot.transport import ScoreMap

MAPS = {0: ScoreMap.identity(), 1: ScoreMap([0, 1], [0.5, 1])}


def put(target, content, **options):
    with complete_file(target, **options) as place:
        place.write_text(content)


def test_write_and_replace(tmp_path):
    target = tmp_path / "x.csv"
    put(target, "one")
    with pytest.raises(OutputFileError, match=r"(?s)already exists.*overwrite=True"):
        put(target, "two")
    put(target, "two", overwrite=True)
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
            put(tmp_path / name, "out", overwrite=True, inputs=[source])
    with pytest.raises(OutputFileError, match="also the input"):
        put(source, "out", overwrite=True, inputs=[tmp_path / "soft.csv"])
    assert source.read_text() == "in"


def test_a_link_is_followed(tmp_path):
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    put(tmp_path / "link.csv", "new", overwrite=True)
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text() == "new"


def test_long_names_and_folders(tmp_path):
    put(tmp_path / ("é" * 120 + ".csv"), "x")
    with pytest.raises(OutputFileError, match="is a folder"):
        put(tmp_path, "x")


LEAVE = """
import os, sys
from pathlib import Path
from fairpot.rows.output import complete_file
with complete_file(sys.argv[1]) as place:
    place.write_text("half")
    print(place.parent.name, flush=True)
    sys.stdin.readline()
"""


def test_leftovers_are_told_by_their_locks(tmp_path):
    """What a killed process left goes; what a living one, this one or somebody else has stays."""
    command = [sys.executable, "-c", LEAVE, tmp_path / "x.csv"]
    with (
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as killed,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as alive,
    ):
        left, used = killed.stdout.readline().strip(), alive.stdout.readline().strip()
        killed.kill()
        killed.wait()
        (tmp_path / ".x.csv.tmp").touch()
        with complete_file(tmp_path / "y.csv") as mine:
            assert not (tmp_path / left).exists()
            assert (tmp_path / used).is_dir()
            assert remove_leftovers(tmp_path) == []
            assert mine.parent.is_dir()
            mine.write_text("whole")
        alive.stdin.write("\n")
        alive.stdin.flush()
        assert alive.wait() == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == [".x.csv.tmp", "x.csv", "y.csv"]


def test_a_forked_child_leaves_its_parents_files_alone(tmp_path):
    class Owner:
        pass

    owner = Owner()
    scratch = scratch_folder(owner)
    with complete_file(tmp_path / "x.csv") as place:
        place.write_text("whole")
        code = f"""
import os, sys
from fairpot.rows.output import scratch_folder
from fairpot.rows.output import complete_file
class Owner: pass
owner = Owner()
scratch = scratch_folder(owner)
try:
    with complete_file({str(tmp_path / "z.csv")!r}) as place:
        place.write_text("whole")
        if os.fork() == 0:
            raise SystemExit  # unwinds everything, as a child of multiprocessing does
        os.wait()
        print(place.exists(), scratch.exists())
except SystemExit:
    del owner
"""
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.split() == ["True", "True"]
    assert scratch.is_dir()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x.csv", "z.csv"]


def test_scratch_folder_goes_with_its_owner():
    class Owner:
        pass

    for cleaned in (False, True):  # by what empties temporary directories
        owner = Owner()
        folder = scratch_folder(owner)
        assert folder.is_dir()
        if cleaned:
            folder.rmdir()
        del owner
        assert not folder.exists()


def rows_file(path, rows):
    rng = np.random.default_rng(0)
    table = pa.table({"s": rng.random(rows), "g": rng.integers(0, 2, rows), "x": rng.random(rows)})
    pq.write_table(table, path)
    return path


CHILD = """
import resource, sys
from fairpot.rows import RowSource, apply
from fairpot.exceptions import OutputFileError
from fairpot.transport import ScoreMap
source, target, limit = sys.argv[1:]
if limit != "0":
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))
maps = {0: ScoreMap.identity(), 1: ScoreMap([0, 1], [0.5, 1])}
print("ready", flush=True)
try:
    apply(maps, RowSource(source, score="s", groups="g"), output=target, overwrite=True)
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
    rows = 1_000_000
    source, target = rows_file(tmp_path / "x.parquet", rows), tmp_path / "y.parquet"
    target.write_text("old")
    for seen in (0, 4_000_000, 12_000_000, None):  # bytes written when it is killed; None: once it is renamed
        for _ in range(20):  # on a busy machine it may be done before anybody has looked
            run = child(source, target)
            run.stdout.readline()
            while run.poll() is None and not _far_enough(tmp_path, target, seen):
                time.sleep(0.001)
            run.kill()
            run.communicate()
            if target.stat().st_size == 3:
                assert target.read_text() == "old"
            else:
                assert pq.read_table(target).num_rows == rows
                target.write_text("old")
            if seen is None or _temporary(tmp_path):
                break
        else:
            raise AssertionError("it was never killed while it wrote")
    apply(MAPS, RowSource(source, score="s", groups="g"), output=target, overwrite=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x.parquet", "y.parquet"]
    after = pq.read_table(target)
    np.testing.assert_array_equal(after["s"], pq.read_table(source)["s"])
    assert after.num_rows == rows


def _temporary(folder):
    return [*folder.glob(".*.fairpot-*.tmp/*")]


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


def test_what_a_killed_run_left_goes_with_the_next_to_standard_output(tmp_path, monkeypatch, capfdbinary):
    """Also where nothing else of the run needs a temporary folder."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    code = "from fairpot.rows.output import to_standard_output as out\nwith out('x'): print(1, flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as killed:
        assert killed.stdout.readline()
        killed.kill()
    assert len(list(tmp_path.iterdir())) == 1
    with to_standard_output("x") as place:
        assert len(list(tmp_path.iterdir())) == 1
        place.write_bytes(b"whole")
    assert list(tmp_path.iterdir()) == []
    assert capfdbinary.readouterr().out == b"whole"
