"""fairpot signs nothing: another program does, as the page shows it."""

import re
import shlex
import shutil
import subprocess
import warnings
from pathlib import Path

import pytest

import fairpot

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
