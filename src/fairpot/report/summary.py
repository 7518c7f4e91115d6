"""A report as plain numbers: dicts, lists, texts and None, ready for JSON."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fairpot._defaults import LEVEL, Ties
from fairpot._html import short
from fairpot._version import __version__
from fairpot.auditing.gains import own_scale_moves
from fairpot.auditing.measures import MOST_GROUPS, tops
from fairpot.auditing.measures import Measured as Audited
from fairpot.auditing.queue import SMALLEST_BAND
from fairpot.auditing.words import name_of
from fairpot.counts import GroupCounts
from fairpot.inference import Changes, Estimate
from fairpot.inference.dial import DialEstimates, estimate_steps
from fairpot.inference.limits import fold
from fairpot.metrics.cells import SMALL
from fairpot.report.measure import MOST_ENTRIES, Measured, Setting, audited_xauc, entries
from fairpot.table import ScoreTable
from fairpot.tradeoff import Limit, LimitBracket, TradeoffCurve
from fairpot.transport import Floats

SCHEMA = 2
_MOST_PAIRS = 300
# So many gaps of pairs are estimated together.
_TOGETHER = 300
# Letters of a group's name in sentences, tables and pictures.
_LONGEST_NAME = 60
# With more groups than this the limit is not looked for.
_MOST_IN_BRACKET = 8
# Calibration that gets this many times worse, and visibly so, is said in words; so are ties that matter.
_BOTH: tuple[Ties, Ties] = ("strict", "half")
_SEVERAL, _VISIBLE, _VISIBLE_TIES = 2.0, 0.01, 0.005


@dataclass(frozen=True)
class About:
    """What the numbers cannot say of themselves."""

    title: str = ""
    source: str = ""
    outcome: str = "the outcome"
    columns: Mapping[str, Any] = field(default_factory=dict)
    command: str = ""
    created: str = ""
    ties: str = "half"
    method: Mapping[str, Any] | None = None
    same_rows: bool = False
    left_out: Mapping[str, float] = field(default_factory=dict)
    warnings: Sequence[str] = ()
    largest_changes: Sequence[Mapping[str, Any]] | None = None
    card: Mapping[str, list[str]] | None = None
    trust: Mapping[str, Any] | None = None
    calibration: Sequence[Mapping[str, Any]] | None = None


def summarise(found: Measured, about: About) -> dict[str, Any]:
    """Sum up what was measured.

    Returns
    -------
    dict
        ``data``, ``method``, ``before`` and ``after`` (the scores as they came, and at the reported setting),
        ``changes`` from the one to the other with their intervals, ``dial`` with the numbers at every setting,
        ``curve``, ``who`` (who crosses which threshold), ``bands``, ``warnings`` and ``origin``. What has no pairs to
        count is None.
    """
    settings = [_numbers(found, setting) for setting in found.settings]
    chosen = found.dial.chosen
    ties: Ties = "half" if about.ties == "half" else "strict"
    known = _gaps_of_settings(found, ties)
    for place, numbers in enumerate(settings):
        _put_limits(found, place, numbers, known)
    for place in {0, chosen}:
        settings[place]["intervals"] = _intervals(found, place)
    first, second = (str(found.groups[g]) for g in found.pair)
    content = {
        "schema": SCHEMA,
        "title": about.title,
        "card": about.card,
        "data": _data(found, about),
        "pair": {"higher": first, "lower": second},
        "listed": found.listed,
        "ties": about.ties,
        "finding": {**found.finding.to_dict(), "who": found.finding.who},
        "trust": about.trust,
        "calibration": _stages_by_name(about.calibration),
        "method": None if about.method is None else dict(about.method),
        "before": settings[0],
        "after": settings[chosen] if about.method is not None else None,
        "changes": None if found.changes is None else _changes(found.changes),
        "dial": {
            "name": found.dial.name,
            "values": found.dial.values,
            "strengths": found.dial.strengths(),
            "chosen": chosen,
            "settings": settings,
        },
        "curve": _curve(found),
        "limit": _limit(found, ties),
        "band": gap_band(found, settings),
        "who": _who(found),
        "queue": _queue(found),
        "bands": _bands(found),
        "largest_changes": None if about.largest_changes is None else [dict(c) for c in about.largest_changes],
        "warnings": _warnings(found, about),
        "origin": _origin(about),
    }
    return plain(content)


# Where a summary names groups: keys whose values are names, or lists of them.
_NAMES = {"group", "groups", "higher", "lower", "first", "second", "reference", "ranked_higher", "ranked_lower"}
_NAMES |= {"small_groups", "moved"}
_SINGLE = {"group", "reference"}


def shown_names(groups: Sequence[Hashable], columns: Mapping[str, Any]) -> dict[str, str]:
    """Call groups by what people read: numbers and booleans by their column as well, and no name too long for a line.

    Examples
    --------
    >>> shown_names((0, 1), {"group": "black"})
    {'0': 'black=0', '1': 'black=1'}
    """
    parts = [part for part in str(columns.get("group") or "").split(" x ") if part]
    names = [str(name_of(group, parts)) for group in groups]
    cut = [short(name, _LONGEST_NAME) for name in names]
    return dict(zip(map(str, groups), cut if len(set(cut)) == len(set(names)) else names))


def renamed(summary: dict[str, Any], found: Measured, names: Mapping[str, str]) -> dict[str, Any]:
    """Call the groups of a summary by other names, for people; the JSON document has them as they are."""

    def again(tree: Any, key: str = "") -> Any:
        if isinstance(tree, dict):
            return {name: again(each, name) for name, each in tree.items()}
        if isinstance(tree, list):
            return [again(each, key) for each in tree]
        if key in _SINGLE and isinstance(tree, bool | int | float):  # groups that are no texts
            return names.get(str(tree), tree)
        return names.get(tree, tree) if key in _NAMES and isinstance(tree, str) else tree

    finding = found.finding.named(lambda group: names[str(group)])
    return {**again(summary), "finding": {**plain(finding.to_dict()), "who": finding.who}}


def plain(value: Any) -> Any:
    """Turn arrays, tuples and odd names into what JSON knows; what is no number is None."""
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def _origin(about: About) -> dict[str, Any]:
    return {
        "library_version": __version__,
        "command": about.command,
        "created": about.created,
        "same_rows": about.same_rows,
    }


def _data(found: Measured, about: About) -> dict[str, Any]:
    table = found.table
    scores = [c.score for c in table.counts if len(c.score)]
    return {
        "source": about.source,
        "outcome": about.outcome,
        "columns": dict(about.columns),
        **_size(table.pooled() if not found.coarse else found.people.pooled()),
        "distinct_scores": sum(len(s) for s in scores) if found.coarse else len(table.pooled().score),
        "score_range": [min(float(s[0]) for s in scores), max(float(s[-1]) for s in scores)],
        "groups": [{"group": str(g), **_size(c)} for g, c in zip(table.groups, table.counts)],
        "small_groups": [str(g) for place, g in enumerate(table.groups) if place not in found.large],
        "weights": table.weights,
        "coarse_bins": len(found.people.pooled().score) if found.coarse else None,
    }


def _size(counts: GroupCounts) -> dict[str, Any]:
    positives, negatives = counts.positive.sum().item(), counts.negative.sum().item()
    rows = positives + negatives
    return {"rows": rows, "positives": positives, "negatives": negatives, "rate": positives / rows if rows else None}


def _numbers(found: Measured, setting: Setting) -> dict[str, Any]:
    """Give the numbers of one setting."""
    a, b = found.pair
    signed = setting.xauc[a, b] - setting.xauc[b, a]
    rows = sum(m["rows"] for m in setting.moves)
    moved = sum(m["moved"] for m in setting.moves)
    before = found.settings[0]
    return {
        "value": setting.value,
        "auc": setting.auc,
        "gap": _largest_gap(setting, found.large),
        "signed_gap": signed,
        "xauc_higher": setting.xauc[a, b],
        "xauc_lower": setting.xauc[b, a],
        "overshoots": bool(signed < 0 <= before.xauc[a, b] - before.xauc[b, a]),
        "top": setting.top,
        "moved": moved,
        "moved_share": moved / rows if rows else None,
        "calibration": _calibration(setting.calibration[-1]),
        "groups": [_group(found, setting, g) for g in range(len(found.groups))],
        "pairs": _pairs(found, setting.xauc, found.settings[0].xauc),
    }


def _group(found: Measured, setting: Setting, g: int) -> dict[str, Any]:
    change = 100 * (setting.places[g] - found.settings[0].places[g])
    return {
        **own_scale_moves([setting.moves[g]], found.table.lower_is_riskier)[0],
        "group": str(found.groups[g]),
        "auc": setting.xauc[g, g],
        "calibration": _calibration(setting.calibration[g]),
        "rank_change": {"positive": change[0], "negative": change[1]},
    }


def _stages_by_name(stages: Sequence[Mapping[str, Any]] | None) -> list[dict[str, Any]] | None:
    """Give calibration by group and step; groups by what they are called, None for all rows."""
    if stages is None:
        return None
    return [{**each, "group": None if each["group"] is None else str(each["group"])} for each in stages]


def _calibration(errors: tuple[float, float] | None) -> dict[str, float] | None:
    if errors is None:
        return None
    return {"error_in_the_large": errors[0], "expected_calibration_error": errors[1]}


def _pairs(found: Measured, xauc: Floats, before: Floats) -> list[dict[str, Any]]:
    """List both xAUC of every two groups, or many of them, the widest gaps of the scores as they came first."""
    listed = []
    for g, h in itertools.combinations(range(len(found.groups)), 2):
        gap = before[g, h] - before[h, g]
        a, b = (g, h) if not gap < 0 else (h, g)
        listed.append(
            {
                "first": str(found.groups[a]),
                "second": str(found.groups[b]),
                "xauc_first": xauc[a, b],
                "xauc_second": xauc[b, a],
                "signed_gap": xauc[a, b] - xauc[b, a],
                "limits": None,
                "small": not {a, b} <= set(found.large),
                "_width": -np.inf if np.isnan(gap) else abs(gap),
            }
        )
    listed.sort(key=lambda each: -each["_width"])
    return [{name: value for name, value in each.items() if name != "_width"} for each in listed[:_MOST_PAIRS]]


def _limited_pairs(pairs: list[dict[str, Any]], gaps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Put the limits of each pair's signed gap beside it, as its audit has them; None where none are honest."""
    limits: dict[tuple[str, str], list[float] | None] = {}
    for each in gaps:
        first, second, low, high = (each[name] for name in ("first", "second", "signed_low", "signed_high"))
        limits[str(first), str(second)] = None if low is None else [low, high]
        limits[str(second), str(first)] = None if low is None else [-high, -low]
    return [{**pair, "limits": limits.get((pair["first"], pair["second"]))} for pair in pairs]


