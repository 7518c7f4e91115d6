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
# Options at the top of the file, beside those of rows, which declare their keys themselves.
_OPTIONS = (
    "alpha",
    "region",
    "ties",
    "reference",
    "threshold",
    "min_group",
    "bound",
    "level",
    "max_gap",
    "confidence",
)


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

    A file holds ``[columns]`` with what a row is, ``[files]`` with how files are written, and options such as
    ``alpha = 0.1`` or ``bound = 0.05`` at the top. A key that is not known is an error, so that a typing mistake is
    not a silent default.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}.\nHint: --settings names a file such as {NAME}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Failure(f"{path} is no TOML file: {error}.\nHint: lines such as alpha = 0.1, and [columns].") from error
    keys = known_keys()
    found: dict[str, Any] = {}
    for section in ("columns", "files"):
        inside = content.pop(section, {})
        if not isinstance(inside, dict):
            raise Failure(f"{path}: {section} must be a section, [{section}].")
        found |= _renamed(inside, section, f"{path}, [{section}]", keys)
    return found | _renamed(content, "", str(path), keys)


def known_keys() -> dict[str, dict[str, str]]:
    """Return the parameters of commands by the keys that set them, for each section; "" is the top of the file."""
    from fairpot.cli._rows import ROW_OPTIONS  # loads much, and most runs have no settings

    keys: dict[str, dict[str, str]] = {"": {name: name for name in _OPTIONS}, "columns": {}, "files": {}}
    for option in ROW_OPTIONS:
        keys["" if option.section == "scan" else option.section][option.key] = option.name
    return keys


def _renamed(given: dict[str, Any], section: str, where: str, keys: dict[str, dict[str, str]]) -> dict[str, Any]:
    known = keys[section]
    for key in given:
        if key not in known:
            home = next((name for name, inside in keys.items() if key in inside), None)
            way_out = f"known are {', '.join(known)}"
            if home is not None:
                way_out = f"put {key} under [{home}]" if home else f"put {key} at the top, before any section"
            raise Failure(f"{where} has a key that is not known, {key!r}.\nHint: {way_out}.")
    return {known[key]: value for key, value in given.items()}


def settings_option(command: Any) -> Any:
    """Add --settings, which is read before the other options are."""
    text = f"File with defaults for options; without it, {NAME} beside the data is read."
    return click.option("--settings", metavar="FILE", help=text)(command)
