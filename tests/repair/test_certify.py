"""Certificates: of this very map on other rows, or of the strength that those rows choose."""

import msgspec
import numpy as np
import pytest

import fairpot
from fairpot import FairPOT, LogitShift, WassersteinRepair, load, score_table
from fairpot.exceptions import InfeasibleRuleError
from fairpot.metrics import xauc_gap
from fairpot.modelfile.files import dumps
from fairpot.repair import registry

TOPS = [{}, {"top": 0.5}, {"top": 0.5, "top_of": "group", "repair": "top"}]


def draw(seed, n=1600, groups="ab"):
    rng = np.random.default_rng(seed)
    place, y = rng.integers(0, len(groups), n), rng.integers(0, 2, n)
    score = 1 / (1 + np.exp(-rng.normal(1.2 * y - 0.5 - 0.35 * place)))
    return score, y, np.array(list(groups))[place]


@pytest.fixture(scope="module")
def rows():
    return draw(0)


@pytest.fixture(scope="module")
def later():
    return draw(1)


def fitted(model, rows):
    return model.fit(*rows[:2], sensitive_features=rows[2])


def without_certificate(model):
    """The content of the file, but for what is said of a certificate."""
    content = model.fair_maps_.file_content()
    return dumps(msgspec.structs.replace(content, certificate=msgspec.UNSET))


@pytest.mark.parametrize("top", TOPS, ids=str)
def test_a_certificate_is_that_of_the_map_as_it_is(top, rows, later, tmp_path):
    """The same strength, the same bytes, on other rows; from a file too, with the same numbers."""
    model = fitted(FairPOT(max_gap=0.15, **top), rows)
    given = {"sensitive_features": later[2], "max_gap": 0.4, "confidence": 0.9}
    judged = model.certify(*later[:2], **given)
    assert judged is not model
    assert model.certificate_ is None
    assert judged.strength_ == model.strength_
    assert judged.maps_ == model.maps_
    assert without_certificate(judged) == without_certificate(model)
    found = judged.certificate_
    assert (found.bound, found.confidence) == (0.4, 0.9)
    after = model.transform(later[0], sensitive_features=later[2])
    keep = np.ones(len(after), dtype=bool)
    if model.starts_ is not None:
        keep = later[0] >= np.array([model.starts_[g] for g in later[2]])
    if model.repair == "all" and top:
        expected = xauc_gap(later[1], after, sensitive_features=later[2], top=0.5)
    else:
        expected = xauc_gap(later[1][keep], after[keep], sensitive_features=later[2][keep])
    assert found.gap.value == pytest.approx(expected, abs=1e-9)
    model.save(tmp_path / "map.json")
    loaded = load(tmp_path / "map.json")
    assert loaded.certify(*later[:2], **given).certified_ == found.to_dict()
    assert loaded.certified_ is None
    table = score_table(later[1], later[0], sensitive_features=later[2])
    assert model.certify(table, max_gap=0.4, confidence=0.9).certificate_.to_dict() == found.to_dict()


def test_a_choice_may_take_another_strength(rows, later):
    model = fitted(FairPOT(lam=0.0), rows)
    with pytest.raises(InfeasibleRuleError, match=r"smallest|certified"):
        model.certify(*later[:2], sensitive_features=later[2], max_gap=0.12)
    chosen = model.choose_certified(*later[:2], sensitive_features=later[2], max_gap=0.12)
    assert chosen.strength_ > 0
    assert chosen.certificate_.value == chosen.strength_
    assert model.strength_ == 0.0
    after = chosen.transform(later[0], sensitive_features=later[2])
    assert xauc_gap(later[1], after, sensitive_features=later[2]) <= 0.12
    again = chosen.certify(*later[:2], sensitive_features=later[2], max_gap=0.12)
    assert again.certificate_.gap.value == pytest.approx(chosen.certificate_.gap.value, abs=1e-12)


def test_nothing_is_certified_on_the_fitted_rows(rows):
    model = fitted(FairPOT(0.5), rows)
    for call in (model.certify, model.choose_certified, model.fair_maps_.certify):
        with pytest.raises(ValueError, match=r"rows that the map was fitted on(.|\n)*Hint"):
            call(*rows[:2], sensitive_features=rows[2], max_gap=0.4)


