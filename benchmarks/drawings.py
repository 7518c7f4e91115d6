"""The drawings of docs/understand/how-fairpot-works.md: what a gap is, and what a repair does, on twenty people.

python benchmarks/drawings.py [--folder docs/images]

Positions and counts are computed by fairpot, so a drawing shows what the package does. Colours are those of displays.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fairpot import FairPOT
from fairpot.display.axes import COLOURS
from fairpot.exceptions import SmallGroupWarning
from fairpot.metrics import xauc

ROOT = Path(__file__).resolve().parents[1]
WIDTH, LEFT, RIGHT, RADIUS = 720, 46, 700, 9
INK, SOFT, RULE = "#1a1c20", "#4d535e", "#c9ced6"
COLOUR = {"F": COLOURS[0], "M": COLOURS[1]}  # as the report has them
SEX = np.repeat(["M", "F"], 10)
MEN = [0.95, 0.88, 0.80, 0.71, 0.63, 0.55, 0.46, 0.38, 0.27, 0.15]
WOMEN = [0.77, 0.66, 0.59, 0.50, 0.42, 0.35, 0.29, 0.21, 0.13, 0.06]
SCORE = np.array(MEN + WOMEN)
Y = np.array([int(each) for each in "11110100000011110100"])
SHOWN = (0.0, 0.4, 1.0)


def across(score: float) -> float:
    return LEFT + (RIGHT - LEFT) * score


def text(x: float, y: float, words: str, *, size: int = 14, colour: str = INK, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{colour}" text-anchor="{anchor}">{words}</text>'


def line(x1: float, y1: float, x2: float, y2: float, colour: str, *, width: float = 1.2, more: str = "") -> str:
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {ends} stroke="{colour}" stroke-width="{width}" {more}/>'


def person(score: float, y: float, group: str, outcome: int) -> str:
    fill = COLOUR[group] if outcome else "white"
    place = f'cx="{across(score):.1f}" cy="{y:.1f}" r="{RADIUS}"'
    return f'<circle {place} fill="{fill}" stroke="{COLOUR[group]}" stroke-width="2.5"/>'


def row(group: str, y: float, score: NDArray[np.float64]) -> list[str]:
    """Draw one group along the scale, with its name."""
    scale = [line(LEFT, y, RIGHT, y, RULE), text(8, y + 5, group, size=16, colour=COLOUR[group])]
    return scale + [person(score[i], y, group, Y[i]) for i in np.flatnonzero(group == SEX)]


def counted(score: NDArray[np.float64]) -> tuple[float, float, str]:
    """Return how many of 25 pairs each group wins, and the sentence about it."""
    men = round(25 * xauc(Y, score, sensitive_features=SEX, positive="M", negative="F"), 6)
    women = round(25 * xauc(Y, score, sensitive_features=SEX, positive="F", negative="M"), 6)
    gap = f"Gap {abs(men - women) / 25:.2f}{', overshoot' if women > men else ''}."
    return men, women, f"xAUC of M over F: {men:g} of 25. F over M: {women:g} of 25. {gap}"


def legend(y: float) -> list[str]:
    marks = [f'<circle cx="{x}" cy="{y}" r="7" fill="{f}" stroke="{SOFT}" stroke-width="2.5"/>' for x, f in KEYS]
    words = [text(x + 14, y + 5, w, colour=SOFT) for (x, _), w in zip(KEYS, ("with the outcome", "without it"))]
    return [*marks, *words, text(RIGHT, y + 5, "higher score →", colour=SOFT, anchor="end")]


KEYS = ((LEFT + 7, SOFT), (LEFT + 170, "white"))


def picture(height: float, title: str, parts: list[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" font-family="sans-serif">'
    )
    back = f'<rect width="{WIDTH}" height="{height}" fill="white"/>'
    return "\n".join([head, f"<title>{title}</title>", back, *parts, "</svg>", ""])


def wrong_pairs() -> str:
    """Draw a line for every pair that the score ranks in the wrong order: a case below the other group's non-case."""
    places = {"M": 80.0, "F": 190.0}
    lines, wrong = [], dict.fromkeys(places, 0)
    for case in np.flatnonzero(Y == 1):
        for other in np.flatnonzero((Y == 0) & (SEX[case] != SEX) & (SCORE[case] < SCORE)):
            group = str(SEX[case])
            wrong[group] += 1
            ends = across(SCORE[case]), places[group], across(SCORE[other]), places[str(SEX[other])]
            lines.append(line(*ends, COLOUR[group], more='stroke-dasharray="5 3"' if group == "M" else ""))
    words = f"{wrong['F']} pairs in which a woman with the outcome is ranked below a man without it"
    reverse = f"{wrong['M']} pairs in which a man with the outcome is ranked below a woman without it (dashed)"
    parts = [text(LEFT, 26, words, colour=COLOUR["F"]), text(LEFT, 46, reverse, colour=COLOUR["M"]), *lines]
    parts += row("M", places["M"], SCORE) + row("F", places["F"], SCORE)
    assert (25 - wrong["M"], 25 - wrong["F"]) == counted(SCORE)[:2]
    return picture(250, "Each line is a pair in the wrong order", [*parts, *legend(232)])


def repairs() -> str:
    """Draw the same people at three strengths of the repair: where each stands, and from where she came."""
    parts: list[str] = []
    for place, lam in enumerate(SHOWN):
        fitted = FairPOT(lam=lam, reference="M").fit(SCORE, Y, sensitive_features=SEX)
        score = fitted.transform(SCORE, sensitive_features=SEX)
        top = 150 * place
        moved = int(np.sum(score != SCORE))
        changed = {0: "nobody moves", 10: "all of F move"}.get(moved, f"the {moved} highest in F move")
        parts += [text(LEFT, top + 28, f"λ = {lam:g}: {changed}. {counted(score)[2]}")]
        for i in np.flatnonzero(score != SCORE):
            ends = across(SCORE[i]), top + 118.0, across(score[i]), top + 118.0 - RADIUS
            parts.append(line(*ends, COLOUR["F"], width=1.6))
            parts.append(f'<circle cx="{ends[0]:.1f}" cy="{top + 118}" r="3" fill="{COLOUR["F"]}"/>')
        parts += row("M", top + 60.0, SCORE) + row("F", top + 96.0, score)
    return picture(490, "The same people at three strengths of the repair", [*parts, *legend(472)])


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the drawings of docs/understand/how-fairpot-works.md.")
    parser.add_argument("--folder", type=Path, default=ROOT / "docs" / "images")
    options = parser.parse_args()
    warnings.simplefilter("ignore", SmallGroupWarning)  # twenty people are few, and meant to be
    for name, drawn in (("wrong-pairs", wrong_pairs()), ("repair-strengths", repairs())):
        (options.folder / f"{name}.svg").write_text(drawn, encoding="utf-8")


if __name__ == "__main__":
    main()
