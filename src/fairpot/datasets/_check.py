"""Look over your own table before an audit: what is in it, and what will go wrong."""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from fairpot._optional import make_frame

SMALL_CELL = 30
MANY_TIES = 0.10
MANY_GROUPS = 20

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class CheckReport:
    """What `check` found.

    Attributes
    ----------
    problems : list of str
        What will raise an error or leave a metric undefined.
    warnings : list of str
        What works but deserves a look.
    sizes : dict of lists
        Rows per group and label: columns group, label, n, share (and weight, if given).
    n_rows, n_complete : int
        Rows, and rows without anything missing or unusable.
    distinct_scores : int
        Number of distinct scores among the complete rows.
    tied_share : float
        Share of the complete rows whose score occurs more than once.
    missing : dict
        Missing values per column.
    """

    problems: list[str]
    warnings: list[str]
    sizes: dict[str, list[Any]]
    n_rows: int
    n_complete: int
    distinct_scores: int
    tied_share: float
    missing: dict[str, int]

    @property
    def ok(self) -> bool:
        """True if nothing was found that will go wrong."""
        return not self.problems

    def frame(self) -> Any:
        """Return the sizes per group and label as a frame."""
        return make_frame(self.sizes)

    def __str__(self) -> str:
        head = (
            f"{self.n_rows:,} rows, {self.n_complete:,} complete; {self.distinct_scores:,} distinct scores, "
            f"{self.tied_share:.1%} of rows share theirs"
        )
        lines = [head, *_text_table(self.sizes)]
        for title, entries in {"problems": self.problems, "warnings": self.warnings}.items():
            lines.append(f"{title}:" if entries else f"{title}: none")
            lines += [f"  - {entry}" for entry in entries]
        return "\n".join(lines)


def check(frame: Any, *, score: str, label: str, group: str | Sequence[str], weight: str | None = None) -> CheckReport:
    """Report sizes, ties, missing values, and what will go wrong with a table of scores.

    It reports and does not raise, except when there is nothing to look at: a column that does not exist, or
    an object that is not a frame.

    Parameters
    ----------
    frame : frame or mapping
        Anything Narwhals reads (pandas, Polars, PyArrow, DuckDB, ...), lazy or not, or a dict of columns.
    score, label : str
        Columns with the score (higher means more risk) and the label (0/1).
    group : str or list of str
        Column with the group; several form intersections.
    weight : str, default=None
        Column with sample weights.

    Returns
    -------
    CheckReport
        With ``ok``, ``problems``, ``warnings``, ``frame()``; ``print`` it to read it.

    Examples
    --------
    >>> from fairpot.datasets import check
    >>> rows = {"risk": [0.9, 0.2, 0.7, 0.4], "case": [1, 0, 1, 0], "sex": ["F", "F", "M", None]}
    >>> report = check(rows, score="risk", label="case", group="sex")
    >>> report.ok
    False
    >>> print(report.problems[0])
    1 of 4 rows has no group in 'sex'. Hint: drop those rows, or give them a group of their own.
    """
    groups = [group] if isinstance(group, str) else list(group)
    columns = _read(frame, [score, label, *groups, *([weight] if weight else [])])
    problems: list[str] = []
    warnings: list[str] = []
    missing = {name: int(_is_missing(column).sum()) for name, column in columns.items()}
    scores, score_ok = _check_scores(columns[score], score, problems)
    labels, label_ok = _check_labels(columns[label], label, problems)
    names, group_ok = _check_groups([columns[name] for name in groups], groups, problems)
    weights, weight_ok = _check_weights(columns[weight] if weight else None, weight, len(scores), problems)
    usable = score_ok & label_ok & group_ok & weight_ok
    sizes = _sizes(names, labels, weights if weight else None, usable)
    _check_cells(sizes, usable, problems, warnings)
    distinct, tied = _check_ties(scores[usable], problems, warnings)
    _check_direction(scores[usable], labels[usable], warnings)
    return CheckReport(
        problems=problems,
        warnings=warnings,
        sizes=sizes,
        n_rows=len(scores),
        n_complete=int(usable.sum()),
        distinct_scores=distinct,
        tied_share=tied,
        missing=missing,
    )


def _read(frame: Any, wanted: list[str]) -> dict[str, NDArray[Any]]:
    """Return the wanted columns as arrays, or say which one is not there."""
    if isinstance(frame, Mapping):
        _require(list(frame), wanted)
        columns = {name: _from_values(frame[name]) for name in wanted}
        if len({len(column) for column in columns.values()}) > 1:
            raise ValueError(
                "the columns must have the same length; got "
                + ", ".join(f"{name}: {len(column)}" for name, column in columns.items())
                + ".\nHint: build them from the same rows."
            )
        return columns
    try:
        table: Any = nw.from_native(frame)
    except TypeError as error:
        raise TypeError(
            "frame must be a table (pandas, Polars, PyArrow, ... or a dict of columns); "
            f"got {type(frame).__name__}.\n"
            "Hint: for arrays, pass {'score': scores, 'label': labels, 'group': groups}."
        ) from error
    _require(table.collect_schema().names(), wanted)
    table = table.select(*dict.fromkeys(wanted))
    table = table.collect() if isinstance(table, nw.LazyFrame) else table
    return {name: _from_series(table[name]) for name in wanted}


