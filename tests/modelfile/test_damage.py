"""Damaged and hostile files: each is refused as a ModelFileError with a reason and a hint."""

import json
import math
import random

import jsonschema
import pytest

import fairpot
import modelfile_cases as cases
from fairpot import FairPOT, ModelFileError, modelfile
from fairpot.methods import LogitShift, WassersteinRepair
from fairpot.modelfile import files
from fairpot.modelfile.files import checksum
from fairpot.repair import FairMaps

VALIDATOR = jsonschema.Draft202012Validator(modelfile.schema())


def valid_bytes(model):
    return files.dumps(cases.make_data(n=150).fit(model).fair_maps_.file_content())


@pytest.fixture(scope="module")
def valid():
    return valid_bytes(FairPOT(top=0.8, repair="top", reference=cases.NAMES["text"][2]))


def load_bytes(data):
    return FairMaps._from_content(files.loads(data))


def refused(data, match=None):
    with pytest.raises(ModelFileError, match=match) as caught:
        load_bytes(data)
    assert "\nHint: " in str(caught.value)
    assert len(str(caught.value)) < 600
    return str(caught.value)


def edited(data, edit, seal=True):
    """Change parsed content; with ``seal`` the checksum is made to fit, as a forger would."""
    content = json.loads(data)
    edit(content)
    if seal:
        content["checksum"] = checksum(content)
    return json.dumps(content, ensure_ascii=False).encode()


def put(*path, value):
    def edit(content):
        for step in path[:-1]:
            content = content[step]
        content[path[-1]] = value

    return edit


