"""Scores on another scale than in fit: one rule for all groups, wherever a map is served."""

import json
import math
import shutil
import subprocess

import numpy as np
import pytest

import fairpot
from fairpot import FairPOT, LogitShift

GROUPS = ["north", "east", "south", "west", "centre"]
FAR = [72.0, -3.0, 1e200, 0.91 + 0.46]  # fitted from 0 to 0.91: far is below -0.455 and above 1.365
NEAR = [0.0, 0.4, 0.91, 1.0, -0.2, 1.36]


def fitted(method=FairPOT, **options):
    rng = np.random.default_rng(36)
    group = np.array(GROUPS)[np.arange(600) % 5]
    score = np.r_[0.0, 0.91, rng.beta(2, 3, 598) * 0.91]
    outcome = rng.random(600) < score
    options = options or {"lam": 0.8, "reference": "north"}
    return method(**options).fit(score, outcome, sensitive_features=group).fair_maps_


METHODS = [
    (FairPOT, {"lam": 0.8, "reference": "north"}),
    (LogitShift, {"max_gap": 0.02}),
    (FairPOT, {"lam": 0.8, "reference": "north", "keep": "probabilities"}),
]


@pytest.fixture(params=METHODS, ids=["pieces", "odds", "followed"])
def maps(request):
    return fitted(request.param[0], **request.param[1])


def expected(maps, score, group):
    return maps.transform([score], sensitive_features=[group]).item()


def test_transform_is_the_model(maps):
    for score in FAR:
        for group in GROUPS:
            with pytest.raises(ValueError, match="far outside the fitted range"):
                maps.transform([score], sensitive_features=[group])
    for score in NEAR:
        assert math.isfinite(expected(maps, score, "east"))


def test_functions_refuse(maps):
    names = {}
    exec(maps.to_python(), names)
    for serve in (maps.row_scorer(), names["adjusted_score"]):
        for group in GROUPS:
            for score in FAR:
                with pytest.raises(ValueError, match="far outside the fitted range"):
                    serve(score, group)
                with pytest.raises(ValueError, match="far outside the fitted range"):
                    serve(np.float32(min(score, 1e30)), group)
            assert [serve(score, group) for score in NEAR] == [expected(maps, score, group) for score in NEAR]


def test_clamped_scores_are_those_at_the_limit(maps):
    names, (low, high) = {}, maps.exported.limits
    exec(maps.to_python(outside="clamp"), names)
    for serve in (maps.row_scorer(outside="clamp"), names["adjusted_score"]):
        for group in GROUPS:
            assert serve(72.0, group) == serve(1e200, group) == serve(high, group) == expected(maps, high, group)
            assert serve(-72.0, group) == serve(low, group) == expected(maps, low, group)


def test_sql_gives_null(database, maps):
    rows = [(score, group) for score in [*FAR, *NEAR] for group in GROUPS]
    database.load(rows)
    for form in ("case", "table"):
        for outside in ("refuse", "clamp"):
            text = maps.to_sql(database.dialect, table="people", form=form, outside=outside)
            got = sorted(database.run(text), key=lambda row: row[0])
            serve = maps.row_scorer(outside="clamp")
            want = [None if outside == "refuse" and s in FAR else serve(s, g) for s, g in rows]
            assert [row[-2] is None for row in got] == [each is None for each in want]
            numbers = [(row[-2], each) for row, each in zip(got, want) if each is not None]
            np.testing.assert_allclose(*zip(*numbers), rtol=4e-16)
            assert {row[-1] for row in got} == {f"fairpot {fairpot.__version__}, map sha256:{maps.sha256_}"}


def test_a_group_without_a_map_comes_first(database):
    maps = fitted()
    database.load([(72.0, "nowhere"), (72.0, None), (72.0, "east")])
    text = maps.to_sql(database.dialect, table="people", unknown_group="keep", missing_group="keep", outside="refuse")
    assert [row[-2] for row in sorted(database.run(text), key=lambda row: row[0])] == [72.0, 72.0, None]


def test_onnx_gives_nan(maps):
    pytest.importorskip("onnx")
    ort = pytest.importorskip("onnxruntime")
    rows = [(score, group) for score in [*FAR, *NEAR] for group in GROUPS]
    given = {"score": np.array([s for s, _ in rows]), "group": np.array([g for _, g in rows], dtype=object)}
    serve = maps.row_scorer(outside="clamp")
    for outside in ("refuse", "clamp"):
        session = ort.InferenceSession(maps.to_onnx(outside=outside).SerializeToString())
        [got] = session.run(None, given)
        want = [math.nan if outside == "refuse" and s in FAR else serve(s, g) for s, g in rows]
        np.testing.assert_allclose(got, want, rtol=1e-15)


@pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed: apt-get install nodejs")
def test_javascript_gives_nan(maps):
    rows = [(score, group) for score in [*FAR, *NEAR] for group in GROUPS]
    serve = maps.row_scorer(outside="clamp")
    for outside in ("refuse", "clamp"):
        call = f"console.log(JSON.stringify({json.dumps(rows)}.map(([s, g]) => adjustedScore(s, g))))"
        code = maps.to_javascript(outside=outside) + call
        done = subprocess.run(["node", "-"], input=code, capture_output=True, text=True, check=True)
        want = [None if outside == "refuse" and s in FAR else serve(s, g) for s, g in rows]
        got = json.loads(done.stdout)
        assert [each is None for each in got] == [each is None for each in want]
        np.testing.assert_allclose(*([v or 0 for v in each] for each in (got, want)), rtol=4e-16)


def test_limits_of_scores_of_which_a_low_one_means_high_risk():
    score, group = np.linspace(300, 850, 400), np.array(["a", "b"] * 200)
    made = FairPOT(0.7, reference="b").fit(score, sensitive_features=group, lower_is_riskier=True).fair_maps_
    serve = made.row_scorer()
    assert made.exported.limits == (25.0, 1125.0)
    assert serve(700.0, "a") == made.transform([700.0], sensitive_features=["a"]).item()
    for wrong in (0.7, -700.0, 7000.0):
        with pytest.raises(ValueError, match="scores from 25 to 1125 are taken"):
            serve(wrong, "b")


def test_maps_with_fewer_breakpoints_know_their_limits_and_their_file():
    maps = fitted()
    small = maps.simplify(max_error=0.01)
    names = {}
    exec(fairpot.export.to_python(small), names)
    assert names["MADE_BY"].endswith(maps.sha256_)
    with pytest.raises(ValueError, match="far outside"):
        names["adjusted_score"](72.0, "north")
