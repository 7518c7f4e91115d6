"""COMPAS (ProPublica's two-year file), grouped by sex; only the twelve features leave the loader."""

import csv
import os
from collections import Counter
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from fairpot._docs import documented
from fairpot._optional import make_frame
from fairpot.datasets.fetch import DataFile, check_flag, locate

_COMMIT = "bafff5da3f2e45eca6c2d5055faad269defd135a"
FILE = DataFile(
    name="compas-scores-two-years.csv",
    sha256="c451db85908b2f7fef1d83203bedf6b71ecda0d5af468d82ae62178f91d0cc7d",
    url=f"https://raw.githubusercontent.com/propublica/compas-analysis/{_COMMIT}/compas-scores-two-years.csv",
    page=f"https://github.com/propublica/compas-analysis/blob/{_COMMIT}/compas-scores-two-years.csv",
)
FEATURES = (
    "sex",
    "age",
    "age_cat",
    "race",
    "juv_fel_count",
    "juv_misd_count",
    "juv_other_count",
    "priors_count",
    "c_charge_degree",
    "c_charge_desc",
    "decile_score",
    "score_text",
)
_RARE = 20  # charge descriptions with fewer rows are one
SCORES = ("decile_score", "score_text")
_NUMBERS = frozenset({"age", "juv_fel_count", "juv_misd_count", "juv_other_count", "priors_count", "decile_score"})

_DESCR = """\
COMPAS, two-year recidivism
---------------------------
7,214 people screened with COMPAS in Broward County, Florida, in 2013 and 2014, as published by ProPublica,
without any filter. Target: a new offence within two years (45.1%). Groups: sex (positive rates 47.3%
male, 35.7% female). Features: {features}.

The FairPOT paper counts 12 features and does not name them; these are our choice. Charge descriptions with
fewer than {rare} rows are grouped as "other", empty ones are "missing".

Only these columns leave the loader. Names, birth dates, case numbers and every date are dropped: in this
file everyone screened after 2014-04-01 has label 1, so any date gives the label away, and so do is_recid,
the r_ and vr_ columns, event, start, end and the custody dates. decile_score and score_text are the
assessment itself; with_scores=False leaves them out. A new arrest or charge is not the same as a new
offence, and arrests depend on policing: a fair ranking of this label is not yet a fair ranking of
behaviour.
"""


@documented
def fetch_compas(
    *,
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
    with_scores: bool = True,
) -> Bunch:
    """Load COMPAS: 7,214 people, 12 features, grouped by sex.

    The file compas-scores-two-years.csv is looked for in `data_home`, in the folder that the environment
    variable ``FAIRPOT_DATA`` names, and in the cache; otherwise it is downloaded (extra ``data``). Every
    copy is verified.

    Parameters
    ----------
    {data_files}
    with_scores : bool, default=True
        False leaves out decile_score and score_text, the COMPAS assessment itself.

    Returns
    -------
    Bunch
        ``data`` (frame), ``target`` (1 if a new offence within two years), ``group`` ("Male" / "Female"),
        ``feature_names``, ``DESCR``, ``source``, ``licence``.

    Raises
    ------
    FileNotFoundError
        If the file is neither there nor to be had; the message says what to put where.
    ValueError
        If a file is there but is not the published one.

    Examples
    --------
    >>> from fairpot.datasets import fetch_compas
    >>> compas = fetch_compas()  # doctest: +SKIP
    >>> compas.data.shape  # doctest: +SKIP
    (7214, 12)
    """
    with_scores = check_flag(with_scores, "with_scores")
    path = locate(FILE, data_home=data_home, download_if_missing=download_if_missing)
    with path.open(newline="", encoding="utf-8") as stream:
        header, *rows = csv.reader(stream)
    names = [name for name in FEATURES if with_scores or name not in SCORES]
    # index() takes the first of the file's two (equal) decile_score and priors_count columns.
    columns: dict[str, Any] = {name: [row[header.index(name)] for row in rows] for name in names}
    for name in _NUMBERS.intersection(names):
        columns[name] = np.array(columns[name], dtype=np.int64)
    columns["c_charge_desc"] = _group_rare(columns["c_charge_desc"])
    return Bunch(
        data=make_frame(columns),
        target=np.array([row[header.index("two_year_recid")] for row in rows], dtype=np.int64),
        group=np.array(columns["sex"]),
        feature_names=names,
        DESCR=_DESCR.format(features=", ".join(names), rare=_RARE),
        source=FILE.page,
        licence="none stated by the publisher (ProPublica, compas-analysis); not redistributed with fairpot",
    )


def _group_rare(values: list[str]) -> list[str]:
    """Replace empty descriptions by "missing" and rare ones by "other"."""
    counts = Counter(values)
    return [("other" if counts[value] < _RARE else value) if value else "missing" for value in values]
