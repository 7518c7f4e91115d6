"""Rows that belong together: the clusters of a file, counted beside its table."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

import numpy as np

from fairpot.cli._errors import Failure
from fairpot.cli._printing import Output
from fairpot.cli._rows import RowOptions
from fairpot.files import CountedRows, RowSource, count_rows
from fairpot.inference import Sample
from fairpot.inference.sample import Clusters
from fairpot.table import ScoreTable


def sample_with_clusters(rows: RowOptions, counted: CountedRows, cluster: str | None, out: Output) -> Sample:
    """Count every cluster of every group by itself, where a column names them."""
    if cluster is None:
        return Sample.of(counted.table)
    if counted.quantisation is not None:
        raise Failure(
            "--cluster needs every score as it is, but there were too many distinct ones to keep.\n"
            "Hint: round the scores first, or leave --cluster out."
        )
    source = _with_group(rows.source, cluster)
    with out.progress("counting clusters") as progress:
        parts = count_rows(
            source, positive=rows.positive, memory_limit=rows.memory, threads=rows.threads, progress=progress
        )
    return Sample(counted.table, None, _clusters(parts.table, counted.table, rows.groups, cluster))


def _with_group(source: RowSource, cluster: str) -> RowSource:
    """Take the clusters for one more column of groups; files are not looked at, nor input read, again."""
    if cluster in source.roles.values():
        raise Failure(f"the column {cluster!r} cannot play two parts.\nHint: --cluster names a column of its own.")
    other = replace(source, groups=(*source.group_columns, cluster))
    if isinstance(source.path, str) and source.path == "-":
        other = replace(other, path=[*source.files])
        object.__setattr__(other, "_keeps", source)  # what was spooled lives as long as either
    return other


def _clusters(parts: ScoreTable, table: ScoreTable, columns: tuple[str, ...], cluster: str) -> Clusters:
    names: dict[str, int] = {}
    found: list[list[np.ndarray]] = [[] for _ in range(5)]
    for name, counts in zip(parts.groups, parts.counts):
        group, unit = _parted(name, table.groups, columns, cluster)
        entry = np.searchsorted(table.counts[group].score, counts.score)
        for positive, weight in ((True, counts.positive), (False, counts.negative)):
            there = np.flatnonzero(weight)
            number = np.full(len(there), names.setdefault(unit, len(names)))
            same = [np.full(len(there), value) for value in (group, positive)]
            for column, values in zip(found, (number, same[0], entry[there], same[1], weight[there])):
                column.append(values)
    unit_of, group_of, entry_of, label_of, weight_of = (np.concatenate(column) for column in found)
    return Clusters(unit_of, group_of, entry_of, label_of, weight_of.astype(np.float64), False, len(names))


def _parted(name: Hashable, groups: tuple[Hashable, ...], columns: tuple[str, ...], cluster: str) -> tuple[int, str]:
    """Take an intersection "sex=F, patient=12" apart into the place of its group and its cluster."""
    group, _, unit = str(name).rpartition(f", {cluster}=")
    plain = group.removeprefix(f"{columns[0]}=") if len(columns) == 1 else group
    places = [k for k, known in enumerate(groups) if str(known) == plain]
    if len(places) != 1:
        raise Failure(f"the clusters of group {plain!r} cannot be told from others'.\nHint: rename that group.")
    return places[0], unit
