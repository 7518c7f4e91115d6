"""Messages of failures: the same on every machine, and nothing of anybody's folders."""

import os
from pathlib import Path

import pytest

from fairpot_paper.workers import death, failure_of, without_folders


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("no file '/home/ada/My data/x.csv' here", "no file 'x.csv' here"),
        ('no file "/srv/x/" here', 'no file "x" here'),
        ("cannot open /srv/data/x.csv: denied", "cannot open x.csv: denied"),
        ("(/srv/data/x.csv)", "(x.csv)"),
        ("path=/srv/data/x.csv, again /opt/y/z.csv.", "path=x.csv, again z.csv."),
        (r"cannot open C:\Users\ada\x.csv", "cannot open x.csv"),
        (r"cannot open 'C:\\Users\\ada b\\x.csv'", "cannot open 'x.csv'"),
        ("file:///srv/data/x.csv is gone", "x.csv is gone"),
        ("file:/srv/data/x.csv is gone", "file:x.csv is gone"),
        ("see https://example.org/a/b?c for more", "see https://example.org/a/b?c for more"),
        ("a ratio of 1/2 and TPR/FPR/x, 3 / 4", "a ratio of 1/2 and TPR/FPR/x, 3 / 4"),
        ("a relative data/x.csv", "a relative data/x.csv"),
        ("<Lock object at 0x7f00aa11bb22> and 0x10", "<Lock object at 0x...> and 0x10"),
        ("two\nlines in /srv/data/x.csv\nHint: this", "two\nlines in x.csv\nHint: this"),
    ],
)
def test_folders_are_left_out(message, expected):
    assert without_folders(message) == expected


def test_known_folders_with_spaces(tmp_path, monkeypatch):
    home = tmp_path / "Ada King" / "at home"
    home.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(home)
    assert without_folders(f"cannot open {home}/data/x.csv: denied") == "cannot open x.csv: denied"
    assert without_folders(f"{home} is a folder") == "~ is a folder"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a folder in use cannot be removed on Windows")
def test_a_working_directory_that_is_gone(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert without_folders("in /srv/data/x.csv") == "in x.csv"


def test_a_real_error():
    with pytest.raises(OSError, match="No such file") as caught:
        Path("/nowhere at all/deep/x.csv").read_text()
    failure = failure_of(caught.value)
    assert (failure.kind, failure.message) == ("FileNotFoundError", "[Errno 2] No such file or directory: 'x.csv'")


def test_an_error_that_cannot_be_told():
    class Mute(Exception):
        def __str__(self):
            raise RuntimeError

    assert failure_of(Mute()).kind == "Mute"


@pytest.mark.parametrize(
    ("code", "said"), [(-11, "killed by SIGSEGV"), (-99, "killed by signal 99"), (3, "exit code 3"), (None, "unknown")]
)
def test_deaths(code, said):
    assert death(code).kind == "WorkerDied"
    assert said in death(code).message
