"""From the arguments of a metric to the table it is read from."""

from collections.abc import Hashable
from typing import Any, cast

from fairpot._validation import check_choice, check_group_name, check_rows, check_share
from fairpot._validation.columns import as_column
from fairpot._validation.scores import to_floats
from fairpot.metrics.undefined import UNDEFINED, Undefined
from fairpot.metrics.wins import TIES, Ties
from fairpot.table import REGIONS, Region, ScoreTable


def score_table(
    y_true: Any,
    y_score: Any,
    *,
    sensitive_features: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
    weights: str = "frequency",
) -> ScoreTable:
    """Count rows into a table: distinct scores per group with their positives and negatives.

    Tables can be merged, cut to a top-alpha region, rescored by maps and quantised; all metrics are functions of one.

    Parameters
    ----------
    y_true, y_score, sample_weight, pos_label
        As in :func:`auc`.
    sensitive_features : column of shape (n,), or frame with several columns, default None
        Group of each row; None counts all rows as one group, "all".
    weights : {"frequency", "importance"}, default "frequency"
        What ``sample_weight`` means: how many rows a row is, or how much it counts. No metric depends on it, but
        intervals do: with "importance" the table keeps the sums of squared weights as well.

    Examples
    --------
    >>> table = score_table([0, 1, 1], [0.3, 0.9, 0.3], sensitive_features=["F", "M", "F"])
    >>> table["F"].score, table["F"].positive, table["F"].negative
    (array([0.3]), array([1]), array([1]))
    """
    grouped = sensitive_features is not None
    check_choice(weights, "weights", ("frequency", "importance"))
    given = {"grouped": grouped, "pos_label": pos_label}
    table = labelled_table(y_true, y_score, sensitive_features, sample_weight, **given)
    if weights == "frequency" or sample_weight is None:
        return table
    squared = to_floats(as_column(sample_weight, "sample_weight"), "sample_weight", "weight") ** 2
    return table.with_squares(labelled_table(y_true, y_score, sensitive_features, squared, **given))


def labelled_table(
    y_true: Any,
    y_score: Any,
    sensitive_features: Any = None,
    sample_weight: Any = None,
    *,
    grouped: bool = True,
    pos_label: Any = None,
) -> ScoreTable:
    """Check the arguments of a metric and count them."""
    if y_true is None:
        raise TypeError("y_true is missing: pass the outcome of each row, 0 or 1.")
    rows = check_rows(
        y_score,
        y_true,
        sensitive_features,
        sample_weight,
        grouped=grouped,
        pos_label=pos_label,
        names=("y_true", "y_score"),
    )
    return ScoreTable.from_rows(*rows)


def top_table(table: ScoreTable, alpha: Any, region: str) -> ScoreTable:
    """Cut a table to its top-alpha region."""
    share = check_share(alpha, "alpha", zero=False)
    return table.top(share, cast(Region, check_choice(region, "region", REGIONS)))


def check_ties(ties: str) -> Ties:
    """Check the name of a convention for ties."""
    return cast(Ties, check_choice(ties, "ties", TIES))


def check_undefined(undefined: str) -> Undefined:
    """Check what is to stand for a metric without pairs."""
    return cast(Undefined, check_choice(undefined, "undefined", UNDEFINED))


def place_of(table: ScoreTable, group: Hashable, name: str) -> int:
    """Find a group named by the caller."""
    return table.groups.index(check_group_name(group, table.groups, name))
