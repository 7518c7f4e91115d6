"""AUC, xAUC and the xAUC gap, of all rows and of the top alpha; AUC by group, ties, and who is found in the top."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, ParamSpec, TypedDict, TypeVar, Unpack, cast

import numpy as np

from fairpot._arguments import by_name
from fairpot._defaults import REGIONS, TIES, Region, Ties
from fairpot._optional import make_frame
from fairpot._validation import check_choice, check_group_name, check_share, wording
from fairpot.counting import as_table
from fairpot.metrics.wins import UNDEFINED, Undefined, WinMatrix, value_without_pairs, warn_undefined
from fairpot.table import ScoreTable

P = ParamSpec("P")
T = TypeVar("T")


class Pairs(TypedDict, total=False):
    """What every metric that compares pairs of rows takes, with the defaults below."""

    sample_weight: Any
    ties: Ties
    pos_label: Any
    undefined: Undefined


class Top(TypedDict, total=False):
    """What every metric that counts rows in the top takes."""

    sensitive_features: Any
    group: Hashable | None
    region: Region
    sample_weight: Any
    pos_label: Any
    undefined: Undefined


_DEFAULTS = {"ties": "half", "undefined": "nan", "region": "pooled"}  # of all others: None


def _taking(options: type) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Write options into the signature of a metric, which refuses all others in its own name."""
    kind, annotated = inspect.Parameter.KEYWORD_ONLY, options.__annotations__
    shared = [
        inspect.Parameter(name, kind, default=_DEFAULTS.get(name), annotation=each.__forward_arg__)
        for name, each in annotated.items()
    ]

    def written(function: Callable[P, T]) -> Callable[P, T]:
        own = inspect.signature(function)
        named = [each for each in own.parameters.values() if each.kind is not each.VAR_KEYWORD]
        signature = own.replace(parameters=[*named, *shared])

        @functools.wraps(function)
        def metric(*args: P.args, **kwargs: P.kwargs) -> T:
            for name in kwargs:
                if name not in signature.parameters:
                    raise TypeError(f"{function.__name__}() got an unexpected keyword argument {name!r}")
            return function(*args, **kwargs)

        vars(metric)["__signature__"] = signature
        return by_name(metric)

    return written


_of_pairs, _of_top = _taking(Pairs), _taking(Top)


def check_ties(ties: str) -> Ties:
    """Check the name of a convention for ties."""
    return cast(Ties, check_choice(ties, "ties", TIES))


def place_of(table: ScoreTable, group: Hashable, name: str) -> int:
    """Find a group named by the caller."""
    return table.groups.index(check_group_name(group, table.groups, name))


def _check_undefined(undefined: str) -> Undefined:
    return cast(Undefined, check_choice(undefined, "undefined", UNDEFINED))


def _top(table: ScoreTable, alpha: Any, region: str) -> ScoreTable:
    share = check_share(alpha, "alpha", zero=False)
    return table.top(share, cast(Region, check_choice(region, "region", REGIONS)))


def _is_grouped(sensitive_features: Any, region: str, group: Hashable | None = None) -> bool:
    """Whether there are groups; insist on them where the region or a named group needs them."""
    if sensitive_features is None and (region == "group" or group is not None):
        asked = "region='group' cuts each group on its own" if region == "group" else f"group={group!r} names a group"
        raise TypeError(f"{asked}.\nHint: pass sensitive_features as well.")
    return sensitive_features is not None


def _count(
    y_true: Any,
    y_score: Any,
    sensitive_features: Any = None,
    *,
    top: tuple[Any, str] | None = None,
    grouped: bool = True,
    ties: str = "half",
    undefined: str = "nan",
    **columns: Any,
) -> tuple[ScoreTable, WinMatrix, Undefined]:
    """Check and count what a metric is given; of a top (alpha and region) the pairs inside it."""
    checked, missing = check_ties(ties), _check_undefined(undefined)
    table = as_table(y_true, y_score, sensitive_features=sensitive_features, grouped=grouped, **columns)
    return table, WinMatrix.of(table if top is None else _top(table, *top), checked), missing


