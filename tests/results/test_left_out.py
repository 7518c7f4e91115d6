"""Groups that are too small to be compared: what is said of the others is what is said without them."""

import numpy as np
import pytest

import fairpot
from fairpot import ScoreMap, audit
from fairpot.words import written

pytestmark = pytest.mark.filterwarnings("ignore::fairpot.exceptions.SmallGroupWarning")


def wards(large, *, digits=3, extra="none"):
    """Rows of some large groups, and of two small ones far from all others; of weights or clusters, if asked for."""
    rng = np.random.default_rng(len(large))
    sizes = dict(zip(large, (700, 520, 430, 390))) | {"rare": 26, "thin": 18}
    group = np.repeat(list(sizes), list(sizes.values()))
    y = (rng.random(len(group)) < 0.4).astype(int)
    lead = np.select([group == large[1], group == large[-1], group == "rare", group == "thin"], [-0.5, 0.3, 2.0, -2.0])
    rows = {"scores": np.round(rng.normal(y + lead), digits), "y": y, "sensitive_features": group}
    if extra in ("importance", "frequency"):
        rows |= {"sample_weight": rng.integers(1, 4, len(y)), "weights": extra}
    if extra == "clusters":
        rows |= {"clusters": rng.integers(0, 900, len(y))}
    return rows, np.isin(group, large)


def of(rows, chosen):
    return {name: value if isinstance(value, str) else value[chosen] for name, value in rows.items()}


def close(one, other):
    return [getattr(one, end) for end in ("before", "after", "change", "low", "high")] == pytest.approx(
        [getattr(other, end) for end in ("before", "after", "change", "low", "high")], abs=2e-3, nan_ok=True
    )


@pytest.mark.parametrize("extra", ["none", "importance", "frequency", "clusters"])
@pytest.mark.parametrize("large", [("n", "s"), ("n", "s", "w"), ("n", "s", "w", "e")], ids=len)
def test_the_change_of_the_overall_gap_is_that_of_the_groups_compared(large, extra):
    rows, chosen = wards(large, extra=extra)
    maps = {group: ScoreMap.identity() for group in (*large, "rare", "thin")}
    maps |= {"s": ScoreMap([-4.0, 4.0], [-3.6, 4.4]), "rare": ScoreMap([-5.0, 5.0], [-4.2, 5.8])}
    found, alone = (fairpot.effect(maps, **of(rows, kept)) for kept in (slice(None), chosen))
    assert found.before.ranking.small_groups == ("rare", "thin")
    assert close(found.changes.headline, alone.changes.gap)
    assert found.changes.headline.groups == alone.changes.gap.groups
    assert found.changes.gap.before == found.before.gap > found.changes.headline.before
    both = [{row.metric: row for row in each.rows()}["overall gap"] for each in (found, alone)]
    for end in ("before", "after"):  # their intervals hold beside those of all pairs
        assert float(getattr(both[0], end)) == pytest.approx(float(getattr(both[1], end)), abs=1e-12)
        assert getattr(both[0], end).low <= getattr(both[1], end).low + 2e-3
    numbers = [[float(row.change), row.change.low, row.change.high] for row in both]
    assert numbers[0] == pytest.approx(numbers[1], abs=2e-3)
    assert both[0].change.low < both[0].change < both[0].change.high
    assert found.to_dict()["changes"]["headline"]["low"] == found.changes.headline.low


def test_a_paired_bootstrap_of_the_pair_agrees():
    rows, chosen = wards(("n", "s"))
    maps = {group: ScoreMap.identity() for group in ("n", "rare", "thin")} | {"s": ScoreMap([-4.0, 4.0], [-3.85, 4.15])}
    change = fairpot.effect(maps, **rows).changes.headline
    score, y, group = (rows[name][chosen] for name in ("scores", "y", "sensitive_features"))
    new, rng, drawn = np.where(group == "s", score + 0.15, score), np.random.default_rng(1), []
    cells = [np.flatnonzero((group == g) & (y == label)) for g in "ns" for label in (1, 0)]
    for _ in range(300):
        a1, a0, b1, b0 = (rng.choice(cell, len(cell)) for cell in cells)
        gaps = []
        for s in (score, new):
            there, back = ((np.subtract.outer(s[p], s[q]) > 0).mean() for p, q in ((a1, b0), (b1, a0)))
            gaps.append(abs(there - back))
        drawn.append(gaps[1] - gaps[0])
    assert [change.low, change.high] == pytest.approx(np.quantile(drawn, [0.025, 0.975]), abs=0.015)


