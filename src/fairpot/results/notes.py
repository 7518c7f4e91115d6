"""What may mislead about an audit or a repair, judged once, here; worded in :mod:`fairpot.words.notes`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from fairpot.inference.missing_outcomes import scores_without
from fairpot.metrics.cells import hard_predictions, small_cells
from fairpot.results.calibration import Calibration
from fairpot.results.kinds import Group
from fairpot.results.ranking import Ranking, Tied, own_scale
from fairpot.table import ScoreTable
from fairpot.words import Note

if TYPE_CHECKING:
    from fairpot.results.audited import Audit
    from fairpot.results.rates import Moved

# Strict and half ties are both worth a look where they differ by this much, and as they are written.
_VISIBLE_TIES = 0.005
# Calibration that gets this many times worse, and visibly so, is said in words.
_SEVERAL, _VISIBLE = 2.0, 0.01
# Fewer still followed at the horizon than this share of a group, and few rows stand for many.
_THIN = 0.1
# A reference with fewer rows than this share of a moved group gives it a coarse, chancy target.
_SMALL_REFERENCE = 0.1


def notes_of_audit(
    table: ScoreTable, whole: Ranking, tops: Sequence[Ranking], calibration: Calibration | None
) -> Iterator[Note]:
    """Judge an audit beside its statements: scores that rank nobody, small groups, ties that matter."""
    yield from notes_of_follow_up(table)
    yield from filter(None, [hard_predictions(table)])
    yield from small_cells(table)
    lost = tuple((pair.first, pair.second) for pair in whole.gaps if not pair.known)
    if lost and len(lost) < len(whole.gaps):
        yield Note("missing pairs", value=float(len(whole.gaps)), pairs=lost)
    for top in tops:
        starts = {g: own_scale(table, each) for g, each in zip(table.groups, top.starts or ())}
        yield from small_cells(table.above(starts), top.top)
    if calibration is None and whole.score_range is not None:
        yield Note("not probabilities", value=whole.score_range[0], other=whole.score_range[1])
    yield from _ties(whole)


def notes_of_follow_up(table: ScoreTable) -> Iterator[Note]:
    """Say of outcomes after a time what is assumed, who left, where few are still followed, and what is lost.

    And of rows whose outcome is missing whether their scores differ.
    """
    yield from _outcomes_missing(table)
    known = table.follow_up
    if known is None:
        return
    groups = [each for each in known.groups if each.group in table.groups or each.left == each.rows]
    left = tuple((each.group, f"{each.left_share:.1%}") for each in groups)
    yield Note("horizon", value=known.horizon, pairs=left, said=known.leaving)
    for each in groups:
        if each.left == each.rows:
            yield Note("left out", each.group, value=each.rows)
            continue
        if each.still_followed < _THIN:
            yield Note("thinly followed", each.group, value=each.still_followed, other=known.horizon)
        if each.lost:
            yield Note("follow-up lost", each.group, value=each.lost)


def _outcomes_missing(table: ScoreTable) -> Iterator[Note]:
    if table.unlabelled is None:
        return
    groups = scores_without(table, table.unlabelled)
    if not groups:
        return
    above = [each for each in groups if each.higher.low > 0.5]
    below = [each for each in groups if each.higher.high < 0.5]
    # Of scores that are counted with a minus the highest are the lowest.
    turned = table.lower_is_riskier
    high, low = (below, above) if turned else (above, below)
    said = "both" if high and low else "high" if high else "low" if low else ""
    shares = ((each.group, 1 - each.higher if turned else float(each.higher)) for each in (*above, *below))
    rows = sum(table.unlabelled[g].size for g in table.groups if g in table.unlabelled.groups)
    yield Note("outcomes missing", value=rows, pairs=tuple((g, f"{share:.0%}") for g, share in shares), said=said)


def _ties(whole: Ranking) -> Iterator[Note]:
    tied, pair = whole.tied, whole.leading
    if tied is None:
        return
    if _differ(tied.auc_strict, tied.auc_half):
        yield Note("ties auc", value=tied.auc_strict, other=tied.auc_half)
    if _differ(tied.gap_strict, tied.gap_half):
        named = ((pair.first, pair.second),) if pair is not None and len(whole.gaps) > 1 else ()
        yield Note("ties gap", value=tied.gap_strict, other=tied.gap_half, pairs=named)


def _differ(strict: float | None, half: float | None) -> bool:
    if strict is None or half is None:
        return False
    return abs(strict - half) >= _VISIBLE_TIES and f"{strict:.3f}" != f"{half:.3f}"


def notes_of_effect(
    before: Audit, after: Audit, moves: Sequence[Moved], reference: Group | None, calibrated: bool
) -> Iterator[Note]:
    """Judge a repair by what it costs beyond AUC: calibration, a small group as target or moved, ties."""
    for was, now in zip(before.ranking.groups, after.ranking.groups):
        if was.calibration is None or now.calibration is None:
            continue
        first, last = was.calibration.expected_calibration_error, now.calibration.expected_calibration_error
        if last >= _SEVERAL * first and last - first >= _VISIBLE:
            said = "calibrated" if calibrated else ""
            yield Note("calibration lost", was.group, value=float(first), other=float(last), said=said)
    sizes = {each.group: each.rows for each in before.ranking.groups}
    fixed = sizes.get(reference)
    for group, rows in sizes.items():
        if fixed is not None and fixed < _SMALL_REFERENCE * rows:
            yield Note("small reference", group, value=fixed, other=rows, said=str(reference))
    small = before.ranking.small_groups
    for each in moves:
        if each.moved and each.group in small and len(small) < len(sizes):
            yield Note("small and moved", each.group, value=each.moved, other=each.rows)
    yield from _larger_left_out(before.ranking, after.ranking)
    yield from _ties_disagree(before.ranking.tied, after.ranking.tied)


def _larger_left_out(before: Ranking, after: Ranking) -> Iterator[Note]:
    """Say where a pair with a group that is too small to be compared has a larger gap after the repair."""
    if after.gap is None or not set(after.gap.groups or ()) & set(after.small_groups):
        return
    first, second = after.gap.groups or ("", "")
    was = before.pair(first, second).signed_gap
    yield Note("larger left out", value=float(after.gap), other=was, pairs=((first, second),))


def _ties_disagree(before: Tied | None, after: Tied | None) -> Iterator[Note]:
    ends = [getattr(tied, f"auc_{how}", None) for how in ("half", "strict") for tied in (before, after)]
    if None in ends:
        return
    half, strict = float(ends[1]) - float(ends[0]), float(ends[3]) - float(ends[2])  # type: ignore[arg-type]
    if min(half, strict) < -5e-5 and max(half, strict) > 5e-5:
        yield Note("ties disagree", value=half, other=strict)
