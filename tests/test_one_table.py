"""The architecture as it runs: one table in, one set of numbers out; who calls whom, and how often."""

import sys
from collections import Counter

import numpy as np
import pytest

import fairpot
from fairpot.inference import confidence_interval
from fairpot.report import FairnessReport


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    y, group = rng.integers(0, 2, 900), rng.choice(["a", "b"], 900)
    weight = rng.exponential(size=900)
    return {"y": y, "s": rng.normal(y + 0.5 * (group == "a")), "g": group, "w": weight, "c": rng.integers(0, 150, 900)}


def calls_of(work):
    """Count the calls of fairpot's functions, and those from one folder to another, in a second run."""
    work()
    functions, between = Counter(), Counter()

    def part(code):
        return code.co_filename.rsplit("/fairpot/", 1)[-1] if "/src/fairpot/" in code.co_filename else None

    def look(frame, event, _):
        here = part(frame.f_code) if event == "call" else None
        if here is None:
            return
        functions[here, frame.f_code.co_name] += 1
        there = part(frame.f_back.f_code) if frame.f_back is not None else None
        if there is not None and there.split("/")[0] != here.split("/")[0]:
            between[there.split("/")[0], here.split("/")[0]] += 1

    sys.setprofile(look)
    try:
        work()
    finally:
        sys.setprofile(None)
    return functions, between


def test_an_interval_reads_five_files(rows):
    table = fairpot.score_table(rows["y"], rows["s"], sensitive_features=rows["g"])
    functions, _ = calls_of(lambda: confidence_interval("xauc_gap", table))
    files = {file for file, _ in functions} - {"counting.py"}  # the door itself
    assert len(files) <= 5, sorted(files)


def test_a_certified_fit_does_not_bounce(rows):
    model = fairpot.FairPOT(max_gap=0.3, confidence=0.9)
    _, between = calls_of(lambda: model.fit(rows["s"], rows["y"], sensitive_features=rows["g"]))
    assert between["inference", "postprocessing"] <= 10


def test_a_report_measures_what_an_audit_measures_once(rows):
    table = fairpot.score_table(rows["y"], rows["s"], sensitive_features=rows["g"])
    audited, _ = calls_of(lambda: fairpot.audit(table))
    reported, _ = calls_of(lambda: FairnessReport(table).summary)
    for count in (
        ("inference/shares.py", "influences"),
        ("metrics/wins.py", "of"),
        ("auditing/measures.py", "measure"),
    ):
        assert audited[count] >= 1, count
        assert 1 <= reported[count] <= audited[count], count


@pytest.mark.parametrize(
    "known", [{}, {"w": "importance"}, {"w": "frequency"}, {"c": True}, {"c": True, "w": "importance"}]
)
@pytest.mark.parametrize("alpha", [None, 0.3])
def test_the_same_number_wherever_it_is_asked_for(rows, known, alpha):
    """Rows, a table, a frame: audit, interval, effect and report have one gap with one interval."""
    columns = {"sensitive_features": rows["g"]}
    if "w" in known:
        columns |= {"sample_weight": rows["w"], "weights": known["w"]}
    if "c" in known:
        columns |= {"clusters": rows["c"]}
    table = fairpot.score_table(rows["y"], rows["s"], **columns)
    audit = fairpot.audit(rows["y"], rows["s"], alpha=alpha, **columns)
    gap = audit.gap if alpha is None else audit.summary["partial"]["gap"]
    again = fairpot.audit(table, alpha=alpha)
    assert again.to_dict() == audit.to_dict()
    alone = confidence_interval("xauc_gap", table, alpha=alpha)
    by_rows = confidence_interval("xauc_gap", rows["y"], rows["s"], alpha=alpha, **columns)
    assert alone.to_dict() == by_rows.to_dict()
    np.testing.assert_allclose([gap, gap.low, gap.high, gap.se], [alone, alone.low, alone.high, alone.se], rtol=1e-12)
    fitted = fairpot.FairPOT(0.5).fit_table(table)
    before = fairpot.effect(fitted, table, alpha=alpha).before
    numbers = before if alpha is None else before["partial"]
    assert numbers["gap"].to_dict() == gap.to_dict()
    if alpha is None:
        report = FairnessReport(table, fitted).summary["before"]
        assert report["intervals"]["gap"] == [gap.low, gap.high]
        assert (report["gap"], report["auc"]) == (gap, audit.auc)


def test_every_measured_number_knows_its_interval_or_why_it_has_none(rows):
    audit = fairpot.audit(rows["y"], rows["s"], sensitive_features=rows["g"], alpha=0.4, threshold=0.2)

    def leaves(tree, path=()):
        if isinstance(tree, dict | list):
            each = tree.items() if isinstance(tree, dict) else enumerate(tree)
            for key, value in each:
                yield from leaves(value, (*path, key))
        elif isinstance(tree, float):
            yield path, tree

    given = {"threshold", "alpha", "pairs", "score_range"}
    bare = [path for path, value in leaves(audit.summary) if not isinstance(value, fairpot.inference.Estimate)]
    assert {next(name for name in reversed(path) if isinstance(name, str)) for path in bare} <= given
    for path, value in leaves(audit.summary):
        if path not in bare:
            assert (value.reason is None) == (value.low <= value <= value.high), path
