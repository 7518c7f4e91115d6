"""Comparison: every method's points on the same held-out rows, and the choice of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from fairpot._defaults import LEVEL
from fairpot._html import html_table, lines_svg, notes, paragraph
from fairpot._optional import make_frame
from fairpot._shown import display
from fairpot._validation import check_level, check_share, wording
from fairpot.exceptions import InfeasibleRuleError
from fairpot.inference.change import auc_difference
from fairpot.inference.dial import Evidence, band_of
from fairpot.tradeoff.bracket import LimitBracket
from fairpot.tradeoff.curve import pareto_mask
from fairpot.tradeoff.limit import Limit, LimitPoint
from fairpot.tradeoff.operating import among
from fairpot.transport import Floats

UNREPAIRED = "unrepaired"
_LIMITS = ("auc_low", "auc_high", "gap_low", "gap_high")
# What tables for people call the lines that are not methods.
NAMES = {UNREPAIRED: "original", "limit": "best possible", "within reach": "within reach"}
# Metrics are quotients of exact counts: values this close are the same value.
_ROUND_OFF = 1e-12


class ComparisonRow(NamedTuple):
    """Hold one method at one repair strength, on the held-out rows.

    Examples
    --------
    >>> from fairpot import compare
    >>> from fairpot.datasets import make_synthetic
    >>> data = make_synthetic(600, random_state=0, as_frame=False)
    >>> score, y, group = data.probability, data.target, data.group
    >>> result = compare(y, score, sensitive_features=group, methods=["FairPOT", "LogitShift"], cv=2)
    >>> row = result.row(0)
    >>> row.method, round(row.auc, 3)
    ('unrepaired', 0.904)
    """

    method: str
    dial: str
    value: float
    auc: float
    gap: float
    signed_gap: float
    distance_to_limit: float
    pareto: bool

    @property
    def label(self) -> str:
        """The method with its dial, such as "FairPOT (lam = 0.4)"."""
        return f"{self.method} ({self.dial} = {self.value:.4g})" if self.dial else self.method


class Rival(NamedTuple):
    """How far the best method is ahead of another, and whether that is more than chance explains."""

    method: str
    lead: float
    se: float
    low: float
    high: float
    clear: bool


@dataclass(frozen=True, eq=False)
class Comparison:
    """Hold the points of all methods on the same held-out rows; the first is the original scores.

    With folds, AUC and signed gap are means over the folds, each repair strength for itself, and ``gap`` is the
    absolute value of the mean signed gap: chance that favours one group in one fold and the other in another
    cancels. With more than two groups that is done for every two, ``gap`` is the largest of them, and ``signed_gap``
    and ``distance_to_limit`` are NaN.

    Attributes
    ----------
    method, dial : arrays of str of shape (k,)
        The method, and what it calls its repair strength; a method without one has an empty name.
    value : array of shape (k,)
        The repair strength; NaN without one.
    auc, gap, signed_gap : arrays of shape (k,)
        ``signed_gap`` is positive where the reference group is ranked higher.
    distance_to_limit : array of shape (k,)
        The AUC left on the table at the point's signed gap: what is within reach there, minus the point's AUC. Below 0
        nothing is left that these rows could show. NaN where what is within reach is not known (``limit.reason``).
    pareto : boolean array of shape (k,)
        The points that no other point of any method beats in both gap and AUC.
    limit : Limit, LimitBracket or None
        The line that no repair which keeps the order inside each group can cross on these rows. With folds: the
        highest mean AUC for each mean signed gap, whatever is done in each fold. It is fitted to the outcomes
        of the held-out rows, and the more so the smaller the folds are; ``limit.optimism`` is how much, and
        ``limit.reachable_at`` what is left without it. With more than two groups a bracket.
    skipped : dict of method to reason
        Methods that cannot run on these rows.
    reference : name of the group whose scores do not change
    max_gaps : tuple of floats
        The bounds that ``str()`` shows.
    rows : str
        What the methods were evaluated on.
    estimators : dict of method to estimator
        As they were compared, unfitted.
    table : ScoreTable
        All rows that were given to fit.
    capacity : float, int or None
        The top of the list that gaps are those of, a share or a number of the rows given to fit; None for all of it.

    Examples
    --------
    >>> from fairpot import compare
    >>> from fairpot.datasets import make_synthetic
    >>> data = make_synthetic(600, random_state=0, as_frame=False)
    >>> score, y, group = data.probability, data.target, data.group
    >>> result = compare(y, score, sensitive_features=group, methods=["FairPOT", "LogitShift"], cv=2)
    >>> best = result.best(max_gap=0.1)
    >>> best.gap <= 0.1
    True
    >>> sorted(set(result.method.tolist()))
    ['FairPOT', 'LogitShift', 'unrepaired']
    """

    method: NDArray[np.str_]
    dial: NDArray[np.str_]
    value: Floats
    auc: Floats
    gap: Floats
    signed_gap: Floats
    reference: Any
    limit: Limit | LimitBracket | None = None
    skipped: dict[str, str] = field(default_factory=dict)
    max_gaps: tuple[float, ...] = (0.02, 0.05, 0.10)
    rows: str = ""
    estimators: dict[str, Any] = field(default_factory=dict, repr=False)
    table: Any = field(default=None, repr=False)
    evidence: dict[str, tuple[Evidence, Any]] = field(default_factory=dict, repr=False)
    capacity: float | int | None = None

    def __len__(self) -> int:
        return len(self.auc)

    def __repr__(self) -> str:
        return f"<Comparison of {', '.join(self.methods)} on {self.rows}:\n {self.verdict(self.max_gaps[-1])}>"

    def __str__(self) -> str:
        bounds = [f"gap <= {bound:g}" for bound in self.max_gaps]
        lines = [["highest AUC at", *bounds, "smallest gap"]]
        lines += [self._line(name) for name in (UNREPAIRED, *self.methods)]
        limits = self.limit_lines.items()
        lines += [[NAMES.get(name, name), *(f"{auc:.3f}" for auc in aucs), ""] for name, aucs in limits]
        left_out = [f"left out: {name}: {reason}" for name, reason in self.skipped.items()]
        head = [
            *self.verdicts,
            f"{self.rows}, reference {self.reference}{self.gaps_where}",
            *filter(None, [self.weighed]),
        ]
        return "\n".join([*head, *_aligned(lines), *self.limit_notes, *left_out])

    @property
    def gaps_where(self) -> str:
        """Say which part of the list the gaps are those of; empty for all of it."""
        return "" if self.capacity is None else f"; gaps {among(self.capacity)}"

    @property
    def weighed(self) -> str:
        """What weights were taken for, in words; empty without any."""
        return "" if self.table is None else wording.weights_taken(self.table.weights, self.table.rows)

    @cached_property
    def methods(self) -> tuple[str, ...]:
        """The methods that were compared, in their order."""
        return tuple(dict.fromkeys(name for name in self.method.tolist() if name != UNREPAIRED))

    @cached_property
    def pareto(self) -> NDArray[np.bool_]:
        """Points that no other beats, of all methods together."""
        return pareto_mask(self.gap, self.auc)

    @cached_property
    def distance_to_limit(self) -> Floats:
        """What is within reach at each point's signed gap, minus the point's AUC."""
        if not isinstance(self.limit, Limit):
            return np.full(len(self), np.nan)
        return self.limit.reachable_at(self.signed_gap) - self.auc

    @property
    def limit_lines(self) -> dict[str, list[float]]:
        """What is within reach, where that is known, and the limit, at each of the bounds; a bracket has two ends."""
        if isinstance(self.limit, LimitBracket):
            ends = [self.limit.best(bound) for bound in self.max_gaps]
            return {"best possible, at least": [p.low for p in ends], "best possible, at most": [p.high for p in ends]}
        points = [] if self.limit is None else [self.limit.best(bound) for bound in self.max_gaps]
        lines = {"within reach": [p.reachable for p in points], "limit": [p.auc for p in points]}
        return {name: aucs for name, aucs in lines.items() if aucs and np.isfinite(aucs).all()}

    @property
    def limit_notes(self) -> list[str]:
        """What the limit is, in words; and which methods are measured above what is within reach."""
        if self.limit is None:
            return []
        said = [
            "best possible: the highest AUC that a repair which keeps the order inside each group could have on these "
            "rows, knowing their outcomes. It can be above that of the original scores: the same score can mean "
            "different risks in different groups."
        ]
        if isinstance(self.limit, LimitBracket):
            said.append(
                "With more than two groups it lies between two numbers: a merge that knows the outcomes has the lower, "
                "and nothing is above the upper."
            )
        if self.limit.optimism is None:
            return [
                *said,
                f"within reach of a repair fixed beforehand: not known; {self.limit.reason or 'not estimated'}.",
            ]
        lines = self.limit_lines
        chance = max(high - low for low, high in zip(*lines.values()))
        said.append(
            "within reach: what a repair fixed beforehand can be expected to have: the best possible without what "
            f"chance adds to it ({chance:.3f} here)."
        )
        above = self._above(lines["within reach"])
        if above:
            said.append(
                f"above what is within reach: {_listed([NAMES.get(n, n) for n in above])}. That is chance, a repair "
                "strength chosen on these rows or an order that is not kept; no more can be gained here."
            )
        return said

    def _above(self, reachable: list[float]) -> list[str]:
        """Name the methods that are measured above what is within reach, at any of the bounds."""
        found = []
        for name in (UNREPAIRED, *self.methods):
            places = self._places(name)
            inside = [places[self.gap[places] <= bound + _ROUND_OFF] for bound in self.max_gaps]
            if any((self.auc[kept] > most + _ROUND_OFF).any() for kept, most in zip(inside, reachable)):
                found.append(name)
        return found

    def frame(self) -> Any:
        """Return the points as a tidy frame (pandas, Polars or PyArrow, whichever is in use).

        ``auc_low``, ``auc_high``, ``gap_low`` and ``gap_high`` are 95% limits of each point by itself; NaN for methods
        that only know rows, and of the gap at the top of the list.

        Returns
        -------
        frame

        Examples
        --------
        >>> from fairpot import compare
        >>> from fairpot.datasets import make_synthetic
        >>> data = make_synthetic(600, random_state=0, as_frame=False)
        >>> score, y, group = data.probability, data.target, data.group
        >>> result = compare(y, score, sensitive_features=group, methods=["FairPOT", "LogitShift"], cv=2)
        >>> len(result.frame()) == len(result.auc)
        True
        """
        return make_frame({name: getattr(self, name) for name in ComparisonRow._fields} | self._limits)

    @cached_property
    def _limits(self) -> dict[str, Floats]:
        """Limits of AUC and gap at every point; NaN where none are known."""
        found = {name: np.full(len(self), np.nan) for name in _LIMITS}
        for name, (evidence, settings) in self.evidence.items():
            places = np.flatnonzero(self.method == name)
            band = band_of(evidence.estimate(settings), LEVEL)
            for column in _LIMITS if self.capacity is None else _LIMITS[:2]:
                metric, end = column.split("_")
                found[column][places] = getattr(getattr(band, metric), end)
        return found

    def plot(self, ax: Any = None) -> Any:
        """Draw AUC against the gap for every method, see :class:`fairpot.display.ComparisonDisplay`.

        Parameters
        ----------
        ax : matplotlib axes, default None
            None makes a new figure.

        Returns
        -------
        axes

        Examples
        --------
        >>> from fairpot import compare
        >>> from fairpot.datasets import make_synthetic
        >>> data = make_synthetic(600, random_state=0, as_frame=False)
        >>> score, y, group = data.probability, data.target, data.group
        >>> result = compare(y, score, sensitive_features=group, methods=["FairPOT", "LogitShift"], cv=2)
        >>> axes = result.plot()
        """
        return display("ComparisonDisplay").from_comparison(self, ax=ax).ax_

    def row(self, place: int) -> ComparisonRow:
        """Return the point at one place of the arrays.

        Parameters
        ----------
        place : int
            Place in the arrays; 0 is the original scores.

        Returns
        -------
        ComparisonRow

        Examples
        --------
        >>> from fairpot import compare
        >>> from fairpot.datasets import make_synthetic
        >>> data = make_synthetic(600, random_state=0, as_frame=False)
        >>> score, y, group = data.probability, data.target, data.group
        >>> result = compare(y, score, sensitive_features=group, methods=["FairPOT", "LogitShift"], cv=2)
        >>> result.row(0).method
        'unrepaired'
        """
        return ComparisonRow(*(getattr(self, name)[place].item() for name in ComparisonRow._fields))

    def best(self, max_gap: float, *, method: str | None = None) -> ComparisonRow:
        """Return the point of highest AUC whose gap is at most ``max_gap``, of all methods or of one.

        Parameters
        ----------
        max_gap : float
            The target gap: the largest that you accept.
        method : str or None, default None
            The name of a method; None looks at all.

        Returns
        -------
        ComparisonRow

        Raises
        ------
        InfeasibleRuleError
            If there is no such point; the message names the smallest gap there is.

        Examples
        --------
        >>> from fairpot import compare
        >>> from fairpot.datasets import make_synthetic
        >>> data = make_synthetic(600, random_state=0, as_frame=False)
        >>> score, y, group = data.probability, data.target, data.group
        >>> result = compare(y, score, sensitive_features=group, methods=["FairPOT", "LogitShift"], cv=2)
        >>> result.best(max_gap=0.1, method="FairPOT").gap <= 0.1
        True
        """
        return self.row(self._best_place(max_gap, method))

    def _best_place(self, max_gap: float, method: str | None) -> int:
        bound = check_share(max_gap, "max_gap", zero=True)
        places = self._places(method)
        allowed = places[self.gap[places] <= bound + _ROUND_OFF]
        if len(allowed) == 0:
            near = self.smallest_gap(method)
            raise InfeasibleRuleError(
                f"no point has a gap of at most {bound:g}: the smallest is {near.gap:.3f}, by {near.label}, "
                f"AUC {near.auc:.3f}.\nHint: allow a larger gap, or look at frame() for what can be had."
            )
        # Of equals the first: the original scores, then the order of the methods.
        return int(allowed[np.argmax(self.auc[allowed] >= self.auc[allowed].max() - _ROUND_OFF)])

    def versus(self, max_gap: float = 0.05, *, level: float = LEVEL) -> list[Rival]:
        """Compare the method of highest AUC at gaps up to ``max_gap`` with each of the others.

        Each is taken at its own highest AUC within the bound. Both are measured on the same rows, so that what
        they have in common cancels. The intervals hold together with probability ``level`` (Bonferroni).

        Parameters
        ----------
        max_gap : float, default 0.05
            The target gap: the largest that you accept.
        level : float, default 0.95
            Confidence level of all intervals together.

        Returns
        -------
        list of Rival
            ``method``, ``lead`` (AUC of the best minus that of this one), ``se``, ``low``, ``high``, ``clear``
            (whether the lead is more than chance explains). Methods that do not reach the bound have none, nor
            those that only know rows.

        Examples
        --------
        >>> from fairpot import compare
        >>> from fairpot.datasets import make_synthetic
        >>> data = make_synthetic(600, random_state=0, as_frame=False)
        >>> score, y, group = data.probability, data.target, data.group
        >>> result = compare(y, score, sensitive_features=group, methods=["FairPOT", "LogitShift"], cv=2)
        >>> [rival.method for rival in result.versus(max_gap=0.1)]
        ['FairPOT']
        """
        best = self._best_place(max_gap, None)
        others = [name for name in (UNREPAIRED, *self.methods) if name != str(self.method[best])]
        found = []
        for name in others:
            try:
                place = self._best_place(max_gap, name)
            except InfeasibleRuleError:
                continue
            if name in self.evidence and str(self.method[best]) in self.evidence:
                found.append((name, place))
        each = 1 - (1 - check_level(level)) / max(len(found), 1)
        return [self._rival(name, place, best, each) for name, place in found]

    def _rival(self, name: str, place: int, best: int, level: float) -> Rival:
        chosen = [self._settings(p) for p in (place, best)]
        aucs = float(self.auc[place]), float(self.auc[best])
        change = auc_difference(chosen[0], chosen[1], aucs, level=level)
        return Rival(name, change.change, change.se, change.low, change.high, bool(change.low > 0))

    def _settings(self, place: int) -> tuple[Evidence, Any]:
        """Give the rows of a point and what its maps are asked for."""
        name = str(self.method[place])
        evidence, settings = self.evidence[name]
        return evidence, settings[place - int(np.argmax(self.method == name))]

    def fit_best(self, max_gap: float, *, method: str | None = None) -> Any:
        """Fit the winner on all rows that were given to fit, its repair strength chosen there by ``max_gap``.

        The repair strength of :meth:`best` was the best one for the rows it was judged on; a model to be used chooses
        its own.

        Parameters
        ----------
        max_gap : float
            The target gap: the largest that you accept.
        method : str or None, default None
            Fit this method instead of the winner.

        Returns
        -------
        A fitted repair method

        Raises
        ------
        InfeasibleRuleError
            If no method reaches the gap, or if the original scores already keep it: there is nothing to fit.

        Examples
        --------
        >>> from fairpot import compare
        >>> from fairpot.datasets import make_synthetic
        >>> data = make_synthetic(600, random_state=0, as_frame=False)
        >>> score, y, group = data.probability, data.target, data.group
        >>> result = compare(y, score, sensitive_features=group, methods=["FairPOT", "LogitShift"], cv=2)
        >>> type(result.fit_best(max_gap=0.1)).__name__
        'LogitShift'
        """
        row = self.best(max_gap, method=method)
        if row.method == UNREPAIRED:
            raise InfeasibleRuleError(
                f"nothing beats the original scores at gaps up to {max_gap:g}: there is no repair to fit.\n"
                "Hint: name a method, fit_best(max_gap, method=...), to fit one all the same."
            )
        estimator = clone(self.estimators[row.method])
        if not hasattr(estimator, "dial"):
            raise InfeasibleRuleError(
                f"{row.method} has no repair strength that a rule could choose.\n"
                "Hint: fit it yourself, on the rows you have."
            )
        estimator.set_params(**{estimator.dial.name: None, "max_gap": float(max_gap), "max_auc_loss": None})
        if self.capacity is not None:
            estimator.set_params(capacity=self.capacity)
        return estimator.fit_table(self.table)

    def _repr_html_(self) -> str:
        rows = [
            {
                "method": NAMES.get(name, name),
                **{f"AUC at gap <= {bound:g}": cells[1 + i] for i, bound in enumerate(self.max_gaps)},
                "smallest gap": cells[-1],
            }
            for name, cells in ((name, self._line(name, limits=True)) for name in (UNREPAIRED, *self.methods))
        ]
        for name, aucs in self.limit_lines.items():
            cells = {f"AUC at gap <= {bound:g}": f"{auc:.3f}" for bound, auc in zip(self.max_gaps, aucs)}
            rows.append({"method": NAMES.get(name, name), **cells, "smallest gap": ""})
        said = [*filter(None, [self.weighed]), *(self.verdict(bound) for bound in self.max_gaps[:-1])]
        said += self.limit_notes
        said += [f"left out: {name}: {reason}" for name, reason in self.skipped.items()]
        head = paragraph(f"{self.verdict(self.max_gaps[-1])}.", f"{self.rows}{self.gaps_where}")
        return (
            f"<div>{head}{self._picture()}{html_table(rows, 'Highest AUC, with its 95% interval')}{notes(said)}</div>"
        )

    def _picture(self) -> str:
        """Draw AUC over the gap, a line for each method; points far beyond the original gap are left out of sight."""
        reach = 1.15 * float(self.gap[0]) or 1.0
        lines = []
        for name in self.methods:
            places = [k for k in self._places(name).tolist() if self.gap[k] <= reach]
            lines.append((name, self.gap[places].tolist(), self.auc[places].tolist()))
        note = f"Original scores: gap {self.gap[0]:.3f}, AUC {self.auc[0]:.3f}. Intervals are in the table."
        return lines_svg(lines, "AUC over gap, by method", ("gap", "AUC"), note=note)

    def verdict(self, max_gap: float = 0.05) -> str:
        """Say in one line which method is best at gaps up to ``max_gap``, what it costs and what was possible.

        A method is called the best only if chance does not explain its lead over each of the others.

        Parameters
        ----------
        max_gap : float, default 0.05
            The target gap: the largest that you accept.

        Returns
        -------
        str

        Examples
        --------
        >>> from fairpot import compare
        >>> from fairpot.datasets import make_synthetic
        >>> data = make_synthetic(600, random_state=0, as_frame=False)
        >>> score, y, group = data.probability, data.target, data.group
        >>> result = compare(y, score, sensitive_features=group, methods=["FairPOT", "LogitShift"], cv=2)
        >>> print(result.verdict(max_gap=0.1))
        at gap <= 0.1 the highest AUC has LogitShift (shift = 0.575): AUC 0.903, 0.001 below the original
        0.904; chance could explain its lead over FairPOT; no more is within reach (best possible on these
        rows 0.927)
        """
        line = self._winner(max_gap).replace(_BOUNDS, f"{max_gap:g}")
        try:
            best = self.best(max_gap)
        except InfeasibleRuleError:
            return line
        if isinstance(self.limit, LimitBracket):
            ends = self.limit.best(max_gap)
            return f"{line}; best possible on this sample {ends.low:.3f} to {ends.high:.3f}"
        return line if self.limit is None else f"{line}; {_possible(self.limit.best(max_gap), best.auc)}"

    @property
    def verdicts(self) -> list[str]:
        """Which method is best at each of ``max_gaps``, in a line each; bounds with the same answer share one."""
        found: dict[str, list[str]] = {}
        for bound in self.max_gaps:
            found.setdefault(self._winner(bound), []).append(f"{bound:g}")
        return [said.replace(_BOUNDS, _listed(bounds)) for said, bounds in found.items()]

    def _winner(self, max_gap: float) -> str:
        """Say which method is best at gaps up to a bound and what it costs; a mark stands where the bound is named."""
        try:
            best = self.best(max_gap)
        except InfeasibleRuleError:
            near = self.smallest_gap()
            return f"no method reaches gap <= {_BOUNDS}: the smallest is {near.gap:.3f}, by {_with_auc(near)}"
        rivals = self.versus(max_gap)
        close = [rival.method for rival in rivals if not rival.clear]
        line = f"at gap <= {_BOUNDS} {'the highest AUC has' if close else 'the best is'} {_with_auc(best)}"
        if best.method == UNREPAIRED:
            line = f"at gap <= {_BOUNDS} nothing beats the original scores: AUC {best.auc:.3f}"
        else:
            line += f", {_difference(best.auc, float(self.auc[0]))}"
        if not close:
            return line
        over = _listed([NAMES.get(name, name) for name in close])
        over = f"all {len(close)} others" if len(close) == len(rivals) > 2 else over
        return f"{line}; chance could explain its lead over {over}"

    def _places(self, method: str | None) -> NDArray[np.intp]:
        if method is None:
            return np.arange(len(self))
        places = np.flatnonzero(self.method == method)
        if len(places) == 0:
            raise ValueError(
                f"method {method!r} was not compared; there are {[UNREPAIRED, *self.methods]}.\n"
                "Hint: name one of these, or compare again with it, compare(..., methods=[...])."
            )
        return places

    def smallest_gap(self, method: str | None = None) -> ComparisonRow:
        """Return the point with the smallest gap, of all methods or of one.

        Parameters
        ----------
        method : str or None, default None
            The name of a method; None looks at all.

        Returns
        -------
        ComparisonRow

        Examples
        --------
        >>> from fairpot import compare
        >>> from fairpot.datasets import make_synthetic
        >>> data = make_synthetic(600, random_state=0, as_frame=False)
        >>> score, y, group = data.probability, data.target, data.group
        >>> result = compare(y, score, sensitive_features=group, methods=["FairPOT", "LogitShift"], cv=2)
        >>> result.smallest_gap().gap < 0.1
        True
        """
        places = self._places(method)
        return self.row(int(places[np.argmin(np.nan_to_num(self.gap[places], nan=np.inf))]))

    def _line(self, method: str, limits: bool = False) -> list[str]:
        cells = [NAMES.get(method, method)]
        for bound in self.max_gaps:
            try:
                place = self._best_place(bound, method)
            except InfeasibleRuleError:
                cells.append("-")
                continue
            cells.append(_cell(self.row(place)) + (self._auc_limits(place) if limits else ""))
        return [*cells, f"{self.smallest_gap(method).gap:.3f}"]

    def _auc_limits(self, place: int) -> str:
        low, high = (float(self._limits[name][place]) for name in _LIMITS[:2])
        return f", {low:.3f} to {high:.3f}" if low == low else ", no interval"


_BOUNDS = "{bounds}"


def mean_limit(limits: Sequence[Limit]) -> Limit:
    """Return the highest mean AUC for each mean signed gap, over all choices of a point on each limit.

    The limits are concave, so the best choice has the same slope on each: their edges, a share of each, are laid
    one after another from the steepest down.
    """
    if len(limits) == 1:
        return limits[0]
    width, rise, theta = (
        np.concatenate(parts)
        for parts in zip(*((np.diff(line.signed_gap), np.diff(line.auc), line.theta[:-1]) for line in limits))
    )
    kept = np.flatnonzero(width > 0)
    order = kept[np.argsort(-rise[kept] / width[kept], kind="stable")]
    start = [np.mean([getattr(line, name)[0] for line in limits]) for name in ("signed_gap", "auc")]
    gap, auc = (
        np.concatenate(([first], first + np.cumsum(steps[order]) / len(limits)))
        for first, steps in zip(start, (width, rise))
    )
    # The same slope is another theta in a fold with other rates; what is told stays in order.
    falling = np.append(np.minimum.accumulate(theta[order]), 0.0)
    error = float(np.mean([line.error for line in limits]))
    reason = next((f"in a fold, {line.reason}" for line in limits if line.reason is not None), None)
    known = [line.optimism for line in limits if line.optimism is not None]
    optimism = None
    if len(known) == len(limits):  # at the same slope on each
        steps = np.concatenate([np.diff(each) for each in known])[order]
        optimism = np.mean([each[0] for each in known]) + np.append(0.0, np.cumsum(steps)) / len(limits)
    two = limits[0].moved, limits[0].reference
    return Limit(np.clip(gap, -1.0, 1.0), auc, falling, *two, error, optimism, reason)


def _possible(point: LimitPoint, auc: float) -> str:
    """Say what could be had at best, beside the best that a method has."""
    limit = f"best possible on these rows {point.auc:.3f}"
    if np.isnan(point.reachable):
        return limit
    more = "no more" if auc > point.reachable else f"about {point.reachable:.3f}"
    return f"{more} is within reach ({limit})"


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _cell(row: ComparisonRow) -> str:
    return f"{row.auc:.3f} ({row.dial} = {row.value:.3g})" if row.dial else f"{row.auc:.3f}"


def _with_auc(row: ComparisonRow) -> str:
    return f"{row.label}: AUC {row.auc:.3f}"


def _difference(auc: float, unrepaired: float) -> str:
    if abs(auc - unrepaired) < 0.0005:
        return "as that of the original scores"
    side = "above" if auc > unrepaired else "below"
    return f"{abs(auc - unrepaired):.3f} {side} the original {unrepaired:.3f}"


def _aligned(lines: list[list[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*lines)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines]
