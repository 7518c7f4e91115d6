"""A method of another package, a ``learn`` function or a class behind an entry point, has all that own ones have."""

import ast
import json
import pickle
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.base import clone

import fairpot
from fairpot.cli._app import app
from fairpot.exceptions import InfeasibleRuleError
from fairpot.methods import HOMES
from fairpot.metrics import xauc_gap
from fairpot.repair import registry
from fairpot.repair.registry import find_method, method_name, method_of, names

SOURCE = '''
import numpy as np
from fairpot.repair.family import Dial, Family, spread
from fairpot.repair.groups import find_reference
from fairpot.transport import ScoreMap


def learn(table, *, reference=None, ties="half", factor=1.0):
    """Learn how far every group's mean is from the reference's; a strength is the share of it that is added."""
    reference = find_reference(table, reference, ties)
    mean = {g: np.average(c.score, weights=c.weight) for g, c in zip(table.groups, table.counts)}

    def at(group, share):
        score = table[group].score
        return ScoreMap(score, score + share * factor * (mean[reference] - mean[group]) if share else score)

    return Family(Dial(identity=0.0), table.groups, reference, at, np.linspace(0, 1, 41), spread)
'''
AS_A_CLASS = """
from dataclasses import dataclass, field
from typing import ClassVar
import numpy as np
import toy_means
from fairpot.repair import Dial, Family, Repair

DIAL = Dial("part", identity=0.0, symbol="π", setting="{dial} = {value}: {share} of the way of {moved}")


def learn(table, *, reference=None, ties="half", factor=1.0):
    found = toy_means.learn(table, reference=reference, ties=ties, factor=factor)
    return Family(DIAL, found.groups, found.reference, found.map, np.linspace(0, 1, 41))


@dataclass(eq=False, repr=False)
class Means(Repair):
    dial: ClassVar[Dial] = DIAL
    learn = staticmethod(learn)
    _moves_by: ClassVar[str] = "moved by their mean"

    part: float | None = None
    factor: float = field(default=1.0, kw_only=True)
"""


@pytest.fixture(scope="module", autouse=True)
def package(tmp_path_factory):
    """Install a package that provides the method, for as long as the tests of this file run."""
    site = tmp_path_factory.mktemp("site")
    (site / "toy_means.py").write_text(SOURCE)
    info = site / "toy_means-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-means\nVersion: 1.0\n")
    (site / "toy_class.py").write_text(AS_A_CLASS)
    (info / "entry_points.txt").write_text("[fairpot.methods]\nmean-shift = toy_means:learn\nmeans = toy_class:Means\n")
    sys.path.insert(0, str(site))
    registry._outside.cache_clear()
    yield
    sys.path.remove(str(site))
    for name in ("toy_means", "toy_class"):
        sys.modules.pop(name, None)
    registry._outside.cache_clear()
    vars(registry).pop("MeanShift", None)


def draw(seed=0, n=1500, groups="ab"):
    """Draw points, the groups' means apart."""
    rng = np.random.default_rng(seed)
    place, y = rng.integers(0, len(groups), n), rng.integers(0, 2, n)
    return (rng.normal(size=n) + y - 0.5 * place).round(3), y, np.array(list(groups))[place]


@pytest.fixture(scope="module")
def rows():
    return draw()


def test_it_is_found_by_every_name():
    kind = find_method("MeanShift")
    assert {"mean-shift", "means"} <= {*names()[len(HOMES) :]}
    assert find_method("mean-shift") is method_of("MeanShift") is kind
    assert method_name(kind) == "mean-shift"
    assert kind().get_params()["factor"] == 1.0
    assert "how far every group's mean" in kind.__doc__


def test_rules_curve_and_certificate(rows):
    kind, (s, y, g) = find_method("mean-shift"), rows
    later = draw(1)
    free = kind(0.5).fit(s, y, sensitive_features=g)
    mean = {name: s[g == name].mean() for name in "ab"}
    other = "b" if free.reference_ == "a" else "a"
    moved = free.transform(s, sensitive_features=g)
    expected = np.where(g == other, s + 0.5 * (mean[free.reference_] - mean[other]), s)
    np.testing.assert_allclose(moved, expected, rtol=0, atol=1e-12)
    assert kind(0.0).fit(s, y, sensitive_features=g).transform(s, sensitive_features=g).tolist() == s.tolist()
    curve = free.tradeoff()
    assert curve.dial == "strength"
    for rule in ({"max_gap": 0.1}, {"max_auc_loss": 0.01}, {}):
        model, point = kind(**rule).fit(s, y, sensitive_features=g), curve.select(**rule)
        assert (model.strength_, model.achieved_.gap) == (point.lam, pytest.approx(point.gap, abs=1e-12))
    assert curve.band().gap.high.shape == curve.lam.shape
    certified = kind(max_gap=0.15, confidence=0.9).fit(s, y, sensitive_features=g)
    assert certified.certificate_.bound == 0.15
    judged = certified.certify(*later[:2], sensitive_features=later[2], max_gap=0.2, confidence=0.9)
    assert judged.maps_ == certified.maps_
    with pytest.raises(InfeasibleRuleError, match="no repair strength keeps max_gap"):
        kind(max_gap=0.01, factor=0.1).fit(s, y, sensitive_features=g)


