"""The best strengths of several groups against every combination of them, counted pair by pair."""

import itertools

import numpy as np
import pytest

from fairpot.tradeoff import solve as solving
from fairpot.tradeoff.solve import Entries, solve, tabulate
from fairpot.tradeoff.together import Search

GROUPS = (2, 3, 4, 5)
BOUNDS = (0.03, 0.1, 0.25)


def cost(single, pair, k, largest):
    parts = [u[i] for u, i in zip(single, k)] + [t[k[g], k[h]] for (g, h), t in pair.items()]
    return max(parts) if largest else sum(parts)


@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("groups", GROUPS)
def test_no_combination_is_better(groups, largest, monkeypatch):
    """All of them looked at; a descent finds as good ones nearly always. Some tables forbid most values, some all."""
    rng, nothing, missed = np.random.default_rng(groups), 0, 0
    for forbidden in (0.0, 0.3, 0.7, 0.95) * 4:
        size = rng.integers(1, 6, groups)
        single = [rng.normal(size=n) * (not largest) for n in size]
        pair = {(g, h): rng.normal(size=(size[g], size[h])) for g, h in itertools.combinations(range(groups), 2)}
        for table in pair.values():
            table[rng.random(table.shape) < forbidden] = np.inf
        least = min(cost(single, pair, k, largest) for k in itertools.product(*map(range, size)))
        monkeypatch.setattr(solving, "_ALL", 10**6)  # combinations that are all looked at
        found = solve(single, pair, largest=largest)
        nothing += found is None
        assert (found is None) == np.isinf(least)
        assert found is None or cost(single, pair, found, largest) <= least + 2e-6
        monkeypatch.setattr(solving, "_ALL", 0)
        near = solve(single, pair, largest=largest)
        assert near is None or cost(single, pair, near, largest) >= least - 1e-12
        missed += not np.isinf(least) and (near is None or cost(single, pair, near, largest) > least + 2e-6)
    assert nothing < 12
    assert missed <= 1


def drawn(rng, groups, many=7, values=5, grain=1):
    """Groups with weights, ties inside and between them and a part that counts for gaps; the first one stays."""
    found = []
    for g in range(groups):
        score = np.sort(rng.normal(0.3 * g, size=many).round(grain))
        positive, negative = rng.integers(1, 4, many) * 1.0, rng.integers(1, 4, many) * 1.0
        inside = (score >= np.median(score)) | (rng.random() < 0.5)
        listed = np.zeros(1) if g == 0 else np.sort(rng.choice(np.arange(-9, 10) / 10, values, replace=False))
        move = lambda by, score=score: score + by  # noqa: E731
        still = int(np.argmin(np.abs(listed)))
        found.append(Entries(positive, negative, (positive * inside, negative * inside), listed, move, move, still))
    return found


def counted(entries, k, ties, threshold=None):
    """Count AUC, largest gap and net benefit of a combination, pair by pair."""
    half = 0.5 if ties == "half" else 0.0
    scores = [e.move(float(e.values[i])) for e, i in zip(entries, k)]

    def wins(g, h, positive, negative):
        apart = np.subtract.outer(scores[g].round(9), scores[h].round(9))
        return positive @ ((apart > 0) + half * (apart == 0)) @ negative

    everyone = range(len(entries))
    won = sum(wins(g, h, entries[g].positive, entries[h].negative) for g in everyone for h in everyone)
    auc = won / sum(e.positive.sum() for e in entries) / sum(e.negative.sum() for e in entries)
    gaps = []
    for g, h in itertools.combinations(everyone, 2):
        (p, n), (q, m) = entries[g].counted, entries[h].counted
        gaps.append(abs(wins(g, h, p, m) / p.sum() / m.sum() - wins(h, g, q, n) / q.sum() / n.sum()))
    if threshold is None:
        return auc, max(gaps), auc
    right = sum(e.positive[s >= threshold].sum() for e, s in zip(entries, scores))
    wrong = sum(e.negative[s >= threshold].sum() for e, s in zip(entries, scores))
    rows = sum(e.positive.sum() + e.negative.sum() for e in entries)
    return auc, max(gaps), (right - wrong * threshold / (1 - threshold)) / rows


def rounded(entries):
    """The same groups whose moved scores tie where they should: sums of tenths that are tenths."""
    return [
        e._replace(move=lambda by, m=e.move: m(by).round(9), show=lambda by, m=e.show: m(by).round(9)) for e in entries
    ]


