"""The top of the list: the score a repair of it starts at, what its curve says, and nobody moved below."""

import numpy as np
import pytest

import oracles
from fairpot import FairPOT, load
from fairpot.exceptions import InfeasibleRuleError
from fairpot.metrics import auc, xauc_gap
from fairpot.repair.registry import methods

METHODS = tuple(methods().values())
REGION = {"all": "all", "group": "group"}
tops = pytest.mark.parametrize("top_of", ["all", "group"])


def draw(seed, n=120, digits=3, groups="ab", shift=0.3):
    """Draw scores; with one digit there are many at the edge of any top_of."""
    rng = np.random.default_rng(seed)
    place = np.r_[np.tile(np.arange(len(groups)), 6), rng.integers(0, len(groups), n)]
    y = np.r_[np.repeat([0, 1, 0, 1, 0, 1], len(groups)), rng.integers(0, 2, n)]
    score = rng.random(len(y)) + 0.5 * y - shift * place
    score[: 6 * len(groups)] += 0.7  # both outcomes of every group are in the top
    return score.round(digits), y, np.array(list(groups))[place]


def above(repair, where):
    """Mark the rows from the fitted scores on, by what they were before the repair."""
    return where[0] >= np.array([repair.starts_[g] for g in where[2]])


def is_found_again(repair):
    """Whether the top is that of the adjusted list: everybody is repaired, or ties make another top of it."""
    return repair.repair == "all" or repair._fit.ground.cut is None


def says(repair, where, value, ties, weight=None):
    """Transform the rows at a strength; measure the AUC of all and the gap of the top."""
    scores, y, group = where
    moved = repair.at(value).transform(scores, sensitive_features=group, other_scale="warn")
    if is_found_again(repair):
        top_of = {"top": repair.top, "top_of": REGION[repair.top_of]}
        gap = xauc_gap(y, moved, sensitive_features=group, sample_weight=weight, ties=ties, **top_of)
        return auc(y, moved, ties=ties, sample_weight=weight), gap
    top = above(repair, where)
    kept = None if weight is None else weight[top]
    gap = xauc_gap(y[top], moved[top], sensitive_features=group[top], ties=ties, sample_weight=kept)
    return auc(y, moved, ties=ties, sample_weight=weight), gap


