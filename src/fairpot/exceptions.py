"""Exceptions and warnings of fairpot; each is also a built-in type, so both can be caught."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sklearn.exceptions import UndefinedMetricWarning as _Undefined

    class UndefinedMetricWarning(_Undefined):  # type: ignore[misc]
        """Tell that a metric has no pairs to count."""


_UNDEFINED = "Tell that a metric has no pairs to count; the message names the empty cell and what was returned."


def __getattr__(name: str) -> Any:
    """Make ``UndefinedMetricWarning`` a kind of scikit-learn's when it is first asked for.

    The other classes are wanted where nothing else of scikit-learn is, and loading it takes a while.
    """
    if name != "UndefinedMetricWarning":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sklearn.exceptions import UndefinedMetricWarning as Undefined

    made = type(name, (Undefined,), {"__module__": __name__, "__doc__": _UNDEFINED})
    globals()[name] = made
    return made


class UnseenGroupError(ValueError):
    """Tell that rows carry a group that was not seen when the map was fitted."""


class MissingGroupError(ValueError):
    """Tell that rows have no group."""


class InfeasibleRuleError(ValueError):
    """Tell that no repair strength keeps the rule that was asked for; the message names the best there is.

    Where a certificate was asked for, ``shortfall`` has what is missing in figures.
    """

    def __init__(self, message: str = "", shortfall: Any = None) -> None:
        super().__init__(message)
        self.shortfall = shortfall


class MissingDependencyError(ImportError):
    """Tell that this call needs an optional package; the message names the extra to install."""


class ModelFileError(ValueError):
    """Tell that a map file cannot be used, or a model cannot be stored in one; the message names the reason."""


class InputFileError(ValueError):
    """Tell that rows could not be read from a file, a query or standard input; the message says how to go on."""


class UnreachableError(ConnectionError):
    """Tell that a cluster or a server does not answer; the message names it, why, and what to do."""


class OutputFileError(ValueError):
    """Tell that a file could not be written; the message names it, and no part of it is left on the disk."""


class FairpotWarning(UserWarning):
    """Tell what you should know before you trust a result; the parent of fairpot's other warnings."""


class SmallGroupWarning(FairpotWarning):
    """Tell that a comparison depends on few rows of a group, or leaves small groups out."""


class ScaleWarning(FairpotWarning):
    """Tell that scores seem to be on another scale than those a map was fitted on."""


class ReversedScoreWarning(FairpotWarning):
    """Tell that scores rank the outcome worse than chance: perhaps low scores mean high risk."""


class PredictionsWarning(FairpotWarning):
    """Tell that scores have one or two values only: they look like predictions."""
