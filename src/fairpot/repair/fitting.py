"""What a fit does: check what is asked, learn, choose a strength, and say what must be known before it is trusted."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np

from fairpot._arguments import argument
from fairpot._defaults import TIES
from fairpot._validation import check_choice, check_level, check_top
from fairpot._warn import warn_user
from fairpot.counting import kept_groups
from fairpot.exceptions import FairpotWarning, InfeasibleRuleError
from fairpot.inference.certificate import Certificate
from fairpot.inference.dial import Cut
from fairpot.repair.certify import certify
from fairpot.repair.choose import Ground, Look, choose, curve, passing_over
from fairpot.repair.family import Family
from fairpot.repair.finish import MOST_KNOTS, SLACK, finish, whole_maps
from fairpot.repair.groups import find_reference, require_outcomes, warn_of_table
from fairpot.repair.own_dials import OwnSearch, Way, along, choose_own, looked_at
from fairpot.repair.registry import methods, such_as, takes_reference
from fairpot.repair.shaped import Learn, grid_of, in_region, on_grid
from fairpot.table import ScoreTable, Top
from fairpot.tradeoff.building import keeps_order
from fairpot.tradeoff.choice import Choice
from fairpot.tradeoff.curve import TradeoffCurve, TradeoffPoint
from fairpot.tradeoff.rules import Rule
from fairpot.transport import Floats, moving, weight_to_reach

if TYPE_CHECKING:
    from fairpot.repair.estimator import Repair

RULES = ("max_gap", "max_auc_loss", "net_benefit_at")
_CHOICES = {"ties": TIES, "top_of": ("all", "group"), "repair": ("all", "top"), "keep": ("grid", "probabilities")}
# Where one method misses a target the others are looked at on so many entries of a group, at so many strengths; of
# more groups than this, not at all.
_FEW_ENTRIES, _LOOKS, _TRIED_GROUPS = 125, 21, 8


@dataclass(frozen=True, eq=False)
class Fit:
    """What a fit works with: how to learn, what was learnt, where it is judged, and the way of several groups."""

    learn: Learn
    family: Family
    ground: Ground
    cut: Cut | None = None  # where a repair of the top alone begins
    way: Way | None = None

    @property
    def final(self) -> Family:
        """The family whose one strength is turned."""
        return self.family if self.way is None else along(self.family, self.way)

    def again(self, rows: ScoreTable) -> Family:
        """Learn from other rows, the best way of several groups included."""
        family = self.learn(rows)
        return family if self.way is None else along(family, OwnSearch(family, replace(self.ground, table=rows)).way())

    @cached_property
    def _seen(self) -> TradeoffCurve:
        """What every rule looks at first on the way of several groups; of very many entries, on fewer of them."""
        return curve(self.final, looked_at(self.ground))

    def chosen(self, rule: Rule) -> TradeoffPoint:
        """Choose by rule, on the fitted rows or on others: the way of several groups is that of the fitted ones."""
        if self.way is not None and not self.ground.fitted:
            return choose(self.final, self.ground, rule)
        return self.search(rule)[1]

    def search(self, rule: Rule) -> tuple[Fit, TradeoffPoint]:
        """Choose by rule; of several groups the choice becomes a point of their way.

        Maps of very many breakpoints will be simplified: where a repair is needed, its gap is kept by a hair more.
        """
        entries = sum(len(counts.score) for counts in self.ground.table.counts)
        if rule.max_gap is None or rule.max_gap <= SLACK or not self.ground.fitted or entries <= MOST_KNOTS:
            return self._searched(rule)
        if self.final.dial.identity is not None and self.ground.gap_before() <= rule.max_gap:
            return self._searched(rule)
        try:
            return self._searched(replace(rule, max_gap=rule.max_gap - SLACK))
        except InfeasibleRuleError:  # nothing keeps more than was asked for
            return self._searched(rule)

    def _searched(self, rule: Rule) -> tuple[Fit, TradeoffPoint]:
        with passing_over():
            if self.way is None:
                return self, choose(self.family, self.ground, rule)
            way, point = choose_own(self.family, self.ground, rule, self.way, self._seen)
            return replace(self, way=way), point


def rule_of(model: Repair) -> Rule:
    """Give the rule that a model has been given."""
    return Rule(*(getattr(model, each) for each in RULES))


def check_parameters(model: Repair, labelled: bool) -> None:
    """Check the parameters, and that outcomes are there if they are needed."""
    name, given = model.dial.name, getattr(model, model.dial.name)
    rule = rule_of(model).checked()
    for each, choices in _CHOICES.items():
        if each != "keep" or model.keep is not None:
            check_choice(getattr(model, each), each, choices)
    if not isinstance(getattr(model, "monotone", False), bool | np.bool_):
        raise TypeError(f"monotone must be True or False, got {vars(model)['monotone']!r}.")
    if model.reference is not None and not takes_reference(type(model)):
        raise ValueError(
            f"{argument('reference', model.reference)} names a group whose scores do not change, and "
            f"{type(model).__name__} moves all groups.\nHint: leave it out, or take {such_as(takes_reference)}."
        )
    if model.top is not None:
        check_top(model.top)
    elif model.repair == "top" or model.top_of == "group":
        what = argument("repair", "top") if model.repair == "top" else argument("top_of", "group")
        raise ValueError(f"{what} says something of the top, and no top is given.\nHint: add {argument('top', 0.1)}.")
    if rule.given and given is not None:
        raise ValueError(
            f"{argument(next(iter(rule.given)))} is a rule for choosing {name}, but {argument(name, given)} is given.\n"
            "Hint: leave one of them out."
        )
    if model.confidence is not None:
        check_level(model.confidence, "confidence")
        if given is not None or model.max_gap is None:
            asked = f"confidence={model.confidence!r}"
            raise ValueError(
                f"{asked} certifies a choice of {name} by max_gap.\nHint: {name}=None, max_gap=0.05, {asked}."
            )
    if given is not None:
        model.dial.check(given, name)
    if model.keep == "probabilities" and model.net_benefit_at is not None:
        raise ValueError(
            f"{argument('net_benefit_at')} is judged at every repair strength by scores as the repair leaves them, and "
            f"{argument('keep', 'probabilities')} gives them another meaning once the strength is chosen.\n"
            "Hint: leave one of them out."
        )
    if not labelled:
        _check_without_outcomes(model, rule)


def _check_without_outcomes(model: Repair, rule: Rule) -> None:
    name = model.dial.name
    if model.keep == "probabilities":
        raise ValueError(
            f"{argument('y')} is missing: {argument('keep', 'probabilities')} learns from outcomes what a score "
            "means.\nHint: pass it, or leave keep out."
        )
    if model._needs_outcomes:
        raise ValueError(
            f"{type(model).__name__} looks at outcomes and needs y.\n"
            f"Hint: pass y. {such_as(lambda kind: not kind._needs_outcomes)} does without, given a strength, and a "
            "reference where one group stays."
        )
    wanted = [name] if getattr(model, name) is None else []
    wanted += ["reference"] if model.reference is None and takes_reference(type(model)) else []
    if wanted:
        chosen = f"{name} is chosen by its effect on outcomes"
        why = chosen if wanted[0] == name else "who is ranked higher is seen from outcomes"
        stays = " (the group whose scores do not change)" if "reference" in wanted else ""
        raise ValueError(
            f"{argument('y')} is missing: {why}.\n"
            f"Hint: pass it, or give {' and '.join(argument(each, ...) for each in wanted)}{stays}."
        )


def learner(model: Repair, reference: Hashable | None, grid: Floats | None, cut: Cut | None) -> Learn:
    """Make the function from a table to a family: the method's own, for the top alone and on a grid where asked."""
    taken = [name for name in signature(type(model).learn).parameters if hasattr(model, name)]
    own = {name: getattr(model, name) for name in taken} | ({"reference": reference} if "reference" in taken else {})
    learn: Learn = partial(type(model).learn, **own)
    if cut is not None:
        learn = in_region(learn, cut)
    return learn if grid is None else lambda table: on_grid(learn(table), grid)


