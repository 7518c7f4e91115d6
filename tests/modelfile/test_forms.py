"""What a file may hold: the types that check it against the JSON Schema made from them, and what messages say."""

import copy
import json
import math
import random
from functools import cache

import jsonschema
import pytest

import modelfile_cases as cases
from fairpot import FairPOT, ModelFileError, modelfile
from fairpot.methods import LogitShift, OptimalMerge, WassersteinRepair
from fairpot.modelfile import files
from fairpot.modelfile.forms import OPTIONAL, typed
from fairpot.repair import FairMaps

DOCUMENT = modelfile.schema()
STANDARD = jsonschema.Draft202012Validator.TYPE_CHECKER
# The standard takes 5.0 for a whole number, and Python's reader gives numbers that are not JSON.
NARROWER = {
    "integer": lambda _, value: STANDARD.is_type(value, "integer") and isinstance(value, int),
    "number": lambda _, value: STANDARD.is_type(value, "number") and math.isfinite(value),
}
THEIRS = jsonschema.validators.extend(jsonschema.Draft202012Validator, type_checker=STANDARD.redefine_many(NARROWER))(
    DOCUMENT
)


def accepts(value):
    try:
        typed(value)
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
        {"columns": {"score": "risk", "group": ["sex"], "lower_is_riskier": True, "high_score_means": "harm"}},
        {
            "simplified": dict.fromkeys(("largest_error", "knots_before", "knots"), 0)
            | {"auc_change": None, "gap_change": 0}
        },
    ]
    models = [
        FairPOT(0.5, reference="M", top=0.8, repair="top"), WassersteinRepair(keep="probabilities"),
        OptimalMerge(2.0), OptimalMerge(), LogitShift(0.5),
    ]  # fmt: skip
    data = cases.make_data(names=("F", "M"), n=14, digits=1)
    made = [json.loads(files.dumps(data.fit(model).fair_maps_.file_content())) for model in models]
    made += [file | extra for file, extra in zip(made, extras)]
    return [json.dumps(document) for document in made]


def documents():
    return [json.loads(text) for text in texts()]


STRANGE = [
    None, True, False, 0, 1, 2, -1, 1.0, 0.5, 1.5, -0.0, math.nan, math.inf, "", "x", "F",
    "piecewise", "shift", "maps", "top_of_batch", "barycentre_of_batch", "hold", "walk", "pooled",
    "fairpot-model",
    "a" * 64, "a" * 64 + "\n", "2025-01-31T12:00:00+00:00", "2025-01-31T12:00:00+00:00\n", "é🏳",
    "y" * 10_000, "y" * 10_001,
    [], [0.1, 0.2], [1, 0.5], ["F"], [None], [[]], [0.5] * 3, {}, {"by_group": []}, {"kind": "maps"}, {"zzz": 1},
    {"by_group": [{"group": "F", "value": 1}]}, {"group": "F", "value": 0.5},
    {"kind": "shift", "factor": 2, "added": 0, "negative": False},
    {"score": "risk", "group": []},
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
    assert accepts(document)
    assert jsonschema.Draft202012Validator(DOCUMENT).is_valid(document)
    verdicts = []
    for _ in range(150):
        damaged = copy.deepcopy(document)
        for _ in range(rng.choice([1, 1, 1, 2])):
            damage(damaged, rng)
        verdicts.append(accepts(damaged))
        assert verdicts[-1] == THEIRS.is_valid(damaged), damaged
    assert 0.05 < sum(verdicts) / len(verdicts) < 0.95


def test_every_part_of_a_file_is_kept_when_it_is_read_and_written_again():
    """A part is said in one place, its type: what reads and writes files takes all that there are."""
    kept = set()
    for document in documents():
        record = typed(document)
        again = FairMaps._from_content(record).file_content().to_json()
        assert again | {"checksum": record.checksum} == document
        kept |= set(document)
    assert kept == set(DOCUMENT["properties"]) - {"grouping"}  # which tests of bands write and read
    assert set(OPTIONAL) < set(DOCUMENT["properties"])


MAP = ("maps", 0, "map")
STRANGER = "\x1b[2J" + "x" * 500


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ((), [], "the file must be an object, got a list."),
        (("zzz",), 1, "the file has an unknown field zzz.\nHint: load it with the"),
        ((STRANGER,), 1, r"the file has an unknown field \x1b[2Jxxx"),
        (("fitted_on", "rows"), -1, "fitted_on.rows must be a number >= 0"),
        (("fitted_on", "rows"), "3", "fitted_on.rows must be a number or null, got text."),
        (("fitted_on", "fingerprint"), "AB", "fitted_on.fingerprint must be 64 hexadecimal digits."),
        (("fitted_on", "fingerprint"), 5, "fitted_on.fingerprint must be text or null, got a whole number."),
        (("fitted_on", "groups", 1, "counts", "scores"), 5.0, "fitted_on.groups[1].counts.scores must be a whole num"),
        ((*MAP, "knots"), [0.1, True], "maps[0].map.knots[1] must be a number, got true or false."),
        ((*MAP, "knots"), [0.1, math.nan], "maps[0].map.knots[1] must be a finite number.\nHint: NaN and"),
        ((*MAP, "knots"), [0.1, -math.inf], "maps[0].map.knots[1] must be a finite number.\nHint: NaN and"),
        ((*MAP, "kind"), "x", "maps[0].map.kind has an invalid value 'x'."),
        (MAP, {"kind": "shift", "factor": 1}, "maps[0].map lacks the required field added."),
        (("apply",), {"kind": "maps", "t": 1}, "apply has an unknown field t."),
        (("apply",), {}, "apply lacks the required field kind."),
        (("reference",), [], "reference must be text, a number, true or false, or null, got a list.\nHint: turn"),
        (("maps", 0, "group"), None, "maps[0].group must be text, a number, true or false, got null.\nHint: turn"),
        (("parameters", "lam"), [1, []], "parameters[...][1] must be text, a number, true or false, or null, got a l"),
        (("columns",), STRANGER, "columns must be an object or null, got text."),
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
        typed(document)
    assert str(caught.value).startswith(message)
    assert len(str(caught.value)) < 400
    assert str(caught.value).isascii()
