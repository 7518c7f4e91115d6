"""What type checkers say of a small program that uses fairpot: every right line passes, every wrong one is told."""

import re
from pathlib import Path

import pytest

api = pytest.importorskip("mypy.api")
ROOT = Path(__file__).parents[2]

RIGHT = """\
import numpy as np

import fairpot
from fairpot.metrics import auc

score, y, sex = np.linspace(0, 1, 8), np.array([0, 1] * 4), np.array(["F", "M"] * 4)
table = fairpot.score_table(y, score, sensitive_features=sex, weights="frequency", min_group=1)
found = fairpot.audit(table, level=0.9)
gap: float = found.finding.gap or 0.0
fp = fairpot.FairPOT(max_gap=0.1, top_of="group", top=0.5)
fp = fp.fit(score, y, sensitive_features=sex, groups=["F", "M"])
adjusted = fp.transform(score, sensitive_features=sex, unknown_group="keep")
fp.save("map.json", overwrite=True)
strength: float = fp.lam_
other = fp.at(0.5).tradeoff(score, y, sensitive_features=sex).select(max_gap=0.05)
effect = fairpot.effect(fp, score, y, sensitive_features=sex, clusters=sex)
value: float = auc(y, score, drop_missing=True)
fairpot.load("map.json").transform(score, sensitive_features=sex)
fairpot.FairScoreClassifier(fp, fp).fit(score, y, sensitive_features=sex).predict(score)
"""
WRONG = """\
fp.tranform(score, sensitive_features=sex)
fp.transform(score)
fp.save()
fp.plot(axes=None)
fp.fit(score, y, sensitive_feature=sex)
fairpot.audit(y, score, weights="both")
fairpot.audit(y, score, min_group="3")
fairpot.effect(fp, score, y, lower_is_risky=True)
auc(y, score, horizon="soon")
fairpot.FairPOT(ties="none")
fairpot.load("map.json").tranform
fairpot.FairScoreClassifier(fp).predikt(score)
"""


@pytest.mark.slow
def test_a_small_program_is_checked(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(RIGHT + WRONG)
    cache = ROOT / ".mypy_cache"
    told, failed, _ = api.run(["--strict", "--follow-imports=silent", f"--cache-dir={cache}", str(program)])
    assert not failed
    lines = {int(line) for line in re.findall(r"program\.py:(\d+): error", told)}
    first = len(RIGHT.splitlines()) + 1
    assert lines == set(range(first, first + len(WRONG.splitlines()))), told
