"""Look over your own table before an audit: what is in it, and what will go wrong."""

from __future__ import annotations

import difflib
import numbers
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray
from scipy.stats import rankdata

from fairpot._html import html_table, notes, paragraph
from fairpot._optional import make_frame
from fairpot._validation import check_groups, check_rows, swapped_values, wording
from fairpot._validation.columns import as_column, missing
from fairpot.transport import Floats


def group_names(group: Any) -> list[str]:
    """Return the names of the group columns as a list."""
    names = list(group) if isinstance(group, Iterable) and not isinstance(group, str) else [group]
    if not names:
        raise ValueError("group must name at least one column, got an empty list.")
    for name in names:
        require_name(name, "group")
    return names


def require_name(value: Any, argument: str) -> None:
    """Insist on text where a column is named."""
    if not isinstance(value, str):
        raise TypeError(
            f"{argument} must be a column name, got {type(value).__name__}.\n"
            f"Hint: name a column of the frame, such as {argument}='{argument}'."
        )


def read_columns(frame: Any, wanted: list[str]) -> dict[str, NDArray[Any]]:
    """Return the wanted columns as arrays, or say which one is not there."""
    if isinstance(frame, Mapping):
        _require(list(frame), wanted)
        columns = {name: as_column(frame[name], name) for name in wanted}
        if len({len(column) for column in columns.values()}) > 1:
            raise ValueError(
                "the columns must have the same length; got "
                + ", ".join(f"{name}: {len(column)}" for name, column in columns.items())
                + ".\nHint: build them from the same rows."
            )
        return columns
    try:
        table: Any = nw.from_native(frame)
        _require(table.collect_schema().names(), wanted)
    except DuplicateError as error:
        raise ValueError(_repeated(frame)) from error
    except TypeError as error:
        raise TypeError(
            "frame must be a table (pandas, Polars, PyArrow, ... or a dict of columns); "
            f"got {type(frame).__name__}.\n"
            "Hint: for arrays, pass {'score': scores, 'label': labels, 'group': groups}."
        ) from error
    table = table.select(*dict.fromkeys(wanted))
    table = table.collect() if isinstance(table, nw.LazyFrame) else table
    return {name: as_column(table[name].to_native(), name) for name in wanted}


def _repeated(frame: Any) -> str:
    """Name the columns that a frame has more than once."""
    counts = Counter(frame.column_names if hasattr(frame, "column_names") else frame.columns)
    names = ", ".join(f"{name!r} {n} times" for name, n in counts.items() if n > 1)
    return f"the frame has columns of the same name: {names}.\nHint: rename or drop all but one of them."


def _require(present: list[Any], wanted: list[str]) -> None:
    """Raise for a column that is not there and suggest the nearest name."""
    for name in wanted:
        if name not in present:
            near = difflib.get_close_matches(name, [c for c in present if isinstance(c, str)], n=1, cutoff=0.5)
            way_out = f"did you mean {near[0]!r}?" if near else f"the columns are {present[:20]}."
            raise ValueError(f"the frame has no column {name!r}.\nHint: {way_out}")


SMALL_CELL = 30
MANY_TIES = 0.10
MANY_GROUPS = 20

Bools = NDArray[np.bool_]
Columns = dict[str, NDArray[Any]]


