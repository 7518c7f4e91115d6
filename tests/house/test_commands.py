"""Every command that pages, workflows, the Action, examples and programs of the project call is there, options too."""

import ast
import re
import shlex
from pathlib import Path

import click
import pytest

from fairpot.cli._app import app

ROOT = Path(__file__).parents[2]
# What tells of earlier versions names commands that are gone.
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "paper/README.md")),
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if page.parent.name != "design"),
    *sorted((ROOT / "paper/src/fairpot_paper/templates").glob("*.md")),
]
SCRIPTS = [
    *(ROOT / name for name in ("Makefile", "Containerfile", ".pre-commit-hooks.yaml", "conda/recipe.yaml", ".ci/run")),
    *sorted((ROOT / ".github").rglob("*.yml")),
    *sorted(path for path in (ROOT / "examples/nightly").iterdir() if path.suffix in (".sh", ".yml", ".service")),
]
PROGRAMS = [
    *sorted((ROOT / ".ci").glob("*.py")),
    *sorted((ROOT / "examples").rglob("*.py")),
    ROOT / "benchmarks/faults.py",
]
# Commands of earlier versions, where a page says what became of them.
GONE = ("sign",)
FENCE = re.compile(r"^```[^\n]*\n(.*?)^```", re.DOTALL | re.MULTILINE)
CALL = re.compile(r"(?:^|[\s;&|(/])fairpot +([^#\n]*)")
AFTER = re.compile(r"^(\||\|\||&&|;|\d?>+|<+).*|.*;$")


def options_of(command):
    """Give every spelling of the options of a command."""
    context = click.Context(command)
    return {name for each in command.get_params(context) for name in (*each.opts, *each.secondary_opts)}


def wrong(words):
    """Say what a line after `fairpot` names that is not there; nothing where all of it is."""
    command, context = app, click.Context(app)
    known, rest = options_of(app), list(words)
    while isinstance(command, click.Group) and rest and re.fullmatch(r"[a-z][a-z-]*", rest[0]):
        name = rest.pop(0)
        if name == "help" and command is app:
            continue
        found = command.get_command(context, name)
        if found is None:
            return f"{name!r} is no command"
        command, context = found, click.Context(found)
        known |= options_of(command)
    named = (each.partition("=")[0] for each in rest if re.match(r"--?[a-zA-Z]", each))
    unknown = [each for each in named if each not in known and not re.fullmatch(r"-\w\w+", each)]
    return f"no options {unknown}" if unknown else None


def split(line):
    """Split a line of a shell into the words of its first command."""
    try:
        words = shlex.split(line)
    except ValueError:  # a quote that another line or the text around it closes
        words = line.split()
    end = next((place for place, word in enumerate(words) if AFTER.match(word)), len(words))
    return [word.rstrip(",.):;`\"'") for word in words[:end]]


def lines_of_page(path):
    """Yield what a page shows as a command: blocks of code, indented lines, and code inside a sentence."""
    text = path.read_text(encoding="utf-8")
    for block in FENCE.findall(text):
        for line in block.replace("\\\n", " ").splitlines():
            if found := re.match(r"(?:\$ |.*?\brun: |\s+)?fairpot +([^#]*)", line):
                yield found[1]
    around = FENCE.sub("", text)
    yield from re.findall(r"^    fairpot +([^#\n]*)", around, re.MULTILINE)
    yield from re.findall(r"`fairpot +([^`\n]+)`", around)


def lines_of_script(path):
    """Yield every call of `fairpot` in a script or a workflow, comments and texts apart."""
    for line in path.read_text(encoding="utf-8").replace("\\\n", " ").splitlines():
        if not re.match(r"\s*(#|(- )?name:|Description=|description:)", line) and (found := CALL.search(line)):
            yield found[1]


def lists_of_program(path):
    """Yield what is called: lists of smoke tests, of `Command(...)`, or that begin with a command; `fairpot(...)`."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        named = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "SMOKE"
        if named:
            yield from ([each.value for each in line.elts] for line in node.value.elts)
        called = isinstance(node, ast.Call) and ast.unparse(node.func) == "Command"
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "fairpot":
            yield [each.value for each in node.args if isinstance(each, ast.Constant)]
        words = node.args[0] if called else node
        if isinstance(words, ast.List) and words.elts and isinstance(words.elts[0], ast.Constant):
            plain = [each.value if isinstance(each, ast.Constant) else "VALUE" for each in words.elts]
            if called or plain[0] in app.list_commands(click.Context(app)):
                yield [str(each) for each in plain]


def calls():
    """Yield every place and what is called there."""
    for paths, read in ((PAGES, lines_of_page), (SCRIPTS, lines_of_script)):
        yield from ((path, split(line)) for path in paths for line in read(path))
    yield from ((path, words) for path in PROGRAMS for words in lists_of_program(path))


def test_every_command_that_is_called_is_there():
    found = list(calls())
    assert len({path for path, _ in found}) > 40
    assert {path.name for path, _ in found} >= {"release.py", "faults.py", "action.yml", "nightly.sh", "recipe.yaml"}
    now = [(path, words) for path, words in found if words[:1] != [*GONE] or path not in PAGES]
    missing = [(str(path.relative_to(ROOT)), " ".join(words), said) for path, words in now if (said := wrong(words))]
    assert missing == []


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("audit scores.csv --bound 0.05 --require within | tee log", None),
        ("help audit", None),
        ("--version", None),
        ("datasets write synthetic scores.csv", None),
        ("datasets list", "'list' is no command"),
        ("sign map.json", "'sign' is no command"),
        ("fit scores.csv --max-gaps 0.05 -o map.json", "no options ['--max-gaps']"),
        ("apply map.json rows.csv -Z", "no options ['-Z']"),
    ],
)
def test_what_is_gone_is_found(line, said):
    assert wrong(split(line)) == said
