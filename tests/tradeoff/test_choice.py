"""What points of a curve are worth under a rule, where a search looks closer, and which of equals is taken."""

import itertools

import numpy as np
import pytest

from fairpot import InfeasibleRuleError
from fairpot.tradeoff import TradeoffCurve
from fairpot.tradeoff.choice import Choice
from fairpot.tradeoff.rules import Rule


def judged(signed, auc, rule=None, benefit=None, **options):
    signed = np.array(signed, dtype=float)
    lam = options.pop("lam", np.linspace(0, 1, len(signed)))
    options = {"unrepaired_auc": 0.8} | options
    curve = TradeoffCurve(lam, np.array(auc), 0.5 + signed / 2, 0.5 - signed / 2, ("b",), "a", **options)
    return Choice(curve, rule or Rule(), None if benefit is None else np.array(benefit))


def random_choice(rng, rule, n=12):
    """Points with gaps and AUCs on a coarse grid, so that many are equal; some are undefined or leave no order."""
    signed, auc = rng.integers(-4, 5, n) / 10, rng.integers(6, 9, n) / 10
    auc = np.where(rng.random(n) < 0.1, np.nan, auc)
    identity = [None, 0.0, float(rng.integers(0, n))][rng.integers(3)]
    orders = rng.random(n) < 0.9
    benefit = rng.integers(0, 4, n) / 10 if rule.net_benefit_at is not None else None
    lam = np.arange(float(n))
    return judged(signed, auc, rule, benefit, orders=orders, identity=identity, lam=lam)


RULES = [
    Rule(*each)
    for each in itertools.product((None, 0.05, 0.2), (None, 0.0, 0.1), (None, 0.3))
    if each[2] is None or each[0] is not None
]


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_no_point_that_keeps_the_rule_is_better(rule):
    rng, chosen = np.random.default_rng(0), 0
    for _ in range(60):
        found = random_choice(rng, rule)
        curve = found.curve
        kept = [
            k
            for k in range(len(curve))
            if curve.orders[k]
            and not np.isnan(curve.auc[k])
            and (rule.max_gap is None or curve.gap[k] <= rule.max_gap + 1e-12)
            and (rule.max_auc_loss is None or 0.8 - curve.auc[k] <= rule.max_auc_loss + 1e-12)
        ]
        if not kept:
            with pytest.raises(InfeasibleRuleError):
                found.chosen()
            assert found.merit() < -1
            continue
        chosen += 1
        point, place = found.chosen(), int(np.flatnonzero(curve.lam == found.chosen().lam)[0])
        assert place in kept
        if point.note:
            assert rule.max_gap is not None
            assert point.lam == curve.identity
            continue
        if rule.max_gap is None:
            assert all((point.gap, -point.auc) <= (curve.gap[k] + 1e-12, -curve.auc[k] + 1e-12) for k in kept)
            continue
        worth = curve.auc if found.benefit is None else found.benefit
        most = np.inf if curve.identity is None or found.benefit is not None else 0.8
        best = max(min(worth[k], most) for k in kept)
        assert min(worth[place], most) == pytest.approx(best)
        assert found.merit() == pytest.approx(best)
        equals = [k for k in kept if min(worth[k], most) >= best - 1e-12]
        if curve.identity is None:
            assert place == equals[0]
        else:
            assert abs(point.lam - curve.identity) == min(abs(curve.lam[k] - curve.identity) for k in equals)
    assert chosen > 5


def test_of_equals_the_nearest_to_the_scores_as_they_came():
    gap, auc = (0.1, 0.05, 0.1, 0.3, 0.1), (0.7, 0.6, 0.7, 0.8, 0.7)
    for identity, place in ((0.0, 0), (0.6, 2), (1.0, 4), (None, 0)):
        found = judged(gap, auc, Rule(0.15), identity=identity)
        assert found.chosen().lam == found.curve.lam[place]
    smallest = judged((0.1, 0.1, 0.1, 0.3, 0.1), (0.7, 0.75, 0.7, 0.8, 0.75), identity=0.6)
    assert smallest.chosen().lam == 0.25  # of equal gaps the highest AUC, and of these the nearest


