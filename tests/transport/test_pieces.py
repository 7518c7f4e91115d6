import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from export_cases import hostile_maps, hostile_scores, mapped, same_numbers
from fairpot.transport import ScoreMap, ShiftMap
from fairpot.transport.kinds import Odds
from fairpot.transport.pieces import LARGEST, formula_of, pieces


def assert_identity(found):
    """One piece that adds nothing and that nothing holds."""
    assert [float(field[0]) for field in found] == [-LARGEST, 0, 1, 0, 1, -LARGEST, LARGEST]
    assert found.size == 1


@pytest.mark.parametrize("name", hostile_maps())
def test_pieces_are_the_map(name):
    score_map = hostile_maps()[name]
    scores = hostile_scores(score_map)
    found = pieces(score_map)
    assert found.lo[0] == -LARGEST
    assert (np.diff(found.lo) > 0).all()
    same_numbers(found(scores), mapped(score_map, scores))


numbers = st.floats(allow_nan=False, allow_infinity=False, min_value=-8e307, max_value=8e307)


@given(
    knots=st.lists(numbers, min_size=1, max_size=6, unique=True),
    data=st.data(),
    below=st.sampled_from(["hold", "identity"]),
    above=st.sampled_from(["hold", "identity"]),
    floor=st.none() | numbers,
    start=st.none() | numbers,
)
def test_any_map(knots, data, below, above, floor, start):
    values = data.draw(st.lists(numbers, min_size=len(knots), max_size=len(knots)))
    knots = np.unique(np.array(knots) + 0.0)
    score_map = ScoreMap(knots, values[: len(knots)], below=below, above=above, floor=floor, start=start)
    scores = np.r_[hostile_scores(score_map, 40), [] if start is None else [start, np.nextafter(start, -np.inf)]]
    with np.errstate(under="ignore"):
        same_numbers(pieces(score_map)(scores), mapped(score_map, scores))


@pytest.mark.parametrize("values", [[5e-324, 5e-324, 0.0], [3e-323, 5e-324, 0.0], [1e-320, -1e-320, 8e307]])
def test_tiny_beside_huge(values):
    """A score of 8e307 must not cost its neighbours the smallest numbers."""
    score_map, scores = ScoreMap([-1, 1, 8e307], values), np.array([-1, -0.5, 0, 0.5, 0.75, 1, 2, 1e300])
    same_numbers(pieces(score_map)(scores), score_map(scores))


def test_no_product_is_rounded_to_zero():
    """PostgreSQL refuses a product or quotient that is 0 though its factors are not."""
    for name, score_map in hostile_maps().items():
        found = pieces(score_map)
        s = hostile_scores(score_map)
        p = np.searchsorted(found.lo, s, side="right") - 1
        share = (s - found.x0[p]) / found.w[p]
        assert ((share != 0) | (s == found.x0[p])).all(), name
        assert ((share * found.d[p] != 0) | (share == 0) | (found.d[p] == 0)).all(), name


def test_neighbours_that_say_the_same_are_one():
    assert pieces(ScoreMap([0.1, 0.2, 0.3, 0.4], [1, 1, 1, 1])).size == 1
    assert pieces(ScoreMap([0.1, 0.2], [3, 4], start=0.5)).size == 2
    assert_identity(pieces(ScoreMap.identity()))


def test_kinds_of_maps():
    assert formula_of(ShiftMap(factor=3.0)) == Odds(3.0)
    assert formula_of(ShiftMap(factor=3.0, negative=True)) == Odds(-3.0)
    for nothing in (ShiftMap(factor=1.0), ShiftMap(added=0.0)):
        assert_identity(formula_of(nothing))
    assert formula_of(ShiftMap(added=0.5)).v0.tolist() == [0.5]

    class Own(ScoreMap):
        pass

    with pytest.raises(TypeError, match="Own, whose rule is not known"):
        formula_of(Own([0.1], [0.2]))
    with pytest.raises(ValueError, match="1 pieces of a map are wider or higher"):
        formula_of(ScoreMap([0, 1], [-1e308, 1e308]))
