"""The curve of a top-alpha repair says what the partial metrics say of the transformed rows, region and all."""

import numpy as np
import pytest

import oracles
from fairpot import FairPOT, score_table
from fairpot.exceptions import InfeasibleRuleError
from fairpot.metrics import partial_auc, partial_xauc, partial_xauc_gap

regions = pytest.mark.parametrize("region", ["pooled", "group"])
sources = pytest.mark.parametrize("region_from", ["fitted", "batch"])


def draw(seed, n=120, digits=3, groups="ab", shift=0.3):
    """Draw scores; with one digit there are many at the edge of any region."""
    rng = np.random.default_rng(seed)
    place = np.r_[np.tile(np.arange(len(groups)), 6), rng.integers(0, len(groups), n)]
    y = np.r_[np.repeat([0, 1, 0, 1, 0, 1], len(groups)), rng.integers(0, 2, n)]
    score = rng.random(len(y)) + 0.5 * y - shift * place
    score[: 6 * len(groups)] += 0.7  # both outcomes of every group are in the top
    return score.round(digits), y, np.array(list(groups))[place]


def says(repair, where, value, ties, weight=None):
    """Transform the rows at a value of lambda and measure their top alpha."""
    scores, y, group = where
    moved = repair.at(value).transform(scores, sensitive_features=group, other_scale="warn")
    options = {"alpha": repair.alpha, "region": repair.region, "ties": ties, "sample_weight": weight}
    by_group = options | {"sensitive_features": group}
    return partial_auc(y, moved, **by_group), partial_xauc_gap(y, moved, **by_group), moved


