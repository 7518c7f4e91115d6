"""compare(): fit every method on one part of the rows, evaluate it on another."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from fairpot._arguments import argument, by_name
from fairpot._defaults import Meaning, Ties
from fairpot._progress import draw_bar
from fairpot._validation import check_seen, check_share, is_number, wording
from fairpot.comparison.result import Comparison, Rival, Skipped
from fairpot.comparison.trial import Fixed, Part, Ruled, Setting, Trial
from fairpot.counting import as_table
from fairpot.exceptions import FairpotWarning
from fairpot.inference import Estimate
from fairpot.inference.change import compare_views
from fairpot.methods import LogitShift
from fairpot.metrics.rank import check_ties
from fairpot.repair.estimator import Repair
from fairpot.repair.fitting import RULES
from fairpot.repair.groups import find_reference, kept_groups, warn_of_table
from fairpot.repair.registry import find_method, takes_reference
from fairpot.repair.registry import methods as every_method
from fairpot.splitting import all_but, split_table
from fairpot.table import ScoreTable
from fairpot.tradeoff import Limit, UpperLimit
from fairpot.tradeoff.rules import top_share
from fairpot.words.comparison import UNREPAIRED

Report = Callable[[int, int], object]
# Of more groups than this the search for every group's strength keeps somebody waiting.
_FEW_GROUPS = 4
# Beyond so many distinct scores, or groups, another fit takes longer than one line is worth.
_MOST_SCORES, _VISIBLE = 20_000, 0.0005
_SAME = ("max_gap", "max_auc_loss", "top", "top_of", "reference", "keep", "ties")


def _make_report(progress: bool | Report | None, groups: int) -> Report:
    """Return the function to call after each step: a bar on stderr, the user's own, or nothing."""
    if callable(progress):
        return progress
    if progress not in (None, True, False):
        raise TypeError(f"progress must be True, False, None or a function of (done, total), got {progress!r}.")
    shown = sys.stderr.isatty() if progress is None else progress
    if not shown:
        return lambda *_: None
    if groups > _FEW_GROUPS:
        quicker = f"{argument('methods', ...)} with one or two of them, {argument('cv', 2)}, or fewer groups"
        print(f"{groups} groups have a strength each: this takes a minute or more.", file=sys.stderr)
        print(f"Hint: {quicker}, is quicker.", file=sys.stderr)
    return lambda done, total: draw_bar("comparing", done, total, last=done == total)


