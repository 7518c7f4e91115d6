"""Codes for the values of group and label columns, kept from one Arrow batch to the next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Key = tuple[Any, ...]
# More combinations than this are no groups: somebody named a column of identifiers or of scores.
MOST_KEYS = 50_000


class KeyCoder:
    """Number the combinations of values of some columns in the order they are met.

    Parameters
    ----------
    names : sequence of str
        The columns, for error messages.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.keys: list[Key] = []
        self._places: dict[Key, int] = {}

    def encode(self, columns: Sequence[Any], rows: int) -> NDArray[np.int32]:
        """Return the number of each row's combination; missing values are values of their own."""
        if not columns:
            self._place(())
            return np.zeros(rows, dtype=np.int32)
        coded = [_dictionary(column) for column in columns]
        self.limit(max(len(values) for _, values in coded))
        sizes = [len(values) for _, values in coded]
        combined = coded[0][0]
        for (codes, _), size in zip(coded[1:], sizes[1:]):
            combined = combined * size + codes
        met, inverse = _distinct(combined, int(np.prod(sizes, dtype=np.int64)))
        places = np.empty(len(met), dtype=np.int32)
        for i, where in enumerate(zip(*np.unravel_index(met, sizes))):
            places[i] = self._place(tuple(values[int(j)] for j, (_, values) in zip(where, coded)))
        return places[inverse]

    def _place(self, key: Key) -> int:
        # 1, 1.0 and True are equal to Python but not to us; NaN is not even equal to itself.
        mark = tuple((type(v).__name__, repr(v)) for v in key)
        place = self._places.get(mark)
        if place is None:
            self.limit(len(self.keys) + 1)
            place = self._places[mark] = len(self.keys)
            self.keys.append(key)
        return place

    def limit(self, count: int) -> None:
        """Refuse more combinations than there can be groups."""
        if count > MOST_KEYS:
            raise ValueError(
                f"the columns {list(self.names)} have more than {MOST_KEYS:,} different values.\n"
                "Hint: groups and outcomes have few; was a column of identifiers or of scores named?"
            )


def _distinct(codes: NDArray[np.int64], size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct codes and each row's place among them; without a sort where codes are dense."""
    if size > max(4 * len(codes), 1 << 16):
        met, inverse = np.unique(codes, return_inverse=True)
        return met, inverse
    met = np.flatnonzero(np.bincount(codes, minlength=size))
    lookup = np.zeros(size, dtype=np.int64)
    lookup[met] = np.arange(len(met))
    return met, lookup[codes]


def _dictionary(column: Any) -> tuple[NDArray[np.int64], list[Any]]:
    """Code one Arrow column; a missing value gets a code like any other."""
    if hasattr(column, "combine_chunks") and hasattr(column, "chunks"):
        column = column.combine_chunks()
    if hasattr(column, "dictionary"):
        column = column.cast(column.type.value_type)
    encoded = column.dictionary_encode(null_encoding="encode")
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64), encoded.dictionary.to_pylist()
