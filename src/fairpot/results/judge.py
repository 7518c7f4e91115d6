"""What follows from numbers, judged once: which statement comes first, of which pair, with what beside it, what next.

A ranking goes down a list of ranks, and the first that applies is said first: whether it is a score at all, then a
target, then a clear gap, a small one, and last that it cannot be told. Every surface reads the statements that are made
here; none judges for itself.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import Annotated, Any, ClassVar, Literal

from fairpot import words
from fairpot._defaults import MARGIN, SMALL, TRIFLE, Meaning, TopOf
from fairpot.inference import Change, Estimate
from fairpot.results.kinds import Count, Derived, Group, Share, Told
from fairpot.results.ranking import Pair, Ranking, Thin
from fairpot.table import ranked_high_means
from fairpot.words.style import EVEN

# What is said of a ranking. A target is `missed` or `kept` by a repair on new rows, `above` or `within` by scores as
# they came; on the rows of a fit it is `fitted`, `certified`, or `needless` where no score changes.
State = Literal[
    "no outcomes",
    "backwards",
    "chance",
    "few outcomes",
    "not measured",
    "measured",
    "missed",
    "above",
    "kept",
    "within",
    "needless",
    "certified",
    "fitted",
    "unknown",
    "clear",
    "small",
    "too few",
]
# How a state reads, for colours and badges alike.
Tone = Literal["bad", "unsure", "clear", "good"]
TONES: dict[State, Tone] = {
    "backwards": "bad",
    "missed": "bad",
    "above": "bad",
    "clear": "clear",
    "kept": "good",
    "within": "good",
    "certified": "good",
    "small": "good",
}
# Before these are settled, nothing good may be said of a gap, or of a repair.
NO_SCORE: tuple[State, ...] = ("backwards", "chance", "few outcomes")
CaveatKind = Literal["larger", "thin", "untold", "left out", "one outcome", "chance"]


@dataclass(frozen=True)
class Caveat:
    """What may not be parted from a statement: of which groups, and the gap or the few rows that it is about."""

    kind: CaveatKind
    groups: tuple[Group, ...]
    gap: Estimate | None = None
    thin: Thin | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class Statement(Told):
    """One thing that follows from the numbers, with what it stands on and what may not be parted from it.

    Attributes
    ----------
    state : str
        What is said, such as "clear", "small", "too few" or "missed".
    ranked_higher, ranked_lower : names of groups, or None
        The pair that it is about.
    gap, xauc_higher, xauc_lower : Estimate or None
        Its gap, whose limits hold for all pairs at once. How often someone in the first group with the outcome is
        ranked above someone in the second without it; the reverse.
    in_top : (Estimate, Estimate) or None
        Of a top: the share of those with the outcome who are in it, in the first group and in the second.
    at_most : float or None
        No gap is larger than this, at the level of the ranking; None where that cannot be told.
    pairs, clear_pairs : int
        How many gaps were measured, and how many of them are clear.
    target, before : float or None, and Estimate or None
        The gap that was accepted, and the largest gap before a repair that changes a score.
    certificate : dict or None
        What was certified and when, as its document has it; the target is its bound.
    grown : {"", "measured", "shown"}
        Whether a repair made the largest gap larger.
    auc, thinnest : Estimate and Thin, or None
        AUC of all rows; and the smallest of the cells of rows that the statement stands on.
    caveats : tuple of Caveat
        What may not be parted from it.
    """

    derived: ClassVar[Derived] = {"tone": str, "metric": str, "text": str, "meaning": str, "next": str}

    state: State
    ranked_higher: Group | None = None
    ranked_lower: Group | None = None
    gap: Estimate | None = None
    xauc_higher: Estimate | None = None
    xauc_lower: Estimate | None = None
    in_top: Annotated[tuple[Estimate, Estimate] | None, "hidden"] = None
    at_most: float | None = None
    pairs: int = 0
    clear_pairs: int = 0
    target: float | None = None
    before: Estimate | None = None
    grown: Literal["", "measured", "shown"] = ""
    auc: Estimate | None = None
    thinnest: Thin | None = None
    known_groups: tuple[Group, ...] = ()
    caveats: tuple[Caveat, ...] = ()
    top: Share | None = None
    top_of: TopOf | None = None
    level: float | None = None
    repaired: bool = False
    new_rows: bool = False
    certificate: Annotated[Mapping[str, Any] | None, "hidden"] = None
    high_score_means: Meaning | None = None
    lower_is_riskier: bool = False
    columns: Annotated[tuple[str, ...], "hidden"] = ()

    @property
    def pair(self) -> tuple[Hashable, Hashable]:
        """The group ranked higher, and the one ranked lower."""
        return self.ranked_higher, self.ranked_lower

    @property
    def clear(self) -> bool:
        """Whether the rows show a gap that is worth acting on, of a score that ranks the outcome at all."""
        return self.state in ("clear", "missed", "above")

    @property
    def about_score(self) -> bool:
        """Whether it is about the score itself, before any gap."""
        return self.state in NO_SCORE

    @property
    def metric(self) -> str:
        """Which gap it is: "overall gap", or "gap in the top 10%"; of a certificate, the gap that was certified."""
        if self.certificate is not None:
            return words.certified_gap(self.certificate, self.lower_is_riskier)
        return words.gap_name(self.top)

    @property
    def ranked_high_means(self) -> Meaning | None:
        """What a high place in the ranking does to a person."""
        return ranked_high_means(self.high_score_means, self.lower_is_riskier)

    @property
    def sentence(self) -> str:
        """The statement in one sentence."""
        return words.sentence(self.spoken)

    @property
    def meaning(self) -> str:
        """What its gap means: in pairs of 100, and in a top by who is in it."""
        return words.meaning(self.spoken)

    @property
    def tone(self) -> Tone:
        """How it reads: bad, unsure, clear or good."""
        if self.state == "needless":
            return "good" if _is_at_most(self.at_most, self.target or 0.0) else "unsure"
        return TONES.get(self.state, "unsure")

    @property
    def badge(self) -> str:
        """What is known of a repair, in a few words."""
        return words.badge(self)

    @property
    def text(self) -> str:
        """The statement in words, with what may not be parted from it."""
        return words.statement(self.spoken)

    @property
    def next(self) -> str:
        """What to do next."""
        return words.what_next(self.spoken)

    def _columns(self) -> tuple[str, ...]:
        return self.columns

    def __repr__(self) -> str:
        return f"<Statement: {self.text}>"


@dataclass(frozen=True)
class Facts:
    """What is judged: a ranking, of the scores as they are; and what it is compared with.

    ``whole`` is the ranking of all rows, where ``ranking`` is of a top; ``auc`` their AUC, equal scores counted as half
    a win, if the ranking counts them otherwise. ``before`` is the same part of the list before
    a repair that moves ``moved`` rows; ``new_rows`` says that the repair was not fitted on these. ``left_out`` are
    groups that a repair leaves as they are, though they stand in the same list.
    """

    ranking: Ranking
    whole: Ranking | None = None
    auc: Estimate | None = None
    before: Ranking | None = None
    target: float | None = None
    repaired: bool = False
    new_rows: bool = False
    moved: Count = 0
    left_out: tuple[Group, ...] = ()
    change: Change | None = None
    certificate: Mapping[str, Any] | None = None
    high_score_means: Meaning | None = None
    lower_is_riskier: bool = False
    columns: tuple[str, ...] = ()

    @property
    def all_rows(self) -> Ranking:
        """The ranking of all rows."""
        return self.ranking if self.whole is None else self.whole

    @property
    def gaps(self) -> list[Pair]:
        """The pairs that can be measured, each seen from the group ranked higher."""
        return self.ranking.measured

    @property
    def changes(self) -> bool:
        """Whether there is a repair that changes a score."""
        return self.repaired and self.moved > 0


def judge(facts: Facts, *others: Facts) -> tuple[Statement, ...]:
    """Say what follows from a ranking, and then from others of the same rows, the most important first.

    Examples
    --------
    >>> import numpy as np
    >>> from fairpot import score_table
    >>> from fairpot.results import rank
    >>> from fairpot.results.judge import Facts, judge
    >>> rng = np.random.default_rng(0)
    >>> y, sex = rng.integers(0, 2, 4000), rng.choice(["F", "M"], 4000)
    >>> found = rank(score_table(y, rng.normal(y + 0.5 * (sex == "M")), sensitive_features=sex))
    >>> judge(Facts(found))[0].state, judge(Facts(found, target=0.5))[0].state
    ('clear', 'within')
    """
    if not facts.ranking.labelled:
        return (_made(facts, "no outcomes"),)
    return (*_of_score(facts), *(_of_gap(each) for each in (facts, *others)))


def _made(facts: Facts, state: State, pair: Pair | None = None, **more: object) -> Statement:
    """Put a statement together from what is the same in all."""
    gaps, ranking = facts.gaps, facts.ranking
    told = Statement(
        state=state,
        ranked_higher=None if pair is None else pair.first,
        ranked_lower=None if pair is None else pair.second,
        gap=None if pair is None else pair.signed_gap,
        xauc_higher=None if pair is None else pair.xauc_first,
        xauc_lower=None if pair is None else pair.xauc_second,
        in_top=None if pair is None else _in_top(ranking, pair),
        at_most=_at_most(gaps),
        pairs=len(gaps),
        clear_pairs=sum(pair.clear for pair in gaps),
        auc=facts.auc or facts.all_rows.auc,
        top=ranking.top,
        top_of=ranking.top_of,
        level=ranking.level,
        target=facts.target,
        before=_before(facts),
        grown=_grown(facts),
        repaired=facts.changes,
        new_rows=facts.new_rows,
        certificate=facts.certificate,
        high_score_means=facts.high_score_means,
        lower_is_riskier=facts.lower_is_riskier,
        columns=facts.columns,
    )
    return replace(told, **more)  # type: ignore[arg-type]


def _in_top(ranking: Ranking, pair: Pair) -> tuple[Estimate, Estimate] | None:
    first, second = (ranking.group(name).recall for name in (pair.first, pair.second))
    return None if first is None or second is None else (first, second)


def _of_score(facts: Facts) -> list[Statement]:
    """Say that a score is turned round, or no better than chance; the AUC inside a top is no test of that."""
    whole = facts.all_rows
    auc = facts.auc or whole.auc
    if auc is None or auc.low != auc.low:
        return []
    if auc.high < 0.5:
        return [_made(facts, "backwards")]
    if auc.low > 0.5:
        return []
    few = _fewest_outcomes(whole)
    return [_made(facts, "chance" if few.worth >= SMALL else "few outcomes", thinnest=few)]


def _fewest_outcomes(whole: Ranking) -> Thin:
    """Give the smaller of the two outcomes over all groups, as many independent rows as they are."""
    cells = [cell for group in whole.groups for cell in group.cells]
    sides = [[cell for cell in cells if cell.outcome is outcome] for outcome in (True, False)]
    sums = [
        replace(side[0], group=None, rows=sum(c.rows for c in side), worth=sum(c.worth for c in side)) for side in sides
    ]
    return min(sums, key=lambda each: each.worth)


def _of_gap(facts: Facts) -> Statement:
    """Say what follows for the gap."""
    gaps = facts.gaps
    if not gaps:
        said = _made(facts, "not measured")
    elif facts.ranking.level is None:
        said = _made(facts, "measured", _largest(gaps))
    else:
        said = _without_target(facts) if facts.target is None else _with_target(facts, facts.target)
    return replace(said, caveats=tuple(_caveats(facts, said)))


def _largest(pairs: Iterable[Pair]) -> Pair:
    return max(pairs, key=lambda pair: pair.size)


def _thinnest(pairs: Iterable[Pair]) -> Thin | None:
    cells = [pair.thinnest for pair in pairs if pair.thinnest is not None]
    return min(cells, key=lambda cell: cell.worth, default=None)


def _at_most(pairs: Iterable[Pair]) -> float | None:
    """Bound every gap: each pair has to be below it, so that the limit of each by itself is enough."""
    limits = [pair.at_most if pair.carried and pair.at_most is not None else inf for pair in pairs]
    return max(limits) if limits and max(limits) < 1 else None


def _is_at_most(bound: float | None, limit: float) -> bool:
    return bound is not None and bound <= limit


def _without_target(facts: Facts) -> Statement:
    """A clear gap; else how small every gap is for certain; else that it cannot be told."""
    gaps = facts.gaps
    bound, leading = _at_most(gaps), facts.ranking.leading
    if leading is not None and leading.clear and not _is_at_most(bound, TRIFLE):
        return _made(facts, "clear", leading)
    if _is_at_most(bound, MARGIN):
        return _made(facts, "small", leading)
    large = [pair for pair in gaps if pair.has_limits and pair.thinnest is not None and pair.thinnest.worth >= SMALL]
    if large and len(large) < len(gaps) and _is_at_most(_at_most(large), MARGIN):  # of the large groups it can be told
        among = dict.fromkeys(group for pair in large for group in (pair.first, pair.second))
        return _made(facts, "too few", _largest(large), known_groups=tuple(among), at_most=_at_most(large))
    thin = _thinnest(gaps)
    few = thin is not None and thin.worth < SMALL
    about = next(pair for pair in gaps if pair.thinnest == thin) if few else _largest(gaps)
    return _made(facts, "too few", about, thinnest=thin if few else None)


def _with_target(facts: Facts, target: float) -> Statement:
    """Say whether every gap keeps the target, those of groups left out too; about the pair that decides it."""
    gaps, bound = facts.gaps, _at_most(facts.gaps)
    shown = [pair for pair in gaps if pair.carried and (pair.at_least or 0.0) > target]
    limited = [pair for pair in gaps if pair.has_limits]
    largest = _largest(limited or gaps)
    thin = _thinnest(gaps)
    beside = {"thinnest": thin if thin is not None and thin.worth < SMALL else None}
    within = largest.size <= target + EVEN
    fitted = facts.repaired and not facts.new_rows
    promised = facts.changes or facts.certificate is not None
    if fitted and facts.certificate is not None:
        return _made(facts, "certified", largest, **beside)
    if shown:
        worst = max(shown, key=lambda pair: pair.at_least or 0.0)
        return _made(facts, "missed" if promised else "above", worst, **beside)
    if fitted and within:
        return _made(facts, "fitted" if facts.changes else "needless", largest, **beside)
    if _is_at_most(bound, target):
        return _made(facts, "kept" if promised else "within", largest, **beside)
    return _made(facts, "unknown", largest, **beside)


def _before(facts: Facts) -> Estimate | None:
    """Give the largest gap before a repair, seen from the group ranked higher then."""
    if facts.before is None or not facts.changes:
        return None
    gaps = facts.before.measured
    limited = [pair for pair in gaps if pair.has_limits]
    return _largest(limited or gaps).signed_gap if gaps else None


def _grown(facts: Facts) -> Literal["", "measured", "shown"]:
    """Say whether the largest gap is larger than before: worse as measured is not worse for certain."""
    before = _before(facts)
    limited = [pair for pair in facts.gaps if pair.has_limits] or facts.gaps
    if before is None or not limited or _largest(limited).size <= float(before) + EVEN:
        return ""
    return "shown" if facts.change is not None and facts.change.low > 0 else "measured"


def _untold(facts: Facts) -> list[Hashable]:
    """Name the groups of which it cannot be told: no gap of theirs is clear, nor is any small for certain."""
    edge = MARGIN if facts.target is None else facts.target
    told: dict[Hashable, bool] = {}
    for pair in facts.gaps:
        known = pair.carried and (pair.clear or _is_at_most(pair.at_most, edge))
        for group in (pair.first, pair.second):
            told[group] = told.get(group, False) or known
    return [group for group, known in told.items() if not known]


def _caveats(facts: Facts, said: Statement) -> Iterable[Caveat]:
    """List what may not be parted from a statement."""
    gaps, pair = facts.gaps, set(said.pair) - {None}
    of_a_gap = said.state in ("clear", "missed", "above")
    if of_a_gap:
        largest = _largest([pair for pair in gaps if pair.carried] or gaps)
        if {largest.first, largest.second} != pair and largest.size > (0.0 if said.gap is None else float(said.gap)):
            few = largest.thinnest if largest.thinnest is not None and largest.thinnest.worth < SMALL else None
            yield Caveat("larger", (largest.first, largest.second), largest.signed_gap, few)
        about = next((p for p in gaps if {p.first, p.second} == pair), None)
        if about is not None and about.thinnest is not None and about.thinnest.worth < SMALL:
            yield Caveat("thin", (about.thinnest.group,), thin=about.thinnest)
    untold = [] if len(gaps) < 2 else _untold(facts)
    if untold and (of_a_gap or said.known_groups):
        yield Caveat("untold", tuple(untold))
    gone = tuple(group for group in facts.left_out if group in pair)
    if gone:
        yield Caveat("left out", gone)
    lacking = tuple(g.group for g in facts.ranking.groups if not (g.positives and g.negatives))
    if lacking:
        yield Caveat("one outcome", lacking)
    if said.top is None and said.state not in NO_SCORE:
        weak = [
            g.group
            for g in facts.ranking.groups
            if g.auc is not None and not (g.auc.low > 0.5 or g.auc.low != g.auc.low)
        ]
        if weak and not _of_score(facts):
            yield Caveat("chance", tuple(weak))
