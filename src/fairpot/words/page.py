"""What only a page says: captions of pictures, notes below tables, the line beside the dial.

Markdown says the same. Names in braces are filled in. Headings and labels stand where they are shown.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fairpot._defaults import LEVEL
from fairpot._svg import short
from fairpot._validation import wording
from fairpot.words import OF_ALL_PAIRS
from fairpot.words.style import EVEN, FRACTIONS, among, level, named_top

if TYPE_CHECKING:
    from fairpot.inference import Estimate
    from fairpot.report.content import Line, Method, Setting, Turned
    from fairpot.results.ranking import Ranking

_NAMED, _TOLD = 3, 2  # so many groups are named in a label; so many strengths are told one by one
# How sure the intervals of a page are, as it says beside each.
SURE = level(LEVEL)

TEXT: dict[str, str] = {
    "title": "Fairness report",
    "subtitle": "{rows}, {groups} groups, {rate} with {outcome}",
    "outcome": "the outcome",
    # The queue
    "acted": ", {acted} of rows",
    "filled": "Filled marks have {outcome}.",
    "scale": "The first places have more room.",
    "bold": "Bold: rows that cross the line.",
    "help": "A high place benefits: more above the line is a gain.",
    "harm": "A high place harms: fewer above the line is a gain.",
    "each": "One mark is {rows}; fewer than that have one mark.",
    "each named": "One mark is {groups}; fewer than that have one mark.",
    "each many": "One mark is {least} to {most} rows of its group; fewer than that have one mark.",
    "lanes left out": "The picture shows {drawn} of {groups} groups: those with the largest gaps.",
    # Panels
    "panel gap top": "How large is the gap {among}?",
    "gap note": f"With {SURE} intervals. Above 0 {{higher}} ranked higher, below 0 {{lower}}.",
    "gap note many": f"With {SURE} intervals, which hold for all pairs at once. Above 0 the first is ranked higher.",
    "gap aim": "Shaded: the target, at most {aim}.",
    "gap more": "{left} more pairs: below.",
    "who note": "Share and number of rows of each group, with and without {outcome}.",
    "auc means": "AUC: how often a row with {outcome} is ranked above one without. 0.5 is chance.",
    "few rows": "{text} (few rows)",
    "repaired": "repaired",
    # The dial
    "original": "original scores",
    # Pictures
    "tradeoff note": "Each point of the curve is a repair strength. Hollow circles: no other strength has both a "
    "higher AUC and a smaller gap.",
    "tradeoff alt": "Curve of AUC against the gap. Original: gap {gap_before}, AUC {auc_before}. At this "
    "setting: gap {gap_after}, AUC {auc_after}.",
    "limit": "Dashed: no repair that keeps the order inside each group can be above it on these rows. It knows their "
    "outcomes; a repair fixed beforehand reaches less.",
    "top note": "The gap is that {among}, AUC that of all rows.",
    "band note": f"Shaded in blue: the {SURE} interval of the gap at each strength.",
    "many note": "With more than two groups it is the largest clear gap of those that are not small; else the largest.",
    "few note": "Fewer than {least} rows of a group and outcome are too few to draw.",
    "scores means": "With the outcome, the mean score of {first} is {one}, that of {second} {other}",
    "scores note": "Upwards: rows with the outcome. Downwards: rows without it.",
    "scores note repair": "Shaded: original scores. Line: at this setting.",
    "mean": "{group} {label}: mean score {before}, now {after}.",
    "mean only": "{group} {label}: mean score {before}.",
    "map": "The largest change of a score is {largest}, in {group}",
    "map note": "Score after the repair over score before. Thin diagonal: unchanged.",
    "roc": "{first} over {second}: right in {there} of pairs. {second} over {first}: {back}",
    "roc note": "For every threshold: the share with the outcome above it in one group, against the share without it "
    "in the other. The gap is 0 where both areas are equal. Faint: original scores.",
    "calibration note": "On the diagonal a score of 0.3 means that 30 of 100 have the outcome. Below it, scores are "
    f"too high. Upright lines: {SURE} intervals.",
    "calibration note turned": "On the diagonal a score of 0.7 means that 30 of 100 have the outcome. Below it, scores "
    f"are too low. Upright lines: {SURE} intervals.",
    "calibration note repair": "Faint: original scores.",
    # Tables
    "pairs note": OF_ALL_PAIRS,
    "pairs left out": "{left} more pairs have smaller gaps; the JSON form has them.",
    "groups left out": "{left} more groups are in the JSON form of this report.",
    "effect note": "Before and after are the same rows, so a change is surer than the difference of two intervals. "
    "Changes at other strengths have no interval: none is computed there.",
    # What to read with care, the model card, where it comes from
    "card purpose": "For",
    "card owner": "Owner",
    "card not_for": "Not for",
    "traced exact": "exact, {points} distinct settings; the slider has {stops} stops",
    "traced grid": "a grid of {points} settings; the slider has {stops} stops",
    "privacy counts": "This file holds counts, no person's row. A count of very few rows can still tell about them: "
    "look before you publish it. It makes no connection to anywhere.",
}

HOW_TO_READ = (
    "A pair is one row with the outcome and one without. A good score ranks the first above the second. AUC is the "
    "share of pairs in which it does; 0.5 is chance.",
    "xAUC takes the two rows from different groups. If the two directions differ, cases in one group are more often "
    "ranked below non-cases in the other. That difference is the gap; 0 is equal.",
    f"{SURE} interval: if the study were repeated many times, {100 * LEVEL:g} of 100 such ranges would contain the "
    "true value.",
)
HOW_TO_READ_REPAIR = (
    "The repair changes a score by its value and its group alone. It needs no new model.",
    "Where the groups have the outcome at different rates, closing the gap ranks people as if the rates were equal. "
    "Whether that is wanted is not a question of statistics.",
    "The repair reads the group when it scores a person. In some settings the law forbids that: see "
    "fairpot.github.io/fairpot/understand/law.html.",
)
NOT_SHOWN = (
    "Causes: a gap does not say why it exists, nor that the outcome was recorded alike in all groups.",
    "Groups not looked at, and intersections of those that were.",
    "Thresholds chosen elsewhere, and what is done above them.",
    "The future: the numbers are those of these rows. Check again on new ones.",
)


def say(key: str, **values: Any) -> str:
    """Fill in a text."""
    return TEXT[key].format(**values)


def percent(value: float | None, digits: int = 1) -> str:
    """Write a share in hundredths; what cannot be measured is a dash."""
    return FRACTIONS.none if value is None else f"{100 * value:.{digits}f}%"


def rate(part: float, whole: float) -> str:
    """Write a share of rows in whole hundredths, halves upwards, as the page's script does."""
    return f"{math.floor(100 * part / whole + 0.5)}%" if whole else FRACTIONS.none


