"""OptimalMerge: it reaches the limit on the fitted rows, holds up on new ones, and has an estimator's manners."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from fairpot import FairPOT
from fairpot.exceptions import InfeasibleRuleError, ScaleWarning, UnseenGroupError
from fairpot.methods.optimal_merge import OptimalMerge
from fairpot.metrics import auc, xauc_gap
from fairpot.repair.groups import in_rows
from fairpot.table import ScoreTable
from fairpot.tradeoff.limit import auc_limit
from oracles import distance_to_limit


def draw(n, seed, groups=("a", "b"), probability=True):
    """Draw rows whose scores are miscalibrated by group: too high for the first, too flat for the others."""
    rng = np.random.default_rng(seed)
    group = rng.choice(list(groups), n)
    ahead = group == groups[0]
    risk = rng.normal(size=n) + 0.7 * ahead
    y = (rng.random(n) < 1 / (1 + np.exp(1.5 - 1.5 * risk))).astype(int)
    score = np.where(ahead, 1.2 * risk, 0.6 * risk - 0.8) - 1
    return (1 / (1 + np.exp(-score)) if probability else score), y, group


@pytest.fixture(scope="module")
def rows():
    return draw(3000, 0)


def fitted(rows, **parameters):
    scores, y, group = rows
    return OptimalMerge(**parameters).fit(scores, y, sensitive_features=group)


@pytest.mark.parametrize(("probability", "ties"), [(True, "strict"), (False, "half")])
def test_maps_keep_the_order_and_never_cross_the_limit(probability, ties):
    scores, y, group = draw(1500, 3, probability=probability)
    om = fitted((scores, y, group), ties=ties)
    limit = auc_limit(y, scores, sensitive_features=group, ties=ties)
    assert distance_to_limit(om.tradeoff(), limit, corrected=False).min() > -1e-12
    for theta in (0.1, 1.0, 7.0):
        move = om.at(theta).maps_["b"]
        assert move.is_monotone
        assert (np.diff(move.values) > 0).all()
    new = om.transform(scores, sensitive_features=group)
    assert np.array_equal(new[group == "a"], scores[group == "a"])
    if probability:
        assert new.min() > 0
        assert new.max() < 1


def test_a_larger_theta_lifts_the_group(rows):
    om = fitted(rows)
    curve = om.tradeoff()
    assert (np.diff(curve.lam) > 0).all()
    assert (np.diff(curve.signed_gap) <= 1e-12).all()
    values = [om.at(theta).maps_["b"].values for theta in (0.5, 1.0, 2.0)]
    assert (np.diff(values, axis=0) >= 0).all()


def test_theta_one_repairs_miscalibration(rows):
    """Scores that are wrong in one group only: AUC on new rows rises."""
    om = fitted(rows, theta=1.0)
    scores, y, group = draw(8000, 1)
    new = om.transform(scores, sensitive_features=group)
    assert auc(y, new) > auc(y, scores) + 0.01
    curve = om.tradeoff(scores, y, sensitive_features=group)
    assert abs(np.log(curve.lam[np.argmax(curve.auc)])) < 0.3


def test_the_line_recovers_the_true_odds(rows):
    """The scores are straight in the log-odds, so a score of b becomes a's score of the same risk."""
    om = fitted(draw(30000, 2), theta=1.0)
    risk = np.array([-1.0, 0.0, 1.0])
    b, a = (1 / (1 + np.exp(1 - line)) for line in (0.6 * risk - 0.8, 1.2 * risk))
    assert_allclose(om.transform(b, sensitive_features=["b"] * 3), a, atol=0.02)


def test_new_rows_are_better_served_than_by_fairpot(rows):
    scores, y, group = rows
    held_out = draw(8000, 4)
    columns = {"sensitive_features": held_out[2]}
    ours = fitted(rows).tradeoff(*held_out[:2], **columns)
    other = FairPOT().fit(scores, y, sensitive_features=group).tradeoff(*held_out[:2], **columns)
    for max_gap in (0.02, 0.05, 0.1):
        assert ours.select(max_gap=max_gap).auc > other.select(max_gap=max_gap).auc


def test_rules(rows):
    rows = scores, y, group = [column[:1500] for column in rows]
    before = auc(y, scores)

    def outcome(**rule):
        new = fitted(rows, **rule).transform(scores, sensitive_features=group)
        return xauc_gap(y, new, sensitive_features=group), auc(y, new)

    smallest = outcome()
    assert smallest[0] < 1e-3
    gaps, aucs = zip(*(outcome(max_gap=max_gap) for max_gap in (0.001, 0.02, 0.05)))
    assert all(gap <= bound for gap, bound in zip(gaps, (0.001, 0.02, 0.05)))
    assert aucs[0] < aucs[1] < aucs[2]
    assert gaps[2] > 0.049  # the allowed gap is used
    gap, after = outcome(max_auc_loss=0.0)
    assert after >= before
    assert gap >= smallest[0]
    assert outcome(max_gap=0.05, max_auc_loss=0.01)[0] <= 0.05


