"""From records to tables, figures and the page, in files that are whole or not there."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Any

from fairpot._optional import make_frame
from fairpot.files.output import atomic_file
from fairpot_paper.figures import draw_all
from fairpot_paper.page import make_page
from fairpot_paper.records import RecordFile
from fairpot_paper.sheets import write_rows
from fairpot_paper.tables import (
    Columns,
    Record,
    alpha_columns,
    classifier_columns,
    collect,
    curve_columns,
    pauc_columns,
    runtime_columns,
)

PAGE = "reproduction.md"
UNPUBLISHED = ("curves.csv",)  # a few megabytes; every figure's own rows are in the folder of the run


def read_records(folder: str | os.PathLike[str]) -> list[Record]:
    """Read every record in a folder, file after file in the order of their names.

    Of runs that differ in nothing but how often test rows were resampled, or methods timed, the longest counts.
    """
    found: dict[tuple[Any, ...], Record] = {}
    for path in sorted(Path(folder).glob("records/*.jsonl")):
        for record in RecordFile(path).read():
            run = record["run"]
            name = tuple(value for field, value in run.items() if field != "resamples")
            if name not in found or run["resamples"] >= found[name]["run"]["resamples"]:
                found[name] = record
    return list(found.values())


def make_tables(records: list[Record]) -> dict[str, Columns]:
    """Return every table as tidy columns, by name."""
    made: dict[str, Columns] = {
        "curves": curve_columns(collect(records)),
        "classifiers": classifier_columns(records),
        "pauc": pauc_columns(records),
        "alphas": alpha_columns(records),
        "runtime": runtime_columns(records),
    }
    return {name: columns for name, columns in made.items() if any(columns.values())}


def read_frames(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Return every table that can be made from a folder's records as a frame, by name.

    Returns
    -------
    dict of str to frame
        ``curves`` (every point of every trade-off, means over seeds), ``classifiers``, ``pauc``, ``alphas`` and
        ``runtime``; of pandas, Polars or PyArrow, whichever is in use.
    """
    return {name: make_frame(columns) for name, columns in make_tables(read_records(folder)).items()}


def write_outputs(folder: str | os.PathLike[str]) -> list[Path]:
    """Write tables, figures and the page beside the records; return the files."""
    place, records = Path(folder), read_records(folder)
    tables = make_tables(records)
    (place / "tables").mkdir(parents=True, exist_ok=True)
    written = []
    for name, columns in tables.items():
        with atomic_file(place / "tables" / f"{name}.csv", overwrite=True) as temporary:
            write_rows(columns, range(len(next(iter(columns.values())))), temporary)
        written.append(place / "tables" / f"{name}.csv")
    figures = draw_all(tables.get("curves", {}), tables.get("alphas", {}), place / "figures")
    shown = [path.relative_to(place).as_posix() for path in [*written, *figures] if path.name not in UNPUBLISHED]
    with atomic_file(place / PAGE, overwrite=True) as temporary:
        temporary.write_text(make_page(records, place, shown), encoding="utf-8")
    return [*written, *figures, place / PAGE]


def _linked(page: Path, folder: str) -> list[str]:
    """Return the names of the files in a folder that a page, if it is there, links to."""
    if not page.exists():
        return []
    return re.findall(rf"\]\({re.escape(folder)}/([^/)]+)\)", page.read_text(encoding="utf-8"))


def publish(folder: str | os.PathLike[str], page: str | os.PathLike[str]) -> None:
    """Copy the page, and the figures and small tables that it links to, to where they are read.

    They go to ``page`` and a folder of the same name beside it. What an earlier page linked to there is removed, and
    nothing else.
    """
    place, target = Path(folder), Path(page)
    beside = target.with_suffix("")
    text = (place / PAGE).read_text(encoding="utf-8")
    for part in ("figures", "tables"):
        text = text.replace(f"]({part}/", f"]({beside.name}/")
    beside.mkdir(parents=True, exist_ok=True)
    for name in _linked(target, beside.name):
        (beside / name).unlink(missing_ok=True)
    for path in sorted([*place.glob("figures/*.svg"), *place.glob("tables/*.csv")]):
        if f"]({beside.name}/{path.name})" in text:
            shutil.copyfile(path, beside / path.name)
    with atomic_file(target, overwrite=True) as temporary:
        temporary.write_text(text, encoding="utf-8")
