"""The runtime table: how long each method takes on the same scores, called as a user would call it."""

from __future__ import annotations

import math
import os
import platform
import time
from collections.abc import Callable, Hashable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairpot.exceptions import MissingDependencyError
from fairpot.methods import FairPOT, WassersteinRepair
from fairpot.metrics import auc, xauc_gap
from fairpot.tradeoff import TradeoffCurve
from fairpot_paper import cost_matrix
from fairpot_paper.cost_matrix import LAMBDAS, ScoreRows
from fairpot_paper.post_logit import PostLogit
from fairpot_paper.scores import Scored
from fairpot_paper.xorder import XOrder


class Timing(NamedTuple):
    """How long one run took, in seconds.

    ``cpu`` counts every thread, and hardly depends on what else the machine does; ``wall`` does. Both are NaN where
    nothing was measured, and ``note`` says why. ``converged`` and ``error`` are of the cost matrix alone: whether the
    solver reached its optimum, and how far a projected training score is from the exact one, at most.
    """

    wall: float
    cpu: float
    note: str = ""
    converged: bool | None = None
    error: float | None = None


class Outcome(NamedTuple):
    """What a method gave: the adjusted test scores, one array for each value of its dial; or a curve instead."""

    adjusted: list[NDArray[np.float64]]
    curve: TradeoffCurve | None = None
    plan: cost_matrix.NetworkPlan | None = None


class Timed(NamedTuple):
    """A time, and what the method gave in it; None where it was not run."""

    timing: Timing
    outcome: Outcome | None


Method = Callable[[ScoreRows, ScoreRows, Hashable], Outcome]


def post_logit(train: ScoreRows, test: ScoreRows, reference: Hashable) -> Outcome:
    """Search the 100 slopes on the training rows; adjust the test rows once."""
    return Outcome([_applied(_fitted(PostLogit(reference=reference), train), test)])


def wasserstein(train: ScoreRows, test: ScoreRows, reference: Hashable) -> Outcome:
    """Match the quantiles of the test rows, as the paper's baseline does; it has no reference group."""
    return Outcome([_applied(_fitted(WassersteinRepair(t=1.0), test), test)])


def xorder(train: ScoreRows, test: ScoreRows, reference: Hashable) -> Outcome:
    """Fit once, then turn the dial: every lambda walks the whole grid, as each is another programme.

    ``tradeoff`` walks for several lambdas together, but gives the curve and no scores: see ``xorder_curve``.
    """
    return _dialled(XOrder(LAMBDAS[0], reference=reference), train, test)


def fairpot(train: ScoreRows, test: ScoreRows, reference: Hashable) -> Outcome:
    """Fit once, then turn the dial: all lambdas share one plan."""
    return _dialled(FairPOT(LAMBDAS[0], reference=reference), train, test)


def xorder_curve(train: ScoreRows, test: ScoreRows, reference: Hashable) -> Outcome:
    """Fit, then AUC and gap on the test rows at the eleven lambdas, the grid walked for many of them together."""
    return Outcome([], _traced(XOrder(LAMBDAS[0], reference=reference), train, test, LAMBDAS))


def fairpot_exact(train: ScoreRows, test: ScoreRows, reference: Hashable) -> Outcome:
    """Fit, then AUC and gap on the test rows at every lambda there is."""
    return Outcome([], _traced(FairPOT(LAMBDAS[0], reference=reference), train, test, None))


def emd_default(train: ScoreRows, test: ScoreRows, reference: Hashable) -> Outcome:
    """Solve for the plan with ``ot.emd`` as it comes: it stops after 100,000 iterations."""
    scores, plan = cost_matrix.adjusted_scores(train, test, reference, cost_matrix.DEFAULT_ITERATIONS)
    return Outcome(scores, plan=plan)


def emd_converged(train: ScoreRows, test: ScoreRows, reference: Hashable) -> Outcome:
    """Solve for the plan with ``ot.emd`` and as many iterations as it asks for."""
    scores, plan = cost_matrix.adjusted_scores(train, test, reference, cost_matrix.MANY_ITERATIONS)
    return Outcome(scores, plan=plan)


METHODS: dict[str, Method] = {
    "post_logit": post_logit,
    "wasserstein": wasserstein,
    "xorder": xorder,
    "fairpot": fairpot,
    "xorder_curve": xorder_curve,
    "fairpot_exact": fairpot_exact,
    "emd_default": emd_default,
    "emd_converged": emd_converged,
}
COST_MATRIX = ("emd_default", "emd_converged")


