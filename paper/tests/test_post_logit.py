"""PostLogit against a search over the rows and scikit-learn's areas; how near its map is to the sigmoid; bad input."""

import itertools
import math

import numpy as np
import pytest
from scipy.special import expit
from sklearn.metrics import roc_auc_score

import oracles
from fairpot.exceptions import FairpotWarning
from fairpot.metrics import xauc_gap
from fairpot.transport import ScoreMap
from fairpot_paper import PostLogit

GRID = [k / 10 for k in range(100)]


def small(seed, groups=("a", "b"), rows=40):
    rng = np.random.default_rng(seed)
    group = np.r_[np.repeat(groups, 4), rng.choice(groups, rows)]
    y = np.r_[np.tile([0, 0, 1, 1], len(groups)), rng.integers(0, 2, rows)]
    scores = expit(rng.normal(size=len(y)) + y + (group == groups[0]) * 0.8)
    return scores.round(2), y, group


def brute_force(scores, y, group, reference, half):
    """Try every slope on the rows; of equals the smallest."""
    [moved] = set(group) - {reference}
    gaps = []
    for slope in GRID:
        s = np.array([1 / (1 + math.exp(2 - slope * v)) if g == moved else v for v, g in zip(scores, group)])
        ab = oracles.xauc(y, s, group, reference, moved, half=half)
        gaps.append(abs(ab - oracles.xauc(y, s, group, moved, reference, half=half)))
    return GRID[int(np.argmin(gaps))], min(gaps)


@pytest.mark.parametrize("ties", ["strict", "half"])
@pytest.mark.parametrize("seed", range(4))
def test_finds_the_slope_of_a_search_over_the_rows(seed, ties):
    scores, y, group = small(seed)
    fitted = PostLogit(ties=ties).fit(scores, y, sensitive_features=group)
    assert fitted.reference_ == "a"
    slope, gap = brute_force(scores, y, group, "a", ties == "half")
    assert fitted.slope_ == fitted.strengths_["b"] == slope
    assert fitted.tradeoff().at(slope).gap == pytest.approx(gap, abs=1e-12)


