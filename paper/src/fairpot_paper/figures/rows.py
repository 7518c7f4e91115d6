"""Tidy columns, looked up by key: which rows a picture is drawn from, by their places."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Columns = Mapping[str, Sequence[Any]]
Places = NDArray[np.intp]
CURVE_KEYS = ("data", "model", "region", "source", "ties", "method")
ALPHA_KEYS = ("data", "model", "region", "ties")


class Rows:
    """Columns of the same length, with the places of the rows that share a key.

    Examples
    --------
    >>> rows = Rows({"data": ["bank", "bank", "compas"], "auc": [0.8, 0.7, 0.6]}, ["data"])
    >>> rows.values("auc", rows.at("bank"))
    array([0.8, 0.7])
    """

    def __init__(self, columns: Columns, keys: Sequence[str]) -> None:
        self.columns = columns
        found: dict[tuple[Any, ...], list[int]] = {}
        for place, key in enumerate(zip(*(columns.get(name, ()) for name in keys))):
            found.setdefault(key, []).append(place)
        self._places = {key: np.array(places, dtype=np.intp) for key, places in found.items()}
        self._numbers: dict[str, NDArray[np.float64]] = {}

    def at(self, *key: str) -> Places:
        """Return the places of the rows with this key, in their order; none where there are none."""
        return self._places.get(key, np.zeros(0, dtype=np.intp))

    def values(self, name: str, places: Places) -> NDArray[np.float64]:
        """Return the numbers of one column at these places."""
        if not len(places):  # a table without rows need not have columns
            return np.zeros(0)
        if name not in self._numbers:
            self._numbers[name] = np.asarray(self.columns[name], dtype=np.float64)
        return self._numbers[name][places]

    def known(self, places: Places, *names: str) -> Places:
        """Leave out the rows in which one of these columns is not a number."""
        good = np.ones(len(places), dtype=bool)
        for name in names:
            good &= np.isfinite(self.values(name, places))
        return places[good]


def write_rows(columns: Columns, places: Iterable[int], path: Path) -> Path:
    """Write the rows at these places as CSV; a number that is not there is an empty field."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        for place in places:
            writer.writerow(_field(values[place]) for values in columns.values())
    return path


def _field(value: Any) -> Any:
    return "" if isinstance(value, float) and math.isnan(value) else value
