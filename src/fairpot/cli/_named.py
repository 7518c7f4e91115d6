"""People by name: the largest changes of a repair, for those who ask for an id column."""

from __future__ import annotations

import tempfile
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

import click

from fairpot._optional import import_optional
from fairpot.cli._rows import RowOptions
from fairpot.files import apply
from fairpot.transport import ScoreMap

_MOST = 20


def check_id(rows: RowOptions, column: str | None, repaired: bool) -> None:
    """Insist that an id column can be used."""
    if column is None:
        return
    if not repaired:
        raise click.UsageError("--id names the people whose scores change most: say how far a repair goes, or --map.")
    if "-" in rows.inputs:
        raise click.UsageError("--id reads the rows a second time, which standard input (-) cannot give.")


def largest_changes(rows: RowOptions, maps: Mapping[Hashable, ScoreMap], column: str) -> list[dict[str, Any]]:
    """Name the people whose scores change most, the largest change first."""
    duckdb = import_optional("duckdb", "cli")
    with tempfile.TemporaryDirectory(prefix="fairpot-") as folder:
        changes = Path(folder) / "changes.parquet"
        apply(rows.source.bare(), maps, output=Path(folder) / "rows.parquet", changes=changes, keep=[column])
        name = '"' + column.replace('"', '""') + '"'
        query = (
            f'SELECT {name}, "group", old_score, new_score FROM read_parquet(?) WHERE new_score <> old_score '
            f'ORDER BY abs(new_score - old_score) DESC, "row" LIMIT {_MOST}'
        )
        with duckdb.connect() as connection:
            found = connection.execute(query, [str(changes)]).fetchall()
    return [{"id": who, "group": group, "before": before, "after": after} for who, group, before, after in found]
