"""What the report says against the Python API, at ten settings of the dial."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_curve

from display_cases import make_rows
from fairpot import FairPOT, ScoreTable, audit, effect
from fairpot.inference import confidence_interval
from fairpot.methods import WassersteinRepair
from fairpot.metrics import auc, partial_auc, partial_xauc_gap, xauc, xauc_gap
from fairpot.repair.registry import methods
from fairpot.report import FairnessReport, words
from fairpot.report import measure as measuring
from fairpot.tradeoff import auc_limit


def scores_at(fitted, rows, value):
    scores, y, group = rows
    if value is None:
        return scores
    again = FairPOT(value, ties="half").fit(scores, y, sensitive_features=group)
    return again.transform(scores, sensitive_features=group)


def test_ranks_are_those_of_the_curve_and_of_the_rows(report, fitted, rows, places):
    _, y, group = rows
    curve = fitted.tradeoff(ties="half")
    for place in places:
        found = report.summary["dial"]["settings"][place]
        new = scores_at(fitted, rows, found["value"])
        assert found["auc"] == curve.at(found["value"] or 0.0).auc
        assert found["auc"] == pytest.approx(auc(y, new, ties="half"), abs=1e-12)
        assert found["gap"] == pytest.approx(xauc_gap(y, new, sensitive_features=group, ties="half"), abs=1e-12)
        for name, g, h in (("xauc_higher", "M", "F"), ("xauc_lower", "F", "M")):
            expected = xauc(y, new, sensitive_features=group, positive=g, negative=h, ties="half")
            assert found[name] == pytest.approx(expected, abs=1e-12)
        assert found["signed_gap"] == pytest.approx(found["xauc_higher"] - found["xauc_lower"], abs=1e-12)


def test_people_are_those_of_the_rows(report, fitted, rows, places):
    scores, y, group = rows
    for place in places:
        found, setting = report.summary["dial"]["settings"][place], report.measured.settings[place]
        new = scores_at(fitted, rows, found["value"])
        assert found["moved"] == (new != scores).sum()
        for t, up, down in zip(report.measured.thresholds, setting.up, setting.down):
            for g, name in enumerate(("F", "M")):
                for k, outcome in enumerate((1, 0)):
                    own = (group == name) & (y == outcome)
                    assert up[g, k] == ((scores < t) & (new >= t))[own].sum()
                    assert down[g, k] == ((scores >= t) & (new < t))[own].sum()


def test_the_reported_setting_is_the_fitted_one(report, fitted):
    dial = report.summary["dial"]
    assert dial["values"][dial["chosen"]] == fitted.lam_
    assert report.summary["after"] == dial["settings"][dial["chosen"]]
    assert dial["values"][0] is None
    assert dial["settings"][0]["moved"] == 0
    assert report.summary["pair"] == {"higher": "M", "lower": "F"}
    assert report.summary["method"]["moved"] == ["F"]


def test_the_cross_group_curve_has_true_steps_and_ends_in_the_corner(report, rows):
    """Every corner that is drawn is a corner of scikit-learn's curve; few rows have them all."""
    scores, y, group = rows
    new = report.method.transform(scores, sensitive_features=group)
    for (x, rate), (first, second) in zip(report.measured.settings[report.measured.dial.chosen].roc, ("MF", "FM")):
        own = ((group == first) & (y == 1)) | ((group == second) & (y == 0))
        exact = set(zip(*(np.round(each, 12) for each in roc_curve(y[own], new[own], drop_intermediate=False)[:2])))
        drawn = list(zip(np.round(x, 12), np.round(rate, 12)))
        assert drawn[0] == (0, 0)
        assert drawn[-1] == (1, 1)
        assert set(drawn) <= exact
    few = FairnessReport.from_predictions(y[:60], scores[:60], sensitive_features=group[:60])
    x, rate = few.measured.settings[0].roc[0]
    own = ((group == "M") & (y == 1) | (group == "F") & (y == 0))[:60]
    exact = roc_curve(y[:60][own], scores[:60][own])[:2]
    if few.summary["pair"]["higher"] == "F":
        own = ((group == "F") & (y == 1) | (group == "M") & (y == 0))[:60]
        exact = roc_curve(y[:60][own], scores[:60][own])[:2]
    assert np.trapezoid(rate, x) == pytest.approx(np.trapezoid(exact[1], exact[0]), abs=1e-12)


