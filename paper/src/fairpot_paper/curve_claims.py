"""Claims about the trade-off, over the whole ranking and in the top alpha."""

from __future__ import annotations

import numpy as np

from fairpot_paper.plan import PARTIAL
from fairpot_paper.tables import Array, Points, mean_of
from fairpot_paper.verdicts import (
    BASELINES,
    FAILS,
    HOLDS,
    NEGLIGIBLE,
    OPEN,
    Change,
    Evidence,
    Judge,
    Judged,
    all_of,
    at_least,
    baseline_points,
    changes_of,
    dominance,
    is_above,
    is_within,
    key_of,
    number,
    one_above,
    opposite,
    paired,
    same_frontier,
    start_of,
    tenths,
)

SAME_POINT = 0.001  # of AUC and of the gap: a point that is passed through
NOTABLE = 0.01  # of AUC: "substantial", "notable"
NEAR_PARITY = 0.01  # the gap that the paper gives for Random Forest on its autism data


def higher(model: str, methods: tuple[str, ...] = tuple(BASELINES), *, most: bool = False, fine: bool = True) -> Judge:
    """Compare FairPOT with every point of some baselines."""

    def judge(evidence: Evidence, data: str, ties: str, source: str) -> Judged | None:
        return dominance(evidence.found, key_of(data, model, ties, source), methods, most=most, fine=fine)

    return judge


def comparable(model: str, methods: tuple[str, ...] = tuple(BASELINES)) -> Judge:
    """Do the same, a little less AUC and a little larger gap allowed."""

    def judge(evidence: Evidence, data: str, ties: str, source: str) -> Judged | None:
        return dominance(evidence.found, key_of(data, model, ties, source), methods, comparable=True, fine=True)

    return judge


def both(one: Judge, other: Judge) -> Judge:
    """Judge two things that one sentence says."""

    def judge(evidence: Evidence, data: str, ties: str, source: str) -> Judged | None:
        found = [each(evidence, data, ties, source) for each in (one, other)]
        made = [each for each in found if each is not None]
        if len(made) < 2:
            return None
        return Judged(all_of([each.verdict for each in made]), "; and ".join(each.figure for each in made))

    return judge


def recovers(method: str) -> Judge:
    """Compare lambda = 0 with the scores as they came, in every run there is."""

    def judge(evidence: Evidence, data: str, ties: str, source: str) -> Judged | None:
        changes: dict[str, list[float]] = {"whole ranking": [], "top": []}
        for key, points in evidence.found.items():
            start = start_of(evidence, key)
            if start is None or (key.data, key.ties, key.source, key.method) != (data, ties, source, method):
                continue
            for ours, theirs in ((points.auc, start.auc), (points.signed_gap, start.signed_gap)):
                change = np.abs(ours[:, 0] - theirs[:, 0])
                changes["top" if key.region else "whole ranking"] += change[np.isfinite(change)].tolist()
        found = {where: max(values) for where, values in changes.items() if values}
        if not found:
            return None
        text = ", ".join(f"{where} {largest:.2g}" for where, largest in found.items())
        return Judged(HOLDS if max(found.values()) == 0 else FAILS, f"largest change: {text}")

    return judge


def inside(evidence: Evidence, data: str, ties: str, source: str) -> Judged | None:
    """Look for a lambda with a higher AUC and a smaller gap than the scores as they came."""
    key = key_of(data, "xgboost", ties, source)
    start, ours = start_of(evidence, key), evidence.found.get(key)
    return None if start is None or ours is None else some_lambda(changes_of(tenths(ours), start, data))


def some_lambda(changes: list[Change]) -> Judged:
    """Judge that one value of the dial at least is better in both."""
    verdicts = [change.verdict(len(changes)) for change in changes]
    means = [k for k, change in enumerate(changes) if change.in_means]
    best = max(
        range(len(changes)), key=lambda k: (verdicts[k] == HOLDS, k in means, verdicts[k] != FAILS, changes[k].auc.mean)
    )
    return Judged(at_least(verdicts, 1), f"{tally(changes)}; lambda {best / 10:g}: {describe(changes[best])}")


