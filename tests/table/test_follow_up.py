"""Outcomes by a horizon: rows stand for those like them who left, exactly as Kaplan and Meier's curves have it."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairpot
from fairpot import score_table
from fairpot._defaults import LEAVING
from fairpot.follow_up import FollowedRows, Staying, weights_at
from fairpot.inference import confidence_interval
from followed_cases import followed, had_by, staying
from rows_cases import assert_same_tables

FEW = st.integers(0, 10**6)


def rows_of(frame, *, weighted=False, whole=False):
    weight = frame.weight.to_numpy() if weighted else np.ones(len(frame))
    square = weight if whole else weight**2
    columns = [frame[name].to_numpy() for name in ("days", "died", "score")]
    return FollowedRows(
        columns[0], columns[1].astype(np.int8), columns[2], np.unique(frame.sex, return_inverse=True)[1], weight, square
    )


def table_of(frame, horizon=1.0, **more):
    given = {"time": frame.days, "event": frame.died, "horizon": horizon, "sensitive_features": frame.sex}
    competing = {"competing": 2} if (frame.died == 2).any() else {}
    return score_table(None, frame.score, **given, **competing, **more)


@given(FEW, st.sampled_from(LEAVING), st.booleans(), st.sampled_from([0.0, 0.4]), st.sampled_from([None, 0.25]))
@settings(max_examples=40, deadline=None)
def test_weights_are_those_of_the_curves_in_each_stratum(seed, leaving, weighted, competing, step):
    rows = rows_of(followed(60, seed, competing=competing, step=step), weighted=weighted)
    strata = rows.strata(leaving)
    case, worth = weights_at(rows, 1.0, strata)
    assert not worth[(rows.event == 0) & (rows.time < 1.0)].any()
    for stratum in np.unique(strata):
        some = strata == stratum
        time, event, own = rows.time[some], rows.event[some], rows.weight[some]
        counted = own * worth[some]
        np.testing.assert_allclose(
            Staying.of(rows, np.flatnonzero(some)).before(time), [staying(time, event, own, t) for t in time]
        )
        if time[np.lexsort((event == 0, time))][-1] >= 1.0 or event[np.lexsort((event == 0, time))[-1]]:
            assert counted.sum() == pytest.approx(own.sum(), rel=1e-9)
            assert (counted * case[some]).sum() / own.sum() == pytest.approx(had_by(time, event, own, 1.0), abs=1e-9)
        else:
            assert counted.sum() < own.sum()


def test_events_come_before_leavings_and_follow_up_may_end_at_the_horizon():
    time, event = np.array([1.0, 1.0, 2.0, 3.0, 3.0, 3.0]), np.array([1, 0, 1, 1, 0, 2], dtype=np.int8)
    rows = FollowedRows(time, event, np.arange(6.0), np.zeros(6, dtype=int), np.ones(6), np.ones(6))
    case, worth = weights_at(rows, 3.0, rows.code)
    assert case.tolist() == [1, 0, 1, 1, 0, 0]
    # The event at 1 was before the leaving at 1, of five at risk: the four others are worth 5/4.
    np.testing.assert_allclose(worth, [1, 0, 1.25, 1.25, 1.25, 1.25])


def test_equal_scores_are_in_one_fifth_and_strata_tell_their_group():
    frame = followed(300, 1)
    frame["score"] = frame.score.round(0)
    rows = rows_of(frame)
    strata = rows.strata("score")
    assert len({*zip(rows.code, rows.score, strata)}) == len({*zip(rows.code, rows.score)})
    assert (strata // 5 == rows.code).all()
    assert set(rows.strata("group")) == {0, 5}


@pytest.mark.parametrize("competing", [0.0, 0.3])
def test_without_leaving_it_is_the_table_of_the_outcomes(competing):
    frame = followed(500, 2, competing=competing, leave=1e-9)
    y = ((frame.died == 1) & (frame.days <= 1)).astype(int)
    table = table_of(frame)
    assert_same_tables(table, score_table(y, frame.score, sensitive_features=frame.sex))
    assert [each.left for each in table.follow_up.groups] == [0, 0]
    weight = {"sample_weight": frame.weight, "clusters": frame.patient}
    assert_same_tables(table_of(frame, **weight), score_table(y, frame.score, sensitive_features=frame.sex, **weight))


def test_the_table_does_not_depend_on_the_order_of_rows():
    frame = followed(500, 3, by_score=0.3, competing=0.2, step=0.1)
    for more in ({}, {"leaving": "group"}):
        mixed = frame.sample(frac=1, random_state=0)
        assert_same_tables(table_of(frame, **more), table_of(mixed, **more))
        weighted = (table_of(each, sample_weight=each.weight, **more) for each in (frame, mixed))
        assert_same_tables(*weighted)
    below = frame.assign(score=-frame.score)
    assert [c.weight.sum() for c in table_of(below, lower_is_riskier=True).counts] == pytest.approx(
        [c.weight.sum() for c in table_of(frame).counts]
    )


def test_a_weight_of_so_many_rows_is_so_many_rows():
    frame = followed(200, 4)
    times = np.random.default_rng(4).integers(1, 4, 200)
    every = frame.loc[np.repeat(frame.index, times)]
    one, other = (
        table_of(frame, sample_weight=times, weights="frequency", leaving="group"),
        table_of(every, leaving="group"),
    )
    assert one.rows == other.rows
    for a, b in zip(one.counts, other.counts):
        for part in ("positive", "negative"):
            np.testing.assert_allclose(getattr(a, part), getattr(b, part))
        np.testing.assert_allclose(a.squares, b.squares)
    assert one.follow_up.groups[0].left == other.follow_up.groups[0].left
    assert fairpot.audit(one).gap.high == pytest.approx(fairpot.audit(other).gap.high)
    gaps = [fairpot.audit(table).concordance.pairs[0].signed_gap for table in (one, other)]
    assert (gaps[0], gaps[0].se) == pytest.approx((gaps[1], gaps[1].se))


def test_how_groups_were_followed():
    frame = followed(500, 5)
    table = table_of(frame)
    for each in table.follow_up.groups:
        own = frame[frame.sex == each.group]
        gone = (own.died == 0) & (own.days < 1)
        assert (each.rows, each.left, each.left_share) == (len(own), gone.sum(), pytest.approx(gone.mean()))
        weight = np.ones(len(own))
        assert each.still_followed == pytest.approx(staying(own.days.to_numpy(), own.died.to_numpy(), weight, 1.0))
        assert each.lost == 0
    assert table.rows == len(frame) - sum(each.left for each in table.follow_up.groups)
    [note] = [note for note in fairpot.audit(table).notes if note.kind == "horizon"]
    left = ", ".join(f"{each.group} {each.left_share:.1%}" for each in table.follow_up.groups)
    assert note.text.startswith(f"Left before 1 without the outcome: {left}. The others stand for them")


def test_thin_and_lost_follow_up_is_told():
    frame = followed(2000, 6, leave=2.2)
    notes = {(note.kind, note.group): note for note in fairpot.audit(table_of(frame)).notes}
    assert notes["thinly followed", "M"].text.startswith("Only ")
    assert ("thinly followed", "F") not in notes or notes["thinly followed", "F"].value < 0.1
    rare = followed(400, 1, by_score=1.0)
    table = table_of(rare)
    lost = {each.group: each.lost for each in table.follow_up.groups if each.lost}
    assert lost
    told = {note.group: note.value for note in fairpot.audit(table).notes if note.kind == "follow-up lost"}
    assert told == lost
    for group, share in lost.items():
        assert table[group].weight.sum() == pytest.approx((rare.sex == group).sum() * (1 - share))


def test_a_group_that_left_altogether_is_named_and_left_out():
    frame = followed(500, 7)
    frame.loc[:3, ["sex", "days", "died"]] = ["X", 0.01, 0]
    table = table_of(frame)
    assert table.groups == ("F", "M")
    notes = {note.kind: note for note in fairpot.audit(table).notes}
    assert (notes["left out"].group, notes["left out"].value) == ("X", 4)
    assert ("X", "100.0%") in notes["horizon"].pairs
    assert fairpot.LogitShift(max_gap=0.3).fit(table).groups_ == ("F", "M")
    gone = frame.sex == "M"
    with pytest.raises(ValueError, match="too few rows for any interval: group 'M' is worth 0 rows with the outcome"):
        table_of(frame.assign(died=frame.died.mask(gone, 0), days=frame.days.mask(gone, 0.01)))


@pytest.mark.parametrize(("competing", "hint"), [(None, "code it so"), (2, "give every competing event the same code")])
def test_two_competing_events_have_one_code(competing, hint):
    frame = followed(300, 7, competing=0.5)
    frame.loc[:9, "died"] = 3
    with pytest.raises(ValueError, match=hint):
        score_table(None, frame.score, time=frame.days, event=frame.died, horizon=1.0, competing=competing)


def test_events_coded_1_and_2_are_not_taken_for_the_outcome_and_a_competing_one():
    frame = followed(300, 7)
    with pytest.raises(ValueError, match="Hint: code it so: 1 for rows that had the outcome"):
        score_table(None, frame.score, time=frame.days, event=frame.died + 1, horizon=1.0)


def test_a_table_keeps_its_follow_up_and_its_rows_while_scores_stay():
    table = table_of(followed(500, 8, groups=(0.4, 0.3, 0.3)))
    assert fairpot.audit(table.only(["F", "X"])).concordance.pairs[0].second == "X"
    named = table.renamed(["f", "m", "x"])
    assert [each.group for each in named.follow_up.groups] == ["f", "m", "x"]
    assert (
        fairpot.audit(named).concordance.pair("f", "m").signed_gap
        == fairpot.audit(table).concordance.pair("F", "M").signed_gap
    )
    assert fairpot.audit(pickle.loads(pickle.dumps(table))).concordance is not None
    for other in (table.rescored({"F": lambda s: 2 * s}), table.above(dict.fromkeys("FMX", 0.0)), table.nameless()):
        assert other.follow_up.groups == table.follow_up.groups
        assert other.follow_up.rows is None
        assert fairpot.audit(other).concordance is None
    with pytest.raises(ValueError, match="outcomes after a time"):
        table.merge(table_of(followed(500, 9)))


def test_fits_certificates_and_effects_work_on_it():
    frame = followed(1500, 10)
    repair = fairpot.FairPOT(max_gap=0.1, confidence=0.8).fit(table_of(frame))
    assert repair.table_.follow_up.rows is None
    assert repair.achieved_.gap <= 0.1 + 1e-9
    found = fairpot.effect(repair, table_of(followed(1500, 11)))
    assert found.before.concordance is not None
    assert found.after.concordance is None
    assert abs(found.after.gap) < abs(found.before.gap)


@pytest.mark.parametrize(
    "case",
    [{}, {"by_score": 0.4}, {"competing": 0.3, "step": 0.25}, {"end": 1.0, "competing": 0.2}, {"leave": 1.0}],
    ids=str,
)
def test_intervals_of_gaps_by_a_horizon_hold_the_truth(case):
    all_rows = followed(40_000, 99, **case)
    y = ((all_rows.kind == 1) & (all_rows.full <= 1)).astype(int)
    truth = confidence_interval("xauc_gap", y, all_rows.score, sensitive_features=all_rows.sex).signed
    held, gaps = [], []
    for seed in range(60):
        gap = confidence_interval("xauc_gap", table_of(followed(600, seed, **case)))
        low, high = (gap.low, gap.high) if gap.signed > 0 else (-gap.high, -gap.low)
        held.append(low <= truth <= high)
        gaps.append(gap.signed)
    assert np.mean(held) >= 0.88
    assert abs(np.mean(gaps) - truth) < 0.03
