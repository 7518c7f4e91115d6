"""Bank Marketing by age and COMPAS by sex; only features leave the loaders.

Their files are found in a local folder or the cache, or downloaded; verified by SHA-256 in every case.
"""

import csv
import hashlib
import io
import os
import tempfile
import zipfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from fairpot._docs import documented
from fairpot._optional import import_optional, make_frame
from fairpot.exceptions import MissingDependencyError

ENVIRONMENT_VARIABLE = "FAIRPOT_DATA"
_TIMEOUT_SECONDS = 60
_MOST_BYTES = 100 << 20  # of a file in an archive; those that are known have fewer than five million


@dataclass(frozen=True)
class DataFile:
    """A public file: name on disk, hash, where it is published, and ``members``, the way through nested archives."""

    name: str
    sha256: str
    url: str
    page: str
    members: tuple[str, ...] = ()


BANK = DataFile(
    name="bank-full.csv",
    sha256="d1513ec63b385506f7cfce9f2c5caa9fe99e7ba4e8c3fa264b3aaf0f849ed32d",
    url="https://archive.ics.uci.edu/static/public/222/bank+marketing.zip",
    page="https://archive.ics.uci.edu/dataset/222/bank+marketing",
    members=("bank.zip", "bank-full.csv"),
)
_NUMBERS = frozenset({"age", "balance", "day", "duration", "campaign", "pdays", "previous"})
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
45,211 clients of a Portuguese bank called in a marketing campaign between 2008 and 2010, with 16 features.
Target: the client subscribed a term deposit (11.7%). Groups: age < 25 and age >= 25; the FairPOT paper
says "age <= 25", but the positive rates it gives (25.6% and 11.4%) are those of age < 25.
duration is the length of the call that decided the outcome, unknown before it: drop it for a model in use.
Reference: S. Moro, P. Cortez, P. Rita. Decision Support Systems 62, 2014. doi:10.1016/j.dss.2014.03.001
"""

_COMPAS = """\
COMPAS, two-year recidivism
---------------------------
7,214 people screened with COMPAS in Broward County, Florida, in 2013 and 2014, as published by ProPublica,
without any filter. Target: a new offence within two years (45.1%). Groups: sex (positive rates 47.3%
male, 35.7% female). Features, our choice of the 12 that the FairPOT paper counts: {features}.
Charge descriptions with fewer than {rare} rows are grouped as "other", empty ones are "missing".
Only these columns leave the loader: names are nobody's business, and dates and custody columns give the
label away. A new arrest or charge is not the same as a new offence, and arrests depend on policing: a fair
ranking of this label is not yet a fair ranking of behaviour.
"""


@documented
def fetch_bank(*, data_home: str | os.PathLike[str] | None = None, download_if_missing: bool = True) -> Bunch:
    """Load Bank Marketing: 45,211 clients, 16 features, two age groups.

    Parameters
    ----------
    {data_files}

    Returns
    -------
    Bunch
        ``data`` (frame), ``target`` (1 if subscribed), ``group`` ("age < 25" / "age >= 25"),
        ``feature_names``, ``DESCR``, ``source``, ``licence``.

    Examples
    --------
    >>> from fairpot.datasets import fetch_bank
    >>> bank = fetch_bank()  # doctest: +SKIP
    >>> bank.data.shape  # doctest: +SKIP
    (45211, 16)
    """
    path = locate(BANK, data_home=data_home, download_if_missing=download_if_missing)
    with path.open(newline="", encoding="utf-8") as stream:
        header, *rows = csv.reader(stream, delimiter=";")
    table = dict(zip(header, zip(*rows)))
    target = (np.array(table.pop("y")) == "yes").astype(np.int64)
    columns = {k: np.array(v, dtype=np.int64) if k in _NUMBERS else list(v) for k, v in table.items()}
    return Bunch(
        data=make_frame(columns),
        target=target,
        group=np.where(np.asarray(columns["age"]) < 25, "age < 25", "age >= 25"),
        feature_names=list(columns),
        DESCR=_BANK,
        source=BANK.page,
        licence="CC BY 4.0",
    )


@documented
def fetch_compas(
    *, data_home: str | os.PathLike[str] | None = None, download_if_missing: bool = True, with_scores: bool = True
) -> Bunch:
    """Load COMPAS: 7,214 people, 12 features, grouped by sex.

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
    counts = Counter(values)
    return [("other" if counts[value] < _RARE else value) if value else "missing" for value in values]


