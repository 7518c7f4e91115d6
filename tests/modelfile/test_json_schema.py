"""Our reading of schema.json against that of the package jsonschema, and what its messages say."""

import copy
import json
import math
import random
from dataclasses import fields
from functools import cache

import jsonschema
import pytest

import modelfile_cases as cases
from fairpot import FairPOT, ModelFileError, modelfile
from fairpot.methods import LogitShift, OptimalMerge, PostLogit, WassersteinRepair
from fairpot.modelfile import json_schema
from fairpot.modelfile.json_schema import Schema

DOCUMENT = modelfile.schema()
OURS = Schema(DOCUMENT, "the file")


def is_carried(value):
    """Whether a number is finite and of 64 bits, and a text is valid Unicode."""
    if isinstance(value, str):
        return value.encode(errors="replace").decode() == value
    return math.isfinite(value) if isinstance(value, float) else -(2**63) <= value < 2**64


def narrow(name):
    standard = jsonschema.Draft202012Validator.TYPE_CHECKER
    whole = {"integer": int}.get(name, object)
    return lambda _, value: standard.is_type(value, name) and isinstance(value, whole) and is_carried(value)


NARROW_TYPES = ("integer", "number", "string")
TYPES = jsonschema.Draft202012Validator.TYPE_CHECKER.redefine_many({name: narrow(name) for name in NARROW_TYPES})
THEIRS = jsonschema.validators.extend(jsonschema.Draft202012Validator, type_checker=TYPES)


def accepts(schema, value):
    try:
        schema.check(value)
    except ModelFileError as error:
        message = str(error)
    else:
        return True
    assert "\nHint: " in message
    assert len(message) < 600
    return False


@cache
def texts():
    """Small files with everything a file can hold."""
    number = {"estimate": 0.1, "se": 0.01, "low": 0.0, "high": 0.2, "level": 0.95, "method": "delong", "signed": -0.1}
    number |= {"groups": ["F", 1, True], "reason": None, "note": "x"}
    intervals = dict.fromkeys(("auc", "auc_before", "gap", "gap_before"), number)
    certificate = {"bound": 0.1, "confidence": 0.9, "how": "walk", "rows": "held out", **intervals}
    extras = [
        {"certificate": certificate},
        {"certificate": certificate | {"limit": 0.05}},
        {"private": {"largest_error": 0.0, "step": 1e-3}, "columns": {"score": "risk", "group": ["sex", "age"]}},
        {"apply": {"kind": "barycentre_of_batch", "t": 1, "left_out": ["few", 2]}},
        {"apply": {"kind": "top_of_batch", "alpha": 0.5, "region": "pooled"}},
    ]
    models = [
        FairPOT(0.5, reference="M", top=0.8, repair="top"), WassersteinRepair(keep="probabilities"),
        PostLogit(grid=[1.0, 2.5]), OptimalMerge(), LogitShift(0.5),
    ]  # fmt: skip
    data = cases.make_data(names=("F", "M"), n=14, digits=1)
    files = [json.loads(modelfile.dumps(data.fit(model).fair_maps_.file_content())) for model in models]
    made = [*files, *(file | extra for file, extra in zip(files, extras))]
    return [json.dumps(document) for document in made]


def documents():
    return [json.loads(text) for text in texts()]


STRANGE = [
    None, True, False, 0, 1, 2, -1, 1.0, 0.5, 1.5, -0.0, 2**64, -(10**400), math.nan, math.inf, "", "x", "F",
    "piecewise", "sigmoid", "shift", "maps", "top_of_batch", "barycentre_of_batch", "hold", "walk", "pooled",
    "fairpot-model",
    "a" * 64, "a" * 64 + "\n", "2025-01-31T12:00:00+00:00", "2025-01-31T12:00:00+00:00\n", "é🏳", "\ud800",
    "y" * 10_000, "y" * 10_001,
    [], [0.1, 0.2], [1, 0.5], ["F"], [None], [[]], [0.5] * 3, {}, {"by_group": []}, {"kind": "maps"}, {"zzz": 1},
    {"by_group": [{"group": "F", "value": 1}]}, {"group": "F", "value": 0.5},
    {"kind": "sigmoid", "alpha": 1, "beta": -1}, {"kind": "shift", "factor": 2, "added": 0, "negative": False},
    {"kind": "top_of_batch", "alpha": 0, "region": "group"}, {"score": "risk", "group": []},
]  # fmt: skip


