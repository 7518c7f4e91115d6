"""A report of rows whose outcomes are not known: who is selected, and which scores each group has."""

from __future__ import annotations

import json
from dataclasses import dataclass

from fairpot._docs import documented
from fairpot._html import head_of, with_limits
from fairpot.report.content import Saved
from fairpot.report.page import plain_page
from fairpot.results import Audit
from fairpot.words.tables import markdown_lines


@documented
@dataclass(frozen=True, repr=False)
class SelectionReport(Saved):
    """Write an audit without outcomes for people: as a page, as Markdown, or as JSON.

    Parameters
    ----------
    audit : Audit
        What ``audit(None, scores, sensitive_features=...)`` found.
    title : str, default "Selection rates and scores by group"
        The heading.
    source : str, default ""
        Where the rows come from.

    Examples
    --------
    >>> import fairpot
    >>> from fairpot.report import SelectionReport
    >>> found = fairpot.audit(None, range(40), sensitive_features=["F", "M"] * 20, threshold=30)
    >>> SelectionReport(found).to_markdown().splitlines()[0]
    '# Selection rates and scores by group'
    """

    audit: Audit
    title: str = "Selection rates and scores by group"
    source: str = ""

    def __post_init__(self) -> None:
        if self.audit.ranking.labelled:
            raise ValueError(
                "this audit knows outcomes.\nHint: FairnessReport writes it, from_predictions(y, score, ...)."
            )

    def to_json(self) -> str:
        """Write the audit as JSON."""
        return json.dumps(self.audit.to_dict(), allow_nan=False, indent=1) + "\n"

    def to_html(self) -> str:
        """Write one page that needs nothing else."""
        return plain_page(self.title, self.source, self.audit._repr_html_())

    def to_markdown(self) -> str:
        """Write the answer, the tables and the notes as Markdown."""
        parts = [f"# {self.title}", *([f"Rows: {self.source}"] if self.source else [])]
        if self.audit.rule is not None:
            told = self.audit.spoken
            return "\n\n".join([*parts, str(told.rule), *(f"- {text}" for text in told.beside_rule)])
        parts += self.audit.answer
        for caption, rows in self.audit.spoken.selection_tables():
            cells = [with_limits(row) for row in rows]
            lines = markdown_lines([*map(head_of, cells[0])], [[*row.values()] for row in cells])
            parts += [f"## {caption}", "\n".join(lines)]
        noted = "\n".join(f"- {text}" for text in self.audit.warnings)
        return "\n\n".join([*parts, *([noted] if noted else [])]) + "\n"

    def __repr__(self) -> str:
        return f"<SelectionReport: {self.audit!r}>"