@dataclass(frozen=True, repr=False)
class CheckReport:
    """Hold what :func:`check` found.

    Attributes
    ----------
    problems : list of str
        What will raise an error or leave a metric undefined.
    warnings : list of str
        What works but deserves a look.
    sizes : dict of lists
        Rows per group and outcome: columns group, label, n, share (and weight, if given). Groups are named as
        everywhere in fairpot, so that the names can be given on (``reference=...``).
    n_rows, n_complete : int
        Rows, and rows without anything missing or unusable.
    distinct_scores : int
        Number of distinct scores among the complete rows.
    tied_share : float
        Share of the complete rows whose score occurs more than once.
    missing : dict
        Missing values per column.

    Examples
    --------
    >>> from fairpot.datasets import check
    >>> rows = {"risk": [0.9, 0.2, 0.7, 0.4], "case": [1, 0, 1, 0], "sex": ["F", "F", "M", "M"]}
    >>> found = check(rows, score="risk", label="case", group="sex")
    >>> found.n_rows, found.distinct_scores, found.missing
    (4, 4, {'risk': 0, 'case': 0, 'sex': 0})
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
        """Return the sizes by group and outcome as a frame.

        Returns
        -------
        frame

        Examples
        --------
        >>> from fairpot.datasets import check
        >>> rows = {"risk": [0.9, 0.2, 0.7, 0.4], "case": [1, 0, 1, 0], "sex": ["F", "F", "M", "M"]}
        >>> len(check(rows, score="risk", label="case", group="sex").frame())
        4
        """
        return make_frame(self.sizes)

    def __repr__(self) -> str:
        found = f"{len(self.problems)} problems, {len(self.warnings)} warnings"
        return f"<CheckReport of {self.n_rows:,} rows, {self.n_complete:,} complete: {found}>"

    def _repr_html_(self) -> str:
        """Show what will go wrong, what deserves a look, and the sizes."""
        names = list(self.sizes)
        rows = [dict(zip(names, row)) for row in zip(*self.sizes.values())]
        said = [*(f"problem: {text}" for text in self.problems), *(f"warning: {text}" for text in self.warnings)]
        return f"<div>{paragraph(repr(self)[1:-1])}{notes(said)}{html_table(rows, 'Rows by group and outcome')}</div>"

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


def check(frame: Any, *, score: str, label: str, group: str | Iterable[str], weight: str | None = None) -> CheckReport:
    """Report sizes, ties, missing values, and what will go wrong with a table of scores.

    It reports and does not raise, except when there is nothing to look at: a column that does not exist or
    exists twice, or an object that is not a frame.

    Parameters
    ----------
    frame : frame or mapping
        Anything Narwhals reads (pandas, Polars, PyArrow, DuckDB, ...), lazy or not, or a dict of columns.
    score, label : str
        Columns with the score (higher means more risk) and the label (0/1).
    group : str or list of str
        Column with the group; several form intersections, named like "sex=F, region=north".
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
    named = {"score": score, "label": label} | ({} if weight is None else {"weight": weight})
    for argument, name in named.items():
        require_name(name, argument)
    grouping = group_names(group)
    columns = read_columns(frame, [*named.values(), *grouping])
    gone = {name: missing(column) for name, column in columns.items()}
    problems: list[str] = []
    warnings: list[str] = []
    scores, score_ok = _check_scores(columns[score], gone[score], score, problems)
    labels, label_ok = _check_labels(columns[label], gone[label], label, problems)
    if problems:
        _check_order(columns, score, label, problems)
    codes, names = _check_groups({name: columns[name] for name in grouping}, problems)
    usable = score_ok & label_ok & (codes >= 0)
    weights = None
    if weight is not None:
        weights, weight_ok = _check_weights(columns[weight], weight, problems)
        usable &= weight_ok
    sizes = _sizes(codes[usable], names, labels[usable], None if weights is None else weights[usable])
    _check_cells(sizes, problems, warnings)
    distinct, tied = _check_ties(scores[usable], problems, warnings)
    _check_direction(scores[usable], labels[usable], warnings)
    if not problems:
        _check_as_input(columns, score, label, grouping, weight, problems)
    return CheckReport(
        problems=problems,
        warnings=warnings,
        sizes=sizes,
        n_rows=len(scores),
        n_complete=int(usable.sum()),
        distinct_scores=distinct,
        tied_share=tied,
        missing={name: int(mask.sum()) for name, mask in gone.items()},
    )


def _numbers(column: NDArray[Any]) -> Floats:
    """Return a column as floats: NaN where it holds no number, and text is none."""
    if column.dtype.kind in "iufb":
        return column.astype(np.float64)
    known = numbers.Real | Decimal | np.bool_
    return np.array([float(v) if isinstance(v, known) else np.nan for v in column.tolist()], dtype=np.float64)


def _rows(count: int, total: int) -> str:
    """Return "1 of 4 rows has" or "2 of 4 rows have"."""
    return f"{count:,} of {total:,} rows {'has' if count == 1 else 'have'}"


def _check_scores(column: NDArray[Any], gone: Bools, name: str, problems: list[str]) -> tuple[Floats, Bools]:
    """Scores must be finite numbers."""
    scores = _numbers(column)
    wrong, infinite = np.isnan(scores) & ~gone, np.isinf(scores)
    n = len(column)
    if gone.any():
        problems.append(f"{_rows(gone.sum(), n)} no score in {name!r}. Hint: drop those rows, or score them.")
    if wrong.any():
        problems.append(
            f"{_rows(wrong.sum(), n)} a score in {name!r} that is not a number, such as "
            f"{column[wrong].tolist()[0]!r}. Hint: convert the column to numbers."
        )
    if infinite.any():
        problems.append(
            f"{_rows(infinite.sum(), n)} an infinite score in {name!r}. Hint: use probabilities, or clip log-odds."
        )
    return scores, np.isfinite(scores)


