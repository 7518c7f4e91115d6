"""The paper's data sets, a simulated clinical cohort, and a checker for your own table."""

from fairpot.datasets.bank import fetch_bank
from fairpot.datasets.check import CheckReport, check
from fairpot.datasets.clinical import make_clinical
from fairpot.datasets.compas import fetch_compas
from fairpot.datasets.synthetic import make_synthetic

__all__ = ["CheckReport", "check", "fetch_bank", "fetch_compas", "make_clinical", "make_synthetic"]
