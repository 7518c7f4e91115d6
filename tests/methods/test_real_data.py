"""Boosted models' scores on Bank and COMPAS, against POT and scikit-learn instead of our own counts."""

import numpy as np
import ot
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from fairpot import FairPOT
from fairpot.methods.fairpot import transport_plans
from fairpot.metrics import auc, xauc_gap

LAMBDAS = np.arange(11) / 10


def strict_auc(y, score):
    """AUC without ties: scikit-learn's, less half of the tied pairs, counted by pandas."""
    table = pd.crosstab(score, y)
    ties = (table[0] * table[1]).sum() / (y.sum() * (1 - y).sum())
    return roc_auc_score(y, score) - ties / 2


def strict_gap(y, score, group, a, b):
    pair = [((group == g) & (y == 1)) | ((group == h) & (y == 0)) for g, h in ((a, b), (b, a))]
    return strict_auc(y[pair[0]], score[pair[0]]) - strict_auc(y[pair[1]], score[pair[1]])


@pytest.fixture(params=["bank", "compas"])
def scored(request):
    return request.getfixturevalue(f"{request.param}_scores")


def test_projection_equals_pot(scored):
    score, y, group = scored
    fp = FairPOT(1.0).fit(score, y, sensitive_features=group)
    [(moved, plan)] = transport_plans(fp.table_, fp.reference_).items()
    b, a = np.sort(score[group == moved]), np.sort(score[group == fp.reference_])
    coupling = ot.emd_1d(b, a, metric="sqeuclidean", dense=False)
    rows = len(b) * (coupling @ a)
    by_score = pd.Series(rows).groupby(b).mean()
    np.testing.assert_array_equal(by_score.index, plan.scores)
    np.testing.assert_allclose(plan.projected, by_score.to_numpy(), atol=1e-9)


@pytest.mark.parametrize("ties", ["strict", "half"])
def test_curve_equals_scikit_learn_on_transformed_rows(scored, ties):
    score, y, group = scored
    half = np.random.default_rng(0).random(len(y)) < 0.5
    fp = FairPOT(ties=ties).fit(score[half], y[half], sensitive_features=group[half])
    [b] = fp.strengths_
    for rows in (half, ~half):
        curve = fp.tradeoff(score[rows], y[rows], sensitive_features=group[rows], lams=LAMBDAS)
        for i, lam in enumerate(LAMBDAS):
            one = FairPOT(lam, reference=fp.reference_).fit(score[half], sensitive_features=group[half])
            moved = one.transform(score[rows], sensitive_features=group[rows])
            if ties == "half":
                assert curve.auc[i] == pytest.approx(roc_auc_score(y[rows], moved), abs=1e-12)
            else:
                assert curve.auc[i] == pytest.approx(strict_auc(y[rows], moved), abs=1e-12)
                gap = strict_gap(y[rows], moved, group[rows], fp.reference_, b)
                assert curve.signed_gap[i] == pytest.approx(gap, abs=1e-12)


def test_repair_on_new_people(scored):
    """What the tool is for: the gap of people it has not seen shrinks, and little AUC is lost."""
    score, y, group = scored
    half = np.random.default_rng(1).random(len(y)) < 0.5
    fp = FairPOT(None, max_gap=0.01).fit(score[half], y[half], sensitive_features=group[half])
    new = fp.transform(score[~half], sensitive_features=group[~half])
    before = xauc_gap(y[~half], score[~half], sensitive_features=group[~half])
    after = xauc_gap(y[~half], new, sensitive_features=group[~half])
    assert after < before * 0.75
    assert auc(y[~half], new) > auc(y[~half], score[~half]) - 0.01


def test_exact_ties_survive_the_transport(scored):
    """Moved scores that should equal a reference score do so bit for bit."""
    score, y, group = scored
    score = np.round(score, 2)
    fp = FairPOT(1.0).fit(score, y, sensitive_features=group)
    [(moved, plan)] = transport_plans(fp.table_, fp.reference_).items()
    reference = score[group == fp.reference_]
    b_counts = pd.Series(score[group == moved]).value_counts().sort_index()
    ends = b_counts.cumsum() * len(reference)
    inside = 0
    ordered = np.sort(reference)
    for value, end, weight, target in zip(b_counts.index, ends, b_counts, plan.projected):
        first = (end - weight * len(reference)) // b_counts.sum()
        last = (end - 1) // b_counts.sum()
        if ordered[first] == ordered[last]:
            inside += 1
            assert target == ordered[first], value
    assert inside > 0
