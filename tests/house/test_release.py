"""What is released agrees with itself (versions, pins, hashes, recipe, workflows), and is for more than one system."""

import ast
import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import fairpot
from fairpot.cli._app import COMMANDS

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def plain(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(name):
    lines = [line for line in (ROOT / name).read_text().splitlines() if line and not line.startswith("#")]
    return {plain(line.split("==")[0]): line.split("==")[1].split()[0] for line in lines}, lines


def test_one_version_one_date_and_one_home_everywhere():
    version = fairpot.__version__
    citation, recipe = (ROOT / "CITATION.cff").read_text(), (ROOT / "conda" / "recipe.yaml").read_text()
    assert f"\nversion: {version}\n" in citation
    assert f'\n  version: "{version}"\n' in recipe
    released = re.search(rf"\n## \[{re.escape(version)}\] - (\S+)\n", (ROOT / "CHANGELOG.md").read_text())[1]
    assert f"\ndate-released: {released}\n" in citation
    urls = PROJECT["project"]["urls"]
    assert set(urls) >= {"Homepage", "Documentation", "Changelog", "Source", "Tracker"}
    assert f"\nrepository-code: {urls['Source']}\n" in citation
    assert f"\nurl: {urls['Documentation']}\n" in citation
    assert f"\n  repository: {urls['Source']}\n" in recipe
    assert f"\n  documentation: {urls['Documentation']}\n" in recipe


def test_what_is_released_has_run_every_command():
    """``make release`` runs these with the wheel alone."""
    lines = (ROOT / "benchmarks" / "faults.py").read_text(), (ROOT / ".ci" / "release.py").read_text()
    run = set(re.findall(r'Command\(\s*\["(\w+)"', lines[0])) | set(re.findall(r'\["(\w+)"', lines[1]))
    assert set(COMMANDS) <= run


def test_python_versions_are_those_that_are_tested():
    named = {
        each.rpartition(" ")[2] for each in PROJECT["project"]["classifiers"] if re.search(r"Python :: 3\.\d", each)
    }
    tested = re.findall(r"python: \[(.*)\]", (ROOT / ".github" / "workflows" / "ci.yml").read_text())
    assert [set(re.findall(r"3\.\d+", each)) for each in tested] == [named] * 2
    assert f">={min(named, key=lambda each: int(each[2:]))}" == PROJECT["project"]["requires-python"]


def test_the_lock_has_every_pin_with_a_hash_and_no_address():
    """``make lock`` writes it anew."""
    locked, lines = pins("constraints-hashes.txt")
    assert locked == pins("constraints.txt")[0]
    assert all(re.fullmatch(r"\S+==\S+( --hash=sha256:[0-9a-f]{64})+", line) for line in lines)


def test_pins_are_not_for_users():
    """What people install is given by ranges; one version is a matter of constraints.txt."""
    extras = PROJECT["project"]["optional-dependencies"]
    wanted = [*PROJECT["project"]["dependencies"], *(each for extra in extras.values() for each in extra)]
    assert [each for each in wanted if "==" in each.split(";")[0]] == []
    lowest = pins("constraints-min.txt")[0]
    for each in PROJECT["project"]["dependencies"]:
        name, _, version = each.partition(">=")
        assert (lowest[plain(name)] + ".").startswith(version + ".")


def test_the_recipe_asks_for_what_the_project_asks_for():
    recipe = (ROOT / "conda" / "recipe.yaml").read_text()
    named = {"duckdb": "python-duckdb"}
    for each in [*PROJECT["project"]["dependencies"], *PROJECT["project"]["optional-dependencies"]["cli"]]:
        name, _, version = each.partition(">=")
        assert f"    - {named.get(name, name)} >={version}\n" in recipe


def test_workflows_may_read_and_call_make():
    """Rights are given once for all jobs, to read; a job that publishes has its own. Steps run the Makefile."""
    rights = {"publish": ["id-token"], "docs": ["pages", "id-token"]}
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert len(WORKFLOWS) == 4
    for path in WORKFLOWS:
        text = path.read_text()
        assert "\npermissions:\n  contents: read\n" in text
        assert text.count("permissions:") == 1 + (path.stem in rights)
        assert re.findall(r"^ +(\S+): write", text, re.MULTILINE) == rights.get(path.stem, [])
        assert "secrets." not in text
        assert text.count("actions/checkout@") == text.count("persist-credentials: false")
        assert all(re.search(r"@[0-9a-f]{40} # v\d", used) for used in re.findall(r"uses: (.+)", text))
        for command in re.findall(r"run: (make .*)", text):
            asked = {word for word in command.split()[1:] if "=" not in word}
            assert asked - {"docs"} <= targets


POSIX = {"fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "syslog", "posix"}
NAMES = {"fork", "geteuid", "getuid", "killpg", "mkfifo", "SIGKILL", "SIGHUP", "SIGALRM", "sched_getaffinity", "setsid"}


def _at_import(tree):
    """Yield what runs when a module is imported: not the bodies of functions, nor what a ``try`` guards."""
    for node in ast.iter_child_nodes(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.Try):
            yield node
            yield from _at_import(node)


def test_nothing_of_one_system_alone_is_needed_for_importing():
    found = []
    for path in [*(ROOT / "src").rglob("*.py"), *(ROOT / "paper" / "src").rglob("*.py")]:
        for node in _at_import(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            used = isinstance(node, ast.Attribute) and node.attr in NAMES
            if used or POSIX & {name.split(".")[0] for name in names}:
                found.append(f"{path.name}:{node.lineno}")
    assert found == []


def test_commands_where_there_are_no_posix_modules(tmp_path):
    """As on Windows: the modules are not there, nor is os.geteuid; the whole job still runs."""
    script = f"""
import os, signal, sys
for name in {sorted(POSIX)!r}:
    if name != "posix":
        sys.modules[name] = None
flags = ("O_DIRECTORY", "O_NOFOLLOW", "O_CLOEXEC", "O_NONBLOCK")
for owner, names in ((os, ("geteuid", "getuid", "fchmod", "chown", *flags)), (signal, ("SIGHUP", "SIGKILL"))):
    for name in names:
        if hasattr(owner, name):
            delattr(owner, name)
from fairpot.cli import main
for line in (
    "datasets write synthetic out/past.csv --rows 500",
    "audit out/past.csv",
    "fit out/past.csv --max-gap 0.05 -o out/map.json",
    "show out/map.json",
    "apply out/map.json out/past.csv -o out/adjusted.csv --changes out/changes.csv",
    "report out/past.csv --map out/map.json -o out/report.html",
):
    sys.argv[1:] = line.split()
    try:
        main()
    except SystemExit as done:
        assert done.code == 0, line
"""
    (tmp_path / "out").mkdir()
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    assert [path.name for path in (tmp_path / "out").iterdir() if path.name.endswith(".tmp")] == []


def test_the_readme_leads_to_files_and_the_description_to_addresses():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)\s]+)\)|^\[.+\]: (\S+)$", readme, re.MULTILINE)
    inside = [one or other for one, other in links if not (one or other).startswith("http")]
    assert len(inside) > 25
    assert [link for link in inside if not (ROOT / link).exists()] == []
    described = runpy.run_path(str(ROOT / "setup.py"))["described"]()
    outside = re.findall(r"\]\(([^)\s]+)\)|^\[.+\]: (\S+)$", described, re.MULTILINE)
    assert len(outside) == len(links)
    assert all((one or other).startswith("https://") for one, other in outside)
    assert len(readme.split("ranks a higher")[0].split()) < 100  # the first result comes soon
