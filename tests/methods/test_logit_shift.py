"""LogitShift against a count in whole numbers of every order that a shift can give, and on every kind of rows."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

import fairpot
from fairpot import InfeasibleRuleError, score_table
from fairpot.exceptions import ScaleWarning
from fairpot.methods import LogitShift, logit_shift
from fairpot.methods.logit_shift import learn
from fairpot.metrics import auc, xauc_gap
from fairpot.transport import ShiftMap

TIES = ("half", "strict")


def expit(z):
    return 1 / (1 + np.exp(-z))


# Whole numbers, of which probabilities are made by steps of log-odds, are counted without rounding.


def counted(fixed, moved, doubled, ties):
    """xAUC of the fixed group less that of the other, which is shifted by half of ``doubled``, and the pairs won."""
    won = lost = 0
    tie = 1 if ties == "half" else 0
    for (a, y, w), (b, x, v) in itertools.product(fixed, moved):
        ahead = 2 * a - 2 * b - doubled
        if y and not x:
            won += w * v * (2 if ahead > 0 else tie if ahead == 0 else 0)
        elif x and not y:
            lost += w * v * (2 if ahead < 0 else tie if ahead == 0 else 0)
    p, n = (sum(w for _, y, w in fixed if bool(y) is kind) for kind in (True, False))
    q, m = (sum(w for _, y, w in moved if bool(y) is kind) for kind in (True, False))
    return Fraction(won, 2 * p * m) - Fraction(lost, 2 * q * n), won + lost


def best_piece(fixed, moved, bound, ties):
    """The piece between two breakpoints with the most pairs won within a bound; (0, 0) for no shift, or None.

    More pairs than without a shift are as good as those; of equals the one next to 0.
    """
    lead, before = counted(fixed, moved, 0, ties)
    if abs(lead) <= bound:
        return 0, 0
    points = sorted({a - b for (a, *_), (b, *_) in itertools.product(fixed, moved)})
    edges = [points[0] - 10**6, *points, points[-1] + 10**6]
    found = {piece: counted(fixed, moved, sum(piece), ties) for piece in itertools.pairwise(edges)}
    kept = {piece: min(won, before) for piece, (lead, won) in found.items() if abs(lead) <= bound}
    return max(kept, key=lambda piece: (kept[piece], -min(map(abs, piece))), default=None)


def small_tables(seed, count, spread):
    """Draw rows of two groups: a whole number, an outcome and a weight each, both outcomes in both groups."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        sizes = rng.integers(0, 9, 2)
        yield [
            [
                (int(z), int(y), int(w))
                for z, y, w in zip(
                    rng.normal((1 - g) * spread / 3, spread, size + 4).round(),
                    [0, 1, 0, 1, *rng.integers(0, 2, size)],
                    rng.integers(1, 4, size + 4),
                )
            ]
            for g, size in enumerate(sizes)
        ]


@pytest.mark.parametrize(
    ("ties", "spread", "step"),
    [
        ("half", 3, None),
        ("strict", 40, None),
        ("half", 5000, None),
        ("strict", 3, 0.1),
        ("half", 40, 0.1),
        ("half", 40, 2.0**-9),
    ],
)
def test_the_best_shift_within_a_bound(ties, spread, step):
    rng = np.random.default_rng(spread)
    if step is not None and step * spread > 8:
        step /= 500
    reached = 0
    for fixed, moved in small_tables(spread, 25, spread):
        bound = Fraction(int(rng.integers(0, 8)), 20)
        z, y, w = np.array(fixed + moved).T
        group = np.repeat(["a", "b"], [len(fixed), len(moved)])
        scores = z.astype(float) if step is None else expit(step * z)
        wanted = best_piece(fixed, moved, bound, ties)
        model = LogitShift(max_gap=float(bound), reference="a", ties=ties)
        if wanted is None:
            with pytest.raises(InfeasibleRuleError, match="no repair strength keeps max_gap"):
                model.fit(scores, y, sensitive_features=group, sample_weight=w)
            continue
        model.fit(scores, y, sensitive_features=group, sample_weight=w)
        found = model.shift_ / (step or 1.0)
        if wanted[0] != wanted[1] and not wanted[0] < found < wanted[1]:  # the other of two that are equally near
            assert -wanted[1] < found < -wanted[0]
        after = model.transform(scores, sensitive_features=group)
        gap = xauc_gap(y, after, sensitive_features=group, sample_weight=w, ties=ties)
        assert gap == pytest.approx(float(abs(counted(fixed, moved, sum(wanted), ties)[0])), abs=1e-12)
        reached += wanted != (0, 0)
    assert reached > 3


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("step", [None, 0.1])
def test_the_smallest_gap(ties, step):
    for fixed, moved in small_tables(9, 20, 6):
        z, y, w = np.array(fixed + moved).T
        group = np.repeat(["a", "b"], [len(fixed), len(moved)])
        scores = z.astype(float) if step is None else expit(step * z)
        points = sorted({a - b for (a, *_), (b, *_) in itertools.product(fixed, moved)})
        tried = [0, 2 * points[0] - 2, *(a + b for a, b in itertools.pairwise(points)), 2 * points[-1] + 2]
        wanted = min(abs(counted(fixed, moved, each, ties)[0]) for each in tried)
        model = LogitShift(reference="a", ties=ties).fit(scores, y, sensitive_features=group, sample_weight=w)
        after = model.transform(scores, sensitive_features=group)
        gap = xauc_gap(y, after, sensitive_features=group, sample_weight=w, ties=ties)
        assert gap == pytest.approx(float(wanted), abs=1e-12)


