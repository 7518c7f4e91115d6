"""The lines that show a ranking and what a repair does, with scores on the scale that the user's are on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fairpot.auditing import Effect, words
from fairpot.auditing.audit import strictest
from fairpot.auditing.measures import tops
from fairpot.auditing.words import by_column as by_column
from fairpot.auditing.words import name_of as name_of
from fairpot.cli._printing import Output, count, number, percent, shown, signed
from fairpot.inference import Change, Verdict
from fairpot.table import QuantisationBound
from fairpot.words import gap_name


def own_scale(summary: dict[str, Any], lower_is_riskier: bool) -> dict[str, Any]:
    """Give the scores of an audit as the user's file has them, where they were counted with a minus."""
    if not lower_is_riskier:
        return summary
    turned = {**summary, "score_range": turned_range(summary["score_range"]), "rates": _turned(summary["rates"])}
    inside = [{**top, "groups": _turned(top["groups"])} for top in tops(summary)]
    turned["partial"] = inside if isinstance(summary["partial"], list) else inside[0] if inside else None
    found = summary.get("intervals")
    if found is not None and found.get("rates") is not None:
        turned["intervals"] = {**found, "rates": _turned(found["rates"])}
    return turned


def own_scale_effect(found: Effect, lower_is_riskier: bool) -> Effect:
    """Give the scores before and after a repair, and who moves up or down, as the user's file has them."""
    if not lower_is_riskier:
        return found
    return replace(found, before=own_scale(found.before, True), after=own_scale(found.after, True))


def turned_range(found: Sequence[float]) -> tuple[float, float]:
    """Give a range of scores with their sign changed."""
    low, high = found
    return 0.0 - high, 0.0 - low


def _minus(value: float | None) -> float | None:
    return None if value is None else 0.0 - value


def _turned(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**each, "threshold": 0.0 - each["threshold"]} for each in found]


def print_intervals(out: Output, found: dict[str, Any]) -> None:
    """Show AUC, gap and every xAUC with its interval."""
    out.heading(f"{100 * found['level']:.4g}% intervals")
    rows = [_row("AUC", found["auc"]), _row(gap_name(None), found["gap"])]
    inside = tops(found)
    for top in inside:
        rows += [_row(f"AUC in the top {words.share(top['alpha'])}", top["auc"])]
        rows += [_row(gap_name(top["alpha"]), top["gap"])]
    if len(found["xauc"]) <= _MOST:
        rows += [_row(f"{shown(x['positive'])} over {shown(x['negative'])}", x) for x in found["xauc"]]
    out.table(["", "estimate", "se", "from", "to"], rows)
    said = {each["reason"] for each in (found["auc"], found["gap"], *found["xauc"]) if each["reason"]}
    notes = [top["gap"][name] for top in inside for name in ("reason", "note")]
    for text in sorted({*said, *(note for note in notes if note)}):
        out.line(f"  {shown(text)}")


_MOST = 30


def _row(name: str, found: dict[str, Any]) -> list[str]:
    return [name, *(number(found[key]) for key in ("estimate", "se", "low", "high"))]


def verdict_document(found: list[Verdict]) -> dict[str, Any] | None:
    """Return verdicts for JSON: the strictest, then each of them, all with the gap that they are of."""
    if not found:
        return None
    return {**_verdict(strictest(found)), "all": [_verdict(each) for each in found]}


def _verdict(found: Verdict) -> dict[str, Any]:
    metric = {"metric": "gap" if found.alpha is None else "partial_gap", "alpha": found.alpha}
    known = {"answer": found.answer, **metric, "bound": found.bound, "level": found.level}
    return {**known, "gap": found.interval.to_dict()}


_STYLES = {"within": "green", "exceeds": "bold red", "cannot tell": "bold"}


def print_verdicts(out: Output, found: list[Verdict], required: str | None) -> bool:
    """Say every verdict in words; return whether what is required holds for all of them."""
    for each in found:
        said = shown(str(each))
        out.line(said if said.startswith(each.answer) else f"{each.answer}: {said}", _STYLES[each.answer])
    missed = [each for each in found if required not in (None, each.answer)]
    for each in missed:
        out.line(f"FAILED: the {each.metric} was not shown to be {required} {each.bound:g}", "bold red")
    return not missed


