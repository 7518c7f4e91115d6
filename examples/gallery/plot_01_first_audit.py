"""
Audit a score in ten lines
==========================

One call says whether two groups are ranked alike, and how sure that is. The data are generated: the scores of group b
are shifted down.
"""

from fairpot import audit
from fairpot.datasets import make_synthetic

data = make_synthetic(4000, random_state=0, as_frame=False)
y, score, group = data.target, data.probability, data.group
found = audit(y, score, sensitive_features=group)
print(found)

# %%
# The gap with its interval. If the groups were ranked alike, it would lie on the line at 0.

found.plot()