def test_every_option(rows):
    kind, (s, y, g) = find_method("mean-shift"), rows
    coarse = s.round()
    grid = kind(0.8, keep="grid").fit(coarse, y, sensitive_features=g)
    assert set(grid.transform(coarse, sensitive_features=g)) <= set(coarse)
    sure = kind(0.8, keep="probabilities").fit(s, y, sensitive_features=g).transform(s, sensitive_features=g)
    assert 0 < sure.min() < sure.max() < 1
    top = kind(max_gap=0.1, top=0.4, repair="top").fit(s, y, sensitive_features=g)
    start = np.array([top.starts_[each] for each in g])
    np.testing.assert_array_equal(top.transform(s, sensitive_features=g)[s < start], s[s < start])
    assert top.achieved_.gap_top <= 0.1
    three = draw(2, groups="abc")
    several = kind(0.9).fit(*three[:2], sensitive_features=three[2])
    assert set(several.strengths_) == {"a", "b", "c"} - {several.reference_}


def test_files_copies_and_exports(rows, tmp_path):
    kind, (s, y, g) = find_method("mean-shift"), rows
    model = kind(0.7, factor=0.9).fit(s, y, sensitive_features=g)
    after = model.transform(s, sensitive_features=g)
    model.save(tmp_path / "map.json")
    loaded = fairpot.load(tmp_path / "map.json")
    np.testing.assert_array_equal(loaded.transform(s, sensitive_features=g), after)
    assert (loaded.method_, loaded.strength_, loaded.params_["factor"]) == ("MeanShift", 0.7, 0.9)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(s, sensitive_features=g), after)
    assert clone(model).get_params() == model.get_params()
    row = model.fair_maps_.row_scorer()
    assert [row(*each) for each in zip(s[:50].tolist(), g)] == after[:50].tolist()


def test_comparison_effect_and_report(rows, tmp_path):
    kind, (s, y, g) = find_method("mean-shift"), rows
    model = kind(max_gap=0.1).fit(s, y, sensitive_features=g)
    after = model.transform(s, sensitive_features=g)
    changed = fairpot.effect(model, s, y, sensitive_features=g)
    assert changed.after.gap == pytest.approx(xauc_gap(y, after, sensitive_features=g))
    found = fairpot.compare(y, s, sensitive_features=g, methods=["mean-shift", "FairPOT"], cv=2)
    assert set(found.methods) == {"MeanShift", "FairPOT"}
    page = fairpot.FairnessReport.from_predictions(y, s, sensitive_features=g, method=model)
    page.save(tmp_path / "page.html")
    assert "MeanShift" in (tmp_path / "page.html").read_text()


def test_the_command_line(rows, tmp_path):
    s, y, g = rows
    pd.DataFrame({"score": s, "label": y, "group": g}).to_csv(tmp_path / "rows.csv", index=False)

    def run(*given):
        return CliRunner().invoke(app, [str(each) for each in given], catch_exceptions=False)

    for said in (("--max-gap", 0.1), ("--strength", 0.5), ("--max-gap", 0.2, "--confidence", 0.9)):
        told = run(
            "fit",
            tmp_path / "rows.csv",
            "--method",
            "mean-shift",
            *said,
            "-o",
            tmp_path / "map.json",
            "--force",
            "--json",
        )
        assert told.exit_code == 0, told.output
        assert json.loads(told.stdout)["method"] == "mean-shift"
    shown = run("show", tmp_path / "map.json")
    assert "MeanShift" in shown.output
    applied = run("apply", tmp_path / "map.json", tmp_path / "rows.csv", "-o", tmp_path / "out.csv")
    assert applied.exit_code == 0, applied.output
    written = pd.read_csv(tmp_path / "out.csv").iloc[:, -1]
    expected = fairpot.load(tmp_path / "map.json").transform(s, sensitive_features=g)
    np.testing.assert_allclose(written, expected, rtol=0, atol=1e-12)
    compared = run("compare", tmp_path / "rows.csv", "--method", "mean-shift", "--folds", 2)
    assert compared.exit_code == 0, compared.output
    assert "MeanShift" in compared.output
    page = run(
        "report", tmp_path / "rows.csv", "--method", "mean-shift", "--max-gap", 0.1, "-o", tmp_path / "page.html"
    )
    assert page.exit_code == 0, page.output
    assert "MeanShift" in (tmp_path / "page.html").read_text()