def start(model: Repair, kept: ScoreTable, table: ScoreTable, chosen: bool = False) -> Fit:
    """Find where the repair is judged and which group stays, and learn; with ``chosen`` insist on outcomes."""
    top, cut = None if model.top is None else kept.find_top(model.top, model.top_of), None
    ground, rows = Ground(kept, model.ties, top, fitted=True), kept
    if top is not None and model.repair == "top":
        cut = Cut(top, kept.starts(top))
        above = kept.above(cut.starts)
        rows = above if all(len(c.score) for c in above.counts) else kept
        if _is_found_again(kept, above, top):
            ground = replace(ground, top=None, cut=cut)
    if chosen:
        require_outcomes(rows, None if cut is None else cut.top.size)
    reference = None
    if takes_reference(type(model)):
        reference = find_reference(rows, model.reference, model.ties, kept)
    grid = grid_of(table) if model.keep == "grid" else None
    learn = learner(model, reference, grid, cut)
    return Fit(learn, learn(kept), ground, cut)


def _is_found_again(table: ScoreTable, above: ScoreTable, top: Top) -> bool:
    """Whether the rows above a cut are the top of the list whatever their order: without any of them it is too small.

    Where ties, or weights, make it larger than was asked for, the top of the adjusted list is another one, and a repair
    of the top is judged there: in the list that an audit of the adjusted rows sees.
    """
    everyone = tuple(range(len(table.groups)))
    for places in [everyone] if top.top_of == "all" else [(g,) for g in everyone]:
        total = sum(table.counts[g].weight.sum().item() for g in places)
        inside = sum(above.counts[g].weight.sum().item() for g in places)
        lightest = min(
            (float(c.weight.min()) for c in map(above.counts.__getitem__, places) if len(c.score)), default=np.inf
        )
        if inside - lightest >= weight_to_reach(top.share, total):
            return False
    return True


