"""What an effect warns of."""

import json
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest

import fairpot
from fairpot import FairPOT, ScoreMap
from fairpot.inference import verdict
from fairpot.repair.fair_maps import fair_maps
from fairpot.results.calibration import calibrations
from fairpot.table import ScoreTable


def test_lost_calibration_and_a_small_reference_are_said():
    rng = np.random.default_rng(0)
    n = 4000
    sex = np.where(rng.random(n) < 0.04, "F", "M")
    score = rng.beta(2, 6, n)
    y = (rng.random(n) < score).astype(int)
    score = np.where(sex == "F", np.minimum(score * 1.6, 1), score)
    fp = FairPOT(1.0, reference="F").fit(score, y, sensitive_features=sex)
    told = " ".join(fairpot.effect(fp, score, y, sensitive_features=sex).warnings)
    assert "small beside M" in told
    assert "times worse" in told or "is lost" in told


@pytest.mark.parametrize(
    ("was", "now", "said"),
    [
        (0.0, 0.009, None),  # many times worse, but nobody sees it
        (0.0, 0.011, "is lost (0.000 -> 0.011)"),
        (0.002, 0.011, None),
        (0.002, 0.013, "gets 6.5 times worse (0.002 -> 0.013)"),
        (0.02, 0.035, None),  # visibly worse, but not several times
        (0.02, 0.064, "gets 3.2 times worse (0.020 -> 0.064)"),
    ],
)
def test_calibration_that_gets_visibly_and_several_times_worse_is_said(was, now, said):
    """Of ten rows at 0.2 two are positive, of ten at 0.6 six: scores that are too high by so much are off by that."""
    score = np.repeat([0.2, 0.6], 100) + was
    y = np.r_[np.arange(100) % 10 < 2, np.arange(100) % 10 < 6].astype(int)
    rows = {"scores": np.tile(score, 2), "y": np.tile(y, 2), "sensitive_features": np.repeat(["a", "b"], 200)}
    higher = ScoreMap([0.2 + was, 0.6 + was], [0.2 + now, 0.6 + now])
    found = fairpot.effect({"a": ScoreMap.identity(), "b": higher}, **rows)
    told = [text.partition(":")[0] for text in found.warnings if "alibration" in text]
    assert told == ([] if said is None else [f"Calibration of b {said}"])


@pytest.mark.parametrize("groups", [20, 21])
def test_changes_have_intervals_and_more_than_twenty_groups_are_refused(groups):
    rng = np.random.default_rng(0)
    y, group = np.tile([0, 1], 6 * groups), np.repeat(np.arange(groups), 12)
    maps = {g: ScoreMap.identity() for g in range(1, groups)} | {0: ScoreMap([0.0, 1.0], [0.1, 0.9])}
    refused = pytest.raises(ValueError, match="21 groups, and at most 20") if groups > 20 else nullcontext()
    with refused:
        assert fairpot.effect(maps, rng.random(len(y)), y, sensitive_features=group).changes is not None


def rows_of(seed, shift, n=4000):
    rng = np.random.default_rng(seed)
    y, sex = rng.integers(0, 2, n), rng.choice(["F", "M"], n)
    return {"scores": rng.normal(y + shift * (sex == "M")), "y": y, "sensitive_features": sex}


@pytest.mark.parametrize(
    ("shift", "n", "top", "repair", "answer"),
    [
        (0.5, 4000, None, "all", "kept"),
        (1.5, 4000, None, "all", "missed"),
        (0.7, 300, None, "all", "unknown"),
        (0.5, 4000, 0.5, "all", "kept"),
        (2.0, 4000, 0.5, "all", "missed"),
        (0.5, 4000, 0.5, "top", "kept"),
        (2.0, 4000, 0.5, "top", "missed"),
    ],
)
def test_rows_judge_a_certificate_of_other_rows(shift, n, top, repair, answer, tmp_path):
    bound = 0.12 if top is None else 0.2
    part = {} if top is None else {"top": top, "repair": repair}
    sure = FairPOT(max_gap=bound, confidence=0.9, **part).fit(**rows_of(0, 0.5))
    sure.save(tmp_path / "map.json")
    later = rows_of(1, shift, n)
    for model in (sure, fairpot.load(tmp_path / "map.json")):
        found = fairpot.effect(model, **later)
        table = fairpot.score_table(later["y"], later["scores"], sensitive_features=later["sensitive_features"])
        maps = fair_maps(model).maps_on(table)
        if repair == "top":  # what is promised is from a score on, not found again
            table = table.above(fair_maps(model).thresholds_)
        table = table.rescored(maps)
        if top is not None and repair == "all":
            table = table.above(sure.certificate_.starts)
        judged = verdict(table, bound=bound, level=0.9)
        assert {"within": "kept", "exceeds": "missed", "cannot tell": "unknown"}[judged.answer] == answer
        assert (found.statement.state, found.statement.target) == (answer, bound)
        assert found.statement.gap == pytest.approx(judged.interval.value, abs=1e-12)
        told = found.to_dict()
        assert (told["statements"][0]["state"], told["checked"]["certificate"]["bound"]) == (answer, bound)
        assert told["checked"]["certificate"].get("top") == top
        first = str(found).splitlines()[0]
        which = "overall gap"
        if top is not None:
            scored = "scored" if repair == "top" else "with an adjusted score of"
            which = f"gap among people {scored} {sure.certificate_.starts['F']:.4g} or above"
        said = f"with 90% confidence the {which} on rows like these is at most {bound} (tested on 5 cross-fitted folds"
        says = {"kept": "agree with", "missed": "contradict", "unknown": "cannot tell whether"}[answer]
        assert first.startswith(f"These rows {says} the certificate")
        assert f" Certified: {said}" in first
        ends = f"{judged.interval:.3f} (90% interval {judged.interval.low:.3f} to {judged.interval.high:.3f})"
        assert (ends in first) == (answer != "kept")
        assert f"measured {judged.interval:.3f}" in first or answer != "kept"


