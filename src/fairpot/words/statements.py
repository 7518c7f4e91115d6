"""What is said of a statement, in one sentence each; then what may not be parted from it, and what to do next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fairpot._arguments import argument
from fairpot._validation import wording
from fairpot.words.style import FRACTIONS, among, gap_from, gap_name, level, listed

if TYPE_CHECKING:
    from fairpot.inference import Estimate
    from fairpot.results.judge import Caveat, Statement
    from fairpot.results.ranking import Thin

# What stands below intervals of several pairs.
OF_ALL_PAIRS = "The intervals of gaps hold for all pairs at once."
_BADGES = {
    "backwards": "Score ranks the wrong way round",
    "chance": "No better than chance",
    "few outcomes": "Too few outcomes to tell",
    "not measured": "No gap can be measured",
    "missed": "Target missed on new rows",
    "kept": "Target kept on new rows",
    "needless": "No repair needed",
}
_WITHOUT_TARGET = {
    "clear": "A gap is left on new rows",
    "small": "No clear gap on new rows",
    "measured": "Without intervals",
}
_OF_CERTIFICATE = {
    "missed": "Certificate contradicted by these rows",
    "kept": "Certificate holds on these rows",
    "unknown": "Certified; these rows cannot tell",
}


def ranked(first: Any, second: Any, lower_is_riskier: bool = False, score: str = "The score ranks") -> str:
    """Say that a score ranks a group higher than another: the same words whether the name is a plural or not."""
    return f"{score} {first} {'as riskier (scored lower)' if lower_is_riskier else 'higher'} than {second}"


def statement(told: Statement) -> str:
    """Say a statement, with what may not be parted from it."""
    return " ".join([sentence(told), *map(caveat, told.caveats)])


def sentence(told: Statement) -> str:
    """Say a statement in one sentence."""
    return _SENTENCES[told.state](told)


def meaning(told: Statement, outcome: str = "the outcome") -> str:
    """Say what a gap means: who is in the top, or pairs of 100; nothing where it may be chance."""
    if told.xauc_higher is None or told.xauc_lower is None or told.state in ("too few", "unknown", "small"):
        return ""
    first, second = told.pair
    there, back = both_of_hundred(100 * told.xauc_higher, 100 * told.xauc_lower)
    said = (
        f"omeone in {first} with {outcome} is ranked above someone in {second} without it in {there} of 100 pairs; the "
        f"reverse ({second} over {first}) in {back}."
    )
    if told.top is None:
        said = f"S{said}"
    else:
        there_are = among(told.top, told.top_of)
        said = f"{there_are[:1].upper()}{there_are[1:]}, s{said}"
        if told.in_top is not None:
            there, back = both_of_hundred(100 * told.in_top[0], 100 * told.in_top[1])
            said = f"Of those with {outcome}, {there}% in {first} and {back}% in {second} are {there_are}. {said}"
    if told.lower_is_riskier and told.high_score_means is not None:
        said += f" As stated, a high score, that is low risk, {told.high_score_means}s the person."
    return said


_MOST_DIGITS = 3


def both_of_hundred(there: float, back: float) -> tuple[str, str]:
    """Write two numbers of 100 so that they differ where they do, and that only all of them are 100, only none 0."""
    there, back = round(there, 9), round(back, 9)
    digits = 0 if round(there) != round(back) or abs(there - back) < 0.05 else 1
    while digits < _MOST_DIGITS and any(_rounded_away(number, digits) for number in (there, back)):
        digits += 1
    return _of_100(there, digits), _of_100(back, digits)


def _rounded_away(number: float, digits: int) -> bool:
    return round(number, digits) in (0.0, 100.0) and 1e-9 < number < 100 - 1e-9


def _of_100(number: float, digits: int) -> str:
    if _rounded_away(number, digits):
        return f"over {100 - 10.0**-digits:.{digits}f}" if number > 50 else f"under {10.0**-digits:.{digits}f}"
    return f"{number:.{digits}f}"


def badge(told: Statement) -> str:
    """Say in a few words what is known of a repair."""
    if told.certificate is not None and told.state == "certified":
        bound, sure = told.certificate["bound"], level(told.certificate["confidence"])
        return f"Certified: at most {bound:g}, {sure} confidence"
    if told.certificate is not None and told.state in _OF_CERTIFICATE:
        return _OF_CERTIFICATE[told.state]
    if told.state in _BADGES:
        return _BADGES[told.state]
    if not told.new_rows:
        return "Not checked on new rows"
    return _WITHOUT_TARGET.get(told.state, "New rows cannot tell")


def _who(told: Statement) -> str:
    """Say who is ranked higher than whom, and whom that benefits or harms."""
    (first, second), means = told.pair, told.ranked_high_means
    if told.gap is not None and float(told.gap) == 0.0:
        return f"The score ranks {first} and {second} equally"
    said = ranked(first, second, told.lower_is_riskier)
    return said if means is None else f"{said}, which {'benefits' if means == 'help' else 'harms'} {first}"


def _where(told: Statement) -> str:
    return wording.in_top(told.top)


def _sure(told: Statement) -> str:
    return f"with {level(told.level or 0.0)} confidence"


def _gap(told: Statement) -> str:
    return FRACTIONS.with_interval(told.gap)


def _over(told: Statement) -> str:
    return f"{told.ranked_higher} over {told.ranked_lower}"


def _no_outcomes(told: Statement) -> str:
    return "Outcomes are not known, so AUC, xAUC, gaps, calibration and error rates are left out."


def _backwards(told: Statement) -> str:
    way = "higher" if told.lower_is_riskier else "lower"
    return (
        f"The score ranks the wrong way round: rows with the outcome have {way} scores than rows without it, AUC "
        f"{FRACTIONS.with_interval(told.auc, auc=True)}. A gap says little before that is settled."
    )


def _chance(told: Statement) -> str:
    return (
        f"The score is not shown to be better than chance: AUC {FRACTIONS.with_interval(told.auc, auc=True)}. "
        "Gaps, and a small gap above all, say little."
    )


def _few_outcomes(told: Statement) -> str:
    few = "" if told.thinnest is None else f" {few_rows(told.thinnest)}"
    return f"Too few to tell whether the score works:{few}; AUC {FRACTIONS.with_interval(told.auc, auc=True)}."


def _not_measured(told: Statement) -> str:
    return f"No gap can be measured{_where(told)}: a group has no rows with the outcome, or none without it."


def _measured(told: Statement) -> str:
    return f"In these rows {_lower_first(_who(told))}: {told.metric} {_gap(told)}{_of_pairs(told)}."


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]


def _of_pairs(told: Statement) -> str:
    """Say of how many gaps it is the largest, or the surest."""
    if told.pairs < 2:
        return ""
    if told.state == "measured":
        return f", the largest of {told.pairs} pairs of groups"
    if told.clear_pairs == 1:
        return f", the only clear gap of {told.pairs} pairs of groups"
    return f", the surest of {told.clear_pairs} clear gaps among {told.pairs} pairs of groups"


def _clear(told: Statement) -> str:
    said = f"{_who(told)}: {told.metric} {_gap(told)}"
    if not told.repaired:
        return f"{said}{_of_pairs(told)}."
    return f"After the repair {_lower_first(said)}{_before(told)}.{_worse(told)}"


def _small(told: Statement) -> str:
    after = "After the repair there" if told.repaired else "There"
    if told.clear_pairs:
        who = _lower_first(_who(told))
        return f"{after} is a gap, but a small one: {who}, {told.metric} {_gap(told)}{_of_pairs(told)}{_before(told)}."
    none = "No clear gap is left" if told.repaired else "No clear gap"
    return f"{none}{_where(told)}: {_sure(told)} the {told.metric} is at most {_bound(told)}{_before(told)}."


def _bound(told: Statement) -> str:
    return FRACTIONS.gap(told.at_most)


def _could(told: Statement) -> str:
    return "it could be anything" if told.at_most is None else f"it could be as large as {_bound(told)}"


def _too_few(told: Statement) -> str:
    whether = f"Cannot tell whether {'a gap is left' if told.repaired else 'there is a gap'}{_where(told)}"
    if told.known_groups:
        among = _listed(told.known_groups)
        return f"No clear gap between {among}{_where(told)}: {_sure(told)} it is at most {_bound(told)}."
    measured = f"measured is {FRACTIONS.gap(told.gap)} ({_over(told)}){_before(told)}"
    if told.thinnest is None:
        return f"{whether}: {measured}, which chance could explain; {_could(told)}."
    return f"{whether}: {few_rows(told.thinnest)}; {measured}, and {_could(told)}."


def few_rows(few: Thin) -> str:
    """Say how few rows a number stands on."""
    what = "with the outcome" if few.outcome else "without the outcome"
    of = "" if few.group is None else f" in {few.group}"
    if few.clusters:
        return f"only {wording.counted(few.worth, 'cluster', ',.10g')} {what}{of}"
    if few.worth < few.rows - 0.5:
        return f"only {wording.counted(few.rows, 'row', ',.10g')} {what}{of}, worth {few.worth:.3g} equal ones"
    return f"only {wording.counted(few.rows, 'row', ',.10g')} {what}{of}"


def _target(told: Statement) -> str:
    return f"{told.target:g}"


def _before(told: Statement) -> str:
    """Say how large the largest gap was before a repair."""
    if told.before is None:
        return ""
    pair = told.before.groups
    other = "" if pair is None or tuple(pair) == told.pair else f" ({pair[0]} over {pair[1]})"
    return f", before {FRACTIONS.gap(told.before)}{other}"


def _worse(told: Statement) -> str:
    return {
        "": "",
        "measured": " It is larger than before.",
        "shown": " The repair made the largest gap larger.",
    }[told.grown]


def _thin(told: Statement) -> str:
    return "" if told.thinnest is None else f" ({few_rows(told.thinnest)})"


def _largest_gap(told: Statement) -> str:
    many = "largest " if told.pairs > 1 else ""
    return f"{many}{told.metric}"


def _missed(told: Statement) -> str:
    by = FRACTIONS.gap(float(told.gap or 0.0) - (told.target or 0.0))
    gap = f"the {told.metric} of {_over(told)} is {_gap(told)}{_before(told)}.{_worse(told)}"
    if told.certificate is not None:
        return _on_certificate(told, "These rows contradict the certificate", gap)
    what = "repair" if told.state == "missed" else "score"
    return f"The {what} misses the target {_target(told)} by {by}: {gap}"


def _kept(told: Statement) -> str:
    measured = f"measured {FRACTIONS.gap(told.gap)}{_before(told)}"
    gap = f"{_sure(told)} the {told.metric} is at most {_bound(told)}, {measured}."
    if told.certificate is not None:
        return _on_certificate(told, "These rows agree with the certificate", gap)
    return f"The target {_target(told)} is kept: {gap}"


def _needless(told: Statement) -> str:
    measured = f"as measured the {_largest_gap(told)} is {FRACTIONS.gap(told.gap)} ({_over(told)})"
    kept = told.at_most is not None and told.at_most <= (told.target or 0.0)
    sure = f"{_sure(told)} it is at most {_bound(told)}" if kept else f"{_could(told)}{_thin(told)}"
    return f"No repair needed: {measured}, within the target {_target(told)}; {sure}."


def certified_gap(known: Mapping[str, Any], turned: bool = False) -> str:
    """Name the gap of a certificate; ``known`` as its document has it."""
    starts = known.get("starts")
    if starts is None:
        return gap_name(known.get("top"))
    return gap_from({each["group"]: each["value"] for each in starts}, turned, bool(known.get("adjusted")))


def certificate(known: Mapping[str, Any], turned: bool = False) -> str:
    """Say what was certified, and on what; ``known`` as a certificate's document has it."""
    on = f"{known['rows']}, {known['time']}" if known.get("time") else f"{known['rows']}"
    gap, bound, sure = certified_gap(known, turned), f"{known['bound']:g}", level(known["confidence"])
    said = f"Certified: with {sure} confidence the {gap} on rows like these is at most {bound} (tested on {on})."
    return f"{said} {asked_and_granted(known['confidence'])}"


