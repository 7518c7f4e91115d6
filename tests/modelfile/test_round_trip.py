"""What is saved and loaded transforms as before, bit for bit, and is written again as the same bytes."""

import itertools
import json
from copy import deepcopy
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

import fairpot
import modelfile_cases as cases
from fairpot import FairPOT, ModelFileError, UnseenGroupError, modelfile
from fairpot.methods import LogitShift
from fairpot.modelfile import files
from fairpot.repair import FairMaps
from fairpot.results.effect import fitted_on
from fairpot.table import ScoreTable, Top

VALIDATOR = jsonschema.Draft202012Validator(modelfile.schema())
CASES = list(cases.models())


def same_bits(a, b):
    assert a.tobytes() == b.tobytes()


def new_rows(data, seed):
    """Rows like the fitted ones, between them and far outside, with every group."""
    rng = np.random.default_rng(seed)
    n = len(data.scores)
    scores = np.where(rng.random(n) < 0.3, data.scores, rng.uniform(-0.2, 1.2, n))
    return scores, data.group


@pytest.mark.parametrize(
    ("case", "kind"),
    [*itertools.product(CASES, ("text", "mixed")), *itertools.product(CASES[:2], ("whole", "real", "boolean"))],
)
def test_round_trip(tmp_path, case, kind):
    names = cases.NAMES[kind]
    data = cases.make_data(names=names)
    model = data.fit(cases.models(names)[case])
    model.save(tmp_path / "map.json")
    loaded = fairpot.load(tmp_path / "map.json")
    for scores, group in [(data.scores, data.group), new_rows(data, 1)]:
        same_bits(loaded.transform(scores, sensitive_features=group), model.transform(scores, sensitive_features=group))
    assert loaded.maps_ == model.maps_
    assert [(type(g), g) for g in loaded.groups_] == [(type(g), g) for g in model.groups_]
    assert loaded.reference_ == model.reference_
    assert loaded.thresholds_ == model.starts_
    assert loaded.method_ == type(model).__name__
    name, value = loaded.dial_
    assert name == model.dial.name
    assert value == model.strength_ or value == model.strengths_
    loaded.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "map.json").read_bytes()
    VALIDATOR.validate(json.loads((tmp_path / "map.json").read_text(encoding="utf-8")))


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(
    seed=st.integers(0, 10**6),
    case=st.sampled_from(CASES),
    kind=st.sampled_from(list(cases.NAMES)),
    digits=st.sampled_from([None, 1, 2]),
    weights=st.sampled_from([None, "whole", "real"]),
)
def test_round_trip_of_random_data(tmp_path, seed, case, kind, digits, weights):
    names = cases.NAMES[kind]
    data = cases.make_data(seed, names, n=60, digits=digits, weights=weights)
    model = data.fit(cases.models(names)[case])
    model.save(tmp_path / "map.json", overwrite=True)
    written = (tmp_path / "map.json").read_bytes()
    loaded = fairpot.load(tmp_path / "map.json")
    scores, group = new_rows(data, seed)
    same_bits(loaded.transform(scores, sensitive_features=group), model.transform(scores, sensitive_features=group))
    assert files.dumps(loaded.file_content()) == written


# Sums of real weights depend on the order if nothing is done about it: every method has them, and one of the others.
WEIGHTED = [(case, weights) for place, case in enumerate(CASES) for weights in ("real", (None, "whole")[place % 2])]


@pytest.mark.parametrize(("case", "weights"), WEIGHTED)
def test_equal_fits_give_equal_bytes(tmp_path, case, weights):
    data = cases.make_data(weights=weights)
    data.fit(cases.models()[case]).save(tmp_path / "a")
    data.shuffled(1).fit(cases.models()[case]).save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_text_of_the_file(tmp_path):
    cases.make_data().fit(FairPOT(0.4)).save(tmp_path / "map.json")
    text = (tmp_path / "map.json").read_bytes().decode("utf-8")
    assert text.endswith("}\n")
    assert "é" in text
    content = json.loads(text)
    assert list(content) == sorted(content)
    claimed = content.pop("checksum")
    assert claimed == files.checksum(content)