def test_a_tight_loss_is_used_up():
    """With calibrated scores fairness costs AUC: the rule spends what it may, and no more."""
    rng = np.random.default_rng(7)
    group = rng.choice(["a", "b"], 3000)
    scores = 1 / (1 + np.exp(1.5 - 1.5 * rng.normal(size=3000) - (group == "a")))
    y = (rng.random(3000) < scores).astype(int)
    free = auc(y, scores) - auc(y, fitted((scores, y, group)).transform(scores, sensitive_features=group))
    om = fitted((scores, y, group), max_auc_loss=free / 2)
    spent = auc(y, scores) - auc(y, om.transform(scores, sensitive_features=group))
    assert 0.9 * free / 2 < spent <= free / 2


def test_a_rule_out_of_reach(rows):
    scores, y, group = rows
    weight = np.random.default_rng(0).random(len(y)) + 0.5  # no two sums agree to the last bit
    with pytest.raises(InfeasibleRuleError, match="max_gap=0"):
        OptimalMerge(max_gap=0.0).fit(scores, y, sensitive_features=group, sample_weight=weight)


def test_more_than_two_groups():
    scores, y, group = draw(2000, 5, groups=("a", "b", "c"))
    om = fitted((scores, y, group))
    assert om.reference_ == "a"
    assert set(om.strengths_) == {"b", "c"}
    with pytest.raises(AttributeError, match="a theta each"):
        _ = om.theta_
    new = om.transform(scores, sensitive_features=group)
    assert xauc_gap(y, new, sensitive_features=group) < 0.03 < xauc_gap(y, scores, sensitive_features=group)
    given = fitted((scores, y, group), theta=2.0)
    assert len(given.tradeoff(lams=[0.5, 1.0, 2.0])) == 3
    assert given.theta_ == 2.0
    assert given.strengths_ == {"b": 2.0, "c": 2.0}


def test_the_reference_can_be_named(rows):
    scores, _, group = rows
    om = fitted(rows, theta=1.0, reference="b")
    new = om.transform(scores, sensitive_features=group)
    assert np.array_equal(new[group == "b"], scores[group == "b"])
    # Which group stays does not change who is above whom: theta of one is 1 / theta of the other.
    one, other = fitted(rows).tradeoff(lams=[0.5, 2.0]), om.tradeoff(lams=[0.5, 2.0])
    assert_allclose(one.auc, other.auc[::-1], atol=1e-3)
    assert_allclose(one.signed_gap, -other.signed_gap[::-1], atol=2e-3)


def test_awkward_scores():
    """Certainties, few distinct scores, a single score, perfect and reversed separation."""
    y = np.array([0, 1, 0, 1, 1, 0, 1, 0])
    group = np.array(list("aaaabbbb"))
    for scores in (
        np.array([0, 1, 0, 1, 1, 0, 0, 1.0]),
        np.array([0, 0.5, 0, 1, 1, 0.5, 0, 0.5]),
        np.full(8, 0.3),
        y * 1.0,
        1.0 - y,
        np.array([1, 2, 3, 4, 5, 6, 7, 8]) * 1e6,
    ):
        om = OptimalMerge().fit(scores, y, sensitive_features=group)
        assert om.maps_["b"].is_monotone
        assert np.isfinite(om.transform(scores, sensitive_features=group)).all()


def test_small_weights_do_not_stiffen_the_line(rows):
    scores, y, group = rows
    whole = fitted(rows, theta=1.0)
    shares = OptimalMerge(1.0).fit(scores, y, sensitive_features=group, sample_weight=np.full(len(y), 1 / len(y)))
    assert_allclose(*(om.transform(scores, sensitive_features=group) for om in (whole, shares)), rtol=0, atol=1e-5)


def test_only_the_proportions_of_weights_matter(rows):
    scores, y, group = (column[:600] for column in rows)
    rng = np.random.default_rng(0)
    for weight in (rng.integers(1, 4, len(y)), rng.random(len(y)) + 0.2):
        fits = [
            OptimalMerge().fit(scores, y, sensitive_features=group, sample_weight=weight * factor)
            for factor in (1, 1e-6, 0.1, 3, 1000)
        ]
        for fit in fits[1:]:
            moved = (om.transform(scores, sensitive_features=group) for om in (fits[0], fit))
            assert_allclose(*moved, rtol=0, atol=1e-12)


def test_counts_in_rows():
    """A common factor is divided out, plain counts stay, and rows of broken weight are worth what Kish gives them."""
    rng = np.random.default_rng(1)
    y, scores = rng.integers(0, 2, 400).astype(np.int8), rng.integers(0, 50, 400) / 50
    plain = ScoreTable.from_rows(scores, y)
    assert in_rows(plain) is plain
    for factor in (7, 0.1, 1 / 3, 1e-20, 1e20):
        again = in_rows(ScoreTable.from_rows(scores, y, weight=np.full(400, factor)))["all"]
        assert again.positive.tolist() == plain["all"].positive.tolist()
        assert again.positive.dtype == np.int64
    distinct = np.sort(rng.random(400))
    weight = rng.random(400)
    broken = in_rows(ScoreTable.from_rows(distinct, y, weight=weight))["all"]
    assert broken.weight.sum() == pytest.approx(weight.sum() ** 2 / (weight**2).sum())