def tally(changes: list[Change]) -> str:
    """Say at how many values of the dial both are better, and at how many one is worse or nothing changed."""
    sure = sum(change.verdict() == HOLDS for change in changes)
    worse = sum(change.verdict() == FAILS for change in changes)
    means = sum(change.in_means for change in changes)
    where = [f"{k / 10:g}" for k, change in enumerate(changes) if change.verdict() == FAILS]
    text = f"both better at {means} of {len(changes)} lambdas in means, at {sure} beyond error, refuted at {worse}"
    return f"{text} ({', '.join(where)})" if 0 < worse < len(changes) else text


def describe(change: Change) -> str:
    """Write both differences."""
    return f"AUC {change.auc}, gap smaller by {change.gap}"


def xorder_misses(evidence: Evidence, data: str, ties: str, source: str) -> Judged | None:
    """Find the place on the lines between xOrder's points that is nearest to the scores as they came."""
    key = key_of(data, "xgboost", ties, source)
    start, theirs = start_of(evidence, key), evidence.found.get(key._replace(method="xorder"))
    if start is None or theirs is None:
        return None
    dial = _nearest(theirs, start)
    if not np.isfinite(dial):
        return Judged(OPEN, "no figures")
    k = min(int(dial), theirs.auc.shape[1] - 2)
    share = dial - k
    changes = [
        paired((1 - share) * values[:, k] + share * values[:, k + 1], at[:, 0], data)
        for values, at in ((theirs.auc, start.auc), (theirs.signed_gap, start.signed_gap))
    ]
    verdict = opposite(all_of([is_within(each, SAME_POINT, 2) for each in changes]))
    return Judged(verdict, f"nearest at lambda {dial / 10:.2f}: AUC {changes[0]}, signed gap {changes[1]}")


def _nearest(curve: Points, start: Points) -> float:
    """Return where a curve of means, its points joined by lines, comes nearest to a point: a place between columns."""
    points = np.stack([mean_of(curve.auc), mean_of(curve.signed_gap)], axis=1)
    target = np.array([mean_of(start.auc)[0], mean_of(start.signed_gap)[0]])
    steps = np.diff(points, axis=0)
    squares = (steps**2).sum(axis=1)
    along = ((target - points[:-1]) * steps).sum(axis=1) / np.where(squares > 0, squares, 1.0)
    along = np.clip(along, 0.0, 1.0)
    away = ((points[:-1] + along[:, None] * steps - target) ** 2).sum(axis=1)
    k = int(np.argmin(away))
    return k + float(along[k])


def xorder_jumps(evidence: Evidence, data: str, ties: str, source: str) -> Judged | None:
    """Compare the largest step of the gap between neighbouring lambdas."""
    steps = _steps(evidence, data, ties, source)
    if steps is None:
        return None
    largest = [each.max(axis=1) for each in steps]
    more = paired(largest[0], largest[1], data)
    means = [number(float(mean_of(each)), 3) for each in largest]
    return Judged(is_above(more), f"largest of ten steps {means[0]}, FairPOT's {means[1]}; difference {more}")


def xorder_jumps_in_shares(evidence: Evidence, data: str, ties: str, source: str) -> Judged | None:
    """Compare it as a share of all that the gap moves, on the seeds on which it does."""
    steps = _steps(evidence, data, ties, source)
    if steps is None:
        return None
    ways = [each.sum(axis=1) for each in steps]
    shares = [
        np.divide(each.max(axis=1), way, out=np.full(len(way), np.nan), where=way > 0) for each, way in zip(steps, ways)
    ]
    more = paired(shares[0], shares[1], data)
    means = [number(float(mean_of(each)), 2) for each in shares]
    text = f"largest of ten steps: {means[0]} of the way, FairPOT's {means[1]}; difference {more} on {more.n} seeds"
    together = [number(float(mean_of(way)), 3) for way in ways]
    return Judged(is_above(more), f"{text}; all steps together {together[0]} and {together[1]}")


def _steps(evidence: Evidence, data: str, ties: str, source: str) -> list[Array] | None:
    """Return by how much each step of xOrder's dial and of FairPOT's moves the signed gap."""
    key = key_of(data, "xgboost", ties, source)
    theirs, ours = evidence.found.get(key._replace(method="xorder")), evidence.found.get(key)
    if theirs is None or ours is None:
        return None
    return [np.abs(np.diff(points.signed_gap, axis=1)) for points in (theirs, tenths(ours))]