def test_fitted_on(tmp_path):
    data = cases.make_data()
    data.fit(FairPOT(0.4)).save(tmp_path / "map.json")
    origin = fairpot.load(tmp_path / "map.json").fitted_on_
    assert origin["rows"] == len(data.scores)
    assert origin["score_range"] == [data.scores.min(), data.scores.max()]
    assert origin["library_version"] == fairpot.__version__
    assert origin["labelled"] is True
    assert origin["time"] is None
    for entry in origin["groups"]:
        rows = data.group == entry["group"]
        assert entry["counts"] == {
            "rows": rows.sum(),
            "positives": data.y[rows].sum(),
            "negatives": (1 - data.y[rows]).sum(),
            "scores": len(np.unique(data.scores[rows])),
            "score_range": [data.scores[rows].min(), data.scores[rows].max()],
        }


def test_without_labels(tmp_path):
    data = cases.make_data()
    model = FairPOT(0.4, reference="F").fit(data.scores, sensitive_features=data.group)
    model.save(tmp_path / "map.json")
    VALIDATOR.validate(json.loads((tmp_path / "map.json").read_text(encoding="utf-8")))
    counts = fairpot.load(tmp_path / "map.json").fitted_on_["groups"][0]["counts"]
    assert counts["positives"] is None
    assert counts["negatives"] is None


def test_timestamp(tmp_path):
    model = cases.make_data().fit(FairPOT(0.4))
    model.save(tmp_path / "map.json", timestamp=True)
    loaded = fairpot.load(tmp_path / "map.json")
    assert loaded.fitted_on_["time"].endswith("+00:00")
    VALIDATOR.validate(json.loads((tmp_path / "map.json").read_text(encoding="utf-8")))
    loaded.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "map.json").read_bytes()


def test_same_rows():
    data = cases.make_data()
    maps = data.fit(FairPOT(0.4)).fair_maps_
    table = maps.table_
    assert fitted_on(maps, data.shuffled().fit(FairPOT(0.9)).table_)
    moved = deepcopy(table)
    moved.counts[0].positive[0] += 1
    assert not fitted_on(maps, moved)
    assert not fitted_on(maps, ScoreTable(("G", *table.groups[1:]), table.counts))


def test_types_of_parameters(tmp_path):
    data = cases.make_data(names=(0, 1))
    model = data.fit(LogitShift(np.float32(0.5), top=np.int64(40), reference=np.int64(1)))
    model.save(tmp_path / "map.json")
    params = fairpot.load(tmp_path / "map.json").params_
    given = {"shift": 0.5, "max_gap": None, "top": 40, "reference": 1, "ties": "half"}
    assert {name: params[name] for name in given} == given
    assert [type(params[name]) for name in ("shift", "top", "reference")] == [float, int, int]


def test_reference_is_spelt_as_the_groups_are(tmp_path):
    data = cases.make_data(names=(0.0, 1.0))
    data.fit(FairPOT(0.4, reference=1)).save(tmp_path / "map.json")
    assert type(fairpot.load(tmp_path / "map.json").reference_) is float


def test_groups_left_out_are_known_from_the_file(tmp_path):
    data = cases.make_data()
    kept = list(cases.NAMES["text"][:2])
    model = FairPOT(0.4).fit(data.scores, data.y, sensitive_features=data.group, groups=kept)
    model.save(tmp_path / "map.json")
    loaded = fairpot.load(tmp_path / "map.json")
    assert loaded.left_out_ == model.left_out_ == (cases.NAMES["text"][2],)
    assert loaded.maps_ == model.maps_


OLD = json.loads((Path(__file__).parent / "old_files.json").read_text(encoding="utf-8"))
BATCHES = ("the top of a batch", "the barycentre of a batch")


@pytest.mark.parametrize("old", OLD["files"], ids=lambda old: old["case"])
def test_files_of_an_earlier_version(tmp_path, old):
    """With parameters that no method has now, and a strength for each group: the maps are the same, bit for bit."""
    (tmp_path / "map.json").write_text(json.dumps(old["file"]), encoding="utf-8")
    if old["file"]["schema_version"] == 1:
        with pytest.raises(ModelFileError, match=r"must be 2(.|\n)*Hint: load and save it with fairpot 0.2"):
            fairpot.load(tmp_path / "map.json")
        return
    if any(each["map"]["kind"] == "sigmoid" for each in old["file"]["maps"]):
        with pytest.raises(ModelFileError, match=r"maps are sigmoids(.|\n)*Hint: PostLogit is .*pip install ./paper"):
            fairpot.load(tmp_path / "map.json")
        return
    if old["case"] in BATCHES:
        with pytest.raises(ModelFileError, match=r"made anew from each batch(.|\n)*Hint: fit and save again"):
            fairpot.load(tmp_path / "map.json")
        return
    loaded = fairpot.load(tmp_path / "map.json")
    groups = old.get("groups", OLD["groups"])
    assert loaded.transform(OLD["scores"], sensitive_features=groups).tolist() == old["adjusted"]
    loaded.save(tmp_path / "again.json")
    again = json.loads((tmp_path / "again.json").read_text(encoding="utf-8"))
    assert again == old["file"]
    assert again["schema_version"] == 2
    again = fairpot.load(tmp_path / "again.json")
    assert again.transform(OLD["scores"], sensitive_features=groups).tolist() == old["adjusted"]
    assert "top" in old["case"] or old["case"].startswith("a rule") or loaded.where is None


