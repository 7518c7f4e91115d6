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
from fairpot.cli._errors import Failure
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
from fairpot.cli._options import SCORE, Sectioned, all_option, group_options, output_options, ranking_options, was_given
from fairpot.cli._printing import Output, curve_picture, number, shown
from fairpot.cli._rows import RowOptions, listed_groups, named_group, row_options, with_groups_of
from fairpot.engines.memory import Memory
from fairpot.exceptions import ReversedScoreWarning, SmallGroupWarning
from fairpot.files import CountedRows
from fairpot.files.output import complete_file
from fairpot.inference import Certificate
from fairpot.inference.limits import gap_name
from fairpot.modelfile import ModelFile
from fairpot.postprocessing.certified import watching
from fairpot.postprocessing.large import in_words
from fairpot.postprocessing.postprocessor import RULES, Postprocessor
from fairpot.table import ScoreTable
from fairpot.tradeoff.operating import capacity_share, net_benefit

# Above this many pairs of distinct scores xOrder's curve would take longer than its fit is worth waiting for.
_DRAWABLE = 4_000_000


@click.command(cls=Sectioned, short_help="Learn a repair and show what it costs.")
@row_options()
@click.option("--method", type=MethodName(), default="fairpot", show_default=True, help="How scores are repaired.")
@how_far
@ranking_options(
    "Repair only the top SHARE of the list (fairpot): nobody joins it, what changes is the order.",
    "Reference group, whose scores do not change; default: the one ranked highest, or lowest if a high score harms.",
)
@click.option(
    "--region-from",
    type=click.Choice(["fitted", "batch"]),
    default="fitted",
    show_default=True,
    help="With --alpha: whether `apply` uses the fitted threshold or finds the top in its own rows.",
)
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
@click.option("--exact", is_flag=True, help="Keep every distinct score and every breakpoint, however many.")
@click.option(
    "--common-dial",
    is_flag=True,
    help="With more than two groups: one value for all (fairpot, logit-shift, optimal-merge); default: one for each.",
)
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
      fairpot fit train.csv --max-gap 0.05 --capacity 200 --validate held_out.csv -o map.json
      fairpot fit train.csv --max-gap 0.05 --confidence 0.95 -o map.json      # certified

    Without -o nothing is written: look first, then save. `fairpot apply` uses the map. Exits with 4 if --confidence is
    given and no repair can be certified; --json then has what is missing.

    A repair reads the group when it scores a person, which some laws forbid:
    https://fairpot.github.io/fairpot/understand/law.html
    """
    wish = one_wish(method, {name: options.pop(name) for name in WISHES})
    ranking = {name: options[name] for name in ("alpha", "region", "ties")} | {"threshold": list(threshold)}
    settings_for(method, options)
    for name in ("region", "region_from"):
        if options["alpha"] is None and was_given(name):
            raise click.UsageError(f"--{name.replace('_', '-')} says where the top is, which needs --alpha.")
    validated = rows.elsewhere(held_out) if held_out else None
    with _target(output, force, [rows] if validated is None else [rows, validated]) as place:
        counted = rows.counted(out)
        if options["exact"] and counted.quantisation is not None:
            raise Failure(_no_room(counted, rows))
        options["reference"] = named_group(options["reference"], counted.table.groups)
        options["groups"] = listed_groups(only, counted.table.groups)
        made = make_method(method, wish, settings_for(method, options))
        other = None if validated is None else validated.counted(out, "counting held-out rows").table
        with certifying(out, wish, {**rows.document(), "method": method}):
            what = "fitting" if wish.confidence is None else CERTIFYING
            with out.progress(what, known=wish.confidence is not None) as report, watching(report):
                model, other = _fitted(made, counted.table, other)
        content = model.private_content() if private else model.file_content()
        ranking["reference"] = options["reference"]
        if "capacity" in (wish.rules or {}):
            ranking["alpha"] = capacity_share(wish.rules["capacity"], [model._compared])  # type: ignore[index]
        fitted = _effect(model, counted.table, ranking, rows)
        grid = model.grid_cost() if model.grid_ is not None else None
        later = None if other is None else _effect(model, other, ranking, rows)
        benefits = _net_benefits(model, wish, counted.table, other)
        if place is not None:
            _save(model, place, rows, private)
    out.document(
        {
            **rows.document(),
            **_head(content, method, wish),
            "fitted": fitted.to_dict(),
            "held_out": None if later is None else later.to_dict(),
            "repair_needed": _repair_needed(wish, fitted),
            "net_benefit": benefits,
            "certificate": content.certificate,
            "private": content.private,
            "grid": grid,
            "simplified": content.simplified,
            "quantisation": quantisation_document(counted.quantisation),
            "output": output,
        }
    )
    shown_fit, shown_later = (each and each.named(rows.groups) for each in (fitted, later))
    assert shown_fit is not None
    _print_verdict(out, wish, shown_fit, shown_later, _next(output, rows, fitted))
    how = {"lower_is_riskier": rows.lower_is_riskier, "everything": everything}
    _print_fit(out, content, wish, shown_fit, shown_later, how, rows.groups)
    _print_net_benefits(out, benefits)
    if model.certificate_ is not None:
        _print_certificate(out, model.certificate_)
    if grid is not None:
        _print_grid(out, grid)
    _print_curve(out, method, model, fitted.after)
    print_quantisation(out, counted.quantisation)
    if content.simplified is not None:
        out.line(f"{in_words(content.simplified)} (--exact keeps them all)")
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


def _no_room(counted: CountedRows, rows: RowOptions) -> str:
    """Say that not all distinct scores fit into the memory that was allowed."""
    scores = f"those of {counted.rows:,} rows do not fit into --memory {rows.memory}"
    way = f"--memory {Memory.for_entries(counted.rows)}"
    return f"--exact keeps every distinct score, and {scores}.\nHint: {way}"


def _fitted(
    model: Postprocessor, table: ScoreTable, held_out: ScoreTable | None
) -> tuple[Postprocessor, ScoreTable | None]:
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
        model.fit_table(table)
    if held_out is None:
        return model, None
    known = with_groups_of(held_out, model.groups_, "the held-out file")
    if confidence is not None:
        model = model.certify(known, confidence=confidence, **given)
    return model, known


def _effect(model: Postprocessor, table: ScoreTable, ranking: dict[str, Any], rows: RowOptions) -> Effect:
    """Measure the repair; what was certified a moment ago is told by itself, and these rows cannot judge it."""
    found = effect(model, table, **ranking)
    trust = None if found.trust is None else replace(found.trust, answer=None)
    return own_scale_effect(replace(found, certificate=None, trust=trust), rows.lower_is_riskier)


def _save(model: Postprocessor, place: Path, rows: RowOptions, private: bool) -> None:
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
) -> None:
    rows, weights = fitted.before["rows"], fitted.before["weights"]
    name, value = content.dial
    chosen = f", chosen: {wish.in_words(content.parameters.get('alpha') is not None)}" if wish.is_rule else ""
    out.line()
    out.line(
        f"{content.method} fitted on {wording.rows_by(rows, weights)}: {name} = {_shown_dial(value, columns)}{chosen}"
    )
    if weights is not None:
        out.line(wording.weights_taken(weights, rows))
    if content.reference is not None:
        out.line(f"reference group: {shown(fitted.reference)}, whose scores do not change")
    if content.parameters.get("alpha") is not None and content.parameters["region"] == "pooled":
        out.line("nobody joins the top, and nobody leaves it unless scores tie at its edge: what changes is the order")
    for each in fitted.left_out:
        out.line(f"group {shown(each)} is left out of the comparison: its scores do not change")
    if held_out is not None:
        sized = wording.rows_by(held_out.before["rows"], held_out.before["weights"], "held-out rows")
        print_effect(out, held_out, f"On {sized}", **how)
    print_effect(out, fitted, "On the fitted rows", **how)
    later = [] if held_out is None else [f"held out: {text}" for text in held_out.warnings]
    out.warnings(list(dict.fromkeys([*fitted.warnings, *later])), everything=how["everything"])


def _net_benefits(
    model: Postprocessor, wish: Wish, fitted: ScoreTable, held_out: ScoreTable | None
) -> dict[str, Any] | None:
    """Measure net benefit before and after, where it is what was chosen by."""
    at = (wish.rules or {}).get("net_benefit_at")
    if at is None:
        return None
    found: dict[str, Any] = {"threshold": at}
    for name, table in (("fitted", fitted), ("held_out", held_out)):
        if table is not None:
            after = table.rescored(model.maps_for(table))
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


def _print_certificate(out: Output, found: Certificate) -> None:
    out.heading("Certified")
    promise = f"the {found.metric} on new rows like these is at most {found.bound:g}"
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
            (found.metric, found.gap_before, found.gap),
        )
    ]
    out.table(["", "before", "from", "to", "after", "from", "to"], rows)


def _print_grid(out: Output, cost: dict[str, float | None]) -> None:
    """Say what it costs that scores stay on their grid."""
    out.line(f"adjusted scores stay on the grid of {cost['scores']} scores that came in")
    if cost["auc_uncut"] is None:
        out.line("uncut, no repair keeps the rule")
        return
    out.line(
        f"cut AUC {words.figure(cost['auc'])}, gap {words.figure(cost['gap'])}; the same repair uncut: AUC "
        f"{words.figure(cost['auc_uncut'])}, gap {words.figure(cost['gap_uncut'])}"
    )


def _shown_dial(value: Any, columns: Sequence[str]) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{v:.3g} ({shown(words.name_of(g, columns))})" for g, v in value.items())
    return f"{value:.3g}"


def _print_curve(out: Output, method: str, model: Postprocessor, after: dict[str, Any]) -> None:
    """Draw the trade-off for people at a terminal."""
    if not out.on_terminal or (method == "xorder" and _pairs(model) > _DRAWABLE):
        return
    curve = model.tradeoff()
    point = after["partial"] or after
    chosen = None if point["gap"] is None or point["auc"] is None else (point["gap"], point["auc"])
    out.heading("Trade-off on the fitted rows")
    for line in curve_picture(curve, chosen, width=out.plot_width):
        out.line(line)


def _pairs(model: Postprocessor) -> int:
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