def test_three_groups_clusters_weights_and_names(rows):
    three, other = draw(2, groups="abc"), draw(3, groups="abc")
    model = fitted(WassersteinRepair(0.9), three)
    told = {"clusters": np.arange(len(other[0])) // 2, "sample_weight": np.linspace(0.5, 1.5, len(other[0]))}
    plain = model.certify(*other[:2], sensitive_features=other[2], max_gap=0.5)
    fine = model.certify(*other[:2], sensitive_features=other[2], max_gap=0.5, weights="importance", **told)
    assert fine.certificate_.gap.high != plain.certificate_.gap.high
    assert fine.certificate_.limit <= 0.5
    named = {"a": "z", "b": "y", "c": "x"}
    renamed = fitted(WassersteinRepair(0.9), (*three[:2], np.array([named[g] for g in three[2]])))
    again = renamed.certify(*other[:2], sensitive_features=np.array([named[g] for g in other[2]]), max_gap=0.5)
    assert again.certificate_.limit == pytest.approx(plain.certificate_.limit, abs=1e-12)


def test_a_scored_effect_says_nothing_of_another_reference(rows):
    """What would be with another reference is fitted when it is asked for, not inside every effect."""
    model = fitted(FairPOT(max_gap=0.2, confidence=0.9), rows)
    found = fairpot.effect(model, *rows[:2], sensitive_features=rows[2])
    assert not hasattr(found, "other_reference")
    assert "as the reference instead" not in str(found)
    asked = fitted(FairPOT(max_gap=0.2, confidence=0.9, reference="b"), rows)
    assert asked.reference_ == "b"
    assert asked.certificate_.bound == 0.2


def test_where_no_score_changes_no_gap_does():
    """Of three groups too; and the names of groups move no limit."""
    three = draw(4, n=900, groups="abc")
    still = fairpot.effect(fitted(LogitShift(0.0), three), *three[:2], sensitive_features=three[2]).changes.gap
    assert (still.change, still.low, still.high) == (0.0, 0.0, 0.0)
    other = (*three[:2], np.array([{"a": "z", "b": "y", "c": "x"}[g] for g in three[2]]))
    one, two = (
        fairpot.effect(fitted(LogitShift(0.3, reference=name), rows), *rows[:2], sensitive_features=rows[2]).changes.gap
        for rows, name in ((three, "a"), (other, "z"))
    )
    for end in ("change", "low", "high"):
        assert getattr(one, end) == pytest.approx(getattr(two, end), abs=1e-9)


def few_at_the_top(seed, n=2500):
    rng = np.random.default_rng(seed)
    b = rng.random(n) < 0.4
    y = (rng.random(n) < 0.3 + 0.1 * b).astype(int)
    return rng.normal(1.1 * y + 0.8 * b), y, np.where(b, "b", "a")


@pytest.mark.filterwarnings("ignore::fairpot.exceptions.FairpotWarning")
@pytest.mark.parametrize("seed", [0, 1])
def test_a_top_of_few_rows_is_certified_from_the_whole_repair_down(seed, monkeypatch):
    """The gap in it waves along the strengths, so that testing them all together refuses every one."""
    rows = few_at_the_top(seed)
    model = fitted(FairPOT(max_gap=0.2, confidence=0.9, top=0.1), rows)
    assert (model.certificate_.how, model.certificate_.adjusted) == ("step-down", True)
    assert abs(model.certificate_.gap.value) < 0.1
    everybody = few_at_the_top(99, 200_000)
    moved = model.transform(everybody[0], sensitive_features=everybody[2])
    inside = moved >= np.array([model.certificate_.starts[g] for g in everybody[2]])
    assert xauc_gap(everybody[1][inside], moved[inside], sensitive_features=everybody[2][inside]) <= 0.2
    monkeypatch.setattr("fairpot.repair.family.Dial.whole", False)
    with pytest.raises(InfeasibleRuleError, match="smallest bound"):
        fitted(FairPOT(max_gap=0.2, confidence=0.9, top=0.1), rows)


def test_which_strengths_end_in_the_whole_repair():
    whole = {name: kind.dial.whole for name, kind in registry.methods().items()}
    assert {name for name, ends in whole.items() if ends} == {"fairpot", "wasserstein"}
