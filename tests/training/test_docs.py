"""What docs/partial-auc.md shows runs."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "partial-auc.md"


def test_examples_run(capsys):
    pytest.importorskip("xgboost")
    names: dict[str, object] = {}
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(blocks) >= 2
    for block in blocks:
        exec(block, names)
    assert "recall" in capsys.readouterr().out
    assert names["curve"].at(0.0).gap >= 0
