"""The pages: every claim once, figures as in the records, links that lead somewhere, the same bytes again."""

import copy
import json
import re
import shutil
import statistics
from pathlib import Path

import pytest

from fairpot_paper.claims import SHORT, make_claims
from fairpot_paper.data_sets import DATA_SETS
from fairpot_paper.outputs import make_tables, publish, read_records, write_outputs, write_pages
from fairpot_paper.pages import PAGES, make_pages, plain
from fairpot_paper.records import RecordFile
from fairpot_paper.sheets import write_rows
from fairpot_paper.tables import collect
from fairpot_paper.verdict_file import NAME, counted, describe, make_document, tally
from fairpot_paper.verdicts import Evidence
from record_cases import make_records

STORED = Path(__file__).parents[2] / "docs" / "evidence" / "paper"
MARKS = {"holds": "✓", "does not hold": "✗", "cannot tell": "?", "not run": "not run"}


@pytest.fixture(scope="module")
def records():
    return make_records(2)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Write the pages of records without figures, as `write_outputs` does."""

    def write(records, folder=None):
        place = tmp_path_factory.mktemp("pages")
        for name, columns in make_tables(records).items():
            write_rows(columns, range(len(next(iter(columns.values())))), place / f"{name}.csv")
        document = make_document(records, folder or place)
        (place / NAME).write_text(json.dumps(document))
        return make_pages(place) | {NAME: document}

    return write


@pytest.fixture(scope="module")
def page(written, records):
    texts = written(records)
    return lambda name: texts[name if name == NAME else f"{name}.md"]


def table_rows(text):
    """The cells of the first table in a text."""
    lines = re.search(r"(?:^\|.*\n?)+", text, re.M)[0].splitlines()
    return [[cell.strip() for cell in re.split(r" \| ", each.strip()[1:-1])] for each in lines]


def section(page, title):
    level = title.split(" ")[0]
    return re.search(rf"^{re.escape(title)}$(.*?)(?=^#{{1,{len(level)}}} |\Z)", page, re.M | re.S)[1]


def all_claims(page):
    """The table of all claims, which is folded below the one of twelve."""
    return table_rows(section(page, "## Which of all 29 claims hold?"))


def test_every_claim_once(page):
    numbers = list(dict.fromkeys(claim.number for claim in make_claims()))
    head, _, *rows = all_claims(page("index"))
    first = table_rows(page("index"))
    assert len(first) == 2 + 12
    assert [row for row in [head, *rows] if row in first] == [first[0], *first[2:]]
    assert head == ["claim", "Synthetic", "20 draws", "Bank", "COMPAS", "Clinical"]
    assert list(DATA_SETS) == ["synthetic", "draws", "bank", "compas", "clinical"]
    own = [number for number in numbers if number.isdigit()]
    assert [re.match(r"\[(\d+)\. (.+)\]\(claims.md#claim-\1\)$", row[0]).groups() for row in rows] == list(
        SHORT.items()
    )
    assert own == list(SHORT)
    assert all(len(row) == len(head) for row in rows)
    assert re.findall(r"^## Claim (\d+)$", page("claims"), re.M) == own
    lettered = [claim.number for claim in make_claims() if claim.reading]
    assert re.findall(r"^\*\*(\d+\w?)\. ", page("claims"), re.M) == list(dict.fromkeys(lettered))


def test_no_figure_that_is_none(page):
    for name in PAGES:
        assert not re.search(r"\b(nan|inf|None)\b", page(name))
        assert "$" not in page(name)


def test_verdicts_in_their_places(page, records):
    evidence = Evidence(collect(records), records)
    rows = {row[0].split(".")[0][1:]: row for row in all_claims(page("index"))[2:]}
    for claim in make_claims():
        found = claim.verdicts(evidence)
        stars = {way: judged.verdict + "\\*" * (not judged.stands) for way, judged in found.items()}
        own = next(way for way in ("half", "once", "strict") if way in found)
        if claim.number.isdigit():
            column = 1 + list(DATA_SETS).index(claim.data or "synthetic")
            shown = rows[claim.number][column]
            mark = MARKS[found[own].verdict] + "\\*" * (not found[own].stands) if own != "strict" else "–"
            assert shown == (mark if claim.data else f"{mark} (all data)")
        text = section(page("claims"), f"## Claim {re.match('[0-9]+', claim.number)[0]}")
        assert claim.how in text
        assert claim.says in text
        if claim.reading and not claim.number.isdigit():
            text = text[text.index(f"**{claim.number}. ") :]
        title = DATA_SETS[claim.data].title if claim.data else "all together"
        [row] = [row for row in table_rows(text) if row[0] == title]
        assert row[1:3] == [stars[own], plain(found[own].figure)]
        if "crossfit" in found:
            assert row[3] == f"{stars['crossfit']}: {plain(found['crossfit'].figure)}"
        strict = [row[1:3] for row in table_rows(text) if row[0] == f"{title}, strict ties"]
        differs = "strict" in found and (found["strict"], stars["strict"]) != (found[own], stars[own])
        assert strict == ([[stars["strict"], plain(found["strict"].figure)]] if differs else [])


def test_verdicts_are_counted(page):
    cells = [cell.removesuffix("\\*") for row in all_claims(page("index"))[2:] for cell in row[1:] if cell != "–"]
    document = page(NAME)
    counts = [sum(cell.startswith(mark) for cell in cells) for mark in MARKS.values()]
    assert list(tally(document).values()) == counts
    assert document["tally"] == tally(document)
    assert f"Of {sum(counts)} verdicts (29 claims" in page("index")
    assert f"{counts[0]} hold, {counts[1]} do not hold, and for {counts[2]} the data cannot tell" in page("index")
    assert counted(document).startswith(
        f"The paper's claims, by half ties: {counts[0]} holds, {counts[1]} does not hold"
    )


def test_classifiers_on_the_page(page, records):
    rows = {row[0]: row for row in table_rows(section(page("tables"), "## How well do the base classifiers rank?"))}
    aucs = [
        test["half"]["auc"]
        for record in records
        if (record["run"]["kind"], record["run"]["data"], record["run"]["model"]) == ("classifiers", "bank", "svm")
        for test in record["results"]["tests"]
    ]
    assert rows["svm"][1 + list(DATA_SETS).index("bank")] == f"{statistics.mean(aucs):.3f} (0.909)"
    assert "(" not in rows["knn_50"][1]


def test_partial_aucs_on_the_page(page, records):
    def values(model):
        same = [
            r for r in records if (r["run"]["kind"], r["run"]["data"], r["run"]["model"]) == ("pauc", "bank", model)
        ]
        return [r["results"]["tests"][0]["group"][3]["half"]["auc"] for r in same]  # alpha 0.3 is the fourth

    text = section(page("tables"), "## Does training for the top help?").split("<details>")[1]
    own, change = (
        next(row for row in table_rows(text.split(title)[1]) if row[0] == "Bank, top 30%")
        for title in ("Partial AUC, the paper's", "Difference from (a)")
    )
    changes = [b - a for a, b in zip(values("xgboost"), values("network"))]
    assert own[2] == f"{statistics.mean(values('network')):.3f}"
    assert change[2] == f"{statistics.mean(changes):+.3f} ± {statistics.stdev(changes) / 2**0.5:.3f}"


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

    [row] = [r for r in table_rows(section(page("claims"), "## Claim 3")) if r[0] == DATA_SETS[data].title]
    theirs, ours = [place("xorder", k) for k in range(11)], [place("fairpot", k) for k in range(101)]
    best = [p for p in theirs if not any(q[0] <= p[0] and q[1] >= p[1] and q != p for q in theirs)]
    assert row[2].startswith(f"{len(best)} points: ")
    away = sum(min(ours)[0] > p[0] for p in best)
    assert f"{away} gap not reached" in row[2]
    shown = re.search(r"xOrder, lambda ([\d.]+) \(gap ([\d.]+)\): (.*) \(?([-+][\d.]+) ± ([\d.]+)", row[2])
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


def test_head(written, tmp_path):
    records = make_records(2, ["classifiers"])
    assert "with 2 seeds and 2 resamples" in written(records)["index.md"]
    assert "finished" not in written(records)["index.md"]
    (tmp_path / "seconds.jsonl").write_text('{"task": "x", "kind": "train", "seconds": 120, "at": 1790000000}\n')
    texts = written(records, tmp_path)
    assert "finished on 2026-09-21" in texts["index.md"]
    assert "took 2 minutes" in texts["index.md"]
    assert "A quick run" not in texts["index.md"]
    assert "`fairpot reproduce --seeds 2`" in texts["index.md"]
    with (tmp_path / "seconds.jsonl").open("a") as file:
        file.write('{"task": "torn')
    assert written(records, tmp_path) == texts
    (tmp_path / "origin.json").write_text(json.dumps({"quick": True, "versions": {}}))
    assert written(records, tmp_path)["index.md"].startswith("# The paper, rerun\n\n**A quick run**")


def test_what_is_missing_is_named(page, records, written):
    assert "Nothing failed" in page("setup")
    some = [copy.deepcopy(r) for r in records if r["run"]["data"] != "bank" and r["run"]["kind"] != "alpha"]
    some[0] = {**some[0], "status": "failed", "error": {"message": "made up"}}
    texts = written(some)
    failures = section(texts["setup.md"], "## What failed or is missing?")
    assert "made up" in failures
    assert "- Bank: not run: tradeoff, partial, classifiers, pauc, edge, runtime" in failures
    assert "- Clinical (simulated): not run: alpha" in failures
    column = 1 + list(DATA_SETS).index("bank")
    assert {row[column] for row in all_claims(texts["index.md"])[2:]} <= {"not run", "–"}


def test_pages_of_one_seed_and_of_nothing(written):
    texts = written(make_records(1))
    assert not any(re.search(r"\b(nan|inf|None)\b", texts[f"{name}.md"]) for name in PAGES)
    assert "with 1 seed and 1 resample of" in texts["index.md"]
    nothing = written([])
    assert not any(re.search(r"\b(nan|inf|None)\b", nothing[f"{name}.md"]) for name in PAGES)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Records of a part of the runs in files, and all that is written from them."""
    place = tmp_path_factory.mktemp("run")
    for record in make_records(2, ["tradeoff", "classifiers", "runtime", "compas"]):
        RecordFile(place / "records" / f"{record['run']['kind']}.jsonl").append(record)
    write_outputs(place, ["strict"])
    return place


