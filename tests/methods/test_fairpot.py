"""FairPOT against the paper, row by row; its curve against metrics of the transformed rows; and every wrong input."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import oracles
from fairpot import FairPOT, InfeasibleRuleError, UndefinedMetricWarning, UnseenGroupError
from fairpot.exceptions import ScaleWarning
from fairpot.metrics import auc, xauc, xauc_gap


def rows(seed=0, n=400, shift=0.2, decimals=2, groups=("F", "M")):
    rng = np.random.default_rng(seed)
    group = np.array(groups)[np.r_[np.tile(np.arange(len(groups)), 2), rng.integers(0, len(groups), n)]]
    y = np.r_[np.repeat([0, 1], len(groups)), rng.integers(0, 2, n)]
    score = rng.random(len(y)) + 0.4 * y + shift * (group == groups[-1])
    return np.round(score, decimals), y, group


@pytest.mark.parametrize("lam", ["0", "0.1", "0.33", "0.5", "1"])
@pytest.mark.parametrize("monotone", [False, True])
def test_transform_equals_the_paper_row_by_row(lam, monotone):
    for seed in range(5):
        s, y, g = rows(seed, n=60, shift=0.3 if seed % 2 else -0.3)
        fp = FairPOT(float(lam), monotone=monotone).fit(s, y, sensitive_features=g)
        new, _, new_g = rows(seed + 100, n=60, decimals=5)
        moved, stays = ("F", "M") if fp.reference_ == "M" else ("M", "F")
        got = fp.transform(new, sensitive_features=new_g)
        expected = oracles.moved_scores(
            s[g == moved].tolist(), s[g == stays].tolist(), new[new_g == moved].tolist(), lam, monotone=monotone
        )
        np.testing.assert_allclose(got[new_g == moved], expected, atol=1e-12)
        np.testing.assert_array_equal(got[new_g == stays], new[new_g == stays])


@pytest.mark.parametrize("top_of", ["all", "group"])
@pytest.mark.parametrize("lam", ["0.4", "1"])
def test_a_repaired_top_equals_the_paper_row_by_row(top_of, lam):
    for seed in range(5):
        s, y, g = rows(seed, n=60)
        fp = FairPOT(float(lam), top=0.5, top_of=top_of, repair="top", reference="M")
        fp.fit(s, y, sensitive_features=g)
        new, _, new_g = rows(seed + 100, n=60, decimals=5)
        keep = oracles.top_rows(s, 0.5, g if top_of == "group" else None)
        starts = np.array([fp.starts_[k] for k in new_g])
        rows_f = (new >= starts) & (new_g == "F")
        expected = oracles.moved_scores(
            s[keep & (g == "F")].tolist(), s[keep & (g == "M")].tolist(), new[rows_f].tolist(), lam
        )
        got = fp.transform(new, sensitive_features=new_g)
        # Nobody falls below the start: a group whose own top begins above the reference's is held there.
        np.testing.assert_allclose(got[rows_f], np.maximum(expected, fp.starts_["F"]), atol=1e-12)
        np.testing.assert_array_equal(got[~rows_f], new[~rows_f])


def test_nobodys_score_depends_on_the_batch():
    s, y, g = rows(n=300, decimals=4)
    fp = FairPOT(0.8, top=0.5, repair="top").fit(s, y, sensitive_features=g)
    whole = fp.transform(s, sensitive_features=g)
    top = np.argsort(-s)[:60]
    np.testing.assert_array_equal(fp.transform(s[top], sensitive_features=g[top]), whole[top])


@pytest.mark.parametrize("ties", ["strict", "half"])
@pytest.mark.parametrize("monotone", [False, True])
def test_curve_equals_metrics_of_transformed_rows(ties, monotone):
    """Every lambda, fitted and held out, against transforming and measuring the rows."""
    for seed in range(2):
        s, y, g = rows(seed, n=40, shift=0.25 if seed % 2 else -0.25, decimals=1)
        fp = FairPOT(monotone=monotone, ties=ties).fit(s, y, sensitive_features=g)
        a = fp.reference_
        b = "F" if a == "M" else "M"
        for t, z, h in ((s, y, g), rows(seed + 50, n=40)):
            curve = fp.tradeoff(t, z, sensitive_features=h)
            assert len(curve) == len(np.unique(s[g == b])) + 1
            assert curve.lam[0] == 0
            assert curve.lam[-1] == 1
            for i, lam in enumerate(curve.lam):
                fixed = FairPOT(lam, reference=a, monotone=monotone).fit(s, sensitive_features=g)
                moved = fixed.transform(t, sensitive_features=h)
                options = {"sensitive_features": h, "ties": ties}
                assert curve.auc[i] == pytest.approx(auc(z, moved, ties=ties), abs=1e-14)
                assert curve.xauc_ab[i] == pytest.approx(xauc(z, moved, positive=a, negative=b, **options), abs=1e-14)
                assert curve.xauc_ba[i] == pytest.approx(xauc(z, moved, positive=b, negative=a, **options), abs=1e-14)
                assert curve.gap[i] == pytest.approx(xauc_gap(z, moved, **options), abs=1e-14)
                assert curve.at(lam) == curve.point(i)


def test_curve_on_the_fitted_rows_needs_no_arguments():
    s, y, g = rows()
    for options in ({}, {"top": 0.4}, {"top": 0.4, "repair": "top"}):
        fp = FairPOT(**options).fit(s, y, sensitive_features=g)
        again = fp.tradeoff(s, y, sensitive_features=g)
        np.testing.assert_array_equal(fp.tradeoff().auc, again.auc)
        np.testing.assert_array_equal(fp.tradeoff().signed_gap, again.signed_gap)
    with pytest.raises(ValueError, match="fitted without y"):
        FairPOT(0.4, reference="M").fit(s, sensitive_features=g).tradeoff()
    with pytest.raises(TypeError, match="y is missing"):
        fp.tradeoff(s, sensitive_features=g)


@pytest.mark.parametrize("change", ["scores", "y", "groups", "weight", "order"])
def test_fitted_rows_are_known_again_and_changed_ones_are_not(change):
    s, y, g = rows(n=80, decimals=3)
    w = np.linspace(1, 2, len(s))
    fp = FairPOT().fit(s, y, sensitive_features=g, sample_weight=w)
    known = fp.tradeoff(s, y, sensitive_features=g, sample_weight=w)
    np.testing.assert_array_equal(known.auc, fp.tradeoff().auc)
    if change == "scores":
        s[:10] = s[:10][::-1]  # in place: the estimator must not be fooled by the same object
    elif change == "y":
        y[:10] = 1 - y[:10]
    elif change == "groups":
        g[:10] = np.where(g[:10] == "F", "M", "F")
    elif change == "weight":
        w[:10] *= 3
    else:
        s, y, g, w = (column[::-1] for column in (s, y, g, w))
    fresh = pickle.loads(pickle.dumps(fp)).tradeoff(s, y, sensitive_features=g, sample_weight=w)
    np.testing.assert_array_equal(fp.tradeoff(s, y, sensitive_features=g, sample_weight=w).auc, fresh.auc)
    assert (fresh.auc != known.auc).any() == (change != "order")


def test_weights_are_repeated_rows():
    s, y, g = rows(n=80)
    weight = np.random.default_rng(1).integers(1, 4, len(s))
    again = np.repeat(np.arange(len(s)), weight)
    weighted = FairPOT(0.3).fit(s, y, sensitive_features=g, sample_weight=weight)
    repeated = FairPOT(0.3).fit(s[again], y[again], sensitive_features=g[again])
    assert weighted.maps_ == repeated.maps_
    curve, other = weighted.tradeoff(), repeated.tradeoff()
    np.testing.assert_array_equal(curve.auc, other.auc)
    np.testing.assert_array_equal(curve.lam, other.lam)
    scaled = FairPOT(0.3).fit(s, y, sensitive_features=g, sample_weight=weight / 7)
    np.testing.assert_allclose(scaled.tradeoff().auc, curve.auc, atol=1e-12)
    np.testing.assert_allclose(scaled.maps_["F"].values, weighted.maps_["F"].values, atol=1e-12)


def test_zero_is_exactly_the_identity():
    s, y, g = rows()
    fp = FairPOT(0).fit(s, y, sensitive_features=g)
    x = np.array([-7.0, 0.1 + 0.2, 55.0])
    with pytest.warns(ScaleWarning, match="2 of 3 scores lie far outside"):
        np.testing.assert_array_equal(fp.transform(x, sensitive_features=["F", "F", "M"]), x)


def test_disadvantaged_group_by_appendix_a():
    for seed in range(20):
        s, y, g = rows(seed, n=30, shift=0.1)
        fm = xauc(y, s, sensitive_features=g, positive="F", negative="M")
        mf = xauc(y, s, sensitive_features=g, positive="M", negative="F")
        fp = FairPOT().fit(s, y, sensitive_features=g)
        assert fp.reference_ == ("F" if fm >= mf else "M")
        assert fp.tradeoff().signed_gap[0] == pytest.approx(abs(fm - mf))
        assert FairPOT(reference="F").fit(s, y, sensitive_features=g).reference_ == "F"


def best_within(curve, bound):
    """Find the points with the highest AUC at gaps up to a bound; all that reach the original AUC are as good."""
    worth = np.where(curve.gap <= bound, np.minimum(curve.auc, curve.auc[0]), -1.0)
    return worth == worth.max()


@pytest.mark.parametrize(
    ("rule", "keeps"),
    [
        ({}, lambda p, c: p.gap == c.gap.min()),
        ({"max_gap": 0.05}, lambda p, c: p.lam == c.lam[best_within(c, 0.05)].min()),
        ({"max_auc_loss": 0.005}, lambda p, c: p.gap == c.gap[c.auc >= c.auc[0] - 0.005].min()),
        ({"max_gap": 0.1, "max_auc_loss": 0.1}, lambda p, c: p.lam == c.lam[best_within(c, 0.1)].min()),
    ],
)
def test_lam_by_rule(rule, keeps):
    s, y, g = rows(n=600)
    fp = FairPOT(None, **rule).fit(s, y, sensitive_features=g)
    curve = fp.tradeoff()
    point = curve.at(fp.lam_)
    assert keeps(point, curve)
    moved = fp.transform(s, sensitive_features=g)
    assert xauc_gap(y, moved, sensitive_features=g) == pytest.approx(point.gap, abs=1e-14)


@pytest.mark.parametrize("repair", ["all", "top"])
def test_more_than_two_groups(repair):
    s, y, g = rows(n=300, groups=("F", "M", "X"))
    top = {} if repair == "all" else {"top": 0.6, "top_of": "group", "repair": "top"}
    fp = FairPOT(0.5, **top).fit(s, y, sensitive_features=g)
    assert fp.maps_[fp.reference_].is_identity
    for group in fp.strengths_:  # each group's map is that of the pair
        pair = (g == group) | (g == fp.reference_)
        alone = FairPOT(0.5, **top, reference=fp.reference_).fit(s[pair], sensitive_features=g[pair])
        assert alone.maps_[group] == fp.maps_[group]
    curve = fp.tradeoff(lams=np.linspace(0, 1, 11))
    keep = np.ones(len(s), dtype=bool) if repair == "all" else s >= np.array([fp.starts_[k] for k in g])
    for lam in (0.0, 0.5, 1.0):
        moved = fp.at(lam).transform(s, sensitive_features=g)
        gap = xauc_gap(y[keep], moved[keep], sensitive_features=g[keep])
        assert curve.at(lam).gap == pytest.approx(gap, abs=1e-14)
        assert curve.at(lam).auc == pytest.approx(auc(y, moved), abs=1e-14)
    chosen = FairPOT(**top).fit(s, y, sensitive_features=g)
    assert len(chosen.tradeoff()) >= 33  # the best own values, for so many target gaps, and the one asked for
    found = chosen.achieved_.gap if repair == "all" else chosen.achieved_.gap_top
    assert found <= curve.gap.min() + 1e-12


def test_a_grid_reads_the_exact_curve():
    s, y, g = rows()
    fp = FairPOT().fit(s, y, sensitive_features=g)
    grid = fp.tradeoff(s, y, sensitive_features=g, lams=[1, 0, 0.5, 0.1])
    assert grid.lam.tolist() == [0, 0.1, 0.5, 1]
    exact = fp.tradeoff()
    assert [exact.at(lam).auc for lam in grid.lam] == grid.auc.tolist()


def test_one_sided_groups():
    s, y, g = rows(n=50)
    y = np.where(g == "F", 0, y)
    with pytest.raises(ValueError, match="group 'F' has no rows with the outcome"):
        FairPOT().fit(s, y, sensitive_features=g)
    with pytest.raises(ValueError, match="group 'F' has no rows with the outcome"):
        FairPOT(None, reference="M").fit(s, y, sensitive_features=g)
    fp = FairPOT(0.4, reference="M").fit(s, y, sensitive_features=g)
    with pytest.warns(UndefinedMetricWarning, match="'F' has no rows with the outcome"):
        curve = fp.tradeoff()
    assert np.isnan(curve.xauc_ba).all()
    assert np.isnan(curve.gap).all()
    with pytest.raises(InfeasibleRuleError, match="undefined on these rows"):
        curve.select()
    moved = fp.transform(s, sensitive_features=g)
    assert curve.at(0.4).auc == pytest.approx(auc(y, moved), abs=1e-14)


def test_rows_of_one_class_are_undefined():
    """Without negatives nothing can be compared: on every way to a curve."""
    s, y, g = rows(n=60)
    new, ones, h = [0.5, 0.6, 0.7, 0.1], [1, 1, 1, 1], ["M", "F", "F", "M"]
    for top in ({}, {"top": 0.5, "top_of": "group"}, {"top": 0.5, "top_of": "group", "repair": "top"}):
        fp = FairPOT(0.3, **top, reference="M").fit(s, y, sensitive_features=g)
        for lams in (None, [0, 0.5]):
            with pytest.warns(UndefinedMetricWarning):
                curve = fp.tradeoff(new, ones, sensitive_features=h, lams=lams)
            assert np.isnan(curve.auc).all()


@pytest.mark.parametrize("frame", [pd.Series, pl.Series, pa.array, pa.chunked_array])
def test_output_in_the_callers_type(frame):
    s, y, g = rows(n=20)
    expected = FairPOT().fit(s, y, sensitive_features=g).transform(s, sensitive_features=g)
    wrap = (lambda v: frame([v.tolist()])) if frame is pa.chunked_array else frame
    fp = FairPOT().fit(wrap(s), wrap(y), sensitive_features=wrap(g))
    got = fp.transform(wrap(s), sensitive_features=wrap(g))
    assert type(got) is type(wrap(s))
    np.testing.assert_array_equal(np.asarray(got), expected)


def test_output_keeps_name_index_and_shape():
    s, y, g = rows(n=20)
    fp = FairPOT().fit(s, y, sensitive_features=g)
    series = pd.Series(s, index=np.arange(len(s)) * 3 + 7, name="risk")
    got = fp.transform(series, sensitive_features=g)
    assert got.name == "risk"
    assert got.index.equals(series.index)
    frame = fp.transform(series.to_frame(), sensitive_features=g)
    pd.testing.assert_frame_equal(frame, got.to_frame())
    assert fp.transform(pl.Series("risk", s), sensitive_features=g).name == "risk"
    assert fp.transform(s[:, None], sensitive_features=g).shape == (len(s), 1)
    assert isinstance(fp.transform(s.tolist(), sensitive_features=g), np.ndarray)
    assert fp.transform(s.astype(np.float32), sensitive_features=g).dtype == np.float64


def test_bad_parameters_and_rows():
    s, y, g = rows(n=50)
    cases = [
        ({"lam": 1.5}, {}, ValueError, r"lam must be finite and in \[0, 1\], got 1.5"),
        ({"lam": "half"}, {}, TypeError, "lam must be a number"),
        ({"lam": True}, {}, TypeError, "lam must be a number"),
        ({"lam": float("nan")}, {}, ValueError, "lam must be finite"),
        ({"top": 0}, {}, ValueError, r"top must be a whole number of rows, at least 1, or a share in \(0, 1\]"),
        ({"top": 1.5}, {}, ValueError, "top must be"),
        ({"top": True}, {}, TypeError, "top must be a whole number of rows or a share"),
        ({"repair": "top"}, {}, ValueError, r"repair='top' says something of the top(?s:.)*Hint: add top=0.1"),
        ({"top_of": "group"}, {}, ValueError, "top_of='group' says something of the top"),
        ({"top": 0.01, "repair": "top"}, {"scores": s + 5 * (g == "M")}, ValueError, "no rows in the top 1%"),
        ({"top": 0.5, "top_of": "everybody"}, {}, ValueError, "top_of must be one of 'all', 'group'"),
        ({"top": 0.5, "repair": "some"}, {}, ValueError, "repair must be one of 'all', 'top'"),
        ({"keep": "scale"}, {}, ValueError, "keep must be one of 'grid', 'probabilities'"),
        ({"lam": {"F": 0.5}}, {}, TypeError, "lam must be a number"),
        ({"ties": "none"}, {}, ValueError, "ties must be one of"),
        ({"monotone": "yes"}, {}, TypeError, "monotone must be True or False"),
        ({"lam": 0.4, "max_gap": 0.1}, {}, ValueError, "is a rule for choosing lam"),
        ({"lam": None, "max_gap": -1}, {}, ValueError, "max_gap must lie"),
        ({"reference": "Z"}, {}, ValueError, r"reference='Z' is not among the groups \['F', 'M'\]"),
        ({}, {"y": None}, ValueError, "or give lam=... and reference=..."),
        ({"lam": 0.4}, {"y": None}, ValueError, "y is missing: who is ranked higher is seen from outcomes"),
        ({"lam": None, "reference": "M"}, {"y": None}, ValueError, "y is missing: lam is chosen by its effect"),
        ({}, {"y": np.zeros(len(s))}, ValueError, "y has no rows with the outcome"),
        ({"lam": 0.4}, {"y": np.zeros(len(s))}, ValueError, "y has no rows with the outcome"),
        ({"lam": None, "reference": "M"}, {"y": np.ones(len(s))}, ValueError, "y has no rows without the outcome"),
    ]
    for parameters, change, error, message in cases:
        columns = {"scores": s, "y": y} | change
        with pytest.raises(error, match=message):
            FairPOT(**parameters).fit(columns["scores"], columns["y"], sensitive_features=g)


def test_unseen_groups_and_missing_reference():
    s, y, g = rows(n=50)
    fp = FairPOT().fit(s, y, sensitive_features=g)
    with pytest.raises(UnseenGroupError, match=r"2 rows with a group not seen in fit: \['X'\] \(seen: \['F', 'M'\]\)"):
        fp.transform([0.1, 0.2, 0.3], sensitive_features=["X", "F", "X"])
    with pytest.raises(UnseenGroupError, match="never passes unknown groups"):
        fp.tradeoff([0.1, 0.2], [0, 1], sensitive_features=["X", "F"])
    three = rows(n=60, groups=("F", "M", "X"))
    fp = FairPOT(reference="X").fit(*three[:2], sensitive_features=three[2])
    with pytest.raises(ValueError, match="no rows of the reference group 'X'"):
        fp.tradeoff(s, y, sensitive_features=g)
    assert fp.transform([0.5], sensitive_features=["F"]).shape == (1,)  # one group at a time is fine


def test_warnings_stay_away_from_sound_data():
    s, y, g = rows()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for top in ({}, {"top": 0.5}, {"top": 0.5, "repair": "top"}):
            FairPOT(**top).fit(s, y, sensitive_features=g).tradeoff()


@pytest.mark.parametrize("top_of", ["all", "group"])
def test_monotone_holds_in_a_top_and_at_its_edge(top_of):
    """The gap is that of everybody who was in the top; where it ends in ties, that of the top of the adjusted list."""
    reversed_without, tied = 0, []
    for seed in range(12):
        s, y, g = rows(seed, n=200, shift=-0.3 if seed % 2 else 0.3)
        new, new_y, new_g = rows(seed + 100, n=200, decimals=5, shift=0.1)
        setting = {"top": 0.7, "top_of": top_of, "repair": "top", "reference": "M"}
        fp, free = (FairPOT(0.4, monotone=m, **setting).fit(s, y, sensitive_features=g) for m in (True, False))
        for score, group in ((s, g), (new, new_g)):
            order = np.argsort(score[group == "F"], kind="stable")
            kept, loose = (p.transform(score, sensitive_features=group)[group == "F"][order] for p in (fp, free))
            assert (np.diff(kept) >= 0).all()
            reversed_without += (np.diff(loose) < 0).any()
        curve = fp.tradeoff(new, new_y, sensitive_features=new_g, lams=[0, 0.2, 0.4])
        top = new >= np.array([fp.starts_[k] for k in new_g])
        tied.append(oracles.has_ties_at_its_edge(s, 0.7, g if top_of == "group" else None))
        for lam in curve.lam:
            moved = fp.at(lam).transform(new, sensitive_features=new_g)
            if tied[-1]:
                top = oracles.top_rows(moved, 0.7, new_g if top_of == "group" else None)
            same = xauc_gap(new_y[top], moved[top], sensitive_features=new_g[top])
            assert curve.at(lam).gap == pytest.approx(same, abs=1e-14)
            assert curve.at(lam).auc == pytest.approx(auc(new_y, moved), abs=1e-14)
    assert reversed_without > 5
    assert 3 < sum(tied) < 9


def test_time_decayed_weights():
    for seed in range(20):
        s, y, g = rows(seed, n=200, decimals=9)
        weight = np.exp(-np.random.default_rng(seed).random(len(s)) * 60)
        fp = FairPOT(0.5, reference="M", ties="half").fit(s, y, sensitive_features=g, sample_weight=weight)
        curve = fp.tradeoff()
        assert ((curve.gap >= 0) & (curve.gap <= 1) & (curve.auc <= 1)).all()
        assert curve.select(max_gap=float(curve.gap.max())).gap <= curve.gap.max() + 1e-12
        assert fp.maps_["F"].is_monotone or fp.lam_ < 1
        whole = {"sensitive_features": g, "sample_weight": weight, "ties": "half"}
        assert xauc_gap(y, s, top=1.0, **whole) == xauc_gap(y, s, **whole)


def test_broken_weights_never_exceed_one():
    """Everybody on the right side: sums of broken weights must not make it more than everybody."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n = 40
        y, g, weight = np.arange(2 * n) // n, np.array(["F", "M"])[rng.integers(0, 2, 2 * n)], rng.random(2 * n)
        s = np.arange(2 * n) / (2 * n)
        assert auc(y, s, sample_weight=weight, ties="half") <= 1
        fp = FairPOT(0.5, reference="M", ties="half").fit(s, y, sensitive_features=g, sample_weight=weight)
        curve = fp.tradeoff()
        for values in (curve.auc, curve.xauc_ab, curve.xauc_ba):
            assert (values >= 0).all()
            assert (values <= 1).all()


