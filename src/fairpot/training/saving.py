"""A fitted network as a file: arrays and a JSON header in one .npz, nothing that runs code when read."""

from __future__ import annotations

import json
import os
import zipfile
from os import PathLike
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from fairpot._version import __version__
from fairpot.exceptions import ModelFileError
from fairpot.training.calibration import Sigmoid
from fairpot.training.columns import Standardiser

FORMAT = "fairpot-partial-auc"
FORMAT_VERSION = 1

Estimator = TypeVar("Estimator")


def save_classifier(model: Any, path: str | PathLike[str], *, overwrite: bool) -> None:
    """Write a fitted network."""
    arrays: dict[str, NDArray[Any]] = {"classes": plain_labels(model.classes_)}
    for place, (weight, bias) in enumerate(model.layers_):
        arrays |= {f"weight_{place}": weight, f"bias_{place}": bias}
    arrays |= {name: getattr(model.standardiser_, name) for name in Standardiser._fields}
    arrays |= {f"history_{name}": values for name, values in model.history_.items()}
    own = {"layers": len(model.layers_), "best_epoch": model.best_epoch_}
    header = json.dumps(describe(model, FORMAT) | own, allow_nan=False)
    with open(path, "wb" if overwrite else "xb") as file:
        np.savez(file, allow_pickle=False, header=np.frombuffer(header.encode(), dtype=np.uint8), **arrays)


def load_classifier(kind: type[Estimator], path: str | PathLike[str]) -> Estimator:
    """Read a network; whatever is wrong with the file is a ModelFileError that names it."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        header = json.loads(arrays.pop("header").tobytes())
        if header.get("format") != FORMAT or header.get("format_version") != FORMAT_VERSION:
            raise ValueError(f"its header names {header.get('format')!r}, version {header.get('format_version')!r}")
        return _restore(kind, header, arrays)
    except (ValueError, KeyError, TypeError, AttributeError, EOFError, zipfile.BadZipFile) as error:
        raise ModelFileError(
            f"{os.fspath(path)!r} is no partial-AUC model of this version: {error}.\n"
            "Hint: write one with PartialAUCClassifier.save."
        ) from error


def describe(model: Any, form: str) -> dict[str, Any]:
    """Return what the files of both models say: format, parameters, calibration and columns."""
    parameters = model.get_params()
    seed = parameters["random_state"]
    parameters["random_state"] = int(seed) if isinstance(seed, int | np.integer) else None  # a generator has no text
    return {
        "format": form,
        "format_version": FORMAT_VERSION,
        "fairpot": __version__,
        "parameters": {name: _json_value(value) for name, value in parameters.items()},
        "sigmoid": list(model.sigmoid_),
        "n_features_in": model.n_features_in_,
        "feature_names_in": [str(n) for n in model.feature_names_in_] if hasattr(model, "feature_names_in_") else None,
    }


def _restore(kind: type[Estimator], header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Estimator:
    parameters = header["parameters"]
    parameters["hidden"] = tuple(parameters["hidden"])
    model: Any = kind(**parameters)
    model.classes_ = arrays["classes"]
    model.layers_ = [(arrays[f"weight_{i}"], arrays[f"bias_{i}"]) for i in range(header["layers"])]
    model.standardiser_ = Standardiser(*(arrays[name] for name in Standardiser._fields))
    model.sigmoid_ = Sigmoid(*map(float, header["sigmoid"]))
    prefix = "history_"
    model.history_ = {name.removeprefix(prefix): arrays[name] for name in arrays if name.startswith(prefix)}
    model.best_epoch_ = int(header["best_epoch"])
    model.n_features_in_ = int(header["n_features_in"])
    if header["feature_names_in"] is not None:
        model.feature_names_in_ = np.array(header["feature_names_in"], dtype=object)
    if model.layers_[0][0].shape[0] != model.standardiser_.width:
        raise ValueError("its first layer does not fit its columns")
    return model


def plain_labels(labels: NDArray[Any]) -> NDArray[Any]:
    """Return labels in a type that needs no pickle."""
    if labels.dtype != object:
        return labels
    if all(isinstance(label, str) for label in labels):
        return labels.astype(np.str_)
    raise ModelFileError(
        f"labels {labels.tolist()} of mixed or own types cannot be put into a file.\nHint: fit on 0 and 1, or on texts."
    )


def _json_value(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    return list(value) if isinstance(value, tuple | np.ndarray) else value
