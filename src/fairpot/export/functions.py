"""Maps as source text in Python or JavaScript, and as a plain Python function of one row."""

from __future__ import annotations

import json
import math
import sys
from bisect import bisect_right
from collections.abc import Mapping
from functools import partial
from typing import Any, Literal

import numpy as np

from fairpot._defaults import Unmapped
from fairpot._docs import documented
from fairpot._lineage import lineage_line
from fairpot._validation import check_choice
from fairpot._validation.grouping import MISSING, Grouping, check_unmapped
from fairpot._validation.groups import GroupFinder
from fairpot._validation.wording import quoted
from fairpot.exceptions import UnseenGroupError
from fairpot.export.closed import CLOSED
from fairpot.export.simplify import KnownMaps, Maps, SimplifiedMaps
from fairpot.transport import parted
from fairpot.transport.pieces import Formula, Pieces, formula_of, pieces

Name = str | int | float | bool
Exportable = Maps | KnownMaps
Outside = Literal["refuse", "clamp"]  # what becomes of a score beyond the limits
OUTSIDE = ("refuse", "clamp")
MODULES = ("commonjs", "esm")


class Formulas(dict[Name, Formula]):
    """The numbers of each group's own map, and what is to be said and done about all of them.

    ``then`` is the map that follows them all, if one does. Beyond ``limits``, where they are known, scores are on
    another scale than in fit; where ``clamped``, these count as the limits.
    """

    then: Pieces | None = None
    limits: tuple[float, float] | None = None
    clamped: bool = False
    note: str = ""
    map_sha256: str | None = None

    @property
    def made_by(self) -> str:
        """The program and the map file that what is written comes from."""
        return lineage_line(self.map_sha256)

    def has(self, kind: type) -> bool:
        """Whether a group's map is of a kind."""
        return any(isinstance(each, kind) for each in self.values())


def formulas_of(maps: Exportable, outside: str = "refuse", unmapped: tuple[str, str] = ("error", "error")) -> Formulas:
    """Check what every export takes, and return the numbers of each group's map."""
    check_choice(outside, "outside", OUTSIDE)
    known = maps if isinstance(maps, KnownMaps) else KnownMaps(maps)
    if not isinstance(known.maps, Mapping):
        raise TypeError(
            f"maps must be a dict of group to ScoreMap, got {type(maps).__name__}.\n"
            "Hint: pass the maps_ of a fitted method, or of what fairpot.load gives."
        )
    if not known.maps:
        raise ValueError("maps is empty: there is no group to export.")
    found, (own, then) = Formulas(), parted(known.maps)
    found.update({_plain_name(group): formula_of(each) for group, each in own.items()})
    check_unmapped(*unmapped, found)
    found.then = None if then is None else pieces(then)
    found.map_sha256, found.note = known.map_sha256, f"; {known}" if isinstance(known, SimplifiedMaps) else ""
    found.limits = None if known.limits is None or not all(map(math.isfinite, known.limits)) else known.limits
    if known.takes:  # in a comment of one line
        plain = "".join(c if c.isprintable() else " " for c in known.takes).replace("*/", "* /")
        found.note += f"; {plain}"
    found.clamped = outside == "clamp" and found.limits is not None
    return found


def _plain_name(group: Any) -> Name:
    name = group.item() if isinstance(group, np.generic) else group
    if not isinstance(name, str | int | float) or name != name or name in (math.inf, -math.inf):
        raise TypeError(
            f"the group {group!r} is a {type(group).__name__}; exports know texts, numbers and booleans as groups.\n"
            "Hint: turn the column into text before fit."
        )
    return name


def count_pieces(formulas: Formulas) -> int:
    """Count the straight pieces of all groups, and of the map that follows them."""
    return sum(each.size for each in (*formulas.values(), formulas.then) if isinstance(each, Pieces))


