"""Parameters of a method as JSON: single values, lists, and one value for each group."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from fairpot._validation.groups import sort_key
from fairpot.exceptions import ModelFileError
from fairpot.modelfile.checks import check_by_group, check_list, check_number, check_object, check_text, shown


def plain_group(group: Any) -> Any:
    """Turn a NumPy scalar into the Python value it stands for."""
    return group.item() if isinstance(group, np.generic) else group


def encode(value: Any, where: str) -> Any:
    """Turn a parameter into JSON; a dict of groups becomes a list, so that groups keep their types.

    >>> encode({"M": 0.5, "F": 1}, "lam")
    {'by_group': [{'group': 'F', 'value': 1}, {'group': 'M', 'value': 0.5}]}
    """
    value = plain_group(value)
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, Mapping):
        plain = {plain_group(group): encode(each, where) for group, each in value.items()}
        order = sorted(plain, key=sort_key)
        return {"by_group": [{"group": group, "value": plain[group]} for group in order]}
    column = np.asarray(value)
    if column.ndim != 1 or isinstance(value, bytes):
        raise ModelFileError(
            f"{where} cannot be put into a model file: {shown(value)} is {type(value).__name__}.\n"
            "Hint: use text, numbers, booleans, lists of them, or a dict of groups."
        )
    return [_scalar(plain_group(each), where) for each in column.tolist()]


def decode(value: Any, where: str) -> Any:
    """Check a parameter and turn it back; the reverse of :func:`encode`."""
    if isinstance(value, list):
        return [_scalar(each, where) for each in check_list(value, where)]
    if isinstance(value, dict):
        found: dict[Hashable, Any] = check_by_group(
            check_object(value, where, ("by_group",))["by_group"], where, "value"
        )
        return {group: _scalar(each, where) for group, each in found.items()}
    return _scalar(value, where)


def _scalar(value: Any, where: str) -> Any:
    """Check null, a boolean, a text or a number."""
    if value is None or isinstance(value, bool):
        return value
    return check_text(value, where) if isinstance(value, str) else check_number(value, where)
