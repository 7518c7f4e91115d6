"""One search for every method and rule, against rows: what is chosen is the best there is, and what select says."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

from fairpot import FairPOT, FairScoreClassifier, LogitShift, OptimalMerge, WassersteinRepair, score_table
from fairpot.exceptions import FairpotWarning, InfeasibleRuleError
from fairpot.metrics import xauc_gap
from fairpot.repair.registry import methods as all_methods

METHODS = all_methods()
methods = pytest.mark.parametrize("name", METHODS)


def draw(seed, n=60, groups="ab", digits=2, weights=False):
    """Draw few rows with ties, in which the groups' gap differs between the top of the list and the whole."""
    rng = np.random.default_rng(seed)
    place, y = rng.integers(0, len(groups), n), rng.integers(0, 2, n)
    logit = rng.normal(size=n) * (1 + place) + 1.2 * y - 0.7 * place
    weight = rng.integers(1, 4, n) if weights else np.ones(n, dtype=int)
    return (1 / (1 + np.exp(-logit))).round(digits), y, np.array(list(groups))[place], weight


def repeated(rows):
    """Say the same rows one by one, as often as they weigh."""
    return tuple(np.repeat(column, rows[3]) for column in rows[:3])


def share_won(winners, losers, half):
    return float(np.mean(np.subtract.outer(winners, losers) > 0) + half * np.mean(np.equal.outer(winners, losers)) / 2)


def top_gap(y, s, g, count, half):
    """The largest gap among the ``count`` highest rows, ties included; None where a group lacks an outcome there."""
    top = s >= np.sort(s)[-count]
    y, s, g, groups = y[top], s[top], g[top], np.unique(g)
    if any(not ((y == label) & (g == name)).any() for name in groups for label in (0, 1)):
        return None
    won = {(a, b): share_won(s[(y == 1) & (g == a)], s[(y == 0) & (g == b)], half) for a in groups for b in groups}
    return max(abs(won[a, b] - won[b, a]) for a, b in won)


def benefit(y, s, p):
    acted = s >= p
    return sum(1 if label else -p / (1 - p) for label in y[acted]) / len(y)


def quietly(call):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairpotWarning)
        return call()


def fitted(model, rows):
    return quietly(lambda: model.fit(*rows[:2], sensitive_features=rows[2], sample_weight=rows[3], weights="frequency"))


def all_shifts(s, g, reference, p):
    """A shift between every two at which scores of two groups, or a score and the threshold, become equal."""
    with np.errstate(divide="ignore"):
        z = np.log(s / (1 - s))
        fixed = z[g == reference] if p is None else np.append(z[g == reference], np.log(p / (1 - p)))
    moved = z[(g != reference) & np.isfinite(z)]
    points = np.unique(np.subtract.outer(fixed[np.isfinite(fixed)], moved).round(9))
    return np.concatenate(([0.0, points[0] - 1, points[-1] + 1], (points[1:] + points[:-1]) / 2))


def tried(name, rows, ties, p):
    """Every value of the dial, and the rows at each."""
    model = fitted(METHODS[name](**{METHODS[name].dial.name: 0.5}, ties=ties), rows)
    s, _, g = repeated(rows)
    values = model.tradeoff().lam if name != "logit-shift" else all_shifts(s, g, model.reference_, p)
    for value in values.tolist():
        yield value, np.asarray(model.at(value).transform(s, sensitive_features=g))


def shown(name, rows, ties, count, p):
    """What rows show of every value and of the original scores: (value, gap, worth, whether a group has one score)."""
    s, y, g = repeated(rows)
    half = ties == "half"

    def seen(value, after):
        worth = share_won(after[y == 1], after[y == 0], half) if p is None else benefit(y, after, p)
        flat = any(len(np.unique(after[g == group])) == 1 for group in np.unique(g))
        return value, top_gap(y, after, g, count or len(y), half), worth, flat

    return seen(METHODS[name].dial.identity, s), [seen(value, after) for value, after in tried(name, rows, ties, p)]


def expected(before, others, max_gap, benefits=False):
    """Choose by the definition; None if nothing keeps the rule."""

    def kept(gap):
        return gap is not None and gap <= max_gap + 1e-12

    identity, gap, worth, _ = before
    if identity is not None and kept(gap):
        return identity, worth
    best = [(value, w) for value, gap, w, flat in others if kept(gap) and not flat]
    if not best or identity is None:
        return max(best, key=lambda each: round(each[1], 10), default=None)
    top = np.inf if benefits else worth  # more AUC than before is no more; more net benefit is
    most = max(min(w, top) for _, w in best)
    return min((each for each in best if min(each[1], top) >= most - 1e-10), key=lambda each: abs(each[0]))


TOP, BENEFIT, BOTH = (0, "half", 20, None), (1, "strict", None, 0.4), (2, "half", 50, 0.35)


