"""Help, versions and completion."""

import os
import subprocess
import sys

from fairpot.cli._app import COMMANDS, app


def test_short_texts_are_those_of_the_commands():
    for name, text in COMMANDS.items():
        assert app.get_command(None, name).short_help == text


def test_version_and_help_load_no_numbers():
    code = "import sys; from fairpot.cli import main\ntry: main()\nexcept SystemExit: pass\n"
    code += "print([m for m in ('numpy', 'sklearn', 'duckdb', 'rich') if m in sys.modules])"
    for words in (["--version"], ["--help"]):
        script = f"import sys; sys.argv[1:] = {words!r}\n" + code
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        assert done.stdout.splitlines()[-1] == "[]"


def test_help_command(run):
    assert run("help", "fit").out == run("fit", "--help").out
    assert "Commands:" in run("help").out
    assert "no such command" in run("help", "fti", expect=2).err


def test_completion_knows_the_commands():
    env = os.environ | {"_FAIRPOT_COMPLETE": "bash_complete", "COMP_WORDS": "fairpot co", "COMP_CWORD": "1"}
    done = subprocess.run([sys.executable, "-m", "fairpot.cli"], env=env, capture_output=True, text=True, check=False)
    assert "compare" in done.stdout