_PYTHON = '''

def adjusted_score(score, group):
    """Return the adjusted score, a float; a score that is not finite is a ValueError.

    No group: {missing}. A group without a map: {unknown}.{far}
    """
    if isinstance(score, (str, bytes, bytearray)) or type(score).__name__ in ("bool", "bool_"):
        raise TypeError("the score must be a number, got %r" % (score,))
    s = float(score)
    if not -1.7976931348623157e308 <= s <= 1.7976931348623157e308:
        raise ValueError("the score must be finite, got %r" % (score,))
    if group is None or group != group:
        {when_missing}
    if group not in _MAPS:
        {when_unknown}
{outside}{closed}    return {then}_piece(_MAPS[group], s){end}


def _piece(map, s):
    lo, x0, w, v0, d, vmin, vmax = map
    low, high = 0, len(lo)
    while high - low > 1:
        middle = (low + high) // 2
        if lo[middle] <= s:
            low = middle
        else:
            high = middle
    return min(max(v0[low] + ((s - x0[low]) / w[low]) * d[low], vmin[low]), vmax[low])
'''
_PYTHON_OUTSIDE = """    if not {low!r} <= s <= {high!r}:
        raise ValueError("the score %r lies far outside the fitted range: is it on another scale?" % (score,))
"""
_PYTHON_CLAMP = "    s = min(max(s, {low!r}), {high!r})\n"
_SAID = {"error": "a ValueError", "keep": "the score as it is", "null": "NaN"}
_PYTHON_WAYS = {"error": 'raise ValueError("%s")', "keep": "return s", "null": 'return float("nan")'}
_JAVASCRIPT_WAYS = {"error": "throw new RangeError(%s);", "keep": "return score;", "null": "return NaN;"}
_JAVASCRIPT_OUTSIDE = "  if (score < {low!r} || score > {high!r}) return NaN;\n"
_JAVASCRIPT_CLAMP = "  score = Math.min(Math.max(score, {low!r}), {high!r});\n"
_JAVASCRIPT = """]);

{export}function adjustedScore(score, group) {{
  if (typeof score !== "number" || !Number.isFinite(score)) throw new RangeError("the score must be finite");
  if (group === null || group === undefined || Number.isNaN(group)) {when_missing}
  const map = MAPS.get(group);
  if (map === undefined) {when_unknown}
{outside}{closed}  return {then}piece(map, score){end};
}}

function piece(map, score) {{
  const [lo, x0, w, v0, d, vmin, vmax] = map;
  let low = 0, high = lo.length;
  while (high - low > 1) {{
    const middle = (low + high) >> 1;
    if (lo[middle] <= score) low = middle; else high = middle;
  }}
  return Math.min(Math.max(v0[low] + ((score - x0[low]) / w[low]) * d[low], vmin[low]), vmax[low]);
}}
"""
_COMMONJS = '\nif (typeof module !== "undefined") module.exports = { adjustedScore, MADE_BY };\n'


@documented
def to_python(
    maps: Exportable,
    *,
    unknown_group: Unmapped = "error",
    missing_group: Unmapped = "error",
    outside: Outside = "refuse",
) -> str:
    """Write maps as a Python module with a function ``adjusted_score`` and no imports.

    Parameters
    ----------
    {exported}
    {unmapped}
    {beyond}

    Examples
    --------
    >>> from fairpot.export import to_python
    >>> from fairpot.transport import ScoreMap
    >>> names = {}
    >>> exec(to_python({"F": ScoreMap([0.2, 0.6], [0.2, 0.9])}), names)
    >>> names["adjusted_score"](0.4, "F")
    0.55
    """
    formulas = formulas_of(maps, outside, (unknown_group, missing_group))
    entries = "".join(f"    {group!r}: {_numbers(found, '()')},\n" for group, found in formulas.items())
    after = _after(formulas, "_piece(_THEN, ")
    beyond, far = _beyond(formulas, _PYTHON_OUTSIDE, _PYTHON_CLAMP)
    body = _PYTHON.format(
        closed="".join(each.python.format(**after) for kind, each in CLOSED.items() if formulas.has(kind)),
        **after,
        outside=beyond,
        far=far,
        missing=f"the group {MISSING}" if MISSING in formulas else _SAID[missing_group],
        unknown=_SAID[unknown_group],
        when_missing=f'group = "{MISSING}"'
        if MISSING in formulas
        else _PYTHON_WAYS[missing_group].replace("%s", "the group is missing"),
        when_unknown=_PYTHON_WAYS[unknown_group].replace('"%s"', '"no map for the group %r" % (group,)'),
    )
    head = f'"""{_origin(formulas)}"""\n\n'
    then = "" if formulas.then is None else f"_THEN = {_numbers(formulas.then, '()')}\n"
    return f'{head}MADE_BY = "{formulas.made_by}"\n_MAPS = {{\n{entries}}}\n{then}{body}'


