"""A dial for each of several groups: the choice by rule, and the way from nothing to the smallest gap."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from fairpot._arguments import argument
from fairpot._defaults import Ties
from fairpot.exceptions import InfeasibleRuleError
from fairpot.metrics.wins import WinMatrix
from fairpot.table import ScoreTable
from fairpot.tradeoff.curve import TradeoffCurve
from fairpot.tradeoff.together import Aim, Found, Together
from fairpot.transport import Floats

if TYPE_CHECKING:
    from fairpot.postprocessing.dial import Value
    from fairpot.postprocessing.postprocessor import Postprocessor

# Where a curve of own dials is traced, as shares of the way from the gap as it is to the smallest there is.
SHARES = np.linspace(0.0, 1.0, 33)
# Whole tables are counted so many times at most, until one keeps what its fewer entries keep.
_CHECKS = 8
_LEAST_STEP = 1e-6
# A gap on fewer entries that is above the bound by more than this is so on the whole table.
_WORTH_A_CHECK = 2e-3
_ROUND_OFF = 1e-12
# Where a rule of an operation looks besides, as shares of the way to the smallest gap.
_EITHER_WAY = np.arange(-20, 31) / 10
# How often a common dial is looked at more closely, and at how many values.
_CLOSER, _VALUES = 3, 21


def has_own_dials(model: Postprocessor, table: ScoreTable) -> bool:
    """Whether a method finds a value of its dial for each of several moved groups."""
    return getattr(model, "common_dial", None) is False and len(table.groups) > 2


def has_common_dial(model: Postprocessor, table: ScoreTable) -> bool:
    """Whether a method that could is asked to find one value for all of several moved groups."""
    return getattr(model, "common_dial", None) is True and len(table.groups) > 2


def check_common_dial(model: Postprocessor, given: Any) -> None:
    """Insist on True or False, and that one value for all is not asked for beside one for each."""
    common = getattr(model, "common_dial", False)
    if not isinstance(common, bool | np.bool_):
        raise TypeError(f"common_dial must be True or False, got {common!r}.")
    if common and isinstance(given, Mapping):
        name = model.dial.name
        raise ValueError(
            f"{argument('common_dial')} asks for one {name} for all groups, but {name} has one for each.\n"
            f"Hint: leave out {argument('common_dial')}, or give one number."
        )


class OwnDials:
    """The dials of several groups of a fitted method, on its rows."""

    def __init__(self, model: Postprocessor, table: ScoreTable, ties: Ties) -> None:
        self.model, self.table, self.ties = model, table, ties
        self.dial = model.dial
        self.moved = [g for g in table.groups if g in model.moved_groups]
        rows = model._searched(table)
        neutral = 0.0 if self.dial.identity is None and self.dial.ratio else float(self.dial.identity or 0.0)
        self.still = np.full(len(self.moved), neutral)
        reach = [model._reach(rows, g, ties) if g in self.moved else np.array([neutral]) for g in rows.groups]
        self.search = Together(rows, self._mover, tuple(reach), np.full(len(rows.groups), neutral), ties)

    def _mover(self, place: int, scores: Floats) -> Any:
        group = self.table.groups[place]
        if group not in self.moved:
            return lambda u: scores
        move = self.model._mover(group, scores)
        return (lambda u: move(float(np.exp(u)))) if self.dial.ratio else move

    def row(self, found: Found) -> Floats:
        """Turn what was found into values of the moved groups."""
        places = np.array([u for g, u in zip(self.table.groups, found.places) if g in self.moved])
        values = np.exp(places) if self.dial.ratio else places
        return self.model._settled(self.table, values)

    @property
    def neutral(self) -> Floats:
        """The values at which nothing is asked of any group."""
        return np.exp(self.still) if self.dial.ratio else self.still

    def curve(self, rows: list[Floats]) -> TradeoffCurve:
        """Count AUC and gap at some rows of values, on the whole table."""
        return self.model._curve(self.table, np.array(rows), self.ties)

    def choose(self) -> Value:
        """Choose by the method's rule."""
        model, start = self.model, self.curve([self.neutral])
        before = WinMatrix.of(self.model._searched(self.table), self.ties).auc()
        if model.max_gap is not None:
            if self.dial.identity is not None and start.gap[0] <= model.max_gap + _ROUND_OFF:
                return float(self.dial.identity)
            enough = before if model._enough_is_as_before else np.inf
            rows = self._kept(Aim(float(model.max_gap), enough=enough))
        elif model.max_auc_loss is not None:
            least = start.unmoved_auc - float(model.max_auc_loss)
            rows = [*self.path(), *self._kept(Aim(None, least=least))]
        else:
            rows = [self.neutral, self.row(self.search.find(Aim()))]
        return self.curve([*rows, *self._in_common()]).select(**model._rules).lam

    def _in_common(self) -> list[Floats]:
        """Give the best common value besides, in a top: its rows change with the dials, unseen by the search."""
        if self.model._top() is None:
            return []
        try:
            found = choose_common(self.model, self.table, self.ties)
        except InfeasibleRuleError:
            return []
        return [np.full(len(self.moved), found)]

    def _kept(self, aim: Aim) -> list[Floats]:
        """Find rows for an aim; where the whole table misses what its fewer entries keep, aim higher."""
        limit = None if aim.bound is not None else self.search.coarse(self._gap_now())
        rows, tried, found = [], aim, self.search.find(aim, limit)
        for _ in range(_CHECKS if aim.bound is None or found.gap <= aim.bound + _WORTH_A_CHECK else 0):
            rows.append(self.row(found))
            point = self.curve(rows[-1:])
            auc, gap = float(point.auc[0]), float(point.gap[0])
            if aim.keeps(np.asarray(auc), np.asarray(gap)):
                return rows
            if aim.bound is not None:
                tried = tried._replace(bound=max(float(tried.bound or 0) - max(gap - aim.bound, _LEAST_STEP), 0.0))
            else:
                tried = tried._replace(least=tried.least + max(aim.least - auc, _LEAST_STEP))
            found = self.search.polish(tried, found)
        return [*rows, self.row(self.search.find(Aim(least=aim.least)))]

    def _gap_now(self) -> float:
        return max(self.search.at(self.search.still)[1], self.search.closest_alone())

    def path(self) -> Floats:
        """Give the best values for gaps from the one as it is to the smallest, one row for each of the shares."""
        search, model = self.search, self.model
        still, least = Found(search.still, *search.at(search.still)), search.find(Aim())
        enough = still.auc if model._enough_is_as_before else np.inf
        tables = search.coarse(max(still.gap, least.gap))
        found = [still]
        for share in SHARES[1:-1]:
            target = still.gap + share * (least.gap - still.gap)
            found.append(search.find(Aim(target, enough=enough), tables, fine=False))
        return np.array([self.neutral, *(self.row(each) for each in [*found[1:], least])])

    def either_way(self) -> Floats:
        """Give the path, and the straight line through nothing and the smallest gap to either side of the two.

        Where the top of the list decides, the gap there may be the other way round.
        """
        path = self.path()
        least = np.log(path[-1]) if self.dial.ratio else path[-1]
        places = self.still + np.outer(_EITHER_WAY, least - self.still)
        beyond = np.exp(places) if self.dial.ratio else np.clip(places, self.dial.low, self.dial.high)
        return np.concatenate((path, beyond))


