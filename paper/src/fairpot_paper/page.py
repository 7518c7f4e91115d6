"""The page of claims: what the paper says, how it was tested, and what came out, in Markdown."""

from __future__ import annotations

import datetime as dt
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from fairpot.models import MODEL_NAMES
from fairpot_paper import published as paper
from fairpot_paper.claims import make_claims
from fairpot_paper.data_sets import DATA_SETS, DRAW
from fairpot_paper.plan import QUICK_SEEDS, SEEDS, make_plan
from fairpot_paper.records import is_quick
from fairpot_paper.runs import DIALS
from fairpot_paper.tables import (
    Columns,
    Key,
    Record,
    classifier_aucs,
    classifier_columns,
    collect,
    mean_of,
    pauc_columns,
    runtime_columns,
)
from fairpot_paper.verdicts import ABSENT, FAILS, HOLDS, OPEN, Claim, Evidence, Found, Judged, number, tenths


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
    template = Template((files("fairpot_paper") / "page.md").read_text(encoding="utf-8"))
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


def claims_counted(records: list[Record]) -> str:
    """Say how many of the paper's claims hold, in one line: the verdict of a rerun."""
    evidence = Evidence(collect(records), records)
    return f"The paper's claims, by half ties: {_counted([(c, c.verdicts(evidence)) for c in make_claims()])}."


def _counted(verdicts: Verdicts) -> str:
    """Count the verdicts of the claims as the paper makes them, without other readings of them."""
    said: Counter[str] = Counter()
    for claim, found in verdicts:
        if claim.number.isdigit():
            said[next((found[way].verdict for way in ("half", "once") if way in found), ABSENT)] += 1
    return ", ".join(f"{said[each]} {each}" for each in (HOLDS, FAILS, OPEN, ABSENT))


def _counts(verdicts: Verdicts) -> str:
    """Say how the claims of the page came out."""
    counted = _counted(verdicts)
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


Verdicts = list[tuple[Claim, dict[str, Judged]]]
_WAYS = {"strict": "strict ties", "half": "half ties", "crossfit": "cross-fitted, half ties", "once": ""}
_VARIANTS = {"xgboost": "(a) XGBoost", "network": "(b) network", "stacked_in": "(c) network on both"}
_VARIANTS |= {"stacked_out": "(c) with out-of-fold scores"}
_REGIONS = {"pooled": "all rows", "group": "each group"}
_METHODS = {
    "post_logit": "Post-logit",
    "wasserstein": "Wasserstein",
    "xorder": "xOrder",
    "fairpot": "FairPOT",
    "xorder_curve": "xOrder, curve at once",
    "fairpot_exact": "FairPOT, curve at every lambda",
    "emd_default": "cost matrix, `ot.emd` as it comes",
    "emd_converged": "cost matrix, `ot.emd` converged",
}


def overview(verdicts: Verdicts) -> str:
    """Write one row a claim, one column a data set: the verdict with the paper's protocol, by half and strict ties."""
    rows = []
    for same in _by_claim(verdicts):
        claim = same[0][0]
        by_data = {each.data: _cell(found) for each, found in same}
        if "" in by_data:  # a claim about all of them together
            by_data["synthetic"] = f"all together: {by_data['']}"
        rows.append([claim.number, claim.says, claim.where, *(by_data.get(data, "") for data in DATA_SETS)])
    return table(["", "claim", "in the paper", *(each.title for each in DATA_SETS.values())], rows)


def _by_claim(verdicts: Verdicts) -> list[Verdicts]:
    found: dict[str, Verdicts] = {}
    for claim, judged in verdicts:
        found.setdefault(claim.number, []).append((claim, judged))
    return list(found.values())


def _cell(found: dict[str, Judged]) -> str:
    if "once" in found:
        return _marked(found["once"])
    said = {way: _marked(found[way]) for way in ("strict", "half") if way in found}
    if not said:
        return ABSENT
    if len(set(said.values())) == 1:
        return next(iter(said.values()))
    return f"strict ties: {said['strict']}; half: {said['half']}"


def _marked(judged: Judged) -> str:
    """Return a verdict, with a star if it does not stand once errors allow for the rows that splits share."""
    return judged.verdict if judged.stands else f"{judged.verdict}*"


