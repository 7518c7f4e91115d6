"""The paper's tables and figures, rerun: plan -> scores -> runs -> records -> tables, figures and the pages of claims.

:func:`reproduce` trains and runs what is missing in a folder; :func:`write_outputs` writes the rest from its records,
and :func:`read_frames` returns the tables. Names are imported when they are first used: a worker needs few of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairpot_paper.outputs import publish, read_frames, read_records, write_outputs, write_pages
    from fairpot_paper.plan import make_plan
    from fairpot_paper.post_logit import PostLogit
    from fairpot_paper.rerun import Outcome, reproduce
    from fairpot_paper.xorder import XOrder

__all__ = [
    "Outcome",
    "PostLogit",
    "XOrder",
    "make_plan",
    "publish",
    "read_frames",
    "read_records",
    "reproduce",
    "write_outputs",
    "write_pages",
]

__version__ = "0.3.0"

_HOMES = {
    "Outcome": "rerun",
    "PostLogit": "post_logit",
    "XOrder": "xorder",
    "make_plan": "plan",
    "publish": "outputs",
    "read_frames": "outputs",
    "read_records": "outputs",
    "reproduce": "rerun",
    "write_outputs": "outputs",
    "write_pages": "outputs",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
