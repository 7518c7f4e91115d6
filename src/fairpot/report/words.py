"""Numbers in words: which sentence of :mod:`fairpot.report.text` fits, and how numbers are written in it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from fairpot._validation import wording
from fairpot.report.text import TEXT

# A gap under half a point is called even.
_EVEN = 0.005
_DASH = "–"


def say(key: str, **values: Any) -> str:
    """Fill in a sentence.

    Examples
    --------
    >>> say("points", value="2.0")
    '2.0 points'
    """
    return TEXT[key].format(**values)


def percent(share: float | None, digits: int = 1) -> str:
    """Write a share in hundredths; what cannot be measured is a dash.

    Examples
    --------
    >>> percent(0.7123), percent(None)
    ('71.2 %', '–')
    """
    return _DASH if share is None else f"{100 * share:.{digits}f} %"


def points(gap: float | None, digits: int = 1) -> str:
    """Write a difference of shares in percentage points; no minus before a zero.

    Examples
    --------
    >>> points(0.0211), points(-0.0001)
    ('2.1', '0.0')
    """
    return _DASH if gap is None else f"{round(100 * gap, digits) + 0.0:.{digits}f}"


def number(value: float | None, digits: int = 4) -> str:
    """Write a number with so many decimals."""
    return _DASH if value is None else f"{round(value, digits) + 0.0:.{digits}f}"


def signed(value: float | None, digits: int = 4) -> str:
    """Write a number with its sign."""
    return _DASH if value is None else f"{round(value, digits) + 0.0:+.{digits}f}"


def score(value: float | None) -> str:
    """Write a score, of whatever size, in four digits.

    Examples
    --------
    >>> score(0.123456), score(123456.0), score(-2e-9)
    ('0.1235', '1.235e+05', '-2e-09')
    """
    return _DASH if value is None else f"{value:.4g}"


def change(value: float | None) -> str:
    """Write a change of a score with its sign."""
    return _DASH if value is None else f"{value:+.3g}" if value else "0"


def count(value: float | None) -> str:
    """Write a number of people, which weights may have made a fraction.

    Examples
    --------
    >>> count(12345), count(2.5), count(3.0)
    ('12,345', '2.5', '3')
    """
    if value is None:
        return _DASH
    return wording.shown_rows(value)


def answer(summary: Mapping[str, Any]) -> list[str]:
    """Say what was found: first who is behind, then what the repair does about it."""
    before, after = summary["before"], summary["after"]
    said = [_who_is_behind(summary, before)]
    if after is None:
        return [*said, say("not_repaired", auc_before=number(before["auc"]))]
    known = summary["method"]["certificate"]
    return [*_stands(known), *said, *repaired(summary, after), *_changed(summary), *_certified(known)]


def _changed(summary: Mapping[str, Any]) -> list[str]:
    """Say how surely the gap changed, with its sign: its size alone cannot fall below 0."""
    signed_gap = (summary["changes"] or {}).get("gap", {}).get("signed")
    if signed_gap is None or signed_gap["change"] is None:
        return []
    ahead, behind = signed_gap["groups"]
    names = ("before", "after", "change")
    fields = {name: signed(100 * signed_gap[name], 1) for name in names} | {"ahead": ahead, "behind": behind}
    if signed_gap["reason"] is not None:
        return [say("changed_unsure", **fields)]
    low, high = (signed(100 * signed_gap[name], 1) for name in ("low", "high"))
    return [say("changed", **fields, low=low, high=high, level=percent(signed_gap["level"], 0))]


def _stands(found: Mapping[str, Any] | None) -> list[str]:
    """Say what these rows say of a certificate; nothing of the rows that the maps were fitted on."""
    if found is None or found["answer"] is None:
        return []
    now, alpha = found["on_these_rows"]["gap"], found["on_these_rows"]["alpha"]
    where = TEXT["gap_overall"] if alpha is None else say("gap_top", alpha=top_share(alpha))
    fields = {"bound": points(found["bound"]), "gap": points(now["estimate"]), "where": where}
    if now["reason"] is not None:
        return [say("certificate_no_interval", **fields)]
    limits = {"low": points(now["low"]), "high": points(now["high"]), "confidence": percent(found["confidence"], 0)}
    return [say("certificate_" + found["answer"].replace(" ", "_"), **fields, **limits)]


def _certified(found: Mapping[str, Any] | None) -> list[str]:
    """Say what was certified, on which rows and when."""
    if found is None:
        return []
    bound, sure = points(found["bound"]), percent(found["confidence"], 0)
    rows = ", ".join(filter(None, (found["rows"], found["time"])))
    alpha = found.get("alpha")
    where = TEXT["gap_overall"] if alpha is None else say("gap_top", alpha=top_share(alpha))
    said = say("certified", where=where, bound=bound, confidence=sure, rows=rows)
    if found.get("limit") is not None:
        said += " " + say("certified_limit", limit=points(found["limit"], 2))
    return [said + (" " + say("certified_same_rows") if found["answer"] is None else "")]


def _who_is_behind(summary: Mapping[str, Any], numbers: Mapping[str, Any]) -> str:
    gap = numbers["signed_gap"]
    outcome = summary["data"]["outcome"]
    if gap is None:
        return say("unknown", outcome=outcome)
    shares = {name: percent(numbers[name]) for name in ("xauc_ahead", "xauc_behind")}
    told = say("even" if abs(gap) < _EVEN else "behind", **summary["pair"], **shares, outcome=outcome)
    small = summary["data"]["small_groups"]
    pairs = math.comb(len(summary["data"]["groups"]) - len(small), 2)
    told += " " + say("of_many", pairs=pairs) if pairs > 1 else ""
    told += " " + say("small_apart", groups=", ".join(f"“{g}”" for g in small)) if small else ""
    return told + (" " + say("unsure") if _could_be_chance(numbers) else "")


def _could_be_chance(numbers: Mapping[str, Any]) -> bool:
    interval = (numbers.get("intervals") or {}).get("pair_gap")
    return interval is not None and interval[0] <= 0


def headline(summary: Mapping[str, Any], numbers: Mapping[str, Any]) -> float | None:
    """Give the gap that the report turns on: of the two groups with its sign, or the widest of many."""
    return numbers["gap" if many(summary) else "signed_gap"]


def many(summary: Mapping[str, Any]) -> bool:
    """Whether there are more than two groups."""
    return len(summary["data"]["groups"]) > 2


def repaired(summary: Mapping[str, Any], numbers: Mapping[str, Any]) -> list[str]:
    """Say what one setting does."""
    before = summary["before"]
    was, now = headline(summary, before), headline(summary, numbers)
    if was is None or now is None:
        return []
    fields = {
        "method": summary["method"]["name"],
        "gap_before": points(abs(was)),
        "gap_after": points(abs(now)),
        "auc_before": number(before["auc"]),
        "auc_after": number(numbers["auc"]),
        "moved": count(numbers["moved"]),
        "moved_share": percent(numbers["moved_share"]),
        "rows": count(summary["data"]["rows"]),
    }
    key = ("repaired" if abs(now) < abs(was) else "widened") + ("_many" if many(summary) else "")
    said = [say(key, **fields), *_repaired_top(summary, numbers)]
    return [*said, say("overshoots", **summary["pair"])] if goes_past(numbers) else said


def _repaired_top(summary: Mapping[str, Any], numbers: Mapping[str, Any]) -> list[str]:
    was, now = summary["before"]["top"], numbers["top"]
    if was is None or now is None:
        return []
    gaps = {"gap_before": points(was["gap"]), "gap_after": points(now["gap"])}
    aucs = {"auc_before": number(was["auc"]), "auc_after": number(now["auc"])}
    said = [say("repaired_top", alpha=top_share(summary["method"]["alpha"]), **gaps, **aucs)]
    return [*said, TEXT["same_people"]] if summary["method"].get("region") == "pooled" else said


def top_share(alpha: float) -> str:
    """Write a share of the ranking.

    Examples
    --------
    >>> top_share(0.07)
    '7 %'
    """
    return f"{100 * alpha:.4g} %"


def goes_past(numbers: Mapping[str, Any]) -> bool:
    """Whether the repair visibly turns the gap around."""
    return bool(
        numbers["overshoots"] and numbers["signed_gap"] is not None and abs(numbers["signed_gap"]) >= _EVEN / 10
    )


def dial_setting(summary: Mapping[str, Any], place: int) -> str:
    """Name one setting of the dial."""
    dial, method = summary["dial"], summary["method"]
    value, name = dial["values"][place], dial["name"]
    if place == 0:
        return say("off")
    if value is None or not name:
        return say("on")
    key = f"dial_{method['name']}"
    fields = {"value": f"{value:.4g}", "share": percent(value), "moved": " + ".join(method["moved"]), "dial": name}
    return say(key if key in TEXT else "dial_other", **fields)


def warning(found: Mapping[str, Any]) -> str:
    """Write one warning."""
    kind = found["kind"]
    if kind == "small_cell":
        label = TEXT["with"] if found["what"] == "positives" else TEXT["without"]
        kind = "small_cell" if found["rows"] else "empty_cell"
        return say(f"warn_{kind}", group=found["group"], rows=count(found["rows"]), label=label)
    if kind in ("ties", "calibration"):
        return say(f"warn_{kind}", **{k: number(v) if isinstance(v, float) else v for k, v in found.items()})
    if kind in ("reference", "left_out"):
        return say(f"warn_{kind}", **{k: v if isinstance(v, str) else count(v) for k, v in found.items()})
    if kind == "no_probabilities":
        return say("warn_no_probabilities", low=score(found["low"]), high=score(found["high"]))
    if kind == "coarse":
        return say("warn_coarse", bins=count(found["bins"]))
    return say(f"warn_{kind}", **{k: v for k, v in found.items() if k != "kind"})