def certified_words(known: dict[str, Any], turned: bool = False) -> str:
    """Say what a certificate promised and what it was read from: its upper limit, else the interval."""
    gap, limit = known["gap"], known.get("limit")
    read = f"interval {number(gap['low'])} to {number(gap['high'])}"  # files of older versions have no limit
    if limit is not None:
        read = f"upper limit {words.beside(limit, known['bound'])} at that confidence"
    which = words.certified_gap(known, turned)
    promise = f"the {which} is at most {known['bound']:g} with {100 * known['confidence']:.4g}% confidence"
    return shown(f"{promise} ({known['rows']}, {known['how']}; measured {number(gap['estimate'])}, {read})")


_MOST_PAIRS = 5
_WIDEST = 12


def print_pairs(out: Output, ranking: dict[str, Any], *, lower_is_riskier: bool, everything: bool) -> bool:
    """Show pairs of groups, the largest gap first, each with its own interval; return whether all were shown."""
    large, small = words.known_pairs(ranking)
    others = [pair for pair in ranking["gaps"] if pair["signed_gap"] is None]
    ranked = [sorted(each, key=words.gap_size, reverse=True) for each in (large, small)]
    pairs = [*ranked[0], *ranked[1], *others]
    limited = any(pair["signed_low"] is not None for pair in pairs)
    alpha = ranking.get("alpha")
    inside = "" if alpha is None else f" in the top {words.share(alpha)}"
    each = ", each gap with its own interval" if limited and len(pairs) > 1 else ""
    out.heading(f"{'Pairs of groups' if len(pairs) > 1 else 'The two groups'}{inside}{each}")
    rows = []
    shown_here = pairs if everything else pairs[: min(_MOST_PAIRS, max(len(large), 1))]
    for pair in shown_here:
        higher, lower = _order(pair)
        gap, *limits = (pair[name] for name in ("signed_gap", "signed_low", "signed_high"))
        if higher == "second":
            gap, limits = -gap, [_minus(each) for each in limits[::-1]]
        ends = [_signed_end(each) for each in limits] if limited else []
        shares = [words.figure(pair[f"xauc_{side}"]) for side in (higher, lower)]
        rows.append([shown(pair[higher]), shown(pair[lower]), words.figure(gap), *ends, *shares])
    ends = ["from", "to"] if limited else []
    names = ["riskier", "less risky"] if lower_is_riskier else ["ranked higher", "ranked lower"]
    out.table([*names, "gap", *ends, "xAUC", "reverse"], rows, texts=2)
    if len(pairs) > len(shown_here):
        few = f", {len(small)} of them of small groups" if small else ""
        out.line(f"... and {len(pairs) - len(shown_here)} more pairs{few}: --all shows them, and all else")
    return len(pairs) == len(shown_here)


def _signed_end(value: float | None) -> str:
    return "-" if value is None else f"{round(value, 3) + 0.0:.3f}"


def _order(pair: dict[str, Any]) -> tuple[str, str]:
    return ("first", "second") if (pair["signed_gap"] or 0.0) >= 0 else ("second", "first")


def print_matrix(out: Output, summary: dict[str, Any]) -> None:
    """Show every xAUC: of rows over columns; on the diagonal the AUC inside the group."""
    out.heading("xAUC of each group (rows) over each other (columns)")
    groups = [each["group"] for each in summary["groups"]]
    if len(groups) > _WIDEST:
        out.line(f"between {len(groups)} groups; --json has every xAUC")
        return
    inside = {each["group"]: each["auc"] for each in summary["groups"]}
    cells = {(c["positive"], c["negative"]): c["xauc"] for c in summary["xauc"]}
    rows = [[shown(g), *(number(inside[g] if g == h else cells[g, h]) for h in groups)] for g in groups]
    out.table(["with the outcome \\ without it", *map(shown, groups)], rows)


def print_calibration(out: Output, summary: dict[str, Any]) -> None:
    """Show how well scores are calibrated, in each group and in all."""
    if summary["calibration"] is None:
        return
    found = [(shown(each["group"]), each["calibration"]) for each in summary["groups"]]
    out.heading(f"Calibration ({summary['calibration_bins']} bins of equal width)")
    rows = [[name, *calibration_cells(each)] for name, each in [*found, ("all", summary["calibration"])]]
    out.table(["group", "mean score - rate", "expected error", "slope"], rows)


