"""Audit rows: one measurement of everything that the scores do to each group."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import replace
from os import PathLike
from typing import Any, Unpack, cast, overload

import numpy as np

from fairpot._arguments import argument, by_name
from fairpot._defaults import LEVEL, TIES, TOPS_OF, Ties, TopOf
from fairpot._said import Said
from fairpot._validation import check_choice, check_group_name, check_level
from fairpot._validation.columns import has_names
from fairpot.counting import as_table, columns_of, is_by_name, kept_groups
from fairpot.inference.change import change_of_columns
from fairpot.inference.rates import Cut
from fairpot.metrics.cells import hard_predictions
from fairpot.repair.groups import warn_of_table
from fairpot.results.audited import GUARDS as GUARDS
from fairpot.results.audited import Asked, Audit, LeftOut, MissingOutcomes, Unknown
from fairpot.results.audited import Guards as Guards
from fairpot.results.audited import strictest as strictest
from fairpot.results.calibration import BINS, calibrations
from fairpot.results.concordances import concordances_of
from fairpot.results.kinds import Plain
from fairpot.results.models import Audits as Audits
from fairpot.results.notes import notes_of_audit
from fairpot.results.ranking import Ranking, rank
from fairpot.results.rates import cut_at
from fairpot.results.ruled import measure_rule
from fairpot.table import ScoreTable
from fairpot.words import Note

# What a comparison of two scores, row by row, is told of rows.
_OF_CHANGES = ("sensitive_features", "sample_weight", "clusters", "weights", "pos_label")


def several(given: Any) -> list[Any]:
    """Give no value, one or several as a list, each once, in their order."""
    if given is None:
        return []
    found = list(given) if isinstance(given, Iterable) and not isinstance(given, str | bytes | dict) else [given]
    return [each for place, each in enumerate(found) if each not in found[:place]]


def audit_table(
    table: ScoreTable,
    *,
    top: Any = None,
    top_of: str = "all",
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
    check_choice(top_of, "top_of", TOPS_OF)
    sizes = [table.find_top(each, top_of) for each in several(top)]
    if reference is not None:
        check_group_name(reference, table.groups, "reference")
    cuts = [cut_at(table, threshold=each) for each in several(threshold)]
    asked = Asked(table, (*cuts, *(Cut("top", None, each.size, each.top_of) for each in sizes)), level, reference)
    if level is not None:
        check_level(level)
    apart = () if everything is None else everything.unknown
    with_unknown = table if everything is None else everything.only([*table.groups, *apart])
    gone = tuple(LeftOut(group, rows) for group, rows in (left_out or {}).items())
    ruled = None if rule is None else measure_rule(rule, with_unknown, asked.looked_at, level, whole=not gone, ties=how)
    odd = [Note("left out", each.group, value=each.rows) for each in gone]
    odd += [Note("weightless", value=float(table.weightless))] if table.weightless else []
    tops: tuple[Ranking, ...] = ()
    calibrated, concordance, auc = None, None, None
    if table.labelled:
        found = calibrations(table, bins, level)
        calibrated, whole = found.all, rank(table, ties=how, level=level, reference=reference)
        both = zip(whole.groups, found.groups)
        whole = replace(whole, groups=tuple(replace(own, calibration=each) for own, each in both))
        given: dict[str, Any] = {"ties": how, "level": level, "reference": whole.reference, "small": whole.small_groups}
        tops = tuple(rank(table, top=each, **given) for each in sizes)
        half = whole if how == "half" else rank(table, level=level, reference=whole.reference)
        auc = half.auc
        odd += notes_of_audit(table, whole, tops, calibrated)
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
    without = MissingOutcomes.of(table, whole)
    odd += [] if without is None else without.notes
    after = ruled, table.follow_up, concordance
    return Audit(
        table,
        whole,
        tops,
        auc,
        asked,
        calibrated,
        bins,
        *known,
        gone,
        unknown,
        tuple(odd),
        *after,
        missing_outcomes=without,
    )


class _Asked(Said, total=False):
    """The options of an audit, as its two overloads share them."""

    top: float | Iterable[float] | None
    top_of: TopOf
    ties: Ties
    reference: Hashable | None
    threshold: float | Iterable[float] | None
    bins: int
    level: float | None
    rule: str | PathLike[str] | None


@overload
def audit(y_true: Any, y_score: Mapping[str, Any], **options: Unpack[_Asked]) -> Audits: ...
@overload
def audit(y_true: Any, y_score: Any = None, **options: Unpack[_Asked]) -> Audit: ...
@by_name
def audit(
    y_true: Any,
    y_score: Any = None,
    *,
    top: float | Iterable[float] | None = None,
    top_of: TopOf = "all",
    ties: Ties = "half",
    reference: Hashable | None = None,
    threshold: float | Iterable[float] | None = None,
    bins: int = BINS,
    level: float | None = LEVEL,
    rule: str | PathLike[str] | None = None,
    **rows: Unpack[Said],
) -> Audit | Audits:
    """Measure how fairly scores rank: AUC in each group, xAUC between groups, their gap, calibration.

    Parameters
    ----------
    y_true : column of shape (n,), ScoreTable, frame, or None
        Outcomes, 0/1, or all of the rows: as :func:`fairpot.score_table` counts them, or a frame
        whose columns are named. Without outcomes, None, the audit is of selection rates and scores.
    y_score : column of shape (n,), or dict of names to such columns
        Scores of any model, on any scale; several models are compared with the first. Of a frame,
        the dict has the names of columns.
    {said}
    top, top_of : float in (0, 1], int, list of them, or None, and {"all", "group"}
        Also rank within these tops (``tops``): shares, or numbers, of the rows with the highest scores,
        of all or of each group.
    {reference}
    threshold : float, list of floats, or None
        Also look at who is flagged at this score or above (``rates``); else in the top 10%.
    ties, bins, level : {"half", "strict"}, int, and float or None
        Whether equal scores count as half a win or as none (the paper); bins of the calibration error;
        confidence level of the intervals, of which None computes none.
    rule : str, path, or None
        Also measure a rule: "four-fifths", "ll144", "clinical", or a TOML file of your own.

    Returns
    -------
    Audit
        ``statements`` are the answer, ``notes`` what is odd. Of several models, an :class:`Audits`.

    Examples
    --------
    >>> import fairpot
    >>> y, sex = [1, 0, 1, 0, 1, 0, 1, 0], ["F"] * 4 + ["M"] * 4
    >>> score = [0.6, 0.3, 0.5, 0.2, 0.9, 0.4, 0.8, 0.55]
    >>> found = fairpot.audit(y, score, sensitive_features=sex)
    >>> found.auc, found.gap, found.statement.pair
    (0.9375, 0.25, ('M', 'F'))
    """
    looked_at: dict[str, Any] = {
        "top": top,
        "top_of": top_of,
        "ties": ties,
        "reference": reference,
        "threshold": threshold,
        "bins": bins,
        "level": level,
        "rule": rule,
    }
    if isinstance(y_score, Mapping):
        return _audit_models(y_true, y_score, rows, looked_at)
    return _audit_rows(y_true, y_score, rows, looked_at)


def _audit_rows(y_true: Any, y_score: Any, rows: Said, looked_at: Plain) -> Audit:
    labelled = not is_by_name(y_true, y_score, rows) and (y_true is not None or y_score is None)
    everything = as_table(y_true, y_score, **rows, labelled=labelled).require("an audit", labels=False, groups=2)
    table = kept_groups(everything)
    found = audit_table(table, **looked_at, left_out=left_out_sizes(table, everything), everything=everything)
    warn_of_table(table, everything)
    return found


def left_out_sizes(table: ScoreTable, everything: ScoreTable) -> dict[Hashable, float]:
    """Give the rows of groups that are left out of a table of everything, and that are not unknown."""
    return {g: everything[g].size for g in everything.groups if g not in (*table.groups, *everything.unknown)}


def _audit_models(y_true: Any, models: Mapping[str, Any], rows: Said, looked_at: Plain) -> Audits:
    """Audit several models' scores of the same rows, and compare each with the first."""
    if not models:
        raise ValueError("y_score is an empty dict.\nHint: audit(y_true, {'old': scores, 'new': other_scores}, ...).")
    if len({*map(str, models)}) < len(models):
        raise ValueError("two scores have the same name.\nHint: names are compared as text: 1 and '1' are one.")
    if has_names(y_true):
        y_true, models, rows = columns_of(y_true, models, rows)
    found: dict[str, Audit] = {}
    for name, scores in models.items():
        try:
            found[str(name)] = _audit_rows(y_true, scores, rows, looked_at)
        except (TypeError, ValueError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"the scores of {name!r}: {error}") from error
        looked_at["reference"] = found[str(name)].reference  # pairs of all are seen from the same group
    table = next(iter(found.values())).table
    if looked_at["level"] is None or len(found) < 2 or not table.labelled:
        return Audits(found, {})
    columns = dict(zip(found, models.values()))
    if rows.get("lower_is_riskier"):
        columns = {name: -np.asarray(scores, dtype=float) for name, scores in columns.items()}
    given: Plain = {name: rows.get(name) for name in _OF_CHANGES}
    how = {"ties": looked_at["ties"], "level": looked_at["level"]}
    return Audits(found, change_of_columns(y_true, columns, table=table, **given, **how))
