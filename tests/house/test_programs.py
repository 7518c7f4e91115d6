"""What `make test` installs: each program on its own, and again until it is there."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parents[2] / ".ci" / "programs"
# Stands in for the package manager: writes down what it is asked for, and installs what the folder `works` names.
APT = """#!/bin/sh
echo "$@" >> {folder}/asked
for name in "$@"; do package=$name; done
[ "$1" = update ] && exit 0
[ -e {folder}/works/$package ] || {{ echo "some progress"; echo "E: no $package today"; exit 100; }}
case $package in nodejs) program=node ;; *) program=$package ;; esac
printf '#!/bin/sh\\n' > {folder}/bin/$program && chmod +x {folder}/bin/$program
"""


@pytest.fixture
def machine(tmp_path):
    """A machine with a shell, a root user and a package manager, and nothing else on its path."""
    programs, works = tmp_path / "bin", tmp_path / "works"
    programs.mkdir()
    works.mkdir()
    for name in ("sh", "ls", "tail", "chmod"):
        (programs / name).symlink_to(shutil.which(name))
    for name, text in {
        "apt-get": APT.format(folder=tmp_path),
        "id": "#!/bin/sh\necho 0\n",
        "initdb": "#!/bin/sh\n",
    }.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    return tmp_path


def run(machine):
    """Run the script; give what it said and what the package manager was asked for."""
    asked = machine / "asked"
    asked.unlink(missing_ok=True)
    path = {**os.environ, "PATH": str(machine / "bin")}
    done = subprocess.run([PROGRAMS], env=path, capture_output=True, text=True, check=True)
    lines = asked.read_text().splitlines() if asked.exists() else []
    return done.stdout, [line.split()[-1] for line in lines if line.startswith("install")]


def test_each_program_is_installed_on_its_own_and_tried_until_it_is_there(machine):
    for package in ("chromium", "npm", "minisign"):
        (machine / "works" / package).touch()
    said, asked = run(machine)
    assert asked == ["chromium", "nodejs", "npm", "minisign"]  # one that fails stops no other
    assert "nodejs could not be installed, and is tried again next time: E: no nodejs today" in said
    assert "chromium could not" not in said
    said, asked = run(machine)
    assert asked == ["nodejs"]
    assert "could not be installed" in said
    (machine / "works" / "nodejs").touch()
    said, asked = run(machine)
    assert (said, asked) == ("installing nodejs\n", ["nodejs"])
    assert run(machine) == ("", [])
    assert not (machine / "asked").exists()  # all there: the package manager is left alone


def test_a_user_who_may_not_install_is_told(machine):
    (machine / "bin" / "id").write_text("#!/bin/sh\necho 1000\n")
    said, asked = run(machine)
    assert asked == []
    assert "not installed: chromium nodejs npm minisign; the tests that need them are skipped" in said
    assert "apt-get install" in said


def test_make_test_runs_it():
    text = (PROGRAMS.parents[1] / "Makefile").read_text()
    recipe = text.split("\ntest:")[1].split("\n\n")[0]
    assert recipe.index(".ci/programs") < recipe.index("pytest")
