"""The experiments do what the paper's text says: against a second implementation that shares no code with the first."""

import numpy as np
import ot
import pytest
from sklearn.model_selection import train_test_split

import paper_oracle as paper
from fairpot import FairPOT
from fairpot.datasets import fetch_compas, make_synthetic
from fairpot.methods.fairpot import transport_plans
from fairpot.metrics import auc, xauc
from fairpot_paper.models import make_model
from fairpot_paper.plan import Run, Training, trainings_of
from fairpot_paper.runs import (
    UNFITTED,
    Sides,
    auc_and_gap,
    boundary_map,
    fitted_repairs,
    make_results,
    measure,
    top_of,
)
from fairpot_paper.scores import Scored, counted, place_of, train
from rows_cases import drawn

EXACT = 1e-12
SIDES = Sides("a", "b")
COMPARED = ("fairpot", "fairpot_boundary", "fairpot_switched", "post_logit")
distinct_or_tied = pytest.mark.parametrize("levels", [None, 16, 64], ids=["distinct", "16 levels", "64 levels"])
regions = pytest.mark.parametrize("region", ["pooled", "group"])
TOP_OF = {"pooled": "all", "group": "group"}  # what a user calls the regions of the paper


def draw(seed, n, levels=None):
    """Scores with a lower group b; on few levels, powers of two apart, ties are ties to the last bit."""
    y, scores, group = drawn(n, seed, lift=0.7, probability=True)
    return paper.Rows(scores if levels is None else np.round(scores * levels) / levels, y.astype(np.int8), group)