def links(pages):
    found = [name for page in PAGES for name in re.findall(r"\]\(([^)#]+)", (pages / f"{page}.md").read_text())]
    assert found
    return [pages / name for name in found]


def test_links_lead_to_files(folder, tmp_path):
    pages = tmp_path / "docs"
    pages.mkdir()
    (pages / "old.svg").write_text("old")
    (pages / "kept.csv").write_text("data,auc\n")
    (pages / "index.md").write_text("![what was there](old.svg)")
    publish(folder, pages)
    assert all(path.is_file() for path in links(pages))
    assert not (pages / "old.svg").exists()
    assert (pages / "kept.csv").exists()
    assert {path.suffix for path in links(pages)} == {".svg", ".csv", ".json", ".md"}
    assert not (pages / "curves.csv").exists()


def files_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_same_bytes_again(folder, tmp_path):
    before = {part: files_of(folder / part) for part in ("pages", "tables")}
    write_outputs(folder, [])  # figures are another test's
    assert {part: files_of(folder / part) for part in before} == before
    publish(folder, tmp_path / "first")
    publish(folder, tmp_path / "first")
    assert files_of(tmp_path / "first") == before["pages"]


def test_pages_are_written_again_without_records(folder, tmp_path):
    again = tmp_path / "again"
    shutil.copytree(folder / "pages", again)
    for page in PAGES:
        (again / f"{page}.md").unlink()
    write_pages(again)
    assert files_of(again) == files_of(folder / "pages")


def test_the_stored_pages_are_what_their_verdicts_and_tables_give():
    stored = json.loads((STORED / NAME).read_text(encoding="utf-8"))
    assert {name: (STORED / name).read_text(encoding="utf-8") for name in make_pages(STORED)} == make_pages(STORED)
    assert stored["tally"] == tally(stored)
    claims = {}
    for claim in make_claims():
        claims.setdefault(claim.number, describe(claim))
    assert [{**claim, "verdicts": []} for claim in stored["claims"]] == list(claims.values())
    found = {(claim["number"], each["data"]) for claim in stored["claims"] for each in claim["verdicts"]}
    assert found == {(claim.number, claim.data or "all") for claim in make_claims()}


def test_of_repeated_runs_the_longest_counts(tmp_path):
    file = RecordFile(tmp_path / "records" / "tradeoff-clinical.jsonl")
    for resamples in (2, 4, 3):
        for record in make_records(resamples, ["tradeoff", "clinical"]):
            file.append(record)
    records = read_records(tmp_path)
    assert [record["run"]["resamples"] for record in records] == [4] * 3
    assert {len(points.auc) for points in collect(records).values()} == {4}
