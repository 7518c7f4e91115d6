"""How many knots a map needs: FairPOT by rule on scores of the published files, simplified in several ways.

    FAIRPOT_DATA=folder python benchmarks/simplify.py

AUC and gap (half ties) are those of the rows the map was fitted on, before and after.
"""

import os
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from fairpot import FairPOT
from fairpot.metrics import auc, xauc_gap

WAYS = ({"max_error": 0.001}, {"max_error": 0.005})


def files(folder):
    """Yield the published files as scores of a boosted model, outcomes and groups."""
    sys.path.append(str(Path(__file__).parents[1] / "tests"))
    from conftest import COMPAS_FEATURES, scored

    frame = pd.read_csv(folder / "compas-scores-two-years.csv")
    yield "COMPAS", scored(frame[COMPAS_FEATURES], frame["two_year_recid"].to_numpy(), frame["sex"].to_numpy(object))
    frame = pd.read_csv(folder / "bank-full.csv", sep=";")
    y = (frame.pop("y") == "yes").to_numpy(np.int64)
    yield "Bank", scored(frame, y, np.where(frame["age"] < 25, "young", "older"))


def numbers(data, maps):
    """Return AUC and gap of the adjusted rows."""
    new = data.scores.copy()
    for group, each in maps.items():
        new[data.group == group] = each(data.scores[data.group == group])
    return auc(data.y, new), xauc_gap(data.y, new, sensitive_features=data.group)


def main():
    warnings.simplefilter("ignore")
    if "FAIRPOT_DATA" not in os.environ:
        raise SystemExit("FAIRPOT_DATA is not set.\nHint: FAIRPOT_DATA=folder, where the two published files are.")
    for name, data in files(Path(os.environ["FAIRPOT_DATA"])):
        model = FairPOT().fit(data.scores, data.y, sensitive_features=data.group)
        before = numbers(data, model.maps_)
        print(f"{name}: AUC {before[0]:.4f}, gap {before[1]:.4f}")
        for way in WAYS:
            small = model.fair_maps_.simplify(**way)
            after = numbers(data, small.maps)
            shown = f"AUC {after[0] - before[0]:+.1e}, gap {after[1] - before[1]:+.1e}"
            print(f"  {', '.join(f'{k}={v}' for k, v in way.items()):<16} {small}; {shown}")


if __name__ == "__main__":
    main()