@documented
def to_javascript(
    maps: Exportable,
    *,
    module: Literal["commonjs", "esm"] = "commonjs",
    unknown_group: Unmapped = "error",
    missing_group: Unmapped = "error",
    outside: Outside = "refuse",
) -> str:
    """Write maps as a JavaScript file with a function ``adjustedScore``, which throws where Python raises.

    Parameters
    ----------
    {exported}
    module : {"commonjs", "esm"}, default "commonjs"
        How the function is had: ``require("./map.js")`` or a plain ``<script>``; or ``import`` of an ES module
        (``map.mjs``).
    {unmapped}
    {beyond}

    Examples
    --------
    >>> from fairpot.export import to_javascript
    >>> from fairpot.transport import ScoreMap
    >>> text = to_javascript({"F": ScoreMap([0.2, 0.6], [0.2, 0.9])}, module="esm")
    >>> [line for line in text.splitlines() if "function" in line]
    ['export function adjustedScore(score, group) {', 'function piece(map, score) {']
    """
    check_choice(module, "module", MODULES)
    formulas = formulas_of(maps, outside, (unknown_group, missing_group))
    entries = "".join(f"  [{_key(group)}, {_numbers(found, '[]')}],\n" for group, found in formulas.items())
    export, head, end = ("export ", "", "") if module == "esm" else ("", '"use strict";\n', _COMMONJS)
    after = _after(formulas, "piece(THEN, ")
    body = _JAVASCRIPT.format(
        export=export,
        **after,
        closed="".join(each.javascript.format(**after) for each in CLOSED.values()),
        outside=_beyond(formulas, _JAVASCRIPT_OUTSIDE, _JAVASCRIPT_CLAMP)[0],
        when_missing=f'group = "{MISSING}";'
        if MISSING in formulas
        else _JAVASCRIPT_WAYS[missing_group].replace("%s", '"the group is missing"'),
        when_unknown=_JAVASCRIPT_WAYS[unknown_group].replace("%s", '"no map for the group " + String(group)'),
    )
    then = "" if formulas.then is None else f"const THEN = {_numbers(formulas.then, '[]')};\n"
    made = f'{export}const MADE_BY = "{formulas.made_by}";\n'
    return f"{head}// {_origin(formulas)}\n{made}{then}const MAPS = new Map([\n{entries}{body}{end}"


def _after(formulas: Formulas, call: str) -> dict[str, str]:
    """Give what stands before and after a value that another map follows."""
    return {"then": "", "end": ""} if formulas.then is None else {"then": call, "end": ")"}


def _beyond(formulas: Formulas, refusing: str, clamping: str) -> tuple[str, str]:
    """Give what becomes of scores beyond the limits, as a statement and in words."""
    if formulas.limits is None:
        return "", ""
    low, high = formulas.limits
    far = "counts as that" if formulas.clamped else "is a ValueError"
    statement = (clamping if formulas.clamped else refusing).format(low=low, high=high)
    return statement, f"\n    A score below {low:.6g} or above {high:.6g} {far}."


def _origin(formulas: Formulas) -> str:
    return f"Maps of scores by group: {count_pieces(formulas)} straight pieces{formulas.note}."


def _numbers(found: Any, brackets: str) -> str:
    """Write numbers, or fields of them; the shortest text of a double reads back as the same in both languages."""
    items = found.tolist() if isinstance(found, np.ndarray) else found
    texts = [repr(each) if isinstance(each, float) else _numbers(each, brackets) for each in items]
    comma = "," if len(texts) == 1 and brackets == "()" else ""
    return brackets[0] + ", ".join(texts) + comma + brackets[1]


def _key(group: Name) -> str:
    if isinstance(group, int) and not isinstance(group, bool) and abs(group) > 2**53:
        raise ValueError(
            f"the group {group} is beyond 2**53, where JavaScript's numbers are not exact.\n"
            "Hint: turn the column into text before fit."
        )
    return json.dumps(group)


