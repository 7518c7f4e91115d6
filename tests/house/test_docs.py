"""Every block of code on the pages runs as pasted, page by page in an empty folder, and prints what is shown below it.

What the pages link to is there.
"""

import ast
import importlib
import pkgutil
import re
import runpy
import shlex
from pathlib import Path
from types import GenericAlias
from urllib.parse import unquote

import matplotlib.pyplot as plt
import pytest
from click.testing import CliRunner

import fairpot
import fairpot.exceptions
from fairpot.cli._app import app
from fairpot.repair import registry
from spark_cluster import own_process

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
ALL = [*PAGES, *(ROOT / f"{name}.md" for name in ("CONTRIBUTING", "CHANGELOG", "SECURITY"))]
BLOCK = re.compile(r"^```(python|console|text output)\n(.*?)^```", re.DOTALL | re.MULTILINE)
EXITS = re.compile(r"#\s*exits with (\d+)")


def blocks(page):
    return BLOCK.findall(page.read_text())


def name(page):
    return str(page.relative_to(ROOT))


def run_console(text):
    printed = ""
    for line in text.replace("\\\n", " ").splitlines():
        line = line.removeprefix("$ ")
        if not line.startswith("fairpot "):  # what is printed
            continue
        wanted = int(found.group(1)) if (found := EXITS.search(line)) else 0
        done = CliRunner().invoke(app, shlex.split(line, comments=True)[1:])
        assert done.exit_code == wanted, f"{line}\n{done.output}"
        printed += done.output
    return printed


def check_shown(lines, printed):
    """Require the lines that a page shows in what was printed, in that order; other lines may stand between."""
    left = " ".join(printed.split())
    for line in filter(None, (" ".join(line.split()) for line in lines.splitlines())):
        before, found, left = left.partition(line)
        assert found, f"the page shows {line!r}; what follows is {before[:400]!r}"


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=name)
def test_blocks_run_as_pasted(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", own_process()["JAVA_TOOL_OPTIONS"])  # of few rows
    names, printed = {"__name__": "pasted"}, ""
    for language, text in blocks(page):
        if language == "console":
            printed = run_console(text)
        elif language == "python":
            exec(compile(text, name(page), "exec"), names)
            printed = capsys.readouterr().out
        else:
            check_shown(text, printed)
    plt.close("all")


def test_the_method_in_contributing_works_from_another_package(tmp_path, monkeypatch):
    text = (ROOT / "CONTRIBUTING.md").read_text()
    [learn] = [text for language, text in BLOCK.findall(text) if language == "python"]
    [entry] = re.findall(r'^\[project\.entry-points\."(fairpot\.methods)"\]\n(.*?)^```', text, re.DOTALL | re.MULTILINE)
    (tmp_path / "mean_match.py").write_text(learn)
    about = tmp_path / "mean_match-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: mean-match\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[{entry[0]}]\n{entry[1].replace(chr(34), '')}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    registry._outside.cache_clear()
    try:
        printed = run_console(
            "fairpot datasets write synthetic scores.csv\n"
            "fairpot fit scores.csv --method mean-match --max-gap 0.05 -o map.json\n"
            "fairpot fit scores.csv --method mean-match --max-gap 0.15 --confidence 0.9\n"
            "fairpot fit scores.csv --method mean-match --max-gap 0.1 --top 10% --repair-top\n"
            "fairpot apply map.json scores.csv -o adjusted.csv\n"
            "fairpot compare scores.csv --method mean-match --method fairpot\n"
        )
    finally:
        registry._outside.cache_clear()
    assert "the overall gap is 0.050 (a over b), before 0.131" in printed
    assert "MeanMatch" in printed


def test_what_a_page_shows_must_have_been_printed():
    check_shown("gap 0.1\nAUC  0.7", "head\ngap 0.1\nmore\nAUC 0.7\n")
    for wrong in ("gap 0.2", "AUC 0.7\ngap 0.1"):
        with pytest.raises(AssertionError, match="the page shows"):
            check_shown(wrong, "gap 0.1\nAUC 0.7\n")


@pytest.mark.filterwarnings("ignore")
def test_drawings_are_what_their_program_draws(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.argv", ["drawings.py", "--folder", str(tmp_path)])
    runpy.run_path(str(ROOT / "benchmarks" / "drawings.py"), run_name="__main__")
    drawn = {path.name: path.read_bytes() for path in tmp_path.glob("*.svg")}
    assert len(drawn) == 2
    assert {name: (ROOT / "docs" / "images" / name).read_bytes() for name in drawn} == drawn


def anchor(heading):
    """Spell a heading as the site and GitHub spell its anchor."""
    kept = re.sub(r"[^\w\- ]", "", re.sub(r"[`*]", "", heading).strip().lower())
    return kept.replace(" ", "-")


@pytest.mark.parametrize("page", ALL, ids=name)
def test_links_lead_to_pages_and_headings(page):
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target or target.startswith("mailto:"):
            continue
        path, _, heading = unquote(target).partition("#")
        place = page if not path else (page.parent / path)
        if "gallery/plot_" in path:  # made by the build
            assert (ROOT / "examples" / "gallery" / f"{place.name}.py").exists(), f"{name(page)} links to {target}"
            continue
        assert place.exists(), f"{name(page)} links to {target}"
        if heading:
            headings = re.findall(r"^#+ (.*)$", place.read_text(), re.MULTILINE)
            assert heading in map(anchor, headings), f"{name(page)} links to {target}"


def test_every_public_name_is_in_the_reference():
    modules, listed = {}, set()
    for line in (ROOT / "docs" / "reference" / "api.md").read_text().splitlines():
        if found := re.match(r"\.\. currentmodule:: (\S+)", line):
            modules[found[1]] = module = importlib.import_module(found[1])
        elif found := re.fullmatch(r"   ([A-Za-z_]\w*)", line):
            listed.add(id(getattr(module, found[1])))
    parts = [f"fairpot.{part.name}" for part in pkgutil.iter_modules(fairpot.__path__) if not part.name.startswith("_")]
    public = [
        (name, importlib.import_module(name))
        for name in ("fairpot", *parts, *(name for name in modules if name.startswith("fairpot.")))
        if name not in ("fairpot.cli", "fairpot.words")
    ]
    missing = {
        f"{name}.{each}"
        for name, module in public
        for each in getattr(module, "__all__", ())
        if id(getattr(module, each)) not in listed and not isinstance(getattr(module, each), GenericAlias)
    }
    errors = [each for each in vars(fairpot.exceptions).values() if isinstance(each, type)]
    missing |= {each.__name__ for each in errors if each.__module__ == "fairpot.exceptions" and id(each) not in listed}
    assert not missing


def test_every_message_that_troubleshooting_quotes_is_in_the_source():
    texts = []
    for path in (*(ROOT / "src").rglob("*.py"), *(ROOT / "paper" / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                texts.append("".join(part.value if isinstance(part, ast.Constant) else "\0" for part in node.values))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.append(node.value)
    page = (ROOT / "docs" / "reference" / "troubleshooting.md").read_text(encoding="utf-8")
    quoted = re.findall(r"^\| `([^`]+)` \|", page, re.MULTILINE)
    assert len(quoted) > 80
    for quote in quoted:
        parts = quote.split("…")
        pattern = re.compile(".*?".join(map(re.escape, parts)), re.DOTALL)
        assert any(all(part in text for part in parts) and pattern.search(text) for text in texts), quote
