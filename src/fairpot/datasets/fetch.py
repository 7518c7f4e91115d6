"""Find a data file in a local folder or the cache, or download it; verified by SHA-256 in every case."""

from __future__ import annotations

import hashlib
import io
import numbers
import os
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fairpot._optional import import_optional
from fairpot.exceptions import MissingDependencyError


def check_whole(value: Any, name: str, least: int, hint: str = "") -> int:
    """Check a whole number that is not too small."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be a whole number, at least {least}, got {value!r}.")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value!r}." + (f"\nHint: {hint}" if hint else ""))
    return int(value)


def check_flag(value: Any, name: str) -> bool:
    """Check a boolean; texts such as "no" are none, and would count as True."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {value!r}.")
    return bool(value)


def make_rng(random_state: Any) -> np.random.Generator:
    """Turn a seed into a generator."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(
            f"random_state must be a whole number, at least 0, a NumPy Generator or None, got {random_state!r}."
        ) from error


ENVIRONMENT_VARIABLE = "FAIRPOT_DATA"
_TIMEOUT_SECONDS = 60
_MOST_BYTES = 100 << 20  # of a file in an archive; those that are known have fewer than five million


@dataclass(frozen=True)
class DataFile:
    """A public file: its name on disk, its hash, and where its owner publishes it.

    ``members`` is the way through nested archives, for a download that is not the file itself.
    """

    name: str
    sha256: str
    url: str
    page: str
    members: tuple[str, ...] = ()


def locate(file: DataFile, *, data_home: str | os.PathLike[str] | None, download_if_missing: bool) -> Path:
    """Return the path of a verified copy of ``file``: local folders, then the cache, then a download."""
    download_if_missing = check_flag(download_if_missing, "download_if_missing")
    cache = _cache_folder()
    named = [Path(each).expanduser() if each else None for each in (data_home, os.environ.get(ENVIRONMENT_VARIABLE))]
    folders = [*named, cache]
    for folder in folders:
        path = None if folder is None else folder / file.name
        if path is not None and path.is_file():
            _compare(hashlib.sha256(path.read_bytes()).hexdigest(), file, str(path))
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
    """Follow ``file.members`` through archives inside archives."""
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
    """Raise if a hash is not the expected one."""
    if found != file.sha256:
        raise ValueError(
            f"{place} is not the published {file.name}: its SHA-256 is {found}, "
            f"expected {file.sha256}.\n"
            f"Hint: remove that file and fetch it again, by hand from {file.page}; an edited copy "
            "(line ends, filtered rows) is not accepted."
        )


def _cache_folder() -> Path | None:
    """Return pooch's cache folder of fairpot, or None without pooch."""
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
