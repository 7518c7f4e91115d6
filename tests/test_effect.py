"""What an effect warns of."""

import numpy as np
import pytest

import fairpot
from fairpot import FairPOT, ScoreMap
from fairpot.inference import verdict


def test_lost_calibration_and_a_small_reference_are_said():
    rng = np.random.default_rng(0)
    n = 4000
    sex = np.where(rng.random(n) < 0.04, "F", "M")
    score = rng.beta(2, 6, n)
    y = (rng.random(n) < score).astype(int)
    score = np.where(sex == "F", np.minimum(score * 1.6, 1), score)
    fp = FairPOT(1.0, reference="F").fit(score, y, sensitive_features=sex)
    told = " ".join(fairpot.effect(fp, score, y, sensitive_features=sex).warnings)
    assert "small beside 'M'" in told
    assert "times worse" in told or "is lost" in told


@pytest.mark.parametrize(
    ("was", "now", "said"),
    [
        (0.0, 0.009, None),  # many times worse, but nobody sees it
        (0.0, 0.011, "is lost (0.0000 -> 0.0110)"),
        (0.002, 0.011, None),
        (0.002, 0.013, "gets 6.5 times worse (0.0020 -> 0.0130)"),
        (0.02, 0.055, None),  # visibly worse, but not several times
        (0.02, 0.064, "gets 3.2 times worse (0.0200 -> 0.0640)"),
    ],
)
def test_calibration_that_gets_visibly_and_several_times_worse_is_said(was, now, said):
    """Of ten rows at 0.2 two are positive, of ten at 0.6 six: scores that are too high by so much are off by that."""
    score = np.repeat([0.2, 0.6], 100) + was
    y = np.r_[np.arange(100) % 10 < 2, np.arange(100) % 10 < 6].astype(int)
    rows = {"scores": np.tile(score, 2), "y": np.tile(y, 2), "sensitive_features": np.repeat(["a", "b"], 200)}
    higher = ScoreMap([0.2 + was, 0.6 + was], [0.2 + now, 0.6 + now])
    found = fairpot.effect({"a": ScoreMap.identity(), "b": higher}, **rows)
    told = [text.partition(":")[0] for text in found.warnings if "calibration" in text]
    assert told == ([] if said is None else [f"calibration of group 'b' {said}"])


@pytest.mark.parametrize("groups", [20, 21])
def test_changes_have_intervals_up_to_twenty_groups(groups):
    rng = np.random.default_rng(0)
    y, group = np.tile([0, 1], 6 * groups), np.repeat(np.arange(groups), 12)
    maps = {g: ScoreMap.identity() for g in range(1, groups)} | {0: ScoreMap([0.0, 1.0], [0.1, 0.9])}
    found = fairpot.effect(maps, rng.random(len(y)), y, sensitive_features=group)
    assert (found.changes is None) == (groups > 20)


def rows_of(seed, shift, n=4000):
    rng = np.random.default_rng(seed)
    y, sex = rng.integers(0, 2, n), rng.choice(["F", "M"], n)
    return {"scores": rng.normal(y + shift * (sex == "M")), "y": y, "sensitive_features": sex}


@pytest.mark.parametrize(
    ("shift", "n", "alpha", "answer"),
    [
        (0.5, 4000, None, "compatible"),
        (1.5, 4000, None, "contradicted"),
        (0.7, 300, None, "cannot tell"),
        (0.5, 4000, 0.5, "compatible"),
        (2.0, 4000, 0.5, "contradicted"),
    ],
)
def test_rows_judge_a_certificate_of_other_rows(shift, n, alpha, answer, tmp_path):
    bound = 0.12 if alpha is None else 0.2
    sure = FairPOT(max_gap=bound, confidence=0.9, alpha=alpha).fit(**rows_of(0, 0.5))
    sure.save(tmp_path / "map.json")
    later = rows_of(1, shift, n)
    for model in (sure, fairpot.load(tmp_path / "map.json")):
        found = fairpot.effect(model, **later)
        table = fairpot.score_table(later["y"], later["scores"], sensitive_features=later["sensitive_features"])
        judged = verdict(table.rescored(model.maps_for(table)), bound=bound, level=0.9, alpha=alpha)
        assert found.certificate.verdict.answer == judged.answer
        assert found.certificate.answer == answer
        assert found.certificate.verdict.interval.value == pytest.approx(judged.interval.value, abs=1e-12)
        told = found.to_dict()["certificate"]
        assert (told["answer"], told["bound"], told["on_these_rows"]["alpha"]) == (answer, bound, alpha)
        lines = str(found).splitlines()
        assert lines[0].startswith("These rows ")
        assert lines[1].startswith(
            f"Certified then: a gap of at most {bound} with 90% confidence (5 cross-fitted folds)"
        )


def test_the_fitted_rows_do_not_judge_a_certificate():
    rows = rows_of(0, 0.5)
    sure = FairPOT(max_gap=0.12, confidence=0.9).fit(**rows)
    found = fairpot.effect(sure, **rows).certificate
    assert (found.answer, found.verdict) == (None, None)
    assert "cannot test it" in found.sentences[0]
    assert fairpot.effect(sure.at(0.3), **rows_of(1, 0.5)).certificate is None