def details(verdicts: Verdicts) -> str:
    """Write, claim by claim, how it was tested and the figures behind every verdict."""
    parts = []
    for same in _by_claim(verdicts):
        claim = same[0][0]
        rows = [
            [DATA_SETS[each.data].title if each.data else "all", _WAYS[way], _marked(judged), judged.figure]
            for each, found in same
            for way, judged in found.items()
        ]
        shown = table(["data", "way", "verdict", "figure"], rows) if rows else f"{ABSENT.capitalize()}."
        parts.append(f"### {claim.number}. {claim.says}\n\n{claim.how}\n\n{shown}")
    return "\n\n".join(parts)


def classifier_table(columns: Columns) -> str:
    """Write the AUC of each classifier, ours and the paper's."""
    by_model: dict[str, dict[str, str]] = {}
    means: dict[str, dict[str, float]] = {}
    for row in _rows(columns):
        ours = with_spread(row["auc"], row["auc_sd"])
        theirs = with_spread(row["paper_auc"], row["paper_sd"])
        by_model.setdefault(row["model"], {})[row["data"]] = ours + (f" (paper {theirs})" if theirs else "")
        means.setdefault(row["model"], {})[row["data"]] = row["auc"]
    head = ["classifier", *(each.title for each in DATA_SETS.values()), "average, without the draws"]
    rows = [[m, *(cells.get(data, "") for data in DATA_SETS), _average(m, means[m])] for m, cells in by_model.items()]
    return table(head, rows)


def _average(model: str, means: dict[str, float]) -> str:
    """Return the mean of the paper's four data sets, and the paper's own."""
    if not set(paper.CLASSIFIERS) <= set(means):
        return ""
    ours = number(sum(means[data] for data in paper.CLASSIFIERS) / len(paper.CLASSIFIERS))
    published = [by_model[model][0] for by_model in paper.CLASSIFIERS.values() if model in by_model]
    return ours + (f" (paper {number(sum(published) / len(published))})" if published else "")


def pauc_table(columns: Columns, ties: str) -> str:
    """Write the partial AUC of (a), (b) and (c), with the paired difference to (a)."""
    rows = [
        [
            DATA_SETS[row["data"]].title,
            f"{row['alpha']:g}",
            _REGIONS[row["region"]],
            _VARIANTS[row["model"]],
            with_spread(row["pauc"], row["pauc_sd"]),
            number(row["paper_pauc"]),
            "" if row["model"] == "xgboost" else with_spread(row["against_a"], row["against_a_se"], signed=True),
            number(row["found"], 1),
        ]
        for row in _rows(columns)
        if row["ties"] == ties
    ]
    head = ["data", "alpha", "top of", "model", "pAUC ± sd", "paper", "against (a) ± se", "positives in the top"]
    return table(head, rows)


def edge_table(found: Found) -> str:
    """Write the gap in the top tenth of XGBoost's scores by the library's rule at the edge and by the paper's."""
    rows = []
    shown = (0, 5, 9, 10)
    for data, about in DATA_SETS.items():
        for region, title in _REGIONS.items():
            for method, name in (("fairpot", "left alone"), ("fairpot_boundary", "boundary value")):
                points = found.get(Key(data, "xgboost", region, "in_sample", "half", method))
                if points is not None:
                    eleven = tenths(points) if method == "fairpot" else points
                    gap, auc = mean_of(eleven.gap), mean_of(eleven.auc)
                    cells = [f"{number(gap[k], 3) or 'none'} ({number(auc[k], 3) or 'none'})" for k in shown]
                    rows.append([about.title, title, name, *cells])
    return table(["data", "top of", "below the lowest", *(f"lambda {k / 10:g}" for k in shown)], rows) if rows else ""


def runtime_table(columns: Columns) -> str:
    """Write the seconds of each method, ours and the paper's."""
    rows = [
        [
            DATA_SETS[row["data"]].title,
            _METHODS[row["method"]],
            seconds(row["cpu_seconds"]),
            seconds(row["seconds"]) + (f" ± {row['seconds_sd']:.2g}" if number(row["seconds_sd"]) else ""),
            str(row["repeats"]),
            seconds(row["paper_seconds"]),
            row["note"],
        ]
        for row in _rows(columns)
    ]
    return table(["data", "method", "CPU seconds", "by the clock ± sd", "runs", "paper", "note"], rows)


