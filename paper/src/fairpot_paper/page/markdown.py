"""Markdown: tables and numbers as the page writes them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table.

    Examples
    --------
    >>> print(table(["data", "AUC"], [["Bank", "0.93"]]))
    | data | AUC |
    | --- | --- |
    | Bank | 0.93 |
    """
    lines = [list(head), ["---"] * len(head), *map(list, rows)]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)


def number(value: float | None, digits: int = 4, signed: bool = False) -> str:
    """Write a number; nothing where there is none."""
    return "" if value is None or not np.isfinite(value) else f"{value:{'+' if signed else ''}.{digits}f}"


def with_spread(value: float | None, deviation: float | None, digits: int = 4, signed: bool = False) -> str:
    """Write a mean and a deviation; the mean alone where there is no deviation."""
    shown = number(value, digits, signed)
    return f"{shown} ± {number(deviation, digits)}" if shown and number(deviation, digits) else shown


def seconds(value: float | None) -> str:
    """Write a time with three figures."""
    return "" if value is None or not np.isfinite(value) else f"{value:.3g}"
