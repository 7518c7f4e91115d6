"""The paper's printed figures, and tables against sums by hand."""

import copy
import os
import re
import statistics
from pathlib import Path

import numpy as np
import pytest

from fairpot_paper import published as paper
from fairpot_paper.models import MODEL_NAMES
from fairpot_paper.plan import ALPHAS
from fairpot_paper.tables import (
    alpha_columns,
    classifier_aucs,
    classifier_columns,
    pauc_columns,
    pauc_values,
    runtime_columns,
)
from record_cases import make_records

SETS = ("synthetic", "bank", "compas", "clinical")
_DATA = Path(os.environ.get("FAIRPOT_DATA") or Path(__file__).parents[3] / "shared" / "data")
_PAPER = _DATA.parent / "paper" / "fairpot-paper.tex"


@pytest.fixture(scope="module")
def tables():
    """The cells of each table of the paper, by its label."""
    if not _PAPER.exists():
        pytest.skip(f"the paper's source is not at {_PAPER}")
    found = {}
    for text in re.findall(r"\\begin\{table\*?\}.*?\\end\{table\*?\}", _PAPER.read_text(encoding="utf-8"), re.S):
        label = re.search(r"\\label\{tab: ?(\w+)\}", text)[1]
        body = text.split(r"\midrule")[1].split(r"\bottomrule")[0]
        plain = re.sub(r"\\textbf\{([^}]*)\}", r"\1", body).replace(r"$\pm$", "±")
        found[label] = [[cell.strip() for cell in row.split("&")] for row in plain.split(r"\\") if "&" in row]
        found[label + " marked"] = [
            [r"\textbf" in cell for cell in row.split("&")] for row in body.split(r"\\") if "&" in row
        ]
    return found


def test_classifiers_are_the_paper_s(tables):
    rows = tables["classifiers"]
    names = [row[0].lower().replace(" ", "_") for row in rows]
    assert sorted(names) == sorted(MODEL_NAMES)
    for name, row in zip(names, rows):
        printed = [tuple(float(part) for part in cell.split("±")) for cell in row[1:5]]
        assert [paper.CLASSIFIERS[data][name] for data in SETS] == printed
    for column, data in enumerate(SETS, start=1):
        [marked] = [name for name, row in zip(names, tables["classifiers marked"]) if row[column]]
        assert marked == max(paper.CLASSIFIERS[data], key=lambda model: paper.CLASSIFIERS[data][model][0])


def test_partial_aucs_are_the_paper_s(tables):
    for row, model in zip(tables["pauc_compare"], ("xgboost", "network", "stacked_in")):
        assert [paper.PAUC[data][model] for data in SETS] == [float(cell) for cell in row[1:]]
    for column, data in enumerate(SETS, start=1):
        [marked] = [k for k, row in enumerate(tables["pauc_compare marked"]) if row[column]]
        assert list(paper.PAUC[data])[marked] == max(paper.PAUC[data], key=paper.PAUC[data].__getitem__)


def test_seconds_are_the_paper_s(tables):
    for row, data in zip(tables["runtime"], SETS):
        printed = [float(cell.split("±")[0]) for cell in row[1:]]
        assert [paper.RUNTIME[data][m] for m in ("post_logit", "wasserstein", "xorder", "fairpot")] == printed


def test_some_figures_of_the_paper():
    assert paper.CLASSIFIERS["synthetic"]["xgboost"] == (0.7311, 0.0139)
    assert paper.PAUC["clinical"]["stacked_in"] == 0.749
    assert paper.RUNTIME["bank"]["fairpot"] == 53.691
    assert paper.paper_name("draws") == "synthetic"


@pytest.fixture(scope="module")
def records():
    return make_records(3, ["classifiers", "pauc", "alpha", "runtime", "compas", "clinical"])


def rows_of(columns, **wanted):
    rows = [dict(zip(columns, values)) for values in zip(*columns.values())]
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def those(records, **wanted):
    chosen = [r for r in records if all(r["run"][name] == value for name, value in wanted.items())]
    return [test for r in chosen for test in r["results"]["tests"]]