def people(seed=0, n=300, groups="ab", digits=None, lift=(0.8, 0.0, -0.6)):
    rng = np.random.default_rng(seed)
    g = rng.integers(0, len(groups), n)
    y = (rng.random(n) < 0.4).astype(int)
    scores = expit(rng.normal(1.2 * y + np.array(lift)[g]) - 0.5)
    return (scores if digits is None else scores.round(digits)), y, np.array(list(groups))[g]


@pytest.mark.parametrize("seed", [0, 1])
def test_three_groups_against_a_grid(seed):
    scores, y, group = people(seed, groups="abc", digits=(None, 2)[seed % 2])
    z, grid = np.log(scores / (1 - scores)), np.linspace(-0.4, 2.4, 15)
    shifted = np.zeros(len(z))
    found = []
    for b, c in itertools.product(grid, grid):
        shifted = z + np.select([group == "b", group == "c"], [b, c], 0.0)
        found.append((xauc_gap(y, shifted, sensitive_features=group), auc(y, shifted)))
    for bound in (0.03, 0.1):
        best = max((area for gap, area in found if gap <= bound), default=None)
        if best is None:
            continue
        model = LogitShift(max_gap=bound, reference="a").fit(scores, y, sensitive_features=group)
        after = model.transform(scores, sensitive_features=group)
        assert xauc_gap(y, after, sensitive_features=group) <= bound + 1e-12
        assert auc(y, after) >= min(best, auc(y, scores)) - 2e-4
    least = LogitShift(reference="a").fit(scores, y, sensitive_features=group)
    gap = xauc_gap(y, least.transform(scores, sensitive_features=group), sensitive_features=group)
    assert gap <= min(found)[0] + 2e-3
    assert set(least.strengths_) == {"b", "c"}


def test_three_groups_that_are_even_stay():
    scores, y, group = people(1, n=600, groups="abc", lift=(0, 0, 0))
    model = LogitShift(max_gap=0.3, reference="a").fit(scores, y, sensitive_features=group)
    assert model.strength_ == 0.0
    assert model.strengths_ == {"b": 0.0, "c": 0.0}
    np.testing.assert_array_equal(model.transform(scores, sensitive_features=group), scores)


@pytest.mark.parametrize("scale", [1.0, 1e-9, 1e12])
def test_many_rows_as_by_halving(scale):
    """What is found with a few counts on many rows is as good as the best of 400 shifts."""
    scores, y, group = people(3, n=8000)
    scores = scores if scale == 1.0 else scale * np.log(scores / (1 - scores))
    curve = (
        LogitShift(0.0, reference="a")
        .fit(scores, y, sensitive_features=group)
        .tradeoff(lams=np.linspace(0, 2, 401) * scale)
    )
    for bound in (0.05, 1e-4):
        found = LogitShift(max_gap=bound, reference="a").fit(scores, y, sensitive_features=group).achieved_
        assert found.gap <= bound
        kept = np.minimum(curve.auc[curve.gap <= bound], found.auc_before)
        assert min(found.auc, found.auc_before) >= kept.max(initial=0.0) - 1e-5