def _largest_gap(setting: Setting, large: list[int]) -> float:
    xauc = setting.xauc[np.ix_(large, large)]
    gaps = np.abs(xauc - xauc.T)[np.triu_indices(len(xauc), 1)]
    gaps = gaps[np.isfinite(gaps)]
    return float(gaps.max()) if len(gaps) else float("nan")


def _curve(found: Measured) -> dict[str, Any] | None:
    """Keep what a picture of the curve needs: a bounded number of its points, the ends and the best among them."""
    curve = found.dial.curve
    if curve is None:
        return None
    few = np.unique(np.linspace(0, len(curve) - 1, min(len(curve), 500)).round().astype(np.intp))
    few = np.union1d(
        few, [int(np.argmax(-np.nan_to_num(curve.gap, nan=2.0))), int(np.argmax(np.nan_to_num(curve.auc)))]
    )
    return {
        "dial": curve.dial,
        "exact": curve.exact,
        "points": len(curve),
        "reference": str(curve.reference),
        "values": curve.lam[few],
        **{name: getattr(curve, name)[few] for name in ("auc", "gap", "signed_gap", "pareto")},
        **{name: column[few].tolist() for name, column in curve.pair_columns().items()},
    }


def _measurable(found: Measured) -> bool:
    """Whether every group has people with and without the outcome."""
    return bool((found.table.positives > 0).all() and (found.table.negatives > 0).all())


