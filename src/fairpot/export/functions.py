"""Maps as source text in Python or JavaScript: a few lines of code and the numbers, nothing to install."""

from __future__ import annotations

import json
from collections.abc import Iterator

from fairpot._version import __version__
from fairpot.export.groups import Exportable, Formulas, Name, count_pieces, formulas_of, note_of
from fairpot.transport.pieces import Sigmoid

_PYTHON = '''

def {name}(score, group):
    """Return the adjusted score: a float for a finite score of a known group, otherwise a ValueError."""
    if group not in _MAPS:
        raise ValueError("no map for the group %r" % (group,))
    s = float(score)
    if not -1.7976931348623157e308 <= s <= 1.7976931348623157e308:
        raise ValueError("the score must be finite, got %r" % (score,))
{sigmoid}    lo, x0, w, v0, d, vmin, vmax = _MAPS[group]
    low, high = 0, len(lo)
    while high - low > 1:
        middle = (low + high) // 2
        if lo[middle] <= s:
            low = middle
        else:
            high = middle
    return min(max(v0[low] + ((s - x0[low]) / w[low]) * d[low], vmin[low]), vmax[low])
'''
_PYTHON_SIGMOID = """    if len(_MAPS[group]) == 2:
        alpha, beta = _MAPS[group]
        z = alpha * s + beta
        return 0.0 if z < -709.782712893384 else 1.0 / (1.0 + exp(-z))
"""
_JAVASCRIPT = """]);

function {name}(score, group) {{
  const map = MAPS.get(group);
  if (map === undefined) throw new RangeError("no map for the group " + String(group));
  if (typeof score !== "number" || !Number.isFinite(score)) throw new RangeError("the score must be finite");
  if (map.length === 2) return 1 / (1 + Math.exp(-(map[0] * score + map[1])));
  const [lo, x0, w, v0, d, vmin, vmax] = map;
  let low = 0, high = lo.length;
  while (high - low > 1) {{
    const middle = (low + high) >> 1;
    if (lo[middle] <= score) low = middle; else high = middle;
  }}
  return Math.min(Math.max(v0[low] + ((score - x0[low]) / w[low]) * d[low], vmin[low]), vmax[low]);
}}

if (typeof module !== "undefined") module.exports = {{ {name} }};
"""


def to_python(maps: Exportable, *, name: str = "fair_score") -> str:
    """Write maps as a Python module with one function and no imports (a sigmoid needs ``math.exp``).

    Parameters
    ----------
    maps : dict of group to ScoreMap
    name : str, default "fair_score"
        Name of the function, which takes a score and a group.

    Returns
    -------
    str

    Examples
    --------
    >>> from fairpot.export import to_python
    >>> from fairpot.transport import ScoreMap
    >>> names = {}
    >>> exec(to_python({"F": ScoreMap([0.2, 0.6], [0.2, 0.9])}), names)
    >>> names["fair_score"](0.4, "F")
    0.55
    """
    formulas = formulas_of(maps)
    sigmoid = any(isinstance(each, Sigmoid) for each in formulas.values())
    head = f'"""{_origin(formulas, maps)}"""\n\n' + ("from math import exp\n\n" if sigmoid else "")
    entries = "".join(f"    {group!r}: {_numbers(found, '()')},\n" for group, found in formulas.items())
    body = _PYTHON.format(name=_checked(name), sigmoid=_PYTHON_SIGMOID if sigmoid else "")
    return f"{head}_MAPS = {{\n{entries}}}\n{body}"


def to_javascript(maps: Exportable, *, name: str = "fairScore") -> str:
    """Write maps as a JavaScript file with one function, for browsers and Node.

    Parameters
    ----------
    maps : dict of group to ScoreMap
    name : str, default "fairScore"
        Name of the function, which takes a score and a group; it throws where Python raises.

    Returns
    -------
    str
    """
    formulas = formulas_of(maps)
    entries = "".join(f"  [{_key(group)}, {_numbers(found, '[]')}],\n" for group, found in formulas.items())
    return f'"use strict";\n// {_origin(formulas, maps)}\nconst MAPS = new Map([\n{entries}' + _JAVASCRIPT.format(
        name=_checked(name)
    )


def _origin(formulas: Formulas, maps: Exportable) -> str:
    found = f"{count_pieces(formulas)} straight pieces{note_of(maps)}"
    return f"Maps of scores by group, written by fairpot {__version__}: {found}."


def _numbers(found: object, brackets: str) -> str:
    """Write the numbers of a map; the shortest text of a double reads back as the same double in both languages."""
    begin, end = brackets[0], brackets[1]
    if isinstance(found, Sigmoid):
        return f"{begin}{found.alpha!r}, {found.beta!r}{end}"
    return begin + ", ".join(_listed(found, begin, end)) + end


def _listed(fields: object, begin: str, end: str) -> Iterator[str]:
    for field in fields:  # type: ignore[attr-defined]
        comma = "," if field.size == 1 and begin == "(" else ""
        yield begin + ", ".join(map(repr, field.tolist())) + comma + end


def _key(group: Name) -> str:
    """Write the name of a group in JavaScript."""
    if isinstance(group, int) and not isinstance(group, bool) and abs(group) > 2**53:
        raise ValueError(
            f"the group {group} is beyond 2**53, where JavaScript's numbers are not exact.\n"
            "Hint: turn the column into text before fit."
        )
    return json.dumps(group)


def _checked(name: str) -> str:
    if not (isinstance(name, str) and name.isidentifier() and name.isascii()):
        raise ValueError(f"name must be the name of a function, got {name!r}.")
    return name
