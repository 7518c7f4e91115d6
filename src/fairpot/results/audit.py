"""Audit: what the scores do to each group, measured once."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from typing import Annotated, Any, ClassVar, Literal, Self, TypedDict, TypeVar, Unpack, cast, get_args, overload

import numpy as np

from fairpot import words
from fairpot._arguments import argument, by_name
from fairpot._defaults import LEVEL, REGIONS, TIES, Meaning, Region, Ties, Weights
from fairpot._docs import documented
from fairpot._html import html_table, intervals_svg, notes, paragraph
from fairpot._shown import Bar, ShownBars, bar, display, ends_of, frame_of
from fairpot._validation import check_choice, check_group_name, check_level, check_share, wording
from fairpot._validation.grouping import Grouping
from fairpot.counting import as_table
from fairpot.follow_up import FollowUp
from fairpot.inference import Changes, Estimate, Verdict, verdict
from fairpot.inference.bounds import gap_bounds
from fairpot.inference.change import change_of_columns
from fairpot.inference.rates import Cut
from fairpot.metrics.cells import hard_predictions
from fairpot.repair.groups import kept_groups, warn_of_table
from fairpot.results.calibration import BINS, Calibration, calibrations
from fairpot.results.concordances import Concordance, concordances_of
from fairpot.results.finding import Finding
from fairpot.results.kinds import Count, Derived, Group, Known, Plain, Told, renamed, rows_of
from fairpot.results.notes import notes_of_audit
from fairpot.results.ranking import GroupNumbers, Pair, Ranking, rank, top_of
from fairpot.results.rates import SCREEN, SHARE, Rates, RatioVerdict, cut_at, rates_at, ratio_verdict
from fairpot.results.ruled import Ruled, measure_rule
from fairpot.results.scores import GroupScores, scores_by_group
from fairpot.table import ScoreTable
from fairpot.words import Note

Part = Literal["groups", "pairs", "calibration", "rates", "scores", "top"]
AnyVerdict = TypeVar("AnyVerdict", Verdict, RatioVerdict)
# Which gaps a gate guards.
Guards = Literal["overall", "top", "both"]
GUARDS = ("overall", "top", "both")
_COLUMNS = ("group", "rows", "positives", "negatives", "rate", "auc")
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
            return [*found, Note("no bounds")]
        return [*found, Note("bounds", value=self.lowest, other=self.highest, pairs=(self.pair,))]


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

    Examples
    --------
    >>> import fairpot
    >>> data = fairpot.datasets.make_synthetic(1000, random_state=0, as_frame=False)
    >>> found = fairpot.audit(data.target, data.probability, sensitive_features=data.group)
    >>> round(found.gap, 3), round(found.gap.low, 3), round(found.gap.high, 3), found.finding.pair
    (0.275, 0.197, 0.362, ('a', 'b'))
    >>> found.verdict(0.05).answer
    'exceeds'
    """

    derived: ClassVar[Derived] = {
        "finding": Finding,
        "findings": tuple[Finding, ...],
        "better_than_chance": bool,
        "rates": tuple[Rates, ...],
        "scores": tuple[GroupScores, ...],
    }

    table: Annotated[ScoreTable, "hidden"]
    ranking: Annotated[Ranking, "inline"]
    tops: tuple[Ranking, ...]
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
    def findings(self) -> tuple[Finding, ...]:
        """The finding of all rows, then that of each top."""
        return tuple(Finding.of(each, self.table, self.auc) for each in (self.ranking, *self.tops))

    @property
    def finding(self) -> Finding:
        """The one finding: which pair, which way, how surely, what to do next; of the top, where one was asked for."""
        return self.findings[:2][-1]

    @property
    def answer(self) -> list[str]:
        """The answer in sentences: the finding and its meaning, findings of other parts of the list, the next step.

        Before all, that the score is not shown to be better than chance, if it is not.
        """
        main, told = self.finding, self.spoken
        others = [each.headline for each in self.findings if each is not main]
        first = words.by_chance(told.notes, told.ranking.small_groups)
        if not self.ranking.labelled:
            first += [words.selection(each, self.lower_is_riskier) for each in told.rates_asked]
        others += self.concordant()
        return [text for text in (*first, main.headline, main.meaning, *others, self.clearest.next) if text]

    def concordant(self, style: words.Style = words.FRACTIONS) -> list[str]:
        """Say the concordance of the pair that is told of; nothing where there is none.

        Parameters
        ----------
        style : Style, default FRACTIONS
            How numbers are written.
        """
        found, pair = self.spoken.concordance, self.spoken.ranking.told
        if found is None or pair is None:
            return []
        return [words.concordant(found.pair(pair.first, pair.second), found.tau, style)]

    @property
    def better_than_chance(self) -> bool:
        """Whether the score is shown to rank the outcome better than chance: over all rows, and in every group."""
        return not any(note.kind in words.CHANCE for note in self.notes)

    @property
    def clearest(self) -> Finding:
        """The finding that the next step is about: the one finding, or the first other one if it alone is clear."""
        return next((each for each in (self.finding, *self.findings) if each.clear), self.finding)

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
            raise ValueError(f"guards='top' needs the top to look at.\nHint: {argument('alpha', 0.1)} in the audit.")
        given: dict[str, Any] = {"bound": bound, "ties": self.ranking.ties, "level": level}
        found = [] if wanted == "top" else [verdict(self.table, **given)]
        tops = [] if wanted == "overall" else [each.top for each in self.tops if each.top is not None]
        return found + [verdict(self.table, alpha=top.alpha, region=top.region, **given) for top in tops]

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
        if part == "pairs":
            return rows_of(self.ranking.gaps)
        if part == "groups":
            weighted = ("weighted_rows", "weighted_positives") if self.weights == "importance" else ()
            return rows_of(self.listed_groups, [*_COLUMNS[:4], *weighted, *_COLUMNS[4:]])
        if part == "calibration":
            known = [(each.group, each.calibration) for each in self.ranking.groups if each.calibration is not None]
            return [{"group": group, **rows_of([each])[0]} for group, each in known]
        if part == "rates":
            return [row for each in self.rates for row in each.listed()]
        if part == "scores":
            return rows_of(self.scores)
        if part == "top":
            tops = [(each.top, row) for each, row in zip(self.tops, rows_of(self.tops, _TOP)) if each.top is not None]
            return [{"alpha": top.alpha, "region": top.region, **row} for top, row in tops]
        raise ValueError(f"part must be one of {', '.join(map(repr, get_args(Part)))}, got {part!r}.")

    def __str__(self) -> str:
        told, ranking = self.spoken, self.ranking
        auc = "-" if self.auc is None else words.FRACTIONS.with_interval(self.auc, auc=True)
        sized = [wording.rows_by(ranking.rows, ranking.weighted_rows)]
        if ranking.positives is not None:
            sized.append(wording.rows_by(ranking.positives, ranking.weighted_positives, "with the outcome"))
        lines = [*self.answer, ", ".join([*sized, f"{len(told.ranking.groups)} groups"])]
        lines += [f"AUC {auc}"] if ranking.labelled else []
        lines += self._weighed
        for pair in told._pairs if len(ranking.gaps) > 1 else []:
            lines.append(f"{pair.first} over {pair.second}: gap {words.FRACTIONS.with_interval(pair.signed_gap)}")
        return "\n".join([*lines, *(f"note: {text}" for text in self.warnings if text not in lines)])

    @property
    def _weighed(self) -> list[str]:
        return [text for text in [wording.weights_taken(self.weights, self.ranking.weighted_rows)] if text]

    @property
    def _pairs(self) -> list[Pair]:
        """The pairs with the largest gaps, the group ranked higher first."""
        return [pair.ranked for pair in self.told.compared[:_MOST_PAIRS]]

    def __repr__(self) -> str:
        rows = wording.rows_by(self.ranking.rows, self.ranking.weighted_rows)
        return f"<Audit of {rows}, {len(self.ranking.groups)} groups: {self.answer[0]}>"

    def _repr_html_(self) -> str:
        told = self.spoken
        bars = [bar(f"{pair.first} over {pair.second}", pair.signed_gap) for pair in told._pairs]
        pairs = rows_of(pair.ranked for pair in told.told.compared)
        tables = html_table(pairs, "Pairs of groups, the one ranked higher first")
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


