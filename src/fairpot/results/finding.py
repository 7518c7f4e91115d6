"""Finding: what an audit found, once: which pair, which way, how surely. Trust: what is known of a repair."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from fairpot import words
from fairpot._defaults import Meaning, TopOf
from fairpot.inference import Estimate
from fairpot.results.kinds import Count, Derived, Group, Share, Told
from fairpot.results.ranking import Ranking, State
from fairpot.table import ScoreTable, ranked_high_means


@dataclass(frozen=True, repr=False)
class Finding(Told):
    """The one finding of an audit; terminal, notebook, JSON and report are views of it.

    Attributes
    ----------
    state : {"difference", "no clear difference", "no interval", "not measured"}
        Whether the interval of the gap leaves 0 out, holds it, is missing, or no gap can be measured.
    ranked_higher, ranked_lower : names of groups, or None
        The two groups with the largest gap, of those that are not too small; where that gap may be chance and others
        are not, the largest of these.
    gap, xauc_higher, xauc_lower : Estimate or None
        Their gap, seen from the group ranked higher: the lower limit is below 0 where chance could explain it. How
        often someone in the first with the outcome is ranked above someone in the second without it; the reverse.
    found : (Estimate, Estimate) or None
        In a top: the share of those with the outcome who are in it, in the first group and in the second.
    top, top_of
        The top of the ranking that the gap is of; None for all rows.
    auc : Estimate or None
        Of all rows; below 0.5 the score should be looked at first.

    Examples
    --------
    >>> import fairpot
    >>> y, sex = [1, 0, 1, 0, 1, 0, 1, 0] * 10, (["F"] * 4 + ["M"] * 4) * 10
    >>> scores = [0.6, 0.3, 0.5, 0.2, 0.9, 0.4, 0.8, 0.55] * 10
    >>> found = fairpot.audit(y, scores, sensitive_features=sex, high_score_means="harm").finding
    >>> found.state, found.pair, found.who
    ('difference', ('M', 'F'), 'The score ranks M higher than F, which harms M')
    """

    derived: ClassVar[Derived] = {"headline": str, "meaning": str, "next": str, "metric": str}

    state: State
    ranked_higher: Group | None
    ranked_lower: Group | None
    gap: Estimate | None
    xauc_higher: Estimate | None
    xauc_lower: Estimate | None
    found: Annotated[tuple[Estimate, Estimate] | None, "hidden"]
    top: Share | None
    top_of: TopOf | None
    pairs: int
    groups: int
    small_groups: tuple[Group, ...]
    high_score_means: Meaning | None
    lower_is_riskier: bool
    auc: Estimate | None
    columns: Annotated[tuple[str, ...], "hidden"] = ()
    largest: Annotated[bool, "hidden"] = True

    @classmethod
    def of(cls, ranking: Ranking, table: ScoreTable, auc: Estimate | None) -> Finding:
        """Read the finding off a ranking; ``auc`` is that of all rows."""
        told, top, small = ranking.told, ranking.top, ranking.small_groups
        found = None
        if told is not None and top is not None:
            both = [ranking.group(g).recall for g in (told.first, told.second)]
            found = None if both[0] is None or both[1] is None else (both[0], both[1])
        of_pair = ("first", "second", "signed_gap", "xauc_first", "xauc_second")
        higher, lower, gap, there, back = (getattr(told, each, None) for each in of_pair)
        pair = higher, lower, gap, there, back
        where = ranking.top, ranking.top_of
        sizes = len(ranking.compared), len(ranking.groups) - len(small)
        means = table.high_score_means, table.lower_is_riskier
        largest = told is None or all(each.size <= told.size for each in ranking.compared)
        return cls(ranking.state, *pair, found, *where, *sizes, small, *means, auc, table.group_columns, largest)

    @property
    def pair(self) -> tuple[Hashable, Hashable]:
        """The group ranked higher, and the one ranked lower."""
        return self.ranked_higher, self.ranked_lower

    @property
    def clear(self) -> bool:
        """Whether the rows show a difference: the interval leaves 0 out."""
        return self.state == "difference"

    @property
    def metric(self) -> str:
        """Which gap it is: "overall gap", or "gap in the top 10%"."""
        return words.gap_name(self.top)

    @property
    def ranked_high_means(self) -> Meaning | None:
        """What a high place in the ranking does to a person."""
        return ranked_high_means(self.high_score_means, self.lower_is_riskier)

    @property
    def who(self) -> str:
        """Who is ranked higher than whom, and whom that benefits or harms; or that there is no clear difference."""
        return words.who(self.spoken)

    @property
    def headline(self) -> str:
        """The finding in one sentence."""
        return words.headline(self.spoken)

    @property
    def meaning(self) -> str:
        """What it means: in pairs of 100, and in a top by who is in it."""
        return words.meaning(self.spoken)

    @property
    def next(self) -> str:
        """What to do next."""
        return words.next_step(self)

    def _columns(self) -> tuple[str, ...]:
        return self.columns

    def __repr__(self) -> str:
        return f"<Finding: {self.headline}>"


@dataclass(frozen=True)
class Trust(Told):
    """What is known of a repair beyond the rows it was fitted on: the badge.

    Attributes
    ----------
    state : {"not checked", "checked", "certified"}
        Measured on the fitted rows alone; measured on others; or certified.
    rows, clusters, same_rows
        How many rows, and clusters, these numbers are of; and whether the maps were fitted on them.
    certificate : dict or None
        What was certified and when, as its document has it.
    answer : {"compatible", "contradicted", "cannot tell"} or None
        What new rows say of the certificate; None on the rows that the maps were fitted on, which cannot test it.
    gap : Estimate or None
        The gap of the certificate on these rows, at its confidence.

    Examples
    --------
    >>> import fairpot
    >>> y, sex = [1, 0, 1, 0, 1, 0, 1, 0] * 10, (["F"] * 4 + ["M"] * 4) * 10
    >>> scores = [0.6, 0.3, 0.5, 0.2, 0.9, 0.4, 0.8, 0.55] * 10
    >>> repair = fairpot.FairPOT().fit(scores, y, sensitive_features=sex)
    >>> fairpot.effect(repair, scores, y, sensitive_features=sex).trust.badge
    'not yet checked on new rows'
    """

    derived: ClassVar[Derived] = {"badge": str, "sentence": str}

    state: Literal["not checked", "checked", "certified"]
    rows: Count
    clusters: int | None
    same_rows: bool
    certificate: Mapping[str, Any] | None = None
    answer: Literal["compatible", "contradicted", "cannot tell"] | None = None
    gap: Estimate | None = None
    lower_is_riskier: bool = False

    @property
    def badge(self) -> str:
        """The badge: a few words."""
        return words.badge(self)

    @property
    def sentence(self) -> str:
        """The badge, and on what it stands."""
        return words.trust(self)
