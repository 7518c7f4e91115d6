"""From records to tables, verdicts, figures and the pages, in files that are whole or not there."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairpot._optional import make_frame
from fairpot.rows.output import atomic_file
from fairpot_paper.figures import draw_all
from fairpot_paper.pages import CAPTIONS, PAGES, figure_name, make_pages
from fairpot_paper.records import RecordFile
from fairpot_paper.runs import TIES
from fairpot_paper.sheets import write_rows
from fairpot_paper.tables import (
    Columns,
    Record,
    alpha_columns,
    classifier_columns,
    collect,
    curve_columns,
    edge_columns,
    pauc_columns,
    runtime_columns,
    solver_columns,
)
from fairpot_paper.verdict_file import NAME, make_document

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
    found = collect(records)
    made: dict[str, Columns] = {
        "curves": curve_columns(found),
        "classifiers": classifier_columns(records),
        "pauc": pauc_columns(records),
        "alphas": alpha_columns(records),
        "runtime": runtime_columns(records),
        "edge": edge_columns(found),
        "solver": solver_columns(records),
    }
    return {name: columns for name, columns in made.items() if any(columns.values())}


def read_frames(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Return every table that can be made from a folder's records as a frame, by name.

    Returns
    -------
    dict of str to frame
        ``curves`` (every point of every trade-off, means over seeds), ``classifiers``, ``pauc``, ``alphas``,
        ``runtime``, ``edge`` and ``solver``; of pandas, Polars or PyArrow, whichever is in use.
    """
    return {name: make_frame(columns) for name, columns in make_tables(read_records(folder)).items()}


def write_outputs(folder: str | os.PathLike[str], ties: Sequence[str] = TIES) -> list[Path]:
    """Write tables, verdicts, figures and the pages beside the records; return the files.

    Figures are drawn for each of the ``ties``; the pages show those with strict ones.
    """
    place, records = Path(folder), read_records(folder)
    tables = make_tables(records)
    (place / "tables").mkdir(parents=True, exist_ok=True)
    written = []
    for name, columns in tables.items():
        with atomic_file(place / "tables" / f"{name}.csv", overwrite=True) as temporary:
            write_rows(columns, range(len(next(iter(columns.values())))), temporary)
        written.append(place / "tables" / f"{name}.csv")
    with atomic_file(place / "tables" / NAME, overwrite=True) as temporary:
        text = json.dumps(make_document(records, place), indent=1, ensure_ascii=False)
        temporary.write_text(text + "\n", encoding="utf-8")
    figures = draw_all(tables.get("curves", {}), tables.get("alphas", {}), place / "figures", ties)
    return [*written, place / "tables" / NAME, *figures, *publish(place, place / "pages")]


def publish(folder: str | os.PathLike[str], target: str | os.PathLike[str]) -> list[Path]:
    """Write the pages to a folder, with the verdicts, small tables and figures that they are written from.

    What earlier pages there link to is removed first, and nothing else.
    """
    place, pages = Path(folder), Path(target)
    pages.mkdir(parents=True, exist_ok=True)
    for name in _linked(pages):
        (pages / name).unlink(missing_ok=True)
    shown = {f"{figure_name(caption)}.svg" for caption in CAPTIONS}
    tables = [path for path in sorted((place / "tables").iterdir()) if path.name not in UNPUBLISHED]
    figures = [path for path in sorted(place.glob("figures/*.svg")) if path.name in shown]
    copied = [Path(shutil.copyfile(path, pages / path.name)) for path in [*tables, *figures]]
    return [*copied, *write_pages(pages)]


def write_pages(target: str | os.PathLike[str]) -> list[Path]:
    """Write the pages of a folder again from the verdicts, tables and figures in it."""
    pages = Path(target)
    if not (pages / NAME).is_file():
        raise ValueError(f"{pages} has no {NAME}, which the pages are written from.\nHint: run without --rewrite.")
    for name, text in make_pages(pages).items():
        with atomic_file(pages / name, overwrite=True) as temporary:
            temporary.write_text(text, encoding="utf-8")
    return [pages / f"{name}.md" for name in PAGES]


def _linked(pages: Path) -> set[str]:
    """Return the names of the files in a folder that its pages, if they are there, link to."""
    texts = [path.read_text(encoding="utf-8") for name in PAGES if (path := pages / f"{name}.md").exists()]
    found = {name for text in texts for name in re.findall(r"\]\(([^/)#]+)\)", text)}
    return {name for name in found if Path(name).suffix in (".svg", ".csv", ".json")}