# Where a whole group of few distinct scores sinks, a cell may leave the region: both are then undefined.
@pytest.mark.filterwarnings("ignore::fairpot.UndefinedMetricWarning")
@regions
@sources
@pytest.mark.parametrize("ties", ["strict", "half"])
@pytest.mark.parametrize("digits", [1, 3])
@pytest.mark.parametrize("reference", ["a", "b"])
def test_equal_to_the_metrics_of_transformed_rows(region, region_from, ties, digits, reference):
    """Upwards and downwards, fitted and held out, with and without ties at the edge of the region."""
    fitted, new = draw(0, digits=digits), draw(1, digits=digits)
    options = {"alpha": 0.4, "region": region, "region_from": region_from, "reference": reference, "ties": ties}
    repair = FairPOT(**options).fit(*fitted[:2], sensitive_features=fitted[2])
    other = "ab".replace(reference, "")
    for where in (fitted, new):
        scores, y, group = where
        curve = repair.tradeoff(scores, y, sensitive_features=group)
        assert curve.lam[0] == 0
        assert curve.lam[-1] == 1
        for place in range(0, len(curve), max(len(curve) // 12, 1)):
            area, gap, moved = says(repair, where, float(curve.lam[place]), ties)
            assert curve.auc[place] == pytest.approx(area, abs=1e-12, nan_ok=True)
            assert curve.gap[place] == pytest.approx(gap, abs=1e-12, nan_ok=True)
            pair = {"positive": reference, "negative": other, "alpha": 0.4, "region": region, "ties": ties}
            ab = partial_xauc(y, moved, sensitive_features=group, **pair)
            assert curve.xauc_ab[place] == pytest.approx(ab, abs=1e-12, nan_ok=True)
        assert curve.unmoved_auc == pytest.approx(says(repair, where, 0.0, ties)[0], abs=1e-12)
        listed = repair.tradeoff(scores, y, sensitive_features=group, lams=[0.15, 0.6])
        for place, value in enumerate((0.15, 0.6)):
            assert listed.auc[place] == pytest.approx(says(repair, where, value, ties)[0], abs=1e-12)


@regions
@sources
def test_equal_to_pairwise_loops(region, region_from):
    """Not our metrics: the region and the pairs counted from their definitions."""
    fitted, new = draw(2, n=40, digits=1), draw(3, n=40, digits=1)
    repair = FairPOT(alpha=0.5, region=region, region_from=region_from, reference="a")
    repair.fit(*fitted[:2], sensitive_features=fitted[2])
    for scores, y, group in (fitted, new):
        curve = repair.tradeoff(scores, y, sensitive_features=group, lams=[0, 0.3, 1])
        for place, value in enumerate(curve.lam):
            moved = repair.at(float(value)).transform(scores, sensitive_features=group, other_scale="warn")
            keep = oracles.top_rows(moved, 0.5, group if region == "group" else None)
            rows = y[keep], moved[keep], group[keep]
            assert curve.auc[place] == pytest.approx(oracles.auc(*rows[:2], half=True), abs=1e-12)
            assert curve.xauc_ab[place] == pytest.approx(oracles.xauc(*rows, "a", "b", half=True), abs=1e-12)
            assert curve.xauc_ba[place] == pytest.approx(oracles.xauc(*rows, "b", "a", half=True), abs=1e-12)


@regions
@sources
def test_three_groups_and_weights(region, region_from):
    fitted, new = draw(4, n=200, digits=2, groups="abc"), draw(5, n=200, digits=2, groups="abc")
    weight = np.random.default_rng(0).integers(1, 4, len(new[0]))
    repair = FairPOT(alpha=0.6, region=region, region_from=region_from).fit(*fitted[:2], sensitive_features=fitted[2])
    for where, w in ((fitted, None), (new, None), (new, weight)):
        # Weights play no part in transform: "batch" finds its region in the rows as they are given.
        if w is not None and region_from == "batch":
            where = tuple(np.repeat(column, w) for column in where)
            w = None
        scores, y, group = where
        curve = repair.tradeoff(scores, y, sensitive_features=group, sample_weight=w, lams=[0, 0.25, 0.8])
        for place, value in enumerate(curve.lam):
            area, gap, _ = says(repair, where, float(value), "half", w)
            assert curve.auc[place] == pytest.approx(area, abs=1e-12, nan_ok=True)
            assert curve.gap[place] == pytest.approx(gap, abs=1e-12, nan_ok=True)


@regions
@sources
@pytest.mark.parametrize("digits", [1, 9])
def test_large_tables(region, region_from, digits):
    """More distinct scores than are traced one by one; with nine digits the curve is counted in one go."""
    fitted, new = draw(6, n=3000, digits=digits), draw(7, n=3000, digits=digits)
    repair = FairPOT(alpha=0.7, region=region, region_from=region_from, reference="a")
    repair.fit(*fitted[:2], sensitive_features=fitted[2])
    for where in (fitted, new):
        curve = repair.tradeoff(where[0], where[1], sensitive_features=where[2])
        for place in np.linspace(0, len(curve) - 1, 7).astype(int):
            area, gap, _ = says(repair, where, float(curve.lam[place]), "half")
            assert curve.auc[place] == pytest.approx(area, abs=1e-12, nan_ok=True)
            assert curve.gap[place] == pytest.approx(gap, abs=1e-12, nan_ok=True)


@regions
@sources
@pytest.mark.parametrize("digits", [1, 3])
def test_rules_hold_as_the_metrics_measure_it(region, region_from, digits):
    scores, y, group = rows = draw(8, n=300, digits=digits)
    options = {"alpha": 0.5, "region": region, "region_from": region_from}
    before, widest, _ = says(FairPOT(0.0, **options).fit(scores, y, sensitive_features=group), rows, 0.0, "half")
    kept = 0
    for rule in ({"max_gap": 0.6 * widest}, {"max_auc_loss": 0.02}, {"max_gap": 0.8 * widest, "max_auc_loss": 0.1}):
        try:
            repair = FairPOT(**options, **rule).fit(scores, y, sensitive_features=group)
        except InfeasibleRuleError:
            continue
        area, gap, _ = says(repair, rows, repair.lam_, "half")
        assert gap <= rule.get("max_gap", 1.0) + 1e-12
        assert before - area <= rule.get("max_auc_loss", 1.0) + 1e-12
        kept += 1
    assert kept >= 2


def at_the_edge(below):
    """One row of each group ties at the edge of a top that wants five rows of the six from 0.5 upwards."""
    score = np.r_[0.5, 0.7, 0.8, 0.9, 0.5, 0.6, np.linspace(0.1, 0.4, below)]
    y = np.r_[0, 1, 0, 1, 1, 0, np.arange(below) % 2]
    return score, y, np.array([*"aaaabb", *"ab" * (below // 2)])


def largest_share_of_five(n):
    """Find the largest alpha of n rows that five rows reach: five in n, and what is taken for round-off."""
    table = score_table(np.arange(n) % 2, np.arange(n), sensitive_features=["a", "b"] * (n // 2))
    low, high = 5 / n, 5.5 / n
    while np.nextafter(low, 1) < high:
        middle = (low + high) / 2
        enough = set(table.thresholds(middle).values()) == {n - 5}
        low, high = (middle, high) if enough else (low, middle)
    return low


@pytest.mark.parametrize("below", [4, 6, 10])
def test_a_repair_that_parts_a_tie_at_the_edge_changes_the_region(below):
    """Moved up to 0.6, the tied row of "b" leaves no place for that of "a", whose negative no longer counts."""
    score, y, group = at_the_edge(below)
    for alpha in (5 / len(y), largest_share_of_five(len(y))):
        repair = FairPOT(1.0, alpha=alpha, reference="a").fit(score, y, sensitive_features=group)
        moved = repair.transform(score, sensitive_features=group)
        np.testing.assert_allclose(moved[4:6], [0.6, 0.85])
        kept = moved >= np.sort(moved)[-5]
        assert kept.tolist() == [False] + [True] * 5 + [False] * below
        [ab, ba] = [oracles.xauc(y[kept], moved[kept], group[kept], *pair, half=True) for pair in ("ab", "ba")]
        assert (ab, ba) == (0.5, 0.0)
        assert repair.tradeoff().at(1.0).gap == 0.5


def test_a_curve_whose_region_changes_has_every_lambda():
    score, y, group = at_the_edge(4)
    repair = FairPOT(0.0, alpha=0.5, reference="a").fit(score, y, sensitive_features=group)
    curve = repair.tradeoff()
    assert curve.exact
    assert curve.lam.tolist() == [0, 0.5, 1]
    for lam in (0.0, 0.2, 0.5, 0.7, 1.0):  # also between the values of the curve
        area, gap, _ = says(repair, (score, y, group), lam, "half")
        assert curve.at(lam).auc == pytest.approx(area, abs=1e-14)
        assert curve.at(lam).gap == pytest.approx(gap, abs=1e-14)
    three = draw(0, groups="abc")
    grid = FairPOT(0.0, alpha=0.5, common_dial=True).fit(*three[:2], sensitive_features=three[2]).tradeoff()
    assert not grid.exact
    with pytest.raises(ValueError, match="not on this grid"):
        grid.at(0.123)


def tiny(rng, a=(0.0, 1.0), b=(0.0, 1.0)):
    """Draw a few rows of two groups between two ends each, on a grid on which some scores tie."""
    group = np.array(list("aabb") + rng.choice(["a", "b"], rng.integers(2, 9)).tolist())
    y = np.r_[0, 1, 0, 1, rng.integers(0, 2, len(group) - 4)]
    steps, ends = rng.choice([5, 12, 40]), np.array([a, b])[(group == "b").astype(int)]
    return (ends[:, 0] + np.diff(ends)[:, 0] * rng.integers(0, steps + 1, len(y)) / steps).round(6), y, group


def tiny_pair(rng):
    """Draw rows to fit on and others; of some, those to fit on are far apart where the others are close together."""
    if rng.random() < 0.25:
        return tiny(rng, b=(-0.4, 0.6)), tiny(rng, b=(-0.2, 0.8))
    return tiny(rng, a=(0.5, 0.6)), tiny(rng, b=(0.2, 0.6))


def counted(rows, ties):
    """Count AUC and both xAUCs pair by pair; NaN where there are none."""
    y, _, group = rows
    cells = {(g, k): int(((group == g) & (y == k)).sum()) for g in "ab" for k in (0, 1)}
    pairs = (sum(y) * (len(y) - sum(y)), cells["a", 1] * cells["b", 0], cells["b", 1] * cells["a", 0])
    half = ties == "half"
    found = (oracles.auc(*rows[:2], half=half), *(oracles.xauc(*rows, *names, half=half) for names in ("ab", "ba")))
    return [value if many else np.nan for value, many in zip(found, pairs)]


@pytest.mark.filterwarnings("ignore::fairpot.exceptions.FairpotWarning", "ignore::fairpot.UndefinedMetricWarning")
@pytest.mark.parametrize("monotone", [False, True])
@sources
@regions
def test_every_lambda_of_tiny_tables(region, region_from, monotone):
    """Rows between the last score that stays and the first that moves can leave the top: then it is found again."""
    rng = np.random.default_rng([7, region == "group", region_from == "batch", monotone])
    compared = tables = 0
    for _ in range(200):
        (fitted, new), ties = tiny_pair(rng), str(rng.choice(["half", "strict"]))
        options = {"alpha": float(rng.choice([0.3, 0.5, 0.75])), "region": region, "region_from": region_from}
        repair = FairPOT(0.0, **options, monotone=monotone, reference="a", ties=ties)
        for where in (fitted, new):
            try:
                repair.fit(*fitted[:2], sensitive_features=fitted[2])
                curve = repair.tradeoff(*where[:2], sensitive_features=where[2])
            except ValueError:  # a group without rows in the top
                continue
            assert curve.exact
            tables += 1
            for lam in (*curve.lam.tolist(), 0.45):
                moved = repair.at(lam).transform(where[0], sensitive_features=where[2], other_scale="warn")
                top = oracles.top_rows(moved, repair.alpha, where[2] if region == "group" else None)
                point = curve.at(lam)
                found = [point.auc, point.xauc_ab, point.xauc_ba]
                np.testing.assert_array_equal(found, counted((where[1][top], moved[top], where[2][top]), ties))
                compared += 1
    assert tables > 300
    assert compared > 1000


@pytest.mark.parametrize("seed", range(20))
def test_a_pooled_top_keeps_its_people(seed):
    rng = np.random.default_rng(seed)
    group, y = rng.integers(0, 2, 60), rng.integers(0, 2, 60)
    scores = np.round(rng.normal(y + group), seed % 3)
    model = FairPOT(lam=rng.random(), alpha=0.4, reference=seed % 2).fit(scores, y, sensitive_features=group)
    start = model.thresholds_[0]
    moved = model.transform(scores, sensitive_features=group)
    np.testing.assert_array_equal(moved >= start, scores >= start)
