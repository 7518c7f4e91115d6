"""The top-alpha region: an estimated threshold is part of the uncertainty."""

import numpy as np
import pytest

from fairpot import score_table
from fairpot.inference import confidence_interval
from fairpot.inference.region import estimate_region, own_levels
from fairpot.inference.shares import cross_pairs
from fairpot.metrics.wins import WinMatrix
from inference_oracles import bootstrap, top_rate
from oracles import METRICS

NAMES = [("auc", {}), ("xauc", {"positive": "a", "negative": "b"}), ("xauc_gap", {})]


def rows(rng, n=4000):
    a = rng.random(n) < 0.3
    y = (rng.random(n) < np.where(a, 0.4, 0.25)).astype(int)
    return y, rng.normal(y * np.where(a, 0.8, 1.2) + 0.3 * a), np.where(a, "a", "b")


@pytest.mark.parametrize("region", ["pooled", "group"])
@pytest.mark.parametrize(("metric", "names"), NAMES)
def test_standard_error_is_that_of_the_bootstrap(metric, names, region):
    y, s, g = rows(np.random.default_rng(0))
    given = {"sensitive_features": g, "alpha": 0.3, "region": region, **names}
    analytic = confidence_interval(metric, y, s, **given)
    drawn = bootstrap(metric, y, s, replicates=600, **given)
    assert analytic.note is None
    np.testing.assert_allclose(analytic.se, drawn.se, rtol=0.12)
    np.testing.assert_allclose([analytic.low, analytic.high], [drawn.low, drawn.high], atol=0.02)


@pytest.mark.parametrize("region", ["pooled", "group"])
def test_the_threshold_part_is_its_numerical_derivative(region):
    """Give one row a little more weight: the change of the metric is that row's influence.

    The rows' squared influences must add up to the squared standard error; they do to the accuracy with which the
    density at the cut can be known.
    """
    y, s, g = rows(np.random.default_rng(1), n=1500)
    found = confidence_interval("xauc_gap", y, s, sensitive_features=g, alpha=0.4, region=region)
    function, rng, spread = METRICS["xauc_gap"].function, np.random.default_rng(2), []
    kwargs = {"sensitive_features": g, "alpha": 0.4, "region": region, "ties": "half"}
    for _ in range(300):  # random multipliers: the variance of the response is the sum of squared influences
        weight = 1 + 0.3 * rng.normal(size=len(y)).clip(-3, 3)
        spread.append((function(y, s, sample_weight=weight, **kwargs) - found.value) / 0.3)
    np.testing.assert_allclose(found.se, np.std(spread), rtol=0.15)


@pytest.mark.parametrize("many", [5, 10])
def test_what_the_threshold_alone_does_is_the_sample_variance_of_being_above(many):
    """Rank the top half perfectly, so that its rows add nothing; positives lie below the threshold, negatives above.

    One row more above the threshold is a positive half of the time, and then beside ``many`` that win every pair there
    is one that loses every pair. The share of rows above has the variance of any mean, with n - 1.
    """
    y = np.repeat([0, 1, 0, 1], many)
    above = np.arange(4 * many) >= 2 * many
    found = confidence_interval("auc", y, np.arange(4 * many), alpha=0.5)
    assert found.value == 1
    expected = 0.5 / many * len(y) * np.sqrt(np.var(above, ddof=1) / len(y))
    assert found.se == pytest.approx(expected, rel=1e-12)


def test_all_rows_in_the_region_are_the_plain_metric():
    y, s, g = rows(np.random.default_rng(2), n=500)
    for metric in ("auc", "xauc_gap"):
        one = confidence_interval(metric, y, s, sensitive_features=g, alpha=1.0)
        two = confidence_interval(metric, y, s, sensitive_features=g)
        np.testing.assert_allclose([one.se, one.low, one.high], [two.se, two.low, two.high], rtol=1e-12)


