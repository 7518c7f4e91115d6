"""Models trained for the top of the list: partial AUC, recall and precision in the top alpha, on held-out rows.

    python benchmarks/partial_auc.py --folder runs/partial_auc [--splits 10] [--data synthetic compas bank clinical]
    python benchmarks/partial_auc.py --folder runs/partial_auc --tables [--write docs/evidence/top.md]

The first command trains what is not in the folder yet (each model of each split is one .npz with its scores and one
line in records.jsonl, so it can be stopped and started again) and prints the tables; the second only prints them,
or puts them into a page between its two marks.

Synthetic and Clinical (simulated) are drawn anew for every split; Bank and COMPAS are split anew, 80 % for training, by
label and group. Clinical is split by time, at the date that comes with it. A run chooses nothing on held-out rows: the
settings are the defaults of the library, the number of epochs or rounds comes from a part of the training rows. How
the defaults themselves were chosen, and on what, is told in docs/evidence/top.md.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from fairpot import FairPOT, score_table
from fairpot.datasets import fetch_bank, fetch_compas, make_synthetic
from fairpot.exceptions import SmallGroupWarning
from fairpot.metrics import auc, top_precision, top_recall
from fairpot.metrics.wins import WinMatrix
from fairpot.table import ScoreTable
from fairpot_paper.clinical import make_clinical
from fairpot_paper.variants import make_variant

DATA_HOME = os.environ.get("FAIRPOT_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data"
DATA: dict[str, Callable[[int], Any]] = {
    "synthetic": lambda seed: make_synthetic(random_state=seed),
    "compas": lambda seed: fetch_compas(data_home=DATA_HOME, download_if_missing=False),
    "bank": lambda seed: fetch_bank(data_home=DATA_HOME, download_if_missing=False),
    "clinical": lambda seed: make_clinical(random_state=seed),
}
TITLES = {"synthetic": "Synthetic", "compas": "COMPAS", "bank": "Bank", "clinical": "Clinical (simulated)"}
# Whose top it is, by the paper's word.
TOP_OF = {"pooled": "all", "group": "group"}
ALPHA = {"synthetic": 0.3, "compas": 0.3, "bank": 0.3, "clinical": 0.1}
MODELS: dict[str, dict[str, Any]] = {
    "a": {"name": "boosted"},
    "b": {"name": "network"},
    "c": {"name": "stacked"},
    "c-in": {"name": "stacked", "cv": None},
    "d": {"name": "booster"},
}
MODEL_TITLES = {
    "a": "(a) boosted",
    "b": "(b) network",
    "c": "(c) stacked, out-of-fold",
    "c-in": "(c) stacked, in-sample",
    "d": "booster",
}
# The paper's table; its clinical data are private, so that column is of other data than ours.
PAPER = {
    "synthetic": {"a": 0.6642, "b": 0.6798, "c-in": 0.6740},
    "compas": {"a": 0.6171, "b": 0.6153, "c-in": 0.6383},
    "bank": {"a": 0.7546, "b": 0.7544, "c-in": 0.7584},
    "clinical": {"a": 0.633, "b": 0.573, "c-in": 0.749},
}


MARKS = ("<!-- measured: begin -->", "<!-- measured: end -->")


class Scored(NamedTuple):
    """Scores of the training and the held-out rows of one split, with labels and groups."""

    train: NDArray[np.float64]
    test: NDArray[np.float64]
    y_train: NDArray[np.int64]
    y_test: NDArray[np.int64]
    group_train: NDArray[Any]
    group_test: NDArray[Any]


def make_split(name: str, seed: int) -> list[Any]:
    """Return X, X_new, y, y_new, group, group_new."""
    data = DATA[name](seed)
    if name == "clinical":
        columns = (data.data, data.target, data.group)
        return [part for column in columns for part in (column[data.train], column[~data.train])]
    strata = [f"{g} {y}" for g, y in zip(data.group, data.target)]
    return train_test_split(data.data, data.target, data.group, test_size=0.2, random_state=seed, stratify=strata)


def train(folder: Path, names: list[str], models: list[str], seeds: range) -> None:
    """Train what is missing, split after split, so that an early stop leaves all data sets with some splits."""
    for seed in seeds:
        for name in names:
            missing = [model for model in models if not place(folder, name, seed, model).exists()]
            if missing:
                split = make_split(name, seed)
                for model in missing:
                    train_one(folder, name, seed, model, split)


def train_one(folder: Path, name: str, seed: int, model: str, split: list[Any]) -> None:
    X, X_new, y, y_new, group, group_new = split
    options = {} if model == "a" else {"alpha": ALPHA[name]}
    start = time.process_time()
    fitted = make_variant(random_state=seed, **MODELS[model], **options).fit(X, y)
    seconds = time.process_time() - start
    scores = [np.asarray(fitted.predict_proba(rows)[:, 1], dtype=np.float64) for rows in (X, X_new)]
    groups = [np.asarray(column, dtype=np.str_) for column in (group, group_new)]
    np.savez(place(folder, name, seed, model), **Scored(*scores, y, y_new, *groups)._asdict())
    record = {"data": name, "seed": seed, "model": model, "rows": len(y), "seconds": round(seconds, 2)}
    with (folder / "records.jsonl").open("a") as file:
        file.write(json.dumps(record) + "\n")
    print(record, file=sys.stderr, flush=True)


def place(folder: Path, name: str, seed: int, model: str) -> Path:
    return folder / f"{name}-{seed}-{model}.npz"


def read(folder: Path, name: str, model: str) -> dict[int, Scored]:
    """Return the splits of one model that are there, by seed."""
    found = {}
    for path in folder.glob(f"{name}-*-{model}.npz"):
        seed = path.stem.removeprefix(f"{name}-").removesuffix(f"-{model}")
        if seed.isdigit():
            with np.load(path, allow_pickle=False) as file:
                found[int(seed)] = Scored(**{field: file[field] for field in Scored._fields})
    return found


def measure(rows: Scored, alpha: float) -> dict[str, float]:
    """All figures of one model on the held-out rows of one split."""
    figures = {"auc": auc(rows.y_test, rows.test, ties="half")}
    for region in ("pooled", "group"):
        where = {"top": alpha, "top_of": TOP_OF[region]}
        options: dict[str, Any] = {**where, "sensitive_features": rows.group_test}
        figures[f"pauc_{region}"] = auc(rows.y_test, rows.test, ties="half", **options)
        figures[f"recall_{region}"] = top_recall(rows.y_test, rows.test, **options)
        figures[f"precision_{region}"] = top_precision(rows.y_test, rows.test, **options)
        table = score_table(rows.y_test, rows.test, sensitive_features=rows.group_test)
        top = table.top(**where)
        figures[f"found_{region}"] = float(top.positives.sum())
        figures[f"rows_{region}"] = float(top.weight / table.weight)
    return figures


def measured(folder: Path, name: str) -> dict[str, dict[int, dict[str, float]]]:
    """Figures by model and seed."""
    return {
        model: {seed: measure(rows, ALPHA[name]) for seed, rows in sorted(read(folder, name, model).items())}
        for model in MODELS
    }


def spread(values: list[float], signed: bool = False) -> str:
    """Mean and standard error of the values that are there, and how many these are where some are not."""
    known = np.array(values)[~np.isnan(values)]
    if not len(known):
        return "none"
    mean = f"{known.mean():{'+' if signed else ''}.4f}"
    text = mean if len(known) < 2 else f"{mean} ± {known.std(ddof=1) / np.sqrt(len(known)):.4f}"
    return text if len(known) == len(values) else f"{text} ({len(known)} of {len(values)})"


def print_figures(names: list[str], figures: dict[str, dict[str, dict[int, dict[str, float]]]], seconds: Any) -> None:
    for region, title in (("pooled", "The top of all rows"), ("group", "The top of each group")):
        print(f"\n### {title}\n")
        print(
            "| dataset | model | splits | pAUC | paper | recall | precision | found | rows in the top | AUC | CPU s |"
        )
        print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
        for name in names:
            for model, splits in figures[name].items():
                if splits:
                    print_row(name, model, list(splits.values()), region, seconds[name, model])


def print_row(name: str, model: str, splits: list[dict[str, float]], region: str, seconds: list[float]) -> None:
    def column(figure: str) -> list[float]:
        return [split[figure] for split in splits]

    paper = PAPER[name].get(model)
    cells = [
        TITLES[name],
        MODEL_TITLES[model],
        str(len(splits)),
        spread(column(f"pauc_{region}")),
        "" if paper is None else f"{paper:g}",
        spread(column(f"recall_{region}")),
        spread(column(f"precision_{region}")),
        f"{np.mean(column(f'found_{region}')):.1f}",
        f"{np.mean(column(f'rows_{region}')):.1%}",
        f"{np.mean(column('auc')):.4f}",
        f"{np.mean(seconds):.1f}",
    ]
    print(f"| {' | '.join(cells)} |")


def print_differences(names: list[str], figures: dict[str, dict[str, dict[int, dict[str, float]]]]) -> None:
    print("\n### Against (a), split by split\n")
    tops = [f"{figure}, top of {rows}" for rows in ("all", "each group") for figure in ("pAUC", "found")]
    print(f"| dataset | model | {' | '.join(tops)} |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name in names:
        base = figures[name]["a"]
        for model, splits in figures[name].items():
            both = sorted(base.keys() & splits.keys())
            if model == "a" or not both:
                continue
            cells = [TITLES[name], MODEL_TITLES[model]]
            for region in ("pooled", "group"):
                change = {
                    figure: [splits[seed][figure] - base[seed][figure] for seed in both]
                    for figure in (f"pauc_{region}", f"found_{region}")
                }
                more = sum(value > 0 for value in change[f"found_{region}"])
                cells.append(spread(change[f"pauc_{region}"], signed=True))
                cells.append(f"{np.mean(change[f'found_{region}']):+.1f} (more in {more} of {len(both)})")
            print(f"| {' | '.join(cells)} |")


def halves(rows: Scored, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Deal the held-out rows to two halves, by label and group."""
    strata = [f"{g} {y}" for g, y in zip(rows.group_test, rows.y_test)]
    first, second = train_test_split(np.arange(len(rows.y_test)), test_size=0.5, random_state=seed, stratify=strata)
    return first, second