@pytest.mark.parametrize(
    ("name", "rule"),
    [(name, rule) for k, name in enumerate(METHODS) for rule in (BENEFIT, (TOP, BOTH)[k % 2])],
)
def test_every_method_chooses_what_rows_show_to_be_the_best(name, rule):
    seed, ties, count, p = rule
    rows = draw(seed, digits=1 if name == "logit-shift" else 2, weights=seed > 0)
    s, y, g = repeated(rows)
    before, others = shown(name, rows, ties, count, p)
    for max_gap in (0.02, 0.1) if p is None else (0.05,):
        wanted = expected(before, others, max_gap, p is not None)
        model = METHODS[name](max_gap=max_gap, top=count, net_benefit_at=p, ties=ties)
        between = name not in ("fairpot", "logit-shift", "post-logit")  # which look at the values of their grid alone
        try:
            fitted(model, rows)
        except InfeasibleRuleError:
            assert wanted is None
            continue
        assert wanted is not None or between
        after = np.asarray(model.transform(s, sensitive_features=g))
        assert top_gap(y, after, g, count or len(y), ties == "half") <= max_gap + 1e-12
        worth = share_won(after[y == 1], after[y == 0], ties == "half") if p is None else benefit(y, after, p)
        most = np.inf if before[0] is None or p is not None else before[2]
        if between:
            assert wanted is None or min(worth, most) >= min(wanted[1], most) - 1e-10
            continue
        assert worth == pytest.approx(wanted[1], abs=1e-10)
        if name != "logit-shift":  # which may choose another shift with the same order
            assert model.strength_ == pytest.approx(wanted[0])


