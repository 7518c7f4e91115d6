"""Pictures where one would try them."""

import pytest

from fairpot import FairPOT, compare, load


def test_curves(fitted):
    curve = fitted.tradeoff()
    axes = curve.plot(chosen=0.5, max_gap=0.05)
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert {"chosen: lam = 0.5", "gap of at most 0.05"} <= set(labels)
    assert curve.plot(ax=axes) is axes


def test_comparisons(rows):
    scores, y, group = rows
    result = compare(y, scores, sensitive_features=group, methods=["WassersteinRepair"], cv=2)
    axes = result.plot()
    assert "WassersteinRepair" in [text.get_text() for text in axes.get_legend().get_texts()]


def test_maps(fitted, tmp_path):
    axes = fitted.plot()
    assert axes.get_ylabel() == "score after"
    fitted.save(tmp_path / "map.json")
    assert load(tmp_path / "map.json").plot().get_ylabel() == "score after"
    with pytest.raises(ValueError, match="not fitted"):
        FairPOT().plot()
