"""One term a concept: retired words are in no text that fairpot prints, raises or shows as help, and on no page."""

import ast
import re
from pathlib import Path

import click
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import fairpot
from fairpot.cli._app import COMMANDS, app
from rows_cases import draw

SOURCE = Path(fairpot.__file__).parent
ROOT = Path(__file__).parents[2]
SINGLE = ("README.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md")
# What is retired, and what is said instead (docs/glossary.md).
RETIRED = {
    r"\bahead\b|\bbehind\b|\btrails\b": "ranked higher, ranked lower",
    r"(?<!dis)advantaged|disadvantaged": "ranked higher, ranked lower",
    r"\bas they came\b|\bunrepaired\b": "original",
    r"\bstays? as it is\b|\bstay as they are\b": "reference group, scores do not change",
    r"\bsurely\b|\bsigned for\b": "with 95% confidence",
    r"\brests? on\b": "depends on",
    r"\bturned round\b|\bgoes past even\b": "reversed, overshoots",
    r"\bis there already\b|\bthat is there\b": "already exists",
    r"\bletter by letter\b": "upper and lower case matter",
    r"\bput down\b": "stored",
    r"\bwidest\b|\bpartial x?AUC gap\b|\bpartial gap\b": "largest, gap in the top",
    r"\bno probabilities\b": "not probabilities",
    r"\d %(?! \()": "95% without a space",
    r"\bthe dial\b|\bits dial\b|\ba dial\b": "repair strength",
    r"\be\.g\.|\bi\.e\.|\betc\.": "for example, that is",
}
# Texts that may say them, and why.
ALLOWED = {
    r"^unrepaired$|'unrepaired'": "a value in JSON documents and frames, which programs read",
    r"max.\s?knots|\.knots|'knots'": "a name in the API and in map files",
}
# What texts of the code do not say besides; pages on methods may speak of positives and negatives.
IN_TEXTS = RETIRED | {
    r"\bpositives\b|\bnegatives\b|\b(a|1|one) (positive|negative)\b(?! (number|one))": "with, without the outcome",
    r"\bknots?\b": "breakpoints",
    r"\bdials\b|\bno dial\b": "repair strength",
    r"\bmodel files?\b": "map file",
    r"\bfair scores?\b|\brepaired scores?\b|\bnew scores?\b": "adjusted score",
    r"\bold scores?\b": "original score",
    r"\bscore tables?\b": "counts table",
    r"\bhonest\b": "there is no interval; certified",
    r"\bis not there\b|\bthere already\b": "not found, already exists",
    r"\bat hand\b|\bunasked\b|\bthe very rows\b|\bmended\b|\bdealt to\b": "available, unless asked, same, fixed",
    r"\bat level \d|\bis level\b|\bare level\b": "at 95% confidence, equal",
    r"\bpost-process": "repair method",
}
# Pages speak of positives and negatives where they define them, and of the numbers behind a verdict.
ON_PAGES = {w: instead for w, instead in IN_TEXTS.items() if "positives" not in w and "behind" not in w} | {
    r"\bahead of\b|\b(is|are|be|ranked|stands?|0\.\d+) (ahead|behind)\b|\btrails\b": "ranked higher, ranked lower",
    r"\b[Dd]ials?\b|\bknobs?\b": "repair strength",
    r"\bModel files?\b|\bScore tables?\b|\bKnots?\b": "map file, counts table, breakpoints",
    r"\bunadjusted\b": "original",
    r"\btop alpha\b": "top 10%, top of the list",
    r"\bdata sets?\b": "dataset",
    r"\bthe other way round\b": "in the other direction, the reverse",
    r"\b[Mm]ends?\b|\bdealt\b|\bUnasked\b|\bthe very same\b": "fix, split into folds, unless you ask, the same",
    r" & ": "and",
}
# Pages that may say some of them, and why.
PAPERS_WORDS = r"\bunadjusted\b|the paper calls disadvantaged"
ALLOWED_ON = {"docs/evidence/paper": (PAPERS_WORDS, "the paper's own words for its baseline and its groups")}
# What fairpot shows of others' texts: descriptions of datasets speak of the paper's classes.
ELSEWHERE = ("bank.py", "compas.py", "synthetic.py")
# Two words make a text; one alone is a name, which programs read.
PROSE = re.compile(r"[a-z0-9}]['\",;:.)]* [\w({']")


