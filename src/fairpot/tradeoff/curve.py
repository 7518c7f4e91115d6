"""TradeoffCurve: AUC and xAUC gap at each lambda, and the choice of one."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairpot._defaults import LEVEL
from fairpot._docs import documented
from fairpot._html import html_table, notes, paragraph
from fairpot._optional import make_frame
from fairpot._shown import display
from fairpot._validation import as_double, check_share, is_number
from fairpot.inference.certificate import Certificate, Worth, choose_certified
from fairpot.inference.dial import Band, DialEstimates, Evidence, band_of, thin
from fairpot.tradeoff.choice import Choice
from fairpot.tradeoff.rules import Rule
from fairpot.transport import Floats, top_place
from fairpot.words import gap_name


def pareto_mask(gap: NDArray[np.float64], auc: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Mark the points for which no other has a gap as small and an AUC as high, one of them better.

    Parameters
    ----------
    gap, auc : arrays of shape (k,)
        Those of each point.

    Examples
    --------
    >>> import numpy as np
    >>> from fairpot.tradeoff import pareto_mask
    >>> gap, auc = np.array([0.1, 0.2, 0.2, 0.3]), np.array([0.7, 0.8, 0.75, 0.8])
    >>> pareto_mask(gap, auc)
    array([ True,  True, False, False])
    """
    order = np.lexsort((-auc, gap))
    best_before = np.concatenate(([-np.inf], np.maximum.accumulate(auc[order])[:-1]))
    # Of points that are equal in both, all stay: none beats the other.
    first = np.concatenate(([True], (np.diff(gap[order]) != 0) | (np.diff(auc[order]) != 0)))
    good = (auc[order] > best_before) & first
    good = good[np.maximum.accumulate(np.where(first, np.arange(len(order)), 0))]
    mask = np.empty(len(order), dtype=bool)
    mask[order] = good
    return mask


_NO_LIMITS = "a point of a curve has no interval of its own: curve.band(), or effect of the fitted model, has it"
# Distinct scores of two groups up to which a notebook shows intervals.
_SHOWN_ENTRIES = 400_000


@dataclass(frozen=True)
class TradeoffPoint:
    """Hold one point of a trade-off curve.

    ``lam`` is the repair strength, whatever the method calls it; where several groups have their own, ``strengths`` has
    each, and ``lam`` is how far to go on their common way. ``signed_gap`` is above 0 where the first group of ``pair``
    is ranked higher. ``note`` is what else is to be said of a choice, such as that no repair is needed.
    """

    lam: float
    auc: float
    gap: float
    signed_gap: float
    xauc_ab: float
    xauc_ba: float
    pair: tuple[Hashable, Hashable] | None = None
    strengths: Mapping[Hashable, float] | None = field(default=None, repr=False)
    net_benefit: float | None = field(default=None, repr=False)
    certificate: Certificate | None = field(default=None, compare=False, repr=False)
    note: str = field(default="", compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.note}\n{self!r}" if self.note else repr(self)

    def _repr_html_(self) -> str:
        """Show the choice, and its certificate if it has one."""
        said = self.note or f"AUC {self.auc:.3f}, gap {self.gap:.3f} at {self.lam:.4g}"
        if self.certificate is not None:
            return f"<div>{paragraph(said)}{self.certificate._repr_html_()}</div>"
        return f"<div>{paragraph(said)}{notes([_NO_LIMITS])}</div>"


