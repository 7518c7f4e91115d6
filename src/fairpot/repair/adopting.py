"""A fit that fails leaves an estimator as it was: learn on a copy, take it over at the end."""

from __future__ import annotations

from copy import copy
from typing import TypeVar

Estimator = TypeVar("Estimator")


def unfitted(estimator: Estimator) -> Estimator:
    """Return a copy with the parameters and settings, but nothing that was fitted."""
    fresh = copy(estimator)
    for name in _fitted(fresh):
        delattr(fresh, name)
    return fresh


def adopt(estimator: Estimator, fitted: Estimator) -> Estimator:
    """Take over what a copy has learnt, and forget what was known before."""
    for name in _fitted(estimator):
        delattr(estimator, name)
    vars(estimator).update({name: vars(fitted)[name] for name in _fitted(fitted)})
    return estimator


def _fitted(estimator: object) -> list[str]:
    return [name for name in vars(estimator) if name.endswith("_") and not name.startswith("_")]
