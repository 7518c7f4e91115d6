"""What a report says, as a typed tree: audits, the settings of the dial, who crosses which line. Its JSON is this.

A model card, what the score is for, who owns it and what it must not be used for, is shown as its owner wrote it.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, ClassVar

from fairpot._arguments import argument
from fairpot._defaults import TopOf
from fairpot._docs import documented
from fairpot.inference import Changes, Estimate
from fairpot.modelfile.files import toml_of
from fairpot.results import Audit, Effect, Ranking, Statement
from fairpot.results.effect import Checked
from fairpot.results.kinds import Count, Derived, Group, Score, Share
from fairpot.results.ranking import Pair
from fairpot.results.rates import Action, Moved
from fairpot.rows.output import atomic_file
from fairpot.words import Note

SCHEMA = 3
FORMATS = (".html", ".json", ".md")
# What a card is asked for first; whatever else it holds follows under its own name.
_FIRST = ("purpose", "owner", "not_for")
_EXAMPLE = 'Hint: purpose = "...", owner = "...", not_for = ["...", "..."].'


@dataclass(frozen=True)
class Ranks:
    """AUC and gaps of all rows, or of a top, at one setting; ``gap`` is the largest of groups not too small."""

    auc: Estimate | None
    gap: Estimate | None
    gaps: tuple[Pair, ...]

    @classmethod
    def of(cls, ranking: Ranking) -> Ranks:
        """Read them off what was measured."""
        return cls(ranking.auc, ranking.widest, ranking.gaps)

    @cached_property
    def by_groups(self) -> dict[tuple[Any, Any], Pair]:
        """The pairs by their groups, each seen from both."""
        return {(p.first, p.second): p for each in self.gaps for p in (each, each.reversed())}

    def pair(self, first: Any, second: Any) -> Pair:
        """Give a pair, seen from the first of its groups."""
        return self.by_groups[first, second]


@dataclass(frozen=True)
class GroupAt:
    """One group at one setting."""

    group: Group
    auc: Estimate | None
    error_in_the_large: Estimate | None
    expected_calibration_error: Estimate | None
    moved: Annotated[Moved, "inline"]


@dataclass(frozen=True)
class Strength:
    """How far one group is moved, where each has its own strength."""

    group: Group
    value: float


@dataclass(frozen=True)
class Setting:
    """The numbers at one setting of the repair strength; None is that of the original scores."""

    value: float | None
    strengths: tuple[Strength, ...] | None
    all: Annotated[Ranks, "inline"]
    top: Ranks | None
    moved: Count
    rows: Count
    groups: tuple[GroupAt, ...]

    @property
    def told(self) -> Ranks:
        """What the report speaks of: the top, where it is about one."""
        return self.all if self.top is None else self.top


@dataclass(frozen=True)
class Turned:
    """The repair strength: what the method calls it, the settings, and which of them is reported."""

    name: str
    chosen: int
    settings: tuple[Setting, ...]


@dataclass(frozen=True)
class Method:
    """Which repair it is, what it was given, and whom it moves."""

    name: str
    strength: str
    parameters: Mapping[str, Any]
    reference: Group | None
    moved: tuple[Group, ...]
    aim: Share | None
    top: Share | None
    top_of: TopOf | None


@dataclass(frozen=True)
class Crossing:
    """How many of one group and outcome are above a line before, and come and go at the reported setting.

    Rows are counted; the shares that are above, before and at that setting, are of what rows weigh.
    """

    group: Group
    positive: bool
    rows: Count
    above: Count
    enter: Count
    leave: Count
    share_before: Share | None
    share_now: Share | None
    weights: Annotated[tuple[float, float, float], "hidden"]  # above before, above now, and of all

    @property
    def now(self) -> float:
        """How many are above the line at the reported setting."""
        return self.above + self.enter - self.leave


@dataclass(frozen=True)
class Line:
    """Where rows are acted on: from a score on, or in the top share of the list."""

    threshold: Score | None
    top: Share | None
    crossings: tuple[Crossing, ...]


@dataclass(frozen=True)
class Curve:
    """The trade-off, at so many of its points as a picture needs; signed gaps are seen from the reference."""

    exact: bool
    points: int
    reference: Group
    values: tuple[float, ...]
    auc: tuple[float, ...]
    gap: tuple[float, ...]
    signed_gap: tuple[float, ...]
    pareto: tuple[bool, ...]


@dataclass(frozen=True)
class Within:
    """The best possible AUC at some gaps."""

    gap: tuple[float, ...]
    auc: tuple[float, ...]


@dataclass(frozen=True)
class Origin:
    """How to make the report again, and when and by which version it was made."""

    library_version: str
    command: str
    created: str
    made_by: str


@dataclass(frozen=True)
class About:
    """What the numbers cannot say of themselves."""

    title: str
    card: Mapping[str, Any] | None
    source: str
    outcome: str
    columns: Mapping[str, Any]
    origin: Origin


@dataclass(frozen=True)
class Report:
    """Everything that a report says; ``before``, ``after``, ``statements`` and ``notes`` are of audit and effect."""

    derived: ClassVar[Derived] = {
        "statements": tuple[Statement, ...],
        "before": Audit,
        "after": Audit | None,
        "changes": Changes | None,
        "moves": tuple[Moved, ...] | None,
        "actions": tuple[Action, ...] | None,
        "checked": Checked | None,
    }

    schema: int
    about: Annotated[About, "inline"]
    audit: Annotated[Audit, "hidden"]
    effect: Annotated[Effect | None, "hidden"]
    notes: tuple[Note, ...]
    method: Method | None
    dial: Turned
    curve: Curve | None
    limit: Within | None
    lines: tuple[Line, ...]
    shown: int  # the line that is shown first

    @property
    def statements(self) -> tuple[Statement, ...]:
        """What follows, the most important first: of the repair, where there is one."""
        return (self.effect or self.audit).statements

    @property
    def before(self) -> Audit:
        """The original scores."""
        return self.audit

    def __getattr__(self, name: str) -> Any:
        """Read what a repair does off its effect; without a repair there is nothing of it."""
        if name in self.derived:
            return None if self.effect is None else getattr(self.effect, name)
        raise AttributeError(name)

    @property
    def chosen(self) -> Setting:
        """The reported setting."""
        return self.dial.settings[self.dial.chosen]

    @property
    def line(self) -> Line:
        """The line that is shown first."""
        return self.lines[self.shown]


def read_card(card: Mapping[str, Any] | str | PathLike[str] | None) -> dict[str, list[str]] | None:
    """Read a card from a TOML file or a dict: each name with its lines of text, what matters most first."""
    if card is None:
        return None
    given = dict(card) if isinstance(card, Mapping) else _parsed(Path(card))
    lines = {str(name): _lines(str(name), value) for name, value in given.items()}
    if not any(lines.get(name) for name in _FIRST):
        raise ValueError(f"{argument('card')} says none of {', '.join(_FIRST)}.\n{_EXAMPLE}")
    order = [*(name for name in _FIRST if name in lines), *(name for name in lines if name not in _FIRST)]
    return {name: lines[name] for name in order if lines[name]}


def _parsed(path: Path) -> dict[str, Any]:
    if not path.exists():
        raise FileNotFoundError(f"{argument('card')}: {path} is not found.\n{_EXAMPLE}")
    return toml_of(str(path), argument("card"), _EXAMPLE)


def _lines(name: str, value: Any) -> list[str]:
    several = value if isinstance(value, list | tuple) else [value]
    for each in several:
        if not isinstance(each, str | int | float | datetime.date) or isinstance(each, bool):
            kind = type(each).__name__
            raise ValueError(f"{argument('card')}: {name} must be text or a list of texts, got a {kind}.\n{_EXAMPLE}")
    return [text for text in (" ".join(str(each).split()) for each in several) if text]


@documented
class Saved:
    """A report that can be saved: its own ``to_html``, ``to_json`` and ``to_markdown`` write it."""

    to_html: Callable[[], str]
    to_json: Callable[[], str]
    to_markdown: Callable[[], str]

    def _written(self, ending: str) -> str:
        """Write the report in the form that the ending of a file's name asks for."""
        return {".html": self.to_html, ".json": self.to_json, ".md": self.to_markdown}[ending.lower()]()

    def save(self, path: str | PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the report to a file: .html, .json or .md, as its name ends; return its path.

        {path, overwrite}
        """
        place = Path(path)
        if place.suffix.lower() not in FORMATS:
            raise ValueError(f"a report is written as {', '.join(FORMATS)}, and {place.name!r} ends in none of them.")
        if place.exists() and not overwrite:
            raise FileExistsError(f"{place} already exists.\nHint: another name, or overwrite=True.")
        content = self._written(place.suffix)
        with atomic_file(Path(os.path.realpath(place)), overwrite=overwrite) as temporary:
            temporary.write_text(content, encoding="utf-8", newline="\n")
        return place
