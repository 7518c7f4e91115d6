import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from export_cases import TINY, hostile_scores
from fairpot.transport import ScoreMap, ShiftMap
from fairpot.transport.kinds import Odds
from fairpot.transport.scoremap import PARTS

FACTORS = (1e-217, 0.01, 1 / 3, 1 - 2.0**-53, 1 + 2.0**-52, 2.7, 55.0, 1e217)


@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("negative", [False, True])
def test_neighbours_keep_their_order(factor, negative):
    """No two probabilities are turned round, not even two that differ in the last bit."""
    rng = np.random.default_rng(0)
    p = np.concatenate(
        (rng.random(40_000), 10.0 ** -rng.uniform(0, 320, 20_000), 1 - 10.0 ** -rng.uniform(1, 16, 20_000))
    )
    p = np.unique(np.concatenate((p, np.nextafter(p, 1), np.nextafter(p, 0), [0.0, 1.0, TINY])))
    found = ShiftMap(factor=factor, negative=negative)
    after = found(-p[::-1]) if negative else found(p)
    assert (np.diff(after) >= 0).all()
    assert after.min() >= (-1 if negative else 0)
    assert after.max() <= (0 if negative else 1)


@given(p=st.floats(1e-12, 1 - 1e-12), factor=st.floats(1e-6, 1e6))
def test_odds_are_multiplied(p, factor):
    exact = np.longdouble(p) * factor / (1 - np.longdouble(p) + np.longdouble(p) * factor)
    assert float(ShiftMap(factor=factor)(p)) == pytest.approx(float(exact), rel=1e-15)


@pytest.mark.parametrize(
    "found", [ShiftMap(factor=2.7), ShiftMap(factor=0.2, negative=True), ShiftMap(added=-1.25)], ids=repr
)
def test_reflected_and_back(found):
    s = hostile_scores(found, 200)
    s = s[np.abs(s) < 1e300]
    np.testing.assert_array_equal(found.reflected()(s), -found(-s))
    assert found.reflected().reflected() == found
    assert ShiftMap(**found.to_dict()) == found
    assert found.is_monotone
    assert not found.is_identity
    assert found.compact() is found
    assert found.starting_at(None) is found
    assert eval(repr(found)) == found
    with pytest.raises(TypeError, match="no region"):
        found.starting_at(0.5)


def test_what_is_no_probability_stays():
    outside = np.array([-3.0, -TINY, 0.0, 1.0, 1 + 1e-15, 7.0])
    np.testing.assert_array_equal(ShiftMap(factor=9.0)(outside), outside)
    np.testing.assert_array_equal(ShiftMap(factor=9.0, negative=True)(-outside), -outside)


def test_parts():
    named = lambda found, s: [PARTS[place] for place in found.parts(s)]  # noqa: E731
    assert named(ShiftMap(factor=3.0, negative=True), [-1.0, -0.5, 0.0]) == ["below", "moved", "above"]
    assert named(ShiftMap(added=3.0), [-1e9, 0.0, 700.0]) == ["moved"] * 3
    assert named(ShiftMap(factor=1.0), [0.5]) == ["still"]


def test_nothing_is_no_move():
    s = hostile_scores(ScoreMap.identity(), 80)
    for nothing in (ShiftMap(factor=1.0), ShiftMap(added=0.0), ShiftMap()):
        assert nothing.is_identity
        np.testing.assert_array_equal(nothing(s), s)


@pytest.mark.parametrize("options", [{"factor": 0.0}, {"factor": -1.0}, {"factor": np.inf}, {"added": np.nan}])
def test_refused(options):
    with pytest.raises(ValueError, match="must be finite"):
        ShiftMap(**options)


@pytest.mark.parametrize("factor", FACTORS)
def test_the_lowest_probability_with_odds(factor):
    lowest = Odds(factor).lowest
    assert ShiftMap(factor=factor)(lowest) > 0
    assert ShiftMap(factor=factor)(np.nextafter(lowest, 0)) == 0
