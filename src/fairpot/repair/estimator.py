"""Repair: the estimator that scikit-learn sees. It stores parameters, calls the steps, and has the fitted maps."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property, partial, wraps
from inspect import signature
from typing import Any, ClassVar, Literal, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from fairpot._arguments import argument, by_name
from fairpot._defaults import LEVEL, TIES, Meaning, Ties
from fairpot._docs import documented
from fairpot._validation import check_choice, check_level
from fairpot._warn import warn_user
from fairpot.counting import as_table
from fairpot.exceptions import InfeasibleRuleError, ScaleWarning
from fairpot.inference.certify import Certificate
from fairpot.inference.dial import Cut, Evidence, Top, same_rows
from fairpot.repair.achieved import Achieved, measure
from fairpot.repair.certify import certify
from fairpot.repair.choose import choose, curve, passing_over
from fairpot.repair.fair_maps import FairMaps, certificate_on, counted_like, shown_maps
from fairpot.repair.family import Dial, Family
from fairpot.repair.finish import MOST_KNOTS, SLACK, finish, whole_maps
from fairpot.repair.grid import grid_of, on_grid
from fairpot.repair.ground import Ground
from fairpot.repair.groups import find_reference, kept_groups, require_outcomes, warn_of_table
from fairpot.repair.notices import warn_of_choice, warn_of_flat, warn_of_needless
from fairpot.repair.own_dials import Way, along, choose_own, find_way, looked_at
from fairpot.repair.region import Learn, in_region
from fairpot.repair.registry import takes_reference
from fairpot.repair.scale import ScoreScale
from fairpot.table import ScoreTable
from fairpot.tradeoff import Limit, UpperLimit
from fairpot.tradeoff.curve import TradeoffCurve, TradeoffPoint
from fairpot.tradeoff.rules import Rule, check_top, top_share
from fairpot.transport import Floats, ScoreMap

RULES = ("max_gap", "max_auc_loss", "net_benefit_at")
# Of more groups than this no other method is tried where one misses a target.
_TRIED_GROUPS = 8


@dataclass(frozen=True, eq=False)
class Fit:
    """What a fit works with: how to learn, what was learnt, where it is judged, and the way of several groups."""

    learn: Learn
    family: Family
    ground: Ground
    way: Way | None = None

    @property
    def final(self) -> Family:
        """The family whose one strength is turned."""
        return self.family if self.way is None else along(self.family, self.way)

    def again(self, rows: ScoreTable) -> Family:
        """Learn from other rows, the best way of several groups included."""
        family = self.learn(rows)
        return family if self.way is None else along(family, find_way(family, replace(self.ground, table=rows)))

    @cached_property
    def _seen(self) -> TradeoffCurve:
        """What every rule looks at first; of a way on very many entries, on fewer of them."""
        return curve(self.final, self.ground if self.way is None else looked_at(self.ground))

    def search(self, rule: Rule) -> tuple[Fit, TradeoffPoint]:
        """Choose by rule; of several groups the choice becomes a point of their way.

        Maps of very many breakpoints will be simplified: where a repair is needed, its gap is kept by a hair more.
        """
        found, point = self._searched(rule)
        entries = sum(len(counts.score) for counts in self.ground.table.counts)
        if rule.max_gap is None or not self.ground.fitted or entries <= MOST_KNOTS:
            return found, point
        if point.lam == found.final.dial.identity or point.gap <= rule.max_gap - SLACK:
            return found, point
        try:
            return self._searched(replace(rule, max_gap=rule.max_gap - SLACK))
        except (InfeasibleRuleError, ValueError):  # nothing keeps more than was asked for
            return found, point

    def _searched(self, rule: Rule) -> tuple[Fit, TradeoffPoint]:
        with passing_over():
            if self.way is None:
                return self, choose(self.family, self.ground, rule, self._seen)
            way, point = choose_own(self.family, self.ground, rule, self.way, self._seen)
            return replace(self, way=way), point


def _of_the_maps(name: str) -> Callable[..., Any]:
    """Give an estimator a method of the maps that it has when it is fitted."""

    @wraps(getattr(FairMaps, name))
    def called(self: Repair, *args: Any, **kwargs: Any) -> Any:
        return getattr(self.fair_maps_, name)(*args, **kwargs)

    return called


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class Repair(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A method that repairs scores, one map a group.

    A method is a subclass that names its ``dial``, the parameter of that name, and ``learn``, a pure function from a
    table (and the parameters that it names) to a :class:`Family`.

    Examples
    --------
    >>> from fairpot import FairPOT
    >>> from fairpot.repair import Repair
    >>> issubclass(FairPOT, Repair), FairPOT.dial.name
    (True, 'lam')
    """

    dial: ClassVar[Dial] = Dial()
    learn: ClassVar[Callable[..., Family]]
    _moves_by: ClassVar[str] = "moved towards {reference}"
    _needs_outcomes: ClassVar[bool] = False
    # The strength where none is given and no rule either; None: the smallest gap is looked for.
    _unasked: ClassVar[float | None] = None
    # To scikit-learn's routing the first argument is data, whatever its name.
    __metadata_request__fit: ClassVar = {"scores": UNUSED}
    __metadata_request__transform: ClassVar = dict.fromkeys(
        ("scores", "unknown_group", "missing_group", "other_scale"), UNUSED
    )

    max_gap: float | None = None
    max_auc_loss: float | None = None
    net_benefit_at: float | None = None
    confidence: float | None = None
    top: float | int | None = None
    top_of: Literal["all", "group"] = "all"
    repair: Literal["all", "top"] = "all"
    reference: Hashable | None = None
    keep: Literal["grid", "probabilities"] | None = None
    ties: Ties = "half"

    strength_: float = field(init=False)
    groups_: tuple[Hashable, ...] = field(init=False)
    left_out_: tuple[Hashable, ...] = field(init=False)
    reference_: Hashable | None = field(init=False)
    starts_: dict[Hashable, float] | None = field(init=False)
    certificate_: Certificate | None = field(init=False)
    table_: ScoreTable = field(init=False)
    n_features_in_: int = field(init=False)

    @by_name
    def fit(
        self,
        scores: Any,
        y: Any = None,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        clusters: Any = None,
        weights: str | None = None,
        pos_label: Any = None,
        lower_is_riskier: bool = False,
        high_score_means: Meaning | None = None,
        groups: Any = None,
        min_group: int = 0,
    ) -> Self:
        """Learn the map of every group.

        Parameters
        ----------
        scores : column of shape (n,) or (n, 1), or ScoreTable
            Scores of any model: list, NumPy array, pandas, Polars or PyArrow column. Best not those of the rows
            the model was trained on, which look better than they are. A table stands for all rows.
        y : column of shape (n,), default None
            Outcomes, 0/1; needed where the method, the choice of the strength or of the reference looks at them.
        {sensitive_features, sample_weight, clusters, weights, pos_label, lower_is_riskier, high_score_means, groups,
         min_group}
        """
        labelled = scores.labelled if isinstance(scores, ScoreTable) else y is not None
        _check(self, labelled)
        table = as_table(
            y,
            scores,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
            clusters=clusters,
            weights=weights,
            pos_label=pos_label,
            lower_is_riskier=lower_is_riskier,
            high_score_means=high_score_means,
            labelled=False,
            names=("y", "scores"),
        )
        table.require("a repair", labels=False, groups=2)
        empty = [g for g, c in zip(table.groups, table.counts) if len(c.score) == 0]
        if empty:
            hint = "leave it out, table.only([...])"
            raise ValueError(f"the table has no rows of the group {empty[0]!r}.\nHint: {hint}.")
        fitted = _fitted(self, table, groups, min_group)
        for name in [name for name in vars(self) if name.endswith("_") or name.startswith("_fit")]:
            delattr(self, name)
        self.__dict__.update(fitted)
        return self

    transform = _of_the_maps("transform")
    explain = _of_the_maps("explain")
    save = _of_the_maps("save")
    frame = _of_the_maps("frame")
    plot = _of_the_maps("plot")
    get_feature_names_out = _of_the_maps("get_feature_names_out")

    @by_name
    def fit_transform(self, scores: Any, y: Any = None, *, sensitive_features: Any, **rows: Any) -> Any:
        """Fit, then adjust the scores of the same rows.

        {scores, y, sensitive_features, **rows}

        Returns
        -------
        The adjusted scores, float64, in the order and the type of ``scores``.
        """
        self.fit(scores, y, sensitive_features=sensitive_features, **rows)
        return self.transform(scores, sensitive_features=sensitive_features)

    def at(self, value: float) -> Self:
        """Return a fitted copy with another repair strength, without fitting again.

        Parameters
        ----------
        value : float
            The repair strength; of several groups that have their own, how far to go on their common way.
        """
        fit = _fit_of(self)
        strength = fit.final.dial.check(value, "strength" if fit.way is not None else None)
        own = {} if fit.way is not None else {self.dial.name: strength}
        return _turned(self, fit, strength).set_params(**own, **dict.fromkeys(RULES), confidence=None)

    @by_name
    def certify(self, scores: Any, y: Any = None, *, max_gap: float, confidence: float = LEVEL, **rows: Any) -> Self:
        """Certify the gap of this very map on other rows.

        Parameters
        ----------
        scores : column of shape (n,) or (n, 1), or ScoreTable
            Scores of rows that the method was not fitted on; a table stands for all rows.
        {y, max_gap, confidence, **rows}

        Returns
        -------
        A fitted copy whose ``certificate_`` says how the bound is known. Where it cannot be certified, the
        :class:`InfeasibleRuleError` names the smallest that can be.
        """
        fit, table = _fit_of(self), _rows_beside(self, scores, y, rows, "a certificate")
        found = certificate_on(self.fair_maps_, table, fit.ground, max_gap, confidence)
        other = _turned(self, fit, self.strength_)
        other.certificate_ = found
        return other

    @by_name
    def choose_certified(
        self,
        scores: Any,
        y: Any = None,
        *,
        max_gap: float,
        confidence: float = LEVEL,
        max_auc_loss: float | None = None,
        net_benefit_at: float | None = None,
        **rows: Any,
    ) -> Self:
        """Return a fitted copy whose repair strength is chosen on other rows, with a certified gap.

        Parameters
        ----------
        scores : column of shape (n,) or (n, 1), or ScoreTable
            Scores of rows that the method was not fitted on; a table stands for all rows.
        {y, max_gap}
        confidence : float, default 0.95
            With which confidence it is kept, whichever repair strength that leads to.
        max_auc_loss, net_benefit_at : float or None, default None
            Bound the cost as well; and choose by the net benefit at this threshold instead of the AUC.
        {**rows}
        """
        rule: dict[str, Any] = {"max_gap": max_gap, "max_auc_loss": max_auc_loss, "net_benefit_at": net_benefit_at}
        point = self.tradeoff(scores, y, **rows).select(**rule, confidence=confidence)
        other = self.at(point.lam)
        other.certificate_ = point.certificate
        return other

    @by_name
    def tradeoff(
        self, scores: Any = None, y: Any = None, *, lams: Any = None, ties: str | None = None, **rows: Any
    ) -> TradeoffCurve:
        """Trace AUC and gap over the repair strength, on the fitted rows or on any others.

        Parameters
        ----------
        scores : column of shape (n,) or (n, 1), ScoreTable, or None, default None
            Scores of the rows to evaluate on; a table stands for all rows. None takes the fitted rows.
        {y}
        lams : list of floats or None, default None
            Repair strengths, whatever the method calls them. None: every distinct one, exactly, where that is possible
            (FairPOT with two groups), else those that suit the method; 33 points where several groups have their own.
        ties : {"strict", "half"} or None, default None
            Whether equal scores count as none or half a win; None takes the estimator's own.
        {**rows}

        Returns
        -------
        The TradeoffCurve: ``curve.dial`` names the repair strength, ``curve.lam`` holds its values.
        """
        fit = _fit_of(self)
        checked: Ties = self.ties if ties is None else check_choice(ties, "ties", TIES)  # type: ignore[assignment]
        ground = replace(fit.ground, ties=checked)
        if scores is not None or y is not None or any(given is not None for given in rows.values()):
            table = _rows_beside(self, scores, y, rows, "a trade-off curve")
            ground = replace(ground, table=table, fitted=same_rows(table, self.table_))
        elif not self.table_.labelled:
            self.table_.require(
                "a trade-off curve", hint="the map was fitted without y: pass scores, y and sensitive_features"
            )
        values = None if lams is None else fit.final.dial.check_values(lams)
        return _kept(curve(fit.final, ground, values), _turned(self, fit, self.strength_), ground)

    @property
    def fair_maps_(self) -> FairMaps:
        """The fitted maps with all that files and exports need."""
        check_is_fitted(self, "strength_")
        found: FairMaps = _kept_in(self, "maps", lambda: _fair_maps(self))
        return found

    @property
    def maps_(self) -> dict[Hashable, ScoreMap]:
        """The fitted map of each group."""
        return self.fair_maps_.maps_

    @property
    def strengths_(self) -> dict[Hashable, float]:
        """The strength of every moved group."""
        return _fit_of(self).final.strengths(self.strength_)

    @property
    def achieved_(self) -> Achieved:
        """AUC and gap of the fitted rows, before and after, of the whole list and of the top."""
        fit = _fit_of(self)
        found: Achieved = _kept_in(self, "achieved", lambda: measure(fit.ground, self.maps_))
        return found

    def _obstacle(self, table: ScoreTable) -> str | None:
        """Say why the method cannot run on a table in reasonable time, or at all; None if it can."""
        return None

    def _html_repr(self) -> str:
        """Show gap and maps in a notebook once fitted, where scikit-learn shows an unfitted estimator."""
        if not hasattr(self, "strength_"):
            return str(super()._html_repr())
        return shown_maps(self.fair_maps_, " ".join(repr(self).split()), _fit_of(self).ground, self.achieved_)

    def __getattr__(self, name: str) -> Any:
        """Give the strength by the method's own name for it."""
        hidden = getattr(type(self), name, None)
        if isinstance(hidden, property):  # not fitted is an AttributeError: let it say so itself
            return hidden.__get__(self)
        if name != f"{type(self).dial.name}_" or "strength_" not in vars(self):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        if _fit_of(self).way is not None:
            each = ", ".join(f"{g!r}: {v:.4g}" for g, v in self.strengths_.items())
            raise AttributeError(
                f"the groups have a {self.dial.name} each: {{{each}}}.\n"
                "Hint: strengths_ has them, strength_ is how far they go on their common way."
            )
        return self.strength_

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what can be learnt again from the fitted rows."""
        state = dict(super().__getstate__())
        if "_fit" in state:
            state["_fit_way"] = state.pop("_fit").way
        return {name: value for name, value in state.items() if name != "_fit_made"}


@dataclass(frozen=True, eq=False)
class _Steps:
    """The maps of a fitted method at some strengths; a pickle keeps the method, which learns them again."""

    model: Repair

    def __call__(self, values: Any) -> Iterator[dict[Hashable, ScoreMap]]:
        return _fit_of(self.model).final.steps(np.asarray(values))


@dataclass(frozen=True, eq=False)
class _Again:
    """The maps that a fitted method learns from other rows of its groups, at the strengths it has."""

    model: Repair

    def __call__(self, table: ScoreTable, starts: dict[Hashable, float] | None) -> dict[Hashable, ScoreMap]:
        fit = _fit_of(self.model)
        kept = table.only([g for g in table.groups if g not in self.model.left_out_])
        cut = fit.ground.cut
        if cut is not None and starts is not None:
            cut = cut._replace(starts={g: starts[g] for g in kept.groups})
        family = _learner(self.model, fit.family.reference, None, cut)(kept)
        strengths = fit.final.strengths(self.model.strength_)
        return {g: family.map(g, strengths[g]) if g in strengths else ScoreMap.identity() for g in table.groups}


@dataclass(frozen=True, eq=False)
class _Search:
    """The search of a fitted method for the strength that keeps a rule on some rows."""

    model: Repair
    ground: Ground

    def __call__(self, rule: Rule) -> TradeoffPoint:
        fit = replace(_fit_of(self.model), ground=self.ground)
        if fit.way is not None and not self.ground.fitted:  # the way is that of the fitted rows
            return choose(fit.final, self.ground, rule)
        return fit.search(rule)[1]


def _kept(found: TradeoffCurve, model: Repair, ground: Ground) -> TradeoffCurve:
    """Let a curve keep a copy of the method instead of what it has learnt, so that it can be pickled."""

    def again(known: Evidence | None) -> Evidence | None:
        if known is None:
            return None
        return replace(known, parts=tuple(part._replace(steps=_Steps(model)) for part in known.parts))

    search = None if found.search is None else _Search(model, ground)
    return replace(found, evidence=again(found.evidence), whole=again(found.whole), search=search)


# What a fit does.


def _check(model: Repair, labelled: bool) -> None:
    """Check the parameters, and that outcomes are there if they are needed."""
    name, given = model.dial.name, getattr(model, model.dial.name)
    rule = Rule(*(getattr(model, each) for each in RULES)).checked()
    check_choice(model.ties, "ties", TIES)
    check_choice(model.top_of, "top_of", ("all", "group"))
    check_choice(model.repair, "repair", ("all", "top"))
    if model.keep is not None:
        check_choice(model.keep, "keep", ("grid", "probabilities"))
    if not isinstance(getattr(model, "monotone", False), bool | np.bool_):
        raise TypeError(f"monotone must be True or False, got {model.monotone!r}.")
    if model.reference is not None and not takes_reference(type(model)):
        raise ValueError(
            f"{argument('reference', model.reference)} names a group whose scores do not change, and "
            f"{type(model).__name__} moves all groups.\nHint: leave it out, or take a method with one, such as FairPOT."
        )
    if model.top is not None:
        check_top(model.top)
    elif model.repair == "top" or model.top_of == "group":
        what = argument("repair", "top") if model.repair == "top" else argument("top_of", "group")
        raise ValueError(f"{what} says something of the top, and no top is given.\nHint: add {argument('top', 0.1)}.")
    for each in rule.given:
        if given is not None:
            raise ValueError(
                f"{argument(each)} is a rule for choosing {name}, but {argument(name, given)} is given.\n"
                "Hint: leave one of them out."
            )
    if model.confidence is not None:
        check_level(model.confidence, "confidence")
        if given is not None or model.max_gap is None:
            raise ValueError(
                f"confidence={model.confidence!r} certifies a choice of {name} by max_gap.\n"
                f"Hint: {name}=None, max_gap=0.05, confidence={model.confidence!r}."
            )
    if given is not None:
        model.dial.check(given, name)
    if model.keep == "probabilities":
        _check_probabilities(model, labelled)
    if not labelled:
        _check_without_outcomes(model, rule)


def _check_probabilities(model: Repair, labelled: bool) -> None:
    asked = argument("keep", "probabilities")
    if model.net_benefit_at is not None:
        raise ValueError(
            f"{argument('net_benefit_at')} is judged at every repair strength by scores as the repair leaves "
            f"them, and {asked} gives them another meaning once the strength is chosen.\nHint: leave one of them out."
        )
    if not labelled:
        raise ValueError(
            f"{argument('y')} is missing: {asked} learns from outcomes what a score means.\n"
            "Hint: pass it, or leave keep out."
        )


def _check_without_outcomes(model: Repair, rule: Rule) -> None:
    name = model.dial.name
    if model._needs_outcomes:
        raise ValueError(
            f"{type(model).__name__} looks at outcomes and needs y.\n"
            "Hint: pass y; WassersteinRepair, or FairPOT with lam and reference, do without."
        )
    wanted = [name] if getattr(model, name) is None and (rule.given or model._unasked is None) else []
    wanted += ["reference"] if model.reference is None and takes_reference(type(model)) else []
    if wanted:
        why = "who is ranked higher is seen from outcomes"
        why = f"{name} is chosen by its effect on outcomes" if wanted[0] == name else why
        raise ValueError(
            f"{argument('y')} is missing: {why}.\n"
            f"Hint: pass it, or give {' and '.join(argument(each, ...) for each in wanted)}"
            + (" (the group whose scores do not change)." if "reference" in wanted else ".")
        )


def _learner(model: Repair, reference: Hashable | None, grid: Floats | None, cut: Cut | None) -> Learn:
    """Make the function from a table to a family: the method's own, for the top alone and on a grid where asked."""
    taken = [name for name in signature(type(model).learn).parameters if hasattr(model, name)]
    own = {name: getattr(model, name) for name in taken} | ({"reference": reference} if "reference" in taken else {})
    learn: Learn = partial(type(model).learn, **own)
    if cut is not None:
        learn = in_region(learn, cut)
    if grid is None:
        return learn
    plain = learn
    return lambda table: on_grid(plain(table), grid)


