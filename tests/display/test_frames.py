"""The numbers behind the pictures, against slow and independent ways to get them."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import auc as trapezoid
from sklearn.metrics import roc_auc_score, roc_curve

from display_cases import make_rows
from fairpot import FairPOT, compare
from fairpot.display import (
    CrossRocDisplay,
    ScoreDistributionDisplay,
    ScoreMapDisplay,
    TradeoffDisplay,
)
from fairpot.inference import confidence_interval
from fairpot.methods import LogitShift, OptimalMerge
from fairpot.metrics import xauc
from fairpot.tradeoff import auc_limit
from oracles import distance_to_limit


def after(fitted, rows):
    scores, _, group = rows
    return fitted.transform(scores, sensitive_features=group)


def test_distributions_count_rows(rows, fitted):
    scores, y, group = rows
    shown = ScoreDistributionDisplay.from_estimator(fitted, bins=20)
    for state, values in (("before", scores), ("after", after(fitted, rows))):
        for name in ("F", "M"):
            for label, outcome in (("positive", 1), ("negative", 0)):
                found = shown.where(state=state, group=name, label=label)
                edges = np.append(found["low"], found["high"][-1])
                own = values[(group == name) & (y == outcome)]
                expected, _ = np.histogram(own, edges)
                np.testing.assert_array_equal(found["weight"], expected)
                np.testing.assert_allclose(found["share"], expected / len(own))


def test_curves_are_those_of_scikit_learn_on_the_two_cells(rows, fitted):
    scores, y, group = rows
    shown = CrossRocDisplay.from_estimator(fitted)
    for state, values in (("before", scores), ("after", after(fitted, rows))):
        for g, h in (("F", "M"), ("M", "F"), ("F", "F")):
            cells = ((group == g) & (y == 1)) | ((group == h) & (y == 0))
            fpr, tpr, _ = roc_curve(y[cells], values[cells], drop_intermediate=False)
            found = shown.where(state=state, positive=g, negative=h)
            np.testing.assert_allclose(found["area"], roc_auc_score(y[cells], values[cells]))
            assert trapezoid(found["false_positive_rate"], found["true_positive_rate"]) == pytest.approx(
                found["area"][0], abs=1e-12
            )
            ours = zip(found["false_positive_rate"].round(12), found["true_positive_rate"].round(12))
            assert set(ours) == set(zip(fpr.round(12), tpr.round(12)))


def test_areas_stay_exact_where_points_are_left_out(rows, monkeypatch):
    monkeypatch.setattr("fairpot.display.by_group._POINTS", 8)
    scores, y, group = rows
    shown = CrossRocDisplay.from_predictions(y, scores, sensitive_features=group)
    found = shown.where(positive="F", negative="M")
    expected = xauc(y, scores, sensitive_features=group, positive="F", negative="M", ties="half")
    assert found["area"][0] == expected
    known = confidence_interval("xauc", y, scores, sensitive_features=group, positive="F", negative="M")
    assert (found["area_low"][0], found["area_high"][0]) == pytest.approx((known.low, known.high), abs=1e-9)
    assert len(found["area"]) == 8
    assert (found["true_positive_rate"][0], found["true_positive_rate"][-1]) == (0, 1)


def test_the_widest_pair_is_shown():
    scores, y, group = make_rows(1500, ("a", "b", "c"))
    shown = CrossRocDisplay.from_predictions(y, scores, sensitive_features=group)
    assert shown.values("positive") == ["c", "a"]
    named = CrossRocDisplay.from_predictions(y, scores, sensitive_features=group, pair=("a", "b"))
    assert named.values("positive") == ["a", "b"]


def test_maps_are_shown_as_they_are(fitted):
    shown = ScoreMapDisplay.from_estimator(fitted)
    for name in ("F", "M"):
        found = shown.where(group=name)
        np.testing.assert_array_equal(found["mapped"], fitted.maps_[name](found["score"]))
    assert set(fitted.maps_["F"].knots) <= set(shown.where(group="F")["score"])


def test_a_jump_has_both_its_sides(rows):
    scores, y, group = rows
    fp = FairPOT(1.0, top=0.3, repair="top").fit(scores, y, sensitive_features=group)
    found = ScoreMapDisplay.from_maps(fp.maps_, fp.table_).where(group="F")
    start = fp.starts_["F"]
    assert {np.nextafter(start, -np.inf), start} <= set(found["score"].tolist())


def test_the_curve_its_limit_and_its_point(rows, fitted):
    scores, y, group = rows
    limit = auc_limit(y, scores, sensitive_features=group, ties="half")
    shown = TradeoffDisplay.from_estimator(fitted, limit=limit, max_gap=0.05)
    curve = fitted.tradeoff()
    for name in ("lam", "auc", "gap", "signed_gap", "pareto"):
        np.testing.assert_array_equal(shown.columns[name], getattr(curve, name))
    assert (shown.columns["limit_auc"] >= shown.columns["auc"] - 1e-12).all()
    assert shown.chosen == replace(curve.at(0.5), lam=0.5)
    np.testing.assert_allclose(
        shown.columns["limit_auc"] - shown.columns["auc"], distance_to_limit(curve, limit), atol=1e-12
    )
    axes = shown.ax_
    axes.figure.canvas.draw()
    labels = (
        [text.get_text() for text in axes.figure.legends[0].get_texts()]
        if axes.figure.legends
        else (axes.get_legend_handles_labels()[1])
    )
    assert "best possible on these rows" in labels
    few = fitted.tradeoff(lams=[0, 0.25, 1])
    band = few.band()
    np.testing.assert_array_equal(TradeoffDisplay.from_curve(few, band=band).columns["gap_low"], band.gap.low)
    banded = TradeoffDisplay.from_curve(curve, chosen=0.25, band=band)
    assert np.isfinite(banded.columns["gap_low"]).sum() == 3
    assert (banded.chosen.lam, banded.chosen.auc) == (0.25, curve.at(0.25).auc)
    banded.figure_.canvas.draw()


def test_the_band_of_inference(fitted):
    curve = fitted.tradeoff()
    band = curve.band()
    shown = TradeoffDisplay.from_curve(curve, band=band)
    known = np.isfinite(shown.columns["gap_low"])
    assert known.sum() == len(band)
    np.testing.assert_array_equal(shown.columns["gap_high"][known], band.gap.high)
    np.testing.assert_allclose(shown.columns["gap"][known], band.gap.value, atol=1e-9)
    assert not shown.signed
    axes = shown.ax_
    axes.figure.canvas.draw()
    assert "interval of the gap" in [text.get_text() for text in axes.get_legend().get_texts()]


def test_without_a_sign_the_limit_does_not_go_back_and_forth(rows):
    """Where the repair overshoots, the same gap is reached on both sides, and the limit is higher on one."""
    scores, y, group = rows
    curve = OptimalMerge(theta=1.0).fit(scores, y, sensitive_features=group).tradeoff()
    assert curve.signed_gap.min() < -0.1 < 0.1 < curve.signed_gap.max()
    limit = auc_limit(y, scores, sensitive_features=group)
    shown = TradeoffDisplay.from_curve(curve, band=curve.band(), limit=limit)
    drawn = {line.get_label(): line.get_xydata() for line in shown.plot().get_lines()}
    gap, auc = drawn["best possible on these rows"].T
    assert (np.diff(gap) >= 0).all()
    # The better of two concave lines turns at a top of each and between them; a zigzag does so at every point.
    steps = np.sign(np.diff(auc))[np.abs(np.diff(auc)) > 1e-4]
    assert np.count_nonzero(np.diff(steps)) <= 3
    both = np.maximum(limit.auc_at(curve.gap), limit.auc_at(-curve.gap))
    np.testing.assert_allclose(shown.columns["limit_auc"], both, atol=1e-12)


def test_a_curve_with_a_dial_for_each_group():
    scores, y, group = make_rows(900, ("a", "b", "c"))
    fp = FairPOT(max_gap=0.1, reference="c").fit(scores, y, sensitive_features=group)
    shown = TradeoffDisplay.from_estimator(fp)
    assert list(shown.columns)[:3] == ["share", "share[a]", "share[b]"]
    assert shown.chosen.lam == fp.strength_
    assert shown.chosen.strengths == fp.strengths_
    labels = [text.get_text() for text in shown.ax_.get_legend().get_texts()]
    assert f"chosen: share = {fp.strength_:.3g}" in labels
    shown.figure_.canvas.draw()


def test_a_strength_between_the_points_of_a_curve_is_shown_too(rows):
    scores, y, group = rows
    model = OptimalMerge(theta=1.2345).fit(scores, y, sensitive_features=group)
    shown = TradeoffDisplay.from_estimator(model)
    assert 1.2345 not in model.tradeoff().lam
    assert (shown.chosen.lam, shown.chosen.auc) == (1.2345, model.achieved_.auc)


def test_the_original_scores_are_marked_wherever_they_are_on_the_curve(rows):
    scores, y, group = rows
    curve = LogitShift(0.5).fit(scores, y, sensitive_features=group).tradeoff()
    assert 0 < curve.unmoved < len(curve) - 1
    [mark] = [line for line in TradeoffDisplay.from_curve(curve).plot().get_lines() if line.get_label() == "original"]
    assert mark.get_ydata()[0] == curve.unmoved_auc


def test_a_comparison(rows):
    scores, y, group = rows
    methods = ["FairPOT", "WassersteinRepair"]
    result = compare(y, scores, sensitive_features=group, methods=methods, cv=2, progress=False)
    axes = result.plot()
    axes.figure.canvas.draw()
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert {"FairPOT", "WassersteinRepair", "original", "best possible on these rows"} <= set(labels)
