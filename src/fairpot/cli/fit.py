"""``fairpot fit``: learn a repair and show what it gains and costs."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from fairpot._validation import wording
from fairpot.auditing import Effect, effect, words
from fairpot.cli._lines import (
    own_scale_effect,
    print_effect,
    print_quantisation,
    quantisation_document,
)
from fairpot.cli._methods import (
    CERTIFYING,
    WISHES,
    MethodName,
    Wish,
    afterwards,
    certifying,
    how_far,
    make_method,
    one_wish,
    settings_for,
)
from fairpot.cli._options import SCORE, Sectioned, all_option, group_options, output_options, repair_options
from fairpot.cli._printing import Output, count, curve_picture, number, shown
from fairpot.cli._rows import RowOptions, listed_groups, named_group, row_options, with_groups_of
from fairpot.exceptions import ReversedScoreWarning, SmallGroupWarning
from fairpot.inference import Certificate
from fairpot.inference.limits import gap_name
from fairpot.metrics.benefit import net_benefit
from fairpot.modelfile import ModelFile
from fairpot.repair.achieved import Achieved
from fairpot.repair.certify import watching
from fairpot.repair.estimator import RULES, Repair
from fairpot.repair.finish import in_words
from fairpot.rows.output import complete_file
from fairpot.table import ScoreTable
from fairpot.tradeoff.rules import among

# Above this many pairs of distinct scores xOrder's curve would take longer than its fit is worth waiting for.
_DRAWABLE = 4_000_000


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
@click.option("--monotone", is_flag=True, help="Let nobody be overtaken inside a group (fairpot).")
@click.option(
    "--validate",
    "held_out",
    multiple=True,
    metavar="FILE",
    help="Show the same on these held-out rows; with --confidence, certify on them.",
)
@click.option("-o", "--output", metavar="FILE", help="Where the map is saved; without it nothing is.")
@click.option("--private", is_flag=True, help="Save simplified maps and rounded counts: nobody's score is in the file.")
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

    The scores of the reference group do not change; those of the others are moved towards it. You see how the gap
    changes, whose scores change, the price in AUC and who is acted on. Fit on rows that the model was not trained on.

    \b
    Examples:
      fairpot fit train.parquet --score risk --label outcome --group sex --max-gap 0.02 -o map.json
      fairpot fit train.csv --max-gap 0.05 --top 200 --validate held_out.csv -o map.json
      fairpot fit train.csv --max-gap 0.05 --confidence 0.95 -o map.json      # certified

    Without -o nothing is written: look first, then save. `fairpot apply` uses the map. Exits with 4 if --confidence is
    given and no repair can be certified; --json then has what is missing.

    A repair reads the group when it scores a person, which some laws forbid:
    https://fairpot.github.io/fairpot/understand/law.html
    """
    wish = one_wish(method, {name: options.pop(name) for name in WISHES})
    ranking: dict[str, Any] = {"ties": options["ties"], "threshold": list(threshold)}
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
        with certifying(out, wish, {**rows.document(), "method": method}):
            what = "fitting" if wish.confidence is None else CERTIFYING
            with out.progress(what, known=wish.confidence is not None) as report, watching(report):
                model, other = _fitted(made, counted.table, other, about)
        content = model.fair_maps_.private_content() if private else model.fair_maps_.file_content()
        ranking["reference"] = options["reference"]
        fitted = _effect(model, counted.table, ranking, rows)
        later = None if other is None else _effect(model, other, ranking, rows)
        benefits = _net_benefits(model, wish, counted.table, other)
        if place is not None:
            _save(model, place, rows, private)
    achieved = _own_scale_achieved(model, rows.lower_is_riskier)
    out.document(
        {
            **rows.document(),
            **_head(content, method, wish),
            "achieved": achieved.to_dict(),
            "fitted": fitted.to_dict(),
            "held_out": None if later is None else later.to_dict(),
            "repair_needed": _repair_needed(wish, fitted),
            "net_benefit": benefits,
            "certificate": content.certificate,
            "private": content.private,
            "simplified": content.simplified,
            "quantisation": quantisation_document(counted.quantisation),
            "output": output,
        }
    )
    shown_fit, shown_later = (each and each.named(rows.groups) for each in (fitted, later))
    assert shown_fit is not None
    _print_verdict(out, wish, shown_fit, shown_later, _next(output, rows, fitted))
    how = {"lower_is_riskier": rows.lower_is_riskier, "everything": everything}
    _print_fit(out, content, wish, shown_fit, shown_later, how, rows.groups, achieved)
    _print_net_benefits(out, benefits)
    if model.certificate_ is not None:
        _print_certificate(out, model.certificate_, rows.lower_is_riskier)
    if options["keep"] == "grid":
        out.line("adjusted scores stay on the grid of scores that came in; the strength was chosen after cutting")
    _print_curve(out, method, model)
    print_quantisation(out, counted.quantisation)
    if content.simplified is not None:
        out.line(in_words(content.simplified))
    if content.private is not None:
        error = f"{content.private['largest_error']:.3g}"
        out.line(f"private: maps are simplified; adjusted scores within {error} of those shown, counts rounded")
        if model.certificate_ is not None:
            out.line("the certificate is that of the full map and is not saved with the private one")


