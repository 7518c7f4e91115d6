"""FairPOT on top of a model trained for the top: its curve is what the metrics say of the repaired scores."""

import numpy as np
import pytest

from fairpot import FairPOT
from fairpot.datasets import make_synthetic
from fairpot.metrics import auc, top_recall, xauc_gap
from fairpot_paper.booster import PartialAUCBooster
from oracles import has_ties_at_its_edge

pytest.importorskip("xgboost")
ALPHA = 0.3


@pytest.fixture(scope="module")
def scored():
    """Scores of new rows by boosted trees with the partial-AUC objective."""
    drawn = make_synthetic(n=3000, random_state=1)
    train = np.arange(3000) < 1500
    model = PartialAUCBooster(ALPHA, random_state=0, max_rounds=40).fit(drawn.data[train], drawn.target[train])
    return model.predict_proba(drawn.data[~train])[:, 1], drawn.target[~train], np.asarray(drawn.group)[~train]


def inside(fair, scores, group):
    """Rows in the region, by the scores they had before."""
    return scores >= np.array([fair.starts_[name] for name in group])


@pytest.mark.parametrize("top_of", ["all", "group"])
@pytest.mark.parametrize("repair", ["all", "top"])
@pytest.mark.parametrize("new", [False, True])
@pytest.mark.parametrize("tied", [False, True])
def test_curve_is_what_the_metrics_say(scored, top_of, repair, new, tied):
    """On the fitted rows and on new ones: each point is what the metrics find in the repaired scores.

    Where all are moved, or ties at its edge make the top larger than was asked for, the gap is that of the top after
    the repair; where the top alone is moved, that of everybody who was at or above its first score before.
    """
    scores, y, group = scored
    if not tied:
        scores = scores + 1e-6 * np.random.default_rng(0).random(len(scores))
    old = np.arange(len(y)) < 700
    rows = ~old if new else old
    assert has_ties_at_its_edge(scores[old], ALPHA, group[old] if top_of == "group" else None) == tied
    fair = FairPOT(lam=0.5, top=ALPHA, top_of=top_of, repair=repair)
    fair.fit(scores[old], y[old], sensitive_features=group[old])
    curve = fair.tradeoff(scores[rows], y[rows], sensitive_features=group[rows])
    assert len(curve.lam) > 10
    for lam in np.asarray(curve.lam)[:: len(curve.lam) // 6]:
        adjusted = fair.at(lam).transform(scores[rows], sensitive_features=group[rows])
        if repair == "all" or tied:
            gap = xauc_gap(y[rows], adjusted, sensitive_features=group[rows], top=ALPHA, top_of=top_of)
        else:
            top = inside(fair, scores[rows], group[rows])
            gap = xauc_gap(y[rows][top], adjusted[top], sensitive_features=group[rows][top])
        assert curve.at(lam).gap == pytest.approx(gap, abs=1e-12)
        assert curve.at(lam).auc == pytest.approx(auc(y[rows], adjusted), abs=1e-12)


@pytest.mark.parametrize("repair", ["all", "top"])
@pytest.mark.parametrize("top_of", ["all", "group"])
def test_unrepaired_end_is_the_plain_metric(scored, top_of, repair):
    scores, y, group = scored
    start = FairPOT(lam=0.5, top=ALPHA, top_of=top_of, repair=repair).fit(scores, y, sensitive_features=group)
    point = start.tradeoff().at(0.0)
    plain = xauc_gap(y, scores, sensitive_features=group, top=ALPHA, top_of=top_of)
    assert point.gap == pytest.approx(plain, abs=1e-12)
    assert point.auc == pytest.approx(auc(y, scores), abs=1e-12)


def test_repairing_the_pooled_top_changes_its_order_only(scored):
    """Who is found stays the same: the map moves scores of the top within the top."""
    scores, y, group = scored
    fair = FairPOT(top=ALPHA, repair="top").fit(scores, y, sensitive_features=group)
    adjusted = fair.transform(scores, sensitive_features=group)
    assert not np.array_equal(adjusted, scores)
    top = inside(fair, scores, group)
    assert adjusted[top].min() > adjusted[~top].max()
    assert top_recall(y, adjusted, top=ALPHA) == top_recall(y, scores, top=ALPHA)


def test_the_two_regions_are_different_questions(scored):
    scores, y, group = scored
    gaps = [
        xauc_gap(y, scores, top=ALPHA, top_of=top_of, sensitive_features=group, ties="half")
        for top_of in ("all", "group")
    ]
    assert abs(gaps[0] - gaps[1]) > 0.05
