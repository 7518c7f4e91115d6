"""Every method that can be saved, in every way it can be applied, with data to fit it on."""

from typing import Any, NamedTuple

import numpy as np

from fairpot import FairPOT
from fairpot import methods as own
from fairpot.methods import LogitShift, OptimalMerge, WassersteinRepair
from fairpot.repair.registry import methods

NAMES = {
    "text": ("F", "M", 'x "y", é 🏳\\'),
    "whole": (-3, 0, 2**63 + 7),
    "real": (-0.1, 1e-300, 2.5),
    "boolean": (False, True),
    "mixed": (1, 2.5, "one"),
}


class Data(NamedTuple):
    scores: np.ndarray
    y: np.ndarray
    group: np.ndarray
    weight: np.ndarray | None = None

    def fit(self, model, **told):
        return model.fit(self.scores, self.y, sensitive_features=self.group, sample_weight=self.weight, **told)

    def shuffled(self, seed=0):
        order = np.random.default_rng(seed).permutation(len(self.scores))
        return Data(*(None if column is None else column[order] for column in self))


def make_data(seed=0, names=NAMES["text"], n=150, digits=None, weights=None) -> Data:
    """Make scores that favour the later groups, every group with both outcomes at both ends."""
    rng = np.random.default_rng(seed)
    place = np.concatenate((np.arange(len(names)).repeat(4), rng.integers(0, len(names), n)))
    y = np.concatenate((np.tile([0, 0, 1, 1], len(names)), rng.integers(0, 2, n)))
    scores = 1 / (1 + np.exp(-rng.normal(0.8 * y + 0.3 * place - 0.5, 1.0)))
    scores[: 4 * len(names) : 4] = 0.97
    scores[2 : 4 * len(names) : 4] = 0.98
    scores = scores if digits is None else scores.round(digits)
    group = np.array([*names, None], dtype=object)[place]
    weight = {None: None, "whole": rng.integers(1, 4, len(y)), "real": rng.uniform(0.1, 2, len(y))}[weights]
    return Data(scores, y, group, weight)


def models(names=NAMES["text"]) -> dict[str, Any]:
    """Return unfitted models by a name of the case."""
    last = names[-1]
    cases = {
        "FairPOT": FairPOT(0.4),
        "FairPOT, unmoved": FairPOT(0.0, reference=last),
        "FairPOT, whole": FairPOT(1, reference=last),
        "FairPOT, monotone": FairPOT(0.6, reference=names[0], monotone=True),
        "FairPOT, lam by rule": FairPOT(None, ties="half"),
        "FairPOT, lam by group": FairPOT(max_gap=0.3, reference=last),
        "Wasserstein": WassersteinRepair(t=1),
        "Wasserstein, part of the way": WassersteinRepair(0.3),
        "Wasserstein, unmoved": WassersteinRepair(0),
        "Wasserstein, probabilities": WassersteinRepair(0.7, keep="probabilities"),
        "OptimalMerge": OptimalMerge(),
        "LogitShift": LogitShift(),
        "LogitShift, unmoved": LogitShift(0, reference=last),
        "LogitShift, one shift": LogitShift(-0.5, reference=last),
        "OptimalMerge, theta by group": OptimalMerge(reference=last),
        "OptimalMerge, grid": OptimalMerge(1.5, reference=last, keep="grid"),
    }
    for top_of in ("all", "group"):
        for repair in ("all", "top"):
            cases[f"FairPOT, {repair} for the top of {top_of}"] = FairPOT(
                0.5, top=0.4, top_of=top_of, repair=repair, reference=last
            )
    outside = [kind for kind in methods().values() if kind.__name__ not in own.__all__]
    return cases | {kind.__name__: kind(0.05) for kind in outside}
