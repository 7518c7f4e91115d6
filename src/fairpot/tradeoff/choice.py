"""Choice: what every point of a curve is worth under a rule, the best of them, and what to say if none keeps it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fairpot._arguments import argument
from fairpot._validation import wording
from fairpot.exceptions import InfeasibleRuleError
from fairpot.tradeoff.rules import Rule
from fairpot.transport import Floats

if TYPE_CHECKING:
    from fairpot.tradeoff.curve import TradeoffCurve, TradeoffPoint

# Metrics are quotients of exact counts: values this close are the same value.
ROUND_OFF = 1e-12
# Points a search looks closer at, of each kind.
_SPOTS = 3


@dataclass(frozen=True, eq=False)
class Choice:
    """What every point of a curve is judged by under a rule."""

    curve: TradeoffCurve
    rule: Rule
    benefit: Floats | None = None

    def chosen(self) -> TradeoffPoint:
        """Choose by the rule; say what can be had if nothing keeps it."""
        usable = self.usable()
        allowed = self.allowed(usable)
        if not allowed.any():
            raise InfeasibleRuleError(self._best_instead(usable))
        curve, unmoved = self.curve, self.curve.unmoved
        if self.rule.max_gap is not None and unmoved is not None and allowed[unmoved]:
            said = f"the {curve.gap_name} is {curve.gap[unmoved]:.3g}, within {self.rule.max_gap:g}"
            return replace(self._point(unmoved), note=f"no repair needed: {said}")
        return self._point(self._best(np.flatnonzero(allowed)))

    def spots(self) -> list[int]:
        """Give the places to look closer at: the choice and its rivals, and where the rule begins to hold."""
        usable = self.defined()
        if not usable.any():
            return []
        allowed, gap = self.allowed(usable), self._gaps(usable)
        signs = np.flatnonzero(np.diff(np.sign(self.curve.signed_gap)) != 0)
        if not allowed.any():
            return [*np.argsort(gap, kind="stable")[:_SPOTS].tolist(), *signs[:_SPOTS].tolist()]
        worth = np.where(allowed, self.worth(), -np.inf)
        peaks = np.flatnonzero((worth >= np.append(worth[1:], -np.inf)) & (worth >= np.append(-np.inf, worth[:-1])))
        peaks = peaks[np.isfinite(worth[peaks])]
        order = peaks[np.argsort(-worth[peaks], kind="stable")]
        edges = np.flatnonzero(allowed[1:] != allowed[:-1])
        edges = edges + np.where(allowed[edges], 0, 1)  # the allowed side of each
        edges = edges[np.argsort(-worth[edges], kind="stable")]
        found = [self._best(np.flatnonzero(allowed)), *order[:_SPOTS].tolist(), *edges[:_SPOTS].tolist()]
        return found if self.rule.max_gap is not None else [*found, *signs[:_SPOTS].tolist()]

    def merit(self) -> float:
        """Say how good the best point is: what it is worth, or how far it is from keeping the rule."""
        usable = self.defined()
        if not usable.any():
            return -np.inf
        allowed = self.allowed(usable)
        return float(self.worth()[allowed].max()) if allowed.any() else -10.0 - float(self._gaps(usable).min())

    def order(self) -> NDArray[np.intp]:
        """Order all places from the best on: those that keep the rule first, then by how much they miss it."""
        usable = self.defined()
        allowed = self.allowed(usable)
        missed = np.where(usable, self._missed(), np.inf)
        return np.lexsort((-np.nan_to_num(self.worth(), nan=-np.inf), np.where(allowed, 0.0, missed)))

    def edge(self) -> tuple[int, int] | None:
        """Find two neighbours between which a better point may lie: where the rule ends beside the best that keeps it.

        Where nothing keeps it, or the smallest gap is wanted, that is where the gap changes its sign.
        """
        usable = self.defined()
        if not usable.any():
            return None
        allowed = self.allowed(usable)
        if (self.rule.max_gap is None and self.rule.max_auc_loss is None) or not allowed.any():
            signs = np.flatnonzero(np.diff(np.sign(self.curve.signed_gap)) != 0)
            nearest = int(np.argmin(self._gaps(usable)))
            beside = [k for k in signs.tolist() if k <= nearest <= k + 1]
            return (beside[0], beside[0] + 1) if beside else None
        best = self._best(np.flatnonzero(allowed))
        for other in (best - 1, best + 1):
            if 0 <= other < len(allowed) and not allowed[other] and usable[other]:
                return min(best, other), max(best, other)
        return None

    def slack(self, edge: tuple[int, int]) -> Floats:
        """Give what becomes 0 between two neighbours: by how much the rule is kept, or the signed gap."""
        curve, rule, pair = self.curve, self.rule, list(edge)
        allowed = self.allowed(self.defined())[pair]
        if allowed[0] == allowed[1]:
            return curve.signed_gap[pair]
        kept = np.full(2, np.inf)
        if rule.max_gap is not None:
            kept = np.minimum(kept, rule.max_gap - curve.gap[pair])
        if rule.max_auc_loss is not None:
            kept = np.minimum(kept, rule.max_auc_loss - (curve.unmoved_auc - curve.auc[pair]))
        return kept

    def _missed(self) -> Floats:
        missed = np.zeros(len(self.curve))
        if self.rule.max_auc_loss is not None:
            missed += np.maximum(self.curve.unmoved_auc - self.curve.auc - self.rule.max_auc_loss, 0.0)
        if self.rule.max_gap is not None:
            missed += np.maximum(self.curve.gap - self.rule.max_gap, 0.0)
        return missed

    def usable(self) -> NDArray[np.bool_]:
        """Mark the points that a rule may choose: those that are defined, and leave groups in some order."""
        curve, usable = self.curve, self.defined()
        if usable.any():
            return usable
        if not np.isnan(curve.gap).all() and not np.isnan(curve.auc).all():
            raise InfeasibleRuleError(
                f"no {curve.dial} can be chosen: each makes all scores of a group equal.\n"
                f"Hint: trace other values of {curve.dial}, or try another method."
            )
        if curve.top is not None:
            raise InfeasibleRuleError(
                f"no {curve.dial} can be chosen: {wording.among(curve.top)} some group has nobody with, or "
                "nobody without, the outcome, whatever the repair.\n"
                f"Hint: give a larger {argument('top')}, or leave small groups out, {argument('min_group', ...)}"
            )
        raise InfeasibleRuleError(
            f"no {curve.dial} can be chosen: the xAUC gap or the AUC is undefined on these rows.\n"
            "Hint: rows with and without the outcome are needed in every group."
        )

    def allowed(self, usable: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Mark the points that keep the rule."""
        allowed = usable.copy()
        if self.rule.max_auc_loss is not None:
            allowed &= self.curve.unmoved_auc - self.curve.auc <= self.rule.max_auc_loss + ROUND_OFF
        if self.rule.max_gap is not None:
            allowed &= self.curve.gap <= self.rule.max_gap + ROUND_OFF
        return allowed

    def _point(self, place: int) -> TradeoffPoint:
        benefit = None if self.benefit is None else float(self.benefit[place])
        return replace(self.curve.point(place), net_benefit=benefit)

    def defined(self) -> NDArray[np.bool_]:
        """Mark the points that are defined and leave groups in some order."""
        curve = self.curve
        defined = ~(np.isnan(curve.gap) | np.isnan(curve.auc))
        return defined if curve.orders is None else defined & curve.orders

    def worth(self) -> Floats:
        """What a point is worth: within a gap net benefit, or AUC, not counting what is above that of before."""
        if self.rule.max_gap is None:
            return -self.curve.gap
        if self.benefit is not None:
            return self.benefit
        # Chance and ties add AUC on the fitted rows: no reason to move more.
        return self.curve.auc if self.curve.identity is None else np.minimum(self.curve.auc, self.curve.unmoved_auc)

    def _best(self, places: NDArray[np.intp]) -> int:
        """Find the best of some places; of equals the one nearest to the scores as they came."""
        worth = self.worth()[places]
        equals = places[worth >= worth.max() - ROUND_OFF]
        if self.rule.max_gap is None:  # of equal gaps the highest AUC
            auc = self.curve.auc[equals]
            equals = equals[auc >= auc.max() - ROUND_OFF]
        if self.curve.identity is None:
            return int(equals[0])
        return int(equals[np.argmin(np.abs(self.curve.lam[equals] - self.curve.identity))])

    def _gaps(self, usable: NDArray[np.bool_]) -> Floats:
        return np.where(usable, self.curve.gap, np.inf)

    def _best_instead(self, usable: NDArray[np.bool_]) -> str:
        curve, max_gap, max_auc_loss = self.curve, self.rule.max_gap, self.rule.max_auc_loss
        if max_gap is None:
            best = int(np.nanargmax(np.where(usable, curve.auc, np.nan)))
            rule = f"no repair strength keeps {argument('max_auc_loss', max_auc_loss)}"
            return (
                f"{rule}: the highest AUC is {curve.auc[best]:.3g} at {curve.dial}={curve.lam[best]:.6g}.\n"
                f"Hint: allow a larger {argument('max_auc_loss')}, or try another method."
            )
        smallest = int(np.argmin(self._gaps(usable)))
        message = f"no repair strength keeps {argument('max_gap', max_gap)}"
        if max_auc_loss is not None:
            message += f" and {argument('max_auc_loss', max_auc_loss)} together"
        message += f": the smallest {curve.gap_name} is {self._described(smallest)}"
        if max_auc_loss is not None:
            message += f", a loss of {curve.unmoved_auc - curve.auc[smallest]:.3g}"
            within = np.flatnonzero(usable & (curve.unmoved_auc - curve.auc <= max_auc_loss))
            if len(within):
                near = int(within[np.nanargmin(curve.gap[within])])
                message += f"); within that loss it is {self._described(near)}"
        reached = np.ceil(1000 * float(curve.gap[smallest]) - 1e-9) / 1000
        way = f"accept {argument('max_gap', float(reached))}, which this method reaches here"
        if max_auc_loss is not None:
            way = "allow a larger gap or a larger loss"
        if curve.pairs is not None:
            way += f", or leave small groups out with {argument('min_group', ...)}"
        return f"{message}).\nHint: {way}."

    def _described(self, place: int) -> str:
        curve = self.curve
        return f"{curve.gap[place]:.3g} at {curve.dial}={curve.lam[place]:.6g} (AUC {curve.auc[place]:.3g}"
