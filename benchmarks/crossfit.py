"""In-sample against out-of-fold score maps: xAUC gap and AUC on held-out data.

python benchmarks/crossfit.py [--splits 20] [--data synthetic bank compas]

The real files are looked for in the folder that FAIRPOT_DATA names, else in ../shared/data beside the repository.
A split costs six fits of XGBoost: one on all training rows, one for each of five folds. Every map of that split is
fitted on the scores these give, so the two ways differ in the map and in nothing else.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from fairpot import FairPOT, FairScoreClassifier
from fairpot.datasets import fetch_bank, fetch_compas, make_synthetic
from fairpot.metrics import auc, xauc, xauc_gap
from fairpot_paper.models import make_model

LAMS = (0.2, 0.4, 0.6, 0.8, 1.0, None)
DATA_HOME = os.environ.get("FAIRPOT_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data"
DATA: dict[str, Callable[[int], Any]] = {
    "synthetic": lambda seed: make_synthetic(random_state=seed),
    "bank": lambda seed: fetch_bank(data_home=DATA_HOME, download_if_missing=False),
    "compas": lambda seed: fetch_compas(data_home=DATA_HOME, download_if_missing=False),
}
TITLES = {"synthetic": "Synthetic", "bank": "Bank", "compas": "COMPAS"}


class Rows(NamedTuple):
    """Scores of one set of rows, with what happened and to whom."""

    scores: NDArray[np.float64]
    y: NDArray[Any]
    group: NDArray[Any]

    def measure(self) -> tuple[float, float]:
        # Strict ties, the paper's, as in the tables of docs/evidence/out-of-fold.md.
        gap = xauc_gap(self.y, self.scores, sensitive_features=self.group, ties="strict")
        return gap, auc(self.y, self.scores, ties="strict")


class Split(NamedTuple):
    """The same training rows scored both ways, and the held-out rows."""

    in_sample: Rows
    out_of_fold: Rows
    held_out: Rows


def make_split(data: Any, seed: int) -> Split:
    strata = [f"{g} {y}" for g, y in zip(data.group, data.target)]
    X, X_new, y, y_new, group, group_new = train_test_split(
        data.data, data.target, data.group, test_size=0.2, random_state=seed, stratify=strata
    )
    model = make_model("xgboost", random_state=seed, n_jobs=1)
    fair = FairScoreClassifier(model, cv=5, random_state=seed).fit(X, y, sensitive_features=group)

    def scores(rows: Any) -> NDArray[np.float64]:
        return np.asarray(fair.estimator_.predict_proba(rows)[:, 1], dtype=np.float64)

    return Split(Rows(scores(X), y, group), Rows(fair.scores_, y, group), Rows(scores(X_new), y_new, group_new))


def repair(fitted: Rows, held_out: Rows, lam: float | None) -> tuple[float, float, float]:
    """Return gap and AUC on the held-out rows after the repair, and the lambda used."""
    fp = FairPOT(lam=lam, ties="strict").fit(fitted.scores, fitted.y, sensitive_features=fitted.group)
    adjusted = fp.transform(held_out.scores, sensitive_features=held_out.group)
    assert isinstance(fp.lam_, float)
    return *held_out._replace(scores=adjusted).measure(), fp.lam_


def advantaged(rows: Rows) -> Any:
    """Name the group that is ranked higher, however small it is; None if neither is."""
    first, second = sorted(set(rows.group))
    how: dict[str, Any] = {"sensitive_features": rows.group, "ties": "strict"}
    there = xauc(rows.y, rows.scores, positive=first, negative=second, **how)
    back = xauc(rows.y, rows.scores, positive=second, negative=first, **how)
    return None if there == back else first if there > back else second


class Result(NamedTuple):
    """Gap and AUC on held-out rows, and more, for all splits of a data set."""

    before: NDArray[np.float64]  # splits x (in-sample, out-of-fold, held-out) x (gap, AUC)
    after: NDArray[np.float64]  # splits x (in-sample, out-of-fold) x lams x (gap, AUC, lam)
    agreed: NDArray[np.bool_]  # splits x (in-sample, out-of-fold): same advantaged group as in the held-out rows


def run(name: str, splits: int) -> Result:
    before, after, agreed = [], [], []
    start = time.perf_counter()
    for seed in range(splits):
        split = make_split(DATA[name](seed), seed)
        before.append([rows.measure() for rows in split])
        after.append([[repair(fitted, split.held_out, lam) for lam in LAMS] for fitted in split[:2]])
        agreed.append([advantaged(fitted) == advantaged(split.held_out) for fitted in split[:2]])
        print(f"{name}: {seed + 1} of {splits}, {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    return Result(np.array(before), np.array(after), np.array(agreed))


def shown(values: NDArray[np.float64], sign: str = "") -> str:
    """Write a mean and its standard error over the splits."""
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return f"{values.mean():{sign}.3f} ± {error:.3f}"


def repair_lines(name: str, result: Result) -> list[str]:
    after = result.after
    gap, area = result.before[:, 2, 0], result.before[:, 2, 1]
    lines = [f"| {TITLES[name]} | none | {shown(gap)} | {shown(gap)} | | {shown(area)} | {shown(area)} | |"]
    for k, lam in enumerate(LAMS):
        label = f"{lam}"
        if lam is None:
            label = f"by rule ({after[:, 0, k, 2].mean():.2f}; {after[:, 1, k, 2].mean():.2f})"
        cells = []
        for what in (0, 1):
            inner, outer = after[:, 0, k, what], after[:, 1, k, what]
            cells += [shown(inner), shown(outer), shown(outer - inner, "+")]
        lines.append(f"| {TITLES[name]} | {label} | {' | '.join(cells)} |")
    return lines


def training_line(name: str, result: Result) -> str:
    cells = [shown(result.before[:, rows, what]) for what in (0, 1) for rows in (0, 1, 2)]
    cells += [f"{agreed} of {len(result.agreed)}" for agreed in result.agreed.sum(axis=0)]
    return f"| {TITLES[name]} | {' | '.join(cells)} |"


def header(*names: str) -> str:
    return f"| {' | '.join(names)} |\n|{' --- |' * len(names)}"


def main() -> None:
    parser = argparse.ArgumentParser(description="In-sample against out-of-fold score maps on held-out data.")
    parser.add_argument("--splits", type=int, default=20, help="splits (draws, for Synthetic) of each data set")
    parser.add_argument("--data", nargs="+", choices=list(DATA), default=list(DATA), help="data sets")
    options = parser.parse_args()
    results = {name: run(name, options.splits) for name in options.data}
    over = f"mean ± standard error over {options.splits} splits"
    print(f"Unadjusted scores, {over}:\n")
    sets = ("in-sample", "out-of-fold", "held-out")
    right = (f"right direction, {sets[0]}", sets[1])
    print(header("data", f"gap, {sets[0]}", *sets[1:], f"AUC, {sets[0]}", *sets[1:], *right))
    print("\n".join(training_line(name, result) for name, result in results.items()))
    print(f"\nHeld-out rows after the repair, {over}:\n")
    ways = ("in-sample map", "out-of-fold map", "difference")
    print(header("data", "lam", f"gap, {ways[0]}", *ways[1:], f"AUC, {ways[0]}", *ways[1:]))
    print("\n".join(line for name, result in results.items() for line in repair_lines(name, result)))


if __name__ == "__main__":
    main()
