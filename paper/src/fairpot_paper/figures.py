"""The paper's figures, from tidy columns: each as SVG, as PNG, and as the rows it was drawn from."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairpot._optional import import_optional
from fairpot_paper.data_sets import DATA_SETS
from fairpot_paper.plan import PARTIAL, REPAIRED
from fairpot_paper.sheets import (
    ALPHA_KEYS,
    CURVE_KEYS,
    LOOKS,
    MODEL_LOOKS,
    Columns,
    Layer,
    Look,
    Places,
    Rows,
    Sheet,
    add_bars,
    draw_layer,
    eleven,
    full,
    print_style,
    span_of,
)

Folder = str | PathLike[str]
SOURCES = ("in_sample", "crossfit")
TIES = ("strict", "half")
# A panel is made for these, and shows what is not further from them than so many times their own range.
_CORE = ("fairpot", "fairpot_switched", "unadjusted", "xgboost")
_FAR = 2.0
_MOST_NAMED = 4
MODEL_TITLES = {"xgboost": "XGBoost", "gradient_boosting": "Gradient boosting", "random_forest": "Random forest"}
REGION_TITLES = {"pooled": "top α of all rows", "group": "top α of each group"}


def _layer(method: str, label: str, **options: Any) -> Layer:
    return Layer(method, label, LOOKS[method], **options)


_BOUNDARY = _layer("fairpot_boundary", "FairPOT, the paper's boundary rule", line=True, marks=True)
_FAIRPOT = _layer("fairpot", "FairPOT", pick=eleven, marks=True)
_XORDER = _layer("xorder", "xOrder", line=True, marks=True)
_POST_LOGIT = _layer("post_logit", "Post-logit", marks=True)
_BARYCENTRE = _layer("wasserstein", "Wasserstein barycentre", pick=full, marks=True)
_UNADJUSTED = _layer("unadjusted", "Unadjusted", marks=True)
_NETWORK = (
    _layer("unadjusted", "Network, unadjusted", marks=True),
    _layer("xgboost", "XGBoost, unadjusted", marks=True),
)
_DIAL = "Wasserstein geodesic (mark: barycentre)"
_LINES = (
    _layer("limit", "Limit on the test rows", line=True, framed=False, x="dial"),
    _layer("optimal_merge", "OptimalMerge", line=True, framed=False),
    _layer("wasserstein", _DIAL, line=True),
    _layer("fairpot", "FairPOT", line=True),
)
_MARKS = (_FAIRPOT, _XORDER, _POST_LOGIT)
_END = _layer("wasserstein", _DIAL, pick=full, marks=True)
GLOBAL = (*_LINES, _BOUNDARY, *_MARKS, _END, _UNADJUSTED)
GLOBAL_BARS = (*_LINES, *_MARKS, _END, _UNADJUSTED)
TOP = (*_LINES, _BOUNDARY, *_MARKS, _END, *_NETWORK)
DIRECTION = (
    _layer("fairpot", "FairPOT, the disadvantaged group moved", pick=eleven, line=True, marks=True),
    _layer("fairpot_switched", "FairPOT, the other group moved", pick=eleven, line=True, marks=True),
    _UNADJUSTED,
)
FRONTIER = (
    _layer("fairpot", "FairPOT", pick=eleven, line=True, marks=True, best=True),
    replace(_XORDER, best=True),
    _layer("optimal_merge", "OptimalMerge", line=True, framed=False, best=True),
    _layer("wasserstein", "Wasserstein geodesic", line=True, best=True),
    *(_POST_LOGIT, _BARYCENTRE, _UNADJUSTED),
)


def draw_all(curves: Columns, alphas: Columns, folder: Folder, ties: Sequence[str] = TIES) -> list[Path]:
    """Draw every figure for which there are rows.

    Parameters
    ----------
    curves : dict of name to list
        What :func:`fairpot_paper.tables.curve_columns` returns.
    alphas : dict of name to list
        data, model, region, ties, alpha, n, and means and standard deviations (``_sd``) of auc, xauc_ab and xauc_ba.
    folder : path
    ties : names of ways to count ties, default ("strict", "half")

    Returns
    -------
    list of Path
        The files written: SVG, PNG and CSV of each figure.
    """
    rows, place = Rows(curves, CURVE_KEYS), Path(folder)
    written: list[Path] = []
    for each in ties:
        for name, sheet in curve_sheets(rows, each):
            written += sheet.save(place, name)
        frontier = pareto_sheet(rows, each)
        if frontier is not None:
            # In the columns a point is on the frontier among all values of a dial, here among the paper's.
            best = [True] * len(curves["pareto"])
            written += frontier.save(place, f"pareto-{each}", pareto=best)
        for name, sheet in alpha_sheets(Rows(alphas, ALPHA_KEYS), each):
            written += sheet.save(place, name)
    return written


def curve_sheets(rows: Rows, ties: str) -> list[tuple[str, Sheet]]:
    """Draw the trade-offs of all models, of both regions, and of both directions, without and with bars."""
    made = []
    for ending, bars in (("", False), ("-sd", True)):
        for model in REPAIRED:
            made.append((f"tradeoff-{model}-{ties}{ending}", tradeoff_sheet(rows, model, ties, bars)))
        for region in REGION_TITLES:
            made.append((f"partial-{region}-{ties}{ending}", partial_sheet(rows, region, ties, bars)))
        made.append((f"direction-{ties}{ending}", direction_sheet(rows, ties, bars)))
    return [(name, sheet) for name, sheet in made if sheet is not None]


def tradeoff_sheet(rows: Rows, model: str, ties: str, bars: bool = False) -> Sheet | None:
    """Draw AUC against the xAUC gap for the scores of one model; None without rows."""
    title = f"AUC and xAUC gap, {MODEL_TITLES[model]}"
    return _sheet(rows, (model, ""), ties, GLOBAL_BARS if bars else GLOBAL, title, bars)


def partial_sheet(rows: Rows, region: str, ties: str, bars: bool = False) -> Sheet | None:
    """Draw partial AUC against the partial xAUC gap in one region; None without rows."""
    title = f"Partial AUC and pxAUC gap, {REGION_TITLES[region]}"
    return _sheet(rows, (PARTIAL, region), ties, TOP, title, bars)


def direction_sheet(rows: Rows, ties: str, bars: bool = False) -> Sheet | None:
    """Draw FairPOT with the one group moved and with the other; None without rows."""
    return _sheet(rows, ("xgboost", ""), ties, DIRECTION, "Which group is moved, XGBoost", bars)


def pareto_sheet(rows: Rows, ties: str) -> Sheet | None:
    """Draw, of each method's points in the paper, those that none of its others beats; None without rows."""
    return _sheet(rows, ("xgboost", ""), ties, FRONTIER, "Pareto frontier of each method, XGBoost", False)


