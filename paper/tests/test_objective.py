"""The objective against loops, torch's automatic gradients, finite differences and its limits."""

import math

import numpy as np
import pytest

import fairpot_paper.objective as objective
from fairpot_paper.objective import Bins, binned_derivatives, tail_derivatives


def tail_gradient(positive, negative, temperature=1.0, **weights):
    return tail_derivatives(positive, negative, temperature, **weights)[0]


temperatures = pytest.mark.parametrize("temperature", [0.05, 1.0, 20.0])


def scores(seed=0, positives=7, negatives=11, scale=1.0):
    rng = np.random.default_rng(seed)
    return scale * (rng.random(positives) + 0.3), scale * rng.random(negatives)


def by_loops(positive, negative, temperature, p=None, q=None):
    """The formula of the paper's Appendix C, written out."""
    p, q = p or [1] * len(positive), q or [1] * len(negative)
    total = 0.0
    for s, weight in zip(positive, p):
        inner = sum(w * math.exp(max(0.0, 1 - (s - z)) ** 2 / temperature) for z, w in zip(negative, q))
        total += weight * temperature * math.log(inner / sum(q))
    return total / sum(p)


def pairwise(positive, negative):
    return np.maximum(1 - (positive[:, None] - negative[None, :]), 0) ** 2


@temperatures
def test_equals_the_formula(temperature):
    s, z = scores()
    expected = by_loops(s, z, temperature)
    assert tail_gradient(s, z, temperature=temperature).value == pytest.approx(expected, rel=1e-12)
    p, q = [1, 2, 0, 3, 1, 1, 2], [2, 1, 1, 0, 1, 4, 1, 1, 1, 1, 1]
    weighted = tail_gradient(s, z, temperature=temperature, positive_weight=p, negative_weight=q).value
    assert weighted == pytest.approx(by_loops(s, z, temperature, p, q), rel=1e-12)


@temperatures
def test_whole_weights_are_repeated_rows(temperature):
    s, z = scores()
    p, q = np.array([1, 2, 0, 3, 1, 1, 2]), np.array([2, 1, 1, 0, 1, 4, 1, 1, 1, 1, 1])
    weighted = tail_gradient(s, z, temperature=temperature, positive_weight=p, negative_weight=q)
    repeated = tail_gradient(np.repeat(s, p), np.repeat(z, q), temperature=temperature)
    assert weighted.value == pytest.approx(repeated.value, rel=1e-12)
    first = np.append(0, np.cumsum(p))[:-1][p > 0]
    np.testing.assert_allclose(weighted.positive[p > 0], p[p > 0] * repeated.positive[first], rtol=1e-11)


def test_hot_is_the_mean_over_all_pairs():
    s, z = scores()
    assert tail_gradient(s, z, temperature=1e9).value == pytest.approx(pairwise(s, z).mean(), rel=1e-8)
    found = tail_gradient(s, z, temperature=1e9)
    hinge = np.maximum(1 - (s[:, None] - z), 0)
    np.testing.assert_allclose(found.positive, -2 * hinge.mean(axis=1) / len(s), rtol=1e-7)
    np.testing.assert_allclose(found.negative, 2 * hinge.mean(axis=0) / len(z), rtol=1e-7)


def test_cold_is_the_worst_negative():
    s, z = scores()
    assert tail_gradient(s, z, temperature=1e-9).value == pytest.approx(pairwise(s, z).max(axis=1).mean(), rel=1e-6)
    found = tail_gradient(s, z, temperature=1e-9)
    assert np.flatnonzero(found.negative).tolist() == [np.argmax(z)]


def test_grows_as_it_cools():
    s, z = scores()
    values = [tail_gradient(s, z, temperature=t).value for t in (100, 10, 1, 0.1, 0.01)]
    assert values == sorted(values)


@pytest.mark.parametrize("scale", [1.0, 1e3, 1e6])
def test_no_overflow(scale):
    s, z = scores(scale=scale)
    with np.errstate(over="raise", invalid="raise"):
        found = tail_gradient(s, z, temperature=1e-3)
    assert np.isfinite([found.value, *found.positive, *found.negative]).all()


