"""FairnessReport: what scores do to each group, what a repair changes, and at what price."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Self, Unpack, cast

from fairpot._arguments import by_name
from fairpot._defaults import TIES, TOPS_OF, Ties, TopOf
from fairpot._docs import documented
from fairpot._lineage import lineage_line
from fairpot._said import NAMES, Said, first_said
from fairpot._svg import distinct
from fairpot._validation import check_choice, check_threshold, wording
from fairpot._version import __version__
from fairpot.counting import USUAL, as_table, is_by_name, kept_groups
from fairpot.repair.fair_maps import FairMaps, fair_maps, table_for
from fairpot.repair.finish import in_words
from fairpot.report.content import SCHEMA, About, Method, Origin, Report, Saved, Turned, read_card
from fairpot.report.figures import Figure, make_figures
from fairpot.report.measure import (
    TOPS,
    Dial,
    Lines,
    Measured,
    curve_of,
    dial_of,
    limit_of,
    measure,
    thresholds,
)
from fairpot.report.page import make_page
from fairpot.report.tables import View, make_markdown
from fairpot.results import Audit, Effect
from fairpot.results.audit import audit_table, left_out_sizes, several
from fairpot.results.effect import effect
from fairpot.results.kinds import Plain, number, renamed, to_dict
from fairpot.results.ranking import own_scale
from fairpot.results.rates import actions
from fairpot.table import ScoreTable, Top
from fairpot.words import Note, name_of
from fairpot.words.page import TEXT

# Letters of a group's name in sentences, tables and pictures.
_LONGEST_NAME = 40


@documented
class FairnessReport(Saved):
    """Write a report on a score, with or without a repair: a page, JSON or Markdown.

    Parameters
    ----------
    rows : ScoreTable, frame, or column of outcomes
        With outcomes and at least two groups: a table, such as ``table_`` of a fitted method, that of the rows it was
        fitted on; a frame whose columns are named; or outcomes, with ``y_score`` beside them.
    method : fitted repair method or None, default None
        The repair to report on; None audits the original scores.
    title, source, outcome : str, default ""
        What the report is called, where the rows come from, and what a positive has, such as "a stroke within a year".
    threshold : float or list of floats or None, default None
        Scores, as the rows have them, from which people are acted on, to be shown among others.
    top : float in (0, 1], list of them, or None, default None
        Shares of the ranking that are acted on, to be shown among others. An audit is about the first of them.
    top_of : {"all", "group"}, default "all"
        Whether an audit's share is that of the whole list or of each group.
    {ties, y_score, said}
    columns, command, created, inputs, warnings
        What the columns are called, by the part they play; how to make the report again, and when it was made; SHA-256
        of the files that the rows come from; more that a reader should know. All are shown as given.
    card : dict, path of a TOML file, or None, default None
        What the score is for (``purpose``), who owns it (``owner``), what it must not be used for (``not_for``).

    Examples
    --------
    >>> import fairpot
    >>> data = fairpot.datasets.make_synthetic(1000, random_state=0, as_frame=False)
    >>> score, y, group = data.probability, data.target, data.group
    >>> repair = fairpot.FairPOT(max_gap=0.02).fit(score, y, sensitive_features=group)
    >>> report = fairpot.FairnessReport(repair.table_, repair)
    >>> report.audit.statement.pair
    ('a', 'b')
    >>> len(report.to_html()) < 3_000_000
    True
    """

    @by_name
    def __init__(
        self,
        rows: Any,
        method: Any = None,
        *,
        y_score: Any = None,
        title: str = "",
        source: str = "",
        outcome: str = "",
        threshold: Any = None,
        top: Any = None,
        top_of: TopOf = "all",
        ties: str = "half",
        columns: Any = None,
        command: str = "",
        created: str = "",
        inputs: Sequence[str] = (),
        warnings: Any = (),
        card: Any = None,
        **said: Unpack[Said],
    ) -> None:
        self.maps = None if method is None else fair_maps(method)
        if method is not None and self.maps is None:
            kind = type(method).__name__
            raise TypeError(f"a report takes a fitted repair method or a loaded map file, got {kind}.")
        known = _counted(rows, y_score, self.maps, said).require("a report", groups=2)
        self._all_groups = known.meaning(None if self.maps is None else self.maps.high_score_means_)
        if self.maps is None:
            self.table = kept_groups(self._all_groups)
        else:
            left_out = known.unknown + self.maps.left_out_
            self.table = self._all_groups.only([g for g in known.groups if g not in left_out])
        self.method = method
        self.ties = cast(Ties, check_choice(ties, "ties", TIES))
        self.top_of = cast(TopOf, check_choice(top_of, "top_of", TOPS_OF))
        self._thresholds = [check_threshold(each) for each in several(threshold)]
        self._tops = tuple(self.table.find_top(each) for each in several(top))
        simplified = getattr(self.maps, "simplified_", None)
        self._said = (*warnings, *([] if simplified is None else [f"The {in_words(simplified)}."]))
        made_by = lineage_line(None if self.maps is None else self.maps.sha256_, None, inputs)
        names, origin = columns or _column_names(rows, y_score, said), Origin(__version__, command, created, made_by)
        told = title or TEXT["title"], read_card(card), source, outcome or TEXT["outcome"]
        self._about = About(*told, names, origin)

    @classmethod
    def from_predictions(cls, y_true: Any, y_score: Any, *, method: Any = None, **options: Any) -> Self:
        """Make the report of columns, which the class takes too.

        Parameters
        ----------
        y_true, y_score : columns of shape (n,)
            Outcomes, 0/1 or booleans, and the scores of any model, on any scale.
        method : fitted repair method or None, default None
            The repair to report on; None audits the original scores.
        **options
            What the class takes besides, ``sensitive_features`` among it.
        """
        return cls(y_true, method, y_score=y_score, **options)

    @cached_property
    def effect(self) -> Effect | None:
        """What the repair changes on these rows; None for an audit."""
        if self.maps is None:
            return None
        found = effect(self.maps, self._all_groups, ties=self.ties, threshold=self._thresholds)
        if self._tops and not self._thresholds and self.maps.where is None:  # who is acted on there is asked for
            found = replace(found, actions=actions(found.before.table, found.after.table, [], self._tops[0]))
        return found

    @cached_property
    def audit(self) -> Audit:
        """What the original scores do to each group: in the top, where the report is about one."""
        if self.effect is not None:
            return self.effect.before
        asked: dict[str, Any] = {"top": [each.size for each in self._tops], "top_of": self.top_of}
        asked["threshold"] = self._thresholds
        asked["left_out"] = left_out_sizes(self.table, self._all_groups)
        return audit_table(self.table, ties=self.ties, **asked, everything=self._all_groups)

    @cached_property
    def notes(self) -> tuple[Note, ...]:
        """What may mislead: about the repair, about the scores, and about the report itself."""
        known = () if self.effect is None else self.effect.notes
        return (*self._own_notes(), *known, *self.audit.notes, *(Note("said", said=text) for text in self._said))

    def _own_notes(self) -> list[Note]:
        found, made = self.effect, []
        if found is not None:
            if found.before.statement.state in ("small", "too few"):
                made.append(Note("no difference"))
            table = self._all_groups
            gone = [g for g in found.left_out if g in table.groups and g not in table.unknown]
            made += [Note("left out", group, value=table[group].size) for group in gone]
        if self.table.lower_is_riskier:
            made.append(Note("lower is riskier"))
        if self._measured.coarse and len(self._measured.dial) > 2:
            made.append(Note("coarse", value=float(len(self._measured.people.pooled().score))))
        return made

    @cached_property
    def _measured(self) -> Measured:
        """What no audit has measured, at every setting of the dial."""
        size, told = len(self.table.groups), self.audit.told
        top = None if told.top is None else self.table.find_top(told.top)
        most = (100 if top is None else 50) if size <= 3 else 50 if size <= 6 else 20 if size <= 12 else 10
        dial = Dial() if self.maps is None else dial_of(self.method, self.maps, self.table, self.ties, most)
        tops = (*self._tops, *([] if top is None else [top]))
        lines = Lines(
            thresholds(self.table, self._thresholds, 48 if size <= 4 else 24),
            tuple(sorted({*map(Top, TOPS), *tops}, key=lambda each: -each.share)),
            own_scale(self.table, self._thresholds[0]) if self._thresholds else None,
            next(iter(tops), None),
        )
        return measure(self.table, dial, self.audit, self.effect, lines)

    @cached_property
    def content(self) -> Report:
        """Everything that the report says, as a typed tree."""
        found = self._measured
        return Report(
            SCHEMA,
            self._about,
            self.audit,
            self.effect,
            self.notes,
            None if self.maps is None else _describe(self.maps, self.table),
            Turned(found.dial.name, found.dial.chosen, tuple(found.settings)),
            curve_of(found.dial.curve),
            limit_of(found, self.audit),
            found.crossed(),
            found.shown,
        )

    @cached_property
    def _spoken(self) -> Report:
        """The same, with the groups called by what people read."""
        name = _names(self.table, self._about.columns)
        told: Report = renamed(self.content, name)
        effect = None if self.effect is None else self.effect.named(name)
        return replace(told, audit=self.audit.named(name), effect=effect)

    @cached_property
    def figures(self) -> dict[str, Figure]:
        """The figures by name."""
        return make_figures(self._measured, self._spoken)

    @property
    def _view(self) -> View:
        """A view to write from, with texts of its own."""
        name = _names(self.table, self._about.columns)
        said = [tuple(each.named(name) for each in told) for told in self._measured.statements]
        return View(self._measured, self._spoken, self.figures, said)

    def to_dict(self) -> Plain:
        """Return the report as plain numbers, lists, dicts and texts."""
        return to_dict(self.content)

    def to_json(self) -> str:
        """Write the report as JSON."""
        return json.dumps(self.to_dict(), allow_nan=False, indent=1) + "\n"

    def to_html(self) -> str:
        """Write the report as one page that needs nothing else."""
        return make_page(self._view)

    def to_markdown(self) -> str:
        """Write the report as Markdown."""
        return make_markdown(self._view)

    def _repr_html_(self) -> str:
        return (self.effect or self.audit)._repr_html_()

    def __repr__(self) -> str:
        what = "audit" if self.method is None else type(self.method).__name__
        return f"<FairnessReport: {what} of {self.table.rows:g} rows, {len(self.table.groups)} groups>"


def _counted(rows: Any, y_score: Any, maps: FairMaps | None, said: Said) -> ScoreTable:
    """Count the rows of a report; those of a repair as its fit took its own."""
    if y_score is None and not isinstance(rows, ScoreTable) and not is_by_name(rows, None, said):
        raise TypeError(
            f"a report needs outcomes and scores, got {wording.got(rows)} alone.\n"
            "Hint: FairnessReport(y_true, y_score=..., sensitive_features=...), or a ScoreTable, or a frame with "
            "score=..., label=..., group=..."
        )
    if maps is None:
        return as_table(rows, y_score, **said)
    return table_for(maps, y_score, rows, said, names=("y_true", "y_score"))


def _column_names(rows: Any, y_score: Any, said: Said) -> Plain:
    """Say what columns are called: the names given, or, where they say so themselves, those of pandas and Polars."""
    if isinstance(rows, ScoreTable):
        return {}
    if y_score is None:
        named = said if first_said(said, NAMES) is not None else USUAL
        group = named.get("group") or ""
        found = {"score": named.get("score"), "label": named.get("label")}
        found["group"] = group if isinstance(group, str) else " x ".join(group)
        return {part: name for part, name in found.items() if name}
    given = {"score": y_score, "label": rows, "group": said.get("sensitive_features")}
    names = {part: getattr(column, "name", None) for part, column in given.items()}
    return {part: name for part, name in names.items() if isinstance(name, str) and name}


def _describe(maps: FairMaps, table: ScoreTable) -> Method:
    given, reference, where = maps.params_, maps.reference_, maps.where
    return Method(
        maps.method_,
        maps.dial_[0],
        {name: number(value) for name, value in given.items() if value is not None},
        reference,
        tuple(g for g in table.groups if g != reference),
        given.get("max_gap"),
        None if where is None else where.size,
        None if where is None else where.top_of,
    )


def _names(table: ScoreTable, columns: Any) -> Callable[[Any], Any]:
    """Call groups by what people read: numbers and booleans by their column as well, and no name too long."""
    given = [part for part in str(columns.get("group") or "").split(" x ") if part]
    said = given or table.group_columns
    known = {group: str(name_of(group, said)) for group in table.groups}
    cut = distinct(known.values(), _LONGEST_NAME)
    return lambda group: cut[known[group]] if group in known else name_of(group, said)
