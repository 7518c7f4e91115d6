"""A published value: the DeLong variance that pROC's own tests hold for the AUC of the WFNS grade.

github.com/xrobin/pROC, tests/testthat/test-var.R: ``var(roc(aSAH$outcome, aSAH$wfns))`` is 0.00146991470882363. The
data (Turck et al. 2010, 113 patients) enter by their counts: patients of each grade with a good and a poor outcome.
"""

import numpy as np

from fairpot.inference import confidence_interval

GOOD, POOR = [37, 20, 3, 8, 4], [2, 12, 1, 8, 18]


def test_proc():
    patients = {"sample_weight": GOOD + POOR, "weights": "frequency"}
    found = confidence_interval("auc", [0] * 5 + [1] * 5, [1, 2, 3, 4, 5] * 2, **patients)
    np.testing.assert_allclose(found.se**2, 0.00146991470882363, rtol=1e-13)
    np.testing.assert_allclose(found.value, 0.8236788617886179, rtol=1e-13)
