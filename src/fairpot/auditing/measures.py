"""The numbers of an audit: who is ranked above whom, by how much, how surely, and what to beware of."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from fairpot._arguments import argument
from fairpot._defaults import LEVEL, TIES, Region, Ties
from fairpot._validation import Rows, check_choice, check_group_name, check_share, is_number
from fairpot.auditing.calibration import BINS, as_risks, calibration, large_error
from fairpot.counts import GroupCounts
from fairpot.inference import Estimate, Overview, Rates, overview, rates_at
from fairpot.metrics.cells import carrying_groups, hard_predictions, reversed_score, small_cells, tied_pairs
from fairpot.metrics.wins import WinMatrix
from fairpot.repair.groups import find_reference
from fairpot.table import Maps, ScoreTable


def rates(table: ScoreTable, threshold: float) -> dict[str, Any]:
    """Count, for each group and for all, the rows at or above a score.

    Returns
    -------
    dict
        ``threshold``, ``groups`` (a dict for each group) and ``all``, each with ``rows``, ``positives``, ``negatives``,
        ``flagged`` (rows at or above it; ``flagged_positives`` and ``flagged_negatives`` among them), ``share``,
        ``tpr`` (of the positives, those flagged: recall), ``fpr`` (of the negatives) and ``ppv`` (of the flagged, the
        positives: precision). What has nothing to count is None.

    Examples
    --------
    >>> import numpy as np
    >>> table = ScoreTable.from_rows(np.array([0.3, 0.9, 0.3]), np.array([0, 1, 1], dtype=np.int8))
    >>> rates(table, 0.5)["all"]["tpr"]
    0.5
    """
    if not is_number(threshold) or not -1.7e308 < float(threshold) < 1.7e308:
        raise ValueError(f"threshold must be a finite number, a score from which rows are flagged, got {threshold!r}.")
    at = float(threshold)
    groups = [{"group": g, **_rates(c, at)} for g, c in zip(table.groups, table.counts)]
    return {"threshold": at, "groups": groups, "all": _rates(table.pooled(), at)}


def _rates(counts: GroupCounts, threshold: float) -> dict[str, Any]:
    above = counts.above(threshold)
    positives, negatives = counts.positive.sum().item(), counts.negative.sum().item()
    found, false = above.positive.sum().item(), above.negative.sum().item()
    return {
        "rows": positives + negatives,
        "positives": positives,
        "negatives": negatives,
        "flagged": found + false,
        "flagged_positives": found,
        "flagged_negatives": false,
        "share": _ratio(found + false, positives + negatives),
        "tpr": _ratio(found, positives),
        "fpr": _ratio(false, negatives),
        "ppv": _ratio(found, found + false),
    }


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


# Beyond this many groups an audit has no intervals.
MOST_GROUPS = 20
_LISTED = 6  # more pairs than these are counted, not listed
_RATES = ("share", "tpr", "fpr", "ppv")
_OWN = {"auc": "group_auc", "bpsn_auc": "bpsn_auc", "bnsp_auc": "bnsp_auc"}


class Measured(NamedTuple):
    """A table's numbers, each an Estimate, and the intervals they were read from: of all rows, and of each top."""

    numbers: dict[str, Any]
    whole: Overview | None
    tops: tuple[Overview, ...] = ()


def listed(given: Any) -> list[Any]:
    """Give no value, one or several as a list, each once, in their order.

    Examples
    --------
    >>> listed(None), listed(0.3), listed([0.3, 0.2, 0.3])
    ([], [0.3], [0.3, 0.2])
    """
    if given is None:
        return []
    found = list(given) if _several(given) else [given]
    return [each for place, each in enumerate(found) if each not in found[:place]]


def tops(numbers: dict[str, Any]) -> list[dict[str, Any]]:
    """List what is known of the top of the ranking: nothing, one top, or several."""
    found = numbers["partial"]
    return [] if found is None else found if isinstance(found, list) else [found]


def _several(given: Any) -> bool:
    return isinstance(given, Iterable) and not isinstance(given, str | bytes | dict)


def _as_given(found: list[Any], given: Any) -> Any:
    """Give a list where a list was given; else the one there is, or None."""
    return found if _several(given) else found[0] if found else None


