"""What is missing for a certificate: figures that hold when they are used."""

import pickle
import re

import numpy as np
import pytest

from fairpot import FairPOT, InfeasibleRuleError, score_table
from fairpot.inference.certificate import certify, rounded_up, shortfall, smallest_bound
from fairpot.methods import WassersteinRepair
from inference_oracles import estimate_dial

DIAL = np.linspace(0, 1, 21)
SMALLEST = re.compile(r"on these rows is ([0-9.e-]+);")


def draw(rng, n, share=0.3, rate=0.3, groups=2):
    g = np.where(rng.random(n) < share, "b", "a")
    if groups == 3:
        g = np.where(rng.random(n) < 0.25, "c", g)
    y = (rng.random(n) < rate).astype(int)
    return y, rng.normal(y + 0.6 * (g == "a")), g


def table(rows):
    y, score, group = rows
    return score_table(y, score, sensitive_features=group)


def moved(reach):
    return lambda t: {"b": lambda s: s + reach * t, "c": lambda s: s + reach * t}


def certifier(dial, delta=0.05):
    return lambda bound: bool(certify(dial.gaps, bound, delta, dial.many)[0].any())


def printed(error):
    return float(SMALLEST.search(str(error)).group(1))


@pytest.mark.parametrize(
    ("seed", "groups"),
    [(0, 3), (1, 2), *(pytest.param(*case, marks=pytest.mark.slow) for case in [(2, 2), (3, 3), (4, 3), (5, 2)])],
)
def test_the_printed_bound_is_certified_when_it_is_typed_in(seed, groups):
    rng = np.random.default_rng(seed)
    y, score, group = draw(rng, int(rng.integers(400, 1000)), groups=groups)
    method = (FairPOT, WassersteinRepair)[seed % 2]
    with pytest.raises(InfeasibleRuleError) as error:
        method(max_gap=0.001, confidence=0.9).fit(score, y, sensitive_features=group)
    bound = printed(error.value)
    assert bound == error.value.shortfall.smallest_bound
    assert method(max_gap=bound, confidence=0.9).fit(score, y, sensitive_features=group).certificate_.bound == bound


@pytest.mark.parametrize("seed", range(4))
def test_so_is_that_of_held_out_rows(seed):
    rng = np.random.default_rng(10 + seed)
    y, score, group = draw(rng, 2000)
    model = FairPOT(0.5).fit(score, y, sensitive_features=group)
    y, score, group = draw(rng, 700)
    curve = model.tradeoff(score, y, sensitive_features=group)
    with pytest.raises(InfeasibleRuleError) as error:
        curve.select(max_gap=0.001, confidence=0.95)
    assert curve.select(max_gap=printed(error.value), confidence=0.95).certificate is not None


def test_smallest_bound_is_certified_and_a_little_less_is_not():
    for seed in range(3):
        dial = estimate_dial(table(draw(np.random.default_rng(seed), 1500)), moved(1.2), DIAL)
        certifies = certifier(dial)
        least = smallest_bound(dial, certifies)
        up = rounded_up(least, certifies)
        assert certifies(least)
        assert not certifies(least - 1e-4)
        assert least <= up < least * 1.02
        assert certifies(float(f"{up:g}"))


def test_what_is_missing_says_how_many_times_as_many_rows_would_do():
    rows = draw(np.random.default_rng(1), 6000, share=0.05, rate=0.2)
    dial = estimate_dial(table(rows), moved(1.2), DIAL)
    missing = shortfall(dial, 0.07, 0.05, certifier(dial))
    assert missing.more_rows == "help"
    assert missing.smallest_gap <= 0.07 < missing.smallest_bound
    assert missing.times == pytest.approx((missing.smallest_bound / 0.07) ** 2, rel=0.02)
    assert f"you would need about {missing.times:.2g} times as many rows" in str(missing)
    assert missing.to_dict() == {
        "smallest_bound": missing.smallest_bound,
        "smallest_gap": missing.smallest_gap,
        "least_gap": 0.0,
        "bound": 0.07,
        "more_rows": "help",
        "times": missing.times,
    }
    assert "collect more rows" in missing.hint


@pytest.mark.parametrize("groups", [2, 3])
def test_rows_are_not_asked_for_where_the_gap_is_shown_to_be_too_large(groups):
    rows = draw(np.random.default_rng(3), 6000, groups=groups)
    dial = estimate_dial(table(rows), moved(1.2), [0.0, 0.1])
    missing = shortfall(dial, 0.02, 0.05, certifier(dial))
    assert (missing.times, missing.more_rows) == (None, "do not help")
    assert missing.least_gap > 0.02
    assert "more rows will not help" in str(missing)
    assert "more rows" not in missing.hint


def test_what_cannot_be_told_is_not_told():
    """The smallest gap measured is above the target, and chance could explain it."""
    rows = draw(np.random.default_rng(3), 700, groups=3)
    dial = estimate_dial(table(rows), moved(1.2), DIAL)
    missing = shortfall(dial, dial.gap.min() * 0.6, 0.05, certifier(dial))
    assert missing.least_gap < missing.bound < missing.smallest_gap
    assert missing.more_rows == "cannot tell"
    assert "it cannot be told whether more rows would help" in str(missing)
    assert f"about {missing.times:,.0f} times as many would have an even chance" in str(missing)
    assert "collect more rows" in missing.hint


@pytest.mark.parametrize(
    ("reach", "n", "share", "bound", "groups"),
    [
        (1.3, 800, 0.3, 0.05, 2),
        pytest.param(1.2, 900, 0.3, 0.08, 3, marks=pytest.mark.slow),
        pytest.param(1.37, 4000, 0.1, 0.04, 2, marks=pytest.mark.slow),
    ],
)
def test_samples_of_the_sizes_asked_for_certify_as_often_as_said(reach, n, share, bound, groups):
    """A bound that next to no sample of the first size certifies."""
    rng = np.random.default_rng(5)
    values, hits, refused = np.linspace(0, 1, 41), 0, 0
    for _ in range(14):
        dial = estimate_dial(table(draw(rng, n, share, groups=groups)), moved(reach), values)
        if certifier(dial, 0.1)(bound):
            continue
        refused += 1
        missing = shortfall(dial, bound, 0.1, certifier(dial, 0.1))
        again = estimate_dial(table(draw(rng, round(n * missing.times), share, groups=groups)), moved(reach), values)
        hits += certifier(again, 0.1)(bound)
    assert refused > 10
    assert 0.2 < hits / refused < 0.9


def test_the_error_carries_what_is_missing():
    y, score, group = draw(np.random.default_rng(8), 900)
    with pytest.raises(InfeasibleRuleError) as error:
        FairPOT(max_gap=0.01, confidence=0.9).fit(score, y, sensitive_features=group)
    again = pickle.loads(pickle.dumps(error.value))
    assert again.shortfall == error.value.shortfall
    assert str(again) == str(error.value)
    assert InfeasibleRuleError("no").shortfall is None
