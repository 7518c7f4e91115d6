"""Comparison: what every method does at the target gaps on the same held-out rows, and which one to take."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from sklearn.base import clone

from fairpot._defaults import LEVEL
from fairpot._docs import documented
from fairpot._html import html_table, lines_svg, notes, paragraph
from fairpot._optional import make_frame
from fairpot._shown import display, frame_of
from fairpot._validation import check_choice, check_level, check_share, wording
from fairpot.comparison.answer import Answer, Possible, Rival, Skipped
from fairpot.comparison.points import Picture
from fairpot.comparison.trial import Chosen, Trial
from fairpot.exceptions import InfeasibleRuleError
from fairpot.inference import Estimate
from fairpot.methods.xorder import XOrder
from fairpot.repair.estimator import Repair
from fairpot.results.kinds import Derived, Group, Plain, rows_of, to_dict
from fairpot.table import ScoreTable
from fairpot.tradeoff.choice import ROUND_OFF
from fairpot.tradeoff.limit import Limit, UpperLimit
from fairpot.tradeoff.rules import among
from fairpot.words import comparison as words
from fairpot.words.comparison import UNREPAIRED

# Stands where a target is named in a sentence that several targets may share.
_BOUNDS = "{bounds}"


@documented
@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Hold what every method does at the target gaps on the same held-out rows; the first is the original scores.

    In every fold each method's strength is chosen on the fitted rows, as ``fit(max_gap=...)`` chooses it, and judged on
    the held-out rows. AUC and signed gap are means over the folds, and ``gap`` is the absolute value of the mean signed
    gap: chance that favours one group in one fold and the other in another cancels. With more than two groups that is
    done for every two, ``gap`` is the largest of them, and ``signed_gap`` and ``distance_to_limit`` are NaN.

    :meth:`at`, :meth:`best`, :meth:`recommended`, :meth:`versus` and :meth:`verdict` are about these choices.
    ``points`` is a picture of the trade-off on the held-out rows, at many strengths; nothing is chosen from it.

    Attributes
    ----------
    reference : name of the group whose scores do not change
    limit : Limit, UpperLimit or None
        The line that no repair which keeps the order inside each group can cross on these rows. With folds: the
        highest mean AUC for each mean signed gap, whatever is done in each fold. It is fitted to the outcomes
        of the held-out rows, and the more so the smaller the folds are; ``limit.optimism`` is how much, and
        ``limit.reachable_at`` what is left without it. None with ``top``.
    skipped : tuple of Skipped
        Methods that cannot run on these rows.
    rows : str
        What the methods were evaluated on.
    estimators : dict of method to estimator
        As they were compared, unfitted.
    table : ScoreTable
        All rows that were given to fit.

    Examples
    --------
    >>> import fairpot
    >>> data = fairpot.datasets.make_synthetic(600, random_state=0, as_frame=False)
    >>> score, y, group = data.probability, data.target, data.group
    >>> result = fairpot.compare(y, score, sensitive_features=group, methods=["FairPOT", "LogitShift"], cv=2)
    >>> best = result.best(max_gap=0.1)
    >>> best.method, round(best.auc, 3), round(best.gap, 3), best.kept
    ('LogitShift', 0.903, 0.097, 0.5)
    >>> result.recommended(max_gap=0.1).method
    'FairPOT'
    """

    derived: ClassVar[Derived] = {
        "chosen": tuple[Chosen, ...],
        "answers": tuple[Answer, ...],
        "possible": tuple[Possible, ...],
        "limit_notes": tuple[str, ...],
    }

    trials: Annotated[tuple[Trial, ...], "hidden"]
    reference: Group
    limit: Annotated[Limit | UpperLimit | None, "hidden"] = None
    skipped: tuple[Skipped, ...] = ()
    max_gaps: tuple[float, ...] = (0.02, 0.05, 0.10)
    rows: str = ""
    estimators: Annotated[dict[str, Any], "hidden"] = field(default_factory=dict)
    table: Annotated[ScoreTable | None, "hidden"] = None
    top: float | int | None = None

    def __repr__(self) -> str:
        return f"<Comparison of {', '.join(self.methods)} on {self.rows}:\n {self.verdict(self.max_gaps[-1])}>"

    def __str__(self) -> str:
        head = [*self.verdicts, f"{self.rows}, reference {self.reference}{self.gaps_where}", self.weighed]
        lines = [[words.COMPARED, *(f"gap <= {bound:g}" for bound in self.max_gaps)], *self.lines]
        left_out = [f"left out: {each.method}: {each.reason}" for each in self.skipped]
        return "\n".join([*filter(None, head), *words.aligned(lines), *self.limit_notes, *left_out])

    @property
    def lines(self) -> list[list[str]]:
        """The table that is printed: a line for each method and for what is possible, a cell for each target."""
        return self._lines(words.cell)

    def _lines(self, write: Any) -> list[list[str]]:
        each = [(trial.method, [trial.at(bound) for bound in self.max_gaps]) for trial in self.trials]
        shown = [[words.named(name), *(write(found) for found in chosen)] for name, chosen in each]
        return shown + [[name, *cells] for name, cells in words.possible_lines(self.possible, self._several).items()]

    @property
    def gaps_where(self) -> str:
        """Say which part of the list the gaps are those of; empty for all of it."""
        return "" if self.top is None else f"; gaps {among(self.top)}"

    @property
    def weighed(self) -> str:
        """What weights were taken for, in words; empty without any."""
        return "" if self.table is None else wording.weights_taken(self.table.weights, self.table.weight)

    @cached_property
    def methods(self) -> tuple[str, ...]:
        """The methods that were compared, in their order."""
        return tuple(trial.method for trial in self.trials[1:])

    @cached_property
    def chosen(self) -> tuple[Chosen, ...]:
        """What every method does at each of ``max_gaps``, the original scores first."""
        return tuple(trial.at(bound) for trial in self.trials for bound in self.max_gaps)

    @cached_property
    def answers(self) -> tuple[Answer, ...]:
        """Which method to take at each of ``max_gaps``."""
        return tuple(self.answer(bound) for bound in self.max_gaps)

    @cached_property
    def possible(self) -> tuple[Possible, ...]:
        """What was possible at each of ``max_gaps``; nothing with ``top``."""
        return () if self.limit is None else tuple(Possible.of(self.limit, bound) for bound in self.max_gaps)

    @property
    def limit_notes(self) -> tuple[str, ...]:
        """What the limit is, in words; and which methods are measured above what is within reach."""
        return tuple(words.possible_notes(self.possible, self.chosen, self._several))

    @property
    def _several(self) -> bool:
        return isinstance(self.limit, UpperLimit)

    @cached_property
    def points(self) -> Picture:
        """The trade-off of every method on the held-out rows, at many strengths."""
        return Picture(self.trials, self.limit, self.top is None)

    def at(self, max_gap: float, method: str) -> Chosen:
        """Return what a method does at a target gap, chosen on the fitted rows and measured on the held-out ones.

        Parameters
        ----------
        {max_gap}
        method : str
            The name of a method; the first of ``frame("chosen")`` are the original scores.

        Returns
        -------
        Chosen
            With a ``reason`` instead of numbers where the fitted rows cannot keep the target.
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

        {max_gap}

        Raises
        ------
        InfeasibleRuleError
            If no method keeps the target on the rows it is fitted on; the message says what there is.
        """
        reached = self._reached(max_gap)
        if not reached:
            raise InfeasibleRuleError(
                f"{words.nobody(self.trials[:2][-1].at(max_gap), f'{max_gap:g}')}.\n"
                "Hint: allow a larger gap, or look at frame() for what can be had."
            )
        return _highest(reached)

    def _reached(self, max_gap: float) -> list[Chosen]:
        """Give what keeps the target on all fitted rows."""
        bound = check_share(max_gap, "max_gap", zero=True)
        return [each for each in (trial.at(bound) for trial in self.trials) if each.reached]

    def answer(self, max_gap: float) -> Answer:
        """Say which method to take at a target gap, and how sure its lead is.

        {max_gap}

        Returns
        -------
        Answer
            Where chance could explain the lead of the method of highest AUC, the one that changes the fewest scores of
            those that it cannot tell apart; XOrder, which is the hardest to write down, only where its lead is clear.
        """
        first, before = self.trials[:2][-1].at(max_gap), self.trials[0].at(max_gap).auc
        original = np.nan if before is None else float(before)
        if not self._reached(max_gap):
            return Answer(max_gap, None, None, (), None, None, first, original)
        best, rivals = self.best(max_gap), tuple(self.versus(max_gap))
        tied = [best, *(self.at(max_gap, each.method) for each in rivals if not each.clear)]
        plain = [each for each in tied if not isinstance(self.estimators.get(each.method), XOrder)]
        taken = min(
            plain or tied, key=lambda each: (round(each.changed or 0.0, 2), each.breakpoints, -(each.auc or 0.0))
        )
        return Answer(max_gap, taken.method, best.method, rivals, taken, best, first, original)

    def versus(self, max_gap: float = 0.05, *, level: float = LEVEL) -> list[Rival]:
        """Compare the method of highest AUC at a target gap with each of the others.

        Both are measured on the same held-out rows, so that what they have in common cancels. The intervals hold
        together with probability ``level`` (Bonferroni).

        Parameters
        ----------
        {max_gap}
        level : float, default 0.95
            Confidence level of all intervals together.

        Returns
        -------
        list of Rival
            ``method``, ``lead`` (AUC of the best minus that of this one, with its limits) and ``clear`` (whether the
            lead is more than chance explains). Methods that do not reach the target have none, nor
            those that only know rows.
        """
        best = self.best(max_gap)
        others = [each for each in self._reached(max_gap) if each.method != best.method]
        known = [each for each in others if each.evidence is not None and best.evidence is not None]
        each_level = 1 - (1 - check_level(level)) / max(len(known), 1)
        return [Rival.of(best, other, each_level) for other in known]

    def recommended(self, max_gap: float = 0.05) -> Chosen:
        """Return the method to take at a target gap: of those that chance cannot tell from the best, the simplest.

        That is the one which changes the fewest scores; of equals the one with the fewest breakpoints.

        {max_gap}
        """
        self.best(max_gap)  # says what can be had where there is none
        taken = self.answer(max_gap).taken
        assert taken is not None
        return taken

    def fit_best(self, max_gap: float, *, method: str | None = None) -> Any:
        """Fit the recommended method on all rows that were given to fit, its strength chosen there by ``max_gap``.

        Parameters
        ----------
        {max_gap}
        method : str or None, default None
            Fit this method instead.

        Raises
        ------
        InfeasibleRuleError
            If no method reaches the gap, or if the original scores already keep it: there is nothing to fit.
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
        """Say in one sentence which method to take at a target gap, what it costs and what it keeps.

        A method is called the best only if chance does not explain its lead over each of the others.

        {max_gap}
        """
        return self.answer(check_share(max_gap, "max_gap", zero=True)).text

    @property
    def verdicts(self) -> list[str]:
        """Which method to take at each of ``max_gaps``, in a sentence each; targets with the same answer share one."""
        found: dict[str, list[str]] = {}
        for each in self.answers:
            found.setdefault(words.answer(each, _BOUNDS), []).append(f"{each.max_gap:g}")
        return [said.replace(_BOUNDS, words.some(bounds, len(bounds))) for said, bounds in found.items()]

    def to_dict(self) -> Plain:
        """Return all numbers as plain values, ready for JSON: each with its limits beside it."""
        return to_dict(self)

    def frame(self, part: Literal["points", "chosen"] = "points") -> Any:
        """Return the picture, or what was chosen, as a tidy frame (pandas, Polars or PyArrow, whichever is in use).

        ``auc_low``, ``auc_high``, ``gap_low`` and ``gap_high`` are 95% limits of each point by itself; NaN for methods
        that only know rows, and of the gap at the top of the list.

        Parameters
        ----------
        part : {"points", "chosen"}, default "points"
            Every method at many strengths, judged on the held-out rows; or every method at each of ``max_gaps``, its
            strength chosen on the fitted rows.
        """
        if check_choice(part, "part", ("points", "chosen")) == "points":
            return make_frame(self.points.columns())
        rows = rows_of(self.chosen)
        return frame_of([{n: float(v) if isinstance(v, Estimate) else v for n, v in row.items()} for row in rows])

    def plot(self, ax: Any = None) -> Any:
        """Draw AUC against the gap for every method, see :class:`fairpot.display.ComparisonDisplay`.

        {ax}
        """
        return display("ComparisonDisplay").from_comparison(self, ax=ax).ax_

    def _repr_html_(self) -> str:
        heads = ["method", *(f"gap <= {bound:g}" for bound in self.max_gaps)]
        rows = [dict(zip(heads, line)) for line in self._lines(words.cell_with_interval)]
        said = [*filter(None, [self.weighed]), *self.verdicts[:-1], *self.limit_notes]
        said += [f"left out: {each.method}: {each.reason}" for each in self.skipped]
        head = paragraph(f"{self.verdicts[-1]}.", f"{self.rows}{self.gaps_where}")
        table = html_table(rows, f"{words.COMPARED}; with the 95% interval of the AUC")
        return f"<div>{head}{_picture(self.points, self.methods)}{table}{notes(said)}</div>"


def _picture(points: Picture, methods: tuple[str, ...]) -> str:
    """Draw AUC over the gap, a line for each method; points far beyond the original gap are left out of sight."""
    reach = 1.15 * float(points.gap[0]) or 1.0
    lines = []
    for name in methods:
        places = np.flatnonzero((points.method == name) & (points.gap <= reach))
        lines.append((name, points.gap[places].tolist(), points.auc[places].tolist()))
    note = f"Original scores: gap {points.gap[0]:.3f}, AUC {points.auc[0]:.3f}. Intervals are in the table."
    return lines_svg(lines, "AUC over gap, by method", ("gap", "AUC"), note=note)


def _highest(reached: list[Chosen]) -> Chosen:
    """Give the highest AUC; of equals the first."""
    most = max(float(each.auc or 0.0) for each in reached)
    return next(each for each in reached if float(each.auc or 0.0) >= most - ROUND_OFF)
