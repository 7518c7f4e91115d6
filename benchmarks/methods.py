"""Every method on held-out rows: the highest AUC at a gap of at most 0.02, 0.05 and 0.10.

python benchmarks/methods.py [--splits 20] [--data synthetic bank compas]
python benchmarks/methods.py --picture docs/images/methods-compas.svg

Each split (80/20, by group and outcome; seeds 100, 101, ...) trains XGBoost on the larger part. The maps are fitted on
out-of-fold scores of that part and evaluated on the model's scores of the smaller one. "Free": the best value of the
dial on the held-out rows themselves, for every method alike. "By rule": the value that is best on the rows the map was
fitted on. The real files are looked for in the folder that FAIRPOT_DATA names, else in ../shared/data beside the
repository.
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

from fairpot import compare
from fairpot.comparison import Comparison
from fairpot.datasets import fetch_bank, fetch_compas, make_synthetic
from fairpot.models import make_model
from fairpot.postprocessing import FairScoreClassifier

BOUNDS = (0.02, 0.05, 0.10)
FIRST_SEED = 100
PAPERS = "WassersteinRepair, t = 1"
METHODS = ("FairPOT", PAPERS, "WassersteinRepair", "PostLogit", "XOrder", "OptimalMerge", "LogitShift")
SWEPT = tuple(name for name in METHODS if name != PAPERS)
DATA_HOME = os.environ.get("FAIRPOT_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data"
DATA: dict[str, Callable[[int], Any]] = {
    "synthetic": lambda seed: make_synthetic(random_state=seed),
    "bank": lambda seed: fetch_bank(data_home=DATA_HOME, download_if_missing=False),
    "compas": lambda seed: fetch_compas(data_home=DATA_HOME, download_if_missing=False),
}
TITLES = {"synthetic": "Synthetic", "bank": "Bank", "compas": "COMPAS"}
Array = NDArray[np.float64]


class Rows(NamedTuple):
    """What happened in one set of rows, their scores, and whose they are."""

    y: NDArray[Any]
    scores: Array
    group: NDArray[Any]


def score_rows(data: Any, seed: int) -> tuple[Rows, Rows]:
    """Return out-of-fold scores of the training rows and the model's scores of the others."""
    strata = [f"{g} {y}" for g, y in zip(data.group, data.target)]
    X, X_new, y, y_new, group, group_new = train_test_split(
        data.data, data.target, data.group, test_size=0.2, random_state=seed, stratify=strata
    )
    fair = FairScoreClassifier(make_model("xgboost", random_state=seed, n_jobs=1), cv=5, random_state=seed)
    fair.fit(X, y, sensitive_features=group)
    new = np.asarray(fair.estimator_.predict_proba(X_new)[:, 1], dtype=np.float64)
    return Rows(y, fair.scores_, group), Rows(y_new, new, group_new)


class Split(NamedTuple):
    """One split: AUC and gap before, and for each method and bound the held-out results both ways."""

    before: tuple[float, float]
    free: Array  # methods x bounds: AUC, NaN where the bound is not reached
    rule: Array  # methods x bounds x (AUC, gap)


def places_of(result: Comparison, name: str) -> NDArray[np.intp]:
    if name == PAPERS:
        return np.flatnonzero((result.method == "WassersteinRepair") & (result.value == 1))
    return np.flatnonzero(result.method == name)


def best_place(result: Comparison, places: NDArray[np.intp], bound: float) -> int:
    """Return the highest AUC within the bound, else the smallest gap."""
    within = places[result.gap[places] <= bound]
    return int(within[np.argmax(result.auc[within])] if len(within) else places[np.argmin(result.gap[places])])


def run_split(fitted: Rows, new: Rows) -> Split:
    y, scores, group = fitted
    # The same fit, evaluated on the new rows and on its own: point for point the same dials.
    # Strict ties, the paper's, as in the published tables of docs/which-method.md.
    options = {"sensitive_features": group, "ties": "strict", "progress": False}
    after, own = (compare(y, scores, held_out=rows, **options) for rows in (new, fitted))
    assert np.array_equal(after.value, own.value, equal_nan=True)
    free, rule = np.full((len(METHODS), len(BOUNDS)), np.nan), np.full((len(METHODS), len(BOUNDS), 2), np.nan)
    for m, name in enumerate(METHODS):
        places = places_of(after, name)
        for k, bound in enumerate(BOUNDS):
            best = best_place(after, places, bound)
            free[m, k] = after.auc[best] if after.gap[best] <= bound else np.nan
            chosen = best_place(own, places, bound)
            rule[m, k] = after.auc[chosen], after.gap[chosen]
    return Split((float(after.auc[0]), float(after.gap[0])), free, rule)


