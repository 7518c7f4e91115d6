"""The page: every claim once, figures as in the records, links that lead somewhere, the same bytes again."""

import copy
import json
import re
import statistics

import pytest

from fairpot_paper.claims import make_claims
from fairpot_paper.data_sets import DATA_SETS
from fairpot_paper.outputs import PAGE, publish, read_records, write_outputs
from fairpot_paper.page import make_page
from fairpot_paper.records import RecordFile
from fairpot_paper.tables import collect
from fairpot_paper.verdicts import Evidence
from record_cases import make_records

TITLES = [each.title for each in DATA_SETS.values()]


@pytest.fixture(scope="module")
def records():
    return make_records(2)


@pytest.fixture(scope="module")
def page(records, tmp_path_factory):
    return make_page(records, tmp_path_factory.mktemp("empty"), [])


def table_rows(text):
    """The cells of the first table in a text."""
    lines = re.search(r"(?:^\|.*\n?)+", text, re.M)[0].splitlines()
    return [[cell.strip() for cell in each.strip("|").split("|")] for each in lines]


def section(page, title):
    level = title.split(" ")[0]
    return re.search(rf"^{re.escape(title)}$(.*?)(?=^#{{1,{len(level)}}} |\Z)", page, re.M | re.S)[1]


def test_every_claim_once(page):
    numbers = list(dict.fromkeys(claim.number for claim in make_claims()))
    head, _, *rows = table_rows(section(page, "## Claims and verdicts"))
    assert head == ["", "claim", "in the paper", *TITLES]
    assert [row[0] for row in rows] == numbers
    assert all(len(row) == len(head) for row in rows)
    assert re.findall(r"^### (\d+\w?)\. ", page, re.M) == numbers


def test_no_figure_that_is_none(page):
    assert not re.search(r"\b(nan|inf|None)\b", page)
    assert "$" not in page


def test_verdicts_in_their_places(page, records):
    evidence = Evidence(collect(records), records)
    rows = {row[0]: row for row in table_rows(section(page, "## Claims and verdicts"))[2:]}
    for claim in make_claims():
        found = claim.verdicts(evidence)
        column = 3 + list(DATA_SETS).index(claim.data or "synthetic")
        shown = rows[claim.number][column]
        said = [found[way].verdict for way in ("strict", "half", "once") if way in found]
        assert all(verdict in shown for verdict in said)
        assert shown.startswith("all together: ") == (claim.data == "")
        heading = f"### {claim.number}. {claim.says}"
        title = DATA_SETS[claim.data].title if claim.data else "all"
        cells = [row[2:] for row in table_rows(section(page, heading)) if row[0] == title]
        stars = [judged.verdict + "*" * (not judged.stands) for judged in found.values()]
        assert cells == [[verdict, judged.figure] for verdict, judged in zip(stars, found.values())]
        assert claim.how in section(page, heading)


def test_verdicts_are_counted(page):
    rows = table_rows(section(page, "## Claims and verdicts"))[2:]
    cells = [cell for row in rows if row[0].isdigit() for cell in row[3:] if cell]
    counted = re.search(r"without a letter: (\d+) holds, (\d+) does not hold, (\d+) cannot tell, (\d+) not run", page)
    assert sum(map(int, counted.groups())) == len(cells)


def test_classifiers_on_the_page(page, records):
    rows = {row[0]: row for row in table_rows(section(page, "### AUC of the base classifiers"))}
    aucs = [
        test["half"]["auc"]
        for record in records
        if (record["run"]["kind"], record["run"]["data"], record["run"]["model"]) == ("classifiers", "bank", "svm")
        for test in record["results"]["tests"]
    ]
    ours = f"{statistics.mean(aucs):.4f} ± {statistics.stdev(aucs):.4f} (paper 0.9091 ± 0.0038)"
    assert rows["svm"][1 + list(DATA_SETS).index("bank")] == ours
    assert "paper" not in rows["knn_50"][1]


def test_partial_aucs_on_the_page(page, records):
    def values(model):
        same = [
            r for r in records if (r["run"]["kind"], r["run"]["data"], r["run"]["model"]) == ("pauc", "bank", model)
        ]
        return [r["results"]["tests"][0]["group"][3]["half"]["auc"] for r in same]  # alpha 0.3 is the fourth

    rows = table_rows(section(page, "### Partial AUC of the models (a), (b) and (c)"))
    [row] = [row for row in rows if row[:4] == ["Bank", "0.3", "each group", "(b) network"]]
    network, change = values("network"), [b - a for a, b in zip(values("xgboost"), values("network"))]
    assert row[4] == f"{statistics.mean(network):.4f} ± {statistics.stdev(network):.4f}"
    assert row[6] == f"{statistics.mean(change):+.4f} ± {statistics.stdev(change) / 2**0.5:.4f}"


