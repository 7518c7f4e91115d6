"""ScoreMapper: one fitted map a group, applied to rows and saved to a file."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from fairpot._arguments import argument, by_name
from fairpot._defaults import UNMAPPED, Meaning, Unmapped
from fairpot._html import html_table, intervals_svg, lines_svg, paragraph
from fairpot._optional import make_frame
from fairpot._shown import Bar, bar, display
from fairpot._validation import check_alignment, check_choice, check_scores, check_seen, place_groups, restore, wording
from fairpot._validation.columns import as_column
from fairpot._warn import warn_user
from fairpot.engines.adjusting import UNKNOWN
from fairpot.exceptions import ScaleWarning, SmallGroupWarning
from fairpot.inference import overview
from fairpot.inference.limits import gap_name
from fairpot.modelfile import MAX_BYTES, ModelFile, write
from fairpot.postprocessing.exporting import Exports
from fairpot.postprocessing.private import made_private
from fairpot.postprocessing.saving import (
    USUAL_COLUMNS,
    small_groups,
    stamped,
    told,
    with_columns,
    with_fingerprint,
)
from fairpot.table import ScoreTable
from fairpot.transport import Floats, ScoreMap, followed, moving, parted, project
from fairpot.transport.scoremap import part_words

# Beyond the fitted range by more than this share of its width is far outside.
_FAR = 0.5
# So many rows far outside, as a share, and the batch is suspect.
_MANY = 0.01
# So many of them, and the scores as a whole are on another scale.
_ALL = 0.9
# A batch that fills less than this share of the fitted range is suspect, if it has scores enough to tell.
_NARROW, _ENOUGH = 0.05, 30
# A notebook measures the fitted rows by itself up to so many groups and distinct scores.
_MOST_MEASURED, _FEW = 20, 400_000


class Mismatch(NamedTuple):
    """What is told about a batch on another scale."""

    message: str
    category: type[Warning]
    outside: int


@dataclass(frozen=True)
class ScoreScale:
    """The range of the fitted scores.

    A batch is on another scale if more than 1 % of its rows lie further outside the fitted range than half its
    width, or if 30 or more distinct scores fill less than a twentieth of it.
    """

    low: float
    high: float

    @property
    def far(self) -> tuple[float, float]:
        """The scores below and above which others are far outside."""
        width = self.high - self.low
        return (self.low - _FAR * width, self.high + _FAR * width) if width > 0 else (-np.inf, np.inf)

    def is_left(self, outside: int, rows: int) -> bool:
        """Whether so many rows far outside are another scale, not a few odd people."""
        return outside > _MANY * rows

    def mismatch_of_range(self, low: float, high: float) -> str | None:
        """Say what is odd about a batch of which only the range is known; None if nothing is.

        Its ends lie further outside the fitted range than half its width, or it fills less than a twentieth of it.
        """
        width = self.high - self.low
        if width <= 0 or high < low:
            return None
        seen = (
            f"the map was fitted on scores from {self.low:g} to {self.high:g}, and these run from {low:g} to {high:g}"
        )
        if low < self.low - _FAR * width or high > self.high + _FAR * width:
            return f"scores lie far outside the fitted range: {seen} (far: by more than half its width)."
        if 0 < high - low < _NARROW * width:
            return f"scores fill less than a twentieth of the fitted range: {seen}; is this another scale?"
        return None

    def mismatch(self, scores: NDArray[np.float64]) -> Mismatch | None:
        """Say what is odd about the scores of a batch; None if nothing is."""
        width = self.high - self.low
        if len(scores) == 0 or width <= 0:
            return None
        low, high = float(scores.min()), float(scores.max())
        beyond = int(((scores < self.low - _FAR * width) | (scores > self.high + _FAR * width)).sum())
        seen = (
            f"the map was fitted on scores from {self.low:g} to {self.high:g}, and these run from {low:g} to {high:g}"
        )
        hint = "\nHint: bring the scores to the scale of fit (0-1 or 0-100, probabilities or log-odds), or fit anew."
        if self.is_left(beyond, len(scores)):
            outside = f"{beyond} of {len(scores)} scores lie far outside the fitted range: {seen}"
            return Mismatch(f"{outside} (far: by more than half its width).{hint}", ScaleWarning, beyond)
        if high - low < _NARROW * width and len(np.unique(scores)) >= _ENOUGH:
            inside = f"{len(scores)} scores fill less than a twentieth of the fitted range: {seen}"
            return Mismatch(f"{inside}; is this another scale?{hint}", ScaleWarning, beyond)
        return None


class Adjusted(NamedTuple):
    """Scores before and after, in the direction of fit, with the group of each row and the maps that hold."""

    old: Floats
    new: Floats
    codes: NDArray[Any]
    maps: Mapping[Hashable, ScoreMap]


def descending_ranks(scores: Floats) -> NDArray[np.int64]:
    """Rank scores from the highest, 1; equal ones share the best rank among them.

    Examples
    --------
    >>> descending_ranks(np.array([0.3, 0.9, 0.9, 0.1]))
    array([3, 1, 1, 4])
    """
    return np.asarray(len(scores) - np.searchsorted(np.sort(scores), scores, side="right") + 1, dtype=np.int64)


Maps = Mapping[Hashable, ScoreMap]
ROW_BY_ROW: dict[str, Any] = {"kind": "maps"}


def maps_on(table: ScoreTable, maps: Maps, rule: Mapping[str, Any]) -> dict[Hashable, ScoreMap]:
    """Return the maps for the rows that a table counts.

    ``rule`` is what a model file calls ``apply``: ``{"kind": "maps"}`` takes the maps as they are,
    ``top_of_batch`` lets them begin at the top alpha of these rows, ``barycentre_of_batch`` makes them from the
    distributions of these rows. Rows without a map count among the others, and get none.
    """
    groups = [g for g in table.groups if g is not UNKNOWN]
    if rule["kind"] == "top_of_batch":
        starts = table.thresholds(rule["alpha"], rule["region"])
        return {g: maps[g].starting_at(starts[g]) for g in groups}
    if rule["kind"] == "barycentre_of_batch":
        kept = [g for g in maps if g not in rule.get("left_out", ())]
        full, (own, then) = barycentre_maps(all_of(table, kept)), parted(maps)
        return followed({g: part_of_the_way(full[g], rule["t"]) if g in full else own[g] for g in groups}, then)
    return {g: maps[g] for g in groups}


def seen_table(table: ScoreTable, known: Sequence[Hashable]) -> ScoreTable:
    """Insist that all groups of a table were there in fit, and call them what they were called there."""
    return table.renamed(check_seen(table.groups, known, table.rows_of))


def all_of(table: ScoreTable, groups: list[Hashable]) -> ScoreTable:
    """Insist that a batch has rows of all the groups, and return those."""
    absent = [g for g in groups if g not in table.groups]
    if absent:
        raise ValueError(
            f"distributions='batch' needs rows of every fitted group, and there are none of {absent}.\n"
            "Hint: transform a batch with all groups, or use distributions='fitted'."
        )
    return table.only(groups)


def barycentre_maps(table: ScoreTable) -> dict[Hashable, ScoreMap]:
    """Map the scores of every group to the size-weighted barycentre of the groups' distributions.

    The mean of the barycentre's quantile function over a score's mass is the mean, over the groups, of the
    score's projections onto them: so the exact projection does all the work. The sum is taken in one order
    for all groups and in extended precision, so that scores of two groups with the same mass interval
    become equal bit for bit.
    """
    sizes = [c.weight.sum() for c in table.counts]
    total = np.longdouble(sum(sizes))
    maps = {}
    for group, own in zip(table.groups, table.counts):
        mean = np.zeros(len(own.score), dtype=np.longdouble)
        for size, other in zip(sizes, table.counts):
            onto = own.score if other is own else project(own.score, own.weight, other.score, other.weight)
            mean += np.longdouble(size) * onto
        maps[group] = ScoreMap(own.score, (mean / total).astype(np.float64))
    return maps


def part_of_the_way(full: ScoreMap, t: float) -> ScoreMap:
    """Return the map that goes the share ``t`` of the way that ``full`` goes."""
    if t == 0:
        return ScoreMap.identity()
    start, end = full.knots, full.values
    mixed = (1 - t) * start + t * end
    # Round-off must not lead past either end: a score that is where it should be stays so bit for bit.
    return ScoreMap(start, np.clip(mixed, np.minimum(start, end), np.maximum(start, end)))


def _tell(found: Mismatch, rows: int, other_scale: str | None) -> None:
    """Warn of another scale, or refuse it."""
    if other_scale is not None:
        check_choice(other_scale, "other_scale", ("error", "warn"))
    if other_scale == "error" or (other_scale is None and found.outside >= _ALL * rows):
        raise ValueError(f"{found.message} {argument('other_scale', 'warn')} lets them through.")
    warn_user(found.message, found.category)


class ScoreMapper(Exports, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """What has fitted maps: ``groups_``, ``maps_``, and a rule that says which of them hold for a batch."""

    groups_: tuple[Hashable, ...]
    maps_: dict[Hashable, ScoreMap]
    # Whether a low score means high risk: maps are then of scores with a minus, which the rows' own scores are given.
    lower_is_riskier_: bool = False
    # What a high score does to a person, if that was said.
    high_score_means_: Meaning | None = None

    # To scikit-learn's routing the first argument is data, whatever its name.
    __metadata_request__transform: ClassVar = dict.fromkeys(
        ("scores", "unknown_group", "missing_group", "other_scale"), UNUSED
    )

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

        Parameters
        ----------
        scores : column of shape (n,) or (n, 1)
            Scores of the model: list, NumPy array, pandas, Polars or PyArrow column.
        sensitive_features : column of shape (n,), or frame with several columns
            Group of each row; several columns form intersections.
        unknown_group : {"error", "keep", "null"}, default "error"
            What becomes of rows whose group was not seen in ``fit``: an error that counts them, the original score, or
            NaN.
        missing_group : {"error", "keep", "null"}, default "error"
            What becomes of rows that have no group, likewise.
        other_scale : {"error", "warn"} or None, default None
            What is done about scores that seem to be on another scale than those of ``fit``. None stops if nine in ten
            lie far outside the fitted range, where some groups would be moved and others not, and warns otherwise.

        Returns
        -------
        The adjusted scores, float64, in the order and the type of ``scores``: a pandas or Polars series comes
        back as one with the same name and index, a list as an array.

        Warns
        -----
        ScaleWarning
            If the scores seem to be on another scale than those of ``fit``.

        Examples
        --------
        >>> from fairpot import FairPOT
        >>> score, sex = [0.2, 0.4, 0.6, 0.8], ["F", "F", "M", "M"]
        >>> repair = FairPOT(lam=1.0, reference="M").fit(score, sensitive_features=sex)
        >>> repair.transform([0.3, 0.4, 0.7], sensitive_features=["F", "F", "M"])
        array([0.7, 0.8, 0.7])
        """
        check_alignment(scores=scores, sensitive_features=sensitive_features)
        found = self._adjust(scores, sensitive_features, unknown_group, missing_group, other_scale)
        return restore(self._turned(found.new), scores)

    @by_name
    def explain(self, scores: Any, *, sensitive_features: Any, ids: Any = None) -> Any:
        """Say for each row what becomes of its score and its rank, and why: a record for the person it is about.

        Parameters
        ----------
        scores : column of shape (n,) or (n, 1)
            Scores of the model: list, NumPy array, pandas, Polars or PyArrow column.
        sensitive_features : column of shape (n,), or frame with several columns
            Group of each row; several columns form intersections.
        ids : column of shape (n,), default None
            What the rows are known by; it becomes the first column.

        Returns
        -------
        frame (pandas, Polars or PyArrow, whichever is in use)
            One row for each row, in the same order: its number from 1, group, original and adjusted score, old and new
            rank among these rows (1 is the highest score, equal scores share the best rank), and why. The columns are
            those of ``fairpot apply --changes``.

        Examples
        --------
        >>> from fairpot import FairPOT
        >>> fp = FairPOT(0.5, reference="M").fit([0.2, 0.4, 0.6, 0.8], sensitive_features=["F", "F", "M", "M"])
        >>> found = fp.explain([0.2, 0.4, 0.6], sensitive_features=["F", "F", "M"], ids=["a", "b", "c"])
        >>> list(found["why"])[0], list(found["why"])[1]
        ('below the part that is moved: the score stays', "moved by transport towards 'M'")
        >>> list(found["new_rank"])
        [3, 1, 2]
        """
        check_alignment(scores=scores, sensitive_features=sensitive_features, ids=ids)
        found = self._adjust(scores, sensitive_features)
        old, new = self._turned(found.old), self._turned(found.new)
        named = {} if ids is None else {"id": self._checked_ids(ids, len(old))}
        columns = {
            "row": np.arange(1, len(old) + 1),
            "group": [self.groups_[code] for code in found.codes.tolist()],
            "old_score": old,
            "new_score": new,
            "old_rank": descending_ranks(old),
            "new_rank": descending_ranks(new),
            "why": self._reasons(found),
        }
        return make_frame({**named, **columns}, scores, sensitive_features, ids)

    def _checked_ids(self, ids: Any, rows: int) -> list[Any]:
        column = as_column(ids, "ids")
        if len(column) != rows:
            raise ValueError(wording.other_length("ids", len(column), rows))
        return list(column.tolist())

    def _reasons(self, found: Adjusted) -> list[str]:
        """Say of each row in which part of its group's map it lies."""
        said = self.group_words()
        words = np.array([part_words(*said[group]) for group in self.groups_], dtype=object)
        if self.lower_is_riskier_:
            words = words[:, [0, 2, 1, 3, 4, 5]]  # below and above change places with the sign
        parts = np.zeros(len(found.old), dtype=np.int8)
        for place, group in enumerate(self.groups_):
            rows = np.flatnonzero(found.codes == place)
            if len(rows):
                parts[rows] = found.maps[group].parts(found.old.take(rows))
        return list(words[found.codes, parts])

    def group_words(self) -> dict[Hashable, tuple[str, str, str]]:
        """Return for each group what is said of those who are moved, of those who stay, and of all after that."""
        check_is_fitted(self, "maps_")
        reference, left_out = getattr(self, "reference_", None), self._left_out()
        moved = self._moves_by().format(reference=repr(reference))
        stays = dict.fromkeys(self.groups_, "nobody of the group is moved")
        stays |= dict.fromkeys(left_out, "left out of the comparison: scores stay")
        stays |= {group: "reference group: scores stay" for group in self.groups_ if group == reference}
        after = "" if parted(self.maps_)[1] is None else "; then made a probability by the map common to all groups"
        return {group: (moved, stays[group], after) for group in self.groups_}

    def _adjust(
        self,
        scores: Any,
        sensitive_features: Any,
        unknown_group: Unmapped = "error",
        missing_group: Unmapped = "error",
        other_scale: str | None = None,
    ) -> Adjusted:
        check_is_fitted(self, "maps_")
        ways = {"unknown_group": unknown_group, "missing_group": missing_group}
        for name, way in ways.items():
            check_choice(way, name, UNMAPPED)
        clean = self._turned(check_scores(scores))
        codes = place_groups(sensitive_features, len(clean), self.groups_, **ways)
        told = self._fitted_scale().mismatch(clean)
        if told is not None:
            _tell(told, len(clean), other_scale)
        maps = self.maps_ if self.row_by_row else self.maps_for(self._batch(clean, codes))
        result = clean.copy()
        for place, group in enumerate(self.groups_):
            rows = np.flatnonzero(codes == place)
            if len(rows) and not maps[group].is_identity:
                result[rows] = maps[group](clean.take(rows))
        for place, way in ((-1, unknown_group), (-2, missing_group)):
            if way == "null":
                result[codes == place] = np.nan
        return Adjusted(clean, result, codes, maps)

    def _turned(self, scores: Floats) -> Floats:
        """Turn scores to the direction that the maps were fitted in, or back."""
        return 0.0 - scores if self.lower_is_riskier_ else scores

    def maps_for(self, table: ScoreTable) -> dict[Hashable, ScoreMap]:
        """Return the maps that hold for the rows a table counts: the fitted ones, unless they look at the batch.

        Parameters
        ----------
        table : ScoreTable
            The rows to be transformed; outcomes play no part.

        Returns
        -------
        dict of group to ScoreMap, for the groups of the table
        """
        check_is_fitted(self, "maps_")
        if table.lower_is_riskier != self.lower_is_riskier_:
            raise ValueError(
                f"a {'low' if self.lower_is_riskier_ else 'high'} score means high risk to the map, but not to this "
                "table.\nHint: count the rows in the same direction, score_table(..., lower_is_riskier=...)."
            )
        return maps_on(table, self.maps_, self._applied_by())

    def _html_repr(self) -> str:
        """Show gap and maps in a notebook once fitted, where scikit-learn shows an unfitted estimator."""
        if not hasattr(self, "maps_"):
            return str(super()._html_repr())
        said, bars = self._measured_here()
        gaps = intervals_svg(bars, "The gap on the fitted rows, with its interval")
        scale, moved = self._fitted_scale(), [g for g in self.groups_ if not self.maps_[g].is_identity]
        x = np.linspace(scale.low, scale.high, 61)
        lines = [(str(g), self._turned(x).tolist(), self._turned(self.maps_[g](x)).tolist()) for g in moved[:6]]
        picture = lines_svg(lines, "Adjusted score over original score", ("original score", "adjusted score"))
        words = self.group_words()
        rows = [{"group": g, "scores": words[g][0 if g in moved else 1]} for g in self.groups_]
        shown = paragraph(" ".join(repr(self).split()), said)
        return f"<div>{shown}{gaps}{picture}{html_table(rows, 'What becomes of scores')}</div>"

    def _measured_here(self) -> tuple[str, list[Bar]]:
        """Measure the gap before and after on the fitted rows, for a picture; say why where that cannot be done."""
        table: ScoreTable | None = getattr(self, "table_", None)
        if table is None:
            return "A map file has no rows: fairpot.effect(model, scores, y, ...) measures gap and intervals.", []
        kept = table.only([g for g in table.groups if g not in self._left_out()])
        if not table.labelled or len(kept.groups) > _MOST_MEASURED or sum(len(c.score) for c in kept.counts) > _FEW:
            return "fairpot.effect(model, scores, y, ...) measures gap and AUC with intervals.", []
        maps = moving({g: m for g, m in self.maps_for(table).items() if g in kept.groups})
        top = getattr(self, "_top", lambda: None)()
        asked: dict[str, Any] = {} if top is None else {"alpha": top.alpha, "region": top.region}
        asked["ties"] = getattr(self, "_ties", "half")
        gaps = [overview(each, **asked).gap for each in (kept, kept.rescored(maps))]
        name = gap_name(asked.get("alpha"))
        said = f"{name[0].upper()}{name[1:]} on the fitted rows: {gaps[0]:.3f} -> {gaps[1]:.3f}; new rows may differ."
        return said, [bar(f"{name} {when}", gap) for when, gap in zip(("before", "after"), gaps)]

    def frame(self) -> Any:
        """Return the maps as a tidy frame (pandas, Polars or PyArrow, whichever is in use).

        One row per group and breakpoint, on the scale of the scores: ``group``, ``score`` and ``adjusted``. Between
        breakpoints a map is a straight line; a group whose scores do not change has none. A map has no interval:
        ``fairpot.effect`` measures what it does, with intervals.

        Examples
        --------
        >>> from fairpot import FairPOT
        >>> score, sex = [0.2, 0.4, 0.6, 0.8], ["F", "F", "M", "M"]
        >>> repair = FairPOT(lam=1.0, reference="M").fit(score, sensitive_features=sex)
        >>> print(repair.frame().to_string(index=False))
        group  score  adjusted
            F    0.2       0.6
            F    0.4       0.8
        """
        check_is_fitted(self, "maps_")
        scale = self._fitted_scale()
        ends = np.array([scale.low, scale.high])  # of a map that adds the same to every score
        moved = [g for g in self.groups_ if not self.maps_[g].is_identity]
        found = [(g, self.maps_[g].knots if len(self.maps_[g].knots) else ends) for g in moved]
        score = np.concatenate([np.empty(0), *(knots for _, knots in found)])
        adjusted = np.concatenate([np.empty(0), *(self.maps_[g](knots) for g, knots in found)])
        group = [g for g, knots in found for _ in range(len(knots))]
        return make_frame({"group": group, "score": self._turned(score), "adjusted": self._turned(adjusted)})

    def plot(self, ax: Any = None) -> Any:
        """Draw what each group's scores become.

        Parameters
        ----------
        ax : matplotlib axes, default None
            None makes a new figure.

        Returns
        -------
        axes

        Examples
        --------
        >>> from fairpot import FairPOT
        >>> score, sex = [0.2, 0.4, 0.6, 0.8], ["F", "F", "M", "M"]
        >>> repair = FairPOT(lam=1.0, reference="M").fit(score, sensitive_features=sex)
        >>> axes = repair.plot()
        """
        return self.plot_map(ax)

    def plot_map(self, ax: Any = None) -> Any:
        """Draw what each group's scores become, see :class:`fairpot.display.ScoreMapDisplay`.

        Parameters
        ----------
        ax : matplotlib axes, default None
            None makes a new figure.

        Returns
        -------
        axes

        Examples
        --------
        >>> from fairpot import FairPOT
        >>> score, sex = [0.2, 0.4, 0.6, 0.8], ["F", "F", "M", "M"]
        >>> repair = FairPOT(lam=1.0, reference="M").fit(score, sensitive_features=sex)
        >>> axes = repair.plot_map()
        """
        check_is_fitted(self, "maps_")
        table: ScoreTable | None = getattr(self, "table_", None)
        return display("ScoreMapDisplay").from_maps(self.maps_, table, ax=ax).ax_

    @property
    def row_by_row(self) -> bool:
        """Whether a row's result does not depend on the other rows it is transformed with."""
        check_is_fitted(self, "maps_")
        return bool(self._applied_by()["kind"] == "maps")

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Name the one output column, for ``set_output``."""
        check_is_fitted(self, "maps_")
        names = ["score"] if input_features is None else list(input_features)
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
        fingerprint_key: str | PathLike[str] | None = None,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        """Write the fitted maps to a JSON file, for :func:`fairpot.load`; equal fits give equal bytes.

        The breakpoints of a map are scores of people it was fitted on: see docs/understand/privacy.md before you
        share it.

        Parameters
        ----------
        path : str or path
            Where the file goes.
        overwrite : bool, default False
            Whether an existing file is replaced.
        timestamp : bool, default False
            Whether the time of saving is stored.
        columns : dict or None, default None
            ``{"score": name, "group": [names]}``: what `fairpot apply` looks for in a file.
        private : bool, default False
            Whether maps are simplified and breakpoints and counts rounded, so that no person's score is in the file.
            The file says by how much adjusted scores may differ: :meth:`private_content` has it.
        fingerprint_key : str, path or None, default None
            The file of a secret. With it a fingerprint of the fitted rows is stored, which only those who have the
            secret can compare.
        max_bytes : int, default 100,000,000
            A larger file is refused, here and in ``load``.

        Warns
        -----
        SmallGroupWarning
            If fewer than ten people of a group make up the maps: the file then shows their scores.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import mkdtemp
        >>> import fairpot
        >>> score, sex = range(40), ["F", "M"] * 20
        >>> repair = fairpot.FairPOT(lam=0.5, reference="M").fit(score, sensitive_features=sex)
        >>> path = Path(mkdtemp()) / "map.json"
        >>> repair.save(path)
        >>> fairpot.load(path).transform([30, 30], sensitive_features=["F", "M"])
        array([31., 30.])
        """
        check_is_fitted(self, "maps_")
        content = self.private_content() if private else self.file_content()
        table: ScoreTable | None = getattr(self, "table_", None)
        few = small_groups(content, table) if content.private is None else []
        if few:
            warn_user(
                f"{told(few)}.\nHint: {argument('private', True)}, {argument('min_group', 10)}, "
                "or keep the file as you keep the data.",
                SmallGroupWarning,
            )
        if fingerprint_key is not None:
            content = with_fingerprint(content, table, fingerprint_key)
        known = {"lower_is_riskier": self.lower_is_riskier_, "high_score_means": self.high_score_means_}
        if columns is not None or any(known.values()):
            content = with_columns(content, columns or USUAL_COLUMNS, **known)
        write(stamped(content) if timestamp else content, path, overwrite=overwrite, max_bytes=max_bytes)

    def private_content(self) -> ModelFile:
        """Return what a private model file holds; ``private["largest_error"]`` says how far new scores differ."""
        check_is_fitted(self, "maps_")
        return made_private(self.file_content(), getattr(self, "table_", None))

    def file_content(self) -> ModelFile:
        """Return what a model file holds of this model."""
        raise NotImplementedError

    def _moves_by(self) -> str:
        """Say how the method moves scores; ``{reference}`` stands for the group that they go to."""
        raise NotImplementedError

    def _left_out(self) -> tuple[Hashable, ...]:
        """Name the groups that were left out of the comparison."""
        return tuple(getattr(self, "left_out_", ()))

    def _applied_by(self) -> Mapping[str, Any]:
        """Return the rule of a model file's ``apply``: what is needed beyond the maps."""
        raise NotImplementedError

    def _fitted_scale(self) -> ScoreScale:
        """Return the scale of the scores that the maps were fitted on."""
        raise NotImplementedError

    def _batch(self, scores: NDArray[np.float64], codes: NDArray[Any]) -> ScoreTable:
        """Count clean rows, without outcomes; those without a map are a group of their own."""
        present, places = np.unique(np.maximum(codes.astype(np.intp), -1), return_inverse=True)
        named = [UNKNOWN if i < 0 else self.groups_[i] for i in present]
        return ScoreTable.from_rows(scores, None, places, named, lower_is_riskier=self.lower_is_riskier_)