def run(name: str, splits: int) -> list[Split]:
    done: list[Split] = []
    start = time.perf_counter()
    for seed in range(FIRST_SEED, FIRST_SEED + splits):
        done.append(run_split(*score_rows(DATA[name](seed), seed)))
        print(f"{name}: {len(done)} of {splits}, {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    return done


def shown(values: Array, digits: int = 4, sign: str = "") -> str:
    """Write a mean and its standard error."""
    error = f" ± {values.std(ddof=1) / np.sqrt(len(values)):.{digits}f}" if len(values) > 1 else ""
    return f"{values.mean():{sign}.{digits}f}{error}"


def table(*head: str, lines: list[list[str]]) -> str:
    return "\n".join([f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}", *(f"| {' | '.join(c)} |" for c in lines)])


def free_table(splits: list[Split]) -> str:
    """Show the mean over the splits in which every method with a free dial reaches the bound."""
    auc = np.array([s.free for s in splits])  # splits x methods x bounds
    reached = np.isfinite(auc)
    common = reached[:, [METHODS.index(m) for m in SWEPT]].all(axis=1)
    head = [f"gap <= {bound:.2f} ({n} of {len(splits)} splits)" for bound, n in zip(BOUNDS, common.sum(axis=0))]
    lines = []
    for m, name in enumerate(METHODS):
        cells = [name]
        for k in range(len(BOUNDS)):
            alike = common[:, k] & reached[:, m, k]
            mean = f"{auc[alike, m, k].mean():.4f}" if alike.any() else "-"
            both = reached[:, m, k] & reached[:, 0, k]
            versus = f", {shown(auc[both, m, k] - auc[both, 0, k], sign='+')}" if m and both.any() else ""
            few = f" in {alike.sum()} of them" if 0 < alike.sum() < common[:, k].sum() else ""
            cells.append(f"{mean}{few}{versus}; reached in {reached[:, m, k].sum()}")
        lines.append(cells)
    return table("method", *head, lines=lines)


def rule_table(splits: list[Split]) -> str:
    """Show AUC and gap on the held-out rows, and how often the gap kept the bound there."""
    rule = np.array([s.rule for s in splits])  # splits x methods x bounds x 2
    lines = []
    for m, name in enumerate(METHODS):
        cells = [name]
        for k, bound in enumerate(BOUNDS):
            area, gap = rule[:, m, k].T
            cells.append(f"{area.mean():.4f}, gap {gap.mean():.3f}, kept in {(gap <= bound).sum()}")
        lines.append(cells)
    return table("method", *(f"gap <= {bound:.2f}" for bound in BOUNDS), lines=lines)


def print_study(name: str, splits: list[Split]) -> None:
    area, gap = np.array([s.before for s in splits]).T
    print(f"\n### {TITLES[name]}: {len(splits)} splits, unrepaired AUC {shown(area)}, gap {shown(gap, 3)}\n")
    print("Dial free on the held-out rows; after the comma the difference from FairPOT where both reach the bound:\n")
    print(free_table(splits))
    print("\nDial chosen on the fitted rows; AUC and gap on the held-out rows:\n")
    print(rule_table(splits), flush=True)


STYLES = {
    "FairPOT": ("#d62728", "-"),
    "WassersteinRepair": ("#1f77b4", "-"),
    "PostLogit": ("#8c564b", "--"),
    "XOrder": ("#9467bd", ":"),
    "OptimalMerge": ("#2ca02c", "-"),
    "LogitShift": ("#ff7f0e", "--"),
}


def draw(result: Comparison, path: Path, title: str) -> None:
    """Draw AUC against the signed gap: every method's curve, the limit and the scores as they came."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "fairpot"
    from matplotlib import pyplot as plt

    figure, ax = plt.subplots(figsize=(7.5, 4.6), layout="constrained")
    right, bottom = 1.15 * result.gap[0], result.auc[places_of(result, "FairPOT")].min() - 0.004
    ax.axvspan(-0.05, 0.05, color="0.93", label="gap of at most 0.05")
    assert result.limit is not None
    gaps = np.linspace(-0.08, right, 200)
    ax.plot(gaps, result.limit.auc_at(gaps), color="black", lw=1, label="limit on these rows")
    for name, (colour, line) in STYLES.items():
        places = places_of(result, name)
        near = places[(np.abs(result.signed_gap[places]) < right + 0.1) & (result.auc[places] > bottom - 0.02)]
        ax.plot(result.signed_gap[near], result.auc[near], line, color=colour, lw=1.6, label=name)
    ax.plot(result.signed_gap[0], result.auc[0], "ko", label="unrepaired")
    ax.set(xlim=(-0.08, right), ylim=(bottom, result.limit.auc_at(right) + 0.003), title=title)
    ax.set(xlabel=f"xAUC gap, positive: {result.reference} ahead", ylabel="AUC")
    ax.legend(fontsize=8, loc="lower right", frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None, dpi=110)


def make_picture(path: Path) -> None:
    data = DATA["compas"](0)
    fair = FairScoreClassifier(make_model("xgboost", random_state=0, n_jobs=1), cv=5, random_state=0)
    fair.fit(data.data, data.target, sensitive_features=data.group)
    result = compare(data.target, fair.scores_, sensitive_features=data.group, random_state=0, ties="strict")
    print(result)
    draw(result, path, "COMPAS by sex, out-of-fold scores of XGBoost, maps cross-fitted (5 folds)")


def main() -> None:
    parser = argparse.ArgumentParser(description="Held-out AUC of every method at bounds on the xAUC gap.")
    parser.add_argument("--splits", type=int, default=20, help="splits (draws, for Synthetic) of each data set")
    parser.add_argument("--data", nargs="+", choices=list(DATA), default=list(DATA), help="data sets")
    parser.add_argument("--picture", type=Path, help="draw the curves of COMPAS into this file, and nothing else")
    options = parser.parse_args()
    if options.picture is not None:
        make_picture(options.picture)
        return
    for name in options.data:
        print_study(name, run(name, options.splits))


if __name__ == "__main__":
    main()
