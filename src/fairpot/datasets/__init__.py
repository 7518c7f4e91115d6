"""Data to try fairpot on: the paper's synthetic draw, Bank Marketing and COMPAS."""

from fairpot.datasets.published import fetch_bank, fetch_compas
from fairpot.datasets.synthetic import make_synthetic

__all__ = ["fetch_bank", "fetch_compas", "make_synthetic"]