def places(value):
    """Yield every object and list of a document that holds something."""
    if isinstance(value, dict | list) and value:
        yield value
        for each in value.values() if isinstance(value, dict) else value:
            yield from places(each)


def damage(document, rng):
    """Change one place: another value there, one taken from elsewhere, one less, one more, or one twice."""
    holder = rng.choice(list(places(document)))
    keys = list(holder) if isinstance(holder, dict) else range(len(holder))
    key, how = rng.choice(keys), rng.randrange(8)
    if how < 4:
        holder[key] = copy.deepcopy(rng.choice(STRANGE))
    elif how == 4:
        holder[key] = copy.deepcopy(rng.choice(list(places(document))))
    elif how == 5:
        del holder[key]
    elif isinstance(holder, list):
        holder.insert(key, copy.deepcopy(rng.choice([holder[key], rng.choice(STRANGE)])))
    else:
        holder[rng.choice(["zzz", "left_out", "private", "kind", "x" * 10_001])] = holder[key]


@pytest.mark.parametrize("place", range(len(documents())))
def test_the_same_documents_are_accepted(place):
    document, rng = documents()[place], random.Random(place)
    theirs = THEIRS(DOCUMENT)
    assert accepts(OURS, document)
    assert jsonschema.Draft202012Validator(DOCUMENT).is_valid(document)
    verdicts = []
    for _ in range(150):
        damaged = copy.deepcopy(document)
        for _ in range(rng.choice([1, 1, 1, 2])):
            damage(damaged, rng)
        verdicts.append(accepts(OURS, damaged))
        assert verdicts[-1] == theirs.is_valid(damaged), damaged
    assert 0.05 < sum(verdicts) / len(verdicts) < 0.95


def parts(schema):
    """Yield a schema and all that are inside it."""
    yield schema
    inside = [schema[key] for key in ("items", "propertyNames", "additionalProperties") if schema.get(key)]
    inside += [*schema.get("oneOf", ()), *schema.get("properties", {}).values(), *schema.get("$defs", {}).values()]
    for each in inside:
        yield from parts(each)


def test_every_part_accepts_the_same_values():
    values = [*STRANGE, *(value for document in documents()[4:] for value in places(document))]
    for part in parts(DOCUMENT):
        part = part | {"$defs": DOCUMENT["$defs"]}
        ours, theirs = Schema(part, "it"), THEIRS(part)
        for value in values:
            assert accepts(ours, value) == theirs.is_valid(value), (part, value)


def test_an_unknown_keyword_fails_at_once_wherever_it_stands():
    """Or the schema would say something that nobody checks."""
    for place in range(len(list(parts(DOCUMENT)))):
        changed = copy.deepcopy(DOCUMENT)
        list(parts(changed))[place]["minLength"] = 1
        with pytest.raises(NotImplementedError, match=r"\['minLength'\]"):
            Schema(changed, "the file")
    for wrong in ({"$ref": "#/$defs/none"}, {"$ref": "other.json"}, {"const": []}, {"enum": [{}]}):
        with pytest.raises(NotImplementedError):
            Schema(wrong, "the file")


def test_every_keyword_is_used():
    used = {keyword for part in parts(DOCUMENT) for keyword in part}
    assert used == json_schema._ANNOTATIONS | {keyword for keyword, _ in json_schema._KEYWORDS}


def test_more_than_one_branch():
    schema = {"oneOf": [{"type": "number"}, {"type": "integer"}]}
    for value, accepted in ((1, False), (1.5, True), ("1", False)):
        assert (
            accepts(Schema(schema, "it"), value) is accepted is jsonschema.Draft202012Validator(schema).is_valid(value)
        )


