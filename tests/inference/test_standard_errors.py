"""Standard errors against pairwise formulas and jackknives, on hostile small samples."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairpot import score_table
from fairpot.inference import confidence_interval
from fairpot.inference.change import change_by_maps
from fairpot.inference.shares import Pairs, all_pairs, cross_pairs, estimate_shares
from inference_oracles import bootstrap, change_of_scores, delong, jackknife, obuchowski, paired, share, weighted
from oracles import METRICS

TIGHT = {"rtol": 1e-10, "atol": 1e-14}


def draw(seed, n=80, groups=2, digits=1):
    rng = np.random.default_rng(seed)
    g = rng.integers(0, groups, n)
    y = rng.integers(0, 2, n)
    return y, np.round(rng.normal(y + 0.3 * g), digits), np.array(["a", "b", "c"])[g]


def cell(y, s, g, label, groups):
    return s[(y == label) & np.isin(g, groups)]


@pytest.mark.parametrize("ties", ["half", "strict"])
@pytest.mark.parametrize("digits", [1, 8])
@pytest.mark.parametrize("seed", range(3))
def test_every_share_of_three_groups_is_delongs(seed, digits, ties):
    y, s, g = draw(seed, groups=3, digits=digits)
    kwargs = {"sensitive_features": g, "ties": ties}
    cases = [("auc", {}, "abc", "abc")]
    for first in "abc":
        cases += [("xauc", {"positive": first, "negative": first}, first, first)]
        others = "abc".replace(first, "")
        cases += [("xauc", {"positive": first, "negative": second}, first, second) for second in others]
    for metric, names, winners, losers in cases:
        found = confidence_interval(metric, y, s, **kwargs, **names)
        p, q = cell(y, s, g, 1, list(winners)), cell(y, s, g, 0, list(losers))
        np.testing.assert_allclose(found.value, share(p, q, ties=ties), **TIGHT)
        np.testing.assert_allclose(found.se**2, delong(p, q, ties), **TIGHT)
        np.testing.assert_allclose(found.se**2, jackknife(p, q, ties), **TIGHT)


def test_the_gap_is_the_difference_of_two_independent_shares():
    y, s, g = draw(5)
    found = confidence_interval("xauc_gap", y, s, sensitive_features=g)
    variance = sum(delong(cell(y, s, g, 1, [i]), cell(y, s, g, 0, [j])) for i, j in ("ab", "ba"))
    np.testing.assert_allclose(found.se**2, variance, **TIGHT)
    shares = [confidence_interval("xauc", y, s, sensitive_features=g, positive=i, negative=j) for i, j in ("ab", "ba")]
    assert found == found.signed == pytest.approx(abs(shares[0] - shares[1]), abs=1e-12)
    assert found.groups == (("a", "b") if shares[0] > shares[1] else ("b", "a"))


def test_covariances_between_shares_are_delongs():
    """Cov(X[a,b], X[a,c]) comes from a's positives alone; with the AUC all cells take part."""
    y, s, g = draw(7, n=150, groups=3)
    table = score_table(y, s, sensitive_features=g)
    found = estimate_shares(score_table(y, s, sensitive_features=g), [Pairs((0,), (1,)), Pairs((0,), (2,))])
    p = cell(y, s, g, 1, ["a"])
    placed = [
        (p[:, None] > q[None]).mean(1) + (p[:, None] == q[None]).mean(1) / 2
        for q in (cell(y, s, g, 0, ["b"]), cell(y, s, g, 0, ["c"]))
    ]
    np.testing.assert_allclose(found.covariance[0, 1], np.cov(*placed)[0, 1] / len(p), **TIGHT)
    whole = estimate_shares(score_table(y, s, sensitive_features=g), [all_pairs(table), *cross_pairs(table)])
    assert np.linalg.eigvalsh(whole.covariance).min() > -1e-15


@given(st.integers(0, 10**6), st.sampled_from(["half", "strict"]))
def test_frequency_weights_are_repeated_rows(seed, ties):
    y, s, g = draw(seed, n=60)
    weight = np.random.default_rng(seed).integers(0, 4, len(y))
    weight[:4] = 1
    again = [np.repeat(column, weight) for column in (y, s, g)]
    for metric in ("auc", "xauc_gap"):
        with_groups = {"sensitive_features": g} if metric == "xauc_gap" else {}
        repeated = {"sensitive_features": again[2]} if metric == "xauc_gap" else {}
        said = {"sample_weight": weight, "weights": "frequency"}
        one = confidence_interval(metric, y, s, **said, ties=ties, **with_groups)
        two = confidence_interval(metric, again[0], again[1], ties=ties, **repeated)
        np.testing.assert_allclose(
            [one.value, one.se, one.low, one.high], [two.value, two.se, two.low, two.high], **TIGHT
        )


