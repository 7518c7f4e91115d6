"""Net benefit against its definition, row by row."""

import numpy as np
import pytest

from fairpot import score_table
from fairpot.metrics.rank import net_benefit, require_probabilities


def drawn(seed, n=200, digits=2):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 2, n), rng.random(n).round(digits), rng.choice(["F", "M", "X"], n), rng.integers(1, 4, n)


def by_rows(y, scores, threshold, weight):
    """Benefit of those who are treated rightly less the harm of the others, at the odds of the threshold."""
    total = 0.0
    for label, score, times in zip(y, scores, weight):
        if score >= threshold:
            total += times * (1 if label else -threshold / (1 - threshold))
    return total / weight.sum()


@pytest.mark.parametrize("threshold", [0.05, 0.3, 0.5, 0.77, 0.99])
@pytest.mark.parametrize("seed", range(3))
def test_against_rows(seed, threshold):
    y, scores, group, weight = drawn(seed)
    table = score_table(y, scores, sensitive_features=group)
    assert net_benefit(table, threshold) == pytest.approx(by_rows(y, scores, threshold, np.ones(len(y))), abs=1e-12)
    weighed = score_table(y, scores, sensitive_features=group, sample_weight=weight)
    assert net_benefit(weighed, threshold) == pytest.approx(by_rows(y, scores, threshold, weight), abs=1e-12)


def test_of_scores_that_moved_in_any_order():
    y, scores, group, _ = drawn(4)
    table = score_table(y, scores, sensitive_features=group)
    moved = [1 - counts.score for counts in table.counts]
    expected = by_rows(y, 1 - scores, 0.4, np.ones(len(y)))
    assert net_benefit(table, 0.4, moved) == pytest.approx(expected, abs=1e-12)


def test_who_has_the_threshold_is_acted_on():
    table = score_table([1, 0], [0.5, 0.4], sensitive_features=["F", "M"])
    assert net_benefit(table, 0.5) == 0.5
    assert net_benefit(table, np.nextafter(0.5, 1)) == 0


def test_scores_must_be_probabilities():
    y, group = [0, 1, 0, 1], ["F", "F", "M", "M"]
    require_probabilities([score_table(y, [0, 0.2, 0.4, 1], sensitive_features=group)], 0.3)
    with pytest.raises(ValueError, match=r"2 rows have scores outside 0 to 1(.|\n)*Hint: pass probabilities"):
        require_probabilities([score_table(y, [0.1, 0.2, 1.4, -2], sensitive_features=group)], 0.3)
    turned = score_table(y, [0.1, 0.2, 0.3, 0.4], sensitive_features=group, lower_is_riskier=True)
    with pytest.raises(ValueError, match=r"a low score means high risk(.|\n)*Hint: pass 1 - score"):
        require_probabilities([turned], 0.3)
