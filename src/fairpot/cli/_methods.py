"""Methods by the names they have on the command line, and how far each is asked to go."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import click
import numpy as np

from fairpot._table_fit import fit_table
from fairpot.comparison.methods import SMALL_LAMS
from fairpot.postprocessing import FairPOT, OptimalMerge, PostLogit, WassersteinRepair, XOrder
from fairpot.table import ScoreTable

RULES = ("max_gap", "max_auc_loss", "smallest_gap")


@dataclass(frozen=True)
class Method:
    """A method: its class, its dial, what that is called as an option, and which settings it takes."""

    make: type[Any]
    dial: str
    option: str
    settings: tuple[str, ...]
    has_rules: bool = False  # whether its own fit chooses the dial by max_gap and max_auc_loss


METHODS: Mapping[str, Method] = {
    "fairpot": Method(
        FairPOT, "lam", "lam", ("alpha", "region", "threshold", "monotone", "reference", "ties"), has_rules=True
    ),
    "optimal-merge": Method(OptimalMerge, "theta", "theta", ("reference", "ties"), has_rules=True),
    "post-logit": Method(PostLogit, "alpha", "slope", ("reference", "ties")),
    "wasserstein": Method(WassersteinRepair, "t", "t", ()),
    "xorder": Method(XOrder, "lam", "lam", ("reference", "ties")),
}


@dataclass(frozen=True)
class Wish:
    """How far a repair is to go: a value of the dial, or a rule that chooses one."""

    name: str
    value: float | None = None

    @property
    def is_rule(self) -> bool:
        """Whether the dial is to be chosen."""
        return self.name in RULES

    def rules(self) -> dict[str, float | None]:
        """Return the arguments of a choice by rule; without any it is the smallest gap."""
        return {self.name: self.value} if self.is_rule and self.name != "smallest_gap" else {}


# Nearly all that xOrder's dial does happens near 0, more so the smaller a group is.
XORDER_LAMS = np.union1d(SMALL_LAMS, np.arange(11) / 10)


def one_wish(method: str, given: Mapping[str, Any]) -> Wish:
    """Insist on exactly one way to say how far to go, and on one that the method has."""
    there = {name: value for name, value in given.items() if value is not None and value is not False}
    wishes = [Wish(name, None if value is True else value) for name, value in there.items()]
    flags = ", ".join(f"--{name.replace('_', '-')}" for name in (METHODS[method].option, *RULES))
    if len(wishes) != 1:
        what = "no way" if not wishes else "more than one way"
        raise click.UsageError(f"{what} is given to say how far to go: {method} needs exactly one of {flags}.")
    [wish] = wishes
    if not wish.is_rule and wish.name != METHODS[method].option:
        raise click.UsageError(f"--{wish.name} is not for {method}, which needs exactly one of {flags}.")
    return wish


def settings_for(method: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Keep the settings that were given; one that the method does not have is an error."""
    for name, value in given.items():
        if value not in (None, False, "pooled", "batch", "strict") and name not in METHODS[method].settings:
            raise click.UsageError(f"--{_OPTION.get(name, name)} is not for {method}.")
    return {name: value for name, value in given.items() if name in METHODS[method].settings}


_OPTION = {"threshold": "region-from"}


def fit_method(
    method: str, wish: Wish, settings: Mapping[str, Hashable], table: ScoreTable, *, ties: str = "strict"
) -> Any:
    """Fit a method on a table; where its own fit cannot choose the dial, read it off the trade-off curve."""
    chosen = METHODS[method]
    if not wish.is_rule:
        return fit_table(chosen.make(**{chosen.dial: wish.value}, **settings), table)
    if chosen.has_rules:
        return fit_table(chosen.make(**{chosen.dial: None}, **wish.rules(), **settings), table)
    model = fit_table(chosen.make(**settings), table)
    grid = {"lams": XORDER_LAMS} if method == "xorder" else {}
    point = model.tradeoff(ties=ties, **grid).select(**wish.rules())
    return fit_table(model.set_params(**{chosen.dial: point.lam}), table)
