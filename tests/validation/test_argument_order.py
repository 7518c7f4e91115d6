"""One order: (y_true, y_score) without a model, (scores, y) after one; columns the other way round are told apart."""

import decimal
import importlib
import inspect

import numpy as np
import pandas as pd
import pytest

import fairpot
from fairpot import FairPOT, audit, compare, effect
from fairpot.inference import confidence_interval, verdict
from fairpot.metrics import auc
from fairpot.repair.registry import methods
from fairpot.report import FairnessReport
from fairpot.tradeoff import auc_limit
from oracles import METRICS, arguments
from rows_cases import draw

SCORE, Y, SEX = draw(200, digits=9)  # no two scores alike
KINDS = {"numpy": np.asarray, "pandas": pd.Series, "list": lambda column: np.asarray(column).tolist()}
OUTCOMES_FIRST = r"Hint: the order is \(y_true, y_score\), the outcomes first; after a fitted model(.*)\(scores, y\)"
SCORES_FIRST = r"Hint: the order is \(scores, y\), the scores first; without a model it is \(y_true, y_score\)"
GROUPS = {"sensitive_features": SEX}
OTHER = draw(200, seed=1)
FITTED = FairPOT(0.5).fit(OTHER[0], OTHER[1], sensitive_features=OTHER[2])


def options_of(metric):
    return arguments(metric, {**GROUPS, "positive": "F", "negative": "M", "group": "F", "top": 0.3})


