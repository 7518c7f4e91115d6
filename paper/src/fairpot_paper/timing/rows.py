"""ScoreRows: scores, outcomes and groups side by side; and the lambdas that the paper tries."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# Lambda = 0, 0.1, ..., 1.
LAMBDAS: tuple[float, ...] = tuple(k / 10 for k in range(11))


class ScoreRows(NamedTuple):
    """Rows of one sample: a model's scores, outcomes 0/1, names of groups."""

    scores: NDArray[np.float64]
    y: NDArray[np.integer[Any]]
    group: NDArray[Any]
