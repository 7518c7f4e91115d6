"""Settings that stand beside the data: ``fairpot.toml`` gives options their defaults."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from fairpot.cli._errors import Failure

NAME = "fairpot.toml"
# Keys of the file, by the parameter of the commands that they set.
_COLUMNS = {"score": "score", "label": "label", "group": "groups", "weight": "weight", "positive": "positive"}
_OPTIONS = {
    "alpha": "alpha",
    "region": "region",
    "ties": "ties",
    "reference": "reference",
    "threshold": "threshold",
    "min_group": "min_group",
    "bound": "bound",
    "level": "level",
    "max_gap": "max_gap",
    "confidence": "confidence",
    "memory": "memory",
}


def find_settings(arguments: Sequence[str]) -> Path | None:
    """Find the settings that are named with --settings, else those beside the first file that is named."""
    for place, word in enumerate(arguments):
        if word == "--settings":
            return Path(arguments[place + 1]) if place + 1 < len(arguments) else None
        if word.startswith("--settings="):
            return Path(word.removeprefix("--settings="))
    for word in arguments[1:]:
        if not word.startswith("-") and os.path.exists(word):
            folder = Path(word) if os.path.isdir(word) else Path(word).parent
            if (folder / NAME).is_file():
                return folder / NAME
    return None


def read_settings(path: Path) -> dict[str, Any]:
    """Read a settings file; return defaults by the names of parameters.

    A file holds ``[columns]`` with score, label, group, weight, positive, and options such as ``alpha = 0.1`` or
    ``bound = 0.05`` at the top. A key that is not known is an error, so that a typing mistake is not a silent default.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}.\nHint: --settings names a file such as {NAME}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Failure(f"{path} is no TOML file: {error}.\nHint: lines such as alpha = 0.1, and [columns].") from error
    columns = content.pop("columns", {})
    if not isinstance(columns, dict):
        raise Failure(f"{path}: columns must be a section, [columns].")
    found = _renamed(columns, _COLUMNS, f"{path}, [columns]") | _renamed(content, _OPTIONS, str(path))
    if isinstance(found.get("groups"), str):
        found["groups"] = [found["groups"]]
    return found


def _renamed(given: dict[str, Any], known: dict[str, str], where: str) -> dict[str, Any]:
    unknown = [key for key in given if key not in known]
    if unknown:
        way_out = f"known are {', '.join(known)}"
        if unknown[0] in _COLUMNS:
            way_out = f"{unknown[0]} is the name of a column: put it under [columns]"
        raise Failure(f"{where} has a key that is not known, {unknown[0]!r}.\nHint: {way_out}.")
    return {known[key]: value for key, value in given.items()}


def settings_option(command: Any) -> Any:
    """Add --settings, which is read before the other options are."""
    text = f"File with defaults for options; without it, {NAME} beside the data is read."
    return click.option("--settings", metavar="FILE", expose_value=False, help=text)(command)