def _from_values(values: Any) -> NDArray[Any]:
    """Keep an array of numbers as it is; anything else becomes an array of objects, unconverted."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "iufb":
        return values
    return _objects(values.tolist() if isinstance(values, np.ndarray) else list(values))


def _from_series(series: Any) -> NDArray[Any]:
    """Keep a column of numbers without gaps as numbers; anything else becomes an array of objects."""
    plain = series.dtype.is_float() or series.dtype.is_integer() or series.dtype == nw.Boolean
    if plain and not series.null_count():
        return np.asarray(series.to_numpy())
    return _objects(series.to_list())


def _objects(values: list[Any]) -> NDArray[Any]:
    """Return a list as a one-dimensional array of its very objects."""
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def _require(present: list[str], wanted: list[str]) -> None:
    """Raise for a column that is not there and suggest the nearest name."""
    for name in wanted:
        if name not in present:
            near = difflib.get_close_matches(name, present, n=1, cutoff=0.5)
            way_out = f"did you mean {near[0]!r}?" if near else f"the columns are {present[:20]}."
            raise ValueError(f"the frame has no column {name!r}.\nHint: {way_out}")


def _is_missing(column: NDArray[Any]) -> Bools:
    """Mark None, NaN and a frame library's own missing value (each differs from itself, or is None)."""
    if column.dtype != object:
        return np.isnan(column) if column.dtype.kind == "f" else np.zeros(len(column), dtype=bool)
    return np.array([value is None or _differs_from_itself(value) for value in column], dtype=bool)


def _differs_from_itself(value: Any) -> bool:
    """Tell NaN, NaT and pandas.NA from real values."""
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA: comparing gives NA, which has no truth value
        return True


def _numbers(column: NDArray[Any], missing: Bools) -> tuple[Floats, Bools]:
    """Return a column as floats, with a mask of the entries that are no numbers."""
    if column.dtype != object:
        return column.astype(np.float64), np.zeros(len(column), dtype=bool)
    values = np.full(len(column), np.nan)
    wrong = np.zeros(len(column), dtype=bool)
    for i in np.flatnonzero(~missing):
        try:
            values[i] = _as_float(column[i])
        except (TypeError, ValueError):
            wrong[i] = True
    return values, wrong


def _as_float(value: Any) -> float:
    """Turn a number into a float; text is not taken for a number."""
    if isinstance(value, str):
        raise TypeError(value)
    return float(value)


def _rows(count: int, total: int) -> str:
    """Return "1 of 4 rows has" or "2 of 4 rows have"."""
    return f"{count:,} of {total:,} rows {'has' if count == 1 else 'have'}"


def _check_scores(column: NDArray[Any], name: str, problems: list[str]) -> tuple[Floats, Bools]:
    """Scores must be finite numbers."""
    missing = _is_missing(column)
    scores, wrong = _numbers(column, missing)
    infinite = np.isinf(scores)
    n = len(column)
    if missing.any():
        problems.append(f"{_rows(missing.sum(), n)} no score in {name!r}. Hint: drop those rows, or score them.")
    if wrong.any():
        problems.append(
            f"{_rows(wrong.sum(), n)} a score in {name!r} that is not a number, such as "
            f"{column[wrong][0]!r}. Hint: convert the column to numbers."
        )
    if infinite.any():
        problems.append(
            f"{_rows(infinite.sum(), n)} an infinite score in {name!r}. Hint: use probabilities, or clip log-odds."
        )
    return scores, ~(missing | wrong | infinite)


def _check_labels(column: NDArray[Any], name: str, problems: list[str]) -> tuple[Floats, Bools]:
    """Labels must be 0 and 1, and both must occur."""
    missing = _is_missing(column)
    labels, _ = _numbers(column, missing)
    binary = np.isin(labels, [0.0, 1.0])
    other = ~missing & ~binary
    if missing.any():
        problems.append(
            f"{_rows(missing.sum(), len(column))} no label in {name!r}. Hint: drop rows whose outcome is unknown."
        )
    if other.any():
        values = sorted({repr(value) for value in column[other].tolist()})
        shown = ", ".join(values[:5]) + (", ..." if len(values) > 5 else "")
        problems.append(
            f"{_rows(other.sum(), len(column))} a label in {name!r} other than 0 and 1: {shown}. "
            "Hint: convert it, for example (column == 'yes')."
        )
    elif binary.any() and len(np.unique(labels[binary])) == 1:
        problems.append(
            f"every label in {name!r} is {labels[binary][0]:.0f}. Hint: ranking needs positives and negatives."
        )
    return labels, binary


