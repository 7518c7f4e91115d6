"""A map as a Spark SQL expression: pieces in array literals, found by bisection; no join, no Python on the workers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairpot.transport.pieces import Pieces

_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t", "$": "\\u0024"}


def spark_text(text: str) -> str:
    """Write a text as a literal; a dollar sign could otherwise begin a variable."""
    return "'" + "".join(_ESCAPES.get(c, c) for c in text) + "'"


def array_lookup(score: str, pieces: Pieces) -> str:
    """Write the value of a map at ``score``, itself an expression of finite doubles.

    A CASE tree of a thousand branches breaks Spark's code generation; arrays do not, and are parsed once.
    """
    lo, x0, w, v0, d, vmin, vmax = map(_array, pieces)
    steps = ", ".join(str(1 << k) for k in reversed(range(max(pieces.size - 1, 1).bit_length())))
    # get() gives NULL beyond the end of an array, and IF takes NULL for no.
    place = f"aggregate(array({steps}), 0, (p, k) -> IF(get({lo}, p + k) <= s, p + k, p))"
    line = f"get({v0}, p) + ((s - get({x0}, p)) / get({w}, p)) * get({d}, p)"
    held = f"LEAST(GREATEST({line}, get({vmin}, p)), get({vmax}, p))"
    # A transform of one element is Spark's way to give a value a name.
    inner = f"element_at(transform(array({place}), p -> {held}), 1)"
    return f"element_at(transform(array({score}), s -> {inner}), 1)"


def _array(values: NDArray[np.float64]) -> str:
    return f"cast(split('{','.join(map(repr, values.tolist()))}', ',') AS array<double>)"
