from fractions import Fraction

import numpy as np
import ot
import pytest

import oracles
from fairpot.counts import GroupCounts
from fairpot.transport import plan as projection
from fairpot.transport import project


def count(rows, weight=None):
    counts = GroupCounts.from_rows(np.asarray(rows, dtype=float), None, weight)
    return counts.score, counts.weight


def projected(b, a, b_weight=None, a_weight=None):
    return project(*count(b, b_weight), *count(a, a_weight))


SCALES = {
    "tenths": lambda rng, n: rng.integers(0, 11, n) / 10,
    "integers": lambda rng, n: rng.integers(0, 9, n).astype(float),
    "continuous": lambda rng, n: rng.random(n),
    "log-odds": lambda rng, n: rng.normal(size=n) * 5,
    "tiny": lambda rng, n: rng.random(n) * 1e-290,
    "large": lambda rng, n: rng.random(n) * 1e290,
    "far from zero": lambda rng, n: 1e9 + rng.integers(0, 9, n) / 8,
}


@pytest.mark.parametrize("scale", SCALES)
def test_equals_exact_fractions(scale):
    """Correctly rounded values of the exact rational mean, so that true ties come out as ties."""
    rng = np.random.default_rng(0)
    for _ in range(300):
        b, a = (SCALES[scale](rng, rng.integers(1, 12)) for _ in range(2))
        expected = oracles.project(b, a)
        assert projected(b, a).tolist() == [expected[s] for s in sorted(expected)]


def test_equals_pot():
    rng = np.random.default_rng(1)
    for _ in range(50):
        b, a = np.sort(rng.random(rng.integers(1, 40))), np.sort(rng.random(rng.integers(1, 40)))
        plan = ot.emd([], [], ot.dist(b[:, None], a[:, None]), numItermax=1_000_000)
        np.testing.assert_allclose(projected(b, a), len(b) * plan @ a, atol=1e-12)


def test_a_cell_inside_one_target_cell_returns_that_score_bit_for_bit():
    a = np.repeat([0.1, 0.2, 0.7], [3, 3, 3])
    b = np.arange(9) / 100
    assert projected(b, a).tolist() == np.repeat([0.1, 0.2, 0.7], 3).tolist()


def test_same_measure_is_the_identity():
    rng = np.random.default_rng(2)
    rows = rng.random(100_000)
    np.testing.assert_array_equal(projected(rows, rows), np.sort(rows))
    np.testing.assert_array_equal(projected(rows, np.repeat(rows, 7)), np.sort(rows))


def test_many_blocks_equal_one(monkeypatch):
    rng = np.random.default_rng(3)
    for n_b, n_a in ((5000, 300), (300, 5000), (2000, 2000)):
        b, a = rng.integers(0, 3000, n_b) / 3000, rng.random(n_a)
        expected = projected(b, a)
        monkeypatch.setattr(projection, "_BLOCK", 256)
        np.testing.assert_array_equal(projected(b, a), expected)
        monkeypatch.undo()


def test_doubles_agree_with_extended_precision(monkeypatch):
    """Long tables are summed in doubles: the same to the last bit or two."""
    rng = np.random.default_rng(4)
    b, a = rng.random(20_000), rng.random(50_000)
    expected = projected(b, a)
    monkeypatch.setattr(projection, "_COARSE", 0)
    np.testing.assert_allclose(projected(b, a), expected, rtol=4e-16)


def test_whole_weights_are_repeated_rows():
    rng = np.random.default_rng(5)
    for _ in range(100):
        b, a = rng.integers(0, 9, 7) / 8, rng.integers(0, 9, 6) / 8
        w_b, w_a = rng.integers(0, 4, 7) + (np.arange(7) == 0), rng.integers(0, 4, 6) + (np.arange(6) == 0)
        expected = projected(np.repeat(b, w_b), np.repeat(a, w_a))
        np.testing.assert_array_equal(projected(b, a, w_b, w_a), expected)


