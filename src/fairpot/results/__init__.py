"""Results: rankings, audits and effects as typed trees of estimates, and what is judged about them."""

from fairpot.results.audit import audit
from fairpot.results.audited import Audit
from fairpot.results.concordances import Concordance, concordance
from fairpot.results.effect import Effect, effect
from fairpot.results.judge import Statement
from fairpot.results.models import Audits
from fairpot.results.ranking import Ranking, rank
from fairpot.words import Note

__all__ = [
    "Audit",
    "Audits",
    "Concordance",
    "Effect",
    "Note",
    "Ranking",
    "Statement",
    "audit",
    "concordance",
    "effect",
    "rank",
]
