"""What only a page says: labels of panels and tables, captions of pictures, the line beside the dial.

Markdown says the same. Names in braces are filled in; a translation replaces the tables of this file.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fairpot._svg import short
from fairpot._validation import wording
from fairpot.words.style import EVEN, POINTS, level, share

if TYPE_CHECKING:
    from fairpot.inference import Estimate
    from fairpot.report.content import Line, Method, Setting, Turned
    from fairpot.results import Finding

LANGUAGE = "en"
_NAMED, _TOLD = 3, 2  # so many groups are named in a label; so many strengths are told one by one
_SYMBOLS = {"lam": "λ"}

TEXT: dict[str, str] = {
    "title": "Fairness report",
    "subtitle": "{rows}, {groups} groups, {rate} with {outcome}",
    "skip": "Skip to the finding",
    "outcome": "the outcome",
    "finding": "What was found",
    "no script": "JavaScript is off: the page shows the reported setting.",
    # The queue
    "queue": "Everyone’s place in the list",
    "shaded": "Shaded: ",
    "acted": ", {acted} of rows",
    "filled": "Filled marks have {outcome}.",
    "scale": "The first places have more room.",
    "axis list": "place in the list (not linear)",
    "axis list low": "place (not linear)",
    "bold": "Bold: rows that cross the line.",
    "help": "A high place benefits: more above the line is a gain.",
    "harm": "A high place harms: fewer above the line is a gain.",
    "gains": ", gains",
    "loses": ", loses",
    "each": "One mark is {rows}; fewer than that have one mark.",
    "each of": "{rows} of {group}",
    "each one": "one row",
    "each about": "about {rows} rows",
    "each named": "One mark is {groups}; fewer than that have one mark.",
    "each many": "One mark is {least} to {most} rows of its group; fewer than that have one mark.",
    "of": "of {rows}",
    "png": "Download as PNG",
    "lanes left out": "The picture shows {drawn} of {groups} groups: those with the largest gaps.",
    "first": "1st",
    "last": "last",
    # Panels
    "panel gap": "How large is the gap?",
    "panel gap top": "How large is the gap in the top {alpha}?",
    "gap note": "Points of 100, 95% interval. Above 0 {higher} ranked higher, below 0 {lower}.",
    "gap note many": "Points of 100, 95% interval; of the largest it allows for the choice. Above 0 the first is "
    "ranked higher.",
    "gap aim": "Shaded: the target, at most {aim} points.",
    "gap more": "{left} more pairs: below.",
    "who above": "Who has a score of {value} or more?",
    "who below": "Who has a score of {value} or less?",
    "who top": "Who is in the top {value} of the list?",
    "who note": "Share and number of rows of each group, with and without {outcome}.",
    "who about": "Away from the reported setting counts are about right: they come from bins of scores.",
    "who more": "{left} more groups",
    "panel cost": "What does it cost?",
    "panel quality": "How good is the ranking?",
    "panel dial": "How far to go?",
    "auc to": "{name} {before} → ",
    "auc name top": "AUC in the top {alpha}:",
    "auc only": "AUC {auc}",
    "change sure": " ({change}, 95%: {low} to {high})",
    "worse": ", worse",
    "change": " ({change})",
    "change none": " (no visible change)",
    "auc means": "AUC: how often a row with {outcome} is ranked above one without. 0.5 is chance.",
    "calibration errors": "Calibration error: ",
    "calibration most": "Calibration error rises most in ",
    "calibration rises": "{group} {before} → {after}, worse",
    "calibration fine": "Calibration error does not rise.",
    "not probabilities": "The scores are not probabilities, so calibration is not shown.",
    "versus": "{first} over {second}",
    "few rows": "{text} (few rows)",
    "to": "{low} to {high}",
    "now": "now",
    "repaired": "repaired",
    "now repaired": "now → repaired",
    # The dial
    "strength": "Repair strength",
    "rule": "★ {rule}.",
    "rule given": "Set by hand: {dial} = {value}",
    "rule gap": "The highest {best} with a gap{among} of at most {gap} points",
    "rule loss": "The smallest gap{among} that costs at most {loss} of AUC",
    "rule both": "The highest {best} with a gap{among} of at most {gap} points that costs at most {loss} of AUC",
    "rule smallest": "The smallest gap{among}",
    "rule among": " among the {top} ranked highest",
    "rule in the top": " in the top {top}",
    "rule net benefit": "net benefit from {at} up",
    "rule sure": "{rule}, with {confidence} confidence",
    "rule saved": "As it was saved",
    "to original": "Original",
    "to reported": "★ Reported",
    "to best": "Smallest gap",
    "original": "original scores",
    "on": "repaired",
    "FairPOT": "λ = {value}: the top {share} of {moved}",
    "WassersteinRepair": "t = {value}: each group {share} of the way to a common distribution",
    "OptimalMerge": "theta = {value}: the odds of {moved} times this",
    "PostLogit": "slope = {value}: of the sigmoid for {moved}",
    "LogitShift": "shift = {value}: added to the log-odds of {moved}",
    "XOrder": "λ = {value}: weight of the gap in the search",
    "dial": "{dial} = {value}",
    "own": "{dial}: {values}",
    "own many": "{dial} = {low} to {high}, by group",
    "of each": "{alpha} of each group",
    "of many": "{groups} groups",
    "live": "Gap {gap} points{way}, AUC {auc}, {moved} scores changed.",
    "live way": " ({lower} ranked higher)",
    "live many": "Largest gap {gap} points, AUC {auc}, {moved} scores changed.",
    "live top": "Gap in the top {alpha}: {gap} points{way}, AUC there {auc}, {moved} scores changed.",
    # For the validator
    "validator": "For the validator",
    "validator lead": "Each part opens. Pictures and numbers follow the repair strength.",
    "validator lead audit": "Each part opens.",
    "part pairs": "Every pair of groups",
    "part tradeoff": "What each repair strength costs",
    "part scores": "Scores and how they change",
    "part scores audit": "Scores",
    "part roc": "Ranking across groups",
    "part calibration": "Calibration",
    "part who": "Who crosses the line",
    "part who audit": "Who is above the line, at any threshold",
    "part numbers": "All numbers",
    "part read": "How to read this, and what it does not show",
    "part origin": "Where this comes from",
    # Pictures
    "hint": "Point at the picture, or focus it and use the arrow keys, to read values.",
    "hint dial": "Click a point, or focus the picture and use the arrow keys, to set the repair strength.",
    "tradeoff": "AUC against the gap",
    "tradeoff costs": "Going from {before} to {after} points of gap costs {auc} of AUC",
    "tradeoff gains": "Going from {before} to {after} points of gap raises AUC by {auc}",
    "tradeoff none": "The gap is {before} points",
    "tradeoff note": "Each point of the curve is a repair strength. Hollow circles: no other strength has both a "
    "higher AUC and a smaller gap.",
    "tradeoff alt": "Curve of AUC against the gap. Original: gap {gap_before} points, AUC {auc_before}. At this "
    "setting: gap {gap_after} points, AUC {auc_after}.",
    "mark original": "original",
    "mark reported": "★ reported",
    "limit": "Dashed: no repair that keeps the order inside each group can be above it on these rows. It knows their "
    "outcomes; a repair fixed beforehand reaches less.",
    "top note": "The gap is that of the top {alpha} of the ranking, AUC that of all rows.",
    "band note": "Shaded in blue: the 95% interval of the gap at each strength.",
    "many note": "With more than two groups the gap is the largest of any pair.",
    "too few": "too few to draw",
    "few note": "Fewer than {least} rows of a group and outcome are too few to draw.",
    "scores": "Scores by group and outcome",
    "scores means": "With the outcome, the mean score of {first} is {one}, that of {second} {other}",
    "scores note": "Upwards: rows with the outcome. Downwards: rows without it.",
    "scores note repair": "Shaded: original scores. Line: at this setting.",
    "scores alt": "Histograms of scores by group. {means}",
    "mean": "{group} {label}: mean score {before}, now {after}.",
    "mean only": "{group} {label}: mean score {before}.",
    "map": "The largest change of a score is {largest}, in {group}",
    "map none": "No score changes",
    "map note": "Score after the repair over score before. Thin diagonal: unchanged.",
    "roc": "{first} over {second}: right in {there} of pairs. {second} over {first}: {back}",
    "roc note": "For every threshold: the share with the outcome above it in one group, against the share without it "
    "in the other. The gap is 0 where both areas are equal. Faint: original scores.",
    "errors": "Calibration error: {groups}",
    "errors none": "Scores that are not probabilities have no calibration error",
    "calibration note": "On the diagonal a score of 0.3 means that 30 of 100 have the outcome. Below it, scores are "
    "too high. Upright lines: 95% intervals.",
    "calibration note turned": "On the diagonal a score of 0.7 means that 30 of 100 have the outcome. Below it, scores "
    "are too low. Upright lines: 95% intervals.",
    "calibration note repair": "Faint: original scores.",
    "axis largest": "largest gap in points",
    "axis gap two": "gap in points",
    "axis auc": "AUC",
    "axis top": "{name}, top {alpha}",
    "axis way": "above 0: {higher} ranked higher",
    "axis score": "score",
    "axis before": "score before",
    "axis after": "score after",
    "axis share": "share of rows",
    "axis false": "share above, without the outcome",
    "axis true": "share above, with the outcome",
    "axis mean": "mean score",
    "axis mean turned": "1 − mean score",
    "axis rate": "share with the outcome",
    # Tables
    "forest": "Gaps of pairs in points, with 95% intervals",
    "pairs": "xAUC and gap of pairs",
    "pairs note": "Each interval is of one pair by itself; that of the largest gap allows for the choice.",
    "pairs left out": "{left} more pairs have smaller gaps; the JSON form has them.",
    "groups left out": "{left} more groups are in the JSON form of this report.",
    "who lead": "Choose where rows are acted on: from a score on, or the top of the list.",
    "from above": "from a score up",
    "from below": "from a score down",
    "by top": "the top of the list",
    "choose kind": "Rows are acted on",
    "choose value": "Where the line is",
    "line above": "score {value} and above",
    "line below": "score {value} and below",
    "line top": "the top {value}",
    "rows above": "Rows above the line",
    "rows by weight": "Rows, by weight",
    "with": "with the outcome",
    "without": "without it",
    "it": "it",
    "group with": "{group}, with {outcome}",
    "group without": "{group}, without",
    "moves": "Scores that change",
    "changes": "The largest changes at the reported setting",
    "numbers": "Before and at this setting, with 95% intervals",
    "numbers audit": "Numbers of these rows, with 95% intervals",
    "away": "Away from the reported setting calibration has no interval: none is computed.",
    "effect": "What changes at the reported setting, with 95% intervals",
    "effect note": "Before and after are the same rows, so a change is surer than the difference of two intervals. "
    "Changes at other strengths have no interval: none is computed there.",
    "curve": "The curve as a table",
    "stages": "Calibration by group at the reported setting",
    "stages note": "Mean score minus rate: above 0, scores promise more than happens. By chance: the error that right "
    "scores of so many rows would show. Left over: the squared error that a map of the group's own would save, which "
    "would bring the gap back.",
    "all rows": "all rows",
    "before": "original",
    "recalibrated": "recalibrated",
    "row auc": "AUC of all rows",
    "row auc top": "AUC in the top {alpha}",
    "row gap": "Gap, {higher} over {lower}, points",
    "row gap top": "Gap in the top {alpha}, {higher} over {lower}, points",
    "row largest": "Largest gap of any pair, points",
    "row largest top": "Largest gap of any pair in the top {alpha}, points",
    "row xauc": "{first} with the outcome above {second} without it",
    "row inside": "AUC inside {group}",
    "row bias": "Mean score minus rate, {group}",
    "row error": "Calibration error, {group}",
    # What to read with care, the model card, where it comes from
    "care": "Read with care",
    "care more": "{left} more",
    "card": "About this score",
    "card purpose": "For",
    "card owner": "Owner",
    "card not_for": "Not for",
    "method": "Method",
    "no method": "none, audit only",
    "certificate": "Certificate",
    "reference": "Reference group",
    "parameters": "Parameters",
    "chosen by": "Rule",
    "source": "Source",
    "columns": "Columns",
    "names": "Names cut above",
    "weights": "Weights",
    "ties": "Ties",
    "ties half": "equal scores count as half a win",
    "ties strict": "equal scores count as no win",
    "traced": "Curve",
    "traced exact": "exact, {points} distinct settings; the slider has {stops} stops",
    "traced grid": "a grid of {points} settings; the slider has {stops} stops",
    "version": "fairpot version",
    "created": "Made on",
    "command": "To make it again",
    "privacy": "Privacy",
    "privacy counts": "This file holds counts, no person's row. A count of very few rows can still tell about them: "
    "look before you publish it. It makes no connection to anywhere.",
    "privacy ids": "This file names the people with the largest changes, because an id column was asked for. Handle it "
    "as you handle that column. It makes no connection to anywhere.",
    "read": "How to read this",
    "not": "What it does not show",
}

# The heads of tables, by what stands below them.
HEADS: dict[str, tuple[str, ...]] = {
    "pairs": ("Group", "Other group", "Group over other", "Other over group", "Gap, points", "95% interval"),
    "by outcome": ("Group", "Rows"),
    "by group": ("Group", "Rows", "with it", "without"),
    "share": ("Share and rows",),
    "both": ("now", "repaired"),
    "crossing": ("Group", "Outcome", "Rows", "Above now"),
    "crossing repair": ("Repaired", "Newly above", "No longer above"),
    "moves": (
        *("Group", "Rows", "Changed", "Up", "Down"),
        *("Mean change of the changed", "Mean change of all", "Largest change"),
    ),
    "changes": ("Id", "Group", "Score before", "Score after", "Largest change"),
    "numbers": ("Number", "Before", "Repaired"),
    "numbers audit": ("Number", "Value"),
    "effect": ("Number", "Before", "Repaired", "Change"),
    "stages": ("group", "scores", "mean score − rate", "from", "to", "error", "by chance", "left over"),
}

HOW_TO_READ = (
    "A pair is one row with the outcome and one without. A good score ranks the first above the second. AUC is the "
    "share of pairs in which it does; 0.5 is chance.",
    "xAUC takes the two rows from different groups. If the two directions differ, cases in one group are more often "
    "ranked below non-cases in the other. That difference is the gap, in points of 100; 0 is equal.",
    "95% interval: if the study were repeated many times, 95 of 100 such ranges would contain the true value.",
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
    return POINTS.none if value is None else f"{100 * value:.{digits}f}%"


def rate(part: float, whole: float) -> str:
    """Write a share of rows in whole hundredths, halves upwards, as the page's script does."""
    return f"{math.floor(100 * part / whole + 0.5)}%" if whole else POINTS.none


