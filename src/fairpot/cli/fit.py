"""``fairpot fit``: learn a repair and show what it gains and costs."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Annotated, Any

import click

from fairpot import words
from fairpot._validation import wording
from fairpot.cli import _options as opt
from fairpot.cli._lines import print_certificate, print_effect
from fairpot.cli._methods import WISHES, RuleSaid, Wish, how_far, keep_option, method_option, one_wish, settings_for
from fairpot.cli._printing import Dial, Inline, Output, Quantised, shown
from fairpot.cli._rows import RowOptions, RowsSaid, listed_groups, named_group, row_options, with_groups_of
from fairpot.comparison import Rival
from fairpot.comparison.run import higher_auc
from fairpot.modelfile.forms import MapFile
from fairpot.repair.choose import Achieved
from fairpot.repair.estimator import Repair
from fairpot.repair.finish import in_words
from fairpot.repair.fitting import RULES
from fairpot.repair.registry import find_method, method_name
from fairpot.results import Effect, effect
from fairpot.results.effect import as_certified
from fairpot.results.kinds import Group
from fairpot.rows.output import complete_file
from fairpot.table import ScoreTable


@dataclass(frozen=True)
class FitDocument:
    """What the repair does."""

    said: Annotated[RowsSaid, Inline]
    method: str
    dial: Dial
    rule: RuleSaid | None
    reference: Group | None
    achieved: Achieved
    fitted: Effect
    held_out: Effect | None
    repair_needed: bool | None
    certificate: Mapping[str, Any] | None
    private: Mapping[str, Any] | None
    simplified: Mapping[str, Any] | None
    quantisation: Quantised | None
    output: str | None
    higher_auc: Rival | None


@click.command(cls=opt.Sectioned, short_help="Learn a repair and show what it costs.")
@row_options()
@method_option
@how_far
@opt.repair_options("Bound the gap in this top of the list: 10% of it, or 200 rows.")
@opt.group_options
@opt.threshold_option
@keep_option()
@opt.option("--monotone", "Keep the order of people within each group (fairpot).", rare=True)
@opt.option(
    "--validate FILE",
    "Also show it on these held-out rows; with --confidence, certify on them.",
    "held_out",
    multiple=True,
)
@opt.output_option("-o --output FILE", "Where the map is saved; without it nothing is.")
@opt.output_option("--private", "Save maps learnt from means of ten rows or more, and rounded counts.", rare=True)
@opt.force_option
@opt.all_option
@opt.output_options
def fit(
    rows: RowOptions,
    out: Output,
    method: str,
    held_out: tuple[str, ...],
    output: str | None,
    private: bool,
    force: bool,
    threshold: tuple[float, ...],
    min_group: int,
    only: str | None,
    everything: bool,
    **options: Any,
) -> None:
    """Learn a repair of the scores; say how far it goes with --max-gap, --max-auc-loss, --lam, ...

    The scores of the reference group, and of groups that are left out, do not change; the others are moved towards it.
    You see how the gap changes, whose scores change, the price in AUC and who is acted on. Fit on rows that the model
    was not trained on.

    For the highest AUC take logit-shift or wasserstein: 0.002 to 0.003 more on average where the gap is above 0.10.
    fairpot changes the fewest scores. A target gap holds on these rows: on new ones it was kept in 29 to 61% of our
    splits. To promise it, add --confidence.

    \b
    Examples:
      fairpot fit train.csv --score risk --group sex --max-gap 0.02 -o map.json
      fairpot fit train.csv --max-gap 0.05 --top 200 --validate held_out.csv
      fairpot fit train.csv --max-gap 0.05 --confidence 0.95 -o certified.json

    Without -o nothing is written: look first, then save. `fairpot apply` uses the map. Exits with 4 if --confidence is
    given and no repair can be certified; --json then has what is missing.

    Exit codes: 0 fine, 2 an error, 4 no repair could be certified with --confidence.

    \b
    A repair reads the group when it scores a person, which some laws forbid:
    https://fairpot.github.io/fairpot/understand/law.html
    """
    if output is None:
        opt.needs("force", "replaces an output: it needs -o FILE.")
    wish = one_wish(method, {name: options.pop(name) for name in WISHES})
    options["repair"] = "top" if options.pop("repair_top") else "all"
    settings_for(method, options)
    read = [rows, *([rows.elsewhere(held_out)] if held_out else [])]
    inputs = [file for each in read for file in each.source.inputs]
    with nullcontext() if output is None else complete_file(output, overwrite=force, inputs=inputs) as place:
        counted = rows.counted(out)
        table, other = counted.table, None
        options["reference"] = named_group(options["reference"], table.groups)
        made = wish.make(options)
        if held_out:
            other = read[1].counted(out, "counting held-out rows", table).table
        with wish.fitting(out, rows):
            about: opt.Options = {"min_group": min_group, "groups": listed_groups(only, table.groups)}
            model, other = _fitted(made, table, other, about)
        how: opt.Options = {"ties": options["ties"], "threshold": list(threshold), "reference": options["reference"]}
        fitted = _effect(model, table, how)
        later = None if other is None else _effect(model, other, how)
        content = model.fair_maps_.private_content() if private else model.fair_maps_.file_content()
        if place is not None:
            model.save(place, columns={"score": rows.score, "group": rows.groups}, private=private)
    bins = Quantised.of(counted.quantisation)
    done = FitDocument(
        rows.said(),
        method,
        Dial.of(*content.strength),
        wish.said(),
        content.reference,
        _achieved(model, rows),
        fitted,
        later,
        _repair_needed(wish, fitted),
        content.plain("certificate"),
        content.plain("private"),
        content.plain("simplified"),
        bins,
        output,
        higher_auc(model, other if model.top is None else None),
    )
    out.document(done)
    _print_answer(out, done, wish, rows)
    _print_fit(out, done, content, wish)
    _print_effects(out, done, everything)
    if everything and model.certificate_ is not None:
        print_certificate(out, model.certificate_)
    _print_map(out, done, options["keep"])
    if bins is not None:
        out.note(bins.text)
    out.notes(_notes(fitted, later), everything=everything)


def _fitted(
    model: Repair, table: ScoreTable, held_out: ScoreTable | None, about: opt.Options
) -> tuple[Repair, ScoreTable | None]:
    """Fit; where a gap is to be certified and rows are held out for it, the dial is chosen on those."""
    if held_out is None:
        return model.fit(table, **about), None
    given = {rule: getattr(model, rule) for rule in RULES}
    confidence = model.confidence
    if confidence is not None:
        model.set_params(**dict.fromkeys(RULES), confidence=None)
    model.fit(table, **about)
    known = with_groups_of(held_out, model.groups_, "the held-out file")
    if confidence is not None:
        model = model.choose_certified(known, confidence=confidence, **given)
    return model, known


def _achieved(model: Repair, rows: RowOptions) -> Achieved:
    """Give what was achieved, on the scale of the user's file."""
    found, sign = model.achieved_, -1.0 if rows.lower_is_riskier else 1.0
    return replace(found, starts=found.starts and {g: sign * each + 0.0 for g, each in found.starts.items()})