def _start(model: Repair, kept: ScoreTable, table: ScoreTable, chosen: bool = False) -> Fit:
    """Find where the repair is judged and which group stays, and learn; with ``chosen`` insist on outcomes."""
    region = "group" if model.top_of == "group" else "pooled"
    top = None if model.top is None else Top(top_share(model.top, kept), region)  # type: ignore[arg-type]
    cut = None
    if top is not None and model.repair == "top":
        cut, top = Cut(*top, kept.thresholds(*top)), None
    ground = Ground(kept, model.ties, top, cut, fitted=True)
    rows = ground.rows if len(ground.rows.counts) and all(len(c.score) for c in ground.rows.counts) else kept
    if chosen:
        require_outcomes(rows)
    reference = None
    if takes_reference(type(model)):
        reference = find_reference(rows, model.reference, model.ties, kept)
    grid = grid_of(table) if model.keep == "grid" else None
    learn = _learner(model, reference, grid, cut)
    return Fit(learn, learn(kept), ground)


def begin(model: Repair, kept: ScoreTable, table: ScoreTable | None = None) -> Fit:
    """Learn, and find the way of several groups: all that a choice by rule begins with."""
    fit = _start(model, kept, kept if table is None else table, chosen=True)
    if fit.family.reach is None or len(fit.family.moved) < 2:
        return fit
    return replace(fit, way=find_way(fit.family, fit.ground))