def test_importance_weights_in_a_region():
    y, s, g = rows(np.random.default_rng(5))
    w = np.random.default_rng(6).exponential(size=len(y))
    given = {"sensitive_features": g, "alpha": 0.3, "sample_weight": w, "weights": "importance"}
    analytic = confidence_interval("xauc_gap", y, s, **given)
    drawn = bootstrap("xauc_gap", y, s, replicates=600, **given)
    np.testing.assert_allclose(analytic.se, drawn.se, rtol=0.12)


def test_clusters_in_a_region():
    rng = np.random.default_rng(7)
    y, s, g = rows(rng, n=600)
    patient = np.arange(600)
    many = [np.repeat(column, 4) for column in (y, s, g, patient)]
    many[1] = many[1] + 0.01 * rng.normal(size=2400)
    given = {"sensitive_features": many[2], "alpha": 0.4, "clusters": many[3]}
    found = confidence_interval("xauc_gap", many[0], many[1], **given)
    drawn = bootstrap("xauc_gap", many[0], many[1], replicates=500, **given)
    ignored = confidence_interval("xauc_gap", many[0], many[1], sensitive_features=many[2], alpha=0.4)
    np.testing.assert_allclose(found.se, drawn.se, rtol=0.15)
    assert found.se > 1.7 * ignored.se


def test_too_few_in_the_region_are_named():
    y, s, g = rows(np.random.default_rng(8), n=200)
    found = confidence_interval("xauc_gap", y, s, sensitive_features=g, alpha=0.03)
    assert "in the top 3%" in found.reason


@pytest.mark.parametrize("metric", ["top_recall", "top_precision"])
@pytest.mark.parametrize("region", ["pooled", "group"])
@pytest.mark.parametrize("group", [None, "a"])
def test_rates_of_the_top(metric, region, group):
    y, s, g = rows(np.random.default_rng(9))
    given = {"sensitive_features": g, "alpha": 0.2, "region": region, "group": group}
    found = top_rate(metric, y, s, **given)
    drawn = bootstrap(metric, y, s, replicates=500, **given)
    assert found.value == pytest.approx(METRICS[metric].function(y, s, **given), rel=1e-12)
    np.testing.assert_allclose(found.se, drawn.se, rtol=0.12)
    np.testing.assert_allclose([found.low, found.high], [drawn.low, drawn.high], atol=0.012)
    many = [np.repeat(column, 2) for column in (y, s, g, np.arange(len(y)))]
    doubled = top_rate(metric, many[0], many[1], clusters=many[3], **given | {"sensitive_features": many[2]})
    np.testing.assert_allclose(doubled.se, found.se, rtol=0.02)


@pytest.mark.parametrize("seed", range(8))
def test_with_weights_too_a_recall_of_everybody_is_one(seed):
    rng = np.random.default_rng(seed)
    y = np.arange(120) % 4 == 0
    s, w = rng.random(120) + y, rng.exponential(size=120)
    found = top_rate("top_recall", y * 1, s, alpha=0.9, sample_weight=w, weights="importance")
    assert found.value == found.high == 1
    units = w[y].sum() ** 2 / (w[y] ** 2).sum()
    edges = [units / (units + quantile**2) for quantile in (1.959964, 2.241403)]  # one region, or several left open
    assert min(abs(found.low - edge) for edge in edges) < 1e-5


@pytest.mark.parametrize("clusters", [False, True])
@pytest.mark.parametrize("region", ["pooled", "group"])
def test_a_region_knows_its_thresholds_and_what_is_counted_there(region, clusters):
    y, s, g = rows(np.random.default_rng(4), 900)
    known = {"clusters": np.arange(900) // 2} if clusters else {}
    table = score_table(y, np.round(s, 2), sensitive_features=g, **known)
    found = estimate_region(table, cross_pairs(table), "half", 0.3, region)
    assert own_levels(found.region.populations) == tuple(table.thresholds(0.3, region).values())
    counted, top = found.region.counted, table.top(0.3, region)
    np.testing.assert_array_equal(counted.matrix().half_wins, WinMatrix._counted(top, "half").half_wins)
    np.testing.assert_array_equal(found.value, [counted.matrix().cell(0, 1), counted.matrix().cell(1, 0)])
