"""What audits, curves and comparisons show of themselves in a notebook."""

import dataclasses
import functools
from xml.etree import ElementTree

import matplotlib.pyplot as plt
import numpy as np
import pytest

import fairpot
from fairpot import (
    FairPOT,
    LogitShift,
    ScoreMap,
    WassersteinRepair,
    compare,
)
from fairpot.inference import confidence_interval, verdict
from fairpot.metrics import xauc_gap
from fairpot.repair.fair_maps import FairMaps
from fairpot.repair.registry import methods
from fairpot.tradeoff import auc_limit
from rows_cases import draw


def test_an_audit_object():
    score, y, sex = draw()
    found = fairpot.audit(y, score, sensitive_features=sex, threshold=0.4, top=0.2)
    assert found.gap == xauc_gap(y, score, sensitive_features=sex)
    assert set(found.frame("rates")["at"]) == {"score", "top", "all"}
    assert len(found.frame("groups")) == 2
    assert found.frame().loc[0, "signed_gap"] == found.gap
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


CASES = ("two groups", "many groups", "top", "weights")
METHODS = tuple(methods().values())


@functools.cache
def results(case):
    """Make one of every result that a user meets; by name, so that a failure says which."""
    score, y, group = draw(240, digits=2)
    if case == "many groups":
        group = np.array(["a long name of a group that goes on and on", "b", "<d>"])[np.arange(240) % 3]
    weight = np.linspace(0.5, 2.0, 240) if case == "weights" else None
    rows = {"sensitive_features": group, "sample_weight": weight}
    where, top = ({"top": 0.5}, {"top": 0.5, "repair": "top"}) if case == "top" else ({}, {})
    fp = FairPOT(0.5, **top).fit(score, y, **rows)
    found = fairpot.audit(y, score, **rows, **where, threshold=0.4)
    change = fairpot.effect(fp, score, y, **rows)
    curve = fp.tradeoff(lams=[0.0, 0.5, 1.0])
    models = {each.__name__: each(0.5).fit(score, y, **rows) for each in METHODS}
    models["from a file"] = FairMaps._from_content(fp.fair_maps_.file_content())
    compared = ["WassersteinRepair"] if case == "many groups" else ["FairPOT", "LogitShift"]
    return {
        **models,
        "top of the audit": found,
        "audits": fairpot.audit(y, {"old": score, "new": score**2 + 0.1 * (y == 1)}, **rows, **where),
        "effect": change,
        "changes": change.changes,
        "curve": curve,
        "band": curve.band(),
        "table": fp.table_,
        "limit": auc_limit(y, score, **rows),
        "comparison": compare(y, score, **rows, methods=compared, cv=2, max_gaps=[0.1]),
    }


# One number, or a choice: shown with its interval, but neither a table nor a picture by itself.
def small_results(case):
    found = results(case)
    curve = found["curve"]
    gap = found["top of the audit"].gap
    return [gap, found["changes"].auc, curve.point(1), verdict(found["table"], bound=0.05)]


@pytest.mark.parametrize("case", CASES)
def test_every_result_shows_itself(case):
    for name, each in results(case).items():
        assert len(repr(each)) < 400, name
        assert repr(each).count("\n") <= 1, name
        page = each._repr_html_()
        assert ("<svg" in page) == (name not in ("table", "limit", "comparison", "curve", "band", "from a file")), name
        assert "<table>" in page, name
        assert "<d>" not in page, name
        assert "interval" in page, name  # its limits, or that there are none
        ElementTree.fromstring(page.replace("<br>", ""))  # what is opened is closed
        frame = each.frame()
        assert len(frame) > 0, name
        for column in frame.columns:
            value = column.removesuffix("_low")
            if value != column and value in frame.columns:
                known = frame[frame[column].notna()]
                assert (known[column] <= known[value] + 1e-9).all(), (name, column)
                assert (known[value] <= known[f"{value}_high"] + 1e-9).all(), (name, column)
        if name in ("limit", "band"):  # a curve draws them
            continue
        drawn = each.plot()
        axes = drawn if isinstance(drawn, list) else [drawn]
        assert all(ax.has_data() for ax in axes), name
        plt.close("all")
    for each in small_results(case):
        assert len(repr(each)) < 400
        assert "interval" in each._repr_html_()
        ElementTree.fromstring(each._repr_html_())


@pytest.mark.parametrize("case", CASES)
def test_numbers_with_intervals_have_low_and_high(case):
    found = results(case)
    expected = {
        "audits": ("auc", "gap", "auc_change", "gap_change"),
        "changes": ("change",),
        "curve": ("auc", "gap"),
        "band": ("auc", "gap"),
        "comparison": ("auc", "gap"),
    }
    for name, columns in expected.items():
        frame = found[name].frame(*(["chosen"] if name == "comparison" else []))
        for column in columns:
            assert frame[f"{column}_low"].notna().any(), (name, column)
            assert frame[f"{column}_high"].notna().any(), (name, column)


