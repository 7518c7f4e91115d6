"""A map as an ONNX graph of standard operators: group and score in, adjusted score out, in float64."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fairpot._defaults import Unmapped
from fairpot._docs import documented
from fairpot._lineage import lineage_line
from fairpot._optional import import_optional
from fairpot._version import __version__
from fairpot.export.functions import Exportable, Formulas, Outside, check_unmapped, formulas_of, known_sha256, note_of
from fairpot.transport.pieces import LARGEST, Odds, Pieces, Sigmoid

_OPSET, _OPSET_ML, _IR = 18, 3, 8
_PREFIX = "fairpot_"


@documented
def to_onnx(
    maps: Exportable,
    *,
    model: Any = None,
    model_output: str | None = None,
    score: str = "score",
    group: str = "group",
    output: str = "score_adjusted",
    unknown_group: Unmapped = "error",
    missing_group: Unmapped | None = None,
    limits: tuple[float, float] | None = None,
    outside: Outside = "refuse",
    map_sha256: str | None = None,
) -> Any:
    """Write maps as an ONNX model, by themselves or after a model that makes the scores.

    Parameters
    ----------
    maps : dict of group to ScoreMap
        The ``maps_`` of a fitted method or of a loaded map file. Groups are all text, or all whole numbers or
        booleans.
    model : onnx.ModelProto or None, default None
        A model, such as skl2onnx makes of a pipeline, whose output is the score. The result takes its inputs and
        the group, and gives its outputs and the adjusted score.
    model_output : str or None, default None
        Which output of ``model`` is the score: of shape (n,) or (n, 1), or (n, 2) with the positive class last. None
        takes its last.
    score, group, output : str
        Names of inputs and output; ``score`` is float64 of shape (n,) and an input only without ``model``.
    unknown_group : {"error", "keep", "null"}, default "error"
        For a row whose group has no map: stop with an error, keep the original score, or return NaN. A score that is
        not finite stops the run with "error" and gives NaN otherwise.
    missing_group : {"error", "keep", "null"} or None, default None
        The same for a row whose group is the empty text, where groups are texts; None is "error". Whole numbers and
        booleans of ONNX cannot be missing: for them there is nothing to choose.
    {beyond, made_from}

    Returns
    -------
    onnx.ModelProto
        Checked; write it with ``onnx.save`` or its ``SerializeToString``.

    Examples
    --------
    >>> from fairpot.export import to_onnx
    >>> from fairpot.transport import ScoreMap
    >>> made = to_onnx({"F": ScoreMap([0.2, 0.6], [0.2, 0.9]), "M": ScoreMap.identity()})
    >>> [each.name for each in made.graph.input], [each.name for each in made.graph.output]
    (['score', 'group'], ['score_adjusted'])
    """
    check_unmapped(unknown_group, "error" if missing_group is None else missing_group)
    onnx = import_optional("onnx", "onnx")
    graph = _Graph(onnx.helper)
    formulas = formulas_of(maps, limits, outside)
    kind, elements = _kind_of(onnx, formulas)
    _check_missing(kind, formulas, missing_group)
    inputs = [onnx.helper.make_tensor_value_info(group, elements, ["n"])]
    if model is None:
        inputs.insert(0, onnx.helper.make_tensor_value_info(score, onnx.TensorProto.DOUBLE, ["n"]))
        s = score
    else:
        s = _score_of(onnx, graph, model, model_output, taken={group, output})
    place = _group_place(graph, group, kind, formulas)
    finite = graph.node("LessOrEqual", graph.node("Abs", s), graph.numbers(LARGEST))
    usable = graph.node("And", finite, graph.node("GreaterOrEqual", place, graph.whole(0)))
    value = _within(graph, formulas, graph.node("Where", usable, s, graph.numbers(0.0)), place, usable)
    # By its place from the end a row finds what becomes of it: -1 is a group without a map, -2 a missing one.
    ways = (missing_group or "error", unknown_group)
    kept = graph.node("And", finite, _chosen(graph, ways, "keep", place))
    value = graph.node("Where", usable, value, graph.node("Where", kept, s, graph.numbers(np.nan)))
    stopped = graph.node("And", finite, _chosen(graph, ways, "error", place))
    if unknown_group == "error":
        stopped = graph.node("Or", stopped, graph.node("Not", finite))
    # There is no operator that stops a run; reading beyond the end of a list does.
    beyond = graph.node("Where", stopped, graph.whole(2**40), graph.whole(0))
    graph.node("Add", value, graph.node("Gather", graph.numbers([0.0]), beyond), name=output)
    outputs = [onnx.helper.make_tensor_value_info(output, onnx.TensorProto.DOUBLE, ["n"])]
    made = _assembled(onnx, graph, inputs, outputs, model, note_of(maps))
    onnx.helper.set_model_props(made, {**_metadata(model), "made_by": lineage_line(map_sha256 or known_sha256(maps))})
    return made


def _chosen(graph: _Graph, ways: tuple[str, str], way: str, place: str) -> str:
    """Say of each row whether it has no map and ``way`` is what is to become of it."""
    flags = graph.whole([each == way for each in ways] + [False])
    at = graph.node("Add", graph.node("Min", place, graph.whole(0)), graph.whole(2))
    return graph.node("Cast", graph.node("Gather", flags, at), to=9)


def _check_missing(kind: str, formulas: Formulas, missing_group: str | None) -> None:
    """Refuse a choice about missing groups where the graph could not tell one."""
    if missing_group is None:
        return
    if kind != "str":
        raise ValueError(
            "missing_group has nothing to decide: whole numbers and booleans of ONNX cannot be missing.\n"
            "Hint: unknown_group decides about the number that stands for a missing group."
        )
    if "" in formulas:
        raise ValueError(
            "missing_group has nothing to decide: the empty text, ONNX's only missing text, is a group of its own.\n"
            "Hint: leave it out, or rename the group before fit."
        )


class _Graph:
    """Nodes and constants as they are added; each gets a name of its own."""

    def __init__(self, helper: Any) -> None:
        self.helper = helper
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def node(self, operator: str, *inputs: str, name: str | None = None, **attributes: Any) -> str:
        """Add a node with one output and return that output's name."""
        made = f"{_PREFIX}{len(self.nodes)}_{operator}" if name is None else name
        self.nodes.append(
            self.helper.make_node(operator, list(inputs), [made], name=f"{_PREFIX}{len(self.nodes)}", **attributes)
        )
        return made

    def numbers(self, values: Any) -> str:
        """Add a constant of doubles."""
        return self._constant(np.asarray(values, dtype=np.float64))

    def whole(self, values: Any) -> str:
        """Add a constant of whole numbers."""
        return self._constant(np.asarray(values, dtype=np.int64))

    def _constant(self, values: np.ndarray[Any, Any]) -> str:
        name = f"{_PREFIX}c{len(self.constants)}"
        numpy_helper = import_optional("onnx.numpy_helper", "onnx")
        self.constants.append(numpy_helper.from_array(values, name))
        return name


