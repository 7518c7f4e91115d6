"""The architecture as it runs: one table in, one set of numbers out; who calls whom, and how often."""

import dataclasses
import inspect
import json
import sys
from collections import Counter

import numpy as np
import pytest

import fairpot
from fairpot.inference import confidence_interval
from fairpot.report import FairnessReport
from fairpot.splitting import split_table
from fairpot.transport import ScoreMap


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
        if here is None or frame.f_code.co_flags & inspect.CO_GENERATOR:
            return  # what is pulled from a generator was called once, where it was made
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


def test_an_interval_reads_seven_files(rows):
    table = fairpot.score_table(rows["y"], rows["s"], sensitive_features=rows["g"])
    functions, _ = calls_of(lambda: confidence_interval("xauc_gap", table))
    files = {file for file, _ in functions} - {"counting.py", "_arguments.py", "_said.py"}  # the door itself
    assert len(files) <= 7, ", ".join(sorted(files))


def test_a_certified_fit_does_not_bounce(rows):
    model = fairpot.FairPOT(max_gap=0.3, confidence=0.9)
    _, between = calls_of(lambda: model.fit(rows["s"], rows["y"], sensitive_features=rows["g"]))
    assert between["inference", "repair"] <= 10


def test_a_report_measures_what_an_audit_measures_once(rows):
    table = fairpot.score_table(rows["y"], rows["s"], sensitive_features=rows["g"])
    audited, _ = calls_of(lambda: fairpot.audit(table))
    reported, _ = calls_of(lambda: FairnessReport(table).to_dict())
    for count in (
        ("inference/merged.py", "count_ranking"),
        ("results/ranking.py", "rank"),
        ("results/audit.py", "audit_table"),
    ):
        assert audited[count] >= 1, count
        assert 1 <= reported[count] <= audited[count], count


@pytest.mark.parametrize(
    "known", [{}, {"w": "importance"}, {"w": "frequency"}, {"c": True}, {"c": True, "w": "importance"}]
)
@pytest.mark.parametrize("top", [None, 0.3])
def test_the_same_number_wherever_it_is_asked_for(rows, known, top):
    """Rows, a table, a frame: audit, interval, effect and report have one gap with one interval."""
    columns = {"sensitive_features": rows["g"]}
    if "w" in known:
        columns |= {"sample_weight": rows["w"], "weights": known["w"]}
    if "c" in known:
        columns |= {"clusters": rows["c"]}
    table = fairpot.score_table(rows["y"], rows["s"], **columns)
    audit = fairpot.audit(rows["y"], rows["s"], top=top, **columns)
    gap = audit.told.gap
    again = fairpot.audit(table, top=top)
    assert again.to_dict() == audit.to_dict()
    alone = confidence_interval("xauc_gap", table, top=top)
    by_rows = confidence_interval("xauc_gap", rows["y"], rows["s"], top=top, **columns)
    assert alone.to_dict() == by_rows.to_dict()
    np.testing.assert_allclose([gap, gap.low, gap.high, gap.se], [alone, alone.low, alone.high, alone.se], rtol=1e-12)
    fitted = fairpot.FairPOT(0.5).fit(table)
    before = fairpot.effect(fitted, table, top=top).before
    assert before.told.gap.to_dict() == gap.to_dict()
    judged = audit.verdicts(0.1)[-1].interval
    np.testing.assert_allclose([judged, judged.low, judged.high], [gap, gap.low, gap.high], rtol=1e-12)
    assert FairnessReport(table, top=top).audit.told.gap.to_dict() == gap.to_dict()
    assert FairnessReport(table, fitted).effect.before.gap.to_dict() == audit.gap.to_dict()


def test_every_measured_number_knows_its_interval_or_why_it_has_none(rows):
    audit = fairpot.audit(rows["y"], rows["s"], sensitive_features=rows["g"], top=0.4, threshold=0.2)

    def leaves(tree, name=""):
        if dataclasses.is_dataclass(tree):
            for each in dataclasses.fields(tree):
                if each.name not in ("table", "asked"):
                    yield from leaves(getattr(tree, each.name), each.name)
        elif isinstance(tree, tuple):
            for each in tree:
                yield from leaves(each, name)
        elif isinstance(tree, float):
            yield name, tree

    counted = {"threshold", "top", "level", "pairs", "score_range", "rate", "share", "starts", "start"}
    counted |= {"at_least", "at_most", "rows", "worth"}
    both_ties = {"auc_strict", "auc_half", "gap_strict", "gap_half"}  # the one that is asked for has an interval
    biased = {"expected_calibration_error", "error_by_chance", "slope"}
    bare = {name for name, value in leaves(audit) if not isinstance(value, fairpot.inference.Estimate)}
    assert bare <= counted | both_ties | biased | {"value", "other"}
    for name, value in leaves(audit):
        if isinstance(value, fairpot.inference.Estimate):
            assert (value.reason is None) == (value.low <= value <= value.high), name


