"""Roughly how long each model and run takes, for the estimate of the time left: seconds on one core of 2025."""

from __future__ import annotations

from fairpot_paper.plan import Run, Training

# How much longer than on Synthetic; measured once, rounded.
_SIZE = {"synthetic": 1.0, "draws": 1.0, "compas": 2.0, "bank": 8.0, "clinical": 15.0}
_MODELS = {"random_forest": 2.5, "gradient_boosting": 2.0, "xgboost": 0.4, "stacked_in": 10.0, "stacked_out": 4.0}
_RUNS = {"tradeoff": 0.7, "partial": 0.5, "edge": 0.3, "classifiers": 0.05, "pauc": 0.05, "alpha": 0.5, "runtime": 20.0}
_OTHER = 0.5


def cost_of(task: Training | Run) -> float:
    """Return the expected seconds of a task; only their proportions matter.

    Examples
    --------
    >>> cost_of(Training("bank", 0, "xgboost")) > cost_of(Training("compas", 0, "xgboost"))
    True
    """
    if isinstance(task, Training):
        return _SIZE[task.data] * _MODELS.get(task.model, _OTHER)
    return _SIZE[task.data] * _RUNS[task.kind]
