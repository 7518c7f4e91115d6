"""What notebooks show of an audit and of a repair."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from fairpot._html import cell, html_table, notes

if TYPE_CHECKING:
    from fairpot.auditing.audit import Audit
    from fairpot.auditing.effect import Effect


def audit_html(audit: Audit) -> str:
    """Show an audit."""
    head = f"<p><b>xAUC gap {cell(audit.gap)}, AUC {cell(audit.auc)}.</b> {escape(audit.sentence)}</p>"
    tables = html_table(audit.rows("groups"), "Groups") + html_table(audit.rows("pairs"), "Pairs of groups")
    return f"<div>{head}{tables}{html_table(audit.rows('rates'), 'Flagged')}{notes(audit.warnings)}</div>"


def effect_html(effect: Effect) -> str:
    """Show a repair."""
    head = "".join(f"<p>{escape(text)}</p>" for text in effect.sentences)
    tables = html_table(effect.rows(), "Before and after") + html_table(effect.moves, "Who moves")
    return f"<div>{head}{tables}{notes(effect.warnings)}</div>"
