"""The audit says what the metrics say, and calibration what scikit-learn and plain loops say."""

import json

import numpy as np
import pytest

from fairpot import FairPOT
from fairpot._validation import check_rows
from fairpot.metrics import (
    auc,
    xauc,
    xauc_gap,
)
from fairpot.results.audit import audit_table as audit
from fairpot.results.rates import moves
from fairpot.table import ScoreTable


def draw(seed=0, n=500, groups="abc", digits=2):
    rng = np.random.default_rng(seed)
    group = rng.choice(list(groups), n)
    scores = np.round(rng.beta(2, 3, n), digits)
    return scores, (rng.random(n) < scores).astype(int), group, rng.integers(0, 5, n)


def table_of(scores, y, group, weight=None):
    return ScoreTable.from_rows(*check_rows(scores, y, group, weight))


@pytest.mark.parametrize("ties", ["strict", "half"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("groups", ["ab", "abcd"])
def test_equal_to_the_metrics(ties, weighted, groups):
    scores, y, group, weight = draw(groups=groups)
    weight = weight if weighted else None
    found = audit(table_of(scores, y, group, weight), ties=ties, top=0.3)
    given = {"sample_weight": weight, "ties": ties}
    by_group = given | {"sensitive_features": group}
    half, strict = ({"sample_weight": weight, "ties": how} for how in ("half", "strict"))
    assert found.auc == auc(y, scores, **given)
    assert found.gap == xauc_gap(y, scores, **by_group)
    for cell in found.ranking.xauc:
        expected = xauc(y, scores, positive=cell.positive, negative=cell.negative, **by_group)
        assert cell.xauc == expected
    for each in found.ranking.groups:
        name = each.group
        assert each.auc == xauc(y, scores, positive=name, negative=name, **by_group)
        rows = np.ones(len(y)) if weight is None else weight
        assert each.rows == rows[group == name].sum()
        assert each.positives == rows[(group == name) & (y == 1)].sum()
    assert found.ranking.tied.share == pytest.approx(2 * (auc(y, scores, **half) - auc(y, scores, **strict)), abs=1e-14)
    [partial] = found.tops
    assert partial.auc == auc(y, scores, top=0.3, **given)
    assert partial.gap == xauc_gap(y, scores, top=0.3, **by_group)
    for cell in partial.xauc:
        pair = {"positive": cell.positive, "negative": cell.negative}
        assert cell.xauc == xauc(y, scores, top=0.3, **pair, **by_group)


def test_both_ways_to_count_ties():
    scores, y, group, _ = draw(groups="ab", digits=1)
    table, by_group = table_of(scores, y, group), {"sensitive_features": group}
    for ties in ("half", "strict"):
        found = audit(table, ties=ties)
        assert found.auc == getattr(found.ranking.tied, f"auc_{ties}")
        for each in ("half", "strict"):
            assert getattr(found.ranking.tied, f"auc_{each}") == auc(y, scores, ties=each)
            assert getattr(found.ranking.tied, f"gap_{each}") == xauc_gap(y, scores, ties=each, **by_group)
        assert {"ties auc", "ties gap"} & {note.kind for note in found.notes}
    assert audit(table).to_dict() == audit(table, ties="half").to_dict()


def test_reference_turns_the_signed_gap():
    scores, y, group, _ = draw(groups="ab")
    table = table_of(scores, y, group)
    gap = {name: audit(table, reference=name).ranking.gaps[0] for name in "ab"}
    assert gap["a"].first == "a"
    assert gap["a"].signed_gap == -gap["b"].signed_gap
    ahead = audit(table).ranking.gaps[0]
    assert ahead.signed_gap >= 0
    assert ahead.first == FairPOT(0.4).fit(scores, y, sensitive_features=group).reference_
    with pytest.raises(ValueError, match="not among the groups"):
        audit(table, reference="z")


def test_what_cannot_be_measured_is_none():
    scores, y, group = np.linspace(0.1, 0.9, 9), np.array([0, 1, 0, 1, 0, 1, 0, 0, 0]), np.array(list("aaabbbccc"))
    found = audit(table_of(scores, y, group))
    assert any("c has no rows with the outcome" in text for text in found.warnings)
    assert {c.xauc for c in found.ranking.xauc if c.positive == "c"} == {None}
    assert [pair.signed_gap is None for pair in found.ranking.gaps] == [False, True, True]
    two = np.isin(group, ["a", "b"])
    assert found.gap == xauc_gap(y[two], scores[two], sensitive_features=group[two])
    json.dumps(found.to_dict(), allow_nan=False)


def test_small_cells_are_named():
    scores, y, group, _ = draw(n=80, groups="ab")
    few = audit(table_of(scores, y, group)).warnings
    assert any("only" in text and "(under 30)" in text for text in few)
    scores, y, group, _ = draw(n=2000, groups="ab", digits=9)
    assert audit(table_of(scores, y, group)).notes == ()


def test_needs_groups():
    scores, y, *_ = draw()
    with pytest.raises(ValueError, match="single group"):
        audit(ScoreTable.from_rows(scores, y.astype(np.int8)))


def test_calibration_by_plain_loops():
    scores, y, group, weight = draw(seed=3, n=3000, groups="ab", digits=3)
    found = audit(table_of(scores, y, group, weight))
    for each in found.ranking.groups:
        mine = group == each.group
        s, outcome, w = scores[mine], y[mine], weight[mine]
        assert each.calibration.error_in_the_large == pytest.approx(
            np.average(s, weights=w) - np.average(outcome, weights=w)
        )
        expected = 0.0
        for b in range(10):
            inside = (s >= b / 10) & ((s < (b + 1) / 10) | (b == 9)) & (w > 0)
            if inside.any():
                difference = np.average(s[inside], weights=w[inside]) - np.average(outcome[inside], weights=w[inside])
                expected += w[inside].sum() / w.sum() * abs(difference)
        assert each.calibration.expected_calibration_error == pytest.approx(expected, abs=2e-3)
    assert found.calibration_bins == 10


def test_scores_that_are_no_probabilities():
    scores, y, group, _ = draw(groups="ab")
    found = audit(table_of(scores * 100, y, group))
    assert found.calibration is None
    assert any("not probabilities" in text for text in found.warnings)


def test_moves():
    scores, y, group, _ = draw(groups="ab")
    model = FairPOT(0.5).fit(scores, y, sensitive_features=group)
    after = model.transform(scores, sensitive_features=group)
    for each in moves(model.table_, model.maps_):
        mine = group == each.group
        shift = after[mine] - scores[mine]
        assert each.rows == mine.sum()
        assert each.moved == (shift != 0).sum()
        assert (each.up, each.down) == ((shift > 0).sum(), (shift < 0).sum())
        assert each.largest_shift == np.abs(shift).max()
        if each.moved:
            assert each.mean_shift == pytest.approx(shift[shift != 0].mean())
        assert each.mean_shift_of_all == pytest.approx(shift.mean())