def _kind_of(onnx: Any, formulas: Formulas) -> tuple[str, int]:
    """Say what the groups are: text, whole numbers or booleans; ONNX knows no mixture."""
    kinds = {type(group) for group in formulas}
    tensors = {str: onnx.TensorProto.STRING, int: onnx.TensorProto.INT64, bool: onnx.TensorProto.BOOL}
    if len(kinds) > 1 or not kinds <= set(tensors):
        named = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise TypeError(
            f"in ONNX all groups are text, or all whole numbers, or all booleans; these are {named}.\n"
            "Hint: turn the column into text before fit."
        )
    if any(isinstance(group, int) and not -(2**63) <= group < 2**63 for group in formulas):
        raise ValueError("a group is a number of more than 64 bits.\nHint: turn the column into text before fit.")
    kind = kinds.pop()
    return kind.__name__, tensors[kind]


def _group_place(graph: _Graph, group: str, kind: str, formulas: Formulas) -> str:
    """Number the groups; one that has no map is -1, an empty text -2."""
    places = list(range(len(formulas)))
    code: dict[str, Any] = {"domain": "ai.onnx.ml", "values_int64s": places, "default_int64": -1}
    if kind == "str":
        names = list(formulas)
        if "" not in formulas:  # an empty text is a missing group
            names, code["values_int64s"] = [*names, ""], [*places, -2]
        return graph.node("LabelEncoder", group, keys_strings=names, **code)
    if kind == "bool":
        graph_input = graph.node("Cast", group, to=7)
        return graph.node("LabelEncoder", graph_input, keys_int64s=[int(g) for g in formulas], **code)
    return graph.node("LabelEncoder", group, keys_int64s=list(formulas), **code)


