"""What the report says against the Python API, at ten settings of the dial."""

import importlib
import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_curve

from display_cases import make_rows
from fairpot import FairPOT, ScoreTable, audit, effect, score_table
from fairpot.exceptions import FairpotWarning
from fairpot.inference import confidence_interval
from fairpot.methods import OptimalMerge, WassersteinRepair
from fairpot.metrics import auc, xauc, xauc_gap
from fairpot.repair.registry import methods
from fairpot.report import FairnessReport
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
        found = report.content.dial.settings[place]
        new = scores_at(fitted, rows, found.value)
        assert found.all.auc == curve.at(found.value or 0.0).auc
        assert found.all.auc == pytest.approx(auc(y, new, ties="half"), abs=1e-12)
        assert found.all.gap == pytest.approx(xauc_gap(y, new, sensitive_features=group, ties="half"), abs=1e-12)
        pair = found.all.pair("M", "F")
        for value, g, h in ((pair.xauc_first, "M", "F"), (pair.xauc_second, "F", "M")):
            expected = xauc(y, new, sensitive_features=group, positive=g, negative=h, ties="half")
            assert value == pytest.approx(expected, abs=1e-12)
        assert pair.signed_gap == pytest.approx(pair.xauc_first - pair.xauc_second, abs=1e-12)
        assert found.all.auc.low < found.all.auc < found.all.auc.high
        assert pair.xauc_first.low < pair.xauc_first < pair.xauc_first.high


def test_people_are_those_of_the_rows(report, fitted, rows, places):
    scores, y, group = rows
    for place in places:
        found, drawn = report.content.dial.settings[place], report._measured.pictures[place]
        new = scores_at(fitted, rows, found.value)
        assert found.moved == (new != scores).sum()
        for t, up, down in zip(report._measured.lines.thresholds, drawn.up.rows, drawn.down.rows):
            for g, name in enumerate(("F", "M")):
                for k, outcome in enumerate((1, 0)):
                    own = (group == name) & (y == outcome)
                    assert up[g, k] == ((scores < t) & (new >= t))[own].sum()
                    assert down[g, k] == ((scores >= t) & (new < t))[own].sum()


def test_the_reported_setting_is_the_fitted_one(report, fitted):
    dial = report.content.dial
    assert dial.settings[dial.chosen].value == fitted.lam_
    assert report.content.chosen is dial.settings[dial.chosen]
    assert dial.settings[0].value is None
    assert dial.settings[0].moved == 0
    assert report.audit.statement.pair == ("M", "F")
    assert report.content.method.moved == ("F",)


def test_one_number_has_one_interval(report, rows, fitted):
    """Headline, forest, tables, Markdown, notebook and JSON show the estimates of audit and effect."""
    scores, y, group = rows
    known = effect(fitted, scores, y, sensitive_features=group, threshold=0.5)
    plain = json.loads(json.dumps(known.to_dict()))
    written = json.loads(report.to_json())
    for name in ("statements", "before", "after", "changes", "moves", "actions", "checked"):
        assert written[name] == plain[name]
    kinds = [note["kind"] for note in (*plain["notes"], *plain["before"]["notes"])]
    assert [note["kind"] for note in written["notes"]] == kinds
    for place, audited in ((0, report.audit), (report.content.dial.chosen, report.effect.after)):
        setting = report.content.dial.settings[place]
        assert setting.all.gap == audited.ranking.widest
        assert setting.all.gaps is audited.ranking.gaps
    gap = known.before.gap
    ends = [f"{each:.3f}" for each in (gap, gap.low, gap.high)]
    html = report.to_html()
    for text in (html, report.to_markdown()):
        assert known.statement.sentence in text
    assert "<b>{}</b> ({} to {})".format(*ends) in html
    assert f"overall gap {gap:.3f} (95% interval {gap.low:.3f} to {gap.high:.3f})" in report.audit._repr_html_()
    assert report._repr_html_() == report.effect._repr_html_()


def test_an_audit_is_measured_once_and_a_repair_is_one_effect(monkeypatch, rows, fitted):
    calls = []

    def traced(path, name):
        module = importlib.import_module(path)
        own = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *a, **k: (calls.append(name), own(*a, **k))[1])

    traced("fairpot.results.audit", "rank")
    traced("fairpot.report.report", "effect")
    traced("fairpot.results.effect", "change_by_maps")
    scores, y, group = rows
    for method, expected in ((None, ["rank"]), (fitted, ["effect", "rank", "rank", "change_by_maps"])):
        calls.clear()
        made = FairnessReport.from_predictions(y, scores, sensitive_features=group, method=method)
        made.to_html(), made.to_json(), made.to_markdown(), made._repr_html_()
        assert calls == expected


