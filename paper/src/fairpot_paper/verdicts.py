"""When a difference says something, when one curve beats another, and what a claim is judged by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy import stats

from fairpot.tradeoff import pareto_mask
from fairpot_paper.data_sets import DATA_SETS, TEST_SHARE
from fairpot_paper.runs import LAMS
from fairpot_paper.tables import Array, Key, Points, Record, mean_of, standard_error

HOLDS, FAILS, OPEN, ABSENT = "holds", "does not hold", "cannot tell", "not run"
LEVEL = 0.05  # a difference is taken for one where its two-sided 95 % interval does not hold zero


_allowing: ContextVar[bool] = ContextVar("allowing_for_shared_rows", default=False)


class Judged(NamedTuple):
    """A verdict and the figure behind it; and whether it is the same with errors that allow for shared rows."""

    verdict: str
    figure: str
    stands: bool = True


@contextmanager
def allowing_for_shared_rows() -> Iterator[None]:
    """Judge with the errors of Nadeau and Bengio: splits of one data set share rows, and differ too little."""
    token = _allowing.set(True)
    try:
        yield
    finally:
        _allowing.reset(token)


@cache
def _quantile(comparisons: int, freedom: int) -> float:
    """Return Student's two-sided quantile, each of several comparisons at its part of the level."""
    return float(stats.t.ppf(1 - LEVEL / 2 / comparisons, freedom))


class Difference(NamedTuple):
    """The mean of paired differences, its standard error, how many pairs there are, and whether they share rows.

    Examples
    --------
    >>> Difference(0.02, 0.004, 20).above, Difference(0.02, float("nan"), 1).above
    (True, False)
    """

    mean: float
    error: float
    n: int
    shared: bool = False

    def reach(self, comparisons: int = 1) -> float:
        """Return half the width of the interval, Student's; of several comparisons, each at its part of the level.

        The deviation over resamples stands for the error of one estimate, and is itself known from as many of them:
        Student's quantile holds there too.
        """
        if self.n < 2:
            return np.inf
        wider = np.sqrt(1 + self.n * TEST_SHARE / (1 - TEST_SHARE)) if self.shared and _allowing.get() else 1.0
        return _quantile(comparisons, self.n - 1) * self.error * float(wider)

    @property
    def above(self) -> bool:
        """Whether the interval lies above zero."""
        return bool(self.mean > self.reach())

    @property
    def below(self) -> bool:
        """Whether the interval lies below zero."""
        return bool(self.mean < -self.reach())

    @property
    def zero(self) -> bool:
        """Whether there is no difference in any pair."""
        return bool(self.n > 1 and self.mean == 0 and self.error == 0)

    def __str__(self) -> str:
        if not np.isfinite(self.mean):
            return "without a figure"
        return f"{self.mean:+.4f} ± {self.error:.4f}" if self.n > 1 else f"{self.mean:+.4f} (one run)"


def number(value: float | None, digits: int = 4, signed: bool = False) -> str:
    """Write a number; nothing where there is none."""
    return "" if value is None or not np.isfinite(value) else f"{value:{'+' if signed else ''}.{digits}f}"


def paired(one: Array, other: Array, data: str) -> Difference:
    """Compare two figures seed by seed, or resample by resample, where both are there.

    A single pair has no spread, and nothing can be told from it.
    """
    change = np.asarray(one - other, dtype=np.float64)
    known = int(np.isfinite(change).sum())
    return Difference(float(mean_of(change)), float(standard_error(change, data)), known, DATA_SETS[data].shares_rows)


def mean_difference(differences: list[Difference]) -> Difference:
    """Return the mean of independent differences, on the degrees of freedom of the one with the fewest pairs."""
    error = float(np.sqrt(sum(each.error**2 for each in differences))) / len(differences)
    mean, shared = float(np.mean([each.mean for each in differences])), any(each.shared for each in differences)
    return Difference(mean, error, min(each.n for each in differences), shared)


def at_least(verdicts: list[str], needed: int) -> str:
    """Judge that so many of several things hold: fails where too few can.

    Examples
    --------
    >>> at_least(["holds", "cannot tell", "does not hold"], 2)
    'cannot tell'
    """
    if not verdicts:
        return ABSENT
    if verdicts.count(HOLDS) >= needed:
        return HOLDS
    return FAILS if len(verdicts) - verdicts.count(FAILS) < needed else OPEN


