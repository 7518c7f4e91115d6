"""Models trained for the top of the list: partial AUC, recall and precision in the top alpha, on held-out rows.

    python benchmarks/partial_auc.py --folder runs/partial_auc [--splits 10] [--data synthetic compas bank clinical]
    python benchmarks/partial_auc.py --folder runs/partial_auc --tables

The first command trains what is not in the folder yet (each model of each split is one .npz with its scores and one
line in records.jsonl, so it can be stopped and started again) and prints the tables; the second only prints them.

Synthetic and Clinical (simulated) are drawn anew for every split; Bank and COMPAS are split anew, 80 % for training, by
label and group. Clinical is split by time, at the date that comes with it. Nothing is chosen on held-out rows: the
settings are the defaults of the library, the number of epochs or rounds comes from a part of the training rows.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from fairpot.datasets import fetch_bank, fetch_compas, make_clinical, make_synthetic
from fairpot.training import make_variant

DATA_HOME = os.environ.get("FAIRPOT_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data"
DATA: dict[str, Callable[[int], Any]] = {
    "synthetic": lambda seed: make_synthetic(random_state=seed),
    "compas": lambda seed: fetch_compas(data_home=DATA_HOME, download_if_missing=False),
    "bank": lambda seed: fetch_bank(data_home=DATA_HOME, download_if_missing=False),
    "clinical": lambda seed: make_clinical(random_state=seed),
}
TITLES = {"synthetic": "Synthetic", "compas": "COMPAS", "bank": "Bank", "clinical": "Clinical (simulated)"}
ALPHA = {"synthetic": 0.3, "compas": 0.3, "bank": 0.3, "clinical": 0.1}
MODELS: dict[str, dict[str, Any]] = {
    "a": {"name": "boosted"},
    "b": {"name": "network"},
    "b-own": {"name": "network", "monitor": "partial_auc"},
    "c": {"name": "stacked"},
    "c-in": {"name": "stacked", "cv": None},
    "d": {"name": "booster"},
}
MODEL_TITLES = {
    "a": "(a) boosted",
    "b": "(b) network",
    "b-own": "(b) stopped by its own pAUC",
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


def read(folder: Path, name: str, model: str) -> Iterator[Scored]:
    for path in sorted(folder.glob(f"{name}-*-{model}.npz")):
        if path.stem.split("-", 2)[2] == model:
            with np.load(path, allow_pickle=False) as file:
                yield Scored(**{field: file[field] for field in Scored._fields})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--data", nargs="+", choices=DATA, default=list(DATA))
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--tables", action="store_true", help="train nothing, print what is there")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    if not options.tables:
        train(options.folder, options.data, options.models, range(options.splits))
    return 0


if __name__ == "__main__":
    sys.exit(main())
