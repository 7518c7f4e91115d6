"""A map as an ONNX graph of standard operators: group and score in, adjusted score out, in float64."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fairpot._defaults import Unmapped
from fairpot._docs import documented
from fairpot._optional import import_optional
from fairpot._validation.grouping import MISSING
from fairpot._version import __version__
from fairpot.export.closed import CLOSED
from fairpot.export.functions import Exportable, Formulas, Outside, formulas_of
from fairpot.transport.pieces import LARGEST, Pieces

_OPSETS, _IR = {"": 18, "ai.onnx.ml": 3}, 8
_PREFIX = "fairpot_"
_BOOL, _INT64 = 9, 7  # types to cast to


@documented
def to_onnx(
    maps: Exportable,
    *,
    score: str = "score",
    group: str = "group",
    output: str = "score_adjusted",
    unknown_group: Unmapped = "error",
    missing_group: Unmapped | None = None,
    outside: Outside = "refuse",
) -> Any:
    """Write maps as an ONNX model; ``onnx.compose.merge_models`` puts it after one that makes the scores.

    Parameters
    ----------
    maps : dict of group to ScoreMap
        The ``maps_`` of a fitted method or a loaded map file. Groups are all text, all whole numbers or all booleans.
    score, group, output : str
        Names of inputs and output; ``score`` is float64 of shape (n,).
    unknown_group : {"error", "keep", "null"}, default "error"
        For a row whose group has no map: stop with an error, keep the original score, or return NaN. A score that is
        not finite stops the run with "error" and gives NaN otherwise.
    missing_group : {"error", "keep", "null"} or None, default None
        The same for a row whose group is the empty text, where groups are texts; None is "error". Whole numbers and
        booleans of ONNX cannot be missing: for them there is nothing to choose.
    {beyond}

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
    onnx = import_optional("onnx", "onnx")
    ways = (missing_group or "error", unknown_group)
    graph, formulas = _Graph(onnx), formulas_of(maps, outside, ways[::-1])
    kind, elements = _kind_of(onnx, formulas)
    if missing_group is not None:
        _check_missing(kind, formulas)
    place = _group_place(graph, group, kind, formulas)
    finite = graph.node("LessOrEqual", graph.node("Abs", score), graph.numbers(LARGEST))
    usable = graph.node("And", finite, graph.node("GreaterOrEqual", place, graph.whole(0)))
    value = _within(graph, formulas, graph.node("Where", usable, score, graph.numbers(0.0)), place)
    # By its place from the end a row finds what becomes of it: -1 is a group without a map, -2 a missing one.
    kept = graph.node("And", finite, _chosen(graph, ways, "keep", place))
    value = graph.node("Where", usable, value, graph.node("Where", kept, score, graph.numbers(np.nan)))
    stopped = graph.node("And", finite, _chosen(graph, ways, "error", place))
    if unknown_group == "error":
        stopped = graph.node("Or", stopped, graph.node("Not", finite))
    # There is no operator that stops a run; reading beyond the end of a list does.
    beyond = graph.node("Where", stopped, graph.whole(2**40), graph.whole(0))
    graph.node("Add", value, graph.node("Gather", graph.numbers([0.0]), beyond), name=output)
    helper, double = onnx.helper, onnx.TensorProto.DOUBLE
    inputs = [helper.make_tensor_value_info(*each, ["n"]) for each in ((score, double), (group, elements))]
    outputs = [helper.make_tensor_value_info(output, double, ["n"])]
    made = helper.make_model(
        helper.make_graph(graph.nodes, "fairpot", inputs, outputs, graph.constants),
        opset_imports=[helper.make_opsetid(domain, version) for domain, version in _OPSETS.items()],
        producer_name="fairpot",
        producer_version=__version__,
        doc_string=f"Maps of scores by group{formulas.note}.",
        ir_version=_IR,
    )
    onnx.checker.check_model(made, full_check=True)
    helper.set_model_props(made, {"made_by": formulas.made_by})
    return made


def _chosen(graph: _Graph, ways: tuple[str, str], way: str, place: str) -> str:
    """Say of each row whether it has no map and ``way`` is what is to become of it."""
    flags = graph.whole([each == way for each in ways] + [False])
    at = graph.node("Add", graph.node("Min", place, graph.whole(0)), graph.whole(2))
    return graph.node("Cast", graph.node("Gather", flags, at), to=_BOOL)


def _check_missing(kind: str, formulas: Formulas) -> None:
    """Refuse a choice about missing groups where the graph could not tell one."""
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

    def __init__(self, onnx: Any) -> None:
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def node(self, operator: str, *inputs: str, name: str | None = None, **attributes: Any) -> str:
        """Add a node with one output and return that output's name."""
        number = f"{_PREFIX}{len(self.nodes)}"
        made = name or f"{number}_{operator}"
        self.nodes.append(self.onnx.helper.make_node(operator, inputs, [made], name=number, **attributes))
        return made

    def numbers(self, values: Any, dtype: type = np.float64) -> str:
        """Add a constant of doubles."""
        name = f"{_PREFIX}c{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.asarray(values, dtype=dtype), name))
        return name

    def whole(self, values: Any) -> str:
        """Add a constant of whole numbers."""
        return self.numbers(values, np.int64)


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
    places: dict[Any, int] = {name: place for place, name in enumerate(formulas)}
    if kind == "str":
        gone = places.get("", places.get(MISSING, -2))  # an empty text is a missing group
        names, places = "keys_strings", {**places, "": gone}
    else:
        names, places = "keys_int64s", {int(name): place for name, place in places.items()}
        group = graph.node("Cast", group, to=_INT64) if kind == "bool" else group
    code: dict[str, Any] = {names: [*places], "values_int64s": [*places.values()], "default_int64": -1}
    return graph.node("LabelEncoder", group, domain="ai.onnx.ml", **code)


def _within(graph: _Graph, formulas: Formulas, s: str, place: str) -> str:
    """Compute each row's map; a score beyond the limits counts as one of them, or gives NaN."""
    if formulas.limits is None:
        return _mapped(graph, formulas, s, place)
    low, high = map(graph.numbers, formulas.limits)
    held = graph.node("Min", graph.node("Max", s, low), high)
    value = _mapped(graph, formulas, held, place)
    return (
        value if formulas.clamped else graph.node("Where", graph.node("Equal", held, s), value, graph.numbers(np.nan))
    )


def _mapped(graph: _Graph, formulas: Formulas, s: str, place: str) -> str:
    code = graph.node("Max", place, graph.whole(0))
    value = _looked_up(graph, [each if isinstance(each, Pieces) else _NO_PIECES for each in formulas.values()], s, code)
    every = list(formulas.values())
    for kind in filter(formulas.has, CLOSED):
        made, flags = CLOSED[kind].onnx(graph, every, s, code), [isinstance(each, kind) for each in every]
        chosen = graph.node("Cast", graph.node("Gather", graph.whole(flags), code), to=_BOOL)
        value = graph.node("Where", chosen, made, value)
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
