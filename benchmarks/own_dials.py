"""How often a target gap is kept with a strength for each group and with one for all, and the AUC on held-out rows.

COMPAS by race, Bank by marital status and bands of age, and simulated tables of four to eight groups. Half of the
rows choose the strengths, the other half judge them.

    python benchmarks/own_dials.py --splits 3 --groups 8
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from fairpot import FairPOT, InfeasibleRuleError, LogitShift, OptimalMerge
from fairpot.metrics import auc, xauc_gap

# With a strength to begin with.
METHODS = {FairPOT: 0.0, LogitShift: 0.0, OptimalMerge: 1.0}
BOUNDS = (0.02, 0.05, 0.10)
DATA_HOME = os.environ.get("FAIRPOT_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data"


class Rows(NamedTuple):
    """Scores, outcomes and groups."""

    scores: Any
    y: Any
    group: Any

    def take(self, places: Any) -> Rows:
        """Keep some rows."""
        return Rows(*(column[places] for column in self))


def simulated(groups: int, seed: int, n: int = 6000) -> Rows:
    """Draw groups with rates from 10 to 45 % and scores that are shifted, and steeper in some than in others."""
    rng = np.random.default_rng(seed)
    g = rng.integers(0, groups, n)
    y = (rng.random(n) < rng.uniform(0.1, 0.45, groups)[g]).astype(int)
    level, slope = rng.normal(0, 0.4, groups)[g], rng.uniform(0.8, 1.3, groups)[g]
    return Rows(1 / (1 + np.exp(1.0 - rng.normal(slope * (1.4 * y + level)))), y, np.array([f"g{k}" for k in g]))


def compas(folder: Path) -> Rows:
    """Score COMPAS without race, out of fold; groups with at least 300 rows."""
    frame = pd.read_csv(folder / "compas-scores-two-years.csv")
    x = frame[["age", "juv_fel_count", "juv_misd_count", "juv_other_count", "priors_count"]].copy()
    x["felony"], x["male"] = (frame["c_charge_degree"] == "F") * 1, (frame["sex"] == "Male") * 1
    y = frame["two_year_recid"].to_numpy()
    model = make_pipeline(StandardScaler(), LogisticRegression())
    scores = cross_val_predict(model, x, y, cv=5, method="predict_proba")[:, 1]
    return large(Rows(scores, y, frame["race"].to_numpy()))


def bank(folder: Path, by: str) -> Rows:
    """Score Bank out of fold, without the call's length, by marital status or bands of age."""
    frame = pd.read_csv(folder / "bank-full.csv", sep=";")
    y = (frame["y"] == "yes").to_numpy().astype(int)
    x = frame.drop(columns=["y", "duration"])
    text = [c for c in x if x[c].dtype.kind not in "if"]
    coded = OneHotEncoder(sparse_output=False).fit_transform(x[text])
    x = np.hstack((x.drop(columns=text).to_numpy(), coded))
    scores = cross_val_predict(
        HistGradientBoostingClassifier(max_iter=60, random_state=0),
        x,
        y,
        cv=StratifiedKFold(3, shuffle=True, random_state=0),
        method="predict_proba",
    )[:, 1]
    band = pd.cut(frame["age"], [0, 30, 40, 50, 60, 120], labels=["-30", "31-40", "41-50", "51-60", "61-"]).astype(str)
    group = band.to_numpy() if by == "age" else frame[by].to_numpy()
    return large(Rows(scores, y, group))


def large(rows: Rows, least: int = 300) -> Rows:
    """Leave out groups with few rows."""
    names, sizes = np.unique(rows.group.astype(str), return_counts=True)
    return rows.take(np.isin(rows.group.astype(str), names[sizes >= least]))


def datasets(folder: Path, groups: int, splits: int, only: str) -> Iterator[tuple[str, list[tuple[Rows, Rows]]]]:
    """Give each dataset cut in half, some times over."""
    real = {"COMPAS by race": lambda: compas(folder)}
    real |= {f"Bank by {by}": (lambda by=by: bank(folder, by)) for by in ("marital", "age")}
    for name, make in real.items():
        if only not in name:
            continue
        rows = make()
        yield f"{name}, {len(set(rows.group))} groups", [halves(rows, seed) for seed in range(splits)]
    for count in range(4, groups + 1, 2) if only in "simulated" else []:
        yield f"simulated, {count} groups", [halves(simulated(count, seed), seed) for seed in range(splits)]


def halves(rows: Rows, seed: int) -> tuple[Rows, Rows]:
    """Cut rows in half."""
    order = np.random.default_rng(seed).permutation(len(rows.y))
    return rows.take(order[: len(order) // 2]), rows.take(order[len(order) // 2 :])


def measure(method: Any, common: bool, fitted: Rows, later: Rows, bound: float) -> tuple[float, float] | None:
    """Fit by rule; give AUC and gap on the other rows, or None where no dial keeps the bound on the fitted ones."""
    try:
        if common:  # a strength that is given is that of all groups, and so are those of its curve
            start = method(METHODS[method]).fit(*fitted[:2], sensitive_features=fitted.group)
            model = start.at(start.tradeoff().select(max_gap=bound).lam)
        else:
            model = method(max_gap=bound).fit(*fitted[:2], sensitive_features=fitted.group)
    except InfeasibleRuleError:
        return None
    after = model.transform(fitted.scores, sensitive_features=fitted.group)
    assert xauc_gap(fitted.y, after, sensitive_features=fitted.group) <= bound + 1e-12
    after = model.transform(later.scores, sensitive_features=later.group)
    return auc(later.y, after), xauc_gap(later.y, after, sensitive_features=later.group)


def main() -> None:
    """Print a table for each dataset."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(DATA_HOME))
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--groups", type=int, default=8)
    parser.add_argument("--only", default="", metavar="TEXT", help="datasets with this in their name")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    head = ("data", "original AUC, gap", "method", "strength", *(f"target {bound:.2f}" for bound in BOUNDS))
    print(f"| {' | '.join(head)} |\n|{' --- |' * len(head)}")
    for name, splits in datasets(given.data, given.groups, given.splits, given.only):
        before = [
            (auc(late.y, late.scores), xauc_gap(late.y, late.scores, sensitive_features=late.group))
            for _, late in splits
        ]
        original = "{:.4f}, {:.3f}".format(*np.mean(before, axis=0))
        for method in METHODS:
            for common in (False, True):
                cells = defaultdict(list)
                for (fitted, later), bound in ((s, b) for s in splits for b in BOUNDS):
                    cells[bound].append(measure(method, common, fitted, later, bound))
                told = " | ".join(said(found) for found in cells.values())
                kind = "one for all" if common else "each group"
                print(f"| {name} | {original} | {method.__name__} | {kind} | {told} |", flush=True)


def said(found: list[tuple[float, float] | None]) -> str:
    """Say in how many splits the bound was kept, and the mean held-out AUC and gap of those."""
    kept = [each for each in found if each is not None]
    means = "" if not kept else ": {:.4f}, gap {:.3f}".format(*np.mean(kept, axis=0))
    return f"{len(kept)} of {len(found)}{means}"


if __name__ == "__main__":
    main()
