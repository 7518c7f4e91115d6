"""Scores that keep a rule as they came stay as they are; nobody is moved for what ties alone add."""

import warnings

import numpy as np
import pytest

from fairpot import FairPOT, score_table
from fairpot.exceptions import FairpotWarning
from fairpot.methods import WassersteinRepair
from fairpot.metrics import xauc_gap
from fairpot.repair.registry import methods

METHODS = methods()
with_identity = [name for name, method in METHODS.items() if method.dial.identity is not None]
without = [name for name in METHODS if name not in with_identity]


def draw(seed, n=900, groups="ab", digits=1, shift=0.15):
    """Draw coarse scores of groups that are nearly alike: many ties, and a small gap."""
    rng = np.random.default_rng(seed)
    place, y = rng.integers(0, len(groups), n), rng.integers(0, 2, n)
    logit = 1.2 * rng.normal(size=n) + 1.1 * y - 0.5 - shift * place
    return (1 / (1 + np.exp(-logit))).round(digits), y, np.array(list(groups))[place]


def quietly(model, rows, **columns):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairpotWarning)
        return model.fit(*rows[:2], sensitive_features=rows[2], **columns)


@pytest.mark.parametrize(("groups", "ties"), [("ab", "half"), ("ab", "strict"), ("abc", "half")])
@pytest.mark.parametrize("name", with_identity)
def test_nothing_is_moved_where_the_scores_keep_the_bound(name, ties, groups):
    rows = draw(1, groups=groups)
    gap = xauc_gap(rows[1], rows[0], sensitive_features=rows[2], ties=ties)
    for rule in ({"max_gap": gap}, {"max_gap": gap + 0.02, "max_auc_loss": 0.01}):
        model = quietly(METHODS[name](**rule, ties=ties), rows)
        assert model.strength_ == 0.0
        assert set(model.strengths_.values()) == {0.0}
        np.testing.assert_array_equal(model.transform(rows[0], sensitive_features=rows[2]), rows[0])
        assert model.tradeoff(ties=ties).select(**rule).note.startswith("no repair needed: the gap is")
    table = score_table(rows[1], rows[0], sensitive_features=rows[2])
    assert model.maps_ == METHODS[name](0.0).fit(table).maps_
    if gap > 0.01 and name != "logit-shift":  # tenths have few shifts
        model = quietly(METHODS[name](max_gap=0.8 * gap, ties=ties), rows)
        assert max(model.strengths_.values()) > 0.0


@pytest.mark.parametrize("name", with_identity)
def test_a_bound_that_the_scores_are_certified_to_keep_moves_nobody(name):
    """Cross-fitted in fit, and on rows held out."""
    rows, later = draw(2, n=1500), draw(3, n=1500)
    model = quietly(METHODS[name](max_gap=0.25, confidence=0.9), rows)
    assert model.strength_ == 0.0
    assert model.certificate_.value == 0.0
    assert model.certificate_.gap.value == model.certificate_.gap_before.value
    held_out = METHODS[name](1.0).fit(*rows[:2], sensitive_features=rows[2])
    chosen = held_out.choose_certified(*later[:2], sensitive_features=later[2], max_gap=0.25, confidence=0.9)
    assert chosen.strength_ == 0.0


@pytest.mark.parametrize("name", without)
def test_a_method_that_cannot_leave_scores_alone_says_so(name):
    rows = draw(4, n=600, digits=2)
    with pytest.warns(FairpotWarning, match=r"no repair needed: the gap of the original scores is 0\.\d+, within"):
        METHODS[name](max_gap=0.6).fit(*rows[:2], sensitive_features=rows[2])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "Ties matter")
        METHODS[name](max_auc_loss=0.3).fit(*rows[:2], sensitive_features=rows[2])


@pytest.mark.parametrize("seed", range(2))
def test_an_auc_above_that_of_the_scores_is_no_reason_to_move_more(seed):
    """By the definition: of the values that keep the gap, those of highest AUC up to the original; then the nearest."""
    rows = draw(seed, n=300, shift=0.9)
    for model in (FairPOT(0.0), WassersteinRepair(0.0)):
        model = quietly(model, rows)
        curve = model.tradeoff(lams=model.tradeoff().lam)  # these alone, not what is between
        for bound in np.quantile(curve.gap, [0.05, 0.2, 0.5, 0.8]):
            chosen = curve.select(max_gap=float(bound))
            kept = np.flatnonzero((curve.gap <= bound + 1e-12) & curve.orders)
            worth = np.minimum(curve.auc[kept], curve.auc[0])
            expected = 0.0 if 0 in kept else curve.lam[kept[worth >= worth.max() - 1e-12]].min()
            assert chosen.lam == expected


def test_the_top_of_the_ranking_has_its_own_gap():
    rows = draw(5, n=600, digits=2)
    for repair in ("all", "top"):
        free = FairPOT(0.0, top=0.4, repair=repair).fit(*rows[:2], sensitive_features=rows[2])
        gap = float(free.tradeoff().gap[0])
        point = free.tradeoff().select(max_gap=gap + 0.01)
        assert point.lam == 0.0
        assert "the gap in the top" in point.note
        assert quietly(FairPOT(top=0.4, repair=repair, max_gap=gap + 0.01), rows).lam_ == 0.0