BATCH = {"kind": "top_of_batch", "alpha": 0.8, "region": "pooled"}
KNOTS, VALUES = ("maps", 0, "map", "knots"), ("maps", 0, "map", "values")
FORGED = {
    "other version": (put("schema_version", value=3), "schema_version must be 2"),
    "version as text": (put("schema_version", value="1"), "schema_version must be 2"),
    "version as float": (put("schema_version", value=1.0), "schema_version must be 2"),
    "version true": (put("schema_version", value=True), "schema_version must be 2"),
    "version list": (put("schema_version", value=[1]), "schema_version must be 2"),
    "other format": (put("format", value="other"), "no model of fairpot"),
    "unknown method": (put("method", value="Magic!"), "is not the name of one"),
    "method as list": (put("method", value=["FairPOT"]), "method must be text"),
    "other method": (put("method", value="OptimalMerge"), "has no parameters"),
    "unknown parameter": (put("parameters", "magic", value=1), r"no parameters \['magic'\]"),
    "parameter object": (put("parameters", "lam", value={"F": 1}), "has an unknown field"),
    "parameter nested list": (put("parameters", "lam", value=[[1]]), "a number"),
    "parameters list": (put("parameters", value=[]), "must be an object"),
    "dial": (put("dial", "name", value="theta"), "no repair strength 'theta'"),
    "dial text": (put("dial", "value", value="0.5"), "must be a number"),
    "dial null": (put("dial", "value", value=None), "must be a number"),
    "apply": (put("apply", "kind", value="exec"), "apply.kind has an invalid value 'exec'"),
    "apply list": (put("apply", value=[]), "apply must be an object"),
    "apply unhashable": (put("apply", "kind", value=[]), "apply.kind must be text"),
    "apply more": (put("apply", value={"kind": "maps", "alpha": 1.0}), "apply has an unknown field alpha"),
    "apply to a batch": (put("apply", value=BATCH), "made anew from each batch"),
    "reference": (put("reference", value="X"), "one of the groups"),
    "reference list": (put("reference", value=["F"]), "reference must be text, a number"),
    "maps empty": (put("maps", value=[]), "maps must be a list of length >= 1"),
    "maps object": (put("maps", value={"F": {}}), "must be a list"),
    "map kind": (
        put("maps", 0, "map", "kind", value="pickle"),
        r"maps\[0\].map.kind has an invalid value 'pickle'",
    ),
    "map list": (put("maps", 0, "map", value=[]), r"maps\[0\].map must be an object"),
    "group null": (put("maps", 0, "group", value=None), "group must be text, a number"),
    "group list": (put("maps", 0, "group", value=["F"]), "group must be text, a number"),
    "group twice": (put("maps", 1, "group", value="F"), "'F' twice"),
    "other group": (put("maps", 0, "group", value="X"), "one entry for each group"),
    "knots text": (put(*KNOTS, value="abc"), "must be a list"),
    "knots of texts": (put(*KNOTS, 0, value="0.5"), "must be a number"),
    "knot true": (put(*KNOTS, 0, value=True), "must be a number"),
    "knot null": (put(*KNOTS, 0, value=None), "must be a number"),
    "knot list": (put(*KNOTS, 0, value=[0.5]), "must be a number"),
    "knot of 2000 digits": (put(*KNOTS, 0, value=10**2000), "64 bits"),
    "value of 2000 digits": (put(*VALUES, 0, value=-(10**2000)), "64 bits"),
    "edge": (put("maps", 0, "map", "above", value="explode"), "above has an invalid value 'explode'"),
    "floor": (put("maps", 0, "map", "floor", value="low"), "floor must be a number"),
    "thresholds": (put("thresholds", value=[]), "one entry for each group"),
    "thresholds object": (put("thresholds", value={"F": 1}), "must be a list"),
    "threshold": (put("thresholds", 0, "value", value=None), "must be a number"),
    "columns": (put("columns", value="sex"), "columns"),
    "columns without a group": (
        put("columns", value={"score": "risk", "group": []}),
        "columns.group must be a list of length >= 1",
    ),
    "columns by number": (put("columns", value={"score": 1, "group": ["sex"]}), "must be text"),
    "rows": (put("fitted_on", "rows", value=-1), "fitted_on.rows"),
    "labelled": (put("fitted_on", "labelled", value=1), "true or false"),
    "positives": (put("fitted_on", "groups", 0, "counts", "positives", value=-1), "positives"),
    "rows left out, not the range": (put("fitted_on", "groups", 0, "counts", "rows", value=None), "all null"),
    "unlabelled": (put("fitted_on", "labelled", value=False), "null, as there were no labels"),
    "fewer than": (put("fitted_on", "fewer_than", value=None), "fewer_than must be a number"),
    "private": (put("private", value={"largest_error": -1, "step": 0}), "private.largest_error"),
    "private text": (put("private", value={"largest_error": "0", "step": 0}), "private.largest_error"),
    "scores": (put("fitted_on", "groups", 0, "counts", "scores", value=1.5), "whole number"),
    "range": (put("fitted_on", "score_range", value=[1.0, 0.0]), "lowest and the highest"),
    "range length": (put("fitted_on", "score_range", value=[1.0]), "score_range must be a list of length >= 2"),
    "hash": (put("fitted_on", "fingerprint", value="ABC"), "hexadecimal"),
    "time": (put("fitted_on", "time", value="yesterday"), "a time such as"),
    "time elsewhere": (put("fitted_on", "time", value="2025-01-01T00:00:00+01:00"), "a time such as"),
    "time number": (put("fitted_on", "time", value=5), "time must be text or null"),
    "version of the library": (put("fitted_on", "library_version", value=1), "must be text"),
    "version that steers a terminal": (put("fitted_on", "library_version", value="1\x1b[2J"), "must be printable"),
    "long text": (put("fitted_on", "library_version", value="x" * 20_000), "text of length <= 10000"),
    "long list": (put("parameters", "lam", value=[0] * 100_001), "a list of length <= 100000"),
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_content(valid, name):
    edit, reason = FORGED[name]
    refused(edited(valid, edit), reason)


def test_forged_knots(valid):
    knots = json.loads(valid)["maps"][0]["map"]["knots"]
    swapped = [knots[1], knots[0], *knots[2:]]
    for wrong in (knots[::-1], swapped, [knots[0], *knots[:-1]]):
        refused(edited(valid, put(*KNOTS, value=wrong)), "strictly increasing")
    refused(edited(valid, put(*KNOTS, value=knots[:-1])), "one value for each breakpoint")
    refused(edited(valid, put(*KNOTS, value=[])), "one value for each breakpoint")


def every_object(content, path=()):
    if isinstance(content, dict):
        yield path, content
    pairs = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in pairs:
        yield from every_object(value, (*path, key))


def at(content, path):
    for step in path:
        content = content[step]
    return content


@pytest.mark.parametrize("seal", [True, False])
@pytest.mark.parametrize("model", [FairPOT(0.5, top=0.8, repair="top"), LogitShift(), WassersteinRepair(0.5)])
def test_every_key_is_needed_and_no_other(model, seal):
    data = valid_bytes(model)
    for path, found in every_object(json.loads(data)):
        refused(edited(data, lambda c, p=path: put("zzz", value=1)(at(c, p)), seal))
        for key in found:
            if path == ("parameters",) or (seal and key == "checksum"):
                continue  # an older version may have had fewer parameters
            refused(edited(data, lambda c, p=path, k=key: at(c, p).pop(k), seal))


def test_every_value_is_under_the_checksum(valid):
    """Replace each value by another of its type that is valid by itself."""

    def leaves(content, path=()):
        pairs = content.items() if isinstance(content, dict) else enumerate(content)
        for key, value in pairs:
            if isinstance(value, dict | list):
                yield from leaves(value, (*path, key))
            else:
                yield (*path, key), value

    for path, value in leaves(json.loads(valid)):
        if isinstance(value, bool):
            other = not value
        elif isinstance(value, float):
            other = math.nextafter(value, 2.0)
        elif isinstance(value, int):
            other = value + 1
        else:
            other = "x" if value is None else value + "x"
        refused(edited(valid, put(*path, value=other), seal=False))


@pytest.mark.parametrize("token", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"])
def test_non_finite_numbers(valid, token):
    content = json.loads(valid)
    places = [("maps", 0, "map", "knots", 0), ("maps", 0, "map", "start"), ("dial", "value"), ("parameters", "max_gap"),
              ("fitted_on", "rows"), ("thresholds", 0, "value"), ("reference",)]  # fmt: skip
    for path in places:
        text = edited(json.dumps(content), put(*path, value="PLACEHOLDER")).decode()
        refused(text.replace('"PLACEHOLDER"', token).encode(), "finite|rows must be a number >= 0")


def test_not_a_model_file(valid):
    refused(b"", "empty")
    refused(b" \n", "empty")
    refused(b"hello", "not JSON")
    refused(b"\xff\xfe{}", "not UTF-8")
    refused(b"\xef\xbb\xbf" + valid, "not JSON")
    refused(valid.decode().encode("utf-16"), "not UTF-8")
    refused(valid + b"{}", "not JSON")
    refused(valid[:-3], "not JSON")
    for other in (b"null", b"1", b'"text"', b"[]", b"{}", b'{"format": null}'):
        refused(other, "no model of fairpot")
    refused(b"\x80\x04\x95\x00", "not UTF-8")
    refused(b"1" * 5000, "more than 64 bits")
    refused(b'{"format":"fairpot-model","schema_version":2}', "lacks the required field")


@pytest.mark.parametrize("opening", [b"[", b'{"a":', b'{"format":"fairpot-model","maps":['])
def test_absurd_nesting(opening):
    refused(opening * 200_000, "nested too deeply")


def test_absurd_numbers_of_things(valid):
    many = [{"group": i, "map": {}} for i in range(10_001)]
    refused(edited(valid, put("maps", value=many)), "a list of length <= 10000")
    deep = json.loads("[" * 500 + "]" * 500)
    for path in (("parameters", "lam"), ("maps",), ("dial",), ("apply",), ("method",), ("reference",), KNOTS):
        refused(edited(valid, put(*path, value=deep)))


def test_doubled_keys(valid):
    text = valid.decode()
    refused(text.replace('"method":', '"method":"LogitShift","method":').encode(), "'method' comes twice")
    refused(text.replace('"above":', '"above":"hold","above":', 1).encode(), "'above' comes twice")


def test_half_a_surrogate_pair(valid):
    refused(valid.replace(b'"group":"F"', rb'"group":"\ud800"'), "valid Unicode")


def test_numbers_at_the_end_of_the_range(valid):
    wide = {"knots": [-1.7e308, 1.7e308], "values": [-1.7e308, 1.7e308]}
    refused(edited(valid, lambda c: c["maps"][0]["map"].update(wide)), "far outside the fitted range")

    def everywhere(content):
        content["maps"][0]["map"].update(wide)
        content["fitted_on"]["score_range"] = [-1.7e308, 1.7e308]

    refused(edited(valid, everywhere), "wider or higher than")
    for added in (1e308, -1e308):
        shift = {"kind": "shift", "factor": None, "added": added, "negative": False}
        load_bytes(edited(valid, put("maps", 0, "map", value=shift)))


def test_layout_does_not_matter(valid):
    content = json.loads(valid)
    for text in (json.dumps(content, indent=2), json.dumps(dict(reversed(content.items())))):
        assert files.dumps(load_bytes(text.encode()).file_content()) == valid


def test_the_file_is_named(tmp_path, valid):
    path = tmp_path / "map.json"
    for data in (b"hello", edited(valid, put("method", value="Magic!"))):
        path.write_bytes(data)
        with pytest.raises(ModelFileError, match=r"map\.json' cannot be used: "):
            fairpot.load(path)


def mutate(data, rng):
    """Damage one place of a file."""
    i, j = sorted(rng.sample(range(len(data)), 2))
    return rng.choice([
        lambda: data[:i] + bytes([rng.randrange(256)]) + data[i + 1 :],
        lambda: data[:i] + bytes([data[i] ^ 1 << rng.randrange(8)]) + data[i + 1 :],
        lambda: data[:i] + data[i + 1 :],
        lambda: data[:i] + bytes([rng.choice(b'0123456789.-+eE"{}[],: \n\\')]) + data[i:],
        lambda: data[:i],
        lambda: data[:i] + data[j:],
        lambda: data[:j] + data[i:j] + data[j:],
        lambda: data[:i] + data[j : j + 1] + data[i + 1 : j] + data[i : i + 1] + data[j + 1 :],
        lambda: data[:i] + rng.choice([b"NaN", b"1e999", b"null", b"true", b"{}", b"[", b"\x00", b"\xff"]) + data[i:],
    ])()  # fmt: skip


@pytest.mark.parametrize("model", [FairPOT(0.5, top=0.8, repair="top"), LogitShift(), WassersteinRepair(0.5)], ids=repr)
def test_random_damage(model):
    data = valid_bytes(model)
    rng = random.Random(0)
    survived = 0
    for _ in range(1500):
        damaged = mutate(data, rng)
        try:
            content = load_bytes(damaged).file_content()
        except ModelFileError:
            continue
        survived += 1
        assert files.dumps(content) == data
    assert survived < 300


def test_schema_refuses_what_it_can_see(valid):
    seen_by_the_loader_only = {
        "unknown method", "unknown parameter", "other method", "dial", "reference", "group twice", "other group",
        "thresholds",
        "knot of 2000 digits", "value of 2000 digits", "unlabelled", "range", "time elsewhere",
        "version as float", "knots of texts", "rows left out, not the range", "version that steers a terminal",
    }  # fmt: skip
    assert not VALIDATOR.is_valid([])
    for name, (edit, _) in FORGED.items():
        if name not in seen_by_the_loader_only:
            assert not VALIDATOR.is_valid(json.loads(edited(valid, edit))), name


def test_schema_is_valid():
    jsonschema.Draft202012Validator.check_schema(modelfile.schema())


@pytest.mark.parametrize("part", ["[],", "{},", '"",'])
def test_a_bomb_is_refused_before_it_is_built(tmp_path, part):
    """A few megabytes of empty parts would take a hundred times as much memory."""
    path = tmp_path / "bomb.json"
    path.write_text('{"format": "fairpot-model", "maps": [' + part * 5_000_000 + "0]}")
    with pytest.raises(ModelFileError, match="more than any model"):
        fairpot.load(path)