def measure(table: ScoreTable, level: float | None = LEVEL, **options: Any) -> Measured:
    """Measure everything that an audit shows, once; every number knows its interval, or why it has none.

    Parameters
    ----------
    table : ScoreTable
    level : float or None, default 0.95
        None leaves intervals out.
    **options
        Those of :func:`summarise`.
    """
    numbers = summarise(table, **options)
    partial, ties = tops(numbers), numbers["ties"]
    if level is None or len(table.groups) > MOST_GROUPS:  # one covariance of all pairs would not fit into memory
        reason = "none were asked for" if level is None else f"more than {MOST_GROUPS} groups"
        if level is not None:
            said = f"no intervals: {len(table.groups)} groups are more than the {MOST_GROUPS} that are taken together."
            hint = f" Hint: {argument('groups', ...)} or {argument('min_group', ...)} compares fewer."
            numbers["warnings"] = [*numbers["warnings"], said + hint]
        return Measured(_without_limits(numbers, reason), None)
    ranked = [overview(table, level=level, ties=ties, carrying=_carrying(table, numbers))]
    for top in partial:
        where = {"alpha": top["alpha"], "region": top["region"], "carrying": _carrying(table, top)}
        ranked.append(overview(table, level=level, ties=ties, **where))
    whole, *inside = ranked
    known = {
        **_ranked(numbers, whole),
        "groups": [
            _own(each, whole) | _calibrated(each, table[each["group"]], table, level) for each in numbers["groups"]
        ],
    }
    known |= _calibrated(numbers, table.joined().counts[0], table, level)
    known["partial"] = _as_given([{**p, **_ranked(p, found)} for p, found in zip(partial, inside)], numbers["partial"])
    known["rates"] = [_rated(table, each, level) for each in numbers["rates"]]
    return Measured(_without_limits({**numbers, **known}, "it has no closed form here"), whole, tuple(inside))


def _calibrated(numbers: dict[str, Any], counts: GroupCounts, table: ScoreTable, level: float) -> dict[str, Any]:
    """Give mean score minus rate its interval, where scores are probabilities."""
    found = numbers["calibration"]
    if found is None:
        return {}
    bias = large_error(as_risks(counts, table.lower_is_riskier), level)
    return {"calibration": {**found, "error_in_the_large": bias.of(found["error_in_the_large"])}}


def _carrying(table: ScoreTable, numbers: dict[str, Any]) -> list[Hashable]:
    """List the groups that can carry a headline."""
    return [g for g in table.groups if g not in numbers["headline"]["small_groups"]]


def _ranked(numbers: dict[str, Any], found: Overview) -> dict[str, Any]:
    """Give AUC, gap, every xAUC and every signed gap with its limits, and the gap of the headline."""
    pairs = [_pair(pair, found) for pair in numbers["gaps"]]
    cells = [{**c, "xauc": _known(c["xauc"], found.xauc[c["positive"], c["negative"]])} for c in numbers["xauc"]]
    auc, gap = _known(numbers["auc"], found.auc), _known(numbers["gap"], found.gap)
    told = {**numbers["headline"], "gap": _known(numbers["headline"]["gap"], found.headline)}
    return {"auc": auc, "gap": gap, "gaps": pairs, "xauc": cells, "headline": told}


def _pair(numbers: dict[str, Any], found: Overview) -> dict[str, Any]:
    """Give both xAUCs and the signed gap of a pair with their limits, those of the gap as numbers of their own too."""
    first, second = numbers["first"], numbers["second"]
    gap = _known(numbers["signed_gap"], _seen_from(found, first, second))
    limits = (None, None) if gap is None or gap.reason is not None else (gap.low, gap.high)
    return {
        **numbers,
        "xauc_first": _known(numbers["xauc_first"], found.xauc[first, second]),
        "xauc_second": _known(numbers["xauc_second"], found.xauc[second, first]),
        "signed_gap": gap,
        **dict(zip(("signed_low", "signed_high"), limits)),
    }


def _seen_from(found: Overview, first: Hashable, second: Hashable) -> Estimate:
    """Give a signed gap as seen from one of its groups."""
    if (first, second) in found.signed_gaps:
        return found.signed_gaps[first, second]
    other = found.signed_gaps[second, first]
    limits = (other.se, -other.high, -other.low, other.level, other.method)
    return Estimate(other.metric, -other.value, *limits, -other.value, (first, second), other.reason, other.note)


def _own(numbers: dict[str, Any], found: Overview) -> dict[str, Any]:
    own = {name: getattr(found, kind)[numbers["group"]] for name, kind in _OWN.items()}
    return {**numbers, **{name: _known(numbers[name], each) for name, each in own.items()}}


