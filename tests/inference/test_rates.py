"""Rates and their limits against scikit-learn, SciPy and plain sums, with weights, clusters, ties and five groups."""

import numpy as np
import pytest
from scipy import optimize, stats
from scipy.special import expit, logit
from sklearn import metrics

from fairpot import score_table
from fairpot.inference.rates import NOWHERE, Cut, Measuring
from fairpot.metrics import RATES
from fairpot.results import rank

Z = stats.norm.ppf(0.975)


def rows(n=600, seed=0, groups="FM", digits=2):
    rng = np.random.default_rng(seed)
    y, g = rng.integers(0, 2, n), rng.choice(list(groups), n)
    return y, np.clip(np.round(0.7 * rng.random(n) + 0.3 * y, digits), 0.01, 0.99), g


def measured(name, table, cut, kind="value", first=0, second=None):
    places = () if second is None else (second,)
    return Measuring(table, cut).estimate(kind, name, (first,) if isinstance(first, int) else first, places)


SHARES = {
    "selection_rate": lambda y, up: (up, up >= 0),
    "tpr": lambda y, up: (up & y, y),
    "fpr": lambda y, up: (up & ~y, ~y),
    "fnr": lambda y, up: (~up & y, y),
    "tnr": lambda y, up: (~up & ~y, ~y),
    "ppv": lambda y, up: (up & y, up),
    "npv": lambda y, up: (~up & ~y, ~up),
    "accuracy": lambda y, up: (up == y, up >= 0),
}


@pytest.mark.parametrize("name", SHARES)
def test_a_share_is_a_count_with_wilsons_interval(name):
    y, s, g = rows()
    table = score_table(y, s, sensitive_features=g)
    for place, group in enumerate("FM"):
        own = g == group
        hits, among = (part[own].sum() for part in SHARES[name](y == 1, s >= 0.6))
        found = measured(name, table, Cut("score", 0.6), first=place)
        expected = stats.binomtest(int(hits), int(among)).proportion_ci(method="wilson")
        np.testing.assert_allclose([found, found.low, found.high], [hits / among, *expected], rtol=1e-12)
        np.testing.assert_allclose(found.se, np.sqrt(found * (1 - found) / (among - 1)), rtol=1e-12)


@pytest.mark.parametrize("groups", ["FM", "abcde"])
def test_rates_are_those_of_scikit_learn(groups):
    y, s, g = rows(groups=groups)
    w = np.random.default_rng(1).exponential(size=len(y))
    table = score_table(y, s, sensitive_features=g, sample_weight=w)
    for place, group in enumerate(groups):
        own = g == group
        given = {"y_true": y[own], "y_pred": s[own] >= 0.6, "sample_weight": w[own]}
        wanted = {
            "tpr": metrics.recall_score(**given),
            "tnr": metrics.recall_score(**given, pos_label=0),
            "ppv": metrics.precision_score(**given),
            "npv": metrics.precision_score(**given, pos_label=0),
            "accuracy": metrics.accuracy_score(**given),
        }
        for name, value in wanted.items():
            assert measured(name, table, Cut("score", 0.6), first=place) == pytest.approx(value, rel=1e-12)
        brier = metrics.brier_score_loss(y[own], s[own], sample_weight=w[own])
        assert measured("brier", table, NOWHERE, first=place) == pytest.approx(brier, rel=1e-12)
        up = s[own] >= 0.6
        benefit = np.average(up * (y[own] - (1 - y[own]) * 0.6 / 0.4), weights=w[own])
        assert measured("net_benefit", table, Cut("score", 0.6), first=place) == pytest.approx(benefit, rel=1e-12)
        ratio = np.average(y[own], weights=w[own]) / np.average(s[own], weights=w[own])
        assert measured("observed_expected", table, NOWHERE, first=place) == pytest.approx(ratio, rel=1e-12)


def test_a_mean_has_the_standard_error_and_limits_of_scipy():
    y, s, g = rows()
    table, own = score_table(y, s, sensitive_features=g), g == "F"
    for name, values in (("mean_score", s[own]), ("brier", (s[own] - y[own]) ** 2)):
        found = measured(name, table, NOWHERE)
        limits = stats.t.interval(0.95, own.sum() - 1, values.mean(), stats.sem(values))
        np.testing.assert_allclose([found.se, found.low, found.high], [stats.sem(values), *limits], rtol=1e-10)


