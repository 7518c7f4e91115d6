"""``fairpot fit``: learn a repair and show what it gains and costs."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Self

import click

from fairpot import words
from fairpot._validation import wording
from fairpot.cli._documents import Dial, Inline, Quantised, Value
from fairpot.cli._lines import print_certificate, print_effect, print_quantisation
from fairpot.cli._methods import (
    CERTIFYING,
    WISHES,
    MethodName,
    RuleSaid,
    Wish,
    afterwards,
    certifying,
    how_far,
    make_method,
    one_wish,
    settings_for,
)
from fairpot.cli._options import (
    SCORE,
    Options,
    Sectioned,
    all_option,
    group_options,
    needs,
    output_options,
    repair_options,
)
from fairpot.cli._printing import Output, curve_picture, figure, shown
from fairpot.cli._rows import RowOptions, RowsSaid, listed_groups, named_group, row_options, with_groups_of
from fairpot.comparison import Rival
from fairpot.comparison.run import higher_auc
from fairpot.exceptions import ReversedScoreWarning, SmallGroupWarning
from fairpot.metrics.benefit import net_benefit
from fairpot.modelfile.content import ModelFile
from fairpot.repair.certify import watching
from fairpot.repair.choose import Achieved
from fairpot.repair.estimator import Repair
from fairpot.repair.finish import in_words
from fairpot.repair.fitting import RULES
from fairpot.results import Effect, effect
from fairpot.results.kinds import Count, Group, Score
from fairpot.rows.output import complete_file
from fairpot.table import ScoreTable
from fairpot.tradeoff.rules import among

# Above this many pairs of distinct scores xOrder's curve would take longer than its fit is worth waiting for.
_DRAWABLE = 4_000_000


@dataclass(frozen=True)
class Delivered:
    """AUC and gap of the fitted rows before and after, of all of them and of the top that is repaired."""

    auc: float
    gap: float
    auc_before: float
    gap_before: float
    auc_top: float | None
    gap_top: float | None
    auc_top_before: float | None
    gap_top_before: float | None
    starts: tuple[Value, ...] | None
    enter: Count | None
    leave: Count | None

    @classmethod
    def of(cls, found: Achieved, sign: float) -> Self:
        """Take what was achieved; ``sign`` brings scores to the scale of the user's file."""
        starts = None if found.starts is None else {g: sign * each + 0.0 for g, each in found.starts.items()}
        return cls(**{**vars(found), "starts": None if starts is None else Value.each(starts)})


@dataclass(frozen=True)
class BeforeAfter:
    """A number before and after a repair."""

    before: float
    after: float


@dataclass(frozen=True)
class NetBenefit:
    """Net benefit of acting from a threshold on, before and after."""

    threshold: Score
    fitted: BeforeAfter
    held_out: BeforeAfter | None


@dataclass(frozen=True)
class FitDocument:
    """What the repair does."""

    said: Annotated[RowsSaid, Inline]
    method: str
    dial: Dial
    rule: RuleSaid | None
    reference: Group | None
    achieved: Delivered
    fitted: Effect
    held_out: Effect | None
    repair_needed: bool | None
    net_benefit: NetBenefit | None
    certificate: Mapping[str, Any] | None
    private: Mapping[str, Any] | None
    simplified: Mapping[str, Any] | None
    quantisation: Quantised | None
    output: str | None
    higher_auc: Rival | None


