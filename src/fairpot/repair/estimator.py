"""Repair: the estimator that scikit-learn sees. It stores parameters, calls the steps, and has the fitted maps."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from os import PathLike
from typing import Any, ClassVar, Literal, Self, TypeVar, Unpack, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from fairpot._arguments import by_name
from fairpot._defaults import LEVEL, TIES, Ties, Unmapped
from fairpot._docs import documented
from fairpot._said import NAMES, SETTLED, WORDS, Said, first_said
from fairpot._validation import check_choice
from fairpot._validation.columns import as_native_columns, has_names
from fairpot.counting import USUAL, as_table, columns_of, is_by_name
from fairpot.inference.certificate import Certificate
from fairpot.inference.dial import same_rows
from fairpot.modelfile.files import MAX_BYTES
from fairpot.repair.choose import Achieved, curve, measure
from fairpot.repair.estimators import Transformer
from fairpot.repair.fair_maps import (
    ROUTED_TO_TRANSFORM,
    FairMaps,
    certificate_on,
    maps_of_known,
    rows_beside,
    shown_maps,
    wrapped,
)
from fairpot.repair.family import Dial, Family
from fairpot.repair.finish import finish, whole_maps
from fairpot.repair.fitting import RULES, Fit, check_parameters, fitted, learner, rule_of, start
from fairpot.table import ScoreTable
from fairpot.tradeoff.curve import TradeoffCurve
from fairpot.transport import ScoreMap, moving

# What scikit-learn's routing passes to fit without a request; weights of rows are asked for, as everywhere in it, and
# what it calls groups goes to the splitters.
_ASKED_FOR = ("sample_weight", "pos_label", "groups", "min_group", *NAMES)
ROUTED = tuple(name for name in WORDS if name not in _ASKED_FOR)


class OwnStrength:
    """The strength by the method's own name for it, ``lam_``: there once a repair is fitted with one for all groups."""

    @overload
    def __get__(self, model: None, owner: Any) -> Self: ...
    @overload
    def __get__(self, model: Repair, owner: Any) -> float: ...
    def __get__(self, model: Repair | None, owner: Any) -> Self | float:
        """Give the strength of a fitted model."""
        if model is None:
            return self
        if "strength_" not in vars(model):
            raise AttributeError(f"{type(model).__name__!r} object has no attribute '{model.dial.name}_'")
        if _fit_of(model).way is not None:
            each = ", ".join(f"{g!r}: {v:.4g}" for g, v in model.strengths_.items())
            raise AttributeError(
                f"the groups have a {model.dial.name} each: {{{each}}}.\n"
                "Hint: strengths_ has them, strength_ is how far they go on their common way."
            )
        return model.strength_


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class Repair(Transformer):
    """A method that repairs scores: a subclass with a ``dial``, the parameter of that name, and ``learn``.

    What a subclass may say beside these has a comment below. An entry point of the group ``fairpot.methods`` that leads
    to a subclass makes it a method like fairpot's own.

    Examples
    --------
    >>> from fairpot import FairPOT
    >>> from fairpot.repair import Repair
    >>> issubclass(FairPOT, Repair), FairPOT.dial.name
    (True, 'lam')
    """

    dial: ClassVar[Dial] = Dial()
    learn: ClassVar[Callable[..., Family]]
    # How scores are moved, for people; whether the map depends on outcomes, however the strength is found.
    _moves_by: ClassVar[str] = "moved towards {reference}"
    _needs_outcomes: ClassVar[bool] = False
    # Slow, and hard to write down: tried only where it is asked for, recommended only where it is clearly better.
    _costly: ClassVar[bool] = False
    # Quick, and often of the highest AUC: other methods are held against it.
    _yardstick: ClassVar[bool] = False
    # To scikit-learn's routing the first argument is data, whatever its name; groups and what they need come unasked.
    __metadata_request__fit: ClassVar = {"scores": UNUSED, **dict.fromkeys(ROUTED, True)}
    __metadata_request__transform: ClassVar = ROUTED_TO_TRANSFORM

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
        **rows: Unpack[Said],
    ) -> Self:
        """Learn the map of every group.

        Parameters
        ----------
        scores : column of shape (n,) or (n, 1), ScoreTable, or frame
            Scores of any model, best not of the rows it was trained on. A table stands for all rows, and so does a
            frame whose columns are named.
        y : column of shape (n,), default None
            Outcomes, 0/1; needed where the method, the choice of the strength or of the reference looks at them.
        {said}
        """
        table = as_table(y, scores, labelled=False, names=("y", "scores"), **rows)
        check_parameters(self, table.labelled)
        table.require("a repair", labels=False, groups=2)
        for group, counts in zip(table.groups, table.counts):
            if len(counts.score) == 0:
                raise ValueError(
                    f"the table has no rows of the group {group!r}.\nHint: leave it out, table.only([...])."
                )
        found = fitted(self, table) | _named(scores) | {"_fit_columns": _columns(y, scores, rows)}
        for name in [name for name in vars(self) if name.endswith("_") or name.startswith("_fit")]:
            delattr(self, name)
        self.__dict__.update(found)
        return self

    def __init_subclass__(cls, **known: Any) -> None:
        """Give a method that other packages bring its strength by its own name."""
        super().__init_subclass__(**known)
        own = f"{cls.dial.name}_"
        if not hasattr(cls, own) and own not in cls.__annotations__ and own != "strength_":
            setattr(cls, own, OwnStrength())

    @by_name
    def transform(
        self,
        scores: Any,
        *,
        sensitive_features: Any,
        unknown_group: Unmapped = "error",
        missing_group: Unmapped = "error",
        other_scale: Literal["error", "warn"] | None = None,
    ) -> Any:
        """Adjust scores with the fitted maps.

        {scores, sensitive_features, unknown_group, missing_group, other_scale}

        Returns
        -------
        The adjusted scores, float64, in the order and the type of ``scores``: a series comes back as one with the same
        name and index, a list as an array. A ScaleWarning tells of scores that seem to be on another scale.
        """
        ways: dict[str, Any] = {"unknown_group": unknown_group, "missing_group": missing_group}
        ways["other_scale"] = other_scale
        return wrapped(self, self.fair_maps_.transform(scores, sensitive_features=sensitive_features, **ways))

    def save(  # noqa: D102
        self,
        path: str | PathLike[str],
        *,
        overwrite: bool = False,
        timestamp: bool = False,
        columns: Mapping[str, Any] | None = None,
        private: bool = False,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        how: dict[str, Any] = {"overwrite": overwrite, "timestamp": timestamp, "columns": columns}
        self.fair_maps_.save(path, **how, private=private, max_bytes=max_bytes)

    def frame(self) -> Any:  # noqa: D102
        return self.fair_maps_.frame()

    def plot(self, ax: Any = None) -> Any:  # noqa: D102
        return self.fair_maps_.plot(ax)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:  # noqa: D102
        return self.fair_maps_.get_feature_names_out(input_features)

    save.__doc__, frame.__doc__ = FairMaps.save.__doc__, FairMaps.frame.__doc__
    plot.__doc__, get_feature_names_out.__doc__ = FairMaps.plot.__doc__, FairMaps.get_feature_names_out.__doc__

    @by_name(but={"drop_missing": "every row comes back adjusted.\nHint: leave them out before, or fit and transform."})
    def fit_transform(self, scores: Any, y: Any = None, **rows: Unpack[Said]) -> Any:
        """Fit, then adjust the scores of the same rows.

        {scores, y, said}
        """
        if isinstance(scores, ScoreTable):
            raise TypeError("a ScoreTable holds counts, and no rows to adjust.\nHint: fit(table), then transform rows.")
        if has_names(scores):
            y, named, rows = columns_of(scores, None, rows)
            scores = named["score"]
        self.fit(scores, y, **rows)
        return self.transform(scores, sensitive_features=rows.get("sensitive_features"))

    def at(self, value: float) -> Self:
        """Return a fitted copy with another repair strength, without fitting again.

        Parameters
        ----------
        value : float
            The strength; of several groups that have their own, how far to go on their common way.
        """
        fit = _fit_of(self)
        strength = fit.final.dial.check(value, "strength" if fit.way is not None else None)
        own = {} if fit.way is not None else {self.dial.name: strength}
        return _turned(self, fit, strength).set_params(**own, **dict.fromkeys(RULES), confidence=None)

    @by_name(but=SETTLED)
    def certify(
        self, scores: Any, y: Any = None, *, max_gap: float, confidence: float = LEVEL, **rows: Unpack[Said]
    ) -> Self:
        """Certify the gap of this very map on rows that it was not fitted on.

        {scores, y, max_gap, confidence, said}

        Returns
        -------
        A copy whose ``certificate_`` says how the bound is known. Where it cannot be certified, the
        :class:`InfeasibleRuleError` names the smallest that can be.
        """
        other = _turned(self, _fit_of(self), self.strength_)
        other.certificate_ = certificate_on(self.fair_maps_, scores, y, rows, max_gap, confidence)
        return other

    @by_name(but=SETTLED)
    def choose_certified(
        self,
        scores: Any,
        y: Any = None,
        *,
        max_gap: float,
        confidence: float = LEVEL,
        max_auc_loss: float | None = None,
        net_benefit_at: float | None = None,
        **rows: Unpack[Said],
    ) -> Self:
        """Return a fitted copy whose repair strength is chosen on rows it was not fitted on, with a certified gap.

        Parameters
        ----------
        {scores, y, max_gap, confidence}
        max_auc_loss, net_benefit_at : float or None, default None
            Bound the cost as well; and choose by the net benefit at this threshold instead of the AUC.
        {said}
        """
        rule: dict[str, Any] = {"max_gap": max_gap, "max_auc_loss": max_auc_loss, "net_benefit_at": net_benefit_at}
        curve = self.tradeoff(scores, y, **rows)
        point = curve.select(**rule, confidence=confidence)
        other, held, found = self.at(point.lam), curve.evidence, point.certificate
        if found is not None and held is not None and held.top is not None and self.keep == "probabilities":
            table = held.parts[0].table  # adjusted scores are on another scale then
            moved = table.rescored(moving({g: other.maps_[g] for g in table.groups}))
            found = replace(found, starts=moved.starts(held.top))
        other.certificate_ = None if found is None else replace(found, lower_is_riskier=self.table_.lower_is_riskier)
        return other

    @by_name(but=SETTLED)
    def tradeoff(
        self, scores: Any = None, y: Any = None, *, lams: Any = None, ties: str | None = None, **rows: Unpack[Said]
    ) -> TradeoffCurve:
        """Trace AUC and gap over the repair strength, on the fitted rows or on any others.

        Parameters
        ----------
        scores : column of shape (n,) or (n, 1), ScoreTable, frame, or None, default None
            Scores of the rows to evaluate on; None takes the fitted rows.
        {y}
        lams : list of floats or None, default None
            Repair strengths, whatever the method calls them. None: every distinct one where that is possible (FairPOT
            with two groups), else those that suit the method.
        ties : {"strict", "half"} or None, default None
            Whether equal scores count as none or half a win; None takes the estimator's own.
        {said}
        """
        fit = _fit_of(self)
        checked: Ties = self.ties if ties is None else check_choice(ties, "ties", TIES)  # type: ignore[assignment]
        ground = replace(fit.ground, ties=checked)
        if scores is not None or y is not None or first_said(rows) is not None:
            table = rows_beside(self.fair_maps_, scores, y, rows, "a trade-off curve")
            ground = replace(ground, table=table, fitted=same_rows(table, self.table_))
        elif not self.table_.labelled:
            self.table_.require(
                "a trade-off curve", hint="the map was fitted without y: pass scores, y and sensitive_features"
            )
        values = None if lams is None else fit.final.dial.check_values(lams)
        rows_of = None if ground.table is fit.ground.table else ground.table
        again = partial(copy(self).tradeoff, rows_of, lams=values, ties=checked)
        found = replace(curve(fit.final, ground, values), again=again)
        return found if values is not None else replace(found, search=replace(fit, ground=ground).chosen)

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
        found: Achieved = _kept_in(self, "achieved", lambda: measure(_fit_of(self).ground, self.maps_))
        return found

    def _obstacle(self, table: ScoreTable) -> str | None:
        """Say why the method cannot run on a table in reasonable time, or at all; None if it can."""
        return None

    def _learn_again(self, table: ScoreTable, starts: dict[Hashable, float] | None) -> dict[Hashable, ScoreMap]:
        """Give the maps that the fitted method learns from other rows of its groups, at the strengths it has."""
        fit = _fit_of(self)
        kept = table.only([g for g in table.groups if g not in self.left_out_])
        cut = fit.ground.cut
        if cut is not None and starts is not None:
            cut = cut._replace(starts={g: starts[g] for g in kept.groups})
        family = learner(self, fit.family.reference, None, cut)(kept)
        strengths = self.strengths_
        return {g: family.map(g, strengths[g]) if g in strengths else ScoreMap.identity() for g in table.groups}

    def _html_repr(self) -> str:
        """Show gap and maps in a notebook once fitted, where scikit-learn shows an unfitted estimator."""
        if not hasattr(self, "strength_"):
            return str(super()._html_repr())
        return shown_maps(self.fair_maps_, " ".join(repr(self).split()), _fit_of(self).ground, self.achieved_)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what can be learnt again from the fitted rows."""
        state = dict(super().__getstate__())
        if "_fit" in state:
            state["_fit_way"] = state.pop("_fit").way
        return {name: value for name, value in state.items() if name != "_fit_made"}


def _columns(y: Any, scores: Any, rows: Said) -> dict[str, Any] | None:
    """Say what the columns of a frame are called, for frames that the maps meet later."""
    if isinstance(scores, ScoreTable) or not is_by_name(y, scores, rows) or hasattr(scores, "reader"):
        return None
    named = rows if first_said(rows, NAMES) is not None else USUAL
    groups = named.get("group") or []
    return {"score": named.get("score"), "group": [groups] if isinstance(groups, str) else [*groups]}


def _named(scores: Any) -> dict[str, Any]:
    """Give the name of the one column of a frame, as scikit-learn's estimators keep it."""
    names = getattr(None if isinstance(scores, ScoreTable) else as_native_columns(scores), "columns", ["", ""])
    return {"feature_names_in_": np.asarray(names, dtype=object)} if list(map(type, names)) == [str] else {}


def _fit_of(model: Repair) -> Fit:
    """Give what a model was fitted with; what was left out of a copy or a pickle is learnt again from its rows."""
    check_is_fitted(model, "strength_")
    if "_fit" not in vars(model):
        kept = model.table_.only([g for g in model.groups_ if g not in model.left_out_])
        again = copy(model)
        again.reference = model.reference_
        way = model.__dict__.pop("_fit_way", None)
        model.__dict__["_fit"] = replace(start(again, kept, model.table_), way=way)
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
    other = copy(model)
    other.__dict__["_fit"] = fit
    other.__dict__.pop("_fit_way", None)
    other.strength_ = strength
    other.certificate_ = None
    return other


def _fair_maps(model: Repair) -> FairMaps:
    """Finish the maps: simplify those of very many breakpoints, make probabilities where asked."""
    fit = _fit_of(model)
    kept = whole_maps(fit.final, model.strength_, model.table_, model.keep)
    maps, simplified = finish(kept, model.table_, fit.ground, model.keep, rule_of(model), model.certificate_)
    strength: Any = model.strength_
    if fit.way is not None:
        still = model.strength_ == fit.final.dial.identity
        strength = float(model.dial.identity or 0.0) if still else model.strengths_
    given = {name: value for name, value in vars(model)["_fit_given"].items() if value}
    same = ("groups_", "left_out_", "reference_", "table_", "feature_names_in_")
    return maps_of_known(
        method_=type(model).__name__,
        params_=model.get_params(deep=False) | given,
        dial_=(model.dial.name, strength),
        maps_=maps,
        simplified_=simplified,
        thresholds_=model.starts_,
        certified_=None if model.certificate_ is None else model.certificate_.to_dict(),
        lower_is_riskier_=model.table_.lower_is_riskier,
        grouping_=model.table_.grouping,
        columns_=vars(model).get("_fit_columns"),
        high_score_means_=model.table_.high_score_means,
        _method=model,
        **{name: value for name, value in vars(model).items() if name in same},
    )