def newcombe(x1, n1, x2, n2):
    """Newcombe's (1998) tenth method."""
    (l1, u1), (l2, u2) = (stats.binomtest(x, n).proportion_ci(method="wilson") for x, n in ((x1, n1), (x2, n2)))
    p1, p2 = x1 / n1, x2 / n2
    return p1 - p2 - np.hypot(p1 - l1, u2 - p2), p1 - p2 + np.hypot(u1 - p1, p2 - l2)


def test_a_difference_of_independent_shares_is_newcombes_and_a_ratio_the_same_on_logarithms():
    y, s, g = rows()
    table = score_table(y, s, sensitive_features=g)
    x, n = ([int(part[g == each].sum()) for each in "FM"] for part in SHARES["tpr"](y == 1, s >= 0.6))
    found = measured("tpr", table, Cut("score", 0.6), "difference", 0, 1)
    low, high = newcombe(x[0], n[0], x[1], n[1])
    np.testing.assert_allclose([found.low, found.high], [low, high], rtol=1e-10)
    ratio = measured("tpr", table, Cut("score", 0.6), "ratio", 0, 1)
    ends = [np.log(stats.binomtest(a, b).proportion_ci(method="wilson")) for a, b in zip(x, n)]
    p = [np.log(a / b) for a, b in zip(x, n)]
    down, up = np.hypot(p[0] - ends[0][0], ends[1][1] - p[1]), np.hypot(ends[0][1] - p[0], p[1] - ends[1][0])
    wanted = np.exp([p[0] - p[1], p[0] - p[1] - down, p[0] - p[1] + up])
    np.testing.assert_allclose([ratio, ratio.low, ratio.high], wanted, rtol=1e-10)


def fitted(y, x, w, *, offset):
    """Fit a logistic regression by SciPy; return the last coefficient and its robust (HC0) standard error."""
    design = np.ones((1, len(y))) if offset else np.stack((np.ones(len(y)), x))
    shift = x if offset else 0.0

    def loss(beta):
        z = beta @ design + shift
        return w @ np.logaddexp(0, np.where(y == 1, -z, z)), design @ (w * (expit(z) - y))

    beta = optimize.minimize(loss, np.zeros(len(design)), jac=True, method="BFGS", options={"gtol": 1e-11}).x
    p = expit(beta @ design + shift)
    bread = np.linalg.inv((design * (w * p * (1 - p))) @ design.T)
    meat = (design * (w * (y - p)) ** 2) @ design.T
    return beta[-1], np.sqrt((bread @ meat @ bread)[-1, -1])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["calibration_intercept", "calibration_slope"])
def test_calibration_is_a_logistic_regression_with_robust_errors(name, weighted):
    y, s, g = rows()
    w = np.random.default_rng(2).exponential(size=len(y)) if weighted else np.ones(len(y))
    table, own = score_table(y, s, sensitive_features=g, sample_weight=w), g == "M"
    value, se = fitted(y[own], logit(s[own]), w[own], offset=name.endswith("intercept"))
    found = measured(name, table, NOWHERE, first=1)
    np.testing.assert_allclose(
        [found, found.se, found.low, found.high], [value, se, value - Z * se, value + Z * se], rtol=1e-6
    )


def test_no_regression_is_fitted_to_certain_scores_and_to_outcomes_that_a_score_separates():
    y, s, g = rows()
    certain = measured("calibration_slope", score_table(y, np.where(s > 0.9, 1.0, s), sensitive_features=g), NOWHERE)
    assert "no log-odds" in certain.reason
    apart = score_table(y, np.where(y == 1, 0.9, 0.1), sensitive_features=g)
    assert "no logistic regression" in measured("calibration_slope", apart, NOWHERE).reason


@pytest.mark.parametrize("kind", ["value", "difference", "ratio"])
@pytest.mark.parametrize("name", RATES)
def test_rows_that_come_twice_in_one_cluster_and_flat_weights_change_nothing(name, kind):
    y, s, g = rows()
    if kind == "ratio" and RATES[name].scale == "free":
        return
    cut = Cut("score", 0.6) if RATES[name].needs_cut else NOWHERE
    second = None if kind == "value" else 1
    plain = measured(name, score_table(y, s, sensitive_features=g), cut, kind, 0, second)
    twice = [np.repeat(column, 2) for column in (y, s, g, np.arange(len(y)))]
    doubled = score_table(twice[0], twice[1], sensitive_features=twice[2], clusters=twice[3])
    flat = score_table(y, s, sensitive_features=g, sample_weight=np.full(len(y), 0.5))
    counted = np.unique(np.stack((y, s, g == "M")), axis=1, return_counts=True)
    frequency = score_table(
        counted[0][0].astype(int),
        counted[0][1],
        sensitive_features=np.where(counted[0][2], "M", "F"),
        sample_weight=counted[1],
        weights="frequency",
    )
    for table in (doubled, flat, frequency):
        found = measured(name, table, cut, kind, 0, second)
        np.testing.assert_allclose([found.low, found, found.high], [plain.low, plain, plain.high], rtol=1e-8)


