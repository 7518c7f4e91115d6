"""Optional packages: imported where used, with an error that names the extra to install."""

import importlib
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any, Literal

import narwhals as nw

from fairpot.exceptions import MissingDependencyError

_FRAME_LIBRARIES: tuple[Literal["pandas", "polars", "pyarrow"], ...] = ("pandas", "polars", "pyarrow")


def import_optional(module: str, extra: str) -> ModuleType:
    """Import ``module`` or say which extra of fairpot brings it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingDependencyError(
            f"this needs the package {module.split('.')[0]!r}, which is not installed.\n"
            f"Hint: pip install 'fairpot[{extra}]'"
        ) from error


def make_frame(columns: Mapping[str, Any]) -> Any:
    """Build a frame from columns with the frame library in use: pandas, else Polars, else PyArrow."""
    loaded = [name for name in _FRAME_LIBRARIES if name in sys.modules]
    for name in [*loaded, *_FRAME_LIBRARIES]:
        try:
            importlib.import_module(name)
        except ImportError:
            continue
        return nw.from_dict(dict(columns), backend=name).to_native()
    raise MissingDependencyError(
        "a frame needs pandas, Polars or PyArrow, and none of them is installed.\n"
        "Hint: pip install pandas; the arrays themselves are attributes and need nothing."
    )