def direction(evidence: Evidence, data: str, ties: str, source: str) -> Judged | None:
    """Compare what FairPOT reaches by moving the one group or the other."""
    key = key_of(data, "xgboost", ties, source)
    ours, other = evidence.found.get(key), evidence.found.get(key._replace(method="fairpot_switched"))
    return None if ours is None or other is None else same_frontier(ours, other, data)


def smaller_gap_at_a_loss(model: str, method: str) -> Judge:
    """Ask for a smaller gap than FairPOT's smallest, at a loss of AUC of more than 0.01."""

    def judge(evidence: Evidence, data: str, ties: str, source: str) -> Judged | None:
        key = key_of(data, model, ties, source)
        start, ours = start_of(evidence, key), evidence.found.get(key)
        theirs = baseline_points(evidence.found, key, method)
        if start is None or theirs is None or ours is None:
            return None
        ours = tenths(ours)
        k = int(np.argmin(mean_of(ours.gap)))
        gap = paired(ours.gap[:, k], theirs.gap[:, 0], data)
        loss = paired(start.auc[:, 0] - NOTABLE, theirs.auc[:, 0], data)
        full = paired(theirs.auc[:, 0], start.auc[:, 0], data)
        return Judged(all_of([is_above(gap, 2), is_above(loss, 2)]), f"gap smaller than FairPOT's by {gap}; AUC {full}")

    return judge


def widens(model: str, method: str) -> Judge:
    """Ask for a larger gap than that of the scores as they came."""

    def judge(evidence: Evidence, data: str, ties: str, source: str) -> Judged | None:
        key = key_of(data, model, ties, source)
        start, theirs = start_of(evidence, key), baseline_points(evidence.found, key, method)
        if start is None or theirs is None:
            return None
        more = paired(theirs.gap[:, 0], start.gap[:, 0], data)
        return Judged(is_above(more), f"gap {more} to {number(mean_of(theirs.gap)[0], 3)}")

    return judge


def only_fairpot_narrows(model: str) -> Judge:
    """Ask that no lambda of xOrder makes the gap notably smaller, and that one of FairPOT's does."""

    def judge(evidence: Evidence, data: str, ties: str, source: str) -> Judged | None:
        key = key_of(data, model, ties, source)
        start, ours = start_of(evidence, key), evidence.found.get(key)
        theirs = evidence.found.get(key._replace(method="xorder"))
        if start is None or ours is None or theirs is None:
            return None
        parts = []
        for name, points in (("xOrder", theirs), ("FairPOT", tenths(ours))):
            less = [paired(start.gap[:, 0] - NEGLIGIBLE, gap, data) for gap in points.gap.T]
            k = int(np.argmin(mean_of(points.gap)))
            full = paired(start.gap[:, 0], points.gap[:, k], data)
            parts.append((one_above(less), f"{name}'s smallest gap at lambda {k / 10:g}, smaller by {full}"))
        verdict = all_of([opposite(parts[0][0]), parts[1][0]])
        return Judged(verdict, "; ".join(text for _, text in parts))

    return judge


def narrows_and_spans(model: str) -> Judge:
    """Ask that FairPOT makes the gap smaller, and that its dial moves the gap further than xOrder's does."""

    def judge(evidence: Evidence, data: str, ties: str, source: str) -> Judged | None:
        key = key_of(data, model, ties, source)
        start, ours = start_of(evidence, key), evidence.found.get(key)
        theirs = evidence.found.get(key._replace(method="xorder"))
        if start is None or ours is None or theirs is None:
            return None
        ours = tenths(ours)
        k = int(np.argmin(mean_of(ours.gap)))
        less = paired(start.gap[:, 0], ours.gap[:, k], data)
        spans = [np.ptp(points.signed_gap, axis=1) for points in (ours, theirs)]
        wider = paired(spans[0], spans[1], data)
        own, other = (number(float(mean_of(span)), 3) for span in spans)
        text = f"smallest gap at lambda {k / 10:g}, smaller by {less}; over all λ the gap moves {own}, "
        text += f"xOrder's {other}; difference {wider}"
        return Judged(all_of([is_above(less, 2), is_above(wider, 2)]), text)

    return judge


