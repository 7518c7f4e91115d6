"""fairpot: audit and repair risk scores.

:func:`audit` tells whether positives of one group are ranked above negatives of another as often as the other way
round (xAUC); :class:`FairPOT` repairs the scores without retraining, with one dial. Rows, frames and files alike
become a :class:`ScoreTable` first (:func:`score_table`), and everything is computed from that.
"""

import importlib
from typing import Any

from fairpot._version import __version__ as __version__
from fairpot.auditing import audit, effect
from fairpot.comparison import compare
from fairpot.exceptions import InfeasibleRuleError, ModelFileError, UndefinedMetricWarning, UnseenGroupError
from fairpot.journeys import apply, score_table
from fairpot.postprocessing import FairPOT, FairScoreClassifier
from fairpot.postprocessing.fitted import load
from fairpot.table import ScoreTable
from fairpot.tradeoff import TradeoffCurve
from fairpot.transport import ScoreMap

__all__ = [
    "FairPOT",
    "FairScoreClassifier",
    "InfeasibleRuleError",
    "ModelFileError",
    "ScoreMap",
    "ScoreTable",
    "TradeoffCurve",
    "UndefinedMetricWarning",
    "UnseenGroupError",
    "apply",
    "audit",
    "compare",
    "effect",
    "load",
    "score_table",
]

# Parts that `import fairpot` does not load, but `fairpot.datasets` and the like reach.
_PARTS = (
    "datasets",
    "display",
    "engines",
    "experiments",
    "export",
    "files",
    "inference",
    "metrics",
    "models",
    "report",
    "training",
)


def __getattr__(name: str) -> Any:
    """Import a part when it is first asked for."""
    if name in _PARTS:
        return importlib.import_module(f"fairpot.{name}")
    raise AttributeError(f"module 'fairpot' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_PARTS, "__version__"])
