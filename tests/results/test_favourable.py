"""Which side of a cut counts as selected in rules and ratios: it follows from what was said of the rows."""

import io
import json

import numpy as np
import pandas as pd
import pytest

import fairpot

WAYS = [(lower, means) for lower in (False, True) for means in (None, "help", "harm")]


def pool(n=3000, seed=0, groups="abc"):
    """Scores with two decimals, many of them equal, whose groups differ."""
    rng = np.random.default_rng(seed)
    group = rng.choice([*groups], n)
    score = np.round(rng.normal(size=n) + 0.4 * (group == "b") - 0.2 * (group == "c"), 1)
    return pd.DataFrame({"score": score, "group": group})


def flagged(score, lower, where):
    """Who is at the riskier end, strictly beyond a median."""
    turned = -score if lower else score
    if where == "median":
        return turned > turned.median()
    if where == "top":
        return turned >= np.sort(turned)[::-1][int(0.2 * len(turned)) - 1]
    return turned >= (-0.3 if lower else 0.3)


def good(score, lower, means, where):
    """Who is selected: the riskier end, unless it was said that being there harms."""
    if (means == "harm") == lower or means is None:
        return flagged(score, lower, where)
    if where == "median":
        return flagged(score, not lower, where)
    return ~flagged(score, lower, where)


def audited(frame, lower, means, where, **options):
    cut = {"threshold": {"threshold": 0.3}, "top": {"top": 0.2}, "median": {}}[where]
    rule = "ll144" if where == "median" else "four-fifths"
    given = {"lower_is_riskier": lower, "high_score_means": means, "sensitive_features": frame["group"], "rule": rule}
    return fairpot.audit(None, frame["score"], **given, **cut, **options)


@pytest.mark.parametrize("where", ["threshold", "top", "median"])
@pytest.mark.parametrize(("lower", "means"), WAYS)
def test_selected_are_those_for_whom_it_is_good(lower, means, where):
    frame = pool()
    up = good(frame["score"], lower, means, where).groupby(frame["group"]).mean()
    found = audited(frame, lower, means, where)
    [table] = found.rule.tables
    for line in table.lines:
        rate, ratio = line.numbers[:2]
        assert rate.value == pytest.approx(up[line.group])
        assert ratio.value == pytest.approx(up[line.group] / up.max())
    selected = {
        "threshold": {True: "at 0.3 or below", False: "at 0.3 or above"}[lower],
        "top": "in the top 20%",
        "median": {True: "below the median score", False: "above the median score"}[lower],
    }[where]
    if means is not None and (means == "harm") != lower:
        turned = {True: "above 0.3", False: "below 0.3"}[lower]
        outside = {"threshold": turned, "top": "outside the top 20%"}
        selected = outside.get(where) or {True: "above the median score", False: "below the median score"}[lower]
    assert (table.where, table.selected) == (selected, selected)
    if means is None:
        word = "help" if lower else "harm"
        said = f"Selected means {selected}; if that is a bad thing for the person, say high_score_means='{word}'."
    else:
        said = f"Selected means {selected}, as a high score {'benefits' if means == 'help' else 'harms'} the person."
    page = fairpot.report.SelectionReport(found)
    for surface in (str(found), found._repr_html_().replace("&#x27;", "'"), page.to_markdown(), found.rule.to_csv()):
        assert said in surface
    assert said in page.to_html().replace("&#x27;", "'")
    document = found.to_dict()["rule"]["tables"][0]
    assert (document["selected"], document["high_score_means"]) == (selected, means)
    json.dumps(document, allow_nan=False)
    read = pd.read_csv(io.StringIO(found.rule.to_csv()))
    assert set(read["where"]) == {selected}
    assert set(read["selected"]) == {said}


