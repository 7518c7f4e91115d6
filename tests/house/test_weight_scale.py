"""Importance weights times a constant say the same, and change no number of anything."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import fairpot

pytestmark = pytest.mark.filterwarnings("ignore::fairpot.exceptions.FairpotWarning")
TIMES = (1000.0, 0.001, 1 / 3)
# Sums of weights, and products of them, are told as they were given.
SUMS = ("weighted_rows", "weighted_positives", "pairs")


def rows(seed: int, grain: float | None = None, groups: str = "abc") -> dict[str, Any]:
    """Draw rows of groups whose weights lie on a lattice, so that sums of them meet cuts exactly."""
    rng = np.random.default_rng(seed)
    size = 600
    group, y = rng.choice(list(groups), size), (rng.random(size) < 0.35).astype(int)
    score = rng.normal(size=size) + y + 0.4 * (group == "a")
    score = score if grain is None else np.round(score / grain) * grain
    return {"y": y, "score": score, "group": group, "weight": rng.choice([0.5, 1, 1.5, 2.25], size)}


def flat(found: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """List every leaf of nested results."""
    if isinstance(found, dict):
        for name, value in found.items():
            if name not in SUMS:
                yield from flat(value, f"{place}.{name}")
    elif isinstance(found, list | tuple):
        for k, value in enumerate(found):
            yield from flat(value, f"{place}[{k}]")
    else:
        yield place, found


def assert_same(one: Any, other: Any) -> None:
    """Insist on the same leaves, numbers but for round-off."""
    first, second = dict(flat(one)), dict(flat(other))
    assert first.keys() == second.keys()
    numbers = [name for name, value in first.items() if isinstance(value, float)]
    assert {n: v for n, v in first.items() if n not in numbers} == {n: v for n, v in second.items() if n not in numbers}
    np.testing.assert_allclose([first[n] for n in numbers], [second[n] for n in numbers], rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize(("grain", "top_of"), [(None, "group"), (None, "all"), (0.1, "group"), (0.5, "all")])
def test_audits_with_tops_do_not_depend_on_the_scale_of_weights(times: float, grain: float | None, top_of: Any) -> None:
    for seed in (3, 27):
        drawn = rows(seed, grain)
        asked = {"sensitive_features": drawn["group"], "top": [0.1, 0.3], "top_of": top_of}
        found = fairpot.audit(drawn["y"], drawn["score"], sample_weight=drawn["weight"], **asked)
        again = fairpot.audit(drawn["y"], drawn["score"], sample_weight=times * drawn["weight"], **asked)
        assert_same(found.to_dict(), again.to_dict())


@pytest.mark.parametrize(
    "asked",
    [{}, {"top": 0.3}, {"top": 0.3, "repair": "top"}, {"confidence": 0.8}],
    ids=["all", "top", "repaired top", "certified"],
)
def test_fits_and_effects_do_not_depend_on_the_scale_of_weights(asked: dict[str, Any]) -> None:
    drawn = rows(5, groups="ab")
    drawn["weight"] = np.random.default_rng(5).gamma(2, 1, len(drawn["y"]))  # sums on a lattice tie in a search
    told = []
    for times in (1.0, *TIMES):
        given = {"sensitive_features": drawn["group"], "sample_weight": times * drawn["weight"]}
        repair = fairpot.FairPOT(max_gap=0.15, **asked).fit(drawn["score"], drawn["y"], **given)
        effect = fairpot.effect(repair, drawn["score"], drawn["y"], **given)
        certificate = None if repair.certificate_ is None else repair.certificate_.to_dict()
        told.append({"effect": effect.to_dict(), "certificate": certificate, "gap": repair.achieved_.gap})
    for each in told[1:]:
        assert_same(told[0], each)


@pytest.mark.parametrize(
    "method", [fairpot.FairPOT, fairpot.LogitShift, fairpot.OptimalMerge, fairpot.WassersteinRepair]
)
@pytest.mark.parametrize("groups", ["abc", "abcdef"])
def test_strengths_of_several_groups_do_not_depend_on_the_scale_of_weights(method: Any, groups: str) -> None:
    for seed in (5, 6):
        drawn = rows(seed, groups=groups)
        chosen = []
        for times in (1.0, *TIMES):
            given = {"sensitive_features": drawn["group"], "sample_weight": times * drawn["weight"]}
            chosen.append(method(max_gap=0.15).fit(drawn["score"], drawn["y"], **given).strengths_)
        for each in chosen[1:]:
            assert each == pytest.approx(chosen[0], abs=1e-9)