def _check_labels(column: NDArray[Any], gone: Bools, name: str, problems: list[str]) -> tuple[Floats, Bools]:
    """Labels must be 0 and 1, and both must occur."""
    labels = _numbers(column)
    binary = np.isin(labels, [0.0, 1.0])
    other = ~gone & ~binary
    if gone.any():
        problems.append(
            f"{_rows(gone.sum(), len(column))} no label in {name!r}. Hint: drop rows whose outcome is unknown."
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
            f"every outcome in {name!r} is {labels[binary][0]:.0f}. "
            "Hint: ranking needs rows with and without the outcome."
        )
    return labels, binary


def _check_order(columns: Columns, score: str, label: str, problems: list[str]) -> None:
    """Say first that scores and labels look swapped, where they do."""
    values = swapped_values(columns[label], columns[score])
    if values is not None:
        order = f"name them the other way round, score={label!r} and label={score!r}."
        problems.insert(0, wording.swapped(repr(label), repr(score), values, order).replace("\n", " "))


def _check_groups(columns: Columns, problems: list[str]) -> tuple[NDArray[np.intp], tuple[Hashable, ...]]:
    """Groups must be there, at least two and not a number line; a row without one has the code -1."""
    present: Bools = ~np.any([missing(column) for column in columns.values()], axis=0)
    codes = np.full(len(present), -1, dtype=np.intp)
    names: tuple[Hashable, ...] = ()
    label = ", ".join(columns)
    if not present.all():
        problems.append(
            f"{_rows((~present).sum(), len(present))} no group in {label!r}. "
            "Hint: drop those rows, or give them a group of their own."
        )
    if present.any():
        try:
            known = {name: column[present] for name, column in columns.items()}
            codes[present], names = check_groups(known, int(present.sum()), "group", several=False)
        except (TypeError, ValueError) as error:
            problems.append(_one_line(error))
            return codes, names
    if len(names) < 2:
        problems.append(f"{label!r} has {len(names)} group(s): {list(names)}. Hint: a gap needs two.")
    if len(names) > MANY_GROUPS:
        problems.append(f"{label!r} has {len(names):,} groups. Hint: form bands, such as age < 25 and age >= 25.")
    return codes, names


def _check_weights(column: NDArray[Any], name: str, problems: list[str]) -> tuple[Floats, Bools]:
    """Weights must be finite and not negative."""
    weights = _numbers(column)
    good = np.isfinite(weights) & (weights >= 0)
    if not good.all():
        problems.append(
            f"{_rows((~good).sum(), len(good))} a weight in {name!r} that is missing, negative or not finite. "
            "Hint: repair or drop those rows."
        )
    elif len(good) and not weights.any():
        problems.append(f"every weight in {name!r} is 0. Hint: leave weight out for equal weights.")
    return weights, good


def _check_as_input(
    columns: Columns, score: str, label: str, grouping: list[str], weight: str | None, problems: list[str]
) -> None:
    """Let a table without problems pass the very checks of the metrics and post-processors."""
    groups = {name: columns[name] for name in grouping}
    weights = None if weight is None else columns[weight]
    try:
        check_rows(columns[score], columns[label], groups, weights, names=(label, score))
    except (TypeError, ValueError) as error:
        problems.append(_one_line(error))


def _one_line(error: Exception) -> str:
    return " ".join(str(error).splitlines())


def _sizes(
    codes: NDArray[np.intp], names: tuple[Hashable, ...], labels: Floats, weights: Floats | None
) -> dict[str, list[Any]]:
    """Count the rows of every group that has any, by label, empty cells included."""
    cells = 2 * codes + labels.astype(np.intp)
    n = np.bincount(cells, minlength=2 * len(names))
    kept = np.flatnonzero(np.repeat(n.reshape(-1, 2).any(axis=1), 2))
    sizes: dict[str, list[Any]] = {
        "group": [names[cell // 2] for cell in kept],
        "label": (kept % 2).tolist(),
        "n": n[kept].tolist(),
        "share": (n[kept] / max(len(cells), 1)).tolist(),
    }
    if weights is not None:
        sizes["weight"] = np.bincount(cells, weights, minlength=len(n))[kept].tolist()
    return sizes


def _check_cells(sizes: dict[str, list[Any]], problems: list[str], warnings: list[str]) -> None:
    """Every group needs positives and negatives, and enough of both."""
    if not sizes["n"]:
        problems.append("no row is complete. Hint: see the problems above.")
    for group, label, n in zip(sizes["group"], sizes["label"], sizes["n"]):
        kind = wording.BOTH_OUTCOMES[int(not label)]
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
            f"rows with the outcome have lower scores than rows without it (AUC {auc:.3f}). "
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
        lines.append(f"{sizes['group'][i]!s:<{width}}  {negatives:>10,}  {positives:>10,}  {rate:>6}")
    return lines
