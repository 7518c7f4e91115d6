"""Postprocessor: what all methods share. A method adds its dial, what it learns, and the map of a group at a value."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from fairpot._arguments import argument, by_name
from fairpot._defaults import LEVEL, TIES, Meaning, Ties
from fairpot._validation import check_choice, check_level
from fairpot._warn import warn_user
from fairpot.counting import as_table, check_meaning
from fairpot.exceptions import InfeasibleRuleError, ModelFileError, ScaleWarning
from fairpot.export.simplify import SimplifiedMaps
from fairpot.inference.certify import Certificate
from fairpot.inference.dial import Evidence, Part, Top, same_rows
from fairpot.modelfile import ModelFile, describe_table
from fairpot.postprocessing.adopting import adopt, unfitted
from fairpot.postprocessing.calibrating import common_map
from fairpot.postprocessing.certified import certified_choice
from fairpot.postprocessing.dial import Dial, Value, kept_groups
from fairpot.postprocessing.gridding import cut_map, distinct_values, grid_of
from fairpot.postprocessing.large import Measured, chosen_by_rule, in_document, simplified
from fairpot.postprocessing.mapper import ROW_BY_ROW, ScoreMapper, ScoreScale, maps_on, seen_table
from fairpot.postprocessing.notices import warn_of_choice, warn_of_flat, warn_of_needless, warn_of_table
from fairpot.postprocessing.own_dials import OwnDials, check_common_dial, choose_common, has_common_dial, has_own_dials
from fairpot.postprocessing.saving import maps_content, then_content
from fairpot.table import ScoreTable
from fairpot.tradeoff.building import keeps_order, trace, trace_top
from fairpot.tradeoff.curve import TradeoffCurve
from fairpot.tradeoff.operating import Rule, capacity_share
from fairpot.tradeoff.together import Mover
from fairpot.transport import Floats, ScoreMap, followed, moving

RULES = ("max_gap", "max_auc_loss", "capacity", "net_benefit_at")
# How often a rule of an operation looks at values closer and closer around its choice.
_CLOSER = 3
Finer = Callable[[float, float], NDArray[np.float64]]
_COLUMNS = ("sensitive_features", "sample_weight", "clusters", "weights")


# What the docstring of a method says of the parameters that all have; it stands here once.
_NAMED = (
    "    confidence, capacity, net_benefit_at, calibrate, keep_grid, high_score_means, min_group, groups, ties, "
    "pos_label\n"
    "        What every method takes.\n"
)
_SHARED = """\
    confidence : float or None, default None
        With ``max_gap``: certify the choice. The gap is at most ``max_gap`` with this confidence, tested on rows that
        the maps were not fitted on (cross-fitting inside ``fit``); see ``certificate_``. If no value can be certified,
        the error says what is missing.
    capacity : float in (0, 1], int or None, default None
        How many you can act on: so many of the fitted rows (``200``), or a share of them (``0.1``). The rule then looks
        at the gap among those that are ranked highest after the repair, of the groups that are compared. The AUC is
        still that of all rows.
    net_benefit_at : float in (0, 1) or None, default None
        The adjusted score from which you act, a probability. With ``max_gap``: the highest net benefit there within
        the gap, instead of the highest AUC.
    calibrate : bool, default False
        Make the adjusted scores probabilities again, by one increasing map that is common to all groups and follows
        their repair. Ranks, AUC and gap stay to the last bit; scores that were not probabilities become some. Needs
        outcomes.
    keep_grid : bool, default False
        Give back scores of the grid that came in: deciles in, deciles out. Every repair strength is judged by the cut
        scores, and chosen after cutting. A grid has at most 1,000 distinct scores. With ``calibrate``, each score of
        the grid becomes one probability.
    high_score_means : {"help", "harm"} or None, default None
        What a high score does to the person who has it. Where it harms, the default reference is the group ranked
        lowest, so that scores are lowered. A table may say it as well; if both do, they must agree.
    min_group : int, default 0
        Groups with fewer rows are left out of the comparison: their scores do not change, and a warning names them.
    groups : list of group names or None, default None
        Compare these only; the scores of all others do not change.
    ties : {"half", "strict"}, default "half"
        How ties count where the reference group or the repair strength is chosen; "strict" is the paper's way.
    pos_label : default None
        The positive label where ``y`` is not 0/1.
