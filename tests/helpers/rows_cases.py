"""Rows with risk scores: look here before drawing some of your own."""

import numpy as np
import pandas as pd


def draw(n=400, seed=0, digits=3):
    """Draw scores between 0 and 1, outcomes that they foretell, and two sexes; men are scored higher."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["F", "M"], n)
    score = np.round(rng.beta(2, 3, n) * np.where(sex == "M", 1.0, 0.75), digits)
    return score, (rng.random(n) < score + 0.1 * (sex == "F")).astype(int), sex


def drawn(n=400, seed=0, groups="ab", lift=0.5, digits=None, probability=False):
    """Draw outcomes, scores and groups: an outcome adds one to the score, the first group `lift`."""
    rng = np.random.default_rng(seed)
    group, y = rng.choice(list(groups), n), rng.integers(0, 2, n)
    score = rng.normal(y + lift * (group == groups[0]))
    score = 1 / (1 + np.exp(-score)) if probability else score
    return y, score if digits is None else score.round(digits), group


STAYS = {"score": "s", "label": "y", "group": "g", "cluster": "patient"}


def stays(people=240, seed=0, most=4):
    """Stays of patients: score and outcome are alike within one; all of a patient are in one group."""
    rng = np.random.default_rng(seed)
    patient = np.repeat(np.arange(people), rng.integers(1, most + 1, people))
    g, level = rng.choice(["a", "b"], people), rng.normal(size=people)
    ill = level + 0.6 * (g == "a") + rng.normal(size=people) > 0.3
    y = np.where(rng.random(len(patient)) < 0.8, ill[patient], rng.random(len(patient)) < 0.5).astype(int)
    s = np.round(level[patient] + 0.5 * (g[patient] == "a") * y + 0.4 * rng.normal(size=len(patient)), 3)
    return pd.DataFrame({"s": s, "y": y, "g": g[patient], "patient": patient})


def assert_same_tables(one, other):
    """Insist that two tables are the same to the last bit, with all that they know of their rows."""
    assert one.groups == other.groups
    assert [type(g) for g in one.groups] == [type(g) for g in other.groups]
    assert (one.labelled, one.lower_is_riskier) == (other.labelled, other.lower_is_riskier)
    assert (one.weights, one.high_score_means) == (other.weights, other.high_score_means)
    assert (one.units is None) == (other.units is None)
    if one.units is not None:
        assert one.units.size == other.units.size
        _same(one.units.hashes, other.units.hashes)
    for a, b in zip(one.counts, other.counts, strict=True):
        for part in ("score", "positive", "negative"):
            _same(getattr(a, part), getattr(b, part))
        for part in ("squares", "members"):
            x, y = getattr(a, part), getattr(b, part)
            assert (x is None) == (y is None), part
            for left, right in zip(x or (), y or (), strict=True):
                for u, v in zip(left, right, strict=True) if part == "members" else [(left, right)]:
                    _same(u, v)


def _same(x, y):
    assert x.dtype == y.dtype
    np.testing.assert_array_equal(x.view(np.int64), y.view(np.int64))