def _rated(table: ScoreTable, numbers: dict[str, Any], level: float) -> dict[str, Any]:
    """Give the rates at a threshold with their limits, of every group and of all."""

    def known(counted: dict[str, Any], found: Rates) -> dict[str, Any]:
        limits = {"share": found.flagged, "tpr": found.tpr, "fpr": found.fpr, "ppv": found.ppv}
        return {**counted, **{name: _known(counted[name], limits[name]) for name in _RATES}}

    found = rates_at(table, numbers["threshold"], level=level)
    [everyone] = rates_at(table.joined(), numbers["threshold"], level=level)
    groups = [known(counted, each) for counted, each in zip(numbers["groups"], found)]
    return {**numbers, "groups": groups, "all": known(numbers["all"], everyone)}


def _known(value: float | None, found: Estimate) -> Estimate | None:
    """Put the number as it was counted, exactly, in the place of the one that its limits were computed with."""
    return None if value is None else found.of(value)


def _without_limits(tree: Any, reason: str, name: str = "") -> Any:
    """Turn every measured number that knows no interval into one that says why."""
    if isinstance(tree, dict):
        return {key: each if key in _GIVEN else _without_limits(each, reason, key) for key, each in tree.items()}
    if isinstance(tree, list):
        return [_without_limits(each, reason, name) for each in tree]
    return Estimate(name, tree, reason=reason) if type(tree) is float else tree


# What is counted or given rather than estimated, and names of groups.
_COUNTED = {"threshold", "alpha", "pairs", "rows", "positives", "negatives", "flagged", "found", "score_range"}
_COUNTED |= {"flagged_positives", "flagged_negatives"}
_LIMITS = {"signed_low", "signed_high"}
_NAMES = {"small_groups", "group", "reference", "first", "second", "positive", "negative"}
_GIVEN = _COUNTED | _LIMITS | _NAMES


def intervals_to_dict(found: Measured) -> dict[str, Any] | None:
    """Give all intervals as plain values, for JSON."""
    if found.whole is None:
        return None
    names = {"flagged": "share", "tpr": "tpr", "fpr": "fpr", "ppv": "ppv"}
    rates = [
        {
            "at": each["at"],
            "threshold": each["threshold"],
            "groups": [
                {"group": g["group"], **{name: _limits(g[key]) for name, key in names.items()}} for g in each["groups"]
            ],
        }
        for each in found.numbers["rates"]
    ]
    numbers = found.numbers
    inside = [{"alpha": p["alpha"], **each.to_dict()} for p, each in zip(tops(numbers), found.tops)]
    return {**found.whole.to_dict(), "partial": _as_given(inside, numbers["partial"]), "rates": rates}


def _limits(found: Estimate | None) -> dict[str, Any] | None:
    return None if found is None else found.to_dict()


def with_limits(row: dict[str, Any]) -> dict[str, Any]:
    """Put the ends of its interval beside every number of a row that knows them.

    Examples
    --------
    >>> with_limits({"group": "F", "auc": Estimate("auc", 0.8, 0.02, 0.75, 0.84)})
    {'group': 'F', 'auc': 0.8, 'auc_low': 0.75, 'auc_high': 0.84}
    """
    found: dict[str, Any] = {}
    for name, value in row.items():
        found[name] = value
        if isinstance(value, Estimate):
            found |= {f"{name}_low": _finite(value.low), f"{name}_high": _finite(value.high)}
    return found


def _finite(value: float) -> float | None:
    return None if value != value else float(value)


def plain(tree: Any) -> Any:
    """Turn a tree of estimates into plain numbers, lists and dicts."""
    if isinstance(tree, dict):
        return {key: plain(each) for key, each in tree.items()}
    if isinstance(tree, list | tuple):
        return [plain(each) for each in tree]
    return float(tree) if isinstance(tree, Estimate) else tree


# Strict and half ties are both worth a look where they differ by this much.
_VISIBLE = 0.005


