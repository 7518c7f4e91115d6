"""Data to try fairpot on: the paper's synthetic draw, Bank Marketing and COMPAS; and a checker for your own table."""

from fairpot.datasets.bank import fetch_bank
from fairpot.datasets.check import CheckReport, check
from fairpot.datasets.compas import fetch_compas
from fairpot.datasets.synthetic import make_synthetic

__all__ = ["CheckReport", "check", "fetch_bank", "fetch_compas", "make_synthetic"]
