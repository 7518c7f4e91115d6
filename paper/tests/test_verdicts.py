"""Verdicts from differences whose answer is known."""

import numpy as np
import pytest
from scipy import stats

from fairpot_paper.verdicts import (
    FAILS,
    HOLDS,
    OPEN,
    Difference,
    all_of,
    allowing_for_shared_rows,
    at_least,
    is_above,
    is_within,
    mean_difference,
    one_above,
    opposite,
    paired,
)

NAN = float("nan")


@pytest.fixture
def values():
    rng = np.random.default_rng(3)
    return rng.normal(0.7, 0.05, 20), rng.normal(0.69, 0.05, 20)


def test_over_splits_it_is_the_paired_t_test(values):
    one, other = values
    theirs = stats.ttest_rel(one, other)
    ours = paired(one, other, "compas")
    assert ours.mean == pytest.approx((one - other).mean())
    assert ours.error == pytest.approx((one - other).std(ddof=1) / np.sqrt(20))
    low, high = theirs.confidence_interval(0.95)
    assert (ours.mean - ours.reach(), ours.mean + ours.reach()) == pytest.approx((low, high))


def test_over_resamples_the_error_is_their_deviation(values):
    one, other = values
    ours = paired(one, other, "clinical")
    assert ours.error == pytest.approx((one - other).std(ddof=1))
    assert ours.reach() == pytest.approx(stats.t.ppf(0.975, 19) * ours.error)


def test_seeds_without_a_figure_are_left_out_in_pairs(values):
    one, other = (each.copy() for each in values)
    one[3], other[7] = np.nan, np.nan
    keep = [k for k in range(20) if k not in (3, 7)]
    ours, plain = paired(one, other, "bank"), paired(one[keep], other[keep], "bank")
    assert ours.n == 18
    assert ours[:2] == pytest.approx(plain[:2])


@pytest.mark.parametrize("data", ["bank", "clinical"])
@pytest.mark.parametrize("change", [-100.0, 0.0, 100.0])
def test_one_pair_tells_nothing(data, change):
    ours = paired(np.array([change]), np.array([0.0]), data)
    assert not ours.above
    assert not ours.below
    assert not ours.zero
    assert is_above(ours) == is_within(ours, 1.0) == one_above([ours, ours]) == OPEN
    assert str(ours) == f"{change:+.4f} (one run)"


def test_no_pair_tells_nothing():
    ours = paired(np.array([np.nan, 1.0]), np.array([1.0, np.nan]), "bank")
    assert is_above(ours) == is_within(ours, 1.0) == OPEN
    assert "nan" not in str(ours)


def test_sides():
    ahead = paired(np.array([0.72, 0.73, 0.74]), np.array([0.62, 0.629, 0.641]), "bank")
    behind = Difference(-ahead.mean, ahead.error, ahead.n)
    assert (ahead.above, ahead.below, behind.above, behind.below) == (True, False, False, True)
    assert (is_above(ahead), is_above(behind)) == (HOLDS, FAILS)
    assert is_above(Difference(0.01, 0.009, 20)) == OPEN
    assert str(ahead).startswith("+0.1000 ±")


def test_among_many_only_the_refutation_is_harder():
    # 2.5 errors from zero: beyond 95 % on its own (2.09 errors), not as one of 13 (3.3 errors).
    behind, ahead = Difference(-0.0025, 0.001, 20), Difference(0.0025, 0.001, 20)
    assert is_above(behind) == FAILS
    assert is_above(behind, 13) == OPEN
    assert is_above(Difference(-0.004, 0.001, 20), 13) == FAILS
    assert is_above(ahead, 13) == HOLDS
    assert is_within(Difference(0.0075, 0.001, 20), 0.005) == FAILS
    assert is_within(Difference(0.0075, 0.001, 20), 0.005, 13) == OPEN


def test_one_of_many_has_to_stand_out():
    ahead, nothing, behind = Difference(0.0025, 0.001, 20), Difference(0.0, 0.001, 20), Difference(-0.0025, 0.001, 20)
    assert one_above([ahead]) == HOLDS
    assert one_above([ahead] * 11) == OPEN
    assert one_above([Difference(0.004, 0.001, 20), *[behind] * 10]) == HOLDS
    assert one_above([behind] * 11) == FAILS
    assert one_above([behind] * 10 + [nothing]) == OPEN
    assert one_above([behind, Difference(0.0, 0.0, 20)]) == FAILS


@pytest.mark.parametrize("sign", [-1, 1])
def test_negligible(sign):
    assert is_within(Difference(sign * 0.002, 0.001, 20), 0.005) == HOLDS
    assert is_within(Difference(sign * 0.004, 0.001, 20), 0.005) == OPEN
    assert is_within(Difference(sign * 0.009, 0.001, 20), 0.005) == FAILS


def test_several():
    assert all_of([HOLDS, HOLDS]) == HOLDS
    assert all_of([HOLDS, OPEN]) == OPEN
    assert all_of([HOLDS, OPEN, FAILS]) == FAILS
    assert all_of([]) == "not run"
    assert at_least([HOLDS, HOLDS, FAILS], 2) == HOLDS
    assert at_least([HOLDS, OPEN, FAILS], 2) == OPEN
    assert at_least([HOLDS, FAILS, FAILS], 2) == FAILS
    assert [opposite(each) for each in (HOLDS, FAILS, OPEN)] == [FAILS, HOLDS, OPEN]


def test_mean_of_independent_differences():
    ours = mean_difference([Difference(0.04, 0.003, 20), Difference(0.0, 0.004, 15)])
    assert ours[:3] == pytest.approx((0.02, 0.0025, 15))
    assert not mean_difference([Difference(0.04, 0.003, 20), Difference(0.5, NAN, 1)]).above


def test_splits_that_share_rows_reach_further_if_that_is_allowed_for(values):
    one, other = values
    plain = {data: paired(one, other, data).reach() for data in ("compas", "draws", "clinical")}
    with allowing_for_shared_rows():
        wider = {data: paired(one, other, data).reach() for data in plain}
    assert wider["compas"] == pytest.approx(plain["compas"] * np.sqrt(1 + 20 * 0.25))
    assert (wider["draws"], wider["clinical"]) == (plain["draws"], plain["clinical"])
    assert paired(one, other, "compas").reach() == plain["compas"]