def _effect(model: Repair, table: ScoreTable, ranking: opt.Options) -> Effect:
    """Measure the repair; what was certified a moment ago cannot be judged by the rows that certified it."""
    found = effect(model, table, **ranking)
    return as_certified(found) if found.facts.certificate is not None else found


def _print_answer(out: Output, done: FitDocument, wish: Wish, rows: RowOptions) -> None:
    """Say first what the repair does, on new rows if there are any; then what comes next."""
    found = done.fitted if done.held_out is None else done.held_out
    lead, better = done.higher_auc, []
    if lead is not None:
        on_new = done.held_out is not None and done.achieved.gap_top is None
        better = [words.higher_auc(lead.method, lead.lead, on_new, f"--method {method_name(find_method(lead.method))}")]
    out.lines([*found.sentences, *better])
    if done.output is None:
        out.line("Nothing was written: add -o map.json to save the map.")
    elif not any(each.moved for each in done.fitted.moves):
        out.line(f"Written: {shown(done.output)}, a map that changes no score. Next: keep the original scores.")
    else:
        out.line(f"Written: {shown(done.output)}")
        again = rows.as_options(of_map=True)
        out.command(["fairpot", "apply", done.output, "NEW_FILE", *again, "-o", "ADJUSTED_FILE"])


def _print_fit(out: Output, done: FitDocument, content: MapFile, wish: Wish) -> None:
    """Say what was fitted: the method, its strength, the reference group, and where a repaired top begins."""
    fitted = done.fitted.spoken
    rows, weighed = fitted.before.ranking.rows, fitted.before.ranking.weighted_rows
    top = content.given.get("top")
    chosen = f", chosen: {wish.in_words('' if top is None else wording.among(top))}" if wish.value is None else ""
    columns = fitted.before.table.group_columns
    out.line()
    out.line(f"{content.method} fitted on {wording.rows_by(rows, weighed)}: {done.dial.text(columns)}{chosen}")
    if fitted.before.weights is not None:
        out.line(wording.weights_taken(fitted.before.weights, weighed))
    if content.reference is not None:
        out.line(f"reference group: {shown(fitted.reference)}, whose scores do not change")
    if done.achieved.starts is not None:
        starts = {words.name_of(group, columns): start for group, start in done.achieved.starts.items()}
        crossed = done.achieved.enter or 0.0, done.achieved.leave or 0.0
        same = content.thresholds is not None and crossed == (0, 0)
        out.line(shown(words.top_begins(starts, None if same else crossed)))
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
    known = {(note.kind, note.group, note.top) for note in told}
    new = [f"held out: {note.text}" for note in later if (note.kind, note.group, note.top) not in known]
    return [*(note.text for note in told), *new]


def _print_map(out: Output, done: FitDocument, keep: str | None) -> None:
    """Say what the map itself keeps, or was simplified to."""
    if keep == "grid":
        out.line("adjusted scores stay on the grid of scores that came in; the strength was chosen after cutting")
    if done.simplified is not None:
        out.line(in_words(done.simplified))
    if done.private is not None:
        error = f"{done.private['largest_error']:.3g}"
        out.line(f"private: maps are simplified; adjusted scores within {error} of those shown, counts rounded")
        if done.certificate is None and keep is None:
            out.line("a certificate is of the full map and is not saved with a private one")


def _repair_needed(wish: Wish, fitted: Effect) -> bool | None:
    """Whether the target gap took a repair; None where no gap was asked for or it cannot be measured."""
    bound, gap = wish.rules.get("max_gap"), fitted.before.told.gap
    if bound is None or gap is None:
        return None
    return gap > bound or any(each.moved for each in fitted.moves)
