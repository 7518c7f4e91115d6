"""Arguments of the library by the options they have on the command line."""

from __future__ import annotations

from typing import Any

from fairpot._arguments import NOTHING

_OPTIONS = {
    "pos_label": "--positive",
    "positive": "--positive",
    "overwrite": "--force",
    "cv": "--folds",
    "held_out": "--validate",
    "memory_limit": "--memory",
    "sensitive_features": "--group",
    "y": "--label",
    "y_true": "--label",
    "scores": "--score",
    "y_score": "--score",
}
_FLAGS = ("--force", "--replace")
_ASKED = {"--reference": "NAME", "--validate": "FILE", "--positive": "VALUE", "--sql": "'select ... from ...'"}


def as_option(name: str, value: Any = NOTHING) -> str:
    """Name an argument by its option.

    Examples
    --------
    >>> as_option("max_gap", 0.02), as_option("overwrite", True), as_option("reference", ...)
    ('--max-gap 0.02', '--force', '--reference NAME')
    """
    option = _OPTIONS.get(name, "--" + name.replace("_", "-"))
    if value is NOTHING or option in _FLAGS:
        return option
    if value is ...:
        return f"{option} {_ASKED.get(option, 'VALUE')}"
    return f"{option} {value!r}" if isinstance(value, str) else f"{option} {value}"