def solver_table(records: list[dict[str, Any]]) -> str:
    """Write gap and AUC along lambda by the exact plan and by the network simplex, where that did not converge."""
    rows = []
    for record in records:
        if record["status"] != "ok" or record["run"]["kind"] != "runtime":
            continue
        times, points = record["results"]["times"], record["results"]["points"]
        if times["emd_default"][0]["converged"] is not False:
            continue
        title = DATA_SETS[record["run"]["data"]].title
        for method in ("fairpot", "emd_converged", "emd_default"):
            for figure, digits in (("gap", 3), ("auc", 4)):
                if method in points:
                    cells = [number(points[method][figure][k], digits) for k in (0, 2, 4, 6, 8, 10)]
                    rows.append([title, _METHODS[method], {"gap": "gap", "auc": "AUC"}[figure], *cells])
    head = ["data", "plan", "", *(f"lambda {k / 10:g}" for k in (0, 2, 4, 6, 8, 10))]
    return table(head, rows) if rows else ""


def _rows(columns: Columns) -> list[dict[str, Any]]:
    return [dict(zip(columns, values)) for values in zip(*columns.values())]


_ROWS = "Upper row: maps fitted on in-sample scores, the paper's protocol; lower row: on cross-fitted scores."
_NETWORK = "The limit is that of the network's order: XGBoost, another order, may lie above it."
CAPTIONS = {
    "tradeoff-xgboost": f"AUC against the xAUC gap, XGBoost: means over seeds. {_ROWS}",
    "tradeoff-xgboost-sd": "The same with standard deviations.",
    "partial-pooled": f"Partial AUC against the partial gap, the top of all rows. {_ROWS} {_NETWORK}",
    "partial-pooled-sd": "The same with standard deviations.",
    "partial-group": f"Partial AUC against the partial gap, the top of each group. {_ROWS} {_NETWORK}",
    "partial-group-sd": "The same with standard deviations.",
    "tradeoff-gradient_boosting": f"AUC against the xAUC gap, gradient boosting. {_ROWS}",
    "tradeoff-gradient_boosting-sd": "The same with standard deviations.",
    "tradeoff-random_forest": f"AUC against the xAUC gap, random forest. {_ROWS}",
    "tradeoff-random_forest-sd": "The same with standard deviations.",
    "alpha-clinical": "pAUC and both pxAUCs against alpha, clinical data: XGBoost, and networks trained for the top.",
    "alpha-all": "pAUC against alpha on all data, models (a), (b) and (c).",
    "direction": f"FairPOT moving either group, XGBoost. {_ROWS}",
    "direction-sd": "The same with standard deviations.",
    "pareto": f"The points of each method that none of its own beats, XGBoost. {_ROWS}",
}
TIES = "strict"


def figure_name(caption: str, ties: str = TIES) -> str:
    """Return the name of a figure's files.

    Examples
    --------
    >>> figure_name("direction-sd")
    'direction-strict-sd'
    """
    stem, deviations = caption.removesuffix("-sd"), caption.endswith("-sd")
    return f"{stem}-{ties}{'-sd' if deviations else ''}"


def figures_of(files: list[str]) -> str:
    """Write the figures that there are, each under its caption."""
    known = {Path(name).stem: name for name in files if name.endswith(".svg")}
    shown = [(text, known[figure_name(key)]) for key, text in CAPTIONS.items() if figure_name(key) in known]
    return "\n\n".join(f"{text}\n\n![{Path(name).stem}]({name})" for text, name in shown)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table.

    Examples
    --------
    >>> print(table(["data", "AUC"], [["Bank", "0.93"]]))
    | data | AUC |
    | --- | --- |
    | Bank | 0.93 |
    """
    lines = [list(head), ["---"] * len(head), *map(list, rows)]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)


def with_spread(value: float | None, deviation: float | None, digits: int = 4, signed: bool = False) -> str:
    """Write a mean and a deviation; the mean alone where there is no deviation."""
    shown = number(value, digits, signed)
    return f"{shown} ± {number(deviation, digits)}" if shown and number(deviation, digits) else shown


def seconds(value: float | None) -> str:
    """Write a time with three figures."""
    return "" if value is None or not np.isfinite(value) else f"{value:.3g}"
