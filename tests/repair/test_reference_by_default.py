"""Which group is the reference where none is named."""

import numpy as np
import pytest

from fairpot import LogitShift, audit, score_table
from fairpot.metrics.cells import leading_place

pytestmark = pytest.mark.filterwarnings("ignore::fairpot.exceptions.FairpotWarning")


def rows_of(seed, groups):
    """Rows of some groups, the last of about 30 rows with the outcome and far ahead of all others."""
    rng = np.random.default_rng(seed)
    names = "stuvw"[:groups]
    group = np.concatenate([rng.choice(list(names[:-1]), 500), np.full(90, names[-1])])
    y = (rng.random(590) < 0.36).astype(int)
    score = rng.normal(y + 0.3 * (group == "t") + 1.2 * (group == names[-1])).round(1)
    return y, 1 / (1 + np.exp(-score)), group, rng.choice([0.5, 1.0, 1.5, 2.0], 590)


def references(table):
    return LogitShift().fit(table).reference_, audit(table).reference


@pytest.mark.parametrize("groups", [2, 3, 5])
@pytest.mark.parametrize("meaning", ["help", "harm"])
def test_importance_weights_times_a_constant_change_no_reference(groups, meaning):
    for seed in range(4):
        y, score, group, weight = rows_of(seed, groups)
        found = {
            references(
                score_table(y, score, sensitive_features=group, sample_weight=weight * times, high_score_means=meaning)
            )
            for times in (1.0, 1e-3, 1 / 3, 7.0, 1e3)
        }
        assert len(found) == 1
        [both] = found
        assert both[0] == both[1]


def test_frequency_weights_times_two_are_twice_the_rows():
    y, score, group, _ = rows_of(0, 3)
    y[group == "u"] = np.arange(90) < 20  # 20 rows with the outcome: too few, and 40 are enough
    tables = [
        score_table(y, score, sensitive_features=group, sample_weight=np.full(590, times), weights="frequency")
        for times in (1, 2)
    ]
    doubled = score_table(np.tile(y, 2), np.tile(score, 2), sensitive_features=np.tile(group, 2))
    assert references(tables[0])[0] == "t"
    assert references(tables[1]) == references(doubled) == ("u", "u")


@pytest.mark.parametrize("lowest", [False, True])
def test_of_equals_it_is_the_first_but_for_round_off(lowest):
    level = np.array([[0.5, 0.7, 0.7], [0.7, 0.5, 0.7], [0.7, 0.7, 0.5]])
    assert leading_place(level, lowest=lowest) == 0
    assert leading_place(level + 1e-15 * np.arange(9).reshape(3, 3), lowest=lowest) == 0
    ahead = np.array([[0.5, 0.7], [0.8, 0.5]])
    assert leading_place(ahead, lowest=lowest) == (0 if lowest else 1)
