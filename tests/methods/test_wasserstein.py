"""WassersteinRepair against an exact integral and the POT library; weights, order, edges, wrong input."""

import itertools
from fractions import Fraction

import numpy as np
import ot
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import oracles
from fairpot.exceptions import ScaleWarning, UnseenGroupError
from fairpot.methods import WassersteinRepair


def brute_force(rows_by_group, t):
    """Integrate the barycentre's quantile function over the mass of each score, in exact fractions."""
    groups = {g: sorted(rows) for g, rows in rows_by_group.items()}
    total = sum(len(rows) for rows in groups.values())
    bends = sorted({Fraction(i, len(rows)) for rows in groups.values() for i in range(len(rows) + 1)})

    def quantile(u):
        weighted = (len(rows) * Fraction(rows[int(u * len(rows))]) for rows in groups.values())
        return sum(weighted) / total

    def value(g, score):
        below, upto = sum(s < score for s in groups[g]), sum(s <= score for s in groups[g])
        low, high = Fraction(below, len(groups[g])), Fraction(upto, len(groups[g]))
        cells = [(u, v) for u, v in itertools.pairwise(bends) if low <= u and v <= high]
        mean = sum((v - u) * quantile(u) for u, v in cells) / (high - low)
        return float((1 - Fraction(t)) * Fraction(score) + Fraction(t) * mean)

    return {g: {s: value(g, s) for s in set(rows)} for g, rows in groups.items()}


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.lists(st.integers(0, 8).map(lambda v: v / 8), min_size=1, max_size=7), min_size=2, max_size=4),
    st.sampled_from([0.0, 0.25, 0.3, 1.0]),
)
def test_equals_the_exact_integral_for_any_number_of_groups(parts, t):
    scores = np.concatenate(parts)
    groups = np.repeat(np.arange(len(parts)), [len(p) for p in parts])
    moved = WassersteinRepair(t=t).fit_transform(scores, sensitive_features=groups)
    expected = brute_force(dict(enumerate(parts)), t)
    np.testing.assert_allclose(moved, [expected[g][s] for g, s in zip(groups, scores)], rtol=0, atol=1e-15)


@pytest.mark.parametrize("data", ["bank_scores", "compas_scores"])
def test_equals_pot_on_real_scores(data, request):
    scores, _, group = request.getfixturevalue(data)
    moved = WassersteinRepair(t=1).fit_transform(scores, sensitive_features=group)
    names, sizes = np.unique(group, return_counts=True)
    parts = {g: np.sort(scores[group == g]) for g in names}
    for g in names:
        mean = np.zeros(len(parts[g]))
        for h, size in zip(names, sizes):
            plan = ot.emd_1d(parts[g], parts[h], dense=False)
            mean += size / len(scores) * (plan @ parts[h]) * len(parts[g])
        place = np.unique(parts[g], return_inverse=True)[1]
        by_score = np.bincount(place, mean) / np.bincount(place)
        found = moved[group == g][np.argsort(scores[group == g], kind="stable")]
        np.testing.assert_allclose(found, by_score[place], rtol=0, atol=1e-12)


def test_groups_of_equal_size_become_equal_bit_for_bit():
    rng = np.random.default_rng(3)
    scores, group = rng.random(3000), np.repeat(["a", "b", "c"], 1000)
    moved = WassersteinRepair(t=1).fit_transform(scores, sensitive_features=group)
    a, b, c = (np.sort(moved[group == g]) for g in "abc")
    np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(a, c)


def test_the_distance_between_groups_shrinks_along_a_straight_line():
    rng = np.random.default_rng(4)
    scores, group = rng.random(400), np.repeat(["a", "b"], 200)
    scores[200:] **= 2

    def distance(s):
        return np.sqrt(np.mean((np.sort(s[:200]) - np.sort(s[200:])) ** 2))

    for t in (0.2, 0.5, 0.9):
        moved = WassersteinRepair(t=t).fit_transform(scores, sensitive_features=group)
        assert distance(moved) == pytest.approx((1 - t) * distance(scores), rel=1e-12)


def test_zero_is_the_identity_everywhere():
    fitted = WassersteinRepair(t=0).fit([0.2, 0.4, 0.3], sensitive_features=["a", "a", "b"])
    new = np.array([-1.0, 0.123, 7.0])
    with pytest.warns(ScaleWarning, match="2 of 3 scores lie far outside"):
        np.testing.assert_array_equal(fitted.transform(new, sensitive_features=["a", "b", "b"]), new)


def test_groups_alike_stay_as_they_are_at_every_t():
    part = np.random.default_rng(0).random(200)
    scores, group = np.tile(part, 2), np.repeat([0, 1], 200)
    for t in (0.1, 0.7, 1.0):
        np.testing.assert_array_equal(WassersteinRepair(t).fit_transform(scores, sensitive_features=group), scores)