# Where a whole group of few distinct scores sinks, a cell may leave the top: both are then undefined.
@pytest.mark.filterwarnings("ignore::fairpot.UndefinedMetricWarning")
@tops
@pytest.mark.parametrize(
    ("repair", "ties", "digits", "reference"),
    [("top", "half", 1, "a"), ("top", "strict", 3, "b"), ("all", "strict", 1, "b"), ("all", "half", 3, "a")],
)
def test_the_curve_is_what_transformed_rows_show(top_of, repair, ties, digits, reference):
    """Upwards and downwards, fitted and held out, with and without ties at the edge of the top."""
    fitted, new = draw(0, digits=digits), draw(1, digits=digits)
    made = FairPOT(0.5, top=0.4, top_of=top_of, repair=repair, reference=reference, ties=ties)
    made.fit(*fitted[:2], sensitive_features=fitted[2])
    for where in (fitted, new):
        scores, y, group = where
        curve = made.tradeoff(scores, y, sensitive_features=group)
        assert (curve.lam[0], curve.lam[-1]) == (0, 1)
        for place in range(0, len(curve), max(len(curve) // 8, 1)):
            area, gap = says(made, where, float(curve.lam[place]), ties)
            assert curve.auc[place] == pytest.approx(area, abs=1e-12, nan_ok=True)
            assert curve.gap[place] == pytest.approx(gap, abs=1e-12, nan_ok=True)
        assert curve.unmoved_auc == pytest.approx(auc(y, scores, ties=ties), abs=1e-12)
        listed = made.tradeoff(scores, y, sensitive_features=group, lams=[0.15, 0.6])
        for place, value in enumerate((0.15, 0.6)):
            assert listed.auc[place] == pytest.approx(says(made, where, value, ties)[0], abs=1e-12)


@tops
@pytest.mark.parametrize("repair", ["all", "top"])
def test_equal_to_pairwise_loops(top_of, repair):
    """Not our metrics: the top and the pairs counted from their definitions."""
    fitted, new = draw(2, n=40, digits=1), draw(3, n=40, digits=1)
    made = FairPOT(0.3, top=0.5, top_of=top_of, repair=repair, reference="a")
    made.fit(*fitted[:2], sensitive_features=fitted[2])
    for scores, y, group in (fitted, new):
        curve = made.tradeoff(scores, y, sensitive_features=group, lams=[0, 0.3, 1])
        for place, value in enumerate(curve.lam):
            moved = made.at(float(value)).transform(scores, sensitive_features=group, other_scale="warn")
            keep = (
                oracles.top_rows(moved, 0.5, group if top_of == "group" else None)
                if is_found_again(made)
                else above(made, (scores, y, group))
            )
            rows = y[keep], moved[keep], group[keep]
            assert curve.auc[place] == pytest.approx(oracles.auc(y, moved, half=True), abs=1e-12)
            assert curve.xauc_ab[place] == pytest.approx(oracles.xauc(*rows, "a", "b", half=True), abs=1e-12)
            assert curve.xauc_ba[place] == pytest.approx(oracles.xauc(*rows, "b", "a", half=True), abs=1e-12)


@tops
@pytest.mark.parametrize("repair", ["all", "top"])
def test_three_groups_and_weights(top_of, repair):
    fitted, new = draw(4, n=200, digits=2, groups="abc"), draw(5, n=200, digits=2, groups="abc")
    weight = np.random.default_rng(0).integers(1, 4, len(new[0]))
    made = FairPOT(0.4, top=0.6, top_of=top_of, repair=repair).fit(*fitted[:2], sensitive_features=fitted[2])
    for where, w in ((fitted, None), (new, weight)):
        curve = made.tradeoff(*where[:2], sensitive_features=where[2], sample_weight=w, lams=[0, 0.25, 0.8])
        for place, value in enumerate(curve.lam):
            area, gap = says(made, where, float(value), "half", w)
            assert curve.auc[place] == pytest.approx(area, abs=1e-12, nan_ok=True)
            assert curve.gap[place] == pytest.approx(gap, abs=1e-12, nan_ok=True)


@tops
def test_large_tables(top_of):
    """More distinct scores than are traced one by one: the curve of a repaired top is counted in one go."""
    fitted, new = draw(6, n=2000, digits=9), draw(7, n=2000, digits=9)
    made = FairPOT(0.5, top=0.7, top_of=top_of, repair="top", reference="a")
    made.fit(*fitted[:2], sensitive_features=fitted[2])
    for where in (fitted, new):
        curve = made.tradeoff(where[0], where[1], sensitive_features=where[2])
        for place in np.linspace(0, len(curve) - 1, 5).astype(int):
            area, gap = says(made, where, float(curve.lam[place]), "half")
            assert curve.auc[place] == pytest.approx(area, abs=1e-12)
            assert curve.gap[place] == pytest.approx(gap, abs=1e-12)


@tops
@pytest.mark.parametrize(("repair", "digits"), [("all", 1), ("top", 1), ("top", 3)])
def test_rules_hold_as_the_metrics_measure_it(top_of, repair, digits):
    scores, y, group = rows = draw(8, n=300, digits=digits)
    options = {"top": 0.5, "top_of": top_of, "repair": repair}
    before, widest = says(FairPOT(0.0, **options).fit(scores, y, sensitive_features=group), rows, 0.0, "half")
    kept = 0
    for rule in ({"max_gap": 0.6 * widest}, {"max_auc_loss": 0.02}, {"max_gap": 0.8 * widest, "max_auc_loss": 0.1}):
        try:
            made = FairPOT(**options, **rule).fit(scores, y, sensitive_features=group)
        except InfeasibleRuleError:
            continue
        area, gap = says(made, rows, made.lam_, "half")
        assert gap <= rule.get("max_gap", 1.0) + 1e-12
        assert before - area <= rule.get("max_auc_loss", 1.0) + 1e-12
        kept += 1
    assert kept >= 2


@pytest.mark.filterwarnings("ignore:.* makes all scores of a group equal")
@tops
@pytest.mark.parametrize("method", METHODS)
def test_nobody_below_is_moved_and_nobody_falls_below(method, top_of, tmp_path):
    """The paper's partial case, for every method; also of new rows, and from a file."""
    fitted, new = draw(9, n=200), draw(10, n=200)
    fitted, new = ((s.clip(-0.5, 2.4) / 3 + 0.2, y, g) for s, y, g in (fitted, new))
    value = 1.5 if method.dial.high == np.inf else 0.8
    made = method(value, top=0.4, top_of=top_of, repair="top").fit(*fitted[:2], sensitive_features=fitted[2])
    made.save(tmp_path / "map.json")
    cells = [oracles.top_rows(fitted[0], 0.4, fitted[2] if top_of == "group" else None)]
    np.testing.assert_array_equal(above(made, fitted), cells[0])
    for scores, y, group in (fitted, new):
        top = above(made, (scores, y, group))
        moved = made.transform(scores, sensitive_features=group)
        np.testing.assert_array_equal(moved[~top], scores[~top])
        start = np.array([made.starts_[g] for g in group])
        assert (moved[top] >= start[top]).all()
        assert (moved[top] != scores[top]).any()
        np.testing.assert_array_equal(load(tmp_path / "map.json").transform(scores, sensitive_features=group), moved)


def test_so_many_rows_are_a_top_too():
    scores, y, group = draw(11, n=188)
    by_rows, by_share = (
        FairPOT(0.6, top=top, repair="top").fit(scores, y, sensitive_features=group) for top in (50, 0.25)
    )
    assert by_rows.starts_ == by_share.starts_
    assert by_rows.maps_ == by_share.maps_


@pytest.mark.filterwarnings("ignore::fairpot.exceptions.FairpotWarning")
@pytest.mark.parametrize("seed", range(6))
def test_few_rows_of_three_groups_fit_or_are_told(seed):
    """With a given strength and a handful of rows in the top: our words or a fit, and never anything else."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(9, 30))
    group, y = rng.permutation(np.arange(n) % 3), rng.integers(0, 2, n)
    scores = np.round(rng.normal(y + group), seed % 3)
    for rule, top_of in (({"lam": 0.5}, "all"), ({"lam": 0.5}, "group"), ({"max_auc_loss": 0.02}, "all")):
        told = None
        try:
            made = FairPOT(**rule, top=0.4, top_of=top_of, repair="top").fit(scores, y, sensitive_features=group)
            assert made.tradeoff(lams=[0, 0.5, 1]).auc.shape == (3,)
            assert len(made.tradeoff()) > 1
        except ValueError as error:
            told = str(error)
        assert told is None or "\nHint: " in told


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


def counted(y, moved, group, top, ties):
    """Count the AUC of all and both xAUCs of the top pair by pair; NaN where there are none."""
    cells = {(g, k): int(((group[top] == g) & (y[top] == k)).sum()) for g in "ab" for k in (0, 1)}
    pairs = (sum(y) * (len(y) - sum(y)), cells["a", 1] * cells["b", 0], cells["b", 1] * cells["a", 0])
    half, rows = ties == "half", (y[top], moved[top], group[top])
    found = (oracles.auc(y, moved, half=half), *(oracles.xauc(*rows, *names, half=half) for names in ("ab", "ba")))
    return [value if many else np.nan for value, many in zip(found, pairs)]


@pytest.mark.filterwarnings("ignore::fairpot.exceptions.FairpotWarning", "ignore::fairpot.UndefinedMetricWarning")
@pytest.mark.parametrize("monotone", [False, True])
@tops
def test_every_lambda_of_tiny_tables(top_of, monotone):
    """A repaired top is that of the fitted scores, whatever becomes of it: every lambda, pair by pair."""
    rng = np.random.default_rng([7, top_of == "group", monotone])
    compared = tables = 0
    for _ in range(120):
        (fitted, new), ties = tiny_pair(rng), str(rng.choice(["half", "strict"]))
        options = {"top": float(rng.choice([0.3, 0.5, 0.75])), "top_of": top_of, "repair": "top"}
        made = FairPOT(0.0, **options, monotone=monotone, reference="a", ties=ties)
        for where in (fitted, new):
            try:
                made.fit(*fitted[:2], sensitive_features=fitted[2])
                curve = made.tradeoff(*where[:2], sensitive_features=where[2])
            except ValueError:  # a group without rows in the top
                continue
            if is_found_again(made):
                continue  # of ties: the curve of everybody's repair, which is looked at above
            tables += 1
            for lam in curve.lam.tolist():
                moved = made.at(lam).transform(where[0], sensitive_features=where[2], other_scale="warn")
                point = curve.at(lam)
                expected = counted(where[1], moved, where[2], above(made, where), ties)
                np.testing.assert_allclose([point.auc, point.xauc_ab, point.xauc_ba], expected, rtol=0, atol=1e-12)
                compared += 1
    assert tables > 45
    assert compared > 150
