"""What is said, in one place. Every sentence about a number stands here or in a file beside this one; views choose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fairpot._validation import wording
from fairpot.words.notes import CHANCE as CHANCE
from fairpot.words.notes import Note as Note
from fairpot.words.notes import written as written
from fairpot.words.style import EVEN as EVEN
from fairpot.words.style import FRACTIONS as FRACTIONS
from fairpot.words.style import POINTS as POINTS
from fairpot.words.style import Style as Style
from fairpot.words.style import auc_name as auc_name
from fairpot.words.style import beside as beside
from fairpot.words.style import gap_from as gap_from
from fairpot.words.style import gap_name as gap_name
from fairpot.words.style import level as level
from fairpot.words.style import listed as listed
from fairpot.words.style import name_of as name_of
from fairpot.words.style import share as share

if TYPE_CHECKING:
    from fairpot.inference import Change, Verdict
    from fairpot.results.calibration import CalibrationStages
    from fairpot.results.effect import Effect
    from fairpot.results.finding import Finding, Trust
    from fairpot.results.rates import Action, Moved

# The texts, by what they say. Names in braces are filled in; a translation replaces this table.
TEXT = {
    "higher": "{score} {first} higher than {second}",
    "riskier": "{score} {first} as riskier (scored lower) than {second}",
    "the score": "The score ranks",
    "adjusted": "the adjusted score ranks",
    "still adjusted": "the adjusted score still ranks",
    "in these rows": "In these rows the score ranks",
    "equal": "In these rows the score ranks {first} and {second} equally",
    "benefits": ", which benefits {first}",
    "harms": ", which harms {first}",
    "no difference": "No clear difference between {first} and {second}",
    "no difference of many": "No clear difference between the {groups} groups",
    "one pair": "{metric} {gap}",
    "largest": "{metric} {gap}, the largest of {pairs} pairs of groups",
    "largest unclear": "largest {metric} {gap}, between {first} and {second}",
    "not measured": "No gap can be measured: a group has no rows with the outcome, or none without it.",
    "pairs": "Someone in {first} with {outcome} is ranked above someone in {second} without it in {there} of 100 "
    "pairs; the reverse ({second} over {first}) in {back}.",
    "pairs in the top": "In the top {top}, s{pairs}",
    "found": "Of those with {outcome}, {there} in {first} and {back} in {second} are in the top {top}.",
    "of each group": "{top} of each group",
    "spelt out": " As stated, a high score, that is low risk, {does} the person.",
    "small groups": " Left out, as too small to be compared with confidence: {groups}.",
    "next: reversed": "Check the direction of the score first: it ranks the outcome worse than chance.",
    "next: chance": "Look at the score first: it is not shown to rank the outcome better than chance.",
    "chance in groups": "The score is not shown to be better than chance in {groups}.",
    "failed by chance": "FAILED: the score is not shown to be better than chance{where}, so that a small gap says "
    "little ({option} lets it pass)",
    "next: repair": "A repair can make this gap smaller: fit one and look at its price.",
    "next: meaning": "Say what a high score does to a person, help or harm{option}: it decides whose scores a repair "
    "changes.",
    "next: none": "These rows do not show a difference, so no repair is proposed; more rows would tell.",
    "next: more rows": "Collect more rows before you act on this.",
    "next: more clusters": "Collect more clusters before you act on this: more rows of the same ones do not help.",
    "not checked": "not yet checked on new rows",
    "not checked: what": "Not yet checked on new rows: these are the rows that the repair was fitted on.",
    "checked": "checked on {rows}",
    "checked: what": "Checked on {rows}, which the repair was not fitted on.",
    "certified": "Certified: with {level} confidence the {metric} on rows like these is at most {bound}{of} (tested on "
    "{on}).",
    "promised": "The promise is the bound, {bound}: a gap measured where a certificate was barely granted flatters.",
    "certified badge": "certified: at most {bound}{of}, {level} confidence",
    "contradicted badge": "certificate contradicted by these rows",
    "cannot tell badge": "certified: at most {bound}{of}; these rows cannot tell",
    "compatible": " These rows agree: {gap}.",
    "contradicted": " These rows contradict it: {gap}.",
    "cannot tell": " These rows cannot tell whether it holds: {gap}.",
    "same rows": " The other numbers are of the rows that the repair was fitted on.",
    "gap change": "The {metric} goes from {before} to {after}",
    "no gap change": "The {metric} stays at {after}",
    "still": ": {who}.",
    "none left": ": no clear difference is left.",
    "now equal": ": the adjusted score ranks {first} and {second} equally.",
    "none left, reversed": ": no clear difference is left; in these rows {who}, by what chance could explain.",
    "none before": ": there was no clear difference, and there is none now.",
    "another pair": "; the largest is now between {first} and {second}.",
    "overshoot": ". The repair overshoots: {who}.",
    "price": "{metric} goes from {before} to {after} ({change}{limits}).",
    "no price": "{metric} stays at {after}.",
    "changes": "{changed} of {rows} scores in {group} change ({way})",
    "no change": "no score in {group} changes",
    "no change at all": "No score changes.",
    "calibrated": "Then one common map makes every score a probability: right as a whole, not in each group. Mean "
    "score minus rate is {groups}.",
    "at a score": "at {threshold} or {side}",
    "in the top": "in the top {top}",
    "acted on": "{group}, {where}: with the outcome {yes_before} -> {yes_after} of {yes}, without it {no_before} -> "
    "{no_after} of {no}{valence}",
    "gains": " ({group} gains)",
    "loses": " ({group} loses)",
    "selected": "{where}: {groups}.",
    "selected of a group": "{group} {before} -> {after} of {rows}{valence}",
    "selected as before": "{where}: as many of each group as before.",
    "group gains": " (gains)",
    "group loses": " (loses)",
    "higher auc": "{method} keeps the same target with a higher AUC: {lead} more on {rows}. Take it with {option}.",
    "in short": "On the {rows} that were fitted: {metric} {before} -> {after}, AUC {auc_before} -> {auc}.",
    "not needed": "No repair needed: the {metric} of the original scores is {gap}, at most {bound}{sure}.",
    "surely": ", certified with {level} confidence",
    "below the limit": "passed: the {metric}{between} is {gap}, at most {limit}",
    "above the limit": "FAILED: the {metric}{between} is {gap}, above {limit}",
    "between": " between {first} and {second}",
    "not shown": "FAILED: the {metric} was not shown to be {required} {bound}",
    "top begins": "That top begins at {starts}: nobody outside is moved.",
    "top begins, crossed": "That top begins at an adjusted {starts}: {enter} rows enter it and {leave} leave it.",
    "quantised": "there are so many distinct scores that they were put into bins: AUC can be off by {auc:.2g}, an xAUC "
    "by {xauc:.2g}, a score by {score:.2g}.",
    "within": "the {metric} is within {bound}{of} with {level} confidence ({measured})",
    "exceeds": "the {metric} exceeds {bound}{of} with {level} confidence ({measured})",
    "unsure": "the rows cannot tell whether the {metric} is within {bound}{of} ({measured}){note}",
    "unmeasured": "cannot tell whether the {metric} is within {bound}{of}: {reason}",
    "one-sided": ", which guards both ends; the answer needs one only",
}


def ranked(first: Any, second: Any, lower_is_riskier: bool = False, score: str = "the score") -> str:
    """Say that a score ranks a group higher than another: the same words whether the name is a plural or not."""
    said = TEXT["riskier" if lower_is_riskier else "higher"]
    return said.format(score=TEXT[score], first=first, second=second)


def who(finding: Finding) -> str:
    """Say who is ranked higher than whom and whom that benefits or harms; or that there is no clear difference."""
    if finding.gap is None:
        return TEXT["not measured"].rstrip(".")
    names = {"first": finding.ranked_higher, "second": finding.ranked_lower}
    if finding.state == "no clear difference":
        many = finding.groups > 2
        return TEXT["no difference of many" if many else "no difference"].format(**names, groups=finding.groups)
    if finding.state != "difference":
        if float(finding.gap) == 0.0:
            return TEXT["equal"].format(**names)
        return ranked(finding.ranked_higher, finding.ranked_lower, finding.lower_is_riskier, "in these rows")
    said = ranked(finding.ranked_higher, finding.ranked_lower, finding.lower_is_riskier)
    means = finding.ranked_high_means
    return said + ("" if means is None else TEXT["benefits" if means == "help" else "harms"].format(**names))


def size(finding: Finding, style: Style = FRACTIONS) -> str:
    """Give the gap with its interval, and of what it is."""
    if finding.gap is None:
        return ""
    known = {"metric": finding.metric, "gap": style.with_interval(finding.gap), "pairs": finding.pairs}
    if finding.pairs < 2:
        return TEXT["one pair"].format(**known)
    if finding.state == "no clear difference":
        return TEXT["largest unclear"].format(**known, first=finding.ranked_higher, second=finding.ranked_lower)
    return TEXT["largest"].format(**known)


def headline(finding: Finding, style: Style = FRACTIONS) -> str:
    """Say the finding in one sentence."""
    return TEXT["not measured"] if finding.gap is None else f"{who(finding)}: {size(finding, style)}."


def meaning(finding: Finding, outcome: str = "the outcome") -> str:
    """Say what the finding means: who is in the top, or pairs of 100; and which groups it leaves out."""
    if finding.gap is None or finding.xauc_higher is None or finding.xauc_lower is None:
        return ""
    names = {"first": finding.ranked_higher, "second": finding.ranked_lower, "outcome": outcome}
    said = TEXT["pairs"].format(**names, **_both(100 * finding.xauc_higher, 100 * finding.xauc_lower, ""))
    if finding.alpha is not None:
        top = share(finding.alpha)
        top = TEXT["of each group"].format(top=top) if finding.region == "group" else top
        said = TEXT["pairs in the top"].format(top=top, pairs=said[1:])
        if finding.found is not None:
            both = _both(100 * finding.found[0], 100 * finding.found[1], "%")
            said = f"{TEXT['found'].format(**names, **both, top=top)} {said}"
    if finding.lower_is_riskier and finding.high_score_means is not None:
        said += TEXT["spelt out"].format(does=f"{finding.high_score_means}s")
    if finding.small_groups:
        said += TEXT["small groups"].format(groups=listed(finding.small_groups, 2))
    return said


def _both(there: float, back: float, unit: str) -> dict[str, str]:
    """Write two numbers of 100 so that they differ where they do."""
    digits = 0 if round(there) != round(back) or abs(there - back) < 0.05 else 1
    return {"there": f"{there:.{digits}f}{unit}", "back": f"{back:.{digits}f}{unit}"}


def next_step(finding: Finding) -> str:
    """Say what to do next."""
    if below_chance(finding.auc):
        return TEXT["next: reversed"]
    if not above_chance(finding.auc):
        return TEXT["next: chance"]
    steps = {"difference": "next: repair", "no clear difference": "next: none"}
    lacking = "next: more clusters" if wording.of_clusters(getattr(finding.gap, "reason", None)) else "next: more rows"
    said = TEXT[steps.get(finding.state, lacking)]
    return f"{said} {say_meaning()}" if finding.clear and finding.high_score_means is None else said


def above_chance(auc: Any) -> bool:
    """Whether an AUC is shown to be better than chance: all of its interval, or itself where it has none."""
    return auc is None or (auc.low if auc.low == auc.low else float(auc)) > 0.5


def below_chance(auc: Any) -> bool:
    """Whether an AUC is worse than chance: all of its interval, or itself where it has none."""
    return auc is not None and (auc.high if auc.high == auc.high else float(auc)) < 0.5


def by_chance(notes: Sequence[Note], small: Sequence[Any] = ()) -> list[str]:
    """Say first that a score is not shown to be better than chance: over all, else in groups that are not small."""
    told = [note for note in notes if note.kind in CHANCE and note.group not in small]
    if len(told) > 1 and told[0].group is not None:
        return [TEXT["chance in groups"].format(groups=listed([note.group for note in told], 4))]
    return [note.text.partition("\n")[0] for note in told[:1]]


def failed_by_chance(notes: Sequence[Note], option: str) -> str:
    """Say that a gate fails as a score, overall or in a group, is not shown to be better than chance."""
    groups = [note.group for note in notes if note.kind in CHANCE and note.group is not None]
    return TEXT["failed by chance"].format(where=f" in {listed(groups, 4)}" if groups else "", option=option)


def say_meaning(option: str = "") -> str:
    """Ask what a high score does to a person; where there is an option for it, by its name."""
    return TEXT["next: meaning"].format(option=f" ({option})" if option else "")


def certificate(
    known: Mapping[str, Any],
    style: Style = FRACTIONS,
    *,
    turned: bool = False,
    answer: str | None = None,
    gap: Any = None,
    same_rows: bool = False,
) -> str:
    """Say what was certified, on what, and what these rows say of it; ``known`` as a certificate's document has it."""
    on = f"{known['rows']}, {known['time']}" if known.get("time") else f"{known['rows']}"
    metric, starts = gap_name(known.get("alpha")), known.get("starts")
    if starts is not None:
        metric = gap_from({each["group"]: each["value"] for each in starts}, turned, bool(known.get("adjusted")))
    bound, sure = style.bound(known["bound"]), level(known["confidence"])
    said = TEXT["certified"].format(level=sure, metric=metric, bound=bound, of=style.of, on=on)
    if answer is not None and gap is not None:
        return said + TEXT[answer].format(gap=style.with_interval(gap))
    return said + (TEXT["same rows"] if same_rows else "")