def _sheet(
    rows: Rows, where: tuple[str, str], ties: str, layers: Sequence[Layer], title: str, bars: bool
) -> Sheet | None:
    """Draw one column of panels for each data set that has points, one row for each source of maps."""
    found = {
        (name, source): [(layer, layer.places(rows, (name, *where), source, ties)) for layer in layers]
        for name in DATA_SETS
        for source in SOURCES
    }
    framed = {key: _framed(rows, drawn) for key, drawn in found.items()}
    shown = {name: np.unique(np.concatenate([framed[name, source] for source in SOURCES])) for name in DATA_SETS}
    shown = {name: places for name, places in shown.items() if len(places)}
    if not shown:
        return None
    with print_style():
        sheet = Sheet.of(rows, len(SOURCES), len(shown), title)
        for column, (name, both) in enumerate(shown.items()):
            for row, source in enumerate(SOURCES):
                ax, own = sheet.axes[row, column], framed[name, source]
                # AUC has one scale in both panels of a data set; the gaps may differ many times over.
                ax.set_ylim(span_of(rows, both, "auc", bars))
                ax.set_xlim(span_of(rows, own if len(own) else both, "gap", bars))
                _draw_panel(sheet, ax, found[name, source], bars)
                _label(ax, name, where[1], source, first=column == 0, top=row == 0)
        return sheet.finish(footer_of(counted(rows, shown), ties, bars, MAPS))


def _framed(rows: Rows, drawn: Sequence[tuple[Layer, Places]]) -> Places:
    """Return the places of the points that a panel is made for: all but those far from FairPOT and the unadjusted."""
    every = np.concatenate([places for layer, places in drawn if layer.framed])
    core = np.concatenate([places for layer, places in drawn if layer.method in _CORE])
    if not len(core):
        return every
    near = np.ones(len(every), dtype=bool)
    for name in ("gap", "auc"):
        values, own = rows.values(name, every), rows.values(name, core)
        room = _FAR * (float(np.ptp(own)) or float(np.ptp(values)))
        near &= (values >= own.min() - room) & (values <= own.max() + room)
    return every[near]


