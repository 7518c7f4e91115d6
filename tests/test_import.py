"""Importing the package costs little and reaches everything."""

import subprocess
import sys

import pytest

import fairpot


def test_import_loads_nothing_and_reaches_everything():
    code = (
        "import sys, fairpot; print('sklearn' in sys.modules); fairpot.metrics.auc; fairpot.datasets; fairpot.FairPOT"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
    assert {"FairPOT", "metrics", "audit"} <= set(dir(fairpot))
    with pytest.raises(AttributeError, match="no attribute 'fairpott'"):
        fairpot.fairpott