def promised(bound: float) -> str:
    """Say that a certificate promises its bound, not what was measured."""
    return TEXT["promised"].format(bound=f"{bound:g}")


def badge(found: Trust, style: Style = FRACTIONS) -> str:
    """Say in a few words what is known of a repair."""
    known = found.certificate
    if known is None:
        return TEXT[found.state].format(rows=_new_rows(found))
    key = "certified" if found.answer in (None, "compatible") else found.answer
    return TEXT[f"{key} badge"].format(bound=style.bound(known["bound"]), of=style.of, level=level(known["confidence"]))


def trust(found: Trust, style: Style = FRACTIONS) -> str:
    """Say what is known of a repair, and on what it stands."""
    if found.certificate is None:
        return TEXT[f"{found.state}: what"].format(rows=_new_rows(found))
    of_rows: dict[str, Any] = {"answer": found.answer, "gap": found.gap, "same_rows": found.same_rows}
    return certificate(found.certificate, style, turned=found.lower_is_riskier, **of_rows)


def _new_rows(found: Trust) -> str:
    of_clusters = "" if found.clusters is None else f" of {found.clusters:,} clusters"
    return f"{wording.shown_rows(found.rows)} new rows{of_clusters}"


def gap_change(before: Finding, after: Finding, style: Style = FRACTIONS) -> str:
    """Say how the gap changes, and whom the adjusted score ranks higher.

    Between two groups it is seen from the one that was ranked higher before: below 0 the repair overshoots.
    """
    if before.gap is None or after.gap is None:
        return TEXT["not measured"]
    reverse = after.pairs == 1 and after.pair == before.pair[::-1]
    gap = after.gap.reversed() if reverse else after.gap
    ends = style.gap(before.gap), style.gap(gap)
    known = {"metric": before.metric, "before": ends[0], "after": style.with_interval(gap)}
    said = TEXT["no gap change" if ends[0] == ends[1] else "gap change"].format(**known)
    (first, second), riskier = after.pair, after.lower_is_riskier
    overshoots = after.pair == before.pair[::-1] and abs(after.gap) >= EVEN
    if after.state == "no clear difference":
        if before.state == "no clear difference":
            return said + TEXT["none before"]
        told = ranked(first, second, riskier, "adjusted")
        return said + TEXT["none left, reversed" if overshoots else "none left"].format(who=told)
    if float(after.gap) == 0:
        return said + TEXT["now equal"].format(first=first, second=second)
    if overshoots:
        return said + TEXT["overshoot"].format(who=ranked(first, second, riskier, "adjusted"))
    if set(after.pair) != set(before.pair):
        return said + TEXT["another pair"].format(first=first, second=second)
    return said + TEXT["still"].format(who=ranked(first, second, riskier, "still adjusted"))


