"""The door for columns: rows in memory, checked and counted into a table, whatever is known of them."""

from __future__ import annotations

import decimal
import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from importlib import import_module
from os import PathLike
from typing import Any, NamedTuple, Unpack, cast

import numpy as np
from numpy.typing import NDArray

from fairpot._arguments import argument
from fairpot._defaults import MEANINGS, MOST_COMPARED, MOST_SELECTED, WEIGHTS, Meaning, Weights
from fairpot._said import COLUMNS, ENDS, NAMES, Said, first_said, is_said, without
from fairpot._validation import (
    Rows,
    check_alignment,
    check_choice,
    check_clusters,
    check_rows,
    check_scores,
    without_missing,
    wording,
)
from fairpot._validation.columns import frame_column, has_names, kept_rows, lacking_only
from fairpot._validation.followed import NOT_AFTER_TIME, AfterTime, check_after_time, check_followed, check_known
from fairpot._validation.grouping import Grouping
from fairpot._validation.groups import group_columns
from fairpot._warn import warn_user
from fairpot.counts import Indices, Units
from fairpot.follow_up import FollowedRows, outcomes_at
from fairpot.table import ScoreTable


def as_table(
    y_true: Any,
    y_score: Any = None,
    *,
    grouping: Grouping | None = None,
    grouped: bool = True,
    labelled: bool = True,
    names: tuple[str, ...] = ("y_true", "y_score"),
    order: str | None = None,
    several: bool = True,
    **rows: Unpack[Said],
) -> ScoreTable:
    """Count rows: columns, or a frame or files whose columns are named; a table stays as it is.

    ``grouping`` is what a fit said of values of group columns. Without ``grouped`` all rows are one group, "all",
    without ``labelled`` outcomes may be missing, and without ``several`` a single group will do. ``names`` are what
    messages call outcomes, scores and, where that is not the usual, groups, weights, clusters, times and events;
    ``order`` is what they say where outcomes and scores look swapped.
    """
    for name, table in zip(names, (y_true, y_score)):
        if isinstance(table, ScoreTable):
            columns = dict(zip(names, (y_true, y_score)))
            refuse_beside_table(table, {**columns, name: None, **without(rows, BESIDE_TABLES)})
            return meant(table, rows)
    known = grouping_of(rows)
    if is_by_name(y_true, y_score, rows):
        counted = _counted_by_name(y_score if y_true is None else y_true, rows, known or grouping)
        if labelled:
            counted.require("this", hint="name the column with the outcome, label=...")
        return meant(counted, rows)
    check_unnamed(rows)
    return meant(
        _count_columns(y_true, y_score, rows, known or grouping, Door(grouped, labelled, names, order, several)), rows
    )


def grouping_of(rows: Said) -> Grouping | None:
    """Check what is said of the values of group columns; None where nothing is."""
    return Grouping.of(rows.get("bands"), rows.get("unknown"), rows.get("missing_group", "error"))


# What the columns of a frame or of files are called, unless any is named.
USUAL: Said = {"score": "score", "label": "label", "group": "group"}
# What may be said of a table that does not say it itself.
BESIDE_TABLES = ("high_score_means", "groups", "min_group")


class Door(NamedTuple):
    """How columns are taken: whether there must be groups and outcomes, and what messages call them."""

    grouped: bool = True
    labelled: bool = True
    names: tuple[str, ...] = ("y_true", "y_score")
    order: str | None = None
    several: bool = True


def is_by_name(y_true: Any, y_score: Any, rows: Said) -> bool:
    """Whether rows are a frame, or files, whose columns are named."""
    if y_true is not None and y_score is not None:
        return False
    given = y_score if y_true is None else y_true
    if first_said(rows, NAMES) is not None:
        return given is not None
    return isinstance(given, str | PathLike) or hasattr(given, "reader") or has_names(given)


def columns_of(frame: Any, scores: Mapping[str, Any] | None, rows: Said) -> tuple[Any, dict[str, Any], Said]:
    """Take outcomes, several scores, and what is said of rows, from a frame by the names of its columns.

    Without ``scores`` it is the one that is named; without any name, columns are called score, label and group.
    """
    if first_said(rows, NAMES) is None:
        rows = {**rows, **USUAL}
    given = first_said(rows, COLUMNS)
    if given is not None:
        raise TypeError(f"{given} is a column of its own, but the rows are a frame.\nHint: name the columns.")
    by_part = {**COLUMNS, **dict(zip(ENDS, ENDS))}
    columns = {
        part: frame_column(frame, rows[name])  # type: ignore[literal-required]
        for part, name in by_part.items()
        if rows.get(name) is not None
    }
    label = rows.get("label")
    outcomes = None if label is None else frame_column(frame, label)
    taken = {name: frame_column(frame, column) for name, column in (scores or {"score": rows.get("score")}).items()}
    return outcomes, taken, cast(Said, {**without(rows, NAMES), **columns})


