"""A value of the dial that can be signed for; and what is missing where there is none."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from fairpot._arguments import argument
from fairpot._defaults import TopOf
from fairpot._shown import Bar, ShownBars, bar, ends_of
from fairpot._validation import check_level, check_share, wording
from fairpot.exceptions import InfeasibleRuleError
from fairpot.inference.dial import Cut, DialEstimates, band_of
from fairpot.inference.limits import Estimate, draw_errors
from fairpot.inference.shares import GapEstimates
from fairpot.table import Top
from fairpot.transport import Floats
from fairpot.words import asked_and_granted, gap_from, gap_name

How = Literal["step-down", "walk"]
# A rise of the curve by less than this part of a standard error is taken for level ground.
_LEVEL_GROUND = 0.25


def step_down(gaps: GapEstimates, bound: float, delta: float, pairs: int = 1) -> NDArray[np.bool_]:
    """Mark the values whose gaps are certified within a bound: any of them false at most ``delta`` of the time.

    ``gaps``: those of all pairs of groups at the first value, then at the second, ... ``pairs``: number of pairs of
    groups; a value is certified if all its gaps are.
    """
    size = len(gaps.value) // pairs
    # An error counts if it makes a gap beyond the bound look small: it points from the gap towards 0.
    sign = np.where(gaps.value < 0, -1.0, 1.0)
    errors = draw_errors(gaps.covariance * np.outer(sign, sign))
    errors = errors.reshape(len(errors), size, pairs).max(axis=2)
    left = np.ones(size, dtype=bool)
    while left.any():  # all that is not marked yet can afford this tail together; it is never beyond Bonferroni's
        critical = float(np.quantile(errors[:, left].max(axis=1), 1 - delta))
        low, high = gaps.limits(float(np.clip(ndtr(-critical), delta / (pairs * int(left.sum())), delta)))
        reached = left & ((low >= -bound) & (high <= bound)).reshape(size, pairs).all(axis=1)
        if not reached.any():
            break
        left &= ~reached
    return ~left


def sequence(gaps: GapEstimates, bound: float, delta: float, pairs: int = 1) -> NDArray[np.bool_]:
    """Mark the values from the last one down to the first that fails: any of them false at most ``delta`` of the time.

    Nothing is paid for their number, whatever the curve is like, as their order was known before the rows.
    """
    low, high = gaps.limits(delta)
    inside = np.asarray((low >= -bound) & (high <= bound)).reshape(-1, pairs).all(axis=1)
    return np.asarray(np.logical_and.accumulate(np.flip(inside)))[::-1]


def walk(gaps: GapEstimates, bound: float, delta: float, *, backwards: bool = False) -> NDArray[np.bool_]:
    """Mark the values that two chains certify, if the signed gap falls (or rises) along the dial.

    Any of them false at most ``delta`` of the time. ``backwards`` walks from the last value to the first.
    """
    value, (low, high) = gaps.value, gaps.limits(walking_tail(bound, gaps.se, delta))
    if backwards:
        value, low, high = value[::-1], low[::-1], high[::-1]
    if value[-1] > value[0]:
        value, low, high = -value, -high, -low
    upper = np.logical_and.accumulate((high <= bound)[::-1])[::-1]
    lower = np.logical_and.accumulate(low >= -bound)
    reached = upper & lower
    kept = reached & (value >= 0)
    if reached.any():
        kept[np.argmax(reached)] = True
    return np.asarray(kept[::-1] if backwards else kept)


def walking_tail(bound: float, se: Floats, delta: float) -> Floats:
    """Find the tail of each limit of the walk: F(-c) + F(-max(c, bound / se)) = delta.

    A certified value is wrong if the far chain passes a gap above the bound, with chance F(-c), or if a gap below minus
    the bound is measured at 0 or above, with chance F(-bound / se). (The first value, if it is below 0, is
    wrong on that side only if the error reaches twice the bound less c, which is rarer.)
    """
    width = np.divide(bound, se, out=np.full(len(se), np.inf), where=se > 0)
    low, high = np.full(len(se), -ndtri(delta)), np.full(len(se), -ndtri(delta / 2))
    for _ in range(60):
        middle = (low + high) / 2
        wrong = ndtr(-middle) + ndtr(-np.maximum(middle, width))
        low, high = np.where(wrong > delta, middle, low), np.where(wrong > delta, high, middle)
    return np.asarray(ndtr(-high))


def falls(gaps: GapEstimates) -> bool:
    """Whether the signed gap goes one way along the dial, but for rises that its standard error hides."""
    value = gaps.value if gaps.value[-1] <= gaps.value[0] else -gaps.value
    rise = value - np.minimum.accumulate(value)
    return bool((rise <= _LEVEL_GROUND * gaps.se + 1e-12).all())


def certify(
    gaps: GapEstimates, bound: float, delta: float, pairs: int = 1, *, backwards: bool = False, whole: bool = False
) -> tuple[NDArray[np.bool_], How]:
    """Certify values by the walk where it holds, else by step-down; say which.

    Any value may be chosen from those that are marked. ``whole``: the last value is the whole repair, where the gap is
    most likely small; then half of ``delta`` is spent on going down from there.
    """
    if pairs == 1 and falls(gaps):
        return walk(gaps, bound, delta, backwards=backwards), "walk"
    if whole:
        return step_down(gaps, bound, delta / 2, pairs) | sequence(gaps, bound, delta / 2, pairs), "step-down"
    return step_down(gaps, bound, delta, pairs), "step-down"


@dataclass(frozen=True, repr=False)
class Certificate(ShownBars):
    """Hold a certified bound: the true gap at a repair strength is within it, and how that is known.

    Attributes
    ----------
    bound, confidence : float
        The largest gap that is certified; the promise is broken at most ``1 - confidence`` of the time.
    how : {"walk", "step-down", "map"}
        How many repair strengths were accounted for: by two chains along a falling curve, by all together (in a top
        half of the error may go to a sequence down from the whole repair), or one, as the map was there before.
    rows : str
        The rows that it was certified on: held out, or cross-fitted folds.
    dial, value : str, and float or dict
        What the method calls its repair strength, and the one that was chosen.
    gap, auc, gap_before, auc_before : Estimate
        At that value, and of the original scores, with two-sided limits at ``confidence`` for this value alone. It was
        chosen on the same rows: a gap at a barely granted certificate flatters, and the promise is ``bound``.
    limit : float or None
        One-sided upper limit of the gap where nothing was chosen (``how`` is "map"), else None.
    top, top_of : float or int and str, or None
        The top that gap and AUC are those of, a share or a number of rows; None for all rows.
    starts, adjusted : dict of group to float or None, and bool
        The scores at which that top begins, where the promise is about everybody from there on; and whether these are
        adjusted scores, as where everybody is repaired.
    lower_is_riskier : bool
        Whether low scores mean high risk: ``starts`` are then the rows' scores with a minus.

    Examples
    --------
    >>> import fairpot
    >>> data = fairpot.datasets.make_synthetic(4000, random_state=0, as_frame=False)
    >>> score, y, group = data.probability, data.target, data.group
    >>> repair = fairpot.FairPOT(max_gap=0.1, confidence=0.95).fit(score, y, sensitive_features=group)
    >>> found = repair.certificate_
    >>> found
    <Certificate: the overall gap is at most 0.1 with 95% confidence>
    """

    bound: float
    confidence: float
    how: str
    rows: str
    dial: str
    value: Any
    gap: Estimate
    auc: Estimate
    gap_before: Estimate
    auc_before: Estimate
    _upper: float  # limits the gap at this value alone, as if it had not been chosen on the same rows
    top: float | None = None
    top_of: TopOf | None = None
    starts: Mapping[Hashable, float] | None = None
    adjusted: bool = False
    lower_is_riskier: bool = False

    @property
    def limit(self) -> float | None:
        """Limit the gap from above, where nothing was chosen on these rows."""
        return self._upper if self.how == "map" else None

    def spares(self, change: float) -> bool:
        """Whether the gap may change by so much and still be certified."""
        return bool(self._upper + change <= self.bound)

    @property
    def metric(self) -> str:
        """Name the gap: "overall gap", "gap in the top 10%", or "gap among people scored 0.62 or above"."""
        return (
            gap_name(self.top) if self.starts is None else gap_from(self.starts, self.lower_is_riskier, self.adjusted)
        )

    def __repr__(self) -> str:
        return f"<Certificate: the {self.metric} is at most {self.bound:g} with {self.confidence:.0%} confidence>"

    def _listed(self) -> list[dict[str, Any]]:
        """Give gap and AUC before and after, with their limits."""
        named = (("gap", self.gap_before, self.gap), ("auc", self.auc_before, self.auc))
        return [{"metric": name, **ends_of("before", was), **ends_of("after", now)} for name, was, now in named]

    def _bars(self) -> list[Bar]:
        return [bar(f"{self.metric} before", self.gap_before), bar(f"{self.metric} after", self.gap)]

    def _says(self) -> list[str]:
        return [
            f"Certified: the {self.metric} is at most {self.bound:g} with {self.confidence:.0%} confidence",
            str(self),
        ]

    def __str__(self) -> str:
        return (
            f"the {self.metric} is at most {self.bound:g} with {self.confidence:.0%} confidence, tested on "
            f"{self.rows}; measured there: gap {self.gap_before!s} -> {self.gap!s}, "
            f"AUC {self.auc_before!s} -> {self.auc!s}. {asked_and_granted(self.confidence)}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Give plain values for JSON."""
        return {
            "bound": self.bound,
            "confidence": self.confidence,
            "how": self.how,
            "rows": self.rows,
            **({} if self.limit is None else {"limit": self.limit}),
            "top": self.top,
            "top_of": self.top_of,
            **({} if self.starts is None else {"starts": by_group(self.starts), "adjusted": self.adjusted}),
            **{name: getattr(self, name).to_dict() for name in ("gap", "auc", "gap_before", "auc_before")},
        }


