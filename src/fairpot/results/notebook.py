"""Audits and effects in a notebook: the answer, a picture of the gaps, then tables with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairpot._html import html_table, intervals_svg, notes, paragraph
from fairpot._shown import bar
from fairpot._validation import wording
from fairpot.results.kinds import Plain, rows_of

if TYPE_CHECKING:
    from fairpot.results.audit import Audit
    from fairpot.results.effect import Effect


def audit_html(audit: Audit) -> str:
    """Show an audit."""
    told = audit.spoken
    pairs = [pair.ranked for pair in told.told.compared]
    bars = [bar(f"{pair.first} over {pair.second}", pair.signed_gap) for pair in pairs[:10]]
    picture = intervals_svg(bars, "Gaps between groups, with their intervals")
    tables = html_table(_pairs(pairs), "Pairs of groups, the one ranked higher first")
    tables += html_table(told.rows("groups"), "Groups")
    tables += html_table(told.rows("top"), "Top of the ranking")
    tables += html_table(told.rows("rates"), "Flagged")
    said = filter(None, [wording.weights_taken(audit.weights, audit.ranking.weighted_rows)])
    return f"<div>{paragraph(*audit.answer)}{picture}{tables}{notes([*said, *audit.warnings])}</div>"


def _pairs(pairs: list[Any]) -> list[Plain]:
    """List pairs as people read them: from the group ranked higher."""
    names = {"first": "ranked_higher", "second": "ranked_lower", "signed_gap": "gap"}
    names |= {"xauc_first": "xauc", "xauc_second": "reverse"}
    ends = {f"{old}{end}": f"{new}{end}" for old, new in names.items() for end in ("", "_low", "_high")}
    return [{ends[name]: value for name, value in row.items()} for row in rows_of(pairs)]


def effect_html(effect: Effect) -> str:
    """Show a repair."""
    told = effect.spoken
    ends = [("before", effect.finding.gap), ("after", _after(effect))]
    bars = [bar(f"{effect.finding.metric} {when}", gap) for when, gap in ends if gap is not None]
    picture = intervals_svg(bars, "The gap before and after, with its interval")
    tables = html_table(rows_of(told.rows()), "Before and after")
    tables += html_table(rows_of(told.moves), "Whose scores change")
    tables += html_table([row for action in told.actions for row in action._listed()], "Who is acted on")
    return f"<div>{paragraph(*effect.sentences)}{picture}{tables}{notes(effect.warnings)}</div>"


def _after(effect: Effect) -> Any:
    """Give the gap after, seen from the group that was ranked higher before where there are two."""
    return next((row.after for row in effect.rows() if row.metric == effect.finding.metric), None)
