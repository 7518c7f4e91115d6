"""The line below a figure: over how many repetitions, how ties count, and what the maps were fitted on."""

from __future__ import annotations

from collections.abc import Mapping

from fairpot_paper.figures.rows import Places, Rows
from fairpot_paper.sets import DATA_SETS

MAPS = (
    "Upper row: maps fitted on the model's scores of its own training rows (in-sample), as in the paper; "
    "lower row: on out-of-fold scores of them (cross-fitted)."
)
_TIES = {"strict": "Ties: strict (a tied pair counts 0).", "half": "Ties: half (a tied pair counts 1/2)."}


def counted(rows: Rows, shown: Mapping[str, Places]) -> dict[str, tuple[int, int]]:
    """Return, for each data set, the least and the greatest number of repetitions behind its points."""
    found = {}
    for name, places in shown.items():
        n = rows.values("n", places)
        found[name] = (int(n.min()), int(n.max()))
    return found


def footer_of(counts: Mapping[str, tuple[int, int]], ties: str, bars: bool, source: str) -> str:
    """Write the footer.

    Examples
    --------
    >>> footer_of({"bank": (20, 20), "compas": (19, 20)}, "half", False, "Maps: in-sample.")
    'Means over 20 seeds (Bank), 19 to 20 seeds (COMPAS). Ties: half (a tied pair counts 1/2). Maps: in-sample.'
    """
    named: dict[str, list[str]] = {}
    for name, (least, most) in counts.items():
        unit = "resample of the test rows" if DATA_SETS[name].fixed else "seed"
        number = f"{most}" if least == most else f"{least} to {most}"
        plural = unit if most == 1 else unit.replace("seed", "seeds").replace("resample", "resamples")
        named.setdefault(f"{number} {plural}", []).append(DATA_SETS[name].title)
    parts = [text if len(named) == 1 else f"{text} ({'; '.join(titles)})" for text, titles in named.items()]
    shown = " Bars: one standard deviation." if bars and any(most > 1 for _, most in counts.values()) else ""
    return " ".join(part for part in (f"Means over {', '.join(parts)}.{shown}", _TIES[ties], source) if part)