def summarise(
    table: ScoreTable,
    *,
    alpha: float | Iterable[float] | None = None,
    region: str = "pooled",
    ties: str = "half",
    reference: Hashable | None = None,
    threshold: float | Iterable[float] | None = None,
    bins: int = BINS,
) -> dict[str, Any]:
    """Describe a labelled score table: plain numbers, lists and dicts, ready for JSON.

    Parameters
    ----------
    table : ScoreTable
        With labels and at least two groups.
    alpha : float in (0, 1], list of them, or None, default None
        Also rank among the top alpha alone. A list makes ``partial`` a list.
    region : {"pooled", "group"}, default "pooled"
        Whether that is the top alpha of all rows or of each group.
    ties : {"half", "strict"}, default "half"
        Whether a tie is half a win or none.
    reference : name of a group or None, default None
        The group that signed gaps are seen from; None takes the one that a repair would not change.
    threshold : float, list of floats, or None, default None
        Also count who is flagged at this score or above (or below, where a low score means high risk), given as the
        scores are; with ``alpha``, the top alpha is counted in any case.
    bins : int, default 10
        Bins of the expected calibration error, of equal width on [0, 1].

    Returns
    -------
    dict
        What has no pairs to count is None, and a warning in ``warnings`` names it. Where a number is defined it
        is equal to that of :mod:`fairpot.metrics`.

    Examples
    --------
    >>> import numpy as np
    >>> y, codes = np.array([1, 0, 1, 0], dtype=np.int8), np.array([0, 0, 1, 1])
    >>> table = ScoreTable.from_rows(np.array([0.4, 0.1, 0.9, 0.6]), y, codes, ("F", "M"))
    >>> summarise(table)["gap"], summarise(table)["reference"]
    (1.0, 'M')
    """
    checked = cast(Ties, check_choice(ties, "ties", TIES))
    table.require("an audit", groups=2)
    ahead = _ahead(table, checked) if reference is None else check_group_name(reference, table.groups, "reference")
    pooled = table.pooled()
    matrix = WinMatrix.of(table, checked)
    summary = {
        **_size(pooled),
        "weights": table.weights,
        "lower_is_riskier": table.lower_is_riskier,
        "high_score_means": table.high_score_means,
        "ties": checked,
        "reference": ahead,
        **_ranking(matrix, ahead),
        "headline": _headline(table, matrix),
        "groups": [_describe(table, matrix, place, bins) for place in range(len(table.groups))],
        "partial": _as_given([_partial(table, each, region, checked, ahead) for each in listed(alpha)], alpha),
        "rates": _numbers_rates(table, listed(threshold), listed(alpha)),
        "tied": _tied(table, matrix, checked),
        "calibration": calibration(as_risks(pooled, table.lower_is_riskier), bins),
        "calibration_bins": bins,
    }
    return summary | {"warnings": _warnings(table, summary)}


def moves(table: ScoreTable, maps: Maps) -> list[dict[str, Any]]:
    """Count, for each group, whose score a map changes, which way and how far.

    ``mean_shift`` is over the rows that move, ``mean_shift_of_all`` over all rows of the group.

    Examples
    --------
    >>> table = ScoreTable.from_rows(np.array([0.2, 0.4]), None)
    >>> [found] = moves(table, {"all": lambda s: s + 0.1 * (s > 0.3)})
    >>> found["moved"], found["up"], round(found["largest_shift"], 6)
    (1, 1, 0.1)
    """
    return [
        _moved(g, c.weight, (maps[g](c.score) if g in maps else c.score) - c.score)
        for g, c in zip(table.groups, table.counts)
    ]


def moves_of_rows(rows: Rows, after: NDArray[np.float64]) -> list[dict[str, Any]]:
    """Count the same of rows with a second score beside the first."""
    codes = np.zeros(len(after), dtype=np.intp) if rows.codes is None else rows.codes
    weight = np.ones(len(after), dtype=np.int64) if rows.weight is None else rows.weight
    shift = after - rows.scores
    return [_moved(g, weight[codes == place], shift[codes == place]) for place, g in enumerate(rows.groups)]


def _ahead(table: ScoreTable, ties: Ties) -> Hashable:
    """Name the group that a repair would keep; the first, if groups without positives or negatives leave it open."""
    complete = (table.positives > 0).all() and (table.negatives > 0).all()
    return find_reference(table, None, ties) if complete else table.groups[0]


def _size(counts: GroupCounts) -> dict[str, Any]:
    positives, negatives = counts.positive.sum().item(), counts.negative.sum().item()
    rows = positives + negatives
    return {
        "rows": rows,
        "positives": positives,
        "negatives": negatives,
        "rate": positives / rows if rows else None,
        "distinct_scores": len(counts.score),
        "score_range": [float(counts.score[0]), float(counts.score[-1])] if len(counts.score) else None,
    }


