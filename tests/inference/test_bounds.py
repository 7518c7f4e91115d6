"""Bounds of a gap, against every way to give unknown rows to two groups."""

import itertools

import numpy as np
import pytest

from fairpot import audit, score_table
from fairpot.inference import bounds


def brute(y, score, group, weight, ties):
    unknown, found = np.flatnonzero(group == "u"), []

    def xauc(here, first, second):
        plus, minus = (y == 1) & (here == first), (y == 0) & (here == second)
        if not plus.any() or not minus.any():
            return np.nan
        ahead = score[plus][:, None] - score[minus]
        won = (ahead > 0) + (0.5 * (ahead == 0) if ties == "half" else 0)
        return weight[plus] @ won @ weight[minus] / (weight[plus].sum() * weight[minus].sum())

    for given in itertools.product("ab", repeat=len(unknown)):
        here = group.copy()
        here[unknown] = given
        found.append(xauc(here, "a", "b") - xauc(here, "b", "a"))
    return np.nanmin(found), np.nanmax(found)


def draw(seed, rows=22):
    rng = np.random.default_rng(seed)
    y, score = rng.integers(0, 2, rows), rng.integers(0, rng.integers(2, 12), rows).astype(float)
    unknown = rng.integers(1, 8)
    group = np.array(["u"] * unknown + [*"aabb"] + [*rng.choice(["a", "b"], rows - unknown - 4)])
    y[unknown : unknown + 4] = [0, 1, 0, 1]
    return rng, y, score, group


@pytest.mark.parametrize("ties", ["half", "strict"])
@pytest.mark.parametrize("kind", [None, "frequency", "importance"])
def test_bounds_are_those_of_all_assignments(kind, ties):
    for seed in range(12):
        rng, y, score, group = draw(seed)
        weight = np.ones(len(y))
        if kind is not None:
            weight = np.where(group == "u", 1, rng.integers(1, 4, len(y)))
        given = {} if kind is None else {"sample_weight": weight, "weights": kind}
        table = score_table(y, score, sensitive_features=group, **given)
        found = bounds.gap_bounds(table["a"], table["b"], table["u"], ties)
        np.testing.assert_allclose(found, brute(y, score, group, weight, ties), atol=1e-12)


def test_bounds_of_equal_weights_are_exact_where_a_group_may_lose_an_outcome():
    for seed in range(20):
        _, y, score, group = draw(seed, rows=12)
        weight = np.full(len(y), 0.7)
        y[(group == "b") & (y == 1)] = 0
        table = score_table(y, score, sensitive_features=group, sample_weight=weight)
        if y[group == "u"].any():
            found = bounds.gap_bounds(table["a"], table["b"], table["u"])
            np.testing.assert_allclose(found, brute(y, score, group, weight, "half"), atol=1e-12)


@pytest.mark.parametrize("ties", ["half", "strict"])
def test_bounds_hold_where_rows_weigh_differently(ties):
    for seed in range(3):
        rng, y, score, group = draw(seed)
        weight = np.exp(rng.normal(0, 1.5, len(y)))
        table = score_table(y, score, sensitive_features=group, sample_weight=weight)
        low, high = bounds.gap_bounds(table["a"], table["b"], table["u"], ties)
        least, most = brute(y, score, group, weight, ties)
        assert low <= least + 1e-12
        assert high >= most - 1e-12
    rng = np.random.default_rng(1)
    y, group = rng.integers(0, 2, 2000), rng.choice(["a", "b", "u"], 2000, p=[0.45, 0.45, 0.1])
    score, weight = rng.normal(y), rng.uniform(0.999, 1.001, 2000)
    exact = score_table(y, score, sensitive_features=group)
    table = score_table(y, score, sensitive_features=group, sample_weight=weight)
    ends = [bounds.gap_bounds(each["a"], each["b"], each["u"], ties) for each in (exact, table)]
    np.testing.assert_allclose(*ends, atol=0.002)


def test_where_some_cuts_are_passed_over_bounds_are_a_little_wider(monkeypatch):
    rng = np.random.default_rng(0)
    y, group = rng.integers(0, 2, 4000), rng.choice(["a", "b", "u"], 4000, p=[0.45, 0.45, 0.1])
    table = score_table(y, rng.normal(y + 0.2 * (group == "a")), sensitive_features=group)
    exact = bounds.gap_bounds(table["a"], table["b"], table["u"])
    monkeypatch.setattr(bounds, "_MOST_CUTS", 2000)
    low, high = bounds.gap_bounds(table["a"], table["b"], table["u"])
    assert exact[0] - 0.02 < low <= exact[0]
    assert exact[1] <= high < exact[1] + 0.02


@pytest.mark.filterwarnings("ignore::fairpot.exceptions.SmallGroupWarning")
def test_an_audit_states_them_as_bounds_of_two_groups():
    _, y, score, group = draw(3, rows=60)
    found = audit(y, score, sensitive_features=group, unknown=["u"])
    first, second = found.unknown.pair
    table = score_table(y, score, sensitive_features=group)
    ends = bounds.gap_bounds(table[first], table[second], table["u"])
    assert (found.unknown.lowest, found.unknown.highest) == ends
    assert ends[0] <= found.ranking.pair(first, second).signed_gap <= ends[1]
    assert found.to_dict()["unknown"]["lowest"] == ends[0]
    assert "bounds, not an interval" in str(found)
    assert [each["group"] for each in found.rows("groups")] == ["a", "b", "u"]
    assert "u" not in (*found.gap.groups, found.reference)
    three = audit(y, score, sensitive_features=np.where(score > 5, "c", group), unknown=["u"])
    assert three.unknown.lowest is None
    assert "not bounded" in str(three)
