"""What a model file reveals: no hash to try outcomes against, no counts of a few, and in private nobody's score."""

import itertools
import json

import jsonschema
import numpy as np
import pytest

import fairpot
import modelfile_cases as cases
from fairpot import FairPOT, ModelFileError, modelfile
from fairpot.exceptions import SmallGroupWarning
from fairpot.metrics import auc
from fairpot.modelfile.keys import HEADER
from fairpot.postprocessing import LogitShift, OptimalMerge, PostLogit, WassersteinRepair, XOrder
from fairpot.postprocessing.saving import largest_difference
from fairpot.table import ScoreTable

VALIDATOR = jsonschema.Draft202012Validator(modelfile.schema())
METHODS = {
    "FairPOT": FairPOT(0.4, reference="M"),
    "FairPOT, whole": FairPOT(1.0, reference="M"),
    "FairPOT, monotone": FairPOT(0.6, reference="F", monotone=True),
    "FairPOT, top": FairPOT(0.7, alpha=0.5, reference="M"),
    "FairPOT, top of batch": FairPOT(0.7, alpha=0.5, reference="M", region_from="batch", monotone=True),
    "Wasserstein": WassersteinRepair(0.8),
    "PostLogit": PostLogit(),
    "OptimalMerge": OptimalMerge(),
    "OptimalMerge, isotonic": OptimalMerge(1.3, smoothing="isotonic"),
    "XOrder": XOrder(0.05),
    "LogitShift": LogitShift(),
}


def people(n=400, seed=0, scale=1.0, shift=0.0):
    data = cases.make_data(seed, ("F", "M"), n)
    return data._replace(scores=data.scores * scale + shift)


def with_a_few(size, seed=0):
    """People of two groups, and so many of a third."""
    data = people(seed=seed)
    rng = np.random.default_rng(seed)
    return cases.Data(
        np.concatenate((data.scores, rng.uniform(0.1, 0.9, size))),
        np.concatenate((data.y, np.arange(size) % 2)),
        np.concatenate((data.group, np.full(size, "few", dtype=object))),
    )


def saved(model, path, **options):
    model.save(path, overwrite=True, **options)
    content = json.loads(path.read_text(encoding="utf-8"))
    VALIDATOR.validate(content)
    return content


def numbers_in(content):
    if isinstance(content, dict):
        content = list(content.values())
    if isinstance(content, list):
        return [number for each in content for number in numbers_in(each)]
    return [content] if isinstance(content, float) else []


def test_outcomes_cannot_be_tried_against_the_file(tmp_path):
    """Known scores, unknown outcomes: every guess gives the same file, so that none can be confirmed."""
    scores, group = np.arange(24) / 24, np.array(["F", "M"] * 12)
    written = set()
    for guess in itertools.islice(itertools.product((0, 1), repeat=6), 20):
        y = np.array([*guess, *([0, 1] * 9)])
        FairPOT(0.5, reference="M").fit(scores, y, sensitive_features=group).save(tmp_path / "m", overwrite=True)
        written.add((tmp_path / "m").read_bytes())
    assert len(written) == 1


def test_a_fingerprint_takes_a_key(tmp_path):
    model = people().fit(FairPOT(0.4))
    assert saved(model, tmp_path / "m")["fitted_on"]["fingerprint"] is None
    found = []
    for name, secret, end in (("a", b"k" * 32, b""), ("b", b"k" * 32, b"\n"), ("c", b"j" * 32, b"\n")):
        (tmp_path / name).write_bytes(HEADER + secret.hex().encode() + end)
        (tmp_path / name).chmod(0o600)
        found.append(saved(model, tmp_path / "m", fingerprint_key=tmp_path / name)["fitted_on"]["fingerprint"])
    assert found[0] == found[1] != found[2]
    assert found[0] == modelfile.table_fingerprint(people().shuffled().fit(FairPOT(0.9)).table_, b"k" * 32)
    assert found[0] != modelfile.table_sha256(model.table_)
    loaded = fairpot.load(tmp_path / "m")
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()
    with pytest.raises(ModelFileError, match="no rows to take a fingerprint of"):
        loaded.save(tmp_path / "x", fingerprint_key=tmp_path / "a")


@pytest.mark.parametrize("size", [1, 2, 9, 10])
def test_counts_of_a_few_are_left_out(tmp_path, size):
    data = with_a_few(size)
    content = saved(data.fit(FairPOT(0.0, reference="M")), tmp_path / "m")
    counts = {each["group"]: each["counts"] for each in content["fitted_on"]["groups"]}
    assert counts["F"]["rows"] == (data.group == "F").sum()
    if size == 10:
        assert counts["few"]["rows"] == 10
        assert counts["few"]["positives"] is None  # 5 and 5
        assert content["fitted_on"]["rows"] == len(data.scores)
        return
    assert set(counts["few"].values()) == {None}
    assert content["fitted_on"]["rows"] is None  # or it would be the difference
    low, high = content["fitted_on"]["score_range"]
    assert low <= data.scores.min() <= data.scores.max() <= high
    assert not {low, high} & set(data.scores)
    text = (tmp_path / "m").read_text()
    assert not [score for score in data.scores[data.group == "few"] if repr(float(score)) in text]


