"""Optional packages: imported where used, with an error that names the extra to install."""

import importlib
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any, Literal

from fairpot.exceptions import MissingDependencyError

_FRAME_LIBRARIES: tuple[Literal["pandas", "polars", "pyarrow"], ...] = ("pandas", "polars", "pyarrow")


def import_optional(module: str, extra: str | None = None, *, package: str | None = None) -> ModuleType:
    """Import ``module`` or say which extra of fairpot brings it; or which package, where no extra does."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        wanted = package or f"'fairpot[{extra}]'"
        raise MissingDependencyError(
            f"this needs the package {module.split('.')[0]!r}, which is not installed.\nHint: pip install {wanted}"
        ) from error


class Lazy:
    """An optional package that is imported when something of it is first asked for."""

    def __init__(self, module: str, extra: str | None = None) -> None:
        self._module, self._extra = module, extra

    def __getattr__(self, name: str) -> Any:
        found = getattr(import_optional(self._module, self._extra), name)
        setattr(self, name, found)
        return found


def make_frame(columns: Mapping[str, Any], *like: Any) -> Any:
    """Build a frame from columns with the library of the caller's own columns; else one in use, pandas first."""
    loaded = [name for name in _FRAME_LIBRARIES if name in sys.modules]
    own = [name for value in like for name in _FRAME_LIBRARIES if type(value).__module__.split(".")[0] == name]
    for name in [*own, *loaded, *_FRAME_LIBRARIES]:
        try:
            importlib.import_module(name)
        except ImportError:
            continue
        import narwhals as nw  # takes a while to load

        return nw.from_dict(dict(columns), backend=name).to_native()
    raise MissingDependencyError(
        "a frame needs pandas, Polars or PyArrow, and none of them is installed.\n"
        "Hint: pip install pandas; the arrays themselves are attributes and need nothing."
    )