def asked_and_granted(confidence: float) -> str:
    """Say of which certificates so many are broken at most: of those asked for, not of those granted."""
    broken = f"{100 * (1 - confidence):.3g}"
    return f"Of 100 certificates asked for, at most {broken} are broken; of those granted more, if few are granted."


def _on_certificate(told: Statement, said: str, gap: str) -> str:
    """Say what new rows say of a certificate, and then what it is."""
    assert told.certificate is not None
    return f"{said}: {gap} {certificate(told.certificate, told.lower_is_riskier)}"


def _certified(told: Statement) -> str:
    said = "" if told.certificate is None else certificate(told.certificate, told.lower_is_riskier)
    gap = f"{FRACTIONS.gap(told.gap)} ({_over(told)}){_before(told)}"
    return f"{said} On the rows it was fitted on, the {_largest_gap(told)} is {gap}."


def _fitted(told: Statement) -> str:
    return (
        f"On the rows it was fitted on, the {_largest_gap(told)} is {FRACTIONS.gap(told.gap)} ({_over(told)})"
        f"{_before(told)}: within the target {_target(told)}."
    )


def _unknown(told: Statement) -> str:
    of = f"the {told.metric} of {_over(told)} is {_gap(told)}{_before(told)}{_thin(told)}.{_worse(told)}"
    if told.certificate is not None:
        return _on_certificate(told, "These rows cannot tell whether the certificate holds", of)
    if float(told.gap or 0.0) > (told.target or 0.0):
        return f"Measured above the target {_target(told)}, which chance could explain: {of}"
    return (
        f"Measured within the target {_target(told)}, though chance could hide more: the {_largest_gap(told)} is "
        f"{FRACTIONS.gap(told.gap)} ({_over(told)}){_before(told)}, and {_could(told)}{_thin(told)}.{_worse(told)}"
    )


