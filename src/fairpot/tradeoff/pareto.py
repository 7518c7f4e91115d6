"""The points that no other point beats."""

import numpy as np
from numpy.typing import NDArray


def pareto_mask(gap: NDArray[np.float64], auc: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Mark the points for which no other has a gap as small and an AUC as high, one of them better.

    Examples
    --------
    >>> import numpy as np
    >>> pareto_mask(np.array([0.1, 0.2, 0.2, 0.3]), np.array([0.7, 0.8, 0.75, 0.8]))
    array([ True,  True, False, False])
    """
    order = np.lexsort((-auc, gap))
    best_before = np.concatenate(([-np.inf], np.maximum.accumulate(auc[order])[:-1]))
    # Of points that are equal in both, all stay: none beats the other.
    first = np.concatenate(([True], (np.diff(gap[order]) != 0) | (np.diff(auc[order]) != 0)))
    good = (auc[order] > best_before) & first
    good = good[np.maximum.accumulate(np.where(first, np.arange(len(order)), 0))]
    mask = np.empty(len(order), dtype=bool)
    mask[order] = good
    return mask
