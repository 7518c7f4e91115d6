"""FairnessReport: what scores do to each group, what a repair changes, and at what price."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, Self, cast

import numpy as np

from fairpot._defaults import REGIONS, TIES, Meaning, Region, Ties
from fairpot._shown import Bar, ShownBars, ends_of
from fairpot._validation import check_choice, check_share, is_number
from fairpot.auditing.effect import (
    calibration_stages,
    fitted_on,
    standing,
    trust_in,
    with_intervals,
)
from fairpot.auditing.measures import listed, tops
from fairpot.counting import as_table
from fairpot.display.display import table_of
from fairpot.inference.limits import gap_name
from fairpot.repair.fair_maps import FairMaps, fair_maps
from fairpot.repair.finish import in_words
from fairpot.report.card import read_card
from fairpot.report.figures import Figure, make_figures
from fairpot.report.markdown import make_markdown
from fairpot.report.measure import ALPHAS, Lines, Measured, measure
from fairpot.report.page import make_compact, make_page
from fairpot.report.settings import dial_of, no_dial
from fairpot.report.summary import About, renamed, shown_names, summarise
from fairpot.report.text import TEXT
from fairpot.rows.output import atomic_file
from fairpot.table import ScoreTable
from fairpot.transport import Floats

FORMATS = (".html", ".json", ".md")


class FairnessReport(ShownBars):
    """Write a report on a score, with or without a repair: a page, JSON or Markdown.

    Parameters
    ----------
    table : ScoreTable
        With outcomes and at least two groups; :meth:`from_predictions` makes it from rows.
    method : fitted repair method or None, default None
        The repair to report on; None audits the original scores.
    title, source, outcome : str, default ""
        What the report is called, where the rows come from, and what a positive has, such as "a stroke within a year".
    threshold : float or list of floats or None, default None
        Scores from which people are acted on, to be shown among others.
    alpha : float in (0, 1], list of them, or None, default None
        Shares of the ranking that are acted on, to be shown among others. An audit is about the first of them.
    region : {"pooled", "group"}, default "pooled"
        Whether an audit's share is that of the whole list or of each group.
    ties : {"half", "strict"}, default "half"
        Whether equal scores count as half a win or as none.
    high_score_means : {"help", "harm"} or None, default None
        What a high score does to the person who has it; table or method may say it as well.
    columns : dict or None, default None
        What the columns are called, by the part they play.
    command, created : str, default ""
        How to make the report again, and when it was made; shown as given.
    warnings : list of str, default ()
        More that a reader should know.
    largest_changes : list of dict or None, default None
        People to name, see :meth:`from_predictions`.
    card : dict, path of a TOML file, or None, default None
        What the score is for (``purpose``), who owns it (``owner``), what it must not be used for (``not_for``, one
        text or a list), and whatever else its owner wants to be read; shown as it is.

    Examples
    --------
    >>> from fairpot import FairPOT, FairnessReport
    >>> from fairpot.datasets import make_synthetic
    >>> data = make_synthetic(1000, random_state=0, as_frame=False)
    >>> score, y, group = data.probability, data.target, data.group
    >>> repair = FairPOT(max_gap=0.02).fit(score, y, sensitive_features=group)
    >>> report = FairnessReport.from_estimator(repair)
    >>> report.summary["pair"]
    {'higher': 'a', 'lower': 'b'}
    >>> len(report.to_html()) < 3_000_000
    True
    """

    def __init__(
        self,
        table: ScoreTable,
        method: Any = None,
        *,
        title: str = "",
        source: str = "",
        outcome: str = "",
        threshold: Any = None,
        alpha: Any = None,
        region: Region = "pooled",
        ties: str = "half",
        high_score_means: Meaning | None = None,
        columns: Any = None,
        command: str = "",
        created: str = "",
        warnings: Any = (),
        largest_changes: Any = None,
        card: Any = None,
    ) -> None:
        _check_table(table)
        self.maps = None if method is None else _maps_of(method)
        said = None if self.maps is None else self.maps.high_score_means_
        table = table.meaning(high_score_means).meaning(said)
        left_out = () if self.maps is None else self.maps.left_out_
        self._all_groups = table
        self.table = table.only([g for g in table.groups if g not in left_out]) if left_out else table
        self.method = method
        self.ties = cast(Ties, check_choice(ties, "ties", TIES))
        self.region = cast(Region, check_choice(region, "region", REGIONS))
        self._thresholds = _check_thresholds(threshold)
        self._alphas = tuple(check_share(each, "alpha", zero=False) for each in listed(alpha))
        self._about = About(
            title=title or TEXT["title"],
            source=source,
            outcome=outcome or TEXT["outcome"],
            columns=dict(columns or {}),
            command=command,
            created=created,
            ties=ties,
            method=None if self.maps is None else _describe(self.maps, self.table),
            same_rows=self.maps is not None and fitted_on(self.maps, table),
            left_out={str(g): table[g].weight.sum().item() for g in left_out if g in table.groups},
            warnings=(*warnings, *_simplified(self.maps)),
            largest_changes=largest_changes,
            card=read_card(card),
        )

    @classmethod
    def from_table(cls, table: ScoreTable, method: Any = None, **options: Any) -> Self:
        """Make the report of counted rows.

        Parameters
        ----------
        table : ScoreTable
            With outcomes and at least two groups.
        method : fitted repair method or None, default None
            The repair to report on; None audits the original scores.
        **options
            What the class takes: ``title``, ``source``, ``outcome``, ``threshold``, ``alpha``, ``region``, ``ties``,
            ``high_score_means``, ``columns``, ``command``, ``created``, ``warnings``, ``card``.

        Returns
        -------
        FairnessReport

        Examples
        --------
        >>> from fairpot import FairnessReport, score_table
        >>> from fairpot.datasets import make_synthetic
        >>> data = make_synthetic(1000, random_state=0, as_frame=False)
        >>> score, y, group = data.probability, data.target, data.group
        >>> table = score_table(y, score, sensitive_features=group)
        >>> FairnessReport.from_table(table, title="Screening").summary["pair"]
        {'higher': 'a', 'lower': 'b'}
        """
        return cls(table, method, **options)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_score: Any,
        *,
        sensitive_features: Any,
        sample_weight: Any = None,
        clusters: Any = None,
        weights: str | None = None,
        pos_label: Any = None,
        method: Any = None,
        ids: Any = None,
        most: int = 20,
        **options: Any,
    ) -> Self:
        """Make the report of rows.

        Parameters
        ----------
        y_true : column of shape (n,)
            Outcomes, 0/1 or booleans; other two-valued outcomes with ``pos_label``.
        y_score : column of shape (n,)
            Scores of any model, on any scale.
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
            The positive value where ``y_true`` is not 0/1.
        method : fitted repair method or None, default None
            The repair to report on; None audits the original scores.
        ids : column of shape (n,), default None
            Names of the rows. Only with them does the report name anybody: the ``most`` largest changes.
        most : int, default 20
            How many are named.
        **options
            What the class takes: ``title``, ``source``, ``outcome``, ``threshold``, ``alpha``, ``region``, ``ties``,
            ``high_score_means``, ``columns``, ``command``, ``created``, ``warnings``, ``card``.

        Returns
        -------
        FairnessReport

        Examples
        --------
        >>> from fairpot import FairnessReport
        >>> from fairpot.datasets import make_synthetic
        >>> data = make_synthetic(1000, random_state=0, as_frame=False)
        >>> score, y, group = data.probability, data.target, data.group
        >>> report = FairnessReport.from_predictions(y, score, sensitive_features=group)
        >>> report.summary["pair"]
        {'higher': 'a', 'lower': 'b'}
        """
        known = {"sample_weight": sample_weight, "clusters": clusters, "weights": weights, "pos_label": pos_label}
        table = as_table(y_true, y_score, sensitive_features=sensitive_features, **known)
        if ids is not None:
            if method is None:
                raise ValueError("ids name the people whose scores change most, and there is no method to change them.")
            options["largest_changes"] = _largest(method, y_score, sensitive_features, ids, most)
        return cls(table, method, **_column_names(y_true, y_score, sensitive_features) | options)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        scores: Any = None,
        y: Any = None,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        clusters: Any = None,
        weights: str | None = None,
        ids: Any = None,
        most: int = 20,
        **options: Any,
    ) -> Self:
        """Make the report of a fitted repair method on these rows, or on those it was fitted on.

        Parameters
        ----------
        estimator : fitted repair method
            The repair to report on.
        scores : column of shape (n,) or (n, 1), ScoreTable, or None, default None
            Scores of the rows to report on; a table stands for all rows. None takes the fitted rows.
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
        ids : column of shape (n,), default None
            Names of the rows. Only with them does the report name anybody: the ``most`` largest changes.
        most : int, default 20
            How many are named.
        **options
            What the class takes: ``title``, ``source``, ``outcome``, ``threshold``, ``alpha``, ``region``, ``ties``,
            ``high_score_means``, ``columns``, ``command``, ``created``, ``warnings``, ``card``.

        Returns
        -------
        FairnessReport

        Examples
        --------
        >>> from fairpot import FairPOT, FairnessReport
        >>> from fairpot.datasets import make_synthetic
        >>> data = make_synthetic(1000, random_state=0, as_frame=False)
        >>> score, y, group = data.probability, data.target, data.group
        >>> repair = FairPOT(max_gap=0.02).fit(score, y, sensitive_features=group)
        >>> FairnessReport.from_estimator(repair).summary["pair"]
        {'higher': 'a', 'lower': 'b'}
        """
        table = table_of(estimator, scores, y, sensitive_features, sample_weight, clusters, weights)
        if ids is not None:
            if scores is None or isinstance(scores, ScoreTable):
                raise TypeError("ids name rows: pass scores, y and sensitive_features with them.")
            options["largest_changes"] = _largest(estimator, scores, sensitive_features, ids, most)
        return cls(table, estimator, **_column_names(y, scores, sensitive_features) | options)

    @cached_property
    def measured(self) -> Measured:
        """Everything that was counted, at every setting of the dial."""
        size = len(self.table.groups)
        most = 100 if size <= 3 else 50 if size <= 6 else 20 if size <= 12 else 10
        dial = no_dial() if self.maps is None else dial_of(self.method, self.maps, self.table, self.ties, most)
        top = self._top()
        alphas = self._alphas if top is None else (*self._alphas, top[0])
        lines = Lines(
            _thresholds(self.table, self._thresholds, 48 if size <= 4 else 24),
            tuple(sorted({*ALPHAS, *alphas})),
            float(self._thresholds[0]) if len(self._thresholds) else None,
            next(iter(alphas), None),
        )
        return measure(self.table, dial, self.ties, lines, top=top)

    def _top(self) -> tuple[float, Region] | None:
        """Name the part of the ranking that the report is about: what is repaired, or audited; None for all of it."""
        about = self._about.method
        if about is None:
            return (self._alphas[0], self.region) if self._alphas else None
        return None if about["alpha"] is None else (float(about["alpha"]), about["region"])

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The report as plain numbers, lists, dicts and texts."""
        return summarise(self.measured, replace(self._about, **self._judged()))

    def _judged(self) -> dict[str, Any]:
        """Say what is known of the method on these rows: its certificate, and trust in it."""
        about = self._about.method
        if about is None:
            return {}
        found = standing(self.maps, self._all_groups)
        trust = trust_in(self.maps, self._all_groups, found)
        assert self.maps is not None
        maps = self.maps.maps_on(self.table)
        return {
            "method": {**about, "certificate": None if found is None else found.to_dict()},
            "trust": None if trust is None else trust.to_dict(),
            "calibration": with_intervals(calibration_stages(self.table, maps)),
        }

    @cached_property
    def _shown(self) -> tuple[Measured, dict[str, Any]]:
        """What was measured and the summary, groups called by what people read."""
        names = shown_names(self.table.groups, self._about.columns)
        if all(name == group for group, name in names.items()):
            return self.measured, self.summary
        table = self.table.renamed(tuple(names.values()))
        return replace(self.measured, table=table), renamed(self.summary, self.measured, names)

    @cached_property
    def figures(self) -> dict[str, Figure]:
        """The figures by name."""
        return make_figures(*self._shown)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain numbers, lists, dicts and texts.

        Examples
        --------
        >>> from fairpot import FairnessReport
        >>> from fairpot.datasets import make_synthetic
        >>> data = make_synthetic(1000, random_state=0, as_frame=False)
        >>> score, y, group = data.probability, data.target, data.group
        >>> report = FairnessReport.from_predictions(y, score, sensitive_features=group)
        >>> "finding" in report.to_dict()
        True
        """
        return self.summary

    def to_json(self) -> str:
        """Write the report as JSON.

        Examples
        --------
        >>> import json
        >>> from fairpot import FairnessReport
        >>> from fairpot.datasets import make_synthetic
        >>> data = make_synthetic(1000, random_state=0, as_frame=False)
        >>> score, y, group = data.probability, data.target, data.group
        >>> report = FairnessReport.from_predictions(y, score, sensitive_features=group)
        >>> json.loads(report.to_json()) == report.to_dict()
        True
        """
        return json.dumps(self.summary, allow_nan=False, indent=1) + "\n"

    def to_html(self) -> str:
        """Write the report as one page that needs nothing else.

        Examples
        --------
        >>> from fairpot import FairnessReport
        >>> from fairpot.datasets import make_synthetic
        >>> data = make_synthetic(1000, random_state=0, as_frame=False)
        >>> score, y, group = data.probability, data.target, data.group
        >>> report = FairnessReport.from_predictions(y, score, sensitive_features=group)
        >>> report.to_html()[:15]
        '<!doctype html>'
        """
        return make_page(*self._shown, self.figures)

    def to_markdown(self) -> str:
        """Write the report as Markdown.

        Examples
        --------
        >>> from fairpot import FairnessReport
        >>> from fairpot.datasets import make_synthetic
        >>> data = make_synthetic(1000, random_state=0, as_frame=False)
        >>> score, y, group = data.probability, data.target, data.group
        >>> report = FairnessReport.from_predictions(y, score, sensitive_features=group)
        >>> report.to_markdown().startswith("#")
        True
        """
        return make_markdown(self._shown[1])

    def save(self, path: str | PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the report to a file: .html, .json or .md, as its name ends; return its path.

        Parameters
        ----------
        path : str or path
            Where it goes.
        overwrite : bool, default False
            Whether an existing file is replaced.

        Returns
        -------
        Path

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import mkdtemp
        >>> from fairpot import FairnessReport
        >>> from fairpot.datasets import make_synthetic
        >>> data = make_synthetic(1000, random_state=0, as_frame=False)
        >>> score, y, group = data.probability, data.target, data.group
        >>> report = FairnessReport.from_predictions(y, score, sensitive_features=group)
        >>> report.save(Path(mkdtemp()) / "report.html").name
        'report.html'
        """
        place = Path(path)
        writers = dict(zip(FORMATS, (self.to_html, self.to_json, self.to_markdown)))
        if place.suffix.lower() not in writers:
            raise ValueError(f"a report is written as {', '.join(FORMATS)}, and {place.name!r} ends in none of them.")
        if place.exists() and not overwrite:
            raise FileExistsError(f"{place} already exists.\nHint: another name, or overwrite=True.")
        content = writers[place.suffix.lower()]()
        with atomic_file(Path(os.path.realpath(place)), overwrite=overwrite) as temporary:
            temporary.write_text(content, encoding="utf-8", newline="\n")
        return place

    def _listed(self) -> list[dict[str, Any]]:
        """Give AUC and gap before and, with a repair, after, with their limits; those of the top as well."""
        chosen = self.measured.dial.chosen
        places = {"before": 0} if self.method is None else {"before": 0, "after": chosen}
        numbers = {when: self.measured.audits[place].numbers for when, place in places.items()}
        rows = []
        for when, found in numbers.items():
            for top in ({"alpha": None, **found}, *tops(found)):
                for metric in ("auc", "gap"):
                    rows.append(
                        {"metric": metric, "alpha": top["alpha"], "when": when, **ends_of("value", top[metric])}
                    )
        return rows

    def _bars(self) -> list[Bar]:
        """Draw the gap that the report speaks of, before and after."""
        alpha = self.measured.finding.alpha
        wanted = [row for row in self._listed() if row["metric"] == "gap" and row["alpha"] == alpha]
        ends = ("value", "value_low", "value_high")
        known = [[float("nan") if row[name] is None else row[name] for name in ends] for row in wanted]
        return [Bar(f"{gap_name(alpha)} {row['when']}", *numbers) for row, numbers in zip(wanted, known)]

    def _says(self) -> list[str]:
        return [self.measured.finding.headline]

    def _repr_html_(self) -> str:
        return make_compact(self._shown[1], self.figures)

    def __repr__(self) -> str:
        rows = sum(int(c.weight.sum()) for c in self.table.counts)
        what = "audit" if self.method is None else type(self.method).__name__
        return f"<FairnessReport: {what} of {rows} rows, {len(self.table.groups)} groups>"


