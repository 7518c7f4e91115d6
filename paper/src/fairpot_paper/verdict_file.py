"""``verdicts.json``: every claim, what was found about it on each data set, and what was run to find it.

With the tables beside it, it is all that the pages are written from: they can be made again without the records.
"""

from __future__ import annotations

import datetime as dt
import json
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from fairpot_paper import published as paper
from fairpot_paper.claims import SHORT, make_claims
from fairpot_paper.data_sets import DATA_SETS, DRAW
from fairpot_paper.models import MODEL_NAMES
from fairpot_paper.plan import QUICK_SEEDS, SEEDS, make_plan
from fairpot_paper.records import is_quick
from fairpot_paper.tables import Key, Record, classifier_aucs, collect, mean_of
from fairpot_paper.verdicts import ABSENT, FAILS, HOLDS, OPEN, Claim, Evidence, Judged

NAME = "verdicts.json"
Document = dict[str, Any]
# How a claim was judged: by which ties, and with maps fitted on which scores.
_WAYS = {
    "strict": ("strict", "in-sample"),
    "half": ("half", "in-sample"),
    "crossfit": ("half", "cross-fitted"),
    "once": (None, "in-sample"),
}


def make_document(records: list[Record], folder: Path) -> Document:
    """Judge every claim by the records of a folder, and say what was run."""
    evidence = Evidence(collect(records), records)
    document: Document = {
        "format": "fairpot-verdicts",
        "schema_version": 1,
        "run": _run(records, folder),
        "claims": _claims(evidence),
        "draw": _about_draw(evidence),
        "data_sha256": _hashes(records),
        "failures": _failures(records, evidence),
    }
    return document | {"tally": tally(document)}


def tally(document: Document) -> dict[str, int]:
    """Count the verdicts of the claims as the paper makes them, by half ties, without other readings of them."""
    said = Counter(
        found["verdict"]
        for claim in document["claims"]
        if claim["number"].isdigit()
        for found in claim["verdicts"]
        if found["ties"] != "strict" and found["protocol"] == "in-sample"
    )
    return {each: said[each] for each in (HOLDS, FAILS, OPEN, ABSENT)}


def counted(document: Document) -> str:
    """Say how many of the paper's claims hold, in one line: the verdict of a rerun."""
    counts = ", ".join(f"{count} {verdict}" for verdict, count in tally(document).items())
    return f"The paper's claims, by half ties: {counts}."


def _claims(evidence: Evidence) -> list[Document]:
    found: dict[str, Document] = {}
    for claim in make_claims():
        entry = found.setdefault(claim.number, describe(claim))
        entry["verdicts"] += _entries(claim.data, claim.verdicts(evidence))
    return list(found.values())


def describe(claim: Claim) -> Document:
    """Return what a claim says and how it is tested, without verdicts."""
    return {
        "number": claim.number,
        "short": SHORT.get(claim.number, ""),
        "says": claim.says,
        "reading": claim.reading,
        "where": claim.where,
        "how": claim.how,
        "verdicts": [],
    }


def _entries(data: str, judged: dict[str, Judged]) -> list[Document]:
    made = []
    for way, each in judged.items() or {"once": Judged(ABSENT, "")}.items():
        ties, protocol = _WAYS[way]
        about = {"data": data or "all", "ties": ties, "protocol": protocol}
        made.append(about | {"verdict": each.verdict, "star": not each.stands, "numbers": each.figure})
    return made


def _run(records: list[Record], folder: Path) -> Document:
    lines = _seconds(folder)
    clinical = sum(line["seconds"] for line in lines if "clinical" in line["task"] and line["kind"] != "runtime")
    timed = sum(line["seconds"] for line in lines if line["kind"] == "runtime")
    rest = sum(line["seconds"] for line in lines) - clinical - timed
    shares = {"clinical": clinical, "timed": timed, "others": rest} if lines else {}
    seeds = {
        r["run"]["seed"] for r in records if not DATA_SETS[r["run"]["data"]].fixed and r["run"]["kind"] != "runtime"
    }
    drawn = [r["run"]["resamples"] for r in records if DATA_SETS[r["run"]["data"]].fixed]
    return {
        "command": _command(records, folder),
        "quick": is_quick(folder),
        "finished": _finished(lines),
        "versions": records[0]["versions"] if records else {},
        "seeds": len(seeds),
        "resamples": max(drawn, default=0),
        "runs": dict(Counter(record["run"]["kind"] for record in records)),
        "processor_minutes": {name: round(value / 60) for name, value in shares.items()},
    }