@click.command(cls=Sectioned, short_help="Learn a repair and show what it costs.")
@row_options()
@click.option("--method", type=MethodName(), default="fairpot", show_default=True, help="How scores are repaired.")
@how_far
@repair_options("Bound the gap in this top of the list: 10% of it, or 200 rows.")
@group_options
@click.option(
    "--threshold",
    type=SCORE,
    multiple=True,
    metavar="SCORE",
    help="Also show who is flagged at this score or above; repeatable.",
)
@afterwards
@click.option("--monotone", is_flag=True, help="Keep the order of people within each group (fairpot).")
@click.option(
    "--validate",
    "held_out",
    multiple=True,
    metavar="FILE",
    help="Show the same on these held-out rows; with --confidence, certify on them.",
)
@click.option("-o", "--output", metavar="FILE", help="Where the map is saved; without it nothing is.")
@click.option("--private", is_flag=True, help="Save maps learnt from means of ten rows or more, and rounded counts.")
@click.option("--force", is_flag=True, help="Replace the output if it already exists.")
@all_option
@output_options
def fit(
    rows: RowOptions,
    out: Output,
    method: str,
    held_out: tuple[str, ...],
    output: str | None,
    private: bool,
    force: bool,
    threshold: tuple[float, ...],
    only: str | None,
    everything: bool,
    **options: Any,
) -> None:
    """Learn a repair of the scores; say how far it goes with --max-gap, --max-auc-loss, --lam, ...

    The scores of the reference group, and of groups that are left out, do not change; the others are moved towards it.
    You see how the gap changes, whose scores change, the price in AUC and who is acted on. Fit on rows that the model
    was not trained on.

    For the highest AUC take logit-shift or wasserstein; fairpot changes the fewest scores. A target gap holds on these
    rows: on new ones it was kept in 28 to 62% of our splits, whichever the method. To promise it, add --confidence.

    \b
    Examples:
      fairpot fit train.parquet --score risk --label outcome --group sex --max-gap 0.02 -o map.json
      fairpot fit train.csv --max-gap 0.05 --top 200 --validate held_out.csv -o map.json
      fairpot fit train.csv --max-gap 0.05 --confidence 0.95 -o map.json      # certified

    Without -o nothing is written: look first, then save. `fairpot apply` uses the map. Exits with 4 if --confidence is
    given and no repair can be certified; --json then has what is missing.

    Exit codes: 0 fine, 2 an error, 4 no repair could be certified with --confidence.

    \b
    A repair reads the group when it scores a person, which some laws forbid:
    https://fairpot.github.io/fairpot/understand/law.html
    """
    if output is None and force:
        needs("force", "replaces an output: it needs -o FILE.")
    wish = one_wish(method, {name: options.pop(name) for name in WISHES})
    ranking: Options = {"ties": options["ties"], "threshold": list(threshold)}
    options["repair"] = "top" if options.pop("repair_top") else "all"
    about = {"min_group": options.pop("min_group")}
    settings_for(method, options)
    validated = rows.elsewhere(held_out) if held_out else None
    with _target(output, force, [rows] if validated is None else [rows, validated]) as place:
        counted = rows.counted(out)
        options["reference"] = named_group(options["reference"], counted.table.groups)
        about["groups"] = listed_groups(only, counted.table.groups)
        made = make_method(method, wish, settings_for(method, options))
        other = None if validated is None else validated.counted(out, "counting held-out rows").table
        with certifying(out, wish, method, rows):
            what = "fitting" if wish.confidence is None else CERTIFYING
            with out.progress(what, known=wish.confidence is not None) as report, watching(report):
                model, other = _fitted(made, counted.table, other, about)
        ranking["reference"] = options["reference"]
        fitted = _effect(model, counted.table, ranking)
        later = None if other is None else _effect(model, other, ranking)
        benefits = _net_benefits(model, wish, counted.table, other)
        content = model.fair_maps_.private_content() if private else model.fair_maps_.file_content()
        if place is not None:
            model.save(place, columns={"score": rows.score, "group": rows.groups}, private=private)
    done = FitDocument(
        rows.said(),
        method,
        Dial.of(*content.dial),
        wish.said(),
        content.reference,
        Delivered.of(model.achieved_, -1.0 if rows.lower_is_riskier else 1.0),
        fitted,
        later,
        _repair_needed(wish, fitted),
        benefits,
        content.certificate,
        content.private,
        content.simplified,
        Quantised.of(counted.quantisation),
        output,
        higher_auc(model, other if model.top is None else None),
    )
    out.document(done)
    _print_answer(out, done, wish, rows)
    _print_fit(out, done, content, wish)
    _print_effects(out, done, everything)
    _print_net_benefits(out, benefits)
    if everything and model.certificate_ is not None:
        print_certificate(out, model.certificate_)
    _print_curve(out, method, model)
    _print_map(out, content, options["keep"])
    notes = _notes(fitted, later)
    print_quantisation(out, counted.quantisation)
    out.notes(notes, everything=everything)