@pytest.mark.parametrize("where", ["threshold", "top"])
@pytest.mark.parametrize(("lower", "means"), WAYS)
@pytest.mark.parametrize("extra", [{}, {"weights": "frequency"}, {"weights": "importance"}, {"clusters": True}])
def test_the_verdict_on_ratios_is_of_the_same_side(lower, means, where, extra):
    frame = pool()
    weight = np.random.default_rng(1).integers(1, 4, len(frame))
    extra = {"clusters": np.arange(len(frame)) // 2} if "clusters" in extra else extra
    given = extra | ({"sample_weight": weight} if "weights" in extra else {})
    found = audited(frame, lower, means, where, **given)
    verdict = found.ratio_verdict(0.9)
    lowest = min(
        (n.value for line in found.rule.tables[0].lines for n in line.numbers[1:2] if n.value is not None), key=float
    )
    assert verdict.ratio == pytest.approx(float(lowest))
    np.testing.assert_allclose([verdict.ratio.low, verdict.ratio.high], [lowest.low, lowest.high])
    assert found.rule.tables[0].selected in str(verdict)
    assert verdict.favourable == ("spared" if means and (means == "harm") != lower else "flagged")


def test_a_score_that_harms_is_its_negative_that_helps():
    """At cuts between scores and at the median, with rows of both kinds of weights and in clusters."""
    frame, rng = pool(900), np.random.default_rng(3)
    for given in (
        {},
        {"sample_weight": rng.integers(1, 4, 900), "weights": "frequency"},
        {"sample_weight": rng.random(900)},
        {"clusters": np.arange(900) // 3},
    ):
        for where, turned in (({"threshold": 0.35}, {"threshold": -0.35}), ({}, {})):
            told = {"sensitive_features": frame["group"], "rule": "four-fifths" if where else "ll144"} | given
            harm = fairpot.audit(None, frame["score"], **told, **where, high_score_means="harm").rule
            help_ = fairpot.audit(None, -frame["score"], **told, **turned, high_score_means="help").rule
            for one, other in zip(harm.tables[0].lines, help_.tables[0].lines):
                for mine, its in zip(one.numbers, other.numbers):
                    assert mine.test == its.test or mine.test.p_value == pytest.approx(its.test.p_value, rel=1e-9)
                    if mine.value is not None:
                        mine, its = mine.value, its.value
                        np.testing.assert_allclose([mine, mine.low, mine.high], [its, its.low, its.high], rtol=1e-9)


def test_denials_are_read_by_who_is_spared():
    """35% of Black and 12% of White applicants are denied: Black is below, not White."""
    group = np.repeat(["Black", "White"], [400, 600])
    score = np.concatenate([np.arange(400) < 140, np.arange(600) < 72]).astype(float)
    given = {"sensitive_features": group, "threshold": 0.5, "rule": "four-fifths"}
    found = fairpot.audit(None, score, **given, high_score_means="harm")
    black, white = found.rule.tables[0].lines
    assert black.numbers[1].value == pytest.approx(0.65 / 0.88)
    assert black.numbers[1].reading == "below four fifths"
    assert (white.numbers[1].value, white.numbers[1].reading) == (1.0, "highest")
    assert (found.ratio_verdict(0.8).lowest, found.ratio_verdict(0.9).answer) == ("Black", "below")
    unsaid = fairpot.audit(None, score, **given)
    assert unsaid.rule.tables[0].lines[1].numbers[1].reading == "below four fifths"
    assert "if that is a bad thing for the person, say high_score_means='harm'" in str(unsaid.ratio_verdict())


OWN = """
title = "Our rule"
minimum = 0.9
[[section]]
title = "All of it"
rates = ["ppv", "selection_rate", "fnr", "tpr"]
show = ["value", "ratio", "test"]
"""


def test_in_a_rule_of_ones_own_a_rate_of_the_other_side_is_not_read(tmp_path):
    """A high share of people who are flagged is no good sign where that harms, nor a high share of those missed."""
    path = tmp_path / "own.toml"
    path.write_text(OWN)
    data = fairpot.datasets.make_synthetic(1500, random_state=0, as_frame=False)
    given = {"sensitive_features": data.group, "threshold": 0.4, "rule": path}
    for means, not_read, where in (
        ("help", "false negative rate", ["at 0.4 or above"]),
        (None, "false negative rate", ["at 0.4 or above"]),
        ("harm", "true positive rate", ["below 0.4", "at 0.4 or above"]),
    ):
        audit = fairpot.audit(data.target, data.probability, **given, high_score_means=means)
        assert [table.where for table in audit.rule.tables] == where
        read = {
            number.name.partition(":")[0]: number.reading is not None
            for table in audit.rule.tables
            for number in table.lines[0].numbers
            if number.name.endswith("ratio")
        }
        assert {name for name, is_read in read.items() if not is_read} == {not_read}
        assert f"Not read beside 0.9: {not_read}." in str(audit)
        flagged = pd.Series(data.probability >= 0.4)[data.target == 1].groupby(data.group[data.target == 1]).mean()
        for line in audit.rule.tables[-1].lines:
            [tpr] = [number.value for number in line.numbers if number.name == "true positive rate"]
            assert tpr == pytest.approx(flagged[line.group])  # a sensitivity is of those flagged, whatever it does
