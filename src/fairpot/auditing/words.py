"""What was found, in sentences. Every text of an audit or a repair stands here; views choose, order and draw."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fairpot._validation import wording
from fairpot.inference import Estimate
from fairpot.inference.limits import gap_from, gap_name

if TYPE_CHECKING:
    from fairpot.auditing.finding import Finding, Trust
    from fairpot.auditing.gains import Action
    from fairpot.inference import Change

EVEN = 0.0005  # what rounds to 0 in three digits is equal

# The texts, by what they say. Names in braces are filled in; a translation replaces this table.
TEXT = {
    "higher": "{score} {first} higher than {second}",
    "riskier": "{score} {first} as riskier (scored lower) than {second}",
    "the score": "The score ranks",
    "adjusted": "the adjusted score ranks",
    "still adjusted": "the adjusted score still ranks",
    "equal": "{first} and {second} are ranked equally",
    "benefits": ", which benefits {first}",
    "harms": ", which harms {first}",
    "no difference": "No clear difference between {first} and {second}",
    "no difference of many": "No clear difference between the {groups} groups",
    "in these rows": "In these rows the score ranks",
    "largest": "{metric} {gap}",
    "largest of many": "{metric} {gap}, the largest of {pairs} pairs of groups",
    "largest unclear": "largest {metric} {gap}, between {first} and {second}",
    "interval": "{value} ({level}% interval {low} to {high})",
    "no interval": "{value} (no interval: {reason})",
    "not measured": "No gap can be measured: a group has no rows with the outcome, or none without it.",
    "pairs": "Someone in {first} with the outcome is ranked above someone in {second} without it in {there} of 100 "
    "pairs; the reverse ({second} over {first}) in {back}.",
    "pairs in the top": "In the top {top}, s{pairs}",
    "of each group": "{top} of each group",
    "small groups": " Left out, as too small to be compared with confidence: {groups}.",
    "next: reversed": "Check the direction of the score first: it ranks the outcome worse than chance.",
    "next: repair": "A repair can make this gap smaller: fit one and look at its price.",
    "next: meaning": "Say what a high score does to a person, help or harm{option}: it decides whose scores a repair "
    "changes.",
    "next: none": "These rows do not show a difference, so no repair is proposed; more rows would tell.",
    "next: more rows": "Collect more rows before you act on this.",
    "not checked": "not yet checked on new rows",
    "not checked: what": "Not yet checked on new rows: these are the rows that the repair was fitted on.",
    "checked": "checked on {rows}",
    "checked: what": "Checked on {rows}, which the repair was not fitted on.",
    "certified": "certified",
    "certified: what": "Certified: with {level}% confidence the {metric} on rows like these is at most {bound} "
    "(tested on {on}).",
    "compatible": " These rows agree with that.",
    "contradicted": " These rows contradict it.",
    "cannot tell": " These rows are too few to say whether it holds.",
    "gap change": "The {metric} goes from {before} to {after}",
    "price": "{metric} goes from {before} to {after} ({change}{limits}).",
    "price: limits": ", {level}% interval {low} to {high}",
    "no price": "{metric} stays at {after}.",
    "auc top": "AUC in the top {top}",
    "no gap change": "The {metric} stays at {after}",
    "still": ": {who}.",
    "none left": ": no clear difference is left.",
    "none left, reversed": ": no clear difference is left; in these rows {who}, by what chance could explain.",
    "none before": ": there was no clear difference, and there is none now.",
    "another pair": "; the largest is now between {first} and {second}.",
    "overshoot": ". The repair overshoots: {who}.",
    "changes": "{changed} of {rows} scores in {group} change ({up} up, {down} down)",
    "no change": "no score in {group} changes",
    "no change at all": "No score changes.",
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
}


def figure(value: float | None, digits: int = 3) -> str:
    """Show an AUC or a gap: three digits, a dash for what cannot be measured."""
    return "-" if value is None or value != value else f"{round(float(value), digits) + 0.0:.{digits}f}"


def signed_figure(value: float, digits: int = 3) -> str:
    """Show a change of an AUC or a gap with its sign; what rounds to nothing has none.

    Examples
    --------
    >>> signed_figure(-0.0221), signed_figure(-0.0001)
    ('-0.022', '0.000')
    """
    return f"{value:+.{digits}f}" if round(abs(value), digits) else f"{0:.{digits}f}"


def beside(value: float, limit: float) -> str:
    """Show a gap beside the limit it is compared with: three digits, or as many as tell on which side it lies.

    Examples
    --------
    >>> beside(0.0812, 0.05), beside(0.05004, 0.05)
    ('0.081', '0.05004')
    """
    digits = next(d for d in range(3, 17) if d == 16 or (round(value, d) > limit) == (value > limit))
    return f"{value:.{digits}f}"


def share(value: float) -> str:
    """Show a share of the ranking.

    Examples
    --------
    >>> share(0.1), share(0.005)
    ('10%', '0.5%')
    """
    return f"{100 * value:.4g}%"


def with_interval(found: Estimate) -> str:
    """Show a number with its interval, or why it has none.

    Examples
    --------
    >>> with_interval(Estimate("gap", 0.1312, 0.02, 0.0871, 0.1764))
    '0.131 (95% interval 0.087 to 0.176)'
    """
    if found.reason is not None or found.low != found.low:
        return TEXT["no interval"].format(value=figure(found), reason=found.reason or "none was computed")
    low, high = figure(found.low), figure(found.high)
    return TEXT["interval"].format(value=figure(found), level=f"{100 * found.level:.4g}", low=low, high=high)


def ranked(first: Any, second: Any, lower_is_riskier: bool = False, score: str = "the score") -> str:
    """Say that a score ranks a group higher than another: the same words whether the name is a plural or not.

    Examples
    --------
    >>> ranked("men", "women"), ranked("Black", "White", score="still adjusted")
    ('The score ranks men higher than women', 'the adjusted score still ranks Black higher than White')
    """
    said = TEXT["riskier" if lower_is_riskier else "higher"]
    return said.format(score=TEXT[score], first=first, second=second)


def who(finding: Finding) -> str:
    """Say who is ranked higher than whom and whom that benefits or harms; or that there is no clear difference."""
    if finding.pair is None:
        return TEXT["not measured"].rstrip(".")
    names = dict(zip(("first", "second"), finding.pair))
    if finding.state == "no clear difference":
        many = finding.groups > 2
        return TEXT["no difference of many" if many else "no difference"].format(**names, groups=finding.groups)
    if finding.state != "difference":
        return ranked(*finding.pair, finding.lower_is_riskier, "in these rows")
    said = ranked(*finding.pair, finding.lower_is_riskier)
    means = finding.ranked_high_means
    return said + ("" if means is None else TEXT["benefits" if means == "help" else "harms"].format(**names))


def size(finding: Finding) -> str:
    """Give the gap with its interval, and of what it is."""
    if finding.pair is None or finding.gap is None:
        return ""
    first, second = finding.pair
    gap = finding.gap if finding.signed is None else finding.signed
    known = {"metric": finding.metric, "gap": with_interval(gap), "pairs": finding.pairs}
    if finding.pairs < 2:
        return TEXT["largest"].format(**known)
    if finding.state == "no clear difference":
        return TEXT["largest unclear"].format(**known, first=first, second=second)
    return TEXT["largest of many"].format(**known)


def headline(finding: Finding) -> str:
    """Say the finding in one sentence."""
    return TEXT["not measured"] if finding.pair is None else f"{finding.who}: {finding.size}."


def meaning(finding: Finding) -> str:
    """Say what the finding means in pairs of 100, and which groups it leaves out."""
    if finding.pair is None or finding.xauc is None:
        return ""
    there, back = (100 * each for each in finding.xauc)
    digits = 0 if round(there) != round(back) or abs(there - back) < 0.05 else 1
    names = dict(zip(("first", "second"), finding.pair))
    said = TEXT["pairs"].format(**names, there=f"{there:.{digits}f}", back=f"{back:.{digits}f}")
    if finding.alpha is not None:
        top = share(finding.alpha)
        top = TEXT["of each group"].format(top=top) if finding.region == "group" else top
        said = TEXT["pairs in the top"].format(top=top, pairs=said[1:])
    if finding.small_groups:
        said += TEXT["small groups"].format(groups=listed(finding.small_groups, 2))
    return said


def next_step(finding: Finding) -> str:
    """Say what to do next."""
    if finding.auc is not None and finding.auc < 0.5:
        return TEXT["next: reversed"]
    steps = {"difference": "next: repair", "no clear difference": "next: none"}
    said = TEXT[steps.get(finding.state, "next: more rows")]
    return f"{said} {say_meaning()}" if finding.clear and finding.high_score_means is None else said


def say_meaning(option: str = "") -> str:
    """Ask what a high score does to a person; where there is an option for it, by its name."""
    return TEXT["next: meaning"].format(option=f" ({option})" if option else "")


def listed(names: Sequence[Any], most: int = 5) -> str:
    """List names, and say how many more there are.

    Examples
    --------
    >>> listed(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    shown = ", ".join(map(str, names[:most]))
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


def badge(found: Trust) -> str:
    """Say in a few words what is known of a repair."""
    return TEXT[found.state].format(rows=_new_rows(found))


def trust(found: Trust) -> str:
    """Say what is known of a repair, and on what it stands."""
    known = found.certificate
    if known is None:
        return TEXT[f"{found.state}: what"].format(rows=_new_rows(found))
    said = TEXT["certified: what"].format(
        level=f"{100 * known['confidence']:.4g}",
        metric=certified_gap(known, found.turned),
        bound=f"{known['bound']:g}",
        on=known["rows"],
    )
    return said + (TEXT[found.answer] if found.answer else "")


def _new_rows(found: Trust) -> str:
    of_clusters = "" if found.clusters is None else f" of {found.clusters:,} clusters"
    return f"{wording.shown_rows(found.rows)} new rows{of_clusters}"


def gap_change(before: Finding, after: Finding) -> str:
    """Say how the gap changes, and whom the adjusted score ranks higher.

    Between two groups it is seen from the one that was ranked higher before: below 0 the repair overshoots.
    """
    if before.gap is None or after.gap is None or before.pair is None or after.pair is None:
        return TEXT["not measured"]
    gap = after.gap if after.signed is None else after.signed
    gap = gap.reversed() if after.signed is not None and after.pair == before.pair[::-1] else gap
    ends = figure(before.gap), figure(gap)
    known = {"metric": before.metric, "before": ends[0], "after": with_interval(gap)}
    said = TEXT["no gap change" if ends[0] == ends[1] else "gap change"].format(**known)
    (first, second), riskier = after.pair, after.lower_is_riskier
    reverse = after.pair == before.pair[::-1] and abs(after.gap) >= EVEN
    if after.state == "no clear difference":
        if before.state == "no clear difference":
            return said + TEXT["none before"]
        who = ranked(first, second, riskier, "adjusted")
        return said + TEXT["none left, reversed" if reverse else "none left"].format(who=who)
    if reverse:
        return said + TEXT["overshoot"].format(who=ranked(first, second, riskier, "adjusted"))
    if set(after.pair) != set(before.pair):
        return said + TEXT["another pair"].format(first=first, second=second)
    return said + TEXT["still"].format(who=ranked(first, second, riskier, "still adjusted"))


def price(before: float | None, after: float | None, change: Change | None) -> str:
    """Say what a repair costs in AUC, that of all rows."""
    if before is None or after is None:
        return ""
    limits, metric = "", auc_name(None)
    if change is not None and change.reason is None:
        ends = signed_figure(change.low), signed_figure(change.high)
        limits = TEXT["price: limits"].format(level=f"{100 * change.level:.4g}", low=ends[0], high=ends[1])
        if {*ends, signed_figure(change.change)} == {signed_figure(0.0)}:
            return TEXT["no price"].format(metric=metric, after=figure(after))
    return TEXT["price"].format(
        metric=metric,
        before=figure(before),
        after=figure(after),
        change=signed_figure(after - before),
        limits=limits,
    )


def certified_gap(known: Mapping[str, Any], turned: bool = False) -> str:
    """Name the gap that a certificate is of, as its document has it; ``turned`` if low scores mean high risk."""
    starts = known.get("starts")
    if starts is None:
        return gap_name(known.get("alpha"))
    return gap_from({each["group"]: each["value"] for each in starts}, turned)


def auc_name(alpha: float | None) -> str:
    """Name an AUC in words, of all rows or in the top."""
    return "AUC" if alpha is None else TEXT["auc top"].format(top=share(alpha))


def changed_scores(moves: Sequence[Mapping[str, Any]], most: int = 4) -> str:
    """Say whose scores a repair changes, which way."""
    changed = sorted((each for each in moves if each["moved"]), key=lambda each: -each["moved"])
    kept = [each["group"] for each in moves if not each["moved"]]
    if not changed:
        return TEXT["no change at all"]
    parts = [
        TEXT["changes"].format(
            group=each["group"],
            changed=wording.shown_rows(each["moved"]),
            rows=wording.shown_rows(each["rows"]),
            up=wording.shown_rows(each["up"]),
            down=wording.shown_rows(each["down"]),
        )
        for each in changed[:most]
    ]
    if len(changed) > most:
        parts.append(f"and scores in {len(changed) - most} more groups change")
    if kept:
        parts.append(TEXT["no change"].format(group=listed(kept)))
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}."


