"""Exact one-dimensional transport: pure maths on NumPy arrays; of fairpot, a map needs only what shows it."""

from fairpot.transport.following import FollowedMap, followed, parted
from fairpot.transport.lookup import ranks, run_ends
from fairpot.transport.pieces import Floats
from fairpot.transport.plan import TransportPlan, top_place, weight_to_reach
from fairpot.transport.projection import project
from fairpot.transport.scoremap import ScoreMap, moving
from fairpot.transport.shift import ShiftMap

__all__ = [
    "Floats",
    "FollowedMap",
    "ScoreMap",
    "ShiftMap",
    "TransportPlan",
    "followed",
    "moving",
    "parted",
    "project",
    "ranks",
    "run_ends",
    "top_place",
    "weight_to_reach",
]
