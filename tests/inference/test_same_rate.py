"""Tests of the same rate in two groups, beside SciPy's and beside formulas by hand."""

import numpy as np
import pytest
from scipy import stats

from fairpot import score_table
from fairpot.inference.rates import Cut, Measuring
from fairpot.inference.same_rate import same_rate, same_share


@pytest.mark.parametrize("seed", range(20))
def test_small_tables_have_fishers_p_and_large_ones_that_of_the_chi_square(seed):
    rng = np.random.default_rng(seed)
    rows, other_rows = rng.integers(5, 200, 2)
    hits, other = rng.binomial(rows, 0.1), rng.binomial(other_rows, 0.25)
    table = np.array([[hits, rows - hits], [other, other_rows - other]])
    found = same_share(int(hits), int(rows), int(other), int(other_rows))
    if not table.sum(axis=0).all():
        assert (found.method, found.p_value) == ("fisher", 1.0)
        return
    few = stats.contingency.expected_freq(table).min() < 5
    wanted = stats.fisher_exact(table).pvalue if few else stats.chi2_contingency(table, correction=False).pvalue
    assert (found.method, found.p_value) == ("fisher" if few else "pooled", pytest.approx(wanted, rel=1e-6))
    assert (found.deviations is None) == few


def rows(n=600, seed=0):
    rng = np.random.default_rng(seed)
    g = rng.choice(["F", "M"], n)
    return rng.random(n).round(2), g, (rng.random(n) < 0.4).astype(int)


def robust(selected, group, weight, units):
    """The difference of weighted shares over its standard error by hand: sum over units of (sum of w e)^2."""
    error, shares = np.zeros(len(selected)), []
    for sign, name in ((1, "F"), (-1, "M")):
        own = group == name
        share = np.average(selected[own], weights=weight[own])
        shares.append(share)
        error[own] = sign * weight[own] * (selected[own] - share) / weight[own].sum()
    sums = np.bincount(units, weights=error)
    return (shares[0] - shares[1]) / np.sqrt(np.sum(sums**2))


@pytest.mark.parametrize("below", [False, True])
def test_weights_and_clusters_have_robust_errors(below):
    s, g, y = rows()
    w, units = np.random.default_rng(1).exponential(size=len(s)), np.arange(len(s)) // 4
    up = (s >= 0.6) != below
    cut = Cut("score", 0.6, below=below)
    alone = np.arange(len(s))
    for method, given, weight, together in (
        ("weights", {"sample_weight": w}, w, alone),
        ("clusters", {"clusters": units}, np.ones(len(s)), units),
        ("clusters", {"clusters": units, "sample_weight": w}, w, units),
    ):
        table = score_table(y, s, sensitive_features=g, **given)
        found = same_rate(Measuring(table, cut), "selection_rate", (0,), (1,))
        z = robust(up, g, weight, together)
        assert found.method == method
        assert found.deviations == pytest.approx(z)
        assert found.p_value == pytest.approx(2 * stats.norm.sf(abs(z)))


def test_a_frequency_is_so_many_rows_and_an_importance_times_a_constant_changes_nothing():
    s, g, y = rows(200)
    many = np.random.default_rng(2).integers(1, 5, len(s))
    cut, again = Cut("score", 0.6), np.repeat(np.arange(len(s)), many)
    one, other = (
        same_rate(Measuring(table, cut), "selection_rate", (0,), (1,))
        for table in (
            score_table(y, s, sensitive_features=g, sample_weight=many, weights="frequency"),
            score_table(y[again], s[again], sensitive_features=g[again]),
        )
    )
    assert one == other
    w = np.random.default_rng(3).random(len(s))
    first, *rest = (
        same_rate(
            Measuring(score_table(y, s, sensitive_features=g, sample_weight=w * factor), cut),
            "selection_rate",
            (0,),
            (1,),
        )
        for factor in (1, 1000, 0.001, 1 / 3)
    )
    assert [each.p_value for each in rest] == [pytest.approx(first.p_value, rel=1e-9)] * 3


def test_where_no_test_says_anything_it_says_why():
    s, g, y = rows(200)
    table = score_table(y, s, sensitive_features=g)
    made = same_rate(Measuring(table, Cut("top", None, 0.2, "group")), "selection_rate", (0,), (1,))
    assert (made.p_value, made.reason) == (None, "the cut is made so that it is this share")
    mean = same_rate(Measuring(table), "mean_score", (0,), (1,))
    assert mean.reason == "only shares of rows are tested"
    flat = score_table(y, np.ones(200), sensitive_features=g, clusters=np.arange(200))
    assert (
        same_rate(Measuring(flat, Cut("score", 0.5)), "selection_rate", (0,), (1,)).reason == "the rows show no spread"
    )
    nobody = same_rate(Measuring(table, Cut("score", 9.0)), "ppv", (0,), (1,))
    assert nobody.reason == "a group has no such rows"


def test_the_level_of_the_tests_is_kept_also_at_a_cut_that_is_found_in_the_rows():
    """Groups that do not matter: p below 0.05 in 5% of draws at most, with room for three standard errors."""
    rng = np.random.default_rng(4)
    for n, cut in (
        (400, Cut("top", None, 0.2)),
        (60, Cut("median")),
        (400, Cut("score", 0.5)),
        (40, Cut("score", 0.9)),
    ):
        wrong = 0
        for _ in range(300):
            table = score_table(
                np.arange(n) % 2, rng.random(n), sensitive_features=np.where(rng.random(n) < 0.3, "F", "M")
            )
            found = same_rate(Measuring(table, cut), "selection_rate", (0,), (1,))
            wrong += found.p_value is not None and found.p_value < 0.05
        assert wrong / 300 < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 300)
