"""Rates by group and between groups in an audit, with and without outcomes."""

import duckdb
import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest
from scipy import stats

import fairpot
from fairpot import score_table
from fairpot.metrics import RATES


def draw(n=900, seed=0, groups="abc"):
    rng = np.random.default_rng(seed)
    g = rng.choice(list(groups), n)
    s = np.round(np.clip(rng.beta(2, 3, n) + 0.05 * (g == "a"), 0.01, 0.99), 3)
    return (rng.random(n) < s).astype(int), s, g


def test_every_rate_of_the_registry_is_in_the_frame_with_its_comparisons():
    y, s, g = draw()
    found = fairpot.audit(y, s, sensitive_features=g, threshold=0.4, reference="b").frame("rates")
    assert set(found["rate"]) == set(RATES)
    for name, own in found.groupby("rate"):
        own = own.set_index("group")
        best = own.drop("all")["value"].idxmax()
        assert pd.isna(own.loc[best, "difference"])
        for group in set("abc") - {best}:
            assert own.loc[group, "difference"] == pytest.approx(own.loc[group, "value"] - own.loc[best, "value"])
        for group in "ac":
            value = own.loc[group, "value"], own.loc["b", "value"]
            assert own.loc[group, "difference_to_reference"] == pytest.approx(value[0] - value[1])
            if RATES[name].scale != "free":
                assert own.loc[group, "ratio_to_reference"] == pytest.approx(value[0] / value[1])
                assert own.loc[group, "ratio_to_reference_low"] < own.loc[group, "ratio_to_reference_high"]


def test_without_a_cut_the_top_tenth_is_looked_at():
    y, s, g = draw()
    found = fairpot.audit(y, s, sensitive_features=g)
    assert [(each.at, each.top) for each in found.rates] == [("top", 0.1), ("all", None)]
    assert found.rates_asked == ()


@pytest.mark.parametrize("given", [{}, {"weighted": True}, {"clustered": True}])
def test_an_audit_without_outcomes_has_the_same_selection_rates_and_scores(given):
    y, s, g = draw(groups="abcde")
    rows = {"sensitive_features": g, "threshold": 0.4, "top": [0.2]}
    rng = np.random.default_rng(1)
    if "weighted" in given:
        rows["sample_weight"] = rng.exponential(size=len(y))
    if "clustered" in given:
        rows["clusters"] = rng.integers(0, 200, len(y))
    blind, full = fairpot.audit(None, s, **rows), fairpot.audit(y, s, **rows, reference="a")
    assert not blind.ranking.labelled
    assert blind.auc is blind.gap is blind.calibration is blind.reference is None
    assert blind.ranking.positives is blind.ranking.groups[0].positives is None
    for one, two in zip(blind.rates, full.rates):
        for rate in one.rates:
            for mine, its in zip((*rate.groups, rate.all), (*two[rate.rate].groups, two[rate.rate].all)):
                np.testing.assert_allclose(
                    [mine.value.low, mine.value, mine.value.high], [its.value.low, its.value, its.value.high], rtol=1e-9
                )
                assert (mine.hits, mine.rows) == (its.hits, its.rows)
    assert [each.mean for each in blind.scores] == pytest.approx([each.mean for each in full.scores])


def test_what_needs_outcomes_is_left_out_and_one_line_says_why():
    _, s, g = draw()
    found = fairpot.audit(None, s, sensitive_features=g)
    text = str(found)
    assert text.count("Outcomes are not known") == 1
    assert "with the outcome" not in text
    assert "AUC" not in text.replace("Outcomes are not known, so AUC, xAUC", "")
    assert found._repr_html_().count("Outcomes are not known") == 1
    assert found.frame("pairs").empty
    assert found.statement.state == "no outcomes"
    assert {each.rate for rates in found.rates for each in rates.rates} == {"selection_rate", "mean_score"}
    with pytest.raises(ValueError, match="needs outcomes"):
        fairpot.audit(None, s, sensitive_features=g, ties="strict")


def test_groups_are_called_as_people_call_them():
    _, s, g = draw()
    frame = pd.DataFrame({"s": s, "black": (g == "a").astype(int)})
    found = fairpot.audit(fairpot.score_table(frame, score="s", group="black"))
    assert "black=0" in found.answer[0]
    assert {each.group for each in found.spoken.rates[0]["selection_rate"].groups} == {"black=0", "black=1"}
    assert {each.group for each in found.rates[0]["selection_rate"].groups} == {0, 1}