@by_name
def compare(
    y_true: Any,
    y_score: Any = None,
    *,
    sensitive_features: Any = None,
    methods: Any = None,
    cv: int = 5,
    held_out: Sequence[Any] | ScoreTable | None = None,
    sample_weight: Any = None,
    clusters: Any = None,
    weights: str | None = None,
    lower_is_riskier: bool = False,
    high_score_means: Meaning | None = None,
    reference: Hashable | None = None,
    min_group: int = 0,
    groups: Any = None,
    ties: Ties = "half",
    pos_label: Any = None,
    random_state: Any = 0,
    max_gaps: Sequence[float] = (0.02, 0.05, 0.10),
    top: float | int | None = None,
    progress: Any = None,
) -> Comparison:
    """Compare repairs on the same rows, none of which a map was fitted on.

    Each method is fitted on all folds but one, its strength chosen there for every target gap, and evaluated on the
    fold that is left; numbers are means over the folds. The scores should be of rows that the model was not trained on.

    Parameters
    ----------
    y_true : column of shape (n,), or ScoreTable
        Outcomes, 0/1. A table holds scores and groups as well.
    {y_score, sensitive_features}
    methods : list of names and repair methods, dict of name to either, or None, default None
        None compares all but those that cannot run on these rows (see ``skipped``). The strength of a method is chosen;
        one with a ``top`` of its own, and any other estimator with ``fit`` and ``transform``, is compared as it is.
    cv : int, default 5
        Number of folds, stratified by group and outcome.
    held_out : tuple (y_true, y_score, sensitive_features) or (..., sample_weight), or ScoreTable, default None
        Rows to evaluate on, in place of folds: methods are fitted on all others. With clusters, a table.
    {sample_weight, clusters, weights, lower_is_riskier, high_score_means, reference, min_group, groups, ties,
     pos_label}
    random_state : int, RandomState or None, default 0
        Splits the rows into folds; the same rows into the same folds, in whatever order they come, unless it is None.
    max_gaps : list of floats, default (0.02, 0.05, 0.10)
        The target gaps.
    top : float in (0, 1], int or None, default None
        How many you can act on: a share, or so many of the rows given to fit. The gap is then that in this top.
    progress : bool, function or None, default None
        True draws a bar on stderr, None does so on a terminal; a function is called with (done, total). Time grows
        with the groups: all methods on eight groups take a minute or so; fewer methods or folds take less.

    Examples
    --------
    >>> import fairpot
    >>> data = fairpot.datasets.make_synthetic(n=1000, random_state=5)
    >>> y, group = data.target, data.group
    >>> score = data.data.to_numpy() @ [0.4, 0.1, 0.4, 0.2, 0.5]
    >>> result = fairpot.compare(y, score, sensitive_features=group, methods=["FairPOT", "OptimalMerge", "LogitShift"])
    >>> print(result.verdict(max_gap=0.05))
    at gap <= 0.05 take FairPOT (lam 0.446 to 0.507): AUC 0.596 (0.048 below the original 0.644), gap 0.049 on rows it
    was not fitted on, within the target in 0 of 5 folds; chance cannot tell its AUC from that of OptimalMerge, and it
    changes the fewest scores
    """
    checked = check_ties(ties)
    bounds = _check_bounds(max_gaps)
    estimators = _find_methods(methods)
    if y_true is None:
        raise TypeError(
            "y_true is missing: methods are compared by how they rank outcomes.\n"
            "Hint: compare(y_true, y_score, sensitive_features=...), or compare(score_table(...))."
        )
    columns = {"sensitive_features": sensitive_features, "sample_weight": sample_weight, "clusters": clusters}
    order = "the order is compare(y_true, y_score, ...), the outcomes first."
    said: dict[str, Any] = {"weights": weights, "pos_label": pos_label, "lower_is_riskier": lower_is_riskier}
    everything = as_table(y_true, y_score, **columns, **said, order=order)
    everything = everything.meaning(high_score_means).require("a comparison", groups=2)
    table = kept_groups(everything, min_group, groups)
    warn_of_table(table, everything)
    if held_out is None:
        parts = _folds(table, cv, random_state)
        where = f"{len(parts)} folds of {wording.rows_by(*table.sized)}"
    else:
        other = _check_held_out(held_out, said, everything).only(table.groups)
        _require_cells(other, 1, "held_out needs at least 1 row with and 1 without the outcome in every group")
        parts, where = [Part(table, other)], wording.rows_by(*other.sized, "held-out rows")
    report = _make_report(progress, len(table.groups))
    share = None if top is None else top_share(top, table)
    setting = Setting(table, find_reference(table, reference, checked), checked, share)
    prepared = {name: _prepare(each, setting) for name, each in estimators.items()}
    trials, skipped = _run(prepared, parts, setting, bounds, report, everyone=methods is None)
    limit = _limit([part.held_out for part in parts], setting) if top is None else None
    return Comparison(trials, setting.reference, limit, skipped, bounds, where, prepared, table, top)


def _find_methods(asked: Any) -> dict[str, Any]:
    """Return the estimators to compare by name; None takes all."""
    if asked is None:
        return {method.__name__: method() for method in every_method().values()}
    if isinstance(asked, Mapping):
        chosen = {str(name): _estimator(value) for name, value in asked.items()}
    else:
        single = isinstance(asked, str) or not isinstance(asked, Iterable)
        pairs = [(_name(value), _estimator(value)) for value in ([asked] if single else list(asked))]
        twice = [name for name, _ in pairs if [n for n, _ in pairs].count(name) > 1]
        if twice:
            raise ValueError(
                f"methods has {twice[0]!r} more than once: their rows could not be told apart.\n"
                f"Hint: name them, methods={{'{twice[0]} 1': ..., '{twice[0]} 2': ...}}."
            )
        chosen = dict(pairs)
    if not chosen:
        raise ValueError("methods is empty.\nHint: give at least one, such as methods=['FairPOT'], or None for all.")
    if UNREPAIRED in chosen:
        raise ValueError(f"{UNREPAIRED!r} is the name of the original scores.\nHint: call the method something else.")
    return chosen


def _name(value: Any) -> str:
    return find_method(value).__name__ if isinstance(value, str) else type(value).__name__


def _estimator(value: Any) -> Any:
    if isinstance(value, str):
        return find_method(value)()
    if isinstance(value, type) or not (hasattr(value, "fit") and hasattr(value, "transform")):
        raise TypeError(
            f"methods must hold names or repair methods such as FairPOT(), got {value!r}.\n"
            f"Hint: the names are {', '.join(repr(method.__name__) for method in every_method().values())}."
        )
    return value