def score(value: float | None, sign: str = "") -> str:
    """Write a score, of whatever size, in three digits; with ``sign="+"`` a change of one."""
    return POINTS.none if value is None else f"{value:{sign if value else ''}.3g}"


def count(value: float | None) -> str:
    """Write a number of rows, which weights may have made a fraction."""
    return POINTS.none if value is None else wording.shown_rows(value)


def limits(found: Estimate | None, auc: bool = False, sign: str = "") -> str:
    """Write the interval of a number in brackets; nothing where there is none."""
    if found is None or found.reason is not None or found.low != found.low:
        return ""
    write = POINTS.auc if auc else POINTS.gap
    return f"({say('to', low=write(found.low, sign), high=write(found.high, sign))})"


def with_limits(found: Estimate | None, auc: bool = False, sign: str = "") -> str:
    """Write a number with its interval in brackets."""
    write = POINTS.auc if auc else POINTS.gap
    return f"{write(found, sign)} {limits(found, auc, sign)}".strip()


def top_of(finding: Finding) -> str:
    """Write the top that a report speaks of: of the whole list, or of each group."""
    alpha = share(finding.alpha or 0.0)
    return say("of each", alpha=alpha) if finding.region == "group" else alpha


def line_name(line: Line, turned: bool, key: str = "line") -> str:
    """Name a line; with ``key="who"`` ask who is above it. ``turned`` if low scores mean high risk."""
    if line.top is not None:
        return say(f"{key} top", value=share(line.top))
    return say(f"{key} {'below' if turned else 'above'}", value=score(line.threshold))