def test_every_field_is_in_the_schema_and_in_the_content():
    """A new field stands in schema.json and content.py: one that is in one of them only is found here."""
    header = {"checksum", "format", "schema_version"}
    assert set(DOCUMENT["properties"]) - header == {field.name for field in fields(modelfile.ModelFile)}


def test_a_new_field_needs_no_check_of_its_own():
    document = copy.deepcopy(DOCUMENT)
    document["properties"]["owner"] = {"type": "string", "maxLength": 80}
    new, file = Schema(document, "the file"), documents()[0]
    assert accepts(new, file)
    assert accepts(new, file | {"owner": "risk team"})
    for wrong, reason in ((5, "owner must be text, got 5"), ("x" * 81, "owner must be text of at most 80 characters")):
        with pytest.raises(ModelFileError, match=reason):
            new.check(file | {"owner": wrong})


MAP = ("maps", 0, "map")
BATCH = {"kind": "top_of_batch", "alpha": 0.5, "region": "pooled"}
STRANGER = "\x1b[2J" + "x" * 500


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ((), [], "the file must be a fairpot model file, got []."),
        (("zzz",), 1, "the file has keys this version does not know: ['zzz'].\nHint: load it with the"),
        (("fitted_on", "rows"), -1, "fitted_on.rows must be at least 0, got -1."),
        (("fitted_on", "rows"), "3", "fitted_on.rows must be a number or null, got '3'."),
        (("fitted_on", "fingerprint"), "AB", "fitted_on.fingerprint must be 64 hexadecimal digits, got 'AB'."),
        (("fitted_on", "fingerprint"), 5, "fitted_on.fingerprint must be 64 hexadecimal digits or null, got 5."),
        (("fitted_on", "groups", 1, "counts", "scores"), 5.0, "fitted_on.groups[1].counts.scores must be a whole num"),
        ((*MAP, "knots"), [0.1, True], "maps[0].map.knots[1] must be a number, got True."),
        ((*MAP, "knots"), [0.1, math.nan], "maps[0].map.knots[1] must be a finite number, got nan.\nHint: NaN and"),
        ((*MAP, "kind"), "x", "maps[0].map.kind must be one of 'piecewise', 'sigmoid', 'shift', got 'x'."),
        (MAP, {"kind": "sigmoid", "alpha": 1}, "maps[0].map lacks the keys ['beta']."),
        (("apply",), {"kind": "maps", "t": 1}, "apply has keys this version does not know: ['t']."),
        (("apply",), {}, "apply.kind must be one of 'maps', 'top_of_batch', 'barycentre_of_batch', got None."),
        (("apply",), BATCH | {"alpha": 0}, "apply.alpha must be above 0, got 0."),
        (("apply",), BATCH | {"region": "x"}, "apply.region must be one of 'pooled', 'group', got 'x'."),
        (("reference",), [], "reference must be the name of a group (text, a number or a boolean) or null, got []."),
        (("maps", 0, "group"), None, "maps[0].group must be the name of a group (text, a number or a boolean), got N"),
        (("parameters", "lam"), [1, []], "parameters.lam[1] must be text, a number, true or false or null, got []."),
        (("parameters", "a b"), [[]], "parameters['a b'][0] must be text, "),
        (("parameters", STRANGER), [[]], r"parameters['\x1b[2Jxxx"),
        (("columns",), STRANGER, r"columns must be an object or null, got '\x1b[2Jxxx"),
        (("columns",), {"score": "\ud800", "group": ["x"]}, r"columns.score must be valid Unicode, got '\ud800'."),
    ],
)  # fmt: skip
def test_messages(path, value, message):
    document = documents()[0]
    if not path:
        document = value
    else:
        holder = document
        for step in path[:-1]:
            holder = holder[step]
        holder[path[-1]] = value
    with pytest.raises(ModelFileError) as caught:
        OURS.check(document)
    assert str(caught.value).startswith(message)
    assert len(str(caught.value)) < 300
    assert str(caught.value).isascii()