def test_the_cross_group_curve_has_true_steps_and_ends_in_the_corner(report, rows):
    """Every corner that is drawn is a corner of scikit-learn's curve; few rows have them all."""
    scores, y, group = rows
    new = report.method.transform(scores, sensitive_features=group)
    for (x, rate), (first, second) in zip(report._measured.pictures[report.content.dial.chosen].roc, ("MF", "FM")):
        own = ((group == first) & (y == 1)) | ((group == second) & (y == 0))
        exact = set(zip(*(np.round(each, 12) for each in roc_curve(y[own], new[own], drop_intermediate=False)[:2])))
        drawn = list(zip(np.round(x, 12), np.round(rate, 12)))
        assert drawn[0] == (0, 0)
        assert drawn[-1] == (1, 1)
        assert set(drawn) <= exact
    few = FairnessReport.from_predictions(y[:60], scores[:60], sensitive_features=group[:60])
    x, rate = few._measured.pictures[0].roc[0]
    own = ((group == "M") & (y == 1) | (group == "F") & (y == 0))[:60]
    exact = roc_curve(y[:60][own], scores[:60][own])[:2]
    if few.audit.ranking.leading.first == "F":
        own = ((group == "F") & (y == 1) | (group == "M") & (y == 0))[:60]
        exact = roc_curve(y[:60][own], scores[:60][own])[:2]
    assert np.trapezoid(rate, x) == pytest.approx(np.trapezoid(exact[1], exact[0]), abs=1e-12)


def test_a_dial_without_an_exact_curve(rows):
    scores, y, group = rows
    repair = WassersteinRepair(t=0.63).fit(scores, y, sensitive_features=group)
    content = FairnessReport(repair.table_, repair).content
    curve = repair.tradeoff(ties="half")
    for found in content.dial.settings[1::12]:
        assert found.all.auc == pytest.approx(curve.at(found.value).auc, abs=1e-12)
    assert content.chosen.value == 0.63
    assert content.before.auc == pytest.approx(auc(y, scores, ties="half"), abs=1e-12)


def test_more_groups():
    scores, y, group = make_rows(1500, ("a", "b", "c", "d", "e"))
    fp = FairPOT(0.4, ties="half").fit(scores, y, sensitive_features=group)
    content = FairnessReport(fp.table_, fp).content
    new = fp.transform(scores, sensitive_features=group)
    after = content.chosen.all
    assert after.gap == pytest.approx(xauc_gap(y, new, sensitive_features=group, ties="half"), abs=1e-12)
    assert len(after.gaps) == 10
    for pair in after.gaps:
        options = {"positive": pair.first, "negative": pair.second, "ties": "half"}
        assert pair.xauc_first == pytest.approx(xauc(y, new, sensitive_features=group, **options), abs=1e-12)