def locate(file: DataFile, *, data_home: str | os.PathLike[str] | None, download_if_missing: bool) -> Path:
    """Return the path of a verified copy of ``file``: local folders, then the cache, then a download."""
    cache = _cache_folder()
    named = [Path(each).expanduser() if each else None for each in (data_home, os.environ.get(ENVIRONMENT_VARIABLE))]
    folders = [*named, cache]
    for folder in folders:
        path = None if folder is None else folder / file.name
        if path is not None and path.is_file():
            with path.open("rb") as copy:
                _compare(hashlib.file_digest(copy, "sha256").hexdigest(), file, str(path))
            return path
    if not download_if_missing:
        raise _not_found(file, folders, "download_if_missing=False")
    if cache is None:
        raise _not_found(file, folders, "downloading needs the package pooch: pip install 'fairpot[data]'")
    try:
        return download(file, folders[0] or cache)
    except OSError as error:
        raise _not_found(file, folders, f"the download failed: {error}") from error


def download(file: DataFile, folder: Path) -> Path:
    """Download ``file`` into ``folder``; it appears there whole and verified, or not at all."""
    pooch = import_optional("pooch", "data")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".download-") as workplace:
        fetched = Path(workplace) / "fetched"
        # Read in one go: the files are small, and a broken stream would leave its connection open.
        pooch.HTTPDownloader(timeout=_TIMEOUT_SECONDS, stream=False)(file.url, str(fetched), None)
        content = _extract(fetched.read_bytes(), file)
        _compare(hashlib.sha256(content).hexdigest(), file, f"the download from {file.url}")
        complete = Path(workplace) / file.name
        complete.write_bytes(content)
        return complete.replace(folder / file.name)


def _extract(content: bytes, file: DataFile) -> bytes:
    for member in file.members:
        try:
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                if archive.getinfo(member).file_size > _MOST_BYTES:
                    raise OSError(f"{member} in the archive at {file.url} has more than {_MOST_BYTES >> 20} MB")
                content = archive.read(member)
        except (zipfile.BadZipFile, KeyError) as error:
            way = " > ".join(file.members)
            raise OSError(f"the archive at {file.url} does not hold {way} ({error})") from error
    return content


def _compare(found: str, file: DataFile, place: str) -> None:
    if found != file.sha256:
        raise ValueError(
            f"{place} is not the published {file.name}: its SHA-256 is {found}, "
            f"expected {file.sha256}.\n"
            f"Hint: remove that file and fetch it again, by hand from {file.page}; an edited copy "
            "(line ends, filtered rows) is not accepted."
        )


def _cache_folder() -> Path | None:
    try:
        pooch: Any = import_optional("pooch", "data")
    except MissingDependencyError:
        return None
    return Path(pooch.os_cache("fairpot"))


def _not_found(file: DataFile, folders: list[Path | None], reason: str) -> FileNotFoundError:
    """Build the one error for a machine without the file: where it was looked for, and how to get it."""
    places = ("data_home", f"the environment variable {ENVIRONMENT_VARIABLE}", "the cache")
    looked = "; ".join(f"{place}: {folder or 'not set'}" for place, folder in zip(places, folders))
    inside = f" (in the download: {' > '.join(file.members)})" if file.members else ""
    return FileNotFoundError(
        f"{file.name} was not found ({looked}), and {reason}.\n"
        f"Hint: get it from {file.page}{inside}, put it in any folder under the name {file.name}, and pass "
        f"data_home=<that folder> or set {ENVIRONMENT_VARIABLE} to it. Its SHA-256 must be {file.sha256}."
    )
