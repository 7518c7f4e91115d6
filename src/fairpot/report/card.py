"""A model card: what the score is for, who owns it and what it must not be used for, as its owner wrote it."""

from __future__ import annotations

import datetime
import tomllib
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from fairpot._arguments import argument
from fairpot.exceptions import ModelFileError
from fairpot.modelfile.text import bytes_of

# What a card is asked for first; whatever else it holds follows under its own name.
FIRST = ("purpose", "owner", "not_for")
_MOST_BYTES = 20_000  # a page of text, and what a parser of TOML does not take long for
_EXAMPLE = 'Hint: purpose = "...", owner = "...", not_for = ["...", "..."].'


def read_card(card: Mapping[str, Any] | str | PathLike[str] | None) -> dict[str, list[str]] | None:
    """Read a card from a TOML file or a dict: each name with its lines of text, what matters most first."""
    if card is None:
        return None
    given = dict(card) if isinstance(card, Mapping) else _parsed(Path(card))
    lines = {str(name): _lines(str(name), value) for name, value in given.items()}
    if not any(lines.get(name) for name in FIRST):
        raise ValueError(f"{argument('card')} says none of {', '.join(FIRST)}.\n{_EXAMPLE}")
    order = [*(name for name in FIRST if name in lines), *(name for name in lines if name not in FIRST)]
    return {name: lines[name] for name in order if lines[name]}


def _parsed(path: Path) -> dict[str, Any]:
    if not path.exists():
        raise FileNotFoundError(f"{argument('card')}: {path} is not found.\n{_EXAMPLE}")
    try:
        return tomllib.loads(bytes_of(str(path), _MOST_BYTES, _EXAMPLE).decode("utf-8"))
    except ModelFileError as fault:
        said, _, _ = str(fault).partition("\nHint:")
        raise ValueError(f"{argument('card')} {str(path)!r}: {said}\n{_EXAMPLE}") from fault
    except (ValueError, RecursionError) as fault:  # numbers and dates that are none raise errors of their own
        raise ValueError(f"{argument('card')}: {path} is not TOML: {fault}\n{_EXAMPLE}") from None


def _lines(name: str, value: Any) -> list[str]:
    """Give what a card says under one name as lines of text."""
    several = value if isinstance(value, list | tuple) else [value]
    for each in several:
        if not isinstance(each, str | int | float | datetime.date) or isinstance(each, bool):
            kind = type(each).__name__
            raise ValueError(f"{argument('card')}: {name} must be text or a list of texts, got a {kind}.\n{_EXAMPLE}")
    return [text for text in (" ".join(str(each).split()) for each in several) if text]