def price(before: float | None, after: float | None, change: Change | None, style: Style = FRACTIONS) -> str:
    """Say what a repair costs in AUC, that of all rows."""
    if before is None or after is None:
        return ""
    metric = auc_name(None)
    ends = () if change is None or change.reason is not None else (change.low, change.high, change.change)
    if {style.auc(each) for each in ends} == {style.auc(0.0)}:
        return TEXT["no price"].format(metric=metric, after=style.auc(after))
    shown = {"before": style.auc(before), "after": style.auc(after), "change": style.auc(after - before, "+")}
    return TEXT["price"].format(metric=metric, **shown, limits=style.limits(change, auc=True))


def changed_scores(moves: Sequence[Moved], most: int = 4) -> str:
    """Say whose scores a repair changes, which way."""
    changed = sorted((each for each in moves if each.moved), key=lambda each: -each.moved)
    kept = [each.group for each in moves if not each.moved]
    if not changed:
        return TEXT["no change at all"]
    parts = []
    for each in changed[:most]:
        moved, rows = _shown(each, "moved", "rows").values()
        parts.append(TEXT["changes"].format(group=each.group, changed=moved, rows=rows, way=way(each)))
    parts += [f"and scores in {more} change" for more in _more(changed, most)]
    parts += [TEXT["no change"].format(group=listed(kept))] if kept else []
    return f"{_capital('; '.join(parts))}."