def repair(rows: Scored, seed: int, alpha: float, region: str) -> dict[str, float]:
    """Partial AUC and partial gap on one half of the held-out rows, as they are and by two maps.

    One map is fitted on the training rows and their in-sample scores, as in the paper; the other on the other half of
    the held-out rows. Each chooses the lambda with the smallest gap in the top of the rows it was fitted on, and moves
    the top of the rows measured, as in the paper. Where a map cannot be fitted, its figures are NaN.
    """
    first, second = halves(rows, seed)
    figures = {}
    sources = {
        "in-sample": (rows.train, rows.y_train, rows.group_train),
        "new": (rows.test[first], rows.y_test[first], rows.group_test[first]),
    }
    for source, (scores, y, group) in sources.items():
        try:
            fair = FairPOT().fit(score_table(y, scores, sensitive_features=group).top(alpha, TOP_OF[region]))
        except ValueError:  # memorised: the top of the training rows has no negatives of some group
            figures |= {f"pauc {source}": np.nan, f"gap {source}": np.nan}
            continue
        held = score_table(rows.y_test[second], rows.test[second], sensitive_features=rows.group_test[second])
        begun = {
            name: fair.maps_[name].starting_at(start) for name, start in held.thresholds(alpha, TOP_OF[region]).items()
        }
        before, after = (partial_numbers(each, alpha, region) for each in (held, held.rescored(begun)))
        figures |= dict(zip(("pauc", "gap"), before)) | dict(zip((f"pauc {source}", f"gap {source}"), after))
    return figures


