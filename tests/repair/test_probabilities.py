"""Scores that stay probabilities: one common map after the repair, and not a single rank changes."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit, logit
from scipy.stats import rankdata
from sklearn.calibration import calibration_curve
from sklearn.linear_model import LogisticRegression, RidgeClassifier

import fairpot
from fairpot import FairScoreClassifier
from fairpot.counts import GroupCounts
from fairpot.exceptions import ModelFileError
from fairpot.methods import FairPOT, LogitShift, OptimalMerge, WassersteinRepair
from fairpot.metrics.wins import WinMatrix
from fairpot.modelfile.content import checked
from fairpot.modelfile.files import dumps
from fairpot.repair.calibrating import WITHIN, common_map, fitted_curve
from fairpot.repair.registry import methods
from fairpot.repair.stored import group_words
from fairpot.table import ScoreTable

STRENGTHS = {FairPOT: 0.6, LogitShift: 0.7, OptimalMerge: 1.7, WassersteinRepair: 0.8}
METHODS = {kind: {kind.dial.name: STRENGTHS.get(kind, 0.5)} for kind in methods().values()}


def people(n=4000, seed=0, steep=1.7):
    """Draw rows of two groups with different rates; scores are too steep, and their true risks known."""
    rng = np.random.default_rng(seed)
    group = np.where(rng.random(n) < 0.25, "b", "a")
    truth = rng.normal(size=n) * 1.2 + np.where(group == "b", -2.0, -0.8)
    y = (rng.random(n) < expit(truth)).astype(int)
    return expit(steep * truth + 0.3), y, group


# Scores where rounding bites: 0 and 1, neighbours of each other, denormal ones, and those nearest to 1.
ODD = [
    0.0,
    1.0,
    0.5,
    math.nextafter(0.5, 1),
    math.nextafter(0.5, 0),
    1 - 2**-53,
    1 - 2**-52,
    5e-324,
    1e-310,
    1e-16,
    0.3,
]
ODD += [0.1 + 0.2, *np.nextafter(0.9, 1, dtype=float) + np.arange(4) * 2**-53]


@st.composite
def tables(draw):
    """Draw small tables of both directions, probabilities or not."""
    wide = draw(st.booleans())
    one = st.one_of(st.sampled_from(ODD), st.floats(0, 1)) if not wide else st.floats(-1e6, 1e6)
    size = draw(st.integers(6, 24))
    scores = np.array(draw(st.lists(one, min_size=size, max_size=size)))
    seed = np.random.default_rng(draw(st.integers(0, 10**6)))
    codes, y = np.arange(size) % 2, (np.arange(size) // 2 % 2).astype(np.int8)
    lower = draw(st.booleans())
    scores = 0.0 - scores if lower else scores
    weight = seed.integers(1, 5, size)
    return ScoreTable.from_rows(scores, y, codes, ("a", "b"), weight, lower_is_riskier=lower)


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=60, deadline=None)
@given(table=tables(), method=st.sampled_from(sorted(METHODS, key=lambda m: m.__name__)))
def test_no_rank_changes_on_any_table(table, method):
    """Every win and tie of every pair of cells is the same count: AUC, xAUC and gap follow to the last bit."""
    given = {} if method is WassersteinRepair else {"reference": "a"}
    try:
        plain = method(**METHODS[method], **given).fit(table)
    except ValueError:  # a method that does not take such scores
        return
    both = method(**METHODS[method], **given, keep="probabilities").fit(table)
    before, after = table.rescored(plain.maps_), table.rescored(both.maps_)
    for ties in ("half", "strict"):
        one, other = WinMatrix.of(before, ties), WinMatrix.of(after, ties)
        assert (one.half_wins == other.half_wins).all()
        assert one.auc() == other.auc()
    sign = -1 if table.lower_is_riskier else 1
    assert all((sign * c.score >= 0).all() and (sign * c.score <= 1).all() for c in after.counts)


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.__name__)
def test_every_method_keeps_ranks_and_becomes_calibrated(method):
    scores, y, group = people(1500 if method._costly else 4000)
    plain = method(**METHODS[method]).fit(scores, y, sensitive_features=group)
    made = method(**METHODS[method], keep="probabilities").fit(scores, y, sensitive_features=group)
    r, p = (each.transform(scores, sensitive_features=group) for each in (plain, made))
    np.testing.assert_array_equal(rankdata(r), rankdata(p))
    assert abs(p.mean() - y.mean()) < WITHIN / 4
    seen, said = calibration_curve(y, p, n_bins=10, strategy="quantile")
    sizes = len(y) / 10
    assert np.all(np.abs(seen - said) < 4 * np.sqrt(said * (1 - said) / sizes) + 0.01)


def test_the_fit_is_the_optimum_of_the_stated_problem():
    """Against a loss written anew over rows and another optimiser; and without bends, against scikit-learn."""
    scores, y, _ = people(1200)
    table = ScoreTable.from_rows(scores, y.astype(np.int8))
    scale, curve = fitted_curve(table.counts[0])
    z = logit(scores)
    assert scale.probability
    np.testing.assert_allclose(curve.bends, np.quantile(z, [0.25, 0.5, 0.75]), atol=0.02)

    def linear(given):
        left, middle, right = curve.bends
        knots = np.array([-30.0, left, middle, right, 30.0])
        heights = given[0] + np.array(
            [
                given[1] * (-30 - left) + given[2] * (left - middle),
                given[2] * (left - middle),
                0.0,
                given[3] * (right - middle),
                given[3] * (right - middle) + given[4] * (30 - right),
            ]
        )
        return np.interp(z, knots, heights)

    def loss(given):
        return np.logaddexp(0, np.where(y == 1, -1, 1) * linear(given)).sum() + 2 * (np.diff(given[1:]) ** 2).sum()

    ours = np.append(curve.level, curve.slopes)
    np.testing.assert_allclose(curve(z), linear(ours), atol=1e-9)
    other = minimize(loss, np.array([-1.0, 1, 1, 1, 1]), method="SLSQP", bounds=[(None, None)] + [(0.05, 50)] * 4)
    assert loss(ours) <= other.fun + 1e-6
    few = GroupCounts(np.array([0.2, 0.4, 0.9]), np.array([10, 20, 60]), np.array([90, 30, 20]))
    _, line = fitted_curve(few)
    rows = np.repeat(few.score, 2)
    model = LogisticRegression(C=np.inf, tol=1e-12, max_iter=10000)
    model.fit(
        logit(rows)[:, None], np.tile([1, 0], 3), sample_weight=np.column_stack((few.positive, few.negative)).ravel()
    )
    np.testing.assert_allclose([line.slopes[0], line.level], [model.coef_[0, 0], model.intercept_[0]], rtol=1e-4)


def test_the_map_keeps_to_its_curve():
    scores, y, _ = people(3000)
    table = ScoreTable.from_rows(scores, y.astype(np.int8))
    made, (scale, curve) = common_map(table), fitted_curve(table.counts[0])
    x = np.linspace(scores.min(), scores.max(), 9999)
    true = expit(curve(scale.forward(x)))
    assert np.all(np.abs(made(x) - true) <= 1.05 * WITHIN * true * (1 - true))
    assert len(made.knots) < 300
    assert made([0.0, 1.0]).tolist() == [0.0, 1.0]


def test_certain_scores_move_only_where_outcomes_contradict_them():
    rng = np.random.default_rng(3)
    scores = np.concatenate((np.zeros(200), rng.random(400), np.ones(50)))
    y = np.concatenate((rng.random(200) < 0.1, rng.random(400) < scores[200:600], np.ones(50))).astype(np.int8)
    made = common_map(ScoreTable.from_rows(scores, y))
    assert 0 < made(0.0) < made(scores[200:600].min())
    assert made(1.0) == 1


def test_held_out_rows_are_calibrated_as_a_whole_and_the_smaller_group_pays():
    """What one common map can and cannot give, on rows it was not fitted on."""
    scores, y, group = people(8000)
    made = LogitShift(max_gap=0.02, keep="probabilities").fit(scores, y, sensitive_features=group)
    scores, y, group = people(8000, seed=1)
    p = made.transform(scores, sensitive_features=group)
    bias = {g: (p - y)[group == g].mean() for g in "ab"}
    share = (group == "b").mean()
    assert abs((p - y).mean()) < 4 * np.sqrt(y.var() / len(y))
    assert bias["b"] > 0.05 > 0 > bias["a"]
    assert abs(bias["b"]) > 2 * abs(bias["a"])
    assert (1 - share) * bias["a"] + share * bias["b"] == pytest.approx((p - y).mean())


@pytest.mark.parametrize("lower", [False, True])
def test_points_become_probabilities(lower, tmp_path):
    """Points of either direction; a low score that means high risk becomes the chance of no outcome."""
    scores, y, group = people(3000)
    points = np.round(100 * scores) * (-1 if lower else 1) + 300
    table = fairpot.score_table(y, points, sensitive_features=group, lower_is_riskier=lower)
    made = WassersteinRepair(0.5, keep="probabilities").fit(table)
    p = made.transform(points, sensitive_features=group)
    assert 0 < p.min() < p.max() < 1
    assert p.mean() == pytest.approx(1 - y.mean() if lower else y.mean(), abs=1e-3)
    made.save(tmp_path / "map.json")
    np.testing.assert_array_equal(fairpot.load(tmp_path / "map.json").transform(points, sensitive_features=group), p)
    row = made.fair_maps_.row_scorer()
    np.testing.assert_allclose([row(s, g) for s, g in zip(points[:200], group[:200])], p[:200], rtol=0, atol=1e-12)


def test_it_goes_through_files_and_copies(tmp_path):
    scores, y, group = people(2000)
    made = FairPOT(max_gap=0.05, keep="probabilities").fit(scores, y, sensitive_features=group)
    p = made.transform(scores, sensitive_features=group)
    made.save(tmp_path / "map.json")
    loaded = fairpot.load(tmp_path / "map.json")
    np.testing.assert_array_equal(loaded.transform(scores, sensitive_features=group), p)
    assert dumps(loaded.file_content()) == (tmp_path / "map.json").read_bytes()
    row = loaded.row_scorer()
    assert [row(s, g) for s, g in zip(scores, group)] == p.tolist()
    names = {}
    exec(loaded.to_python(), names)
    assert [names["adjusted_score"](s, g) for s, g in zip(scores[:300], group)] == p[:300].tolist()
    why = [after for _, _, after in group_words(made.fair_maps_).values()]
    assert why == ["; then made a probability by the map common to all groups"] * 2
    small = made.fair_maps_.simplify(max_error=0.01)
    worst = max(np.abs(small.maps[g](scores) - made.maps_[g](scores)).max() for g in "ab")
    assert worst <= small.error <= 0.01
    private = made.fair_maps_.private_content()
    loaded = type(loaded)._from_content(private)
    new = loaded.transform(scores, sensitive_features=group)
    assert np.abs(new - p).max() <= private.private.largest_error < 0.2  # at the jump where the moved part begins
    assert np.quantile(np.abs(new - p), 0.99) < 0.02
    assert not set(private.then.knots) & set(made.maps_["a"].then.knots[1:-1].tolist())


def test_another_value_has_a_map_of_its_own():
    scores, y, group = people(2000)
    made = FairPOT(0.2, keep="probabilities").fit(scores, y, sensitive_features=group)
    fresh = FairPOT(0.9, keep="probabilities").fit(scores, y, sensitive_features=group)
    assert made.at(0.9).maps_ == fresh.maps_
    assert made.at(0.9).maps_["a"].then != made.maps_["a"].then
    curve = made.tradeoff()
    plain = FairPOT(0.2).fit(scores, y, sensitive_features=group).tradeoff()
    np.testing.assert_array_equal(curve.auc, plain.auc)


def test_a_classifier_gives_calibrated_probabilities():
    """Also where its model has none."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(1500, 3))
    group = np.where(X[:, 0] + rng.normal(size=1500) > 0.7, "b", "a")
    y = (rng.random(1500) < expit(X[:, 1] - 1 - (group == "b"))).astype(int)
    model = FairScoreClassifier(RidgeClassifier(), LogitShift(max_gap=0.05, keep="probabilities"))
    model.fit(X, y, sensitive_features=group)
    p = model.predict_proba(X, sensitive_features=group)[:, 1]
    assert p.mean() == pytest.approx(y.mean(), abs=0.02)
    np.testing.assert_array_equal(model.predict(X, sensitive_features=group), (p >= 0.5).astype(int))
    with pytest.raises(AttributeError, match="decision_function"):
        model.decision_function(X, sensitive_features=group)