def calibration_cells(found: dict[str, float | None] | None) -> list[str]:
    """Show the three numbers of a calibration."""
    if found is None:
        return ["-"] * 3
    return [
        signed(found["error_in_the_large"]),
        number(found["expected_calibration_error"]),
        number(found["slope"], 3),
    ]


def print_quantisation(out: Output, bound: QuantisationBound | None) -> None:
    """Say how far numbers can be off where scores were put into bins."""
    if bound is not None:
        out.warning(
            f"too many distinct scores: they were put into bins. AUC can be off by {bound.auc:.2g}, "
            f"an xAUC by {float(bound.xauc.max()):.2g}, a score by {bound.score:.2g}."
        )


def quantisation_document(bound: QuantisationBound | None) -> dict[str, Any] | None:
    """Return the same for JSON."""
    return None if bound is None else {"auc": bound.auc, "xauc": float(bound.xauc.max()), "score": bound.score}


def print_effect(
    out: Output, found: Effect, title: str, *, lower_is_riskier: bool = False, everything: bool = False
) -> None:
    """Show a repair: what it gains, what it costs, whose scores change, and who is acted on."""
    before, after = found.before, found.after
    out.heading(title)
    rows = [*_ranks(found), *_calibrations(before, after, everything)]
    out.table(["", "before", "after", "change", "from", "to"], rows)
    if found.finding.pair is not None and found.signed_gap(found.finding.alpha is not None) is not None:
        higher, lower = map(shown, found.finding.pair)
        out.line(f"gap: above 0, {higher} over {lower}; below 0, {lower} over {higher}", "dim")
    _print_moves(out, found)
    _print_actions(out, found)
    if everything:
        print_rates(out, before["rates"], after["rates"], lower_is_riskier=lower_is_riskier)
    if everything or any(each["recalibrated"] is not None for each in found.calibration or []):
        _print_stages(out, found.calibration)


def _print_moves(out: Output, found: Effect) -> None:
    out.heading("Whose scores change")
    columns = ["group", "rows", "changed", "share", "up", "down", "mean change", "largest"]
    out.table(columns, [_moves(each) for each in found.moves])


def _print_actions(out: Output, found: Effect) -> None:
    """Show who is acted on before and after, by group and outcome."""
    for action in found.actions:
        out.heading(f"Who is {words.where(action)}, before and after")
        rows = []
        for each in action.groups:
            for side, total, name in (("yes", "positives", "with"), ("no", "negatives", "without")):
                ends = [each[f"{side}_{when}"] for when in ("before", "after")]
                shares = [percent(end, each[total]) for end in ends]
                gains = f"group {each['valence']}" if each["valence"] and side == "yes" else ""
                rows.append([shown(each["group"]), name, count(each[total]), *map(count, ends), *shares, gains])
        said = any(each["valence"] for each in action.groups)
        columns = [
            "group",
            "outcome",
            "rows",
            "before",
            "after",
            "share before",
            "share after",
            *([""] if said else []),
        ]
        out.table(columns, [row if said else row[:-1] for row in rows], texts=2)


def print_rates(
    out: Output,
    found: list[dict[str, Any]],
    later: list[dict[str, Any]] | None = None,
    *,
    lower_is_riskier: bool = False,
) -> None:
    """Show who is flagged at a score and in the top, and how rightly; before and after, if there is both."""
    side = "below" if lower_is_riskier else "above"
    for place, each in enumerate(found):
        after = None if later is None else later[place]
        what = f"at {each['threshold']:.6g} or {side}"
        if each["at"] != "score":
            what = f"in the top {words.share(each['alpha'])}"
        out.heading(f"Flagged {what}" + ("" if after is None else ", before and after"))
        columns = ["group", "flagged", "share", "TPR", "FPR", "PPV"]
        groups = [*each["groups"], {"group": "all", **each["all"]}]
        rows = [_rates(group) for group in groups]
        if after is not None:
            changed = [*after["groups"], {"group": "all", **after["all"]}]
            rows = [line for pair in zip(rows, map(_rates, changed)) for line in (pair[0], ["  after", *pair[1][1:]])]
        out.table(columns, rows)
        if each["at"] == "top" and after is not None:
            same = all(one["flagged"] == other["flagged"] for one, other in zip(groups, changed))
            changes = (
                "As many of each group are in the top as before." if same else "The repair changes who is in the top."
            )
            out.line(changes)
    if found:
        out.line("TPR, FPR: share of rows with, and without, the outcome that are flagged; PPV: flagged rows with it")