def several(given: Any) -> list[Any]:
    """Give no value, one or several as a list, each once, in their order."""
    if given is None:
        return []
    found = list(given) if isinstance(given, Iterable) and not isinstance(given, str | bytes | dict) else [given]
    return [each for place, each in enumerate(found) if each not in found[:place]]


def audit_table(
    table: ScoreTable,
    *,
    alpha: Any = None,
    region: str = "pooled",
    ties: str = "half",
    reference: Hashable | None = None,
    threshold: Any = None,
    bins: int = BINS,
    level: float | None = LEVEL,
    left_out: Mapping[Hashable, float] | None = None,
    rule: str | PathLike[str] | None = None,
    everything: ScoreTable | None = None,
) -> Audit:
    """Measure everything that an audit shows, once; what is said of the rows stands in the table.

    Of ``everything`` that was counted, groups that mean unknown are measured apart.
    """
    table.require("an audit", labels=False, groups=2)
    how = cast(Ties, check_choice(ties, "ties", TIES))
    where = cast(Region, check_choice(region, "region", REGIONS))
    shares = [check_share(each, "alpha", zero=False) for each in several(alpha)]
    if reference is not None:
        check_group_name(reference, table.groups, "reference")
    cuts = [cut_at(table, threshold=each) for each in several(threshold)]
    asked = Asked(table, (*cuts, *(Cut("top", None, each, where) for each in shares)), level, reference)
    if level is not None:
        check_level(level)
    apart = () if everything is None else everything.unknown
    with_unknown = table if everything is None else everything.only([*table.groups, *apart])
    ruled = None if rule is None else measure_rule(rule, with_unknown, asked.looked_at, level)
    gone = tuple(LeftOut(group, rows) for group, rows in (left_out or {}).items())
    odd = [Note("left out", each.group, value=each.rows) for each in gone]
    tops: tuple[Ranking, ...] = ()
    calibrated, concordance = None, None
    if table.labelled:
        found = calibrations(table, bins, level)
        calibrated, whole = found.all, rank(table, ties=how, level=level, reference=reference)
        both = zip(whole.groups, found.groups)
        whole = replace(whole, groups=tuple(replace(own, calibration=each) for own, each in both))
        given: dict[str, Any] = {"ties": how, "level": level, "reference": whole.reference, "small": whole.small_groups}
        tops = tuple(rank(table, top=top_of(table, share, where), **given) for share in shares)
        half = whole if how == "half" else rank(table, level=level, reference=whole.reference)
        odd += notes_of_audit(table, whole, tops, calibrated, half)
        concordance = concordances_of(table, level)
    else:
        for name, value, usual in (("ties", ties, "half"), ("bins", bins, BINS)):
            if value != usual:
                said = f"{argument(name, value)} needs outcomes, and these rows have none."
                raise ValueError(f"{said}\nHint: leave it out.")
        whole = rank(table, level=None, reference=reference)
        odd += filter(None, [hard_predictions(table)])
    unknown = None if everything is None or not apart else Unknown.of(everything, table, whole)
    odd += [] if unknown is None else unknown.notes
    known = table.weights, table.lower_is_riskier, table.high_score_means
    asked = replace(asked, reference=whole.reference)
    after = ruled, table.follow_up, concordance
    return Audit(table, whole, tops, asked, calibrated, bins, *known, gone, unknown, tuple(odd), *after)


