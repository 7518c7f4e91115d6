"""The rows of a command in a Spark cluster, where --engine spark asks for it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

import click

from fairpot.engines.protocol import CountedRows
from fairpot.transport import ScoreMap

if TYPE_CHECKING:
    from fairpot.cli._rows import RowOptions


def check_spark_options(rows: RowOptions) -> None:
    """Insist on files that Spark itself can open."""
    if rows.engine != "spark":
        if rows.master is not None:
            raise click.UsageError("--master says where Spark runs: it needs --engine spark.")
        return
    if rows.sql is not None or rows.database is not None:
        raise click.UsageError("--sql and --database ask DuckDB, not --engine spark.")
    if not rows.inputs or "-" in rows.inputs:
        raise click.UsageError("--engine spark needs the names of files that all workers can read.")


def spark_rows(rows: RowOptions, *, labelled: bool = True) -> Any:
    """Start the session and name the files; nothing is read yet."""
    from fairpot.engines.spark import SparkRows, spark_session

    session = spark_session(rows.master or "local[*]")
    roles = {"score": rows.score, "label": rows.label, "groups": rows.groups, "weight": rows.weight}
    found = SparkRows.read(session, list(rows.inputs), format=rows.format, **roles)
    return found if labelled else found.bare()


def count_on_spark(rows: RowOptions, *, labelled: bool) -> CountedRows:
    """Count the rows on the cluster."""
    from fairpot.engines.spark import SparkEngine

    return SparkEngine().count(spark_rows(rows, labelled=labelled), positive=rows.positive, several=labelled)


def thresholds_on_spark(rows: RowOptions, alpha: float, region: Any, counted: CountedRows) -> dict[Hashable, float]:
    """Find where the top-alpha region of the rows begins, on the cluster."""
    from fairpot.engines.spark import SparkEngine

    return SparkEngine().thresholds(spark_rows(rows, labelled=False), alpha, region=region, counted=counted)


def apply_on_spark(
    rows: RowOptions, maps: Mapping[Hashable, ScoreMap], output: str, *, column: str | None, force: bool, **others: Any
) -> dict[str, Any]:
    """Write the rows with their adjusted score to a folder; return what there is to say about it."""
    from fairpot.engines.spark import SparkEngine

    context = click.get_current_context()
    asked = click.core.ParameterSource.COMMANDLINE
    wanted = [name for name in others if context.get_parameter_source(name) is asked]
    if wanted:
        named = ", ".join(f"--{name.replace('_', '-')}" for name in wanted)
        raise click.UsageError(f"--engine spark writes the adjusted rows alone, without {named}.")
    column = column or f"{rows.score}_fair"
    written = SparkEngine().write(spark_rows(rows, labelled=False), maps, output, column=column, overwrite=force)
    return {"rows": written, "column": column}
