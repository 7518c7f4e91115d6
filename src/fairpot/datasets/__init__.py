"""The paper's data sets, a simulated clinical cohort, and a checker for your own table."""

from fairpot.datasets._bank import fetch_bank
from fairpot.datasets._check import CheckReport, check
from fairpot.datasets._clinical import make_clinical
from fairpot.datasets._compas import fetch_compas
from fairpot.datasets._synthetic import make_synthetic

__all__ = ["CheckReport", "check", "fetch_bank", "fetch_compas", "make_clinical", "make_synthetic"]