def _within(graph: _Graph, formulas: Formulas, s: str, place: str, usable: str) -> str:
    """Compute each row's map; a score beyond the limits counts as one of them, or gives NaN."""
    if formulas.limits is None:
        return _mapped(graph, formulas, s, place, usable)
    low, high = map(graph.numbers, formulas.limits)
    held = graph.node("Min", graph.node("Max", s, low), high)
    value = _mapped(graph, formulas, held, place, usable)
    if formulas.clamped:
        return value
    return graph.node("Where", graph.node("Equal", held, s), value, graph.numbers(np.nan))


def _mapped(graph: _Graph, formulas: Formulas, s: str, place: str, usable: str) -> str:
    """Compute each row's map, and the one that follows them all."""
    found = [each if isinstance(each, Pieces) else _NO_PIECES for each in formulas.values()]
    code = graph.node("Max", place, graph.whole(0))
    value = _looked_up(graph, found, s, code)
    value = _with_odds(graph, formulas, s, code, _with_sigmoids(graph, formulas, s, code, value))
    if formulas.then is None:
        return value
    return _looked_up(graph, [formulas.then], value, graph.node("Mul", code, graph.whole(0)))


def _looked_up(graph: _Graph, found: Sequence[Pieces], s: str, code: str) -> str:
    """Bisect for each row's piece among those of its map, then compute the piece's formula."""
    fields = [np.concatenate(column) for column in zip(*found)]
    sizes = np.array([each.size for each in found])
    lo, *rest = map(graph.numbers, fields)
    last = np.cumsum(sizes) - 1
    at = graph.node("Gather", graph.whole(last - sizes + 1), code)
    end = graph.node("Gather", graph.whole(last), code)
    for k in reversed(range(int(sizes.max() - 1).bit_length())):
        there = graph.node("Min", graph.node("Add", at, graph.whole(1 << k)), end)
        at = graph.node("Where", graph.node("LessOrEqual", graph.node("Gather", lo, there), s), there, at)
    x0, w, v0, d, vmin, vmax = (graph.node("Gather", field, at) for field in rest)
    rise = graph.node("Mul", graph.node("Div", graph.node("Sub", s, x0), w), d)
    return graph.node("Min", graph.node("Max", graph.node("Add", v0, rise), vmin), vmax)


_NO_PIECES = Pieces(*np.array([[-LARGEST], [0.0], [1.0], [0.0], [0.0], [0.0], [0.0]]))


def _with_sigmoids(graph: _Graph, formulas: Formulas, s: str, code: str, value: str) -> str:
    """Put the sigmoid in where a group has one."""
    flags = [isinstance(each, Sigmoid) for each in formulas.values()]
    if not any(flags):
        return value
    both = [each if isinstance(each, Sigmoid) else Sigmoid(0.0, 0.0) for each in formulas.values()]
    alpha, beta = (graph.node("Gather", graph.numbers(column), code) for column in zip(*both))
    z = graph.node("Add", graph.node("Mul", alpha, s), beta)
    power = graph.node("Exp", graph.node("Neg", z))
    sigma = graph.node("Div", graph.numbers(1.0), graph.node("Add", graph.numbers(1.0), power))
    chosen = graph.node("Gather", graph.whole(flags), code)
    return graph.node("Where", graph.node("Cast", chosen, to=9), sigma, value)


