"""A minority of 2 to 5% on continuous scores, of which all shifts are listed on fewer entries but not on all rows."""

import warnings

import numpy as np
import pytest

from fairpot import LogitShift, WassersteinRepair
from fairpot.exceptions import FairpotWarning

RULES = [{"max_gap": 0.05}, {"max_auc_loss": 0.01}, {"max_gap": 0.1, "max_auc_loss": 0.02}, {}]
# Shares of the groups beside the first, what the fit is told of the rows, and options of the method.
CASES = {
    "two groups, 2%": ([0.02], {"rows": 5000}, {}),
    "two groups, 5%": ([0.05], {"rows": 2500}, {}),
    "three groups": ([0.05, 0.03], {}, {}),
    "five groups": ([0.05, 0.04, 0.03, 0.03], {}, {}),
    "one left out": ([0.03, 0.005], {"min_group": 40}, {}),
    "importance": ([0.03], {"weights": "importance"}, {}),
    "frequency": ([0.03], {"weights": "frequency"}, {}),
    "clusters": ([0.03], {"clusters": True}, {}),
    "ties": ([0.03], {"digits": 6}, {"ties": "strict"}),
    "top": ([0.03], {}, {"top": 0.3}),
    "the top alone": ([0.03], {}, {"top": 0.5, "repair": "top"}),
}


def quietly(work):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairpotWarning)
        return work()


def draw(shares, told, more=0.0):
    """Draw scores of groups that are ranked lower than the first, and what is told of their rows.

    ``more``: by how much the outcome is more frequent in them.
    """
    rows = dict(told)
    rng, size = np.random.default_rng(len(shares)), rows.pop("rows", 3500)
    place = rng.choice(len(shares) + 1, size, p=[1 - sum(shares), *shares])
    y = rng.random(size) < 0.3 + more * (place > 0)
    s = 1 / (1 + np.exp(-(rng.normal(size=size) + y - 0.6 * (place > 0))))
    rows["sensitive_features"] = np.array(list("abcde"))[place]
    s = s.round(rows.pop("digits", 17))
    if "weights" in rows:
        rows["sample_weight"] = rng.integers(1, 4, size)
    if "clusters" in rows:
        rows["clusters"] = rng.integers(0, size // 2, size)
    return s, y, rows


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("case", CASES)
def test_a_shift_is_chosen_that_keeps_the_rule(case, rule):
    shares, told, options = CASES[case]
    s, y, rows = draw(shares, told)
    model = quietly(lambda: LogitShift(**rule, **options).fit(s, y, **rows))
    done = model.achieved_
    gap, before = (done.gap_top, done.gap_top_before) if "top" in options else (done.gap, done.gap_before)
    assert gap <= rule.get("max_gap", before) + 1e-12
    assert done.auc_before - done.auc <= rule.get("max_auc_loss", np.inf) + 1e-12
    assert model.tradeoff().select(**rule).lam == model.strength_


@pytest.mark.parametrize("groups", [1, 2])
def test_without_a_rule_the_smallest_gap_is_chosen(groups):
    """Of every method: the whole way to the barycentre is not where the gap is smallest."""
    s, y, rows = draw([0.3] * groups, {}, more=-0.2)
    model = quietly(lambda: WassersteinRepair().fit(s, y, **rows))
    curve = model.tradeoff()
    assert model.t_ == curve.select().lam
    assert model.achieved_.gap <= curve.gap.min() + 1e-12
    whole = quietly(lambda: WassersteinRepair(t=1).fit(s, y, **rows))
    assert model.achieved_.gap < whole.achieved_.gap - 1e-4
    with pytest.raises(ValueError, match=r"y is missing: t is chosen by its effect on outcomes(.|\n)*t="):
        WassersteinRepair().fit(s, **rows)