def test_the_fitted_rows_do_not_judge_a_certificate():
    rows = rows_of(0, 0.5)
    sure = FairPOT(max_gap=0.12, confidence=0.9).fit(**rows)
    found = fairpot.effect(sure, **rows)
    assert found.statement.state == "certified"
    assert found.checked.same_rows
    assert "On the rows it was fitted on, the overall gap is" in found.statement.sentence
    assert fairpot.effect(sure.at(0.3), **rows_of(1, 0.5)).checked.certificate is None


def two_scores(seed: int = 77, size: int = 700):
    """Scores of three sites, with visits of the same people, and what a repair makes of them."""
    rng = np.random.default_rng(seed)
    site, person = rng.choice(["p", "q", "r"], size), rng.integers(0, 200, size)
    y = (rng.random(size) < 0.4).astype(int)
    score = np.round(1 / (1 + np.exp(-rng.normal(y + 0.9 * (site == "p") - 0.5))), 2)
    return y, score, site, person, rng.integers(1, 4, size)


def test_what_is_no_model_is_refused_with_the_way_to_compare_two_scores():
    y, score, site, *_ = two_scores()
    with pytest.raises(TypeError, match=r"effect takes a fitted(.|\n)*audit\(y_true, {'before': ..., 'after': ...}"):
        fairpot.effect(y, score, y, sensitive_features=site)
    with pytest.raises(TypeError, match="sensitive_features goes by its name"):
        fairpot.effect(fairpot.FairPOT(0.7).fit(score, y, sensitive_features=site), score, y, site)


def test_an_effect_knows_intersections_in_any_order():
    y, score, site, person, _ = two_scores()
    both = pd.DataFrame({"site": site, "odd": person % 2})
    model = fairpot.FairPOT(0.7, reference="site=p, odd=0").fit(score, y, sensitive_features=both)
    one = fairpot.effect(model, score, y, sensitive_features=both)
    other = fairpot.effect(model, score, y, sensitive_features=both[["odd", "site"]])
    assert one.after.gap == other.after.gap
    assert {each.group: each.moved for each in one.moves} == {each.group: each.moved for each in other.moves}


def test_the_picture_shows_every_pair_before_and_after():
    plt = pytest.importorskip("matplotlib.pyplot")
    y, score, site, *_ = two_scores()
    model = fairpot.FairPOT(0.7).fit(score, y, sensitive_features=site)
    found = fairpot.effect(model, score, y, sensitive_features=site)
    axes = found.plot()
    assert len(axes.get_yticklabels()) == 3
    assert axes.get_legend_handles_labels()[1] == ["before", "after"]
    pairs = [label.get_text().replace("\n", " ").split(" over ") for label in axes.get_yticklabels()]
    for drawn, numbers in zip(axes.containers, (found.before, found.after), strict=True):
        gaps = [numbers.ranking.pair(*pair).signed_gap for pair in pairs]
        np.testing.assert_allclose(drawn.lines[0].get_xdata(), gaps)
        ends = [bar[:, 0] for bar in drawn.lines[2][0].get_segments()]
        np.testing.assert_allclose(ends, [(gap.low, gap.high) for gap in gaps])
    plt.close("all")