def _counted_by_name(source: Any, rows: Said, grouping: Grouping | None) -> ScoreTable:
    """Lead to what reads frames and files, which are counted as columns are, or by queries."""
    counted: ScoreTable | None = import_module("fairpot.rows.door").counted_rows(source, rows, grouping)
    if counted is None:
        check_unnamed(rows)
        raise TypeError(f"rows are columns, a table, a frame or files, got {wording.got(source)}.")
    return counted


def check_unnamed(rows: Said) -> None:
    """Refuse names of columns beside columns."""
    if (first := first_said(rows, NAMES)) is not None:
        raise TypeError(
            f"{first} names a column of a frame or file, but the rows are columns themselves.\n"
            "Hint: score_table(y_true, y_score, sensitive_features=...), or score_table(frame, score=..., label=...)."
        )


def meant(table: ScoreTable, rows: Said) -> ScoreTable:
    """Store in a table what changes no count."""
    meant = table.meaning(rows.get("high_score_means"))
    return meant.comparing(rows.get("groups"), rows.get("min_group", 0))


def _count_columns(y_true: Any, y_score: Any, rows: Said, grouping: Grouping | None, door: Door) -> ScoreTable:
    """Check and count columns."""
    usual = ("sensitive_features", "sample_weight", "clusters", "time", "event")
    names = (*door.names, *usual[len(door.names) - 2 :])
    columns: dict[str, Any] = dict(zip(names, (y_true, y_score, *map(rows.get, usual))))
    after = AfterTime(*map(rows.get, AfterTime._fields))
    pos_label, weights = rows.get("pos_label"), rows.get("weights")
    is_followed = check_after_time(after, **{names[0]: y_true}, pos_label=pos_label)
    if door.labelled and y_true is None and not is_followed:
        raise TypeError(f"{names[0]} is missing.\nHint: pass the outcome of each row, 0 or 1.")
    check_weights_word(weights)
    check_meaning(rows.get("high_score_means"))
    if grouping is not None:
        grouping.check_weights(weights)
    outcomeless: dict[str, Any] | None = None
    if rows.get("drop_missing"):
        check_alignment(**columns)
        if not is_followed and door.labelled and door.grouped:
            outcomeless = lacking_only(names[0], columns)
        columns, dropped = without_missing(columns)
    y_true, y_score, sensitive_features, sample_weight, clusters, *ends = columns.values()
    checked = check_rows(
        y_score,
        y_true,
        sensitive_features,
        sample_weight,
        grouped=door.grouped,
        pos_label=pos_label,
        names=names[:4],
        order=door.order,
        beside={name: columns[name] for name in names[4:]},
        grouping=grouping,
        several=door.several,
    )
    if is_followed:
        after = check_followed(after._replace(time=ends[0], event=ends[1]), len(checked.scores), names[5:])
    if rows.get("drop_missing") and dropped["rows"]:
        warn_user(wording.dropped_rows(dropped, len(checked.scores)), UserWarning)
    about: dict[str, Any] = {"weights": weights, "lower_is_riskier": bool(rows.get("lower_is_riskier"))}
    table = count(checked, clusters=clusters, name=names[4], after=after, **about)
    table = replace(table, group_columns=group_columns(sensitive_features) if door.grouped else ())
    if outcomeless is None:
        return table
    _, score, groups, weight, *_ = outcomeless.values()
    return beside_unlabelled(table, score, groups, weight, weights)


def beside_unlabelled(
    table: ScoreTable, score: Any, sensitive_features: Any, sample_weight: Any, weights: Weights | None
) -> ScoreTable:
    """Count the scores of rows without an outcome beside a table of the others; what weighs nothing is no row."""
    columns = [score, sensitive_features, sample_weight]
    if sample_weight is not None:
        counts = check_scores(sample_weight, "sample_weight", "weight") != 0
        if not counts.any():
            return table
        columns = [kept_rows(each, counts) for each in columns]
    said: Said = {"sensitive_features": columns[1], "sample_weight": columns[2], "weights": weights}
    said["lower_is_riskier"] = table.lower_is_riskier
    found = as_table(None, columns[0], grouping=table.grouping, labelled=False, several=False, **said)
    return replace(table, unlabelled=found)