def _command(records: list[Record], folder: Path) -> str:
    """Return the command that makes such records, as they show it themselves."""
    quick = is_quick(folder)
    made = {max(r["run"]["resamples"], r["run"]["seed"] + 1) for r in records}
    seeds, usual = max(made, default=0), QUICK_SEEDS if quick else SEEDS
    return f"fairpot reproduce{' --quick' if quick else ''}{f' --seeds {seeds}' if seeds != usual else ''}"


def _seconds(folder: Path) -> list[dict[str, Any]]:
    """Read the seconds; what a killed run left of a line is passed over."""
    place = folder / "seconds.jsonl"
    found = []
    for line in place.read_text(encoding="utf-8").splitlines() if place.exists() else []:
        with suppress(ValueError):
            found.append(json.loads(line))
    return found


def _finished(lines: list[dict[str, Any]]) -> str | None:
    """Return the day of the last run, so that a page written again later keeps its date."""
    times = [line["at"] for line in lines]
    return dt.datetime.fromtimestamp(max(times), dt.UTC).date().isoformat() if times else None


def _hashes(records: list[Record]) -> dict[str, str]:
    """Name the data of each set; of the draws, which differ, the first."""
    found: dict[str, str] = {}
    for record in records:
        if record["status"] == "ok" and record["run"]["seed"] == 0:
            found.setdefault(record["run"]["data"], record["results"]["data_sha256"][:16])
    return found


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
        f"The one draw is `make_synthetic(random_state={DRAW})`. It was chosen, on two splits of each draw, because "
        f"its classifiers come near the paper's table. On one split each, {len(order)} of the {len(gaps)} draws rank "
        f"group a higher by 0.1 or more. The nine classifiers of draw {DRAW} are {away[DRAW]:.3f} (root mean "
        f"square) from that table{place}. Over all draws the unadjusted signed gap goes from {gaps.min():.2f} to "
        f"{gaps.max():.2f}: draws differ more than methods do. Group b is moved in all of them, also in the "
        f"{int((gaps < 0).sum())} in which it is ranked higher."
    )


def _draws(records: list[Record]) -> int:
    return 1 + max((r["run"]["seed"] for r in records if r["run"]["data"] == "draws"), default=-1)


def _failures(records: list[Record], evidence: Evidence) -> list[str]:
    failed = [r for r in records if r["status"] != "ok"]
    lines = [f"{', '.join(map(str, r['run'].values()))}: {r['error']['message']}" for r in failed]
    notes: Counter[str] = Counter()
    for record in records:
        for each in record.get("results", {}).get("failed", []):
            where = f"{record['run']['kind']}, {record['run']['data']}, {record['run']['model']}"
            place = f"{each.get('region', 'all rows')}, {each['source']}"
            notes[f"{where}, {place}: {each['method']}: {each['error']}"] += 1
    lines += [f"{note} ({count} times)" for note, count in notes.items()]
    for key, points in evidence.found.items():
        if not np.isfinite(mean_of(points.auc) + mean_of(points.signed_gap)).all():
            lines.append(f"{', '.join(part for part in key if part)}: no figure on any seed at some repair strengths")
    return lines + _not_run(records)


def _not_run(records: list[Record]) -> list[str]:
    """Name the parts of the plan without a record, by data set."""
    made = {(record["run"]["kind"], record["run"]["data"]) for record in records}
    missing: dict[str, list[str]] = {}
    for run in make_plan(1):
        if (run.kind, run.data) not in made and run.kind not in missing.setdefault(run.data, []):
            missing[run.data].append(run.kind)
    return [f"{DATA_SETS[data].title}: not run: {', '.join(kinds)}" for data, kinds in missing.items() if kinds]
