import pickle

import numpy as np
import pytest

from fairpot import FairPOT, InfeasibleRuleError
from fairpot.tradeoff import TradeoffCurve, pareto_mask


def curve(gap=(0.3, 0.2, 0.1, 0.0, 0.05), auc=(0.8, 0.81, 0.79, 0.75, 0.7), **options):
    gap = np.array(gap)
    sign = np.where(np.arange(len(gap)) < 4, 1, -1)
    signed = gap * sign
    lam = options.pop("lam", np.linspace(0, 1, len(gap)))
    return TradeoffCurve(lam, np.array(auc), 0.5 + signed / 2, 0.5 - signed / 2, ("b",), "a", **options)


def test_gap_and_sign():
    c = curve()
    assert c.gap == pytest.approx([0.3, 0.2, 0.1, 0.0, 0.05])
    assert c.signed_gap[-1] == pytest.approx(-0.05)
    assert c.pareto.tolist() == [False, True, True, True, False]
    assert "5 points" in repr(c)


def test_pareto_equals_the_definition():
    rng = np.random.default_rng(0)
    for _ in range(300):
        gap, auc = rng.integers(0, 5, 9) / 4, rng.integers(0, 5, 9) / 4
        beaten = [
            any(gap[j] <= gap[i] and auc[j] >= auc[i] and (gap[j] < gap[i] or auc[j] > auc[i]) for j in range(9))
            for i in range(9)
        ]
        assert pareto_mask(gap, auc).tolist() == [not b for b in beaten]


def test_select():
    c = curve()
    assert c.select().lam == 0.75  # the smallest gap
    assert c.select(max_gap=0.1).auc == 0.79
    assert c.select(max_gap=0.25).auc == 0.81
    assert c.select(max_auc_loss=0.02).gap == pytest.approx(0.1)  # the most repair for that price
    assert c.select(max_auc_loss=0.0).lam == 0.25
    assert c.select(max_gap=0.2, max_auc_loss=0.02).auc == 0.81


def test_of_equals_the_smallest_lambda():
    c = curve(gap=(0.2, 0.1, 0.1, 0.1, 0.1), auc=(0.7, 0.8, 0.8, 0.8, 0.8))
    assert c.select().lam == c.select(max_gap=0.1).lam == 0.25


def test_values_that_differ_by_round_off_are_equal():
    hair = 1e-15
    higher_later = curve(gap=(0.2, 0.1, 0.1, 0.1, 0.1), auc=(0.7, 0.8, 0.8 + hair, 0.8 + 2 * hair, 0.8))
    assert higher_later.auc[1] < higher_later.auc[2] < higher_later.auc[3]
    assert higher_later.select(max_gap=0.15).lam == 0.25
    smaller_later = curve(gap=(0.2, 0.1 + 4 * hair, 0.1 + 2 * hair, 0.1, 0.3), auc=(0.7, 0.8, 0.8, 0.8, 0.8))
    assert smaller_later.gap[1] > smaller_later.gap[2] > smaller_later.gap[3]
    assert smaller_later.select().lam == smaller_later.select(max_auc_loss=0.1).lam == 0.25
    apart = curve(gap=(0.2, 0.1, 0.1, 0.1, 0.1), auc=(0.9, 0.8, 0.8 + 1e-9, 0.8, 0.8))
    assert apart.select(max_gap=0.15).lam == 0.5  # more than round-off


def test_nobody_is_moved_without_need():
    """Where the original scores keep the gap they are the choice, whatever AUC a repair would add."""
    c = curve(gap=(0.05, 0.04, 0.03, 0.0, 0.05), auc=(0.8, 0.81, 0.82, 0.83, 0.7))
    for rule in ({"max_gap": 0.05}, {"max_gap": 0.06, "max_auc_loss": 0.0}):
        point = c.select(**rule)
        assert (point.lam, point.auc) == (0.0, 0.8)
        assert str(point).startswith(f"no repair needed: the gap is 0.05, within {rule['max_gap']:g}\n")
    needed = c.select(max_gap=0.045)
    assert needed.lam == 0.25  # an AUC of 0.83 is no reason to go on to 0.75
    assert needed.note == ""
    assert str(needed) == repr(needed)
    assert c.select().lam == c.select(max_auc_loss=0.1).lam == 0.75  # the smallest gap was asked for
    backwards = curve(gap=(0.3, 0.2, 0.1, 0.1, 0.2), auc=(0.7, 0.7, 0.7, 0.7, 0.75), identity=1.0, unrepaired_auc=0.75)
    assert backwards.select(max_gap=0.1).lam == 0.75  # nearest to the identity, not the first
    none = curve(gap=(0.05, 0.04, 0.03, 0.0, 0.05), auc=(0.8, 0.81, 0.82, 0.83, 0.7), identity=None, unrepaired_auc=0.8)
    assert none.select(max_gap=0.05).auc == 0.83


def test_bounds_are_kept_up_to_round_off():
    c = curve(gap=(0.4, 0.1 + 0.2, 0.1, 0.0, 0.05), auc=(0.8, 0.79, 0.7, 0.6, 0.5))
    assert c.gap[1] > 0.3
    assert c.select(max_gap=0.3).auc == 0.79
    assert 0.8 - 0.7 > 0.1
    assert c.select(max_auc_loss=0.1).lam == 0.5
    with pytest.raises(InfeasibleRuleError, match="together"):
        c.select(max_gap=0.1 - 1e-9, max_auc_loss=0.1)