_SENTENCES = {
    "no outcomes": _no_outcomes,
    "backwards": _backwards,
    "chance": _chance,
    "few outcomes": _few_outcomes,
    "not measured": _not_measured,
    "measured": _measured,
    "missed": _missed,
    "above": _missed,
    "kept": _kept,
    "within": _kept,
    "needless": _needless,
    "certified": _certified,
    "fitted": _fitted,
    "unknown": _unknown,
    "clear": _clear,
    "small": _small,
    "too few": _too_few,
}


def caveat(told: Caveat) -> str:
    """Say what may not be parted from a statement."""
    names = _listed(told.groups)
    if told.kind == "larger":
        few = "" if told.thin is None else f", from {few_rows(told.thin)}"
        return f"A larger gap was measured, {told.groups[0]} over {told.groups[1]} {_limited(told.gap)}{few}."
    if told.kind == "thin":
        return f"It stands on {few_rows(told.thin)}." if told.thin is not None else ""
    return {
        "untold": f"Of {names} it cannot be told: too few rows.",
        "left out": f"{names} {'was' if len(told.groups) == 1 else 'were'} left out of the repair.",
        "one outcome": f"Nothing is known of {names}: rows of one outcome only.",
        "chance": f"In {names} the score is not shown to be better than chance.",
    }[told.kind]