class _Asked(TypedDict, total=False):
    """The options of an audit, as its two overloads share them."""

    sensitive_features: Any
    sample_weight: Any
    pos_label: Any
    alpha: float | Iterable[float] | None
    region: Region
    ties: Ties
    reference: Hashable | None
    threshold: float | Iterable[float] | None
    min_group: int
    groups: Any
    bins: int
    level: float | None
    clusters: Any
    weights: Weights | None
    lower_is_riskier: bool
    high_score_means: Meaning | None
    rule: str | PathLike[str] | None
    bands: Mapping[str, Any] | None
    unknown: Sequence[Any] | None
    missing_group: str


@overload
def audit(y_true: Any, y_score: Mapping[str, Any], **options: Unpack[_Asked]) -> Audits: ...
@overload
def audit(y_true: Any, y_score: Any = None, **options: Unpack[_Asked]) -> Audit: ...
@by_name
def audit(
    y_true: Any,
    y_score: Any = None,
    *,
    sensitive_features: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
    alpha: float | Iterable[float] | None = None,
    region: Region = "pooled",
    ties: Ties = "half",
    reference: Hashable | None = None,
    threshold: float | Iterable[float] | None = None,
    min_group: int = 0,
    groups: Any = None,
    bins: int = BINS,
    level: float | None = LEVEL,
    clusters: Any = None,
    weights: Weights | None = None,
    lower_is_riskier: bool = False,
    high_score_means: Meaning | None = None,
    rule: str | PathLike[str] | None = None,
    bands: Mapping[str, Any] | None = None,
    unknown: Sequence[Any] | None = None,
    missing_group: str = "error",
) -> Audit | Audits:
    """Measure how fairly scores rank: AUC in each group, xAUC between groups, their gap, calibration.

    Parameters
    ----------
    y_true : column of shape (n,), ScoreTable, or None
        Outcomes, 0/1; or all of the rows, as :func:`fairpot.score_table` counts them. None if outcomes are not known:
        the audit is of selection rates and scores.
    y_score : column of shape (n,), or dict of names to such columns
        Scores of any model, on any scale. Of several models for the same rows, each is compared with the first.
    {sensitive_features, sample_weight, pos_label}
    alpha : float in (0, 1], list of them, or None, default None
        Also rank among the rows with the highest scores alone, this share of them: ``tops`` has one ranking for each.
    region : {"pooled", "group"}, default "pooled"
        Whether that is the top alpha of all rows or of each group.
    {ties, reference}
    threshold : float, list of floats, or None, default None
        Also look at who is flagged at this score or above: ``frame("rates")`` has selection rate, TPR, FPR, PPV and
        others by group, with differences and ratios; without any threshold or alpha, in the top 10%.
    {min_group, groups, bins}
    level : float or None, default 0.95
        Confidence level of the intervals; None computes none.
    {clusters, weights, lower_is_riskier, high_score_means, grouping}
    rule : str, path, or None, default None
        Also measure what a rule asks for: "four-fifths", "ll144", "clinical", or a TOML file of your own. ``rule`` of
        the audit has its tables.

    Returns
    -------
    Audit
        ``finding`` is the answer, ``notes`` what is odd about the data. Of a dict, an :class:`Audits`.

    Examples
    --------
    >>> import fairpot
    >>> y, sex = [1, 0, 1, 0, 1, 0, 1, 0], ["F"] * 4 + ["M"] * 4
    >>> score = [0.6, 0.3, 0.5, 0.2, 0.9, 0.4, 0.8, 0.55]
    >>> found = fairpot.audit(y, score, sensitive_features=sex)
    >>> found.auc, found.gap, found.finding.pair
    (0.9375, 0.25, ('M', 'F'))
    """
    rows: dict[str, Any] = {
        "sensitive_features": sensitive_features,
        "sample_weight": sample_weight,
        "clusters": clusters,
        "weights": weights,
        "pos_label": pos_label,
        "lower_is_riskier": lower_is_riskier,
        "high_score_means": high_score_means,
        "grouping": Grouping.of(bands, unknown, missing_group),
    }
    looked_at: dict[str, Any] = {
        "alpha": alpha,
        "region": region,
        "ties": ties,
        "reference": reference,
        "threshold": threshold,
        "bins": bins,
        "level": level,
        "rule": rule,
    }
    chosen = {"min_group": min_group, "groups": groups}
    if isinstance(y_score, Mapping):
        return _audit_models(y_true, y_score, rows, looked_at, chosen)
    return _audit_rows(y_true, y_score, rows, looked_at, chosen)