def _prepare(estimator: Any, setting: Setting) -> Any:
    """Copy an estimator, with the common setting where it has none of its own and without what a rule replaces."""
    known = estimator.get_params(deep=False)
    wanted: dict[str, Any] = {"ties": setting.ties} if "ties" in known else {}
    if known.get("reference", "") is None and takes_reference(type(estimator)):
        wanted["reference"] = setting.reference
    if isinstance(estimator, Repair) and estimator.top is None:  # the target gaps are its rule
        wanted |= {estimator.dial.name: None, **dict.fromkeys(RULES), "confidence": None, "top": setting.top}
    return clone(estimator).set_params(**wanted)


def _run(
    estimators: dict[str, Any],
    parts: list[Part],
    setting: Setting,
    bounds: tuple[float, ...],
    report: Report,
    *,
    everyone: bool,
) -> tuple[tuple[Trial, ...], tuple[Skipped, ...]]:
    """Try every method on every part; where all are compared, say why those that cannot run do not."""
    trials = [Trial(UNREPAIRED, tuple(Fixed.of(None, part, setting) for part in parts), setting)]
    skipped: list[Skipped] = []
    total = len(estimators) * len(parts)
    for place, (name, estimator) in enumerate(estimators.items()):
        can_tell = everyone and isinstance(estimator, Repair)
        reason, folds = estimator._obstacle(setting.table) if can_tell else None, []
        try:
            for k, part in enumerate(parts if reason is None else []):
                folds.append(_fold(estimator, part, setting, bounds))
                if k < len(parts) - 1:
                    report(place * len(parts) + k + 1, total)
        except ValueError as error:
            if not everyone:
                raise
            reason = str(error).split("\n")[0]
        if reason is None:
            trials.append(Trial(name, tuple(folds), setting))
            for bound in bounds:  # before the last step is told
                trials[-1].at(bound)
        else:
            skipped.append(Skipped(name, reason))
        report((place + 1) * len(parts), total)
    return tuple(trials), tuple(skipped)


def _fold(estimator: Any, part: Part, setting: Setting, bounds: tuple[float, ...]) -> Ruled | Fixed:
    """Let a method learn from one part, and choose for every target."""
    if not isinstance(estimator, Repair) or estimator.top != setting.top:
        return Fixed.of(clone(estimator), part, setting)
    fold = Ruled.of(estimator, part, setting)
    for bound in bounds:
        fold.at(bound)
    return fold


def _limit(tables: list[ScoreTable], setting: Setting) -> Limit | UpperLimit:
    if len(tables[0].groups) > 2:
        return UpperLimit.mean([UpperLimit.of(t, ties=setting.ties) for t in tables])
    return Limit.mean([Limit.of(t, reference=setting.reference, ties=setting.ties) for t in tables])


def _check_bounds(max_gaps: Any) -> tuple[float, ...]:
    listed = [max_gaps] if is_number(max_gaps) else list(max_gaps)
    if not listed:
        raise ValueError("max_gaps is empty.\nHint: give at least one target gap, max_gaps=0.05.")
    return tuple(sorted({check_share(bound, "max_gaps", zero=True) for bound in listed}))


def _check_held_out(held_out: Any, said: dict[str, Any], fitted: ScoreTable) -> ScoreTable:
    """Check and count the rows to evaluate on."""
    if isinstance(held_out, ScoreTable):
        held_out.require("a comparison")
        table = held_out
    else:
        if not isinstance(held_out, tuple | list) or len(held_out) not in (3, 4):
            raise TypeError(
                "held_out must be a tuple (y_true, y_score, sensitive_features) or (y_true, y_score, "
                f"sensitive_features, sample_weight), or a ScoreTable, got {_described(held_out)}."
            )
        if fitted.units is not None:
            raise TypeError(
                "clusters say which rows to fit on belong together, and held_out, given as columns, does not say it of "
                "its rows.\nHint: held_out=score_table(y_true, y_score, sensitive_features=..., clusters=...)."
            )
        y_true, y_score, groups, *weight = held_out
        names = ("y_true of held_out", "y_score of held_out")
        given = {"sensitive_features": groups, "sample_weight": weight[0] if weight else None, "names": names}
        order = "the order is held_out=(y_true, y_score, ...), the outcomes first."
        table = as_table(y_true, y_score, **given, **said, order=order)
    if table.lower_is_riskier != fitted.lower_is_riskier:
        way = "low" if fitted.lower_is_riskier else "high"
        raise ValueError(
            f"a {way} score means high risk in the rows to fit on, but not in held_out.\n"
            "Hint: count both in the same direction, score_table(..., lower_is_riskier=...)."
        )
    table = table.renamed(check_seen(table.groups, fitted.groups, table.rows_of))
    absent = [g for g in fitted.groups if g not in table.groups]
    if absent:
        raise ValueError(
            f"held_out has no rows of the group {absent[0]!r}: its gap cannot be measured.\n"
            "Hint: draw the held-out rows by group and outcome, or use cv=5, which does so."
        )
    _require_cells(fitted, 1, "the rows to fit on need at least 1 row with and 1 without the outcome in every group")
    return table


