"""The pages: a verdict on one screen, then each claim, the tables and the figures, in Markdown.

They are written from ``verdicts.json`` and the tables and figures beside it, and from nothing else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from fairpot_paper import published as paper
from fairpot_paper.data_sets import DATA_SETS
from fairpot_paper.runs import DIALS
from fairpot_paper.sheets import read_rows
from fairpot_paper.verdict_file import NAME, Document, tally
from fairpot_paper.verdicts import ABSENT, FAILS, HOLDS, OPEN, number

PAGES = ("index", "claims", "tables", "figures", "setup")
Rows = list[dict[str, Any]]
_MARKS = {HOLDS: "✓", FAILS: "✗", OPEN: "?", ABSENT: "not run"}
_COLUMNS = ("Synthetic", "20 draws", "Bank", "COMPAS", "Clinical")  # DATA_SETS, in a word or two each
_FIRST_FIGURE = "tradeoff-xgboost"
_FIRST_CLAIMS = ("1", "2", "3", "5", "6", "8", "18", "19", "22", "23", "24", "27")  # of each kind, on most data sets


def make_pages(place: Path) -> dict[str, str]:
    """Write every page from a folder's ``verdicts.json``, tables and figures; return the texts by file name."""
    document = json.loads((place / NAME).read_text(encoding="utf-8"))
    tables = {path.stem: read_rows(path) for path in sorted(place.glob("*.csv"))}
    parts = {
        "warning": _warning(document),
        "verdict": verdict_in_short(document, tables.get("runtime", [])),
        "figure": _first_figure(document, place),
        "first": matrix(document, _FIRST_CLAIMS),
        "meaning": meaning(document),
        "matrix": folded("All 29 claims in one table", matrix(document)),
        "run": _about_run(document),
        "command": document["run"]["command"],
        "versions": ", ".join(f"{name} {version}" for name, version in document["run"]["versions"].items()),
        "hashes": _hashes(document),
        "details": details(document),
        "draw": document["draw"],
        "moved": ", ".join(f"{each.moved} towards {each.reference} ({each.title})" for each in DATA_SETS.values()),
        "thetas": len(DIALS["optimal_merge"]),
        "classifiers": classifier_table(tables.get("classifiers", [])),
        "pauc": _pauc(tables.get("pauc", [])),
        "edge": folded("The gap (and partial AUC) by both rules", edge_table(tables.get("edge", []))),
        "runtime": _runtime(tables.get("runtime", []), tables.get("solver", [])),
        "tables": ", ".join(f"[{name}.csv]({name}.csv)" for name in tables) or "none",
        "figures": figures_of(place) or "Not drawn.",
        "failures": "\n".join(f"- {each}" for each in document["failures"]) or "Nothing failed, nothing is missing.",
    }
    templates = files("fairpot_paper") / "templates"
    return {
        f"{page}.md": Template((templates / f"{page}.md").read_text(encoding="utf-8")).substitute(parts)
        for page in PAGES
    }


def _warning(document: Document) -> str:
    if not document["run"]["quick"]:
        return ""
    return (
        "**A quick run**, on a part of the rows and with networks that are hardly trained: it shows that all of it "
        "runs. Its figures and verdicts say nothing about the paper.\n\n"
    )


def verdict_in_short(document: Document, runtime: Rows) -> str:
    """Say in three sentences how the paper fares: all claims, the main one, and what it promises of λ and speed."""
    counts = tally(document)
    about = ", ".join(
        f"{counts[each]} {word}" for each, word in ((HOLDS, "hold"), (FAILS, "do not hold"), (ABSENT, "were not run"))
        if counts[each] or each != ABSENT
    )  # fmt: skip
    first = f"**The paper holds in part. Of {sum(counts.values())} verdicts (29 claims, each on up to five datasets), "
    first += f"{about}, and for {counts[OPEN]} the data cannot tell.**"
    main = f"The main claim is a higher AUC than every baseline at every gap. It {_by_verdict(document, '1')}."
    model = f"λ = 0 gives back the model: this {_by_verdict(document, '5')}."
    return " ".join([first, main, model + _speed(runtime)])


def _by_verdict(document: Document, claim: str) -> str:
    """Say on which data sets a claim holds, fails, and cannot be told."""
    found = _names(document, claim, "half")
    if set(found) == {HOLDS}:
        return f"holds on all {len(found[HOLDS])} datasets" if len(found[HOLDS]) > 1 else f"holds on {found[HOLDS][0]}"
    words = {HOLDS: "holds on", FAILS: "does not hold on", OPEN: "cannot be told on", ABSENT: "was not run on"}
    said = [f"{words[verdict]} {_listed(found[verdict])}" for verdict in words if verdict in found]
    return ", and ".join([", ".join(said[:-1]), said[-1]] if len(said) > 1 else said) or "was not run"


