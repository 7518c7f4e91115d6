"""Rates at a threshold against a table of counts."""

import numpy as np
import pytest
from scipy import stats

from fairpot import score_table
from fairpot.inference import rates_at


def rows(n=400):
    rng = np.random.default_rng(0)
    y, g = rng.integers(0, 2, n), rng.choice(["F", "M"], n)
    return y, np.round(rng.random(n) + 0.3 * y, 1), g


def test_rates_are_counts_with_wilsons_interval():
    y, s, g = rows()
    for found in rates_at(score_table(y, s, sensitive_features=g), 0.7):
        own, up = g == found.group, s >= 0.7
        for name, hits, among in (
            ("tpr", own & up & (y == 1), own & (y == 1)),
            ("fpr", own & up & (y == 0), own & (y == 0)),
            ("ppv", own & up & (y == 1), own & up),
            ("flagged", own & up, own),
        ):
            rate = getattr(found, name)
            expected = stats.binomtest(int(hits.sum()), int(among.sum())).proportion_ci(method="wilson")
            np.testing.assert_allclose([rate.low, rate.high], expected, rtol=1e-12)
            share = hits.sum() / among.sum()
            np.testing.assert_allclose(rate.se, np.sqrt(share * (1 - share) / (among.sum() - 1)), rtol=1e-12)


def test_nobody_flagged():
    y, s, g = rows()
    [first, _] = rates_at(score_table(y, s, sensitive_features=g), 99)
    assert first.flagged.value == first.flagged.low == 0
    assert first.flagged.high > 0
    assert "no flagged rows" in first.ppv.reason
    with pytest.raises(ValueError, match="finite"):
        rates_at(score_table(y, s, sensitive_features=g), np.nan)


def test_clusters_and_weights():
    y, s, g = rows()
    twice = [np.repeat(column, 2) for column in (y, s, g, np.arange(len(y)))]
    plain = rates_at(score_table(y, s, sensitive_features=g), 0.7)
    doubled = rates_at(score_table(twice[0], twice[1], sensitive_features=twice[2], clusters=twice[3]), 0.7)
    flat = rates_at(
        score_table(y, s, sensitive_features=g, sample_weight=np.full(len(y), 0.5), weights="importance"), 0.7
    )
    for other in (doubled, flat):
        for name in ("tpr", "fpr", "ppv", "flagged"):
            one, two = getattr(plain[0], name), getattr(other[0], name)
            np.testing.assert_allclose([one.se, one.low, one.high], [two.se, two.low, two.high], rtol=1e-9)
