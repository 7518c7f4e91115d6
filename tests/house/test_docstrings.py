"""Every public name can be used from its docstring alone: a command, its parameters in place, an example to paste.

``--doctest-modules`` runs the examples, but in the namespace of their module; here each must bring its own imports.
"""

import ast
import builtins
import doctest
import importlib
import inspect
import re

import pytest

import fairpot
from words.test_words import IN_TEXTS, retired

PARTS = [
    "fairpot",
    *(f"fairpot.{part}" for part in fairpot._PARTS),
    *(f"fairpot.{part}" for part in ("results", "comparison", "modelfile")),
]
# Of these, people call the methods.
HELD = [
    *(
        "fairpot.FairPOT",
        "fairpot.FairMaps",
        "fairpot.FairScoreClassifier",
        "fairpot.results.Audit",
        "fairpot.results.Effect",
    ),
    *("fairpot.comparison.Comparison", "fairpot.TradeoffCurve", "fairpot.ScoreTable", "fairpot.ScoreMap"),
    *("fairpot.FairnessReport", "fairpot.inference.Band"),
    *("fairpot.tradeoff.Limit", "fairpot.metrics.GroupScorer"),
]
# Methods for other parts of fairpot and for scikit-learn, and those that say why there is nothing to do.
INTERNAL = [
    *(f"FairMaps.{name}" for name in ("at", "choose_certified", "fit", "tradeoff")),
    *("file_content", "for_pairs", "from_rows", "get_feature_names_out", "get_metadata_routing"),
    *(
        "joined",
        "judged",
        "learn",
        "maps_on",
        "mean",
        "nameless",
        "of",
        "point",
        "all",
        "private_content",
        "renamed",
    ),
    *("require", "rows_of", "squared", "seen", "shown", "starting_at", "view", "viewed", "weighing"),
]


# Nobody makes these, or meets them first.
PARTS_OF_RESULTS = [
    *(f"comparison.{name}" for name in ("Answer", "Chosen", "Possible", "Rival", "Skipped")),
    "inference.Changes",
    "results.Statement",
    *(f"rows.{name}" for name in ("AppliedRows", "CountedRows", "Reader")),
    *(f"tradeoff.{name}" for name in ("LimitPoint", "TradeoffPoint")),
]


def _is_error(value):
    """Whether it is an error or a warning, whose one line says when it is raised."""
    return inspect.isclass(value) and issubclass(value, Exception)


def _public():
    """Yield every public name once, with what it stands for."""
    seen = set()
    for part in PARTS:
        module = importlib.import_module(part)
        names = getattr(module, "__all__", None) or [
            name for name, value in vars(module).items() if inspect.isclass(value) and value.__module__ == part
        ]
        for name in names:
            value = getattr(module, name)
            if not (inspect.isclass(value) or inspect.isfunction(value)) or id(value) in seen:
                continue
            seen.add(id(value))
            yield f"{part}.{name}", value


def _methods():
    """Yield the methods that people call, once each."""
    for owner in HELD:
        part, _, name = owner.rpartition(".")
        cls = getattr(importlib.import_module(part), name)
        for method, value in inspect.getmembers(cls, callable):
            internal = method in INTERNAL or f"{name}.{method}" in INTERNAL
            if method.startswith("_") or internal or not value.__module__.startswith("fairpot"):
                continue
            yield f"{owner}.{method}", value


NAMES = dict(_public())
METHODS = dict(_methods())


def _examples(value):
    return doctest.DocTestParser().get_examples(inspect.getdoc(value) or "")


def _undefined(examples):
    """Name what an example uses and neither imports nor makes."""
    tree = ast.parse("".join(each.source for each in examples))
    made = set(dir(builtins))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            made |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            made.add(node.id)
        elif isinstance(node, ast.arg):
            made.add(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.ExceptHandler):
            made.add(node.name)
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - made


