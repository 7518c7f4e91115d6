"""What a fit has to say before its result is trusted."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fairpot._arguments import argument
from fairpot._defaults import Ties
from fairpot._warn import warn_user
from fairpot.exceptions import FairpotWarning, TiesWarning
from fairpot.inference.certify import Certificate
from fairpot.metrics.cells import tied_pairs
from fairpot.metrics.wins import WinMatrix
from fairpot.repair.choose import passing_over, reaches
from fairpot.repair.ground import Ground
from fairpot.tradeoff.building import keeps_order
from fairpot.tradeoff.rules import Rule

if TYPE_CHECKING:
    from fairpot.repair.estimator import Fit

# A share of tied pairs from which it is worth asking whether the other convention would choose otherwise.
_WORTH_A_LOOK = 1e-4
_VISIBLE = 5e-5


def warn_of_choice(fit: Fit, rule: Rule, chosen: float) -> None:
    """Say where the other convention for ties would choose another strength, or sees a gain for a loss."""
    ground, dial = fit.ground, fit.final.dial
    if tied_pairs(ground.rows) < _WORTH_A_LOOK:
        return
    ties = ground.ties
    other: Ties = "strict" if ties == "half" else "half"
    there = replace(ground, ties=other)
    if fit.way is None:
        point = reaches(fit.family, there, rule)
        if point is None:
            warn_user(f"ties matter: with ties={other!r} no {dial.name} keeps the rule.", TiesWarning)
            return
        if dial.far_apart(chosen, point.lam):
            warn_user(
                f"ties matter: {dial.name} = {chosen:.4g} is chosen with ties={ties!r}, {point.lam:.4g} with "
                f"ties={other!r}.\n"
                "Hint: 'half' is scikit-learn's convention, 'strict' the paper's; say which you report.",
                TiesWarning,
            )
            return
    with passing_over():
        traced = {each.ties: each.trace(fit.final, np.array([chosen])) for each in (ground, there)}
    cost = {how: float(each.unmoved_auc - each.auc[0]) for how, each in traced.items()}
    if min(cost.values()) < -_VISIBLE and max(cost.values()) > _VISIBLE:
        warn_user(
            f"ties matter: the repair costs {cost[ties]:+.4f} AUC with ties={ties!r}, {cost[other]:+.4f} with "
            f"ties={other!r}: one of them shows a loss as a gain.",
            TiesWarning,
        )


def warn_of_flat(fit: Fit, value: float) -> None:
    """Say that a strength which was not chosen by a rule makes all scores of a group equal."""
    if not keeps_order(fit.ground.rows, fit.final.maps(value)):
        warn_user(
            f"{fit.final.dial.name} = {value:.4g} makes all scores of a group equal: nothing is left of the order "
            "inside it.\nHint: another value; a rule, such as max_gap, never chooses this one.",
            FairpotWarning,
        )


def warn_of_needless(method: str, fit: Fit, rule: Rule, certificate: Certificate | None) -> None:
    """Say that the scores keep the rule as they came, where the method has no strength that leaves them so."""
    if fit.final.dial.identity is not None or rule.max_gap is None:
        return
    gap = _gap_before(fit.ground) if certificate is None else certificate.gap_before.high
    if gap <= rule.max_gap:
        said = "is" if certificate is None else "is at most"
        warn_user(
            f"no repair needed: the gap of the original scores {said} {gap:.3g}, within "
            f"{argument('max_gap', rule.max_gap)}; {method} has no {fit.family.dial.name} that changes nothing and "
            "moves scores all the same.\n"
            "Hint: keep the original scores, or use FairPOT or WassersteinRepair, which then leave them as they are.",
            FairpotWarning,
        )


def _gap_before(ground: Ground) -> float:
    """Measure the gap of the scores as they came, in the part of the list that the rule looks at."""
    rows = ground.rows if ground.top is None else ground.table.top(*ground.top)
    with passing_over():
        first, second = WinMatrix.of(rows, ground.ties).widest()
    return abs(first - second)