def test_weights_do_not_hide_that_there_are_few():
    table = fairpot.score_table(
        [0, 1, *([0, 1] * 20)],
        [0.1, 0.9, *np.arange(40) / 40],
        sensitive_features=["few"] * 2 + ["M"] * 40,
        sample_weight=[500.5, 499.25, *([1.5] * 40)],
    )
    counts = {each["group"]: each["counts"] for each in modelfile.describe_table(table)["groups"]}
    assert counts["few"]["rows"] is None
    assert counts["M"]["rows"] == 60


def test_few_of_one_outcome():
    y = np.zeros(60, dtype=np.int8)
    y[:3] = 1
    counts = modelfile.describe_table(ScoreTable.from_rows(np.arange(60) / 60, y))["groups"][0]["counts"]
    assert (counts["rows"], counts["positives"], counts["negatives"]) == (60, None, None)


@pytest.mark.parametrize(
    ("model", "told"),
    [
        (FairPOT(0.4, reference="M"), "people of 'few' stand"),
        (FairPOT(0.4, reference="few"), "people of 'few' stand"),
        (FairPOT(0.4, reference="M", min_group=10), None),
        (FairPOT(0.0, reference="M"), None),
        (FairPOT({"F": 0.4, "few": 0.0}, reference="M"), None),
        (FairPOT({"F": 0.01, "few": 0.0}, reference="M"), "people of 'F' stand"),  # two of two hundred are moved
        (WassersteinRepair(), "people of 'few' stand"),
        (PostLogit(2.0, reference="M"), None),
        (LogitShift(0.3, reference="M"), None),
    ],
    ids=repr,
)
def test_a_warning_where_a_few_can_be_seen(tmp_path, model, told, recwarn):
    with_a_few(3).fit(model)
    recwarn.clear()
    if told is None:
        model.save(tmp_path / "m")
        assert not [each for each in recwarn if issubclass(each.category, SmallGroupWarning)]
        model.save(tmp_path / "p", private=True)
        return
    with pytest.warns(SmallGroupWarning, match=f"(?s){told}.*sees their scores.*Hint: private"):
        model.save(tmp_path / "m")
    with pytest.raises(ModelFileError, match=f"(?s){told}.*also if they are rounded.*Hint: min_group=10"):
        model.save(tmp_path / "p", private=True)


def test_a_loaded_model_warns_too(tmp_path):
    with_a_few(3).fit(FairPOT(0.4, reference="M")).save(tmp_path / "m")
    with pytest.warns(SmallGroupWarning, match="'few'"):
        fairpot.load(tmp_path / "m").save(tmp_path / "again")


def test_knots_only_where_they_are_needed(tmp_path):
    data = people()
    for each in saved(data.fit(PostLogit()), tmp_path / "m")["maps"]:
        assert not each["map"].get("knots")
    coarse = people(n=2000)
    coarse = coarse._replace(scores=np.where(coarse.group == "M", coarse.scores.round(1), coarse.scores))
    model = coarse.fit(FairPOT(1.0, reference="M"))
    [moved] = [each["map"] for each in saved(model, tmp_path / "m")["maps"] if each["group"] == "F"]
    assert len(moved["knots"]) < 100 < len(model.maps_["F"].knots)  # nearly all of it is flat
    x = np.concatenate((np.random.default_rng(0).uniform(-0.5, 1.5, 5000), model.maps_["F"].knots))
    assert fairpot.load(tmp_path / "m").maps_["F"](x).tobytes() == model.maps_["F"](x).tobytes()


@pytest.mark.parametrize("scale", [(1.0, 0.0), (100.0, 0.0), (3e-7, 5.0), (4e4, -2e4)], ids=str)
@pytest.mark.parametrize("name", METHODS)
def test_private_maps(tmp_path, name, scale):
    if name == "PostLogit" and scale != (1.0, 0.0):
        return
    data = people(scale=scale[0], shift=scale[1])
    model = data.fit(METHODS[name])
    content = saved(model, tmp_path / "m", private=True)
    loaded = fairpot.load(tmp_path / "m")
    error, step = loaded.private_["largest_error"], loaded.private_["step"]
    assert scale[0] / 4000 < step < scale[0] / 250
    probes = np.concatenate((np.random.default_rng(1).uniform(-0.3, 1.3, 20_000) * scale[0] + scale[1], data.scores))
    for group, full in model.maps_.items():
        differences = np.abs(loaded.maps_[group](probes) - full(probes))
        assert differences.max() <= error + 1e-9 * scale[0]
        assert np.median(differences) <= 6 * step
    people_s = {*data.scores[np.abs(data.scores / step - np.rint(data.scores / step)) > 1e-6].tolist()}
    assert len(people_s) > 200
    assert not people_s & set(numbers_in(content))
    assert len((tmp_path / "m").read_bytes()) < 12_000
    loaded.save(tmp_path / "again", private=True)
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()