def where(action: Action) -> str:
    """Say where is acted: at a score, or in the top."""
    if action.threshold is None:
        return TEXT["in the top"].format(top=share(action.alpha or 0.0))
    side = "below" if action.lower_is_riskier else "above"
    return TEXT["at a score"].format(threshold=f"{action.threshold:g}", side=side)


def acted_on(action: Action) -> list[str]:
    """Say who is acted on before and after, by group and outcome, and who gains or loses if that is known."""
    return [
        TEXT["acted on"].format(
            group=each["group"],
            where=where(action),
            yes=wording.shown_rows(each["positives"]),
            no=wording.shown_rows(each["negatives"]),
            **{name: wording.shown_rows(each[name]) for name in ("yes_before", "yes_after", "no_before", "no_after")},
            valence="" if each["valence"] is None else TEXT[each["valence"]].format(group=each["group"]),
        )
        for each in action.groups
    ]


def selected(action: Action, most: int = 4) -> str:
    """Say in one sentence how many of each group are acted on before and after, and who gains or loses."""
    at = where(action)
    at = f"{at[:1].upper()}{at[1:]}"
    both = [
        (each, *(each[f"yes_{when}"] + each[f"no_{when}"] for when in ("before", "after"))) for each in action.groups
    ]
    if all(before == after for _, before, after in both):
        return TEXT["selected as before"].format(where=at)
    both.sort(key=lambda each: -abs(each[2] - each[1]))
    parts = [
        TEXT["selected of a group"].format(
            group=each["group"],
            before=wording.shown_rows(before),
            after=wording.shown_rows(after),
            rows=wording.shown_rows(each["positives"] + each["negatives"]),
            valence="" if each["valence"] is None else TEXT[f"group {each['valence']}"],
        )
        for each, before, after in both[:most]
    ]
    if len(both) > most:
        parts.append(f"and {len(both) - most} more groups")
    return TEXT["selected"].format(where=at, groups="; ".join(parts))


