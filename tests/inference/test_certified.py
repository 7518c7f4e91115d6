"""Curves with bands and choices that can be signed for, of every method."""

import warnings
from functools import partial

import numpy as np
import pytest

from fairpot import (
    FairPOT,
    FairScoreClassifier,
    InfeasibleRuleError,
    LogitShift,
    OptimalMerge,
    WassersteinRepair,
    audit,
    load,
    score_table,
)
from fairpot.inference import confidence_interval
from fairpot.splitting import all_but, split_table
from inference_oracles import change_of_scores, signed, size_limits

METHODS = [FairPOT, WassersteinRepair, OptimalMerge, LogitShift]


def draw(seed, n=5000):
    rng = np.random.default_rng(seed)
    m = rng.random(n) < 0.3
    y = (rng.random(n) < 0.3).astype(int)
    return 1 / (1 + np.exp(-rng.normal(y * 1.2 + 0.5 * m - 1))), y, np.where(m, "M", "F")


@pytest.fixture(scope="module")
def fitted():
    return draw(0)


@pytest.fixture(scope="module")
def held_out():
    return draw(1)


def table_of(rows):
    return score_table(rows[1], rows[0], sensitive_features=rows[2])


@pytest.mark.parametrize("method", METHODS)
def test_a_certified_choice_is_reproduced_by_hand(fitted, method):
    """Refit on all folds but one, map that one, average: the certificate says the same."""
    model = method(max_gap=0.08, confidence=0.9).fit(fitted[0], fitted[1], sensitive_features=fitted[2])
    found, value = model.certificate_, model.strength_
    assert found.rows == "5 cross-fitted folds"
    assert (found.bound, found.confidence, found.dial, found.value) == (0.08, 0.9, method.dial.name, value)
    assert found.gap.value < found.gap.high <= 0.1
    assert found.gap_before.value > 0.15
    folds = split_table(table_of(fitted), 5, 0)
    gaps, errors, aucs = [], [], []
    for k, fold in enumerate(folds):
        other = method(value, reference=model.reference_).fit(all_but(folds, k))
        after = fold.rescored(other.maps_)
        measured = confidence_interval("xauc_gap", after)
        gaps.append(signed(measured, "F"))
        errors.append(measured.se)
        aucs.append(confidence_interval("auc", after).value)
    np.testing.assert_allclose(found.gap.value, abs(np.mean(gaps)), atol=1e-12)
    np.testing.assert_allclose(found.gap.se, np.sqrt(np.sum(np.square(errors))) / 5, rtol=1e-9)
    np.testing.assert_allclose(found.auc.value, np.mean(aucs), atol=1e-12)
    whole = method(value, reference=model.reference_).fit(table_of(fitted))
    probe = np.linspace(0.01, 0.99, 50)
    np.testing.assert_array_equal(model.maps_["F"](probe), whole.maps_["F"](probe))


def test_a_choice_on_held_out_rows(fitted, held_out):
    fp = FairPOT(lam=0.0).fit(fitted[0], fitted[1], sensitive_features=fitted[2])
    given = {"sensitive_features": held_out[2], "max_gap": 0.08, "confidence": 0.95}
    sure = fp.choose_certified(held_out[0], held_out[1], **given)
    assert sure.certificate_.rows == "held-out rows"
    curve = fp.tradeoff(held_out[0], held_out[1], sensitive_features=held_out[2])
    point = curve.select(max_gap=0.08, confidence=0.95)
    assert point.lam == sure.lam_ == sure.lam
    assert point.certificate == sure.certificate_
    after = sure.transform(held_out[0], sensitive_features=held_out[2])
    measured = confidence_interval("xauc_gap", held_out[1], after, sensitive_features=held_out[2])
    np.testing.assert_allclose(point.certificate.gap.value, measured.value, atol=1e-12)
    np.testing.assert_allclose(point.certificate.gap.se, measured.se, rtol=5e-3)
    assert sure.at(0.1).certificate_ is None