def _with_odds(graph: _Graph, formulas: Formulas, s: str, code: str, value: str) -> str:
    """Put the factor on the odds in where a group has one."""
    flags = [isinstance(each, Odds) for each in formulas.values()]
    if not any(flags):
        return value
    found = [each if isinstance(each, Odds) else Odds(1.0) for each in formulas.values()]
    sign, factor = (
        graph.node("Gather", graph.numbers(column), code)
        for column in ([each.sign for each in found], [each.factor for each in found])
    )
    one, zero, p = graph.numbers(1.0), graph.numbers(0.0), graph.node("Mul", sign, s)
    against = graph.node("Div", graph.node("Div", graph.node("Sub", one, p), s), factor)
    made = graph.node("Div", sign, graph.node("Add", one, against))
    inside = graph.node("And", graph.node("Less", zero, p), graph.node("Less", p, one))
    chosen = graph.node("Cast", graph.node("Gather", graph.whole(flags), code), to=9)
    return graph.node("Where", chosen, graph.node("Where", inside, made, s), value)


def _score_of(onnx: Any, graph: _Graph, model: Any, wanted: str | None, taken: set[str]) -> str:
    """Turn an output of a model into scores of shape (n,) in float64."""
    outputs = {each.name: each for each in model.graph.output}
    name = model.graph.output[-1].name if wanted is None else wanted
    if name not in outputs:
        raise ValueError(f"the model has no output {name!r}: it has {list(outputs)}.\nHint: name one as model_output.")
    names = {each.name for each in [*model.graph.input, *model.graph.initializer]}
    names |= {output for node in model.graph.node for output in node.output}
    clash = sorted(n for n in names if n in taken or n.startswith(_PREFIX))
    if clash:
        raise ValueError(
            f"the model already uses the name {clash[0]!r}.\nHint: choose another name for group or output."
        )
    kind = outputs[name].type
    if not kind.HasField("tensor_type") or kind.tensor_type.elem_type not in (
        onnx.TensorProto.FLOAT,
        onnx.TensorProto.DOUBLE,
    ):
        raise ValueError(
            f"the output {name!r} of the model is no tensor of floats.\n"
            "Hint: convert a classifier with options={'zipmap': False} and name 'probabilities'."
        )
    double = graph.node("Cast", name, to=onnx.TensorProto.DOUBLE)
    # (n,), (n, 1) and (n, 2) alike: one row a case, and of it the last number.
    rows = graph.node("Shape", double, start=0, end=1)
    table = graph.node("Reshape", double, graph.node("Concat", rows, graph.whole([-1]), axis=0))
    return graph.node("Gather", table, graph.whole(-1), axis=1)


def _assembled(onnx: Any, graph: _Graph, inputs: Sequence[Any], outputs: Sequence[Any], model: Any, note: str) -> Any:
    """Make the model, behind the one it follows if there is one, and have it checked."""
    helper = onnx.helper
    nodes, constants, imports = list(graph.nodes), list(graph.constants), {"": _OPSET, "ai.onnx.ml": _OPSET_ML}
    doc = f"Maps of scores by group{note}."
    if model is None:
        made = helper.make_graph(nodes, "fairpot", inputs, outputs, constants)
    else:
        model = onnx.version_converter.convert_version(model, _OPSET) if _default_opset(model) < _OPSET else model
        before = model.graph
        made = helper.make_graph(
            [*before.node, *nodes],
            "fairpot",
            [*before.input, *inputs],
            [*before.output, *outputs],
            [*before.initializer, *constants],
        )
        imports |= {
            each.domain: each.version
            for each in model.opset_import
            if each.domain != "ai.onnx.ml" or each.version > _OPSET_ML
        }
    opsets = [helper.make_opsetid(domain, version) for domain, version in imports.items()]
    functions = [] if model is None else list(model.functions)
    result = helper.make_model(
        made, opset_imports=opsets, producer_name="fairpot", producer_version=__version__, doc_string=doc,
        ir_version=_IR if model is None else max(_IR, model.ir_version), functions=functions,
    )  # fmt: skip
    onnx.checker.check_model(result, full_check=model is None)
    return result


def _metadata(model: Any) -> dict[str, str]:
    """Give what a model that the maps follow says of itself."""
    return {} if model is None else {each.key: each.value for each in model.metadata_props}


def _default_opset(model: Any) -> int:
    return int(next((each.version for each in model.opset_import if each.domain == ""), _OPSET))
