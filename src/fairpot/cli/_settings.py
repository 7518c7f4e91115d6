"""Settings in the working directory, or named: ``fairpot.toml`` gives options their defaults."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Any

import click

from fairpot.cli._errors import Failure, one_line, tell_user
from fairpot.cli._options import output_option, together

NAME = "fairpot.toml"
TOLD = "settings are told"
_PLAIN = (str, int, float, bool)
_LARGEST = 10**15
Settings = dict[str, Any]  # values by the names of options
# Options at the top of the file, beside those of rows and of gates, which declare their keys themselves.
_OPTIONS = ("top", "top_of", "ties", "reference", "threshold", "min_group", "level", "max_gap", "confidence")


def said_early(arguments: Sequence[str], option: str) -> list[str]:
    """Find what an option was given, before options are read."""
    words = [*takewhile(lambda word: word != "--", arguments), ""]
    return [
        after if word == option else word.removeprefix(f"{option}=")
        for word, after in pairwise(words)
        if word.partition("=")[0] == option
    ]


def find_settings(arguments: Sequence[str]) -> Path | None:
    """Find the settings named with --settings, else in the working directory; those beside data may be a stranger's."""
    words = list(takewhile(lambda word: word != "--", arguments))  # what follows are names of files
    named = said_early(arguments, "--settings")
    if named and "--no-settings" in words:
        raise Failure("--settings names a file, and --no-settings says to use none.\nHint: give one of the two.")
    if named:
        return Path(named[0]) if named[0] or "--settings=" in words else None
    if "--no-settings" in words or not os.path.lexists(NAME):
        return None
    if os.path.islink(NAME):
        raise Failure(f"{NAME} in this folder is a link.\nHint: name the file itself: --settings {NAME}")
    return Path(NAME)


def read_settings(path: Path) -> Settings:
    """Read a settings file; return defaults by the names of parameters. A key that is not known is an error."""
    from fairpot.modelfile.files import toml_of  # loads much, and most runs have no settings

    hint = "Hint: --settings names a file with lines such as top = 0.1, and sections such as [columns]."
    try:
        content = toml_of(str(path), "the settings", hint)
    except ValueError as error:
        raise Failure(str(error)) from error
    keys = known_keys()
    found: Settings = {}
    for section in ("columns", "files"):
        inside = content.pop(section, {})
        if not isinstance(inside, dict):
            raise Failure(
                f'{path}: {section} must be a section.\nHint: a line [{section}], and lines such as score = "risk".'
            )
        found |= _renamed(inside, section, f"{path}, [{section}]", keys)
    return found | _renamed(content, "", str(path), keys)


def in_force(context: click.Context | None) -> Settings | None:
    """Return the settings file and what of it holds in this command; None without one."""
    if context is None or NAME not in context.meta:
        return None
    names = {option: key for inside in known_keys().values() for key, option in inside.items()}
    given = {
        names.get(name, name): (list(value) if name != "score" or len(value) > 1 else value[0])
        if isinstance(value, tuple)
        else value
        for name, value in context.params.items()
        if context.get_parameter_source(name) is click.core.ParameterSource.DEFAULT_MAP
    }
    return {"file": context.meta[NAME], "in_force": given}


def settings_matter() -> bool:
    """Whether a settings file is in force or was refused: another command may then not take a default for one."""
    context, typed = click.get_current_context(), click.core.ParameterSource.COMMANDLINE
    return NAME in context.meta or context.get_parameter_source("no_settings") is typed


# What means something only where outcomes are known.
OF_OUTCOMES = ("label", "positive", "event", "top_of", "ties", "fail_above", "fail_metric", "bound", "allow_chance")
# Options that say by themselves how far a repair goes.
_DECIDE = ("lam", "strength", "smallest_gap")