@pytest.mark.parametrize("groups", [2, 3])
def test_a_chosen_strength_is_promised_its_bound_and_no_limit(groups):
    """Its own one-sided limit, by the interval whose tails are each the promise's one, knows of no choice."""
    rng = np.random.default_rng(41)
    g = rng.integers(0, groups, 4000)
    y = rng.binomial(1, 0.2 + 0.25 * g)  # the group tells of the outcome, so that every repair costs AUC
    score, names = rng.normal(y + 0.5 * g), np.array(["x", "y", "z"])[g]
    fp = FairPOT(0.0).fit(score[:2000], y[:2000], sensitive_features=names[:2000])
    held_out = score_table(y[2000:], score[2000:], sensitive_features=names[2000:])
    beyond = 0
    for bound in np.linspace(0.14, 0.3, 8 if groups == 2 else 4):
        sure = fp.choose_certified(held_out, max_gap=bound, confidence=0.9)
        found = sure.certificate_
        one_sided = confidence_interval("xauc_gap", held_out.rescored(sure.maps_), level=0.8).high
        assert one_sided <= bound * 1.002
        assert found.limit is None
        assert "limit" not in found.to_dict()
        assert found.spares(bound - one_sided - 1e-3)
        assert not found.spares(bound - one_sided + 1e-3)
        beyond += found.gap.high > bound
        assert f"at most {found.bound:g} with" in str(found)
        assert f"{found.gap.value:.3f} (90% interval {found.gap.low:.3f} to {found.gap.high:.3f}), AUC" in str(found)
    assert beyond or groups == 3  # the two-sided interval alone would contradict the promise


def test_what_cannot_be_certified_is_an_error_that_says_what_is_missing(fitted):
    with pytest.raises(InfeasibleRuleError, match="smallest bound that can be certified on these rows") as error:
        OptimalMerge(max_gap=0.005, confidence=0.95).fit(fitted[0], fitted[1], sensitive_features=fitted[2])
    assert "Hint: accept max_gap=" in str(error.value)
    few = draw(3, n=60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(InfeasibleRuleError, match="cross-fitting needs at least 10"):
            FairPOT(max_gap=0.5, confidence=0.95).fit(few[0], few[1], sensitive_features=few[2])


@pytest.mark.filterwarnings("ignore::fairpot.exceptions.FairpotWarning")
def test_rows_that_are_missing_in_a_repaired_top_are_said_to_be_missing_there(fitted):
    """The group has hundreds of such rows below it."""
    few = draw(3, n=400)
    repair = FairPOT(0.5, top=0.02, repair="top").fit(*fitted[:2], sensitive_features=fitted[2])
    sure = {"max_gap": 0.5, "confidence": 0.9, "repair": "top"}
    three = "'F' has 3 rows without the outcome"
    for refused, rows, said in (
        (FairPOT(**sure, top=0.02).fit, fitted, f"{three} in the top 2%"),
        (FairPOT(**sure, top=100).fit, fitted, f"{three} among the 100 highest"),
        (FairPOT(max_gap=0.5, top=0.02, repair="top").fit, few, "'F' has no rows without the outcome in the top 2%"),
        (partial(repair.certify, max_gap=0.5), few, "there is 1 row without the outcome in the top 2%"),
    ):
        with pytest.raises(ValueError, match=f"{said}(.|\n)*Hint: "):
            refused(*rows[:2], sensitive_features=rows[2])


def test_the_fitted_rows_certify_nothing(fitted):
    fp = FairPOT(lam=0.5).fit(fitted[0], fitted[1], sensitive_features=fitted[2])
    for curve in (fp.tradeoff(), fp.tradeoff(fitted[0], fitted[1], sensitive_features=fitted[2])):
        with pytest.raises(ValueError, match="rows that the map was fitted on"):
            curve.select(max_gap=0.1, confidence=0.95)
    with pytest.raises(ValueError, match="give max_gap"):
        fp.tradeoff().select(confidence=0.95)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"lam": 0.5, "confidence": 0.9}, "certifies a choice of lam by max_gap"),
        ({"confidence": 0.9}, "certifies a choice of lam by max_gap"),
        ({"max_gap": 0.1, "confidence": 95}, "between 0.5 and 1"),
    ],
)
def test_confidence_is_checked(fitted, given, said):
    with pytest.raises(ValueError, match=said):
        FairPOT(**given).fit(fitted[0], fitted[1], sensitive_features=fitted[2])


