"""Run what the pages in docs/evidence rest on, keep its records, and write the pages' tables from them.

python benchmarks/evidence.py [--scale 1.0] [--jobs 2] [--parts coverage-gaps methods ...]
python benchmarks/evidence.py --pages

Each part is one of the programs beside this one, seeded, in a process of its own. Its records go to
docs/evidence/records as JSON lines: first the command and the scale, then one line for each row of
its table, or for each split of ``methods``. ``--scale`` multiplies the numbers of draws and splits. ``--pages`` only
writes the tables again: they stand between ``<!-- table: PART -->`` and ``<!-- table: end -->``.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PAGES = HERE.parent / "docs" / "evidence"
RECORDS = PAGES / "records"
COVERAGE = ("intervals", "shapes", "refusals", "in_tops", "coarse", "clusters", "certified_clusters", "gaps", "bands")
COVERAGE += ("surveys", "certified", "signed", "weighted", "tops", "sizes", "plans")
# Programs whose number is one of splits, and how many they are at scale 1.
SPLITS = {"methods": 5, "certified": 10, "own_dials": 3}
PARTS = (*(f"coverage-{name}" for name in COVERAGE), *SPLITS)
_TABLE = re.compile(r"(<!-- table: (?!end)(.+?) -->\n)(.*?)(<!-- table: end -->)", re.S)


def command(part: str, scale: float) -> list[str]:
    """Give the program of a part and its options, as a person would type them."""
    name, _, inner = part.partition("-")
    if inner:
        return [f"benchmarks/{name}.py", "--parts", inner, "--scale", f"{scale:g}"]
    return [f"benchmarks/{name}.py", "--splits", str(max(round(SPLITS[part] * scale), 1))]


def run(part: str, scale: float) -> float:
    """Run a part and keep its records; say how long it took."""
    asked, start = command(part, scale), time.perf_counter()
    fresh = RECORDS / f"{part}.part"
    fresh.unlink(missing_ok=True)
    given = [*asked, "--records", str(fresh)] if part == "methods" else asked
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, *given], cwd=HERE.parent, env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    lines = map(json.loads, fresh.read_text().splitlines()) if part == "methods" else rows_of(done.stdout)
    keep(part, {"command": f"python {' '.join(asked)}", "scale": scale}, lines)
    fresh.unlink(missing_ok=True)
    return time.perf_counter() - start


def keep(part: str, head: dict[str, Any], lines: Iterable[dict[str, Any]]) -> None:
    """Write the records of a part."""
    RECORDS.mkdir(exist_ok=True)
    (RECORDS / f"{part}.jsonl").write_text("".join(json.dumps(each) + "\n" for each in (head, *lines)))


def rows_of(printed: str) -> list[dict[str, str]]:
    """Read the rows of a printed table."""
    lines = [line.strip()[1:-1].split("|") for line in printed.splitlines() if line.startswith("|")]
    head, _, *rest = [[cell.strip() for cell in line] for line in lines]
    return [dict(zip(head, row)) for row in rest]


def records(part: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Read the records of a part: its head, then its lines."""
    head, *lines = map(json.loads, (RECORDS / f"{part}.jsonl").read_text().splitlines())
    return head, lines


def table(name: str) -> str:
    """Make a table of a page from the records: of a part, or "methods: equal gaps"."""
    part, _, which = name.partition(": ")
    head, lines = records(part)
    if which:
        import methods

        shown = methods.TABLES[which](methods.unpacked(lines))
    else:
        rows = [list(lines[0]), ["---"] * len(lines[0]), *(list(line.values()) for line in lines)]
        shown = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return f"{shown}\n\n    {head['command']}\n\n"


def filled(text: str) -> str:
    """Fill the tables of a page whose records are there."""

    def fill(found: re.Match[str]) -> str:
        there = (RECORDS / f"{found[2].partition(': ')[0]}.jsonl").exists()
        return f"{found[1]}\n{table(found[2])}{found[4]}" if there else found[0]

    return _TABLE.sub(fill, text)


def parts_of(text: str) -> list[str]:
    """List the parts that the tables of a page come from."""
    return [found[1].partition(": ")[0] for found in _TABLE.findall(text)]


def write_pages() -> None:
    """Write the tables of all pages."""
    for page in sorted(PAGES.glob("*.md")):
        before = page.read_text()
        if (after := filled(before)) != before:
            page.write_text(after)


def main() -> None:
    """Run parts two at a time, then write the pages."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--pages", action="store_true", help="write the tables from the records, and nothing else")
    given = parser.parse_args()
    RECORDS.mkdir(exist_ok=True)
    if not given.pages:
        with ThreadPoolExecutor(given.jobs) as pool:
            for part, seconds in zip(given.parts, pool.map(lambda part: run(part, given.scale), given.parts)):
                print(f"{part}: {seconds:.0f} s", flush=True)
    write_pages()


if __name__ == "__main__":
    main()
