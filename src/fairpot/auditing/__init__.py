"""Audits: what the scores do to each group, and what a repair changes."""

from fairpot.auditing.audit import Audit, Audits, audit
from fairpot.auditing.effect import Effect, effect

__all__ = ["Audit", "Audits", "Effect", "audit", "effect"]