def at_lambdas(series):
    """Pick the paper's eleven values out of a series of eleven or of a hundred and one."""
    return series[:: (len(series) - 1) // 10]


def assert_same(found, expected, *, tied=False):
    """Compare every method, way of counting ties, AUC and gap that the paper's implementation gives."""
    for method, by_ties in expected.items():
        # Part of the way to a barycentre two scores may meet by chance, up to round-off: all the way is the paper's.
        where = [0, -1] if tied and method == "wasserstein" else slice(None)
        for ties, series in by_ties.items():
            for name, values in series.items():
                got = at_lambdas(found[method][ties][name]) if len(values) == 11 else found[method][ties][name]
                label = f"{method} {ties} {name}"
                np.testing.assert_allclose(
                    np.array(got)[where], np.array(values)[where], rtol=0, atol=EXACT, err_msg=label
                )


def evaluated(fitted, new, sides=SIDES):
    """Measure the methods on counted rows, as a run does."""
    found = {name: measure(repair, new, sides) for name, repair in UNFITTED.items()}
    fits = fitted_repairs(sides)
    for method in COMPARED:
        repairs = fits[method](fitted)
        found[method] = {ties: v for repair in repairs for ties, v in measure(repair, new, sides).items()}
    return found


# --- the second implementation itself --------------------------------------------------------------------------------


@pytest.mark.parametrize("levels", [None, 8])
@pytest.mark.parametrize("sizes", [(30, 47), (40, 20), (1, 9), (25, 25)])
def test_equal_ranks_are_the_optimal_plan(sizes, levels):
    """The transport of sorted rows is what a network simplex finds."""
    rng = np.random.default_rng(sum(sizes))
    b, a = (rng.random(n) if levels is None else rng.integers(0, levels, n) / levels for n in sizes)
    plan = ot.emd(np.full(len(b), 1 / len(b)), np.full(len(a), 1 / len(a)), (b[:, None] - a) ** 2, numItermax=10**7)
    projected = len(b) * plan @ a
    knots, full = paper.transported(b, a)
    np.testing.assert_array_equal(knots, np.unique(b))
    np.testing.assert_allclose(full, [projected[b == score].mean() for score in knots], rtol=0, atol=1e-9)


def test_one_example_by_hand():
    """Two of four are moved: 0.5 and 0.3 to the ranks of 0.9 and 0.7; 0.4 goes half the way between them."""
    train = paper.Rows(np.array([0.9, 0.7, 0.4, 0.2, 0.5, 0.3, 0.2, 0.1]), np.tile([1, 0], 4), np.repeat(["a", "b"], 4))
    test = paper.Rows(np.array([0.6, 0.4, 0.25, 0.05]), np.array([1, 0, 1, 0]), np.repeat("b", 4))
    kept, boundary = (paper.fairpot(train, test, "a", "b", edge)[5].scores for edge in ("kept", "boundary"))
    np.testing.assert_allclose(kept, [0.9, 0.8, 0.45, 0.05], atol=EXACT)
    np.testing.assert_allclose(boundary, [0.9, 0.8, 0.45, 0.1], atol=EXACT)
    halves = paper.Rows(np.array([0.9, 0.7, 0.5, 0.3]), np.tile([1, 0], 2), np.repeat(["a", "b"], 2))
    np.testing.assert_allclose(paper.wasserstein(halves)[-1].scores, [0.7, 0.5, 0.7, 0.5], atol=EXACT)


# --- maps and measures -----------------------------------------------------------------------------------------------


@distinct_or_tied
@pytest.mark.parametrize("seed", range(4))
def test_whole_ranking(seed, levels):
    fitted, new = draw(2 * seed, 150, levels), draw(2 * seed + 1, 80, levels)
    found = evaluated(counted(*fitted), counted(*new))
    assert_same(found, paper.everything(fitted, new, "a", "b"), tied=levels is not None)


@regions
@distinct_or_tied
@pytest.mark.parametrize("seed", range(3))
def test_top_region(seed, levels, region):
    fitted, new = draw(2 * seed, 200, levels), draw(2 * seed + 1, 120, levels)
    found = evaluated(top_of(counted(*fitted), 0.4, region), top_of(counted(*new), 0.4, region))
    assert_same(found, paper.partial(fitted, new, "a", "b", 0.4, region), tied=levels is not None)


@distinct_or_tied
def test_groups_change_places(levels):
    """Switched is FairPOT with the other group moved; the gap is still seen from the same side."""
    fitted, new = draw(20, 150, levels), draw(21, 80, levels)
    ways = [evaluated(counted(*fitted), counted(*new), sides) for sides in (SIDES, Sides("b", "a"))]
    for ties in ("strict", "half"):
        switched, other = ways[0]["fairpot_switched"][ties], ways[1]["fairpot"][ties]
        assert at_lambdas(switched["auc"]) == at_lambdas(other["auc"])
        assert at_lambdas(switched["gap"]) == [-gap for gap in at_lambdas(other["gap"])]


@distinct_or_tied
@pytest.mark.parametrize("lam", paper.LAMBDAS)
def test_boundary_map_is_the_papers_interpolation(lam, levels):
    fitted, asked = draw(30, 120, levels), np.linspace(-0.1, 1.1, 241)
    plan = transport_plans(counted(*fitted), "a")["b"]
    knots, full = paper.transported(fitted.of("b"), fitted.of("a"))
    expected = paper.interpolated_everywhere(fitted.of("b"), knots, full, lam, asked)
    np.testing.assert_allclose(boundary_map(plan, lam)(asked), expected, rtol=0, atol=EXACT)


def test_at_lambda_zero_the_paper_clips_and_the_library_does_not():
    """With the paper's edges lambda = 0 is the model itself only inside the range of the training scores."""
    fitted, new = draw(31, 60), draw(32, 400)
    found = evaluated(counted(*fitted), counted(*new))
    unadjusted = found["unadjusted"]["half"]
    assert found["fairpot"]["half"]["auc"][0] == unadjusted["auc"][0]
    assert found["fairpot_boundary"]["half"]["auc"][0] != unadjusted["auc"][0]


@pytest.mark.filterwarnings("ignore::fairpot.UndefinedMetricWarning")
@pytest.mark.parametrize("label", [0, 1])
def test_what_cannot_be_compared_has_the_papers_value(label):
    """Without positives or without negatives: strictly the paper's 0 and 1, with half ties nothing."""
    for rows in (draw(40, 60), draw(41, 60, 16)):
        for within in ([True] * 60, rows.group == "a", rows.group == "b"):
            y = np.where(within, label, rows.y).astype(np.int8)
            case = rows._replace(y=y)
            got = auc_and_gap(counted(*case), SIDES, "strict")
            assert got == pytest.approx((paper.auc(case, False), paper.signed_gap(case, "a", "b", False)), abs=EXACT)
            assert np.isnan(auc_and_gap(counted(*case), SIDES, "half")[1])


# --- whole runs ------------------------------------------------------------------------------------------------------


def made_up(rng, y, group, spread):
    """Scores of a model that does not exist: some signal, and b below a."""
    logits = rng.normal(scale=spread, size=len(y)) + y + np.where(group == "a", 0.3, -0.3) - 1
    return (1 / (1 + np.exp(-logits))).astype(np.float32).astype(np.float64)


def write_made_up(folder, training, rows, groups, rng):
    """Write the scores that training would write; return the training rows in and out of sample, and the test rows."""
    names = np.array(groups)
    y, group = [(rng.random(n) < 0.3).astype(np.int8) for n in rows], [names[rng.integers(0, 2, n)] for n in rows]
    seen = np.where(group[0] == groups[0], "a", "b"), np.where(group[1] == groups[0], "a", "b")
    own, out, new = (made_up(rng, y[i], seen[i], s) for i, s in ((0, 0.7), (0, 1.2), (1, 1.2)))
    file = place_of(folder, training)
    file.parent.mkdir(exist_ok=True)
    np.savez(file, **Scored(own, out, new, y[0], y[1], group[0], group[1], "none")._asdict())
    fitted = {"in_sample": paper.Rows(own, y[0], group[0]), "crossfit": paper.Rows(out, y[0], group[0])}
    return fitted, paper.Rows(new, y[1], group[1])


def of_run(entry, source):
    return {**entry["test"], **entry[source]}


def test_partial_run(tmp_path):
    """The region is found in the training rows and, apart from that, in the test rows; only its rows are measured."""
    run, rng = Run("partial", "synthetic", 0, "stacked_in"), np.random.default_rng(0)
    (fitted, new), (_, trees) = (
        write_made_up(tmp_path, training, (960, 240), ("a", "b"), rng) for training in trainings_of(run)
    )
    results = make_results(run, tmp_path)
    assert results["failed"] == []
    for region, entry in results["tests"][0].items():
        for source in ("in_sample", "crossfit"):
            assert_same(of_run(entry, source), paper.partial(fitted[source], new, "a", "b", results["alpha"], region))
        top = paper.top_region(trees, results["alpha"], region)
        expected = {"xgboost": {ties: paper.measured([top], "a", "b", ties == "half") for ties in ("strict", "half")}}
        assert_same(entry["test"], expected)


@pytest.mark.parametrize("kind", ["tradeoff", "partial"])
def test_resampled_run(tmp_path, kind):
    """Resamples draw test rows alone; the region is that of the rows drawn, and the maps are the same for all."""
    model = "xgboost" if kind == "tradeoff" else "stacked_in"
    run, rng = Run(kind, "clinical", 0, model, resamples=2), np.random.default_rng(1)
    written = [write_made_up(tmp_path, each, (700, 500), ("Male", "Female"), rng) for each in trainings_of(run)]
    fitted, new = written[0]
    results = make_results(run, tmp_path)
    assert len(results["tests"]) == 2
    for seed, entry in enumerate(results["tests"]):
        drawn = new.take(np.random.default_rng(seed).integers(500, size=500))
        if kind == "tradeoff":
            expected = paper.everything(fitted["in_sample"], drawn, "Male", "Female")
            assert_same(of_run(entry, "in_sample"), expected)
        for region in entry if kind == "partial" else ():
            expected = paper.partial(fitted["in_sample"], drawn, "Male", "Female", 0.1, region)
            assert_same(of_run(entry[region], "in_sample"), expected)


@pytest.fixture(scope="module")
def compas(data_home):
    """Split and score COMPAS by hand: the first seed."""
    data = fetch_compas(data_home=data_home, download_if_missing=False)
    fitted, new = train_test_split(np.arange(len(data.target)), test_size=0.2, random_state=0)
    model = make_model("xgboost", random_state=0, n_jobs=1, defaults="library")
    model.fit(data.data.iloc[fitted], data.target[fitted])
    scores = model.predict_proba(data.data)[:, 1].astype(np.float64)
    rows = paper.Rows(scores, np.asarray(data.target), np.asarray(data.group).astype(str))
    return rows.take(fitted), rows.take(new)


@pytest.fixture(scope="module")
def compas_run(data_home, compas, tmp_path_factory):
    folder = tmp_path_factory.mktemp("compas")
    train(Training("compas", 0, "xgboost", None, True), folder, data_home)
    return make_results(Run("tradeoff", "compas", 0, "xgboost"), folder)


def test_compas_from_the_file_to_the_record(compas, compas_run):
    """From the published rows on: split, model, maps, test rows, pairs."""
    assert compas_run["failed"] == []
    expected = paper.everything(*compas, "Male", "Female")
    assert_same(of_run(compas_run["tests"][0], "in_sample"), expected)


# --- what a user calls -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ties", ["strict", "half"])
def test_users_get_the_numbers_of_the_record(compas, compas_run, ties):
    fitted, new = compas
    record = compas_run["tests"][0]["in_sample"]["fairpot"][ties]
    for lam in paper.LAMBDAS:
        repair = FairPOT(lam, reference="Male").fit(fitted.scores, sensitive_features=fitted.group)
        moved = repair.transform(new.scores, sensitive_features=new.group)
        sides = {"sensitive_features": new.group, "ties": ties}
        ahead = xauc(new.y, moved, positive="Male", negative="Female", **sides)
        gap = ahead - xauc(new.y, moved, positive="Female", negative="Male", **sides)
        place = round(lam * 100)
        assert auc(new.y, moved, ties=ties) == pytest.approx(record["auc"][place], abs=EXACT)
        assert gap == pytest.approx(record["gap"][place], abs=EXACT)


@regions
@pytest.mark.parametrize("ties", ["strict", "half"])
def test_users_get_the_numbers_of_the_top(region, ties):
    """Fitted on the top and applied to that of the new rows: equal wherever the same rows are in the top afterwards."""
    fitted, new = draw(50, 400), draw(51, 300)
    alpha, equal = 0.3, 0
    top, there = (top_of(counted(*rows), alpha, region) for rows in (fitted, new))
    found = evaluated(top, there)["fairpot"][ties]
    options = {"top": alpha, "top_of": TOP_OF[region]}
    for lam in paper.LAMBDAS:
        repair = FairPOT(lam, reference="a").fit(top)
        starts = counted(*new).thresholds(alpha, TOP_OF[region])
        inside = new.scores >= np.array([starts[name] for name in new.group])
        moved = new.scores.copy()
        moved[inside] = repair.transform(new.scores[inside], sensitive_features=new.group[inside])
        before, after = (paper.top_region(new._replace(scores=s), alpha, region) for s in (new.scores, moved))
        if len(before.y) != len(after.y) or sorted(before.of("a")) != sorted(after.of("a")):
            continue
        equal += 1
        sides = {"sensitive_features": new.group, "ties": ties, **options}
        ahead = xauc(new.y, moved, positive="a", negative="b", **sides)
        gap = ahead - xauc(new.y, moved, positive="b", negative="a", **sides)
        place = round(lam * 100)
        assert auc(new.y, moved, **sides) == pytest.approx(found["auc"][place], abs=EXACT)
        assert gap == pytest.approx(found["gap"][place], abs=EXACT)
    assert equal >= 5


# --- the two rules below the region ----------------------------------------------------------------------------------


def test_the_edge_decides_where_training_scores_are_overfitted():
    """In the pooled top tenth of Synthetic most test rows of b lie below all training rows of b that are in it."""
    data = make_synthetic(random_state=0, as_frame=False)
    rows = np.arange(len(data.target))
    parts = train_test_split(rows, test_size=0.2, random_state=0)
    model = make_model("xgboost", random_state=0, n_jobs=1, defaults="library")
    scores = model.fit(data.data[parts[0]], data.target[parts[0]]).predict_proba(data.data)[:, 1].astype(np.float64)
    fitted, new = (paper.Rows(scores[part], data.target[part], data.group[part].astype(str)) for part in parts)
    top, there = (paper.top_region(part, 0.1, "pooled") for part in (fitted, new))
    assert (top.y == 1).all()  # so that nothing but the transport can be fitted there
    assert (there.of("b") < top.of("b").min()).mean() > 0.5
    gaps = {}
    for method, edge in (("fairpot", "kept"), ("fairpot_boundary", "boundary")):
        [repair] = fitted_repairs(SIDES)[method](top_of(counted(*fitted), 0.1, "pooled"))
        found = measure(repair, top_of(counted(*new), 0.1, "pooled"), SIDES)
        family = paper.fairpot(top, there, "a", "b", edge)
        assert_same(
            {method: found}, {method: {ties: paper.measured(family, "a", "b", ties == "half") for ties in found}}
        )
        gaps[edge] = abs(at_lambdas(found["half"]["gap"])[9])
    assert gaps["boundary"] - gaps["kept"] > 0.3
