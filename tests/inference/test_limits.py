"""Limits of shares and gaps: symmetric, ordered, guarded, refused where nothing honest can be said."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from fairpot import score_table
from fairpot.inference import Estimate, confidence_interval
from fairpot.inference.limits import (
    Parts,
    degrees_of_freedom,
    difference_limits,
    exceeding_tail,
    fold,
    joint_tail,
    share_limits,
)


def parts(x, v_pos, v_neg, m, n):
    one = [np.atleast_1d(np.asarray(value, dtype=float)) for value in (x, v_pos, v_neg, m, n)]
    return Parts(one[0], one[1] + one[2], (one[1], one[2]), (one[3], one[4]))


def test_degrees_of_freedom_are_welchs():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=12), rng.normal(size=30)
    expected = stats.ttest_ind(a, b, equal_var=False).df
    found = degrees_of_freedom(parts(0.5, a.var(ddof=1) / 12, b.var(ddof=1) / 30, 12, 30))
    np.testing.assert_allclose(found, expected)


@given(
    st.integers(0, 10_000), st.floats(0, 0.05), st.floats(0, 0.05), st.integers(5, 2000), st.integers(5, 2000),
    st.floats(0.001, 0.2),
)  # fmt: skip
def test_limits_are_ordered_mirrored_and_wider_at_a_higher_level(wins, v_pos, v_neg, m, n, tail):
    x = wins / 10_000
    [low], [high] = share_limits(parts(x, v_pos, v_neg, m, n), tail)
    assert 0 <= low <= x <= high <= 1
    [mirrored_low], [mirrored_high] = share_limits(parts(1 - x, v_pos, v_neg, m, n), tail)
    np.testing.assert_allclose([1 - mirrored_high, 1 - mirrored_low], [low, high], atol=1e-9)
    [wider_low], [wider_high] = share_limits(parts(x, v_pos, v_neg, m, n), tail / 2)
    assert wider_low <= low + 1e-12
    assert wider_high >= high - 1e-12


def test_with_many_rows_the_interval_is_walds():
    [low], [high] = share_limits(parts(0.7, 1e-6, 1e-6, 1e6, 1e6), 0.025)
    half = 1.959964 * np.sqrt(2e-6)
    np.testing.assert_allclose([low, high], [0.7 - half, 0.7 + half], atol=2e-5)


def test_perfect_ranking_has_an_interval_with_room_below():
    found = confidence_interval("auc", [0] * 20 + [1] * 10, range(30))
    assert found.value == found.high == 1
    assert 0.7 < found.low < 0.95
    assert found.se == 0


@pytest.mark.parametrize("rows", [5, 8, 20])
def test_perfect_ranking_is_worth_as_many_rows_as_there_are(rows):
    """With a third of a row, worth 1/2, added: the share that lies just two standard errors away, after Wilson."""
    share = (rows + 1 / 6) / (rows + 1 / 3)
    expected = optimize.brentq(lambda p: share - p - stats.norm.ppf(0.975) * np.sqrt(p * (1 - p) / rows), 0.01, share)
    upwards = confidence_interval("auc", [0] * rows + [1] * rows, range(2 * rows))
    downwards = confidence_interval("auc", [1] * rows + [0] * rows, range(2 * rows))
    assert upwards.low == pytest.approx(expected, abs=1e-12)
    assert downwards.high == pytest.approx(1 - expected, abs=1e-12)


def test_difference_of_shares_that_share_rows_is_narrower():
    one, other = parts(0.8, 1e-3, 1e-3, 50, 50), parts(0.75, 1e-3, 1e-3, 50, 50)
    widths = []
    for covariance in (0.0, 1e-3):
        low, high = difference_limits(one, other, np.array([covariance]), 0.025)
        widths.append(float(high[0] - low[0]))
    assert widths[1] < 0.8 * widths[0]


def test_fold():
    low, high = fold(np.array([-0.2, 0.1, -0.3]), np.array([0.1, 0.4, -0.1]))
    np.testing.assert_array_equal(low, [0, 0.1, 0.1])
    np.testing.assert_array_equal(high, [0.2, 0.4, 0.3])


def test_joint_tail_of_independent_and_equal_errors():
    many = 10
    np.testing.assert_allclose(joint_tail(np.eye(many), 0.025), (1 - 0.95 ** (1 / many)) / 2, rtol=0.08)
    np.testing.assert_allclose(joint_tail(np.ones((many, many)), 0.025), 0.025, rtol=0.08)
    assert joint_tail(np.zeros((3, 3)), 0.025) >= 0.025 / 3


def test_exceeding_tail_solves_its_equation():
    for bound, se in ((0.05, 0.03), (0.0, 0.03), (0.5, 0.01)):
        critical = -stats.norm.ppf(exceeding_tail(bound, se, 0.05))
        total = stats.norm.cdf(-critical) + stats.norm.cdf(-critical - 2 * bound / se)
        np.testing.assert_allclose(total, 0.05, atol=1e-9)


@pytest.mark.parametrize(
    ("positives", "said"), [(0, "has no rows with"), (1, "has 1 row with"), (4, "has 4 rows with"), (5, None)]
)
def test_fewer_than_five_units_are_refused(positives, said):
    y = [1] * positives + [0] * 20 + [1, 0] * 10
    group = ["F"] * (positives + 20) + ["M"] * 20
    score = list(np.random.default_rng(0).random(len(y)))
    found = confidence_interval("xauc_gap", score_table(y, score, sensitive_features=group))
    if said is None:
        assert found.reason is None
        assert found.low <= found.value <= found.high
    else:
        assert said in found.reason
        assert "'F'" in found.reason
        assert np.isnan(found.low)
        assert np.isnan(found.high)
    assert found.to_dict()["low"] is None or found.to_dict()["low"] == found.low


def test_clusters_are_the_units_that_are_counted():
    y, score = [0, 1] * 20, list(range(40))
    found = confidence_interval("auc", y, score, clusters=[k // 10 for k in range(40)])
    assert "4 clusters with the outcome" in found.reason


@pytest.mark.parametrize(
    ("kwargs", "error", "said"),
    [
        ({"metric": "accuracy"}, ValueError, "metric must be one of"),
        ({"metric": "xauc"}, TypeError, r"one pair of groups.\n.*positive="),
        ({"metric": "auc", "positive": "F"}, TypeError, "takes no positive"),
        ({"metric": "auc", "level": 95}, ValueError, "95% is level=0.95"),
        ({"metric": "auc", "ties": "none"}, ValueError, "ties must be"),
        ({"metric": "auc", "weights": "inverse"}, ValueError, "weights must be"),
        ({"metric": "auc", "method": "bootstrap"}, TypeError, "method"),
        ({"metric": "xauc_gap", "sensitive_features": None}, TypeError, r"compares groups.\n.*sensitive_features="),
        ({"metric": "auc", "clusters": [1, 2]}, ValueError, "clusters has 2 rows"),
    ],
)
def test_arguments_are_checked(kwargs, error, said):
    given = {"sensitive_features": ["F", "M"] * 20} | kwargs
    with pytest.raises(error, match=said):
        confidence_interval(given.pop("metric"), [0, 0, 1, 1] * 10, range(40), **given)


def test_a_number_seen_from_the_other_group_is_turned_as_a_whole():
    gap = Estimate("signed_gap", 0.1, 0.02, 0.06, 0.14, 0.9, "analytic", 0.1, ("a", "b"), None, "a note")
    other = gap.reversed()
    assert (other.value, other.se, other.low, other.high, other.level) == (-0.1, 0.02, -0.14, -0.06, 0.9)
    assert (other.signed, other.groups, other.note) == (-0.1, ("b", "a"), "a note")
    assert other.reversed().to_dict() == gap.to_dict()
    plain = Estimate("change", 0.1, 0.02, 0.06, 0.14).reversed()
    assert (plain.signed, plain.groups) == (None, None)


def test_intervals_do_not_depend_on_the_names_of_groups():
    rng = np.random.default_rng(3)
    y, score, group = rng.integers(0, 2, 400), rng.random(400).round(2), rng.integers(0, 4, 400)
    found = []
    for names in ("abcd", "dbac"):
        gap = confidence_interval("xauc_gap", y, score, sensitive_features=np.array(list(names))[group])
        found.append([gap.low, gap.high])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-9)
