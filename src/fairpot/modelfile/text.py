"""The text of a model file: read if it is of bearable size, canonical JSON with a checksum, parsed without trust."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import stat
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from typing import Any, NoReturn

from fairpot.exceptions import ModelFileError
from fairpot.modelfile.checks import CHANGED, refuse, shown
from fairpot.modelfile.content import ModelFile, from_version_1
from fairpot.modelfile.forms import FORMAT, SCHEMA_VERSION
from fairpot.modelfile.origin import suppressed

_NAME_IT = "Hint: name the file that `fairpot fit -o`, or `save` in Python, wrote."


def bytes_of(path: str, most: int, hint: str = _NAME_IT) -> bytes:
    """Read a regular file of at most so many bytes."""
    try:
        return _read(path, most, hint)
    except FileNotFoundError:
        raise ModelFileError("there is no such file.\nHint: look at the name and the folder.") from None
    except OSError as error:
        raise ModelFileError(
            f"it cannot be read: {error.strerror or error}.\nHint: look at the name and the rights."
        ) from error
    except ValueError as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(f"that is not the name of a file: {error}.\nHint: check the name.") from error


def _read(path: str, most: int, hint: str) -> bytes:
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with open(handle, "rb") as file:  # a pipe that nobody writes to is opened at once, and told from a file
        kind = os.fstat(handle)
        if not stat.S_ISREG(kind.st_mode):
            what = "a directory" if stat.S_ISDIR(kind.st_mode) else "not a regular file"
            raise ModelFileError(f"it is {what}.\n{hint}")
        data = b"" if kind.st_size > most else file.read(most + 1)
    if max(kind.st_size, len(data)) > most:
        raise ModelFileError(
            f"it has {max(kind.st_size, len(data))} bytes, more than {most}.\n"
            f"{hint} If it is that large, and you know where it comes from, raise max_bytes."
        )
    return data


def check_digest(found: str, expected: str) -> None:
    """Insist on the hash that the caller knows."""
    wanted = expected.strip().lower() if isinstance(expected, str) else ""
    if not re.fullmatch("[0-9a-f]{64}", wanted):
        raise ValueError(f"expect_sha256 must be 64 hexadecimal digits, got {shown(expected)}.\nHint: sha256sum FILE")
    if not hmac.compare_digest(found, wanted):
        raise ModelFileError(
            f"its SHA-256 is {found}, expected is {wanted}.\nHint: this is another file than the one you know; "
            "ask where it comes from before you use it."
        )


_MOST_DIGITS = 20  # of 64 bits, with a minus
# Far above what a model needs: some thirty objects, lists, keys and texts a group, and two numbers a knot.
MAX_PARTS = 1_000_000
MAX_ENTRIES = 1_000_000
# So many knots ascend only if they have this many bytes on average, the comma included.
_SHORTEST = 7
_NO_MODEL = (
    "Hint: a map file is what `fairpot fit -o`, or `save` in Python, writes; see "
    "https://fairpot.github.io/fairpot/reference/map-file.html"
)


def dumps(model: ModelFile) -> bytes:
    """Return the bytes of a map file; equal models give equal bytes.

    What could not be loaded again is refused here already.

    Parameters
    ----------
    model : ModelFile
        What the file is to hold.

    Returns
    -------
    bytes

    Examples
    --------
    >>> from fairpot import FairPOT, modelfile
    >>> repair = FairPOT(lam=0.5, reference="M").fit(range(40), sensitive_features=["F", "M"] * 20)
    >>> modelfile.dumps(repair.fair_maps_.file_content()).startswith(b"{")
    True
    """
    content = model.to_json() | {"format": FORMAT, "schema_version": SCHEMA_VERSION}
    try:
        texts = {key: _canonical(value) for key, value in content.items()}
    except ValueError:  # Python itself writes out no whole number of thousands of digits
        raise ModelFileError(
            "it would hold a number that is not finite, or a whole one of more than 64 bits.\nHint: look at the fit."
        ) from None
    texts["checksum"] = _canonical(_digest(texts))
    lines = [f"{_canonical(key)}: {texts[key]}" for key in sorted(texts)]
    data = ("{\n" + ",\n".join(lines) + "\n}\n").encode("utf-8")
    ModelFile.from_json(_parse(data))
    return data


def loads(data: bytes) -> ModelFile:
    """Read the bytes of a map file.

    Parameters
    ----------
    data : bytes
        The content of a map file.

    Returns
    -------
    ModelFile

    Raises
    ------
    ModelFileError
        If they are anything but a complete, unchanged map file of this schema version or an earlier one.

    Examples
    --------
    >>> from fairpot import FairPOT, modelfile
    >>> repair = FairPOT(lam=0.5, reference="M").fit(range(40), sensitive_features=["F", "M"] * 20)
    >>> modelfile.loads(modelfile.dumps(repair.fair_maps_.file_content())).method
    'FairPOT'
    """
    _check_parts(data)
    content = _parse(data)
    _check_version(content)
    older = content["schema_version"] == 1
    model = ModelFile.from_json(from_version_1(content) if older else content)
    if content["checksum"] != checksum(content):
        raise ModelFileError(f"the checksum does not fit the content: {shown(content['checksum'])}.\n{CHANGED}")
    return replace(model, fitted_on=suppressed(model.fitted_on)) if older else model


def checksum(content: dict[str, Any]) -> str:
    """Hash everything but the checksum itself, as canonical JSON."""
    return _digest({key: _canonical(value) for key, value in content.items() if key != "checksum"})


def _digest(texts: dict[str, str]) -> str:
    """Hash an object whose values are canonical texts already: long maps are written out once."""
    joined = ",".join(f"{_canonical(key)}:{texts[key]}" for key in sorted(texts))
    try:
        return hashlib.sha256(f"{{{joined}}}".encode()).hexdigest()
    except UnicodeEncodeError:
        raise ModelFileError(
            "it holds a text that is not valid Unicode: half of a surrogate pair.\nHint: repair it at its source."
        ) from None


def _canonical(content: Any) -> str:
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _check_parts(data: bytes) -> None:
    """Count what a file is made of before it is built: a few bytes of text can stand for a hundred in memory."""
    if not data.strip():
        raise ModelFileError(f"it is empty.\n{_NO_MODEL}")
    for what, found, most in (
        ("objects and lists", data.count(b"{") + data.count(b"["), MAX_PARTS),
        ("keys", data.count(b":"), MAX_PARTS),
        ("texts", data.count(b'"') // 2, MAX_PARTS),
        ("entries", data.count(b","), max(MAX_ENTRIES, len(data) // _SHORTEST)),
    ):
        if found > most:
            raise ModelFileError(f"it has {found} {what}, more than any model ({most}).\n{_NO_MODEL}")


def _parse(data: bytes) -> dict[str, Any]:
    """Parse JSON in which no key comes twice, no number is NaN or infinite, and whole ones have 64 bits at most."""
    hooks: dict[str, Any] = {"object_pairs_hook": _distinct, "parse_constant": _no_constant, "parse_int": _whole}
    try:
        content = json.loads(data.decode("utf-8"), **hooks)
    except ModelFileError:
        raise
    except UnicodeDecodeError as error:
        raise ModelFileError(f"it is not UTF-8 text (byte {error.start}).\n{_NO_MODEL}") from error
    except RecursionError:
        raise ModelFileError(f"it is nested too deeply to be a model.\n{_NO_MODEL}") from None
    except ValueError as error:
        raise ModelFileError(f"it is not JSON: {error}.\n{_NO_MODEL}") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ModelFileError(f'it is JSON, but no model of fairpot: no "format": "{FORMAT}" in it.\n{_NO_MODEL}')
    return content


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object, refusing a key that comes twice."""
    made = dict(pairs)
    if len(made) < len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise ModelFileError(f"the key {shown(twice)} comes twice in one object.\n{CHANGED}")
    return made