@documented
class RowScorer:
    """Adjust one score at a time, with the numbers of ``transform``, in about a microsecond.

    Build it once; any number of threads may share it.

    Parameters
    ----------
    {exported}
    {unmapped}
    {beyond}
    grouping : Grouping or None, default None
        How values become groups, such as the bands of a column: a group is then given as rows have it.

    Examples
    --------
    >>> from fairpot.export import RowScorer
    >>> from fairpot.transport import ScoreMap
    >>> score = RowScorer({"F": ScoreMap([0.2, 0.6], [0.2, 0.9]), "M": ScoreMap.identity()})
    >>> score(0.4, "F")
    0.55
    """

    __slots__ = ("_clamped", "_find", "_formulas", "_grouping", "_high", "_low", "_missing", "_then", "_unknown")

    def __init__(
        self,
        maps: Exportable,
        *,
        unknown_group: Unmapped = "error",
        missing_group: Unmapped = "error",
        outside: Outside = "refuse",
        grouping: Grouping | None = None,
    ) -> None:
        self._unknown, self._missing, self._grouping = unknown_group, missing_group, grouping
        formulas = formulas_of(maps, outside, (unknown_group, missing_group))
        self._low, self._high = formulas.limits or (-sys.float_info.max, sys.float_info.max)
        self._clamped = formulas.clamped
        self._formulas = {group: _frozen(found) for group, found in formulas.items()}
        self._then = None if formulas.then is None else _frozen(formulas.then)
        self._find = GroupFinder(list(self._formulas))

    def __call__(self, score: float, group: Any) -> float:
        """Return the adjusted score.

        A group that is an intersection is given by its name, as a tuple of its values in the order of ``fit``, or as
        a dict of column to value. What has no adjusted score is an UnseenGroupError, a TypeError or a ValueError.
        """
        try:
            found = self._formulas[group]
        except (KeyError, TypeError):
            return self._without_a_map(score, group)
        s = score if score.__class__ is float and self._low <= score <= self._high else self._checked(score)
        y = _looked_up(found, s) if found.__class__ is tuple else found(s)
        return y if self._then is None else _looked_up(self._then, y)

    def _checked(self, score: Any) -> float:
        s = _as_float(score)
        if self._low <= s <= self._high:
            return s
        if self._clamped:
            return min(max(s, self._low), self._high)
        raise ValueError(
            f"the score {s:g} lies far outside the fitted range: scores from {self._low:.6g} to {self._high:.6g} are "
            "taken.\nHint: bring it to the scale of fit (0-1 or 0-100, probabilities or log-odds), or outside='clamp'."
        )

    def _without_a_map(self, score: float, group: Any) -> float:
        seen = self._find(group if self._grouping is None else self._grouping.of_row(group, self._formulas))
        if seen is not None:  # an intersection that is given by its values or columns, or a number in a band
            return self(score, seen)
        parts = group.values() if isinstance(group, dict) else group if isinstance(group, tuple) else (group,)
        missing = any(each is None or each != each for each in parts)
        way = self._missing if missing else self._unknown
        if way != "error":
            s = _as_float(score)
            return s if way == "keep" else math.nan
        ways_out = f"or {'missing' if missing else 'unknown'}_group='keep' (the score as it is) or 'null' (NaN)"
        if missing:
            raise ValueError(f"the group is missing.\nHint: give it one that was seen in fit, {ways_out}.")
        raise UnseenGroupError(
            f"the group {quoted(group)} was not seen in fit (seen: {list(self._formulas)}).\n"
            f"Hint: fit with rows of that group, {ways_out}."
        )


def _as_float(score: Any) -> float:
    """Turn a number into a finite float; a text or a boolean is none, as in ``transform``."""
    if isinstance(score, str | bytes | bytearray) or type(score).__name__ in ("bool", "bool_"):
        raise TypeError(
            f"the score must be a number, got {type(score).__name__}.\n"
            "Hint: convert it first; fairpot does not guess what a text means."
        )
    s = float(score)
    if not -math.inf < s < math.inf:
        raise ValueError(f"the score is {s}: it must be a finite number.\nHint: drop or fill the row first.")
    return s


def _frozen(found: Formula) -> Any:
    """Return the pieces of a map as plain tuples, as they are quickest to look up; a closed form as a function."""
    if not isinstance(found, Pieces):
        return partial(CLOSED[type(found)].value, found)
    lo, *rest = (field.tolist() for field in found)
    return tuple(lo), tuple(zip(*rest))


def _looked_up(found: tuple[tuple[float, ...], tuple[tuple[float, ...], ...]], s: float) -> float:
    lo, rows = found
    x0, w, v0, d, vmin, vmax = rows[bisect_right(lo, s) - 1]
    y = v0 + ((s - x0) / w) * d
    return vmin if y < vmin else vmax if y > vmax else y
