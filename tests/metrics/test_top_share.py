"""Recall and precision of the top against counting rows one by one."""

import math

import numpy as np
import pytest

from fairpot.exceptions import UndefinedMetricWarning
from fairpot.metrics import auc, top_precision, top_recall


def rows(seed, n=90):
    rng = np.random.default_rng(seed)
    group = rng.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2])
    return rng.integers(0, 2, n), rng.integers(0, 15, n) / 15, group, rng.integers(1, 4, n)


def in_region(score, group, weight, top, top_of):
    """Rows of each population from the top until top of its weight is reached, and all that tie with the last."""
    inside = np.zeros(len(score), dtype=bool)
    for name in set(group) if top_of == "group" else [None]:
        member = np.ones(len(score), dtype=bool) if name is None else group == name
        room, cut = math.ceil(top * weight[member].sum() - 1e-9), math.inf
        for value in sorted(set(score[member]), reverse=True):
            cut = value
            if weight[member & (score >= value)].sum() >= room:
                break
        inside |= member & (score >= cut)
    return inside


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("top_of", ["all", "group"])
@pytest.mark.parametrize("top", [0.05, 0.3, 1.0])
def test_equals_counting(seed, top_of, top):
    y, score, group, weight = rows(seed)
    inside = in_region(score, group, weight, top, top_of)
    options = {"top": top, "top_of": top_of, "sensitive_features": group, "sample_weight": weight}
    for name in (None, "a", "b", "c"):
        member = np.ones(len(y), dtype=bool) if name is None else group == name
        found = (weight * y)[member & inside].sum()
        recall = found / (weight * y)[member].sum()
        assert top_recall(y, score, among=name, **options) == pytest.approx(recall, abs=1e-15)
        if (member & inside).any():
            precision = found / weight[member & inside].sum()
            assert top_precision(y, score, among=name, **options) == pytest.approx(precision, abs=1e-15)


def test_ties_at_the_cut_are_in():
    assert top_recall([1, 0, 1, 0], [0.5, 0.5, 0.5, 0.5], top=0.25) == 1
    assert top_precision([1, 0, 1, 0], [0.5, 0.5, 0.5, 0.5], top=0.25) == 0.5


def test_more_partial_auc_with_fewer_found():
    """The reason for this file: the second model wins inside its top and leaves half of the positives out of it."""
    y = np.array([1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0])
    finds = np.array([12, 11, 8, 7, 10, 9, 6, 5, 4, 3, 2, 1])
    hides = np.array([12, 11, 2, 1, 10, 9, 8, 7, 6, 5, 4, 3])
    assert auc(y, hides, top=0.5) == 1 > auc(y, finds, top=0.5)
    assert top_recall(y, hides, top=0.5) == 0.5 < top_recall(y, finds, top=0.5) == 1


def test_nothing_to_count():
    score, group = [0.1, 0.2, 0.8, 0.9], ["a", "a", "b", "b"]
    with pytest.warns(UndefinedMetricWarning, match="top recall is undefined because the data has no rows with"):
        assert math.isnan(top_recall([0, 0, 0, 0], score, top=0.5))
    options = {"top": 0.5, "sensitive_features": group, "among": "a"}
    with pytest.warns(UndefinedMetricWarning, match="group 'a' has no rows in the top"):
        assert math.isnan(top_precision([0, 1, 0, 1], score, **options))
    with pytest.warns(UndefinedMetricWarning):
        assert top_precision([0, 1, 0, 1], score, undefined="paper", **options) == 0
    assert top_recall([0, 1, 0, 1], score, **options) == 0


def test_groups_have_to_be_known():
    with pytest.raises(TypeError, match="pass sensitive_features"):
        top_recall([0, 1], [0.1, 0.2], top=0.5, top_of="group")
    with pytest.raises(TypeError, match="among='a' names a group"):
        top_recall([0, 1], [0.1, 0.2], top=0.5, among="a")
    with pytest.raises(ValueError, match="'z'"):
        top_precision([0, 1], [0.1, 0.2], top=0.5, among="z", sensitive_features=["a", "b"])
    with pytest.raises(ValueError, match="top_of"):
        top_recall([0, 1], [0.1, 0.2], top=0.5, top_of="both", sensitive_features=["a", "b"])
