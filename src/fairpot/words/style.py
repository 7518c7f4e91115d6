"""How numbers are written, on every surface alike. Names of groups and gaps."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairpot._validation.wording import among as among
from fairpot._validation.wording import named_top as named_top

EVEN = 0.0005  # what rounds to 0 in three digits is equal


@dataclass(frozen=True)
class Style:
    """How numbers are written: AUC and gaps as fractions with three decimals.

    Examples
    --------
    >>> FRACTIONS.gap(0.1312), FRACTIONS.change(-0.02), FRACTIONS.gap(None)
    ('0.131', '-0.020', '-')
    """

    none: str = "-"

    def figure(self, value: float | None, digits: int = 3, sign: str = "") -> str:
        """Write a number with so many decimals: no minus before a zero, a dash for what cannot be measured."""
        if value is None or value != value:
            return self.none
        # Round-off first: a half that weights times a constant leave a hair below is written as a half.
        rounded = round(round(float(value), 12), digits) + 0.0
        return f"{rounded:{sign if rounded else ''}.{digits}f}"

    def auc(self, value: float | None, sign: str = "") -> str:
        """Write an AUC or a change of one."""
        return self.figure(value, 3, sign)

    def gap(self, value: float | None, sign: str = "") -> str:
        """Write a gap."""
        return self.figure(value, 3, sign)

    def change(self, value: float | None) -> str:
        """Write a change of a gap with its sign; what rounds to nothing has none."""
        return self.gap(value, "+")

    def with_interval(self, found: Any, *, auc: bool = False) -> str:
        """Write an estimate with its interval, or why it has none."""
        write = self.auc if auc else self.gap
        value = write(found)
        if found.reason is not None or found.low != found.low:
            return f"{value} (no interval: {found.reason or 'none was computed'})"
        return f"{value} ({level(found.level)} interval {write(found.low)} to {write(found.high)})"

    def in_cell(self, found: Any) -> str:
        """Write an estimate with its interval, as short as a cell of a table wants it."""
        if found is None or found.low != found.low or found.low == found.high:
            return self.figure(found)
        return f"{self.figure(found)} ({self.figure(found.low)} to {self.figure(found.high)})"

    def limits(self, found: Any, *, auc: bool = False) -> str:
        """Write the interval of a change in brackets; nothing where there is none."""
        if found is None or found.reason is not None or found.low != found.low:
            return ""
        ends = (self.auc(each, "+") if auc else self.change(each) for each in (found.low, found.high))
        return f", {level(found.level)} interval {' to '.join(ends)}"


FRACTIONS = Style()


def level(value: float) -> str:
    """Write a confidence level."""
    return f"{100 * value:.4g}%"


# A share of the ranking is written like a level.
share = level


def beside(value: float, limit: float) -> str:
    """Write a gap beside the limit it is compared with: three digits, or as many as tell on which side it lies.

    Examples
    --------
    >>> beside(0.0812, 0.05), beside(0.05004, 0.05)
    ('0.081', '0.05004')
    """
    digits = next(d for d in range(3, 17) if d == 16 or (round(value, d) > limit) == (value > limit))
    return f"{value:.{digits}f}"


def gap_name(top: float | None) -> str:
    """Name a gap in words, over all rows or in the top."""
    return "overall gap" if top is None else f"gap {among(top)}"


def auc_name(top: float | None) -> str:
    """Name an AUC in words, of all rows or in the top."""
    return "AUC" if top is None else f"AUC {among(top)}"


def gap_from(starts: Mapping[Hashable, float], turned: bool = False, adjusted: bool = False) -> str:
    """Name the gap among everybody from a score on; ``turned`` if low scores mean high risk, and have a minus.

    Examples
    --------
    >>> gap_from({"F": 0.62, "M": 0.62})
    'gap among people scored 0.62 or above'
    >>> gap_from({"F": 0.62, "M": 0.62}, adjusted=True)
    'gap among people with an adjusted score of 0.62 or above'
    >>> gap_from({"F": -560.0, "M": -540.0}, turned=True)
    'gap among people scored at or below the start of their group (F 560, M 540)'
    """
    each = {group: 0.0 - start if turned else start for group, start in starts.items()}
    side = "below" if turned else "above"
    if len(set(each.values())) == 1:
        scored = "with an adjusted score of" if adjusted else "scored"
        return f"gap among people {scored} {next(iter(each.values())):.4g} or {side}"
    told = ", ".join(f"{group} {start:.4g}" for group, start in each.items())
    scored = "with an adjusted score" if adjusted else "scored"
    return f"gap among people {scored} at or {side} the start of their group ({told})"


def listed(names: Sequence[Any], most: int = 5) -> str:
    """List names, and say how many more there are."""
    shown = ", ".join(map(str, names[:most]))
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


def name_of(group: Any, columns: Sequence[str]) -> Any:
    """Call a group that is a number or a boolean by its column as well.

    Examples
    --------
    >>> name_of(0, ["black"]), name_of("true", ["black"]), name_of("F", ["sex"])
    ('black=0', 'black=true', 'F')
    >>> name_of("race=Other, sex=F", ["race", "sex"]), name_of("black=0, sex=F", ["black", "sex"])
    ('Other / F', 'black=0 / F')
    """
    values = values_of(group, columns)
    if len(values) > 1:
        return " / ".join(f"{c}={v}" if _is_bare(v) else v for c, v in zip(columns, values))
    if len(columns) > 1:
        return group
    return f"{columns[0]}={group}" if len(columns) == 1 and group is not None and _is_bare(str(group)) else group


def _is_bare(text: str) -> bool:
    """Whether a value says nothing without its column."""
    return re.fullmatch(r"[-+]?[0-9.]+|true|false", text, re.IGNORECASE) is not None


def values_of(group: Any, columns: Sequence[str]) -> list[str]:
    """Take the name of an intersection apart; that of one column is its value."""
    found = re.fullmatch(", ".join(f"{re.escape(column)}=(.*)" for column in columns), str(group))
    return [str(group)] if len(columns) < 2 or found is None else list(found.groups())
