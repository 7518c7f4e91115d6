"""A value of the dial that makes all scores of a group equal is never chosen by a rule."""

import numpy as np
import pytest

import fairpot
from fairpot import FairPOT, InfeasibleRuleError
from fairpot.exceptions import FairpotWarning
from fairpot.methods import PostLogit
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


def with_flat_values(name):
    """Give a method whose dial has a value that makes a group's scores one, where it has any."""
    return PostLogit(grid=[0.0, 0.02, 4.0, 9.9], beta=0.7) if name == "post-logit" else method(name)()


RULES = [
    {"max_gap": 0.15},
    {"max_auc_loss": 0.3},
    {"max_gap": 0.3, "confidence": 0.9},
]


@pytest.mark.filterwarnings("ignore::fairpot.exceptions.FairpotWarning")
@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize(("name", "groups"), [*((name, "ab") for name in names()), ("post-logit", "abc")])
def test_no_rule_of_any_method_chooses_it(name, rule, groups):
    rows = draw(3, n=400 if name == "xorder" or groups == "abc" else 1500, groups=groups)
    model = with_flat_values(name).set_params(**rule)
    try:
        model.fit(*rows[:2], sensitive_features=rows[2])
    except InfeasibleRuleError:
        return
    assert min(distinct(model, rows)) > 5


def test_it_would_have_been_the_best_choice():
    """On these rows slope 0 has the smallest gap, and is the only one to keep some bounds."""
    scores, y, group = rows = draw(3)
    model = with_flat_values("post-logit").fit(scores, y, sensitive_features=group)
    curve = model.tradeoff()
    assert curve.lam[0] == 0
    assert curve.orders.tolist() == [False, True, True, True]
    assert int(np.argmin(curve.gap)) == 0
    assert curve.select().lam == 0.02
    with pytest.raises(InfeasibleRuleError, match=r"smallest gap is .* at slope=0\.02"):
        curve.select(max_gap=float(curve.gap[0]))
    later = draw(4)
    few = PostLogit(grid=[0.0, 4.0], beta=0.7).fit(scores, y, sensitive_features=group)
    held_out = few.tradeoff(*later[:2], sensitive_features=later[2])
    assert held_out.gap[0] < 0.1
    assert held_out.band().gap.high[0] < 0.3
    with pytest.raises(InfeasibleRuleError, match="no slope can be certified"):
        held_out.select(max_gap=0.3, confidence=0.9)
    with pytest.raises(InfeasibleRuleError, match="no slope can be certified"):
        few.choose_certified(*later[:2], sensitive_features=later[2], max_gap=0.3, confidence=0.9)
    with pytest.raises(InfeasibleRuleError, match="no slope can be certified"):
        PostLogit(grid=[0.0, 4.0], beta=0.7, max_gap=0.3, confidence=0.9).fit(scores, y, sensitive_features=group)
    result = fairpot.compare(y, scores, sensitive_features=group, methods=[with_flat_values("post-logit")], cv=3)
    assert 0.0 not in result.points.value[1:]
    with pytest.warns(FairpotWarning, match="slope = 0 makes all scores of a group equal"):
        given = PostLogit(slope=0.0).fit(scores, y, sensitive_features=group)
    assert distinct(given, rows) == [1]
    for options in ({"max_gap": 0.9}, {}, {"max_gap": 0.9, "confidence": 0.9}):
        with pytest.raises(InfeasibleRuleError, match="makes all scores of a group equal"):
            PostLogit(grid=[0.0], **options).fit(scores, y, sensitive_features=group)


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
