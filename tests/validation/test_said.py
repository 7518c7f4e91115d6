"""What is said of rows is said alike everywhere: one list of functions, one of words, and rows in three ways."""

import importlib
import inspect
import math
import pkgutil

import numpy as np
import pandas as pd
import pytest

import fairpot
from fairpot._said import COLUMNS, ENDS, NAMES, WORDS

RNG = np.random.default_rng(7)
SIZE = 400
FRAME = pd.DataFrame(
    {
        "risk": RNG.random(SIZE).round(3),
        "sex": RNG.choice(["F", "M", "X"], SIZE),
        "share": RNG.integers(1, 4, SIZE) / 2,
        "patient": RNG.integers(0, 200, SIZE),
    }
)
FRAME["died"] = (RNG.random(SIZE) < 0.2 + 0.6 * FRAME.risk).astype(int)
FRAME["days"] = RNG.exponential(1.0, SIZE) + 0.01
SAID = {"min_group": 20, "groups": ["F", "M"]}
BY_COLUMNS = {"sensitive_features": FRAME.sex, "sample_weight": FRAME.share, "clusters": FRAME.patient}
BY_NAME = {"score": "risk", "label": "died", "group": "sex", "weight": "share", "cluster": "patient"}
OTHERS = FRAME.assign(risk=RNG.random(SIZE).round(3))
FITTED = fairpot.FairPOT(max_gap=0.1).fit(OTHERS.risk, OTHERS.died, sensitive_features=OTHERS.sex, groups=["F", "M"])
MAPS = FITTED.maps_
LOADED = FITTED.fair_maps_


def is_taken(function):
    return inspect.signature(function).parameters.keys() >= {"sensitive_features", "lower_is_riskier"}


def public_functions():
    """Find every public function, and method of a public class, that takes what is said of rows."""
    parts = [part.name for part in pkgutil.iter_modules(fairpot.__path__) if not part.name.startswith("_")]
    found = {}
    for part in ("", *(part for part in parts if part not in ("cli", "words", "counting"))):
        module = importlib.import_module(f"fairpot.{part}".rstrip("."))
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            if inspect.isfunction(value) and is_taken(value):
                found[name] = value
            if inspect.isclass(value):
                inside = inspect.getmembers(value, inspect.isfunction)
                found |= {
                    f"{value.__name__}.{name}": each
                    for name, each in inside
                    if is_taken(each) and not name.startswith("set_")
                }
    methods = [each.__name__ for each in fairpot.repair.registry.methods().values()]
    return {name: each for name, each in found.items() if name.partition(".")[0] not in methods}


def numbers(found):
    """Give a result as something that can be compared."""
    if isinstance(found, fairpot.ScoreTable):
        parts = [c for counts in found.counts for c in (counts.score, counts.positive, counts.negative)]
        return [found.groups, found.only_groups, found.min_group, *map(np.ndarray.tolist, parts)]
    if hasattr(found, "maps_"):
        own = {g: (each.knots.tolist(), each.values.tolist()) for g, each in found.maps_.items()}
        return [own, found.left_out_, str(vars(found).get("certificate_", vars(found).get("certified_")))]
    return found.to_dict() if hasattr(found, "to_dict") else str(found)


# Every function, called with outcomes and scores (or all rows) in their places.
CALLS = {
    "score_table": lambda y, s, **said: fairpot.score_table(s if y is None else y, None if y is None else s, **said),
    "audit": lambda y, s, **said: fairpot.audit(s if y is None else y, None if y is None else s, **said),
    "compare": lambda y, s, **said: fairpot.compare(
        s if y is None else y, None if y is None else s, methods=["FairPOT"], cv=2, max_gaps=[0.2], **said
    ).to_dict(),
    "effect": lambda y, s, **said: fairpot.effect(MAPS, s, y, **said),
    "FairnessReport.__init__": lambda y, s, **said: (
        fairpot.FairnessReport(s if y is None else y, y_score=None if y is None else s, **said).audit
    ),
    "Repair.fit": lambda y, s, **said: fairpot.WassersteinRepair(0.5).fit(s, y, **said),
    "Repair.fit_transform": lambda y, s, **said: fairpot.WassersteinRepair(0.5).fit_transform(s, y, **said).tolist(),
    "Repair.certify": lambda y, s, **said: FITTED.certify(s, y, max_gap=0.9, confidence=0.6, **said),
    "FairMaps.certify": lambda y, s, **said: LOADED.certify(s, y, max_gap=0.9, confidence=0.6, **said),
    "Repair.choose_certified": lambda y, s, **said: FITTED.choose_certified(s, y, max_gap=0.9, confidence=0.6, **said),
    "Repair.tradeoff": lambda y, s, **said: FITTED.tradeoff(s, y, lams=[0.0, 0.5], **said).frame().to_dict(),
    "auc_limit": lambda y, s, **said: fairpot.tradeoff.auc_limit(
        s if y is None else y, None if y is None else s, **said
    ).best(max_gap=0.1),
    "concordance": lambda y, s, **said: fairpot.results.concordance(
        (s if y is None else None), None if y is None else s, tau=1.0, **said
    ),
}
for metric, more in {
    "auc": {},
    "xauc": {"positive": "F", "negative": "M"},
    "xauc_gap": {},
    "by_group": {},
    "top_recall": {"top": 0.5},
    "top_precision": {"top": 0.5},
}.items():

    def call(y, s, *, metric=metric, more=more, **said):
        found = getattr(fairpot.metrics, metric)(s if y is None else y, None if y is None else s, **more, **said)
        return found.to_dict() if metric == "by_group" else found

    CALLS[metric] = call
