"""
Only the top of the list is acted on
====================================

A clinic that can call one patient in ten needs a small gap there. ``top=0.1`` with
``repair="top"`` repairs the top tenth and changes no other score. The patients are generated.
"""

import numpy as np

from fairpot import FairPOT, effect
from fairpot.datasets import make_synthetic

data = make_synthetic(20_000, random_state=0, as_frame=False)
y, score, group = data.target, data.probability, data.group
fp = FairPOT(max_gap=0.05, top=0.1, repair="top").fit(score, y, sensitive_features=group)
adjusted = fp.transform(score, sensitive_features=group)
top = score >= np.sort(score)[-2000]
changed = adjusted != score
print(f"scores that changed: {changed.sum()}, of them below the top tenth: {(changed & ~top).sum()}")
print(effect(fp, score, y, sensitive_features=group))

# %%
# In the top tenth the gap falls with the strength of the repair.

fp.tradeoff().plot()