def _intervals(found: Measured, place: int) -> dict[str, Any] | None:
    """Give the limits of the key numbers at one setting, as its audit has them; None where none are honest."""
    audit = found.audits[place]
    if not _measurable(found) or audit.whole is None:
        return None
    higher, lower = (found.groups[g] for g in found.pair)
    numbers = {
        "auc": audit.whole.auc,
        "xauc_higher": audit.whole.xauc[higher, lower],
        "xauc_lower": audit.whole.xauc[lower, higher],
        "pair_gap": _folded(audit, higher, lower),
        "gap": audit.whole.gap if len(found.large) == len(found.groups) else audit.numbers["headline"]["gap"],
    }
    return {name: _limits(each) for name, each in numbers.items()}


def _changes(found: Changes) -> dict[str, Any]:
    """Give what changed on the same rows: AUC, and the largest gap with the change of its pair's signed one."""
    return {"auc": found.auc.to_dict(), "gap": found.gap.to_dict()}


def _folded(audit: Audited, higher: Hashable, lower: Hashable) -> Estimate:
    """Give the size of a pair's gap with its limits."""
    assert audit.whole is not None
    signed = audit.whole.signed_gaps
    found = signed[higher, lower] if (higher, lower) in signed else signed[lower, higher]
    low, high = (float(each[0]) for each in fold(np.array([found.low]), np.array([found.high])))
    return Estimate("xauc_gap", abs(found.value), found.se, low, high, found.level, reason=found.reason)


