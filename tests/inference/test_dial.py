"""Bands over a dial, certificates, and what is missing for one."""

import numpy as np
import pytest
from scipy import stats

from fairpot import score_table
from fairpot.inference import confidence_interval, verdict
from fairpot.inference.certificate import (
    certify,
    falls,
    sequence,
    step_down,
    walk,
    walking_tail,
)
from fairpot.inference.change import change_by_maps
from fairpot.inference.dial import average_dials, band_of
from fairpot.inference.shares import merge_entries
from inference_oracles import PlainGaps, estimate_dial, size_limits

DIAL = np.linspace(0, 1, 9)


def table(seed=0, n=3000, groups=2):
    rng = np.random.default_rng(seed)
    g = rng.integers(0, groups, n)
    y = rng.random(n) < 0.3
    return score_table(y.astype(int), rng.normal(y + 0.6 * (g == 0)), sensitive_features=np.array(["a", "b", "c"])[g])


def moved(t):
    return {"b": lambda s: s + 1.2 * t}


def test_each_value_is_the_interval_of_its_own_table():
    rows = table()
    band = band_of(estimate_dial(rows, moved, DIAL), 0.9)
    for k, t in enumerate(DIAL):
        after = rows.rescored(moved(t))
        auc, gap = confidence_interval("auc", after, level=0.9), confidence_interval("xauc_gap", after, level=0.9)
        np.testing.assert_allclose(
            [band.auc.value[k], band.auc.low[k], band.auc.high[k]], [auc.value, auc.low, auc.high], rtol=1e-10
        )
        np.testing.assert_allclose(
            [band.gap.value[k], band.gap.low[k], band.gap.high[k]], [gap.value, *size_limits(gap)], atol=1e-12
        )
    assert (band.gap.low_all <= band.gap.low + 1e-12).all()
    assert (band.gap.high_all >= band.gap.high - 1e-12).all()
    assert list(band.frame().columns)[:3] == ["lam", "auc", "auc_low"]


def test_covariance_between_values_is_that_of_the_paired_change():
    rows = table(n=400)
    dial = estimate_dial(rows, moved, [0.0, 0.5])
    paired = change_by_maps(rows, moved(0.5))
    c = dial.gaps.covariance
    np.testing.assert_allclose(np.sqrt(c[0, 0] + c[1, 1] - 2 * c[0, 1]), paired.gap.se, rtol=1e-10)


def test_a_merged_table_has_exact_values_and_nearly_the_same_errors():
    rows = table(n=60_000)
    small = merge_entries(rows)
    assert sum(len(c.score) for c in small.counts) < 8000
    dial = estimate_dial(rows, moved, DIAL)
    for k, t in enumerate(DIAL):
        whole = confidence_interval("xauc_gap", rows.rescored(moved(t)))
        assert dial.gap[k] == pytest.approx(whole.value, abs=1e-14)
        np.testing.assert_allclose(dial.gaps.se[k], whole.se, rtol=2e-3)


def test_three_groups_have_the_largest_gap():
    rows = table(groups=3)
    band = band_of(estimate_dial(rows, moved, DIAL))
    whole = confidence_interval("xauc_gap", rows)
    np.testing.assert_allclose([band.gap.value[0], band.gap.high[0]], [whole.value, whole.high], rtol=1e-10)
    np.testing.assert_allclose(band.gap.low[0], whole.low, rtol=1e-6)


def test_folds_average():
    folds = [estimate_dial(table(seed), moved, DIAL) for seed in range(4)]
    together = average_dials(folds)
    np.testing.assert_allclose(together.gaps.value, np.mean([f.gaps.value for f in folds], axis=0))
    np.testing.assert_allclose(together.gaps.se**2, np.sum([f.gaps.se**2 for f in folds], axis=0) / 16)
    assert together.xauc.units[0][0] == sum(f.xauc.units[0][0] for f in folds)


def test_too_few_rows_have_no_band():
    rows = score_table([1] * 3 + [0] * 20 + [1, 0] * 10, range(43), sensitive_features=["a"] * 23 + ["b"] * 20)
    band = band_of(estimate_dial(rows, moved, DIAL))
    assert "fewer than 5" in band.reason
    assert np.isnan(band.gap.low).all()
    assert not np.isnan(band.gap.value).any()


def line(gap, se=0.01, rho=0.9):
    gap = np.asarray(gap)
    covariance = se**2 * (rho * np.ones((len(gap),) * 2) + (1 - rho) * np.eye(len(gap)))
    return PlainGaps(gap, covariance)


def test_certificates_by_hand():
    gaps = line([0.2, 0.1, 0.02, -0.02, -0.1])
    for other in (gaps, line(-gaps.value)):
        np.testing.assert_array_equal(step_down(other, 0.06, 0.05), [False, False, True, True, False])
        np.testing.assert_array_equal(walk(other, 0.06, 0.05), [False, False, True, False, False])
        np.testing.assert_array_equal(walk(other, 0.06, 0.05, backwards=True), [False, False, False, True, False])
    for rule in (step_down, walk):
        assert not rule(gaps, 0.02, 0.05).any()
    assert step_down(gaps, 0.5, 0.05).all()
    np.testing.assert_array_equal(walk(gaps, 0.5, 0.05), [True, True, True, False, False])
    np.testing.assert_array_equal(walk(line([-0.02, -0.03, -0.1]), 0.06, 0.05), [True, False, False])