def some_rows(n=3000):
    """Return probabilities that are a little off, outcomes, groups, and clusters of about three rows."""
    rng = np.random.default_rng(8)
    group = np.where(rng.random(n) < 0.3, "b", "a")
    truth = rng.normal(size=n) - 1 - (group == "b")
    y = (rng.random(n) < 1 / (1 + np.exp(-truth))).astype(int)
    return 1 / (1 + np.exp(-1.4 * truth)), y, group, rng.integers(0, n // 3, n)


def test_mean_score_minus_rate_has_the_interval_of_a_mean():
    """Of rows, of rows with weights, and of clusters, each by its plain formula."""
    p, y, group, patient = some_rows()
    mine, off = group == "b", p - y
    weight = np.random.default_rng(1).random(len(p))
    for columns, w in (
        ({}, np.ones(len(p))),
        ({"sample_weight": weight}, weight),
        ({"clusters": patient}, np.ones(len(p))),
    ):
        found = fairpot.audit(y, p, sensitive_features=group, **columns).ranking.groups[1].calibration
        bias = found.error_in_the_large
        mean = np.average(off[mine], weights=w[mine])
        parts = w[mine] * (off[mine] - mean)
        if "clusters" in columns:
            parts = pd.Series(parts).groupby(patient[mine]).sum().to_numpy()
        size = w[mine].sum() ** 2 / (w[mine] ** 2).sum() if "sample_weight" in columns else len(parts)
        se = np.sqrt((parts**2).sum() * size / (size - 1)) / w[mine].sum()
        assert (bias, bias.se) == (pytest.approx(mean), pytest.approx(se))
        assert (bias.low, bias.high) == (pytest.approx(mean - 1.959964 * se), pytest.approx(mean + 1.959964 * se))


def test_the_error_by_chance_is_that_of_right_scores():
    p, _, _, _ = some_rows(800)
    rng = np.random.default_rng(2)
    drawn = []
    for _ in range(300):
        y = (rng.random(len(p)) < p).astype(np.int8)
        drawn.append(calibrations(ScoreTable.from_rows(p, y))[1])
    mean = np.mean([each.expected_calibration_error for each in drawn])
    assert drawn[0].error_by_chance == pytest.approx(mean, rel=0.06)


def test_what_makes_probabilities_again_is_said_with_how_far_they_are_off():
    p, y, group, _ = some_rows()
    made = fairpot.LogitShift(max_gap=0.03, keep="probabilities").fit(p, y, sensitive_features=group)
    found = fairpot.effect(made, p, y, sensitive_features=group)
    plain = fairpot.effect(
        fairpot.LogitShift(max_gap=0.03).fit(p, y, sensitive_features=group), p, y, sensitive_features=group
    )
    assert (found.calibrated, plain.calibrated) == (True, False)
    assert abs(found.after.calibration.error_in_the_large) < 1e-4
    assert "right as a whole, not in each group" in str(found)
    for own in found.after.ranking.groups:
        assert f"{own.calibration.error_in_the_large:+.3f} for {own.group} (" in str(found)
    assert "right as a whole" not in str(plain)
    assert found.moves == plain.moves
    document = json.loads(json.dumps(found.to_dict()))
    assert document["calibrated"] is True
    assert document["after"]["groups"][1]["calibration"]["error_in_the_large_low"] < 0.2
    assert (found.after.auc, found.after.gap) == (plain.after.auc, plain.after.gap)


def test_low_scores_that_mean_high_risk_are_calibrated_as_risks():
    p, y, group, _ = some_rows()
    one = fairpot.audit(fairpot.score_table(y, p, sensitive_features=group)).calibration
    other = fairpot.audit(fairpot.score_table(y, 1 - p, sensitive_features=group, lower_is_riskier=True)).calibration
    for key in ("error_in_the_large", "expected_calibration_error", "error_by_chance"):
        assert getattr(one, key) == pytest.approx(getattr(other, key), abs=1e-9)


@pytest.mark.parametrize("repair", ["all", "top"])
def test_so_many_rows_are_those_of_the_groups_that_are_compared(repair, tmp_path):
    """A group that is left out has no part in the top of 500 rows: the effect speaks of the gap that was bounded."""
    rows = rows_of(3, 0.8, 2000)
    rows["sensitive_features"] = np.where(np.arange(2000) < 600, "X", rows["sensitive_features"])
    fp = FairPOT(max_gap=0.1, top=500, repair=repair).fit(**rows, groups=["F", "M"])
    fp.save(tmp_path / "map.json")
    for model in (fp, fairpot.load(tmp_path / "map.json")):
        found = fairpot.effect(model, **rows)
        assert found.statement.top == 500
        assert found.after.tops[0].gap == pytest.approx(fp.achieved_.gap_top, abs=1e-12)
        assert found.after.tops[0].gap <= 0.1 < found.before.tops[0].gap
