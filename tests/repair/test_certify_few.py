"""A certificate counts all rows only where the choice is: the same as with all strengths counted on all rows."""

import warnings

import numpy as np
import pytest

from fairpot import score_table
from fairpot.exceptions import FairpotWarning, InfeasibleRuleError
from fairpot.inference.certificate import choose_certified
from fairpot.inference.dial import Evidence, Part
from fairpot.repair.certify import _folds, certify
from fairpot.repair.fitting import begin, rule_of
from fairpot.repair.registry import methods
from fairpot.tradeoff.building import keeps_order


def draw(seed, groups, weighed):
    rng = np.random.default_rng(seed)
    n = 3500
    g = rng.integers(0, groups, n)
    y = rng.random(n) < 0.35
    s = 1 / (1 + np.exp(-(rng.normal(size=n) + y - 0.25 * g)))
    weight = rng.gamma(3, 1 / 3, n) if weighed else None
    return score_table(y, s, sensitive_features=np.array(list("abc"))[g], sample_weight=weight)


def all_counted(fit, rule, confidence):
    """The choice by the numbers of all rows at every strength."""
    family, ground, values = fit.final, fit.ground, fit.final.tried
    places = np.flatnonzero([keeps_order(ground.rows, maps) for maps in family.steps(values)])
    values = values[places]
    parts = [(taught, fold) for taught, fold in _folds(fit.again, ground, family.dial.name)]
    held = Evidence(tuple(Part(fold, taught.steps) for taught, fold in parts), ground.ties, cut=ground.cut)
    delivered = Evidence((Part(ground.rows, family.steps),), ground.ties, fitted=True, cut=ground.cut)
    dial, own = held.estimate(values), delivered.estimate(values)
    unmoved = np.flatnonzero(values == family.dial.identity)
    place, found = choose_certified(
        type(dial)(**{**vars(dial), "least": own.largest(1 - confidence)}),
        rule.max_gap,
        confidence,
        unrepaired=held.unrepaired(),
        rows=held.rows,
        max_auc_loss=rule.max_auc_loss,
        unmoved=int(unmoved[0]) if len(unmoved) else None,
    )
    return float(values[place]), found


@pytest.mark.parametrize(("groups", "weighed"), [(2, True), (3, False)])
@pytest.mark.parametrize("name", ["fairpot", "logit-shift", "wasserstein", "optimal-merge"])
def test_no_strength_farther_off_wins(name, groups, weighed):
    table, granted = draw(groups, groups, weighed), 0
    for rule in ({"max_gap": 0.08}, {"max_gap": 0.1, "max_auc_loss": 0.02})[: 4 - groups]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FairpotWarning)
            model = methods()[name](**rule)
            fit = begin(model, table)
            try:
                value, found = certify(fit.final, fit.again, fit.ground, rule_of(model), 0.9)
            except InfeasibleRuleError as refused:
                with pytest.raises(InfeasibleRuleError) as other:
                    all_counted(fit, rule_of(model), 0.9)
                few, every = refused.shortfall, other.value.shortfall
                if few is not None:
                    assert few.smallest_bound == pytest.approx(every.smallest_bound, abs=1e-4)
                    assert few.smallest_gap == pytest.approx(every.smallest_gap, abs=1e-9)
                continue
            granted += 1
            wanted, other = all_counted(fit, rule_of(model), 0.9)
        assert value == wanted
        for one, same in ((found.gap, other.gap), (found.auc, other.auc), (found.gap_before, other.gap_before)):
            assert (one.value, one.low, one.high) == pytest.approx((same.value, same.low, same.high), abs=1e-9)
    assert granted or name == "wasserstein"