@pytest.mark.parametrize("data", ["bank_scores", "compas_scores"])
def test_finds_the_slope_of_scikit_learn_on_real_scores(data, request):
    scores, y, group = request.getfixturevalue(data)
    grid = [k / 2 for k in range(1, 20, 2)]
    fitted = PostLogit(grid=grid, ties="half").fit(scores, y, sensitive_features=group)
    a, [b] = fitted.reference_, set(group) - {fitted.reference_}

    def gap(slope):
        s = np.where(group == b, 1 / (1 + np.exp(2 - slope * scores)), scores)
        sides = []
        for positive, negative in ((a, b), (b, a)):
            rows = np.where(y == 1, group == positive, group == negative)
            sides.append(roc_auc_score(y[rows], s[rows]))
        return sides[0] - sides[1]

    gaps = np.array([gap(slope) for slope in grid])
    assert fitted.slope_ == grid[int(np.argmin(np.abs(gaps)))]
    curve = fitted.tradeoff()
    np.testing.assert_allclose(curve.signed_gap, gaps, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(curve.lam, grid)


def test_new_scores_are_within_4e_5_of_the_sigmoid_and_fitted_ones_on_it():
    scores, y, group = small(1)
    fitted = PostLogit(slope=9.9, reference="a").fit(scores, y, sensitive_features=group)
    new = np.random.default_rng(0).random(5001)
    moved = fitted.transform(new, sensitive_features=np.repeat("b", 5001))
    np.testing.assert_allclose(moved, expit(9.9 * new - 2), rtol=0, atol=4e-5)
    np.testing.assert_array_equal(fitted.transform(new, sensitive_features=np.repeat("a", 5001)), new)
    known = scores[group == "b"]
    again = fitted.transform(known, sensitive_features=["b"] * len(known))
    np.testing.assert_allclose(again, expit(9.9 * known - 2), rtol=0, atol=1e-15)


def test_the_exported_map_agrees_at_the_fitted_scores():
    scores, y, group = small(2)
    fitted = PostLogit().fit(scores, y, sensitive_features=group)
    exported = ScoreMap(**fitted.maps_["b"].to_dict())
    known = np.unique(scores[group == "b"])
    np.testing.assert_array_equal(exported(known), fitted.transform(known, sensitive_features=["b"] * len(known)))
    assert fitted.maps_["a"].is_identity
    assert fitted.maps_["b"].is_monotone


def test_slope_zero_makes_all_equal():
    scores, y, group = small(3)
    with pytest.warns(FairpotWarning, match="makes all scores of a group equal"):
        flat = PostLogit(slope=0).fit(scores, y, sensitive_features=group)
    moved = flat.transform(scores, sensitive_features=group)
    assert set(moved[group == "b"]) == {expit(-2.0)}
    assert expit(-2.0) == pytest.approx(0.1192, abs=1e-4)


def test_by_hand_needs_no_outcomes():
    scores, _, group = small(4)
    fitted = PostLogit(slope=2.0, beta=-1, reference="b").fit(scores, sensitive_features=group)
    np.testing.assert_array_equal(
        fitted.transform(scores, sensitive_features=group), np.where(group == "a", expit(2 * scores - 1), scores)
    )


@pytest.mark.parametrize("ties", ["strict", "half"])
def test_every_group_has_its_own_slope(ties):
    """Of every combination of a coarse grid, the one with the smallest largest gap."""
    scores, y, group = small(5, ("a", "b", "c"), rows=90)
    grid = [0.5, 1.5, 2.0, 3.0, 5.0, 8.0]
    fitted = PostLogit(reference="a", ties=ties, grid=grid).fit(scores, y, sensitive_features=group)
    found = {}
    for each in itertools.product(grid, repeat=2):
        slope = np.select([group == "b", group == "c"], each, np.nan)
        s = np.where(group == "a", scores, expit(slope * scores - 2))
        found[each] = xauc_gap(y, s, sensitive_features=group, ties=ties)
    assert fitted.achieved_.gap == pytest.approx(min(found.values()), abs=1e-12)
    assert found[fitted.strengths_["b"], fitted.strengths_["c"]] == pytest.approx(fitted.achieved_.gap, abs=1e-12)
    with pytest.raises(AttributeError, match=r"the groups have a slope each(.|\n)*Hint: strengths_ has them"):
        _ = fitted.slope_
    assert fitted.tradeoff().moved == ("b", "c")


@pytest.mark.parametrize("ties", ["strict", "half"])
def test_tradeoff_on_held_out_rows_equals_metrics_of_transformed_rows(ties):
    half = ties == "half"
    scores, y, group = small(7, rows=120)
    train, test = slice(None, 64), slice(64, None)
    fitted = PostLogit(ties=ties).fit(scores[train], y[train], sensitive_features=group[train])
    curve = fitted.tradeoff(scores[test], y[test], sensitive_features=group[test], lams=[0, 2.5])
    for point, slope in enumerate((0, 2.5)):
        s = np.where(group == "b", expit(slope * scores - 2), scores)[test]
        ab, ba = (oracles.xauc(y[test], s, group[test], *pair, half=half) for pair in ("ab", "ba"))
        found = (curve.auc[point], curve.xauc_ab[point], curve.xauc_ba[point])
        assert found == pytest.approx((oracles.auc(y[test], s, half=half), ab, ba), abs=1e-12)
    assert curve.unrepaired_auc == pytest.approx(oracles.auc(y[test], scores[test], half=half), abs=1e-12)
    with pytest.raises(ValueError, match=r"slope=1.7 is not on this grid"):
        curve.at(1.7)


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"slope": -1}, "slope must be finite and at least 0"),
        ({"slope": float("inf")}, "slope must be finite"),
        ({"beta": None}, "beta must be a finite number"),
        ({"grid": []}, "grid is empty"),
        ({"reference": "z"}, "not among the groups"),
        ({"ties": "no"}, "ties must be one of"),
    ],
)
def test_wrong_parameters(params, match):
    scores, y, group = small(0)
    with pytest.raises(ValueError, match=match):
        PostLogit(**params).fit(scores, y, sensitive_features=group)


def test_wrong_rows():
    scores, y, group = small(0)
    with pytest.raises(ValueError, match="y is missing: slope is chosen by its effect on outcomes"):
        PostLogit().fit(scores, sensitive_features=group)
    with pytest.raises(ValueError, match="reference="):
        PostLogit(slope=1).fit(scores, sensitive_features=group)
    with pytest.raises(ValueError, match=r"needs scores in \[0, 1\]"):
        PostLogit().fit(scores * 10, y, sensitive_features=group)
    with pytest.raises(ValueError, match="y has no rows with the outcome"):
        PostLogit().fit(scores, y * 0, sensitive_features=group)
    with pytest.raises(ValueError, match="group 'b' has no rows without the outcome"):
        PostLogit().fit(scores, np.where(group == "b", 1, y), sensitive_features=group)
    fitted = PostLogit().fit(scores, y, sensitive_features=group)
    with pytest.raises(TypeError, match="y is missing"):
        fitted.tradeoff(scores, sensitive_features=group)
