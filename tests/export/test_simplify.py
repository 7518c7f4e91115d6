"""Fewer knots: the fewest there are, within the error that is stated, with ranks kept where that is asked for."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from export_cases import hostile_maps, mapped
from fairpot.export import simplify, to_javascript, to_onnx, to_python, to_sql
from fairpot.export.simplify import EXACT_UP_TO, _shortest, _walked, fewest_points, spread_knots
from fairpot.transport import ScoreMap, ShiftMap

SMALL = {name: each for name, each in hostile_maps().items() if name != "many knots"}


def fewest_by_trying(x, v, reach):
    """Try all choices of points, the fewest first."""
    for size in range(2, len(x) + 1):
        for inner in combinations(range(1, len(x) - 1), size - 2):
            chosen = [0, *inner, len(x) - 1]
            if (np.abs(np.interp(x, x[chosen], v[chosen]) - v) <= reach * (1 + 1e-9)).all():
                return size
    raise AssertionError


@given(st.lists(st.integers(0, 12), min_size=3, max_size=10), st.sampled_from([0.7, 1.3, 2.6, 5.2]))
def test_as_few_as_can_be(values, reach):
    x, v = np.arange(len(values), dtype=float) ** 1.5, np.array(values, dtype=float)
    made = simplify({"F": ScoreMap(x, v)}, max_error=reach)
    assert len(made.maps["F"].knots) == fewest_by_trying(x, v, reach)
    assert made.error <= reach * (1 + 1e-9)


@pytest.mark.parametrize("max_error", [0.0, 1e-6, 1e-3, 0.05, 0.5])
def test_error_is_the_true_one(max_error):
    for name, full in SMALL.items():
        if name == "huge":
            continue
        made = simplify({"F": full}, max_error=max_error)
        small = made.maps["F"]
        x = np.sort(np.r_[np.random.default_rng(0).uniform(-1, 2, 5000), full.knots, np.nextafter(full.knots, 9)])
        measured = np.abs(mapped(small, x) - mapped(full, x)).max()
        assert measured <= made.error + 1e-15 <= max_error + 2e-15
        assert len(small.knots) <= len(full.knots)
        assert small.is_monotone or not full.is_monotone


def test_many_knots_in_linear_time():
    full = hostile_maps()["many knots"]
    made = simplify({"F": full}, max_error=0.01)
    assert len(full.knots) > EXACT_UP_TO
    assert made.error <= 0.01 + 1e-12
    assert len(made.maps["F"].knots) < 200


def test_the_walk_is_nearly_as_good():
    rng = np.random.default_rng(5)
    x = np.sort(rng.random(600))
    v = x**2 + rng.normal(size=600) * 0.002
    for reach in (0.003, 0.01):
        few, walked = len(_shortest(x, v, v - reach, v + reach)), len(_walked(x, v, v - reach, v + reach))
        assert few <= walked <= 1.3 * few


def test_what_has_no_knots_to_spare_stays():
    maps = {"F": ShiftMap(factor=3.0), "M": ScoreMap.identity(), "X": ScoreMap([0, 1], [2, 3])}
    made = simplify(maps, max_error=0.5)
    assert all(made.maps[group] is maps[group] for group in maps)
    assert made.error == 0


def test_exports_say_that_they_are_simplified():
    x = np.linspace(0, 1, 50)
    made = simplify({"F": ScoreMap(x, x**2)}, max_error=0.01)
    said = f"simplified from 50 to {len(made.maps['F'].knots)} breakpoints, scores within 0.0"
    for text in (to_sql(made, dialect="duckdb"), to_python(made), to_javascript(made), to_onnx(made).doc_string):
        assert said in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_error": -1}, "max_error must be a number"),
        ({"max_error": "a"}, "max_error must be a number"),
    ],
)
def test_refusals(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        simplify({"F": ScoreMap([0, 1, 2], [1, 2, 3])}, **options)


def test_spread_knots_are_nearly_the_best_there_are():
    """Half as many, chosen by the walk within the same error, are the least that could do."""
    rng = np.random.default_rng(0)
    x = np.sort(rng.normal(size=50_000))
    full = ScoreMap(x, np.sort(rng.exponential(size=50_000)), below="identity")
    made = spread_knots({"F": full, "M": ScoreMap.identity()}, 1000)
    small = made.maps["F"]
    assert made.knots == {"F": (50_000, 1000), "M": (0, 0)}
    assert set(small.knots) <= set(full.knots)
    at = np.sort(np.r_[full.knots, (x[1:] + x[:-1]) / 2])
    assert made.error == pytest.approx(np.abs(small(at) - full(at)).max(), abs=1e-15)
    assert len(fewest_points(x, full.values, full.values - made.error, full.values + made.error)) > 150
    even = np.linspace(0, len(x) - 1, 1000).astype(int)
    assert made.error < np.abs(np.interp(x, x[even], full.values[even]) - full.values).max() / 10


@given(st.lists(st.integers(0, 12), min_size=3, max_size=40), st.integers(2, 40))
def test_spread_knots_of_few(values, total):
    full = ScoreMap(np.arange(len(values), dtype=float), np.array(values, dtype=float))
    made = spread_knots({"F": full}, total)
    assert len(made.maps["F"].compact().knots) <= total
    assert made.error == np.abs(made.maps["F"](full.knots) - full.values).max()
