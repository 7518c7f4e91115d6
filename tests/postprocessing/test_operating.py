"""Rules in the words of an operation, against rows: the gap among the k highest, net benefit at a threshold."""

import warnings

import numpy as np
import pytest

from fairpot import FairPOT, FairScoreClassifier, score_table
from fairpot.exceptions import FairpotWarning, InfeasibleRuleError
from fairpot.metrics import partial_xauc_gap
from fairpot.postprocessing.registry import METHODS
from fairpot.tradeoff.operating import capacity_share

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
    return quietly(lambda: model.fit(*rows[:2], sensitive_features=rows[2], sample_weight=rows[3]))


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
    s, y, g = repeated(rows)
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


def expected(before, others, max_gap):
    """Choose by the definition; None if nothing keeps the rule."""

    def kept(gap):
        return gap is not None and gap <= max_gap + 1e-12

    identity, gap, worth, _ = before
    if identity is not None and kept(gap):
        return identity, worth
    best = [(value, w) for value, gap, w, flat in others if kept(gap) and not flat]
    if not best or identity is None:
        return max(best, key=lambda each: round(each[1], 10), default=None)
    most = max(min(w, worth) for _, w in best)
    return min((each for each in best if min(each[1], worth) >= most - 1e-10), key=lambda each: abs(each[0]))


@methods
@pytest.mark.parametrize(
    ("seed", "ties", "count", "p"),
    [(0, "half", 20, None), (1, "strict", None, 0.4), (2, "half", 50, 0.35)],
    ids=["capacity", "net benefit", "both"],
)
def test_every_method_chooses_what_rows_show_to_be_the_best(name, seed, ties, count, p):
    rows = draw(seed, digits=1 if name == "logit-shift" else 2, weights=seed > 0)
    s, y, g = repeated(rows)
    before, others = shown(name, rows, ties, count, p)
    for max_gap in (0.02, 0.1):
        wanted = expected(before, others, max_gap)
        model = METHODS[name](max_gap=max_gap, capacity=count, net_benefit_at=p, ties=ties)
        try:
            fitted(model, rows)
        except InfeasibleRuleError as error:
            assert "keeps max_gap" in str(error) or "can be chosen" in str(error)
            assert wanted is None
            continue
        after = np.asarray(model.transform(s, sensitive_features=g))
        assert top_gap(y, after, g, count or len(y), ties == "half") <= max_gap + 1e-12
        worth = share_won(after[y == 1], after[y == 0], ties == "half") if p is None else benefit(y, after, p)
        if name == "optimal-merge":  # it also looks between the values of its grid
            assert wanted is None or worth >= wanted[1] - 1e-10
            continue
        assert worth == pytest.approx(wanted[1], abs=1e-10)
        if name != "logit-shift":  # which may choose another shift with the same order
            assert getattr(model, f"{model.dial.name}_") == pytest.approx(wanted[0])
