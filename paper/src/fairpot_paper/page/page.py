"""The page of claims: what the paper says, how it was tested, and what came out."""

from __future__ import annotations

import datetime as dt
import json
from collections import Counter
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from fairpot_paper.claims.catalogue import Evidence, make_claims
from fairpot_paper.claims.verdicts import ABSENT, FAILS, HOLDS, OPEN
from fairpot_paper.evaluate import DIALS
from fairpot_paper.origin import is_quick
from fairpot_paper.page.captions import figures_of
from fairpot_paper.page.tables import (
    Verdicts,
    classifier_table,
    details,
    edge_table,
    overview,
    pauc_table,
    runtime_table,
    solver_table,
)
from fairpot_paper.plan import QUICK_SEEDS, SEEDS, make_plan
from fairpot_paper.results import paper
from fairpot_paper.results.collect import Key, Record, collect, mean_of
from fairpot_paper.results.tables import classifier_aucs, classifier_columns, pauc_columns, runtime_columns
from fairpot_paper.sets import DATA_SETS, DRAW
from fairpot.models import MODEL_NAMES


def make_page(records: list[Record], folder: Path, files_beside: list[str]) -> str:
    """Write the page from records.

    Parameters
    ----------
    records : list of records
    folder : path
        Where the seconds of the runs are, and whether they are quick ones.
    files_beside : list of paths, relative to the page
        The figures that it shows and the tables that it names.
    """
    evidence = Evidence(collect(records), records)
    verdicts: Verdicts = [(claim, claim.verdicts(evidence)) for claim in make_claims()]
    template = Template((files("fairpot_paper.page") / "page.md").read_text(encoding="utf-8"))
    return template.substitute(
        head=_head(records, folder),
        overview=overview(verdicts),
        counts=_counts(verdicts),
        draw=_about_draw(evidence),
        moved=", ".join(f"{each.moved} towards {each.reference} ({each.title})" for each in DATA_SETS.values()),
        thetas=len(DIALS["optimal_merge"]),
        hashes=_hashes(records),
        details=details(verdicts),
        classifiers=classifier_table(classifier_columns(records)),
        pauc=pauc_table(pauc_columns(records), "half"),
        edge=edge_table(evidence.found) or "Not run.",
        runtime=_runtime(records),
        figures=figures_of(files_beside),
        tables=_links(files_beside) or "none",
        failures=_failures(records, evidence),
    )


def _links(files_beside: list[str]) -> str:
    return ", ".join(f"[{Path(name).name}]({name})" for name in files_beside if Path(name).parent.name == "tables")


def _head(records: list[Record], folder: Path) -> str:
    versions: dict[str, str] = records[0]["versions"] if records else {}
    named = ", ".join(f"{name} {version}" for name, version in versions.items())
    kinds = Counter(record["run"]["kind"] for record in records)
    runs = ", ".join(f"{count:,} {kind}" for kind, count in kinds.items())
    made = f"Made by `{_command(records, folder)}` ({named}){_finished(folder)}"
    return (
        f"{_warning(folder)}{made}, with {_repeats(records) or 'no runs'}.\n"
        f"Runs: {runs}. {_spent(folder)}\n"
        "Do not edit this page: it is written from the records. The paper's figures stand beside ours where it prints "
        "them; its trade-off curves are drawings without numbers."
    )


def _command(records: list[Record], folder: Path) -> str:
    """Return the command that makes such records, as they show it themselves."""
    quick = is_quick(folder)
    made = {max(r["run"]["resamples"], r["run"]["seed"] + 1) for r in records}
    seeds, usual = max(made, default=0), QUICK_SEEDS if quick else SEEDS
    return f"fairpot reproduce{' --quick' if quick else ''}{f' --seeds {seeds}' if seeds != usual else ''}"


