"""What is said of a bad value: one wording for rows in memory and for rows that an engine counted.

Every function takes what the column is called (``"scores"``, ``"column 'risk'"``) and how many rows are concerned.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from numbers import Number
from typing import Any

from fairpot._arguments import argument
from fairpot._defaults import MOST_COMPARED, MOST_GROUPS
from fairpot.exceptions import MissingGroupError

LARGEST = 1e300  # larger magnitudes overflow when scores are subtracted or averaged
_MOST_LISTED = 5  # with more values than this, a column is no label or group and what it holds is nobody's business
_LONGEST = 40  # characters of a value
_MOST_COLUMNS = 20  # that are named
_SAID: list[bool] = []  # of the whole process: rows are read in threads of other libraries too
_NAME = re.compile(r"[^\W\d][\w .]{,39}")  # what the head of a column looks like
_QUOTED = re.compile(r"""'[^']*'|"[^"]*\"""")


@contextmanager
def showing_values(shown: bool = True) -> Iterator[None]:
    """Let errors quote values and name columns (``--debug``), or do neither; outside, columns are named."""
    _SAID.append(shown)
    try:
        yield
    finally:
        _SAID.pop()


def values_are_shown() -> bool:
    return bool(_SAID) and _SAID[-1]


def names_are_shown() -> bool:
    return not _SAID or _SAID[-1]


def got(value: Any) -> str:
    """Show an argument that is not what it should be; a column in its place is described, not quoted."""
    column = hasattr(value, "__array__") or isinstance(value, list | tuple | dict)
    if isinstance(value, str | Number) or not column or not getattr(value, "shape", (1,)):
        return repr(value)
    kind = "an array" if type(value).__name__ == "ndarray" else f"a {type(value).__name__}"
    return f"{kind} of {len(value)} values"


def such_as(name: Any) -> str:
    return f", such as {quoted(name)}" if names_are_shown() else ""


def without_quotes(text: str) -> str:
    """Return another library's message without what it quotes, unless values may be shown."""
    return text if values_are_shown() else _QUOTED.sub("'...'", text)


def all_columns(columns: Sequence[str], known: bool = True) -> str:
    """List the columns of a file in brackets; a first row that may be somebody's (figures, no names) is counted."""
    likely = known or (len(columns) > 2 and all(map(_NAME.fullmatch, columns)))
    if not names_are_shown() and (not likely or any(map(_is_figure, columns))):
        return f"({counted(len(columns), 'column')}; --debug names them)"
    more = f" and {len(columns) - _MOST_COLUMNS} more" if len(columns) > _MOST_COLUMNS else ""
    return f"(columns: {', '.join(map(quoted, columns[:_MOST_COLUMNS]))}{more})"


