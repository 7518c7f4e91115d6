"""A top is a score: numbers of a top are those of the rows from this score on, and know the errors of such rows."""

import numpy as np
import pytest

from fairpot import audit, score_table
from fairpot.inference import confidence_interval
from inference_oracles import bootstrap, top_rate
from oracles import METRICS

NAMES = [("auc", {}), ("xauc", {"positive": "a", "negative": "b"}), ("xauc_gap", {})]


def rows(rng, n=4000):
    a = rng.random(n) < 0.3
    y = (rng.random(n) < np.where(a, 0.4, 0.25)).astype(int)
    return y, rng.normal(y * np.where(a, 0.8, 1.2) + 0.3 * a), np.where(a, "a", "b")


@pytest.mark.parametrize(
    "known", [{}, {"weights": "importance"}, {"clusters": True}], ids=["rows", "weights", "clusters"]
)
@pytest.mark.parametrize("digits", [8, 2, 0])
@pytest.mark.parametrize("top_of", ["all", "group"])
@pytest.mark.parametrize(("metric", "names"), NAMES)
def test_an_interval_in_a_top_is_that_of_the_rows_from_its_score_on(metric, names, top_of, digits, known):
    rng = np.random.default_rng(0)
    y, s, g = rows(rng, n=1500)
    s, more = np.round(s, digits), {}
    if "weights" in known:
        more = {"sample_weight": rng.exponential(size=1500), "weights": "importance"}
    elif known:
        more = {"clusters": np.arange(1500) // 3}
    starts = score_table(y, s, sensitive_features=g, **more).thresholds(0.3, top_of)
    inside = s >= np.array([starts[group] for group in g])
    found = confidence_interval(metric, y, s, sensitive_features=g, top=0.3, top_of=top_of, **names, **more)
    kept = {name: each if isinstance(each, str) else each[inside] for name, each in more.items()}
    alone = confidence_interval(metric, y[inside], s[inside], sensitive_features=g[inside], **names, **kept)
    np.testing.assert_allclose(
        [found.value, found.se, found.low, found.high], [alone.value, alone.se, alone.low, alone.high], rtol=1e-12
    )


@pytest.mark.parametrize("digits", [8, 0])
def test_a_top_of_so_many_rows_is_that_share_of_them_and_told_in_rows(digits):
    y, s, g = rows(np.random.default_rng(3), n=1500)
    s = np.round(s, digits)
    found, share = (audit(y, s, sensitive_features=g, top=top) for top in (300, 0.2))
    [top], [other] = found.tops, share.tops
    assert (top.top, other.top, top.starts, top.gap) == (300, 0.2, other.starts, other.gap)
    assert top.rows == (s >= top.starts[0]).sum() >= 300
    assert "gap among the 300 highest" in str(found)
    assert "gap in the top 20%" in str(share)


def test_all_rows_in_the_top_are_the_plain_metric():
    y, s, g = rows(np.random.default_rng(2), n=500)
    for metric in ("auc", "xauc_gap"):
        one = confidence_interval(metric, y, s, sensitive_features=g, top=1.0)
        two = confidence_interval(metric, y, s, sensitive_features=g)
        np.testing.assert_allclose([one.se, one.low, one.high], [two.se, two.low, two.high], rtol=1e-12)


def test_too_few_in_the_top_are_named():
    y, s, g = rows(np.random.default_rng(8), n=200)
    found = confidence_interval("xauc_gap", y, s, sensitive_features=g, top=0.03)
    assert "in the top 3%" in found.reason


@pytest.mark.parametrize("metric", ["top_recall", "top_precision"])
@pytest.mark.parametrize("top_of", ["all", "group"])
@pytest.mark.parametrize("group", [None, "a"])
def test_rates_of_the_top(metric, top_of, group):
    y, s, g = rows(np.random.default_rng(9))
    given = {"sensitive_features": g, "top": 0.2, "top_of": top_of, "among": group}
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
    found = top_rate("top_recall", y * 1, s, top=0.9, sample_weight=w, weights="importance")
    assert found.value == found.high == 1
    units = w[y].sum() ** 2 / (w[y] ** 2).sum()
    assert found.low == pytest.approx(units / (units + 1.959964**2), abs=1e-5)