def _limited(gap: Estimate | None) -> str:
    return "" if gap is None else FRACTIONS.with_interval(gap)


def _listed(names: Sequence[Any], most: int = 4) -> str:
    """List names with an "and"; of many, say how many more there are."""
    if len(names) > most:
        return listed(names, most - 1) + " groups"
    return " and ".join(filter(None, [", ".join(map(str, names[:-1])), str(names[-1])])) if names else ""


def failed_by_chance(statements: Sequence[Statement], option: str) -> str:
    """Say that a gate fails as a score, overall or in a group, is not shown to be better than chance."""
    groups = [group for each in statements for c in each.spoken.caveats if c.kind == "chance" for group in c.groups]
    where = "" if any(each.about_score for each in statements) else f" in {_listed([*dict.fromkeys(groups)])}"
    return (
        f"FAILED: the score is not shown to be better than chance{where}, so that a small gap says little ({option} "
        "lets it pass)"
    )


def what_next(told: Statement) -> str:
    """Say what to do next."""
    return _NEXT[told.state](told)


def _look_at_score(told: Statement) -> str:
    return " Do not use this repair." if told.repaired else ""


def _turn_round(told: Statement) -> str:
    turned, positive = argument("lower_is_riskier", True), argument("pos_label", ...)
    way = f"if a high score means high risk, leave {turned} out"
    way = way if told.lower_is_riskier else f"if a low score means high risk, say so ({turned} where rows are counted)"
    said = f"Check which way the score runs: {way}; if 0 and 1 are swapped, name the outcome that is 1 ({positive})."
    return said + _look_at_score(told)


def _more(told: Statement) -> str:
    of = "clusters" if told.thinnest is not None and told.thinnest.clusters else "rows"
    of += " of them" if told.known_groups else ""
    return f"Collect more {of} before you act on this."


def _after_clear(told: Statement) -> str:
    if told.repaired:
        return ""  # how far to go is the reader's choice
    said = "A repair can make this gap smaller: fit one and look at its price."
    return said if told.high_score_means is not None else f"{said} {say_meaning()}"


def say_meaning(option: str = "") -> str:
    """Ask what a high score does to a person; where there is an option for it, by its name."""
    named = f" ({option})" if option else ""
    return f"Say what a high score does to a person, help or harm{named}: it decides whose scores a repair changes."


_NEXT = {
    "no outcomes": lambda _: (
        "Audit these rows again when outcomes are known: selection rates do not say who is rightly flagged."
    ),
    "backwards": _turn_round,
    "chance": lambda told: "Look at the score first." + _look_at_score(told),
    "few outcomes": _more,
    "not measured": _more,
    "measured": lambda _: "These rows alone were measured: ask for intervals before you act on this.",
    "missed": lambda _: "Do not use this repair as it is: fit again with rows like these.",
    "above": lambda _: "Fit a repair and look at its price.",
    "kept": lambda _: "",
    "within": lambda _: "No repair is needed.",
    "needless": lambda _: "Keep the original scores.",
    "certified": lambda _: "",
    "fitted": lambda _: "Check it on new rows before you use it.",
    "unknown": lambda told: "Check it on more new rows before you use it." if told.repaired else _more(told),
    "clear": _after_clear,
    "small": lambda told: (
        "" if told.clear_pairs or told.repaired else "If a smaller gap matters to you, more rows would tell."
    ),
    "too few": _more,
}
