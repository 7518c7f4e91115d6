"""Audits and effects in a notebook: the answer, pictures of gaps and of the list, then tables with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairpot import words
from fairpot._html import html_table, intervals_svg, notes, paragraph
from fairpot._shown import bar
from fairpot._validation import wording
from fairpot.results.kinds import Plain, rows_of
from fairpot.results.people import lanes, lanes_html

if TYPE_CHECKING:
    from fairpot.results.audit import Audit
    from fairpot.results.effect import Effect

_GROUPS = ("group", "rows", "positives", "negatives", "rate", "auc")


def audit_html(audit: Audit) -> str:
    """Show an audit."""
    told = audit.spoken
    pairs = [pair.ranked for pair in told.told.compared]
    bars = [bar(f"{pair.first} over {pair.second}", pair.signed_gap) for pair in pairs[:10]]
    picture = intervals_svg(bars, "Gaps between groups, with their intervals") + _list_of(audit)
    tables = html_table(_pairs(pairs), "Pairs of groups, the one ranked higher first")
    tables += html_table(rows_of(told.ranking.groups, _GROUPS), "Groups")
    tables += html_table(told.rows("top"), "Top of the ranking")
    tables += html_table(told.rows("rates"), "Flagged")
    said = filter(None, [wording.weights_taken(audit.weights, audit.ranking.rows)])
    return f"<div>{paragraph(*audit.answer)}{picture}{tables}{notes([*said, *audit.warnings])}</div>"


def _pairs(pairs: list[Any]) -> list[Plain]:
    """List pairs as people read them: from the group ranked higher."""
    names = {"first": "ranked_higher", "second": "ranked_lower", "signed_gap": "gap"}
    names |= {"xauc_first": "xauc", "xauc_second": "reverse"}
    ends = {f"{old}{end}": f"{new}{end}" for old, new in names.items() for end in ("", "_low", "_high")}
    return [{ends[name]: value for name, value in row.items()} for row in rows_of(pairs)]


def _list_of(audit: Audit) -> str:
    """Draw where the groups stand in the list."""
    found = lanes(audit.table, {}, audit.finding.pair)
    at = audit.rates[-1] if audit.rates else None
    share = None if at is None or at.all.share is None else float(at.all.share)
    where = (
        "" if at is None or share is None else f"{'flagged' if at.at == 'score' else 'the top'}, {share:.0%} of rows"
    )
    return lanes_html(found, len(audit.table.groups), None if share is None else (share, share), where, False)


def effect_html(effect: Effect) -> str:
    """Show a repair."""
    told = effect.spoken
    ends = [("before", effect.finding.gap), ("after", _after(effect))]
    bars = [bar(f"{effect.finding.metric} {when}", gap) for when, gap in ends if gap is not None]
    picture = intervals_svg(bars, "The gap before and after, with its interval")
    if effect.lanes and effect.actions:
        action = effect.actions[0]
        where = f"acted on {words.where(action)}"
        picture += lanes_html(effect.lanes, len(effect.moves), action.shares, where, True)
    tables = html_table(rows_of(told.rows()), "Before and after")
    tables += html_table(rows_of(told.moves), "Whose scores change")
    tables += html_table([row for action in told.actions for row in action._listed()], "Who is acted on")
    return f"<div>{paragraph(*effect.sentences)}{picture}{tables}{notes(effect.warnings)}</div>"


def _after(effect: Effect) -> Any:
    """Give the gap after, seen from the group that was ranked higher before where there are two."""
    return next((row.after for row in effect.rows() if row.metric == effect.finding.metric), None)
