"""Numbers in words: which sentence of :mod:`fairpot.report.text` fits, and how numbers are written in it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from fairpot._defaults import LEVEL
from fairpot._html import short
from fairpot._validation import wording
from fairpot.auditing.words import certified_gap
from fairpot.report.text import TEXT

Numbers = Mapping[str, Any]
# A gap that is overshot by less than this is called even.
_EVEN = 0.0005
_DASH = "–"
# So many groups are named in a sentence; the others are counted.
_NAMED = 3
# The changes of so many groups are told one by one.
_TOLD = 2
# What texts call the repair strengths.
_SYMBOLS = {"lam": "λ"}


def say(key: str, **values: Any) -> str:
    """Fill in a sentence.

    Examples
    --------
    >>> say("choice_top", value="20%")
    'the top 20%'
    """
    return TEXT[key].format(**values)


def percent(share: float | None, digits: int = 1) -> str:
    """Write a share in hundredths; what cannot be measured is a dash.

    Examples
    --------
    >>> percent(0.7123), percent(None)
    ('71.2%', '–')
    """
    return _DASH if share is None else f"{100 * share:.{digits}f}%"


def rate(part: float, whole: float) -> str:
    """Write a share of rows in whole hundredths, halves upwards, as the page's script does.

    Examples
    --------
    >>> rate(1, 8), rate(0, 0)
    ('13%', '–')
    """
    return f"{math.floor(100 * part / whole + 0.5)}%" if whole else _DASH


def points(gap: float | None, digits: int = 1) -> str:
    """Write a difference of shares in points of 100; no minus before a zero.

    Examples
    --------
    >>> points(0.0211), points(-0.0001)
    ('2.1', '0.0')
    """
    return _DASH if gap is None else _minus(f"{round(100 * gap, digits) + 0.0:.{digits}f}")


def signed_points(gap: float | None) -> str:
    """Write a difference of shares in points of 100, with its sign.

    Examples
    --------
    >>> signed_points(0.0211), signed_points(-0.02)
    ('+2.1', '−2.0')
    """
    return _DASH if gap is None else _minus(f"{round(100 * gap, 1) + 0.0:+.1f}")


def _minus(written: str) -> str:
    return written.replace("-", "−")


def number(value: float | None, digits: int = 3) -> str:
    """Write a number with so many decimals."""
    return _DASH if value is None else _minus(f"{round(value, digits) + 0.0:.{digits}f}")


def signed(value: float | None, digits: int = 3) -> str:
    """Write a number with its sign."""
    return _DASH if value is None else _minus(f"{round(value, digits) + 0.0:+.{digits}f}")


def score(value: float | None) -> str:
    """Write a score, of whatever size, in three digits.

    Examples
    --------
    >>> score(0.123456), score(123456.0), score(-2e-9)
    ('0.123', '1.23e+05', '-2e-09')
    """
    return _DASH if value is None else f"{value:.3g}"


def change(value: float | None) -> str:
    """Write a change of a score with its sign."""
    return _DASH if value is None else f"{value:+.3g}" if value else "0"


def count(value: float | None) -> str:
    """Write a number of rows, which weights may have made a fraction.

    Examples
    --------
    >>> count(12345), count(2.5), count(3.0)
    ('12,345', '2.5', '3')
    """
    if value is None:
        return _DASH
    return wording.shown_rows(value)


def top_share(alpha: float) -> str:
    """Write a share of the ranking.

    Examples
    --------
    >>> top_share(0.07)
    '7%'
    """
    return f"{100 * alpha:.4g}%"


def top_of(summary: Numbers) -> str:
    """Write the top that the report speaks of: of the whole list, or of each group."""
    alpha = top_share(summary["finding"]["alpha"] or 0.0)
    return say("top_of_each", alpha=alpha) if summary["finding"]["region"] == "group" else alpha


def told(summary: Numbers, numbers: Numbers) -> Numbers:
    """Give the numbers that the report speaks of: those of the top, if the repair works there."""
    return numbers["top"] if numbers["top"] is not None else numbers


def headline(summary: Numbers, numbers: Numbers) -> float | None:
    """Give the gap that the report turns on: of the two groups with its sign, or the largest of many."""
    return told(summary, numbers)["gap" if many(summary) else "signed_gap"]


def many(summary: Numbers) -> bool:
    """Whether there are more than two groups."""
    return len(summary["data"]["groups"]) > 2


def answer(summary: Numbers) -> list[str]:
    """Say what was found, then whose scores the repair changes, how sure that is, and what is known of it."""
    said = [finding(summary), size(summary), meaning(summary)]
    if summary["after"] is not None:
        said += [*repaired(summary, summary["after"]), *_changed(summary), trust(summary)]
    return [sentence for sentence in said if sentence]


def finding(summary: Numbers) -> str:
    """Say who is ranked higher, and what that does to them if it is known."""
    found = summary["finding"]
    who = str(found["who"])
    if found["alpha"] is None:
        return say("headline", who=who)
    return say("headline_top", who=who[:1].lower() + who[1:], alpha=top_of(summary))


def meaning(summary: Numbers) -> str:
    """Say what the finding means in pairs of 100, with the outcome by its name."""
    said, outcome = str(summary["finding"]["meaning"]), summary["data"]["outcome"]
    return said.replace(f"with {TEXT['outcome']}", f"with {outcome}", 1)


def size(summary: Numbers) -> str:
    """Say how large the gap is, in points, and how surely."""
    found = summary["finding"]
    gap = found["gap"]
    if gap is None or gap["estimate"] is None:
        return ""
    # Of two groups the interval has a sign, as in the picture: an end at 0 would hide that it holds both signs.
    low, high = (gap["low"], gap["high"]) if many(summary) else pair_limits(summary, summary["before"]) or (None, None)
    written = say(
        "gap_only" if low is None else "gap_interval", gap=points(gap["estimate"]), low=points(low), high=points(high)
    )
    key = "size_many" if found["pairs"] > 1 else "size" if found["alpha"] is None else "size_top"
    return say(key, gap=written, pairs=found["pairs"])


def subtitle(summary: Numbers) -> str:
    """Say how many rows and groups there are, and how many rows have the outcome."""
    data = summary["data"]
    rows = wording.rows_by(data["rows"], data["weights"])
    return say("subtitle", rows=rows, groups=len(data["groups"]), rate=percent(data["rate"]), outcome=data["outcome"])


def badge(summary: Numbers) -> tuple[str, str]:
    """Give the trust badge and what kind it is."""
    found, certificate = summary["trust"], summary["method"]["certificate"]
    if certificate is None:
        return str(found["badge"][:1]).upper() + str(found["badge"][1:]), str(found["state"]).replace(" ", "-")
    fields = {"bound": points(certificate["bound"]), "confidence": percent(certificate["confidence"], 0)}
    answer = {"contradicted": "contradicted", "cannot tell": "cannot_tell"}.get(certificate["answer"], "certified")
    return say(f"badge_{answer}", **fields), answer.replace("_", "-")


def trust(summary: Numbers) -> str:
    """Say what is known of the repair on new rows: what was certified, on what, and what these rows say of it."""
    found = summary["method"]["certificate"]
    if found is None:
        return "" if summary["trust"] is None else str(summary["trust"]["sentence"])
    alpha = found.get("alpha")
    where = TEXT["gap_overall"] if alpha is None else say("gap_top", alpha=top_of(summary))
    if found.get("starts") is not None:  # a promise about everybody from a score on names that score
        turned = any("below" in each for each in summary["who"]["choices"])
        where = f"the {certified_gap(found, turned)}"
    rows = ", ".join(filter(None, (found["rows"], found["time"])))
    fields = {"bound": points(found["bound"]), "confidence": percent(found["confidence"], 0)}
    said = [say("certified", where=where, rows=rows, **fields)]
    if found.get("limit") is not None:
        said.append(say("certified_limit", limit=points(found["limit"])))
    if found["answer"] is None:
        return " ".join([*said, TEXT["certified_same_rows"]])
    now = found["on_these_rows"]["gap"]
    if now["reason"] is not None:
        return " ".join([*said, TEXT["certified_no_interval"]])
    return " ".join([*said, _on_these_rows(summary)])


def _on_these_rows(summary: Numbers) -> str:
    """Say what new rows say of a certificate; at the level of the picture with the signs of the picture."""
    found = summary["method"]["certificate"]
    gap = found["on_these_rows"]["gap"]
    numbers = (gap["estimate"], gap["low"], gap["high"])
    alike = not many(summary) and gap["level"] == LEVEL and found.get("starts") is None
    limits = pair_limits(summary, summary["after"]) if alike else None
    if limits is not None:
        numbers = (told(summary, summary["after"])["signed_gap"], *limits)
    written = dict(zip(("gap", "low", "high"), map(points, numbers)))
    return say("certified_" + found["answer"].replace(" ", "_"), **written, level=percent(gap["level"], 0))


def certified_on(summary: Numbers) -> str:
    """Say in one sentence what was certified and on what, and, where these rows are new, what they say of it."""
    found = summary["method"]["certificate"]
    said = [say("certified_on", rows=found["rows"])]
    if found["answer"] is not None and found["on_these_rows"]["gap"]["reason"] is None:
        said.append(_on_these_rows(summary))
    limits = None if many(summary) else pair_limits(summary, summary["after"])
    if found["answer"] != "contradicted" and limits is not None and max(map(abs, limits)) > found["bound"]:
        said.append(TEXT["certified_one_sided"])
    return " ".join(said)


def repaired(summary: Numbers, numbers: Numbers) -> list[str]:
    """Say what one setting does to the gap, whose scores it changes, and whether it overshoots."""
    said = [*_gap_goes(summary, numbers), whose(numbers)]
    if not goes_past(summary, numbers):
        return said
    limits = pair_limits(summary, numbers)
    key = "overshoots_unsure" if limits is None or limits[0] <= 0 <= limits[1] else "overshoots"
    return [*said, say(key, **summary["pair"], gap=points(abs(told(summary, numbers)["signed_gap"])))]


def pair_limits(summary: Numbers, numbers: Numbers) -> Sequence[float] | None:
    """Give the limits of the gap of two groups, with its sign, at a setting where they are known."""
    [pair] = told(summary, numbers).get("pairs") or [{"limits": None}]
    return pair["limits"]


def _gap_goes(summary: Numbers, numbers: Numbers) -> list[str]:
    was, now = headline(summary, summary["before"]), headline(summary, numbers)
    if was is None or now is None:
        return []
    alpha = summary["finding"]["alpha"]
    where = TEXT["gap_many" if many(summary) else "gap_overall"]
    where = where if alpha is None else say("gap_top", alpha=top_of(summary))
    before, after = points(abs(was)), points(abs(now))
    key = "keeps" if before == after else "narrows" if abs(now) < abs(was) else "widens"
    return [say(key, where=where, after=after, of=_of_what(summary, numbers))]


def _of_what(summary: Numbers, numbers: Numbers) -> str:
    """Say how sure the gap of two groups is at a setting, or which of many pairs has the largest."""
    if many(summary):
        pairs = [p for p in told(summary, numbers).get("pairs") or () if not p["small"] and p["signed_gap"] is not None]
        if not pairs:
            return ""
        pair = max(pairs, key=lambda each: abs(each["signed_gap"]))
        names = [pair["first"], pair["second"]][:: 1 if pair["signed_gap"] >= 0 else -1]
        same = names == [summary["pair"]["higher"], summary["pair"]["lower"]]
        return "" if same else say("goes_pair", **dict(zip(("first", "second"), names)))
    limits = pair_limits(summary, numbers)
    # Where the repair overshoots, signs would be those of the other direction: the next sentence says how sure it is.
    if limits is None or numbers["moved"] == 0 or goes_past(summary, numbers):
        return ""
    return say("goes_limits", low=points(limits[0]), high=points(limits[1]))


def whose(numbers: Numbers) -> str:
    """Say whose scores a setting changes, and whose it does not."""
    groups = numbers["groups"]
    moved = sorted((g for g in groups if g["moved"]), key=lambda each: -each["moved"])
    if not moved:
        return TEXT["nothing_changes"]
    if len(moved) > _TOLD:
        total = {name: count(sum(g[name] for g in groups)) for name in ("moved", "rows", "up", "down")}
        most = {"group": moved[0]["group"], "most": count(moved[0]["moved"]), "size": count(moved[0]["rows"])}
        said = say("many_changed", **total, **most, changed=len(moved), groups=len(groups))
    else:
        said = ", ".join(
            say(_way(g), **_moved(g)).removeprefix("It " if place else "") for place, g in enumerate(moved)
        )
    still = [g["group"] for g in groups if not g["moved"]]
    return "; ".join([said, *([say("unchanged", groups=_or(still))] if still else [])]) + "."


def _way(each: Numbers) -> str:
    """Name the sentence of a group's changes: the way that most scores go comes first."""
    if each["up"] and each["down"]:
        return "mostly_raised" if each["up"] >= each["down"] else "mostly_lowered"
    return "raised" if each["up"] else "lowered"


