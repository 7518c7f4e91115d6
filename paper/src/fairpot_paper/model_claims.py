"""Claims about the models that are repaired, and about seconds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fairpot_paper import published as paper
from fairpot_paper.data_sets import DATA_SETS
from fairpot_paper.models import MODEL_NAMES
from fairpot_paper.plan import ALPHAS
from fairpot_paper.tables import Array, classifier_aucs, mean_of, pauc_values
from fairpot_paper.verdicts import (
    FAILS,
    HOLDS,
    OPEN,
    Difference,
    Evidence,
    Judge,
    Judged,
    all_of,
    is_above,
    mean_difference,
    number,
    paired,
)

_LETTERS = {"xgboost": "(a)", "network": "(b)", "stacked_in": "(c)"}


def best_classifier(evidence: Evidence, data: str, ties: str, source: str) -> Judged | None:
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
    own = number(float(mean_of(ours[marked])))
    return _ahead_of_all(others, f"{name(marked)} {own}", name)


def _ahead_of_all(others: dict[str, Difference], text: str, name: Callable[[str], str]) -> Judged:
    verdict = all_of([is_above(each, len(others)) for each in others.values()])
    rival = min(others, key=lambda model: others[model].mean)
    behind = sum(each.below for each in others.values())
    ahead = sum(each.above for each in others.values())
    tally = f"higher than {ahead} of {len(others)}, lower than {behind}"
    return Judged(verdict, f"{text}; {tally}; against {name(rival)} {others[rival]}")


def boosting_is_best(evidence: Evidence, data: str, ties: str, source: str) -> Judged | None:
    """Compare the mean over the paper's four data sets, whose errors are independent."""
    found = classifier_aucs(evidence.records)
    sets = list(paper.CLASSIFIERS)
    if any((each, model) not in found for each in sets for model in MODEL_NAMES):
        return None
    others = {}
    for model in MODEL_NAMES:
        if model != "xgboost":
            others[model] = mean_difference([paired(found[s, "xgboost"], found[s, model], s) for s in sets])
    means = {model: float(np.mean([mean_of(found[each, model]) for each in sets])) for model in MODEL_NAMES}
    ranked = sorted(means, key=lambda model: -means[model])
    text = f"XGBoost {number(means['xgboost'])}, first {ranked[0]} {number(means[ranked[0]])}"
    return _ahead_of_all(others, text, lambda model: model)


def partial_models(evidence: Evidence, data: str, ties: str, source: str) -> Judged | None:
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


def stacking_helps(evidence: Evidence, data: str, ties: str, source: str) -> Judged | None:
    """Compare (c) with (a)."""
    place = ALPHAS.index(DATA_SETS[data].alpha)
    names = ("xgboost", "stacked_out" if source == "crossfit" else "stacked_in")
    before, after = (pauc_values(evidence.records, data, name, "pooled", ties) for name in names)
    if not len(before) or not len(after):
        return None
    more = paired(after[:, place], before[:, place], data)
    return Judged(is_above(more), f"pAUC {more}")


def trend_over_alpha(figure: str, trained: str) -> Judge:
    """Compare a figure at alpha = 1 with that at 0.1: of the boosted trees, and of networks trained for the top."""

    def judge(evidence: Evidence, data: str, ties: str, source: str) -> Judged | None:
        tests = [
            test
            for record in evidence.records
            if record["status"] == "ok" and record["run"]["kind"] == "alpha" and record["run"]["data"] == data
            for test in record["results"]["tests"]
        ]
        if not tests or source == "crossfit":
            return None
        changes = {}
        for model in ("xgboost", trained):
            first, last = (_values(tests, model, ALPHAS.index(alpha), ties, figure) for alpha in (0.1, 1.0))
            changes[model] = paired(last, first, data)
        rises, falls = changes["xgboost"], changes[trained]
        verdicts = [is_above(rises, 2), is_above(falls._replace(mean=-falls.mean), 2)]
        return Judged(all_of(verdicts), f"XGBoost {rises}, trained for it {falls}")

    return judge


def _values(tests: list[Any], model: str, place: int, ties: str, figure: str) -> Array:
    each = [test[model]["pooled"][place][ties] for test in tests]
    if figure == "auc":
        return np.array([at["auc"] for at in each], dtype=np.float64)
    both = np.array([[at["xauc_ab"], at["xauc_ba"]] for at in each], dtype=np.float64)  # None becomes NaN
    return np.asarray(both.mean(axis=1))


def _seconds(evidence: Evidence, data: str) -> dict[str, Array]:
    """Return the CPU seconds of every timed run, by method; nothing of a method that was not run."""
    for record in evidence.records:
        run = record["run"]
        if record["status"] == "ok" and run["kind"] == "runtime" and run["data"] == data:
            times = record["results"]["times"]
            found = {name: np.array([each["cpu"] for each in times[name]], dtype=np.float64) for name in times}
            return {name: values[np.isfinite(values)] for name, values in found.items() if np.isfinite(values).any()}
    return {}


def below(one: Array, other: Array) -> str:
    """Judge that one takes less time: every run of it, and more than one run of each against one.

    Examples
    --------
    >>> below(np.array([1.0, 1.2]), np.array([3.0])), below(np.array([1.0]), np.array([3.0]))
    ('holds', 'cannot tell')
    """
    if len(one) + len(other) < 3:
        return OPEN
    return HOLDS if one.max() < other.min() else FAILS if other.max() < one.min() else OPEN


def _shown(method: str, values: Array) -> str:
    once = " (one run)" if len(values) == 1 else ""
    return f"{_NAMES[method]} {float(mean_of(values)):.3g} s{once}"


_NAMES = {
    "fairpot": "FairPOT",
    "emd_converged": "cost matrix",
    "emd_default": "cost matrix",
    "post_logit": "Post-logit",
    "wasserstein": "Wasserstein",
    "xorder": "xOrder",
}


def faster(method: str) -> Judge:
    """Compare a way to FairPOT with xOrder."""

    def judge(evidence: Evidence, data: str, ties: str, source: str) -> Judged | None:
        seconds = _seconds(evidence, data)
        if not {"xorder", method} <= set(seconds):
            return None
        ours, theirs = seconds[method], seconds["xorder"]
        text = f"{_shown('xorder', theirs)}, {_shown(method, ours)}"
        if ours.any():
            text += f": ratio {float(mean_of(theirs)) / float(mean_of(ours)):.3g}"
        return Judged(below(ours, theirs), text)

    return judge


def slower(method: str, *others: str) -> Judge:
    """Compare a way to FairPOT with the two methods without a dial, or with one of them."""
    rivals = others or ("post_logit", "wasserstein")

    def judge(evidence: Evidence, data: str, ties: str, source: str) -> Judged | None:
        seconds = _seconds(evidence, data)
        if not {*rivals, method} <= set(seconds):
            return None
        verdicts = [below(seconds[each], seconds[method]) for each in rivals]
        return Judged(all_of(verdicts), ", ".join(_shown(each, seconds[each]) for each in (*rivals, method)))

    return judge
