"""What an audit found, in sentences."""

from __future__ import annotations

from typing import Any

from fairpot._validation import wording

EVEN = 0.00005  # what rounds to 0 in four digits is even


def gap_sentence(summary: dict[str, Any]) -> str:
    """Say who is ranked above whom, for the pair with the largest gap of the groups that can carry one; then the rest.

    Examples
    --------
    >>> pair = {"first": "M", "second": "F", "xauc_first": 0.8, "xauc_second": 0.7, "signed_gap": 0.1}
    >>> gap_sentence({"gaps": [pair]})
    'Of 1,000 pairs, a positive of M is ranked above a negative of F in 800, a positive of F above a negative of M ...'
    """
    known, small = _known_pairs(summary)
    pair = max(known, key=_size, default=None)
    if pair is None:
        return "No gap can be measured: a group has no positives or no negatives."
    first, second = (pair["first"], pair["second"])
    there, back = round(1000 * pair["xauc_first"]), round(1000 * pair["xauc_second"])
    worst = (
        "" if len(summary["gaps"]) == 1 else f"The widest gap of {wording.counted(len(known), 'pair')} of groups: of"
    )
    start = worst or "Of"
    return (
        f"{start} 1,000 pairs, a positive of {first} is ranked above a negative of {second} in {there:,}, "
        f"a positive of {second} above a negative of {first} in {back:,}.{_apart(summary, small)}"
    )


def widest_pair(summary: dict[str, Any]) -> dict[str, Any] | None:
    """Return the pair of groups with the largest gap; None if none can be measured."""
    known = [pair for pair in summary["gaps"] if pair["signed_gap"] is not None]
    return max(known, key=_size, default=None)


def _known_pairs(summary: dict[str, Any]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the pairs that can be measured: of groups that can carry a headline, and of small groups."""
    small = summary.get("headline", {}).get("small_groups", [])
    known = [pair for pair in summary["gaps"] if pair["signed_gap"] is not None]
    apart = [pair for pair in known if pair["first"] in small or pair["second"] in small]
    return [pair for pair in known if pair not in apart], apart


def _apart(summary: dict[str, Any], small: list[dict[str, Any]]) -> str:
    """Say what is left of pairs with small groups."""
    if not small:
        return ""
    groups, widest = summary["headline"]["small_groups"], max(small, key=_size)
    named = ", ".join(map(str, groups[:5])) + (", ..." if len(groups) > 5 else "")
    return (
        f" Apart from these: {wording.counted(len(small), 'pair')} with small groups ({named}), whose widest gap, "
        f"{_size(widest):.4f} between {widest['first']} and {widest['second']}, may be chance."
    )


def _size(pair: dict[str, Any]) -> float:
    return abs(float(pair["signed_gap"]))


def ahead(pair: dict[str, Any], gap: float) -> str:
    """Say which of two groups is ahead, and by how much."""
    names = str(pair["first"]), str(pair["second"])
    if abs(gap) < EVEN:
        return f"{names[0]} and {names[1]} are even"
    leads, trails = names if gap > 0 else names[::-1]
    return f"{leads} is ahead of {trails} by {abs(gap):.4f}"


def rate_lines(found: list[dict[str, Any]]) -> list[str]:
    """Say who is flagged at a threshold and in the top, a line for each group."""
    lines = []
    for each in found:
        where = f"at {each['threshold']:g} or above" if each["at"] == "score" else f"in the top {each['alpha']:g}"
        for group in each["groups"]:
            shares = ", ".join(
                f"{name.upper()} {'-' if group[name] is None else format(group[name], '.4f')}"
                for name in ("tpr", "fpr", "ppv")
            )
            lines.append(f"flagged {where}, {group['group']}: {wording.shown_rows(group['flagged'])}, {shares}")
    return lines


def change_sentences(before: dict[str, Any], after: dict[str, Any], most: int = 10) -> list[str]:
    """Say who was and who is ahead; where the sign has changed, that the repair overshoots."""
    partial = before["partial"] is not None
    first, second = (before["partial"], after["partial"]) if partial else (before, after)
    pairs = sorted(zip(first["gaps"], second["gaps"]), key=lambda p: -abs(p[0]["signed_gap"] or 0.0))
    found = []
    for pair, later in pairs[:most]:
        was, now = pair["signed_gap"], later["signed_gap"]
        if was is None or now is None:
            continue
        said = ("In the top: " if partial else "") + f"{ahead(pair, was)} before, {ahead(pair, now)} after"
        past = was * now < 0 and abs(now) >= EVEN
        found.append(said + (": the sign has changed, the repair goes past even." if past else "."))
    return found