def _moved(each: Numbers) -> dict[str, str]:
    return {"group": each["group"], **{name: count(each[name]) for name in ("up", "down", "rows")}}


def _or(names: Sequence[str]) -> str:
    """List names that nothing is true of."""
    if len(names) <= 2:
        return " or ".join(names)
    return ", ".join(names[:_NAMED]) + (" or others" if len(names) > _NAMED else "")


def _changed(summary: Numbers) -> list[str]:
    """Say how surely the gap changed, with its sign: its size alone cannot fall below 0."""
    signed_gap = (summary["changes"] or {}).get("gap", {}).get("signed")
    if signed_gap is None or signed_gap["change"] is None or summary["finding"]["alpha"] is not None:
        return []
    higher, lower = signed_gap["groups"]
    if {higher, lower} != set(summary["pair"].values()):  # of a small group, which nobody should act on
        return []
    fields = {"higher": higher, "lower": lower, "change": signed_points(signed_gap["change"])}
    if signed_gap["reason"] is not None:
        return [say("changed_unsure", **fields)]
    low, high = (signed_points(signed_gap[name]) for name in ("low", "high"))
    return [say("changed", **fields, low=low, high=high, level=percent(signed_gap["level"], 0))]


def goes_past(summary: Numbers, numbers: Numbers) -> bool:
    """Whether the repair visibly turns the gap of two groups around."""
    was, now = (told(summary, each)["signed_gap"] for each in (summary["before"], numbers))
    if many(summary) or was is None or now is None:
        return False
    return bool(now < 0 <= was and abs(now) >= _EVEN)


