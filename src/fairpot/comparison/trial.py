"""A method on folds: learnt from the fitted rows, its strength chosen there, judged on the held-out rows."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairpot._defaults import LEVEL, Ties
from fairpot.exceptions import FairpotWarning, InfeasibleRuleError
from fairpot.inference import Estimate
from fairpot.inference.dial import Evidence, SameMaps
from fairpot.inference.dial import Part as Rows
from fairpot.inference.limits import seen_limits
from fairpot.metrics.wins import WinMatrix
from fairpot.repair.choose import Ground, curve, passing_over
from fairpot.repair.estimator import Repair
from fairpot.repair.finish import whole_maps
from fairpot.repair.fitting import Fit, begin
from fairpot.results.kinds import Share
from fairpot.table import Maps, ScoreTable
from fairpot.tradeoff.building import keeps_order
from fairpot.tradeoff.choice import ROUND_OFF
from fairpot.tradeoff.rules import Rule
from fairpot.transport import Floats, ScoreMap, moving


class Part(NamedTuple):
    """Counted rows to fit on and to evaluate on."""

    fitted: ScoreTable
    held_out: ScoreTable


class Setting(NamedTuple):
    """What is the same for all methods: all rows, the group that stays, how pairs are counted, whose gap is meant."""

    table: ScoreTable
    reference: Hashable
    ties: Ties
    top: float | None = None  # the share of the list whose gap is compared; None for all of it


class Judged(NamedTuple):
    """AUC and signed gaps of rows: of two groups seen from the reference, of more one for every two."""

    auc: float
    gaps: Floats

    @property
    def gap(self) -> float:
        """The largest gap; NaN where one is undefined."""
        return float(np.abs(self.gaps).max())


def judge(table: ScoreTable, setting: Setting) -> Judged:
    """Count AUC and gaps of a table, the gaps in its top where that is what is compared."""
    wins = WinMatrix.of(table, setting.ties)
    with passing_over():  # a group that has too few rows in the top is told by name later
        won = (wins if setting.top is None else WinMatrix.of(table.top(setting.top), setting.ties)).xauc()
    if len(table.groups) > 2:
        return Judged(wins.auc(), (won - won.T)[np.triu_indices(len(won), 1)])
    a = table.groups.index(setting.reference)
    return Judged(wins.auc(), np.array([won[a, 1 - a] - won[1 - a, a]]))


class Outcome(NamedTuple):
    """What a choice on the fitted rows does to the held-out rows."""

    judged: Judged
    strength: float
    changed: float  # the share of scores that change
    breakpoints: int  # what has to be written down to say how
    maps: Maps
    reason: str | None = None  # why the target is not kept on the fitted rows


class Points(NamedTuple):
    """AUC and signed gaps of the held-out rows at strengths, and whether each leaves an order in every group."""

    auc: Floats
    gaps: Floats
    orders: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Fold:
    """A method whose strength is chosen by rule on the fitted rows of one part; None: the scores as they came."""

    model: Repair | None
    part: Part
    setting: Setting
    seen: dict[float, Outcome | str] = field(default_factory=dict)

    @cached_property
    def fit(self) -> Fit:
        """What is learnt from the fitted rows."""
        assert self.model is not None
        with _quiet():
            return begin(self.model, self.part.fitted)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is learnt again from the rows."""
        return {name: value for name, value in vars(self).items() if name != "fit"}

    def at(self, max_gap: float) -> Outcome | str:
        """Choose on the fitted rows, as ``fit`` does, and judge on the others; or say why nothing can be chosen."""
        if max_gap not in self.seen:
            self.seen[max_gap] = self._unmoved(max_gap) if self.model is None else self._chosen(max_gap)
        return self.seen[max_gap]

    def _unmoved(self, max_gap: float) -> Outcome:
        found, gap = self._outcome({}), judge(self.part.fitted, self.setting).gap
        return found if gap <= max_gap + ROUND_OFF else found._replace(reason=f"its gap there is {gap:.3g}")

    def _chosen(self, max_gap: float) -> Outcome | str:
        learnt = self.fit
        try:
            with _quiet():
                fit, point = learnt.search(Rule(max_gap))
            return self._outcome(self._maps(fit, point.lam), point.lam)
        except InfeasibleRuleError as error:
            return str(error).split("\n")[0]

    def _outcome(self, maps: Maps, strength: float = np.nan) -> Outcome:
        """Judge maps on the held-out rows."""
        table = self.part.held_out
        moved = [float(c.weight[after != c.score].sum()) for c, after in zip(table.counts, table.view(maps))]
        written = sum(len(each.knots) for each in maps.values() if type(each) is ScoreMap)
        judged = judge(table.rescored(maps), self.setting)
        return Outcome(judged, strength, sum(moved) / float(table.weight), written, maps)

    @property
    def dial(self) -> str:
        """What the method calls its strength."""
        return "" if self.model is None else self.fit.final.dial.name

    def tried(self) -> Floats:
        """Give the strengths that all rows together suggest; of the scores as they came one that is none."""
        if self.model is None:
            return np.array([np.nan])
        return self.fit.final.tried if self.fit.way is not None else self.fit.learn(self.setting.table).tried

    def _maps(self, fit: Fit, value: float) -> dict[Hashable, ScoreMap]:
        assert self.model is not None
        return moving(whole_maps(fit.final, value, self.part.fitted, self.model.keep))

    def points(self, values: Floats) -> Points:
        """Judge strengths on the held-out rows; of two groups all at once."""
        table, setting, model = self.part.held_out, self.setting, self.model
        if model is not None and len(table.groups) == 2 and setting.top is None and model.keep != "grid":
            found = curve(self.fit.final, Ground(table, setting.ties), values)
            sign = 1.0 if found.reference == setting.reference else -1.0
            orders = np.ones(len(values), dtype=bool) if found.orders is None else found.orders
            return Points(found.auc, sign * found.signed_gap[:, None], orders)
        each = [{} if model is None else self._maps(self.fit, float(value)) for value in values]
        after = [table.rescored(maps) for maps in each]
        judged = [judge(one, setting) for one in after]
        orders = np.array([model is None or keeps_order(table, *both) for both in zip(each, after)])
        return Points(np.array([one.auc for one in judged]), np.array([one.gaps for one in judged]), orders)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep silent: what is to be known of the rows is told once, of all rows together."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairpotWarning)
        yield


