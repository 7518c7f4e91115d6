"""Finding: what an audit found, once: which pair, which way, how surely. Trust: what is known of a repair."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import Any, Literal

from fairpot._defaults import Meaning
from fairpot._html import intervals_svg, paragraph
from fairpot._shown import bar
from fairpot.auditing import words
from fairpot.auditing.measures import tops
from fairpot.inference import Estimate
from fairpot.inference.limits import gap_name

# Whether the interval leaves 0 out, holds it, is missing, or there is nothing to measure.
State = Literal["difference", "no clear difference", "no interval", "not measured"]


@dataclass(frozen=True, repr=False)
class Finding:
    """The one finding of an audit; terminal, notebook, JSON and report are views of it.

    Attributes
    ----------
    state : {"difference", "no clear difference", "no interval", "not measured"}
        Whether the interval of the gap leaves 0 out, holds it, is missing, or no gap can be measured.
    pair : (ranked higher, ranked lower) or None
        The two groups with the largest gap, of those with enough rows to carry one.
    gap : Estimate or None
        The largest gap, with its interval: between two groups, or over all pairs.
    xauc : (Estimate, Estimate) or None
        How often someone in the first with the outcome is ranked above someone in the second without it, and the
        reverse.
    alpha, region
        The top of the ranking that the gap is of; None for all rows.
    pairs : int
        How many pairs of groups were compared.
    groups : int
        How many groups.
    small_groups : tuple
        Groups that were too small to be part of it.
    high_score_means : {"help", "harm"} or None
        What a high score does to a person, if that was said.
    lower_is_riskier : bool
        Whether a low score means high risk: ranked higher is then scored lower.
    auc : float or None
        Of all rows; below 0.5 the score should be looked at first.
    columns : tuple of str
        The columns with the group, where they are known: sentences call a group that is a number by its column.
    signed : Estimate or None
        Between two groups, the gap seen from the one ranked higher: its interval reaches below 0 where chance could
        explain the gap. None of many groups, whose largest gap has no sign.

    Examples
    --------
    >>> import fairpot
    >>> y, sex = [1, 0, 1, 0, 1, 0, 1, 0] * 10, (["F"] * 4 + ["M"] * 4) * 10
    >>> scores = [0.6, 0.3, 0.5, 0.2, 0.9, 0.4, 0.8, 0.55] * 10
    >>> found = fairpot.audit(y, scores, sensitive_features=sex, high_score_means="harm").finding
    >>> found.state, found.pair, found.who
    ('difference', ('M', 'F'), 'The score ranks M higher than F, which harms M')
    """

    state: State
    pair: tuple[Hashable, Hashable] | None
    gap: Estimate | None
    xauc: tuple[Estimate, Estimate] | None
    alpha: float | None
    region: str | None
    pairs: int
    groups: int
    small_groups: tuple[Hashable, ...]
    high_score_means: Meaning | None
    lower_is_riskier: bool
    auc: float | None
    columns: tuple[str, ...] = ()
    signed: Estimate | None = None

    @classmethod
    def of(cls, numbers: dict[str, Any], top: dict[str, Any] | None = None) -> Finding:
        """Read the finding off an audit's numbers: of all rows, or of one of its tops."""
        ranking = numbers if top is None else top
        known, _ = words.known_pairs(ranking)
        pair = max(known, key=words.gap_size, default=None)
        gap: Estimate | None = ranking["headline"]["gap"]
        names = shares = signed = None
        if pair is not None:
            first, second = ("first", "second") if pair["signed_gap"] >= 0 else ("second", "first")
            if len(known) == 1 and isinstance(pair["signed_gap"], Estimate):
                signed = pair["signed_gap"] if pair["signed_gap"] >= 0 else pair["signed_gap"].reversed()
            names, shares = (pair[first], pair[second]), (pair[f"xauc_{first}"], pair[f"xauc_{second}"])
        return cls(
            _state(gap),
            names,
            gap,
            shares,
            None if top is None else top["alpha"],
            None if top is None else top["region"],
            len(known),
            len(numbers["groups"]) - len(ranking["headline"]["small_groups"]),
            tuple(ranking["headline"]["small_groups"]),
            numbers["high_score_means"],
            numbers["lower_is_riskier"],
            numbers["auc"],
            signed=signed,
        )

    @property
    def clear(self) -> bool:
        """Whether the rows show a difference: the interval leaves 0 out."""
        return self.state == "difference"

    @property
    def metric(self) -> str:
        """Which gap it is: "overall gap", or "gap in the top 10%"."""
        return gap_name(self.alpha)

    @property
    def ranked_high_means(self) -> Meaning | None:
        """What a high place in the ranking does to a person."""
        if self.high_score_means is None or not self.lower_is_riskier:
            return self.high_score_means
        return "harm" if self.high_score_means == "help" else "help"

    @property
    def who(self) -> str:
        """Who is ranked higher than whom, and whom that benefits or harms; or that there is no clear difference."""
        return words.who(self.spoken)

    @property
    def size(self) -> str:
        """The gap with its interval, and of what it is."""
        return words.size(self.spoken)

    @property
    def headline(self) -> str:
        """The finding in one sentence."""
        return words.headline(self)

    @property
    def meaning(self) -> str:
        """What it means in pairs of 100."""
        return words.meaning(self.spoken)

    @property
    def next(self) -> str:
        """What to do next."""
        return words.next_step(self)

    @property
    def sentences(self) -> list[str]:
        """The finding, what it means, what to do next."""
        return [text for text in (self.headline, self.meaning, self.next) if text]

    @property
    def spoken(self) -> Finding:
        """The same, with the groups called as sentences call them."""
        return self.named(lambda group: words.name_of(group, self.columns)) if self.columns else self

    def named(self, name: Callable[[Any], Any]) -> Finding:
        """Call the groups by other names, for people."""
        pair = None if self.pair is None else (name(self.pair[0]), name(self.pair[1]))
        return replace(self, pair=pair, small_groups=tuple(map(name, self.small_groups)), columns=())

    def __repr__(self) -> str:
        return f"<Finding: {self.headline}>"

    def _repr_html_(self) -> str:
        """Show the finding, and the gap with its interval."""
        picture = "" if self.gap is None else intervals_svg([bar(self.metric, self.gap)], self.headline)
        return f"<div>{paragraph(*self.sentences)}{picture}</div>"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        higher, lower = self.pair or (None, None)
        return {
            "state": self.state,
            "metric": "gap" if self.alpha is None else "partial_gap",
            "alpha": self.alpha,
            "region": self.region,
            "ranked_higher": higher,
            "ranked_lower": lower,
            "gap": None if self.gap is None else self.gap.to_dict(),
            "xauc_higher": None if self.xauc is None else float(self.xauc[0]),
            "xauc_lower": None if self.xauc is None else float(self.xauc[1]),
            "pairs": self.pairs,
            "small_groups": list(self.small_groups),
            "high_score_means": self.high_score_means,
            "headline": self.headline,
            "meaning": self.meaning,
            "next": self.next,
        }


