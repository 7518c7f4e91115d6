"""ONNX graphs, run by onnxruntime and by the reference evaluator of ONNX itself."""

import math

import numpy as np
import pytest

from export_cases import NAMES, followed_maps, hostile_maps, hostile_scores, mapped, same_numbers, shift_maps
from fairpot.export import to_onnx
from fairpot.transport import ScoreMap, ShiftMap

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")
runtime.disable_telemetry_events()

MAPS = dict(zip(NAMES, hostile_maps().values()))


def run_runtime(model, **inputs):
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    session = runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(["score_adjusted"], inputs)[0]


def run_reference(model, **inputs):
    from onnx.reference import ReferenceEvaluator

    with np.errstate(all="ignore"):
        return ReferenceEvaluator(model).run(["score_adjusted"], inputs)[0]


WAYS = pytest.mark.parametrize("way", [run_runtime, run_reference])


def rows_for(maps, most):
    scores = {group: hostile_scores(each, most) for group, each in maps.items()}
    groups = np.repeat(np.array([*maps, None], dtype=object)[:-1], [len(each) for each in scores.values()])
    expected = np.concatenate([mapped(maps[group], scores[group]) for group in maps])
    return np.concatenate([*scores.values()]), groups, expected


@WAYS
def test_same_numbers(way):
    scores, groups, expected = rows_for(MAPS, 800)
    same_numbers(way(to_onnx(MAPS), score=scores, group=groups), expected)


@WAYS
@pytest.mark.parametrize(("names", "dtype"), [((-7, 2**40), np.int64), ((False, True), np.bool_)])
def test_groups_that_are_no_text(way, names, dtype):
    maps = dict(zip(names, (MAPS["F"], hostile_maps()["steps down"])))
    scores, groups, expected = rows_for(maps, 80)
    same_numbers(way(to_onnx(maps), score=scores, group=groups.astype(dtype)), expected)


@WAYS
@pytest.mark.parametrize("others", [{}, {"G": hostile_maps()["monotone"], "I": ScoreMap.identity()}], ids=len)
def test_shifts(way, others):
    maps = shift_maps() | others
    scores, groups, expected = rows_for(maps, 800)
    same_numbers(way(to_onnx(maps), score=scores, group=groups), expected)


@WAYS
def test_one_map_follows_all(way):
    maps = followed_maps()
    scores, groups, expected = rows_for(maps, 400)
    same_numbers(way(to_onnx(maps), score=scores, group=groups), expected)


BAD = [(math.nan, "F"), (math.inf, "F"), (-math.inf, "M"), (0.5, "f"), (0.5, "")]


@WAYS
def test_rows_without_a_map_are_nan(way):
    maps = {"F": hostile_maps()["monotone"], "M": ScoreMap.identity()}
    scores, groups = np.array([s for s, _ in BAD]), np.array([g for _, g in BAD], dtype=object)
    model = to_onnx(maps, unknown_group="null", missing_group="null")
    assert np.isnan(way(model, score=scores, group=groups)).all()


@WAYS
@pytest.mark.parametrize("unknown", ["error", "keep", "null"])
@pytest.mark.parametrize("missing", ["error", "keep", "null"])
def test_unknown_and_missing_groups_each_have_their_way(way, unknown, missing):
    maps = {"F": hostile_maps()["monotone"], "S": ShiftMap(factor=3.0)}
    model = to_onnx(maps, unknown_group=unknown, missing_group=missing)
    for group, chosen in (("X", unknown), ("", missing)):
        rows = {"score": np.array([0.625, 0.25]), "group": np.array([group, "F"], dtype=object)}
        if chosen == "error":
            with pytest.raises(Exception, match=r"(?i)indices|out of bounds|out of data bounds"):
                way(model, **rows)
        else:
            expected = 0.625 if chosen == "keep" else np.nan
            np.testing.assert_array_equal(way(model, **rows), [expected, mapped(maps["F"], np.array([0.25]))[0]])


def test_a_choice_about_missing_groups_that_onnx_cannot_make():
    for maps in ({1: ScoreMap.identity()}, {True: ScoreMap.identity()}):
        with pytest.raises(ValueError, match="cannot be missing"):
            to_onnx(maps, missing_group="keep")
    with pytest.raises(ValueError, match="is a group of its own"):
        to_onnx({"": ScoreMap.identity()}, missing_group="null")


@WAYS
@pytest.mark.parametrize("row", BAD)
def test_rows_without_a_map_can_stop_the_run(way, row):
    maps = {"F": hostile_maps()["monotone"], "M": ScoreMap.identity()}
    model = to_onnx(maps)
    good = {"score": np.array([0.25, 0.5]), "group": np.array(["F", "M"], dtype=object)}
    same_numbers(way(model, **good), [mapped(maps["F"], np.array([0.25]))[0], 0.5])
    with pytest.raises(Exception, match=r"(?i)indices|out of bounds|out of data bounds"):
        way(model, score=np.array([0.25, row[0]]), group=np.array(["F", row[1]], dtype=object))


def test_no_rows():
    empty = {"score": np.empty(0), "group": np.empty(0, dtype=object)}
    assert run_runtime(to_onnx(MAPS), **empty).shape == (0,)


def test_behind_a_model():
    """One file, made by ONNX's own tool: the maps on what the model gives."""
    helper, double = onnx.helper, onnx.TensorProto.DOUBLE
    given, taken = (helper.make_tensor_value_info(name, double, ["n"]) for name in ("x", "p"))
    graph = helper.make_graph([helper.make_node("Sigmoid", ["x"], ["p"])], "g", [given], [taken])
    base = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    whole = onnx.compose.merge_models(base, to_onnx(MAPS), io_map=[("p", "score")])
    x, groups = np.linspace(-3, 3, 50), np.array([NAMES[3]] * 50, dtype=object)
    [p] = runtime.InferenceSession(base.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": x})
    same_numbers(run_runtime(whole, x=x, group=groups), mapped(MAPS[NAMES[3]], p))


@pytest.mark.parametrize(
    ("maps", "options", "message"),
    [
        ({"F": ScoreMap.identity(), 1: ScoreMap.identity()}, {}, "these are int, str"),
        ({0.5: ScoreMap.identity()}, {}, "these are float"),
        ({2**70: ScoreMap.identity()}, {}, "more than 64 bits"),
        ({"F": ScoreMap.identity()}, {"unknown_group": "raw"}, "unknown_group must be one of 'error', 'keep', 'null'"),
    ],
)
def test_refusals(maps, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        to_onnx(maps, **options)