def test_a_class_has_its_own_dial_and_words(rows, tmp_path):
    kind, (s, y, g) = find_method("means"), rows
    assert find_method("Means") is method_of("Means") is kind
    assert (kind.__module__, kind.dial.name, method_name(kind)) == ("toy_class", "part", "means")
    model = kind(0.5, factor=0.9).fit(s, y, sensitive_features=g)
    same = find_method("mean-shift")(0.5, factor=0.9).fit(s, y, sensitive_features=g)
    after = model.transform(s, sensitive_features=g)
    np.testing.assert_array_equal(after, same.transform(s, sensitive_features=g))
    assert model.part_ == 0.5
    model.save(tmp_path / "map.json")
    assert fairpot.load(tmp_path / "map.json").dial_ == ("part", 0.5)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).transform(s, sensitive_features=g), after)
    page = fairpot.FairnessReport.from_predictions(y, s, sensitive_features=g, method=model).to_html()
    moved = next(group for group in "ab" if group != model.reference_)
    assert f"π = 0.5: 50% of the way of {moved}" in page
    table = fairpot.score_table(y, s, sensitive_features=g)
    assert "Means" in fairpot.compare(table, methods=["means", "FairPOT"], cv=2).methods
    frame = pd.DataFrame({"score": s, "label": y, "group": g})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    changes = tmp_path / "changes.csv"
    words = ["apply", tmp_path / "map.json", tmp_path / "rows.csv", "-o", tmp_path / "out.csv", "--changes", changes]
    done = CliRunner().invoke(app, [str(each) for each in words])
    assert done.exit_code == 0, done.output
    assert "moved by their mean" in changes.read_text()


@pytest.mark.parametrize("leads_to", ["toy_class:DIAL", "json:JSONDecoder", "toy_class:Repair"])
def test_what_is_no_method_is_named(leads_to, monkeypatch):
    point = EntryPoint("broken", leads_to, registry.GROUP)
    monkeypatch.setattr(registry, "_outside", lambda: {"broken": point})
    registry._from_outside.cache_clear()
    with pytest.raises(TypeError, match=rf"entry point 'broken' .* leads to {leads_to}, which is no method"):
        registry.method("broken")


def test_methods_that_moved_are_named_with_the_package_that_has_them(rows, tmp_path, monkeypatch):
    monkeypatch.setattr(registry, "_outside", dict)
    for name in ("xorder", "XOrder", "post-logit", "PostLogit"):
        with pytest.raises(ValueError, match=r"unknown method(.|\n)*Hint: (XOrder|PostLogit) is .*pip install ./paper"):
            find_method(name)
        done = CliRunner().invoke(app, ["fit", str(tmp_path / "rows.csv"), "--method", name, "--smallest-gap"])
        assert done.exit_code == 2
        assert "pip install ./paper" in done.output
    with pytest.raises(ValueError, match="Hint: did you mean 'FairPOT'"):
        find_method("fairpo")


# Names that others import; map files of earlier versions, and what is plausible in one, which is read without methods.
MAY_NAME = {"__init__.py", "modelfile/content.py", "repair/stored.py"}


def test_what_all_methods_share_names_none_of_them():
    """A decision by a method's name would be one that a method of another package cannot take part in."""
    folder = Path(fairpot.__file__).parent
    spelt = {*HOMES, *(file.replace("_", "-") for file in HOMES.values())} - {"fairpot"}  # the program is called so
    found = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            said = node.value if isinstance(node, ast.Constant) else getattr(node, "id", getattr(node, "name", None))
            words = said.split() if isinstance(said, str) and len(said.split()) < 3 else [said]
            if spelt.intersection(words):
                found.add(path.relative_to(folder).as_posix())
    assert {each for each in found if not each.startswith("methods/")} <= MAY_NAME