def _described(value: Any) -> str:
    return f"{len(value)} values" if isinstance(value, tuple | list) else type(value).__name__


def _require_cells(table: ScoreTable, least: int, rule: str, hint: str = "") -> None:
    """Insist on so many rows of either outcome in every group."""
    of = "rows" if table.units is None else "clusters"
    for group, positives, negatives in _cells(table):
        for what, count in zip(wording.BOTH_OUTCOMES, (positives, negatives)):
            if count < least:
                way_out = hint or "join small groups, or collect more rows."
                raise ValueError(f"{rule}, but {group!r} has {count:g} {what.replace('rows', of)}.\nHint: {way_out}")


def _cells(table: ScoreTable) -> Iterator[tuple[Hashable, float, float]]:
    """Count the rows of each group and outcome, or the clusters; of fractional weights, the scores that have any."""
    if table.units is not None:
        yield from zip(table.groups, *(units.tolist() for units in table.independent))
        return
    for group, counts in zip(table.groups, table.counts):
        fractional = counts.positive.dtype.kind != "i"
        of = np.count_nonzero if fractional else np.sum
        yield group, float(of(counts.positive)), float(of(counts.negative))


def _folds(table: ScoreTable, cv: Any, random_state: Any) -> list[Part]:
    """Deal the rows to folds, every group and outcome to each."""
    if not isinstance(cv, int | np.integer) or isinstance(cv, bool) or cv < 2:
        raise ValueError(
            f"cv must be a whole number of folds, at least 2, got {cv!r}.\nHint: or give {argument('held_out', ...)}."
        )
    rule = f"{argument('cv', cv)} needs at least {cv} rows with and {cv} without the outcome in every group"
    hint = f"fewer folds, join small groups, or give {argument('held_out', ...)}."
    _require_cells(table, int(cv), rule, hint)
    folds = split_table(table, int(cv), random_state)
    for each in folds if table.units is not None else []:  # whole clusters may leave a fold without
        needed = "every fold needs a cluster with and one without the outcome in every group"
        _require_cells(each, 1, needed, hint)
    return [Part(all_but(folds, k), fold) for k, fold in enumerate(folds)]


def higher_auc(model: Repair, judged: ScoreTable | None = None) -> Rival | None:
    """Fit LogitShift by the rule of a repair; return its lead in AUC, where it is clear and the target is kept.

    It is measured on ``judged``, else on the fitted rows, and not looked for where the strength was given or certified,
    where nobody below the top may move, and where it would take long.
    """
    table = model.table_
    asked = model.max_gap is not None and model.confidence is None and model.net_benefit_at is None
    small = sum(len(each.score) for each in table.counts) <= _MOST_SCORES and len(table.groups) <= _FEW_GROUPS
    if not asked or not small or model.repair == "top" or isinstance(model, LogitShift):
        return None
    rows = table if judged is None else judged
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairpotWarning)
        try:
            other = LogitShift(**{name: getattr(model, name) for name in _SAME}).fit(table)
        except ValueError:  # out of its reach
            return None
        views = [rows.view(each.fair_maps_.maps_on(rows)) for each in (model, other)]
        found = compare_views(rows, *views, ties=model.ties)
    lead, gap = found.auc, found.gap
    kept = model.top is not None or gap.after <= max(model.max_gap or 0.0, gap.before) + 1e-12
    if not (kept and lead.low > 0 and lead.change >= _VISIBLE):
        return None
    return Rival("LogitShift", Estimate("lead", lead.change, lead.se, lead.low, lead.high, lead.level), True)
