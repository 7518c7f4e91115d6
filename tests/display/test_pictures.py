"""What stands in the pictures, against slow and independent ways to get it."""

import numpy as np
import pytest

from display_cases import make_rows
from fairpot import FairPOT, compare
from fairpot.methods import LogitShift, OptimalMerge
from fairpot.tradeoff import auc_limit


def lines_of(axes):
    """Give what is drawn under each name."""
    return {line.get_label(): np.array(line.get_data()) for line in axes.get_lines()}


def test_distributions_count_rows(rows, table):
    scores, y, group = rows
    hills = [each for each in table.plot().patches if not each.get_fill()]
    cells = [(name, outcome) for name in ("F", "M") for outcome in (1, 0)]
    for hill, (name, outcome) in zip(hills, cells, strict=True):
        values, edges, _ = hill.get_data()
        own = scores[(group == name) & (y == outcome)]
        expected, _ = np.histogram(own, edges)
        np.testing.assert_allclose(values, (1 if outcome else -1) * expected / len(own))


def test_maps_are_shown_as_they_are(fitted):
    shown = lines_of(fitted.plot())
    score, mapped = shown["F"]
    np.testing.assert_array_equal(mapped, fitted.maps_["F"](score))
    assert set(fitted.maps_["F"].knots) <= set(score)
    assert shown["M (unchanged)"].size == 0


def test_a_jump_has_both_its_sides(rows):
    scores, y, group = rows
    fp = FairPOT(1.0, top=0.3, repair="top").fit(scores, y, sensitive_features=group)
    start = fp.starts_["F"]
    assert {np.nextafter(start, -np.inf), start} <= set(lines_of(fp.plot())["F"][0])


def test_the_curve_its_limit_and_its_point(rows, fitted):
    scores, y, group = rows
    limit = auc_limit(y, scores, sensitive_features=group, ties="half")
    curve = fitted.tradeoff()
    axes = curve.plot(chosen=0.5, limit=limit, max_gap=0.05)
    axes.figure.canvas.draw()
    shown = lines_of(axes)
    np.testing.assert_array_equal(shown["every lam"], [curve.signed_gap, curve.auc])
    gap, auc = shown["best possible on these rows"]
    order = np.argsort(curve.signed_gap)
    np.testing.assert_array_equal(gap, curve.signed_gap[order])
    assert (auc >= curve.auc[order] - 1e-12).all()
    point = curve.at(0.5)
    assert shown["chosen: lam = 0.5"].tolist() == [[point.signed_gap], [point.auc]]


def test_a_band_takes_the_sign_away_and_lies_where_its_limits_are(fitted):
    few = fitted.tradeoff(lams=[0, 0.25, 1])
    band = few.band()
    axes = fitted.tradeoff().plot(chosen=0.25, band=band)
    axes.figure.canvas.draw()
    [shade] = [patch for patch in axes.patches if patch.get_label() == "interval of the gap"]
    ends = shade.get_path().get_extents()
    assert (ends.x0, ends.x1) == pytest.approx((band.gap.low.min(), band.gap.high.max()))
    assert (ends.y0, ends.y1) == pytest.approx((few.auc.min(), few.auc.max()))
    assert (lines_of(axes)["every lam"][0] >= 0).all()


def test_without_a_sign_the_limit_does_not_go_back_and_forth(rows):
    """Where the repair overshoots, the same gap is reached on both sides, and the limit is higher on one."""
    scores, y, group = rows
    curve = OptimalMerge(theta=1.0).fit(scores, y, sensitive_features=group).tradeoff()
    assert curve.signed_gap.min() < -0.1 < 0.1 < curve.signed_gap.max()
    limit = auc_limit(y, scores, sensitive_features=group)
    gap, auc = lines_of(curve.plot(band=curve.band(), limit=limit))["best possible on these rows"]
    assert (np.diff(gap) >= 0).all()
    # The better of two concave lines turns at a top of each and between them; a zigzag does so at every point.
    steps = np.sign(np.diff(auc))[np.abs(np.diff(auc)) > 1e-4]
    assert np.count_nonzero(np.diff(steps)) <= 3
    np.testing.assert_allclose(auc, np.maximum(limit.auc_at(gap), limit.auc_at(-gap)), atol=1e-12)


def test_a_curve_with_a_dial_for_each_group():
    scores, y, group = make_rows(900, ("a", "b", "c"))
    fp = FairPOT(max_gap=0.1, reference="c").fit(scores, y, sensitive_features=group)
    curve = fp.tradeoff()
    assert curve.at(fp.strength_).strengths == fp.strengths_
    axes = curve.plot(chosen=fp.strength_)
    axes.figure.canvas.draw()
    assert f"chosen: share = {fp.strength_:.3g}" in lines_of(axes)


def test_the_original_scores_are_marked_wherever_they_are_on_the_curve(rows):
    scores, y, group = rows
    curve = LogitShift(0.5).fit(scores, y, sensitive_features=group).tradeoff()
    assert 0 < curve.unmoved < len(curve) - 1
    assert lines_of(curve.plot())["original"][1].tolist() == [curve.unmoved_auc]


def test_a_comparison(rows):
    scores, y, group = rows
    methods = ["FairPOT", "WassersteinRepair"]
    result = compare(y, scores, sensitive_features=group, methods=methods, cv=2, progress=False)
    axes = result.plot()
    axes.figure.canvas.draw()
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert {"FairPOT", "WassersteinRepair", "original", "best possible on these rows"} <= set(labels)