def begin(model: Repair, kept: ScoreTable, table: ScoreTable | None = None) -> Fit:
    """Learn, and find the way of several groups: all that a choice by rule begins with."""
    fit = start(model, kept, kept if table is None else table, chosen=True)
    if fit.family.reach is None or len(fit.family.moved) < 2:
        return fit
    seen = kept if fit.ground.top is None else kept.above(kept.starts(fit.ground.top))
    if len(seen.groups) < len(kept.groups) or not ((seen.positives > 0) & (seen.negatives > 0)).all():
        return fit  # own strengths are looked for in the top of the original scores, and there no gap can be measured
    return replace(fit, way=OwnSearch(fit.family, fit.ground).way())


def fitted(model: Repair, table: ScoreTable) -> dict[str, Any]:
    """Fit: learn, choose a strength, and say what is to be known before it is trusted."""
    kept = kept_groups(table)
    left_out = tuple(g for g in table.groups if g not in kept.groups)
    warn_of_table(kept, table)
    said = {"groups": None if table.only_groups is None else [*table.only_groups], "min_group": table.min_group}
    table = replace(table, only_groups=None, min_group=0)  # what was asked for is done by now
    rule, given = rule_of(model), getattr(model, model.dial.name)
    chosen = given is None
    fit, certificate = begin(model, kept, table) if chosen else start(model, kept, table), None
    if model.confidence is not None:
        strength, certificate = certify(fit.final, fit.again, fit.ground, rule, float(model.confidence))
        if certificate.adjusted and model.keep == "probabilities":  # adjusted scores are on another scale then
            maps, _ = finish(whole_maps(fit.final, strength, table, None), table, fit.ground, model.keep, rule)
            moved = kept.rescored(moving({g: maps[g] for g in kept.groups}))
            certificate = replace(certificate, starts=moved.starts(fit.ground.top or Top(1.0)))
        certificate = replace(certificate, lower_is_riskier=table.lower_is_riskier)
    elif chosen:
        try:
            fit, point = fit.search(rule)
        except InfeasibleRuleError as error:
            raise InfeasibleRuleError(f"{error}{_other_methods(model, fit, rule)}") from error
        strength = point.lam
    else:
        strength = fit.family.dial.check(given, model.dial.name)
        _warn_of_flat(fit, strength)
    if chosen:
        _warn_of_needless(type(model).__name__, fit, rule, certificate)
    where, starts = fit.cut, None
    if where is not None:  # groups that are left out have a place in the top of all rows, but no part in finding it
        starts = table.starts(where.top) | dict(where.starts)
    about = {"groups_": table.groups, "left_out_": left_out, "reference_": fit.family.reference, "starts_": starts}
    about |= {"strength_": strength, "certificate_": certificate, "table_": table.nameless(), "n_features_in_": 1}
    return about | {"_fit": fit, "_fit_given": said, "_fit_made": {}}


