"""Maps as files have them, both ways; what applying them needs: no estimator and no scikit-learn."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from importlib import import_module
from os import PathLike
from typing import Any, Self

import numpy as np
from msgspec import UNSET

from fairpot._arguments import argument
from fairpot._defaults import MEANINGS, TIES, Meaning
from fairpot._validation import check_choice
from fairpot._validation.grouping import Grouping
from fairpot._version import __version__
from fairpot._warn import warn_user
from fairpot.exceptions import ModelFileError, ScaleWarning
from fairpot.modelfile.content import FEWER_THAN, rows_behind
from fairpot.modelfile.files import naming, read
from fairpot.modelfile.forms import OPTIONAL, Lines, MapFile, map_of, refuse, shown
from fairpot.repair.registry import method_of
from fairpot.table import ScoreTable
from fairpot.transport import Floats, ScoreMap, followed, parted

# What parameters and strengths were called in files of earlier versions, and what methods were given then.
_RENAMED = {"FairPOT": {"threshold": "region_from"}}
_FORMER = {
    *("alpha", "region", "region_from", "capacity", "calibrate", "keep_grid", "high_score_means", "common_dial"),
    *("exact", "min_group", "groups", "pos_label", "distributions", "smoothing"),
}
# Parameters that are numbers where they are given, shares among them, and words.
_NUMBERS = ("alpha", "top", "max_gap", "max_auc_loss", "confidence", "min_group", "capacity", "net_benefit_at")
_SHARES = ("alpha", "max_gap", "max_auc_loss", "confidence", "net_benefit_at")
_WORDS: dict[str, tuple[str | None, ...]] = {
    "ties": TIES,
    "region": ("pooled", "group"),
    "top_of": ("all", "group"),
    "repair": ("all", "top"),
    "keep": (None, "grid", "probabilities"),
    "high_score_means": (None, *MEANINGS),
}
TOPS = ("alpha", "top", "capacity")  # those that say how large the top is

# Beyond the fitted range by more than this share of its width is far outside; so many rows there, as a share, and the
# batch is suspect, or the scores as a whole are on another scale.
_FAR, _MANY, _ALL = 0.5, 0.01, 0.9
# A batch that fills less than this share of the fitted range is suspect, if it has scores enough to tell.
_NARROW, _ENOUGH = 0.05, 30


@dataclass(frozen=True)
class ScoreScale:
    """The range of the fitted scores."""

    low: float
    high: float

    @classmethod
    def of(cls, table: ScoreTable) -> ScoreScale:
        """Find the range of a table's scores."""
        edges = [(float(c.score[0]), float(c.score[-1])) for c in table.counts if len(c.score)]
        return cls(min(low for low, _ in edges), max(high for _, high in edges))

    @property
    def far(self) -> tuple[float, float]:
        """The scores below and above which others are far outside."""
        width = self.high - self.low
        return (self.low - _FAR * width, self.high + _FAR * width) if width > 0 else (-np.inf, np.inf)

    def is_left(self, outside: int, rows: int) -> bool:
        """Whether so many rows far outside are another scale, not a few odd people."""
        return outside > _MANY * rows

    def mismatch_of_range(self, low: float, high: float) -> str | None:
        """Say what is odd about a batch of which only the range is known; None if nothing is."""
        width = self.high - self.low
        if width <= 0 or high < low:
            return None
        if low < self.far[0] or high > self.far[1]:
            return self._odd("", low, high, far=True)
        return self._odd("", low, high, far=False) if 0 < high - low < _NARROW * width else None

    def judge(self, scores: Floats, other_scale: str | None) -> None:
        """Warn of the scores of a batch if they seem to be on another scale, or refuse them.

        They do if more than 1 % of the rows lie further outside the fitted range than half its width, or if 30 or more
        distinct scores fill less than a twentieth of it.
        """
        width = self.high - self.low
        if len(scores) == 0 or width <= 0:
            return
        low, high, (least, most) = float(scores.min()), float(scores.max()), self.far
        beyond = int(((scores < least) | (scores > most)).sum())
        if self.is_left(beyond, len(scores)):
            told = self._odd(f"{beyond} of {len(scores)} ", low, high, far=True)
        elif high - low < _NARROW * width and len(np.unique(scores)) >= _ENOUGH:
            told = self._odd(f"{len(scores)} ", low, high, far=False)
        else:
            return
        told += "\nHint: bring the scores to the scale of fit (0-1 or 0-100, probabilities or log-odds), or fit anew."
        if other_scale is not None:
            check_choice(other_scale, "other_scale", ("error", "warn"))
        if other_scale == "error" or (other_scale is None and beyond >= _ALL * len(scores)):
            raise ValueError(f"{told} {argument('other_scale', 'warn')} lets them through.")
        warn_user(told, ScaleWarning)

    def _odd(self, many: str, low: float, high: float, *, far: bool) -> str:
        seen = f"the map was fitted on scores from {self.low:g} to {self.high:g}"
        seen += f", and these run from {low:g} to {high:g}"
        if far:
            return f"{many}scores lie far outside the fitted range: {seen} (far: by more than half its width)."
        return f"{many}scores fill less than a twentieth of the fitted range: {seen}; is this another scale?"