def compared(table: ScoreTable) -> ScoreTable:
    """Keep the groups that are compared, where something was said of them."""
    said = table.only_groups is not None or table.min_group or table.unknown
    return kept_groups(table) if said else table


def kept_groups(table: ScoreTable) -> ScoreTable:
    """Keep the groups that are named, if any are, have so many rows as were asked for, and do not mean unknown."""
    least = table.min_group
    named = [g for g in table.groups if table.only_groups is None or g in table.only_groups]
    known = [g for g in named if g not in table.unknown]
    if table.grouping is not None and not table.grouping.looked_for:
        if unmet := table.grouping.unmet(table.groups):
            warn_user(f"{argument('unknown', ', '.join(unmet))}: no row has such a group.", UserWarning)
        table = replace(table, grouping=replace(table.grouping, looked_for=True))
    if len(known) < min(len(named), 2):
        raise ValueError(
            f"{argument('unknown', ...)} leaves {len(known)} of {len(named)} groups: there is nothing to compare.\n"
            "Hint: name as unknown only the values that say nothing of the group."
        )
    kept = [g for g, c in zip(table.groups, table.counts) if g in known and c.size >= least]
    most = MOST_COMPARED if table.labelled else MOST_SELECTED
    if len(kept) > most:
        raise ValueError(wording.too_many_groups(kept, table.group_columns, most))
    if len(kept) < 2:
        sizes = ", ".join(f"{g!r} ({c.size:g})" for g, c in zip(table.groups, table.counts) if g in named)
        raise ValueError(
            f"fewer than two groups have enough rows ({argument('min_group', least)}): {sizes}.\n"
            "Hint: ask for fewer rows, or join small groups."
        )
    if table.only_groups is not None or least:
        table = replace(table, only_groups=None, min_group=0)
    return table.only(kept)


def check_weights_word(weights: str | None) -> Weights:
    """Check what weights are said to mean; unless something is said, how much a row counts."""
    if weights is not None and not isinstance(weights, str):
        raise TypeError(
            f"weights must be one of {', '.join(map(repr, WEIGHTS))}, got {wording.got(weights)}.\n"
            "Hint: weights says what the weights mean; the weight of each row goes to sample_weight=..."
        )
    return "importance" if weights is None else cast(Weights, check_choice(weights, "weights", WEIGHTS))


def check_meaning(high_score_means: str | None) -> Meaning | None:
    """Check what a high score is said to do to a person; None where nothing is said."""
    if high_score_means is None:
        return None
    return cast(Meaning, check_choice(high_score_means, "high_score_means", MEANINGS))


def count(
    rows: Rows,
    *,
    clusters: Any = None,
    weights: str | None = None,
    lower_is_riskier: bool = False,
    name: str = "clusters",
    after: AfterTime = NOT_AFTER_TIME,
) -> ScoreTable:
    """Count checked rows, with what their weights mean, which of them belong together and where high risk is."""
    if lower_is_riskier:
        rows = rows._replace(scores=0.0 - rows.scores)
    unit, units = (None, None) if clusters is None else units_of(clusters, len(rows.scores), name)
    known: dict[str, Any] = {"units": units, "lower_is_riskier": lower_is_riskier}
    if after.time is not None:
        return count_at(rows, after, unit, weights, **known)
    square = ones = None
    if rows.weight is not None:
        ones = np.ones(len(rows.weight), dtype=np.int64)
        square = rows.weight.astype(np.float64) ** 2 if check_weights_word(weights) == "importance" else None
    return ScoreTable.from_rows(*rows, square=square, rows=ones, unit=unit, **known)


def followed_rows(rows: Rows, after: AfterTime, unit: Indices | None, weights: str | None) -> FollowedRows:
    """Put checked rows and their follow-up together, in an order of their own; a weight may be so many rows."""
    code = np.zeros(len(rows.scores), dtype=np.intp) if rows.codes is None else rows.codes.astype(np.intp)
    weight = np.ones(len(rows.scores)) if rows.weight is None else rows.weight.astype(np.float64)
    square = weight**2 if check_weights_word(weights) == "importance" else weight
    columns: list[Any] = [after.time, after.event, rows.scores, code, weight, square, unit]
    order = np.lexsort([column for column in columns if column is not None])  # sums are the same to the last bit
    return FollowedRows(*[cast(Any, column if column is None else column[order]) for column in columns])