@pytest.mark.parametrize("known", ["plain", "frequency", "importance", "clusters", "clusters and importance"])
@pytest.mark.parametrize("name", RATES)
def test_rates_of_all_rows_are_those_of_one_group(known, name):
    y, s, g = rows(400)
    rng = np.random.default_rng(1)
    given = {}
    if known == "frequency":
        given = {"sample_weight": rng.integers(1, 4, len(y)), "weights": known}
    if "importance" in known:
        given = {"sample_weight": rng.exponential(size=len(y)), "weights": "importance"}
    if "clusters" in known:
        given["clusters"] = rng.integers(0, 90, len(y))
    cut = Cut("score", 0.6) if RATES[name].needs_cut else NOWHERE
    one = measured(name, score_table(y, s, sensitive_features=g, **given), cut, first=(0, 1))
    two = measured(name, score_table(y, s, **given), cut)
    np.testing.assert_allclose([one, one.se, one.low, one.high], [two, two.se, two.low, two.high], rtol=1e-9)


def test_clusters_across_groups_are_seen_in_a_difference():
    """Each person is in both groups: what they have in common cancels, as in a paired test."""
    rng = np.random.default_rng(3)
    person = rng.normal(size=500)
    s = np.r_[person, person + 0.1 * rng.normal(size=500)]
    table = score_table(None, s, sensitive_features=np.repeat(["a", "b"], 500), clusters=np.tile(np.arange(500), 2))
    apart = score_table(None, s, sensitive_features=np.repeat(["a", "b"], 500))
    paired, unpaired = (measured("mean_score", each, NOWHERE, "difference", 0, 1) for each in (table, apart))
    off = s[:500] - s[500:]
    assert paired.se == pytest.approx(off.std() / np.sqrt(500), rel=1e-9)
    assert paired.se < unpaired.se / 5


@pytest.mark.parametrize("seed", range(4))
def test_with_weights_too_a_rate_of_everybody_is_one_and_of_nobody_none(seed):
    """Sums of different stretches of the same weights differ by round-off, which must not pass for a miss."""
    rng = np.random.default_rng(seed)
    y, s, w = rng.integers(0, 2, 60), rng.random(60), rng.exponential(size=60)
    for scores, threshold, name, value in (
        (np.where(y == 1, s + 1, s), 1.0, "tpr", 1.0),
        (np.where(y == 1, s + 1, s), 1.0, "ppv", 1.0),
        (np.where(y == 1, s + 1, s), 1.0, "fpr", 0.0),
        (s, -1.0, "selection_rate", 1.0),
        (np.where(y == 0, s + 1, s), 1.0, "fpr", 1.0),
    ):
        rate = measured(name, score_table(y, scores, sample_weight=w), Cut("score", threshold))
        assert rate == value
        assert rate.se == 0
        own = np.ones(60, dtype=bool) if name == "selection_rate" else y == (name != "fpr")
        units = w[own].sum() ** 2 / (w[own] ** 2).sum()
        edge = Z**2 / (units + Z**2)  # Wilson's limit of 0 of so many
        assert (rate.low, rate.high)[value == 0] == pytest.approx(abs(value - edge), rel=1e-5)
        assert (rate.low, rate.high)[value == 1] == value


def test_small_cells_have_no_interval_and_say_so():
    y, s, g = rows(600)
    few = (g == "M") & (np.cumsum(g == "M") <= 9)
    table = score_table(y[(g == "F") | few], s[(g == "F") | few], sensitive_features=g[(g == "F") | few])
    found = measured("selection_rate", table, Cut("score", 0.6), first=1)
    assert found.reason == "group 'M' has 9 rows, and with fewer than 10 there is no interval"
    assert np.isnan(found.low)
    assert "with fewer than 10" in measured("selection_rate", table, Cut("score", 0.6), "ratio", 1, 0).reason
    nobody = Measuring(table, Cut("score", 99.0))
    assert "no flagged rows" in nobody.estimate("value", "ppv", (0,)).reason
    rate = nobody.estimate("value", "selection_rate", (0,))
    assert rate == rate.low == 0 < rate.high
    assert "is 0" in nobody.estimate("ratio", "selection_rate", (0,), (0,)).reason


