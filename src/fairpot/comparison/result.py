"""Comparison: what every method does at the target gaps on the same held-out rows, and which one to take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from fairpot._defaults import LEVEL
from fairpot._html import html_table, lines_svg, notes, paragraph
from fairpot._optional import make_frame
from fairpot._shown import display
from fairpot._validation import check_choice, check_level, check_share, wording
from fairpot.comparison.trial import UNREPAIRED, Chosen, Trial
from fairpot.exceptions import InfeasibleRuleError
from fairpot.inference.change import auc_difference
from fairpot.inference.dial import band_of
from fairpot.repair.estimator import Repair
from fairpot.tradeoff.bracket import LimitBracket
from fairpot.tradeoff.choice import ROUND_OFF
from fairpot.tradeoff.curve import pareto_mask
from fairpot.tradeoff.limit import Limit, LimitPoint
from fairpot.tradeoff.rules import among
from fairpot.transport import Floats

_POINTS = ("method", "dial", "value", "auc", "gap", "signed_gap", "distance_to_limit", "pareto")
_CHOSEN = ("method", "max_gap", "auc", "gap", "signed_gap", "kept", "folds", "changed", "dial", "reason")
_LIMITS = ("auc_low", "auc_high", "gap_low", "gap_high")
# What tables for people call the lines that are not methods.
NAMES = {UNREPAIRED: "original", "limit": "best possible", "within reach": "within reach"}
_BOUNDS = "{bounds}"


class Rival(NamedTuple):
    """Hold the lead of the best method over another, and whether it is more than chance explains.

    Examples
    --------
    >>> from fairpot import compare
    >>> from fairpot.datasets import make_synthetic
    >>> data = make_synthetic(600, random_state=0, as_frame=False)
    >>> score, y, group = data.probability, data.target, data.group
    >>> result = compare(y, score, sensitive_features=group, methods=["FairPOT", "LogitShift"], cv=2)
    >>> [rival] = result.versus(max_gap=0.1)
    >>> rival.method, round(rival.lead, 3), rival.clear
    ('FairPOT', 0.008, False)
    """

    method: str
    lead: float
    se: float
    low: float
    high: float
    clear: bool


@dataclass(frozen=True, eq=False)
class Comparison:
    """Hold what every method does at the target gaps on the same held-out rows; the first is the original scores.

    In every fold each method's strength is chosen on the fitted rows, as ``fit(max_gap=...)`` chooses it, and judged on
    the held-out rows. AUC and signed gap are means over the folds, and ``gap`` is the absolute value of the mean signed
    gap: chance that favours one group in one fold and the other in another cancels. With more than two groups that is
    done for every two, ``gap`` is the largest of them, and ``signed_gap`` and ``distance_to_limit`` are NaN.

    :meth:`at`, :meth:`best`, :meth:`recommended`, :meth:`versus` and :meth:`verdict` are about these choices. The
    arrays are a picture of the trade-off on the held-out rows, at many strengths; nothing is chosen from them.

    Attributes
    ----------
    trials : tuple of Trial
        The methods on all folds.
    reference : name of the group whose scores do not change
    limit : Limit, LimitBracket or None
        The line that no repair which keeps the order inside each group can cross on these rows. With folds: the
        highest mean AUC for each mean signed gap, whatever is done in each fold. It is fitted to the outcomes
        of the held-out rows, and the more so the smaller the folds are; ``limit.optimism`` is how much, and
        ``limit.reachable_at`` what is left without it. With more than two groups a bracket. None with ``top``.
    skipped : dict of method to reason
        Methods that cannot run on these rows.
    max_gaps : tuple of floats
        The target gaps that ``str()`` shows.
    rows : str
        What the methods were evaluated on.
    estimators : dict of method to estimator
        As they were compared, unfitted.
    table : ScoreTable
        All rows that were given to fit.
    top : float, int or None
        The top of the list that gaps are those of, a share or a number of the rows given to fit; None for all of it.
    method, dial, value, auc, gap, signed_gap : arrays of shape (k,)
        The points of the picture: method, name and value of its strength, and means over the folds. ``signed_gap`` is
        positive where the reference group is ranked higher.
    distance_to_limit : array of shape (k,)
        What is within reach at the point's signed gap, minus the point's AUC; NaN where that is not known.
    pareto : boolean array of shape (k,)
        The points that no other point of any method beats in both gap and AUC.

    Examples
    --------
    >>> from fairpot import compare
    >>> from fairpot.datasets import make_synthetic
    >>> data = make_synthetic(600, random_state=0, as_frame=False)
    >>> score, y, group = data.probability, data.target, data.group
    >>> result = compare(y, score, sensitive_features=group, methods=["FairPOT", "LogitShift"], cv=2)
    >>> best = result.best(max_gap=0.1)
    >>> best.method, round(best.auc, 3), round(best.gap, 3), best.kept
    ('LogitShift', 0.903, 0.097, 0.5)
    >>> result.recommended(max_gap=0.1).method
    'FairPOT'
    """

    trials: tuple[Trial, ...]
    reference: Any
    limit: Limit | LimitBracket | None = None
    skipped: dict[str, str] = field(default_factory=dict)
    max_gaps: tuple[float, ...] = (0.02, 0.05, 0.10)
    rows: str = ""
    estimators: dict[str, Any] = field(default_factory=dict, repr=False)
    table: Any = field(default=None, repr=False)
    top: float | int | None = None

    def __len__(self) -> int:
        return len(self.auc)

    def __repr__(self) -> str:
        return f"<Comparison of {', '.join(self.methods)} on {self.rows}:\n {self.verdict(self.max_gaps[-1])}>"

    def __str__(self) -> str:
        head = [*self.verdicts, f"{self.rows}, reference {self.reference}{self.gaps_where}", self.weighed]
        lines = [[TABLE_SAYS, *(f"gap <= {bound:g}" for bound in self.max_gaps)], *self.lines]
        left_out = [f"left out: {name}: {reason}" for name, reason in self.skipped.items()]
        return "\n".join([*filter(None, head), *_aligned(lines), *self.limit_notes, *left_out])

    @property
    def lines(self) -> list[list[str]]:
        """The table that is printed: a line for each method and for what is possible, a cell for each target."""
        names = [trial.method for trial in self.trials]
        shown = [[NAMES.get(name, name), *(_cell(self.at(bound, name)) for bound in self.max_gaps)] for name in names]
        limits = self.limit_lines.items()
        return shown + [[NAMES.get(name, name), *(f"{auc:.3f}" for auc in aucs)] for name, aucs in limits]

    @property
    def gaps_where(self) -> str:
        """Say which part of the list the gaps are those of; empty for all of it."""
        return "" if self.top is None else f"; gaps {among(self.top)}"

    @property
    def weighed(self) -> str:
        """What weights were taken for, in words; empty without any."""
        return "" if self.table is None else wording.weights_taken(self.table.weights, self.table.rows)

    @cached_property
    def methods(self) -> tuple[str, ...]:
        """The methods that were compared, in their order."""
        return tuple(trial.method for trial in self.trials[1:])

    # What was chosen.

    def at(self, max_gap: float, method: str) -> Chosen:
        """Return what a method does at a target gap, chosen on the fitted rows and measured on the held-out ones.

        Parameters
        ----------
        max_gap : float
            The target gap: the largest that you accept.
        method : str
            The name of a method; the first of ``frame("chosen")`` are the original scores.

        Returns
        -------
        Chosen
            With a ``reason`` instead of numbers where the fitted rows cannot keep the target.

        Examples
        --------
        >>> from fairpot import compare
        >>> from fairpot.datasets import make_synthetic
        >>> data = make_synthetic(600, random_state=0, as_frame=False)
        >>> score, y, group = data.probability, data.target, data.group
        >>> result = compare(y, score, sensitive_features=group, methods=["FairPOT", "LogitShift"], cv=2)
        >>> found = result.at(0.1, "LogitShift")
        >>> round(found.gap, 3), found.times_kept
        (0.097, '1 of 2')
        """
        bound = check_share(max_gap, "max_gap", zero=True)
        found = next((trial for trial in self.trials if trial.method == method), None)
        if found is None:
            raise ValueError(
                f"method {method!r} was not compared; there are {[trial.method for trial in self.trials]}.\n"
                "Hint: name one of these, or compare again with it, compare(..., methods=[...])."
            )
        return found.at(bound)

    def best(self, max_gap: float) -> Chosen:
        """Return the method of highest AUC at a target gap; of equals the first, the original scores before all.

        Parameters
        ----------
        max_gap : float
            The target gap: the largest that you accept.

        Returns
        -------
        Chosen

        Raises
        ------
        InfeasibleRuleError
            If no method keeps the target on the rows it is fitted on; the message says what there is.

        Examples
        --------
        >>> from fairpot import compare
        >>> from fairpot.datasets import make_synthetic
        >>> data = make_synthetic(600, random_state=0, as_frame=False)
        >>> score, y, group = data.probability, data.target, data.group
        >>> result = compare(y, score, sensitive_features=group, methods=["FairPOT", "LogitShift"], cv=2)
        >>> round(result.best(max_gap=0.1).auc, 3)
        0.903
        """
        reached = self._reached(max_gap)
        if not reached:
            raise InfeasibleRuleError(
                f"{self._nobody(max_gap).replace(_BOUNDS, f'{max_gap:g}')}.\n"
                "Hint: allow a larger gap, or look at frame() for what can be had."
            )
        highest = max(each.auc for each in reached)
        return next(each for each in reached if each.auc >= highest - ROUND_OFF)

    def _reached(self, max_gap: float) -> list[Chosen]:
        """Give what keeps the target on all fitted rows."""
        found = (self.at(max_gap, trial.method) for trial in self.trials)
        return [each for each in found if each.reached]

    def _nobody(self, max_gap: float) -> str:
        """Say that no method keeps a target, and what the first has; a mark stands where the target is named."""
        first = self.at(max_gap, self.trials[-1 if len(self.trials) == 1 else 1].method)
        return f"no method keeps gap <= {_BOUNDS} on the rows it is fitted on; {first.method}: {first.reason}"

    def versus(self, max_gap: float = 0.05, *, level: float = LEVEL) -> list[Rival]:
        """Compare the method of highest AUC at a target gap with each of the others.

        Both are measured on the same held-out rows, so that what they have in common cancels. The intervals hold
        together with probability ``level`` (Bonferroni).

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
            (whether the lead is more than chance explains). Methods that do not reach the target have none, nor
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
        best = self.best(max_gap)
        others = [each for each in self._reached(max_gap) if each.method != best.method]
        known = [each for each in others if each.evidence is not None and best.evidence is not None]
        each_level = 1 - (1 - check_level(level)) / max(len(known), 1)
        return [_rival(best, other, each_level) for other in known]

    def recommended(self, max_gap: float = 0.05) -> Chosen:
        """Return the method to take at a target gap: of those that chance cannot tell from the best, the simplest.

        That is the one which changes the fewest scores among those that kept the target in as many folds as the best;
        of equals the one with the fewest breakpoints.

        Parameters
        ----------
        max_gap : float, default 0.05
            The target gap: the largest that you accept.

        Returns
        -------
        Chosen

        Examples
        --------
        >>> from fairpot import compare
        >>> from fairpot.datasets import make_synthetic
        >>> data = make_synthetic(600, random_state=0, as_frame=False)
        >>> score, y, group = data.probability, data.target, data.group
        >>> result = compare(y, score, sensitive_features=group, methods=["FairPOT", "LogitShift"], cv=2)
        >>> result.recommended(max_gap=0.1).method
        'FairPOT'
        """
        best = self.best(max_gap)
        close = [self.at(max_gap, rival.method) for rival in self.versus(max_gap) if not rival.clear]
        alike = [best, *(each for each in close if each.kept >= best.kept)]
        return min(alike, key=lambda each: (round(each.changed, 2), each.breakpoints, -each.auc))

    def fit_best(self, max_gap: float, *, method: str | None = None) -> Any:
        """Fit the recommended method on all rows that were given to fit, its strength chosen there by ``max_gap``.

        Parameters
        ----------
        max_gap : float
            The target gap: the largest that you accept.
        method : str or None, default None
            Fit this method instead.

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
        'FairPOT'
        """
        name = (self.recommended(max_gap) if method is None else self.at(max_gap, method)).method
        if name == UNREPAIRED:
            raise InfeasibleRuleError(
                f"nothing beats the original scores at gaps up to {max_gap:g}: there is no repair to fit.\n"
                "Hint: name a method, fit_best(max_gap, method=...), to fit one all the same."
            )
        estimator = clone(self.estimators[name])
        if not isinstance(estimator, Repair) or estimator.repair == "top":
            raise InfeasibleRuleError(
                f"{name} has no repair strength that a rule could choose.\nHint: fit it yourself, on the rows you have."
            )
        return estimator.set_params(max_gap=float(max_gap), top=self.top).fit(self.table)

    def verdict(self, max_gap: float = 0.05) -> str:
        """Say in one line which method to take at a target gap, what it costs, what it keeps and what was possible.

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
        at gap <= 0.1 take FairPOT (lam 0.141 to 0.185): AUC 0.895, 0.009 below the original 0.904; gap 0.073 on rows it
        was not fitted on, within the target in 1 of 2 folds; it changes the fewest scores of those that chance cannot
        tell from LogitShift, AUC 0.903; no more is within reach (best possible on these rows 0.927)
        """
        line = self._said(max_gap).replace(_BOUNDS, f"{max_gap:g}")
        if self.limit is None or not self._reached(max_gap):
            return line
        if isinstance(self.limit, LimitBracket):
            ends = self.limit.best(max_gap)
            return f"{line}; best possible on this sample {ends.low:.3f} to {ends.high:.3f}"
        return f"{line}; {_possible(self.limit.best(max_gap), self.best(max_gap).auc)}"

    @property
    def verdicts(self) -> list[str]:
        """Which method to take at each of ``max_gaps``, in a line each; targets with the same answer share one."""
        found: dict[str, list[str]] = {}
        for bound in self.max_gaps:
            found.setdefault(self._said(bound), []).append(f"{bound:g}")
        return [said.replace(_BOUNDS, _listed(bounds)) for said, bounds in found.items()]

    def _said(self, max_gap: float) -> str:
        """Say which method to take at a target and what it does; a mark stands where the target is named."""
        if not self._reached(max_gap):
            return self._nobody(max_gap)
        best, taken = self.best(max_gap), self.recommended(max_gap)
        behind = [rival for rival in self.versus(max_gap) if rival.lead > ROUND_OFF]
        close = [NAMES.get(rival.method, rival.method) for rival in behind if not rival.clear]
        does = f"AUC {taken.auc:.3f}"
        if taken.method == UNREPAIRED:
            line = f"at gap <= {_BOUNDS} nothing beats the original scores: {does}"
        else:
            does += f", {_difference(taken.auc, float(self.trials[0].points[1].auc[0]))}"
            line = f"at gap <= {_BOUNDS} {'take' if close else 'the best is'} {taken.label}: {does}"
        line += f"; gap {taken.gap:.3f} on rows it was not fitted on, {_kept(taken)}"
        if taken.method != best.method:
            highest = f"{NAMES.get(best.method, best.method)}, AUC {best.auc:.3f}"
            return f"{line}; it changes the fewest scores of those that chance cannot tell from {highest}"
        if not close:
            return line
        over = f"all {len(close)} others" if len(close) == len(behind) > 2 else _listed(close)
        return f"{line}; chance could explain its lead over {over}"

    # What is possible.

    @property
    def limit_lines(self) -> dict[str, list[float]]:
        """What is within reach, where that is known, and the limit, at each of the targets; a bracket has two ends."""
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
            why = self.limit.reason or "not estimated"
            return [*said, f"within reach of a repair fixed beforehand: not known; {why}."]
        lines = self.limit_lines
        chance = max(high - low for low, high in zip(*lines.values()))
        said.append(
            "within reach: what a repair fixed beforehand can be expected to have: the best possible without what "
            f"chance adds to it ({chance:.3f} here)."
        )
        above = self._above(lines["within reach"])
        if above:
            said.append(
                f"above what is within reach: {_listed([NAMES.get(n, n) for n in above])}. That is chance, a gap above "
                "the target or an order that is not kept; no more can be gained here."
            )
        return said

    def _above(self, reachable: list[float]) -> list[str]:
        """Name the methods that are measured above what is within reach, at any of the targets."""
        found = [
            each for bound, most in zip(self.max_gaps, reachable) for each in self._reached(bound) if each.auc > most
        ]
        return list(dict.fromkeys(each.method for each in found))

    # The picture of the trade-off.

    @cached_property
    def method(self) -> NDArray[np.str_]:
        """The method of each point."""
        return np.repeat([trial.method for trial in self.trials], self._sizes)

    @cached_property
    def dial(self) -> NDArray[np.str_]:
        """What the method of each point calls its strength."""
        return np.repeat([trial.dial for trial in self.trials], self._sizes)

    @property
    def _sizes(self) -> list[int]:
        return [len(trial.points[0]) for trial in self.trials]

    @cached_property
    def value(self) -> Floats:
        """The strength of each point; NaN without one."""
        return np.concatenate([trial.points[0] for trial in self.trials])

    @cached_property
    def auc(self) -> Floats:
        """The AUC of each point."""
        return np.concatenate([trial.points[1].auc for trial in self.trials])

    @cached_property
    def _gaps(self) -> Floats:
        return np.concatenate([trial.points[1].gaps for trial in self.trials])

    @cached_property
    def gap(self) -> Floats:
        """The gap of each point."""
        return np.abs(self._gaps).max(axis=1)

    @cached_property
    def signed_gap(self) -> Floats:
        """The signed gap of each point; NaN with more than two groups."""
        return self._gaps[:, 0] if self._gaps.shape[1] == 1 else np.full(len(self), np.nan)

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

    def frame(self, part: Literal["points", "chosen"] = "points") -> Any:
        """Return the picture, or what was chosen, as a tidy frame (pandas, Polars or PyArrow, whichever is in use).

        ``auc_low``, ``auc_high``, ``gap_low`` and ``gap_high`` are 95% limits of each point by itself; NaN for methods
        that only know rows, and of the gap at the top of the list.

        Parameters
        ----------
        part : {"points", "chosen"}, default "points"
            Every method at many strengths, judged on the held-out rows; or every method at each of ``max_gaps``, its
            strength chosen on the fitted rows.

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
        >>> len(result.frame("chosen"))
        9
        """
        if check_choice(part, "part", ("points", "chosen")) == "points":
            return make_frame({name: getattr(self, name) for name in _POINTS} | self._limits)
        found = [self.at(bound, trial.method) for trial in self.trials for bound in self.max_gaps]
        return make_frame({name: _column([getattr(each, name) for each in found]) for name in _CHOSEN})

    @cached_property
    def _limits(self) -> dict[str, Floats]:
        """Limits of AUC and gap at every point; NaN where none are known."""
        found = {name: np.full(len(self), np.nan) for name in _LIMITS}
        for trial in self.trials:
            evidence = trial.evidence
            if evidence is None or len(trial.points[0]) == 0:
                continue
            places = np.flatnonzero(self.method == trial.method)
            band = band_of(evidence.estimate(trial.points[0]), LEVEL)
            for column in _LIMITS if self.top is None else _LIMITS[:2]:
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

    def _repr_html_(self) -> str:
        heads = [f"gap <= {bound:g}" for bound in self.max_gaps]
        rows = [dict(zip(["method", *heads], line)) for line in self.lines]
        for row, trial in zip(rows, self.trials):
            for head, bound in zip(heads, self.max_gaps):
                row[head] += _auc_limits(self.at(bound, trial.method))
        said = [*filter(None, [self.weighed]), *(self.verdict(bound) for bound in self.max_gaps[:-1])]
        said += self.limit_notes
        said += [f"left out: {name}: {reason}" for name, reason in self.skipped.items()]
        head = paragraph(f"{self.verdict(self.max_gaps[-1])}.", f"{self.rows}{self.gaps_where}")
        table = html_table(rows, f"{TABLE_SAYS}; with the 95% interval of the AUC")
        return f"<div>{head}{self._picture()}{table}{notes(said)}</div>"

    def _picture(self) -> str:
        """Draw AUC over the gap, a line for each method; points far beyond the original gap are left out of sight."""
        reach = 1.15 * float(self.gap[0]) or 1.0
        lines = []
        for name in self.methods:
            places = np.flatnonzero((self.method == name) & (self.gap <= reach))
            lines.append((name, self.gap[places].tolist(), self.auc[places].tolist()))
        note = f"Original scores: gap {self.gap[0]:.3f}, AUC {self.auc[0]:.3f}. Intervals are in the table."
        return lines_svg(lines, "AUC over gap, by method", ("gap", "AUC"), note=note)


