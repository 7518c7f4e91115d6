"""Rules: their files, and tables that are checked by hand and against pandas."""

import io
import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import fairpot
from fairpot.results.ruled import read_rule

NAMES = ("clinical", "four-fifths", "ll144")


def pool(n=2000, seed=0):
    """Applicants without outcomes, some of unknown category, one category small."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "score": np.round(rng.normal(size=n), 3),
            "sex": rng.choice(["Female", "Male", "Unknown"], n, p=[0.45, 0.52, 0.03]),
            "race": rng.choice(["Asian", "Black", "Pacific", "White"], n, p=[0.14, 0.3, 0.01, 0.55]),
        }
    )
    frame.loc[frame["sex"] == "Female", "score"] -= 0.2
    return frame


def test_a_table_of_eight_applicants_is_right_by_hand():
    """The median of 1 ... 8 is 4.5: of four women one is above it, of three men all three, and one is unknown."""
    frame = pd.DataFrame({"score": range(1, 9), "sex": ["F", "F", "F", "Unknown", "F", "M", "M", "M"]})
    found = fairpot.audit(None, frame["score"], sensitive_features=frame["sex"], rule="ll144").rule
    [table] = found.tables
    values = {line.group: [float(number.value) for number in line.numbers] for line in table.lines}
    assert values == {"F": [0.25, 0.25], "M": [1.0, 1.0]}
    assert table.unknown == 1
    assert {line.group: line.rows for line in table.lines} == {"F": 4, "M": 3}


def test_an_audit_by_a_rule_shows_the_tables_of_the_rule():
    frame = pool(600)
    found = fairpot.audit(None, frame["score"], sensitive_features=frame[["sex", "race"]], rule="ll144")
    assert str(found) == found.spoken.rule.to_markdown()
    page = found._repr_html_()
    for table in found.spoken.rule.tables:
        heads, rows = table.cells()
        assert all(f">{cell}<" in page for cells in (heads, *rows) for cell in cells)
        assert f"<caption>{found.spoken.rule.caption(table)}</caption>" in page
    page = fairpot.report.SelectionReport(found).to_markdown()
    assert page.endswith(f"{found.spoken.rule}")


def test_where_nobody_is_above_the_median_there_is_no_ratio():
    found = fairpot.audit(None, [1.0] * 40, sensitive_features=["F", "M"] * 20, rule="ll144").rule
    assert [row["impact ratio"] for row in found.rows()] == [None, None]
    assert [row["scoring rate"] for row in found.rows()] == [0.0, 0.0]


def test_the_tables_of_local_law_144_are_those_of_pandas():
    frame = pool()
    found = fairpot.audit(None, frame["score"], sensitive_features=frame[["sex", "race"]], rule="ll144").rule
    up = frame["score"] > frame["score"].median()
    assert [table.by for table in found.tables] == [("sex",), ("race",), ("sex", "race")]
    for table in found.tables:
        known = (frame[list(table.by)] != "Unknown").all(axis=1)
        by = frame[known].groupby(list(table.by) if len(table.by) > 1 else table.by[0])
        rates, sizes = by.apply(lambda own: up[own.index].mean(), include_groups=False), by.size()
        assert table.unknown == (~known).sum()
        large = rates[sizes >= 0.02 * len(frame)]
        for line in table.lines:
            key = line.group
            if len(table.by) > 1:
                key = tuple(part.partition("=")[2] for part in line.group.split(", "))
            assert line.rows == sizes[key]
            assert line.numbers[0].value == pytest.approx(rates[key])
            ratio = line.numbers[1].value
            assert (ratio is None) == (line.group in table.left_out) == (key not in large.index)
            if ratio is not None:
                assert ratio == pytest.approx(rates[key] / large.max())


@pytest.mark.parametrize("left_out", [{"min_group": 100}, {"groups": ["Black", "White"]}])
def test_a_median_of_all_rows_is_not_that_of_some_groups(left_out):
    frame = pool()
    with pytest.raises(ValueError, match=r"the median of all rows, and min_group or groups leaves some out"):
        fairpot.audit(None, frame["score"], sensitive_features=frame["race"], rule="ll144", **left_out)


def test_every_intersection_of_the_categories_that_the_law_names_has_its_rate():
    """Two sexes and seven races, each of some people unknown: 24 groups, which are more than gaps compare."""
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"score": rng.random(6000), "sex": rng.choice(["Female", "Male", "unknown"], 6000)})
    frame["race"] = rng.choice([*"1234567", "unknown"], 6000)
    *_, found = fairpot.audit(None, frame["score"], sensitive_features=frame[["sex", "race"]], rule="ll144").rule.tables
    up = frame["score"] > frame["score"].median()
    assert len(found.lines) == 14
    for line in found.lines:
        own = (frame["sex"] == line.group.split(", ")[0][4:]) & (frame["race"] == line.group[-1])
        assert (line.rows, float(line.numbers[0].value)) == (own.sum(), pytest.approx(up[own].mean()))
    with pytest.raises(ValueError, match="at most 100 are compared"):
        fairpot.audit(None, frame["score"], sensitive_features=[f"g{k % 101}" for k in range(6000)])


def test_a_rule_is_written_as_markdown_csv_and_frame():
    frame = pool()
    audit = fairpot.audit(None, frame["score"], sensitive_features=frame[["sex", "race"]], rule="ll144")
    text = audit.rule.to_markdown()
    assert "| group | applicants | scoring rate | impact ratio |" in text
    assert "rows of unknown category" in text
    assert "not compared: Pacific." in text
    read = pd.read_csv(io.StringIO(audit.rule.to_csv()))
    assert list(read["by"].unique()) == ["sex", "race", "sex x race"]
    assert read.loc[read["group"] == "(unknown)", "rows"].iloc[0] == (frame["sex"] == "Unknown").sum()
    pd.testing.assert_frame_equal(read, audit.rule.frame(), check_dtype=False)
    json.dumps(audit.to_dict()["rule"], allow_nan=False)
    assert "complian" not in text.lower()


@pytest.mark.parametrize("name", NAMES)
def test_a_rule_says_its_source_its_date_and_what_is_left_to_judgement(name):
    rule = read_rule(name)
    assert rule.source
    assert rule.date[:2] in ("19", "20")
    assert len(rule.judgement) >= 3


def test_the_reading_of_four_fifths_is_the_measured_one_and_says_where_the_interval_is_on_both_sides():
    rng = np.random.default_rng(1)
    g = np.repeat(list("abcd"), [3000, 3000, 3000, 60])
    s = (rng.random(len(g)) < np.select([g == "a", g == "b", g == "c"], [0.5, 0.48, 0.3], 0.42)).astype(float)
    s += 0.01 * rng.random(len(g))
    [table] = fairpot.audit(None, s, sensitive_features=g, threshold=0.5, rule="four-fifths").rule.tables
    read = {line.group: line.numbers[1].reading for line in table.lines}
    assert read["a"] == "highest"
    assert read["b"] == "not below four fifths"
    assert read["c"] == "below four fifths"
    assert read["d"] == "below four fifths, as measured"


def test_the_clinical_tables_are_the_rates_of_the_audit():
    data = fairpot.datasets.make_synthetic(1500, random_state=0, as_frame=False)
    given = {"sensitive_features": data.group, "threshold": 0.4, "rule": "clinical"}
    audit = fairpot.audit(data.target, data.probability, **given)
    rates = {each.rate: each for part in audit.rates for each in part.rates}
    called = {"sensitivity": "tpr", "specificity": "tnr", "net benefit": "net_benefit", "Brier score": "brier"}
    found = {}
    for table in audit.rule.tables:
        for line in table.lines:
            found |= {(line.group, number.name): number.value for number in line.numbers}
    for name, rate in called.items():
        for one in rates[rate].groups:
            assert (found[one.group, name], found[one.group, name].low) == (one.value, one.value.low)
    for group in audit.ranking.groups:
        assert found[group.group, "AUC"] == group.auc
    with pytest.raises(ValueError, match="looks at who is flagged at a score"):
        fairpot.audit(data.target, data.probability, sensitive_features=data.group, rule="clinical")
    with pytest.raises(ValueError, match="counts outcomes"):
        fairpot.audit(None, data.probability, **given)


def test_a_rule_follows_ties_and_the_level_and_names_who_is_left_out():
    data = fairpot.datasets.make_synthetic(900, random_state=0, as_frame=False)
    y, score, group = data.target, data.probability.round(1), np.where(np.arange(900) < 12, "few", data.group)
    given = {"sensitive_features": group, "threshold": 0.4, "min_group": 20}
    found = fairpot.audit(y, score, **given, ties="strict", level=None, rule="clinical")
    shown = {line.group: line.numbers[0].value for line in found.rule.tables[0].lines}
    assert {each.group: float(each.auc) for each in found.ranking.groups} == {g: float(auc) for g, auc in shown.items()}
    assert all(auc.low != auc.low for auc in shown.values())
    assert "left out of the comparison" in str(found)
    assert "left out of the comparison" in found._repr_html_()
    pool = fairpot.audit(None, score, **given, level=None, rule="four-fifths")
    assert "left out of the comparison" in fairpot.report.SelectionReport(pool).to_markdown()
    assert not [number.reading for line in pool.rule.tables[0].lines for number in line.numbers if number.reading]
    with pytest.raises(ValueError, match="Hint: FairnessReport"):
        fairpot.report.SelectionReport(found)


def test_rates_that_scores_do_not_have_are_named():
    data = fairpot.datasets.make_synthetic(500, random_state=0, as_frame=False)
    given = {"sensitive_features": data.group, "rule": "clinical"}
    points = fairpot.audit(data.target, 100 * data.probability, threshold=40, **given).rule
    assert [table.not_known for table in points.tables] == [
        (),
        ("observed to expected", "calibration intercept", "calibration slope"),
        ("Brier score",),
        (),
        ("net benefit",),
    ]
    assert "takes probabilities" in points.to_markdown()
    assert (
        "takes probabilities"
        not in fairpot.audit(data.target, data.probability, threshold=0.4, **given).rule.to_markdown()
    )


OWN = """
title = "Our rule"
minimum = 0.9
[[section]]
title = "Found"
rates = ["tpr", "ppv"]
show = ["value", "difference", "ratio"]
[names]
tpr = "found"
"""


def test_a_rule_of_ones_own_is_a_file(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(OWN)
    data = fairpot.datasets.make_synthetic(1500, random_state=0, as_frame=False)
    for given in (path, str(path)):
        audit = fairpot.audit(data.target, data.probability, sensitive_features=data.group, top=0.2, rule=given)
        [table] = audit.rule.tables
        assert [number.name for number in table.lines[0].numbers][:3] == ["found", "found: difference", "found: ratio"]
        for line in table.lines:
            for number in line.numbers:
                ratio, read = number.value, number.reading
                if not number.name.endswith("ratio"):
                    assert read is None
                elif ratio == ratio.low == ratio.high:
                    assert read == "highest"
                else:
                    unsure = "" if ratio.high < 0.9 or ratio.low >= 0.9 else ", as measured"
                    assert read == f"{'below' if ratio < 0.9 else 'not below'} 0.9{unsure}"
        heads, _ = table.cells()
        assert heads[4:6] == ["found: ratio", "reading"]
        assert heads[-1] == "reading"
        assert {"found: ratio: reading", "positive predictive value: ratio: reading"} < set(audit.rule.frame().columns)


def test_an_error_of_a_file_is_the_same_in_every_run(tmp_path):
    """Which of two mistakes is named does not follow the order of a set of texts, which changes with its seed."""
    path = tmp_path / "own.toml"
    path.write_text(OWN.replace('"ppv"]', '"auc"]').replace('"value", ', ""))
    program = (
        f"from fairpot.results.ruled import read_rule\ntry: read_rule({str(path)!r})\nexcept ValueError as e: print(e)"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in range(6)
    }
    assert [text.partition("\n")[0].endswith("auc has no difference.") for text in said] == [True]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("title", "titel"), "a key that is not known, 'titel'"),
        (('"Our rule"', "3"), "title must be a text"),
        (("0.9", '"0.9"'), "minimum must be a number"),
        (("0.9", "9"), r"minimum must lie in \[0, 1\]"),
        (('"tpr", ', '"recall", '), "rates has 'recall', and knows selection_rate, tpr"),
        (('"value", ', '"shown", '), "show has 'shown'"),
        (('rates = ["tpr", "ppv"]', ""), "has no rates"),
        (("[[section]]", "[other]"), r"has no \[\[section\]\]"),
        (('tpr = "found"', "tpr = 3"), "names must be texts"),
        (("title = ", "title == "), "is not TOML"),
        (("minimum = 0.9", 'cut = "top"'), "cut has 'top', and knows asked, threshold, median"),
        (("minimum = 0.9", "needs_outcomes = false"), "'Found': tpr needs outcomes, and needs_outcomes is false"),
        (('"ppv"]', '"auc"]'), "'Found': auc has no difference"),
        (
            ('rates = ["tpr", "ppv"]\nshow = ["value", "difference", "ratio"]', 'rates = ["brier"]\nshow = ["test"]'),
            "brier has no test",
        ),
        (('"ppv"]', '"net_benefit"]'), "'Found': net_benefit has no ratio"),
        (('show = ["value", "difference", "ratio"]', "show = []"), "has no show"),
        (("tpr = ", "recall = "), "names has 'recall', and knows selection_rate"),
        (('"tpr", ', '"ppv", '), "rates has 'ppv' twice"),
        (('"value", ', '"ratio", '), "show has 'ratio' twice"),
        (('"found"', '"positive predictive value"'), "names has 'positive predictive value', which would name two"),
        (('"found"', '" rows"'), "names has ' rows', which would name two columns"),
    ],
)
def test_a_mistake_in_a_file_is_named(tmp_path, change, said):
    path = tmp_path / "own.toml"
    path.write_text(OWN.replace(*change, 1))
    with pytest.raises(ValueError, match=said):
        read_rule(path)


def test_ratios_of_two_sections_are_two_columns(tmp_path):
    path = tmp_path / "own.toml"
    more = '\ufefftitle = "T"\n' + "".join(
        f'[[section]]\ntitle = "{name}"\nrates = ["{name}"]\nshow = ["ratio"]\n' for name in ("tpr", "fpr")
    )
    path.write_text(more, encoding="utf-8")  # as some editors begin a file
    data = fairpot.datasets.make_synthetic(1500, random_state=0, as_frame=False)
    found = fairpot.audit(data.target, data.probability, sensitive_features=data.group, top=0.2, rule=path)
    [own] = [row for row in found.rule.rows() if row["group"] == "b"]
    for name, title in (("tpr", "true positive rate"), ("fpr", "false positive rate")):
        [one] = [each for each in found.rates[0][name].groups if each.group == "b"]
        assert own[f"{title}: ratio"] == one.ratio


def test_an_unknown_rule_and_a_missing_file_are_named(tmp_path):
    with pytest.raises(ValueError, match=r"no rule 'five-fifths'.\nHint: known are clinical, four-fifths, ll144"):
        read_rule("five-fifths")
    with pytest.raises(ValueError, match="there is no such file"):
        read_rule(tmp_path / "gone.toml")
    with pytest.raises(TypeError, match=r"rule must be a name such as 'll144', .*got 3"):
        read_rule(3)
