"""A certificate for the map that is deployed: what it rests on, when it is refused, and what it names."""

import numpy as np
import pytest

from fairpot import FairPOT, InfeasibleRuleError, LogitShift, OptimalMerge, load, score_table
from fairpot.inference import confidence_interval
from fairpot.inference.dial import Cut, Evidence, Part, SameMaps
from fairpot.metrics import xauc_gap
from fairpot.splitting import all_but, split_table
from fairpot.table import Top
from inference_oracles import estimate_dial


def drawn(seed, n=3000, groups=2, shift=0.6):
    rng = np.random.default_rng(seed)
    place = rng.integers(0, groups, n)
    y = rng.binomial(1, 0.4, n)
    scores = 1 / (1 + np.exp(-rng.normal(1.2 * y + shift * place - 1)))
    return scores, y, np.array(["F", "M", "X"])[place]


def rows_of(data):
    return {"scores": data[0], "y": data[1], "sensitive_features": data[2]}


@pytest.mark.parametrize("groups", [2, 3])
@pytest.mark.parametrize("model", [FairPOT(0.3), LogitShift(max_gap=0.08), OptimalMerge(max_gap=0.08)], ids=repr)
def test_the_limit_is_that_of_the_moved_rows_and_no_smaller_bound_is_certified(model, groups):
    fitted, other = drawn(0, groups=groups), drawn(1, groups=groups)
    model.fit(**rows_of(fitted))
    moved = model.transform(other[0], sensitive_features=other[2])
    one_sided = confidence_interval("xauc_gap", other[1], moved, sensitive_features=other[2], level=0.9).high
    sure = model.certify(**rows_of(other), max_gap=one_sided + 1e-3)
    found = sure.certificate_
    assert (found.how, found.rows, found.confidence) == ("map", "held-out rows", 0.95)
    np.testing.assert_allclose(found.limit, one_sided, rtol=2e-3)
    assert found.gap.value == pytest.approx(xauc_gap(other[1], moved, sensitive_features=other[2]), abs=1e-12)
    assert sure.strength_ == model.strength_
    assert sure.maps_ == model.maps_
    assert model.certificate_ is None
    too_small = found.limit - 1e-3
    with pytest.raises(InfeasibleRuleError, match=rf"this map cannot be certified(.|\n)*upper limit {found.limit:.3g}"):
        model.certify(**rows_of(other), max_gap=too_small)
    hint = np.ceil(1000 * found.limit) / 1000
    assert model.certify(**rows_of(other), max_gap=hint).certificate_.bound == hint


def test_a_map_whose_gap_is_above_the_bound_is_rarely_certified():
    """The true gap is known from very many rows; the bound is a hair below it: a certificate breaks its promise."""
    model = FairPOT(0.2).fit(**rows_of(drawn(0)))
    many = drawn(1, n=1_000_000)
    moved = model.transform(many[0], sensitive_features=many[2])
    bound = xauc_gap(many[1], moved, sensitive_features=many[2]) - 1e-4
    broken = 0
    for seed in range(150):
        other = drawn(100 + seed, n=600)
        try:
            model.certify(**rows_of(other), max_gap=bound, confidence=0.9)
        except InfeasibleRuleError:
            continue
        broken += 1
    assert 3 <= broken <= 26  # 15 expected; 26 is three standard errors above


def test_the_fitted_rows_certify_nothing():
    fitted = drawn(0)
    model = FairPOT(0.5).fit(**rows_of(fitted))
    for maps in (model, model.fair_maps_):
        with pytest.raises(ValueError, match=r"fitted on.\nHint: pass other rows"):
            maps.certify(**rows_of(fitted), max_gap=0.5)


def test_few_rows_are_said_to_be_few():
    model = FairPOT(0.5).fit(**rows_of(drawn(0)))
    scores, y, group = drawn(2, n=40)
    keep = (group == "M") | (y == 0) | (np.cumsum((group == "F") & (y == 1)) <= 3)
    with pytest.raises(
        InfeasibleRuleError, match=r"this map cannot be certified: group 'F' has 3 rows with the outcome"
    ):
        model.certify(scores[keep], y[keep], sensitive_features=group[keep], max_gap=0.9)


@pytest.mark.parametrize("top_of", ["all", "group"])
def test_a_file_is_certified_like_the_model(tmp_path, top_of):
    fitted, other = drawn(3), drawn(4)
    for options in ({}, {"top": 0.4, "top_of": top_of}, {"top": 0.4, "top_of": top_of, "repair": "top"}):
        model = FairPOT(0.6, **options).fit(**rows_of(fitted))
        model.save(tmp_path / "map.json", overwrite=True)
        sure = model.certify(**rows_of(other), max_gap=0.5)
        again = load(tmp_path / "map.json").certify(**rows_of(other), max_gap=0.5)
        assert again.certified_ == sure.certificate_.to_dict()
        again.save(tmp_path / "sure.json", overwrite=True)
        assert load(tmp_path / "sure.json").certified_ == again.certified_


