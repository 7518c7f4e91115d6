"""A report without outcomes holds what the audit found, in every form."""

import html
import json
import re

import numpy as np
import pytest

import fairpot
from fairpot.report import SelectionReport


@pytest.fixture
def pool(tmp_path):
    rng = np.random.default_rng(5)
    group = rng.choice(["F", "M", "<b>x"], 300, p=[0.4, 0.4, 0.2])
    score = rng.normal(size=300).round(2) + (group == "M")
    path = tmp_path / "pool.csv"
    path.write_text("score,group\n" + "".join(f"{s!r},{g}\n" for s, g in zip(score.tolist(), group)))
    return path, score, group


def test_the_command_writes_what_python_writes(pool, run, tmp_path):
    path, score, group = pool
    found = fairpot.audit(None, score, sensitive_features=group, threshold=0.5, top=0.2)
    for ending in (".html", ".md", ".json"):
        page = tmp_path / f"page{ending}"
        run("report", path, "--no-label", "--threshold", "0.5", "--top", "20%", "-o", page)
        named = fairpot.audit(fairpot.score_table(path, score="score", group="group"), None, threshold=0.5, top=0.2)
        assert page.read_text() == SelectionReport(named, source=str(path))._written(ending)
    rates = json.loads((tmp_path / "page.json").read_text())["rates"]
    above = {g: float(np.mean(score[group == g] >= 0.5)) for g in ("F", "M", "<b>x")}
    assert len(rates) == len(found.rates)
    assert (
        sum("| 1.000 |" in line for line in (tmp_path / "page.md").read_text().splitlines()) == 2
    )  # the highest itself
    for name, share in above.items():
        assert f"{share:.3f}" in (tmp_path / "page.md").read_text(), name


def test_the_page_needs_nothing_else_and_escapes_names(pool):
    _, score, group = pool
    page = SelectionReport(fairpot.audit(None, score, sensitive_features=group), source="<i>rows").to_html()
    assert "<b>x" not in page
    assert "<i>rows" not in page
    assert not re.search(r"(src|href)=|<script", page)
    assert "default-src 'none'" in html.unescape(page)


@pytest.mark.parametrize("more", [["--max-gap", "0.1"], ["--label", "died"], ["--outcome", "a stroke"]])
def test_what_needs_outcomes_is_refused(pool, run, tmp_path, more):
    path, *_ = pool
    said = run("report", path, "--no-label", *more, "-o", tmp_path / "page.html", expect=2)
    assert "needs outcomes" in said.err
    assert not (tmp_path / "page.html").exists()


def test_a_file_that_is_there_is_kept(pool, tmp_path):
    _, score, group = pool
    made = SelectionReport(fairpot.audit(None, score, sensitive_features=group))
    path = made.save(tmp_path / "page.md")
    with pytest.raises(FileExistsError, match="already exists"):
        made.save(path)
    with pytest.raises(ValueError, match="ends in none of them"):
        made.save(tmp_path / "page.pdf")
