"""All methods, by the name they have on the command line; saving, loading, comparing and options read them here."""

from __future__ import annotations

import difflib

from fairpot.postprocessing.fairpot import FairPOT
from fairpot.postprocessing.logit_shift import LogitShift
from fairpot.postprocessing.optimal import OptimalMerge
from fairpot.postprocessing.post_logit import PostLogit
from fairpot.postprocessing.postprocessor import Postprocessor
from fairpot.postprocessing.wasserstein import WassersteinRepair
from fairpot.postprocessing.xorder import XOrder

METHODS: dict[str, type[Postprocessor]] = {
    "fairpot": FairPOT,
    "wasserstein": WassersteinRepair,
    "post-logit": PostLogit,
    "xorder": XOrder,
    "optimal-merge": OptimalMerge,
    "logit-shift": LogitShift,
}


def find_method(name: str) -> type[Postprocessor]:
    """Find a method by its name or that of its class, whatever the case; suggest the nearest."""
    known = {_plain(key): method for key, method in METHODS.items()}
    known |= {_plain(method.__name__): method for method in METHODS.values()}
    if _plain(name) in known:
        return known[_plain(name)]
    near = difflib.get_close_matches(_plain(name), known, n=1, cutoff=0.4)
    hint = f"did you mean {known[near[0]].__name__!r}?" if near else "pass an estimator for any other method."
    names = ", ".join(repr(method.__name__) for method in METHODS.values())
    raise ValueError(f"unknown method {name!r}; known are {names}.\nHint: {hint}")


def method_name(method: type[Postprocessor]) -> str:
    """Return the name of a method on the command line."""
    return next(key for key, each in METHODS.items() if each is method)


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "").replace(" ", "")