def _shown(record: Any, *names: str) -> dict[str, str]:
    """Write numbers of rows."""
    return {name: wording.shown_rows(getattr(record, name)) for name in names}


def _more(groups: Sequence[Any], most: int) -> list[str]:
    """Say how many groups are not listed; nothing where all are."""
    left = len(groups) - most
    return [f"{left} more {'group' if left == 1 else 'groups'}"] if left > 0 else []


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def way(each: Moved) -> str:
    """Say which way the changed scores of a group go."""
    if not each.down or not each.up:
        return "all up" if not each.down else "all down"
    return "{up} up, {down} down".format(**_shown(each, "up", "down"))


def where(action: Action) -> str:
    """Say where is acted: at a score, or in the top."""
    if action.threshold is None:
        return TEXT["in the top"].format(top=share(action.alpha or 0.0))
    side = "below" if action.lower_is_riskier else "above"
    return TEXT["at a score"].format(threshold=f"{action.threshold:g}", side=side)


def acted_on(action: Action) -> list[str]:
    """Say who is acted on before and after, by group and outcome, and who gains or loses if that is known."""
    said = []
    for each in action.groups:
        yes, no = _shown(each, "positives", "negatives").values()
        known = _shown(each, "yes_before", "yes_after", "no_before", "no_after") | {"yes": yes, "no": no}
        valence = "" if each.valence is None else TEXT[each.valence].format(group=each.group)
        said.append(TEXT["acted on"].format(group=each.group, where=where(action), valence=valence, **known))
    return said