def test_the_smallest_share_moves_somebody():
    s, y, g = rows(n=50)
    curve = FairPOT(0.5, reference="M").fit(s, y, sensitive_features=g).tradeoff()
    for lam in (0.0, 1e-300, 1e-13, 1e-11, 0.3, 1.0):
        moved = FairPOT(lam, reference="M").fit(s, y, sensitive_features=g).transform(s, sensitive_features=g)
        assert (moved != s).any() == (curve.at(lam).lam > 0) == (lam > 0)
        assert curve.at(lam).auc == pytest.approx(auc(y, moved), abs=1e-14)
        assert curve.at(lam).gap == pytest.approx(xauc_gap(y, moved, sensitive_features=g), abs=1e-14)


def test_float32_shares_are_the_decimals_they_print_as():
    s, y, g = np.arange(20) / 20, np.tile([0, 1], 10), np.repeat(["F", "M"], 10)
    one, same = (FairPOT(lam, reference="M").fit(s, y, sensitive_features=g) for lam in (0.1, np.float32(0.1)))
    assert one.maps_ == same.maps_
    assert same.lam_ == 0.1
    grid = one.tradeoff(lams=np.array([0.1, 0.5], dtype=np.float32))
    assert grid.lam.tolist() == [0.1, 0.5]
    assert grid.auc[0] == one.tradeoff().at(0.1).auc
    top = {"sensitive_features": g, "top_of": "group"}
    assert auc(y, s, top=np.float32(0.3), **top) == auc(y, s, top=0.3, **top)