def drop_idle(values: Settings) -> None:
    """Take back settings that this command line leaves no use for: they give way to what is typed."""
    context = click.get_current_context()
    typed, setting = click.core.ParameterSource.COMMANDLINE, click.core.ParameterSource.DEFAULT_MAP
    source = {name: context.get_parameter_source(name) for name in values}
    fitted = source.get("model_file") is typed
    if values.get("rule") is not None and not any(source.get(name) is typed for name in OF_OUTCOMES):
        from fairpot.results.ruled import read_rule

        values["no_label"] = values["no_label"] or not read_rule(values["rule"]).needs_outcomes
    blind = bool(values.get("no_label"))
    aimless = fitted or any(source.get(name) is typed for name in _DECIDE)
    several = "no_label" in values and len(values["score"]) > 1
    one_gap = blind or several
    idle = {
        "max_gap": aimless,
        "confidence": values.get("max_gap") is None or (aimless and source.get("max_gap") is setting),
        **dict.fromkeys(("reference", "min_group"), fitted),
        "top_of": fitted or blind or not values.get("top"),
        "threshold": values.get("changes", "") is None,
        **dict.fromkeys(("bound", "fail_above"), one_gap),
        **dict.fromkeys(("min_ratio", "rule"), several),
        "fail_metric": one_gap or all(values.get(name) is None for name in ("bound", "fail_above")),
        "allow_chance": one_gap or all(values.get(name) is None for name in ("bound", "fail_above")),
        "require": several or all(values.get(name) is None for name in ("bound", "min_ratio")),
        **dict.fromkeys(("label", "positive", "ties"), blind),
    }
    usual = {"top_of": "all", "ties": "half", "min_group": 0, "allow_chance": False}
    for name in (name for name, unused in idle.items() if unused and source.get(name) is setting):
        values[name] = usual.get(name)
        context.set_parameter_source(name, click.core.ParameterSource.DEFAULT)


def tell_settings() -> None:
    """Say on standard error which settings hold, whatever else is quiet: they may decide a gate."""
    context = click.get_current_context()
    settings = in_force(context)
    if settings is not None and settings["in_force"]:
        held = ", ".join(f"{key} = {value!r:.200}" for key, value in settings["in_force"].items())
        tell_user("settings", f"{one_line(settings['file'])} ({held})")
        context.meta[TOLD] = True


def known_keys() -> dict[str, dict[str, str]]:
    """Return the parameters of commands by the keys that set them, for each section; "" is the top of the file."""
    from fairpot.cli._gates import GATES  # they load much, and most runs have no settings
    from fairpot.cli._rows import ROW_OPTIONS

    keys: dict[str, dict[str, str]] = {"": {name: name for name in _OPTIONS}, "columns": {}, "files": {}}
    keys[""] |= {each.metadata["key"]: each.name for each in GATES}
    for option in ROW_OPTIONS:
        keys["" if option.section == "scan" else option.section][option.key] = option.name
    return keys


def _renamed(given: Settings, section: str, where: str, keys: dict[str, dict[str, str]]) -> Settings:
    known = keys[section]
    for key, value in given.items():
        if key not in known:
            home = next((name for name, inside in keys.items() if key in inside), None)
            way_out = f"known are {', '.join(known)}"
            if home is not None:
                way_out = f"put {key} under [{home}]" if home else f"put {key} at the top, before any section"
            raise Failure(f"{where} has a key that is not known, {key!r:.60}.\nHint: {way_out}.")
        for each in value if isinstance(value, list) else [value]:
            if not isinstance(each, _PLAIN):
                raise Failure(
                    f"{where}: {key} must be a text, a number, true or false, or a list of them.\n"
                    f'Hint: write {key} = 0.1, or {key} = "risk".'
                )
            if type(each) is int and abs(each) > _LARGEST:
                raise Failure(f"{where}: {key} is a number beyond {_LARGEST:,}.\nHint: give a smaller one.")
    return {known[key]: value for key, value in given.items()}


settings_option = together(
    output_option(
        "--settings FILE", f"File with defaults for options; without it, {NAME} in the working directory.", rare=True
    ),
    output_option("--no-settings", f"Ignore {NAME} in the working directory.", rare=True),
)
