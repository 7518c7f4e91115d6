"""AUC of XGBoost on the simulated clinical cohort: trained on the early visits, scored on the later ones.

python benchmarks/clinical_auc.py [number of draws, 10 by default]
"""

import sys

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.utils import _safe_indexing

from fairpot.datasets import make_clinical
from fairpot.models import make_model


def late_auc(seed: int) -> float:
    cohort = make_clinical(random_state=seed)
    early = cohort.train
    model = make_model("xgboost", random_state=0, n_jobs=2)
    model.fit(_safe_indexing(cohort.data, np.flatnonzero(early)), cohort.target[early])
    scores = model.predict_proba(_safe_indexing(cohort.data, np.flatnonzero(~early)))[:, 1]
    return float(roc_auc_score(cohort.target[~early], scores))


def main(draws: int = 10, first: int = 100) -> None:
    aucs = [late_auc(seed) for seed in range(first, first + draws)]
    for seed, auc in enumerate(aucs, start=first):
        print(f"simulated cohort, random_state={seed}: AUC {auc:.4f}")
    print(f"mean over {draws} draws {np.mean(aucs):.4f}, standard deviation {np.std(aucs, ddof=1):.4f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
