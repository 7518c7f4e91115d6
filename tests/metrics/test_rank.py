import warnings

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import oracles
from fairpot import UndefinedMetricWarning
from fairpot.metrics import (
    auc,
    by_group,
    top_recall,
    xauc,
    xauc_gap,
)


def random_case(rng):
    """Small tables with ties, tiny groups and one-sided groups."""
    n, groups = int(rng.integers(2, 14)), int(rng.integers(2, 4))
    g = np.r_[np.arange(groups), rng.integers(0, groups, n)]
    return rng.integers(0, 2, len(g)), rng.integers(0, 7, len(g)) / 6, np.array(list("abc"))[g]


def exact(metric, *args, **options):
    """Call a metric, letting it warn about empty cells, for which it takes the paper's value."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        return metric(*args, undefined="paper", **options)


@pytest.mark.parametrize("ties", ["strict", "half"])
def test_everything_equals_pairwise_loops(ties):
    rng = np.random.default_rng(0)
    half = ties == "half"
    for _ in range(150):
        y, s, g = random_case(rng)
        top, names = float(rng.integers(1, 11)) / 10, sorted(set(g))
        assert exact(auc, y, s, ties=ties) == pytest.approx(oracles.auc(y, s, half=half), abs=1e-15)
        cells = {(p, q): oracles.xauc(y, s, g, p, q, half=half) for p in names for q in names}
        for (p, q), value in cells.items():
            got = exact(xauc, y, s, sensitive_features=g, positive=p, negative=q, ties=ties)
            assert got == pytest.approx(value, abs=1e-15)
        gap = max(abs(cells[p, q] - cells[q, p]) for p in names for q in names)
        assert exact(xauc_gap, y, s, sensitive_features=g, ties=ties) == pytest.approx(gap, abs=1e-15)
        for top_of in ("all", "group"):
            keep = oracles.top_rows(s, top, g if top_of == "group" else None)
            options = {"top": top, "sensitive_features": g, "top_of": top_of, "ties": ties}
            yk, sk, gk = y[keep], s[keep], g[keep]
            value = 1.0 if yk.all() else oracles.auc(yk, sk, half=half)
            assert exact(auc, y, s, **options) == pytest.approx(value, abs=1e-15)
            part = {(p, q): oracles.xauc(yk, sk, gk, p, q, half=half) for p in names for q in names}
            got = exact(xauc, y, s, positive=names[0], negative=names[1], **options)
            assert got == pytest.approx(part[names[0], names[1]], abs=1e-15)
            gap = max(abs(part[p, q] - part[q, p]) for p in names for q in names)
            assert exact(xauc_gap, y, s, **options) == pytest.approx(gap, abs=1e-15)


@pytest.mark.parametrize("ties", ["strict", "half"])
def test_auc_of_a_group_equals_pairwise_loops(ties):
    rng = np.random.default_rng(1)
    half = ties == "half"
    for _ in range(80):
        y, s, g = random_case(rng)
        for k in sorted(set(g)):
            own = g == k
            got = exact(xauc, y, s, sensitive_features=g, positive=k, negative=k, ties=ties)
            assert got == pytest.approx(oracles.auc(y[own], s[own], half=half), abs=1e-15)


def test_half_ties_equal_scikit_learn_with_weights():
    rng = np.random.default_rng(2)
    y, s, w = rng.integers(0, 2, 5000), np.round(rng.random(5000), 2), rng.random(5000)
    assert auc(y, s, ties="half") == pytest.approx(roc_auc_score(y, s), abs=1e-13)
    assert auc(y, s, sample_weight=w, ties="half") == pytest.approx(roc_auc_score(y, s, sample_weight=w), abs=1e-13)
    assert auc(y, s) == auc(y, s, ties="half")  # scikit-learn's convention is the default


def test_groups_that_are_not_there():
    y, s, g = [1, 0, 1, 0], [0.1, 0.2, 0.3, 0.4], ["a", "a", "b", "b"]
    with pytest.raises(ValueError, match="positive='x' is not among the groups"):
        xauc(y, s, sensitive_features=g, positive="x", negative="a")
    with pytest.raises(ValueError, match="among='x' is not among the groups"):
        top_recall(y, s, sensitive_features=g, among="x", top=0.5)
    with pytest.raises(TypeError, match="top_of='group'"):
        auc(y, s, top=0.5, top_of="group")
    with pytest.raises(TypeError, match="is of the top of the list"):
        xauc_gap(y, s, sensitive_features=g, top_of="group")


def test_the_warning_points_at_the_caller():
    with pytest.warns(UndefinedMetricWarning) as caught:
        auc([1, 1], [0.1, 0.2])
    assert caught[0].filename == __file__


def test_numbers_by_group():
    y, s, g = [1, 0, 1, 0, 1, 0], [0.4, 0.1, 0.9, 0.6, 0.3, 0.35], list("aabbcc")
    table = by_group(y, s, sensitive_features=g)
    assert table["positives"].tolist() == [1, 1, 1]
    own = [[(y[row], s[row]) for row in range(6) if g[row] == k] for k in "abc"]
    assert table["auc"].tolist() == [roc_auc_score(*zip(*rows)) for rows in own]
