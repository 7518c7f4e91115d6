"""ScoreRows: scores, outcomes and groups side by side; and the lambdas that the paper tries."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairpot._optional import import_optional
from fairpot.methods.fairpot import transport_plans
from fairpot.rows.door import score_table

# Lambda = 0, 0.1, ..., 1.
LAMBDAS: tuple[float, ...] = tuple(k / 10 for k in range(11))


class ScoreRows(NamedTuple):
    """Rows of one sample: a model's scores, outcomes 0/1, names of groups."""

    scores: NDArray[np.float64]
    y: NDArray[np.integer[Any]]
    group: NDArray[Any]


Floats = NDArray[np.float64]

# POT's own default, written out: a later version may choose another.
DEFAULT_ITERATIONS = 100_000
MANY_ITERATIONS = 10**12
# Measured with POT 0.9.7 on 5, 23 and 271 million cells: the matrix, the plan, and the solver's own arrays.
BYTES_PER_CELL = 40
# However much memory a machine has, no plan larger than this is tried (4e8 cells).
MOST_BYTES = 16 * 10**9


class NetworkPlan(NamedTuple):
    """What the solver found: each distinct training score of the moved group, and where it goes."""

    scores: Floats
    projected: Floats
    converged: bool
    message: str


def adjusted_scores(
    train: ScoreRows, test: ScoreRows, reference: Hashable, iterations: int
) -> tuple[list[Floats], NetworkPlan]:
    """Return the test scores at each of the eleven lambdas, and the plan that they rest on.

    Parameters
    ----------
    train, test : ScoreRows
        Of two groups.
    reference : name of the group that stays as it is
    iterations : int
        Where the solver gives up, converged or not.
    """
    _check_groups(train, reference)
    is_moved = train.group != reference
    moved, target = train.scores[is_moved], train.scores[~is_moved]
    plan = solve(moved, target, iterations)
    rows = test.group != reference
    found = []
    for values in top_replaced(moved, plan, LAMBDAS):
        scores = test.scores.copy()
        # The paper's interpolation: beyond the training range the value at the edge holds, also at lambda = 0.
        scores[rows] = np.interp(test.scores[rows], plan.scores, values)
        found.append(scores)
    return found, plan


def solve(moved: Floats, target: Floats, iterations: int) -> NetworkPlan:
    """Project ``moved`` onto ``target`` by the plan of ``ot.emd``, stopped after so many iterations.

    Rows of equal score share the mean of their projections, as the order of the rows is no part of the problem.
    """
    ot = import_optional("ot", package="POT")
    cost = (moved[:, None] - target[None, :]) ** 2
    here, there = np.full(len(moved), 1 / len(moved)), np.full(len(target), 1 / len(target))
    with warnings.catch_warnings():
        # That it did not converge is in the log, too, and goes on from there to the reader.
        warnings.simplefilter("ignore", UserWarning)
        # Its one parameter for threads is 1 by default, and on its way out.
        plan, log = ot.emd(here, there, cost, numItermax=iterations, log=True)
    rows = len(moved) * (plan @ target)
    scores, places, sizes = np.unique(moved, return_inverse=True, return_counts=True)
    message = log["warning"] or ""
    return NetworkPlan(scores, np.bincount(places, rows) / sizes, not message, str(message))


def top_replaced(moved: Floats, plan: NetworkPlan, lambdas: Sequence[float]) -> list[Floats]:
    """Return, for each lambda, the values at the plan's scores: the top lambda projected, the rest as it was."""
    descending = np.sort(moved)[::-1]
    found = []
    for lam in lambdas:
        count = int(np.ceil(lam * len(moved) * (1 - 1e-12)))
        cut = descending[count - 1] if count else np.inf
        found.append(np.where(plan.scores >= cut, plan.projected, plan.scores))
    return found


def largest_error(plan: NetworkPlan, train: ScoreRows, reference: Hashable) -> float:
    """Return how far a projected training score is from where the exact plan puts it, at most."""
    table = score_table(None, train.scores, sensitive_features=train.group)
    [exact] = transport_plans(table, reference).values()
    return float(np.abs(plan.projected - exact.projected).max())


def obstacle(train: ScoreRows, reference: Hashable, most_bytes: int | None = None) -> str | None:
    """Say why the plan is not tried, before anything is allocated; None if nothing is in its way.

    Parameters
    ----------
    train : ScoreRows
    reference : name of the group that stays as it is
    most_bytes : int or None, default None
        The memory it may take. None is what the machine has free, and 16 GB at most.
    """
    n_moved = int((train.group != reference).sum())
    n_target = len(train.group) - n_moved
    needed = BYTES_PER_CELL * n_moved * n_target
    bound = min(MOST_BYTES, free_bytes() or MOST_BYTES) if most_bytes is None else most_bytes
    if needed <= bound:
        return None
    return f"not run: {n_moved:,} x {n_target:,} cells need about {needed / 1e9:.1f} GB (bound: {bound / 1e9:.1f} GB)"


def _check_groups(train: ScoreRows, reference: Hashable) -> None:
    found = np.unique(train.group).tolist()
    if len(found) != 2 or reference not in found:
        raise ValueError(
            f"the cost matrix is between two groups, one of them the reference; got {len(found)} groups, and the "
            f"reference {reference!r}."
        )


def free_bytes() -> int | None:
    """Return the memory that is free or can be freed, where the system tells."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    found = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return int(found[0]) * 1024 if found else None
