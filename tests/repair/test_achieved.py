"""What a fit says it delivers is what its transformed rows show; and a repair on a grid is quick."""

import math

import numpy as np
import pytest

from fairpot import FairPOT, LogitShift, OptimalMerge, WassersteinRepair
from fairpot.metrics import auc, xauc_gap

pytestmark = pytest.mark.filterwarnings("ignore::fairpot.exceptions.FairpotWarning")


def draw(seed, n=300, groups="ab", digits=2):
    rng = np.random.default_rng(seed)
    place, y = rng.integers(0, len(groups), n), rng.integers(0, 2, n)
    score = 1 / (1 + np.exp(-rng.normal(1.1 * y - 0.4 - 0.5 * place)))
    return score.round(digits), y, np.array(list(groups))[place], rng.integers(1, 4, n)


@pytest.mark.parametrize(
    ("model", "groups"),
    [
        (FairPOT(max_gap=0.06), "ab"),
        (FairPOT(max_gap=0.12, keep="grid", ties="strict"), "ab"),
        (FairPOT(max_gap=0.1), "abc"),
        (LogitShift(max_auc_loss=0.01), "ab"),
        (OptimalMerge(1.4, keep="probabilities"), "ab"),
        (WassersteinRepair(max_gap=0.2, top=0.4), "ab"),
        (LogitShift(0.2, top=90, top_of="group"), "ab"),
        (FairPOT(max_gap=0.2, top=0.5, repair="top"), "abc"),
        (LogitShift(0.4, top=0.5, top_of="group", repair="top"), "ab"),
    ],
    ids=str,
)
@pytest.mark.parametrize("weighted", [False, True])
def test_it_is_what_transformed_rows_show(model, groups, weighted):
    s, y, g, weight = draw(len(groups), n=150 * len(groups), groups=groups)
    w = weight if weighted else None
    model.fit(s, y, sensitive_features=g, sample_weight=w, weights="frequency")
    found, ties, after = model.achieved_, model.ties, model.transform(s, sensitive_features=g)
    whole = {"ties": ties, "sample_weight": w}
    for scores, area, gap in ((after, found.auc, found.gap), (s, found.auc_before, found.gap_before)):
        assert area == pytest.approx(auc(y, scores, **whole), abs=1e-12)
        assert gap == pytest.approx(xauc_gap(y, scores, sensitive_features=g, **whole), abs=1e-12)
    if model.top is None:
        assert (found.gap_top, found.auc_top, found.starts, found.enter) == (None, None, None, None)
        return
    rows = np.ones(len(y)) if w is None else w
    if model._fit.ground.cut is not None:  # no ties: the top is that of the original scores
        top = s >= np.array([model.starts_[each] for each in g])
        part = {"ties": ties, "sample_weight": rows[top]}
        assert found.gap_top == pytest.approx(
            xauc_gap(y[top], after[top], sensitive_features=g[top], **part), abs=1e-12
        )
        assert found.gap_top_before == pytest.approx(
            xauc_gap(y[top], s[top], sensitive_features=g[top], **part), abs=1e-12
        )
        assert found.auc_top == pytest.approx(auc(y[top], after[top], **part), abs=1e-12)
        assert dict(found.starts) == model.starts_
        assert (found.enter, found.leave) == (0, 0)
        return
    share = model.top if isinstance(model.top, float) else model.top / rows.sum()
    top_of = {
        "top": share,
        "top_of": "group" if model.top_of == "group" else "all",
        "sensitive_features": g,
        **whole,
    }
    for scores, area, gap in ((after, found.auc_top, found.gap_top), (s, found.auc_top_before, found.gap_top_before)):
        assert gap == pytest.approx(xauc_gap(y, scores, **top_of), abs=1e-12)
        assert area == pytest.approx(auc(y, scores, **top_of), abs=1e-12)
    now = after >= np.array([found.starts[each] for each in g])
    was = s >= np.array([model._fit.ground.table.thresholds(share, top_of["top_of"])[each] for each in g])
    assert (found.enter, found.leave) == (rows[now & ~was].sum(), rows[was & ~now].sum())


def test_it_follows_the_strength():
    s, y, g, _ = draw(5)
    model = FairPOT(0.2).fit(s, y, sensitive_features=g)
    other = model.at(0.9)
    assert other.achieved_ == FairPOT(0.9).fit(s, y, sensitive_features=g).achieved_ != model.achieved_
    assert set(model.achieved_.to_dict()) == {*vars(model.achieved_)}
    blind = WassersteinRepair(t=1).fit(s, sensitive_features=g)
    assert math.isnan(blind.achieved_.gap)


def test_a_grid_of_a_hundred_scores_is_no_long_search():
    """Every share that differs is looked at once, and no other."""
    rng = np.random.default_rng(8)
    g, y = rng.choice(["a", "b"], 3000), rng.integers(0, 2, 3000)
    s = np.clip(np.round(50 + 15 * rng.normal(y + 0.5 * (g == "a"))), 1, 100)
    model = FairPOT(max_gap=0.05, keep="grid").fit(s, y, sensitive_features=g)
    assert model.achieved_.gap <= 0.05
    assert len(model.tradeoff()) <= len(np.unique(s[g == model.strengths_.popitem()[0]])) + 1
