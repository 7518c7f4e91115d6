import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairpot.transport import ScoreMap


def test_interpolates_and_is_exact_at_knots():
    rng = np.random.default_rng(0)
    knots, values = np.sort(rng.random(50)), rng.random(50)
    score_map = ScoreMap(knots, values)
    np.testing.assert_array_equal(score_map(knots), values)
    x = rng.random(1000)
    np.testing.assert_allclose(score_map(x), np.interp(x, knots, values), atol=1e-13)


def test_edges():
    hold = ScoreMap([0.2, 0.6], [0.3, 0.9])
    assert hold([0.0, 1.0]).tolist() == [0.3, 0.9]
    keep = ScoreMap([0.2, 0.6], [0.3, 0.9], below="identity", above="identity")
    assert keep([0.0, 0.2, 0.6, 1.0]).tolist() == [0.0, 0.3, 0.9, 1.0]


def test_floor_and_start():
    floored = ScoreMap([0.5, 0.6, 0.9], [0.5, 0.1, 0.8], below="identity", floor=0.5)
    assert floored([0.4, 0.5, 0.6, 0.9]).tolist() == [0.4, 0.5, 0.5, 0.8]
    assert floored.is_monotone
    region = ScoreMap([0.5, 0.6], [0.7, 0.8], start=0.55)
    assert region([0.5, 0.54, 0.55, 0.6]).tolist() == pytest.approx([0.5, 0.54, 0.75, 0.8])
    assert region.is_monotone
    assert region.starting_at(0.0)([0.1]).tolist() == [0.7]


def test_identity_is_exact_everywhere():
    x = np.array([-1e300, -0.1, 0.0, 0.1 + 0.2, 1e300])
    identity = ScoreMap.identity()
    np.testing.assert_array_equal(identity(x), x)
    assert identity.is_identity
    assert not ScoreMap([0.1], [0.1]).is_identity  # holds both edges
    assert ScoreMap([0.1], [0.1], below="identity", above="identity").is_identity


def test_shape_is_kept_and_input_untouched():
    x = np.array([[0.1], [0.5]])
    assert ScoreMap([0.0, 1.0], [1.0, 2.0])(x).shape == (2, 1)
    identity = ScoreMap.identity()(x)
    identity[0] = 7
    assert x[0] == 0.1


def test_no_overshoot_and_monotone_inside_segments():
    rng = np.random.default_rng(1)
    for _ in range(200):
        knots, values = np.sort(rng.normal(size=2)), np.sort(rng.normal(size=2))
        x = np.sort(rng.uniform(*knots, 300))
        mapped = ScoreMap(knots, values)(x)
        assert (np.diff(mapped) >= 0).all()
        assert values[0] <= mapped[0] <= mapped[-1] <= values[1]


def test_is_monotone():
    assert ScoreMap([0.1, 0.2], [0.5, 0.5]).is_monotone
    assert not ScoreMap([0.1, 0.2], [0.5, 0.4]).is_monotone
    assert not ScoreMap([0.1, 0.2], [0.0, 0.4], below="identity").is_monotone
    assert not ScoreMap([0.1, 0.2], [0.1, 0.4], above="identity").is_monotone
    assert not ScoreMap([0.1, 0.2], [0.0, 0.4], start=0.1).is_monotone


def test_compact_changes_nothing():
    knots = np.arange(10) / 10
    values = np.array([0.0, 0.1, 0.2, 0.5, 0.5, 0.5, 0.5, 0.8, 0.8, 0.8])
    score_map = ScoreMap(knots, values, below="identity")
    small = score_map.compact()
    assert small.knots.tolist() == [0.2, 0.3, 0.6, 0.7, 0.9]
    x = np.linspace(-0.5, 1.5, 1001)
    np.testing.assert_allclose(small(x), score_map(x), atol=1e-16)
    np.testing.assert_array_equal(small(knots), score_map(knots))
    assert ScoreMap.identity().compact() == ScoreMap.identity()


def test_round_trip_through_json():
    rng = np.random.default_rng(3)
    score_map = ScoreMap(np.sort(rng.random(20)), rng.random(20), below="identity", floor=0.25, start=0.125)
    again = ScoreMap(**json.loads(json.dumps(score_map.to_dict(), allow_nan=False)))
    assert again == score_map
    assert again != ScoreMap.identity()
    assert score_map != "something else"
    assert "20 breakpoints" in repr(score_map)


@pytest.mark.parametrize(
    "score_map",
    [
        ScoreMap([0.55, 0.95], [0.25, 0.85], below="identity", start=0.1),
        ScoreMap([0.55], [0.9], below="identity", start=0.45),
        ScoreMap([0.3, 0.55], [0.2, 0.55], below="identity", above="identity", floor=0.3, start=0.1),
        ScoreMap([0.0, 0.5, 0.55], [0.0, 0.5, 0.5], below="identity", above="identity", floor=0.3),
        ScoreMap([0.85, 0.9], [0.2, 0.55], above="identity", floor=0.3),
        ScoreMap([0.2, 0.4, 0.6], [0.2, 0.5, 0.9], below="identity"),
    ],
)
def test_properties_hold_on_a_fine_grid(score_map):
    """What a map says of itself against what it does, for maps made by hand."""
    x = np.sort(np.r_[np.linspace(-0.2, 1.4, 16_001), score_map.knots])
    mapped = score_map(x)
    assert score_map.is_monotone == bool((np.diff(mapped) >= 0).all())
    assert score_map.is_identity == bool((mapped == x).all())
    np.testing.assert_allclose(score_map.compact()(x), mapped, atol=1e-15)


