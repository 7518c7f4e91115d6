"""Maps as Spark evaluates them: by a function of Arrow batches, or, where they are exported, in SQL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairpot.transport.pieces import Formula, Pieces

_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t", "$": "\\u0024"}


def spark_text(text: str) -> str:
    """Write a text as a literal; a dollar sign could otherwise begin a variable, and some marks steer who reads it."""
    return "'" + "".join(_ESCAPES.get(c) or _escape(c) for c in text) + "'"


def _escape(character: str) -> str:
    """Write what is no printable character by its number, where four digits hold it."""
    return character if character.isprintable() or character > "\uffff" else f"\\u{ord(character):04x}"


def literal(value: Any, type_: str) -> str:
    """Write a value of a column."""
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return spark_text(value)
    return f"CAST('{value}' AS {type_})"


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


def batch_mapper(formulas: Sequence[Formula], then: Pieces | None = None) -> Callable[[Any, Any], Any]:
    """Make the function that maps a batch; it goes to workers that need NumPy and PyArrow, not fairpot."""
    numbers = [tuple(each) for each in formulas]
    follows = None if then is None else tuple(then)

    def looked_up(pieces: Any, x: Any) -> Any:
        import numpy as np

        lo, *rest = pieces
        piece = np.searchsorted(lo, x, side="right") - 1
        x0, w, v0, d, vmin, vmax = (field[piece] for field in rest)
        return np.minimum(np.maximum(v0 + ((x - x0) / w) * d, vmin), vmax)

    def mapped(score: Any, place: Any) -> Any:
        import numpy as np
        import pyarrow as pa

        s = score.to_numpy(zero_copy_only=False)  # missing ones become NaN, and are refused afterwards
        at = place.fill_null(-1).to_numpy(zero_copy_only=False)
        fair = np.full(len(s), np.nan)
        for code in np.unique(at[at >= 0]).tolist():
            rows = np.flatnonzero(at == code)
            x = s[rows]
            if len(numbers[code]) == 2:
                alpha, beta = numbers[code]
                with np.errstate(over="ignore"):
                    fair[rows] = 1 / (1 + np.exp(-(alpha * x + beta)))
                continue
            if len(numbers[code]) == 1:
                [factor] = numbers[code]
                sign = 1.0 if factor > 0 else -1.0
                with np.errstate(all="ignore"):
                    made = sign / (1 + ((1 - sign * x) / x) / factor)
                fair[rows] = np.where((sign * x > 0) & (sign * x < 1), made, x)
                continue
            fair[rows] = looked_up(numbers[code], x)
        return pa.array(fair if follows is None else looked_up(follows, fair))

    return mapped