@documented
@dataclass(frozen=True, eq=False)
class TradeoffCurve:
    """Trace AUC against the gap at each repair strength, in ascending order.

    Attributes
    ----------
    lam, auc : arrays of shape (k,)
        The repair strengths (on an exact curve the upper ends of the intervals on which nothing changes), and the AUC.
    xauc_ab, xauc_ba : arrays of shape (k,)
        How often a positive of the reference group is above a negative of the moved group, and the reverse; with more
        than two groups, those of the pair with the largest gap, see ``pairs``.
    gap, signed_gap, pareto : arrays of shape (k,)
        ``signed_gap = xauc_ab - xauc_ba``, its size, and the points that no other beats in both gap and AUC.
    moved, reference : tuple of groups, and name of a group
        The groups whose scores the repair changes, and the one whose scores do not change.
    exact : bool
        Whether every distinct lambda is on the curve.
    dial, identity : str, and float or None
        What the method calls its repair strength, and the one that changes nothing; None if there is none.
    unrepaired_auc : float or None
        AUC of the original scores, from which ``max_auc_loss`` is measured; None takes it from ``lam`` 0 on the curve.
    pairs : tuple of pairs of groups, one for each point, or None
        With more than two groups, the pair with the largest gap at each point: the reference first where it is one of
        the two, else the one that is ranked higher.
    top : float or None
        The share of the list whose gap it is; None for all of it.
    orders : boolean array of shape (k,) or None
        Where all scores of a group are equal it is False, and no rule chooses the point.
    strengths : dict of moved group to array of shape (k,), or None
        Where several groups have their own: the value of each at every point.

    Examples
    --------
    >>> import fairpot
    >>> data = fairpot.datasets.make_synthetic(1000, random_state=0, as_frame=False)
    >>> score, y, group = data.probability, data.target, data.group
    >>> curve = fairpot.FairPOT(lam=0).fit(score, y, sensitive_features=group).tradeoff()
    >>> len(curve.lam), curve.auc.round(3).max().item(), curve.gap.round(3).min().item()
    (501, 0.878, 0.001)
    >>> curve.select(max_gap=0.05).lam
    0.3
    """

    lam: NDArray[np.float64]
    auc: NDArray[np.float64]
    xauc_ab: NDArray[np.float64]
    xauc_ba: NDArray[np.float64]
    moved: tuple[Hashable, ...]
    reference: Hashable
    exact: bool = False
    dial: str = "lam"
    unrepaired_auc: float | None = None
    evidence: Evidence | None = field(default=None, repr=False)  # the rows that band and certificates come from
    pairs: tuple[tuple[Hashable, Hashable], ...] | None = field(default=None, repr=False)
    top: float | None = None
    orders: NDArray[np.bool_] | None = field(default=None, repr=False)
    identity: float | None = 0.0
    strengths: Mapping[Hashable, Floats] | None = field(default=None, repr=False)
    whole: Evidence | None = field(default=None, repr=False)  # the rows whose AUC it is, where they are more
    search: Callable[[Rule], TradeoffPoint] | None = field(default=None, repr=False)  # between the points as well
    again: Callable[[], TradeoffCurve] | None = field(default=None, repr=False)  # what a pickle of it does

    def __post_init__(self) -> None:
        if self.unrepaired_auc is None and len(self.lam) and self.lam[0] == 0:
            object.__setattr__(self, "unrepaired_auc", float(self.auc[0]))

    def __reduce__(self) -> tuple[Any, ...]:
        if self.again is not None:
            return self.again, ()
        known = {each.name: getattr(self, each.name) for each in fields(self)}
        return partial(TradeoffCurve, **known | {"evidence": None, "whole": None, "search": None}), ()

    def __len__(self) -> int:
        return len(self.auc)

    def __repr__(self) -> str:
        kind = f"every {self.dial}" if self.exact else f"a grid of {self.dial}"
        names = ", ".join(str(g) for g in self.moved)
        return (
            f"<TradeoffCurve of {names} towards {self.reference}: {len(self)} points ({kind}), AUC "
            f"{self.auc.min():.4f} to {self.auc.max():.4f}, {self.gap_name} {self.gap.min():.4f} to "
            f"{self.gap.max():.4f}>"
        )

    def _repr_html_(self) -> str:
        best = int(np.nanargmin(self.gap)) if not np.isnan(self.gap).all() else 0
        named = {"first": 0, "smallest gap": best, "last": len(self) - 1}
        places = np.unique([*named.values()])
        limits, reason = self._limits(places, cheap=True)
        rows = []
        for name, place in named.items():
            point, at = self.point(place), int(np.searchsorted(places, place))
            ends = {key: None if column[at] != column[at] else column[at].item() for key, column in limits.items()}
            gap = self.gap_name
            numbers = {"AUC": point.auc, "AUC_low": ends["auc_low"], "AUC_high": ends["auc_high"]}
            numbers |= {gap: point.gap, f"{gap}_low": ends["gap_low"], f"{gap}_high": ends["gap_high"]}
            rows.append({"point": name, self.dial: point.lam, **numbers, "ranked higher": _ranked_higher(point)})
        said = f"no intervals: {reason}" if reason else f"with {LEVEL:.0%} intervals"
        title = f"{len(self):,} points, {'every' if self.exact else 'a grid of'} {self.dial}; {said}"
        return f"<div>{paragraph(repr(self)[1:-1])}{html_table(rows, title)}</div>"

    def _limits(self, places: NDArray[np.intp], *, cheap: bool = False) -> tuple[dict[str, Floats], str | None]:
        """Give limits of AUC and gap at some places; NaN, and why, where there are none, or none that are ``cheap``."""
        nothing = np.full(len(places), np.nan)
        none = dict.fromkeys(("auc_low", "auc_high", "gap_low", "gap_high"), nothing)
        if self.evidence is None:
            return none, "this curve does not keep the rows it was counted from"
        pairs = len(self.moved) * (len(self.moved) + 1) // 2
        entries = sum(len(c.score) for part in self.evidence.parts for c in part.table.counts)
        if cheap and entries > _SHOWN_ENTRIES // pairs**2:
            return none, "curve.band() computes them"
        found = band_of(self._estimates(places), LEVEL, self.dial)
        known = {"auc": found.auc, "gap": found.gap}
        return {f"{name}_{end}": getattr(known[name], end) for name in known for end in ("low", "high")}, found.reason

    @property
    def gap_name(self) -> str:
        """Say which gap it is."""
        return "gap" if self.top is None else gap_name(self.top)

    @cached_property
    def signed_gap(self) -> NDArray[np.float64]:
        """xauc_ab - xauc_ba: above 0 where the reference, or the first of the pair, is ranked higher."""
        return self.xauc_ab - self.xauc_ba

    @cached_property
    def gap(self) -> NDArray[np.float64]:
        """Absolute xAUC gap."""
        return np.abs(self.signed_gap)

    @cached_property
    def pareto(self) -> NDArray[np.bool_]:
        """Points that no other beats."""
        return pareto_mask(self.gap, self.auc)

    def frame(self) -> Any:
        """Return the curve as a tidy frame (pandas, Polars or PyArrow, whichever is in use).

        ``auc_low``, ``auc_high``, ``gap_low`` and ``gap_high`` are the limits of :meth:`band`, NaN where it has no
        point. With more than two groups ``first`` and ``second`` name the pair with the largest gap.
        """
        columns = {name: getattr(self, name) for name in ("auc", "gap", "signed_gap", "xauc_ab", "xauc_ba", "pareto")}
        places = thin(len(self))
        limits = {}
        for name, values in self._limits(places)[0].items():
            limits[name] = np.full(len(self), np.nan)
            limits[name][places] = values
        own = {f"{self.dial}[{g}]": strengths for g, strengths in (self.strengths or {}).items()}
        named = zip(("first", "second"), zip(*self.pairs)) if self.pairs is not None else ()
        pairs = {name: np.array([str(group) for group in groups]) for name, groups in named}
        return make_frame({self.dial: self.lam} | own | columns | limits | pairs)

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw the curve.

        Parameters
        ----------
        {ax}
        **options
            ``chosen``, a point or a repair strength to mark; ``limit``, what :func:`auc_limit` returns; ``band``, what
            :meth:`band` returns, after which the gap has no sign; ``max_gap``, the largest gap that you accept.
        """
        return display("draw_curve")(self, ax, **options)

    def at(self, lam: float) -> TradeoffPoint:
        """Return the point that holds at ``lam``: any in [0, 1] on an exact curve, else one of the grid.

        Parameters
        ----------
        lam : float
            The repair strength, whatever the method calls it.
        """
        if self.exact and self.lam[0] == 0 and self.lam[-1] == 1:
            # The next lambda upwards belongs to the same cut, with the round-off that TransportPlan.cut allows.
            lam = check_share(lam, self.dial, zero=True)
            return self.point(top_place(self.lam, lam) if lam > 0 else 0)
        if not is_number(lam):
            raise TypeError(f"{self.dial} must be a number, got {lam!r}.")
        lam = as_double(lam)
        place = int(np.nanargmin(np.abs(self.lam - lam)))  # the original scores may have no strength of their own
        if not abs(self.lam[place] - lam) <= 1e-9:
            raise ValueError(
                f"{self.dial}={lam!r} is not on this grid of {len(self)} values, {self.lam[0]:g} to {self.lam[-1]:g}.\n"
                "Hint: pass it to tradeoff in the list of values to evaluate."
            )
        return self.point(place)

    def point(self, place: int) -> TradeoffPoint:
        """Return the point at one place of the arrays."""
        columns = self.lam, self.auc, self.gap, self.signed_gap, self.xauc_ab, self.xauc_ba
        lam, auc, gap, signed_gap, ab, ba = (float(column[place]) for column in columns)
        pair = (self.reference, self.moved[0]) if self.pairs is None else self.pairs[place]
        own = None if self.strengths is None else {g: float(v[place]) for g, v in self.strengths.items()}
        return TradeoffPoint(lam, auc, gap, signed_gap, ab, ba, pair, own)

    def band(self, level: float = LEVEL) -> Band:
        """Compute confidence limits of AUC and gap, at each repair strength and at all of them together.

        A curve with more than 256 points has its band at 256 of them. The maps count as fixed: on the rows they were
        fitted on the curve itself is too good, and the band does not know.

        {level}
        """
        return band_of(self._estimates(thin(len(self))), level, self.dial)

    def select(
        self,
        *,
        max_gap: float | None = None,
        max_auc_loss: float | None = None,
        confidence: float | None = None,
        net_benefit_at: float | None = None,
    ) -> TradeoffPoint:
        """Choose a point by rule.

        With ``max_gap``: the highest AUC whose gap is at most that. With ``max_auc_loss`` alone: the smallest gap that
        costs at most that. With both: the highest AUC that keeps both. Without a rule: the smallest gap. Of equals, the
        one that is nearest to changing nothing. A curve that a fitted method traced with its own strengths looks
        between its points as well, as ``fit`` does.

        Nobody is moved without need: if the original scores keep ``max_gap``, they are the choice, as its ``note``
        says; if not, an AUC above theirs counts as equal to it.

        Parameters
        ----------
        {max_gap}
        max_auc_loss : float or None, default None
            The largest loss of AUC you accept, against the original scores.
        confidence : float in (0, 1) or None, default None
            Certify ``max_gap`` for the choice, on a curve of rows that the map was not fitted on; see the point's
            ``certificate``.
        net_benefit_at : float in (0, 1) or None, default None
            The score from which you act, a probability: the highest net benefit there, in place of AUC.

        Raises
        ------
        InfeasibleRuleError
            If no point keeps the rule; the message names the best that can be had.
        """
        rule = Rule(max_gap, max_auc_loss, net_benefit_at).checked()
        if confidence is not None:
            return self._select_certified(rule, confidence)
        if self.search is not None:
            return self.search(rule)
        return self.judged(rule).chosen()

    def judged(self, rule: Rule) -> Choice:
        """Say what each point is worth under a rule."""
        if rule.net_benefit_at is None:
            return Choice(self, rule)
        return Choice(self, rule, (self.whole or self._known_rows()).net_benefits(self.lam, rule.net_benefit_at))

    @property
    def unmoved(self) -> int | None:
        """The place of the scores as they came, if they are on the curve."""
        if self.identity is None:
            return None
        places = np.flatnonzero(self.lam == self.identity)
        return int(places[0]) if len(places) else None

    def _known_rows(self) -> Evidence:
        if self.evidence is None:
            raise ValueError(
                "this curve does not know the rows it was traced on, so that nothing can be said of its uncertainty.\n"
                "Hint: trace it with the tradeoff method of a fitted repair method."
            )
        return self.evidence

    def _estimates(self, places: NDArray[np.intp]) -> DialEstimates:
        evidence, exact = self._known_rows(), None
        if len(self.moved) == 1:
            pairs = np.stack([self.xauc_ab[places], self.xauc_ba[places]], axis=1)
            exact = self.auc[places], pairs if evidence.parts[0].table.groups[0] == self.reference else pairs[:, ::-1]
        found = evidence.estimate(self.lam[places], None if evidence.top is not None else exact)
        if self.whole is None:
            return found
        return replace(found, auc=self.whole.estimate(self.lam[places]).auc)

    def _select_certified(self, rule: Rule, confidence: float) -> TradeoffPoint:
        if rule.max_gap is None:
            raise ValueError("confidence certifies a bound on the gap.\nHint: give max_gap as well.")
        evidence = self._known_rows()
        if evidence.fitted:
            raise ValueError(
                "nothing can be certified on the rows that the map was fitted on.\n"
                "Hint: trace the curve on other rows, or give confidence to the method, which then cross-fits."
            )
        places = thin(len(self))
        places = places[Choice(self, rule).usable()[places]]
        tops = evidence.tops(self.lam[places], self.dial)
        if tops is not None:
            places = places[np.isin(self.lam[places], tops.places)]
        worth = None if self.whole is None else Worth(self.auc[places], self.unmoved_auc)
        if rule.net_benefit_at is not None:
            benefit = (self.whole or evidence).net_benefits(self.lam[places], rule.net_benefit_at)
            worth = Worth(self.auc[places], self.unmoved_auc, benefit)
        dial = self._estimates(places) if self.whole is None else evidence.held(self.lam[places], tops)
        place, certificate = choose_certified(
            dial,
            rule.max_gap,
            confidence,
            unrepaired=evidence.unrepaired(),
            rows=evidence.rows,
            name=self.dial,
            max_auc_loss=rule.max_auc_loss,
            worth=worth,
            top=evidence.seen_in,
            unmoved=next(iter(np.flatnonzero(places == self.unmoved).tolist()), None),
        )
        return replace(self.point(int(places[place])), certificate=certificate)

    @property
    def unmoved_auc(self) -> float:
        """AUC of the scores as they came."""
        if self.unrepaired_auc is None:
            raise ValueError(
                "max_auc_loss is measured from lambda = 0, which is not on this grid.\nHint: put 0 into lams."
            )
        return self.unrepaired_auc


def _ranked_higher(point: TradeoffPoint) -> str:
    assert point.pair is not None
    if not point.gap > 0:
        return "neither" if point.gap == 0 else "unknown"
    higher, lower = point.pair if point.signed_gap > 0 else point.pair[::-1]
    return f"{higher} than {lower}"
