"""Up to how many groups an audit has intervals."""

import numpy as np
import pytest

from fairpot import audit
from fairpot.inference import confidence_interval


def draw(groups):
    rng = np.random.default_rng(0)
    y, group = np.tile([0, 1], 6 * groups), np.repeat([f"g{k:02}" for k in range(groups)], 12)
    return y, rng.normal(y), group


def test_twenty_groups_have_intervals():
    y, scores, group = draw(20)
    found = audit(y, scores, sensitive_features=group)
    assert len(found.intervals.group_auc) == 20
    alone = confidence_interval("auc", y, scores)
    assert found.intervals.auc.low == pytest.approx(alone.low, abs=1e-12)
    assert not any("no intervals" in text for text in found.warnings)


def test_more_have_none_and_say_so():
    y, scores, group = draw(21)
    found = audit(y, scores, sensitive_features=group)
    assert found.intervals is None
    assert found.to_dict()["intervals"] is None
    [said] = [text for text in found.warnings if "no intervals" in text]
    assert "21 groups are more than the 20" in said
    assert "min_group=..." in said
    fewer = audit(y, scores, sensitive_features=group, groups=[f"g{k:02}" for k in range(20)])
    assert fewer.intervals is not None
