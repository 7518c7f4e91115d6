"""Comparisons of whole trade-offs: who is ahead at which gap."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairpot.experiments.collect import Array, Key, Points, mean_of
from fairpot.experiments.evaluate import LAMS
from fairpot.experiments.verdicts import FAILS, HOLDS, OPEN, Difference, all_of, is_above, is_within, paired
from fairpot.tradeoff import pareto_mask

NEGLIGIBLE = 0.005  # of AUC, where a claim speaks of negligible differences
_GAPS = np.arange(31) / 100
# The paper's baselines: what the figure's points are called, and which values of the dial it shows.
BASELINES = {"post_logit": "Post-logit", "wasserstein": "Wasserstein, t = 1", "xorder": "xOrder"}
Found = dict[Key, Points]


class Judged(NamedTuple):
    """A verdict and the figure behind it."""

    verdict: str
    figure: str


def tenths(points: Points) -> Points:
    """Keep the paper's eleven values of a dial with 101 of them."""
    return Points(points.auc[:, ::10], points.signed_gap[:, ::10])


def baseline_points(found: Found, key: Key, method: str) -> Points | None:
    """Return the points of a baseline that the paper shows: of the barycentre the end of the way only."""
    if method == "wasserstein":
        points = found.get(key._replace(source="test", method=method))
        return None if points is None else Points(points.auc[:, -1:], points.signed_gap[:, -1:])
    return found.get(key._replace(method=method))


def dominance(found: Found, key: Key, methods: tuple[str, ...] = tuple(BASELINES)) -> Judged | None:
    """Judge that FairPOT has, at every gap that a baseline reaches, a higher AUC.

    Each point of a baseline that none of its own points beats, in means, is compared with FairPOT's best of those among
    the paper's eleven values whose mean gap is not larger.
    """
    if key._replace(method="fairpot") not in found:
        return None
    ours = tenths(found[key._replace(method="fairpot")])
    made = []
    for method in methods:
        theirs = baseline_points(found, key, method)
        if theirs is not None and np.isfinite(theirs.auc).all():
            made += [_against(ours, theirs, k, key.data, method) for k in _own_frontier(theirs)]
    if not made:
        return None
    verdict = all_of([each.verdict for each in made])
    won = sum(each.verdict == HOLDS for each in made)
    worst = min(made, key=lambda each: ((FAILS, OPEN, HOLDS).index(each.verdict), each.size))
    return Judged(verdict, f"ahead at {won} of {len(made)} points; {worst.figure}")


class _Comparison(NamedTuple):
    verdict: str
    size: float
    figure: str


def _own_frontier(points: Points) -> list[int]:
    gap, auc = mean_of(points.gap), mean_of(points.auc)
    return [int(k) for k in np.flatnonzero(pareto_mask(gap, auc))]


def _against(ours: Points, theirs: Points, k: int, data: str, method: str) -> _Comparison:
    dial = f", lambda {LAMS[k]:g}" if method == "xorder" else ""
    gap = float(mean_of(theirs.gap)[k])
    name = f"{BASELINES[method]}{dial} (gap {gap:.3f})"
    own_gap = mean_of(ours.gap)
    reach = np.flatnonzero(own_gap <= gap)
    if not len(reach):
        nearest = int(np.argmin(own_gap))
        short = paired(ours.gap[:, nearest], theirs.gap[:, k], data)
        return _Comparison(
            FAILS if short.above else OPEN, -1.0, f"{name}: FairPOT's smallest gap is {own_gap[nearest]:.3f} ({short})"
        )
    best = reach[np.argmax(mean_of(ours.auc)[reach])]
    ahead = paired(ours.auc[:, best], theirs.auc[:, k], data)
    return _Comparison(is_above(ahead), ahead.mean, f"{name}: AUC {ahead}")


def improves_both(ours: Points, start: Points, data: str) -> list[tuple[bool, bool, Difference, Difference]]:
    """For each value of a dial: whether AUC and gap are better in means, whether beyond error, and the differences."""
    made = []
    for k in range(ours.auc.shape[1]):
        auc = paired(ours.auc[:, k], start.auc[:, 0], data)
        gap = paired(start.gap[:, 0], ours.gap[:, k], data)
        made.append((auc.mean > 0 and gap.mean > 0, auc.above and gap.above, auc, gap))
    return made


def best_within(points: Points) -> Array:
    """Return, seed by seed, the highest AUC whose gap is at most 0, 0.01, ..., 0.3; NaN where none is."""
    within = points.gap[:, :, None] <= _GAPS
    auc = np.where(within, points.auc[:, :, None], -np.inf).max(axis=1)
    return np.where(np.isfinite(auc), auc, np.nan)


def same_frontier(one: Points, other: Points, data: str) -> Judged:
    """Judge that two dials differ negligibly: in the highest AUC within each gap that both reach on every seed."""
    a, b = best_within(one), best_within(other)
    both = np.asarray(np.isfinite(a).all(axis=0) & np.isfinite(b).all(axis=0))
    if not both.any():
        return Judged(OPEN, "no gap up to 0.3 is reached by both on every seed")
    made = [(gap, paired(a[:, j], b[:, j], data)) for j, gap in enumerate(_GAPS) if both[j]]
    verdict = all_of([is_within(each, NEGLIGIBLE) for _, each in made])
    gap, worst = max(made, key=lambda pair: abs(pair[1].mean))
    return Judged(verdict, f"largest difference in AUC {worst}, within a gap of {gap:.2f}")