@pytest.mark.parametrize("data", ["synthetic", "draws", "bank", "compas"])
def test_a_comparison_on_the_page(page, records, data):
    """The point that claim 3 names, from the records with plain loops."""
    named = ("tradeoff", data, "xgboost")
    same = [r for r in records if (r["run"]["kind"], r["run"]["data"], r["run"]["model"]) == named]
    tests = [r["results"]["tests"][0]["in_sample"] for r in same]

    def column(method, figure, k):
        return [test[method]["half"][figure][k] for test in tests]

    def place(method, k):
        return statistics.mean(map(abs, column(method, "gap", k))), statistics.mean(column(method, "auc", k))

    heading = next(f"### 3. {claim.says}" for claim in make_claims() if claim.number == "3")
    title = DATA_SETS[data].title
    [row] = [r for r in table_rows(section(page, heading)) if r[:2] == [title, "half ties"]]
    theirs, ours = [place("xorder", k) for k in range(11)], [place("fairpot", k) for k in range(101)]
    best = [p for p in theirs if not any(q[0] <= p[0] and q[1] >= p[1] and q != p for q in theirs)]
    assert row[3].startswith(f"{len(best)} points: ")
    away = sum(min(ours)[0] > p[0] for p in best)
    assert f"{away} gap not reached" in row[3]
    shown = re.search(r"xOrder, lambda ([\d.]+) \(gap ([\d.]+)\): (.*) \(?([-+][\d.]+) ± ([\d.]+)", row[3])
    k = round(10 * float(shown[1]))
    assert float(shown[2]) == pytest.approx(theirs[k][0], abs=5e-4)
    if shown[3] == "AUC":
        chosen = max((j for j in range(101) if ours[j][0] <= theirs[k][0]), key=lambda j: ours[j][1])
        pairs = column("fairpot", "auc", chosen), column("xorder", "auc", k)
    else:
        nearest = min(range(101), key=lambda j: ours[j][0])
        pairs = [[abs(gap) for gap in column(*each)] for each in (("fairpot", "gap", nearest), ("xorder", "gap", k))]
    change = [a - b for a, b in zip(*pairs)]
    assert float(shown[4]) == pytest.approx(statistics.mean(change), abs=6e-5)
    assert float(shown[5]) == pytest.approx(statistics.stdev(change) / 2**0.5, abs=6e-5)


def test_head(records, tmp_path):
    assert "with 2 seeds and 2 resamples" in make_page(records, tmp_path, [])
    assert "1970" not in make_page(records, tmp_path, [])
    (tmp_path / "seconds.jsonl").write_text('{"task": "x", "kind": "train", "seconds": 120, "at": 1790000000}\n')
    text = make_page(records, tmp_path, [])
    assert "finished on 2026-09-21" in text
    assert "A quick run" not in text
    assert "`fairpot reproduce --seeds 2`" in text
    with (tmp_path / "seconds.jsonl").open("a") as file:
        file.write('{"task": "torn')
    assert make_page(records, tmp_path, []) == text
    (tmp_path / "origin.json").write_text(json.dumps({"quick": True, "versions": {}}))
    assert make_page(records, tmp_path, []).startswith("# The paper, rerun\n\n**A quick run**")


def test_what_is_missing_is_named(records, tmp_path):
    some = [copy.deepcopy(r) for r in records if r["run"]["data"] != "bank" and r["run"]["kind"] != "alpha"]
    some[0] = {**some[0], "status": "failed", "error": {"message": "made up"}}
    text = make_page(some, tmp_path, [])
    failures = section(text, "## What failed or is missing")
    assert "made up" in failures
    assert "- Bank: not run: tradeoff, partial, classifiers, pauc, edge, runtime" in failures
    assert "- Clinical (simulated): not run: alpha" in failures
    column = 3 + list(DATA_SETS).index("bank")
    shown = {row[column] for row in table_rows(section(text, "## Claims and verdicts"))[2:]}
    assert shown <= {"not run", ""}
    assert "Nothing failed" in section(make_page(records, tmp_path, []), "## What failed or is missing")


def test_a_page_of_one_seed_and_of_nothing(tmp_path):
    text = make_page(make_records(1), tmp_path, [])
    assert not re.search(r"\b(nan|inf|None)\b", text)
    assert "with 1 seed and 1 resample of" in text
    assert not re.search(r"\b(nan|inf|None)\b", make_page([], tmp_path, []))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Records of a part of the runs in files, and all that is written from them."""
    place = tmp_path_factory.mktemp("run")
    for record in make_records(2, ["tradeoff", "classifiers", "runtime", "compas"]):
        RecordFile(place / "records" / f"{record['run']['kind']}.jsonl").append(record)
    write_outputs(place)
    return place


def links(path):
    found = re.findall(r"\]\(([^)]+)\)", path.read_text(encoding="utf-8"))
    assert found
    return [path.parent / name for name in found]


def test_links_lead_to_files(folder, tmp_path):
    assert all(path.is_file() for path in links(folder / PAGE))
    page = tmp_path / "docs" / "rerun.md"
    page.parent.mkdir()
    (page.parent / "rerun").mkdir()
    (page.parent / "rerun" / "old.svg").write_text("old")
    (page.parent / "rerun" / "kept.csv").write_text("somebody's")
    page.write_text("![what was there](rerun/old.svg)")
    publish(folder, page)
    published = links(page)
    assert all(path.is_file() for path in published)
    assert {path.suffix for path in published} == {".svg", ".csv"}
    assert sorted(path.name for path in page.parent.joinpath("rerun").iterdir()) == sorted(
        {path.name for path in published} | {"kept.csv"}
    )


def test_the_same_bytes_again(folder, tmp_path):
    page = folder / PAGE
    before = page.read_bytes()
    tables = {path.name: path.read_bytes() for path in (folder / "tables").iterdir()}
    write_outputs(folder)
    assert page.read_bytes() == before
    assert {path.name: path.read_bytes() for path in (folder / "tables").iterdir()} == tables
    first, second = tmp_path / "first.md", tmp_path / "second.md"
    publish(folder, first)
    publish(folder, first)
    publish(folder, second)
    assert first.read_text(encoding="utf-8").replace("](first/", "](second/") == second.read_text(encoding="utf-8")


def test_of_repeated_runs_the_longest_counts(tmp_path):
    file = RecordFile(tmp_path / "records" / "tradeoff-clinical.jsonl")
    for resamples in (2, 4, 3):
        for record in make_records(resamples, ["tradeoff", "clinical"]):
            file.append(record)
    records = read_records(tmp_path)
    assert [record["run"]["resamples"] for record in records] == [4] * 3
    assert {len(points.auc) for points in collect(records).values()} == {4}
