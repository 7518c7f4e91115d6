"""
A report for a committee, and the same task with other packages
===============================================================

A committee needs one page. The report below is a file without any request to other hosts; the picture of its trade-
off is the one you see here.
"""

import tempfile
from pathlib import Path

from fairpot import FairnessReport, FairPOT, WassersteinRepair
from fairpot.datasets import make_synthetic
from fairpot.metrics import auc, xauc_gap

data = make_synthetic(4000, random_state=0, as_frame=False)
y, score, group = data.target, data.probability, data.group
page = Path(tempfile.mkdtemp()) / "report.html"
fp = FairPOT(max_gap=0.02).fit(score, y, sensitive_features=group)
FairnessReport.from_estimator(fp).save(page)
fp.tradeoff().plot()
print(f"{page.name}: {page.stat().st_size / 1e6:.2f} MB")

# %%
# equipy moves all groups to their Wasserstein barycentre, and so does ``WassersteinRepair(t=1)``. That makes the
# distributions equal. The xAUC gap becomes
# small as a side effect.

repair = WassersteinRepair(1.0).fit(score, sensitive_features=group)
equal = repair.transform(score, sensitive_features=group)
for name, values in (("original", score), ("equal distributions", equal)):
    print(f"{name:20} AUC {auc(y, values):.3f}, xAUC gap {xauc_gap(y, values, sensitive_features=group):.3f}")