def _other_methods(model: Repair, fit: Fit, rule: Rule) -> str:
    """Name the methods that could keep the rule, by a look at few entries of each group; or say that none seems to."""
    few = fit.ground.merged(_FEW_ENTRIES).table
    if rule.max_gap is None or len(few.groups) > _TRIED_GROUPS:
        return ""
    tried = [other for other in methods().values() if other is not type(model) and not other._costly]
    asked = {name: getattr(model, name) for name in (*RULES, "top", *_CHOICES)}
    found = []
    for other in tried:
        own: dict[str, Any] = {"reference": fit.family.reference} if takes_reference(other) else {}
        try:
            learnt = start(other(**asked, **own), few, few, chosen=True)
            if _could_keep(learnt.family, learnt.ground, rule):
                found.append(other.__name__)
        except ValueError:  # it is not for these scores
            continue
    if found:
        return f" {' or '.join(found)} could reach it, on a look at few rows."
    return f" On a look at few rows none of {', '.join(other.__name__ for other in tried)} seems to reach it either."


def _could_keep(family: Family, ground: Ground, rule: Rule) -> bool:
    """Look at few strengths: whether one keeps the rule, or the gap changes its sign between two that may."""
    with passing_over():
        look = Look(family, ground, guide=True)
        values = family.values[np.unique(np.linspace(0, len(family.values) - 1, _LOOKS).round().astype(np.intp))]
        seen = look.trace(values)
        points = [seen]
        if family.reach is not None and len(family.moved) > 1:
            own = {g: _alone(family, ground, g) for g in family.moved}
            points.append(Look(along(family, Way.only(own)), ground).trace(np.array([0.5])))
    asked = Rule(rule.max_gap, rule.max_auc_loss)
    if any(Choice(each, asked).allowed(Choice(each, asked).defined()).any() for each in points):
        return True
    usable = Choice(seen, asked).defined()
    within = usable & Choice(seen, Rule(max_auc_loss=rule.max_auc_loss)).allowed(usable)
    turns = (np.diff(np.sign(seen.signed_gap)) != 0) & within[1:] & within[:-1]
    return family.finer is not None and len(ground.table.groups) == 2 and bool(turns.any())


def _alone(family: Family, ground: Ground, group: Hashable) -> float:
    """Give the strength at which a group's gap with the one that stays is about 0, or least."""
    assert family.reach is not None
    reach = family.reach(group)
    two = [family.reference, group]
    pair = replace(family, groups=tuple(g for g in family.groups if g in two))
    values = reach[np.unique(np.linspace(0, len(reach) - 1, _LOOKS).round().astype(np.intp))]
    gap = Look(pair, replace(ground, table=ground.table.only(two))).trace(values).signed_gap
    turns = np.flatnonzero(gap[1:] * gap[:-1] < 0)
    if len(turns) == 0:
        return float(values[np.nanargmin(np.abs(gap))])
    k = turns[0]
    return float(values[k] + (values[k + 1] - values[k]) * gap[k] / (gap[k] - gap[k + 1]))


def _warn_of_flat(fit: Fit, value: float) -> None:
    if not keeps_order(fit.ground.rows, fit.final.maps(value)):
        warn_user(
            f"{fit.final.dial.name} = {value:.4g} makes all scores of a group equal: nothing is left of the order "
            "inside it.\nHint: another value; a rule, such as max_gap, never chooses this one.",
            FairpotWarning,
        )


def _warn_of_needless(method: str, fit: Fit, rule: Rule, certificate: Certificate | None) -> None:
    """Say that the scores keep the rule as they came, where the method has no strength that leaves them so."""
    if fit.final.dial.identity is not None or rule.max_gap is None:
        return
    gap = fit.ground.gap_before() if certificate is None else certificate.gap_before.high
    if gap <= rule.max_gap:
        said = "is" if certificate is None else "is at most"
        warn_user(
            f"no repair needed: the gap of the original scores {said} {gap:.3g}, within "
            f"{argument('max_gap', rule.max_gap)}; {method} has no {fit.family.dial.name} that changes nothing and "
            "moves scores all the same.\n"
            f"Hint: keep the original scores, or use {such_as(lambda kind: kind.dial.whole)}, which then leaves "
            "them as they are.",
            FairpotWarning,
        )
