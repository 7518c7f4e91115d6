"""Mini-batches: positives in each, every row seen, and a gradient that is right on average."""

import numpy as np
import pytest

from fairpot_paper.network import Batches, RunningTail
from fairpot_paper.objective import tail_derivatives

POSITIVES, NEGATIVES, SIZE = 12, 60, 5


def tail_gradient(positive, negative, temperature=1.0, **weights):
    return tail_derivatives(positive, negative, temperature, **weights)[0]


@pytest.fixture
def scores():
    rng = np.random.default_rng(2)
    return rng.random(POSITIVES) * 0.6 + 0.2, rng.random(NEGATIVES) * 0.8


def make_tail(temperature, momentum):
    return RunningTail(POSITIVES, temperature=temperature, momentum=momentum)


def give(tail, rows, s, z, negatives):
    return tail.gradient(rows, s[rows], z[negatives], np.ones(len(rows)), np.ones(len(negatives)))


def all_batches():
    """Every negative once, in batches of five; all positives in each."""
    return np.random.default_rng(0).permutation(NEGATIVES).reshape(-1, SIZE)


def mean_gradient(tail_of_batch, s, z):
    """The mean over a partition of the negatives, hence over all batches of that size."""
    up, down = np.zeros(POSITIVES), np.zeros(NEGATIVES)
    batches = all_batches()
    for negatives in batches:
        found = give(tail_of_batch(), np.arange(POSITIVES), s, z, negatives)
        up += found.positive / len(batches)
        down[negatives] += found.negative / len(batches)
    return up, down


@pytest.mark.parametrize("temperature", [0.05, 0.3, 5.0])
def test_right_on_average_once_the_running_mean_is(scores, temperature):
    s, z = scores
    exact = tail_gradient(s, z, temperature=temperature)
    hinge = np.maximum(1 - (s[:, None] - z), 0)
    known = np.log(np.exp(hinge**2 / temperature).mean(axis=1))

    def settled():
        tail = make_tail(temperature, 1e-12)  # the running mean is known and does not move
        tail.log_mean = known.copy()
        return tail

    up, down = mean_gradient(settled, s, z)
    np.testing.assert_allclose(up, exact.positive, rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(down, exact.negative, rtol=1e-9, atol=1e-14)


def test_batches_alone_are_not(scores):
    """Without memory the same mean aims elsewhere: this is what the running estimate is for."""
    s, z = scores
    exact = tail_gradient(s, z, temperature=0.05)
    up, _ = mean_gradient(lambda: make_tail(0.05, 1.0), s, z)
    assert np.abs(up / exact.positive - 1).max() > 0.05


def test_running_mean_finds_the_mean(scores):
    s, z = scores
    tail = make_tail(0.3, 0.02)
    rng = np.random.default_rng(1)
    for _ in range(3000):
        give(tail, np.arange(POSITIVES), s, z, rng.choice(NEGATIVES, SIZE, replace=False))
    hinge = np.maximum(1 - (s[:, None] - z), 0)
    np.testing.assert_allclose(tail.log_mean, np.log(np.exp(hinge**2 / 0.3).mean(axis=1)), atol=0.25)


def test_whole_weights_are_repeated_negatives(scores):
    s, z = scores
    weight = np.array([1.0, 3.0, 2.0])
    rows, ones = np.arange(POSITIVES), np.ones(POSITIVES)
    found = make_tail(0.3, 0.5).gradient(rows, s, z[:3], ones, weight / weight.mean())
    repeated = make_tail(0.3, 0.5).gradient(rows, s, np.repeat(z[:3], [1, 3, 2]), ones, np.ones(6))
    assert found.value == pytest.approx(repeated.value)
    np.testing.assert_allclose(found.positive, repeated.positive)


def test_huge_losses_do_not_overflow():
    tail = RunningTail(2, temperature=1e-3, momentum=0.5)
    with np.errstate(over="raise", invalid="raise"):
        for _ in range(3):
            found = tail.gradient(np.arange(2), np.array([0.0, -900.0]), np.array([5.0, 700.0]), np.ones(2), np.ones(2))
    assert np.isfinite([*found.positive, *found.negative]).all()


@pytest.mark.parametrize(("positives", "negatives"), [(7, 1000), (300, 40), (1, 50), (40, 1), (1, 1), (3, 5)])
def test_batches(positives, negatives):
    batches = list(Batches(positives, negatives, 64, 0.25, np.random.default_rng(0)))
    assert len(batches) >= 20
    for up, down in batches:
        assert 1 <= len(up) <= positives
        assert 1 <= len(down) <= negatives
        assert len(set(up)) == len(up)
        assert len(set(down)) == len(down)
        assert len(up) + len(down) <= 64
    assert {row for up, _ in batches for row in up} == set(range(positives))
    assert {row for _, down in batches for row in down} == set(range(negatives))


def test_rare_positives_are_in_every_batch():
    sizes = {(len(up), len(down)) for up, down in Batches(10, 5000, 64, 0.25, np.random.default_rng(0))}
    assert sizes == {(10, 54)}
