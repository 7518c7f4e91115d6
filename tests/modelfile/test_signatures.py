"""fairpot signs nothing: another program does, as the page shows it, and a signature of an earlier version is named."""

import json
import re
import shlex
import shutil
import subprocess
import warnings
from pathlib import Path

import pytest

import fairpot
from cli.conftest import make_runner
from fairpot.cli._app import app
from fairpot.exceptions import FairpotWarning

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "share.md"


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with rows and a map of them."""
    monkeypatch.chdir(tmp_path)
    rows = [f"{s / 40},{(s * 7) % 3 % 2},{'FM'[s % 2]}" for s in range(40)]
    Path("rows.csv").write_text("\n".join(["score,label,group", *rows, ""]))
    fairpot.FairPOT(0.5, reference="M").fit(range(40), sensitive_features=["F", "M"] * 20).save("other.json")
    columns = [[s / 40 for s in range(40)], [*"FM"] * 20]
    fairpot.FairPOT(0.5, reference="M").fit(columns[0], sensitive_features=columns[1]).save("map.json")
    return tmp_path


def signed(name, form="fairpot-signature"):
    """Put a signature beside a map, as version 0.2 wrote it."""
    content = {"algorithm": "hmac-sha256", "file_sha256": "0" * 64, "format": form, "key_id": "0" * 16}
    Path(f"{name}.sig").write_text(json.dumps(content | {"schema_version": 1, "signature": "0" * 64}, indent=1))


@pytest.mark.skipif(shutil.which("minisign") is None, reason="minisign is not installed")
def test_the_commands_of_the_page(here):
    """What the page says to run signs a map, verifies it, and refuses it once it is changed."""
    [block] = re.findall(r"```sh\n(.*?)```", PAGE.read_text(), re.DOTALL)
    make, sign, verify = (shlex.split(line) for line in block.splitlines())
    for line in ([*make, "-W"], sign, verify):  # -W: without a password
        done = subprocess.run(line, capture_output=True, text=True, check=True)
    assert "Signature and comment signature verified" in done.stdout
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fairpot.load("map.json").method_ == "FairPOT"
    shutil.copy("other.json", "map.json")
    assert subprocess.run(verify, capture_output=True, check=False).returncode != 0


def test_a_signature_of_an_earlier_version_is_named_as_not_checked(here):
    signed("map.json")
    with pytest.warns(FairpotWarning, match=r"'map.json.sig' was not checked(.|\n)*expect_sha256") as said:
        loaded = fairpot.load("map.json")
    assert len(said) == 1
    assert loaded.transform([0.5], sensitive_features=["F"]).shape == (1,)
    with pytest.warns(FairpotWarning, match="was not checked"):
        assert fairpot.apply("map.json", "rows.csv", "y.csv").rows == 40


@pytest.mark.parametrize(
    "line",
    [
        ["show", "map.json"],
        ["apply", "map.json", "rows.csv", "-o", "y.csv"],
        ["export", "map.json", "--to", "python", "-o", "made.py"],
        ["report", "rows.csv", "--map", "map.json", "-o", "page.html"],
    ],
)
def test_every_command_says_so_once_on_standard_error(here, line):
    signed("map.json")
    done = make_runner().invoke(app, line)
    assert done.exit_code == 0, done.output
    assert done.stderr.count("was not checked") == 1
    assert "--expect-sha256" in done.stderr
    assert "was not checked" not in done.stdout


@pytest.mark.parametrize("left", ["another program", "nothing", "a folder", "a large file"])
def test_what_others_put_beside_a_map_is_none_of_our_business(here, left):
    if left == "another program":
        Path("map.json.sig").write_text("untrusted comment: signature\nRUQ...\n")
    elif left == "a folder":
        Path("map.json.sig").mkdir()
    elif left == "a large file":
        Path("map.json.sig").write_text('"fairpot-signature"' + " " * 20_000)
    assert fairpot.load("map.json").method_ == "FairPOT"  # a warning would be an error