def texts(path):
    """Yield the text constants of a file that are not docstrings, with their lines."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
        if id(node) not in docstrings and PROSE.search(text):
            yield node.lineno, text


def retired(text, words=IN_TEXTS):
    for allowed in ALLOWED:
        text = re.sub(allowed, "", text)
    return [f"{found[0]!r} (say: {instead})" for word, instead in words.items() if (found := re.search(word, text))]


def prose(page):
    """Return what a reader reads of a page: no code, no commands, no addresses."""
    text = page.read_text(encoding="utf-8")
    if page.name == "CHANGELOG.md":  # what was released is not written anew
        text = text.partition("\n## [0.")[0]
    for folder, (words, _) in ALLOWED_ON.items():
        text = re.sub(words, "", text) if page.is_relative_to(ROOT / folder) else text
    text = re.sub(r"^```.*?^```|^    .*?$|<!--.*?-->", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`\n]+`", "", text))


def test_no_text_in_the_source_has_a_retired_word():
    files = [path for path in SOURCE.rglob("*.py") if path.name not in ELSEWHERE]
    found = [
        f"{path.relative_to(SOURCE)}:{line}: {', '.join(words)}: {text[:60]!r}"
        for path in files
        for line, text in texts(path)
        if (words := retired(text))
    ]
    assert len(files) > 100
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", list(COMMANDS))
def test_no_help_has_a_retired_word(name):
    command = app.get_command(None, name)
    help_text = command.get_help(click.Context(command, info_name=name))
    assert not retired(" ".join(help_text.split()))


def test_no_page_has_a_retired_word():
    pages = [*sorted((ROOT / "docs").rglob("*.md")), *(ROOT / name for name in SINGLE)]
    found = {str(page.relative_to(ROOT)): retired(prose(page), ON_PAGES) for page in pages}
    assert len(found) > 60
    wrong = [f"{page}: {', '.join(words)}" for page, words in found.items() if words]
    assert not wrong, "\n".join(wrong)


def test_no_example_of_the_gallery_has_a_retired_word():
    examples = sorted((ROOT / "examples" / "gallery").glob("*.py"))
    found = {page.name: retired(page.read_text(encoding="utf-8"), RETIRED) for page in examples}
    assert len(found) >= 12
    assert not any(found.values()), found


def test_prose_is_what_a_reader_reads(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("The `dial` of [this](behind.md).\n\n    a dial\n\n```python\nahead = 1\n```\nKnots.\n")
    assert retired(prose(page), ON_PAGES) == ["'Knots' (say: map file, counts table, breakpoints)"]


def test_the_page_has_no_text_outside_its_table():
    """All words of the page come from its table of texts, which is read above: its script and style have none."""
    script = (SOURCE / "report" / "page.js").read_text(encoding="utf-8")
    strings = re.findall(r"(?<!=)\"([^\"\\n]*)\"", re.sub(r"//.*", "", script))
    assert len(strings) > 100
    assert not [text for text in strings if re.search(r"[a-z]{3,} [a-z]{3,} [a-z]{3,}", text)]
    style = (SOURCE / "report" / "page.css").read_text(encoding="utf-8")
    assert not [text for text in re.findall(r"content: *\"([^\"]*)\"", style) if re.search(r"\w", text)]


def printed(*arguments):
    """Run a command; give all that it printed."""
    answer = CliRunner().invoke(app, [str(each) for each in arguments])
    assert answer.exit_code in (0, 3), answer.output
    return answer.output


def test_no_output_has_a_retired_word(tmp_path):
    """What commands print of three groups, one of them small."""
    score, y, _ = draw(900, digits=6)
    rows = pd.DataFrame({"score": score, "outcome": y, "group": np.array(["a", "b", "c"])[(np.arange(900) % 17) % 3]})
    path, maps, page = tmp_path / "rows.csv", tmp_path / "map.json", tmp_path / "report.md"
    rows[(rows["group"] != "c") | (np.arange(900) < 100)].to_csv(path, index=False)
    columns = ["--score", "score", "--label", "outcome", "--group", "group"]
    said = [
        printed("audit", path, *columns, "--all", "--top", 0.2, "--threshold", 0.4),
        printed("fit", path, *columns, "--lam", 0.5, "-o", maps),
        printed(
            "fit",
            path,
            *columns,
            "--max-gap",
            0.3,
            "--top",
            400,
            "--repair-top",
            "--groups",
            "a,b",
            "--confidence",
            0.6,
        ),
        printed("show", maps),
        printed("plan", "--gap", 0.05),
        printed("export", maps, "--to", "python"),
        printed("report", path, *columns, "--map", maps, "-o", page),
        printed("compare", path, *columns, "--method", "wasserstein", "--max-gap", 0.1),
        page.read_text(encoding="utf-8"),
    ]
    assert sum(map(len, said)) > 8000
    assert [retired(text) for text in said] == [[]] * len(said)


def test_the_patterns_find_what_they_are_for():
    for said in ("M is ahead of F", "stays as it is", "at 95 % confidence", "partial xAUC gap", "as they came"):
        assert retired(said)
    for said in ("M is ranked higher", "95% confidence", "the overall gap", "look ahead-free"[:8]):
        assert not retired(said)