@pytest.mark.parametrize("ties", TIES)
def test_the_gap_never_rises_and_the_curve_is_that_of_the_rows(ties):
    """Also at shifts at which scores of both groups become equal."""
    scores, y, group = people(5, n=120, digits=1)
    scores = scores.clip(0.1, 0.9)
    model = LogitShift(reference="a", ties=ties).fit(scores, y, sensitive_features=group)
    z = {g: np.log(scores / (1 - scores))[group == g] for g in "ab"}
    breakpoints = np.unique(np.subtract.outer(z["a"], z["b"]))
    curve = model.tradeoff(lams=np.concatenate((breakpoints, np.linspace(-3, 3, 40), [0.0])))
    assert (np.diff(curve.signed_gap) <= 1e-12).all()
    for value, area, gap in zip(curve.lam, curve.auc, curve.gap):
        after = model.at(value).transform(scores, sensitive_features=group)
        assert area == pytest.approx(auc(y, after, ties=ties), abs=1e-12)
        assert gap == pytest.approx(xauc_gap(y, after, sensitive_features=group, ties=ties), abs=1e-12)


def test_nobody_overtakes_and_nothing_is_nothing():
    scores, y, group = people(6, n=500)
    near = np.sort(np.concatenate((scores, np.nextafter(scores, 1))))
    for shift in (-7.0, -0.3, 1e-9, 2.2):
        model = LogitShift(shift, reference="a").fit(scores, sensitive_features=group)
        assert (np.diff(model.transform(near, sensitive_features=["b"] * len(near))) >= 0).all()
        assert model.maps_["a"].is_identity
    still = LogitShift(0, reference="a").fit(scores, sensitive_features=group)
    np.testing.assert_array_equal(still.transform(scores, sensitive_features=group), scores)
    assert LogitShift(max_gap=1.0).fit(scores, y, sensitive_features=group).shift_ == 0


# Scores of every kind


def test_zeros_and_ones_stay_and_are_told():
    scores, y, group = people(7, n=400)
    scores = np.where(scores < 0.3, 0.0, np.where(scores > 0.6, 1.0, scores))
    with pytest.raises(InfeasibleRuleError, match=r"no repair strength keeps max_gap=0\.01"):
        LogitShift(max_gap=0.01).fit(scores, y, sensitive_features=group)
    model = LogitShift().fit(scores, y, sensitive_features=group)
    after = model.transform(scores, sensitive_features=group)
    np.testing.assert_array_equal(after[scores == 0], 0)
    np.testing.assert_array_equal(after[scores == 1], 1)
    hard = LogitShift(0.5, reference="a").fit((scores > 0.5).astype(float), y, sensitive_features=group)
    assert (hard.transform([0.0, 1.0], sensitive_features=["b", "b"]) == [0, 1]).all()
    assert LogitShift().fit((scores > 0.5).astype(float), y, sensitive_features=group).shift_ == 0


def test_scores_that_are_not_probabilities_move_on_their_own_scale():
    scores, y, group = people(8, n=600)
    z = np.log(scores / (1 - scores))
    odds = LogitShift(max_gap=0.03).fit(scores, y, sensitive_features=group)
    for factor, offset in ((1.0, 0.0), (250.0, 600.0), (1e-7, 3.0)):
        raw = LogitShift(max_gap=0.03).fit(factor * z + offset, y, sensitive_features=group)
        assert raw.shift_ / factor == pytest.approx(odds.shift_, abs=1e-6)
        assert raw.maps_["b"] == ShiftMap(added=raw.shift_)
        moved = raw.transform(factor * z + offset, sensitive_features=group)
        np.testing.assert_array_equal(
            moved, np.where(group == "b", (factor * z + offset) + raw.shift_, factor * z + offset)
        )


def test_deciles_move_by_half_steps():
    scores, y, group = people(9, n=600, lift=(1.5, 0.0, 0.0))
    deciles = np.ceil(10 * scores)
    model = LogitShift(max_gap=0.1).fit(deciles, y, sensitive_features=group)
    assert 2 * model.shift_ == pytest.approx(round(2 * model.shift_))
    assert round(2 * model.shift_) % 2 == 1
    assert len(model.tradeoff().lam) < 30


