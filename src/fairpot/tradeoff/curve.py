"""TradeoffCurve: AUC and xAUC gap at each lambda, and the choice of one."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairpot._arguments import argument
from fairpot._defaults import LEVEL
from fairpot._html import html_table
from fairpot._optional import import_optional, make_frame
from fairpot._validation import as_double, check_share, is_number
from fairpot.exceptions import InfeasibleRuleError
from fairpot.inference.certify import Certificate, choose_certified
from fairpot.inference.dial import Band, DialEstimates, Evidence, band_of, thin
from fairpot.inference.limits import gap_name
from fairpot.transport import top_place


def pareto_mask(gap: NDArray[np.float64], auc: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Mark the points for which no other has a gap as small and an AUC as high, one of them better.

    Examples
    --------
    >>> import numpy as np
    >>> pareto_mask(np.array([0.1, 0.2, 0.2, 0.3]), np.array([0.7, 0.8, 0.75, 0.8]))
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


# Metrics are quotients of exact counts: values this close are the same value.
_ROUND_OFF = 1e-12


@dataclass(frozen=True)
class TradeoffPoint:
    """One point of a trade-off curve.

    ``lam`` is a number, or a number for each moved group where the groups have their own. ``pair`` names the two
    groups that the gap is between: ``signed_gap`` is above 0 where the first is ranked higher. ``note`` is what else
    is to be said of a choice, such as that no repair is needed; ``print`` shows it first.
    """

    lam: float | dict[Hashable, float]
    auc: float
    gap: float
    signed_gap: float
    xauc_ab: float
    xauc_ba: float
    pair: tuple[Hashable, Hashable] | None = None
    certificate: Certificate | None = field(default=None, compare=False, repr=False)
    note: str = field(default="", compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.note}\n{self!r}" if self.note else repr(self)


@dataclass(frozen=True, eq=False)
class TradeoffCurve:
    """AUC against xAUC gap at each lambda, in ascending order of lambda.

    Parameters
    ----------
    lam : array of shape (k,), or (k, groups) where each moved group has its own
        At ``lam[i]`` the top ``lam[i]`` of the moved group is transported. On an exact curve these are the
        upper ends of the intervals on which nothing changes.
    auc : array of shape (k,)
        AUC of all rows (the partial AUC where ``alpha`` is set).
    xauc_ab, xauc_ba : arrays of shape (k,)
        How often a positive of the reference group is above a negative of the moved group, and the other
        way round; with more than two groups, those of the pair with the largest gap, see ``pairs``.
    moved, reference : the moved groups and the reference group
    exact : bool
        Whether every distinct lambda is on the curve.
    dial : str
        What ``lam`` is called by the method that the curve belongs to: other methods have other dials.
    unrepaired_auc : float or None
        AUC of the scores as they came, from which ``max_auc_loss`` is measured; None where ``lam`` 0 is on the
        curve and leaves them so.
    evidence : Evidence or None
        The rows behind the curve, which its band and certificates are computed from.
    pairs : tuple of pairs of groups, one for each point, or None
        With more than two groups, the pair with the largest gap at each point. Numbers are seen from its first group:
        the reference where it is one of the two, else the one that is ranked higher. None with two groups.
    alpha : float or None
        The share of the ranking that the numbers look at; None for all of it.
    orders : boolean array of shape (k,) or None
        Whether something of the order inside every group is left. Where it is not, all scores of a group are equal,
        and no rule chooses such a point. None: it is so everywhere.
    identity : float or None
        The value of the dial that leaves the scores as they came; None if there is none.

    Attributes
    ----------
    gap, signed_gap : arrays of shape (k,)
        ``signed_gap = xauc_ab - xauc_ba``: above 0 where the reference (with more than two groups, the first of the
        pair) is ranked higher. With two groups it changes its sign where the repair overshoots.
    pareto : boolean array of shape (k,)
        The points that no other point beats in both gap and AUC.
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
    evidence: Evidence | None = field(default=None, repr=False)
    pairs: tuple[tuple[Hashable, Hashable], ...] | None = field(default=None, repr=False)
    alpha: float | None = None
    orders: NDArray[np.bool_] | None = field(default=None, repr=False)
    identity: float | None = 0.0

    def __len__(self) -> int:
        return len(self.auc)

    def __repr__(self) -> str:
        kind = "every lambda" if self.exact else f"a grid of {self.dial}"
        names = ", ".join(str(g) for g in self.moved)
        return (
            f"<TradeoffCurve of {names} towards {self.reference}: {len(self)} points ({kind}), {self.auc_name} "
            f"{self.auc.min():.4f} to {self.auc.max():.4f}, {self.gap_name} {self.gap.min():.4f} to "
            f"{self.gap.max():.4f}>"
        )

    def _repr_html_(self) -> str:
        best = int(np.nanargmin(self.gap)) if not np.isnan(self.gap).all() else 0
        points = {"first": self.point(0), "smallest gap": self.point(best), "last": self.point(len(self) - 1)}
        rows = [
            {
                "point": name,
                self.dial: str(p.lam) if isinstance(p.lam, dict) else p.lam,
                self.auc_name: p.auc,
                self.gap_name: p.gap,
                "ranked higher": _ranked_higher(p),
            }
            for name, p in points.items()
        ]
        return html_table(rows, f"{len(self)} points, {'every' if self.exact else 'a grid of'} {self.dial}")

    @property
    def auc_name(self) -> str:
        """Say which AUC it is."""
        return "AUC" if self.alpha is None else "partial AUC"

    @property
    def gap_name(self) -> str:
        """Say which gap it is."""
        return "gap" if self.alpha is None else gap_name(self.alpha)

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

        With more than two groups the columns ``first`` and ``second`` name the pair with the largest gap.
        """
        columns = {name: getattr(self, name) for name in ("auc", "gap", "signed_gap", "xauc_ab", "xauc_ba", "pareto")}
        return make_frame(self.settings() | columns | self.pair_columns())

    def settings(self) -> dict[str, NDArray[np.float64]]:
        """Give the values of the dial by name, a column for each moved group where the groups have their own."""
        if self.lam.ndim == 1:
            return {self.dial: self.lam}
        return {f"{self.dial}[{g}]": self.lam[:, j] for j, g in enumerate(self.moved)}

    def pair_columns(self) -> dict[str, NDArray[Any]]:
        """Name the pair with the largest gap at each point; nothing where there are two groups only."""
        if self.pairs is None:
            return {}
        return {name: np.array([str(pair[k]) for pair in self.pairs]) for k, name in enumerate(("first", "second"))}

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw the curve; the options are those of :meth:`fairpot.display.TradeoffDisplay.from_curve`.

        Parameters
        ----------
        ax : matplotlib axes, default None
            None makes a new figure.

        Returns
        -------
        The axes.
        """
        return import_optional("fairpot.display", "plot").TradeoffDisplay.from_curve(self, ax=ax, **options).ax_

    def at(self, lam: float) -> TradeoffPoint:
        """Return the point that holds at ``lam``.

        On an exact curve every lambda in [0, 1] has one; on a grid ``lam`` must be one of its values.
        """
        if self.lam.ndim == 2:
            raise ValueError(f"this curve has a {self.dial} for each group: use frame() and pick a row.")
        if self.exact:
            # The next lambda upwards belongs to the same cut, with the round-off that TransportPlan.cut allows.
            lam = check_share(lam, self.dial, zero=True)
            return self.point(top_place(self.lam, lam) if lam > 0 else 0)
        if not is_number(lam):
            raise TypeError(f"{self.dial} must be a number, got {lam!r}.")
        lam = as_double(lam)
        place = int(np.argmin(np.abs(self.lam - lam)))
        if not abs(self.lam[place] - lam) <= 1e-9:
            raise ValueError(
                f"{self.dial}={lam!r} is not on this grid of {len(self)} values, {self.lam[0]:g} to {self.lam[-1]:g}.\n"
                "Hint: pass it to tradeoff in the list of values to evaluate."
            )
        return self.point(place)

    def point(self, place: int) -> TradeoffPoint:
        """Return the point at one place of the arrays."""
        lam = self.lam[place]
        return TradeoffPoint(
            float(lam) if self.lam.ndim == 1 else {g: float(v) for g, v in zip(self.moved, lam)},
            float(self.auc[place]),
            float(self.gap[place]),
            float(self.signed_gap[place]),
            float(self.xauc_ab[place]),
            float(self.xauc_ba[place]),
            (self.reference, self.moved[0]) if self.pairs is None else self.pairs[place],
        )

    def band(self, level: float = LEVEL) -> Band:
        """Compute how far the curve can be trusted, at each value and at all of them together.

        Parameters
        ----------
        level : float, default 0.95

        Returns
        -------
        Band
            Of AUC and gap, each with ``value``, ``low``, ``high`` (right at one value with probability ``level``) and
            ``low_all``, ``high_all`` (right everywhere at once); ``frame()`` for a table. A curve with more than 256
            points has its band at 256 of them. The maps count as fixed: on the rows they were fitted on the curve
            itself is too good, and the band does not know.

        Examples
        --------
        >>> from fairpot import FairPOT
        >>> from fairpot.datasets import make_synthetic
        >>> data = make_synthetic(random_state=0)
        >>> fp = FairPOT().fit(data.data["x1"], data.target, sensitive_features=data.group)
        >>> fp.tradeoff(lams=[0, 0.5, 1]).band().gap.high.round(3)
        array([0.543, 0.328, 0.157])
        """
        return band_of(self._estimates(thin(len(self))), level, self.dial)

    def select(
        self, *, max_gap: float | None = None, max_auc_loss: float | None = None, confidence: float | None = None
    ) -> TradeoffPoint:
        """Choose a point by rule.

        With ``max_gap``: the highest AUC whose gap is at most that. With ``max_auc_loss`` alone: the smallest
        gap that costs at most that much AUC against lambda = 0. With both: the highest AUC that keeps both.
        Without a rule: the smallest gap. Of equals, the one that is nearest to changing nothing.

        Nobody is moved without need. If the original scores keep ``max_gap``, they are the choice, and its ``note``
        says so. If they do not, an AUC above theirs counts as equal to it: nobody is moved for an AUC that ties and
        chance can add. (Where no value of the dial changes nothing, see ``identity``, the highest AUC is chosen.)

        A point that makes all scores of a group equal (see ``orders``) is never chosen.

        With ``confidence`` and ``max_gap``, on a curve of rows that the map was not fitted on: a point whose true gap
        is within ``max_gap`` with that confidence, however many points it was chosen from; its ``certificate``
        says how that is known.

        Raises
        ------
        InfeasibleRuleError
            If no point keeps the rule; the message names the best that can be had.
        """
        if confidence is not None:
            return self._select_certified(max_gap, max_auc_loss, confidence)
        for name, value in (("max_gap", max_gap), ("max_auc_loss", max_auc_loss)):
            if value is not None:
                check_share(value, name, zero=True)
        if np.isnan(self.gap).all() or np.isnan(self.auc).all():
            raise InfeasibleRuleError(
                f"no {self.dial} can be chosen: the xAUC gap or the AUC is undefined on these rows.\n"
                "Hint: positives and negatives are needed in both groups (in the region, if alpha is set)."
            )
        usable = self._usable()
        allowed = usable.copy()
        if max_auc_loss is not None:
            allowed &= self.unmoved_auc - self.auc <= max_auc_loss + _ROUND_OFF
        if max_gap is not None:
            allowed &= self.gap <= max_gap + _ROUND_OFF
        if not allowed.any():
            raise InfeasibleRuleError(self._best_instead(max_gap, max_auc_loss, usable))
        unmoved = self._unmoved()
        if max_gap is not None and unmoved is not None and allowed[unmoved]:
            point = self.point(unmoved)
            return replace(point, note=f"no repair needed: the {self.gap_name} is {point.gap:.3g}, within {max_gap:g}")
        return self.point(self._nearest(np.flatnonzero(allowed), by_auc=max_gap is not None))

    def _unmoved(self) -> int | None:
        """Find the place of the scores as they came, if they are on the curve."""
        if self.identity is None:
            return None
        same = self.lam == self.identity
        places = np.flatnonzero(same if same.ndim == 1 else same.all(axis=1))
        return int(places[0]) if len(places) else None

    def _nearest(self, places: NDArray[np.intp], *, by_auc: bool) -> int:
        """Find the best of some places, by AUC or by gap; of equals the one nearest to the scores as they came."""
        worth = self.auc[places] if by_auc else -self.gap[places]
        if by_auc and self.identity is not None and (self.unrepaired_auc is not None or self._unmoved() is not None):
            worth = np.minimum(worth, self.unmoved_auc)
        equals = places[worth >= worth.max() - _ROUND_OFF]
        if self.identity is None:
            return int(equals[0])
        moved = np.abs(self.lam[equals] - self.identity)
        return int(equals[np.argmin(moved if moved.ndim == 1 else moved.sum(axis=1))])

    def _usable(self) -> NDArray[np.bool_]:
        """Mark the points that a rule may choose: those that are defined, and leave groups in some order."""
        defined = ~(np.isnan(self.gap) | np.isnan(self.auc))
        usable = defined if self.orders is None else defined & self.orders
        if not usable.any():
            raise InfeasibleRuleError(
                f"no {self.dial} can be chosen: each makes all scores of a group equal.\n"
                f"Hint: trace other values of {self.dial}, or try another method."
            )
        return usable

    def _known_rows(self) -> Evidence:
        if self.evidence is None:
            raise ValueError(
                "this curve does not know the rows it was traced on, so that nothing can be said of its uncertainty.\n"
                "Hint: trace it with the tradeoff method of a fitted post-processor."
            )
        return self.evidence

    def _estimates(self, places: NDArray[np.intp]) -> DialEstimates:
        evidence, exact = self._known_rows(), None
        if len(self.moved) == 1:
            pairs = np.stack([self.xauc_ab[places], self.xauc_ba[places]], axis=1)
            exact = self.auc[places], pairs if evidence.first_group == self.reference else pairs[:, ::-1]
        return evidence.estimate(self.lam[places], exact)

    def _select_certified(self, max_gap: float | None, max_auc_loss: float | None, confidence: float) -> TradeoffPoint:
        if max_gap is None:
            raise ValueError("confidence certifies a bound on the gap: give max_gap as well.")
        evidence = self._known_rows()
        if evidence.fitted:
            raise ValueError(
                "nothing can be certified on the rows that the map was fitted on.\n"
                "Hint: trace the curve on other rows, or give confidence to the post-processor, which then cross-fits."
            )
        places = thin(len(self))
        places = places[self._usable()[places]]
        dial = self._estimates(places)
        place, certificate = choose_certified(
            dial,
            max_gap,
            confidence,
            unrepaired=evidence.unrepaired(),
            rows=evidence.rows,
            name=self.dial,
            max_auc_loss=max_auc_loss,
            top=evidence.top,
            unmoved=next(iter(np.flatnonzero(places == self._unmoved()).tolist()), None),
        )
        return replace(self.point(int(places[place])), certificate=certificate)

    @property
    def unmoved_auc(self) -> float:
        """AUC of the scores as they came."""
        if self.unrepaired_auc is not None:
            return self.unrepaired_auc
        if self.lam[0].max() != 0:
            raise ValueError(
                "max_auc_loss is measured from lambda = 0, which is not on this grid.\nHint: put 0 into lams."
            )
        return float(self.auc[0])

    def _best_instead(self, max_gap: float | None, max_auc_loss: float | None, usable: NDArray[np.bool_]) -> str:
        if max_gap is None:
            best = self.point(int(np.nanargmax(np.where(usable, self.auc, np.nan))))
            rule = f"no {self.dial} keeps {argument('max_auc_loss', max_auc_loss)}"
            return f"{rule}: the highest {self.auc_name} is {best.auc:.6g} at {self._named(best)}."
        best = self.point(int(np.nanargmin(np.where(usable, self.gap, np.nan))))
        message = f"no {self.dial} keeps {argument('max_gap', max_gap)}"
        if max_auc_loss is not None:
            message += f" and {argument('max_auc_loss', max_auc_loss)} together"
        message += (
            f": the smallest {self.gap_name} is {best.gap:.6g} at {self._named(best)} ({self.auc_name} {best.auc:.6g}"
        )
        if max_auc_loss is not None:
            message += f", a loss of {self.unmoved_auc - best.auc:.6g}"
            within = np.flatnonzero(usable & (self.unmoved_auc - self.auc <= max_auc_loss))
            if len(within):
                near = self.point(int(within[np.nanargmin(self.gap[within])]))
                message += (
                    f"); within that loss it is {near.gap:.6g} at {self._named(near)} ({self.auc_name} {near.auc:.6g}"
                )
        return message + ").\nHint: allow a larger gap or loss, or try another method; the curve shows what can be had."

    def _named(self, point: TradeoffPoint) -> str:
        return f"{self.dial}=" + (f"{point.lam:.6g}" if isinstance(point.lam, float) else str(point.lam))


def _ranked_higher(point: TradeoffPoint) -> str:
    """Say which group of the pair is ranked higher than the other."""
    assert point.pair is not None
    if not point.gap > 0:
        return "neither" if point.gap == 0 else "unknown"
    higher, lower = point.pair if point.signed_gap > 0 else point.pair[::-1]
    return f"{higher} than {lower}"
