"""A value of the dial that makes all scores of a group equal is never chosen by a rule."""

import numpy as np
import pytest

from fairpot import FairPOT, InfeasibleRuleError
from fairpot.exceptions import FairpotWarning
from fairpot.repair.registry import method, names
from fairpot.tradeoff.exact import flat_cuts
from fairpot.transport import TransportPlan


def draw(seed, n=1500, groups="ab"):
    """Draw probabilities; the groups' distributions differ enough for a flat map to have the smallest gap."""
    rng = np.random.default_rng(seed)
    place, y = rng.integers(0, len(groups), n), rng.integers(0, 2, n)
    score = 1 / (1 + np.exp(-(rng.normal(size=n) + 0.9 * y - 0.6 + 0.8 * place)))
    return score.round(3), y, np.array(list(groups))[place]


def distinct(model, rows):
    """Count the distinct scores of each moved group after the repair."""
    after = model.transform(rows[0], sensitive_features=rows[2])
    return [len(np.unique(after[rows[2] == g])) for g in model.strengths_]


RULES = [
    {"max_gap": 0.15},
    {"max_auc_loss": 0.3},
    {"max_gap": 0.3, "confidence": 0.9},
]


@pytest.mark.filterwarnings("ignore::fairpot.exceptions.FairpotWarning")
@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("name", names())
def test_no_rule_of_any_method_chooses_it(name, rule):
    rows = draw(3, n=400 if method(name)._costly else 1500)
    model = method(name)(**rule)
    try:
        model.fit(*rows[:2], sensitive_features=rows[2])
    except InfeasibleRuleError:
        return
    assert min(distinct(model, rows)) > 5


def test_a_reference_with_one_score_flattens_a_whole_group():
    """All of the group goes to that score at lambda 1, or, never falling below the lowest, from the second on."""
    scores = np.r_[np.full(6, 0.5), 0.6, 0.7, 0.8, 0.9, 0.65, 0.75]
    y, group = np.array([0, 1] * 6), np.array(["a"] * 6 + ["b"] * 6)
    for monotone in (False, True):
        with pytest.warns(FairpotWarning, match="lam = 1 makes all"):
            fair = FairPOT(1.0, reference="a", monotone=monotone).fit(scores, y, sensitive_features=group)
        chosen = FairPOT(reference="a", monotone=monotone).fit(scores, y, sensitive_features=group)
        assert min(distinct(chosen, (scores, y, group))) > 1
        for curve in (fair.tradeoff(), fair.tradeoff(lams=[0, 0.5, 5 / 6, 1])):
            for place, lam in enumerate(curve.lam.tolist()):
                after = fair.at(lam).transform(scores, sensitive_features=group)
                assert curve.orders[place] == (len(np.unique(after[6:])) > 1)
            assert not curve.orders[-1]
    top = FairPOT(0.5, top=1.0, repair="top", reference="a").fit(scores, y, sensitive_features=group)
    assert not top.tradeoff().orders[-1]


@pytest.mark.parametrize("monotone", [False, True])
def test_flat_cuts_equal_the_maps(monotone):
    """Knots and scores on a coarse grid, fitted and held out: every cut, by its map."""
    rng = np.random.default_rng(11)
    found = 0
    for _ in range(250):
        knots = np.unique(rng.integers(0, 9, rng.integers(1, 7)) / 8)
        target = np.unique(rng.integers(0, 9, rng.integers(1, 4)) / 8)
        weights = [rng.integers(1, 4, len(side)) for side in (knots, target)]
        plan = TransportPlan.between(knots, weights[0], target, weights[1])
        new = np.unique(rng.integers(0, 17, rng.integers(1, 5)) / 16)
        for scores in (knots, new):
            flat = flat_cuts(plan, scores, monotone=monotone)
            maps = [plan.map(cut, monotone=monotone) for cut in range(len(knots) + 1)]
            expected = [len(scores) > 1 and len(np.unique(move(scores))) == 1 for move in maps]
            assert flat.tolist() == expected
            found += sum(expected)
    assert found > 50