def test_a_later_hole_stops_the_walk_and_sends_it_to_step_down():
    waving = line([0.2, 0.0, 0.15, 0.0, -0.15])
    assert not falls(waving)
    mask, how = certify(waving, 0.05, 0.05)
    assert how == "step-down"
    np.testing.assert_array_equal(mask, [False, True, False, True, False])
    assert certify(line([0.2, 0.1, 0.0]), 0.05, 0.05)[1] == "walk"
    assert falls(line([0.2, 0.1, 0.101, 0.0]))  # a rise of a tenth of a standard error


def test_a_sequence_goes_down_from_the_whole_repair_at_the_price_of_one_value():
    gaps = line([0.0, 0.2, 0.03, -0.03, 0.0])
    np.testing.assert_array_equal(sequence(gaps, 0.05, 0.05), [False, False, True, True, True])
    assert not sequence(line([0.0, 0.0, 0.05]), 0.05, 0.05).any()
    margin = 0.05 - stats.norm.ppf(0.95) * 0.01
    assert sequence(line([margin - 1e-6] * 50), 0.05, 0.05).all()
    assert not sequence(line([margin + 1e-6] * 50), 0.05, 0.05).any()
    two = sequence(line([0.0, 0.0, 0.0, 0.2, 0.0, 0.0]), 0.05, 0.05, pairs=2)  # the middle value fails in one pair
    np.testing.assert_array_equal(two, [False, False, True])


def test_the_whole_repair_shares_the_error_with_step_down():
    waving = line([0.2, 0.0, 0.15, 0.031, 0.15, 0.031], rho=0.5)
    alone, how = certify(waving, 0.05, 0.05)
    both, same = certify(waving, 0.05, 0.05, whole=True)
    assert how == same == "step-down"
    np.testing.assert_array_equal(alone, [False, True, False, False, False, False])
    np.testing.assert_array_equal(both, [False, True, False, False, False, False])
    nearer = line([0.2, 0.0, 0.15, 0.029, 0.15, 0.029], rho=0.5)
    np.testing.assert_array_equal(certify(nearer, 0.05, 0.05)[0], alone)
    np.testing.assert_array_equal(certify(nearer, 0.05, 0.05, whole=True)[0], [False, True, False, False, False, True])


def test_a_shared_error_keeps_its_promise_where_every_value_just_misses():
    rng, many, bound = np.random.default_rng(1), 8, 0.05
    truth = line([bound] * many, rho=0.6)
    root = np.linalg.cholesky(truth.covariance)
    drawn = [truth.value + root @ rng.normal(size=many) for _ in range(400)]
    kept = [certify(PlainGaps(each, truth.covariance), bound, 0.1, whole=True) for each in drawn]
    false = [mask.any() for mask, how in kept if how == "step-down"]
    assert len(false) > 300
    assert 0.03 < np.mean(false) < 0.13


def test_step_down_pays_between_one_test_and_bonferroni():
    for rho in (0.0, 0.5, 0.99):
        margin = 0.05 - np.array([stats.norm.ppf(0.95), stats.norm.ppf(1 - 0.05 / 20)]) * 0.01
        assert step_down(line([margin[1] - 1e-3] * 20, rho=rho), 0.05, 0.05).all()
        assert not step_down(line([margin[0] + 1e-3] * 20, rho=rho), 0.05, 0.05).any()


def test_step_down_keeps_its_promise_where_every_value_just_misses():
    rng, many, bound = np.random.default_rng(0), 8, 0.05
    truth = line([bound] * many, rho=0.6)
    root = np.linalg.cholesky(truth.covariance)
    false = [
        step_down(PlainGaps(truth.value + root @ rng.normal(size=many), truth.covariance), bound, 0.1).any()
        for _ in range(250)
    ]
    assert np.mean(false) < 0.1 + 3 * np.sqrt(0.09 / 250)


def test_tails_of_the_walk():
    se = np.array([0.01, 0.03, 1.0])
    critical = -stats.norm.ppf(walking_tail(0.05, se, 0.05))
    wrong = stats.norm.cdf(-critical) + stats.norm.cdf(-np.maximum(critical, 0.05 / se))
    np.testing.assert_allclose(wrong, 0.05, atol=1e-9)
    np.testing.assert_allclose(critical[[0, 2]], stats.norm.ppf([0.95, 0.975]), atol=1e-4)


@pytest.mark.parametrize(("bound", "said"), [(0.9, "within"), (0.02, "exceeds"), (0.25, "cannot tell")])
def test_verdicts(bound, said):
    found = verdict(table(n=2000), bound=bound)
    assert found.answer == said
    assert f"{bound:g}" in str(found)


def test_a_verdict_without_enough_rows_is_no_verdict():
    rows = score_table([1] * 3 + [0] * 20 + [1, 0] * 10, range(43), sensitive_features=["a"] * 23 + ["b"] * 20)
    found = verdict(rows, bound=0.5)
    assert found.answer == "cannot tell"
    assert "3 rows with the outcome" in str(found)
