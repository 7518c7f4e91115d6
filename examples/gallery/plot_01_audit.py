"""
Audit a score in ten lines
==========================

One call tells whether the score ranks the groups alike, and how sure that is.
"""

from fairpot import audit
from fairpot.datasets import make_synthetic

data = make_synthetic(4000, random_state=0, as_frame=False)
found = audit(data.target, data.probability, sensitive_features=data.group)
print(found)
