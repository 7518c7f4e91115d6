"""Plans: rows of the planned number reach the goal as often as promised."""

import numpy as np
import pytest
from scipy import stats

from fairpot import score_table
from fairpot.inference import confidence_interval, plan_sample_size, verdict
from rows_cases import draw

ROOT2 = np.sqrt(2)


def rows_like(rng, plan, xaucs, rates):
    """Draw as many rows as planned: group, outcome and score."""
    names = np.array(list(plan.group_rows))
    group = rng.choice(len(names), plan.rows, p=np.array(list(plan.group_rows.values())) / plan.rows)
    y = rng.random(plan.rows) < np.array(rates)[group]
    score = rng.normal(size=plan.rows) + y * ROOT2 * stats.norm.ppf(xaucs)[group]
    return score_table(y.astype(int), score, sensitive_features=names[group])


def reached(plan, draws, xaucs, rates):
    rng = np.random.default_rng(123)
    tables = (rows_like(rng, plan, xaucs, rates) for _ in range(draws))
    if plan.goal == "detect":
        return np.mean([confidence_interval("xauc_gap", t, level=plan.level).low > 0 for t in tables])
    return np.mean([verdict(t, bound=plan.gap, level=plan.level).answer == "within" for t in tables])


DRAWS = 200
# Three points, and three standard errors of the draws.
CLOSE = 0.03 + 3 * np.sqrt(0.16 / DRAWS)


@pytest.mark.parametrize(
    ("given", "xaucs", "rates"),
    [
        pytest.param(
            {"gap": 0.08, "auc": 0.94, "shares": {"a": 0.15, "b": 0.85}, "rates": 0.15},
            (0.98, 0.9),
            (0.15, 0.15),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            {"gap": 0.12, "auc": 0.65, "rates": {"a": 0.1, "b": 0.4}, "power": 0.9},
            (0.71, 0.59),
            (0.1, 0.4),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            {"gap": 0.1, "goal": "certify", "auc": 0.95, "rates": 0.05, "power": 0.9},
            (0.95, 0.95),
            (0.05, 0.05),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            {"gap": 0.15, "auc": 0.75, "shares": {"a": 0.2, "b": 0.3, "c": 0.5}, "rates": 0.3},
            (0.825, 0.675, 0.75),
            (0.3,) * 3,
            marks=pytest.mark.slow,
        ),
        ({"gap": 0.2, "goal": "certify", "auc": 0.8, "rates": 0.3}, (0.8, 0.8), (0.3, 0.3)),
        ({"gap": 0.2, "auc": 0.8, "rates": 0.2, "power": 0.9}, (0.9, 0.7), (0.2, 0.2)),
    ],
)
def test_a_plan_reaches_its_goal_as_often_as_it_says(given, xaucs, rates):
    plan = plan_sample_size(**given)
    assert abs(reached(plan, DRAWS, xaucs, rates) - plan.power) < CLOSE
    assert plan == plan_sample_size(**given)


@pytest.mark.parametrize("visits", [1, 5])
def test_a_plan_from_rows_reaches_its_goal(visits):
    """Rows drawn from the table itself, three groups, scores on a coarse scale."""
    rng = np.random.default_rng(4)
    people = 4000
    unit = np.repeat(np.arange(people), visits)
    group = rng.choice(3, people, p=(0.2, 0.3, 0.5))[unit]
    y = (rng.random(len(unit)) < 0.25).astype(int)
    height = np.array([0.0, 0.3, 0.15])[group]  # the two smallest groups need most, and have the widest gap
    score = np.round(2 * (rng.normal(0, 0.6, people)[unit] + rng.normal(size=len(unit)) + 1.5 * y + height)) / 2
    table = score_table(y, score, sensitive_features=group, clusters=unit if visits > 1 else None)
    bound = 0.12 + (truth := float(confidence_interval("xauc_gap", table)))
    plan = plan_sample_size(bound, goal="certify", true_gap=truth, table=table)
    assert plan.pair == (1, 0)
    assert (plan.clusters is None) == (visits == 1)
    assert sum(plan.group_rows.values()) == plan.rows
    hits = 0
    for _ in range(DRAWS):
        drawn = rng.integers(0, people, plan.clusters or plan.rows)
        at = (drawn[:, None] * visits + np.arange(visits)).ravel()
        again = np.repeat(np.arange(len(drawn)), visits)
        rows = score_table(y[at], score[at], sensitive_features=group[at], clusters=again if visits > 1 else None)
        hits += verdict(rows, bound=bound).answer == "within"
    assert abs(hits / DRAWS - 0.8) < CLOSE