def test_a_dial_without_an_exact_curve(rows):
    scores, y, group = rows
    repair = WassersteinRepair(t=0.63).fit(scores, y, sensitive_features=group)
    summary = FairnessReport.from_estimator(repair).summary
    curve = repair.tradeoff(ties="half")
    for found in summary["dial"]["settings"][1::12]:
        assert found["auc"] == pytest.approx(curve.at(found["value"]).auc, abs=1e-12)
    assert summary["after"]["value"] == 0.63
    assert summary["before"]["auc"] == pytest.approx(auc(y, scores, ties="half"), abs=1e-12)


def test_more_groups():
    scores, y, group = make_rows(1500, ("a", "b", "c", "d", "e"))
    fp = FairPOT(0.4, ties="half").fit(scores, y, sensitive_features=group)
    summary = FairnessReport.from_estimator(fp).summary
    new = fp.transform(scores, sensitive_features=group)
    after = summary["after"]
    assert after["gap"] == pytest.approx(xauc_gap(y, new, sensitive_features=group, ties="half"), abs=1e-12)
    assert len(after["pairs"]) == 10
    for pair in after["pairs"]:
        options = {"positive": pair["first"], "negative": pair["second"], "ties": "half"}
        assert pair["xauc_first"] == pytest.approx(xauc(y, new, sensitive_features=group, **options), abs=1e-12)
    widths = [abs(p["signed_gap"]) for p in summary["before"]["pairs"]]
    assert widths == sorted(widths, reverse=True)


