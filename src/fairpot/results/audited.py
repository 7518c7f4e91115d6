"""What an audit found: one ranking of all rows and of each top, rates, scores, statements; its sentences and tables."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar, get_args

import numpy as np

from fairpot import words
from fairpot._arguments import argument
from fairpot._defaults import LEVEL, Meaning, Weights
from fairpot._docs import documented
from fairpot._html import html_table, intervals_svg, notes, paragraph
from fairpot._shown import bar, display, ends_of, frame_of
from fairpot._validation import check_choice, check_level, check_share, wording
from fairpot.follow_up import FollowUp
from fairpot.inference import Estimate, Verdict, verdict
from fairpot.inference.bounds import gap_bounds
from fairpot.inference.missing_outcomes import bounds_with_all, scores_without
from fairpot.inference.rates import Cut
from fairpot.results.calibration import Calibration
from fairpot.results.concordances import Concordance
from fairpot.results.judge import Facts, Statement, judge
from fairpot.results.kinds import Count, Derived, Group, Known, Plain, Told, renamed, rows_of
from fairpot.results.ranking import GroupNumbers, Pair, Ranking, rank
from fairpot.results.rates import SCREEN, SHARE, Rates, RatioVerdict, rates_at, ratio_verdict
from fairpot.results.ruled import Ruled
from fairpot.results.scores import GroupScores, scores_by_group
from fairpot.table import ScoreTable
from fairpot.words import Note

Part = Literal["groups", "pairs", "calibration", "rates", "scores", "top"]
AnyVerdict = TypeVar("AnyVerdict", Verdict, RatioVerdict)
# Which gaps a gate guards.
Guards = Literal["overall", "top", "both"]
GUARDS = ("overall", "top", "both")
_COLUMNS = ("group", "rows", "positives", "negatives", "rate", "auc")
_CLUSTERS = ("clusters", "positive_clusters", "negative_clusters")
_TOP = ("rows", "auc", "gap", "recall", "precision")
_MOST_PAIRS = 10


@dataclass(frozen=True)
class LeftOut:
    """A group that was left out of the comparison."""

    group: Group
    rows: Count


@dataclass(frozen=True, eq=False)
class Asked:
    """What rates are looked at: where, with which confidence, beside which group; measured once, when they are read."""

    table: ScoreTable
    cuts: tuple[Cut, ...]
    level: float | None
    reference: Hashable | None

    @cached_property
    def rates(self) -> tuple[Rates, ...]:
        """The rates at each cut, then those without one."""
        how: dict[str, Any] = {"level": self.level, "reference": self.reference}
        return tuple(rates_at(self.table, cut, **how) for cut in (*self.looked_at, Cut()))

    @cached_property
    def scores(self) -> tuple[GroupScores, ...]:
        """The scores of each group."""
        return scores_by_group(self.table, level=self.level, reference=self.reference)

    @property
    def looked_at(self) -> tuple[Cut, ...]:
        """The cuts that were asked for; where none was, the top tenth."""
        return self.cuts or (Cut("top", None, SHARE),)


@dataclass(frozen=True)
class Unknown:
    """The groups that mean unknown, measured apart; and bounds of the gap of two groups if theirs were known.

    ``lowest`` and ``highest`` are what the gap of the first of ``pair`` over the second could be at the least and at
    the most: no interval, and None where there are more than two groups, or intersections.
    """

    groups: tuple[GroupNumbers, ...]
    pair: tuple[Group, Group] | None
    lowest: float | None
    highest: float | None

    @classmethod
    def of(cls, everything: ScoreTable, table: ScoreTable, whole: Ranking) -> Self:
        """Measure the groups of a table that mean unknown; ``whole`` is the ranking of the others."""
        apart = everything.only(everything.unknown)
        groups = rank(apart, ties=whole.ties, level=whole.level).groups
        known = [group for group in everything.groups if group not in apart.groups]
        if len(known) != 2 or len(everything.group_columns) > 1 or not table.labelled:
            return cls(groups, None, None, None)
        pair = whole.gaps[0].ranked
        ends = gap_bounds(table[pair.first], table[pair.second], apart.joined().counts[0], whole.ties)
        lowest, highest = (None if end != end else end for end in ends)
        return cls(groups, (pair.first, pair.second), lowest, highest)

    @property
    def notes(self) -> list[Note]:
        """Say which groups are measured apart, and what the gap could be."""
        found = [Note("unknown", each.group, value=each.rows) for each in self.groups]
        if self.pair is None or self.lowest is None:
            return [*found, *([] if self.groups[0].positives is None else [Note("no bounds")])]
        return [*found, Note("bounds", value=self.lowest, other=self.highest, pairs=(self.pair,))]


@dataclass(frozen=True)
class GroupWithout:
    """The rows of a group without an outcome: how often one has a higher score (0 to 1, ties half) than one with."""

    group: Group
    rows: Count
    higher: Estimate


@dataclass(frozen=True)
class MissingOutcomes:
    """The rows that were left out as their outcome was missing; and bounds of the gap of two groups with them.

    ``lowest`` and ``highest`` are what the gap of the first of ``pair`` over the second could be at the least and at
    the most, whatever these outcomes were: no interval.
    """

    groups: tuple[GroupWithout, ...]
    pair: tuple[Group, Group] | None
    lowest: float | None
    highest: float | None

    @classmethod
    def of(cls, table: ScoreTable, whole: Ranking) -> Self | None:
        """Measure them; ``whole`` is the ranking of the rows with outcomes."""
        without = table.unlabelled
        if without is None or not table.labelled:
            return None
        sign = -1 if table.lower_is_riskier else 1
        found = tuple(
            GroupWithout(each.group, each.rows, each.higher if sign > 0 else _complement(each.higher))
            for each in scores_without(table, without, whole.level or LEVEL)
        )
        if not found:
            return None
        if whole.leading is None:
            return cls(found, None, None, None)
        first, second = whole.leading.first, whole.leading.second
        counts = tuple(without[g] if g in without.groups else None for g in (first, second))
        ends = bounds_with_all(table[first], table[second], (counts[0], counts[1]), whole.ties)
        return cls(found, (first, second), *ends)

    @property
    def notes(self) -> list[Note]:
        """Say what the gap could be with these rows."""
        if self.pair is None:
            return []
        return [Note("outcome bounds", value=self.lowest, other=self.highest, pairs=(self.pair,))]


def _complement(share: Estimate) -> Estimate:
    """Turn a share of pairs into that of the others."""
    low, high = 1 - share.high, 1 - share.low
    return Estimate(share.metric, 1 - share.value, share.se, low, high, share.level, reason=share.reason)


@documented
@dataclass(frozen=True, eq=False, repr=False)
class Audit(Told):
    """Hold what :func:`audit` found.

    Attributes
    ----------
    ranking : Ranking
        All rows: AUC, every xAUC and gap, by group, each an :class:`~fairpot.inference.Estimate` with its interval.
    tops : tuple of Ranking
        The same of each top that was asked for.
    rates : tuple of Rates
        Selection rate, TPR, FPR and the others of :data:`fairpot.metrics.RATES`, by group: at each threshold and in
        each top (the top 10%, if you name none), then those that need no cut. They are measured when you ask.
    scores : tuple of GroupScores
        Mean, quantiles and standardised mean difference of each group's scores.
    calibration : Calibration or None
        Of all rows, where scores are probabilities; ``ranking.groups`` have their own.
    left_out : tuple of LeftOut
        Groups that were left out of the comparison.
    unknown : Unknown or None
        Groups that mean unknown, measured apart, and bounds of the gap if they were known.
    notes : tuple of Note
        What may mislead.
    table : ScoreTable
        What it was counted from.
    follow_up, concordance : FollowUp and Concordance, or None
        Of outcomes after a time: the horizon and how each group was followed, and, of original scores, the
        :func:`~fairpot.results.concordance` of every two groups up to it.
    missing_outcomes : MissingOutcomes or None
        Rows that were left out without an outcome: whether their scores differ, and bounds of the gap with them.

    Examples
    --------
    >>> import fairpot
    >>> data = fairpot.datasets.make_synthetic(1000, random_state=0, as_frame=False)
    >>> found = fairpot.audit(data.target, data.probability, sensitive_features=data.group)
    >>> round(found.gap, 3), round(found.gap.low, 3), round(found.gap.high, 3), found.statement.pair
    (0.275, 0.197, 0.362, ('a', 'b'))
    >>> found.verdict(0.05).answer
    'exceeds'
    """

    derived: ClassVar[Derived] = {
        "statements": tuple[Statement, ...],
        "better_than_chance": bool,
        "rates": tuple[Rates, ...],
        "scores": tuple[GroupScores, ...],
    }

    table: Annotated[ScoreTable, "hidden"]
    ranking: Annotated[Ranking, "inline"]
    tops: tuple[Ranking, ...]
    auc_half: Annotated[Estimate | None, "hidden"]  # of all rows, equal scores counted as half a win
    asked: Annotated[Asked, "hidden"]
    calibration: Calibration | None
    calibration_bins: int
    weights: Weights | None
    lower_is_riskier: bool
    high_score_means: Meaning | None
    left_out: tuple[LeftOut, ...]
    unknown: Unknown | None
    notes: tuple[Note, ...]
    rule: Ruled | None = None
    follow_up: FollowUp | None = None
    concordance: Concordance | None = None
    missing_outcomes: MissingOutcomes | None = None

    @property
    def auc(self) -> Known[Estimate]:
        """AUC of all rows."""
        return self.ranking.auc

    @property
    def gap(self) -> Known[Estimate]:
        """The largest gap over pairs of groups, seen from the group ranked higher."""
        return self.ranking.gap

    @property
    def listed_groups(self) -> tuple[GroupNumbers, ...]:
        """The groups that are compared, then those that mean unknown."""
        return self.ranking.groups + (() if self.unknown is None else self.unknown.groups)

    @property
    def reference(self) -> Hashable:
        """The group that pairs are seen from."""
        return self.ranking.reference

    @cached_property
    def rates(self) -> tuple[Rates, ...]:
        """The rates at each cut, then those without one."""
        return tuple(renamed(each, self._name_of) for each in self.asked.rates)

    @property
    def rates_asked(self) -> tuple[Rates, ...]:
        """The rates at the cuts that were asked for; without outcomes, where none was, in the top tenth."""
        shown = len(self.asked.cuts) or int(not self.ranking.labelled)
        return self.rates[:shown] if shown else ()

    @cached_property
    def scores(self) -> tuple[GroupScores, ...]:
        """The scores of each group."""
        return tuple(renamed(each, self._name_of) for each in self.asked.scores)

    def _name_of(self, group: Hashable) -> Hashable:
        """Give the name that this audit calls a group of its table by."""
        return self.ranking.groups[self.table.groups.index(group)].group

    @property
    def told(self) -> Ranking:
        """The ranking that everything speaks of: that of the first top, where one was asked for."""
        return (self.ranking, *self.tops)[:2][-1]

    @cached_property
    def statements(self) -> tuple[Statement, ...]:
        """What follows, the most important first: of the top, where one was asked for, then of all rows and others."""
        return self.judged()

    def judged(self, target: float | None = None) -> tuple[Statement, ...]:
        """Say what follows, the most important first, with or without a gap that is accepted.

        Parameters
        ----------
        target : float or None, default None
            The largest gap that you accept.
        """
        of_all = Facts(
            self.ranking,
            auc=self.auc_half,
            target=target,
            high_score_means=self.high_score_means,
            lower_is_riskier=self.lower_is_riskier,
            columns=self.table.group_columns,
        )
        tops = [replace(of_all, ranking=each, whole=self.ranking) for each in self.tops]
        return judge(*tops[:1], of_all, *tops[1:])

    @property
    def statement(self) -> Statement:
        """The first statement about the gap: which pair, which way, how surely, what to do next."""
        return next(each for each in self.statements if not each.about_score)

    @property
    def answer(self) -> list[str]:
        """The answer in sentences: the statements, the most important first, what they mean, and the next step."""
        told = self.spoken
        first, *others = told.statements
        said = (
            [] if self.ranking.labelled else [words.selection(each, self.lower_is_riskier) for each in told.rates_asked]
        )
        said += [first.text, first.meaning]
        for other in others:
            said += [other.text, "" if other.state != "clear" or first.clear else other.meaning]
        return [text for text in (*said, *self.concordant(), first.next) if text]

    def concordant(self, style: words.Style = words.FRACTIONS) -> list[str]:
        """Say the concordance of the pair that is told of; nothing where there is none.

        Parameters
        ----------
        style : Style, default FRACTIONS
            How numbers are written.
        """
        found, (first, second) = self.spoken.concordance, self.spoken.statement.pair
        if found is None or first is None:
            return []
        return [words.concordant(found.pair(first, second), found.tau, style)]

    @property
    def better_than_chance(self) -> bool:
        """Whether the score is shown to rank the outcome better than chance: over all rows, and in every group."""
        return not any(s.about_score or any(c.kind == "chance" for c in s.caveats) for s in self.statements)

    @property
    def warnings(self) -> list[str]:
        """What to beware of, in words."""
        return [note.text for note in self.spoken.notes]

    def _columns(self) -> tuple[str, ...]:
        return self.table.group_columns

    def verdict(self, bound: float, *, level: float = LEVEL, guards: Guards | None = None) -> Verdict:
        """Say whether the gap is within a bound, exceeds it, or whether the rows cannot tell.

        {bound, level, guards}

        Returns
        -------
        Verdict
            The strictest of :meth:`verdicts`; its ``metric`` names the gap that it is of.
        """
        return strictest(self.verdicts(bound, level=level, guards=guards))

    def verdicts(self, bound: float, *, level: float = LEVEL, guards: Guards | None = None) -> list[Verdict]:
        """Judge every gap that is guarded: over all rows, in the top, or in each.

        {bound, level, guards}
        """
        wanted = check_choice("both" if guards is None else guards, "guards", GUARDS)
        if wanted == "top" and not self.tops:
            raise ValueError(f"guards='top' needs the top to look at.\nHint: {argument('top', 0.1)} in the audit.")
        given: dict[str, Any] = {"bound": bound, "ties": self.ranking.ties, "level": level}
        found = [] if wanted == "top" else [verdict(self.table, **given)]
        tops = [] if wanted == "overall" else self.tops
        return found + [verdict(self.table, top=top.top, top_of=top.top_of or "all", **given) for top in tops]

    def ratio_verdict(self, bound: float = 0.8, *, level: float = LEVEL) -> RatioVerdict:
        """Say whether the selection rate of some group is below this share of another's; no outcomes are needed.

        Parameters
        ----------
        bound : float in (0, 1], default 0.8
            The smallest ratio of two selection rates that you accept; 0.8 is four fifths.
        {level}

        Returns
        -------
        RatioVerdict
            ``answer`` is "within", "below" or "cannot tell": the strictest of :meth:`ratio_verdicts`.
        """
        return strictest(self.ratio_verdicts(bound, level=level))

    def ratio_verdicts(self, bound: float = 0.8, *, level: float = LEVEL) -> list[RatioVerdict]:
        """Judge the selection rates at every threshold and in every top, see :meth:`ratio_verdict`.

        Parameters
        ----------
        bound : float in (0, 1], default 0.8
            The smallest ratio of two selection rates that you accept.
        {level}
        """
        given = check_share(bound, "bound", zero=False), check_level(level)
        return [ratio_verdict(self.table, cut, *given) for cut in self.asked.looked_at]

    def frame(self, part: Part = "pairs") -> Any:
        """Return one of the tables (pandas, Polars or PyArrow, whichever is in use).

        Parameters
        ----------
        part : {"pairs", "groups", "calibration", "rates", "scores", "top"}, default "pairs"
            Pairs of groups with both xAUC and the gap; groups with their sizes and AUC; calibration by group; rates by
            group at each threshold and in each top, with differences and ratios; the scores of each group; AUC, gap,
            recall and precision in each top.
        """
        return frame_of(self.rows(part))

    def rows(self, part: Part = "pairs") -> list[Plain]:
        """Return one of the tables as a list of rows.

        Parameters
        ----------
        part : str, default "pairs"
            One of those that :meth:`frame` takes.
        """
        if check_choice(part, "part", get_args(Part)) == "pairs":
            return rows_of(self.ranking.gaps)
        if part == "groups":
            weighted = ("weighted_rows", "weighted_positives") if self.weights == "importance" else ()
            clusters = () if self.ranking.clusters is None else _CLUSTERS
            return rows_of(self.listed_groups, [*_COLUMNS[:4], *clusters, *weighted, *_COLUMNS[4:]])
        if part == "calibration":
            known = [(each.group, each.calibration) for each in self.ranking.groups if each.calibration is not None]
            return [{"group": group, **rows_of([each])[0]} for group, each in known]
        if part == "rates":
            return [row for each in self.rates for row in each.listed()]
        if part == "scores":
            return rows_of(self.scores)
        return [{"top": top.top, "top_of": top.top_of, **row} for top, row in zip(self.tops, rows_of(self.tops, _TOP))]

    def __str__(self) -> str:
        told, ranking = self.spoken, self.ranking
        if told.rule is not None:
            return "\n".join([str(told.rule), *(f"note: {text}" for text in told.beside_rule)])
        auc = "-" if self.auc is None else words.FRACTIONS.with_interval(self.auc, auc=True)
        sized = [wording.rows_by(ranking.rows, ranking.weighted_rows)]
        if ranking.positives is not None:
            sized.append(wording.rows_by(ranking.positives, ranking.weighted_positives, "with the outcome"))
        lines = [*self.answer, ", ".join([*sized, f"{len(told.ranking.groups)} groups"])]
        lines += [f"AUC {auc}"] if ranking.labelled else []
        lines += self._weighed
        for pair in told._pairs if len(ranking.gaps) > 1 else []:
            lines.append(f"{pair.first} over {pair.second}: gap {words.FRACTIONS.with_interval(pair.signed_gap)}")
        lines += [words.OF_ALL_PAIRS] if len(told._pairs) > 1 else []
        return "\n".join([*lines, *(f"note: {text}" for text in self.warnings if text not in lines)])

    @property
    def beside_rule(self) -> list[str]:
        """What is said below a rule's tables: which groups are left out of them, and who left before a horizon."""
        return [note.text for note in self.notes if note.kind in ("left out", "weightless", *words.FOLLOWED)]

    @property
    def _weighed(self) -> list[str]:
        return [text for text in [wording.weights_taken(self.weights, self.ranking.weighted_rows)] if text]

    @property
    def _pairs(self) -> list[Pair]:
        """The pairs with the largest gaps, the group ranked higher first."""
        return sorted(self.told.measured, key=lambda pair: -pair.size)[:_MOST_PAIRS]

    def __repr__(self) -> str:
        rows = wording.rows_by(self.ranking.rows, self.ranking.weighted_rows)
        return f"<Audit of {rows}, {len(self.ranking.groups)} groups: {self.answer[0]}>"

    def _repr_html_(self) -> str:
        told = self.spoken
        if told.rule is not None:
            return f"<div>{told.rule._repr_html_()}{notes(told.beside_rule)}</div>"
        bars = [bar(f"{pair.first} over {pair.second}", pair.signed_gap) for pair in told._pairs]
        pairs = rows_of(sorted(told.told.measured, key=lambda pair: -pair.size))
        tables = html_table(pairs, "Pairs of groups, the one ranked higher first")
        tables += paragraph(words.OF_ALL_PAIRS) if len(pairs) > 1 else ""
        tables += html_table(told.rows("groups") if self.ranking.labelled else [], "Groups")
        tables += html_table(told.rows("top"), "Top of the ranking")
        tables += "".join(html_table(rows, caption) for caption, rows in told.selection_tables())
        picture = intervals_svg(bars, "Gaps between groups, with their intervals")
        return f"<div>{paragraph(*self.answer)}{picture}{tables}{notes([*self._weighed, *self.warnings])}</div>"

    def selection_tables(self) -> list[tuple[str, list[Plain]]]:
        """Give a table for each cut that was asked for, or, without outcomes, that is taken unless one is, and scores.

        Each has a caption. Scores by group follow where outcomes are not known.
        """
        shown = []
        for each in self.rates_asked:
            rows = []
            for group, found in each.across(SCREEN):
                row: Plain = {"group": "all" if group is None else group, "flagged": found[0].hits}
                row |= {key: end for one in found for key, end in ends_of(one.value.metric, one.value).items()}
                if not self.ranking.labelled:
                    itself = group is not None and group == each[SCREEN[0]].highest
                    row |= ends_of("ratio to the highest", found[0].ratio) | (
                        {"ratio to the highest": 1.0} if itself else {}
                    )
                rows.append(row)
            shown.append((words.flagged(each, self.lower_is_riskier), rows))
        return shown if self.ranking.labelled else [*shown, ("Scores", self.rows("scores"))]

    def plot(self, ax: Any = None) -> Any:
        """Draw the gap of every two groups with its interval; return the axes.

        Without outcomes it draws the selection rates.

        {ax}
        """
        return display("draw_audit")(self, ax)


def strictest(found: list[AnyVerdict]) -> AnyVerdict:
    """Choose the verdict that a gate goes by: one that fails, else one that cannot be told, else that of most gap."""

    def strict(each: AnyVerdict) -> tuple[int, float]:
        size = -float(each.ratio) if isinstance(each, RatioVerdict) else float(each.interval)
        return ("within", "cannot tell", "exceeds", "below").index(each.answer), float(np.nan_to_num(size))

    return max(found, key=strict)
