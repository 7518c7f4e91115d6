"""A map as one CASE expression: a balanced tree, so that its depth grows with the logarithm of its pieces."""

from __future__ import annotations

import math

from fairpot.export.sql.dialects import Dialect
from fairpot.transport.pieces import LARGEST, Pieces, Sigmoid

# Beyond these sigma is 1, or below 1e-307; some databases take a result out of the range for an error.
_HIGHEST, _LOWEST = 700.0, -709.0
# What is too small to change sigma.
_NOTHING = 1e-20


def pieces_case(dialect: Dialect, score: str, pieces: Pieces, first: int = 0, end: int | None = None) -> str:
    """Write the tree over the pieces from ``first`` to before ``end``."""
    end = pieces.size if end is None else end
    if end - first == 1:
        return _piece(dialect, score, pieces, first)
    middle = (first + end) // 2
    lower = pieces_case(dialect, score, pieces, first, middle)
    upper = pieces_case(dialect, score, pieces, middle, end)
    return f"CASE WHEN {score} < {dialect.number(float(pieces.lo[middle]))} THEN {lower} ELSE {upper} END"


def _piece(dialect: Dialect, score: str, pieces: Pieces, place: int) -> str:
    if pieces.is_identity(place):
        return score
    _, *numbers = (dialect.number(float(field[place])) for field in pieces)
    return numbers[2] if pieces.is_flat(place) else line(dialect, score, *numbers)


def line(dialect: Dialect, s: str, x0: str, w: str, v0: str, d: str, vmin: str, vmax: str) -> str:
    """Write one piece as a formula; brackets fix the order of its operations."""
    return f"{dialect.least}({dialect.greatest}({v0} + (({s} - {x0}) / {w}) * {d}, {vmin}), {vmax})"


def sigmoid(dialect: Dialect, score: str, found: Sigmoid) -> str:
    """Write sigma(alpha s + beta), with arms for scores where a product or the exponential would leave the range."""
    one, zero, level = dialect.number(1.0), dialect.number(0.0), dialect.number(_sigma(found.beta))
    if found.alpha == 0:
        return level
    ends = [(_HIGHEST - found.beta) / found.alpha, (_LOWEST - found.beta) / found.alpha]
    over, under = (">", "<") if found.alpha > 0 else ("<", ">")
    arms = [f"WHEN {score} {over} {dialect.number(_finite(ends[0]))} THEN {one}"]
    arms += [f"WHEN {score} {under} {dialect.number(_finite(ends[1]))} THEN {zero}"]
    arms += [f"WHEN ABS({score}) <= {dialect.number(_finite(_NOTHING / abs(found.alpha)))} THEN {level}"]
    z = f"{dialect.number(found.alpha)} * {score} + {dialect.number(found.beta)}"
    return f"CASE {' '.join(arms)} ELSE {one} / ({one} + EXP(-({z}))) END"


def _sigma(z: float) -> float:
    return 0.0 if z < _LOWEST else 1.0 / (1.0 + math.exp(-z))


def _finite(value: float) -> float:
    return min(max(value, -LARGEST), LARGEST)