@pytest.mark.parametrize("ties", ["half", "strict"])
@pytest.mark.parametrize("groups", GROUPS)
def test_three_rules_against_every_combination(groups, ties):
    """The highest AUC or net benefit within a gap, the smallest gap, the smallest gap for an AUC."""
    rng = np.random.default_rng(10 * groups + (ties == "half"))
    for threshold in (None, 0.4):
        entries = rounded(drawn(rng, groups))
        tables = tabulate(entries, [np.arange(len(e.values)) for e in entries], ties, threshold=threshold)
        every = {}
        for k in itertools.product(*(range(len(e.values)) for e in entries)):
            every[k] = counted(entries, k, ties, threshold)
            assert tables.at(k) == pytest.approx(every[k], abs=1e-12)
        auc, gap, worth = np.array(list(every.values())).T
        for bound in (*BOUNDS, 1.0):
            best = tables.best(bound)
            assert (best is None) == (gap.min() > bound)
            if best is not None:
                assert best.gap <= bound + 1e-12
                assert best.worth == pytest.approx(worth[gap <= bound + 1e-12].max(), abs=2e-6)
                assert every[best.places] == pytest.approx((best.auc, best.gap, best.worth), abs=1e-12)
        assert tables.least().gap == pytest.approx(gap.min(), abs=2e-6)
        for wanted in np.quantile(auc, (0.1, 0.5, 0.9, 1.0)):
            found = tables.least_for(wanted)
            assert found.auc >= wanted - 1e-12
            assert found.gap == pytest.approx(gap[auc >= wanted - 1e-12].min(), abs=1.2e-5)
        assert tables.least_for(auc.max() + 1e-6) is None


@pytest.mark.parametrize("groups", [3, 4])
def test_the_search_misses_nothing_on_short_lists(groups):
    """All values are in the first tables, so that closer looks can only confirm them."""
    rng = np.random.default_rng(groups)
    for ties in ("half", "strict"):
        entries = rounded(drawn(rng, groups, values=8))
        search = Search([entries] * 3, ties)
        every = np.array(
            [counted(entries, k, ties)[:2] for k in itertools.product(*(range(len(e.values)) for e in entries))]
        )
        auc, gap = every.T
        assert search.end.gap == pytest.approx(gap.min(), abs=1e-9)
        assert (search.still.auc, search.still.gap) == pytest.approx(
            counted(entries, [e.still for e in entries], ties)[:2], abs=1e-12
        )
        for bound in (gap.min(), *BOUNDS):
            found = search.highest(bound)
            assert (found is None) == (gap.min() > bound + 1e-12)
            if found is not None:
                assert found.gap <= bound + 1e-12
                assert found.auc == pytest.approx(auc[gap <= bound + 1e-12].max(), abs=2e-6)
        for wanted in np.quantile(auc, (0.5, 0.9)):
            assert search.cheapest(wanted).gap == pytest.approx(gap[auc >= wanted - 1e-12].min(), abs=1.2e-5)


def test_the_way_leads_down_and_each_node_keeps_its_share():
    rng = np.random.default_rng(1)
    search = Search([rounded(drawn(rng, 3, many=30, values=12))] * 3, "half")
    shares = np.linspace(0, 1, 9)
    way = search.path(shares)
    assert len(way) == len(shares)
    assert way[0] == search.still
    assert way[-1] == search.end
    bounds = search.still.gap + shares * (search.end.gap - search.still.gap)
    assert all(node.gap <= bound + 1e-12 for node, bound in zip(way, bounds))
    worth = [node.worth for node in way[1:]]
    assert worth == sorted(worth, reverse=True)


def test_groups_that_are_moved_differently_must_not_nearly_tie():
    entries = rounded(drawn(np.random.default_rng(2), 2, values=5))
    places = [np.arange(len(e.values)) for e in entries]
    plain, shy = (tabulate(entries, places, "half", shy=width).gap[0, 1] for width in (0.0, 1e-6))
    near = np.array(
        [
            [
                (np.abs(np.subtract.outer(entries[0].move(a), entries[1].move(b))) < 1e-7).any()
                for b in entries[1].values
            ]
            for a in entries[0].values
        ]
    )
    same = np.equal.outer(entries[0].values, entries[1].values)  # moved alike: a tie was there before
    assert (near & ~same).any()
    np.testing.assert_array_equal(np.isinf(shy), near & ~same)
    np.testing.assert_array_equal(shy[~np.isinf(shy)], plain[~np.isinf(shy)])


def test_many_levels_are_counted_like_few(monkeypatch):
    entries = drawn(np.random.default_rng(3), 3, many=40, grain=9)
    places = [np.arange(len(e.values)) for e in entries]
    few = tabulate(entries, places, "half", shy=1e-6)
    monkeypatch.setattr(solving, "_CELLS", 0)
    many = tabulate(entries, places, "half", shy=1e-6)
    for pair in few.gap:
        np.testing.assert_allclose(many.gap[pair], few.gap[pair], atol=1e-12)
        np.testing.assert_allclose(many.won[pair], few.won[pair], atol=1e-12)