@contextmanager
def _target(output: str | None, force: bool, inputs: Sequence[RowOptions]) -> Iterator[Path | None]:
    """Check the output before the work begins, and put it into place when all is done."""
    if output is None:
        yield None
        return
    with complete_file(output, overwrite=force, inputs=[file for rows in inputs for file in rows.files()]) as place:
        yield place


def _fitted(
    model: Repair, table: ScoreTable, held_out: ScoreTable | None, about: Options
) -> tuple[Repair, ScoreTable | None]:
    """Fit; what the fit says of small groups and reversed scores stands in the answer as well.

    Where a gap is to be certified and rows are held out for it, the dial is chosen on those.
    """
    given = {rule: getattr(model, rule) for rule in RULES}
    confidence = None if held_out is None else model.confidence
    if confidence is not None:
        model.set_params(**dict.fromkeys(RULES), confidence=None)
    with warnings.catch_warnings():
        for told in (SmallGroupWarning, ReversedScoreWarning):
            warnings.simplefilter("ignore", told)
        model.fit(table, **about)
    if held_out is None:
        return model, None
    known = with_groups_of(held_out, model.groups_, "the held-out file")
    if confidence is not None:
        model = model.choose_certified(known, confidence=confidence, **given)
    return model, known


def _effect(model: Repair, table: ScoreTable, ranking: Options) -> Effect:
    """Measure the repair; what was certified a moment ago cannot be judged by the rows that certified it."""
    found = effect(model, table, **ranking)
    return found if found.trust is None else replace(found, trust=replace(found.trust, answer=None, gap=None))


def _print_answer(out: Output, done: FitDocument, wish: Wish, rows: RowOptions) -> None:
    """Say first what the repair does, on new rows if there are any; then what comes next."""
    found = done.fitted if done.held_out is None else done.held_out
    bound = (wish.rules or {}).get("max_gap")
    kept = []
    if done.repair_needed is False and bound is not None:
        gap = float(done.fitted.before.told.gap or 0.0)
        kept = [words.not_needed(done.fitted.finding.metric, gap, bound, wish.confidence)]
    lead = done.higher_auc
    if lead is not None:
        said = words.higher_auc(
            lead.method, lead.lead, done.held_out is not None and done.achieved.gap_top is None, "--method logit-shift"
        )
    out.lines([*kept, *found.sentences, *([] if lead is None else [said])])
    if done.output is None:
        out.line("Nothing was written: add -o map.json to save the map.")
    elif not any(each.moved for each in done.fitted.moves):
        out.line(f"Written: {shown(done.output)}, a map that changes no score. Next: keep the original scores.")
    else:
        out.line(f"Written: {shown(done.output)}")
        again = rows.as_options(of_map=True)
        out.command(["fairpot", "apply", done.output, "NEW_FILE", *again, "-o", "ADJUSTED_FILE"])


def _print_fit(out: Output, done: FitDocument, content: ModelFile, wish: Wish) -> None:
    """Say what was fitted: the method, its strength, the reference group, and where a repaired top begins."""
    fitted = done.fitted.spoken
    rows, weighed = fitted.before.ranking.rows, fitted.before.ranking.weighted_rows
    name, value = content.dial
    top = content.parameters.get("top")
    chosen = f", chosen: {wish.in_words('' if top is None else among(top))}" if wish.is_rule else ""
    columns = fitted.before.table.group_columns
    strength = _shown_dial(value, columns)
    out.line()
    out.line(f"{content.method} fitted on {wording.rows_by(rows, weighed)}: {name} = {strength}{chosen}")
    if fitted.before.weights is not None:
        out.line(wording.weights_taken(fitted.before.weights, weighed))
    if content.reference is not None:
        out.line(f"reference group: {shown(fitted.reference)}, whose scores do not change")
    if done.achieved.starts is not None:
        starts = {words.name_of(each.group, columns): each.value for each in done.achieved.starts}
        crossed = None if content.thresholds is not None else (done.achieved.enter or 0.0, done.achieved.leave or 0.0)
        out.line(shown(words.top_begins(starts, crossed)))
    if fitted.left_out:
        groups = words.listed(fitted.left_out)
        out.line(f"left out of the comparison, with scores that do not change: {shown(groups)}")