def by_group(values: Mapping[Hashable, float]) -> list[dict[str, Any]]:
    """List values by group, as JSON holds them."""
    return [{"group": group, "value": value} for group, value in values.items()]


class Worth(NamedTuple):
    """What certified values are chosen by: AUC, whose loss may be bounded, or net benefit."""

    auc: Floats
    auc_before: float
    benefit: Floats | None = None

    def most(self, capped: bool) -> Floats:
        """What is worth most: net benefit where it is known, else AUC; with ``capped`` up to what it was."""
        if self.benefit is not None:
            return self.benefit
        return np.minimum(self.auc, self.auc_before) if capped else self.auc


def choose_certified(
    dial: DialEstimates,
    bound: float,
    confidence: float,
    *,
    unrepaired: DialEstimates,
    rows: str,
    name: str = "lam",
    max_auc_loss: float | None = None,
    worth: Worth | None = None,
    unmoved: int | None = None,
    top: Top | Cut | None = None,
) -> tuple[int, Certificate]:
    """Choose the highest AUC among the values that are certified; return its place and the certificate.

    ``worth`` is what they are chosen by, if it is not the AUC of the estimates. ``unmoved`` is the place of the value
    that leaves the scores as they came, if there is one: it is chosen if it is certified, and otherwise an AUC above
    that of the original scores counts as equal to it, as in a plain rule.

    Raises :class:`InfeasibleRuleError` if nothing can be certified: with the smallest bound that can be, and how many
    more rows it would take.
    """
    delta = _checked(dial, bound, confidence, f"no {name} can")
    mask, used = certified_values(dial, bound, delta, unrepaired)
    if not mask.any():
        missing = shortfall(
            dial, bound, delta, lambda other: bool(certified_values(dial, other, delta, unrepaired)[0].any())
        )
        raise InfeasibleRuleError(
            f"no {name} can be certified to have a gap within {bound:g} with confidence {confidence:g} "
            f"({rows}): {missing}.\nHint: {missing.hint}.",
            shortfall=missing,
        )
    worth = worth or Worth(dial.auc.value, float(unrepaired.auc.value[0]))
    if max_auc_loss is not None:
        mask = _within_loss(worth, mask, bound, max_auc_loss, name)
    most = np.where(mask, worth.most(capped=unmoved is not None), -np.inf)
    equals = np.flatnonzero(most >= most.max() - 1e-12)
    place = int(equals[0])
    if unmoved is not None:  # of equals the nearest to that which changes nothing
        nearest = equals[np.argmin(np.abs(dial.values[equals] - dial.values[unmoved]))]
        place = unmoved if mask[unmoved] else int(nearest)
    limit = min(float(dial.at([place]).largest(delta)[0]), bound)
    return place, _certificate(dial, place, unrepaired, (bound, confidence, used, rows, name), limit, top)


