"""Undefined is not fair: without pairs a metric is NaN, or the paper's value if asked for, and says what is missing."""

import math
import pickle
import warnings

import numpy as np
import pytest
from sklearn.exceptions import UndefinedMetricWarning as SklearnWarning
from sklearn.linear_model import LogisticRegression

from fairpot import UndefinedMetricWarning
from fairpot.metrics import (
    GroupScorer,
    auc,
    xauc,
    xauc_gap,
    xauc_gap_scorer,
)
from fairpot.metrics.wins import WinMatrix
from fairpot.table import ScoreTable
from fairpot.tradeoff.building import trace
from oracles import EVERY_METRIC, arguments

AVAILABLE = {"top": 0.5, "positive": "a", "negative": "b", "group": "a"}


def call(name, y, s, group, **options):
    metric = EVERY_METRIC[name]
    return metric.function(y, s, **arguments(metric, AVAILABLE | {"sensitive_features": group}), **options)


# These count rows, not pairs: with one class they still have something to count.
COUNTED = {(0, "top_precision"): 0.0, (1, "top_recall"): 0.5, (1, "top_precision"): 1.0}


@pytest.mark.parametrize(("label", "name"), COUNTED)
def test_shares_of_rows_are_defined_for_one_class(label, name):
    y, s, group = np.full(8, label), np.arange(8) / 8, list("abababab")
    assert call(name, y, s, group) == COUNTED[label, name]


@pytest.mark.parametrize(("label", "name"), [(y, n) for n in EVERY_METRIC for y in (0, 1) if (y, n) not in COUNTED])
def test_one_class_is_undefined_for_every_metric(name, label):
    y, s, group = np.full(8, label), np.arange(8) / 8, list("abababab")
    with pytest.warns(UndefinedMetricWarning, match=f"no rows {'without' if label else 'with'} the outcome") as caught:
        assert math.isnan(call(name, y, s, group))
    assert len(caught) == 1
    with pytest.warns(SklearnWarning, match="the paper's value"):
        papers = call(name, y, s, group, undefined="paper")
    assert papers == (1.0 if name == "auc in the top" and label else 0.0)
    with pytest.raises(ValueError, match="undefined must be one of 'nan', 'paper', got 'zero'"):
        call(name, y, s, group, undefined="zero")


@pytest.mark.parametrize("name", EVERY_METRIC)
def test_defined_values_do_not_depend_on_it(name):
    rng = np.random.default_rng(0)
    y, s, group = rng.integers(0, 2, 60), rng.random(60), np.array(["a", "b"])[rng.integers(0, 2, 60)]
    assert call(name, y, s, group) == call(name, y, s, group, undefined="paper")


def test_the_empty_cell_is_named():
    y, s, g = [1, 1, 0, 0], [0.1, 0.2, 0.3, 0.4], ["a", "a", "b", "b"]
    with pytest.warns(
        UndefinedMetricWarning,
        match="'b' has no rows with the outcome, group 'a' has no rows without the",
    ):
        assert math.isnan(xauc(y, s, sensitive_features=g, positive="b", negative="a"))
    with pytest.warns(UndefinedMetricWarning, match="the xAUC gap is undefined .* NaN is returned"):
        assert math.isnan(xauc_gap(y, s, sensitive_features=g))
    with pytest.warns(UndefinedMetricWarning, match="the data has no rows without the outcome to compare"):
        assert math.isnan(auc([1, 1], [0.1, 0.2]))
    with pytest.warns(UndefinedMetricWarning, match="no rows without the outcome in the top"):
        assert math.isnan(auc([0, 1], [0.1, 0.2], top=0.5))
    with pytest.warns(UndefinedMetricWarning, match="AUC of group 'a' .* 'a' has no rows without the outcome"):
        assert math.isnan(xauc(y, s, sensitive_features=g, positive="a", negative="a"))


def test_the_papers_values():
    y, s, g = [1, 1, 0, 0], [0.1, 0.2, 0.3, 0.4], ["a", "a", "b", "b"]
    with pytest.warns(UndefinedMetricWarning):
        assert xauc_gap(y, s, sensitive_features=g, undefined="paper") == 0
    with pytest.warns(UndefinedMetricWarning, match="1 is returned"):
        assert auc([0, 1], [0.1, 0.2], top=0.5, undefined="paper") == 1
    with pytest.warns(UndefinedMetricWarning, match="0 is returned"):
        assert auc([1, 0], [0.1, 0.2], top=0.5, undefined="paper") == 0


@pytest.mark.parametrize("ties", ["strict", "half"])
def test_the_largest_gap_leaves_undefined_pairs_out(ties):
    rng = np.random.default_rng(1)
    y, s = np.r_[0, 1, 0, 1, rng.integers(0, 2, 40), np.ones(5)], rng.random(49)
    g = np.array(["a", "a", "b", "b", *np.array(["a", "b"])[rng.integers(0, 2, 40)], *["c"] * 5])
    two = g != "c"
    expected = xauc_gap(y[two], s[two], sensitive_features=g[two], ties=ties)
    with pytest.warns(
        UndefinedMetricWarning, match="2 of 3 pairs .*'a' and 'c'; 'b' and 'c'.* 'c' has no rows without"
    ):
        assert xauc_gap(y, s, sensitive_features=g, ties=ties) == expected
    with pytest.warns(UndefinedMetricWarning, match="pairs of groups"):
        part = xauc_gap(y, s, top=1.0, sensitive_features=g, ties=ties)
    assert part == expected


def test_many_empty_cells_make_one_short_warning():
    y, s, g = np.ones(40), np.arange(40) / 40, np.arange(40)
    y[:2] = 0
    with pytest.warns(UndefinedMetricWarning) as caught:
        assert math.isnan(xauc_gap(y, s, sensitive_features=g))
    assert len(caught) == 1
    assert "and 34 more" in str(caught[0].message)
    assert caught[0].filename == __file__


def test_a_curve_of_several_groups_ignores_what_is_undefined():
    y, codes = np.array([0, 1, 0, 1, 1], dtype=np.int8), np.array([0, 0, 1, 1, 2])
    table = ScoreTable.from_rows(np.array([0.1, 0.5, 0.4, 0.9, 0.7]), y, codes, ("a", "b", "c"))
    with pytest.warns(UndefinedMetricWarning, match="2 of 3 pairs") as caught:
        curve = trace(table, np.array([0.0]), [[counts.score for counts in table.counts]], reference="a", ties="half")
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        assert curve.gap[0] == abs(np.subtract(*WinMatrix.of(table, "half").widest()))


def test_scorers_pass_it_on():
    rng = np.random.default_rng(2)
    x, y, g = rng.normal(size=(40, 2)), rng.integers(0, 2, 40), np.array(["a", "b"])[np.arange(40) % 2]
    model = LogisticRegression().fit(x, y)
    one = y == 1
    with pytest.warns(UndefinedMetricWarning):
        assert math.isnan(xauc_gap_scorer(model, x[one], y[one], sensitive_features=g[one]))
    papers = GroupScorer(xauc_gap, greater_is_better=False, undefined="paper")
    with pytest.warns(UndefinedMetricWarning):
        assert papers(model, x[one], y[one], sensitive_features=g[one]) == 0


def test_the_warning_is_a_class_like_any_other():
    assert issubclass(UndefinedMetricWarning, SklearnWarning)
    assert pickle.loads(pickle.dumps(UndefinedMetricWarning("x"))).args == ("x",)
    assert UndefinedMetricWarning.__module__ == "fairpot.exceptions"
