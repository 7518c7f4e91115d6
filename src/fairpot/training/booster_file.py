"""Fitted trees as a file: XGBoost's JSON inside ours."""

from __future__ import annotations

import json
import os
from os import PathLike
from typing import Any, TypeVar

import numpy as np

from fairpot._optional import import_optional
from fairpot.exceptions import ModelFileError
from fairpot.training.calibration import Sigmoid
from fairpot.training.saving import describe, plain_labels

FORMAT = "fairpot-partial-auc-booster"

Estimator = TypeVar("Estimator")


def save_booster(model: Any, path: str | PathLike[str], *, overwrite: bool) -> None:
    """Write fitted trees."""
    content = describe(model, FORMAT) | {
        "classes": plain_labels(model.classes_).tolist(),
        "best_round": model.best_round_,
        "history": {name: values.tolist() for name, values in model.history_.items()},
        "booster": json.loads(model.booster_.save_raw("json").decode()),
    }
    text = json.dumps(content, allow_nan=False)
    with open(path, "w" if overwrite else "x", encoding="utf-8") as file:
        file.write(text)


def load_booster(kind: type[Estimator], path: str | PathLike[str]) -> Estimator:
    """Read trees; whatever is wrong with the file is a ModelFileError that names it."""
    xgboost = import_optional("xgboost", "boost")
    try:
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
        if content.get("format") != FORMAT:
            raise ValueError(f"its header names {content.get('format')!r}")
        model: Any = kind(**content["parameters"])
        model.booster_ = xgboost.Booster(model_file=bytearray(json.dumps(content["booster"]).encode()))
        model.classes_ = np.array(content["classes"])
        model.sigmoid_ = Sigmoid(*map(float, content["sigmoid"]))
        model.best_round_ = int(content["best_round"])
        model.history_ = {name: np.array(values) for name, values in content["history"].items()}
        model.n_features_in_ = int(content["n_features_in"])
        if content["feature_names_in"] is not None:
            model.feature_names_in_ = np.array(content["feature_names_in"], dtype=object)
        return model
    except (ValueError, KeyError, TypeError, AttributeError, xgboost.core.XGBoostError) as error:
        raise ModelFileError(
            f"{os.fspath(path)!r} is no boosted partial-AUC model of this version: {error}.\n"
            "Hint: write one with PartialAUCBooster.save."
        ) from error
