"""Options that say which groups are compared, and which way scores run."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any, TypeVar

import click

from fairpot.cli._rows import named_group

Command = TypeVar("Command", bound=Callable[..., Any])


def group_options(command: Command) -> Callable[..., Any]:
    """Add --min-group and --groups."""
    chosen: Callable[..., Any] = click.option(
        "--groups", "only", metavar="A,B", help="Compare these groups only; the others stay as they are."
    )(command)
    return click.option(
        "--min-group",
        type=click.IntRange(0),
        default=0,
        metavar="ROWS",
        help="Leave groups with fewer rows out of the comparison; they stay as they are.",
    )(chosen)


def listed_groups(text: str | None, groups: Iterable[Hashable]) -> list[Hashable] | None:
    """Find the groups that were named, with commas between them."""
    if text is None:
        return None
    known = list(groups)
    return [group for name in text.split(",") if (group := named_group(name.strip(), known)) is not None]
