"""``fairpot fit``: learn a repair and show what it gains and costs."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from fairpot.cli._methods import METHODS, Wish, fit_method, one_wish, settings_for
from fairpot.cli._numbers import FACTOR, LIMIT, SHARE
from fairpot.cli._plot import curve_picture
from fairpot.cli._printing import Output, count, shown
from fairpot.cli._ranking import print_quantisation, quantisation_document, ranking_options
from fairpot.cli._repair import effect, maps_on, print_effect
from fairpot.cli._rows import RowOptions, named_group, output_options, row_options, with_groups_of
from fairpot.files import CountedRows
from fairpot.files.output import complete_file
from fairpot.modelfile import ModelFile
from fairpot.postprocessing._saving import describe

# Above this many pairs of distinct scores xOrder's curve would take longer than its fit is worth waiting for.
_DRAWABLE = 4_000_000


def how_far(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of which exactly one says how far to go."""
    for option in reversed(
        [
            click.option(
                "--lam", type=SHARE, metavar="SHARE", help="Share that is moved (fairpot); weight of the gap (xorder)."
            ),
            click.option("--max-gap", type=SHARE, metavar="GAP", help="Highest AUC with at most this xAUC gap."),
            click.option(
                "--max-auc-loss", type=SHARE, metavar="LOSS", help="Smallest gap that costs at most this AUC."
            ),
            click.option("--smallest-gap", is_flag=True, help="Smallest gap, whatever it costs."),
            click.option("--t", type=SHARE, metavar="SHARE", help="Share of the way (wasserstein)."),
            click.option("--theta", type=FACTOR, metavar="FACTOR", help="Factor on the odds (optimal-merge)."),
            click.option("--slope", type=LIMIT, metavar="SLOPE", help="Slope of the sigmoid (post-logit)."),
        ]
    ):
        command = option(command)
    return command


@click.command(short_help="Learn a repair and show what it costs.")
@row_options()
@click.option("--method", type=click.Choice(list(METHODS)), default="fairpot", show_default=True)
@how_far
@ranking_options(
    "Repair only the top SHARE of the ranking (fairpot).", "Group that stays as it is; default: the one ahead."
)
@click.option(
    "--region-from",
    type=click.Choice(["batch", "fitted"]),
    default="batch",
    show_default=True,
    help="With --alpha: whether `apply` finds the top in its own rows or uses the fitted threshold.",
)
@click.option("--monotone", is_flag=True, help="Let nobody be overtaken inside a group (fairpot).")
@click.option("--validate", "held_out", multiple=True, metavar="FILE", help="Show the same on these held-out rows.")
@click.option("-o", "--output", metavar="FILE", help="Where the map is saved; without it nothing is.")
@click.option("--force", is_flag=True, help="Replace the output if it is there.")
@output_options
def fit(
    rows: RowOptions,
    out: Output,
    method: str,
    held_out: tuple[str, ...],
    output: str | None,
    force: bool,
    region_from: str,
    **options: Any,
) -> None:
    """Learn a repair of the scores; say how far to go with exactly one of --lam, --max-gap, --max-auc-loss, ...

    The reference group stays as it is, the others are moved towards it. Shown are the chosen point, AUC, gap
    and calibration before and after, and how many people move. Fit on rows that the model was not trained on.

    \b
    Examples:
      fairpot fit train.parquet --score risk --label outcome --group sex --max-gap 0.02 -o map.json
      fairpot fit train.csv --max-auc-loss 0.005 --validate held_out.csv -o map.json
      fairpot fit train.csv --lam 0.4 --alpha 0.1 -o map.json       # repair the top tenth only
      fairpot fit train.csv --method wasserstein --t 1 -o map.json

    Without -o nothing is written: look first, then save. `fairpot apply` uses the map.
    """
    wish = one_wish(method, {name: options.pop(name) for name in _WISHES})
    ranking = {name: options[name] for name in ("alpha", "region", "ties")}
    settings_for(method, options | {"threshold": region_from})
    validated = rows.elsewhere(held_out) if held_out else None
    with _target(output, force, [rows] if validated is None else [rows, validated]) as place:
        counted = rows.counted(out)
        ranking["reference"] = named_group(options["reference"], counted.table.groups)
        settings = settings_for(method, options | {"threshold": region_from, "reference": ranking["reference"]})
        model = fit_method(method, wish, settings, counted.table, ties=options["ties"])
        content = describe(model)
        summary = _summary(model, content, counted, ranking)
        summary["held_out"] = None if validated is None else _validated(out, validated, model, content, ranking)
        if place is not None:
            model.save(place, columns={"score": rows.score, "group": rows.groups})
    out.document({"columns": rows.columns(), **_head(content, method, wish), **summary, "output": output})
    _print_fit(out, content, wish, summary)
    _print_curve(out, method, model, summary["fitted"]["after"])
    print_quantisation(out, counted.quantisation)
    _print_output(out, output, rows)


