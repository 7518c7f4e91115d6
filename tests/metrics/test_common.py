"""Properties that every metric in the registry has; a new metric is covered the day it joins."""

import numpy as np
import pytest

from oracles import EVERY_METRIC, arguments

AVAILABLE = {"top": 0.4, "positive": "a", "negative": "b", "group": "a"}


def rows(seed, n=80, groups=("a", "b"), values=12):
    rng = np.random.default_rng(seed)
    group = np.array(groups)[np.r_[np.arange(len(groups)).repeat(2), rng.integers(0, len(groups), n)]]
    y = np.r_[np.tile([0, 1], len(groups)), rng.integers(0, 2, n)]
    return y, rng.integers(0, values, len(y)) / values, group


def call(name, y, s, group, **changes):
    metric = EVERY_METRIC[name]
    return metric.function(y, s, **arguments(metric, AVAILABLE | {"sensitive_features": group}), **changes)


def ties(name):
    return [{"ties": "strict"}, {"ties": "half"}] if EVERY_METRIC[name].has_ties else [{}]


cases = pytest.mark.parametrize("name", EVERY_METRIC)
seeds = pytest.mark.parametrize("seed", range(6))


@cases
@seeds
def test_row_order_does_not_matter(name, seed):
    y, s, group = rows(seed)
    order = np.random.default_rng(seed).permutation(len(y))
    for convention in ties(name):
        assert call(name, y, s, group, **convention) == call(name, y[order], s[order], group[order], **convention)


@cases
@seeds
def test_whole_weights_are_repeated_rows(name, seed):
    y, s, group = rows(seed)
    weight = np.random.default_rng(seed).integers(0, 4, len(y))
    weight[:4] += 1  # every cell keeps a row
    again = np.repeat(np.arange(len(y)), weight)
    for convention in ties(name):
        weighted = call(name, y, s, group, sample_weight=weight, **convention)
        assert weighted == call(name, y[again], s[again], group[again], **convention)
        assert weighted == call(name, y, s, group, sample_weight=weight.astype(float), **convention)


@cases
@seeds
def test_weights_may_be_scaled(name, seed):
    y, s, group = rows(seed)
    weight = np.random.default_rng(seed).integers(1, 4, len(y))
    for convention in ties(name):
        plain = call(name, y, s, group, sample_weight=weight, **convention)
        assert call(name, y, s, group, sample_weight=weight * 0.125, **convention) == pytest.approx(plain, abs=1e-13)


@cases
@seeds
@pytest.mark.parametrize("change", [np.exp, lambda s: 5 * s - 30, lambda s: np.log(s + 0.01)])
def test_increasing_transformations_change_nothing(name, seed, change):
    y, s, group = rows(seed)
    for convention in ties(name):
        assert call(name, y, s, group, **convention) == call(name, y, change(s), group, **convention)


@cases
@seeds
def test_names_of_groups_do_not_matter(name, seed):
    y, s, group = rows(seed)
    renamed = np.where(group == "a", 7, -3)
    metric = EVERY_METRIC[name]
    other = arguments(metric, {"top": 0.4, "positive": 7, "negative": -3, "group": 7, "sensitive_features": renamed})
    for convention in ties(name):
        assert call(name, y, s, group, **convention) == metric.function(y, s, **other, **convention)


@pytest.mark.parametrize("name", [name for name in EVERY_METRIC if "top" not in EVERY_METRIC[name].needs])
@seeds
def test_swapping_labels_and_sign(name, seed):
    """Positives above negatives is, turned over, negatives above positives (the top top_of is not)."""
    y, s, group = rows(seed)
    metric = EVERY_METRIC[name]
    available = AVAILABLE | {"sensitive_features": group, "positive": "b", "negative": "a"}
    for convention in ties(name):
        other = metric.function(1 - y, -s, **arguments(metric, available), **convention)
        assert call(name, y, s, group, **convention) == pytest.approx(other, abs=1e-15)


@cases
def test_between_zero_and_one(name):
    for seed in range(20):
        y, s, group = rows(seed, values=3)
        for convention in ties(name):
            assert 0 <= call(name, y, s, group, **convention) <= 1


@cases
def test_labels_by_name(name):
    y, s, group = rows(0)
    assert call(name, y, s, group) == call(name, np.where(y == 1, "yes", "no"), s, group, pos_label="yes")
    assert call(name, y, s, group) == call(name, y.astype(bool), s, group)