def _state(gap: Estimate | None) -> State:
    if gap is None or gap != gap:
        return "not measured"
    if gap.reason is not None or gap.low != gap.low:
        return "no interval"
    return "difference" if gap.low > 0 else "no clear difference"


def findings(numbers: dict[str, Any], columns: tuple[str, ...] = ()) -> tuple[Finding, ...]:
    """Give the finding of all rows, then that of each top, as an audit's numbers have them."""
    found = (Finding.of(numbers), *(Finding.of(numbers, top) for top in tops(numbers)))
    return tuple(replace(each, columns=columns) for each in found)


def main_finding(numbers: dict[str, Any], columns: tuple[str, ...] = ()) -> Finding:
    """Give the finding that everything speaks of: that of the top, where one was asked for."""
    return findings(numbers, columns)[:2][-1]


@dataclass(frozen=True)
class Trust:
    """What is known of a repair beyond the rows it was fitted on: the badge.

    Attributes
    ----------
    state : {"not checked", "checked", "certified"}
        Measured on the fitted rows alone; measured on others; or certified.
    rows : float
        How many rows these numbers are of.
    clusters : int or None
        How many clusters they are, where rows belong together.
    same_rows : bool
        Whether they are those that the maps were fitted on.
    certificate : dict or None
        What was certified, as :meth:`fairpot.inference.Certificate.to_dict` has it.
    answer : {"compatible", "contradicted", "cannot tell"} or None
        What new rows say of the certificate.
    turned : bool
        Whether low scores mean high risk.
    """

    state: Literal["not checked", "checked", "certified"]
    rows: float
    clusters: int | None
    same_rows: bool
    certificate: dict[str, Any] | None = None
    answer: str | None = None
    turned: bool = False

    @property
    def badge(self) -> str:
        """The badge: a few words."""
        return words.badge(self)

    @property
    def sentence(self) -> str:
        """The badge, and on what it stands."""
        return words.trust(self)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        known = {"state": self.state, "rows": self.rows, "clusters": self.clusters, "same_rows": self.same_rows}
        return {**known, "answer": self.answer, "badge": self.badge, "sentence": self.sentence}