@pytest.mark.usefixtures("few_draws")
def test_a_plan_from_a_table_is_its_own_standard_error():
    rng = np.random.default_rng(0)
    g, y = rng.integers(0, 2, 5000), rng.random(5000) < 0.3
    rows = score_table(y.astype(int), rng.normal(y + 0.6 * (g == 0)), sensitive_features=np.array(["a", "b"])[g])
    found = confidence_interval("xauc_gap", rows)
    plan = plan_sample_size(found.value, table=rows)
    np.testing.assert_allclose(plan.se * np.sqrt(plan.rows), found.se * np.sqrt(5000), rtol=1e-9)
    assert plan.pair == ("a", "b")
    certified = plan_sample_size(0.05, goal="certify", table=rows)
    assert "certify" in str(certified)
    assert certified.rows > plan.rows


@pytest.mark.usefixtures("few_draws")
def test_the_parts_of_a_plan_add_up():
    rng = np.random.default_rng(2)
    for _ in range(4):
        shares = dict(zip("abcd", rng.uniform(0.1, 0.9, rng.integers(2, 5))))
        plan = plan_sample_size(float(rng.uniform(0.08, 0.2)), shares=shares, rates=float(rng.uniform(0.05, 0.5)))
        assert sum(plan.group_rows.values()) == plan.rows
        assert all(plan.positives[g] + plan.negatives[g] == n for g, n in plan.group_rows.items())


@pytest.mark.usefixtures("few_draws")
def test_of_several_groups_the_smallest_two_need_most():
    plan = plan_sample_size(0.1, shares={"x": 0.45, "y": 0.2, "z": 0.35}, rates={"x": 0.2, "y": 0.2, "z": 0.05})
    assert set(plan.pair) == {"y", "z"}
    two = plan_sample_size(0.1, shares={"y": 0.2, "z": 0.35}, rates={"y": 0.2, "z": 0.05})
    assert plan.group_rows["y"] + plan.group_rows["z"] > 0.95 * two.rows


@pytest.mark.parametrize(
    ("kwargs", "said"),
    [
        ({"gap": 0.05, "goal": "find"}, "goal must be"),
        ({"gap": 0.05, "power": 80}, "power must lie"),
        ({"gap": 0.05, "goal": "certify", "true_gap": 0.06}, "cannot be certified"),
        ({"gap": 0.05, "shares": {"a": 1.0}}, "at least two groups"),
        ({"gap": 0.05, "rates": {"x": 0.1}}, "one entry for each group"),
        ({"gap": 0.05, "rates": 1.0}, "below 1"),
        ({"gap": 0.05, "true_gap": 0.0}, "nothing to detect"),
    ],
)
def test_plans_are_checked(kwargs, said):
    with pytest.raises(ValueError, match=said):
        plan_sample_size(kwargs.pop("gap"), **kwargs)


def test_no_plan_from_rows_without_spread():
    rows = score_table([1, 0] * 20, [0.5] * 40, sensitive_features=["a"] * 20 + ["b"] * 20)
    with pytest.raises(ValueError, match="every pair alike"):
        plan_sample_size(0.05, table=rows)
    with pytest.raises(ValueError, match="a plan compares groups"):
        plan_sample_size(0.05, table=rows.only(["a"]))


def test_a_plan_says_which_true_gap_it_assumes():
    """That of the rows where it can be certified; else none, as after a repair."""
    score, y, sex = draw(2000, seed=5)
    table = score_table(y, score, sensitive_features=sex)
    own = float(confidence_interval("xauc_gap", table))
    small, large = (plan_sample_size(bound, goal="certify", table=table) for bound in (own / 2, 2 * own))
    assert (small.true_gap, large.true_gap, small.measured_gap) == (0.0, pytest.approx(own), pytest.approx(own))
    assert large.rows == plan_sample_size(2 * own, goal="certify", table=table, true_gap=own).rows
    assert "a repair that leaves a true gap of 0. These rows have a gap of" in small.assumes
    assert f"a true gap of {own:.3g}, the gap of these rows" in large.assumes
    assert "a true gap of 0. true_gap" in plan_sample_size(0.3, goal="certify").assumes
    alone = plan_sample_size(0.3)
    assert alone.assumes.startswith("Assumed: a true gap of 0.3. And normal scores, with and without the outcome")
    assert "normal" not in small.assumes + large.assumes


def test_scores_that_are_not_normal_take_more_rows_than_a_plan_from_numbers_says():
    """Exponential scores with an AUC of 0.8 and few outcomes: a plan from such rows sees it."""
    rng, n = np.random.default_rng(0), 20_000
    y, group = (rng.random(n) < 0.1).astype(int), rng.choice(["a", "b"], n)
    score = rng.exponential(size=n) * np.where(y == 1, 4, 1)
    table = score_table(y, score, sensitive_features=group)
    numbers, rows = plan_sample_size(0.05, auc=0.8, rates=0.1), plan_sample_size(0.05, table=table, true_gap=0.05)
    assert rows.rows > 1.2 * numbers.rows
