"""fit says so where LogitShift keeps the same target with a higher AUC, beyond chance, and only there."""

import numpy as np
import pytest

from fairpot import FairPOT, LogitShift, score_table
from fairpot.comparison.run import higher_auc
from fairpot.inference import confidence_interval


def rows(n=1500, seed=1):
    """Draw two groups of unlike rates: to lift the top alone costs more AUC than to shift all."""
    rng = np.random.default_rng(seed)
    first = rng.random(n) < 0.5
    y = rng.random(n) < np.where(first, 0.4, 0.15)
    score = 1 / (1 + np.exp(-rng.normal(1.2 * y + 0.9 * first - 1)))
    return score_table(y.astype(int), score, sensitive_features=np.where(first, "a", "b"))


def test_the_lead_is_that_of_the_two_repairs():
    table = rows()
    repair = FairPOT(max_gap=0.02).fit(table)
    found = higher_auc(repair)
    other = LogitShift(max_gap=0.02).fit(table)
    assert float(found.lead) == pytest.approx(other.achieved_.auc - repair.achieved_.auc, abs=1e-9)
    assert 0 < found.lead.low < found.lead < found.lead.high
    assert (found.method, found.clear) == ("LogitShift", True)


def test_where_it_is_not_looked_for():
    table = rows()
    repairs = (FairPOT(lam=0.3), LogitShift(max_gap=0.02), FairPOT(max_gap=0.02, top=0.3, repair="top"))
    for repair in repairs:
        assert higher_auc(repair.fit(table)) is None
    assert higher_auc(FairPOT(max_gap=0.6).fit(table)) is None  # nobody is moved


def test_a_gap_above_the_target_on_other_rows_is_no_lead():
    """There the higher AUC would be bought with the gap."""
    table = rows(seed=4)
    repair, other = (each(max_gap=0.05).fit(table) for each in (FairPOT, LogitShift))
    told = []
    for seed in range(10, 18):
        new = rows(seed=seed)
        told.append(higher_auc(repair, new) is not None)
        assert not told[-1] or float(confidence_interval("xauc_gap", new.rescored(other.maps_))) <= 0.05
    assert 0 < sum(told) < len(told)
