"""Private map files: the maps that a method learns when every score it sees is the mean of ten rows or more."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
from msgspec import UNSET
from msgspec.structs import replace

from fairpot._arguments import argument
from fairpot.counts import run_means
from fairpot.exceptions import ModelFileError
from fairpot.export import simplify
from fairpot.modelfile.content import FEWER_THAN, plain_group, rounded, rows_behind
from fairpot.modelfile.forms import (
    Dial,
    FittedOn,
    MapFile,
    MapOfGroup,
    NumberOfGroup,
    Private,
    Strengths,
    Then,
    form_of,
)
from fairpot.repair.calibrating import common_map
from fairpot.repair.stored import small_groups, told
from fairpot.table import ScoreTable
from fairpot.transport import Floats, ScoreMap, followed, moving, parted

Maps = dict[Hashable, ScoreMap]
Starts = dict[Hashable, float]
# From a table, and the scores at which a repaired top begins, to the maps of its groups.
Learn = Callable[[ScoreTable, Starts | None], Maps]
# About so many steps make the fitted range, and a map may be simplified by so many of them; digits of probabilities.
_STEPS, _REACH, _DIGITS = 1000, 5, 4
_TRIED = 20_001  # scores at which maps are compared, beside their breakpoints


def made_private(content: MapFile, maps: Maps, table: ScoreTable | None, learn: Learn | None) -> MapFile:
    """Return what a private file holds in place of all breakpoints and counts.

    Every score is replaced by the mean of its run of ten rows (or clusters) or more, and the maps are those that the
    method learns from such scores. Numbers are rounded to about a thousandth of the fitted range, counts to tens, the
    strength to three digits. Tables of scores on a grid stay, if ten rows or more have each score. A certificate is
    that of the full maps, and left out. Refused if fewer than ten rows of a group make up the maps.
    """
    if content.private is not UNSET:
        return content
    few = small_groups(content, table)
    if few:
        raise _too_few(few)
    made, last = parted(maps)
    digits, coarse, starts = _digits(*content.fitted_on.score_range), None, content.starts
    if table is not None and learn is not None:
        coarse = _coarse(table, content, made, digits)
    elif last is not None or any(type(each) is ScoreMap and len(each.knots) for each in made.values()):
        raise ModelFileError(
            "a model that comes from a file does not know how many rows make up each breakpoint.\n"
            "Hint: save the fitted model itself as a private file."
        )
    origin = rounded(content.fitted_on, coarse)
    low, high = origin.score_range
    ends = (low, high)
    if coarse is not None and learn is not None and not content.on_grid:
        starts = starts and _starts(starts, coarse, origin, digits)
        made = {g: _finished(each, ends, digits) for g, each in learn(coarse, starts).items()}
        last = last and _calibrated(coarse.rescored(moving(made)), ends, digits)
    before = 0.0 if content.simplified is UNSET else content.simplified.largest_error
    error = before + max(_largest(maps[g], each, ends) for g, each in followed(made, last).items())
    # Round up to two digits: all of them would be those of one row's score.
    last_digit = 10.0 ** (math.floor(math.log10(error)) - 1) if error else 1.0
    error = float(f"{math.ceil(error / last_digit) * last_digit:.12g}")
    name, value = content.strength
    value = _three_digits(value)
    return replace(
        content,
        maps=[MapOfGroup(group=plain_group(group), map=form_of(each)) for group, each in made.items()],
        then=UNSET if last is None else Then(kind="piecewise", **last.compact().to_dict()),
        thresholds=None if starts is None else _by_group(starts),
        dial=Dial(name=name, value=Strengths(by_group=_by_group(value)) if isinstance(value, dict) else value),
        fitted_on=origin,
        certificate=UNSET,
        private=Private(largest_error=error, step=10.0**-digits),
        simplified=UNSET,
    )


def _by_group(values: Starts) -> list[NumberOfGroup]:
    return [NumberOfGroup(group=plain_group(group), value=value) for group, value in values.items()]


def _too_few(groups: list[Hashable]) -> ModelFileError:
    hint = f"{argument('min_group', FEWER_THAN)} leaves small groups as they are; or join groups, or move more rows."
    return ModelFileError(f"{told(groups)}, also if they are rounded.\nHint: {hint}")


def _coarse(table: ScoreTable, content: MapFile, own: Maps, digits: int) -> ScoreTable:
    """Replace every score by the mean of its run; runs end where a top begins, and where the moved part does.

    A run is no smaller a share of its group than ten rows are of those that the group is moved towards.
    """
    if content.on_grid and (np.add(*table.joined().counts[0].rows_at) < FEWER_THAN).any():
        raise ModelFileError(
            f"a table of scores is saved as it is, and fewer than {FEWER_THAN} rows have some score of its grid.\n"
            "Hint: round the scores to a coarser grid before fit."
        )
    behind = {g: sum(rows_behind(c)) for g, c in zip(table.groups, table.counts)}
    moved = {g: each.compact() for g, each in moving(own).items() if type(each) is ScoreMap}
    counts = []
    for g in table.groups:
        least, cuts = FEWER_THAN, [] if content.starts is None else [content.starts[g]]
        if g in moved:
            towards = moved if content.reference is None else [content.reference]
            least = max(math.ceil(FEWER_THAN * behind[g] / behind[other]) for other in (g, *towards))
            if moved[g].below == "identity":  # the first breakpoint is the last score that stays
                cuts.append(float(np.nextafter(moved[g].knots[0], np.inf)))
        means = run_means(table[g], least, cuts)
        if means is None:
            raise _too_few([g if content.reference is None else content.reference])
        counts.append(table[g].rescored(np.round(means, digits)))
    return dataclasses.replace(table, counts=tuple(counts))


def _starts(starts: Starts, coarse: ScoreTable, origin: FittedOn, digits: int) -> Starts:
    """Let a top begin midway between the nearest means of runs on either side."""
    large = [each.group for each in origin.groups if each.counts.rows is not None]
    means = np.unique(np.concatenate([coarse[g].score for g in large]))
    at = {g: int(np.searchsorted(means, score)) for g, score in starts.items()}
    return {g: float(np.round(means[max(i - 1, 0) : i + 1].mean(), digits)) for g, i in at.items()}


def _finished(learnt: ScoreMap, ends: tuple[float, float], digits: int) -> ScoreMap:
    """Round a map, let it jump where the moved part begins, and shift scores beyond its ends as these are shifted."""
    if type(learnt) is not ScoreMap or not len(learnt.knots):
        return learnt.rounded(_three_digits)  # as the repair strength has them
    x, v, below, start = learnt.knots, learnt.values, learnt.below, learnt.start
    if below == "identity" and len(x) > 1 and x[0] == v[0]:
        middle = float(np.round((x[0] + x[1]) / 2, digits))
        x, v, below, start = x[1:], v[1:], "hold", middle if start is None else max(middle, start)
    if learnt.floor is not None:
        v = np.maximum(v, learnt.floor if start is None else start)
    low, within = ends[0] if start is None else start, (min(ends[0], v[0]), max(ends[1], v[-1]))
    return _simple(x, v, (low, ends[1]), (1.0, 1.0), within, (digits, digits), below=below, start=start)


def _calibrated(rows: ScoreTable, ends: tuple[float, float], digits: int) -> ScoreMap:
    """Learn from coarse rows what makes probabilities of the scores; it goes on straight at its ends."""
    x, v = (found := common_map(rows)).knots, found.values
    slopes = np.diff(v) / np.diff(x)
    within = (0.0, 1.0) if v[0] >= 0 else (-1.0, 0.0)
    return _simple(x, v, ends, (slopes[0], slopes[-1]), within, (digits, _DIGITS))


def _simple(x: Floats, v: Floats, ends: Any, slopes: Any, within: Any, digits: Any, **edges: Any) -> ScoreMap:
    """Lead a map to the ends of a range, round it, values never falling, and drop what it can do without."""
    before, after = x[0] - max(x[0] - ends[0], 0), x[-1] + max(ends[1] - x[-1], 0)
    v = np.concatenate(([v[0] - slopes[0] * (x[0] - before)], v, [v[-1] + slopes[1] * (after - x[-1])]))
    x, places = np.unique(np.round(np.concatenate(([before], x, [after])), digits[0]), return_inverse=True)
    v = np.clip(np.bincount(places, v) / np.bincount(places), *within)
    whole = ScoreMap(x, np.maximum.accumulate(np.round(v, digits[1])), **edges)
    return simplify({"": whole}, max_error=_REACH * 10.0 ** -digits[1]).maps[""]


def _largest(full: ScoreMap, made: ScoreMap, ends: tuple[float, float]) -> float:
    """Return the most by which two maps differ: at many scores, at breakpoints, and right beside them."""
    bends = [np.append(each.knots, [] if each.start is None else each.start) for each in (full, made)]
    x = np.concatenate((np.linspace(*ends, _TRIED), *bends))
    x = np.concatenate((x, np.nextafter(x, -np.inf), np.nextafter(x, np.inf)))
    return float(np.abs(full(x) - made(x)).max())


def _digits(low: float, high: float) -> int:
    """Say how many digits after the point make steps of about a thousandth of a range."""
    size = high - low or abs(high) or 1.0
    if not math.isfinite(size):
        raise ModelFileError(f"scores from {low:g} to {high:g} are too far apart to be rounded.\nHint: rescale them.")
    return -max(round(math.log10(size / _STEPS)), -300)


def _three_digits(value: Any) -> Any:
    return {g: _three_digits(v) for g, v in value.items()} if isinstance(value, dict) else float(f"{value:.3g}")
