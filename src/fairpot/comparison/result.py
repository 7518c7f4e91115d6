"""Comparison: what every method does at the target gaps on the same held-out rows, and which one to take."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from fairpot._defaults import LEVEL
from fairpot._docs import documented
from fairpot._html import html_table, notes, paragraph
from fairpot._optional import make_frame
from fairpot._shown import display, frame_of
from fairpot._validation import check_choice, check_share, wording
from fairpot.comparison.trial import Chosen, Trial
from fairpot.exceptions import InfeasibleRuleError
from fairpot.inference import Estimate
from fairpot.inference.change import auc_difference
from fairpot.repair.estimator import Repair
from fairpot.results.kinds import Derived, Group, Plain, Share, rows_of, to_dict
from fairpot.results.notes import notes_of_follow_up
from fairpot.table import ScoreTable
from fairpot.tradeoff.choice import ROUND_OFF
from fairpot.tradeoff.curve import pareto_mask
from fairpot.tradeoff.limit import Limit
from fairpot.transport import Floats
from fairpot.words import comparison as words
from fairpot.words import style
from fairpot.words.tables import table_lines

# Stands where a target is named in a sentence that several targets may share.
_BOUNDS = "{bounds}"


@dataclass(frozen=True)
class Rival:
    """Hold the lead of the method of highest AUC over another, and whether it is more than chance explains."""

    method: str
    lead: Estimate
    clear: bool


@dataclass(frozen=True)
class Skipped:
    """A method that cannot run on these rows, and why."""

    method: str
    reason: str


@dataclass(frozen=True)
class Possible:
    """The best possible AUC within a target gap, of more than two groups what nothing is above.

    ``auc`` is the highest that a repair which keeps the order inside each group could have on these rows, knowing their
    outcomes.
    """

    max_gap: Share
    auc: float


@dataclass(frozen=True, eq=False)
class Answer:
    """Which method to take at a target gap, and the one of highest AUC; None where none keeps it on its fitted rows.

    ``rivals`` has the lead of the highest over each of the others on the same held-out rows; the intervals hold
    together at the usual level (Bonferroni). Methods that do not reach the target have none.
    """

    derived: ClassVar[Derived] = {"text": str}

    max_gap: Share
    recommended: str | None
    highest: str | None
    rivals: tuple[Rival, ...]
    taken: Annotated[Chosen | None, "hidden"]
    best: Annotated[Chosen | None, "hidden"]
    first: Annotated[Chosen, "hidden"]
    original: Annotated[float, "hidden"]

    @property
    def text(self) -> str:
        """The answer in one sentence."""
        return words.answer(self, f"{self.max_gap:g}")

    @property
    def close(self) -> list[str]:
        """The methods whose AUC chance cannot tell from the highest, which comes first."""
        if self.highest is None:
            return []
        return [self.highest, *(each.method for each in self.rivals if not each.clear)]


@dataclass(frozen=True, eq=False, repr=False)
class Picture:
    """Every method at many strengths, judged on the held-out rows, in arrays; the first is the original scores.

    ``signed_gap`` is positive where the reference is ranked higher; ``distance_to_limit`` is the best possible AUC at
    that gap minus the AUC, NaN where that is not known; ``pareto`` marks what no other point beats in both gap and AUC.
    """

    method: NDArray[np.str_]
    dial: NDArray[np.str_]
    value: Floats
    auc: Floats
    gap: Floats
    signed_gap: Floats
    distance_to_limit: Floats
    pareto: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.auc)


@documented
@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Hold what every method does at the target gaps on the same held-out rows; the first is the original scores.

    In every fold each method's strength is chosen on the fitted rows, as ``fit(max_gap=...)`` chooses it, and judged on
    the held-out rows. AUC and signed gap are means over the folds, and ``gap`` is the absolute value of the mean signed
    gap: chance that favours one group in one fold and the other in another cancels. With more than two groups that is
    done for every two, ``gap`` is the largest of them, and ``signed_gap`` and ``distance_to_limit`` are NaN.

    :meth:`at`, :meth:`best`, :meth:`recommended` and :meth:`answer` are about these choices. ``points`` is a picture of
    the trade-off on the held-out rows, from which nothing is chosen; ``limit`` the line that no repair which keeps the
    order inside each group can cross there (None with ``top``), ``skipped`` the methods that cannot run on these rows.

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
    limit: Annotated[Limit | None, "hidden"] = None
    skipped: tuple[Skipped, ...] = ()
    max_gaps: tuple[float, ...] = (0.02, 0.05, 0.10)
    rows: str = ""
    estimators: Annotated[dict[str, Repair], "hidden"] = field(default_factory=dict)
    table: Annotated[ScoreTable | None, "hidden"] = None
    top: float | int | None = None

    def __repr__(self) -> str:
        return f"<Comparison of {', '.join(self.methods)} on {self.rows}:\n {self.answers[-1].text}>"

    def __str__(self) -> str:
        head = [*self.verdicts, f"{self.rows}, reference {self.reference}{self.gaps_where}", self.weighed]
        lines = [[words.COMPARED, *(f"gap <= {bound:g}" for bound in self.max_gaps)], *self.lines]
        return "\n".join(
            [
                *filter(None, head),
                *table_lines(lines[0], lines[1:], texts=len(lines[0])),
                *self.limit_notes,
                *self._left_out,
            ]
        )

    @property
    def _left_out(self) -> list[str]:
        return [f"left out: {each.method}: {each.reason}" for each in self.skipped]

    @property
    def lines(self) -> list[list[str]]:
        """The table that is printed: a line for each method and for what is possible, a cell for each target."""
        return self._lines(words.cell)

    def _lines(self, write: Any) -> list[list[str]]:
        shown = [[words.named(t.method), *(write(t.at(bound)) for bound in self.max_gaps)] for t in self.trials]
        widths = [max(map(len, column)) for column in zip(*shown)][1:]  # an AUC stands below those of the methods
        for name, cells in words.possible_lines(self.possible, self._several).items():
            shown.append([name, *(cell.ljust(width) for cell, width in zip(cells, widths))])
        return shown

    @property
    def gaps_where(self) -> str:
        """Say which part of the list the gaps are those of; empty for all of it."""
        return "" if self.top is None else f"; gaps {wording.among(self.top)}"

    @property
    def weighed(self) -> str:
        """What weights were taken for, and who left before a horizon, in words; empty without any."""
        if self.table is None:
            return ""
        left = [note.text for note in notes_of_follow_up(self.table)]
        return "\n".join(filter(None, [wording.weights_taken(self.table.weights, self.table.weight), *left]))

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
        if self.limit is None:
            return ()
        return tuple(Possible(bound, self.limit.best(bound).auc) for bound in self.max_gaps)

    @property
    def limit_notes(self) -> tuple[str, ...]:
        """What the limit is, in words."""
        return tuple(words.possible_notes(self.possible, self._several))

    @property
    def _several(self) -> bool:
        return self.limit is not None and self.limit.many

    @cached_property
    def points(self) -> Picture:
        """The trade-off of every method on the held-out rows, at many strengths."""
        each = [trial.points for trial in self.trials]
        sizes = [len(values) for values, _ in each]
        auc = np.concatenate([judged.auc for _, judged in each])
        gaps = np.concatenate([judged.gaps for _, judged in each])
        gap = np.abs(gaps).max(axis=1)
        signed = gaps[:, 0] if gaps.shape[1] == 1 else np.full(len(gaps), np.nan)
        return Picture(
            np.repeat([trial.method for trial in self.trials], sizes),
            np.repeat([trial.dial for trial in self.trials], sizes),
            np.concatenate([values for values, _ in each]),
            auc,
            gap,
            signed,
            np.full(len(auc), np.nan) if self.limit is None or self._several else self.limit.auc_at(signed) - auc,
            pareto_mask(gap, auc),
        )

    def at(self, max_gap: float, method: str) -> Chosen:
        """Return what a method does at a target gap; with a ``reason`` where the fitted rows cannot keep it.

        Parameters
        ----------
        {max_gap}
        method : str
            The name of a method; the first of ``frame("chosen")`` are the original scores.
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

        If no method keeps the target on the rows it is fitted on, an ``InfeasibleRuleError`` says what there is.

        {max_gap}
        """
        return self._known(max_gap)[1]

    def recommended(self, max_gap: float = 0.05) -> Chosen:
        """Return what the method to take does at a target gap, see :meth:`answer`.

        {max_gap}
        """
        return self._known(max_gap)[0]

    def _known(self, max_gap: float) -> tuple[Chosen, Chosen]:
        """Give the method to take and the one of highest AUC; where there is none, say what can be had."""
        found = self.answer(max_gap)
        if found.taken is None or found.best is None:
            raise InfeasibleRuleError(
                f"{found.text}.\nHint: allow a larger gap, or look at frame() for what can be had."
            )
        return found.taken, found.best

    def answer(self, max_gap: float) -> Answer:
        """Say which method to take at a target gap, and how sure its lead is.

        Where chance could explain the lead of the method of highest AUC, the one that changes the fewest scores of
        those that it cannot tell apart; one that is hard to write down only where its lead is clear.

        {max_gap}
        """
        bound = check_share(max_gap, "max_gap", zero=True)
        every = [trial.at(bound) for trial in self.trials]
        reached, first = [each for each in every if each.reached], every[:2][-1]
        original = np.nan if every[0].auc is None else float(every[0].auc)
        if not reached:
            return Answer(max_gap, None, None, (), None, None, first, original)
        most = max(float(each.auc or 0.0) for each in reached)
        best = next(each for each in reached if float(each.auc or 0.0) >= most - ROUND_OFF)
        known = {each.method: each for each in reached if each is not best and best.evidence and each.evidence}
        rivals = tuple(_rival(best, each, 1 - (1 - LEVEL) / len(known)) for each in known.values())
        tied = [best, *(known[each.method] for each in rivals if not each.clear)]
        plain = [each for each in tied if not getattr(self.estimators.get(each.method), "_costly", False)]
        simple = [(round(each.changed or 0.0, 2), each.breakpoints, -(each.auc or 0.0)) for each in plain or tied]
        taken = (plain or tied)[simple.index(min(simple))]
        return Answer(max_gap, taken.method, best.method, rivals, taken, best, first, original)

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

        Parameters
        ----------
        part : {"points", "chosen"}, default "points"
            Every method at many strengths, judged on the held-out rows; or every method at each of ``max_gaps``, its
            strength chosen on the fitted rows, with its limits.
        """
        if check_choice(part, "part", ("points", "chosen")) == "points":
            return make_frame(vars(self.points))
        return frame_of(rows_of(self.chosen))

    def plot(self, ax: Any = None) -> Any:
        """Draw AUC against the gap for every method, with the limit.

        {ax}
        """
        return display("draw_comparison")(self, ax)

    def _repr_html_(self) -> str:
        heads = ["method", *(f"gap <= {bound:g}" for bound in self.max_gaps)]
        rows = [dict(zip(heads, line)) for line in self._lines(words.cell_with_interval)]
        said = [*filter(None, [self.weighed]), *self.verdicts[:-1], *self.limit_notes, *self._left_out]
        head = paragraph(f"{self.verdicts[-1]}.", f"{self.rows}{self.gaps_where}")
        table = html_table(rows, f"{words.COMPARED}; with the {style.level(LEVEL)} interval of the AUC")
        return f"<div>{head}{table}{notes(said)}</div>"


def _rival(best: Chosen, other: Chosen, level: float) -> Rival:
    """Compare two choices on the same held-out rows: what they have in common cancels."""
    assert best.evidence is not None
    assert other.evidence is not None
    aucs = float(other.auc or 0.0), float(best.auc or 0.0)
    found = auc_difference((other.evidence, 0.0), (best.evidence, 0.0), aucs, level=level)
    lead = Estimate("lead", found.change, found.se, found.low, found.high, level, reason=found.reason)
    return Rival(other.method, lead, bool(found.low > 0))
