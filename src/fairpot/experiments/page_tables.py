"""The tables of the page: claims, classifiers, partial AUC, seconds."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from fairpot.experiments.claims import Claim
from fairpot.experiments.frontier import Judged
from fairpot.experiments.markdown import number, seconds, table, with_spread
from fairpot.experiments.sets import DATA_SETS
from fairpot.experiments.tables import Columns
from fairpot.experiments.verdicts import ABSENT

Verdicts = list[tuple[Claim, dict[str, Judged]]]
_WAYS = {"strict": "strict ties", "half": "half ties", "crossfit": "cross-fitted, half ties", "once": ""}
_VARIANTS = {"xgboost": "(a) XGBoost", "network": "(b) network", "stacked_in": "(c) network on both"}
_VARIANTS |= {"stacked_out": "(c) with out-of-fold scores"}
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
    for (named, says), same in groupby(verdicts, key=lambda pair: (pair[0].number, _general(pair[0]))):
        by_data = {claim.data: _cell(found) for claim, found in same}
        cells = [by_data.get(data, by_data.get("", "") if data == "synthetic" else "") for data in DATA_SETS]
        rows.append([named, says, *cells])
    return table(["", "claim", *(each.title for each in DATA_SETS.values())], rows)


def _general(claim: Claim) -> str:
    """Return a claim's words without what holds for one data set alone."""
    return claim.says.replace("almost everywhere", "along lambda").replace("at some lambdas", "along lambda")


def _cell(found: dict[str, Judged]) -> str:
    if not found:
        return ABSENT
    if "once" in found:
        return found["once"].verdict
    said = [found[way].verdict for way in ("strict", "half") if way in found]
    if len(set(said)) == 1:
        return said[0]
    return f"strict ties: {said[0]}; half: {said[1]}"


def details(verdicts: Verdicts) -> str:
    """Write, claim by claim, how it was tested and the figures behind every verdict."""
    parts = []
    for (named, says), same in groupby(verdicts, key=lambda pair: (pair[0].number, _general(pair[0]))):
        listed = list(same)
        tests = list(dict.fromkeys(claim.how for claim, _ in listed))
        rows = [
            [DATA_SETS[claim.data].title if claim.data else "all", _WAYS[way], judged.verdict, judged.figure]
            for claim, found in listed
            for way, judged in found.items()
        ]
        parts.append(
            f"### {named}. {says}\n\n{' '.join(tests)}\n\n" + table(["data", "way", "verdict", "figure"], rows)
        )
    return "\n\n".join(parts)


def classifier_table(columns: Columns) -> str:
    """Write the AUC of each classifier, ours and the paper's."""
    by_model: dict[str, dict[str, str]] = {}
    for row in _rows(columns):
        ours = with_spread(row["auc"], row["auc_sd"])
        theirs = with_spread(row["paper_auc"], row["paper_sd"])
        by_model.setdefault(row["model"], {})[row["data"]] = ours + (f" (paper {theirs})" if theirs else "")
    head = ["classifier", *(each.title for each in DATA_SETS.values())]
    return table(head, [[model, *(cells.get(data, "") for data in DATA_SETS)] for model, cells in by_model.items()])


def pauc_table(columns: Columns, ties: str) -> str:
    """Write the partial AUC of (a), (b) and (c), with the paired difference to (a)."""
    rows = [
        [
            DATA_SETS[row["data"]].title,
            f"{row['alpha']:g}",
            {"pooled": "all rows", "group": "each group"}[row["region"]],
            _VARIANTS[row["model"]],
            with_spread(row["pauc"], row["pauc_sd"]),
            number(row["paper_pauc"]),
            "" if row["model"] == "xgboost" else f"{row['against_a']:+.4f} ± {row['against_a_se']:.4f}",
            f"{row['found']:.1f}",
        ]
        for row in _rows(columns)
        if row["ties"] == ties
    ]
    head = ["data", "alpha", "top of", "model", "pAUC ± sd", "paper", "against (a) ± se", "positives in the top"]
    return table(head, rows)


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
