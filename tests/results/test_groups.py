"""Up to how many groups are compared: each has intervals."""

import numpy as np
import pytest

from fairpot import audit, score_table
from fairpot.inference import confidence_interval
from fairpot.results import rank


def draw(groups):
    rng = np.random.default_rng(0)
    y, group = np.tile([0, 1], 6 * groups), np.repeat([f"g{k:02}" for k in range(groups)], 12)
    return y, rng.normal(y), group


def test_twenty_groups_have_intervals():
    y, scores, group = draw(20)
    found = audit(y, scores, sensitive_features=group)
    assert all(each.auc.reason is None for each in found.ranking.groups)
    alone = confidence_interval("auc", y, scores)
    assert found.auc.low == pytest.approx(alone.low, abs=1e-12)
    assert not any("no intervals" in text for text in found.warnings)


def test_more_are_refused_until_some_are_left_out():
    y, scores, group = draw(21)
    with pytest.raises(
        ValueError, match=r"21 groups, and at most 20 are compared.\nHint: min_group=... and groups=..."
    ):
        audit(y, scores, sensitive_features=group)
    with pytest.raises(ValueError, match="21 groups"):
        rank(score_table(y, scores, sensitive_features=group))
    fewer = audit(y, scores, sensitive_features=group, groups=[f"g{k:02}" for k in range(20)])
    assert fewer.auc.reason is None


@pytest.mark.parametrize("values", [np.arange(2000), [f"id{i}" for i in range(2000)]], ids=["numbers", "texts"])
def test_identifiers_are_refused_before_they_are_counted(values):
    y, scores = np.tile([0, 1], 1000), np.random.default_rng(0).normal(size=2000)
    for call in (score_table, audit):
        with pytest.raises(ValueError, match="2,000 groups, and at most 20"):
            call(y, scores, sensitive_features=values)


@pytest.mark.parametrize(("clustered", "top"), [(False, None), (True, None), (False, 0.6)])
def test_every_pair_has_an_interval_that_holds_beside_the_others(clustered, top):
    """Of the rows of two groups alone, an audit says the same gap, surer; the top is that of each group."""
    rng = np.random.default_rng(7)
    y, group, unit = rng.integers(0, 2, 900), rng.choice(["n", "e", "s", "w"], 900), rng.integers(0, 300, 900)
    score = rng.normal(y + 0.3 * (group == "e") - 0.2 * (group == "s"))
    given = {"top": top, "top_of": "group"}
    clusters = {"clusters": unit} if clustered else {}
    found = audit(y, score, sensitive_features=group, **clusters, **given)
    assert len(found.told.gaps) == 6
    for pair in found.told.gaps:
        own = np.isin(group, [pair.first, pair.second])
        few = {name: column[own] for name, column in clusters.items()}
        alone = audit(y[own], score[own], sensitive_features=group[own], reference=pair.first, **few, **given)
        [same] = alone.told.gaps
        limits, own_limits = ([each.signed_gap.low, each.signed_gap.high] for each in (pair, same))
        assert limits[0] < own_limits[0] < own_limits[1] < limits[1]
        assert pair.at_most == pytest.approx(same.at_most, abs=2e-3 if clustered else 1e-9)
    if top is None:
        assert {"signed_gap_low", "signed_gap_high"} <= set(found.rows("pairs")[0])
    widest = found.told.leading
    low, high = widest.signed_gap.low, widest.signed_gap.high
    told = f"{widest.signed_gap:.3f} (95% interval {low:.3f} to {high:.3f})"
    assert f"{widest.first} over {widest.second}: gap {told}" in str(found).splitlines()
    assert found.statement.gap == widest.signed_gap
    bare = audit(y, score, sensitive_features=group, level=None)
    assert {pair["signed_gap_low"] for pair in bare.to_dict()["gaps"]} == {None}


def few_and_many(missing: bool = False):
    """Rows of three large groups and of two small ones that are far from all others; of one all may be negatives."""
    rng = np.random.default_rng(40)
    sizes = {"k": 500, "l": 400, "m": 300, "tiny": 24, "rare": 40}
    group = np.repeat(list(sizes), list(sizes.values()))
    y = (rng.random(len(group)) < 0.45).astype(int)
    if missing:
        y[group == "rare"] = 0
    lead = np.select([group == "l", group == "tiny", group == "rare"], [0.4, 3.0, -2.0])
    return y, rng.normal(y + lead), group


@pytest.mark.filterwarnings("ignore::fairpot.exceptions.SmallGroupWarning")
def test_the_widest_gap_is_of_groups_that_are_compared():
    y, score, group = few_and_many()
    found = audit(y, score, sensitive_features=group)
    large = np.isin(group, ["k", "l", "m"])
    alone = audit(y[large], score[large], sensitive_features=group[large])
    assert found.ranking.small_groups == ("rare", "tiny")
    assert found.ranking.widest == alone.gap < found.gap  # the gap of all pairs is as it was
    assert max(pair.size for pair in found.ranking.gaps) == found.gap
    assert alone.ranking.widest == alone.gap
    none = audit(y, score, sensitive_features=group, level=None)
    assert none.ranking.widest == alone.gap


@pytest.mark.filterwarnings("ignore::fairpot.exceptions.SmallGroupWarning")
def test_pairs_that_cannot_be_measured_are_named():
    y, score, group = few_and_many(missing=True)
    found = audit(y, score, sensitive_features=group)
    [told] = [text for text in found.warnings if "leaves out" in text]
    assert "4 of 10 pairs of groups" in told
    for other in ("k", "l", "m", "tiny"):
        assert any(pair in told for pair in (f"{other} and rare", f"rare and {other}"))
    assert not [text for text in audit(*few_and_many()[:2], sensitive_features=group).warnings if "leaves" in text]


@pytest.mark.filterwarnings("ignore::fairpot.exceptions.SmallGroupWarning")
def test_the_widest_gap_of_small_groups_is_one_with_an_interval():
    rng = np.random.default_rng(0)
    group = np.repeat(["large", "small", "tiny"], [2000, 40, 8])
    y, score = (rng.random(2048) < 0.4).astype(int), rng.random(2048)
    y[-8:], score[-8:] = [1, 1, 1, 0, 0, 0, 0, 0], [0.9] * 3 + [0.99] * 5
    found = audit(y, score, sensitive_features=group).ranking
    assert set(found.widest.groups) == {"large", "small"}
    assert found.widest.low < found.widest < found.widest.high
    assert found.small_groups == ("tiny",)