def _warning(folder: Path) -> str:
    if is_quick(folder):
        return (
            "**A quick run**, on a part of the rows and with networks that are hardly trained: it shows that all of "
            "it runs. Its figures and verdicts say nothing about the paper.\n\n"
        )
    return ""


def _repeats(records: list[Record]) -> str:
    seeds = {
        r["run"]["seed"] for r in records if not DATA_SETS[r["run"]["data"]].fixed and r["run"]["kind"] != "runtime"
    }
    drawn = [r["run"]["resamples"] for r in records if DATA_SETS[r["run"]["data"]].fixed]
    parts = [(len(seeds), "seed"), (max(drawn, default=0), "resample")]
    named = [f"{count} {unit}{'s' if count > 1 else ''}" for count, unit in parts if count]
    return " and ".join(named) + (" of the clinical test rows" if drawn else "")


def _lines(folder: Path) -> list[dict[str, Any]]:
    """Read the seconds; what a killed run left of a line is passed over."""
    place = folder / "seconds.jsonl"
    found = []
    for line in place.read_text(encoding="utf-8").splitlines() if place.exists() else []:
        with suppress(ValueError):
            found.append(json.loads(line))
    return found


def _finished(folder: Path) -> str:
    """Return the day of the last run, so that a page written again later keeps its date."""
    times = [line["at"] for line in _lines(folder)]
    return f", finished on {dt.datetime.fromtimestamp(max(times), dt.UTC).date().isoformat()}" if times else ""


def _spent(folder: Path) -> str:
    lines = _lines(folder)
    if not lines:
        return ""
    clinical = sum(line["seconds"] for line in lines if "clinical" in line["task"] and line["kind"] != "runtime")
    timed = sum(line["seconds"] for line in lines if line["kind"] == "runtime")
    rest = sum(line["seconds"] for line in lines) - clinical - timed
    return (
        f"Processor time: {rest / 60:.0f} minutes for all but the clinical data, {clinical / 60:.0f} for these and "
        f"{timed / 60:.0f} for the timed runs, which are made one at a time: on two idle cores about "
        f"{rest / 120:.0f}, {clinical / 120:.0f} and {timed / 60:.0f} minutes."
    )


def _counts(verdicts: Verdicts) -> str:
    """Count the verdicts of the claims as the paper makes them, without other readings of them."""
    said: Counter[str] = Counter()
    for claim, found in verdicts:
        if claim.number.isdigit():
            said[next((found[way].verdict for way in ("half", "once") if way in found), ABSENT)] += 1
    counted = ", ".join(f"{said[each]} {each}" for each in (HOLDS, FAILS, OPEN, ABSENT))
    text = f"By half ties, over data sets and rows without a letter: {counted}."
    return f"{text} Claims 1 to 3 overlap, Synthetic counts twice, and stars are not counted apart."


def _hashes(records: list[Record]) -> str:
    """Name the data of each set; of the draws, which differ, the first."""
    found: dict[str, str] = {}
    for record in records:
        if record["status"] == "ok" and record["run"]["seed"] == 0:
            found.setdefault(record["run"]["data"], record["results"]["data_sha256"])
    named = {"draws": "Synthetic, draw 0"}
    return ", ".join(f"{named.get(data, DATA_SETS[data].title)} `{sha[:16]}`" for data, sha in found.items())