@pytest.mark.parametrize("top_of", ["all", "group"])
def test_a_promise_about_a_repaired_top_names_the_score_at_which_it_begins(top_of, tmp_path):
    fitted, other = drawn(5, n=6000), drawn(6, n=6000)
    options = {"top": 0.4, "top_of": top_of, "repair": "top"}
    plain = FairPOT(0.7, **options).fit(**rows_of(fitted))
    certified = {
        "this map": plain.certify(**rows_of(other), max_gap=0.3),
        "chosen on other rows": plain.choose_certified(**rows_of(other), max_gap=0.3),
        "cross-fitted": FairPOT(max_gap=0.3, confidence=0.95, **options).fit(**rows_of(fitted)),
    }
    starts = plain.starts_
    said = ", ".join(f"{group} {start:.4g}" for group, start in starts.items())
    named = f"scored {starts['F']:.4g} or above" if top_of == "all" else f"start of their group ({said})"
    for how, model in certified.items():
        found = model.certificate_
        assert found.starts == model.starts_ == starts, how
        assert named in found.metric
        assert str(found).startswith(f"the {found.metric} is at most 0.3 with 95% confidence")
        assert found.to_dict()["starts"] == [{"group": g, "value": v} for g, v in starts.items()]
        model.save(tmp_path / "map.json", overwrite=True)
        assert load(tmp_path / "map.json").certified_["starts"] == found.to_dict()["starts"]
    # The rows of the promise: everybody at or above the start by their original score, whatever it becomes.
    inside = other[0] >= np.array([starts[g] for g in other[2]])
    moved = plain.transform(other[0], sensitive_features=other[2])
    gap = xauc_gap(other[1][inside], moved[inside], sensitive_features=other[2][inside])
    assert certified["this map"].certificate_.gap.value == pytest.approx(gap, abs=1e-12)
    whole = FairPOT(0.7).fit(**rows_of(fitted)).certify(**rows_of(other), max_gap=0.5).certificate_
    assert whole.starts is None
    assert "starts" not in whole.to_dict()


def by_rows(y, scores, threshold):
    acted = scores >= threshold
    return (y[acted].sum() - (1 - y[acted]).sum() * threshold / (1 - threshold)) / len(y)


def test_net_benefits_are_those_of_the_moved_rows_and_of_folds_their_mean():
    scores, y, group = drawn(7, n=900)
    table = score_table(y, scores, sensitive_features=group)
    model = FairPOT(0.0).fit(table)
    values = [0.0, 0.4, 1.0]
    held = Evidence((Part(table, lambda asked: [model.at(v).maps_ for v in asked]),))
    found = held.net_benefits(values, 0.35)
    expected = [by_rows(y, model.at(v).transform(scores, sensitive_features=group), 0.35) for v in values]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    folds = split_table(table, 3, 0)
    taught = [FairPOT(0.7, reference=model.reference_).fit(all_but(folds, k)) for k in range(3)]
    crossed = Evidence(tuple(Part(fold, SameMaps(other.maps_)) for fold, other in zip(folds, taught)))
    alone = [Evidence((part,)).net_benefits([0.7], 0.35) for part in crossed.parts]
    found = crossed.net_benefits([0.7], 0.35)
    assert found[0] == pytest.approx(np.mean([each[0] for each in alone]))
    logits = score_table(y, np.log(scores / (1 - scores)), sensitive_features=group)
    with pytest.raises(ValueError, match="scores outside 0 to 1"):
        Evidence((Part(logits, SameMaps({})),)).net_benefits([0.0], 0.35)


@pytest.mark.parametrize("repair", ["all", "top"])
def test_net_benefit_counts_all_rows_where_the_gap_is_that_of_a_top(repair):
    scores, y, group = drawn(8, n=1500)
    model = FairPOT(max_gap=0.1, net_benefit_at=0.3, top=0.4, repair=repair).fit(scores, y, sensitive_features=group)
    point = model.tradeoff().select(max_gap=0.1, net_benefit_at=0.3)
    assert point.lam == model.strength_
    moved = model.transform(scores, sensitive_features=group)
    assert point.net_benefit == pytest.approx(by_rows(y, moved, 0.3), abs=1e-12)
    certified = {"max_gap": 0.4, "max_auc_loss": 0.05, "net_benefit_at": 0.3, "confidence": 0.9}
    sure = FairPOT(**certified, top=0.4, repair=repair).fit(scores, y, sensitive_features=group)
    assert sure.achieved_.auc_before - sure.achieved_.auc <= 0.05 + 1e-12


def test_rows_of_a_cut_are_those_from_its_scores_on():
    scores, y, group = drawn(9, n=800)
    table = score_table(y, scores, sensitive_features=group)
    starts = {"F": 0.3, "M": 0.5}
    cut = Cut(Top(0.4, "group"), starts)
    evidence = Evidence((Part(table.above(starts), SameMaps({})),), cut=cut)
    assert evidence.seen_in is cut
    inside = scores >= np.array([starts[g] for g in group])
    alone = score_table(y[inside], scores[inside], sensitive_features=group[inside])
    np.testing.assert_array_equal(evidence.estimate([0.0]).gap, estimate_dial(alone, lambda value: {}, [0.0]).gap)
