"""Effect: what a repair changes, before and after on the same rows."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from fairpot._arguments import argument, by_name
from fairpot._defaults import LEVEL, Meaning, Region, Ties, Weights
from fairpot._shown import display, frame_of
from fairpot._validation import check_rows, check_scores, check_seen, check_share, wording
from fairpot.auditing import words
from fairpot.auditing.audit import effect_html
from fairpot.auditing.calibration import (
    BINS,
    as_risks,
    calibration_errors,
    error_by_chance,
    large_error,
    remaining_price,
)
from fairpot.auditing.finding import Finding, Trust, main_finding
from fairpot.auditing.gains import Action, actions, own_scale_moves
from fairpot.auditing.measures import MOST_GROUPS, measure, moves, moves_of_rows, plain
from fairpot.auditing.queue import Lane, lanes
from fairpot.counting import as_table
from fairpot.inference import Change, Changes, Estimate, Verdict, change_by_maps, change_of_scores, verdict
from fairpot.modelfile.origin import describes, table_sha256
from fairpot.repair.fair_maps import fair_maps
from fairpot.table import Maps, ScoreTable
from fairpot.transport import ScoreMap, moving, parted

# Calibration that gets this many times worse, and visibly so, is said in words.
_SEVERAL, _VISIBLE = 3.0, 0.01
# A reference with fewer rows than this share of a moved group gives it a coarse, chancy target.
_SMALL_REFERENCE = 0.1


@by_name
def effect(
    model: Any,
    scores: Any = None,
    y: Any = None,
    *,
    before: Any = None,
    after: Any = None,
    sensitive_features: Any = None,
    sample_weight: Any = None,
    clusters: Any = None,
    weights: Weights | None = None,
    pos_label: Any = None,
    high_score_means: Meaning | None = None,
    alpha: float | None = None,
    region: Region = "pooled",
    ties: Ties = "half",
    reference: Hashable | None = None,
    threshold: float | Iterable[float] | None = None,
    bins: int = BINS,
    level: float | None = LEVEL,
) -> Effect:
    """Audit rows before and after a repair, and count whose scores change.

    ``effect(model, scores, y, sensitive_features=...)`` looks at a fitted method;
    ``effect(y_true, before=..., after=..., sensitive_features=...)`` at what anything else did to the scores.

    Parameters
    ----------
    model : fitted repair method, loaded model, or dict of group to ScoreMap; or column of outcomes
        With ``before`` and ``after``: the outcomes of the rows, 0/1.
    scores : column of shape (n,), or ScoreTable
        Scores before the repair, best of rows that the method was not fitted on. A :class:`ScoreTable` stands for all
        rows.
    y : column of shape (n,)
        Outcomes, 0/1.
    before, after : columns of shape (n,), default None
        Two scores of the same rows, in place of ``scores`` and ``y``; of any package, on any scale.
    sensitive_features : column of shape (n,), or frame with several columns
        Group of each row; several columns form intersections.
    sample_weight : column of shape (n,), default None
        Weights; ``weights`` says what they mean.
    clusters : column of shape (n,), default None
        What rows have in common that are not independent of each other, such as the patient of each visit.
    weights : {"frequency", "importance"} or None, default None
        What ``sample_weight`` means: a number of rows, or how much a row counts. None takes whole numbers for
        the first and others for the second.
    pos_label : default None
        The positive value where outcomes are not 0/1.
    high_score_means : {"help", "harm"} or None, default None
        What a high score does to the person who has it; what the model knows of it holds here.
    alpha : float in (0, 1] or None, default None
        Also look at this share of the rows with the highest scores; None takes that of the model, if it repairs a top.
        The top is that of the scores before, and of the scores after.
    region : {"pooled", "group"}, default "pooled"
        Whether that is the top of all rows or of each group.
    ties : {"half", "strict"}, default "half"
        Whether equal scores count as half a win or as none.
    reference : name of a group or None, default None
        The group that signed gaps are seen from; None takes the model's own.
    threshold : float, list of floats, or None, default None
        Also count who is flagged at this score or above. ``actions`` counts who is acted on at the threshold or in the
        top; where neither is given, in the top tenth.
    bins : int, default 10
        Bins of the expected calibration error, of equal width on [0, 1].
    level : float or None, default 0.95
        Confidence level of the intervals of what changes over all rows, in ``changes``; None computes none.

    Returns
    -------
    Effect

    Examples
    --------
    >>> import fairpot
    >>> y, sex = [1, 0, 1, 0, 1, 0, 1, 0] * 10, (["F"] * 4 + ["M"] * 4) * 10
    >>> score = [0.6, 0.3, 0.5, 0.2, 0.9, 0.4, 0.8, 0.55] * 10
    >>> repair = fairpot.FairPOT().fit(score, y, sensitive_features=sex)
    >>> found = fairpot.effect(repair, score, y, sensitive_features=sex)
    >>> found.before["gap"], found.after["gap"]
    (0.25, 0.0)
    >>> lifted = [s + 0.2 * (g == "F") for s, g in zip(score, sex)]
    >>> fairpot.effect(y, before=score, after=lifted, sensitive_features=sex).after["gap"]
    0.0
    """
    columns = {"sensitive_features": sensitive_features, "sample_weight": sample_weight, "clusters": clusters}
    meant: dict[str, Any] = {"weights": weights, "pos_label": pos_label, "high_score_means": high_score_means}
    share = None if alpha is None else check_share(alpha, "alpha", zero=False)
    options: dict[str, Any] = {"alpha": share, "region": region, "ties": ties, "threshold": threshold, "bins": bins}
    if before is not None or after is not None:
        _check_two_scores(model, scores, y, before, after)
        return _effect_of_scores(model, before, after, columns | meant, {**options, "reference": reference}, level)
    table = as_table(y, scores, **columns, **meant, names=("y", "scores")).require("an effect", groups=2)
    known_maps = fair_maps(model)
    if known_maps is not None:
        table = known_maps.seen(table)
        model = known_maps
    table = table.meaning(getattr(model, "high_score_means_", None))
    options |= _own_top(model) if share is None else {}
    maps = _maps(model, table)
    seen_from = reference
    if reference is None and getattr(model, "reference_", None) in table.groups:
        seen_from = getattr(model, "reference_", None)
    left_out = tuple(getattr(model, "left_out_", ()))
    kept = table.only([g for g in table.groups if g not in left_out])
    first = measure(kept, level, reference=seen_from, **options)
    moved = kept.rescored({g: m for g, m in moving(maps).items() if g in kept.groups})
    second = measure(moved, level, reference=first.numbers["reference"], **options)
    changes = None
    if level is not None and len(kept.groups) <= MOST_GROUPS:
        changes = change_by_maps(kept, moving(maps), ties=ties, level=level)
    low, high = first.numbers["score_range"]
    told = None if known_maps is None else known_maps.scale.mismatch_of_range(low, high)
    if told is not None:
        first.numbers["warnings"].insert(0, told)
    moved_rows = own_scale_moves(moves(table, parted(maps)[0]), table.lower_is_riskier)
    known = (first.numbers, second.numbers, moved_rows, getattr(model, "reference_", None), left_out, changes)
    judged = standing(model, table)
    stages = calibration_stages(kept, {g: m for g, m in maps.items() if g in kept.groups}, level, bins)
    return Effect(
        *known,
        judged,
        actions(kept, moved, options["threshold"], options["alpha"]),
        trust_in(model, table, judged),
        stages,
        (kept, {g: m for g, m in moving(maps).items() if g in kept.groups}),
        table.group_columns,
    )


def calibration_stages(
    table: ScoreTable, maps: Mapping[Hashable, ScoreMap], level: float | None = LEVEL, bins: int = BINS
) -> list[dict[str, Any]] | None:
    """Measure calibration of each group and of all: before, repaired, and made probabilities again, if they were."""
    own, then = parted(maps)
    tables = {"before": table, "repaired": table.rescored(moving(own))}
    if then is not None:
        tables["recalibrated"] = table.rescored(maps)
    final, found = list(tables)[-1], []
    for group in (*table.groups, None):
        each: dict[str, Any] = {"group": group, "recalibrated": None}
        for stage, rows in tables.items():
            counts = rows.joined().counts[0] if group is None else rows[group]
            each[stage] = _stage(as_risks(counts, table.lower_is_riskier), level, bins)
            if stage == final and each[stage] is not None and group is not None:
                each["price"] = remaining_price(as_risks(counts, table.lower_is_riskier))
        found.append(each | {"rows": float(table.rows if group is None else table[group].weight.sum())})
    return found if any(each[final] is not None for each in found) else None


def _stage(counts: Any, level: float | None, bins: int) -> dict[str, Any] | None:
    errors = calibration_errors(counts, bins)
    if errors is None:
        return None
    bias = large_error(counts, LEVEL if level is None else level)
    return {
        "error_in_the_large": bias,
        "expected_calibration_error": errors[1],
        "error_by_chance": error_by_chance(counts, bins),
    }


def _own_top(model: Any) -> dict[str, Any]:
    """Give the top that a model repairs, if it repairs one."""
    found = fair_maps(model)
    return {} if found is None or found.where is None else found.where._asdict()


def trust_in(model: Any, table: ScoreTable, judged: Standing | None) -> Trust | None:
    """Say what is known of the repair on these rows; None where it is not known what it was fitted on."""
    if not hasattr(model, "maps_"):
        return None
    same = fitted_on(model, table)
    clusters = None if table.units is None else table.units.size
    if judged is not None:
        turned = table.lower_is_riskier
        return Trust("certified", table.rows, clusters, same, judged.certificate, judged.answer, turned)
    return Trust("not checked" if same else "checked", table.rows, clusters, same)


def _check_two_scores(y_true: Any, scores: Any, y: Any, before: Any, after: Any) -> None:
    """Insist on outcomes and two scores, and on nothing beside them."""
    right = "\nHint: effect(y_true, before=..., after=..., sensitive_features=...)"
    for name, column in (("before", before), ("after", after)):
        if column is None:
            raise TypeError(f"{name} is missing: an effect compares two scores of the same rows.{right}")
    for name, column in (("scores", scores), ("y", y)):
        if column is not None:
            raise TypeError(f"{name} goes with a fitted model, not with before and after.{right}")
    if hasattr(y_true, "maps_") or isinstance(y_true, Mapping):
        raise TypeError(f"before and after are two scores of the same rows, and need outcomes, not a model.{right}")


def _effect_of_scores(
    y_true: Any, before: Any, after: Any, known: dict[str, Any], options: dict[str, Any], level: float | None
) -> Effect:
    """Audit two scores of the same rows."""
    groups, weight = known["sensitive_features"], known["sample_weight"]
    beside, names = {"after": after, "clusters": known["clusters"]}, ("y_true", "before")
    rows = check_rows(before, y_true, groups, weight, pos_label=known["pos_label"], names=names, beside=beside)
    new = check_scores(after, "after")
    if len(new) != len(rows.scores):
        raise ValueError(wording.other_length("after", len(new), len(rows.scores), "before has {than}"))
    tables = [
        as_table(y_true, each, **known, names=("y_true", n)) for n, each in (("before", before), ("after", after))
    ]
    first = measure(tables[0].require("an effect", groups=2), level, **options)
    second = measure(tables[1], level, **{**options, "reference": first.numbers["reference"]})
    changes = None
    if level is not None and len(tables[0].groups) <= MOST_GROUPS:
        asked = {name: value for name, value in known.items() if name != "high_score_means"}
        changes = change_of_scores(y_true, before, after, **asked, ties=options["ties"], level=level)
    acted = actions(tables[0], tables[1], options["threshold"], options["alpha"])
    return Effect(
        first.numbers,
        second.numbers,
        moves_of_rows(rows, new),
        changes=changes,
        actions=acted,
        columns=tables[0].group_columns,
    )


Stands = Literal["compatible", "contradicted", "cannot tell"]
_STANDS: dict[str, Stands] = {"within": "compatible", "exceeds": "contradicted", "cannot tell": "cannot tell"}
_TOLD = {
    "compatible": "these rows are compatible with the certificate",
    "contradicted": "these rows contradict the certificate",
    "cannot tell": "these rows cannot tell whether the certificate holds",
}


@dataclass(frozen=True)
class Standing:
    """A certificate as what it was, and what the rows of an effect say of it.

    Attributes
    ----------
    certificate : dict
        As :meth:`fairpot.inference.Certificate.to_dict` has it.
    time : str or None
        When the map was saved, if its file says so.
    verdict : Verdict or None
        Whether the gap after the repair is within the certificate's bound on these rows, at its confidence. None on
        the rows that the maps were fitted on, which cannot test them, and for more than 20 groups.
    turned : bool
        Whether low scores mean high risk.
    """

    certificate: dict[str, Any]
    time: str | None
    verdict: Verdict | None
    turned: bool = False

    @property
    def answer(self) -> Stands | None:
        """What these rows say of it."""
        return None if self.verdict is None else _STANDS[self.verdict.answer]

    @property
    def sentences(self) -> list[str]:
        """What these rows say, then what was certified, on which rows and when."""
        found, when = self.certificate, f", {self.time}" if self.time else ""
        sure = f"with {100 * found['confidence']:.4g}% confidence"
        which = words.certified_gap(found, self.turned)
        history = f"certified then: the {which} is at most {found['bound']:g} {sure} ({found['rows']}{when})"
        if self.verdict is None:
            return [f"{history}; these are the rows that the maps were fitted on, which cannot test it"]
        return [f"{_TOLD[_STANDS[self.verdict.answer]]}: {self.verdict}", history]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        judged = self.verdict
        now = None if judged is None else {"alpha": judged.alpha, "gap": judged.interval.to_dict()}
        return {**self.certificate, "time": self.time, "answer": self.answer, "on_these_rows": now}


def standing(model: Any, table: ScoreTable) -> Standing | None:
    """Judge the certificate of a model on rows before its repair; None if it has none."""
    given = getattr(model, "certificate_", None)
    known: dict[str, Any] | None = getattr(model, "certified_", None) if given is None else given.to_dict()
    if known is None:
        return None
    time = (getattr(model, "fitted_on_", None) or {}).get("time")
    if fitted_on(model, table) or len(table.groups) > MOST_GROUPS:
        return Standing(known, time, None, table.lower_is_riskier)
    left_out, maps = getattr(model, "left_out_", ()), moving(_maps(model, table))
    kept = table.only([g for g in table.groups if g not in left_out])
    given = {"bound": known["bound"], "level": known["confidence"], "ties": model.params_.get("ties", "half")}
    if known.get("starts") is None:
        return Standing(known, time, verdict(kept.rescored(maps), **given, **_own_top(model)), table.lower_is_riskier)
    # What was promised is about everybody from a score on, which is not found again here.
    starts = {g: model.thresholds_[g] for g in kept.groups}
    judged = verdict(kept.above(starts).rescored(maps), **given)
    # Scores that were turned round have a minus: the share is said in their place.
    judged = replace(judged, alpha=known["alpha"], starts=None if table.lower_is_riskier else starts)
    return Standing(known, time, judged, table.lower_is_riskier)


def fitted_on(model: Any, table: ScoreTable) -> bool:
    """Whether a method was fitted on the very rows of a table; of one from a file, as far as its counts tell."""
    own = getattr(model, "table_", None)
    if own is not None:
        return table_sha256(own) == table_sha256(table)
    origin = getattr(model, "fitted_on_", None)
    return bool(origin and describes(origin, table))


@dataclass(frozen=True, eq=False, repr=False)
class Effect:
    """Hold what :func:`effect` found: audits before and after, and whose scores change.

    Attributes
    ----------
    before, after : dict
        All numbers of the audit, each with its interval.
    moves : list of dict
        For each group: rows, how many the repair moves, up and down, mean and largest shift. A map that then makes
        probabilities of all scores is no part of that.
    reference : the reference group, whose scores do not change, or None
    left_out : tuple of groups that were left out of the comparison
    changes : Changes or None
        AUC, gap, signed gaps and xAUCs over all rows before and after, and the change with its interval: the same rows
        twice, so that what both have in common cancels. None for more than 20 groups.
    certificate : Standing or None
        What was certified of the repair, and what these rows say of it.
    actions : list of Action
        Who is acted on before and after, by group and outcome: at the threshold, in the top share, else in the top
        tenth; with who gains and who loses, if it was said what a high score does.
    trust : Trust or None
        What is known of the repair: not yet checked on new rows, checked, or certified. None of maps or scores that
        do not say what they were fitted on.
    calibration : list of dict or None
        For each group, and for all rows (group None): mean score minus rate with its interval, the expected calibration
        error, and the one that chance alone would show, ``before``, ``repaired`` and, with ``keep="probabilities"``,
        ``recalibrated``. ``price`` is what the group's Brier score would gain from a map of its own, which
        would undo the repair. None where scores are not probabilities at the end.

    Examples
    --------
    >>> from fairpot import FairPOT, effect
    >>> from fairpot.datasets import make_synthetic
    >>> data = make_synthetic(1000, random_state=0, as_frame=False)
    >>> score, y, group = data.probability, data.target, data.group
    >>> repair = FairPOT(max_gap=0.05).fit(score, y, sensitive_features=group)
    >>> found = effect(repair, score, y, sensitive_features=group)
    >>> round(found.before["gap"], 3), round(found.after["gap"], 3)
    (0.275, 0.05)
    >>> [(row["group"], row["moved"]) for row in found.moves]
    [('a', 0), ('b', 150)]
    """

    before: dict[str, Any]
    after: dict[str, Any]
    moves: list[dict[str, Any]]
    reference: Hashable | None = None
    left_out: tuple[Hashable, ...] = ()
    changes: Changes | None = None
    certificate: Standing | None = None
    actions: list[Action] = field(default_factory=list)
    trust: Trust | None = None
    calibration: list[dict[str, Any]] | None = None
    _rows: tuple[ScoreTable, Maps] | None = None
    columns: tuple[str, ...] = ()

    def named(self, columns: Sequence[str]) -> Effect:
        """Call groups that are numbers by their columns as well, as sentences do.

        Parameters
        ----------
        columns : list of str
            The columns with the group.

        Returns
        -------
        Effect

        Examples
        --------
        >>> import fairpot
        >>> y, black = [1, 0, 1, 0, 1, 0, 1, 0] * 10, ([0] * 4 + [1] * 4) * 10
        >>> old, new = [0.6, 0.3, 0.5, 0.2, 0.9, 0.4, 0.8, 0.55] * 10, [0.6, 0.4, 0.5, 0.2, 0.9, 0.4, 0.8, 0.5] * 10
        >>> found = fairpot.effect(y, before=old, after=new, sensitive_features=black)
        >>> [each["group"] for each in found.named(["black"]).moves]
        ['black=0', 'black=1']
        """

        def name(group: Any) -> Any:
            return words.name_of(group, columns)

        changes = self.changes
        if changes is not None and changes.gap.groups is not None:
            higher, lower = map(name, changes.gap.groups)
            changes = replace(changes, gap=replace(changes.gap, groups=(higher, lower)))
        return replace(
            self,
            before=words.by_column(self.before, columns),
            after=words.by_column(self.after, columns),
            moves=words.by_column(self.moves, columns),
            reference=name(self.reference),
            left_out=tuple(map(name, self.left_out)),
            changes=changes,
            actions=[replace(each, groups=words.by_column(each.groups, columns)) for each in self.actions],
            calibration=words.by_column(self.calibration, columns),
            columns=(),
        )

    @property
    def _spoken(self) -> Effect:
        """The same, with the groups called as sentences call them."""
        return self.named(self.columns) if self.columns else self

    @cached_property
    def lanes(self) -> list[Lane]:
        """Where the groups stand in the list before and after, a mark for every few rows; none of two scores."""
        return [] if self._rows is None else lanes(*self._rows, self.finding.pair)

    @property
    def finding(self) -> Finding:
        """What was found before the repair: of the top, where one is repaired."""
        return main_finding(self.before, self.columns)

    @property
    def finding_after(self) -> Finding:
        """What is found after it."""
        return main_finding(self.after, self.columns)

    @property
    def sentences(self) -> list[str]:
        """What rows say of a certificate; how the gap and whose scores change, who is acted on, the price; trust."""
        known = [] if self.certificate is None else [_sentence(text) for text in self.certificate.sentences]
        told = self._spoken
        acted = [words.selected(told.actions[0])] if told.actions and any(each["moved"] for each in told.moves) else []
        said = [
            words.gap_change(told.finding, told.finding_after),
            words.changed_scores(told.moves),
            *acted,
            self.price,
        ]
        trust = [] if self.trust is None or known else [self.trust.sentence]
        return [*known, *said, *self._calibrated_as_a_whole, *trust]

    def signed_gap(self, top: bool = False) -> tuple[float, float] | None:
        """Give the gap of two groups before and after with its sign: above 0 as before, below 0 if it overshoots.

        Parameters
        ----------
        top : bool, default False
            Whether it is that of the top which was looked at, not that of all rows.

        Returns
        -------
        (before, after) or None
            Seen from the group that was ranked higher before. None with more than two groups, whose largest gap has no
            sign, or where it cannot be measured.

        Examples
        --------
        >>> import fairpot
        >>> y, sex = [1, 0, 1, 0, 1, 0, 1, 0] * 10, (["F"] * 4 + ["M"] * 4) * 10
        >>> score = [0.6, 0.3, 0.5, 0.2, 0.9, 0.4, 0.8, 0.55] * 10
        >>> lifted = [s + 0.5 * (g == "F") for s, g in zip(score, sex)]
        >>> fairpot.effect(y, before=score, after=lifted, sensitive_features=sex).signed_gap()
        (0.25, -0.125)
        """
        found = [(each["partial"] if top else each)["gaps"] for each in (self.before, self.after)]
        gaps = [pair["signed_gap"] for pairs in found for pair in pairs]
        if len(gaps) != 2 or None in gaps:
            return None
        sign = -1.0 if gaps[0] < 0 else 1.0
        return sign * float(gaps[0]) + 0.0, sign * float(gaps[1]) + 0.0

    @property
    def price(self) -> str:
        """What the repair costs in AUC, that of all rows."""
        change = None if self.changes is None else self.changes.auc
        return words.price(self.before["auc"], self.after["auc"], change)

    @property
    def gains(self) -> list[str]:
        """Who is acted on before and after, by group and outcome."""
        return [text for action in self._spoken.actions for text in action.sentences]

    @property
    def _is_calibrated(self) -> bool:
        """Whether a common map made probabilities of all scores."""
        return self.calibration is not None and self.calibration[0]["recalibrated"] is not None

    @property
    def _calibrated_as_a_whole(self) -> list[str]:
        """Say of scores that were made probabilities again how far they are off in each group."""
        if not self._is_calibrated:
            return []
        found = []
        for each in self.calibration or []:
            bias, who = each["recalibrated"]["error_in_the_large"], each["group"]
            found.append(f"{_signed(bias)} for {'all rows' if who is None else repr(who)}{_limits(bias)}")
        whole = "Then one common map makes every score a probability: right as a whole, not in each group"
        return [f"{whole}. Mean score minus rate is {', '.join(found)}."]

    @property
    def warnings(self) -> list[str]:
        """What the repair costs beyond AUC: calibration, a small group as target, ties, and what the audit says."""
        found = [
            *_calibration_lost(self.before, self.after, self._is_calibrated),
            *self._small_reference(),
            *self._ties_disagree(),
        ]
        return [*found, *self.before["warnings"]]

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers as plain values, ready for JSON.

        Examples
        --------
        >>> from fairpot import FairPOT, effect
        >>> from fairpot.datasets import make_synthetic
        >>> data = make_synthetic(1000, random_state=0, as_frame=False)
        >>> score, y, group = data.probability, data.target, data.group
        >>> repair = FairPOT(max_gap=0.05).fit(score, y, sensitive_features=group)
        >>> found = effect(repair, score, y, sensitive_features=group)
        >>> "before" in found.to_dict()
        True
        """
        changes = None if self.changes is None else self.changes.to_dict()
        numbers = {"before": plain(self.before), "after": plain(self.after), "moves": self.moves, "changes": changes}
        certificate = None if self.certificate is None else self.certificate.to_dict()
        return {
            "finding": self.finding.to_dict(),
            "finding_after": self.finding_after.to_dict(),
            **numbers,
            "calibration": with_intervals(self.calibration),
            "actions": [each.to_dict() for each in self.actions],
            "certificate": certificate,
            "trust": None if self.trust is None else self.trust.to_dict(),
            "warnings": self.warnings,
        }

    def rows(self) -> list[dict[str, Any]]:
        """Return the main numbers before and after as a list of rows.

        Returns
        -------
        list of dict

        Examples
        --------
        >>> from fairpot import FairPOT, effect
        >>> from fairpot.datasets import make_synthetic
        >>> data = make_synthetic(1000, random_state=0, as_frame=False)
        >>> score, y, group = data.probability, data.target, data.group
        >>> repair = FairPOT(max_gap=0.05).fit(score, y, sensitive_features=group)
        >>> found = effect(repair, score, y, sensitive_features=group)
        >>> len(found.rows()) > 1
        True
        """
        named = [("auc", "auc"), ("gap", "gap")]
        known = {name: getattr(self.changes, name, None) for name in ("auc", "gap")}
        found = [_row(name, self.before[key], self.after[key], known[name]) for name, key in named]
        signed_gap = self.signed_gap()
        if signed_gap is not None:
            before, after = (
                _seen_from_higher(now["gaps"][0], self.before["gaps"][0]) for now in (self.before, self.after)
            )
            found.append(_row("signed_gap", before, after, getattr(known["gap"], "signed", None)))
        if self.before["partial"] is not None:
            top, later = self.before["partial"], self.after["partial"]
            found += [_row(f"partial_{name}", top[key], later[key]) for name, key in named]
        for b, a in zip(self.before["groups"], self.after["groups"]):
            if b["calibration"] and a["calibration"]:
                key = "expected_calibration_error"
                found.append(_row(f"calibration_error[{b['group']}]", b["calibration"][key], a["calibration"][key]))
        return found

    def frame(self, part: Literal["numbers", "moves", "actions"] = "numbers") -> Any:
        """Return one of the tables (pandas, Polars or PyArrow, whichever is in use).

        Parameters
        ----------
        part : {"numbers", "moves", "actions"}, default "numbers"
            AUC, gap and calibration before and after with their limits; whose scores change, by group; who is acted
            on before and after, by group and outcome.

        Returns
        -------
        frame

        Examples
        --------
        >>> from fairpot import FairPOT, effect
        >>> from fairpot.datasets import make_synthetic
        >>> data = make_synthetic(1000, random_state=0, as_frame=False)
        >>> score, y, group = data.probability, data.target, data.group
        >>> repair = FairPOT(max_gap=0.05).fit(score, y, sensitive_features=group)
        >>> found = effect(repair, score, y, sensitive_features=group)
        >>> list(found.frame("moves")["group"])
        ['a', 'b']
        """
        acted = [row for action in self.actions for row in action.rows()]
        parts = {"numbers": self.rows(), "moves": self.moves, "actions": acted}
        if part not in parts:
            raise ValueError(f"part must be one of {', '.join(map(repr, parts))}, got {part!r}.")
        return frame_of(plain(parts[part]))

    def plot(self, ax: Any = None) -> Any:
        """Draw the gap of every two groups before and after, see :class:`fairpot.display.GapChangeDisplay`.

        Parameters
        ----------
        ax : matplotlib axes or None, default None
            None makes new ones.

        Returns
        -------
        axes

        Examples
        --------
        >>> from fairpot import FairPOT, effect
        >>> from fairpot.datasets import make_synthetic
        >>> data = make_synthetic(1000, random_state=0, as_frame=False)
        >>> score, y, group = data.probability, data.target, data.group
        >>> repair = FairPOT(max_gap=0.05).fit(score, y, sensitive_features=group)
        >>> found = effect(repair, score, y, sensitive_features=group)
        >>> axes = found.plot()
        """
        return display("GapChangeDisplay").from_effect(self).plot(ax)

    def __str__(self) -> str:
        shown = [f"{row['metric']}: {_number(row['before'])} -> {_number(row['after'])}" for row in self.rows()]
        for which, found in (("before", self.before), ("after", self.after)):
            shown += [f"{line} ({which})" for line in words.rate_lines(found["rates"])]
        changes = self._spoken.changes
        sure = [] if changes is None else [f"AUC {changes.auc}", f"gap {changes.gap}"]
        weighed = wording.weights_taken(self.before["weights"], self.before["rows"])
        warned = [f"warning: {text}" for text in self.warnings]
        return "\n".join([*self.sentences, *self.gains, *shown, *sure, *filter(None, [weighed]), *warned])

    def __repr__(self) -> str:
        return f"<Effect: {self.sentences[0]}>"

    def _repr_html_(self) -> str:
        return effect_html(self)

    def _small_reference(self) -> list[str]:
        sizes = {each["group"]: each["rows"] for each in self.before["groups"]}
        fixed = sizes.get(self.reference)
        return [
            f"the reference {self.reference!r} ({wording.shown_rows(fixed)} rows) is small beside {group!r} "
            f"({wording.shown_rows(rows)}): most "
            f"rows are moved to where a few are. Hint: {argument('reference', ...)} names another group."
            for group, rows in sizes.items()
            if fixed is not None and fixed < _SMALL_REFERENCE * rows
        ]

    def _ties_disagree(self) -> list[str]:
        change = {
            how: self.after["tied"][f"auc_{how}"] - self.before["tied"][f"auc_{how}"]
            for how in ("half", "strict")
            if self.before["tied"][f"auc_{how}"] is not None
        }
        if len(change) == 2 and min(change.values()) < -5e-5 and max(change.values()) > 5e-5:
            return [
                f"ties matter: AUC changes by {change['half']:+.4f} if a tie is half a win, by {change['strict']:+.4f} "
                "if it is none; one of them shows a loss as a gain."
            ]
        return []