def score(value: float | None, sign: str = "") -> str:
    """Write a score, of whatever size, in three digits; with ``sign="+"`` a change of one."""
    return FRACTIONS.none if value is None else f"{value:{sign if value else ''}.3g}"


def count(value: float | None) -> str:
    """Write a number of rows, which weights may have made a fraction."""
    return FRACTIONS.none if value is None else wording.shown_rows(value)


def limits(found: Estimate | None, auc: bool = False, sign: str = "") -> str:
    """Write the interval of a number in brackets; nothing where there is none."""
    if found is None or found.reason is not None or found.low != found.low:
        return ""
    write = FRACTIONS.auc if auc else FRACTIONS.gap
    return f"({write(found.low, sign)} to {write(found.high, sign)})"


def with_limits(found: Estimate | None, auc: bool = False, sign: str = "") -> str:
    """Write a number with its interval in brackets."""
    write = FRACTIONS.auc if auc else FRACTIONS.gap
    return f"{write(found, sign)} {limits(found, auc, sign)}".strip()


def among_top(ranking: Ranking) -> str:
    """Say of whom numbers of the top that a report speaks of are: of the whole list, or of each group."""
    return among(ranking.top or 0.0, ranking.top_of)


def line_name(line: Line, turned: bool, key: str = "line") -> str:
    """Name a line; with ``key="who"`` ask who is above it. ``turned`` if low scores mean high risk."""
    if line.top is not None:
        top = named_top(line.top)
        return f"Who is {among(line.top)} of the list?" if key == "who" else top
    at = score(line.threshold)
    if key == "who":
        return f"Who has a score of {at} or {'less' if turned else 'more'}?"
    return f"score {at} and {'below' if turned else 'above'}"


def live_line(setting: Setting, told: Ranking, lower: Any, many: bool, gap: float | None) -> str:
    """Say the few numbers of a setting; a gap below 0 says in words that the group ranked lower before now leads."""
    way = "" if many or gap is None or gap > -EVEN else f" ({lower} ranked higher)"
    size, auc = f"{FRACTIONS.gap(gap)}{way}", FRACTIONS.auc(setting.told.auc)
    said = f"{'Overall gap' if many else 'Gap'} {size}, AUC {auc}"
    if told.top is not None:
        said = f"Gap {among_top(told)}: {size}, AUC there {auc}"
    return f"{said}, {count(setting.moved)} scores changed."


