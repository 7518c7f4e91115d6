"""Several models' scores of the same rows in one audit."""

import json

import numpy as np
import pandas as pd
import pytest

from fairpot import audit
from fairpot.metrics import auc, xauc_gap
from inference_oracles import change_of_scores


def wards(n=900, seed=11):
    """Draw outcomes, wards, weights and patients, and three models that share most of their noise."""
    rng = np.random.default_rng(seed)
    ward, y = rng.choice(["east", "hill", "lake"], n, p=[0.5, 0.4, 0.1]), (rng.random(n) < 0.35).astype(int)
    noise = rng.normal(0, 1, n)
    old = y + noise + 0.6 * (ward == "hill")
    new = y + noise + 0.2 * (ward == "hill") + rng.normal(0, 0.1, n)
    return y, ward, rng.integers(1, 4, n), np.arange(n) // 3, {"old": old, "new": new, "coarse": np.round(old)}


@pytest.mark.parametrize("kind", ["rows", "weights", "fractions", "clusters"])
def test_each_is_the_audit_of_its_own_and_differences_are_paired(kind):
    y, ward, weight, patient, models = wards()
    weighed = {"weights": {"sample_weight": weight}, "fractions": {"sample_weight": weight / 4}}
    given = {"rows": {}, "clusters": {"clusters": patient}, **weighed}[kind] | {"sensitive_features": ward}
    found = audit(y, models, top=0.3, threshold=[0.5, 1.0], **given)
    reference = found["old"].reference
    for name, scores in models.items():
        own = audit(y, scores, top=0.3, threshold=[0.5, 1.0], reference=reference, **given)
        assert found[name].to_dict() == own.to_dict()
    assert list(found.changes) == ["new", "coarse"]
    for name, change in found.changes.items():
        assert change.to_dict() == change_of_scores(y, models["old"], models[name], **given).to_dict()
        assert change.auc.change == pytest.approx(found[name].auc - found["old"].auc, abs=1e-12)
        assert change.gap.change == pytest.approx(found[name].gap - found["old"].gap, abs=1e-12)


def test_limits_of_a_difference_cover_it_and_are_narrower_than_those_of_both_apart():
    """Resampled rows give the spread of the difference, which pairing makes small."""
    y, ward, _, _, models = wards(seed=12)
    change = audit(y, models, sensitive_features=ward).changes["new"].auc
    rng = np.random.default_rng(0)
    drawn = [rng.integers(0, len(y), len(y)) for _ in range(300)]
    spread = np.std([auc(y[i], models["new"][i]) - auc(y[i], models["old"][i]) for i in drawn])
    apart = np.std([auc(y[i], models["new"][i]) for i in drawn]) * np.sqrt(2)
    assert change.se == pytest.approx(spread, rel=0.15)
    assert change.se < apart / 2


def test_groups_that_are_left_out_are_left_out_of_differences():
    y, ward, _, _, models = wards(seed=13)
    small = int((ward == "lake").sum()) + 1
    found = audit(y, models, sensitive_features=ward, min_group=small)
    kept = ward != "lake"
    assert [each.group for each in found["new"].left_out] == ["lake"]
    wanted = {name: xauc_gap(y[kept], s[kept], sensitive_features=ward[kept]) for name, s in models.items()}
    change = found.changes["coarse"].gap
    assert (change.before, change.after) == pytest.approx((wanted["old"], wanted["coarse"]), abs=1e-12)


def test_it_is_shown():
    y, ward, _, _, models = wards(seed=14)
    found = audit(y, models, sensitive_features=ward)
    assert repr(found).startswith("<Audits of 3 models: old gap 0.")
    assert "old -> new: AUC" in str(found)
    assert str(found).startswith("old: AUC 0.")
    frame = found.frame()
    assert list(frame["model"]) == list(models)
    assert frame["auc_change"].isna().tolist() == [True, False, False]
    assert (frame["gap_change_low"][1:] < frame["gap_change"][1:]).all()
    document = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert document["models"]["old"]["change"] is None
    assert document["models"]["new"]["change"]["auc"]["change"] == found.changes["new"].auc.change
    assert "<td>coarse</td>" in found._repr_html_()


def test_without_intervals_and_with_one_model_there_are_no_differences():
    y, ward, _, _, models = wards(seed=15)
    assert audit(y, models, sensitive_features=ward, level=None).changes == {}
    alone = audit(y, {"old": models["old"]}, sensitive_features=ward)
    assert (len(alone), alone.changes) == (1, {})
    assert len(alone.frame()) == 1


def test_columns_that_do_not_fit_are_named():
    y, ward, _, _, models = wards(seed=16)
    with pytest.raises(ValueError, match="empty dict"):
        audit(y, {}, sensitive_features=ward)
    with pytest.raises(ValueError, match="the same name"):
        audit(y, {1: models["old"], "1": models["new"]}, sensitive_features=ward)
    with pytest.raises(ValueError, match=r"the scores of 'short': (.*)rows"):
        audit(y, {**models, "short": models["old"][1:]}, sensitive_features=ward)
    shuffled = pd.Series(models["new"]).sample(frac=1, random_state=0)
    with pytest.raises(ValueError, match=r"the scores of 'new': (.*)index"):
        audit(pd.Series(y), {"old": pd.Series(models["old"]), "new": shuffled}, sensitive_features=pd.Series(ward))
    with pytest.raises((TypeError, ValueError), match="sensitive_features"):
        audit(y, models)