def choose_common(model: Postprocessor, table: ScoreTable, ties: Ties) -> float:
    """Choose one value for all groups by rule: from a grid, then more and more closely around what it has."""
    kept = neutral = 1.0 if model.dial.identity is None else model.dial.identity
    curve = model._curve(table, np.union1d(model._common_values(table), neutral), ties)
    for _ in range(_CLOSER):
        near = _best_place(curve, model)
        low, kept, high = (float(curve.lam[k]) for k in (max(near - 1, 0), near, min(near + 1, len(curve) - 1)))
        curve = model._curve(table, np.unique([neutral, kept, *np.linspace(low, high, _VALUES)]), ties)
    return cast(float, curve.select(**model._rules).lam)


def _best_place(curve: TradeoffCurve, model: Postprocessor) -> int:
    """Find where to look more closely: at the choice, or where the rule is missed by least."""
    over = np.maximum(curve.gap - (model.max_gap or 0.0), 0.0)
    if model.max_auc_loss is not None:
        over = over + np.maximum(curve.unmoved_auc - curve.auc - model.max_auc_loss, 0.0)
    worth = -over if model.max_gap is None else curve.auc - 2 * over
    usable = ~np.isnan(worth) if curve.orders is None else ~np.isnan(worth) & curve.orders
    return int(np.argmax(np.where(usable, worth, -np.inf)))
