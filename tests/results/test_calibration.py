"""Calibration of all groups from sums, against every row and against simulation."""

import numpy as np
import pytest

from fairpot import score_table
from fairpot.counts import GroupCounts
from fairpot.results.calibration import calibrations
from fairpot.table import ScoreTable

KNOWN = ["plain", "frequency", "importance", "clusters", "clusters and importance"]


def draw(seed, n=900, digits=9):
    rng = np.random.default_rng(seed)
    g = rng.choice(["F", "M", "X"], n, p=[0.5, 0.3, 0.2])
    s = np.round(rng.beta(1.2, 2, n), digits)
    y = (rng.random(n) < np.where(g == "M", s**1.4, s)).astype(int)
    return y, s, g, rng


def given(known, rng, n):
    columns = {}
    if known == "frequency":
        columns = {"sample_weight": rng.integers(1, 4, n), "weights": known}
    if "importance" in known:
        columns = {"sample_weight": rng.exponential(size=n), "weights": "importance"}
    if "clusters" in known:
        columns["clusters"] = rng.integers(0, 200, n)
    return columns


def by_rows(y, s, bins, columns):
    """Give mean score minus rate with its standard error, the error by bins and its level by chance, row by row."""
    w = columns.get("sample_weight", np.ones(len(y))) * 1.0
    q = w**2 if columns.get("weights") == "importance" else w
    off, place = s - y, np.minimum((s * bins).astype(int), bins - 1)
    mean = np.average(off, weights=w)
    if "clusters" in columns:
        sums = np.array([(w * (off - mean))[columns["clusters"] == c].sum() for c in set(columns["clusters"])])
        size, variance = len(sums), sums @ sums
    else:
        size, variance = w.sum() ** 2 / q.sum(), q @ (off - mean) ** 2
    error = sum(abs((w * off)[place == b].sum()) for b in range(bins)) / w.sum()
    chance = sum(np.sqrt((q * s * (1 - s))[place == b].sum()) for b in range(bins)) * np.sqrt(2 / np.pi) / w.sum()
    return mean, np.sqrt(variance * size / (size - 1)) / w.sum(), error, chance


@pytest.mark.parametrize("known", KNOWN)
@pytest.mark.parametrize(("digits", "bins"), [(9, 10), (1, 7), (2, 1)])
def test_every_group_and_all_rows_are_those_counted_row_by_row(known, digits, bins):
    y, s, g, rng = draw(3, digits=digits)
    columns = given(known, rng, len(y))
    table = score_table(y, s, sensitive_features=g, **columns)
    own, everyone = calibrations(table, bins, 0.9)
    for found, at in zip((*own, everyone), (*(g == name for name in table.groups), np.ones(len(y), dtype=bool))):
        expected = by_rows(y[at], s[at], bins, {k: v if k == "weights" else v[at] for k, v in columns.items()})
        large = found.error_in_the_large
        numbers = large, large.se, found.expected_calibration_error, found.error_by_chance
        np.testing.assert_allclose(numbers, expected, rtol=1e-10)
        np.testing.assert_allclose(
            [large.low, large.high], large + large.se * 1.6448536269514722 * np.array([-1, 1]), rtol=1e-6
        )
        assert (
            found.expected_calibration_error.low
            <= found.expected_calibration_error
            <= found.expected_calibration_error.high
        )
        assert found.expected_calibration_error.level == 0.9


def test_what_is_no_probability_is_not_calibrated():
    y, s, g, _ = draw(1)
    own, everyone = calibrations(score_table(y, np.where(g == "M", s + 1, s), sensitive_features=g))
    assert [each is None for each in own] == [False, True, False]
    assert everyone is None
    plain, all_rows = calibrations(score_table(y, s, sensitive_features=g))
    turned, all_turned = calibrations(score_table(y, 1 - s, sensitive_features=g, lower_is_riskier=True))
    for one, other in zip((*plain, all_rows), (*turned, all_turned)):
        assert one.error_in_the_large == pytest.approx(other.error_in_the_large)


def test_groups_without_rows_take_no_part():
    y, s, _, _ = draw(2)
    nobody = GroupCounts(np.empty(0), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
    rows = score_table(y, s).counts[0]
    own, everyone = calibrations(ScoreTable(("a", "b"), (nobody, rows)))
    assert own[0] is None
    assert own[1] == everyone
    assert calibrations(ScoreTable(("a", "b"), (nobody, nobody))) == ((None, None), None)


def test_too_few_rows_have_no_interval():
    found = calibrations(score_table([0, 1] * 4, np.linspace(0.1, 0.9, 8)))[1]
    for each in (found.error_in_the_large, found.expected_calibration_error):
        assert "fewer than 5 rows" in each.reason
        assert np.isnan(each.low)


@pytest.mark.parametrize("known", ["plain", "importance", "clusters"])
@pytest.mark.parametrize("bend", [1.0, 1.15, 1.8])
def test_the_limits_of_the_expected_calibration_error_hold_the_true_one(known, bend):
    rng = np.random.default_rng(int(100 * bend))
    many = rng.beta(1.5, 3, 400_000)
    true = np.abs(np.bincount((many * 10).astype(int), many - many**bend, 10)).sum() / len(many)
    wrong, seen = [], []
    for _ in range(250):
        s = rng.beta(1.5, 3, 300)
        y = (rng.random(300) < s**bend).astype(int)
        columns = {"sample_weight": rng.exponential(size=300), "weights": "importance"} if known == "importance" else {}
        if known == "clusters":  # every row three times is no more than once
            s, y, columns = np.repeat(s, 3), np.repeat(y, 3), {"clusters": np.repeat(np.arange(300), 3)}
        found = calibrations(score_table(y, s, **columns))[1].expected_calibration_error
        wrong.append([found.low > true, found.high < true])
        seen.append(found.low > 0)
    assert np.mean(wrong, axis=0).max() <= 0.055  # three standard errors above 0.025
    assert bend < 1.8 or np.mean(seen) > 0.8