def without_a_model():
    """Yield what takes (y_true, y_score)."""
    for name, metric in METRICS.items():
        yield name, lambda y, s, m=metric: m.function(y, s, **options_of(m))
    for table in (fairpot.score_table, audit, auc_limit):
        yield f"{table.__module__}.{table.__name__}", lambda y, s, f=table: f(y, s, **GROUPS)
    yield "audit with clusters", lambda y, s: audit(y, s, clusters=np.arange(200) // 2, **GROUPS)
    yield "confidence_interval", lambda y, s: confidence_interval("auc", y, s)
    yield "verdict", lambda y, s: verdict(y, s, bound=0.1, **GROUPS)
    yield "FairnessReport", lambda y, s: FairnessReport.from_predictions(y, s, **GROUPS)


def after_a_model():
    """Yield what takes (scores, y)."""
    yield "effect", lambda s, y: effect(FITTED, s, y, **GROUPS)
    for name, method in methods().items():
        yield f"{name}.fit", lambda s, y, m=method: m().fit(s, y, **GROUPS)
    yield "fit_transform", lambda s, y: FairPOT(0.5).fit_transform(s, y, **GROUPS)
    yield "tradeoff", lambda s, y: FITTED.tradeoff(s, y, **GROUPS)
    yield "certify", lambda s, y: FITTED.certify(s, y, max_gap=0.9, **GROUPS)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("call", [pytest.param(call, id=name) for name, call in without_a_model()])
def test_without_a_model_outcomes_come_first(call, kind):
    y, score = KINDS[kind](Y), KINDS[kind](SCORE)
    call(y, score)
    with pytest.raises(ValueError, match=r"look swapped(.*)y_true has 200, and y_score has 2") as refused:
        call(score, y)
    assert refused.match(OUTCOMES_FIRST)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("call", [pytest.param(call, id=name) for name, call in after_a_model()])
def test_after_a_model_scores_come_first(call, kind):
    y, score = KINDS[kind](Y), KINDS[kind](SCORE)
    call(score, y)
    with pytest.raises(ValueError, match=r"look swapped(.*) but y has 200, and scores has 2") as refused:
        call(y, score)
    assert refused.match(SCORES_FIRST)


@pytest.mark.parametrize("kind", KINDS)
def test_compare_takes_outcomes_first(kind):
    y, score = KINDS[kind](Y), KINDS[kind](SCORE)
    rows = {**GROUPS, "methods": ["WassersteinRepair"]}
    assert compare(y, score, **rows).methods == ("WassersteinRepair",)
    with pytest.raises(ValueError, match=r"look swapped(.|\n)*Hint: the order is compare\(y_true, y_score, \.\.\.\)"):
        compare(score, y, **rows)


def test_old_names_are_refused():
    with pytest.raises(TypeError, match="'scores'"):
        compare(scores=SCORE, y=Y, **GROUPS)
    with pytest.raises(TypeError, match="'y_true'"):
        effect(FITTED, y_true=Y, y_score=SCORE, **GROUPS)


def test_tables_stay_where_they_were():
    table = fairpot.score_table(Y, SCORE, **GROUPS)
    assert effect(FITTED, table).after.to_dict() == effect(FITTED, SCORE, Y, **GROUPS).after.to_dict()
    with pytest.raises(TypeError, match="y cannot be given besides"):
        effect(FITTED, table, Y)
    with pytest.raises(TypeError, match="y is missing"):
        effect(FITTED, SCORE, **GROUPS)


@pytest.mark.parametrize(
    ("outcomes", "options"),
    [
        (Y == 1, {}),
        (np.where(Y == 1, "yes", "no"), {"pos_label": "yes"}),
        (Y, {"pos_label": 1}),
        (np.zeros(200), {}),
        ([None, *Y[1:]], {}),
        (pd.Series(Y).astype("Int8"), {}),
    ],
)
def test_outcomes_of_any_kind_in_the_place_of_scores(outcomes, options):
    for scores in (SCORE, [decimal.Decimal(repr(v)) for v in SCORE.tolist()], np.where(SCORE > 0.9, np.nan, SCORE)):
        with pytest.raises(ValueError, match="look swapped"):
            auc(scores, outcomes, **options)


@pytest.mark.parametrize(
    ("y", "score", "error", "said"),
    [
        (SCORE, SCORE, ValueError, "y_true must be 0/1 or booleans, got 200 values"),
        (np.where(Y == 1, 0.2, 0.7), Y, ValueError, "y_true must be 0/1 or booleans, got 0.2"),
        (np.array(["low", "mid", "high"] * 66 + ["low"] * 2), Y, ValueError, "y_true must be 0/1 or booleans"),
        (Y, Y == 1, TypeError, "y_score must be numbers, got booleans"),
        (SCORE[:50], Y, ValueError, "y_true has 50 rows, but there are 200 scores"),
        (SCORE, np.full(200, np.nan), ValueError, "y_score has 200 missing"),
        (SCORE, np.column_stack([Y, Y]), ValueError, "y_score must be one column"),
        ([[value] for value in range(199)] + [[1, 2]], Y, ValueError, "y_true has rows of different lengths"),
        (SCORE, None, TypeError, "y_score is missing"),
    ],
)
def test_what_is_not_called_swapped(y, score, error, said):
    with pytest.raises(error, match=said) as refused:
        auc(y, score)
    assert "swapped" not in str(refused.value)


def test_hard_predictions_are_scores():
    predicted = np.roll(Y, 1)
    assert auc(Y, predicted) == auc(Y, predicted.astype(float))
    assert 0 <= audit(Y, predicted, **GROUPS).auc <= 1
    assert effect(FITTED, predicted, Y, **GROUPS).before.auc == auc(Y, predicted)


@pytest.mark.parametrize("outcomes", [Y, Y == 1])
def test_names_of_columns_the_other_way_round(outcomes):
    frame = pd.DataFrame({"risk": SCORE, "case": outcomes, "sex": SEX})
    with pytest.raises(ValueError, match=r"column 'risk' has 200(.|\n)*Hint: name(.*)score='risk' and label='case'"):
        fairpot.score_table(frame, score="case", label="risk", group="sex")


def public():
    """Yield every public function, and every public method of a public class."""
    for part in fairpot._PARTS:
        module = importlib.import_module(f"fairpot.{part}")
        for name in getattr(module, "__all__", ()):
            found = getattr(module, name)
            if inspect.isclass(found):
                for method, each in inspect.getmembers(found, callable):
                    if not method.startswith("_"):
                        yield f"{part}.{name}.{method}", each
            elif callable(found):
                yield f"{part}.{name}", found
    for name in fairpot.__all__:
        if inspect.isfunction(getattr(fairpot, name)):
            yield name, getattr(fairpot, name)


def test_every_signature_keeps_the_order():
    kept = {"outcomes": 0, "scores": 0}
    for name, each in public():
        try:
            parameters = list(inspect.signature(each).parameters)
        except (TypeError, ValueError):
            continue
        assert not {"y_true", "scores"} <= {*parameters}, name
        assert not {"y", "y_score"} <= {*parameters}, name
        if "y_true" in parameters and "y_score" in parameters:
            kept["outcomes"] += 1
            assert parameters.index("y_score") == parameters.index("y_true") + 1, name
        if "scores" in parameters and "y" in parameters:
            kept["scores"] += 1
            assert parameters.index("y") == parameters.index("scores") + 1, name
    assert min(kept.values()) > 10
