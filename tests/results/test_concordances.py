"""Concordance across groups: equal to a count of all pairs, to Uno's C within a group, and true in its intervals."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairpot
from fairpot import score_table
from fairpot._defaults import LEAVING
from fairpot.follow_up import FollowedRows
from fairpot.results.concordances import concordance, estimate_concordances, meetings
from followed_cases import concordance as slow
from followed_cases import followed

BOTH = [(0, 1), (1, 0)]


def rows_of(frame, *, weighted=False, unit=None):
    weight = frame.weight.to_numpy() if weighted else np.ones(len(frame))
    time, event, score = (frame[name].to_numpy() for name in ("days", "died", "score"))
    code = np.unique(frame.sex, return_inverse=True)[1]
    return FollowedRows(time, event.astype(np.int8), score, code, weight, weight**2, unit)


def given_by(frame, **more):
    codes = {"competing": 2} if (frame.died == 2).any() else {}
    return {"event": frame.died, "sensitive_features": frame.sex, "tau": 1.0, **codes, **more}


SIDE = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4), st.integers(1, 3)), max_size=12)


@given(SIDE, SIDE)
@settings(max_examples=80, deadline=None)
def test_meetings_are_those_of_all_pairs(first, second):
    sides = [
        tuple(np.array([row[k] for row in rows], dtype=kind) for k, kind in enumerate((int, float, float)))
        for rows in (first, second)
    ]
    early, late = meetings(*sides)
    for k, (when, score, _) in enumerate(first):
        later = [(s, w) for t, s, w in second if when < t]
        assert early[0][k] == pytest.approx(sum(w * ((score > s) + 0.5 * (score == s)) for s, w in later))
        assert early[1][k] == pytest.approx(sum(w for _, w in later))
    for k, (when, score, _) in enumerate(second):
        before = [(s, w) for t, s, w in first if t < when]
        assert late[0][k] == pytest.approx(sum(w * ((s > score) + 0.5 * (score == s)) for s, w in before))
        assert late[1][k] == pytest.approx(sum(w for _, w in before))


@given(st.integers(0, 10**6), st.sampled_from(LEAVING), st.booleans(), st.sampled_from([0.0, 0.5]))
@settings(max_examples=15, deadline=None)
def test_shares_and_errors_are_those_of_all_pairs(seed, leaving, weighted, competing):
    frame = followed(50, seed, competing=competing, step=0.25)
    frame["score"] = frame.score.round(0 if seed % 2 else 4)
    rows = rows_of(frame, weighted=weighted)
    found = estimate_concordances(rows, BOTH, 1.0, leaving)
    added = []
    for k, (a, b) in enumerate(BOTH):
        share, sides = slow(rows, rows.strata(leaving), a, b, 1.0)
        assert found.value[k] == pytest.approx(share, abs=1e-12)
        factors = [found.units[side][k] / (found.units[side][k] - 1) for side in range(2)]
        added.append(sum(np.sqrt(factor) * each for factor, each in zip(factors, sides)))
    np.testing.assert_allclose(found.covariance, np.array(added) @ np.array(added).T, atol=1e-12)


def test_rows_of_a_cluster_add_up():
    frame = followed(200, 1)
    twice = frame.loc[np.repeat(frame.index, 2)]
    one = estimate_concordances(rows_of(frame), BOTH, 1.0, "group")
    unit = np.repeat(np.arange(200), 2)
    other = estimate_concordances(rows_of(twice, unit=unit), BOTH, 1.0, "group")
    np.testing.assert_allclose(other.value, one.value)
    np.testing.assert_allclose(other.covariance, one.covariance)
    np.testing.assert_allclose(other.units, one.units)
    single = concordance(frame.days, frame.score, **given_by(frame, clusters=frame.patient))
    assert (
        single.pairs[0].signed_gap.se != concordance(frame.days, frame.score, **given_by(frame)).pairs[0].signed_gap.se
    )


def test_within_one_group_it_is_unos_c():
    """As scikit-survival 0.28 gives it: equal to 3e-15 on whas500, veteran, gbsg2 and flchain, without tied times."""
    frame = followed(120, 2)
    rows = rows_of(frame)._replace(code=np.zeros(120, dtype=int))
    found = concordance(frame.days, frame.score, event=frame.died, tau=1.0, leaving="group")
    assert found.overall == pytest.approx(slow(rows, rows.code, 0, 0, 1.0)[0], abs=1e-12)
    assert not found.pairs
    assert str(found).startswith("Concordance up to 1: 0.")
    assert found.to_dict()["overall"] == pytest.approx(float(found.overall))


def test_a_numeric_outcome_is_minus_a_time():
    frame = followed(300, 3)
    cost = np.round(np.exp(frame.score + np.random.default_rng(3).normal(size=300)), 1)
    every = concordance(-cost, frame.score, sensitive_features=frame.sex)
    assert every.tau is None
    assert str(every).startswith("Someone in F who comes first is ranked above someone in M who comes later in ")
    found = every.pair("F", "M")
    a, b = ((cost[frame.sex == g].to_numpy(), frame.score[frame.sex == g].to_numpy()) for g in "FM")
    dearer = a[0][:, None] > b[0]
    won = (a[1][:, None] > b[1]) + 0.5 * (a[1][:, None] == b[1])
    assert found.xci_first == pytest.approx(won[dearer].mean())
    assert found.seen_from("M").signed_gap == -found.signed_gap
    assert found.seen_from("M").signed_gap.low == -found.signed_gap.high


def test_it_stands_beside_the_gap_of_the_horizon():
    frame = followed(500, 4)
    table = score_table(None, frame.score, time=frame.days, event=frame.died, horizon=1.0, sensitive_features=frame.sex)
    audit = fairpot.audit(table)
    same = concordance(frame.days, frame.score, **given_by(frame))
    assert audit.concordance.to_dict() == same.to_dict()
    assert (audit.concordance.tau, same.tau) == (1.0, 1.0)
    first, second = audit.statement.pair
    said = f"Up to 1, someone in {first} with the outcome is ranked above someone in {second} who had it later or not"
    assert any(text.startswith(said) for text in audit.answer)
    assert audit.to_dict()["concordance"]["pairs"][0]["signed_gap_low"] == same.pairs[0].signed_gap.low
    assert fairpot.audit(table, level=None).concordance is None
    assert [*same.frame().columns][:4] == ["first", "second", "xci_first", "xci_first_low"]
    assert "<svg" in same._repr_html_()


def test_what_cannot_be_measured_says_why():
    frame = followed(300, 5)
    short = frame.assign(days=np.where(frame.sex == "M", frame.days.clip(upper=0.5), frame.days))
    short["died"] = np.where((frame.sex == "M") & (frame.days > 0.5), 0, frame.died)
    pair = concordance(short.days, short.score, **given_by(short)).pair("F", "M")
    assert np.isnan(pair.xci_first)
    assert pair.signed_gap.reason == "nobody in group 'M' is followed to 1"
    few = frame[(frame.sex == "F") | (frame.died == 0) | (frame.days > 1)]
    gap = concordance(few.days, few.score, **given_by(few)).pair("F", "M").signed_gap
    assert "group 'M' has rows worth 0 independent ones with the outcome by 1" in gap.reason


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"tau": None}, "event is given without tau"),
        ({"event": None, "competing": 2}, "competing is given without event"),
        ({"tau": 100.0}, "tau=100.0 is after the last follow-up"),
        ({"tau": 1e-9}, "before the first row had the outcome"),
        ({"leaving": "sex"}, "leaving must be one of 'score', 'group'"),
        ({"sensitive_features": np.arange(300) % 21}, "there are 21 groups, and at most 20 are compared"),
    ],
)
def test_wrong_use_is_one_clear_error(more, said):
    frame = followed(300, 6)
    with pytest.raises((TypeError, ValueError), match=said):
        concordance(frame.days, frame.score, **given_by(frame, **more))
    with pytest.raises(ValueError, match="time has 300 negative rows"):
        concordance(-1 - frame.days, frame.score, **given_by(frame))


@pytest.mark.parametrize("case", [{}, {"by_score": 0.4}, {"competing": 0.3, "step": 0.25, "end": 1.0}], ids=str)
def test_intervals_hold_the_truth(case):
    all_rows = followed(40_000, 99, **case)
    full = all_rows.assign(days=all_rows.full, died=all_rows.kind)
    truth = estimate_concordances(rows_of(full), BOTH, 1.0, "group").value
    held = []
    for seed in range(50):
        frame = followed(400, seed, **case)
        pair = concordance(frame.days, frame.score, **given_by(frame)).pair("F", "M")
        numbers = zip((pair.xci_first, pair.xci_second, pair.signed_gap), (*truth, truth[0] - truth[1]))
        held.append([found.low <= true <= found.high for found, true in numbers])
    assert np.mean(held, axis=0).min() >= 0.86
