"""What the types of a map file cannot say; what a fit can give, and what it was fitted on."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec
import numpy as np
from msgspec import UNSET, UnsetType

from fairpot._validation.groups import sort_key
from fairpot._version import __version__
from fairpot.counts import GroupCounts
from fairpot.exceptions import ModelFileError
from fairpot.modelfile.forms import (
    CHANGED,
    MOST_KNOTS,
    Counts,
    CountsOfGroup,
    FittedOn,
    GroupingSaid,
    Lines,
    MapFile,
    NumberOfGroup,
    Object,
    Strengths,
    Then,
    Values,
    check_ascending,
    refuse,
    shown,
    typed,
)
from fairpot.rows.decoding import readings
from fairpot.table import ScoreTable

# What depends on fewer rows than this is not stored.
FEWER_THAN = 10


def checked(content: Any) -> MapFile:
    """Make the record of a parsed file; but for the checksum, anything that no fit is saved as is refused."""
    record = typed(content)
    groups = _once(record.groups, "maps")
    check_told_apart(groups)
    _check_origin(record.fitted_on, groups)
    if record.reference is not None and _kind(record.reference) not in map(_kind, groups):
        refuse("reference", "one of the groups, or null", record.reference)
    if record.thresholds is not None:
        _same_groups(record.thresholds, groups, "thresholds")
    for name, value in (*record.parameters.items(), ("dial.value", record.dial.value)):
        if isinstance(value, Strengths | Values):
            where = name if value is record.dial.value else f"parameters[{name!r:.80}]"
            _once([each.group for each in value.by_group], where)
    for i, each in enumerate(record.maps):
        each.map.check(f"maps[{i}].map")
    _check_size(record)
    _check_bands(record.grouping)
    low, high = record.fitted_on.score_range
    for each in record.maps:
        fault = each.map.fault(low, high, on_grid=record.on_grid)
        if fault is not None:
            hint = "no fit gives such a map; the file was made or changed by other means. Fit and save the model again."
            raise ModelFileError(f"the map of group {shown(each.group)} {fault}.\nHint: {hint}")
    if record.then is not UNSET:
        record.then.check("then")
        _check_then(record.then, private=record.private is not UNSET)
    return record


def parameter(value: Any, where: str) -> Any:
    """Turn a parameter into JSON; a dict of groups becomes a list, so that groups keep their types."""
    value = plain_group(value)
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, Mapping):
        plain = {plain_group(group): parameter(each, where) for group, each in value.items()}
        return {"by_group": listed({group: plain[group] for group in sorted(plain, key=sort_key)})}
    column = np.asarray(value)
    if column.ndim != 1 or isinstance(value, bytes):
        raise ModelFileError(
            f"{where} cannot be put into a map file: {shown(value)} is {type(value).__name__}.\n"
            "Hint: use text, numbers, booleans, lists of them, or a dict of groups."
        )
    return [plain_group(each) for each in column.tolist()]


def listed(values: Mapping[Hashable, Any], key: str = "value") -> list[Object]:
    """List values of groups, which need not be texts, as JSON's objects would have them."""
    return [{"group": plain_group(group), key: value} for group, value in values.items()]


def _once(groups: Sequence[Hashable], where: str) -> Sequence[Hashable]:
    """Insist that no group comes twice."""
    if len(set(groups)) < len(groups):
        twice = Counter(groups).most_common(1)[0][0]
        raise ModelFileError(f"{where} has the group {shown(twice)} twice.\n{CHANGED}")
    return groups


def _same_groups(entries: Sequence[NumberOfGroup | CountsOfGroup], groups: Sequence[Hashable], where: str) -> None:
    """Insist on one entry for each group, in the order of the maps."""
    names = _once([each.group for each in entries], where)
    if [*map(_kind, names)] != [*map(_kind, groups)]:
        refuse(where, f"one entry for each group {shown(list(groups))}", names)


def _kind(group: Hashable) -> tuple[type, Hashable]:
    """Tell 1, 1.0 and true apart."""
    return type(group), group


def check_told_apart(groups: Sequence[Hashable]) -> None:
    """Refuse a text and another group that reads the same in a file of text, where it would get the other's map."""
    others = {group for group in groups if not isinstance(group, str)}
    for text in groups:
        alike = others.intersection(readings(text, "text")) if isinstance(text, str) else ()
        for other in alike:
            raise ModelFileError(
                f"maps has the groups {shown(text)} and {shown(other)}, which a CSV file cannot tell apart.\n"
                "Hint: fit and save the model again, with group names of one type."
            )


def _check_size(record: MapFile) -> None:
    knots = sum(len(each.map.knots) for each in record.maps if isinstance(each.map, Lines))
    if knots > MOST_KNOTS:
        hint = "Hint: fit and save again; maps of so many are simplified."
        refuse("maps", f"of at most {MOST_KNOTS} breakpoints together", knots, hint)


def _check_bands(grouping: GroupingSaid | UnsetType) -> None:
    for i, each in enumerate([] if grouping is UNSET else grouping.bands):
        check_ascending(each.edges, f"grouping.bands[{i}].edges")
        if len(set(each.names)) != len(each.edges) + 1:
            refuse(f"grouping.bands[{i}].names", "one more than there are edges, no two alike", each.names)


def _check_origin(origin: FittedOn, groups: Sequence[Hashable]) -> None:
    """Check that the parts of ``fitted_on`` go together: null is what rests on few people, and only that."""
    _same_groups(origin.groups, groups, "fitted_on.groups")
    for i, each in enumerate(origin.groups):
        _check_counts(each.counts, f"fitted_on.groups[{i}].counts", origin.labelled)
    _check_range(origin.score_range, "fitted_on.score_range")
    if not origin.library_version.isprintable():
        refuse("fitted_on.library_version", "printable", origin.library_version)
    if origin.time is not None and not _is_time(origin.time):
        refuse("fitted_on.time", "a time such as 2025-01-31T12:00:00+00:00 or null", origin.time)