@pytest.mark.parametrize("scores", [[np.nan, 0.1], [None, 0.1], ["0.3"], [1j]])
def test_scores_without_a_value(scores):
    with pytest.raises((ValueError, TypeError), match=r"missing|must be numbers"):
        ScoreMap([0.2, 0.6], [0.2, 0.9])(scores)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.1, 0.1], [0, 1]), "strictly ascending"),
        (([0.2, 0.1], [0, 1]), "strictly ascending"),
        (([0.1], [0, 1]), "one value for each breakpoint"),
        (([0.1], [np.nan]), "finite"),
        (([[0.1]], [[0.1]]), "one-dimensional"),
    ],
)
def test_bad_maps(arguments, message):
    with pytest.raises(ValueError, match=message):
        ScoreMap(*arguments)


def test_bad_edges():
    with pytest.raises(ValueError, match="'identity' or 'hold'"):
        ScoreMap([0.1], [0.1], below="extrapolate")
    with pytest.raises(ValueError, match="floor"):
        ScoreMap([0.1], [0.1], floor=np.inf)
    with pytest.raises(ValueError, match="floor"):
        ScoreMap([0.1], [0.1], floor="a")
    with pytest.raises(TypeError, match="must be numbers"):
        ScoreMap("a", "b")
    with pytest.raises(ValueError, match="read-only"):
        ScoreMap([0.1], [0.1]).values[0] = 3


@settings(max_examples=300)
@given(st.data())
def test_compact_changes_nothing_whatever_the_bounds(data):
    size = data.draw(st.integers(1, 6))
    knots = sorted(data.draw(st.sets(st.integers(0, 9), min_size=size, max_size=size)))
    values = [data.draw(st.sampled_from([k, k, k, 0, 4, 9])) for k in knots]
    edges = {side: data.draw(st.sampled_from(["identity", "hold"])) for side in ("below", "above")}
    bounds = {name: data.draw(st.none() | st.integers(-1, 10)) for name in ("floor", "start")}
    score_map = ScoreMap(knots, values, **edges, **bounds)
    x = np.arange(-4, 26) / 2
    np.testing.assert_allclose(score_map.compact()(x), score_map(x), atol=1e-14)


def test_compact_keeps_a_floor_above_fixed_knots():
    score_map = ScoreMap([0.1, 0.2, 0.3], [0.1, 0.2, 0.3], above="identity", floor=0.25)
    x = np.array([0.1, 0.15, 0.2, 0.29, 0.4])
    np.testing.assert_array_equal(score_map.compact()(x), score_map(x))
    assert score_map(x).tolist() == [0.25, 0.25, 0.25, 0.29, 0.4]


def test_numbers_near_the_largest():
    big = ScoreMap([-0.8e308, 0.0, 0.8e308], [-0.8e308, 5e-324, 0.8e308])
    assert big([-0.8e308, 0.0, 0.8e308]).tolist() == [-0.8e308, 5e-324, 0.8e308]
    assert ScoreMap([0.0, 1.0], [0.0, 1.0])([-1.7e308, 1.7e308]).tolist() == [0.0, 1.0]
    for knots, values in (([-1.7e308, 1.7e308], [0.0, 1.0]), ([0.0, 1.0], [-1.7e308, 1.7e308])):
        with pytest.raises(ValueError, match="wider or higher than"):
            ScoreMap(knots, values)


@st.composite
def maps_of_all_kinds(draw):
    knots = np.array(sorted(draw(st.lists(st.integers(-8, 8), min_size=1, max_size=6, unique=True)))) / 4
    values = np.array(draw(st.lists(st.integers(-9, 9), min_size=len(knots), max_size=len(knots)))) / 3
    bound = st.none() | st.integers(-10, 10).map(lambda k: k / 4)
    edge = st.sampled_from(["identity", "hold"])
    return ScoreMap(knots, values, below=draw(edge), above=draw(edge), floor=draw(bound), start=draw(bound))


@settings(max_examples=400, deadline=None)
@given(maps_of_all_kinds(), st.lists(st.floats(-3, 3), max_size=5))
def test_reflected_is_the_map_of_scores_with_a_minus(score_map, more):
    reflected = score_map.reflected()
    corners = [*score_map.knots, *([] if score_map.start is None else [score_map.start]), -100.0, 100.0]
    for x in corners:
        assert reflected(-x) == -score_map(x)
        for near in (np.nextafter(x, np.inf), np.nextafter(x, -np.inf)):
            assert reflected(-near) == pytest.approx(-score_map(near), abs=1e-12)
    np.testing.assert_allclose(reflected(more), -score_map(-np.array(more)), atol=1e-12)
    again = reflected.reflected()
    np.testing.assert_allclose(again(more), score_map(more), atol=1e-12)
    assert again(score_map.knots).tolist() == score_map(score_map.knots).tolist()
    assert reflected.is_identity or not score_map.is_identity


def test_reflected_where_it_cannot_be_and_where_numbers_are_large():
    class Own(ScoreMap):
        pass

    with pytest.raises(TypeError, match="Own cannot be reflected"):
        Own([0.0, 1.0], [0.0, 0.5]).reflected()
    assert ScoreMap.identity().reflected() == ScoreMap.identity()
    large = ScoreMap([-0.8e308, 0.8e308], [-0.8e308, 0.9e308], floor=0.0)
    assert large.reflected()([-0.8e308, 0.8e308]).tolist() == [-0.9e308, 0.0]
    assert np.signbit(ScoreMap([0.0], [0.0]).reflected().knots).tolist() == [False]