def all_of(verdicts: list[str]) -> str:
    """Judge a claim about several things at once: it fails with any of them, and holds with all.

    Examples
    --------
    >>> all_of(["holds", "cannot tell"])
    'cannot tell'
    """
    return at_least(verdicts, len(verdicts))


def opposite(verdict: str) -> str:
    """Judge the denial of a claim."""
    return {HOLDS: FAILS, FAILS: HOLDS}.get(verdict, verdict)


def is_above(difference: Difference, comparisons: int = 1) -> str:
    """Judge the claim that a difference is above zero.

    Where a claim needs ``comparisons`` of them all, one that is below ends it: that has to be beyond what the smallest
    of so many may show by chance. To hold, each has to be above on its own, which needs no such care.
    """
    if difference.above:
        return HOLDS
    return FAILS if difference.mean < -difference.reach(comparisons) else OPEN


def one_above(differences: list[Difference]) -> str:
    """Judge the claim that one of several differences at least is above zero: each at its part of the level.

    It fails where each is below on its own, or where there is none in any pair.
    """
    parts = len(differences)
    verdicts = [HOLDS if each.mean > each.reach(parts) else _refuted(each) for each in differences]
    return at_least(verdicts, 1)


def _refuted(difference: Difference) -> str:
    return FAILS if difference.below or difference.zero else OPEN


def is_within(difference: Difference, tolerance: float, comparisons: int = 1) -> str:
    """Judge the claim that a difference is negligible: smaller than a stated tolerance either way."""
    if abs(difference.mean) + difference.reach() < tolerance:
        return HOLDS
    return FAILS if abs(difference.mean) - difference.reach(comparisons) > tolerance else OPEN


NEGLIGIBLE = 0.005  # of the gap, where a claim speaks of comparable or negligible
SHARE_AT_STAKE = 0.1  # of the AUC that FairPOT's dial costs from end to end, likewise
_GAPS = np.arange(31) / 100
# The paper's baselines: what the figure's points are called, and which values of the dial it shows.
BASELINES = {"post_logit": "Post-logit", "wasserstein": "Wasserstein, t = 1", "xorder": "xOrder"}
Found = dict[Key, Points]


def tenths(points: Points) -> Points:
    """Keep the paper's eleven values of a dial with 101 of them."""
    return Points(points.auc[:, ::10], points.signed_gap[:, ::10])


def negligible_auc(points: Points) -> float:
    """Return how much AUC is taken for negligible: a tenth of what the dial moves it, in means."""
    return SHARE_AT_STAKE * float(np.ptp(mean_of(points.auc)))


def baseline_points(found: Found, key: Key, method: str) -> Points | None:
    """Return the points of a baseline that the paper shows: of the barycentre the end of the way only."""
    if method == "wasserstein":
        points = found.get(key._replace(source="test", method=method))
        return None if points is None else Points(points.auc[:, -1:], points.signed_gap[:, -1:])
    return found.get(key._replace(method=method))


