"""What commands print, whole, on rows drawn once: the files in golden/ are what people see.

To renew them after a change of words: RENEW_GOLDEN=1 python -m pytest tests/cli/test_golden.py
"""

import os
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairpot import __version__

GOLDEN = Path(__file__).parent / "golden"
COLUMNS = ["--score", "risk", "--label", "outcome"]
SEX, WARD = [*COLUMNS, "--group", "sex"], [*COLUMNS, "--group", "ward"]
# Each of them: exit code, how wide the terminal is (None: a pipe), the command.
COMMANDS = {
    "audit": (0, None, ["audit", "past.csv", *SEX]),
    "audit-means": (0, None, ["audit", "past.csv", *SEX, "--high-score-means", "harm"]),
    "audit-top": (0, None, ["audit", "past.csv", *SEX, "--top", "10%", "--threshold", "0.5"]),
    "audit-wards": (0, None, ["audit", "past.csv", *WARD]),
    "audit-all": (0, None, ["audit", "past.csv", *WARD, "--all"]),
    "audit-gates": (
        3,
        None,
        ["audit", "past.csv", *SEX, "--bound", "5%", "--require", "within", "--fail-above", "10%"],
    ),
    "audit-60": (0, 60, ["audit", "past.csv", *WARD, "--top", "20%"]),
    "audit-points": (0, None, ["audit", "points.csv", "--score", "points", *SEX[2:], "--lower-is-riskier"]),
    "audit-rates": (0, None, ["audit", "past.csv", *SEX, "--threshold", "0.5", "--rates"]),
    "audit-no-label": (
        3,
        None,
        [
            "audit",
            "past.csv",
            *COLUMNS[:2],
            *WARD[4:],
            "--no-label",
            "--threshold",
            "0.5",
            "--top",
            "20%",
            "--min-ratio",
            "0.9",
        ],
    ),
    "audit-no-label-60": (0, 60, ["audit", "past.csv", *COLUMNS[:2], *SEX[4:], "--no-label"]),
    "audit-four-fifths": (0, None, ["audit", "past.csv", *WARD, "--top", "30%", "--for", "four-fifths"]),
    "audit-ll144": (0, None, ["audit", "past.csv", *COLUMNS[:2], *SEX[4:], *WARD[4:], "--for", "ll144"]),
    "audit-clinical": (0, 80, ["audit", "past.csv", *SEX, "--threshold", "0.5", "--for", "clinical"]),
    "audit-scores": (0, None, ["audit", "past.csv", *SEX, "--score", "points"]),
    "error-no-label": (2, None, ["audit", "past.csv", "--score", "risk", *SEX[4:]]),
    "fit": (0, None, ["fit", "past.csv", *SEX, "--max-gap", "5%", "-o", "map.json"]),
    "fit-validate": (0, None, ["fit", "past.csv", *SEX, "--max-gap", "5%", "--validate", "new.csv"]),
    "fit-top": (0, None, ["fit", "past.csv", *SEX, "--max-gap", "10%", "--top", "400", "--high-score-means", "help"]),
    "fit-repair-top": (0, None, ["fit", "past.csv", *SEX, "--max-gap", "10%", "--top", "20%", "--repair-top"]),
    "fit-wards-all": (0, None, ["fit", "past.csv", *WARD, "--lam", "50%", "--min-group", "50", "--all"]),
    "fit-certified": (0, None, ["fit", "past.csv", *SEX, "--max-gap", "20%", "--confidence", "90%", "-o", "sure.json"]),
    "fit-uncertified": (4, None, ["fit", "past.csv", *SEX, "--max-gap", "1%", "--confidence", "95%"]),
    "fit-needless": (0, None, ["fit", "past.csv", *SEX, "--max-gap", "50%"]),
    "show": (0, None, ["show", "map.json"]),
    "show-certified": (0, None, ["show", "sure.json"]),
    "apply": (0, None, ["apply", "map.json", "new.csv", "-o", "adjusted.csv", "--changes", "changes.csv"]),
    "compare": (0, None, ["compare", "past.csv", *SEX, "--method", "fairpot", "--method", "logit-shift"]),
    "plan": (0, None, ["plan", "--max-gap", "5%", "--share", "0.2", "--rate", "0.1"]),
    "error-column": (2, None, ["audit", "past.csv", "--score", "rsik", *SEX[2:]]),
    "error-missing": (2, None, ["audit", "gaps.csv", *SEX]),
    "error-far": (2, None, ["fit", "past.csv", *SEX]),
}


def draw(n, seed):
    rng = np.random.default_rng(seed)
    sex, ward = rng.choice(["F", "M"], n), rng.choice(["north", "south", "tiny"], n, p=[0.5, 0.49, 0.01])
    risk = np.round(rng.beta(2, 3, n) * np.where(sex == "M", 1.0, 0.8) * np.where(ward == "north", 1.0, 0.9), 3)
    outcome = (rng.random(n) < np.minimum(risk + 0.05 * (sex == "F"), 1)).astype(int)
    return pd.DataFrame(
        {"risk": risk, "outcome": outcome, "sex": sex, "ward": ward, "points": np.round(100 - 60 * risk)}
    )


@pytest.fixture(scope="module")
def here(run, tmp_path_factory):
    """A folder with rows; maps are left in it by the commands that make them."""
    folder = tmp_path_factory.mktemp("golden")
    draw(2000, 0).to_csv(folder / "past.csv", index=False)
    draw(1500, 1).to_csv(folder / "new.csv", index=False)
    draw(1000, 2).drop(columns="risk").to_csv(folder / "points.csv", index=False)
    gaps = draw(100, 3)
    gaps.loc[:4, "risk"] = np.nan
    gaps.to_csv(folder / "gaps.csv", index=False)
    for name in ("fit", "fit-certified"):
        code, _, command = COMMANDS[name]
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)
            run(*command, expect=code)
    return folder


@pytest.mark.parametrize("name", COMMANDS)
def test_what_is_printed(run, here, name, monkeypatch):
    monkeypatch.chdir(here)
    code, width, command = COMMANDS[name]
    if width is not None:
        for key, value in (("FORCE_COLOR", "1"), ("NO_COLOR", "1"), ("COLUMNS", str(width))):
            monkeypatch.setenv(key, value)
    again = ["--force"] if "-o" in command else []
    answer = run(*command, *again, expect=code)
    said = answer.out if width is not None else answer.out + answer.err
    said = f"$ fairpot {' '.join(command)}\n{said.replace(__version__, 'VERSION')}"
    said = re.sub(r"\b[0-9a-f]{64}\b", "SHA256", said)  # of a file that names the version
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("RENEW_GOLDEN"):
        path.write_text(said, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == said


def test_no_file_is_left_over():
    assert {path.stem for path in GOLDEN.iterdir()} == set(COMMANDS)


def test_no_answer_is_longer_than_eight_lines():
    for path in GOLDEN.glob("[af]*.txt"):
        answer = path.read_text(encoding="utf-8").partition("\n\n")[0].splitlines()[1:]
        assert len(answer) <= 8 or path.stem.endswith("-60"), path
