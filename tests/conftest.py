"""What all tests begin with."""

import gc
import os
import sys

import pytest
from hypothesis import HealthCheck, settings

from real_scores import bank_scores, compas_scores, data_home  # noqa: F401  fixtures of all tests

# The same examples in every run, however busy the machine; HYPOTHESIS_PROFILE=default looks for new ones, and for more.
calm = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("steady", derandomize=True, max_examples=60, **calm)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))

# What a terminal or a CI says of itself changes what is printed: tests say it where they mean it.
for name in (
    "COLUMNS",
    "FORCE_COLOR",
    "LINES",
    "NO_COLOR",
    "PYTHONWARNINGS",
    "TERM",
    "TTY_COMPATIBLE",
    "TTY_INTERACTIVE",
):
    os.environ.pop(name, None)

os.environ.setdefault("MPLBACKEND", "agg")  # pictures are drawn, and shown to nobody

# What takes longest begins first, so that no worker is left alone with it at the end.
LONGEST = ("paper/tests/test_rerun.py", "spark")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Keep the tests of a file on one worker, and those of the Spark cluster, which is started once and first."""
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return "spark" if "/spark" in nodeid else nodeid.partition("::")[0]

        def _assign_work_unit(self, node):
            for scope in LONGEST:
                if scope in self.workqueue:
                    self.workqueue.move_to_end(scope, last=False)
            super()._assign_work_unit(node)

    return ByFile(config, log)


def pytest_collection_finish(session):
    """Look no more for garbage among all that the tests have imported: each look would take a fifth of a second."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure(config):
    gc.unfreeze()


@pytest.fixture(autouse=True)
def closed_figures():
    """Close what a test has drawn."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture
def few_draws(monkeypatch):
    """Draw a tenth of the tables for a plan, where it is compared with the same plan asked for in another way."""
    monkeypatch.setattr("fairpot.inference.sample_size._FINE", 600)
