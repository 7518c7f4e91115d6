"""Twelve maps and the scores to try them on, the same for every engine and every export."""

import numpy as np

from fairpot.transport import FollowedMap, ScoreMap, ShiftMap
from fairpot.transport.pieces import LARGEST, pieces

TINY = 5e-324
NAMES = ["F", "it's", 'say "x"', "back\\slash", "${x} $1", "new\nline", "é🏳", "", " F", "f", "a;--b", "{}%s?"]


def hostile_maps() -> dict[str, ScoreMap]:
    """Return maps that have gone wrong somewhere, by what they are."""
    rng = np.random.default_rng(15)
    x = np.sort(rng.random(30))
    many = np.unique(np.r_[rng.random(20_000), rng.normal(size=500)])
    return {
        "identity": ScoreMap.identity(),
        "one knot": ScoreMap([0.25], [0.75]),
        "one knot, identity outside": ScoreMap([0.25], [0.75], below="identity", above="identity"),
        "monotone": ScoreMap(x, np.sort(rng.random(30)), below="identity"),
        "steps down": ScoreMap(x, rng.normal(size=30), above="identity"),
        "floor and start": ScoreMap(x, rng.random(30), below="identity", floor=0.4, start=float(x[7]) + 1e-9),
        "floor above all": ScoreMap(x[:5], x[:5] / 2, floor=2.0, above="identity"),
        "flat and negative zero": ScoreMap([-0.5, -0.0, 0.5, 0.75, 1.0], [-0.0, 0.0, 0.0, 0.0, -0.0]),
        "denormal": ScoreMap([0.0, TINY, 3 * TINY, 1e-310, 1e-300, 0.5], [0.0, 1e-320, 0.0, 1e-323, 0.25, 0.3]),
        "denormal heights": ScoreMap([-1e-200, 1e-200, 1.0, 1e10], [-1e-315, 1e-315, 2e-315, 1e-300]),
        "huge": ScoreMap([-8e307, -1e300, 1e-5, 8.5e307], [-8e307, 3.0, 8e307, 8.9e307], above="identity"),
        "many knots": ScoreMap(many, np.r_[many[1:], 4.0] ** 3, below="identity", above="hold"),
    }


def shift_maps() -> dict[str, ShiftMap]:
    """Return shifts of probabilities, with and without a minus, and of other scores, by names of groups."""
    factors = (2.7, 1 / 3, 1.0, 1 + 2.0**-52, 1e-200, 1e217, 7e-218)
    odds = [ShiftMap(factor=k, negative=minus) for k in factors for minus in (False, True)]
    added = [ShiftMap(added=by) for by in (0.1, -2.5, 0.0, 1e-310, -1e290)]
    return {f"it's {place}": each for place, each in enumerate([*odds, *added])}


def hostile_scores(score_map: ScoreMap, most: int = 4000) -> np.ndarray:
    """Return scores around every bend of a map, and around the ends of the numbers."""
    rng = np.random.default_rng(3)
    bends = pieces(score_map).lo
    if len(bends) > most // 4:
        bends = rng.choice(bends, most // 4, replace=False)
    near = [bends, np.nextafter(bends, LARGEST), np.nextafter(bends, -LARGEST)]
    ends = [0.0, -0.0, TINY, -TINY, 2 * TINY, 2.2250738585072014e-308, 1e-310, 1e-200, 1e300, -1e300]
    more = [-1e308, 1e308, LARGEST, -LARGEST, 0.1 + 0.2, 1 / 3, 2.0**53, 1e16]
    drawn = [rng.random(most // 8), rng.normal(size=most // 8) * 10.0 ** rng.integers(-320, 300, most // 8)]
    scores = np.concatenate([*near, ends, more, *drawn])
    return scores[np.isfinite(scores)]


def same_numbers(got, expected) -> None:
    """Insist on the same double in every place, 0.0 and -0.0 being one number."""
    got, expected = np.asarray(got, dtype=np.float64), np.asarray(expected, dtype=np.float64)
    wrong = np.flatnonzero((got + 0.0).view(np.int64) != (expected + 0.0).view(np.int64))
    assert not len(wrong), f"{len(wrong)} of {len(got)} differ, first {got[wrong[0]]!r} for {expected[wrong[0]]!r}"


def mapped(score_map: ScoreMap, scores: np.ndarray) -> np.ndarray:
    """Map scores; those at the end of the numbers overflow on their way to an edge that holds, which is all right."""
    with np.errstate(all="ignore"):
        return score_map(scores)


def followed_maps() -> dict[str, FollowedMap]:
    """Return maps of every kind, each followed by one and the same: steep, level, with steps and denormal values."""
    rng = np.random.default_rng(4)
    x = np.unique(np.r_[0.0, TINY, 1e-300, rng.random(60), 0.5, np.nextafter(0.5, 1), 1.0])
    then = ScoreMap(x, np.sort(np.r_[0.0, 1e-320, rng.random(len(x) - 3), 1.0]))
    small = [each for name, each in hostile_maps().items() if name not in ("many knots", "huge")]
    firsts = [*small, *list(shift_maps().values())[:4], ShiftMap(added=0.1)]
    return {f"it's {place}": FollowedMap(first, then) for place, first in enumerate(firsts)}
