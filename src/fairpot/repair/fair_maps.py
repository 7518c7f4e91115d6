"""FairMaps: fitted maps, one a group, whether fitted a second ago or read from a file."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Mapping
from copy import copy
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from os import PathLike
from typing import Any, ClassVar, Literal, NoReturn, Self, Unpack

import msgspec
import numpy as np
from msgspec import UNSET
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from fairpot._arguments import argument, by_name
from fairpot._defaults import LEVEL, TopOf, Unmapped
from fairpot._docs import documented
from fairpot._html import html_table, intervals_svg, paragraph
from fairpot._optional import make_frame
from fairpot._said import ENDS, NAMES, SETTLED, Said, first_said
from fairpot._shown import Bar, bar, display
from fairpot._validation import check_alignment, check_scores, check_seen, place_groups, restore
from fairpot._validation.grouping import check_unmapped
from fairpot._warn import warn_user
from fairpot.counting import USUAL, as_table, is_by_name
from fairpot.exceptions import ModelFileError, ScaleWarning, SmallGroupWarning
from fairpot.export import RowScorer, SimplifiedMaps, simplify, to_javascript, to_onnx, to_python, to_sql
from fairpot.export.simplify import KnownMaps
from fairpot.inference import confidence_interval
from fairpot.inference.certificate import Certificate, certify_one
from fairpot.inference.dial import Cut, Evidence, Part, SameMaps, same_rows
from fairpot.modelfile.content import check_told_apart, describe_table, listed, parameter, plain_group
from fairpot.modelfile.files import MAX_BYTES, dumps, naming, read, write
from fairpot.modelfile.forms import FORMAT, OPTIONAL, SCHEMA_VERSION, Columns, MapFile, form_of, typed
from fairpot.repair.choose import Achieved, Ground
from fairpot.repair.estimators import Transformer
from fairpot.repair.private import made_private
from fairpot.repair.stored import CALLED, TOPS, ScoreScale, StoredMaps, check_method, group_words, small_groups, told
from fairpot.table import ScoreTable, Top
from fairpot.transport import Floats, ScoreMap, moving, parted
from fairpot.words import FRACTIONS, gap_name

# A notebook measures the fitted rows by itself up to so many groups and distinct scores.
_MOST_MEASURED, _FEW = 20, 400_000
# What columns are called where nothing else is said.
_USUAL_COLUMNS = {"score": "score", "group": ["group"]}
# To scikit-learn's routing the first argument is data, whatever its name.
ROUTED_TO_TRANSFORM: dict[str, Any] = {"sensitive_features": True} | dict.fromkeys(
    ("scores", "unknown_group", "missing_group", "other_scale"), UNUSED
)


@documented
class FairMaps(StoredMaps, Transformer):
    """Fitted maps: what ``transform``, files and exports need, without the method that made them.

    A fitted repair has them as ``fair_maps_``, :func:`fairpot.load` reads them from a file.

    Attributes
    ----------
    method_, params_, dial_ : str, dict, and (str, value)
        Name of the method; what it was given; name and value of its strength, a dict where groups have their own.
    groups_, reference_, left_out_ : names of groups
        All groups, the one whose scores do not change (or None), and those left out of the comparison.
    maps_, thresholds_ : dict of group to ScoreMap; and of group to float, or None
        The maps; and the scores at which a repaired top begins.
    fitted_on_, table_, columns_ : dict, ScoreTable or None, and dict or None
        Counts and score ranges; the fitted rows, if not from a file; and what columns were called, if that was stored.
    certified_, private_, simplified_ : dict or None
        What the gap was certified to be within; and by how much a private or simplified map may differ.

    Examples
    --------
    >>> from fairpot import FairPOT
    >>> score, sex = [0.2, 0.4, 0.6, 0.8], ["F", "F", "M", "M"]
    >>> maps = FairPOT(lam=1.0, reference="M").fit(score, sensitive_features=sex).fair_maps_
    >>> maps.method_, maps.dial_, maps.reference_
    ('FairPOT', ('lam', 1.0), 'M')
    >>> maps.transform([0.3, 0.4, 0.7], sensitive_features=["F", "F", "M"])
    array([0.7, 0.8, 0.7])
    """

    _method: Any = None  # what learns from other rows, where the maps are fitted ones

    __metadata_request__transform: ClassVar = ROUTED_TO_TRANSFORM

    @classmethod
    def _from_content(cls, record: MapFile, sha256: str | None = None) -> FairMaps:
        made = cls.of(record, sha256)
        check_method(record, made.params_)
        made.__dict__.update(_named_strength(made.dial_), n_features_in_=1)
        return made

    @cached_property
    def fitted_on_(self) -> dict[str, Any]:  # type: ignore[override]
        """What a file holds of the fitted rows: counts and score ranges."""
        if self.table_ is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute 'fitted_on_'")
        found: dict[str, Any] = msgspec.to_builtins(describe_table(self.table_))
        return found

    @property
    def strength_(self) -> Any:
        """The strength: a number, or a dict where groups have their own."""
        check_is_fitted(self)
        return self.dial_[1]

    def at(self, value: float) -> NoReturn:
        """Refuse: a map file has no rows to learn other maps from."""
        raise self._of_rows()

    def tradeoff(self, scores: Any = None, y: Any = None, **rows: Any) -> NoReturn:
        """Refuse: a map file has no rows to learn other maps from."""
        raise self._of_rows()

    def choose_certified(self, scores: Any, y: Any = None, **rows: Any) -> NoReturn:
        """Refuse: a map file has no rows to learn other maps from."""
        raise self._of_rows()

    def _of_rows(self) -> AttributeError:
        return AttributeError(
            f"a map file keeps the maps at {_strength(self)}, not the rows that others are made from.\n"
            f"Hint: fit {self.method_} on the rows again and use that; fairpot.effect(model, scores, y, "
            "sensitive_features=...) measures the maps as they are."
        )

    def fit(self, scores: Any, y: Any = None, *, sensitive_features: Any = None, sample_weight: Any = None) -> NoReturn:
        """Refuse: what was loaded is fitted."""
        hint = "Hint: call transform; for a new fit use the method itself, such as FairPOT."
        raise NotImplementedError(f"FairMaps are fitted maps and cannot be fitted again.\n{hint}")

    def __repr__(self) -> str:
        if "dial_" not in vars(self):
            return "<maps of nothing>"
        where = "" if self.table_ is not None else " from a file"
        return f"<maps of {self.method_}{where}: {_strength(self)}>"

    @property
    def sha256_(self) -> str:
        """The SHA-256 of the map file they were read from or saved to; before that, of what ``save(path)`` writes."""
        if self._sha256 is None:
            self._sha256 = hashlib.sha256(dumps(self.file_content())).hexdigest()
        return self._sha256

    @property
    def scale(self) -> ScoreScale:
        """The range of the fitted scores."""
        if self.table_ is not None:
            return ScoreScale.of(self.table_)
        return super().scale

    @property
    def exported(self) -> KnownMaps:
        """What every export is told: maps and limits of scores as rows have them, which file it is, what groups are."""
        maps, (low, high) = self.maps_, self.scale.far
        if self.lower_is_riskier_:
            maps, low, high = {group: each.reflected() for group, each in maps.items()}, -high, -low
        told = "" if self.grouping_ is None else self.grouping_.told
        return KnownMaps(maps, (low, high), self.sha256_, told and f"groups are names of {told}")

    @property
    def where(self) -> Top | None:
        """The top of the list that the repair is about; None where it is about all rows."""
        given = self.params_
        top = next((given[name] for name in TOPS if given.get(name) is not None), None)
        top_of: TopOf = "group" if "group" in (given.get("top_of"), given.get("region")) else "all"
        if top is None:
            return None
        if self.table_ is not None:
            return self.table_.only([g for g in self.groups_ if g not in self.left_out_]).find_top(top, top_of)
        if not isinstance(top, int):
            return Top(float(top), top_of)
        # A file keeps no counts of few rows.
        kept = [each for each in self.fitted_on_["groups"] if each["group"] not in self.left_out_]
        return Top(min(top / (sum(each["counts"]["rows"] or 0 for each in kept) or top), 1.0), top_of, top)

    def top_in(self, table: ScoreTable) -> Top | None:
        """Find the top that the repair is about in other rows: of another number of rows, the same share of them.

        Parameters
        ----------
        table : ScoreTable
            The other rows.
        """
        where = self.where
        if where is None or where.rows is None or round(where.share * table.rows, 6) == where.rows:
            return where
        return where._replace(rows=None)

    def seen(self, table: ScoreTable) -> ScoreTable:
        """Insist that all groups of a table have a map and that it points the same way; call them what they were."""
        if table.lower_is_riskier != self.lower_is_riskier_:
            raise ValueError(
                f"a {'low' if self.lower_is_riskier_ else 'high'} score means high risk to the map, but not to this "
                "table.\nHint: count the rows in the same direction, score_table(..., lower_is_riskier=...)."
            )
        return table.renamed(check_seen(table.groups, self.groups_, table.rows_of))

    def maps_on(self, table: ScoreTable) -> dict[Hashable, ScoreMap]:
        """Give the maps of the groups of a table that points the same way."""
        seen = self.seen(table)
        return {g: self.maps_[name] for g, name in zip(table.groups, seen.groups)}

    @by_name(but=SETTLED)
    def certify(
        self, scores: Any, y: Any = None, *, max_gap: float, confidence: float = LEVEL, **rows: Unpack[Said]
    ) -> Self:
        """Certify the gap of these very maps on rows that they were not fitted on.

        {scores, y, max_gap, confidence, said}

        Returns
        -------
        A copy whose ``certified_`` (of a fitted method: ``certificate_``) says how the bound is known. Where it cannot
        be certified, the :class:`InfeasibleRuleError` names the smallest that can be.
        """
        other = copy(self)
        other.certified_ = certificate_on(self, scores, y, rows, max_gap, confidence).to_dict()
        return other

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
        check_is_fitted(self)
        check_alignment(scores=scores, sensitive_features=sensitive_features)
        ways: dict[str, Any] = {"unknown_group": unknown_group, "missing_group": missing_group}
        check_unmapped(unknown_group, missing_group, self.groups_)
        clean = _turned(self, check_scores(scores))
        codes = place_groups(sensitive_features, len(clean), self.groups_, **ways, grouping=self.grouping_)
        self.scale.judge(clean, other_scale)
        result = clean.copy()
        for place, group in enumerate(self.groups_):
            rows = np.flatnonzero(codes == place)
            if len(rows) and not self.maps_[group].is_identity:
                result[rows] = self.maps_[group](clean.take(rows))
        for place, way in ((-1, unknown_group), (-2, missing_group)):
            if way == "null":
                result[codes == place] = np.nan
        return wrapped(self, restore(_turned(self, result), scores))

    def frame(self) -> Any:
        """Return the maps as a tidy frame (pandas, Polars or PyArrow, whichever is in use).

        One row per group and breakpoint: ``group``, ``score`` and ``adjusted``. Between breakpoints a map is a straight
        line; a group whose scores do not change has none.
        """
        scale = self.scale
        ends = np.array([scale.low, scale.high])  # of a map that adds the same to every score
        moved = [g for g in self.groups_ if not self.maps_[g].is_identity]
        found = [(g, self.maps_[g].knots if len(self.maps_[g].knots) else ends) for g in moved]
        score = np.concatenate([np.empty(0), *(knots for _, knots in found)])
        adjusted = np.concatenate([np.empty(0), *(self.maps_[g](knots) for g, knots in found)])
        group = [g for g, knots in found for _ in range(len(knots))]
        return make_frame({"group": group, "score": _turned(self, score), "adjusted": _turned(self, adjusted)})

    def plot(self, ax: Any = None) -> Any:
        """Draw what each group's scores become.

        {ax}
        """
        return display("draw_maps")(self.maps_, self.table_, ax)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Name the one output column, for ``set_output``."""
        known = self.__dict__.get("feature_names_in_", ["score"])
        names = list(known if input_features is None else input_features)
        if len(names) != 1:
            raise ValueError(f"input_features must name the one column of scores, got {len(names)} names.")
        return np.asarray(names, dtype=object)

    def save(
        self,
        path: str | PathLike[str],
        *,
        overwrite: bool = False,
        timestamp: bool = False,
        columns: Mapping[str, Any] | None = None,
        private: bool = False,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        """Write the fitted maps to a JSON file, for :func:`fairpot.load`; equal fits give equal bytes.

        The breakpoints of a map are scores of people it was fitted on (docs/understand/privacy.md); a SmallGroupWarning
        tells of groups with fewer than ten.

        Parameters
        ----------
        {path, overwrite}
        timestamp : bool, default False
            Whether the time of saving is stored.
        columns : dict or None, default None
            ``{"score": name, "group": [names]}``: what `fairpot apply` looks for in a file.
        private : bool, default False
            Whether the maps are those learnt from means of at least ten rows, and counts are rounded. The file says by
            how much adjusted scores may differ.
        {max_bytes}
        """
        content = self.private_content() if private else self.file_content()
        few = small_groups(content, self.table_) if content.private is UNSET else []
        if few:
            warn_user(
                f"{told(few)}.\nHint: {argument('private', True)}, {argument('min_group', 10)}, "
                "or keep the file as you keep the data.",
                SmallGroupWarning,
            )
        if columns is not None or self.lower_is_riskier_ or self.high_score_means_:
            content = msgspec.structs.replace(content, columns=self._columns(columns))
        if timestamp:
            now = datetime.now(UTC).isoformat(timespec="seconds")
            content.fitted_on.time = now
        digest = write(content, path, overwrite=overwrite, max_bytes=max_bytes)
        self._sha256 = self._sha256 if private else digest  # a private file holds other maps than these

    def _columns(self, named: Mapping[str, Any] | None) -> Columns:
        """Say what columns are called, as a file does: as it is said now, or was, or usually."""
        names = named or self.columns_ or _USUAL_COLUMNS
        if (named is not None and set(named) != {"score", "group"}) or isinstance(names["group"], str):
            raise ModelFileError("columns must be {'score': name, 'group': [names]}.")
        return Columns(
            score=str(names["score"]),
            group=[str(name) for name in names["group"]],
            lower_is_riskier=self.lower_is_riskier_ or UNSET,
            high_score_means=self.high_score_means_ or UNSET,
        )

    def private_content(self) -> MapFile:
        """Return what a private model file holds; ``private.largest_error`` says how far new scores differ."""
        learn = None if self._method is None else self._method._learn_again
        return made_private(self.file_content(), self.maps_, self.table_, learn)

    def file_content(self) -> MapFile:
        """Return what a model file holds of this model."""
        own, then = parted(self.maps_)
        check_told_apart(self.groups_)
        known = {name: getattr(self, CALLED.get(name, f"{name}_"), None) for name in OPTIONAL}
        known["then"] = None if then is None else msgspec.to_builtins(form_of(then))
        known["grouping"] = None if self.grouping_ is None else self.grouping_.written
        known = {name: part for name, part in known.items() if part is not None} | {
            "format": FORMAT,
            "schema_version": SCHEMA_VERSION,
            "checksum": "0" * 64,  # written last, over all else
            "method": self.method_,
            "parameters": {key: parameter(given, f"parameters.{key}") for key, given in self.params_.items()},
            "dial": {"name": self.dial_[0], "value": parameter(self.dial_[1], "dial.value")},
            "maps": listed({group: msgspec.to_builtins(form_of(own[group])) for group in self.groups_}, "map"),
            "reference": plain_group(self.reference_),
            "thresholds": None if self.thresholds_ is None else listed(self.thresholds_),
            "apply": {"kind": "maps"},
            "fitted_on": self.fitted_on_,
            "columns": self.columns_,
        }
        return typed(known)

    def _html_repr(self) -> str:
        return shown_maps(self, repr(self)[1:-1])

    def to_sql(self, dialect: str, **options: Any) -> str:
        """Write the maps as SQL, see :func:`fairpot.export.to_sql`.

        Parameters
        ----------
        dialect : str
            The database, such as "postgres".
        {**options}
        """
        return to_sql(self.exported, dialect=dialect, **options)

    def to_onnx(self, **options: Any) -> Any:
        """Write the maps as an ONNX model, see :func:`fairpot.export.to_onnx`.

        {**options}
        """
        return to_onnx(self.exported, **options)

    def to_python(self, **options: Any) -> str:
        """Write the maps as a Python module, see :func:`fairpot.export.to_python`.

        {**options}
        """
        return to_python(self.exported, **options)

    def to_javascript(self, **options: Any) -> str:
        """Write the maps as a JavaScript file, see :func:`fairpot.export.to_javascript`.

        {**options}
        """
        return to_javascript(self.exported, **options)

    def row_scorer(self, **options: Any) -> RowScorer:
        """Return a function of one score and its group, see :class:`fairpot.export.RowScorer`.

        {**options}
        """
        return RowScorer(self.exported, grouping=self.grouping_, **options)

    def simplify(self, *, max_error: float) -> SimplifiedMaps:
        """Return maps with fewer breakpoints, which every export takes; see :func:`fairpot.export.simplify`.

        Parameters
        ----------
        max_error : float >= 0
            No adjusted score may differ by more than this.
        """
        return simplify(self.exported, max_error=max_error)


def maps_of_known(**known: Any) -> FairMaps:
    """Make fitted maps of all that is known of them."""
    maps = FairMaps()
    maps.__dict__.update(_named_strength(known["dial_"]), **known, n_features_in_=1)
    return maps


def _named_strength(dial: tuple[str, Any]) -> dict[str, Any]:
    """Give the strength by the method's own name for it."""
    name, strength = dial
    return {} if name == "strength" else {f"{name}_": strength}


def wrapped(model: BaseEstimator, adjusted: Any) -> Any:
    """Make a frame of a series where Polars frames are asked for, which scikit-learn makes of no pandas series."""
    asked = getattr(model, "_sklearn_output_config", {}).get("transform", get_config()["transform_output"])
    return adjusted.to_frame() if asked == "polars" and hasattr(adjusted, "to_frame") else adjusted


def _turned(maps: FairMaps, scores: Floats) -> Floats:
    """Turn scores to the direction that the maps were fitted in, or back."""
    return 0.0 - scores if maps.lower_is_riskier_ else scores


def table_for(
    maps: FairMaps, scores: Any, y: Any, rows: Said, *, labelled: bool = True, names: tuple[str, str] = ("y", "scores")
) -> ScoreTable:
    """Count rows that maps are judged on; what is not said of them is what was said of those of the fit."""
    if (settled := first_said(rows, SETTLED)) is not None:
        raise TypeError(f"{argument(settled)} says nothing new: {SETTLED[settled]}")
    if not isinstance(scores, ScoreTable) and not isinstance(y, ScoreTable):
        rows = {"lower_is_riskier": maps.lower_is_riskier_, **rows}
        if maps.columns_ is not None and is_by_name(y, scores, rows):
            label: Said = USUAL if first_said(rows, NAMES) is None else {}
            rows = {**label, "score": maps.columns_["score"], "group": maps.columns_["group"], **rows}
    return as_table(y, scores, labelled=labelled, names=names, grouping=maps.grouping_, **rows)


def rows_beside(maps: FairMaps, scores: Any, y: Any, rows: Said, what: str) -> ScoreTable:
    """Check and count rows to judge maps on, of the groups that are compared, by the names that these have."""
    counted = isinstance(scores, ScoreTable) or is_by_name(y, scores, rows) or first_said(rows, ENDS) is not None
    if not counted and y is None:
        raise TypeError(f"y is missing: {what} counts outcomes.\nHint: pass scores, y, sensitive_features=....")
    table = maps.seen(table_for(maps, scores, y, rows, labelled=False).require(what))
    here = ScoreScale.of(table)
    told = maps.scale.mismatch_of_range(here.low, here.high)
    if told is not None:
        warn_user(told, ScaleWarning)
    kept = table.only([g for g in table.groups if g not in maps.left_out_])
    if maps.reference_ is not None and maps.reference_ not in kept.groups:
        raise ValueError(
            f"{argument('sensitive_features')} has no rows of the reference group {maps.reference_!r}: "
            f"nothing to compare {list(kept.groups)} with."
        )
    return kept


def _strength(maps: FairMaps) -> str:
    name, value = maps.dial_
    return f"{name} = {value:.6g}" if isinstance(value, float | int) else f"{name} = {value}"


def certificate_on(maps: FairMaps, scores: Any, y: Any, rows: Said, max_gap: float, confidence: float) -> Certificate:
    """Certify the gap of maps on rows that they were not fitted on, in the part of the list that they are about."""
    table = rows_beside(maps, scores, y, rows, "a certificate")
    if maps.table_ is not None and same_rows(table, maps.table_):
        raise ValueError(
            "nothing can be certified on the rows that the map was fitted on.\n"
            "Hint: pass other rows, or give confidence to the method, which then cross-fits."
        )
    top, cut = maps.top_in(table), None
    if top is not None and maps.thresholds_ is not None:
        cut, top = Cut(top, {g: maps.thresholds_[g] for g in table.groups}), None
    ground = Ground(table, maps.params_.get("ties", "half"), top, cut)
    moved = moving({g: each for g, each in maps.maps_.items() if g in table.groups})
    found = Evidence((Part(ground.rows, SameMaps(moved)),), ties=ground.ties, top=top, cut=cut)
    name, value = maps.dial_
    values = np.array([value if isinstance(value, int | float) else np.nan])
    dial = found.held(values, found.tops(values, name))
    how: dict[str, Any] = {"unrepaired": found.unrepaired(), "rows": found.rows, "name": name, "top": found.seen_in}
    return replace(certify_one(dial, max_gap, confidence, **how), lower_is_riskier=table.lower_is_riskier)


def shown_maps(maps: FairMaps, title: str, ground: Ground | None = None, achieved: Achieved | None = None) -> str:
    """Show gap and maps in a notebook."""
    said, bars = _measured_here(maps, ground, achieved)
    gaps = intervals_svg(bars, "The gap on the fitted rows, with its interval")
    words = group_words(maps)
    rows = [{"group": g, "scores": words[g][1 if maps.maps_[g].is_identity else 0]} for g in maps.groups_]
    return f"<div>{paragraph(title, said)}{gaps}{html_table(rows, 'What becomes of scores')}</div>"


def _measured_here(maps: FairMaps, ground: Ground | None, achieved: Achieved | None) -> tuple[str, list[Bar]]:
    """Say what is achieved on the fitted rows, and estimate the gap there for a picture; or say how to."""
    if ground is None or achieved is None:
        return "A map file has no rows: fairpot.effect(model, scores, y, ...) measures gap and intervals.", []
    kept, name = ground.rows, gap_name(ground.size)
    if not kept.labelled:
        return "fairpot.effect(model, scores, y, ...) measures gap and AUC with intervals.", []
    known = achieved.gap_before, achieved.gap
    if achieved.gap_top is not None and achieved.gap_top_before is not None:
        known = achieved.gap_top_before, achieved.gap_top
    was, now, auc_was, auc_now = map(FRACTIONS.auc, (*known, achieved.auc_before, achieved.auc))
    said = f"On the fitted rows: {name} {was} -> {now}, AUC {auc_was} -> {auc_now}; new rows may differ."
    if len(kept.groups) > _MOST_MEASURED or sum(len(c.score) for c in kept.counts) > _FEW:
        return f"{said} fairpot.effect(model, scores, y, ...) has the intervals.", []
    moved = moving({g: m for g, m in maps.maps_.items() if g in kept.groups})
    asked: dict[str, Any] = {"ties": ground.ties}
    if ground.top is not None:
        asked |= {"top": ground.top.size, "top_of": ground.top.top_of}
    gaps = [confidence_interval("xauc_gap", each, **asked) for each in (kept, kept.rescored(moved))]
    return said, [bar(f"{name} {when}", gap) for when, gap in zip(("before", "after"), gaps)]


def fair_maps(model: Any) -> FairMaps | None:
    """Give the fitted maps of a repair method, or of what is such maps; None of anything else."""
    if isinstance(model, FairMaps):
        return model
    found = getattr(model, "fair_maps_", None) if hasattr(type(model), "fair_maps_") else None
    return found if isinstance(found, FairMaps) else None


@documented
def load(path: str | PathLike[str], *, expect_sha256: str | None = None, max_bytes: int = MAX_BYTES) -> FairMaps:
    """Load a map file that ``save`` wrote: the same maps, bit for bit.

    Parameters
    ----------
    path : str or path
        The map file.
    expect_sha256 : str or None, default None
        The SHA-256 of the file, if you know it: any other file is refused. A good checksum inside the file does not say
        where it comes from.
    {max_bytes}

    Raises
    ------
    ModelFileError
        If it is anything but a complete, unchanged map file of a known schema version, or no fit can give its maps.

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
    record, digest = read(path, expect_sha256=expect_sha256, max_bytes=max_bytes)
    with naming(path):
        return FairMaps._from_content(record, digest)
