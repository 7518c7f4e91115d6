"""The limit of more than two groups against every merge of small tables."""

import itertools

import numpy as np
import pytest

from fairpot import score_table
from fairpot.methods import LogitShift
from fairpot.metrics.wins import WinMatrix
from fairpot.tradeoff import LimitBracket, auc_limit, distance_to_limit
from fairpot.tradeoff.limit import block_starts
from fairpot.transport import ScoreMap


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
def test_the_best_merge_is_between_the_two(ties, seed):
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
    bracket = auc_limit(y, scores, sensitive_features=group, sample_weight=weight, ties=ties)
    for bound in (0.05, 0.2, 0.5, 1.0):
        best = tried[tried[:, 0] <= bound + 1e-12, 1].max()
        point = bracket.best(bound)
        assert point.low <= best + 1e-12
        assert best <= point.high + 1e-12
    assert point.low == pytest.approx(best)  # without a bound the odds decide
    assert point.high == pytest.approx(best)


def simulated(seed, n=3000, groups=4):
    rng = np.random.default_rng(seed)
    group, y = rng.integers(0, groups, n), rng.integers(0, 2, n)
    scores = rng.normal(y + np.linspace(0, 0.8, groups)[group])
    return y, scores, group


def test_the_ends_are_close_on_real_sizes_and_no_shift_is_above():
    y, scores, group = simulated(0, 1500)
    bracket = auc_limit(y, scores, sensitive_features=group)
    for bound in (0.02, 0.1):
        model = LogitShift(max_gap=bound).fit(scores, y, sensitive_features=group)
        point = bracket.best(bound)
        assert point.high - point.low < 2e-3
        curve = model.tradeoff(lams=[model.strength_])
        assert curve.auc[0] == pytest.approx(model.achieved_.auc)
        assert curve.auc[0] <= point.high
        assert distance_to_limit(curve, bracket, corrected=False)[0] == pytest.approx(
            bracket.high(float(curve.gap[0])) - curve.auc[0]
        )
        assert np.isnan(distance_to_limit(curve, bracket)).all()
    assert list(bracket.frame()["high"]) == sorted(bracket.frame()["high"])
    assert "at a gap of at most 0.02" in repr(bracket)


def test_the_mean_of_folds():
    """Two folds with the same rows are one; the mean of others is between them where no bound binds."""
    tables = [score_table(y, s, sensitive_features=g) for y, s, g in (simulated(seed, 400, 3) for seed in (1, 2))]
    one, other = (LimitBracket.of(t) for t in tables)
    twice = LimitBracket.mean([one, one])
    for bound in (0.0, 0.1, 1.0):
        assert twice.high(bound) == pytest.approx(one.high(bound))
    assert twice.low(0.1) == pytest.approx(one.low(0.1))
    both = LimitBracket.mean([one, other])
    assert both.high(1.0) == pytest.approx((one.high(1.0) + other.high(1.0)) / 2)
    assert both.high(0.05) >= (one.high(0.05) + other.high(0.05)) / 2 - 1e-12


def merged_rows(table, merges, bound, ties):
    """Put every score of a table where the merge that was found puts it: groups by their moved log-odds."""
    found = merges._search.highest(bound)
    placed = {}
    for g, (name, counts) in enumerate(zip(table.groups, table.counts)):
        entries = merges._search.detail[-1][g]
        place = entries.move(float(entries.values[found.places[g]]))
        if len(place) < len(counts.score):  # a block of several scores; with strict ties they keep their own order
            starts = np.append(block_starts(counts), len(counts.score))
            place = np.repeat(place, np.diff(starts)) + (1e-12 * np.arange(starts[-1]) if ties == "strict" else 0.0)
        assert (np.diff(place) >= 0).all()
        placed[name] = ScoreMap(counts.score, place)
    return table.rescored(placed)


@pytest.mark.parametrize("ties", ["half", "strict"])
@pytest.mark.parametrize("digits", [0, 1, 6])
@pytest.mark.parametrize("groups", [3, 4])
def test_the_lower_end_is_a_merge_that_there_is_and_never_above_the_upper_one(groups, digits, ties):
    for seed, rows in ((0, 60), (1, 400)):
        y, scores, group = simulated(seed, rows, groups)
        y[: 2 * groups], group[: 2 * groups] = np.repeat([0, 1], groups), np.tile(np.arange(groups), 2)
        table = score_table(y, scores.round(digits), sensitive_features=group)
        bracket = LimitBracket.of(table, ties=ties)
        for bound in (0.0, 0.03, 0.1, 0.3, 1.0):
            point = bracket.best(bound)
            assert bracket.known[bound] <= point.high + 1e-9  # also before it is cut there
            there = next((each for each in bracket.merges[0] if each.best(bound) is not None), None)
            if there is None:
                assert point.low == (0.5 if ties == "half" else 0.0)
                continue
            wins = WinMatrix.of(merged_rows(table, there, bound, ties), ties)
            first, second = wins.widest()
            assert abs(first - second) <= bound + 1e-9
            assert wins.auc() == pytest.approx(point.low, abs=1e-9)


def test_what_cannot_be_had():
    y, scores, group = simulated(4, 200, 3)
    with pytest.raises(ValueError, match="no rows with the outcome"):
        auc_limit(np.where(group == 1, 0, y), scores, sensitive_features=group)
    with pytest.raises(ValueError, match="reference"):
        auc_limit(y, scores, sensitive_features=group, reference="Z")
    other = LogitShift().fit(scores[group != 2], y[group != 2], sensitive_features=group[group != 2]).tradeoff()
    with pytest.raises(ValueError, match="the curve is one of"):
        distance_to_limit(other, auc_limit(y, scores, sensitive_features=group))