def certified_values(
    dial: DialEstimates, bound: float, delta: float, unrepaired: DialEstimates
) -> tuple[NDArray[np.bool_], How]:
    """Mark the values that are certified for a bound, but with probability ``delta`` all rightly; say how."""
    # Whether the gap is as it was before the repair at the last value of the dial, not at the first.
    toward = dial.gaps.value * np.sign(unrepaired.gaps.value[0])
    backwards = bool(toward[-1] > toward[0])
    mask, used = certify(dial.gaps, bound, delta, dial.many, backwards=backwards, whole=dial.whole)
    return mask if dial.least is None else mask & (dial.least <= bound), used


def _certificate(
    dial: DialEstimates,
    place: int,
    unrepaired: DialEstimates,
    promise: tuple[float, float, str, str, str],
    limit: float,
    top: Top | Cut | None,
) -> Certificate:
    """Write down what was certified; of a top that begins at a score of its own at each value, that score."""
    numbers = (*_numbers(dial, place, promise[1]), *_numbers(unrepaired, 0, promise[1]))
    found = Certificate(*promise, float(dial.values[place]), *numbers, limit)
    if top is not None:
        where, starts = (top.top, top.starts) if isinstance(top, Cut) else (top, None)
        found = replace(found, top=where.size, top_of=where.top_of, starts=starts)
    return found if dial.starts is None else replace(found, starts=dial.starts[place], adjusted=True)