def _described(value):
    """Map each parameter that a docstring describes to what it says."""
    found = re.search(r"Parameters\n-+\n(.*?)(?:\n\w[^\n]*\n---|\Z)", inspect.getdoc(value) or "", re.DOTALL)
    entries = {}
    for head, body in re.findall(r"^([*\w][^\n]*)((?:\n    [^\n]*)*)", found[1] if found else "", re.MULTILINE):
        for name in re.split(r",\s*", head.split(" : ")[0]):
            entries[name.strip("* ")] = f"{head}{body}".rstrip()
    return entries


def test_every_public_name_has_an_example():
    """Of classes and functions; methods and parts of a result are shown where their class or the result is."""
    shown_elsewhere = {f"fairpot.{name}" for name in PARTS_OF_RESULTS}
    lacking = {name for name, value in NAMES.items() if not _examples(value) and not _is_error(value)}
    assert lacking == shown_elsewhere


@pytest.mark.parametrize("names", [NAMES, METHODS], ids=["names", "methods"])
def test_an_example_starts_with_its_import_and_uses_nothing_else(names):
    missing = {}
    for name, value in names.items():
        examples = _examples(value)
        if examples and not examples[0].source.startswith(("import ", "from ")):
            missing[name] = "starts without an import"
        elif undefined := _undefined(examples):
            missing[name] = f"uses {sorted(undefined)}"
    assert missing == {}


def test_every_example_is_run():
    """By ``--doctest-modules``, which looks into what a module defines; those of Spark, in tests/rows/readers/spark."""
    found = {}
    missing = []
    for name, value in (NAMES | METHODS).items():
        module = value.__module__
        if module not in found:
            tests = doctest.DocTestFinder().find(importlib.import_module(module))
            found[module] = {test.name.replace("__test__.", "") for test in tests if test.examples}
        if _examples(value) and f"{module}.{value.__qualname__}" not in found[module]:
            missing.append(name)
    assert missing == []


@pytest.mark.parametrize("names", [NAMES, METHODS], ids=["names", "methods"])
def test_every_parameter_is_described_in_place(names):
    missing = {}
    for name, value in names.items():
        said = _described(value)
        if inspect.isclass(value) and not said:  # results, which nobody makes by hand, tell their attributes
            continue
        wanted = [each for each in inspect.signature(value).parameters if each not in ("self", "cls")]
        lacking = [each for each in wanted if each not in said]
        lacking += [f"{each}: {text}" for each, text in said.items() if re.search(r"\bas (in|for) [:`]", text, re.I)]
        lacking += [f"{each} has a type and no words" for each, text in said.items() if "\n" not in text]
        if lacking:
            missing[name] = lacking
    assert missing == {}


def test_the_first_line_is_a_command():
    """Of functions and methods; classes are named after what they are."""
    wrong = r"(?:The|A|An|All|What|Whether|How|One|This|[A-Z]\w+s) |[a-z(]"
    first = {
        name: inspect.getdoc(value).splitlines()[0]
        for name, value in (NAMES | METHODS).items()
        if not inspect.isclass(value)
    }
    assert {name: line for name, line in first.items() if re.match(wrong, line) or not line.endswith(".")} == {}


def test_no_retired_word_in_what_public_names_say():
    """Docstrings are for readers of the code: they may say positives, negatives and knots, as its names do."""
    words = {word: instead for word, instead in IN_TEXTS.items() if "positives" not in word and "knots" not in word}
    found = {name: retired(inspect.getdoc(value) or "", words) for name, value in (NAMES | METHODS).items()}
    assert {name: words for name, words in found.items() if words} == {}


def test_shared_parameters_are_filled_in():
    """No line is left that only names parameters, and a default is that of the function itself."""
    place = re.compile(r"^ *\{[\w*, \n]+\}$", re.MULTILINE)
    assert [name for name, value in (NAMES | METHODS).items() if place.search(value.__doc__ or "")] == []
    assert 'ties : {"half", "strict"}, default "half"' in inspect.getdoc(fairpot.metrics.xauc_gap)
    assert _described(fairpot.metrics.xauc_gap)["y_true"].startswith("y_true : column of shape (n,)\n")
