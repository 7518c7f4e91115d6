"""One search for every method and rule: look at the strengths of a curve, then closer and closer around the best."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fairpot.repair.family import Family
from fairpot.repair.ground import Ground, passing_over
from fairpot.tradeoff.choice import Choice
from fairpot.tradeoff.curve import TradeoffCurve, TradeoffPoint
from fairpot.tradeoff.rules import Rule
from fairpot.transport import Floats

# Entries of a group on which strengths are looked for first, and how often closer.
_ENTRIES, _ROUNDS = 1000, 7
# What two rounds without a gain of this much end; and the last steps on all rows: strengths, halvings at an edge.
_GAIN = 1e-7
_KEPT, _HALVINGS = 12, 24
# Net benefit is looked at in so many scores times strengths at most, at first.
_LOOKS = 100_000_000


def curve(family: Family, ground: Ground, values: Floats | None = None) -> TradeoffCurve:
    """Trace AUC and gap over the dial, with the rows behind them; exactly where the family knows a quick way."""
    found = None if ground.top is not None or family.quick is None else family.quick(ground.table, ground.ties)
    if found is not None and values is not None:
        found = _read_off(found, family, values)
    if found is None:
        found = ground.trace(family, family.values if values is None else values)
    found = replace(found, evidence=ground.evidence(family), whole=ground.evidence_of_auc(family))
    if family.own is not None:
        each = [family.own(float(value)) for value in found.lam]
        found = replace(found, strengths={g: np.array([own[g] for own in each]) for g in family.moved})
    if values is not None:
        return found
    return replace(found, search=lambda rule: choose(family, ground, rule, found))


def _read_off(found: TradeoffCurve, family: Family, values: Floats) -> TradeoffCurve | None:
    """Read an exact curve off at some strengths, if what is between its points is known."""
    if not (found.exact and found.lam[0] == 0 and found.lam[-1] == 1):
        return None
    places = np.searchsorted(found.lam, values * (1 - 1e-12), side="left")
    numbers = {name: getattr(found, name)[places] for name in ("auc", "xauc_ab", "xauc_ba", "orders")}
    return replace(found, lam=values, **numbers, exact=False, unrepaired_auc=found.unmoved_auc)


def choose(family: Family, ground: Ground, rule: Rule, seen: TradeoffCurve | None = None) -> TradeoffPoint:
    """Choose a strength by rule: of all that were looked at, none that keeps the rule is better.

    ``seen`` is the curve of the family on the same rows, where it is known.

    Raises :class:`InfeasibleRuleError` if none keeps the rule; the message names the best there is.
    """
    with passing_over():
        point = search(family, ground, rule, seen).chosen()
    if family.settle is None or point.lam == family.dial.identity:
        return point
    [moved] = family.moved
    return replace(point, lam=family.settle(ground.table, moved, point.lam))


def search(family: Family, ground: Ground, rule: Rule, seen: TradeoffCurve | None = None) -> Choice:
    """Look at strengths until no closer look helps; give all that were seen on all rows."""
    seen = curve(family, ground) if seen is None else seen
    if rule.net_benefit_at is not None and len(seen) * ground.table[seen.moved[0]].score.size > _LOOKS:
        most = max(_LOOKS // ground.table[seen.moved[0]].score.size, 50)
        seen = taken(seen, np.unique(np.linspace(0, len(seen) - 1, most).round().astype(np.intp)))
    if seen.exact or family.finer is None:
        return seen.judged(rule)
    small = ground.merged(_ENTRIES)
    if small is ground:
        return _closer(family, ground, rule, seen).judged(rule)
    tried = _closer(family, small, rule, curve(family, small))
    return _on_all_rows(family, ground, rule, seen, tried).judged(rule)


def _closer(family: Family, ground: Ground, rule: Rule, seen: TradeoffCurve) -> TradeoffCurve:
    """Look closer around every spot worth it, until that gains nothing."""
    assert family.finer is not None
    best, stale = -np.inf, 0
    for _ in range(_ROUNDS):
        judged = seen.judged(rule)
        spots = judged.spots()
        now = judged.merit()
        stale, best = (0 if now > best + _GAIN else stale + 1), max(best, now)
        if not spots or stale == 2:
            break
        ends = {(float(seen.lam[max(k - 1, 0)]), float(seen.lam[min(k + 1, len(seen) - 1)])) for k in spots}
        wanted = np.unique(
            np.concatenate([family.finer(low, high) for low, high in ends if low < high] or [np.empty(0)])
        )
        wanted = wanted[~np.isin(wanted, seen.lam)]
        if len(wanted) == 0:
            break
        seen = joined(seen, ground.trace(family, wanted))
    return seen


def _on_all_rows(
    family: Family, ground: Ground, rule: Rule, seen: TradeoffCurve, tried: TradeoffCurve
) -> TradeoffCurve:
    """Count on all rows what fewer entries found best, and halve between what keeps the rule there and what does not.

    What was seen on all rows stays beside it: what fewer entries find best may miss the rule there by a hair.
    """
    judged = tried.judged(rule)
    kept = judged.order()[:_KEPT]
    around = np.concatenate([np.clip(kept + step, 0, len(tried) - 1) for step in (-1, 0, 1)])
    values = np.setdiff1d(tried.lam[np.unique(around)], seen.lam)
    found = joined(seen, ground.trace(family, values)) if len(values) else seen
    for _ in range(_HALVINGS):
        edge = found.judged(rule).edge()
        if edge is None:
            break
        low, high = found.lam[edge[0]], found.lam[edge[1]]
        middle = float(np.sqrt(low * high)) if family.dial.ratio else float((low + high) / 2)
        if not low < middle < high or abs(found.signed_gap[edge[0]] - found.signed_gap[edge[1]]) < 1e-9:
            break
        found = joined(found, ground.trace(family, np.array([middle])))
    return found


def joined(one: TradeoffCurve, other: TradeoffCurve) -> TradeoffCurve:
    """Put the points of two curves of the same rows together."""
    lam = np.concatenate((one.lam, other.lam))
    order = np.argsort(lam, kind="stable")
    order = order[np.append(True, np.diff(lam[order]) > 0)]
    names = ("auc", "xauc_ab", "xauc_ba", "orders")
    numbers = {name: np.concatenate((getattr(one, name), getattr(other, name)))[order] for name in names}
    pairs = None
    if one.pairs is not None and other.pairs is not None:
        both = (*one.pairs, *other.pairs)
        pairs = tuple(both[k] for k in order)
    return replace(one, lam=lam[order], **numbers, pairs=pairs, search=None)


def taken(seen: TradeoffCurve, places: NDArray[np.intp]) -> TradeoffCurve:
    """Keep some points of a curve."""
    numbers = {name: getattr(seen, name)[places] for name in ("lam", "auc", "xauc_ab", "xauc_ba", "orders")}
    pairs = None if seen.pairs is None else tuple(seen.pairs[k] for k in places)
    return replace(seen, **numbers, pairs=pairs, exact=False, unrepaired_auc=seen.unmoved_auc)