@pytest.mark.parametrize("repair", ["all", "top"])
def test_a_repair_of_the_top(rows, repair):
    """Every setting of the slider has the gap and the AUC of the top of its own scores, and the picture has them."""
    scores, y, group = rows
    fp = FairPOT(0.6, top=0.3, repair=repair, ties="half").fit(scores, y, sensitive_features=group)
    report = FairnessReport.from_estimator(fp)
    summary = report.summary
    curve = fp.tradeoff(ties="half", lams=[0.6])
    assert summary["after"]["top"]["gap"] == pytest.approx(curve.at(0.6).gap, abs=1e-12)
    assert summary["after"]["auc"] == pytest.approx(curve.at(0.6).auc, abs=1e-12)
    settings, values = summary["dial"]["settings"], summary["dial"]["values"]
    for place in (1, len(settings) // 2, len(settings) - 1):
        new = fp.at(values[place]).transform(scores, sensitive_features=group)
        known = {"alpha": 0.3, "ties": "half"}
        gap = partial_xauc_gap(y, new, sensitive_features=group, **known)
        assert settings[place]["top"]["gap"] == pytest.approx(gap, abs=1e-12)
        assert settings[place]["top"]["auc"] == pytest.approx(partial_auc(y, new, **known), abs=1e-12)
        assert settings[place]["auc"] == pytest.approx(auc(y, new, ties="half"), abs=1e-12)
    shown = report.figures["tradeoff"].moving["tradeoff"]
    order = np.argsort([each["auc"] for each in settings], kind="stable")
    assert (np.diff(np.array(shown["cy"])[order]) <= 1e-9).all()  # AUC of all rows, upwards
    top = {"alpha": 0.3, "sensitive_features": group, "ties": "half"}
    assert summary["before"]["top"]["auc"] == pytest.approx(partial_auc(y, scores, **top), abs=1e-12)
    new = fp.transform(scores, sensitive_features=group)
    assert summary["after"]["auc"] == pytest.approx(auc(y, new, ties="half"), abs=1e-12)
    assert summary["after"]["moved"] == (new != scores).sum()


def test_an_audit_alone(rows):
    scores, y, group = rows
    summary = FairnessReport.from_predictions(y, scores, sensitive_features=group).summary
    assert summary["method"] is None
    assert summary["after"] is None
    assert len(summary["dial"]["settings"]) == 1
    assert summary["before"]["auc"] == pytest.approx(auc(y, scores, ties="half"), abs=1e-12)


def test_very_many_scores_are_counted_in_bins(monkeypatch, rows, report):
    scores, y, group = rows
    fine = scores + np.random.default_rng(0).random(len(scores)) * 1e-4
    fp = FairPOT(0.5, ties="half").fit(fine, y, sensitive_features=group)
    exact = FairnessReport.from_estimator(fp).summary
    monkeypatch.setattr(measuring, "MOST_ENTRIES", 500)
    monkeypatch.setattr(measuring, "COARSE_BINS", 400)
    coarse = FairnessReport.from_estimator(fp).summary
    assert any(w["kind"] == "coarse" for w in coarse["warnings"])
    assert coarse["data"]["rows"] == len(fine)
    for name in ("auc", "gap", "moved"):  # from the exact curve, and counted on the whole table
        assert coarse["after"][name] == exact["after"][name]
    slack = 2 * len(fine) / 400 + 2  # two bins, and a row at each edge
    for one, other in zip(coarse["who"]["choices"], exact["who"]["choices"]):
        np.testing.assert_allclose(one["enter"], other["enter"], atol=slack)


def test_json_is_the_summary(report):
    text = report.to_json()
    assert json.loads(text) == report.summary == report.to_dict()


def test_the_summary_has_no_rows_of_people(report):
    """Nothing in it is as long as the data, or as the list of distinct scores."""
    entries = sum(len(c.score) for c in report.table.counts)

    def longest(value):
        if isinstance(value, dict):
            return max(map(longest, value.values()), default=0)
        if isinstance(value, list):
            return max([len(value), *map(longest, value)])
        return 0

    big = FairnessReport.from_table(_many(20_000))
    assert longest(big.summary) < 600
    assert entries > 100


def _many(n):
    scores, y, group = make_rows(n)
    scores = scores + np.random.default_rng(0).random(n) * 1e-5
    return ScoreTable.from_rows(scores, y, (group == "M").astype(int), ("F", "M"))


@pytest.mark.parametrize("name", methods())
def test_every_method_has_a_report(name):
    scores, y, group = make_rows(300)
    method = methods()[name]().fit(scores, y, sensitive_features=group)
    report = FairnessReport.from_estimator(method)
    new = method.transform(scores, sensitive_features=group)
    after = report.summary["after"]
    assert after["auc"] == pytest.approx(auc(y, new, ties="half"), abs=1e-12)
    assert after["gap"] == pytest.approx(xauc_gap(y, new, sensitive_features=group, ties="half"), abs=1e-12)
    assert after["moved"] == (new != scores).sum()
    assert len(report.summary["dial"]["settings"]) > 5
    values = report.summary["dial"]["values"]
    assert values[1:] == sorted(values[1:])
    assert "tradeoff" in report.figures


def test_groups_with_their_own_strengths_have_a_slider():
    _, _, group = make_rows(900, ("a", "b", "c"))
    rng = np.random.default_rng(0)
    rate = np.array([0.2, 0.4, 0.6])[np.searchsorted(["a", "b", "c"], group)]
    y = (rng.random(900) < rate).astype(int)
    scores = rng.normal(y + np.log(rate / (1 - rate))).round(3)  # a repair costs AUC
    fp = FairPOT(max_gap=0.1, reference="c").fit(scores, y, sensitive_features=group)
    report = FairnessReport.from_estimator(fp)
    summary = report.summary
    settings, values = summary["dial"]["settings"], summary["dial"]["values"]
    assert len(settings) > 10
    assert values[summary["dial"]["chosen"]] == fp.strength_
    for place in (*range(1, len(settings), 4), summary["dial"]["chosen"]):
        own = fp.at(values[place])
        each = {one["group"]: one["value"] for one in summary["dial"]["strengths"][place]}
        assert each == pytest.approx(own.strengths_)
        assert words.dial_setting(summary, place) == f"λ: a {each['a']:.2g}, b {each['b']:.2g}"
        new = own.transform(scores, sensitive_features=group)
        assert settings[place]["moved"] == (new != scores).sum()
        assert settings[place]["auc"] == pytest.approx(auc(y, new, ties="half"), abs=1e-12)
    assert summary["after"] == settings[summary["dial"]["chosen"]]
    alike = FairnessReport.from_estimator(FairPOT(0.4, reference="c").fit(scores, y, sensitive_features=group)).summary
    assert alike["dial"]["strengths"] is None
    assert words.dial_setting(alike, alike["dial"]["chosen"]) == "λ = 0.4: the top 40% of a + b"


@pytest.mark.parametrize("names", [(0, 1), (False, True)])
def test_groups_that_are_numbers_are_named_with_their_column(names):
    """The page says "black=1"; the JSON document has the groups as they are."""
    scores, y, group = make_rows(600)
    black = pd.Series(np.where(group == "M", names[1], names[0]), name="black")
    fp = FairPOT(0.5).fit(scores, y, sensitive_features=black)
    report = FairnessReport.from_estimator(fp, scores, y, sensitive_features=black)
    first, second = (f"black={name}" for name in names)
    assert f"The score ranks {second} higher than {first}." in report.to_html()
    assert f"| {first} |" in report.to_markdown()
    assert [each["group"] for each in report.to_dict()["data"]["groups"]] == [str(name) for name in names]
    assert f">{names[1]}<" not in report.to_html()


def test_long_names_are_cut():
    scores, y, group = make_rows(600)
    long = np.where(group == "M", "M" * 50 + " and " + "so on " * 40, "F")
    page = FairnessReport.from_predictions(y, scores, sensitive_features=long).to_html()
    assert "M" * 50 + " and" in page
    assert "so on " * 3 not in page


def test_groups_left_out_of_the_repair(rows):
    scores, y, group = rows
    group = group.copy()
    group[:20] = "few"
    with pytest.warns(UserWarning, match="few"):
        fp = FairPOT(0.5).fit(scores, y, sensitive_features=group, min_group=50)
    summary = FairnessReport.from_estimator(fp).summary
    assert [g["group"] for g in summary["data"]["groups"]] == ["F", "M"]
    assert {"kind": "left_out", "group": "few", "rows": 20} in summary["warnings"]
    assert summary["after"]["auc"] == fp.tradeoff(ties="half").at(0.5).auc


def test_intervals_are_those_of_inference(report):
    table = report.table
    found = report.summary["before"]["intervals"]
    assert found["auc"] == limits(confidence_interval("auc", table))
    assert found["gap"] == found["pair_gap"] == limits(confidence_interval("xauc_gap", table))
    assert found["xauc_lower"] == limits(confidence_interval("xauc", table, positive="F", negative="M"))
    after = table.rescored(report.method.maps_)
    assert report.summary["after"]["intervals"]["auc"] == limits(confidence_interval("auc", after))


def test_calibration_by_group_is_that_of_the_effect(rows):
    scores, y, group = rows
    model = FairPOT(max_gap=0.05, keep="probabilities").fit(scores, y, sensitive_features=group)
    made = FairnessReport.from_estimator(model, scores, y, sensitive_features=group)
    expected = effect(model, scores, y, sensitive_features=group).to_dict()["calibration"]
    assert made.summary["calibration"] == json.loads(json.dumps(expected))
    assert {each["group"] for each in expected} == {"F", "M", None}
    for each in expected:
        bias = each["recalibrated"]["error_in_the_large"]
        chosen = group == each["group"] if each["group"] is not None else np.full(len(y), True)
        after = model.transform(scores, sensitive_features=group)[chosen]
        assert bias["estimate"] == pytest.approx((after - y[chosen]).mean(), abs=1e-12)
        assert bias["low"] < bias["estimate"] < bias["high"]
        for text in (made.to_html(), made.to_markdown()):
            assert f"{each['repaired']['error_by_chance']:.3f}" in text
    assert FairnessReport.from_predictions(y, scores, sensitive_features=group).summary["calibration"] is None


def test_the_band_holds_the_curve(report):
    gaps = np.array([s["signed_gap"] for s in report.summary["dial"]["settings"]])
    low, high = (np.array(report.summary["band"][end]) for end in ("low", "high"))
    assert (low < gaps).all()
    assert (gaps < high).all()
    one = confidence_interval("xauc_gap", report.table)
    assert [low[0], high[0]] == pytest.approx([one.low, one.high], abs=2e-3)


def test_the_limit_and_what_is_within_reach(report, rows):
    scores, y, group = rows
    limit = auc_limit(y, scores, sensitive_features=group, reference="M")
    found = report.summary["limit"]
    assert found["auc"] == pytest.approx(limit.auc_at(found["signed_gap"]).tolist(), abs=1e-12)
    assert found["reachable"] == pytest.approx(limit.reachable_at(found["signed_gap"]).tolist(), abs=1e-12)
    page = report.to_html()
    assert page.count('class="limit"') == 2
    assert "can be expected to reach" in page


def test_a_limit_of_few_rows_says_what_is_not_known(rows):
    scores, y, group = rows
    kept = (group == "M") | (y == 0) | (np.cumsum((group == "F") & (y == 1)) <= 4)
    fp = FairPOT(0.5).fit(scores[kept], y[kept], sensitive_features=group[kept])
    report = FairnessReport.from_estimator(fp)
    assert report.summary["limit"]["reachable"] is None
    page = report.to_html()
    assert page.count('class="limit"') == 1
    assert "How much less is not known: what chance adds to the limit needs 5 rows with the outcome" in page


def limits(interval):
    return [interval.low, interval.high]


@pytest.mark.parametrize(
    ("top", "decimals"), [({}, 2), ({"alpha": 0.3}, 1), ({"alpha": 0.3, "region": "group"}, 6)], ids=str
)
def test_pairs_have_intervals_at_every_setting(top, decimals):
    """Those of an audit of the rows as they are at that setting; with many ties the top may begin at several scores."""
    scores, y, group = make_rows(900, groups=("x", "y", "z"))
    scores = scores.round(decimals)
    given = {"top": 0.3, "repair": "top", "top_of": "group" if "region" in top else "all"} if top else {}
    fp = FairPOT(0.5, **given).fit(scores, y, sensitive_features=group)
    report = FairnessReport.from_estimator(fp)
    values, settings = report.summary["dial"]["values"], report.summary["dial"]["settings"]
    page = report.to_html().replace("\\u2212", "−")
    for place in (0, len(values) // 3, report.summary["dial"]["chosen"], len(values) - 1):
        new = scores if place == 0 else fp.at(values[place]).transform(scores, sensitive_features=group)
        found = audit(y, new, sensitive_features=group, **top).summary
        gaps = found["partial"]["gaps"] if top else found["gaps"]
        known = {(p["first"], p["second"]): [p["signed_gap"], p["signed_low"], p["signed_high"]] for p in gaps}
        pairs = settings[place]["top"]["pairs"] if top else settings[place]["pairs"]
        assert len(pairs) == 3
        for pair in pairs:
            names = pair["first"], pair["second"]
            same = known[names] if names in known else [-each for each in np.array(known[names[::-1]])[[0, 2, 1]]]
            assert [pair["signed_gap"], *pair["limits"]] == pytest.approx(same, abs=1e-9)
            shown = " to ".join(f"{100 * each:.1f}".replace("-", "−") for each in pair["limits"])
            assert f"({shown})" in page