"""


class Postprocessor(ScoreMapper):
    """A method that repairs scores, one map a group.

    A method is a subclass that declares its ``dial`` and implements ``_learn(table)``, which sets what is learnt
    (``reference_`` among it, if a group stays as it is), and ``_map(group, value)``, the map of a moved group at a
    value of the dial. It may also say which parameters it accepts (``_check_parameters``), which values its curve
    has by default (``_default_values``), and how to trace many of them faster (``_curve``, ``_steps``).
    """

    dial: ClassVar[Dial]
    needs_outcomes: ClassVar[bool] = False
    moves_by: ClassVar[str] = "moved towards {reference}"
    groups_: tuple[Hashable, ...]
    left_out_: tuple[Hashable, ...]
    maps_: dict[Hashable, ScoreMap]
    table_: ScoreTable
    paths_: dict[Ties, NDArray[np.float64]]  # the way of several groups' own dials, once it was asked for
    grid_: Floats | None = None
    certificate_: Certificate | None
    simplification_: SimplifiedMaps | None
    measured_: Measured | None

    __metadata_request__fit: ClassVar = {"scores": UNUSED, "weights": UNUSED}  # a word, not a column

    # What every method is given besides its own parameters.
    max_gap: float | None
    max_auc_loss: float | None
    confidence: float | None
    capacity: float | int | None
    net_benefit_at: float | None
    calibrate: bool
    keep_grid: bool
    high_score_means: Meaning | None
    min_group: int
    groups: Any
    ties: Ties
    pos_label: Any

    def __init_subclass__(cls, **options: Any) -> None:
        """Put what is said of the shared parameters into the docstring of a method."""
        super().__init_subclass__(**options)
        if cls.__doc__ is not None:
            cls.__doc__ = cls.__doc__.replace(_NAMED, _SHARED)

    @by_name
    def fit(
        self,
        scores: Any,
        y: Any = None,
        *,
        sensitive_features: Any,
        sample_weight: Any = None,
        clusters: Any = None,
        weights: str | None = None,
    ) -> Self:
        """Learn the map of every group.

        Parameters
        ----------
        scores : column of shape (n,) or (n, 1)
            Scores of any model: list, NumPy array, pandas, Polars or PyArrow column. Best not those of the rows
            the model was trained on, which look better than they are.
        y : column of shape (n,), default None
            Outcomes, 0/1; needed where the method, the choice of the repair strength or of the reference looks at them.
        sensitive_features : column of shape (n,), or frame with several columns
            Group of each row; several columns form intersections. Rows are matched by position; columns whose
            indices hold other labels, or the same in another order, are refused.
        sample_weight : column of shape (n,), default None
            Weights; a whole weight counts exactly like that many rows.
        clusters : column of shape (n,), default None
            What rows have in common that are not independent, such as the patient of each visit; a certificate
            counts them as one.
        weights : {"frequency", "importance"} or None, default None
            What ``sample_weight`` means to a certificate: a number of rows, or how much a row counts. None
            takes whole numbers for the first and others for the second.

        Returns
        -------
        self

        Examples
        --------
        >>> from fairpot import FairPOT
        >>> from fairpot.datasets import make_synthetic
        >>> data = make_synthetic(1000, random_state=0, as_frame=False)
        >>> score, y, group = data.probability, data.target, data.group
        >>> repair = FairPOT(max_gap=0.05).fit(score, y, sensitive_features=group)
        >>> repair.lam_, repair.reference_
        (0.3, 'a')
        """
        self._check(labelled=y is not None)
        return self._fit_counted(self._counted(scores, y, sensitive_features, sample_weight, clusters, weights))

    def fit_table(self, table: ScoreTable) -> Self:
        """Learn from counted rows: the same, to the last bit, as from the rows themselves.

        Parameters
        ----------
        table : ScoreTable
            From :func:`fairpot.score_table`, of rows, frames or files; with outcomes where ``fit`` needs them.

        Returns
        -------
        self

        Examples
        --------
        >>> from fairpot import FairPOT, score_table
        >>> from fairpot.datasets import make_synthetic
        >>> data = make_synthetic(1000, random_state=0, as_frame=False)
        >>> score, y, group = data.probability, data.target, data.group
        >>> table = score_table(y, score, sensitive_features=group)
        >>> FairPOT(max_gap=0.05).fit_table(table).lam_
        0.3
        """
        _check_table(table)
        self._check(labelled=table.labelled)
        return self._fit_counted(table)

    @by_name
    def fit_transform(self, scores: Any, y: Any = None, *, sensitive_features: Any, **columns: Any) -> Any:
        """Fit, then adjust the scores of the same rows.

        Parameters
        ----------
        scores : column of shape (n,) or (n, 1)
            Scores of the model: list, NumPy array, pandas, Polars or PyArrow column.
        y : column of shape (n,), default None
            Outcomes, 0/1.
        sensitive_features : column of shape (n,), or frame with several columns
            Group of each row; several columns form intersections.
        **columns
            ``sample_weight``, ``clusters`` and ``weights``, passed on to ``fit``.

        Returns
        -------
        The adjusted scores, float64, in the order and the type of ``scores``.

        Examples
        --------
        >>> from fairpot import FairPOT
        >>> score, sex = [0.2, 0.4, 0.6, 0.8], ["F", "F", "M", "M"]
        >>> FairPOT(lam=1.0, reference="M").fit_transform(score, sensitive_features=sex)
        array([0.6, 0.8, 0.6, 0.8])
        """
        self.fit(scores, y, sensitive_features=sensitive_features, **columns)
        return self.transform(scores, sensitive_features=sensitive_features)

    def maps_at(self, value: float | Mapping[Hashable, float]) -> dict[Hashable, ScoreMap]:
        """Return the fitted maps at another repair strength.

        Parameters
        ----------
        value : float, or dict of moved group to float where the method takes one
            The repair strength.

        Returns
        -------
        dict of group to ScoreMap

        Examples
        --------
        >>> from fairpot import FairPOT
        >>> score, sex = [0.2, 0.4, 0.6, 0.8], ["F", "F", "M", "M"]
        >>> repair = FairPOT(lam=1.0, reference="M").fit(score, sensitive_features=sex)
        >>> repair.maps_at(0.5)["F"]([0.2, 0.4])
        array([0.2, 0.8])
        """
        check_is_fitted(self, "groups_")
        return self.at(value).maps_

    def at(self, value: float | Mapping[Hashable, float]) -> Self:
        """Return a fitted copy with another repair strength, without fitting again.

        Parameters
        ----------
        value : float, or dict of moved group to float where the method takes one
            The repair strength.

        Returns
        -------
        fitted copy

        Examples
        --------
        >>> from fairpot import FairPOT
        >>> score, sex = [0.2, 0.4, 0.6, 0.8], ["F", "F", "M", "M"]
        >>> repair = FairPOT(lam=1.0, reference="M").fit(score, sensitive_features=sex)
        >>> repair.at(0.5).transform(score, sensitive_features=sex)
        array([0.2, 0.8, 0.6, 0.8])
        """
        check_is_fitted(self, "maps_")
        other = copy(self)
        other.set_params(**{self.dial.name: value}, **dict.fromkeys(RULES), confidence=None)
        other.certificate_ = None
        other._turn(self.dial.check_given(value, self.moved_groups))
        return other

    @by_name
    def certify(
        self,
        scores: Any,
        y: Any = None,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        clusters: Any = None,
        weights: str | None = None,
        max_gap: float,
        confidence: float = LEVEL,
        max_auc_loss: float | None = None,
        capacity: float | int | None = None,
        net_benefit_at: float | None = None,
    ) -> Self:
        """Return a fitted copy whose repair strength is chosen on other rows, with a certified gap.

        Parameters
        ----------
        scores : column of shape (n,) or (n, 1), or ScoreTable
            Scores of rows that the method was not fitted on; a table stands for all rows.
        y : column of shape (n,), default None
            Outcomes, 0/1.
        sensitive_features : column of shape (n,), or frame with several columns, default None
            Group of each row; several columns form intersections.
        sample_weight : column of shape (n,), default None
            Weights; ``weights`` says what they mean.
        clusters : column of shape (n,), default None
            What rows have in common that are not independent of each other, such as the patient of each visit.
        weights : {"frequency", "importance"} or None, default None
            What ``sample_weight`` means: a number of rows, or how much a row counts. None takes whole numbers for
            the first and others for the second.
        max_gap : float
            The target gap: the largest true gap that you accept.
        confidence : float, default 0.95
            With which confidence it is kept, whichever repair strength that leads to.
        max_auc_loss : float or None, default None
            Bound the cost as well.
        capacity : float in (0, 1], int or None, default None
            Certify the gap in this top of the list: a share, or a number of the fitted rows, taken as the share that
            they are of those.
        net_benefit_at : float in (0, 1) or None, default None
            Choose the highest net benefit at this threshold instead of the highest AUC.

        Returns
        -------
        fitted copy
            Its ``certificate_`` says how that is known.

        Raises
        ------
        InfeasibleRuleError
            If nothing can be certified, with the smallest bound that can be.

        Examples
        --------
        >>> from fairpot import FairPOT
        >>> from fairpot.datasets import make_synthetic
        >>> data = make_synthetic(4000, random_state=0, as_frame=False)
        >>> score, y, group = data.probability, data.target, data.group
        >>> repair = FairPOT(lam=0).fit(score[:2000], y[:2000], sensitive_features=group[:2000])
        >>> certified = repair.certify(score[2000:], y[2000:], sensitive_features=group[2000:], max_gap=0.1)
        >>> certified.certificate_.limit <= 0.1
        True
        """
        given = {"sample_weight": sample_weight, "clusters": clusters, "weights": weights}
        curve = self.tradeoff(scores, y, sensitive_features=sensitive_features, **given)
        rules: dict[str, Any] = {"max_gap": max_gap, "max_auc_loss": max_auc_loss, "net_benefit_at": net_benefit_at}
        if capacity is not None:
            rules["capacity"] = capacity_share(capacity, [self._compared])
        point = curve.select(**rules, confidence=confidence)
        other = self.at(point.lam)
        other.certificate_ = point.certificate
        other._keep_certified()
        return other

    @by_name
    def tradeoff(
        self,
        scores: Any = None,
        y: Any = None,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        clusters: Any = None,
        weights: str | None = None,
        lams: Any = None,
        ties: str | None = None,
    ) -> TradeoffCurve:
        """Trace AUC and gap over the repair strength, on the fitted rows or on any others.

        Parameters
        ----------
        scores : column of shape (n,) or (n, 1), ScoreTable, or None, default None
            Scores of the rows to evaluate on; a table stands for all rows. None takes the fitted rows.
        y : column of shape (n,), default None
            Outcomes, 0/1.
        sensitive_features : column of shape (n,), or frame with several columns, default None
            Group of each row; several columns form intersections.
        sample_weight : column of shape (n,), default None
            Weights; ``weights`` says what they mean.
        clusters : column of shape (n,), default None
            What rows have in common that are not independent of each other, such as the patient of each visit.
        weights : {"frequency", "importance"} or None, default None
            What ``sample_weight`` means: a number of rows, or how much a row counts. None takes whole numbers for
            the first and others for the second.
        lams : list of floats, dict of group to list, or None, default None
            Repair strengths, whatever the method calls them. None: every distinct one, exactly, where that is possible
            (FairPOT with two groups), else a grid that suits the method. Where several groups have their own: those
            with the highest AUC for each of 33 target gaps, from the original gap to the smallest, found on the fitted
            rows. A list: these in ascending order, each once, the same for all groups. A dict: lists of equal length,
            one for each moved group.
        ties : {"strict", "half"} or None, default None
            Whether equal scores count as none or half a win; None takes the estimator's own.

        Returns
        -------
        TradeoffCurve
            ``curve.dial`` names the repair strength, ``curve.lam`` holds its values. What the curve says at a value is
            what the metrics say of the rows transformed at that value.

        Examples
        --------
        >>> from fairpot import FairPOT
        >>> from fairpot.datasets import make_synthetic
        >>> data = make_synthetic(1000, random_state=0, as_frame=False)
        >>> score, y, group = data.probability, data.target, data.group
        >>> repair = FairPOT(max_gap=0.05).fit(score, y, sensitive_features=group)
        >>> curve = repair.tradeoff()
        >>> round(curve.at(0.0).gap, 3), round(curve.at(1.0).gap, 3)
        (0.275, 0.087)
        >>> round(curve.select(max_auc_loss=0.01).gap, 3)
        0.191
        """
        check_is_fitted(self, "maps_")
        checked = self._ties if ties is None else cast(Ties, check_choice(ties, "ties", TIES))
        table = self._table_to_trace(scores, y, sensitive_features, sample_weight, clusters, weights)
        moved = [g for g in table.groups if g in self.moved_groups]
        values = self._own_path(checked, moved) if lams is None else self.dial.check_values(lams, moved)
        curve = self._traced(table, values, checked)
        evidence = self._evidence(table, checked) if self.grid_ is None else self._plain_evidence(table, checked)
        return replace(curve, evidence=evidence)

    def grid_cost(self) -> dict[str, float | None]:
        """Compare what the cut repair reaches on the fitted rows with what it would reach uncut.

        Returns
        -------
        dict
            ``scores``, how many the grid has; ``auc`` and ``gap`` of the cut scores; ``auc_uncut`` and ``gap_uncut`` of
            the same method with its repair strength chosen by the same rule without cutting, or at the same value where
            no rule chose it. None where no value keeps the rule.

        Examples
        --------
        >>> from fairpot import FairPOT
        >>> score, y, sex = [4, 3, 2, 1, 3, 2, 1, 1] * 9, [1, 1, 0, 0, 1, 1, 0, 0] * 9, (["M"] * 4 + ["F"] * 4) * 9
        >>> fp = FairPOT(0.5, keep_grid=True).fit(score, y, sensitive_features=sex)
        >>> fp.grid_cost()["scores"]
        4
        """
        check_is_fitted(self, "maps_")
        if self.grid_ is None:
            raise ValueError(f"nothing was cut.\nHint: fit with {argument('keep_grid', True)}.")
        hint = "the map was fitted without y"
        table = self.table_.require("what cutting costs", hint=hint)
        table = table.only([g for g in table.groups if g not in self.left_out_])
        uncut = copy(self)
        uncut.grid_ = None
        cut = self._point(table, self._value)
        try:
            chosen = uncut._chosen(table, self._ties) if self._has_rule and self.confidence is None else self._value
            other = uncut._point(table, chosen)
        except InfeasibleRuleError:
            other = None
        known = {"auc_uncut": None if other is None else other.auc, "gap_uncut": None if other is None else other.gap}
        return {"scores": len(self.grid_), "auc": cut.auc, "gap": cut.gap, **known}

    def _point(self, table: ScoreTable, value: Value) -> Any:
        """Measure one value of the dial."""
        row = [value[g] for g in self.moved_groups] if isinstance(value, dict) else value
        return self._traced(table, np.array([row]), self._ties).point(0)

    @property
    def moved_groups(self) -> tuple[Hashable, ...]:
        """The groups whose scores the method moves: all but the reference and those left out."""
        stays = (*self.left_out_, *([self.reference_] if hasattr(self, "reference_") else []))
        return tuple(g for g in self.groups_ if g not in stays)

    def file_content(self) -> ModelFile:
        """Return what a model file holds of this model."""
        from fairpot.postprocessing.registry import METHODS

        check_is_fitted(self, "maps_")
        if type(self) not in METHODS.values():
            raise ModelFileError(
                f"{type(self).__name__} is not one of the methods that can be saved: "
                f"{', '.join(each.__name__ for each in METHODS.values())}.\n"
                "Hint: a subclass may change what transform does, which a file of maps cannot hold."
            )
        return ModelFile(
            method=type(self).__name__,
            parameters=self.get_params(deep=False),
            dial=(self.dial.name, self._value),
            maps=maps_content(self.maps_, self.groups_),
            then=then_content(self.maps_),
            reference=self._named_reference(),
            thresholds=getattr(self, "thresholds_", None),
            apply=dict(self._applied_by()),
            fitted_on=describe_table(self.table_),
            certificate=None if self.certificate_ is None else self.certificate_.to_dict(),
            simplified=self.simplified_,
        )

    @property
    def simplified_(self) -> dict[str, Any] | None:
        """What it changes that maps of very many knots were simplified; None where every knot is kept.

        ``largest_error`` of any adjusted score, ``knots_before`` and ``knots``, and ``auc_change`` and ``gap_change``
        of the fitted rows, None where they have no outcomes.
        """
        check_is_fitted(self, "maps_")
        if self.simplification_ is None:
            return None
        return in_document(self.simplification_, self._measure() if self.table_.labelled else None)

    # What a method says of itself.

    def _check_parameters(self, labelled: bool) -> None:
        """Check the method's own parameters."""

    def _learn(self, table: ScoreTable) -> None:
        """Learn from a checked table; set what the maps are made from."""
        raise NotImplementedError

    def _map(self, group: Hashable, value: float) -> ScoreMap:
        """Return the map of a moved group at a value of the dial."""
        raise NotImplementedError

    def _default_values(self, table: ScoreTable, ties: Ties) -> NDArray[np.float64]:
        """Return the values of the dial that a curve has by default."""
        raise NotImplementedError

    def _default(self) -> Value | None:
        """Return the value of the dial where it is neither given nor to be chosen; None if it is then chosen."""
        return None

    def _traces_at_once(self) -> bool:
        """Whether the dial is chosen from all its values at once, in the time of a few sorts."""
        return False

    def obstacle(self, table: ScoreTable) -> str | None:
        """Say why the method cannot run on a table in reasonable time, or at all; None if it can."""
        return None

    def sweep_values(self, table: ScoreTable) -> NDArray[np.float64] | None:
        """Return values of the dial to compare methods at, on parts of a table; None where each part has its own."""
        return self._default_values(table, self._ties)

    # What a method with a dial for each of several groups says besides.

    # Whether a rule counts an AUC above that of the original scores as equal to it, as a curve does.
    _enough_is_as_before: ClassVar[bool] = False

    def _searched(self, table: ScoreTable) -> ScoreTable:
        """Return the rows in which dials are looked for: all, or the top."""
        return table

    def _reach(self, table: ScoreTable, group: Hashable, ties: Ties) -> NDArray[np.float64]:
        """Return values that the dial of a group may take, ascending, as logarithms where it is a factor."""
        raise NotImplementedError

    def _mover(self, group: Hashable, scores: NDArray[np.float64]) -> Mover:
        """Return what gives some scores of a group at a value of its dial."""
        return lambda value: self._map(group, value)(scores)

    def _settled(self, table: ScoreTable, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values of the moved groups that are delivered for those that were found."""
        return values

    def _common_values(self, table: ScoreTable) -> NDArray[np.float64]:
        """Return values of one dial for all groups."""
        return self._default_values(table, self._ties)

    # What follows from that.

    def _check(self, labelled: bool) -> None:
        """Check the parameters, and that outcomes are there if they are needed."""
        name = self.dial.name
        given = getattr(self, name)
        check_choice(self.ties, "ties", TIES)
        if not isinstance(getattr(self, "exact", False), bool | np.bool_):
            raise TypeError(f"{argument('exact')} must be True or False, got {self.exact!r}.")
        check_meaning(self.high_score_means)
        for rule in self._rules:
            if self._rules[rule] is not None and given is not None:
                raise ValueError(
                    f"{argument(rule)} is a rule for choosing {name}, but {argument(name, given)} is given.\n"
                    f"Hint: leave one of them out."
                )
        self._rule.checked()
        self._check_confidence(given)
        check_common_dial(self, given)
        self._check_after(labelled)
        if given is not None and not isinstance(given, Mapping):
            self.dial.check(given)
        self._check_parameters(labelled)
        if not labelled:
            self._check_without_outcomes()

    def _check_confidence(self, given: Any) -> None:
        if self.confidence is None:
            return
        check_level(self.confidence, "confidence")
        if given is not None or self.max_gap is None:
            raise ValueError(
                f"confidence={self.confidence!r} certifies a choice of {self.dial.name} by max_gap.\n"
                f"Hint: {self.dial.name}=None, max_gap=0.05, confidence={self.confidence!r}."
            )

    def _check_after(self, labelled: bool) -> None:
        """Check what is to become of the scores after the repair."""
        for name in ("calibrate", "keep_grid"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise TypeError(f"{name} must be True or False, got {getattr(self, name)!r}.")
        if self.keep_grid and "batch" in (getattr(self, "region_from", ""), getattr(self, "distributions", "")):
            raise ValueError(
                f"{argument('keep_grid', True)} makes one table of scores, and maps that look at each batch have none."
                f"\nHint: leave out {argument('region_from', 'batch')} or {argument('distributions', 'batch')}."
            )
        if self.calibrate and self.net_benefit_at is not None:
            raise ValueError(
                f"{argument('net_benefit_at')} is judged at every repair strength by scores as the repair leaves "
                f"them, and {argument('calibrate', True)} gives them another meaning once the strength is chosen.\n"
                "Hint: leave one of them out."
            )
        if self.calibrate and not labelled:
            raise ValueError(
                f"{argument('y')} is missing: {argument('calibrate', True)} learns from outcomes what a score means.\n"
                "Hint: pass it, or leave calibrate out."
            )

    def _check_without_outcomes(self) -> None:
        name = self.dial.name
        if self.needs_outcomes:
            raise ValueError(
                f"{type(self).__name__} looks at outcomes and needs y.\n"
                "Hint: pass y; WassersteinRepair, or FairPOT with lam and reference, do without."
            )
        wanted = [name] if getattr(self, name) is None and (self._has_rule or self._default() is None) else []
        wanted += ["reference"] if getattr(self, "reference", "") is None else []
        if wanted:
            why = (
                f"{name} is chosen by its effect on outcomes"
                if wanted[0] == name
                else "who is ranked higher is seen from outcomes"
            )
            raise ValueError(
                f"{argument('y')} is missing: {why}.\n"
                f"Hint: pass it, or give {' and '.join(argument(each, ...) for each in wanted)}"
                + (" (the group whose scores do not change)." if "reference" in wanted else ".")
            )

    def _fit_counted(self, table: ScoreTable) -> Self:
        """Learn on a copy and take it over at the end: a fit that fails leaves the model as it was."""
        table = table.meaning(self.high_score_means)
        fresh = unfitted(self)
        fresh.table_, fresh.groups_ = table.nameless(), table.groups
        fresh.grid_ = grid_of(table) if self.keep_grid else None
        fresh.lower_is_riskier_, fresh.high_score_means_ = table.lower_is_riskier, table.high_score_means
        fresh.paths_ = {}
        kept = kept_groups(table, self.min_group, self.groups)
        fresh.left_out_ = tuple(g for g in table.groups if g not in kept.groups)
        warn_of_table(kept, fresh.left_out_, table, self.min_group)
        fresh._learn(kept)
        value = fresh._find_value(kept)
        if not hasattr(fresh, "maps_"):  # a rule has turned it
            fresh._turn(value)
        fresh._keep_certified()
        fresh.n_features_in_ = 1
        return adopt(self, fresh)

    def _find_value(self, table: ScoreTable) -> Value:
        given = getattr(self, self.dial.name)
        self.certificate_ = None
        if self.confidence is not None:
            chosen, self.certificate_ = certified_choice(self, table)
            warn_of_needless(self, table)
            return chosen
        if given is not None:
            chosen = self.dial.check_given(given, self.moved_groups)
            warn_of_flat(self, table, chosen)
            return chosen
        default = self._default()
        if default is not None and not self._has_rule:
            warn_of_flat(self, table, default)
            return default
        chosen = chosen_by_rule(self, table)
        warn_of_choice(self, table, chosen)
        warn_of_needless(self, table)
        return chosen

    def _chosen(self, table: ScoreTable, ties: Ties) -> Value:
        """Choose the value of the dial by rule; of scores that stay on a grid, by the cut ones.

        A rule of an operation looks at the rows at each value.
        """
        if self.grid_ is None:
            return self._choose_operating(table, ties) if self._rule.operating else self._choose(table, ties)
        try:
            if self._rule.operating:
                evidence = self._plain_evidence(table, ties)
                return replace(self._traced(table, None, ties), evidence=evidence).aims(self._rule).chosen().lam
            return self._traced(table, None, ties).select(**self._rules).lam
        except InfeasibleRuleError as error:
            what, _, _ = str(error).partition("\nHint: ")
            raise InfeasibleRuleError(
                f"{what} Scores are cut to their grid of {len(self.grid_)}.\n"
                f"Hint: allow a larger gap or loss, another method, or no {argument('keep_grid')}."
            ) from error

    def _choose(self, table: ScoreTable, ties: Ties) -> Value:
        """Choose the value of the dial by rule; of several groups that have their own, all together."""
        if has_own_dials(self, table):
            return OwnDials(self, table, ties).choose()
        if has_common_dial(self, table):
            return choose_common(self, table, ties)
        return self._choose_one(table, ties)

    def _choose_one(self, table: ScoreTable, ties: Ties) -> Value:
        """Choose the value of the one moved group, or of all groups, by rule."""
        return self._curve(table, None, ties).select(**self._rules).lam

    def _choose_operating(self, table: ScoreTable, ties: Ties) -> Value:
        """Choose by the gap at the top or by net benefit; where any value may be chosen, closer and closer."""
        evidence, (values, finer) = self._evidence(table, ties), self._operating_values(table, ties)
        for _ in range(_CLOSER):
            aims = replace(self._curve(table, values, ties), evidence=evidence).aims(self._rule)
            if finer is None or aims.curve.lam.ndim > 1:
                break
            low, found, high = aims.beside()
            kept = [found] if self.dial.identity is None else [found, self.dial.identity]
            values = np.unique(np.concatenate((finer(low, high), kept)))
        return aims.chosen().lam

    def _operating_values(self, table: ScoreTable, ties: Ties) -> tuple[NDArray[np.float64] | None, Finer | None]:
        """Give the values that a rule of an operation tries, None for those of a curve; and how to put more between."""
        return (OwnDials(self, table, ties).either_way() if has_own_dials(self, table) else None), None

    def _turn(self, value: Value, whole: bool = False) -> Value:
        """Set the dial, and the maps to it; ``whole`` keeps every knot."""
        setattr(self, f"{self.dial.name}_", value)
        self.maps_ = self._maps(value)
        self.simplification_ = None if whole else simplified(self, self.maps_)
        self.measured_ = None
        if self.simplification_ is not None:
            self.maps_ = self.simplification_.maps
        if self.calibrate:
            self._calibrate()
        return value

    def _calibrate(self) -> None:
        """Let the map follow that makes probabilities of what the others leave."""
        repaired = self.table_.rescored(moving(maps_on(self.table_, self.maps_, self._applied_by())))
        then = common_map(repaired)
        self.maps_ = followed(self.maps_, then)
        if self.simplification_ is not None:
            self.simplification_ = self.simplification_.followed_by(then)

    def _keep_certified(self) -> None:
        """Let simplified maps keep what is certified, with what they change; else keep every knot."""
        if self.certificate_ is None or self.simplification_ is None:
            return
        top, measured = self._top(), self._measure()
        limit = self.certificate_.limit + abs(measured.gap[2] - measured.gap[1])
        same_gap = self.certificate_.alpha == (None if top is None else top.alpha)
        if same_gap and limit <= self.certificate_.bound:
            self.certificate_ = replace(self.certificate_, limit=limit)
        else:
            self._turn(self._value, whole=True)

    def _measure(self) -> Measured:
        """Measure on the fitted rows what simplified maps change."""
        if self.measured_ is None:
            self.measured_ = Measured.of(self, self._maps(self._value), self.maps_)
        return self.measured_

    def _maps(self, value: Value) -> dict[Hashable, ScoreMap]:
        moved = self.moved_groups
        each = value if isinstance(value, dict) else dict.fromkeys(moved, value)
        maps = {g: self._map(g, each[g]) if g in moved else ScoreMap.identity() for g in self.groups_}
        return maps if self.grid_ is None else {g: cut_map(found, self.grid_) for g, found in maps.items()}

    def _traced(self, table: ScoreTable, values: NDArray[np.float64] | None, ties: Ties) -> TradeoffCurve:
        """Trace the curve on a table; of scores that stay on a grid, value by value on the cut ones."""
        if self.grid_ is None:
            return self._curve(table, values, ties)
        values = self._grid_values(table, ties) if values is None else values
        steps, reference, top = self._stepped(table, values), self._seen_from(table, ties), self._top()
        dial, identity = self.dial.name, self.dial.identity
        if top is None:
            return trace(table, values, steps, dial=dial, identity=identity, reference=reference, ties=ties)
        alpha, region = top.alpha, top.region
        return trace_top(table, values, steps, alpha=alpha, region=region, dial=dial, reference=reference, ties=ties)

    def _stepped(self, table: ScoreTable, values: NDArray[np.float64]) -> Iterable[Mapping[Hashable, ScoreMap]]:
        """Give the maps that move anybody in the table at each of the values, cut to the grid if there is one."""
        for maps in self._steps(table, values):
            if self.grid_ is not None:
                maps = {g: cut_map(maps.get(g, ScoreMap.identity()), self.grid_) for g in table.groups}
            yield maps

    def _grid_values(self, table: ScoreTable, ties: Ties) -> NDArray[np.float64]:
        """Give values of the dial at which the cut scores differ."""
        grid = cast(Floats, self.grid_)

        def cut_at(value: NDArray[np.float64]) -> Floats:
            [maps] = self._stepped(table, np.asarray(value)[None])
            return np.concatenate([np.searchsorted(grid, maps[g](grid)) for g in table.groups]).astype(np.float64)

        if has_own_dials(self, table):
            return OwnDials(self, table, ties).either_way()
        return distinct_values(self._default_values(table, ties), cut_at)

    def _curve(self, table: ScoreTable, values: NDArray[np.float64] | None, ties: Ties) -> TradeoffCurve:
        """Trace the curve on a table, value by value."""
        reference = self._seen_from(table, ties)
        values = self._default_values(table, ties) if values is None else values
        steps = self._steps(table, values)
        dial, identity = self.dial.name, self.dial.identity
        return trace(table, values, steps, dial=dial, identity=identity, reference=reference, ties=ties)

    def _own_path(self, ties: Ties, moved: list[Hashable]) -> NDArray[np.float64] | None:
        """Give the way of some groups' own dials, found on the fitted rows; None where they have none."""
        table = self.table_.only([g for g in self.groups_ if g not in self.left_out_])
        if not (has_own_dials(self, table) and table.labelled and moved):
            return None
        if ties not in self.paths_:
            self.paths_ |= {ties: OwnDials(self, table, ties).path()}
        return self.paths_[ties][:, [self.moved_groups.index(g) for g in moved]]

    def _steps(self, table: ScoreTable, values: NDArray[np.float64]) -> Iterable[Mapping[Hashable, ScoreMap]]:
        """Give the maps that move anybody in the table at each of the values."""
        moved = [g for g in table.groups if g in self.moved_groups]
        for row in values:
            each = dict(zip(moved, np.broadcast_to(row, len(moved)).tolist()))
            maps = {g: self._map(g, each[g]) if g in each else ScoreMap.identity() for g in table.groups}
            yield moving(maps_on(table, maps, self._applied_by()))

    def _orders(self, table: ScoreTable, values: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Mark the values at which something is left of the order inside every group, in the region if there is one."""
        top = self._top()
        seen = table if top is None else table.top(top.alpha, top.region)
        return np.array([keeps_order(seen, maps) for maps in self._stepped(table, values)], dtype=bool)

    def _evidence(self, table: ScoreTable, ties: Ties) -> Evidence:
        """Keep the rows of a curve, for its band; a method may have a quicker way."""
        return self._plain_evidence(table, ties)

    def _plain_evidence(self, table: ScoreTable, ties: Ties) -> Evidence:
        part = Part(table, partial(self._stepped, table))
        return Evidence((part,), ties, fitted=same_rows(table, self.table_), top=self._top())

    def _top(self) -> Top | None:
        """Give the region that the method's curve looks at; None for all rows."""
        return None

    def _seen_from(self, table: ScoreTable, ties: Ties) -> Hashable:
        """Name the group that signed gaps of a curve are seen from."""
        require_reference(table, self.reference_)
        return self.reference_

    def _counted(self, scores: Any, y: Any, *columns: Any) -> ScoreTable:
        """Check and count rows in the order of ``fit``'s arguments; a table stays as it is."""
        if isinstance(scores, ScoreTable):
            return as_table(scores, y, **dict(zip(_COLUMNS, columns)))
        labelled = {"labelled": False, "names": ("y", "scores"), "pos_label": self.pos_label}
        return as_table(y, scores, **dict(zip(_COLUMNS, columns)), **labelled)

    def _table_to_trace(self, scores: Any, y: Any, *columns: Any) -> ScoreTable:
        """Check and count the rows to evaluate a curve on; without any, take the fitted ones."""
        if all(given is None for given in (scores, y, *columns)):
            hint = "the map was fitted without y: pass scores, y and sensitive_features"
            table = self.table_.require("a trade-off curve", hint=hint)
        else:
            if y is None and not isinstance(scores, ScoreTable):
                raise TypeError(
                    "y is missing: a trade-off curve counts outcomes.\n"
                    "Hint: tradeoff(scores, y, sensitive_features=...)."
                )
            table = self._counted(scores, y, *columns).require("a trade-off curve")
            table = seen_table(table, self.groups_)
        if table is not self.table_:
            edges = [(float(c.score[0]), float(c.score[-1])) for c in table.counts if len(c.score)]
            low, high = min(low for low, _ in edges), max(high for _, high in edges)
            told = self._fitted_scale().mismatch_of_range(low, high)
            if told is not None:
                warn_user(told, ScaleWarning)
        return table.only([g for g in table.groups if g not in self.left_out_]) if self.left_out_ else table

    @property
    def _compared(self) -> ScoreTable:
        """The fitted rows of the groups that are compared."""
        return self.table_.only([g for g in self.groups_ if g not in self.left_out_]) if self.left_out_ else self.table_

    def _moves_by(self) -> str:
        return self.moves_by

    def _applied_by(self) -> Mapping[str, Any]:
        return ROW_BY_ROW

    def _fitted_scale(self) -> ScoreScale:
        edges = [(float(c.score[0]), float(c.score[-1])) for c in self.table_.counts]
        return ScoreScale(min(low for low, _ in edges), max(high for _, high in edges))

    @property
    def _value(self) -> Value:
        return cast(Value, getattr(self, f"{self.dial.name}_"))

    @property
    def _ties(self) -> Ties:
        return self.ties

    @property
    def _rules(self) -> dict[str, Any]:
        return {rule: getattr(self, rule) for rule in RULES}

    @property
    def _rule(self) -> Rule:
        return Rule(**self._rules)

    @property
    def _has_rule(self) -> bool:
        return any(value is not None for value in self._rules.values())

    def _named_reference(self) -> Hashable | None:
        """Return the reference as the groups spell it: 1 given for a group 1.0 is 1.0."""
        if not hasattr(self, "reference_"):
            return None
        return next(group for group in self.groups_ if group == self.reference_)


def require_reference(table: ScoreTable, reference: Hashable) -> None:
    """Insist that the reference group is among the rows to evaluate."""
    if reference not in table.groups:
        raise ValueError(
            f"{argument('sensitive_features')} has no rows of the reference group {reference!r}: "
            f"nothing to compare {list(table.groups)} with."
        )


def _check_table(table: Any) -> None:
    if not isinstance(table, ScoreTable):
        raise TypeError(
            f"fit_table takes a ScoreTable, got {type(table).__name__}.\n"
            "Hint: fairpot.score_table counts rows, frames and files; fit takes rows as they are."
        )
    table.require("a repair", labels=False, groups=2)
    empty = [g for g, c in zip(table.groups, table.counts) if len(c.score) == 0]
    if empty:
        raise ValueError(f"the table has no rows of the group {empty[0]!r}.\nHint: leave it out, table.only([...]).")