def test_impossible_rules_name_the_best_that_can_be_had():
    c = curve(gap=(0.3, 0.2, 0.1, 0.04, 0.05))
    with pytest.raises(InfeasibleRuleError, match=r"smallest gap is 0.04 at lam=0.75 \(AUC 0.75\)"):
        c.select(max_gap=0.01)
    with pytest.raises(InfeasibleRuleError, match=r"within that loss it is 0.1 at lam=0.5"):
        c.select(max_gap=0.04, max_auc_loss=0.02)
    with pytest.raises(ValueError, match=r"0\.04"):  # also a ValueError
        c.select(max_gap=0.01)


@pytest.mark.parametrize("value", [-0.1, 1.5, float("nan")])
@pytest.mark.parametrize("name", ["max_gap", "max_auc_loss"])
def test_rules_out_of_range(name, value):
    with pytest.raises(ValueError, match=name):
        curve().select(**{name: value})
    with pytest.raises(TypeError, match=name):
        curve().select(**{name: "0.1"})


def test_at():
    exact = curve(exact=True)
    assert exact.at(0).lam == 0
    assert exact.at(0.25).lam == 0.25
    assert exact.at(0.26).lam == 0.5  # what holds up to 0.5
    assert exact.at(0.1 + 0.15000000000000002).lam == 0.25
    grid = curve()
    assert grid.at(0.5).auc == 0.79
    with pytest.raises(ValueError, match="not on this grid"):
        grid.at(0.4)
    for bad, error in ((-0.1, ValueError), (2, ValueError), (float("nan"), ValueError), ("x", TypeError)):
        with pytest.raises(error, match="lam must"):
            exact.at(bad)


def test_frame():
    frame = curve().frame()
    limits = ["auc_low", "auc_high", "gap_low", "gap_high"]
    assert [name for name in frame.columns if name not in limits] == [
        *("lam", "auc", "gap", "signed_gap", "xauc_ab", "xauc_ba", "pareto")
    ]
    assert frame[limits].isna().all(axis=None)  # there are no rows behind this curve to tell them by
    assert frame["gap"].tolist() == curve().gap.tolist()


def test_loss_needs_the_unmoved_point():
    with pytest.raises(ValueError, match="put 0 into lams"):
        curve(lam=np.linspace(0.1, 1, 5)).select(max_auc_loss=0.1)


def test_an_undefined_curve_has_nothing_to_choose():
    nothing = curve(gap=np.full(5, np.nan))
    for rule in ({}, {"max_gap": 0.1}, {"max_auc_loss": 0.1}):
        with pytest.raises(InfeasibleRuleError, match="undefined on these rows"):
            nothing.select(**rule)


def test_exact_curves_are_read_as_the_maps_are_cut():
    exact = curve(lam=np.array([0, 1e-15, 0.1, 0.3, 1.0]), exact=True)
    where = [exact.at(lam).auc for lam in (0, 1e-16, 1e-15, 1e-13, 0.1, 0.1 + 1e-14, 0.1 * 3, 1 - 1e-16, 1)]
    assert where == [exact.auc[i] for i in (0, 1, 1, 2, 2, 2, 3, 4, 4)]


def test_float32_is_read_as_it_prints():
    tenths = curve(lam=np.array([0, 0.1, 0.2, 0.5, 1.0]), exact=True)
    assert tenths.at(np.float32(0.1)) == tenths.at(0.1)
    grid = curve(lam=np.array([0, 0.1, 0.2, 0.5, 1.0]))
    assert grid.at(np.float32(0.1)) == grid.at(0.1)
    assert tenths.select(max_gap=np.float32(0.2)) == tenths.select(max_gap=0.2)


def test_the_auc_of_the_original_scores_is_a_number_wherever_it_is_known():
    assert curve().unrepaired_auc == curve().unmoved_auc == 0.8
    elsewhere = curve(lam=np.linspace(0.5, 1, 5))
    assert elsewhere.unrepaired_auc is None
    with pytest.raises(ValueError, match="put 0 into lams"):
        elsewhere.unmoved_auc


@pytest.mark.parametrize("groups", ["ab", "abc"])
@pytest.mark.parametrize("where", ["fitted", "other rows", "listed"])
def test_a_pickle_is_the_same_curve(groups, where):
    rng = np.random.default_rng(5)
    y, group = rng.integers(0, 2, 300), np.array(list(groups))[rng.integers(0, len(groups), 300)]
    score = rng.normal(y + 0.6 * (group == "a"))
    model = FairPOT(max_gap=0.1).fit(score[:200], y[:200], sensitive_features=group[:200])
    rows = (score[200:], y[200:]) if where == "other rows" else ()
    given = {"sensitive_features": group[200:]} if rows else {}
    traced = model.tradeoff(*rows, **given, lams=[0, 0.5, 1] if where == "listed" else None)
    model.fit(-score, y, sensitive_features=group)  # the curve is of the model as it was
    again = pickle.loads(pickle.dumps(traced))
    np.testing.assert_array_equal(again.auc, traced.auc)
    assert again.select() == traced.select()
    np.testing.assert_array_equal(again.band().gap.high, traced.band().gap.high)


def test_a_curve_of_numbers_alone_can_be_pickled():
    assert pickle.loads(pickle.dumps(curve(search=lambda rule: None))).select().lam == 0.75
