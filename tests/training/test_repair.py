"""FairPOT on top of a model trained for the top: the exact curve of partial AUC and partial gap."""

import numpy as np
import pytest

from fairpot import FairPOT
from fairpot.datasets import make_synthetic
from fairpot.metrics import partial_auc, partial_xauc_gap, top_recall
from fairpot.training import make_variant

pytest.importorskip("xgboost")
ALPHA = 0.3


@pytest.fixture(scope="module")
def scored():
    """Scores of new rows by boosted trees with the partial-AUC objective."""
    drawn = make_synthetic(n=3000, random_state=1)
    train = np.arange(3000) < 1500
    model = make_variant("booster", alpha=ALPHA, random_state=0, max_rounds=40).fit(
        drawn.data[train], drawn.target[train]
    )
    return model.predict_proba(drawn.data[~train])[:, 1], drawn.target[~train], np.asarray(drawn.group)[~train]


def inside(fair, scores, group):
    """Rows in the region, by the scores they had before."""
    return scores >= np.array([fair.thresholds_[name] for name in group])


@pytest.mark.parametrize("region", ["pooled", "group"])
@pytest.mark.parametrize("region_from", ["fitted", "batch"])
@pytest.mark.parametrize("new", [False, True])
def test_curve_is_what_the_metrics_say(scored, region, region_from, new):
    """On the fitted rows and on new ones: each point is what the metrics find in the repaired scores."""
    scores, y, group = scored
    old = np.arange(len(y)) < 700
    rows = ~old if new else old
    options = {"alpha": ALPHA, "region": region, "ties": "half"}

    def fitted(lam):
        fair = FairPOT(lam=lam, region_from=region_from, **options)
        return fair.fit(scores[old], y[old], sensitive_features=group[old])

    curve = fitted(0.5).tradeoff(scores[rows], y[rows], sensitive_features=group[rows])
    assert len(curve.lam) > 10
    for lam in np.asarray(curve.lam)[:: len(curve.lam) // 6]:
        adjusted = fitted(lam).transform(scores[rows], sensitive_features=group[rows])
        by_group = options | {"sensitive_features": group[rows]}
        assert curve.at(lam).auc == pytest.approx(partial_auc(y[rows], adjusted, **by_group), abs=1e-12)
        assert curve.at(lam).gap == pytest.approx(partial_xauc_gap(y[rows], adjusted, **by_group), abs=1e-12)


@pytest.mark.parametrize("region", ["pooled", "group"])
def test_unrepaired_end_is_the_plain_metric(scored, region):
    scores, y, group = scored
    options = {"alpha": ALPHA, "region": region, "sensitive_features": group, "ties": "half"}
    start = FairPOT(lam=0.5, alpha=ALPHA, region=region, ties="half").fit(scores, y, sensitive_features=group)
    point = start.tradeoff().at(0.0)
    assert point.auc == pytest.approx(partial_auc(y, scores, **options), abs=1e-12)
    assert point.gap == pytest.approx(partial_xauc_gap(y, scores, **options), abs=1e-12)


def test_repairing_the_pooled_top_changes_its_order_only(scored):
    """Who is found stays the same: the map moves scores of the top within the top."""
    scores, y, group = scored
    fair = FairPOT(lam=None, alpha=ALPHA, ties="half").fit(scores, y, sensitive_features=group)
    adjusted = fair.transform(scores, sensitive_features=group)
    assert not np.array_equal(adjusted, scores)
    top = inside(fair, scores, group)
    assert adjusted[top].min() > adjusted[~top].max()
    assert top_recall(y, adjusted, alpha=ALPHA) == top_recall(y, scores, alpha=ALPHA)


def test_the_two_regions_are_different_questions(scored):
    scores, y, group = scored
    gaps = [
        partial_xauc_gap(y, scores, alpha=ALPHA, region=region, sensitive_features=group, ties="half")
        for region in ("pooled", "group")
    ]
    assert abs(gaps[0] - gaps[1]) > 0.05
