"""The last steps of a repair: maps of very many breakpoints get fewer, and scores may become probabilities again."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from fairpot.export.simplify import SimplifiedMaps, spread_knots
from fairpot.inference.certificate import Certificate
from fairpot.repair.calibrating import common_map
from fairpot.repair.choose import Ground
from fairpot.repair.family import Dial, Family
from fairpot.repair.shaped import cut_map, grid_of
from fairpot.table import ScoreTable
from fairpot.tradeoff.curve import TradeoffCurve
from fairpot.tradeoff.rules import Rule
from fairpot.transport import ScoreMap, followed, moving

Maps = Mapping[Hashable, ScoreMap]
# Maps with more breakpoints than this, all together, are simplified to so many: some 4 MB of a map file.
MOST_KNOTS = 100_000
# By how much a rule is kept more strictly where maps will be simplified, and how often breakpoints are doubled.
SLACK, _DOUBLINGS = 1e-5, 6


def whole_maps(family: Family, value: float, table: ScoreTable, keep: str | None) -> dict[Hashable, ScoreMap]:
    """Give the map of every group of a table at a strength; groups that do not take part stay as they are."""
    maps = {g: family.map(g, value) if g in family.moved else ScoreMap.identity() for g in table.groups}
    if keep != "grid":
        return maps
    grid = grid_of(table)
    return {g: each if g in family.moved else cut_map(each, grid) for g, each in maps.items()}


def finish(
    maps: dict[Hashable, ScoreMap],
    table: ScoreTable,
    ground: Ground,
    keep: str | None,
    rule: Rule,
    certificate: Certificate | None = None,
) -> tuple[dict[Hashable, ScoreMap], dict[str, Any] | None]:
    """Simplify maps that have very many breakpoints, so that the rule still holds; then make probabilities if asked."""
    small = None
    if sum(len(each.knots) for each in maps.values()) > MOST_KNOTS:
        small = _simplified(maps, ground, rule, certificate)
    finished, document = (maps, None) if small is None else (small.maps, _document(small, maps, ground))
    if keep == "probabilities":
        then = common_map(table.rescored(moving(finished)))
        finished = followed(finished, then)
    return finished, document


def _simplified(maps: Maps, ground: Ground, rule: Rule, certificate: Certificate | None) -> SimplifiedMaps | None:
    """Take as many breakpoints as it needs for the rule, or what is certified, to hold with the maps delivered."""
    asked = bool(rule.given) or certificate is not None
    for doubling in range(_DOUBLINGS):
        found = spread_knots(maps, MOST_KNOTS * 2**doubling)
        if found.error == 0:
            return None
        if not asked or not ground.table.labelled or _keeps(maps, found.maps, ground, rule, certificate):
            return found
    return None


def _keeps(full: Maps, small: Maps, ground: Ground, rule: Rule, certificate: Certificate | None) -> bool:
    """Whether simplified maps keep the rule on the fitted rows, or what is certified, with what they change of it."""
    counted = _both(full, small, ground)
    if certificate is not None:
        return certificate.spares(abs(counted.gap[1] - counted.gap[0]))
    return bool(counted.judged(Rule(rule.max_gap, rule.max_auc_loss)).allowed(np.ones(2, dtype=bool))[1])


def _both(full: Maps, small: Maps, ground: Ground) -> TradeoffCurve:
    """Count with the full maps and with the small ones: a family whose two strengths are these."""
    steps, places = (full, small), np.arange(2.0)
    map_at = lambda g, place: steps[int(place)].get(g, ScoreMap.identity())  # noqa: E731
    return ground.trace(Family(Dial(high=2.0), ground.table.groups, None, map_at, values=places), places)


def _document(found: SimplifiedMaps, full: Maps, ground: Ground) -> dict[str, Any]:
    """Say what simplifying changes, for map files and JSON; AUC and gap are None where there are no outcomes."""
    before, after = (sum(pair[i] for pair in found.knots.values()) for i in (0, 1))
    changes: dict[str, float | None] = {"auc_change": None, "gap_change": None}
    if ground.table.labelled:
        counted = _both(full, found.maps, ground)
        changes = {"auc_change": float(np.diff(counted.auc)[0]), "gap_change": float(np.diff(counted.gap)[0])}
    return {"largest_error": found.error, "knots_before": before, "knots": after, **changes}


def in_words(content: Mapping[str, Any]) -> str:
    """Say in a sentence what simplifying changes."""
    auc, gap = content["auc_change"], content["gap_change"]
    effect = "" if gap is None else f"; on the fitted rows AUC changes by {auc:+.1e}, the gap by {gap:+.1e}"
    return (
        f"maps simplified from {content['knots_before']:,} to {content['knots']:,} breakpoints: adjusted scores within "
        f"{content['largest_error']:.2g} of the full maps'{effect}"
    )
