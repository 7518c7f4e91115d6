"""FittedMaps: a post-processor as it comes out of a model file, and its way into one."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from copy import copy
from dataclasses import replace
from os import PathLike
from typing import Any, NoReturn, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fairpot._version import __version__
from fairpot.exceptions import ModelFileError
from fairpot.modelfile import MAX_BYTES, ModelFile, naming, read
from fairpot.modelfile.checks import refuse, shown
from fairpot.postprocessing.mapper import ScoreMapper, ScoreScale
from fairpot.postprocessing.post_logit import PROBES, LogitMap
from fairpot.postprocessing.registry import METHODS
from fairpot.postprocessing.saving import maps_content, then_content
from fairpot.transport import FollowedMap, ScoreMap, ShiftMap, followed

_CLASSES = {each.__name__: each for each in METHODS.values()}
# What parameters and dials were called in files of earlier versions.
_RENAMED = {"FairPOT": {"threshold": "region_from"}, "PostLogit": {"alpha": "slope"}}


class FittedMaps(ScoreMapper):
    """A fitted post-processor without its data: it transforms as the one that was saved did, bit for bit.

    :func:`fairpot.load` makes it. It cannot be fitted again or trace a trade-off, which need the rows.

    Attributes
    ----------
    method_ : str
        Name of the method, such as "FairPOT".
    params_ : dict
        What the method was given.
    dial_ : (str, value)
        Name of the method's dial (lam, t, slope, theta) and its value, given or chosen in ``fit``.
    lam_, t_, slope_ or theta_ : value
        The same by its name, as the fitted method has it.
    groups_ : tuple of the groups' names
    maps_ : dict of group to ScoreMap
    reference_ : name of the group that does not change, or None
    thresholds_ : dict of group to float, or None
        The lowest score of the fitted top-alpha region.
    apply_ : dict
        What ``transform`` needs beyond the maps. If ``row_by_row``, nothing.
    fitted_on_ : dict
        Counts and score ranges, None where they rest on few people; version of the library; a fingerprint and the time
        if they were put down.
    columns_ : dict or None
        What the columns of score and group were called, if that was put down.
    certified_ : dict or None
        What the gap was certified to be within, if it was.
    private_ : dict or None
        The ``largest_error`` of any new score and the ``step`` of the knots, if the file is a private one.
    simplified_ : dict or None
        What it changes that maps of very many knots were simplified, if they were: ``largest_error`` of any adjusted
        score, ``knots_before``, ``knots``, and ``auc_change`` and ``gap_change`` of the fitted rows.
    """

    method_: str
    params_: dict[str, Any]
    dial_: tuple[str, Any]
    reference_: Hashable | None
    thresholds_: dict[Hashable, float] | None
    apply_: dict[str, Any]
    fitted_on_: dict[str, Any]
    columns_: dict[str, Any] | None
    certified_: dict[str, Any] | None
    private_: dict[str, Any] | None
    simplified_: dict[str, Any] | None

    @classmethod
    def from_content(cls, content: ModelFile) -> Self:
        """Make the transformer from the content of a model file."""
        content = _with_new_names(content)
        _check_method(content)
        model = cls()
        model.method_ = content.method
        model.params_ = content.parameters
        model.dial_ = content.dial
        setattr(model, f"{content.dial[0]}_", content.dial[1])
        model.groups_ = content.groups
        own = {group: _make_map(each) for group, each in content.maps.items()}
        model.maps_ = followed(own, None if content.then is None else _make_map(content.then))
        model.reference_ = content.reference
        model.thresholds_ = content.thresholds
        model.apply_ = content.apply
        model.fitted_on_ = content.fitted_on
        model.columns_ = content.columns
        model.lower_is_riskier_ = bool((content.columns or {}).get("lower_is_riskier", False))
        model.high_score_means_ = (content.columns or {}).get("high_score_means")
        model.certified_ = content.certificate
        model.private_ = content.private
        model.simplified_ = content.simplified
        model.n_features_in_ = 1
        return model

    def fit(self, scores: Any, y: Any = None, *, sensitive_features: Any = None, sample_weight: Any = None) -> NoReturn:
        """Refuse: what was loaded is fitted."""
        raise NotImplementedError(
            "FittedMaps comes from a file and cannot be fitted again.\n"
            "Hint: call transform; for a new fit use the method itself, such as FairPOT."
        )

    def tradeoff(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse: a map file keeps the maps at one value of the dial."""
        self._refuse("a trade-off is traced from")

    def maps_at(self, value: Any) -> NoReturn:
        """Refuse: a map file keeps the maps at one value of the dial."""
        self._refuse("maps at other values are made from")

    def certify(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse: a map file keeps the maps at one value of the dial."""
        self._refuse("a certified value is chosen from")

    def at(self, value: float | Mapping[Hashable, float]) -> Self:
        """Return a copy at the value that the file has; refuse any other.

        Parameters
        ----------
        value : float, or dict of moved group to float
        """
        check_is_fitted(self, "maps_")
        if value != self.dial_[1]:
            self._refuse("maps at other values are made from")
        return copy(self)

    def _refuse(self, what: str) -> NoReturn:
        check_is_fitted(self, "maps_")
        name, value = self.dial_
        shown = f"{value:.6g}" if isinstance(value, float | int) else str(value)
        raise NotImplementedError(
            f"a map file keeps the maps at {name} = {shown}, not the rows that {what}.\n"
            f"Hint: fit {self.method_} on the rows again and use that; fairpot.effect(model, scores, y, "
            "sensitive_features=...) measures the maps as they are."
        )

    def __repr__(self) -> str:
        dial, value = getattr(self, "dial_", ("", None))
        shown = f"{value:.6g}" if isinstance(value, float | int) else str(value)
        return f"<{getattr(self, 'method_', 'FittedMaps')} from a file: {dial} = {shown}>"

    def file_content(self) -> ModelFile:
        """Return what a model file holds of this model."""
        return ModelFile(
            method=self.method_,
            parameters=self.params_,
            dial=self.dial_,
            maps=maps_content(self.maps_, self.groups_),
            then=then_content(self.maps_),
            reference=self.reference_,
            thresholds=self.thresholds_,
            apply=self.apply_,
            fitted_on=self.fitted_on_,
            columns=self.columns_,
            certificate=self.certified_,
            private=self.private_,
            simplified=self.simplified_,
        )

    def _moves_by(self) -> str:
        return _CLASSES[self.method_].moves_by

    def _left_out(self) -> tuple[Hashable, ...]:
        """Name the groups that the parameters leave out; counts of fewer than ten people are not in the file."""
        few, named = self.params_.get("min_group") or 0, self.params_.get("groups")
        rows = {each["group"]: each["counts"]["rows"] for each in self.fitted_on_["groups"]}
        return tuple(g for g in self.groups_ if (rows[g] or 0) < few or (named is not None and g not in named))

    def _applied_by(self) -> Mapping[str, Any]:
        return self.apply_

    def _fitted_scale(self) -> ScoreScale:
        low, high = self.fitted_on_["score_range"]
        return ScoreScale(float(low), float(high))


def load(
    path: str | PathLike[str],
    *,
    expect_sha256: str | None = None,
    key: str | PathLike[str] | None = None,
    max_bytes: int = MAX_BYTES,
) -> FittedMaps:
    """Load a map file that ``save`` wrote.

    Parameters
    ----------
    path : str or path
        The map file.
    expect_sha256 : str or None, default None
        The SHA-256 of the file, if you know it: any other file is refused.
    key : str, path or None, default None
        The file of a key: the signature beside the map file must be good, see :func:`fairpot.modelfile.verify`.
    max_bytes : int, default 100,000,000
        A larger file is refused unread.

    Returns
    -------
    FittedMaps
        Its ``transform`` gives what that of the saved model gave, bit for bit.

    Raises
    ------
    ModelFileError
        If the file is anything but a complete, unchanged map file of a known schema version, if no fit can give
        its maps, or if it is not the file that was expected or signed. A good checksum does not say where a file
        comes from: ``expect_sha256`` and ``key`` do.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import fairpot
    >>> path = Path(tempfile.mkdtemp()) / "map.json"
    >>> fp = fairpot.FairPOT(1.0, reference="M").fit([0.2, 0.4, 0.6, 0.8], sensitive_features=["F", "F", "M", "M"])
    >>> fp.save(path)
    >>> fairpot.load(path).transform([0.2, 0.3, 0.8], sensitive_features=["F", "F", "M"])
    array([0.6, 0.7, 0.8])
    """
    content = read(path, expect_sha256=expect_sha256, key=key, max_bytes=max_bytes)
    with naming(path):
        return FittedMaps.from_content(content)


def _check_method(content: ModelFile) -> None:
    """Insist on a method, a dial and parameters that this version knows."""
    hint = f"Hint: it was written by fairpot {shown(content.fitted_on['library_version'])}, and this is {__version__}."
    if content.method not in _CLASSES:
        raise ModelFileError(f"the method {shown(content.method)} is not one of {', '.join(_CLASSES)}.\n{hint}")
    known = _CLASSES[content.method]().get_params(deep=False)
    unknown = sorted(set(content.parameters) - set(known))
    if unknown:
        raise ModelFileError(f"{content.method} has no parameters {shown(unknown)}.\n{hint}")
    dial, _ = content.dial
    expected = _CLASSES[content.method].dial.name
    for name, value in content.parameters.items():
        _check_parameter(name, value, known[name], expected)
    if dial != expected:
        raise ModelFileError(f"{content.method} has no repair strength {shown(dial)}, but {expected!r}.\n{hint}")


# Parameters that are numbers where they are given.
_NUMBERS = ("alpha", "max_gap", "max_auc_loss", "confidence", "min_group", "capacity", "net_benefit_at")
# Those that are one of some words, and the numbers that a share lies between.
_WORDS: dict[str, tuple[str | None, ...]] = {
    "ties": ("half", "strict"),
    "region": ("pooled", "group"),
    "region_from": ("fitted", "batch"),
    "high_score_means": (None, "help", "harm"),
}
_SHARES = ("alpha", "max_gap", "max_auc_loss", "confidence", "net_benefit_at")


def _check_parameter(name: str, value: Any, default: Any, dial: str) -> None:
    """Refuse what no fit was given: true or a text for a number, a word that is none, a share beyond 1."""
    for each in value.values() if isinstance(value, dict) else [value]:
        if type(default) is bool and type(each) is not bool:
            refuse(f"parameters.{name}", "true or false", each)
        number = isinstance(each, int | float) and type(each) is not bool
        if name in (*_NUMBERS, dial) and each is not None and not number:
            refuse(f"parameters.{name}", "a number or null", each)
        if name in _SHARES and each is not None and not 0 <= each <= 1:
            refuse(f"parameters.{name}", "from 0 to 1, or null", each)
        if name in _WORDS and each not in _WORDS[name]:
            refuse(f"parameters.{name}", f"one of {', '.join(map(repr, _WORDS[name]))}", each)
        if name == "groups" and each is not None and not isinstance(each, list):
            refuse(f"parameters.{name}", "a list of groups or null", each)


def _with_new_names(content: ModelFile) -> ModelFile:
    """Call parameters and the dial of a file by the names they have now."""
    names = _RENAMED.get(content.method, {})
    parameters = {names.get(name, name): value for name, value in content.parameters.items()}
    dial, value = content.dial
    return replace(content, parameters=parameters, dial=(names.get(dial, dial), value))


def _in_words(found: ScoreMap) -> str:
    if isinstance(found, FollowedMap):
        return f"{_in_words(found.first)}, then a probability"
    if found.is_identity:
        return "does not change"
    return found.in_words() if isinstance(found, ShiftMap) else f"{len(found.knots)} knots"


def _make_map(content: dict[str, Any]) -> ScoreMap:
    fields = {key: value for key, value in content.items() if key != "kind"}
    try:
        with np.errstate(all="ignore"):  # numbers near the end of the range overflow where they are compared
            if content["kind"] == "sigmoid":
                return LogitMap(PROBES, **fields)
            return (ShiftMap if content["kind"] == "shift" else ScoreMap).from_dict(fields)
    except ValueError as error:
        raise ModelFileError(f"a map is not one: {error}\nHint: fit and save the model again.") from error
