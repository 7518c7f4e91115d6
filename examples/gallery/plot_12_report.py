"""
A report for a committee
========================

A committee needs one page: what was found, whose scores change, and the price. The report is one file that asks nothing
of other hosts. Below is its short form, as a notebook shows it.
"""

import tempfile
from pathlib import Path

from sklearn.model_selection import train_test_split

from fairpot import FairnessReport, FairPOT
from fairpot.datasets import make_synthetic

data = make_synthetic(8000, random_state=0, as_frame=False)
score, new_score, y, new_y, group, new_group = train_test_split(
    data.probability, data.target, data.group, random_state=0
)
fp = FairPOT(max_gap=0.02).fit(score, y, sensitive_features=group, high_score_means="help")

# %%
# The page judges the repair on 2,000 people it was not fitted on.

report = FairnessReport.from_predictions(
    new_y, new_score, sensitive_features=new_group, method=fp, title="Screening score by group"
)
page = Path(tempfile.mkdtemp()) / "report.html"
report.save(page)
print(f"{page.name}: {page.stat().st_size / 1e6:.2f} MB")
report

# %%
# The price of every repair strength, on the rows of the fit.

fp.tradeoff().plot()