def dominance(
    found: Found,
    key: Key,
    methods: tuple[str, ...] = tuple(BASELINES),
    *,
    comparable: bool = False,
    most: bool = False,
    fine: bool = False,
) -> Judged | None:
    """Judge that FairPOT has, at every gap that a baseline reaches, a higher AUC.

    Each point of a baseline that none of its own points beats, in means, is compared with FairPOT's best of those among
    the paper's eleven values whose mean gap is not larger.

    Parameters
    ----------
    found, key, methods
        Where FairPOT and the baselines are.
    comparable : bool, default False
        Whether a gap that is 0.005 larger and an AUC that is lower by a tenth of what FairPOT's dial moves it are
        taken for as good.
    most : bool, default False
        Whether more than half of the points are enough.
    fine : bool, default False
        Whether FairPOT may take any hundredth of lambda.
    """
    ours = found.get(key._replace(method="fairpot"))
    if ours is None:
        return None
    slack = Slack(NEGLIGIBLE, negligible_auc(ours)) if comparable else Slack(0.0, 0.0)
    ours = ours if fine else tenths(ours)
    made: list[_Comparison] = []
    without = []
    for method in methods:
        theirs = baseline_points(found, key, method)
        pair = None if theirs is None else _where_both(ours, theirs)
        if pair is None:
            without.append(BASELINES[method])
            continue
        made += [_against(*pair, k, key.data, method, slack) for k in _own_frontier(pair[1])]
    if not made:
        return None
    verdicts = [each.verdict(1 if most else len(made)) for each in made]
    verdict = at_least(verdicts, len(made) // 2 + 1) if most else all_of(verdicts)
    if without and verdict == HOLDS:
        verdict = OPEN
    return Judged(verdict, "; ".join([_tally(made), _worst(made).figure, *(f"{name}: no figures" for name in without)]))


class Slack(NamedTuple):
    """How much larger a gap and how much lower an AUC are taken for comparable."""

    gap: float
    auc: float


class _Comparison(NamedTuple):
    """How far FairPOT's AUC is above a baseline's, slack included; or, where its gap is out of reach, how far that is
    below FairPOT's smallest.
    """

    reached: bool
    change: Difference
    figure: str

    def verdict(self, comparisons: int = 1) -> str:
        if self.reached:
            return is_above(self.change, comparisons)
        return FAILS if self.change.mean > self.change.reach(comparisons) else OPEN


def _tally(made: list[_Comparison]) -> str:
    counts = Counter(each.verdict() if each.reached else "away" for each in made)
    named = [(HOLDS, "higher"), (OPEN, "undecided"), (FAILS, "lower"), ("away", "gap not reached")]
    return f"{len(made)} point{'s' if len(made) > 1 else ''}: " + ", ".join(
        f"{counts[each]} {word}" for each, word in named
    )


def _worst(made: list[_Comparison]) -> _Comparison:
    def rank(each: _Comparison) -> tuple[int, bool, float]:
        sign = 1 if each.reached else -1
        return (FAILS, OPEN, HOLDS).index(each.verdict()), each.reached, sign * each.change.mean

    return min(made, key=rank)


def _where_both(ours: Points, theirs: Points) -> tuple[Points, Points] | None:
    """Keep the seeds on which both have all their figures; None if there is none."""
    good = np.ones(len(ours.auc), dtype=bool)
    for points in (ours, theirs):
        good &= np.isfinite(points.auc).all(axis=1) & np.isfinite(points.signed_gap).all(axis=1)
    if not good.any():
        return None
    return Points(*(part[good] for part in ours)), Points(*(part[good] for part in theirs))


def _own_frontier(points: Points) -> list[int]:
    """Return the values of a dial whose points no other beats; of those that give the same point, the first."""
    gap, auc = mean_of(points.gap), mean_of(points.auc)
    first: dict[tuple[float, float], int] = {}
    for k in np.flatnonzero(pareto_mask(gap, auc)):
        first.setdefault((float(gap[k]), float(auc[k])), int(k))
    return list(first.values())


def _against(ours: Points, theirs: Points, k: int, data: str, method: str, slack: Slack) -> _Comparison:
    dial = f", lambda {LAMS[k]:g}" if method == "xorder" else ""
    gap = float(mean_of(theirs.gap)[k])
    name = f"{BASELINES[method]}{dial} (gap {gap:.3f})"
    own_gap = mean_of(ours.gap)
    reach = np.flatnonzero(own_gap <= gap + slack.gap)
    if not len(reach):
        nearest = int(np.argmin(own_gap))
        short = paired(ours.gap[:, nearest] - slack.gap, theirs.gap[:, k], data)
        full = paired(ours.gap[:, nearest], theirs.gap[:, k], data)
        return _Comparison(False, short, f"{name}: FairPOT's smallest gap is {own_gap[nearest]:.3f} ({full})")
    best = reach[np.argmax(mean_of(ours.auc)[reach])]
    ahead = paired(ours.auc[:, best] + slack.auc, theirs.auc[:, k], data)
    full = paired(ours.auc[:, best], theirs.auc[:, k], data)
    return _Comparison(True, ahead, f"{name}: AUC {full}")


class Change(NamedTuple):
    """By how much AUC is higher and the gap smaller than they were."""

    auc: Difference
    gap: Difference

    @property
    def in_means(self) -> bool:
        """Whether both are better in means."""
        return self.auc.mean > 0 and self.gap.mean > 0

    def verdict(self, chances: int = 1) -> str:
        """Judge that both are better; where one of several ``chances`` is enough, at a part of the level each."""
        if all(each.mean > each.reach(chances) for each in self):
            return HOLDS
        return FAILS if any(each.below or each.zero for each in self) else OPEN


def changes_of(ours: Points, start: Points, data: str) -> list[Change]:
    """Compare each value of a dial with a starting point."""
    return [
        Change(paired(ours.auc[:, k], start.auc[:, 0], data), paired(start.gap[:, 0], ours.gap[:, k], data))
        for k in range(ours.auc.shape[1])
    ]


def same_frontier(one: Points, other: Points, data: str) -> Judged:
    """Judge that two dials differ negligibly: in the highest mean AUC within each bound on the mean gap.

    Bounds are those that both reach, up to the gap that both start from. Negligible is a tenth of the AUC that the
    first costs from end to end.
    """
    pair = _where_both(one, other)
    if pair is None:
        return Judged(OPEN, "no seed with figures of both")
    start = float(mean_of(pair[0].gap)[0])
    made = []
    for bound in [*_GAPS[start > _GAPS], start]:
        places = [_best_place(each, bound) for each in pair]
        if None not in places:
            a, b = (each.auc[:, place] for each, place in zip(pair, places))
            made.append((float(bound), paired(a, b, data)))
    if not made:
        return Judged(OPEN, "no gap up to the unadjusted one is reached by both")
    tolerance = negligible_auc(pair[0])
    verdict = all_of([is_within(each, tolerance, len(made)) for _, each in made])
    bound, worst = max(made, key=lambda each: abs(each[1].mean))
    text = f"largest difference in AUC {worst}, within a gap of {bound:.2f} (negligible: {tolerance:.4f})"
    least = [float(mean_of(each.gap).min()) for each in pair]
    return Judged(verdict, f"{text}; {len(made)} bounds compared; smallest gaps {least[0]:.3f} and {least[1]:.3f}")


def _best_place(points: Points, bound: float) -> int | None:
    """Return the value of the dial with the highest mean AUC among those whose mean gap is within a bound."""
    within = np.flatnonzero(mean_of(points.gap) <= bound + 1e-12)
    return int(within[np.argmax(mean_of(points.auc)[within])]) if len(within) else None


# Ways to judge a claim: how ties count, and what the maps were fitted on.
WAYS = {"strict": ("strict", "in_sample"), "half": ("half", "in_sample"), "crossfit": ("half", "crossfit")}


class Evidence(NamedTuple):
    """What claims are judged by."""

    found: Found
    records: list[Record]


Judge = Callable[[Evidence, str, str, str], Judged | None]


@dataclass(frozen=True)
class Claim:
    """A claim of the paper about one data set, and the function that judges it.

    ``where`` is the part of the paper that makes it. ``judge(evidence, data, ties, source)`` returns None where nothing
    was run. A claim that does not depend on ties or on what the maps were fitted on is judged once. A number with a
    letter is another ``reading`` of the claim with that number.
    """

    number: str
    where: str
    says: str
    how: str
    data: str
    judge: Judge
    once: bool = False
    reading: str = ""

    def verdicts(self, evidence: Evidence) -> dict[str, Judged]:
        """Judge by strict and half ties with the paper's protocol, and by half ties with cross-fitted maps."""
        ways = {"once": ("half", "in_sample")} if self.once else WAYS
        made = {name: self._judged(evidence, *way) for name, way in ways.items()}
        return {name: judged for name, judged in made.items() if judged is not None}

    def _judged(self, evidence: Evidence, ties: str, source: str) -> Judged | None:
        judged = self.judge(evidence, self.data, ties, source)
        with allowing_for_shared_rows():
            wider = self.judge(evidence, self.data, ties, source)
        if judged is None or wider is None:
            return judged
        return judged._replace(stands=judged.verdict == wider.verdict)


def key_of(data: str, model: str, ties: str, source: str, region: str = "") -> Key:
    """Return the key of FairPOT's points."""
    return Key(data, model, region, source, ties, "fairpot")


def start_of(evidence: Evidence, key: Key, method: str = "unadjusted") -> Points | None:
    """Return the scores as they came."""
    return evidence.found.get(key._replace(source="test", method=method))
