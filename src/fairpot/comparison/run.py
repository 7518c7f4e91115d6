"""compare(): fit every method on one part of the rows, evaluate it on another."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Unpack

import numpy as np
from sklearn.base import clone

from fairpot._arguments import argument, by_name
from fairpot._defaults import Ties
from fairpot._said import Said
from fairpot._validation import check_seen, check_share, is_number, wording
from fairpot.comparison.result import Comparison, Rival, Skipped
from fairpot.comparison.trial import Fold, Part, Setting, Trial
from fairpot.counting import as_table, kept_groups
from fairpot.exceptions import FairpotWarning
from fairpot.inference import Estimate
from fairpot.inference.change import compare_views
from fairpot.metrics.rank import check_ties
from fairpot.repair.estimator import Repair
from fairpot.repair.fitting import RULES
from fairpot.repair.groups import find_reference, warn_of_table
from fairpot.repair.registry import find_method, takes_reference
from fairpot.repair.registry import methods as every_method
from fairpot.splitting import all_but, split_table
from fairpot.table import ScoreTable
from fairpot.tradeoff import Limit
from fairpot.words.comparison import UNREPAIRED

Report = Callable[[int, int], object]
# Beyond so many distinct scores, or groups, another fit takes longer than one line is worth.
_MOST_SCORES, _FEW_GROUPS = 20_000, 4
_VISIBLE = 0.0005  # a lead in AUC that is worth a line
_SAME = ("max_gap", "max_auc_loss", "top", "top_of", "reference", "keep", "ties")


@by_name
def compare(
    y_true: Any,
    y_score: Any = None,
    *,
    methods: Any = None,
    cv: int = 5,
    held_out: ScoreTable | None = None,
    reference: Hashable | None = None,
    ties: Ties = "half",
    random_state: Any = 0,
    max_gaps: Sequence[float] = (0.02, 0.05, 0.10),
    top: float | int | None = None,
    progress: Report | None = None,
    **rows: Unpack[Said],
) -> Comparison:
    """Compare repairs on the same rows, none of which a map was fitted on.

    Each method is fitted on all folds but one, its strength chosen there for every target gap, and
    evaluated on the fold that is left. The scores should be of rows that the model was not trained on.

    Parameters
    ----------
    y_true, y_score : columns of shape (n,)
        Outcomes, 0/1, and scores on any scale; or, as ``y_true``, a ScoreTable, or a frame whose columns are named.
    {said}
    methods : list of names and repair methods, dict of name to either, or None
        None compares all but those that cannot run on these rows (see ``skipped``).
    cv, random_state : int, and int, RandomState or None
        Folds, stratified by group and outcome; equal rows make equal folds, unless it is None.
    held_out : ScoreTable or None
        Rows to evaluate on, in place of folds: methods are fitted on all others.
    {reference}
    ties : {"half", "strict"}
        Whether equal scores count as half a win (scikit-learn) or as none (the paper).
    max_gaps, top : list of floats, and float in (0, 1], int or None
        The target gaps, and the top that they are of: a share, or so many of the rows given to fit.
    progress : function or None
        Called with (done, total) after each step; all methods on eight groups take a minute or so.

    Examples
    --------
    >>> import fairpot
    >>> data = fairpot.datasets.make_synthetic(n=1000, random_state=5)
    >>> score = data.data.to_numpy() @ [0.4, 0.1, 0.4, 0.2, 0.5]
    >>> methods = ["FairPOT", "OptimalMerge"]
    >>> result = fairpot.compare(data.target, score, sensitive_features=data.group, methods=methods)
    >>> result.answer(max_gap=0.05).recommended
    'FairPOT'
    """
    checked = check_ties(ties)
    bounds = _check_bounds(max_gaps)
    estimators = _find_methods(methods)
    if y_true is None:
        raise TypeError(
            "y_true is missing: methods are compared by how they rank outcomes.\n"
            "Hint: compare(y_true, y_score, sensitive_features=...), or compare(score_table(...))."
        )
    order = "the order is compare(y_true, y_score, ...), the outcomes first."
    everything = as_table(y_true, y_score, order=order, **rows).require("a comparison", groups=2)
    table = kept_groups(everything)
    warn_of_table(table, everything)
    if held_out is None:
        parts = _folds(table, cv, random_state)
        where = f"{len(parts)} folds of {wording.rows_by(*table.sized)}"
    else:
        other = _check_held_out(held_out, everything).only(table.groups)
        _require_cells(other, 1, "held_out needs at least 1 row with and 1 without the outcome in every group")
        parts, where = [Part(table, other)], wording.rows_by(*other.sized, "held-out rows")
    share = None if top is None else table.find_top(top).share
    setting = Setting(table, find_reference(table, reference, checked), checked, share)
    prepared = {name: _prepare(name, each, setting, top) for name, each in estimators.items()}
    report = progress or (lambda *_: None)
    trials, skipped = _run(prepared, parts, setting, bounds, report, everyone=methods is None)
    held = [part.held_out for part in parts] if top is None else []
    limit = Limit.mean([Limit.of(each, reference=setting.reference, ties=checked) for each in held]) if held else None
    return Comparison(trials, setting.reference, limit, skipped, bounds, where, prepared, table, top)


def _find_methods(asked: Any) -> dict[str, Repair]:
    """Return the estimators to compare by name; None takes all."""
    if asked is None:
        return {method.__name__: method() for method in every_method().values()}
    if not isinstance(asked, Mapping):
        single = isinstance(asked, str) or not isinstance(asked, Iterable)
        asked = [(None, value) for value in ([asked] if single else asked)]
    chosen: dict[str, Repair] = {}
    for given, value in asked.items() if isinstance(asked, Mapping) else asked:
        model = find_method(value)() if isinstance(value, str) else value
        if not isinstance(model, Repair):
            raise TypeError(
                f"methods must hold names or repair methods such as FairPOT(), got {value!r}.\n"
                f"Hint: the names are {', '.join(repr(method.__name__) for method in every_method().values())}."
            )
        name = type(model).__name__ if given is None else str(given)
        if name in chosen:
            raise ValueError(
                f"methods has {name!r} more than once: their rows could not be told apart.\n"
                f"Hint: name them, methods={{'{name} 1': ..., '{name} 2': ...}}."
            )
        chosen[name] = model
    if not chosen:
        raise ValueError("methods is empty.\nHint: give at least one, such as methods=['FairPOT'], or None for all.")
    if UNREPAIRED in chosen:
        raise ValueError(f"{UNREPAIRED!r} is the name of the original scores.\nHint: call the method something else.")
    return chosen


def _prepare(name: str, estimator: Repair, setting: Setting, top: float | int | None) -> Repair:
    """Copy a repair method, with the common setting, and with the target gaps for its rule."""
    if estimator.top not in (None, top):
        raise ValueError(
            f"{name} bounds the gap in the top {estimator.top!r}, and the comparison has top={top!r}.\n"
            f"Hint: compare(..., top={estimator.top!r})."
        )
    wanted = {"ties": setting.ties, "top": setting.top, "confidence": None, **dict.fromkeys(RULES)}
    if estimator.reference is None and takes_reference(type(estimator)):
        wanted["reference"] = setting.reference
    made: Repair = clone(estimator).set_params(**{estimator.dial.name: None}, **wanted)
    return made


def _run(
    estimators: dict[str, Repair],
    parts: list[Part],
    setting: Setting,
    bounds: tuple[float, ...],
    report: Report,
    *,
    everyone: bool,
) -> tuple[tuple[Trial, ...], tuple[Skipped, ...]]:
    """Try every method on every part; where all are compared, say why those that cannot run do not."""
    trials = [Trial(UNREPAIRED, tuple(Fold(None, part, setting) for part in parts), setting)]
    skipped: list[Skipped] = []
    total = len(estimators) * len(parts)
    for place, (name, estimator) in enumerate(estimators.items()):
        reason = estimator._obstacle(setting.table) if everyone else None
        trial = Trial(name, tuple(Fold(estimator, part, setting) for part in parts), setting)
        try:
            for k, fold in enumerate(trial.folds if reason is None else ()):
                for bound in bounds:  # before the last step is told, all is counted
                    (trial if k == len(parts) - 1 else fold).at(bound)
                report(place * len(parts) + k + 1, total)
        except ValueError as error:
            if not everyone:
                raise
            reason = str(error).split("\n")[0]
        if reason is None:
            trials.append(trial)
        else:
            skipped.append(Skipped(name, reason))
            report((place + 1) * len(parts), total)
    return tuple(trials), tuple(skipped)


def _check_bounds(max_gaps: Any) -> tuple[float, ...]:
    listed = [max_gaps] if is_number(max_gaps) else list(max_gaps)
    if not listed:
        raise ValueError("max_gaps is empty.\nHint: give at least one target gap, max_gaps=0.05.")
    return tuple(sorted({check_share(bound, "max_gaps", zero=True) for bound in listed}))


def _check_held_out(table: ScoreTable, fitted: ScoreTable) -> ScoreTable:
    """Check the rows to evaluate on."""
    if not isinstance(table, ScoreTable):
        raise TypeError(
            f"held_out must be a ScoreTable, got {wording.got(table)}.\n"
            "Hint: held_out=fairpot.score_table(y_true, y_score, sensitive_features=...)."
        )
    table.require("a comparison")
    if table.lower_is_riskier != fitted.lower_is_riskier:
        way = "low" if fitted.lower_is_riskier else "high"
        raise ValueError(
            f"a {way} score means high risk in the rows to fit on, but not in {argument('held_out')}.\n"
            "Hint: count both in the same direction, score_table(..., lower_is_riskier=...)."
        )
    table = table.renamed(check_seen(table.groups, fitted.groups, table.rows_of))
    fitted = fitted.only([g for g in fitted.groups if g not in fitted.unknown])
    absent = [g for g in fitted.groups if g not in table.groups]
    if absent:
        raise ValueError(
            f"{argument('held_out')} has no rows of the group {absent[0]!r}: its gap cannot be measured.\n"
            f"Hint: draw the held-out rows by group and outcome, or use {argument('cv', 5)}, which does so."
        )
    _require_cells(fitted, 1, "the rows to fit on need at least 1 row with and 1 without the outcome in every group")
    return table


def _require_cells(table: ScoreTable, least: int, rule: str, hint: str = "") -> None:
    """Insist on so many rows of either outcome in every group: on clusters, or of fractions on scores with any."""
    of = "rows" if table.units is None else "clusters"
    for place, (group, counts) in enumerate(zip(table.groups, table.counts)):
        for side, what in enumerate(wording.BOTH_OUTCOMES):
            weight = (counts.positive, counts.negative)[side]
            count = float(weight.sum() if weight.dtype.kind == "i" else np.count_nonzero(weight))
            count = count if table.units is None else float(table.independent[side][place])
            if count < least:
                way_out = hint or "join small groups, or collect more rows."
                raise ValueError(f"{rule}, but {group!r} has {count:g} {what.replace('rows', of)}.\nHint: {way_out}")


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
    """Fit the yardstick by the rule of a repair; return its lead in AUC, where it is clear and the target is kept.

    It is measured on ``judged``, else on the fitted rows, and not looked for where the strength was given or certified,
    where nobody below the top may move, and where it would take long.
    """
    table = model.table_
    asked = model.max_gap is not None and model.confidence is None and model.net_benefit_at is None
    small = sum(len(each.score) for each in table.counts) <= _MOST_SCORES and len(table.groups) <= _FEW_GROUPS
    if not asked or not small or model.repair == "top" or model._yardstick:
        return None
    yardstick = next(kind for kind in every_method().values() if kind._yardstick)
    rows = table if judged is None else judged
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairpotWarning)
        try:
            other = yardstick(**{name: getattr(model, name) for name in _SAME}).fit(table)
        except ValueError:  # out of its reach
            return None
        views = [rows.view(each.fair_maps_.maps_on(rows)) for each in (model, other)]
        found = compare_views(rows, *views, ties=model.ties)
    lead, gap = found.auc, found.gap
    kept = model.top is not None or gap.after <= (model.max_gap or 0.0) + 1e-12
    if not (kept and lead.low > 0 and lead.change >= _VISIBLE):
        return None
    return Rival(yardstick.__name__, Estimate("lead", lead.change, lead.se, lead.low, lead.high, lead.level), True)