TABLE_SAYS = "AUC, gap and folds that kept it"


def _rival(best: Chosen, other: Chosen, level: float) -> Rival:
    assert best.evidence is not None
    assert other.evidence is not None
    change = auc_difference((other.evidence, 0.0), (best.evidence, 0.0), (other.auc, best.auc), level=level)
    return Rival(other.method, change.change, change.se, change.low, change.high, bool(change.low > 0))


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


def _cell(chosen: Chosen) -> str:
    """Write AUC, gap and how often the target was kept."""
    return f"{chosen.auc:.3f}  {chosen.gap:.3f}  {chosen.times_kept}" if chosen.auc == chosen.auc else "out of reach"


def _kept(chosen: Chosen) -> str:
    if chosen.folds == 1:
        return "within the target" if chosen.kept else "above the target"
    return f"within the target in {chosen.times_kept} folds"


def _auc_limits(chosen: Chosen) -> str:
    if chosen.evidence is None:
        return "" if chosen.auc != chosen.auc else ", no interval"
    low, high = (float(end[0]) for end in band_of(chosen.evidence.estimate(np.zeros(1)), LEVEL).auc[1:3])
    return f", {low:.3f} to {high:.3f}" if low == low else ", no interval"


def _column(values: list[Any]) -> NDArray[Any]:
    """Make a column; texts that may be missing stay objects."""
    return np.array(values, dtype=object if any(v is None for v in values) else None)


def _difference(auc: float, unrepaired: float) -> str:
    if abs(auc - unrepaired) < 0.0005:
        return "as that of the original scores"
    side = "above" if auc > unrepaired else "below"
    return f"{abs(auc - unrepaired):.3f} {side} the original {unrepaired:.3f}"


def _aligned(lines: list[list[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*lines)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines]
