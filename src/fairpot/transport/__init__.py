"""Exact one-dimensional transport: pure maths on NumPy arrays; of fairpot, a map needs only what shows it."""

from fairpot.transport.kinds import FollowedMap, ShiftMap
from fairpot.transport.kinds import followed as followed
from fairpot.transport.kinds import parted as parted
from fairpot.transport.lookup import ranks as ranks
from fairpot.transport.lookup import run_ends as run_ends
from fairpot.transport.pieces import Floats
from fairpot.transport.plan import TransportPlan, project
from fairpot.transport.plan import top_place as top_place
from fairpot.transport.plan import weight_to_reach as weight_to_reach
from fairpot.transport.scoremap import ScoreMap
from fairpot.transport.scoremap import moving as moving

__all__ = ["Floats", "FollowedMap", "ScoreMap", "ShiftMap", "TransportPlan", "project"]
