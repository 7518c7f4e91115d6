"""A certified choice on real data: is the bound kept on new rows, and what AUC does that cost?

python benchmarks/certified.py [--splits 20] [--data synthetic bank compas] [--confidence 0.9]

Half of the rows train a model and fit the map on its out-of-fold scores, by the plain rule (the gap measured on the
fitted rows is within the bound) and by the certified one (cross-fitted). The other half tells the gap after the repair,
with an error of its own: beside how often it is measured above the bound stands how many of the splits would lie there
by their own normal error (the sum of the chances that the true gap is above), and how often the rows say so with a
level of 95 %. The real files are looked for in the folder that FAIRPOT_DATA names, else in ../shared/data beside the
repository.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr
from sklearn.model_selection import train_test_split

from fairpot import FairPOT, FairScoreClassifier, InfeasibleRuleError, ScoreTable, score_table
from fairpot.datasets import fetch_bank, fetch_compas, make_synthetic
from fairpot.inference import confidence_interval, verdict
from fairpot_paper.models import make_model

DATA_HOME = os.environ.get("FAIRPOT_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data"
DATA: dict[str, Callable[[int], Any]] = {
    "synthetic": lambda seed: make_synthetic(random_state=seed),
    "bank": lambda seed: fetch_bank(data_home=DATA_HOME, download_if_missing=False),
    "compas": lambda seed: fetch_compas(data_home=DATA_HOME, download_if_missing=False),
}
BOUNDS = (0.05, 0.10, 0.15)


class Outcome(NamedTuple):
    """What a repair does on the held-out rows."""

    gap: float
    se: float
    auc: float
    exceeds: bool


def split_tables(data: Any, seed: int) -> tuple[ScoreTable, ScoreTable]:
    """Count the out-of-fold scores of one half of the rows, and the model's scores of the other."""
    strata = [f"{g} {y}" for g, y in zip(data.group, data.target)]
    X, X_new, y, y_new, group, group_new = train_test_split(
        data.data, data.target, data.group, test_size=0.5, random_state=seed, stratify=strata
    )
    model = make_model("xgboost", random_state=seed, n_jobs=1)
    fair = FairScoreClassifier(model, FairPOT(lam=0.0), cv=5, random_state=seed).fit(X, y, sensitive_features=group)
    new = np.asarray(fair.estimator_.predict_proba(X_new)[:, 1], dtype=np.float64)
    return (
        score_table(y, fair.scores_, sensitive_features=group),
        score_table(y_new, new, sensitive_features=group_new),
    )


def outcome(method: FairPOT, fitted: ScoreTable, held_out: ScoreTable) -> Outcome | None:
    """Fit, and measure on the held-out rows; None if nothing can be chosen."""
    try:
        repaired = held_out.rescored(method.fit(fitted).maps_)
    except InfeasibleRuleError:
        return None
    gap, auc = confidence_interval("xauc_gap", repaired), confidence_interval("auc", repaired)
    said = verdict(repaired, bound=float(method.max_gap or 0.0))
    return Outcome(gap.value, gap.se, auc.value, said.answer == "exceeds")


def row(name: str, bound: float, rule: str, found: list[Outcome | None], beside: list[Outcome | None]) -> None:
    """Print how a rule did, and its AUC beside the plain rule's on the splits where both chose."""
    there = [each for each in found if each is not None]
    if not there:
        print(f"| {name} | {bound} | {rule} | 0 of {len(found)} | | | | | |", flush=True)
        return
    above = sum(each.gap > bound for each in there)
    chance = sum(ndtr((each.gap - bound) / each.se) + ndtr((-each.gap - bound) / each.se) for each in there)
    cost = [a.auc - b.auc for a, b in zip(found, beside) if a is not None and b is not None]
    cells = [f"{len(there)} of {len(found)}", above, f"{chance:.1f}", sum(each.exceeds for each in there)]
    means = [f"{np.mean([each.gap for each in there]):.3f}", f"{np.mean([each.auc for each in there]):.4f}"]
    print(
        f"| {name} | {bound} | {rule} | {' | '.join(map(str, [*cells, *means]))} | {np.mean(cost):+.4f} |", flush=True
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--data", nargs="+", choices=list(DATA), default=list(DATA))
    parser.add_argument("--confidence", type=float, default=0.9)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    titles = (
        "data",
        "bound",
        "rule",
        "chosen",
        "gap above",
        "expected above",
        "clearly above",
        "gap",
        "AUC",
        "beside plain",
    )
    print(f"| {' | '.join(titles)} |\n|{' --- |' * len(titles)}")
    for name in args.data:
        start, tables = time.perf_counter(), []
        for seed in range(args.splits):
            tables.append(split_tables(DATA[name](seed), seed))
            print(
                f"{name}: {seed + 1} of {args.splits}, {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True
            )
        for bound in BOUNDS:
            plain = [outcome(FairPOT(max_gap=bound), *pair) for pair in tables]
            sure = [outcome(FairPOT(max_gap=bound, confidence=args.confidence), *pair) for pair in tables]
            row(name, bound, "plain", plain, plain)
            row(name, bound, f"certified {args.confidence:g}", sure, plain)


if __name__ == "__main__":
    main()