def test_row_order_does_not_matter_and_ties_stay_ties(compas_scores):
    scores, _, group = compas_scores
    scores = scores.round(2)
    moved = WassersteinRepair(t=0.7).fit_transform(scores, sensitive_features=group)
    order = np.random.default_rng(1).permutation(len(scores))
    again = WassersteinRepair(t=0.7).fit_transform(scores[order], sensitive_features=group[order])
    np.testing.assert_array_equal(moved[order], again)
    for g in np.unique(group):
        pairs = np.unique(np.column_stack((scores, moved))[group == g], axis=0)
        assert len(pairs) == len(np.unique(scores[group == g]))
        assert (np.diff(pairs[:, 1]) >= 0).all()


def test_new_scores_are_interpolated_and_edges_hold():
    fitted = WassersteinRepair(t=1).fit([0.9, 0.7, 0.5, 0.3], sensitive_features=["M", "M", "F", "F"])
    new = fitted.transform([0.95, 0.8, 0.1, 0.4], sensitive_features=["M", "M", "F", "F"])
    np.testing.assert_allclose(new, [0.7, 0.6, 0.5, 0.6], rtol=0, atol=1e-15)


def vector_auc(y, s, *, half):
    positive, negative = s[y == 1][:, None], s[y == 0][None, :]
    return np.mean(positive > negative) + half * np.mean(positive == negative) / 2


def test_tradeoff_equals_metrics_of_transformed_rows(compas_scores):
    train, test = (compas_scores.take(slice(k, None, 9)) for k in (0, 1))
    fitted = WassersteinRepair(t=1).fit(train.scores, train.y, sensitive_features=train.group)
    curve = fitted.tradeoff(*test[:2], sensitive_features=test.group, lams=[0, 0.3, 1], ties="half")
    assert curve.signed_gap[0] >= 0
    for point, t in enumerate(curve.lam):
        moved = clone(fitted).set_params(t=t).fit(train.scores, sensitive_features=train.group)
        s = moved.transform(test.scores, sensitive_features=test.group)
        ab = oracles.xauc(test.y, s, test.group, curve.reference, curve.moved[0], half=True)
        ba = oracles.xauc(test.y, s, test.group, curve.moved[0], curve.reference, half=True)
        found = (curve.auc[point], curve.xauc_ab[point], curve.xauc_ba[point])
        assert found == pytest.approx((oracles.auc(test.y, s, half=True), ab, ba), abs=1e-12)
    assert curve.at(0.3).lam == 0.3
    assert curve.select(max_auc_loss=1.0).gap == curve.gap.min()


def test_default_curve_has_a_hundred_and_one_points_and_uses_the_fitted_rows(compas_scores):
    scores, y, group = compas_scores
    fitted = WassersteinRepair(t=1).fit(scores, y, sensitive_features=group)
    curve = fitted.tradeoff()
    assert len(curve) == 101
    assert (curve.lam[0], curve.lam[-1]) == (0, 1)
    assert curve.gap[-1] < curve.gap[0]
    with pytest.raises(ValueError, match="fitted without y"):
        WassersteinRepair(t=1).fit(scores, sensitive_features=group).tradeoff()


@pytest.mark.parametrize("ties", ["strict", "half"])
def test_a_loss_is_measured_from_the_scores_as_they_came(compas_scores, ties):
    scores, y, group = compas_scores
    curve = WassersteinRepair(ties=ties).fit(scores, y, sensitive_features=group).tradeoff(lams=[0.5, 1])
    assert curve.unrepaired_auc == pytest.approx(vector_auc(y, scores, half=ties == "half"), abs=1e-12)
    assert curve.select(max_auc_loss=0.5).lam in (0.5, 1.0)


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"t": 1.5}, r"t must be finite and in \[0, 1\]"),
        ({"t": float("nan")}, "t must"),
    ],
)
def test_wrong_parameters(params, match):
    with pytest.raises(ValueError, match=match):
        WassersteinRepair(**params).fit([0.1, 0.2], sensitive_features=["a", "b"])


def test_wrong_rows():
    fitted = WassersteinRepair(t=1).fit([0.1, 0.2, 0.3], sensitive_features=["a", "b", "c"])
    with pytest.raises(UnseenGroupError, match="'d'"):
        fitted.transform([0.1], sensitive_features=["d"])
    with pytest.raises(TypeError, match="y is missing"):
        fitted.tradeoff([0.1, 0.2], sensitive_features=["a", "b"])
    with pytest.raises(ValueError, match="single group"):
        WassersteinRepair(t=1).fit([0.1, 0.2], sensitive_features=["a", "a"])
    with pytest.raises(TypeError, match="lams must be a number"):
        fitted.tradeoff([0.1, 0.2], [0, 1], sensitive_features=["a", "b"], lams=["x"])