@_of_pairs
def auc(y_true: Any, y_score: Any, **pairs: Unpack[Pairs]) -> float:
    """Compute the share of (positive, negative) pairs in which the positive has the higher score.

    {y_true, y_score, sample_weight, ties, pos_label, undefined}

    Examples
    --------
    >>> from fairpot.metrics import auc
    >>> y, score = [0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]
    >>> auc(y, score)
    0.75
    """
    _, wins, missing = _count(y_true, y_score, grouped=False, **pairs)
    return wins.auc(undefined=missing)


@_of_pairs
def xauc(
    y_true: Any,
    y_score: Any,
    *,
    sensitive_features: Any,
    positive: Hashable,
    negative: Hashable,
    **pairs: Unpack[Pairs],
) -> float:
    """Compute how often a positive of one group has a higher score than a negative of another.

    {y_true, y_score, sensitive_features, positive, negative, sample_weight, ties, pos_label, undefined}

    Examples
    --------
    >>> from fairpot.metrics import xauc
    >>> y, score, sex = [1, 0, 1, 0], [0.4, 0.1, 0.9, 0.6], ["F", "F", "M", "M"]
    >>> xauc(y, score, sensitive_features=sex, positive="M", negative="F")
    1.0
    """
    table, wins, missing = _count(y_true, y_score, sensitive_features, **pairs)
    return wins.cell(place_of(table, positive, "positive"), place_of(table, negative, "negative"), missing)


@_of_pairs
def xauc_gap(y_true: Any, y_score: Any, *, sensitive_features: Any, **pairs: Unpack[Pairs]) -> float:
    """Compute the xAUC gap, \\|xAUC(a->b) - xAUC(b->a)\\|; with more groups, the largest over pairs.

    Pairs of groups without positives or negatives on a side are left out, with a warning that names them; NaN if there
    is no other. With ``undefined="paper"`` an xAUC without pairs is 0 and every pair of groups counts.

    {y_true, y_score, sensitive_features, sample_weight, ties, pos_label, undefined}

    Examples
    --------
    >>> from fairpot.metrics import xauc_gap
    >>> y, score, sex = [1, 0, 1, 0], [0.4, 0.1, 0.9, 0.6], ["F", "F", "M", "M"]
    >>> xauc_gap(y, score, sensitive_features=sex)
    1.0
    """
    _, wins, missing = _count(y_true, y_score, sensitive_features, **pairs)
    return wins.gap(missing)


@_of_pairs
def partial_auc(
    y_true: Any,
    y_score: Any,
    *,
    alpha: float,
    sensitive_features: Any = None,
    region: Region = "pooled",
    **pairs: Unpack[Pairs],
) -> float:
    """Compute the AUC among the rows with the highest scores; groups are needed for ``region="group"`` only.

    The paper's value is 1 in a region without negatives, and 0 without positives.

    {y_true, y_score, alpha, sensitive_features, region, sample_weight, ties, pos_label, undefined}

    Examples
    --------
    >>> from fairpot.metrics import partial_auc
    >>> y, score = [0, 0, 0, 1, 0, 1], [0.1, 0.2, 0.3, 0.6, 0.7, 0.9]
    >>> partial_auc(y, score, alpha=0.5)
    0.5
    """
    grouped = _is_grouped(sensitive_features, region)
    _, wins, missing = _count(y_true, y_score, sensitive_features, top=(alpha, region), grouped=grouped, **pairs)
    return wins.auc(partial=True, undefined=missing)


@_of_pairs
def partial_xauc(
    y_true: Any,
    y_score: Any,
    *,
    alpha: float,
    sensitive_features: Any,
    positive: Hashable,
    negative: Hashable,
    region: Region = "pooled",
    **pairs: Unpack[Pairs],
) -> float:
    """Compute the xAUC of two groups among the rows with the highest scores.

    {y_true, y_score, alpha, sensitive_features, positive, negative, region, sample_weight, ties, pos_label, undefined}

    Examples
    --------
    >>> from fairpot.metrics import partial_xauc
    >>> y, score, sex = [1, 0, 1, 0], [0.4, 0.1, 0.9, 0.6], ["F", "F", "M", "M"]
    >>> partial_xauc(y, score, alpha=0.75, sensitive_features=sex, positive="F", negative="M")
    0.0
    """
    table, wins, missing = _count(y_true, y_score, sensitive_features, top=(alpha, region), **pairs)
    return wins.cell(place_of(table, positive, "positive"), place_of(table, negative, "negative"), missing)