def setting_name(dial: Turned, method: Method, place: int, *, symbol: str, words: str, whole: bool = False) -> str:
    """Name one setting in the method's own words; where groups have strengths of their own, their range, or all."""
    setting = dial.settings[place]
    if place == 0:
        return TEXT["original"]
    if setting.value is None or not dial.name:
        return TEXT["repaired"]
    if setting.strengths is not None:
        values = [each.value for each in setting.strengths]
        if len(values) > _TOLD and not whole:
            return f"{symbol} = {min(values):.2g} to {max(values):.2g}, by group"
        return f"{symbol}: " + ", ".join(f"{short(each.group, 16)} {each.value:.2g}" for each in setting.strengths)
    moved = f"{len(method.moved)} groups" if len(method.moved) > _NAMED else " + ".join(map(str, method.moved))
    fields = {"value": f"{setting.value:.3g}", "share": f"{100 * setting.value:.3g}%", "dial": symbol}
    return words.format(moved=moved, **fields)


def rule(dial: Turned, method: Method) -> str:
    """Say which rule set the repair strength."""
    given = method.parameters
    loss, top, at = given.get("max_auc_loss"), given.get("top"), given.get("net_benefit_at")
    where = "" if top is None else f" {among(top)}"
    costs = "" if loss is None else f" that costs at most {loss:g} of AUC"
    said = f"The smallest gap{where}{costs}"
    if given.get("max_gap") is not None:
        best = "AUC" if at is None else f"net benefit from {at} up"
        said = f"The highest {best} with a gap{where} of at most {given['max_gap']:g}{costs}"
    elif loss is None and dial.name and given.get(dial.name) is not None:
        return f"Set by hand: {dial.name} = {given[dial.name]}"
    elif loss is None and not dial.name:
        said = "As it was saved"
    sure = given.get("confidence")
    return said if sure is None else f"{said}, with {level(sure)} confidence"


def tradeoff_title(before: Setting, now: Setting) -> str:
    """Say what the gap of a setting costs."""
    was, later = before.told.gap, now.told.gap
    if was is None or later is None or before.all.auc is None or now.all.auc is None:
        return "AUC against the gap"
    ends, auc = (FRACTIONS.gap(was), FRACTIONS.gap(later)), FRACTIONS.auc(abs(now.all.auc - before.all.auc))
    if ends[0] == ends[1]:
        return f"The gap is {ends[0]}"
    costs = f"costs {auc} of AUC" if now.all.auc <= before.all.auc else f"raises AUC by {auc}"
    return f"Going from {ends[0]} to {ends[1]} of gap {costs}"


def calibration_title(setting: Setting) -> str:
    """Name the calibration error of the groups, the largest first."""
    known = [
        (g.expected_calibration_error, g.group) for g in setting.groups if g.expected_calibration_error is not None
    ]
    if not known:
        return "Scores that are not probabilities have no calibration error"
    known.sort(key=lambda each: -each[0])
    listed = ", ".join(f"{group} {FRACTIONS.auc(error)}" for error, group in known[:3])
    return f"Calibration error: {listed}{', …' if len(known) > 3 else ''}"


def calibration_cost(before: Setting, now: Setting, small: Sequence[Any], most: int = 3) -> tuple[str, str, str]:
    """Say whose calibration error rises, the one that rises most first, and of few groups whose does not.

    What comes before it, what got worse, and what comes after it.
    """
    known = [
        (short(was.group, 24), was.expected_calibration_error, then.expected_calibration_error)
        for was, then in zip(before.groups, now.groups)
        if was.expected_calibration_error is not None and (was.group not in small or len(small) == len(before.groups))
    ]
    if not known:
        return "", "", "The scores are not probabilities, so calibration is not shown."
    known.sort(key=lambda each: each[1] - (1.0 if each[2] is None else each[2]))
    worse: list[str] = []
    kept: list[str] = []
    for group, was, then in known:
        ends = FRACTIONS.auc(was), FRACTIONS.auc(then)
        rises = ends[0] != ends[1] and (then is None or then > was)
        (worse if rises else kept).append(f"{group} {' → '.join(dict.fromkeys(ends))}{', worse' * rises}")
    if len(known) > most and now is not before:
        fine = "", "", "Calibration error does not rise."
        return ("Calibration error rises most in ", worse[0], ".") if worse else fine
    rest = ", ".join(kept[: most - len(worse)])
    return "Calibration error: ", ", ".join(worse[:most]), f"{'; ' if worse and rest else ''}{rest}."
