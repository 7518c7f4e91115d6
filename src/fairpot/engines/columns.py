"""Columns by their name: where one is, or which come near."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from fairpot.exceptions import InputFileError


def find_column(name: str, columns: Sequence[str], where: str) -> int:
    """Return the place of a column; if there is none of that name, say which come near."""
    places = [i for i, column in enumerate(columns) if column == name]
    if len(places) == 1:
        return places[0]
    if places:
        raise InputFileError(f"{where} has {len(places)} columns named {name!r}.\nHint: rename one of them.")
    folded = {column.casefold(): column for column in columns}
    near = [folded[c] for c in difflib.get_close_matches(name.casefold(), list(folded), n=3, cutoff=0.5)]
    shown = ", ".join(map(repr, columns[:12])) + (f" and {len(columns) - 12} more" if len(columns) > 12 else "")
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else "names are compared letter by letter."
    raise InputFileError(f"{where} has no column {name!r} (columns: {shown}).\nHint: {hint}")
