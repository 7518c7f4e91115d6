"""Audit: the numbers of a score table, with tables, text and a notebook view."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, get_args, overload

import numpy as np

from fairpot._arguments import argument, by_name
from fairpot._defaults import LEVEL, Meaning, Region, Ties, Weights
from fairpot._html import html_table, intervals_svg, notes, paragraph
from fairpot._shown import Bar, ShownBars, bar, display, ends_of, frame_of
from fairpot._validation import check_choice, wording
from fairpot.auditing import words
from fairpot.auditing.calibration import BINS
from fairpot.auditing.finding import Finding, findings, main_finding
from fairpot.auditing.measures import (
    MOST_GROUPS,
    Measured,
    intervals_to_dict,
    measure,
    plain,
    tops,
    with_limits,
)
from fairpot.auditing.queue import lanes, lanes_html
from fairpot.auditing.words import gap_size, known_pairs, rate_lines, widest_pair, with_interval
from fairpot.counting import as_table
from fairpot.inference import Changes, Estimate, Overview, Verdict, verdict
from fairpot.inference.change import change_of_columns
from fairpot.repair.groups import kept_groups
from fairpot.repair.notices import warn_of_table
from fairpot.table import ScoreTable

if TYPE_CHECKING:
    from fairpot.auditing.effect import Effect


def audit_html(audit: Audit) -> str:
    """Show an audit: the finding, pictures of the gaps and of the list, then tables with intervals."""
    head = paragraph(*audit.finding.sentences)
    parts: dict[Part, str] = {
        "pairs": "Pairs of groups, the one ranked higher first",
        "groups": "Groups",
        "top": "Top of the ranking",
    }
    tables = "".join(html_table(_for_people(audit, part), title) for part, title in parts.items())
    said = filter(None, [audit._weighed()])
    picture = intervals_svg(audit._ranked_pairs(), "Gaps between groups, with their intervals") + _list_of(audit)
    rates = html_table(audit._named(audit.rows("rates")), "Flagged")
    return f"<div>{head}{picture}{tables}{rates}{notes([*said, *audit.warnings])}</div>"


def _for_people(audit: Audit, part: Part) -> list[dict[str, Any]]:
    """Give a table as people read it: pairs from the group ranked higher, and not what only a frame has room for."""
    if part == "pairs":
        pairs = [_ranked_pair(pair) for pair in audit._named(audit.summary["gaps"]) if pair["signed_gap"] is not None]
        return [with_limits(pair) for pair in sorted(pairs, key=lambda pair: -pair["gap"])]
    left_out = ("bpsn_", "bnsp_")
    rows = audit._named(audit.rows(part))
    return [{name: value for name, value in row.items() if not name.startswith(left_out)} for row in rows]


def _list_of(audit: Audit) -> str:
    """Draw where the groups stand in the list."""
    found = lanes(audit.table, {}, audit.finding.pair)
    rates = audit.summary["rates"]
    share = rates[-1]["all"]["share"] if rates else None
    where = "" if share is None else f"{'flagged' if rates[-1]['at'] == 'score' else 'the top'}, {share:.0%} of rows"
    return lanes_html(found, len(audit.table.groups), None if share is None else (share, share), where, False)


def effect_html(effect: Effect) -> str:
    """Show a repair: what it does, pictures of the gap and of the list before and after, then tables with intervals."""
    head = paragraph(*effect.sentences)
    ends = [("before", effect.finding.gap), ("after", effect.finding_after.gap)]
    bars = [bar(f"{effect.finding.metric} {when}", gap) for when, gap in ends if gap is not None]
    picture = intervals_svg(bars, "The gap before and after, with its interval")
    if effect.lanes and effect.actions:
        action = effect.actions[0]
        where = f"acted on {words.where(action)}"
        picture += lanes_html(effect.lanes, len(effect.moves), action.shares, where, True)
    effect = effect._spoken
    signed = effect.signed_gap() is not None
    rows = [row for row in effect.rows() if not (signed and row["metric"] == "gap")]
    rows = [{**row, "metric": _metric(effect, row)} for row in rows]
    tables = html_table(rows, "Before and after") + html_table(effect.moves, "Whose scores change")
    acted = html_table([row for action in effect.actions for row in action.rows()], "Who is acted on")
    return f"<div>{head}{picture}{tables}{acted}{notes(effect.warnings)}</div>"


def _metric(effect: Effect, row: dict[str, Any]) -> str:
    """Name a number of a repair; of a signed gap, with the groups it is between."""
    if row["metric"] != "signed_gap" or effect.finding.pair is None:
        return str(row["metric"])
    higher, lower = effect.finding.pair
    return f"gap, {higher} over {lower}"


Part = Literal["groups", "pairs", "calibration", "rates", "top"]
# Which gaps a gate guards.
Guards = Literal["overall", "top", "both"]
GUARDS = ("overall", "top", "both")


def strictest(found: list[Verdict]) -> Verdict:
    """Choose the verdict that a gate goes by: one that exceeds, else one that cannot be told, else the largest gap."""
    order = ("within", "cannot tell", "exceeds")
    return max(found, key=lambda each: (order.index(each.answer), np.nan_to_num(each.interval.value)))


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
    high_score_means: Meaning | None


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
    high_score_means: Meaning | None = None,
) -> Audit | Audits:
    """Measure how fairly scores rank: AUC in each group, xAUC between groups, their gap, calibration.

    Parameters
    ----------
    y_true : column of shape (n,), or ScoreTable
        Outcomes, 0/1. A :class:`ScoreTable` (of :func:`fairpot.score_table`, from rows, frames or files) stands for
        all rows.
    y_score : column of shape (n,), or dict of names to such columns
        Scores of any model, on any scale; higher means more likely. A dict holds the scores of several models for the
        same rows: each is audited and compared with the first.
    sensitive_features : column of shape (n,), or frame with several columns
        Group of each row; several columns form intersections.
    sample_weight : column of shape (n,), default None
        Weights; ``weights`` says what they mean.
    pos_label : default None
        The positive value where ``y_true`` is not 0/1.
    alpha : float in (0, 1], list of them, or None, default None
        Also rank among the rows with the highest scores alone, this share of them. With a list, ``summary["partial"]``
        is a list, one entry for each.
    region : {"pooled", "group"}, default "pooled"
        Whether that is the top alpha of all rows or of each group.
    ties : {"half", "strict"}, default "half"
        Whether equal scores count as half a win or as none.
    reference : name of a group or None, default None
        The group that signed gaps are seen from; None takes the one that a repair would not change: ranked highest,
        or, where a high score harms, ranked lowest.
    threshold : float, list of floats, or None, default None
        Also count who is flagged at this score or above, with TPR, FPR and PPV by group: ``frame("rates")``.
    min_group : int, default 0
        Leave groups with fewer rows out of the comparison; ``left_out`` names them.
    groups : list of group names or None, default None
        Look at these only.
    bins : int, default 10
        Bins of the expected calibration error, of equal width on [0, 1].
    level : float or None, default 0.95
        Confidence level of the intervals, in ``intervals``; None computes none.
    clusters : column of shape (n,), default None
        What rows have in common that are not independent of each other, such as the patient of each visit.
    weights : {"frequency", "importance"} or None, default None
        What ``sample_weight`` means for the intervals: a number of rows, or how much a row counts. None takes whole
        numbers for the first and others for the second.
    high_score_means : {"help", "harm"} or None, default None
        What a high score does to the person who has it: "help" (offered screening, a place, a loan) or "harm" (denied,
        detained, flagged). Sentences then say whom a difference benefits or harms. A table may say it as well.

    Returns
    -------
    Audit
        ``finding`` is the answer; numbers are attributes; ``print`` it, ``.frame()`` it, or let a notebook show it.
        What is odd about the data (small groups, reversed scores, ties that matter) is in ``warnings``. Of a dict, an
        :class:`Audits`.

    Examples
    --------
    >>> import fairpot
    >>> y, sex = [1, 0, 1, 0, 1, 0, 1, 0], ["F"] * 4 + ["M"] * 4
    >>> score = [0.6, 0.3, 0.5, 0.2, 0.9, 0.4, 0.8, 0.55]
    >>> found = fairpot.audit(y, score, sensitive_features=sex)
    >>> found.auc, found.gap, found.reference
    (0.9375, 0.25, 'M')
    """
    if isinstance(y_score, Mapping):
        rows = {"sensitive_features": sensitive_features, "sample_weight": sample_weight, "clusters": clusters}
        meant: dict[str, Any] = {"weights": weights, "pos_label": pos_label, "ties": ties, "level": level}
        meant["high_score_means"] = high_score_means
        looked_at = {"alpha": alpha, "region": region, "reference": reference, "threshold": threshold, "bins": bins}
        return _audit_models(y_true, y_score, rows | meant, {**looked_at, "min_group": min_group, "groups": groups})
    everything = as_table(
        y_true,
        y_score,
        sensitive_features=sensitive_features,
        sample_weight=sample_weight,
        clusters=clusters,
        weights=weights,
        pos_label=pos_label,
        high_score_means=high_score_means,
    ).require("an audit", groups=2)
    table = kept_groups(everything, min_group, groups)
    ranking = {"alpha": alpha, "region": region, "ties": ties, "reference": reference}
    found = measure(table, level, **ranking, threshold=threshold, bins=bins)
    warn_of_table(table, tuple(g for g in everything.groups if g not in table.groups), everything, min_group)
    left_out = {g: everything[g].weight.sum().item() for g in everything.groups if g not in table.groups}
    return Audit(found, table, left_out)


def _audit_models(y_true: Any, models: Mapping[str, Any], rows: dict[str, Any], looked_at: dict[str, Any]) -> Audits:
    """Audit several models' scores of the same rows, and compare each with the first."""
    if not models:
        raise ValueError("y_score is an empty dict.\nHint: audit(y_true, {'old': scores, 'new': other_scores}, ...).")
    found: dict[str, Audit] = {}
    for name, scores in models.items():
        try:
            found[str(name)] = audit(y_true, scores, **rows, **looked_at)
        except (TypeError, ValueError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"the scores of {name!r}: {error}") from error
        looked_at["reference"] = found[str(name)].reference  # signed gaps of all are seen from the same group
    kept = next(iter(found.values())).table.groups
    if rows["level"] is None or len(kept) > MOST_GROUPS or len(found) < 2:
        return Audits(found, {})
    asked = {name: value for name, value in rows.items() if name != "high_score_means"}
    return Audits(found, change_of_columns(y_true, dict(zip(found, models.values())), groups=kept, **asked))


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
        more = f", and {len(shown) - 3} more" if len(shown) > 3 else ""
        return f"<Audits of {len(self)} models: {', '.join(shown[:3])}{more}>"

    def __getitem__(self, name: str) -> Audit:
        return self.audits[name]

    def __len__(self) -> int:
        return len(self.audits)

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each model: AUC and gap with their limits, and how they differ from the first model's.

        Returns
        -------
        list of dict

        Examples
        --------
        >>> import fairpot
        >>> y, sex = [1, 0, 1, 0, 1, 0, 1, 0] * 10, (["F"] * 4 + ["M"] * 4) * 10
        >>> old, new = [0.6, 0.3, 0.5, 0.2, 0.9, 0.4, 0.8, 0.55] * 10, [0.6, 0.3, 0.5, 0.2, 0.6, 0.3, 0.5, 0.2] * 10
        >>> found = fairpot.audit(y, {"old": old, "new": new}, sensitive_features=sex)
        >>> [row["model"] for row in found.rows()]
        ['old', 'new']
        """
        found = []
        for name, each in self.audits.items():
            row: dict[str, Any] = {"model": name}
            for metric, value in (("auc", each.auc), ("gap", each.gap)):
                row |= ends_of(metric, value)
            for metric in ("auc", "gap"):
                row |= ends_of(f"{metric}_change", getattr(self.changes.get(name), metric, None))
            found.append(row)
        return found

    def _listed(self) -> list[dict[str, Any]]:
        return self.rows()

    def _bars(self) -> list[Bar]:
        """Draw the gap of each model, then the difference from the first."""
        first = next(iter(self.audits))
        gaps = [bar(f"{name}: {each.finding.metric}", each.finding.gap) for name, each in self.audits.items()]
        changes = [bar(f"{name} minus {first}: AUC", change.auc) for name, change in self.changes.items()]
        return [*gaps, *changes]

    def _says(self) -> list[str]:
        warned = [f"{name}: {text}" for name, each in self.audits.items() for text in each.warnings]
        found = [f"{name}: {each.finding.headline}" for name, each in self.audits.items()]
        return [f"{len(self)} models on the same rows, with intervals", *found, *warned]

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers as plain values, ready for JSON.

        Examples
        --------
        >>> import fairpot
        >>> y, sex = [1, 0, 1, 0, 1, 0, 1, 0] * 10, (["F"] * 4 + ["M"] * 4) * 10
        >>> old, new = [0.6, 0.3, 0.5, 0.2, 0.9, 0.4, 0.8, 0.55] * 10, [0.6, 0.3, 0.5, 0.2, 0.6, 0.3, 0.5, 0.2] * 10
        >>> found = fairpot.audit(y, {"old": old, "new": new}, sensitive_features=sex)
        >>> "new" in str(found.to_dict())
        True
        """
        changes = {name: change.to_dict() for name, change in self.changes.items()}
        return {"models": {name: {**a.to_dict(), "change": changes.get(name)} for name, a in self.audits.items()}}

    def __str__(self) -> str:
        lines = [f"{name}: AUC {each.auc!s}, xAUC gap {each.gap!s}" for name, each in self.audits.items()]
        first = next(iter(self.audits))
        for name, change in self.changes.items():
            lines += [f"{first} -> {name}: AUC {change.auc}", f"{first} -> {name}: xAUC gap {change.gap}"]
        warned = [f"warning: {name}: {text}" for name, each in self.audits.items() for text in each.warnings]
        return "\n".join([*lines, *warned])