def _column_names(y_true: Any, y_score: Any, sensitive_features: Any) -> dict[str, Any]:
    """Read what columns are called, where they say so, as those of pandas and Polars do."""
    given = {"score": y_score, "label": y_true, "group": sensitive_features}
    names = {part: getattr(column, "name", None) for part, column in given.items()}
    return {"columns": {part: name for part, name in names.items() if isinstance(name, str) and name}}


def _check_table(table: Any) -> None:
    if not isinstance(table, ScoreTable):
        raise TypeError(
            f"a report is made from a ScoreTable, got {type(table).__name__}.\n"
            "Hint: FairnessReport.from_predictions(y_true, y_score, sensitive_features=...) takes rows."
        )
    if not table.labelled:
        raise ValueError("a report counts outcomes, and this table has no labels.\nHint: count rows with y_true.")
    if len(table.groups) < 2:
        raise ValueError(f"a report compares groups, and there is one, {table.groups[0]!r}.")


def _check_thresholds(given: Any) -> Floats:
    listed = [] if given is None else [given] if is_number(given) else list(given)
    for value in listed:
        if not is_number(value) or not np.isfinite(value):
            raise ValueError(f"threshold must be a finite number or a list of them, got {value!r}.")
    return np.array(sorted({float(v) for v in listed}))