def test_every_version_has_files_here_and_a_line_in_the_table():
    """A new form of map files needs stored files of the form before it, and a row of the page."""
    written = {(old["file"]["fitted_on"]["library_version"], old["file"]["schema_version"]) for old in OLD["files"]}
    assert written >= {("0.1.0", 1), ("0.2.0", 2)}
    assert {version for _, version in written} == set(range(1, modelfile.SCHEMA_VERSION + 1))
    page = Path(__file__).parents[2].joinpath("docs", "reference", "map-file.md").read_text(encoding="utf-8")
    for library, version in written:
        assert f"| {library.removesuffix('.0')} | {version} |" in page


def test_what_earlier_files_say_of_the_top_and_of_groups(tmp_path):
    found = {}
    for old in OLD["files"]:
        if old["case"] not in (*BATCHES, "a slope for each group") and old["file"]["schema_version"] == 2:
            found[old["case"]] = FairMaps._from_content(files.loads(json.dumps(old["file"]).encode()))
    assert found["the top of all rows"].where == Top(0.5, "all")
    assert found["the top of each group"].where == Top(0.5, "group")
    assert found["a rule, a capacity and a meaning"].where == Top(20 / 60, "all", 20)
    assert found["groups named and large enough"].left_out_ == ("M",)
    assert found["a lam for each group"].lam_ == {"F": 0.5, "M": 1.0}


def test_loaded_model_keeps_the_errors(tmp_path):
    data = cases.make_data()
    data.fit(FairPOT(0.4)).save(tmp_path / "a")
    with pytest.raises(UnseenGroupError, match="not seen in fit"):
        fairpot.load(tmp_path / "a").transform([0.5], sensitive_features=["X"])
    with pytest.raises(ValueError, match=r"NaN|nan|finite|missing"):
        fairpot.load(tmp_path / "a").transform([np.nan], sensitive_features=["F"])
    with pytest.raises(NotImplementedError, match="cannot be fitted"):
        data.fit(fairpot.load(tmp_path / "a"))
    with pytest.raises(AttributeError, match=r"keeps the maps at lam = (.|\n)*not the rows(.|\n)*Hint: fit FairPOT"):
        fairpot.load(tmp_path / "a").tradeoff(data.scores, ties="half")
    with pytest.raises(NotFittedError):
        FairMaps().transform([0.5], sensitive_features=["F"])
    with pytest.raises(NotFittedError):
        FairPOT().save(tmp_path / "c")


def test_frames_keep_their_type(tmp_path):
    pd = pytest.importorskip("pandas")
    data = cases.make_data()
    model = data.fit(FairPOT(0.4))
    model.save(tmp_path / "map.json")
    scores = pd.Series(data.scores, name="risk", index=np.arange(len(data.scores)) + 7)
    got = fairpot.load(tmp_path / "map.json").transform(scores, sensitive_features=data.group)
    pd.testing.assert_series_equal(got, model.transform(scores, sensitive_features=data.group))


def test_names_of_columns(tmp_path):
    model = cases.make_data().fit(FairPOT(0.4))
    columns = {"score": "risk", "group": ["sex", "age band"]}
    model.save(tmp_path / "map.json", columns=columns)
    loaded = fairpot.load(tmp_path / "map.json")
    assert loaded.columns_ == columns
    loaded.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "map.json").read_bytes()
    for wrong in ({"score": "risk"}, {"score": "risk", "group": "sex"}, {"score": "risk", "group": ["a"], "x": 1}):
        with pytest.raises(fairpot.ModelFileError, match="columns must be"):
            model.save(tmp_path / "no.json", columns=wrong)


def test_names_of_columns_stay_where_something_is_said_of_the_rows(tmp_path):
    model = cases.make_data().fit(FairPOT(0.4), lower_is_riskier=True, high_score_means="harm")
    model.save(tmp_path / "map.json", columns={"score": "risk", "group": ["sex"]})
    fairpot.load(tmp_path / "map.json").save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "map.json").read_bytes()
