"""Rows that belong together in a comparison: dealt whole to folds, and every difference has the error of clusters."""

import itertools

import numpy as np
import pytest

from fairpot import compare, score_table
from inference_oracles import kernel
from rows_cases import STAYS, stays

METHODS = ["fairpot", "wasserstein"]


def compared(frame, clusters="patient", **options):
    known = None if clusters is None else frame[clusters]
    options = {"methods": METHODS, "cv": 3, "random_state": 0} | options
    return compare(frame["y"], frame["s"], sensitive_features=frame["g"], clusters=known, **options)


def parts(result):
    return [fold.part.held_out for fold in result.trials[1].folds]


def test_no_patient_is_in_two_folds_and_none_is_lost():
    frame = stays()
    for result in (compared(frame), compare(score_table(frame, **STAYS), methods=METHODS, cv=3, random_state=0)):
        names = [set(table.clusters.unit.tolist()) for table in parts(result)]
        assert not any(one & other for one, other in itertools.combinations(names, 2))
        assert set().union(*names) == set(range(240))
        assert sum(table.rows for table in parts(result)) == len(frame)


def test_rows_said_three_times_tell_no_more():
    """The same numbers as of the rows once; without clusters a lead looks surer."""
    once = stays(most=1)
    thrice = once.loc[once.index.repeat(3)]
    single, triple, alone = compared(once), compared(thrice), compared(thrice, clusters=None)
    np.testing.assert_allclose(triple.points.auc, single.points.auc)
    np.testing.assert_allclose(triple.points.gap, single.points.gap)
    for bound in (0.05, 0.3):
        for one, other in zip(single.answer(bound).rivals, triple.answer(bound).rivals, strict=True):
            assert other.lead.se == pytest.approx(one.lead.se, rel=1e-9)
            assert other.lead.low == pytest.approx(one.lead.low, rel=1e-6, abs=1e-9)
        by_name = {rival.method: rival.lead.se for rival in alone.answer(bound).rivals}
        shared = [(by_name[r.method], r.lead.se) for r in single.answer(bound).rivals if r.method in by_name]
        assert all(found < own or own == 0 for found, own in shared)  # 0: neither changes a score


def test_a_lead_has_the_error_of_clusters_written_out():
    """The AUCs of two repairs of held-out patients: influences added up patient by patient."""
    fitted, frame = stays(300, seed=9), stays(200, seed=10)
    result = compare(score_table(fitted, **STAYS), held_out=score_table(frame, **STAYS), methods=METHODS)
    bound = result.points.gap[0] / 2
    [rival] = result.answer(bound).rivals
    y, patient = frame["y"].to_numpy(), frame["patient"].to_numpy()
    change = np.zeros(len(frame))
    for sign, row in ((1, result.best(bound)), (-1, result.at(bound, rival.method))):
        scores = moved(row, frame)
        pairs = kernel(scores[y == 1], scores[y == 0])
        assert pairs.mean() == pytest.approx(row.auc)
        change[y == 1] += sign * (pairs.mean(axis=1) - pairs.mean()) / (y == 1).sum()
        change[y == 0] += sign * (pairs.mean(axis=0) - pairs.mean()) / (y == 0).sum()
    sums = np.bincount(patient, change)
    assert rival.lead.se == pytest.approx(np.sqrt(np.sum(sums**2)), rel=0.02)  # but for factors such as 200 / 199
    assert rival.lead.se != pytest.approx(np.sqrt(np.sum(change**2)), rel=0.05)


def moved(row, frame):
    """The scores of the rows as a choice has them."""
    [maps] = row.evidence.parts[0].steps([0.0])
    scores = frame["s"].to_numpy(copy=True)
    for group, each in maps.items():
        own = (frame["g"] == group).to_numpy()
        scores[own] = each(scores[own])
    return scores


def test_held_out_rows_with_clusters():
    frame, other = stays(), stays(seed=1)
    assert len(compared(frame, held_out=score_table(other, **STAYS)).answer(0.9).rivals) > 0


def test_too_few_clusters_for_the_folds():
    frame = stays()
    few = frame.assign(patient=np.where(frame["g"] == "b", frame["patient"] % 2, frame["patient"]))
    with pytest.raises(ValueError, match=r"cv=3 needs at least 3 rows .* but 'b' has 2 clusters with the outcome"):
        compared(few)