def _thresholds(table: ScoreTable, given: Floats, most: int) -> Floats:
    """Choose round thresholds on [0, 1], else quantiles of the scores; those that were named are among them."""
    scores = [c.score for c in table.counts if len(c.score)]
    low, high = min(float(s[0]) for s in scores), max(float(s[-1]) for s in scores)
    if low >= 0 and high <= 1 and high - low >= 0.25:
        step = 0.02 if most >= 48 else 0.05
        grid = np.arange(1, round(1 / step)) * step
        grid = grid[(grid > low) & (grid <= high)].round(6)
    else:
        pooled = table.pooled()
        reached = np.cumsum(pooled.weight) / float(pooled.weight.sum())
        places = np.searchsorted(reached, np.arange(1, most // 2) / (most // 2))
        grid = np.array([float(f"{v:.4g}") for v in pooled.score[np.minimum(places, len(reached) - 1)]])
    return np.union1d(grid, given)


def _maps_of(method: Any) -> FairMaps:
    """Insist on a fitted method, or maps from a file."""
    found = fair_maps(method)
    if found is None:
        raise TypeError(f"a report takes a fitted repair method or a loaded map file, got {type(method).__name__}.")
    return found


def _describe(maps: FairMaps, table: ScoreTable) -> dict[str, Any]:
    """Say which method it is, what it was given and whom it moves."""
    parameters, reference, where = maps.params_, maps.reference_, maps.where
    return {
        "name": maps.method_,
        "strength": maps.dial_[0],
        "parameters": {k: v for k, v in parameters.items() if v is not None},
        "reference": None if reference is None else str(reference),
        "moved": [str(g) for g in table.groups if g != reference],
        "aim": parameters.get("max_gap"),
        "alpha": None if where is None else where.alpha,
        "region": None if where is None else where.region,
        "certificate": None,  # judged once the rows are measured
    }


def _largest(method: Any, scores: Any, groups: Any, ids: Any, most: int) -> list[dict[str, Any]]:
    """Name the people whose scores change most."""
    before = np.asarray(scores, dtype=np.float64).ravel()
    after = np.asarray(method.transform(before, sensitive_features=groups), dtype=np.float64)
    names, kinds = list(ids), list(np.asarray(groups, dtype=object))
    if len(names) != len(before):
        raise ValueError(f"ids has {len(names)} rows, but there are {len(before)} scores.")
    order = np.argsort(-np.abs(after - before), kind="stable")[:most]
    return [
        {"id": names[i], "group": str(kinds[i]), "before": float(before[i]), "after": float(after[i])}
        for i in order.tolist()
        if after[i] != before[i]
    ]


def _simplified(method: Any) -> list[str]:
    """Say what it changes that the maps of a method were simplified, if they were."""
    found = getattr(method, "simplified_", None)
    return [] if found is None else [f"The {in_words(found)}."]