def _limits(found: Estimate) -> list[float] | None:
    return None if found.reason is not None else [found.low, found.high]


def gap_band(found: Measured, settings: Sequence[Mapping[str, Any]]) -> dict[str, list[float]] | None:
    """Give limits of the signed gap at each setting, where two groups are compared on a dial."""
    if len(found.groups) != 2 or len(found.dial) < 3 or found.top is not None:
        return None
    limits = [numbers["pairs"][0]["limits"] for numbers in settings]
    return None if None in limits else {end: [each[k] for each in limits] for k, end in enumerate(("low", "high"))}


@dataclass(frozen=True, eq=False)
class _Gaps:
    """What pairs of groups have at one setting, in the region that the repair works on: xAUC, and limits of gaps."""

    xauc: Floats
    limits: list[dict[str, Any]]


def _gaps_of_settings(found: Measured, ties: Ties) -> list[_Gaps] | None:
    """Estimate the gaps of all pairs at every setting, else of those of large groups; None where none are honest."""
    if len(found.dial) < 2 or len(found.groups) > MOST_GROUPS or not _measurable(found):
        return None
    gaps = _gaps_among(found, range(len(found.groups)), ties)
    few = gaps is None and found.top is None and 2 <= len(found.large) < len(found.groups)
    return _gaps_among(found, found.large, ties) if few else gaps