_WISHES = ("lam", "max_gap", "max_auc_loss", "smallest_gap", "t", "theta", "slope")


@contextmanager
def _target(output: str | None, force: bool, inputs: Sequence[RowOptions]) -> Iterator[Path | None]:
    """Check the output before the work begins, and put it into place when all is done."""
    if output is None:
        yield None
        return
    with complete_file(output, force=force, inputs=[file for rows in inputs for file in rows.files()]) as place:
        yield place


def _summary(model: Any, content: ModelFile, counted: CountedRows, ranking: dict[str, Any]) -> dict[str, Any]:
    maps = maps_on(counted.table, model.maps_, content.apply)
    return {
        "fitted": effect(counted.table, maps, **_seen_from(content, ranking)),
        "quantisation": quantisation_document(counted.quantisation),
    }


def _validated(
    out: Output, rows: RowOptions, model: Any, content: ModelFile, ranking: dict[str, Any]
) -> dict[str, Any]:
    counted = rows.counted(out, "counting held-out rows")
    table = with_groups_of(counted.table, model.groups_, "the held-out file")
    options = _seen_from(content, ranking)
    if options["reference"] not in table.groups:
        options["reference"] = None
    return effect(table, maps_on(table, model.maps_, content.apply), **options)


def _seen_from(content: ModelFile, ranking: dict[str, Any]) -> dict[str, Any]:
    """Look at the gap from the group that stays as it is."""
    return ranking | {"reference": content.reference if content.reference is not None else ranking["reference"]}


def _head(content: ModelFile, method: str, wish: Wish) -> dict[str, Any]:
    name, value = content.dial
    dial = value if not isinstance(value, dict) else [{"group": g, "value": v} for g, v in value.items()]
    return {
        "method": method,
        "dial": {"name": name, "value": dial},
        "rule": {"name": wish.name, "value": wish.value} if wish.is_rule else None,
        "reference": content.reference,
    }


def _print_fit(out: Output, content: ModelFile, wish: Wish, summary: dict[str, Any]) -> None:
    before = summary["fitted"]["before"]
    out.line(f"{content.method} fitted on {count(before['rows'])} rows", "bold")
    name, value = content.dial
    out.line(
        f"{name} = {_shown_dial(value)}" + (f", chosen: {_RULE[wish.name].format(wish.value)}" if wish.is_rule else "")
    )
    if content.reference is not None:
        out.line(f"group {shown(content.reference)} stays as it is")
    print_effect(out, summary["fitted"], "On the fitted rows")
    if summary["held_out"] is not None:
        rows = count(summary["held_out"]["before"]["rows"])
        print_effect(out, summary["held_out"], f"On {rows} held-out rows")
    for text in dict.fromkeys([*before["warnings"], *_held_out_warnings(summary)]):
        out.warning(text)


def _held_out_warnings(summary: dict[str, Any]) -> Sequence[str]:
    return [] if summary["held_out"] is None else [f"held out: {w}" for w in summary["held_out"]["before"]["warnings"]]


_RULE = {
    "max_gap": "the highest AUC with a gap of at most {:g}",
    "max_auc_loss": "the smallest gap for at most {:g} of AUC",
    "smallest_gap": "the smallest gap",
}


def _shown_dial(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{v:.6g} ({shown(g)})" for g, v in value.items())
    return f"{value:.6g}"


def _print_curve(out: Output, method: str, model: Any, after: dict[str, Any]) -> None:
    """Draw the trade-off for people at a terminal."""
    if not out.on_terminal or (method == "xorder" and _pairs(model) > _DRAWABLE):
        return
    curve = model.tradeoff()
    point = after["partial"] or after
    chosen = None if point["gap"] is None or point["auc"] is None else (point["gap"], point["auc"])
    out.heading("Trade-off on the fitted rows")
    for line in curve_picture(curve, chosen, width=out.plot_width):
        out.line(line)


def _pairs(model: Any) -> int:
    sizes = sorted(len(c.score) for c in model.table_.counts)
    return sizes[-1] * sum(sizes[:-1])


def _print_output(out: Output, output: str | None, rows: RowOptions) -> None:
    out.line()
    if output is None:
        out.line("Nothing was written; -o map.json saves the map.")
        return
    out.line(f"Written: {shown(output)}")
    out.line(shown(f"Next: fairpot apply {shlex.join([output, 'NEW_FILE'])} -o ADJUSTED_FILE"))
