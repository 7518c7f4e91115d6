"""fairpot: audit and repair risk scores.

:func:`audit` tells whether positives of one group are ranked above negatives of another as often as the other way
round (xAUC); :class:`FairPOT` repairs the scores without retraining, with one dial. Rows, frames and files alike
become a :class:`ScoreTable` first (:func:`score_table`), and everything is computed from that.

Names are imported when they are first used, so that ``import fairpot`` and ``fairpot --help`` cost next to nothing.
"""

import importlib
from typing import TYPE_CHECKING, Any

from fairpot._moved import MOVED, WHERE
from fairpot._version import __version__ as __version__

if TYPE_CHECKING:
    from fairpot.comparison import compare
    from fairpot.exceptions import InfeasibleRuleError, ModelFileError, UndefinedMetricWarning, UnseenGroupError
    from fairpot.methods import FairPOT, LogitShift, OptimalMerge, WassersteinRepair
    from fairpot.repair import FairMaps, FairScoreClassifier, load
    from fairpot.report import FairnessReport
    from fairpot.results.audit import audit
    from fairpot.results.effect import effect
    from fairpot.rows import apply, score_table
    from fairpot.table import ScoreTable
    from fairpot.tradeoff import TradeoffCurve
    from fairpot.transport import ScoreMap

__all__ = [
    "FairMaps",
    "FairPOT",
    "FairScoreClassifier",
    "FairnessReport",
    "InfeasibleRuleError",
    "LogitShift",
    "ModelFileError",
    "OptimalMerge",
    "ScoreMap",
    "ScoreTable",
    "TradeoffCurve",
    "UndefinedMetricWarning",
    "UnseenGroupError",
    "WassersteinRepair",
    "apply",
    "audit",
    "compare",
    "effect",
    "load",
    "score_table",
]

_PARTS = (
    *("datasets", "exceptions", "export", "inference", "methods", "metrics"),
    *("repair", "report", "rows", "tradeoff", "transport"),
)
_NAMES = {
    "comparison": ["compare"],
    "exceptions": ["InfeasibleRuleError", "ModelFileError", "UndefinedMetricWarning", "UnseenGroupError"],
    "methods": ["FairPOT", "LogitShift", "OptimalMerge", "WassersteinRepair"],
    "repair": ["FairMaps", "FairScoreClassifier", "load"],
    "report": ["FairnessReport"],
    "results": ["audit", "effect"],
    "rows": ["apply", "score_table"],
    "table": ["ScoreTable"],
    "tradeoff": ["TradeoffCurve"],
    "transport": ["ScoreMap"],
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a public name, or a part of the library, when it is first asked for."""
    if name in _HOMES:
        value = getattr(importlib.import_module(f"fairpot.{_HOMES[name]}"), name)
        globals()[name] = value
        return value
    if name in _PARTS:
        return importlib.import_module(f"fairpot.{name}")
    if name in MOVED:  # of an AttributeError, `from fairpot import ...` would not show what it says
        raise ImportError(f"{name} {WHERE}; then `from fairpot_paper import {name}`.")
    raise AttributeError(f"module 'fairpot' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_PARTS, "__version__"])