def _check_groups(columns: list[NDArray[Any]], names: list[str], problems: list[str]) -> tuple[NDArray[Any], Bools]:
    """Groups must be there, at least two and not a number line."""
    missing: Bools = np.any([_is_missing(column) for column in columns], axis=0)
    texts = np.array([" & ".join(map(str, row)) for row in zip(*columns)], dtype=object)
    label = " & ".join(names)
    found = np.unique(texts[~missing].astype(str))
    if missing.any():
        problems.append(
            f"{_rows(missing.sum(), len(texts))} no group in {label!r}. "
            "Hint: drop those rows, or give them a group of their own."
        )
    if len(found) < 2:
        problems.append(f"{label!r} has {len(found)} group(s): {found.tolist()}. Hint: a gap needs two.")
    if len(found) > MANY_GROUPS:
        problems.append(f"{label!r} has {len(found):,} groups. Hint: form bands, such as age < 25 and age >= 25.")
    return texts, ~missing


def _check_weights(column: NDArray[Any] | None, name: str | None, n: int, problems: list[str]) -> tuple[Floats, Bools]:
    """Weights must be finite and not negative."""
    if column is None:
        return np.ones(n), np.ones(n, dtype=bool)
    weights, _ = _numbers(column, _is_missing(column))
    good = np.isfinite(weights) & (weights >= 0)
    if not good.all():
        problems.append(
            f"{_rows((~good).sum(), n)} a weight in {name!r} that is missing, negative or not finite. "
            "Hint: repair or drop those rows."
        )
    elif n and not weights.any():
        problems.append(f"every weight in {name!r} is 0. Hint: leave weight out for equal weights.")
    return weights, good


def _sizes(names: NDArray[Any], labels: Floats, weights: Floats | None, usable: Bools) -> dict[str, list[Any]]:
    """Count the usable rows of every group and label, empty cells included."""
    sizes: dict[str, list[Any]] = {"group": [], "label": [], "n": [], "share": []}
    if weights is not None:
        sizes["weight"] = []
    for name in sorted(set(names[usable].tolist())):
        for label in (0, 1):
            cell = usable & (names == name) & (labels == label)
            sizes["group"].append(name)
            sizes["label"].append(label)
            sizes["n"].append(int(cell.sum()))
            sizes["share"].append(float(cell.sum() / usable.sum()))
            if weights is not None:
                sizes["weight"].append(float(weights[cell].sum()))
    return sizes


def _check_cells(sizes: dict[str, list[Any]], usable: Bools, problems: list[str], warnings: list[str]) -> None:
    """Every group needs positives and negatives, and enough of both."""
    if not usable.any():
        problems.append("no row is complete. Hint: see the problems above.")
    for group, label, n in zip(sizes["group"], sizes["label"], sizes["n"]):
        kind = "positives" if label else "negatives"
        if n == 0:
            problems.append(f"group {group!r} has no {kind}. Hint: merge it with another group, or leave it out.")
        elif n < SMALL_CELL:
            warnings.append(
                f"group {group!r} has only {n} {kind}: its xAUC is a mean over few rows, its interval wide."
            )


def _check_ties(scores: Floats, problems: list[str], warnings: list[str]) -> tuple[int, float]:
    """Return the number of distinct scores and the share of rows that share theirs."""
    if len(scores) == 0:
        return 0, 0.0
    _, counts = np.unique(scores, return_counts=True)
    tied = float(counts[counts > 1].sum() / len(scores))
    if len(counts) == 1:
        problems.append(f"every score is {scores[0]:g}. Hint: there is nothing to rank.")
    elif tied > MANY_TIES:
        warnings.append(
            f"{tied:.1%} of rows share their score with another ({len(counts):,} distinct scores): "
            "ties='strict' and ties='half' will differ. Hint: use unrounded scores if there are any."
        )
    return len(counts), tied


def _check_direction(scores: Floats, labels: Floats, warnings: list[str]) -> None:
    """Warn if higher scores go with fewer positives, or separate the classes perfectly."""
    positives, negatives = int((labels == 1).sum()), int((labels == 0).sum())
    if not positives or not negatives or scores.min() == scores.max():
        return
    ranks = rankdata(scores)[labels == 1].sum()
    auc = (ranks - positives * (positives + 1) / 2) / (positives * negatives)
    if auc < 0.5:
        warnings.append(
            f"positives have lower scores than negatives (AUC {auc:.3f}). "
            "Hint: if a low score means high risk, change its sign."
        )
    if auc == 1.0 and len(scores) > SMALL_CELL:
        warnings.append(
            "the score separates the labels perfectly. Hint: check that it was not computed from the label, "
            "and that these are not the rows the model was trained on."
        )


def _text_table(sizes: dict[str, list[Any]]) -> list[str]:
    """Return the sizes as aligned lines, one a group."""
    width = max([len(str(group)) for group in sizes["group"]] + [5])
    lines = [f"{'group':<{width}}  {'negatives':>10}  {'positives':>10}  {'rate':>6}"]
    for i in range(0, len(sizes["group"]), 2):
        negatives, positives = sizes["n"][i], sizes["n"][i + 1]
        rate = f"{positives / (positives + negatives):.1%}"
        lines.append(f"{sizes['group'][i]:<{width}}  {negatives:>10,}  {positives:>10,}  {rate:>6}")
    return lines
