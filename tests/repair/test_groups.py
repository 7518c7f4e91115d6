"""Who is ahead, of any number of groups, against sums of pairwise loops."""

import itertools

import numpy as np
import pytest

import oracles
from fairpot._validation import check_rows
from fairpot.repair.groups import find_reference, ranked_first, require_outcomes
from fairpot.table import ScoreTable


def draw(seed, groups, digits=1):
    rng = np.random.default_rng(seed)
    group = np.r_[np.repeat(list(groups), 2), rng.choice(list(groups), 12 * len(groups))]
    y = np.r_[np.tile([0, 1], len(groups)), rng.integers(0, 2, 12 * len(groups))]
    return rng.random(len(y)).round(digits), y, group


def lead(scores, y, group, half):
    """How far each group's positives are ahead of the others' negatives, net of the reverse, added up."""
    found = dict.fromkeys(sorted(set(group)), 0.0)
    for g, h in itertools.permutations(found, 2):
        ahead = oracles.xauc(y, scores, group, g, h, half=half) - oracles.xauc(y, scores, group, h, g, half=half)
        found[g] += ahead
    return found


@pytest.mark.parametrize("ties", ["strict", "half"])
@pytest.mark.parametrize("groups", ["ab", "abc", "abcd", "abcde"])
def test_the_group_with_the_largest_lead(groups, ties):
    seen = set()
    for seed in range(25):
        scores, y, group = draw(seed, groups)
        leads = lead(scores, y, group, ties == "half")
        first, second = sorted(leads.values())[-1:-3:-1]
        if first - second < 1e-9:
            continue
        found = ranked_first(ScoreTable.from_rows(*check_rows(scores, y, group)), ties)
        assert found == max(leads, key=leads.get)
        seen.add(found)
    assert seen == set(groups)  # each of them was ahead once


def test_of_equals_the_first():
    table = ScoreTable.from_rows(*check_rows([0.1, 0.9] * 3, [0, 1] * 3, list("aabbcc")))
    assert ranked_first(table, "half") == "a"
    assert find_reference(table, "c", "half") == "c"


def test_groups_that_cannot_be_compared():
    table = ScoreTable.from_rows(*check_rows([0.1, 0.9, 0.3, 0.4], [0, 1, 0, 0], list("aabb")))
    with pytest.raises(ValueError, match=r"group 'b' has no rows with the outcome to compare(.|\n)*reference="):
        ranked_first(table, "half")
    with pytest.raises(ValueError, match="group 'b' has no rows with the outcome"):
        require_outcomes(table)
    with pytest.raises(ValueError, match="y has no rows with the outcome"):
        require_outcomes(ScoreTable.from_rows(*check_rows([0.1, 0.9], [0, 0], list("ab"))))