def test_low_scores_that_mean_high_risk():
    """A probability of no outcome is shifted as that of the outcome is."""
    scores, y, group = people(10)
    table = score_table(y, 1 - scores, sensitive_features=group, lower_is_riskier=True)
    plain = LogitShift(max_gap=0.04).fit(scores, y, sensitive_features=group)
    turned = LogitShift(max_gap=0.04).fit(table)
    assert logit_shift.ShiftScale.of(table) == logit_shift.ShiftScale(True, negative=True)
    assert turned.shift_ == pytest.approx(plain.shift_, abs=1e-9)
    after = turned.transform(1 - scores, sensitive_features=group)
    np.testing.assert_allclose(after, 1 - plain.transform(scores, sensitive_features=group), atol=1e-14)


def test_new_scores_outside_stay_with_a_warning():
    scores, y, group = people(11)
    model = LogitShift(0.7, reference="a").fit(scores, y, sensitive_features=group)
    with pytest.warns(ScaleWarning):
        after = model.transform([55.0, 70.0, 0.5], sensitive_features=["b"] * 3)
    assert after.tolist() == [55.0, 70.0, 1 / (1 + 1 / np.exp(0.7))]


@pytest.mark.parametrize("shift", [501.0, -1e6])
def test_shifts_beyond_all_log_odds(shift):
    scores, _, group = people(12)
    with pytest.raises(ValueError, match="a shift of log-odds must be from -500 to 500"):
        LogitShift(shift, reference="a").fit(scores, sensitive_features=group)
    LogitShift(shift, reference="a").fit(scores * 1000, sensitive_features=group)


def test_probabilities_at_the_end_of_the_numbers():
    rng = np.random.default_rng(13)
    scores, y, group = people(13)
    scores = np.where(rng.random(300) < 0.5, 10.0 ** -rng.uniform(1, 320, 300), 1 - 10.0 ** -rng.uniform(1, 16, 300))
    for rule in ({}, {"max_gap": 0.2}, {"max_auc_loss": 0.01}):
        model = LogitShift(**rule).fit(scores, y, sensitive_features=group)
        assert np.isfinite(model.transform(scores, sensitive_features=group)).all()


@pytest.mark.parametrize("loss", [0.0, 0.002, 0.05])
def test_a_bound_on_the_cost(loss):
    scores, y, group = people(14, n=800, lift=(-1.5, 0.5, 0))
    model = LogitShift(max_auc_loss=loss, reference="a").fit(scores, y, sensitive_features=group)
    curve = model.tradeoff(lams=np.linspace(-4, 2, 601))
    allowed = curve.auc >= auc(y, scores) - loss - 1e-12
    after = model.transform(scores, sensitive_features=group)
    assert auc(y, after) >= auc(y, scores) - loss - 1e-12
    assert xauc_gap(y, after, sensitive_features=group) <= curve.gap[allowed].min() + 2e-3
    with pytest.raises(InfeasibleRuleError, match="together"):
        LogitShift(max_gap=0.0, max_auc_loss=0.0, reference="a").fit(scores, y, sensitive_features=group)


# Certificates, folds and comparisons


@pytest.mark.parametrize("clustered", [False, True])
def test_certificates(clustered):
    scores, y, group = people(15, n=2000)
    clusters = {"clusters": np.arange(2000) // 2} if clustered else {}
    model = LogitShift(max_gap=0.15, confidence=0.9).fit(scores, y, sensitive_features=group, **clusters)
    known = model.certificate_
    assert known.gap.high is not None
    assert known.gap <= 0.15 < known.gap_before
    new, y_new, group_new = people(16, n=2000)
    plain = LogitShift().fit(scores, y, sensitive_features=group, **clusters)
    given = {"sensitive_features": group_new, **clusters}
    held = plain.choose_certified(new, y_new, max_gap=0.15, confidence=0.9, **given)
    after = held.transform(new, sensitive_features=group_new)
    assert xauc_gap(y_new, after, sensitive_features=group_new) <= 0.15
    assert held.certificate_.rows != known.rows


def test_a_certificate_that_cannot_be_had():
    scores, y, group = people(17, n=200)
    with pytest.raises(InfeasibleRuleError):
        LogitShift(max_gap=0.01, confidence=0.95).fit(scores, y, sensitive_features=group)


def test_in_a_comparison():
    scores, y, group = people(18, n=600)
    result = fairpot.compare(y, scores, sensitive_features=group, methods=["LogitShift", "FairPOT"], cv=2)
    assert "LogitShift" in result.methods
    frame = result.frame().query("method == 'LogitShift'")
    assert (frame["auc"] > 0.5).all()
    few = learn(score_table(y, 40 * scores, sensitive_features=group)).few
    assert few[0] == -few[-1] < -4