def time_method(
    method: str, train: ScoreRows, test: ScoreRows, reference: Hashable, *, most_bytes: int | None = None
) -> Timed:
    """Time one run of one method: its fit on the training rows, and the adjusted test scores of every lambda.

    Timed is what the paper's protocol asks for, through the public classes and with their checks of the input: eleven
    lambdas for ``xorder``, ``fairpot`` and the cost matrix, one set of scores for ``post_logit`` and ``wasserstein``.
    AUC and gap of those scores are left out, for all of them alike. ``xorder_curve`` and ``fairpot_exact`` give the AUC
    and the gap themselves, so that these are in their time.

    Before the clock starts, the method runs once on a few rows: nobody's time holds the loading of modules.

    Parameters
    ----------
    method : str
        A key of `METHODS`.
    train, test : ScoreRows
    reference : name of the group that stays as it is
    most_bytes : int or None, default None
        The memory that a cost matrix may take with all that goes with it. None is what the machine has
        free, and 16 GB at most.

    Returns
    -------
    Timed
        The time and what the method gave; NaN, a note and nothing given where the cost matrix would be too large or POT
        is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> from fairpot_paper.timing import ScoreRows, time_method
    >>> rows = ScoreRows(np.arange(8) / 8, np.array([0, 1] * 4), np.array(["a"] * 4 + ["b"] * 4))
    >>> timing, outcome = time_method("fairpot", rows, rows, "a")
    >>> timing.cpu >= 0, timing.note
    (True, '')
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}; got {method!r}.")
    if method in COST_MATRIX:
        too_large = cost_matrix.obstacle(train, reference, most_bytes)
        if too_large is not None:
            return Timed(_unmeasured(too_large), None)
    try:
        _warm_up(method)
    except MissingDependencyError as error:
        return Timed(_unmeasured("not run: " + " ".join(str(error).split("\n"))), None)
    wall, cpu = time.perf_counter(), time.process_time()
    outcome = METHODS[method](train, test, reference)
    timing = Timing(time.perf_counter() - wall, time.process_time() - cpu)
    return Timed(timing if outcome.plan is None else _judged(timing, outcome.plan, train, reference), outcome)


def machine() -> dict[str, Any]:
    """Describe the machine as far as times depend on it: model of the processor, cores that may be used.

    Examples
    --------
    >>> from fairpot_paper.timing import machine
    >>> sorted(machine())
    ['cores', 'cpu']
    """
    return {"cpu": _cpu_model(), "cores": _cores()}


def _fitted(model: Any, train: ScoreRows) -> Any:
    return model.fit(train.scores, train.y, sensitive_features=train.group)


def _applied(model: Any, test: ScoreRows) -> NDArray[np.float64]:
    return model.transform(test.scores, sensitive_features=test.group)


def _dialled(model: Any, train: ScoreRows, test: ScoreRows) -> Outcome:
    """Fit at the first lambda, and turn the fitted method to each of the others."""
    fitted = _fitted(model, train)
    return Outcome([_applied(each, test) for each in (fitted, *(fitted.at(lam) for lam in LAMBDAS[1:]))])


def _traced(model: Any, train: ScoreRows, test: ScoreRows, lams: Any) -> TradeoffCurve:
    fitted = _fitted(model, train)
    return fitted.tradeoff(test.scores, test.y, sensitive_features=test.group, lams=lams)


@cache
def _warm_up(method: str) -> None:
    """Run a method on eight rows: what it imports when it is first called is loaded then."""
    rows = ScoreRows(np.arange(1, 9) / 10, np.array([0, 1] * 4), np.array(["a"] * 4 + ["b"] * 4))
    METHODS[method](rows, rows, "a")


def _unmeasured(note: str) -> Timing:
    return Timing(math.nan, math.nan, note)


def _judged(timing: Timing, plan: cost_matrix.NetworkPlan, train: ScoreRows, reference: Hashable) -> Timing:
    """Add to a time what its plan is worth."""
    error = cost_matrix.largest_error(plan, train, reference)
    note = "" if plan.converged else f"not converged: projected scores are off by up to {error:.2g}"
    return timing._replace(note=note, converged=plan.converged, error=error)


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or platform.machine()


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


# What takes longer than so many seconds is timed three times at most, or once.
_LONG_SECONDS, _LONG_REPEATS = 3.0, 3
_ONCE_SECONDS = 50.0


def timed_results(scored: Scored, reference: Hashable, repeats: int) -> dict[str, Any]:
    """Time every method ``repeats`` times; one that takes over 3 seconds three times, one over 50 once.

    With the times come AUC and gap of what was timed, at the paper's eleven lambdas: a solver that stops early gives
    other scores. Seconds differ from run to run: these records alone are not the same when they are made again.
    """
    train = ScoreRows(scored.train, scored.y_train, scored.group_train)
    test = ScoreRows(scored.test, scored.y_test, scored.group_test)
    times: dict[str, list[dict[str, Any]]] = {}
    points: dict[str, dict[str, list[float]]] = {}
    for method in METHODS:
        times[method] = []
        while len(times[method]) < _repeats(times[method], repeats):
            timing, outcome = time_method(method, train, test, reference)
            times[method].append(timing._asdict())
        if outcome is not None and outcome.adjusted:
            points[method] = _measured(outcome, test)
    rows = {"train": len(scored.train), "test": len(scored.test), "moved": int((train.group != reference).sum())}
    head = {"data_sha256": scored.sha256, "machine": machine(), "rows": rows}
    return {**head, "times": times, "points": points, "failed": []}


def _measured(outcome: Outcome, test: ScoreRows) -> dict[str, list[float]]:
    return {
        "auc": [auc(test.y, scores) for scores in outcome.adjusted],
        "gap": [xauc_gap(test.y, scores, sensitive_features=test.group) for scores in outcome.adjusted],
    }


def _repeats(times: list[dict[str, Any]], wanted: int) -> int:
    if not times:
        return wanted
    first = times[0]["cpu"]
    if not first < _ONCE_SECONDS:  # NaN: it was not run, and would not be the next time
        return 1
    return min(wanted, _LONG_REPEATS) if first > _LONG_SECONDS else wanted