@dataclass(frozen=True, eq=False)
class Chosen:
    """Hold what a method does at a target gap, on rows it was not fitted on.

    AUC and gaps are means over the folds, None where the method has nothing to show for the target. ``gap`` is the size
    of the mean signed gap, of several groups the largest of any two; ``signed_gap`` is seen from the reference.
    ``kept`` and ``changed`` are shares: of the folds whose held-out gap is within the target, and of the held-out
    scores. ``reason`` says in how many folds the fitted rows do not keep the target, and why.
    """

    method: str
    max_gap: Share
    auc: Estimate | None
    gap: Estimate | None
    signed_gap: Estimate | None
    kept: Share | None
    folds: int
    changed: Share | None
    dial: str
    strengths: tuple[float, ...]
    reason: str | None = None
    breakpoints: Annotated[float, "hidden"] = field(default=np.nan, repr=False)
    evidence: Annotated[Evidence | None, "hidden"] = field(default=None, repr=False)

    @property
    def reached(self) -> bool:
        """Whether the target was kept on the fitted rows of every fold."""
        return self.reason is None

    @property
    def label(self) -> str:
        """The method with its repair strength, such as "FairPOT (lam = 0.4)" or "FairPOT (lam 0.38 to 0.41)"."""
        if not self.dial or not self.strengths:
            return self.method
        low, high = (f"{end:.3g}" for end in (min(self.strengths), max(self.strengths)))
        return f"{self.method} ({self.dial} {f'= {low}' if low == high else f'{low} to {high}'})"

    @property
    def times_kept(self) -> str:
        """In how many folds the target was kept, such as "4 of 5"."""
        return f"{round((self.kept or 0.0) * self.folds)} of {self.folds}"


