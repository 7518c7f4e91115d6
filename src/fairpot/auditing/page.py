"""Small tables for notebooks, as HTML; everything that comes from the data is escaped."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairpot.auditing.audit import Audit
    from fairpot.auditing.effect import Effect


def html_table(rows: list[dict[str, Any]], caption: str = "") -> str:
    """Write rows as a plain table."""
    if not rows:
        return ""
    head = "".join(f"<th scope='col'>{escape(str(name).replace('_', ' '))}</th>" for name in rows[0])
    body = "".join("<tr>" + "".join(f"<td>{escape(_cell(v))}</td>" for v in row.values()) + "</tr>" for row in rows)
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def notes(texts: list[str]) -> str:
    """Write remarks as a list."""
    return "<ul>" + "".join(f"<li>{escape(text)}</li>" for text in texts) + "</ul>" if texts else ""


def audit_html(audit: Audit) -> str:
    """Show an audit."""
    head = f"<p><b>xAUC gap {_cell(audit.gap)}, AUC {_cell(audit.auc)}.</b> {escape(audit.sentence)}</p>"
    tables = html_table(audit.rows("groups"), "Groups") + html_table(audit.rows("pairs"), "Pairs of groups")
    return f"<div>{head}{tables}{html_table(audit.rows('rates'), 'Flagged')}{notes(audit.warnings)}</div>"


def effect_html(effect: Effect) -> str:
    """Show a repair."""
    head = "".join(f"<p>{escape(text)}</p>" for text in effect.sentences)
    tables = html_table(effect.rows(), "Before and after") + html_table(effect.moves, "Who moves")
    return f"<div>{head}{tables}{notes(effect.warnings)}</div>"


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:,.10g}" if value == int(value) and abs(value) >= 2 else f"{value:.4f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