def _fitted(model: Repair, table: ScoreTable, groups: Any, min_group: Any) -> dict[str, Any]:
    """Fit: learn, choose a strength, and say what is to be known before it is trusted."""
    kept = kept_groups(table, min_group, groups)
    left_out = tuple(g for g in table.groups if g not in kept.groups)
    warn_of_table(kept, left_out, table, min_group)
    rule, given = Rule(*(getattr(model, each) for each in RULES)), getattr(model, model.dial.name)
    chosen = given is None and (bool(rule.given) or model._unasked is None)
    fit, certificate = begin(model, kept, table) if chosen else _start(model, kept, table), None
    if model.confidence is not None:
        strength, certificate = certify(fit.final, fit.again, fit.ground, rule, float(model.confidence))
    elif chosen:
        try:
            fit, point = fit.search(rule)
        except InfeasibleRuleError as error:
            raise InfeasibleRuleError(f"{error}{_other_method(model, fit, rule)}") from error
        strength = point.lam
        warn_of_choice(fit, rule, strength)
    else:
        strength = fit.family.dial.check(model._unasked if given is None else given, model.dial.name)
        warn_of_flat(fit, strength)
    if chosen:
        warn_of_needless(type(model).__name__, fit, rule, certificate)
    where, starts = fit.ground.cut, None
    if where is not None:  # groups that are left out have a place in the top of all rows, but no part in finding it
        starts = table.thresholds(where.alpha, where.region) | dict(where.starts)
    return {
        "strength_": strength,
        "groups_": table.groups,
        "left_out_": left_out,
        "reference_": fit.family.reference,
        "starts_": starts,
        "certificate_": certificate,
        "table_": table.nameless(),
        "n_features_in_": 1,
        "_fit": fit,
        "_fit_given": {"groups": groups, "min_group": min_group},
        "_fit_made": {},
    }