def test_what_is_known_of_groups_left_out_changes_nothing(rows):
    """Clusters of other groups, and one cluster alone: the threshold of the top counts the units that are there."""
    rng = np.random.default_rng(5)
    keep = slice(0, 400)
    y, s, g, z = rows["y"][keep], rows["s"][keep], rows["g"][keep], np.arange(400) // 40
    more = [np.r_[y, rng.integers(0, 2, 500)], np.r_[s, rng.normal(size=500)]]
    named = {"sensitive_features": np.r_[g, ["c"] * 500], "clusters": np.r_[z, np.arange(500) + 100]}
    one = fairpot.audit(*more, **named, groups=["a", "b"], top=0.4)
    two = fairpot.audit(y, s, sensitive_features=g, clusters=z, top=0.4)
    assert one.told.auc.se == pytest.approx(two.told.auc.se, rel=1e-12)
    alone = fairpot.audit(y, s, sensitive_features=g, clusters=np.zeros(400), top=0.4)
    assert "1 cluster" in alone.told.auc.reason


def test_documents_have_no_nan_and_names_stay_names(rows):
    y = np.where(rows["g"] == "a", 0, rows["y"])
    found = fairpot.audit(y, rows["s"], sensitive_features=rows["g"])
    json.dumps(found.to_dict(), allow_nan=False)
    numbered = fairpot.audit(rows["y"], rows["s"], sensitive_features=np.where(rows["g"] == "a", 1.5, 2.5))
    names = [numbered.reference, *(name for pair in numbered.ranking.gaps for name in (pair.first, pair.second))]
    assert all(type(name) is float for name in names)


def test_an_effect_knows_its_groups(rows):
    table = fairpot.score_table(rows["y"], rows["s"], sensitive_features=rows["g"])
    with pytest.raises(ValueError, match="not among the groups"):
        fairpot.effect(fairpot.FairPOT(0.5).fit(table), table, reference="typo")


def test_thresholds_are_on_the_scale_of_the_scores(rows):
    given = {"sensitive_features": rows["g"], "lower_is_riskier": True}
    table = fairpot.score_table(rows["y"], -rows["s"], **given)
    up = fairpot.audit(rows["y"], rows["s"], sensitive_features=rows["g"], threshold=0.4).rates[0]
    unmoved = {g: ScoreMap.identity() for g in "ab"}
    audited, effect = fairpot.audit(table, threshold=-0.4), fairpot.effect(unmoved, table, threshold=-0.4)
    for found in (audited, effect.before):
        assert [each.all for each in found.rates[0].rates] == [
            each.all for each in up.rates if each.rate != "net_benefit"
        ]
        assert found.rates[0].threshold == -0.4


def test_folds_of_importance_weights_are_samples_of_the_rows(rows):
    """Where scores repeat, whole entries in one fold would be other people than those in the next."""
    coarse = np.round(rows["s"])
    ones = {"sample_weight": np.ones(900), "weights": "importance"}
    table = fairpot.score_table(rows["y"], coarse, sensitive_features=rows["g"], **ones)
    plain = fairpot.score_table(rows["y"], coarse, sensitive_features=rows["g"])
    for one, two in zip(split_table(table, 4, 0), split_table(plain, 4, 0)):
        for a, b in zip(one.counts, two.counts):
            np.testing.assert_allclose(a.positive, b.positive)
            np.testing.assert_allclose(a.squares[1], b.negative)
    model = fairpot.FairPOT(max_gap=0.4, confidence=0.9)
    certificates = [model.fit(each).certificate_ for each in (table, plain)]
    assert certificates[0].gap_before.value == pytest.approx(certificates[1].gap_before.value, abs=1e-12)


def test_a_private_file_counts_people_not_rows():
    rng = np.random.default_rng(0)
    group = np.array(["a"] * 500 + ["b"] * 60)
    y, s = rng.integers(0, 2, 560), rng.uniform(size=560)
    patient = np.r_[np.arange(500), np.repeat([1000, 1001], 30)]
    model = fairpot.FairPOT(1.0, reference="a").fit(s, y, sensitive_features=group, clusters=patient)
    with pytest.raises(fairpot.ModelFileError, match="fewer than"):
        model.fair_maps_.private_content()
    assert model.fair_maps_.file_content().fitted_on.groups[1].counts.rows is None
