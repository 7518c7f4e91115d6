"""The choice that can be signed for: strengths tried on rows that their maps were not learnt from."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairpot._arguments import argument
from fairpot._defaults import FEWEST
from fairpot._validation import wording
from fairpot.exceptions import InfeasibleRuleError
from fairpot.inference.certificate import Certificate, Worth, certified_values, choose_certified
from fairpot.inference.dial import DialEstimates, Evidence, Part
from fairpot.inference.shares import merge_entries
from fairpot.repair.choose import Ground
from fairpot.repair.family import Family
from fairpot.repair.shaped import Learn
from fairpot.splitting import all_but, split_table
from fairpot.table import ScoreTable
from fairpot.tradeoff.building import keeps_order
from fairpot.tradeoff.rules import Rule
from fairpot.transport import Floats

MOST_FOLDS = 5
# How far limits and AUC of few entries may be from those of all rows, generously: they differ by about 1e-5.
_CLOSE = 1e-4
_SEED = 0  # the same rows are dealt to the same folds in every run


def certify(family: Family, again: Learn, ground: Ground, rule: Rule, confidence: float) -> tuple[float, Certificate]:
    """Choose a strength whose gap is within ``max_gap`` with a confidence, by cross-fitting the rows.

    Every fold is mapped by what the other folds teach (``again``). The maps that are delivered are taught by all rows:
    on these the strength must pass by itself as well. Where the gap is that of a top, the promise is about everybody
    from an adjusted score on, see :class:`fairpot.inference.dial.FixedTops`.
    """
    values, rows = family.tried, ground.rows
    folds = _folds(again, ground, family.dial.name)
    places = np.flatnonzero(_orders(family, rows, values))
    if len(places) == 0:
        raise InfeasibleRuleError(
            f"no {family.dial.name} can be certified: each makes all scores of a group equal.\n"
            "Hint: try another method, or scores with more distinct values."
        )
    how: dict[str, Any] = {"ties": ground.ties, "top": ground.top, "cut": ground.cut}

    def part(family: Family, rows: ScoreTable) -> Part:
        guide = (lambda table, places: family.views(table, values[places])) if family.moves_exactly else None
        return Part(rows, lambda places: family.steps(values[places]), guide)

    held = Evidence(tuple(part(taught, fold) for taught, fold in folds), **how)
    delivered = Evidence((part(family, rows),), fitted=True, **how)
    tops = delivered.tops(places, family.dial.name)
    places = places if tops is None else tops.places
    asked = Asked(
        float(rule.max_gap or 0.0),
        confidence,
        unrepaired=(held if tops is None else delivered).unrepaired(),
        rows=held.rows,
        name=family.dial.name,
        max_auc_loss=rule.max_auc_loss,
        worth=_worth(held, places, rule, ground, family, values),
        top=held.seen_in,
        unmoved=next((k for k, value in enumerate(values[places]) if value == family.dial.identity), None),
    )
    if tops is None:
        place, certificate = _few_counted(asked, held, delivered, places, values)
    else:
        own, dial = (each.held(places, tops) for each in (delivered, held))
        whole = family.dial.whole
        place, certificate = asked.chosen(replace(dial, values=values[places], whole=whole), own)
    return float(values[places[place]]), certificate


class Asked:
    """A bound to certify, and what a choice among certified strengths goes by."""

    def __init__(self, bound: float, confidence: float, **how: Any) -> None:
        self.bound, self.confidence, self.how = bound, confidence, how

    def chosen(self, dial: DialEstimates, own: DialEstimates) -> tuple[int, Certificate]:
        """Choose a strength that is certified by the folds, and passes by itself with the maps that are delivered."""
        return choose_certified(self.with_own(dial, own), self.bound, self.confidence, **self.how)

    def with_own(self, dial: DialEstimates, own: DialEstimates) -> DialEstimates:
        """Let no strength be certified below what its delivered maps allow."""
        return replace(dial, least=own.largest(1 - self.confidence))

    def close(self, dial: DialEstimates, own: DialEstimates) -> NDArray[np.bool_]:
        """Mark the strengths of which few entries cannot tell whether they are certified, or worth most."""
        both, delta = self.with_own(dial, own), 1 - self.confidence
        sure, perhaps = (
            certified_values(both, max(self.bound + step, 0.0), delta, self.how["unrepaired"])[0]
            for step in (-_CLOSE, _CLOSE)
        )
        worth = self.how["worth"] or Worth(dial.auc.value, float(self.how["unrepaired"].auc.value[0]))
        most = np.where(perhaps, worth.most(capped=self.how["unmoved"] is not None), -np.inf)
        best = most[sure].max(initial=-np.inf)
        return np.asarray((perhaps & ~sure) | (perhaps & (most >= best - _CLOSE)))


def _few_counted(
    asked: Asked, held: Evidence, delivered: Evidence, places: NDArray[np.intp], values: Floats
) -> tuple[int, Certificate]:
    """Choose by the limits of few entries, and count all rows wherever these might be wrong, until nothing changes."""
    own, dial = (replace(each.sketch(places), values=values[places]) for each in (delivered, held))
    counted = np.zeros(len(places), dtype=bool)
    if dial.reason is not None or all(
        merge_entries(each.table) is each.table for each in (*held.parts, *delivered.parts)
    ):
        counted[:] = True
    while True:
        found = None
        try:
            found = asked.chosen(dial, own)
            beside = np.arange(found[0] - 2, found[0] + 3)
        except InfeasibleRuleError:
            beside = np.array([np.argmin(dial.gap), np.argmin(dial.largest(1 - asked.confidence))])
            if counted.all():
                raise
        wanted = asked.close(dial, own) if dial.reason is None else ~counted
        wanted[beside[(beside >= 0) & (beside < len(places))]] = True
        new = np.flatnonzero(wanted & ~counted)
        if len(new) == 0:
            return found or asked.chosen(dial, own)
        own, dial = (each.count(numbers, places, new) for each, numbers in ((delivered, own), (held, dial)))
        counted[new] = True


def _orders(family: Family, rows: ScoreTable, values: Floats) -> list[bool]:
    """Say which strengths leave an order in every group; where the ends of all groups stay apart, without a map."""
    if not family.moves_exactly:
        return [keeps_order(rows, maps) for maps in family.steps(values)]
    ends = [family.mover(g, rows[g].score[[0, -1]]) for g in family.moved]
    apart = [all(np.ptp(move(value)) > 0 for move in ends) for value in values.tolist()]
    return [up or keeps_order(rows, family.maps(value)) for up, value in zip(apart, values.tolist())]


def _folds(again: Learn, ground: Ground, dial: str) -> list[tuple[Family, ScoreTable]]:
    size = None if ground.cut is None else ground.cut.top.size
    folds, taught = split_table(ground.rows, fold_count(ground.rows, dial, size), _SEED), []
    for k in range(len(folds)):
        try:
            taught.append(again(all_but(folds, k)))
        except ValueError as error:  # all rows were enough to learn from
            what, _, _ = str(error).partition("\nHint: ")
            raise InfeasibleRuleError(
                f"no {dial} can be certified: cross-fitting learns from parts of the rows, and in one of them {what}\n"
                f"Hint: collect more rows, a larger {argument('top')} if there is one, or leave "
                f"{argument('confidence')} out to choose by the measured gap alone."
            ) from error
    return list(zip(taught, folds))


def _worth(
    held: Evidence, places: NDArray[np.intp], rule: Rule, ground: Ground, family: Family, values: Floats
) -> Worth | None:
    """Say what certified strengths are chosen by, where it is not the AUC of the rows that the gap is of."""
    whole = ground.top is None and ground.cut is None
    if whole and rule.net_benefit_at is None:
        return None
    if whole:
        auc, before = held.estimate(places).auc.value, float(held.unrepaired().auc.value[0])
    else:
        traced = ground.trace(family, values[places])
        auc, before = traced.auc, traced.unmoved_auc
    return Worth(auc, before, held.net_benefits(places, rule.net_benefit_at) if rule.net_benefit_at else None)


def fold_count(table: ScoreTable, dial: str, top: float | None = None) -> int:
    """Say how many folds leave enough positives and negatives of every group in each; of rows in the top ``top``."""
    counted = "row" if table.units is None else "cluster"
    cells = [
        (float(count), group, what.replace("rows", counted))
        for what, counts in zip(wording.BOTH_OUTCOMES, table.independent)
        for group, count in zip(table.groups, counts)
    ]
    fewest, group, what = min(cells, key=lambda cell: cell[0])
    folds = min(MOST_FOLDS, int((fewest + 1e-9) // FEWEST))
    if folds < 2:
        larger = "" if top is None else f"allow a larger {argument('top')}, "
        raise InfeasibleRuleError(
            f"no {dial} can be certified: group {group!r} has {wording.counted(fewest, what, '.3g')}"
            f"{wording.in_top(top)}, and cross-fitting needs at least {2 * FEWEST}.\nHint: {larger}collect more "
            f"{counted}s of that group, or leave {argument('confidence')} out to choose by the measured gap alone."
        )
    return folds