def _ranked_pair(pair: dict[str, Any]) -> dict[str, Any]:
    """See a pair from the group that is ranked higher: its gap is then above 0, though its interval may reach below."""
    gap: Estimate = pair["signed_gap"]
    first, second = ("first", "second") if gap >= 0 else ("second", "first")
    turned = gap if gap >= 0 else gap.reversed()
    names = {"ranked_higher": pair[first], "ranked_lower": pair[second]}
    return names | {"gap": turned, "xauc": pair[f"xauc_{first}"], "reverse": pair[f"xauc_{second}"]}


def _pair_row(pair: dict[str, Any]) -> dict[str, Any]:
    """Give both xAUCs, the signed gap and its size, each with its limits."""
    gap, low, high = (pair[name] for name in ("signed_gap", "signed_low", "signed_high"))
    row = with_limits({name: value for name, value in pair.items() if name != "signed_gap"})
    row |= {"signed_gap": gap, "gap": None if gap is None else abs(gap)}
    known = low is not None and high is not None
    return row | {"gap_low": max(low, -high, 0.0) if known else None, "gap_high": max(-low, high) if known else None}


@dataclass(frozen=True, eq=False, repr=False)
class Audit:
    """Hold what :func:`audit` found.

    Attributes
    ----------
    summary : dict
        All numbers, each an :class:`~fairpot.inference.Estimate` that knows its interval or why it has none.
    table : ScoreTable
        What they were counted from.
    left_out : dict of group to rows
        Groups that were left out of the comparison.
    intervals : Overview or None
        AUC, gap, every xAUC and signed gap and the groups' own AUCs over all rows, each with its interval.

    Examples
    --------
    >>> from fairpot import audit
    >>> from fairpot.datasets import make_synthetic
    >>> data = make_synthetic(1000, random_state=0, as_frame=False)
    >>> score, y, group = data.probability, data.target, data.group
    >>> found = audit(y, score, sensitive_features=group)
    >>> round(found.gap, 3), found.reference
    (0.275, 'a')
    >>> round(found.gap.low, 3), round(found.gap.high, 3)
    (0.197, 0.362)
    >>> found.verdict(0.05).answer
    'exceeds'
    """

    measured: Measured = field(repr=False)
    table: ScoreTable = field(repr=False)
    left_out: dict[Hashable, float] = field(default_factory=dict)

    @property
    def summary(self) -> dict[str, Any]:
        """All numbers, each with its interval."""
        return self.measured.numbers

    @property
    def intervals(self) -> Overview | None:
        """The intervals over all rows; None where none were computed."""
        return self.measured.whole

    def verdict(self, bound: float, *, level: float = LEVEL, guards: Guards | None = None) -> Verdict:
        """Say whether the gap is within a bound, exceeds it, or whether the rows cannot tell.

        Parameters
        ----------
        bound : float in [0, 1]
            The target gap: the largest that you accept.
        level : float, default 0.95
            "within" and "exceeds" are each wrong at most ``1 - level`` of the time.
        guards : {"overall", "top", "both"} or None, default None
            Which gap is judged: over all rows, in the top, or both. None takes both, where there is an ``alpha``.

        Returns
        -------
        Verdict
            The strictest of :meth:`verdicts`; its ``metric`` names the gap that it is of.

        Examples
        --------
        >>> from fairpot import audit
        >>> from fairpot.datasets import make_synthetic
        >>> data = make_synthetic(1000, random_state=0, as_frame=False)
        >>> score, y, group = data.probability, data.target, data.group
        >>> found = audit(y, score, sensitive_features=group)
        >>> found.verdict(0.05).answer
        'exceeds'
        """
        return strictest(self.verdicts(bound, level=level, guards=guards))

    def verdicts(self, bound: float, *, level: float = LEVEL, guards: Guards | None = None) -> list[Verdict]:
        """Judge every gap that is guarded: over all rows, in the top, or in each.

        Parameters
        ----------
        bound : float in [0, 1]
            The target gap: the largest that you accept.
        level : float, default 0.95
            "within" and "exceeds" are each wrong at most ``1 - level`` of the time.
        guards : {"overall", "top", "both"} or None, default None
            Which gap is judged: over all rows, in the top, or both. None takes both, where there is an ``alpha``.

        Returns
        -------
        list of Verdict

        Examples
        --------
        >>> from fairpot import audit
        >>> from fairpot.datasets import make_synthetic
        >>> data = make_synthetic(1000, random_state=0, as_frame=False)
        >>> score, y, group = data.probability, data.target, data.group
        >>> found = audit(y, score, sensitive_features=group, alpha=0.2)
        >>> [each.answer for each in found.verdicts(0.05)]
        ['exceeds', 'exceeds']
        """
        found_in = tops(self.summary)
        given = {"bound": bound, "ties": self.summary["ties"], "level": level}
        wanted = check_choice("both" if guards is None else guards, "guards", GUARDS)
        if wanted == "top" and not found_in:
            raise ValueError(f"guards='top' needs the top to look at.\nHint: {argument('alpha', 0.1)} in the audit.")
        found = [] if wanted == "top" else [verdict(self.table, **given)]
        inside = [] if wanted == "overall" else found_in
        return found + [verdict(self.table, alpha=top["alpha"], region=top["region"], **given) for top in inside]

    @property
    def auc(self) -> Estimate | None:
        """AUC of all rows."""
        return self.summary["auc"]

    @property
    def gap(self) -> Estimate | None:
        """The largest xAUC gap over pairs of groups."""
        return self.summary["gap"]

    @property
    def headline(self) -> Estimate | None:
        """The largest xAUC gap between groups that can carry it: with 30 positives and 30 negatives, where two have."""
        return self.summary["headline"]["gap"]

    @property
    def reference(self) -> Hashable:
        """The group that signed gaps are seen from."""
        return self.summary["reference"]

    @property
    def worst_pair(self) -> dict[str, Any] | None:
        """The pair of groups with the largest gap."""
        return widest_pair(self.summary)

    @property
    def warnings(self) -> list[str]:
        """What to beware of."""
        said = [
            f"group {g!r} is left out of the comparison ({wording.shown_rows(rows)} rows)."
            for g, rows in self.left_out.items()
        ]
        return [*said, *self.summary["warnings"]]

    @property
    def finding(self) -> Finding:
        """The one finding: which pair, which way, how surely, what to do next; of the top, where one was asked for."""
        return main_finding(self.summary, self.table.group_columns)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The finding of all rows, then that of each top."""
        return findings(self.summary, self.table.group_columns)

    @property
    def sentence(self) -> str:
        """What the finding means in pairs of 100."""
        return self.finding.meaning

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers as plain values, ready for JSON.

        Examples
        --------
        >>> from fairpot import audit
        >>> from fairpot.datasets import make_synthetic
        >>> data = make_synthetic(1000, random_state=0, as_frame=False)
        >>> score, y, group = data.probability, data.target, data.group
        >>> found = audit(y, score, sensitive_features=group)
        >>> "gap" in found.to_dict()
        True
        """
        left_out = [{"group": g, "rows": rows} for g, rows in self.left_out.items()]
        intervals = intervals_to_dict(self.measured)
        found = {"finding": self.finding.to_dict(), "findings": [each.to_dict() for each in self.findings]}
        return {**found, **plain(self.summary), "intervals": intervals, "warnings": self.warnings, "left_out": left_out}

    def frame(self, part: Part = "pairs") -> Any:
        """Return one of the tables (pandas, Polars or PyArrow, whichever is in use).

        Parameters
        ----------
        part : {"pairs", "groups", "calibration", "rates", "top"}, default "pairs"
            Pairs of groups with both xAUC and the gap; groups with their sizes and AUC; calibration by group; rates
            at each threshold and in each top; AUC, gap, recall and precision in each top.

        Returns
        -------
        frame

        Examples
        --------
        >>> from fairpot import audit
        >>> from fairpot.datasets import make_synthetic
        >>> data = make_synthetic(1000, random_state=0, as_frame=False)
        >>> score, y, group = data.probability, data.target, data.group
        >>> found = audit(y, score, sensitive_features=group)
        >>> found.frame("groups").shape[0]
        2
        """
        return frame_of(plain(self.rows(part)))

    def rows(self, part: Part = "pairs") -> list[dict[str, Any]]:
        """Return one of the tables as a list of rows.

        Parameters
        ----------
        part : {"pairs", "groups", "calibration", "rates", "top"}, default "pairs"
            Pairs of groups with both xAUC and the gap; groups with their sizes and AUC; calibration by group; rates
            at each threshold and in each top; AUC, gap, recall and precision in each top.

        Returns
        -------
        list of dict

        Examples
        --------
        >>> from fairpot import audit
        >>> from fairpot.datasets import make_synthetic
        >>> data = make_synthetic(1000, random_state=0, as_frame=False)
        >>> score, y, group = data.probability, data.target, data.group
        >>> found = audit(y, score, sensitive_features=group)
        >>> [row["group"] for row in found.rows("groups")]
        ['a', 'b']
        """
        summary = self.summary
        if part == "pairs":
            return [_pair_row(pair) for pair in summary["gaps"]]
        if part == "groups":
            wanted = ("group", "rows", "positives", "negatives", "rate", "auc", "bpsn_auc", "bnsp_auc")
            return [with_limits({name: each[name] for name in wanted}) for each in summary["groups"]]
        if part == "calibration":
            return [
                {"group": each["group"], **each["calibration"]} for each in summary["groups"] if each["calibration"]
            ]
        if part == "rates":
            return [
                with_limits({"at": found["at"], "alpha": found.get("alpha"), "threshold": found["threshold"], **each})
                for found in summary["rates"]
                for each in (*found["groups"], {"group": "all", **found["all"]})
            ]
        if part == "top":
            inside = ("alpha", "region", "rows", "auc", "gap", "recall", "precision")
            return [with_limits({name: top[name] for name in inside}) for top in tops(summary)]
        raise ValueError(f"part must be one of {', '.join(map(repr, get_args(Part)))}, got {part!r}.")

    def __str__(self) -> str:
        summary = self.summary
        lines = [
            *self.finding.sentences,
            f"{wording.rows_by(summary['rows'], summary['weights'])}, {wording.shown_rows(summary['positives'])} with "
            f"the outcome, {len(summary['groups'])} groups, AUC {'-' if self.auc is None else with_interval(self.auc)}",
            *filter(None, [self._weighed()]),
            *self._pairs(),
            *(each.headline for each in self.findings if each.alpha != self.finding.alpha),
            *rate_lines(summary["rates"]),
        ]
        return "\n".join([*lines, *(f"warning: {text}" for text in self.warnings)])

    def _weighed(self) -> str:
        """Say what weights were taken for."""
        return wording.weights_taken(self.summary["weights"], self.summary["rows"])

    def _pairs(self, most: int = 10) -> list[str]:
        """Say the signed gap of every pair of three groups and more, the largest first, each with its interval."""
        ranking = self.summary if self.finding.alpha is None else tops(self.summary)[0]
        if len(self.summary["gaps"]) == 1:
            return []
        pairs = sorted((_ranked_pair(pair) for pair in self._named(ranking["gaps"])), key=lambda pair: -pair["gap"])
        known = [pair for pair in pairs if pair["gap"] == pair["gap"]]
        return [f"{p['ranked_higher']} over {p['ranked_lower']}: gap {with_interval(p['gap'])}" for p in known[:most]]

    def _named(self, tree: Any) -> Any:
        """Call the groups of numbers as sentences call them."""
        return words.by_column(tree, self.table.group_columns)

    def __repr__(self) -> str:
        rows = wording.rows_by(self.summary["rows"], self.summary["weights"])
        return f"<Audit of {rows}, {len(self.summary['groups'])} groups: {self.finding.headline}>"

    def _repr_html_(self) -> str:
        return audit_html(self)

    def _ranked_pairs(self, most: int = 10) -> list[tuple[str, float, float, float]]:
        """Give the pairs with the largest gaps, from the group ranked higher, for a picture."""
        ranking = self.summary if self.finding.alpha is None else tops(self.summary)[0]
        found = []
        for pair in sorted(known_pairs(ranking)[0], key=gap_size, reverse=True)[:most]:
            seen = _ranked_pair(self._named(pair))
            gap = seen["gap"]
            found.append((f"{seen['ranked_higher']} over {seen['ranked_lower']}", float(gap), gap.low, gap.high))
        return found

    def plot(self, ax: Any = None) -> Any:
        """Draw the gap of every two groups with its interval, see :class:`fairpot.display.GapChangeDisplay`.

        Parameters
        ----------
        ax : matplotlib axes or None, default None
            None makes new ones.

        Returns
        -------
        axes

        Examples
        --------
        >>> from fairpot import audit
        >>> from fairpot.datasets import make_synthetic
        >>> data = make_synthetic(1000, random_state=0, as_frame=False)
        >>> score, y, group = data.probability, data.target, data.group
        >>> found = audit(y, score, sensitive_features=group)
        >>> axes = found.plot()
        """
        return display("GapChangeDisplay").from_audit(self).plot(ax)