def _whole(digits: str) -> int:
    """Read a whole number that others than Python can read too."""
    if len(digits) > _MOST_DIGITS or not -(2**63) <= (value := int(digits)) < 2**64:
        raise ModelFileError(f"it holds a whole number of more than 64 bits, {shown(digits)}.\n{CHANGED}")
    return value


def _no_constant(token: str) -> NoReturn:
    raise ModelFileError(
        f"it holds {token}, which is no finite number (and not JSON).\n"
        "Hint: NaN and infinity have no place in a model; look at the fit."
    )


def _check_version(content: dict[str, Any]) -> None:
    version = content.get("schema_version")
    if type(version) is not int or not 1 <= version <= SCHEMA_VERSION:
        wrote = content.get("fitted_on")
        wrote = wrote.get("library_version") if isinstance(wrote, dict) else None
        by = "" if wrote is None else f" (written by fairpot {shown(wrote)})"
        refuse(
            "schema_version",
            f"at most {SCHEMA_VERSION}{by}",
            version,
            "Hint: load it with the fairpot that wrote it, or fit and save the model again.",
        )


# What a file may have unless more is allowed: some two million knots.
MAX_BYTES = 100_000_000


@contextmanager
def naming(path: str | PathLike[str]) -> Iterator[None]:
    """Put the file's name before the reason it is refused for."""
    try:
        yield
    except ModelFileError as error:
        raise type(error)(f"the map file {os.fspath(path)!r} cannot be used: {error}") from error