def test_outcomes_are_needed():
    with pytest.raises(ValueError, match="learns from outcomes"):
        WassersteinRepair(keep="probabilities").fit([0.1, 0.2, 0.3, 0.4], sensitive_features=list("abab"))
    with pytest.raises(ValueError, match="gives them another meaning"):
        FairPOT(max_gap=0.1, net_benefit_at=0.3, keep="probabilities").fit(
            [0.1, 0.2, 0.3, 0.4], [0, 1, 0, 1], sensitive_features=list("aabb")
        )
    with pytest.raises(ValueError, match="keep must be one of 'grid', 'probabilities'"):
        FairPOT(keep="yes").fit([0.1, 0.2, 0.3, 0.4], [0, 1, 0, 1], sensitive_features=list("aabb"))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda then: then["values"].reverse(), "then must be ascending"),
        (lambda then: then.update(above="identity"), "then must be held"),
        (lambda then: then["values"].__setitem__(-1, 7.0), "then must be a map to probabilities"),
        (lambda then: then["knots"].reverse(), "then.knots must be strictly increasing"),
    ],
)
def test_a_damaged_common_map_is_refused(change, told, tmp_path):
    scores, y, group = people(400)
    content = (
        FairPOT(0.5, keep="probabilities").fit(scores, y, sensitive_features=group).fair_maps_.file_content().to_json()
    )
    content = json.loads(json.dumps(content))
    change(content["then"])
    with pytest.raises(ModelFileError, match=told):
        checked(content)


@pytest.mark.filterwarnings("ignore::fairpot.exceptions.FairpotWarning")
@pytest.mark.parametrize(
    ("method", "data"),
    [*((method, "compas_scores") for method in METHODS), (FairPOT, "bank_scores")],
)
def test_real_scores_keep_every_rank(method, data, request):
    """Held-out scores of a boosted model, with their ties and clusters of nearly equal scores."""
    rows = request.getfixturevalue(data)
    if method._costly:
        rows = rows.take(slice(0, 1500))
    columns = {"sensitive_features": rows.group}
    r = method(**METHODS[method]).fit(rows.scores, rows.y, **columns).transform(rows.scores, **columns)
    made = method(**METHODS[method], keep="probabilities").fit(rows.scores, rows.y, **columns)
    p = made.transform(rows.scores, **columns)
    np.testing.assert_array_equal(rankdata(r), rankdata(p))
    assert abs(p.mean() - rows.y.mean()) < 1e-4