def test_spots_are_the_choice_its_rivals_and_the_edges_of_the_rule():
    #        kept   kept   no    no   kept  kept  kept
    signed = (0.05, 0.04, 0.2, 0.3, 0.06, 0.01, -0.05)
    auc = (0.70, 0.65, 0.9, 0.9, 0.72, 0.60, 0.71)
    found = judged(signed, auc, Rule(0.1), identity=None)
    spots = found.spots()
    assert spots[0] == 4  # the best that keeps the rule
    assert {0, 4, 6} <= set(spots)  # peaks of what keeps it
    assert {1, 4} <= set(spots)  # the allowed side of each edge
    assert {2, 3}.isdisjoint(spots)
    smallest = judged(signed, auc, Rule(), identity=None)
    assert {5} <= set(smallest.spots())  # and where the sign changes, a gap of 0 may lie in between
    missed = judged(np.array(signed) + 0.5, auc, Rule(0.1), identity=None)
    assert set(missed.spots()) == {6, 5, 1}  # the smallest gaps
    turned = judged((0.5, 0.4, -0.4), (0.7, 0.7, 0.7), Rule(0.1), identity=None)
    assert 1 in turned.spots()  # between 0.4 and -0.4 there is a gap of 0
    assert judged((0.1, 0.2), (np.nan, np.nan), Rule(0.1)).spots() == []


def test_the_edge_is_where_the_rule_ends_beside_the_best():
    signed, auc = (0.3, 0.2, 0.08, 0.02), (0.8, 0.79, 0.75, 0.7)
    assert judged(signed, auc, Rule(0.1)).edge() == (1, 2)
    assert judged(signed, auc, Rule(0.25)).edge() == (0, 1)
    assert judged(signed, auc, Rule(0.5), identity=None).edge() is None  # all keep it
    assert judged(signed, auc, Rule(max_auc_loss=0.03)).edge() == (1, 2)
    assert judged((0.3, 0.1, -0.2, -0.3), auc, Rule()).edge() == (1, 2)  # the smallest gap is where the sign changes
    assert judged((0.3, 0.1, -0.2, -0.3), auc, Rule(0.05)).edge() == (1, 2)  # and so where nothing keeps the rule
    assert judged((0.3, 0.2, 0.1, 0.05), auc, Rule(0.01)).edge() is None
    assert judged((np.nan, np.nan), (0.7, 0.7), Rule(0.1)).edge() is None


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_the_order_begins_with_what_keeps_the_rule_then_with_what_misses_it_least(rule):
    rng = np.random.default_rng(1)
    for _ in range(30):
        found = random_choice(rng, rule)
        order = found.order()
        assert sorted(order) == list(range(len(found.curve)))
        usable = ~np.isnan(found.curve.auc) & found.curve.orders
        kept = found.allowed(usable)
        assert kept[order[: kept.sum()]].all()
        if kept.any():
            assert found.merit() == pytest.approx(found.worth()[order[0]])
        missed = [found._missed()[k] for k in order[kept.sum() : usable.sum()]]
        assert missed == sorted(missed)


def test_what_cannot_be_chosen_is_said():
    flat = judged((0.1, 0.2), (0.7, 0.8), Rule(0.3), orders=np.array([False, False]))
    with pytest.raises(InfeasibleRuleError, match="makes all scores of a group equal"):
        flat.chosen()
    top = judged((np.nan, np.nan), (0.7, 0.8), Rule(0.3), top=0.1)
    with pytest.raises(InfeasibleRuleError, match=r"in the top 10% some group has nobody with(.|\n)*a larger top"):
        top.chosen()
    with pytest.raises(InfeasibleRuleError, match=r"max_auc_loss=0.01: the highest AUC is 0.7 at lam=1"):
        judged((0.1, 0.2), (0.6, 0.7), Rule(max_auc_loss=0.01), identity=None).chosen()
    assert judged((0.3, 0.1), (0.8, 0.7), Rule(0.2), (0.3, 0.25)).chosen().net_benefit == 0.25