def _maps(model: Any, table: ScoreTable) -> dict[Hashable, ScoreMap]:
    if isinstance(model, Mapping):
        check_seen(table.groups, tuple(model), table.rows_of)
        return {g: model[g] for g in table.groups}
    found = fair_maps(model)
    if found is None:
        raise TypeError(
            f"effect takes a fitted repair method, a loaded model or a dict of maps, got {type(model).__name__}.\n"
            "Hint: of two scores of any other origin, effect(y_true, before=..., after=..., sensitive_features=...)."
        )
    return found.maps_on(table)


def _limits(found: Estimate) -> str:
    if found.reason is not None:
        return ""
    return f" ({found.level:.0%} interval {_signed(found.low)} to {_signed(found.high)})"


def _signed(value: float) -> str:
    """Show three decimals and a sign; what rounds to nothing has none."""
    return f"{value:+.3f}" if abs(value) >= 0.0005 else "0.000"


def with_intervals(tree: Any) -> Any:
    """Give estimates as dicts with their limits, and everything else as it is."""
    if isinstance(tree, dict):
        return {key: with_intervals(each) for key, each in tree.items()}
    if isinstance(tree, list):
        return [with_intervals(each) for each in tree]
    return tree.to_dict() if isinstance(tree, Estimate) else tree