@pytest.mark.parametrize("data", ["compas", "clinical"])
def test_classifier_rows(records, data):
    [row] = rows_of(classifier_columns(records), data=data, model="svm")
    tests = those(records, kind="classifiers", data=data, model="svm")
    auc = [test["half"]["auc"] for test in tests]
    assert row["n"] == len(auc) == 3
    assert row["auc"] == pytest.approx(statistics.mean(auc))
    assert row["auc_sd"] == pytest.approx(statistics.stdev(auc))
    assert row["auc_strict"] == pytest.approx(statistics.mean(test["strict"]["auc"] for test in tests))
    assert (row["paper_auc"], row["paper_sd"]) == paper.CLASSIFIERS[data]["svm"]


def test_classifiers_stay_paired_where_one_failed(records):
    holed = copy.deepcopy(records)
    for record in holed:
        run = record["run"]
        if (run["kind"], run["data"], run["model"], run["seed"]) == ("classifiers", "compas", "knn", 1):
            record.update(status="failed", error={"message": "x"})
    found = classifier_aucs(holed)
    whole = classifier_aucs(records)
    assert found["compas", "svm"].tolist() == whole["compas", "svm"].tolist()
    assert np.isnan(found["compas", "knn"][1])
    assert found["compas", "knn"][[0, 2]].tolist() == whole["compas", "knn"][[0, 2]].tolist()
    assert rows_of(classifier_columns(holed), data="compas", model="knn")[0]["n"] == 2


@pytest.mark.parametrize(("data", "alpha"), [("compas", 0.3), ("clinical", 0.1)])
def test_partial_rows(records, data, alpha):
    columns = pauc_columns(records)
    place = ALPHAS.index(alpha)
    for region in ("pooled", "group"):
        of = {
            model: [t[region][place] for t in those(records, kind="pauc", data=data, model=model)]
            for model in ("xgboost", "stacked_in")
        }
        ours = [at["strict"]["auc"] for at in of["stacked_in"]]
        change = [at["strict"]["auc"] - base["strict"]["auc"] for at, base in zip(of["stacked_in"], of["xgboost"])]
        [row] = rows_of(columns, data=data, region=region, ties="strict", model="stacked_in")
        assert row["alpha"] == alpha
        assert row["pauc"] == pytest.approx(statistics.mean(ours))
        assert row["against_a"] == pytest.approx(statistics.mean(change))
        error = statistics.stdev(change) / (1 if data == "clinical" else 3**0.5)
        assert row["against_a_se"] == pytest.approx(error)
        assert row["found"] == pytest.approx(statistics.mean(at["found"] for at in of["stacked_in"]))
        assert row["paper_pauc"] == (paper.PAUC[data]["stacked_in"] if region == "pooled" else None)


def test_partial_rows_stay_where_one_failed(records):
    holed = copy.deepcopy(records)
    for record in holed:
        if record["run"]["kind"] == "pauc" and record["run"]["model"] == "network" and record["run"]["seed"] == 2:
            record.update(status="failed", error={"message": "x"})
    values = pauc_values(holed, "compas", "network", "pooled", "half")
    assert values.shape == (3, len(ALPHAS))
    assert np.isnan(values[2]).all()
    assert np.isfinite(values[:2]).all()
    [row] = rows_of(pauc_columns(holed), data="compas", region="pooled", ties="half", model="network")
    assert row["n"] == 2


def test_alpha_rows(records):
    columns = alpha_columns(records)
    [row] = rows_of(columns, data="clinical", model="retrained", region="pooled", ties="half", alpha=0.5)
    at = [t["retrained"]["pooled"][ALPHAS.index(0.5)]["half"] for t in those(records, kind="alpha")]
    assert row["xauc_ab"] == pytest.approx(statistics.mean(each["xauc_ab"] for each in at))
    assert row["xauc_ba_sd"] == pytest.approx(statistics.stdev(each["xauc_ba"] for each in at))
    assert len(rows_of(columns, data="clinical", model="xgboost")) == 4 * len(ALPHAS)


def test_runtime_rows(records):
    [row] = rows_of(runtime_columns(records), data="compas", method="fairpot")
    times = next(r for r in records if r["run"]["kind"] == "runtime")["results"]["times"]["fairpot"]
    assert row["seconds"] == pytest.approx(statistics.mean(time["wall"] for time in times))
    assert row["cpu_seconds"] == pytest.approx(statistics.mean(time["cpu"] for time in times))
    assert row["paper_seconds"] == paper.RUNTIME["compas"]["fairpot"]
