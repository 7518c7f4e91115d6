"""Rates at a threshold against a table of counts."""

import numpy as np
import pytest
from scipy import stats

from fairpot import score_table
from fairpot.inference import rates_at
from fairpot.inference.rates import rate_estimates


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


NAMES = ("tpr", "fpr", "ppv", "flagged")


@pytest.mark.parametrize("seed", range(8))
def test_with_weights_too_a_rate_of_everybody_is_one_and_of_nobody_none(seed):
    """Sums of different stretches of the same weights differ by round-off, which must not pass for a miss."""
    rng = np.random.default_rng(seed)
    y, s, w = rng.integers(0, 2, 60), rng.random(60), rng.exponential(size=60)
    for scores, threshold, name, value in (
        (np.where(y == 1, s + 1, s), 1.0, "tpr", 1.0),
        (np.where(y == 1, s + 1, s), 1.0, "ppv", 1.0),
        (np.where(y == 1, s + 1, s), 1.0, "fpr", 0.0),
        (s, -1.0, "flagged", 1.0),
        (np.where(y == 0, s + 1, s), 1.0, "fpr", 1.0),
    ):
        table = score_table(y, scores, sample_weight=w, weights="importance")
        rate = getattr(rates_at(table, threshold)[0], name)
        assert rate == value
        assert rate.se == 0
        own = np.ones(60, dtype=bool) if name == "flagged" else y == (name != "fpr")
        units = w[own].sum() ** 2 / (w[own] ** 2).sum()
        far = (rate.low, rate.high)[value == 0]
        edge = 1.959964**2 / (units + 1.959964**2)  # Wilson's limit of 0 of so many
        assert far == pytest.approx(abs(value - edge), rel=1e-5)
        assert (rate.low, rate.high)[value == 1] == value


@pytest.mark.parametrize("known", ["plain", "frequency", "importance", "clusters", "clusters and importance"])
def test_rates_of_all_rows_are_those_of_one_group(known):
    y, s, g = rows()
    rng = np.random.default_rng(1)
    given = {}
    if known == "frequency":
        given = {"sample_weight": rng.integers(1, 4, len(y)), "weights": known}
    if "importance" in known:
        given = {"sample_weight": rng.exponential(size=len(y)), "weights": "importance"}
    if "clusters" in known:
        given["clusters"] = rng.integers(0, 90, len(y))
    table = score_table(y, s, sensitive_features=g, **given)
    found = rate_estimates(table, None, 0.7)
    [other] = rates_at(score_table(y, s, **given), 0.7)
    assert found.group is None
    for name in NAMES:
        one, two = getattr(found, name), getattr(other, name)
        np.testing.assert_allclose([one, one.se, one.low, one.high], [two, two.se, two.low, two.high], rtol=1e-12)
    np.testing.assert_allclose(found.counts, other.counts)
    parts = [rate.counts for rate in rates_at(table, 0.7)]
    np.testing.assert_allclose(found.counts, np.sum(parts, axis=0))


def test_counts_of_whole_weights_are_whole_and_unknown_groups_are_refused():
    y, s, g = rows()
    table = score_table(y, s, sensitive_features=g)
    counts = rate_estimates(table, "F", 0.7).counts
    assert [type(each) for each in counts] == [int] * 4
    assert counts.flagged_positives == int(((g == "F") & (s >= 0.7) & (y == 1)).sum())
    with pytest.raises(ValueError, match="not among the groups"):
        rate_estimates(table, "X", 0.7)