def test_fractional_weights_are_scaled_whole_weights_within_the_tolerance():
    rng = np.random.default_rng(6)
    for _ in range(100):
        b, a = rng.random(7), rng.random(6)
        w_b, w_a = rng.integers(1, 9, 7), rng.integers(1, 9, 6)
        expected = projected(b, a, w_b, w_a)
        np.testing.assert_allclose(projected(b, a, w_b * 0.1, w_a / 7), expected, atol=1e-11)


def test_fractional_weights_keep_exact_ties():
    """Boundaries that coincide up to round-off count as one, so a target score is returned as it is."""
    a, b = np.array([0.1, 0.2, 0.7]), np.arange(9) / 100
    assert projected(b, a, np.full(9, 0.1), np.full(3, 0.3)).tolist() == np.repeat(a, 3).tolist()


def test_never_decreases_and_stays_in_range():
    rng = np.random.default_rng(7)
    for _ in range(200):
        b, a = rng.normal(size=rng.integers(1, 200)), np.round(rng.normal(size=rng.integers(1, 200)), 2)
        result = projected(b, a)
        assert (np.diff(result) >= 0).all()
        assert a.min() <= result.min() <= result.max() <= a.max()


def test_counts_beyond_int64():
    score, target = np.array([0.0, 1.0]), np.array([0.0, 1.0, 2.0])
    weight, target_weight = np.array([3, 3]) * 10**12, np.array([2, 2, 2]) * 10**12
    expected = project(score, np.array([3, 3]), target, np.array([2, 2, 2]))
    np.testing.assert_array_equal(project(score, weight, target, target_weight), expected)


def exact_projection(weight, target, target_weight):
    """Project by the monotone coupling in exact fractions of the weights as they are."""
    weight, target_weight = ([Fraction(float(w)) for w in part] for part in (weight, target_weight))
    scale = sum(target_weight) / sum(weight)
    projected, begin = [], Fraction(0)
    for w in weight:
        end, at, total = begin + w * scale, Fraction(0), Fraction(0)
        for score, cell in zip(target, target_weight):
            total += max(min(end, at + cell) - max(begin, at), 0) * Fraction(float(score))
            at += cell
        projected.append(float(total / (w * scale)))
        begin = end
    return np.array(projected)


@pytest.mark.parametrize("seed", range(8))
def test_weights_of_very_different_size(seed):
    """Time-decayed weights: a row may weigh less than the round-off of the whole."""
    rng = np.random.default_rng(seed)
    scores, target = np.sort(rng.random(60)), np.sort(rng.random(50))
    weight, target_weight = np.exp(-rng.random(60) * 60), np.exp(-rng.random(50) * 3)
    if seed % 2:
        weight[-1] = 1e-16  # the top score
    got = project(scores, weight, target, target_weight)
    assert (np.diff(got) >= 0).all()
    heavy = weight > 1e-8 * weight.sum()  # the others have cells no longer than the round-off of a boundary
    np.testing.assert_allclose(got[heavy], exact_projection(weight, target, target_weight)[heavy], atol=1e-6)
    assert got[-1] == pytest.approx(exact_projection(weight, target, target_weight)[-1], abs=1e-12)


def test_cells_without_length_at_the_end_of_a_block(monkeypatch):
    monkeypatch.setattr("fairpot.transport.plan._BLOCK", 1)
    rng = np.random.default_rng(0)
    scores, target = np.arange(400.0), np.arange(300.0)
    weight = np.where(rng.random(400) < 0.5, 1.5, 1e-17)
    target_weight = np.where(rng.random(300) < 0.5, 0.25, 1e-17)
    in_blocks = project(scores, weight, target, target_weight)
    monkeypatch.undo()
    np.testing.assert_allclose(in_blocks, project(scores, weight, target, target_weight), rtol=1e-14)
    assert (np.diff(in_blocks) >= 0).all()
