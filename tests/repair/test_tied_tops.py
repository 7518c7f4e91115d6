"""A repaired top means the same people to fit, effect and an audit of the adjusted rows, ties included."""

import numpy as np
import pytest

import fairpot
from fairpot import FairPOT, InfeasibleRuleError, OptimalMerge, WassersteinRepair

pytestmark = pytest.mark.filterwarnings("ignore::fairpot.exceptions.FairpotWarning")


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("top", [0.3, 180])
@pytest.mark.parametrize("method", [FairPOT, OptimalMerge, WassersteinRepair])
def test_a_repaired_top_of_whole_numbers_delivers_what_it_says_or_refuses(method, top, seed):
    rng = np.random.default_rng(seed)
    group, y = rng.choice(["a", "b"], 600), (rng.random(600) < 0.35).astype(int)
    score = np.floor(5 + 1.5 * (rng.normal(size=600) + y + 0.4 * (group == "a")))
    rows = {"sensitive_features": group}
    try:
        repair = method(max_gap=0.1, top=top, repair="top").fit(score, y, **rows)
    except InfeasibleRuleError:
        return
    adjusted = repair.transform(score, **rows)
    effect = fairpot.effect(repair, score, y, **rows)
    [alone] = fairpot.audit(y, adjusted, top=top, **rows).tops
    achieved = repair.achieved_
    assert achieved.gap_top <= 0.1
    for found in (effect.after.tops[0], alone):
        assert (found.top, abs(found.gap)) == (top, pytest.approx(achieved.gap_top, abs=1e-12))
        assert found.starts == tuple(achieved.starts.values())
    before, after = score >= effect.before.tops[0].starts[0], adjusted >= alone.starts[0]
    assert (achieved.enter, achieved.leave) == ((after & ~before).sum(), (before & ~after).sum())
    assert (adjusted == score)[score < next(iter(repair.starts_.values()))].all()
