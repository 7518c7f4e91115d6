"""The tables of the evidence pages are what the records make, and a command makes the records."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "evidence").glob("*.md"))
RECORDED = sorted((ROOT / "docs" / "evidence" / "records").glob("*.jsonl"))


@pytest.fixture(scope="module")
def evidence():
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        import evidence

        import methods  # noqa: F401 -- the tables of the methods are made there

        yield evidence
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_tables_are_what_the_records_make(evidence, page):
    text = page.read_text()
    assert evidence.filled(text) == text, "run: python benchmarks/evidence.py --pages"
    assert set(evidence.parts_of(text)) <= set(evidence.PARTS)


def test_every_table_has_records(evidence):
    shown = {part for page in PAGES for part in evidence.parts_of(page.read_text())}
    assert shown == {path.stem for path in RECORDED}


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_records_say_the_command_that_makes_them(evidence, path):
    head, lines = evidence.records(path.stem)
    assert head["command"] == f"python {' '.join(evidence.command(path.stem, head['scale']))}"
    assert lines
    assert any(path.stem in evidence.parts_of(page.read_text()) for page in PAGES)


def test_a_printed_table_becomes_records_and_a_table_again(evidence, tmp_path, monkeypatch):
    monkeypatch.setattr(evidence, "RECORDS", tmp_path)
    lines = evidence.rows_of(
        "\n### gaps: of two\n\n| rows | gap |\n| --- | --- |\n| 100 |  |\n| 200 | 0.1 |\n\n(3 s)\n"
    )
    evidence.keep("coverage-gaps", {"command": "python x", "scale": 1.0}, lines)
    page = "Before.\n<!-- table: coverage-gaps -->\nold\n<!-- table: end -->\nAfter.\n"
    made = evidence.filled(page)
    assert "| rows | gap |\n| --- | --- |\n| 100 |  |\n| 200 | 0.1 |\n" in made
    assert "old" not in made
    assert evidence.filled(made) == made
    assert evidence.filled(page.replace("gaps", "bands")) == page.replace("gaps", "bands")
