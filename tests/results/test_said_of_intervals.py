"""What is said beside intervals of single pairs, and beside a certificate that was granted."""

import numpy as np
import pytest

import fairpot
from fairpot import words


@pytest.mark.parametrize("groups", ["ab", "abc", "abcdefghij"])
def test_that_intervals_hold_for_all_pairs_is_said_where_there_are_several(groups):
    rng = np.random.default_rng(1)
    y, group = rng.integers(0, 2, 3000), rng.choice([*groups], 3000)
    found = fairpot.audit(y, rng.normal(y), sensitive_features=group)
    several = len(groups) > 2
    assert (words.OF_ALL_PAIRS in str(found)) == several
    assert (words.OF_ALL_PAIRS in found._repr_html_()) == several
    report = fairpot.FairnessReport.from_predictions(y, rng.normal(y), sensitive_features=group)
    assert (words.OF_ALL_PAIRS in report.to_html()) == several


@pytest.mark.parametrize(("confidence", "broken"), [(0.9, "10"), (0.95, "5"), (0.975, "2.5")])
def test_a_certificate_says_of_which_its_confidence_speaks(confidence, broken):
    data = fairpot.datasets.make_synthetic(3000, random_state=0, as_frame=False)
    y, score, group = data.target, data.probability, data.group
    repair = fairpot.LogitShift(max_gap=0.15, confidence=confidence).fit(score, y, sensitive_features=group)
    said = f"Of 100 certificates asked for, at most {broken} are broken; of those granted more, if few are granted."
    effect = fairpot.effect(repair, score, y, sensitive_features=group)
    for surface in (str(repair.certificate_), repair.certificate_._repr_html_(), str(effect)):
        assert said in surface