@_of_pairs
def partial_xauc_gap(
    y_true: Any,
    y_score: Any,
    *,
    alpha: float,
    sensitive_features: Any,
    region: Region = "pooled",
    **pairs: Unpack[Pairs],
) -> float:
    """Compute the xAUC gap among the rows with the highest scores; of more groups, the largest.

    {y_true, y_score, alpha, sensitive_features, region, sample_weight, ties, pos_label, undefined}

    Examples
    --------
    >>> from fairpot.metrics import partial_xauc_gap
    >>> y, score, sex = [1, 0, 1, 0], [0.4, 0.1, 0.9, 0.6], ["F", "F", "M", "M"]
    >>> partial_xauc_gap(y, score, alpha=1.0, sensitive_features=sex)
    1.0
    """
    _, wins, missing = _count(y_true, y_score, sensitive_features, top=(alpha, region), **pairs)
    return wins.gap(missing)


@_of_pairs
def group_auc(y_true: Any, y_score: Any, *, sensitive_features: Any, group: Hashable, **pairs: Unpack[Pairs]) -> float:
    """Compute the AUC inside one group.

    {y_true, y_score, sensitive_features, group, sample_weight, ties, pos_label, undefined}

    Examples
    --------
    >>> from fairpot.metrics import group_auc
    >>> y, score, sex = [1, 0, 1, 0], [0.4, 0.1, 0.9, 0.6], ["F", "F", "M", "M"]
    >>> group_auc(y, score, sensitive_features=sex, group="F")
    1.0
    """
    table, wins, missing = _count(y_true, y_score, sensitive_features, **pairs)
    place = place_of(table, group, "group")
    return wins.cell(place, place, missing)


@_of_pairs
def by_group(y_true: Any, y_score: Any, *, sensitive_features: Any, **pairs: Unpack[Pairs]) -> Any:
    """Return counts and AUC of each group as a frame (pandas, Polars or PyArrow, whichever the columns are).

    {y_true, y_score, sensitive_features, sample_weight, ties, pos_label, undefined}

    Examples
    --------
    >>> from fairpot.metrics import by_group
    >>> y, score, sex = [1, 0, 1, 0], [0.4, 0.1, 0.9, 0.6], ["F", "F", "M", "M"]
    >>> print(by_group(y, score, sensitive_features=sex).to_string(index=False))
    group  positives  negatives  auc
        F          1          1  1.0
        M          1          1  1.0
    """
    table, wins, missing = _count(y_true, y_score, sensitive_features, **pairs)
    aucs = [wins.cell(k, k, missing) for k in range(len(table.groups))]
    columns = {"group": list(table.groups), "positives": table.positives, "negatives": table.negatives, "auc": aucs}
    return make_frame(columns, y_score, y_true, sensitive_features)


@by_name
def tied_share(
    y_true: Any, y_score: Any, *, sample_weight: Any = None, pos_label: Any = None, undefined: Undefined = "nan"
) -> float:
    """Compute the share of (positive, negative) pairs with equal scores: strict and usual AUC differ by half of it.

    {y_true, y_score, sample_weight, pos_label, undefined}

    Examples
    --------
    >>> from fairpot.metrics import tied_share
    >>> y, score = [0, 0, 1, 1], [0.1, 0.4, 0.4, 0.8]
    >>> tied_share(y, score)
    0.25
    """
    value = value_without_pairs(_check_undefined(undefined))
    table = as_table(y_true, y_score, sample_weight=sample_weight, grouped=False, pos_label=pos_label)
    [counts] = table.for_pairs().counts
    pairs = float(counts.positive.sum()) * float(counts.negative.sum())
    if pairs == 0:
        empty = wording.BOTH_OUTCOMES[int(counts.positive.sum() > 0)]
        warn_undefined("the share of tied pairs", [(None, empty)], value)
        return value
    return min(float(np.dot(counts.positive, counts.negative)) / pairs, 1.0)


