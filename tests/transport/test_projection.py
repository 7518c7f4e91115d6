import numpy as np
import ot
import pytest

import oracles
from fairpot.table import GroupCounts
from fairpot.transport import project, projection


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