def _is_figure(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True


def counted(number: float, noun: str, form: str = "") -> str:
    what, tie, more = noun.partition(" with")
    return f"{number:{form}} {what}{'' if number == 1 else 's'}{tie}{more}"


def named_top(top: float, top_of: str | None = None) -> str:
    """Name a top as it was asked for.

    >>> named_top(200), named_top(0.1)
    ('the 200 highest', 'the top 10%')
    """
    named = f"the {top:,} highest" if isinstance(top, int) else f"the top {100 * top:.4g}%"
    return f"{named} of each group" if top_of == "group" else named


def among(top: float, top_of: str | None = None) -> str:
    """Say of whom numbers of a top are.

    >>> among(200), among(0.1)
    ('among the 200 highest', 'in the top 10%')
    """
    return f"{'among' if isinstance(top, int) else 'in'} {named_top(top, top_of)}"


def in_top(top: float | None) -> str:
    return "" if top is None else f" {among(top)}"


# What every number depends on, in the words of messages: with the outcome first.
BOTH_OUTCOMES = ("rows with the outcome", "rows without the outcome")


def of_clusters(reason: str | None) -> bool:
    """Whether it is clusters that are too few, where a reason says that something is."""
    return re.search(r"\d clusters? with", reason or "") is not None


def empty(name: str) -> str:
    return f"{name} is empty: there are no rows to work on."


def _drop_missing() -> str:
    option = argument("drop_missing", True)
    return f"leave those rows out with {option}" if option.startswith("--") else "drop those rows"


def missing_numbers(name: str, rows: int, noun: str = "score") -> str:
    said = f"{name} has {counted(rows, 'missing (NaN) row')}; every row needs a {noun}."
    return f"{said}\nHint: {_drop_missing()} or fill them first."


def beyond_doubles(name: str) -> str:
    return f"{name} holds integers beyond 2**53, which doubles cannot tell apart.\nHint: divide or rank them first."


def no_numbers(name: str, rows: int, example: Any = None, first: int | None = None, *, in_text: bool = False) -> str:
    """Say that a column holds what is no number; ``in_text``: it was read from text, whose decimal mark can be told."""
    such = f", such as {quoted(example)}" if example is not None and values_are_shown() else ""
    where = "" if first is None else f" (the first is row {first})"
    return (
        f"{name} must be numbers, got {counted(rows, 'row')} that {'is' if rows == 1 else 'are'} not{such}{where}.\n"
        "Hint: convert the column to numbers first; fairpot does not guess what a text means."
        + (f" If a comma is the file's decimal mark, say so ({argument('decimal', ',')})." if in_text else "")
    )


def wrong_kind(name: str, what: str, hint: str) -> str:
    return f"{name} must be numbers, got {what}.\nHint: {hint}."


def missing_groups(name: str, rows: int, noun: str = "group") -> str:
    own = f"give them each a {noun} of its own"
    if noun == "group":
        own = f"{argument('missing_group', 'own')} makes them a group where rows are counted"
    return f"{name} has {counted(rows, 'row')} without a {noun}.\nHint: {_drop_missing()}, or {own}."


def too_many_by_row(limit: int, memory: str | None = None, *, clusters: bool = True) -> str:
    """Say that there are more rows than can be counted one by one; ``memory`` would hold them, if that is missing."""
    what = "rows that belong together are counted one by one"
    what = what if clusters else "rows with outcomes after a time are counted one by one"
    way = "raise max_distinct in Python (100 bytes a row)" if memory is None else argument("memory_limit", memory)
    return (
        f"there are more than {limit:,} rows, and {what}: their scores cannot be put into bins.\n"
        f"Hint: count a part of {'the clusters (all rows of each)' if clusters else 'them'}, or {way}."
    )


def long_text(where: str, most: int) -> str:
    return (
        f"{where} has a text of more than {most:,} bytes, which names no group, outcome or cluster.\n"
        "Hint: was a column of texts named? Give its values short names first."
    )


def single_group(where: str, group: Hashable, rows: int) -> str:
    return (
        f"{where} a single group, {group!r}, in all {counted(rows, 'row')}: there is nothing to compare it with.\n"
        "Hint: name another column, or add the rows of the other groups."
    )


def too_many_groups(groups: Sequence[Hashable], columns: Sequence[str], most: int = MOST_COMPARED) -> str:
    """Say that groups are too many to be compared; of a column of numbers, how it is cut into bands."""
    where = f"{' x '.join(map(repr, columns))} makes" if columns else "there are"
    parts = [[group] if len(columns) < 2 else str(group).split(", ") for group in groups]
    found = [{str(each).rpartition("=")[2] for each in column} for column in zip(*parts)]
    numbers = [place for place, values in enumerate(found) if len(values) > 4 and all(map(_is_figure, values))]
    way = f"{argument('min_group', ...)} and {argument('groups', ...)} leave some out"
    if numbers:
        column = columns[numbers[0]] if numbers[0] < len(columns) else "age"
        edges, count = argument("bands", {column: [25, 45, 65]}), argument("bands", {column: 4})
        way = f"{edges} cuts numbers into bands that begin there, {count} into four of about equal size"
        way += "; identifiers are no groups" if len(groups) > MOST_GROUPS else ""
    elif len(groups) > MOST_GROUPS:
        way = "was a column of identifiers named? Join its values into fewer groups first"
    return f"{where} {len(groups):,} groups, and at most {most} are compared.\nHint: {way}."


def ungrouped(name: str, rows: int) -> str:
    kept = f"{argument('missing_group', 'keep')} leaves the score of rows without a group as it is"
    none = f"{argument('missing_group', 'null')} gives them none"
    return f"{name} has {counted(rows, 'row')} without a group.\nHint: {kept}, {none}."


def unseen_groups(
    name: str, rows: int, unseen: Sequence[Hashable], known: Sequence[Hashable], *, optional: bool = False
) -> str:
    """Say that there are groups without a map; ``optional`` where rows of them can be let through."""
    hint = "refit with those rows, or drop them; fairpot never passes unknown groups through unchanged."
    if any(", " in str(group) for group in known):
        hint = "several columns form intersections: pass all columns of fit, by name or in the same order. Else " + hint
    which = f"a group not seen in fit: {_names(unseen)} (seen: {_names(known)})"
    if optional:
        hint = hint.partition("refit")[0] + f"{argument('unknown_group', 'keep')} leaves the score of groups not seen "
        hint += f"in fit as it is, {argument('unknown_group', 'null')} gives them none; or refit with those rows."
    return f"{name} has {counted(rows, 'row')} with {which}.\nHint: {hint}"


def together(problems: Sequence[Exception]) -> Exception:
    """Make one report of all that is wrong: of the kind of the first, or, if all are about groups, of the last."""
    if len(problems) == 1:
        return problems[0]
    parts = [str(each).partition("\nHint: ") for each in problems]
    hints = " ".join(way_out for _, _, way_out in parts if way_out)
    kind = type(problems[0])
    if kind is MissingGroupError:
        kind = type(problems[-1])
    return kind("\nAlso: ".join(what for what, _, _ in parts) + (f"\nHint: {hints}" if hints else ""))


def _names(groups: Sequence[Hashable]) -> str:
    if len(groups) > 2 * _MOST_LISTED:
        return f"{len(groups)} different ones"
    return f"[{', '.join(map(quoted, groups))}]"


def missing_labels(name: str, rows: int) -> str:
    said = f"{name} has {counted(rows, 'missing row')}.\nHint: {_drop_missing()}: their outcome is not known."
    return f"{said} The gap is then of those with outcomes: https://fairpot.github.io/fairpot/understand/selective-labels.html"


def decimal_commas(path: object, said: str) -> str:
    return f"{path} has decimal commas, and is read so; {said} says the same without a note."


def trimmed(name: str, rows: int) -> str:
    return f"{name} has {counted(rows, 'row')} with blanks around the text, which are left out."


def not_binary(name: str, rows: Mapping[Any, int], positive: str) -> str:
    """Say that labels are not 0/1, with the rows of each; which of two is the outcome cannot be guessed."""
    values = in_order(set(rows))
    if len(values) == 2:
        both = " and ".join(f"{value!r} ({counted(rows[value], 'row')})" for value in values)
        hint = f"Hint: say which one means that the outcome happened, {argument(positive, ...)}"
        return f"{name} must be 0/1 or booleans, got {both}.\n{hint}"
    odd = [value for value in values if value not in (0, 1) and str(value).strip() not in ("0", "1", "0.0", "1.0")]
    many = sum(rows[value] for value in odd)
    hint = "a label says whether the outcome happened; compare or cut the column first."
    if 0 < len(odd) <= len(values) - 2:  # one odd value makes a column text: its zeros and ones are none the worse
        hint = "give those rows the outcome they have, or drop them, where it is not known."
    return (
        f"{name} must be 0/1 or booleans, got {len(values)} values in all, {counted(many, 'row')} other than 0/1: "
        f"{listed(odd)}.\nHint: {hint}"
    )


def swapped(label: str, score: str, values: tuple[int, int], order: str) -> str:
    """Say that outcomes and scores changed places; ``values`` counts the distinct ones, ``order`` is the way out."""
    return (
        f"the columns look swapped: an outcome has two values, but {label} has {values[0]:,}, "
        f"and {score} has {values[1]}.\n"
        f"Hint: {order}"
    )


def dropped_rows(dropped: Mapping[str, int], left: int) -> str:
    each = ", ".join(f"{name!r} is missing in {rows}" for name, rows in dropped.items() if name != "rows" and rows)
    said = f"{counted(dropped['rows'], 'row')} {'was' if dropped['rows'] == 1 else 'were'} left out"
    return f"{said}, {left} are left: {each}."


def not_plain(name: str, reason: str = "") -> str:
    return f"{name} must hold plain values (text, numbers, booleans){f': {reason}' if reason else ''}."


def listed(values: Sequence[Any]) -> str:
    """List the values of a label or group; with many of them it was another column, and they are only counted."""
    if len(values) > _MOST_LISTED and not values_are_shown():
        return f"{len(values)} different ones"
    return ", ".join(map(quoted, values[:_MOST_LISTED])) + (", ..." if len(values) > _MOST_LISTED else "")


def quoted(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def in_order(values: set[Any]) -> list[Any]:
    try:
        return sorted(values)
    except TypeError:
        return sorted(values, key=lambda v: (type(v).__name__, str(v)))


def other_length(name: str, rows: int, than: int, of: str = "there are {than} scores") -> str:
    return (
        f"{name} has {rows} rows, but {of.format(than=than)}.\n"
        "Hint: pass columns of the same rows; take all of them from one frame, after rows were dropped."
    )


def shown_rows(value: float) -> str:
    """Write a number of rows, which weights may have made a fraction: to the row, or to three digits of a few."""
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"


def rows_by(rows: float, weight: float | None, what: str = "rows") -> str:
    """Say how many rows there are, and what they weigh, where weights say how much a row counts."""
    return f"{shown_rows(rows)} {what}{'' if weight is None else f' ({shown_rows(weight)} by weight)'}"


def weights_taken(weights: str | None, weight: float | None) -> str:
    """Say what weights were taken for; nothing where there were none. Whole ones make ``weight``, their sum, an int."""
    if weights != "importance":
        return "" if weights is None else "A weight is so many rows, as said."
    said = "A weight is how much a row counts: counts are of rows; shares, AUC and gaps are weighted."
    return said + (f" If it is so many rows: {argument('weights', 'frequency')}." if isinstance(weight, int) else "")