def _about_draw(evidence: Evidence) -> str:
    """Say how near the classifiers of each draw come to the paper's table, and where the one draw stands among them."""
    aucs = classifier_aucs(evidence.records)
    start = evidence.found.get(Key("draws", "xgboost", "", "test", "half", "unadjusted"))
    if start is None or any(("draws", model) not in aucs for model in MODEL_NAMES):
        return ""
    ours = np.array([aucs["draws", model] for model in MODEL_NAMES])
    gaps = start.signed_gap[:, 0]
    # With a draw missing, rows are not the numbers of draws.
    whole = all(len(each) == _draws(evidence.records) for each in (gaps, ours[0]))
    if not whole or len(gaps) <= DRAW or not np.isfinite(ours).all():
        return ""
    published = np.array([paper.CLASSIFIERS["synthetic"][model][0] for model in MODEL_NAMES])
    away = np.sqrt(np.mean((ours - published[:, None]) ** 2, axis=0))
    order = [int(k) for k in np.argsort(away) if gaps[k] >= 0.1]
    place = f", number {order.index(DRAW) + 1} of these (the nearest {away[order[0]]:.3f})" if DRAW in order else ""
    return (
        f"The one draw is `make_synthetic(random_state={DRAW})`, chosen, on two splits of each draw, for its nearness "
        f"to the paper's table of classifiers. On one split each, {len(order)} of the {len(gaps)} draws have group a "
        f"ahead by 0.1 or more; the nine classifiers of draw {DRAW} are {away[DRAW]:.3f} (root mean square) from that "
        f"table{place}. Over all draws the unadjusted signed gap goes from {gaps.min():.2f} to {gaps.max():.2f}: draws "
        f"differ more than methods do. Group b is moved in all of them, also in the {int((gaps < 0).sum())} in which "
        "it is ahead."
    )


def _draws(records: list[Record]) -> int:
    return 1 + max((r["run"]["seed"] for r in records if r["run"]["data"] == "draws"), default=-1)


def _runtime(records: list[Record]) -> str:
    timed = [r for r in records if r["run"]["kind"] == "runtime" and r["status"] == "ok"]
    if not timed:
        return "Not run."
    machine = timed[0]["results"]["machine"]
    parts = [
        f"On {machine['cpu']}, {machine['cores']} cores, one thread. A fit on the training rows and the adjusted test "
        "scores of eleven lambdas (Post-logit and Wasserstein: one set), each called as a user would, with the checks "
        "of its input; no evaluation but in the two rows that give the curve. The cost matrix with `ot.emd` is the way "
        "that the paper describes; its default limit of iterations may end before the optimum. What the paper timed is "
        "not said; its machines were an Apple M4 Pro and, for the clinical data, an Intel Xeon E5-2699 v4.",
        runtime_table(runtime_columns(records)),
    ]
    stopped = solver_table(records)
    if stopped:
        parts += ["Where `ot.emd` stopped early, its plan gives other scores (first split, half ties):", stopped]
    return "\n\n".join(parts)


def _failures(records: list[Record], evidence: Evidence) -> str:
    failed = [r for r in records if r["status"] != "ok"]
    lines = [f"- {', '.join(map(str, r['run'].values()))}: {r['error']['message']}" for r in failed]
    notes: Counter[str] = Counter()
    for record in records:
        for each in record.get("results", {}).get("failed", []):
            where = f"{record['run']['kind']}, {record['run']['data']}, {record['run']['model']}"
            notes[
                f"{where}, {each.get('region', 'all rows')}, {each['source']}: {each['method']}: {each['error']}"
            ] += 1
    lines += [f"- {note} ({count} times)" for note, count in notes.items()]
    for key, points in evidence.found.items():
        if not np.isfinite(mean_of(points.auc) + mean_of(points.signed_gap)).all():
            lines.append(
                f"- {', '.join(part for part in key if part)}: no figure on any seed at some values of its dial"
            )
    lines += _not_run(records)
    return "\n".join(lines) if lines else "Nothing failed, nothing is missing."


def _not_run(records: list[Record]) -> list[str]:
    """Name the parts of the plan without a record, by data set."""
    made = {(record["run"]["kind"], record["run"]["data"]) for record in records}
    missing: dict[str, list[str]] = {}
    for run in make_plan(1):
        if (run.kind, run.data) not in made and run.kind not in missing.setdefault(run.data, []):
            missing[run.data].append(run.kind)
    return [f"- {DATA_SETS[data].title}: not run: {', '.join(kinds)}" for data, kinds in missing.items() if kinds]