def _print_effects(out: Output, done: FitDocument, everything: bool) -> None:
    """Show the effect on held-out rows if there are any, and then that on the fitted rows in a line."""
    fitted = done.fitted.spoken
    if done.held_out is None:
        print_effect(out, fitted, "On the fitted rows", everything=everything)
        return
    later = done.held_out.spoken
    sized = wording.rows_by(*later.before.table.sized, "held-out rows")
    print_effect(out, later, f"On {sized}", everything=everything)
    if everything:
        print_effect(out, fitted, "On the fitted rows", everything=True)
        return
    out.line()
    out.line(words.in_short(fitted))


def _notes(fitted: Effect, held_out: Effect | None) -> list[str]:
    """Say what may mislead; of held-out rows, what is not said of the fitted ones."""
    told, later = (
        () if each is None else (*each.spoken.notes, *each.spoken.before.notes) for each in (fitted, held_out)
    )
    known = {(note.kind, note.group, note.alpha) for note in told}
    new = [f"held out: {note.text}" for note in later if (note.kind, note.group, note.alpha) not in known]
    return [*(note.text for note in told), *new]


def _print_map(out: Output, content: ModelFile, keep: str | None) -> None:
    """Say what the map itself keeps, or was simplified to."""
    if keep == "grid":
        out.line("adjusted scores stay on the grid of scores that came in; the strength was chosen after cutting")
    if content.simplified is not None:
        out.line(in_words(content.simplified))
    if content.private is not None:
        error = f"{content.private['largest_error']:.3g}"
        out.line(f"private: maps are simplified; adjusted scores within {error} of those shown, counts rounded")
        if content.certificate is None and keep is None:
            out.line("a certificate is of the full map and is not saved with a private one")


def _net_benefits(model: Repair, wish: Wish, fitted: ScoreTable, held_out: ScoreTable | None) -> NetBenefit | None:
    """Measure net benefit before and after, where it is what was chosen by."""
    at = (wish.rules or {}).get("net_benefit_at")
    if at is None:
        return None

    def both(table: ScoreTable) -> BeforeAfter:
        after = table.rescored(model.fair_maps_.maps_on(table))
        return BeforeAfter(net_benefit(table, at), net_benefit(after, at))

    return NetBenefit(at, both(fitted), None if held_out is None else both(held_out))


def _print_net_benefits(out: Output, found: NetBenefit | None) -> None:
    """Say what acting from the threshold on brings, in rows with the outcome for every 1,000 rows."""
    if found is None:
        return
    named = (("fitted rows", found.fitted), ("held-out rows", found.held_out))
    lines = [
        [said, figure(each.before, 4), figure(each.after, 4), figure(1000 * (each.after - each.before), 1, "+")]
        for said, each in named
        if each is not None
    ]
    title = f"Net benefit of acting from {found.threshold:g} on"
    out.table(title, ["", "before", "after", "change for 1,000 rows"], lines)
    out.line("net benefit: rows with the outcome found, less those acted on without it at the threshold's odds", "dim")


def _repair_needed(wish: Wish, fitted: Effect) -> bool | None:
    """Whether the target gap took a repair; None where no gap was asked for or it cannot be measured."""
    bound, gap = (wish.rules or {}).get("max_gap"), fitted.before.told.gap
    if bound is None or gap is None:
        return None
    return gap > bound or any(each.moved for each in fitted.moves)


def _shown_dial(value: Any, columns: Sequence[str]) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{v:.3g} ({shown(words.name_of(g, columns))})" for g, v in value.items())
    return f"{value:.3g}"


def _print_curve(out: Output, method: str, model: Repair) -> None:
    """Draw the trade-off for people at a terminal."""
    if not out.on_terminal or (method == "xorder" and _pairs(model) > _DRAWABLE):
        return
    curve = model.tradeoff()
    found = model.achieved_
    gap = found.gap if found.gap_top is None else found.gap_top
    chosen = None if gap != gap or found.auc != found.auc else (gap, found.auc)
    out.heading("Trade-off on the fitted rows")
    for line in curve_picture(curve, chosen, width=out.plot_width):
        out.line(line)


def _pairs(model: Repair) -> int:
    sizes = sorted(len(c.score) for c in model.table_.counts)
    return sizes[-1] * sum(sizes[:-1])