def test_a_private_repair_is_nearly_the_same(tmp_path):
    data = people(n=4000)
    model = data.fit(FairPOT(None))
    model.save(tmp_path / "m", private=True)
    loaded = fairpot.load(tmp_path / "m")
    both = [each.transform(data.scores, sensitive_features=data.group) for each in (model, loaded)]
    gaps = [fairpot.metrics.xauc_gap(data.y, s, sensitive_features=data.group) for s in both]
    assert abs(gaps[0] - gaps[1]) < 0.005
    assert abs(auc(data.y, both[0]) - auc(data.y, both[1])) < 0.002


def test_private_counts_and_batches(tmp_path):
    data = people(n=437)
    content = saved(data.fit(WassersteinRepair(distributions="batch")), tmp_path / "m", private=True)
    assert all(each["map"]["knots"] == [] for each in content["maps"])
    assert content["private"]["largest_error"] == 0
    for each in content["fitted_on"]["groups"]:
        counts = each["counts"]
        assert all(counts[name] % 10 == 0 for name in ("rows", "positives", "negatives", "scores"))
    full = data.fit(WassersteinRepair(distributions="batch")).transform(data.scores, sensitive_features=data.group)
    got = fairpot.load(tmp_path / "m").transform(data.scores, sensitive_features=data.group)
    assert got.tobytes() == full.tobytes()


def test_a_certificate_is_not_that_of_simplified_maps(tmp_path):
    model = people(n=6000).fit(FairPOT(None, max_gap=0.1, confidence=0.9))
    assert saved(model, tmp_path / "m")["certificate"]["bound"] == 0.1
    assert "certificate" not in saved(model, tmp_path / "m", private=True)


def test_largest_difference_is_the_largest():
    rng = np.random.default_rng(3)
    for _ in range(30):
        maps, region = [], rng.random() < 0.5
        for _ in range(2):
            x = np.unique(rng.uniform(0, 1, 6).round(2))
            floor = None if rng.random() < 0.5 else float(rng.uniform())
            start = float(rng.uniform()) if region else None
            maps.append(fairpot.transport.ScoreMap(x, np.sort(rng.uniform(0, 1, len(x))), floor=floor, start=start))
        probes = np.concatenate((np.linspace(-0.5, 1.5, 40_001), *(each.knots for each in maps)))
        found = largest_difference(*maps)
        tried = max(np.abs(a(probes) - b(probes)).max() for a, b in (maps, [m.starting_at(None) for m in maps]))
        assert tried - 1e-12 <= found <= tried + 1e-3


def as_version_1(content, table):
    """Turn a file's content into what the version before wrote."""
    content = json.loads(json.dumps(content))
    origin = content["fitted_on"]
    for name in ("fewer_than", "fingerprint"):
        del origin[name]
    origin["table_sha256"] = modelfile.table_sha256(table)
    for each in content["maps"]:
        if each["map"]["kind"] == "sigmoid":
            each["map"]["knots"] = table[each["group"]].score.tolist()
    for each in origin["groups"]:
        counts = table[each["group"]]
        each["counts"] = {
            "rows": int(counts.weight.sum()),
            "positives": int(counts.positive.sum()),
            "negatives": int(counts.negative.sum()),
            "scores": len(counts.score),
            "score_range": [counts.score[0], counts.score[-1]],
        }
    origin["rows"] = sum(each["counts"]["rows"] for each in origin["groups"])
    content["schema_version"] = 1
    content["checksum"] = modelfile.text.checksum(content)
    return content


@pytest.mark.parametrize("name", METHODS)
def test_files_of_the_version_before(tmp_path, name):
    data = people()
    model = data.fit(METHODS[name])
    new = saved(model, tmp_path / "new")
    (tmp_path / "old").write_text(json.dumps(as_version_1(new, model.table_)))
    loaded = fairpot.load(tmp_path / "old")
    got = loaded.transform(data.scores, sensitive_features=data.group)
    assert got.tobytes() == model.transform(data.scores, sensitive_features=data.group).tobytes()
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "new").read_bytes()


def test_old_files_lose_what_they_should_not_have(tmp_path):
    data = with_a_few(3)
    model = data.fit(FairPOT(0.4, reference="M"))
    old = as_version_1(saved(model, tmp_path / "new"), model.table_)
    (tmp_path / "old").write_text(json.dumps(old))
    loaded = fairpot.load(tmp_path / "old")
    [few] = [each["counts"] for each in loaded.fitted_on_["groups"] if each["group"] == "few"]
    assert set(few.values()) == {None}
    loaded.save(tmp_path / "again")
    assert "table_sha256" not in (tmp_path / "again").read_text()
    for wrong in ("ABC", None, 5):
        broken = json.loads(json.dumps(old))
        broken["fitted_on"]["table_sha256"] = wrong
        broken["checksum"] = modelfile.text.checksum(broken)
        (tmp_path / "broken").write_text(json.dumps(broken))
        with pytest.raises(ModelFileError, match="hexadecimal"):
            fairpot.load(tmp_path / "broken")