def rule(summary: Numbers) -> str:
    """Say which rule set the repair strength."""
    name, given = summary["dial"]["name"], summary["method"]["parameters"]
    loss = given.get("max_auc_loss")
    fields = {
        "gap": points(given.get("max_gap")),
        "loss": f"{loss or 0:g}",
        "among": _among(given),
        "best": TEXT["axis_auc"],
    }
    if given.get("net_benefit_at") is not None:
        fields["best"] = say("rule_net_benefit", at=given["net_benefit_at"])
    if given.get("max_gap") is not None:
        said = say("rule_max_gap" if loss is None else "rule_both", **fields)
    elif loss is not None:
        said = say("rule_max_auc_loss", **fields)
    elif name and given.get(name) is not None:
        return say("rule_given", dial=name, value=given[name])
    else:
        said = say("rule_smallest", **fields) if name else TEXT["rule_saved"]
    sure = given.get("confidence")
    return said if sure is None else say("rule_confidence", rule=said, confidence=percent(sure, 0))


def _among(given: Numbers) -> str:
    """Name those whose gap a rule looks at, where it does not look at all."""
    top = given.get("top")
    if top is None:
        return ""
    if isinstance(top, int):
        return say("rule_among", top=count(top))
    return say("rule_among_share", top=top_share(top))


