"""The tables of the page: claims, classifiers, partial AUC, seconds."""

from __future__ import annotations

from typing import Any

from fairpot_paper.claims.catalogue import Claim
from fairpot_paper.claims.frontier import Found, tenths
from fairpot_paper.claims.verdicts import ABSENT, Judged
from fairpot_paper.page.markdown import number, seconds, table, with_spread
from fairpot_paper.results import paper
from fairpot_paper.results.collect import Key, mean_of
from fairpot_paper.results.tables import Columns
from fairpot_paper.sets import DATA_SETS

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