def _audit_rows(y_true: Any, y_score: Any, rows: Plain, looked_at: Plain, chosen: Plain) -> Audit:
    labelled = y_true is not None or y_score is None
    everything = as_table(y_true, y_score, **rows, labelled=labelled).require("an audit", labels=False, groups=2)
    table = kept_groups(everything, **chosen)
    gone = tuple(g for g in everything.groups if g not in (*table.groups, *everything.unknown))
    left_out = {g: everything[g].size for g in gone}
    found = audit_table(table, **looked_at, left_out=left_out, everything=everything)
    warn_of_table(table, everything)
    return found


def _audit_models(y_true: Any, models: Mapping[str, Any], rows: Plain, looked_at: Plain, chosen: Plain) -> Audits:
    """Audit several models' scores of the same rows, and compare each with the first."""
    if not models:
        raise ValueError("y_score is an empty dict.\nHint: audit(y_true, {'old': scores, 'new': other_scores}, ...).")
    found: dict[str, Audit] = {}
    for name, scores in models.items():
        try:
            found[str(name)] = _audit_rows(y_true, scores, rows, looked_at, chosen)
        except (TypeError, ValueError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"the scores of {name!r}: {error}") from error
        looked_at["reference"] = found[str(name)].reference  # pairs of all are seen from the same group
    table = next(iter(found.values())).table
    if looked_at["level"] is None or len(found) < 2 or not table.labelled:
        return Audits(found, {})
    sign = -1.0 if rows.pop("lower_is_riskier") else 1.0
    columns = {
        name: scores if sign > 0 else -np.asarray(scores, dtype=float) for name, scores in zip(found, models.values())
    }
    del rows["high_score_means"], rows["grouping"]
    how = {"ties": looked_at["ties"], "level": looked_at["level"]}
    return Audits(found, change_of_columns(y_true, columns, table=table, **rows, **how))


