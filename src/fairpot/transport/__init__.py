"""Exact one-dimensional transport: pure maths on NumPy arrays, importing nothing else of fairpot."""

from fairpot.transport.plan import TransportPlan, share_of
from fairpot.transport.projection import project
from fairpot.transport.ranks import ranks, run_ends
from fairpot.transport.scoremap import ScoreMap

__all__ = ["ScoreMap", "TransportPlan", "project", "ranks", "run_ends", "share_of"]
