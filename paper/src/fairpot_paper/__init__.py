"""The paper's tables and figures, rerun: plan -> scores -> runs -> records -> tables, figures and the pages of claims.

:func:`reproduce` trains and runs what is missing in a folder; :func:`write_outputs` writes the rest from its records,
and :func:`read_frames` returns the tables.
"""

from fairpot_paper.outputs import publish, read_frames, read_records, write_outputs, write_pages
from fairpot_paper.plan import make_plan
from fairpot_paper.rerun import Outcome, reproduce

__all__ = [
    "Outcome",
    "make_plan",
    "publish",
    "read_frames",
    "read_records",
    "reproduce",
    "write_outputs",
    "write_pages",
]

__version__ = "0.2.0"