for name, more in {"verdict": {"bound": 0.1}, "confidence_interval": {}}.items():

    def judged(y, s, *, name=name, more=more, **said):
        first = ["xauc_gap"] if name == "confidence_interval" else []
        places = [s if y is None else y, None if y is None else s]
        return getattr(fairpot.inference, name)(*first, *places, **more, **said)

    CALLS[name] = judged

FUNCTIONS = public_functions()
# What gives values, and nothing that says which way the scores ran.
VALUES = ("auc", "xauc", "xauc_gap", "by_group", "top_recall", "top_precision", "verdict", "confidence_interval")
VALUES += ("auc_limit", "concordance")
every = pytest.mark.parametrize("name", CALLS)
# A value of each word that is wrong wherever the word means something, beside columns.
WRONG = {
    "sensitive_features": FRAME.sex[:5].tolist(),
    "sample_weight": [-1.0] * SIZE,
    "weights": "both",
    "clusters": FRAME.patient[:5].tolist(),
    "pos_label": "neither",
    "lower_is_riskier": None,
    "high_score_means": "good",
    "bands": {"age": [3, 2]},
    "unknown": ["F", "M"],
    "missing_group": "keep",
    "groups": ["F", "Q"],
    "min_group": -1,
    "time": FRAME.days[:5].tolist(),
    "event": FRAME.died[:5].tolist(),
    "horizon": -1.0,
    "competing": 7,
    "leaving": "always",
    "drop_missing": None,
    **dict.fromkeys(NAMES, "risk"),
}


def taken(name):
    return inspect.signature(FUNCTIONS[name]).parameters.keys() & WORDS.keys()


def said(name, words):
    return {word: value for word, value in words.items() if word in taken(name)}


def test_every_public_function_is_in_the_list():
    assert FUNCTIONS.keys() == CALLS.keys()


@every
def test_a_word_has_one_default(name):
    known = inspect.signature(FUNCTIONS[name]).parameters
    assert {word: known[word].default for word in taken(name)} == {word: WORDS[word].default for word in taken(name)}


@every
@pytest.mark.filterwarnings("ignore")
def test_rows_come_in_three_ways(name):
    columns = said(name, BY_COLUMNS | SAID)
    if name == "concordance":
        ends = {"time": FRAME.days, "event": FRAME.died}
        table = fairpot.score_table(None, FRAME.risk, **columns, **ends, horizon=1.0)
        found = [
            CALLS[name](FRAME.died, FRAME.risk, **columns, **ends),
            CALLS[name](None, table),
            CALLS[name](None, FRAME, **said(name, BY_NAME | SAID), time="days", event="died"),
        ]
    elif name == "Repair.fit_transform":
        found = [CALLS[name](FRAME.died, FRAME.risk, **columns), CALLS[name](None, FRAME, **said(name, BY_NAME | SAID))]
        with pytest.raises(TypeError, match="no rows to adjust"):
            CALLS[name](None, fairpot.score_table(FRAME.died, FRAME.risk, **columns))
    else:
        found = [
            CALLS[name](FRAME.died, FRAME.risk, **columns),
            CALLS[name](None, fairpot.score_table(FRAME.died, FRAME.risk, **columns)),
            CALLS[name](None, FRAME, **said(name, {word: BY_NAME[word] for word in shown(columns)} | SAID)),
        ]
    first, *others = map(numbers, found)
    for other in others:
        assert other == first or (isinstance(first, float) and math.isclose(first, other))


def shown(columns):
    return ["score", "label", *(COLUMNS[word] for word in columns if word in COLUMNS)]


@every
@pytest.mark.parametrize("word", WORDS)
def test_a_word_is_checked_or_refused(name, word):
    """None is taken and ignored: a wrong value is an error, and where the word means nothing, so is any."""
    value = WRONG[word]
    beside = {"sensitive_features": FRAME.sex, "sample_weight": FRAME.share} | {word: value}
    if word in (*ENDS, "horizon", "competing", "leaving") and name != "concordance":
        beside = {"time": FRAME.days, "event": FRAME.died, "horizon": 1.0} | beside
    if name == "concordance":
        beside = {"time": FRAME.days, "event": FRAME.died} | beside
    beside = {each: given for each, given in beside.items() if each in (*taken(name), word)}
    if word not in taken(name):
        given = value if value is not None else True
        with pytest.raises(TypeError, match=rf"takes no {word}: (.|\n)*\nHint: "):
            CALLS[name](FRAME.died, FRAME.risk, **beside | {word: given})
        return
    if value is None:  # a switch, which cannot be wrong: it has its own test
        return
    work = CALLS[name]
    if name == "score_table":  # it counts all groups, and who compares them looks which

        def work(*rows, **said):
            return fairpot.audit(fairpot.score_table(*rows, **said))

    with pytest.raises((TypeError, ValueError)):
        work(FRAME.died, FRAME.risk, **beside)