def _other_method(model: Repair, fit: Fit, rule: Rule) -> str:
    """Name a method that keeps the rule on these rows, with its AUC; or say what the best possible is."""
    ground = fit.ground
    if rule.max_gap is None or len(ground.table.groups) > _TRIED_GROUPS:
        return ""
    from fairpot.repair.registry import methods

    # xOrder alone takes long enough to keep somebody waiting for an error.
    tried = [other for other in methods().values() if other is not type(model) and other.__name__ != "XOrder"]
    found = []
    for other in tried:
        asked = {name: getattr(model, name) for name in (*RULES, "top", "top_of", "repair", "keep", "ties")}
        try:
            asked |= {"reference": fit.family.reference} if takes_reference(other) else {}
            made = begin(other(**asked), ground.table)
            found.append((made.search(rule)[1].auc, other.__name__))
        except ValueError:  # it does not keep the rule, or is not for these scores
            continue
    if found:
        auc, name = max(found)
        return f" {name} keeps it on these rows, with AUC {auc:.3f}."
    said = f" None of {', '.join(other.__name__ for other in tried)} keeps it on these rows either"
    if ground.alpha is not None or model.keep == "grid":
        return f"{said}."
    if len(ground.table.groups) == 2:
        limit: Limit | UpperLimit = Limit.of(ground.table, ties=ground.ties)
    else:
        limit = UpperLimit.of(ground.table, ties=ground.ties)
    best = limit.best(rule.max_gap).auc
    return f"{said}; the best possible AUC within it, knowing the outcomes, is {best:.3f}."


