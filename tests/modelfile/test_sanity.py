"""A fresh checksum on maps that no fit gives is refused; what a fit gives never is."""

import itertools
import json
import re

import numpy as np
import pytest
from sklearn.base import clone

import fairpot
import modelfile_cases as cases
from fairpot import FairPOT, ModelFileError, modelfile
from fairpot.methods import LogitShift, OptimalMerge, WassersteinRepair
from fairpot.modelfile import files
from fairpot.modelfile.files import MAX_PARTS, checksum


def forged(model, path, edit):
    """Change a map and make the checksum fit, as a forger would."""
    model.save(path, overwrite=True)
    content = json.loads(path.read_text(encoding="utf-8"))
    for entry in content["maps"]:
        if entry["map"].get("knots") or entry["map"]["kind"] == "shift":
            edit(entry["map"])
    content["checksum"] = checksum(content)
    path.write_text(json.dumps(content))
    return path


def inverted(found):
    found["values"] = found["values"][::-1]


def of_factor_zero(found):
    found["factor"] = 0.0


def of_both(found):
    found["added"] = 0.25


def with_a_minus(found):
    found["negative"] = True


def a_hundred_times(found):
    found["values"] = [100 * value for value in found["values"]]


def far_below(found):
    found["values"] = [value - 5 for value in found["values"]]


@pytest.mark.parametrize(
    ("model", "edit", "reason"),
    [
        (FairPOT(1.0), inverted, "turns the order of the scores round"),
        (FairPOT(0.4), inverted, "turns the order of the scores round"),
        (FairPOT(0.4), a_hundred_times, "far outside the fitted range"),
        (FairPOT(0.4), far_below, "far outside the fitted range"),
        (WassersteinRepair(t=1), inverted, "turns the order of the scores round"),
        (WassersteinRepair(t=1), a_hundred_times, "far outside the fitted range"),
        (OptimalMerge(), inverted, "turns the order of the scores round"),
        (OptimalMerge(), a_hundred_times, "far outside the fitted range"),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_what_no_fit_gives(tmp_path, model, edit, reason):
    path = forged(cases.make_data().fit(model), tmp_path / "m", edit)
    with pytest.raises(ModelFileError, match=rf"{reason}(.|\n)*Hint: no fit gives such a map"):
        fairpot.load(path)


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (of_factor_zero, r"map\.factor must be a number > 0"),
        (of_both, r"map\.added must be 0 where there is a factor"),
        (with_a_minus, "multiplies odds of scores from .* which are not probabilities"),
    ],
)
def test_shifts_that_no_fit_gives(tmp_path, edit, reason):
    path = forged(cases.make_data().fit(LogitShift(0.5, reference="F")), tmp_path / "m", edit)
    with pytest.raises(ModelFileError, match=reason):
        fairpot.load(path)


def test_a_forged_map_that_looks_like_one_is_not_seen(tmp_path):
    """Which is why docs and SECURITY.md say to sign."""

    def all_to_the_bottom(found):
        found["values"] = [min(found["values"])] * len(found["values"])

    fairpot.load(forged(cases.make_data().fit(FairPOT(1.0)), tmp_path / "m", all_to_the_bottom))


@pytest.mark.parametrize("seed", range(12))
def test_every_fit_can_be_loaded(tmp_path, seed):
    """Few rows, coarse and odd scales, scores that say nothing: whatever a fit gives can be saved and loaded."""
    rng = np.random.default_rng(seed)
    scale, shift = ((1, 0), (1, 0), (100, -50), (1e-6, 3), (1e12, 0), (1, -7))[seed % 6]
    data = cases.make_data(seed, ("F", "M"), n=int(rng.integers(0, 60)), digits=(None, 1, 2)[seed % 3])
    y = data.y if seed % 2 else rng.permutation(data.y)
    for model in (
        FairPOT(None), FairPOT(0.3), FairPOT(1.0, reference="F"), FairPOT(0.5, monotone=True),
        FairPOT(0.6, top=0.7, repair="top"), WassersteinRepair(0.4), WassersteinRepair(1.0),
        OptimalMerge(),
        OptimalMerge(20.0), OptimalMerge(0.02), LogitShift(), LogitShift(-300),
    ):  # fmt: skip
        fitted = model.fit(data.scores * scale + shift, y, sensitive_features=data.group)
        fitted.save(tmp_path / "m", overwrite=True)
        fairpot.load(tmp_path / "m")


def kinds_of_scores(z, group):
    """Give scores of every width and scale from one random number a row, which ranks the last group highest."""
    p = 1 / (1 + np.exp(1 - z))
    return {
        "narrow": 0.4 + 0.02 * np.tanh(z),
        "rare": 1e-3 * np.exp(z / 2),
        "within round-off": 0.5 + 1e-12 * z,
        "wide": p,
        "negative": -p,
        "far below zero": 50 * z - 1000,
        "integer": np.round(3 * z) + 10,
        "far from zero": 1e9 + z,
        "certain": np.where(z < 0, 0.0, np.where(z > 2, 1.0, p)),
        "constant in a group": np.where(group == "F", 0.3, p),
        "constant in another": np.where(group == "M", 5.0, np.round(3 * z)),
        "constant in each": np.where(group == "F", 0.6, 0.3),
    }