def selected(action: Action, most: int = 4) -> str:
    """Say in one sentence how many of each group are acted on before and after, and who gains or loses."""
    at = _capital(where(action))
    if all(each.before == each.after for each in action.groups):
        return TEXT["selected as before"].format(where=at)
    groups = sorted(action.groups, key=lambda each: -abs(each.after - each.before))
    parts = []
    for each in groups[:most]:
        rows, known = wording.shown_rows(each.positives + each.negatives), _shown(each, "before", "after")
        valence = "" if each.valence is None else TEXT[f"group {each.valence}"]
        parts.append(TEXT["selected of a group"].format(group=each.group, rows=rows, valence=valence, **known))
    parts += [f"and {more}" for more in _more(groups, most)]
    return TEXT["selected"].format(where=at, groups="; ".join(parts))


def verdict(found: Verdict, style: Style = FRACTIONS) -> str:
    """Say whether a gap is within a target, exceeds it, or cannot be told."""
    gap, known = found.interval, {"metric": found.metric, "bound": style.bound(found.bound), "of": style.of}
    if gap.reason is not None:
        return TEXT["unmeasured"].format(**known, reason=gap.reason)
    known["level"] = level(found.level)
    measured = f"measured {style.with_interval(gap)}".replace(" (", ", ", 1).rstrip(")")
    if found.answer == "cannot tell":
        return TEXT["unsure"].format(**known, measured=measured, note="" if gap.note is None else f"; {gap.note}")
    if gap.low < found.bound < gap.high:
        measured += TEXT["one-sided"]
    return TEXT[found.answer].format(**known, measured=measured)