@temperatures
def test_gradient_by_finite_differences(temperature):
    s, z = scores(3)
    p, q = np.arange(1.0, 8.0), np.arange(1.0, 12.0)
    options = {"temperature": temperature, "positive_weight": p, "negative_weight": q}
    found, joined, step = tail_gradient(s, z, **options), np.r_[s, z], 1e-6
    for place, derivative in enumerate(np.r_[found.positive, found.negative]):
        up, down = joined.copy(), joined.copy()
        up[place] += step
        down[place] -= step
        difference = tail_gradient(up[:7], up[7:], **options).value - tail_gradient(down[:7], down[7:], **options).value
        assert derivative == pytest.approx(difference / (2 * step), rel=1e-5, abs=1e-9)


@temperatures
def test_gradient_and_curvature_by_torch(temperature):
    torch = pytest.importorskip("torch")
    s, z = scores(5)
    p, q = np.arange(1.0, 8.0), np.arange(1.0, 12.0)

    def loss(joined):
        hinge = (1 - (joined[:7, None] - joined[None, 7:])).clamp(min=0)
        inner = torch.logsumexp(hinge**2 / temperature + torch.log(torch.tensor(q / q.sum())), dim=1)
        return (torch.tensor(p / p.sum()) * temperature * inner).sum()

    joined = torch.tensor(np.r_[s, z], dtype=torch.float64)
    first, second = tail_derivatives(s, z, temperature, p, q)
    assert first.value == pytest.approx(float(loss(joined)), rel=1e-12)
    gradient = torch.autograd.functional.jacobian(loss, joined).numpy()
    np.testing.assert_allclose(np.r_[first.positive, first.negative], gradient, rtol=1e-9, atol=1e-14)
    diagonal = torch.autograd.functional.hessian(loss, joined).diagonal().numpy()
    np.testing.assert_allclose(np.r_[second.positive, second.negative - second.own], diagonal, rtol=1e-8, atol=1e-12)


def test_blocks_change_nothing(monkeypatch):
    s, z = scores(1, 50, 30)
    whole = tail_derivatives(s, z, 0.5)
    monkeypatch.setattr(objective, "_BLOCK", 100)
    for one, other in zip(whole, tail_derivatives(s, z, 0.5)):
        for a, b in zip(one, other):
            np.testing.assert_allclose(a, b, rtol=1e-12)


def rows(seed=0, n=400, distinct=None):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.3).astype(np.int8)
    s = rng.normal(size=n) + y
    return (s if distinct is None else np.round(s * distinct) / distinct), y, rng.random(n) + 0.5


def by_rows(s, y, weight, temperature=0.5):
    """The same without bins."""
    first, second = tail_derivatives(s[y == 1], s[y == 0], temperature, weight[y == 1], weight[y == 0])
    total = weight[y == 1].sum()
    gradient, hessian = np.empty(len(s)), np.empty(len(s))
    gradient[y == 1], gradient[y == 0] = first.positive, first.negative
    hessian[y == 1], hessian[y == 0] = second.positive, second.negative - second.own / weight[y == 0]
    return total * first.value, total * gradient, total * hessian


def test_bins_are_exact_for_tied_scores():
    s, y, weight = rows(distinct=10)
    found = binned_derivatives(s, y, weight, temperature=0.5, bins=200)
    for one, other in zip(found, by_rows(s, y, weight)):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-14)


def test_whole_weights_are_repeated_rows_in_bins():
    s, y, _ = rows(distinct=10)
    weight = np.random.default_rng(1).integers(1, 4, len(y))
    again = np.repeat(np.arange(len(y)), weight)
    one = binned_derivatives(s, y, weight * 1.0, temperature=0.5, bins=200)
    two = binned_derivatives(s[again], y[again], np.ones(len(again)), temperature=0.5, bins=200)
    np.testing.assert_allclose(np.bincount(again, two.gradient), one.gradient, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(np.bincount(again, two.hessian), one.hessian, rtol=1e-9, atol=1e-12)


def test_more_bins_are_closer():
    s, y, weight = rows(n=3000)
    exact = by_rows(s, y, weight)
    for bins, most in ((32, 0.5), (256, 1e-3), (1024, 1e-4)):
        found = binned_derivatives(s, y, weight, temperature=0.5, bins=bins)
        assert max(np.abs(a - b).max() / np.abs(b).max() for a, b in zip(found, exact)) < most


def test_no_score_moves_by_more_than_a_bin():
    s, _, weight = rows(n=3000)
    found = Bins.of(s, weight, 64)
    assert len(found.score) <= 64
    assert np.abs(found.score[found.place] - s).max() <= np.ptp(s) / 64
    assert found.weight.sum() == pytest.approx(weight.sum())
