"""
Audit a score in ten lines
==========================

One call says whether two groups are ranked alike, and how sure that is. The data are generated: the scores of group b
are shifted down.
"""

from fairpot import audit
from fairpot.datasets import make_synthetic
from fairpot.display import CrossRocDisplay

data = make_synthetic(4000, random_state=0, as_frame=False)
y, score, group = data.target, data.probability, data.group
found = audit(y, score, sensitive_features=group)
print(found)

# %%
# The two curves show the same thing at every threshold. If they lay on top of each other, the gap would be 0.

CrossRocDisplay.from_predictions(y, score, sensitive_features=group)
