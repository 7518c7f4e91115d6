"""The page of claims: what the paper says, how it was tested, and what came out."""

from __future__ import annotations

import datetime as dt
import json
from collections import Counter
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from fairpot.experiments import paper
from fairpot.experiments.claims import Evidence, make_claims
from fairpot.experiments.collect import Key, Record, collect, mean_of
from fairpot.experiments.evaluate import DIALS
from fairpot.experiments.page_tables import (
    Verdicts,
    classifier_table,
    details,
    overview,
    pauc_table,
    runtime_table,
    solver_table,
)
from fairpot.experiments.sets import DATA_SETS, DRAW
from fairpot.experiments.tables import classifier_aucs, classifier_columns, pauc_columns, runtime_columns
from fairpot.models import MODEL_NAMES


def make_page(records: list[Record], folder: Path, figures: list[str], command: str) -> str:
    """Write the page from records.

    Parameters
    ----------
    records : list of records
    folder : path
        Where the seconds of the runs are.
    figures : list of paths, relative to the page
    command : str
        What makes the page again.
    """
    evidence = Evidence(collect(records), records)
    verdicts: Verdicts = [(claim, claim.verdicts(evidence)) for claim in make_claims()]
    template = Template((files("fairpot.experiments") / "page.md").read_text(encoding="utf-8"))
    return template.substitute(
        head=_head(records, folder, command),
        overview=overview(verdicts),
        counts=_counts(verdicts),
        draw=_about_draw(evidence),
        moved=", ".join(f"{each.moved} towards {each.reference} ({each.title})" for each in DATA_SETS.values()),
        thetas=len(DIALS["optimal_merge"]),
        hashes=_hashes(records),
        details=details(verdicts),
        classifiers=classifier_table(classifier_columns(records)),
        pauc=pauc_table(pauc_columns(records), "half"),
        runtime=_runtime(records),
        figures="\n\n".join(f"![{Path(name).stem}]({name})" for name in figures if name.endswith(".svg")),
        failures=_failures(records, evidence),
    )


def _head(records: list[Record], folder: Path, command: str) -> str:
    versions: dict[str, str] = records[0]["versions"] if records else {}
    named = ", ".join(f"{name} {version}" for name, version in versions.items())
    seeds = len({r["run"]["seed"] for r in records if r["run"]["kind"] == "tradeoff"})
    kinds = Counter(record["run"]["kind"] for record in records)
    runs = ", ".join(f"{count:,} {kind}" for kind, count in kinds.items())
    return (
        f"Made by `{command}` ({named}), finished on {_finished(folder)}, with {seeds} seeds.\n"
        f"Runs: {runs}. {_spent(folder)}\n"
        "Do not edit this page: it is written from the records. The paper's figures stand beside ours where it prints "
        "them; its trade-off curves are drawings without numbers."
    )


def _lines(folder: Path) -> list[dict[str, Any]]:
    place = folder / "seconds.jsonl"
    return [json.loads(line) for line in place.read_text().splitlines()] if place.exists() else []


def _finished(folder: Path) -> str:
    """Return the day of the last run, so that a page written again later keeps its date."""
    last = max((line["at"] for line in _lines(folder)), default=0)
    return dt.datetime.fromtimestamp(last, dt.UTC).date().isoformat()


def _spent(folder: Path) -> str:
    lines = _lines(folder)
    clinical = sum(line["seconds"] for line in lines if "clinical" in line["task"] and line["kind"] != "runtime")
    timed = sum(line["seconds"] for line in lines if line["kind"] == "runtime")
    rest = sum(line["seconds"] for line in lines) - clinical - timed
    return (
        f"Processor time: {rest / 60:.0f} minutes for all but the clinical data, {clinical / 60:.0f} for these and "
        f"{timed / 60:.0f} for the timed runs; two cores share the first two."
    )


def _counts(verdicts: Verdicts) -> str:
    ours = [judged.verdict for _, found in verdicts for way, judged in found.items() if way in ("half", "once")]
    said = ", ".join(f"{count} {verdict}" for verdict, count in Counter(ours).most_common())
    return f"By half ties: {said}."


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
    published = np.array([paper.CLASSIFIERS["synthetic"][model][0] for model in MODEL_NAMES])
    away = np.sqrt(np.mean((ours - published[:, None]) ** 2, axis=0))
    if len(away) <= DRAW:
        return ""
    ahead = start.signed_gap[:, 0] >= 0.1
    order = [int(k) for k in np.argsort(away) if ahead[k]]
    place = f"number {order.index(DRAW) + 1}" if DRAW in order else "none"
    gaps = start.signed_gap[:, 0]
    return (
        f"The one draw is `make_synthetic(random_state={DRAW})`. On one split each, {int(ahead.sum())} of the "
        f"{len(away)} draws have group a ahead by 0.1 or more; the nine classifiers of draw {DRAW} are {away[DRAW]:.3f}"
        f" (root mean square) from the paper's table, {place} of these (the nearest {away[order[0]]:.3f}). "
        f"Over all draws the unadjusted gap goes from {gaps.min():.2f} to {gaps.max():.2f}."
    )


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
    undefined = [key for key, points in evidence.found.items() if not np.isfinite(mean_of(points.auc)).all()]
    lines += [f"- {', '.join(key)}: no figure on any seed" for key in undefined]
    return "\n".join(lines) if lines else "Nothing failed."
