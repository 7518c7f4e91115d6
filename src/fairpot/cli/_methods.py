"""How far a method is asked to go, and the settings it takes, read from the registry of methods."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Annotated, Any

import click

from fairpot.cli._errors import NotCertified
from fairpot.cli._options import LEVEL, SCORE, SHARE, Kind, flag_of, option, together, was_given
from fairpot.cli._printing import Inline, Output
from fairpot.cli._rows import RowOptions, RowsSaid
from fairpot.exceptions import InfeasibleRuleError, ReversedScoreWarning, SmallGroupWarning
from fairpot.repair.estimator import Repair
from fairpot.repair.fitting import RULES
from fairpot.repair.registry import find_method, hint_for, method_name, names, takes_reference
from fairpot.repair.registry import method as method_called
from fairpot.tradeoff.rules import Rule


class MethodName(Kind):
    """The name of a method, as the command line or as Python calls it; looked for when it is asked for."""

    def __init__(self) -> None:
        super().__init__("method", self._find)

    def _find(self, value: Any) -> str:
        try:
            return method_name(find_method(str(value)))
        except ValueError:
            raise ValueError(f"{value!r} is not one of {', '.join(names())}.\n{hint_for(str(value))}") from None

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        return "[" + "|".join(names()) + "]"


method_option = option("--method", "How scores are repaired.", type=MethodName(), default="fairpot")
how_far = together(
    option("--lam SHARE", "Repair strength, 0 to 1, of a method that calls it lam.", type=SHARE),
    option("--max-gap GAP", "Target gap: take the highest AUC within it on these rows.", type=SHARE),
    option("--max-auc-loss LOSS", "Find the smallest gap that costs at most this much AUC.", type=SHARE),
    option("--confidence LEVEL", "With --max-gap: certify it, tested on --validate or on folds left out.", type=LEVEL),
    option("--smallest-gap", "Take the smallest gap, whatever it costs.", rare=True),
    option("--strength NUMBER", "The repair strength, whatever the method calls it.", type=SCORE, rare=True),
)
WISHES = ("lam", "max_gap", "max_auc_loss", "confidence", "smallest_gap", "strength")
# What becomes of scores after their repair.
keep_option = functools.partial(
    option,
    "--keep grid|probabilities",
    "Keep scores on the grid that came in (deciles in, deciles out), or make them probabilities again.",
)


@dataclass(frozen=True)
class RuleSaid:
    """What chose the repair strength."""

    max_gap: float | None = None
    max_auc_loss: float | None = None
    confidence: float | None = None
    smallest_gap: bool = False


@dataclass(frozen=True)
class UncertifiedDocument:
    """With exit code 4: why no repair can be certified, and what is missing."""

    said: Annotated[RowsSaid, Inline]
    method: str
    rule: RuleSaid | None
    certificate: None
    shortfall: Mapping[str, Any] | None
    message: str


@dataclass(frozen=True)
class Wish:
    """How far a repair is to go: a value of the dial, or rules that choose one."""

    method: str
    value: float | None = None
    rules: Mapping[str, Any] = field(default_factory=dict)
    confidence: float | None = None

    def in_words(self, where: str = "") -> str:
        """Say what the rule asks for, and in which part of the list."""
        return Rule(**self.rules).in_words(where, self.confidence)

    def said(self) -> RuleSaid | None:
        if self.value is not None:
            return None
        return RuleSaid(**self.rules, confidence=self.confidence, smallest_gap=not self.rules)

    def make(self, settings: Mapping[str, Any]) -> Repair:
        made = method_called(self.method)
        own = settings_for(self.method, settings)
        given: dict[str, Any] = {made.dial.name: self.value, **self.rules, "confidence": self.confidence, **own}
        return made(**given)

    @contextmanager
    def fitting(self, out: Output, rows: RowOptions) -> Iterator[None]:
        """Show how far a fit is, whose warnings stand in the answer; what is not certified has its own document."""
        sure = self.confidence is not None
        try:
            with out.progress("certifying" if sure else "fitting", known=False), warnings.catch_warnings():
                warnings.simplefilter("ignore", SmallGroupWarning)
                warnings.simplefilter("ignore", ReversedScoreWarning)
                yield
        except InfeasibleRuleError as error:
            if not sure:
                raise
            missing = getattr(error, "shortfall", None)
            figures = None if missing is None else missing.to_dict()
            what = str(error).partition("\nHint:")[0]
            out.document(UncertifiedDocument(rows.said(), self.method, self.said(), None, figures, what))
            raise NotCertified(str(error)) from error


def asked(given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if value is not None and value is not False}


def one_wish(method: str, given: Mapping[str, Any]) -> Wish:
    """Insist on one way to say how far to go, and on one that the method has; bounds on gap and AUC go together."""
    there = asked(given)
    confidence = there.pop("confidence", None)
    if confidence is not None and "max_gap" not in there:
        raise click.UsageError("--confidence certifies a gap: it needs --max-gap.")
    own = "lam" if method_called(method).dial.name == "lam" else "strength"
    flags = f"--{own}, --max-gap and/or --max-auc-loss, or --smallest-gap"
    rules = {name: there.pop(name) for name in RULES if name in there}
    ways = [*there, *(["rules"] if rules else [])]
    if len(ways) != 1:
        how = f"Say it in one way: {flags}." if ways else f"Add {flags}."
        raise click.UsageError(f"how far should the repair go? {how}")
    if "lam" in there and own != "lam":
        raise click.UsageError(f"--lam is not for {method}, which needs {flags}.")
    return Wish(method, there.get("lam", there.get("strength")), rules, confidence)


def settings_for(method: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Keep the settings that the method has; one that was asked for and that it does not have is an error."""
    made = method_called(method)
    known = set(inspect.signature(made).parameters)
    if not takes_reference(made):  # it moves all groups
        known.discard("reference")
    for name in given:
        if name not in known and was_given(name):
            raise click.UsageError(f"{flag_of(name)} is not for {method}.")
    return {name: value for name, value in given.items() if name in known}