def test_of_few_flagged_rows_or_few_outcomes_no_mean_has_an_interval():
    """Of 300 rows, 9 are flagged: net benefit is about those. Of 9 rows with the outcome, so is the Brier score."""
    rng = np.random.default_rng(8)
    s, y = np.sort(rng.random(300)), np.zeros(300, dtype=int)
    y[::30] = 1
    table = score_table(y[:-1], s[:-1])
    found = measured("net_benefit", table, Cut("score", s[-10]))
    assert found.reason == "there are 9 flagged rows, and with fewer than 10 there is no interval"
    assert measured("net_benefit", table, Cut("score", s[-11])).reason is None
    assert "there are 0 flagged rows" in measured("net_benefit", table, Cut("score", 0.9999)).reason
    assert measured("brier", table, NOWHERE).reason is None
    few = measured("brier", score_table(y[1:], s[1:]), NOWHERE)
    assert few.reason == "there are 9 rows with the outcome, and with fewer than 10 there is no interval"


@pytest.mark.parametrize("digits", [4, 1])
@pytest.mark.parametrize("n", [200, 201])
def test_above_the_median_is_strictly_above_it(n, digits):
    y, s, g = rows(n, digits=digits)
    found = Measuring(score_table(y, s, sensitive_features=g), Cut("median"))
    assert found.estimate("value", "selection_rate", (0, 1)) == pytest.approx((s > np.median(s)).mean())
    for place, group in enumerate("FM"):
        assert found.estimate("value", "selection_rate", (place,)) == (s[g == group] > np.median(s)).mean()


@pytest.mark.parametrize("top_of", ["all", "group"])
def test_recall_and_precision_of_a_top_are_its_tpr_and_ppv(top_of):
    y, s, g = rows(800, digits=4)
    table = score_table(y, s, sensitive_features=g)
    top = rank(table, top=table.find_top(0.3, top_of))
    for metric, name in (("recall", "tpr"), ("precision", "ppv")):
        for ranking, places in ((top, (0, 1)), (top.group("M"), (1,))):
            one, two = getattr(ranking, metric), measured(name, table, Cut("top", None, 0.3, top_of), first=places)
            assert (one, one.low, one.high, one.metric) == (two, two.low, two.high, f"top_{metric}")


@pytest.mark.parametrize("name", ["selection_rate", "tpr", "ppv"])
def test_where_many_rows_share_the_score_of_a_cut_rates_are_those_from_this_score_on(name):
    y, s, g = rows(400, digits=1)
    table = score_table(y, s, sensitive_features=g)
    start = float(next(iter(table.thresholds(0.3).values())))
    for kind, places in (("value", ((1,),)), ("difference", ((0,), (1,))), ("ratio", ((0,), (1,)))):
        one, two = (
            Measuring(table, cut).estimate(kind, name, *places) for cut in (Cut("top", None, 0.3), Cut("score", start))
        )
        np.testing.assert_allclose([one, one.se, one.low, one.high], [two, two.se, two.low, two.high], rtol=1e-12)


def test_a_cut_at_smooth_scores_moves_with_the_rows_of_the_large_group():
    y, s, g = rows(4000, digits=8)
    table = score_table(y, s, sensitive_features=g)
    start = float(next(iter(table.thresholds(0.3).values())))
    large = max((0, 1), key=lambda place: (g == "FM"[place]).sum())
    top, at = (
        Measuring(table, cut).estimate("value", "selection_rate", (large,))
        for cut in (Cut("top", None, 0.3), Cut("score", start))
    )
    assert top == at
    assert top.high - top.low < 0.9 * (at.high - at.low)


def test_nor_has_one_of_few_clusters():
    rng = np.random.default_rng(31)
    for _ in range(60):
        g = np.repeat(rng.choice(["a", "b"], 30), 2)
        s = np.repeat(rng.normal(size=30), 2) + 0.3 * rng.normal(size=60)
        y = (rng.random(60) < expit(s)).astype(int)
        table = score_table(y, s, sensitive_features=g, clusters=np.repeat(np.arange(30), 2))
        found = measured("selection_rate", table, Cut("top", None, 0.3, "group"))
        assert found.reason is not None


@pytest.mark.parametrize(("top_of", "places"), [("all", (0, 1)), ("group", (0,))])
def test_a_share_that_the_cut_is_made_for_has_no_interval(top_of, places):
    y, s, g = rows(1000, digits=6)
    found = measured(
        "selection_rate", score_table(y, s, sensitive_features=g), Cut("top", None, 0.25, top_of), first=places
    )
    assert found == pytest.approx(0.25, abs=0.005)
    assert found.reason == "the cut is made so that it is this share"