def _checked(dial: DialEstimates, bound: float, confidence: float, what: str) -> float:
    """Insist on a bound, a confidence and rows enough; give how often a promise may be broken."""
    check_share(bound, "max_gap", zero=True)
    delta = 1 - check_level(confidence, "confidence")
    if dial.reason is not None:
        of = "clusters" if wording.of_clusters(dial.reason) else "rows"
        raise InfeasibleRuleError(f"{what} be certified: {dial.reason}.\nHint: collect more such {of}.")
    return delta


def certify_one(
    dial: DialEstimates,
    bound: float,
    confidence: float,
    *,
    unrepaired: DialEstimates,
    rows: str,
    name: str,
    top: Top | Cut | None = None,
) -> Certificate:
    """Certify the gap at the one value that a dial has, which was not chosen on these rows.

    Raises :class:`InfeasibleRuleError` if the upper limit of the gap is above the bound, with that limit.
    """
    delta = _checked(dial, bound, confidence, "this map cannot")
    limit = float(dial.largest(delta)[0])
    if limit > bound:
        raise InfeasibleRuleError(
            f"this map cannot be certified to have a gap within {bound:g} with confidence {confidence:g} ({rows}): the "
            f"gap is {dial.gap[0]:.3g} there, and its upper limit {limit:.3g}.\n"
            f"Hint: {argument('max_gap', float(np.ceil(1000 * limit) / 1000))} can be certified; choose_certified "
            "looks for a strength that keeps a smaller one."
        )
    return _certificate(dial, 0, unrepaired, (bound, confidence, "map", rows, name), limit, top)


def _within_loss(worth: Worth, mask: np.ndarray, bound: float, max_auc_loss: float, name: str) -> np.ndarray:
    kept = mask & (worth.auc_before - worth.auc <= max_auc_loss + 1e-12)
    if not kept.any():
        least = worth.auc_before - float(worth.auc[mask].max())
        raise InfeasibleRuleError(
            f"no strength that is certified for {argument('max_gap', bound)} keeps "
            f"{argument('max_auc_loss', max_auc_loss)}: "
            f"the smallest loss among them is {least:.6g}.\n"
            f"Hint: raise {argument('max_gap')} or {argument('max_auc_loss')}."
        )
    return kept


def _numbers(dial: DialEstimates, place: int, level: float) -> tuple[Estimate, Estimate]:
    """Give gap and AUC at one value with their limits."""
    band = band_of(dial.at([place]), level)
    own = slice(place * dial.many, (place + 1) * dial.many)
    widest = int(np.argmax(np.abs(dial.gaps.value[own])))
    errors = float(dial.gaps.se[own][widest]), float(dial.auc.se[place])
    gap, auc = (
        Estimate(metric, float(r.value[0]), se, float(r.low[0]), float(r.high[0]), level)
        for metric, r, se in zip(("xauc_gap", "auc"), (band.gap, band.auc), errors)
    )
    return gap, auc