@dataclass(frozen=True, eq=False, repr=False)
class Audits(ShownBars):
    """Several models' scores of the same rows, audited side by side; what :func:`audit` gives for a dict.

    Attributes
    ----------
    audits : dict of name to Audit
    changes : dict of name to Changes
        Of every model but the first: AUC, gaps and xAUCs against those of the first. They are of the same rows, so that
        the limits of a difference are often much narrower than those of the two numbers would let one think.

    Examples
    --------
    >>> import fairpot
    >>> y, sex = [1, 0, 1, 0, 1, 0, 1, 0] * 10, (["F"] * 4 + ["M"] * 4) * 10
    >>> old, new = [0.6, 0.3, 0.5, 0.2, 0.9, 0.4, 0.8, 0.55] * 10, [0.6, 0.3, 0.5, 0.2, 0.6, 0.3, 0.5, 0.2] * 10
    >>> found = fairpot.audit(y, {"old": old, "new": new}, sensitive_features=sex)
    >>> found["new"].gap, found.changes["new"].gap.change
    (0.0, -0.25)
    """

    audits: dict[str, Audit]
    changes: dict[str, Changes]

    def __repr__(self) -> str:
        shown = [f"{name} gap {float(each.gap):.3f}" for name, each in self.audits.items() if each.gap is not None]
        return f"<Audits of {len(self)} models: {words.listed(shown, 3)}>"

    def __getitem__(self, name: str) -> Audit:
        return self.audits[name]

    def __len__(self) -> int:
        return len(self.audits)

    def _listed(self) -> list[Plain]:
        """Give a row for each model: AUC and gap with their limits, and how they differ from the first model's."""
        found = []
        for name, each in self.audits.items():
            row: Plain = {"model": name, **ends_of("auc", each.auc), **ends_of("gap", each.gap)}
            for metric in ("auc", "gap"):
                row |= ends_of(f"{metric}_change", getattr(self.changes.get(name), metric, None))
            found.append(row)
        return found

    def _bars(self) -> list[Bar]:
        """Draw the gap of each model, then the difference from the first."""
        first = next(iter(self.audits))
        gaps = [bar(f"{name}: {each.finding.metric}", each.finding.gap) for name, each in self.audits.items()]
        changes = [bar(f"{name} minus {first}: AUC", change.auc) for name, change in self.changes.items()]
        return [*gaps, *changes]

    def _says(self) -> list[str]:
        said = [each.finding.headline if each.ranking.labelled else each.answer[0] for each in self.audits.values()]
        found = [f"{name}: {text}" for name, text in zip(self.audits, said)]
        return [f"{len(self)} models on the same rows, with intervals", *found, *self._notes()]

    def _notes(self) -> list[str]:
        return [f"{name}: {text}" for name, each in self.audits.items() for text in each.warnings]

    def to_dict(self) -> Plain:
        """Return all numbers as plain values, ready for JSON."""
        changes = {name: change.to_dict() for name, change in self.changes.items()}
        return {"models": {name: {**a.to_dict(), "change": changes.get(name)} for name, a in self.audits.items()}}

    def __str__(self) -> str:
        lines = [
            f"{name}: AUC {each.auc!s}, {each.finding.metric} {each.finding.gap!s}"
            if each.ranking.labelled
            else f"{name}: {each.answer[0]}"
            for name, each in self.audits.items()
        ]
        first = next(iter(self.audits))
        for name, change in self.changes.items():
            lines += [f"{first} -> {name}: AUC {change.auc}", f"{first} -> {name}: gap {change.gap}"]
        return "\n".join([*lines, *(f"note: {text}" for text in self._notes())])