@contextmanager
def _target(output: str | None, force: bool, inputs: Sequence[RowOptions]) -> Iterator[Path | None]:
    """Check the output before the work begins, and put it into place when all is done."""
    if output is None:
        yield None
        return
    with complete_file(output, overwrite=force, inputs=[file for rows in inputs for file in rows.files()]) as place:
        yield place


def _fitted(
    model: Repair, table: ScoreTable, held_out: ScoreTable | None, about: dict[str, Any]
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


def _effect(model: Repair, table: ScoreTable, ranking: dict[str, Any], rows: RowOptions) -> Effect:
    """Measure the repair; what was certified a moment ago is told by itself, and these rows cannot judge it."""
    found = effect(model, table, **ranking)
    trust = None if found.trust is None else replace(found.trust, answer=None)
    return own_scale_effect(replace(found, certificate=None, trust=trust), rows.lower_is_riskier)


def _save(model: Repair, place: Path, rows: RowOptions, private: bool) -> None:
    """Save the map with what it is to know of the rows it will meet."""
    model.save(place, columns={"score": rows.score, "group": rows.groups}, private=private)


def _head(content: ModelFile, method: str, wish: Wish) -> dict[str, Any]:
    name, value = content.dial
    dial = value if not isinstance(value, dict) else [{"group": g, "value": v} for g, v in value.items()]
    return {
        "method": method,
        "dial": {"name": name, "value": dial},
        "rule": wish.document(),
        "reference": content.reference,
    }


def _print_verdict(out: Output, wish: Wish, fitted: Effect, held_out: Effect | None, next_step: str) -> None:
    """Say first what the repair does, on new rows if there are any; then whose scores change."""
    found = fitted if held_out is None else held_out
    if _repair_needed(wish, fitted) is False:
        out.line(_not_needed(wish, fitted), "bold green")
    gap, *others = found.sentences
    out.line(shown(gap), "bold")
    for text in (*others, next_step):
        out.line(shown(text))


def _print_fit(
    out: Output,
    content: ModelFile,
    wish: Wish,
    fitted: Effect,
    held_out: Effect | None,
    how: dict[str, bool],
    columns: Sequence[str],
    achieved: Achieved,
) -> None:
    rows, weights = fitted.before["rows"], fitted.before["weights"]
    name, value = content.dial
    top = content.parameters.get("top")
    where = "" if top is None else among(top)
    chosen = f", chosen: {wish.in_words(where)}" if wish.is_rule else ""
    out.line()
    out.line(
        f"{content.method} fitted on {wording.rows_by(rows, weights)}: {name} = {_shown_dial(value, columns)}{chosen}"
    )
    if weights is not None:
        out.line(wording.weights_taken(weights, rows))
    if content.reference is not None:
        out.line(f"reference group: {shown(fitted.reference)}, whose scores do not change")
    if top is not None:
        for text in _delivered(achieved, content, where, columns):
            out.line(text)
    for each in fitted.left_out:
        out.line(f"group {shown(each)} is left out of the comparison: its scores do not change")
    if held_out is not None:
        sized = wording.rows_by(held_out.before["rows"], held_out.before["weights"], "held-out rows")
        print_effect(out, held_out, f"On {sized}", **how)
    print_effect(out, fitted, "On the fitted rows", **how)
    later = [] if held_out is None else [f"held out: {text}" for text in held_out.warnings]
    out.warnings(list(dict.fromkeys([*fitted.warnings, *later])), everything=how["everything"])


def _net_benefits(model: Repair, wish: Wish, fitted: ScoreTable, held_out: ScoreTable | None) -> dict[str, Any] | None:
    """Measure net benefit before and after, where it is what was chosen by."""
    at = (wish.rules or {}).get("net_benefit_at")
    if at is None:
        return None
    found: dict[str, Any] = {"threshold": at}
    for name, table in (("fitted", fitted), ("held_out", held_out)):
        if table is not None:
            after = table.rescored(model.fair_maps_.maps_on(table))
            found[name] = {"before": net_benefit(table, at), "after": net_benefit(after, at)}
    return found


def _print_net_benefits(out: Output, found: dict[str, Any] | None) -> None:
    """Say what acting from the threshold on brings, in rows with the outcome for every 1,000 rows."""
    if found is None:
        return
    out.heading(f"Net benefit of acting from {found['threshold']:g} on")
    head = ["", "before", "after", "change for 1,000 rows"]
    names = (("fitted", "fitted rows"), ("held_out", "held-out rows"))
    lines = [
        [said, number(each["before"], 4), number(each["after"], 4), f"{1000 * (each['after'] - each['before']):+.1f}"]
        for name, said in names
        if (each := found.get(name)) is not None
    ]
    out.table(head, lines)
    out.line("net benefit: rows with the outcome found, less those acted on without it at the threshold's odds")


def _repair_needed(wish: Wish, fitted: Effect) -> bool | None:
    """Whether the target gap took a repair; None where no gap was asked for or it cannot be measured."""
    bound, gap = (wish.rules or {}).get("max_gap"), _gap_before(fitted)
    if bound is None or gap is None:
        return None
    return gap > bound or any(each["moved"] for each in fitted.moves)


def _gap_before(fitted: Effect) -> float | None:
    """Give the gap that a rule is about: in the top, if that is what is repaired."""
    return (fitted.before["partial"] or fitted.before)["gap"]


def _not_needed(wish: Wish, fitted: Effect) -> str:
    top = fitted.before["partial"]
    name = gap_name(None if top is None else top["alpha"])
    sure = "" if wish.confidence is None else f", certified with {100 * wish.confidence:.4g}% confidence"
    bound = (wish.rules or {})["max_gap"]
    return (
        f"no repair needed: the {name} of the original scores is {words.beside(_gap_before(fitted) or 0.0, bound)}, "
        f"at most {bound:g}{sure}"
    )


def _print_certificate(out: Output, found: Certificate, lower_is_riskier: bool) -> None:
    out.heading("Certified")
    metric = words.certified_gap(found.to_dict(), lower_is_riskier)
    promise = f"the {metric} on new rows like these is at most {found.bound:g}"
    out.line(f"with {100 * found.confidence:.4g}% confidence {promise}", "green")
    out.line(f"upper limit of the gap, at that confidence: {words.beside(found.limit, found.bound)}")
    each = "clusters" if "clusters" in found.rows else "rows"
    out.line(f"({found.rows}, {found.how}; {each} independent, and nothing else chosen on them)")
    out.line(
        f"{100 * found.confidence:.4g}% intervals, which guard both ends, so that the upper may lie above that limit:"
    )
    rows = [
        [name, *(words.figure(value) for each in (before, after) for value in (each.value, each.low, each.high))]
        for name, before, after in (
            (words.auc_name(found.alpha), found.auc_before, found.auc),
            (gap_name(found.alpha), found.gap_before, found.gap),
        )
    ]
    out.table(["", "before", "from", "to", "after", "from", "to"], rows)


def _own_scale_achieved(model: Repair, lower_is_riskier: bool) -> Achieved:
    """Give what was delivered, scores as the user's file has them."""
    found = model.achieved_
    if found.starts is None or not lower_is_riskier:
        return found
    return replace(found, starts={group: 0.0 - start for group, start in found.starts.items()})


def _delivered(found: Achieved, content: ModelFile, where: str, columns: Sequence[str]) -> list[str]:
    """Say what the top and the whole list were and became, where the top begins, and who enters and leaves it."""
    parts = [
        (where, found.gap_top_before, found.gap_top, found.auc_top_before, found.auc_top),
        ("in the whole list", found.gap_before, found.gap, found.auc_before, found.auc),
    ]
    said = [
        f"{name} gap {words.figure(gap)} -> {words.figure(gap_after)}, AUC {words.figure(auc)} -> {words.figure(later)}"
        for name, gap, gap_after, auc, later in parts
    ]
    starts = found.starts or {}
    begins = f"{next(iter(starts.values())):.4g}"
    if len(set(starts.values())) > 1:
        begins = ", ".join(f"{start:.4g} ({shown(words.name_of(group, columns))})" for group, start in starts.items())
    if content.thresholds is not None:
        return [f"delivered: {'; '.join(said)}", f"that top begins at a score of {begins}: nobody outside is moved"]
    crossed = f"{count(found.enter)} rows enter it and {count(found.leave)} leave it"
    return [f"delivered: {'; '.join(said)}", f"that top begins at an adjusted score of {begins}: {crossed}"]


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


def _next(output: str | None, rows: RowOptions, fitted: Effect) -> str:
    """Say what comes next: saving the map, or applying it."""
    if output is None:
        return "Nothing was written: add -o map.json to save the map."
    if not any(each["moved"] for each in fitted.moves):
        return f"Written: {output}, a map that changes no score. Next: keep the original scores."
    command = shlex.join([output, "NEW_FILE", *rows.as_options(of_map=True)])
    return f"Written: {output}. Next: fairpot apply {command} -o ADJUSTED_FILE"