def test_a_bound_on_the_loss_as_well(fitted):
    model = FairPOT(max_gap=0.1, max_auc_loss=0.05, confidence=0.9)
    model.fit(fitted[0], fitted[1], sensitive_features=fitted[2])
    assert model.certificate_.auc_before.value - model.certificate_.auc.value <= 0.05
    # Risks that are right: whatever closes the gap between groups of unequal risk costs AUC.
    rng = np.random.default_rng(4)
    group = np.where(rng.random(5000) < 0.4, "M", "F")
    risk = 1 / (1 + np.exp(-rng.normal(1.5 * (group == "M") - 1)))
    y = (rng.random(5000) < risk).astype(int)
    with pytest.raises(InfeasibleRuleError, match="smallest loss among them"):
        FairPOT(max_gap=0.1, max_auc_loss=0.0, confidence=0.9).fit(risk, y, sensitive_features=group)


@pytest.mark.parametrize("method", METHODS)
def test_every_curve_has_a_band(fitted, held_out, method):
    model = method().fit(fitted[0], fitted[1], sensitive_features=fitted[2])
    curve = model.tradeoff(held_out[0], held_out[1], sensitive_features=held_out[2])
    band = curve.band()
    assert len(band) <= 256
    assert (band.gap.low_all <= band.gap.value).all()
    assert (band.gap.value <= band.gap.high_all).all()
    assert (band.auc.low <= band.auc.value).all()
    value = float(band.values[len(band) // 2])
    after = table_of(held_out).rescored(model.at(value).maps_)
    whole = confidence_interval("xauc_gap", after)
    place = len(band) // 2
    np.testing.assert_allclose(band.gap.value[place], whole.value, atol=1e-12)
    np.testing.assert_allclose([band.gap.low[place], band.gap.high[place]], size_limits(whole), atol=1e-3)


def test_three_groups(fitted):
    group = np.where(fitted[2] == "M", "M", np.where(np.arange(len(fitted[0])) % 2, "F", "X"))
    model = FairPOT(max_gap=0.12, confidence=0.9).fit(fitted[0], fitted[1], sensitive_features=group)
    assert model.certificate_.how == "step-down"
    assert model.tradeoff().band().gap.high.shape == (33,)


def test_the_model_file_keeps_the_certificate(fitted, tmp_path):
    path = tmp_path / "map.json"
    model = FairPOT(max_gap=0.08, confidence=0.9).fit(fitted[0], fitted[1], sensitive_features=fitted[2])
    model.save(path)
    known = load(path).certified_
    assert known == model.certificate_.to_dict()
    load(path).save(tmp_path / "again.json")
    assert load(tmp_path / "again.json").certified_ == known
    model.at(0.5).save(tmp_path / "other.json")
    assert load(tmp_path / "other.json").certified_ is None


def test_a_classifier_is_certified_by_its_out_of_fold_scores(fitted):
    from sklearn.linear_model import LogisticRegression

    X = np.column_stack([fitted[0], np.arange(len(fitted[0])) % 7])
    clf = FairScoreClassifier(LogisticRegression(), FairPOT(max_gap=0.1, confidence=0.9))
    clf.fit(X, fitted[1], sensitive_features=fitted[2])
    assert clf.postprocessor_.certificate_.bound == 0.1


def test_an_audit_carries_every_interval(fitted):
    scores, y, group = fitted
    found = audit(y, scores, sensitive_features=group, top=0.3, threshold=0.5, level=0.9)
    for metric, names, interval in (
        ("auc", {}, found.auc),
        ("xauc_gap", {}, found.gap),
        ("xauc", {"positive": "M", "negative": "F"}, found.ranking.pair("M", "F").xauc_first),
        ("xauc", {"positive": "F", "negative": "F"}, found.ranking.group("F").auc),
    ):
        alone = confidence_interval(metric, y, scores, sensitive_features=group, level=0.9, **names)
        np.testing.assert_allclose(
            [interval.value, interval.se, interval.low, interval.high],
            [alone.value, alone.se, alone.low, alone.high],
            rtol=1e-10,
        )
    plain = found.to_dict()
    partial = confidence_interval("xauc_gap", y, scores, sensitive_features=group, top=0.3, level=0.9)
    np.testing.assert_allclose(plain["tops"][0]["gap_high"], partial.high)
    first = plain["rates"][0]["rates"][0]["groups"][0]
    assert first["value_low"] == found.rates[0]["selection_rate"].groups[0].value.low
    assert "(90% interval " in str(found)
    assert found.verdict(0.9).answer == "within"
    assert audit(y, scores, sensitive_features=group, level=None).gap.reason == "none were asked for"
    twice = [np.repeat(column, 2) for column in (y, scores, group, np.arange(len(y)))]
    doubled = audit(twice[0], twice[1], sensitive_features=twice[2], clusters=twice[3], level=0.9)
    np.testing.assert_allclose(doubled.gap.se, found.gap.se, rtol=1e-9)


@pytest.mark.parametrize("many", [600, 5000])
def test_compare_calls_no_winner_that_chance_explains(fitted, held_out, many):
    """A lead is that of the two repairs that a user gets, on the held-out rows; many rows tell it from chance."""
    from fairpot import compare, score_table

    fitted, held_out = ([column[:many] for column in rows] for rows in (fitted, held_out))
    rows = {"sensitive_features": fitted[2], "methods": ["FairPOT", "WassersteinRepair"]}
    new = score_table(held_out[1], held_out[0], sensitive_features=held_out[2])
    result = compare(fitted[1], fitted[0], held_out=new, **rows)
    [rival] = [r for r in result.answer(0.1).rivals if r.method != "unrepaired"]
    best = result.best(0.1)
    models = {"FairPOT": FairPOT, "WassersteinRepair": WassersteinRepair}
    columns = []
    for name in (rival.method, best.method):
        model = models[name](max_gap=0.1).fit(fitted[0], fitted[1], sensitive_features=fitted[2])
        columns.append(model.transform(held_out[0], sensitive_features=held_out[2]))
    change = change_of_scores(held_out[1], *columns, sensitive_features=held_out[2]).auc
    np.testing.assert_allclose([rival.lead, rival.lead.se], [change.change, change.se], rtol=2e-2, atol=1e-6)
    assert rival.clear == (rival.lead.low > 0) == (many == 5000)
    assert ("the best is" in result.answer(0.1).text) == rival.clear
    folds = compare(fitted[1], fitted[0], random_state=0, **rows)
    assert all(np.isfinite(r.lead.se) for r in folds.answer(0.1).rivals)


@pytest.mark.parametrize("top_of", ["all", "group"])
def test_curves_of_the_top_have_bands_and_certificates(fitted, held_out, top_of):
    top_of = "all" if top_of == "all" else "group"
    model = FairPOT(top=0.4, top_of=top_of).fit(fitted[0], fitted[1], sensitive_features=fitted[2])
    curve = model.tradeoff(held_out[0], held_out[1], sensitive_features=held_out[2], lams=[0.0, 0.3, 0.6, 1.0])
    band = curve.band()
    for k, lam in enumerate(band.values):
        after = model.at(lam).transform(held_out[0], sensitive_features=held_out[2])
        rows = {"sensitive_features": held_out[2], "top": 0.4, "top_of": top_of}
        gap = confidence_interval("xauc_gap", held_out[1], after, **rows)
        if gap.note is not None:
            continue  # moved scores that tie at the threshold: the interval alone is a bootstrap's
        np.testing.assert_allclose(band.gap.value[k], gap.value, atol=1e-12)
        np.testing.assert_allclose([band.gap.low[k], band.gap.high[k]], size_limits(gap), atol=3e-3)
    sure = FairPOT(top=0.4, top_of=top_of, max_gap=0.3, confidence=0.9)
    sure.fit(fitted[0], fitted[1], sensitive_features=fitted[2])
    found = sure.certificate_.gap
    assert found + 1.2816 * found.se < 0.3  # the promise looks at one side, the interval at both


def test_an_effect_carries_paired_changes(fitted, held_out):
    from fairpot import effect

    model = FairPOT(lam=0.6).fit(fitted[0], fitted[1], sensitive_features=fitted[2])
    found = effect(model, held_out[0], held_out[1], sensitive_features=held_out[2])
    after = model.transform(held_out[0], sensitive_features=held_out[2])
    rows = change_of_scores(held_out[1], held_out[0], after, sensitive_features=held_out[2])
    np.testing.assert_allclose([found.changes.auc.se, found.changes.gap.low], [rows.auc.se, rows.gap.low], rtol=1e-9)
    assert found.to_dict()["changes"]["gap"]["after"] == pytest.approx(float(found.after.gap))
    assert found.rows()[0].change.low == found.changes.auc.low
    alone = confidence_interval("xauc_gap", held_out[1], after, sensitive_features=held_out[2])
    assert rows.signed_gap["F", "M"].se < alone.se  # what both have in common cancels
