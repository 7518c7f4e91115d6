"""Effect: what a repair changes, before and after on the same rows."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Unpack, get_args

import numpy as np

from fairpot import words
from fairpot._arguments import by_name
from fairpot._defaults import LEVEL, Ties, TopOf
from fairpot._docs import documented
from fairpot._html import html_table, intervals_svg, notes, paragraph
from fairpot._said import Said
from fairpot._shown import bar, display, frame_of
from fairpot._validation import check_choice, check_seen, wording
from fairpot.counting import as_table, compared
from fairpot.inference import Change, Changes, Estimate
from fairpot.inference.change import change_by_maps
from fairpot.inference.dial import same_rows
from fairpot.results.audit import audit_table, several
from fairpot.results.audited import Audit
from fairpot.results.calibration import BINS
from fairpot.results.judge import Facts, Statement, judge
from fairpot.results.kinds import Count, Derived, Group, Known, Told, rows_of
from fairpot.results.notes import notes_of_effect
from fairpot.results.ranking import Ranking, rank
from fairpot.results.rates import Action, Moved, actions, moves
from fairpot.table import ScoreTable
from fairpot.transport import ScoreMap, moving, parted
from fairpot.words import Note

if TYPE_CHECKING:
    from fairpot.repair.fair_maps import FairMaps

Part = Literal["numbers", "moves", "actions"]


@dataclass(frozen=True)
class Checked:
    """Which rows these are to a repair: how many, whether it was fitted on them, and what was certified of it."""

    same_rows: bool
    rows: Count
    clusters: int | None
    certificate: Mapping[str, Any] | None


@dataclass(frozen=True)
class Row:
    """A number before and after a repair, and the change with its interval."""

    metric: str
    before: Estimate | None
    after: Estimate | None
    change: Estimate | None


@documented
@dataclass(frozen=True, eq=False, repr=False)
class Effect(Told):
    """Hold what :func:`effect` found: audits before and after, and whose scores change.

    Attributes
    ----------
    before, after : Audit
        Of the original scores, and of the adjusted ones.
    changes : Changes or None
        AUC, gaps and xAUCs over all rows before and after, and the change with its interval: of the same rows, so that
        what both have in common cancels. None for more than 20 groups.
    moves : tuple of Moved
        For each group, how many scores the repair moves, which way and how far; without a map that then makes
        probabilities of all scores.
    actions : tuple of Action
        Who is acted on before and after, by group and outcome: at the threshold, in the top share, else in the top
        tenth; with who gains and who loses, if it was said what a high score does.
    calibrated : bool
        Whether one common map then makes probabilities of all scores; ``after`` has their calibration.
    checked : Checked or None
        Which rows these are to the repair, and its certificate; None if it does not say on which it was fitted.
    statements : tuple of Statement
        What follows, the most important first: whether the target is kept, or whether a gap is left.
    reference : the reference group, whose scores do not change, or None
    left_out : tuple of groups that were left out of the comparison
    notes : tuple of Note
        What may mislead about the repair; ``before.notes`` has what may mislead about the scores.

    Examples
    --------
    >>> import fairpot
    >>> data = fairpot.datasets.make_synthetic(1000, random_state=0, as_frame=False)
    >>> score, y, group = data.probability, data.target, data.group
    >>> repair = fairpot.FairPOT(max_gap=0.05).fit(score, y, sensitive_features=group)
    >>> found = fairpot.effect(repair, score, y, sensitive_features=group)
    >>> round(found.before.gap, 3), round(found.after.gap, 3)
    (0.275, 0.05)
    >>> [(each.group, each.moved) for each in found.moves]
    [('a', 0), ('b', 150)]
    """

    derived: ClassVar[Derived] = {}  # all that is written is a field

    before: Audit
    after: Audit
    changes: Known[Changes]
    moves: tuple[Moved, ...]
    actions: tuple[Action, ...]
    calibrated: bool
    checked: Checked | None
    facts: Annotated[Facts, "hidden"]
    statements: tuple[Statement, ...]
    reference: Group | None
    left_out: tuple[Group, ...]
    notes: tuple[Note, ...]

    @property
    def statement(self) -> Statement:
        """The first statement about the gap."""
        return next(each for each in self.statements if not each.about_score)

    def _columns(self) -> tuple[str, ...]:
        return self.before.table.group_columns

    @property
    def sentences(self) -> list[str]:
        """What follows, the most important first; whose scores change, who is acted on, the price; what to do next."""
        told, moved = self.spoken, any(each.moved for each in self.moves)
        said = [*(each.text for each in told.statements), words.changed_scores(told.moves)]
        said += [words.selected(told.actions[0])] if told.actions and moved else []
        said += [words.price(self.before.auc, self.after.auc, None if self.changes is None else self.changes.auc)]
        said += [words.calibrated(told.after)] if told.calibrated and told.after.calibration is not None else []
        return [text for text in (*said, told.statements[0].next) if text]

    @property
    def warnings(self) -> list[str]:
        """What to beware of, in words: what the repair costs beyond AUC, and what the audit before it says."""
        told = self.spoken
        return [note.text for note in (*told.notes, *told.before.notes)]

    def rows(self) -> list[Row]:
        """Return the main numbers before and after: AUC and gap over all rows and in the top, calibration.

        Where two groups are compared, the gap is seen from the one that was ranked higher before: below 0 the repair
        overshoots.
        """
        found, changes = [], self.changes
        for was, now in zip((self.before.ranking, *self.before.tops), (self.after.ranking, *self.after.tops)):
            auc = gap = None
            if was.top is None and changes is not None:
                auc, gap = changes.auc, changes.headline
                gap = gap.signed if gap is not None and len(was.compared) == 1 else gap
            found.append(_row(words.auc_name(was.top), was.auc, now.auc, auc))
            found.append(_row(words.gap_name(was.top), *_seen_alike(was, now), gap))
        both = zip(self.before.ranking.groups, self.after.ranking.groups)
        named = [(f" of {b.group}", b.calibration, a.calibration) for b, a in both]
        for of, first, last in (("", self.before.calibration, self.after.calibration), *named):
            if first is not None and last is not None:
                name = f"calibration error{of}"
                found.append(_row(name, first.expected_calibration_error, last.expected_calibration_error, None))
        return found

    def frame(self, part: Part = "numbers") -> Any:
        """Return one of the tables (pandas, Polars or PyArrow, whichever is in use).

        Parameters
        ----------
        part : {"numbers", "moves", "actions"}, default "numbers"
            AUC, gap and calibration before and after with their limits; whose scores change, by group; who is acted
            on before and after, by group and outcome.
        """
        if check_choice(part, "part", get_args(Part)) == "actions":
            return frame_of([row for action in self.actions for row in action.listed()])
        return frame_of(rows_of(self.rows() if part == "numbers" else self.moves))

    def plot(self, ax: Any = None) -> Any:
        """Draw the gap of every two groups before and after; return the axes.

        {ax}
        """
        return display("draw_effect")(self, ax)

    def __str__(self) -> str:
        weighed = wording.weights_taken(self.before.weights, self.before.ranking.weighted_rows)
        acted = [words.selected(action) for action in self.spoken.actions[1:]]
        notes = [f"note: {text}" for text in self.warnings]
        return "\n".join([*self.sentences, *acted, *filter(None, [weighed]), *notes])

    def __repr__(self) -> str:
        return f"<Effect: {self.sentences[0]}>"

    def _repr_html_(self) -> str:
        told, metric = self.spoken, words.gap_name(self.before.told.top)
        row = next(row for row in self.rows() if row.metric == metric)
        ends = ("before", row.before), ("after", row.after)
        bars = [bar(f"{metric} {when}", gap) for when, gap in ends if gap is not None]
        picture = intervals_svg(bars, "The gap before and after, with its interval")
        tables = html_table(rows_of(told.rows()), "Before and after")
        tables += html_table(rows_of(told.moves), "Whose scores change")
        tables += html_table([row for action in told.actions for row in action.listed()], "Who is acted on")
        return f"<div>{paragraph(*self.sentences)}{picture}{tables}{notes(self.warnings)}</div>"


def _row(metric: str, before: Estimate | None, after: Estimate | None, known: Change | None) -> Row:
    """Give a number before and after, and the change: with its interval where one was computed."""
    if before is None or after is None:
        return Row(metric, before, after, None)
    change, reason = float(after) - float(before), "it was not computed here" if known is None else known.reason
    if known is not None and reason is None and not np.allclose((known.before, known.after), (before, after)):
        reason = "a pair whose gap is clear stands for a larger gap that may be chance, before or after"
    if known is None or reason is not None:
        return Row(metric, before, after, Estimate("change", change, reason=reason))
    return Row(metric, before, after, Estimate("change", change, known.se, known.low, known.high, known.level))


def _seen_alike(before: Ranking, after: Ranking) -> tuple[Estimate | None, Estimate | None]:
    """Give the gap before and after: of the only pair that is compared, seen from the one ranked higher before."""
    if len(before.compared) != 1:
        return before.widest, after.widest
    pair = before.compared[0].ranked
    return pair.signed_gap, after.pair(pair.first, pair.second).signed_gap


@by_name
def effect(
    model: Any,
    scores: Any = None,
    y: Any = None,
    *,
    top: float | None = None,
    top_of: TopOf = "all",
    ties: Ties = "half",
    reference: Hashable | None = None,
    threshold: float | Iterable[float] | None = None,
    bins: int = BINS,
    level: float | None = LEVEL,
    **rows: Unpack[Said],
) -> Effect:
    """Audit rows before and after a repair, and count whose scores change.

    Parameters
    ----------
    model : fitted repair method or FairScoreClassifier, loaded model, or dict of group to ScoreMap
        The repair, whatever rows it was fitted on. What it knows of rows, of the group that pairs are seen
        from and of the top holds here, unless you say otherwise.
    scores : column of shape (n,), ScoreTable, or frame; of a FairScoreClassifier, features
        Scores before the repair, best of rows that the method was not fitted on; or all of the rows,
        as a table, or as a frame whose columns are named.
    {y}
    {said}
    top, top_of : float in (0, 1], int or None, and {"all", "group"}
        Also look at this share, or number, of the rows with the highest scores, of all or of each group.
    ties, reference : {"half", "strict"}, and name of a group or None
        Whether equal scores count as half a win or as none; the group that pairs are seen from.
    threshold : float, list of floats, or None
        Count who is acted on at this score or above (``actions``); else in the top, or the top tenth.
    bins, level : int, and float or None
        Bins of the calibration error; confidence level of the intervals, of which None computes none.

    Examples
    --------
    >>> import fairpot
    >>> y, sex = [1, 0, 1, 0, 1, 0, 1, 0] * 10, (["F"] * 4 + ["M"] * 4) * 10
    >>> score = [0.6, 0.3, 0.5, 0.2, 0.9, 0.4, 0.8, 0.55] * 10
    >>> repair = fairpot.FairPOT().fit(score, y, sensitive_features=sex)
    >>> found = fairpot.effect(repair, score, y, sensitive_features=sex)
    >>> found.before.gap, found.after.gap, [(each.group, each.moved) for each in found.moves]
    (0.25, 0.0, [('F', 20), ('M', 0)])
    """
    looked_at: dict[str, Any] = {"top": top, "top_of": top_of, "ties": ties, "threshold": threshold, "bins": bins}
    looked_at |= {"level": level, "reference": reference}
    from fairpot.repair.fair_maps import fair_maps, table_for  # brings scikit-learn, which an audit does without

    if hasattr(model, "scored"):  # a classifier and its repair in one, whose rows are features
        model, scores, y, rows = model.scored(scores, y, rows)
    known = fair_maps(model)
    table = as_table(y, scores, names=("y", "scores"), **rows) if known is None else table_for(known, scores, y, rows)
    return _effect_of_maps(model, known, table.require("an effect", groups=2), looked_at)


def _effect_of_maps(model: Any, known: FairMaps | None, table: ScoreTable, looked_at: dict[str, Any]) -> Effect:
    """Audit a table before and after maps."""
    if known is None:
        maps, named = _given_maps(model, table), compared(table).groups
        left_out = tuple(g for g in table.groups if g not in named)
    else:
        table, left_out = known.seen(table).meaning(known.high_score_means_), tuple(known.left_out_)
        if looked_at["reference"] is None and known.reference_ in table.groups:
            looked_at["reference"] = known.reference_
        maps = known.maps_on(table)
    kept = table.only([g for g in table.groups if g not in left_out])
    where = known.top_in(kept) if looked_at["top"] is None and known is not None else None
    if looked_at["top"] is not None:
        where = kept.find_top(looked_at["top"], looked_at["top_of"])
    elif where is not None:
        looked_at |= {"top": where.size, "top_of": where.top_of}
    own = {g: m for g, m in maps.items() if g in kept.groups}
    effective = moving(own)
    moved = kept.rescored(effective)
    first = audit_table(kept, **looked_at, everything=table)
    second = audit_table(moved, **looked_at | {"reference": first.reference})
    acted = actions(kept, moved, several(looked_at["threshold"]), where, looked_at["level"])
    changes = None
    if looked_at["level"] is not None:
        changes = change_by_maps(kept, effective, ties=looked_at["ties"], level=looked_at["level"])
    shifts = moves(table, parted(maps)[0])
    calibrated = parted(own)[1] is not None
    reference = None if known is None else known.reference_
    if known is not None:
        scores = [c.score for c in kept.counts if len(c.score)]
        told = known.scale.mismatch_of_range(min(float(s[0]) for s in scores), max(float(s[-1]) for s in scores))
        first = first if told is None else replace(first, notes=(Note("said", said=told), *first.notes))
    odd = tuple(notes_of_effect(first, second, shifts, reference, calibrated))
    checked = None if known is None else _checked(known, table)
    facts = Facts(
        second.told,
        whole=second.ranking if second.tops else None,
        auc=second.auc_half,
        before=first.told,
        repaired=True,
        new_rows=checked is None or not checked.same_rows,
        moved=sum(each.moved for each in shifts),
        left_out=left_out,
        change=None if changes is None or second.tops else changes.gap,
        high_score_means=second.high_score_means,
        lower_is_riskier=second.lower_is_riskier,
        columns=table.group_columns,
    )
    if known is not None and checked is not None:
        facts = _with_target(facts, known, checked, table)
    return Effect(
        before=first,
        after=second,
        changes=changes,
        moves=shifts,
        actions=acted,
        calibrated=calibrated,
        checked=checked,
        facts=facts,
        statements=judge(facts),
        reference=reference,
        left_out=left_out,
        notes=odd,
    )


def _checked(maps: FairMaps, table: ScoreTable) -> Checked:
    """Say whether maps were fitted on these rows, and what was certified of them."""
    certified = maps.certified_
    known = None if certified is None else {**certified, "time": (maps.fitted_on_ or {}).get("time")}
    return Checked(fitted_on(maps, table), table.rows, None if table.units is None else table.units.size, known)


def _with_target(facts: Facts, maps: FairMaps, checked: Checked, table: ScoreTable) -> Facts:
    """Add what was promised of a repair, or asked of it, and the groups it leaves out, whose scores stand beside."""
    certificate, ties = checked.certificate, maps.params_.get("ties", "half")
    own = moving(maps.maps_on(table))
    kept = table.only([g for g in table.groups if g not in maps.left_out_])
    if certificate is None:
        facts = replace(facts, target=maps.params_.get("max_gap"))
        beside = [g for g in maps.left_out_ if g in table.groups and g not in table.unknown]
        if not beside or facts.ranking.top is not None:
            return facts
        everyone = table.only([*kept.groups, *beside])
        how: dict[str, Any] = {"ties": facts.ranking.ties, "level": facts.ranking.level}
        return replace(facts, ranking=rank(everyone.rescored(own), **how), before=rank(everyone, **how))
    facts = replace(facts, target=certificate["bound"], certificate=certificate)
    if checked.same_rows:
        return facts
    level, top = certificate["confidence"], None
    if certificate.get("starts") is None:
        there = kept.rescored(own)
        top = maps.top_in(there)
    elif certificate.get("adjusted"):  # what was promised is about everybody from a score on, not found again here
        there = kept.rescored(own).above({each["group"]: each["value"] for each in certificate["starts"]})
    else:
        assert maps.thresholds_ is not None
        there = kept.above({g: maps.thresholds_[g] for g in kept.groups}).rescored(own)
    ranking = rank(there, ties=ties, level=level, top=top)
    return replace(facts, ranking=ranking, whole=facts.all_rows, before=None, change=None)


def as_certified(found: Effect) -> Effect:
    """Leave the certificate as it is: rows that certified a repair a moment ago cannot judge it."""
    return replace(found, statements=judge(replace(found.facts, new_rows=False)))


def fitted_on(maps: FairMaps, table: ScoreTable) -> bool:
    """Whether maps were fitted on the same rows as a table; of maps from a file, as far as its counts tell."""
    from fairpot.modelfile.content import describes

    own = getattr(maps, "table_", None)
    if own is not None:
        return (own.groups, own.labelled) == (table.groups, table.labelled) and same_rows(own, table)
    return bool(maps.fitted_on_ and describes(maps.fitted_on_, table))


def _given_maps(model: Any, table: ScoreTable) -> dict[Hashable, ScoreMap]:
    if not isinstance(model, Mapping):
        raise TypeError(
            f"effect takes a fitted repair method, a loaded model or a dict of maps, got {type(model).__name__}.\n"
            "Hint: two scores of any other origin are compared by audit(y_true, {'before': ..., 'after': ...}, ...)."
        )
    check_seen(table.groups, tuple(model), table.rows_of)
    return {g: model[g] for g in table.groups}
