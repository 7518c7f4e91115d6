"""The limit of more than two groups against every merge of small tables."""

import itertools

import numpy as np
import pytest

from fairpot import score_table
from fairpot.methods import LogitShift
from fairpot.tradeoff import Limit, auc_limit
from oracles import distance_to_limit


def placings(left, level=0, placed=((), (), ())):
    """Every way to put the scores of groups on common levels that turns no order inside a group."""
    if not any(left):
        yield placed
        return
    for take in itertools.product(*(range(k + 1) for k in left)):
        if any(take):
            rest = [k - t for k, t in zip(left, take)]
            yield from placings(rest, level + 1, [(*p, *[level] * t) for p, t in zip(placed, take)])


def measured(placed, positive, negative, ties):
    wins = np.empty((3, 3))
    for g, h in itertools.product(range(3), repeat=2):
        apart = np.subtract.outer(np.array(placed[g]), np.array(placed[h]))
        wins[g, h] = positive[g] @ ((apart > 0) + (0.5 if ties == "half" else 0.0) * (apart == 0)) @ negative[h]
    share = wins / np.outer([p.sum() for p in positive], [n.sum() for n in negative])
    return np.abs(share - share.T).max(), wins.sum() / (sum(p.sum() for p in positive) * sum(n.sum() for n in negative))


@pytest.mark.parametrize("ties", ["half", "strict"])
@pytest.mark.parametrize("seed", [0, 3])
def test_no_merge_is_above(ties, seed):
    rng, sizes = np.random.default_rng(seed), (2, 2, 2)
    positive, negative = ([rng.integers(0, 4, k) for k in sizes] for _ in range(2))
    for counts in (*positive, *negative):
        counts[rng.integers(len(counts))] += 1
    tried = np.array([measured(p, positive, negative, ties) for p in placings(sizes)])
    rows = [
        (label, k + 0.5 * g, "abc"[g], weight)
        for g in range(3)
        for label, counts in ((1, positive[g]), (0, negative[g]))
        for k, weight in enumerate(counts)
        if weight
    ]
    y, scores, group, weight = (np.array(column) for column in zip(*rows))
    limit = auc_limit(y, scores, sensitive_features=group, sample_weight=weight, ties=ties)
    for bound in (0.05, 0.2, 0.5, 1.0):
        best = tried[tried[:, 0] <= bound + 1e-12, 1].max()
        assert best <= limit.best(bound).auc + 1e-12
    assert limit.best(bound).auc == pytest.approx(best)  # without a bound the odds decide


def simulated(seed, n=3000, groups=4):
    rng = np.random.default_rng(seed)
    group, y = rng.integers(0, groups, n), rng.integers(0, 2, n)
    scores = rng.normal(y + np.linspace(0, 0.8, groups)[group])
    return y, scores, group


def test_no_shift_is_above():
    y, scores, group = simulated(0, 1500)
    limit = auc_limit(y, scores, sensitive_features=group)
    for bound in (0.02, 0.1):
        model = LogitShift(max_gap=bound).fit(scores, y, sensitive_features=group)
        curve = model.tradeoff(lams=[model.strength_])
        assert curve.auc[0] == pytest.approx(model.achieved_.auc)
        assert limit.best(bound).auc - 0.03 < curve.auc[0] <= limit.best(bound).auc
        assert distance_to_limit(curve, limit)[0] == pytest.approx(limit.best(float(curve.gap[0])).auc - curve.auc[0])
    assert list(limit.frame()["auc"]) == sorted(limit.frame()["auc"])
    assert "without a gap" in repr(limit)


def test_the_mean_of_folds():
    """Two folds with the same rows are one; the mean of others is between them where no bound binds."""
    tables = [score_table(y, s, sensitive_features=g) for y, s, g in (simulated(seed, 400, 3) for seed in (1, 2))]
    one, other = (Limit.of(t) for t in tables)
    twice = Limit.mean([one, one])
    for bound in (0.0, 0.1, 1.0):
        assert twice.best(bound).auc == pytest.approx(one.best(bound).auc)
    both = Limit.mean([one, other])
    assert both.best().auc == pytest.approx((one.best().auc + other.best().auc) / 2)
    assert both.best(0.05).auc >= (one.best(0.05).auc + other.best(0.05).auc) / 2 - 1e-12


def test_what_cannot_be_had():
    y, scores, group = simulated(4, 200, 3)
    with pytest.raises(ValueError, match="no rows with the outcome"):
        auc_limit(np.where(group == 1, 0, y), scores, sensitive_features=group)
    with pytest.raises(ValueError, match="reference"):
        auc_limit(y, scores, sensitive_features=group, reference="Z")
    other = LogitShift().fit(scores[group != 2], y[group != 2], sensitive_features=group[group != 2]).tradeoff()
    with pytest.raises(ValueError, match="the curve is one of"):
        distance_to_limit(other, auc_limit(y, scores, sensitive_features=group))