def count_at(
    rows: Rows, after: AfterTime, unit: Indices | None = None, weights: str | None = None, **known: Any
) -> ScoreTable:
    """Count outcomes at a horizon: rows stand for those like them who left before."""
    ended = followed_rows(rows, after, unit, weights)
    labels, worth, follow_up = outcomes_at(ended, after.horizon, rows.groups, after.leaving, after.competing)
    weight, square = ended.weight * worth, ended.square * worth**2
    if not ((weight == 1).all() and (square == 1).all()):
        known |= {"weight": weight, "square": square, "rows": np.rint(ended.times).astype(np.int64)}
    columns = (ended.score, labels, ended.code, rows.groups)
    table = ScoreTable.from_rows(*columns, unit=ended.unit, grouping=rows.grouping, **known)
    given = None if rows.weight is None else check_weights_word(weights)
    follow_up, weightless = replace(follow_up, weights=given), int((ended.weight == 0).sum())
    check_known(rows.groups, table.independent, after.horizon)
    stayed = [group for group, counts in zip(table.groups, table.counts) if len(counts.score)]
    return replace(table.only(stayed), follow_up=follow_up, weightless=weightless)


def refuse_beside_table(table: ScoreTable, given: Mapping[str, Any]) -> ScoreTable:
    """Return a table, and refuse columns, or what is said of them, beside it."""
    extra = [name for name, value in given.items() if is_said(name, value)]
    if extra:
        raise TypeError(
            f"a ScoreTable holds scores, outcomes, groups, weights and clusters: {extra[0]} cannot be given besides.\n"
            f"Hint: count the rows with it, score_table(..., {extra[0]}=...)."
        )
    return table


def units_of(clusters: Any, rows: int, name: str) -> tuple[Indices, Units]:
    """Number the clusters of rows."""
    codes, names = check_clusters(clusters, rows, name)
    return number_units(codes, hash_names(names))


def number_units(codes: NDArray[Any], hashes: NDArray[np.uint64]) -> tuple[Indices, Units]:
    """Number units in the order of their hashes, given the hash of each code."""
    distinct, place = np.unique(hashes, return_inverse=True)
    return place.astype(np.intp)[codes], Units(len(distinct), distinct)


def hash_names(names: Iterable[Any]) -> NDArray[np.uint64]:
    """Hash names of clusters by their text, the same wherever they come from: 12, 12.0 and "12" are one patient."""
    listed = list(names)
    whole = set(map(type, listed)) <= {int}
    texts = map(str, listed) if whole else [n if type(n) is str and _is_plain(n) else plain_text(n) for n in listed]
    digest = hashlib.blake2b
    hashed = [digest(text.encode("utf-8", "surrogatepass"), digest_size=8).digest() for text in texts]
    return np.frombuffer(b"".join(hashed), dtype="<u8").astype(np.uint64)


def _is_plain(text: str) -> bool:
    """Whether a text is a whole number as it is usually written, as most names are."""
    return text.isdigit() and text.isascii() and text[0] != "0"


_NUMBER = re.compile(r"\s*([+-]?)([0-9]+)(?:\.([0-9]*))?\s*", re.ASCII)
_FLAGS = {"true": "true", "True": "true", "TRUE": "true", "false": "false", "False": "false", "FALSE": "false"}


def plain_text(name: Any) -> str:
    """Write a name so that a number is the same text whether a file ("012", "12.0") or memory (12) holds it."""
    if isinstance(name, str):
        text = name
    elif isinstance(name, bool | np.bool_):
        return "true" if name else "false"
    elif isinstance(name, float | np.floating):
        value = float(name)
        text = str(int(value)) if value.is_integer() else format(decimal.Decimal(repr(value)), "f")
    else:
        text = format(name, "f") if isinstance(name, decimal.Decimal) else str(name)
    if _is_plain(text):
        return text
    number = _NUMBER.fullmatch(text)
    if number is None:
        return _FLAGS.get(text, text)
    sign, whole, rest = number[1], number[2].lstrip("0") or "0", (number[3] or "").rstrip("0")
    value_text = f"{whole}.{rest}" if rest else whole
    return f"-{value_text}" if sign == "-" and value_text != "0" else value_text