def live_line(setting: Setting, finding: Finding, many: bool, gap: float | None) -> str:
    """Say the few numbers of a setting; a gap below 0 says in words what its sign means."""
    way = "" if many or gap is None or gap > -EVEN else say("live way", lower=finding.ranked_lower)
    fields = {"gap": POINTS.gap(gap), "auc": POINTS.auc(setting.told.auc), "moved": count(setting.moved), "way": way}
    if setting.top is not None:
        return say("live top", **fields, alpha=top_of(finding))
    return say("live many" if many else "live", **fields)


def setting_name(dial: Turned, method: Method, place: int, whole: bool = False) -> str:
    """Name one setting; where many groups have strengths of their own, between which these lie, or all."""
    setting = dial.settings[place]
    if place == 0:
        return TEXT["original"]
    if setting.value is None or not dial.name:
        return TEXT["on"]
    if setting.strengths is not None:
        symbol, values = _SYMBOLS.get(method.strength, method.strength), [each.value for each in setting.strengths]
        if len(values) > _TOLD and not whole:
            return say("own many", dial=symbol, low=f"{min(values):.2g}", high=f"{max(values):.2g}")
        shown = ", ".join(f"{short(each.group, 16)} {each.value:.2g}" for each in setting.strengths)
        return say("own", dial=symbol, values=shown)
    many = len(method.moved) > _NAMED
    moved = say("of many", groups=len(method.moved)) if many else " + ".join(map(str, method.moved))
    fields = {"value": f"{setting.value:.3g}", "share": f"{100 * setting.value:.3g}%", "dial": dial.name}
    return say(method.name if method.name in TEXT else "dial", moved=moved, **fields)