def test_new_scores_outside_the_range(rows):
    om = fitted(rows, theta=2.0)
    new = om.transform([0.0, 1e-9, 1 - 1e-9, 1.0], sensitive_features=["b"] * 4)
    assert new[[0, 3]].tolist() == [0.0, 1.0]
    assert (np.diff(new) > 0).all()
    plain = fitted(draw(500, 0, probability=False), theta=2.0)
    with pytest.warns(ScaleWarning, match="far outside the fitted range"):
        far = plain.transform([-8.0, -7.0, 7.0, 8.0], sensitive_features=["b"] * 4, other_scale="warn")
    assert (np.diff(far) >= 0).all()


def test_estimator_manners(rows):
    scores, y, group = rows
    om = OptimalMerge(max_gap=0.05)
    assert clone(om).get_params() == om.get_params()
    with pytest.raises(NotFittedError):
        om.transform(scores, sensitive_features=group)
    om.fit(scores, y, sensitive_features=group)
    again = pickle.loads(pickle.dumps(om))
    assert again.maps_ == om.maps_
    assert om.max_gap == 0.05
    series = pd.Series(scores, name="risk", index=np.arange(len(y)) + 7)
    new = om.transform(series, sensitive_features=pd.Series(group))
    assert new.name == "risk"
    assert (new.index == series.index).all()
    named = OptimalMerge(max_gap=0.05)
    named.fit(scores, np.where(y == 1, "yes", "no"), sensitive_features=group, pos_label="yes")
    assert named.maps_ == om.maps_


def test_curve_names_its_dial(rows):
    scores, y, group = rows
    om = fitted(rows)
    curve = om.tradeoff(scores, y, sensitive_features=group)
    assert 1.0 in curve.lam
    assert curve.moved == ("b",)
    assert curve.reference == om.reference_
    assert curve.select().gap >= om.tradeoff(lams=[om.theta_]).gap[0]
    half, strict = (om.tradeoff(lams=[1.0], ties=ties).auc[0] for ties in ("half", "strict"))
    assert half >= strict
    assert half == om.tradeoff(lams=[1.0]).auc[0]
    assert curve.dial == "theta"


def test_errors(rows):
    scores, y, group = rows

    def fit(y=y, scores=scores, **parameters):
        return OptimalMerge(**parameters).fit(scores, y, sensitive_features=group)

    with pytest.raises(ValueError, match="needs y"):
        fit(y=None)
    with pytest.raises(ValueError, match="y has no rows without the outcome"):
        fit(y=np.ones(len(y)))
    with pytest.raises(ValueError, match="group 'b' has no rows with the outcome"):
        fit(y=np.where(group == "b", 0, y))
    with pytest.raises(ValueError, match="theta must be finite and above 0"):
        fit(theta=0.0)
    with pytest.raises(TypeError, match="theta must be a number"):
        fit(theta="big")
    with pytest.raises(TypeError, match="theta must be a number"):
        fit(theta={"b": 1.0})
    with pytest.raises(ValueError, match="rule for choosing theta"):
        fit(theta=1.0, max_gap=0.1)
    with pytest.raises(ValueError, match="reference='z'"):
        fit(reference="z")
    with pytest.raises(ValueError, match="max_gap"):
        fit(max_gap=2.0)
    om = fit()
    with pytest.raises(UnseenGroupError, match="not seen in fit"):
        om.transform([0.5], sensitive_features=["z"])
    with pytest.raises(TypeError, match="y is missing"):
        om.tradeoff(scores, sensitive_features=group)
    with pytest.raises(ValueError, match="lams is empty"):
        om.tradeoff(lams=[])
    with pytest.raises(TypeError, match="lams must be a list of numbers, got dict"):
        om.tradeoff(lams={"b": [1.0]})


def test_scores_of_all_sizes_fit_or_are_told_to_be_too_far_apart():
    rng = np.random.default_rng(17)
    y, group = rng.integers(0, 2, 500), rng.choice(["x", "y"], 500)
    power = rng.normal(60 * y + 40 * (group == "x"), 60)
    model = OptimalMerge(1.0)
    for reach in (1, 100):  # up to about 1e140
        scores = 10.0 ** np.clip(power / 120 * reach, -140, 140)
        moved = model.fit(scores, y, sensitive_features=group).transform(scores, sensitive_features=group)
        assert np.isfinite(moved).all()
    for scores in (10.0 ** np.clip(power * 2, -299, 299), -(10.0 ** np.clip(power * 2, -299, 299))):
        with pytest.raises(ValueError, match=r"scores from \S+ to \S+ lie too far apart(.|\n)*Hint: rank them"):
            model.fit(scores, y, sensitive_features=group)
