"""How far a method is asked to go, and the settings it takes, read from the registry of methods."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any

import click
import click.shell_completion

from fairpot.cli._documents import Inline
from fairpot.cli._errors import NotCertified
from fairpot.cli._options import (
    FACTOR,
    INNER_SHARE,
    LEVEL,
    LIMIT,
    SCORE,
    SECTIONS,
    SHARE,
    Placed,
    was_given,
    with_options,
)
from fairpot.cli._printing import Output
from fairpot.cli._rows import RowOptions, RowsSaid
from fairpot.exceptions import InfeasibleRuleError
from fairpot.repair.estimator import Repair
from fairpot.repair.fitting import RULES
from fairpot.repair.registry import find_method, method_name, names, takes_reference
from fairpot.repair.registry import method as method_called
from fairpot.tradeoff.rules import Rule

# The options that set a dial; several methods may share one.
DIALS = ("lam", "t", "slope", "theta", "shift")
_HOW_FAR = [
    click.option(
        "--lam",
        type=SHARE,
        metavar="SHARE",
        help="Repair strength, 0 to 1 (fairpot); weight of the gap (xorder).",
    ),
    click.option(
        "--max-gap", type=SHARE, metavar="GAP", help="Target gap: take the highest AUC within it on these rows."
    ),
    click.option(
        "--max-auc-loss", type=SHARE, metavar="LOSS", help="Find the smallest gap that costs at most this much AUC."
    ),
    click.option(
        "--confidence",
        type=LEVEL,
        metavar="LEVEL",
        help="With --max-gap: certify it, tested on --validate or on folds that were not fitted.",
    ),
    click.option(
        "--net-benefit-at",
        type=INNER_SHARE,
        metavar="SCORE",
        help="With --max-gap: highest net benefit of acting from this probability on, not highest AUC.",
    ),
    click.option("--smallest-gap", is_flag=True, help="Take the smallest gap, whatever it costs."),
    click.option("--t", type=SHARE, metavar="SHARE", help="Share of the way (wasserstein)."),
    click.option("--theta", type=FACTOR, metavar="FACTOR", help="Factor on the odds (optimal-merge)."),
    click.option("--slope", type=LIMIT, metavar="SLOPE", help="Slope of the sigmoid (post-logit)."),
    click.option("--shift", type=SCORE, metavar="NUMBER", help="What is added to the log-odds (logit-shift)."),
    click.option("--strength", type=SCORE, metavar="NUMBER", help="The repair strength, whatever the method calls it."),
]
# What becomes of scores after their repair.
afterwards = click.option(
    "--keep",
    cls=Placed,
    section=SECTIONS[0],
    type=click.Choice(["grid", "probabilities"]),
    help="Keep scores on the grid that came in (deciles in, deciles out), or make them probabilities again.",
)
# Their parameters.
WISHES = (
    *("lam", "max_gap", "max_auc_loss", "net_benefit_at", "confidence", "smallest_gap"),
    *("t", "theta", "slope", "shift", "strength"),
)

# What is done while a choice is certified.
CERTIFYING = "certifying"


def how_far(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say how far to go."""
    return with_options(command, _HOW_FAR)


@dataclass(frozen=True)
class RuleSaid:
    """What chose the repair strength."""

    max_gap: float | None = None
    max_auc_loss: float | None = None
    net_benefit_at: float | None = None
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

    value: float | None = None
    rules: Mapping[str, Any] | None = None
    confidence: float | None = None

    @property
    def is_rule(self) -> bool:
        """Whether the dial is to be chosen."""
        return self.value is None

    def in_words(self, where: str = "") -> str:
        """Say what the rule asks for, and in which part of the list."""
        return Rule(**(self.rules or {})).in_words(where, self.confidence)

    def said(self) -> RuleSaid | None:
        """Return the rule for JSON."""
        if not self.is_rule:
            return None
        return RuleSaid(**(self.rules or {}), confidence=self.confidence, smallest_gap=not self.rules)


class MethodName(click.ParamType):  # type: ignore[type-arg]
    """The name of a method, as the command line or as Python calls it."""

    name = "method"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Find the method."""
        try:
            return method_name(find_method(str(value)))
        except ValueError:
            self.fail(f"{value!r} is not one of {', '.join(names())}.", param, ctx)

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """Show the names."""
        return "[" + "|".join(names()) + "]"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        """Complete a name."""
        return [click.shell_completion.CompletionItem(name) for name in names() if name.startswith(incomplete)]


def one_wish(method: str, given: Mapping[str, Any]) -> Wish:
    """Insist on one way to say how far to go, and on one that the method has; bounds on gap and AUC go together."""
    there = {name: value for name, value in given.items() if value is not None and value is not False}
    confidence = there.pop("confidence", None)
    if confidence is not None and "max_gap" not in there:
        raise click.UsageError("--confidence certifies a gap: it needs --max-gap.")
    if "net_benefit_at" in there and "max_gap" not in there:
        raise click.UsageError("--net-benefit-at takes the highest net benefit within a gap: it needs --max-gap.")
    made = method_called(method)
    dial = made.dial.name
    flags = f"--{dial}, --max-gap and/or --max-auc-loss, or --smallest-gap"
    rules = {name: value for name, value in there.items() if name in RULES}
    ways = [name for name in there if name not in RULES] + (["rules"] if rules else [])
    if len(ways) != 1:
        if not ways:
            raise click.UsageError(f"how far should the repair go? Add {flags}.")
        raise click.UsageError(f"how far should the repair go? Say it in one way: {flags}.")
    [way] = ways
    if way in DIALS and way != dial:
        raise click.UsageError(f"--{way} is not for {method}, which needs {flags}.")
    if way in ("rules", "smallest_gap"):
        return Wish(rules=rules, confidence=confidence)
    return Wish(value=there[way])


def settings_for(method: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Keep the settings that the method has; one that was asked for and that it does not have is an error."""
    made = method_called(method)
    known = set(inspect.signature(made).parameters)
    if not takes_reference(made):  # it moves all groups
        known.discard("reference")
    for name in given:
        if name not in known and was_given(name):
            raise click.UsageError(f"--{name.replace('_', '-')} is not for {method}.")
    return {name: value for name, value in given.items() if name in known}


def make_method(method: str, wish: Wish, settings: Mapping[str, Any]) -> Repair:
    """Make the estimator that was asked for."""
    made = method_called(method)
    rules = dict(wish.rules or {})
    if wish.is_rule and not rules and made._unasked is not None:
        rules = {"max_auc_loss": 1.0}  # the smallest gap, whatever it costs, where none is asked for by default
    given: dict[str, Any] = {made.dial.name: wish.value, **rules, "confidence": wish.confidence, **settings}
    return made(**given)


@contextmanager
def certifying(out: Output, wish: Wish, method: str, rows: RowOptions) -> Iterator[None]:
    """Answer with an exit code and a document of its own where a gap is to be certified and none can be."""
    try:
        yield
    except InfeasibleRuleError as error:
        if wish.confidence is None:
            raise
        missing = getattr(error, "shortfall", None)
        figures = None if missing is None else missing.to_dict()
        what = str(error).partition("\nHint:")[0]
        out.document(UncertifiedDocument(rows.said(), method, wish.said(), None, figures, what))
        raise NotCertified(str(error)) from error