def dial_setting(summary: Numbers, place: int, whole: bool = False) -> str:
    """Name one setting of the dial; where many groups have values of their own, between which these lie, or all."""
    dial, method = summary["dial"], summary["method"]
    value, name = dial["values"][place], dial["name"]
    if place == 0:
        return say("off")
    if value is None or not name:
        return say("on")
    own = dial["strengths"] and dial["strengths"][place]
    if own:
        symbol = _SYMBOLS.get(method["strength"], method["strength"])
        if len(own) > _TOLD and not whole:
            low, high = (f"{end(each['value'] for each in own):.2g}" for end in (min, max))
            return say("dial_own_many", dial=symbol, low=low, high=high)
        shown = ", ".join(f"{short(each['group'], 16)} {each['value']:.2g}" for each in own)
        return say("dial_own", dial=symbol, values=shown)
    key = f"dial_{method['name']}"
    named = method["moved"][:_NAMED]
    moved = " + ".join(named) + (" + …" if len(method["moved"]) > _NAMED else "")
    fields = {"value": f"{value:.3g}", "share": f"{100 * value:.3g}%", "moved": moved, "dial": name}
    return say(key if key in TEXT else "dial_other", **fields)


def live_line(summary: Numbers, numbers: Numbers) -> str:
    """Say the few numbers of a setting."""
    inside, gap = told(summary, numbers), points(headline(summary, numbers))
    fields = {"gap": gap, "auc": number(inside["auc"]), "moved": count(numbers["moved"])}
    # A gap below 0 says in words what its sign means.
    fields["way"] = say("live_way", lower=summary["pair"]["lower"]) if gap.startswith("−") else ""
    if numbers["top"] is not None:
        return say("live_top", **fields, alpha=top_of(summary))
    return say("live_many" if many(summary) else "live", **fields)


