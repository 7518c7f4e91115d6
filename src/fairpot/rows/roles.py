"""Which columns of rows play which part, and what the rows mean: what every source of rows says."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, cast

from fairpot._arguments import argument
from fairpot._defaults import Meaning
from fairpot._validation import wording
from fairpot._validation.followed import AfterTime, check_after_time
from fairpot._validation.grouping import Grouping
from fairpot.counting import check_meaning, check_weights_word
from fairpot.exceptions import InputFileError

Kind = Literal["typed", "text", "json"]  # how values of label and group columns come out
NUMBERS = ("score", "weight", "time")  # the parts that are numbers
LONGEST_NAME = 2000  # bytes of a text that names a group, an outcome or a cluster
_NEARLY = 0.75


@dataclass(frozen=True, kw_only=True)
class Roles:
    """Say which columns play which part, and what the rows mean; where the rows are, its heirs say."""

    score: str
    label: str | None = None
    groups: str | Sequence[str] = ()
    weight: str | None = None
    weights: str | None = None
    cluster: str | None = None
    lower_is_riskier: bool = False
    high_score_means: Meaning | None = None
    pos_label: Any = None
    time: str | None = None
    event: str | None = None
    horizon: float | None = None
    competing: Any = None
    leaving: str | None = None
    grouping: Grouping | None = None

    reader: ClassVar[str]  # the name of what reads such rows

    def __post_init__(self) -> None:
        groups = (self.groups,) if isinstance(self.groups, str) else tuple(self.groups)
        object.__setattr__(self, "groups", groups)
        if len(set(groups)) < len(groups):
            raise InputFileError(f"the groups name a column twice: {list(groups)}.")
        check_weights_word(self.weights)
        check_meaning(self.high_score_means)
        if self.grouping is not None:
            self.grouping.check_weights(self.weights)
            self.grouping.check_columns(groups)
        if check_after_time(self.after, label=self.label, pos_label=None if self.event is None else self.pos_label):
            named = [*self.roles.values()]
            twice = [name for name in (self.time, self.event) if named.count(str(name)) > 1]
            if twice:
                raise InputFileError(f"the column {twice[0]!r} cannot play two parts.\nHint: name another.")

    @property
    def after(self) -> AfterTime:
        """What is said of outcomes after a time, with the names of the columns."""
        return AfterTime(self.time, self.event, self.horizon, self.competing, self.leaving)

    @property
    def group_columns(self) -> tuple[str, ...]:
        """The columns with the group."""
        return cast(tuple[str, ...], self.groups)

    @property
    def key_columns(self) -> tuple[str, ...]:
        """The columns with group, and with label or event."""
        ends = (self.label, self.event)
        return (*self.group_columns, *(name for name in ends if name is not None))

    @property
    def roles(self) -> dict[str, str]:
        """The part each column plays: "score", "label", "weight", "group0", ..."""
        parts = ("score", "label", "weight", "cluster", "time", "event")
        named = {part: getattr(self, part) for part in parts}
        named |= {f"group{i}": name for i, name in enumerate(self.group_columns)}
        return {role: name for role, name in named.items() if name is not None}

    @property
    def kind(self) -> Kind:
        """How values of label and group columns come out: typed, as text or as JSON."""
        return "typed"

    @property
    def inputs(self) -> list[Path]:
        """Every file of this machine that is read, which no output may be."""
        return []

    def but(self, **parts: Any) -> Self:
        """Return the same rows with other parts."""
        return replace(self, **parts)

    def unlabelled(self, grouping: Grouping | None) -> Self:
        """Return the same rows without outcomes, with groups as others were counted."""
        return self.but(label=None, pos_label=None, cluster=None, grouping=grouping)

    def bare(self) -> Self:
        """Return the same rows without outcomes, weight and cluster."""
        return self.but(label=None, weight=None, cluster=None, **dict.fromkeys(AfterTime._fields))


def find_column(name: str, columns: Sequence[str], where: str, role: str = "", known: bool = True) -> int:
    """Return the place of a column; if there is none of that name, say which come near, or how to name its ``role``."""
    places = [i for i, column in enumerate(columns) if column == name]
    if len(places) == 1:
        return places[0]
    if places:
        raise InputFileError(f"{where} has {len(places)} columns named {name!r}.\nHint: rename one of them.")
    folded = {column.casefold(): column for column in columns}
    # What is nearly the name that was given, whoever gave it knows already.
    near = [folded[c] for c in difflib.get_close_matches(name.casefold(), list(folded), n=3, cutoff=_NEARLY)]
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else "upper and lower case matter."
    if role and not near:
        part = "group" if role.startswith("group") else role
        hint = f"say which column holds the {part}, {argument(part, ...)}"
    listed = wording.all_columns(columns, known and bool(role))
    raise InputFileError(f"{where} has no column {name!r} {listed}.\nHint: {hint}")
