"""Claims about base classifiers and about the models trained for partial AUC."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fairpot.experiments import paper
from fairpot.experiments.collect import Array, mean_of
from fairpot.experiments.frontier import Judged
from fairpot.experiments.plan import ALPHAS
from fairpot.experiments.sets import DATA_SETS
from fairpot.experiments.tables import classifier_aucs, pauc_values
from fairpot.experiments.verdicts import FAILS, HOLDS, OPEN, all_of, is_above, paired
from fairpot.models import MODEL_NAMES

_LETTERS = {"xgboost": "(a)", "network": "(b)", "stacked_in": "(c)"}


def best_classifier(evidence: Any, data: str, ties: str, source: str) -> Judged | None:
    """Compare the classifier with the paper's highest AUC with each of the other eight."""
    found = classifier_aucs(evidence.records)
    ours = {model: found[data, model] for model in MODEL_NAMES if (data, model) in found}
    published = paper.CLASSIFIERS[paper.paper_name(data)]
    marked = max(published, key=lambda model: published[model][0])
    if set(ours) != set(MODEL_NAMES):
        return None
    return _marked_is_best(ours, marked, data, lambda model: model)


def _marked_is_best(ours: dict[str, Array], marked: str, data: str, name: Callable[[str], str]) -> Judged:
    others = {model: paired(ours[marked], values, data) for model, values in ours.items() if model != marked}
    rival = min(others, key=lambda model: others[model].mean)
    verdict = all_of([is_above(each) for each in others.values()])
    own = float(mean_of(ours[marked]))
    return Judged(verdict, f"{name(marked)} {own:.4f}; against {name(rival)} {others[rival]}")


def boosting_is_best(evidence: Any, data: str, ties: str, source: str) -> Judged | None:
    """Compare the mean over the paper's four data sets."""
    found = classifier_aucs(evidence.records)
    sets = list(paper.CLASSIFIERS)
    if any((each, model) not in found for each in sets for model in MODEL_NAMES):
        return None
    means = {model: float(np.mean([mean_of(found[each, model]) for each in sets])) for model in MODEL_NAMES}
    first, second = sorted(means, key=lambda model: -means[model])[:2]
    text = f"first {first} {means[first]:.4f}, second {second} {means[second]:.4f}; XGBoost {means['xgboost']:.4f}"
    return Judged(HOLDS if first == "xgboost" else FAILS, text)


def partial_models(evidence: Any, data: str, ties: str, source: str) -> Judged | None:
    """Compare the model with the paper's highest partial AUC with the other two."""
    place = ALPHAS.index(DATA_SETS[data].alpha)
    published = paper.PAUC[paper.paper_name(data)]
    marked = max(published, key=lambda model: published[model])
    names = {model: model for model in published}
    if source == "crossfit":  # (c) trained on out-of-fold scores
        names["stacked_in"] = "stacked_out"
    values = {m: pauc_values(evidence.records, data, name, "pooled", ties) for m, name in names.items()}
    if any(not len(each) for each in values.values()):
        return None
    return _marked_is_best({m: each[:, place] for m, each in values.items()}, marked, data, _LETTERS.__getitem__)


def trend_over_alpha(figure: str) -> Callable[[Any, str, str, str], Judged | None]:
    """Compare a figure at alpha = 1 with that at 0.1: of the boosted trees, and of the networks trained for each."""

    def judge(evidence: Any, data: str, ties: str, source: str) -> Judged | None:
        tests = [
            test
            for record in evidence.records
            if record["status"] == "ok" and record["run"]["kind"] == "alpha" and record["run"]["data"] == data
            for test in record["results"]["tests"]
        ]
        if not tests or source == "crossfit":
            return None
        changes = {}
        for model in ("xgboost", "retrained"):
            first, last = (_values(tests, model, ALPHAS.index(alpha), ties, figure) for alpha in (0.1, 1.0))
            changes[model] = paired(last, first, data)
        rises, falls = changes["xgboost"], changes["retrained"]
        verdicts = [is_above(rises), HOLDS if falls.below else FAILS if falls.above else OPEN]
        return Judged(all_of(verdicts), f"XGBoost {rises}, trained for it {falls}")

    return judge


def _values(tests: list[Any], model: str, place: int, ties: str, figure: str) -> Array:
    each = [test[model]["pooled"][place][ties] for test in tests]
    if figure == "auc":
        return np.array([at["auc"] for at in each], dtype=np.float64)
    return np.array([(at["xauc_ab"] + at["xauc_ba"]) / 2 for at in each], dtype=np.float64)