# Probabilities cannot be made, and people cannot be hidden, where a fit or a part of it has too few scores.
REFUSED = "fewer than 10 rows|in the top 50%"
WAYS = ({}, {"top": 0.5}, {"top": 0.5, "repair": "top"}, {"keep": "grid"}, {"keep": "probabilities"})


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        *itertools.product(kinds_of_scores(np.zeros(1), np.array(["F"])), ["FM"]),
        *itertools.product(["narrow", "negative", "constant in a group"], ["FMX"]),
    ],
)
def test_whatever_a_fit_makes_is_saved_and_exported(tmp_path, kind, names):
    rng = np.random.default_rng(3)
    group = np.repeat(list(names), 60)
    y = rng.random(len(group)) < 0.4
    scores = kinds_of_scores(rng.normal(y + 0.5 * np.repeat(np.arange(len(names)), 60), 1.0), group)[kind]
    refusals = []
    for method, way in itertools.product((FairPOT(0.6), LogitShift(), OptimalMerge(), WassersteinRepair(0.7)), WAYS):
        repair = clone(method).set_params(**way)
        try:
            repair.fit(scores, y, sensitive_features=group)
        except ValueError as error:
            refusals.append(str(error))
            continue
        adjusted = repair.transform(scores, sensitive_features=group)
        repair.save(tmp_path / "map.json", overwrite=True)
        loaded = fairpot.load(tmp_path / "map.json")
        assert loaded.transform(scores, sensitive_features=group).tobytes() == adjusted.tobytes()
        assert all((loaded.to_sql("postgres"), loaded.to_python(), loaded.to_javascript()))
        try:
            repair.save(tmp_path / "private.json", overwrite=True, private=True)
        except ModelFileError as error:
            refusals.append(str(error))
            continue
        fairpot.load(tmp_path / "private.json")
    assert len(refusals) < 20
    refused = [refusal for refusal in refusals if not re.search(REFUSED, refusal)]
    assert refused == []


def test_files_are_counted_before_they_are_built(tmp_path):
    start = b'{"format":"fairpot-model","schema_version":2,"maps":['
    many = MAX_PARTS + 10
    for bomb, what in (
        (b"[]," * many, "objects and lists"),
        (b'{"a":0' + b',"a":0' * many + b"},", "keys"),
        (b'"",' * many, "texts"),
        (b"0," * many, "entries"),
    ):
        (tmp_path / "m").write_bytes(start + bomb + b"0]}")
        with pytest.raises(ModelFileError, match=f"{what}, more than any model"):
            fairpot.load(tmp_path / "m")


def test_many_short_knots_are_no_bomb():
    """The shortest text that so many ascending knots can have, with values as short."""
    model = cases.make_data().fit(FairPOT(1.0, reference="M")).fair_maps_.file_content()
    x = (np.arange(600_000) / 1e6).tolist()
    moved = next(each.map for each in model.maps if each.group == "F")
    moved.knots = moved.values = x
    read = files.loads(files.dumps(model))
    assert next(each.map.knots for each in read.maps if each.group == "F") == x


def test_the_cap_can_be_raised(tmp_path):
    model = cases.make_data().fit(FairPOT(1.0))
    with pytest.raises(ModelFileError, match=r"more than the 500 that are loaded unless(.|\n)*max_bytes"):
        model.save(tmp_path / "m", max_bytes=500)
    model.save(tmp_path / "m")
    size = (tmp_path / "m").stat().st_size
    with pytest.raises(ModelFileError, match=f"it has {size} bytes, more than {size - 1}"):
        fairpot.load(tmp_path / "m", max_bytes=size - 1)
    assert fairpot.load(tmp_path / "m", max_bytes=size).maps_ == model.maps_
    assert modelfile.MAX_BYTES == 100_000_000


@pytest.mark.parametrize(
    ("text", "other"), [("7", 7), (" 7", 7), ("2.50", 2.5), ("7.0", 7), ("7", 7.0), ("TRUE", True), ("false", False)]
)
def test_groups_that_text_cannot_tell_apart(tmp_path, text, other):
    """In CSV both would be the text, in Parquet each is itself: one map for a row in one, another in the other."""
    data = cases.make_data(names=(text, "M"))
    model = data.fit(FairPOT(0.4, reference=text))
    model.save(tmp_path / "map.json")
    content = json.loads((tmp_path / "map.json").read_text(encoding="utf-8"))
    for entry in (*content["maps"], *content["fitted_on"]["groups"]):
        entry["group"] = other if entry["group"] == "M" else entry["group"]
    content["checksum"] = checksum(content)
    (tmp_path / "forged.json").write_text(json.dumps(content))
    with pytest.raises(ModelFileError, match=r"a CSV file cannot tell apart(.|\n)*Hint"):
        fairpot.load(tmp_path / "forged.json")
    both = cases.make_data(names=(text, other)).fit(FairPOT(0.4, reference=text))
    with pytest.raises(ModelFileError, match="cannot tell apart"):
        both.save(tmp_path / "both.json")
    assert not (tmp_path / "both.json").exists()
