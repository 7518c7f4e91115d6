"""Methods: each learns, for every group, a map from scores to scores at every strength of its dial."""

from typing import TYPE_CHECKING

from fairpot._lazy import lazy

if TYPE_CHECKING:
    from fairpot.methods.fairpot import FairPOT as FairPOT
    from fairpot.methods.logit_shift import LogitShift as LogitShift
    from fairpot.methods.optimal_merge import OptimalMerge as OptimalMerge
    from fairpot.methods.wasserstein import WassersteinRepair as WassersteinRepair

# Every method and its file, in the order of comparisons; the file's name is the method's on the command line.
HOMES = {
    "FairPOT": "fairpot",
    "WassersteinRepair": "wasserstein",
    "OptimalMerge": "optimal_merge",
    "LogitShift": "logit_shift",
}


# An audit needs no method, and they bring scikit-learn.
__getattr__, __dir__, __all__ = lazy(__name__, **{home: name for name, home in HOMES.items()})