def widest_pair(summary: dict[str, Any]) -> dict[str, Any] | None:
    """Return the pair of groups with the largest gap; None if none can be measured."""
    known = [pair for pair in summary["gaps"] if pair["signed_gap"] is not None]
    return max(known, key=gap_size, default=None)


def known_pairs(summary: dict[str, Any]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the pairs that can be measured: of groups that can carry a headline, and of small groups."""
    small = summary.get("headline", {}).get("small_groups", [])
    known = [pair for pair in summary["gaps"] if pair["signed_gap"] is not None]
    apart = [pair for pair in known if pair["first"] in small or pair["second"] in small]
    return [pair for pair in known if pair not in apart], apart


def gap_size(pair: dict[str, Any]) -> float:
    """Return the size of a pair's gap."""
    return abs(float(pair["signed_gap"]))


def rate_lines(found: list[dict[str, Any]]) -> list[str]:
    """Say who is flagged at a threshold and in the top, a line for each group."""
    lines = []
    for each in found:
        at = f"at {each['threshold']:g} or above" if each["at"] == "score" else f"in the top {share(each['alpha'])}"
        for group in each["groups"]:
            shares = ", ".join(f"{name.upper()} {figure(group[name])}" for name in ("tpr", "fpr", "ppv"))
            lines.append(f"flagged {at}, {group['group']}: {wording.shown_rows(group['flagged'])}, {shares}")
    return lines


def name_of(group: Any, columns: Sequence[str]) -> Any:
    """Call a group that is a number or a boolean by its column as well.

    Examples
    --------
    >>> name_of(0, ["black"]), name_of("true", ["black"]), name_of("F", ["sex"])
    ('black=0', 'black=true', 'F')
    >>> name_of("race=Other, sex=F", ["race", "sex"]), name_of("black=0, sex=F", ["black", "sex"])
    ('Other / F', 'black=0 / F')
    """
    if isinstance(group, list):
        return [name_of(each, columns) for each in group]
    if len(columns) > 1 and isinstance(group, str):
        return _short(group, columns)
    return f"{columns[0]}={group}" if len(columns) == 1 and group is not None and _is_bare(str(group)) else group


# Where an audit's numbers name groups.
_NAMED = ("group", "reference", "first", "second", "positive", "negative", "small_groups")


def by_column(tree: Any, columns: Sequence[str]) -> Any:
    """Call the groups of an audit's numbers by :func:`name_of`, for people; JSON and frames have them as they are.

    Examples
    --------
    >>> by_column([{"group": 0, "rows": 12}], ["black"])
    [{'group': 'black=0', 'rows': 12}]
    """
    if isinstance(tree, dict):
        return {
            key: name_of(each, columns) if key in _NAMED else by_column(each, columns) for key, each in tree.items()
        }
    return [by_column(each, columns) for each in tree] if isinstance(tree, list) else tree


def _is_bare(text: str) -> bool:
    """Whether a value says nothing without its column."""
    return re.fullmatch(r"[-+]?[0-9.]+|true|false", text, re.IGNORECASE) is not None


def _short(group: str, columns: Sequence[str]) -> str:
    """Leave the columns out of the name of an intersection, where its values speak for themselves."""
    pattern = ", ".join(f"{re.escape(column)}=(.*)" for column in columns)
    found = re.fullmatch(pattern, group)
    if found is None:
        return group
    return " / ".join(f"{c}={v}" if _is_bare(v) else v for c, v in zip(columns, found.groups()))