def test_a_comparison_has_the_limits_that_an_interval_of_the_same_rows_has():
    score, y, sex = draw(300)
    half = np.arange(300) % 2 == 0
    held_out = fairpot.score_table(y[half], score[half], sensitive_features=sex[half])
    rows = (y[~half], score[~half])
    result = compare(*rows, sensitive_features=sex[~half], methods="FairPOT", held_out=held_out, max_gaps=[1.0])
    row = result.frame("chosen").iloc[0]
    for metric, name in (("auc", "auc"), ("xauc_gap", "gap")):
        known = confidence_interval(metric, y[half], score[half], sensitive_features=sex[half])
        assert (row[f"{name}_low"], row[f"{name}_high"]) == pytest.approx((known.low, known.high), abs=1e-12)


def test_pictures_say_that_there_are_no_intervals():
    y, score, sex = [1, 0] * 6, np.arange(12) / 12, ["F", "F", "F", "M", "M", "M"] * 2
    few = fairpot.audit(y, score, sensitive_features=sex)
    score, y, sex = draw(240)
    none_asked = fairpot.audit(y, score, sensitive_features=sex, level=None)
    for found in (few, none_asked):
        assert "no interval" in found._repr_html_()
        assert any("no interval" in text.get_text() for text in found.plot().texts)
        plt.close("all")
    curve = dataclasses.replace(FairPOT(0.5).fit(score, y, sensitive_features=sex).tradeoff(), evidence=None)
    assert "no intervals" in curve._repr_html_()
    assert curve.frame()["gap_low"].isna().all()


def test_a_curve_shows_its_band_or_says_how_to_get_it():
    """Where it is cheap, the limits are those of the band; of many scores and groups one line says who has them."""
    score, y, sex = draw(240, digits=2)
    curve = FairPOT(0.5).fit(score, y, sensitive_features=sex).tradeoff(lams=[0.0, 0.5, 1.0])
    band = curve.band()
    assert f"{band.gap.value[0]:.3f} ({band.gap.low[0]:.3f} to {band.gap.high[0]:.3f})" in curve._repr_html_()
    rng = np.random.default_rng(0)
    group, y = np.arange(1200) % 8, rng.integers(0, 2, 1200)
    many = FairPOT(0.5).fit(rng.normal(y + 0.1 * group), y, sensitive_features=group).tradeoff(lams=[0.0, 0.5, 1.0])
    assert "no intervals: curve.band() computes them" in many._repr_html_()
    assert many.frame()["gap_low"].notna().all()


@pytest.mark.parametrize("top", [{}, {"top": 0.5}])
def test_a_fitted_model_shows_what_it_achieved_with_the_interval_of_the_gap(top):
    score, y, sex = draw(300)
    fp = FairPOT(0.5, **top).fit(score, y, sensitive_features=sex)
    page, found, change = fp._repr_html_(), fp.achieved_, fairpot.effect(fp, fp.table_)
    before, after = (found.gap_top_before, found.gap_top) if top else (found.gap_before, found.gap)
    name = "gap in the top 50%" if top else "overall gap"
    assert f"{name} {before:.3f} -&gt; {after:.3f}, AUC {found.auc_before:.3f} -&gt; {found.auc:.3f}" in page
    gap = change.after.told.gap
    assert f"{gap:.3f} (" in page
    assert f"to {gap.high:.3f})" in page


def test_frames_have_low_and_high():
    score, y, sex = draw(300)
    found = fairpot.audit(y, score, sensitive_features=sex, top=0.5, threshold=0.4)
    for part, name in (("groups", "auc"), ("rates", "value"), ("top", "gap")):
        frame = found.frame(part)
        known = frame[~frame[f"{name}_low"].isna()]
        assert (known[f"{name}_low"] <= known[name]).all()
        assert (known[name] <= known[f"{name}_high"]).all()
    fp = FairPOT(0.5).fit(score, y, sensitive_features=sex)
    change = fairpot.effect(fp, score, y, sensitive_features=sex)
    row = change.frame().set_index("metric").loc["AUC"]
    assert row["before_low"] < row["before"] < row["before_high"]
    assert row["change_low"] <= row["change"] <= row["change_high"]
    assert set(change.frame("actions")["outcome"]) == {"with", "without"}
    assert list(change.frame("moves")["group"]) == ["F", "M"]
    counts = fp.table_.frame()
    assert (counts["positive"] + counts["negative"]).sum() == 300
    with pytest.raises(ValueError, match="part must be one of 'numbers'"):
        change.frame("all")


def test_a_map_frame_gives_what_transform_gives():
    score, y, sex = draw(200)
    for method in (FairPOT, LogitShift, WassersteinRepair):
        fp = method(0.7).fit(score, y, sensitive_features=sex)
        frame = fp.frame()
        new = fp.transform(frame["score"].to_numpy(), sensitive_features=frame["group"].to_numpy())
        np.testing.assert_allclose(new, frame["adjusted"], rtol=0, atol=1e-12)


def test_maps_have_a_frame():
    score, y, group = draw(240, digits=2)
    fp = FairPOT(0.5).fit(score, y, sensitive_features=group)
    [moved] = fp.strengths_
    own = fp.maps_[moved]
    assert own.frame().to_numpy().tolist() == np.stack([own.knots, own(own.knots)], axis=1).tolist()
    assert len(ScoreMap.identity().frame()) == 0
    plt.close("all")