def warnings(summary: Numbers) -> list[str]:
    """Write the warnings, one line a group."""
    cells: dict[str, list[str]] = {}
    outcome = summary["data"]["outcome"]
    said: list[str] = []
    for found in summary["warnings"]:
        if found["kind"] == "ties" and len(_both_ties(found)) == 1:  # as it is written, there is no difference
            continue
        if found["kind"] == "same_rows" and summary["method"]["certificate"] is not None:
            said.append(say("warn_same_rows_certified", bound=points(summary["method"]["certificate"]["bound"])))
            continue
        if found["kind"] != "small_cell":
            said.append(_warning(found))
            continue
        key = "cell_with" if found["what"] == "positives" else "cell_without"
        cells.setdefault(found["group"], []).append(say(key, rows=count(found["rows"]), outcome=outcome))
    small = [
        say("warn_group", group=group, cells=say("and", first=each[0], second=each[1]) if len(each) > 1 else each[0])
        for group, each in cells.items()
    ]
    return [*small, *said]


def _both_ties(found: Numbers) -> set[str]:
    """Write a number with ties taken both ways."""
    write = number if found["name"] == "AUC" else points
    return {write(found[how]) for how in ("strict", "half")}


def _warning(found: Numbers) -> str:
    kind = found["kind"]
    if kind == "ties":
        write = number if found["name"] == "AUC" else points
        both = {how: write(found[how]) for how in ("strict", "half")}
        return say("warn_ties", name=TEXT[f"ties_{found['name']}"], **both)
    if kind == "calibration":
        return say(
            "warn_calibration", group=found["group"], before=number(found["before"]), after=number(found["after"])
        )
    if kind in ("reference", "left_out"):
        return say(f"warn_{kind}", **{k: v if isinstance(v, str) else count(v) for k, v in found.items()})
    if kind == "no_probabilities":
        return say("warn_no_probabilities", low=score(found["low"]), high=score(found["high"]))
    if kind == "coarse":
        return say("warn_coarse", bins=count(found["bins"]))
    return say(f"warn_{kind}", **{k: v for k, v in found.items() if k != "kind"})