def near_parity(evidence: Evidence, data: str, ties: str, source: str) -> Judged | None:
    """Ask whether the gap of the scores as they came is that of the paper, give or take as much again."""
    start = start_of(evidence, key_of(data, "random_forest", ties, source))
    if start is None or source == "crossfit":  # the scores as they came are the same
        return None
    away = paired(start.gap[:, 0], np.full(len(start.gap), NEAR_PARITY), data)
    return Judged(is_within(away, NEAR_PARITY), f"gap {number(mean_of(start.gap)[0], 3)}; from 0.01 {away}")


def most_widen(evidence: Evidence, data: str, ties: str, source: str) -> Judged | None:
    """Compare the gap of each baseline, of xOrder the smallest, with that of the scores as they came."""
    key = key_of(data, "random_forest", ties, source)
    start = start_of(evidence, key)
    made = {}
    for name in BASELINES:
        points = baseline_points(evidence.found, key, name)
        if start is not None and points is not None:
            k = int(np.argmin(mean_of(points.gap)))
            made[name] = paired(points.gap[:, k], start.gap[:, 0], data)
    if len(made) < len(BASELINES):
        return None
    verdict = at_least([is_above(each) for each in made.values()], 2)
    return Judged(verdict, ", ".join(f"{BASELINES[name]} {each}" for name, each in made.items()))


NEARLY_ALL = 9  # of eleven values: "almost the entire curve"


def jointly(region: str, everywhere: bool, boundary: bool = False, against: str = "xgboost") -> Judge:
    """Compare FairPOT in the top alpha with the boosted trees' scores, or with the network's own, as they came."""

    def judge(evidence: Evidence, data: str, ties: str, source: str) -> Judged | None:
        key = key_of(data, PARTIAL, ties, source, region)
        start = start_of(evidence, key, against)
        ours = evidence.found.get(key._replace(method="fairpot_boundary" if boundary else "fairpot"))
        if start is None or ours is None:
            return None
        changes = changes_of(ours if boundary else tenths(ours), start, data)
        return _almost_everywhere(changes) if everywhere else some_lambda(changes)

    return judge


def _almost_everywhere(changes: list[Change]) -> Judged:
    return Judged(at_least([change.verdict() for change in changes], NEARLY_ALL), tally(changes))


def xorder_at_a_price(evidence: Evidence, data: str, ties: str, source: str) -> Judged | None:
    """Compare the gap at xOrder's highest partial AUC with that of the boosted trees as they came."""
    key = key_of(data, PARTIAL, ties, source, "pooled")
    start, ours = start_of(evidence, key, "xgboost"), evidence.found.get(key)
    theirs = evidence.found.get(key._replace(method="xorder"))
    if start is None or theirs is None or ours is None:
        return None
    ours = tenths(ours)
    k, own = int(np.argmax(mean_of(theirs.auc))), int(np.argmax(mean_of(ours.auc)))
    higher = paired(theirs.auc[:, k], ours.auc[:, own], data)
    wider = paired(theirs.gap[:, k], start.gap[:, 0], data)
    verdict = all_of([is_above(higher, 2), is_above(wider, 2)])
    return Judged(verdict, f"pAUC {higher} over FairPOT's best; gap {wider} over XGBoost's")


def fairpot_keeps_the_gap(evidence: Evidence, data: str, ties: str, source: str) -> Judged | None:
    """Compare the gap at FairPOT's highest partial AUC with that of the boosted trees as they came."""
    key = key_of(data, PARTIAL, ties, source, "pooled")
    start, ours = start_of(evidence, key, "xgboost"), evidence.found.get(key)
    if start is None or ours is None:
        return None
    ours = tenths(ours)
    k = int(np.argmax(mean_of(ours.auc)))
    less = paired(start.gap[:, 0] + NEGLIGIBLE, ours.gap[:, k], data)
    auc, gap = paired(ours.auc[:, k], start.auc[:, 0], data), paired(ours.gap[:, k], start.gap[:, 0], data)
    return Judged(is_above(less), f"lambda {k / 10:g}: gap {gap} over XGBoost's, pAUC {auc}")
