"""How every language writes a map that is one formula everywhere, and no list of straight pieces."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from fairpot.transport.kinds import Odds

if TYPE_CHECKING:
    from fairpot.export.sql_dialects import Dialect


class Closed(NamedTuple):
    """One formula in all languages; in a module a map is told from others by how many numbers it has.

    ``then`` and ``end`` stand around a value in Python and JavaScript, where another map follows.
    """

    python: str
    javascript: str
    value: Callable[[Any, float], float]  # of one score
    sql: Callable[[Dialect, str, Any], str]
    onnx: Callable[[Any, list[Any], str, str], str]  # of all groups' formulas; anything where one is of another kind


_PYTHON_ODDS = """    if len(_MAPS[group]) == 1:
        (factor,) = _MAPS[group]
        sign = 1.0 if factor > 0 else -1.0
        return {then}sign / (1.0 + ((1.0 - sign * s) / s) / factor) if 0.0 < sign * s < 1.0 else s{end}
"""
_JAVASCRIPT_ODDS = """  if (map.length === 1) {{
    const sign = Math.sign(map[0]), p = sign * score;
    return {then}p > 0 && p < 1 ? sign / (1 + ((1 - p) / score) / map[0]) : score{end};
  }}
"""


def _odds(found: Odds, s: float) -> float:
    sign = found.sign
    return sign / (1.0 + ((1.0 - sign * s) / s) / found.factor) if 0.0 < sign * s < 1.0 else s


def _sql_odds(dialect: Dialect, score: str, found: Odds) -> str:
    """Write the odds of probabilities times a factor; what is none stays, and odds beyond all numbers give 0."""
    one, zero, factor, lowest = map(dialect.number, (1.0, 0.0, abs(found.factor), found.lowest))
    if found.factor > 0:
        outside, below = f"{score} <= {zero} OR {score} >= {one}", f"{score} < {lowest}"
        value = f"{one} / ({one} + (({one} - {score}) / {score}) / {factor})"
    else:
        outside, below = f"{score} >= {zero} OR {score} <= -{one}", f"{score} > -{lowest}"
        value = f"-({one} / ({one} + (({one} + {score}) / -({score})) / {factor}))"
    return f"CASE WHEN {outside} THEN {score} WHEN {below} THEN {zero} ELSE {value} END"


def _onnx_odds(graph: Any, every: list[Any], s: str, code: str) -> str:
    """Compute the probability after each group's factor on the odds; anything where it has none."""
    found = [each if isinstance(each, Odds) else Odds(1.0) for each in every]
    sign = graph.node("Gather", graph.numbers([each.sign for each in found]), code)
    factor = graph.node("Gather", graph.numbers([each.factor for each in found]), code)
    one, zero, p = graph.numbers(1.0), graph.numbers(0.0), graph.node("Mul", sign, s)
    against = graph.node("Div", graph.node("Div", graph.node("Sub", one, p), s), factor)
    made = graph.node("Div", sign, graph.node("Add", one, against))
    inside = graph.node("And", graph.node("Less", zero, p), graph.node("Less", p, one))
    return graph.node("Where", inside, made, s)


CLOSED: dict[type, Closed] = {Odds: Closed(_PYTHON_ODDS, _JAVASCRIPT_ODDS, _odds, _sql_odds, _onnx_odds)}
