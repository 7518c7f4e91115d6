"""Maps applied where the rows are: a native expression for small maps, Arrow batches in Python for large ones."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairpot._optional import import_optional
from fairpot._validation.wording import LARGEST
from fairpot.engines.adjusting import Mapper
from fairpot.engines.spark.counting import Parts, spark_text
from fairpot.engines.spark.session import without_advice
from fairpot.exceptions import InputFileError
from fairpot.transport import ScoreMap, parted
from fairpot.transport.pieces import Formula, Odds, Pieces, Sigmoid, formula_of, pieces


def array_lookup(score: str, pieces: Pieces) -> str:
    """Write the value of a map at ``score``, itself an expression of finite doubles.

    A CASE tree of a thousand branches breaks Spark's code generation; arrays do not, and are parsed once.
    """
    lo, x0, w, v0, d, vmin, vmax = map(_array, pieces)
    steps = ", ".join(str(1 << k) for k in reversed(range(max(pieces.size - 1, 1).bit_length())))
    # get() gives NULL beyond the end of an array, and IF takes NULL for no.
    place = f"aggregate(array({steps}), 0, (p, k) -> IF(get({lo}, p + k) <= s, p + k, p))"
    line = f"get({v0}, p) + ((s - get({x0}, p)) / get({w}, p)) * get({d}, p)"
    held = f"LEAST(GREATEST({line}, get({vmin}, p)), get({vmax}, p))"
    # A transform of one element is Spark's way to give a value a name.
    inner = f"element_at(transform(array({place}), p -> {held}), 1)"
    return f"element_at(transform(array({score}), s -> {inner}), 1)"


def _array(values: NDArray[np.float64]) -> str:
    return f"cast(split('{','.join(map(repr, values.tolist()))}', ',') AS array<double>)"


# Up to this many pieces in all the native expression is the quicker way.
MOST_NATIVE = 1000
REFUSED = "fairpot: a score is missing, infinite or too large, or a group is new"


class Adjusted(NamedTuple):
    """A frame with adjusted scores, and how many of its rows had a group without a map or none."""

    frame: Any
    unknown: int
    missing: int


def adjusted(
    parts: Parts,
    maps: Mapping[Hashable, ScoreMap],
    column: str,
    *,
    unknown_group: str = "error",
    missing_group: str = "error",
    judge: Any = None,
) -> Adjusted:
    """Return the frame with the adjusted score as a column more, in place of one of that name if there is one.

    The groups are looked at first, so that one without a map is told at once; the rest is computed when the frame
    is used, and a score that cannot be mapped stops the job that meets it.
    """
    rows = parts.rows
    if not rows.group_columns:
        raise InputFileError("no group column is named.\nHint: maps belong to groups; name the columns with groups=...")
    place, unknown, missing = _place_of_group(parts, maps, unknown_group, missing_group, judge)
    own, after = parted(maps)
    formulas = [formula_of(each) for each in own.values()]
    then = None if after is None else pieces(after)
    names = list(rows.frame.columns)
    kept = [f"c{i}" for i in range(len(names))]
    at = names.index(column) if column in names else len(names)
    frame = rows.by_place().selectExpr("*", f"{parts.raw('score')} AS score")
    frame = frame.selectExpr(*kept, f"{parts.number('score')} AS score", f"{place} AS place")
    usable = f"score > -{LARGEST!r}D AND score < {LARGEST!r}D"
    refused = f"CAST(raise_error({spark_text(REFUSED)}) AS DOUBLE)"
    value = {"error": refused, "keep": "score", "null": "CAST(NULL AS DOUBLE)"}
    through = f"WHEN -1 THEN {value[unknown_group]} WHEN -2 THEN {value[missing_group]} ELSE {refused}"
    if sum(each.size for each in (*formulas, then) if isinstance(each, Pieces)) <= MOST_NATIVE:
        arms = " ".join(f"WHEN {i} THEN {_native('score', each)}" for i, each in enumerate(formulas))
        if then is not None:
            arms = f"WHEN greatest(place, 0) THEN {array_lookup(f'CASE place {arms} END', then)}"
        fair = f"CASE WHEN {usable} THEN CASE place {arms} {through} END ELSE {refused} END"
    else:
        frame = _with_python(frame, formulas, then)
        fair = f"CASE WHEN {usable} AND place >= 0 THEN fair WHEN {usable} THEN CASE place {through} END "
        fair += f"ELSE {refused} END"
    kept[at : at + 1] = [f"{fair} AS new"]
    names[at : at + 1] = [column]
    return Adjusted(frame.selectExpr(*kept).toDF(*names), unknown, missing)


def _place_of_group(
    parts: Parts, maps: Mapping[Hashable, ScoreMap], unknown_group: str, missing_group: str, judge: Any
) -> tuple[str, int, int]:
    """Write the number of a row's map, by the values that the group columns have: -1 for none, -2 without a group.

    Also count the rows of both, and let ``judge`` look at the scale of the scores.
    """
    pa = import_optional("pyarrow", "spark")
    bare = [key for key in parts.keys if key != "label"]
    low, high = (-LARGEST, LARGEST) if judge is None else judge.far
    scored = (
        parts.plain()
        .selectExpr(*bare, f"{parts.number('score')} AS score")
        .selectExpr(*bare, f"IF(score > -{LARGEST!r}D AND score < {LARGEST!r}D, score, NULL) AS score")
    )
    outside = f"score < double('{low!r}') OR score > double('{high!r}')"
    asked = ("count(1) AS n", "min(score) AS low", "max(score) AS high", f"count_if({outside}) AS outside")
    functions = import_optional("pyspark.sql.functions", "spark")
    found = parts.fetch(scored.groupBy(*bare).agg(*map(functions.expr, asked))).combine_chunks()
    rows = found.column("n").to_numpy()
    named = {parts.rows.score: pa.array(np.zeros(found.num_rows))}
    named |= {name: found.column(key).combine_chunks() for name, key in zip(parts.rows.group_columns, bare)}
    table = pa.table(named)
    mapper = Mapper(
        parts.rows.score,
        parts.rows.group_columns,
        table.schema,
        maps,
        kind=parts.rows.kind,
        unknown_group=unknown_group,
        missing_group=missing_group,
    )
    arms, without = [], {-1: 0, -2: 0}
    if found.num_rows:
        codes = mapper.places_of([table.column(name) for name in parts.rows.group_columns], rows)
        values = zip(*(table.column(name).to_pylist() for name in parts.rows.group_columns))
        columns = [parts.rows.place(key) for key in bare]
        for code, key in zip(codes.tolist(), values):
            same = " AND ".join(f"{c} <=> {_literal(v)}" for c, v in zip(columns, key))
            arms.append(f"WHEN {same} THEN {code}")
        without = {place: int(rows[codes == place].sum()) for place in without}
    mapper.complain(int(rows.sum()))
    ends = found.select(["low", "high"]).drop_null()
    if judge is not None and ends.num_rows:
        lowest, highest = min(ends.column("low").to_pylist()), max(ends.column("high").to_pylist())
        judge(lowest, highest, sum(found.column("outside").to_pylist()), int(rows.sum()))
    return f"CASE {' '.join(arms)} END", without[-1], without[-2]


def _literal(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"double('{value!r}')"
    return spark_text(value) if isinstance(value, str) else str(value)


def _native(score: str, formula: Formula) -> str:
    if isinstance(formula, Sigmoid):
        return f"1D / (1D + exp(-({formula.alpha!r}D * {score} + {formula.beta!r}D)))"
    if isinstance(formula, Odds):
        sign, p = formula.sign, f"({formula.sign!r}D * {score})"
        value = f"{sign!r}D / (1D + ((1D - {p}) / {score}) / {formula.factor!r}D)"
        return f"IF({p} > 0D AND {p} < 1D, {value}, {score})"
    return array_lookup(score, formula)


def _with_python(frame: Any, formulas: Sequence[Formula], then: Pieces | None) -> Any:
    """Add the adjusted score as Python makes it from Arrow batches of scores and places."""
    functions = import_optional("pyspark.sql.functions", "spark")
    if not hasattr(functions, "arrow_udf"):
        raise InputFileError(
            "maps of this size need pyspark 4.1 or later.\nHint: install it, or simplify the maps first."
        )
    with without_advice():
        udf = functions.arrow_udf(batch_mapper(formulas, then), "double", functions.ArrowUDFType.SCALAR)
    return frame.withColumn("fair", udf(frame["score"], frame["place"]))


def batch_mapper(formulas: Sequence[Formula], then: Pieces | None = None) -> Callable[[Any, Any], Any]:
    """Make the function that maps a batch; it goes to workers that need NumPy and PyArrow, not fairpot."""
    numbers = [tuple(each) for each in formulas]
    follows = None if then is None else tuple(then)

    def looked_up(pieces: Any, x: Any) -> Any:
        import numpy as np

        lo, *rest = pieces
        piece = np.searchsorted(lo, x, side="right") - 1
        x0, w, v0, d, vmin, vmax = (field[piece] for field in rest)
        return np.minimum(np.maximum(v0 + ((x - x0) / w) * d, vmin), vmax)

    def mapped(score: Any, place: Any) -> Any:
        import numpy as np
        import pyarrow as pa

        s = score.to_numpy(zero_copy_only=False)  # missing ones become NaN, and are refused afterwards
        at = place.fill_null(-1).to_numpy(zero_copy_only=False)
        fair = np.full(len(s), np.nan)
        for code in np.unique(at[at >= 0]).tolist():
            rows = np.flatnonzero(at == code)
            x = s[rows]
            if len(numbers[code]) == 2:
                alpha, beta = numbers[code]
                with np.errstate(over="ignore"):
                    fair[rows] = 1 / (1 + np.exp(-(alpha * x + beta)))
                continue
            if len(numbers[code]) == 1:
                [factor] = numbers[code]
                sign = 1.0 if factor > 0 else -1.0
                with np.errstate(all="ignore"):
                    made = sign / (1 + ((1 - sign * x) / x) / factor)
                fair[rows] = np.where((sign * x > 0) & (sign * x < 1), made, x)
                continue
            fair[rows] = looked_up(numbers[code], x)
        return pa.array(fair if follows is None else looked_up(follows, fair))

    return mapped
