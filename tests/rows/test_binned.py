"""With too many distinct scores the table is quantised, and the loss it reports is never exceeded."""

import numpy as np
import pandas as pd
import pytest

from fairpot.metrics import auc, xauc
from fairpot.metrics.wins import WinMatrix
from fairpot.rows import RowSource, count_rows
from fairpot.rows.readers.grouped import choose_edges
from fairpot.rows.readers.query import Query
from files_cases import write


def metrics(table):
    wins = WinMatrix.of(table, "strict").half_wins / 2
    total = np.outer(table.positives, table.negatives)
    return wins.sum() / total.sum(), wins / total


@pytest.fixture(scope="module")
def many():
    """Half of the scores at one value, the others all different."""
    rng = np.random.default_rng(3)
    n = 20_000
    y = rng.integers(0, 2, n)
    score = np.where(rng.random(n) < 0.5, 0.25, rng.normal(size=n) + y)
    return pd.DataFrame({"s": score, "y": y, "g": rng.choice(["a", "b"], n), "w": rng.random(n), "v": y + 1})


@pytest.mark.parametrize("weight", [None, "w", "v"])
@pytest.mark.parametrize("name", ["x.parquet", "x.csv"])
def test_within_its_bound(many, tmp_path, name, weight):
    source = RowSource(write(many, tmp_path / name), score="s", label="y", groups="g", weight=weight)
    exact = count_rows(source)
    rough = count_rows(source, max_distinct=1000)
    assert exact.quantisation is None
    assert rough.rows == exact.rows == len(many)
    bound = rough.quantisation
    assert 0 < bound.auc < 0.01  # the value that half of the rows share has a bin of its own
    assert all(len(c.score) <= 1000 for c in rough.table.counts)
    np.testing.assert_allclose(rough.table.positives, exact.table.positives)
    np.testing.assert_allclose(rough.table.negatives, exact.table.negatives)
    assert rough.table.counts[0].positive.dtype == exact.table.counts[0].positive.dtype
    for one, other in zip(metrics(rough.table), metrics(exact.table)):
        assert (np.abs(one - other) <= (bound.auc if np.ndim(one) == 0 else bound.xauc) + 1e-12).all()
    assert 0.25 in rough.table["a"].score
    again = count_rows(source, max_distinct=1000)
    for a, b in zip(rough.table.counts, again.table.counts):
        np.testing.assert_array_equal(a.score, b.score)


@pytest.mark.parametrize("name", ["x.parquet", "x.csv"])
def test_squared_weights_are_kept_in_bins(many, tmp_path, name):
    roles = {"score": "s", "label": "y", "groups": "g", "weight": "w", "weights": "importance"}
    source = RowSource(write(many, tmp_path / name), **roles)
    exact, rough = count_rows(source).table, count_rows(source, max_distinct=1000).table
    assert rough.importance
    for one, other in zip(exact.counts, rough.counts):
        assert len(other.score) < len(one.score)
        place = np.searchsorted(other.score, 0.25)
        for side in (0, 1):
            assert other.squares[side].sum() == pytest.approx(one.squares[side].sum())
            own = one.squares[side][np.searchsorted(one.score, 0.25)]
            assert other.squares[side][place] == pytest.approx(own)  # alone in its bin


def test_metrics_of_the_exact_table(many, tmp_path):
    table = count_rows(RowSource(write(many, tmp_path / "x.parquet"), score="s", label="y", groups="g")).table
    overall, each = metrics(table)
    assert overall == pytest.approx(auc(many["y"], many["s"], ties="strict"), abs=1e-15)
    pair = {"sensitive_features": many["g"], "positive": "a", "negative": "b"}
    assert each[0, 1] == pytest.approx(xauc(many["y"], many["s"], ties="strict", **pair), abs=1e-15)


def test_edges():
    edges = choose_edges(np.array([0.5] * 10 + [0.1, 0.2, 0.3]), 8)
    assert edges[0] == -np.inf
    assert 0.5 in edges
    assert np.nextafter(0.5, 1) in edges
    assert (np.diff(edges) > 0).all()
    assert choose_edges(np.empty(0), 8).tolist() == [-np.inf]


def test_far_more_than_estimated(many, tmp_path, monkeypatch):
    """The estimate may be wrong; the number of groups that arrive is not."""
    monkeypatch.setattr(Query, "distinct", lambda self: 0)
    source = RowSource(write(many, tmp_path / "x.parquet"), score="s", label="y", groups="g")
    assert count_rows(source, max_distinct=1000).quantisation is not None


@pytest.mark.parametrize("name", ["x.parquet", "x.csv"])
def test_low_scores_that_mean_high_risk(many, tmp_path, name):
    """Bins, and the exact top behind them, are those of scores with a minus."""
    whole = many.assign(k=(many["s"] * 100).round().astype(int), s=many["s"].round(3))
    roles = {"label": "y", "groups": "g"}
    for column in ("s", "k"):
        source = RowSource(write(whole, tmp_path / name), score=column, **roles, lower_is_riskier=True)
        down = whole.assign(**{column: -whole[column]})
        turned = RowSource(write(down, tmp_path / f"down-{name}"), score=column, **roles)
        exact = count_rows(turned).table
        rough = count_rows(source, max_distinct=200)
        assert rough.quantisation is not None
        assert rough.table.lower_is_riskier
        assert rough.table.positives.tolist() == exact.positives.tolist()
        assert -rough.table.pooled().score.max() <= whole[column].min() + rough.quantisation.score