@dataclass(frozen=True, eq=False)
class Trial:
    """A method on all folds."""

    method: str
    folds: tuple[Fold, ...]
    setting: Setting
    known: dict[float, Chosen] = field(default_factory=dict)

    @property
    def dial(self) -> str:
        """What the method calls its strength; empty without one."""
        return self.folds[0].dial

    def at(self, max_gap: float) -> Chosen:
        """Give the means over the folds for a target; or say in how many it is out of reach. It is counted once."""
        if max_gap not in self.known:
            self.known[max_gap] = self._chosen(max_gap)
        return self.known[max_gap]

    def _chosen(self, max_gap: float) -> Chosen:
        each, many = [fold.at(max_gap) for fold in self.folds], len(self.folds)
        found = [one for one in each if not isinstance(one, str)]
        missed = [why for one in each if (why := one if isinstance(one, str) else one.reason) is not None]
        reason = None
        if missed:
            where = "on the fitted rows" if many == 1 else f"on the fitted rows of {len(missed)} of {many} folds"
            reason = f"out of reach {where}: {missed[0]}"
        nothing = Chosen(self.method, max_gap, None, None, None, None, many, None, self.dial, (), reason)
        if len(found) < many:
            return nothing
        gaps = np.mean([one.judged.gaps for one in found], axis=0)
        if np.isnan(gaps).any():
            why = "a group has nobody with, or nobody without, the outcome at the top of the held-out rows"
            return replace(nothing, reason=f"its gap is undefined: {why}")
        rows = tuple(Rows(fold.part.held_out, SameMaps(one.maps)) for fold, one in zip(self.folds, found))
        evidence = Evidence(rows, self.setting.ties)
        auc, gap, signed = _estimated(float(np.mean([one.judged.auc for one in found])), gaps, evidence, self.setting)
        return replace(
            nothing,
            auc=auc,
            gap=gap,
            signed_gap=signed,
            kept=float(np.mean([one.judged.gap <= max_gap + ROUND_OFF for one in found])),
            changed=float(np.mean([one.changed for one in found])),
            strengths=tuple(one.strength for one in found),
            breakpoints=float(np.mean([one.breakpoints for one in found])),
            evidence=evidence,
        )

    @cached_property
    def points(self) -> tuple[Floats, Points]:
        """Strengths and the means over the folds; those with an undefined gap or a group without order are left out."""
        values = self.folds[0].tried()
        each = [fold.points(values) for fold in self.folds]
        auc, gaps = (np.mean([getattr(one, name) for one in each], axis=0) for name in ("auc", "gaps"))
        kept = np.isfinite(gaps).all(axis=1) & np.logical_and.reduce([one.orders for one in each])
        return values[kept], Points(auc[kept], gaps[kept], kept[kept])


def _estimated(
    auc: float, gaps: Floats, evidence: Evidence, setting: Setting
) -> tuple[Estimate, Estimate, Estimate | None]:
    """Put limits around AUC and gap of a choice; of two groups the signed gap is seen from the reference."""
    groups, largest = setting.table.groups, int(np.argmax(np.abs(gaps)))
    if len(gaps) == 1:
        pair = setting.reference, next(g for g in groups if g != setting.reference)
    else:
        pair = list(itertools.combinations(groups, 2))[largest]
    signed = float(gaps[largest])
    size, names = abs(signed), pair if signed >= 0 else pair[::-1]
    auc_ends, gap_ends = (np.nan,) * 3, (np.nan,) * 3
    dial, tail = evidence.estimate(np.zeros(1)), (1 - LEVEL) / 2
    why = gap_why = dial.reason
    if why is None:
        low, high = dial.auc.limits(tail)
        auc_ends = float(dial.auc.se[0]), float(low[0]), float(high[0])
        gap_why = "it is that of a top" if setting.top is not None else None
    if gap_why is None:
        gap_ends = (float(dial.gaps.se[largest]), *seen_limits(dial.gaps, tail))
    gap = Estimate("gap", size, *gap_ends, LEVEL, "analytic", size, names, gap_why)
    one = gap if signed >= 0 else gap.reversed()
    return Estimate("auc", auc, *auc_ends, reason=why), gap, one if len(gaps) == 1 else None