def _rates(each: dict[str, Any]) -> list[str]:
    shares = [words.figure(each[name]) for name in ("share", "tpr", "fpr", "ppv")]
    return [shown(each["group"]), count(each["flagged"]), *shares]


def _ranks(found: Effect) -> list[list[str]]:
    """Show AUC and gap before and after; the change over all rows with its interval."""
    before, after, changes = found.before, found.after, found.changes
    rows = [_change("AUC", before["auc"], after["auc"], None if changes is None else changes.auc)]
    signed_gap, change = found.signed_gap(), None if changes is None else changes.gap
    if signed_gap is not None and change is not None:
        change = change.signed
    first, second = signed_gap or (before["gap"], after["gap"])
    rows.append(_change(gap_name(None), first, second, change))
    if before["partial"] is not None:
        top, later = before["partial"], after["partial"]
        rows.append(_change(words.auc_name(top["alpha"]), top["auc"], later["auc"]))
        rows.append(_change(gap_name(top["alpha"]), *(found.signed_gap(top=True) or (top["gap"], later["gap"]))))
    return rows


def _calibrations(before: dict[str, Any], after: dict[str, Any], everything: bool) -> list[list[str]]:
    """Show the calibration error of all rows, and of each group where everything is asked for."""
    pairs = [("all", before["calibration"], after["calibration"])]
    both = zip(before["groups"], after["groups"])
    pairs += [(shown(b["group"]), b["calibration"], a["calibration"]) for b, a in both]
    key, known = "expected_calibration_error", [(g, b, a) for g, b, a in pairs if b is not None and a is not None]
    rows = [_change(f"calibration error, {g}", b[key], a[key]) for g, b, a in known]
    if everything:
        large = "error_in_the_large"
        rows += [_change(f"mean score - rate, {g}", b[large], a[large]) for g, b, a in known]
    return rows if everything else rows[:1]


def _print_stages(out: Output, found: list[dict[str, Any]] | None) -> None:
    """Show calibration by group, step by step, with what is left over at the end."""
    if found is None:
        return
    out.line()
    columns = ["calibration of", "scores", "mean score - rate", "from", "to", "error", "by chance", "left over"]
    rows = []
    for each in found:
        stages = [stage for stage in ("before", "repaired", "recalibrated") if each[stage] is not None]
        for stage in stages:
            bias, last = each[stage]["error_in_the_large"], stage == stages[-1]
            limits = [bias, bias.low, bias.high] if bias.reason is None else [bias, None, None]
            errors = [each[stage][name] for name in ("expected_calibration_error", "error_by_chance")]
            name = "all" if each["group"] is None else shown(each["group"])
            price = number(each.get("price"), 4) if last else ""
            rows.append([name if stage == stages[0] else "", stage, *map(signed, limits), *map(number, errors), price])
    out.table(columns, rows)
    out.line(
        "by chance: the error that right scores of so many rows would show; left over: the squared error that a map of"
    )
    out.line("the group's own would save, which would bring the gap back")


def _change(name: str, before: float | None, after: float | None, known: Change | None = None) -> list[str]:
    ends = ["", ""]
    if known is not None and known.reason is None:
        ends = [signed(known.low, 3), signed(known.high, 3)]
    return [name, words.figure(before), words.figure(after), signed(_difference(before, after), 3), *ends]


def _difference(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else after - before


def _moves(each: dict[str, Any]) -> list[str]:
    counts = [count(each[name]) for name in ("rows", "moved")]
    ways = [count(each[name]) for name in ("up", "down")]
    shift = [signed(each["mean_shift"], 3), number(each["largest_shift"], 3)]
    return [shown(each["group"]), *counts, percent(each["moved"], each["rows"]), *ways, *shift]
