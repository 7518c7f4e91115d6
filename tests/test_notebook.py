"""What audits, curves and comparisons show of themselves in a notebook."""

import numpy as np
import pytest

import fairpot
from fairpot import FairPOT, compare
from fairpot.metrics import xauc_gap
from rows_cases import draw


def test_an_audit_object():
    score, y, sex = draw()
    found = fairpot.audit(y, score, sensitive_features=sex, threshold=0.4, alpha=0.2)
    assert found.gap == xauc_gap(y, score, sensitive_features=sex)
    assert set(found.frame("rates")["at"]) == {"score", "top"}
    assert len(found.frame("groups")) == 2
    assert found.frame().loc[0, "gap"] == found.gap
    assert "of 100 pairs" in str(found)
    assert "<table>" in found._repr_html_()
    with pytest.raises(ValueError, match="part must be one of"):
        found.frame("all")


def test_names_are_escaped_in_notebooks():
    score, y, sex = draw(100)
    nasty = np.where(sex == "F", "<script>alert(1)</script>", "M")
    fp = FairPOT(0.5).fit(score, y, sensitive_features=nasty)
    result = compare(y, score, sensitive_features=nasty, methods="FairPOT", cv=2)
    shown = [fairpot.audit(y, score, sensitive_features=nasty), fp.table_, fp.tradeoff(), result]
    shown.append(fairpot.effect(fp, score, y, sensitive_features=nasty))
    for each in shown:
        assert "<script>" not in each._repr_html_()