@pytest.mark.parametrize("kind", ["csv", "parquet", "pandas", "polars", "pyarrow", "duckdb"])
def test_rows_of_any_kind_are_audited_without_outcomes(kind, tmp_path):
    _, s, g = draw()
    frame = pd.DataFrame({"score": s, "group": g})
    frame.to_csv(tmp_path / "pool.csv", index=False)
    frame.to_parquet(tmp_path / "pool.parquet", index=False)
    made = {
        "csv": lambda: tmp_path / "pool.csv",
        "parquet": lambda: tmp_path / "pool.parquet",
        "pandas": lambda: frame,
        "polars": lambda: polars.from_pandas(frame),
        "pyarrow": lambda: pyarrow.Table.from_pandas(frame),
        "duckdb": lambda: duckdb.from_df(frame),
    }[kind]()
    found = fairpot.audit(fairpot.score_table(made, score="score", group="group"), threshold=0.4)
    own = fairpot.audit(None, s, sensitive_features=g, threshold=0.4)
    assert found.to_dict()["rates"] == own.to_dict()["rates"]
    assert found.to_dict()["scores"] == own.to_dict()["scores"]


def test_a_ratio_is_within_below_or_cannot_be_told():
    rng = np.random.default_rng(2)
    g, u = np.repeat(["a", "b"], 4000), rng.random(8000)
    for rate, answer in ((0.5, "within"), (0.3, "below"), (0.41, "cannot tell")):
        s = np.where(g == "a", u < 0.5, u < rate).astype(float) + 0.001 * rng.random(8000)
        found = fairpot.audit(None, s, sensitive_features=g, threshold=0.5).ratio_verdict(0.8)
        assert found.answer == answer
        assert (found.lowest, found.highest) == ("b", "a") or rate == 0.5
        assert str(found.bound) in str(found)
        assert found.to_dict()["ratio_low"] < found.ratio < found.ratio.high


def test_a_group_of_which_nobody_is_selected_is_shown_to_be_below():
    rng = np.random.default_rng(8)
    g, s = np.repeat(["a", "b"], 200), np.concatenate((rng.random(200), 0.4 * rng.random(200)))
    found = fairpot.audit(None, s, sensitive_features=g, threshold=0.6).ratio_verdict(0.8)
    assert (found.answer, found.ratio.low, float(found.ratio)) == ("below", 0.0, 0.0)
    assert 0.03 < found.ratio.high < 0.08  # about 3.7 / 200, by the rule of three, beside 0.4
    assert found.to_dict()["ratio_se"] is None
    of_ten = fairpot.audit(None, np.r_[s[:40], s[200:210]], sensitive_features=np.r_[g[:40], g[200:210]], threshold=0.6)
    assert of_ten.ratio_verdict(0.8).answer == "cannot tell"


def test_groups_of_equal_rates_are_as_rarely_shown_to_differ_as_verdicts_say():
    """Either group may come out lower by chance: both directions share the 5%."""
    rng, g = np.random.default_rng(6), np.repeat(["a", "b"], 200)
    drawn = [fairpot.audit(None, rng.random(400), sensitive_features=g, threshold=0.5) for _ in range(300)]
    assert sum(each.ratio_verdict(0.99).answer == "below" for each in drawn) <= 22  # 15 expected; more have 3%


def test_verdicts_on_ratios_are_wrong_as_rarely_as_they_say():
    """Three groups; one has exactly 0.8 of the rate of the others, so that either answer is wrong half of the time."""
    rng, wrong = np.random.default_rng(3), {"within": 0, "below": 0}
    g = np.repeat(["a", "b", "c"], 300)
    for _ in range(300):
        s = (rng.random(900) < np.where(g == "c", 0.4, 0.5)).astype(float)
        answer = fairpot.audit(None, s, sensitive_features=g, threshold=0.5).ratio_verdict(0.8).answer
        if answer != "cannot tell":
            wrong[answer] += 1
    assert wrong["below"] <= 25  # 15 are expected at most, and 25 have a chance of 0.7%
    assert wrong["within"] <= 25


@pytest.mark.parametrize(("bound", "said"), [(0, "must lie in"), (1.1, "must lie in"), ("0.8", "must be a number")])
def test_a_ratio_is_a_share(bound, said):
    _, s, g = draw()
    with pytest.raises((TypeError, ValueError), match=said):
        fairpot.audit(None, s, sensitive_features=g).ratio_verdict(bound)


