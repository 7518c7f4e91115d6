"""What is said, in one place. Every sentence about a number stands here or in a file beside this one; views choose."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fairpot._arguments import argument
from fairpot._defaults import SMALL, Meaning
from fairpot._validation import wording
from fairpot.words.notes import FOLLOWED as FOLLOWED
from fairpot.words.notes import Note as Note
from fairpot.words.notes import written as written
from fairpot.words.statements import OF_ALL_PAIRS as OF_ALL_PAIRS
from fairpot.words.statements import asked_and_granted as asked_and_granted
from fairpot.words.statements import badge as badge
from fairpot.words.statements import both_of_hundred as both_of_hundred
from fairpot.words.statements import caveat as caveat
from fairpot.words.statements import certificate as certificate
from fairpot.words.statements import certified_gap as certified_gap
from fairpot.words.statements import failed_by_chance as failed_by_chance
from fairpot.words.statements import meaning as meaning
from fairpot.words.statements import ranked as ranked
from fairpot.words.statements import say_meaning as say_meaning
from fairpot.words.statements import sentence as sentence
from fairpot.words.statements import statement as statement
from fairpot.words.statements import what_next as what_next
from fairpot.words.style import EVEN as EVEN
from fairpot.words.style import FRACTIONS as FRACTIONS
from fairpot.words.style import Style as Style
from fairpot.words.style import among as among
from fairpot.words.style import auc_name as auc_name
from fairpot.words.style import beside as beside
from fairpot.words.style import gap_from as gap_from
from fairpot.words.style import gap_name as gap_name
from fairpot.words.style import level as level
from fairpot.words.style import listed as listed
from fairpot.words.style import name_of as name_of
from fairpot.words.style import named_top as named_top
from fairpot.words.style import share as share

if TYPE_CHECKING:
    from fairpot.inference import Change, Verdict
    from fairpot.inference.same_rate import RateTest
    from fairpot.results.audited import Audit
    from fairpot.results.concordances import PairConcordance
    from fairpot.results.effect import Effect
    from fairpot.results.rates import Action, Moved, Rates, RatioVerdict


def concordant(pair: PairConcordance, tau: float | None, style: Style = FRACTIONS) -> str:
    """Say how often the earlier of a pair was ranked higher, in both directions."""
    first, second = pair.first, pair.second
    if pair.signed_gap != pair.signed_gap:
        return f"Concordance of {first} and {second}{_up_to(tau)} cannot be measured: {pair.signed_gap.reason}."
    there, back = both_of_hundred(100 * pair.xci_first, 100 * pair.xci_second)
    start, earlier, later = "Someone", "who comes first", "comes later"
    if tau is not None:
        start, earlier, later = f"Up to {tau:g}, someone", "with the outcome", "had it later or not"
    return (
        f"{start} in {first} {earlier} is ranked above someone in {second} who {later} in {there} of 100 pairs; the "
        f"reverse ({second} over {first}) in {back}: concordance gap {style.with_interval(pair.signed_gap)}."
    )


def concordant_overall(found: Any, tau: float | None) -> str:
    """Say how often the earlier of two rows was ranked higher."""
    return f"Concordance{_up_to(tau)}: {FRACTIONS.with_interval(found, auc=True)}."


def _up_to(tau: float | None) -> str:
    return "" if tau is None else f" up to {tau:g}"


def price(before: float | None, after: float | None, change: Change | None, style: Style = FRACTIONS) -> str:
    """Say what a repair costs in AUC, that of all rows."""
    if before is None or after is None:
        return ""
    ends = () if change is None or change.reason is not None else (change.low, change.high, change.change)
    if {style.auc(each) for each in ends} == {style.auc(0.0)}:
        return f"AUC stays at {style.auc(after)}."
    difference = f"{style.auc(after - before, '+')}{style.limits(change, auc=True)}"
    if style.auc(after - before) == style.auc(0.0):
        return f"AUC stays at {style.auc(after)} (change {difference})."
    return f"AUC goes from {style.auc(before)} to {style.auc(after)} ({difference})."


def changed_scores(moves: Sequence[Moved], most: int = 4) -> str:
    """Say whose scores a repair changes, which way."""
    rows = wording.shown_rows
    changed = sorted((each for each in moves if each.moved), key=lambda each: -each.moved)
    kept = [each.group for each in moves if not each.moved]
    if not changed:
        return "No score changes."
    parts = [f"{rows(m.moved)} of {rows(m.rows)} scores in {m.group} change ({_way(m)})" for m in changed[:most]]
    parts += [f"and scores in {more} change" for more in _more(changed, most)]
    parts += [f"no score in {listed(kept)} changes"] if kept else []
    return f"{_capital('; '.join(parts))}."


def _more(groups: Sequence[Any], most: int) -> list[str]:
    """Say how many groups are not listed; nothing where all are."""
    left = len(groups) - most
    return [f"{left} more {'group' if left == 1 else 'groups'}"] if left > 0 else []


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _way(each: Moved) -> str:
    """Say which way the changed scores of a group go."""
    if not each.down or not each.up:
        return "all up" if not each.down else "all down"
    return f"{wording.shown_rows(each.up)} up, {wording.shown_rows(each.down)} down"


def where(action: Action) -> str:
    """Say where is acted: at a score, or in the top."""
    return _at(action.threshold, action.top, action.lower_is_riskier, action.top_of)


def _at(threshold: float | None, top: float | None, lower_is_riskier: bool, top_of: str | None = None) -> str:
    side = "below" if lower_is_riskier else "above"
    return among(top or 0.0, top_of) if threshold is None else f"at {threshold:g} or {side}"


def selected(action: Action, most: int = 4) -> str:
    """Say in one sentence how many of each group are acted on before and after, and who gains or loses."""
    at, rows = _capital(where(action)), wording.shown_rows
    if all(each.before == each.after for each in action.groups):
        return f"{at}: as many of each group as before."
    groups = sorted(action.groups, key=lambda each: -abs(each.after - each.before))
    parts = []
    for each in groups[:most]:
        valence = "" if each.valence is None else f" ({each.valence})"
        total = rows(each.positives + each.negatives)
        parts.append(f"{each.group} {rows(each.before)} -> {rows(each.after)} of {total}{valence}")
    parts += [f"and {more}" for more in _more(groups, most)]
    return f"{at}: {'; '.join(parts)}."


def cut(found: Rates | RatioVerdict, lower_is_riskier: bool = False, *, spared: bool = False) -> str:
    """Say where rows are flagged, or where they are spared that."""
    if found.at == "median":
        return f"{'below' if lower_is_riskier != spared else 'above'} the median score"
    if not spared:
        return _at(None if found.at == "top" else found.threshold, found.top, lower_is_riskier)
    if found.at == "top":
        return f"outside {named_top(found.top or 0.0)}"
    return f"{'above' if lower_is_riskier else 'below'} {found.threshold:g}"


def selected_means(where: str, means: Meaning | None, lower_is_riskier: bool = False) -> str:
    """Say which side of a cut counts as selected, and why; where nobody said what a score does, how to say it."""
    if means is None:
        bad = argument("high_score_means", "help" if lower_is_riskier else "harm")
        return f"Selected means {where}; if that is a bad thing for the person, say {bad}."
    return f"Selected means {where}, as a high score {'benefits' if means == 'help' else 'harms'} the person."


def not_read(rates: Sequence[str], called: str) -> str:
    """Say of which rates a high ratio is no good sign, so that it is not read beside a minimum."""
    said = "They count" if len(rates) > 1 else "It counts"
    return f"Not read beside {called}: {listed(rates, 20)}. {said} people on the side that is not favourable."


def how_tested(methods: Collection[str]) -> str:
    """Say how differences from the group with the highest rate were tested."""
    how = "; ".join(text for name, text in _TESTS.items() if name in methods)
    return f"Test: no difference from the highest, {how}. It does not allow for choosing among several groups."


_TESTS = {
    "pooled": "in standard deviations (SD) of the pooled share",
    "fisher": "Fisher's exact test where few are expected",
    "weights": "in standard errors (SE) that allow for weights",
    "clusters": "in standard errors (SE) that take clusters as independent, not rows",
}


def test_cell(test: RateTest) -> str:
    """Write a test as short as a cell of a table wants it."""
    if test.p_value is None:
        return FRACTIONS.none
    chance = "p < 0.001" if test.p_value < 0.001 else f"p = {test.p_value:.3f}"
    if test.deviations is None:
        return f"Fisher, {chance}"
    return f"{abs(test.deviations):.1f} {'SD' if test.method == 'pooled' else 'SE'}, {chance}"


def flagged(found: Rates, lower_is_riskier: bool = False) -> str:
    """Name the rates at a cut, as the title of a table."""
    return "Rates over all rows" if found.at == "all" else f"Flagged {cut(found, lower_is_riskier)}"


# What stands before what a rule leaves to people.
JUDGEMENT = "Left to judgement:"
UNKNOWN = "(unknown)"
count = wording.shown_rows


def reading(ratio: Any, minimum: float, called: str) -> str:
    """Say how a measured ratio compares with a minimum, and whether its interval lies on the same side of it."""
    if ratio != ratio:
        return "cannot tell"
    below = ratio < minimum
    sure = ratio.reason is None and (ratio.high < minimum if below else ratio.low >= minimum)
    said = f"{'below' if below else 'not below'} {called}"
    return said if sure else f"{said}, as measured"


def unknown_rows(rows: float) -> str:
    """Say how many rows belong to no category that is known."""
    return f"{wording.counted(rows, 'row', ',.10g')} of unknown category: counted for the cut, in no group."


def left_out_small(groups: Sequence[Any], least: float) -> str:
    """Say which groups are not compared, as they are small."""
    return f"Under {share(least)} of the rows, and not compared: {listed(groups, 20)}."


def not_of_probabilities(rates: Sequence[str]) -> str:
    """Say which rates of a rule these scores, or this cut, do not have."""
    return (
        f"Not computed, as it takes probabilities (of net benefit, a threshold between 0 and 1): {listed(rates, 20)}."
    )


def rule_source(source: str, date: str) -> str:
    """Say where a rule comes from."""
    said = ", ".join(part for part in (source, date) if part)
    return f"Source: {said}. A table of what was measured; whether a rule is met is for people to say."


def selection(found: Rates, lower_is_riskier: bool = False) -> str:
    """Say in one sentence how much less often a group is flagged than the group that is flagged most."""
    rate = found["selection_rate"]
    known = [each for each in rate.groups if each.ratio is not None and each.ratio == each.ratio]
    where = cut(found, lower_is_riskier)
    if not known:
        return f"Nobody is flagged {where}."
    known = [each for each in known if each.rows >= SMALL] or known
    lowest = min(known, key=lambda each: float(each.ratio or 0.0))
    shares = {each.group: f"{float(each.value):.1%}" for each in rate.groups}
    more = f", the lowest of {len(known)}" if len(known) > 1 else ""
    return (
        f"{shares[lowest.group]} of {lowest.group} and {shares[rate.highest]} of {rate.highest} are {where}: "
        f"the ratio is {FRACTIONS.with_interval(lowest.ratio, auc=True)}{more}."
    )


def ratio_verdict(found: RatioVerdict) -> str:
    """Say whether a ratio of selection rates is below a bound, or cannot be told."""
    where, pair = _selected(found), f"{found.lowest} to {found.highest}"
    measured = f"{pair}: {_measured(FRACTIONS.with_interval(found.ratio, auc=True))}"
    side = selected_means(where, found.high_score_means, found.lower_is_riskier)
    if found.answer == "cannot tell":
        told = f"whether a group's selection rate {where} is below {found.bound:g} of another's"
        return f"cannot tell {told} ({found.ratio.reason or measured}). {side}"
    whose = "no group's" if found.answer == "within" else "a group's"
    told = f"{whose} selection rate {where} is below {found.bound:g} of another's"
    return f"with {level(found.level)} confidence, {told} ({measured}). {side}"


def _selected(found: RatioVerdict) -> str:
    """Say on which side of the cut people count as selected."""
    return cut(found, found.lower_is_riskier, spared=found.favourable == "spared")


def _measured(number: str) -> str:
    """Write a number with its interval so that it can stand in brackets."""
    return f"measured {number}".replace(" (", ", ", 1).rstrip(")")


def verdict(found: Verdict) -> str:
    """Say whether a gap is within a target, exceeds it, or cannot be told."""
    gap, bound = found.interval, f"{found.bound:g}"
    if gap.reason is not None:
        return f"cannot tell whether the {found.metric} is within {bound}: {gap.reason}"
    measured = _measured(FRACTIONS.with_interval(gap))
    if found.answer == "cannot tell":
        note = "" if gap.note is None else f"; {gap.note}"
        return f"cannot tell whether the {found.metric} is within {bound} ({measured}){note}"
    if gap.low < found.bound < gap.high:
        measured += ", which guards both ends; the answer needs one only"
    does = "is within" if found.answer == "within" else "exceeds"
    return f"the {found.metric} {does} {bound} with {level(found.level)} confidence ({measured})"


def calibrated(after: Audit) -> str:
    """Say of scores that were made probabilities again how far they are off in each group."""
    found = []
    for name, each in (*((g.group, g.calibration) for g in after.ranking.groups), ("all rows", after.calibration)):
        if each is not None:
            bias = each.error_in_the_large
            limits = FRACTIONS.limits(bias, auc=True).removeprefix(", ")
            found.append(f"{FRACTIONS.auc(bias, '+')} for {name}{f' ({limits})' if limits else ''}")
    return (
        "Then one common map makes every score a probability: right as a whole, not in each group. Mean score minus "
        f"rate is {', '.join(found)}."
    )


def in_short(found: Effect) -> str:
    """Say in one line what a repair does to the rows it was fitted on."""
    before, after = found.before, found.after
    rows = wording.rows_by(before.ranking.rows, before.ranking.weighted_rows)
    gaps = f"{FRACTIONS.gap(before.told.widest)} -> {FRACTIONS.gap(after.told.widest)}"
    aucs = f"{FRACTIONS.auc(before.auc)} -> {FRACTIONS.auc(after.auc)}"
    return f"On the {rows} that were fitted: {gap_name(before.told.top)} {gaps}, AUC {aucs}."


def higher_auc(method: str, lead: Any, held_out: bool, option: str) -> str:
    """Say that another method keeps the same target with a higher AUC."""
    value, low, high = (FRACTIONS.figure(each, 4) for each in (lead, lead.low, lead.high))
    more = f"{value} ({level(lead.level)} interval {low} to {high}) more"
    rows = "held-out rows" if held_out else "the fitted rows"
    return f"{method} keeps the same target with a higher AUC: {more} on {rows}. Take it with {option}."


def not_needed(metric: str, gap: float, bound: float, confidence: float | None) -> str:
    """Say that the original scores keep a target."""
    sure = "" if confidence is None else f", certified with {level(confidence)} confidence"
    kept = f"the {metric} of the original scores is {beside(gap, bound)}, at most {bound:g}{sure}"
    return f"No repair needed: {kept}."


def gate(metric: str, pair: Sequence[Any], gap: float, limit: float) -> str:
    """Say whether a measured gap is above a limit."""
    said, side = ("FAILED", "above") if gap > limit else ("passed", "at most")
    between = f" between {pair[0]} and {pair[1]}" if pair else ""
    return f"{said}: the {metric}{between} is {beside(gap, limit)}, {side} {limit:g}"


def top_begins(starts: Mapping[Any, float], crossed: tuple[float, float] | None) -> str:
    """Say at which score a repaired top begins, and how many rows enter and leave it; None where none can."""
    values = list(starts.values())
    said = f"score of {values[0]:.4g}"
    if len(set(values)) > 1:
        said = "score of " + ", ".join(f"{start:.4g} ({group})" for group, start in starts.items())
    if crossed is None:
        return f"That top begins at a {said}: nobody outside is moved."
    enter, leave = map(wording.shown_rows, crossed)
    return f"That top begins at an adjusted {said}: {enter} rows enter it and {leave} leave it."


def promised(bound: float) -> str:
    """Say that a certificate promises its bound, not what was measured."""
    return f"The promise is the bound, {bound:g}: a gap measured where a certificate was barely granted flatters."


def not_shown(found: Verdict) -> str:
    """Say that a verdict is not what a gate requires."""
    return f"FAILED: the {found.metric} was not shown to be within {found.bound:g}"


def ratio_failed(found: RatioVerdict) -> str:
    """Say that a gate on ratios of selection rates fails."""
    said = f"it was not shown that every selection rate is at least {found.bound:g} of every other"
    said = f"a selection rate is below {found.bound:g} of another" if found.answer == "below" else said
    return f"FAILED: {said} {_selected(found)}"


def quantised(auc: float, xauc: float, score: float) -> str:
    """Say how far numbers can be off where scores were put into bins."""
    return (
        f"there are so many distinct scores that they were put into bins: AUC can be off by {auc:.2g}, an xAUC by "
        f"{xauc:.2g}, a score by {score:.2g}."
    )