def _fit_of(model: Repair) -> Fit:
    """Give what a model was fitted with; what was left out of a copy or a pickle is learnt again from its rows."""
    check_is_fitted(model, "strength_")
    if "_fit" not in vars(model):
        kept = model.table_.only([g for g in model.groups_ if g not in model.left_out_])
        again = copy(model)
        again.reference = model.reference_
        way = model.__dict__.pop("_fit_way", None)
        model.__dict__["_fit"] = replace(_start(again, kept, model.table_), way=way)
    found: Fit = vars(model)["_fit"]
    return found


def _kept_in(model: Repair, name: str, make: Callable[[], Any]) -> Any:
    """Give what is made when it is first asked for, in one place: to scikit-learn, transform changes no attribute."""
    made = model.__dict__.setdefault("_fit_made", {})
    if name not in made:
        made[name] = make()
    return made[name]


ModelT = TypeVar("ModelT", bound=Repair)


def _turned(model: ModelT, fit: Fit, strength: float) -> ModelT:
    """Return a copy at another strength, with what the model was fitted with."""
    other = copy(model)
    other.__dict__["_fit"] = fit
    other.__dict__.pop("_fit_way", None)
    other.strength_ = strength
    other.certificate_ = None
    return other


def _rows_beside(model: Repair, scores: Any, y: Any, rows: dict[str, Any], what: str) -> ScoreTable:
    """Check and count rows other than the fitted ones, of the groups that are compared."""
    if y is None and not isinstance(scores, ScoreTable):
        raise TypeError(f"y is missing: {what} counts outcomes.\nHint: pass scores, y, sensitive_features=....")
    table = counted_like(model.fair_maps_, scores, y, rows, what)
    edges = [(float(c.score[0]), float(c.score[-1])) for c in table.counts if len(c.score)]
    told = ScoreScale.of(model.table_).mismatch_of_range(min(e[0] for e in edges), max(e[1] for e in edges))
    if told is not None:
        warn_user(told, ScaleWarning)
    kept = table.only([g for g in table.groups if g not in model.left_out_])
    if model.reference_ is not None and model.reference_ not in kept.groups:
        raise ValueError(
            f"{argument('sensitive_features')} has no rows of the reference group {model.reference_!r}: "
            f"nothing to compare {list(kept.groups)} with."
        )
    return kept