@pytest.mark.parametrize("ties", ["half", "strict"])
def test_importance_weights(ties):
    y, s, g = draw(3, n=120)
    w = np.random.default_rng(3).exponential(size=len(y))
    found = confidence_interval(
        "xauc", y, s, sensitive_features=g, positive="a", negative="b", sample_weight=w, weights="importance", ties=ties
    )
    p, q = (y == 1) & (g == "a"), (y == 0) & (g == "b")
    np.testing.assert_allclose(found.value, share(s[p], s[q], w[p], w[q], ties), **TIGHT)
    np.testing.assert_allclose(found.se**2, weighted(s[p], s[q], w[p], w[q], ties), **TIGHT)


def test_importance_weights_do_not_depend_on_their_scale_and_equal_ones_are_plain():
    y, s, g = draw(3, n=120)
    w = np.random.default_rng(3).exponential(size=len(y))
    kwargs = {"sensitive_features": g, "weights": "importance"}
    one, two = (confidence_interval("xauc_gap", y, s, sample_weight=c * w, **kwargs) for c in (1.0, 7.3))
    np.testing.assert_allclose([one.se, one.low, one.high], [two.se, two.low, two.high], rtol=1e-12)
    flat = confidence_interval("xauc_gap", y, s, sample_weight=np.full(len(y), 0.1), **kwargs)
    plain = confidence_interval("xauc_gap", y, s, sensitive_features=g)
    np.testing.assert_allclose([flat.se, flat.low, flat.high], [plain.se, plain.low, plain.high], rtol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_clusters_are_obuchowskis(seed):
    y, s, _ = draw(seed, n=100)
    cluster = np.random.default_rng(seed).integers(0, 30, len(y))
    found = confidence_interval("auc", y, s, clusters=cluster)
    expected = obuchowski(s[y == 1], s[y == 0], cluster[y == 1], cluster[y == 0])
    np.testing.assert_allclose(found.se**2, expected, **TIGHT)


def test_clusters_of_groups():
    y, s, g = draw(11, n=200)
    cluster = np.random.default_rng(1).integers(0, 50, len(y))
    found = confidence_interval("xauc", y, s, sensitive_features=g, positive="a", negative="b", clusters=cluster)
    p, q = (y == 1) & (g == "a"), (y == 0) & (g == "b")
    np.testing.assert_allclose(found.se**2, obuchowski(s[p], s[q], cluster[p], cluster[q]), **TIGHT)


def test_a_cluster_for_each_row_is_no_cluster():
    y, s, g = draw(4)
    for top in (None, 0.5):
        kwargs = {"sensitive_features": g, "top": top}
        one = confidence_interval("xauc_gap", y, s, clusters=np.arange(len(y)), **kwargs)
        two = confidence_interval("xauc_gap", y, s, **kwargs)
        np.testing.assert_allclose(one.se, two.se, rtol=5e-3 if top else 1e-10)


def test_doubled_rows_in_clusters_count_once():
    """Every row twice, the two copies one cluster: the same uncertainty as of the rows themselves."""
    y, s, g = draw(9)
    twice = [np.repeat(column, 2) for column in (y, s, g, np.arange(len(y)))]
    one = confidence_interval("xauc_gap", y, s, sensitive_features=g)
    two = confidence_interval("xauc_gap", twice[0], twice[1], sensitive_features=twice[2], clusters=twice[3])
    np.testing.assert_allclose([two.se, two.low, two.high], [one.se, one.low, one.high], **TIGHT)


@pytest.mark.parametrize("ties", ["half", "strict"])
def test_change_between_two_columns_is_delongs_paired_difference(ties):
    y, before, g = draw(2, n=150)
    after = np.round(before + 0.5 * (g == "a") + np.random.default_rng(0).normal(size=len(y)) / 2, 1)
    found = change_of_scores(y, before, after, sensitive_features=g, ties=ties)
    p, q = y == 1, y == 0
    np.testing.assert_allclose(found.auc.se**2, paired(after[p], before[p], after[q], before[q], ties), **TIGHT)
    total = 0.0
    for i, j in ("ab", "ba"):
        p, q = (y == 1) & (g == i), (y == 0) & (g == j)
        variance = paired(after[p], before[p], after[q], before[q], ties)
        np.testing.assert_allclose(found.xauc[i, j].se ** 2, variance, **TIGHT)
        np.testing.assert_allclose(found.xauc[i, j].after, share(after[p], after[q], ties=ties), **TIGHT)
        total += variance
    np.testing.assert_allclose(found.signed_gap["a", "b"].se ** 2, total, **TIGHT)
    np.testing.assert_allclose(found.gap.se**2, total, **TIGHT)


def test_change_by_maps_is_that_of_the_moved_column():
    y, s, g = draw(6, n=120)
    move = {"b": lambda score: -np.abs(score - 0.4)}  # not monotone: makes new ties and turns the order
    after = s.copy()
    after[g == "b"] = move["b"](s[g == "b"])
    one = change_by_maps(score_table(y, s, sensitive_features=g), move)
    two = change_of_scores(y, s, after, sensitive_features=g)
    for name in ("auc", "gap"):
        first, second = getattr(one, name), getattr(two, name)
        np.testing.assert_allclose(
            [first.before, first.after, first.se, first.low, first.high],
            [second.before, second.after, second.se, second.low, second.high],
            **TIGHT,
        )


def test_change_with_weights_and_clusters_needs_no_special_case():
    y, s, g = draw(6, n=120)
    after = s + (g == "a")
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    weight[:8] = 1
    again = [np.repeat(column, weight) for column in (y, s, after, g)]
    one = change_of_scores(y, s, after, sensitive_features=g, sample_weight=weight, weights="frequency")
    two = change_of_scores(again[0], again[1], again[2], sensitive_features=again[3])
    np.testing.assert_allclose(one.gap.se, two.gap.se, **TIGHT)
    twice = [np.repeat(column, 2) for column in (y, s, after, g, np.arange(len(y)))]
    plain = change_of_scores(y, s, after, sensitive_features=g)
    doubled = change_of_scores(twice[0], twice[1], twice[2], sensitive_features=twice[3], clusters=twice[4])
    np.testing.assert_allclose(doubled.auc.se, plain.auc.se, **TIGHT)
    np.testing.assert_allclose(doubled.gap.se, plain.gap.se, **TIGHT)


@pytest.mark.parametrize("metric", ["auc", "xauc", "xauc_gap"])
def test_every_metric_has_its_own_value(metric):
    y, s, g = draw(8, n=300, digits=3)
    needs = METRICS[metric].needs
    available = {"sensitive_features": g, "top": 0.4, "positive": "a", "negative": "b", "group": "b"}
    names = {name: available[name] for name in needs}
    ties = {"ties": "half"} if METRICS[metric].has_ties else {}
    analytic = confidence_interval(metric, y, s, **names)
    np.testing.assert_allclose(analytic.value, METRICS[metric].function(y, s, **names, **ties), rtol=1e-12)
    assert analytic.low <= analytic.value <= analytic.high
    assert analytic.reason is None
    assert 0.75 < bootstrap(metric, y, s, replicates=200, **names).se / analytic.se < 1.3
    named = {key: value for key, value in names.items() if key != "sensitive_features"}
    table = score_table(y, s, sensitive_features=g if "sensitive_features" in needs else None)
    assert confidence_interval(metric, table, **named).se == analytic.se


@pytest.mark.parametrize("groups", [2, 3])
def test_the_change_of_a_gap_is_said_with_its_sign(groups):
    """A repair that goes past even: the size alone could have grown, the signed gap surely fell."""
    rng = np.random.default_rng(12)
    y, g = rng.integers(0, 2, 1500), rng.integers(0, groups, 1500)
    before = rng.normal(y - 0.2 * g)
    after = before + 0.4 * g
    names = np.array(["north", "south", "west"])[g]
    found = change_of_scores(y, before, after, sensitive_features=names)
    gap, pair = found.gap, max(found.signed_gap, key=lambda pair: abs(found.signed_gap[pair].before))
    one = found.signed_gap[pair]
    assert gap.groups == pair == ("north", "west" if groups == 3 else "south")
    assert (gap.signed.before, gap.signed.low, gap.signed.high) == (one.before, one.low, one.high)
    assert gap.signed.high < 0 < gap.high
    assert gap.signed.after < 0
    both = f"{one.before:+.3f} -> {one.after:+.3f}"
    limits = f"95% interval {one.low:+.3f} to {one.high:+.3f}"
    assert str(gap) == (
        f"{gap.before:.3f} -> {gap.after:.3f}; signed, north over {pair[1]}: {both}, a change of {one.change:+.3f} "
        f"({limits})"
    )
    assert gap.to_dict()["signed"] == {"groups": list(pair), **one.to_dict()}
    back = change_of_scores(y, after, before, sensitive_features=names).gap
    assert back.groups == pair[::-1]
    np.testing.assert_allclose([back.signed.before, back.signed.low], [-one.after, one.low], atol=1e-12)
