"""Scores of a trained model, kept in a file: what every run starts from."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from fairpot.repair.crossfit import deal_folds, score_fold, score_rows
from fairpot.rows.output import atomic_file
from fairpot.table import ScoreTable
from fairpot_paper.data_sets import Folder, Split, make_split
from fairpot_paper.models import make_model
from fairpot_paper.plan import Training
from fairpot_paper.variants import make_variant

FOLDS = 5
_FEWER_EPOCHS = 3
_VARIANTS: dict[str, dict[str, Any]] = {
    "network": {"name": "network"},
    "stacked_in": {"name": "stacked", "cv": None},
    "stacked_out": {"name": "stacked"},
}


class Scored(NamedTuple):
    """Scores of the training and the test rows of one split, with outcomes and groups.

    ``out_of_fold`` are scores of the training rows by models that were trained without them; empty if not asked for.
    """

    train: NDArray[np.float64]
    out_of_fold: NDArray[np.float64]
    test: NDArray[np.float64]
    y_train: NDArray[np.int8]
    y_test: NDArray[np.int8]
    group_train: NDArray[np.str_]
    group_test: NDArray[np.str_]
    sha256: str

    def fitted_table(self, source: str) -> ScoreTable:
        """Count the training rows: their in-sample scores, or those out of fold."""
        scores = self.train if source == "in_sample" else self.out_of_fold
        return counted(scores, self.y_train, self.group_train)

    def test_tables(self, resamples: int = 0) -> list[ScoreTable]:
        """Count the test rows; or, for each seed below ``resamples``, as many drawn from them with replacement."""
        if not resamples:
            return [counted(self.test, self.y_test, self.group_test)]
        drawn = (np.random.default_rng(seed).integers(len(self.test), size=len(self.test)) for seed in range(resamples))
        return [counted(self.test[rows], self.y_test[rows], self.group_test[rows]) for rows in drawn]


def counted(scores: NDArray[np.float64], y: NDArray[np.int8], group: NDArray[np.str_]) -> ScoreTable:
    """Count rows by group and score."""
    names, codes = np.unique(group, return_inverse=True)
    return ScoreTable.from_rows(scores, y, codes, names.tolist())


def place_of(folder: Path, training: Training) -> Path:
    """Return the file of a model's scores."""
    return folder / "scores" / f"{training.name}.npz"


def train(training: Training, folder: Path, data_dir: Folder = None, quick: bool = False) -> None:
    """Train a model and write its scores; the file appears whole or not at all."""
    split = make_split(training.data, training.seed, data_dir, quick)
    scored = score(training, split, quick)
    place = place_of(folder, training)
    place.parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(place, overwrite=True) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, **scored._asdict())


def score(training: Training, split: Split, quick: bool = False) -> Scored:
    """Train a model on the training rows of a split and score all of them."""
    model = make_pipeline(training, quick)
    fitted = clone(model).fit(split.X_train, split.y_train)
    out = np.empty(0)
    if training.folds:
        strata = np.unique([f"{g} {y}" for g, y in zip(split.group_train, split.y_train)], return_inverse=True)[1]
        fold = deal_folds(strata, FOLDS, training.seed)
        out = np.empty(len(split.y_train))
        for k in range(FOLDS):
            parts = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
            out[parts[1]] = score_fold(clone(model), split.X_train, split.y_train, parts, {}, "predict_proba")
    own, new = (score_rows(fitted, X, "predict_proba") for X in (split.X_train, split.X_test))
    return Scored(own, out, new, *split[2:])


def make_pipeline(training: Training, quick: bool = False) -> Any:
    """Return the unfitted model, one thread, its seed that of the split.

    The paper names no hyper-parameters: these are the libraries' defaults. A name that ends in _50 asks for at least 50
    training rows behind every score instead.
    """
    if training.alpha is not None:
        options: dict[str, Any] = _VARIANTS[training.model] | ({"max_epochs": _FEWER_EPOCHS} if quick else {})
        return make_variant(**options, alpha=training.alpha, random_state=training.seed)
    name, finer, _ = training.model.partition("_50")
    return make_model(name, random_state=training.seed, n_jobs=1, defaults="ranking" if finer else "library")


def read_scores(folder: Path, training: Training) -> Scored:
    """Read the scores of a trained model."""
    with np.load(place_of(folder, training), allow_pickle=False) as file:
        values = {name: file[name] for name in Scored._fields}
    return Scored(**values)._replace(sha256=str(values["sha256"]))