# The attributes of what a map file calls otherwise; the others are called as there, with an underscore.
CALLED = {"certificate": "certified_", "parameters": "params_", "dial": "dial_"}
_AS_THEY_ARE = tuple(name for name in ("method", "reference", "fitted_on", "columns", *OPTIONAL) if name != "then")


class StoredMaps:
    """Maps of a file, and what is known of them: what applying them to rows needs, and no more."""

    method_: str
    params_: dict[str, Any]
    dial_: tuple[str, Any]
    groups_: tuple[Hashable, ...]
    maps_: dict[Hashable, ScoreMap]
    reference_: Hashable | None
    left_out_: tuple[Hashable, ...]
    thresholds_: dict[Hashable, float] | None
    fitted_on_: dict[str, Any]
    columns_: dict[str, Any] | None = None
    certified_: dict[str, Any] | None = None
    private_: dict[str, Any] | None = None
    simplified_: dict[str, Any] | None = None
    table_: ScoreTable | None = None
    lower_is_riskier_: bool = False  # maps are then of scores with a minus, which the rows' own scores are given
    high_score_means_: Meaning | None = None
    grouping_: Grouping | None = None  # how values of the group columns became groups: new rows are cut the same way
    _sha256: str | None = None  # of the map file that they were read from, or saved to last

    @classmethod
    def of(cls, record: MapFile, sha256: str | None = None) -> Self:
        """Make the maps of a file, by the names that parameters have now."""
        if not record.method.isidentifier():
            raise ModelFileError(f"the method {shown(record.method)} is not the name of one.\n{_written_by(record)}")
        names, about = _RENAMED.get(record.method, {}), record.plain("columns") or {}
        made, given = cls(), {names.get(name, name): value for name, value in record.given.items()}
        for name, value in given.items():
            _check_parameter(name, value)
        then, grouping = None if record.then is UNSET else map_of(record.then), record.plain("grouping")
        known = {CALLED.get(name, f"{name}_"): record.plain(name) for name in _AS_THEY_ARE}
        known["grouping_"] = None if grouping is None else Grouping.stored(grouping)
        made.__dict__.update(
            known,
            params_=given,
            dial_=record.strength,
            groups_=record.groups,
            maps_=followed({each.group: map_of(each.map) for each in record.maps}, then),
            left_out_=_left_out(record, given, known["grouping_"]),
            thresholds_=record.starts,
            lower_is_riskier_=bool(about.get("lower_is_riskier", False)),
            high_score_means_=about.get("high_score_means"),
            _sha256=sha256,
        )
        return made

    @property
    def sha256_(self) -> str | None:
        """The SHA-256 of the map file."""
        return self._sha256

    @property
    def scale(self) -> ScoreScale:
        """The range of the fitted scores."""
        return ScoreScale(*map(float, self.fitted_on_["score_range"]))


def _left_out(record: MapFile, given: dict[str, Any], grouping: Grouping | None) -> tuple[Hashable, ...]:
    """Name the groups that the parameters leave out; counts of fewer than ten rows are not in the file."""
    few, named = given.get("min_group") or 0, given.get("groups")
    unknown = () if grouping is None else tuple(filter(grouping.means_unknown, record.groups))
    rows = {each.group: each.counts.rows for each in record.fitted_on.groups}
    left_out = (g for g in record.groups if (rows[g] or 0) < few or (named is not None and g not in named))
    return tuple(dict.fromkeys((*left_out, *unknown)))


def stored_maps(path: str | PathLike[str], *, expect_sha256: str | None = None) -> StoredMaps:
    """Read the maps of a file; what else it says of the method that made them, `fairpot.load` looks at."""
    record, digest = read(path, expect_sha256=expect_sha256)
    with naming(path):
        return StoredMaps.of(record, digest)