def _gaps_among(found: Measured, groups: Sequence[int], ties: Ties) -> list[_Gaps] | None:
    pairs = list(itertools.combinations(groups, 2))
    # A covariance of all settings at once would be large, and only those inside a setting are used.
    together = max(1, _TOGETHER // len(pairs))
    gaps: list[_Gaps] = []
    for start in range(0, len(found.dial), together):
        places = range(start, min(start + together, len(found.dial)))
        estimates = _estimated(found, places, groups, ties)
        if estimates.reason is not None:
            return None
        xauc = estimates.xauc.value.reshape(len(places), len(pairs), 2)
        ends = [each.reshape(len(places), -1) for each in estimates.signed_limits((1 - LEVEL) / 2)]
        gaps += [_gaps_at(found.groups, pairs, *each) for each in zip(xauc, *ends)]
    return gaps


def _estimated(found: Measured, places: range, groups: Sequence[int], ties: Ties) -> DialEstimates:
    """Estimate all pairs of some groups at some settings; what was counted already is not counted again."""
    table, exact = found.people.only([found.groups[g] for g in groups]), None
    if found.top is None:
        settings = [found.settings[place] for place in places]
        cells = [cell for g, h in itertools.combinations(groups, 2) for cell in ((g, h), (h, g))]
        exact = np.array([s.auc for s in settings]), np.array([[s.xauc[cell] for cell in cells] for s in settings])
    return estimate_steps(
        table, lambda given: map(found.dial.maps, given), places, ties=ties, exact=exact, top=found.top
    )


def _gaps_at(
    groups: Sequence[Hashable], pairs: Sequence[tuple[int, int]], shares: Floats, low: Floats, high: Floats
) -> _Gaps:
    xauc = np.full((len(groups), len(groups)), np.nan)
    limits = []
    for (g, h), both, *ends in zip(pairs, shares, low, high):
        xauc[g, h], xauc[h, g] = both
        limits.append(dict(zip(("first", "second", "signed_low", "signed_high"), (groups[g], groups[h], *ends))))
    return _Gaps(xauc, limits)


def _put_limits(found: Measured, place: int, numbers: dict[str, Any], known: list[_Gaps] | None) -> None:
    """Put limits beside the gaps of pairs at one setting: an audit's where there is one, else the dial's."""
    audit, estimated = found.audits.get(place), None if known is None else known[place]
    if found.top is None:
        gaps = audit.numbers["gaps"] if audit is not None else None if estimated is None else estimated.limits
        numbers["pairs"] = numbers["pairs"] if gaps is None else _limited_pairs(numbers["pairs"], gaps)
        return
    before = audited_xauc(found.audits[0], tops(found.audits[0].numbers)[0])
    if audit is not None:
        [inside] = tops(audit.numbers)
        numbers["pairs"] = _limited_pairs(numbers["pairs"], audit.numbers["gaps"])
        numbers["top"]["pairs"] = _limited_pairs(_pairs(found, audited_xauc(audit, inside), before), inside["gaps"])
    elif estimated is not None:
        numbers["top"]["pairs"] = _limited_pairs(_pairs(found, estimated.xauc, before), estimated.limits)


def _limit(found: Measured, ties: Ties) -> dict[str, Any] | None:
    """Give the line that no repair which keeps the order inside each group can cross, and what is within reach."""
    if found.dial.curve is None or found.settings[0].top is not None or entries(found.table) > MOST_ENTRIES:
        return None
    if len(found.groups) != 2:
        return _bracket(found.table, found.dial.curve, ties)
    higher = found.groups[found.pair[0]]
    limit = Limit.of(found.table, reference=higher, ties=ties)
    gaps = [each.xauc[found.pair] - each.xauc[found.pair[::-1]] for each in found.settings]
    shown = np.linspace(min(*gaps, 0.0), max(*gaps, 0.0), 60)
    shown = np.clip(shown, -1, 1)
    reachable = None if limit.optimism is None else limit.reachable_at(shown)
    return {"signed_gap": shown, "auc": limit.auc_at(shown), "reachable": reachable, "reason": limit.reason}


def _bracket(table: ScoreTable, curve: TradeoffCurve, ties: Ties) -> dict[str, Any] | None:
    """Give both ends of the limit of few groups, along the gaps of the curve."""
    if {*curve.moved, curve.reference} != set(table.groups) or len(table.groups) > _MOST_IN_BRACKET:
        return None
    ends = float(np.nanmin(curve.gap)), float(np.nanmax(curve.gap))
    limit, shown, some = LimitBracket.of(table, ties=ties), np.linspace(*ends, 30), np.linspace(*ends, 3)
    low = np.interp(shown, some, [limit.low(float(gap)) for gap in some])
    return {"signed_gap": shown, "auc": limit.auc_at(shown), "low": low, "reachable": None, "reason": limit.reason}


def _who(found: Measured) -> dict[str, Any]:
    """Say who is above each threshold and in each top share, and at the reported setting who comes and goes."""
    chosen = found.settings[found.dial.chosen]
    turned = {"below": True} if found.table.lower_is_riskier else {}
    choices = [{"threshold": t, **turned} for t in found.thresholds] + [{"top": a} for a in found.alphas[::-1]]
    return {
        "labels": ["positive", "negative"],
        "groups": [str(g) for g in found.groups],
        "choices": [
            {**choice, "above": found.above[k], "enter": chosen.up[k], "leave": chosen.down[k]}
            for k, choice in enumerate(choices)
        ],
        "shown": (len(found.thresholds) if found.first == "top" else 0) + found.start[found.first],
    }


def _queue(found: Measured) -> list[dict[str, Any]]:
    """Give the place in the list of all rows of a mark for every few rows, before and at the reported setting."""
    first, later = (found.settings[place].queue for place in (0, found.dial.chosen))
    return [
        {
            "group": str(found.groups[g]),
            "rows_a_mark": shown.rows,
            "positive": shown.positive,
            "before": was,
            "after": now,
        }
        for g, shown, was, now in zip(found.drawn, found.marks, first, later)
    ]


def _bands(found: Measured) -> list[dict[str, Any]]:
    """Show how far scores move at the reported setting, by bands of people."""
    chosen = found.settings[found.dial.chosen]
    listed = []
    for g, parts, shifts in zip(found.drawn, found.bands, chosen.bands):
        counts = found.people.counts[g]
        for part, (mean, largest) in zip(parts, shifts):
            listed.append(
                {
                    "group": str(found.groups[g]),
                    "from": counts.score[part][0],
                    "to": counts.score[part][-1],
                    "rows": counts.weight[part].sum(),
                    "mean_change": mean,
                    "largest_change": largest,
                }
            )
    return [each for each in listed if each["rows"] >= SMALLEST_BAND]


def _warnings(found: Measured, about: About) -> list[dict[str, Any]]:
    """List what may mislead, by kind; :mod:`fairpot.report.words` puts it into words."""
    listed: list[dict[str, Any]] = [{"kind": "same_rows"}] if about.same_rows else []
    listed += (
        [{"kind": "no_difference"}] if about.method is not None and found.finding.state == "no clear difference" else []
    )
    listed += [{"kind": "left_out", "group": group, "rows": rows} for group, rows in about.left_out.items()]
    table = found.table
    counted = table.independent if table.units is None else (table.positives, table.negatives)
    for place, group in enumerate(found.groups):
        for what, rows in zip(("positives", "negatives"), counted):
            if rows[place] < SMALL:
                listed.append({"kind": "small_cell", "group": str(group), "what": what, "rows": rows[place].item()})
    if found.settings[0].auc < 0.5:
        listed.append({"kind": "reversed"})
    listed += _ties(found)
    if found.settings[0].calibration[-1] is None:
        low, high = found.people.pooled().score[[0, -1]]
        listed.append({"kind": "no_probabilities", "low": low, "high": high})
    if about.method is not None:
        listed += [*_calibration_lost(found), *_small_reference(found, about.method)]
    if found.coarse:
        listed.append({"kind": "coarse", "bins": len(found.people.pooled().score)})
    return [*listed, *({"kind": "note", "text": text} for text in about.warnings)]


def _ties(found: Measured) -> list[dict[str, Any]]:
    """Compare both ways to count ties on the scores as they came."""
    tied = found.audits[0].numbers["tied"]
    values = {
        name: {how: float(tied[f"{key}_{how}"] or 0.0) for how in _BOTH}
        for name, key in (("AUC", "auc"), ("xAUC gap", "gap"))
    }
    return [
        {"kind": "ties", "name": name, "strict": both["strict"], "half": both["half"]}
        for name, both in values.items()
        if abs(both["strict"] - both["half"]) >= _VISIBLE_TIES
    ]


def _calibration_lost(found: Measured) -> list[dict[str, Any]]:
    """Name the groups whose calibration gets several times worse, and visibly so."""
    listed = []
    before, after = (found.settings[place].calibration for place in (0, found.dial.chosen))
    for group, was, now in zip(found.groups, before, after):
        if was is not None and now is not None and now[1] >= _SEVERAL * was[1] and now[1] - was[1] >= _VISIBLE:
            listed.append({"kind": "calibration", "group": str(group), "before": was[1], "after": now[1]})
    return listed


def _small_reference(found: Measured, method: Mapping[str, Any]) -> list[dict[str, Any]]:
    sizes = {str(g): c.weight.sum().item() for g, c in zip(found.groups, found.table.counts)}
    own = sizes.get(method["reference"])
    return [
        {"kind": "reference", "reference": method["reference"], "rows": own, "group": group, "others": rows}
        for group, rows in sizes.items()
        if own is not None and own < 0.1 * rows
    ]