def rule(dial: Turned, method: Method) -> str:
    """Say which rule set the repair strength."""
    given = method.parameters
    loss, top, at = given.get("max_auc_loss"), given.get("top"), given.get("net_benefit_at")
    among = "" if top is None else say("rule among", top=count(top)) if isinstance(top, int) else ""
    among = say("rule in the top", top=share(top)) if isinstance(top, float) else among
    best = TEXT["axis auc"] if at is None else say("rule net benefit", at=at)
    fields = {"loss": f"{loss or 0:g}", "among": among, "best": best}
    if given.get("max_gap") is not None:
        gap = POINTS.gap(given["max_gap"])
        said = say("rule gap" if loss is None else "rule both", gap=gap, **fields)
    elif loss is not None:
        said = say("rule loss", **fields)
    elif dial.name and given.get(dial.name) is not None:
        return say("rule given", dial=dial.name, value=given[dial.name])
    else:
        said = say("rule smallest", **fields) if dial.name else TEXT["rule saved"]
    sure = given.get("confidence")
    return said if sure is None else say("rule sure", rule=said, confidence=level(sure))


def tradeoff_title(before: Setting, now: Setting) -> str:
    """Say what the gap of a setting costs."""
    was, later = before.told.gap, now.told.gap
    if was is None or later is None or before.all.auc is None or now.all.auc is None:
        return TEXT["tradeoff"]
    fields = {
        "before": POINTS.gap(was),
        "after": POINTS.gap(later),
        "auc": POINTS.auc(abs(now.all.auc - before.all.auc)),
    }
    if fields["before"] == fields["after"]:
        return say("tradeoff none", **fields)
    return say("tradeoff costs" if now.all.auc <= before.all.auc else "tradeoff gains", **fields)