def _describe(table: ScoreTable, matrix: WinMatrix, place: int, bins: int) -> dict[str, Any]:
    own = np.arange(len(table.groups)) == place
    return {
        "group": table.groups[place],
        **_size(table.counts[place]),
        "auc": _won(matrix, own, own),
        "bpsn_auc": _won(matrix, ~own, own),
        "bnsp_auc": _won(matrix, own, ~own),
        "calibration": calibration(as_risks(table.counts[place], table.lower_is_riskier), bins),
    }


def _won(matrix: WinMatrix, winners: NDArray[np.bool_], losers: NDArray[np.bool_]) -> float | None:
    """Give the share of pairs that positives of some groups win over negatives of others."""
    pairs = float(matrix.positives[winners].sum()) * float(matrix.negatives[losers].sum())
    return float(matrix.half_wins[np.ix_(winners, losers)].sum()) / 2 / pairs if pairs else None


def _ranking(matrix: WinMatrix, ahead: Hashable) -> dict[str, Any]:
    """Read AUC, every xAUC and the gaps off the matrix of wins."""
    everyone = np.ones(len(matrix.groups), dtype=bool)
    pairs, xauc = matrix.pairs, _xauc(matrix)
    counted, shares = pairs.tolist(), _plain(xauc)
    cells = [
        {"positive": g, "negative": h, "pairs": counted[i][j], "xauc": shares[i][j]}
        for i, g in enumerate(matrix.groups)
        for j, h in enumerate(matrix.groups)
        if i != j
    ]
    return {
        "auc": _won(matrix, everyone, everyone),
        "gap": _largest_gap(xauc),
        "gaps": _gaps(matrix.groups, xauc, shares, ahead),
        "xauc": cells,
    }


def _headline(table: ScoreTable, matrix: WinMatrix) -> dict[str, Any]:
    """Give the largest gap between groups that can carry it, and name those that cannot; all can where none is large.

    A gap between groups of a handful may be chance, and is listed with the others.
    """
    large = carrying_groups(table)
    if len(large) < 2:
        large = table.groups
    places = [place for place, group in enumerate(table.groups) if group in large]
    gap = _largest_gap(_xauc(matrix)[np.ix_(places, places)])
    return {"gap": gap, "small_groups": [g for g in table.groups if g not in large]}


def _xauc(matrix: WinMatrix) -> NDArray[np.float64]:
    """Return every xAUC; what cannot be measured is NaN."""
    pairs = matrix.pairs
    return np.divide(matrix.half_wins / 2, pairs, out=np.full(pairs.shape, np.nan), where=pairs > 0)


def _largest_gap(xauc: NDArray[np.float64]) -> float | None:
    gaps = np.abs(xauc - xauc.T)[np.triu_indices(len(xauc), 1)]
    known = gaps[~np.isnan(gaps)]
    return float(known.max()) if len(known) else None


def _gaps(
    groups: tuple[Hashable, ...], xauc: NDArray[np.float64], shares: list[list[float | None]], ahead: Hashable
) -> list[dict[str, Any]]:
    """List every pair of groups, the reference first where it is one of them."""
    differences = _plain(xauc - xauc.T)
    found = []
    for i, j in itertools.combinations(range(len(groups)), 2):
        first, second = (j, i) if groups[j] == ahead else (i, j)
        found.append(
            {
                "first": groups[first],
                "second": groups[second],
                "xauc_first": shares[first][second],
                "xauc_second": shares[second][first],
                "signed_gap": differences[first][second],
                "signed_low": None,
                "signed_high": None,
            }
        )
    return found


def _plain(values: NDArray[np.float64]) -> list[list[float | None]]:
    """Return numbers as lists, NaN as None."""
    plain: list[list[float | None]] = values.tolist()
    if np.isnan(values).any():
        return [[None if v != v else v for v in row] for row in plain]
    return plain


def _partial(table: ScoreTable, alpha: float, region: str, ties: Ties, ahead: Hashable) -> dict[str, Any]:
    share = check_share(alpha, "alpha", zero=False)
    where = cast(Region, check_choice(region, "region", ("pooled", "group")))
    thresholds = table.thresholds(share, where)
    top = table.above(thresholds)
    matrix = WinMatrix.of(top, ties)
    sizes = [
        {"group": g, "threshold": thresholds[g], **_size(inside), **_found(all_rows, inside)}
        for g, all_rows, inside in zip(top.groups, table.counts, top.counts)
    ]
    return {
        "alpha": share,
        "region": where,
        "rows": sum(each["rows"] for each in sizes),
        **_found(table.pooled(), top.pooled()),
        **_ranking(matrix, ahead),
        "headline": _headline(top, matrix),
        "groups": sizes,
    }