def calibrated(stages: Sequence[CalibrationStages]) -> str:
    """Say of scores that were made probabilities again how far they are off in each group; nothing of others."""
    if stages[0].recalibrated is None:
        return ""
    found = []
    for each in stages:
        if each.recalibrated is not None:
            bias = each.recalibrated.error_in_the_large
            name = "all rows" if each.group is None else each.group
            limits = FRACTIONS.limits(bias, auc=True).removeprefix(", ")
            found.append(f"{FRACTIONS.auc(bias, '+')} for {name}{f' ({limits})' if limits else ''}")
    return TEXT["calibrated"].format(groups=", ".join(found))


def in_short(found: Effect, style: Style = FRACTIONS) -> str:
    """Say in one line what a repair does to the rows it was fitted on."""
    before, after = found.before, found.after
    rows = wording.rows_by(before.ranking.rows, before.ranking.weighted_rows)
    gaps = {"before": style.gap(before.told.headline), "after": style.gap(after.told.headline)}
    aucs = {"auc_before": style.auc(before.auc), "auc": style.auc(after.auc)}
    return TEXT["in short"].format(rows=rows, metric=found.finding.metric, **gaps, **aucs)


def higher_auc(method: str, lead: Any, held_out: bool, option: str, style: Style = FRACTIONS) -> str:
    """Say that another method keeps the same target with a higher AUC."""
    rows = "held-out rows" if held_out else "the fitted rows"
    return TEXT["higher auc"].format(method=method, lead=style.with_interval(lead, auc=True), rows=rows, option=option)


def not_needed(metric: str, gap: float, bound: float, confidence: float | None) -> str:
    """Say that the original scores keep a target."""
    sure = "" if confidence is None else TEXT["surely"].format(level=level(confidence))
    return TEXT["not needed"].format(metric=metric, gap=beside(gap, bound), bound=f"{bound:g}", sure=sure)


def gate(metric: str, pair: Sequence[Any], gap: float, limit: float) -> str:
    """Say whether a measured gap is above a limit."""
    between = TEXT["between"].format(first=pair[0], second=pair[1]) if pair else ""
    said = TEXT["above the limit" if gap > limit else "below the limit"]
    return said.format(metric=metric, between=between, gap=beside(gap, limit), limit=f"{limit:g}")


def not_shown(found: Verdict, required: str) -> str:
    """Say that a verdict is not what a gate requires."""
    return TEXT["not shown"].format(metric=found.metric, required=required, bound=f"{found.bound:g}")


def top_begins(starts: Mapping[Any, float], crossed: tuple[float, float] | None) -> str:
    """Say at which score a repaired top begins, and how many rows enter and leave it; None where none can."""
    values = list(starts.values())
    said = f"score of {values[0]:.4g}"
    if len(set(values)) > 1:
        said = "score of " + ", ".join(f"{start:.4g} ({group})" for group, start in starts.items())
    if crossed is None:
        return TEXT["top begins"].format(starts=f"a {said}")
    enter, leave = map(wording.shown_rows, crossed)
    return TEXT["top begins, crossed"].format(starts=said, enter=enter, leave=leave)


def quantised(auc: float, xauc: float, score: float) -> str:
    """Say how far numbers can be off where scores were put into bins."""
    return TEXT["quantised"].format(auc=auc, xauc=xauc, score=score)