def _check_counts(counts: Counts, where: str, labelled: bool) -> None:
    if counts.rows is None:
        known = msgspec.to_builtins(counts)
        if any(value is not None for value in known.values()):
            refuse(where, "all null where the rows are", known)
        return
    for name in ("scores", "score_range"):
        if getattr(counts, name) is None:
            refuse(f"{where}.{name}", "there where the rows are", None)
    assert counts.score_range is not None
    _check_range(counts.score_range, f"{where}.score_range")
    for name in ("positives", "negatives"):
        if getattr(counts, name) is not None and not labelled:
            refuse(f"{where}.{name}", "null, as there were no labels", getattr(counts, name))


def _is_time(text: str) -> bool:
    """Whether a text that looks like a time is one: there is no 30th of February."""
    try:
        return datetime.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _check_range(limits: list[float], where: str) -> None:
    low, high = limits
    if low > high:
        refuse(where, "the lowest and the highest score", limits)


def _check_then(then: Then, *, private: bool) -> None:
    """Refuse a map after all others that does not ascend, or leads to what are no probabilities."""
    values = np.array(then.values)
    rises = np.diff(values) >= 0 if private else np.diff(values) > 0
    if len(values) < 2 or not rises.all():
        refuse("then", "ascending, from breakpoint to breakpoint", then.values)
    edges = (then.below, then.above, then.floor, then.start)
    if edges != ("hold", "hold", None, None):
        refuse("then", "held at both edges, without floor and start", edges)
    inside = (values[0] >= 0 and values[-1] <= 1) or (values[0] >= -1 and values[-1] <= 0)
    if not inside:
        refuse("then", "a map to probabilities", [float(values[0]), float(values[-1])])


def describe_table(table: ScoreTable) -> FittedOn:
    """Describe the rows a model was fitted on.

    What depends on fewer than ten rows is left out, and what it could be worked out from. A group of fewer has no
    counts and no score range; then the rows in all are left out too, as they are the sum of the groups', and the
    score range in all is rounded outwards. Where a group has fewer positives or fewer negatives, neither is put down.
    """
    counts = [_describe(c, table.labelled) for c in table.counts]
    rows = [each.rows for each in counts if each.rows is not None]
    hidden = len(rows) < len(counts)
    ends = min(float(c.score[0]) for c in table.counts), max(float(c.score[-1]) for c in table.counts)
    return FittedOn(
        fewer_than=FEWER_THAN,
        fingerprint=None,
        groups=[CountsOfGroup(group=plain_group(g), counts=each) for g, each in zip(table.groups, counts)],
        labelled=table.labelled,
        library_version=__version__,
        rows=None if hidden else sum(rows),
        score_range=rounded_outwards(*ends) if hidden else list(ends),
        time=None,
    )


def describes(origin: Object, table: ScoreTable) -> bool:
    """Say whether a model's description of its rows is that of a table: as far as it goes, the same rows."""
    found = msgspec.to_builtins(describe_table(table))
    return all(origin.get(name) == found[name] for name in ("groups", "labelled", "rows", "score_range"))


def rounded(origin: FittedOn, coarse: ScoreTable | None) -> FittedOn:
    """Round counts to tens, and score ranges outwards from the means of the runs at either end."""
    groups, ranges = [], []
    for group, counts in ((each.group, each.counts) for each in origin.groups):
        around = counts.score_range
        if around is not None:
            around = rounded_outwards(*(around if coarse is None else coarse[group].score[[0, -1]].tolist()))
            ranges.append(around)
        tens = {name: _tens(getattr(counts, name)) for name in ("rows", "positives", "negatives", "scores")}
        groups.append(CountsOfGroup(group=group, counts=Counts(**tens, score_range=around)))
    whole = [min(low for low, _ in ranges), max(high for _, high in ranges)] if ranges else origin.score_range
    return msgspec.structs.replace(origin, groups=groups, rows=_tens(origin.rows), score_range=whole)


def _tens(value: float | None) -> int | None:
    return None if value is None else int(round(value / 10) * 10)


def rounded_outwards(low: float, high: float) -> list[float]:
    """Round a range outwards to the first digit of its width."""
    size = high - low or abs(high) or 1.0
    if not math.isfinite(size):
        return [low, high]
    step = 10.0 ** math.floor(math.log10(size))
    return [float(f"{edge * step:.12g}") for edge in (math.floor(low / step), math.ceil(high / step))]


def _describe(counts: GroupCounts, labelled: bool) -> Counts:
    behind = rows_behind(counts)
    known = Counts(rows=None, positives=None, negatives=None, scores=None, score_range=None)
    if sum(behind) < FEWER_THAN:
        return known
    positives, negatives = (side.sum().item() for side in counts.counted)
    known.rows, known.scores = positives + negatives, len(counts.score)
    known.score_range = [float(counts.score[0]), float(counts.score[-1])]
    if labelled and min(behind) >= FEWER_THAN:
        known.positives, known.negatives = positives, negatives
    return known


def rows_behind(counts: GroupCounts) -> tuple[int, int]:
    """Count the rows, with and without the outcome, behind counts; where rows belong together, their clusters."""
    if counts.members is not None:
        units = [np.unique(rows.unit) for rows in counts.members]
        return len(units[0]), len(np.union1d(*units)) - len(units[0])
    positives, negatives = counts.rows_at
    return int(positives.sum()), int(negatives.sum())


def plain_group(group: Any) -> Any:
    """Turn a NumPy scalar into the Python value it stands for."""
    return group.item() if isinstance(group, np.generic) else group
