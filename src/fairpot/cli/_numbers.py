"""Numbers given as options."""

from __future__ import annotations

import math
import re
from typing import Any

import click


class Number(click.ParamType):  # type: ignore[type-arg]
    """A finite number in a range."""

    name = "number"

    def __init__(self, low: float = 0.0, high: float = math.inf, *, above: bool = False) -> None:
        self.low, self.high, self.above = low, high, above

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read a number, or say what it should have been."""
        try:
            found = float(value)
        except (TypeError, ValueError):
            self.fail(f"{value!r} is not a number.", param, ctx)
        inside = self.low < found if self.above else self.low <= found
        if not (math.isfinite(found) and inside and found <= self.high):
            self.fail(f"{value} is not {self.rule}.", param, ctx)
        return found

    @property
    def rule(self) -> str:
        """Say what is allowed."""
        if self.high == math.inf:
            return f"a finite number {'above' if self.above else 'from'} {self.low:g}{'' if self.above else ' on'}"
        return f"in {'(' if self.above else '['}{self.low:g}, {self.high:g}]"


class Size(click.ParamType):  # type: ignore[type-arg]
    """An amount of memory, such as 2GB."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Check how a size is written."""
        if not re.fullmatch(r"[0-9]+(\.[0-9]+)? ?([KMGT]i?)?B", str(value), re.IGNORECASE):
            self.fail(f"{value!r} is not a size such as 500MB or 2GB.", param, ctx)
        return str(value)


SHARE = Number(0, 1)
TOP_SHARE = Number(0, 1, above=True)
FACTOR = Number(0, above=True)
LIMIT = Number(0)
SCORE = Number(-1e300, 1e300)
LEVEL = Number(0.5, 0.999999, above=True)
SIZE = Size()