def _found(counts: GroupCounts, inside: GroupCounts) -> dict[str, Any]:
    """Say how many positives are in the region, of how many, and how many of its rows are positives.

    A partial AUC compares the rows of the region alone; who was left out of it shows here.
    """
    positives, found = counts.positive.sum().item(), inside.positive.sum().item()
    rows = found + inside.negative.sum().item()
    return {
        "found": found,
        "recall": found / positives if positives else None,
        "precision": found / rows if rows else None,
    }


def _tied(table: ScoreTable, matrix: WinMatrix, ties: Ties) -> dict[str, Any]:
    """Count pairs with equal scores, and rank by both conventions."""
    other: Ties = "half" if ties == "strict" else "strict"
    share = tied_pairs(table)
    everyone = np.ones(len(matrix.groups), dtype=bool)
    counted: dict[str, WinMatrix] = {ties: matrix, other: WinMatrix.of(table, other) if share else matrix}
    found: dict[str, Any] = {"share": share}
    for how in TIES:
        found[f"auc_{how}"] = _won(counted[how], everyone, everyone)
        found[f"gap_{how}"] = _largest_gap(_xauc(counted[how]))
    return found


def _numbers_rates(table: ScoreTable, thresholds: list[Any], alphas: list[Any]) -> list[dict[str, Any]]:
    """Count who is flagged at each score, and in each top of all rows."""
    turned = [-each if is_number(each) and table.lower_is_riskier else each for each in thresholds]
    found = [{"at": "score", **rates(table, each)} for each in turned]
    for share in [check_share(each, "alpha", zero=False) for each in alphas]:
        found.append({"at": "top", "alpha": share, **rates(table, next(iter(table.thresholds(share).values())))})
    return found


def _warnings(table: ScoreTable, summary: dict[str, Any]) -> list[str]:
    found = [text for text in (reversed_score(table), hard_predictions(table)) if text is not None]
    found += small_cells(table)
    found += _missing_pairs(summary)
    for partial in tops(summary):
        top = table.top(partial["alpha"], partial["region"])
        found += small_cells(top, f" in the top {100 * partial['alpha']:.4g}%")
    if summary["calibration"] is None:
        low, high = summary["score_range"]
        found.append(f"calibration is not measured: scores run from {low:g} to {high:g} and are not probabilities.")
    tied = summary["tied"]
    for name in ("auc", "gap"):
        strict, half = tied[f"{name}_strict"], tied[f"{name}_half"]
        if strict is not None and abs(strict - half) >= _VISIBLE and f"{strict:.3f}" != f"{half:.3f}":
            shown = "AUC" if name == "auc" else "overall gap"
            found.append(
                f"ties matter: the {shown} is {strict:.3f} if a tie is no win, {half:.3f} if it is half of one."
            )
    return found


def _missing_pairs(summary: dict[str, Any]) -> list[str]:
    """Name the pairs of groups that the largest gap leaves out because a cell of theirs is empty."""
    gaps = summary["gaps"]
    lost = [f"{pair['first']!r} and {pair['second']!r}" for pair in gaps if pair["signed_gap"] is None]
    if not lost or len(lost) == len(gaps):
        return []
    named = "; ".join(lost[:_LISTED]) + (f"; and {len(lost) - _LISTED} more" if len(lost) > _LISTED else "")
    return [f"the gap leaves out {len(lost)} of {len(gaps)} pairs of groups, which cannot be measured: {named}."]


def _moved(group: Hashable, weight: NDArray[Any], shift: NDArray[np.float64]) -> dict[str, Any]:
    rows, moved = weight.sum().item(), weight[shift != 0].sum().item()
    return {
        "group": group,
        "rows": rows,
        "moved": moved,
        "up": weight[shift > 0].sum().item(),
        "down": weight[shift < 0].sum().item(),
        "mean_shift": float(np.dot(weight, shift) / moved) if moved else 0.0,
        "mean_shift_of_all": float(np.dot(weight, shift) / rows) if rows else 0.0,
        "largest_shift": float(np.abs(shift).max(initial=0.0)),
    }
