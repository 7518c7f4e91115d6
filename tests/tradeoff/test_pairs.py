"""With three and more groups a curve names the pair that its gap is between, and is signed from its first group."""

import itertools

import numpy as np
import pytest

import oracles
from fairpot import FairPOT
from fairpot.methods import OptimalMerge, WassersteinRepair

NAMES = ("adult", "child", "senior")


def draw(seed, n=240):
    rng = np.random.default_rng(seed)
    place, y = np.tile(np.arange(3), n // 3), rng.integers(0, 2, n)
    y[:6] = [0, 0, 0, 1, 1, 1]
    lift = rng.permutation([0.0, 0.4, 0.9])
    return (rng.random(n) + 0.4 * y + lift[place]).round(2), y, np.array(NAMES)[place]


def counted(rows, half=True):
    """Count both xAUCs of every two groups; the pair with the largest gap, seen from its first group."""
    found = {pair: oracles.xauc(*rows, *pair, half=half) for pair in itertools.permutations(NAMES, 2)}
    widest = max(abs(found[pair] - found[pair[::-1]]) for pair in found)
    return found, widest


@pytest.mark.parametrize("reference", NAMES)
@pytest.mark.parametrize("seed", range(3))
def test_signed_from_the_reference_or_the_group_that_is_ranked_higher(seed, reference):
    scores, y, group = draw(seed)
    for model in (FairPOT(0.5, reference=reference), OptimalMerge(1.0, reference=reference)):
        model.fit(scores, y, sensitive_features=group)
        curve = model.tradeoff(lams=[0.1, 0.5, 1.0])
        for place, value in enumerate(curve.lam.tolist()):
            moved = model.at(value).transform(scores, sensitive_features=group)
            xauc, widest = counted((y, moved, group))
            point = curve.point(place)
            assert point.gap == pytest.approx(widest, abs=1e-12)
            assert point.xauc_ab == pytest.approx(xauc[point.pair], abs=1e-12)
            assert point.xauc_ba == pytest.approx(xauc[point.pair[::-1]], abs=1e-12)
            assert point.signed_gap == pytest.approx(point.xauc_ab - point.xauc_ba)
            assert point.pair[0] == reference or (reference not in point.pair and point.signed_gap >= 0)


def test_the_reference_that_is_ranked_higher_is_above_zero():
    """Whatever the alphabet says: the last of the names is ranked higher, and the gap starts above 0."""
    scores, y, group = draw(0)
    scores = scores + 2.0 * (group == "senior")
    for model in (FairPOT(0.5), WassersteinRepair(0.5)):
        curve = model.fit(scores, y, sensitive_features=group).tradeoff()
        assert curve.reference == "senior"
        assert curve.pairs[0][0] == "senior"
        assert curve.signed_gap[0] > 0.3
        assert "senior than" in curve._repr_html_()
        frame = curve.frame()
        assert frame["first"].tolist() == [pair[0] for pair in curve.pairs]
        assert frame["second"].tolist() == [pair[1] for pair in curve.pairs]
    lowest = FairPOT(0.0, reference="adult").fit(scores, y, sensitive_features=group).tradeoff(lams=[0])
    assert lowest.pairs[0] == ("adult", "senior") or "adult" not in lowest.pairs[0]
    assert (lowest.signed_gap[0] < 0) == (lowest.pairs[0][0] == "adult")


def test_a_picture_of_many_groups_has_no_sign_and_says_so():
    scores, y, group = draw(1)
    for reference in NAMES:
        curve = FairPOT(0.5, reference=reference).fit(scores, y, sensitive_features=group).tradeoff()
        axes = curve.plot()
        assert axes.get_xlabel() == "xAUC gap, the largest of any two groups"
        assert axes.get_xlim()[0] >= -0.1
        labels = axes.get_legend_handles_labels()[1]
        assert "101 values of lam" in labels
        assert not any(label.startswith("every") for label in labels)
        assert set(curve.frame().columns) >= {"first", "second"}


def test_two_groups_keep_their_sign_and_no_pairs():
    scores, y, group = draw(2)
    two = np.isin(group, ["adult", "senior"])
    curve = FairPOT(0.5, reference="senior").fit(scores[two], y[two], sensitive_features=group[two]).tradeoff()
    assert curve.pairs is None
    assert curve.point(0).pair == ("senior", "adult")
    assert "first" not in curve.frame().columns
    axes = curve.plot()
    assert "above 0: senior" in axes.get_xlabel()
    assert "every lam" in axes.get_legend_handles_labels()[1]


@pytest.mark.parametrize("repair", ["all", "top"])
def test_a_curve_of_the_top_says_so_of_its_gap_and_has_the_auc_of_all_rows(repair):
    scores, y, group = draw(3)
    two = np.isin(group, ["adult", "senior"])
    for rows in ((scores, y, group), (scores[two], y[two], group[two])):
        fair = FairPOT(0.5, top=0.5, top_of="group", repair=repair).fit(*rows[:2], sensitive_features=rows[2])
        for curve in (fair.tradeoff(), fair.tradeoff(lams=[0, 0.5])):
            assert curve.top == 0.5
            assert curve.at(0).auc == pytest.approx(oracles.auc(rows[1], rows[0], half=True), abs=1e-12)
            assert "gap in the top 50%" in repr(curve)
            assert "<th scope='col'>gap in the top 50%</th>" in curve._repr_html_()
            axes = curve.plot()
            assert axes.get_ylabel() == "AUC"
            assert axes.get_xlabel().startswith("xAUC gap in the top 50%")
        moved = fair.transform(rows[0], sensitive_features=rows[2])
        assert curve.at(0.5).auc == pytest.approx(oracles.auc(rows[1], moved, half=True), abs=1e-12)
    assert "top" not in repr(FairPOT(0.5).fit(scores, y, sensitive_features=group).tradeoff())