def _draw_panel(sheet: Sheet, ax: Any, drawn: Sequence[tuple[Layer, Places]], bars: bool) -> None:
    for layer, places in drawn:
        if layer.method == "limit":
            _say_where(ax, sheet.rows.values("auc", places))
        draw_layer(sheet, ax, layer, places, bars)
    _name_outside(sheet.rows, ax, drawn)


def _name_outside(rows: Rows, ax: Any, drawn: Sequence[tuple[Layer, Places]]) -> None:
    """Give the figures of marked points that are too far out to be in the panel."""
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    lines = []
    for layer, places in drawn:
        if layer.framed and layer.marks:
            gap, auc = rows.values("gap", places), rows.values("auc", places)
            for k in np.flatnonzero((gap < left) | (gap > right) | (auc < low) | (auc > high)):
                lines.append(f"{layer.label.split(' (')[0]}: {gap[k]:.2f}, {auc[k]:.3f}")
    if lines:
        lines = list(dict.fromkeys(lines))
        shown = [*lines[:_MOST_NAMED], *(["..."] if len(lines) > _MOST_NAMED else [])]
        text = "\n".join(["outside (gap, AUC):", *shown])
        ax.set_ylim(low - (0.065 * (len(shown) + 1) + 0.03) * (high - low), high)  # room for it below the points
        ax.text(0.97, 0.03, text, transform=ax.transAxes, ha="right", va="bottom", fontsize=7.5)


def _say_where(ax: Any, limit: NDArray[np.float64]) -> None:
    """Say how high the limit is where all of it is above the panel, and make room for that."""
    low, high = ax.get_ylim()
    if len(limit) and limit.min() > high:
        ax.set_ylim(low, high + 0.1 * (high - low))
        least = math.floor(float(limit.min()) * 1000 + 1e-9) / 1000  # rounded down: "at least" stays true
        ax.text(0.97, 0.97, f"↑ limit ≥ {least:.3f}", transform=ax.transAxes, ha="right", va="top", fontsize=8.5)


def _label(ax: Any, name: str, region: str, source: str, *, first: bool, top: bool) -> None:
    ticker = import_optional("matplotlib.ticker", "plot")
    ax.xaxis.set_major_locator(ticker.MaxNLocator(4, steps=[1, 2, 5, 10]))
    ax.yaxis.set_major_locator(ticker.MaxNLocator(5, steps=[1, 2, 5, 10]))
    measure, gap = ("pAUC", "pxAUC gap") if region else ("AUC", "xAUC gap")
    if top:
        which = DATA_SETS[name]
        ax.set_title(f"{which.title}\nα = {which.alpha:g}" if region else which.title)
    else:
        ax.set_xlabel(gap)
    if first:
        ax.set_ylabel(f"Maps from {'in-sample' if source == 'in_sample' else 'cross-fitted'} scores\n{measure}")


REGION = "pooled"
_SOURCE = "Region: top α of all rows."
CLINICAL = {"xgboost": "XGBoost", "one": "Trained for α = 0.1", "retrained": "Trained for each α"}
VARIANTS = {
    "xgboost": "XGBoost",
    "network": "Network",
    "stacked_in": "Network on in-sample scores of XGBoost",
    "stacked_out": "Network on out-of-fold scores of XGBoost",
}


def alpha_sheets(rows: Rows, ties: str) -> list[tuple[str, Sheet]]:
    """Draw both figures, as far as there are rows."""
    made = [(f"alpha-clinical-{ties}", clinical_sheet(rows, ties)), (f"alpha-all-{ties}", variants_sheet(rows, ties))]
    return [(name, sheet) for name, sheet in made if sheet is not None]


def clinical_sheet(rows: Rows, ties: str) -> Sheet | None:
    """Draw pAUC and both pxAUCs of the clinical data, models trained once and for each alpha; None without rows."""
    found = _found(rows, "clinical", CLINICAL, ties)
    if not {"one", "retrained"} & set(found):
        return None
    which = DATA_SETS["clinical"]
    with print_style():
        sheet = Sheet.of(rows, 1, 2, f"pAUC and pxAUC against α, {which.title}", 3.2)
        left, right = sheet.axes[0]
        for model, places in found.items():
            look = _look(CLINICAL, model)
            _draw(sheet, left, places, "auc", look, CLINICAL[model])
            _draw(sheet, right, places, "xauc_ab", look, CLINICAL[model])
            _draw(sheet, right, places, "xauc_ba", replace(look, filled=False), "")
        # Both directions share a model's colour, line and marker.
        mark = Look("0.35", "", 0.0, "o")
        sheet.explain(f"positive {which.reference} above negative {which.moved}", **mark.mark_options())
        mark = replace(mark, filled=False)
        sheet.explain(f"positive {which.moved} above negative {which.reference}", **mark.mark_options())
        left.set(xlabel="α", ylabel="pAUC", title="pAUC")
        right.set(xlabel="α", ylabel="pxAUC", title="pxAUC")
        return sheet.finish(footer_of(_counts(rows, {"clinical": found}), ties, True, _SOURCE))