# Whether some value of the dial is certified for a bound.
Certifies = Callable[[float], bool]
# What more rows would do for a certificate.
MoreRows = Literal["help", "cannot tell", "do not help"]


@dataclass(frozen=True)
class Shortfall:
    """Why a bound could not be certified, and what would help.

    ``times`` is how many times as many rows would have about an even chance of a certificate, as limits shrink with the
    square root of the rows: (smallest bound / target)^2. That counts on a gap that can be made small in more rows;
    ``more_rows`` says whether these rows leave that open.
    """

    smallest_bound: float  # of three digits, that some value of the dial is certified for on these rows
    smallest_gap: float  # the smallest that is measured on the dial
    least_gap: float  # what the gap may be at the least, at the value where that is smallest
    bound: float  # the target
    times: float | None = None  # None where more rows do not help

    @property
    def more_rows(self) -> MoreRows:
        """What more rows would do."""
        if self.times is None:
            return "do not help"
        return "help" if self.smallest_gap <= self.bound else "cannot tell"

    def __str__(self) -> str:
        said = f"the smallest bound that can be certified on these rows is {self.smallest_bound:g}"
        gap, least = f"the smallest gap measured is {self.smallest_gap:.3g}", f"{self.least_gap:.3g}"
        if self.times is None:
            sure = f"and with this confidence it is at least {least} at every strength"
            return f"{said}; more rows will not help: {gap}, {sure}"
        about = f"about {self.times:,.0f}" if self.times >= 10 else f"about {self.times:.2g}"
        if self.more_rows == "help":
            return f"{said}; for an even chance of a certificate you would need {about} times as many rows"
        open_ = f"it cannot be told whether more rows would help, as {gap} and could be as small as {least}"
        return f"{said}; {open_}; where it can be made small, {about} times as many would have an even chance"

    @property
    def hint(self) -> str:
        """The way out."""
        ways = [f"accept {argument('max_gap', self.smallest_bound)}"]
        ways += [] if self.times is None else ["collect more rows"]
        return f"{', '.join(ways)}, or leave {argument('confidence')} out to choose by the measured gap alone"

    def to_dict(self) -> dict[str, Any]:
        """Give plain values for JSON."""
        return {
            "smallest_bound": self.smallest_bound,
            "smallest_gap": self.smallest_gap,
            "least_gap": self.least_gap,
            "bound": self.bound,
            "more_rows": self.more_rows,
            "times": self.times,
        }


def _smallest(holds: Callable[[float], bool], low: float, high: float, rounds: int) -> float:
    """Find by halving the smallest number that holds, where all above it do and the highest does."""
    for _ in range(rounds):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def smallest_bound(dial: DialEstimates, certifies: Certifies) -> float:
    """Find the smallest bound that some value of the dial is certified for, to 1e-5."""
    low = float(dial.gap.min())
    return _smallest(certifies, low, 1.0, math.ceil(math.log2(max((1.0 - low) / 1e-5, 1.0))))


def rounded_up(bound: float, certifies: Certifies) -> float:
    """Round a bound up to three digits, so that what is printed can be typed in and is certified."""
    if not 0 < bound < 1:
        return bound
    digits = 2 - math.floor(math.log10(bound))
    steps = math.ceil(bound * 10**digits - 1e-9)
    while steps < 10**digits and not certifies(round(steps / 10**digits, digits)):
        steps += 1
    return round(steps / 10**digits, digits)


def shortfall(dial: DialEstimates, bound: float, delta: float, certifies: Certifies) -> Shortfall:
    """Say what stands between these rows and a certified bound.

    More rows do not help where the gap is shown to be above the bound at every value: each by a test of its own, as all
    of them must be, and the pairs of one value share its tail.
    """
    least = smallest_bound(dial, certifies)
    low = float(dial.widest(delta / dial.many)[0].min())
    times = (least / bound) ** 2 if bound > 0 and not low > bound else None
    rounded = None if times is None else max(math.ceil(100 * times - 1e-6), 101) / 100
    return Shortfall(rounded_up(least, certifies), float(dial.gap.min()), low, bound, rounded)