def calibration_title(setting: Setting) -> str:
    """Name the calibration error of the groups, the largest first."""
    known = [
        (g.expected_calibration_error, g.group) for g in setting.groups if g.expected_calibration_error is not None
    ]
    if not known:
        return TEXT["errors none"]
    known.sort(key=lambda each: -each[0])
    listed = ", ".join(f"{group} {POINTS.auc(error)}" for error, group in known[:3])
    return say("errors", groups=listed + (", …" if len(known) > 3 else ""))


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
        return "", "", TEXT["not probabilities"]
    known.sort(key=lambda each: each[1] - (1.0 if each[2] is None else each[2]))
    worse, kept = [], []
    for group, was, then in known:
        ends = POINTS.auc(was), POINTS.auc(then)
        if ends[0] != ends[1] and (then is None or then > was):
            worse.append(say("calibration rises", group=group, before=ends[0], after=ends[1]))
        else:
            kept.append(f"{group} {' → '.join(dict.fromkeys(ends))}")
    if len(known) > most and now is not before:
        return (TEXT["calibration most"], worse[0], ".") if worse else ("", "", TEXT["calibration fine"])
    rest = ", ".join(kept[: most - len(worse)])
    return TEXT["calibration errors"], ", ".join(worse[:most]), f"{'; ' if worse and rest else ''}{rest}."
