"""``fairpot reproduce``: the paper's experiments, from data to the pages of claims."""

from __future__ import annotations

import json
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from fairpot._optional import import_optional
from fairpot.cli._errors import Failure
from fairpot.cli._options import output_options
from fairpot.cli._printing import Output, shown
from fairpot_paper.data_sets import DATA_SETS
from fairpot_paper.outputs import publish, write_outputs, write_pages
from fairpot_paper.plan import KINDS, QUICK_SEEDS, SEEDS, make_plan
from fairpot_paper.rerun import Outcome
from fairpot_paper.rerun import reproduce as rerun
from fairpot_paper.runs import TIES
from fairpot_paper.verdict_file import NAME, counted

_NEEDED = {"xgboost": "xgboost-cpu", "matplotlib": "matplotlib"}
_FOLDER, _QUICK_FOLDER = "reproduction", "reproduction-quick"
_HERE = str(Path(__file__).parent)


@contextmanager
def _told_as_fairpot_does() -> Iterator[None]:
    """Have errors that are raised here, with a message for people, told in a line or two like those of fairpot."""
    try:
        yield
    except (ValueError, TypeError) as error:
        if traceback.extract_tb(error.__traceback__)[-1].filename.startswith(_HERE):
            raise Failure(str(error)) from error
        raise


@click.command(short_help="Rerun the paper's experiments.")
@click.option("-o", "--out", "folder", metavar="FOLDER", help=f"Where it all goes; default: {_FOLDER}.")
@click.option(
    "--only",
    multiple=True,
    type=click.Choice([*KINDS, *DATA_SETS]),
    help="Run only this part or dataset; repeatable.",
)
@click.option("--seeds", type=click.IntRange(1), metavar="N", help=f"Splits of each dataset; default: {SEEDS}.")
@click.option("--jobs", type=click.IntRange(1), default=2, show_default=True, metavar="N", help="Processes.")
@click.option("--data-dir", metavar="FOLDER", help="Where the real data are; default: FAIRPOT_DATA, the cache.")
@click.option(
    "--quick", is_flag=True, help=f"Small data, {QUICK_SEEDS} seeds: to see that it runs; no figure means a thing."
)
@click.option("--retry", is_flag=True, help="Make the runs again that failed.")
@click.option("--page", metavar="FOLDER", help="Put the pages here as well, with the files they are written from.")
@click.option("--rewrite", is_flag=True, help="Write the pages in --page again from the files there; run nothing.")
@click.option("--list", "list_only", is_flag=True, help="List the parts and how many runs they have; run nothing.")
@output_options
@_told_as_fairpot_does()
def reproduce(
    folder: str | None,
    only: tuple[str, ...],
    seeds: int | None,
    jobs: int,
    data_dir: str | None,
    quick: bool,
    retry: bool,
    page: str | None,
    rewrite: bool,
    list_only: bool,
    out: Output,
) -> None:
    """Rerun the paper's experiments, and say of each of its claims whether it holds.

    Models are trained, every method is run on their scores, and tables, figures and pages of claims are written from
    the records. It can be stopped at any time: started again, it goes on where it stopped, and the records are the
    same. Real data are not downloaded: `fairpot datasets write bank bank.csv` does that; what is missing is left out
    and named.

    \b
    Examples:
      fairpot reproduce --quick
      fairpot reproduce --only tradeoff --only compas --seeds 5
      fairpot reproduce --data-dir data/ --jobs 2
    """
    if list_only:
        _list(seeds or (QUICK_SEEDS if quick else SEEDS), only, out)
        return
    if page is not None and Path(page).exists() and not Path(page).is_dir():
        raise Failure(f"--page {page} is a file, not a folder.\nHint: name a folder such as docs/evidence/paper.")
    if rewrite:
        _rewrite(page, out)
        return
    for module, package in _NEEDED.items():
        import_optional(module, package=package)
    place = Path(folder or (_QUICK_FOLDER if quick else _FOLDER))
    if place.exists() and not place.is_dir():
        raise Failure(f"{place} is a file, not a folder.\nHint: name another folder with --out.")
    with out.progress("reproduce") as bar:

        def report(line: str, share: float) -> None:
            if bar is not None:
                bar(share, line)
            elif not out.silent:
                click.echo(f"{share:4.0%}  {line}", err=True)

        outcome = rerun(
            place, seeds=seeds, only=only, jobs=jobs, data_dir=data_dir, quick=quick, retry=retry, report=report
        )
    if not outcome.made and not outcome.kept:
        raise Failure("nothing could be run. " + " ".join(outcome.missing.values()))
    written = write_outputs(place, ("strict",) if quick else TIES)
    if page is not None:
        publish(place, page)
    _tell(outcome, place, written, page, out)


def _list(seeds: int, only: tuple[str, ...], out: Output) -> None:
    runs = make_plan(seeds, only)
    rows = []
    for kind, what in KINDS.items():
        sets = list(dict.fromkeys(run.data for run in runs if run.kind == kind))
        if sets:
            rows.append([kind, what, ", ".join(sets), str(sum(run.kind == kind for run in runs))])
    out.document({"parts": [dict(zip(("name", "what", "data", "runs"), row)) for row in rows]})
    out.table("Parts of the paper", ["part", "what", "data", "runs"], rows, texts=3)


def _rewrite(page: str | None, out: Output) -> None:
    if page is None:
        raise Failure("--rewrite needs the folder of the pages.\nHint: add --page docs/evidence/paper.")
    written = [str(path) for path in write_pages(page)]
    out.document({"files": written})
    out.line(f"Written again: {', '.join(map(shown, written))}")


def _tell(outcome: Outcome, place: Path, written: list[Path], page: str | None, out: Output) -> None:
    document: dict[str, Any] = {
        "folder": str(place),
        "verdict": counted(json.loads((place / "tables" / NAME).read_text(encoding="utf-8"))),
        "trained": outcome.trained,
        "made": outcome.made,
        "kept": outcome.kept,
        "failed": [{**record["run"], **record["error"]} for record in outcome.failed],
        "missing": outcome.missing,
        "files": [str(path) for path in written],
    }
    out.document(document)
    out.line(document["verdict"], "bold")
    out.line(f"{outcome.trained} models trained, {outcome.made} runs made, {outcome.kept} kept from before")
    for name, why in outcome.missing.items():
        out.note(f"{DATA_SETS[name].title} is left out: {why}")
    for record in outcome.failed:
        run = record["run"]
        out.note(f"{run['kind']} {run['data']} seed {run['seed']} {run['model']} failed: {record['error']['message']}")
    out.line(f"Written: {shown(place / 'pages' / 'index.md')}, and {len(written) - 1} pages, tables and figures")
    if page is not None:
        out.line(f"Published: {shown(page)}")
