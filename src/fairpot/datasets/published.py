"""Bank Marketing by age and COMPAS by sex; only features leave the loaders."""

import csv
import os
from collections import Counter
from typing import Any, Literal

import numpy as np
from sklearn.utils import Bunch

from fairpot._docs import documented
from fairpot._optional import make_frame
from fairpot.datasets.fetch import DataFile, check_flag, locate

BANK = DataFile(
    name="bank-full.csv",
    sha256="d1513ec63b385506f7cfce9f2c5caa9fe99e7ba4e8c3fa264b3aaf0f849ed32d",
    url="https://archive.ics.uci.edu/static/public/222/bank+marketing.zip",
    page="https://archive.ics.uci.edu/dataset/222/bank+marketing",
    members=("bank.zip", "bank-full.csv"),
)
_NUMBERS = frozenset({"age", "balance", "day", "duration", "campaign", "pdays", "previous"})
_GROUPS = {"<25": ("age < 25", "age >= 25"), "<=25": ("age <= 25", "age > 25")}
_COMMIT = "bafff5da3f2e45eca6c2d5055faad269defd135a"
COMPAS = DataFile(
    name="compas-scores-two-years.csv",
    sha256="c451db85908b2f7fef1d83203bedf6b71ecda0d5af468d82ae62178f91d0cc7d",
    url=f"https://raw.githubusercontent.com/propublica/compas-analysis/{_COMMIT}/compas-scores-two-years.csv",
    page=f"https://github.com/propublica/compas-analysis/blob/{_COMMIT}/compas-scores-two-years.csv",
)
_COUNTS = frozenset({"age", "juv_fel_count", "juv_misd_count", "juv_other_count", "priors_count", "decile_score"})
_SCORES = ("decile_score", "score_text")
_FEATURES = (
    *("sex", "age", "age_cat", "race", "juv_fel_count", "juv_misd_count", "juv_other_count", "priors_count"),
    *("c_charge_degree", "c_charge_desc", *_SCORES),
)
_RARE = 20  # charge descriptions with fewer rows are one

_BANK = """\
Bank Marketing
--------------
45,211 clients of a Portuguese bank called in a marketing campaign between 2008 and 2010. Target: the client
subscribed a term deposit (11.7%). 16 features: age, job, marital, education, default, balance, housing,
loan, contact, day, month, duration, campaign, pdays, previous, poutcome.

Groups: {groups[0]} and {groups[1]}. The FairPOT paper says "age <= 25", but the positive rates it gives
(25.6% and 11.4%) are those of age < 25, which is the default here; young="<=25" takes the words instead
(24.0% and 11.3%).

duration is the length of the call that decided the outcome: unknown before the call, and by far the strongest
feature. It is kept because the paper uses all 16; drop it for a model that could be used in practice.

Reference: S. Moro, P. Cortez, P. Rita. A data-driven approach to predict the success of bank telemarketing.
Decision Support Systems 62, 2014. doi:10.1016/j.dss.2014.03.001
"""

_COMPAS = """\
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
def fetch_bank(
    *,
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
    young: Literal["<25", "<=25"] = "<25",
) -> Bunch:
    """Load Bank Marketing: 45,211 clients, 16 features, two age groups.

    The file bank-full.csv is looked for in `data_home`, in the folder ``FAIRPOT_DATA`` and in the cache, else
    downloaded (extra ``data``). Every copy is verified.

    Parameters
    ----------
    {data_files}
    young : {"<25", "<=25"}, default="<25"
        Which clients are young: the paper's rates are those of age < 25, its text says age <= 25.

    Returns
    -------
    Bunch
        ``data`` (frame), ``target`` (1 if subscribed), ``group`` ("age < 25" / "age >= 25"),
        ``feature_names``, ``DESCR``, ``source``, ``licence``.

    Examples
    --------
    >>> from fairpot.datasets import fetch_bank
    >>> fetch_bank(young="25")
    Traceback (most recent call last):
    ValueError: young must be one of ['<25', '<=25']; got '25'.
    """
    if young not in _GROUPS:
        raise ValueError(f"young must be one of {list(_GROUPS)}; got {young!r}.")
    path = locate(BANK, data_home=data_home, download_if_missing=download_if_missing)
    with path.open(newline="", encoding="utf-8") as stream:
        header, *rows = csv.reader(stream, delimiter=";")
    table = dict(zip(header, zip(*rows)))
    target = (np.array(table.pop("y")) == "yes").astype(np.int64)
    columns = {k: np.array(v, dtype=np.int64) if k in _NUMBERS else list(v) for k, v in table.items()}
    age = np.asarray(columns["age"])
    is_young = age < 25 if young == "<25" else age <= 25
    return Bunch(
        data=make_frame(columns),
        target=target,
        group=np.where(is_young, *_GROUPS[young]),
        feature_names=list(columns),
        DESCR=_BANK.format(groups=_GROUPS[young]),
        source=BANK.page,
        licence="CC BY 4.0",
    )


@documented
def fetch_compas(
    *, data_home: str | os.PathLike[str] | None = None, download_if_missing: bool = True, with_scores: bool = True
) -> Bunch:
    """Load COMPAS: 7,214 people, 12 features, grouped by sex.

    The file compas-scores-two-years.csv is looked for in `data_home`, in the folder ``FAIRPOT_DATA`` and in the
    cache, else downloaded (extra ``data``). Every copy is verified.

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

    Examples
    --------
    >>> from fairpot.datasets import fetch_compas
    >>> compas = fetch_compas()  # doctest: +SKIP
    >>> compas.data.shape  # doctest: +SKIP
    (7214, 12)
    """
    with_scores = check_flag(with_scores, "with_scores")
    path = locate(COMPAS, data_home=data_home, download_if_missing=download_if_missing)
    with path.open(newline="", encoding="utf-8") as stream:
        header, *rows = csv.reader(stream)
    names = [name for name in _FEATURES if with_scores or name not in _SCORES]
    # index() takes the first of the file's two (equal) decile_score and priors_count columns.
    columns: dict[str, Any] = {name: [row[header.index(name)] for row in rows] for name in names}
    for name in _COUNTS.intersection(names):
        columns[name] = np.array(columns[name], dtype=np.int64)
    columns["c_charge_desc"] = _group_rare(columns["c_charge_desc"])
    return Bunch(
        data=make_frame(columns),
        target=np.array([row[header.index("two_year_recid")] for row in rows], dtype=np.int64),
        group=np.array(columns["sex"]),
        feature_names=names,
        DESCR=_COMPAS.format(features=", ".join(names), rare=_RARE),
        source=COMPAS.page,
        licence="none stated by the publisher (ProPublica, compas-analysis); not redistributed with fairpot",
    )


def _group_rare(values: list[str]) -> list[str]:
    """Replace empty descriptions by "missing" and rare ones by "other"."""
    counts = Counter(values)
    return [("other" if counts[value] < _RARE else value) if value else "missing" for value in values]
