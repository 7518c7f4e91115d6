"""What the figures of the page show, in the order of the paper."""

from __future__ import annotations

from pathlib import Path

_ROWS = "Upper row: maps fitted on in-sample scores, the paper's protocol; lower row: on cross-fitted scores."
_NETWORK = "The limit is that of the network's order: XGBoost, another order, may lie above it."
CAPTIONS = {
    "tradeoff-xgboost": f"AUC against the xAUC gap, XGBoost: means over seeds. {_ROWS}",
    "tradeoff-xgboost-sd": "The same with standard deviations.",
    "partial-pooled": f"Partial AUC against the partial gap, the top of all rows. {_ROWS} {_NETWORK}",
    "partial-pooled-sd": "The same with standard deviations.",
    "partial-group": f"Partial AUC against the partial gap, the top of each group. {_ROWS} {_NETWORK}",
    "partial-group-sd": "The same with standard deviations.",
    "tradeoff-gradient_boosting": f"AUC against the xAUC gap, gradient boosting. {_ROWS}",
    "tradeoff-gradient_boosting-sd": "The same with standard deviations.",
    "tradeoff-random_forest": f"AUC against the xAUC gap, random forest. {_ROWS}",
    "tradeoff-random_forest-sd": "The same with standard deviations.",
    "alpha-clinical": "pAUC and both pxAUCs against alpha, clinical data: XGBoost, and networks trained for the top.",
    "alpha-all": "pAUC against alpha on all data, models (a), (b) and (c).",
    "direction": f"FairPOT moving either group, XGBoost. {_ROWS}",
    "direction-sd": "The same with standard deviations.",
    "pareto": f"The points of each method that none of its own beats, XGBoost. {_ROWS}",
}
TIES = "strict"


def figure_name(caption: str, ties: str = TIES) -> str:
    """Return the name of a figure's files.

    Examples
    --------
    >>> figure_name("direction-sd")
    'direction-strict-sd'
    """
    stem, deviations = caption.removesuffix("-sd"), caption.endswith("-sd")
    return f"{stem}-{ties}{'-sd' if deviations else ''}"


def figures_of(files: list[str]) -> str:
    """Write the figures that there are, each under its caption."""
    known = {Path(name).stem: name for name in files if name.endswith(".svg")}
    shown = [(text, known[figure_name(key)]) for key, text in CAPTIONS.items() if figure_name(key) in known]
    return "\n\n".join(f"{text}\n\n![{Path(name).stem}]({name})" for text, name in shown)
