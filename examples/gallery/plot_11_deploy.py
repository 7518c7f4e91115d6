"""
One map, many places, the same numbers
======================================

A fitted map runs in Python, in a database and one row at a time. The adjusted scores are equal to the last bit.
"""

import duckdb
import numpy as np
import pandas as pd

from fairpot import FairPOT
from fairpot.datasets import make_synthetic

data = make_synthetic(3000, random_state=0, as_frame=False)
fp = FairPOT(max_gap=0.02).fit(data.probability, data.target, sensitive_features=data.group)
rows = pd.DataFrame({"score": data.probability, "sex": data.group})
here = fp.transform(rows["score"], sensitive_features=rows["sex"]).to_numpy()

# %%
# In a database.

sql = fp.fair_maps_.to_sql("duckdb", table="rows", score="score", group="sex", form="case")
in_database = duckdb.sql(sql).df()["score_adjusted"].to_numpy()
print(sql[:100], "...")
print("in the database, equal to the last bit:", np.array_equal(in_database, here))

# %%
# One row at a time, for a service.

scorer = fp.fair_maps_.row_scorer()
single = np.array([scorer(score, sex) for score, sex in zip(rows["score"], rows["sex"])])
print("one row at a time, equal to the last bit:", np.array_equal(single, here))

# %%
# What the map does: the diagonal is "unchanged".

fp.plot()
