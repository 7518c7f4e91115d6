"""What practitioners compare with: AUC per group, and the share of tied pairs."""

from collections.abc import Hashable
from typing import Any

import numpy as np

from fairpot._arguments import by_name
from fairpot._defaults import Ties
from fairpot._optional import make_frame
from fairpot._validation import wording
from fairpot.counting import as_table
from fairpot.metrics.rank import check_ties, check_undefined, place_of
from fairpot.metrics.wins import Undefined, WinMatrix, value_without_pairs, warn_undefined


@by_name
def group_auc(
    y_true: Any,
    y_score: Any,
    *,
    sensitive_features: Any,
    group: Hashable,
    sample_weight: Any = None,
    ties: Ties = "half",
    pos_label: Any = None,
    undefined: Undefined = "nan",
) -> float:
    """Compute the AUC inside one group.

    {y_true, y_score, sensitive_features, group, sample_weight, ties, pos_label, undefined}

    Examples
    --------
    >>> from fairpot.metrics import group_auc
    >>> y, score, sex = [1, 0, 1, 0], [0.4, 0.1, 0.9, 0.6], ["F", "F", "M", "M"]
    >>> group_auc(y, score, sensitive_features=sex, group="F")
    1.0
    """
    checked, missing = check_ties(ties), check_undefined(undefined)
    table = as_table(
        y_true, y_score, sensitive_features=sensitive_features, sample_weight=sample_weight, pos_label=pos_label
    )
    return _inside(WinMatrix.of(table, checked), place_of(table, group, "group"), missing)


@by_name
def tied_share(
    y_true: Any, y_score: Any, *, sample_weight: Any = None, pos_label: Any = None, undefined: Undefined = "nan"
) -> float:
    """Compute the share of (positive, negative) pairs with equal scores.

    Strict AUC and scikit-learn's AUC differ by half of it.

    {y_true, y_score, sample_weight, pos_label, undefined}

    Examples
    --------
    >>> from fairpot.metrics import tied_share
    >>> y, score = [0, 0, 1, 1], [0.1, 0.4, 0.4, 0.8]
    >>> tied_share(y, score)
    0.25
    """
    value = value_without_pairs(check_undefined(undefined))
    table = as_table(y_true, y_score, sample_weight=sample_weight, grouped=False, pos_label=pos_label)
    [counts] = table.for_pairs().counts
    pairs = float(counts.positive.sum()) * float(counts.negative.sum())
    if pairs == 0:
        empty = wording.BOTH_OUTCOMES[int(counts.positive.sum() > 0)]
        warn_undefined("the share of tied pairs", [(None, empty)], value)
        return value
    return min(float(np.dot(counts.positive, counts.negative)) / pairs, 1.0)


@by_name
def by_group(
    y_true: Any,
    y_score: Any,
    *,
    sensitive_features: Any,
    sample_weight: Any = None,
    ties: Ties = "half",
    pos_label: Any = None,
    undefined: Undefined = "nan",
) -> Any:
    """Return a frame with a row for each group: counts and AUC.

    {y_true, y_score, sensitive_features, sample_weight, ties, pos_label, undefined}

    Returns
    -------
    frame
        pandas, Polars or PyArrow, whichever the columns are.

    Examples
    --------
    >>> from fairpot.metrics import by_group
    >>> y, score, sex = [1, 0, 1, 0], [0.4, 0.1, 0.9, 0.6], ["F", "F", "M", "M"]
    >>> print(by_group(y, score, sensitive_features=sex).to_string(index=False))
    group  positives  negatives  auc
        F          1          1  1.0
        M          1          1  1.0
    """
    checked, missing = check_ties(ties), check_undefined(undefined)
    table = as_table(
        y_true, y_score, sensitive_features=sensitive_features, sample_weight=sample_weight, pos_label=pos_label
    )
    matrix = WinMatrix.of(table, checked)
    places = range(len(table.groups))
    return make_frame(
        {
            "group": list(table.groups),
            "positives": table.positives,
            "negatives": table.negatives,
            "auc": [_inside(matrix, k, missing) for k in places],
        },
        y_score,
        y_true,
        sensitive_features,
    )


def _inside(matrix: WinMatrix, k: int, undefined: Undefined) -> float:
    """Give the AUC inside one group, or what stands for it where there are no pairs."""
    own = np.arange(len(matrix.groups)) == k
    found = matrix.share(own, own)
    if found == found:
        return found
    sides = zip(wording.BOTH_OUTCOMES, (matrix.positives[k], matrix.negatives[k]))
    value, group = value_without_pairs(undefined), matrix.groups[k]
    warn_undefined(f"AUC of group {group!r}", [(group, what) for what, count in sides if count == 0], value)
    return value
