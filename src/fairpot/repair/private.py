"""Private model files: every number in them stands for at least ten people."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from fairpot.counts import GroupCounts
from fairpot.exceptions import ModelFileError
from fairpot.export import simplify
from fairpot.modelfile import FEWER_THAN, ModelFile
from fairpot.modelfile.origin import people_of, rounded_outwards
from fairpot.repair.saving import small_groups, told
from fairpot.table import ScoreTable
from fairpot.transport import Floats, ScoreMap, ShiftMap

# About so many steps make the fitted range; and a map may be simplified by so many of them.
_STEPS, _REACH = 1000, 5


class Grid(NamedTuple):
    """Numbers with few digits: the multiples of a power of ten."""

    exponent: int

    @classmethod
    def for_range(cls, low: float, high: float) -> Grid:
        """Choose the power of ten that comes nearest to a thousandth of a range."""
        size = high - low or abs(high) or 1.0
        if not math.isfinite(size):
            raise ModelFileError(
                f"scores from {low:g} to {high:g} are too far apart to be rounded.\nHint: rescale them."
            )
        return cls(max(round(math.log10(size / _STEPS)), -300))

    @property
    def step(self) -> float:
        """The distance of two of them."""
        return float(self.multiples(np.array([1.0]))[0])

    def multiples(self, whole: Floats) -> Floats:
        """Return whole multiples of the step, as the nearest numbers to those decimals."""
        return whole * 10.0**self.exponent if self.exponent >= 0 else whole / 10.0**-self.exponent

    def nearest(self, values: Floats) -> Floats:
        """Round to the nearest."""
        return self.multiples(np.rint(values / self.step))


# Methods that move a share of a group to the same share of others: behind a value stand as many of those.
_BY_SHARE = ("FairPOT", "WassersteinRepair")


def made_private(content: ModelFile, table: ScoreTable | None = None) -> ModelFile:
    """Return what a private file holds in place of all knots and counts: every number stands for ten people or more.

    A knot is the mean score of at least ten people of the group who follow each other, and its value the mean of what
    they are mapped to, behind which stand at least ten people of every group that the map depends on. A start, a
    floor and a threshold are the mean of the ten people around it. All are rounded to a step, about a thousandth of
    the fitted range, and simplified within five steps; the largest error of any score stands in ``private``, to two
    digits. Counts are rounded to tens, score ranges outwards from the means of the ten people at either end, the dial
    to three digits. Tables of scores that stay on a grid are kept as they are, if ten people or more have each of its
    scores. Maps that are made anew from each batch are left out, and so is a certificate: it is signed for
    the full maps, not for these.

    ``table``: the fitted rows: only they say how many people stand behind a knot. Raises :class:`ModelFileError` if
    fewer than ten people of a group stand behind the maps: rounding does not hide them. And if there are knots but no
    rows to count people in.
    """
    if content.private is not None:
        return content
    if content.apply["kind"] == "barycentre_of_batch":
        still = {"kind": "piecewise", **ScoreMap.identity().to_dict()}
        content = replace(content, maps=dict.fromkeys(content.groups, still))
    few = small_groups(content, table)
    if few:
        raise _too_few(few)
    if table is None and (content.then is not None or any(each.get("knots") for each in content.maps.values())):
        raise ModelFileError(
            "a model that comes from a file does not know how many rows make up each breakpoint.\n"
            "Hint: save the fitted model itself as a private file."
        )
    grid = Grid.for_range(*content.fitted_on["score_range"])
    origin = _rounded_origin(content.fitted_on, table)
    maker = _Maker(content, table, grid, *origin["score_range"])
    if content.on_grid:
        _check_grid(table)
        made = {group: (each, 0.0) for group, each in content.maps.items()}
    else:
        made = {group: maker.made(group, each) for group, each in content.maps.items()}
    then, beyond = maker.then()
    errors = [error for _, error in made.values()]
    if content.then is not None and then is not None:
        pairs = [(each, made[group][0]) for group, each in content.maps.items()]
        errors = [beyond, *(_largest_after(*pair, content.then, then) for pair in pairs)]
    before = 0.0 if content.simplified is None else content.simplified["largest_error"]
    return replace(
        content,
        maps={group: each for group, (each, _) in made.items()},
        then=then,
        thresholds=None if content.thresholds is None else maker.thresholds(content.thresholds),
        dial=(content.dial[0], _three_digits(content.dial[1])),
        fitted_on=origin,
        certificate=None,
        private={"largest_error": _rounded_up(max(errors) + before), "step": grid.step},
        simplified=None,
    )


def _check_grid(table: ScoreTable | None) -> None:
    """Insist that ten people or more have each score of a grid: tables of scores are not rounded."""
    if table is None or (_People.of(table.joined().counts[0]).number < FEWER_THAN).any():
        raise ModelFileError(
            f"a table of scores is saved as it is, and fewer than {FEWER_THAN} rows have some score of its grid.\n"
            "Hint: round the scores to a coarser grid before fit."
        )


def _too_few(groups: list[Hashable]) -> ModelFileError:
    return ModelFileError(
        f"{told(groups)}, also if they are rounded.\nHint: min_group={FEWER_THAN} leaves small groups as they are; "
        "or put groups together, or move more rows."
    )


@dataclass(frozen=True)
class _Maker:
    """Makes the maps of a private file."""

    content: ModelFile
    table: ScoreTable | None
    grid: Grid
    low: float  # the range of all scores, as the file has it
    high: float

    def made(self, group: Hashable, content: dict[str, Any]) -> tuple[dict[str, Any], float]:
        """Return a map, and the most by which any score differs from what the full one gives."""
        if content["kind"] == "shift":
            return _rounded_shift(content)
        if content["kind"] != "piecewise" or not content["knots"]:
            return content, 0.0
        assert self.table is not None
        full = ScoreMap.from_dict({key: value for key, value in content.items() if key != "kind"})
        counts = self.table[group]
        x, v = self._means(full, counts, group)
        bounds = {name: b if b is None else self._around(counts, b) for name, b in _bounds(full).items()}
        x, v = self._with_ends(x, v, full, counts)
        whole = ScoreMap(x, v, below=full.below, above=full.above, **bounds)
        small = simplify({"": whole}, max_error=_REACH * self.grid.step).maps[""]
        return {"kind": "piecewise", **small.to_dict()}, largest_difference(full, small)

    def thresholds(self, thresholds: dict[Hashable, float]) -> dict[Hashable, float]:
        """Return thresholds, each the mean of the ten people of its group around it."""
        assert self.table is not None
        return {group: self._around(self.table[group], value) for group, value in thresholds.items()}

    def then(self) -> tuple[dict[str, Any] | None, float]:
        """Return the map that follows all others, and its largest error.

        It would end at the lowest and the highest new score, of one person each. So it is taken between the means of
        the ten people at either end, and goes on straight from there to the ends of the file's range.
        """
        if self.content.then is None:
            return None, 0.0
        full, step = _piecewise(self.content.then), self.grid.step
        low, high = self._outermost()
        first, last = math.ceil(low / step), math.floor(high / step)
        x = self.grid.multiples(np.arange(first, max(last, first + 1) + 1, dtype=np.float64))
        x, v = _straight_on(x, full(x), self.low, self.high)
        sampled = ScoreMap(x, np.round(v, _DIGITS), below=full.below, above=full.above)
        made = simplify({"": sampled}, max_error=_REACH * 10.0**-_DIGITS).maps[""]
        return {"kind": "piecewise", **made.to_dict()}, largest_difference(full, made)

    def _outermost(self) -> tuple[float, float]:
        """Return the mean new score of the ten people at either end, of the group in which it lies farthest out."""
        assert self.table is not None
        means = []
        for group, counts in zip(self.table.groups, self.table.counts):
            people = _People.of(counts)
            cells = list(people.cells(0, 0.0))
            if cells and group in self.content.maps:
                values = _new_scores(self.content.maps[group], counts.score)
                means += [people.mean(values, cell) for cell in (cells[0], people.last(len(values)))]
        return min(means), max(means)

    def _means(self, full: ScoreMap, counts: GroupCounts, group: Hashable) -> tuple[Floats, Floats]:
        """Return mean scores and mean values of people who follow each other, rounded, each score once."""
        people = _People.of(counts)
        first = _first_moved(full, counts.score)
        values = full.starting_at(None)(counts.score)
        least = self._least_share(group) * people.weight.sum()
        cells = list(people.cells(first, least))
        if not cells:
            raise _too_few([group if self.content.reference is None else self.content.reference])
        x = self.grid.nearest(np.array([people.mean(counts.score, cell) for cell in cells]))
        v = np.array([people.mean(values, cell) for cell in cells])
        if not self._of_many():
            assert self.table is not None
            beside = self.table[self.content.reference] if self.content.reference is not None else counts
            v = np.array([_People.of(beside).smoothed(beside.score, value) for value in v])
        x, places = np.unique(x, return_inverse=True)
        v = np.bincount(places, v) / np.bincount(places)
        return x, np.maximum.accumulate(self.grid.nearest(v))

    def _of_many(self) -> bool:
        """Whether the method itself makes a value from many people of the reference, or of as large a share of it."""
        smooth = self.content.method == "OptimalMerge" and self.content.parameters.get("smoothing") == "logistic"
        return smooth or self.content.method in _BY_SHARE

    def _least_share(self, group: Hashable) -> float:
        """Return the share of a group behind which stand ten people of every group that its map depends on."""
        assert self.table is not None
        others = [g for g in self.table.groups if self.content.reference is None or g == self.content.reference]
        moving = [g for g in others if g != group and (self.content.reference is not None or self._moves(g))]
        return max((FEWER_THAN / people_of(self.table[g]).rows for g in moving), default=0.0)

    def _moves(self, group: Hashable) -> bool:
        return bool(self.content.maps[group].get("knots"))

    def _around(self, counts: GroupCounts, value: float) -> float:
        """Return the mean of the ten people around a score, rounded."""
        mean = _People.of(counts).mean_around(counts.score, value)
        return float(self.grid.nearest(np.array([mean]))[0])

    def _with_ends(self, x: Floats, v: Floats, full: ScoreMap, counts: GroupCounts) -> tuple[Floats, Floats]:
        """Go on beyond the outermost means to the ends of the file's range, or to where the moved part begins.

        Beyond them every score is shifted as the outermost mean is, but not out of the range.
        """
        if full.below == "identity":
            begin = self._around(counts, float(full.knots[0]))
            if begin < x[0]:
                x, v = np.append(begin, x), np.append(begin, v)
        elif self.low < x[0]:
            lowest = min(v[0], max(self.low, v[0] - (x[0] - self.low)))
            x, v = np.append(self.low, x), np.append(self.grid.nearest(np.array([lowest])), v)
        if self.high > x[-1]:
            highest = max(v[-1], min(self.high, v[-1] + (self.high - x[-1])))
            x, v = np.append(x, self.high), np.append(v, self.grid.nearest(np.array([highest])))
        return x, v


def _bounds(score_map: ScoreMap) -> dict[str, float | None]:
    return {"floor": score_map.floor, "start": score_map.start}


def _first_moved(full: ScoreMap, scores: Floats) -> int:
    """Return the place of the first score that a map moves; a knot at an edge that stays is the last that does not."""
    stays = full.below == "identity" and full.values[0] == full.knots[0]
    first = int(np.searchsorted(scores, full.knots[0], side="right" if stays else "left"))
    if full.below == "hold":
        first = 0
    return first if full.start is None else max(first, int(np.searchsorted(scores, full.start)))


@dataclass(frozen=True)
class _People:
    """People at each score of a group, and what is told of those who follow each other: never of fewer than ten.

    Where rows belong together a person is one however many rows there are. Whole weights are so many people; of other
    weights, as many as they are worth.
    """

    number: Floats  # at each score
    weight: Floats
    units: tuple[NDArray[np.intp], NDArray[np.intp]] | None  # place and person of each row, by place

    @classmethod
    def of(cls, counts: GroupCounts) -> _People:
        """Count the people of a group."""
        weight = np.asarray(counts.weight, dtype=np.float64)
        if counts.members is not None:
            pairs = np.concatenate([np.column_stack((m.entry, m.unit)) for m in counts.members])
            place, unit = np.unique(pairs, axis=0).T
            return cls(np.bincount(place, minlength=len(weight)).astype(np.float64), weight, (place, unit))
        sides = (counts.positive, counts.negative)
        if counts.squares is not None:
            worth = [np.divide(c * c, q, where=q > 0, out=np.zeros(len(c))) for c, q in zip(sides, counts.squares)]
            return cls(np.floor(worth[0] + 1e-9) + np.floor(worth[1] + 1e-9), weight, None)
        if counts.weight.dtype.kind == "f":
            return cls(sides[0].astype(bool) + sides[1].astype(bool) * 1.0, weight, None)
        return cls(weight, weight, None)

    def cells(self, first: int, least: float) -> Iterator[slice]:
        """Cut scores from a place on into parts of at least ten people and so much weight; the last has the rest."""
        before = np.concatenate(([0.0], np.cumsum(self.weight)))
        begin, ends = first, []
        while begin < len(self.weight):
            end = max(self._tenth(begin), int(np.searchsorted(before, before[begin] + least * (1 - 1e-9))))
            if end > len(self.weight):
                break
            ends.append(end)
            begin = end
        if ends:
            ends[-1] = len(self.weight)
        yield from (slice(a, b) for a, b in zip([first, *ends], ends))

    def last(self, size: int) -> slice:
        """Return the shortest part with ten people at the end of so many scores."""
        begin = size - 1
        while begin > 0 and self._between(begin, size) < FEWER_THAN:
            begin -= 1
        return slice(begin, size)

    def _tenth(self, begin: int) -> int:
        """Return the end of the shortest part from a place on with ten people; beyond the last place if none has."""
        if self.units is None:
            sums = np.cumsum(self.number[begin : begin + _AHEAD])
            if len(sums) and sums[-1] < FEWER_THAN:
                sums = np.cumsum(self.number[begin:])
            found = int(np.searchsorted(sums, FEWER_THAN))
            return begin + found + 1 if found < len(sums) else len(self.weight) + 1
        place, unit = self.units
        seen: set[int] = set()
        for row in range(int(np.searchsorted(place, begin)), len(place)):
            seen.add(int(unit[row]))
            if len(seen) == FEWER_THAN:
                return int(place[row]) + 1
        return len(self.weight) + 1

    def mean(self, values: Floats, cell: slice) -> float:
        """Return the mean of people's values in a part: that of each person's own mean, where they have several."""
        if self.units is None:
            number = self.number[cell]
            return float((values[cell] * number).sum() / number.sum())
        place, unit = self.units
        rows = slice(*np.searchsorted(place, [cell.start, cell.stop]))
        _, who = np.unique(unit[rows], return_inverse=True)
        return float((np.bincount(who, values[place[rows]]) / np.bincount(who)).mean())

    def mean_around(self, scores: Floats, value: float) -> float:
        """Return the mean score of the ten people or more around a value: as many below as above, if there are."""
        at = int(np.searchsorted(scores, value))
        begin, end = at, at
        while end - begin < len(scores) and self._between(begin, end) < FEWER_THAN:
            lower = self._between(begin, at) <= self._between(at, end)
            if begin > 0 and (lower or end == len(scores)):
                begin -= 1
            else:
                end += 1
        return self.mean(scores, slice(begin, end))

    def smoothed(self, scores: Floats, value: float) -> float:
        """Return the mean of the ten people around a value; beyond the last score, as far beyond the last ten."""
        inside = float(np.clip(value, scores[0], scores[-1]))
        return self.mean_around(scores, inside) + (value - inside)

    def _between(self, begin: int, end: int) -> float:
        if self.units is None:
            return float(self.number[begin:end].sum())
        place, unit = self.units
        rows = slice(*np.searchsorted(place, [begin, end]))
        return float(len(np.unique(unit[rows])))


_AHEAD = 64  # scores that are looked at first for ten people


def largest_difference(full: ScoreMap, other: ScoreMap) -> float:
    """Return the most by which two maps with the same edges differ at any score.

    Between the points that are tried both are straight: knots, starts, where a floor is reached, and the next number
    on either side of each, as maps may jump there.
    """
    points = np.concatenate([_bends(each) for each in (full, other)])
    if len(points) == 0:
        return 0.0
    points = np.concatenate((points, np.nextafter(points, np.inf), np.nextafter(points, -np.inf)))
    whole = (full.starting_at(None), other.starting_at(None))
    return max(float(np.abs(a(points) - b(points)).max()) for a, b in ((full, other), whole))


def _bends(score_map: ScoreMap) -> Floats:
    x, v, floor = score_map.knots, score_map.values, score_map.floor
    starts = [] if score_map.start is None else [score_map.start]
    if floor is None or len(x) < 2:
        return np.concatenate((x, starts))
    crossing = np.flatnonzero((v[:-1] < floor) != (v[1:] < floor))
    rise = v[crossing + 1] - v[crossing]
    at = x[crossing] + (floor - v[crossing]) / rise * (x[crossing + 1] - x[crossing])
    return np.concatenate((x, starts, at))


def _straight_on(x: Floats, v: Floats, low: float, high: float) -> tuple[Floats, Floats]:
    """Let a map of probabilities go on as it ends, to both ends of a range."""
    least, most = (0.0, 1.0) if v[0] >= 0 else (-1.0, 0.0)
    if low < x[0]:
        x, v = np.append(low, x), np.append(max(least, v[0] - (v[1] - v[0]) / (x[1] - x[0]) * (x[0] - low)), v)
    if high > x[-1]:
        beyond = v[-1] + (v[-1] - v[-2]) / (x[-1] - x[-2]) * (high - x[-1])
        x, v = np.append(x, high), np.append(v, min(most, beyond))
    return x, v


_DIGITS = 4  # of probabilities in a private file
_TRIED = 2001


def _map_of(content: dict[str, Any]) -> ScoreMap:
    fields = {key: value for key, value in content.items() if key != "kind"}
    return (ShiftMap if content["kind"] == "shift" else ScoreMap).from_dict(fields)


def _new_scores(content: dict[str, Any], scores: Floats) -> Floats:
    if content["kind"] == "sigmoid":
        return np.asarray(expit(content["alpha"] * scores + content["beta"]))
    return _map_of(content)(scores)


def _piecewise(content: dict[str, Any]) -> ScoreMap:
    return ScoreMap.from_dict({key: value for key, value in content.items() if key != "kind"})


def _largest_after(full: dict[str, Any], made: dict[str, Any], then: dict[str, Any], rounded: dict[str, Any]) -> float:
    """Return the most by which a group's scores differ once the map that follows has been rounded as well.

    Tried are the bends of both ways, which lie at knots and where a knot of the map that follows is reached, and the
    numbers next to them; of shifts, which bend everywhere, many points.
    """
    if full["kind"] == "sigmoid":  # stays as it is, so that what follows it makes all the difference
        return 0.0
    ways: list[tuple[ScoreMap, ScoreMap]] = []
    for own, later in ((full, then), (made, rounded)):
        ways.append((_map_of(own), _piecewise(later)))
    points = [np.linspace(float(after.knots[0]), float(after.knots[-1]), _TRIED) for _, after in ways]
    for first, after in ways:
        points += [after.knots, _bends(first), *(_reached(first, each) for each in after.knots.tolist())]
    x = np.concatenate(points)
    x = np.concatenate((x, np.nextafter(x, np.inf), np.nextafter(x, -np.inf)))
    one, other = (after(first(x)) for first, after in ways)
    return float(np.abs(one - other).max())


def _reached(found: ScoreMap, level: float) -> Floats:
    """Give the scores at which the lines between knots reach a value."""
    x, v = found.knots, found.values
    crossing = np.flatnonzero((v[:-1] < level) != (v[1:] < level)) if len(x) > 1 else np.empty(0, dtype=np.intp)
    return x[crossing] + (level - v[crossing]) / (v[crossing + 1] - v[crossing]) * (x[crossing + 1] - x[crossing])


def _rounded_shift(content: dict[str, Any]) -> tuple[dict[str, Any], float]:
    """Return a shift with three digits, as the dial has them, and the most by which any score differs."""
    if content["factor"] is None:
        added = _three_digits(content["added"])
        return content | {"added": added}, abs(added - content["added"])
    exact = math.log(content["factor"])
    rounded = _three_digits(exact)
    return content | {"factor": math.exp(rounded)}, math.tanh(abs(rounded - exact) / 4)


def _three_digits(value: Any) -> Any:
    if isinstance(value, dict):
        return {group: _three_digits(each) for group, each in value.items()}
    return float(f"{value:.3g}")


def _rounded_up(error: float) -> float:
    """Round up to two digits: all of them would be those of one person's score."""
    if error == 0:
        return 0.0
    step = 10.0 ** (math.floor(math.log10(error)) - 1)
    return float(f"{math.ceil(error / step) * step:.12g}")


def _rounded_origin(origin: dict[str, Any], table: ScoreTable | None) -> dict[str, Any]:
    groups = [
        {"group": each["group"], "counts": _rounded_counts(each["counts"], None if table is None else table.counts[i])}
        for i, each in enumerate(origin["groups"])
    ]
    known = [each["counts"]["score_range"] for each in groups if each["counts"]["score_range"] is not None]
    whole = [min(low for low, _ in known), max(high for _, high in known)] if known and table is not None else None
    return origin | {
        "groups": groups,
        "rows": _to_tens(origin["rows"]),
        "score_range": whole or rounded_outwards(*origin["score_range"]),
    }


def _rounded_counts(given: dict[str, Any], counts: GroupCounts | None) -> dict[str, Any]:
    made = {name: value if name == "score_range" else _to_tens(value) for name, value in given.items()}
    if given["score_range"] is None:
        return made
    ends = given["score_range"]
    if counts is not None:
        people = _People.of(counts)
        ends = [people.mean_around(counts.score, edge) for edge in (-np.inf, np.inf)]
    return made | {"score_range": rounded_outwards(*ends)}


def _to_tens(value: Any) -> Any:
    return None if value is None else int(round(value / FEWER_THAN) * FEWER_THAN)