def test_a_group_without_an_outcome_leaves_the_others_their_intervals():
    rows, chosen = wards(("n", "s", "w"))
    rows["y"] = np.where(rows["sensitive_features"] == "rare", 0, rows["y"])
    maps = {group: ScoreMap.identity() for group in ("n", "w", "rare", "thin")} | {"s": ScoreMap([-4.0, 4.0], [-3, 5])}
    found, alone = (fairpot.effect(maps, **of(rows, kept)) for kept in (slice(None), chosen))
    assert close(found.changes.headline, alone.changes.gap)
    assert close(found.changes.signed_gap["n", "s"], alone.changes.signed_gap["n", "s"])
    assert found.changes.gap.low != found.changes.gap.low
    assert "'rare' has no rows with the outcome" in found.changes.gap.reason
    assert found.changes.auc.low < found.changes.auc.change < found.changes.auc.high


def test_a_left_out_pair_with_a_larger_gap_is_named():
    rows, _ = wards(("n", "s", "w"))
    maps = {group: ScoreMap.identity() for group in ("n", "s", "w", "rare", "thin")}
    found = fairpot.effect(maps, **rows)
    [note] = [each for each in found.notes if each.kind == "larger left out"]
    gap = found.after.ranking.gap
    assert (note.value, note.pairs) == (gap, (gap.groups,))
    assert f"that of {gap.groups[0]} over {gap.groups[1]} goes from {gap:.3f} to {gap:.3f}" in note.text
    rows, chosen = wards(("n", "s", "w"))
    assert not any(each.kind == "larger left out" for each in fairpot.effect(maps, **of(rows, chosen)).notes)


def test_models_differ_by_the_gap_of_the_groups_compared():
    rows, chosen = wards(("n", "s", "w"))
    models = {"old": rows["scores"], "new": rows["scores"] + 0.4 * (rows["sensitive_features"] == "s")}
    y, group = rows["y"], rows["sensitive_features"]
    found = audit(y, models, sensitive_features=group)
    alone = audit(y[chosen], {k: v[chosen] for k, v in models.items()}, sensitive_features=group[chosen])
    assert close(found.changes["new"].headline, alone.changes["new"].gap)
    widest = [found[name].ranking.widest for name in ("old", "new")]
    assert widest[1] - widest[0] == pytest.approx(found.changes["new"].headline.change)
    assert f"old -> new: gap {found.changes['new'].headline}" in str(found)


@pytest.mark.parametrize("large", [("n", "s"), ("n", "s", "w")], ids=len)
@pytest.mark.parametrize("ties", ["half", "strict"])
def test_the_note_on_ties_is_of_the_pair_of_the_headline(large, ties):
    rows, _ = wards(large, digits=0)
    y, score, group = rows["y"], rows["scores"], rows["sensitive_features"]
    found = audit(y, score, sensitive_features=group, ties=ties)
    [note] = [each for each in found.notes if each.kind == "ties gap"]
    first, second = found.ranking.leading.first, found.ranking.leading.second
    assert note.pairs == ((first, second),)
    for number, worth in ((note.value, 0.0), (note.other, 0.5)):
        xauc = []
        for one, other in ((first, second), (second, first)):
            difference = np.subtract.outer(score[(group == one) & (y == 1)], score[(group == other) & (y == 0)])
            xauc.append((difference > 0).mean() + worth * (difference == 0).mean())
        assert number == pytest.approx(xauc[0] - xauc[1], abs=1e-12)
    assert (note.other if ties == "half" else note.value) == found.ranking.leading.signed_gap
    assert f"the overall gap of {first} over {second} is {note.value:.3f} if a tie is no win" in written(note)
    two = np.isin(group, [first, second])
    [alone] = [
        each
        for each in audit(y[two], score[two], sensitive_features=group[two], ties=ties).notes
        if each.kind == "ties gap"
    ]
    assert (alone.value, alone.other, alone.pairs) == (
        pytest.approx(note.value, abs=1e-12),
        pytest.approx(note.other, abs=1e-12),
        (),
    )