def check_method(record: MapFile, given: dict[str, Any]) -> None:
    """Insist on a strength and parameters that this version knows; a method not installed may have made the maps."""
    method, dial = method_of(record.method), record.dial.name
    if method is None:
        return
    known = method().get_params(deep=False)
    unknown = sorted(set(given) - set(known) - _FORMER)
    if unknown:
        raise ModelFileError(f"{record.method} has no parameters {shown(unknown)}.\n{_written_by(record)}")
    for name, value in given.items():
        if type(known.get(name)) is bool and type(value) is not bool:
            refuse(f"parameters.{name}", "true or false", value)
        for each in value.values() if isinstance(value, dict) else [value]:
            if name == method.dial.name and each is not None and not _is_number(each):
                refuse(f"parameters.{name}", "a number or null", each)
    if dial != method.dial.name:
        told = f"{record.method} has no repair strength {shown(dial)}, but {method.dial.name!r}."
        raise ModelFileError(f"{told}\n{_written_by(record)}")


def _written_by(record: MapFile) -> str:
    return f"Hint: it was written by fairpot {shown(record.fitted_on.library_version)}, and this is {__version__}."


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and type(value) is not bool


def _check_parameter(name: str, value: Any) -> None:
    """Refuse what no fit was given: true or a text for a number, a word that is none, a share beyond 1."""
    for each in value.values() if isinstance(value, dict) else [value]:
        if name in _NUMBERS and each is not None and not _is_number(each):
            refuse(f"parameters.{name}", "a number or null", each)
        if name in _SHARES and each is not None and not 0 <= each <= 1:
            refuse(f"parameters.{name}", "from 0 to 1, or null", each)
        if name in TOPS and each is not None and not (each >= 1 if isinstance(each, int) else 0 < each <= 1):
            refuse(f"parameters.{name}", "a share above 0 and up to 1, a number of rows, or null", each)
        if name in _WORDS and each not in _WORDS[name]:
            refuse(f"parameters.{name}", f"one of {', '.join(map(repr, _WORDS[name]))}", each)
        if name == "groups" and each is not None and not isinstance(each, list):
            refuse(f"parameters.{name}", "a list of groups or null", each)


def maps_of(model: Any) -> Any:
    """Give the fitted maps of a repair method, or of what is such maps; None of anything else."""
    return model if isinstance(model, StoredMaps) else import_module("fairpot.repair.fair_maps").fair_maps(model)


def small_groups(record: MapFile, table: ScoreTable | None) -> list[Hashable]:
    """Name the groups of which fewer than ten rows stand behind the knots and values of the maps."""
    moving = {each.group: each.map for each in record.maps if isinstance(each.map, Lines) and each.map.knots}
    start = {g: -np.inf if form.start is None else form.start for g, form in moving.items()}
    behind = {g: max(form.knots[0], start[g]) for g, form in moving.items()}  # from where on it moves rows
    if moving and record.reference is not None:
        behind[record.reference] = (record.starts or {}).get(record.reference, -np.inf)
    hidden = [each.group for each in record.fitted_on.groups if each.counts.rows is None]
    here = {} if table is None else {g: table[g] for g in table.groups if g in behind}
    few = [g for g, counts in here.items() if sum(rows_behind(counts.above(behind[g]))) < FEWER_THAN]
    return [g for g in record.groups if g in behind and (g in hidden or g in few)]


def told(groups: list[Hashable]) -> str:
    """Say what the file shows of whom."""
    few = f"fewer than {FEWER_THAN} rows (or clusters) of " + ", ".join(map(repr, groups[:5]))
    return f"{few}{', ...' if len(groups) > 5 else ''} make up the maps: who reads the file sees their scores"


def group_words(maps: Any) -> dict[Hashable, tuple[str, str, str]]:
    """Return for each group what is said of those who are moved, of those who stay, and of all after that."""
    reference, left_out, method = maps.reference_, maps.left_out_, method_of(maps.method_)
    moved = "moved by the map of the group" if method is None else method._moves_by.format(reference=repr(reference))
    stays = dict.fromkeys(maps.groups_, "nobody of the group is moved")
    stays |= dict.fromkeys(left_out, "left out of the comparison: scores stay")
    stays |= {group: "reference group: scores stay" for group in maps.groups_ if group == reference}
    after = "" if parted(maps.maps_)[1] is None else "; then made a probability by the map common to all groups"
    return {group: (moved, stays[group], after) for group in maps.groups_}
