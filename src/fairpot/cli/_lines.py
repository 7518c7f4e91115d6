"""The tables that show a ranking and what a repair does, each under a title that says of what it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fairpot import words
from fairpot.cli._printing import Output, count, figure, percent, shown

if TYPE_CHECKING:
    from fairpot.inference import Certificate, Estimate, Verdict
    from fairpot.results import Audit, Effect, Ranking
    from fairpot.results.calibration import Calibration, CalibrationStages
    from fairpot.results.effect import Row
    from fairpot.results.ranking import GroupNumbers
    from fairpot.results.rates import Action, Flagged

_MOST_PAIRS, _MOST_GROUPS, _WIDEST, _MOST_CELLS = 5, 12, 12, 30


def part_of(alpha: float | None) -> str:
    """Name a part of the list."""
    return "over all rows" if alpha is None else f"in the top {words.share(alpha)}"


def with_limits(found: Estimate | None) -> list[str]:
    """Show a number and the ends of its interval."""
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
    out.table(f"{each} {part_of(ranking.alpha)}", [*names, "gap", "from", "to", "xAUC", "reverse"], rows, texts=2)
    if len(pairs) > len(shown_here):
        few = f", {len(small)} of them of small groups" if small else ""
        more = len(pairs) - len(shown_here)
        out.line(f"... and {more} more {'pair' if more == 1 else 'pairs'}{few}: --all shows everything", "dim")
    return len(pairs) == len(shown_here)


def print_groups(out: Output, found: Audit) -> None:
    """Show the size, AUC and calibration of each group, and of all of them."""

    def row(name: Any, each: GroupNumbers | Ranking, own: Calibration | None) -> list[str]:
        weighed = [] if each.weighted_rows is None else [count(each.weighted_rows)]
        sizes = [count(each.rows), count(each.positives), *weighed, "-" if each.rate is None else f"{each.rate:.1%}"]
        error = [figure(None if own is None else own.expected_calibration_error)]
        return [shown(name), *sizes, *with_limits(each.auc), *error[: int(found.calibration is not None)]]

    rows = [row(each.group, each, each.calibration) for each in found.ranking.groups]
    shares = ["share"] if found.weights != "importance" else ["weighted rows", "weighted share"]
    columns = ["group", "rows", "with outcome", *shares, "AUC", "from", "to", "calibration error"]
    columns = columns if found.calibration is not None else columns[:-1]
    out.table("Groups over all rows", columns, [*rows, row("all", found.ranking, found.calibration)])


def print_top(out: Output, ranking: Ranking, *, lower_is_riskier: bool) -> None:
    """Show how much of each group is in a top, how many of them are found there and how rightly."""
    assert ranking.top is not None

    def row(name: Any, each: GroupNumbers | Ranking, start: float | None) -> list[str]:
        rates = [figure(number) for number in (each.recall, each.precision, each.auc)]
        return [shown(name), count(each.rows), count(each.positives), *rates, "" if start is None else f"{start:.6g}"]

    rows = [row(each.group, each, each.start) for each in ranking.groups]
    whose = "all rows" if ranking.top.region == "pooled" else "each group"
    title = f"Groups in the top {words.share(ranking.top.alpha)} of {whose}"
    edge = "to score" if lower_is_riskier else "from score"
    columns = ["group", "rows", "with outcome", "recall", "precision", "AUC", edge]
    out.table(title, columns, [*rows, row("all", ranking, None)])


def print_matrix(out: Output, ranking: Ranking) -> None:
    """Show every xAUC: of rows over columns; on the diagonal the AUC inside the group."""
    groups = [each.group for each in ranking.groups]
    title = f"xAUC of each group (rows) over each other (columns) {part_of(ranking.alpha)}"
    if len(groups) > _WIDEST:
        out.heading(title)
        out.line(f"between {len(groups)} groups; --json has every xAUC")
        return
    inside = {each.group: each.auc for each in ranking.groups}
    cells = {(c.positive, c.negative): c.xauc for c in ranking.xauc}
    rows = [[shown(g), *(figure(inside[g] if g == h else cells[g, h]) for h in groups)] for g in groups]
    out.table(title, ["with \\ without", *map(shown, groups)], rows)


def print_intervals(out: Output, ranking: Ranking) -> None:
    """Show every xAUC with its interval, and why one has none."""
    named = [(f"{shown(c.positive)} over {shown(c.negative)}", c.xauc) for c in ranking.xauc]
    known = [(name, found) for name, found in named if found is not None]
    if len(known) > _MOST_CELLS or ranking.level is None:
        return
    rows = [[name, *with_limits(found), figure(found.se)] for name, found in known]
    title = f"xAUC with {words.level(ranking.level)} intervals {part_of(ranking.alpha)}"
    out.table(title, ["", "xAUC", "from", "to", "standard error"], rows)
    for text in sorted({found.reason for _, found in known if found.reason}):
        out.line(f"no interval: {shown(text)}")


def print_calibration(out: Output, found: Audit) -> None:
    """Show how well scores are calibrated, in each group and in all."""
    if found.calibration is None:
        return
    known: list[tuple[Any, Calibration | None]] = [(each.group, each.calibration) for each in found.ranking.groups]
    rows = []
    for name, each in [*known, ("all", found.calibration)]:
        if each is None:
            rows.append([shown(name), *["-"] * 6])
            continue
        bias = [figure(end, 3, "+") for end in _three(each.error_in_the_large)]
        errors = [figure(each.expected_calibration_error), figure(each.error_by_chance), figure(each.slope)]
        rows.append([shown(name), *bias, *errors])
    title = f"Calibration, {found.calibration_bins} bins of equal width"
    out.table(title, ["group", "mean score - rate", "from", "to", "expected error", "by chance", "slope"], rows)


def print_rates(out: Output, found: Sequence[Flagged], *, lower_is_riskier: bool = False) -> None:
    """Show who is flagged at a score and in the top, and how rightly."""
    side = "below" if lower_is_riskier else "above"
    for each in found:
        what = f"at {each.threshold:.6g} or {side}" if each.alpha is None else f"in the top {words.share(each.alpha)}"
        rows = []
        for one in (*each.groups, each.all):
            rates = [figure(rate) for rate in (one.share, one.tpr, one.fpr, one.ppv)]
            rows.append([shown("all" if one.group is None else one.group), count(one.flagged), *rates])
        out.table(f"Flagged {what}", ["group", "flagged", "share", "TPR", "FPR", "PPV"], rows)
    if found:
        said = "TPR, FPR: share of rows with, and without, the outcome that are flagged; PPV: flagged rows with it"
        out.line(said, "dim")


def print_verdicts(out: Output, found: list[Verdict], required: str | None) -> bool:
    """Say every verdict in words; return whether what is required holds for all of them."""
    styles = {"within": "good", "exceeds": "bad", "cannot tell": "bold"}
    for each in found:
        said = shown(str(each))
        out.line(said if said.startswith(each.answer) else f"{each.answer}: {said}", styles[each.answer])
    missed = [each for each in found if required is not None and each.answer != required]
    for each in missed:
        out.line(words.not_shown(each, required or ""), "bad")
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
        higher, lower = map(shown, found.finding.pair)
        out.line(f"a gap below 0: the adjusted score ranks {lower} higher than {higher}", "dim")
    if everything:
        _print_moves(out, found, where)
    if everything or len(found.moves) <= _MOST_GROUPS:
        for action in found.actions:
            if everything or any(each.before != each.after for each in action.groups):
                _print_actions(out, action)
    if everything:
        for when, rates in (("before", found.before.rates), ("after", found.after.rates)):
            out.heading(f"Flagged {when} the repair") if rates else None
            print_rates(out, rates, lower_is_riskier=found.before.lower_is_riskier)
    if everything or any(each.recalibrated is not None for each in found.calibration or ()):
        _print_stages(out, found.calibration)


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
    """Show who is acted on before and after, by group and outcome."""
    rows = []
    said = any(each.valence for each in action.groups)
    for each in action.groups:
        yes = (each.positives, each.yes_before, each.yes_after, (each.tpr_before, each.tpr_after), "with")
        no = (each.negatives, each.no_before, each.no_after, (each.fpr_before, each.fpr_after), "without")
        for total, before, after, rates, name in (yes, no):
            gains = [f"group {each.valence}" if each.valence and name == "with" else ""] if said else []
            shares = ["-" if rate is None else f"{rate:.1%}" for rate in rates]
            rows.append([shown(each.group), name, count(total), count(before), count(after), *shares, *gains])
    columns = ["group", "outcome", "rows", "before", "after", "share before", "share after", *([""] if said else [])]
    out.table(f"Who is {words.where(action)}, before and after", columns, rows, texts=2)


def _print_stages(out: Output, found: Sequence[CalibrationStages] | None) -> None:
    """Show calibration by group, step by step, with what is left over at the end."""
    rows = []
    for each in found or ():
        named = (("before", each.before), ("repaired", each.repaired), ("recalibrated", each.recalibrated))
        stages = [(name, stage) for name, stage in named if stage is not None]
        for name, stage in stages:
            bias = [figure(end, 3, "+") for end in _three(stage.error_in_the_large)]
            errors = [figure(stage.expected_calibration_error), figure(stage.error_by_chance)]
            price = figure(each.price, 4) if (name, stage) == stages[-1] else ""
            rows.append([shown("all" if each.group is None else each.group), name, *bias, *errors, price])
    if rows:
        columns = ["group", "scores", "mean score - rate", "from", "to", "expected error", "by chance", "left over"]
        out.table("Calibration, step by step", columns, rows, texts=2)
        out.line(
            "by chance: the error that right scores of so many rows would show; left over: the squared error that a "
            "map of the group's own would save, which would bring the gap back",
            "dim",
        )


def print_certificate(out: Output, found: Certificate) -> None:
    """Show what a certificate was read from."""
    named = (
        (words.auc_name(found.alpha), found.auc_before, found.auc),
        (words.gap_name(found.alpha), found.gap_before, found.gap),
    )
    rows = [[name, *with_limits(before), *with_limits(after)] for name, before, after in named]
    columns = ["", "before", "from", "to", "after", "from", "to"]
    out.table("What was certified, on the rows it was tested on", columns, rows)
    out.line(words.promised(found.bound))