@_of_top
def top_recall(y_true: Any, y_score: Any, *, alpha: float, **top: Unpack[Top]) -> float:
    """Compute the share of positives, of one group if it is named, that are among the rows with the highest scores.

    A partial AUC compares the rows inside a model's own region, so a model can raise it by leaving positives out.
    Report this beside it. Rows tied with the lowest score of the region are all in it: a model with few distinct scores
    has a larger region and finds more for it.

    {y_true, y_score, alpha, sensitive_features, group, region, sample_weight, pos_label, undefined}

    Examples
    --------
    >>> from fairpot.metrics import top_recall
    >>> y, score = [1, 0, 0, 1, 0, 1], [0.1, 0.2, 0.3, 0.6, 0.7, 0.9]
    >>> round(top_recall(y, score, alpha=0.5), 3)
    0.667
    """
    return _found_in_top("top recall", wording.BOTH_OUTCOMES[0], y_true, y_score, alpha, **top)


@_of_top
def top_precision(y_true: Any, y_score: Any, *, alpha: float, **top: Unpack[Top]) -> float:
    """Compute the share of positives among the rows with the highest scores, or among those of one group.

    {y_true, y_score, alpha, sensitive_features, group, region, sample_weight, pos_label, undefined}

    Examples
    --------
    >>> from fairpot.metrics import top_precision
    >>> y, score = [1, 0, 0, 1, 0, 1], [0.1, 0.2, 0.3, 0.6, 0.7, 0.9]
    >>> round(top_precision(y, score, alpha=0.5), 3)
    0.667
    """
    return _found_in_top("top precision", "rows in the region", y_true, y_score, alpha, **top)


def _found_in_top(
    name: str,
    what: str,
    y_true: Any,
    y_score: Any,
    alpha: float,
    *,
    sensitive_features: Any = None,
    group: Hashable | None = None,
    region: Region = "pooled",
    undefined: Undefined = "nan",
    **columns: Any,
) -> float:
    """Divide the positives in the region by all positives, or by the rows in the region."""
    grouped = _is_grouped(sensitive_features, region, group)
    table = as_table(y_true, y_score, sensitive_features=sensitive_features, grouped=grouped, **columns)
    top = _top(table, alpha, region)
    places = slice(None) if group is None else place_of(table, group, "group")
    found = top.positives[places].sum()
    whole = table.positives[places].sum() if name == "top recall" else found + top.negatives[places].sum()
    value = value_without_pairs(_check_undefined(undefined))
    if whole == 0:
        warn_undefined(name, [(group, what)], value)
        return value
    return float(found / whole)


@dataclass(frozen=True)
class Metric:
    """A metric, and the keyword arguments that it ``needs`` beside ``y_true, y_score``.

    Examples
    --------
    >>> from fairpot.metrics import METRICS
    >>> METRICS["xauc_gap"].needs, METRICS["xauc_gap"].higher_is_better
    (('sensitive_features',), False)
    """

    function: Callable[..., float]
    needs: tuple[str, ...] = ()
    has_ties: bool = True
    higher_is_better: bool | None = True


METRICS: dict[str, Metric] = {
    "auc": Metric(auc),
    "xauc": Metric(xauc, ("sensitive_features", "positive", "negative")),
    "xauc_gap": Metric(xauc_gap, ("sensitive_features",), higher_is_better=False),
    "partial_auc": Metric(partial_auc, ("alpha",)),
    "partial_xauc": Metric(partial_xauc, ("sensitive_features", "alpha", "positive", "negative")),
    "partial_xauc_gap": Metric(partial_xauc_gap, ("sensitive_features", "alpha"), higher_is_better=False),
    "top_recall": Metric(top_recall, ("alpha",), has_ties=False),
    "top_precision": Metric(top_precision, ("alpha",), has_ties=False),
    "group_auc": Metric(group_auc, ("sensitive_features", "group")),
    "tied_share": Metric(tied_share, has_ties=False, higher_is_better=None),
}