def test_so_many_rows_are_as_many_rows_in_the_top():
    """Every number of rows is a share that cuts exactly there."""
    rng = np.random.default_rng(0)
    for n in (3, 7, 49, 360, 1000):
        table = score_table(np.arange(n) % 2, rng.permutation(n), sensitive_features=rng.permutation(np.arange(n) % 3))
        for k in range(1, n + 1, 1 + n // 60):
            assert table.top(k).rows == k


# What fit chooses is what select chooses.


RULES = [
    {"max_gap": 0.06},
    {"max_auc_loss": 0.004},
    {"max_gap": 0.12, "max_auc_loss": 0.05},
    {"max_gap": 0.1, "net_benefit_at": 0.35},
    {},
]


def fit(model, rows):
    """Fit without weights."""
    return quietly(lambda: model.fit(*rows[:2], sensitive_features=rows[2]))


def selected(model, rule):
    """Choose from the curve of a fitted model; None if nothing keeps the rule."""
    try:
        return quietly(lambda: model.tradeoff().select(**rule))
    except InfeasibleRuleError:
        return None


def agree(other, rows, rules):
    """Fit by each rule, and select by it from the curve of a model that was fitted with another."""
    kept = 0
    for rule in rules:
        point, model = selected(other, rule), clone(other).set_params(**{other.dial.name: None}, **rule)
        if point is None:
            with pytest.raises(InfeasibleRuleError):
                fit(model, rows)
            continue
        found = fit(model, rows).achieved_
        gap = found.gap if found.gap_top is None else found.gap_top
        assert (gap, found.auc) == (pytest.approx(point.gap, abs=1e-12), pytest.approx(point.auc, abs=1e-12))
        assert model.strengths_ == (point.strengths or dict.fromkeys(model.strengths_, model.strength_))
        own = selected(model, rule)
        assert (own.lam, own.auc, own.gap) == (point.lam, point.auc, point.gap)
        assert model.strength_ == point.lam
        kept += 1
    assert kept >= 1


@methods
def test_fit_and_select_choose_the_same_of_two_groups(name):
    rows, rules = draw(11, n=180, digits=2), RULES if name in ("fairpot", "logit-shift") else RULES[:4:3]
    agree(fit(METHODS[name](0.5), rows), rows, rules)


@pytest.mark.parametrize(
    ("method", "groups"),
    [(FairPOT, "abc"), (FairPOT, "abcde"), (LogitShift, "abc"), (OptimalMerge, "abc"), (LogitShift, "abcd")],
)
def test_fit_and_select_choose_the_same_of_several(method, groups):
    rules = [{"max_gap": 0.15}, {"max_auc_loss": 0.01}] if method is FairPOT else [{"max_gap": 0.2}]
    rows = draw(12, n=90 * len(groups), groups=groups, digits=2)
    agree(fit(method(), rows), rows, rules)


@pytest.mark.parametrize(
    "options",
    [
        {"top": 0.4},
        {"top": 70, "top_of": "group", "repair": "top"},
        {"keep": "grid"},
        {"top": 0.5, "repair": "top", "ties": "strict", "monotone": True},
    ],
    ids=str,
)
def test_fit_and_select_choose_the_same_with_every_option(options):
    rows = draw(13, n=200, digits=2)
    agree(fit(FairPOT(0.5, **options), rows), rows, RULES[:4:3])


def test_coarse_scores_lose_nothing_to_a_bound_on_the_cost():
    """The smallest gap within a loss, of every order that a shift can give."""
    for seed in range(6):
        s, y, *_ = rows = draw(seed, n=150, digits=1)
        model = fit(LogitShift(max_auc_loss=0.004), rows)
        before, others = shown("logit-shift", rows, "half", None, None)
        area = share_won(s[y == 1], s[y == 0], True)
        kept = [gap for _, gap, worth, flat in [before, *others] if area - worth <= 0.004 + 1e-12 and not flat]
        assert model.achieved_.gap == pytest.approx(min(kept), abs=1e-12)


@pytest.mark.parametrize("method", [FairPOT, LogitShift, WassersteinRepair])
def test_net_benefit_is_the_best_of_all_strengths(method):
    """It has several peaks: every strength of a curve, and a fine grid where there is more between."""
    for seed in range(3):
        s, y, g, _ = rows = draw(20 + seed, n=150, digits=2)
        model = fit(method(max_gap=0.12, net_benefit_at=0.3), rows)
        assert model.achieved_.gap <= 0.12 + 1e-12
        plain, after = (
            benefit(y, each.transform(s, sensitive_features=g), 0.3)
            for each in (fit(method(max_gap=0.12), rows), model)
        )
        assert after >= plain - 1e-12
        curve = model.tradeoff()
        values = curve.lam[curve.gap <= 0.12]
        for value in values[:: len(values) // 80 + 1].tolist():
            tried = benefit(y, model.at(value).transform(s, sensitive_features=g), 0.3)
            assert tried <= after + 1e-12


@methods
def test_several_groups_are_judged_by_the_largest_gap_at_the_top(name):
    """Nobody of a group in the top is no gap that is small."""
    rows = draw(3, n=300, groups="abc")
    given = {} if name != "wasserstein" else {"max_gap": 0.9}
    model = fitted(METHODS[name](top=150, **given), rows)
    after = np.asarray(model.transform(rows[0], sensitive_features=rows[2]))
    gap = top_gap(rows[1], after, rows[2], 150, True)
    assert model.achieved_.gap_top == pytest.approx(gap, abs=1e-12)
    assert model.achieved_.gap_top_before == pytest.approx(top_gap(rows[1], rows[0], rows[2], 150, True), abs=1e-12)
    if model.dial.identity is not None:
        assert gap <= model.achieved_.gap_top_before + 1e-12


def test_a_value_that_leaves_a_group_out_of_the_top_is_not_chosen():
    """Nobody of a group in the top has no gap there to keep a bound with."""
    scores = np.array([0.9, 0.8, 0.7, 0.6, 0.3, 0.2, 0.1, 0.05])
    rows = scores, np.array([1, 0, 1, 0, 1, 0, 1, 0]), np.array(list("aaaabbbb")), np.ones(8, dtype=int)
    with pytest.raises(InfeasibleRuleError, match="among the 2 highest some group has nobody with, or nobody without"):
        fitted(FairPOT(max_gap=0.5, top=2), rows)
    assert fitted(FairPOT(max_gap=1.0, top=4), rows).lam_ > 0


def test_a_curve_of_many_points_is_looked_at_around_its_best():
    """What is chosen of 1,000 lambdas for the top is as good as the best of every 25th."""
    s, y, g, _ = rows = draw(5, n=2000, digits=6)
    free = fitted(FairPOT(0.0), rows)
    few = free.tradeoff().lam[::25]
    gaps = [top_gap(y, free.at(v).transform(s, sensitive_features=g), g, 200, True) for v in few]
    bound = float(np.median(gaps))
    model = fitted(FairPOT(max_gap=bound, top=200), rows)
    assert model.achieved_.gap_top <= bound
    before = free.achieved_.auc
    kept = [min(free.at(v).achieved_.auc, before) for v, gap in zip(few, gaps) if gap <= bound]
    assert min(model.achieved_.auc, before) >= max(kept) - 2e-4


@pytest.mark.parametrize("name", ["fairpot", "logit-shift"])
def test_the_gap_at_the_top_is_certified(name):
    """Cross-fitted and on rows held out, with numbers that are those of the top."""
    rows, later = draw(6, n=800, digits=2), draw(7, n=800, digits=2)
    model = fitted(METHODS[name](max_gap=0.6, confidence=0.8, top=400), rows)
    found = model.certificate_
    assert (found.top, found.top_of, found.adjusted, found.bound) == (400, "all", True, 0.6)
    assert found.starts == model.achieved_.starts
    other = fitted(METHODS[name](0.0, top=0.5), rows)
    given = {"sensitive_features": later[2], "max_gap": 0.6, "confidence": 0.8}
    chosen = other.choose_certified(*later[:2], **given, net_benefit_at=0.4)
    after = np.asarray(chosen.transform(later[0], sensitive_features=later[2]))
    measured = xauc_gap(later[1], after, sensitive_features=later[2], top=0.5)
    assert chosen.certificate_.gap.value == pytest.approx(measured, abs=1e-9)
    sure = chosen.certificate_
    starts = score_table(later[1], after, sensitive_features=later[2]).thresholds(0.5, "all")
    assert (sure.top, sure.adjusted, sure.starts) == (0.5, True, starts)


def test_a_promise_about_a_top_of_low_scores_says_or_below():
    """Where a low score means high risk, people are in the top from their own score down."""
    drawn = [draw(seed, n=800, digits=2) for seed in (6, 7)]
    low, later = (score_table(y, -s, sensitive_features=g, lower_is_riskier=True) for s, y, g, *_ in drawn)
    given = {"max_gap": 0.6, "confidence": 0.8}
    cross = quietly(lambda: FairPOT(**given, top=0.5).fit(low))
    plain = quietly(lambda: FairPOT(0.0, top=0.5).fit(low))
    for model in (cross, plain.choose_certified(later, **given), plain.certify(later, **given)):
        found = model.certificate_
        [start] = set(found.starts.values())
        assert f"with an adjusted score of {-start:.4g} or below" in str(found)


def test_a_model_with_its_map_takes_the_rules_too():
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    sex, y = rng.choice(["F", "M"], 800), rng.integers(0, 2, 800)
    X = np.column_stack([rng.normal(size=800) + y + 0.8 * (sex == "M"), rng.normal(size=800)])
    clf = FairScoreClassifier(LogisticRegression(), FairPOT(max_gap=0.04, top=0.2, net_benefit_at=0.5))
    repair = quietly(lambda: clf.fit(X, y, sensitive_features=sex)).postprocessor_
    after = repair.transform(clf.scores_, sensitive_features=sex)
    assert xauc_gap(y, after, sensitive_features=sex, top=0.2) <= 0.04


WRONG = [
    ({"top": 61}, "top=61 is more than the 60 rows there are.\nHint: give a number of rows up to 60"),
    ({"net_benefit_at": 0.3}, "no gap is given.\nHint: add max_gap=0.05"),
    ({"net_benefit_at": 1, "max_gap": 0.1}, "net_benefit_at must lie between 0 and 1"),
    ({"net_benefit_at": "x", "max_gap": 0.1}, "net_benefit_at must be a number between 0 and 1"),
    ({"confidence": 0.9}, "confidence=0.9 certifies a choice of lam by max_gap"),
]


@pytest.mark.parametrize(("given", "said"), WRONG, ids=str)
def test_what_means_nothing_is_refused_with_the_way_out(given, said):
    with pytest.raises((ValueError, TypeError), match=r"(?s)" + said):
        fitted(FairPOT(**given), draw(0))


def test_scores_and_weights_that_a_rule_cannot_read_are_refused():
    s, y, g, _ = draw(0)
    with pytest.raises(ValueError, match=r"60 rows have scores outside 0 to 1(?s:.)*Hint: pass probabilities"):
        fitted(FairPOT(max_gap=0.1, net_benefit_at=0.3), (10 * s + 2, y, g, np.ones(60)))
    low = score_table(y, s, sensitive_features=g, lower_is_riskier=True)
    with pytest.raises(ValueError, match=r"a low score means high risk\.\nHint: pass 1 - score"):
        quietly(lambda: FairPOT(max_gap=0.1, net_benefit_at=0.3).fit(low))
    assert quietly(lambda: FairPOT(top=30).fit(low)).lam_ >= 0
    weighted = {"sensitive_features": g, "sample_weight": np.linspace(0.5, 1.5, 60)}
    with pytest.raises(ValueError, match=r"how much a row counts(?s:.)*Hint: give a share, such as top=0\.1"):
        quietly(lambda: FairPOT(top=30).fit(s, y, **weighted))
    assert quietly(lambda: FairPOT(top=0.5).fit(s, y, **weighted)).lam_ >= 0


def test_rows_without_a_fitted_group_are_named():
    rng = np.random.default_rng(0)
    group, y = rng.choice(list("abc"), 600), rng.integers(0, 2, 600)
    scores = rng.normal(size=600) + y
    repair = FairPOT(0.3, reference="a").fit(scores, y, sensitive_features=group)
    kept = group != "c"
    with pytest.raises(ValueError, match="moves group 'c', of which these rows have none"):
        repair.tradeoff(scores[kept], y[kept], sensitive_features=group[kept])
