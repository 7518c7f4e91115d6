"""Exceptions and warnings of fairpot; each is also a built-in type, so both can be caught."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sklearn.exceptions import UndefinedMetricWarning as _Undefined

    class UndefinedMetricWarning(_Undefined):  # type: ignore[misc]
        """A metric has no pairs to count; the message names the empty cell and what was returned."""


def __getattr__(name: str) -> Any:
    """Make ``UndefinedMetricWarning`` a kind of scikit-learn's when it is first asked for.

    The other classes are wanted where nothing else of scikit-learn is, and loading it takes a while.
    """
    if name != "UndefinedMetricWarning":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sklearn.exceptions import UndefinedMetricWarning as Undefined

    says = "A metric has no pairs to count; the message names the empty cell and what was returned."
    made = type(name, (Undefined,), {"__module__": __name__, "__doc__": says})
    globals()[name] = made
    return made


class UnseenGroupError(ValueError):
    """Rows carry a group that was not there when the map was fitted."""


class MissingGroupError(ValueError):
    """Rows have no group."""


class InfeasibleRuleError(ValueError):
    """No lambda keeps the rule that was asked for; the message names the best that can be had.

    Where a certificate was asked for, ``shortfall`` has what is missing in figures.
    """

    def __init__(self, message: str = "", shortfall: Any = None) -> None:
        super().__init__(message)
        self.shortfall = shortfall


class MissingDependencyError(ImportError):
    """An optional package is needed for this call; the message names the extra to install."""


class ModelFileError(ValueError):
    """A model file cannot be used, or a model cannot be put into one; the message names the reason."""


class SignatureError(ModelFileError):
    """A signature is missing, is none, or does not fit the file and the key; the message names which."""


class InputFileError(ValueError):
    """Rows could not be read from a file, a query or standard input; the message names it and the way out."""


class UnreachableError(ConnectionError):
    """A cluster or a server does not answer; the message names it, why, and the way out."""


class OutputFileError(ValueError):
    """A file could not be written; the message names it, and nothing of it is left behind."""


class FairpotWarning(UserWarning):
    """Something that the caller should know before a result is trusted."""


class SmallGroupWarning(FairpotWarning):
    """A comparison rests on few positives or negatives of a group, or leaves small groups out."""


class ScaleWarning(FairpotWarning):
    """Scores seem to be on another scale than those a map was fitted on."""


class ReversedScoreWarning(FairpotWarning):
    """Scores rank the outcome worse than chance: perhaps low scores mean high risk."""


class PredictionsWarning(FairpotWarning):
    """Scores have one or two values only: they look like predictions."""


class TiesWarning(FairpotWarning):
    """Strict and half ties lead to different choices or disagree on what a repair costs."""