def variants_sheet(rows: Rows, ties: str) -> Sheet | None:
    """Draw pAUC against alpha for four ways of training, one panel a data set; None without rows."""
    by_data = {name: _found(rows, name, VARIANTS, ties) for name in DATA_SETS}
    by_data = {name: found for name, found in by_data.items() if found}
    if not by_data:
        return None
    with print_style():
        sheet = Sheet.of(rows, 1, len(by_data), "pAUC against α", 2.7)
        for ax, (name, found) in zip(sheet.axes[0], by_data.items()):
            for model, places in found.items():
                _draw(sheet, ax, places, "auc", _look(VARIANTS, model), VARIANTS[model])
            ax.set(xlabel="α", title=DATA_SETS[name].title, xlim=(0, 1.05))
        sheet.axes[0, 0].set_ylabel("pAUC")
        return sheet.finish(footer_of(_counts(rows, by_data), ties, True, _SOURCE))


def _found(rows: Rows, data: str, models: Mapping[str, str], ties: str) -> dict[str, Places]:
    """Return each model's rows from the smallest alpha up, one for each alpha."""
    found = {}
    for model in models:
        places = rows.known(rows.at(data, model, REGION, ties), "alpha", "auc")
        _, first = np.unique(rows.values("alpha", places), return_index=True)
        if len(first):
            found[model] = places[first]
    return found


def _counts(rows: Rows, shown: Mapping[str, Mapping[str, Places]]) -> dict[str, tuple[int, int]]:
    return counted(rows, {name: np.concatenate(list(found.values())) for name, found in shown.items()})


def _look(models: Mapping[str, str], model: str) -> Look:
    return MODEL_LOOKS[list(models).index(model)]


def _draw(sheet: Sheet, ax: Any, places: Places, name: str, look: Look, label: str) -> None:
    places = sheet.rows.known(places, name)
    options = look.line_options() | look.mark_options()
    ax.plot(sheet.rows.values("alpha", places), sheet.rows.values(name, places), **options, zorder=3)
    sheet.note(places, label, **options)
    add_bars(ax, sheet.rows, places, "alpha", name, look.colour)


MAPS = (
    "Upper row: maps fitted on the model's scores of its own training rows (in-sample), as in the paper; "
    "lower row: on out-of-fold scores of them (cross-fitted)."
)
_TIES = {"strict": "Ties: strict (a tied pair counts 0).", "half": "Ties: half (a tied pair counts 1/2)."}


def counted(rows: Rows, shown: Mapping[str, Places]) -> dict[str, tuple[int, int]]:
    """Return, for each data set, the least and the greatest number of repetitions behind its points."""
    found = {}
    for name, places in shown.items():
        n = rows.values("n", places)
        found[name] = (int(n.min()), int(n.max()))
    return found


def footer_of(counts: Mapping[str, tuple[int, int]], ties: str, bars: bool, source: str) -> str:
    """Write the footer.

    Examples
    --------
    >>> footer_of({"bank": (20, 20), "compas": (19, 20)}, "half", False, "Maps: in-sample.")
    'Means over 20 seeds (Bank), 19 to 20 seeds (COMPAS). Ties: half (a tied pair counts 1/2). Maps: in-sample.'
    """
    named: dict[str, list[str]] = {}
    for name, (least, most) in counts.items():
        unit = "resample of the test rows" if DATA_SETS[name].fixed else "seed"
        number = f"{most}" if least == most else f"{least} to {most}"
        plural = unit if most == 1 else unit.replace("seed", "seeds").replace("resample", "resamples")
        named.setdefault(f"{number} {plural}", []).append(DATA_SETS[name].title)
    parts = [text if len(named) == 1 else f"{text} ({'; '.join(titles)})" for text, titles in named.items()]
    shown = " Bars: one standard deviation." if bars and any(most > 1 for _, most in counts.values()) else ""
    return " ".join(part for part in (f"Means over {', '.join(parts)}.{shown}", _TIES[ties], source) if part)