def _names(document: Document, claim: str, ties: str) -> dict[str, list[str]]:
    """Return the names of the data sets by verdict, with their stars."""
    found: dict[str, list[str]] = {}
    for each in _claim(document, claim)["verdicts"]:
        if each["ties"] in (ties, None) and each["protocol"] == "in-sample":
            name = re.sub("^Synthetic, (.*)", r"Synthetic (\1)", _title(each["data"]))
            found.setdefault(each["verdict"], []).append(name + ("\\*" if each["star"] else ""))
    return found


def _listed(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _speed(runtime: Rows) -> str:
    seconds = {(row["data"], row["method"]): row["cpu_seconds"] for row in runtime}
    ratios = [
        seconds[data, "xorder"] / seconds[data, "fairpot"]
        for data in DATA_SETS
        if seconds.get((data, "xorder")) and seconds.get((data, "fairpot"))
    ]
    if not ratios:
        return ""
    low, high = (float(f"{each:.2g}") for each in (min(ratios), max(ratios)))
    return f" Here FairPOT takes {low:,.0f} to {high:,.0f} times less processor time than xOrder."


def _claim(document: Document, number_: str) -> Document:
    return next(claim for claim in document["claims"] if claim["number"] == number_)


def _title(data: str) -> str:
    return DATA_SETS[data].title if data in DATA_SETS else "all together"


def _first_figure(document: Document, place: Path) -> str:
    name = f"{figure_name(_FIRST_FIGURE)}.svg"
    if not (place / name).exists():
        return ""
    result = "By the main claim FairPOT's curve lies above every point of the baselines."
    found = _names(document, "1", "strict")
    if found != _names(document, "1", "half"):
        words = {HOLDS: "It does on {}.", FAILS: "It does not on {}.", OPEN: "On {} the data cannot tell."}
        result = " ".join([result, *(words[each].format(_listed(found[each])) for each in words if each in found)])
    axes = "Up is a higher AUC, left a smaller gap. Means over seeds, XGBoost's scores, strict ties as in the paper."
    return f"![AUC against the gap: FairPOT and the baselines on five datasets]({name})\n\n*{result} {axes}*\n\n"


def meaning(document: Document) -> str:
    """Say what a reader who chooses a repair should do, as far as the verdicts bear it out."""
    verdicts = {number_: set(_names(document, number_, "half")) for number_ in ("1", "6", "18", "22")}
    advice = [
        (
            FAILS in verdicts["1"],
            "Which method has the highest AUC depends on the data: try `fairpot compare` on yours.",
        ),
        (HOLDS not in verdicts["6"], "Expect a repair to cost AUC: no λ was shown to improve AUC and gap together."),
        (FAILS in verdicts["18"], "Choose on purpose which group is moved, because it matters."),
        (verdicts["22"] == {HOLDS}, "FairPOT is faster than xOrder wherever both were timed."),
    ]
    said = [words for holds, words in advice if holds]
    return f"**What it means for you.** {' '.join(said)}" if said else "**What it means for you.** Too little was run."


def matrix(document: Document, only: Sequence[str] = ()) -> str:
    """Write one row a claim, one column a data set: a mark for the verdict of the paper's protocol, by half ties."""
    rows = []
    for claim in document["claims"]:
        if not claim["number"].isdigit() or (only and claim["number"] not in only):
            continue
        marks = {
            each["data"]: _mark(each)
            for each in claim["verdicts"]
            if each["ties"] != "strict" and each["protocol"] == "in-sample"
        }
        if "all" in marks:
            marks = {"synthetic": f"{marks['all']} (all data)"}
        link = f"[{claim['number']}. {claim['short']}](claims.md#claim-{claim['number']})"
        rows.append([link, *(marks.get(data, "–") for data in DATA_SETS)])
    return table(["claim", *_COLUMNS], rows)


def _mark(found: Document) -> str:
    return _MARKS[found["verdict"]] + ("\\*" if found["star"] else "")


def _about_run(document: Document) -> str:
    run = document["run"]
    counts = [(run["seeds"], "seed"), (run["resamples"], "resample")]
    repeats = " and ".join(f"{count} {unit}{'s' if count > 1 else ''}" for count, unit in counts if count)
    repeats += " of the clinical test rows" if run["resamples"] else ""
    version = run["versions"].get("fairpot", "")
    finished = f" that finished on {run['finished']}" if run["finished"] else ""
    minutes = run["processor_minutes"]
    took = f" It took {sum(minutes.values())} minutes of processor time." if minutes else ""
    what = f"{sum(run['runs'].values()):,} runs with {repeats or 'no seeds'}"
    return f"The figures come from a run of fairpot {version}{finished}: {what}.{took}"


def _hashes(document: Document) -> str:
    named = {"draws": "Synthetic, draw 0"}
    found = document["data_sha256"].items()
    return ", ".join(f"{named.get(data, _title(data))} `{sha}`" for data, sha in found) or "none"


def details(document: Document) -> str:
    """Write one block a claim: the verdicts in a line, and folded, how it was tested and the numbers behind them."""
    parts = []
    for claim in document["claims"]:
        if claim["number"].isdigit():
            same = [each for each in document["claims"] if re.fullmatch(rf"{claim['number']}[a-z]*", each["number"])]
            folds = "\n\n".join(_reading(each) for each in same)
            head = f"## Claim {claim['number']}\n\n**{claim['says']}.** In the paper: {claim['where']}.\n\n"
            parts.append(f"{head}{_marks_of(claim)}\n\n{folded('How it was tested, and the numbers', folds)}")
    return "\n\n".join(parts)


def _marks_of(claim: Document) -> str:
    found = [each for each in claim["verdicts"] if each["ties"] != "strict" and each["protocol"] == "in-sample"]
    return " · ".join(f"{_title(each['data'])} {_mark(each)}" for each in found)


def _reading(claim: Document) -> str:
    reading = f"**{claim['number']}. {_capital(claim['reading'])}.** " if claim["reading"] else ""
    return f"{reading}{claim['how']}\n\n{numbers_table(claim)}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def numbers_table(claim: Document) -> str:
    """Write the numbers behind the verdicts: strict ties where they differ, cross-fitted maps as a column."""
    by_way: dict[str, dict[str, Document]] = {}
    for each in claim["verdicts"]:
        way = "crossfit" if each["protocol"] == "cross-fitted" else each["ties"] or "half"
        by_way.setdefault(each["data"], {})[way] = each
    rows = []
    crossfit = any("crossfit" in found for found in by_way.values())
    for data, found in by_way.items():
        half, strict = found.get("half"), found.get("strict")
        fitted = [_told(found["crossfit"]) if "crossfit" in found else ""] if crossfit else []
        if half is not None:
            rows.append([_title(data), _words(half), plain(half["numbers"]), *fitted])
        if strict is not None and (
            half is None or _words(half) + half["numbers"] != _words(strict) + strict["numbers"]
        ):
            empty = [""] if crossfit else []
            rows.append([f"{_title(data)}, strict ties", _words(strict), plain(strict["numbers"]), *empty])
    return table(["data", "verdict", "numbers", *(["with cross-fitted maps"] if crossfit else [])], rows)


def _words(found: Document) -> str:
    return found["verdict"] + ("\\*" if found["star"] else "")


def _told(found: Document) -> str:
    return f"{_words(found)}: {plain(found['numbers'])}"


def plain(numbers: str) -> str:
    """Write numbers without a spread that rounds to zero.

    Examples
    --------
    >>> plain("AUC +0.0000 ± 0.0000, gap smaller by +0.0001 ± 0.0000")
    'AUC 0.0000, gap smaller by +0.0001 (± under 0.0001)'
    """
    numbers = re.sub(r"[-+]0\.0000 ± 0\.0000", "0.0000", numbers)
    return re.sub(r"± 0\.0000", "(± under 0.0001)", numbers)


def classifier_table(rows: Rows) -> str:
    """Write the AUC of each classifier, ours and in brackets the paper's."""
    by_model: dict[str, dict[str, dict[str, Any]]] = {}
    for row in rows:
        by_model.setdefault(row["model"], {})[row["data"]] = row
    head = ["classifier", *(each.title for each in DATA_SETS.values()), "average, without the draws"]
    made = [
        [m, *(_beside(cells[data]) if data in cells else "" for data in DATA_SETS), _average(m, cells)]
        for m, cells in by_model.items()
    ]
    return table(head, made) if made else "Not run."


def _beside(row: dict[str, Any]) -> str:
    return with_paper(number(row["auc"], 3), number(row["paper_auc"], 3))


def _average(model: str, cells: dict[str, dict[str, Any]]) -> str:
    """Return the mean of the paper's four data sets, and the paper's own."""
    if not set(paper.CLASSIFIERS) <= set(cells):
        return ""
    ours = sum(cells[data]["auc"] for data in paper.CLASSIFIERS) / len(paper.CLASSIFIERS)
    published = [by_model[model][0] for by_model in paper.CLASSIFIERS.values() if model in by_model]
    return with_paper(number(ours, 3), number(sum(published) / len(published), 3) if published else "")


def with_paper(ours: str, theirs: str) -> str:
    """Write our figure, and the paper's in brackets where it prints one."""
    return f"{ours} ({theirs})" if theirs else ours


_VARIANTS = {"xgboost": "(a) XGBoost", "network": "(b) network", "stacked_in": "(c) network on both"}
_VARIANTS |= {"stacked_out": "(c) with out-of-fold scores"}
_REGIONS = {"pooled": "all rows", "group": "each group"}


def _pauc(rows: Rows) -> str:
    """Write the three tables of each region; the second one folded, as the paper does not have it."""
    found = [row for row in rows if row["ties"] == "half"]
    if not found:
        return "Not run."
    parts = {
        region: "\n\n".join(
            [
                "Partial AUC, the paper's in brackets:",
                _by_variant(
                    found, region, lambda row: with_paper(number(row["pauc"], 3), number(row["paper_pauc"], 3))
                ),
                "Difference from (a), paired, ± standard error:",
                _by_variant(
                    found,
                    region,
                    lambda row: "" if row["model"] == "xgboost" else with_spread(row["against_a"], row["against_a_se"]),
                ),
                "Rows with the outcome in the top, on average:",
                _by_variant(found, region, lambda row: number(row["found"], 1)),
            ]
        )
        for region in _REGIONS
    }
    return f"{parts['pooled']}\n\n{folded('The same for the top of each group', parts['group'])}"


def _by_variant(rows: Rows, region: str, cell: Any) -> str:
    cells: dict[str, dict[str, str]] = {}
    for row in rows:
        if row["region"] == region:
            name = f"{DATA_SETS[row['data']].title}, top {row['alpha']:.0%}"
            cells.setdefault(name, {})[row["model"]] = cell(row)
    return table(["data", *_VARIANTS.values()], [[n, *(c.get(v, "") for v in _VARIANTS)] for n, c in cells.items()])


def edge_table(rows: Rows) -> str:
    """Write the gap in the top tenth of XGBoost's scores by the library's rule at the edge and by the paper's."""
    rules = {"left_alone": "left alone", "boundary": "boundary value"}
    cells: dict[tuple[str, str, str], list[str]] = {}
    strengths = list(dict.fromkeys(row["lam"] for row in rows))
    for row in rows:
        key = DATA_SETS[row["data"]].title, _REGIONS[row["region"]], rules[row["rule"]]
        figures = [number(row[name], 3) or "none" for name in ("gap", "auc")]
        cells.setdefault(key, []).append(f"{figures[0]} ({figures[1]})")
    head = ["data", "top of", "below the lowest", *(f"λ = {lam:g}" for lam in strengths)]
    return table(head, [[*key, *each] for key, each in cells.items()]) if rows else "Not run."


_METHODS = {
    "post_logit": "Post-logit",
    "wasserstein": "Wasserstein",
    "xorder": "xOrder",
    "fairpot": "FairPOT",
    "xorder_curve": "xOrder, curve at once",
    "fairpot_exact": "FairPOT, curve for every λ",
    "emd_default": "cost matrix, `ot.emd` with its defaults",
    "emd_converged": "cost matrix, `ot.emd` converged",
}


def _runtime(rows: Rows, solver: Rows) -> str:
    if not rows:
        return "Not run."
    parts = [
        f"Processor seconds on {rows[0]['cpu']}, {rows[0]['cores']:g} cores, one thread; the paper's in brackets.",
        runtime_table(rows),
    ]
    notes = [f"- † {DATA_SETS[row['data']].title}, {_METHODS[row['method']]}: {row['note']}" for row in _noted(rows)]
    parts += ["\n".join(notes)] if notes else []
    if solver:
        parts.append(folded("What a plan that stopped early gives (first split, half ties)", solver_table(solver)))
    return "\n\n".join(parts)


def _noted(rows: Rows) -> Rows:
    return [row for row in rows if row["note"]]


def runtime_table(rows: Rows) -> str:
    """Write the processor seconds of each method, ours and in brackets the paper's."""
    shown = [data for data in DATA_SETS if any(row["data"] == data for row in rows)]
    cells: dict[str, dict[str, str]] = {}
    for row in rows:
        text = with_paper(seconds(row["cpu_seconds"]), seconds(row["paper_seconds"]))
        cells.setdefault(row["method"], {})[row["data"]] = text + (" †" if row["note"] else "")
    made = [[_METHODS[method], *(each.get(data, "") for data in shown)] for method, each in cells.items()]
    return table(["method", *(DATA_SETS[data].title for data in shown)], made)


def solver_table(rows: Rows) -> str:
    """Write gap and AUC along λ by the exact plan and by the network simplex, where that did not converge."""
    cells: dict[tuple[str, str, str], list[str]] = {}
    strengths = list(dict.fromkeys(row["lam"] for row in rows))
    for row in rows:
        for name, title in (("gap", "gap"), ("auc", "AUC")):
            key = DATA_SETS[row["data"]].title, _METHODS[row["method"]], title
            cells.setdefault(key, []).append(number(row[name], 3))
    head = ["data", "plan", "", *(f"λ = {lam:g}" for lam in strengths)]
    return table(head, [[*key, *each] for key, each in cells.items()])


_ROWS = "Upper row: maps fitted on in-sample scores, the paper's protocol; lower row: on cross-fitted scores."
_NETWORK = "The best possible AUC is that of the network's order: XGBoost, another order, may lie above it."
_DEVIATIONS = "The same with standard deviations."
CAPTIONS = {
    "tradeoff-xgboost": f"AUC against the gap, XGBoost: means over seeds. {_ROWS}",
    "tradeoff-xgboost-sd": _DEVIATIONS,
    "partial-pooled": f"Partial AUC against the gap in the top of all rows. {_ROWS} {_NETWORK}",
    "partial-pooled-sd": _DEVIATIONS,
    "partial-group": f"Partial AUC against the gap in the top of each group. {_ROWS} {_NETWORK}",
    "partial-group-sd": _DEVIATIONS,
    "tradeoff-gradient_boosting": f"AUC against the gap, gradient boosting. {_ROWS}",
    "tradeoff-gradient_boosting-sd": _DEVIATIONS,
    "tradeoff-random_forest": f"AUC against the gap, random forest. {_ROWS}",
    "tradeoff-random_forest-sd": _DEVIATIONS,
    "alpha-clinical": "Partial AUC and both partial xAUCs against alpha, clinical data: XGBoost, and networks trained "
    "for the top.",
    "alpha-all": "Partial AUC against alpha on all data, models (a), (b) and (c).",
    "direction": f"FairPOT moving either group, XGBoost. {_ROWS}",
    "direction-sd": _DEVIATIONS,
    "pareto": f"The points of each method that none of its own beats, XGBoost. {_ROWS}",
}
_HEADINGS = {
    "tradeoff-xgboost": "How does FairPOT compare on XGBoost's scores?",
    "partial-pooled": "How does it compare in the top of all rows?",
    "partial-group": "How does it compare in the top of each group?",
    "tradeoff-gradient_boosting": "How does it compare on gradient boosting's scores?",
    "tradeoff-random_forest": "How does it compare on random forest's scores?",
    "alpha-clinical": "How do partial AUC and xAUC change with alpha?",
    "direction": "Does it matter which group is moved?",
    "pareto": "Which points does nothing beat?",
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


def figures_of(place: Path) -> str:
    """Write the figures that a folder has, each under its question and caption."""
    parts = []
    for key, text in CAPTIONS.items():
        name = f"{figure_name(key)}.svg"
        if (place / name).exists():
            heading = f"## {_HEADINGS[key]}\n\n" if key in _HEADINGS else ""
            parts.append(f"{heading}{text}\n\n![{figure_name(key)}]({name})")
    return "\n\n".join(parts)


def folded(summary: str, text: str) -> str:
    """Write a block that opens on a click, on the site and on GitHub."""
    return f"<details>\n<summary>{summary}</summary>\n\n{text}\n\n</details>"


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


def with_spread(value: float | None, deviation: float | None) -> str:
    """Write a signed mean and its error; the mean alone where there is no error."""
    shown, error = number(value, 3, signed=True), number(deviation, 3)
    return f"{shown} ± {error}" if shown and error else shown


def seconds(value: float | None) -> str:
    """Write a time with three figures.

    Examples
    --------
    >>> seconds(0.00471), seconds(2128.3)
    ('0.00471', '2,130')
    """
    if value is None or not np.isfinite(value):
        return ""
    return f"{float(f'{value:.3g}'):,.0f}" if value >= 1000 else f"{value:.3g}"
