"""The tables that show a ranking and what a repair does, each under a title that says of what it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fairpot import words
from fairpot.cli._printing import Output, count, figure, percent, shown
from fairpot.metrics.rates import RATES
from fairpot.results.rates import SCREEN, RatioVerdict

if TYPE_CHECKING:
    from fairpot.inference import Certificate, Change, Estimate, Verdict
    from fairpot.results import Audit, Audits, Effect, Ranking
    from fairpot.results.calibration import Calibration
    from fairpot.results.effect import Row
    from fairpot.results.ranking import GroupNumbers
    from fairpot.results.rates import Action, Rate, Rates
    from fairpot.results.scores import GroupScores

_MOST_PAIRS, _MOST_GROUPS, _MOST_CELLS = 5, 12, 132


def part_of(top: float | None) -> str:
    return "over all rows" if top is None else words.among(top)


def with_limits(found: Estimate | None) -> list[str]:
    return [figure(each) for each in _three(found)]


def _three(found: Estimate | None) -> tuple[Any, Any, Any]:
    return (None, None, None) if found is None else (found, found.low, found.high)


def print_pairs(out: Output, ranking: Ranking, *, lower_is_riskier: bool, everything: bool) -> bool:
    """Show pairs of groups, the largest gap first, each with its own interval; return whether all were shown."""
    large = ranking.compared
    small = sorted((pair for pair in ranking.gaps if pair.known and pair not in large), key=lambda pair: -pair.size)
    pairs = [*large, *small, *(pair for pair in ranking.gaps if not pair.known)]
    shown_here = pairs if everything else pairs[: min(_MOST_PAIRS, max(len(large), 1))]
    rows = []
    for pair in (each.ranked for each in shown_here):
        both = [figure(pair.xauc_first), figure(pair.xauc_second)]
        rows.append([shown(pair.first), shown(pair.second), *with_limits(pair.signed_gap), *both])
    each = "Pairs of groups" if len(pairs) > 1 else "The two groups"
    names = ["riskier", "less risky"] if lower_is_riskier else ["ranked higher", "ranked lower"]
    out.table(f"{each} {part_of(ranking.top)}", [*names, "gap", "from", "to", "xAUC", "reverse"], rows, texts=2)
    if len(shown_here) > 1:
        out.line(words.OF_ALL_PAIRS)
    if len(pairs) > len(shown_here):
        more = len(pairs) - len(shown_here)
        few = f", {'all' if len(small) == more else f'{len(small)} of them'} of small groups" if small else ""
        out.line(f"... and {more} more {'pair' if more == 1 else 'pairs'}{few}: --all shows everything", "dim")
    return len(pairs) == len(shown_here)


def print_groups(out: Output, found: Audit) -> None:
    """Show the size, AUC and calibration of each group, and of all of them."""

    def row(name: Any, each: GroupNumbers | Ranking, own: Calibration | None) -> list[str]:
        weighed = [] if each.weighted_rows is None else [count(each.weighted_rows)]
        grouped = [] if each.clusters is None else [count(each.clusters)]
        sizes = [
            count(each.rows),
            *grouped,
            count(each.positives),
            *weighed,
            "-" if each.rate is None else f"{each.rate:.1%}",
        ]
        error = [figure(None if own is None else own.expected_calibration_error)]
        return [shown(name), *sizes, *with_limits(each.auc), *error[: int(found.calibration is not None)]]

    if not found.ranking.labelled:
        return
    rows = [row(each.group, each, each.calibration) for each in found.listed_groups]
    shares = ["share"] if found.weights != "importance" else ["weighted rows", "weighted share"]
    clusters = [] if found.ranking.clusters is None else ["clusters"]
    columns = ["group", "rows", *clusters, "with outcome", *shares, "AUC", "from", "to", "calibration error"]
    columns = columns if found.calibration is not None else columns[:-1]
    out.table("Groups over all rows", columns, [*rows, row("all", found.ranking, found.calibration)])


def print_top(out: Output, ranking: Ranking, *, lower_is_riskier: bool) -> None:
    assert ranking.top is not None

    def row(name: Any, each: GroupNumbers | Ranking, start: float | None) -> list[str]:
        rates = [figure(number) for number in (each.recall, each.precision, each.auc)]
        return [shown(name), count(each.rows), count(each.positives), *rates, "" if start is None else f"{start:.6g}"]

    rows = [row(each.group, each, each.start) for each in ranking.groups]
    whose = " of all rows" if ranking.top_of == "all" else ""
    title = f"Groups {words.among(ranking.top, ranking.top_of)}{whose}"
    edge = "to score" if lower_is_riskier else "from score"
    columns = ["group", "rows", "with outcome", "recall", "precision", "AUC", edge]
    out.table(title, columns, [*rows, row("all", ranking, None)])


def print_intervals(out: Output, ranking: Ranking) -> None:
    """Show every xAUC with its interval, and why one has none."""
    named = [(f"{shown(c.positive)} over {shown(c.negative)}", c.xauc) for c in ranking.xauc]
    known = [(name, found) for name, found in named if found is not None]
    sure = "" if ranking.level is None else f" with {words.level(ranking.level)} intervals"
    title = f"xAUC{sure} {part_of(ranking.top)}"
    if len(known) > _MOST_CELLS:
        out.heading(title)
        out.line(f"between {len(ranking.groups)} groups; --json has every xAUC")
        return
    rows = [[name, *with_limits(found), figure(found.se)] for name, found in known]
    out.table(title, ["", "xAUC", "from", "to", "standard error"], rows)
    for text in sorted({found.reason for _, found in known if found.reason}):
        out.line(f"no interval: {shown(text)}")


def print_calibration(out: Output, found: Audit) -> None:
    if found.calibration is None:
        return
    known: list[tuple[Any, Calibration | None]] = [(each.group, each.calibration) for each in found.ranking.groups]
    rows = []
    for name, each in [*known, ("all", found.calibration)]:
        if each is None:
            rows.append([shown(name), *["-"] * 5])
            continue
        bias = [figure(end, 3, "+") for end in _three(each.error_in_the_large)]
        errors = [figure(each.expected_calibration_error), figure(each.error_by_chance)]
        rows.append([shown(name), *bias, *errors])
    title = f"Calibration, {found.calibration_bins} bins of equal width"
    out.table(title, ["group", "mean score - rate", "from", "to", "expected error", "by chance"], rows)


def print_rates(out: Output, found: Sequence[Rates], *, lower_is_riskier: bool, of: str = "") -> None:
    """Show who is flagged at a score and in the top, and how rightly; without outcomes, beside whom."""
    for each in found:
        heads, rows = ["group", "flagged", "share", "TPR", "FPR", "PPV"], []
        for group, rates in each.across(SCREEN):
            numbers = [figure(one.value) for one in rates]
            if len(rates) == 1:
                heads = [*heads[:3], "from", "to", "ratio to the highest", "from", "to"]
                itself = ["1.000", "", ""] if group == each[SCREEN[0]].highest else []
                numbers = [*with_limits(rates[0].value), *(itself or with_limits(rates[0].ratio))]
            rows.append([shown("all" if group is None else group), count(rates[0].hits), *numbers])
        out.table(of + words.flagged(each, lower_is_riskier), heads, rows)
        _print_reasons(out, [each[SCREEN[0]]] if len(each.rates) == 1 else [])
    if any("tpr" in each for each in found):
        said = "TPR, FPR: share of rows with, and without, the outcome that are flagged; PPV: flagged rows with it"
        out.line(said, "dim")


def print_every_rate(out: Output, found: Sequence[Rates], *, to_reference: bool, lower_is_riskier: bool) -> None:
    """Show every rate by group with its interval, and how it compares with the highest, or with the reference."""
    end, ends = "_to_reference" if to_reference else "", ["from", "to"]
    whom = "the reference group" if to_reference else "the group with the highest rate"
    for each in found:
        rows, compared = [], []
        for rate in each.rates:
            for one in (*rate.groups, rate.all):
                named = [RATES[rate.rate].title, shown("all" if one.group is None else one.group)]
                rows.append([*named, count(one.hits), count(one.rows), *with_limits(one.value)])
                apart = [getattr(one, f"{name}{end}") for name in ("difference", "ratio")]
                if apart[0] is not None:
                    compared.append([*named, *with_limits(apart[0]), *with_limits(apart[1])])
        flagged = words.flagged(each, lower_is_riskier)
        out.table(flagged, ["rate", "group", "of them", "rows", "value", *ends], rows, texts=2)
        heads = ["rate", "group", "difference", *ends, "ratio", *ends]
        out.table(f"{flagged}, compared with {whom}", heads, compared, texts=2)
        _print_reasons(out, each.rates)


def _print_reasons(out: Output, rates: Sequence[Rate]) -> None:
    """Say why numbers have no interval."""
    found = {
        estimate.reason
        for rate in rates
        for one in rate.groups
        for estimate in (one.value, one.ratio, one.ratio_to_reference)
        if estimate is not None and estimate.reason is not None
    }
    for text in sorted(found):
        out.line(f"no interval: {shown(text)}")


def print_scores(out: Output, found: Sequence[GroupScores]) -> None:
    """Show how scores are distributed in each group."""
    rows = []
    for each in found:
        quantiles = [f"{float(one):.4g}" for one in (each.q10, each.median, each.q90)]
        mean = ["-" if end != end else f"{float(end):.4g}" for end in _three(each.mean)]
        rows.append([shown(each.group), *mean, *quantiles, *with_limits(each.standardised_difference)])
    ends = ["from", "to"]
    heads = ["group", "mean", *ends, "10%", "median", "90%", "difference", *ends]
    out.table("Scores", heads, rows)
    against = next((each.against for each in found if each.against is not None), None)
    said = f"difference: mean minus that of {shown(against)}, in standard deviations"
    out.line(said, "dim")


def print_audits(out: Output, found: Audits) -> None:
    """Show several scores of the same rows side by side, then how each differs from the first."""
    first = next(iter(found.audits))
    for name, each in found.audits.items():
        out.line(shown(f"{name}: {each.answer[0]}"), "bold")
    if found[first].ranking.labelled:
        rows, ends = found.audits.items(), ["from", "to"]
        sized = [[shown(name), *with_limits(each.auc), *with_limits(each.statement.gap)] for name, each in rows]
        out.table("The same rows", ["score", "AUC", *ends, found[first].statement.metric, *ends], sized)
        changes = [
            [shown(f"{name} minus {first}"), *_changed(change.auc), *_changed(change.headline or change.gap)]
            for name, change in found.changes.items()
        ]
        if changes:
            out.table("Differences, paired", ["", "AUC", *ends, "overall gap", *ends], changes)
    for name, each in found.audits.items():
        print_rates(out, each.spoken.rates_asked, lower_is_riskier=each.lower_is_riskier, of=shown(f"{name}: "))
    out.notes([note.text for note in found[first].spoken.notes if note.kind in words.FOLLOWED])


def _changed(found: Change) -> list[str]:
    known = found.reason is None
    return [figure(found.change, 3, "+"), *(figure(end if known else None, 3, "+") for end in (found.low, found.high))]


def print_verdicts(out: Output, found: Sequence[Verdict | RatioVerdict], required: str | None) -> bool:
    """Say every verdict in words; return whether no ratio is below, and what is required holds for all of them."""
    styles = {"within": "good", "exceeds": "bad", "below": "bad", "cannot tell": "bold"}
    for each in found:
        said = shown(str(each))
        out.line(said if said.startswith(each.answer) else f"{each.answer}: {said}", styles[each.answer])
    missed = [each for each in found if each.answer == "below" or (required is not None and each.answer != required)]
    for each in missed:
        out.line(words.ratio_failed(each) if isinstance(each, RatioVerdict) else words.not_shown(each), "bad")
    return not missed


def print_effect(out: Output, found: Effect, where: str, *, everything: bool) -> None:
    """Show a repair: AUC and gap before and after, and who is acted on; the rest where everything is asked for."""
    rows = found.rows()
    main = 2 * (1 + len(found.before.tops)) + 1  # AUC and gap of each part, and calibration of all rows
    shown_here = rows if everything else rows[:main]
    out.table(
        f"{where}, before and after", ["", "before", "after", "change", "from", "to"], [_change(r) for r in shown_here]
    )
    if any(row.after is not None and row.after < 0 for row in shown_here[:main]):
        before = found.before.told.leading
        assert before is not None  # a gap was measured
        higher, lower = map(shown, (before.first, before.second))
        out.line(f"a gap below 0: the adjusted score ranks {lower} higher than {higher}", "dim")
    if everything:
        _print_moves(out, found, where)
    if everything or len(found.moves) <= _MOST_GROUPS:
        for action in found.actions:
            if everything or any(each.before != each.after for each in action.groups):
                _print_actions(out, action)
    if everything:
        for when, audit in (("before", found.before), ("after", found.after)):
            out.heading(f"Flagged {when} the repair") if audit.asked.cuts else None
            print_rates(out, audit.rates_asked, lower_is_riskier=found.before.lower_is_riskier)


def _change(row: Row) -> list[str]:
    ends = ["", ""]
    if row.change is not None and row.change.reason is None:
        ends = [figure(end, 3, "+") for end in (row.change.low, row.change.high)]
    return [shown(row.metric), figure(row.before), figure(row.after), figure(row.change, 3, "+"), *ends]


def _print_moves(out: Output, found: Effect, where: str) -> None:
    rows = []
    for each in found.moves:
        shifts = [figure(each.mean_shift, 3, "+"), figure(each.largest_shift)] if each.moved else ["-", "-"]
        share = percent(each.moved, each.rows)
        sizes = [count(each.rows), count(each.moved), share, count(each.up), count(each.down)]
        rows.append([shown(each.group), *sizes, *shifts])
    columns = ["group", "rows", "changed", "share", "up", "down", "mean change of changed", "largest"]
    out.table(f"Whose scores change, {where[:1].lower()}{where[1:]}", columns, rows)


def _print_actions(out: Output, action: Action) -> None:
    rows = []
    said = any(each.valence for each in action.groups)
    for each in action.groups:
        for name, total, before, after, *rates in each.by_outcome:
            gains = [f"group {each.valence}" if each.valence and name == "with" else ""] if said else []
            shares = ["-" if rate is None else f"{rate:.1%}" for rate in rates]
            rows.append([shown(each.group), name, count(total), count(before), count(after), *shares, *gains])
    columns = ["group", "outcome", "rows", "before", "after", "share before", "share after", *([""] if said else [])]
    out.table(f"Who is {words.where(action)}, before and after", columns, rows, texts=2)


def print_certificate(out: Output, found: Certificate) -> None:
    named = (
        (words.auc_name(found.top), found.auc_before, found.auc),
        (words.gap_name(found.top), found.gap_before, found.gap),
    )
    rows = [[name, *with_limits(before), *with_limits(after)] for name, before, after in named]
    columns = ["", "before", "from", "to", "after", "from", "to"]
    out.table("What was certified, on the rows it was tested on", columns, rows)
    out.line(words.promised(found.bound))