def partial_numbers(table: ScoreTable, alpha: float, region: str) -> tuple[float, float]:
    """Give partial AUC and partial gap of counted rows."""
    wins = WinMatrix.of(table.top(alpha, TOP_OF[region]), "half")
    first, second = wins.widest()
    return wins.auc(partial=True), abs(first - second)


def print_repairs(folder: Path, names: list[str]) -> None:
    columns = ("pauc", "gap", "pauc in-sample", "gap in-sample", "pauc new", "gap new")
    print("\n### Before and after FairPOT(alpha), on half of the held-out rows\n")
    print(
        "| dataset | top of | model | pAUC | gap | pAUC, map from training rows | gap | pAUC, map from new rows | gap |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for name in names:
        for region, title in (("pooled", "all"), ("group", "each group")):
            for model in ("a", "c", "d"):
                splits = read(folder, name, model)
                found = [repair(rows, seed, ALPHA[name], region) for seed, rows in sorted(splits.items())]
                if found:
                    cells = [spread([each[column] for each in found]) for column in columns]
                    print(f"| {TITLES[name]} | {title} | {MODEL_TITLES[model]} | {' | '.join(cells)} |")


def print_tables(folder: Path, names: list[str]) -> None:
    seconds: dict[tuple[str, str], list[float]] = {(name, model): [] for name in DATA for model in MODELS}
    for line in (folder / "records.jsonl").read_text().splitlines():
        record = json.loads(line)
        seconds[record["data"], record["model"]].append(record["seconds"])
    figures = {name: measured(folder, name) for name in names}
    print_figures(names, figures, seconds)
    print_differences(names, figures)
    with warnings.catch_warnings():
        # The halves are small; the standard errors show what that makes of the figures.
        warnings.simplefilter("ignore", SmallGroupWarning)
        print_repairs(folder, names)


def put_into(page: Path, tables: str) -> None:
    before, _, rest = page.read_text().partition(MARKS[0])
    _, _, after = rest.partition(MARKS[1])
    page.write_text(f"{before}{MARKS[0]}\n\n{tables}\n\n{MARKS[1]}{after}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--data", nargs="+", choices=DATA, default=list(DATA))
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--write", type=Path, help="a page to put the tables into, instead of printing them")
    parser.add_argument("--tables", action="store_true", help="train nothing, print what is there")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    if not options.tables:
        train(options.folder, options.data, options.models, range(options.splits))
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        print_tables(options.folder, options.data)
    if options.write is None:
        print(printed.getvalue())
    else:
        put_into(options.write, printed.getvalue().strip())
    return 0


if __name__ == "__main__":
    sys.exit(main())
