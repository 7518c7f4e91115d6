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


def shown_objects():
    score, y, sex = draw(300)
    fp = FairPOT(0.5).fit(score, y, sensitive_features=sex)
    found = fairpot.audit(y, score, sensitive_features=sex, alpha=0.5)
    change = fairpot.effect(fp, score, y, sensitive_features=sex)
    curve = fp.tradeoff()
    views = [found, change, fp.table_, curve, fp]
    return views, [
        *views,
        found.finding,
        found.intervals,
        change.changes,
        change.actions[0],
        curve.band(),
        *fp.table_.counts,
    ]


def test_a_repr_is_a_line_and_a_view_has_a_picture():
    views, objects = shown_objects()
    for each in objects:
        assert len(repr(each)) < 200, type(each)
        assert "\n" not in repr(each), type(each)
    for each in views:
        page = each._repr_html_()
        assert "<table>" in page
        assert "<svg" in page or each is views[2]  # a table of counts has none
    for name in ("Audit", "Effect"):
        [view] = [each for each in views if type(each).__name__ == name]
        assert "low" in view._repr_html_()
        assert "circle" in view._repr_html_()


def test_frames_have_low_and_high():
    score, y, sex = draw(300)
    found = fairpot.audit(y, score, sensitive_features=sex, alpha=0.5, threshold=0.4)
    for part, name in (("groups", "auc"), ("rates", "tpr"), ("top", "gap")):
        frame = found.frame(part)
        known = frame[~frame[f"{name}_low"].isna()]
        assert (known[f"{name}_low"] <= known[name]).all()
        assert (known[name] <= known[f"{name}_high"]).all()
    fp = FairPOT(0.5).fit(score, y, sensitive_features=sex)
    change = fairpot.effect(fp, score, y, sensitive_features=sex)
    row = change.frame().set_index("metric").loc["auc"]
    assert row["before_low"] < row["before"] < row["before_high"]
    assert row["change_low"] <= row["change"] <= row["change_high"]
    assert set(change.frame("actions")["outcome"]) == {"with", "without"}
    assert list(change.frame("moves")["group"]) == ["F", "M"]
    counts = fp.table_.frame()
    assert (counts["positive"] + counts["negative"]).sum() == 300
    with pytest.raises(ValueError, match="part must be one of 'numbers'"):
        change.frame("all")


def test_what_people_would_plot_can_be_plotted():
    pytest.importorskip("matplotlib")
    views, _ = shown_objects()
    for each in (view for view in views if not isinstance(view, fairpot.ScoreTable)):
        assert hasattr(each.plot(), "get_figure") or hasattr(each.plot(), "figure")