def test_a_small_group_cannot_be_judged():
    _, s, g = draw()
    g = np.where(np.arange(len(g)) < 8, "tiny", g)
    found = fairpot.audit(None, s, sensitive_features=g, threshold=0.4).ratio_verdict(0.1)
    assert found.answer == "cannot tell"
    assert "fewer than 10" in str(found)


@pytest.mark.parametrize("lower", [False, True])
def test_scores_by_group_are_those_of_numpy(lower):
    _, s, g = draw()
    table = fairpot.score_table(None, s, sensitive_features=g, lower_is_riskier=lower)
    found = {each.group: each for each in fairpot.audit(table, reference="b").scores}
    for group, each in found.items():
        own, other = s[g == group], s[g == "b"]
        assert each.mean == pytest.approx(own.mean())
        assert each.deviation == pytest.approx(own.std(ddof=1))
        quantiles = np.quantile(own, [0.1, 0.25, 0.5, 0.75, 0.9], method="inverted_cdf")
        assert [each.q10, each.q25, each.median, each.q75, each.q90] == quantiles.tolist()
        assert each.median.low <= each.median <= each.median.high
        if group != "b":
            pooled = np.sqrt((own.var(ddof=1) + other.var(ddof=1)) / 2)
            assert each.standardised_difference == pytest.approx((own.mean() - other.mean()) / pooled)


def test_of_equal_means_the_standardised_difference_has_welchs_limits():
    rng = np.random.default_rng(6)
    one, other = (each - each.mean() for each in (rng.normal(size=12), 3 * rng.normal(size=30)))
    g = np.repeat(["a", "b"], [12, 30])
    found = fairpot.audit(None, np.r_[one, other], sensitive_features=g, reference="b").scores[0]
    ends = np.array(stats.ttest_ind(one, other, equal_var=False).confidence_interval())
    low, high = ends / np.sqrt((one.var(ddof=1) + other.var(ddof=1)) / 2)
    assert (found.standardised_difference.low, found.standardised_difference.high) == pytest.approx((low, high))


def test_scores_are_compared_with_the_highest_mean_that_is_sure():
    _, s, g = draw()
    g[np.argsort(-s)[:3]] = "z"
    found = fairpot.audit(None, s, sensitive_features=g).scores
    best = max((each for each in found if each.group != "z"), key=lambda each: float(each.mean)).group
    assert {each.against for each in found if each.group != best} == {best}


QUANTILES = {"q10": 0.1, "q25": 0.25, "median": 0.5, "q75": 0.75, "q90": 0.9}


@pytest.mark.parametrize("kind", ["plain", "clusters", "weights"])
@pytest.mark.parametrize(("n", "known"), [(12, ["median"]), (40, [*QUANTILES])])
def test_limits_of_scores_cover_what_they_are_of(n, known, kind):
    """A small group beside one of 60: quantiles and the standardised difference of normal scores, or no limits."""
    rng, missed = np.random.default_rng(4), dict.fromkeys([*known, "standardised_difference"], 0)
    g, given = np.repeat(["a", "b"], [n, 60]), {}
    for _ in range(400):
        s = rng.normal(size=n + 60) + 0.5 * (g == "a")
        if kind == "clusters":
            s, given = np.tile(s, 2), {"clusters": np.tile(np.arange(n + 60), 2)}
        if kind == "weights":
            given = {"sample_weight": rng.uniform(0.8, 1.2, n + 60)}
        own = np.resize(g, len(s))
        found = fairpot.audit(None, s, sensitive_features=own, reference="b", **given).scores[0]
        true = {name: stats.norm.ppf(p) + 0.5 for name, p in QUANTILES.items()} | {"standardised_difference": 0.5}
        for name in missed:
            limits = getattr(found, name)
            missed[name] += not limits.low <= true[name] <= limits.high
        assert [name for name in QUANTILES if getattr(found, name).reason is None] == known
    assert all(0.02 < each / 400 < 0.08 for each in missed.values()), missed


@pytest.mark.parametrize("lower", [False, True])
def test_scores_that_many_rows_share_have_limits_that_hold(lower):
    """The 90% quantile of a score of ten steps, which lumps of rows have, is within its limits as often as they say."""
    rng, missed = np.random.default_rng(5), 0
    for _ in range(200):
        s = np.r_[rng.choice(10, 60, p=[0.1] * 8 + [0.12, 0.08]), np.arange(20)].astype(float)
        table = score_table(None, s, sensitive_features=["a"] * 60 + ["b"] * 20, lower_is_riskier=lower)
        q90 = fairpot.audit(table).scores[0].q90
        missed += not q90.low <= 8 <= q90.high
    assert missed <= 18
