"""Deciles in, deciles out: maps are tables, and the dial is chosen by the cut scores."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairpot
from fairpot.exceptions import InfeasibleRuleError, ModelFileError
from fairpot.methods import FairPOT, LogitShift, OptimalMerge, WassersteinRepair
from fairpot.metrics import auc, xauc_gap
from fairpot.metrics.wins import WinMatrix
from fairpot.repair.shaped import cut_map
from fairpot.table import ScoreTable
from fairpot.transport import ScoreMap
from fairpot.transport.pieces import pieces

MOVERS = [FairPOT, LogitShift, OptimalMerge, WassersteinRepair]
pytestmark = pytest.mark.filterwarnings("ignore::fairpot.exceptions.FairpotWarning")


def deciles(n=2000, seed=0, levels=10):
    rng = np.random.default_rng(seed)
    group = np.where(rng.random(n) < 0.4, "b", "a")
    z = rng.normal(size=n) + np.where(group == "b", -0.5, 0.0)
    y = (rng.random(n) < 1 / (1 + np.exp(1 - z))).astype(int)
    return np.ceil(levels * (pd.Series(z).rank() / n)).to_numpy(), y, group


@settings(max_examples=80, deadline=None)
@given(
    grid=st.lists(
        st.one_of(st.floats(-1e6, 1e6), st.sampled_from([0.5, math.nextafter(0.5, 1)])), min_size=1, max_size=9
    ),
    seed=st.integers(0, 9999),
)
def test_a_cut_map_is_the_nearest_score_of_the_grid(grid, seed):
    grid = np.unique(np.array(grid) + 0.0)
    rng = np.random.default_rng(seed)
    full = ScoreMap(grid, np.sort(rng.uniform(grid[0] - 1, grid[-1] + 1, len(grid))))
    made = cut_map(full, grid)
    for old, new in zip(grid.tolist(), made(grid).tolist()):
        true = float(full(old))
        least = min(abs(true - g) for g in grid.tolist())
        assert abs(true - new) <= least + 1e-9 * max(1, abs(true))
        assert new in grid
    x = np.concatenate((grid, np.nextafter(grid, np.inf), rng.uniform(grid[0] - 1, grid[-1] + 1, 50)))
    assert set(made(x).tolist()) <= set(grid.tolist())
    assert (pieces(made)(x) == made(x)).all()
    assert not pieces(made).d.any()  # in every export a list of constants


@pytest.mark.parametrize("method", MOVERS, ids=lambda m: m.__name__)
def test_the_rule_holds_for_the_scores_that_come_out(method, tmp_path):
    """Whatever is fitted keeps its rule on the cut scores; what cannot be kept is refused."""
    kept, refused = 0, []
    for seed, bound in ((0, 0.03), (0, 0.06), (1, 0.06)):
        scores, y, group = deciles(400, seed)
        try:
            made = method(max_gap=bound, keep="grid").fit(scores, y, sensitive_features=group)
        except InfeasibleRuleError as error:
            refused.append(str(error))
            continue
        new = made.transform(scores, sensitive_features=group)
        assert set(new) <= set(scores)
        found = xauc_gap(y, new, sensitive_features=group)
        assert found <= bound + 1e-12
        point = made.tradeoff(lams=[made.strength_]).point(0)
        assert (point.gap, point.auc) == (pytest.approx(found), pytest.approx(auc(y, new)))
        made.save(tmp_path / "map.json", overwrite=True)
        loaded = fairpot.load(tmp_path / "map.json")
        np.testing.assert_array_equal(loaded.transform(scores, sensitive_features=group), new)
        kept += 1
    assert all("smallest gap is" in text for text in refused)
    assert kept >= (1 if method is LogitShift else 2)


@pytest.mark.parametrize("method", MOVERS, ids=lambda m: m.__name__)
def test_every_value_of_the_curve_is_that_of_the_cut_scores(method):
    scores, y, group = deciles(300, 3)
    made = method(**{method.dial.name: 0.4}, keep="grid").fit(scores, y, sensitive_features=group)
    curve = made.tradeoff()
    for place in range(0, len(curve.lam), max(len(curve.lam) // 12, 1)):
        new = made.at(float(curve.lam[place])).transform(scores, sensitive_features=group)
        assert auc(y, new) == pytest.approx(curve.auc[place], abs=1e-12)
        assert xauc_gap(y, new, sensitive_features=group) == pytest.approx(curve.gap[place], abs=1e-12)
    assert made.tradeoff(lams=curve.lam[:3]).band().gap.high.shape == (3,)


def best_of_all_tables(table, bound):
    """Try every never-falling table of the moved group; return the highest AUC within a gap."""
    levels = np.unique(np.concatenate([c.score for c in table.counts]))
    k = len(levels)
    cells = {}
    for g, c in zip(table.groups, table.counts):
        at = np.searchsorted(levels, c.score)
        cells[g] = [np.bincount(at, side, k) for side in (c.positive, c.negative)]
    maps = np.array(list(itertools.combinations_with_replacement(range(k), k)))
    (pa, na), (pb, nb) = cells["a"], cells["b"]
    below = lambda counts: np.cumsum(counts) - counts / 2  # noqa: E731
    wins_b, wins_a = below(na)[maps] @ pb, (pa.sum() - below(pa))[maps] @ nb
    inside = np.zeros(len(maps))
    for i, j in itertools.product(range(k), repeat=2):
        inside += pb[i] * nb[j] * ((maps[:, i] > maps[:, j]) + 0.5 * (maps[:, i] == maps[:, j]))
    gap = wins_a / (pa.sum() * nb.sum()) - wins_b / (pb.sum() * na.sum())
    total = (wins_a + wins_b + inside + (below(na) @ pa)) / ((pa.sum() + pb.sum()) * (na.sum() + nb.sum()))
    return total[np.abs(gap) <= bound].max(initial=-1), len(maps)


def test_no_table_of_one_group_reaches_more():
    """All 92,378 never-falling tables of ten levels: what one group can reach, and how near the methods come."""
    bound = 0.05
    scores, y, group = deciles(3000, 1)
    table = fairpot.score_table(y, scores, sensitive_features=group)
    best, tried = best_of_all_tables(table, bound)
    assert tried == 92378
    reached = {}
    for method in (FairPOT, OptimalMerge):
        made = method(max_gap=bound, keep="grid", reference="a").fit(table)
        reached[method] = WinMatrix.of(table.rescored(made.maps_), "half").auc()
        assert reached[method] <= best + 1e-12
    assert reached[OptimalMerge] > best - 0.004


def test_compas_deciles_stay_deciles(data_home):
    rows = pd.read_csv(data_home / "compas-scores-two-years.csv")
    rows = rows[rows["race"].isin(["African-American", "Caucasian"])]
    columns = {"sensitive_features": rows["race"]}
    free = OptimalMerge(max_gap=0.05).fit(rows["decile_score"], rows["two_year_recid"], **columns)
    made = OptimalMerge(max_gap=0.05, keep="grid").fit(rows["decile_score"], rows["two_year_recid"], **columns)
    new = made.transform(rows["decile_score"], **columns)
    assert set(new) == set(range(1, 11))
    assert xauc_gap(rows["two_year_recid"], new, **columns) <= 0.05
    assert 0 <= free.achieved_.auc - made.achieved_.auc < 0.005
    assert made.achieved_.gap <= 0.05 >= free.achieved_.gap


def test_certified_on_cut_scores():
    scores, y, group = deciles(4000)
    made = FairPOT(max_gap=0.12, confidence=0.9, keep="grid").fit(scores, y, sensitive_features=group)
    new = made.transform(scores, sensitive_features=group)
    assert set(new) <= set(scores)
    assert xauc_gap(y, new, sensitive_features=group) <= 0.12
    assert made.certificate_.gap.value == pytest.approx(xauc_gap(y, new, sensitive_features=group), abs=0.03)


def test_several_groups_the_top_and_comparisons():
    scores, y, group = deciles(900)
    three = np.where(np.arange(900) % 3 == 0, "c", group)
    made = OptimalMerge(max_gap=0.1, keep="grid").fit(scores, y, sensitive_features=three)
    new = made.transform(scores, sensitive_features=three)
    assert set(new) <= set(scores)
    assert xauc_gap(y, new, sensitive_features=three) <= 0.1
    for repair in ("all", "top"):
        top = FairPOT(0.5, top=0.4, repair=repair, keep="grid").fit(scores, y, sensitive_features=group)
        assert set(top.transform(scores, sensitive_features=group)) <= set(scores)
        assert top.tradeoff().top == 0.4
    found = fairpot.compare(
        y, scores, sensitive_features=group, methods={"cut": FairPOT(keep="grid"), "not": FairPOT()}, cv=2
    )
    assert {"cut", "not"} <= set(found.methods)


def test_private_tables_are_exact_or_refused():
    scores, y, group = deciles()
    made = FairPOT(0.6, keep="grid").fit(scores, y, sensitive_features=group)
    private = made.fair_maps_.private_content()
    assert private.private.largest_error == 0
    assert private.maps == made.fair_maps_.file_content().maps
    scores = np.append(11, scores[1:])
    made.fit(scores, y, sensitive_features=group)
    with pytest.raises(ModelFileError, match="fewer than 10 rows have some score of its grid"):
        made.fair_maps_.private_content()


def test_what_is_no_grid_is_refused():
    rng = np.random.default_rng(0)
    group, y = np.array(["a", "b"])[np.arange(3000) % 2], np.arange(3000) % 3 == 0
    with pytest.raises(ValueError, match="3,000 distinct scores are no grid"):
        FairPOT(0.5, keep="grid").fit(rng.random(3000), y, sensitive_features=group)


def test_low_scores_that_mean_high_risk():
    scores, y, group = deciles()
    table = fairpot.score_table(y, 11 - scores, sensitive_features=group, lower_is_riskier=True)
    made = FairPOT(max_gap=0.05, keep="grid").fit(table)
    new = made.transform(11 - scores, sensitive_features=group)
    assert set(new) <= set(range(1, 11))
    row = made.fair_maps_.row_scorer()
    assert [row(s, g) for s, g in zip((11 - scores[:300]), group)] == new[:300].tolist()


def test_a_table_from_rows_and_from_counts_is_the_same():
    scores, y, group = deciles(400)
    table = ScoreTable.from_rows(scores, y.astype(np.int8), (group == "b").astype(int), ("a", "b"))
    one = WassersteinRepair(0.5, keep="grid").fit(scores, y, sensitive_features=group)
    assert one.maps_ == WassersteinRepair(0.5, keep="grid").fit(table).maps_


def test_the_gap_of_the_top_is_judged_on_cut_scores():
    scores, y, group = deciles(1500)
    made = OptimalMerge(max_gap=0.15, top=0.4, keep="grid").fit(scores, y, sensitive_features=group)
    new = made.transform(scores, sensitive_features=group)
    assert set(new) <= set(scores)
    assert xauc_gap(y, new, top=0.4, sensitive_features=group) <= 0.15


def best_of_whole_steps(scores, y, group, bounds, most=4):
    """Move every group but the first by whole deciles, each by its own: the highest AUC within each of some gaps."""
    names, cells = sorted(set(group)), {}
    for g, up in itertools.product(names, range(-most, most + 1)):
        moved = np.clip(scores[group == g] + up, 1, 10).astype(int)
        cells[g, up] = [np.bincount(moved[y[group == g] == kind], minlength=11) for kind in (1, 0)]
    won = {
        (one, other): float(cells[one][0] @ (np.cumsum(n) - n / 2)) for one in cells for other, (_, n) in cells.items()
    }
    sizes = {g: [int(c.sum()) for c in cells[g, 0]] for g in names}
    pairs = {(g, h): sizes[g][0] * sizes[h][1] for g, h in itertools.product(names, names)}
    best = dict.fromkeys(bounds, -1.0)
    for steps in itertools.product([0], *[range(-most, most + 1)] * (len(names) - 1)):
        at = list(zip(names, steps))
        gap = max(
            abs(won[a, b] / pairs[a[0], b[0]] - won[b, a] / pairs[b[0], a[0]]) for a, b in itertools.combinations(at, 2)
        )
        for bound in bounds:
            if gap <= bound:
                best[bound] = max(
                    best[bound], sum(won[a, b] for a, b in itertools.product(at, at)) / sum(pairs.values())
                )
    return best


def test_five_groups_on_a_grid_reach_what_whole_steps_reach():
    """Where moving every group by whole deciles keeps a bound, the repair keeps it, with no lower an AUC."""
    rng = np.random.default_rng(44)
    group, y = rng.choice(list("abcde"), 1500), rng.integers(0, 2, 1500)
    z = rng.normal(1.2 * y + pd.Series(group).map(dict(zip("abcde", (0.6, 0.2, 0.0, -0.3, -0.6)))).to_numpy())
    scores = np.ceil(10 * pd.Series(z).rank() / 1500).to_numpy()
    best = best_of_whole_steps(scores, y, group, (0.1, 0.2))
    assert min(best.values()) > 0
    for bound, expected in best.items():
        made = LogitShift(max_gap=bound, keep="grid", reference="a").fit(scores, y, sensitive_features=group)
        found = made.achieved_
        assert found.gap <= bound
        assert min(found.auc, found.auc_before) >= min(expected, found.auc_before) - 2e-4
        assert set(made.transform(scores, sensitive_features=group)) <= set(range(1, 11))


def test_a_step_down_over_several_scores_of_the_grid_is_saved(tmp_path):
    rng = np.random.default_rng(0)
    group = np.repeat(["a", "b"], [400, 60])
    scores = np.round(rng.normal(np.where(group == "a", 0.0, 0.6)), 2)
    model = FairPOT(0.5, reference="a", keep="grid").fit(scores, sensitive_features=group)
    assert (np.diff(model.maps_["b"].values) < 0).sum() > 1
    model.save(tmp_path / "map.json")
    loaded = fairpot.load(tmp_path / "map.json")
    expected = model.transform(scores, sensitive_features=group)
    np.testing.assert_array_equal(loaded.transform(scores, sensitive_features=group), expected)
