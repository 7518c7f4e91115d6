"""Partial AUC and partial xAUC against alpha: the paper's figure, and partial AUC for every data set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from fairpot_paper.figures.footers import counted, footer_of
from fairpot_paper.figures.panels import Sheet, add_bars
from fairpot_paper.figures.rows import Places, Rows
from fairpot_paper.figures.styling import MODEL_LOOKS, Look, print_style
from fairpot_paper.sets import DATA_SETS

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