@pytest.mark.parametrize("repair", ["all", "top"])
def test_a_repair_of_the_top(rows, repair):
    """Every setting of the slider has the gap and the AUC of the top of its own scores, and the picture has them."""
    scores, y, group = rows
    fp = FairPOT(0.6, top=0.3, repair=repair, ties="half").fit(scores, y, sensitive_features=group)
    report = FairnessReport(fp.table_, fp)
    content = report.content
    curve = fp.tradeoff(ties="half", lams=[0.6])
    assert content.chosen.top.gap == pytest.approx(curve.at(0.6).gap, abs=1e-12)
    assert content.chosen.all.auc == pytest.approx(curve.at(0.6).auc, abs=1e-12)
    settings = content.dial.settings
    for place in (1, len(settings) // 2, len(settings) - 1):
        new = fp.at(settings[place].value).transform(scores, sensitive_features=group)
        known = {"top": 0.3, "ties": "half"}
        gap = xauc_gap(y, new, sensitive_features=group, **known)
        assert settings[place].top.gap == pytest.approx(gap, abs=1e-12)
        assert settings[place].top.auc == pytest.approx(auc(y, new, **known), abs=1e-12)
        assert settings[place].all.auc == pytest.approx(auc(y, new, ties="half"), abs=1e-12)
    shown = report.figures["tradeoff"].moving["tradeoff"]
    order = np.argsort([each.all.auc for each in settings], kind="stable")
    assert (np.diff(np.array(shown["cy"])[order]) <= 1e-9).all()  # AUC of all rows, upwards
    top = {"top": 0.3, "sensitive_features": group, "ties": "half"}
    assert settings[0].top.auc == pytest.approx(auc(y, scores, **top), abs=1e-12)
    new = fp.transform(scores, sensitive_features=group)
    assert content.chosen.all.auc == pytest.approx(auc(y, new, ties="half"), abs=1e-12)
    assert content.chosen.moved == (new != scores).sum()


def test_an_audit_alone(rows):
    scores, y, group = rows
    content = FairnessReport.from_predictions(y, scores, sensitive_features=group).content
    assert content.method is None
    assert content.after is None
    assert len(content.dial.settings) == 1
    assert content.before.auc == pytest.approx(auc(y, scores, ties="half"), abs=1e-12)


@pytest.mark.parametrize("top_of", ["all", "group"])
def test_an_audit_of_the_top_is_about_it(rows, top_of):
    scores, y, group = rows
    made = FairnessReport.from_predictions(y, scores, sensitive_features=group, top=0.3, top_of=top_of)
    known = audit(y, scores, sensitive_features=group, top=0.3, top_of=top_of)
    assert made.audit.to_dict() == known.to_dict()
    assert made.audit.told.top_of == top_of
    other = FairnessReport.from_predictions(y, scores, sensitive_features=group, top=0.3, top_of="group")
    assert (made.audit.told.gap == other.audit.told.gap) == (top_of == "group")
    assert "How large is the gap in the top 30%" in made.to_html()


def test_very_many_scores_are_counted_in_bins_where_the_page_says_so(monkeypatch, rows):
    scores, y, group = rows
    fine = scores + np.random.default_rng(0).random(len(scores)) * 1e-4
    fp = FairPOT(0.5, ties="half").fit(fine, y, sensitive_features=group)
    exact = FairnessReport(fp.table_, fp)
    assert exact.to_html() == FairnessReport(fp.table_, fp).to_html()
    assert "about right" not in exact.to_html()
    monkeypatch.setattr(measuring, "MOST_ENTRIES", 500)
    monkeypatch.setattr(measuring, "COARSE_BINS", 400)
    coarse = FairnessReport(fp.table_, fp)
    assert "coarse" in [note.kind for note in coarse.notes]
    assert "counts are about right" in coarse.to_html()
    assert coarse.content.before.ranking.rows == len(fine)
    assert coarse.content.lines == exact.content.lines  # at the reported setting everybody is counted
    assert coarse.content.chosen == exact.content.chosen
    for line in coarse.content.lines:
        if line.top is not None:
            assert sum(each.above for each in line.crossings) == sum(each.now for each in line.crossings)
    slack = 2 * len(fine) / 400 + 2  # two bins, and a row at each edge
    for one, other in zip(coarse._measured.pictures, exact._measured.pictures):
        np.testing.assert_allclose(one.up, other.up, atol=slack)
    for one, other in zip(coarse.content.dial.settings, exact.content.dial.settings):
        assert one.moved == other.moved
        np.testing.assert_allclose([one.all.auc, one.all.gap], [other.all.auc, other.all.gap], atol=2 / 400)


def test_json_is_what_was_measured(report):
    assert json.loads(report.to_json()) == report.to_dict()


def test_json_has_no_rows_of_people():
    """Nothing in it is as long as the data, or as the list of distinct scores."""

    def longest(value):
        if isinstance(value, dict):
            return max(map(longest, value.values()), default=0)
        if isinstance(value, list):
            return max([len(value), *map(longest, value)])
        return 0

    big = FairnessReport(_many(20_000))
    assert longest(big.to_dict()) < 600
    assert sum(len(c.score) for c in big.table.counts) > 10_000


def _many(n):
    scores, y, group = make_rows(n)
    scores = scores + np.random.default_rng(0).random(n) * 1e-5
    return ScoreTable.from_rows(scores, y, (group == "M").astype(int), ("F", "M"))


@pytest.mark.parametrize("name", methods())
def test_every_method_has_a_report(name):
    scores, y, group = make_rows(300)
    method = methods()[name]().fit(scores, y, sensitive_features=group)
    report = FairnessReport(method.table_, method)
    new = method.transform(scores, sensitive_features=group)
    after = report.content.chosen
    assert after.all.auc == pytest.approx(auc(y, new, ties="half"), abs=1e-12)
    assert after.all.gap == pytest.approx(xauc_gap(y, new, sensitive_features=group, ties="half"), abs=1e-12)
    assert after.moved == (new != scores).sum()
    values = [each.value for each in report.content.dial.settings]
    assert len(values) > 5
    assert values[1:] == sorted(values[1:])
    assert "tradeoff" in report.figures


def test_groups_with_their_own_strengths_have_a_slider():
    _, _, group = make_rows(900, ("a", "b", "c"))
    rng = np.random.default_rng(0)
    rate = np.array([0.2, 0.4, 0.6])[np.searchsorted(["a", "b", "c"], group)]
    y = (rng.random(900) < rate).astype(int)
    scores = rng.normal(y + np.log(rate / (1 - rate))).round(3)  # a repair costs AUC
    fp = FairPOT(max_gap=0.1, reference="c").fit(scores, y, sensitive_features=group)
    report = FairnessReport(fp.table_, fp)
    content = report.content
    dial = content.dial
    assert len(dial.settings) > 10
    assert content.chosen.value == fp.strength_
    for place in (*range(1, len(dial.settings), 4), dial.chosen):
        found = dial.settings[place]
        own = fp.at(found.value)
        each = {one.group: one.value for one in found.strengths}
        assert each == pytest.approx(own.strengths_)
        assert report._view.setting(place) == f"λ: a {each['a']:.2g}, b {each['b']:.2g}"
        new = own.transform(scores, sensitive_features=group)
        assert found.moved == (new != scores).sum()
        assert found.all.auc == pytest.approx(auc(y, new, ties="half"), abs=1e-12)
    fp = FairPOT(0.4, reference="c").fit(scores, y, sensitive_features=group)
    alike = FairnessReport(fp.table_, fp)
    assert alike.content.chosen.strengths is None
    assert alike._view.setting(alike.content.dial.chosen) == "λ = 0.4: the top 40% of a + b"


@pytest.mark.parametrize("names", [(0, 1), (False, True)])
def test_groups_that_are_numbers_are_named_with_their_column(names):
    """The page says "black=1"; the JSON document has the groups as they are."""
    scores, y, group = make_rows(600)
    black = pd.Series(np.where(group == "M", names[1], names[0]), name="black")
    fp = FairPOT(0.5).fit(scores, y, sensitive_features=black)
    report = FairnessReport.from_predictions(y, scores, sensitive_features=black, method=fp)
    first, second = (f"black={name}" for name in names)
    assert f"The score ranks {second} higher than {first}: overall gap" in report.to_html()
    assert f"| {first} |" in report.to_markdown()
    written = json.loads(report.to_json())
    assert [each["group"] for each in written["before"]["groups"]] == list(names)
    assert [each["group"] for each in written["dial"]["settings"][1]["groups"]] == list(names)
    assert written["statements"][0]["ranked_higher"] is names[1]
    assert f">{names[1]}<" not in report.to_html()


def test_long_names_are_cut():
    scores, y, group = make_rows(600)
    long = np.where(group == "M", "M" * 50 + " and " + "so on " * 40, "F")
    page = FairnessReport.from_predictions(y, scores, sensitive_features=long).to_html()
    headline = page[page.index('id="finding"') :].partition("</h2>")[0]
    assert "M" * 20 in headline
    assert "so on</" not in headline
    assert page.count("M" * 50) == 1  # at the end of the page, so that the name can be looked up
    assert page.index("M" * 50) > page.index('id="origin"')


def test_names_that_begin_and_end_alike_stay_apart():
    names = tuple(
        f"people of the {where} half of the top_of who were seen" for where in ("northern", "southern", "other")
    )
    scores, y, group = make_rows(600, names)
    made = FairnessReport.from_predictions(y, scores, sensitive_features=group)
    page = made.to_html()
    heads = re.findall(r'<h4 class="name[^>]*>([^<]*)</h4>', page)
    assert len(heads) == len(set(heads)) == 3
    assert max(map(len, heads)) < len(names[0])
    first, second = re.findall(r"<span>(people of[^<]*) over (people of[^<]*)</span>", page)[0]
    assert first != second


def test_groups_left_out_of_the_repair(rows):
    scores, y, group = rows
    group = group.copy()
    group[:20] = "few"
    with pytest.warns(UserWarning, match="few"):
        fp = FairPOT(0.5).fit(scores, y, sensitive_features=group, min_group=50)
    report = FairnessReport(fp.table_, fp)
    assert [g.group for g in report.audit.ranking.groups] == ["F", "M"]
    assert ("few", 20) in [(note.group, note.value) for note in report.notes if note.kind == "left out"]
    assert report.content.chosen.all.auc == fp.tradeoff(ties="half").at(0.5).auc


def test_intervals_are_those_of_inference(report):
    table, before, after = report.table, report.content.before, report.content.after
    assert limits(before.auc) == limits(confidence_interval("auc", table))
    assert limits(before.gap) == limits(confidence_interval("xauc_gap", table))
    pair = before.ranking.pair("F", "M")
    assert limits(pair.xauc_first) == limits(confidence_interval("xauc", table, positive="F", negative="M"))
    assert limits(after.auc) == limits(confidence_interval("auc", table.rescored(report.method.maps_)))


def test_calibration_by_group_is_that_of_the_adjusted_scores(rows):
    scores, y, group = rows
    model = FairPOT(max_gap=0.05, keep="probabilities").fit(scores, y, sensitive_features=group)
    made = FairnessReport.from_predictions(y, scores, sensitive_features=group, method=model)
    assert made.to_dict()["after"] == effect(model, scores, y, sensitive_features=group).to_dict()["after"]
    for each in made.content.after.ranking.groups:
        bias, chosen = each.calibration.error_in_the_large, group == each.group
        after = model.transform(scores, sensitive_features=group)[chosen]
        assert bias == pytest.approx((after - y[chosen]).mean(), abs=1e-12)
        assert bias.low < bias < bias.high
        for text in (made.to_html(), made.to_markdown()):
            assert f"{bias:.3f}".removeprefix("-") in text


def test_lost_calibration_is_judged_once(rows):
    scores, y, group = rows
    fp = FairPOT(1.0).fit(scores, y, sensitive_features=group)
    made = FairnessReport(fp.table_, fp)
    known = effect(fp, scores, y, sensitive_features=group).notes
    lost = [note for note in made.notes if note.kind == "calibration lost"]
    assert lost == [note for note in known if note.kind == "calibration lost"]
    was, now = ([g.expected_calibration_error for g in made.content.dial.settings[k].groups] for k in (0, -1))
    worse = [n >= 2 * w and n - w >= 0.01 for w, n in zip(was, now)]
    assert [note.group for note in lost] == [g for g, each in zip("FM", worse) if each]


def test_original_scores_without_a_strength_of_their_own():
    """Where no strength on the common way changes nothing, the curve has the original scores beside it, without one."""
    rng = np.random.default_rng(2)
    group = rng.integers(0, 5, 300)
    risk = rng.normal(size=300) + 0.4 * group
    y = (rng.random(300) < 1 / (1 + np.exp(0.8 - 1.2 * risk))).astype(int)
    scores = np.round(1 / (1 + np.exp(-risk - 0.6 * rng.normal(size=300))), 1)
    with pytest.warns(FairpotWarning):
        model = OptimalMerge(top=0.3).fit(scores, y, sensitive_features=group)
    curve = model.tradeoff(model.table_)
    assert np.isnan(curve.lam[-1])
    assert curve.at(model.strength_).lam == model.strength_
    values = [each.value for each in FairnessReport(model.table_, model).content.dial.settings]
    assert values[0] is None
    assert values[1:] == sorted(values[1:])
    assert model.strength_ in values


def test_the_band_holds_the_curve(report):
    pairs = [s.all.pair("M", "F").signed_gap for s in report.content.dial.settings]
    assert all(gap.low < gap < gap.high for gap in pairs)
    one = confidence_interval("xauc_gap", report.table)
    assert (pairs[0].low, pairs[0].high) == (one.low, one.high)
    assert (pairs[1].low, pairs[1].high) == pytest.approx((one.low, one.high), abs=5e-3)  # and it does not jump
    assert 'class="band"' in report.to_html()


def test_the_limit(report, rows):
    scores, y, group = rows
    limit = auc_limit(y, scores, sensitive_features=group, reference="M")
    found = report.content.limit
    assert found.auc == pytest.approx(limit.auc_at(np.array(found.gap)).tolist(), abs=1e-12)
    page = report.to_html()
    assert page.count('class="limit"') == 1
    assert "can be above it on these rows" in page


def limits(interval):
    return [interval.low, interval.high]


@pytest.mark.parametrize(
    ("top", "decimals"), [({}, 2), ({"top": 0.3}, 1), ({"top": 0.3, "top_of": "group"}, 6)], ids=str
)
def test_pairs_have_intervals_at_every_setting(top, decimals):
    """Those of an audit of the rows as they are at that setting; with many ties the top may begin at several scores."""
    scores, y, group = make_rows(900, groups=("x", "y", "z"))
    scores = scores.round(decimals)
    given = {"top": 0.3, "repair": "top", "top_of": "group" if "top_of" in top else "all"} if top else {}
    fp = FairPOT(0.5, **given).fit(scores, y, sensitive_features=group)
    report = FairnessReport(fp.table_, fp)
    settings = report.content.dial.settings
    page = report.to_html()
    for place in (0, len(settings) // 3, report.content.dial.chosen, len(settings) - 1):
        found = settings[place]
        new = scores if place == 0 else fp.at(found.value).transform(scores, sensitive_features=group)
        known = audit(y, new, sensitive_features=group, **top).told
        assert numbers(found.told.auc) == pytest.approx(numbers(known.auc), abs=1e-5)
        assert numbers(found.told.gap) == pytest.approx(numbers(known.widest), abs=1e-9)
        assert found.told.gap.groups == known.widest.groups
        assert len(found.told.gaps) == 3
        for pair in found.told.gaps:
            same = known.pair(pair.first, pair.second)
            for name in ("signed_gap", "xauc_first", "xauc_second"):
                assert numbers(getattr(pair, name)) == pytest.approx(numbers(getattr(same, name)), abs=1e-9)
            first = report.content.before.told.pair(pair.first, pair.second)
            shown = pair.signed_gap if first.signed_gap >= 0 else pair.signed_gap.reversed()
            written = " to ".join(f"{round(each, 3) + 0.0:.3f}" for each in (shown.low, shown.high))
            assert f"({written})" in page


def numbers(found):
    return [float(found), found.low, found.high]


@pytest.mark.parametrize("method", [None, FairPOT(0.5)], ids=["audit", "repair"])
def test_low_scores_that_mean_high_risk_are_shown_as_they_are(rows, method):
    """Credit scores: no page, JSON or Markdown shows them with a minus; flagged is who has the threshold or less."""
    scores, y, group = rows
    credit = 850 - 500 * scores
    table = score_table(y, credit, sensitive_features=group, lower_is_riskier=True)
    fitted = method and method.fit(table)
    made = FairnessReport(table, fitted, threshold=600)
    line = made.content.line
    assert line.threshold == 600
    for each in line.crossings:
        own = (group == each.group) & (y == each.positive)
        assert each.above == (credit[own] <= 600).sum()
    html = made.to_html()
    assert "Who has a score of 600 or less?" in html
    assert "score 600 and below" in html
    assert "from a score down" in html
    assert made._measured.edges[0] <= credit.min() + 1e-9 <= credit.max() - 1e-9 <= made._measured.edges[-1]
    assert made._measured.grid[[0, -1]].tolist() == pytest.approx([credit.min(), credit.max()])
    assert all(each.threshold is None or each.threshold > 0 for each in made.content.lines)
    assert made.to_dict()["before"]["score_range"] == [credit.min(), credit.max()]
    assert not re.search(
        r"[-−][3-8]\d\d\b", re.sub(r"<(script|style).*?</\1>|\bd=\"[^\"]*\"", "", html, flags=re.DOTALL)
    )
    if fitted is not None:
        new = fitted.transform(credit, sensitive_features=group)
        i = int(np.argmin(np.abs(made._measured.grid - 600)))
        moved = made._measured.drawn.index(made.table.groups.index(made.content.method.moved[0]))
        at = np.full(2, made._measured.grid[i])
        shown = made._measured.pictures[made.content.dial.chosen].mapped[moved, i]
        assert shown == pytest.approx(fitted.transform(at, sensitive_features=[made.content.method.moved[0]] * 2)[0])
        assert made.content.chosen.moved == (new != credit).sum()
    shares = made._measured.pictures[0].histogram[0, 0]
    own = credit[(group == made.table.groups[made._measured.drawn[0]]) & (y == 1)]
    middles = (made._measured.edges[1:] + made._measured.edges[:-1]) / 2
    assert float(shares @ middles) == pytest.approx(own.mean(), abs=np.diff(made._measured.edges).max())