def _fair_maps(model: Repair) -> FairMaps:
    """Finish the maps: simplify those of very many breakpoints, make probabilities where asked."""
    fit = _fit_of(model)
    rule = Rule(*(getattr(model, each) for each in RULES))
    kept = whole_maps(fit.final, model.strength_, model.table_, model.keep)
    maps, simplified = finish(kept, model.table_, fit.ground, model.keep, rule, model.certificate_)
    strength: Any = model.strength_
    if fit.way is not None:
        strength = fit.final.strengths(model.strength_)
        if model.strength_ == fit.final.dial.identity:
            strength = float(model.dial.identity or 0.0)
    given = {name: value for name, value in model._fit_given.items() if value}
    certificate, table = model.certificate_, model.table_
    return FairMaps._of(
        method_=type(model).__name__,
        params_=model.get_params(deep=False) | given,
        dial_=(model.dial.name, strength),
        groups_=model.groups_,
        left_out_=model.left_out_,
        reference_=model.reference_,
        maps_=maps,
        simplified_=simplified,
        thresholds_=model.starts_,
        table_=table,
        certified_=None if certificate is None else certificate.to_dict(),
        lower_is_riskier_=table.lower_is_riskier,
        high_score_means_=table.high_score_means,
        _again=_Again(model),
    )
