"""The plan: which models are trained and which runs are made from their scores; a list, made before anything runs."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from fairpot._arguments import argument
from fairpot_paper.data_sets import DATA_SETS
from fairpot_paper.models import MODEL_NAMES

SEEDS = 20
QUICK_SEEDS = 2
# Whose scores are repaired: the paper's base model, and the two of its appendix.
REPAIRED = ("xgboost", "gradient_boosting", "random_forest")
# Two classifiers with more distinct scores than their libraries' defaults give.
FINER = ("decision_tree_50", "knn_50")
PARTIAL = "stacked_in"
EDGE_ALPHA = 0.1
VARIANTS = ("xgboost", "network", "stacked_in", "stacked_out")
ALPHAS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
KINDS: dict[str, str] = {
    "tradeoff": "AUC against the xAUC gap: all methods, three base models, both directions",
    "partial": "the same in the top alpha, on a model trained for it",
    "classifiers": "AUC of nine base classifiers",
    "pauc": "partial AUC of the models (a), (b) and (c), at every alpha",
    "edge": "the top tenth with either rule below the lowest fitted score, on XGBoost's scores",
    "alpha": "models trained for each alpha (clinical data)",
    "runtime": "seconds of each method, and of a network simplex",
}


@dataclass(frozen=True)
class Training:
    """One model to train on one split; ``folds`` also gives its training rows out-of-fold scores."""

    data: str
    seed: int
    model: str
    alpha: float | None = None
    folds: bool = False

    @property
    def name(self) -> str:
        """The name of its file of scores."""
        alpha = "" if self.alpha is None else f"-{self.alpha:g}"
        return f"{self.data}-{self.seed:02d}-{self.model}{alpha}"


@dataclass(frozen=True)
class Run:
    """One run, which becomes one record. ``resamples`` of the test rows stand in for seeds where the split is fixed."""

    kind: str
    data: str
    seed: int
    model: str
    resamples: int = 0

    @property
    def file(self) -> str:
        """The name of the file of records it belongs to."""
        return f"{self.kind}-{self.data}"

    def as_dict(self) -> dict[str, Any]:
        """Return the run as a record names it."""
        return asdict(self)


def make_plan(seeds: int = SEEDS, only: Collection[str] = ()) -> list[Run]:
    """List the runs, those of each file of records in the order of seeds.

    Parameters
    ----------
    seeds : int, default 20
        Splits of each data set; resamples of the test rows where the split is fixed.
    only : names of kinds and of data sets, default ()
        Nothing else is run; no name of a kind means all of them, and so with data sets.

    Examples
    --------
    >>> [run.model for run in make_plan(2, ["tradeoff", "compas"])][:3]
    ['xgboost', 'gradient_boosting', 'random_forest']
    >>> len(make_plan(2, ["tradeoff", "compas"]))
    6
    """
    if isinstance(seeds, bool) or not isinstance(seeds, int) or seeds < 1:
        raise ValueError(f"{argument('seeds', seeds)} is no number of splits.\nHint: a whole number, 1 or more.")
    unknown = [name for name in only if name not in KINDS and name not in DATA_SETS]
    if unknown:
        raise ValueError(
            f"there is no part named {unknown[0]!r}.\n"
            f"Hint: the parts are {', '.join(KINDS)}; the data sets {', '.join(DATA_SETS)}."
        )
    kinds = [kind for kind in KINDS if kind in only] or list(KINDS)
    data = [name for name in DATA_SETS if name in only] or list(DATA_SETS)
    runs = [run for kind in kinds for name in data for run in _runs(kind, name, seeds)]
    if not runs:
        raise ValueError(
            f"{', '.join(kinds)} has no runs on {', '.join(data)}: alpha is for the clinical data, and the 20 draws of "
            "Synthetic are not timed.\nHint: another data set, or another part."
        )
    return runs


def _runs(kind: str, data: str, seeds: int) -> Iterator[Run]:
    fixed = DATA_SETS[data].fixed
    if kind == "alpha":
        if fixed:
            yield Run(kind, data, 0, PARTIAL, seeds)
        return
    if kind == "runtime":
        if data != "draws":
            yield Run(kind, data, 0, "xgboost", seeds)
        return
    for seed in range(1 if fixed else seeds):
        for model in _models(kind):
            yield Run(kind, data, seed, model, seeds if fixed else 0)


def _models(kind: str) -> tuple[str, ...]:
    return {
        "tradeoff": REPAIRED,
        "partial": (PARTIAL,),
        "edge": ("xgboost",),
        "classifiers": (*MODEL_NAMES, *FINER),
        "pauc": VARIANTS,
    }[kind]


def trainings_of(run: Run) -> list[Training]:
    """List the models whose scores a run needs, the one it is about first."""
    alpha = DATA_SETS[run.data].alpha
    own = Training(run.data, run.seed, run.model, _alpha_of(run.model, alpha), run.model in (*REPAIRED, PARTIAL))
    if run.kind == "partial":
        return [own, Training(run.data, run.seed, "xgboost", None, True)]
    if run.kind == "alpha":
        each = [Training(run.data, run.seed, PARTIAL, a, a == alpha) for a in ALPHAS]
        return [own, Training(run.data, run.seed, "xgboost", None, True), *(t for t in each if t != own)]
    return [own]


def all_trainings(runs: Collection[Run]) -> list[Training]:
    """List every model that runs need, once, in the order they need them."""
    return list(dict.fromkeys(training for run in runs for training in trainings_of(run)))


def _alpha_of(model: str, alpha: float) -> float | None:
    return alpha if model in ("network", "stacked_in", "stacked_out") else None


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