def _calibration_lost(before: dict[str, Any], after: dict[str, Any], calibrated: bool) -> list[str]:
    found = []
    means = "its scores are no longer probabilities of the outcome"
    means = "right over all rows, its scores are not in this group" if calibrated else means
    hint = "" if calibrated else f" Hint: {argument('keep', 'probabilities')} makes them some again over all rows."
    key = "expected_calibration_error"
    for b, a in zip(before["groups"], after["groups"]):
        if b["calibration"] is None or a["calibration"] is None:
            continue
        was, now = b["calibration"][key], a["calibration"][key]
        if now >= _SEVERAL * was and now - was >= _VISIBLE:
            found.append(
                f"calibration of group {b['group']!r} gets {now / max(was, 1e-12):.1f} times worse ({was:.3f} -> "
                f"{now:.3f}): {means}.{hint}"
                if was > 0.0005
                else f"calibration of group {b['group']!r} is lost ({was:.3f} -> {now:.3f}): {means}.{hint}"
            )
    return found


def _seen_from_higher(pair: dict[str, Any], before: dict[str, Any]) -> Any:
    """Give a pair's gap with its limits, above 0 where the group that was ranked higher before still is."""
    gap = pair["signed_gap"]
    if before["signed_gap"] >= 0 or not isinstance(gap, Estimate):
        return gap if before["signed_gap"] >= 0 else -gap
    return gap.reversed()


def _row(name: str, before: float | None, after: float | None, known: Change | None = None) -> dict[str, Any]:
    """Give a number before and after with its limits, and the change; its limits where they were computed."""
    change = None if before is None or after is None else float(after) - float(before)
    ends: dict[str, float | None] = {}
    for when, value in (("before", before), ("after", after)):
        for end in ("low", "high"):
            limit = getattr(value, end, None)
            ends[f"{when}_{end}"] = None if limit is None or limit != limit else limit
    limits = [None, None] if known is None or known.reason is not None else [known.low, known.high]
    numbers = {"metric": name, "before": before, "after": after, "change": change}
    return numbers | dict(zip(("change_low", "change_high"), limits)) | ends


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