@every
def test_a_misspelt_word_gets_a_hint(name):
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'sensitive_feature'.\nHint: did you mean sens"):
        CALLS[name](FRAME.died, FRAME.risk, sensitive_feature=FRAME.sex)
    with pytest.raises(TypeError, match="unexpected keyword argument 'zzz'"):
        CALLS[name](FRAME.died, FRAME.risk, zzz=1)


@every
@pytest.mark.filterwarnings("ignore")
def test_switches_are_heard(name):
    """The two words that are on or off change what is found, or what is refused."""
    columns = said(name, {"sensitive_features": FRAME.sex, "groups": ["F", "M"]})
    if name == "concordance":
        columns |= {"time": FRAME.days, "event": FRAME.died}
    gaps = FRAME.risk.where(FRAME.index != 3)
    whole = {
        word: value[FRAME.index != 3] if hasattr(value, "index") and word != "groups" else value
        for word, value in columns.items()
    }
    if "drop_missing" in taken(name):
        with pytest.raises(ValueError, match="missing"):
            CALLS[name](FRAME.died, gaps, **columns)
        dropped = CALLS[name](FRAME.died, gaps, drop_missing=True, **columns)
        kept = CALLS[name](FRAME.died[FRAME.index != 3], FRAME.risk[FRAME.index != 3], **whole)
        assert numbers(dropped) == numbers(kept)
    turned = -FRAME.risk
    if name in ("Repair.certify", "FairMaps.certify", "Repair.choose_certified", "Repair.tradeoff"):
        with pytest.raises(ValueError, match="score means high risk"):
            CALLS[name](FRAME.died, turned, lower_is_riskier=True, **columns)
    elif name in VALUES:
        found = CALLS[name](FRAME.died, turned, lower_is_riskier=True, **columns)
        assert numbers(found) == numbers(CALLS[name](FRAME.died, FRAME.risk, **columns))
    elif name != "Repair.fit_transform":
        known = [CALLS[name](FRAME.died, turned, lower_is_riskier=low, **columns) for low in (True, False)]
        assert numbers(known[0]) != numbers(known[1])


def test_what_a_fit_settled_is_not_said_again():
    for word in ("bands", "unknown", "missing_group", "groups", "min_group"):
        value = {"bands": {"sex": 2}, "missing_group": "own", "min_group": 3}.get(word, ["F", "M"])
        for call in (
            fairpot.effect,
            lambda *rows, **said: fairpot.FairnessReport(rows[2], rows[0], y_score=rows[1], **said),
        ):
            with pytest.raises(TypeError, match=rf"{word} says nothing new: fit has settled it"):
                call(FITTED, FRAME.risk, FRAME.died, sensitive_features=FRAME.sex, **{word: value})
        with pytest.raises(TypeError, match=rf"takes no {word}: fit has settled it"):
            FITTED.certify(FRAME.risk, FRAME.died, sensitive_features=FRAME.sex, max_gap=0.5, **{word: value})


def test_a_frame_is_met_again_by_the_names_it_was_fitted_with():
    fitted = fairpot.FairPOT(max_gap=0.1).fit(FRAME, score="risk", label="died", group="sex")
    adjusted = fitted.transform(FRAME.risk, sensitive_features=FRAME.sex)
    pd.testing.assert_series_equal(fairpot.apply(fitted, FRAME).risk_adjusted, adjusted, check_names=False)
    by_column = fairpot.apply(fitted, FRAME.risk, sensitive_features=FRAME.sex)
    pd.testing.assert_series_equal(by_column, adjusted)
    named = fairpot.effect(fitted, FRAME, label="died")
    assert numbers(named) == numbers(fairpot.effect(fitted, FRAME.risk, FRAME.died, sensitive_features=FRAME.sex))


def test_columns_in_the_place_of_names():
    with pytest.raises(TypeError, match=r"group must be the name of a column, got Series(.|\n)*sensitive_features="):
        fairpot.apply(FITTED, FRAME.risk, group=FRAME.sex)
    for word, own in (("score", "risk"), ("weight", "share"), ("cluster", "patient"), ("group", "sex")):
        names = {"score": "risk", "label": "died", "group": "sex"} | {word: FRAME[own]}
        with pytest.raises(TypeError, match=f"{word} must be the name of a column, got Series"):
            fairpot.audit(FRAME, **names)


def test_models_in_a_frame_go_by_the_names_of_their_columns():
    frame = FRAME.assign(other=FRAME.risk.round(1))
    found = fairpot.audit(frame, {"old": "risk", "new": "other"}, label="died", group="sex", weight="share")
    columns = {"old": frame.risk, "new": frame.other}
    same = fairpot.audit(frame.died, columns, sensitive_features=frame.sex, sample_weight=frame.share)
    assert found.to_dict() == same.to_dict()
