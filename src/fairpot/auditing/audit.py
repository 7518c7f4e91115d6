"""Audit: the numbers of a score table, with tables, text and a notebook view."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, Literal

from fairpot._html import cell, html_table, notes
from fairpot._optional import make_frame
from fairpot.auditing.calibration import BINS
from fairpot.auditing.measures import intervals, summarise
from fairpot.auditing.words import gap_sentence, rate_lines, widest_pair
from fairpot.inference import Overview, Sample, Verdict, sample_rows, verdict_of_table
from fairpot.metrics.rank import labelled_table
from fairpot.postprocessing.dial import kept_groups
from fairpot.postprocessing.notices import warn_of_table
from fairpot.table import ScoreTable

if TYPE_CHECKING:
    from fairpot.auditing.effect import Effect


def table_of(y_true: Any, y_score: Any, sensitive_features: Any, sample_weight: Any, pos_label: Any) -> ScoreTable:
    """Count rows, unless they come counted; a table alone is everything."""
    if not isinstance(y_true, ScoreTable):
        if y_true is None:
            raise TypeError("y_true is missing: an audit counts outcomes.")
        return labelled_table(y_true, y_score, sensitive_features, sample_weight, pos_label=pos_label)
    return alone(y_true, y_score=y_score, sensitive_features=sensitive_features, sample_weight=sample_weight)


def alone(table: ScoreTable, **given: Any) -> ScoreTable:
    """Insist that no columns come beside a table."""
    extra = [name for name, value in given.items() if value is not None]
    if extra:
        raise TypeError(f"a ScoreTable holds scores, outcomes, groups and weights: {extra[0]} cannot be given besides.")
    return table


def sample_of(
    y_true: Any,
    y_score: Any,
    sensitive_features: Any,
    sample_weight: Any,
    pos_label: Any,
    clusters: Any,
    weights: str,
) -> Sample:
    """Count rows with what intervals need beside the table: clusters, and what weights mean."""
    if isinstance(y_true, Sample):
        return y_true
    if clusters is None and (weights == "frequency" or isinstance(y_true, ScoreTable)):
        return Sample.of(table_of(y_true, y_score, sensitive_features, sample_weight, pos_label))
    if isinstance(y_true, ScoreTable):
        raise TypeError("a ScoreTable does not know its rows: clusters need the rows themselves.")
    if sensitive_features is None:
        raise TypeError("sensitive_features is missing: an audit compares groups.")
    return sample_rows(
        y_true,
        y_score,
        sensitive_features=sensitive_features,
        sample_weight=sample_weight,
        clusters=clusters,
        weights=weights,
        pos_label=pos_label,
    )


def audit_html(audit: Audit) -> str:
    """Show an audit."""
    head = f"<p><b>xAUC gap {cell(audit.gap)}, AUC {cell(audit.auc)}.</b> {escape(audit.sentence)}</p>"
    tables = html_table(audit.rows("groups"), "Groups") + html_table(audit.rows("pairs"), "Pairs of groups")
    return f"<div>{head}{tables}{html_table(audit.rows('rates'), 'Flagged')}{notes(audit.warnings)}</div>"


def effect_html(effect: Effect) -> str:
    """Show a repair."""
    head = "".join(f"<p>{escape(text)}</p>" for text in effect.sentences)
    tables = html_table(effect.rows(), "Before and after") + html_table(effect.moves, "Who moves")
    return f"<div>{head}{tables}{notes(effect.warnings)}</div>"


# Beyond this many groups an audit has no intervals.
MOST_GROUPS = 20
Part = Literal["groups", "pairs", "calibration", "rates"]


def audit(
    y_true: Any,
    y_score: Any = None,
    *,
    sensitive_features: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
    alpha: float | None = None,
    region: Literal["pooled", "group"] = "pooled",
    ties: Literal["half", "strict"] = "half",
    reference: Hashable | None = None,
    threshold: float | None = None,
    min_group: int = 0,
    groups: Any = None,
    bins: int = BINS,
    level: float | None = 0.95,
    clusters: Any = None,
    weights: Literal["frequency", "importance"] = "frequency",
) -> Audit:
    """Measure how fairly scores rank: AUC in each group, xAUC between groups, their gap, calibration.

    Parameters
    ----------
    y_true : column of shape (n,), or ScoreTable
        Outcomes, 0/1. A :class:`ScoreTable` (of :func:`fairpot.score_table`, from rows, frames or files) stands for
        all rows.
    y_score : column of shape (n,)
        Scores of any model, on any scale; higher means more likely.
    sensitive_features : column of shape (n,), or frame with several columns
        Group of each row; several columns form intersections.
    sample_weight : column of shape (n,), default None
    pos_label : default None
        The positive label where ``y_true`` is not 0/1.
    alpha : float in (0, 1] or None, default None
        Also rank among the top alpha alone.
    region : {"pooled", "group"}, default "pooled"
        Whether that is the top alpha of all rows or of each group.
    ties : {"half", "strict"}, default "half"
        Whether a tie is half a win or none.
    reference : name of a group or None, default None
        The group that signed gaps are seen from; None takes the one ahead.
    threshold : float or None, default None
        Also count who is flagged at this score or above, with TPR, FPR and PPV by group.
    min_group : int, default 0
        Leave groups with fewer rows out of the comparison; ``left_out`` names them.
    groups : list of group names or None, default None
        Look at these only.
    bins : int, default 10
        Bins of the expected calibration error, of equal width on [0, 1].
    level : float or None, default 0.95
        Level of the confidence intervals, in ``intervals``; None computes none.
    clusters : column of shape (n,), default None
        What rows have in common that are not independent of each other, such as the patient of each visit.
    weights : {"frequency", "importance"}, default "frequency"
        What ``sample_weight`` means for the intervals: how many rows a row is, or how much it counts.

    Returns
    -------
    Audit
        Numbers as attributes; ``print`` it, ``.frame()`` it, or let a notebook show it. What is odd about the data
        (small groups, reversed scores, ties that matter) is in ``warnings``.

    Examples
    --------
    >>> import fairpot
    >>> y, sex = [1, 0, 1, 0, 1, 0, 1, 0], ["F"] * 4 + ["M"] * 4
    >>> found = fairpot.audit(y, [0.6, 0.3, 0.5, 0.2, 0.9, 0.4, 0.8, 0.55], sensitive_features=sex)
    >>> found.auc, found.gap, found.reference
    (0.9375, 0.25, 'M')
    """
    sample = sample_of(y_true, y_score, sensitive_features, sample_weight, pos_label, clusters, weights)
    everything = sample.table
    table = kept_groups(everything, min_group, groups)
    sample = sample.only(table.groups)
    summary = summarise(
        table, alpha=alpha, region=region, ties=ties, reference=reference, threshold=threshold, bins=bins
    )
    warn_of_table(table, tuple(g for g in everything.groups if g not in table.groups), everything, min_group)
    left_out = {g: everything[g].weight.sum().item() for g in everything.groups if g not in table.groups}
    if level is None:
        return Audit({**summary, "intervals": None}, table, left_out, sample)
    if len(table.groups) > MOST_GROUPS:  # one covariance of all pairs of groups would not fit into memory
        said = f"no intervals: {len(table.groups)} groups are more than the {MOST_GROUPS} that are taken together."
        hint = " Hint: groups=... or min_group=... compare fewer."
        summary = {**summary, "warnings": [*summary["warnings"], said + hint], "intervals": None}
        return Audit(summary, table, left_out, sample)
    found, plain = intervals(sample, level, ties, alpha, region, summary["rates"])
    return Audit({**summary, "intervals": plain}, table, left_out, sample, found)


@dataclass(frozen=True, eq=False)
class Audit:
    """What :func:`audit` found.

    Attributes
    ----------
    summary : dict
        All numbers as plain values, ready for JSON.
    table : ScoreTable
        What they were counted from.
    left_out : dict of group to rows
        Groups that were left out of the comparison.
    intervals : Overview or None
        AUC, gap, every xAUC and signed gap and the groups' own AUCs over all rows, each with its interval;
        ``summary["intervals"]`` has them, and those of the top and at the threshold, as plain values.
    """

    summary: dict[str, Any]
    table: ScoreTable = field(repr=False)
    left_out: dict[Hashable, float] = field(default_factory=dict)
    sample: Sample | None = field(default=None, repr=False)
    intervals: Overview | None = field(default=None, repr=False)

    def verdict(self, bound: float, *, level: float = 0.95) -> Verdict:
        """Say whether the gap is within a bound, exceeds it, or whether the rows cannot tell.

        Parameters
        ----------
        bound : float in [0, 1]
        level : float, default 0.95
            "within" and "exceeds" are each wrong at most ``1 - level`` of the time.

        Returns
        -------
        Verdict
            Of the gap over all rows; with ``alpha``, of the gap in the top of the ranking.
        """
        partial = self.summary["partial"]
        region = {} if partial is None else {"alpha": partial["alpha"], "region": partial["region"]}
        sample = self.table if self.sample is None else self.sample
        return verdict_of_table(sample, bound, ties=self.summary["ties"], level=level, **region)

    @property
    def auc(self) -> float | None:
        """AUC of all rows."""
        return self.summary["auc"]

    @property
    def gap(self) -> float | None:
        """The largest xAUC gap over pairs of groups."""
        return self.summary["gap"]

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
        said = [f"group {g!r} is left out of the comparison ({rows:g} rows)." for g, rows in self.left_out.items()]
        return [*said, *self.summary["warnings"]]

    @property
    def sentence(self) -> str:
        """The gap in words."""
        return gap_sentence(self.summary)

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers as plain values, ready for JSON."""
        left_out = [{"group": g, "rows": rows} for g, rows in self.left_out.items()]
        return {**self.summary, "warnings": self.warnings, "left_out": left_out}

    def frame(self, part: Part = "pairs") -> Any:
        """Return one of the tables (pandas, Polars or PyArrow, whichever is in use).

        Parameters
        ----------
        part : {"pairs", "groups", "calibration", "rates"}, default "pairs"
            Pairs of groups with both xAUC and the gap; groups with their sizes and AUC; calibration by group; rates
            at the threshold and in the top alpha.
        """
        rows = self.rows(part)
        return make_frame({name: [row[name] for row in rows] for name in rows[0]} if rows else {})

    def rows(self, part: Part = "pairs") -> list[dict[str, Any]]:
        """Return one of the tables as a list of rows."""
        summary = self.summary
        if part == "pairs":
            return [
                {**pair, "gap": None if pair["signed_gap"] is None else abs(pair["signed_gap"])}
                for pair in summary["gaps"]
            ]
        if part == "groups":
            wanted = ("group", "rows", "positives", "negatives", "rate", "auc", "bpsn_auc", "bnsp_auc")
            return [{name: each[name] for name in wanted} for each in summary["groups"]]
        if part == "calibration":
            return [
                {"group": each["group"], **each["calibration"]} for each in summary["groups"] if each["calibration"]
            ]
        if part == "rates":
            return [
                {"at": found["at"], "threshold": found["threshold"], **each}
                for found in summary["rates"]
                for each in (*found["groups"], {"group": "all", **found["all"]})
            ]
        raise ValueError(f"part must be one of 'pairs', 'groups', 'calibration', 'rates', got {part!r}.")

    def __str__(self) -> str:
        summary = self.summary
        top = summary["partial"]
        auc, gap = (("-" if value is None else f"{value:.4f}") for value in (self.auc, self.gap))
        lines = [
            f"{summary['rows']:,.10g} rows, {summary['positives']:,.10g} positive, {len(summary['groups'])} groups",
            f"AUC {auc}, xAUC gap {gap}, reference {self.reference}",
            *self._trusted(),
            self.sentence,
            *([] if top is None or top["gap"] is None else [f"in the top {top['alpha']:g}: xAUC gap {top['gap']:.4f}"]),
            *rate_lines(summary["rates"]),
        ]
        return "\n".join([*lines, *(f"warning: {text}" for text in self.warnings)])

    def _trusted(self) -> list[str]:
        """Say how far AUC and gap can be trusted."""
        if self.intervals is None:
            return []
        auc, gap = self.intervals.auc, self.intervals.gap
        if gap.reason is not None:
            return [f"no interval for the gap: {gap.reason}"]
        limits = [f"{name} {each.low:.4f} to {each.high:.4f}" for name, each in (("AUC", auc), ("gap", gap))]
        return [f"{self.intervals.level:.0%} intervals: {', '.join(limits)}"]

    def _repr_html_(self) -> str:
        return audit_html(self)
